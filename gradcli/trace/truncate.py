"""Truncated backpropagation through time: the same graph, with the way back cut at some states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradcli.graph import Graph, Node
from gradcli.ops.pass_on import stop_gradient
from gradcli.trace.traced import Traced


def truncated(traced: Traced, states: Sequence[Node], every: int) -> tuple[Traced, list[tuple[str, tuple[str, ...]]]]:
    """The program with every `every`-th state detached from the steps before it.

    A state's own uses, such as the loss of its step, still send their contributions; only what leads on to the next
    state no longer does.  Gives the new program, and for every cut the consumers whose contributions it drops.
    """
    cuts = {state.number: states[at + 1] for at, state in enumerate(states[:-1]) if (at + 1) % every == 0}
    nodes = traced.graph.nodes
    onward = {number: _ancestors(later, number) for number, later in cuts.items()}
    graph = Graph()
    new: dict[int, Node] = {}
    detached: dict[int, Node] = {}
    dropped: dict[int, list[str]] = {number: [] for number in cuts}
    for node in nodes:
        operands = []
        for operand in node.operands:
            if operand.number in cuts and node.number in onward[operand.number]:
                operands.append(detached[operand.number])
                dropped[operand.number].append(node.name)
            else:
                operands.append(new[operand.number])
        copy = Node(
            node.op,
            tuple(operands),
            node.data,
            node.shape,
            node.dtype,
            len(graph.nodes),
            node.differentiable,
            node.name,
            node.line,
        )
        graph.nodes.append(copy)
        new[node.number] = copy
        if node.number in cuts:
            cut = graph.add(stop_gradient, (copy,), None, node.line)
            cut.name = f"{node.name} cut"
            detached[node.number] = cut
    inner = {new[number].number for number in traced.inner} | {node.number for node in detached.values()}

    def moved(node: Node | None) -> Node | None:
        return None if node is None else new[node.number]

    seed = moved(traced.seed) if isinstance(traced.seed, Node) else traced.seed
    result = replace(
        traced,
        graph=graph,
        names={name: new[node.number] for name, node in traced.names.items()},
        output=moved(traced.output),
        seed=seed,
        last=moved(traced.last),
        without_gradient=moved(traced.without_gradient),
        notes=list(traced.notes),
        inner=inner,
        environment={n: new[v.number] if type(v) is Node else v for n, v in traced.environment.items()},
        raw={new[number].number: numbers for number, numbers in traced.raw.items()},
    )
    return result, [(nodes[number].name, tuple(dict.fromkeys(names))) for number, names in dropped.items()]


def _ancestors(node: Node, after: int) -> set[int]:
    """The nodes that a state is computed from, as far back as a number."""
    seen = {node.number}
    stack = [node]
    while stack:
        for operand in stack.pop().operands:
            if operand.number > after and operand.number not in seen:
                seen.add(operand.number)
                stack.append(operand)
    return seen

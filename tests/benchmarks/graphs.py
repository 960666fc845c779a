"""A million scalar nodes in process: gradcli's graph against PyTorch eager (goal 4).

Timed are building, the forward values and the reverse sweep (ours records every contribution) of a chain and of a wide
random graph, from a plan that both sides are given; not timed are the imports and the plan.  Every run is a child
of its own, whose peak memory counts as a whole, and both sides have the garbage collector paused.

    pip install torch
    python tests/benchmarks/graphs.py [--nodes 1000000] [--pairs N]
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import compare

KINDS = ("multiply", "add", "subtract", "tanh", "exp", "log")
BINARY = 3
"""The first so many kinds have two operands."""
WIDTH = 20_000
"""How many nodes of the wide graph do not depend on each other, at most."""
GIBIBYTE = 2**30


@dataclass
class Plan:
    """Nodes by number: inputs first, then for each operation its kind and the numbers of its operands."""

    inputs: list[float]
    kinds: bytearray = field(default_factory=bytearray)
    left: array[int] = field(default_factory=lambda: array("i"))
    right: array[int] = field(default_factory=lambda: array("i"))

    def add(self, kind: str, left: int, right: int = 0) -> None:
        self.kinds.append(KINDS.index(kind))
        self.left.append(left)
        self.right.append(right)

    def __len__(self) -> int:
        return len(self.inputs) + len(self.kinds)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.kinds, self.left, self.right, strict=True)


def chain(count: int) -> Plan:
    """Each node over the one before it; its slopes multiply to about 1, so that no gradient dies out on the way."""
    plan = Plan([0.5, 0.9999999, 1e-7])
    last = 0
    for step in range(count - len(plan)):
        kind = ("multiply", "exp", "log", "add")[step % 4]
        plan.add(kind, last, 1 if kind == "multiply" else 2)
        last = len(plan) - 1
    return plan


def wide(count: int) -> Plan:
    """Layers of nodes with random operands in the layer before, added up in the end.

    In every other layer a node adds, subtracts or multiplies its own predecessor and a random one, so that all nodes
    lead to the output; between them tanh keeps the values small.
    """
    draw = random.Random(5)
    width = max(2, min(WIDTH, count // 8))
    plan = Plan([draw.uniform(-1, 1) for _ in range(width)])
    first, deep = 0, 0
    while len(plan) + 2 * width <= count:
        for place in range(first, first + width):
            if deep % 2:
                plan.add("tanh", place)
            else:
                plan.add(draw.choice(KINDS[:BINARY]), place, draw.randrange(first, first + width))
        first, deep = len(plan) - width, deep + 1
    last = first
    for place in range(first + 1, first + width):
        plan.add("add", last, place)
        last = len(plan) - 1
    return plan


PLANS = {"chain": chain, "wide": wide}


# The children: each returns seconds and the first input's gradient ----------------------------------


def with_gradcli(plan: Plan) -> tuple[float, float]:
    import gradcli.ops  # noqa: F401  (fills the registry)
    from gradcli.differentiate import sweep
    from gradcli.evaluate import evaluate
    from gradcli.graph import REGISTRY, Graph, backward_order
    from gradcli.graph.collector import paused_collector

    ops = [REGISTRY[kind] for kind in KINDS]
    start = perf_counter()
    with paused_collector():
        graph = Graph()
        nodes = graph.nodes
        for place, value in enumerate(plan.inputs):
            graph.input(value, "float64", f"x{place}", 1)
        add = graph.add
        for kind, left, right in plan:
            add(ops[kind], (nodes[left], nodes[right]) if kind < BINARY else (nodes[left],), None, 1)
        values = evaluate(graph)
        swept = sweep(backward_order(nodes[-1], None, nodes), values, 1.0, plain=graph.plain)
        seconds = perf_counter() - start
    return seconds, float(swept.gradients[0])


def with_torch(plan: Plan) -> tuple[float, float]:
    import torch

    from gradcli.graph.collector import paused_collector

    torch.set_num_threads(1)
    ops: list[Any] = [getattr(torch, kind) for kind in KINDS]
    start = perf_counter()
    with paused_collector():
        nodes = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in plan.inputs]
        append = nodes.append
        for kind, left, right in plan:
            append(ops[kind](nodes[left], nodes[right]) if kind < BINARY else ops[kind](nodes[left]))
        nodes[-1].backward()
        seconds = perf_counter() - start
    return seconds, float(nodes[0].grad)


# The comparison -------------------------------------------------------------------------------------


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--child", nargs=2, metavar=("SIDE", "PLAN"), help="run one side (what this script does)")
    arguments = parser.parse_args()
    if arguments.nodes < 100:
        parser.error("--nodes: at least 100 are needed")
    if arguments.child:
        side, name = arguments.child
        seconds, gradient = (with_torch if side == "torch" else with_gradcli)(PLANS[name](arguments.nodes))
        compare.report(seconds=seconds, gradient=gradient)
        return
    if not compare.installed("torch"):
        return
    script = (__file__, "--nodes", str(arguments.nodes), "--child")
    rows = []
    for name in PLANS:
        sides = {side: partial(compare.run, *script, side, name) for side in ("ours", "torch")}
        found = compare.rounds(sides, arguments.pairs)
        seconds = {side: [run.report["seconds"] for run in runs] for side, runs in found.items()}
        peaks = {side: [float(run.peak) for run in runs] for side, runs in found.items()}
        compare.check_same(name, *(found[side][0].report["gradient"] for side in sides))
        rows.append(compare.time_row(f"{name}, time", seconds["ours"], seconds["torch"], 0.25))
        most = max(peaks["ours"])
        memory = compare.memory_row(f"{name}, peak memory", peaks["ours"], peaks["torch"], 1.0)
        rows.append(compare.Row(memory.workload, memory.ours, memory.peer, memory.ratio, "<= 1 GiB", most <= GIBIBYTE))
    print(f"In process, graphs of {arguments.nodes:,} scalar nodes; peer: PyTorch eager")
    compare.print_rows(rows, arguments.pairs)


if __name__ == "__main__":
    main()

"""What a derivation found: every number and every word that is shown, and the JSON schema.

A `Report` is made once from a graph, its values and its sweep.  Rows are made when they are asked for, so that a
graph of a million nodes costs only what is looked at.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.differentiate import (
    Sweep,
    adjoint_sweep,
    broadcast_sum,
    contribution,
    rule_node,
    upstream_symbol,
)
from gradcli.evaluate import Values
from gradcli.graph import CONSTANT, INPUT, Adjoint, Formula, Node, constant, formula, local_formula
from gradcli.graph.build import Index, index_of
from gradcli.graph.formula import atom, compose
from gradcli.report.rows import Contribution, Gradient, NodeRow, Step, Visit
from gradcli.report.sequences import Clipping, StateSequence, Truncation, state_sequences
from gradcli.trace import Traced

FORMULA_OPERATIONS = 24
"""A closed formula of more operations than this is written with the gradients before it instead."""
FORMULA_LENGTH = 60
"""And so is one of more characters than this."""
TITLE_OPERATIONS = 8
"""The output is written over the inputs if that takes no more operations than this."""
FEW_CONSUMERS = 6
"""A sum of more contributions than this is not written out."""
ADJOINT_NODES = 10_000
"""The adjoint of a larger graph is not built only to be printed."""


@dataclass(frozen=True, repr=False)
class Report:
    """A derivation.  `gradient(name)` and `value(name)` are the numbers; the rest is what the tables show."""

    traced: Traced
    output_node: Node
    values: Values
    sweep: Sweep
    order_nodes: tuple[Node, ...]
    seed: Any
    wrt: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    truncation: Truncation | None = None
    clipping: Clipping | None = None
    _indices: dict[int, dict[Any, Node]] = field(default_factory=dict, init=False, compare=False)
    _last_index: list[tuple[Node, Index]] = field(default_factory=list, init=False, compare=False)

    def __repr__(self) -> str:
        return f"<Report of {self.file}: {self.title}; gradients of {', '.join(list(self.gradients)[:8])}>"

    # The graph -------------------------------------------------------------------------------

    @property
    def file(self) -> str:
        """The name of the source."""
        return self.traced.source.name

    @property
    def output(self) -> str:
        """The name of the node that is differentiated."""
        return self.output_node.name

    @cached_property
    def shown(self) -> list[Node]:
        """Every node but the constants, in the order of writing."""
        return [n for n in self.traced.graph.nodes if n.op is not CONSTANT]

    @cached_property
    def scalar(self) -> bool:
        """Whether every node is a scalar."""
        return all(n.shape == () for n in self.traced.graph.nodes)

    @cached_property
    def file_names(self) -> dict[int, str]:
        """The nodes that the file names, by number."""
        return {n.number: n.name for n in self.shown if n.number not in self.traced.inner}

    def node_row(self, node: Node) -> NodeRow:
        """The row of one node."""
        return NodeRow(
            node.name,
            node.op.name,
            self.operation(node),
            tuple(o.name for o in node.operands),
            node.shape,
            node.dtype,
            self.values[node.number],
            node.line,
            node.op is INPUT,
        )

    def operation(self, node: Node) -> str:
        """The node's own operation over its operands' names; empty for an input."""
        return local_formula(node, lambda n: n.name)

    def operation_text(self, node: Node, operands: Sequence[str]) -> str:
        """The node's own operation with other texts, such as numbers, in place of its operands' names."""
        if node.leaf:
            return ""
        return compose(node, [_number_formula(text) for text in operands]).text

    def value(self, name: str) -> Any:
        """The forward value of a named node.  KeyError if there is none of that name."""
        return self.values[self.node(name).number]

    def node(self, name: str) -> Node:
        """The node of that name (also `h'1`, `v3`).  KeyError if there is none."""
        return self.by_name[name]

    @cached_property
    def title(self) -> str:
        """The output as one formula in the names of the inputs; if that is long, as the file has it."""
        node = self.output_node
        if node.op is INPUT:
            return f"output {node.name}"
        whole = formula(node, lambda n: n.name if n.op is INPUT else "", TITLE_OPERATIONS)
        if whole is not None and len(whole) <= FORMULA_LENGTH:
            return f"{node.name} = {whole}"
        lines = self.traced.source.lines
        line = lines[node.line - 1].split("#")[0].strip() if 0 < node.line <= len(lines) else ""
        return line if 0 < len(line) <= FORMULA_LENGTH and line.startswith(node.name) else f"output {node.name}"

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Every node by its name."""
        return {n.name: n for n in self.shown}

    @cached_property
    def sequences(self) -> list[StateSequence]:
        """The families of states, such as `h[t]`, through which the gradient flows back in time."""
        return state_sequences(self)

    # The order -------------------------------------------------------------------------------

    @property
    def order(self) -> list[str]:
        """The names of the nodes in the order of the sweep."""
        return [n.name for n in self.order_nodes]

    def consumers(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """For each of these nodes, the steps (from 0) of those that send it contributions, in order; one an edge."""
        found: dict[int, list[int]] = {number: [] for number in numbers}
        reached = self.sweep.reached
        watched = {number for number in found if number < len(reached) and reached[number]}
        for step, node in enumerate(self.order_nodes):
            for operand in node.operands:
                if operand.number in watched:  # seldom, as a rule: a few nodes are asked for, and millions gone through
                    for slot in self.sweep.slots(node):
                        if node.operands[slot].number in found:
                            found[node.operands[slot].number].append(step)
                    break
        return found

    def visits(self, wanted: Iterable[int]) -> Iterator[Visit]:
        """These steps of the order, counted from 0."""
        chosen = list(wanted)
        nodes = [self.order_nodes[k] for k in chosen]
        watched = {n.number for n in nodes} | {o.number for n in nodes for o in n.operands}
        consumers = self.consumers(watched)
        for step, node in zip(chosen, nodes, strict=True):
            yield self._visit(step, node, consumers)

    def _visit(self, step: int, node: Node, consumers: dict[int, list[int]]) -> Visit:
        ready, waiting = [], []
        for operand in dict.fromkeys(node.operands[s] for s in self.sweep.slots(node)):
            later = dict.fromkeys(s for s in consumers[operand.number] if s > step)
            if later:
                waiting.append((operand.name, tuple(self.order_nodes[s].name for s in later)))
            else:
                ready.append(operand)
        because = dict.fromkeys(self.order_nodes[s].name for s in consumers[node.number])
        ready.sort(key=lambda n: self.place[n.number])
        names = tuple(n.name for n in ready)
        return Visit(step + 1, node.name, node.op is INPUT, tuple(because), names, tuple(waiting))

    @cached_property
    def place(self) -> dict[int, int]:
        """The step (from 0) at which each node is visited, by its number."""
        return {n.number: step for step, n in enumerate(self.order_nodes)}

    # The sweep -------------------------------------------------------------------------------

    def steps(self, wanted: Iterable[int] | None = None) -> Iterator[Step]:
        """The steps that pass something on, in order; only those (from 0) in `wanted`, if it is given."""
        order = self.order_nodes
        chosen = range(len(order)) if wanted is None else sorted(set(wanted))
        watched = {order[k].operands[s].number for k in chosen for s in self.sweep.slots(order[k])}
        picked = set(chosen)
        consumers = self.consumers(watched)
        expected = {number: len(steps) for number, steps in consumers.items()}
        arrived: dict[int, list[Any]] = {number: [] for number in watched}
        for k in sorted(picked.union(*consumers.values())):
            node = order[k]
            rows = []
            for slot, value in zip(self.sweep.slots(node), self.sweep.sent[k], strict=True):
                number = node.operands[slot].number
                if number not in arrived:
                    continue
                arrived[number].append(value)
                if k in picked:
                    so_far = tuple(arrived[number])
                    rows.append(self._contribution(node, slot, value, so_far, expected[number]))
            if k in picked and rows:
                upstream = self.sweep.gradients[node.number]
                yield Step(k + 1, node.name, node.shape, self.operation(node), upstream, tuple(rows))

    def _contribution(self, node: Node, slot: int, value: Any, arrived: tuple[Any, ...], expected: int) -> Contribution:
        operand = node.operands[slot]
        axes = broadcast_sum(node, slot)
        local, text = self._local(node, slot)
        return Contribution(
            operand.name,
            slot,
            operand.shape,
            local,
            text,
            self.rule(node, slot),
            value,
            axes,
            self._unsummed(node, slot) if axes else None,
            arrived,
            expected,
        )

    def rule(self, node: Node, slot: int) -> str:
        """How a contribution is computed, in the names of the graph: `outer(dL/dz2, h1)`."""
        with Adjoint(self._neighbours(node), len(self.values)):
            built = rule_node(node, slot, self._upstream(node))
        return self._written(built)

    def _upstream(self, node: Node) -> Node:
        """What stands for a node's upstream gradient in a rule: `dL/dz1`, or the name of a seed that was given."""
        if node is self.output_node and self.seed_node is not None:
            return self.seed_node
        return upstream_symbol(self.output_node, node)

    def _neighbours(self, node: Node) -> Index:
        """Forward nodes that a rule of this node may ask for again: itself and those over the same operands.

        The rules of a node's slots are asked for one after the other, and a node may have thousands of slots, or
        thousands of siblings: so the last index is kept, and that of siblings for good.
        """
        if not node.operands:
            return {}
        if not self._last_index or self._last_index[0][0] is not node:
            first = node.operands[0].number
            if first not in self._indices:
                self._indices[first] = index_of(self._siblings.get(first, ()))
            index: Index = ChainMap(index_of([node]), self._indices[first])
            self._last_index[:] = [(node, index)]
        return self._last_index[0][1]

    @cached_property
    def _siblings(self) -> dict[int, list[Node]]:
        siblings: dict[int, list[Node]] = {}
        for node in self.traced.graph.nodes:
            if node.operands and node.number in self.file_names:
                siblings.setdefault(node.operands[0].number, []).append(node)
        return siblings

    def _written(self, node: Node) -> str:
        text = formula(node, lambda n: n.name, 4 * FORMULA_OPERATIONS)
        return text if text is not None else node.op.name

    def _local(self, node: Node, slot: int) -> tuple[float | None, str]:
        """The local gradient between scalars: its value, and how it is written."""
        if node.shape or node.operands[slot].shape:
            return None, ""
        arguments = [self.values[o.number] for o in node.operands]
        with np.errstate(all="ignore"):
            value = contribution(node, slot, 1.0, self.values[node.number], arguments)
        with Adjoint(self._neighbours(node), len(self.values)):
            built = contribution(node, slot, constant(1), node, node.operands)
        text = self._written(built) if isinstance(built, Node) else ""
        return float(value), "" if isinstance(built, Node) and built.op is CONSTANT else text

    def _unsummed(self, node: Node, slot: int) -> Any:
        """A contribution before the sum that undoes broadcasting."""
        arguments = [self.values[o.number] for o in node.operands]
        g = self.sweep.gradients[node.number]
        with np.errstate(all="ignore"):
            return node.op.contribute(slot, g, self.values[node.number], arguments, node.settings)

    def unsummed_rule(self, node: Node, slot: int) -> str:
        """How a contribution is computed before the sum that undoes broadcasting."""
        with Adjoint(self._neighbours(node), len(self.values)):
            built = node.op.contribute(slot, self._upstream(node), node, node.operands, node.settings)
        return self._written(built)

    # Gradients -------------------------------------------------------------------------------

    @cached_property
    def gradients(self) -> dict[str, Gradient]:
        """By name, the gradient of every named input and definition on which a derivative can be taken."""
        names = self.wrt or [n.name for n in self.shown if n.differentiable and n.number in self.file_names]
        return {name: self._gradient_row(self.by_name[name]) for name in names}

    def _gradient_row(self, node: Node) -> Gradient:
        found = self.sweep.gradients[node.number] if node.number < len(self.sweep.gradients) else None
        path = found is not None
        if found is None:
            found = np.zeros(node.shape, node.dtype) if node.shape else 0.0
        return Gradient(node.name, found, node.shape, node.dtype, path, node.op is INPUT)

    def gradient(self, name: str) -> Any:
        """d output / d name: a float, or an array of the node's shape.  KeyError for a name without one.

        Inner nodes have gradients too, under the names that `order` gives them (`v1`).
        """
        row = self.gradients.get(name)
        if row is None:
            node = self.by_name.get(name)
            if node is None or not node.differentiable:
                raise KeyError(f"there is no gradient of {name!r}; there are those of {', '.join(self.gradients)}")
            row = self._gradient_row(node)
        return row.value.copy() if isinstance(row.value, np.ndarray) else row.value

    def formula(self, name: str) -> str:
        """The gradient of a node as a closed formula in the names of the file.

        Where that would be too long to read, the gradients of named nodes stand for themselves: `outer(dL/dz1, x)`.
        """
        return self.formulas([name])[name]

    def formulas(self, names: Iterable[str]) -> dict[str, str]:
        """The gradients of some nodes as closed formulas, by name; of a large graph in one walk through it."""
        nodes = [self.by_name[name] for name in names]
        consumers: dict[int, list[int]] = {}
        if len(self.order_nodes) > ADJOINT_NODES:
            consumers = self.consumers(n.number for n in nodes)
        return {n.name: self._formula(n, consumers) for n in nodes}

    def _formula(self, node: Node, consumers: dict[int, list[int]]) -> str:
        if node.number >= len(self.sweep.reached) or not self.sweep.reached[node.number]:
            return "0"
        if consumers:
            return self._one_step(node, consumers[node.number])
        adjoint = self._adjoint[node.number]
        closed = formula(adjoint, lambda n: self.file_names.get(n.number, ""), FORMULA_OPERATIONS)
        if closed is not None and len(closed) <= FORMULA_LENGTH:
            return closed
        step = self.place[node.number]
        known = self._gradient_names

        def named(n: Node) -> str:
            earlier, gradient = known.get(n.number, (step, ""))
            return gradient if earlier < step else self.file_names.get(n.number, "")

        stepwise = formula(adjoint, named, FORMULA_OPERATIONS)
        return stepwise or self._one_step(node, self.consumers([node.number])[node.number])

    def _one_step(self, node: Node, steps: Sequence[int]) -> str:
        """The gradient over those of the node's consumers, which are visited at these steps."""
        if node is self.output_node:
            return "1"
        if len(steps) > FEW_CONSUMERS:
            return f"the sum of {len(steps)} contributions"
        total: Any = None
        with Adjoint(first_number=len(self.values)):
            for step in reversed(dict.fromkeys(steps)):
                consumer = self.order_nodes[step]
                for slot in self.sweep.slots(consumer):
                    if consumer.operands[slot] is node:
                        part = rule_node(consumer, slot, self._upstream(consumer))
                        total = part if total is None else total + part
        return self._written(total)

    @cached_property
    def _gradient_names(self) -> dict[int, tuple[int, str]]:
        """For adjoint nodes that are the gradient of a named node: the first such node's step, and `dL/dz1`."""
        names: dict[int, tuple[int, str]] = {}
        for step, node in enumerate(self.order_nodes):
            gradient = self._adjoint[node.number]
            if node.number in self.file_names and gradient.operands and gradient.number >= len(self.values):
                names.setdefault(gradient.number, (step, f"d{self.output}/d{node.name}"))
        return names

    @cached_property
    def _adjoint(self) -> dict[int, Node]:
        adjoint = Adjoint(self.traced.graph.nodes, len(self.values))
        seed = self.seed_node if self.seed_node is not None else constant(1)
        return adjoint_sweep(list(self.order_nodes), seed, adjoint)

    @cached_property
    def seed_node(self) -> Node | None:
        """The node that is the seed, where the file names one of the output's shape."""
        seed = self.traced.seed
        return seed if isinstance(seed, Node) and seed.shape == self.output_node.shape else None

    def to_json(self) -> dict[str, Any]:
        """The whole report as plain Python: see `gradcli.report.document`."""
        from gradcli.report.document import report_json

        return report_json(self)


def _number_formula(text: str) -> Formula:
    return atom(_NUMBER, text)


_NUMBER = constant(0.0)

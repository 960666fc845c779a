"""The steps of the reverse sweep one by one: with a student's numbers put in, and as formulas in the student's names.

What a line should have been is what its node's consumers send to it.  A consumer whose gradient the student has named
is called by that name; one without a name is written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import Adjoint, Node, constant, formula
from gradcli.graph.node import SYMBOL
from gradcli.homework.points import Point
from gradcli.homework.sheet import Line, Sheet

MOST_PARTS = 6
"""Of more contributions than this, not every sum of some is tried."""

FORMULA_OPERATIONS = 24
"""A formula of more operations is not shown."""


class Steps:
    """The reverse sweep from one node."""

    def __init__(self, sheet: Sheet, of: Node) -> None:
        self.sheet = sheet
        self.of = of
        self.order = sheet.order_of(of)
        reached = {n.number for n in self.order}
        self.slots = {n.number: [s for s, o in n.op.passing(n.operands) if o.number in reached] for n in self.order}
        self.consumers: dict[int, list[tuple[Node, int]]] = {n.number: [] for n in self.order}
        for node in self.order:
            for slot in self.slots[node.number]:
                self.consumers[node.operands[slot].number].append((node, slot))

    def seed(self, point: Point) -> Any:
        """The gradient the sweep starts from."""
        return point.seed() if self.of is self.sheet.output else 1.0

    def gradient(self, node: Node, point: Point, put: Mapping[int, Any], values: list[Any] | None = None) -> Any:
        """The gradient of a node when other nodes' gradients (by number) are these; None if it cannot be computed.

        `values` are other forward values than the point's.
        """
        if node.number not in self.consumers:
            return np.zeros(node.shape) if node.shape else 0.0
        values = point.values if values is None else values
        arrived: dict[int, Any] = {self.of.number: self.seed(point)}
        try:
            with np.errstate(all="ignore"):
                for each in self.order:
                    if each is node:
                        return arrived.get(each.number)
                    g = put[each.number] if each.number in put else arrived.get(each.number)
                    if g is None or not self.slots[each.number]:
                        continue
                    operands = [values[o.number] for o in each.operands]
                    for slot in self.slots[each.number]:
                        c = contribution(each, slot, g, values[each.number], operands)
                        number = each.operands[slot].number
                        arrived[number] = arrived[number] + c if number in arrived else c
        except (ArithmeticError, ValueError, IndexError, TypeError):
            return None
        return None

    def parts(self, node: Node, point: Point) -> list[Any]:
        """What each consumer sends to a node, one by one."""
        sent = []
        with np.errstate(all="ignore"):
            for consumer, slot in self.consumers.get(node.number, ()):
                operands = [point.values[o.number] for o in consumer.operands]
                g = point.gradient(consumer, self.of)
                sent.append(contribution(consumer, slot, g, point.values[consumer.number], operands))
        return sent

    def partial_sums(self, node: Node) -> list[tuple[int, ...]]:
        """Which of the contributions to a node may make up a part of its gradient: every choice but none and all."""
        count = len(self.consumers.get(node.number, ()))
        if not 1 < count <= MOST_PARTS:
            return []
        return [c for size in range(1, count) for c in itertools.combinations(range(count), size)]

    # Formulas --------------------------------------------------------------------------------

    def expected(self, node: Node, named: Mapping[int, Line]) -> Node | None:
        """The gradient of a node over the gradients that have a name.

        Those are the gradients in `named` (lines by node number), and those of nodes that the file names.
        """
        if node is self.of:
            seed = self.sheet.report.seed_node if self.of is self.sheet.output else None
            return seed if seed is not None else constant(1)
        if node.number not in self.consumers:
            return None
        needed = self._without_name(node, named)
        arrived: dict[int, Any] = {}
        adjoint = Adjoint(self.sheet.forward, len(self.sheet.graph.nodes))
        with adjoint:
            for each in self.order:
                if each is node:
                    break
                sends = [s for s in self.slots[each.number] if each.operands[s].number in needed]
                if not sends:
                    continue
                g = arrived[each.number] if each.number in needed else self._upstream(each, named)
                for slot in sends:
                    number = each.operands[slot].number
                    c = contribution(each, slot, g, each, each.operands)
                    arrived[number] = c + arrived[number] if number in arrived else c
        result = arrived.get(node.number)
        return result if isinstance(result, Node) else None if result is None else constant(result)

    def _without_name(self, node: Node, named: Mapping[int, Line]) -> set[int]:
        """The node and the consumers above it whose gradients are written out because they have no name."""
        needed = {node.number}
        stack = [node]
        while stack:
            for consumer, _ in self.consumers[stack.pop().number]:
                inner = consumer.number in self.sheet.report.traced.inner and consumer.number not in named
                if inner and consumer.number not in needed and consumer is not self.of:
                    needed.add(consumer.number)
                    stack.append(consumer)
        return needed

    def _upstream(self, node: Node, named: Mapping[int, Line]) -> Any:
        if node is self.of:
            seed = self.sheet.report.seed_node if self.of is self.sheet.output else None
            return seed if seed is not None else constant(1)
        line = named.get(node.number)
        return self.sheet.truth(self.of, node) if line is None else self.sheet.leaf_like(line, node)

    def formula(self, node: Node, named: Mapping[int, Line], name: Callable[[Node], str]) -> str:
        """The gradient of a node as text; "" if it would be too long."""
        expected = self.expected(node, named)
        if expected is None:
            return "0"
        text = formula(expected, lambda n: n.name if n.op is SYMBOL else name(n), FORMULA_OPERATIONS)
        return text or ""

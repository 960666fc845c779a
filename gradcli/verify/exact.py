"""The function of a formula file, and the tool's own sweep over it, at as many digits as are wanted.

Inputs and literals are exact: the float that the file means, not a rounded one of it (in a float32 formula a literal is
the float32 number).  What passes no gradient by design (`detach`, labels) is held still when inputs are moved, for that
is what the file asks for; masks are not, or no kink would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.differentiate import sweep
from gradcli.graph import CONSTANT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import size_of
from gradcli.report import Report
from gradcli.verify.precise import Arithmetic, numbers

Shifts = Mapping[int, Any]
"""By node number, what is added to a node's value."""


class Exact:
    """A report's function at a number of digits."""

    def __init__(self, report: Report, digits: int | Arithmetic) -> None:
        self.report = report
        self.arithmetic: Arithmetic = numbers(digits) if isinstance(digits, int) else digits
        self.output = report.output_node
        self.nodes = ancestors(self.output)
        self.seed = self.arithmetic.array(report.seed)
        self.broken: dict[tuple[int, int], bool] = {}
        """By node and slot, whether the operation has a corner or a jump there: asked for every entry, found once."""
        self.base: dict[int, Any] = {}
        self.base = self.values({})
        self.result = self.scalar(self.base)

    def values(self, shifts: Shifts, moved: frozenset[int] | None = None) -> dict[int, Any]:
        """The value of every node the output needs, with some nodes shifted; `moved` are those that can change."""
        found = dict(self.base)
        for node in self.nodes:
            number = node.number
            if moved is not None and (number not in moved or (number not in shifts and _cut(node))):
                continue
            value = self._value(node, found)
            if number in shifts:
                value = self.arithmetic.seen(value + shifts[number])
            found[number] = value
        return found

    def _value(self, node: Node, found: Mapping[int, Any]) -> Any:
        if node.leaf:
            return self.arithmetic.array(node.data)
        operands = [self._operand(node, slot, found) for slot in range(len(node.operands))]
        if node.shape == () and type(node.op.forward) is np.ufunc:
            number = self.arithmetic.number
            direct = self.arithmetic.direct(node.op.forward)
            if direct is not None and all(type(v) is number for v in operands):
                return direct(*operands)
        with np.errstate(all="ignore"):
            return self.arithmetic.seen(node.op.forward(*operands, **node.settings))

    def _operand(self, node: Node, slot: int, found: Mapping[int, Any]) -> Any:
        operand = node.operands[slot]
        if operand.op is CONSTANT and node.dtype in ("float32", "float16") and operand.dtype == "weak float":
            return self.arithmetic.array(np.asarray(operand.data, node.dtype)[()])
        held = operand.dtype in FLOATS and node.dtype in FLOATS and not node.op.passes(slot) and node.op.vjp is not None
        return (self.base or found)[operand.number] if held else found[operand.number]

    def scalar(self, values: Mapping[int, Any]) -> Any:
        """The number that is differentiated: the output, or its sum weighted with the seed."""
        output = values[self.output.number]
        if self.output.shape == () and self.report.seed == 1:
            return self.arithmetic.of(output)
        return self.arithmetic.of(np.sum(self.seed * output))

    def at(self, shifts: Shifts, moved: frozenset[int]) -> Any:
        """The number that is differentiated, with some nodes shifted."""
        return self.scalar(self.values(shifts, moved))

    def downstream(self, numbers: Iterable[int]) -> frozenset[int]:
        """The nodes that change with these (themselves included)."""
        moved = set(numbers)
        for node in self.nodes:
            if any(o.number in moved for o in node.operands):
                moved.add(node.number)
        return frozenset(moved)

    def gradients(self, values: Mapping[int, Any] | None = None) -> dict[int, Any]:
        """The tool's own sweep in this arithmetic, by node number."""
        values = self.base if values is None else values
        dense = [None] * (1 + max(values))
        for number, value in values.items():
            dense[number] = value
        for node in self.nodes:  # a literal beside a float32 number is one itself, on the way back as well
            if node.dtype in ("float32", "float16"):
                for slot, operand in enumerate(node.operands):
                    if operand.op is CONSTANT:
                        dense[operand.number] = self._operand(node, slot, values)
        order = list(self.report.order_nodes)
        seed = self.seed if self.output.shape else self.arithmetic.of(self.seed)
        with np.errstate(all="ignore"):
            swept = sweep(order, dense, seed)
        return {n: g for n, g in enumerate(swept.gradients) if g is not None}

    def rounded(self, arithmetic: Arithmetic) -> Exact:
        """The same function in another arithmetic."""
        return Exact(self.report, arithmetic)

    def noise(self, more: Exact) -> Any:
        """How far the result may be from the true one, as a further arithmetic of more digits shows."""
        m = self.arithmetic
        size = abs(self.result)
        if size == 0:  # which says nothing of the rounding of what was added up to it
            values = [m.of(np.max(np.abs(v), initial=0)) for v in self.base.values()]
            size = max((v for v in values if m.context.isfinite(v)), default=size)
        rounding = m.power(10, 2 - m.digits) * size
        cancelled = abs(self.result - m.of(m.number(more.result)))
        return max(rounding, 10 * cancelled)


def _cut(node: Node) -> bool:
    """Whether the file cuts the gradient at this node (`with torch.no_grad():`), so that its value is data."""
    if node.leaf or node.differentiable or node.dtype not in FLOATS:
        return False
    return any(o.differentiable and node.op.passes(slot) for slot, o in enumerate(node.operands))


def ancestors(output: Node) -> list[Node]:
    """The node and everything it is computed from, operands before consumers."""
    found = {output.number: output}
    stack = [output]
    while stack:
        for operand in stack.pop().operands:
            if operand.number not in found:
                found[operand.number] = operand
                stack.append(operand)
    return [found[number] for number in sorted(found)]


def cost(nodes: Sequence[Node]) -> float:
    """About how many operations on numbers an evaluation takes."""
    total = 0.0
    for node in nodes:
        sizes = [size_of(n) for n in (node, *node.operands)]
        if node.op.matrix:  # an inverse, a determinant: cubic in the number of rows
            total += 3.0 * size_of(node.operands[0]) * node.operands[0].shape[-1]
        product = node.op.scalar is None and not node.op.stretches and len(node.operands) > 1
        total += math.sqrt(math.prod(sizes[:3])) if product and not _entrywise(node) else max(sizes)
    return total


def _entrywise(node: Node) -> bool:
    return all(o.shape in ((), node.shape) for o in node.operands)

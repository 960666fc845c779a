"""Points at which lines are compared with the truth: the file's own inputs, and generic ones.

Two formulas that agree at one point may differ everywhere else: a matrix may be symmetric there, an upstream gradient
may be 1.  So every line is also evaluated at inputs that are drawn anew, away from kinks, with all the forward values
and all the true gradients that belong to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.differentiate import sweep
from gradcli.evaluate import CannotEvaluate, operate
from gradcli.graph import CONSTANT, INPUT, SYMBOL, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework.labels import Structure, consumers_of, label_structure
from gradcli.homework.sheet import Sheet

GENERIC = 3
"""How many generic points there are."""

TRIES = 60
"""How often each way of drawing is tried."""

NODES_TRIED = 120_000
"""A large graph is tried less often: about so many nodes are evaluated for each way of drawing."""

LARGEST = 1e6
"""No value of a generic point is larger."""

AWAY = 1e-3
"""How far a generic point is from every kink."""

MOST_ROWS = 256
"""A derivative of a tensor with more entries than this is not worked out."""

Draw = Callable[[Any, np.random.Generator], Any]


class Point:
    """One point: the forward values there, by node number, and the true derivatives."""

    def __init__(self, sheet: Sheet, values: list[Any]) -> None:
        self.sheet = sheet
        self.values = values
        self.students: list[Any] = []
        """The student's own values of the lines there, as far as they were asked for."""
        self._scale: float | None = None
        self._sweeps: dict[int, list[Any]] = {}
        self._jacobians: dict[int, list[list[Any]]] = {}

    @property
    def scale(self) -> float:
        """The size of what this point's gradients are made of: its largest value times its largest gradient."""
        if self._scale is None:
            self._scale = _largest(self.values) * _largest(self._swept(self.sheet.output))
        return self._scale

    def seed(self) -> Any:
        """The gradient from which the output's sweep starts."""
        report = self.sheet.report
        node = report.seed_node
        if node is not None and node.number < len(self.values):
            return self.values[node.number]
        return report.seed

    def gradient(self, node: Node, of: Node | None = None) -> Any:
        """The true derivative of the output, or of `of`, with respect to a node.

        Of a tensor that is not the output it has the axes of the tensor, then those of the node; None if that is large.
        """
        of = of or self.sheet.output
        if of is self.sheet.output or of.shape == ():
            found = self._swept(of)
            arrived = found[node.number] if node.number < len(found) else None
            return _zeros(node) if arrived is None else arrived
        return self._jacobian(of, node)

    def _swept(self, of: Node) -> list[Any]:
        found = self._sweeps.get(of.number)
        if found is None:
            seed = self.seed() if of is self.sheet.output else 1.0
            found = self._sweeps[of.number] = sweep(self.sheet.order_of(of), self.values, seed).gradients
        return found

    def _jacobian(self, of: Node, node: Node) -> Any:
        size = math.prod(of.shape)
        if size > MOST_ROWS:
            return None
        rows = self._jacobians.get(of.number)
        if rows is None:
            order = self.sheet.order_of(of)
            seeds = np.eye(size).reshape(size, *of.shape)
            rows = [sweep(order, self.values, seed).gradients for seed in seeds]
            self._jacobians[of.number] = rows
        arrived = [r[node.number] if node.number < len(r) else None for r in rows]
        stacked = np.stack([np.asarray(_zeros(node) if r is None else r) for r in arrived])
        return stacked.reshape(of.shape + node.shape)


class Evaluator:
    """Evaluates expressions over the forward graph of a sheet, and over its lines."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._orders: dict[int, tuple[Node, list[Node]]] = {}

    def value(self, expression: Node, point: Point, given: Mapping[int, Any]) -> Any:
        """The value of a node over the forward graph at a point; None if it has none.

        `given` has the values of lines, by index, for the leaves that stand for them.
        """
        first = self.sheet.first
        done: dict[int, Any] = {}
        forward = point.values
        try:
            for node in self.order(expression):
                if node.op is SYMBOL or node.op is CONSTANT:
                    value = self.leaf(node, point, given)
                    if value is None:
                        return None
                else:
                    value = operate(
                        node, [forward[o.number] if 0 <= o.number < first else done[id(o)] for o in node.operands]
                    )
                done[id(node)] = value
        except CannotEvaluate:
            return None
        return done[id(expression)] if id(expression) in done else forward[expression.number]

    def leaf(self, node: Node, point: Point, given: Mapping[int, Any]) -> Any:
        """The value of a leaf that is no input: of a number, a true derivative, or a line; None if it has none."""
        if node.op is CONSTANT:
            return node.data
        truth = self.sheet.truths.get(node.number)
        return point.gradient(truth[1], truth[0]) if truth else given.get(self.sheet.lines_of[node.number])

    def order(self, expression: Node) -> list[Node]:
        """The nodes of an expression that are no forward nodes, operands first."""
        known = self._orders.get(id(expression))
        if known is not None:
            return known[1]
        first = self.sheet.first
        order: list[Node] = []
        seen: set[int] = set()
        stack: list[tuple[Node, bool]] = [(expression, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
                continue
            if 0 <= node.number < first or id(node) in seen:
                continue
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((o, False) for o in node.operands)
        self._orders[id(expression)] = expression, order  # kept, for another may get the id of one that is gone
        return order

    def students(self, node: Node, point: Point) -> Any:
        """The value of an expression at a point with the student's own values of the lines that it uses."""
        known = point.students
        used = [self.sheet.lines_of.get(n.number) for n in self.order(node) if n.op is SYMBOL]
        for line in self.sheet.lines[len(known) : max((j for j in used if j is not None), default=-1) + 1]:
            given = {j: known[j] for j in line.references}
            known.append(None if line.expression is None else self.value(line.expression, point, given))
        return self.value(node, point, dict(enumerate(known)))


class Points(Evaluator):
    """All points of a sheet; the first is the file's own inputs.

    `point` numbers below count from 0.
    """

    def __init__(self, sheet: Sheet, count: int = GENERIC) -> None:
        super().__init__(sheet)
        self.drawing = Drawing(sheet)
        self.here = self.drawing.here
        self.generic = self.drawing.generic(count)
        self.all: list[Point] = [self.here, *self.generic]


class Drawing:
    """Draws inputs anew and evaluates the forward graph at them."""

    def __init__(self, sheet: Sheet, seed: int = 20) -> None:
        self.sheet = sheet
        self.random = np.random.default_rng(seed)
        self.inputs = [n for n in sheet.forward if n.op is INPUT and n.dtype in FLOATS]
        claimed = {line.node.number for line in sheet.lines if line.about_gradient and line.node is not None}
        self.labels: dict[int, Structure] = {}
        consumers = consumers_of(sheet.forward)
        for node in self.inputs:
            structure = None if node.number in claimed else label_structure(node, consumers)
            if structure is not None:
                self.labels[node.number] = structure
        self.lengths = {n for node in sheet.forward if node.shape for n in (*node.shape, math.prod(node.shape))}
        kept = (n for n in self.inputs if n.number not in claimed and (self._is_count(n) or _is_start(n)))
        self.counts = {n.number for n in kept}
        self.tries = max(3, min(TRIES, NODES_TRIED // max(1, len(sheet.forward))))
        self.kinks = [n for n in sheet.forward if n.op.kink and n.op.scalar is not None]
        here = self.evaluated({})
        assert here is not None
        self.here = here
        self._reached = [n for n in self.inputs if n.differentiable and np.any(here.gradient(n))]
        self._first_stage = 0
        self._evaluator = Evaluator(sheet)

    def _is_count(self, node: Node) -> bool:
        """Whether an input is a whole number that counts entries, such as the N of 1/N: no number that varies."""
        raw = self.sheet.report.traced.raw.get(node.number)
        return not node.shape and isinstance(raw, int) and raw > 1 and raw in self.lengths

    def evaluated(self, inputs: Mapping[int, Any]) -> Point | None:
        """The point at these inputs (by node number, others as in the file); None where a value cannot be computed."""
        values: list[Any] = []
        try:
            for node in self.sheet.forward:
                if node.number in inputs:
                    values.append(inputs[node.number])
                elif node.op is INPUT:
                    values.append(_in_float64(node))
                elif node.op is CONSTANT:
                    values.append(node.data)
                else:
                    values.append(operate(node, [values[o.number] for o in node.operands]))
        except CannotEvaluate:
            return None
        return Point(self.sheet, values)

    def generic(
        self, count: int, kept: Mapping[int, Draw] | None = None, accept: Callable[[Point], bool] | None = None
    ) -> list[Point]:
        """Up to `count` generic points.

        `kept` draws some inputs (by node number) in its own way; `accept` says what else a point must fulfil.
        """
        found: list[Point] = []
        stage = self._first_stage
        while len(found) < count and stage < len(STAGES):
            for _ in range(self.tries):
                point = self.evaluated(self._inputs(STAGES[stage], kept or {}))
                if point is not None and self._good(point) and (accept is None or accept(point)):
                    found.append(point)
                    break
            else:
                stage += 1
        if not kept and accept is None:
            self._first_stage = min(stage, len(STAGES) - 1)
        return found

    def at(self, draws: Mapping[int, Draw]) -> Point | None:
        """A point at which some inputs (by node number) are drawn, and the others are the file's own."""
        inputs = {}
        for node in self.inputs:
            if node.number in draws:
                new = draws[node.number](self.here.values[node.number], self.random)
                inputs[node.number] = new if node.shape else float(new)
        return self.evaluated(inputs)

    def _inputs(self, draw: Draw, kept: Mapping[int, Draw]) -> dict[int, Any]:
        inputs = {}
        for node in self.inputs:
            value = self.here.values[node.number]
            structure = self.labels.get(node.number)
            if node.number in kept:
                new = kept[node.number](value, self.random)
            elif structure is not None:
                new = structure.draw(value, self.random)
            elif node.number in self.counts or node.number in self.sheet.fixed:
                new = value
            else:
                new = draw(value, self.random)
            inputs[node.number] = new if node.shape else float(new)
        return inputs

    def _good(self, point: Point) -> bool:
        """Finite, not large, away from kinks, and without a gradient that has become zero."""
        for node, here, value in zip(self.sheet.forward, self.here.values, point.values, strict=True):
            if node.dtype in FLOATS and node.op is not CONSTANT:
                if type(value) is float:
                    good = -LARGEST < value < LARGEST
                else:
                    good = float(np.max(np.abs(value), initial=0.0)) < LARGEST
                if not good and np.all(np.isfinite(here)):
                    return False
        if any(distance(node, point) < AWAY for node in self.kinks):
            return False
        if any(not np.array_equal(self._evaluator.students(n, point), v) for n, v in self.sheet.decided):
            return False
        return all(_nonzero(point.gradient(n)) for n in self._reached)


def distance(node: Node, point: Point) -> float:
    """How far a point is from the kink of a node: its operand from 0, or two operands from each other."""
    operands = [point.values[o.number] for o in node.operands]
    numbers = operands[0] if len(operands) == 1 else np.subtract(operands[0], operands[1], dtype=float)
    return float(np.min(np.abs(np.asarray(numbers, float)), initial=math.inf))


def _is_start(node: Node) -> bool:
    """Whether an input is the zero from which a sum of the file starts, under a name that is given again later."""
    return "'" in node.name and not np.any(node.data)


def _any_sign(value: Any, random: np.random.Generator) -> Any:
    shape = np.shape(value)
    return random.uniform(0.25, 1.4, shape) * random.choice([-1.0, 1.0], shape)


def _same_sign(value: Any, random: np.random.Generator) -> Any:
    sign = np.sign(value)
    return random.uniform(0.25, 1.4, np.shape(value)) * np.where(
        sign == 0, random.choice([-1.0, 1.0], np.shape(value)), sign
    )


def _near(least: float, most: float) -> Draw:
    def draw(value: Any, random: np.random.Generator) -> Any:
        small = random.uniform(-0.1, 0.1, np.shape(value))
        return np.where(np.equal(value, 0), small, value * random.uniform(least, most, np.shape(value)))

    return draw


STAGES: Sequence[Draw] = (_any_sign, _same_sign, _near(0.6, 1.5), _near(0.85, 1.15), _near(0.98, 1.02))
"""The ways of drawing, from the freest on: a function may not be defined everywhere."""


def _in_float64(node: Node) -> Any:
    if node.dtype in ("float32", "float16"):
        return np.asarray(node.data, float) if node.shape else float(node.data)
    return node.data


def _zeros(node: Node) -> Any:
    return np.zeros(node.shape) if node.shape else 0.0


def _largest(values: Sequence[Any]) -> float:
    """The largest finite number, at least 1."""
    largest = 1.0
    for value in values:
        if value is not None and np.size(value):
            here = float(np.max(np.abs(np.asarray(value, float))))
            largest = max(largest, here if math.isfinite(here) else 1.0)
    return largest


def _nonzero(value: Any) -> bool:
    return bool(np.any(value)) and bool(np.all(np.isfinite(value)))


__all__ = ["Drawing", "Point", "Points", "distance"]

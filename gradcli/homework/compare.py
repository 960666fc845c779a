"""Whether two values are the same, and whether one is a constant multiple of another.

Two formulas for one thing round differently, so a difference of rounding is none: 1e-8 of the largest entry, or 1e-11
of the majorant, the sum of the absolute values of the terms, where the terms cancel.  Shapes are never stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate, operate
from gradcli.graph import CONSTANT, SYMBOL, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX
from gradcli.homework.points import Point, Points

RELATIVE = 1e-8
OF_MAJORANT = 1e-11
WORTH_A_MAJORANT = 1e-7
"""A difference beyond this part of what a point's numbers are made of is no rounding, whatever cancels."""


def numbers(value: Any) -> Any:
    """A value as floats: a mask counts as zeros and ones."""
    return np.asarray(value, float)


def finite(value: Any) -> bool:
    """Whether every entry is a finite number."""
    return bool(np.all(np.isfinite(numbers(value))))


def same(value: Any, truth: Any, majorant: Callable[[], float] | None = None, scale: float = 1.0) -> bool:
    """Whether a value is the truth, entry by entry and in its shape; `scale` is the size of a point's numbers."""
    if value is None or truth is None:
        return False
    a, b = numbers(value), numbers(truth)
    if a.shape != b.shape:
        return False
    apart = float(np.max(np.abs(a - b), initial=0.0))
    if apart <= RELATIVE * float(np.max(np.abs(b), initial=0.0)):
        return True
    return majorant is not None and apart <= WORTH_A_MAJORANT * scale and apart <= OF_MAJORANT * majorant()


def multiple(value: Any, truth: Any) -> float | None:
    """The c for which the value is c times the truth; None if there is none, or if the truth is zero."""
    if value is None or truth is None:
        return None
    a, b = numbers(value), numbers(truth)
    if a.shape != b.shape or not b.size:
        return None
    square = float(np.sum(b * b))
    if not 0 < square < math.inf:
        return None
    if not np.all(np.isfinite(a)):
        return None
    c = float(np.sum(a * b)) / square
    apart = float(np.max(np.abs(a - c * b)))
    return c if c and apart <= RELATIVE * abs(c) * float(np.max(np.abs(b))) else None


def common_multiple(values: Sequence[Any], truths: Sequence[Any]) -> float | None:
    """The one c for which every value is c times its truth."""
    found = [multiple(v, t) for v, t in zip(values, truths, strict=True)]
    if any(c is None for c in found) or not found:
        return None
    first = found[0]
    assert first is not None
    return first if all(abs(c - first) <= RELATIVE * abs(first) for c in found if c is not None) else None


def majorant(points: Points, expression: Node, point: Point, given: Mapping[int, Any]) -> float:
    """The largest entry of the sum of absolute values of the terms of an expression, as far as sums and products go."""
    first = points.sheet.first
    values: dict[int, Any] = {}
    bounds: dict[int, Any] = {}

    def value(node: Node) -> Any:
        return point.values[node.number] if 0 <= node.number < first else values[id(node)]

    def bound(node: Node) -> Any:
        return np.abs(numbers(value(node))) if 0 <= node.number < first else bounds[id(node)]

    try:
        with np.errstate(all="ignore"):
            for node in points.order(expression):
                if node.op is SYMBOL or node.op is CONSTANT:
                    values[id(node)] = points.leaf(node, point, given)
                    bounds[id(node)] = np.abs(numbers(values[id(node)]))
                    continue
                values[id(node)] = operate(node, [value(o) for o in node.operands])
                bounds[id(node)] = _bound(node, values[id(node)], value, bound)
    except (CannotEvaluate, TypeError):
        return 0.0
    largest = float(np.max(bound(expression), initial=0.0))
    return largest if math.isfinite(largest) else 0.0


def _bound(node: Node, result: Any, value: Callable[[Node], Any], bound: Callable[[Node], Any]) -> Any:
    op, operands = node.op, node.operands
    own = np.abs(numbers(result))
    if op is INFIX["+"] or op is INFIX["-"]:
        return bound(operands[0]) + bound(operands[1])
    if op is INFIX["*"]:
        return bound(operands[0]) * bound(operands[1])
    if op is INFIX["/"]:
        return bound(operands[0]) / np.abs(numbers(value(operands[1])))
    if op is INFIX["u-"]:
        return bound(operands[0])
    if op.scalar is None:  # what is not computed entry by entry mostly sums, multiplies and moves
        given = [bound(o) if o.dtype in FLOATS else value(o) for o in operands]
        try:
            summed = np.abs(numbers(operate(node, given)))
        except (CannotEvaluate, TypeError):
            return own
        return np.where(np.isfinite(summed), np.maximum(summed, own), own) if summed.shape == own.shape else own
    return own

"""Why a line is right at the file's inputs and not in general.

Inputs are drawn anew while one thing about them is kept: the side of a kink, a symmetry, one input's numbers.  If the
line holds as long as that is kept, that is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import Node
from gradcli.graph.op import size_of
from gradcli.homework.labels import Structure
from gradcli.homework.mark import Verdict
from gradcli.homework.points import Draw, Point, distance
from gradcli.homework.sheet import Line
from gradcli.problems import Source

if TYPE_CHECKING:
    from gradcli.homework.marking import Marking

POINTS = 2
"""At so many points a line must hold for a reason to be given."""


AT_KINK = 1e-9
"""So near to a corner a number is at it."""

AROUND, NEAR, SLACK = 12, 1e-5, 1e-3
"""How many points around the file's inputs are looked at, how near they are, and how much a slope may change there."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a line holds here, and whether that is right all the same."""

    note: str
    right: bool = False


def reason(marking: Marking, line: Line) -> Reason:
    """The first reason that explains why a line holds here only."""
    return (
        _kink(marking, line) or _trait(marking, line) or _value(marking, line) or Reason("right at these inputs only")
    )


def _holds(marking: Marking, line: Line, points: list[Point]) -> bool:
    """Whether a line is right at these points, given the earlier lines."""
    return len(points) == POINTS and all(_right_at(marking, line, point) for point in points)


def _right_at(marking: Marking, line: Line, point: Point) -> bool:
    from gradcli.homework.compare import same

    given: dict[int, Any] = {}
    for j in sorted(set(_closure(marking, line))):
        given[j] = _intended(marking, j, point, given)
    assert line.expression is not None
    value = marking.points.value(line.expression, point, given)
    return same(value, marking.truth_at(line, point))


def _closure(marking: Marking, line: Line) -> Iterator[int]:
    stack = list(line.references)
    seen: set[int] = set()
    while stack:
        j = stack.pop()
        if j not in seen:
            seen.add(j)
            yield j
            stack.extend(marking.sheet.lines[j].references)


def _intended(marking: Marking, j: int, point: Point, given: dict[int, Any]) -> Any:
    """What line j should be at a point."""
    line, state = marking.sheet.lines[j], marking.states[j]
    if state.meaning is not None and state.verdict is not Verdict.HELPER:
        return state.meaning[1] * point.gradient(state.meaning[0])
    if state.verdict is Verdict.HELPER and line.expression is not None:
        return marking.points.value(line.expression, point, given)
    truth = marking.truth_at(line, point)
    return None if truth is None else state.factor * truth


# At a kink ---------------------------------------------------------------------------------------


def allowed_at_kink(marking: Marking, line: Line, value: Any) -> bool:
    """Whether a line has, at the file's inputs, another slope that is allowed at a kink there.

    A formula must be right all around the file's inputs, on whatever side of the kink.  At them no entry may be beyond
    what the gradient is around them; and where equal entries share a gradient, the whole of it must be there.
    """
    here, truth = marking.points.here, marking.truth_at(line, marking.points.here)
    kinks = [n for n in marking.sheet.forward if n.op.kink]
    ties = any(n.op.scalar is None for n in kinks)
    if not ties and not any(distance(n, here) < AT_KINK for n in kinks):
        return False
    draws = {n.number: _around for n in marking.points.drawing.inputs if n.number not in marking.points.drawing.labels}
    points = [marking.points.drawing.at(draws) for _ in range(AROUND)]
    if value is None or not line.about_gradient or any(p is None for p in points):
        return False
    if not line.numeric and any(p is None or not _right_at(marking, line, p) for p in points):
        return False
    slopes = np.stack([np.asarray(marking.truth_at(line, p), float) for p in points if p is not None])
    given = np.asarray(value, float)
    slack = SLACK * float(np.max(np.abs(slopes), initial=1.0))
    if given.shape != slopes.shape[1:] or not np.all(np.isfinite(given)):
        return False
    inside = np.all(given >= slopes.min(axis=0) - slack) and np.all(given <= slopes.max(axis=0) + slack)
    return bool(inside) and (not ties or abs(float(given.sum()) - float(np.sum(truth))) <= slack * given.size)


def _around(value: Any, random: np.random.Generator) -> Any:
    return value + NEAR * random.uniform(-1, 1, np.shape(value)) * np.maximum(1.0, np.abs(value))


# Kinks -------------------------------------------------------------------------------------------


def _kink(marking: Marking, line: Line) -> Reason | None:
    """The kinks that must stay on their side."""
    drawing, here = marking.points.drawing, marking.points.here
    nodes = [n for n in marking.sheet.forward if n.op.kink or (n.dtype == "bool" and n.operands)]
    if not nodes:
        return None
    sides = {n.number: side(n, here) for n in nodes}

    def keeping(kept: list[Node]) -> list[Point]:
        return drawing.generic(POINTS, accept=lambda p: all(_equal(side(n, p), sides[n.number]) for n in kept))

    if not _holds(marking, line, keeping(nodes)):
        return None
    alone = [n for n in nodes if _holds(marking, line, keeping([n]))]
    name, source = marking.sheet.name_of, marking.sheet.report.traced.source
    for node in alone:
        if node.shape == () and all(o.shape == () for o in node.operands):
            return Reason(f"it holds while {_described(node, name, source)} stays on its side of the kink", right=True)
    if not alone and all(size_of(n) == 1 for n in nodes):
        return Reason("it holds while every kink stays on its side", right=True)
    if not alone and _entry_by_entry(line):
        return Reason("it is written entry by entry, for kinks on the side on which they are here", right=True)
    node = (alone or nodes)[0]
    return Reason(
        f"right here only: it holds while every entry of {_described(node, name, source)} stays on its side of the kink"
    )


def side(node: Node, point: Point) -> Any:
    """On which side of its kink every entry of a node is."""
    if node.dtype == "bool":
        return np.asarray(point.values[node.number])
    operands = [point.values[o.number] for o in node.operands]
    if node.op.scalar is not None:
        return np.greater(operands[0], operands[1] if len(operands) > 1 else 0)
    y = point.values[node.number]
    ones = np.ones(np.shape(y)) if np.shape(y) else 1.0
    with np.errstate(all="ignore"):
        sent = [contribution(node, slot, ones, y, operands) for slot, _ in list(node.op.passing(node.operands))[:1]]
    return np.not_equal(sent[0], 0) if sent else np.asarray(True)


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


def _described(node: Node, name: Callable[[Node], str], source: Source) -> str:
    if name(node):
        return f"`{name(node)}`"
    named = [name(o) for o in node.operands if name(o)]
    return f"`{named[0]}`" if named else f"the {node.op.name} {source.on(node.line)}"


def _entry_by_entry(line: Line) -> bool:
    """Whether the right side is a list of entries."""
    node = line.expression
    while node is not None and node.op.variadic and len(node.operands) > 1:
        if node.operands[0].shape == ():
            return True
        node = node.operands[0]
    return False


# Traits ------------------------------------------------------------------------------------------


def _trait(marking: Marking, line: Line) -> Reason | None:
    """One input's trait, such as a symmetry, that must be kept."""
    drawing = marking.points.drawing
    for node in drawing.inputs:
        for words, draw in _traits(marking.points.here.values[node.number]):
            if _holds(marking, line, drawing.generic(POINTS, {node.number: draw})):
                return Reason(f"right here only: it holds because `{node.name}` {words}")
    return None


def _traits(value: Any) -> Iterator[tuple[str, Draw]]:
    array = np.asarray(value, float)
    if array.ndim == 2 and array.shape[0] == array.shape[1] > 1 and np.array_equal(array, array.T):
        if not np.any(array - np.diag(np.diag(array))):
            yield "is diagonal", lambda v, r: np.diag(r.uniform(0.25, 1.4, len(v)))
        yield "is symmetric", _symmetric
    if array.size > 1 and np.all(array == array.flat[0]):
        yield f"has equal entries, all {array.flat[0]:g}", lambda v, r: np.full(np.shape(v), r.uniform(0.25, 1.4))
    if array.ndim > 1 and array.shape[0] > 1 and np.all(array == array[:1]):
        yield "has equal rows", lambda v, r: np.broadcast_to(r.uniform(0.25, 1.4, np.shape(v)[1:]), np.shape(v)).copy()
    if array.ndim > 1 and array.shape[-1] > 1 and np.all(array == array[..., :1]):
        yield (
            "has equal columns",
            lambda v, r: np.broadcast_to(r.uniform(0.25, 1.4, (*np.shape(v)[:-1], 1)), np.shape(v)),
        )
    if np.all((array == 0) | (array == 1)) and array.size > 1:
        yield "is made of zeros and ones", Structure("0 or 1").draw
    if np.all(np.abs(array) == 1) and array.size > 1:
        yield "is made of ones and minus ones", Structure("-1 or 1").draw
    if array.ndim and array.shape[-1] > 1 and np.allclose(array.sum(axis=-1), 1) and np.all(array >= 0):
        yield "has rows that sum to one", Structure("sums to one").draw


def _symmetric(value: Any, random: np.random.Generator) -> Any:
    new = random.uniform(0.25, 1.4, np.shape(value)) * random.choice([-1.0, 1.0], np.shape(value))
    return new + new.T


def _value(marking: Marking, line: Line) -> Reason | None:
    """One input that must keep its numbers."""
    drawing = marking.points.drawing
    for node in drawing.inputs:
        if _holds(marking, line, drawing.generic(POINTS, {node.number: lambda v, _: v})):
            value = np.asarray(marking.points.here.values[node.number], float)
            what = (
                f"is {value.flat[0]:g}" if value.size and np.all(value == value.flat[0]) else "has just these numbers"
            )
            return Reason(f"right here only: it holds because `{node.name}` {what}")
    return None

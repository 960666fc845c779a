"""Numbers to the digits that are written.

A printed number is right if the truth rounds to it.  If not, it may have been computed from numbers that were rounded
before: so it is worked out again from the numbers the student has printed, and only a number that comes out is
explained.  What only an error bound could explain stays unresolved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.evaluate import CannotEvaluate, operate
from gradcli.graph import Node
from gradcli.homework import coincidence
from gradcli.homework.compare import RELATIVE, numbers
from gradcli.homework.mark import Verdict
from gradcli.homework.points import Point
from gradcli.homework.sheet import Kind, Line
from gradcli.homework.written import Written

if TYPE_CHECKING:
    from gradcli.homework.marking import Marking

MOST_SUBSETS = 6
"""All subsets of so many printed lines are tried."""

MOST_ENTRIES = 64
"""The bound on what rounding can do is worked out for so many printed entries at most."""

GENEROUS = 1.1
"""Half of so many units may be between a number and the truth, where an earlier printed number feeds it."""

NICE = (*range(2, 101), 128, 256, 512, 1000)
"""Whole numbers that, or whose reciprocals, may be left out of one line and put into another."""


@dataclass(frozen=True, slots=True)
class Found:
    """The verdict on numbers."""

    verdict: Verdict
    notes: tuple[str, ...] = ()
    cause: int | None = None
    digits: int | None = None
    factor: float = 1.0


def fits(written: Written, truth: Any, units: float = 1.0) -> bool:
    """Whether the truth rounds to what is written, a tie to either side; `units` widens the half unit allowed."""
    value, right = numbers(written.value), numbers(truth)
    if value.shape != right.shape:
        return False
    with np.errstate(invalid="ignore"):
        apart = np.abs(value - right)
    slack = RELATIVE * float(np.max(np.abs(right), initial=0.0)) + 1e-13
    half = np.asarray(written.unit) / 2 * units * (1 + 1e-9)
    return bool(np.all((apart <= half + slack) | (value == right)))


def telling(written: Written) -> bool:
    """Whether the digits say so much that a match is no chance."""
    value, unit = numbers(written.value), np.asarray(written.unit)
    known = (unit > 0) & (np.abs(value) > unit)
    return bool(np.sum(np.log10(np.abs(value[known]) / unit[known])) >= 3) if known.any() else False


def judge(marking: Marking, line: Line) -> Found:
    """The verdict on a line of numbers."""
    written, truth = line.written, marking.truths[line.index][0]
    assert written is not None
    if np.shape(written.value) != np.shape(truth):
        return Found(Verdict.WRONG, (f"its shape is {np.shape(written.value)}, and it should be {np.shape(truth)}",))
    if np.any(np.isnan(numbers(written.value))):
        return Found(Verdict.WRONG, ("it holds nan, which no number is equal to",))
    digits = None if written.exact else written.digits
    if fits(written, truth):
        return Found(Verdict.RIGHT, digits=digits)
    feeding = _feeding(marking, line)
    sound = [n for n in feeding if marking.cause(n.index) is None]
    for lines in (sound, feeding) if len(sound) < len(feeding) else (feeding,):
        chosen = _explaining(marking, line, lines)
        if chosen:
            causes = [c for n in chosen if (c := marking.cause(n.index)) is not None]
            if causes:
                return Found(Verdict.FOLLOWS, cause=min(causes), digits=digits)
            return Found(Verdict.RIGHT, (_explained(chosen),), digits=digits)
    rounded = [n for n in sound if _is_rounded(n)]
    if rounded and fits(written, truth, GENEROUS):
        return Found(Verdict.RIGHT, ("rounding: a little more than half a unit of the last digit",), digits=digits)
    if coincidence.allowed_at_kink(marking, line, written.value):
        return Found(Verdict.RIGHT, ("at a kink another slope is chosen than here; both are allowed",), digits=digits)
    factor = _factor(marking, line)
    if factor is not None:
        return Found(Verdict.SCALED, digits=digits, factor=factor)
    if rounded and _within_bound(marking, line, rounded):
        listed = "; ".join(j.said for j in rounded)
        return Found(Verdict.UNRESOLVED, (f"rounding on {listed} could explain the difference, or may not",))
    return Found(Verdict.WRONG, digits=digits)


def _is_rounded(line: Line) -> bool:
    return line.written is not None and not line.written.exact


def _feeding(marking: Marking, line: Line) -> list[Line]:
    """The earlier lines whose values the student may have computed with."""
    lines = marking.sheet.lines[: line.index]
    found = []
    for other in lines:
        value = marking.own[other.index][0]
        if other.node is None or value is None or other.target.key or np.shape(value) != other.node.shape:
            continue
        gradient = other.about_gradient and other.of is line.of and not other.continued
        if gradient or other.kind is Kind.VALUE:
            found.append(other)
    return found


def _choices(feeding: list[Line]) -> Iterator[list[Line]]:
    """Which of the earlier lines to put in: all, the gradients, the values, the nearest ones, subsets."""
    if not feeding:
        return
    yield feeding
    gradients = [n for n in feeding if n.about_gradient]
    values = [n for n in feeding if not n.about_gradient]
    yield from (chosen for chosen in (gradients, values) if chosen and len(chosen) < len(feeding))
    nearest = feeding[-MOST_SUBSETS:]
    for size in range(1, len(nearest) + 1):
        yield from map(list, itertools.combinations(nearest, size))


def _explaining(marking: Marking, line: Line, lines: list[Line]) -> list[Line]:
    """Earlier lines from whose values the numbers come out when they are worked out again: a few if that is enough."""
    assert line.written is not None

    def explains(chosen: list[Line]) -> bool:
        assert line.written is not None
        return any(fits(line.written, r) for r in _recomputed(marking, line, chosen))

    for chosen in _choices(lines):
        if explains(chosen):
            return next(([n] for n in reversed(chosen) if explains([n])), chosen)
    return []


def _explained(chosen: list[Line]) -> str:
    lines = [n for n in chosen if _is_rounded(n)]
    listed = " and ".join(f"`{n.text}`" for n in lines[:2]) if len(lines) <= 2 else "the numbers printed before"
    return f"rounding: computed from {listed}" if lines else "computed from the lines before"


class _Put(Point):
    """A point with some of a student's numbers in the place of the true ones."""

    def __init__(self, point: Point, values: list[Any], gradients: dict[int, Any]) -> None:
        super().__init__(point.sheet, values)
        self.true = point
        self.put = gradients

    def gradient(self, node: Node, of: Node | None = None) -> Any:
        """The student's gradient where there is one."""
        return self.put[node.number] if node.number in self.put else self.true.gradient(node, of)


def _recomputed(marking: Marking, line: Line, chosen: Iterable[Line]) -> Iterator[Any]:
    """What the line comes to when worked out from these lines' values: by the whole sweep, and by its last step."""
    put: dict[int, Any] = {}
    values: dict[int, Any] = {}
    for other in chosen:
        assert other.node is not None
        value = marking.own[other.index][0]
        value = numbers(value) if np.shape(value) else float(value)
        (put if other.about_gradient else values)[other.node.number] = value
    yield from _worked_out(marking, line, put, values)


def _worked_out(marking: Marking, line: Line, put: dict[int, Any], values: dict[int, Any]) -> Iterator[Any]:
    here = marking.points.here
    changed = _forward(marking, values)
    if changed is None:
        return
    point = _Put(here, changed, put)
    if line.kind is Kind.VALUE:
        if line.node is not None and line.node.number not in values:
            yield marking.points.value(line.left, point, {}) if line.left is not None else changed[line.node.number]
        return
    if line.node is None or line.of is None or line.target.key or line.node.number in put:
        return
    if line.of.shape and line.of is not marking.sheet.output:
        return
    steps = marking.steps(line.of)
    yield steps.gradient(line.node, here, put, changed)
    expected = steps.expected(line.node, {})
    if expected is not None:
        yield marking.points.value(expected, point, {})


def _forward(marking: Marking, put: dict[int, Any]) -> list[Any] | None:
    """The forward values when some of them are these."""
    values = list(marking.points.here.values)
    changed = set(put)
    if not put:
        return values
    try:
        for node in marking.sheet.forward:
            if node.number in put:
                values[node.number] = put[node.number]
            elif any(o.number in changed for o in node.operands):
                values[node.number] = operate(node, [values[o.number] for o in node.operands])
                changed.add(node.number)
    except CannotEvaluate:
        return None
    return values


def _factor(marking: Marking, line: Line) -> float | None:
    """A plain factor other than 1 by which the numbers differ from the truth."""
    written, truth = line.written, numbers(marking.truths[line.index][0])
    assert written is not None
    if line.index in marking.supposed.dropped or not line.about_gradient or not telling(written):
        return None
    at = np.unravel_index(np.argmax(np.abs(truth)), truth.shape) if truth.shape else ()
    if not truth[at]:
        return None
    found = float(numbers(written.value)[at] / truth[at])
    candidates = [-1.0, *(s * c for n in NICE for c in (float(n), 1 / n) for s in (1, -1))]
    nearest = min(candidates, key=lambda c: abs(c - found))
    return nearest if fits(written, nearest * truth) else None


def _rounded_entries(marking: Marking, line: Line) -> list[tuple[int, ...]]:
    """The entries of a printed line that are not exact."""
    apart = np.abs(numbers(marking.own[line.index][0]) - numbers(marking.truths[line.index][0]))
    return [at for at in np.ndindex(apart.shape) if apart[at] > 1e-9]


def _within_bound(marking: Marking, line: Line, rounded: list[Line]) -> bool:
    """Whether the half units of the printed numbers before, all at their worst, reach from the truth to the number."""
    written, truth = line.written, numbers(marking.truths[line.index][0])
    assert written is not None
    entries = [(n, at) for n in rounded for at in _rounded_entries(marking, n)]
    if len(entries) > MOST_ENTRIES:
        return False
    bounds: list[Any] = [np.zeros(truth.shape), np.zeros(truth.shape)]
    for other, at in entries:
        assert other.written is not None
        assert other.node is not None
        moved = np.array(marking.truths[other.index][0], float)
        moved[at] += float(np.asarray(other.written.unit)[at]) / 2
        value = moved if moved.shape else float(moved)
        put, values = ({other.node.number: value}, {}) if other.about_gradient else ({}, {other.node.number: value})
        for way, result in enumerate(_worked_out(marking, line, put, values)):
            if result is not None and np.shape(result) == truth.shape:
                bounds[way] = bounds[way] + np.abs(numbers(result) - truth)
    apart = np.abs(numbers(written.value) - truth)
    half = np.asarray(written.unit) / 2
    return any(bool(np.all(apart <= bound + half)) for bound in bounds)

"""Gradients that several lines, or one line of a loop, add up: which part is wrong, and what overwrites another.

The steps of a sum are compared with what the reverse sweep adds up: with the contributions of the node's consumers, or,
where a loop runs over samples or entries, with what each sample or entry of a consumer contributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework.compare import RELATIVE, numbers, same
from gradcli.homework.sheet import Line
from gradcli.ops.arrange import assigned

if TYPE_CHECKING:
    from gradcli.homework.points import Point
    from gradcli.homework.supposing import Supposing

MOST_STEPS = 400
"""A sum of more steps is judged as a whole."""

MOST_ENTRIES = 400
"""Contributions are taken apart into so many pieces at most."""


MOST_COMBINED = 16
"""Of more steps or contributions than this, no combinations are tried."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a sum: what it adds to the end result, at every point."""

    line: Line
    adds: list[Any]
    rest: list[Any]
    """What the later steps multiply the sum by, at every point."""


def chain_of(supposing: Supposing, line: Line) -> list[Line]:
    """The lines that gave the name of a line before, as far as it goes on with them or overwrites them, first to last.

    Cut off where there are more than can be judged.
    """
    chain = [line]
    while (before := _before(chain[-1])) is not None and len(chain) <= MOST_STEPS:
        chain.append(supposing.sheet.lines[before])
    return chain[::-1]


def _before(line: Line) -> int | None:
    return line.continues if line.continues is not None else line.overwrites


def reached(supposing: Supposing, line: Line) -> dict[int, list[Any]] | None:
    """What every step of the sum that a wrong line ends should have reached, by line, at every point.

    None where the steps are not those of the sweep, so that nothing can be said of a single one.
    """
    chain = chain_of(supposing, line)
    if line.node is None or line.of is None or not 1 < len(chain) <= MOST_STEPS:
        return None
    starts = [at for at, each in enumerate(chain) if each.continues is None]
    chain = chain[starts[-1] :]
    steps = _steps(supposing, chain)
    if steps is None:
        return None
    for pieces in _pieces(supposing, line):
        wanted = _paired([s.adds for s in steps], pieces, _last_of_loop(steps))
        if wanted is None:
            continue
        totals: dict[int, list[Any]] = {}
        sums = [np.zeros(np.shape(at[0])) for at in pieces]
        for step, adds in zip(steps, wanted, strict=True):
            sums = [s + a for s, a in zip(sums, adds, strict=True)]
            totals[step.line.index] = [s / r for s, r in zip(sums, step.rest, strict=True)]
        return totals
    return None


def _steps(supposing: Supposing, chain: Sequence[Line]) -> list[_Step] | None:
    """The steps of a sum, if each adds something to it or multiplies it by a number."""
    points = supposing.points.all
    factors: list[list[float]] = []
    adds: list[list[Any]] = []
    for line in chain:
        if line.expression is None or not line.fits:
            return None
        own_adds, own_factors = [], []
        for k in range(len(points)):
            given = {j: supposing.states[j].intended[k] for j in line.references}
            if line.continues is None:
                value, factor = supposing.points.value(line.expression, points[k], given), 1.0
            else:
                shape = np.shape(given[line.continues])
                value = supposing.points.value(line.expression, points[k], {**given, line.continues: np.zeros(shape)})
                other = supposing.points.value(line.expression, points[k], {**given, line.continues: np.ones(shape)})
                if value is None or other is None or np.shape(value) != np.shape(other):
                    return None
                difference = numbers(other) - numbers(value)
                factor = float(np.ravel(difference)[0]) if np.size(difference) else 1.0
                if not factor or not np.allclose(difference, factor, rtol=RELATIVE, atol=0):
                    return None
            if value is None:
                return None
            own_adds.append(numbers(value))
            own_factors.append(factor)
        adds.append(own_adds)
        factors.append(own_factors)
    steps = []
    rest = [1.0] * len(points)
    for line, values, own in zip(reversed(chain), reversed(adds), reversed(factors), strict=True):
        steps.append(_Step(line, [v * r for v, r in zip(values, rest, strict=True)], list(rest)))
        rest = [r * f for r, f in zip(rest, own, strict=True)]
    return steps[::-1]


def _pieces(supposing: Supposing, line: Line) -> list[list[list[Any]]]:
    """The contributions to the gradient of a line's node at every point, whole and taken apart in several ways."""
    assert line.node is not None
    assert line.of is not None
    steps = supposing.steps(line.of)
    consumers = steps.consumers.get(line.node.number, [])
    points = supposing.points.all
    every = [[*steps.parts(line.node, point)] for point in points]
    found = [every] if every[0] else []
    if (carried := contributions(supposing, line.node)) is not None and len(carried[0]) != len(every[0]):
        found.append(carried)
    ways: list[Callable[[Sequence[int]], list[Any]]] = [_rows(axis) for axis in range(3)]
    ways.append(_entries)
    for way in ways:
        masks = [way(consumer.shape) for consumer, _ in consumers]
        if not any(len(m) > 1 for m in masks) or sum(map(len, masks)) > MOST_ENTRIES:
            continue
        taken = [_masked(supposing, line, point, masks) for point in points]
        found.append([list(at) for at in taken])
    return found


def contributions(supposing: Supposing, node: Node) -> list[list[Any]] | None:
    """What is sent to a value, point by point: to the node itself, and to those that hand on its value unchanged.

    An entry that is put into an array is read again from there.  None if these are not all of the node's gradient.
    """
    of = supposing.sheet.output
    steps, points = supposing.steps(of), supposing.points.all
    values = [point.values[node.number] for point in points]

    def carries(other: Node) -> bool:
        return other.shape == node.shape and all(
            same(p.values[other.number], v) for p, v in zip(points, values, strict=True)
        )

    carriers = [n for n in steps.order if n.dtype in FLOATS and carries(n)]
    known = {n.number for n in carriers}
    found: list[list[Any]] = [[] for _ in points]
    for carrier in carriers:
        for consumer, slot in steps.consumers.get(carrier.number, ()):
            if consumer.number in known or consumer.op is assigned:
                continue
            for at, point in zip(found, points, strict=True):
                operands = [point.values[o.number] for o in consumer.operands]
                arrived = point.gradient(consumer, of)
                at.append(contribution(consumer, slot, arrived, point.values[consumer.number], operands))
    if not found[0]:
        return None
    whole = all(same(sum(at), point.gradient(node)) for at, point in zip(found, points, strict=True))
    return found if whole else None


def at_fault(
    supposing: Supposing, line: Line, wanted: list[Any], pieces: Sequence[list[Any]]
) -> tuple[int, list[Any]] | None:
    """Of a sum that should be some of the contributions, the first step that is wrong, and what it should have reached.

    None if it should be no such thing.
    """
    chosen = _choice(wanted, pieces)
    if chosen is None:
        return None
    while line.expression is not None and line.expression.number in supposing.sheet.lines_of:  # another name for it
        line = supposing.sheet.lines[supposing.sheet.lines_of[line.expression.number]]
    chain = chain_of(supposing, line)
    starts = [at for at, each in enumerate(chain) if each.continues is None]
    chain = chain[starts[-1] :]
    steps = _steps(supposing, chain) if 1 < len(chain) <= MOST_STEPS else None
    paired = None if steps is None else _paired([s.adds for s in steps], chosen, len(steps) - 1)
    if steps is None or paired is None:
        return line.index, wanted
    sums = [np.zeros(np.shape(w)) for w in wanted]
    for step, adds in zip(steps, paired, strict=True):
        sums = [s + a for s, a in zip(sums, adds, strict=True)]
        if not all(same(a, b) for a, b in zip(adds[1:], step.adds[1:], strict=True)):
            return step.line.index, [s / r for s, r in zip(sums, step.rest, strict=True)]
    return line.index, wanted


def _choice(wanted: list[Any], pieces: Sequence[list[Any]]) -> list[list[Any]] | None:
    """Those of the contributions that add up to what is wanted."""
    count = len(pieces[0])
    if not 0 < count <= 10:
        return None
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            if all(same(w, sum(at[n] for n in chosen)) for w, at in zip(wanted, pieces, strict=True)):
                return [[at[n] for n in chosen] for at in pieces]
    return None


def _rows(axis: int) -> Callable[[Sequence[int]], list[Any]]:
    """The masks of the parts of a tensor along an axis."""

    def masks(shape: Sequence[int]) -> list[Any]:
        if axis >= len(shape):
            return [np.ones(shape)]
        made = []
        for at in range(shape[axis]):
            mask = np.zeros(shape)
            mask[(slice(None),) * axis + (at,)] = 1.0
            made.append(mask)
        return made

    return masks


def _entries(shape: Sequence[int]) -> list[Any]:
    """The masks of the single entries of a tensor."""
    size = int(np.prod(shape, dtype=int))
    if size > MOST_ENTRIES:
        return [np.ones(shape)]
    return [row.reshape(tuple(shape)) for row in np.eye(size)]


def _masked(supposing: Supposing, line: Line, point: Point, masks: Sequence[list[Any]]) -> list[Any]:
    """What the parts of the consumers' gradients contribute."""
    assert line.node is not None
    assert line.of is not None
    sent = []
    with np.errstate(all="ignore"):
        for (consumer, slot), parts in zip(supposing.steps(line.of).consumers[line.node.number], masks, strict=True):
            operands = [point.values[o.number] for o in consumer.operands]
            arrived = point.gradient(consumer, line.of)
            for mask in parts:
                upstream = arrived * mask if consumer.shape else arrived
                sent.append(contribution(consumer, slot, upstream, point.values[consumer.number], operands))
    return sent


Values = list[Any]
"""Values at every point."""


def _last_of_loop(steps: Sequence[_Step]) -> int:
    """The last pass of the line that adds most often: where a contribution is missing, it is missed there."""
    lines = [step.line.statement for step in steps if any(np.any(v) for v in step.adds)]
    if not lines:
        return len(steps) - 1
    most = max(lines, key=lines.count)
    return max(n for n, s in enumerate(steps) if s.line.statement == most)


def _paired(adds: Sequence[Values], pieces: Sequence[list[Any]], last: int) -> list[Values] | None:
    """What every step should add, at every point; None if that cannot be said.

    `adds` are the steps' values, `pieces` the contributions point by point.  A step that adds a contribution, or two of
    them, or that adds one together with other steps, is right; if the others are as many as the contributions that are
    left, or a part of them, they go together in their order.  What is left when all are right is missing in the `last`.
    """
    if not pieces or len(pieces) < 2 or any(np.shape(a[0]) != np.shape(pieces[0][0]) for a in adds):
        return None
    left = [n for n in range(len(pieces[0])) if any(np.any(at[n]) for at in pieces)]
    wanted: list[Values | None] = []

    def piece(n: int) -> Values:
        return [at[n] for at in pieces]

    def alike(one: Values, other: Values) -> bool:
        return all(same(a, b) for a, b in zip(one[1:], other[1:], strict=True))

    for add in adds:
        nothing = not any(np.any(v) for v in add)
        fit = None if nothing else next((n for n in left if alike(add, piece(n))), None)
        wanted.append(add if nothing or fit is not None else None)
        if fit is not None:
            left.remove(fit)
    matched = sum(w is not None and any(np.any(v) for v in w) for w in wanted)

    def unmatched() -> list[int]:
        return [n for n, w in enumerate(wanted) if w is None]

    if len(left) <= MOST_COMBINED:
        for n in unmatched():
            for pair in itertools.combinations(left, 2):
                if alike(adds[n], _sum([piece(p) for p in pair])):
                    wanted[n] = adds[n]
                    left = [p for p in left if p not in pair]
                    break
    for n in list(left) if len(unmatched()) <= MOST_COMBINED else ():
        for count in (2, 3):
            group = next(
                (g for g in itertools.combinations(unmatched(), count) if alike(_sum([adds[s] for s in g]), piece(n))),
                None,
            )
            if group is not None:
                for s in group:
                    wanted[s] = adds[s]
                left.remove(n)
                break
    still = unmatched()
    if not still:
        missing = _sum([piece(n) for n in left]) if left else None
        if missing is None or wanted[last] is None:
            return None
        wanted[last] = _sum([adds[last], missing])
        return [w for w in wanted if w is not None]
    share, more = divmod(len(left), len(still))
    if left and (more or not share):
        return None
    if not left and not matched:
        return None
    left = _in_order(left, [adds[n] for n in still], pieces)
    nothing_more = [np.zeros(np.shape(at[0])) for at in pieces]
    for place, n in enumerate(still):
        own = [piece(p) for p in left[place * share : (place + 1) * share]]
        wanted[n] = _sum(own) if own else nothing_more
    return [w for w in wanted if w is not None]


def _in_order(left: list[int], adds: Sequence[Values], pieces: Sequence[list[Any]]) -> list[int]:
    """The contributions in their order or the other way round, whichever is more like what the steps add."""

    def likeness(order: Sequence[int]) -> float:
        found = 0.0
        for add, n in zip(adds, order, strict=False):
            one, other = np.ravel(add[-1]), np.ravel(pieces[-1][n])
            size = float(np.linalg.norm(one) * np.linalg.norm(other))
            found += abs(float(one @ other)) / size if 0 < size < np.inf else 0.0
        return found

    turned = left[::-1]
    return turned if likeness(turned) > likeness(left) + len(adds) / 2 else left


def _sum(several: Sequence[Values]) -> Values:
    return [sum(values) for values in zip(*several, strict=True)]


def overwriting(supposing: Supposing, line: Line) -> dict[int, list[Any]] | None:
    """The lines before a wrong one, and itself, that would make it right if they added to a sum: `+=` for `=`.

    With each goes what it should have reached at every point; the lines that change nothing by it are left out.
    None if it would not make it right.
    """
    chain = chain_of(supposing, line)
    if not 1 < len(chain) <= MOST_STEPS:
        return None
    statements = dict.fromkeys(each.statement for each in chain if each.added is not None)
    ways = [set(statements), *({statement} for statement in statements)] if len(statements) > 1 else [set(statements)]
    for adding in ways if statements else ():
        totals = _added_up(supposing, chain, adding)
        if totals is None:
            continue
        changed = {}
        for each, total, own in totals:
            differs = any(o is None or not same(o, t) for o, t in zip(own[1:], total[1:], strict=True))
            if differs and each.statement in adding and each.added is not None:
                changed[each.index] = total
        return changed or None
    return None


def _added_up(
    supposing: Supposing, chain: Sequence[Line], adding: set[tuple[object, ...]]
) -> list[tuple[Line, list[Any], list[Any]]] | None:
    """Every line of a chain, with what it reaches if some statements add, and what it reaches as it stands.

    None if the last is not right in that way.
    """
    points, last = supposing.points.all, chain[-1]
    found: list[tuple[Line, list[Any], list[Any]]] = []
    totals: list[Any] = [None] * len(points)
    for each in chain:
        before = _before(each) if each is not chain[0] else None
        expression = each.added if each.statement in adding and each.added is not None else each.expression
        if expression is None or not each.fits:
            return None
        new, own = [], []
        for k, point in enumerate(points):
            given = {j: supposing.states[j].intended[k] for j in each.references}
            if before is not None:
                given[before] = totals[k]
            new.append(supposing.points.value(expression, point, given))
            own.append(supposing.points.value(each.expression, point, given) if each.expression is not None else None)
        if any(v is None for v in new):
            return None
        totals = new
        found.append((each, new, own))
    truths = supposing.truths[last.index]
    right = len(points) > 1 and all(same(v, t) for v, t in zip(totals, truths, strict=True))
    return found if right else None

"""Moving entries of a report's nodes at many digits, and what the function and the sweep do then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.report import Report
from gradcli.verify.exact import Exact
from gradcli.verify.precise import Arithmetic
from gradcli.verify.probe import EXPONENTS, Probe, probe
from gradcli.verify.reasons import Diagnosis
from gradcli.verify.verdict import Index, Verdict

DIGITS = tuple(EXPONENTS)
SURE = 1e-9
"""How well a difference must be known, relative to itself, to judge by it."""


@dataclass(slots=True)
class Place:
    """One entry of a gradient, and what becomes known of it."""

    node: Node
    index: Index
    value: float
    rule: Any = None
    """The sweep's value at 130 digits."""
    verdict: Verdict | None = None
    probe: Probe | None = None
    allowed: bool | None = None
    slope: float | None = None
    """What a difference in float64 says, where nothing better is known."""
    reason: str = ""
    found: Diagnosis = field(default_factory=Diagnosis)

    def of(self, value: Any) -> Any:
        """This entry of the node's value, or of another array of its shape."""
        return value[self.index] if self.index else value

    def entry_of(self, gradients: Mapping[int, Any], m: Arithmetic) -> Any:
        """This entry of a gradient, by node number; 0 where no gradient arrived."""
        gradient = gradients.get(self.node.number)
        return m.of(0) if gradient is None else m.of(self.of(gradient))


class Mover:
    """A report's function and sweep at several numbers of digits, with entries moved."""

    def __init__(self, report: Report, random: np.random.Generator) -> None:
        self.report = report
        self.random = random
        self._exacts: dict[int, Exact] = {}
        self._noises: dict[int, Any] = {}
        self._typical: dict[int, Any] = {}

    def exact(self, digits: int) -> Exact:
        """The function at a number of digits."""
        if digits not in self._exacts:
            self._exacts[digits] = Exact(self.report, digits)
        return self._exacts[digits]

    def noise(self, digits: int) -> Any:
        """How far the function may be off at a number of digits."""
        if digits not in self._noises:
            self._noises[digits] = self.exact(digits).noise(Exact(self.report, digits + 40))
        return self._noises[digits]

    def movable(self, p: Place) -> bool:
        """Whether the entry is a finite number."""
        value = self.exact(DIGITS[0]).base[p.node.number]
        entry = p.of(value)
        return bool(self.exact(DIGITS[0]).arithmetic.context.isfinite(entry))

    def finite(self, group: list[Place]) -> bool:
        """Whether all these entries and their gradients are finite numbers."""
        m = self.exact(DIGITS[0]).arithmetic
        return all(m.context.isfinite(p.rule) and self.movable(p) for p in group)

    def scale(self, p: Place) -> Any:
        """What a step is small beside: the entry's own size, or where it is 0 that of its fellows."""
        exact = self.exact(DIGITS[0])
        m = exact.arithmetic
        value = exact.base[p.node.number]
        entry = abs(m.of(p.of(value)))
        if entry != 0 and m.context.isfinite(entry):
            return entry
        if p.node.number not in self._typical:
            floats = np.abs(np.asarray(m.floats(value), dtype=float)).ravel()
            sizes = floats[(floats != 0) & np.isfinite(floats)] if p.index else []
            self._typical[p.node.number] = m.of(min(float(np.median(sizes)), 1.0) if len(sizes) else 1.0)
        return self._typical[p.node.number]

    def directions(self, m: Arithmetic, group: Sequence[Place], steps: Sequence[Any]) -> dict[int, Any]:
        """By node number, how far each of its entries moves."""
        directions: dict[int, Any] = {}
        for p, step in zip(group, steps, strict=True):
            if not p.index:
                directions[p.node.number] = m.of(m.number(step))
                continue
            if p.node.number not in directions:
                zeros = np.empty(p.node.shape, dtype=object)
                zeros[...] = m.of(0)
                directions[p.node.number] = zeros
            directions[p.node.number][p.index] = m.of(m.number(step))
        return {n: m.view(d) if isinstance(d, np.ndarray) else d for n, d in directions.items()}

    def along(
        self, exact: Exact, group: Sequence[Place], steps: Sequence[Any], scale: Any, moved: frozenset[int]
    ) -> Probe:
        """The slopes of the function as the entries of a group move by t times their steps."""
        m = exact.arithmetic
        directions = self.directions(m, group, steps)

        def at(t: Any) -> Any:
            return exact.at({n: d * t for n, d in directions.items()}, moved)

        return probe(at, exact.result, self.noise(m.digits), m.of(m.number(scale)), m)

    def probe(self, p: Place, digits: int) -> Probe:
        """The slopes of the function along one entry."""
        exact = self.exact(digits)
        m = exact.arithmetic
        return self.along(exact, [p], [m.of(1)], self.scale(p), exact.downstream([p.node.number]))

    def steepness(self, p: Place) -> Any:
        """How much the function changes per unit in the neighbourhood, beside which a slope of 0 is judged."""
        exact = self.exact(DIGITS[0])
        m = exact.arithmetic
        scale = self.scale(p)
        directions = self.directions(m, [p], [scale])
        moved = exact.downstream([p.node.number])
        away = [exact.at({n: d * sign for n, d in directions.items()}, moved) for sign in (1, -1)]
        # a function that is 0 everywhere is small beside what it adds up
        terms = [m.of(np.max(np.abs(exact.base[n]), initial=0)) for n in moved]
        finite = [abs(v) for v in (*away, exact.result, *terms) if m.context.isfinite(v)]
        return max(finite, default=m.of(0)) / scale

    def absorbed(self, p: Place) -> Any:
        """So small a slope adds nothing, at any number of digits tried, to the values that it goes through."""
        exact = self.exact(DIGITS[0])
        m = exact.arithmetic
        sizes = [m.of(np.max(np.abs(exact.base[n]), initial=0)) for n in exact.downstream([p.node.number])]
        return m.power(10, -500) * max((s for s in sizes if m.context.isfinite(s)), default=m.of(0)) / self.scale(p)

    def swept_near(self, places: list[Place], direction: Any) -> Any:
        """The sweep's gradient a little way along a direction, if the function moves there as it says; else None."""
        exact = self.exact(DIGITS[0])
        m = exact.arithmetic
        moved = exact.downstream({p.node.number for p in places})
        away = [m.of(float(d)) * self.scale(p) * m.power(10, -30) for p, d in zip(places, direction, strict=True)]
        shifts = self.directions(m, places, away)
        rules = exact.gradients(exact.values(shifts, moved))
        slopes = [p.entry_of(rules, m) for p in places]
        weights = self.random.uniform(0.5, 1.5, len(places))
        probing = [m.of(float(w)) * self.scale(p) * m.power(10, -70) for w, p in zip(weights, places, strict=True)]
        there = [
            exact.at(self.directions(m, places, [a + sign * b for a, b in zip(away, probing, strict=True)]), moved)
            for sign in (1, -1)
        ]
        told = sum((g * h for g, h in zip(slopes, probing, strict=True)), m.of(0))
        heard = sum((abs(g * h) for g, h in zip(slopes, probing, strict=True)), m.of(0))
        if not abs((there[0] - there[1]) / 2 - told) <= SURE * heard + self.noise(m.digits):
            return None
        return np.array([m.floats(s) for s in slopes])

    def gradient_near(self, places: list[Place], direction: Any) -> Any:
        """The slopes along each place at a point a little way along a direction; None if it is a kink too."""
        exact = self.exact(DIGITS[0])
        m = exact.arithmetic
        moved = exact.downstream({p.node.number for p in places})
        away = [m.of(float(d)) * self.scale(p) * m.power(10, -30) for p, d in zip(places, direction, strict=True)]

        def at(more: Place | None, step: Any) -> Any:
            by = [a + step if p is more else a for p, a in zip(places, away, strict=True)]
            return exact.at(self.directions(m, places, by), moved)

        slopes = []
        middle = at(None, m.of(0))
        for p in places:
            step = self.scale(p) * m.power(10, -70)
            above = (at(p, step) - middle) / step
            below = (middle - at(p, -step)) / step
            if abs(above - below) > 1e-6 * max(abs(above), abs(below)) + 4 * self.noise(m.digits) / step:
                return None
            slopes.append(m.floats((above + below) / 2))
        return np.array(slopes)

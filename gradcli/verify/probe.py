"""The slopes of a function of one number at 0, from both sides, with a reason where there are none.

The function is evaluated at so many digits that steps of 1e-40 and less leave neither truncation nor rounding
behind.  What the quotients do as the step shrinks tells a slope from a jump, an infinite slope and an oscillation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gradcli.verify.precise import Arithmetic

EXPONENTS = {130: (40, 50, 60, 70), 520: (100, 130, 160, 190), 1000: (250, 310, 370, 430)}
"""By digits, the powers of ten by which the steps are smaller than the scale."""
CONVERGED, EQUAL = 1e-15, 1e-12


class Kind(StrEnum):
    """What one side of a point looks like."""

    SLOPE = "slope"
    JUMP = "jump"
    INFINITE = "infinite slope"
    OSCILLATION = "oscillation"
    SLOW = "slow"
    DOMAIN = "not defined"


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its slope, where it has one, and how sure it is."""

    kind: Kind
    slope: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class Probe:
    """Both sides of a point."""

    left: Side
    right: Side

    @property
    def defined(self) -> bool:
        """Whether both sides have a slope."""
        return self.left.kind is self.right.kind is Kind.SLOPE

    @property
    def smooth(self) -> bool:
        """Whether the slopes are one."""
        if not self.defined:
            return False
        a, b = self.left.slope, self.right.slope
        return bool(abs(a - b) <= EQUAL * max(abs(a), abs(b)) + self.left.error + self.right.error)

    @property
    def slope(self) -> Any:
        """The slope of a smooth point."""
        return (self.left.slope + self.right.slope) / 2

    @property
    def error(self) -> Any:
        """A bound on the error of the slope."""
        return abs(self.left.slope - self.right.slope) + self.left.error + self.right.error

    def same(self, other: Probe) -> bool:
        """Whether another probe, at more digits, tells the same."""
        return all(_same(a, b) for a, b in ((self.left, other.left), (self.right, other.right)))


def _same(a: Side, b: Side) -> bool:
    if a.kind is not b.kind:
        return False
    if a.kind is not Kind.SLOPE:
        return True
    x, y = a.slope, type(a.slope)(b.slope)
    return bool(abs(x - y) <= 1e-6 * max(abs(x), abs(y)) + 2 * a.error)


def probe(function: Callable[[Any], Any], at_zero: Any, noise: Any, scale: Any, arithmetic: Arithmetic) -> Probe:
    """The slopes of `function(t)` at t = 0, with steps that are small beside `scale`."""
    steps = [scale * arithmetic.power(10, -e) for e in EXPONENTS[arithmetic.digits]]
    return Probe(*[_side(function, at_zero, noise, steps, sign, arithmetic) for sign in (-1, 1)])


def _side(
    function: Callable[[Any], Any], at_zero: Any, noise: Any, steps: Sequence[Any], sign: int, m: Arithmetic
) -> Side:
    quotients: list[Any] = []
    for step in steps[:2]:
        value = function(sign * step)
        if not m.context.isfinite(value):
            return Side(Kind.JUMP if m.context.isinf(value) else Kind.DOMAIN)
        quotients.append(sign * (value - at_zero) / step)
    first, second = quotients
    error = noise / steps[1]
    if abs(first - second) <= CONVERGED * max(abs(first), abs(second)) + error:
        return Side(Kind.SLOPE, second, abs(first - second) + error)
    for step in steps[2:]:
        value = function(sign * step)
        if not m.context.isfinite(value):
            return Side(Kind.JUMP if m.context.isinf(value) else Kind.DOMAIN)
        quotients.append(sign * (value - at_zero) / step)
    return _limit(quotients, [noise / step for step in steps], m)


def _limit(q: list[Any], errors: list[Any], m: Arithmetic) -> Side:
    """What four quotients of ever smaller steps tend to."""
    here = EXPONENTS[m.digits]
    decades = here[1] - here[0]  # by which each step is smaller than the one before
    if all(abs(b) <= 1e-4 * abs(a) + e for a, b, e in zip(q, q[1:], errors[1:], strict=False)):
        return Side(Kind.SLOPE, m.of(0), abs(q[-1]) + errors[-1])
    ratios = [abs(b) / abs(a) if a != 0 else m.number("inf") for a, b in itertools.pairwise(q)]
    if all(r > m.power(10, decades) * m.divide(99, 100) for r in ratios):
        return Side(Kind.JUMP)
    differences = [b - a for a, b in itertools.pairwise(q)]
    if differences[0] == 0 or differences[1] == 0:
        return Side(Kind.OSCILLATION)
    steady = len({d > 0 for d in differences}) == 1
    shrink = [abs(b) / abs(a) for a, b in itertools.pairwise(differences)]
    if steady and all(r > 0.95 for r in shrink):
        return Side(Kind.INFINITE)
    if all(r < 0.95 for r in shrink):
        estimates = [
            c - (c - b) ** 2 / ((c - b) - (b - a)) for a, b, c in zip(q, q[1:], q[2:], strict=False)
        ]  # Aitken's extrapolation, for slopes that are reached slowly
        one, two = estimates
        if abs(one - two) <= 1e-6 * max(abs(one), abs(two), abs(q[0])):
            settled = two if abs(two) > 1e-6 * abs(q[0]) else m.of(0)
            return Side(Kind.SLOPE, settled, abs(one - two))
    if steady and all(0.3 < r < 0.95 for r in shrink):
        return Side(Kind.SLOW)  # such as 1/log(h): it tends to something, and no step is short enough to tell to what
    return Side(Kind.OSCILLATION)

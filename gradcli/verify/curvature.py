"""The verdict on second derivatives: entries of the Hessian against differences of the reverse sweep's gradients.

Differences in float64 acquit.  What they do not acquit is looked at again with 130 digits: the sweep is repeated at
inputs moved to either side, so that a corner of the gradient is told from a wrong entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import INPUT
from gradcli.verify.exact import Exact
from gradcli.verify.second_order import Hessian, at_many_digits, hessian
from gradcli.verify.verdict import Verdict

if TYPE_CHECKING:
    from gradcli.report import Report

VERDICTS = tuple(Verdict)
"""By rank."""
DIGITS = 130
STEPS = (40, 50)
"""The steps, as powers of ten by which they are smaller than what is moved."""
SMOOTH = 1e-12
"""Slopes from both sides that are closer than this are one."""
LOOSE, WRONG = 1e-9, 1e-6
"""By how much an entry may be off, relative to its size, and from where it is wrong and no longer inaccurate."""
SYMMETRIC = 1e-12


@dataclass(frozen=True, slots=True)
class HessianCheck:
    """A Hessian and what is said of each of its entries."""

    hessian: Hessian
    ranks: Any
    """A matrix of the verdicts' ranks."""
    reference: Any
    """The differences that judge: those of float64, or at many digits where these did not do."""
    bound: Any

    @property
    def reason(self) -> str:
        """Why there is none, where there is none."""
        return self.hessian.reason

    @property
    def verdict(self) -> Verdict:
        """The worst of all entries."""
        return VERDICTS[int(np.max(self.ranks, initial=0))]

    @property
    def wrong(self) -> bool:
        """Whether an entry disagrees."""
        return self.verdict is Verdict.DISAGREE

    @property
    def doubtful(self) -> bool:
        """Whether an entry is neither right nor wrong."""
        between = (Verdict.INACCURATE, Verdict.UNDEFINED, Verdict.UNRESOLVED)
        return bool(np.isin(self.ranks, [v.rank for v in between]).any())

    def count(self, verdict: Verdict) -> int:
        """How many entries have a verdict."""
        return int(np.sum(self.ranks == verdict.rank))

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns may change places, up to rounding."""
        largest = np.max(np.abs(self.hessian.value), initial=0.0)
        return bool(self.hessian.asymmetry <= SYMMETRIC * largest)

    @property
    def labels(self) -> list[str]:
        """`W[0, 1]`: what each row and column stands for."""
        return [f"{n}[{', '.join(map(str, at))}]" if at else n for n, at in self.hessian.entries]


def check_hessian(report: Report) -> HessianCheck:
    """The Hessian by all inputs that the sweep reached (or those it was asked for), entry by entry.

    `reason` says why there is none: no scalar output, too many entries, less precision than float64.
    """
    reached = report.sweep.reached
    inputs = [n for n in map(report.node, report.gradients) if n.op is INPUT]
    names = [n.name for n in inputs if n.number < len(reached) and reached[n.number]]
    found = hessian(report, names)
    ranks = np.zeros(found.value.shape, dtype=int)
    reference, bound = np.array(found.differences), np.array(found.bound)
    doubtful = ~found.agrees
    if doubtful.any():
        _look_closer(report, found, np.flatnonzero(doubtful.any(axis=0)), ranks, reference, bound)
    return HessianCheck(found, ranks, reference, bound)


def _look_closer(report: Report, found: Hessian, columns: Any, ranks: Any, reference: Any, bound: Any) -> None:
    """Judges these columns at many digits."""
    try:
        exact = Exact(report, DIGITS)
        for column in columns:
            left, right, settled = _sides(exact, found, int(column))
            reference[:, column] = (left + right) / 2
            bound[:, column] = np.abs(right - left)
            ranks[:, column] = [
                _verdict(*each).rank
                for each in zip(found.value[:, column], left, right, settled, found.scale[:, column], strict=True)
            ]
        _excuse(exact, found, ranks, reference)
    except Exception:  # what a rule does at many digits is not foreseen: then nothing is said
        ranks[:, columns] = np.where(found.agrees, Verdict.AGREE.rank, Verdict.UNRESOLVED.rank)[:, columns]


def _excuse(exact: Exact, found: Hessian, ranks: Any, reference: Any) -> None:
    """What floats got wrong though the rules are right, as many digits show, is inaccurate and no disagreement."""
    wrong = ranks == Verdict.DISAGREE.rank
    if not wrong.any():
        return
    ours = at_many_digits(exact, found.names)
    with np.errstate(all="ignore"):
        right = np.abs(ours - reference) <= LOOSE * np.abs(reference) + 1e-6 * LOOSE * found.scale
    ranks[wrong & right] = Verdict.INACCURATE.rank


def _verdict(value: float, left: float, right: float, settled: bool, scale: float) -> Verdict:
    if not (np.isfinite(left) and np.isfinite(right)):
        return Verdict.UNDEFINED
    if not settled:
        return Verdict.UNRESOLVED
    size = max(abs(left), abs(right))
    room = LOOSE * max(size, scale * 1e-6)
    if abs(left - right) > SMOOTH * size:
        return Verdict.KINK if min(left, right) - room <= value <= max(left, right) + room else Verdict.DISAGREE
    off = abs(value - right)
    if off <= room:
        return Verdict.AGREE
    return Verdict.INACCURATE if off <= WRONG * max(size, scale) else Verdict.DISAGREE


def _sides(exact: Exact, found: Hessian, column: int) -> tuple[Any, Any, Any]:
    """The slopes of all gradients from the left and from the right as one entry moves, and whether they settled."""
    m = exact.arithmetic
    name, at = found.entries[column]
    node = exact.report.node(name)
    base = exact.base[node.number]
    size = abs(m.of(base[at] if at else base))
    size = size if size != 0 else m.of(1)
    moved = exact.downstream([node.number])
    here = _flat(exact, exact.gradients(), found)
    sides = []
    settled = np.ones(len(here), bool)
    for sign in (-1, 1):
        slopes = []
        for exponent in STEPS:
            step = sign * size * m.power(10, -exponent)
            shift = step
            if at:
                shift = np.full(node.shape, m.of(0), dtype=object)
                shift[at] = step
                shift = m.view(shift)
            there = _flat(exact, exact.gradients(exact.values({node.number: shift}, moved)), found)
            slopes.append(np.array([m.floats((b - a) / step) for a, b in zip(here, there, strict=True)]))
        with np.errstate(all="ignore"):
            settled &= np.abs(slopes[0] - slopes[1]) <= SMOOTH * np.abs(slopes[1]) + 1e-30
        sides.append(slopes[1])
    return sides[0], sides[1], settled


def _flat(exact: Exact, gradients: dict[int, Any], found: Hessian) -> list[Any]:
    m = exact.arithmetic
    flat = []
    for name, at in found.entries:
        gradient = gradients.get(exact.report.node(name).number)
        flat.append(m.of(0) if gradient is None else m.of(gradient[at] if at else gradient))
    return flat

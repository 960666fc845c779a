"""Gradients too large for many digits: differences in float64, whole along random directions and entry by entry.

Differences in float64 do not settle as much as those at many digits.  They convict only what is off by far more than
their own error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gradcli.report import Report
from gradcli.verify.differences import Differences, central_differences
from gradcli.verify.directions import random_directions
from gradcli.verify.mover import Place
from gradcli.verify.verdict import Numeric, Verdict

DIFFERENCES = 4_000
"""Up to so many entries, each has a difference in float64 of its own."""
CLEARLY, WRONG = 100, 1e-5
"""By how many times its bound, and by how much of itself, an entry must be off to be refuted."""


def judge_large(
    report: Report,
    places: Mapping[str, Sequence[Place]],
    random: np.random.Generator,
    until: float,
    progress: Callable[[int, int], None],
) -> dict[str, Numeric]:
    """Judges the places of every gradient, as far as time goes; by name, what the differences said."""
    said: dict[str, Numeric] = {}
    total = sum(map(len, places.values()))
    for name, of_name in places.items():
        if time.monotonic() > until:
            break
        along = random_directions(report, name, np.array([p.value for p in of_name]), random)
        for p in of_name:
            p.verdict = Verdict.UNRESOLVED if along.settled is None else Verdict.AGREE
            p.reason = along.reason
        chosen = random.permutation(len(of_name))[:DIFFERENCES]
        found = central_differences(report, name, np.sort(chosen))
        slope, bound = np.full(len(of_name), np.nan), np.full(len(of_name), np.nan)
        slope[found.positions] = np.where(found.usable, found.slope, np.nan)
        bound[found.positions] = np.where(found.usable, found.bound, np.nan)
        shape = report.by_name[name].shape
        method = f"differences in float64 of {len(chosen)} of {len(of_name)} entries"
        said[name] = Numeric(slope.reshape(shape)[()], bound.reshape(shape)[()], method=method)
        _convict(of_name, found, elsewhere=along.settled is False)
        progress(sum(len(places[n]) for n in said), total)
    return said


def _convict(places: Sequence[Place], found: Differences, *, elsewhere: bool) -> None:
    """Convicts the entries that their own differences clearly refute.

    `elsewhere`: a direction refutes the gradient as a whole, so something in it is wrong even if no entry is refuted.
    """
    off = np.abs(np.array([places[k].value for k in found.positions]) - found.slope)
    with np.errstate(all="ignore"):
        wrong = found.usable & (off > CLEARLY * found.bound) & (off > WRONG * np.abs(found.slope))
    if not (elsewhere or wrong.any()):
        return
    for p in places:
        p.verdict, p.reason = Verdict.UNRESOLVED, "the gradient it is part of is wrong somewhere"
    for k, slope in zip(found.positions[wrong], found.slope[wrong], strict=True):
        places[k].verdict = Verdict.DISAGREE
        places[k].slope = float(slope)
        places[k].reason = "the sweep's rules do not give this derivative"
    if not wrong.any():
        at = found.positions[int(np.argmax(np.where(found.usable, off, 0)))] if len(found.positions) else 0
        places[at].verdict = Verdict.DISAGREE
        places[at].reason = "along random directions the function does not move as this gradient says"

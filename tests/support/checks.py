"""Checks made by hand, one verdict or another in each: what the engine may find, without the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.verify.verdict import (
    Check,
    Entry,
    GradientCheck,
    Numeric,
    RuleCheck,
    Symbolic,
    Verdict,
    worst,
)


def scalar(
    name: str,
    value: float,
    verdict: Verdict = Verdict.AGREE,
    *,
    formula: str | None = None,
    symbolic: float | None = None,
    slope: float | None = None,
    bound: float = 2e-10,
    abstains: str = "",
    **told: Any,
) -> GradientCheck:
    """The check of a scalar's gradient; `told` are fields of its entry."""
    reference = told.pop("reference", None if verdict in (Verdict.KINK, Verdict.UNDEFINED) else slope)
    entry = Entry((), value, verdict, reference, **told)
    return GradientCheck(
        name,
        (),
        value,
        verdict,
        entry,
        () if verdict is Verdict.AGREE else (entry,),
        {verdict: 1},
        Symbolic(formula, symbolic, "whole expression" if symbolic is not None else "", abstains),
        Numeric(
            np.nan if slope is None else slope,
            np.nan if slope is None else bound,
            told.get("left"),
            told.get("right"),
            "differences at 130 digits",
        ),
    )


def tensor(name: str, value: Any, *entries: Entry, at: tuple[int, ...] | None = None, **fields: Any) -> GradientCheck:
    """The check of a tensor's gradient: `entries` do not plainly agree; if there are none, the worst is `at`."""
    value = np.asarray(value, float)
    slope = np.asarray(fields.pop("slope", value), float)
    counts = {Verdict.AGREE: value.size - len(entries)}
    for entry in entries:
        counts[entry.verdict] = counts.get(entry.verdict, 0) + 1
    index = at if at is not None else (0,) * value.ndim
    first = max(entries, key=lambda e: e.verdict.rank, default=Entry(index, float(value[index]), Verdict.AGREE))
    symbolic = np.asarray(fields.pop("symbolic", slope), float)
    return GradientCheck(
        name,
        value.shape,
        value,
        worst(e.verdict for e in entries),
        first,
        entries,
        counts,
        Symbolic(fields.pop("formula", None), symbolic, "node by node"),
        Numeric(slope, np.full(value.shape, fields.pop("bound", 3e-12)), None, None, "differences in float64"),
    )


def check_of(*gradients: GradientCheck, rules: tuple[RuleCheck, ...] = (), notes: tuple[str, ...] = ()) -> Check:
    """A check of these gradients."""
    return Check(worst(g.verdict for g in gradients), {g.name: g for g in gradients}, rules, notes)

"""What a check can say about a gradient, and what it found: plain data, made once and only read afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Index = tuple[int, ...]


class Verdict(StrEnum):
    """What is said about one entry of a gradient, from the best to the worst.  Docstrings are for students."""

    AGREE = "agree"
    KINK = "kink"
    INACCURATE = "inaccurate"
    UNDEFINED = "undefined"
    UNRESOLVED = "unresolved"
    DISAGREE = "disagree"

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Verdict).index(self)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of several; of none, `agree`."""
    return max(verdicts, key=lambda v: v.rank, default=Verdict.AGREE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a gradient that is told about: the worst one, or one that is no plain `agree`."""

    index: Index
    value: float
    """What the reverse sweep says."""
    verdict: Verdict
    reference: float | None = None
    """The derivative, where there is one."""
    left: float | None = None
    right: float | None = None
    """The one-sided slopes at a kink; None on a side where the function is not defined."""
    allowed: bool | None = None
    """At a kink: whether the sweep's value is one of the slopes allowed there."""
    node: str = ""
    """The node at which it happens."""
    reason: str = ""
    """Why, as a sentence without a full stop."""
    way_out: str = ""
    """What to write instead, where there is a stable form."""


@dataclass(frozen=True, slots=True)
class Symbolic:
    """What SymPy says about one gradient."""

    formula: str | None = None
    """Its derivative as a closed formula in the names of the file, where that is short enough to read."""
    value: Any = None
    """Its derivative at these inputs, in the gradient's shape (NaN for entries it abstains from); None if it says
    nothing."""
    method: str = ""
    """`"whole expression"` or `"node by node"`."""
    abstains: str = ""
    """Why it says nothing, where it does."""


@dataclass(frozen=True, slots=True)
class Numeric:
    """What differences of the forward pass say about one gradient, in its shape."""

    value: Any
    """The slope; NaN where none was found."""
    error_bound: Any
    left: Any = None
    right: Any = None
    """One-sided slopes, None where every entry is smooth."""
    method: str = ""
    """`"differences in float64"`, `"differences at 130 digits"`, `"random directions at 130 digits"`."""


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """The check of one gradient: its worst entry, and everything that was found out about it."""

    name: str
    shape: tuple[int, ...]
    value: Any
    """The reverse sweep's."""
    verdict: Verdict
    worst: Entry
    entries: tuple[Entry, ...]
    """Every entry that is no plain `agree`, up to a few hundred."""
    counts: dict[Verdict, int]
    """How many entries have each verdict."""
    symbolic: Symbolic
    numeric: Numeric

    @property
    def wrong(self) -> bool:
        """Whether an entry is no derivative, and no slope allowed at a kink."""
        return self.verdict is Verdict.DISAGREE or any(e.allowed is False for e in self.entries)


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One operator's rule (or one that the user wrote) alone, at its inputs in this file."""

    node: str
    operation: str
    slot: int
    operand: str
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of a whole file."""

    verdict: Verdict
    gradients: dict[str, GradientCheck]
    rules: tuple[RuleCheck, ...] = ()
    """The rules that are wrong."""
    notes: tuple[str, ...] = ()
    """What was covered and how, where that is not everything."""

    @property
    def wrong(self) -> bool:
        """Whether anything disagrees."""
        return (
            self.verdict is Verdict.DISAGREE
            or any(g.wrong for g in self.gradients.values())
            or any(r.verdict is Verdict.DISAGREE for r in self.rules)
        )

    @property
    def entries(self) -> int:
        """How many entries were checked."""
        return sum(sum(g.counts.values()) for g in self.gradients.values())

    @property
    def doubtful(self) -> bool:
        """Whether something is neither right nor wrong: `inaccurate`, `undefined` or `unresolved`."""
        between = (Verdict.INACCURATE, Verdict.UNDEFINED, Verdict.UNRESOLVED)
        return any(g.counts.get(v) or g.verdict is v for g in self.gradients.values() for v in between)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many entries have each verdict, from the best to the worst; none that no entry has."""
        total = {v: sum(g.counts.get(v, 0) for g in self.gradients.values()) for v in Verdict}
        return {v: count for v, count in total.items() if count}

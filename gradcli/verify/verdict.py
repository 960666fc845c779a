"""What a check can say about a gradient, and what it found: plain data, made once and only read afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gradcli.problems import Problem, Span

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
    beyond: str = ""
    """The derivative in digits, where it is too large for float64, and `reference` therefore infinite: `2e+308`."""


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
class ResultCheck:
    """The check of one result of a rule: is it the gradient of its operand?"""

    rule: str
    position: int
    """Which result, from 1; 0 for a gradient that a layer keeps as an attribute."""
    operand: str
    verdict: Verdict
    """`agree`, `disagree`, or `unresolved` where the forward part is defined at none of the points tried."""
    line: int
    """The line of the call at which it was checked."""
    expected: str = ""
    """The right gradient as a formula, empty if it is too long to read."""
    expected_shape: tuple[int, ...] = ()
    found: str = ""
    """The result as the file has it."""
    found_shape: tuple[int, ...] | None = None
    """None where the rule gives no result."""
    slip: str = ""
    """What kind of mistake gives this result; empty if none of the usual ones does."""
    edit: str = ""
    """The one change in the rule that makes the result right: `dz @ h` for `dz.T @ h`, as `found -> right`."""
    note: str = ""
    """What else is to be known about it."""
    fault: str = ""
    """What is wrong with the rule as a whole, such as a line that fails; it is no result of its own then."""
    span: Span | None = None
    problem: Problem | None = field(default=None, repr=False, compare=False)
    """The fault of the line at which the rule fails."""
    evidence: Any = field(default=None, repr=False, compare=False)
    """The examination in which it was found."""

    @property
    def right(self) -> bool:
        """Whether it is the gradient."""
        return self.verdict is Verdict.AGREE

    @property
    def sentence(self) -> str:
        """`f.backward, result 2 (for w): wrong. expected g.T @ x, shape (2, 3); found x.T @ g, shape (3, 2)`."""
        if self.fault:
            return f"{self.rule}: wrong. {self.fault}"
        which = f"result {self.position} (for {self.operand})" if self.position else f"the gradient of {self.operand}"
        if not self.operand:
            which = f"result {self.position}"
        if self.right:
            return f"{self.rule}, {which}: right"
        if self.verdict is Verdict.UNRESOLVED and self.note:
            return f"{self.rule}, {which}: unresolved. the derivative is {self.expected}, the rule gives {self.found}"
        if self.verdict is Verdict.UNRESOLVED:
            return f"{self.rule}, {which}: unresolved. the forward part is defined at none of the points tried"
        expected = f"{self.expected}, shape {self.expected_shape}" if self.expected else f"shape {self.expected_shape}"
        if self.expected in ("None", "nothing"):
            expected = self.expected
        found = self.found if self.found_shape is None else f"{self.found}, shape {self.found_shape}"
        return f"{self.rule}, {which}: wrong. expected {expected}; found {found}"


@dataclass(frozen=True, slots=True)
class Check:
    """The check of a whole file."""

    verdict: Verdict
    gradients: dict[str, GradientCheck]
    rules: tuple[RuleCheck, ...] = ()
    """The rules that are wrong."""
    notes: tuple[str, ...] = ()
    """What was covered and how, where that is not everything."""
    custom_rules: tuple[ResultCheck, ...] = ()
    """Every result of the rules that the file states itself, right or wrong, at every call that was looked at."""

    @property
    def wrong(self) -> bool:
        """Whether anything disagrees."""
        return (
            self.verdict is Verdict.DISAGREE
            or any(g.wrong for g in self.gradients.values())
            or any(r.verdict is Verdict.DISAGREE for r in self.rules)
            or any(r.verdict is Verdict.DISAGREE for r in self.custom_rules)
        )

    @property
    def entries(self) -> int:
        """How many entries were checked."""
        return sum(sum(g.counts.values()) for g in self.gradients.values())

    @property
    def doubtful(self) -> bool:
        """Whether something is neither right nor wrong: `inaccurate`, `undefined` or `unresolved`."""
        between = (Verdict.INACCURATE, Verdict.UNDEFINED, Verdict.UNRESOLVED)
        return any(r.verdict in between for r in self.custom_rules) or any(
            g.counts.get(v) or g.verdict is v for g in self.gradients.values() for v in between
        )

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many entries have each verdict, from the best to the worst; none that no entry has."""
        total = {v: sum(g.counts.get(v, 0) for g in self.gradients.values()) for v in Verdict}
        return {v: count for v, count in total.items() if count}

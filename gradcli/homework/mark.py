"""What is said about a line: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gradcli.graph import Node
from gradcli.homework.sheet import Line, Sheet

if TYPE_CHECKING:
    from gradcli.problems import Span


class Verdict(StrEnum):
    """The verdict on a line."""

    RIGHT = "right"
    SCALED = "scaled"
    RIGHT_HERE_ONLY = "right_here_only"
    FOLLOWS = "follows"
    WRONG = "wrong"
    HELPER = "helper"
    UNRESOLVED = "unresolved"
    INVALID = "invalid"


GOOD = (Verdict.RIGHT, Verdict.SCALED, Verdict.HELPER)
"""With these verdicts alone a sheet is right."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The slip that explains a wrong line: one edit that was verified at every point, and what it is called."""

    slip: str
    """Its name in the catalogue, such as `missing transpose`."""
    sentence: str
    """One sentence for the student."""
    edit: str
    """The edit itself: `W2 stands where W2.T belongs`."""
    span: Span | None = None
    """The piece of the student's text that the edit changes, where it is one of the student's own line."""
    expected: str = ""
    """What the line should be, after the edit."""
    line: int | None = None
    """The line (by index) in which the edit is, where that is a helper which the line uses."""


Meaning = tuple[Node, float]
"""A node and the factor of its gradient."""


@dataclass(slots=True)
class State:
    """What is known about one line in one round of marking."""

    verdict: Verdict
    intended: list[Any]
    """What later lines should have been given, at every point; None where that is not known."""
    factor: float = 1.0
    meaning: Meaning | None = None
    """Of a helper: whose gradient it is."""
    notes: list[str] = field(default_factory=list)
    cause: int | None = None
    exact: bool = False
    """Whether it is the gradient itself if the earlier lines are what they should be."""
    digits: int | None = None
    given: Any = None
    """Of an order: the names it lists."""
    expected: Any = None
    """Of an order: a valid one."""
    would_give: dict[str, Any] = field(default_factory=dict)
    """Of a wrong order: the gradients it leads to, by the name of the input."""
    kind: str = ""
    """Of a wrong order: what kind of mistake it is, in a few words."""
    span: Span | None = None
    """Of a wrong order: the name that comes too early."""


@dataclass(slots=True)
class Mark:
    """One line's verdict and all that explains it."""

    line: Line
    verdict: Verdict
    first_wrong: bool = False
    given: Any = None
    """Its value at the file's inputs, with the student's own earlier lines."""
    expected: Any = None
    """What it should be there."""
    notes: list[str] = field(default_factory=list)
    cause: int | None = None
    """The wrong line (by index) from which it follows."""
    factor: float = 1.0
    """The constant by which it differs from its gradient, on purpose."""
    formula: str = ""
    """What it should be as a formula, over the gradients that the student has named."""
    naming: Naming | None = None
    would_give: dict[str, Any] = field(default_factory=dict)
    """Of a wrong order: the gradients it leads to, by the name of the input."""
    kind: str = ""
    """Of a wrong order: what kind of mistake it is, in a few words."""
    span: Span | None = None
    """The piece that is wrong, where it is not the whole right side."""
    digits: int | None = None
    """The digits to which numbers are right, where they are written."""
    passes: int = 1
    """How often its statement was passed, of which this is the pass that says most."""


_TELLING = (
    Verdict.WRONG,
    Verdict.INVALID,
    Verdict.UNRESOLVED,
    Verdict.RIGHT_HERE_ONLY,
    Verdict.FOLLOWS,
    Verdict.SCALED,
    Verdict.RIGHT,
    Verdict.HELPER,
)
"""The verdicts, by how much they say of a statement that a loop passes several times."""


@dataclass(slots=True)
class Marked:
    """A sheet with its marks, one for every time that a line was passed."""

    sheet: Sheet
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether every line is right, scaled or a helper."""
        return all(mark.verdict in GOOD for mark in self.marks)

    @property
    def first(self) -> Mark | None:
        """The first wrong line."""
        return next((mark for mark in self.marks if mark.first_wrong), None)

    @property
    def statements(self) -> list[Mark]:
        """One mark a statement: of one that a loop passes several times, the first of those that say most."""
        passes: dict[tuple[object, ...], list[Mark]] = {}
        for mark in self.marks:
            passes.setdefault(mark.line.statement, []).append(mark)
        chosen = []
        for marks in passes.values():
            mark = min(marks, key=lambda m: (not m.first_wrong, _TELLING.index(m.verdict), not m.notes))
            mark.passes = len(marks)
            chosen.append(mark)
        return chosen

    def count(self, verdict: Verdict) -> int:
        """How many statements have a verdict."""
        return sum(mark.verdict is verdict for mark in self.statements)

    @property
    def score(self) -> float:
        """The part of the marked lines that are right, scaled, or follow rightly from a wrong one; 1 of no lines."""
        counted = [m for m in self.statements if m.verdict not in (Verdict.HELPER, Verdict.UNRESOLVED)]
        earned = (Verdict.RIGHT, Verdict.SCALED, Verdict.FOLLOWS)
        return sum(m.verdict in earned for m in counted) / len(counted) if counted else 1.0

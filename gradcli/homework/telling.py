"""What the reader of a marked sheet is told: everything, or no more than a hint.

A student who wants to find the mistake alone asks for less.  What a level hides is taken out here, before anything is
rendered, so that it can be in no output.

0 says how many lines are right, 1 which line is the first wrong one, 2 the kind of slip, 3 the right local gradient,
4 everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradcli.homework.mark import Mark, Marked, Verdict
from gradcli.homework.sheet import Kind
from gradcli.problems import Problem, Span
from gradcli.report.document import json_number

COUNT, PLACE, KIND, FORMULA, ALL = range(5)
"""The levels of a hint."""

NO_SLIP = "no single known slip turns it into the right one"


@dataclass(frozen=True, slots=True)
class ToldLine:
    """One line as it is told of; None stands for what is not told."""

    file: str
    line: int
    """In the file, or in its cell of a notebook."""
    text: str
    target: str
    cell: int | None = None
    verdict: str | None = None
    first_wrong: bool | None = None
    slip: str | None = None
    sentence: str | None = None
    edit: str | None = None
    formula: str | None = None
    given: Any = None
    expected: Any = None
    notes: tuple[str, ...] = ()
    cause: int | None = None
    """The line from which it follows, in the file or in its cell."""
    follows: str = ""
    """The same in words: `line 4`, `cell 2, line 1`."""
    digits: int | None = None
    factor: float | None = None
    would_give: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    span: Span | None = None
    """What to point at."""
    passes: int = 1
    """How often a loop, or calls, passed the line; what is told is of one pass, `at`."""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A marked sheet as far as it is told of."""

    level: int
    file: str
    lines: tuple[ToldLine, ...]
    counts: dict[str, int]
    right: bool
    score: float | None = None
    first: ToldLine | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def everything(self) -> bool:
        """Whether nothing is hidden."""
        return self.level >= ALL

    def to_json(self) -> dict[str, Any]:
        """The keys that `gradcli check --format json` adds for homework."""
        document: dict[str, Any] = {
            "hint": self.level,
            "claims": [_line_json(line, self.level) for line in self.lines],
            "summary": self.counts,
        }
        if self.score is not None:
            document["score"] = self.score
        return document


def nothing_told() -> Told:
    """What is told of no claims at all."""
    return Told(ALL, "", (), {"lines": 0, **{str(verdict): 0 for verdict in Verdict}}, True)


def told(marked: Marked, level: int = ALL) -> Told:
    """What is told of a marked sheet at a level."""
    statements = marked.statements
    counts = {"lines": len(statements)}
    for verdict in Verdict if level >= ALL else (Verdict.RIGHT, Verdict.SCALED, Verdict.HELPER):
        counts[str(verdict)] = marked.count(verdict)
    lines = tuple(_told_line(marked, mark, level) for mark in statements)
    first = next((line for line in lines if line.first_wrong), None)
    sources = dict.fromkeys(line.file for line in lines)
    score = marked.score if level >= ALL else None
    return Told(level, ", ".join(sources), lines, counts, marked.right, score, first, tuple(marked.notes))


def _told_line(marked: Marked, mark: Mark, level: int) -> ToldLine:
    line = mark.line
    facts: dict[str, Any] = {"passes": mark.passes}
    if level >= PLACE:
        facts["first_wrong"] = mark.first_wrong
    if mark.passes > 1 and (level >= ALL or (mark.first_wrong and level >= PLACE)):
        facts["at"] = line.where
    if level >= ALL or (mark.first_wrong and level >= PLACE):
        facts["span"] = line.span
    if level >= ALL or (mark.first_wrong and level >= KIND):
        facts |= _kind(mark)
    if level >= ALL or (mark.first_wrong and level >= FORMULA):
        facts |= _how(mark)
    if level >= ALL:
        cause = None if mark.cause is None else marked.sheet.lines[mark.cause]
        facts |= {
            "given": mark.given,
            "expected": mark.expected,
            "notes": tuple(mark.notes),
            "cause": None if cause is None else cause.place[1],
            "follows": "" if cause is None else cause.said,
            "digits": mark.digits,
            "factor": None if mark.factor == 1 else mark.factor,
            "would_give": mark.would_give or None,
        }
    cell, number = line.place
    return ToldLine(line.file, number, line.text, line.target.name, cell, **facts)


def _kind(mark: Mark) -> dict[str, Any]:
    """What kind of mistake it is."""
    naming = mark.naming
    if mark.line.problems:
        return {"verdict": str(mark.verdict), "problems": mark.line.problems}
    if naming is not None:
        return {"verdict": str(mark.verdict), "slip": naming.slip, "sentence": naming.sentence}
    if mark.verdict is Verdict.WRONG and mark.line.kind is Kind.ORDER:
        return {"verdict": str(mark.verdict), "sentence": mark.kind}
    if mark.verdict is Verdict.WRONG and not mark.line.numeric and mark.line.about_gradient:
        return {"verdict": str(mark.verdict), "sentence": NO_SLIP}
    return {"verdict": str(mark.verdict)}


def _how(mark: Mark) -> dict[str, Any]:
    """How the line should read."""
    naming = mark.naming
    facts: dict[str, Any] = {"formula": (naming.expected if naming is not None else "") or mark.formula or None}
    facts["span"] = mark.span or mark.line.span
    if naming is not None:
        facts |= {"edit": naming.edit, "span": naming.span or mark.line.span}
    return facts


def _line_json(line: ToldLine, level: int) -> dict[str, Any]:
    cell = {} if line.cell is None else {"cell": line.cell}
    entry: dict[str, Any] = {"file": line.file, **cell, "line": line.line, "text": line.text, "target": line.target}
    if line.passes > 1:
        entry["passes"] = line.passes
    if line.at:
        entry["at"] = line.at
    if level >= PLACE:
        entry["first_wrong"] = bool(line.first_wrong)
    if line.verdict is None:
        return entry
    entry["verdict"] = line.verdict
    entry["slip"] = line.slip
    if line.problems:
        entry["note"] = "; ".join(problem.message for problem in line.problems)
    if line.sentence:
        entry["sentence"] = line.sentence
    if line.formula:
        entry["formula"] = line.formula
    if line.edit:
        entry["edit"] = line.edit
    if level >= ALL:
        entry["given"] = _json(line.given)
        entry["expected"] = _json(line.expected)
        entry.setdefault("note", "; ".join(line.notes) or None)
        entry["follows_from"] = line.cause
        if line.factor is not None:
            entry["factor"] = line.factor
        if line.would_give is not None:
            entry["would_give"] = {name: _json(value) for name, value in line.would_give.items()}
    return entry


def _json(value: Any) -> Any:
    if value is None or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return value
    return json_number(value)

"""A marked sheet in a terminal: the count, every verdict, and the first wrong line drawn as a fault is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from gradcli.homework.telling import ALL, FORMULA, KIND, PLACE, Told, ToldLine
from gradcli.problems import Label
from gradcli.render.numbers import LARGE, number, summary, tensor
from gradcli.render.problems import drawn
from gradcli.render.table import Column, Table, print_headline, print_notes, print_table

_COUNTED = {
    "right": "right",
    "scaled": "scaled",
    "right_here_only": "right here only",
    "wrong": "wrong",
    "invalid": "cannot be evaluated",
    "unresolved": "unresolved",
    "helper": "not marked",
}
"""The verdicts in the order in which they are counted, in words."""

_STYLES = {"right": "green", "scaled": "green", "wrong": "bold red", "invalid": "bold red", "follows": "yellow"}


def print_homework(console: Console, told: Told, *, digits: int = 4, ascii_only: bool = False) -> None:
    """Prints what is told of a sheet."""
    print_headline(console, Text(f"{told.file}: {_headline(told)}", "bold"))
    if told.level >= ALL and told.lines:
        console.print()
        print_table(console, _table(told))
    if told.first is not None and told.level >= PLACE:
        console.print()
        lines = _first(told.first, told.level, digits, console.width, ascii_only)
        console.print(Text("\n").join(lines), soft_wrap=True)
    print_notes(console, told.notes)


def _headline(told: Told) -> str:
    """`7 lines: 4 right, 1 wrong, 2 follow from it`."""
    total = told.counts["lines"]
    parts = []
    for verdict, words in _COUNTED.items():
        if count := told.counts.get(verdict, 0):
            parts.append(f"{count} {words}")
        if verdict == "invalid" and (follow := told.counts.get("follows", 0)):
            wrong = told.counts["wrong"] + told.counts["invalid"]
            parts.append(f"{follow} follow{'s' * (follow == 1)} from {'it' if wrong == 1 else 'them'}")
    if told.level < ALL and not parts:
        parts = ["0 right"]
    return f"{total} line{'s' * (total != 1)}: {', '.join(parts) or 'nothing to mark'}"


def _table(told: Told) -> Table:
    several = len({line.file for line in told.lines}) > 1
    cells = any(line.cell is not None for line in told.lines)
    columns = (
        *((Column("file"),) if several else ()),
        *((Column("cell"),) if cells else ()),
        Column("line"),
        Column("claim", wrap=True),
        Column("verdict", wrap=True),
    )
    rows = []
    for line in told.lines:
        file = (line.file,) if several else ()
        cell = ("" if line.cell is None else str(line.cell),) if cells else ()
        rows.append((*file, *cell, str(line.line), line.text, _verdict(line)))
    return Table("", columns, rows)


def _verdict(line: ToldLine) -> str:
    """A verdict with what belongs to it, in words."""
    notes = "; ".join(line.notes)
    at = f" at {line.at}" if line.at else ""
    match line.verdict:
        case "right":
            digits = f"to the {_digits(line.digits)} given" if line.digits is not None else ""
            inside = "; ".join(part for part in (digits, notes) if part)
            return f"right ({inside})" if inside else "right"
        case "follows":
            return f"follows from {line.follows}" if line.follows else "follows"
        case "wrong":
            reason = line.slip or notes
            return f"wrong{at}: first wrong line" if line.first_wrong else f"wrong{at}: {reason}" if reason else "wrong"
        case "invalid":
            message = line.problems[0].message if line.problems else notes
            return f"cannot be evaluated: {message}" + (" (first wrong line)" if line.first_wrong else "")
        case "right_here_only":
            return notes or "right here only"
    return f"{line.verdict}{at}: {notes}" if notes else str(line.verdict)


def _digits(count: int) -> str:
    return f"{count} digit{'s' * (count != 1)}"


def _first(line: ToldLine, level: int, digits: int, width: int, ascii_only: bool) -> list[Text]:
    """The first wrong line, drawn as a fault is."""
    message = ""
    labels: list[Label] = []
    if level >= KIND and line.problems:
        problem = line.problems[0]
        message, labels = f"it cannot be evaluated: {problem.message}", list(problem.labels)
        remarks = [("note", note) for note in problem.notes] + [("help", problem.help)] * bool(problem.help)
    else:
        message = (line.sentence or line.slip or "") if level >= KIND else ""
        equation = f"{line.target} = {line.formula}" if line.formula and level >= FORMULA else ""
        if line.span is not None:
            labels = [Label(line.span, equation)]
        remarks = list(_remarks(line, equation if line.span is None else "", digits))
    at = f", at {line.at}" if line.at else ""
    head = Text(f"first wrong line{at}: " if message or not labels else f"first wrong line{at}", "bold red")
    if not labels:
        message = f"line {line.line}: {message}" if message else str(line.line)
    return drawn(head, message, labels, remarks, width=width, ascii_only=ascii_only)


def _remarks(line: ToldLine, equation: str, digits: int) -> Iterator[tuple[str, str]]:
    if line.edit:
        yield "edit", line.edit
    if equation:
        yield "right", equation
    if line.given is not None and line.expected is not None:
        yours, right = _value(line.given, digits), _value(line.expected, digits)
        if yours == right:  # they differ in digits that are not shown
            yours, right = _value(line.given, 17), _value(line.expected, 17)
        yield "yours", yours
        yield "right", right
    for note in line.notes:
        yield "note", note


def _value(value: Any, digits: int) -> str:
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return ", ".join(value)
    if np.shape(value) == ():
        return number(value, digits)
    return tensor(value, digits) if np.size(value) <= LARGE else summary(value, digits)

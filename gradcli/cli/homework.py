"""The homework part of `gradcli check`: what the claims of a file, and of answers files, are worth."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.streams import ascii_only, console

if TYPE_CHECKING:
    from gradcli.homework.telling import Told
    from gradcli.report import Report


Answers = Annotated[
    list[str] | None,
    typer.Option(
        help="Mark these answers: text, .json, .csv, .npz, or a folder of .npy; - reads standard input.",
        show_default=False,
    ),
]
Hint = Annotated[
    int,
    typer.Option(
        help="How much is told about answers: 0 how many are right, 1 the first wrong line, 2 its kind of slip, "
        "3 the right local gradient, 4 everything.",
        min=0,
        max=4,
    ),
]


def marks_of(report: Report, answers: Sequence[str], hint: int) -> Told | None:
    """What is told of the claims of a formula file and of answers files; None if there are none.

    Raises GradError if a file cannot be read.
    """
    if not answers and not report.traced.claims:
        return None
    from gradcli.homework import mark

    return mark(report, [Path(name) for name in answers], hint=hint, standard_input=sys.stdin.buffer)


def without_note(report: Report) -> Report:
    """The report without the note that claims are not checked: here they are."""
    from gradcli.api import CLAIMS_KEPT

    return replace(report, notes=tuple(note for note in report.notes if not note.endswith(CLAIMS_KEPT)))


def claims_json(told: Told | None) -> dict[str, Any]:
    """What a document says of claims, also where there are none."""
    from gradcli.homework import nothing_told

    return (told or nothing_told()).to_json()


def print_marks(told: Told, digits: int) -> None:
    """Prints them on standard output."""
    from gradcli.render.homework import print_homework

    print_homework(console(), told, digits=digits, ascii_only=ascii_only(sys.stdout))

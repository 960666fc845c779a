"""Homework: what somebody claims about a computation, line by line, and what is to be said about each line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from gradcli.homework.answers import read_answers
from gradcli.homework.marking import mark_sheet
from gradcli.homework.telling import ALL, Told, nothing_told, told
from gradcli.problems import Source
from gradcli.report import Report

__all__ = ["Told", "mark", "nothing_told"]


Answers = str | Path | Source
"""An answers file, or the text of one."""


def mark(
    report: Report,
    answers: Answers | Sequence[Answers] = (),
    *,
    hint: int = ALL,
    standard_input: IO[bytes] | None = None,
) -> Told:
    """Marks the claims of a formula file and those of answers, and tells as much of it as `hint` allows (0 to 4).

    Raises GradError for answers that cannot be read.

    >>> import gradcli
    >>> report = gradcli.derive("x = 2\\ny = 3\\nz = x * y")
    >>> [line.verdict for line in gradcli.mark(report, "dx = y\\ndy = y").lines]
    ['right', 'wrong']
    """
    every = [answers] if isinstance(answers, (str, Path, Source)) else answers
    read = [Source("<answers>", each) if isinstance(each, str) else each for each in every]
    return told(mark_sheet(read_answers(report, read, standard_input=standard_input)), hint)

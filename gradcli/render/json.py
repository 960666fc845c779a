"""Reports and problems as JSON: one document, whose keys are a promise to other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gradcli.problems import Label, Problem


def document(value: dict[str, Any]) -> str:
    """One JSON document on one line, in ASCII, so that every terminal and pipe can carry it."""
    return json.dumps(value, allow_nan=False)


def problem_json(problem: Problem) -> dict[str, Any]:
    """One problem; `line` and `column` count from 1 and are null where there is no place."""
    place = problem.labels[0].span if problem.labels else None
    return {
        "code": problem.code,
        "message": problem.message,
        "file": place.source.name if place else None,
        **(place.source.place_json(place.line) if place else {"line": None}),
        "column": place.column if place else None,
        "labels": [_label_json(label) for label in problem.labels],
        "notes": list(problem.notes),
        "help": problem.help,
    }


def failure_json(command: str, file: str, problems: Sequence[Problem]) -> dict[str, Any]:
    """What stands in place of a report where there is none."""
    return {"schema": 1, "command": command, "file": file, "problems": [problem_json(p) for p in problems]}


def _label_json(label: Label) -> dict[str, Any]:
    span = label.span
    return {
        "file": span.source.name,
        **span.source.place_json(span.line),
        "column": span.column,
        "end_line": span.source.place(span.end_line)[1],
        "end_column": span.end_column,
        "text": label.text,
    }

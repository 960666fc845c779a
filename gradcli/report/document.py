"""The JSON of a report: its keys are a promise to other programs.

Numbers stand in full, tensors as nested lists; `nan`, `inf` and `-inf` are the strings "nan", "inf", "-inf".
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.problems import Source
from gradcli.report.rows import Gradient, NodeRow, Step

if TYPE_CHECKING:
    from gradcli.report.report import Report


def report_json(report: Report) -> dict[str, Any]:
    """The whole report as plain Python."""
    return {
        "schema": 1,
        "command": "derive",
        "file": report.file,
        "output": report.output,
        "nodes": [_node_json(report.node_row(n), report.traced.source) for n in report.shown],
        "order": report.order,
        "steps": [_step_json(s) for s in report.steps()],
        "gradients": {
            name: _gradient_json(report.gradients[name], formula)
            for name, formula in report.formulas(report.gradients).items()
        },
        **_through_time(report),
        "check": None,
        "notes": list(report.notes),
        "problems": [],
    }


def _through_time(report: Report) -> dict[str, Any]:
    """What is only there for programs with states, or where an option asked for it."""
    found: dict[str, Any] = {}
    if report.sequences:
        found["sequences"] = {s.name: [_plain(asdict(state)) for state in s.states] for s in report.sequences}
    if report.truncation is not None:
        found["truncation"] = _plain(asdict(report.truncation))
    if report.clipping is not None:
        found["clipping"] = _plain(asdict(report.clipping))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return json_number(value) if isinstance(value, float) else value


def _gradient_json(row: Gradient, formula: str) -> dict[str, Any]:
    shown = {"value": json_number(row.value), "shape": list(row.shape), "formula": formula}
    return shown if row.path else {**shown, "path": False}


def _node_json(row: NodeRow, source: Source) -> dict[str, Any]:
    return {
        "name": row.name,
        "operation": row.operation,
        "formula": row.formula,
        "operands": list(row.operands),
        "shape": list(row.shape),
        "dtype": row.dtype,
        "value": json_number(row.value),
        **source.place_json(row.line),
        "input": row.input,
    }


def _step_json(step: Step) -> dict[str, Any]:
    return {
        "step": step.step,
        "node": step.node,
        "upstream": json_number(step.upstream),
        "contributions": [
            {
                "operand": c.operand,
                "slot": c.slot,
                "local": None if c.local is None else json_number(c.local),
                "rule": c.rule,
                "value": json_number(c.value),
                "gradient_so_far": json_number(c.gradient_so_far),
                **({"summed_over": list(c.summed_over)} if c.summed_over else {}),
            }
            for c in step.contributions
        ],
    }


def json_number(value: Any) -> Any:
    """A number or tensor as JSON has it: nested lists, and the strings "nan", "inf", "-inf"."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bool, int)):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return _spelled(array.tolist())
    return array.tolist()


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(v) for v in value]
    return value if math.isfinite(value) else str(value)

"""The JSON of a check: its keys are a promise to other programs.

Numbers are written as in a report: in full, tensors as nested lists, `nan` and the infinities as strings.
"""

from __future__ import annotations

from typing import Any

from gradcli.report import Report
from gradcli.report.document import json_number
from gradcli.verify.against import Against
from gradcli.verify.curvature import VERDICTS, HessianCheck
from gradcli.verify.verdict import Check, Entry, GradientCheck, ResultCheck, RuleCheck


def check_document(report: Report, check: Check) -> dict[str, Any]:
    """What `gradcli check` says of a file, without the claims that may stand in it."""
    return {
        "schema": 1,
        "command": "check",
        "file": report.file,
        "output": report.output,
        "gradients": {
            g.name: {"value": json_number(g.value), "shape": list(g.shape)} for g in check.gradients.values()
        },
        "check": check_json(check),
        "notes": list(report.notes),
    }


def check_json(check: Check) -> dict[str, Any]:
    """A check as plain Python: what stands at `check` in the documents of `derive` and `check`."""
    return {
        "verdict": check.verdict.value,
        "wrong": check.wrong,
        "entries": check.entries,
        "counts": {verdict.value: count for verdict, count in check.counts.items()},
        "gradients": {name: _gradient_json(g) for name, g in check.gradients.items()},
        "rules": [_rule_json(rule) for rule in check.rules],
        "custom_rules": [_result_json(result) for result in check.custom_rules],
        "notes": list(check.notes),
    }


def against_json(found: Against) -> dict[str, Any]:
    """The comparison with another library."""
    return {
        "library": found.library,
        "version": found.version,
        "wrong": found.wrong,
        "gradients": {
            g.name: {"value": json_number(g.theirs), "difference": json_number(g.difference), "agree": g.agree}
            for g in found.gradients
        },
        "order": [{"node": n, "operation": o, "grad_fn": f} for n, o, f in found.order],
    }


def hessian_json(found: HessianCheck) -> dict[str, Any]:
    """Second derivatives: a row and a column for every entry of the inputs."""
    return {
        "verdict": found.verdict.value,
        "entries": found.labels,
        "value": _number(found.hessian.value),
        "differences": _number(found.reference),
        "error_bound": _number(found.bound),
        "verdicts": [[VERDICTS[k].value for k in row] for row in found.ranks],
        "symmetric": found.symmetric,
    }


def _gradient_json(g: GradientCheck) -> dict[str, Any]:
    return {
        "verdict": g.verdict.value,
        "wrong": g.wrong,
        "sympy": {
            "formula": g.symbolic.formula,
            "value": _number(g.symbolic.value),
            "method": g.symbolic.method,
            "abstains": g.symbolic.abstains,
        },
        "numeric": {
            "value": _number(g.numeric.value),
            "error_bound": _number(g.numeric.error_bound),
            "left": _number(g.numeric.left),
            "right": _number(g.numeric.right),
            "method": g.numeric.method,
        },
        "counts": {verdict.value: count for verdict, count in g.counts.items() if count},
        "worst": _entry_json(g.worst),
        "entries": [_entry_json(entry) for entry in g.entries],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "index": [int(i) for i in entry.index],
        "verdict": entry.verdict.value,
        "value": _number(entry.value),
        "reference": _number(entry.reference),
        "left": _number(entry.left),
        "right": _number(entry.right),
        "allowed": entry.allowed,
        "node": entry.node,
        "reason": entry.reason,
        "way_out": entry.way_out,
        **({"beyond": entry.beyond} if entry.beyond else {}),
    }


def _rule_json(rule: RuleCheck) -> dict[str, Any]:
    return {
        "node": rule.node,
        "operation": rule.operation,
        "slot": rule.slot,
        "operand": rule.operand,
        "verdict": rule.verdict.value,
        "reason": rule.reason,
    }


def _result_json(result: ResultCheck) -> dict[str, Any]:
    return {
        "rule": result.rule,
        "result": result.position,
        "operand": result.operand,
        **({"line": result.line} if result.span is None else result.span.source.place_json(result.line)),
        "verdict": result.verdict.value,
        "expected": result.expected,
        "expected_shape": list(result.expected_shape),
        "found": result.found,
        "found_shape": None if result.found_shape is None else list(result.found_shape),
        "slip": result.slip,
        "edit": result.edit,
        "note": result.note,
        "at": None if result.span is None else {"line": result.span.line, "column": result.span.column},
        "sentence": result.sentence,
    }


def _number(value: Any) -> Any:
    return None if value is None else json_number(value)

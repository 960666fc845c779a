"""The verdict: no false alarm, and no missed error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.verify.check import check
from gradcli.verify.verdict import Verdict

FUNCTIONS = {c["id"]: c for c in json.loads((Path(__file__).parent / "verdicts.json").read_text(encoding="utf-8"))}
SMOOTH = [name for name, c in FUNCTIONS.items() if c["status"] == "smooth"]
KINKS = [name for name, c in FUNCTIONS.items() if "slopes" in c]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_verdict_is_right(name: str) -> None:
    case = FUNCTIONS[name]
    report = gradcli.derive(case["formula"])
    found = check(report)
    assert found.verdict in case["verdicts"], found
    unusable = any(not np.isfinite(report.gradient(n)).all() for n in found.gradients)
    assert unusable or not found.wrong, found


@pytest.mark.parametrize("name", KINKS)
def test_slopes_at_a_kink(name: str) -> None:
    case = FUNCTIONS[name]
    found = check(gradcli.derive(case["formula"]))
    for node, slopes in case["slopes"].items():
        numeric = found.gradients[node].numeric
        sides = [numeric.value if s is None else s for s in (numeric.left, numeric.right)]
        right = np.asarray(slopes, float)
        np.testing.assert_allclose(np.minimum(*sides), right[..., 0], 1e-9, 1e-12)
        np.testing.assert_allclose(np.maximum(*sides), right[..., 1], 1e-9, 1e-12)
    report = gradcli.derive(case["formula"])
    for refused in case.get("gradients_to_refuse", ()):
        assert check(report, gradients=dict(zip(case["slopes"], refused, strict=True))).wrong, refused


@pytest.mark.parametrize("name", SMOOTH)
def test_spoiled_gradients_never_agree(name: str) -> None:
    case = FUNCTIONS[name]
    report = gradcli.derive(case["formula"])
    for node, stored in case["gradients"].items():
        right = np.asarray(stored, dtype=float)
        for spoiled in _spoiled(right):
            assert check(report, gradients={node: spoiled}).verdict is not Verdict.AGREE, spoiled


def _spoiled(right: Any) -> Iterator[Any]:
    for factor in (1.0001, -1.0, 2.0, 0.0):
        for at in np.ndindex(*right.shape):
            if right[at] != 0 and np.abs(right[at]) > 1e-6 * np.abs(right).max():
                wrong = right.copy()
                wrong[at] *= factor
                yield wrong

"""Programs as people have them: PyTorch, NumPy, JAX, autograd and micrograd, read without a change.

`snippets/expected.json` holds, for those that could be run, the value of the output and the gradients that NumPy or
PyTorch gave when the very text was executed by hand, up to the first change of a parameter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.evaluate import evaluate
from gradcli.graph import INPUT
from gradcli.verify.custom import check_custom_rules

SNIPPETS = Path(__file__).parent / "snippets"
FILES = sorted(SNIPPETS.glob("*.py"))
EXPECTED: dict[str, dict[str, Any]] = json.loads((SNIPPETS / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_gradients_are_those_of_the_program(name: str) -> None:
    expected = EXPECTED[name]
    report = gradcli.derive(SNIPPETS / name, of=expected.get("output"))
    if report.output != "total" and "value" in expected:  # two passes: PyTorch has only the value of each
        assert report.value(report.output) == pytest.approx(expected["value"], rel=1e-9)
    for node, gradient in expected["gradients"].items():
        np.testing.assert_allclose(report.gradient(node), gradient, rtol=1e-8, atol=1e-12, err_msg=node)
    for node, value in expected.get("values", {}).items():
        np.testing.assert_allclose(report.value(node), value, rtol=1e-8, atol=1e-12, err_msg=node)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_gradients_are_those_of_differences(path: Path) -> None:
    """A few entries of every input, moved a little either way: only forward values are used."""
    report = gradcli.derive(path)
    graph = report.traced.graph
    generator = np.random.default_rng(0)
    step = 1e-6
    for node in graph.nodes:
        if node.op is not INPUT or not node.differentiable or "detach" in path.name:
            continue
        original = node.data
        places = list(np.ndindex(np.shape(original)))
        for at in [places[k] for k in generator.permutation(len(places))[:3]]:
            ends = []
            for sign in (1, -1):
                moved = np.array(original, dtype=float)
                moved[at] += sign * step
                node.data = moved if moved.shape else moved.item()
                ends.append(evaluate(graph)[report.output_node.number])
            node.data = original
            slope = (ends[0] - ends[1]) / (2 * step)
            assert np.asarray(report.gradient(node.name))[at] == pytest.approx(slope, rel=1e-4, abs=1e-6), node.name


@pytest.mark.parametrize("name", ["numpy_cache.py", "numpy_layers.py", "torch_function.py"])
def test_backward_parts_are_right(name: str) -> None:
    checks = check_custom_rules(gradcli.derive(SNIPPETS / name))
    assert len(checks) >= 3
    assert all(check.right for check in checks), [check.sentence for check in checks if not check.right]


def test_notebook(tmp_path: Path) -> None:
    code = (SNIPPETS / "torch_zero_grad.py").read_text(encoding="utf-8").splitlines(keepends=True)
    cells = [
        {"cell_type": "markdown", "source": ["# not code"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip install torch\n", *code[:3]]},
        {"cell_type": "code", "source": "".join(code[3:])},
        {"cell_type": "code", "source": ["w.grad"]},
    ]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), encoding="utf-8")
    report = gradcli.derive(path)
    np.testing.assert_allclose(report.gradient("w"), EXPECTED["torch_zero_grad.py"]["gradients"]["w"], rtol=1e-8)


LAYERS: list[dict[str, Any]] = json.loads((SNIPPETS / "layers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case["layer"])
def test_layers_are_pytorchs(case: dict[str, Any]) -> None:
    """Weights, value and gradients of layers and losses, as PyTorch gave them by hand."""
    report = gradcli.derive(case["program"])
    assert report.value("loss") == pytest.approx(case["value"], rel=1e-9)
    for node, gradient in case["gradients"].items():
        np.testing.assert_allclose(report.gradient(node), gradient, rtol=1e-7, atol=1e-10, err_msg=node)

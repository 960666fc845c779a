"""The samples: each derives without a fault, explains itself, and has the gradients that a textbook has."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FILES = sorted(SAMPLES.glob("*.txt"))

A, B = np.arange(1.0, 7).reshape(2, 3), np.array([[1, 0, -1, 2], [0, 3, 1, 0], [2, 1, 0, -2]])
DC = np.array([[1, 0, 2, -1], [0, 1, -1, 0.5]])
SLOPE = math.exp(-1) / (1 + math.exp(-1)) ** 2  # of the sigmoid at 1

GRADIENTS: dict[str, dict[str, Any]] = {
    "circuit.txt": {"z": 1, "p": 4, "w": 5, "x": 4, "y": 4},
    "shared_input.txt": {"a": 1, "b": 1, "x": 7, "y": 2, "z": 2},
    "sigmoid_neuron.txt": {
        "dot": SLOPE,
        "w0": -SLOPE,
        "x0": 2 * SLOPE,
        "w1": -2 * SLOPE,
        "x1": -3 * SLOPE,
        "w2": SLOPE,
        "e": -0.5344,
        "den": -0.5344,
    },
    "given_upstream.txt": {
        "A": np.einsum("ik,jk->ij", DC, B),
        "B": np.einsum("ij,ik->jk", A, DC),
    },
    "bias_broadcasting.txt": {"X": [[1, 0], [2, -1], [3, 0.5]], "b": [1 + 2 + 3, 0 - 1 + 0.5]},
    "residual.txt": {"y": [1, 3], "a": [1, 0], "x": [1 + 0.5, 3 - 1], "W": [[1, 0], [-2, 0]]},
    "two_layer.txt": {
        "z2": [-0.5597, 0.5597],
        "W2": [[-0.13993, -0.16791], [0.13993, 0.16791]],
        "b2": [-0.5597, 0.5597],
        "h1": [-0.22389, 0.44777],
        "z1": [-0.22389, 0.44777],
        "W1": [[-0.22389, -0.11194], [0.44777, 0.22389]],
        "b1": [-0.22389, 0.44777],
        "x": [0.08955, 0.20150],
    },
}
"""By file and name, the derivative of the output, worked out by hand."""

OUTPUTS = {
    "circuit.txt": ("z", 20),
    "shared_input.txt": ("L", 14),
    "sigmoid_neuron.txt": ("f", 0.73106),
    "given_upstream.txt": ("C", [[7, 9, 1, -4], [16, 21, 1, -4]]),
    "bias_broadcasting.txt": ("L", 71),
    "residual.txt": ("L", -2.5),
    "two_layer.txt": ("L", 0.82033),
}
"""By file, the output and its value."""


def derive(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What `gradcli derive` does with a file."""
    command = [sys.executable, "-X", "utf8", "-m", "gradcli", "derive", str(path), *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def test_every_sample_has_its_numbers_here() -> None:
    names = [path.name for path in FILES]
    assert names == sorted(GRADIENTS) == sorted(OUTPUTS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_sample_derives_as_tables_and_as_json(path: Path) -> None:
    tables = derive(path)
    assert (tables.returncode, tables.stderr) == (0, "")
    assert tables.stdout.startswith(f"{path.name}: ")
    assert "note:" not in tables.stdout
    document = derive(path, "--format", "json")
    assert (document.returncode, document.stderr) == (0, "")
    assert json.loads(document.stdout)["problems"] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_sample_is_short_and_says_what_to_look_for(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines if line.startswith("#")]
    assert 2 <= len(comment) <= 4
    assert lines[: len(comment)] == comment
    assert "Look for" in comment[1]
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 88


@pytest.mark.parametrize(("name", "output", "value"), [(name, *pair) for name, pair in OUTPUTS.items()])
def test_sample_has_the_right_output(name: str, output: str, value: Any) -> None:
    report = gradcli.derive(SAMPLES / name)
    assert report.output == output
    np.testing.assert_allclose(report.value(output), value, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "node"), [(name, node) for name, gradients in GRADIENTS.items() for node in gradients]
)
def test_sample_has_the_right_gradient(name: str, node: str) -> None:
    gradient = gradcli.derive(SAMPLES / name).gradient(node)
    expected = GRADIENTS[name][node]
    assert np.shape(gradient) == np.shape(expected)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-4)

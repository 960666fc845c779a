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
from gradcli.evaluate import evaluate
from gradcli.graph import INPUT

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FILES = sorted(path for path in SAMPLES.glob("*.txt") if not path.name.endswith(".answers.txt"))

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
    "batch_norm.txt": {
        "X": [[-0.0166, -0.1205], [0.2879, -0.0291], [-0.5560, 0.0966], [0.2846, 0.0530]],
        "gamma": [-0.5755, -0.6379],
        "beta": [0.6, 0.5],
    },
    "layer_norm.txt": {"x": [[-0.0704, 0.0423, 0.0282], [0.7589, -0.4301, -0.3289]], "beta": [1.2, 0.1, -0.1]},
    "tiny_cnn.txt": {"K": [[0.1498, 0.0419], [0.1618, 0.0659]], "b": [0.5992, -0.5992]},
    "contrastive_loss.txt": {"A": [[0.0111, -0.0055], [0.2030, 0.0677], [0.0093, 0.0187]]},
    "focal_loss.txt": {"z": [[-2.7589e-4, 2.2556e-4, 5.0330e-5], [2.5232e-2, 9.2585e-2, -1.1782e-1]]},
    "claims.txt": {"A": [[-9, 18], [-12, 24]], "x": [-30, -50]},
    "kink.txt": {"x": 0, "w": 6},
    "saturated.txt": {"x": 1.00102},
    "word2vec.txt": {
        "V": [[0, 0], [0.0641, 0.7891], [0, 0], [0, 0]],
        "U": [[0.2189, 0.1642], [0, 0], [-0.1840, -0.1380], [0.4418, 0.3314]],
    },
    "rnn.txt": {"V": [[0.17043, 0.23867], [-0.17043, -0.23867]], "b": [-0.47043, 0.70608]},
    "gru.txt": {"Uz": [[-0.00938, -0.01453], [-0.01188, 0.00379]]},
    "my_linear.txt": {},
}
"""By file and name, the derivative of the output, worked out by hand, or with another library (in float64:
`saturated.txt` has lost digits, and shows it)."""

OUTPUTS = {
    "circuit.txt": ("z", 20),
    "claims.txt": ("L", 35),
    "shared_input.txt": ("L", 14),
    "sigmoid_neuron.txt": ("f", 0.73106),
    "given_upstream.txt": ("C", [[7, 9, 1, -4], [16, 21, 1, -4]]),
    "bias_broadcasting.txt": ("L", 71),
    "residual.txt": ("L", -2.5),
    "two_layer.txt": ("L", 0.82033),
    "attention.txt": ("L", 0.49638),
    "batch_norm.txt": ("L", -1.22225),
    "contrastive_loss.txt": ("L", 0.39292),
    "focal_loss.txt": ("L", 0.13524),
    "kink.txt": ("L", 9),
    "layer_norm.txt": ("L", -3.28805),
    "lstm_cell.txt": ("L", 0.25656),
    "saturated.txt": ("L", 30.00102),
    "tiny_cnn.txt": ("L", 0.91421),
    "vae_elbo.txt": ("L", 2.04437),
    "word2vec.txt": ("L", 3.01630),
    "rnn.txt": ("L", 1.47081),
    "lstm.txt": ("L", 0.05131),
    "gru.txt": ("L", 0.14028),
    "my_linear.txt": ("L", 0.93289),
}
"""By file, the output and its value."""

NO_DIFFERENCES = ("kink.txt", "saturated.txt")
"""Files that show where differences in float64 say nothing."""


def derive(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What `gradcli derive` does with a file."""
    command = [sys.executable, "-X", "utf8", "-m", "gradcli", "derive", str(path), *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def test_every_sample_has_its_numbers_here() -> None:
    names = [path.name for path in FILES]
    assert names == sorted(OUTPUTS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_sample_derives_as_tables_and_as_json(path: Path) -> None:
    code = int(path.name == "my_linear.txt")  # the rule of its own is wrong
    tables = derive(path)
    assert (tables.returncode, tables.stderr) == (code, "")
    assert tables.stdout.startswith(f"{path.name}: ")
    assert ("note:" in tables.stdout) == (path.name == "claims.txt")
    document = derive(path, "--format", "json")
    assert (document.returncode, document.stderr) == (code, "")
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


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name not in NO_DIFFERENCES], ids=lambda path: path.name
)
def test_gradients_are_those_of_differences(path: Path) -> None:
    """Every entry of every input, moved a little either way: only forward values are used."""
    report = gradcli.derive(path)
    graph = report.traced.graph
    seed = np.asarray(report.seed)
    step = 1e-6
    for node in graph.nodes:
        if node.op is not INPUT or not node.differentiable:
            continue
        original = node.data
        for at in np.ndindex(np.shape(original)):
            ends = []
            for sign in (1, -1):
                moved = np.array(original, dtype=float)
                moved[at] += sign * step
                node.data = moved if moved.shape else moved.item()
                ends.append(np.sum(seed * evaluate(graph)[report.output_node.number]))
            node.data = original
            slope = (ends[0] - ends[1]) / (2 * step)
            assert np.asarray(report.gradient(node.name))[at] == pytest.approx(slope, rel=1e-5, abs=1e-7)

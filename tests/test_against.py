"""The comparison with PyTorch and JAX: every sample where they are installed, a clear fault where they are not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from test_faults import run

import gradcli
from gradcli.problems import GradError
from gradcli.verify.against import PLACES, against

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FILES = sorted(path for path in SAMPLES.glob("*.txt") if ".answers" not in path.name)


@pytest.mark.parametrize("library", PLACES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_samples_agree_with_the_library(path: Path, library: str) -> None:
    pytest.importorskip(library)
    report = gradcli.derive(path)
    try:
        found = against(report, library)
    except GradError as error:  # JAX has neither losses nor convolutions of PyTorch's kind
        assert library == "jax" and "no counterpart" in str(error)  # noqa: PT017, PT018
        return
    assert not found.wrong
    assert {g.name for g in found.gradients} <= set(report.gradients)
    if library == "torch":
        assert [name for name, _, _ in found.order] == report.order


def test_the_document_holds_the_comparison() -> None:
    pytest.importorskip("torch")
    outcome = run("check", str(SAMPLES / "circuit.txt"), "--against", "torch", "--format", "json")
    told = json.loads(outcome.out)["against"]
    assert (told["library"], told["wrong"]) == ("torch", False)
    assert told["order"][0] == {"node": "z", "operation": "p * w", "grad_fn": "MulBackward0"}


@pytest.mark.parametrize("library", PLACES)
def test_a_wrong_gradient_is_told(library: str) -> None:
    pytest.importorskip(library)
    report = gradcli.derive("x = 2.0\ny = 3.0\nL = x * tanh(y)")
    report.sweep.gradients[report.by_name["x"].number] = 5.0
    found = against(report, library)
    assert [g.name for g in found.gradients if not g.agree] == ["x"]


@pytest.mark.parametrize("library", PLACES)
def test_a_library_that_is_absent_is_a_clear_fault(library: str) -> None:
    if importlib.util.find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    outcome = run("check", str(SAMPLES / "circuit.txt"), "--against", library)
    assert outcome.code == 2
    assert f"pip install 'gradcli[{library}]'" in outcome.err.replace("\n", " ")


def test_an_unknown_library_is_a_clear_fault() -> None:
    outcome = run("check", str(SAMPLES / "circuit.txt"), "--against", "theano")
    assert outcome.code == 2
    assert "--against must be torch or jax" in outcome.err

"""The comparison with PyTorch and JAX: every sample where they are installed, a clear fault where they are not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
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


@pytest.fixture
def another_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that says 3 for dL/dx, whatever the file says: how it is told needs no library."""
    from gradcli.verify import against as module

    def says_three(report: gradcli.Report, library: str) -> module.Against:
        ours, theirs = np.asarray(report.gradient("x")), np.asarray(3.0)
        return module.Against(library, "1.0", (module.Comparison("x", ours, theirs, False, 1.0),), ())

    monkeypatch.setattr(module, "against", says_three)


@pytest.mark.usefixtures("another_gradient")
def test_a_difference_is_in_tables_and_in_json_and_fails(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x = 2.0\nL = x * x\n")
    tables = run("check", str(file), "--against", "torch")
    assert (tables.code, "torch" in tables.out.lower()) == (1, True)
    document = run("check", str(file), "--against", "torch", "--format", "json")
    assert document.code == 1
    assert json.loads(document.out)["against"]["gradients"]["x"]["value"] == 3.0


@pytest.mark.usefixtures("another_gradient")
def test_a_hint_hides_the_comparison(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x = 2.0\nL = x * x\ndL/dx == 5\n")
    for form in ("table", "json"):
        outcome = run("check", str(file), "--against", "torch", "--hint", "1", "--format", form)
        assert "torch" not in outcome.out.lower().replace("pytorch", "torch")
        assert "4" not in outcome.out.replace("a.txt", "")

"""Why a gradient is no plain derivative: where it happens, what to write instead, and the examples of `explain`."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from test_faults import run

import gradcli
from gradcli.graph import ALL
from gradcli.verify.check import check
from gradcli.verify.curvature import check_hessian
from gradcli.verify.explanations import verdict_explanation
from gradcli.verify.verdict import Verdict

WAYS_OUT = {
    "z = [-800, 0, 1]\nL = sum(log(softmax(z)))": "log_softmax(z) for log(softmax(z))",
    "x = 1e-9\nL = (1 - cos(x)) / x**2": "2 * sin(x / 2)**2 for 1 - cos(x)",
    "x = 1e9\nL = sqrt(x*x + 1) - x": "1 / (sqrt(x * x + 1) + x) for sqrt(x * x + 1) - x",
    "z = [1000, 1, 2]\nL = log(sum(exp(z)))": "logsumexp(z) for log(sum(exp(z)))",
    "x = 40\nL = -log(1 - 1/(1 + exp(-x)))": "softplus(x) for -log(1 - 1 / (1 + exp(-x)))",
    "x = 1e-9\nL = (exp(x) - 1) / x": "expm1(x) for exp(x) - 1",
    "x = 1000\nL = log(1 + exp(x))": "softplus(x) for log(1 + exp(x))",
    "x = 800\nL = exp(x) / (1 + exp(x))": "sigmoid(x) for exp(x) / (1 + exp(x))",
    "x = 1e-9\nL = 1 / (1 - cos(x))": "2 * sin(x / 2)**2 for 1 - cos(x)",
    "x = 1e-8\nL = x - sin(x)": "",
}


@pytest.mark.parametrize("text", WAYS_OUT)
def test_the_stable_form_is_told(text: str) -> None:
    found = check(gradcli.derive(text))
    assert found.verdict is Verdict.INACCURATE
    assert not found.wrong
    entry = next(iter(found.gradients.values())).worst
    assert entry.way_out == (f"write {WAYS_OUT[text]}" if WAYS_OUT[text] else "")
    assert entry.node
    assert entry.reason


@pytest.mark.parametrize("pair", [pair for op in ALL for pair in op.stable], ids=lambda pair: pair[0])
def test_stable_forms_say_the_same(pair: tuple[str, str]) -> None:
    inputs = "x = 0.7\ny = 0.4\n" if "sum(" not in pair[0] and "softmax" not in pair[0] else "x = [0.7, 0.2]\n"
    if pair[1].startswith("var"):
        inputs = "x = [0.7, 0.2]\n"
    wide, narrow = (gradcli.derive(f"{inputs}L = sum({side})") for side in pair)
    for name in wide.gradients:
        if not wide.node(name).operands:
            np.testing.assert_allclose(wide.gradient(name), narrow.gradient(name), 1e-9, 1e-12)


UNDEFINED = {
    "x = -1\nL = log(x)": "not defined at x = -1.0",
    "x = 0\nL = log(x)": "infinite at x = 0.0",
    "x = 0\nL = sqrt(x)": "no value on the left, an infinite slope on the right",
    "x = 0\nL = cbrt(x)": "an infinite slope from both sides",
    "x = 1\nL = floor(x) * x": "a jump on the left, a finite slope on the right",
}


@pytest.mark.parametrize("text", UNDEFINED)
def test_undefined_says_why(text: str) -> None:
    entry = check(gradcli.derive(text)).gradients["x"].worst
    assert (entry.verdict, entry.node, entry.reason) == (
        Verdict.UNDEFINED,
        "v1" if "floor" in text else "L",
        UNDEFINED[text],
    )


@pytest.mark.parametrize("verdict", Verdict)
def test_the_example_of_an_explanation_gets_its_verdict(verdict: Verdict) -> None:
    blocks = [b for b in verdict_explanation(verdict).split("\n\n") if b.startswith("    ")]
    found = check(gradcli.derive(textwrap.dedent(blocks[0]) + "\n"))
    assert found.verdict is verdict


def test_many_kinks_are_judged_together() -> None:
    report = gradcli.derive(f"x = {[0.0] * 100}\nL = sum(abs(x))")
    assert check(report).counts == {Verdict.KINK: 100}
    assert check(report, gradients={"x": np.where(np.arange(100) == 77, 5.0, 0.0)}).wrong


def test_an_error_in_the_engine_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.verify import mover as module

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(module, "probe", fails)
    found = check(gradcli.derive("x = 2\nL = x * x"))
    assert found.verdict is Verdict.UNRESOLVED
    assert "of all things" in found.gradients["x"].worst.reason


# Second derivatives ---------------------------------------------------------------------------------------


def test_a_wrong_second_derivative_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.verify import second_order

    report = gradcli.derive("x = [0.5, 1.0]\nL = exp(x[0]) * sin(x[1])")
    assert check_hessian(report).verdict is Verdict.AGREE
    right = second_order._rows  # in floats and at many digits alike
    monkeypatch.setattr(second_order, "_rows", lambda *given: 1.001 * right(*given))
    assert check_hessian(report).wrong


def test_a_corner_of_the_gradient_is_a_kink() -> None:
    found = check_hessian(gradcli.derive("x = 0\ny = 3\nL = relu(x) * y * x + x * y"))
    assert found.verdict is Verdict.KINK
    assert found.symmetric


def test_the_command_shows_the_matrix(tmp_path: Path) -> None:
    file = tmp_path / "h.txt"
    file.write_text("x = 2\ny = 3\nL = x * x * y\n")
    outcome = run("check", str(file), "--hessian")
    assert outcome.code == 0
    assert "  x  6  4" in outcome.out
    assert "the matrix is symmetric" in " ".join(outcome.out.split())


# Numbers that float64 cannot hold -----------------------------------------------------------------

BEYOND = {
    "x = 1e308\nL = x*x": ("2e+308", "overflows: the number is too large for float64"),
    "x = 1e-200\nL = 1/x": ("-1e+400", "on the way back, the gradient of x overflows: it is too large for float64"),
    "x = 1000\nL = exp(x)": ("2e+434", "overflows: the number is too large for float64"),
    "x = [1e-200, 1]\nL = sum(1/x)": ("-1e+400", "on the way back, the gradient of x overflows: it is too large"),
}


@pytest.mark.parametrize("text", BEYOND)
def test_a_derivative_beyond_the_floats_is_said(text: str, tmp_path: Path) -> None:
    size, reason = BEYOND[text]
    (tmp_path / "f.txt").write_text(text)
    outcome = run("check", tmp_path / "f.txt", COLUMNS="400")
    assert outcome.code == 0
    assert f"{reason}" in outcome.out
    assert f"the derivative is beyond the range of float64 (about {size}), the reverse sweep says" in outcome.out
    assert "cancel" not in outcome.out
    table = outcome.out.partition("overflows")[0]
    assert f"too large  {size}" in " ".join(table.split()).replace("too large ", "too large  ")
    worst = json.loads(run("check", tmp_path / "f.txt", "--format", "json").out)["check"]["gradients"]["x"]["worst"]
    assert (worst["beyond"], worst["reference"]) == (size, "-inf" if size[0] == "-" else "inf")


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(float).max, reason="no wider numbers here")
@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("x = 1e308\nL = x*x", ["line 2: the value of `L` is beyond the range of float64 (about 1e+616)"]),
        ("x = 1e-200\nL = 1/x", ["line 1: the gradient of `x` is beyond the range of float64 (about -1e+400)"]),
        ("x = 1e300\nL = x**3*1e-300", ["line 1: the gradient of `x` is not finite, and should be 3e+300"]),
        ("x = 0\nL = 1/x", ["line 2: the value of `L` is not finite", "line 1: the gradient of `x` is not finite"]),
        ("x = float32(1e30)\nL = x*x", ["line 2: the value of `L` is beyond the range of float32 (about 1e+60)"]),
    ],
)
def test_derive_says_so_too(text: str, notes: list[str]) -> None:
    found = gradcli.derive(text).notes
    for note in notes:
        assert any(told.startswith(f"{note}; it is the first such") for told in found), found

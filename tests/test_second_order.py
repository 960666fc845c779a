"""Hessians: ours against closed forms, and against the differences that stand beside them."""

import numpy as np
import pytest

from gradcli.api import derive
from gradcli.verify.second_order import MAX_ENTRIES, hessian

FILES = {
    "product": "x = 2.0\ny = 3.0\nL = x * y",
    "quadratic": "A = const([[2.0, 1.0], [0.5, -3.0]])\nx = [1.0, -2.0]\nL = x @ A @ x",
    "logistic": "X = const(randn(6, 3))\nt = const([1.0, 0, 0, 1, 1, 0])\nw = randn(3)\nb = 0.2\n"
    "L = mean(softplus(X @ w + b) - t * (X @ w + b))",
    "perceptron": "X = const(randn(4, 3))\nW = randn(3, 4)\nb = randn(4)\nV = randn(4)\n"
    "L = mean((tanh(X @ W + b) @ V)**2)",
    "softmax": "W = randn(3, 4)\nX = const(randn(5, 3))\nL = cross_entropy(X @ W, [0, 3, 1, 1, 2])",
    "linear": "x = [1.0, 2.0]\ny = 3.0\nL = sum(x) + 2 * y",
    "ratio": "x = 0.7\ny = -1.3\nz = 2.0\nL = exp(sin(x)) * y**2 + x / y + z**x",
    "layer norm": "x = randn(5)\nm = mean(x)\nv = mean((x - m)**2)\ny = (x - m) / sqrt(v + 1e-5)\n"
    "L = sum(y * [1.0, -2, 3, 0.5, 1])",
}


@pytest.mark.parametrize("name", FILES)
def test_ours_and_the_differences_agree(name: str) -> None:
    report = derive(FILES[name])
    inputs = [n for n in report.gradients if not report.node(n).operands]
    found = hessian(report, inputs)
    assert found.reason == ""
    largest = float(np.max(np.abs(found.value)))
    assert found.asymmetry <= 1e-13 * max(largest, 1e-300)
    nonzero = np.abs(found.value) > 1e-6 * largest
    assert found.agrees[nonzero].all()
    assert (np.abs(found.value - found.differences) <= found.bound + 1e-13 * largest).all()


def test_a_wrong_second_derivative_is_not_acquitted() -> None:
    from dataclasses import replace

    found = hessian(derive(FILES["perceptron"]), ["W", "V"])
    wrong = replace(found, value=found.value * (1 + 1e-4))
    large = np.abs(found.value) > 1e-6 * np.max(np.abs(found.value))
    assert not wrong.agrees[large].any()


def test_a_quadratic_form_has_the_sum_of_its_matrix_and_the_transpose() -> None:
    found = hessian(derive(FILES["quadratic"]), ["x"])
    assert found.value == pytest.approx(np.array([[4.0, 1.5], [1.5, -6.0]]))
    assert found.entries == (("x", (0,)), ("x", (1,)))


def test_blocks_have_the_shapes_of_both_nodes() -> None:
    found = hessian(derive(FILES["perceptron"]), ["W", "b"])
    assert found.block("W", "b").shape == (3, 4, 4)
    assert found.block("b", "b").shape == (4, 4)


def test_a_corner_is_not_acquitted() -> None:
    found = hessian(derive("x = 1.0\nL = relu(x - 1) * x + x**2"), ["x"])
    assert not found.agrees.any()


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (f"x = randn({MAX_ENTRIES + 1})\nL = sum(x**2)", "x", "entries are more than"),
        ("x = 1.0\ny = x**2\nL = exp(y)", "y", "is computed"),
        ("x = 1.0\ny = 2.0\nL = exp(x)", "y", "no gradient reaches"),
        ("x = [1.0]\nL = exp(x)", "x", "scalar"),
    ],
)
def test_what_is_too_much_or_not_defined_is_told(text: str, name: str, reason: str) -> None:
    found = hessian(derive(text), [name])
    assert reason in found.reason
    assert found.value.size == 0

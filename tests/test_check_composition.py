"""Whole graphs with a gradient spoiled, or a sweep broken: the check never lets it pass.

Every rule may be right and the composition wrong, so what is spoiled here is the composition: what reaches a node, in
which shape, from how many consumers.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.differentiate import sweep
from gradcli.report import Report
from gradcli.verify.check import check
from gradcli.verify.verdict import Verdict

GRAPHS = {
    "two layers": """
        x = [1.0, 0.5]
        W1 = [[0.2, -0.1], [0.3, 0.4]]
        b1 = [0.1, -0.2]
        W2 = [[0.5, -0.3], [0.1, 0.7]]
        L = cross_entropy(W2 @ relu(W1 @ x + b1), 1)
    """,
    "batch": """
        X = randn(4, 3)
        W = randn(3, 3)
        b = randn(3)
        V = randn(3, 2)
        L = mean((tanh(X @ W + b) @ V)**2)
    """,
    "layer norm": """
        X = randn(3, 4)
        gain = randn(4)
        shift = randn(4)
        m = mean(X, axis=1, keepdims=True)
        v = mean((X - m)**2, axis=1, keepdims=True)
        L = sum(((X - m) / sqrt(v + 1e-5) * gain + shift)**3)
    """,
    "recurrent": """
        X = randn(3, 2)
        U = randn(3, 2)
        W = randn(3, 3)
        h0 = randn(3)
        h1 = tanh(U @ X[0] + W @ h0)
        h2 = tanh(U @ X[1] + W @ h1)
        h3 = tanh(U @ X[2] + W @ h2)
        L = sum(h3 * h3)
    """,
    "attention": """
        X = randn(3, 3)
        Q = randn(3, 3)
        K = randn(3, 3)
        V = randn(3, 3)
        A = softmax((X @ Q) @ (X @ K).T / sqrt(3))
        L = sum((A @ (X @ V))**2)
    """,
    "convolution": """
        x = randn(1, 1, 4, 4)
        w = randn(2, 1, 2, 2)
        b = randn(2)
        L = sum(tanh(conv2d(x, w, b))**2)
    """,
    "logistic": """
        X = randn(5, 3)
        w = randn(3)
        b = 0.3
        t = const([1.0, 0, 0, 1, 1])
        L = mean(softplus(X @ w + b) - t * (X @ w + b))
    """,
    "masked": """
        x = randn(5)
        y = randn(5)
        L = sum(where(x > 0, x * y, y * y * 0.5))
    """,
    "shared": """
        W = randn(3, 3)
        x = randn(3)
        L = sum((W.T @ tanh(W @ x) + W @ x)**2)
    """,
}


@cache
def report_of(name: str) -> Report:
    return gradcli.derive("\n".join(line.strip() for line in GRAPHS[name].strip().splitlines()) + "\n")


def _transposed(g: Any) -> Any:
    return np.swapaxes(g, -1, -2) if g.ndim >= 2 and g.shape[-1] == g.shape[-2] else g


def _one_entry(g: Any) -> Any:
    """A ten-thousandth more in the largest entry."""
    flat = g.reshape(-1).copy()
    flat[np.argmax(np.abs(flat))] *= 1.0001
    return flat.reshape(g.shape)


SPOILED: dict[str, Callable[[Any], Any]] = {
    "factor": lambda g: 2.0 * g,
    "slight factor": lambda g: 1.0001 * g,
    "sign": lambda g: -g,
    "transpose": _transposed,
    "one entry": _one_entry,
    "turned round": np.flip,
    "inverted mask": lambda g: np.where(g == 0, np.abs(g).max(), 0.0),
    "a mean for a sum": lambda g: g / max(2, g.size),
    "lost broadcast sum": lambda g: np.full(g.shape, g.sum()),
}


def _swapped(gradients: dict[str, Any]) -> dict[str, Any]:
    """Inputs of one shape get each other's."""
    names = list(gradients)
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :] if gradients[a].shape == gradients[b].shape]
    return {a: gradients[b] for a, b in pairs} | {b: gradients[a] for a, b in pairs}


@pytest.mark.parametrize("name", GRAPHS)
def test_right_gradients_agree(name: str) -> None:
    assert check(report_of(name)).verdict is Verdict.AGREE


@pytest.mark.parametrize("name", GRAPHS)
def test_spoiled_gradients_disagree(name: str) -> None:
    report = report_of(name)
    gradients = {n: np.asarray(report.gradient(n), float) for n in check_names(report)}
    spoiled = {how: {n: spoil(g) for n, g in gradients.items()} for how, spoil in SPOILED.items()}
    spoiled["swapped"] = _swapped(gradients)
    for how, given in spoiled.items():
        changed = [n for n, g in given.items() if not np.allclose(g, gradients[n], 1e-7, 0)]
        if not changed:
            continue
        found = check(report, gradients=given)
        assert all(found.gradients[n].verdict is Verdict.DISAGREE for n in changed), how


def check_names(report: Report) -> list[str]:
    return [n for n in report.gradients if not report.node(n).operands]


# Broken sweeps: what is checked is what the sweep itself says, in floats and at many digits alike -----------------

Sweep = Callable[..., Any]


def _broken(spoil: Callable[[list[Any], list[Any]], None]) -> Callable[[Sweep], Sweep]:
    """A sweep whose gradients are spoiled once it is done: `spoil(gradients, order)`."""

    def breaks(right: Sweep) -> Sweep:
        def broken(order: Any, values: Any, seed: Any, *rest: Any, **more: Any) -> Any:
            swept = right(order, values, seed, *rest, **more)
            gradients = list(swept.gradients)
            spoil(gradients, list(order))
            return replace(swept, gradients=gradients)

        return broken

    return breaks


def _forgets_a_consumer(gradients: list[Any], order: list[Any]) -> None:
    """Halves what reaches an input that is used twice: only one of two equal contributions is kept."""
    for node in order:
        if not node.operands and gradients[node.number] is not None:
            gradients[node.number] = gradients[node.number] * 0.5


def _turns_matrices(gradients: list[Any], order: list[Any]) -> None:
    for node in order:
        g = gradients[node.number]
        if not node.operands and g is not None and len(node.shape) == 2 and node.shape[0] == node.shape[1]:
            gradients[node.number] = g.T


def _changes_signs(gradients: list[Any], order: list[Any]) -> None:
    for node in order:
        if not node.operands and gradients[node.number] is not None:
            gradients[node.number] = gradients[node.number] * -1.0


@pytest.mark.parametrize("spoil", [_forgets_a_consumer, _turns_matrices, _changes_signs], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["batch", "attention", "shared", "logistic"])
def test_broken_sweeps_disagree(name: str, spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.verify import exact

    report = report_of(name)
    broken = _broken(spoil)(sweep)
    floats = broken(list(report.order_nodes), report.values, report.seed)
    names = check_names(report)
    gradients = {n: np.asarray(floats.gradients[report.node(n).number], float) for n in names}
    if all(np.array_equal(g, report.gradient(n)) for n, g in gradients.items()):
        pytest.skip("it changes nothing here")
    monkeypatch.setattr(exact, "sweep", broken)
    assert check(report, gradients=gradients).verdict is Verdict.DISAGREE


def test_a_corner_is_blamed_only_where_there_is_one() -> None:
    smooth = check(gradcli.derive("x = 0.5\nL = tanh(x)"), gradients={"x": 2.0}).gradients["x"].worst
    corner = check(gradcli.derive("x = 0.0\nL = relu(x) - relu(-x)")).gradients["x"].worst
    assert smooth.verdict is corner.verdict is Verdict.DISAGREE
    assert "kink" not in smooth.reason
    assert "kink" in corner.reason

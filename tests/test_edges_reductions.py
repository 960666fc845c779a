"""Reductions and scans where a plain rule fails: zeros, ties, infinities, magnitude, size-1 and empty axes.

Expected numbers are from the definition on paper, or mpmath at 50 digits.
"""

from typing import Any

import numpy as np
import pytest

import gradcli

INF = np.inf
HUGE, TINY = 1e300, 1e-300

ROWS: list[tuple[str, Any, Any, Any]] = [
    ("prod(x)", [2.0, 0.0, 4.0], 0.0, [0, 8, 0]),
    ("prod(x)", [0.0, 0.0, 4.0], 0.0, [0, 0, 0]),
    ("sum(prod(x, axis=0))", [[2.0, 0.0], [3.0, 5.0]], 6.0, [[3, 5], [2, 0]]),
    ("prod(x)", [INF, 2.0], INF, [2, INF]),
    ("prod(x)", 5.0, 5.0, 1),
    ("prod(x)", [], 1.0, []),
    ("sum(cumprod(x))", [2.0, 0.0, 4.0], 2.0, [1, 10, 0]),
    ("cumprod(x)[0]", [2.0, np.nan, 4.0], 2.0, [1, 0, 0]),
    ("cumprod(x)[2]", [0.0, 3.0, 0.0], 0.0, [0, 0, 0]),
    ("sum(cumsum(x))", [1.0, 2.0, 3.0], 10.0, [3, 2, 1]),
    ("cumsum(x)[1]", [1.0, 2.0, np.nan], 3.0, [1, 1, 0]),
    ("var(x)", [1e9 + 1, 1e9 + 2, 1e9 + 3], 2 / 3, [-2 / 3, 0, 2 / 3]),
    ("var(x)", [5.0], 0.0, [0]),
    ("var(x, unbiased=True)", [1.0, 3.0], 2.0, [-2, 2]),
    ("var(x, correction=1)", [1.0, 3.0], 2.0, [-2, 2]),
    ("torch.var(x)", [1.0, 3.0], 2.0, [-2, 2]),
    ("np.var(x)", [1.0, 3.0], 1.0, [-1, 1]),
    ("std(x)", [0.1, 0.1, 0.1], 0.0, [0, 0, 0]),
    ("std(x)", [TINY, 3 * TINY], TINY, [-0.5, 0.5]),
    ("std(x)", [HUGE, 3 * HUGE], HUGE, [-0.5, 0.5]),
    ("norm(x)", [0.0, 0.0, 0.0], 0.0, [0, 0, 0]),
    ("norm(x) ** 2", [0.0, 0.0], 0.0, [0, 0]),
    ("norm(x)", [3 * HUGE, 4 * HUGE], 5 * HUGE, [0.6, 0.8]),
    ("norm(x)", [3 * TINY, 4 * TINY], 5 * TINY, [0.6, 0.8]),
    ("norm(x)", -2.0, 2.0, -1),
    ("norm(x, 1)", [3.0, 0.0, -4.0], 7.0, [1, 0, -1]),
    ("norm(x, inf)", [3.0, -3.0, 1.0], 3.0, [0.5, -0.5, 0]),
    ("norm(x, -inf)", [3.0, -2.0], 2.0, [0, -1]),
    ("norm(x, 3)", [0.0, -2.0], 2.0, [0, -1]),
    ("norm(x, 3)", [0.0, 0.0], 0.0, [0, 0]),
    ('norm(x, "fro")', [[3.0, 0.0], [0.0, 4.0]], 5.0, [[0.6, 0], [0, 0.8]]),
    ("torch.norm(x, 1)", [[3.0, -1.0], [1.0, 4.0]], 9.0, [[1, -1], [1, 1]]),
    ("sum(norm(x, axis=1))", [[0.0, 0.0], [3.0, 4.0]], 5.0, [[0, 0], [0.6, 0.8]]),
    ("logsumexp(x)", [-INF, 0.0, 1.0], 1.3132616875182228, [0, 0.2689414213699951, 0.7310585786300049]),
    ("logsumexp(x)", [-INF, -INF], -INF, [0, 0]),
    ("logsumexp(x)", [1.0, INF], INF, [0, 1]),
    ("logsumexp(x)", [1e5, 1e5], 1e5 + np.log(2), [0.5, 0.5]),
    ("logsumexp(x)", [-1e5, -1e5 - 40], -1e5, [1, 4.248354255291589e-18]),
    ("logsumexp(x)", [[0.0, 0.0], [0.0, 0.0]], np.log(4), [[0.25, 0.25], [0.25, 0.25]]),
    ("median(x)", [3.0, 1.0, 2.0], 2.0, [0, 0, 1]),
    ("median(x)", [4.0, 1.0, 2.0, 3.0], 2.5, [0, 0, 0.5, 0.5]),
    ("median(x)", [2.0, 2.0, 5.0], 2.0, [0.5, 0.5, 0]),
    ("sum(cummax(x, 0))", [1.0, 1.0, 0.0, 2.0], 5.0, [1, 2, 0, 1]),
    ("sum(cummin(x, 0))", [3.0, 1.0, 2.0], 5.0, [1, 2, 0]),
    ("diff(x)[1]", [1.0, 4.0, 9.0], 5.0, [0, -1, 1]),
    ("sum(x) * count_nonzero(x > 1)", [1.0, 4.0, 9.0], 28.0, [2, 2, 2]),
    ("x[argmax(x)] + x[argmin(x)]", [4.0, 9.0, 1.0], 10.0, [0, 1, 1]),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("formula", "x", "value", "gradient"), ROWS)
def test_edges(formula: str, x: Any, value: Any, gradient: Any) -> None:
    report = gradcli.derive(f"x = {x or 'zeros(0)'}\nL = {formula}")  # [] is a list that may grow
    np.testing.assert_allclose(report.value("L"), value, 1e-14)
    np.testing.assert_allclose(report.gradient("x"), gradient, 1e-14)
    assert np.shape(report.gradient("x")) == np.shape(gradient)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "formula", ["prod(x)", "var(x)", "std(x)", "norm(x)", "norm(x, 3)", "logsumexp(x)", "median(x)"]
)
def test_precision_is_kept(formula: str, dtype: str) -> None:
    report = gradcli.derive(f"x = [1.0, 2.0, 4.0]\nL = {formula}", dtype=dtype)
    assert np.asarray(report.value("L")).dtype == dtype
    assert report.gradient("x").dtype == dtype


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("var(x, ddof=3)", "too few entries"),
        ("torch.var(x[:1])", "too few entries"),
        ("norm([x, x], 1)", "max(sum(abs"),
        ("norm(x, 0)", "a number above 0"),
        ("norm(x, inf, axis=1)", "no axis 1"),
        ("median(x[:0])", "nothing to reduce"),
        ("diff(x, 4)", "4 times"),
        ("torch.median(x[:2])", "lower of two"),
        ("argmax(x, axis=(0,))", "one axis"),
    ],
)
def test_refused(formula: str, words: str) -> None:
    with pytest.raises(gradcli.GradError) as error:
        gradcli.derive(f"x = [1.0, 2.0, 4.0]\nL = sum({formula})")
    assert words in repr(error.value.problems)

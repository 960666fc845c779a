"""Pointwise functions and losses where floating point, a corner or infinity makes the usual formulas fail.

The numbers are mpmath's at 40 digits, or limits; the table test of operators stays away from such points.
"""

from math import exp, inf, log, nan, pi, sqrt
from typing import Any

import numpy as np
import pytest

import gradcli

ROWS: list[tuple[str, Any, Any, Any]] = [
    # saturation: the slope is tiny, not 0; or it is exactly its limit
    ("softplus(x)", -40.0, 4.248354255291589e-18, 4.248354255291589e-18),
    ("softplus(x)", 800.0, 800.0, 1.0),
    ("softplus(x)", -inf, 0.0, 0.0),
    ("logsigmoid(x)", 40.0, -4.248354255291589e-18, 4.248354255291589e-18),
    ("logsigmoid(x)", -800.0, -800.0, 1.0),
    ("expm1(x)", -50.0, -1.0, 1.9287498479639178e-22),
    ("expm1(x)", 1e-20, 1e-20, 1.0),
    ("log1p(x)", 1e-20, 1e-20, 1.0),
    ("elu(x)", -40.0, -1.0, exp(-40)),
    ("elu(x)", 800.0, 800.0, 1.0),
    ("celu(x, 0.5)", -20.0, -0.5, exp(-40)),
    ("erfc(x)", 10.0, 2.0884875837625448e-45, -4.1976562313544169e-44),
    ("gelu(x)", -10.0, -7.6198530241605261e-23, -7.6184000964648141e-22),
    ("gelu(x)", -30.0, -1.4720141781444561e-196, -4.4160316907084944e-195),
    ('gelu(x, approximate="tanh")', -5.0, -2.291796196629506e-7, -1.5463619875325946e-6),
    ("mish(x)", -50.0, -9.6437492398195889e-21, -9.4508742550231971e-21),
    ("mish(x)", 30.0, 30.0, 1.0),
    ("silu(x)", -100.0, -3.720075976020836e-42, -3.6828752162606276e-42),
    ("tanhshrink(x)", 1e-5, 3.3333333332e-16, 9.9999999993333333e-11),
    ("tanhshrink(x)", 0.99, 0.23263767578347372, 0.57359769014265867),
    # infinity, where 0 * inf lurks
    *[(f"{f}(x)", -inf, 0.0, 0.0) for f in ("gelu", "silu", "mish", "hardswish", "relu6", "hardsigmoid")],
    *[(f"{f}(x)", inf, inf, 1.0) for f in ("gelu", "silu", "mish", "hardswish", "elu", "leaky_relu", "softplus")],
    ('gelu(x, "tanh")', -inf, 0.0, 0.0),
    ('gelu(x, "tanh")', 1e200, 1e200, 1.0),
    ("softsign(x)", -inf, -1.0, 0.0),
    ("softsign(x)", 1e100, 1.0, 1e-200),
    ("selu(x)", -inf, -1.7580993408473766, 0.0),
    # squares that overflow or vanish though the slope does not
    ("asinh(x)", 1e200, log(2) + 200 * log(10), 1e-200),
    ("acosh(x)", 1e200, log(2) + 200 * log(10), 1e-200),
    ("hypot(x, 3e200)", 4e200, 5e200, 0.8),
    ("atan2(x, 1e-200)", 1e-200, pi / 4, 5e199),
    ("reciprocal(x)", 1e-100, 1e100, -1e200),
    ("logaddexp(x, 1000)", 1000.0, 1000 + log(2), 0.5),
    ("cosine_similarity(x, [3e200, 4e200])", [1e200, 0.0], 0.6, [0.0, 8e-201]),
    # corners, ends and jumps
    ("cbrt(x)", -8.0, -2.0, 1 / 12),
    ("cbrt(x)", 0.0, 0.0, inf),
    ("asin(x)", 1.0, pi / 2, inf),
    ("log2(x)", 0.0, -inf, inf),
    ("hypot(x, 0)", 0.0, 0.0, 0.0),
    ("clip(x, 0, 1)", 1.0, 1.0, 1.0),
    ("clip(x, max=1)", 2.0, 1.0, 0.0),
    ("clip(5, x, 7)", 6.0, 6.0, 1.0),
    ("clip(5, x, 3)", 4.0, 3.0, 0.0),
    ("hardtanh(x)", 1.0, 1.0, 0.0),
    ("relu6(x)", 6.0, 6.0, 0.0),
    ("hardswish(x)", 3.0, 3.0, 1.0),
    ("leaky_relu(x)", 0.0, 0.0, 0.01),
    ("sqrt(floor(x))", 0.5, 0.0, 0.0),
    ("where(x > 1, asin(x), x)", 1.0, 1.0, 1.0),
    ("round(x)", 2.5, 2.0, 0.0),
    ("1 % x", 0.1, 0.09999999999999995, -9.0),
    ("fmod(1, x)", 0.1, 0.09999999999999995, -9.0),
    ("-7 % x", 3.0, 2.0, 3.0),
    ("mod(-7, x)", 3.0, 2.0, 3.0),
    ("fmod(-7, x)", 3.0, -1.0, 2.0),
    ("x // 2", -3.0, -2.0, 0.0),
    ("where(isfinite(x), x, 0)", inf, 0.0, 0.0),
    # losses
    ("binary_cross_entropy(x, 0)", 0.0, 0.0, 1.0),
    ("binary_cross_entropy(x, 1)", 1.0, 0.0, -1.0),
    ("binary_cross_entropy(x, 1)", 0.0, inf, -inf),
    ("binary_cross_entropy_with_logits(x, 1)", 40.0, 4.248354255291589e-18, -4.248354255291589e-18),
    ("binary_cross_entropy_with_logits(x, 1)", -800.0, 800.0, -1.0),
    ("binary_cross_entropy_with_logits(x, 1)", inf, 0.0, 0.0),
    ("soft_margin_loss(x, -1)", 800.0, 800.0, 1.0),
    ("kl_div(x, [0, 1])", [-inf, -1.0], 0.5, [0.0, -0.5]),
    ("huber_loss(x, 0)", 1e200, 1e200, 1.0),
    ("l1_loss(x, 2)", 2.0, 0.0, 0.0),
    ("mse_loss(x, [1, 2])", [1.0, 2.0], 0.0, [0.0, 0.0]),
    ("cosine_similarity(x, [3, 4])", [0.0, 0.0], 0.0, [0.6e8, 0.8e8]),
    ("cross_entropy(x, 1)", [0.0, 800.0], 0.0, [0.0, 0.0]),
    ("cross_entropy(x, -100)", [0.0, 1.0], nan, [0.0, 0.0]),
    ("cross_entropy(x, -100, reduction='sum')", [0.0, 1.0], 0.0, [0.0, 0.0]),
    (
        "cross_entropy(x, [[1, 0], [0, 1]], weight=[1, 3])",
        [[0.0, 0.0], [0.0, 0.0]],
        2 * log(2),
        [[-0.25, 0.25], [0.75, -0.75]],
    ),
    ("cross_entropy(x, [0, 1], weight=[1, 3])", [[0.0, 0.0], [0.0, 0.0]], log(2), [[-0.125, 0.125], [0.375, -0.375]]),
    ("nll_loss(x, [0, 1], ignore_index=1)", [[-1.0, -2.0], [-3.0, -inf]], 1.0, [[-1.0, 0.0], [0.0, 0.0]]),
    ("erf(x)", 0.0, 0.0, 2 / sqrt(pi)),
]


@pytest.mark.parametrize(("formula", "at", "value", "gradient"), ROWS)
def test_value_and_gradient(formula: str, at: Any, value: Any, gradient: Any) -> None:
    report = gradcli.derive(f"x = {at}\nL = {formula}")
    np.testing.assert_allclose(report.value("L"), value, 2e-13)
    np.testing.assert_allclose(report.gradient("x"), gradient, 2e-13, 1e-300)


SPELLED_ALIKE = [
    ("np.clip(x, None, 1)", "torch.clamp(x, max=1)"),
    ("np.clip(x, a_min=0, a_max=1)", "x.clamp(0, 1)"),
    ("cross_entropy(z, y, w)", "F.cross_entropy(input=z, target=y, weight=w)"),
    ('cross_entropy(z, y, "sum")', 'cross_entropy(z, y, weight=None, reduction="sum")'),
    ("F.binary_cross_entropy_with_logits(z, c, pos_weight=w)", "bce_with_logits(z, c, 1, w)"),
    ("one_hot(y, num_classes=3) * z", "one_hot(y, 3) * z"),
    ("gelu(x, approximate=True)", 'gelu(x, approximate="tanh")'),
]


@pytest.mark.parametrize(("one", "other"), SPELLED_ALIKE)
def test_spellings_that_mean_the_same(one: str, other: str) -> None:
    start = (
        "x = [-1.5, 0.25, 3]\nz = [[1, -2, 0.5], [0, 3, 1]]\ny = [2, 0]\nw = [1, 2, 3]\nc = [[1, 0, 1], [0, 0, 1]]\n"
    )
    reports = [gradcli.derive(f"{start}v = {call}\nL = sum(v * v)") for call in (one, other)]
    for name in ("x", "z", "w"):
        np.testing.assert_array_equal(reports[0].gradient(name), reports[1].gradient(name))
    np.testing.assert_array_equal(reports[0].value("L"), reports[1].value("L"))

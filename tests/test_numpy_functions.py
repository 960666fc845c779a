"""NumPy's functions as programs call them, beside NumPy itself: the value, and the gradient by differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradcli

INPUTS = {
    "x": np.array([0.5, -1.2, 2.0]),
    "A": np.array([[1.0, 2.0, 0.5], [0.3, -0.7, 1.5], [2.2, 0.1, -0.4]]),
}
LABELS = np.array([2, 0, 1])

EXPRESSIONS = [
    "np.sum(np.vander(x) * A)",
    "np.sum(np.r_[x, 2.0, x * 2] ** 2)",
    "np.c_[x, A].sum() + np.c_[x, x ** 2].prod()",
    "np.trapezoid(x ** 2, dx=0.5)",
    "np.polyval(x, 1.5) + np.sum(np.polyval([1.0, 2.0], x))",
    "np.ptp(x) * x.sum()",
    "np.sum(np.diagflat(x) @ A)",
    "np.sum(np.fmax(x, 0.1) + np.fmin(x, 0.2))",
    "np.sum(np.outer(x, x)[np.triu_indices(3)])",
    "np.sum(A[np.diag_indices(3)])",
    "np.sum(x[np.nonzero(x > 0)] ** 2)",
    "np.sum(np.take(x, k) * np.array([1.0, 2.0, 3.0]))",
    "np.einsum('ij,j->i', A, x).sum() + np.einsum('i,i', x, x)",
    "np.linalg.norm(A, axis=1).sum() + np.linalg.norm(x, ord=1)",
    "np.linalg.det(A) + np.trace(np.linalg.inv(A))",
    "np.log1p(np.exp(-np.abs(x))).mean()",
    "np.sum(np.where(x > 0, x, 0.01 * x))",
    "np.sum(np.clip(x, -1, 1) ** 2)",
    "(A.max(axis=1) - A.min(axis=0)).sum()",
    "np.mean(np.sort(x)[::-1] * [1, 2, 3])",
    "np.sum(np.cumsum(x) ** 2) + np.cumprod(x)[-1]",
    "np.sum(np.roll(x, 1) * x) + np.sum(np.flip(x) * np.arange(3))",
    "np.prod(x) + math.exp(x[0]) * math.sqrt(abs(x[1]))",
    "sum([xi ** 2 for xi in x]) + max(x) + min(x)",
    "np.sum(np.tile(x, 2) * np.repeat(x, 2))",
    "np.sum(np.split(A, 3)[1] * x) + np.sum(np.array_split(x, 2)[0])",
    "np.sum(np.stack([x, x ** 2], axis=1).T @ A)",
    "np.sum(np.pad(x, 1) * np.arange(5))",
    "np.sum(np.convolve(x, [1.0, -1.0, 0.5], 'same') ** 2)",
    "np.sum(np.logaddexp(x, 0)) + np.sum(np.logaddexp.reduce(x))",
    "np.sum(np.maximum.reduce(A)) + np.add.reduce(x)",
    "np.multiply.outer(x, x).sum() + np.subtract.outer(x, x).max()",
    "np.sum(np.diff(x) ** 2) + np.sum(np.gradient(x))",
    "np.average(x, weights=[1, 2, 3])",
    "np.var(x, ddof=1) + np.std(A, axis=0).sum()",
    "np.sum(np.square(x).reshape(-1, 1) * A[:, None, 0])",
    "float(np.dot(x, A[0])) + np.inner(x, x)",
    "np.tensordot(A, A, axes=2) + np.tensordot(A, x, axes=1).sum()",
    "np.sum(np.kron(x, x[:2]))",
    "np.sum(np.apply_along_axis(lambda r: r / r.sum(), 1, A) * A)",
    "np.sum(np.vectorize(lambda t: t ** 2)(x))",
    "np.sum(A @ A.T * np.eye(3)) + np.trace(A)",
    "np.sum(x[::-1][1:] ** 3) + x[-1] * x[...,0]",
    "np.nansum(x) + np.nanmean(x)",
    "np.median(x) * 3 + np.percentile(x, 50)",
    "np.arctan2(x, 1.0).sum() + np.hypot(x, 2.0).sum()",
    "np.sinc(x).sum()",
    "np.cross(x, A[0]).sum()",
    "np.sum((x[:, None] - x[None, :]) ** 2)",
    "np.sum(np.meshgrid(x, x)[0] * A)",
    "np.interp(0.7, [0.0, 1.0], x[:2])",
    "np.power(2.0, x).sum() + np.exp2(x).sum()",
    "np.count_nonzero(x > 0) * x.sum()",
    "np.bincount(k, weights=x).sum()",
    "np.sum(np.linalg.solve(A, x)) + np.sum(np.linalg.pinv(A))",
    "np.matmul(A, x) @ x + A.dot(x).dot(x) + x.T @ A @ x",
    "np.float64(x[0]) * 2 + np.sum(np.float32(2) * x)",
    "np.sum(np.asarray(x).astype(float).copy().ravel().flatten())",
    "np.select([x > 0, x < 0], [x, x ** 2], default=0.0).sum()",
    "np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t ** 2]).sum()",
    "(x ** 2).sum().item() + x.dot(x)",
    "np.expand_dims(x, 0).squeeze().sum() + np.atleast_2d(x).sum()",
    "np.sum(np.tril(A) - np.triu(A, 1)) + np.diag(A).prod()",
    "np.sum(np.round(x, 1) * 0 + x) + np.sum(np.sign(x) * x)",
    "np.sum(np.reciprocal(x)) + np.sum(x % 0.7)",
    "np.cov(A)[0, 1]",
    "np.corrcoef(A[0], A[1])[0, 1]",
    "np.amax(x) + np.argmax(x) * x[0]",
    "np.sum(x @ A + 1e-3 * np.ones_like(x))",
    "np.sum(np.broadcast_to(x, (2, 3)) * np.full((2, 3), 0.5))",
    "np.sum(np.ix_([0, 1], [0, 2])[0]) + A[np.ix_([0, 1], [0, 2])].sum()",
    "np.sum(np.swapaxes(A[None], 0, 2) * x[:, None, None])",
    "np.min([x.sum(), x[0] ** 2, 3.0])",
    "np.all(x > -5) * x.sum()",
    "(lambda t: t @ t)(x) + [*map(np.sum, [x, A])][1]",
    "np.sum(np.heaviside(x, 0.5) * x)",
    "np.nan_to_num(x).sum()",
    "np.sum(np.cbrt(x) + np.expm1(x) + np.log2(np.abs(x)))",
    "np.ravel(A)[k].sum() + A.flat[4]",
    "np.mean(A, axis=(0, 1)) + A.mean(0)[1] + A.sum(1, keepdims=True)[0, 0]",
    "np.dstack([A, A]).sum() + np.block([[A, A], [A, A]]).sum()",
    "np.block([A, x[:, None]]).sum()",
    "np.dstack([A, A]).sum() + np.delete(x, 1).prod() + np.append(x, [1.0]).prod()",
    "np.rad2deg(x).sum() + np.radians(x).prod()",
    "np.add.accumulate(x)[-1] * np.add.outer(x, x).prod()",
]

BEFORE = "import math\nimport numpy as np\n" + "".join(
    f"{name} = np.array({value.tolist()})\n" for name, value in {**INPUTS, "k": LABELS}.items()
)


def by_numpy(expression: str, inputs: dict[str, Any]) -> float:
    """The value of an expression of this file, by NumPy."""
    return float(eval(expression, {"np": np, "math": math, "k": LABELS, **inputs}))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_value_and_gradients_are_numpys(expression: str) -> None:
    report = gradcli.derive(f"{BEFORE}L = {expression}\n")
    assert report.value("L") == pytest.approx(by_numpy(expression, INPUTS), rel=1e-9)
    step = 1e-5
    for name, value in INPUTS.items():
        slopes = np.zeros(value.shape)
        for at in np.ndindex(*value.shape):
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[at] += sign * step
                ends.append(by_numpy(expression, {**INPUTS, name: moved}))
            slopes[at] = (ends[0] - ends[1]) / (2 * step)
        reached = any(node.name == name for node in report.order_nodes)
        found = report.gradient(name) if reached else np.zeros(value.shape)
        np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-6, err_msg=name)

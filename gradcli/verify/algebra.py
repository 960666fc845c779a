"""What NumPy's functions of matrices and arrays mean where entries are objects: numbers of many digits, or elements.

Only + - * / of the entries are used, and NumPy's own functions, which arrays of either kind take to mean their own.
A decision (which pivot, whether positive) asks `number` for the number an entry stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Number = Callable[[Any], Any]


def stacked(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices (that gives a number or a matrix) for stacks of them, stretched to one another."""

    def over(*stacks: Any) -> Any:
        plain = [np.asarray(s, object) for s in stacks]
        leading = np.broadcast_shapes(*[p.shape[:-2] for p in plain])
        plain = [np.broadcast_to(p, leading + p.shape[-2:]) for p in plain]
        parts = [compute(*[p[at] for p in plain]) for at in np.ndindex(*leading)]
        made = np.empty(leading + (np.shape(parts[0]) if parts else plain[-1].shape[-2:]), object)
        for at, part in zip(np.ndindex(*leading), parts, strict=True):
            made[at] = part
        return made

    return over


def _triangular(a: Any, b: Any, number: Number) -> tuple[Any, Any, Any]:
    """Gauss' elimination with the largest pivot: an upper triangle, the right sides with it, and the determinant.

    Below the diagonal of the triangle stands what no one reads.  LinAlgError if a is singular.
    """
    a, b, n = a.copy(), b.copy(), len(a)
    determinant: Any = 1
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(number(a[i, k])))
        if number(a[pivot, k]) == 0:
            raise np.linalg.LinAlgError("singular")
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            determinant = -determinant
        determinant = a[k, k] * determinant
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k + 1 :] = a[i, k + 1 :] - a[k, k + 1 :] * factor
            b[i] = b[i] - b[k] * factor  # the number last: mpmath spells out a row on its right, and then gives up
    return a, b, determinant


def solution(a: Any, b: Any, number: Number) -> Any:
    """x of a @ x = b (n x n, n x m), row by row from below.  LinAlgError if a is singular."""
    upper, x, _ = _triangular(a, b, number)
    for k in reversed(range(len(a))):
        for i in range(k + 1, len(a)):
            x[k] = x[k] - x[i] * upper[k, i]
        x[k] = x[k] / upper[k, k]
    return x


def inverse(a: Any, number: Number) -> Any:
    """The inverse.  LinAlgError if a is singular."""
    return solution(a, np.eye(len(a)).astype(object), number)


def determinant(a: Any, number: Number) -> Any:
    """The determinant.  LinAlgError if a is singular: 0 says nothing of its slopes."""
    return _triangular(a, np.empty((len(a), 0), object), number)[2]


def cholesky(a: Any, number: Number, sqrt: Callable[[Any], Any]) -> Any:
    """The lower triangle L of a = L @ L.T.  LinAlgError if a is not positive definite."""
    lower = np.zeros(a.shape, object)
    for i in range(len(a)):
        for k in range(i + 1):
            rest = a[i, k] - sum((lower[i, j] * lower[k, j] for j in range(k)), 0)
            if i == k and number(rest) <= 0:
                raise np.linalg.LinAlgError("not positive definite")
            lower[i, k] = sqrt(rest) if i == k else rest / lower[k, k]
    return lower


def solve(a: Any, b: Any, solutions: Callable[[Any, Any], Any]) -> Any:
    """What `np.linalg.solve` makes of a vector b, or of stacks, by a function of stacks."""
    b = np.asarray(b, object)
    return solutions(a, b[:, None])[..., 0] if b.ndim == 1 else solutions(a, b)


def sign_and_log(a: Any) -> tuple[Any, Any]:
    """The sign of the determinant, and the logarithm of its size."""
    found = np.linalg.det(a)
    return np.sign(found), np.log(np.abs(found))


def pseudo_inverse(a: Any, **_: Any) -> Any:
    """By the inverse of the smaller of A.T @ A and A @ A.T: of full rank, as it is nearly everywhere."""
    turned = np.swapaxes(a, -1, -2)
    if a.shape[-2] >= a.shape[-1]:
        return np.linalg.inv(turned @ a) @ turned
    return turned @ np.linalg.inv(a @ turned)


def matrix_power(a: Any, n: int) -> Any:
    """The product of n times a, or of its inverse."""
    if n < 0:
        return matrix_power(np.linalg.inv(a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(object)
    result = a
    for _ in range(n - 1):
        result = result @ a
    return result


def einsum(*arguments: Any, **_: Any) -> Any:
    """einsum over objects, without the ways of saving work that turn to BLAS."""
    plain = [np.asarray(a, object) if isinstance(a, np.ndarray) else a for a in arguments]
    return np.einsum(*plain, optimize=False)


def rounded(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """To so many decimals, with NumPy's one multiplication and one division."""
    if decimals == 0:
        return np.rint(x)
    scale = 10 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


def median(x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    """The median along axes (all, if none is named)."""
    axes = range(x.ndim) if axis is None else [i % x.ndim for i in (axis if isinstance(axis, tuple) else (axis,))]
    kept = [i for i in range(x.ndim) if i not in axes]
    lines = np.sort(np.reshape(np.transpose(x, [*kept, *axes]), [*[x.shape[i] for i in kept], -1]), axis=-1)
    count = lines.shape[-1]
    middle = np.mean(lines[..., (count - 1) // 2 : count // 2 + 1], axis=-1)
    return np.reshape(middle, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else middle

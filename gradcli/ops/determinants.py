"""Determinants and their logarithms, of matrices or of stacks of matrices.

Source of the rules: Jacobi's formula, d(det(A)) = the sum of the cofactors times dA.  The cofactors are
det(A) * inv(A).T where A has an inverse, but every matrix has them; so they are computed without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.op import PRODUCT, Op, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.arrange import reshape, swap_last
from gradcli.ops.linalg import in_dtype, matrix_dtype, quiet_inverse, square_shape
from gradcli.ops.reduce import total
from gradcli.ops.shapes import shape_words


def _of_square(a: Shape, *_: Any, **__: Any) -> Shape:
    return square_shape(a)[:-2]


def _each(g: Any) -> Any:
    """One number a matrix, ready to multiply the matrices."""
    shape = shape_of(g)
    return reshape(g, shape=(*shape, 1, 1)) if shape else g


def _det(a: Any) -> Any:
    """By the textbook's formula for small matrices, where it is exact for small whole numbers."""
    if a.shape[-1] == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if a.shape[-1] == 3:
        return np.sum(a[..., 0, :] * np.cross(a[..., 1, :], a[..., 2, :]), axis=-1)
    return np.linalg.det(a)


def _singular_values(a: Any) -> tuple[Any, Any, Any, Any]:
    """sign, U, s, V with A = U diag(s) V and the sign det(U) det(V) (NaN where A is not finite)."""
    finite = np.isfinite(a).all(axis=(-1, -2), keepdims=True)
    u, s, v = np.linalg.svd(np.where(finite, a, 0))
    sign = np.sign(np.linalg.det(u) * np.linalg.det(v))[..., None, None]
    return np.where(finite, sign, np.nan).astype(a.dtype), u, s, v


def _products_without(s: Any) -> Any:
    """For each pair i, j the product of all s but these two; for i = j, of all but that one."""
    n = s.shape[-1]
    left_out = np.eye(n, dtype=bool)[:, None, :] | np.eye(n, dtype=bool)[None, :, :]
    return np.prod(np.where(left_out, 1, s[..., None, None, :]), axis=-1)


def _cofactors(y: Any, a: Any) -> Any:
    """det(A) inv(A).T, which every matrix has, also one without an inverse."""
    n = a.shape[-1]
    if n == 1:
        return np.where(np.isnan(a), a, 1)
    if n == 2:
        return a[..., ::-1, ::-1] * np.array([[1, -1], [-1, 1]], a.dtype)
    if n == 3:
        return np.cross(np.roll(a, -1, axis=-2), np.roll(a, -2, axis=-2))
    sign, u, s, v = _singular_values(a)
    rest = np.diagonal(_products_without(s), axis1=-2, axis2=-1)
    return sign * ((u * rest[..., None, :]) @ v)


def _curvature(h: Any, a: Any) -> Any:
    """The gradient of sum(h * cofactors(a)) in a, also where a is singular: for a diagonal A by its minors."""
    sign, u, s, v = _singular_values(a)
    turned = np.swapaxes(u, -1, -2) @ h @ np.swapaxes(v, -1, -2)
    apart = ~np.eye(s.shape[-1], dtype=bool)
    minors = np.where(apart, _products_without(s), 0)
    diagonal = np.einsum("...ij,...jj->...i", minors, turned)
    inner = np.where(apart, -np.swapaxes(turned, -1, -2) * minors, diagonal[..., None])
    return sign * (u @ inner @ v)


def _alike(h: Shape, a: Shape) -> Shape:
    if h != square_shape(a):
        raise ShapeError("needs matrices of one shape", {0: shape_words(h), 1: shape_words(a)})
    return a


def _inner(a: Any, b: Any) -> Any:
    """The sum of products, a number for every matrix."""
    return total(a * b, axis=(-2, -1), keepdims=len(shape_of(a)) > 2)


def _curvature_rule(k: Any, y: Any, h: Any, a: Any) -> Any:
    """By the inverse: a third derivative of a determinant is not worth more.  It has degree n, so for n = 2 it is 0."""
    if shape_of(a)[-1] < 3:
        return k * 0
    d, j = _each(det(a)), swap_last(quiet_inverse(a))
    jh, jk = j @ swap_last(h), j @ swap_last(k)
    both = _inner(j, h) * _inner(j, k) - _inner(k, jh @ j)
    bent = jh @ jk @ j + jk @ jh @ j - _inner(j, k) * (jh @ j) - _inner(j, h) * (jk @ j)
    return d * (both * j + bent)


_DETERMINANT: dict[str, Any] = {
    "dtype": matrix_dtype,
    "matrix": "regular",
    "samples": (((3, 3),), ((1, 1),), ((2, 2),), ((4, 4),), ((2, 3, 3),), ((3, 2, 2),), ((2, 1, 1),), ((0, 0),)),
}

det: Op = operator(
    "det",
    "a",
    shape=_of_square,
    forward=in_dtype(_det),
    vjp=(lambda g, y, a: _each(g) * det_slope(y, a),),
    doc="The determinant; its slope is the matrix of cofactors, det(A) * inv(A).T, also where A has no inverse.",
    **_DETERMINANT,
)

det_slope: Op = operator(
    "det_slope",
    "y a",
    shape=lambda y, a: square_shape(a),
    forward=in_dtype(_cofactors),
    vjp=(None, lambda h, c, y, a: det_curve(h, a)),
    write=lambda shapes: Written(
        "{0} * inv({1}).T" if len(shapes[1]) == 2 else "{0}[..., None, None] * inv({1}).mT", PRODUCT, (PRODUCT,)
    ),
    hidden=True,
    dtype=matrix_dtype,
    doc="The cofactors of a, given y = det(a).",
)

det_curve: Op = operator(
    "det_curve",
    "h a",
    shape=_alike,
    dtype=matrix_dtype,
    forward=in_dtype(_curvature),
    vjp=(lambda k, y, h, a: det_curve(k, a), _curvature_rule),
    write=lambda shapes: Written("det_curve({0}, {1})"),
    hidden=True,
    samples=tuple((s[0], s[0]) for s in _DETERMINANT["samples"]),
    doc="What the cofactors of a send back.",
)


def _log_det(a: Any) -> Any:
    sign, value = np.linalg.slogdet(a)
    return np.where(sign < 0, np.nan, value)


_LOGARITHM: dict[str, Any] = {
    "operands": "a",
    "shape": _of_square,
    "vjp": (lambda g, y, a: _each(g) * swap_last(quiet_inverse(a)),),
    **_DETERMINANT,
}

sign_of_det = operator(
    "sign_of_det",
    "a",
    shape=_of_square,
    forward=in_dtype(lambda a: np.linalg.slogdet(a)[0]),
    vjp=(None,),
    kink="it jumps where the determinant is 0",
    **_DETERMINANT,
    doc="The sign of the determinant, the first result of `slogdet`; no gradient.",
)

logdet = operator(
    "logdet",
    forward=in_dtype(_log_det),
    doc="The logarithm of the determinant, NaN for a negative one; slope inv(A).T.",
    **_LOGARITHM,
)

logabsdet = operator(
    "logabsdet",
    forward=in_dtype(lambda a: np.linalg.slogdet(a)[1]),
    doc="The logarithm of the determinant's absolute value, the second result of `slogdet`; slope inv(A).T.",
    **_LOGARITHM,
)

operator(
    "slogdet",
    "a",
    shape=_of_square,
    expands=lambda a, **settings: [(sign_of_det, settings), (logabsdet, settings)],
    forward=lambda a: tuple(np.linalg.slogdet(a)),
    vjp=None,
    **_DETERMINANT,
    doc="The sign of the determinant, and the logarithm of its absolute value.",
)

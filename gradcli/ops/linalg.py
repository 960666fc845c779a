"""Inverses, determinants and what solves equations: of matrices, or of stacks of matrices.

Source of the rules: the differentials d(inv(A)) = -inv(A) dA inv(A) and d(det(A)) = sum of the cofactors times dA
(Jacobi), Giles' collection of matrix derivatives, and Murray's note on the derivative of Cholesky's factor.

A singular matrix has no inverse: the forward pass says so.  A rule must not fail where the forward pass succeeded,
so rules use twins of `inv` and `solve` that say NaN instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of
from gradcli.ops.arrange import reshape, swap_last
from gradcli.ops.linear import column, outer, row
from gradcli.ops.shapes import broadcast, shape_words, whole


def square_shape(a: Shape, *_: Any, **__: Any) -> Shape:
    """The shape of a square matrix, or of a stack of them."""
    if len(a) < 2 or a[-1] != a[-2]:
        found = "a scalar" if not a else shape_words(a)
        raise ShapeError(
            "needs a square matrix, or a stack of them", {0: found}, "rows and columns must be equally many"
        )
    return a


def matrix_dtype(*dtypes: str) -> str:
    """As `floating`."""
    return floating(*dtypes)


def _wide(*values: Any) -> list[Any]:
    """The operands in a precision that LAPACK has."""
    arrays = [np.asanyarray(v) for v in values]
    if any(a.dtype == object for a in arrays):  # numbers of more digits, which are no floats
        return arrays
    single = np.result_type(*arrays) == np.float32
    return [a.astype(np.float32 if single else np.float64, copy=False) for a in arrays]


def in_dtype(compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute` for operands of any dtype: half precision is computed in double and rounded at the end."""

    def computed(*values: Any, **settings: Any) -> Any:
        result = np.asanyarray(compute(*_wide(*values), **settings))
        kept = np.result_type(*[np.asanyarray(v) for v in values])
        return result.astype(kept, copy=False)[()] if kept.kind in "fO" else result[()]

    return computed


SINGULAR = "the matrix is singular: its rows depend on one another, so its determinant is 0 and it has no inverse"


def _strict(compute: Callable[..., Any], reason: str = SINGULAR) -> Callable[..., Any]:
    def computed(*values: Any, **settings: Any) -> Any:
        try:
            return compute(*values, **settings)
        except np.linalg.LinAlgError:
            raise ValueError(reason) from None

    return in_dtype(computed)


def _lenient(compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute(A, …)` matrix by matrix, with NaN for those that are singular."""

    def computed(a: Any, *rest: Any) -> Any:
        try:
            return compute(a, *rest)
        except np.linalg.LinAlgError:
            return compute(_unless_singular(a), *rest)

    return in_dtype(computed)


def _unless_singular(a: Any) -> Any:
    a = a.copy()
    for at in np.ndindex(*a.shape[:-2]):
        try:
            np.linalg.inv(a[at])
        except np.linalg.LinAlgError:
            a[at] = np.nan
    return a


def _between(left: Any, middle: Any, right: Any) -> Any:
    return left @ middle @ right


# Inverses ---------------------------------------------------------------------------------------


def _inverse_rule(g: Any, y: Any, a: Any) -> Any:
    return -_between(swap_last(y), g, swap_last(y))


inv = operator(
    "inv",
    "a",
    spellings=("inverse",),
    shape=square_shape,
    dtype=matrix_dtype,
    forward=_strict(np.linalg.inv),
    vjp=(_inverse_rule,),
    matrix="regular",
    samples=(((3, 3),), ((1, 1),), ((2, 2),), ((2, 3, 3),), ((2, 1, 2, 2),), ((0, 0),)),
    doc="The inverse of a square matrix; the contribution is -inv(A).T @ g @ inv(A).T.",
)

quiet_inverse = operator(
    "inv",
    "a",
    shape=square_shape,
    dtype=matrix_dtype,
    forward=_lenient(np.linalg.inv),
    vjp=(_inverse_rule,),
    matrix="regular",
    samples=inv.samples,
    hidden=True,
    doc="The inverse, NaN where there is none.",
)


def _solve_shape(a: Shape, b: Shape) -> Shape:
    square_shape(a)
    if not b:
        raise ShapeError("needs a right side: a vector or a matrix", {1: "a scalar"}, "for a number, divide: {1} / {0}")
    rows = b[0] if len(b) == 1 else b[-2]
    if rows != a[-1]:
        raise ShapeError(
            "needs as many rows in {1} as {0} has",
            {0: f"{shape_words(a)}, {a[-1]} rows", 1: f"{shape_words(b)}, {rows} rows"},
            "a stack of vectors is a stack of matrices of one column" if len(b) > 1 and b[-1] == a[-1] else "",
        )
    if len(b) == 1:
        return a[:-1]
    try:
        return (*broadcast(a[:-2], b[:-2]), *b[-2:])
    except ShapeError:
        found: dict[int | str, str] = {0: shape_words(a), 1: shape_words(b)}
        raise ShapeError("the leading axes of the stacks must broadcast", found) from None


def _solved(a: Any, b: Any) -> Any:
    if b.ndim == 1 and a.ndim > 2:
        return np.linalg.solve(a, b[:, None])[..., 0]
    return np.linalg.solve(a, b)


def _right_side_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1 and len(shape_of(a)) > 2:
        return reshape(quiet_solve(swap_last(a), column(g)), shape=shape_of(g))
    return quiet_solve(swap_last(a), g)


def _matrix_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    c = _right_side_rule(g, y, a, b)
    if len(shape_of(b)) > 1:
        return -(c @ swap_last(y))
    return -outer(c, y) if len(shape_of(a)) == 2 else -(column(c) @ row(y))


_SYSTEM: dict[str, Any] = {
    "operands": "a b",
    "shape": _solve_shape,
    "dtype": matrix_dtype,
    "vjp": (_matrix_rule, _right_side_rule),
    "broadcasts": True,
    "matrix": "regular",
    "samples": (
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 2, 2), (2, 2, 1)),
        ((2, 1, 2, 2), (3, 2, 2)),
        ((2, 2), (3, 2, 1)),
        ((0, 0), (0, 2)),
    ),
}

solve = operator(
    "solve",
    forward=_strict(_solved),
    doc="The x with A @ x = b, for a vector b or a matrix of columns; b receives solve(A.T, g).",
    **_SYSTEM,
)

quiet_solve: Op = operator(
    "solve",
    forward=_lenient(_solved),
    hidden=True,
    doc="The solution, NaN where there is none.",
    **_SYSTEM,
)


# Factors and powers -----------------------------------------------------------------------------


def _lower_half(x: Any) -> Any:
    x = np.asanyarray(x)
    n = x.shape[-1]
    return np.where(np.tri(n, k=-1, dtype=bool), x, np.where(np.eye(n, dtype=bool), x / 2, np.zeros((), x.dtype)))


lower_half: Op = operator(
    "lower_half",
    "x",
    shape=square_shape,
    dtype=matrix_dtype,
    forward=_lower_half,
    vjp=(lambda g, y, x: lower_half(g),),
    samples=inv.samples,
    hidden=True,
    doc="What lies below the diagonal, and half of the diagonal.",
)


def _symmetric(x: Any) -> Any:
    return (x + np.swapaxes(x, -1, -2)) / 2


sym: Op = operator(
    "sym",
    "x",
    shape=square_shape,
    dtype=matrix_dtype,
    forward=in_dtype(_symmetric),
    vjp=(lambda g, y, x: sym(g),),
    samples=inv.samples,
    hidden=True,
    doc="(x + x.T) / 2: the symmetric part.",
)


def _cholesky_rule(g: Any, y: Any, a: Any) -> Any:
    j = quiet_inverse(y)
    return sym(_between(swap_last(j), lower_half(swap_last(y) @ g), j))


cholesky = operator(
    "cholesky",
    "a",
    shape=square_shape,
    dtype=matrix_dtype,
    forward=_strict(
        lambda a: np.linalg.cholesky(_symmetric(a)),
        "the matrix is not positive definite, so it is not L @ L.T of any real L",
    ),
    vjp=(_cholesky_rule,),
    matrix="positive definite",
    samples=inv.samples,
    doc="The lower triangular L with L @ L.T = A; A counts as symmetric, and the contribution is symmetric.",
)


def _pseudo_inverse_rule(g: Any, y: Any, a: Any) -> Any:
    gt, yt = swap_last(g), swap_last(y)
    beside = (gt - a @ (y @ gt)) @ (y @ yt) + (yt @ y) @ (gt - (gt @ y) @ a)
    return beside - _between(yt, g, yt)


def _of_matrices(a: Shape) -> Shape:
    if len(a) < 2:
        raise ShapeError("needs a matrix, or a stack of them", {0: shape_words(a) if a else "a scalar"})
    return (*a[:-2], a[-1], a[-2])


pinv = operator(
    "pinv",
    "a",
    shape=_of_matrices,
    dtype=matrix_dtype,
    forward=_strict(np.linalg.pinv, "no pseudo-inverse was found: an entry is not finite"),
    vjp=(_pseudo_inverse_rule,),
    matrix="regular",
    samples=(((3, 2),), ((2, 3),), ((3, 3),), ((2, 3, 2),), ((0, 3),)),
    doc="The pseudo-inverse of Moore and Penrose.",
    kink="it jumps where the rank changes; the rule holds while the rank stays",
)


def _power_rule(g: Any, y: Any, a: Any, n: int) -> Any:
    """The sum over the places of A in the product A @ A @ …: what stands left of it, g, what stands right."""
    if n == 0:
        return g * 0
    base = a if n > 0 else quiet_inverse(a)
    powers = [None, swap_last(base)]
    for _ in range(2, abs(n)):
        powers.append(powers[-1] @ powers[1])
    c: Any = None
    for left in range(abs(n)):
        right = abs(n) - 1 - left
        term = g if not left else powers[left] @ g
        term = term if not right else term @ powers[right]
        c = term if c is None else c + term
    return c if n > 0 else -_between(powers[1], c, powers[1])


matrix_power = operator(
    "matrix_power",
    "a",
    settings={"n": Setting(whole, required=True)},
    shape=lambda a, n: square_shape(a),
    dtype=matrix_dtype,
    forward=_strict(np.linalg.matrix_power),
    vjp=(_power_rule,),
    matrix="regular",
    samples=inv.samples,
    doc="A @ A @ … with n factors; of the inverse, if n is negative.",
)

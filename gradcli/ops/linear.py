"""Products of vectors and matrices.

Source of the matrix rules: for C = A @ B, dA = dC @ B.T and dB = A.T @ dC; they are the only products of the
three matrices whose shapes fit, which is how to remember them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.op import PRODUCT, Shape, ShapeError, operator, shape_of, size_of
from gradcli.ops.arrange import reshape, swap_last
from gradcli.ops.reduce import total, unbroadcast
from gradcli.ops.shapes import broadcast, shape_words


def _product_shape(a: Shape, b: Shape) -> Shape:
    for slot, shape in enumerate((a, b)):
        if not shape:
            raise ShapeError(
                "a matrix product needs vectors or matrices",
                {slot: "a scalar"},
                "multiply by a scalar with *",
            )
    inner_a, inner_b = a[-1], b[-2] if len(b) > 1 else b[0]
    if inner_a != inner_b:
        which = "the first" if len(b) <= 2 else "the last but one"
        raise ShapeError(
            f"needs the last axis of {{0}} and {which} of {{1}} to be equal",
            {
                0: f"{shape_words(a)}, last axis {inner_a}",
                1: f"{shape_words(b)}, {which.removeprefix('the ')} axis {inner_b}",
            },
            _transposed_fits(a, b),
        )
    try:
        stacked = broadcast(a[:-2], b[:-2])
    except ShapeError:
        raise ShapeError(
            "the leading axes of the stacks of matrices must broadcast",
            {0: shape_words(a), 1: shape_words(b)},
        ) from None
    rows = a[-2:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    return (*stacked, *rows, *columns)


def _transposed_fits(a: Shape, b: Shape) -> str:
    inner_b = b[-2] if len(b) > 1 else b[0]
    if len(a) == 2 and a[0] == inner_b:
        return "{0}.T would fit: did you mean {0}.T @ {1}?"
    if len(b) == 2 and b[1] == a[-1]:
        return "{1}.T would fit: did you mean {0} @ {1}.T?"
    if len(a) == 1 and len(b) == 1:
        return "an inner product needs equal lengths; outer({0}, {1}) multiplies every pair"
    if len(b) == 1 and len(a) == 2 and b[0] > a[1]:
        cut, wider = f"{{1}}[:{a[1]}]", (a[0], b[0])
        return f"{{1}} has {b[0]} entries, {{0}} expects {a[1]}: did you mean {cut}, or a {{0}} of shape {wider}?"
    return f"{{0}} expects {a[-1]} {'rows' if len(b) > 1 else 'entries'} there"


def _left_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    na, nb = len(shape_of(a)), len(shape_of(b))
    if na == 1 and nb == 1:
        return g * b
    if na == 1 and nb == 2:
        return matmul(b, g)
    if na == 2 and nb == 1:
        return outer(g, b)
    if nb == 1:  # a stack of matrices times one vector
        return column(g) @ row(b)
    if na == 1:  # one vector times a stack of matrices
        return unbroadcast(total(row(g) * b, axis=-1), shape_of(a))
    return g @ swap_last(b)


def _right_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    na, nb = len(shape_of(a)), len(shape_of(b))
    if na == 1 and nb == 1:
        return g * a
    if na == 1 and nb == 2:
        return outer(a, g)
    if na == 2 and nb == 1:
        return matmul(swap_last(a), g)
    if nb == 1:
        return unbroadcast(total(column(g) * a, axis=-2), shape_of(b))
    if na == 1:
        return column(a) @ row(g)
    return swap_last(a) @ g


def column(x: Any) -> Any:
    """A vector (or a stack of vectors) as a matrix of one column."""
    return reshape(x, shape=(*shape_of(x), 1))


def row(x: Any) -> Any:
    """A vector (or a stack of vectors) as a matrix of one row."""
    shape = shape_of(x)
    return reshape(x, shape=(*shape[:-1], 1, shape[-1]))


matmul = operator(
    "matmul",
    "a b",
    infix="@",
    binds=PRODUCT,
    spellings=("mm", "bmm", "mv"),
    shape=_product_shape,
    forward=np.matmul,
    vjp=(_left_rule, _right_rule),
    broadcasts=True,
    doc="The matrix product, of vectors, matrices or stacks of matrices.",
)


def _dot_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        return a or b
    if len(a) > 2 or len(b) > 2:
        raise ShapeError(
            "dot takes vectors and matrices",
            {0: shape_words(a), 1: shape_words(b)},
            "for stacks of matrices use @ (it multiplies them pair by pair)",
        )
    return _product_shape(a, b)


def _scalar_or(rule: Any, slot: int) -> Any:
    """NumPy's dot multiplies where one operand is a scalar."""

    def chosen(g: Any, y: Any, a: Any, b: Any) -> Any:
        if shape_of(a) and shape_of(b):
            return rule(g, y, a, b)
        mine, other = (a, b) if slot == 0 else (b, a)
        return unbroadcast(g * other, ()) if shape_of(mine) == () and shape_of(g) else g * other

    return chosen


dot = operator(
    "dot",
    "a b",
    shape=_dot_shape,
    forward=np.dot,
    vjp=(_scalar_or(_left_rule, 0), _scalar_or(_right_rule, 1)),
    doc="The inner product of vectors; the matrix product of matrices.",
)


def _flat(x: Any) -> Any:
    return x if len(shape_of(x)) == 1 else reshape(x, shape=(size_of(x),))


def _unflat(g: Any, x: Any) -> Any:
    return g if shape_of(g) == shape_of(x) else reshape(g, shape=shape_of(x))


def _outer(a: Any, b: Any) -> Any:
    return np.multiply(np.reshape(a, (-1, 1)), np.reshape(b, -1))


outer = operator(
    "outer",
    "a b",
    spellings=("ger",),
    shape=lambda a, b: (_length(a), _length(b)),
    forward=_outer,
    vjp=(
        lambda g, y, a, b: _unflat(matmul(g, _flat(b)), a),
        lambda g, y, a, b: _unflat(matmul(swap_last(g), _flat(a)), b),
    ),
    doc="Every entry of a times every entry of b: a column times a row.",
)


def _length(shape: Shape) -> int:
    length = 1
    for n in shape:
        length *= n
    return length

"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.dtypes import summed
from gradcli.graph.op import PRODUCT, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.shapes import lengths, normal_axis, shape_words, whole


def _length(rows: int, columns: int, offset: int) -> int:
    """How many entries the diagonal has."""
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def _pair(ndim: int, axis1: int, axis2: int) -> tuple[int, int]:
    a, b = normal_axis(axis1, ndim), normal_axis(axis2, ndim)
    if a == b:
        raise ShapeError("a diagonal runs over two axes", {"axis2": f"axis {b} again"}, "name two different axes")
    return a, b


def _diagonal_shape(x: Shape, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Shape:
    if len(x) < 2:
        raise ShapeError("only matrices have a diagonal", {0: shape_words(x)}, "diag({0}) makes a matrix of a vector")
    a, b = _pair(len(x), axis1, axis2)
    return (*[n for axis, n in enumerate(x) if axis not in (a, b)], _length(x[a], x[b], offset))


_DIAGONAL = {"offset": Setting(whole, 0), "axis1": Setting(whole, 0), "axis2": Setting(whole, 1)}

diagonal: Op = operator(
    "diagonal",
    "x",
    settings=_DIAGONAL,
    shape=_diagonal_shape,
    forward=lambda x, offset=0, axis1=0, axis2=1: np.diagonal(x, offset, axis1, axis2),
    vjp=(lambda g, y, x, **settings: put_diagonal(g, shape=shape_of(x), **settings),),
    doc="The entries on a diagonal, as the last axis; the others receive nothing.",
)


def _put_shape(g: Shape, shape: Shape, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Shape:
    if any(n < 0 for n in shape) or _diagonal_shape(shape, offset, axis1, axis2) != g:
        raise ShapeError(f"the diagonal must have the entries of {shape_words(g)}")
    return shape


def _put(g: Any, shape: Shape, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    result = np.zeros(shape, np.asanyarray(g).dtype)
    along = np.arange(np.shape(g)[-1])
    # a view of the zeros, so that filling it fills them
    np.moveaxis(result, (axis1, axis2), (-2, -1))[..., along + max(-offset, 0), along + max(offset, 0)] = g
    return result


def _put_written(shapes: tuple[Shape, ...], shape: Shape, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Written:
    if len(shape) == 2 and shape[0] == shape[1]:
        return Written(f"diag({{0}}, {offset})" if offset else "diag({0})")
    return Written(f"put({{0}}, at=diagonal, shape={shape})")


put_diagonal: Op = operator(
    "put_diagonal",
    "g",
    settings={"shape": Setting(lengths, required=True), **_DIAGONAL},
    shape=_put_shape,
    forward=_put,
    vjp=(lambda h, y, g, shape, **settings: diagonal(h, **settings),),
    write=_put_written,
    hidden=True,
    doc="Zeros with g on a diagonal: what `diagonal` sends back.",
)


def _diag_shape(x: Shape, k: int = 0) -> Shape:
    if len(x) == 1:
        return (x[0] + abs(k),) * 2
    if len(x) == 2:
        return (_length(*x, k),)
    raise ShapeError("needs a vector or a matrix", {0: shape_words(x)}, "of a stack of matrices take diagonal({0})")


diag: Op = operator(
    "diag",
    "x",
    settings={"k": Setting(whole, 0)},
    shape=_diag_shape,
    forward=lambda x, k=0: np.diag(x, k),
    vjp=(
        lambda g, y, x, k=0: (
            diag(g, **({"k": k} if k else {}))
            if len(shape_of(x)) == 1
            else put_diagonal(g, shape=shape_of(x), **({"offset": k} if k else {}))
        ),
    ),
    doc="A vector as the diagonal of a matrix, a matrix's diagonal as a vector.",
)


def _matrix(x: Shape, offset: int = 0) -> Shape:
    if len(x) != 2:
        way_out = "of a stack of matrices sum the diagonals: sum(diagonal({0}, 0, -2, -1), axis=-1)"
        raise ShapeError("needs a matrix", {0: shape_words(x)}, way_out if len(x) > 2 else "")
    return ()


trace: Op = operator(
    "trace",
    "x",
    settings={"offset": Setting(whole, 0)},
    shape=_matrix,
    forward=lambda x, offset=0: np.trace(x, offset),
    vjp=(lambda g, y, x, **settings: times_eye(g, shape=shape_of(x), **settings),),
    dtype=summed,
    doc="The sum of the diagonal; its gradient is the identity matrix.",
)


def _eye_shape(g: Shape, shape: Shape, offset: int = 0) -> Shape:
    if g or len(shape) != 2 or any(n < 0 for n in shape):
        raise ShapeError("needs a number, and the shape of a matrix")
    return shape


def _times_eye(g: Any, shape: Shape, offset: int = 0) -> Any:
    return _put(np.full(_length(shape[0], shape[1], offset), g), shape, offset)


times_eye: Op = operator(
    "times_eye",
    "g",
    settings={"shape": Setting(lengths, required=True), "offset": Setting(whole, 0)},
    shape=_eye_shape,
    forward=_times_eye,
    vjp=(lambda h, y, g, shape, **settings: trace(h, **settings),),
    write=lambda shapes, shape, offset=0: Written(
        "{0} * eye("
        + ", ".join(map(str, shape[:1] if shape[0] == shape[1] and not offset else shape))
        + (f", k={offset})" if offset else ")"),
        PRODUCT,
        (PRODUCT,),
    ),
    hidden=True,
    doc="g on a diagonal, zeros elsewhere (0 also where g is infinite): g times the identity matrix.",
)


def _stack_of_matrices(x: Shape, k: int = 0) -> Shape:
    if len(x) < 2:
        raise ShapeError("needs a matrix, or a stack of them", {0: shape_words(x)}, "a vector has no triangle")
    return x


def _triangle(name: str, forward: Any, doc: str) -> Op:
    op: Op = operator(
        name,
        "x",
        settings={"k": Setting(whole, 0)},
        shape=_stack_of_matrices,
        forward=lambda x, k=0: forward(x, k),
        vjp=(lambda g, y, x, **settings: op(g, **settings),),
        doc=doc,
    )
    return op


tril = _triangle("tril", np.tril, "The entries on and below a diagonal, 0 above; those above receive nothing.")
triu = _triangle("triu", np.triu, "The entries on and above a diagonal, 0 below; those below receive nothing.")

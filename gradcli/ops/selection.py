"""Entries chosen by whole numbers: take, gather, embeddings; sorting, and the largest few.

Each rule puts the gradient back to where the entries were taken; an entry that was taken twice receives both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.dtypes import promote
from gradcli.graph.op import Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.rearrange import axis_or_none
from gradcli.ops.shapes import broadcast, lengths, normal_axis, shape_words, whole

_INDICES = ("number", "indices")


def _whole(indices: Any) -> Any:
    """Indices as NumPy wants them: those of a file may be held as floats."""
    return np.asanyarray(indices).astype(np.intp)


def as_number(x: str, indices: str) -> str:
    """The dtype of the operand that entries are taken from."""
    return promote(x)


# Whole slices along an axis --------------------------------------------------------------------------


def _taken(x: Shape, indices: Shape, axis: int | None = None) -> Shape:
    if axis is None:
        return indices
    at = normal_axis(axis, len(x))
    return (*x[:at], *indices, *x[at + 1 :])


def _take_rule(g: Any, y: Any, x: Any, indices: Any, axis: int | None = None) -> Any:
    return put_taken(g, indices, shape=shape_of(x), **({} if axis is None else {"axis": axis}))


take: Op = operator(
    "take",
    "x indices",
    settings={"axis": Setting(axis_or_none, None)},
    shape=_taken,
    dtype=as_number,
    forward=lambda x, indices, axis=None: np.take(x, _whole(indices), axis),
    vjp=(_take_rule, None),
    operand_kinds=_INDICES,
    doc="Entries (of x in one row), or whole slices along an axis, by their numbers.",
)

operator(
    "index_select",
    "x indices",
    settings={"axis": Setting(whole, required=True)},
    order=("x", "axis", "indices"),
    shape=_taken,
    expands=lambda x, indices, axis: (take, {"axis": axis}),
    forward=lambda x, indices, axis: np.take(x, _whole(indices), axis),
    vjp=None,
    operand_kinds=_INDICES,
    doc="PyTorch's order of arguments for `take` along an axis.",
)


def _put_taken_shape(g: Shape, indices: Shape, shape: Shape, axis: int | None = None) -> Shape:
    if any(n < 0 for n in shape) or _taken(shape, indices, axis) != g:
        raise ShapeError(f"the indices must take {shape_words(g)} from {shape}")
    return shape


def _put_taken(g: Any, indices: Any, shape: Shape, axis: int | None = None) -> Any:
    _put_taken_shape(np.shape(g), np.shape(indices), shape, axis)  # NumPy's add.at does not look, and may crash
    result = np.zeros(shape, np.asanyarray(g).dtype)
    if axis is None:
        np.add.at(result.reshape(-1), _whole(indices), g)
    else:
        np.add.at(result, (*[slice(None)] * normal_axis(axis, len(shape)), _whole(indices)), g)
    return result


def _put_written(shapes: tuple[Shape, ...], shape: Shape, axis: int | None = None) -> Written:
    at = "" if axis is None else f", axis={axis}"
    return Written(f"put({{0}}, at={{1}}{at}, shape={shape})")


put_taken: Op = operator(
    "put_taken",
    "g indices",
    settings={"shape": Setting(lengths, required=True), "axis": Setting(axis_or_none, None)},
    shape=_put_taken_shape,
    dtype=as_number,
    forward=_put_taken,
    vjp=(
        lambda h, y, g, indices, shape, axis=None: take(h, indices, **({} if axis is None else {"axis": axis})),
        None,
    ),
    operand_kinds=_INDICES,
    write=_put_written,
    hidden=True,
    doc="Zeros, with slices of g added where `take` took them.",
)


def _embedded(indices: Shape, weight: Shape) -> Shape:
    if len(weight) != 2:
        raise ShapeError("needs a matrix with a row for every index", {1: shape_words(weight)})
    return (*indices, weight[1])


embedding = operator(
    "embedding",
    "indices weight",
    shape=_embedded,
    dtype=lambda indices, weight: promote(weight),
    forward=lambda indices, weight: np.take(weight, _whole(indices), 0),
    vjp=(None, lambda g, y, indices, weight: put_taken(g, indices, shape=shape_of(weight), axis=0)),
    operand_kinds=("indices", "number"),
    doc="The rows of a matrix by their numbers, `weight[indices]`; a row taken twice receives both gradients.",
)


def _added_shape(x: Shape, indices: Shape, source: Shape, axis: int) -> Shape:
    taken = _taken(x, indices, axis)
    if taken != source:
        raise ShapeError(
            "needs a slice to add for every index", {2: shape_words(source)}, f"the source must have shape {taken}"
        )
    return x


index_add = operator(
    "index_add",
    "x indices source",
    settings={"axis": Setting(whole, required=True)},
    order=("x", "axis", "indices", "source"),
    shape=_added_shape,
    dtype=lambda x, indices, source: promote(x, source),
    forward=lambda x, indices, source, axis: x + _put_taken(source, indices, np.shape(x), axis),
    vjp=(
        lambda g, y, x, indices, source, axis: g,
        None,
        lambda g, y, x, indices, source, axis: take(g, indices, axis=axis),
    ),
    operand_kinds=("number", "indices", "number"),
    write=lambda shapes, axis: Written(f"index_add({{0}}, {axis}, {{1}}, {{2}})"),
    doc="PyTorch's index_add: x with slices of a source added along an axis; what an index names twice receives both.",
    example="x = [[1.0, 2.0], [0.5, -1.0]]\ns = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]\ni = [0, 1, 0]\n"
    "y = index_add(x, 0, i, s)\nL = sum(y * y)\n",
)


# Entry by entry along an axis -------------------------------------------------------------------------


def _grid(shape: Shape, result: Shape, indices: Any, axis: int) -> tuple[Any, ...]:
    """The index that takes from `shape`, along an axis, the entries named: its other axes are walked through."""
    ndim, at = len(shape), axis % len(shape)
    walked = [
        (np.arange(result[a]) if shape[a] != 1 else np.zeros(result[a], np.intp)).reshape(
            [-1 if b == a else 1 for b in range(ndim)]
        )
        for a in range(ndim)
    ]
    walked[at] = _whole(indices)
    return tuple(walked)


def _same_ndim(x: Shape, indices: Shape, axis: int) -> int:
    at = normal_axis(axis, len(x))
    if len(indices) != len(x):
        raise ShapeError(
            "needs as many axes in the indices as in {0}",
            {0: shape_words(x), 1: shape_words(indices)},
            "take({0}, {1}, axis) takes whole slices; for one entry a row write the indices as a column",
        )
    return at


def _along_shape(x: Shape, indices: Shape, axis: int = -1) -> Shape:
    at = _same_ndim(x, indices, axis)
    others = broadcast((*x[:at], 1, *x[at + 1 :]), (*indices[:at], 1, *indices[at + 1 :]))
    return (*others[:at], indices[at], *others[at + 1 :])


def _take_along(x: Any, indices: Any, axis: int = -1) -> Any:
    return np.asanyarray(x)[_grid(np.shape(x), _along_shape(np.shape(x), np.shape(indices), axis), indices, axis)]


take_along_axis: Op = operator(
    "take_along_axis",
    "x indices",
    settings={"axis": Setting(whole, -1)},
    shape=_along_shape,
    dtype=as_number,
    forward=_take_along,
    vjp=(
        lambda g, y, x, indices, axis=-1: put_along(g, indices, axis=axis, shape=shape_of(x)),
        None,
    ),
    operand_kinds=_INDICES,
    doc="For every place of the indices the entry of x that they name along an axis.",
)


def _gathered(x: Shape, indices: Shape, axis: int) -> Shape:
    at = _same_ndim(x, indices, axis)
    if any(n > x[a] for a, n in enumerate(indices) if a != at):
        raise ShapeError(
            "the indices may not be longer than {0} along the other axes",
            {0: shape_words(x), 1: shape_words(indices)},
        )
    return indices


gather = operator(
    "gather",
    "x indices",
    settings={"axis": Setting(whole, required=True)},
    order=("x", "axis", "indices"),
    shape=_gathered,
    dtype=as_number,
    forward=lambda x, indices, axis: np.asanyarray(x)[_grid(np.shape(x), np.shape(indices), indices, axis)],
    vjp=(
        lambda g, y, x, indices, axis: put_along(g, indices, axis=axis, shape=shape_of(x)),
        None,
    ),
    operand_kinds=_INDICES,
    write=lambda shapes, axis: Written(f"gather({{0}}, {axis}, {{1}})"),
    doc="PyTorch's gather: for every place of the indices the entry of x that they name along an axis.",
)


def _walks_all(shape: Shape, indices: Shape, result: Shape, at: int) -> bool:
    """Whether the result is that of `take_along_axis`; that of `gather` may leave out a part of the other axes."""
    return all(
        m == n if a == at else (r == n and m == 1) or (m == n and r in (1, n))
        for a, (r, m, n) in enumerate(zip(shape, indices, result, strict=True))
    )


def _put_along_shape(g: Shape, indices: Shape, axis: int, shape: Shape) -> Shape:
    if any(n < 0 for n in shape):
        raise ShapeError("needs a shape")
    at = _same_ndim(shape, indices, axis)
    part = g == indices and all(n <= shape[a] for a, n in enumerate(g) if a != at)
    if not part and (len(g) != len(shape) or not _walks_all(shape, indices, g, at)):
        raise ShapeError(f"the indices must take {shape_words(g)} from {shape}")
    return shape


def _put_along(g: Any, indices: Any, axis: int, shape: Shape) -> Any:
    _put_along_shape(np.shape(g), np.shape(indices), axis, shape)
    result = np.zeros(shape, np.asanyarray(g).dtype)
    np.add.at(result, _grid(shape, np.shape(g), indices, axis), g)
    return result


def _put_along_rule(h: Any, y: Any, g: Any, indices: Any, axis: int, shape: Shape) -> Any:
    if _walks_all(shape, shape_of(indices), shape_of(g), axis % len(shape)):
        return take_along_axis(h, indices, axis=axis)
    return gather(h, indices, axis=axis)


put_along: Op = operator(
    "put_along",
    "g indices",
    settings={"axis": Setting(whole, required=True), "shape": Setting(lengths, required=True)},
    shape=_put_along_shape,
    dtype=as_number,
    forward=_put_along,
    vjp=(_put_along_rule, None),
    operand_kinds=_INDICES,
    write=lambda shapes, axis, shape: Written(f"put({{0}}, at={{1}}, axis={axis}, shape={shape})"),
    hidden=True,
    doc="Zeros, with the entries of g added where `gather` took them.",
)

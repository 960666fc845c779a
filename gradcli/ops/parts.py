"""Spellings that other operators say: a tensor cut into parts, turned or joined along a certain axis.

None of these blocks becomes a node (see `Op.expands`): `split(x, 2)` is `x[:2]` and `x[2:]`, and is shown so.  The
forward value of a block is the library's own function, against which the tests hold what it expands to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator
from gradcli.ops.arrange import concat, index, stack
from gradcli.ops.copies import counts
from gradcli.ops.rearrange import flip
from gradcli.ops.shapes import normal_axis, same, shape_words, whole

_AXIS = {"axis": Setting(whole, 0)}


def _spelling(name: str, expands: Callable[..., Any], forward: Callable[..., Any], doc: str, **block: Any) -> None:
    operator(name, block.pop("operands", "x"), shape=same, expands=expands, forward=forward, vjp=None, doc=doc, **block)


# Parts --------------------------------------------------------------------------------------------


def _pieces(x: Shape, cuts: list[int], axis: int) -> list[tuple[Op, dict[str, Any]]]:
    """x from the start to the first cut, on to the second, …, to the end."""
    at = normal_axis(axis, len(x))
    bounds = [0, *cuts, x[at]]
    return [(index, {"key": (*[slice(None)] * at, slice(start, stop))}) for start, stop in pairwise(bounds)]


def _cuts(x: Shape, sections: Any, axis: int, evenly: bool) -> list[int]:
    """Where to cut for so many parts; a tuple says it itself."""
    length = x[normal_axis(axis, len(x))]
    if isinstance(sections, tuple):
        return [min(cut, length) for cut in sections]
    if sections < 1 or (evenly and length % sections):
        raise ShapeError(
            "needs parts of equal length",
            {0: f"{shape_words(x)}, axis {axis} has {length}", "sections": f"{sections} parts"},
            "array_split allows unequal parts; PyTorch's torch.split is told the length of a part",
        )
    longer, size = length % sections, length // sections
    return [size * i + min(i, longer) for i in range(1, sections)]


_SECTIONS = {"sections": Setting(counts, required=True), **_AXIS}

_spelling(
    "split",
    lambda x, sections, axis=0: _pieces(x, _cuts(x, sections, axis, True), axis),
    lambda x, sections, axis=0: np.split(x, sections, axis),
    "So many equal parts along an axis, or cuts at the places listed, as np.split does; torch.split and x.split are "
    "told the length of a part.",
    settings=_SECTIONS,
)

_spelling(
    "array_split",
    lambda x, sections, axis=0: _pieces(x, _cuts(x, sections, axis, False), axis),
    lambda x, sections, axis=0: np.array_split(x, sections, axis),
    "So many parts along an axis, the first ones longer by one where they cannot be equal.",
    spellings=("tensor_split",),
    settings=_SECTIONS,
)


def _lengths_to_cuts(x: Shape, size: Any, axis: int) -> list[int]:
    length = x[normal_axis(axis, len(x))]
    if isinstance(size, tuple):
        if sum(size) != length:
            raise ShapeError(
                f"the parts must add up to {length}",
                {0: f"{shape_words(x)}, axis {axis} has {length}", "size": f"{sum(size)} in all"},
            )
        return [sum(size[: i + 1]) for i in range(len(size) - 1)]
    if size < 1:
        raise ShapeError("a part has at least one entry", {"size": f"{size}"})
    return list(range(size, length, size))


_spelling(
    "torch.split",
    lambda x, size, axis=0: _pieces(x, _lengths_to_cuts(x, size, axis), axis),
    lambda x, size, axis=0: np.split(x, _lengths_to_cuts(np.shape(x), size, axis), axis),
    "Parts of a length, or of the lengths listed, as in PyTorch.",
    spellings=(".split",),
    settings={"size": Setting(counts, required=True), **_AXIS},
)


def _chunks(x: Shape, sections: Any, axis: int) -> list[int]:
    if isinstance(sections, tuple) or sections < 1:
        raise ShapeError("needs a number of parts, 1 or more", {"sections": f"{sections}"})
    return _lengths_to_cuts(x, max(1, -(-x[normal_axis(axis, len(x))] // sections)), axis)


_spelling(
    "chunk",
    lambda x, sections, axis=0: _pieces(x, _chunks(x, sections, axis), axis),
    lambda x, sections, axis=0: np.split(x, _chunks(np.shape(x), sections, axis), axis),
    "At most so many parts along an axis, all but the last of one length, as in PyTorch.",
    settings=_SECTIONS,
)


def _unbound(x: Shape, axis: int = 0) -> list[tuple[Op, dict[str, Any]]]:
    at = normal_axis(axis, len(x))
    return [(index, {"key": (*[slice(None)] * at, i)}) for i in range(x[at])]


_spelling(
    "unbind",
    _unbound,
    lambda x, axis=0: [np.take(x, i, axis) for i in range(np.shape(x)[axis])],
    "The slices along an axis, each without it.",
    spellings=("unstack",),
    settings=_AXIS,
)


def _columns_axis(x: Shape) -> int:
    """The axis that runs to the right."""
    if not x:
        raise ShapeError("a number cannot be cut or turned", {0: "a scalar"})
    return min(1, len(x) - 1)


def _axis_of(name: str, axis: Callable[[Shape], int], forward: Callable[..., Any]) -> None:
    _spelling(
        name,
        lambda x, sections: _pieces(x, _cuts(x, sections, axis(x), True), axis(x)),
        forward,
        f"`split` along the axis that {'runs down' if name[0] == 'v' else 'runs to the right'}.",
        settings={"sections": _SECTIONS["sections"]},
    )


_axis_of("hsplit", _columns_axis, lambda x, sections: np.hsplit(x, sections))


def _matrix_axis(axis: int) -> Callable[[Shape], int]:
    def rule(x: Shape) -> int:
        if len(x) < 2:
            raise ShapeError("needs a matrix, or a stack of them", {0: shape_words(x)})
        return axis

    return rule


_axis_of("vsplit", _matrix_axis(0), lambda x, sections: np.vsplit(x, sections))

_spelling(
    "fliplr",
    lambda x: (flip, {"axis": _matrix_axis(1)(x)}),
    np.fliplr,
    "`flip` along the axis that runs to the right.",
)

_spelling(
    "flipud",
    lambda x: (flip, {"axis": _columns_axis(x) and 0}),
    np.flipud,
    "`flip` along the axis that runs down.",
)


# Joined -------------------------------------------------------------------------------------------


def _joined(name: str, says: Callable[[int], tuple[Op, dict[str, Any]]], forward: Callable[..., Any], doc: str) -> None:
    def expands(*shapes: Shape) -> tuple[Op, dict[str, Any]]:
        if not shapes:
            raise ShapeError("there is nothing to join", {}, "give a list with at least one tensor")
        if any(len(s) != len(shapes[0]) for s in shapes):
            slot = next(i for i, s in enumerate(shapes) if len(s) != len(shapes[0]))
            raise ShapeError(
                "needs equal numbers of axes",
                {0: shape_words(shapes[0]), slot: shape_words(shapes[slot])},
                "reshape a vector into a matrix of one row or column first",
            )
        op, settings = says(len(shapes[0]))
        op.shape(*shapes, **settings)
        return op, settings

    _spelling(name, expands, lambda *tensors: forward(tensors), doc, operands="*tensors")


_joined(
    "hstack",
    lambda ndim: (concat, {"axis": 1 if ndim > 1 else 0}) if ndim else (stack, {}),
    np.hstack,
    "Tensors joined side by side: vectors end to end, matrices along axis 1.",
)

_joined(
    "vstack",
    lambda ndim: (concat, {}) if ndim > 1 else (stack, {}),
    lambda tensors: np.vstack(tensors) if np.ndim(tensors[0]) else np.stack(tensors),
    "Tensors joined one below the other: vectors as rows, matrices along axis 0.",
)

_joined(
    "column_stack",
    lambda ndim: (concat, {"axis": 1}) if ndim > 1 else (stack, {"axis": 1}),
    np.column_stack,
    "Vectors as the columns of a matrix, matrices joined along axis 1.",
)

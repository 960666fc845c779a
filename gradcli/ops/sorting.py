"""Order: sorted entries, the largest few, the place of the largest, the median.

Places are whole numbers and carry no gradient; the entries that they name do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of
from gradcli.ops.compare import keep
from gradcli.ops.reduce import maximum_over, minimum_over, restore
from gradcli.ops.selection import put_along
from gradcli.ops.shapes import (
    AXES,
    LAST_AXIS,
    Axes,
    along,
    any_entries,
    flag,
    normal_axes,
    normal_axis,
    reduced_nonempty,
    whole,
)


def _places(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """The order that sorts x; equal entries keep theirs, and NaN is the largest of all."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.shape(x)[axis] - 1 - np.flip(turned, axis)


def _sorted(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.take_along_axis(np.asanyarray(x), _places(x, axis, descending), axis)


_ORDER = {**LAST_AXIS, "descending": Setting(flag, False)}


def _along(x: Shape, axis: int = -1, descending: bool = False) -> Shape:
    return along(x, axis)


argsort = operator(
    "argsort",
    "x",
    settings=_ORDER,
    shape=_along,
    dtype=lambda x: "int64",
    forward=_places,
    vjp=(None,),
    doc="The places of the entries in order of size; whole numbers, no gradient.",
)

sort = operator(
    "sort",
    "x",
    spellings=("msort",),
    settings=_ORDER,
    shape=_along,
    forward=_sorted,
    vjp=(
        lambda g, y, x, axis=-1, descending=False: put_along(
            g, _order_of(x, axis, descending), axis=axis, shape=shape_of(x)
        ),
    ),
    doc="The entries in order of size along an axis; each gradient goes back to where its entry came from.",
    kink="equal entries keep their order, so each receives the gradient of one place",
)


def _order_of(x: Any, axis: int, descending: bool) -> Any:
    return argsort(x, axis=axis, **({"descending": True} if descending else {}))


operator(
    "torch.sort",
    "x",
    spellings=(".sort",),
    settings=_ORDER,
    shape=_along,
    expands=lambda x, **settings: [(sort, settings), (argsort, settings)],
    forward=lambda x, **settings: (_sorted(x, **settings), _places(x, **settings)),
    vjp=None,
    doc="sort as in PyTorch: the values, and where they were.",
)


# The largest few -----------------------------------------------------------------------------------


def _top_shape(x: Shape, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Shape:
    at = normal_axis(axis, len(x))
    if not 0 <= k <= x[at]:
        raise ShapeError(f"there are no {k} entries to choose", {0: f"its axis {axis} has {x[at]}", "k": f"{k}"})
    return (*x[:at], k, *x[at + 1 :])


def _top_places(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    places = _places(x, axis, largest)
    return places[(*[slice(None)] * normal_axis(axis, np.ndim(x)), slice(0, k))]


def _top(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return np.take_along_axis(np.asanyarray(x), _top_places(x, k, axis, largest), axis)


_TOP = {"k": Setting(whole, required=True), **LAST_AXIS, "largest": Setting(flag, True), "sorted": Setting(flag, True)}

top_places = operator(
    "argtopk",
    "x",
    settings=_TOP,
    shape=_top_shape,
    dtype=lambda x: "int64",
    forward=_top_places,
    vjp=(None,),
    doc="The places of the k largest entries along an axis; whole numbers, no gradient.",
)

top = operator(
    "topk",
    "x",
    settings=_TOP,
    shape=_top_shape,
    forward=_top,
    vjp=(
        lambda g, y, x, k, axis=-1, **settings: put_along(
            g, top_places(x, k=k, axis=axis, **settings), axis=axis, shape=shape_of(x)
        ),
    ),
    doc="The k largest (or smallest) entries along an axis, in order; each gradient goes back to its entry.",
    kink="of equal entries the first is chosen",
)

operator(
    "torch.topk",
    "x",
    spellings=(".topk",),
    settings=_TOP,
    shape=_top_shape,
    expands=lambda x, **settings: [(top, settings), (top_places, settings)],
    forward=lambda x, **settings: (_top(x, **settings), _top_places(x, **settings)),
    vjp=None,
    doc="topk as in PyTorch: the values, and where they are.",
)


# One entry -----------------------------------------------------------------------------------------


def _one_axis(x: Shape, axis: Axes = None, keepdims: bool = False) -> Shape:
    if isinstance(axis, tuple):
        raise ShapeError("a place is counted along one axis", {"axis": f"{axis}"}, "without an axis all are counted")
    return reduced_nonempty(x, axis, keepdims)


def _place_of(name: str, forward: Callable[..., Any], word: str) -> Op:
    return operator(
        name,
        "x",
        settings=AXES,
        shape=_one_axis,
        dtype=lambda x: "int64",
        forward=lambda x, axis=None, keepdims=False: forward(x, axis=axis, keepdims=keepdims),
        vjp=(None,),
        doc=f"Where the {word} entry is (the first of equal ones), along an axis or in all; no gradient.",
    )


argmax = _place_of("argmax", np.argmax, "largest")
argmin = _place_of("argmin", np.argmin, "smallest")


def _torch_extreme(op: Op, place: Op) -> None:
    """PyTorch's gives the entries alone without an axis, and with one their places too."""

    def said(x: Shape, axis: Axes = None, keepdims: bool = False) -> Any:
        if axis is None:
            return op, {}
        settings = {"axis": axis, "keepdims": keepdims}
        return [(op, settings), (place, settings)]

    def forward(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        entries = op.forward(x, axis=axis, keepdims=keepdims)
        return entries if axis is None else (entries, place.forward(x, axis=axis, keepdims=keepdims))

    operator(
        f"torch.{op.name}",
        "x",
        settings=AXES,
        shape=_one_axis,
        expands=said,
        forward=forward,
        vjp=None,
        doc=f"{op.name} as in PyTorch: along an axis, the entries and where they are.",
    )


_torch_extreme(maximum_over, argmax)
_torch_extreme(minimum_over, argmin)


def _median_share(x: Any, axis: Axes = None) -> Any:
    """For every entry its part in the median: 1 in the middle, 1/2 beside it; equal entries have equal parts."""
    x = np.asanyarray(x)
    axes = normal_axes(axis, x.ndim)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    rows = np.sort(np.transpose(x, (*kept, *axes)).reshape(*[x.shape[a] for a in kept], _count(x.shape, axes)), axis=-1)
    parts = np.zeros(x.shape, x.dtype if x.dtype.kind in "fO" else float)
    for middle in ((rows.shape[-1] - 1) // 2, rows.shape[-1] // 2):
        there = x == np.expand_dims(rows[..., middle], axes)
        parts += there / (2 * np.sum(there, axis=axes, keepdims=True)).astype(parts.dtype)
    return parts


def _count(x: Shape, axes: tuple[int, ...]) -> int:
    count = 1
    for a in axes:
        count *= x[a]
    return count


median_share = operator(
    "median_share",
    "x",
    settings={"axis": AXES["axis"]},
    shape=any_entries,
    dtype=floating,
    forward=_median_share,
    vjp=(None,),
    hidden=True,
    doc="For every entry its part in the median; it jumps where entries change places and is flat elsewhere.",
)


def _median_rule(g: Any, y: Any, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    share = median_share(x, **({} if axis is None else {"axis": axis}))
    return keep(restore(g, x, axis, keepdims) * share, share > 0)


def _median(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    if not np.size(x):  # rows that hold something, but no rows: NumPy refuses them
        return np.zeros(reduced_nonempty(np.shape(x), axis, keepdims))
    return np.median(x, axis=axis, keepdims=keepdims)


median = operator(
    "median",
    "x",
    settings=AXES,
    shape=reduced_nonempty,
    dtype=floating,
    forward=_median,
    vjp=(_median_rule,),
    doc="The middle entry, or the mean of the two in the middle (NumPy's median; PyTorch's is the lower of the two).",
    kink="entries equal to it share the gradient in equal parts",
)


def _odd(x: Shape, axis: Axes = None, keepdims: bool = False) -> tuple[Op, dict[str, Any]]:
    count = _count(x, normal_axes(axis, len(x)))
    if count % 2 == 0 or axis is not None:
        raise ShapeError(
            "PyTorch's median is the lower of two in the middle, and along an axis a pair",
            {0: f"{count} entries"},
            "write median({0}, axis=…), which is the mean of the two, or sort({0}) and choose",
        )
    return median, {"keepdims": True} if keepdims else {}


operator(
    "torch.median",
    "x",
    spellings=(".median",),
    settings=AXES,
    shape=reduced_nonempty,
    expands=_odd,
    forward=lambda x, axis=None, keepdims=False: np.median(x, axis=axis, keepdims=keepdims),
    vjp=None,
    doc="median where PyTorch means the same: of an odd number of entries.",
)

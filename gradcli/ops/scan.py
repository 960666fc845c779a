"""Products over axes, and what runs along an axis: running sums, products and extremes, differences.

The textbook's slope of a product, `prod(x) / x`, has no value where an entry is 0, though the slope has: it is
the product of the other entries.  So the slopes here are computed from products of the entries before and after, never
by a division, and print as the textbook has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.dtypes import summed
from gradcli.graph.op import PRODUCT, Op, Setting, Shape, ShapeError, Written, operator, shape_of, size_of
from gradcli.ops.arrange import index, reshape, transpose
from gradcli.ops.copies import pad
from gradcli.ops.rearrange import axis_or_none, flip, roll
from gradcli.ops.reduce import reshape_like, restore
from gradcli.ops.selection import put_along
from gradcli.ops.shapes import (
    AXES,
    LAST_AXIS,
    Axes,
    along,
    any_axes,
    normal_axes,
    normal_axis,
    reduced,
    whole,
)


def _axis_text(axis: Any, more: str = "") -> str:
    return "" if axis is None else f", axis={axis!r}{more}"


# One place on, one place back ---------------------------------------------------------------------


def _along_only(x: Any, axis: int, inside: Any) -> tuple[Any, ...]:
    """The key of a part of x along one axis."""
    return (*[slice(None)] * (axis % len(shape_of(x))), inside)


def _widths(x: Any, axis: int, before: int, after: int) -> tuple[tuple[int, int], ...]:
    ndim = len(shape_of(x))
    return tuple((before, after) if a == axis % ndim else (0, 0) for a in range(ndim))


def _onwards(x: Any, axis: int, first: float) -> Any:
    """Every entry one place on; `first` comes in."""
    length = shape_of(x)[axis]
    return index(
        pad(x, pad_width=_widths(x, axis, 1, 0), value=first),
        key=_along_only(x, axis, slice(0, length)),
    )


def _backwards(x: Any, axis: int) -> Any:
    """Every entry one place back; 0 comes in at the end."""
    return index(pad(x, pad_width=_widths(x, axis, 0, 1)), key=_along_only(x, axis, slice(1, None)))


# Running sums and products ------------------------------------------------------------------------


def _running(x: Shape, axis: int | None = None) -> Shape:
    if axis is None:
        return (int(np.prod(x, dtype=object)) if x else 1,)
    normal_axis(axis, len(x))
    return x


def _flat_or_axis(g: Any, x: Any, axis: int | None) -> tuple[Any, Any, int]:
    """g and x along one axis: without one, the entries of x run in one row."""
    return (g, reshape_like(x, (size_of(x),)), 0) if axis is None else (g, x, axis)


def _cumsum_rule(g: Any, y: Any, x: Any, axis: int | None = None) -> Any:
    along = {} if len(shape_of(g)) == 1 else {"axis": axis}  # a vector needs none
    return reshape_like(flip(cumsum(flip(g, **along), **along), **along), shape_of(x))


def _cumprod_rule(g: Any, y: Any, x: Any, axis: int | None = None) -> Any:
    g, row, at = _flat_or_axis(g, x, axis)
    return reshape_like(cumprod_share(g, row, axis=at), shape_of(x))


_RUNNING: dict[str, Any] = {
    "operands": "x",
    "settings": {"axis": Setting(axis_or_none, None)},
    "shape": _running,
    "dtype": summed,
}

cumsum: Op = operator(
    "cumsum",
    forward=lambda x, axis=None: np.cumsum(x, axis),
    vjp=(_cumsum_rule,),
    doc="The running sum along an axis, or over all entries in a row; an entry receives the sum of the gradients "
    "from its place on.",
    **_RUNNING,
)

cumprod: Op = operator(
    "cumprod",
    forward=lambda x, axis=None: np.cumprod(x, axis),
    vjp=(_cumprod_rule,),
    doc="The running product along an axis, or over all entries in a row; right with zeros, too.",
    **_RUNNING,
)


def _equal_shapes(g: Shape, x: Shape, axis: int = -1) -> Shape:
    if g != x:
        raise ShapeError("needs equal shapes")
    return along(x, axis)


def _recur(g: Any, x: Any, axis: int = -1) -> Any:
    result = np.array(np.broadcast_arrays(g, x)[0], np.result_type(g, x))
    steps, factors = np.moveaxis(result, axis, 0), np.moveaxis(np.asanyarray(x), axis, 0)
    for i in range(1, len(steps)):
        # where nothing arrives nothing goes on, even past an entry that is NaN
        steps[i] += np.where(steps[i - 1] == 0, 0, factors[i] * steps[i - 1])
    return result


def _recur_back(g: Any, x: Any, axis: int) -> Any:
    """s with s[i] = g[i] + x[i + 1] * s[i + 1]: the same recurrence, read from the end."""
    turned = roll(flip(x, axis=axis), shift=1, axis=axis)
    return flip(recur(flip(g, axis=axis), turned, axis=axis), axis=axis)


def _recur_factor_rule(h: Any, t: Any, g: Any, x: Any, axis: int = -1) -> Any:
    return _recur_back(h, x, axis) * _onwards(t, axis, 0.0)


recur: Op = operator(
    "recur",
    "g x",
    settings=LAST_AXIS,
    shape=_equal_shapes,
    forward=_recur,
    vjp=(lambda h, t, g, x, axis=-1: _recur_back(h, x, axis), _recur_factor_rule),
    hidden=True,
    doc="t with t[i] = g[i] + x[i] * t[i - 1]: how a change of the entries goes through a running product.",
)


def _cumprod_share(g: Any, x: Any, axis: int = -1) -> Any:
    rest = _recur_back(g, x, axis)
    return np.where(rest == 0, 0, _onwards(np.cumprod(x, axis), axis, 1.0) * rest)


def _share_factor_rule(h: Any, s: Any, g: Any, x: Any, axis: int = -1) -> Any:
    """Through the product of the entries before, and through the recurrence of those behind."""
    before = _onwards(cumprod(x, axis=axis), axis, 1.0)
    rest = _recur_back(g, x, axis)
    through = recur(h * before, x, axis=axis)
    return cumprod_share(_backwards(h * rest, axis), x, axis=axis) + _onwards(through, axis, 0.0) * rest


def _share_written(shapes: tuple[Shape, ...], axis: int = -1) -> Written:
    a = "" if len(shapes[1]) == 1 else _axis_text(axis)
    return Written(f"flip(cumsum(flip({{0}} * cumprod({{1}}{a}){a}){a}){a}) / {{1}}", PRODUCT, (PRODUCT, PRODUCT + 1))


cumprod_share: Op = operator(
    "cumprod_share",
    "g x",
    settings=LAST_AXIS,
    shape=_equal_shapes,
    forward=_cumprod_share,
    vjp=(
        lambda h, s, g, x, axis=-1: recur(h * _onwards(cumprod(x, axis=axis), axis, 1.0), x, axis=axis),
        _share_factor_rule,
    ),
    write=_share_written,
    hidden=True,
    doc="What a running product sends back: the sum over its later entries of g times the product of the others.",
)


# Products -----------------------------------------------------------------------------------------


def _merged(x: Any, axis: Axes) -> Any:
    """x with the axes of a reduction made one, at the end."""
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape))
    kept = tuple(a for a in range(len(shape)) if a not in axes)
    size = 1
    for a in axes:
        size *= shape[a]
    order = kept + axes
    x = x if order == tuple(range(len(shape))) else transpose(x, axes=order)
    return reshape(x, shape=(*[shape[a] for a in kept], size))


def _unmerged(merged: Any, shape: Shape, axis: Axes) -> Any:
    """The axes back where they were."""
    axes = normal_axes(axis, len(shape))
    order = tuple(a for a in range(len(shape)) if a not in axes) + axes
    apart = reshape(merged, shape=tuple(shape[a] for a in order))
    back = tuple(map(int, np.argsort(order)))
    return apart if order == tuple(range(len(shape))) else transpose(apart, axes=back)


def _before_and_behind(x: Any) -> tuple[Any, Any]:
    """For every entry, the product of those before it and of those behind it, along the last axis."""
    before = _onwards(cumprod(x, axis=-1), -1, 1.0)
    behind = flip(_onwards(cumprod(flip(x, axis=-1), axis=-1), -1, 1.0), axis=-1)
    return before, behind


def _others(x: Any, axis: Axes = None) -> Any:
    before, behind = _before_and_behind(_merged(x, axis))
    return _unmerged(before * behind, np.shape(x), axis)


def _others_rule(h: Any, y: Any, x: Any, axis: Axes = None) -> Any:
    row, g = _merged(x, axis), _merged(h, axis)
    before, behind = _before_and_behind(row)
    turned = flip(row, axis=-1)
    to_before = cumprod_share(_backwards(g * behind, -1), row, axis=-1)
    to_behind = cumprod_share(_backwards(flip(g * before, axis=-1), -1), turned, axis=-1)
    return _unmerged(to_before + flip(to_behind, axis=-1), shape_of(x), axis)


others: Op = operator(
    "others",
    "x",
    settings={"axis": AXES["axis"]},
    shape=any_axes,
    forward=_others,
    vjp=(_others_rule,),
    write=lambda shapes, axis=None: Written(
        f"prod({{0}}{_axis_text(axis, ', keepdims=True')}) / {{0}}", PRODUCT, (PRODUCT + 1,)
    ),
    hidden=True,
    doc="For every entry the product of the others: prod(x) / x without the division.",
)


def _product_rule(g: Any, y: Any, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return restore(g, x, axis, keepdims) * others(x, **({} if axis is None else {"axis": axis}))


product = operator(
    "prod",
    "x",
    settings=AXES,
    shape=reduced,
    dtype=summed,
    forward=lambda x, axis=None, keepdims=False: np.prod(x, axis=axis, keepdims=keepdims),
    vjp=(_product_rule,),
    doc="The product over axes; every entry receives the product of the others, also where one is 0.",
)


# Running extremes -----------------------------------------------------------------------------------


def _running_extreme(name: str, extreme: np.ufunc, words: str) -> None:
    def places(x: Any, axis: int = -1) -> Any:
        best = extreme.accumulate(x, axis=axis)
        counted = np.arange(np.shape(x)[axis]).reshape([-1 if a == axis % np.ndim(x) else 1 for a in range(np.ndim(x))])
        return np.maximum.accumulate(np.where((x == best) | np.isnan(x), counted, 0), axis=axis)

    at = operator(
        f"arg{name}",
        "x",
        settings=LAST_AXIS,
        shape=along,
        dtype=lambda x: "int64",
        forward=places,
        vjp=(None,),
        doc=f"Where the running {words} stands; whole numbers, no gradient.",
    )
    settings = {"axis": Setting(whole, required=True)}
    op = operator(
        name,
        "x",
        settings=settings,
        shape=along,
        forward=lambda x, axis: extreme.accumulate(x, axis=axis),
        vjp=(lambda g, y, x, axis: put_along(g, at(x, axis=axis), axis=axis, shape=shape_of(x)),),
        doc=f"The running {words} along an axis; the entry in force receives the gradient.",
        kink="of equal entries the last one is in force",
    )
    operator(
        f"torch.{name}",
        "x",
        spellings=(f".{name}",),
        settings=settings,
        shape=along,
        expands=lambda x, axis: [(op, {"axis": axis}), (at, {"axis": axis})],
        forward=lambda x, axis: (extreme.accumulate(x, axis=axis), places(x, axis)),
        vjp=None,
        doc=f"{name} as in PyTorch: the values, and their places.",
    )


_running_extreme("cummax", np.maximum, "maximum")
_running_extreme("cummin", np.minimum, "minimum")


# Differences ----------------------------------------------------------------------------------------


def _diff_shape(x: Shape, n: int = 1, axis: int = -1) -> Shape:
    at = normal_axis(axis, len(x))
    if not 0 <= n <= x[at]:
        raise ShapeError(
            f"cannot take differences {n} times", {0: f"its axis {axis} has {x[at]}", "n": f"{n}"}, "n counts from 0"
        )
    return (*x[:at], x[at] - n, *x[at + 1 :])


def _diff_rule(g: Any, y: Any, x: Any, n: int = 1, axis: int = -1) -> Any:
    padded = pad(g, pad_width=_widths(g, axis, n, n))
    back = diff(padded, **({} if n == 1 else {"n": n}), **({} if axis == -1 else {"axis": axis}))
    return -back if n % 2 else back


diff: Op = operator(
    "diff",
    "x",
    settings={"n": Setting(whole, 1), **LAST_AXIS},
    shape=_diff_shape,
    forward=lambda x, n=1, axis=-1: np.diff(x, n, axis),
    vjp=(_diff_rule,),
    doc="Every entry less the one before it, n times over.",
)

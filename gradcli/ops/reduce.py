"""Sums, means and extremes over axes; and the two that undo each other: broadcasting and the sum over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating, summed
from gradcli.graph.node import INPUT
from gradcli.graph.op import PRODUCT, Op, Setting, Shape, ShapeError, Written, operator, shape_of, size_of
from gradcli.ops.compare import equal, keep, maximum, minimum
from gradcli.ops.shapes import (
    AXES,
    Axes,
    broadcast,
    lengths,
    normal_axes,
    reduced,
    reduced_nonempty,
    shape_words,
)


def _broadcast_to_shape(x: Shape, shape: Shape) -> Shape:
    try:
        common: Shape | None = broadcast(x, shape)
    except ShapeError:
        common = None
    if common != shape or any(n < 0 for n in shape):
        raise ShapeError(
            f"cannot be broadcast to shape {shape}",
            {0: shape_words(x)},
            "only axes of length 1 and missing leading axes can be stretched",
        )
    return shape


def unbroadcast_axes(wide: Shape, narrow: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of `wide` that broadcasting added to `narrow`, and those it stretched from length 1."""
    extra = len(wide) - len(narrow)
    stretched = tuple(a + extra for a, n in enumerate(narrow) if n == 1 and wide[a + extra] != 1)
    return tuple(range(extra)), stretched


def unbroadcast(g: Any, shape: Shape) -> Any:
    """Sums a gradient over the axes that broadcasting repeated: the step that students forget.

    `g` has the stretched shape; the result has `shape`.
    """
    added, stretched = unbroadcast_axes(shape_of(g), shape)
    if stretched and not added:
        return total(g, axis=_axis(stretched), keepdims=True)
    g = total(g, axis=_axis(added + stretched), keepdims=False)
    return reshape_like(g, shape) if stretched else g


def _axis(axes: tuple[int, ...]) -> Axes:
    return axes[0] if len(axes) == 1 else axes


def reshape_like(g: Any, shape: Shape) -> Any:
    """`g` with the lost axes of length 1 put back."""
    from gradcli.ops.arrange import reshape

    return g if shape_of(g) == shape else reshape(g, shape=shape)


def restore(g: Any, x: Any, axis: Axes, keepdims: bool) -> Any:
    """A reduction's upstream gradient with the reduced axes put back as axes of length 1."""
    if keepdims or shape_of(g) == ():
        return g
    axes = normal_axes(axis, len(shape_of(x)))
    return reshape_like(g, tuple(1 if a in axes else n for a, n in enumerate(shape_of(x))))


def spread(g: Any, x: Any, axis: Axes, keepdims: bool) -> Any:
    """A reduction's upstream gradient repeated along what was reduced."""
    return stretch(restore(g, x, axis, keepdims), shape_of(x))


def stretch(g: Any, shape: Shape) -> Any:
    """`g` broadcast to `shape`."""
    return g if shape_of(g) == shape else broadcast_to(g, shape=shape)


def _count(x: Any, axis: Axes) -> int:
    count = 1
    for a in normal_axes(axis, len(shape_of(x))):
        count *= shape_of(x)[a]
    return count


broadcast_to = operator(
    "broadcast_to",
    "x",
    spellings=("expand",),
    settings={"shape": Setting(lengths, required=True, gathers=True)},
    shape=_broadcast_to_shape,
    forward=lambda x, shape: np.broadcast_to(x, shape),
    vjp=(lambda g, y, x, shape: g,),
    broadcasts=True,
    stretches=True,
    write=lambda shapes, shape: (
        Written(f"broadcast_to({{0}}, {shape})")
        if shapes[0]
        else Written(f"{{0}} * ones({shape})", PRODUCT, (PRODUCT,))
    ),
    simplify=lambda x, shape: x if x.shape == shape else None,
    doc="x repeated to a shape; what was repeated is summed on the way back.",
)


def _with_kept_axes(x: Shape, shape: Shape) -> Shape:
    """The shape that is meant where -1 stands for the length that an axis has."""
    known = (1,) * (len(shape) - len(x)) + x
    if len(known) != len(shape):
        return shape
    return tuple(have if want == -1 else want for have, want in zip(known, shape, strict=True))


operator(
    "torch.expand",
    "x",
    settings={"shape": Setting(lengths, required=True, gathers=True)},
    shape=_broadcast_to_shape,
    expands=lambda x, shape: (broadcast_to, {"shape": _with_kept_axes(x, shape)}),
    forward=lambda x, shape: np.broadcast_to(x, _with_kept_axes(np.shape(x), shape)),
    vjp=None,
    doc="x repeated to a shape, in which -1 keeps the length of an axis.",
    example="x = [[1.0], [2.0]]\ny = torch.expand(x, (-1, 3))\nL = sum(y * y)\n",
)

total = operator(
    "sum",
    "x",
    settings=AXES,
    shape=reduced,
    dtype=summed,
    forward=lambda x, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims),
    vjp=(lambda g, y, x, axis=None, keepdims=False: spread(g, x, axis, keepdims),),
    simplify=lambda x, axis=None, keepdims=False: x if x.shape == () or axis == () else None,
    doc="The sum over axes; every entry receives the upstream gradient.",
)

mean = operator(
    "mean",
    "x",
    spellings=("average",),
    settings=AXES,
    shape=reduced_nonempty,
    dtype=floating,
    forward=lambda x, axis=None, keepdims=False: np.mean(x, axis=axis, keepdims=keepdims),
    vjp=(lambda g, y, x, axis=None, keepdims=False: spread(g / _count(x, axis), x, axis, keepdims),),
    doc="The mean over axes; every entry receives the upstream gradient divided by their number.",
)


def _extreme_rule(g: Any, y: Any, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    """The gradient goes where the extreme is; if several entries are equal to it, in equal parts."""
    winners = equal(x, restore(y, x, axis, keepdims))
    if size_of(x) == 1:
        return spread(g, x, axis, keepdims)
    share = total(winners, axis=axis, keepdims=True)
    return keep(restore(g, x, axis, keepdims) / share, winners)


def _extreme(name: str, forward: Callable[..., Any], pairwise: Op) -> Op:
    def of_two(*arguments: Any) -> Op | None:
        """`max(a, b)` is the larger of two; `max(x, 0)` is so for a scalar x, else a reduction over axis 0."""
        if len(arguments) != 2:
            return None
        whole_number = isinstance(arguments[1], int) or getattr(arguments[1], "op", None) is INPUT
        return None if whole_number and shape_of(arguments[0]) and not shape_of(arguments[1]) else pairwise

    return operator(
        name,
        "x",
        spellings=(f"a{name}",),
        settings=AXES,
        shape=reduced_nonempty,
        forward=forward,
        vjp=(_extreme_rule,),
        choose=of_two,
        doc=f"The {name} over axes; the entry that was chosen receives the upstream gradient.",
        kink="equal entries share the gradient in equal parts",
    )


maximum_over = _extreme("max", lambda x, axis=None, keepdims=False: np.max(x, axis=axis, keepdims=keepdims), maximum)
minimum_over = _extreme("min", lambda x, axis=None, keepdims=False: np.min(x, axis=axis, keepdims=keepdims), minimum)

"""Pooling: the largest entry, or the mean, of each window of a signal or an image.

The last axes are the axes of space; whatever stands before them (a batch, channels) is left alone.  What a pool sends
back is laid where its windows lay, so entries in several windows receive several parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.shapes import flag, floats, shape_words
from gradcli.ops.windows import Layout, Steps, extent, steps


def steps_or_none(value: Any) -> Steps | None:
    """As `steps`; None stands for the kernel's size."""
    return None if value is None else steps(value)


def _layout(
    nd: int, kernel_size: Steps, stride: Steps | None = None, padding: Steps = 0, dilation: Steps = 1, **_: Any
) -> Layout:
    kernel = kernel_size if isinstance(kernel_size, tuple) else (kernel_size,)
    kernel = kernel * nd if len(kernel) == 1 else kernel
    if len(kernel) != nd:
        raise ShapeError(f"needs a window of {nd} lengths, or one for all", {"kernel_size": f"{len(kernel)} given"})
    return Layout(nd, kernel, kernel if stride is None else stride, padding, dilation, window="kernel_size")


def _pooled_shape(nd: int) -> Callable[..., Shape]:
    def rule(x: Shape, **settings: Any) -> Shape:
        if len(x) < nd:
            raise ShapeError(f"needs at least {nd} axes to pool over", {0: shape_words(x) if x else "a scalar"})
        layout = _layout(nd, **settings)
        for (before, _), reach in zip(layout.pads, layout.reach, strict=True):
            if before > reach // 2:
                found: dict[int | str, str] = {"padding": f"{before}, in windows that reach over {reach}"}
                raise ShapeError("needs padding of at most half a window", found)
        space = x[len(x) - nd :]
        places = layout.outputs(space)
        if any(layout.padding_alone(axis, n, space[axis]) for axis, n in enumerate(places)):
            found = {"padding": "a window that holds nothing else", 0: shape_words(x)}
            raise ShapeError("needs windows with an entry in each", found, "lessen the padding or the dilation")
        return (*x[: len(x) - nd], *places)

    return rule


def _winners(nd: int, x: Any, layout: Layout) -> Any:
    """For every window which of its entries is the largest; padding never is."""
    seen = layout.windows(floats(x), -np.inf)
    axes = tuple(range(-nd, 0))
    inside = layout.windows(np.ones(np.shape(x), bool), False)
    return (seen == np.max(seen, axis=axes, keepdims=True)) & inside


def _shared(g: Any, winners: Any, nd: int) -> Any:
    count = np.sum(winners, axis=tuple(range(-nd, 0)))
    return (g / np.maximum(count, 1)).astype(np.result_type(g, np.float16), copy=False)


def _put_back(nd: int) -> Callable[..., Any]:
    def unpool(g: Any, x: Any, **settings: Any) -> Any:
        layout = _layout(nd, **settings)
        g, space = np.asanyarray(g), np.shape(x)[-nd:]
        winners = _winners(nd, x, layout)
        share = _shared(g, winners, nd)
        zero = np.zeros((), share.dtype)
        return layout.laid_back(
            lambda at: np.where(winners[(..., *at)], share, zero), g.shape[-nd:], space, g.shape[:-nd], share.dtype
        )

    return unpool


def _taken(nd: int) -> Callable[..., Any]:
    def take(h: Any, x: Any, **settings: Any) -> Any:
        layout = _layout(nd, **settings)
        h = np.asanyarray(h)
        winners = _winners(nd, x, layout)
        chosen = np.where(winners, layout.windows(h), np.zeros((), h.dtype))
        return _shared(np.sum(chosen, axis=tuple(range(-nd, 0))), winners, nd)

    return take


def _counts(nd: int, layout: Layout, space: Shape, count_include_pad: bool) -> Any:
    if count_include_pad:
        return math.prod(layout.kernel)
    return np.sum(layout.windows(np.ones(space, bool), False), axis=tuple(range(-nd, 0)))


def _mean(nd: int) -> Callable[..., Any]:
    def pool(x: Any, count_include_pad: bool = True, **settings: Any) -> Any:
        layout = _layout(nd, **settings)
        x = np.asanyarray(x)
        kept = np.result_type(x, np.float16) if x.dtype.kind in "fO" else np.dtype(float)
        whole = np.sum(layout.windows(x), axis=tuple(range(-nd, 0)), dtype=np.result_type(kept, np.float32))
        return (whole / _counts(nd, layout, x.shape[-nd:], count_include_pad)).astype(kept)

    return pool


def _spread(nd: int) -> Callable[..., Any]:
    def unpool(g: Any, size: Shape, count_include_pad: bool = True, **settings: Any) -> Any:
        layout = _layout(nd, **settings)
        g = np.asanyarray(g)
        share = (g / _counts(nd, layout, size, count_include_pad)).astype(g.dtype, copy=False)
        return layout.laid_back(lambda at: share, g.shape[-nd:], size, g.shape[:-nd], share.dtype)

    return unpool


def _like_input(nd: int) -> Callable[..., Shape]:
    """The shape of x, for a g of the pool's shape."""

    def rule(g: Shape, x: Shape, **settings: Any) -> Shape:
        if _pooled_shape(nd)(x, **settings) != g:
            raise ShapeError("needs the gradient of the pooled shape", {0: shape_words(g), 1: shape_words(x)})
        return x

    return rule


def _like_result(nd: int) -> Callable[..., Shape]:
    def rule(h: Shape, x: Shape, **settings: Any) -> Shape:
        if h != x:
            raise ShapeError("needs equal shapes", {0: shape_words(h), 1: shape_words(x)})
        return _pooled_shape(nd)(x, **settings)

    return rule


def _sized_shape(nd: int) -> Callable[..., Shape]:
    def rule(g: Shape, size: Shape, **settings: Any) -> Shape:
        x = (*g[: len(g) - nd], *size)
        if len(size) != nd or len(g) < nd or _pooled_shape(nd)(x, **settings) != g:
            raise ShapeError(f"does not fit {size}", {0: shape_words(g)})
        return x

    return rule


_WINDOW = {
    "kernel_size": Setting(steps, required=True),
    "stride": Setting(steps_or_none, None),
    "padding": Setting(steps, 0),
}
_MAX_SETTINGS = {**_WINDOW, "dilation": Setting(steps, 1)}
_MEAN_SETTINGS = {**_WINDOW, "count_include_pad": Setting(flag, True)}


def _called(name: str, operands: int, settings: dict[str, Any], given: dict[str, Any]) -> Written:
    """`name({0}, 2, stride=1)`: the window's size comes first."""
    places = ", ".join(f"{{{slot}}}" for slot in range(operands))
    named = "".join(f", {key}={v!r}" for key, v in given.items() if key in settings and v != settings[key].default)
    return Written(f"{name}({places}{named})".replace(", kernel_size=", ", "))


def _samples(nd: int) -> tuple[tuple[Shape, ...], ...]:
    inputs: tuple[Shape, ...] = ((5,), (2, 4), (1, 2, 5)) if nd == 1 else ((4, 5), (3, 3), (2, 4, 4), (1, 2, 3, 4))
    return tuple((x,) for x in (*inputs, (0, 5) if nd == 1 else (0, 4, 4)))


def _declare_max(nd: int) -> Op:
    back: Op
    take: Op
    pool = operator(
        f"max_pool{nd}d",
        "x",
        spellings=(f"maxpool{nd}d", f"MaxPool{nd}d"),
        settings=_MAX_SETTINGS,
        shape=_pooled_shape(nd),
        dtype=floating,
        forward=lambda x, **s: np.max(
            _layout(nd, **s).windows(floats(x), -np.inf),
            axis=tuple(range(-nd, 0)),
        ),
        vjp=(lambda g, y, x, **s: back(g, x, **s),),
        write=lambda shapes, **s: _called(f"max_pool{nd}d", 1, _MAX_SETTINGS, s),
        samples=_samples(nd),
        doc="The largest entry of each window (windows side by side, unless `stride` says otherwise).",
        kink="equal entries of a window share the gradient in equal parts",
    )
    pairs = tuple((x, x) for (x,) in pool.samples)
    back = operator(
        f"max_unpool{nd}d",
        "g x",
        settings=_MAX_SETTINGS,
        shape=_like_input(nd),
        dtype=lambda g, x: floating(g),
        forward=_put_back(nd),
        vjp=(lambda h, y, g, x, **s: take(h, x, **s), None),
        write=lambda shapes, **s: _called(f"max_unpool{nd}d", 2, _MAX_SETTINGS, s),
        samples=tuple((tuple(n if a < len(x) - nd else n // 2 for a, n in enumerate(x)), x) for (x,) in pool.samples),
        hidden=True,
        doc="g put back where the largest entries of x were, zeros elsewhere.",
    )
    take = operator(
        f"max_pool{nd}d_of",
        "h x",
        settings=_MAX_SETTINGS,
        shape=_like_result(nd),
        dtype=lambda h, x: floating(h),
        forward=_taken(nd),
        vjp=(lambda g, y, h, x, **s: back(g, x, **s), None),
        write=lambda shapes, **s: _called(f"max_pool{nd}d_of", 2, _MAX_SETTINGS, s),
        samples=pairs,
        hidden=True,
        doc="The entries of h that stand where the largest entries of x are.",
    )
    return pool


def _declare_mean(nd: int) -> Op:
    back: Op
    pool = operator(
        f"avg_pool{nd}d",
        "x",
        spellings=(f"avgpool{nd}d", f"AvgPool{nd}d", f"mean_pool{nd}d"),
        settings=_MEAN_SETTINGS,
        shape=_pooled_shape(nd),
        dtype=floating,
        forward=_mean(nd),
        vjp=(lambda g, y, x, **s: back(g, size=shape_of(x)[-nd:], **s),),
        write=lambda shapes, **s: _called(f"avg_pool{nd}d", 1, _MEAN_SETTINGS, s),
        samples=_samples(nd),
        doc="The mean of each window; zeros of the padding count, unless count_include_pad=False.",
    )
    back = operator(
        f"avg_unpool{nd}d",
        "g",
        settings={"size": Setting(extent, required=True), **_MEAN_SETTINGS},
        shape=_sized_shape(nd),
        dtype=floating,
        forward=_spread(nd),
        vjp=(lambda h, y, g, size, **s: pool(h, **s),),
        write=lambda shapes, size, **s: _called(f"avg_unpool{nd}d", 1, _MEAN_SETTINGS, s),
        samples=_samples(nd),
        hidden=True,
        doc="Each entry of g divided by the size of its window and laid over it.",
    )
    return pool


for _nd in (1, 2):
    _declare_max(_nd)
    _declare_mean(_nd)

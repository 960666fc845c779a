"""Convolutions as deep learning means them: a kernel slides over a signal or an image and is not turned round.

Source of the rules: a convolution is linear in its input and in its kernel.  With y = conv(x, w), the number
sum(g * y) is linear in x, w and g alike; its slopes in the three are the convolution and two more operators, one that
lays the kernel back over the input and one that gives the kernel's gradient.  Each sends back the other two, so
derivatives of any order stay among the three.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.arrange import put, reshape
from gradcli.ops.reduce import total
from gradcli.ops.shapes import one_of, shape_words, whole
from gradcli.ops.windows import (
    Layout,
    Steps,
    back_shape,
    batch_of,
    conv_shape,
    extent,
    for_each,
    is_plain,
    kernel_shape,
    padding,
    steps,
)

# The three products -------------------------------------------------------------------------------


def _full(x: Any, nd: int, dtype: Any = None) -> Any:
    """With axes for the batch and the channels."""
    x = np.asanyarray(x) if dtype is None else np.asanyarray(x).astype(dtype, copy=False)
    return x.reshape((1,) * (nd + 2 - x.ndim) + x.shape)


def _precision(*values: Any) -> tuple[Any, Any]:
    """The dtype of the result, and the one to compute in: half precision would lose digits in every sum."""
    kept = np.result_type(*[np.asanyarray(v) for v in values])
    kept = kept if kept.kind in "fO" else np.dtype(float)
    return kept, np.result_type(kept, np.float32)


def _columns(x: Any, layout: Layout) -> Any:
    """(groups, channels · kernel, batch · places): every window as a column."""
    seen = layout.windows(x)
    batch, channels, nd = x.shape[0], x.shape[1], layout.nd
    seen = seen.reshape(batch, layout.groups, channels // layout.groups, *seen.shape[2:])
    order = (1, 2, *range(3 + nd, 3 + 2 * nd), 0, *range(3, 3 + nd))
    places = math.prod(seen.shape[3 : 3 + nd])
    depth = channels // layout.groups * math.prod(layout.kernel)
    return seen.transpose(order).reshape(layout.groups, depth, batch * places)


def _by_group(g: Any, groups: int) -> Any:
    """(groups, channels, batch · places) of (batch, channels, *places)."""
    batch, channels = g.shape[:2]
    split = g.reshape(batch, groups, channels // groups, math.prod(g.shape[2:]))
    return split.transpose(1, 2, 0, 3).reshape(groups, channels // groups, batch * split.shape[3])


def _forward(nd: int) -> Callable[..., Any]:
    def conv(x: Any, weight: Any, bias: Any = None, **settings: Any) -> Any:
        kept, dtype = _precision(x, weight, *([] if bias is None else [bias]))
        plain, leading = np.ndim(x) == np.ndim(weight) == nd, batch_of(np.shape(x), nd)
        x, w = _full(x, nd, dtype), _full(weight, nd, dtype)
        layout = Layout(nd, w.shape[2:], **settings)
        places = layout.outputs(x.shape[2:])
        matrix = w.reshape(layout.groups, w.shape[0] // layout.groups, math.prod(w.shape[1:]))
        y = (matrix @ _columns(x, layout)).reshape(w.shape[0], x.shape[0], *places).swapaxes(0, 1)
        if bias is not None:
            y = y + np.asanyarray(bias, dtype).reshape(-1, *(1,) * nd)
        return y.reshape(places if plain else (*leading, w.shape[0], *places)).astype(kept, copy=False)

    return conv


def _back_over_input(nd: int) -> Callable[..., Any]:
    def laid(g: Any, weight: Any, bias: Any = None, *, size: Shape, **settings: Any) -> Any:
        kept, dtype = _precision(g, weight, *([] if bias is None else [bias]))
        plain, leading = np.ndim(g) == np.ndim(weight) == nd, batch_of(np.shape(g), nd)
        g, w = _full(g, nd, dtype), _full(weight, nd, dtype)
        layout = Layout(nd, w.shape[2:], **settings)
        batch, places, inner = g.shape[0], g.shape[2:], w.shape[1]
        matrix = w.reshape(layout.groups, w.shape[0] // layout.groups, math.prod(w.shape[1:]))
        columns = matrix.swapaxes(1, 2) @ _by_group(g, layout.groups)
        columns = columns.reshape(layout.groups, inner, *layout.kernel, batch, *places)
        channels = layout.groups * inner

        def part(at: Shape) -> Any:
            return columns[(slice(None), slice(None), *at)].reshape(channels, batch, *places).swapaxes(0, 1)

        x = layout.laid_back(part, places, size, (batch, channels), dtype)
        if bias is not None:
            x = x + np.asanyarray(bias, dtype).reshape(-1, *(1,) * nd)
        return x.reshape(size if plain else (*leading, channels, *size)).astype(kept, copy=False)

    return laid


def _kernel_gradient(nd: int) -> Callable[..., Any]:
    def gradient(x: Any, g: Any, size: Shape, **settings: Any) -> Any:
        kept, dtype = _precision(x, g)
        plain = np.ndim(x) == np.ndim(g) == nd
        x, g = _full(x, nd, dtype), _full(g, nd, dtype)
        layout = Layout(nd, size, **settings)
        w = _by_group(g, layout.groups) @ _columns(x, layout).swapaxes(1, 2)
        shape = size if plain else (g.shape[1], x.shape[1] // layout.groups, *size)
        return w.reshape(shape).astype(kept, copy=False)

    return gradient


# Written ----------------------------------------------------------------------------------------


def _named(**settings: Any) -> str:
    """`, stride=2`: settings that are not the usual ones."""
    usual = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}
    text = ""
    for name, value in settings.items():
        if isinstance(value, tuple) and len(set(value)) == 1:
            value = value[0]
        text += "" if value == usual.get(name) else f", {name}={value!r}"
    return text


def _symmetric(layout: Layout) -> tuple[int, ...] | None:
    """The padding as numbers, if both sides have the same."""
    return tuple(a for a, _ in layout.pads) if all(a == b for a, b in layout.pads) else None


def _back_written(nd: int) -> Callable[..., Written]:
    def write(shapes: tuple[Shape, ...], size: Shape, **settings: Any) -> Written:
        layout = Layout(nd, shapes[1][-nd:], **settings)
        pads = _symmetric(layout)
        if pads is None:
            return Written(f"conv{nd}d_input({{0}}, {{1}}, size={size}{_named(**settings)})")
        shortest = layout.inputs(shapes[0][-nd:], (0,) * nd)
        more = tuple(n - m for n, m in zip(size, shortest, strict=True))
        named = _named(
            stride=layout.stride,
            padding=pads,
            output_padding=more,
            groups=layout.groups,
            dilation=layout.dilation,
        )
        return Written(f"conv_transpose{nd}d({{0}}, {{1}}{named})")

    return write


def _kernel_written(nd: int) -> Callable[..., Written]:
    """Without channels the kernel's gradient is a convolution too, with the upstream gradient as its kernel."""

    def write(shapes: tuple[Shape, ...], size: Shape, **settings: Any) -> Written:
        layout = Layout(nd, size, **settings)
        pads = _symmetric(layout)
        if len(shapes[0]) == nd and pads is not None:
            turned = Layout(nd, shapes[1], layout.dilation, pads, layout.stride)
            if turned.outputs(shapes[0]) == size:
                named = _named(stride=layout.dilation, padding=pads, dilation=layout.stride)
                return Written(f"conv{nd}d({{0}}, {{1}}{named})")
        return Written(f"conv{nd}d_weight({{0}}, {{1}}, size={size}{_named(**settings)})")

    return write


# The blocks -------------------------------------------------------------------------------------

_SETTINGS = {
    "stride": Setting(steps, 1),
    "padding": Setting(padding, 0),
    "dilation": Setting(steps, 1),
    "groups": Setting(whole, 1),
}
_SIZED = {"size": Setting(extent, required=True), **_SETTINGS}
_CONV: dict[int, Op] = {}
_BACK: dict[int, Op] = {}
_KERNEL: dict[int, Op] = {}


def _space(x: Any, nd: int) -> Shape:
    return shape_of(x)[-nd:]


def _bias_rule(nd: int) -> Callable[..., Any]:
    def rule(g: Any, y: Any, x: Any, weight: Any, bias: Any, **_: Any) -> Any:
        ndim = len(shape_of(g))
        if shape_of(bias) == () or ndim == nd:
            return reshape(total(g), shape=shape_of(bias))
        channels = ndim - nd - 1
        return total(g, axis=tuple(a for a in range(ndim) if a != channels))

    return rule


def _transposed_size(nd: int, places: Shape, kernel: Shape, output_padding: Steps, settings: dict[str, Any]) -> Shape:
    layout = Layout(nd, kernel, **settings)
    more = for_each(output_padding, nd, "output_padding", 0)
    if any(m >= s for m, s in zip(more, layout.stride, strict=True)):
        raise ShapeError("needs an output padding less than the stride", {"output_padding": f"{more}"})
    size = layout.inputs(places, more)
    if min(size) < 1:
        raise ShapeError("needs less padding", {0: shape_words(places)}, f"of the result {size} would be left")
    return size


def _transposed(compute: Callable[..., Any], nd: int) -> Callable[..., Any]:
    """A function of a result's size as one of `output_padding`: for shapes and for values."""

    def transposed(x: Any, weight: Any, *bias: Any, output_padding: Steps = 0, **settings: Any) -> Any:
        places, kernel = (tuple(v) if isinstance(v, tuple) else np.shape(v) for v in (x, weight))
        is_plain(nd, places, kernel)
        size = _transposed_size(nd, places[-nd:], kernel[-nd:], output_padding, settings)
        return compute(x, weight, *bias, size=size, **settings)

    return transposed


def _samples(nd: int, bias: bool) -> tuple[tuple[Shape, ...], ...]:
    """Operand shapes, from plain ones to several channels."""
    if nd == 1:
        found: tuple[tuple[Shape, ...], ...] = (((5,), (2,)), ((2, 5), (2, 2, 2)), ((2, 4, 4), (2, 2, 3)))
        found = (*found, ((2, 2, 5), (4, 1, 2)), ((0, 2, 4), (2, 2, 2)))
    else:
        found = (((4, 5), (2, 2)), ((2, 4, 3), (2, 1, 2, 2)), ((2, 1, 3, 3), (2, 1, 2, 1)))
        found = (*found, ((1, 2, 3, 4), (2, 2, 2, 2)), ((0, 1, 3, 3), (1, 1, 2, 2)))
    with_bias = tuple((x, w, () if len(w) == nd else (w[0],)) for x, w in found)
    return (*found, *with_bias) if bias else found


def _declare(nd: int) -> None:
    """The convolution over nd axes of space, and the two hidden products that its rules are made of."""
    _CONV[nd] = operator(
        f"conv{nd}d",
        "x weight bias",
        optional={"bias": 0.0},
        settings=_SETTINGS,
        shape=conv_shape(nd),
        dtype=floating,
        forward=_forward(nd),
        vjp=(
            lambda g, y, x, weight, *_, **s: _BACK[nd](g, weight, size=_space(x, nd), **s),
            lambda g, y, x, weight, *_, **s: _KERNEL[nd](x, g, size=_space(weight, nd), **s),
            _bias_rule(nd),
        ),
        samples=_samples(nd, True),
        doc="A kernel slid over the input, not turned round; each place gives the sum of the products.",
    )
    _BACK[nd] = operator(
        f"conv{nd}d_input",
        "g weight",
        settings=_SIZED,
        shape=back_shape(nd),
        dtype=floating,
        forward=_back_over_input(nd),
        vjp=(
            lambda h, y, g, weight, size, **s: _CONV[nd](h, weight, **s),
            lambda h, y, g, weight, size, **s: _KERNEL[nd](h, g, size=_space(weight, nd), **s),
        ),
        write=_back_written(nd),
        samples=_samples(nd, False),
        hidden=True,
        doc="The kernel laid back over the input, weighted with g: what a convolution sends to its input.",
    )
    _KERNEL[nd] = operator(
        f"conv{nd}d_weight",
        "x g",
        settings=_SIZED,
        shape=kernel_shape(nd),
        dtype=floating,
        forward=_kernel_gradient(nd),
        vjp=(
            lambda h, y, x, g, size, **s: _BACK[nd](g, h, size=_space(x, nd), **s),
            lambda h, y, x, g, size, **s: _CONV[nd](x, h, **s),
        ),
        write=_kernel_written(nd),
        samples=(((5,), (4,)), ((2, 5), (2, 4)), ((2, 2, 5), (2, 4, 4)), ((0, 1, 5), (0, 2, 4)))
        if nd == 1
        else (((4, 5), (3, 4)), ((2, 4, 4), (2, 3, 3)), ((2, 1, 3, 3), (2, 2, 2, 2)), ((0, 1, 3, 3), (0, 1, 2, 2))),
        hidden=True,
        doc="The input's windows weighted with g: what a convolution sends to its kernel.",
    )


def _declare_transposed(nd: int) -> None:
    """The transpose of the convolution over nd axes of space."""
    operator(
        f"conv_transpose{nd}d",
        "x weight bias",
        optional={"bias": 0.0},
        spellings=(f"convtranspose{nd}d",),
        settings={
            "stride": Setting(steps, 1),
            "padding": Setting(steps, 0),
            "output_padding": Setting(steps, 0),
            "groups": Setting(whole, 1),
            "dilation": Setting(steps, 1),
        },
        shape=_transposed(back_shape(nd), nd),
        dtype=floating,
        forward=_transposed(_back_over_input(nd), nd),
        vjp=(
            lambda g, y, x, weight, *_, output_padding=0, **s: _CONV[nd](g, weight, **s),
            lambda g, y, x, weight, *_, output_padding=0, **s: _KERNEL[nd](g, x, size=_space(weight, nd), **s),
            _bias_rule(nd),
        ),
        samples=tuple((*s[:2], () if len(s[0]) == nd else (s[1][1],))[: len(s)] for s in _samples(nd, True)),
        doc="Every entry of x lays the kernel, times itself, over the result: the transpose of a convolution.",
    )


for _nd in (1, 2):
    _declare(_nd)
    _declare_transposed(_nd)


# NumPy's ----------------------------------------------------------------------------------------


def _convolved(a: Shape, v: Shape, mode: str) -> tuple[int, int]:
    """Where in the full convolution the result begins, and its length."""
    for slot, shape in enumerate((a, v)):
        if len(shape) != 1 or not shape[0]:
            raise ShapeError("needs vectors with entries", {slot: shape_words(shape) if shape else "a scalar"})
    long, short = max(a[0], v[0]), min(a[0], v[0])
    if mode == "full":
        return 0, long + short - 1
    return ((short - 1) // 2, long) if mode == "same" else (short - 1, long - short + 1)


def _convolve_rule(g: Any, a: Any, v: Any, other: Any, mode: str) -> Any:
    start, length = _convolved(shape_of(a), shape_of(v), mode)
    whole_length = shape_of(a)[0] + shape_of(v)[0] - 1
    if mode != "full":
        g = put(g, key=(slice(start, start + length),), shape=(whole_length,))
    return _CONV[1](g, other)


convolve = operator(
    "convolve",
    "a v",
    settings={"mode": one_of("full", "same", "valid")},
    shape=lambda a, v, mode="full": _convolved(a, v, mode)[1:],
    dtype=floating,
    forward=lambda a, v, mode="full": np.convolve(a, v, mode),
    vjp=(
        lambda g, y, a, v, mode="full": _convolve_rule(g, a, v, v, mode),
        lambda g, y, a, v, mode="full": _convolve_rule(g, a, v, a, mode),
    ),
    doc="The convolution of mathematics, whose kernel is turned round: y[n] is the sum of a[m] * v[n - m].",
)

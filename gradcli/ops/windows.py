"""Windows that slide over a signal or an image: how they lie, their settings, and the shapes of convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gradcli.graph.op import Shape, ShapeError
from gradcli.ops.shapes import shape_words, whole

Steps = int | tuple[int, ...]
Padding = Steps | str
Pads = tuple[tuple[int, int], ...]
"""For each axis of space how much is added before it and after it."""


def steps(value: Any) -> Steps:
    """A whole number, or one for each axis of space."""
    try:
        read: Steps = tuple(map(whole, value)) if isinstance(value, (tuple, list)) else whole(value)
    except ValueError:
        raise ValueError("a whole number, or one for each axis, such as (2, 1)") from None
    if min(read if isinstance(read, tuple) else (read,), default=0) < 0:
        raise ValueError("a whole number of at least 0")
    return read


def padding(value: Any) -> Padding:
    """As `steps`, or a word."""
    if isinstance(value, str):
        if value.lower() not in ("same", "valid", "full"):
            raise ValueError('"valid" for no padding, "same" or "full", or a whole number')
        return value.lower()
    return steps(value)


def extent(value: Any) -> Shape:
    """The lengths of the axes of space."""
    read = steps(value)
    return read if isinstance(read, tuple) else (read,)


def for_each(value: Steps, nd: int, name: str, least: int = 1) -> tuple[int, ...]:
    """A setting for each axis of space."""
    each = value if isinstance(value, tuple) else (value,) * nd
    if len(each) == 1:
        each = each * nd
    if len(each) != nd:
        raise ShapeError(
            f"needs `{name}` for each of {nd} axes of space", {name: f"{len(each)} given"}, "or one number"
        )
    if min(each, default=least) < least:
        raise ShapeError(f"needs `{name}` of at least {least}", {name: f"{min(each)} given"})
    return each


class Layout:
    """How one convolution lies: sizes and settings, one for each axis of space."""

    def __init__(
        self,
        nd: int,
        kernel: Shape,
        stride: Steps = 1,
        padding: Padding = 0,
        dilation: Steps = 1,
        groups: int = 1,
        window: int | str = 1,
    ) -> None:
        self.nd = nd
        self.kernel = kernel
        if 0 in kernel:
            raise ShapeError("needs a window with entries", {window: f"its size is {kernel}"})
        self.stride = for_each(stride, nd, "stride")
        self.dilation = for_each(dilation, nd, "dilation")
        self.groups = groups
        self.window = window  # the operand, or the setting, that says how large it is: for messages
        self.reach = tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, kernel, strict=True))
        self.pads = self._pads(padding)
        if groups < 1:
            raise ShapeError("needs at least one group", {"groups": f"{groups} given"})

    def _pads(self, padding: Padding) -> Pads:
        if padding == "valid":
            return ((0, 0),) * self.nd
        if padding == "full":
            return tuple((n - 1, n - 1) for n in self.reach)
        if padding == "same":
            if max(self.stride) > 1:
                raise ShapeError('padding "same" needs a stride of 1', {"stride": f"{self.stride}"}, "give a number")
            return tuple(((n - 1) // 2, n // 2) for n in self.reach)
        assert not isinstance(padding, str)
        return tuple((n, n) for n in for_each(padding, self.nd, "padding", 0))

    def outputs(self, space: Shape) -> Shape:
        """The lengths of the result over an input of these lengths."""
        found = []
        for length, reach, (before, after), stride in zip(space, self.reach, self.pads, self.stride, strict=True):
            if length + before + after < reach or not length:
                padded = f"length {length}, with padding {length + before + after}"
                raise ShapeError(
                    "needs a window that fits into the input and its padding",
                    {0: padded if before + after else f"length {length}", self.window: f"it reaches over {reach}"},
                )
            found.append((length + before + after - reach) // stride + 1)
        return tuple(found)

    def inputs(self, outputs: Shape, extra: Shape) -> Shape:
        """The lengths that give a result of these lengths; a stride leaves up to `extra` more open."""
        return tuple(
            (n - 1) * stride + reach - before - after + more
            for n, reach, (before, after), stride, more in zip(
                outputs, self.reach, self.pads, self.stride, extra, strict=True
            )
        )

    def padding_alone(self, axis: int, places: int, length: int) -> bool:
        """Whether a window along an axis holds padding and nothing else, as a dilated one may."""
        starts = np.arange(places)[:, None] * self.stride[axis] - self.pads[axis][0]
        entries = starts + np.arange(self.kernel[axis]) * self.dilation[axis]
        return bool((~((entries >= 0) & (entries < length)).any(axis=1)).any())

    def padded(self, x: Any, fill: float = 0.0) -> Any:
        """The input with its padding."""
        if not any(map(any, self.pads)):
            return x
        return np.pad(x, ((0, 0),) * (x.ndim - self.nd) + self.pads, constant_values=fill)

    def windows(self, x: Any, fill: float = 0.0) -> Any:
        """(…, *outputs, *kernel): what the kernel covers at each place, as a view of the padded input."""
        axes = tuple(range(-self.nd, 0))
        seen: Any = sliding_window_view(self.padded(x, fill), self.reach, axes)
        places = tuple(slice(None, None, s) for s in self.stride)
        return seen[(..., *places, *(slice(None, None, d) for d in self.dilation))]

    def offsets(self, outputs: Shape) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
        """For each entry of the kernel, where in the padded input it lies, for all places of the result."""
        for at in itertools.product(*map(range, self.kernel)):
            starts = [d * k for d, k in zip(self.dilation, at, strict=True)]
            yield (
                at,
                tuple(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, self.stride, outputs, strict=True)),
            )

    def laid_back(self, parts: Callable[[Shape], Any], outputs: Shape, space: Shape, leading: Shape, dtype: Any) -> Any:
        """The adjoint of `windows`: `parts(at)` is added where the kernel's entry `at` lay."""
        wide = tuple(n + before + after for n, (before, after) in zip(space, self.pads, strict=True))
        result: Any = None
        for at, places in self.offsets(outputs):
            part = parts(at)
            if result is None:  # of the class of its parts, which may be objects
                result = np.zeros_like(part, None if part.dtype == object else dtype, shape=(*leading, *wide))
            result[(..., *places)] += part
        inside = tuple(slice(before, before + n) for n, (before, _) in zip(space, self.pads, strict=True))
        return result[(..., *inside)]


# Shapes of convolutions -----------------------------------------------------------------------------------------


def batch_of(x: Shape, nd: int) -> Shape:
    """The axis of the batch, if there is one before that of the channels."""
    return x[: max(0, len(x) - nd - 1)]


def is_plain(nd: int, x: Shape, kernel: Shape) -> bool:
    """Whether both are without channels; raises ShapeError unless their axes go together."""
    if len(x) == len(kernel) == nd:
        return True
    if len(kernel) == nd + 2 and len(x) in (nd + 1, nd + 2):
        return False
    space = ("length",) if nd == 1 else ("height", "width")
    full = f"(batch, channels, {', '.join(space)})"
    way_out = f"with channels, the input has shape {full} or the same without batch, and the kernel (out, in, …)"
    if len(kernel) == nd and len(x) in (nd + 1, nd + 2):
        way_out = f"a kernel for channels has {nd + 2} axes: reshape({{1}}, {(1, 1, *kernel)})"
    elif len(kernel) == nd + 2 and len(x) == nd:
        way_out = f"an input with one channel: reshape({{0}}, {(1, *x)})"
    plain = "a signal and a kernel of one axis" if nd == 1 else f"an input and a kernel of {nd} axes"
    raise ShapeError(f"needs {plain}, or both with channels", {0: shape_words(x), 1: shape_words(kernel)}, way_out)


def _require(fits: bool, needs: str, x: Shape, kernel: Shape, way_out: str = "") -> None:
    if not fits:
        raise ShapeError(needs, {0: shape_words(x), 1: shape_words(kernel)}, way_out)


def _require_bias(bias: Shape | None, channels: int | None) -> None:
    if bias is not None and bias not in ([(), (1,)] if channels is None else [(channels,)]):
        needs = "one number" if channels is None else f"{channels} numbers, one for each channel of the result"
        raise ShapeError(f"needs a bias of {needs}", {2: shape_words(bias)}, "a stride is named: stride=2")


def conv_shape(nd: int) -> Callable[..., Shape]:
    """Of a convolution: of an input, a kernel and perhaps a bias."""

    def rule(x: Shape, weight: Shape, bias: Shape | None = None, groups: int = 1, **settings: Any) -> Shape:
        plain = is_plain(nd, x, weight)
        layout = Layout(nd, weight[-nd:], groups=groups, **settings)
        if not plain:
            words = f"needs as many channels in {{0}} as {{1}} takes, {weight[1]} for each of {groups} groups"
            _require(x[-nd - 1] == weight[1] * groups, words, x, weight, "a kernel's shape is (out, in / groups, …)")
            _require(weight[0] % groups == 0, f"needs output channels that split into {groups} groups", x, weight)
        _require(not plain or groups == 1, "has no channels to split into groups", x, weight)
        _require_bias(bias, None if plain else weight[0])
        places = layout.outputs(x[-nd:])
        return places if plain else (*batch_of(x, nd), weight[0], *places)

    return rule


def back_shape(nd: int) -> Callable[..., Shape]:
    """Of what goes back through a convolution: the input's shape from the result's."""

    def rule(
        g: Shape, weight: Shape, bias: Shape | None = None, *, size: Shape, groups: int = 1, **settings: Any
    ) -> Shape:
        plain = is_plain(nd, g, weight)
        layout = Layout(nd, weight[-nd:], groups=groups, **settings)
        if not plain:
            _require(g[-nd - 1] == weight[0], "needs as many channels in {0} as {1} has first", g, weight)
            _require(weight[0] % groups == 0, f"needs channels that split into {groups} groups", g, weight)
        _require(not plain or groups == 1, "has no channels to split into groups", g, weight)
        _require(
            len(size) == nd and min(size) > 0 and layout.outputs(size) == g[-nd:], f"does not fit {size}", g, weight
        )
        channels = None if plain else weight[1] * groups
        _require_bias(bias, channels)
        return size if channels is None else (*batch_of(g, nd), channels, *size)

    return rule


def kernel_shape(nd: int) -> Callable[..., Shape]:
    """Of a kernel's gradient: the kernel's shape, from an input and a result."""

    def rule(x: Shape, g: Shape, size: Shape, groups: int = 1, **settings: Any) -> Shape:
        plain = len(x) == len(g) == nd
        _require(plain or (len(x) == len(g) and len(x) in (nd + 1, nd + 2)), "needs equally many axes", x, g)
        _require(len(size) == nd, f"does not fit {size}", x, g)
        layout = Layout(nd, size, groups=groups, **settings)
        _require(
            layout.outputs(x[-nd:]) == g[-nd:] and batch_of(x, nd) == batch_of(g, nd), f"does not fit {size}", x, g
        )
        if plain:
            _require(groups == 1, "has no channels to split into groups", x, g)
            return size
        _require(x[-nd - 1] % groups == 0 == g[-nd - 1] % groups, f"needs {groups} groups", x, g)
        return (g[-nd - 1], x[-nd - 1] // groups, *size)

    return rule

"""Larger tensors of the same entries: a border around them, or copies of them.

What went to several places receives the sum of what comes back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of, size_of
from gradcli.ops.arrange import index, put, reshape
from gradcli.ops.rearrange import axis_or_none, steps
from gradcli.ops.reduce import reshape_like, total
from gradcli.ops.shapes import Axes, normal_axis, one_of, real, same


def counts(value: Any) -> int | tuple[int, ...]:
    """As `steps`, none of them below 0."""
    read = steps(value)
    if min(read if isinstance(read, tuple) else (read,), default=0) < 0:
        raise ValueError("how often: a whole number that is not negative, or a tuple of them")
    return read


def widths(value: Any) -> Any:
    """How much to pad with: n, (before, after), or such a pair for every axis."""
    try:
        if isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value):
            pairs = tuple(counts((*v, *v) if len(v) == 1 else tuple(v)) for v in value)
            if any(len(p) != 2 for p in pairs if isinstance(p, tuple)):
                raise ValueError
            return pairs
        return counts(value)
    except (ValueError, TypeError):
        raise ValueError("n, (before, after), or such a pair for every axis: none negative") from None


# A border ---------------------------------------------------------------------------------------


def _pairs(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Before and after, for every axis."""
    if isinstance(pad_width, int):
        return ((pad_width, pad_width),) * ndim
    if not any(isinstance(w, tuple) for w in pad_width):
        if len(pad_width) in (1, 2):
            return ((pad_width[0], pad_width[-1]),) * ndim
        return last_first(pad_width, ndim)
    if len(pad_width) == 1:
        pad_width = tuple(pad_width) * ndim
    if len(pad_width) != ndim:
        raise ShapeError(
            "needs (before, after) for every axis",
            {0: f"{ndim} axes", "pad_width": f"{len(pad_width)} pairs"},
            "one pair alone is used for all axes",
        )
    return tuple((w, w) if isinstance(w, int) else (w[0], w[1]) for w in pad_width)


def last_first(flat: tuple[int, ...], ndim: int) -> tuple[tuple[int, int], ...]:
    """PyTorch's widths, `(left, right, top, bottom)`: the last axis comes first."""
    if len(flat) % 2 or len(flat) > 2 * ndim:
        raise ShapeError(
            "needs two widths an axis, those of the last axis first",
            {0: f"{ndim} axes", "pad_width": f"{len(flat)} widths"},
        )
    pairs = [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]
    return (*[(0, 0)] * (ndim - len(pairs)), *reversed(pairs))


def _padded(x: Shape, pad_width: Any, mode: str = "constant", value: float = 0.0) -> Shape:
    return tuple(before + n + after for n, (before, after) in zip(x, _pairs(pad_width, len(x)), strict=True))


def _unpadded(g: Any, y: Any, x: Any, pad_width: Any, mode: str = "constant", value: float = 0.0) -> Any:
    shape = shape_of(x)
    pairs = _pairs(pad_width, len(shape))
    if not any(map(any, pairs)):
        return g
    return index(g, key=tuple(slice(before, before + n) for n, (before, _) in zip(shape, pairs, strict=True)))


def _pad(x: Any, pad_width: Any, mode: str = "constant", value: float = 0.0) -> Any:
    pairs = _pairs(pad_width, np.ndim(x))
    return np.pad(x, pairs, constant_values=value) if pairs else x  # NumPy refuses a number, which has no axis to pad


_PAD = {"pad_width": Setting(widths, required=True), "mode": one_of("constant"), "value": Setting(real, 0.0)}

pad: Op = operator(
    "pad",
    "x",
    settings=_PAD,
    shape=_padded,
    forward=_pad,
    vjp=(_unpadded,),
    doc="A border of one number around x. Widths as in NumPy; four or more in a row, and F.pad's, as in PyTorch.",
)

operator(
    "torch.pad",
    "x",
    settings=_PAD,
    shape=same,
    expands=lambda x, pad_width, **rest: (pad, {"pad_width": _torch_widths(pad_width, len(x)), **rest}),
    forward=lambda x, pad_width, **rest: pad(x, pad_width=_torch_widths(pad_width, np.ndim(x)), **rest),
    vjp=None,
    doc="pad as in PyTorch: two widths an axis in one row, those of the last axis first.",
)


def _torch_widths(flat: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if not isinstance(flat, tuple) or any(isinstance(w, tuple) for w in flat):
        raise ShapeError("PyTorch's widths are one row, as in (left, right, top, bottom)", {"pad_width": str(flat)})
    return last_first(flat, ndim)


# Copies -------------------------------------------------------------------------------------------


def _repeats(reps: Any, ndim: int) -> tuple[int, ...]:
    reps = reps if isinstance(reps, tuple) else (reps,)
    return (*[1] * (ndim - len(reps)), *reps)


def _tiled(x: Shape, reps: Any) -> Shape:
    reps = _repeats(reps, len(x))
    return tuple(n * r for n, r in zip((*[1] * (len(reps) - len(x)), *x), reps, strict=True))


def _untiled(g: Any, y: Any, x: Any, reps: Any) -> Any:
    """The copies as axes of their own, and summed over."""
    shape = shape_of(x)
    reps = _repeats(reps, len(shape))
    if all(r == 1 for r in reps):
        return reshape_like(g, shape)
    apart: list[int] = []
    copies = []
    for n, r in zip((*[1] * (len(reps) - len(shape)), *shape), reps, strict=True):
        if r != 1:
            copies.append(len(apart))
            apart.append(r)
        apart.append(n)
    return reshape_like(total(reshape_like(g, tuple(apart)), axis=_one_or(tuple(copies))), shape)


def _one_or(several: tuple[int, ...]) -> Axes:
    return several[0] if len(several) == 1 else several


tile: Op = operator(
    "tile",
    "x",
    spellings=(".repeat",),
    settings={"reps": Setting(counts, required=True, gathers=True)},
    shape=_tiled,
    forward=lambda x, reps: np.tile(x, reps),
    vjp=(_untiled,),
    doc="Copies of x side by side, so many along every axis; each entry receives the sum over its copies. "
    "PyTorch's `x.repeat(2, 3)` is this one.",
)


def _repeated(x: Shape, repeats: Any, axis: int | None = None) -> Shape:
    if axis is None:
        return (_times(_size(x), repeats),)
    at = normal_axis(axis, len(x))
    return (*x[:at], _times(x[at], repeats), *x[at + 1 :])


def _size(x: Shape) -> int:
    size = 1
    for n in x:
        size *= n
    return size


def _times(length: int, repeats: Any) -> int:
    if isinstance(repeats, int):
        return length * repeats
    if len(repeats) == 1:
        return length * int(repeats[0])
    if len(repeats) != length:
        raise ShapeError("needs one number of repeats an entry", {"repeats": f"{len(repeats)} for {length} entries"})
    return sum(repeats)


def _unrepeated(g: Any, y: Any, x: Any, repeats: Any, axis: int | None = None) -> Any:
    shape = shape_of(x)
    if axis is None:
        flat = (size_of(x),)
        return reshape_like(_together(g, flat, repeats, 0), shape)
    return _together(g, shape, repeats, axis % len(shape))


def _together(g: Any, shape: Shape, repeats: Any, at: int) -> Any:
    if isinstance(repeats, tuple) and len(repeats) == 1:
        repeats = repeats[0]
    if isinstance(repeats, int):
        return total(reshape(g, shape=(*shape[: at + 1], repeats, *shape[at + 1 :])), axis=at + 1)
    return put(g, key=(*[slice(None)] * at, np.repeat(np.arange(shape[at]), repeats)), shape=shape)


repeat = operator(
    "repeat",
    "x",
    spellings=("repeat_interleave",),
    settings={"repeats": Setting(counts, required=True), "axis": Setting(axis_or_none, None)},
    shape=_repeated,
    forward=lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    vjp=(_unrepeated,),
    doc="Every entry several times in a row, as np.repeat and torch.repeat_interleave do; PyTorch's method "
    "`x.repeat(2)` is `tile`.",
)

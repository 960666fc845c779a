"""Shape rules shared by whole families of operators, and the settings they read."""

from __future__ import annotations

import math
import operator as py
from collections.abc import Sequence
from typing import Any

from gradcli.graph.op import Setting, Shape, ShapeError

Axes = int | tuple[int, ...] | None


def shape_words(shape: Shape) -> str:
    """How a shape is said in messages: `shape (2, 3)`."""
    return f"shape {tuple(shape)}"


def same(shape: Shape, *_: Shape, **__: Any) -> Shape:
    """The shape of the first operand."""
    return shape


def broadcast(*shapes: Shape, **_: Any) -> Shape:
    """The common shape, as NumPy stretches operands; raises ShapeError where two axes disagree."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    ndim = max(map(len, shapes))
    result = [1] * ndim
    by = [0] * ndim
    for slot, shape in enumerate(shapes):
        for axis, length in enumerate(shape, start=ndim - len(shape)):
            if length == 1 or length == result[axis]:
                continue
            if result[axis] != 1:
                raise _no_broadcast(shapes, by[axis], slot, axis - ndim)
            result[axis], by[axis] = length, slot
    return tuple(result)


def _no_broadcast(shapes: Sequence[Shape], a: int, b: int, axis: int) -> ShapeError:
    found: dict[int | str, str] = {s: f"{shape_words(shapes[s])}, axis {axis} has {shapes[s][axis]}" for s in (a, b)}
    way_out = ""
    short, long = sorted((a, b), key=lambda s: len(shapes[s]))
    rows = shapes[long][0] if shapes[long] else 0
    if len(shapes[short]) == 1 and shapes[short][0] == rows:
        way_out = f"one number a row is a column: reshape({{{short}}}, ({rows}, 1))"
    return ShapeError("needs axes that are equal, or one of them 1, counted from the last", found, way_out)


def normal_axis(axis: int, ndim: int) -> int:
    """The axis counted from the front; raises ShapeError if there is none."""
    if not -ndim <= axis < ndim:
        valid = f"the axes are from -{ndim} to {ndim - 1}" if ndim else "a scalar has no axes"
        raise ShapeError(
            f"there is no axis {axis}",
            {"axis": valid},
            "axes are counted from 0, or from -1 backwards",
        )
    return axis % ndim


def normal_axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    """All axes of a reduction, counted from the front; None means every axis."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(normal_axis(a, ndim) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{axis} names an axis twice", {"axis": "twice"}, "name every axis once")
    return axes


def reduced(shape: Shape, axis: Axes = None, keepdims: bool = False, **_: Any) -> Shape:
    """The shape after a reduction over `axis`."""
    axes = normal_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def reduced_nonempty(shape: Shape, axis: Axes = None, keepdims: bool = False, **_: Any) -> Shape:
    """As `reduced`, for reductions that have no value over nothing."""
    if any(shape[a] == 0 for a in normal_axes(axis, len(shape))):
        raise ShapeError("there is nothing to reduce", {0: shape_words(shape)}, "an axis of length 0 has no such value")
    return reduced(shape, axis, keepdims)


def any_axes(shape: Shape, axis: Axes = None, **_: Any) -> Shape:
    """The shape of the operand, which must have the axes."""
    normal_axes(axis, len(shape))
    return shape


def any_entries(shape: Shape, axis: Axes = None, **_: Any) -> Shape:
    """As `any_axes`, for what has no value over nothing."""
    reduced_nonempty(shape, axis)
    return shape


def along(shape: Shape, axis: int = -1, **_: Any) -> Shape:
    """The shape of the operand, which must have the axis."""
    normal_axis(axis, len(shape))
    return shape


# Reading settings ----------------------------------------------------------------------------


def whole(value: Any) -> int:
    """A whole number."""
    if type(value) is bool or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("a whole number")
    try:
        return int(value) if isinstance(value, float) else py.index(value)
    except TypeError:
        raise ValueError("a whole number") from None


def flag(value: Any) -> bool:
    """True or False."""
    if value not in (True, False):
        raise ValueError("True or False")
    return bool(value)


def real(value: Any) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number")
    return float(value)


def positive(value: Any) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError("a number above 0")
    return float(value)


def part(value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def axes(value: Any) -> Axes:
    """None, an axis or several."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return tuple(map(whole, value))
    try:
        return whole(value)
    except ValueError:
        raise ValueError("an axis, or a tuple of axes") from None


def lengths(value: Any) -> Shape:
    """A shape."""
    try:
        return tuple(map(whole, value)) if isinstance(value, (tuple, list)) else (whole(value),)
    except ValueError:
        raise ValueError("a shape such as (2, 3)") from None


def one_of(*words: str) -> Setting:
    """A setting that is one of a few words; the first is the default."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError("one of " + ", ".join(f'"{w}"' for w in words))
        return str(value)

    return Setting(read, words[0])


AXES = {"axis": Setting(axes, None), "keepdims": Setting(flag, False)}
LAST_AXIS = {"axis": Setting(whole, -1)}


def constant(function: str, number: float, beside: Any) -> Any:
    """The value of a function (`"sqrt"`, `"log"`) at a number, with as many digits as what it is to stand beside."""
    arithmetic = getattr(beside, "arithmetic", None)
    return getattr(math, function)(number) if arithmetic is None else getattr(arithmetic.of(number), function)()


def floats(x: Any) -> Any:
    """x as an array of floating-point numbers (or of objects that are numbers of more digits)."""
    import numpy as np

    x = np.asanyarray(x)
    return x if x.dtype.kind in "fO" else x.astype(float)

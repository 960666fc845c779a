"""Moving whole axes: flattened, squeezed, exchanged, turned round, rolled.

None of these computes; each rule moves the gradient back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of
from gradcli.ops.arrange import transpose
from gradcli.ops.reduce import reshape_like
from gradcli.ops.shapes import (
    Axes,
    any_axes,
    axes,
    normal_axes,
    normal_axis,
    same,
    shape_words,
    whole,
)

# Reading settings ----------------------------------------------------------------------------


def steps(value: Any) -> int | tuple[int, ...]:
    """A whole number, or one for each of several axes."""
    try:
        return tuple(map(whole, value)) if isinstance(value, (tuple, list)) else whole(value)
    except ValueError:
        raise ValueError("a whole number, or a tuple of them") from None


def axis_or_none(value: Any) -> int | None:
    """An axis, or None."""
    return None if value is None else whole(value)


# The same entries in another shape --------------------------------------------------------------


def _reshaping(name: str, shape: Callable[..., Shape], doc: str, operands: str = "x", **block: Any) -> Op:
    """An operator that keeps the entries and their order, and changes the shape alone."""
    return operator(
        name,
        operands,
        shape=shape,
        forward=lambda x, **settings: np.reshape(x, shape(np.shape(x), **settings)),
        vjp=(lambda g, y, x, **settings: reshape_like(g, shape_of(x)),),
        doc=doc,
        **block,
    )


def _flattened(x: Shape, start_dim: int = 0, end_dim: int = -1) -> Shape:
    if not x:
        return (1,)
    start, end = normal_axis(start_dim, len(x)), normal_axis(end_dim, len(x))
    if end < start:
        raise ShapeError("end_dim comes before start_dim", {"end_dim": f"axis {end}"}, f"start_dim is axis {start}")
    length = 1
    for n in x[start : end + 1]:
        length *= n
    return (*x[:start], length, *x[end + 1 :])


flatten = _reshaping(
    "flatten",
    _flattened,
    "All entries in one row, or the axes from start_dim to end_dim made one, as in PyTorch.",
    settings={"start_dim": Setting(whole, 0), "end_dim": Setting(whole, -1)},
)

ravel = _reshaping("ravel", lambda x: _flattened(x), "All entries in one row.")


def _squeezed(x: Shape, axis: Axes = None) -> Shape:
    if axis is None:
        return tuple(n for n in x if n != 1)
    chosen = normal_axes(axis, len(x))
    for a in chosen:
        if x[a] != 1:
            raise ShapeError(
                "only an axis of length 1 can be taken out",
                {0: f"{shape_words(x)}, axis {a} has {x[a]}"},
                "choose one of its entries as in x[0], or reduce the axis as in sum(x, axis=0)",
            )
    return tuple(n for a, n in enumerate(x) if a not in chosen)


squeeze = _reshaping(
    "squeeze",
    _squeezed,
    "x without its axes of length 1, or without those named (as in NumPy, they must have length 1).",
    settings={"axis": Setting(axes, None)},
)

operator(
    "torch.squeeze",
    "x",
    settings={"axis": Setting(axes, None)},
    shape=same,
    expands=lambda x, axis=None: (
        squeeze,
        {} if axis is None else {"axis": tuple(a for a in normal_axes(axis, len(x)) if x[a] == 1)},
    ),
    forward=lambda x, axis=None: np.squeeze(
        x, axis if axis is None else tuple(a for a in normal_axes(axis, np.ndim(x)) if np.shape(x)[a] == 1)
    ),
    vjp=None,
    doc="squeeze as in PyTorch: an axis of another length is left as it is.",
)


def _expanded(x: Shape, axis: Any) -> Shape:
    given = axis if isinstance(axis, tuple) else (0 if axis is None else axis,)
    places = normal_axes(given, len(x) + len(given))
    rest = iter(x)
    return tuple(1 if a in places else next(rest) for a in range(len(x) + len(given)))


expand_dims = _reshaping(
    "expand_dims",
    _expanded,
    "x with a new axis of length 1, which will stand at the place named.",
    spellings=("unsqueeze",),
    settings={"axis": Setting(steps, required=True)},
)

_reshaping("atleast_1d", lambda x: x or (1,), "x, a number as a vector of one entry.")
_reshaping("atleast_2d", lambda x: (*[1] * (2 - len(x)), *x), "x, a vector as a matrix of one row.")


# The axes in another order ------------------------------------------------------------------------


def _reordering(name: str, order: Callable[..., tuple[int, ...]], doc: str, **block: Any) -> Op:
    """An operator that puts the axes in another order: `order(ndim, **settings)`."""

    def rule(g: Any, y: Any, x: Any, **settings: Any) -> Any:
        there = order(len(shape_of(x)), **settings)
        back = tuple(map(int, np.argsort(there)))
        if len(back) < 2 or back == tuple(range(len(back))):
            return g
        return transpose(g) if len(back) == 2 else transpose(g, axes=back)

    return operator(
        name,
        "x",
        shape=lambda x, **settings: tuple(x[a] for a in order(len(x), **settings)),
        forward=lambda x, **settings: np.transpose(x, order(np.ndim(x), **settings)),
        vjp=(rule,),
        doc=doc,
        **block,
    )


def _exchanged(ndim: int, axis1: int, axis2: int) -> tuple[int, ...]:
    a, b = normal_axis(axis1, ndim), normal_axis(axis2, ndim)
    order = list(range(ndim))
    order[a], order[b] = b, a
    return tuple(order)


swapaxes = _reordering(
    "swapaxes",
    _exchanged,
    "Two axes exchanged.",
    spellings=("swapdims",),
    settings={"axis1": Setting(whole, required=True), "axis2": Setting(whole, required=True)},
)


def _moved(ndim: int, source: Any, destination: Any) -> tuple[int, ...]:
    sources = normal_axes(source if isinstance(source, tuple) else (source,), ndim)
    targets = normal_axes(destination if isinstance(destination, tuple) else (destination,), ndim)
    if len(sources) != len(targets):
        raise ShapeError("needs as many destinations as sources", {"destination": f"{len(targets)}"})
    order = [a for a in range(ndim) if a not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return tuple(order)


moveaxis = _reordering(
    "moveaxis",
    _moved,
    "Axes moved to other places; the others keep their order.",
    spellings=("movedim",),
    settings={"source": Setting(steps, required=True), "destination": Setting(steps, required=True)},
)


# Along an axis ------------------------------------------------------------------------------------


flip: Op = operator(
    "flip",
    "x",
    settings={"axis": Setting(axes, None, gathers=True)},
    shape=any_axes,
    forward=lambda x, axis=None: np.flip(x, axis),
    vjp=(lambda g, y, x, **settings: flip(g, **settings),),
    simplify=lambda x, axis=None: x.operands[0] if x.op is flip and x.settings.get("axis") == axis else None,
    doc="The entries in reverse order along an axis, or along every axis.",
)


def _rolled(x: Shape, shift: Any, axis: Axes = None) -> Shape:
    if axis is None:
        return x
    chosen = tuple(normal_axis(a, len(x)) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if not chosen or (isinstance(shift, tuple) and not shift):
        raise ShapeError("needs an axis and a shift", {"shift": f"{shift}"})
    if isinstance(shift, tuple) and len(shift) != len(chosen) and 1 not in (len(shift), len(chosen)):
        raise ShapeError("needs a shift for every axis", {"shift": f"{len(shift)}", "axis": f"{len(chosen)}"})
    return x


roll: Op = operator(
    "roll",
    "x",
    settings={"shift": Setting(steps, required=True), "axis": Setting(axes, None)},
    shape=_rolled,
    forward=lambda x, shift, axis=None: np.roll(x, shift, axis),
    vjp=(
        lambda g, y, x, shift, **axis: roll(
            g, shift=tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, **axis
        ),
    ),
    doc="The entries moved along; what leaves at one end comes in at the other, as in NumPy.",
)

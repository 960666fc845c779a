"""Norms: the length of a vector, of any order, and the slope of a length.

Entries are scaled by a power of two before they are squared, so that nothing overflows or vanishes on the way;
that changes no value which could be computed without.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import POWER, PRODUCT, Op, Setting, Shape, ShapeError, Written, operator
from gradcli.ops.compare import equal, keep
from gradcli.ops.elementwise import absolute, sign
from gradcli.ops.reduce import restore, total
from gradcli.ops.shapes import AXES, Axes, broadcast, floats, normal_axes, real, reduced, reduced_nonempty, shape_words


def scale_of(x: Any, axis: Axes) -> Any:
    """A power of two of the size of the largest entry, so that squares neither overflow nor vanish."""
    top = np.max(np.abs(x), axis=axis, keepdims=True, initial=0)
    return np.ldexp(np.ones_like(top), np.frexp(top)[1] - 1)


def fit(y: Any, axis: Axes, keepdims: bool) -> Any:
    """A reduction that kept its axes, without them unless they are wanted."""
    return y if keepdims else np.squeeze(y, normal_axes(axis, np.ndim(y)))


direction: Op = operator(
    "direction",
    "x y",
    shape=broadcast,
    dtype=floating,
    forward=lambda x, y: np.where(np.equal(y, 0), np.zeros((), np.result_type(x, y, np.float16)), np.divide(x, y)),
    scalar=lambda x, y: 0.0 if y == 0 else x / y,
    vjp=(lambda g, s, x, y: direction(g, y), lambda g, s, x, y: -(g * direction(s, y))),
    broadcasts=True,
    write=lambda shapes: Written("{0} / {1}", PRODUCT, (PRODUCT, PRODUCT + 1)),
    domain=(0.5, 2.0),
    hidden=True,
    doc="x / y, and 0 where y is 0: the slope of a length y, for which at 0 every direction is as good.",
)


def norm_order(value: Any) -> Any:
    """A number above 0, inf, -inf or "fro"."""
    if value is None or value == "fro":
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (value > 0 or value == -math.inf):
        raise ValueError('a number above 0, inf, -inf or "fro"')
    return value


def _is_two(ord: Any) -> bool:
    return ord is None or ord == "fro" or ord == 2


def _norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    size = np.abs(floats(x))
    if ord == math.inf or ord == -math.inf:
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    scale = scale_of(size, axis)
    if _is_two(ord):
        return fit(np.sqrt(np.sum(np.square(size / scale), axis=axis, keepdims=True)) * scale, axis, keepdims)
    powers = np.sum((size / scale) ** ord, axis=axis, keepdims=True)
    return fit(powers ** np.divide(np.ones_like(powers), ord) * scale, axis, keepdims).astype(size.dtype)[()]


def _norm_rule(g: Any, y: Any, x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    g, length = restore(g, x, axis, keepdims), restore(y, x, axis, keepdims)
    if ord == 1:
        return g * sign(x)
    if ord == math.inf or ord == -math.inf:
        size = absolute(x)
        winners = equal(size, length)
        share = total(winners) if axis is None else total(winners, axis=axis, keepdims=True)
        return keep(g * sign(x) / share, winners)
    if _is_two(ord):
        return g * direction(x, length)
    return g * (sign(x) * norm_part(absolute(x), length, ord=ord))


def _part_shape(a: Shape, y: Shape, ord: float) -> Shape:
    return broadcast(a, y)


def _part(a: Any, y: Any, ord: float) -> Any:
    some = np.not_equal(a, 0) & np.not_equal(y, 0)
    return np.where(some, np.divide(a, y) ** np.asanyarray(ord - 1, np.result_type(a, y)), 0).astype(
        np.result_type(a, y)
    )


norm_part: Op = operator(
    "norm_part",
    "a y",
    settings={"ord": Setting(real, required=True)},
    shape=_part_shape,
    dtype=floating,
    forward=_part,
    vjp=(
        lambda g, s, a, y, ord: g * ((ord - 1) * direction(s, a)),
        lambda g, s, a, y, ord: -(g * ((ord - 1) * direction(s, y))),
    ),
    broadcasts=True,
    write=lambda shapes, ord: Written(f"({{0}} / {{1}}) ** {ord - 1:g}", POWER, (PRODUCT, PRODUCT + 1)),
    domain=(0.5, 2.0),
    hidden=True,
    doc="(a / y) ** (ord - 1), and 0 where a is 0: the slope of a norm y of another order.",
)

_NORM = {"ord": Setting(norm_order, None), **AXES}


def _vector_norm_shape(x: Shape, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Shape:
    return (reduced_nonempty if ord in (math.inf, -math.inf) else reduced)(x, axis, keepdims)


def _norm_shape(x: Shape, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Shape:
    matrix = len(axis) > 1 if isinstance(axis, tuple) else axis is None and len(x) > 1
    if matrix and ord is not None and ord != "fro":
        ways = {
            1: "max(sum(abs({0}), axis=0)) is its norm of order 1",
            math.inf: "max(sum(abs({0}), axis=1)) is its norm of order inf",
            2: "the norm of order 2 of a matrix is its largest singular value",
        }
        way_out = ways.get(ord, "")
        raise ShapeError(
            "an order has another meaning for matrices than for vectors",
            {0: shape_words(x)},
            f"{way_out + '; ' if way_out else ''}vector_norm({{0}}, {ord}) takes all entries, an axis every row",
        )
    return _vector_norm_shape(x, ord, axis, keepdims)


_NORM_BLOCK: dict[str, Any] = {
    "operands": "x",
    "settings": _NORM,
    "dtype": floating,
    "forward": _norm,
    "vjp": (_norm_rule,),
    "kink": "at 0 every vector of the unit ball is allowed; the rule uses the zero vector, so norm(x)**2 is smooth; "
    "order 1 has corners at 0 entries, order inf where two are the largest: equal entries share equally",
}

norm = operator(
    "norm",
    shape=_norm_shape,
    doc="The length of a vector, or of all entries of a matrix: sqrt(sum(x**2)). Other orders are of vectors.",
    **_NORM_BLOCK,
)

vector_norm = operator(
    "vector_norm",
    shape=_vector_norm_shape,
    doc="The norm of all entries, or along axes, of any order: sum(abs(x)**ord)**(1/ord).",
    **_NORM_BLOCK,
)

operator(
    "torch.norm",
    "x",
    spellings=(".norm",),
    settings=_NORM,
    shape=_vector_norm_shape,
    expands=lambda x, ord=None, **rest: (norm, rest) if _is_two(ord) else (vector_norm, {"ord": ord, **rest}),
    forward=_norm,
    vjp=None,
    doc="torch.norm, which takes a matrix as the vector of its entries, whatever the order.",
)

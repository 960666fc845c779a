"""Functions of one number, applied entry by entry.

Rules are written with the node's own value `y` where that is the shortest true form, as in textbooks.
Two slopes are computed otherwise than they are written: `1 - sigmoid(x)` and `1 - tanh(x)**2` lose every
digit for large x (the slope of sigmoid at 40 is 4.2e-18, not 0), so they have operators of their own that
print as the textbook does and compute without the cancellation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import SUM, Op, Written, operator
from gradcli.ops.compare import keep
from gradcli.ops.shapes import broadcast, same

exp = operator(
    "exp",
    "x",
    shape=same,
    dtype=floating,
    forward=np.exp,
    scalar=math.exp,
    vjp=(lambda g, y, x: g * y,),
    sympy=lambda s, x: s.exp(x),
    doc="e to the power x; it is its own slope.",
)

log = operator(
    "log",
    "x",
    spellings=("ln",),
    shape=same,
    dtype=floating,
    forward=np.log,
    scalar=math.log,
    vjp=(lambda g, y, x: g / x,),
    sympy=lambda s, x: s.log(x),
    domain=(0.3, 3.0),
    doc="The natural logarithm; slope 1 / x.",
)

sqrt = operator(
    "sqrt",
    "x",
    shape=same,
    dtype=floating,
    forward=np.sqrt,
    scalar=math.sqrt,
    vjp=(lambda g, y, x: g / (2 * y),),
    sympy=lambda s, x: s.sqrt(x),
    domain=(0.3, 3.0),
    doc="The square root; slope 1 / (2 * sqrt(x)).",
    kink="at 0 the slope is infinite",
    stable=(
        ("sqrt(x * x + y) - x", "y / (sqrt(x * x + y) + x)"),
        ("sqrt(x**2 + y) - x", "y / (sqrt(x**2 + y) + x)"),
        ("sqrt(x + y) - sqrt(x)", "y / (sqrt(x + y) + sqrt(x))"),
    ),
)

square = operator(
    "square",
    "x",
    shape=same,
    forward=np.square,
    scalar=lambda x: x * x,
    vjp=(lambda g, y, x: g * (2 * x),),
    sympy=lambda s, x: x**2,
    doc="x * x; slope 2 * x.",
)

sign = operator(
    "sign",
    "x",
    spellings=("sgn",),
    shape=same,
    forward=np.sign,
    scalar=lambda x: x if x != x else float((x > 0) - (x < 0)),
    vjp=(lambda g, y, x: g * 0,),
    sympy=lambda s, x: s.sign(x),
    doc="-1, 0 or 1; flat, so nothing flows back.",
    kink="it jumps at 0; the rule says 0 there as everywhere",
)

absolute = operator(
    "abs",
    "x",
    spellings=("absolute", "fabs"),
    shape=same,
    forward=np.abs,
    scalar=abs,
    vjp=(lambda g, y, x: g * sign(x),),
    sympy=lambda s, x: s.Abs(x),
    doc="The absolute value; slope -1 or 1.",
    kink="at 0 every slope from -1 to 1 is allowed; the rule uses 0",
)

sin: Op = operator(
    "sin",
    "x",
    shape=same,
    dtype=floating,
    forward=np.sin,
    scalar=math.sin,
    vjp=(lambda g, y, x: g * cos(x),),
    sympy=lambda s, x: s.sin(x),
    doc="The sine; slope cos(x).",
    stable=(("1 - cos(x)", "2 * sin(x / 2)**2"),),
)

cos: Op = operator(
    "cos",
    "x",
    shape=same,
    dtype=floating,
    forward=np.cos,
    scalar=math.cos,
    vjp=(lambda g, y, x: -g * sin(x),),
    sympy=lambda s, x: s.cos(x),
    doc="The cosine; slope -sin(x).",
)

tanh: Op = operator(
    "tanh",
    "x",
    shape=same,
    dtype=floating,
    forward=np.tanh,
    scalar=math.tanh,
    vjp=(lambda g, y, x: g * tanh_slope(y, x),),
    sympy=lambda s, x: s.tanh(x),
    doc="The hyperbolic tangent; slope 1 - tanh(x)**2.",
    stable=(("1 - tanh(x)", "2 * sigmoid(-2 * x)"),),
)


def _tanh_slope(y: Any, x: Any) -> Any:
    s = 1 / np.cosh(x)
    return s * s


def _tanh_slope_scalar(y: float, x: float) -> float:
    s = 1 / math.cosh(x)
    return s * s


tanh_slope: Op = operator(
    "tanh_slope",
    "y x",
    shape=same,
    dtype=floating,
    forward=_tanh_slope,
    scalar=_tanh_slope_scalar,
    vjp=(None, lambda g, s, y, x: -g * (2 * y) * s),
    write=lambda shapes: Written("1 - {0} ** 2", SUM, (15,)),
    hidden=True,
    doc="1 - tanh(x)**2 without cancellation, given y = tanh(x).",
)


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(np.asanyarray(x) >= 0, 1, e) / (1 + e)


def _sigmoid_scalar(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)


sigmoid: Op = operator(
    "sigmoid",
    "x",
    spellings=("expit", "σ", "logistic"),
    shape=same,
    dtype=floating,
    forward=_sigmoid,
    scalar=_sigmoid_scalar,
    vjp=(lambda g, y, x: g * (y * sigmoid_rest(y, x)),),
    sympy=lambda s, x: 1 / (1 + s.exp(-x)),
    doc="1 / (1 + exp(-x)); slope y * (1 - y).",
    stable=(
        ("1 - sigmoid(x)", "sigmoid(-x)"),
        ("1 / (1 + exp(-x))", "sigmoid(x)"),
        ("exp(x) / (1 + exp(x))", "sigmoid(x)"),
        ("1 - 1 / (1 + exp(-x))", "sigmoid(-x)"),
    ),
)


def _sigmoid_less(y: Any, x: Any, t: Any) -> Any:
    e = np.exp(-np.abs(x))
    return (np.where(np.asanyarray(x) >= 0, 1 - t, (1 - t) * e) - np.where(np.asanyarray(x) >= 0, t * e, t)) / (1 + e)


def _sigmoid_less_scalar(y: float, x: float, t: float) -> float:
    e = math.exp(-abs(x))
    return ((1 - t) - t * e if x >= 0 else (1 - t) * e - t) / (1 + e)


sigmoid_less: Op = operator(
    "sigmoid_less",
    "y x t",
    shape=lambda y, x, t: broadcast(x, t),
    dtype=floating,
    forward=_sigmoid_less,
    scalar=_sigmoid_less_scalar,
    vjp=(None, lambda g, r, y, x, t: g * (y * sigmoid_rest(y, x)), lambda g, r, y, x, t: -g),
    broadcasts=True,
    write=lambda shapes: Written("{0} - {2}", SUM, (SUM, 0, SUM + 1)),
    hidden=True,
    doc="sigmoid(x) - t without cancellation, given y = sigmoid(x).",
)

sigmoid_rest: Op = operator(
    "sigmoid_rest",
    "y x",
    shape=same,
    dtype=floating,
    forward=lambda y, x: _sigmoid(-np.asanyarray(x)),
    scalar=lambda y, x: _sigmoid_scalar(-x),
    vjp=(None, lambda g, r, y, x: -g * (y * r)),
    write=lambda shapes: Written("1 - {0}", SUM, (SUM + 1,)),
    hidden=True,
    doc="1 - sigmoid(x) without cancellation, given y = sigmoid(x).",
)

relu = operator(
    "relu",
    "x",
    spellings=("ReLU",),
    shape=same,
    # not np.maximum(x, 0): a float32 x must stay float32, and NaN must stay NaN
    forward=lambda x: np.maximum(x, np.zeros((), np.asanyarray(x).dtype)),
    scalar=lambda x: x if x > 0 or x != x else 0.0,
    vjp=(lambda g, y, x: keep(g, x > 0),),
    sympy=lambda s, x: s.Max(x, 0),
    doc="max(x, 0); the upstream gradient passes where x > 0.",
    kink="at 0 every slope from 0 to 1 is allowed; the rule uses 0",
)

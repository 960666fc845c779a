"""The error function and the normal distribution: erf, erfc, and what GELU is made of.

NumPy has no error function; the one of Python's `math` is applied entry by entry.
The density exp(-x**2 / 2) dies out so fast that `x` times it is 0 long before x is infinite: `settled` keeps that
product from being 0 * inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import ATOM, POSTFIX, PRODUCT, Op, Setting, Written, operator
from gradcli.ops.compare import keep
from gradcli.ops.shapes import constant, positive, same


def _within(x: Any, limit: float, g: Any) -> Any:
    return keep(keep(g, x >= -limit), x <= limit)


settled: Op = operator(
    "settled",
    "x",
    settings={"limit": Setting(positive, required=True)},
    shape=same,
    forward=lambda x, limit: np.clip(x, -limit, limit),
    vjp=(lambda g, y, x, limit: _within(x, limit, g),),
    write=lambda shapes, limit: Written("{0}", ATOM, (ATOM,)),
    hidden=True,
    doc="x, held within a limit beyond which what it is multiplied with is 0 in every precision.",
)


def _erf(x: Any) -> Any:
    return math.erf(x) if isinstance(x, (float, int)) else x.erf()


def _erfc(x: Any) -> Any:
    return math.erfc(x) if isinstance(x, (float, int)) else x.erfc()


def _pi(beside: Any) -> Any:
    return 4 * constant("atan", 1, beside)


def _root(x: Any) -> Any:
    return math.sqrt(x) if isinstance(x, float) else x.sqrt()


def entrywise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of numbers for arrays, which keeps their precision."""
    vectorised = np.vectorize(function, otypes=[float])
    of_objects = np.frompyfunc(function, 1, 1)

    def forward(x: Any) -> Any:
        array = np.asanyarray(x)
        if array.dtype == object:
            return of_objects(x if hasattr(x, "arithmetic") and array.shape else array)
        dtype = array.dtype if array.dtype.kind == "f" else np.dtype(float)
        return np.asanyarray(vectorised(array), dtype)[()]

    return forward


erf: Op = operator(
    "erf",
    "x",
    shape=same,
    dtype=floating,
    forward=entrywise(_erf),
    scalar=math.erf,
    vjp=(lambda g, y, x: g * erf_slope(x),),
    sympy=lambda s, x: s.erf(x),
    doc="The error function; slope 2 / sqrt(pi) * exp(-x**2).",
)

erfc: Op = operator(
    "erfc",
    "x",
    shape=same,
    dtype=floating,
    forward=entrywise(_erfc),
    scalar=math.erfc,
    vjp=(lambda g, y, x: -(g * erf_slope(x)),),
    sympy=lambda s, x: s.erfc(x),
    doc="1 - erf(x), with all its digits for large x; slope -2 / sqrt(pi) * exp(-x**2).",
)

erf_slope: Op = operator(
    "erf_slope",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: 2 / _root(_pi(x)) * np.exp(-np.square(x)),
    scalar=lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x),
    vjp=(lambda g, y, x: -(g * (2 * settled(x, limit=40.0) * y)),),
    write=lambda shapes: Written("2 / sqrt(pi) * exp(-{0} ** 2)", PRODUCT, (POSTFIX,)),
    hidden=True,
    doc="The slope of erf.",
)


def _normal_cdf(x: Any) -> Any:
    return _erfc(-x / constant("sqrt", 2, x)) / 2


normal_cdf: Op = operator(
    "normal_cdf",
    "x",
    shape=same,
    dtype=floating,
    # (1 + erf) / 2 has no digit left for x below -8
    forward=entrywise(_normal_cdf),
    scalar=_normal_cdf,
    vjp=(lambda g, y, x: g * normal_density(x),),
    sympy=lambda s, x: (1 + s.erf(x / s.sqrt(2))) / 2,
    write=lambda shapes: Written("(1 + erf({0} / sqrt(2))) / 2", PRODUCT, (PRODUCT,)),
    hidden=True,
    doc="The part of a normal distribution that lies below x.",
)

normal_density: Op = operator(
    "normal_density",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: np.exp(-np.square(x) / 2) / _root(2 * _pi(x)),
    scalar=lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    vjp=(lambda g, y, x: -(g * (settled(x, limit=60.0) * y)),),
    write=lambda shapes: Written("exp(-{0} ** 2 / 2) / sqrt(2 * pi)", PRODUCT, (POSTFIX,)),
    hidden=True,
    doc="The density of the normal distribution.",
)

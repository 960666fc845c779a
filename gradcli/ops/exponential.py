"""Exponentials, logarithms and roots beyond the common ones.

Rules are those of calculus; a logarithm to another base is the natural one divided by log(base).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import PRODUCT, Op, Setting, Written, operator
from gradcli.ops.arithmetic import over_square
from gradcli.ops.elementwise import exp, sigmoid
from gradcli.ops.shapes import broadcast, constant, real, same

times_log: Op = operator(
    "times_log",
    "x",
    settings={"base": Setting(real, required=True)},
    shape=same,
    dtype=floating,
    forward=lambda x, base: x * constant("log", base, x),
    vjp=(lambda g, y, x, base: times_log(g, base=base),),
    write=lambda shapes, base: Written(f"{{0}} * log({base:g})", PRODUCT, (PRODUCT,)),
    hidden=True,
    doc="x * log(base), which prints the base and not its logarithm's sixteen digits.",
)


def _logarithm(base: int, forward: Callable[..., Any], scalar: Callable[..., Any]) -> Op:
    return operator(
        f"log{base}",
        "x",
        shape=same,
        dtype=floating,
        forward=forward,
        scalar=scalar,
        vjp=(lambda g, y, x: g / times_log(x, base=base),),
        sympy=lambda s, x: s.log(x, base),
        domain=(0.3, 3.0),
        doc=f"The logarithm to base {base}; slope 1 / (x * log({base})).",
        kink="at 0 the slope is infinite",
    )


log2 = _logarithm(2, np.log2, math.log2)
log10 = _logarithm(10, np.log10, math.log10)

log1p = operator(
    "log1p",
    "x",
    shape=same,
    dtype=floating,
    forward=np.log1p,
    scalar=math.log1p,
    vjp=(lambda g, y, x: g / (1 + x),),
    sympy=lambda s, x: s.log(1 + x),
    domain=(-0.6, 2.0),
    doc="log(1 + x), with all its digits for small x; slope 1 / (1 + x).",
    kink="at -1 the slope is infinite",
    stable=(("log(1 + x)", "log1p(x)"),),
)

expm1 = operator(
    "expm1",
    "x",
    shape=same,
    dtype=floating,
    forward=np.expm1,
    scalar=math.expm1,
    # not y + 1, which is 0 long before exp(x) is
    vjp=(lambda g, y, x: g * exp(x),),
    sympy=lambda s, x: s.exp(x) - 1,
    doc="exp(x) - 1, with all its digits for small x; slope exp(x).",
    stable=(("exp(x) - 1", "expm1(x)"),),
)

exp2 = operator(
    "exp2",
    "x",
    shape=same,
    dtype=floating,
    forward=np.exp2,
    scalar=lambda x: math.pow(2.0, x),
    vjp=(lambda g, y, x: times_log(g * y, base=2),),
    sympy=lambda s, x: 2**x,
    doc="2 to the power x; slope 2**x * log(2).",
)

reciprocal = operator(
    "reciprocal",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: np.divide(1, x),
    scalar=lambda x: 1 / x,
    vjp=(lambda g, y, x: -over_square(g, x),),
    sympy=lambda s, x: 1 / x,
    domain=(0.3, 3.0),
    doc="1 / x; slope -1 / x**2.",
)

rsqrt = operator(
    "rsqrt",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: 1 / np.sqrt(x),
    scalar=lambda x: 1 / math.sqrt(x),
    vjp=(lambda g, y, x: -(g * y / (2 * x)),),
    sympy=lambda s, x: 1 / s.sqrt(x),
    domain=(0.3, 3.0),
    doc="1 / sqrt(x); slope -1 / (2 * x * sqrt(x)).",
    kink="at 0 value and slope are infinite",
)

cbrt = operator(
    "cbrt",
    "x",
    shape=same,
    dtype=floating,
    forward=np.cbrt,
    scalar=math.cbrt,
    vjp=(lambda g, y, x: g / (3 * y**2),),
    sympy=lambda s, x: s.sign(x) * s.Abs(x) ** s.Rational(1, 3),
    domain=(0.3, 3.0),
    doc="The cube root, also of negative numbers; slope 1 / (3 * cbrt(x)**2).",
    kink="at 0 the slope is infinite",
)

logit = operator(
    "logit",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: np.log(x) - np.log1p(np.negative(x)),
    scalar=lambda x: math.log(x) - math.log1p(-x),
    vjp=(lambda g, y, x: g / (x * (1 - x)),),
    sympy=lambda s, x: s.log(x / (1 - x)),
    domain=(0.1, 0.9),
    doc="log(x / (1 - x)), which undoes sigmoid; slope 1 / (x * (1 - x)).",
    kink="at 0 and 1 value and slope are infinite",
)


def _logaddexp_scalar(a: float, b: float) -> float:
    return a if a == b and math.isinf(a) else max(a, b) + math.log1p(math.exp(-abs(a - b)))


logaddexp = operator(
    "logaddexp",
    "a b",
    shape=broadcast,
    dtype=floating,
    forward=np.logaddexp,
    scalar=_logaddexp_scalar,
    # exp(a) / (exp(a) + exp(b)), which nothing can make overflow
    vjp=(lambda g, y, a, b: g * sigmoid(a - b), lambda g, y, a, b: g * sigmoid(b - a)),
    broadcasts=True,
    sympy=lambda s, a, b: s.log(s.exp(a) + s.exp(b)),
    doc="log(exp(a) + exp(b)) without overflow; the slopes are the softmax of the two.",
)


def _ratio(a: Any, b: Any) -> Any:
    nothing = np.equal(a, 0)
    return np.where(nothing, np.zeros((), np.result_type(a, b)), np.divide(a, np.where(nothing, 1, b)))


def _ratio_scalar(a: float, b: float) -> float:
    return 0.0 if a == 0 else a / b


ratio: Op = operator(
    "ratio",
    "a b",
    shape=broadcast,
    dtype=floating,
    forward=_ratio,
    scalar=_ratio_scalar,
    vjp=(lambda g, y, a, b: g / b, lambda g, y, a, b: -(g * ratio(y, b))),
    broadcasts=True,
    write=lambda shapes: Written("{0} / {1}", PRODUCT, (PRODUCT, PRODUCT + 1)),
    domain=(0.5, 2.0),
    hidden=True,
    doc="a / b, and 0 where a is 0: a part of a whole, or of a loss, that is not there adds nothing.",
)

hypot = operator(
    "hypot",
    "a b",
    shape=broadcast,
    dtype=floating,
    forward=np.hypot,
    scalar=math.hypot,
    vjp=(lambda g, y, a, b: g * ratio(a, y), lambda g, y, a, b: g * ratio(b, y)),
    broadcasts=True,
    sympy=lambda s, a, b: s.sqrt(a**2 + b**2),
    doc="sqrt(a**2 + b**2) without overflow; the slopes are a / y and b / y.",
    kink="at (0, 0) every direction of length at most 1 is allowed; the rule uses 0",
    stable=(("sqrt(x * x + y * y)", "hypot(x, y)"), ("sqrt(x**2 + y**2)", "hypot(x, y)")),
)

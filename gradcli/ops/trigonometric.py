"""Functions of the circle and the hyperbola, and those that undo them.

The slopes of the inverse ones hold `1 - x**2` and square roots of it: those have operators of their own, which print
as the textbook does and compute from (1 - x) * (1 + x), where nothing cancels near 1 and nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import ATOM, POSTFIX, SUM, Op, Written, operator
from gradcli.ops.arithmetic import over_square
from gradcli.ops.exponential import hypot
from gradcli.ops.shapes import broadcast, same

tan = operator(
    "tan",
    "x",
    shape=same,
    dtype=floating,
    forward=np.tan,
    scalar=math.tan,
    vjp=(lambda g, y, x: g * (1 + y**2),),
    sympy=lambda s, x: s.tan(x),
    domain=(-1.4, 1.4),
    doc="The tangent; slope 1 + tan(x)**2.",
)

sinh: Op = operator(
    "sinh",
    "x",
    shape=same,
    dtype=floating,
    forward=np.sinh,
    scalar=math.sinh,
    vjp=(lambda g, y, x: g * cosh(x),),
    sympy=lambda s, x: s.sinh(x),
    doc="The hyperbolic sine; slope cosh(x).",
)

cosh: Op = operator(
    "cosh",
    "x",
    shape=same,
    dtype=floating,
    forward=np.cosh,
    scalar=math.cosh,
    vjp=(lambda g, y, x: g * sinh(x),),
    sympy=lambda s, x: s.cosh(x),
    doc="The hyperbolic cosine; slope sinh(x).",
)


def _root(name: str, square: str, domain: tuple[float, float], forward: Any, scalar: Any) -> Op:
    """The square root of `square`; its slope is x (or, of 1 - x**2, -x) over the root itself."""
    falls = square.startswith("1 -")
    return operator(
        name,
        "x",
        shape=same,
        dtype=floating,
        forward=forward,
        scalar=scalar,
        vjp=(lambda g, y, x: -(g * x / y) if falls else g * x / y,),
        write=lambda shapes: Written(f"sqrt({square})", ATOM, (POSTFIX,)),
        domain=domain,
        hidden=True,
        doc=f"The square root of {square.format('x')}, in which no square overflows and nothing cancels.",
    )


root_over = _root(
    "root_over",
    "{0} ** 2 + 1",
    (-2.0, 2.0),
    lambda x: np.hypot(x, np.ones((), np.asanyarray(x).dtype)),
    lambda x: math.hypot(x, 1.0),
)
root_outside = _root(
    "root_outside",
    "{0} ** 2 - 1",
    (1.2, 3.0),
    lambda x: np.sqrt(x - 1) * np.sqrt(x + 1),
    lambda x: math.sqrt(x - 1) * math.sqrt(x + 1),
)
root_inside = _root(
    "root_inside",
    "1 - {0} ** 2",
    (-0.85, 0.85),
    lambda x: np.sqrt(1 - x) * np.sqrt(1 + x),
    lambda x: math.sqrt(1 - x) * math.sqrt(1 + x),
)

one_less_square: Op = operator(
    "one_less_square",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: (1 - x) * (1 + x),
    scalar=lambda x: (1 - x) * (1 + x),
    vjp=(lambda g, y, x: -(g * (2 * x)),),
    write=lambda shapes: Written("1 - {0} ** 2", SUM, (POSTFIX,)),
    hidden=True,
    doc="1 - x**2, in which nothing cancels near 1.",
)


def _inverse(name: str, of: str, forward: Any, scalar: Callable[[float], float], rule: Any, **block: Any) -> Op:
    """A function that undoes another, under its short name and NumPy's long one."""
    return operator(
        f"a{name}",
        "x",
        spellings=(f"arc{name}",),
        shape=same,
        dtype=floating,
        forward=forward,
        scalar=scalar,
        vjp=(rule,),
        sympy=lambda s, x: getattr(s, f"a{name}")(x),
        doc=f"The inverse of {name}{of}.",
        **block,
    )


asin = _inverse(
    "sin",
    "; slope 1 / sqrt(1 - x**2)",
    np.arcsin,
    math.asin,
    lambda g, y, x: g / root_inside(x),
    domain=(-0.85, 0.85),
    kink="at -1 and 1 the slope is infinite",
)
acos = _inverse(
    "cos",
    "; slope -1 / sqrt(1 - x**2)",
    np.arccos,
    math.acos,
    lambda g, y, x: -(g / root_inside(x)),
    domain=(-0.85, 0.85),
    kink="at -1 and 1 the slope is infinite",
)
atan = _inverse(
    "tan",
    "; slope 1 / (1 + x**2)",
    np.arctan,
    math.atan,
    lambda g, y, x: g / (1 + x**2),
)
asinh = _inverse(
    "sinh",
    "; slope 1 / sqrt(x**2 + 1)",
    np.arcsinh,
    math.asinh,
    lambda g, y, x: g / root_over(x),
)
acosh = _inverse(
    "cosh",
    "; slope 1 / sqrt(x**2 - 1)",
    np.arccosh,
    math.acosh,
    lambda g, y, x: g / root_outside(x),
    domain=(1.2, 3.0),
    kink="at 1 the slope is infinite",
)
atanh = _inverse(
    "tanh",
    "; slope 1 / (1 - x**2)",
    np.arctanh,
    math.atanh,
    lambda g, y, x: g / one_less_square(x),
    domain=(-0.85, 0.85),
    kink="at -1 and 1 value and slope are infinite",
)

atan2 = operator(
    "atan2",
    "a b",
    spellings=("arctan2",),
    shape=broadcast,
    dtype=floating,
    forward=np.arctan2,
    scalar=math.atan2,
    # b / (a**2 + b**2), whose squares might overflow or vanish
    vjp=(
        lambda g, y, a, b: g * over_square(b, hypot(a, b)),
        lambda g, y, a, b: -(g * over_square(a, hypot(a, b))),
    ),
    broadcasts=True,
    sympy=lambda s, a, b: s.atan2(a, b),
    domain=(0.2, 2.0),
    doc="The angle of the point (b, a), from -pi to pi; slopes b / (a**2 + b**2) and -a / (a**2 + b**2).",
    kink="at (0, 0) there is no angle, and its slope is nan; the value jumps where a is 0 and b negative",
)

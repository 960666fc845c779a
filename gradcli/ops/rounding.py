"""Steps and remainders: functions that are flat wherever they have a slope, and what they leave over.

The slope of a step is 0 (and infinite at the jump itself, which no rule can use): nothing flows back, not even where
what comes from above is infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import boolean, floating
from gradcli.graph.node import CONSTANT, Node
from gradcli.graph.op import ATOM, PRODUCT, Op, Setting, Written, operator
from gradcli.ops.compare import keep, maximum
from gradcli.ops.shapes import broadcast, same, whole

flat: Op = operator(
    "flat",
    "g",
    shape=same,
    forward=lambda g: np.zeros_like(g)[()],
    scalar=lambda g: 0.0,
    vjp=(lambda h, y, g: flat(h),),
    write=lambda shapes: Written("{0} * 0", PRODUCT, (PRODUCT,)),
    hidden=True,
    doc="What comes through a step: 0, whatever g is.",
)


def _step(name: str, spellings: tuple[str, ...], forward: Any, scalar: Callable[[float], float], doc: str) -> Op:
    return operator(
        name,
        "x",
        spellings=spellings,
        shape=same,
        dtype=floating,
        forward=forward,
        scalar=lambda x: float(scalar(x)),
        vjp=(lambda g, y, x: flat(g),),
        doc=f"{doc}; flat, so nothing flows back.",
        kink="it jumps; the rule says 0 there as everywhere",
    )


floor = _step("floor", (), np.floor, math.floor, "The largest whole number that is not above x")
ceil = _step("ceil", (), np.ceil, math.ceil, "The smallest whole number that is not below x")
trunc = _step("trunc", ("fix",), np.trunc, math.trunc, "x without its fraction")


def places(value: Any) -> int:
    """A number of decimals."""
    return whole(value)


rounded = operator(
    "round",
    "x",
    spellings=("around", "rint"),
    settings={"decimals": Setting(places, 0)},
    shape=same,
    dtype=floating,
    forward=lambda x, decimals=0: np.round(x, decimals),
    vjp=(lambda g, y, x, decimals=0: flat(g),),
    doc="The nearest number with so many decimals, halves to the even one; flat, so nothing flows back.",
    kink="it jumps; the rule says 0 there as everywhere",
)

frac = operator(
    "frac",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: x - np.trunc(x),
    scalar=lambda x: math.fmod(x, 1.0),
    vjp=(lambda g, y, x: g,),
    doc="x - trunc(x): the fraction, with the sign of x; slope 1.",
    kink="it jumps at whole numbers; the rule says 1 there as everywhere",
)


def _finite_quotient(divide: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """Python's form where it means what NumPy's does; otherwise NumPy is asked."""

    def scalar(a: float, b: float) -> float:
        if not math.isfinite(a) or not math.isfinite(b):
            raise ValueError
        return divide(float(a), float(b))

    return scalar


floor_divide = operator(
    "floor_divide",
    "a b",
    infix="//",
    binds=PRODUCT,
    shape=broadcast,
    dtype=floating,
    forward=np.floor_divide,
    scalar=_finite_quotient(lambda a, b: a // b),
    vjp=(lambda g, y, a, b: flat(g), lambda g, y, a, b: flat(g)),
    broadcasts=True,
    domain=(1.02, 1.98),
    doc="a / b rounded down; flat, so nothing flows back.",
    kink="it jumps; the rule says 0 there as everywhere",
)

trunc_divide: Op = operator(
    "trunc_divide",
    "a b",
    shape=broadcast,
    dtype=floating,
    # trunc(a / b) would take 1 / 0.1 for 10, where the remainder is that of 9
    forward=lambda a, b: np.round((a - np.fmod(a, b)) / b),
    scalar=_finite_quotient(lambda a, b: float(round((a - math.fmod(a, b)) / b))),
    vjp=(lambda g, y, a, b: flat(g), lambda g, y, a, b: flat(g)),
    broadcasts=True,
    write=lambda shapes: Written("trunc({0} / {1})", ATOM, (PRODUCT, PRODUCT + 1)),
    domain=(1.02, 1.98),
    hidden=True,
    doc="a / b without its fraction.",
)


def _remainder(name: str, quotient: Op, forward: Any, scalar: Any, doc: str, **block: Any) -> Op:
    return operator(
        name,
        "a b",
        shape=broadcast,
        dtype=floating,
        forward=forward,
        scalar=_finite_quotient(scalar),
        vjp=(lambda g, y, a, b: g, lambda g, y, a, b: -(g * quotient(a, b))),
        broadcasts=True,
        domain=(1.02, 1.98),
        doc=f"{doc}; slope 1, and minus the whole quotient.",
        kink="it jumps where the quotient is whole; the rule takes the side on which the remainder is 0",
        **block,
    )


mod = _remainder(
    "mod",
    floor_divide,
    np.mod,
    lambda a, b: a % b,
    "What floor(a / b) * b leaves over, with the sign of b",
    spellings=("remainder",),
    infix="%",
    binds=PRODUCT,
)
fmod = _remainder(
    "fmod",
    trunc_divide,
    np.fmod,
    math.fmod,
    "What trunc(a / b) * b leaves over, with the sign of a",
)


def _clip_scalar(x: float, low: float = -math.inf, high: float = math.inf) -> float:
    # an entry that is no number stays none, and `high` has the last word, as in NumPy
    if x != x or low != low or high != high:
        return math.nan
    return min(max(x, low), high)


def _left_out(low: Any) -> bool:
    """Whether a lower bound is the -inf that stands in for none."""
    return type(low) is Node and low.op is CONSTANT and low.shape == () and low.data == -math.inf


def _inside(g: Any, y: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    """Nothing is said of a bound that was left out."""
    if low is not None and not _left_out(low):
        g = keep(g, x >= low)
    return g if high is None else keep(g, x <= high)


clip = operator(
    "clip",
    "x min max",
    spellings=("clamp",),
    optional={"min": -math.inf, "max": math.inf},
    shape=broadcast,
    forward=lambda x, low=-math.inf, high=math.inf: np.clip(x, low, high),
    scalar=_clip_scalar,
    vjp=(
        _inside,
        lambda g, y, x, low, high=math.inf: keep(keep(g, x < low), low <= high),
        lambda g, y, x, low, high: keep(g, maximum(x, low) > high),
    ),
    broadcasts=True,
    doc="x, but at least min and at most max; either may be left out.",
    kink="at a bound the gradient passes to x, as in PyTorch",
)


def _mask(name: str, forward: Any, scalar: Callable[[float], bool], what: str) -> Op:
    return operator(
        name,
        "x",
        shape=same,
        dtype=boolean,
        forward=forward,
        scalar=scalar,
        vjp=(None,),
        doc=f"Whether x is {what}, entry by entry; a mask, so it carries no gradient.",
    )


isnan = _mask("isnan", np.isnan, math.isnan, "nan, that is, no number")
isinf = _mask("isinf", np.isinf, math.isinf, "inf or -inf")
isfinite = _mask("isfinite", np.isfinite, math.isfinite, "an ordinary number, neither infinite nor nan")

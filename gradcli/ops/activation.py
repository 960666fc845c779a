"""Activations of neural networks.

A slope that is computed for an entry on its other branch must not spoil it: branches are chosen with `where`, and
exponentials are taken where they are at most 1.  `settled(x)` prints as x and is x wherever its factor is not 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import SUM, Op, Setting, Written, operator
from gradcli.ops.arithmetic import over_square
from gradcli.ops.compare import keep, where
from gradcli.ops.elementwise import _sigmoid, absolute, sigmoid, sigmoid_rest, tanh, tanh_slope
from gradcli.ops.error_function import normal_cdf, normal_density, settled
from gradcli.ops.shapes import broadcast, flag, positive, real, same


def _number(x: Any) -> Any:
    return np.asanyarray(x)


def _zero(x: Any) -> Any:
    """A 0 of the precision of x: beside a 0 of full precision a float32 would not stay one."""
    return np.zeros((), np.asanyarray(x).dtype)


def _gated(x: Any, gate: Any) -> Any:
    """x * gate, and 0 where the gate is shut, even for x = -inf."""
    return np.where(np.equal(gate, 0), np.zeros((), np.asanyarray(gate).dtype), x * gate)


# Smooth ones ------------------------------------------------------------------------------------


def _softplus(x: Any) -> Any:
    return np.maximum(x, _zero(x)) + np.log1p(np.exp(-np.abs(x)))


softplus = operator(
    "softplus",
    "x",
    settings={"beta": Setting(positive, 1.0)},
    shape=same,
    dtype=floating,
    forward=lambda x, beta=1.0: _softplus(x) if beta == 1 else _softplus(x * beta) / beta,
    vjp=(lambda g, y, x, beta=1.0: g * sigmoid(x if beta == 1 else beta * x),),
    sympy=lambda s, x, beta=1.0: s.log(1 + s.exp(s.Rational(beta) * x)) / s.Rational(beta),
    doc="log(1 + exp(beta * x)) / beta without overflow, and without PyTorch's threshold; slope sigmoid(beta * x).",
    stable=(
        ("log(1 + exp(x))", "softplus(x)"),
        ("-log(1 - sigmoid(x))", "softplus(x)"),
        ("-log(1 - 1 / (1 + exp(-x)))", "softplus(x)"),
    ),
)

logsigmoid = operator(
    "logsigmoid",
    "x",
    spellings=("log_sigmoid",),
    shape=same,
    dtype=floating,
    forward=lambda x: np.minimum(x, _zero(x)) - np.log1p(np.exp(-np.abs(x))),
    scalar=lambda x: min(x, 0.0) - math.log1p(math.exp(-abs(x))),
    vjp=(lambda g, y, x: g * sigmoid(-x),),
    sympy=lambda s, x: -s.log(1 + s.exp(-x)),
    doc="The logarithm of sigmoid, computed without ever taking a logarithm of 0; slope sigmoid(-x).",
    stable=(
        ("log(sigmoid(x))", "logsigmoid(x)"),
        ("log(1 / (1 + exp(-x)))", "logsigmoid(x)"),
        ("log(1 - sigmoid(x))", "logsigmoid(-x)"),
    ),
)


def _silu_rule(g: Any, y: Any, x: Any) -> Any:
    s = sigmoid(x)
    return g * (s * (1 + settled(x, limit=2000.0) * sigmoid_rest(s, x)))


silu = operator(
    "silu",
    "x",
    spellings=("swish", "SiLU"),
    shape=same,
    dtype=floating,
    forward=lambda x: _gated(x, _sigmoid(x)),
    vjp=(_silu_rule,),
    sympy=lambda s, x: x / (1 + s.exp(-x)),
    doc="x * sigmoid(x); slope s * (1 + x * (1 - s)) with s = sigmoid(x).",
)


def _mish_rule(g: Any, y: Any, x: Any) -> Any:
    rise = softplus(x)
    t = tanh(rise)
    return g * (t + settled(x, limit=2000.0) * sigmoid(x) * tanh_slope(t, rise))


mish = operator(
    "mish",
    "x",
    spellings=("Mish",),
    shape=same,
    dtype=floating,
    forward=lambda x: _gated(x, np.tanh(_softplus(x))),
    vjp=(_mish_rule,),
    sympy=lambda s, x: x * s.tanh(s.log(1 + s.exp(x))),
    doc="x * tanh(softplus(x)); slope t + x * sigmoid(x) * (1 - t**2) with t = tanh(softplus(x)).",
)

GELU_SCALE, GELU_CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def approximation(value: Any) -> str:
    """`"none"` or `"tanh"`; JAX says False or True."""
    words = {False: "none", True: "tanh", "none": "none", "tanh": "tanh"}
    try:
        return words[value]
    except (KeyError, TypeError):
        raise ValueError('one of "none", "tanh"') from None


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return _gated(x, normal_cdf.forward(x))
    return _gated(x, _sigmoid(GELU_SCALE * (x + GELU_CUBIC * np.power(x, 3))))


def _gelu_rule(g: Any, y: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return g * (normal_cdf(x) + settled(x, limit=60.0) * normal_density(x))
    z = settled(x, limit=30.0)
    u = GELU_SCALE * (z + GELU_CUBIC * z**3)
    s = sigmoid(u)
    return g * (s + z * (s * sigmoid_rest(s, u)) * (GELU_SCALE * (1 + GELU_CUBIC * (3 * z**2))))


gelu = operator(
    "gelu",
    "x",
    spellings=("GELU",),
    settings={"approximate": Setting(approximation, "none")},
    shape=same,
    dtype=floating,
    forward=_gelu,
    vjp=(_gelu_rule,),
    sympy=lambda s, x: x * (1 + s.erf(x / s.sqrt(2))) / 2,
    doc="x times the normal distribution below x; slope cdf(x) + x * density(x).  "
    'approximate="tanh" is the form with tanh (which JAX takes unless told otherwise).',
)


def _jax_gelu(approximate: bool = True) -> dict[str, str]:
    return {"approximate": "tanh"} if approximate else {}


operator(
    "jax.gelu",
    "x",
    settings={"approximate": Setting(flag, True)},
    shape=same,
    expands=lambda x, **settings: (gelu, _jax_gelu(**settings)),
    forward=lambda x, **settings: _gelu(x, **_jax_gelu(**settings)),
    vjp=None,
    doc="gelu as in JAX, which takes the form with tanh unless told otherwise.",
)


def _softsign_scalar(x: float) -> float:
    return math.copysign(1.0, x) if math.isinf(x) else x / (1 + abs(x))


softsign = operator(
    "softsign",
    "x",
    shape=same,
    dtype=floating,
    forward=lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    scalar=_softsign_scalar,
    vjp=(lambda g, y, x: over_square(g, 1 + absolute(x)),),
    sympy=lambda s, x: x / (1 + s.Abs(x)),
    doc="x / (1 + abs(x)); slope 1 / (1 + abs(x))**2.",
)


def _tanhshrink(x: Any) -> Any:
    """x - tanh(x), which cancels near 0: there by tanh(x) = x / (1 + q), q = x**2 / (3 + x**2 / (5 + ...))."""
    x = np.asanyarray(x)
    near = np.where(np.abs(x) < 1, x, _zero(x))
    q = _zero(x)
    for odd in range(21, 2, -2):
        q = near * near / (odd + q)
    return np.where(np.abs(x) < 1, near * q / (1 + q), x - np.tanh(x))


tanhshrink = operator(
    "tanhshrink",
    "x",
    shape=same,
    dtype=floating,
    forward=_tanhshrink,
    vjp=(lambda g, y, x: g * tanh(x) ** 2,),
    sympy=lambda s, x: x - s.tanh(x),
    doc="x - tanh(x), with all its digits near 0; slope tanh(x)**2.",
)

# Bent ones --------------------------------------------------------------------------------------

leaky_relu = operator(
    "leaky_relu",
    "x",
    spellings=("LeakyReLU",),
    settings={"negative_slope": Setting(real, 0.01)},
    shape=same,
    dtype=floating,
    forward=lambda x, negative_slope=0.01: np.where(_number(x) > 0, x, x * negative_slope),
    vjp=(lambda g, y, x, negative_slope=0.01: where(x > 0, g, negative_slope * g),),
    doc="x where x > 0, else negative_slope * x.",
    kink="at 0 the rule uses negative_slope",
)

prelu = operator(
    "prelu",
    "x weight",
    shape=broadcast,
    dtype=floating,
    forward=lambda x, weight: np.where(_number(x) > 0, x, x * weight),
    scalar=lambda x, weight: float(x) if x > 0 else float(x) * weight,
    vjp=(
        lambda g, y, x, weight: where(x > 0, g, g * weight),
        lambda g, y, x, weight: keep(g * x, x <= 0),
    ),
    broadcasts=True,
    sympy=lambda s, x, weight: s.Piecewise((x, x > 0), (x * weight, True)),
    doc="x where x > 0, else weight * x; weights are broadcast as NumPy does (one a channel: reshape(w, (-1, 1, 1))).",
    kink="at 0 the rule uses weight",
)


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(_number(x) > 0, x, alpha * np.expm1(np.minimum(x, _zero(x))))


elu_slope: Op = operator(
    "elu_slope",
    "x",
    settings={"alpha": Setting(real, 1.0)},
    shape=same,
    dtype=floating,
    # y + alpha, the usual shortcut, is 0 long before exp(x) is
    forward=lambda x, alpha=1.0: np.where(
        _number(x) > 0, np.ones((), _number(x).dtype), alpha * np.exp(np.minimum(x, _zero(x)))
    ),
    vjp=(lambda g, y, x, alpha=1.0: keep(g * y, x <= 0),),
    write=lambda shapes, alpha=1.0: Written(
        "where({0} > 0, 1, exp({0}))" if alpha == 1 else f"where({{0}} > 0, 1, {alpha:.17g} * exp({{0}}))",
        operands=(SUM,),
    ),
    hidden=True,
    doc="1 where x > 0, else alpha * exp(x).",
)

elu = operator(
    "elu",
    "x",
    spellings=("ELU",),
    settings={"alpha": Setting(real, 1.0)},
    shape=same,
    dtype=floating,
    forward=_elu,
    vjp=(lambda g, y, x, alpha=1.0: g * elu_slope(x, alpha=alpha),),
    doc="x where x > 0, else alpha * (exp(x) - 1).",
    kink="at 0 the rule uses alpha",
)

celu = operator(
    "celu",
    "x",
    settings={"alpha": Setting(positive, 1.0)},
    shape=same,
    dtype=floating,
    forward=lambda x, alpha=1.0: np.where(_number(x) > 0, x, alpha * np.expm1(np.minimum(x, _zero(x)) / alpha)),
    vjp=(lambda g, y, x, alpha=1.0: g * elu_slope(x / alpha),),
    doc="x where x > 0, else alpha * (exp(x / alpha) - 1); the slope has no corner.",
)

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848

selu = operator(
    "selu",
    "x",
    spellings=("SELU",),
    shape=same,
    dtype=floating,
    forward=lambda x: SELU_SCALE * _elu(x, SELU_ALPHA),
    vjp=(lambda g, y, x: g * (SELU_SCALE * elu_slope(x, alpha=SELU_ALPHA)),),
    sympy=lambda s, x: SELU_SCALE * s.Piecewise((x, x > 0), (SELU_ALPHA * (s.exp(x) - 1), True)),
    doc="ELU with the two constants that keep mean 0 and variance 1.",
    kink="at 0 the rule uses the slope of the left side, 1.7581",
)


def _between(x: Any, low: float, high: float, g: Any) -> Any:
    """Strictly between the corners, as PyTorch has it."""
    return keep(keep(g, x > low), x < high)


hardtanh = operator(
    "hardtanh",
    "x",
    spellings=("hard_tanh", "Hardtanh"),
    settings={"min_val": Setting(real, -1.0), "max_val": Setting(real, 1.0)},
    shape=same,
    dtype=floating,
    forward=lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    vjp=(lambda g, y, x, min_val=-1.0, max_val=1.0: _between(x, min_val, max_val, g),),
    doc="x, but at least min_val and at most max_val; the gradient passes strictly between them.",
    kink="at the corners the rule uses 0",
)

relu6 = operator(
    "relu6",
    "x",
    spellings=("ReLU6",),
    shape=same,
    dtype=floating,
    forward=lambda x: np.clip(x, 0, 6),
    scalar=lambda x: x if x != x else float(min(max(x, 0.0), 6.0)),
    vjp=(lambda g, y, x: _between(x, 0, 6, g),),
    sympy=lambda s, x: s.Min(s.Max(x, 0), 6),
    domain=(-2.0, 8.0),
    doc="min(max(x, 0), 6).",
    kink="at the corners the rule uses 0",
)

hardsigmoid = operator(
    "hardsigmoid",
    "x",
    spellings=("hard_sigmoid",),
    shape=same,
    dtype=floating,
    forward=lambda x: np.clip(x + 3.0, 0, 6) / 6,
    scalar=lambda x: x if x != x else min(max(x + 3, 0.0), 6.0) / 6,
    vjp=(lambda g, y, x: _between(x, -3, 3, g / 6),),
    sympy=lambda s, x: s.Min(s.Max(x + 3, 0), 6) / 6,
    domain=(-4.0, 4.0),
    doc="min(max(x + 3, 0), 6) / 6: a sigmoid of straight lines.",
    kink="at -3 and 3 the rule uses 0",
)

hardswish = operator(
    "hardswish",
    "x",
    spellings=("hard_swish", "hard_silu"),
    shape=same,
    dtype=floating,
    forward=lambda x: _gated(x, np.clip(x + 3.0, 0, 6) / 6),
    vjp=(lambda g, y, x: where(x >= 3, g, keep(g * ((2 * x + 3) / 6), x > -3)),),
    sympy=lambda s, x: x * s.Min(s.Max(x + 3, 0), 6) / 6,
    domain=(-4.0, 4.0),
    doc="x * min(max(x + 3, 0), 6) / 6; slope 0, (2 * x + 3) / 6 or 1.",
    kink="at -3 the rule uses 0, at 3 it uses 1",
)

hardshrink = operator(
    "hardshrink",
    "x",
    settings={"lambd": Setting(real, 0.5)},
    shape=same,
    dtype=floating,
    forward=lambda x, lambd=0.5: np.where((_number(x) >= -lambd) & (_number(x) <= lambd), _zero(x), x),
    vjp=(lambda g, y, x, lambd=0.5: keep(g, absolute(x) > lambd),),
    doc="x, but 0 between -lambd and lambd.",
    kink="at -lambd and lambd, where it jumps, the rule uses 0",
)

softshrink = operator(
    "softshrink",
    "x",
    settings={"lambd": Setting(real, 0.5)},
    shape=same,
    dtype=floating,
    forward=lambda x, lambd=0.5: x - np.clip(x, -lambd, lambd),
    vjp=(lambda g, y, x, lambd=0.5: keep(g, absolute(x) > lambd),),
    doc="x moved towards 0 by lambd, and 0 between -lambd and lambd.",
    kink="at the corners the rule uses 0",
)

"""Reductions beyond sum and mean: variance, log-sum-exp, and questions to all entries.

What may overflow or lose its digits is shifted by an entry before it is squared or exponentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import boolean, floating
from gradcli.graph.op import SUM, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.norms import direction, fit, scale_of
from gradcli.ops.reduce import restore, total
from gradcli.ops.shapes import (
    AXES,
    Axes,
    any_axes,
    any_entries,
    flag,
    floats,
    normal_axes,
    reduced,
    reduced_nonempty,
    same,
    whole,
)


def _axis_of(x: Shape, axis: Axes) -> str:
    """The axis as it is written behind an operand that keeps its axes."""
    return "" if axis is None or len(x) < 2 else f", axis={axis!r}, keepdims=True"


def _given(axis: Axes) -> dict[str, Any]:
    return {} if axis is None else {"axis": axis}


# Distances from the mean --------------------------------------------------------------------------


def _deviation(x: Any, axis: Axes = None) -> Any:
    """x - mean(x), exactly 0 where all entries are equal: the mean is that of the distances from one of them."""
    x = floats(x)
    first = x[tuple(slice(0, 1) if a in normal_axes(axis, x.ndim) else slice(None) for a in range(x.ndim))]
    apart = x - first
    return apart - np.mean(apart, axis=axis, keepdims=True)


deviation: Op = operator(
    "deviation",
    "x",
    settings={"axis": AXES["axis"]},
    shape=any_entries,
    dtype=floating,
    forward=_deviation,
    vjp=(lambda g, y, x, axis=None: deviation(g, **_given(axis)),),
    write=lambda shapes, axis=None: Written(f"{{0}} - mean({{0}}{_axis_of(shapes[0], axis)})", SUM, (SUM,)),
    hidden=True,
    doc="x - mean(x).",
)


def _spread_shape(
    x: Shape, axis: Axes = None, ddof: int = 0, keepdims: bool = False, unbiased: bool | None = None
) -> Shape:
    shape = reduced_nonempty(x, axis, keepdims)
    if _degrees(x, axis, ddof, unbiased) <= 0:
        count = _degrees(x, axis, 0, None)
        raise ShapeError(
            "there are too few entries for this divisor",
            {0: f"{count} {'entry' if count == 1 else 'entries'}, less {count - _degrees(x, axis, ddof, unbiased)}"},
            "with ddof=0 (unbiased=False) the sum of squares is divided by the number of entries",
        )
    return shape


def _degrees(x: Shape, axis: Axes, ddof: int, unbiased: bool | None) -> int:
    """What the sum of squares is divided by."""
    count = 1
    for a in normal_axes(axis, len(x)):
        count *= x[a]
    return count - (ddof if unbiased is None else int(unbiased))


def _variance(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False, unbiased: bool | None = None) -> Any:
    squares = np.sum(np.square(_deviation(x, axis)), axis=axis, keepdims=keepdims)
    return squares / _degrees(np.shape(x), axis, ddof, unbiased)


def _standard(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False, unbiased: bool | None = None) -> Any:
    apart = _deviation(x, axis)
    scale = scale_of(apart, axis)
    squares = np.sum(np.square(apart / scale), axis=axis, keepdims=True)
    return fit(np.sqrt(squares / _degrees(np.shape(x), axis, ddof, unbiased)) * scale, axis, keepdims)


def _variance_rule(
    g: Any, y: Any, x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False, unbiased: bool | None = None
) -> Any:
    count = _degrees(shape_of(x), axis, ddof, unbiased)
    return restore(g, x, axis, keepdims) * (2 * deviation(x, **_given(axis)) / count)


def _standard_rule(
    g: Any, y: Any, x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False, unbiased: bool | None = None
) -> Any:
    count = _degrees(shape_of(x), axis, ddof, unbiased)
    apart = deviation(x, **_given(axis))
    return restore(g, x, axis, keepdims) * direction(apart, count * restore(y, x, axis, keepdims))


def flag_or_none(value: Any) -> bool | None:
    """True, False or None."""
    return None if value is None else flag(value)


_SPREAD = {
    "axis": AXES["axis"],
    "ddof": Setting(whole, 0),
    "keepdims": AXES["keepdims"],
    "unbiased": Setting(flag_or_none, None),
}


def _torch_spread(op: Op, forward: Callable[..., Any]) -> None:
    """PyTorch divides by n - 1 unless told otherwise, and its second argument may be `unbiased`."""

    def settings_of(axis: Any = None, **rest: Any) -> dict[str, Any]:
        if isinstance(axis, bool):
            axis, rest = None, {"unbiased": axis, **rest}
        given = {} if axis is None else {"axis": axis}
        return {**given, **rest} if rest.keys() & {"ddof", "unbiased"} else {**given, "ddof": 1, **rest}

    operator(
        f"torch.{op.name}",
        "x",
        settings={**_SPREAD, "axis": Setting(axes_or_flag, None)},
        order=("x", "axis", "unbiased", "keepdims", "ddof"),
        shape=same,
        expands=lambda x, **settings: (op, settings_of(**settings)),
        forward=lambda x, **settings: forward(x, **settings_of(**settings)),
        vjp=None,
        doc=f"{op.name} as in PyTorch, which divides by n - 1.",
    )


def axes_or_flag(value: Any) -> Any:
    """Axes; or the flag `unbiased`, which PyTorch takes in the same place."""
    return value if isinstance(value, bool) else AXES["axis"].read(value)


variance = operator(
    "var",
    "x",
    settings=_SPREAD,
    shape=_spread_shape,
    dtype=floating,
    forward=_variance,
    vjp=(_variance_rule,),
    doc="The mean square of the distances from the mean. The divisor is n - ddof: n in NumPy, n - 1 in PyTorch.",
    stable=(
        ("mean(x * x) - mean(x) * mean(x)", "var(x)"),
        ("mean(x**2) - mean(x)**2", "var(x)"),
        ("mean(x * x) - mean(x)**2", "var(x)"),
    ),
)

standard_deviation = operator(
    "std",
    "x",
    settings=_SPREAD,
    shape=_spread_shape,
    dtype=floating,
    forward=_standard,
    vjp=(_standard_rule,),
    doc="The square root of the variance. The divisor is n - ddof: n in NumPy, n - 1 in PyTorch.",
    kink="where all entries are equal it has a corner; the rule uses 0",
)

_torch_spread(variance, _variance)
_torch_spread(standard_deviation, _standard)


# Log-sum-exp --------------------------------------------------------------------------------------


def _above(x: Any, axis: Axes) -> tuple[Any, Any]:
    """x less its largest entry, and that entry; inf - inf is 0 here."""
    x = floats(x)
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.where(x == top, np.zeros((), x.dtype), x - top), top


def _logsumexp(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    apart, top = _above(x, axis)
    return fit(np.log(np.sum(np.exp(apart), axis=axis, keepdims=True)) + top, axis, keepdims)


def _exp_share(x: Any, axis: Axes = None) -> Any:
    apart, top = _above(x, axis)
    e = np.where(top == -np.inf, np.zeros((), apart.dtype), np.exp(apart))
    return e / np.where(top == -np.inf, np.ones((), apart.dtype), np.sum(e, axis=axis, keepdims=True))


def _share_written(shapes: tuple[Shape, ...], axis: Axes = None) -> Written:
    ndim = len(shapes[0])
    if ndim and len(axes := normal_axes(axis, ndim)) == 1:
        return Written("softmax({0})" if axes[0] == ndim - 1 else f"softmax({{0}}, axis={axes[0]})")
    return Written(f"exp({{0}} - logsumexp({{0}}{_axis_of(shapes[0], axis)}))")


exp_share: Op = operator(
    "exp_share",
    "x",
    settings={"axis": AXES["axis"]},
    shape=any_axes,
    dtype=floating,
    forward=_exp_share,
    vjp=(lambda g, s, x, axis=None: s * (g - total(g * s, axis=axis, keepdims=shape_of(x) != ())),),
    write=_share_written,
    hidden=True,
    doc="exp(x) / sum(exp(x)) over any axes; 0 for an entry of -inf, also where all are.",
)

logsumexp = operator(
    "logsumexp",
    "x",
    settings=AXES,
    shape=reduced,
    dtype=floating,
    forward=_logsumexp,
    vjp=(lambda g, y, x, axis=None, keepdims=False: restore(g, x, axis, keepdims) * exp_share(x, **_given(axis)),),
    doc="log(sum(exp(x))) without overflow; its gradient is the softmax of x.",
    kink="an entry of -inf receives 0, also where all of them are -inf",
    stable=(("log(sum(exp(x)))", "logsumexp(x)"),),
)


# Questions ----------------------------------------------------------------------------------------


def _question(name: str, forward: Callable[..., Any], dtype: Callable[..., str], doc: str) -> Op:
    return operator(
        name,
        "x",
        settings=AXES,
        shape=reduced,
        dtype=dtype,
        forward=lambda x, axis=None, keepdims=False: forward(x, axis=axis, keepdims=keepdims),
        vjp=(None,),
        doc=f"{doc}; no gradient.",
    )


any_of = _question("any", np.any, boolean, "Whether any entry holds, or is not 0")
all_of = _question("all", np.all, boolean, "Whether every entry holds, or is not 0")
count_nonzero = _question("count_nonzero", np.count_nonzero, lambda x: "int64", "How many entries hold, or are not 0")

"""Losses that compare two tensors entry by entry, and the cosine of two vectors.

A loss is the mean of its entries, their sum (`reduction="sum"`) or the entries as they are (`"none"`).  Both operands
receive gradients.  Shapes must be equal: a column against a row would silently be compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.op import PRODUCT, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.activation import softplus
from gradcli.ops.compare import keep, where
from gradcli.ops.cross_entropy import reduced
from gradcli.ops.elementwise import exp, log, sigmoid, sigmoid_less, sigmoid_rest, sign
from gradcli.ops.exponential import ratio
from gradcli.ops.reduce import restore, stretch, total
from gradcli.ops.rounding import clip
from gradcli.ops.shapes import along, broadcast, flag, normal_axis, one_of, positive, real, shape_words, whole


def _entries(a: Shape, b: Shape, *weights: Shape, **_: Any) -> Shape:
    """The common shape of two operands: equal, unless one is a number.  Weights may be stretched to it."""
    if a != b and a and b:
        same_size = np.prod(a, dtype=object) == np.prod(b, dtype=object)
        way_out = f"the entries are as many: reshape({{1}}, {a})" if same_size else "stretch one of them beforehand"
        raise ShapeError("needs equal shapes", {0: shape_words(a), 1: shape_words(b)}, way_out)
    shape = a or b
    for slot, weight in enumerate(weights, start=2):
        if broadcast(shape, weight) != shape:
            raise ShapeError(f"needs weights that broadcast to shape {shape}", {slot: shape_words(weight)})
    return shape


def _loss_shape(*shapes: Shape, reduction: str = "mean", **_: Any) -> Shape:
    shape = _entries(*shapes)
    return shape if reduction == "none" else ()


def _averaged(c: Any, operands: tuple[Any, ...], reduction: str) -> Any:
    """A contribution of a sum, one entry for each of the loss, divided by what a mean divides by."""
    shape = _entries(*map(shape_of, operands))
    c = stretch(c, shape)
    counted = {"mean": shape, "batchmean": shape[:1]}.get(reduction, ())
    count = 1
    for n in counted:
        count *= n
    return c / count if count > 1 else c


def _loss(
    name: str,
    operands: str,
    entry: Callable[..., Any],
    rules: tuple[Callable[..., Any] | None, ...],
    *,
    reductions: tuple[str, ...] = ("mean", "sum", "none"),
    settings: dict[str, Setting] | None = None,
    **block: Any,
) -> Op:
    """A loss from the formula of one entry and, operand by operand, its slope times g."""

    def forward(*values: Any, reduction: str = "mean", **rest: Any) -> Any:
        losses = np.asanyarray(entry(*values, **rest))
        if reduction == "batchmean":
            return np.sum(losses) / (len(losses) if losses.ndim else 1)
        return reduced(losses, reduction)

    def reducing(rule: Callable[..., Any] | None) -> Any:
        if rule is None:
            return None
        return lambda g, y, *values, reduction="mean", **rest: _averaged(rule(g, *values, **rest), values, reduction)

    return operator(
        name,
        operands,
        settings={"reduction": one_of(*reductions), **(settings or {})},
        shape=_loss_shape,
        dtype=floating,
        forward=forward,
        vjp=tuple(map(reducing, rules)),
        **block,
    )


def _part(weight: Any, value: Any) -> Any:
    """weight * value, and 0 where the weight is 0 and the value perhaps infinite."""
    return np.where(np.equal(weight, 0), np.zeros((), np.result_type(weight, value)), weight * value)


# Differences ------------------------------------------------------------------------------------

mse_loss = _loss(
    "mse_loss",
    "x target",
    lambda x, t: np.square(np.subtract(x, t)),
    (lambda g, x, t: g * (2 * (x - t)), lambda g, x, t: -(g * (2 * (x - t)))),
    spellings=("mse", "MSELoss"),
    doc="The mean of (x - target)**2; x receives 2 * (x - target), divided by the number of entries.",
)

l1_loss = _loss(
    "l1_loss",
    "x target",
    lambda x, t: np.abs(np.subtract(x, t)),
    (lambda g, x, t: g * sign(x - t), lambda g, x, t: -(g * sign(x - t))),
    spellings=("mae", "L1Loss"),
    doc="The mean of abs(x - target); x receives its sign, divided by the number of entries.",
    kink="where both are equal every slope from -1 to 1 is allowed; the rule uses 0",
)


def _huber(x: Any, t: Any, delta: float = 1.0) -> Any:
    size = np.abs(np.subtract(x, t))
    return np.where(size <= delta, np.square(np.minimum(size, delta)) / 2, delta * (size - delta / 2))


huber_loss = _loss(
    "huber_loss",
    "x target",
    _huber,
    (
        lambda g, x, t, delta=1.0: g * clip(x - t, -delta, delta),
        lambda g, x, t, delta=1.0: -(g * clip(x - t, -delta, delta)),
    ),
    settings={"delta": Setting(positive, 1.0)},
    spellings=("huber", "HuberLoss"),
    domain=(-0.4, 0.4),
    doc="(x - target)**2 / 2 up to delta, a straight line beyond; x receives the difference, clipped to delta.",
)

smooth_l1_loss = _loss(
    "smooth_l1_loss",
    "x target",
    lambda x, t, beta=1.0: _huber(x, t, beta) / beta,
    (
        lambda g, x, t, beta=1.0: g * clip((x - t) / beta, -1, 1),
        lambda g, x, t, beta=1.0: -(g * clip((x - t) / beta, -1, 1)),
    ),
    settings={"beta": Setting(positive, 1.0)},
    spellings=("SmoothL1Loss",),
    domain=(-0.4, 0.4),
    doc="The Huber loss divided by beta: slope (x - target) / beta, clipped to 1.",
)

# Probabilities ----------------------------------------------------------------------------------


def _bce(p: Any, t: Any, weight: Any = 1.0) -> Any:
    return -weight * (_part(t, np.log(p)) + _part(np.subtract(1, t), np.log1p(np.negative(p))))


binary_cross_entropy: Op = _loss(
    "binary_cross_entropy",
    "probabilities target weight",
    _bce,
    (
        # each part of its own: at p = 0 and 1 the common denominator p * (1 - p) would spoil a slope that is finite
        lambda g, p, t, w=1.0: g * w * (ratio(1 - t, 1 - p) - ratio(t, p)),
        lambda g, p, t, w=1.0: g * w * (log(1 - p) - log(p)),
        lambda g, p, t, w: g * binary_cross_entropy(p, t, reduction="none"),
    ),
    optional={"weight": 1.0},
    spellings=("bce", "bce_loss", "BCELoss"),
    domain=(0.1, 0.9),
    doc="-(t * log(p) + (1 - t) * log(1 - p)), without PyTorch's bound of -100 on the logarithms: a probability 0 of "
    "what happened costs inf.  For scores use the form with logits, which loses no digits.",
    kink="at p = 0 and 1 a part whose weight is 0 adds nothing; the other is infinite",
)


def _bce_with_logits(x: Any, t: Any, weight: Any = 1.0, pos_weight: Any = 1.0) -> Any:
    up, down = softplus.forward(np.negative(x)), softplus.forward(x)
    return weight * (_part(np.multiply(t, pos_weight), up) + _part(np.subtract(1, t), down))


def _logits_rule(g: Any, x: Any, t: Any, w: Any = 1.0, q: Any = None) -> Any:
    s = sigmoid(x)
    if q is None:
        return g * w * sigmoid_less(s, x, t)
    return g * w * ((1 - t) * s - q * t * sigmoid_rest(s, x))


binary_cross_entropy_with_logits: Op = _loss(
    "binary_cross_entropy_with_logits",
    "scores target weight pos_weight",
    _bce_with_logits,
    (
        _logits_rule,
        lambda g, x, t, w=1.0, q=None: -(g * w * x) if q is None else g * w * (q * softplus(-x) - softplus(x)),
        lambda g, x, t, w, *q: g * binary_cross_entropy_with_logits(x, t, 1.0, *q, reduction="none"),
        lambda g, x, t, w, q: g * w * (t * softplus(-x)),
    ),
    optional={"weight": 1.0, "pos_weight": 1.0},
    spellings=("bce_with_logits", "bce_with_logits_loss", "sigmoid_cross_entropy", "BCEWithLogitsLoss"),
    doc="Binary cross-entropy of p = sigmoid(scores), computed from the scores; they receive p - target.",
)


def _kl_div(x: Any, t: Any, log_target: bool = False) -> Any:
    if log_target:
        p = np.exp(t)
        return _part(p, np.subtract(t, x))
    return _part(t, np.log(t)) - _part(t, x)


kl_div = _loss(
    "kl_div",
    "logs target",
    _kl_div,
    (
        lambda g, x, t, log_target=False: -(g * (exp(t) if log_target else t)),
        lambda g, x, t, log_target=False: g * (exp(t) * (t - x + 1)) if log_target else g * (log(t) + 1 - x),
    ),
    reductions=("mean", "sum", "none", "batchmean"),
    settings={"log_target": Setting(flag, False)},
    domain=(0.1, 0.9),
    doc="target * (log(target) - logs), in PyTorch's order: first the model's log-probabilities, then the target's "
    'probabilities.  "mean" divides by all entries; the divergence itself is "batchmean" or "sum".',
)

# Margins ----------------------------------------------------------------------------------------

hinge_loss = _loss(
    "hinge_loss",
    "scores target",
    lambda x, t: np.maximum(1 - np.multiply(t, x), 0),
    (lambda g, x, t: keep(-(g * t), t * x < 1), lambda g, x, t: keep(-(g * x), t * x < 1)),
    spellings=("hinge",),
    doc="max(0, 1 - target * scores) for targets -1 and 1; the scores receive -target within the margin.",
    kink="at the margin the rule uses 0",
)

hinge_embedding_loss = _loss(
    "hinge_embedding_loss",
    "x target",
    lambda x, t, margin=1.0: np.where(np.asanyarray(t) > 0, x, np.maximum(margin - np.asanyarray(x), 0)),
    (lambda g, x, t, margin=1.0: where(t > 0, g, keep(-g, x < margin)), None),
    settings={"margin": Setting(real, 1.0)},
    doc="x where the target is 1, max(0, margin - x) where it is -1; the target receives nothing.",
    kink="at the margin the rule uses 0",
)

soft_margin_loss = _loss(
    "soft_margin_loss",
    "scores target",
    lambda x, t: softplus.forward(-np.multiply(t, x)),
    (
        lambda g, x, t: -(g * t * sigmoid(-(t * x))),
        lambda g, x, t: -(g * x * sigmoid(-(t * x))),
    ),
    doc="log(1 + exp(-target * scores)) for targets -1 and 1; the scores receive -target * sigmoid(-target * scores).",
)

# Angles -----------------------------------------------------------------------------------------


def _length(x: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    """The length along an axis, computed so that no square overflows or vanishes; at least eps."""
    x = np.asanyarray(x)
    top = np.max(np.abs(x), axis=axis, keepdims=True, initial=0)
    top = np.where((top == 0) | np.isinf(top), np.ones((), x.dtype), top)
    return np.maximum(top * np.sqrt(np.sum(np.square(x / top), axis=axis, keepdims=True)), eps)


def _length_text(shapes: tuple[Shape, ...], axis: int) -> str:
    return "norm({0})" if len(shapes[0]) == 1 else f"norm({{0}}, axis={axis}, keepdims=True)"


def _kept_axis(x: Shape, axis: int = -1, eps: float = 1e-8) -> Shape:
    at = normal_axis(axis, len(x))
    return (*x[:at], 1, *x[at + 1 :])


_ANGLE = {"axis": Setting(whole, -1), "eps": Setting(positive, 1e-8)}

length: Op = operator(
    "length",
    "x",
    settings=_ANGLE,
    shape=_kept_axis,
    dtype=floating,
    forward=_length,
    vjp=(lambda g, y, x, axis=-1, eps=1e-8: g * direction(x, axis=axis, eps=eps),),
    write=lambda shapes, axis=-1, eps=1e-8: Written(_length_text(shapes, axis)),
    hidden=True,
    doc="The length of the vectors along an axis, at least eps.",
)


def _direction(x: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    size = _length(x, axis, eps)
    return np.where(size > eps, x / size, np.zeros((), np.asanyarray(x).dtype))


def _direction_rule(g: Any, u: Any, x: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    size = length(x, axis=axis, eps=eps)
    return keep((g - u * total(g * u, axis=axis, keepdims=True)) / size, size > eps)


direction: Op = operator(
    "direction",
    "x",
    settings=_ANGLE,
    shape=along,
    dtype=floating,
    forward=_direction,
    vjp=(_direction_rule,),
    write=lambda shapes, axis=-1, eps=1e-8: Written(f"{{0}} / {_length_text(shapes, axis)}", PRODUCT, (PRODUCT,)),
    hidden=True,
    doc="The vectors along an axis divided by their length; 0 for one that is shorter than eps.",
)


def _cosine_shape(a: Shape, b: Shape, axis: int = -1, eps: float = 1e-8) -> Shape:
    wide = broadcast(a, b)
    at = normal_axis(axis, len(wide))
    return (*wide[:at], *wide[at + 1 :])


def _cosine(a: Any, b: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    a, b = np.broadcast_arrays(a, b)
    return np.sum(a / _length(a, axis, eps) * (b / _length(b, axis, eps)), axis=axis)


def _cosine_rule(g: Any, y: Any, a: Any, b: Any, axis: int, eps: float) -> Any:
    """(b / |b| - y * a / |a|) / |a|: the part of b's direction that is across a."""
    wide = broadcast(shape_of(a), shape_of(b))
    a, b = stretch(a, wide), stretch(b, wide)
    across = b / length(b, axis=axis, eps=eps) - restore(y, a, axis, False) * direction(a, axis=axis, eps=eps)
    return restore(g, a, axis, False) * (across / length(a, axis=axis, eps=eps))


cosine_similarity = operator(
    "cosine_similarity",
    "a b",
    settings=_ANGLE,
    shape=_cosine_shape,
    dtype=floating,
    forward=_cosine,
    vjp=(
        lambda g, y, a, b, axis=-1, eps=1e-8: _cosine_rule(g, y, a, b, axis, eps),
        lambda g, y, a, b, axis=-1, eps=1e-8: _cosine_rule(g, y, b, a, axis, eps),
    ),
    doc="The cosine of the angle between vectors, along the last axis (PyTorch's default is axis 1; for matrices it is "
    "the same); no length counts as less than eps.",
    kink="a vector shorter than eps is divided by eps",
)

"""Softmax and cross-entropy.

Source of the rule of softmax: its Jacobian is diag(p) - p pᵀ, so dz = p * (g - sum(g * p)).
Softmax and cross-entropy in one operator have the gradient p - y: the exponentials and the logarithm cancel
on paper, so they need not cancel in floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating, promote
from gradcli.graph.node import INPUT, Node
from gradcli.graph.op import PRODUCT, SUM, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.linear import column
from gradcli.ops.reduce import stretch, total
from gradcli.ops.shapes import LAST_AXIS, along, one_of, shape_words, whole


def _shifted(x: Any, axis: int) -> Any:
    """x less its largest entry (which changes no softmax), so that nothing overflows."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return x - np.where(np.isfinite(top), top, 0)


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(_shifted(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    s = _shifted(x, axis)
    return s - np.log(np.sum(np.exp(s), axis=axis, keepdims=True))


def _along(x: Any, axis: int) -> Any:
    """The sum along an axis, ready to be stretched back over it."""
    return total(x) if len(shape_of(x)) == 1 else total(x, axis=axis, keepdims=True)


softmax: Op = operator(
    "softmax",
    "x",
    settings=LAST_AXIS,
    shape=along,
    dtype=floating,
    forward=_softmax,
    vjp=(lambda g, y, x, axis=-1: y * (g - _along(g * y, axis)),),
    doc="exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.",
)

log_softmax = operator(
    "log_softmax",
    "x",
    settings=LAST_AXIS,
    shape=along,
    dtype=floating,
    forward=_log_softmax,
    vjp=(lambda g, y, x, axis=-1: g - softmax(x, axis=axis) * _along(g, axis),),
    doc="The logarithm of softmax, computed without ever taking a logarithm of 0.",
)


def _loss_shape(wanted: int) -> Callable[..., Shape]:
    """The shape rule of a loss whose target has `wanted` axes less than the scores."""

    def rule(scores: Shape, target: Shape, reduction: str = "mean") -> Shape:
        rows = scores[:-1]
        if not scores or target != (rows if wanted else scores):
            raise ShapeError(
                "needs a label for every row of {0}, or probabilities of its shape",
                {0: shape_words(scores), 1: shape_words(target)},
                f"labels would have shape {rows}, probabilities shape {scores}" if scores else "scores have an axis",
            )
        return rows if reduction == "none" else ()

    return rule


def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def _loss_of_probabilities(scores: Any, target: Any, reduction: str = "mean") -> Any:
    logs = _log_softmax(scores)
    y = np.asarray(target)
    return _reduced(-np.sum(np.where(y == 0, np.zeros((), logs.dtype), y * logs), axis=-1), reduction)


def _loss_of_labels(scores: Any, target: Any, reduction: str = "mean") -> Any:
    labels = np.asarray(target).astype(np.intp)
    classes = np.shape(scores)[-1]
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        worst = labels.max() if labels.max() >= classes else labels.min()
        raise IndexError(f"label {worst} names no class: there are {classes}, numbered from 0")
    picked = np.take_along_axis(_log_softmax(scores), labels[..., None], axis=-1)
    return _reduced(-picked[..., 0], reduction)


def _per_row(g: Any, scores: Any, reduction: str) -> Any:
    """The upstream gradient of every row's loss, as a column that multiplies the row of scores."""
    rows = shape_of(scores)[:-1]
    if reduction == "none":
        return column(g) if rows else g
    count = 1
    for n in rows:
        count *= n
    return g / count if reduction == "mean" and count > 1 else g


def _scores_rule(g: Any, y: Any, scores: Any, target: Any, reduction: str = "mean") -> Any:
    p = softmax(scores)
    difference = p - target if _adds_up_to_one(target) else excess(p, target)
    return _per_row(g, scores, reduction) * difference


def _adds_up_to_one(target: Any) -> bool:
    """Whether a target is given as a distribution, which turns `p * sum(y) - y` into `p - y`."""
    if type(target) is not Node or target.op is not INPUT:
        return False
    return bool(np.all(np.abs(np.sum(target.data, axis=-1) - 1) < 1e-12))


def _labelled_rule(g: Any, y: Any, scores: Any, target: Any, reduction: str = "mean") -> Any:
    return _per_row(g, scores, reduction) * (softmax(scores) - one_hot(target, classes=shape_of(scores)[-1]))


def _target_rule(g: Any, y: Any, scores: Any, target: Any, reduction: str = "mean") -> Any:
    return -(_per_row(g, scores, reduction) * log_softmax(scores))


_LOSS: dict[str, Any] = {
    "operands": "scores target",
    "settings": {"reduction": one_of("mean", "sum", "none")},
    "dtype": lambda scores, target: floating(scores),
    "doc": "-log softmax(scores) of the right class; the scores receive p - y (divided by the number of rows).",
}

cross_entropy = operator(
    "cross_entropy",
    spellings=("softmax_cross_entropy", "cross_entropy_loss"),
    forward=_loss_of_probabilities,
    vjp=(_scores_rule, _target_rule),
    example="scores = [2.0, 1.0, -0.5]\ntarget = const([1, 0, 0])\ny = cross_entropy(scores, target)\nL = sum(y)\n",
    choose=lambda scores, target, *_: cross_entropy_of_labels if _holds_labels(scores, target) else None,
    shape=_loss_shape(0),
    **_LOSS,
)

cross_entropy_of_labels: Op = operator(
    "cross_entropy",
    forward=_loss_of_labels,
    vjp=(_labelled_rule, None),
    shape=_loss_shape(1),
    operand_kinds=("number", "labels"),
    hidden=True,
    **_LOSS,
)


def _holds_labels(scores: Any, target: Any) -> bool:
    """Whether the target has one entry a row: labels, where one entry a class would be probabilities."""
    return len(shape_of(target)) < len(shape_of(scores))


one_hot: Op = operator(
    "one_hot",
    "labels",
    settings={"classes": Setting(whole, required=True)},
    shape=lambda labels, classes: (*labels, classes),
    dtype=lambda labels: "weak float",
    forward=lambda labels, classes: (
        (np.arange(classes) == np.asarray(labels).astype(np.intp)[..., None] % classes) * 1.0
    ),
    vjp=(None,),
    operand_kinds=("labels",),
    hidden=True,
    write=lambda shapes, classes: Written(f"one_hot({{0}}, {classes})"),
    doc="A row of zeros with a 1 at the label.",
)


def _equal_shapes(p: Shape, y: Shape) -> Shape:
    if p != y or not p:
        raise ShapeError("needs equal shapes", {0: shape_words(p), 1: shape_words(y)})
    return p


excess = operator(
    "excess",
    "p y",
    shape=_equal_shapes,
    dtype=lambda p, y: promote(p),
    forward=lambda p, y: p * np.sum(y, axis=-1, keepdims=True) - y,
    vjp=(
        lambda g, e, p, y: g * _along(y, -1),
        lambda g, e, p, y: stretch(_along(g * p, -1), shape_of(y)) - g,
    ),
    write=lambda shapes: Written(
        "{0} * sum({1}) - {1}" if len(shapes[1]) == 1 else "{0} * sum({1}, axis=-1, keepdims=True) - {1}",
        SUM,
        (PRODUCT, PRODUCT + 1),
    ),
    hidden=True,
    doc="p * sum(y) - y: what cross-entropy sends to the scores, for probabilities y of any sum.",
)

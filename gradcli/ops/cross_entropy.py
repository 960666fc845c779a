"""Cross-entropy of scores, and the loss of log-probabilities.

Softmax and cross-entropy in one operator have the gradient p - y: the exponentials and the logarithm cancel
on paper, so they need not cancel in floating point.  Label smoothing and class weights, with PyTorch's meaning, only
change y: the rule is p * sum(q) - q for the distribution q that they make of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.node import INPUT, Node
from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of
from gradcli.ops.compare import equal, keep, not_equal, where
from gradcli.ops.linear import column
from gradcli.ops.probability import excess, log_softmax, logs_of_softmax, one_hot, softmax, whole_labels
from gradcli.ops.reduce import total
from gradcli.ops.shapes import one_of, part, shape_words, whole

IGNORED = -100
"""The label that PyTorch passes over."""


def _loss_shape(labelled: bool) -> Callable[..., Shape]:
    """The shape rule of a loss: one number a row of scores, or one for all of them."""

    def rule(
        scores: Shape, target: Shape, weight: Shape | None = None, reduction: str = "mean", **settings: Any
    ) -> Shape:
        rows = scores[:-1]
        if not scores or target != (rows if labelled else scores):
            raise ShapeError(
                "needs a label for every row of {0}, or probabilities of its shape",
                {0: shape_words(scores), 1: shape_words(target)},
                f"labels would have shape {rows}, probabilities shape {scores}" if scores else "scores have an axis",
            )
        if weight is not None and weight != scores[-1:]:
            raise ShapeError(
                "needs one weight for every class",
                {0: f"{shape_words(scores)}, {scores[-1]} classes", 2: shape_words(weight)},
            )
        return rows if reduction == "none" else ()

    return rule


def reduced(losses: Any, reduction: str) -> Any:
    """All losses as one number, or as they are."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return np.sum(losses)
    return np.mean(losses) if np.size(losses) else math.nan


def _smoothed(y: Any, smoothing: float, classes: int) -> Any:
    return y if smoothing == 0 else (1 - smoothing) * y + smoothing / max(classes, 1)


def _product(q: Any, logs: Any) -> Any:
    """q * logs, and 0 where q is 0 and the logarithm perhaps -inf."""
    return np.where(np.equal(q, 0), np.zeros((), logs.dtype), q * logs)


def _loss_of_probabilities(
    scores: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    logs = logs_of_softmax(scores)
    q = _smoothed(np.asanyarray(target), label_smoothing, np.shape(scores)[-1])
    return reduced(-np.sum(_product(q if weight is None else q * weight, logs), axis=-1), reduction)


def _loss_of_logs(
    logs: Any, target: Any, weight: Any, reduction: str, ignore_index: int, label_smoothing: float = 0.0
) -> Any:
    """The loss of labels, given the logarithms of the probabilities."""
    logs = np.asanyarray(logs)
    classes = logs.shape[-1]
    labels = whole_labels(target, classes, ignore_index)
    kept = labels != ignore_index
    all_kept = bool(kept.all())
    right = labels if all_kept else np.where(kept, labels, 0)
    rows = logs.reshape(-1, classes) if classes else logs
    losses = -rows[np.arange(right.size), right.ravel()].reshape(right.shape)
    weights = None if weight is None else np.asanyarray(weight)
    if weights is not None:
        losses = losses * weights[right]
    if label_smoothing:
        spread = -np.sum(logs if weights is None else _product(weights, logs), axis=-1)
        losses = (1 - label_smoothing) * losses + label_smoothing / classes * spread
    if not all_kept:
        losses = np.where(kept, losses, np.zeros((), losses.dtype))
    if reduction != "mean" or (weights is None and all_kept):
        return reduced(losses, reduction)
    counted = np.ones((), logs.dtype) if weights is None else weights[right]
    with np.errstate(invalid="ignore"):  # the mean of no loss at all is nan
        return np.sum(losses) / np.sum(np.where(kept, counted, np.zeros((), counted.dtype)))


def _loss_of_labels(
    scores: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = IGNORED,
) -> Any:
    return _loss_of_logs(logs_of_softmax(scores), target, weight, reduction, ignore_index, label_smoothing)


# Rules ------------------------------------------------------------------------------------------


def _per_row(g: Any, scores: Any, reduction: str, count: Any = None) -> Any:
    """The upstream gradient of every row's loss, as a column that multiplies the row of scores."""
    rows = shape_of(scores)[:-1]
    if reduction == "none":
        return column(g) if rows else g
    if count is None:
        count = math.prod(rows)
    return g / count if reduction == "mean" and (type(count) is not int or count > 1) else g


def _adds_up_to_one(target: Any) -> bool:
    """Whether a target is given as a distribution, which turns `p * sum(y) - y` into `p - y`."""
    if type(target) is not Node or target.op is not INPUT:
        return False
    return bool(np.all(np.abs(np.sum(target.data, axis=-1) - 1) < 1e-12))


def _scores_rule(
    g: Any, y: Any, scores: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    p = softmax(scores)
    q = _smoothed(target, label_smoothing, shape_of(scores)[-1])
    if weight is not None:
        q = q * weight
    difference = p - q if weight is None and _adds_up_to_one(target) else excess(p, q)
    return _per_row(g, scores, reduction) * difference


def _target_rule(
    g: Any, y: Any, scores: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    scale = _per_row(g, scores, reduction)
    if label_smoothing:
        scale = scale * (1 - label_smoothing)
    return -(scale * (log_softmax(scores) if weight is None else weight * log_softmax(scores)))


def _weight_rule(
    g: Any, y: Any, scores: Any, target: Any, weight: Any, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    q = _smoothed(target, label_smoothing, shape_of(scores)[-1])
    return -(_per_row(g, scores, reduction) * keep(q * log_softmax(scores), not_equal(q, 0)))


def _kept(target: Any, ignore_index: int) -> Any:
    """The mask of the labels that count; None if all do.  PyTorch's default is looked for only where it can be seen."""
    data = (target.data if target.op is INPUT else None) if type(target) is Node else target
    if ignore_index == IGNORED and (data is None or not np.any(np.equal(data, ignore_index))):
        return None
    return not_equal(target, ignore_index)


def _labels(target: Any, kept: Any, scores: Any, ignore_index: int) -> Any:
    """The target as probabilities; a label that is passed over stands for the first class, and is masked later."""
    labels = target if kept is None else where(equal(target, ignore_index), 0, target)
    return one_hot(labels, classes=shape_of(scores)[-1])


def _scale_of_labels(g: Any, scores: Any, y: Any, kept: Any, weight: Any, reduction: str) -> Any:
    """What multiplies the row of every label: a mean counts the labels that are kept, by their weights."""
    if reduction != "mean" or (kept is None and weight is None):
        return _per_row(g, scores, reduction)
    if weight is None:
        return g / total(kept)
    counted = y @ weight
    return g / total(counted if kept is None else keep(counted, kept))


def _masked(c: Any, kept: Any, scores: Any) -> Any:
    return c if kept is None else keep(c, column(kept) if shape_of(scores)[:-1] else kept)


def _labelled_rule(
    g: Any,
    loss: Any,
    scores: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = IGNORED,
) -> Any:
    kept = _kept(target, ignore_index)
    y = _labels(target, kept, scores, ignore_index)
    q = _smoothed(y, label_smoothing, shape_of(scores)[-1])
    p = softmax(scores)
    difference = p - q if weight is None else excess(p, q * weight)
    return _masked(_scale_of_labels(g, scores, y, kept, weight, reduction) * difference, kept, scores)


def _label_weight_rule(
    g: Any,
    loss: Any,
    scores: Any,
    target: Any,
    weight: Any,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = IGNORED,
) -> Any:
    return _weight_of_logs(g, loss, log_softmax(scores), target, weight, reduction, ignore_index, label_smoothing)


def _weight_of_logs(
    g: Any,
    loss: Any,
    logs: Any,
    target: Any,
    weight: Any,
    reduction: str,
    ignore_index: int,
    label_smoothing: float = 0.0,
) -> Any:
    """A weight counts twice in a mean: in the sum of the losses, and in what it is divided by."""
    kept = _kept(target, ignore_index)
    y = _labels(target, kept, logs, ignore_index)
    q = _smoothed(y, label_smoothing, shape_of(logs)[-1])
    c = keep(q * logs, not_equal(q, 0))
    if reduction == "mean":
        c = c + loss * y
    return _masked(-(_scale_of_labels(g, logs, y, kept, weight, reduction) * c), kept, logs)


_LOSS: dict[str, Any] = {
    "operands": "scores target weight",
    "optional": {"weight": 1.0},
    "dtype": lambda scores, target, weight="weak float": floating(scores, weight),
    "doc": "-log softmax(scores) of the right class; the scores receive p - y (divided by the number of rows).",
}
_SETTINGS = {"reduction": one_of("mean", "sum", "none"), "label_smoothing": Setting(part, 0.0)}
_IGNORE = {"ignore_index": Setting(whole, IGNORED)}

cross_entropy = operator(
    "cross_entropy",
    spellings=("softmax_cross_entropy", "cross_entropy_loss"),
    settings=_SETTINGS,
    forward=_loss_of_probabilities,
    vjp=(_scores_rule, _target_rule, _weight_rule),
    choose=lambda scores, target, *_: cross_entropy_of_labels if _holds_labels(scores, target) else None,
    shape=_loss_shape(False),
    **_LOSS,
)

cross_entropy_of_labels: Op = operator(
    "cross_entropy",
    settings={**_SETTINGS, **_IGNORE},
    forward=_loss_of_labels,
    vjp=(_labelled_rule, None, _label_weight_rule),
    shape=_loss_shape(True),
    operand_kinds=("number", "labels"),
    hidden=True,
    **_LOSS,
)


def _holds_labels(scores: Any, target: Any) -> bool:
    """Whether the target has one entry a row: labels, where one entry a class would be probabilities."""
    return len(shape_of(target)) < len(shape_of(scores))


def _nll_shape(logs: Shape, target: Shape, weight: Shape | None = None, **settings: Any) -> Shape:
    if not logs or target != logs[:-1]:
        found: dict[int | str, str] = {0: shape_words(logs), 1: shape_words(target)}
        way_out = f"labels would have shape {logs[:-1]}" if logs else "log-probabilities have an axis of classes"
        raise ShapeError("needs a label for every row of {0}", found, way_out)
    return _loss_shape(True)(logs, target, weight, **settings)


def _nll_rule(
    g: Any,
    loss: Any,
    logs: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = IGNORED,
) -> Any:
    kept = _kept(target, ignore_index)
    y = _labels(target, kept, logs, ignore_index)
    scale = _scale_of_labels(g, logs, y, kept, weight, reduction)
    return _masked(-(scale * (y if weight is None else y * weight)), kept, logs)


nll_loss = operator(
    "nll_loss",
    "logs target weight",
    optional={"weight": 1.0},
    settings={"reduction": one_of("mean", "sum", "none"), **_IGNORE},
    shape=_nll_shape,
    dtype=lambda logs, target, weight="weak float": floating(logs, weight),
    forward=lambda logs, target, weight=None, reduction="mean", ignore_index=IGNORED: _loss_of_logs(
        logs, target, weight, reduction, ignore_index
    ),
    vjp=(
        _nll_rule,
        None,
        lambda g, y, logs, target, weight, reduction="mean", ignore_index=IGNORED: _weight_of_logs(
            g, y, logs, target, weight, reduction, ignore_index
        ),
    ),
    operand_kinds=("number", "labels"),
    doc="Minus the log-probability of the right class; they receive -y (divided by the number of rows).",
)

"""Softmax and its logarithm; labels as probabilities.

Source of the rule of softmax: its Jacobian is diag(p) - p pᵀ, so dz = p * (g - sum(g * p)).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating, promote
from gradcli.graph.op import PRODUCT, SUM, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.reduce import stretch, total
from gradcli.ops.shapes import LAST_AXIS, along, shape_words, whole


def _shifted(x: Any, axis: int) -> Any:
    """x less its largest entry (which changes no softmax), so that nothing overflows."""
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    finite = np.isfinite(top)
    return x - (top if finite.all() else np.where(finite, top, 0))


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(_shifted(x, axis))
    return e / np.add.reduce(e, axis=axis, keepdims=True)


def logs_of_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax, as numbers."""
    s = _shifted(x, axis)
    return s - np.log(np.add.reduce(np.exp(s), axis=axis, keepdims=True))


def sum_along(x: Any, axis: int) -> Any:
    """The sum along an axis, ready to be stretched back over it."""
    return total(x) if len(shape_of(x)) == 1 else total(x, axis=axis, keepdims=True)


softmax: Op = operator(
    "softmax",
    "x",
    settings=LAST_AXIS,
    shape=along,
    dtype=floating,
    forward=_softmax,
    vjp=(lambda g, y, x, axis=-1: y * (g - sum_along(g * y, axis)),),
    doc="exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.",
    stable=(("exp(x) / sum(exp(x))", "softmax(x)"),),
)

log_softmax = operator(
    "log_softmax",
    "x",
    settings=LAST_AXIS,
    shape=along,
    dtype=floating,
    forward=logs_of_softmax,
    vjp=(lambda g, y, x, axis=-1: g - softmax(x, axis=axis) * sum_along(g, axis),),
    doc="The logarithm of softmax, computed without ever taking a logarithm of 0.",
    stable=(("log(softmax(x))", "log_softmax(x)"), ("log(exp(x) / sum(exp(x)))", "log_softmax(x)")),
)


def whole_labels(labels: Any, classes: int, ignored: int | None = None) -> Any:
    """Labels as indices; IndexError for one that names no class and is not the one to be ignored."""
    found = np.asanyarray(labels).astype(np.intp)
    if not (found.view(np.uintp) >= classes).any():  # a negative label is a large number without its sign
        return found
    wrong = (found < 0) | (found >= classes)
    if ignored is not None:
        wrong &= found != ignored
    if wrong.any():
        worst = found.max() if found.max() >= classes else found[wrong].min()
        raise IndexError(f"label {worst} names no class: there are {classes}, numbered from 0")
    return found


def _one_hot_shape(labels: Shape, classes: int) -> Shape:
    if classes < 1:
        raise ShapeError("there must be at least one class", {"classes": str(classes)})
    return (*labels, classes)


one_hot: Op = operator(
    "one_hot",
    "labels",
    settings={"classes": Setting(whole, required=True)},
    shape=_one_hot_shape,
    dtype=lambda labels: "weak float",
    forward=lambda labels, classes: (np.arange(classes) == whole_labels(labels, classes)[..., None]) * 1.0,
    vjp=(None,),
    operand_kinds=("labels",),
    write=lambda shapes, classes: Written(f"one_hot({{0}}, {classes})"),
    doc="For every label a row of zeros with a 1 at its class; no gradient.",
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
        lambda g, e, p, y: g * sum_along(y, -1),
        lambda g, e, p, y: stretch(sum_along(g * p, -1), shape_of(y)) - g,
    ),
    write=lambda shapes: Written(
        "{0} * sum({1}) - {1}" if len(shapes[1]) == 1 else "{0} * sum({1}, axis=-1, keepdims=True) - {1}",
        SUM,
        (PRODUCT, PRODUCT + 1),
    ),
    hidden=True,
    doc="p * sum(y) - y: what cross-entropy sends to the scores, for probabilities y of any sum.",
)

"""Layers made of other operators: linear, normalisation, dropout, attention.

None of these becomes a node.  A call writes the operations it is made of into the graph, so that every inner node has a
value, a place in the order and a gradient that can be seen; the rules of the parts are all the rules there are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.graph.op import Op, Setting, Shape, ShapeError, operator, shape_of
from gradcli.ops.arrange import reshape, swap_last, transpose
from gradcli.ops.compare import maximum, where
from gradcli.ops.cross_entropy import cross_entropy, cross_entropy_of_labels, nll_loss
from gradcli.ops.elementwise import sqrt
from gradcli.ops.norms import norm
from gradcli.ops.probability import softmax
from gradcli.ops.reduce import mean
from gradcli.ops.shapes import flag, lengths, part, positive, real, whole

EPS = {"eps": Setting(positive, 1e-5)}


def _compound(name: str, operands: str, composes: Any, doc: str, **block: Any) -> Op:
    return operator(
        name,
        operands,
        shape=lambda *shapes, **_: shapes[0],
        forward=lambda *values, **_: values[0],
        vjp=None,
        composes=composes,
        doc=doc,
        **block,
    )


def _normalised(x: Any, axes: Any, eps: float) -> Any:
    """x less its mean, divided by its standard deviation (of n, not n - 1), over some axes."""
    centred = x - mean(x, axis=axes, keepdims=True)
    variance = mean(centred**2, axis=axes, keepdims=True)
    return centred / sqrt(variance + eps)


def _scaled(x: Any, parameters: tuple[Any, ...], shape: Shape | None = None) -> Any:
    """x times its weight plus its bias, as far as they are given; `shape` lays them along an axis of their own."""
    for slot, parameter in enumerate(parameters):
        laid = parameter if shape is None or shape_of(parameter) == () else reshape(parameter, shape=shape)
        x = x * laid if slot == 0 else x + laid
    return x


def _linear(x: Any, weight: Any, *bias: Any) -> Any:
    product = x @ transpose(weight)
    return product + bias[0] if bias else product


linear = _compound(
    "linear",
    "x weight bias",
    _linear,
    "x @ weight.T + bias, as torch.nn.functional.linear has it: weight is (out, in).",
    optional={"bias": 0.0},
    example="x = [1.0, 2.0]\nW = [[0.5, -1.0], [0.2, 0.3]]\nb = [0.1, 0.2]\ny = linear(x, W, b)\nL = sum(y)\n",
)


def _inner(a: Any, b: Any) -> Any:
    if len(shape_of(a)) > 2 or len(shape_of(b)) > 2:
        raise ShapeError("takes vectors and matrices", {}, "for other tensors use einsum")
    return a @ transpose(b) if shape_of(a) and shape_of(b) else a * b


inner = _compound(
    "inner",
    "a b",
    _inner,
    "The sum of products over the last axis of both: for matrices a @ b.T, which is not what dot is.",
)


def _layer_norm(x: Any, *parameters: Any, eps: float = 1e-5) -> Any:
    return _scaled(_normalised(x, -1, eps), parameters)


layer_norm = _compound(
    "layer_norm",
    "x weight bias",
    _layer_norm,
    "Every row normalised over the last axis, times a weight, plus a bias.",
    settings=EPS,
    optional={"weight": 1.0, "bias": 0.0},
)


def _torch_layer_norm(x: Any, *parameters: Any, normalized_shape: Shape, eps: float = 1e-5) -> Any:
    count = len(normalized_shape)
    if shape_of(x)[-count:] != normalized_shape:
        raise ShapeError(f"needs the last axes of {{0}} to be {normalized_shape}")
    return _scaled(_normalised(x, tuple(range(-count, 0)), eps), parameters)


torch_layer_norm = _compound(
    "torch.layer_norm",
    "x weight bias",
    _torch_layer_norm,
    "As layer_norm, over the last axes that `normalized_shape` names.",
    settings={"normalized_shape": Setting(lengths, required=True), **EPS},
    order=("x", "normalized_shape", "weight", "bias", "eps"),
    optional={"weight": 1.0, "bias": 0.0},
    example="x = [[1.0, 2.0, 4.0]]\ny = torch.layer_norm(x, 3)\nL = sum(y * [1.0, 0.0, 2.0])\n",
)


def _classes_last(op: Op, labelled: Op) -> Any:
    """PyTorch's classes stand on axis 1, also where axes follow: they are moved to the end."""

    def composes(scores: Any, target: Any, *weight: Any, **settings: Any) -> Any:
        ndim = len(shape_of(scores))
        return labelled(transpose(scores, axes=(0, *range(2, ndim), 1)), target, *weight, **settings)

    def choose(scores: Any, target: Any, *weight: Any) -> Op | None:
        if len(shape_of(scores)) > 2 and len(shape_of(target)) < len(shape_of(scores)):
            return None
        return (op.choose(scores, target, *weight) if op.choose is not None else None) or op

    return _compound(
        f"torch.{op.name}",
        " ".join(op.operands),
        composes,
        f"As {op.name}, with the classes on axis 1 where axes follow.",
        spellings=tuple(f"torch.{word}" for word in op.spellings),
        choose=choose,
        settings=labelled.settings,
        optional=op.optional,
        operand_kinds=("number", "labels"),
        example=(
            "x = [[[1.0, 2.0], [0.0, -1.0]], [[0.5, 0.2], [0.3, 0.9]]]\n"
            f"y = torch.{op.name}(x, [[0, 1], [1, 1]])\nL = 2 * y\n"
        ),
    )


_classes_last(cross_entropy, cross_entropy_of_labels)
_classes_last(nll_loss, nll_loss)


def _channels(x: Any) -> tuple[tuple[int, ...], Shape]:
    """The axes of a batch and its places, and the shape that lays one number a channel along axis 1."""
    ndim = len(shape_of(x))
    if ndim < 2:
        raise ShapeError("needs a batch: {0} must have an axis of examples and one of channels")
    return (0, *range(2, ndim)), (shape_of(x)[1], *[1] * (ndim - 2))


def _batch_norm(x: Any, *parameters: Any, eps: float = 1e-5) -> Any:
    axes, shape = _channels(x)
    return _scaled(_normalised(x, axes, eps), parameters, shape)


batch_norm = _compound(
    "batch_norm",
    "x weight bias",
    _batch_norm,
    "Every channel (axis 1) normalised over the batch and its places, as in training; no running averages.",
    settings=EPS,
    optional={"weight": 1.0, "bias": 0.0},
    example="x = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]\ny = batch_norm(x)\nL = sum(y * x)\n",
)


def _rms_norm(x: Any, *weight: Any, eps: float = 1e-6) -> Any:
    return _scaled(x / sqrt(mean(x**2, axis=-1, keepdims=True) + eps), weight)


rms_norm = _compound(
    "rms_norm",
    "x weight",
    _rms_norm,
    "Every row divided by the root of the mean of its squares, times a weight.",
    settings={"eps": Setting(positive, 1e-6)},
    optional={"weight": 1.0},
)


def _group_norm(x: Any, *parameters: Any, num_groups: int, eps: float = 1e-5) -> Any:
    _, shape = _channels(x)
    full = shape_of(x)
    if num_groups < 1 or full[1] % num_groups:
        raise ShapeError(f"needs channels that {num_groups} groups divide; {{0}} has {full[1]}")
    grouped = reshape(x, shape=(full[0], num_groups, -1))
    return _scaled(reshape(_normalised(grouped, -1, eps), shape=full), parameters, shape)


group_norm = _compound(
    "group_norm",
    "x weight bias",
    _group_norm,
    "The channels (axis 1) of every example normalised in groups.",
    settings={"num_groups": Setting(whole, required=True), **EPS},
    order=("x", "num_groups", "weight", "bias", "eps"),
    optional={"weight": 1.0, "bias": 0.0},
    example="x = [[1.0, 2.0, -1.0, 0.5]]\ny = group_norm(x, 2)\nL = sum(y * x)\n",
)


def _dropout(x: Any, *mask: Any, p: float = 0.5, seed: int = 0, training: bool = True) -> Any:
    if not training or p == 0:
        return x * 1.0
    if mask:
        return x * mask[0] / (1 - p)
    drawn = np.random.default_rng(abs(seed)).uniform(size=shape_of(x)) >= p
    return x * (drawn / (1 - p) if p < 1 else np.zeros(shape_of(x)))


dropout = _compound(
    "dropout",
    "x mask",
    _dropout,
    "Entries kept with probability 1 - p and divided by it: by a mask that is given, or one drawn with a seed.",
    settings={"p": Setting(part, 0.5), "seed": Setting(whole, 0), "training": Setting(flag, True)},
    order=("x", "p", "training", "mask", "seed"),
    optional={"mask": 1.0},
    example="x = [1.0, 2.0, 3.0]\ny = dropout(x, 0.5, mask=[True, False, True])\nL = sum(y)\n",
)


def _attention(q: Any, k: Any, v: Any, *mask: Any, is_causal: bool = False, scale: float = 0.0) -> Any:
    scores = q @ swap_last(k) * (scale or 1 / math.sqrt(shape_of(q)[-1]))
    rows, columns = shape_of(scores)[-2:]
    if is_causal:
        scores = where(np.tril(np.ones((rows, columns), dtype=bool)), scores, -math.inf)
    if mask:
        boolean = getattr(mask[0], "dtype", "") == "bool"
        scores = where(mask[0], scores, -math.inf) if boolean else scores + mask[0]
    return softmax(scores, axis=-1) @ v


attention = _compound(
    "scaled_dot_product_attention",
    "q k v mask",
    _attention,
    "softmax(q @ k.mT / sqrt(features)) @ v; a mask of truth values keeps scores, one of numbers is added to them.",
    spellings=("attention",),
    settings={"is_causal": Setting(flag, False), "scale": Setting(real, 0.0)},
    optional={"mask": 0.0},
    example=(
        "q = [[1.0, 0.0], [0.5, 1.0]]\nk = [[0.2, 0.4], [1.0, -0.5]]\nv = [[1.0, 2.0], [0.0, 1.0]]\n"
        "y = scaled_dot_product_attention(q, k, v)\nL = sum(y * v)\n"
    ),
)


def _normalize(x: Any, ord: float = 2.0, axis: int = -1, eps: float = 1e-12) -> Any:
    return x / maximum(norm(x, ord=ord, axis=axis, keepdims=True), eps)


normalize = _compound(
    "normalize",
    "x",
    _normalize,
    "Every row divided by its norm, so that its length is 1.",
    settings={"ord": Setting(positive, 2.0), "axis": Setting(whole, -1), "eps": Setting(positive, 1e-12)},
    example="x = [[3.0, 4.0], [1.0, 0.0]]\ny = normalize(x)\nL = sum(y * [1.0, 2.0])\n",
)

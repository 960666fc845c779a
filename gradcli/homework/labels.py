"""Labels: inputs whose numbers say which class is right, and which only mean something in that form.

`p - y` is the gradient of a cross-entropy because the entries of y sum to one; with other numbers in y it is not.  So a
label keeps its form where inputs are drawn anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, INPUT, Node
from gradcli.graph.op import INFIX
from gradcli.ops.elementwise import log

_LOSSES = ("loss", "cross_entropy")
"""The families of operators that take labels."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The form of a label: `"one-hot"`, `"sums to one"` (both along an axis), `"0 or 1"`, `"-1 or 1"`."""

    form: str
    axis: int = -1

    def draw(self, value: Any, random: np.random.Generator) -> Any:
        """Other numbers of this form, in the shape of `value`."""
        shape = np.shape(value)
        if self.form == "one-hot":
            moved = np.moveaxis(np.zeros(shape), self.axis, -1)
            rows = moved.reshape(-1, moved.shape[-1])
            rows[np.arange(len(rows)), random.integers(moved.shape[-1], size=len(rows))] = 1.0
            return np.moveaxis(rows.reshape(moved.shape), -1, self.axis)
        if self.form == "sums to one":
            new = random.uniform(0.2, 1.0, shape)
            return new / new.sum(axis=self.axis, keepdims=True)
        new = random.integers(2, size=shape).astype(float)
        return new if self.form == "0 or 1" else 2 * new - 1


def structure_of(value: Any) -> Structure | None:
    """The form of an array; None if it has none."""
    array = np.asarray(value, float)
    if not array.size or not np.all(np.isfinite(array)):
        return None
    axes = [axis for axis in (-1, 0) if array.ndim and array.shape[axis] > 1]
    sums = [axis for axis in axes if np.allclose(array.sum(axis=axis), 1, atol=1e-9)]
    if np.all((array == 0) | (array == 1)):
        return Structure("one-hot", sums[0]) if sums else Structure("0 or 1")
    if np.all(np.abs(array) == 1):
        return Structure("-1 or 1")
    return Structure("sums to one", sums[0]) if sums and np.all(array >= 0) else None


Consumers = Mapping[int, Sequence[Node]]
"""By the number of a node, those that use it."""


def consumers_of(nodes: Sequence[Node]) -> Consumers:
    """The consumers of every node."""
    found: dict[int, list[Node]] = {}
    for node in nodes:
        for operand in node.operands:
            found.setdefault(operand.number, []).append(node)
    return found


def label_structure(node: Node, consumers: Consumers) -> Structure | None:
    """The form of an input that is used as a label: one that meets only products, losses, or the dot with a log."""
    if node.op is not INPUT:
        return None
    structure = structure_of(node.data)
    return structure if structure is not None and _only_labels(node, consumers) else None


def _only_labels(node: Node, consumers: Consumers) -> bool:
    stack = [node]
    met = False
    while stack:
        label = stack.pop()
        for consumer in consumers.get(label.number, ()):
            met = True
            slot = consumer.operands.index(label)
            if _is_affine(consumer, slot):
                stack.append(consumer)
            elif not _takes_label(consumer, slot):
                return False
    return met


def _is_affine(consumer: Node, slot: int) -> bool:
    """`1 - y`, `-y`, `2 * y`, `y[0]`: a label in other words."""
    if len(consumer.operands) == 1:
        return consumer.op is INFIX["u-"] or "key" in consumer.settings
    other = consumer.operands[1 - slot]
    return consumer.op in (INFIX["+"], INFIX["-"], INFIX["*"]) and other.op is CONSTANT


def _takes_label(consumer: Node, slot: int) -> bool:
    if consumer.op is INFIX["*"] or consumer.op.family in _LOSSES or consumer.dtype == "bool":
        return True
    others = [o for place, o in enumerate(consumer.operands) if place != slot]
    return len(others) == 1 and consumer.op.scalar is None and _is_log(others[0])


def _is_log(node: Node) -> bool:
    while node.op is INFIX["u-"]:
        node = node.operands[0]
    return node.op is log

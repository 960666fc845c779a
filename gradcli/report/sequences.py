"""What happens to a gradient on its way back through time, and what is done about it.

A sequence is a family of states such as `h[1]`, `h[2]`, …, each computed from the one before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Steps
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import sweep
from gradcli.graph import INPUT, Node

if TYPE_CHECKING:
    from gradcli.report.report import Report

MEMBER = re.compile(r"(.+)\[(\d+)\]|(.+)'(\d+)")
FEWEST = 3
"""A sequence of fewer states tells nothing about growth."""
FEWEST_VERSIONS = 6
"""Nor does a name that is given again a few times: only a loop gives it more often."""
WIDEST, LONGEST = 64, 200
"""The Jacobians of a longer sequence, or of wider states, are not computed."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a sequence: the norm of its gradient, and of the Jacobian that leads from it to the next one.

    `product` is the product of these norms from here to the last state: the gradient that comes back from there cannot
    be larger by more than that factor.  None where it was not computed.
    """

    name: str
    norm: float
    jacobian: float | None
    product: float | None


@dataclass(frozen=True, slots=True)
class StateSequence:
    """The states of one name, in order."""

    name: str
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One gradient before and after truncation or clipping."""

    name: str
    before: float
    after: float
    distance: float
    """The norm of the difference, relative to the norm before."""
    cosine: float
    """Of the angle between the two; NaN if one of them is zero."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """What truncated backpropagation left out."""

    name: str
    every: int
    cuts: tuple[tuple[str, tuple[str, ...]], ...]
    """The states at which the gradient was cut, each with the consumers whose contributions were dropped."""
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Clipping:
    """The gradients of the inputs, scaled together so that their joint norm is no larger than `limit`."""

    limit: float
    norm: float
    factor: float
    changes: tuple[Change, ...]


def members(nodes: Steps[Node], name: str = "") -> dict[str, list[Node]]:
    """The states of every sequence (or of the one called `name`), in order of time."""
    found: dict[str, dict[int, Node]] = {}
    for node in nodes:
        if node.name[-1:] != "]" and "'" not in node.name:
            continue
        match = MEMBER.fullmatch(node.name)
        if match and node.differentiable:
            base = match[1] or match[3]
            if not name or base == name:
                found.setdefault(base, {})[int(match[2] or match[4])] = node
    by_name = {n.name: n for n in nodes}
    result = {}
    for base, states in found.items():
        ordered = [states[t] for t in sorted(states)]
        if "'" in ordered[0].name[len(base) :] and base in by_name:
            ordered.append(by_name[base])
        ordered = [n for n in ordered if n.op is not INPUT]
        alike = len(ordered) > 1 and all(n.shape == ordered[0].shape for n in ordered)
        if alike and all(between(a, b) for a, b in pairwise(ordered)):
            result[base] = ordered
    return result


def between(first: Node, last: Node) -> list[Node]:
    """The nodes through which a gradient flows from `last` back to `first`, in the order of the sweep."""
    seen = {last.number: last}
    stack = [last]
    while stack:
        node = stack.pop()
        for _, operand in node.op.passing(node.operands):
            if operand.number >= first.number and operand.number not in seen:
                seen[operand.number] = operand
                stack.append(operand)
    leading = {first.number}
    for number in sorted(seen):
        if any(o.number in leading for _, o in seen[number].op.passing(seen[number].operands)):
            leading.add(number)
    if first.number not in seen or last.number not in leading:
        return []
    return [seen[number] for number in sorted(leading, reverse=True)]


def state_sequences(report: Report) -> list[StateSequence]:
    """The sequences of a derivation to whose states a gradient flows."""
    found = []
    for name, nodes in members(report.shown).items():
        reached = [n for n in nodes if n.number in report.place]
        if len(reached) >= (FEWEST if nodes[0].name.endswith("]") else FEWEST_VERSIONS):
            found.append(StateSequence(name, tuple(_states(report, reached))))
    return found


def _states(report: Report, nodes: list[Node]) -> list[State]:
    size = int(np.prod(nodes[0].shape)) if nodes[0].shape else 1
    jacobians: list[float | None] = [None] * len(nodes)
    if size <= WIDEST and len(nodes) <= LONGEST:
        for at, (a, b) in enumerate(pairwise(nodes)):
            jacobians[at] = _jacobian_norm(report, a, b, size)
    states: list[State] = []
    product: float | None = 1.0
    for node, jacobian in zip(reversed(nodes), reversed(jacobians), strict=True):
        if node is not nodes[-1]:
            product = None if product is None or jacobian is None else product * jacobian
        states.append(State(node.name, norm_of(report.sweep.gradients[node.number]), jacobian, product))
    return states[::-1]


def _jacobian_norm(report: Report, first: Node, last: Node, size: int) -> float:
    """The largest factor by which a gradient can grow on its way from one state back to the one before."""
    order = between(first, last)
    rows = []
    for k in range(size):
        seed = np.zeros(size)
        seed[k] = 1.0
        shaped: Any = seed.reshape(last.shape) if last.shape else 1.0
        rows.append(
            np.ravel(sweep(order, report.values, shaped, plain=report.traced.graph.plain).gradients[first.number])
        )
    return float(np.linalg.norm(np.array(rows, dtype=float), 2))


def norm_of(value: Any) -> float:
    """The Euclidean norm of all entries."""
    return float(np.linalg.norm(np.ravel(np.asarray(value, float))))


def change(name: str, before: Any, after: Any) -> Change:
    """How a gradient was changed."""
    first, second = np.ravel(np.asarray(before, float)), np.ravel(np.asarray(after, float))
    size, new = norm_of(first), norm_of(second)
    cosine = float(first @ second / (size * new)) if size and new else float("nan")
    return Change(name, size, new, norm_of(second - first) / size if size else 0.0, cosine)


def inputs_with_gradients(report: Report) -> dict[str, Any]:
    """The gradients of the inputs to which a way leads."""
    return {g.name: g.value for g in report.gradients.values() if g.input and g.path}


def clip(report: Report, limit: float) -> Clipping:
    """Clips the gradients of the inputs by their joint norm, once, after the whole sweep."""
    gradients = inputs_with_gradients(report)
    norm = float(np.sqrt(sum(norm_of(v) ** 2 for v in gradients.values())))
    factor = min(1.0, limit / norm) if norm else 1.0
    changes = tuple(change(name, value, np.asarray(value) * factor) for name, value in gradients.items())
    return Clipping(limit, norm, factor, changes)


def compare(whole: Report, cut: Report, name: str, every: int, cuts: Any) -> Truncation:
    """How far truncation moves the gradients."""
    before, after = inputs_with_gradients(whole), inputs_with_gradients(cut)
    changes = tuple(change(n, v, after.get(n, np.zeros(np.shape(v)))) for n, v in before.items())
    return Truncation(name, every, tuple(cuts), changes)

"""Why a gradient is no plain derivative: at which node it happens, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.verify.exact import Exact
from gradcli.verify.probe import Kind
from gradcli.verify.rules import sizes


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A node by name, the reason, and a way out."""

    node: str = ""
    reason: str = ""
    way_out: str = ""

    @classmethod
    def of_value(cls, exact: Exact) -> Diagnosis:
        """Why the function has no finite value: the first node that has none."""
        m = exact.arithmetic
        for node in exact.nodes:
            if node.leaf or node.dtype not in FLOATS:
                continue
            value = exact.base[node.number]
            if not np.all(np.isfinite(value)):
                written = _written(exact, node)
                operands = [np.asarray(m.floats(exact.base[o.number])) for o in node.operands]
                at = f" with {_operands_text(node, operands)}" if all(o.size <= 4 for o in operands) else ""
                what = "is not defined" if np.any(np.isnan(value)) else "is infinite"
                return cls(node.name, f"`{written}` {what}{at}")
        return cls(exact.output.name, "the output is not finite")

    @classmethod
    def of_kind(cls, exact: Exact, node: Node, index: tuple[int, ...], left: Kind, right: Kind) -> Diagnosis:
        """Why there is no slope, at the node where the function breaks."""
        at = next(iter(hits(exact, node)), None)
        worst = next((k for k in (Kind.JUMP, Kind.INFINITE, Kind.OSCILLATION, Kind.DOMAIN) if k in (left, right)), left)
        words = {
            Kind.JUMP: "the function jumps here",
            Kind.INFINITE: "the slope is infinite",
            Kind.OSCILLATION: "the slope oscillates and settles on no value",
            Kind.DOMAIN: "the function is not defined on either side",
        }
        side = "" if left is right or worst is Kind.DOMAIN else (" on the left" if left is worst else " on the right")
        written = f" at `{_written(exact, at)}`" if at is not None else ""
        return cls(at.name if at is not None else "", f"{words[worst]}{side}{written}")

    @classmethod
    def of_kink(cls, exact: Exact, node: Node, index: tuple[int, ...]) -> Diagnosis:
        """The operation that has the kink."""
        at = next(iter(hits(exact, node)), None)
        return cls(at.name, f"`{_written(exact, at)}` has a kink there") if at is not None else cls()

    @classmethod
    def of_rule(cls, exact: Exact, node: Node) -> Diagnosis:
        """A rule that gives no finite number where there is a derivative."""
        return cls(node.name, "the derivative exists, but the rules meet inf or NaN on the way to it")

    @classmethod
    def of_lost_digits(cls, exact: Exact, node: Node) -> Diagnosis:
        """The first node whose float value lost its digits on the way from `node` to the output."""
        return lost_digits(exact, node)


def hits(exact: Exact, node: Node) -> Iterator[Node]:
    """The nodes downstream of one that stand at a corner, a jump or the edge of their domain.

    They are found by what they do: moved a little to either side, their slope changes or is not there.
    """
    m = exact.arithmetic
    moved = exact.downstream([node.number])
    step = m.power(10, -40)
    for each in exact.nodes:
        if each.leaf or each.number not in moved:
            continue
        operands = [exact.base[o.number] for o in each.operands]
        for slot, operand in enumerate(each.operands):
            if operand.number not in moved or operand.dtype not in FLOATS:
                continue
            if _breaks(m, each, operands, slot, step):
                yield each
                break


def _breaks(m: Any, node: Node, operands: list[Any], slot: int, step: Any) -> bool:
    quotients = []
    step = step * sizes(m, operands[slot])
    for h in (step, step * m.power(10, -10)):
        for sign in (1, -1):
            shifted = [*operands[:slot], m.seen(operands[slot] + sign * h), *operands[slot + 1 :]]
            with np.errstate(all="ignore"):
                try:
                    there = node.op.forward(*shifted, **node.settings)
                    here = node.op.forward(*operands, **node.settings)
                except (ArithmeticError, ValueError):
                    return True
            if node.dtype not in FLOATS:
                if np.any(np.not_equal(there, here)):
                    return True
                continue
            quotients.append(m.seen((there - here) / (sign * np.max(h))))
    if not quotients:
        return False
    right, left, right2, left2 = quotients
    if not all(np.all(np.isfinite(q)) for q in quotients):
        return True
    size = 1 + np.abs(right) + np.abs(left)
    apart = np.abs(right - left) > 1e-9 * size
    unsettled = (np.abs(right - right2) > 1e-9 * size) | (np.abs(left - left2) > 1e-9 * size)
    return bool(np.any(apart) or np.any(unsettled))


def lost_digits(exact: Exact, node: Node) -> Diagnosis:
    """Where float arithmetic lost the digits, and how to write it so that it does not."""
    m = exact.arithmetic
    report = exact.report
    moved = exact.downstream([node.number])
    true = exact.base
    for each in exact.nodes:
        if each.leaf or each.number not in moved or each.dtype not in FLOATS:
            continue
        value = np.asarray(report.values[each.number], dtype=float)
        right = np.asarray(m.floats(true[each.number]), dtype=float)
        if _off(value, right):
            what = (
                "overflows" if not np.all(np.isfinite(value)) else "cancels" if _cancels(each) else "loses its digits"
            )
            return Diagnosis(each.name, f"`{_written(exact, each)}` {what} in {each.dtype}", way_out(exact, each))
    gradients = exact.gradients()
    for each in report.order_nodes:
        if each.number in gradients and each.number < len(report.sweep.gradients):
            mine = report.sweep.gradients[each.number]
            if mine is not None and _off(np.asarray(mine, float), np.asarray(m.floats(gradients[each.number]), float)):
                reason = f"the gradient of `{each.name}` loses its digits in {each.dtype}"
                return Diagnosis(each.name, reason, way_out(exact, each))
    return Diagnosis(node.name, f"its contributions cancel in {node.dtype}")


def _off(value: Any, right: Any) -> bool:
    with np.errstate(all="ignore"):
        near = np.abs(value - right) <= 1e-9 * np.abs(right)
    return not bool(np.all(near | (value == right) | ~np.isfinite(right)))


def _cancels(node: Node) -> bool:
    return node.op.infix in ("+", "-")


STABLE = (
    (("log", "softmax"), "log_softmax(z)"),
    (("log", "sigmoid"), "logsigmoid(x)"),
    (("log", "+"), "log1p(x)"),
    (("-", "exp"), "expm1(x)"),
    (("-", "sigmoid"), "sigmoid(-x)"),
    (("-", "cos"), "2 * sin(x / 2)**2"),
    (("-", "sqrt"), "the difference of squares over the sum of the roots"),
    (("log", "sum"), "logsumexp(z)"),
)
"""An operation over another one, each by its sign or name, and the form that keeps the digits."""


def way_out(exact: Exact, node: Node) -> str:
    """The stable form of what a node computes, where there is a known one."""
    consumers = [n for n in exact.nodes if node in n.operands]
    for outer, inner in [(node, o) for o in node.operands] + [(c, node) for c in consumers]:
        for (first, second), form in STABLE:
            if first in (outer.op.infix, outer.op.name) and second in (inner.op.infix, inner.op.name):
                return f"write {form}"
    return ""


def _written(exact: Exact, node: Node) -> str:
    return exact.report.operation(node) or node.name


def _operands_text(node: Node, operands: list[Any]) -> str:
    return " and ".join(
        f"{o.name} = {v.tolist()!r}" for o, v in zip(node.operands, operands, strict=True) if not o.leaf or o.name
    )

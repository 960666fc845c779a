"""Why a gradient is no plain derivative: at which node it happens, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.verify.exact import Exact
from gradcli.verify.precision import KEPT, coarsest
from gradcli.verify.probe import Kind
from gradcli.verify.rules import sizes
from gradcli.verify.stable import stable_form

PAIRS = 3
"""So many pairs of changes are tried: by chance, one pair may add up at a corner."""


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
                operands = [np.asarray(m.floats(exact.base[o.number])) for o in node.operands]
                at = f" at {_operands_text(node, operands)}" if all(o.size <= 4 for o in operands) else " here"
                return cls(node.name, ("not defined" if np.any(np.isnan(value)) else "infinite") + at)
        return cls(exact.output.name, "the output is not finite")

    @classmethod
    def of_kind(cls, exact: Exact, node: Node, left: Kind, right: Kind) -> Diagnosis:
        """Why there is no slope, at the node where the function breaks."""
        at = next(iter(hits(exact, node)), None)
        words = {
            Kind.SLOPE: "a finite slope",
            Kind.JUMP: "a jump",
            Kind.INFINITE: "an infinite slope",
            Kind.OSCILLATION: "a slope that oscillates and settles on no value",
            Kind.SLOW: "a slope that does not settle",
            Kind.DOMAIN: "no value",
        }
        sides = "on either side" if left is right is Kind.DOMAIN else "from both sides" if left is right else ""
        reason = f"{words[left]} {sides}" if sides else f"{words[left]} on the left, {words[right]} on the right"
        return cls(at.name if at is not None else "", reason)

    @classmethod
    def of_kink(cls, exact: Exact, node: Node) -> Diagnosis:
        """The operation that has the kink: its one-sided slopes are reason enough."""
        at = next(iter(hits(exact, node)), None)
        return cls(at.name) if at is not None else cls()

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
            if (each.number, slot) not in exact.broken:
                exact.broken[each.number, slot] = _breaks(m, each, operands, slot, step)
            if exact.broken[each.number, slot]:
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
    return bool(np.any(apart) or np.any(unsettled)) or not _adds_up(m, node, operands, slot)


def _adds_up(m: Any, node: Node, operands: list[Any], slot: int) -> bool:
    """Whether two small changes together do what each does alone: where three tie, the median has no other corner."""
    count = np.size(operands[slot])
    if count < 2:
        return True
    step = m.seen(m.power(10, -40) * sizes(m, operands[slot]))
    rng = np.random.default_rng(11)

    def value(*changes: Any) -> Any:
        moved = operands[slot]
        for change in changes:
            moved = m.seen(moved + change)
        return node.op.forward(*operands[:slot], moved, *operands[slot + 1 :], **node.settings)

    with np.errstate(all="ignore"):
        for _ in range(PAIRS):
            first, second = (m.seen(step * m.array(rng.uniform(-1.5, 1.5, np.shape(step)))) for _ in range(2))
            try:
                here, one, other, both = value(), value(first), value(second), value(first, second)
            except (ArithmeticError, ValueError):
                return False
            moved = np.abs(one - here) + np.abs(other - here) + np.abs(both - here)
            off = np.abs(both - one - other + here)
            if np.any(off > 1e-9 * moved + m.power(10, -110) * np.abs(here)):
                return False
    return True


def lost_digits(exact: Exact, node: Node) -> Diagnosis:
    """Where float arithmetic lost the digits, and how to write it so that it does not."""
    m = exact.arithmetic
    report = exact.report
    moved = exact.downstream([node.number])
    dtype = coarsest(exact, node)
    kept = KEPT[dtype]
    for each in exact.nodes:
        if each.leaf or each.number not in moved or each.dtype not in FLOATS:
            continue
        right = np.asarray(m.floats(exact.base[each.number]), dtype=float)
        value = np.asarray(report.values[each.number], dtype=float)
        too_large = not np.isfinite(value).all() and bool(np.all(np.isfinite(exact.base[each.number])))
        if too_large or _off(value, right, kept):
            first = _out_of_range(exact, each)
            what = _beyond(exact, first) or _loses(exact, each, dtype)
            return Diagnosis(first.name, what, stable_form(report, exact.nodes, first))
    gradients = exact.gradients()
    for each in report.order_nodes:
        if each.number in gradients and each.number < len(report.sweep.gradients):
            mine = report.sweep.gradients[each.number]
            right = np.asarray(m.floats(gradients[each.number]), float)
            over = mine is not None and _overflows(m, mine, gradients[each.number])
            if mine is not None and (over or _off(np.asarray(mine, float), right, kept)):
                first = _out_of_range(exact, each)
                beyond = _beyond(exact, first)
                what = beyond or f"on the way back, the gradient of {each.name} {_how(over, dtype)}"
                at = first if beyond else each
                return Diagnosis(at.name, what, stable_form(report, exact.nodes, at))
    return Diagnosis(node.name, f"its contributions cancel in {dtype}")


def _overflows(m: Any, mine: Any, exactly: Any) -> bool:
    """Whether an entry of a gradient is infinite in floats where it is a number."""
    infinite = np.ravel(np.isinf(np.asarray(mine, dtype=float)))
    if not infinite.any():
        return False
    entries = np.ravel(np.asarray(exactly, dtype=object))
    return len(entries) == len(infinite) and any(m.context.isfinite(m.of(v)) for v in entries[infinite])


def _how(over: bool, dtype: str) -> str:
    return f"overflows: it is too large for {dtype}" if over else f"loses its digits in {dtype}"


_SMALLEST = {"float32": 2.0**-126, "float16": 2.0**-14}
"""Smaller numbers have fewer digits, or none."""


def _off(value: Any, right: Any, kept: float) -> bool:
    if value.shape != right.shape:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(value - right) <= kept * np.abs(right)
    return not bool(np.all(near | (value == right) | ~np.isfinite(right)))


def _out_of_range(exact: Exact, node: Node) -> Node:
    """Where a value went out of the range of floats first, on the way to a node that it spoils; else that node."""
    stack, seen, first = [node], {node.number}, node
    while stack and len(seen) < 1000:
        each = stack.pop()
        if not each.leaf and each.number < first.number and _beyond(exact, each):
            first = each
        for operand in each.operands:
            if operand.number not in seen and not operand.leaf and (each is node or _beyond(exact, each)):
                seen.add(operand.number)
                stack.append(operand)
    return first


def _beyond(exact: Exact, node: Node) -> str:
    """How a node's value is out of the range of its floats, "" if it is not."""
    if node.leaf or node.dtype not in FLOATS:
        return ""
    value = np.asarray(exact.report.values[node.number], dtype=float)
    true = exact.base[node.number]
    if value.shape != np.shape(true):
        return ""
    if np.any(np.isinf(value) & np.isfinite(true).astype(bool)):
        return f"overflows: the number is too large for {node.dtype}"
    small = np.asarray(np.less(np.abs(true), _SMALLEST.get(node.dtype, 1e-307)), bool)
    if np.any((value == 0) & small & np.asarray(np.not_equal(true, 0), bool)):
        return f"underflows: the number is too small for {node.dtype} and becomes 0"
    return ""


def _loses(exact: Exact, node: Node, dtype: str) -> str:
    """What happened to the digits of a value whose operands still had theirs."""
    sizes = [np.abs(np.asarray(exact.report.values[o.number], float)).max(initial=0) for o in node.operands]
    mine = np.abs(np.asarray(exact.arithmetic.floats(exact.base[node.number]), float)).max(initial=0)
    same = all(o.shape == node.shape or o.shape == () for o in node.operands)
    if len(sizes) > 1 and same and mine < 1e-2 * max(sizes) and min(sizes) > 0.5 * max(sizes):
        return f"two nearly equal numbers are subtracted, and what is left are the rounding errors of {dtype}"
    return f"the rounding error of its operands becomes large in {dtype}"


def _operands_text(node: Node, operands: list[Any]) -> str:
    return ", ".join(
        f"{o.name} = {v.tolist()!r}" for o, v in zip(node.operands, operands, strict=True) if not o.leaf or o.name
    )

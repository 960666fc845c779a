"""Every operator's rule alone, at its inputs in the file: which of them are wrong.

A rule's contribution, for a random upstream gradient, is compared with the slope of the operation itself at many
digits.  All rules can be right while the composition is wrong (two kinks that meet), and the other way round (two
slips that cancel); so this is looked at beside the composition, never instead of it.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import size_of
from gradcli.verify.exact import Exact
from gradcli.verify.verdict import RuleCheck, Verdict

RULE = 1e-12
"""By how much a rule may be off: some hold numbers such as 0.044715 in 53 bits."""
WORK = 100_000
"""Operations on numbers, about, times a dozen."""
APART = 1e-9
"""One-sided slopes that differ by more are those of a kink, where a rule may choose."""


def wrong_rules(exact: Exact, most: int | None = None, until: float = math.inf) -> tuple[RuleCheck, ...]:
    """The rules that are not the slope of their operation at these inputs.

    Each is looked at wherever it is used, or at the first `most` of these places and, of those, at no more than take
    `WORK` operations in all (an operation of a thousand operands takes a thousand at each of them).  After `until`
    none is looked at any more.
    """
    work = 0
    found: list[RuleCheck] = []
    looked: dict[Any, int] = {}
    rng = np.random.default_rng(3)
    known: set[Any] = set()
    for node in exact.report.order_nodes:
        if not node.operands:
            continue
        for slot, operand in node.op.passing(node.operands):
            if operand.number not in exact.base:
                continue
            rule = (node.op, slot)
            looked[rule] = looked.get(rule, 0) + 1
            if most is not None and looked[rule] > most:
                continue
            work += size_of(node) + sum(size_of(o) for o in node.operands)
            if (most is not None and work > WORK) or time.monotonic() > until:
                return tuple(found)
            key = (node.op, slot, node.operands, str(node.settings))
            if key not in known and (reason := _fault(exact, node, slot, rng)):
                known.add(key)
                written = exact.report.operation(node)
                found.append(RuleCheck(node.name, written, slot, operand.name, Verdict.DISAGREE, reason))
    return tuple(found)


def _fault(exact: Exact, node: Node, slot: int, rng: np.random.Generator) -> str:
    """What is wrong with the rule of one operand; "" if nothing is, or if the operation has no slope here."""
    m = exact.arithmetic
    operand = node.operands[slot]
    operands = [exact.base[o.number] for o in node.operands]
    here = exact.base[node.number]
    if operand.dtype not in FLOATS or not np.all(np.isfinite(here)) or not np.all(np.isfinite(operands[slot])):
        return ""
    upstream = m.array(rng.uniform(0.5, 1.5, node.shape)[()])
    along = m.seen(m.array(rng.uniform(0.5, 1.5, operand.shape)[()]) * sizes(m, operands[slot]))
    try:
        with np.errstate(all="ignore"):
            sent = m.seen(contribution(node, slot, upstream, here, operands))
    except Exception as error:  # a rule that someone wrote may do anything
        return f"the rule fails: {error}"
    if np.shape(sent) != operand.shape:
        return f"the contribution has shape {np.shape(sent)}, not {operand.shape}"
    slopes = []
    with np.errstate(all="ignore"):
        for step in (m.power(10, -40), -m.power(10, -40), m.power(10, -50)):
            moved = [*operands[:slot], m.seen(operands[slot] + step * along), *operands[slot + 1 :]]
            try:
                there = node.op.forward(*moved, **node.settings)
            except (ArithmeticError, ValueError):
                return ""
            slopes.append(m.of(np.sum(upstream * (there - here))) / step)
    if not all(map(m.context.isfinite, slopes)):
        return ""
    right, left, nearer = slopes
    size = max(abs(right), abs(left))
    if max(abs(right - left), abs(right - nearer)) > APART * size:
        return ""
    told = m.of(np.sum(sent * along))
    heard = m.of(np.sum(np.abs(sent * along)))
    felt = m.of(np.sum(np.abs(upstream * here)))
    taken = sum((m.of(np.sum(np.abs(o))) for o in operands if np.all(np.isfinite(o))), m.of(0))
    if abs(told - right) <= RULE * max(size, heard) + m.power(10, -30) * felt + m.power(10, -80) * taken:
        return ""  # what is smaller than that is absorbed by the operands
    if abs(told - right) <= 10 * abs(right - left):
        return ""  # the corner of one entry, beside larger ones
    if size == 0 and heard == 0:
        return ""
    if not _linear(exact, node, slot, upstream, along, right, rng):
        return ""
    return f"along a random direction the rule says {_short(m, told)}, the operation itself {_short(m, right)}"


def _linear(
    exact: Exact, node: Node, slot: int, upstream: Any, along: Any, slope: Any, rng: np.random.Generator
) -> bool:
    """Whether slopes add up: at a tie of three, the median has one slope in each direction, but no derivative."""
    m = exact.arithmetic
    operands = [exact.base[o.number] for o in node.operands]
    here = exact.base[node.number]
    other = m.seen(m.array(rng.uniform(-1.5, 1.5, np.shape(along))[()]) * sizes(m, operands[slot]))
    step = m.power(10, -40)
    slopes = [slope]
    with np.errstate(all="ignore"):
        for direction in (other, m.seen(along + other)):
            moved = [*operands[:slot], m.seen(operands[slot] + step * direction), *operands[slot + 1 :]]
            try:
                slopes.append(m.of(np.sum(upstream * (node.op.forward(*moved, **node.settings) - here))) / step)
            except (ArithmeticError, ValueError):
                return False
    first, second, both = slopes
    return bool(abs(first + second - both) <= APART * max(abs(first), abs(second), abs(both)))


def sizes(m: Any, value: Any) -> Any:
    """What steps are small beside, entry by entry: the entry's own size, or 1 where it is 0."""
    return m.entrywise(lambda m, x: abs(x) if x != 0 and m.context.isfinite(x) else m.one, value)


def _short(m: Any, number: Any) -> str:
    return f"{m.floats(number):.6g}"

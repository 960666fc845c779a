"""The single edits of one step of a formula, each with the two slips it may mean.

An edit that makes a wrong line right undoes a slip (`undoes`); an edit of the right rule that gives the wrong value
makes one (`makes`).  Dropping a transpose undoes an extra one, and makes a missing one.  Steps are told apart by
what their operators are (their sign, their settings, their shapes), so that a new operator is edited like the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, Adjoint, Node
from gradcli.graph.node import SYMBOL
from gradcli.graph.op import ALL, INFIX, Op
from gradcli.homework.naming.tape import FAULTS, Made, Tape
from gradcli.ops.arrange import index, reshape, transpose
from gradcli.ops.linear import dot, outer
from gradcli.ops.rearrange import flip
from gradcli.ops.reduce import mean, total
from gradcli.ops.shapes import same
from gradcli.problems import slips
from gradcli.problems.slips import Slip

PLUS, MINUS, TIMES, DIVIDE, POWER, AT = (INFIX[sign] for sign in ("+", "-", "*", "/", "**", "@"))
NEGATIVE = INFIX["u-"]
OPPOSITE = {
    INFIX[a]: INFIX[b] for a, b in ((">", "<"), ("<", ">"), (">=", "<="), ("<=", ">="), ("==", "!="), ("!=", "=="))
}
SUMS, FACTORS, PRODUCTS = (PLUS, MINUS), (TIMES, DIVIDE), (TIMES, AT, outer, dot)
EXPONENTS = (1.0, 2.0, 3.0, 4.0, 0.5, -0.5, -1.0, -1.5, -2.0, -3.0)
CONSTANTS = (2.0, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One edit: what to put in the place of a step, and the slip that it undoes or makes.

    `undoing` is its rank as an edit of the student's line (lower wins), `making` what it adds to the rank of an edit of
    the right rule.  `kind` tells edits of one kind from others.
    """

    kind: str
    made: Any
    undoes: Slip
    makes: Slip
    undoing: float
    making: float


def is_number(tape: Tape, at: int) -> bool:
    """Whether a step is a number, or is computed from numbers alone."""
    stack = [at]
    while stack:
        step = tape.steps[stack.pop()]
        if step.node is not None and step.node.op is not CONSTANT:
            return False
        stack.extend(step.operands)
    return True


def is_mask(value: Any) -> bool:
    """Whether a value is made of truth values."""
    return getattr(value, "dtype", None) == np.bool_ or type(value) is bool


def is_reduction(op: Op | None) -> bool:
    """Whether an operator sums up axes that it is told."""
    return op is not None and "axis" in op.settings and "keepdims" in op.settings


def is_function(op: Op | None) -> bool:
    """Whether an operator is a function of one number, applied entry by entry or along an axis."""
    return op is not None and len(op.operands) == 1 and op.shape is same and op.vjp is not None and op is not NEGATIVE


def keeps_shape(node: Node) -> bool:
    """Whether a node is a function of one tensor that gives a tensor of the same shape."""
    return len(node.operands) == 1 and node.shape == node.operands[0].shape and node.op.passes(0)


def is_matrix_transpose(op: Op | None) -> bool:
    """Whether an operator changes the order of axes."""
    return op is transpose


def edits_of_step(tape: Tape, at: int, values: Sequence[Any]) -> Iterator[Change]:
    """The edits of one operation, and those that put something around a step."""
    step = tape.steps[at]
    value = values[at]
    if step.op is not None:
        if len(step.operands) == 2:
            yield from _of_two(tape, at, values)
        yield from _of_axes(tape, at, values)
        yield from _of_functions(tape, at, values)
        yield from _of_brackets(tape, at)
    elif step.node is None:
        return  # a contribution as such: its rule is edited, and the sum it goes into
    yield from _of_order(tape, at, value)


def _of_two(tape: Tape, at: int, values: Sequence[Any]) -> Iterator[Change]:
    step = tape.steps[at]
    op = step.op
    assert op is not None
    a, b = step.operands
    if op in SUMS:
        other = MINUS if op is PLUS else PLUS
        yield Change("sign", Made(other, (a, b)), slips.SIGN, slips.SIGN, 2.0, 0.2)
        if op is MINUS:
            yield Change("sign", Made(MINUS, (b, a)), slips.SIGN, slips.SIGN, 2.1, 0.3)
        yield Change("term", a, slips.EXTRA_TERM, slips.MISSING_TERM, 4.0, 0.4)
        kept = Made(NEGATIVE, (b,)) if op is MINUS else b
        yield Change("term", kept, slips.EXTRA_TERM, slips.MISSING_TERM, 4.0, 0.4)
        if op is MINUS:
            inverted = is_mask(values[b]) and is_number(tape, a)
            undoes, makes = (slips.MASK_INVERTED,) * 2 if inverted else (slips.EXTRA_TERM, slips.MISSING_TERM)
            yield Change("term", b, undoes, makes, 2.2 if inverted else 4.1, 0.5)
    if op in FACTORS:
        other = DIVIDE if op is TIMES else TIMES
        swapped = slips.MULTIPLIED_FOR_DIVIDED
        for_constant = is_number(tape, b)
        yield Change("divide", Made(other, (a, b)), swapped, swapped, 2.2 if for_constant else 2.12, 0.3)
        if op is TIMES and not is_number(tape, a):
            yield Change("divide", Made(other, (b, a)), swapped, swapped, 2.2, 0.4)
        if op is DIVIDE:
            yield Change("divide", Made(op, (b, a)), slips.OPERANDS_SWAPPED, slips.OPERANDS_SWAPPED, 2.3, 0.5)
    if op in (TIMES, DIVIDE, AT, outer, dot):
        yield from _dropped(tape, at, values)
    if op in PRODUCTS and np.ndim(values[a]) and np.ndim(values[b]):
        yield from _other_products(op, a, b)


def _dropped(tape: Tape, at: int, values: Sequence[Any]) -> Iterator[Change]:
    """One factor left out."""
    step = tape.steps[at]
    for kept, lost in (step.operands, tuple(reversed(step.operands))):
        made = Made(DIVIDE, (1.0, kept)) if step.op is DIVIDE and kept == step.operands[1] else kept
        if is_number(tape, lost):
            yield Change("constant", made, slips.CONSTANT, slips.CONSTANT, 2.3, 0.3)
        elif is_mask(values[lost]):
            yield Change("factor", made, slips.EXTRA_FACTOR, slips.MISSING_MASK, 4.0, 0.0)
        else:
            outermost = slips.MISSING_OUTER if step.op is outer else slips.MISSING_LOCAL
            yield Change("factor", made, slips.EXTRA_FACTOR, outermost, 4.0, 0.0)


def _other_products(op: Op, a: int, b: int) -> Iterator[Change]:
    if op is not TIMES:
        swapped = slips.OPERANDS_SWAPPED
        yield Change("swap", Made(op, (b, a)), swapped, swapped, 1.95 if op is outer else 2.15, 0.15)
        yield Change("product", Made(TIMES, (a, b)), slips.MATMUL_FOR_ELEMENTWISE, _without_sum(op), 2.0, 0.2)
    if op is not AT:
        slip = slips.ELEMENTWISE_FOR_MATMUL if op is TIMES else slips.OPERANDS_SWAPPED
        yield Change("product", Made(AT, (a, b)), slip, slips.MATMUL_FOR_ELEMENTWISE, 2.0, 0.2)
        if op is TIMES:
            yield Change("product", Made(AT, (b, a)), slip, slips.MATMUL_FOR_ELEMENTWISE, 2.05, 0.25)
    if op is not outer:
        yield Change("product", Made(outer, (a, b)), slips.MISSING_OUTER, slips.EXTRA_FACTOR, 2.0, 0.4)
        yield Change("product", Made(outer, (b, a)), slips.MISSING_OUTER, slips.EXTRA_FACTOR, 2.05, 0.4)


def _without_sum(op: Op) -> Slip:
    return slips.MISSING_OUTER if op is outer else slips.ELEMENTWISE_FOR_MATMUL


def _axes_of(ndim: int) -> list[Any]:
    """Every choice of axes to sum over."""
    axes: list[Any] = [None, *range(ndim)]
    for size in range(2, ndim):
        axes += combinations(range(ndim), size)
    return axes


def _working(axis: Any, shape: tuple[int, ...]) -> set[int]:
    """The axes of which a sum adds anything up."""
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return {a % len(shape) for a in axes if shape[a] != 1}


def _idle(axis: Any, shape: tuple[int, ...]) -> bool:
    """Whether a sum over these axes adds nothing up."""
    return not _working(axis, shape)


def _of_axes(tape: Tape, at: int, values: Sequence[Any]) -> Iterator[Change]:
    step = tape.steps[at]
    op = step.op
    assert op is not None
    settings = dict(step.settings)
    if is_reduction(op):
        operand = values[step.operands[0]]
        here, kept = settings.get("axis"), settings.get("keepdims", False)
        here = here % np.ndim(operand) if isinstance(here, int) and np.ndim(operand) else here
        for axis in _axes_of(np.ndim(operand)):
            for keepdims in (False, True):
                changed = {**settings, "axis": axis, "keepdims": keepdims}
                made = Made(op, step.operands, changed)
                same_sum = _working(axis, np.shape(operand)) == _working(here, np.shape(operand))
                if not same_sum and not _idle(axis, np.shape(operand)):
                    yield Change("axis", made, slips.WRONG_AXIS, slips.WRONG_AXIS, 1.8 + 0.02 * (keepdims != kept), 0.1)
                elif same_sum and (axis == here or axis is None) and keepdims != kept:
                    yield Change("axis", made, slips.LOST_AXIS, slips.LOST_AXIS, 2.0, 0.1)
        whole = Made(total if op is mean else mean, step.operands, settings)
        if op is mean:
            yield Change("mean", whole, slips.MEAN_FOR_SUM, slips.SUM_FOR_MEAN, 2.0, 0.1)
        elif op is total:
            yield Change("mean", whole, slips.SUM_FOR_MEAN, slips.MEAN_FOR_SUM, 2.0, 0.1)
        yield Change("sum", step.operands[0], slips.EXTRA_SUM, slips.MISSING_SUM, 2.4, 0.0)
    elif "axis" in op.settings and np.ndim(values[at]) > 1 and op is not flip:
        for axis in range(np.ndim(values[at])):
            made = Made(op, step.operands, {**settings, "axis": axis})
            yield Change("axis", made, slips.WRONG_AXIS, slips.WRONG_AXIS, 2.0, 0.1)
    if op is index:
        yield Change("slice", step.operands[0], slips.WRONG_OPERAND, slips.MISSING_SLICE, 2.6, 0.0)
    if op is flip:
        yield Change("flip", step.operands[0], slips.KERNEL_FLIP, slips.KERNEL_FLIP, 2.0, 0.05)


def _of_order(tape: Tape, at: int, value: Any) -> Iterator[Change]:
    """Transposes put in or taken out."""
    step = tape.steps[at]
    if is_matrix_transpose(step.op):
        summed = any(is_reduction(tape.steps[user].op) for user in tape.users(at))
        rank = 1.9 if summed else 2.05
        yield Change("transpose", step.operands[0], slips.EXTRA_TRANSPOSE, slips.MISSING_TRANSPOSE, rank, 0.0)
        return
    if any(is_matrix_transpose(tape.steps[user].op) for user in tape.users(at)):
        return  # taking that one out does the same
    ndim = np.ndim(value)
    if ndim == 2:
        yield Change("transpose", Made(transpose, (at,)), slips.MISSING_TRANSPOSE, slips.EXTRA_TRANSPOSE, 2.0, 0.05)
    elif ndim > 2:
        for one, other in combinations(range(ndim), 2):
            order = list(range(ndim))
            order[one], order[other] = other, one
            made = Made(transpose, (at,), {"axes": tuple(order)})
            yield Change("transpose", made, slips.MISSING_TRANSPOSE, slips.EXTRA_TRANSPOSE, 2.0, 0.05)


def _of_functions(tape: Tape, at: int, values: Sequence[Any]) -> Iterator[Change]:
    step = tape.steps[at]
    op = step.op
    assert op is not None
    if op in OPPOSITE:
        inverted = slips.MASK_INVERTED
        yield Change("mask", Made(OPPOSITE[op], step.operands), inverted, inverted, 2.0, 0.1)
    if len(step.operands) == 3 and is_mask(values[step.operands[0]]):
        condition, a, b = step.operands
        yield Change("mask", Made(op, (condition, b, a)), slips.MASK_INVERTED, slips.MASK_INVERTED, 2.0, 0.1)
        yield Change("factor", a, slips.EXTRA_FACTOR, slips.MISSING_MASK, 4.0, 0.0)
    if op is POWER:
        base, exponent = step.operands
        if is_number(tape, exponent):
            now = values[exponent]
            for other in (*EXPONENTS, now + 1, now - 1, -now):
                if np.ndim(now) == 0 and other not in (now, 0):
                    made: Any = Made(op, (base, float(other))) if other != 1 else base
                    yield Change("exponent", made, slips.WRONG_EXPONENT, slips.WRONG_EXPONENT, 2.0, 0.2)
    if op is NEGATIVE:
        yield Change("sign", step.operands[0], slips.SIGN, slips.SIGN, 2.1, 0.2)
    if is_function(op):
        derivative = derivative_of(tape, at, values)
        if derivative is not None:
            one, two = slips.FUNCTION_FOR_DERIVATIVE, slips.DERIVATIVE_FOR_FUNCTION
            yield Change("derivative", derivative, one, two, 2.05, 0.3)
        for other_op in relatives(op):
            alike = slips.LOOK_ALIKE_FUNCTION
            yield Change("function", Made(other_op, step.operands), alike, alike, 2.2, 0.4)
        yield Change("function", step.operands[0], slips.LOOK_ALIKE_FUNCTION, slips.LOOK_ALIKE_FUNCTION, 4.0, 0.4)


_RELATIVES: dict[Op, tuple[Op, ...]] = {}


def relatives(op: Op) -> tuple[Op, ...]:
    """The functions that one may be taken for: those declared beside it (cos for sin), and of a like name (cosh)."""
    known = _RELATIVES.get(op)
    if known is None:
        known = _RELATIVES[op] = tuple(
            o
            for o in ALL
            if (o.family == op.family or o.name.startswith(op.name) or op.name.startswith(o.name))
            and o is not op
            and is_function(o)
            and not o.hidden
            and not any(s.required for s in o.settings.values())
        )
    return known


_DERIVATIVES: dict[Any, Any] = {}


def derivative_of(tape: Tape, at: int, values: Sequence[Any]) -> Any:
    """f'(a) in the place of f(a), by the operator's own rule; None where that is a number, or no rule can say it."""
    step = tape.steps[at]
    op = step.op
    assert op is not None
    operand = step.operands[0]
    settings = dict(step.settings)
    found = slope(op, settings, np.shape(values[operand]))
    if found is None:
        return None
    whole, x, y = found
    return made_of(whole, {id(x): operand, id(y): at})


def slope(op: Op, settings: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[Node, Node, Node] | None:
    """The derivative of a function as a node, with the nodes that stand in it for its operand and its value."""
    if op.scalar is None and "axis" in op.settings:
        return None
    key = (op, shape, tuple(settings.items()))
    try:
        known = _DERIVATIVES.get(key, key)
    except TypeError:  # a setting that is no key
        return None
    if known is key:
        x = Node(SYMBOL, (), None, shape, "float64", -1, False, "x")
        try:
            with Adjoint():
                y = op(x, **settings)
                found = op.contribute(0, 1.0, y, (x,), settings)
            known = (found, x, y) if type(found) is Node and found.op is not CONSTANT else None
        except FAULTS:
            known = None
        _DERIVATIVES[key] = known
    found_before: tuple[Node, Node, Node] | None = known
    return found_before


def made_of(node: Node, steps: Mapping[int, int], forward: int = 0) -> Any:
    """A (small) formula as something made, of some steps and of forward nodes (with numbers below `forward`)."""
    known = steps.get(id(node))
    if known is not None:
        return known
    if node.op is CONSTANT:
        return float(node.data) if np.ndim(node.data) == 0 else node
    if not node.operands or 0 <= node.number < forward:
        return node
    return Made(node.op, tuple(made_of(o, steps, forward) for o in node.operands), node.settings)


def _of_brackets(tape: Tape, at: int) -> Iterator[Change]:
    """Lost brackets: `a - b * c` for (a - b) * c, `a / b * c` for a / (b * c)."""
    step = tape.steps[at]
    op = step.op
    assert op is not None
    if len(step.operands) != 2 or not op.infix or op in OPPOSITE:
        return
    a, b = step.operands
    slip = slips.PRECEDENCE
    arithmetic = (*SUMS, *FACTORS, AT, POWER)
    left, right = tape.steps[a], tape.steps[b]
    if op in arithmetic and left.op in arithmetic and (op, left.op) not in _ASSOCIATIVE:
        made = Made(left.op, (left.operands[0], Made(op, (left.operands[1], b))))
        yield Change("brackets", made, slip, slip, 2.1, 0.4)
    spine: list[int] = []
    here = b
    while tape.steps[here].op in arithmetic and len(spine) < 8:
        spine.append(here)
        here = tape.steps[here].operands[0]
        if (right.op, op) in _ASSOCIATIVE:
            break
        made = Made(op, (a, here))
        for outer_step in reversed(spine):
            each = tape.steps[outer_step]
            made = Made(each.op, (made, each.operands[1]))  # type: ignore[arg-type]
        yield Change("brackets", made, slip, slip, 2.1, 0.4)


_ASSOCIATIVE = {(PLUS, PLUS), (TIMES, TIMES), (MINUS, PLUS), (AT, AT)}
"""Pairs of which it does not matter where the brackets are."""


def sums_around(at: int, value: Any, target: tuple[int, ...] | None) -> Iterator[Change]:
    """Sums put around a step: the one that undoes broadcasting; and a lost axis put back."""
    shape = np.shape(value)
    for axis in _axes_of(len(shape)) if shape else ():
        if _idle(axis, shape):
            continue
        for keepdims in (False, True):
            made = Made(total, (at,), {"axis": axis, "keepdims": keepdims})
            yield Change("sum", made, slips.MISSING_SUM, slips.EXTRA_SUM, 2.0 if target else 2.3, 0.3)
    if target is not None and shape != target and np.size(value) == np.prod(target, dtype=int):
        yield Change("axis", Made(reshape, (at,), {"shape": target}), slips.LOST_AXIS, slips.LOST_AXIS, 2.0, 0.2)

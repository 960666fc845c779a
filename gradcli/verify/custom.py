"""Judging rules of differentiation that a file states itself.

A rule's results are compared with the derivative of the forward part, at the inputs of the file and at others near by
and far away.  A result that is wrong is put beside what the usual slips would give; only a slip that gives the very
numbers at every point is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.differentiate import adjoint_sweep, sweep
from gradcli.evaluate import CannotEvaluate, Values, evaluate
from gradcli.graph import CONSTANT, INPUT, Adjoint, Node, backward_order, formula
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX
from gradcli.ops.arrange import transpose
from gradcli.report import Report
from gradcli.trace.traced import CustomRule, RuleResult
from gradcli.verify.verdict import ResultCheck, Verdict

POINTS = 4
"""The file's own inputs, and so many more."""
TOLERANCE = 1e-8
OPERATIONS = 12
"""An expected formula of more operations than this is not written out."""


@dataclass(frozen=True, slots=True)
class _Point:
    """A rule at one choice of inputs: every value, the true gradients, and those with an upstream gradient of ones."""

    values: Values
    truth: dict[int, Any]
    without_upstream: dict[int, Any]
    g: Any


def check_custom_rules(report: Report) -> list[ResultCheck]:
    """The checks of every result of every rule that the file states, in the order of the calls.

    A result about which a later call would say the same again is told once.
    """
    checks: dict[tuple[str, int, str, Verdict, str], ResultCheck] = {}
    for rule in report.traced.custom_rules:
        for check in _check(rule):
            kind = check.slip.partition(":")[0]
            checks.setdefault((check.rule, check.position, check.operand, check.verdict, kind), check)
    return list(checks.values())


def _check(rule: CustomRule) -> Iterator[ResultCheck]:
    points = _points(rule)
    for result in rule.results:
        operand, node = result.operand, result.node
        told: dict[str, Any] = {"found": result.text}
        if not points and node is not None and node.shape == operand.shape:
            verdict = Verdict.UNRESOLVED
        elif _is_right(result, points):
            verdict = Verdict.AGREE
        else:
            verdict = Verdict.DISAGREE
            told = {
                "expected": _expected(rule, operand),
                "found": _found(result),
                "slip": _slip(rule, result, points),
            }
        yield ResultCheck(
            rule=rule.name,
            position=result.position,
            operand=result.name,
            verdict=verdict,
            line=rule.line,
            expected_shape=operand.shape,
            found_shape=None if node is None else node.shape,
            span=result.span,
            **told,
        )


def _is_right(result: RuleResult, points: Sequence[_Point]) -> bool:
    node, operand = result.node, result.operand
    return (
        bool(points) and node is not None and all(_same(p.values[node.number], p.truth[operand.number]) for p in points)
    )


# Points ------------------------------------------------------------------------------------------


def _points(rule: CustomRule) -> list[_Point]:
    """The rule at the inputs of the file, then at others."""
    generator = np.random.default_rng(0)
    original = {node.number: node.data for node in rule.inputs.values()}
    points: list[_Point] = []
    try:
        for attempt in range(6 * POINTS):
            if attempt:
                for node in rule.inputs.values():
                    if node.dtype in FLOATS and node.differentiable:
                        _move(node, original[node.number], generator, attempt)
            point = _point(rule)
            if point is not None:
                points.append(point)
            if len(points) > POINTS:
                break
    finally:
        for node in rule.inputs.values():
            node.data = original[node.number]
    return points


def _move(node: Node, value: Any, generator: np.random.Generator, attempt: int) -> None:
    """Other numbers for an input: any at first, then near those of the file, where a formula may only be defined."""
    shape = np.shape(value)
    if attempt % 2:
        moved = generator.uniform(0.25, 1.4, shape) * generator.choice([-1.0, 1.0], shape)
    else:
        moved = np.asarray(value) * generator.uniform(0.7, 1.3, shape) + generator.uniform(-0.05, 0.05, shape)
    node.data = moved if shape else float(moved)


def _point(rule: CustomRule) -> _Point | None:
    graph = rule.graph
    try:
        values = evaluate(graph)
    except CannotEvaluate:
        return None
    order = backward_order(rule.output, None, graph.nodes)
    g = values[rule.upstream.number]
    truth = _gradients(rule, order, values, g)
    ones = np.ones(rule.output.shape) if rule.output.shape else 1.0
    finite = all(np.isfinite(v).all() for v in truth.values())
    return _Point(values, truth, _gradients(rule, order, values, ones), g) if finite else None


def _gradients(rule: CustomRule, order: Sequence[Node], values: Values, g: Any) -> dict[int, Any]:
    swept = sweep(list(order), values, g, plain=rule.graph.plain).gradients
    found = {}
    for node in rule.inputs.values():
        gradient = swept[node.number] if node.number < len(swept) else None
        found[node.number] = np.zeros(node.shape) if gradient is None else gradient
    return found


def _same(found: Any, right: Any) -> bool:
    found, right = np.asarray(found, float), np.asarray(right, float)
    if found.shape != right.shape:
        return False
    scale = max(1e-300, float(np.abs(right).max(initial=0.0)))
    return bool(np.all(np.abs(found - right) <= TOLERANCE * scale + 1e-11))


def _expected(rule: CustomRule, operand: Node) -> str:
    """The right gradient in the names of the rule's operands, `g` for the upstream gradient."""
    order = backward_order(rule.output, None, rule.graph.nodes)
    if operand not in order:
        return "0"
    forward = [n for n in rule.graph.nodes if n.number <= rule.output.number]
    adjoint = Adjoint(forward, len(rule.graph.nodes))
    gradients = adjoint_sweep(order, rule.upstream, adjoint)
    if operand.number not in gradients:
        return "0"
    return formula(gradients[operand.number], lambda n: n.name if n.op is INPUT else "", OPERATIONS) or ""


def _found(result: RuleResult) -> str:
    """A result as it is written; one that is only a name, as it was computed."""
    if result.node is None or not result.text.isidentifier():
        return result.text
    return formula(result.node, lambda n: n.name if n.op is INPUT else "", OPERATIONS) or result.text


# Slips -------------------------------------------------------------------------------------------

_Judge = Callable[[Any, _Point, RuleResult], bool]


def _slip(rule: CustomRule, result: RuleResult, points: Sequence[_Point]) -> str:
    """The name of the slip that gives a wrong result, at every point; empty if there is none."""
    if result.node is None:
        return "result missing"
    if not points:
        return ""
    for other in rule.results:
        if (
            not _is_right(other, points)
            and other.operand.number != result.operand.number
            and _always(points, result, _is_of(other))
        ):
            return f"wrong order of the results: this is the gradient for {other.name}"
    for name, judge in _JUDGES:
        if _always(points, result, judge):
            return name
    if (factor := _factor(points, result)) is not None:
        return (
            "sign: exactly minus the gradient" if factor == -1 else f"constant factor: {factor:.6g} times the gradient"
        )
    if edited := _edit(rule, result, points):
        return edited
    return "wrong shape" if result.node.shape != result.operand.shape else ""


def _is_of(other: RuleResult) -> _Judge:
    return lambda found, point, result: (
        _same(found, point.truth[other.operand.number]) and not _same(found, point.truth[result.operand.number])
    )


def _always(points: Sequence[_Point], result: RuleResult, judge: _Judge) -> bool:
    assert result.node is not None
    number = result.node.number
    with np.errstate(all="ignore"):
        return all(judge(point.values[number], point, result) for point in points)


def _truth(point: _Point, result: RuleResult) -> Any:
    return np.asarray(point.truth[result.operand.number])


def _is_transposed(found: Any, point: _Point, result: RuleResult) -> bool:
    return np.ndim(found) == 2 and _same(np.transpose(found), _truth(point, result))


def _lacks_sum(found: Any, point: _Point, result: RuleResult) -> bool:
    """Whether summing over axes gives the right one."""
    right = _truth(point, result)
    if np.ndim(found) <= right.ndim and np.shape(found) == right.shape:
        return False
    axes = range(np.ndim(found))
    for mask in range(1, 1 << min(len(axes), 6)):
        chosen = tuple(a for a in axes if mask >> a & 1)
        for keep in (False, True):
            if _same(np.sum(found, axis=chosen, keepdims=keep), right):
                return True
    return False


def _is_mean(found: Any, point: _Point, result: RuleResult) -> bool:
    return (
        np.shape(found) == _truth(point, result).shape and _same(found * np.shape(point.g)[0], _truth(point, result))
        if np.ndim(point.g)
        else False
    )


def _lacks_upstream(found: Any, point: _Point, result: RuleResult) -> bool:
    if _same(found, point.without_upstream[result.operand.number]):
        return True
    return np.shape(found) == np.shape(point.g) and _same(np.asarray(found) * point.g, _truth(point, result))


def _zeros(value: Any) -> Any:
    return np.asarray(value) == 0


def _agree_where(found: Any, right: Any, where: Any) -> bool:
    return bool(where.any()) and bool(np.allclose(np.asarray(found)[where], right[where], rtol=1e-8, atol=1e-11))


def _mask_missing(found: Any, point: _Point, result: RuleResult) -> bool:
    right = _truth(point, result)
    return np.shape(found) == right.shape and not _zeros(found).any() and _agree_where(found, right, ~_zeros(right))


def _mask_inverted(found: Any, point: _Point, result: RuleResult) -> bool:
    right = _truth(point, result)
    return np.shape(found) == right.shape and right.size > 0 and bool((_zeros(found) == ~_zeros(right)).all())


def _mask_wrong(found: Any, point: _Point, result: RuleResult) -> bool:
    """Whether the entries that are let through agree, and others are let through."""
    right = _truth(point, result)
    if np.shape(found) != right.shape:
        return False
    both = ~_zeros(found) & ~_zeros(right)
    return not both.any() or _agree_where(found, right, both)


def _masked(judge: _Judge) -> Callable[[Sequence[_Point], RuleResult], bool]:
    """A judgement about zeros needs points at which the gradient has some."""

    def decide(points: Sequence[_Point], result: RuleResult) -> bool:
        patterns = [_zeros(_truth(p, result)) for p in points]
        return any(z.any() for z in patterns) and any((~z).any() for z in patterns) and _always(points, result, judge)

    return decide


_JUDGES: tuple[tuple[str, _Judge], ...] = (
    ("missing transpose", _is_transposed),
    ("missing sum: the operand was repeated by broadcasting, so its gradient is a sum", _lacks_sum),
    ("missing upstream: this is only the local derivative", _lacks_upstream),
    ("mean for sum: the gradient of a sum over the batch is a sum", _is_mean),
)

_MASK_JUDGES: tuple[tuple[str, _Judge], ...] = (
    ("mask missing", _mask_missing),
    ("mask inverted", _mask_inverted),
    ("mask on the wrong tensor", _mask_wrong),
)


def _factor(points: Sequence[_Point], result: RuleResult) -> float | None:
    """The number by which a result differs from the gradient everywhere."""
    assert result.node is not None
    factors = []
    for point in points:
        found, right = np.asarray(point.values[result.node.number], float), _truth(point, result)
        if found.shape != right.shape or not np.abs(right).max(initial=0.0) > 0:
            return None
        at = np.unravel_index(np.argmax(np.abs(right)), right.shape)
        factor = float(found[at] / right[at])
        if not np.isfinite(factor) or factor == 0 or not _same(found, factor * right):
            return None
        factors.append(factor)
    same = all(abs(f - factors[0]) <= 1e-8 * abs(factors[0]) for f in factors)
    return round(factors[0], 9) if same else None


# Edits: one change in the rule's own formula that makes it right -----------------------------------------


def _edit(rule: CustomRule, result: RuleResult, points: Sequence[_Point]) -> str:
    """A single change of the result's formula that makes it right, in words."""
    for name, judge in _MASK_JUDGES:
        if _masked(judge)(points, result):
            return name
    assert result.node is not None
    within = _ancestors(result.node)
    for name, node, compute in _edits(rule, within):
        if all(_edited(rule, result, point, within, node, compute) for point in points):
            return name
    return ""


def _ancestors(node: Node) -> list[Node]:
    """The nodes that a result is computed from, operands before consumers."""
    seen: dict[int, Node] = {}
    stack = [node]
    while stack:
        top = stack.pop()
        if top.number not in seen:
            seen[top.number] = top
            stack.extend(top.operands)
    return [seen[number] for number in sorted(seen)]


_Compute = Callable[[list[Any], Values], Any]


def _edits(rule: CustomRule, within: Sequence[Node]) -> Iterator[tuple[str, Node, _Compute]]:
    """Changes of one operation each: transposes and exchanged operands, then another tensor in a tensor's place."""
    products = [n for n in within if len(n.operands) == 2 and _is_product(n)]
    for node in products:
        for slot in (0, 1):
            if len(node.operands[slot].shape) == 2:
                extra = node.operands[slot].op is transpose
                name = "a transpose too many" if extra else "missing transpose"
                yield name, node, _with_operand(node, slot, lambda v: np.transpose(v))
        yield "the two operands changed places", node, _exchanged(node)
    for node in within:
        if node.op is INFIX["*"] and node.operands:
            yield (
                "an elementwise product stands where a matrix product belongs",
                node,
                lambda operands, values: operands[0] @ operands[1],
            )
    tensors = [
        n
        for n in rule.graph.nodes
        if n.op is not CONSTANT and n.number <= max(rule.upstream.number, rule.output.number)
    ]
    for node in within:
        for slot, operand in enumerate(node.operands):
            for other in tensors:
                if other.number != operand.number and other.shape == operand.shape and operand.op is not CONSTANT:
                    words = f"{_called(rule, operand)} stands where {_called(rule, other)} belongs"
                    yield words, node, _with_operand(node, slot, lambda v, n=other.number: n, from_values=True)


def _is_product(node: Node) -> bool:
    return node.op.infix == "@" or (
        len(node.shape) == 2 and all(len(o.shape) == 2 for o in node.operands) and not node.op.broadcasts
    )


def _called(rule: CustomRule, node: Node) -> str:
    if node is rule.output:
        return "the function's own value"
    return formula(node, lambda n: n.name if n.op is INPUT else "", 4) or "a tensor"


def _exchanged(node: Node) -> _Compute:
    return lambda operands, values: node.op.forward(*operands[::-1], **node.settings)


def _with_operand(node: Node, slot: int, change: Callable[..., Any], from_values: bool = False) -> _Compute:
    def compute(operands: list[Any], values: Values) -> Any:
        changed = list(operands)
        changed[slot] = values[change(None)] if from_values else change(operands[slot])
        return node.op.forward(*changed, **node.settings)

    return compute


def _edited(
    rule: CustomRule, result: RuleResult, point: _Point, within: Sequence[Node], changed: Node, compute: _Compute
) -> bool:
    """Whether the result is right once one operation is computed in another way."""
    assert result.node is not None
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for node in within:
            if node.number < changed.number or not node.operands:
                continue
            operands = [values.get(o.number, point.values[o.number]) for o in node.operands]
            try:
                if node is changed:
                    values[node.number] = compute(operands, point.values)
                elif any(o.number in values for o in node.operands):
                    values[node.number] = node.op.forward(*operands, **node.settings)
            except (ValueError, TypeError, ArithmeticError, IndexError):
                return False
    return _same(values.get(result.node.number, np.nan), point.truth[result.operand.number])

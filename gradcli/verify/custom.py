"""Judging rules of differentiation that a file states itself.

A rule's results are compared with the derivative of the forward part, at the inputs of the file and at others near by
and far away.  A result that is wrong is put beside what the usual slips would give; only a slip that gives the very
numbers at every point is named.

Three kinds of rules differ from the derivative and are not accused: one that leaves out a tiny constant of the forward
part (the 1e-7 in `log(p + 1e-7)`); one at a corner, where several slopes are allowed; and one whose purpose is another
gradient, because the forward part passes a tensor on unchanged or is flat, as rounding is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.differentiate import adjoint_sweep, sweep
from gradcli.evaluate import CannotEvaluate, Values, evaluate
from gradcli.graph import CONSTANT, INPUT, Adjoint, Node, backward_order, formula
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX
from gradcli.ops.arrange import assigned, transpose
from gradcli.report import Report
from gradcli.trace.spelling import root_of
from gradcli.trace.traced import CustomRule, RuleResult
from gradcli.verify.verdict import ResultCheck, Verdict

POINTS = 4
"""The file's own inputs, and so many more."""
TOLERANCE = 1e-8
OPERATIONS = 16
"""An expected formula of more operations than this is not written out."""
TINY = 1e-4
"""A number in the forward part that is no larger may be there to keep a division or a logarithm defined."""
NEARLY = 1e-3
"""Leaving such a number out may change a gradient by this, relative to its largest entry."""


@dataclass(frozen=True, slots=True)
class Point:
    """A rule at one choice of inputs: every value, the true gradients, and those with an upstream gradient of ones."""

    values: Values
    truth: dict[int, Any]
    without_upstream: dict[int, Any]
    g: Any


def check_custom_rules(report: Report) -> list[ResultCheck]:
    """The checks of every result of every rule that the file states, in the order of the calls.

    A result about which a later call would say the same again is told once.
    """
    checks: dict[tuple[Any, ...], ResultCheck] = {}
    whole: bool | None = None
    for rule in report.traced.custom_rules:
        for check in Examination(rule).checks():
            if check.verdict is Verdict.DISAGREE and check.slip.startswith(_SCALED):
                whole = _right_as_a_whole(report) if whole is None else whole
                if whole:
                    continue
            kind = check.slip.partition(":")[0]
            checks.setdefault((check.rule, check.position, check.operand, check.verdict, kind, check.fault), check)
    return list(checks.values())


_SCALED = ("mean for sum", "constant factor")
"""Slips that another part of a program may make good: it divides by the number of examples in one place or another."""

_LEAST_AS_A_WHOLE = 2


def _right_as_a_whole(report: Report) -> bool:
    """Whether the gradients that the program ends up with by hand, `grads["dW1"]` for `params["W1"]`, are all right."""
    names = report.traced.names
    parameters = {
        _last_word(name).lower(): node for name, node in names.items() if node.op is INPUT and node.differentiable
    }
    count = 0
    for name, node in names.items():
        parameter = parameters.get(root_of(_last_word(name)))
        if parameter is None or node is parameter or node.shape != parameter.shape:
            continue
        ours = report.sweep.gradients[parameter.number] if parameter.number < len(report.sweep.gradients) else None
        if ours is None or not _same(report.values[node.number], ours):
            return False
        count += 1
    return count >= _LEAST_AS_A_WHOLE


def _last_word(name: str) -> str:
    words = re.findall(r"\w+", name.partition("'")[0])
    return words[-1] if words else ""


class Examination:
    """The examination of one rule at one call."""

    def __init__(self, rule: CustomRule, left_out: Sequence[Node] = ()) -> None:
        self.rule = rule
        self.left_out = left_out
        """Numbers of the forward part that are 0 in this examination."""
        self.known: dict[Any, Any] = {}
        """What was found out about it, for whoever looks for slips in it."""
        with self.as_examined():
            self._examine()

    @contextmanager
    def as_examined(self) -> Iterator[None]:
        """Within it, the numbers that are left out are 0 in the graph, too."""
        before = [n.data for n in self.left_out]
        try:
            for n in self.left_out:
                n.data = 0.0
            yield
        finally:
            for n, data in zip(self.left_out, before, strict=True):
                n.data = data

    def _examine(self) -> None:
        rule = self.rule
        nodes = rule.graph.nodes
        self.orders = [backward_order(output, None, nodes) for output in rule.outputs]
        self.reaching = {node.number for order in self.orders for node in order}
        """The nodes that an output depends on."""
        coarse = [float(np.finfo(n.dtype).eps) for n in nodes if n.dtype in ("float16", "float32")]
        self.tolerance = max([TOLERANCE, *(100 * e for e in coarse)])
        self.symmetric: set[int] = set()
        """The numbers of inputs of which the forward part reads no more than a symmetric matrix."""
        if rule.outputs:
            self.symmetric = {n.number for n in rule.inputs.values() if self._is_read_as_symmetric(n)}
        self.points = self._points() if rule.outputs else []

    def checks(self) -> Iterator[ResultCheck]:
        """What is right and wrong with the rule."""
        rule = self.rule
        if rule.failure:
            yield self._failed()
            return
        for complaint in rule.complaints:
            yield ResultCheck(rule.name, 0, "", Verdict.DISAGREE, rule.line, fault=complaint, span=rule.span)
        for result in rule.results:
            yield self._needless(result) if result.operand is None else self._judged(result, result.operand)

    def _judged(self, result: RuleResult, operand: Node) -> ResultCheck:
        rule, node = self.rule, result.node
        verdict, slip, note = Verdict.AGREE, "", ""
        expected, found = "", result.text
        examination: Examination = self
        if not self.points and node is not None and node.shape == operand.shape:
            verdict = Verdict.UNRESOLVED
        elif not self.is_right(result):
            expected, found = self._expected(operand), _found(result)
            if self._on_a_corner(result):
                note = "(the inputs of the file are on a corner, where this is one of the slopes allowed)"
            elif tiny := self._without_tiny_numbers(result):
                note = f"but for the {tiny} of the forward part, which the rule leaves out"
            elif purpose := self._purpose(result):
                verdict, note = Verdict.UNRESOLVED, purpose
            else:
                verdict, slip = Verdict.DISAGREE, self._mixed_up(node) or _slip(self, result)
                if not slip and node is not None and (exact := self._exactly()) is not None:
                    examination, slip = exact, _slip(exact, result)
                note = self._entries(result, told=bool(expected or slip))
        return ResultCheck(
            rule=rule.name,
            position=result.position,
            operand=result.name,
            verdict=verdict,
            line=rule.line,
            expected=expected,
            expected_shape=operand.shape,
            found=found,
            found_shape=None if node is None else node.shape,
            slip=slip,
            note=note,
            span=result.span,
            evidence=(examination, result),
        )

    def _failed(self) -> ResultCheck:
        """The finding about a rule that cannot be computed: where, why, and what it should give."""
        rule = self.rule
        problem = rule.failure[0]
        where = "in" if problem.code == "repeated-index" else "it fails in"
        right = []
        for result in rule.results:
            expected = "0" if result.operand is None else self._expected(result.operand)
            if expected not in ("", "0"):
                right.append(f"{expected} for {result.name}")
        return ResultCheck(
            rule=rule.name,
            position=0,
            operand="",
            verdict=Verdict.DISAGREE,
            line=rule.line,
            fault=f"{where} line {problem.line}: {problem.message}",
            note=f"right: {', '.join(right)}" if right else "",
            slip=self._mixed_up(None),
            span=problem.labels[0].span if problem.labels else rule.span,
            problem=problem,
        )

    def _needless(self, result: RuleResult) -> ResultCheck:
        """The finding about a result for what takes no gradient: PyTorch and JAX want a `None` for it, and no more."""
        missing = bool(result.name)
        return ResultCheck(
            rule=self.rule.name,
            position=result.position,
            operand=result.name,
            verdict=Verdict.DISAGREE,
            line=self.rule.line,
            expected="None" if missing else "nothing",
            found=result.text,
            slip="result missing" if missing else "a result too many",
            note="every argument of the forward part has its result, and None is that of one without a gradient",
            span=result.span,
        )

    def is_right(self, result: RuleResult) -> bool:
        """Whether a result is the gradient at every point."""
        node, operand = result.node, result.operand
        return (
            bool(self.points)
            and node is not None
            and operand is not None
            and all(self.same(p.values[node.number], p.truth[operand.number]) for p in self.points)
        )

    def same(self, found: Any, right: Any) -> bool:
        """Whether two values are one, shape included."""
        return _same(found, right, self.tolerance)

    # Points --------------------------------------------------------------------------------------

    def _points(self) -> list[Point]:
        """The rule at the inputs of the file, then at others."""
        rule = self.rule
        generator = np.random.default_rng(0)
        original = {node.number: node.data for node in rule.inputs.values()}
        points: list[Point] = []
        decided: list[Any] | None = None
        try:
            for attempt in range(12 * POINTS):
                if attempt:
                    for node in rule.inputs.values():
                        if node.dtype in FLOATS and node.differentiable:
                            _move(node, original[node.number], generator, attempt)
                            if node.number in self.symmetric:
                                node.data = (node.data + node.data.T) / 2
                try:
                    values = evaluate(rule.graph)
                except CannotEvaluate:
                    continue
                now = [values[n.number] for n in rule.guards]
                decided = now if decided is None else decided
                if not all(map(_equal, now, decided)):
                    continue  # the program would do something else here
                point = self._point(values)
                if point is not None:
                    points.append(point)
                if len(points) > POINTS:
                    break
        finally:
            for node in rule.inputs.values():
                node.data = original[node.number]
        return points

    def _is_read_as_symmetric(self, node: Node) -> bool:
        """Whether an input is a symmetric matrix, and what is not symmetric in it would make no difference.

        So it is for a Cholesky factorisation, which looks at one half, or at the mean of both.
        """
        data, rule = node.data, self.rule
        if len(node.shape) != 2 or node.shape[0] != node.shape[1] or node.shape[0] < 2 or not _equal(data, data.T):
            return False
        skew = np.triu(np.full(node.shape, 1e-3), 1)
        try:
            before = evaluate(rule.graph)
            for change in (skew, skew - skew.T):
                node.data = data + change
                after = evaluate(rule.graph)
                if all(_same(after[o.number], before[o.number], 1e-12) for o in rule.outputs):
                    return True
        except CannotEvaluate:
            return False
        finally:
            node.data = data
        return False

    def _point(self, values: Values) -> Point | None:
        gs = [values[g.number] for g in self.rule.upstreams]
        truth = self._gradients(values, gs)
        if not all(np.isfinite(v).all() for v in truth.values()):
            return None
        ones = [np.ones(o.shape) if o.shape else 1.0 for o in self.rule.outputs]
        return Point(values, truth, self._gradients(values, ones), gs[0])

    def _gradients(self, values: Values, gs: Sequence[Any]) -> dict[int, Any]:
        rule = self.rule
        found: dict[int, Any] = {node.number: np.zeros(node.shape) for node in rule.inputs.values()}
        for order, g in zip(self.orders, gs, strict=True):
            swept = sweep(list(order), values, g, plain=rule.graph.plain).gradients
            for number in found:
                gradient = swept[number] if number < len(swept) else None
                if gradient is not None:
                    found[number] = found[number] + gradient
        return found

    # Rules that differ, and are not wrong ------------------------------------------------------------

    def _on_a_corner(self, result: RuleResult) -> bool:
        """Whether a result is wrong at the file's own inputs alone, and there between the slopes on both sides."""
        node, operand = result.node, result.operand
        if node is None or operand is None or len(self.points) < 3 or node.shape != operand.shape:
            return False
        here, others = self.points[0], self.points[1:]
        if not all(self.same(p.values[node.number], p.truth[operand.number]) for p in others):
            return False
        rule, generator = self.rule, np.random.default_rng(1)
        original = {n.number: n.data for n in rule.inputs.values()}
        upstream = {g.number for g in rule.upstreams}
        slopes = []
        try:
            for _ in range(12):
                for n in rule.inputs.values():
                    if n.dtype in FLOATS and n.differentiable and n.number not in upstream:
                        data = np.asarray(original[n.number], float)
                        moved = data + 1e-7 * generator.choice([-1.0, 1.0], data.shape) * np.maximum(1, np.abs(data))
                        n.data = moved if data.shape else float(moved)
                try:
                    values = evaluate(rule.graph)
                except CannotEvaluate:
                    continue
                truth = self._gradients(values, [values[g.number] for g in rule.upstreams])
                slopes.append(np.asarray(truth[operand.number], float))
        finally:
            for n in rule.inputs.values():
                n.data = original[n.number]
        if not slopes:
            return False
        found = np.asarray(here.values[node.number], float)
        least, most = np.min(slopes, axis=0), np.max(slopes, axis=0)
        room = 1e-5 * max(1e-300, float(np.abs([least, most]).max(initial=0.0)))
        return bool(np.all((found >= least - room) & (found <= most + room)) and np.any(most - least > 2 * room))

    def _without_tiny_numbers(self, result: RuleResult) -> str:
        """The tiny numbers of the forward part without which a result would be right, as they are written."""
        node, operand = result.node, result.operand
        tiny = self._tiny_numbers()
        if not tiny or node is None or operand is None or node.shape != operand.shape or not self.points:
            return ""
        for point in self.points:
            right = np.asarray(point.truth[operand.number], float)
            error = np.abs(np.asarray(point.values[node.number], float) - right).max(initial=0.0)
            if not error <= NEARLY * np.abs(right).max(initial=0.0):
                return ""
        exact = self._exactly()
        right_now = exact is not None and exact.is_right(result)
        return " and ".join(dict.fromkeys(f"{n.data:g}" for n in tiny)) if right_now else ""

    def _tiny_numbers(self) -> list[Node]:
        """The tiny numbers of the forward part, and where the rule has them from what was kept."""
        rule = self.rule
        last = max(o.number for o in rule.outputs)
        tiny = [
            n
            for n in rule.graph.nodes
            if n.op in (CONSTANT, INPUT)
            and n.number not in rule.inputs
            and type(n.data) is float
            and 0 < abs(n.data) <= TINY
        ]
        forward = {n.data for n in tiny if n.number <= last}
        return [n for n in tiny if n.data in forward]

    def _exactly(self) -> Examination | None:
        """The examination without the tiny numbers of the forward part; None if it has none."""
        if "exactly" not in self.known:
            tiny = self._tiny_numbers()
            self.known["exactly"] = Examination(self.rule, tiny) if tiny else None
        found: Examination | None = self.known["exactly"]
        return found

    def _purpose(self, result: RuleResult) -> str:
        """Why a rule is there to give another gradient than the derivative; empty if nothing says so."""
        node, operand, rule = result.node, result.operand, self.rule
        if node is None or operand is None or operand.number not in self.reaching or node.shape != operand.shape:
            return ""
        rights = [np.asarray(p.truth[operand.number]) for p in self.points]
        if rights and not any(np.any(right) for right in rights):
            return (
                "on purpose? the forward part is flat, so its derivative is 0 wherever there is one; the rule passes "
                "another gradient on, as a straight-through estimate does"
            )
        same = all(_equal(p.values[o.number], p.values[operand.number]) for p in self.points for o in rule.outputs)
        if same and rights and len(rule.outputs) == 1:
            return (
                f"on purpose? the forward part passes {result.name} on unchanged, so the rule is there to change the "
                "gradient"
            )
        return ""

    def _mixed_up(self, result: Node | None) -> str:
        """What the rule takes for another thing than the forward part kept, in words, if a result is made of it."""
        rule = self.rule
        used = None if result is None else {id(n) for n in _ancestors(result)}
        known = {n.name: n for n in rule.graph.nodes if n.name and n.number <= max(o.number for o in rule.outputs)}
        found = []
        for name, node in rule.unpacked:
            other = known.get(name)
            different = other is not None and other is not node and node.name and node.name != name
            if different and (used is None or id(node) in used):
                found.append(f"`{name}` holds `{node.name}`")
        return f"wrong order of what was kept: {', '.join(found)}" if found else ""

    # What is told ------------------------------------------------------------------------------------

    def _expected(self, operand: Node) -> str:
        """The right gradient in the names of the rule's operands and upstream gradients."""
        rule = self.rule
        if operand.number not in self.reaching:
            return "0"
        last = max(o.number for o in rule.outputs)
        forward = [n for n in rule.graph.nodes if n.number <= last]
        adjoint = Adjoint(forward, len(rule.graph.nodes))
        parts = []
        for order, upstream in zip(self.orders, rule.upstreams, strict=True):
            if operand in order:
                found = adjoint_sweep(order, upstream if upstream.differentiable else 1.0, adjoint)
                if operand.number in found:
                    parts.append(found[operand.number])
        if not parts:
            return "0"
        with adjoint:
            whole = parts[0]
            for part in parts[1:]:
                whole = whole + part
        return formula(whole, lambda n: n.name if n is not whole else "", OPERATIONS) or ""

    def _entries(self, result: RuleResult, *, told: bool) -> str:
        """Which entries are off at the inputs of the file, with the numbers of one where nothing else is `told`."""
        node, operand = result.node, result.operand
        if node is None or operand is None or node.shape != operand.shape or not node.shape or not self.points:
            return ""
        point = self.points[0]
        found = np.asarray(point.values[node.number], float)
        right = np.asarray(point.truth[operand.number], float)
        scale = max(1e-300, float(np.abs(right).max(initial=0.0)))
        off = np.abs(found - right) > self.tolerance * scale + 1e-11
        count = int(off.sum())
        if not count:
            return ""
        places = [tuple(int(k) for k in place) for place in zip(*np.nonzero(off), strict=True)]
        first = f"at {list(places[0])} {found[places[0]]:.4g} for {right[places[0]]:.4g}"
        if count == off.size:
            return "" if told else f"every entry is off, as {first}"
        others = ", ".join(str(list(place)) for place in places[:3])
        where = f"{count} of {off.size} entries are off: {others}{', …' if count > 3 else ''}"
        return where if told else f"{where}; {first}"


def _move(node: Node, value: Any, generator: np.random.Generator, attempt: int) -> None:
    """Other numbers for an input: any at first, then ever closer to those of the file, where a formula may be defined
    and the program decides as it does here."""
    shape = np.shape(value)
    if attempt % 2 and attempt < 6 * POINTS:
        moved = generator.uniform(0.25, 1.4, shape) * generator.choice([-1.0, 1.0], shape)
    else:
        reach = 0.3 if attempt < 6 * POINTS else 1e-2 if attempt % 2 else 1e-4
        moved = np.asarray(value) * generator.uniform(1 - reach, 1 + reach, shape)
        moved = moved + generator.uniform(-reach / 6, reach / 6, shape)
    if _is_distribution(value):
        moved = np.abs(moved)
        moved = moved / np.sum(moved, axis=-1, keepdims=True)
    node.data = moved if shape else float(moved)


def _is_distribution(value: Any) -> bool:
    """Whether the rows of a tensor are weights that sum to 1, as those of one-hot labels do: a rule may rely on it."""
    value = np.asarray(value)
    return bool(
        value.ndim and value.shape[-1] > 1 and np.all(value >= 0) and np.all(np.abs(np.sum(value, axis=-1) - 1) < 1e-9)
    )


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _same(found: Any, right: Any, tolerance: float = TOLERANCE) -> bool:
    found, right = np.asarray(found, float), np.asarray(right, float)
    if found.shape != right.shape:
        return False
    scale = max(1e-300, float(np.abs(right).max(initial=0.0)))
    return bool(np.all(np.abs(found - right) <= tolerance * scale + 1e-11))


def _found(result: RuleResult) -> str:
    """A result as it is written; one that is only a name, as it was computed."""
    if result.node is None or not result.text.isidentifier():
        return result.text
    root = result.node
    if root.op is assigned:
        return result.text  # it is filled in place by place
    return formula(root, lambda n: n.name if n is not root else "", OPERATIONS) or result.text


# Slips -------------------------------------------------------------------------------------------

_Judge = Callable[[Any, Point, RuleResult], bool]


def _slip(examination: Examination, result: RuleResult) -> str:
    """The name of the slip that gives a wrong result, at every point; empty if there is none."""
    rule, points = examination.rule, examination.points
    assert result.operand is not None
    if result.node is None:
        return "result missing"
    if not points:
        return ""
    for other in rule.results:
        if (
            other.operand is not None
            and not examination.is_right(other)
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
        _same(found, point.truth[other.operand.number])  # type: ignore[union-attr]
        and not _same(found, point.truth[result.operand.number])  # type: ignore[union-attr]
    )


def _always(points: Sequence[Point], result: RuleResult, judge: _Judge) -> bool:
    assert result.node is not None
    number = result.node.number
    with np.errstate(all="ignore"):
        return all(judge(point.values[number], point, result) for point in points)


def _truth(point: Point, result: RuleResult) -> Any:
    return np.asarray(point.truth[result.operand.number])  # type: ignore[union-attr]


def _is_transposed(found: Any, point: Point, result: RuleResult) -> bool:
    return np.ndim(found) == 2 and _same(np.transpose(found), _truth(point, result))


def _lacks_sum(found: Any, point: Point, result: RuleResult) -> bool:
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


def _is_mean(found: Any, point: Point, result: RuleResult) -> bool:
    right = _truth(point, result)
    summed = np.ndim(point.g) > 0 and right.shape != np.shape(point.g)
    return summed and np.shape(found) == right.shape and _same(found * np.shape(point.g)[0], right)


def _lacks_upstream(found: Any, point: Point, result: RuleResult) -> bool:
    if _same(found, point.without_upstream[result.operand.number]):  # type: ignore[union-attr]
        return True
    return np.shape(found) == np.shape(point.g) and _same(np.asarray(found) * point.g, _truth(point, result))


def _zeros(value: Any) -> Any:
    return np.asarray(value) == 0


def _agree_where(found: Any, right: Any, where: Any) -> bool:
    return bool(where.any()) and bool(np.allclose(np.asarray(found)[where], right[where], rtol=1e-8, atol=1e-11))


def _mask_missing(found: Any, point: Point, result: RuleResult) -> bool:
    right = _truth(point, result)
    return np.shape(found) == right.shape and not _zeros(found).any() and _agree_where(found, right, ~_zeros(right))


def _mask_inverted(found: Any, point: Point, result: RuleResult) -> bool:
    right = _truth(point, result)
    return np.shape(found) == right.shape and right.size > 0 and bool((_zeros(found) == ~_zeros(right)).all())


def _mask_wrong(found: Any, point: Point, result: RuleResult) -> bool:
    """Whether the entries that are let through agree, and others are let through."""
    right = _truth(point, result)
    if np.shape(found) != right.shape:
        return False
    both = ~_zeros(found) & ~_zeros(right)
    return not both.any() or _agree_where(found, right, both)


def _masked(judge: _Judge) -> Callable[[Sequence[Point], RuleResult], bool]:
    """A judgement about zeros needs points at which the gradient has some."""

    def decide(points: Sequence[Point], result: RuleResult) -> bool:
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


def _factor(points: Sequence[Point], result: RuleResult) -> float | None:
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


def _edit(rule: CustomRule, result: RuleResult, points: Sequence[Point]) -> str:
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
        if n.op is not CONSTANT and n.number <= max(n.number for n in (*rule.upstreams, *rule.outputs))
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
    if node in rule.outputs:
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
    rule: CustomRule, result: RuleResult, point: Point, within: Sequence[Node], changed: Node, compute: _Compute
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
    right = point.truth[result.operand.number]  # type: ignore[union-attr]
    return _same(values.get(result.node.number, np.nan), right)

"""Naming the slip in a rule of differentiation that a file states, by the edit that makes it right.

The check of a rule knows what the right gradients are, at several points.  Here the edits with which derivations are
marked are tried on what the rule computes, one operation at a time; an edit that gives the right gradient at every
point is the slip, and its line the one at fault.  What is no edit of one operation may be a path that the rule leaves
out: then the gradient with one of the forward part's values held constant is what the rule gives.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcli.differentiate import sweep
from gradcli.graph import CONSTANT, INPUT, Node, formula
from gradcli.homework.naming.edits import DIVIDE, MINUS, NEGATIVE, PLUS, TIMES, edits_of_step, is_mask, is_number
from gradcli.homework.naming.tape import FAULTS, Made, Tape
from gradcli.ops.reduce import mean, total
from gradcli.problems import Span, slips
from gradcli.problems.slips import Slip
from gradcli.report import Report
from gradcli.trace.traced import RuleResult
from gradcli.verify.check import check as check_gradients
from gradcli.verify.custom import Examination, Point
from gradcli.verify.verdict import Check, ResultCheck, Verdict

SECONDS = 1.5
"""What the search for one slip may take."""
STEPS = 400
"""A rule of more steps than this is not searched through."""
SETTLED = ("wrong order", "result missing", "missing upstream", "a result too many")
"""Slips that say everything, so that no edit is looked for."""
WHOLE = ("sign", "constant factor", "missing sum", "mean for sum", "mask")
"""Slips that are seen in the result as a whole; an edit may say where they happened."""


def check(report: Report, **options: Any) -> Check:
    """The verdict on the gradients of a report, and on the rules that its file states: see `gradcli.verify.check`."""
    return name_slips(check_gradients(report, **options))


def name_slips(found: Check) -> Check:
    """A check with the slips named in the rules that the file states."""
    if not any(c.verdict is Verdict.DISAGREE for c in found.custom_rules):
        return found
    return replace(found, custom_rules=tuple(map(named, found.custom_rules)))


def named(check: ResultCheck) -> ResultCheck:
    """The check of a result, with the slip and the edit that undoes it if there is one."""
    if check.verdict is not Verdict.DISAGREE or check.evidence is None or check.slip.startswith(SETTLED):
        return check
    examination, result = check.evidence
    if result.node is None or not examination.points:
        return check
    search = _Search(examination, result)
    if search.tape is None:
        return check
    edit = search.edit()
    if edit is not None:
        slip = check.slip if check.slip.startswith(WHOLE) else _told(edit.slip)
        return replace(check, slip=slip, edit=search.written(edit), span=search.place(edit) or check.span)
    if not check.slip and (path := search.missing_path()):
        return replace(check, slip=f"{slips.MISSING_PATH.name}: {path}")
    if not check.slip and search.is_diagonal():
        return replace(check, slip=_told(slips.SOFTMAX_DIAGONAL))
    return check


def _told(slip: Slip) -> str:
    return f"{slip.name}: {slip.sentence}"


@dataclass(frozen=True, slots=True)
class _Edit:
    """What to put in the place of a step, and the slip that it undoes."""

    rank: float
    at: int
    made: Any
    slip: Slip


class _Search:
    """Tries edits on what a rule computes for one result."""

    def __init__(self, examination: Examination, result: RuleResult) -> None:
        assert result.node is not None
        assert result.operand is not None
        self.examination = examination
        self.result = result
        self.operand = result.operand
        self.root = result.node
        self.points = examination.points
        self.until = time.monotonic() + SECONDS
        self.tape: Tape | None = None
        tape = Tape()
        self.known: dict[int, int] = {}
        tape.write(self.root, lambda n: n.op is INPUT, known=self.known, shared=True)
        if len(tape.steps) > STEPS:
            return
        self.at = [{id(n): p.values[n.number] for n in examination.rule.graph.nodes} for p in self.points]
        values = [tape.values(at) for at in self.at]
        if any(v is None for v in values):
            return
        self.values: list[list[Any]] = [v for v in values if v is not None]
        self.tape = tape
        self._divide()

    def _divide(self) -> None:
        """Says of every step in which definition of the rule it stands: it is shown in that."""
        tape = self.tape
        assert tape is not None
        self.heads: dict[int, int] = {}
        for at in range(tape.root, -1, -1):
            step = tape.steps[at]
            users = tape.users(at)
            named = step.origin is not None and step.origin.name
            if at == tape.root or named or not users:
                self.heads[at] = at
            else:
                self.heads[at] = self.heads[users[0]]
            step.part = self.heads[at]
            if named and step.origin is not None:
                step.stands_for = step.origin

    # Edits ---------------------------------------------------------------------------------------------------

    def edit(self) -> _Edit | None:
        """The likeliest edit that makes the result right at every point."""
        for edit in sorted(self._edits(), key=lambda e: e.rank):
            if self._works(edit):
                return edit
            if time.monotonic() > self.until:
                return None
        for edit in self._additions():
            if self._works(edit):
                return edit
            if time.monotonic() > self.until:
                return None
        return None

    def _works(self, edit: _Edit) -> bool:
        tape = self.tape
        assert tape is not None
        with np.errstate(all="ignore"):
            for point, at, values in zip(self.points, self.at, self.values, strict=True):
                try:
                    made = tape.made(edit.made, values, at)
                except FAULTS:
                    return False
                found = tape.rerun(values, {edit.at: made})
                if found is None or not self._is_right(found, point):
                    return False
        return True

    def _is_right(self, found: Any, point: Point) -> bool:
        try:
            return self.examination.same(found, point.truth[self.operand.number])
        except (TypeError, ValueError):
            return False

    def _edits(self) -> Iterator[_Edit]:
        """The edits of every operation, and another tensor in the place of every tensor."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        tensors = self._tensors()
        for at, step in enumerate(tape.steps):
            late = 0.2 * (1 - at / len(tape.steps))  # the end of a rule is looked at first
            for change in edits_of_step(tape, at, values):
                yield _Edit(change.undoing + late, at, change.made, change.undoes)
            if is_number(tape, at):
                continue
            yield _Edit(2.15 + late, at, Made(NEGATIVE, (at,)), slips.SIGN)
            for node in tensors:
                if node is not step.origin and node is not step.node and node.shape == np.shape(values[at]):
                    inner = step.node is None
                    slip = slips.MASK_ON_WRONG_TENSOR if self._feeds_a_mask(at) else slips.WRONG_OPERAND
                    yield _Edit(2.3 + late + inner, at, self._as_made(node), slip)

    def _feeds_a_mask(self, at: int) -> bool:
        tape = self.tape
        assert tape is not None
        return any(is_mask(self.values[0][user]) for user in tape.users(at))

    def _additions(self) -> Iterator[_Edit]:
        """A factor or a term that is missing at some place: a tensor of the rule, a sum or a mean of one, a number."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        steps = [at for at in range(tape.root, -1, -1) if not is_number(tape, at) and not is_mask(values[at])]
        sizes = {float(n) for node in self.examination.rule.inputs.values() for n in (*node.shape, np.prod(node.shape))}
        for number in (2.0, 3.0, *sorted(sizes - {0.0, 1.0, 2.0, 3.0})):
            for at in steps:
                for op in (TIMES, DIVIDE):
                    yield _Edit(0, at, Made(op, (at, number)), slips.CONSTANT)
        tensors = [self._as_made(n) for n in self._tensors()]
        for at in steps:
            shape = np.shape(values[at])
            for tensor in tensors:
                yield from self._with(at, tensor, shape)
        for at in steps:
            shape = np.shape(values[at])
            for tensor in tensors:
                ndim = np.ndim(self._value(tensor))
                for axis in (None, *range(ndim)) if ndim else ():
                    for op in (total, mean):
                        yield from self._with(at, Made(op, (tensor,), {"axis": axis, "keepdims": True}), shape)

    def _with(self, at: int, tensor: Any, shape: tuple[int, ...]) -> Iterator[_Edit]:
        if tensor == at:
            return
        try:
            value = self._value(tensor)
            if np.broadcast_shapes(shape, np.shape(value)) != shape:
                return
        except FAULTS:
            return
        factor = slips.MISSING_MASK if is_mask(value) else slips.MISSING_LOCAL
        if tensor == self.known.get(id(self.examination.rule.upstreams[0])):
            factor = slips.MISSING_UPSTREAM
        yield _Edit(0, at, Made(TIMES, (at, tensor)), factor)
        if is_mask(value):
            return
        yield _Edit(0, at, Made(DIVIDE, (at, tensor)), factor)
        yield _Edit(0, at, Made(PLUS, (at, tensor)), slips.MISSING_TERM)
        yield _Edit(0, at, Made(MINUS, (at, tensor)), slips.MISSING_TERM)

    def _value(self, made: Any) -> Any:
        tape = self.tape
        assert tape is not None
        return tape.made(made, self.values[0], self.at[0])

    def _tensors(self) -> list[Node]:
        """What a rule can use: the operands, the outputs, the upstream gradients, and what has a name."""
        rule = self.examination.rule
        outputs = {o.number for o in rule.outputs}
        return [
            n
            for n in rule.graph.nodes
            if n.op is not CONSTANT
            and (n.op is INPUT or n.number in outputs or n.name or n.dtype == "bool")
            and not self._uses_the_result(n)
        ]

    def _uses_the_result(self, node: Node) -> bool:
        return node.number > self.root.number

    def _as_made(self, node: Node) -> Any:
        """A step, where the rule has one for a node; else the node, as a leaf."""
        return self.known.get(id(node), node)

    # What is told ----------------------------------------------------------------------------------------------

    def written(self, edit: _Edit) -> str:
        """`dS @ Q` for `dS.T @ Q`: the definition with the edit undone, as `found -> right`."""
        tape = self.tape
        assert tape is not None
        for head in dict.fromkeys((self.heads[edit.at], edit.at)):
            before = _formula(tape.written(head, within=tape.steps[head].part))
            after = _formula(tape.written(head, {edit.at: edit.made}, within=tape.steps[head].part))
            if before and after and before != after:
                return f"{before} -> {after}"
        return ""

    def place(self, edit: _Edit) -> Span | None:
        """The line of the definition that is edited."""
        tape, span = self.tape, self.result.span
        assert tape is not None
        origin = tape.steps[edit.at].origin or tape.steps[self.heads[edit.at]].origin
        line = 0 if origin is None else origin.line
        if not line or line == span.line or line > len(span.source.lines):
            return None
        text = span.source.lines[line - 1]
        start = len(text) - len(text.lstrip())
        return Span(span.source, line, start + 1, line, len(text.rstrip()) + 1)

    # Paths -----------------------------------------------------------------------------------------------------

    def missing_path(self) -> str:
        """The value of the forward part that a rule holds constant, in words; empty if there is none."""
        examination = self.examination
        between = [n for order in examination.orders for n in order if n.operands and n not in examination.rule.outputs]
        for node in dict.fromkeys(between):
            if all(self._is_held(node, number) for number in range(len(self.points))):
                text = node.name or _formula(node, 8) or f"line {node.line}"
                return f"what comes through `{text}` is left out"
        return ""

    def _is_held(self, node: Node, number: int) -> bool:
        """Whether the result is the gradient with a node held constant, at a point."""
        rule, point = self.examination.rule, self.points[number]
        total_gradient: Any = np.zeros(self.operand.shape)
        for order, upstream in zip(self.examination.orders, rule.upstreams, strict=True):
            kept, reached = [], {order[0].number}
            for each in order:
                if each.number in reached and each is not node:
                    kept.append(each)
                    reached.update(o.number for o in each.operands)
            if self.operand not in kept:
                continue
            found = sweep(kept, point.values, point.values[upstream.number], plain=rule.graph.plain)
            gradient = found.gradients[self.operand.number]
            if gradient is not None:
                total_gradient = total_gradient + gradient
        return self.examination.same(point.values[self.root.number], total_gradient)

    def is_diagonal(self) -> bool:
        """Whether a result is the upstream gradient times the diagonal of the Jacobian, which has more in it."""
        rule = self.examination.rule
        shape = self.operand.shape
        if len(rule.outputs) != 1 or rule.outputs[0].shape != shape or not 1 < int(np.prod(shape)) <= 64:
            return False
        order = self.examination.orders[0]
        for point in self.points:
            diagonal = np.zeros(shape)
            for place in np.ndindex(*shape):
                seed = np.zeros(shape)
                seed[place] = 1.0
                gradient = sweep(list(order), point.values, seed, plain=rule.graph.plain).gradients[self.operand.number]
                diagonal[place] = 0.0 if gradient is None else gradient[place]
            if not self.examination.same(point.values[self.root.number], diagonal * point.g):
                return False
        return True


def _formula(node: Node, limit: int = 24) -> str:
    return formula(node, lambda n: n.name if n is not node else "", limit) or ""

"""Naming the slip in a rule of differentiation that a file states, by the edit that makes it right.

The check of a rule knows what the right gradients are, at several points.  Here the edits with which derivations are
marked are tried on what the rule computes, one operation at a time; an edit that gives the right gradient at every
point is the slip, and its line the one at fault.  What is no edit of one operation may be a path that the rule leaves
out: then the gradient with one of the forward part's values held constant is what the rule gives.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np

from gradcli.differentiate import adjoint_sweep, contribution, sweep
from gradcli.graph import CONSTANT, INPUT, Adjoint, Node, backward_order, formula
from gradcli.graph.op import ALL, INFIX, Op
from gradcli.homework.naming.edits import (
    AT,
    DIVIDE,
    MINUS,
    NEGATIVE,
    PLUS,
    POWER,
    TIMES,
    edits_of_step,
    is_function,
    is_mask,
    is_number,
    is_reduction,
)
from gradcli.homework.naming.tape import FAULTS, Made, Tape
from gradcli.ops.arrange import assigned, index, reshape, transpose
from gradcli.ops.elementwise import exp, log
from gradcli.ops.rearrange import flip
from gradcli.ops.reduce import mean, total
from gradcli.problems import Span, slips
from gradcli.problems.slips import Slip
from gradcli.report import Report
from gradcli.trace.spelling import root_of
from gradcli.trace.traced import RuleResult
from gradcli.verify.check import check as check_gradients
from gradcli.verify.custom import Examination, Point
from gradcli.verify.verdict import Check, ResultCheck, Verdict

NOT = INFIX["u~"]
WORK = 60_000
"""So many operations are computed in the search for one slip: it finds the same on a slow machine."""
IN_ALL = 10.0
"""The seconds that the search for all slips of a file may take."""
STEPS = 400
"""A rule of more steps than this is not searched through."""
EDGES = 200
"""So many contributions are left out, one at a time, to find the one that a rule does not have."""
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
    until = time.monotonic() + IN_ALL
    return replace(found, custom_rules=tuple(named(c, until) for c in found.custom_rules))


def named(check: ResultCheck, until: float = math.inf) -> ResultCheck:
    """The check of a result, with the slip and the edit that undoes it if there is one, and if it is found by then."""
    if check.verdict is not Verdict.DISAGREE or check.evidence is None or check.slip.startswith(SETTLED):
        return check
    examination, result = check.evidence
    if result.node is None or not examination.points:
        return check
    with examination.as_examined():
        return _named(check, examination, result, until)


def _named(check: ResultCheck, examination: Examination, result: RuleResult, until: float) -> ResultCheck:
    whole, (right, inner) = _whole(examination, result), _by_name(examination, result)
    inner = [goal for goal in inner if _Search(examination, whole, right).explained_by(goal)]
    for goal in inner or [whole]:
        if time.monotonic() > until:
            return check
        found = _slip_in(examination, goal, right)
        if found.edit is not None and found.search is not None:
            edit, search = found.edit, found.search
            slip = check.slip if check.slip.startswith(WHOLE) and goal is whole else edit.words
            written = search.written(edit)
            before = set(re.findall(r"\w+", written.partition(" -> ")[0]))
            known = check.expected and set(re.findall(r"\w+", check.expected)) <= before | {"T"}
            if edit.at == search.root and edit.words in TURNED and goal is whole and known and written:
                written = f"{written.partition(' -> ')[0]} -> {check.expected}"
            return replace(check, slip=slip, edit=written, span=search.place(edit, check.span))
        if found.words and not (check.slip and goal is whole):
            line = _line(check.span, goal.root.line) if goal is not whole else None
            return replace(check, slip=found.words, span=line or check.span)
    if inner and not check.slip:
        first = inner[0]
        right_one = f"; right: {first.expected}" if first.expected else ""
        note = (
            f"`{first.name}` (line {first.root.line}) is the first that is not the gradient of its namesake{right_one}"
        )
        return replace(check, note=note, span=_line(check.span, first.root.line) or check.span)
    return check


@dataclass(frozen=True, slots=True)
class _Found:
    """What a search for a slip came to: an edit, or a slip of the derivation in words."""

    search: _Search | None
    edit: _Edit | None
    words: str


def _slip_in(examination: Examination, goal: _Goal, right: set[int]) -> _Found:
    """The slip that keeps a node of the rule from being what it should be; it is looked for once."""
    key = (goal.root.number, goal.operand.number)
    found: _Found | None = examination.known.get(key)
    if found is None:
        search = _Search(examination, goal, right)
        edit = search.edit()
        found = _Found(search, edit, "" if edit is not None else search.of_the_sweep())
        examination.known[key] = found
    return found


def _told(slip: Slip) -> str:
    """The name of a slip, and its sentence if that says more."""
    more = set(slip.sentence.split()) - set(slip.name.split()) - {"a", "an", "is", "the", "there"}
    return f"{slip.name}: {slip.sentence}" if more else slip.name


DIAGONAL = "diagonal only: every output depends on every input here, and only the diagonal of the Jacobian is there"


def _line(span: Span | None, line: int) -> Span | None:
    """The whole of a line of the file."""
    if span is None or not 0 < line <= len(span.source.lines):
        return None
    text = span.source.lines[line - 1]
    start = len(text) - len(text.lstrip())
    return Span(span.source, line, start + 1, line, len(text.rstrip()) + 1)


@dataclass(frozen=True, slots=True)
class _Goal:
    """What a node of the rule should be at every point, and the part of the forward part that says so.

    `operand` is what it should be the gradient of, and `outputs` with the nodes in `upstreams` what comes back from.
    """

    name: str
    root: Node
    truths: list[Any]
    operand: Node
    outputs: tuple[Node, ...]
    upstreams: tuple[Node, ...]
    expected: str = ""


def _whole(examination: Examination, result: RuleResult) -> _Goal:
    assert result.node is not None
    assert result.operand is not None
    truths = [p.truth[result.operand.number] for p in examination.points]
    rule = examination.rule
    return _Goal(result.name, result.node, truths, result.operand, rule.outputs, rule.upstreams)


# Gradients by name ---------------------------------------------------------------------------------------------------


def _by_name(examination: Examination, result: RuleResult) -> tuple[set[int], list[_Goal]]:
    """Compares what a rule calls gradients, `dS` of `S`, with the gradients of the forward part's own values.

    Gives the numbers of those that are right, and the first that is not: as it is defined last, and first.
    """
    rule, points = examination.rule, examination.points
    assert result.node is not None
    start = _start(examination)
    forward: dict[str, list[Node]] = {}
    for node in rule.graph.nodes:
        if node.name and node.number < start and node.number in examination.reaching:
            forward.setdefault(node.name.lower(), []).append(node)
    stated: dict[str, list[Node]] = {}
    for node in _ancestors(result.node):
        if node.name and node.number >= start and node.op is not INPUT and root_of(node.name) in forward:
            stated.setdefault(node.name, []).append(node)
    truths = [_every_gradient(examination, p) for p in points]

    def is_gradient(node: Node, of: Node) -> bool:
        pairs = zip(points, truths, strict=True)
        return all(examination.same(p.values[node.number], t.get(of.number, 0.0)) for p, t in pairs)

    right = list(zip(rule.upstreams, rule.outputs, strict=True))  # what is the gradient of what
    wrong: list[tuple[str, Node, Node]] = []
    for name, nodes in stated.items():
        pairs = [(n, f) for n in nodes for f in forward[root_of(name)] if n.shape == f.shape]
        found = [(n, f) for n, f in pairs if is_gradient(n, f)]
        right += found
        if pairs and not found and not wrong and nodes[-1] is not result.node:
            ends = dict.fromkeys((pairs[-1], pairs[0]))
            wrong = [(name, node, of) for node, of in ends]
    goals = [
        _goal_for(examination, name, node, of, right, [t.get(of.number, 0.0) for t in truths])
        for name, node, of in wrong
    ]
    return {n.number for n, _ in right if n is not result.node}, goals


def _goal_for(
    examination: Examination, name: str, node: Node, of: Node, right: Sequence[tuple[Node, Node]], truths: list[Any]
) -> _Goal:
    """What a gradient of the rule should be, from the nearest one that is right."""
    rule = examination.rule
    whole = _Goal(name, node, truths, of, rule.outputs, rule.upstreams)
    for upstream, output in sorted(right, key=lambda pair: pair[1].number):
        if output.number <= of.number:
            continue
        order = backward_order(output, None, rule.graph.nodes)
        if of not in order:
            continue
        values = [_gradient([order], [p.values[upstream.number]], p.values, of) for p in examination.points]
        if all(examination.same(v, t) for v, t in zip(values, truths, strict=True)):
            expected = _adjoint(examination, order, upstream, of)
            return replace(whole, outputs=(output,), upstreams=(upstream,), expected=expected)
    return whole


def _adjoint(examination: Examination, order: Sequence[Node], upstream: Node, of: Node) -> str:
    nodes = examination.rule.graph.nodes
    adjoint = Adjoint([n for n in nodes if n.number <= order[0].number], len(nodes))
    found = adjoint_sweep(list(order), upstream, adjoint)
    return _formula(found[of.number]) if of.number in found else ""


def _start(examination: Examination) -> int:
    """The number of the first node that is the rule's own: the upstream gradient."""
    return min(u.number for u in examination.rule.upstreams)


def _ancestors(node: Node) -> list[Node]:
    seen: dict[int, Node] = {}
    stack = [node]
    while stack:
        top = stack.pop()
        if top.number not in seen:
            seen[top.number] = top
            stack.extend(top.operands)
    return [seen[number] for number in sorted(seen)]


def _every_gradient(examination: Examination, point: Point) -> dict[int, Any]:
    """The gradient of every value of the forward part."""
    found: dict[int, Any] = {}
    rule = examination.rule
    for order, upstream in zip(examination.orders, rule.upstreams, strict=True):
        swept = sweep(list(order), point.values, point.values[upstream.number], plain=rule.graph.plain).gradients
        for node in order:
            gradient = swept[node.number]
            if gradient is not None:
                found[node.number] = found[node.number] + gradient if node.number in found else gradient
    return found


def _gradient(
    orders: Sequence[Sequence[Node]],
    seeds: Sequence[Any],
    values: Sequence[Any],
    operand: Node,
    left_out: Collection[tuple[int, int]] = (),
) -> Any:
    """The gradient of an operand, without what some consumers (by number) send to an operand of theirs."""
    whole: Any = np.zeros(operand.shape)
    with np.errstate(all="ignore"):
        for order, seed in zip(orders, seeds, strict=True):
            arrived: dict[int, Any] = {order[0].number: seed}
            for node in order:
                g = arrived.get(node.number)
                if g is None or node.op.vjp is None:
                    continue
                arguments = [values[o.number] for o in node.operands]
                for slot, target in node.op.passing(node.operands):
                    if (node.number, slot) not in left_out:
                        c = contribution(node, slot, g, values[node.number], arguments)
                        arrived[target.number] = arrived[target.number] + c if target.number in arrived else c
            whole = whole + arrived.get(operand.number, 0.0)
    return whole


# Edits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Edit:
    """What to put in the place of steps, and the slip that it undoes."""

    rank: float
    changes: tuple[tuple[int, Any], ...]
    words: str

    @property
    def at(self) -> int:
        """The step that is shown."""
        return self.changes[-1][0]


def _one(rank: float, at: int, made: Any, slip: Slip | str) -> _Edit:
    return _Edit(rank, ((at, made),), slip if isinstance(slip, str) else _told(slip))


OVERWRITTEN = "overwritten: = stands where += belongs, so that what was there before is lost"
BACKWARDS = "wrong direction: this must run from the other end"
SHIFTED = "wrong slice: the entries beside these belong here"
NUMBER = "wrong number: another one belongs here"


TURNED = (_told(slips.MISSING_TRANSPOSE), _told(slips.EXTRA_TRANSPOSE))


class _Search:
    """Tries edits on what a rule computes."""

    @property
    def root(self) -> int:
        """The step that is the result."""
        return self.tape.root if self.tape is not None else -1

    def __init__(self, examination: Examination, goal: _Goal, right: set[int]) -> None:
        self.examination = examination
        self.goal = goal
        self.points = examination.points
        self.work = WORK
        self.tape: Tape | None = None
        tape = Tape()
        self.known: dict[int, int] = {}
        start = _start(examination)

        def is_given(n: Node) -> bool:
            return n.op is INPUT or n.number < start or (n.number in right and n is not goal.root)

        tape.write(goal.root, is_given, known=self.known, shared=True)
        self.at = [{id(n): p.values[n.number] for n in examination.rule.graph.nodes} for p in self.points]
        with np.errstate(all="ignore"):
            values = [tape.values(at) for at in self.at]
        if len(tape.steps) > STEPS or any(v is None for v in values):
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
            called = step.origin is not None and step.origin.name
            self.heads[at] = at if at == tape.root or called or not users else self.heads[users[0]]
            step.part = self.heads[at]
            if called:
                step.stands_for = step.origin

    def explained_by(self, inner: _Goal) -> bool:
        """Whether the result would be right if another node on the way to it were."""
        tape, step = self.tape, self.known.get(id(inner.root))
        if tape is None or step is None:
            return False
        for at, values, made, truth in zip(self.at, self.values, inner.truths, self.goal.truths, strict=True):
            try:
                if not self.examination.same(self._rerun(values, at, {step: made}), truth):
                    return False
            except FAULTS:
                return False
        return True

    def edit(self) -> _Edit | None:
        """The likeliest edit that makes the result right at every point."""
        if self.tape is None:
            return None
        for edit in (*sorted(self._edits(), key=lambda e: e.rank), *self._of_loops()):
            if self._works(edit):
                return edit
            if self.work < 0:
                return None
        for edit in self._additions():
            if self._works(edit):
                return edit
            if self.work < 0:
                return None
        return None

    def _works(self, edit: _Edit) -> bool:
        with np.errstate(all="ignore"):
            for at, values, truth in zip(self.at, self.values, self.goal.truths, strict=True):
                try:
                    found = self._rerun(values, at, dict(edit.changes))
                    if not self.examination.same(found, truth):
                        return False
                except FAULTS:
                    return False
        return True

    def _rerun(self, values: Sequence[Any], at: Mapping[int, Any], changes: Mapping[int, Any]) -> Any:
        """The result with edits made, each on what those before it have made of its operands."""
        tape = self.tape
        assert tape is not None
        self.work -= 1
        now = list(values)
        changed: set[int] = set()
        for each in range(min(changes), tape.root + 1):
            step = tape.steps[each]
            if each in changes:
                if step.op is not None and not changed.isdisjoint(step.operands):
                    now[each] = step.run(*[now[o] for o in step.operands])  # type: ignore[misc]
                now[each] = tape.made(changes[each], now, at)
                changed.add(each)
                self.work -= 1
            elif step.op is not None and not changed.isdisjoint(step.operands):
                now[each] = step.run(*[now[o] for o in step.operands])  # type: ignore[misc]
                changed.add(each)
                self.work -= 1
        return now[tape.root]

    def _edits(self) -> Iterator[_Edit]:
        """The edits of every operation, and another tensor in the place of every tensor."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        tensors = self._tensors()
        for at, step in enumerate(tape.steps):
            late = 0.2 * (1 - at / len(tape.steps))  # the end of a rule is looked at first
            for change in edits_of_step(tape, at, values):
                yield _one(change.undoing + late, at, change.made, change.undoes)
            yield from self._more(at, late)
            yield from self._of_uses(at, tensors, late)
            yield from self._of_leaves(at, tensors, late)
            if is_number(tape, at):
                continue
            if step.node is None or len(tape.users(at)) == 1:
                yield _one(2.15 + late, at, Made(NEGATIVE, (at,)), slips.SIGN)
            for node in tensors:
                if node is not step.origin and node is not step.node and node.shape == np.shape(values[at]):
                    inner = step.node is None
                    slip = slips.MASK_ON_WRONG_TENSOR if self._feeds_a_mask(at) else slips.WRONG_OPERAND
                    if step.op is MINUS and self.known.get(id(node)) == step.operands[0] and node.op is INPUT:
                        slip, inner = slips.UPDATED_WEIGHTS, False
                    yield _one(2.3 + late + inner, at, self._as_made(node, at), slip)

    def _of_leaves(self, at: int, tensors: Sequence[Node], late: float) -> Iterator[_Edit]:
        """Another operand, of another shape, in the place of one."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        leaf = tape.steps[at].node
        if leaf is not None and leaf.op is INPUT:
            for node in tensors:
                if node.op is INPUT and node.shape != np.shape(values[at]):
                    yield _one(2.7 + late, at, self._as_made(node, at), slips.WRONG_OPERAND)

    def _of_uses(self, at: int, tensors: Sequence[Node], late: float) -> Iterator[_Edit]:
        """Another tensor, or the transpose, in one place of several in which a tensor is used."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        step = tape.steps[at]
        for slot, used in enumerate(step.operands):
            if (
                step.op is None
                or (len(tape.users(used)) < 2 and step.operands.count(used) < 2)
                or is_number(tape, used)
            ):
                continue

            def edited(made: Any, slot: int = slot) -> Made:
                assert step.op is not None
                return Made(step.op, (*step.operands[:slot], made, *step.operands[slot + 1 :]), step.settings)

            shape = np.shape(values[used])
            if not is_mask(values[used]):
                yield _one(2.2 + late, at, edited(Made(NEGATIVE, (used,))), slips.SIGN)
                yield _one(2.07 + late, at, edited(Made(POWER, (used, 2.0))), slips.WRONG_EXPONENT)
            if len(shape) == 2:
                yield _one(2.05 + late, at, edited(Made(transpose, (used,))), slips.MISSING_TRANSPOSE)
            slip = slips.MASK_ON_WRONG_TENSOR if is_mask(values[at]) else slips.WRONG_OPERAND
            for node in tensors:
                if node is not tape.steps[used].origin and node is not tape.steps[used].node and node.shape == shape:
                    yield _one(2.32 + late, at, edited(self._as_made(node, at)), slip)

    def _more(self, at: int, late: float) -> Iterator[_Edit]:
        """Edits that rules need and lines of homework do not."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        step, shape = tape.steps[at], np.shape(values[at])
        op = step.op
        if op is assigned:
            base, part = step.operands
            key = {"key": step.settings["key"]}
            whole = Made(op, (base, Made(PLUS, (Made(index, (base,), key), part))), step.settings)
            yield _one(2.0 + late, at, whole, OVERWRITTEN)
        if (
            op is not None
            and "axis" in op.settings
            and len(step.operands) == 1
            and np.shape(values[step.operands[0]]) == shape
        ):
            axis = {"axis": step.settings.get("axis") if step.settings.get("axis") is not None else 0}
            turned = Made(flip, (step.operands[0],), axis)
            yield _one(2.4 + late, at, Made(flip, (Made(op, (turned,), step.settings),), axis), BACKWARDS)
        if op is index:
            for key_ in _shifted(step.settings["key"]):
                yield _one(2.5 + late, at, Made(op, step.operands, {"key": key_}), SHIFTED)
        if op is not None and op.variadic and 2 < len(step.operands) < 9:
            for one, two in combinations(range(len(step.operands)), 2):
                turned_round = list(step.operands)
                turned_round[one], turned_round[two] = turned_round[two], turned_round[one]
                yield _one(2.1 + late, at, Made(op, tuple(turned_round), step.settings), slips.OPERANDS_SWAPPED)
        if op is not None and is_reduction(op) and len(step.operands) == 1:
            for other in ALL:
                if is_reduction(other) and other.family == op.family and other is not op and not other.hidden:
                    yield _one(2.2 + late, at, Made(other, step.operands, step.settings), slips.LOOK_ALIKE_FUNCTION)
        if step.node is not None and step.node.op is CONSTANT and not shape and not is_mask(values[at]):
            right = self._right_number(at)
            if right is not None:
                yield _one(2.35 + late, at, right, NUMBER)
        if is_number(tape, at):
            return
        if not is_mask(values[at]):
            for exponent in (2.0, 0.5, -1.0):
                yield _one(2.06 + late, at, Made(POWER, (at, exponent)), slips.WRONG_EXPONENT)
        for axis_ in range(len(shape)):
            yield _one(2.45 + late, at, Made(flip, (at,), {"axis": axis_}), slips.KERNEL_FLIP)
        users = [np.ndim(values[u]) for u in tape.users(at)]
        if shape and users and max(users) > len(shape):
            for place in range(1, len(shape) + 1):
                laid = (*shape[:place], 1, *shape[place:])
                yield _one(2.1 + late, at, Made(reshape, (at,), {"shape": laid}), slips.LOST_AXIS)
        for function in self._functions():
            if function is not op:
                yield _one(2.6 + late, at, Made(function, (at,)), slips.LOOK_ALIKE_FUNCTION)

    def _functions(self) -> list[Op]:
        """The functions of one number that the forward part uses."""
        start = _start(self.examination)
        nodes = self.examination.rule.graph.nodes[:start]
        used = (n.op for n in nodes if is_function(n.op) and not n.data)
        return list(dict.fromkeys((*used, exp, log)))

    def _right_number(self, at: int) -> float | None:
        """The number that makes the result right, if the result is linear in it."""
        now = self.values[0][at]
        try:
            before, after = (
                np.asarray(self._rerun(self.values[0], self.at[0], {at: float(now) + d}), float) for d in (0.0, 1.0)
            )
        except (*FAULTS, OverflowError):
            return None
        truth = np.asarray(self.goal.truths[0], float)
        if before.shape != truth.shape or not np.isfinite(after).all():
            return None
        slope = (after - before).ravel()
        length = float(slope @ slope)
        if not length > 0:
            return None
        right = float(now) + float(slope @ (truth - before).ravel()) / length
        return round(right, 9) if abs(right - round(right, 9)) < 1e-10 and round(right, 9) != now else None

    def _of_loops(self) -> Iterator[_Edit]:
        """The edits of one operation in a loop, made in every pass at once."""
        tape = self.tape
        assert tape is not None
        groups: dict[Any, list[int]] = {}
        for at, step in enumerate(tape.steps):
            if step.origin is not None:
                kinds = tuple((tape.steps[o].op, tape.steps[o].node) for o in step.operands)
                names = tuple(
                    (op, None if node is None or node.op is not CONSTANT else node.name) for op, node in kinds
                )
                groups.setdefault((step.origin.line, step.op, names), []).append(at)
        for steps in groups.values():
            if len(steps) < 2:
                continue
            each = [list(self._of_pass(at)) for at in steps]
            if len({len(e) for e in each}) != 1:
                continue
            for together in zip(*each, strict=True):
                if len({e.words for e in together}) == 1:
                    changes = tuple(change for e in together for change in e.changes)
                    yield _Edit(together[0].rank, changes, together[0].words)

    def _of_pass(self, at: int) -> Iterator[_Edit]:
        tape, values = self.tape, self.values[0]
        assert tape is not None
        for change in edits_of_step(tape, at, values):
            yield _one(change.undoing, at, change.made, change.undoes)
        yield from self._more(at, 0.0)
        for upstream in self.goal.upstreams:
            if not upstream.shape:
                yield _one(3.0, at, Made(TIMES, (at, upstream)), slips.MISSING_UPSTREAM)

    def _feeds_a_mask(self, at: int) -> bool:
        tape = self.tape
        assert tape is not None
        return any(is_mask(self.values[0][user]) for user in tape.users(at))

    def _additions(self) -> Iterator[_Edit]:
        """A factor or a term that is missing at some place: a tensor of the rule, a sum or a mean of one, a number."""
        tape, values = self.tape, self.values[0]
        assert tape is not None
        steps = [at for at in range(tape.root, -1, -1) if not is_number(tape, at) and not is_mask(values[at])]
        rule = self.examination.rule
        sizes = {float(n) for node in rule.inputs.values() for n in (*node.shape, math.prod(node.shape))}
        for number in (2.0, 3.0, *sorted(sizes - {0.0, 1.0, 2.0, 3.0})):
            for at in steps:
                for op in (TIMES, DIVIDE):
                    yield _one(0, at, Made(op, (at, number)), slips.CONSTANT)
        start = _start(self.examination)
        forward = rule.graph.nodes[:start]
        numbers = {float(n.data) for n in forward if n.op is CONSTANT and type(n.data) is float}
        for number in sorted(numbers - sizes):
            for at in steps:
                for op in (PLUS, MINUS, TIMES, DIVIDE):
                    slip = slips.CONSTANT if op in (TIMES, DIVIDE) else slips.MISSING_TERM
                    yield _one(0, at, Made(op, (at, number)), slip)
        tensors = self._tensors()
        chosen = [at for at in range(tape.root) if any(len(tape.steps[u].operands) == 3 for u in tape.users(at))]
        for at in (*steps, *chosen):
            shape = max([np.shape(values[at]), *(np.shape(values[u]) for u in tape.users(at) if at in chosen)], key=len)
            for tensor in tensors:
                made = self._as_made(tensor, at)
                yield from self._with(at, made, shape, tensor)
                if tensor.dtype == "bool":
                    yield from self._with(at, Made(NOT, (made,)), shape, tensor)
        for at in steps:
            shape = np.shape(values[at])
            for tensor in tensors:
                for axis in (None, *range(len(tensor.shape))) if tensor.shape else ():
                    for op in (total, mean):
                        made = Made(op, (self._as_made(tensor, at),), {"axis": axis, "keepdims": True})
                        yield from self._with(at, made, shape, tensor)

    def _with(self, at: int, tensor: Any, shape: tuple[int, ...], node: Node) -> Iterator[_Edit]:
        if tensor == at:
            return
        tape = self.tape
        assert tape is not None
        try:
            value = tape.made(tensor, self.values[0], self.at[0])
        except FAULTS:
            return
        upstream = any(node is u for u in self.goal.upstreams) and type(tensor) is not Made
        factor = slips.MISSING_UPSTREAM if upstream else slips.MISSING_MASK if is_mask(value) else slips.MISSING_LOCAL
        if len(shape) == 2 == np.ndim(value):
            for side in (tensor, Made(transpose, (tensor,))):
                yield _one(0, at, Made(AT, (at, side)), factor)
                yield _one(0, at, Made(AT, (side, at)), factor)
        try:
            if np.broadcast_shapes(shape, np.shape(value)) != shape:
                return
        except ValueError:
            return
        yield _one(0, at, Made(TIMES, (at, tensor)), factor)
        if is_mask(value):
            return
        yield _one(0, at, Made(DIVIDE, (at, tensor)), factor)
        yield _one(0, at, Made(PLUS, (at, tensor)), slips.MISSING_TERM)
        yield _one(0, at, Made(MINUS, (at, tensor)), slips.MISSING_TERM)

    def _tensors(self) -> list[Node]:
        """What a rule can use: the operands, the outputs, the upstream gradients, and what has a name."""
        rule = self.examination.rule
        outputs = {o.number for o in rule.outputs}
        return [
            n
            for n in rule.graph.nodes
            if n.op is not CONSTANT
            and (n.op is INPUT or n.number in outputs or n.name or n.dtype == "bool")
            and n.number < self.goal.root.number
        ]

    def _as_made(self, node: Node, at: int) -> Any:
        """A step before another, where the rule has one for a node; else the node, as a leaf."""
        step = self.known.get(id(node))
        return step if step is not None and step < at else node

    # What is told ----------------------------------------------------------------------------------------------

    def written(self, edit: _Edit) -> str:
        """`dS @ Q` for `dS.T @ Q`: the definition with the edit undone, as `found -> right`."""
        tape = self.tape
        assert tape is not None
        made = dict(edit.changes)[edit.at]
        change = {edit.at: made}
        head = self._head(edit)
        while (
            tape.steps[head].op is assigned
            and head != edit.at
            and self._is_under(edit.at, tape.steps[head].operands[1])
        ):
            head = tape.steps[head].operands[1]
        if tape.steps[head].op is assigned and type(made) is Made and made.op is assigned:
            before, after = (
                _formula(_node(tape, part, self.heads[head]))
                for part in (tape.steps[head].operands[1], made.operands[1])
            )
            return f"{before} -> {after}" if before and after else ""
        for each in dict.fromkeys((head, edit.at)):
            before = _formula(tape.written(each, within=tape.steps[each].part))
            after = _formula(tape.written(each, change, within=tape.steps[each].part))
            if before and after and before != after:
                return f"{before} -> {after}"
        return ""

    def _head(self, edit: _Edit) -> int:
        """The definition in which an edit is shown: that which uses it, if it is put around a whole definition."""
        tape, made = self.tape, dict(edit.changes)[edit.at]
        assert tape is not None
        users = tape.users(edit.at)
        around = type(made) is Made and edit.at in made.operands
        whole = self.heads[edit.at] == edit.at and edit.at != tape.root
        return self.heads[users[0]] if around and whole and len(users) == 1 else self.heads[edit.at]

    def _is_under(self, at: int, root: int) -> bool:
        tape = self.tape
        assert tape is not None
        return at == root or root in tape.above(at)

    def place(self, edit: _Edit, span: Span | None) -> Span | None:
        """The line of the definition that is edited, if that is another one."""
        tape = self.tape
        assert tape is not None
        head = self._head(edit)
        inside = head == self.heads[edit.at]
        origin = (tape.steps[edit.at].origin if inside else None) or tape.steps[head].origin
        if span is None or origin is None or origin.line in (span.line, self.examination.rule.line):
            return span
        return _line(span, origin.line) or span

    # Slips of the derivation --------------------------------------------------------------------------------------

    def of_the_sweep(self) -> str:
        """A slip of the derivation rather than of the formula, in words; empty if there is none."""
        return self._swapped_upstreams() or self._missing_path() or (DIAGONAL if self._is_diagonal() else "")

    def _orders(self) -> list[Sequence[Node]]:
        nodes = self.examination.rule.graph.nodes
        return [backward_order(output, None, nodes) for output in self.goal.outputs]

    def _gives(
        self,
        orders: Sequence[Sequence[Node]],
        upstreams: Sequence[Node | None],
        left_out: Any = (),
        truth: bool = False,
    ) -> bool:
        """Whether the rule gives, or the truth is, the gradient with some of what comes back, at every point."""
        taken = [(o, u) for o, u in zip(orders, upstreams, strict=True) if u is not None]
        for point, right in zip(self.points, self.goal.truths, strict=True):
            seeds = [point.values[u.number] for _, u in taken]
            try:
                found = _gradient([o for o, _ in taken], seeds, point.values, self.goal.operand, left_out)
            except FAULTS:
                return False
            if not self.examination.same(found, right if truth else point.values[self.goal.root.number]):
                return False
        return True

    def _swapped_upstreams(self) -> str:
        goal = self.goal
        if not 1 < len(goal.outputs) < 4:
            return ""
        orders = self._orders()
        for turned in permutations(goal.upstreams):
            fits = all(u.shape == o.shape for u, o in zip(turned, goal.outputs, strict=True))
            if fits and turned != goal.upstreams and self._gives(orders, turned):
                return "wrong order of the upstream gradients: they arrive in the order of the outputs"
        for each in range(len(orders)):
            kept = [u if at != each else None for at, u in enumerate(goal.upstreams)]
            if self._gives(orders, kept):
                output = goal.outputs[each].name or f"number {each + 1}"
                return f"{slips.MISSING_PATH.name}: what comes back from the output `{output}` is left out"
        return ""

    def _missing_path(self) -> str:
        orders, goal = self._orders(), self.goal
        edges = dict.fromkeys((n, s) for order in orders for n in order for s, _ in n.op.passing(n.operands))
        tried = list(edges)[:EDGES]
        # what makes no difference, such as what goes through the maximum in a softmax, is left out with it
        idle = {(n.number, s) for n, s in tried if self._gives(orders, goal.upstreams, {(n.number, s)}, truth=True)}
        for node, slot in tried:
            each = {(node.number, slot)}
            if self._gives(orders, goal.upstreams, each) or self._gives(orders, goal.upstreams, each | idle):
                to, by = node.operands[slot], _formula(node, 8)
                through = f"`{node.name or by}` (line {node.line})" if node.name or by else f"line {node.line}"
                to_name = to.name or _formula(to, 6) or "its operand"
                return f"{slips.MISSING_PATH.name}: the contribution of {through} to `{to_name}` is left out"
        return ""

    def _is_diagonal(self) -> bool:
        """Whether a result is the upstream gradient times the diagonal of the Jacobian, which has more in it."""
        goal, shape = self.goal, self.goal.operand.shape
        if len(goal.outputs) != 1 or goal.outputs[0].shape != shape or not 1 < int(np.prod(shape)) <= 64:
            return False
        orders = self._orders()
        for point in self.points:
            diagonal = np.zeros(shape)
            for place in np.ndindex(*shape):
                seed = np.zeros(shape)
                seed[place] = 1.0
                try:
                    diagonal[place] = _gradient(orders, [seed], point.values, goal.operand)[place]
                except FAULTS:
                    return False
            upstream = point.values[goal.upstreams[0].number]
            if not self.examination.same(point.values[goal.root.number], diagonal * upstream):
                return False
        return True


def _shifted(key: Any) -> Iterator[tuple[Any, ...]]:
    """An index with one of its slices, or all of them, moved by a few entries."""
    at = [k for k, part in enumerate(key) if isinstance(part, slice) and part.stop is not None]
    for places in dict.fromkeys((*((k,) for k in at), tuple(at))):
        for by in (-2, -1, 1, 2):
            moved = list(key)
            for k in places:
                start = (key[k].start or 0) + by
                moved[k] = slice(start, key[k].stop + by, key[k].step)
                if start < 0:
                    break
            else:
                if places:
                    yield tuple(moved)


def _node(tape: Tape, part: Any, within: Any) -> Node:
    if type(part) is int:
        return tape.written(part, within=within)
    operands = tuple(_node(tape, o, within) for o in part.operands)
    return Node(part.op, operands, dict(part.settings) or None, operands[0].shape, "float64", -1, True)


def _formula(node: Node, limit: int = 24) -> str:
    return formula(node, lambda n: _array_name(n) or (n.name if n is not node else ""), limit) or ""


def _array_name(node: Node) -> str:
    """An array that is written as numbers in a formula, in short."""
    if node.op is not CONSTANT or not node.shape or math.prod(node.shape) < 4:
        return ""
    for value, name in ((1, "ones"), (0, "zeros")):
        if np.all(node.data == value):
            return f"{name}({node.shape})"
    return ""

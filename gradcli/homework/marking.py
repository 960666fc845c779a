"""Marking: is a line right, and is it right given the student's own earlier lines?

Two questions are asked of every line.  *Absolutely*: is its value the gradient?  *Given the earlier lines*: would it
be, if these were what they should have been?  The first line that fails the second question is the first wrong one; a
line that fails only the first question follows from an earlier mistake.

What a line should have been is not always the gradient itself.  A factor such as 1/N may be left out of one line and
put into a later one; a name such as `delta` says nothing about which gradient it is; a `dc` that `+=` goes on with is a
part of a sum.  So marking supposes: every constant factor is a convention, every name that is another node's gradient
means that one.  Then it marks, drops what no later line has confirmed, and marks again until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node, local_formula
from gradcli.graph.dtypes import FLOATS
from gradcli.homework import coincidence, orders, restored, rounding
from gradcli.homework.compare import common_multiple, finite, majorant, numbers, same
from gradcli.homework.mark import Mark, Marked, Meaning, Naming, State, Verdict
from gradcli.homework.naming import Namer
from gradcli.homework.points import Point, Points, distance
from gradcli.homework.sheet import Kind, Line, Sheet, gradient_name
from gradcli.homework.steps import Steps

AT_KINK = 1e-9
"""So near to a corner a number is at it."""

MOST_PAIRED = 20_000
"""Meanings of two helpers at once are tried if their pairs, times the entries of a line, are no more than this."""


@dataclass(slots=True)
class Suppositions:
    """What a round of marking takes for granted."""

    dropped: set[int] = field(default_factory=set)
    """Lines whose constant factor nobody puts back."""
    plain: set[int] = field(default_factory=set)
    """Lines that are not used as the other node's gradient that they are."""
    meant: dict[int, Meaning] = field(default_factory=dict)
    """Wrong helpers, with what they should have been."""
    parts: dict[int, list[Any]] = field(default_factory=dict)
    """Wrong parts of a sum, with what they should have been at every point."""
    factors: dict[int, float] = field(default_factory=dict)
    """Wrong lines that should have had a constant factor, because later lines put it back."""

    def with_factor(self, index: int, factor: float) -> Suppositions:
        """The same with a factor for a wrong line; what was dropped because of it is supposed again."""
        dropped = {j for j in self.dropped if j <= index}
        return Suppositions(
            dropped, set(self.plain), dict(self.meant), dict(self.parts), {**self.factors, index: factor}
        )


class Marking:
    """The marking of one sheet."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.points = Points(sheet)
        self.truths: list[list[Any]] = [self._truth(line) for line in sheet.lines]
        self.states: list[State] = []
        self.supposed = Suppositions()
        self._steps: dict[int, Steps] = {}
        self.namer: Namer | None = None
        self.own: list[list[Any]] = []
        """Every line's value at every point, with the student's own values of the earlier lines."""

    def run(self) -> Marked:
        """Marks every line."""
        for line in self.sheet.lines:
            self.own.append(self._own_values(line))
        self._settle()
        self._suppose_factors()
        marks = [self._mark(line, state) for line, state in zip(self.sheet.lines, self.states, strict=True)]
        self._name_slip(marks)
        wrong = next((m for m in marks if m.verdict in (Verdict.WRONG, Verdict.INVALID)), None)
        if wrong is not None:
            wrong.first_wrong = True
        notes = list(self.sheet.notes)
        if len(self.points.all) == 1 and any(
            line.expression is not None and not line.numeric for line in self.sheet.lines
        ):
            notes.append(
                "formulas were compared at the file's inputs alone: no others were found at which all is defined"
            )
        return Marked(self.sheet, marks, notes)

    def _settle(self) -> None:
        """Marks, drops suppositions that no line has confirmed, and marks again, until nothing changes."""
        for _ in range(2 * len(self.sheet.lines) + 8):
            self.states = []
            for line in self.sheet.lines:
                self.states.append(self._state(line))
            if not (self._drop_factors() or self._drop_names() or self._find_meanings()):
                break

    def steps(self, of: Node) -> Steps:
        """The reverse sweep from a node."""
        found = self._steps.get(of.number)
        if found is None:
            found = self._steps[of.number] = Steps(self.sheet, of)
        return found

    # The truth ---------------------------------------------------------------------------------

    def _truth(self, line: Line) -> list[Any]:
        """What a line should be, at every point; of a helper nothing is known."""
        truths = [self.truth_at(line, point) for point in self.points.all]
        return self._in_its_shape(line, truths)

    def truth_at(self, line: Line, point: Point) -> Any:
        """What a line should be at a point; None of a helper."""
        if line.left is not None:
            return self.points.value(line.left, point, {})
        if line.kind is Kind.VALUE and line.node is not None:
            return point.values[line.node.number]
        if line.about_gradient and line.node is not None:
            return point.gradient(line.node, line.of)
        return None

    def _in_its_shape(self, line: Line, truths: list[Any]) -> list[Any]:
        """The derivative of a tensor in the form in which the line writes it, where it has several."""
        of, node = line.of, line.node
        if line.kind is not Kind.LOCAL or of is None or node is None or of.shape == () or line.expression is None:
            return truths
        shape = line.expression.shape
        if any(t is None for t in truths) or shape == of.shape + node.shape:
            return truths
        if shape == of.shape == node.shape:  # entry by entry: what the sum of the entries would send
            size = int(np.prod(of.shape))
            square = [t.reshape(size, size) for t in truths]
            if all(not np.any(s - np.diag(np.diag(s))) for s in square):
                return [np.diag(s).reshape(of.shape) for s in square]
        return truths

    def same(self, line: Line, k: int, value: Any, truth: Any, given: Mapping[int, Any]) -> bool:
        """Whether a line's value is the truth at point k; `given` are the values of lines that it was found with."""
        point = self.points.all[k]

        def bound() -> float:
            bounds = [0.0]
            if line.expression is not None:
                bounds.append(majorant(self.points, line.expression, point, given))
            if line.about_gradient and line.node is not None and line.of is not None:
                bounds.append(self._majorant_of_truth(line.of, line.node, point))
            return max(bounds)

        return same(value, truth, bound, point.scale)

    def _majorant_of_truth(self, of: Node, node: Node, point: Point) -> float:
        """The majorant of a true gradient, from what its consumers send."""
        if of.shape != () and of is not self.sheet.output:
            return 0.0
        expected = self.steps(of).expected(node, {})
        if expected is None:
            return 0.0
        return majorant(self.points, expected, point, {})

    # Values ------------------------------------------------------------------------------------

    def _own_values(self, line: Line) -> list[Any]:
        """The line's value at every point, with the student's own values of the earlier lines."""
        count = len(self.points.all)
        if line.expression is None or not line.fits:
            return [None] * count
        if line.written is not None and not line.written.exact:
            return [line.written.value, *[None] * (count - 1)]
        values = []
        for k, point in enumerate(self.points.all):
            values.append(self.points.value(line.expression, point, self._own_given(line, k)))
        return values

    def _intended(self, line: Line, k: int) -> dict[int, Any]:
        """What the lines that a line uses should have been, at point k."""
        return {j: self.states[j].intended[k] for j in line.references}

    def _given_values(self, line: Line, changed: Mapping[int, list[Any]] | None = None) -> list[Any]:
        """The line's value at every point, if the earlier lines were what they should have been.

        `changed` has other values of lines that it uses, directly or through helpers.
        """
        assert line.expression is not None
        changed = changed or {}
        values = []
        for k, point in enumerate(self.points.all):
            given = self._intended(line, k)
            if changed:
                given |= {j: self._changed(j, k, changed) for j in line.references}
            values.append(self.points.value(line.expression, point, given))
        return values

    def _changed(self, j: int, k: int, changed: Mapping[int, list[Any]]) -> Any:
        """What line j should have been at point k, when some helpers are something else."""
        if j in changed:
            return changed[j][k]
        line = self.sheet.lines[j]
        own = self.states[j].verdict is Verdict.HELPER and line.expression is not None and not line.numeric
        if own and self._helpers_of(line) & changed.keys():
            given = {i: self._changed(i, k, changed) for i in line.references}
            assert line.expression is not None
            return self.points.value(line.expression, self.points.all[k], given)
        return self.states[j].intended[k]

    def _helpers_of(self, line: Line) -> set[int]:
        """The helpers a line uses, directly or through others."""
        found: set[int] = set()
        stack = list(line.references)
        while stack:
            j = stack.pop()
            if j not in found and self.states[j].verdict is Verdict.HELPER:
                found.add(j)
                stack.extend(self.sheet.lines[j].references)
        return found

    # One round -----------------------------------------------------------------------------------

    def _state(self, line: Line) -> State:
        truths = self.truths[line.index]
        if line.problems:
            factor = self.supposed.factors.get(line.index) or self._factor_to_keep(line)
            return State(Verdict.INVALID, self._times(truths, factor), factor=factor)
        if line.kind is Kind.ORDER:
            return orders.state(self.sheet, line)
        if line.kind is Kind.HELPER:
            return self._helper(line)
        if any(t is None or not finite(t) for t in truths[:1]):
            why = "it is not finite at these inputs" if truths[0] is not None else "it is too large to be worked out"
            return State(Verdict.UNRESOLVED, truths, notes=[f"the right value cannot be compared: {why}"])
        if line.written is not None:
            return self._numbers(line)
        if line.index in self.supposed.parts:
            return State(Verdict.WRONG, self.supposed.parts[line.index])
        values = self._given_values(line)
        if line.continued and line.about_gradient:
            return self._part(line, values)
        return self._formula(line, values)

    def _helper(self, line: Line) -> State:
        assert line.expression is not None
        if line.index in self.supposed.meant:
            node, factor = self.supposed.meant[line.index]
            intended = [factor * point.gradient(node) for point in self.points.all]
            return State(Verdict.WRONG, intended, meaning=(node, factor))
        values = self._given_values(line)
        if line.written is not None and not line.written.exact:
            return self._numeric_helper(line, values)
        meaning = self._meaning(line, values)
        factor = meaning[1] if meaning is not None and line.index not in self.supposed.dropped else 1.0
        if meaning is not None and line.index in self.supposed.dropped and meaning[1] != 1:
            node = meaning[0]
            return State(Verdict.WRONG, [p.gradient(node) for p in self.points.all], meaning=(node, 1.0))
        return State(Verdict.HELPER, values, factor, meaning)

    def _numeric_helper(self, line: Line, values: list[Any]) -> State:
        """Numbers under a name of the student's own mean the gradient that they are rounded from, if there is one."""
        assert line.written is not None
        for node in self._candidates():
            truth = self.points.here.gradient(node)
            if rounding.fits(line.written, truth) and rounding.telling(line.written):
                return State(Verdict.HELPER, [p.gradient(node) for p in self.points.all], 1.0, (node, 1.0))
        return State(Verdict.HELPER, values)

    def _candidates(self) -> list[Node]:
        """The nodes that have a gradient: those with a name first, nearest to the output first."""
        nodes = [n for n in self.steps(self.sheet.output).order if n.dtype in FLOATS]
        return sorted(nodes, key=lambda n: not self.sheet.name_of(n))

    def _meaning(self, line: Line, values: list[Any]) -> Meaning | None:
        """The node whose gradient, times a constant, these values are; exactly its gradient if there is such a node."""
        if any(v is None for v in values) or line.expression is None or line.expression.dtype == "bool":
            return None
        best: Meaning | None = None
        if len(values) < 2:
            return None
        for node in self._candidates():
            if np.shape(values[0]) != node.shape:
                continue
            truths = [p.gradient(node) for p in self.points.all]
            factor = common_multiple(values[1:], truths[1:])
            if factor is None:
                continue
            if abs(factor - 1) < 1e-9:
                return node, 1.0
            best = best or (node, factor)
        return best

    def _part(self, line: Line, values: list[Any]) -> State:
        """A part of a sum that a later line goes on with."""
        return State(Verdict.HELPER, values, notes=[f"a part of {line.target.name}"])

    def _numbers(self, line: Line) -> State:
        """A line of numbers, which are compared at the file's inputs alone."""
        truths = self.truths[line.index]
        found = rounding.judge(self, line)
        return State(
            found.verdict, truths, notes=list(found.notes), cause=found.cause, digits=found.digits, factor=found.factor
        )

    def _formula(self, line: Line, values: list[Any]) -> State:
        truths = self.truths[line.index]
        count = len(truths)
        given = [self._intended(line, k) for k in range(count)]
        holds = [self.same(line, k, values[k], truths[k], given[k]) for k in range(count)]
        if all(holds):
            return self._right(line, values)
        if line.about_gradient:
            other = self._other_reading(line, values)
            if other is not None:
                return other
        own = self.own[line.index]
        if all(self.same(line, k, own[k], truths[k], self._own_given(line, k)) for k in range(count)):
            return State(Verdict.RIGHT, truths)
        if not holds[0] and count > 1 and all(holds[1:]) and self._at_kink():
            return State(Verdict.RIGHT, truths, notes=["at a kink another slope is chosen than here; both are allowed"])
        if holds[0]:
            return self._right_here(line)
        follows = self._follows_from_values(line)
        if follows is not None:
            return State(Verdict.FOLLOWS, truths, cause=follows)
        if (meant := restored.numbers(self, line)) is not None:
            wrong = self._wrong_before(line)
            verdict = Verdict.RIGHT if wrong is None else Verdict.FOLLOWS
            return State(verdict, truths, cause=wrong, notes=[f"with its numbers rounded: {', '.join(meant)}"])
        factor = self.supposed.factors.get(line.index) or self._factor_to_keep(line)
        return State(Verdict.WRONG, self._times(truths, factor), factor=factor)

    def _own_given(self, line: Line, k: int) -> dict[int, Any]:
        return {j: self.own[j][k] for j in line.references}

    def _at_kink(self) -> bool:
        """Whether the file's inputs lie at a kink of some operator."""
        here = self.points.here
        kinks = [n for n in self.sheet.forward if n.op.kink]
        return any(n.op.scalar is None or distance(n, here) < AT_KINK for n in kinks)

    def _times(self, truths: Iterable[Any], factor: float) -> list[Any]:
        return [None if t is None else t if factor == 1 else factor * t for t in truths]

    def _right(self, line: Line, values: list[Any]) -> State:
        """A line that is right if the earlier ones are: `follows` if one of these is wrong and makes a difference."""
        truths = self.truths[line.index]
        exact = all(_tells(t, point) for t, point in zip(truths, self.points.all, strict=True))
        wrong = self._wrong_before(line)
        if wrong is None:
            return State(Verdict.RIGHT, truths, exact=exact)
        own = self.own[line.index]
        if all(self.same(line, k, own[k], truths[k], self._own_given(line, k)) for k in range(len(truths))):
            return State(Verdict.RIGHT, truths, exact=exact)
        return State(Verdict.FOLLOWS, truths, cause=wrong, exact=exact)

    def _wrong_before(self, line: Line) -> int | None:
        """The first wrong line that a line uses, directly or through others."""
        return min((c for j in self._before(line) if (c := self.cause(j)) is not None), default=None)

    def cause(self, j: int) -> int | None:
        """The wrong line because of which line j is not right: itself, or the one that it follows from."""
        state = self.states[j]
        if state.verdict in (Verdict.WRONG, Verdict.INVALID):
            return j
        return state.cause if state.verdict is Verdict.FOLLOWS else None

    def _before(self, line: Line) -> Iterator[int]:
        """The lines that a line uses, directly or through others."""
        seen: set[int] = set()
        stack = list(line.references)
        while stack:
            j = stack.pop()
            if j in seen:
                continue
            seen.add(j)
            yield j
            stack.extend(self.sheet.lines[j].references)

    # Factors and other readings ---------------------------------------------------------------------

    def _other_reading(self, line: Line, values: list[Any]) -> State | None:
        """A constant multiple of the gradient, or the gradient of another node."""
        truths = self.truths[line.index]
        if len(truths) > 1 and line.index not in self.supposed.dropped:
            factor = common_multiple(values[1:], truths[1:])
            if factor is not None and abs(factor - 1) > 1e-9:
                return State(Verdict.SCALED, self._times(truths, factor), factor=factor)
        if line.index not in self.supposed.plain and line.kind is Kind.GRADIENT:
            meaning = self._meaning(line, values)
            other = meaning is not None and meaning[1] == 1 and meaning[0] is not line.node
            if meaning is not None and other and np.shape(values[0]) == np.shape(truths[0]):
                note = f"a name for {self._said(meaning[0])}, as which it is used"
                return State(Verdict.HELPER, values, 1.0, meaning, notes=[note])
        return None

    def _said(self, node: Node) -> str:
        """A node's gradient in words."""
        if self.sheet.name_of(node):
            return gradient_name(self.sheet.output, node)
        return f"the gradient of `{local_formula(node, lambda n: n.name)}`"

    def _factors_of(self, line: Line) -> list[int]:
        """The lines with a factor of their own that a line uses."""
        return [j for j in line.references if self.states[j].factor != 1]

    def _kept_factor(self, line: Line) -> float:
        """The factor that a line has from those it uses, if they agree."""
        factors = {self.states[j].factor for j in self._factors_of(line)}
        return factors.pop() if len(factors) == 1 else 1.0

    def _factor_to_keep(self, line: Line) -> float:
        """The factor that a wrong line should have kept: that of the lines it uses, unless it is an end result."""
        end = line.node is None or not line.node.operands
        return 1.0 if end or line.index in self.supposed.dropped else self._kept_factor(line)

    def _drop_factors(self) -> bool:
        """Gives up the constant factors that no later line puts back; whether there were any."""
        confirmed: set[int] = set()
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            if state.exact and line.about_gradient:
                self._confirm(line, confirmed)
        open_lines = []
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            faulty = state.verdict in (Verdict.WRONG, Verdict.INVALID)
            if state.factor == 1 or line.index in confirmed or faulty:
                continue
            before = self._factors_of(line)
            kept = any(abs(self.states[j].factor / state.factor - 1) < 1e-9 for j in before)
            if state.verdict is Verdict.HELPER:
                if self._is_blamed(line) and not any(j not in confirmed for j in before):
                    open_lines.append(line.index)
                continue
            inner = line.node is not None and line.node.operands and kept
            if inner and all(j in confirmed for j in before):
                continue  # in the units that the sheet has chosen, on the way to nowhere
            open_lines.append(line.index)
        starts = [i for i in open_lines if not any(j in open_lines for j in self.sheet.lines[i].references)]
        self.supposed.dropped.update(starts)
        return bool(starts)

    def _confirm(self, line: Line, confirmed: set[int]) -> None:
        """Confirms the factors that a line puts back."""
        stack = self._factors_of(line)
        while stack:
            j = stack.pop()
            if j not in confirmed:
                confirmed.add(j)
                stack.extend(self._factors_of(self.sheet.lines[j]))

    def _is_blamed(self, helper: Line) -> bool:
        """Whether a line that uses a helper is off by the helper's factor, and nothing puts it right."""
        factor = self.states[helper.index].factor
        users = [n for n in self.sheet.lines if helper.index in n.references]
        off = [n for n in users if abs(self.states[n.index].factor / factor - 1) < 1e-9]
        return bool(off) and all(self.states[n.index].factor != 1 for n in users)

    def _drop_names(self) -> bool:
        """Gives up the readings of a line as another node's gradient that no later right line bears out."""
        used: set[int] = set()
        for line in reversed(self.sheet.lines):
            state = self.states[line.index]
            passes_on = state.verdict is Verdict.HELPER and line.index in used
            if state.exact or state.verdict is Verdict.SCALED or passes_on:
                used.update(line.references)
        given_up = [
            line.index
            for line, state in zip(self.sheet.lines, self.states, strict=True)
            if state.verdict is Verdict.HELPER and line.about_gradient and state.meaning and line.index not in used
        ]
        self.supposed.plain.update(given_up)
        return bool(given_up)

    def _suppose_factors(self) -> None:
        """Finds out whether a wrong line should have had a constant factor, which later lines put back.

        It should, if that puts more of the lines right than it puts wrong.
        """
        for index in range(len(self.sheet.lines)):
            faulty = self.states[index].verdict in (Verdict.WRONG, Verdict.INVALID)
            if not faulty or not self.sheet.lines[index].about_gradient:
                continue
            for factor in self._factors_wanted(index):
                before = self.states, self.supposed
                wrong = sum(state.verdict is Verdict.WRONG for state in self.states)
                self.supposed = self.supposed.with_factor(index, factor)
                self._settle()
                if sum(state.verdict is Verdict.WRONG for state in self.states) < wrong:
                    break
                self.states, self.supposed = before

    def _factors_wanted(self, index: int) -> list[float]:
        """The factors of a wrong line with which a wrong line that uses it, or one that keeps its factor, is right."""
        reached = {index}
        wanted: list[float] = []
        for line in self.sheet.lines[index + 1 :]:
            if not reached.intersection(line.references) or line.expression is None:
                continue
            reached.add(line.index)
            if self.states[line.index].verdict is Verdict.WRONG and line.about_gradient and not line.numeric:
                factor = common_multiple(self._given_values(line)[1:], self.truths[line.index][1:])
                if factor is not None:
                    wanted.append(self.states[index].factor / factor)
        return list(dict.fromkeys(round(f, 9) for f in wanted))[:3]

    # What helpers should have been ------------------------------------------------------------------

    def _find_meanings(self) -> bool:
        """Of the helpers that a wrong line uses, finds those that put it right by being a gradient instead."""
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            if state.verdict is not Verdict.WRONG or line.expression is None or line.numeric or not line.about_gradient:
                continue
            if self._part_at_fault(line):
                return True
            unknown = [
                self.sheet.lines[j]
                for j in sorted(self._helpers_of(line))
                if self.states[j].meaning is None and self.sheet.lines[j].kind is Kind.HELPER
            ]
            unknown = [h for h in unknown if h.expression is not None and h.expression.dtype in FLOATS]
            if self._helper_at_fault(line, unknown):
                return True
        return False

    def _helper_at_fault(self, line: Line, helpers: list[Line]) -> bool:
        nodes = self._candidates()
        for helper in helpers:
            own = helper.expression.shape if helper.expression is not None else ()
            for node in sorted(nodes, key=lambda n: n.shape != own):
                factor = self._puts_right(line, {helper.index: node})
                if factor is not None:
                    self.supposed.meant[helper.index] = (node, factor)
                    return True
        return len(helpers) == 2 and self._two_at_fault(line, *helpers)

    def _two_at_fault(self, line: Line, first: Line, second: Line) -> bool:
        """The same for two helpers at once, each of which enters the line by itself, as the terms of a sum do."""
        target = self.truths[line.index][1] if len(self.points.all) > 1 else None
        nodes = [
            [n for n in self._candidates() if h.expression is not None and n.shape == h.expression.shape]
            for h in (first, second)
        ]
        if target is None or len(nodes[0]) * len(nodes[1]) * np.size(target) > MOST_PAIRED:
            return False
        point = self.points.all[1]
        none = [0.0 * point.gradient(each[0]) if each else 0.0 for each in nodes]

        def value(a: Any, b: Any) -> Any:
            changed = {first.index: [None, a], second.index: [None, b]}
            given = {j: self._changed(j, 1, changed) for j in line.references}
            assert line.expression is not None
            found = self.points.value(line.expression, point, given)
            return numbers(found) if found is not None else np.full(np.shape(target), np.nan)

        left = [value(point.gradient(n), none[1]) for n in nodes[0]]
        right = [value(none[0], point.gradient(n)) for n in nodes[1]]
        missing = numbers(target) + value(*none)
        if any(v.shape != missing.shape for v in (*left, *right)):
            return False
        for a, v in zip(nodes[0], left, strict=True):
            for b, w in zip(nodes[1], right, strict=True):
                if same(v + w, missing) and self._puts_right(line, {first.index: a, second.index: b}) == 1:
                    self.supposed.meant.update({first.index: (a, 1.0), second.index: (b, 1.0)})
                    return True
        return False

    def _puts_right(self, line: Line, meant: Mapping[int, Node]) -> float | None:
        """The factor c for which a line is right if helpers are c times these nodes' gradients; None if it is not."""
        truths = self.truths[line.index]
        if len(truths) < 2 or not np.any(truths[1]):
            return None
        changed = {j: [p.gradient(node) for p in self.points.all] for j, node in meant.items()}
        assert line.expression is not None
        point = self.points.all[1]
        given = {j: self._changed(j, 1, changed) for j in line.references}
        value = self.points.value(line.expression, point, given)  # one point tells most
        if value is None or common_multiple([value], [truths[1]]) is None:
            return None
        factor = common_multiple(self._given_values(line, changed)[1:], truths[1:])
        return None if factor is None else 1.0 if abs(factor - 1) < 1e-9 else 1 / factor

    def _part_at_fault(self, line: Line) -> bool:
        """Finds the part of a sum that is wrong: one which, as some of the contributions, puts the whole right."""
        if line.node is None or line.of is None:
            return False
        steps, truths = self.steps(line.of), self.truths[line.index]
        sent = [steps.parts(line.node, point) for point in self.points.all]
        choices: list[list[Any]] = [
            [sum(p[at] for at in chosen) for p in sent] for chosen in steps.partial_sums(line.node)
        ]
        for part in self._parts_of(line):
            for choice in (*choices, truths):
                factor = common_multiple(self._given_values(line, {part: choice})[1:], truths[1:])
                if factor is not None and (abs(factor - 1) < 1e-9 or choice is truths):
                    self.supposed.parts[part] = self._times(choice, 1 / factor)
                    return True
        return False

    def _parts_of(self, line: Line) -> list[int]:
        """The lines that a sum goes on with, the first one first; none if one of them is known to be wrong."""
        parts: list[int] = []
        part = line.continues
        while part is not None and part not in parts:
            parts.insert(0, part)
            part = self.sheet.lines[part].continues
        return [] if self.supposed.parts.keys() & set(parts) else parts

    # Right here, and what follows ----------------------------------------------------------------------

    def _right_here(self, line: Line) -> State:
        """A line that is right at the file's inputs and not at generic points."""
        truths = self.truths[line.index]
        found = coincidence.reason(self, line)
        verdict = Verdict.RIGHT if found.right else Verdict.RIGHT_HERE_ONLY
        return State(verdict, truths, notes=[found.note])

    def _follows_from_values(self, line: Line) -> int | None:
        """The wrong line from which a line follows whose value the sweep gives with the student's numbers put in.

        These are the numbers of the lines it uses, or of all earlier ones.
        """
        if line.node is None or line.of is None or not line.about_gradient or line.target.key:
            return None
        wrong = [
            j
            for j in range(line.index)
            if self.states[j].verdict in (Verdict.WRONG, Verdict.FOLLOWS) and self.sheet.lines[j].of is line.of
        ]
        if not wrong:
            return None
        own = self.own[line.index]
        ks = [k for k in range(len(own)) if own[k] is not None]
        for lines in (line.references, range(line.index)):
            if ks and all(self.same(line, k, own[k], self._swept(line, k, lines), {}) for k in ks):
                if not np.any(own[0]) and np.any(self.truths[line.index][0]):
                    return None
                return min(j for j in wrong if self.states[j].verdict is Verdict.WRONG) if wrong else None
        return None

    def _swept(self, line: Line, k: int, lines: Iterable[int]) -> Any:
        """The gradient of a line's node with the student's own gradients put in."""
        assert line.node is not None
        assert line.of is not None
        return self.steps(line.of).gradient(line.node, self.points.all[k], self.put_in(line, k, lines))

    def put_in(self, line: Line, k: int, lines: Iterable[int]) -> dict[int, Any]:
        """The student's own gradients at point k, by the number of the node, of those of `lines` that have one."""
        put: dict[int, Any] = {}
        for j in lines:
            other = self.sheet.lines[j]
            value = self.own[j][k]
            about = other.node
            if other.of is not line.of or about is None or value is None or other.target.key or other.continued:
                continue
            if np.shape(value) == about.shape:
                put[about.number] = numbers(value) if about.shape else float(value)
        return put

    # Marks -------------------------------------------------------------------------------------

    def _mark(self, line: Line, state: State) -> Mark:
        mark = Mark(line, state.verdict, notes=list(state.notes), cause=state.cause, factor=state.factor)
        mark.digits = state.digits
        if line.kind is Kind.ORDER:
            mark.given, mark.expected, mark.would_give = state.given, state.expected, state.would_give
            mark.kind, mark.span = state.kind, state.span
            return mark
        mark.given = self.own[line.index][0]
        mark.expected = state.intended[0] if state.verdict is Verdict.WRONG else self.truths[line.index][0]
        if line.kind is Kind.HELPER and state.meaning is not None:
            mark.expected = state.intended[0]
            mark.notes.insert(0, self._meaning_note(state))
        if state.verdict is Verdict.SCALED:
            mark.notes.insert(0, f"{_factor_text(state.factor)} times {line.target.name}; a later line puts it back")
        mark.formula = self._expected_formula(line, state)
        if state.verdict is Verdict.WRONG and mark.given is not None and mark.expected is not None:
            given, expected = np.shape(mark.given), np.shape(mark.expected)
            if given != expected and not any(note.startswith("its shape") for note in mark.notes):
                mark.notes.append(f"its shape is {given}, and it should be {expected}")
        return mark

    def _meaning_note(self, state: State) -> str:
        assert state.meaning is not None
        node, factor = state.meaning
        name = self._said(node)
        times = name if factor == 1 else f"{_factor_text(factor)} times {name}"
        return f"as it is used it should be {times}" if state.verdict is Verdict.WRONG else f"this is {times}"

    def _expected_formula(self, line: Line, state: State) -> str:
        node, of = line.node, line.of
        if line.kind is Kind.HELPER and state.meaning is not None:
            node, of = state.meaning[0], self.sheet.output
        if node is None or of is None or line.target.key or (of.shape and of is not self.sheet.output):
            return ""
        return self.steps(of).formula(node, self._named_before(line, of, node), self.sheet.name_of)

    def _named_before(self, line: Line, of: Node, node: Node) -> dict[int, Line]:
        """The earlier lines that stand for gradients of other nodes, by node number; helpers among them."""
        named: dict[int, Line] = {}
        for other, state in zip(self.sheet.lines[: line.index], self.states, strict=False):
            about = other.node if other.of is of and not other.target.key else None
            if state.verdict is Verdict.HELPER:
                about = state.meaning[0] if state.meaning is not None and state.meaning[1] == 1 else None
                about = about if of is self.sheet.output else None
            if about is not None and about is not node and other.leaf is not None and not other.continued:
                named[about.number] = other
        return named

    def _name_slip(self, marks: list[Mark]) -> None:
        """Names the slips of wrong lines; one that lies in a helper points there."""
        for mark in marks:
            if mark.verdict is not Verdict.WRONG or mark.line.kind is Kind.ORDER:
                continue
            naming = self._naming(mark)
            if naming is None:
                continue
            if naming.line is not None and naming.line != mark.line.index:
                helper = marks[naming.line]
                if helper.verdict is Verdict.HELPER or helper.naming is not None:
                    self._blame(helper, naming)
                    for other in marks:
                        if other is mark or other.cause == mark.line.index:
                            other.verdict, other.cause = Verdict.FOLLOWS, naming.line
                    continue
            mark.naming = naming

    def _blame(self, helper: Mark, naming: Naming) -> None:
        """Marks a helper as the line in which the slip is."""
        if helper.naming is None:
            helper.verdict, helper.naming = Verdict.WRONG, naming

    def _naming(self, mark: Mark) -> Naming | None:
        return name_slip(self, mark.line)


def name_slip(marking: Marking, line: Line) -> Naming | None:
    """The slip of a wrong line; None if no single known slip explains it."""
    if marking.namer is None:
        marking.namer = Namer(marking.sheet, marking.points)
    return marking.namer.name(line, [state.intended for state in marking.states], marking.own)


def _tells(truth: Any, point: Point) -> bool:
    """Whether a truth is not zero but for rounding: of a zero every multiple is right."""
    return truth is not None and float(np.max(np.abs(numbers(truth)), initial=0.0)) > 1e-10 * point.scale


def _factor_text(factor: float) -> str:
    """A factor as a person writes it: `3`, `1/3`, `-1`."""
    if abs(factor - round(factor)) < 1e-9 * max(1, abs(factor)):
        return str(round(factor))
    if abs(1 / factor - round(1 / factor)) < 1e-9 * max(1, abs(1 / factor)):
        return f"{'-' if factor < 0 else ''}1/{abs(round(1 / factor))}"
    return f"{factor:.6g}"


def mark_sheet(sheet: Sheet) -> Marked:
    """Marks every line of a sheet."""
    return Marking(sheet).run()

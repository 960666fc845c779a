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

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph import Node, local_formula
from gradcli.homework import coincidence, orders, restored, rounding
from gradcli.homework.compare import common_multiple, finite, numbers
from gradcli.homework.mark import Mark, Marked, Meaning, Naming, State, Verdict
from gradcli.homework.naming import Namer
from gradcli.homework.points import Point
from gradcli.homework.sheet import Kind, Line, Sheet, gradient_name
from gradcli.homework.supposing import Supposing
from gradcli.problems import slips

_SOUNDS = re.compile(r"d[A-Z_]|d\w{1,3}$|grad", re.ASCII)
"""How the names of gradients begin."""


class Marking(Supposing):
    """The marking of one sheet."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__(sheet)
        self._gradients: dict[tuple[int, ...], tuple[list[Node], Any]] = {}
        self.namer: Namer | None = None

    def run(self) -> Marked:
        """Marks every line."""
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
        notes += [f"`{name}` is not marked: nothing says which gradient it is" for name in self._unmarked(marks)]
        return Marked(self.sheet, marks, notes)

    def _unmarked(self, marks: Sequence[Mark]) -> list[str]:
        """Names that sound like gradients, are those of no node, and are used nowhere."""
        used = {j for line in self.sheet.lines for j in line.references}
        ends: dict[str, bool] = {}
        for mark, state in zip(marks, self.states, strict=True):
            line = mark.line
            if mark.verdict is Verdict.HELPER and line.kind is Kind.HELPER and not line.scope:
                meant = state.meaning is not None and state.meaning[1] == 1
                known = meant or not _SOUNDS.match(line.target.name)
                ends[line.target.name] = not known and line.index not in used
        return [name for name, open_end in ends.items() if open_end]

    def _state(self, line: Line) -> State:
        truths = self.truths[line.index]
        if line.problems:
            factor = self.supposed.factors.get(line.index) or self._factor_to_keep(line)
            return State(Verdict.INVALID, self._times(truths, factor), factor=factor)
        if line.kind is Kind.ORDER:
            return orders.state(self.sheet, line)
        if line.again and self._is_zero(line):
            return State(Verdict.HELPER, self.own[line.index], notes=["where the sum starts"])
        if line.index in self.supposed.overwriting:
            return State(Verdict.WRONG, self.supposed.overwriting[line.index])
        if line.index in self.supposed.partial and line.written is None:
            return self._part(line, self._given_values(line))
        if line.index in self.supposed.parts:
            return State(Verdict.WRONG, self.supposed.parts[line.index])
        if line.kind is Kind.HELPER:
            state = self._helper(line)
            if not line.stray or state.meaning is not None:
                return state
            line.problems = line.stray
            return State(Verdict.INVALID, truths)
        if any(t is None or not finite(t) for t in truths[:1]):
            why = "it is not finite at these inputs" if truths[0] is not None else "it is too large to be worked out"
            return State(Verdict.UNRESOLVED, truths, notes=[f"the right value cannot be compared: {why}"])
        if line.written is not None:
            return self._numbers(line)
        values = self._given_values(line)
        if line.continued and line.about_gradient:
            return self._step(line, values) if line.index in self.supposed.sums else self._part(line, values)
        state = self._formula(line, values)
        if line.local and state.verdict not in (Verdict.RIGHT, Verdict.SCALED, Verdict.FOLLOWS):
            return self._helper(line)  # what one call sends to W need not be all of its gradient
        return state

    def _is_zero(self, line: Line) -> bool:
        """Whether a line is zero throughout, as a sum is before its first term."""
        return all(value is not None and not np.any(value) for value in self.own[line.index][:1]) and (
            line.written is not None or all(v is not None and not np.any(v) for v in self.own[line.index])
        )

    def _helper(self, line: Line) -> State:
        assert line.expression is not None
        if line.index in self.supposed.meant:
            node, factor = self.supposed.meant[line.index]
            intended = [factor * point.gradient(node) for point in self.points.all]
            return State(Verdict.WRONG, intended, meaning=(node, factor))
        values = self._given_values(line)
        if line.written is not None and not line.written.exact:
            return self._numeric_helper(line, values)
        meaning = self._meaning(line, values) if self.may_be_gradient(line, values) else None
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

    def _meaning(self, line: Line, values: list[Any]) -> Meaning | None:
        """The node whose gradient, times a constant, these values are; exactly its gradient if there is such a node."""
        if any(v is None for v in values) or line.expression is None or line.expression.dtype == "bool":
            return None
        best: Meaning | None = None
        if len(values) < 2:
            return None
        for node in self._multiples(values[1:]):
            truths = [p.gradient(node) for p in self.points.all]
            factor = common_multiple(values[1:], truths[1:])
            if factor is None:
                continue
            if abs(factor - 1) < 1e-9:
                return node, 1.0
            best = best or (node, factor)
        return best

    def _multiples(self, values: Sequence[Any]) -> list[Node]:
        """The nodes of whose gradients values are nearly a multiple, one at every generic point."""
        shape = np.shape(values[0])
        if shape not in self._gradients:
            nodes = [node for node in self._candidates() if node.shape == shape]
            rows = np.zeros((len(nodes), len(values) * np.size(values[0])))
            for row, node in zip(rows, nodes, strict=True):
                row[:] = np.ravel([numbers(point.gradient(node)) for point in self.points.all[1:]])
            self._gradients[shape] = nodes, rows
        nodes, rows = self._gradients[shape]
        if any(v is None or np.shape(v) != shape for v in values):
            return []
        flat = np.ravel([numbers(v) for v in values])
        if not nodes or not np.all(np.isfinite(flat)):
            return []
        with np.errstate(all="ignore"):
            factors = (rows @ flat) / np.sum(rows * rows, axis=1)
            apart = np.max(np.abs(factors[:, None] * rows - flat), axis=1, initial=0.0)
            near = apart <= 1e-6 * np.abs(factors) * np.max(np.abs(rows), axis=1, initial=0.0)
        return [node for node, close in zip(nodes, near, strict=True) if close]

    def _part(self, line: Line, values: list[Any]) -> State:
        """A part of a sum that a later line goes on with."""
        return State(Verdict.HELPER, values, notes=[f"a part of {line.target.name}"])

    def _step(self, line: Line, values: list[Any]) -> State:
        """A part of a sum that is wrong, of which it is known what it should have reached."""
        truths = self.truths[line.index]
        count = len(truths)
        given = [self._intended(line, k) for k in range(count)]
        if all(self.same(line, k, values[k], truths[k], given[k]) for k in range(count)):
            state = self._right(line, values)
            return self._part(line, truths) if state.verdict is Verdict.RIGHT else state
        return State(Verdict.WRONG, truths)

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
        if not holds[0] and count > 1 and all(holds[1:]) and coincidence.allowed_at_kink(self, line, values[0]):
            return State(Verdict.RIGHT, truths, notes=["at a kink another slope is chosen than here; both are allowed"])
        if holds[0]:
            return self._right_here(line)
        if count > 1 and all(holds[1:]) and values[0] is not None and not finite(values[0]):
            note = "it is not finite at these inputs, where the gradient is; elsewhere it is right"
            return State(Verdict.UNRESOLVED, truths, notes=[note])
        follows = self._follows_from_values(line)
        if follows is not None:
            return State(Verdict.FOLLOWS, truths, cause=follows)
        if (meant := restored.numbers(self, line)) is not None:
            wrong = self._wrong_before(line)
            verdict = Verdict.RIGHT if wrong is None else Verdict.FOLLOWS
            return State(verdict, truths, cause=wrong, notes=[f"with its numbers rounded: {', '.join(meant)}"])
        factor = self.supposed.factors.get(line.index) or self._factor_to_keep(line)
        return State(Verdict.WRONG, self._times(truths, factor), factor=factor)

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

    def _other_reading(self, line: Line, values: list[Any]) -> State | None:
        """A constant multiple of the gradient, or the gradient of another node."""
        truths = self.truths[line.index]
        if len(truths) > 1 and line.index not in self.supposed.dropped:
            factor = common_multiple(values[1:], truths[1:])
            if factor is not None and abs(factor - 1) > 1e-9:
                return State(Verdict.SCALED, self._times(truths, factor), factor=factor)
        if line.kind is Kind.GRADIENT and (namesake := self._of_a_namesake(line, values)) is not None:
            return namesake
        if line.index not in self.supposed.plain and line.kind is Kind.GRADIENT:
            meaning = self._meaning(line, values)
            other = meaning is not None and meaning[1] == 1 and meaning[0] is not line.node
            if meaning is not None and other and np.shape(values[0]) == np.shape(truths[0]):
                note = f"a name for {self._said(meaning[0])}, as which it is used"
                return State(Verdict.HELPER, values, 1.0, meaning, notes=[note])
        return None

    def _of_a_namesake(self, line: Line, values: list[Any]) -> State | None:
        """The gradient of another node of the same name, in a line of a loop, which may go either way over them."""
        if not line.where or line.node is None or len(values) < 2 or any(v is None for v in values):
            return None
        name = line.node.name.partition("'")[0]
        for node in self._multiples(values[1:]):
            if node.name.partition("'")[0] != name:
                continue
            factor = common_multiple(values[1:], [p.gradient(node) for p in self.points.all[1:]])
            if factor is not None and abs(factor - 1) < 1e-9:
                return State(Verdict.RIGHT, values, exact=True)
            if factor is not None and line.index not in self.supposed.dropped:
                return State(Verdict.SCALED, values, factor=factor)
        return None

    def _said(self, node: Node) -> str:
        """A node's gradient in words."""
        if self.sheet.name_of(node):
            return gradient_name(self.sheet.output, node)
        return f"the gradient of `{local_formula(node, lambda n: n.name)}`"

    def _factor_to_keep(self, line: Line) -> float:
        """The factor that a wrong line should have kept: that of the lines it uses, unless it is an end result."""
        end = line.node is None or not line.node.operands
        return 1.0 if end or line.index in self.supposed.dropped else self._kept_factor(line)

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
                return min((c for j in wrong if (c := self.cause(j)) is not None), default=None)
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
            if state.factor != 1:
                continue  # it is a multiple of the gradient that the formula needs
            if about is not None and about is not node and other.leaf is not None and not other.continued:
                named[about.number] = other
        return named

    def _name_slip(self, marks: list[Mark]) -> None:
        """Names the slips of wrong lines; one that lies in a helper points there."""
        named: set[tuple[object, ...]] = set()
        for mark in marks:
            statement = mark.line.statement
            if mark.verdict is not Verdict.WRONG or mark.line.kind is Kind.ORDER or statement in named:
                continue
            named.add(statement)
            naming = self._naming(mark)
            if naming is None:
                continue
            if naming.line is not None and naming.line == mark.line.continues:
                naming = Naming(
                    naming.slip, naming.sentence, ""
                )  # what it was before it was changed is as it should be
            elif naming.line is not None and naming.line != mark.line.index:
                helper = marks[naming.line]
                if helper.verdict is Verdict.HELPER or helper.naming is not None:
                    self._blame(helper, naming)
                    for other in marks:
                        if other is mark or other.cause == mark.line.index:
                            other.verdict, other.cause = Verdict.FOLLOWS, naming.line
                    continue
            mark.naming = naming

    def _last_change(self, index: int, line: Line) -> int:
        """The last line up to a line that changes what a helper (by index) has begun; the helper if none does."""
        for each in self.sheet.lines[index + 1 : line.index + 1]:
            if each.continues == index and each.kind is Kind.HELPER:
                index = each.index
        return index

    def _blame(self, helper: Mark, naming: Naming) -> None:
        """Marks a helper as the line in which the slip is."""
        if helper.naming is None:
            helper.verdict, helper.naming = Verdict.WRONG, naming

    def _naming(self, mark: Mark) -> Naming | None:
        line = mark.line
        if line.index in self.supposed.overwriting:
            before = line.continues if line.continues is not None else line.overwrites
            found = self.sheet.lines[before].said if before is not None else "an earlier line"
            slip = slips.MISSING_PATH
            edit = f"`=` overwrites what {found} has found; with `+=` the two add up"
            return Naming(slip.name, slip.sentence, edit, line.span)
        return name_slip(self, line)


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

"""Suppositions about what a student meant, and what becomes of them.

A constant factor may be a convention, a name may stand for another node's gradient, a helper for one that it is not.
All of it is supposed at first, and given up where no later line bears it out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework import sums
from gradcli.homework.compare import common_multiple, finite, multiple, numbers, same
from gradcli.homework.knowledge import Knowledge
from gradcli.homework.mark import Meaning, State, Verdict
from gradcli.homework.sheet import Line, Sheet

_GRADIENT_LIKE = re.compile(r"d|grad|g_|the result|err")
"""How names of gradients begin."""

MOST_TRIED = 250_000
"""So many operations are evaluated on a sheet to find out what its helpers are meant to be."""

MOST_OTHERS = 60
"""A helper may be meant as the gradient of so many nodes of other shapes than its own."""

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
    sums: dict[int, list[Any]] = field(default_factory=dict)
    """Steps of a sum that is wrong, with what they should have reached at every point."""
    overwriting: dict[int, list[Any]] = field(default_factory=dict)
    """Lines that overwrite what they should have added to, with what they should have reached."""
    partial: set[int] = field(default_factory=set)
    """Lines that are a part of a sum which a later line fails to go on with."""
    factors: dict[int, float] = field(default_factory=dict)
    """Wrong lines that should have had a constant factor, because later lines put it back."""

    def with_factor(self, index: int, factor: float) -> Suppositions:
        """The same with a factor for a wrong line; what was dropped because of it is supposed again."""
        dropped = {j for j in self.dropped if j <= index}
        return Suppositions(
            dropped,
            set(self.plain),
            dict(self.meant),
            dict(self.parts),
            dict(self.sums),
            dict(self.overwriting),
            set(self.partial),
            {**self.factors, index: factor},
        )


class Supposing(Knowledge, ABC):
    """Rounds of marking, each with fewer suppositions than the one before, or with others."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__(sheet)
        self.supposed = Suppositions()
        self._tried = 0

    @abstractmethod
    def _state(self, line: Line) -> State:
        """What is to be said of a line in this round."""

    def _settle(self) -> None:
        """Marks, drops suppositions that no line has confirmed, and marks again, until nothing changes."""
        for _ in range(2 * len(self.sheet.lines) + 8):
            self.states = []
            for line in self.sheet.lines:
                self.states.append(self._state(line))
            if not (self._drop_factors() or self._drop_names() or self._find_meanings()):
                break

    def _drop_factors(self) -> bool:
        """Gives up the constant factors that no later line puts back; whether there were any."""
        confirmed: set[int] = set()
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            meant = state.meaning if state.verdict is Verdict.HELPER else None
            named = meant is not None and meant[1] == 1 and self.sheet.name_of(meant[0])
            if (state.exact and line.about_gradient) or named:
                for part in sums.chain_of(self, line):
                    self._confirm(part, confirmed)
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
            passed_on = line.local and not self._is_claimed(line)
            inner = line.node is not None and (line.node.operands or passed_on) and kept
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

    def _is_claimed(self, line: Line) -> bool:
        """Whether a line outside of the call takes over what a line in it has found, factor and all."""
        factor = self.states[line.index].factor
        users = (each for each in self.sheet.lines if line.index in each.references and each.about_gradient)
        return any(not each.local and abs(self.states[each.index].factor / factor - 1) < 1e-9 for each in users)

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

    def _find_meanings(self) -> bool:
        """Of the helpers that a wrong line uses, finds those that put it right by being a gradient instead."""
        for line, state in zip(reversed(self.sheet.lines), reversed(self.states), strict=True):
            if state.verdict is Verdict.WRONG and line.overwrites is not None and self._overwrites(line):
                return True
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            if state.verdict is not Verdict.WRONG or line.expression is None or line.numeric or not line.about_gradient:
                continue
            if line.index in self.supposed.overwriting:
                continue
            taken = self._taken_over(line)
            if taken is not line and (self._overwrites(taken) or self._sum_at_fault(taken)):
                return True
            if self._sum_at_fault(line) or (line.index not in self.supposed.sums and self._part_at_fault(line)):
                return True
            if self._helper_at_fault(line):
                return True
        return False

    def _taken_over(self, line: Line) -> Line:
        """The line of a call whose result a line takes over as it is; else the line itself."""
        while line.expression is not None and line.expression.number in self.sheet.lines_of:
            inner = self.sheet.lines[self.sheet.lines_of[line.expression.number]]
            if inner.node is not line.node or not inner.about_gradient:
                break
            line = inner
            if line.overwrites is not None or line.continues is not None:
                break
        return line

    def _helper_at_fault(self, line: Line) -> bool:
        """Finds a helper of a wrong line that puts it right by being a gradient, or one that this is made from."""
        helpers = [self.sheet.lines[j] for j in sorted(self._helpers_of(line)) if not self._borne_out(j)]
        unknown = [h for h in helpers if self._is_unknown(h)]
        for helper in unknown:
            meaning = self.states[helper.index].meaning
            for node in self._nodes_like(helper):
                factor = self._puts_right(line, {helper.index: node})
                if factor is not None and (meaning is None or meaning[0] is not node or meaning[1] != factor):
                    self._blame_helper(helper, node, factor)
                    return True
        if len(unknown) == 2 and self._two_at_fault(line, *unknown):
            return True
        for helper in helpers:  # one that is a gradient, but not the one that several lines need
            others = self._wrong_users(helper, line) if self.states[helper.index].meaning is not None else []
            for node in self._nodes_like(helper) if others else ():
                if all(self._puts_right(each, {helper.index: node}) == 1 for each in (line, *others)):
                    self._blame_helper(helper, node, 1.0)
                    return True
        return False

    def _borne_out(self, helper: int) -> bool:
        """Whether a line that is right, or a helper that is a gradient, uses a helper, itself or in a part of a sum."""
        for line, state in zip(self.sheet.lines, self.states, strict=True):
            meant = state.verdict is Verdict.HELPER and state.meaning is not None and state.meaning[1] == 1
            if not state.exact and not meant:
                continue
            chain = [each for each in sums.chain_of(self, line) if self.states[each.index].verdict is not Verdict.WRONG]
            if any(helper in each.references and each.continues != helper for each in chain):
                return True
        return False

    def _is_unknown(self, helper: Line) -> bool:
        """Whether a helper may be meant as a gradient, and is none, or a multiple of one."""
        meaning = self.states[helper.index].meaning
        return (meaning is None or meaning[1] != 1) and self.may_be_gradient(helper, self.states[helper.index].intended)

    def may_be_gradient(self, helper: Line, values: Sequence[Any]) -> bool:
        """Whether a helper may be meant as a gradient: by its name, or because no name of the file has its numbers."""
        if helper.expression is None or helper.expression.dtype not in FLOATS:
            return False
        if _GRADIENT_LIKE.match(helper.target.name):
            return True
        if len(self.points.all) < 2 or values[1] is None:
            return True
        flat = np.ravel(numbers(values[1]))
        nodes = zip(self.sheet.forward, self.points.all[1].values, strict=True)
        forward = (v for n, v in nodes if n.dtype in FLOATS and self.sheet.name_of(n))
        return not any(np.size(v) == flat.size and same(flat, np.ravel(v)) for v in forward)

    def _nodes_like(self, helper: Line) -> list[Node]:
        """The nodes whose gradient a helper may be: those of its shape, and then those with a name."""
        shape = helper.expression.shape if helper.expression is not None else ()
        nodes = self._candidates()
        others = [n for n in nodes if n.shape != shape]
        return [*(n for n in nodes if n.shape == shape), *others[:MOST_OTHERS]]

    def _wrong_users(self, helper: Line, line: Line) -> list[Line]:
        """Other wrong lines that use a helper themselves."""
        return [
            each
            for each, state in zip(self.sheet.lines, self.states, strict=True)
            if each is not line and helper.index in each.references and state.verdict is Verdict.WRONG
        ]

    def _blame_helper(self, helper: Line, node: Node, factor: float) -> None:
        """Supposes that a helper is meant as a gradient, or that one which it is made from is at fault."""
        wanted = [factor * point.gradient(node) for point in self.points.all]
        deeper = self._made_from(helper, node, wanted) if factor == 1 else None
        if deeper is None:
            self.supposed.meant[helper.index] = (node, factor)
        else:
            self.supposed.parts[deeper[0]] = deeper[1]

    def _made_from(self, helper: Line, node: Node, wanted: list[Any]) -> tuple[int, list[Any]] | None:
        """The helper that puts another one right by being a part of its gradient, and what it should have been."""
        pieces = sums.contributions(self, node)
        if pieces is None:
            return None
        for j in helper.references:
            if self.states[j].verdict is not Verdict.HELPER or self._borne_out(j):
                continue
            part = self._what_is_left(helper, j, wanted)
            alone = part is not None and all(same(p, w) for p, w in zip(part, wanted, strict=True))
            if alone and helper.expression is not self.sheet.lines[j].leaf:
                continue  # it is changed here, not added to
            if part is not None and (found := sums.at_fault(self, self.sheet.lines[j], part, pieces)) is not None:
                return found
        return None

    def _what_is_left(self, line: Line, term: int, wanted: list[Any]) -> list[Any] | None:
        """What a term of a line should be for the line to be what is wanted; None if it is no term of a sum."""
        left = []
        for k, value in enumerate(wanted):
            own = self.states[term].intended[k]
            if own is None:
                return None
            rest = self._value_with(line, k, {term: np.zeros(np.shape(own))})
            other = self._value_with(line, k, {term: np.ones(np.shape(own))})
            shapes = {np.shape(rest), np.shape(other), np.shape(value)}
            if (
                rest is None
                or other is None
                or len(shapes) > 1
                or not same(numbers(other) - numbers(rest), np.ones(np.shape(rest)))
            ):
                return None
            left.append(numbers(value) - numbers(rest))
        return left

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
        if len(truths) < 2 or not np.any(truths[1]) or self._tried > MOST_TRIED:
            return None
        assert line.expression is not None
        found: list[float] = []
        for k in range(1, len(truths)):  # one point tells most
            point = self.points.all[k]
            gradients = {j: point.gradient(node) for j, node in meant.items()}
            value = self._value_with(line, k, gradients)
            rest = self._value_with(line, k, {j: 0.0 * g for j, g in gradients.items()}) if value is not None else None
            if value is None or rest is None or np.shape(value) != np.shape(truths[k]):
                return None
            if same(value, truths[k]):
                found.append(1.0)
                continue
            if not (finite(value) and finite(rest)):
                return None
            factor = multiple(numbers(truths[k]) - numbers(rest), numbers(value) - numbers(rest))
            if factor is None or (found and abs(factor - found[0]) > 1e-8 * abs(found[0])):
                return None
            found.append(factor)
        return 1.0 if abs(found[0] - 1) < 1e-9 else found[0]

    def _value_with(self, line: Line, k: int, changed: Mapping[int, Any]) -> Any:
        """A line's value at point k if helpers have these values."""
        values = {j: [value] * (k + 1) for j, value in changed.items()}
        given = {j: self._changed(j, k, values) for j in line.references}
        assert line.expression is not None
        self._tried += len(self.points.order(line.expression)) + 10 * len(line.references)
        return self.points.value(line.expression, self.points.all[k], given)

    def _sum_at_fault(self, line: Line) -> bool:
        """Finds out what the steps of a sum should have reached, so that each of them can be judged."""
        supposed = self.supposed
        if line.index in supposed.sums or line.index in supposed.overwriting:
            return False
        if self._overwrites(line):
            return True
        if (reached := self._right_before(line) or sums.reached(self, line)) is None:
            return False
        for index, values in reached.items():
            if index != line.index:
                self.truths[index] = values
        supposed.sums.update(reached)
        return True

    def _right_before(self, line: Line) -> dict[int, list[Any]] | None:
        """What the steps of a sum should have reached that was right before its last steps; None if it never was."""
        truths = self.truths[line.index]
        chain = sums.chain_of(self, line)
        for at in range(len(chain) - 2, -1, -1):
            each = chain[at]
            if each.expression is None or chain[at + 1].continues is None:
                break
            values = self._given_values(each)
            if np.any(truths[-1]) and all(same(v, t) for v, t in zip(values, truths, strict=True)):
                own = {part.index: self.states[part.index].intended for part in chain[:at]}
                return own | {part.index: truths for part in chain[at:]}
        return None

    def _overwrites(self, line: Line) -> bool:
        """Finds out whether a line is wrong because lines of its sum overwrite what they should have added to."""
        if line.index in self.supposed.overwriting or line.expression is None or not line.about_gradient:
            return False
        changed = sums.overwriting(self, line)
        if changed is None:
            return False
        self.supposed.overwriting.update(changed)
        self.supposed.partial.update(each.index for each in sums.chain_of(self, line)[:-1])
        return True

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

"""Suppositions about what a student meant, and what becomes of them.

A constant factor may be a convention, a name may stand for another node's gradient, a helper for one that it is not.
All of it is supposed at first, and given up where no later line bears it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework.compare import common_multiple, numbers, same
from gradcli.homework.knowledge import Knowledge
from gradcli.homework.mark import Meaning, State, Verdict
from gradcli.homework.sheet import Kind, Line, Sheet

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


class Supposing(Knowledge, ABC):
    """Rounds of marking, each with fewer suppositions than the one before, or with others."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__(sheet)
        self.supposed = Suppositions()

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

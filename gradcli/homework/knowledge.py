"""What is known of the lines of a sheet while it is marked: the truth, the student's values, and what was meant.

All of it is per line and per point, the file's own inputs first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework.compare import majorant, same
from gradcli.homework.mark import State, Verdict
from gradcli.homework.points import Point, Points
from gradcli.homework.sheet import Kind, Line, Sheet
from gradcli.homework.steps import Steps


class Knowledge:
    """What is known of the lines of one sheet; `states` are those of the round of marking that is going on."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.points = Points(sheet)
        self.truths: list[list[Any]] = [self._truth(line) for line in sheet.lines]
        self.states: list[State] = []
        self._steps: dict[int, Steps] = {}
        self.own: list[list[Any]] = []
        """Every line's value at every point, with the student's own values of the earlier lines."""
        for line in sheet.lines:
            self.own.append(self._own_values(line))

    def steps(self, of: Node) -> Steps:
        """The reverse sweep from a node."""
        found = self._steps.get(of.number)
        if found is None:
            found = self._steps[of.number] = Steps(self.sheet, of)
        return found

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

    def _own_values(self, line: Line) -> list[Any]:
        """The line's value at every point, with the student's own values of the earlier lines."""
        count = len(self.points.all)
        if line.expression is None or not line.fits:
            return [None] * count
        if line.written is not None and not line.written.exact and np.any(line.written.value):
            return [line.written.value, *[None] * (count - 1)]
        values = []
        for k, point in enumerate(self.points.all):
            values.append(self.points.value(line.expression, point, self._own_given(line, k)))
        return values

    def _own_given(self, line: Line, k: int) -> dict[int, Any]:
        return {j: self.own[j][k] for j in line.references}

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

    def cause(self, j: int) -> int | None:
        """The wrong line because of which line j is not right: itself, or the one that it follows from."""
        state = self.states[j]
        if state.verdict in (Verdict.WRONG, Verdict.INVALID):
            return j
        return state.cause if state.verdict is Verdict.FOLLOWS else None

    def _wrong_before(self, line: Line) -> int | None:
        """The first wrong line that a line uses, directly or through others."""
        return min((c for j in self._before(line) if (c := self.cause(j)) is not None), default=None)

    def _candidates(self) -> list[Node]:
        """The nodes that have a gradient: those with a name first, nearest to the output first."""
        nodes = [n for n in self.steps(self.sheet.output).order if n.dtype in FLOATS]
        return sorted(nodes, key=lambda n: not self.sheet.name_of(n))

    def _times(self, truths: Iterable[Any], factor: float) -> list[Any]:
        return [None if t is None else t if factor == 1 else factor * t for t in truths]

    def _factors_of(self, line: Line) -> list[int]:
        """The lines with a factor of their own that a line uses."""
        return [j for j in line.references if self.states[j].factor != 1]

    def _kept_factor(self, line: Line) -> float:
        """The factor that a line has from those it uses, if they agree."""
        factors = {self.states[j].factor for j in self._factors_of(line)}
        return factors.pop() if len(factors) == 1 else 1.0

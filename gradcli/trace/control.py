"""Control flow: conditions are decided at these inputs, loops are unrolled, and steps are counted."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.evaluate import evaluate_nodes
from gradcli.graph import INPUT, Node
from gradcli.language import Program
from gradcli.ops.create import Limits
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import Silent
from gradcli.trace.naming import Naming
from gradcli.trace.values import Input, Pick, Swept

NODES_A_STEP = 10
"""A program may make so many nodes for every step that it may take."""

LINES_A_STEP = 3
"""And it may read so many lines: a loop with a long body takes as long as many short ones."""

NOTES_A_LINE = 3
"""So many different notes are kept of one line; a loop may pass it a thousand times."""


class Break(Exception):
    """`break`."""


class Continue(Exception):
    """`continue`."""


class Return(Exception):
    """`return`, with what is returned."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Control(Naming):
    """Decides conditions and counts steps."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64") -> None:
        super().__init__(program, limits, dtype)
        self.steps = 0
        self.lines = 0
        self.values: list[Any] = []
        self._notes: dict[int, dict[str, None]] = {}
        self.because: list[str] = []
        """What the condition that is being read turned on."""

    called: set[int]
    """The objects whose forward part has been read."""

    def note(self, text: str) -> None:
        """Says something about the line that is being read."""
        notes = self._notes.setdefault(self.line, {})
        if text not in notes:
            notes[text] = None
            if len(notes) <= NOTES_A_LINE:
                self.result.notes.append(f"{self.program.source.told(self.line)}: {text}")

    def count_step(self, place: ast.AST) -> None:
        """Counts a pass of a loop or a call."""
        self.steps += 1
        if self.steps > self.limits.max_steps or len(self.graph.nodes) > NODES_A_STEP * self.limits.max_steps:
            raise GradError(meaning.too_many_steps(self.span(place), self.limits.max_steps))

    def count_line(self, place: ast.AST) -> None:
        """Counts a line of a loop's or a function's body."""
        self.lines += 1
        if self.lines > LINES_A_STEP * self.limits.max_steps:
            if self.lines > LINES_A_STEP * self.limits.max_steps + 1:
                raise Silent  # it has been told
            raise GradError(meaning.too_many_steps(self.span(place), self.limits.max_steps))

    def value_of(self, node: Node) -> Any:
        """The value of a node at these inputs; what was computed for one condition is kept for the next."""
        nodes = self.graph.nodes
        del self.values[len(nodes) :]
        evaluate_nodes(nodes[len(self.values) : node.number + 1], self.values, plain=False)
        return self.values[node.number]

    def numbers_of(self, node: Node) -> Any:
        """The value of a node at these inputs."""
        return self.value_of(node)

    def forget(self, nodes: int) -> None:
        """Takes back nodes, and their values."""
        super().forget(nodes)
        del self.values[nodes:]

    # Conditions ------------------------------------------------------------------------------

    def decide(self, place: ast.expr) -> bool:
        """Whether a condition holds at these inputs.  What is computed only for it leaves no trace in the graph."""
        before = len(self.graph.nodes), self.bindings, self.plain_mode, self.deciding
        self.plain_mode = self.deciding = True
        because, self.because = self.because, []
        try:
            holds = self.truth(self.value(place), place)
            turned_on = self.because
        finally:
            self.plain_mode, self.deciding = before[2:]
            self.because = because
        if turned_on:
            self.because = [*self.because, *turned_on]
        if self.bindings == before[1]:
            self.forget(before[0])
        return holds

    def branch(self, place: ast.expr) -> bool:
        """Decides a condition, and says so where it turned on a value that may vary."""
        self.because = []
        holds = self.decide(place)
        if not self.because and self._asks_an_input(place):
            self.because = [self._reason(place, holds)]
        if self.because:
            which = "this branch" if holds else "not this branch"
            self.note(f"{which}, because {' and '.join(dict.fromkeys(self.because))}")
        self.because = []
        return holds

    def decided(self, find: Callable[[], Any], place: ast.AST) -> bool:
        """Whether what a function finds holds at these inputs, told as that of a branch is."""
        before = len(self.graph.nodes), self.bindings
        because, self.because = self.because, []
        holds = self.truth(find(), place)
        if self.because:
            self.note(f"`{self.text(place)[:60]}`: decided at these inputs, where the condition is {holds}")
        self.because = because
        if self.bindings == before[1]:
            self.forget(before[0])
        return holds

    def _asks_an_input(self, place: ast.expr) -> bool:
        """Whether a condition that was decided with plain numbers has an input in it, which may be varied."""
        names = {part.id for part in ast.walk(place) if isinstance(part, ast.Name)}
        values = [self.look_up(name) for name in names]
        return any(type(v) is Node and v.op is INPUT and v.number in self.raw for v in values)

    def truth(self, value: Any, place: ast.AST) -> bool:
        """Whether a value counts as true at these inputs."""
        if isinstance(value, Input):
            value = value.value
        if type(value) is Pick:
            value = self.plain(value)
        if type(value) is Swept:
            raise GradError(self.no_number(value, place))
        if type(value) is Node:
            number = self.value_of(value)
            if np.size(number) != 1:
                found = f"{np.size(number)} values, of shape {value.shape}"
                way_out = "say which is meant: `any(...)`, `all(...)`, or one entry"
                raise GradError(meaning.wrong_argument(self.span(place), "a condition", "one value", found, way_out))
            holds = bool(np.all(number))
            self.because.append(self._reason(place, holds))
            return holds
        if isinstance(value, np.ndarray):
            return bool(value.all()) if value.size == 1 else value.size > 0
        return bool(value)

    def _reason(self, place: ast.AST, holds: bool) -> str:
        """`s = 0.3 > 0`; `s = -0.3 is not > 0`."""
        if not isinstance(place, ast.Compare) or len(place.ops) != 1:
            return f"`{self.text(place)}` is {holds}"
        left, right = place.left, place.comparators[0]
        shown = self._with_value(left)
        sign = self.text(place)[len(self.text(left)) : len(self.text(place)) - len(self.text(right))].strip()
        other = self._with_value(right)
        return f"{shown} {sign} {other}" if holds else f"{shown} is not {sign} {other}"

    def _with_value(self, place: ast.expr) -> str:
        """An expression as it is written, with its value if that is not already plain to see."""
        text = self.text(place)
        if isinstance(place, ast.Constant) or (
            isinstance(place, ast.UnaryOp) and isinstance(place.operand, ast.Constant)
        ):
            return text
        value = self.value(place)
        value = self.value_of(value) if type(value) is Node else self.plain(value)
        number = np.asarray(value)
        if number.size != 1 or number.dtype.kind not in "fiub":
            return text
        number = number.reshape(())[()]
        return f"{text} = {float(number):.4g}" if number.dtype.kind == "f" else f"{text} = {number}"

"""A formula as a list of steps, to be edited and computed again and again.

A step is a leaf or one operation on earlier steps.  An edit puts something else in the place of one step: what it puts
there is `Made` of operators, steps and leaves.  So one description of an edit computes (`Tape.rerun`) and is printed
(`Tape.written`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, Node
from gradcli.graph.dtypes import result_dtype
from gradcli.graph.node import constant
from gradcli.graph.op import Op, ShapeError

FAULTS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, AssertionError, ShapeError)
"""What computing an edit that makes no sense may raise."""


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """An operation on steps (by index), leaves, numbers, or others that are made."""

    op: Op
    operands: tuple[Any, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """Something that a function computes from the values of a point; `shown` says it in words."""

    compute: Callable[[Mapping[int, Any]], Any]
    shown: Node


@dataclass(slots=True, eq=False)
class Step:
    """A leaf (`node`), or an operation on earlier steps; a step without an operator hands on its only operand.

    `part` says which rule of the sweep it belongs to, if any.
    """

    op: Op | None
    operands: tuple[int, ...]
    settings: Mapping[str, Any]
    node: Node | None
    run: Callable[..., Any] | None = None
    part: Any = None
    origin: Node | None = None
    """The operation that it was written from."""
    line: int | None = None
    """The line of the sheet that it stands in, if that is another one than the line asked about."""
    stands_for: Node | None = None
    """The leaf by which the step is written in formulas of other parts: `dL/dz1` for the sum of its contributions."""


class Tape:
    """Steps, operands before their consumers; the last one is the result."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._above: dict[int, tuple[int, ...]] = {}
        self._users: list[list[int]] = []

    @property
    def root(self) -> int:
        """The step that is the result."""
        return len(self.steps) - 1

    def leaf(self, node: Node, part: Any = None) -> int:
        """Adds a leaf."""
        return self._add(Step(None, (), {}, node, None, part))

    def step(self, op: Op | None, operands: tuple[int, ...], settings: Mapping[str, Any], part: Any = None) -> int:
        """Adds an operation; without an operator, a step that hands on its operand."""
        run = (lambda x: x) if op is None else partial(op.forward, **settings) if settings else op.forward
        return self._add(Step(op, operands, settings, None, run, part))

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        self._users.append([])
        for operand in set(step.operands):
            self._users[operand].append(len(self.steps) - 1)
        return len(self.steps) - 1

    def write(self, root: Node, is_leaf: Callable[[Node], bool], part: Any = None, known: dict[int, int] | None = None,
              *, shared: bool = False) -> int:  # fmt: skip
        """Adds the steps of a formula.  A part that is used twice is written twice, unless `shared`.

        `known` gives the steps of leaves that are there already, by `id`.
        """
        known = {} if known is None else known
        done: list[int] = []
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            index = known.get(id(node))
            if index is not None:
                done.append(index)
            elif node.op is CONSTANT or not node.operands or is_leaf(node):
                done.append(self.leaf(node, part))
                if shared:
                    known[id(node)] = done[-1]
            elif ready:
                count = len(node.operands)
                operands = tuple(done[-count:])
                del done[-count:]
                done.append(self.step(node.op, operands, node.settings, part))
                self.steps[-1].origin = node
                if shared:
                    known[id(node)] = done[-1]
            else:
                stack.append((node, True))
                stack.extend((operand, False) for operand in reversed(node.operands))
        return done[0]

    def users(self, index: int) -> Sequence[int]:
        """The steps that a step is an operand of."""
        return self._users[index]

    def above(self, index: int) -> tuple[int, ...]:
        """The steps that depend on a step, in order."""
        found = self._above.get(index)
        if found is None:
            reached = {index}
            for later in range(index + 1, len(self.steps)):
                if not reached.isdisjoint(self.steps[later].operands):
                    reached.add(later)
            reached.discard(index)
            found = self._above[index] = tuple(sorted(reached))
        return found

    def values(self, at: Mapping[int, Any]) -> list[Any] | None:
        """The value of every step, given those of the leaves by `id`; None if they cannot be computed."""
        values: list[Any] = []
        try:
            for step in self.steps:
                if step.node is not None:
                    values.append(leaf_value(step.node, at))
                else:
                    assert step.run is not None
                    values.append(step.run(*[values[o] for o in step.operands]))
        except FAULTS:
            return None
        return values

    def made(self, made: Any, values: Sequence[Any], at: Mapping[int, Any]) -> Any:
        """The value of what an edit puts in a place; raises one of FAULTS."""
        kind = type(made)
        if kind is int:
            return values[made]
        if kind is Made:
            operands = [self.made(o, values, at) for o in made.operands]
            return made.op.forward(*operands, **made.settings)
        if kind is Node:
            return leaf_value(made, at)
        if kind is Computed:
            return made.compute(at)
        return made

    def rerun(self, values: Sequence[Any], changes: dict[int, Any]) -> Any:
        """The result with the values of some steps changed; None if it cannot be computed."""
        if len(changes) == 1:
            order: Iterable[int] = self.above(next(iter(changes)))
        else:
            order = sorted({later for index in changes for later in self.above(index)} - changes.keys())
        new = dict(changes)
        steps = self.steps
        try:
            for index in order:
                step = steps[index]
                new[index] = step.run(*[new[o] if o in new else values[o] for o in step.operands])  # type: ignore[misc]
        except FAULTS:
            return None
        return new.get(self.root, values[self.root])

    def shape(self, index: int, values: Sequence[Any]) -> tuple[int, ...]:
        """The shape of a step's value."""
        return np.shape(values[index])

    # Writing ---------------------------------------------------------------------------------------------------------

    def written(self, index: int, changes: Mapping[int, Any] | None = None, *, within: Any = None) -> Node:
        """A step as a node, with the changes of an edit made.

        With `within`, steps of other parts are written as what they stand for.
        """
        changes = changes or {}
        needed = self._below(index, changes)
        before: dict[int, Node] = {}
        after: dict[int, Node] = {}
        for each in needed:
            step = self.steps[each]
            if step.node is not None:
                before[each] = after[each] = step.node
            elif step.stands_for is not None and within is not None and step.part != within:
                before[each] = after[each] = step.stands_for
            elif step.op is None:
                before[each], after[each] = before[step.operands[0]], after[step.operands[0]]
            else:
                before[each] = _node(step.op, tuple(before[o] for o in step.operands), step.settings)
                after[each] = _node(step.op, tuple(after[o] for o in step.operands), step.settings)
            if each in changes:
                after[each] = _written(changes[each], before)
        return after[index]

    def _below(self, index: int, changes: Mapping[int, Any]) -> list[int]:
        """The steps that a step, or what an edit makes, depends on, in order."""
        found: set[int] = set()
        stack: list[Any] = [index, *changes.values()]
        while stack:
            top = stack.pop()
            if type(top) is Made:
                stack.extend(top.operands)
            elif type(top) is int and top not in found:
                found.add(top)
                stack.extend(self.steps[top].operands)
        return sorted(found)


def _written(made: Any, steps: Mapping[int, Node]) -> Node:
    """What an edit makes, as a node.  (An edit is a few operations deep, so this may recurse.)"""
    if type(made) is int:
        return steps[made]
    if type(made) is Made:
        return _node(made.op, tuple(_written(o, steps) for o in made.operands), made.settings)
    if type(made) is Node:
        return made
    if type(made) is Computed:
        return made.shown
    if isinstance(made, (int, float)):
        return constant(int(made) if float(made).is_integer() else made)
    return constant(np.asarray(made))


def _node(op: Op, operands: tuple[Node, ...], settings: Mapping[str, Any]) -> Node:
    try:
        shape = op.shape(*[o.shape for o in operands], **settings)
    except Exception:
        shape = operands[0].shape
    return Node(op, operands, dict(settings) or None, shape, result_dtype(op, operands, settings), -1, True)


def leaf_value(node: Node, at: Mapping[int, Any]) -> Any:
    """The value of a leaf at a point; a number is its own."""
    if node.op is CONSTANT:
        return float(node.data) if type(node.data) is int else node.data
    return at[id(node)]

"""What the search is asked: a line, what it should be, and the points at which both are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcli.differentiate import rule_node, upstream_symbol
from gradcli.graph import Adjoint, Node
from gradcli.graph.op import ShapeError

RELATIVE, OF_MAJORANT = 1e-8, 1e-11
"""Two values are equal if they differ by no more than this part of the largest entry, or of the terms summed."""


@dataclass(frozen=True, slots=True)
class Point:
    """The values at one point: `values` by `id` of a node (of the forward graph, or a reference of the sheet) and the
    true `gradients` by number of a forward node."""

    values: Mapping[int, Any]
    gradients: Mapping[int, Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of the student's own that a line may use: the leaf that stands for it, and whose gradient it is.

    `of` is None for a helper; `factor` is what it keeps of a convention (3 where the sheet leaves out a 1/3);
    `formula` is what the student wrote for it.
    """

    name: str
    leaf: Node
    of: Node | None = None
    factor: float = 1.0
    formula: Node | None = None
    line: int = -1
    """The index of the line that it is."""


@dataclass(slots=True)
class Scene:
    """A formula file as the naming of slips sees it; one for all lines of a sheet."""

    output: Node
    nodes: Sequence[Node]
    inner: frozenset[int] | set[int]
    """The numbers of the nodes that have no name in the file."""
    points: Sequence[Point]
    _adjoint: list[Adjoint] = field(default_factory=list)
    _rules: dict[tuple[int, int], tuple[Node, Node] | None] = field(default_factory=dict)
    _consumers: dict[int, list[Node]] | None = None
    _symbols: dict[int, Node] = field(default_factory=dict)

    def at(self, points: Sequence[Point]) -> Scene:
        """The same scene at other points."""
        self.consumers(self.output)
        return replace(self, points=points)

    def named(self, node: Node) -> bool:
        """Whether the file gives the node a name."""
        return node.number not in self.inner

    def symbol(self, node: Node) -> Node:
        """The leaf that stands for the true gradient of a node."""
        known = self._symbols.get(node.number)
        if known is None:
            known = self._symbols[node.number] = upstream_symbol(self.output, node)
        return known

    def consumers(self, node: Node) -> Sequence[Node]:
        """The nodes that send the node a contribution, in the order of writing."""
        if self._consumers is None:
            self._consumers = {}
            for each in self.nodes:
                for number in {o.number: None for _, o in each.op.passing(each.operands)}:
                    self._consumers.setdefault(number, []).append(each)
        return self._consumers.get(node.number, ())

    def rule(self, node: Node, slot: int) -> Node | None:
        """What a node sends to one operand, over the symbol of its own gradient; None if it cannot be written."""
        key = (node.number, slot)
        if key not in self._rules:
            if not self._adjoint:
                self._adjoint.append(Adjoint(self.nodes, len(self.nodes)))
            symbol = self.symbol(node)
            try:
                with self._adjoint[0]:
                    self._rules[key] = (rule_node(node, slot, symbol), symbol)
            except (ShapeError, ArithmeticError, ValueError, TypeError, AttributeError, AssertionError):
                self._rules[key] = None
        known = self._rules[key]
        return None if known is None else known[0]

    def local(self, node: Node, slot: int) -> Node | None:
        """The local gradient of a node in one operand, where it works entry by entry: its rule for an upstream of 1."""
        if self.rule(node, slot) is None:
            return None
        try:
            with self._adjoint[0]:
                found = rule_node(node, slot, 1.0)
        except (ShapeError, ArithmeticError, ValueError, TypeError, AttributeError, AssertionError):
            return None
        return found


@dataclass(frozen=True, slots=True)
class Question:
    """One wrong line: its formula, the node whose gradient it should be, and what it should have been.

    `factor` is the constant that the line may keep: at every point the line should be `factor` times the gradient of
    `target`.  `root` is None where the student wrote numbers.
    """

    scene: Scene
    target: Node
    root: Node | None
    references: Sequence[Reference] = ()
    truth: Sequence[Any] = ()
    factor: float = 1.0
    left: str = ""
    """What the line is about, as it is to be written: `dL/dh1`."""
    inlined: bool = False
    """Whether helpers are written out, so that a slip in one of them is found."""
    whole: bool = True
    """Whether it is the gradient of a whole node, which a sweep gives; else only the line is searched."""

    @property
    def points(self) -> Sequence[Point]:
        """The points at which the search verifies."""
        return self.scene.points


def equal(found: Any, wanted: Any, majorant: float) -> bool:
    """Whether two values are the same in shape and, but for rounding, in every entry."""
    a, b = np.asarray(found, float), np.asarray(wanted, float)
    if a.shape != b.shape:
        return False
    largest = float(np.max(np.abs(b), initial=0.0))
    apart = float(np.max(np.abs(a - b), initial=0.0))
    return largest < np.inf and apart <= RELATIVE * largest + OF_MAJORANT * majorant

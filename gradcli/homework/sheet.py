"""A sheet: the lines of somebody's derivation over the graph of a formula file.

Every line's right side is read by the interpreter that reads formula files, and becomes a node over the forward
graph, never simplified.  What an earlier line has found enters as a leaf with the student's name for it, so a line can
be evaluated on the student's own numbers or on those that the earlier lines should have given: see
`gradcli.homework.points`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradcli.graph import SYMBOL, Graph, Node, backward_order
from gradcli.homework.spelling import Kind, Target, gradient_name
from gradcli.homework.written import Written
from gradcli.language import Program
from gradcli.problems import Problem, Span
from gradcli.report import Report

__all__ = ["Kind", "Line", "Sheet", "Target", "gradient_name"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer under a name, of a file of such answers: a text of its own, with what keeps it from being read.

    `used` says whether other answers use the name; one that they do not, and that nothing bears, answers nothing.
    """

    program: Program
    name: str
    problems: tuple[Problem, ...] = ()
    used: bool = False


@dataclass(slots=True, eq=False)
class Line:
    """One claim, or one name of the student's own."""

    index: int
    """Its place in `Sheet.lines`."""
    file: str
    """The file it stands in."""
    line: int
    """Its line in the file, from 1."""
    text: str
    """As it was written: `dh1 = W2 @ dz2`."""
    target: Target
    span: Span | None
    """The right side in the student's text; None for an array of a file."""
    where: str = ""
    """In which pass of a loop or which call it stands: `t = 3`."""
    local: bool = False
    """Whether its name is one of a function's call."""
    call: int = 0
    """The call in which it stands; 0 outside of functions."""
    scope: int = 0
    """The call in which its name is known; 0 outside of functions."""
    expression: Node | None = None
    """The right side as a node of `Sheet.graph`; None for an order and for what cannot be read."""
    references: tuple[int, ...] = ()
    """The lines it uses, by index, in order."""
    written: Written | None = None
    """Its numbers, where the right side is made of numbers alone."""
    fits: bool = True
    """Whether it can be evaluated with the shapes that the student's earlier lines have."""
    order: tuple[str, ...] = ()
    """The names that an order lists."""
    problems: tuple[Problem, ...] = ()
    """Why it cannot be read."""
    stray: tuple[Problem, ...] = ()
    """Of numbers under a name that nothing bears: what is wrong with it unless the numbers say what it means."""
    leaf: Node | None = None
    """What stands for this line in the expressions of later ones."""
    left: Node | None = None
    """The left side of an equation that is about neither a node nor a gradient: `x + y == 5`."""
    continues: int | None = None
    """The line whose sum this one goes on with, as `+=` does."""
    overwrites: int | None = None
    """The line that gave the same name before, and that this one does not use."""
    added: Node | None = None
    """What it would be if it added to what it overwrites: with `+=` for `=`."""
    again: bool = False
    """Whether a later line gives the same name again."""
    continued: bool = False
    """Whether a later line goes on with this one's sum, so that this one is a part of it."""
    places: dict[tuple[int, int], Span] = field(default_factory=dict)
    """Where a piece of the right side stands: of a node by (number, -1), of its operand in a slot by (number, slot)."""

    @property
    def place(self) -> tuple[int | None, int]:
        """The cell of a notebook that it stands in, and its line there; no cell in another file."""
        return (None, self.line) if self.span is None else self.span.source.place(self.line)

    @property
    def statement(self) -> tuple[object, ...]:
        """What the lines have in common that are passes of one statement of the text."""
        return self.file, self.place, self.text

    @property
    def said(self) -> str:
        """Its line in words: `line 4`, or `cell 2, line 1`."""
        return f"line {self.line}" if self.span is None else self.span.source.told(self.line)

    @property
    def kind(self) -> Kind:
        """What the line is about."""
        return self.target.kind

    @property
    def node(self) -> Node | None:
        """The node the line is about; None for a helper and an order."""
        return self.target.node

    @property
    def of(self) -> Node | None:
        """The node that is differentiated; None unless the line is about a derivative."""
        return self.target.of

    @property
    def about_gradient(self) -> bool:
        """Whether it claims a derivative."""
        return self.target.kind in (Kind.GRADIENT, Kind.LOCAL)

    @property
    def numeric(self) -> bool:
        """Whether its right side is numbers alone."""
        return self.written is not None


@dataclass(slots=True)
class Sheet:
    """All lines of a sheet and what they are about.

    `report` is the derivation of the formula file.  `graph` goes on where the forward graph ends, with the nodes of the
    lines; `first` is the number of the first of these.
    """

    report: Report
    graph: Graph
    first: int
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decided: list[tuple[Node, Any]] = field(default_factory=list)
    """What the lines that were read turned on: conditions and indices, with their values at the file's inputs."""
    fixed: set[int] = field(default_factory=set)
    """The numbers of the inputs that the lines use as plain numbers, so that they cannot be drawn anew."""
    lines_of: dict[int, int] = field(default_factory=dict)
    """The line (by index) that a leaf (by number) stands for."""
    truths: dict[int, tuple[Node, Node]] = field(default_factory=dict)
    """Leaves (by number) that stand for the true derivative of the first node with respect to the second."""
    _truth_leaves: dict[tuple[int, int], Node] = field(default_factory=dict)
    _orders: dict[int, list[Node]] = field(default_factory=dict)
    _forward: list[Node] = field(default_factory=list)

    @property
    def output(self) -> Node:
        """The node that is differentiated."""
        return self.report.output_node

    def order_of(self, of: Node) -> list[Node]:
        """The order of the reverse sweep from a node."""
        order = self._orders.get(of.number)
        if order is None:
            found = backward_order(of, None, self.forward) if of.differentiable else []
            order = self._orders[of.number] = found or [of]
        return order

    @property
    def forward(self) -> list[Node]:
        """The nodes of the formula file."""
        if not self._forward:
            self._forward = self.graph.nodes[: self.first]
        return self._forward

    @property
    def names(self) -> Mapping[str, Node]:
        """The nodes of the file by their names."""
        return self.report.traced.names

    def name_of(self, node: Node) -> str:
        """A node's name in a formula: the file's own or the student's, "" for an inner node."""
        if node.op is SYMBOL:
            return node.name
        return node.name if node.number < self.first and node.number in self.report.file_names else ""

    def truth(self, of: Node, node: Node) -> Node:
        """A leaf that stands for the true derivative of `of` with respect to `node`."""
        key = (of.number, node.number)
        leaf = self._truth_leaves.get(key)
        if leaf is None:
            shape = node.shape if of is self.output else of.shape + node.shape
            leaf = self._truth_leaves[key] = self.new_leaf(gradient_name(of, node), shape)
            self.truths[leaf.number] = (of, node)
        return leaf

    def leaf_like(self, line: Line, node: Node) -> Node:
        """What stands for a line, in the shape of a node."""
        if line.leaf is not None and line.leaf.shape == node.shape:
            return line.leaf
        twin = self.new_leaf(line.leaf.name if line.leaf is not None else line.target.name, node.shape)
        self.lines_of[twin.number] = line.index
        return twin

    def new_leaf(self, name: str, shape: tuple[int, ...], dtype: str = "float64") -> Node:
        """A leaf without a value of its own."""
        leaf = Node(SYMBOL, (), None, shape, dtype, len(self.graph.nodes), False, name)
        self.graph.nodes.append(leaf)
        return leaf

    def stands_for(self, leaf: Node) -> Line | None:
        """The line that a leaf stands for."""
        index = self.lines_of.get(leaf.number)
        return None if index is None else self.lines[index]


Values = Mapping[int, Any]
"""Values of lines by their index."""

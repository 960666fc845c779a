"""What reading a formula file gives."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from gradcli.graph import Graph, Node
from gradcli.problems import Problem, Source, Span


@dataclass(frozen=True, slots=True)
class Claim:
    """A line with `==`: what somebody believes.  It defines nothing and is kept for marking."""

    line: int
    text: str
    left: ast.expr
    right: ast.expr


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One result of a rule that the file states: the gradient of one operand.

    `node` computes it, in the rule's own graph; None where the rule gives nothing.  `position` counts results from 1,
    and is 0 for a gradient that a layer keeps as an attribute.  `operand` is None for one that takes no gradient, if
    the rule must say so and does not, and for a result too many, which has no `name`.
    """

    name: str
    operand: Node | None
    node: Node | None
    span: Span
    text: str
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class CustomRule:
    """A rule that the file states, at one call of its function.

    `graph` holds the forward part from `inputs` to `outputs`, and the rule from those and `upstreams`, one for each
    output, to `results`.  It is the graph of what the program does where the `guards` have the values that they have
    here.  `failure` is why a rule cannot be computed at all; `complaints` say what else is wrong with it.  `unpacked`
    are the rule's names for what the forward part kept.
    """

    name: str
    line: int
    span: Span
    graph: Graph = field(default_factory=Graph)
    outputs: tuple[Node, ...] = ()
    upstreams: tuple[Node, ...] = ()
    inputs: dict[int, Node] = field(default_factory=dict)
    results: tuple[RuleResult, ...] = ()
    guards: tuple[Node, ...] = ()
    complaints: tuple[str, ...] = ()
    unpacked: tuple[tuple[str, Node], ...] = ()
    failure: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Traced:
    """The graph of a file and what the file says about it.

    `names` gives the node of every name (its last definition).  `output` is what the file asks to be
    differentiated, with `seed` as its upstream gradient where one is given: a node or a number.
    """

    source: Source
    graph: Graph
    names: dict[str, Node] = field(default_factory=dict)
    output: Node | None = None
    seed: Any = None
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    custom_rules: list[CustomRule] = field(default_factory=list)
    """The rules of differentiation that the file states, which are not what is derived: they are to be checked."""
    last: Node | None = None
    """The last definition of the file itself, which is what is differentiated if nothing is said about that."""
    without_gradient: Node | None = None
    """A definition after that one, if it has no derivative."""
    inner: set[int] = field(default_factory=set)
    """The numbers of the nodes to which the file gives no name: v1, v2, …"""
    environment: dict[str, Any] = field(default_factory=dict)
    """Everything that a name means at the end of the file, also what is no node, such as a shape."""
    raw: dict[int, Any] = field(default_factory=dict)
    """Every input written in whole numbers, by node number, as it was written."""

    def line_span(self, line: int) -> Span:
        """The whole of a line, without the blanks around it."""
        text = self.source.lines[line - 1] if 0 < line <= len(self.source.lines) else ""
        start = len(text) - len(text.lstrip()) + 1
        return Span(self.source, line, start, line, max(start, len(text.rstrip())) + 1)

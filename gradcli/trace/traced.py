"""What reading a formula file gives."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from gradcli.graph import Graph, Node
from gradcli.problems import Source, Span


@dataclass(frozen=True, slots=True)
class Claim:
    """A line with `==`: what somebody believes.  It defines nothing and is kept for marking."""

    line: int
    text: str
    left: ast.expr
    right: ast.expr


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

"""Formulas that lose digits, and others that say the same and keep them: what the operators' blocks know of this.

A block's `stable` holds pairs of texts, such as `log(1 + x)` and `log1p(x)`.  The first is held against the nodes of a
graph, its letters standing for any node; the second is then told with the reader's own names in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from gradcli.graph import ALL, CONSTANT, INFIX, REGISTRY, Node
from gradcli.graph.formula import formula
from gradcli.report import Report

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
TURNING = (ast.Add, ast.Mult)
"""Operands of these may change places."""
LENGTH = 40
"""A longer operand is called by its letter."""

Bound = dict[str, Node]
Inside = frozenset[int]


@cache
def _known() -> tuple[tuple[ast.expr, str, str], ...]:
    """All pairs, the longest first: they say most."""
    pairs = [pair for op in ALL for pair in op.stable]
    return tuple((_parsed(wide), wide, narrow) for wide, narrow in sorted(pairs, key=lambda p: -len(p[0])))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def stable_form(report: Report, nodes: list[Node], lost: Node) -> str:
    """`write log1p(x) for log(1 + x)`, where the node that lost its digits is part of such a formula; else "".

    `nodes` are those of the graph, operands before consumers.
    """
    reach = {lost.number}
    near = [lost]
    for node in nodes:  # the formula around it ends a few operations further on
        if len(near) < 40 and node.number > lost.number and any(o.number in reach for o in node.operands):
            reach.add(node.number)
            near.append(node)
    for pattern, wide, narrow in _known():
        for node in near:
            for bound, inside in _matches(pattern, node, {}, frozenset()):
                if lost.number in inside or any(o.number == lost.number for o in bound.values() if o is not node):
                    names = {letter: _called(report, n) for letter, n in bound.items()}
                    return f"write {_with(narrow, names)} for {_with(wide, names)}"
    return ""


def _matches(pattern: ast.expr, node: Node, bound: Bound, inside: Inside) -> Iterator[tuple[Bound, Inside]]:
    """The ways in which a node is the pattern: what its letters stand for, and the operations it covers."""
    if isinstance(pattern, ast.Name):
        known = bound.get(pattern.id)
        if known is None or _same(known, node):
            yield {**bound, pattern.id: node}, inside
        return
    if isinstance(pattern, ast.Constant):
        if node.op is CONSTANT and node.shape == () and node.data == pattern.value:
            yield bound, inside
        return
    parts: list[ast.expr]
    if isinstance(pattern, ast.BinOp):
        op, parts = INFIX[SIGNS[type(pattern.op)]], [pattern.left, pattern.right]
    elif isinstance(pattern, ast.UnaryOp):
        op, parts = INFIX["u-"], [pattern.operand]
    else:
        assert isinstance(pattern, ast.Call)
        assert isinstance(pattern.func, ast.Name)
        op, parts = REGISTRY[pattern.func.id], list(pattern.args)
    if node.op is not op or len(node.operands) != len(parts):
        return
    orders = [list(node.operands)]
    if isinstance(pattern, ast.BinOp) and isinstance(pattern.op, TURNING):
        orders.append(orders[0][::-1])
    for operands in orders:
        found = [(bound, inside | {node.number})]
        for part, operand in zip(parts, operands, strict=True):
            found = [more for b, i in found for more in _matches(part, operand, b, i)]
        yield from found


def _same(a: Node, b: Node) -> bool:
    """Whether two nodes are one, or the same operation on the same operands."""
    return a is b or (
        bool(a.operands) and a.op is b.op and a.operands == b.operands and str(a.settings) == str(b.settings)
    )


def _called(report: Report, node: Node) -> str:
    """A node in the words of the file; "" if that is long."""
    text = formula(node, lambda n: report.file_names.get(n.number, ""), 6) or ""
    return text if len(text) <= LENGTH else ""


def _with(text: str, names: dict[str, str]) -> str:
    """A formula with other formulas for its letters."""

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            if not names.get(name.id):
                return name
            try:
                return _parsed(names[name.id])
            except SyntaxError:
                return name

    return ast.unparse(Renamed().visit(_parsed(text))).replace(" ** ", "**")

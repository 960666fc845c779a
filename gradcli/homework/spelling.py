"""The ways in which people write a derivative: `dL/dz`, `∂L/∂z`, `d(L)/d(z)`, `grad(z)`, `z.grad`, `dz`.

On the left of a claim they say what the line is about.  On the right they mean what an earlier line has found, so there
each is replaced by one name, `dL/dz`, which is how that line is known to the interpreter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gradcli.graph import Node
from gradcli.trace.spelling import LONG_NAMES


class Kind(StrEnum):
    """What a line is about."""

    GRADIENT = "gradient"
    """The derivative of the output."""
    LOCAL = "local"
    """The derivative of another node."""
    VALUE = "value"
    """A forward value."""
    ORDER = "order"
    """An order of the reverse sweep."""
    HELPER = "helper"
    """A name of the student's own."""


@dataclass(frozen=True, slots=True)
class Target:
    """What stands on the left of a claim.

    `name` is as in the JSON: `dL/dW1`, `p`, `order`, or the student's own name.  `of` is what is differentiated and
    `node` the node the claim is about.  `key` is the text of an index, where the claim is about one entry.
    """

    kind: Kind
    name: str
    of: Node | None = None
    node: Node | None = None
    key: str = ""

    @property
    def whole(self) -> str:
        """The name without the index."""
        return self.name.removesuffix(f"[{self.key}]") if self.key else self.name


OUTPUTS = ("L", "J", "E", "C", "loss", "Loss", "cost", "error")
"""What people call the output where they write `dL_dz`, whatever its name is in the file."""

_MEMBER = re.compile(r"""\["([^"\]]+)"\]$|\.(\w+)$""")

ORDER_NAMES = frozenset({"order", "reverse_order", "backward_order"})


class Spelling:
    """The spellings that mean something in one file.

    `nodes` are all its nodes by name, `own` the names that the file itself gives, `output` what it differentiates.
    """

    def __init__(self, nodes: Mapping[str, Node], own: Container[str], output: Node) -> None:
        self.nodes = nodes
        self.own = own
        self.output = output
        self._members: dict[str, Node | None] = {}
        for name, node in nodes.items():
            if (member := member_of(name)) and node.differentiable:
                self._members[member] = None if member in self._members else node

    # On the left --------------------------------------------------------------------------------

    def target(self, left: ast.expr) -> Target | None:
        """What a claim with this left side is about; None if it is an expression of its own."""
        found = self._whole_target(left)
        if found is not None:
            return found
        whole, entry = _parted(left)
        if entry is None:
            return None
        base = self._whole_target(whole)
        if base is None or base.node is None:
            return None
        key = ast.unparse(entry.slice)
        return Target(base.kind, f"{base.name}[{key}]", base.of, base.node, key)

    def _whole_target(self, left: ast.expr) -> Target | None:
        pair = self.derivative(left)
        if pair is not None:
            return self._derivative_target(*pair)
        word = _word(left)
        if not word:
            return None
        node = self.nodes.get(word) if word in self.own else None
        about = self.short(word)
        if about is not None and (node is None or not node.operands):
            return self._derivative_target(self.output, about)
        if node is not None:
            return Target(Kind.VALUE, word, None, node)
        if isinstance(left, ast.Name):
            return Target(Kind.ORDER, "order") if word in ORDER_NAMES else Target(Kind.HELPER, word)
        return None

    def _derivative_target(self, of: Node, node: Node) -> Target:
        kind = Kind.GRADIENT if of is self.output else Kind.LOCAL
        return Target(kind, gradient_name(of, node), of, node)

    def short(self, word: str) -> Node | None:
        """The node z that `dz`, `d_z`, `dL_dz`, `dLdz`, `grad_z`, `gradz` or `z_grad` names the gradient of."""
        stems = list(self.stems(word))
        named = (self._varying(stem) for stem in stems)
        members = (self._members.get(stem) for stem in stems)
        longer = (self._varying(name) for stem in stems for name in _longer(stem))
        return next((node for node in (*named, *members, *longer) if node is not None), None)

    def stems(self, word: str) -> Iterator[str]:
        """What `dz`, `d_z`, `dL_dz`, … leave of a word when what says "gradient" is taken off."""
        for output in dict.fromkeys((self.output.name, *OUTPUTS)):
            for before in (f"d{output}_d", f"d{output}d"):
                if word.startswith(before) and len(word) > len(before):
                    yield word[len(before) :]
        for before in ("gradient_", "grad_", "grad", "nabla_", "d_", "d", "g_", "g"):
            if word.startswith(before) and len(word) > len(before):
                stem = word[len(before) :]
                yield stem
                if before == "grad":  # gradWeights
                    yield stem[0].lower() + stem[1:]
        for after in ("_grad", "_gradient", "_g"):
            if word.endswith(after):
                yield word[: -len(after)]

    def member(self, word: str) -> Node | None:
        """The node of this name, or the only one that is an entry or an attribute of it: `params["W1"]` of `W1`."""
        return self._varying(word) or self._members.get(word)

    def gradient(self, node: Node) -> Target:
        """A claim about the gradient of a node."""
        return self._derivative_target(self.output, node)

    def versions(self, node: Node) -> list[Node]:
        """The nodes that the file gives one name after another, in order: `h'1`, `h'2`, `h`."""
        earlier: list[Node] = []
        while (version := self.nodes.get(f"{node.name}'{len(earlier) + 1}")) is not None:
            earlier.append(version)
        return [*earlier, node]

    def _varying(self, word: str) -> Node | None:
        node = self.nodes.get(word)
        return node if node is not None and node.differentiable else None

    # Anywhere -----------------------------------------------------------------------------------

    def derivative(self, place: ast.expr) -> tuple[Node, Node] | None:
        """Numerator and denominator of what can only be a derivative: `dL/dz`, `d(L)/d(z)`, `grad(z)`, `z.grad`."""
        match place:
            case ast.BinOp(left, ast.Div(), right):
                of, node = self._differential(left), self._differential(right)
                return (of, node) if of is not None and node is not None and node.differentiable else None
            case ast.Attribute(base, "grad"):
                node = self._varying(_word(base))
                return (self.output, node) if node is not None else None
            case ast.Call(ast.Name("grad"), arguments, []) if 1 <= len(arguments) <= 2:
                node = self._varying(_word(arguments[-1]))
                of = self.nodes.get(_word(arguments[0])) if len(arguments) == 2 else self.output
                return (of, node) if of is not None and node is not None else None
        return None

    def _differential(self, place: ast.expr) -> Node | None:
        """The node z of `dz` or `d(z)`."""
        match place:
            case ast.Call(ast.Name("d"), [inner], []):
                return self.nodes.get(_word(inner))
            case ast.Name() | ast.Subscript():
                word = _word(place)
                return self.nodes.get(word[1:]) if word.startswith("d") else None
        return None

    def missing(self, place: ast.expr, known: Container[str]) -> ast.Name | None:
        """The `dnope` of `dL/dnope`, which can only be a derivative, where there is a node L and none called nope.

        `known` has the names that lines bear.
        """
        for each in ast.walk(place):
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div):
                of, node = _last_name(each.left), _first_name(each.right)
                if (
                    of is None
                    or node is None
                    or not (of.id[:1] == node.id[:1] == "d")
                    or "" in (of.id[1:], node.id[1:])
                ):
                    continue
                if node.id in known or of.id in known:
                    continue
                found = [side for side in (of, node) if side.id[1:] not in self.nodes]
                if len(found) == 1 and found[0].id != "d" and found[0].id not in known:
                    return found[0]
        return None

    # On the right -------------------------------------------------------------------------------

    def rewritten(self, right: ast.expr, known: Container[str]) -> ast.expr:
        """A right side in which every derivative is one name, `dL/dz`.

        `known` has the names that lines bear: a `dz` that is one of them, divided by another, is a quotient of numbers
        unless a derivative of that name is known, too.
        """
        interesting = any(
            isinstance(n, (ast.Div, ast.Subscript))
            or (isinstance(n, ast.Attribute) and n.attr == "grad")
            or (isinstance(n, ast.Name) and n.id in ("grad", "d"))
            for n in ast.walk(right)
        )
        if not interesting:
            return right
        result = _Rewriter(self, known).visit(right)
        assert isinstance(result, ast.expr)
        return result


class _Rewriter(ast.NodeTransformer):
    def __init__(self, spelling: Spelling, known: Container[str]) -> None:
        self.spelling = spelling
        self.known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._replaced(node) or self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._replaced(node) or self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        word = _word(node)
        if word in self.known and not isinstance(node.value, ast.Subscript):
            return ast.copy_location(ast.Name(word, ast.Load()), node)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Div):
            whole = self._replaced(node) or self._inside(node)
            if whole is not None:
                return whole
        return self.generic_visit(node)

    def _replaced(self, node: ast.expr) -> ast.expr | None:
        """The one name that stands for a derivative."""
        pair = self.spelling.derivative(node)
        if pair is None:
            return None
        name = gradient_name(*pair)
        if isinstance(node, ast.BinOp) and name not in self.known:
            quotient = isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name)
            if quotient and node.left.id in self.known and node.right.id in self.known:  # type: ignore[attr-defined]
                return None
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _inside(self, node: ast.BinOp) -> ast.AST | None:
        """`W.T @ dL/dz` as it is meant, though Python divides the product; and so `-dL/dz` and `dL/dz.T`."""
        match node.left:
            case ast.BinOp(left, ast.Mult() | ast.MatMult() as sign, of):
                inner = self._derivative_of(of, node.right)
                if inner is not None:
                    return ast.copy_location(ast.BinOp(self.visit(left), sign, inner), node)
            case ast.UnaryOp(sign, of):
                inner = self._derivative_of(of, node.right)
                if inner is not None:
                    return ast.copy_location(ast.UnaryOp(sign, inner), node)
        return self._derivative_of(node.left, node.right)

    def _derivative_of(self, of: ast.expr, right: ast.expr) -> ast.expr | None:
        """`of/right` where `right` is `dz` with attributes, indices or calls behind it."""
        base = right
        while not isinstance(base, ast.Name):
            if isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            elif isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
                base = base.func.value
            elif isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "d":
                break
            else:
                return None
        quotient = ast.copy_location(ast.BinOp(of, ast.Div(), base), of)
        quotient.end_lineno, quotient.end_col_offset = base.end_lineno, base.end_col_offset
        name = self._replaced(quotient)
        if name is None:
            return None
        swapped = _Swap(base, name).visit(right)
        assert isinstance(swapped, ast.expr)
        return swapped


class _Swap(ast.NodeTransformer):
    """Puts one piece of a tree in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return self.new
        visited = self.generic_visit(node)
        assert isinstance(visited, ast.AST)
        return visited


def _last_name(place: ast.expr) -> ast.Name | None:
    """The `dL` of `W.T @ dL`, or of `-dL`."""
    while isinstance(place, (ast.BinOp, ast.UnaryOp)):
        place = place.right if isinstance(place, ast.BinOp) else place.operand
    return place if isinstance(place, ast.Name) else None


def _first_name(place: ast.expr) -> ast.Name | None:
    """The `dz` of `dz.T`, `dz[0]` or `dz.sum(axis=0)`."""
    while isinstance(place, (ast.Attribute, ast.Subscript, ast.Call)):
        place = place.func if isinstance(place, ast.Call) else place.value
    return place if isinstance(place, ast.Name) else None


def _parted(left: ast.expr) -> tuple[ast.expr, ast.Subscript | None]:
    """`p[0]` and `dL/dz[0]` without the index, and what has it."""
    if isinstance(left, ast.Subscript):
        return left.value, left
    if isinstance(left, ast.BinOp) and isinstance(left.right, ast.Subscript):
        whole = ast.BinOp(left.left, left.op, left.right.value)
        return ast.copy_location(whole, left), left.right
    return left, None


def _longer(stem: str) -> Iterator[str]:
    """The long names of what a name of one letter stands for: `weights[1]` of `w[1]`."""
    letter, index = stem[:1], stem[1:]
    if not index or index.startswith("["):
        yield from (f"{name}{index}" for name in LONG_NAMES.get(letter, ()))


def member_of(name: str) -> str:
    """The last part of the name of an entry or an attribute: `W1` of `params["W1"]`, `W` of `layer.W`; else ""."""
    found = _MEMBER.search(name)
    return found[1] or found[2] if found else ""


def gradient_name(of: Node, node: Node) -> str:
    """`dL/dz`."""
    return f"d{of.name}/d{node.name}"


def _word(place: ast.expr) -> str:
    """A name, or a member of a family of names such as `h[1]`, as a node is called; "" for anything else."""
    if isinstance(place, ast.Name):
        return place.id
    if isinstance(place, ast.Subscript) and isinstance(place.value, ast.Name):
        return f"{place.value.id}[{ast.unparse(place.slice)}]"
    return ""

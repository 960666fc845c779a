"""Slips to be found: every way to spoil a line of the derivations that are right.

A planting is made in the text, by Python's own syntax tree, and knows nothing of how slips are found.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support.derivations import DERIVATIONS

PLAIN = [name for name, (_, answers) in DERIVATIONS.items() if "+=" not in answers]
"""The derivations every line of which stands by itself: a planting is a line with another right side."""


@dataclass(frozen=True)
class Planted:
    """A slip in one line of a derivation."""

    derivation: str
    slip: str
    line: int
    """Its place among the lines, from 0."""
    text: str


Plant = Callable[[ast.expr, "Lines"], Iterator[ast.expr]]
PLANTS: dict[str, Plant] = {}
"""For a slip, every way to make it in a right side."""


class Lines:
    """What a planting may use: names of values and gradients, which operand each function has, shapes."""

    def __init__(self, formula: str, lines: list[str], at: int, shapes: dict[str, tuple[int, ...]]) -> None:
        self.at = at
        self.lines = lines
        self.shapes = shapes
        self.left = lines[at].split("=")[0].strip()
        self.before = [each.split("=")[0].strip() for each in lines[:at]]
        self.sides = {each.split("=")[0].strip(): each.split("=", 1)[1].strip() for each in lines}
        self.values = [each.split("=")[0].strip() for each in formula.strip().splitlines()]
        self.functions: dict[str, str] = {}
        for each in formula.strip().splitlines():
            side = ast.parse(each.split("=", 1)[1].strip(), mode="eval").body
            if isinstance(side, ast.Call) and len(side.args) >= 1 and isinstance(side.args[0], ast.Name):
                self.functions[each.split("=")[0].strip()] = side.args[0].id


def plant(slip: str) -> Callable[[Plant], Plant]:
    def add(function: Plant) -> Plant:
        PLANTS[slip] = function
        return function

    return add


def places(side: ast.expr, kind: type | tuple[type, ...]) -> Iterator[tuple[ast.expr, ast.AST]]:
    """A copy of a right side for each of its pieces of a kind, with that piece in the copy."""
    count = sum(isinstance(n, kind) for n in ast.walk(side))
    for which in range(count):
        twin = copy.deepcopy(side)
        yield twin, [n for n in ast.walk(twin) if isinstance(n, kind)][which]


def replaced(whole: ast.expr, old: ast.AST, new: ast.AST) -> ast.expr:
    """The whole with one piece in the place of another."""

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    result = Swap().visit(whole)
    assert isinstance(result, ast.expr)
    return result


def name(word: str) -> ast.Name:
    return ast.Name(word, ast.Load())


def products(side: ast.expr) -> Iterator[tuple[ast.expr, ast.BinOp]]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Mult):
            yield whole, node


def dropped_factors(side: ast.expr, lost: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    """A product without one factor."""
    for whole, node in products(side):
        if lost(node.right):
            yield replaced(whole, node, node.left)
    for whole, node in products(side):
        if lost(node.left):
            yield replaced(whole, node, node.right)


def is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and len(node.id) > 1 and node.id.startswith("d")


def is_number(node: ast.AST) -> bool:
    return all(not isinstance(n, (ast.Name, ast.Call)) for n in ast.walk(node))


def calls(side: ast.expr, *names: str) -> Iterator[tuple[ast.expr, ast.Call]]:
    for whole, node in places(side, ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id in names:
            yield whole, node


def keyword(node: ast.Call, word: str) -> ast.keyword | None:
    return next((k for k in node.keywords if k.arg == word), None)


@plant("missing transpose")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr == "T":
            yield replaced(whole, node, node.value)


@plant("extra transpose")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Name):
        assert isinstance(node, ast.Name)
        under = any(isinstance(n, ast.Attribute) and n.value is node for n in ast.walk(whole))
        if len(lines.shapes.get(node.id, ())) == 2 and not under:
            yield replaced(whole, node, ast.Attribute(node, "T", ast.Load()))


@plant("operands swapped")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, (ast.MatMult, ast.Div)):
            node.left, node.right = node.right, node.left
            yield whole
    for whole, call in calls(side, "outer", "conv2d"):
        call.args[:2] = call.args[1::-1]
        yield whole


@plant("elementwise for matmul")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.MatMult):
            node.op = ast.Mult()
            yield whole


@plant("matmul for elementwise")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in products(side):
        node.op = ast.MatMult()
        yield whole


@plant("missing outer")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "outer"):
        yield replaced(whole, call, ast.BinOp(call.args[0], ast.Mult(), call.args[1]))


@plant("missing slice")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Subscript):
        assert isinstance(node, ast.Subscript)
        yield replaced(whole, node, node.value)


@plant("kernel flip")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "flip"):
        yield replaced(whole, call, call.args[0])
    for whole, call in calls(side, "conv2d"):
        if isinstance(call.args[1], ast.Name):
            call.args[1] = ast.Call(name("flip"), [call.args[1], ast.Constant((0, 1))], [])
            yield whole


@plant("missing sum")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "sum"):
        inside_difference = any(
            isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and n.right is call for n in ast.walk(whole)
        )
        if not inside_difference:
            yield replaced(whole, call, call.args[0])


@plant("softmax diagonal")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        sums = (
            isinstance(node.right, ast.Call) and isinstance(node.right.func, ast.Name) and node.right.func.id == "sum"
        )
        if isinstance(node.op, ast.Sub) and sums:
            assert isinstance(node.right, ast.Call)
            node.right = node.right.args[0]
            yield whole


@plant("wrong axis")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "sum", "mean"):
        axis = keyword(call, "axis")
        if axis is not None and isinstance(axis.value, ast.Constant):
            axis.value = ast.Constant(1 - int(str(axis.value.value)))
            yield whole


@plant("lost axis")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "sum", "mean"):
        if keyword(call, "keepdims") is not None:
            call.keywords = [k for k in call.keywords if k.arg != "keepdims"]
            yield whole


@plant("mean for sum")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "sum"):
        call.func = name("mean")
        yield whole


@plant("sum for mean")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, call in calls(side, "mean"):
        call.func = name("sum")
        yield whole
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
            yield replaced(whole, node, node.left)


@plant("constant")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield ast.BinOp(ast.Constant(2), ast.Mult(), side)
    yield ast.BinOp(side, ast.Div(), ast.Constant(2))
    yield from dropped_factors(side, is_number)


@plant("sign")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield ast.UnaryOp(ast.USub(), side)
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield whole
    for whole, unary in places(side, ast.UnaryOp):
        assert isinstance(unary, ast.UnaryOp)
        yield replaced(whole, unary, unary.operand)


@plant("missing local")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield from dropped_factors(
        side, lambda n: not is_number(n) and not is_gradient(n) and not isinstance(n, ast.Compare) and not _arrives(n)
    )


def _arrives(node: ast.AST) -> bool:
    """Whether a factor contains a gradient: it is not a local one."""
    return any(is_gradient(n) for n in ast.walk(node))


@plant("missing mask")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield from dropped_factors(side, lambda n: isinstance(n, ast.Compare))


@plant("missing upstream")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield from dropped_factors(side, is_gradient)


@plant("missing path")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    """A term of the sum at the top that brings a gradient."""
    terms = [side]
    while isinstance(terms[0], ast.BinOp) and isinstance(terms[0].op, (ast.Add, ast.Sub)):
        first = terms.pop(0)
        assert isinstance(first, ast.BinOp)
        right = first.right if isinstance(first.op, ast.Add) else ast.UnaryOp(ast.USub(), first.right)
        terms[:0] = [first.left, right]
    if sum(_arrives(t) for t in terms) < 2:
        return
    for lost in range(len(terms)):
        kept = terms[:lost] + terms[lost + 1 :]
        whole = kept[0]
        for term in kept[1:]:
            whole = ast.BinOp(whole, ast.Add(), term)
        yield whole


def _derivatives(side: ast.expr, lines: Lines) -> Iterator[tuple[ast.expr, ast.BinOp, ast.Name]]:
    """Every `1 - h ** 2` and `1 - f` of a function's value."""
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if not (isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)):
            continue
        inner = node.right.left if isinstance(node.right, ast.BinOp) else node.right
        if isinstance(inner, ast.Name) and inner.id in lines.functions:
            yield whole, node, inner


@plant("derivative at wrong node")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, _node, inner in _derivatives(side, lines):
        yield replaced(whole, inner, name(lines.functions[inner.id]))


@plant("function for derivative")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node, inner in _derivatives(side, lines):
        if isinstance(node.right, ast.BinOp):
            yield replaced(whole, node, inner)


@plant("mask inverted")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Compare):
        assert isinstance(node, ast.Compare)
        node.ops = [ast.Lt()]
        yield whole


@plant("mask on wrong tensor")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Compare):
        assert isinstance(node, ast.Compare)
        assert isinstance(node.left, ast.Name)
        here = lines.shapes[node.left.id]
        for other in lines.before:
            if lines.shapes.get(other) == here:
                twin = copy.deepcopy(whole)
                compare = next(n for n in ast.walk(twin) if isinstance(n, ast.Compare))
                compare.left = name(other)
                yield twin


def _renamed(side: ast.expr, choose: Callable[[str], list[str]]) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Name):
        assert isinstance(node, ast.Name)
        masks = any(isinstance(n, ast.Compare) and node in ast.walk(n) for n in ast.walk(whole))
        for other in [] if masks else choose(node.id):
            yield replaced(copy.deepcopy(whole), ast.Name(), node) if other == node.id else _with(whole, node, other)


def _with(whole: ast.expr, node: ast.Name, other: str) -> ast.expr:
    before, node.id = node.id, other
    twin = copy.deepcopy(whole)
    node.id = before
    return twin


@plant("gradient for value")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield from _renamed(side, lambda n: [f"d{n}"] if n in lines.values and f"d{n}" in lines.before else [])


@plant("value for gradient")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    yield from _renamed(side, lambda n: [n[1:]] if n in lines.before and n[1:] in lines.values else [])


@plant("wrong operand")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    def others(word: str) -> list[str]:
        if word not in lines.values:
            return []
        return [v for v in lines.values if v != word and lines.shapes.get(v) == lines.shapes.get(word)]

    yield from _renamed(side, others)


@plant("updated weights")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.Name):
        assert isinstance(node, ast.Name)
        if node.id in lines.values and f"d{node.id}" in lines.before and len(lines.shapes.get(node.id, ())) == 2:
            step = ast.BinOp(ast.Constant(0.1), ast.Mult(), name(f"d{node.id}"))
            yield replaced(whole, node, ast.BinOp(name(node.id), ast.Sub(), step))


@plant("other gradient")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for other in lines.before:
        if (
            other.startswith("d")
            and lines.shapes.get(other) == lines.shapes.get(lines.left)
            and is_gradient(name(other))
        ):
            yield name(other)


@plant("wrong exponent")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
            node.right = ast.Constant(int(str(node.right.value)) + 1)
            yield whole
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Pow):
            yield replaced(whole, node, node.left)


@plant("multiplied for divided")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for whole, node in places(side, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Div) and not is_number(node.right):
            node.op = ast.Mult()
            yield whole


@plant("precedence")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    """The text without one pair of brackets that it needs."""
    text = ast.unparse(side)
    stack: list[int] = []
    for at, sign in enumerate(text):
        if sign == "(":
            stack.append(at)
        elif sign == ")":
            start = stack.pop()
            called = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
            inner = text[start + 1 : at]
            if called or "," in inner or any(c in inner for c in "<>"):
                continue
            yield ast.parse(text[:start] + inner + text[at + 1 :], mode="eval").body


@plant("look alike function")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    pairs = {"sin": "cos", "cos": "sin", "exp": "log", "log": "exp", "tanh": "sigmoid", "sigmoid": "tanh"}
    for whole, call in calls(side, *pairs):
        assert isinstance(call.func, ast.Name)
        call.func = name(pairs[call.func.id])
        yield whole


@plant("extra factor")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for word in lines.values:
        if lines.shapes.get(word) == lines.shapes.get(lines.left) and lines.shapes.get(word):
            yield ast.BinOp(copy.deepcopy(side), ast.Mult(), name(word))


@plant("extra term")
def _(side: ast.expr, lines: Lines) -> Iterator[ast.expr]:
    for word in (*lines.values, *lines.before):
        if lines.shapes.get(word) == lines.shapes.get(lines.left):
            yield ast.BinOp(copy.deepcopy(side), ast.Add(), name(word))


def planted(derivation: str, shapes: dict[str, tuple[int, ...]]) -> list[Planted]:
    """Every slip in every line of a derivation; `shapes` are those of its names, `dz` included."""
    formula, answers = DERIVATIONS[derivation]
    lines = answers.strip().splitlines()
    found: list[Planted] = []
    seen = set()
    for at, line in enumerate(lines):
        left, _, right = line.partition("=")
        around = Lines(formula, lines, at, shapes)
        for slip, make in PLANTS.items():
            for side in make(ast.parse(right.strip(), mode="eval").body, around):
                text = f"{left.strip()} = {ast.unparse(side)}"
                if (at, text) not in seen and text != line:
                    seen.add((at, text))
                    found.append(Planted(derivation, slip, at, text))
    return found

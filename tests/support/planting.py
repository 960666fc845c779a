"""Slips to be found: a dozen derivations that are right, and every way to spoil one of their lines.

A planting is made in the text, by Python's own syntax tree, and knows nothing of how slips are found.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

DERIVATIONS: dict[str, tuple[str, str]] = {
    "two-layer": (
        """
x = [0.5, 1.2]
y = [0, 1]
W1 = [[0.4, -0.2], [0.3, 0.6]]
b1 = [0.1, -0.1]
W2 = [[0.7, -0.5], [-0.3, 0.2]]
b2 = [0.05, 0.1]
z1 = W1 @ x + b1
h1 = relu(z1)
z2 = W2 @ h1 + b2
p = softmax(z2)
L = -sum(y * log(p))
""",
        """
dz2 = p - y
dW2 = outer(dz2, h1)
db2 = dz2
dh1 = W2.T @ dz2
dz1 = dh1 * (z1 > 0)
dW1 = outer(dz1, x)
db1 = dz1
dx = W1.T @ dz1
""",
    ),
    "batch tanh net": (
        """
X = [[1.0, -0.5, 2.0], [0.3, 1.2, -0.7]]
Y = [[1.0, 0.0, 1.0]]
W1 = [[0.1, -0.2], [0.4, 0.3], [-0.5, 0.6], [0.2, 0.1]]
b1 = [[0.0], [0.1], [-0.1], [0.05]]
W2 = [[0.3, -0.4, 0.5, 0.2]]
b2 = [[0.1]]
Z1 = W1 @ X + b1
A1 = tanh(Z1)
Z2 = W2 @ A1 + b2
A2 = sigmoid(Z2)
L = -sum(Y * log(A2) + (1 - Y) * log(1 - A2)) / 3
""",
        """
dZ2 = (A2 - Y) / 3
dW2 = dZ2 @ A1.T
db2 = sum(dZ2, axis=1, keepdims=True)
dA1 = W2.T @ dZ2
dZ1 = dA1 * (1 - A1 ** 2)
dW1 = dZ1 @ X.T
db1 = sum(dZ1, axis=1, keepdims=True)
dX = W1.T @ dZ1
""",
    ),
    "batch norm": (
        """
x = [[1.0, 2.0, 0.3], [3.0, -1.0, 0.7], [0.5, 0.2, -1.1], [-2.0, 4.0, 0.4]]
gamma = [1.5, -0.5, 0.8]
beta = [0.1, 0.2, -0.3]
u = [[0.1, -0.2, 0.6], [0.3, 0.4, -0.8], [-0.5, 0.6, 0.2], [0.7, -0.8, 0.5]]
mu = mean(x, axis=0)
xc = x - mu
v = mean(xc ** 2, axis=0)
s = 1 / sqrt(v + 0.01)
xn = xc * s
out = gamma * xn + beta
L = sum(out ** 2 * u)
""",
        """
dout = 2 * out * u
dbeta = sum(dout, axis=0)
dgamma = sum(dout * xn, axis=0)
dxn = dout * gamma
ds = sum(dxn * xc, axis=0)
dv = -0.5 * ds * s ** 3
dxc = dxn * s + 2 * xc * dv / 4
dmu = -sum(dxc, axis=0)
dx = dxc + dmu / 4
""",
    ),
    "layer norm": (
        """
x = [[1.0, 2.0, 0.3, -0.4], [3.0, -1.0, 0.7, 0.2], [0.5, 0.2, -1.1, 1.3]]
g = [1.5, -0.5, 0.8, 1.1]
b = [0.1, 0.2, -0.3, 0.4]
t = [[0.1, -0.2, 0.6, 0.5], [0.3, 0.4, -0.8, 0.2], [-0.5, 0.6, 0.2, -0.7]]
mu = mean(x, axis=1, keepdims=True)
xc = x - mu
v = mean(xc ** 2, axis=1, keepdims=True)
r = (v + 0.01) ** -0.5
n = xc * r
y = n * g + b
L = mean((y - t) ** 2)
""",
        """
dy = 2 * (y - t) / 12
db = sum(dy, axis=0)
dg = sum(dy * n, axis=0)
dn = dy * g
dr = sum(dn * xc, axis=1, keepdims=True)
dv = dr * (-0.5) * r ** 3
dxc = dn * r + 2 * xc * dv / 4
dmu = -sum(dxc, axis=1, keepdims=True)
dx = dxc - mean(dxc, axis=1, keepdims=True)
""",
    ),
    "three-step RNN": (
        """
Wx = [[0.4, -0.2], [0.1, 0.5]]
Wh = [[0.3, 0.6], [-0.5, 0.2]]
V = [[0.7, -0.4], [0.2, 0.9]]
b = [0.1, -0.2]
x1 = [1.0, 0.5]
x2 = [-0.3, 0.8]
x3 = [0.2, -1.0]
t = [0.3, -0.6]
h1 = tanh(Wx @ x1 + b)
a2 = Wx @ x2 + Wh @ h1 + b
h2 = tanh(a2)
a3 = Wx @ x3 + Wh @ h2 + b
h3 = tanh(a3)
o = V @ h3
L = 0.5 * sum((o - t) ** 2)
""",
        """
do = o - t
dV = outer(do, h3)
dh3 = V.T @ do
da3 = dh3 * (1 - h3 ** 2)
dh2 = Wh.T @ da3
da2 = dh2 * (1 - h2 ** 2)
dh1 = Wh.T @ da2
a1 = dh1 * (1 - h1 ** 2)
dWh = outer(da3, h2) + outer(da2, h1)
dWx = outer(da3, x3) + outer(da2, x2) + outer(a1, x1)
db = da3 + da2 + a1
""",
    ),
    "attention": (
        """
Q = [[0.3, -0.2, 0.5], [0.1, 0.8, -0.4]]
K = [[0.6, 0.2, -0.1], [-0.3, 0.5, 0.9], [0.2, -0.7, 0.4]]
V = [[1.0, 0.5], [-0.4, 0.3], [0.7, -0.9]]
G = [[0.2, -0.6], [0.9, 0.4]]
S = Q @ K.T / 2
P = softmax(S, axis=1)
O = P @ V
L = sum(O * G)
""",
        """
dO = G
dV = P.T @ dO
dP = dO @ V.T
dS = P * (dP - sum(dP * P, axis=1, keepdims=True))
dQ = dS @ K / 2
dK = dS.T @ Q / 2
""",
    ),
    "logistic regression": (
        """
X = [[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0], [0.8, 0.1]]
y = [1.0, 0.0, 1.0, 0.0]
w = [0.4, -0.3]
c = 0.2
z = X @ w + c
s = sigmoid(z)
L = -mean(y * log(s) + (1 - y) * log(1 - s)) + 0.5 * 0.1 * sum(w ** 2)
""",
        """
dz = (s - y) / 4
dw = X.T @ dz + 0.1 * w
dc = sum(dz)
""",
    ),
    "quadratic form": (
        """
x = [1.0, 2.0, -0.5]
A = [[2.0, 1.0, 0.3], [4.0, 3.0, -0.6], [0.7, -1.2, 1.5]]
b = [0.5, -1.0, 2.0]
q = x @ A @ x
L = q - dot(b, x)
""",
        """
dx = A @ x + A.T @ x - b
dA = outer(x, x)
db = -x
""",
    ),
    "LSTM cell": (
        """
x = [0.5, -0.3]
c0 = [0.25, -0.4]
Wf = [[0.4, 0.2], [-0.1, 0.3]]
Wi = [[0.7, -0.5], [0.2, 0.6]]
Wg = [[-0.5, 0.1], [0.8, 0.4]]
Wo = [[0.9, 0.3], [-0.6, 0.2]]
t = [0.3, -0.2]
zf = Wf @ x
zi = Wi @ x
zg = Wg @ x
zo = Wo @ x
f = sigmoid(zf)
i = sigmoid(zi)
g = tanh(zg)
o = sigmoid(zo)
c = f * c0 + i * g
k = tanh(c)
h = o * k
L = 0.5 * sum((h - t) ** 2)
""",
        """
dh = h - t
do = dh * k
dk = dh * o
dc = dk * (1 - k ** 2)
df = dc * c0
dc0 = dc * f
di = dc * g
dg = dc * i
dzf = df * f * (1 - f)
dzi = di * i * (1 - i)
dzg = dg * (1 - g ** 2)
dzo = do * o * (1 - o)
dWf = outer(dzf, x)
dWg = outer(dzg, x)
dx = Wf.T @ dzf + Wi.T @ dzi + Wg.T @ dzg + Wo.T @ dzo
""",
    ),
    "convolution": (
        """
X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
W = [[1.0, 0.5], [-1.0, 2.0]]
T = [[0.1, 0.2], [0.3, 0.4]]
Z = conv2d(X, W)
H = relu(Z)
L = sum(H * T)
""",
        """
dH = T
dZ = dH * (Z > 0)
dW = conv2d(X, dZ)
dX = conv2d(dZ, flip(W, (0, 1)), pad=1)
""",
    ),
    "residual gate": (
        """
x = [0.6, -0.8, 0.3]
W = [[0.4, -0.2, 0.1], [0.3, 0.6, -0.5], [0.2, -0.7, 0.9]]
a = [0.7, -0.3, 0.5]
u = [0.2, 0.9, -0.4]
z = W @ x
h = sin(z)
y = x + a * h
e = exp(0.5 * y)
L = sum(e * u)
""",
        """
de = u
dy = de * 0.5 * e
da = dy * h
dh = dy * a
dz = dh * cos(z)
dW = outer(dz, x)
dx = dy + W.T @ dz
""",
    ),
    "ratio": (
        """
x = [1.5, 2.0, 0.7]
w = [0.4, 1.3, 0.9]
b = 0.8
n = sum(x * w)
d = sum(w ** 2) + b
r = n / d
q = log(d)
L = r ** 3 + 2 * q
""",
        """
dr = 3 * r ** 2
dn = dr / d
dq = 2
dd = 2 / d - dr * n / d ** 2
db = dd
dx = dn * w
dw = dn * x + dd * 2 * w
""",
    ),
    "joined": (
        """
h = [0.2, -0.4]
x = [1.0, 0.5, -1.0]
W = [[0.1, 0.2, 0.3, -0.4, 0.5], [0.6, -0.7, 0.8, 0.9, -1.0]]
b = [0.1, 0.05]
u = [1.0, -1.3]
j = concat([h, x], axis=0)
z = W @ j + b
f = sigmoid(z)
L = sum(f * u)
""",
        """
df = u
dz = df * f * (1 - f)
dW = outer(dz, j)
db = dz
dh = W[:, 0:2].T @ dz
dx = W[:, 2:5].T @ dz
""",
    ),
}
"""By name, a formula file and the right lines."""


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

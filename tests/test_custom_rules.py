"""Rules of differentiation that a file states: right ones are found right, and every usual slip is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_faults import run

import gradcli
from gradcli.verify.custom import check_custom_rules
from gradcli.verify.verdict import ResultCheck, Verdict

SAMPLES = Path(__file__).resolve().parent.parent / "samples"

LINEAR = """
x = [[1.0, 2, 3], [-1, 0.5, 2], [0, 1, -1], [2, -2, 0.5]]
w = [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]
b = [0.1, 0.2]
def my_linear(x, w, b):
    return x @ w.T + b
@my_linear.backward
def _(g, x, w, b):
    return {results}
L = sum(tanh(my_linear(x, w, b)))
"""

SQUARE = LINEAR.replace(
    "[[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]", "[[0.1, -0.2, 0.3], [0.4, 0.5, -0.6], [0.7, 0.8, 0.9]]"
).replace("b = [0.1, 0.2]", "b = [0.1, 0.2, 0.3]")

RELU = """
x = [1.0, -2.0, 0.5, -0.3]
c = [-1.0, 2.0, 3.0, -0.5]
def gate(x, c):
    return maximum(x, 0) * c
@gate.backward
def _(g, x, c):
    return {results}
L = sum(gate(x, c)**2)
"""

SLIPS = [
    (LINEAR, "g @ w, x.T @ g, sum(g, axis=0)", 2, "missing transpose"),
    (LINEAR, "g @ w, g.T @ x, g", 3, "missing sum"),
    (LINEAR, "g @ w, g.T @ x, sum(g, axis=1)", 3, "wrong shape"),
    (LINEAR, "g @ w, g.T @ x", 3, "result missing"),
    (LINEAR, "g @ w, g.T @ x, mean(g, axis=0)", 3, "mean for sum"),
    (LINEAR, "g @ w, -g.T @ x, sum(g, axis=0)", 2, "sign"),
    (LINEAR, "2 * g @ w, g.T @ x, sum(g, axis=0)", 1, "constant factor: 2"),
    (LINEAR, "ones((4, 2)) @ w, g.T @ x, sum(g, axis=0)", 1, "missing upstream"),
    (SQUARE, "g @ w.T, g.T @ x, sum(g, axis=0)", 1, "a transpose too many"),
    (SQUARE, "g @ w, x.T @ g, sum(g, axis=0)", 2, "missing transpose"),
    (SQUARE, "w @ g.T, g.T @ x, sum(g, axis=0)", 1, ""),
    (SQUARE, "x @ w, g.T @ x, sum(g, axis=0)", 1, "x stands where g belongs"),
    (RELU, "g * c, g * maximum(x, 0)", 1, "mask missing"),
    (RELU, "g * c * (x < 0), g * maximum(x, 0)", 1, "mask inverted"),
    (RELU, "g * c * (c > 0), g * maximum(x, 0)", 1, "mask on the wrong tensor"),
    (RELU, "g * maximum(x, 0), g * c * (x > 0)", 1, "wrong order of the results"),
    (RELU, "g * c * (x > 0), g * x", 2, "mask"),
    (RELU, "c * (x > 0), g * maximum(x, 0)", 1, "missing upstream"),
]


def checks(text: str) -> list[ResultCheck]:
    return check_custom_rules(gradcli.derive(text))


@pytest.mark.parametrize(("text", "results", "position", "slip"), SLIPS)
def test_slip_is_named(text: str, results: str, position: int, slip: str) -> None:
    found = checks(text.format(results=results))
    wrong = {c.position: c for c in found if not c.right}
    assert position in wrong
    assert wrong[position].slip.startswith(slip)
    assert ": wrong. expected " in wrong[position].sentence
    if "order" not in slip:
        assert list(wrong) == [position]


@pytest.mark.parametrize(
    ("text", "results"),
    [
        (LINEAR, "g @ w, g.T @ x, sum(g, axis=0)"),
        (LINEAR, "g @ w, (x.T @ g).T, ones(4) @ g"),
        (SQUARE, "(w.T @ g.T).T, einsum('ni,nj->ij', g, x), g.sum(axis=0)"),
        (RELU, "where(x > 0, g * c, 0), g * relu(x)"),
    ],
)
def test_right_rules_are_right_however_they_are_written(text: str, results: str) -> None:
    found = checks(text.format(results=results))
    assert found
    assert all(c.right for c in found), [c.sentence for c in found]


def test_the_sample_says_what_is_wrong() -> None:
    (_, wrong, _) = check_custom_rules(gradcli.derive(SAMPLES / "my_linear.txt"))
    assert wrong.sentence == (
        "my_linear.backward, result 2 (for w): wrong. expected g.T @ x, shape (2, 3); found x.T @ g, shape (3, 2)"
    )
    assert wrong.slip == "missing transpose"
    assert wrong.span is not None
    assert wrong.span.source.lines[wrong.span.line - 1][wrong.span.column - 1 : wrong.span.end_column - 1] == "x.T @ g"


def test_the_check_tells_what_is_wrong_and_fails() -> None:
    for command in ("check", "derive"):
        outcome = run(command, str(SAMPLES / "my_linear.txt"), COLUMNS="120")
        assert outcome.code == 1
        assert (
            "my_linear.backward, result 2 (for w): wrong. expected g.T @ x, shape (2, 3); found x.T @ g" in outcome.out
        )
        assert "slip: missing transpose\n" in outcome.out
        assert "result 1" not in outcome.out
        assert "1 result of the rules in the file is wrong" in outcome.out
    found = json.loads(run("check", "--format", "json", str(SAMPLES / "my_linear.txt")).out)["check"]
    assert found["wrong"]
    assert [r["verdict"] for r in found["custom_rules"]] == ["agree", "disagree", "agree"]
    assert found["custom_rules"][1]["slip"] == "missing transpose"
    assert found["custom_rules"][1]["found_shape"] == [3, 2]


def test_a_wrong_result_is_told_within_the_terminal() -> None:
    lines = run("check", str(SAMPLES / "my_linear.txt"), COLUMNS="60").out.splitlines()
    assert max(map(len, lines)) <= 60
    told = "wrong. expected g.T @ x, shape (2, 3); found x.T @ g, shape (3, 2)"
    assert told in " ".join(line.strip() for line in lines)


def test_the_check_says_that_a_rule_is_right(tmp_path: Path) -> None:
    file = tmp_path / "right.txt"
    file.write_text(LINEAR.format(results="g @ w, g.T @ x, sum(g, axis=0)"), encoding="utf-8")
    outcome = run("check", str(file))
    assert outcome.code == 0
    assert "my_linear.backward: right (3 results)\n" in outcome.out


def test_a_rule_that_cannot_be_tried_is_unresolved() -> None:
    text = """
x = 1.0
def f(x):
    return sqrt(x - 1e9)
@f.backward
def _(g, x):
    return g / (2 * sqrt(x - 1e9))
L = where(x > 0, x, f(x))
"""
    (found,) = checks(text)
    assert (found.verdict, found.slip) == (Verdict.UNRESOLVED, "")
    check = gradcli.check(gradcli.derive(text))
    assert not check.wrong
    assert check.doubtful


def test_the_derivation_is_that_of_the_forward_part() -> None:
    ours = gradcli.derive(LINEAR.format(results="g @ w, x.T @ g, g"))
    plain = gradcli.derive(LINEAR.replace("@my_linear.backward\ndef _(g, x, w, b):\n    return {results}\n", ""))
    for name in ("x", "w", "b"):
        assert (ours.gradient(name) == plain.gradient(name)).all()
    assert ours.order == plain.order


TORCH = """
import torch
class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b
    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        grad_x = grad_output @ w
        grad_w = grad_output.t() @ x
        grad_b = grad_output.sum(dim=0)
        return RESULTS
x = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], requires_grad=True)
w = torch.tensor([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]], requires_grad=True)
b = torch.zeros(2, requires_grad=True)
y = MyLinear.apply(x, w, b)
loss = y.pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("results", "right"),
    [
        ("grad_x, grad_w, grad_b", [True] * 3),
        ("grad_w, grad_x, grad_b", [False, False, True]),
        ("grad_x, grad_w, None", [True, True, False]),
    ],
)
def test_pytorch_function(results: str, right: list[bool]) -> None:
    found = checks(TORCH.replace("RESULTS", results))
    assert [c.right for c in found] == right
    if results.startswith("grad_w"):
        assert all("wrong order" in c.slip for c in found[:2])


LAYERS = """
import numpy as np
class Mul:
    def forward(self, x, y):
        self.x = x
        self.y = y
        return x * y
    def backward(self, dout):
        dx = dout * self.FIRST
        dy = dout * self.SECOND
        return dx, dy
class Dense:
    def __init__(self, W, b):
        self.W, self.b = W, b
    def forward(self, x):
        self.x = x
        return np.dot(x, self.W) + self.b
    def backward(self, dout):
        self.dW = np.dot(self.x.T, dout)
        self.db = BIAS
        return np.dot(dout, self.W.T)
price = 100.0
apples = 2.0
mul = Mul()
total = mul.forward(price, apples)
layer = Dense(np.array([[0.1, -0.2], [0.4, 0.5], [0.3, 0.6]]), np.array([0.1, 0.2]))
X = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])
loss = np.sum(layer.forward(X) ** 2) * total
"""


def test_layer_classes() -> None:
    text = LAYERS.replace("FIRST", "y").replace("SECOND", "x").replace("BIAS", "np.sum(dout, axis=0)")
    assert [(c.rule, c.operand, c.right) for c in checks(text)] == [
        ("Mul.backward", "x", True),
        ("Mul.backward", "y", True),
        ("Dense.backward", "x", True),
        ("Dense.backward", "self.W", True),
        ("Dense.backward", "self.b", True),
    ]
    wrong = [
        c
        for c in checks(
            text.replace("self.y\n        dy", "self.x\n        dy").replace("np.sum(dout, axis=0)", "dout")
        )
        if not c.right
    ]
    assert [(c.operand, c.slip.partition(":")[0]) for c in wrong] == [
        ("x", "self.x stands where self.y belongs".replace("self.", "")),
        ("self.b", "missing sum"),
    ]


PAIR = """
import numpy as np
def affine_forward(x, w, b):
    out = x.dot(w) + b
    cache = (x, w)
    return out, cache
def affine_backward(dout, cache):
    x, w = cache
    dx = dout.dot(w.T)
    dw = x.T.dot(dout)
    db = dout.sum(axis=0)
    return RESULTS
X = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])
W = np.array([[0.1, -0.2], [0.4, 0.5], [0.3, 0.6]])
B = np.array([0.1, 0.2])
scores, cache = affine_forward(X, W, B)
loss = np.sum(scores ** 2)
dX, dW, dB = affine_backward(2 * scores, cache)
"""


@pytest.mark.parametrize(
    ("results", "right"),
    [("dx, dw, db", 3), ("db, dw, dx", 3), ("dx, dw.T, dout.sum(axis=0)", 2), ("dx, dw, dout", 2)],
)
def test_pairs_of_functions(results: str, right: int) -> None:
    """Results that are named for what they are the gradients of may stand in any order, if nobody takes them."""
    found = checks(PAIR.replace("RESULTS", results).replace("dX, dW, dB = affine", "found = affine"))
    assert len(found) == 3
    assert sum(c.right for c in found) == right


AFFINE_PAIR = """
import numpy as np
def affine_forward(x, w, b):
    out = x.dot(w) + b
    cache = (x, w, b)
    return out, cache
def affine_backward(dout, cache):
    x, w, b = cache
    dx = dout.dot(w.T)
    dw = x.T.dot(dout)
    db = dout
    return dx, dw, db
x = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.2]])
w = np.array([[0.5, -0.3], [0.8, 0.1]])
b = np.array([0.1, -0.2])
out, cache = affine_forward(x, w, b)
loss = np.sum(out ** 2)
dout = 2 * out
dx, dw, db = affine_backward(dout, cache)
"""

SHOP = """
class MultiplyLayer:
    def __init__(self):
        self.x = None
        self.y = None
    def forward(self, x, y):
        self.x = x
        self.y = y
        return x * y
    def backward(self, dout):
        dx = dout * self.x
        dy = dout * self.y
        return dx, dy
class AddLayer:
    def forward(self, x, y):
        return x + y
    def backward(self, dout):
        return dout * 1, dout * 1
apple = 100
n = 2
tax = 1.1
orange = 150
m = 3
l1 = MultiplyLayer()
l2 = MultiplyLayer()
add = AddLayer()
l3 = MultiplyLayer()
ap = l1.forward(apple, n)
op = l2.forward(orange, m)
al = add.forward(ap, op)
price = l3.forward(al, tax)
dprice = 1
dal, dtax = l3.backward(dprice)
dap, dop = add.backward(dal)
dorange, dm = l2.backward(dop)
dapple, dn = l1.backward(dap)
print(price)
"""


@pytest.mark.parametrize(
    ("text", "output", "told"),
    [
        (TORCH.replace("RESULTS", "grad_x, grad_w, grad_b"), "loss", ["MyLinear.backward: right (3 results)"]),
        (
            TORCH.replace("RESULTS", "grad_w, grad_x, grad_b"),
            "loss",
            [
                "MyLinear.backward, result 1 (for x): wrong. expected grad_output @ w, shape (2, 3); "
                "found grad_output.t() @ x, shape (2, 3)",
                "slip: wrong order of the results: this is the gradient for w",
            ],
        ),
        (
            AFFINE_PAIR,
            "loss",
            ["affine_backward, result 3 (for b): wrong. expected sum(dout, axis=0)", "slip: missing sum"],
        ),
        (AFFINE_PAIR.replace("db = dout", "db = dout.sum(axis=0)"), "loss", ["affine_backward: right (3 results)"]),
        (
            SHOP,
            "price",
            [
                "MultiplyLayer.backward, result 1 (for x): wrong. expected dout * y",
                "AddLayer.backward: right (2 results)",
            ],
        ),
        (
            SHOP.replace("dout * self.x", "dout * self.swap")
            .replace("dout * self.y", "dout * self.x")
            .replace("self.swap", "self.y"),
            "price",
            ["MultiplyLayer.backward: right (2 results)"],
        ),
    ],
)
def test_pasted_rules_are_judged_by_the_command(text: str, output: str, told: list[str], tmp_path: Path) -> None:
    file = tmp_path / "pasted.py"
    file.write_text(text, encoding="utf-8")
    outcome = run("check", str(file), COLUMNS="120")
    assert outcome.code == int("wrong" in told[0])
    assert f"d{output}/d" in outcome.out
    flat = " ".join(outcome.out.split())
    for line in told:
        assert line in flat

"""Programs: loops, families, conditions, functions, classes, containers; and where a pass of training ends.

Each row is a program and the same thing written out, or numbers that follow from a glance at it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli

A = "x = 2.0\ny = 3.0\nw = [1.0, -2.0, 0.5]\nW = [[0.1, 0.2], [0.3, -0.4]]\nv = [1.0, -1.0]\n"

SAME: dict[str, tuple[str, str]] = {
    "a loop": ("s = 0\nfor t in range(3):\n    s += x * t\nL = s * y", "L = (x * 0 + x * 1 + x * 2) * y"),
    "a family": (
        "h[0] = v\nfor t in range(1, 4):\n    h[t] = tanh(W @ h[t-1])\nL = sum(h[3])",
        "L = sum(tanh(W @ tanh(W @ tanh(W @ v))))",
    ),
    "a family of two indices": (
        "for i in range(2):\n    for j in range(2):\n        a[i, j] = W[i, j] * v[j]\nL = a[0, 0] + a[0, 1] * a[1, 1]",
        "L = W[0, 0]*v[0] + (W[0, 1]*v[1]) * (W[1, 1]*v[1])",
    ),
    "a tensor is run through": ("s = 0\nfor r in W:\n    s = s + r @ v\nL = s * s", "L = (W[0] @ v + W[1] @ v)**2"),
    "enumerate": (
        "s = 0\nfor k, a in enumerate(w):\n    s = s + (k + 1) * a**2\nL = s",
        "L = w[0]**2 + 2*w[1]**2 + 3*w[2]**2",
    ),
    "zip and reversed": (
        "s = 0\nfor a, b in zip(w, reversed([x, y, x*y])):\n    s = s + a * b\nL = s",
        "L = w[0]*x*y + w[1]*y + w[2]*x",
    ),
    "a generator": ("L = sum(w[k] * w[k+1] for k in range(2))", "L = w[0]*w[1] + w[1]*w[2]"),
    "a generator with a condition": ("L = sum(w[k]**2 for k in range(3) if k != 1)", "L = w[0]**2 + w[2]**2"),
    "two generators": (
        "L = sum(W[i, j] for i in range(2) for j in range(2) if i <= j)",
        "L = W[0, 0] + W[0, 1] + W[1, 1]",
    ),
    "a list that grows": (
        "hs = [v]\nfor t in range(2):\n    hs.append(W @ hs[-1])\nL = sum(hs[-1]) * sum(hs[1])",
        "L = sum(W @ (W @ v)) * sum(W @ v)",
    ),
    "a list is a tensor": (
        "p = [x, y, x*y]\nL = sum(p * w) + sum(2 * p)",
        "L = x*w[0] + y*w[1] + x*y*w[2] + 2*(x + y + x*y)",
    ),
    "stack of a grown list": (
        "hs = []\nfor k in range(3):\n    hs.append(w[k] * x)\nL = sum(stack(hs)**2)",
        "L = sum((w * x)**2)",
    ),
    "slices of a list": ("q = [x, y, x + y]\nL = sum(a * b for a, b in zip(q[:-1], q[1:]))", "L = x*y + y*(x + y)"),
    "a dictionary": ('p = {"a": W, "b": v}\nL = sum(p["a"] @ p["b"])', "L = sum(W @ v)"),
    "dictionary methods": (
        'p = {"a": x, "b": y}\nL = 1\nfor k, u in p.items():\n    L = L * u\nL = L + len(p)',
        "L = x * y + 2",
    ),
    "a dictionary comprehension": ('p = {f"w{k}": w[k] for k in range(3)}\nL = p["w0"] * p["w2"]', "L = w[0] * w[2]"),
    "names of entries": (
        'p = {}\nfor k in range(2):\n    p["W" + str(k)] = W[k] * x\nL = sum(p["W1"])',
        "L = sum(W[1] * x)",
    ),
    "if": ("if x > 1:\n    L = x * y\nelse:\n    L = x + y", "L = x * y"),
    "elif": ("if x > 10:\n    L = x\nelif y > 2 and x < 3:\n    L = x * y * y\nelse:\n    L = y", "L = x * y * y"),
    "a conditional expression": ("L = x * y if x < 0 else x - y", "L = x - y"),
    "while": ("z = x\nwhile z < 50:\n    z = z * y\nL = z", "L = x * y * y * y"),
    "break and continue": (
        "L = 0\nfor t in range(10):\n    if t == 1:\n        continue\n    if t > 3:\n        break\n    L = L + x**t",
        "L = x**0 + x**2 + x**3",
    ),
    "a function": (
        "def f(a, b=2, *, c=1):\n    z = a * b\n    return z + c\nL = f(x) * f(y, c=x)",
        "L = (x*2 + 1) * (y*2 + x)",
    ),
    "several results": ("def f(a):\n    return a * a, a + 1\np, q = f(x)\nL = p * q", "L = (x*x) * (x + 1)"),
    "a closure": (
        "def scale(a):\n    return a * y\nL = scale(scale(x))".replace("scale(scale(x))", "scale(x) + scale(x * x)"),
        "L = x*y + x*x*y",
    ),
    "a function of a function": (
        "def twice(f, a):\n    return f(a) * f(a)\nL = twice(tanh, x) + twice(lambda a: a * y, x)",
        "L = tanh(x)*tanh(x) + (x*y)*(x*y)",
    ),
    "star arguments": (
        "def f(*parts, **more):\n    return sum(parts) * more['k']\nargs = [x, y]\nL = f(*args, k=x)",
        "L = (x + y) * x",
    ),
    "early return": ("def f(a):\n    if a > 0:\n        return a * a\n    return -a\nL = f(x) + f(-y)", "L = x*x + y"),
    "nested functions": (
        "def outer_(a):\n    def inner_(b):\n        return a * b\n    return inner_(y)\nL = outer_(x)",
        "L = x * y",
    ),
    "a class": (
        "class Line:\n"
        "    def __init__(self, a, b):\n"
        "        self.a = a\n"
        "        self.b = b\n"
        "    def __call__(self, t):\n"
        "        return self.a * t + self.b\n"
        "f = Line(x, y)\n"
        "L = f(3.0) * f(2.0)",
        "L = (x*3.0 + y) * (x*2.0 + y)",
    ),
    "inheritance": (
        "class Base:\n"
        "    def go(self, a):\n"
        "        return self.f(a) * 2\n"
        "class Sub(Base):\n"
        "    def f(self, a):\n"
        "        return a * y\n"
        "    def go(self, a):\n"
        "        return super().go(a) + a\n"
        "L = Sub().go(x)",
        "L = x*y*2 + x",
    ),
    "a part is set": ("z = v * x\nz[0] = y\nL = sum(z * z)", "L = y*y + (v[1]*x)**2"),
    "a part is changed": ("z = v * x\nz[1:] += y\nz[0] *= 3\nL = sum(z * z)", "L = (3*v[0]*x)**2 + (v[1]*x + y)**2"),
    "a masked part is set": ("z = w * x\nz[z < 0] = 0\nL = sum(z * z)", "L = (w[0]*x)**2 + (w[2]*x)**2"),
    "arrays have one identity": ("a = w * 1\nb = a\nb[0] = y\nL = sum(a)", "L = y + w[1] + w[2]"),
    "rows of an array": (
        "h = zeros((3, 2))\nh[0] = v\nfor t in range(2):\n    h[t + 1] = W @ h[t]\nL = sum(h)",
        "L = sum(v) + sum(W @ v) + sum(W @ (W @ v))",
    ),
    "labels of a loop": (
        "y_ = [1, 0]\nz = W @ v\nL = 0\nfor k, c in enumerate(y_):\n    L = L + cross_entropy(z * (k + 1), c)",
        "L = cross_entropy(W @ v, 1) + cross_entropy((W @ v)*2, 0)",
    ),
    "unpacking": ("a, *rest = [x, y, x + y]\n(b, c), d = (rest[0], rest[1]), a\nL = a*b + c*d", "L = x*y + (x + y)*x"),
    "a walrus": ("L = (t := x * y) + t * t", "L = x*y + (x*y)*(x*y)"),
    "max of numbers": ("n = max(2, 3)\nL = sum(w[k] for k in range(n))", "L = w[0] + w[1] + w[2]"),
}


@pytest.mark.parametrize("name", SAME)
def test_program_is_what_it_does(name: str) -> None:
    program, written_out = (gradcli.derive(A + text, of="L") for text in SAME[name])
    assert program.value("L") == pytest.approx(written_out.value("L"), rel=1e-12)
    for node in ("x", "y", "w", "W", "v"):
        np.testing.assert_allclose(
            program.gradient(node), written_out.gradient(node), rtol=1e-11, atol=1e-14, err_msg=node
        )


NAMES: dict[str, tuple[str, list[str]]] = {
    "members": ("h[0] = x\nfor t in range(2):\n    h[t+1] = h[t] * y\nL = h[2]", ["h[1]", "h[2]", "L"]),
    "calls": (
        "def layer(a):\n    z = a * y\n    return relu(z)\nh = layer(x)\nL = layer(h)",
        ["layer1.z", "h", "layer2.z", "L"],
    ),
    "entries": ('p = {"a": [1.5, 2.5], "b": x * y}\nL = sum(p["a"]) * p["b"]', ['p["a"]', 'p["b"]', "L"]),
    "attributes": (
        "class Net:\n"
        "    def __init__(self):\n"
        "        self.k = array([1.5, 2.0])\n"
        "    def forward(self, t):\n"
        "        z = self.k * t\n"
        "        return z.sum()\n"
        "net = Net()\n"
        "L = net.forward(x)",
        ["net.k", "net.z", "L"],
    ),
    "containers returned": (
        'def make():\n    p = {"W": array([1.0, 2.0])}\n    return p\nparams = make()\nL = sum(params["W"] * x)',
        ['params["W"]', "L"],
    ),
    "a list of layers": (
        "import torch.nn as nn\nm = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))\nL = m(v).sum()",
        ["m[0].weight", "m[0].bias", "m[2].weight", "m[2].bias", "L"],
    ),
    "names given again": ("h = x\nfor t in range(2):\n    h = h * y\nL = h + 1", ["h'1", "h'2", "h", "L"]),
}


@pytest.mark.parametrize("name", NAMES)
def test_nodes_are_named_as_a_person_would(name: str) -> None:
    text, names = NAMES[name]
    report = gradcli.derive(A + text)
    known = [n.name for n in report.shown if n.number not in report.traced.inner][5:]
    assert sorted(n for n in known if n in names) == sorted(names)
    assert report.output == "L"


NOTES = {
    "a branch": ("s = 0.3\nif s > 0:\n    L = s * x\nelse:\n    L = x", "line 7: this branch, because s = 0.3 > 0"),
    "a branch on a whole number": (
        "k = 3\nif k > 2:\n    L = k * x\nelse:\n    L = x",
        "line 7: this branch, because k = 3 > 2",
    ),
    "no branch": (
        "s = -0.3\nif s > 0:\n    L = s * x\nelse:\n    L = x",
        "line 7: not this branch, because s = -0.3 is not > 0",
    ),
    "two passes": (
        "L1 = x * y\nL1.backward()\nL2 = x * x\nL2.backward()",
        "together they are the gradients of `total`",
    ),
    "set to zero": (
        "L1 = x * y\nL1.backward()\nx.grad.zero_()\nL2 = x * x\nL2.backward()",
        "the gradients of line 7 were set to zero",
    ),
    "a step": (
        "import torch\nopt = torch.optim.SGD([x], lr=0.1)\nL = x * y\nL.backward()\nopt.step()\nq = x.foo",
        "changes the parameters",
    ),
    "a torch seed": (
        "import torch\ntorch.manual_seed(0)\nr = torch.randn(2)\nL = sum(r * v)",
        "differ from those of the program",
    ),
    "an accuracy": ("L = x * y\nacc = (x > 1).mean()", "the output is `L`; `acc`, defined after it, has no derivative"),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_was_decided_is_said(name: str) -> None:
    text, words = NOTES[name]
    report = gradcli.derive(A + text)
    assert any(words in note for note in report.notes), report.notes


def test_conditions_leave_no_trace_in_the_graph() -> None:
    text = "n = 0.0\nwhile sum(w) * x + n < 3 and not n > 10:\n    n = n + y\nL = n * x\n"
    report = gradcli.derive(A + text)
    assert {n.op.name for n in report.shown if n.operands} == {"add", "multiply"}


def test_two_passes_add_up() -> None:
    text = "a = x * y\na.backward()\nb = x * x * y\nb.backward()"
    assert gradcli.derive(A + text).gradient("x") == 3 + 2 * 2 * 3


def test_a_seed_for_each_pass() -> None:
    text = (
        "import torch\nc = W @ v\nc.backward(torch.tensor([1.0, 2.0]))\nd = x * v\nd.backward(torch.tensor([3.0, 5.0]))"
    )
    report = gradcli.derive(A + text)
    np.testing.assert_allclose(report.gradient("W"), np.outer([1, 2], [1, -1]))
    assert report.gradient("x") == 3 - 5


@pytest.mark.parametrize(
    "line",
    [
        "w -= 0.1 * dw",
        "w = w - 0.1 * dw",
        "w[:] = w - 0.1 * dw",
        "m = 0.9 * 0 + dw; w -= 0.1 * m",
        "for p, dp in zip([w], [dw]): p -= 0.1 * dp",
    ],
)
def test_a_pass_ends_where_a_parameter_changes(line: str) -> None:
    text = f"for epoch in range(50):\n    L = sum(w * w * x)\n    dw = 2 * w * x\n    {line}\n"
    text = text.replace("; ", "\n    ").replace("]): p", "]):\n        p")
    report = gradcli.derive(A + text)
    assert len(report.traced.graph.nodes) < 30
    assert report.output == "L"


@pytest.mark.parametrize(("library", "slope"), [("numpy", 2 * 2 * 2), ("jax.numpy", 2)])
def test_in_place_is_seen_by_the_caller_where_arrays_change(library: str, slope: float) -> None:
    """`a += b` inside a function changes NumPy's array itself; JAX's arrays never change."""
    text = f"import {library} as xp\ndef f(a):\n    a *= 2.0\n    return a\n"
    text += "u = w * 1\nr = f(u)\nL = xp.sum(u * u) / 2 + 0 * x"
    gradient = gradcli.derive(A + text).gradient("w")
    np.testing.assert_allclose(gradient, slope * np.array([1.0, -2.0, 0.5]) / 2)


def test_a_sum_in_a_loop_is_no_update() -> None:
    text = "dt = 0.1\nq = 1.0\nfor t in range(3):\n    u = -q * y\n    q += u * dt\nL = q * q"
    report = gradcli.derive(A + text)
    assert report.value("q") == pytest.approx((1 - 0.3) ** 3)


def test_seeded_numpy_draws_are_numpys_own() -> None:
    text = (
        "import numpy as np\n"
        "np.random.seed(3)\n"
        "a = np.random.randn(2, 2)\n"
        "b = np.random.default_rng(5).normal(size=3)\n"
        "L = np.sum(a) + np.sum(b)"
    )
    report = gradcli.derive(text)
    np.testing.assert_array_equal(report.value("a"), np.random.RandomState(3).randn(2, 2))
    np.testing.assert_array_equal(report.value("b"), np.random.default_rng(5).normal(size=3))


REFUSED = {
    "an unknown context": ("with open('f') as f:\n    L = x", "not-in-language"),
    "an argument too many": ("def f(a):\n    return a\nL = f(x, y)", "argument-count"),
    "an unknown keyword": ("def f(a):\n    return a\nL = f(x, b=y)", "unknown-argument"),
    "a condition on a tensor": ("if w > 0:\n    L = x", "wrong-argument"),
    "mutual recursion": ("def f(a):\n    return g(a)\ndef g(a):\n    return f(a)\nL = f(x)", "recursion"),
    "a loop over a number": ("for t in x:\n    L = x", "wrong-argument"),
    "a missing entry": ("p = {}\nL = x * p['q']", "unknown-member"),
    "indices set twice": ("z = w * x\nz[[0, 0]] = [x, y]\nL = sum(z)", "repeated-index"),
    "a part that does not fit": ("z = w * x\nz[:2] = w\nL = sum(z)", "shape-mismatch"),
    "a dictionary in arithmetic": ("p = {'a': x}\nL = p * 2", "wrong-kind"),
    "an object in arithmetic": ("class N:\n    pass\nn = N()\nL = n + x", "wrong-kind"),
    "a giant loop": ("for t in range(10**9):\n    L = x", "too-large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_one_clear_fault(name: str) -> None:
    text, code = REFUSED[name]
    with pytest.raises(gradcli.GradError) as caught:
        gradcli.derive(A + text)
    assert [p.code for p in caught.value.problems] == [code]


@pytest.mark.parametrize("where", ["for t in range(5):\n    ", "def f(t):\n    ", "if True:\n    "])
def test_a_fault_inside_a_block_is_told_once(where: str) -> None:
    with pytest.raises(gradcli.GradError) as caught:
        gradcli.derive(
            A + where + "z = q * t\n" + ("u = f(1)\nu = f(2)\n" if where.startswith("def") else "") + "M = r\n"
        )
    assert sorted({(p.code, p.message) for p in caught.value.problems}) == [
        ("unknown-name", "`q` is not defined"),
        ("unknown-name", "`r` is not defined"),
    ][:2] or where.startswith("if")


def test_long_loops_are_fast_and_flat() -> None:
    report: Any = gradcli.derive("x = 0.5\nh = x\nfor t in range(20000):\n    h = h * 0.9999 + x * 0.0001\nL = h * h")
    assert len(report.traced.graph.nodes) > 60_000


def test_truncation_and_clipping() -> None:
    text = "a = 0.5\nh[0] = 1.0\nfor t in range(1, 5):\n    h[t] = a * h[t-1]\nL = h[4]"
    whole = gradcli.derive(text)
    cut = gradcli.derive(text, truncate={"h": 2}, clip_norm=0.1)
    assert whole.gradient("a") == pytest.approx(4 * 0.5**3)
    assert cut.gradient("a") == pytest.approx(2 * 0.5**3)  # h[2] is data: only the last two steps are left
    assert cut.truncation is not None
    assert [name for name, _ in cut.truncation.cuts] == ["h[2]"]
    assert cut.clipping is not None
    after = [c.after for c in cut.clipping.changes]
    assert np.linalg.norm(after) == pytest.approx(0.1)
    (sequence,) = whole.sequences
    assert [s.jacobian for s in sequence.states] == [0.5, 0.5, 0.5, None]
    assert [s.product for s in sequence.states] == [0.125, 0.25, 0.5, 1.0]
    assert [s.norm for s in sequence.states] == [0.125, 0.25, 0.5, 1.0]


def test_entries_are_named_in_options() -> None:
    text = "for i in range(2):\n    a[i, 0] = W[i, 0] * x\np = {'k': a[0, 0] + a[1, 0]}\nL = p['k'] * y"
    report = gradcli.derive(A + text, wrt="x, a[0, 0], p['k']")
    assert list(report.gradients) == ["x", "a[0, 0]", 'p["k"]']
    assert report.gradient("a[0, 0]") == 3

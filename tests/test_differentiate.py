"""The reverse sweep: what arrives where, in which order, and what happens where slopes are not finite."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.api import read_graph
from gradcli.differentiate import adjoint_sweep, sweep
from gradcli.evaluate import evaluate, evaluate_nodes
from gradcli.graph import INPUT, Adjoint, Graph, Node, backward_order
from gradcli.graph.op import INFIX, REGISTRY


def gradients(text: str, **options: Any) -> dict[str, Any]:
    report = gradcli.derive(text, **options)
    return {name: np.asarray(row.value).tolist() for name, row in report.gradients.items()}


def sent(text: str, **options: Any) -> list[tuple[str, str, Any]]:
    """Every contribution in the order of the sweep: from, to, value."""
    steps = gradcli.derive(text, **options).steps()
    return [(s.node, c.operand, np.asarray(c.value).tolist()) for s in steps for c in s.contributions]


# Contributions ------------------------------------------------------------------------------------

SUMS = [
    ("x = 3\nz = x * x", {"x": 6.0}),
    ("x = 3\nz = x + x", {"x": 2.0}),
    ("x = 3\nz = x - x", {"x": 0.0}),
    ("x = 4\nz = x / x", {"x": 0.0}),
    ("x = 2\ny = 3\nu = x * y\nv = x + y\nz = u * v", {"x": 21.0, "y": 16.0, "u": 5.0, "v": 6.0}),
    ("x = 2\na = x * x\nb = a + x\nc = a * b\nz = b * c", {"x": 384.0, "a": 84.0, "b": 48.0, "c": 6.0}),
    ("x = [1, 2]\nz = sum(x * x[0])", {"x": [4.0, 1.0]}),
    ("x = [1, 2, 3]\nz = sum(x[[0, 2, 2]])", {"x": [1.0, 0.0, 2.0]}),
    ("a = [[1, 2], [3, 4]]\nz = sum(a @ a.T)", {"a": [[8.0, 12.0], [8.0, 12.0]]}),
    ("b = [1, 2]\nX = [[1, 1], [2, 3]]\nz = sum(X * b)", {"b": [3.0, 4.0], "X": [[1.0, 2.0], [1.0, 2.0]]}),
    ("b = 2\nX = [[1, 1], [2, 3]]\nz = sum(X * b)", {"b": 7.0}),
    ("x = 3\nd = detach(x)\nz = x * d", {"x": 3.0}),
    ("x = 3\nd = detach(x * x)\nz = d * 2 + x", {"x": 1.0}),
    ("x = const(3)\nw = 2\nz = x * w", {"w": 3.0}),
    ("x = [1.0, -2.0]\nm = x > 0\nz = sum(m * x)", {"x": [1.0, 0.0]}),
    ("x = 1\nunused = x * 5\nz = x * 2", {"x": 2.0, "unused": 0.0}),
]


@pytest.mark.parametrize(("text", "right"), SUMS)
def test_contributions_add_up(text: str, right: dict[str, Any]) -> None:
    found = gradients(text)
    assert {name: found[name] for name in right} == right


def test_a_square_written_as_a_product_sends_twice() -> None:
    assert sent("x = 3\nz = x * x") == [("z", "x", 3.0), ("z", "x", 3.0)]


def test_a_diamond_sends_along_both_sides() -> None:
    assert sent("x = 2\na = x * 3\nb = x * 5\nz = a + b") == [
        ("z", "a", 1.0),
        ("z", "b", 1.0),
        ("b", "x", 5.0),
        ("a", "x", 3.0),
    ]


def test_nothing_is_sent_where_the_gradient_is_cut() -> None:
    cut = sent("x = 3\nd = detach(x)\nm = x > 1\nz = x * d + m")
    assert {(a, b) for a, b, _ in cut} == {("z", "v1"), ("v1", "x"), ("v1", "d")}


# Matrix products and broadcasting: the shapes that a rule must get back to --------------------------

PRODUCTS = [((2,), (2,)), ((2,), (2, 3)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4))]
PRODUCTS += [
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((2, 1), (5, 1, 4)),
]


@pytest.mark.parametrize(("a", "b"), PRODUCTS)
def test_matrix_products_of_every_rank(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Against einsum's own derivative: the product is linear in either operand."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal(a), rng.standard_normal(b)
    seed = rng.standard_normal((left @ right).shape)
    text = f"a = {left.tolist()}\nb = {right.tolist()}\nc = a @ b"
    report = gradcli.derive(text, upstream={"c": seed})
    for name, value in (("a", left), ("b", right)):
        slopes = np.zeros(value.shape)
        for at in np.ndindex(*value.shape):
            unit = np.zeros(value.shape)
            unit[at] = 1
            slopes[at] = np.sum(seed * (unit @ right if name == "a" else left @ unit))
        np.testing.assert_allclose(report.gradient(name), slopes, 1e-12, 1e-12)


# Order ------------------------------------------------------------------------------------------

BINARY = [INFIX["+"], INFIX["-"], INFIX["*"]]


@st.composite
def graphs(draw: Any) -> Graph:
    """Graphs of scalars in which every node may be used again, or not at all."""
    graph = Graph()
    inputs = draw(st.integers(1, 4))
    for k in range(inputs):
        graph.input(float(k + 1), "float64", f"x{k}", 1)
    for _ in range(draw(st.integers(1, 25))):
        last = len(graph.nodes) - 1
        if draw(st.integers(0, 5)) == 0:
            name = draw(st.sampled_from(["tanh", "sin", "detach"]))
            graph.add(REGISTRY[name], (graph.nodes[draw(st.integers(0, last))],), None, 1)
        elif draw(st.integers(0, 8)) == 0:
            graph.input(0.5, "float64", f"y{last}", 1)
        else:
            pair = (graph.nodes[draw(st.integers(0, last))], graph.nodes[draw(st.integers(max(0, last - 3), last))])
            graph.add(draw(st.sampled_from(BINARY)), pair, None, 1)
    return graph


def edges(order: list[Node]) -> list[tuple[Node, Node]]:
    """Consumer and operand, for every way that a gradient takes."""
    return [(n, o) for n in order for s, o in enumerate(n.operands) if o.differentiable and n.op.passes(s)]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(graphs())
def test_order_is_a_reverse_topological_order(graph: Graph) -> None:
    output = graph.nodes[-1]
    order = backward_order(output)
    place = {n.number: k for k, n in enumerate(order)}
    assert order[0] is output
    assert len(place) == len(order)
    assert all(place[n.number] < place[o.number] for n, o in edges(order))
    kinds = [n.op is INPUT for n in order]
    assert kinds == sorted(kinds), "inputs come last"
    reached = {output.number}
    for node in reversed(graph.nodes):
        if node.number in reached:
            reached |= {o.number for _, o in edges([node])}
    assert place.keys() == reached


@settings(derandomize=True, max_examples=100, deadline=None)
@given(graphs(), st.data())
def test_with_wrt_only_ways_to_it_are_swept(graph: Graph, data: st.DataObject) -> None:
    output = graph.nodes[-1]
    full = backward_order(output)
    values = evaluate(graph)
    target = data.draw(st.sampled_from(full))
    order = backward_order(output, [target])
    leads = {target.number}
    for node in reversed(full):
        leads |= {n.number for n, o in edges([node]) if o.number in leads}
    assert [n.number for n in order] == [n.number for n in full if n.number in leads]
    whole, part = sweep(full, values, 1.0), sweep(order, values, 1.0)
    assert part.gradients[target.number] == pytest.approx(whole.gradients[target.number], rel=1e-12, nan_ok=True)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(graphs())
def test_adjoint_graph_of_a_whole_graph(graph: Graph) -> None:
    """The gradients as nodes have the values of the numeric sweep, at every node."""
    order = backward_order(graph.nodes[-1])
    values = evaluate(graph)
    swept = sweep(order, values, 1.0)
    adjoint = Adjoint(graph.nodes, len(graph.nodes))
    nodes = adjoint_sweep(order, 1.0, adjoint)
    values = evaluate_nodes(adjoint.nodes, values, plain=True)
    for node in order:
        right = swept.gradients[node.number]
        assert values[nodes[node.number].number] == pytest.approx(right, rel=1e-9, abs=1e-9 * abs(right), nan_ok=True)


def test_order_of_the_report_and_wrt() -> None:
    text = "x = 2\ny = 3\nw = 4\np = x + y\nz = p * w"
    assert gradcli.derive(text).order == ["z", "p", "w", "y", "x"]
    assert gradcli.derive(text, wrt=["w"]).order == ["z", "w"]
    assert gradcli.derive(text, wrt=["x"]).order == ["z", "p", "x"]
    assert gradcli.derive(text, wrt=["p"]).order == ["z", "p"]
    assert gradcli.derive(text, of="p").order == ["p", "y", "x"]


# Size -------------------------------------------------------------------------------------------


def test_a_chain_of_200_000_nodes() -> None:
    graph = Graph()
    x = node = graph.input(0.5, "float64", "x", 1)
    for _ in range(100_000):
        node = graph.add(INFIX["+"], (graph.add(INFIX["u-"], (node,), None, 1), x), None, 1)
    order = backward_order(node)
    assert len(order) == 200_001
    # y -> x - y, an even number of times, is y; but each one adds its own x
    swept = sweep(order, evaluate(graph), 1.0)
    assert swept.gradients[x.number] == 1.0
    adjoint = Adjoint(graph.nodes, len(graph.nodes))
    assert adjoint_sweep(order, 1.0, adjoint)[x.number].shape == ()


def test_a_node_with_50_000_consumers() -> None:
    graph = Graph()
    x = graph.input(2.0, "float64", "x", 1)
    total = graph.input(0.0, "float64", "s", 1)
    for _ in range(50_000):
        total = graph.add(INFIX["+"], (total, graph.add(INFIX["*"], (x, x), None, 1)), None, 1)
    swept = sweep(backward_order(total), evaluate(graph), 1.0)
    assert swept.gradients[x.number] == 200_000.0
    assert backward_order(total)[-1].op is INPUT


# Seeds and precision ------------------------------------------------------------------------------


def test_seeds() -> None:
    text = "x = [1, 2]\ny = x * x"
    assert gradients(text, upstream={"y": [1, 10]})["x"] == [2.0, 40.0]
    assert gradients(text, upstream={"y": "[1, 10]"})["x"] == [2.0, 40.0]
    assert gradients(text, upstream={"y": 1.0})["x"] == [2.0, 4.0]
    assert gradients(text + "\ng = const([3, 4])", upstream={"y": "g"})["x"] == [6.0, 16.0]
    assert gradients(text + "\ng = const([3, 4])\ny.backward(g)")["x"] == [6.0, 16.0]
    assert gradients("x = 3\nz = x * x", upstream={"z": 0.5}) == {"x": 3.0, "z": 0.5}
    with pytest.raises(gradcli.GradError):
        gradcli.derive(text)
    with pytest.raises(gradcli.GradError):
        gradcli.derive(text, upstream={"y": [1, 2, 3]})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_precision_is_kept(dtype: str) -> None:
    text = f"x = {dtype}([0.1, 0.2])\nw = {dtype}(3.0)\nh = tanh(2 * x * w) + 1\nL = sum(h / 3)"
    report = gradcli.derive(text)
    for name in ("x", "w", "h", "L"):
        assert str(np.asarray(report.value(name)).dtype) == dtype
        assert str(np.asarray(report.gradient(name)).dtype) == dtype
    mixed = gradcli.derive(f"x = {dtype}([0.1, 0.2])\nw = [1.0, 2.0]\nL = sum(x * w)")
    assert str(mixed.gradient("x").dtype) == dtype
    assert mixed.gradient("w").dtype == np.float64


# Slopes that are not finite, and conventions ---------------------------------------------------------

INF, NAN = math.inf, math.nan

SLOPES = [
    ("x = 0.0\nz = sqrt(x)", {"x": INF}),
    ("x = [0.0, 4.0]\nz = sum(sqrt(x))", {"x": [INF, 0.25]}),
    ("x = 0.0\nz = log(x)", {"x": INF}),
    ("x = 0.0\nz = 1 / x", {"x": -INF}),
    ("x = [0.0, 2.0]\nz = sum(1 / x)", {"x": [-INF, -0.25]}),
    ("x = -1.0\nz = log(x)", {"x": -1.0}),
    ("x = -1.0\nz = sqrt(x)", {"x": NAN}),
    ("x = 0.0\ny = 0.0\nz = x / y", {"x": INF, "y": NAN}),
    ("x = 800.0\nz = exp(x)", {"x": INF}),
    ("x = 1e200\nz = x * x * x", {"x": INF}),
    ("x = inf\nz = exp(-x)", {"x": 0.0}),
    ("x = nan\nz = x * 2", {"x": 2.0}),
    ("x = 0.0\nz = 0 * sqrt(x)", {"x": NAN}),  # an infinite slope times a 0 that was computed: no rule knows
    # powers
    ("x = 0.0\nz = x ** 0", {"x": 0.0}),
    ("x = [0.0, 2.0]\nz = sum(x ** 0)", {"x": [0.0, 0.0]}),
    ("x = 0.0\nz = x ** 1", {"x": 1.0}),
    ("x = 0.0\nz = x ** 2", {"x": 0.0}),
    ("x = -2.0\nz = x ** 3", {"x": 12.0}),
    ("x = 0.0\nz = x ** 0.5", {"x": INF}),
    ("x = 0.0\ny = 2.0\nz = x ** y", {"x": 0.0, "y": 0.0}),
    ("x = [0.0, 1.0]\ny = [2.0, 3.0]\nz = sum(x ** y)", {"x": [0.0, 3.0], "y": [0.0, 0.0]}),
    ("x = 0.0\ny = 0.0\nz = x ** y", {"x": 0.0}),
    ("x = -2.0\ny = 2.0\nz = x ** y", {"x": -4.0, "y": NAN}),
    # corners
    ("x = 0.0\nz = relu(x)", {"x": 0.0}),
    ("x = 0.0\nz = abs(x)", {"x": 0.0}),
    ("x = 0.0\nz = sign(x)", {"x": 0.0}),
    ("x = 1.0\ny = 1.0\nz = maximum(x, y)", {"x": 0.5, "y": 0.5}),
    ("x = [2.0, 5.0, 5.0]\nz = max(x)", {"x": [0.0, 0.5, 0.5]}),
    ("x = [2.0, 2.0, 5.0]\nz = min(x)", {"x": [0.5, 0.5, 0.0]}),
    # choices
    ("x = 0.0\nz = where(x > 0, x, 2 * x)", {"x": 2.0}),
    ("x = [nan, 1.0]\nm = [False, True]\nz = sum(where(m, x, 0))", {"x": [0.0, 1.0]}),
    ("x = [inf, 1.0]\nm = [False, True]\nz = sum(where(m, x * x, 0))", {"x": [0.0, 2.0]}),
    ("x = [0.0, 4.0]\nz = sum(where(x > 0, sqrt(x), x))", {"x": [1.0, 0.25]}),
    ("x = float32([0.0, 4.0])\nz = sum(where(x > 0, sqrt(x), x))", {"x": [1.0, 0.25]}),
    ("x = float32(0.0)\nz = where(x > 0, log(x), 3 * x)", {"x": 3.0}),
    ("x = 0.0\nz = where(x > 0, log(x), 3 * x)", {"x": 3.0}),
    ("x = [0.0, 0.0]\nz = where(x[0] > 0, sum(sqrt(x)), 3 * x[1])", {"x": [0.0, 3.0]}),
    ("x = [0.0, 4.0]\ny = x / x\nz = y[1] * x[1]", {"x": [0.0, 1.0]}),
    ("x = -1.0\nz = relu(-exp(-800 * x)) + x", {"x": 1.0}),
    ("x = 1000.0\nz = where(x > 0, x, exp(x))", {"x": 1.0}),
    ("x = [0.0, 4.0]\nz = sqrt(x)[1]", {"x": [0.0, 0.25]}),
    ("x = [-1.0, 4.0]\nb = [2.0, 2.0]\nz = sum(where(x > 0, sqrt(x * b), b))", {"x": [0.0, 0.3535533905932738]}),
]


@pytest.mark.parametrize(("text", "right"), SLOPES)
def test_slopes_at_the_edge(text: str, right: dict[str, Any]) -> None:
    found = gradients(text)
    for name, value in right.items():
        np.testing.assert_allclose(found[name], value, 1e-12, err_msg=name)


SATURATED = [
    ("x = 40.0\nz = sigmoid(x)", 4.248354255291589e-18),
    ("x = -40.0\nz = sigmoid(x)", 4.248354255291589e-18),
    ("x = 700.0\nz = sigmoid(x)", 9.8596765437597709e-305),
    ("x = 25.0\nz = tanh(x)", 7.7149993918556711e-22),
    ("x = -25.0\nz = tanh(x)", 7.7149993918556711e-22),
]


@pytest.mark.parametrize(("text", "slope"), SATURATED)
@pytest.mark.parametrize("bracket", ["{}", "[{}, 0.0]"])
def test_saturated_slopes_keep_their_digits(text: str, slope: float, bracket: str) -> None:
    number = text.split("\n")[0].removeprefix("x = ")
    text = text.replace(number, bracket.format(number), 1)
    if bracket != "{}":
        text += "\nL = sum(z)"
    assert np.ravel(gradcli.derive(text).gradient("x"))[0] == pytest.approx(slope, rel=1e-13)


def test_a_file_is_read_into_the_graph_as_it_is_written() -> None:
    """No node is merged, folded or reordered, so every one of them has its place in the sweep."""
    graph = read_graph("x = 2\na = x * x\nb = x * x\nz = a + b + 0 * x").graph
    assert [n.op.name for n in graph.nodes if n.operands] == ["multiply", "multiply", "add", "multiply", "add"]

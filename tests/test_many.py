"""A graph at many inputs at once against the same graph at one after the other."""

from typing import Any

import numpy as np
import pytest
from support.examples import EMPTY, OPERATORS, POOL, accepted, derived

from gradcli.api import read_graph
from gradcli.evaluate import evaluate
from gradcli.graph import Graph, Node
from gradcli.verify.many import Many, as_evaluated, downstream

SAMPLES = 3


def alone(graph: Graph, values: list[Any], node: Node, output: Node, sample: Any) -> Any:
    """The output with another value of the node, by the forward of every operator downstream."""
    known = list(values)
    known[node.number] = sample if np.shape(sample) else np.asarray(sample)[()]
    with np.errstate(all="ignore"):
        for each in downstream(graph.nodes, node, output):
            operands = as_evaluated(each, [known[o.number] for o in each.operands])
            known[each.number] = each.op.forward(*operands, **each.settings)
    return known[output.number]


def near(found: Any, right: Any) -> bool:
    scale = max(1.0, float(np.max(np.abs(right), initial=0, where=np.isfinite(right))))
    return np.shape(found) == np.shape(right) and np.allclose(found, right, rtol=0, atol=4e-15 * scale, equal_nan=True)


def samples_of(value: Any, rng: np.random.Generator) -> Any:
    array = np.asarray(value)
    return np.stack([array * (1 + 1e-3 * rng.random(array.shape)) for _ in range(SAMPLES)])


def fault(graph: Graph, values: list[Any], node: Node, output: Node) -> str:
    """What is wrong with the batch of one node's values; "" if nothing is."""
    rng = np.random.default_rng(5)
    many = Many(graph.nodes, values, node, output)
    samples = samples_of(values[node.number], rng)
    found, _ = many.whole(samples)
    for k, sample in enumerate(samples):
        if not near(found[k], alone(graph, values, node, output, sample)):
            return f"whole values of {node.name}"
    base = np.asarray(values[node.number])
    if base.size:
        positions = rng.integers(0, base.size, SAMPLES)
        new = base.reshape(-1)[positions] * (1 + 1e-3 * rng.random(SAMPLES))
        found, _ = many.entries(positions, new)
        for k in range(SAMPLES):
            sample = base.copy()
            sample.reshape(-1)[positions[k]] = new[k]
            if not near(found[k], alone(graph, values, node, output, sample)):
                return f"entries of {node.name}"
    return ""


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_the_same_in_a_batch(name: str) -> None:
    for pool in (POOL, EMPTY):
        try:
            examples = accepted(OPERATORS[name], pool)
        except AssertionError:
            assert pool is EMPTY
            continue
        for example in examples[::2]:
            one = derived(example)
            for node in one.inputs:
                if node.dtype == "float64":
                    assert fault(one.graph, one.values, node, one.node) == "", str(example)


NETWORKS = {
    "matrices": "W = randn(4, 3)\nX = randn(5, 4)\nb = randn(3)\nV = randn(3, 2)\nL = sum(tanh(tanh(X @ W + b) @ V))",
    "vectors": "W = randn(3, 4)\nx = randn(4)\nb = randn(3)\nv = randn(3)\nL = v @ tanh(W @ x + b) + sum(x @ W.T)",
    "twice": "W = randn(3, 3)\nL = sum(W @ W + W * W.T) + sum(W * W)",
    "columns": "X = randn(4, 3)\nc = randn(4, 1)\nr = randn(1, 3)\ny = (X * c + r) * X[:, :1]\nL = sum(exp(y) * c)",
    "loss": "X = randn(4, 3)\nW = randn(3, 5)\nL = cross_entropy(X @ W, [0, 4, 2, 2])",
    "intermediate": "x = randn(3)\nh = exp(x)\ny = h * h + x\nL = sum(y * h)",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_node_of_a_network_can_be_replaced(name: str) -> None:
    graph = read_graph(NETWORKS[name]).graph
    values = evaluate(graph)
    output = graph.nodes[-1]
    for node in graph.nodes:
        if node.differentiable and downstream(graph.nodes, node, output):
            assert fault(graph, values, node, output) == "", node.name

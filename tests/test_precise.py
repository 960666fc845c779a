"""Every operator at many digits: its value is that of floats, and its rule is the slope of its forward pass."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.examples import DIFFERENTIABLE, OPERATORS, Derived, accepted, derived

from gradcli.differentiate import sweep
from gradcli.verify.precise import PrecisionLost, bits, numbers

M = numbers(60)


def values(example: Derived, shifts: Mapping[int, Any]) -> list[Any]:
    found: list[Any] = []
    for node in example.graph.nodes:
        if node.leaf:
            value = M.array(node.data)
            found.append(value + shifts[node.number] if node.number in shifts else value)
        else:
            found.append(M.seen(node.op.forward(*[found[o.number] for o in node.operands], **node.settings)))
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_values_are_those_of_floats(name: str) -> None:
    for example in map(derived, accepted(OPERATORS[name])):
        precise = M.floats(values(example, {})[example.node.number])
        right = np.asarray(example.values[example.node.number], float)
        np.testing.assert_allclose(np.asarray(precise, float), right, 1e-11, 1e-13)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_are_slopes_to_many_digits(name: str) -> None:
    rng = np.random.default_rng(0)
    for example in map(derived, accepted(DIFFERENTIABLE[name])):
        seed = M.array(example.values[example.seed.number])
        swept = sweep(example.swept.order, values(example, {}), seed)
        reached = {n.number: swept.gradients[n.number] for n in example.inputs if n.number < len(swept.gradients)}
        gradients = {k: g for k, g in reached.items() if g is not None}
        step = M.power(10, -20)
        along = {k: M.array(rng.uniform(0.5, 1.5, np.shape(g))) for k, g in gradients.items()}
        above = values(example, {k: d * step for k, d in along.items()})[example.node.number]
        below = values(example, {k: -d * step for k, d in along.items()})[example.node.number]
        slope = np.sum(seed * (above - below)) / (2 * step)
        expected = sum((np.sum(g * along[k]) for k, g in gradients.items()), M.of(0))
        # rules hold literals of 53 bits, so that the two may part at the sixteenth digit
        assert abs(slope - expected) <= 1e-15 * (1 + abs(expected)), example


def test_a_float_is_never_taken_unseen() -> None:
    with pytest.raises(PrecisionLost):
        float(M.of(2))
    with pytest.raises((PrecisionLost, ValueError)):
        np.asarray(M.array([1.0, 2.0]), dtype=float)


@pytest.mark.parametrize(
    ("function", "x"),
    [("sqrt", -1.0), ("log", -1.0), ("arccosh", 0.5), ("arcsin", 2.0), ("sin", float("inf"))],
)
def test_off_the_real_line_there_is_nan(function: str, x: float) -> None:
    assert np.isnan(getattr(np, function)(M.of(x)))
    assert np.isnan(getattr(np, function)(M.array([x, 1.0]))).any()


def test_functions_that_would_fill_the_memory_have_limits() -> None:
    assert np.isinf(np.exp(M.power(10, 30)))
    assert np.exp(-M.power(10, 30)) == 0
    assert np.isnan(np.sin(M.power(2, 5000)))
    assert np.isnan(np.floor(M.power(10, 500)))
    assert np.isnan(np.fmod(M.power(10, 500), M.of(3)))
    assert np.tanh(M.power(10, 40)) == 1


def test_fewer_bits_round_as_floats_do() -> None:
    m = bits(53)
    x, y = 1 / 3, 0.1
    assert m.floats(m.of(x) + m.of(y)) == x + y
    assert m.floats(m.of(x) * m.of(y)) == x * y
    assert m.floats(m.of(x) / m.of(y)) == x / y

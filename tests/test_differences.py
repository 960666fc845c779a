"""Differences in float64: their bounds hold, they acquit what is right, and never what is not."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import DIFFERENTIABLE, accepted, derived
from support.programs import Program, programs

from gradcli.api import derive
from gradcli.problems import GradError
from gradcli.report import Report
from gradcli.verify.differences import Differences, central_differences, differences

SMOOTH = {
    "scalars": "x = 0.7\ny = -1.3\nL = exp(sin(x)) * y**2 + x / y",
    "tiny": "x = 1e-12\nL = x * log(x)",
    "huge": "x = 3e12\nL = log(x) + 1 / x",
    "steep": "x = 0.3\nL = exp(50 * x)",
    "fast": "x = 0.3\nL = sin(300 * x)",
    "perceptron": "X = const(randn(4, 3))\nW = randn(3, 5)\nb = randn(5)\nV = randn(5)\nL = mean(tanh(X @ W + b) @ V)",
    "relu": "X = const(randn(4, 3))\nW = randn(3, 5)\nV = randn(5, 2)\nL = sum(softplus(relu(X @ W) @ V))",
    "labels": "X = const(randn(4, 3))\nW = randn(3, 5)\nL = cross_entropy(X @ W, [0, 4, 2, 2])",
    "saturated": "x = 30.0\nL = sigmoid(x)",
    "scales": "x = [1e-8, 1.0, 1e8]\nL = sum(log(x) * [1.0, 2.0, 3.0])",
    "cancelling": "x = 1e-3\nL = (1 - cos(x)) / x**2",
}
"""Files whose output is differentiable at the point."""

HOPELESS = {
    "relu at 0": "x = 0.0\nL = relu(x)",
    "abs at 0": "x = 0.0\nL = x - abs(x)",
    "small corner": "x = 2.0\nL = x + 1e-6 * abs(x - 2)",
    "beside a corner": "x = 2.0000000001\nL = x**2 + abs(x - 2)",
    "tie": "x = 1.0\ny = 1.0\nL = maximum(x, y)",
    "ties": "x = [2.0, 1.0, 2.0]\nL = max(x) + sum(x) * 1e-3",
    "clipped": "x = 1.0\nL = minimum(maximum(x, 0), 1) + x",
    "norm": "x = [0.0, 0.0]\nL = norm(x)",
    "root": "x = 0.0\nL = sqrt(x)",
    "power": "x = 0.0\nL = abs(x)**1.5 + 0 * x",
    "chosen": "x = 0.0\nL = where(x > 0, 2 * x, x)",
    "step": "x = 1.0\nL = where(x >= 1, x + 1, x)",
    "sign": "x = 0.0\nL = sign(x) * 1e-9 + x",
    "stairs": "x = 0.5\nL = floor(1e8 * x) / 1e8",
    "fine stairs": "x = 0.5\nL = x - mod(1e9 * x, 1.0) / 1e9",
    "compared stairs": "x = 0.5\nc = [0.4999, 0.50001, 0.50005]\nL = x + 1e-9 * sum(where(x > c, 1.0, 0.0))",
    "nothing": "x = [1.0, 2.0]\nL = sum(0 * x)",
    "undefined": "x = -1.0\nL = log(x)",
    "pole": "x = 0.0\nL = 1 / x",
    "lost": "x = 2.0\nL = x * 1e-25 + 1",
}
"""Files of which differences in float64 say nothing, or nothing exact."""


def gradient_of(report: Report, name: str) -> Any:
    return np.asarray(report.gradient(name), float).reshape(-1)


def inside(found: Differences, right: Any) -> bool:
    """Whether the bounds hold, but for the roundings of the sweep itself."""
    away = np.abs(right.reshape(-1)[found.positions] - found.slope)
    return bool(np.all(~found.usable | (away <= found.bound + 1e-13 * np.abs(found.slope))))


@pytest.mark.parametrize("name", SMOOTH)
def test_bounds_hold_and_what_is_wrong_is_not_acquitted(name: str) -> None:
    report = derive(SMOOTH[name])
    acquitted = count = 0
    for node in report.gradients:
        if node == report.output:
            continue
        found = central_differences(report, node)
        right = gradient_of(report, node)
        assert inside(found, right), node
        acquitted += int(np.sum(found.acquits(right)))
        count += len(right)
        for wrong in (right * (1 + 1e-6), right * 0, -right, right + 1e-3 * np.max(np.abs(right))):
            assert not found.acquits(wrong)[wrong != right].any(), node
    assert acquitted >= count * (0.0 if name in ("steep", "fast", "cancelling", "saturated") else 0.6)


@pytest.mark.parametrize("name", HOPELESS)
def test_nothing_is_acquitted_where_there_is_no_slope_to_be_seen(name: str) -> None:
    report = derive(HOPELESS[name])
    found = central_differences(report, "x")
    for candidate in (found.slope, found.left, found.right, found.slope * 0, found.slope * 0 + 1):
        given = np.nan_to_num(candidate)
        assert not found.acquits(given).any()


def test_one_sided_slopes_are_told() -> None:
    found = central_differences(derive("x = 0.0\nL = maximum(-2 * x, 3 * x)"), "x")
    assert (found.left[0], found.right[0]) == (pytest.approx(-2), pytest.approx(3))
    assert not found.usable[0]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_bounds_hold_for_every_operator(name: str) -> None:
    for example in accepted(DIFFERENTIABLE[name])[::3]:
        one = derived(example)
        for node in one.inputs:
            if node.dtype != "float64" or not node.differentiable:
                continue
            found = differences(one.graph.nodes, one.values, node, one.node, one.values[one.seed.number])
            right = np.asarray(one.gradient(node), float)
            if not np.isfinite(right).all():
                continue
            assert inside(found, right), str(example)
            assert not found.acquits(right * (1 + 1e-6))[right.reshape(-1) != 0].any(), str(example)


def test_some_entries_alone() -> None:
    report = derive("x = [1.0, 2.0, 3.0, 4.0]\nL = sum(x**3)")
    found = central_differences(report, "x", [3, 1])
    assert found.slope == pytest.approx([48, 12], rel=1e-10)
    assert found.acquits(report.gradient("x")).all()


def test_a_seed_is_what_the_output_is_multiplied_by() -> None:
    report = derive("x = [1.0, 2.0]\ny = x**2", upstream={"y": [1.0, -3.0]})
    found = central_differences(report, "x")
    assert found.slope == pytest.approx([2, -12], rel=1e-10)


def test_what_is_no_float64_is_left_to_others() -> None:
    report = derive("x = [1.0, 2.0]\nL = sum(x**2)", dtype="float32")
    found = central_differences(report, "x")
    assert "float32" in found.reason
    assert not found.usable.any()


@given(st.booleans().flatmap(lambda smooth: programs(smooth=smooth)))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_wrong_is_acquitted_in_any_program(program: Program) -> None:
    if program.fault is not None:
        return
    output = list(program.values)[-1]
    seed = np.linspace(0.5, 1.5, max(1, np.size(program.values[output])))[: np.size(program.values[output])]
    try:
        report = derive(program.text, of=output, upstream={output: seed.reshape(np.shape(program.values[output]))})
    except GradError:
        return
    for name in report.gradients:
        if name == output:
            continue
        found = central_differences(report, name)
        right = gradient_of(report, name)
        for wrong in (right * (1 + 1e-6), right + 1e-3, -right, 0 * right):
            assert not found.acquits(wrong)[np.abs(wrong - right) > 1e-8 * np.abs(right)].any(), name

"""Random programs against NumPy: the very same text is read as a formula file and run by Python."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, event, given, settings
from support.programs import Program, programs

import gradcli
from gradcli.api import read_graph
from gradcli.evaluate import evaluate

repeatable = settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@settings(repeatable, max_examples=600)
@given(programs())
def test_every_name_has_numpys_value(program: Program) -> None:
    try:
        traced = read_graph(program.text)
        values = evaluate(traced.graph)
    except gradcli.GradError:
        assert program.fault is not None, program.text
        event("refused by both")
        return
    assert program.fault is None, f"NumPy refuses the last line: {program.fault}\n{program.text}"
    for name, right in program.values.items():
        found = values[traced.names[name].number]
        assert np.shape(found) == np.shape(right), f"{name} in\n{program.text}"
        rounding = 1e-12 * largest(program.values)
        np.testing.assert_allclose(found, right, 1e-12, rounding, err_msg=f"{name} in\n{program.text}")


def largest(values: dict[str, Any]) -> float:
    """The largest finite number: what the rounding of a difference is measured by."""
    magnitudes = np.concatenate([np.abs(np.ravel(v)) for v in values.values()])
    return float(np.max(magnitudes[np.isfinite(magnitudes)], initial=1.0))


@settings(repeatable, max_examples=250)
@given(programs(smooth=True))
def test_gradients_are_those_of_a_complex_step(program: Program) -> None:
    """d L / d x is the imaginary part of L(x + ih) / h, which loses no digits; every function here is analytic."""
    assume(program.lines)
    output = program.lines[-1].split()[0]
    assume(all(np.isfinite(v).all() for v in program.values.values()) and largest(program.values) < 1e6)
    program.lines.append(f"loss = sum({output} * {output})")
    report = gradcli.derive(program.text, of="loss")
    assume(all(np.isfinite(report.values[node.number]).all() for node in report.order_nodes))
    inputs = {name: np.asarray(value, complex) for name, value in program.inputs.items()}
    for name, value in inputs.items():
        first = report.traced.graph.nodes[list(inputs).index(name)]
        found = np.asarray(
            report.sweep.gradients[first.number] if first in report.order_nodes else np.zeros(value.shape)
        )
        right = np.zeros(value.shape)
        for at in np.ndindex(*value.shape):
            stepped = value.copy()
            stepped[at] += 1e-30j
            right[at] = np.imag(program.run({**inputs, name: stepped})["loss"]) / 1e-30
        assume(np.isfinite(right).all())
        assert found.shape == right.shape
        scale = np.max(np.abs(right), initial=1.0)
        np.testing.assert_allclose(found, right, 1e-9, 1e-9 * scale, err_msg=f"{name} in\n{program.text}")

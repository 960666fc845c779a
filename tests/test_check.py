"""The verdict: no false alarm, and no missed error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import DIFFERENTIABLE, Derived, Example, accepted, derived
from support.mutations import MUTATIONS, spoiled_rules

import gradcli
from gradcli.graph.op import size_of
from gradcli.problems import Source
from gradcli.report import Report
from gradcli.trace import Traced
from gradcli.verify import check as module
from gradcli.verify.check import check
from gradcli.verify.verdict import Verdict

FUNCTIONS = {c["id"]: c for c in json.loads((Path(__file__).parent / "verdicts.json").read_text(encoding="utf-8"))}
SMOOTH = [name for name, c in FUNCTIONS.items() if c["status"] == "smooth"]
KINKS = [name for name, c in FUNCTIONS.items() if "slopes" in c]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_verdict_is_right(name: str) -> None:
    case = FUNCTIONS[name]
    report = gradcli.derive(case["formula"])
    found = check(report)
    assert found.verdict in case["verdicts"], found
    unusable = any(not np.isfinite(report.gradient(n)).all() for n in found.gradients)
    assert unusable or not found.wrong, found


@pytest.mark.parametrize("name", KINKS)
def test_slopes_at_a_kink(name: str) -> None:
    case = FUNCTIONS[name]
    found = check(gradcli.derive(case["formula"]))
    for node, slopes in case["slopes"].items():
        numeric = found.gradients[node].numeric
        sides = [numeric.value if s is None else s for s in (numeric.left, numeric.right)]
        right = np.asarray(slopes, float)
        np.testing.assert_allclose(np.minimum(*sides), right[..., 0], 1e-9, 1e-12)
        np.testing.assert_allclose(np.maximum(*sides), right[..., 1], 1e-9, 1e-12)
    report = gradcli.derive(case["formula"])
    for refused in case.get("gradients_to_refuse", ()):
        assert check(report, gradients=dict(zip(case["slopes"], refused, strict=True))).wrong, refused


@pytest.mark.parametrize("name", SMOOTH)
def test_spoiled_gradients_never_agree(name: str) -> None:
    case = FUNCTIONS[name]
    report = gradcli.derive(case["formula"])
    for node, stored in case["gradients"].items():
        right = np.asarray(stored, dtype=float)
        for spoiled in _spoiled(right):
            assert check(report, gradients={node: spoiled}).verdict is not Verdict.AGREE, spoiled


def _spoiled(right: Any) -> Iterator[Any]:
    for k, factor in enumerate((1.0001, -1.0, 2.0, 0.0)):
        for at in list(np.ndindex(*right.shape))[k if right.size > 8 else 0 :: 5 if right.size > 8 else 1]:
            if right[at] != 0 and np.abs(right[at]) > 1e-6 * np.abs(right).max():
                wrong = right.copy()
                wrong[at] *= factor
                yield wrong


# Mutations: every rule is spoiled in every way that applies ------------------------------------------------


def report_of(d: Derived) -> Report:
    """The report of a graph of one operation."""
    d.node.name = "y"
    names = {n.name: n for n in (*d.inputs, d.seed, d.node)}
    traced = Traced(Source("operation", ""), d.graph, names, d.node)
    return Report(traced, d.node, d.values, d.swept, tuple(d.swept.order), d.values[d.seed.number])


def small(name: str) -> Example:
    """An example of few entries, of more than one if there is such a one."""
    for most in (8, 16, 40):  # what is wrong in every entry is seen in a few
        examples = [e for e in accepted(DIFFERENTIABLE[name]) if sum(map(size_of, e.operands)) <= most]
        rich = [e for e in examples if all(size_of(o) > 1 for o in e.operands)]
        if rich:
            return rich[len(rich) // 2]
    return examples[len(examples) // 2] if examples else accepted(DIFFERENTIABLE[name])[0]


def _refused(*_: Any) -> None:
    raise ValueError


def _slightly(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: 1.0001 * rule(g, y, *xs, **settings)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_spoiled_rule_disagrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = DIFFERENTIABLE[name]
    example = small(name)
    right = derived(example)
    found = check(report_of(right))
    assert not found.wrong, found
    assert found.verdict in (Verdict.AGREE, Verdict.INACCURATE), found
    # what SymPy says and differences of floats add to a verdict is how it is told, never that it is wrong
    monkeypatch.setattr(module, "read_symbolically", lambda *_, **__: {})
    monkeypatch.setattr(module, "central_differences", _refused)
    for mutation in (*MUTATIONS[1:], _slightly):  # the slightest factor stands for all
        for spoiled in spoiled_rules(op, mutation):
            with monkeypatch.context() as patch:
                patch.setattr(op, "vjp", spoiled)
                try:
                    wrong = derived(example)
                except Exception:  # operands that change places may not even fit
                    continue
                if any(_differ(wrong.gradient(n), right.gradient(n)) for n in right.inputs):
                    assert check(report_of(wrong)).wrong, mutation


def _differ(a: Any, b: Any) -> bool:
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape != b.shape or bool(np.any(np.abs(a - b) > 1e-6 * np.abs(b).max(initial=0)))


# Any program at any scale ---------------------------------------------------------------------------------

ENTRYWISE = ["sin", "tanh", "sigmoid", "exp", "relu", "abs", "softplus", "sqrt", "log1p", "square", "atan", "erf"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A file of a few lines over inputs of any size from 1e-12 to 1e12."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    number = st.builds(
        lambda digits, exponent, sign: sign * digits * 10.0**exponent,
        st.floats(1, 9.99),
        st.integers(-12, 11),
        st.sampled_from([1, -1]),
    )
    lines = [f"s = {draw(number)!r}"]
    for name, shape in (("X", (rows, columns)), ("W", (columns, rows)), ("b", (rows,))):
        values = np.array([draw(number) for _ in range(int(np.prod(shape)))]).reshape(shape)
        lines.append(f"{name} = {values.tolist()!r}")
    tensors = [("X", "rc"), ("W", "cr"), ("b", "r")]
    for k in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["entrywise", "entrywise", "product", "scale", "sum", "softmax"]))
        name, shape = draw(st.sampled_from(tensors))
        if kind == "entrywise":
            lines.append(f"t{k} = {draw(st.sampled_from(ENTRYWISE))}({name})")
        elif kind == "product" and len(shape) == 2:
            other = next(n for n, s in tensors if s == shape[::-1])
            lines.append(f"t{k} = {name} @ {other}")
            shape = shape[0] * 2
        elif kind == "sum" and len(shape) == 2:
            lines.append(f"t{k} = sum({name}, axis=1)")
            shape = shape[0]
        elif kind == "softmax":
            lines.append(f"t{k} = softmax({name})")
        else:
            lines.append(f"t{k} = {name} * s")
        tensors.append((f"t{k}", shape))
        if any(s == shape[::-1] for _, s in tensors) is False:
            tensors.pop()
    last = [n for n, _ in tensors][-1]
    lines.append(f"L = sum({last} * {last}) + sum(X) * s")
    return "\n".join(lines) + "\n"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_right_gradients_never_disagree(text: str) -> None:
    found = check(gradcli.derive(text))
    assert found.verdict is not Verdict.DISAGREE, (text, found)
    assert not found.rules, (text, found.rules)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from(["float32", "float16"]))
def test_low_precision_is_no_error(text: str, dtype: str) -> None:
    try:
        report = gradcli.derive(text, dtype=dtype)
    except gradcli.GradError:  # a number that this precision cannot hold
        return
    assert check(report).verdict is not Verdict.DISAGREE, text


def test_a_function_that_is_0_everywhere_has_slopes_of_0() -> None:
    report = gradcli.derive("x = [1.0, 2.0, 3.0, 4.5]\ny = x - mean(x)\nL = sum(y)")
    assert check(report).verdict in (Verdict.AGREE, Verdict.INACCURATE)
    assert check(report, gradients={"x": [0.0, 1e-3, 0.0, 0.0]}).wrong


def test_one_wrong_entry_of_a_large_gradient_is_seen() -> None:
    report = gradcli.derive("W = randn(60, 60, seed=0)\nx = randn(60, 60, seed=1)\nL = sum(tanh(W @ x / 8) ** 2)")
    right = report.gradient("W")
    wrong = right.copy()
    wrong[7, 11] *= 1.01
    assert not check(report, seconds=0.5).wrong
    found = check(report, gradients={"W": wrong}, seconds=4.0).gradients["W"]
    assert found.wrong
    assert found.worst.index == (7, 11)

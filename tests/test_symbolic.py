"""SymPy's reading of the forward graph, beside the reverse sweep that other tests hold right."""

import dataclasses
import json
import signal
import threading
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.ops.elementwise import tanh
from gradcli.problems import Source
from gradcli.report import Report
from gradcli.trace import Traced
from gradcli.verify import whole
from gradcli.verify.deadline import TimeIsUp, time_limit
from gradcli.verify.elements import Element, Unreadable
from gradcli.verify.symbolic import read_symbolically
from gradcli.verify.verdict import Symbolic, Verdict
from tests.support.examples import DIFFERENTIABLE, Derived, accepted, derived

HERE = Path(__file__).parent
SAMPLES = sorted(p for p in (HERE.parent / "samples").glob("*.txt") if ".answers" not in p.name)
CASES = {
    case["id"]: case
    for file in sorted((HERE / "cases").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
}
PATIENCE = 60.0
"""Seconds; no test depends on how fast a machine is."""

NOT_SMOOTH = {"a power of 0", "a division by 0"}
"""Why SymPy may say nothing about an example whose numbers keep away from corners: roots of 0, as in `std` of one."""


def read(report: Report, *names: str) -> dict[str, Symbolic]:
    return read_symbolically(report, names or list(report.gradients), time_limit=PATIENCE)


def of(text: str, name: str = "x") -> Symbolic:
    return read(gradcli.derive(text), name)[name]


def report_of(case: Derived) -> Report:
    traced = Traced(Source("<example>", ""), case.graph)
    return Report(traced, case.node, case.values, case.swept, tuple(case.swept.order), case.values[case.seed.number])


# Every operator -----------------------------------------------------------------------------------------


@cache
def spoken(name: str) -> tuple[Counter[str], list[str]]:
    """For examples of an operator: how often SymPy speaks, and why not; and where it says something else."""
    counts: Counter[str] = Counter()
    wrong = []
    examples = accepted(DIFFERENTIABLE[name])
    for example in examples[:: max(1, len(examples) // 5)]:
        case = derived(example)
        report = report_of(case)
        for each, found in read(report, *[n.name for n in case.inputs if n.differentiable]).items():
            counts[found.abstains] += 1
            if found.value is None:
                continue
            right, got = np.asarray(case.gradient(report.node(each))), np.asarray(found.value)
            known = ~np.isnan(got)
            if got.shape != right.shape or not np.allclose(got[known], right[known], 1e-9, 1e-12):
                wrong.append(f"{example}, {each}: {got.tolist()}, the sweep has {right.tolist()}")
    return counts, wrong


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_sympy_says_what_the_sweep_says(name: str) -> None:
    assert spoken(name)[1] == []


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if not n.endswith(", hidden")])
def test_sympy_speaks_about_every_operator_that_a_file_can_call(name: str) -> None:
    counts, _ = spoken(name)
    assert counts[""] > 0
    assert set(counts) <= {"", *NOT_SMOOTH}, "an operation that cannot be read"


# Whole files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples(path: Path) -> None:
    report = gradcli.derive(path)
    checked = gradcli.check(report, everything=True).gradients
    for name, found in read(report).items():
        if name in checked and checked[name].verdict is not Verdict.AGREE:
            continue  # at a kink SymPy abstains, and where digits are lost it is the sweep that is off
        assert found.abstains == "", name
        np.testing.assert_allclose(found.value, report.gradients[name].value, 1e-9, 1e-14, err_msg=name)


NO_SLOPE = {
    *NOT_SMOOTH,
    "it is not defined in real numbers here",
    "a tie of max",
    "abs at 0",
    "a choice changes just here",
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    case = CASES[name]
    report = gradcli.derive(case["formula"], of=case["output"])
    for each, found in read(report, *case["gradients"]).items():
        assert found.abstains in {"", *NO_SLOPE}, each
        if found.value is None or case.get("beyond_float64"):
            continue
        right, got = np.array(case["gradients"][each], float), np.asarray(found.value)
        known = ~np.isnan(got)
        if not np.isfinite(right).all() and np.isfinite(got).all():
            continue  # a slope at a number that float64 rounded to a pole
        np.testing.assert_allclose(got[known], right[known], 1e-9, 1e-14, err_msg=each)


# One by one -----------------------------------------------------------------------------------------------

SMOOTH = [
    ("x = 0\nL = x**2.0", 0.0, "2*x"),
    ("x = -1.5\nL = x**3.0", 6.75, "3*x**2"),
    ("x = 0\nL = x**0", 0.0, "0"),
    ("x = 2\nL = x**-1.0", -0.25, "-1/x**2"),
    ("x = -2\nL = abs(x)", -1.0, None),
    ("x = 3\nL = sign(x)*x", 1.0, None),
    ("x = 2.5\nL = floor(x)*x", 2.0, "2"),
    ("x = 1\nL = where(x > 0, x, 2*x)", 1.0, "1"),
    ("x = -1\nL = where(x > 0, log(x), x)", 1.0, "1"),
    ("x = -3\nL = sqrt(x**2)", -1.0, "sign(x)"),
    ("x = 3\nL = x/x", 0.0, "0"),
    ("x = 0\nL = softplus(x)", 0.5, "exp(x)/(exp(x) + 1)"),
    ("x = 40\nL = sigmoid(x)", 4.248354255291589e-18, "exp(-x)/(1 + exp(-x))**2"),
    ("x = 300\nL = tanh(x)", 1.0601586212017243e-260, None),
    ("x = [-inf, 0, 1]\nL = logsumexp(x)", [0, 0.2689414213699951, 0.7310585786300049], None),
    ("x = [2, 0, 4]\nL = prod(x)", [0, 8, 0], None),
    ("x = 2\nL = x*detach(x)", 2.0, "2"),
    ("x = 5.5\nL = x % 2", 1.0, "1"),
    ("x = [1, 2]\ny = x*x\nbackward(y, [1, 3])", [2, 12], None),
    ("x = [0, 0.5, 2]\nL = sum(clip(x, 0, 1)*x)", [0, 1, 1], None),
    ("x = [0, 0, 0]\nL = sum(softmax(x)*[1, 2, 3])", [-1 / 3, 0, 1 / 3], None),
    ("x = [0, 0, 0]\ny = [0, 1, 0]\nL = cross_entropy(x, y)", [1 / 3, -2 / 3, 1 / 3], None),
    ("x = [0.2, 0.8]\ny = [0, 1]\nL = binary_cross_entropy(x, y)", [0.625, -0.625], None),
    ("y = [0.2, 0.8]\nx = [0.0, 1]\nL = binary_cross_entropy(y, x)", [np.log(4) / 2, -np.log(4) / 2], None),
    ("x = 0\nL = abs(x)*x", 0.0, None),
    ("x = 0\nL = relu(x) - relu(-x)", 1.0, None),
    ("x = 2\nL = maximum(x, 2) + minimum(x, 2)", 1.0, None),
    ("x = 0\nL = maximum(maximum(x, exp(x) - 1), (x + 1)**2/2 - 0.5)", 1.0, None),
    ("x = [3, 3]\nL = max(x) + min(x)", [1, 1], None),
    ("x = [0, 0]\nL = sum(binary_cross_entropy_with_logits(x, [1, 0]))", [-0.25, 0.25], None),
    ("x = 1\ny = 2\nL = exp(x)*sin(y)", np.e * np.sin(2), "exp(x)*sin(y)"),
    ("x = 2\ny = 3\nz = 4\nL = x*y + x*z", 7.0, "y + z"),
    ("x = 2\nL = 0.1*x + x/3", 0.1 + 1 / 3, "0.1 + 1/3"),
    ("x = 2\na = x*x\nL = a*x", 12.0, "3*x**2"),
]


@pytest.mark.parametrize(("text", "slope", "formula"), SMOOTH, ids=lambda v: v if isinstance(v, str) else "")
def test_slopes(text: str, slope: Any, formula: str | None) -> None:
    found = of(text)
    assert found.abstains == ""
    np.testing.assert_allclose(found.value, slope, 1e-13)
    assert found.formula == formula


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 0\nL = abs(x)", "abs at 0"),
        ("x = 0\nL = relu(x)", "a tie of max"),
        ("x = [0, 0]\nL = minimum(abs(x[0]), abs(x[1]))", "a tie of min"),
        ("x = 0\nL = log(x)", "a division by 0"),
        ("x = [1, 1, 1]\nL = max(x)", "a tie of max"),
        ("x = 1\ny = 1\nz = 1\nL = maximum(maximum(x, y), z)", "a tie of max"),
        ("x = 2\nL = relu(sqrt(x)**2 - 2)", "a tie of max"),
        ("x = 0\nL = sign(x)*x", "sign at 0"),
        ("x = 2\nL = floor(x)*x", "floor jumps here"),
        ("x = 2.5\nL = round(x)*x", "round jumps here"),
        ("x = 0\nL = where(x > 0, x, 2*x)", "a choice changes just here"),
        ("x = 0\ny = 3\nL = where(x > 0, y, 2*y)", "a choice changes just here"),
        ("x = 0\nL = (x > 0)*x", "a choice changes just here"),
        ("x = 0\nL = where(~(x > 0), x, 2*x)", "a choice changes just here"),
        ("x = [0, 0]\ny = 3\nL = y*mean(x > 0)", "a choice changes just here"),
        ("x = [1, 1]\ny = [3, 4]\nL = take(y, argmax(x))", "a choice changes just here"),
        ("x = [1, 1]\ny = [3, 4]\nL = sum(sort(x)*y)", "a choice changes just here"),
        ('x = [0, 0]\ny = 3\nL = y*sum((x > 0).astype("float64"))', "a choice changes just here"),
        ('x = 2\nL = x.astype("int64")*x', "a choice changes just here"),
        ("x = 0\nL = x**0.5", "a power of 0"),
        ("x = 0\nL = x**1.5", "a power of 0"),
        ("x = 0\ny = 2.5\nL = x**y", "a power of 0"),
        ("x = 0\nL = sqrt(x**2)", "a power of 0"),
        ("x = [0, 0]\nL = norm(x)", "a power of 0"),
        ("x = 0\nL = x/x", "a division by 0"),
        ("x = -2\nL = log(x)", "it is not defined in real numbers here"),
        ("x = 5\nL = exp(exp(exp(exp(x))))", "a number is too large"),
    ],
)
def test_no_word_where_the_function_is_not_smooth(text: str, reason: str) -> None:
    found = of(text)
    assert (found.value, found.formula, found.abstains) == (None, None, reason)


def test_entries_on_a_corner_spoil_no_others() -> None:
    found = of("x = [0, 1, -1]\nL = sum(relu(x))")
    np.testing.assert_equal(found.value, [np.nan, 1, 0])
    found = of("x = [[1, 1], [2, 3]]\nL = sum(max(x, axis=1))")
    np.testing.assert_equal(found.value, [[np.nan, np.nan], [0, 1]])


def test_what_is_no_number_has_no_slope() -> None:
    assert of("x = -2\nL = log(x)", "L").abstains == "it is not defined in real numbers here"
    assert of("x = nan\nL = x*2").abstains == "it is not a number"


def test_single_precision_is_what_numpy_made_of_the_numbers() -> None:
    found = of("x = float32(0.1)\nL = x*x*0.1")
    assert found.value == pytest.approx(2 * float(np.float32(0.1)) ** 2, rel=1e-15)


def test_nests_and_long_products_end() -> None:
    nest = "w = 0.5\nx = 0.3\nz = x\n" + "z = tanh(w*z + z**2)\n" * 7
    product = "\n".join(f"x{i} = {1 + i / 1000}" for i in range(200)) + "\nL = " + "*".join(f"x{i}" for i in range(200))
    chain = "x = 0.3\nw = 0.5\nz = x\n" + "z = tanh(w*z + z**2)\n" * 1000
    for text, name in ((nest, "w"), (product, "x7"), (chain, "w")):
        report = gradcli.derive(text)
        found = read(report)[name]
        assert (found.method, found.formula) == ("node by node", None)
        assert found.value == pytest.approx(report.gradient(name), rel=1e-9)


def test_what_is_too_much_is_said() -> None:
    report = gradcli.derive("X = ones(40, 40)\nW = ones(40, 40)\nL = sum(X @ W)")
    assert read(report, "W")["W"].abstains == "more than 50,000 element operations"
    assert read_symbolically(report, ["W"], time_limit=0)["W"].value is None


def test_a_wrong_rule_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 0.3\nw = 0.5\nL = tanh(w*x)"
    right = of(text).value
    monkeypatch.setattr(tanh, "vjp", (lambda g, y, x: g * 3,))
    report = gradcli.derive(text)
    assert report.gradient("x") == pytest.approx(1.5)
    assert read(report)["x"].value == right


def test_a_node_that_is_not_reached_has_slope_0() -> None:
    report = gradcli.derive("x = 2\ny = [1, 2]\nL = x*x")
    assert read(report)["y"].value.tolist() == [0, 0]


def test_an_operation_that_cannot_be_read_is_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    opaque = dataclasses.replace(tanh, sympy=None, forward=lambda x: np.tanh(np.asarray(x, float)))
    report = gradcli.derive("x = 0.3\ny = 2\nL = tanh(x)*y")
    for node in report.traced.graph.nodes:
        if node.op is tanh:
            node.op = opaque
    found = read(report)
    assert "turns a number into a float" in found["x"].abstains
    assert found["y"].value == pytest.approx(np.tanh(0.3))


def test_elements_become_no_floats() -> None:
    with pytest.raises(Unreadable):
        float(Element(1, 0, None))  # type: ignore[arg-type]


# The clock ------------------------------------------------------------------------------------------------


def busy() -> str:
    try:
        with time_limit(0.01):
            while True:
                sum(range(100))
    except TimeIsUp:
        return "interrupted"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms here")
def test_an_alarm_interrupts_and_is_put_away() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert busy() == "interrupted"
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_other_threads_are_interrupted_too() -> None:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(busy()))
    thread.start()
    thread.join(30)
    assert said == ["interrupted"]


def test_a_whole_expression_that_takes_too_long_leaves_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> bool:
        while True:
            time.monotonic()

    monkeypatch.setattr(whole.Whole, "gives", endless)
    monkeypatch.setattr(whole, "PATIENCE", 0.01)
    assert of("x = 3\nL = x*x") == Symbolic(value=6.0, method="node by node")

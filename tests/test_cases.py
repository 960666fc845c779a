"""Problems that people met in public, with values and gradients that were verified independently of this tool.

`cases/*.json` hold them (every case names its source): `worked` examples and the `orders` in which their nodes may be
visited, hand derivations with `mistakes`, and inputs on which other tools have `bugs`.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.differentiate import sweep

CASES = {
    case["id"]: case
    for file in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
}
FIGURES = [
    pytest.param(case, figure, id=f"{name}-{figure['ref']}={figure['printed']}")
    for name, case in CASES.items()
    for figure in case.get("source_figures", ())
]
ORDERS = [name for name, case in CASES.items() if "graph" in case]

RTOL, ATOL = 1e-10, 1e-14


def derived(case: dict[str, Any]) -> gradcli.Report:
    return gradcli.derive(case["formula"], of=case["output"])


def numbers(stored: Any) -> Any:
    """A stored value as an array; JSON has the strings "nan", "inf" and "-inf" for what it cannot hold."""
    return np.array(stored, dtype=float)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    case = CASES[name]
    report = derived(case)
    found = {f"value {n}": report.value(n) for n in case["values"]}
    found |= {f"gradient {n}": report.gradient(n) for n in case["gradients"]}
    stored = {f"value {n}": v for n, v in case["values"].items()}
    stored |= {f"gradient {n}": v for n, v in case["gradients"].items()}
    for what, value in found.items():
        right = numbers(stored[what])
        assert np.shape(value) == right.shape, what
        if case.get("beyond_float64") and not np.isfinite(value).all():
            continue  # the stored number is the mathematical one, which float64 does not reach in this form
        np.testing.assert_allclose(np.asarray(value, float), right, RTOL, ATOL, err_msg=what)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.get("beyond_float64")])
def test_what_float64_cannot_hold_is_said(name: str) -> None:
    report = derived(CASES[name])
    assert not np.isfinite(report.value(report.output))
    assert any("not finite" in note for note in report.notes)


def entry(report: gradcli.Report, reference: str) -> float:
    """`grad:W1[0,1]`: one entry of a value or a gradient."""
    kind, name, key = re.fullmatch(r"(value|grad):(\w+)(?:\[([\d,]+)\])?", reference).groups()
    whole = report.value(name) if kind == "value" else report.gradient(name)
    return float(np.asarray(whole)[tuple(map(int, key.split(","))) if key else ()])


def prints_as(value: float, printed: str) -> bool:
    """Whether a number rounds to the digits that were printed (either way, if it lies halfway)."""
    decimals = len(printed.partition(".")[2])
    half = 0.5 * 10.0**-decimals
    return abs(value - float(printed)) <= half + 4 * np.spacing(abs(value))


@pytest.mark.parametrize(("case", "figure"), FIGURES)
def test_figures_in_print(case: dict[str, Any], figure: dict[str, Any]) -> None:
    value = entry(derived(case), figure["ref"])
    assert prints_as(value, figure["printed"]) == figure["right_to_printed_digits"]
    if "should_print" in figure:
        assert prints_as(value, figure["should_print"])


def follows(order: list[str], edges: list[list[str]]) -> bool:
    """Whether every node of an order comes after those that consume it."""
    place = {name: at for at, name in enumerate(order)}
    return all(place[b] < place[a] for a, b in edges if a in place and b in place)


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name: str) -> None:
    graph = CASES[name]["graph"]
    report = derived(CASES[name])
    assert follows(report.order, graph["edges"])
    assert set(graph["nodes"]) <= set(report.order)
    assert len(set(report.order)) == len(report.order)


CLAIMED = [
    pytest.param(CASES[n], c, id=f"{n}-{k}") for n in ORDERS for k, c in enumerate(CASES[n]["graph"]["claimed_orders"])
]


@pytest.mark.parametrize(("case", "claim"), CLAIMED)
def test_a_sweep_is_right_in_every_valid_order(case: dict[str, Any], claim: dict[str, Any]) -> None:
    """Orders that people claimed; those that visit a node before a consumer are told apart."""
    report = derived(case)
    assert follows(claim["order"], case["graph"]["edges"]) == claim["valid"]
    if claim["valid"] and set(claim["order"]) == set(report.order):
        swept = sweep([report.node(name) for name in claim["order"]], report.values, report.seed)
        for name, right in case["gradients"].items():
            np.testing.assert_allclose(swept.gradients[report.node(name).number], numbers(right), RTOL, ATOL)

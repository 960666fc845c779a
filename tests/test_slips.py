"""Slips have names: those of the catalogue, planted in derivations, and those that people made in public.

`python tests/test_slips.py` plants every slip in every line, and tells how many were named as planted, as something
that is equally right, as something else, or not at all.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.derivations import DERIVATIONS
from support.planting import PLAIN, PLANTS, Planted, planted
from test_faults import run

import gradcli
from gradcli.homework.compare import same
from gradcli.homework.mark import Marked, Naming, Verdict
from gradcli.homework.marking import mark_sheet
from gradcli.homework.naming import Namer
from gradcli.homework.points import Points
from gradcli.homework.reader import read_sheet
from gradcli.homework.sheet import Kind, Sheet
from gradcli.problems import GradError, Source
from gradcli.problems.slips import SLIPS, Slip, find
from gradcli.report import Report

EACH = 8
"""How many plantings of every slip a run of the tests tries, of thousands in all."""

EQUALLY_RIGHT = {
    # the edit that was found puts the line right just as well, and is as plain as the planting
    ("extra factor", "wrong operand"),  # `dout * xn * s`: xn for xc, since xn is xc * s
    ("extra factor", "gradient for value"),
    ("extra factor", "function for derivative"),  # `dh * (z > 0) * z`: relu(z) for its derivative
    ("extra factor", "wrong exponent"),
    ("extra factor", "missing path"),  # `(s - y) * y` is what comes through y * log(s) alone
    ("extra factor", "derivative at wrong node"),
    ("extra factor", "softmax diagonal"),  # `(p - y) * y`: the diagonal of p * (g - sum(g * p))
    ("extra term", "constant"),  # `dz + dz` is twice as much
    ("extra term", "sum for mean"),
    ("extra term", "missing path"),  # `A @ x - b + b` lacks the path of -b
    ("other gradient", "missing path"),  # `db = da3`
    ("other gradient", "sign"),
    ("value for gradient", "constant"),  # where the gradient is twice the value
    ("value for gradient", "missing path"),
    ("multiplied for divided", "constant"),
    ("wrong exponent", "wrong operand"),  # `dr * n / d`: dr for dn, which is dr / d
    ("wrong exponent", "missing local"),
    ("operands swapped", "kernel flip"),  # a correlation with its operands exchanged is flipped
}
"""Pairs of what was planted and what it was called."""


def named(naming: Naming) -> list[str]:
    """The names of "either X or Y"."""
    return naming.slip.removeprefix("either ").split(" or ")


def reading(slip: str, naming: Naming | None) -> str:
    """How a planted slip was named."""
    if naming is None:
        return "unnamed"
    found = named(naming)
    if slip in found:
        return "as planted"
    if any(slip in SLIPS[name].alike or name in SLIPS[slip].alike for name in found):
        return "as a synonym"
    return "equally right" if any((slip, name) in EQUALLY_RIGHT for name in found) else "otherwise"


@dataclass
class Ground:
    """A derivation that is right, and what its lines are at every point."""

    name: str
    report: Report
    lines: list[str]
    sheet: Sheet
    points: Points
    values: list[list[Any]] = field(default_factory=list)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        found = {n.name: n.shape for n in self.report.traced.graph.nodes}
        for line in self.sheet.lines:
            assert line.expression is not None
            found[line.text.split("=")[0].strip()] = line.expression.shape
        return found


@cache
def ground(name: str) -> Ground:
    formula, answers = DERIVATIONS[name]
    report = gradcli.derive(formula)
    sheet = read_sheet(report, Source("answers", answers.strip() + "\n"))
    found = Ground(name, report, answers.strip().splitlines(), sheet, Points(sheet))
    for line in sheet.lines:
        assert line.expression is not None
        found.values.append(
            [found.points.value(line.expression, p, _given(found.values, k)) for k, p in _points(found)]
        )
    return found


def _points(of: Ground) -> list[tuple[int, Any]]:
    return list(enumerate(of.points.all))


def _given(values: list[list[Any]], k: int) -> dict[int, Any]:
    return {index: each[k] for index, each in enumerate(values)}


@dataclass
class Tried:
    """A planting, and what it was called."""

    planting: Planted
    reading: str
    naming: Naming | None


def attempt(planting: Planted) -> Tried | None:
    """What a planted line is called; None where it cannot be read or evaluated, is still right, or is a helper."""
    base = ground(planting.derivation)
    before = base.lines[: planting.line]
    try:
        sheet = read_sheet(base.report, Source("answers", "\n".join([*before, planting.text]) + "\n"))
    except GradError:
        return None
    line = sheet.lines[-1]
    if line.expression is None or line.kind is not Kind.GRADIENT:
        return None
    points = Points(sheet)
    points.all = base.points.all
    for point in points.all:
        point.sheet = sheet
    earlier = base.values[: planting.line]
    right = base.values[planting.line]
    values = [points.value(line.expression, p, _given(earlier, k)) for k, p in enumerate(points.all)]
    if any(v is None for v in values) or all(same(v, r, lambda: 1.0) for v, r in zip(values, right, strict=True)):
        return None
    naming = Namer(sheet, points).name(line, [*earlier, right], earlier)
    if naming is not None and naming.expected:
        assert_right(base, before, line.text.split("=")[0], naming.expected, right)
    return Tried(planting, reading(planting.slip, naming), naming)


def assert_right(base: Ground, before: list[str], left: str, expected: str, right: list[Any]) -> None:
    """That the formula which an edit leads to is right, read again from what is printed."""
    text = "\n".join([*before, f"{left.strip()} = {expected}"]) + "\n"
    sheet = read_sheet(base.report, Source("answers", text))
    line = sheet.lines[-1]
    assert line.expression is not None, (text, line.problems)
    points = Points(sheet)
    for k, point in enumerate(base.points.all):
        point.sheet = sheet
        earlier = _given(base.values[: len(before)], k)
        assert same(points.value(line.expression, point, earlier), right[k], lambda: 1.0, point.scale), text


def every_planting() -> list[Planted]:
    return [each for name in PLAIN for each in planted(name, ground(name).shapes)]


def shares(tried: list[Tried]) -> dict[str, float]:
    """The share of every reading."""
    counts = Counter(each.reading for each in tried)
    return {reading: count / len(tried) for reading, count in counts.items()}


def test_planted_slips_are_named() -> None:
    everything = every_planting()
    random.Random(5).shuffle(everything)
    tried: list[Tried] = []
    count: Counter[str] = Counter()
    for planting in everything:
        if count[planting.slip] < EACH and (found := attempt(planting)) is not None:
            count[planting.slip] += 1
            tried.append(found)
    assert count.keys() >= PLANTS.keys()
    share = shares(tried)
    print({reading: f"{100 * each:.1f} %" for reading, each in share.items()})
    assert share["as planted"] + share["as a synonym"] + share.get("equally right", 0) > 0.95
    otherwise = [(t.planting, t.naming) for t in tried if t.reading == "otherwise"]
    assert len(otherwise) <= 0.01 * len(tried), otherwise


# The catalogue ------------------------------------------------------------------------------------------------------


def marked(formula: str, answers: str, of: str | None = None) -> Marked:
    return mark_sheet(read_sheet(gradcli.derive(formula, of=of), Source("answers", answers + "\n")))


def first_naming(sheet: Marked) -> Naming | None:
    return sheet.first.naming if sheet.first is not None else None


@pytest.mark.parametrize("slip", SLIPS.values(), ids=lambda s: s.code)
def test_example_of_every_slip(slip: Slip) -> None:
    assert marked(slip.formula, slip.right).right
    naming = first_naming(marked(slip.formula, slip.wrong))
    assert naming is not None
    assert named(naming)[0] == slip.name
    assert naming.sentence
    assert naming.edit


@pytest.mark.parametrize("slip", SLIPS.values(), ids=lambda s: s.code)
def test_every_slip_is_explained(slip: Slip) -> None:
    assert find(slip.code) is find(slip.name) is slip
    assert all(other in SLIPS for other in slip.alike)
    for words in ([slip.code], [slip.name], slip.name.split()):
        outcome = run("explain", *words)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith(f"{slip.code}\n\n{slip.sentence[0].upper()}")
        assert all(line.strip() in outcome.out for line in slip.wrong.splitlines())
    assert slip.code in [line.split()[0] for line in run("explain").out.splitlines()]


# What people did ------------------------------------------------------------------------------------------------------

REAL = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "cases" / "mistakes.json").read_text(encoding="utf-8"))
}

MEANT = {
    # of every sheet in which a line is wrong: the names that say what its author did; none where it was no single slip
    "b-net-dw2-for-w2": ["gradient for value"],
    "b-net-tanh-prime-on-z": ["derivative at wrong node"],
    "b-dw-missing-transpose-square": ["missing transpose"],
    "b-neg-sampling-extra-sigma": ["missing local"],
    "b-softmax-diagonal-only": ["softmax diagonal"],
    "b-softmax-s-minus-s2": ["softmax diagonal"],
    "b-bias-not-summed": ["missing sum"],
    "b-quadratic-form-left-right": ["missing transpose"],
    "b-quadratic-form-2ax": ["missing transpose"],
    "b-frobenius-asked-and-answered": ["sign"],  # its first line has two slips, its second one has this
    "b-frobenius-symmetrised": ["missing transpose"],
    "b-least-squares-lost-inner-sum": [],
    "b-logdet-symmetric-convention": [],
    "b-quadratic-missing-2": ["constant"],
    "b-square-derivative-by-output": [],
    "b-mse-mean-over-rows": ["sum for mean", "constant"],
    "b-svm-subtract-once": ["missing path", "missing sum"],
    "b-svm-reg-factor": ["constant"],
    "b-conv-weight-grad-reversed": ["kernel flip", "operands swapped"],
    "b-conv-input-grad-unflipped": ["kernel flip"],
    "b-lstm-forget-not-derivative": ["function for derivative"],
    "b-lstm-cell-overwritten": ["missing path"],
    "b-lecture-notes-v-for-r": ["missing local"],
    "b-bptt-total-vs-partial": ["missing path"],
    "b-concat-full-weights": ["missing slice"],
    "b-dice-sign-and-precedence": ["sign", "precedence"],
    "b-broadcast-row-bias": ["missing sum"],
    "b-relu-zeroes-negative-gradients": ["mask on wrong tensor"],
    "b-logistic-margin-sign": ["sign"],
    "b-softmax-wrong-axis": ["wrong axis"],
}


def test_real_slips_are_named() -> None:
    count: Counter[str] = Counter()
    for name, meant in MEANT.items():
        case = REAL[name]
        sheet = marked(case["formula"], case["wrong_answers"], case["output"])
        wrong = [m for m in sheet.marks if m.verdict is Verdict.WRONG]
        assert wrong, name
        namings = [m.naming for m in wrong if m.naming is not None]
        otherwise = [n.slip for n in namings if not set(meant) & set(named(n))]
        assert not otherwise, (name, otherwise)
        count["named" if namings else "not named"] += 1
    print(dict(count))
    assert count["named"] >= 0.75 * count.total()


# Numbers --------------------------------------------------------------------------------------------------------------

NET = DERIVATIONS["tanh net on a batch, binary cross-entropy"][0]


def test_numbers_are_named_from_what_they_say() -> None:
    report = gradcli.derive(NET)
    lost = (np.asarray(report.gradient("A1")) * 1).tolist()  # as if tanh had slope 1
    naming = first_naming(marked(NET, f"dZ1 = {lost}"))
    assert naming is not None
    assert "missing local" in named(naming)


def test_few_digits_get_no_name() -> None:
    naming = first_naming(marked("x = 1.7\ny = tanh(x)\nL = y * x\n", "dx = 1.1"))
    assert naming is None


def test_random_numbers_get_no_name() -> None:
    random_numbers = np.random.default_rng(3)
    report = gradcli.derive(NET)
    for target in ("W1", "W2", "Z1", "b1"):
        for _ in range(6):
            size = np.shape(report.gradient(target))
            guess = np.round(random_numbers.normal(size=size) * 0.3, 3).tolist()
            assert first_naming(marked(NET, f"d{target} = {guess}")) is None


if __name__ == "__main__":
    everything = [each for each in map(attempt, every_planting()) if each is not None]
    print(len(everything), {reading: f"{100 * each:.2f} %" for reading, each in shares(everything).items()})
    for each in everything:
        if each.reading in ("otherwise", "unnamed"):
            print(each.planting.derivation, "|", each.planting.slip, "|", each.planting.text, "|", each.naming)

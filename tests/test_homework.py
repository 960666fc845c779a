"""Homework: real derivations that went wrong, hand derivations with slips planted in them, numbers, orders, hints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.derivations import DERIVATIONS, Planted, planted
from test_cases import CASES, FIGURES
from test_faults import run

import gradcli
from gradcli.homework import Told, mark
from gradcli.homework.telling import ToldLine
from gradcli.problems import Source

MISTAKES = [name for name, case in CASES.items() if "wrong_answers" in case]
ORDERS = [name for name, case in CASES.items() if "graph" in case]
GOOD = ("right", "scaled", "helper")


def marked(formulas: str, answers: str, *, hint: int = 4, of: str | None = None) -> Told:
    """What is told of answers to a formula file."""
    return mark(gradcli.derive(formulas, of=of), [Source("answers.txt", answers)], hint=hint)


def verdicts(told: Told) -> list[str | None]:
    return [line.verdict for line in told.lines]


def only(formulas: str, line: str) -> ToldLine:
    """The mark of a sheet of one line."""
    (found,) = marked(formulas, line).lines
    return found


# Real derivations --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MISTAKES)
def test_right_answers_pass(name: str) -> None:
    case = CASES[name]
    told = marked(case["formula"], case["right_answers"], of=case["output"])
    assert told.right, [line for line in told.lines if line.verdict not in GOOD]
    assert told.first is None
    assert told.score == 1


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_answers_are_found(name: str) -> None:
    case = CASES[name]
    told = marked(case["formula"], case["wrong_answers"], of=case["output"])
    claims: dict[str, list[ToldLine]] = {}
    for line in told.lines:
        claims.setdefault(line.target.rpartition("/d")[2], []).append(line)
    for wanted, value in case["wrong_values"].items():
        target, _, count = wanted.partition("~")
        line = claims[target][int(count or 1) - 1]
        np.testing.assert_allclose(np.asarray(line.given, float), np.array(value["value"], float), 1e-10, 1e-13)
        assert (line.verdict in GOOD) == value.get("agrees", False), line
    assert told.right == all(value.get("agrees") for value in case["wrong_values"].values())
    assert (told.first is None) == told.right
    assert sum(bool(line.first_wrong) for line in told.lines) == (not told.right)


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name: str) -> None:
    case = CASES[name]
    claimed = case["graph"]["claimed_orders"]
    text = "\n".join(f"order == [{', '.join(claim['order'])}]" for claim in claimed)
    told = marked(case["formula"], text, of=case["output"])
    for claim, line in zip(claimed, told.lines, strict=True):
        assert (line.verdict == "right") == claim["valid"], line
        assert line.target == "order"
        assert line.given == claim["order"]
        if claim["valid"]:
            assert line.expected == claim["order"]
            continue
        assert line.notes[0].replace("`", "").startswith(claim["why"].partition("(s)")[0])
        assert line.would_give is not None
        for node, gradient in claim["grads_if_used"].items():
            np.testing.assert_allclose(line.would_give[node], gradient, 1e-10, 1e-12)
        assert ("still be right" in line.notes[-1]) == claim["gives_right_gradients"]
        assert only_order(case, line.expected).verdict == "right"


def only_order(case: dict[str, Any], order: Any) -> ToldLine:
    (line,) = marked(case["formula"], f"order == [{', '.join(order)}]", of=case["output"]).lines
    return line


@pytest.mark.parametrize(("case", "figure"), FIGURES)
def test_printed_figures(case: dict[str, Any], figure: dict[str, Any]) -> None:
    kind, name = figure["ref"].split(":")
    left = name if kind == "value" else f"d{case['output']}/d{name}"
    (line,) = marked(case["formula"], f"{left} == {figure['printed']}", of=case["output"]).lines
    assert (line.verdict == "right") == figure["right_to_printed_digits"]


# Planted slips -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in DERIVATIONS if name != "recurrent net with a helper"])
def test_planted_slips(name: str) -> None:
    """In every derivation with a slip the line with the slip is the first wrong one, and later lines follow.

    Not where a line is a helper with a name of its own, `a1`: its slips can show first in the lines that use it.
    """
    formulas, answers = DERIVATIONS[name]
    report = gradcli.derive(formulas)
    right = mark(report, [Source("a", answers.strip())])
    assert right.right, [line for line in right.lines if line.verdict not in GOOD]
    count, found, first, following = 0, 0, 0, 0
    for slip in planted(answers):
        told = mark(report, [Source("a", slip.answers)])
        if _changes_nothing(slip, told, right):
            continue
        count += 1
        found += not told.right
        first += told.first is not None and told.first.line == slip.line
        following += all(line.verdict in (*GOOD, "follows") for line in told.lines if line.line != slip.line)
    print(f"{name}: {count} slips, {found} found, first line right in {first}, rest right in {following}")
    assert count >= 15
    assert found == first == count
    assert following == count


def _changes_nothing(slip: Planted, told: Told, right: Told) -> bool:
    """Whether a planted edit leaves the value of its line as it is, as swapped factors do."""
    a, b = told.lines[slip.line - 1].given, right.lines[slip.line - 1].given
    return a is not None and np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-12, atol=1e-13)


# Verdicts ----------------------------------------------------------------------------------------

SYMMETRIC = "x = [1, 2]\nA = [[2, 1], [1, 20]]\nf = x @ A @ x\n"
ONES = "W = [[1, 2], [3, 4]]\nx = [1, -2]\ng = [1, 1]\nz = W @ x\nL = sum(z * g)\n"
INACTIVE = "x = [1.5, 0.5]\nw = [0.3, -0.7]\nh = relu(x)\nL = sum(h * w)\n"
HINGE = "w = [0.4, 0.3]\nx = [1.0, 2.0]\nm = 1 - dot(w, x)\nL = relu(m + 0.5)\n"
LINEAR = "x = 2\nw = 3\np = x * w\nL = p * p\n"


@pytest.mark.parametrize(
    ("formulas", "line", "verdict", "note"),
    [
        (SYMMETRIC, "dx = 2 * A @ x", "right_here_only", "`A` is symmetric"),
        (SYMMETRIC, "dx = A @ x + A.T @ x", "right", ""),
        (ONES, "dx = sum(W, axis=0)", "right_here_only", "`g` is 1"),
        (ONES, "dx = W.T @ g", "right", ""),
        (INACTIVE, "dx = w", "right_here_only", "every entry of `h` stays on its side"),
        (INACTIVE, "dx = w * (x > 0)", "right", ""),
        (HINGE, "dw = -x", "right", ""),
        ("x = [0.0, 1.0]\nw = [0.3, 0.5]\nL = sum(relu(x) * w)\n", "dx = w * (x >= 0)", "right", "kink"),
        ("x = [0.0, 1.0]\nw = [0.3, 0.5]\nL = sum(relu(x) * w)\n", "dx = 2 * w * (x >= 0) - w * (x > 0)", "wrong", ""),
        ("x = [1.0, 1.0, 0.5]\nL = 2 * max(x)\n", "dx = [2, 0, 0]", "right", "both are allowed"),
        ("x = [1.0, 1.0, 0.5]\nL = 2 * max(x)\n", "dx = [2, 2, 0]", "wrong", ""),
        ("x = 0\nL = relu(x)\n", "dx = 1", "right", "both are allowed"),
        ("x = 0\nL = relu(x)\n", "dx = 1.5", "wrong", ""),
        ("x = [1.0, 1.0, 0.5]\nL = 2 * max(x)\n", "dx = 2.0 * (x == max(x))", "wrong", ""),
        ("x = [1.0, 1.0, 0.5]\nL = 2 * max(x)\n", "dx = 2.0 * (x == max(x)) / sum(x == max(x))", "right", ""),
        ("x = [3.0, 0.0]\nL = sum(where(x > 2, log(x), x * x) + relu(x))\n", "dx = 2 * x + (x > 0)", "wrong", ""),
        (LINEAR, "dx = 2 * p * w", "right", ""),
        (LINEAR, "dx = 6 * p", "right_here_only", "`w` is 3"),
        (LINEAR, "dx = [36.0]", "wrong", "its shape is (1,), and it should be ()"),
        (LINEAR, "dx = 36", "right", ""),
        (LINEAR, "dx = 35.96", "wrong", ""),
        (LINEAR, "dx == q", "invalid", ""),
        (LINEAR, "dp/dx == w", "right", ""),
        (LINEAR, "dp/dx == 3", "right", ""),
        (LINEAR, "dL/dx == dL/dp * dp/dx", "right", ""),
        (LINEAR, "p == 6", "right", ""),
        (LINEAR, "p == x + 4", "right_here_only", ""),
        (LINEAR, "x + w == 5", "right", ""),
        (LINEAR, "order == [L, p]", "right", ""),
        (LINEAR, "order == [p, L]", "wrong", "`p` comes before its consumer `L`"),
        (LINEAR, "order == [L]", "wrong", "`p` is not listed"),
        (LINEAR, "order == [L, p, p]", "wrong", "`p` is listed more often than it is defined"),
        (LINEAR, "order == [L, q]", "invalid", ""),
        ("z = [0.5, -1]\ny = const([1, 0])\nL = cross_entropy(z, y)\n", "dz = softmax(z) - y", "right", ""),
        ("a = [1, 2]\nh = tanh(a)\nL = sum(h * h)\n", "dh/da == 1 - h**2", "right", ""),
        ("a = [1, 2]\nh = tanh(a)\nL = sum(h * h)\n", "dh/da == diag(1 - h**2)", "right", ""),
        ("x = [1, 2]\nW = [[1, 2], [3, 4]]\nz = W @ x\nL = sum(z * z)\n", "dz/dx == W", "right", ""),
        ("x = [1, 2]\nW = [[1, 2], [3, 4]]\nz = W @ x\nL = sum(z * z)\n", "dz/dx == W.T", "wrong", ""),
    ],
)
def test_one_line(formulas: str, line: str, verdict: str, note: str) -> None:
    found = only(formulas, line)
    assert found.verdict == verdict
    assert note in "; ".join(found.notes)


@pytest.mark.parametrize(
    "left",
    [
        "dL/dx",
        "∂L/∂x",
        "d(L)/d(x)",
        "grad(x)",
        "grad(L, x)",
        "x.grad",
        "dx",
        "dL_dx",
        "dLdx",
        "d_x",
        "grad_x",
        "x_grad",
    ],
)
@pytest.mark.parametrize("sign", ["=", "=="])
def test_spellings(left: str, sign: str) -> None:
    if sign == "=" and "(" in left:
        pytest.skip("not written so")
    found = only(LINEAR, f"{left} {sign} 2 * p * w")
    assert (found.verdict, found.target) == ("right", "dL/dx")


@pytest.mark.parametrize("use", ["dp", "dL/dp", "∂L/∂p", "p.grad", "grad(p)", "dL_dp"])
@pytest.mark.parametrize("form", ["{} * w", "w * {}", "-(-{}) * w", "w * {} * 1"])
def test_earlier_gradients_by_every_name(use: str, form: str) -> None:
    told = marked(LINEAR, f"dL_dp = 2 * p\ndx = {form.format(use)}\n")
    assert verdicts(told) == ["right", "right"]
    wrong = marked(LINEAR, f"dL_dp = 3 * p * x\ndx = {form.format(use)}\n")
    assert verdicts(wrong) == ["wrong", "follows"]


def test_transposed_derivative_in_a_product() -> None:
    told = marked(DERIVATIONS["attention"][0], "dL/dO = 2 * O\ndL/dA = dL/dO @ V.T\ndL/dV = A.T @ dL/dO\n")
    assert verdicts(told) == ["right"] * 3


def test_a_name_of_the_file_stays_what_it_is_on_the_right() -> None:
    """`dZ` is an input here; on the left it is the gradient of Z all the same."""
    formulas = "A = [[1, 2], [0.5, -1]]\nW = [[0.3, -0.2], [0.6, 0.1]]\ndZ = [[0.1, -0.4], [0.7, 0.2]]\n"
    formulas += "Z = W @ A\nL = sum(Z * dZ)\n"
    told = marked(formulas, "dZ = dZ\ndW = dZ @ A.T\n")
    assert [(line.target, line.verdict) for line in told.lines] == [("dL/dZ", "right"), ("dL/dW", "right")]


def test_invalid_lines_do_not_stop_those_that_use_them() -> None:
    formulas, _ = DERIVATIONS["two layers, cross-entropy"]
    told = marked(formulas, "dz2 = p - q\ndW2 = outer(dz2, h1)\ndb2 = dz2\n")
    assert verdicts(told) == ["invalid", "follows", "follows"]
    assert told.first is not None
    assert told.first.line == 1
    helper = marked(formulas, "delta = p - q\ndW2 = outer(delta, h1)\n")
    assert verdicts(helper) == ["invalid", "invalid"]
    assert [problem.code for problem in helper.lines[1].problems] == ["uses-invalid-line"]


def test_a_wrong_helper_is_found_by_its_use() -> None:
    formulas, _ = DERIVATIONS["two layers, cross-entropy"]
    told = marked(formulas, "delta = p + y\ndW2 = outer(delta, h1)\ndb2 = delta\n")
    assert verdicts(told) == ["wrong", "follows", "follows"]
    assert "dL/dz2" in "; ".join(told.lines[0].notes)


def test_a_factor_that_nobody_puts_back_is_wrong_where_it_starts() -> None:
    formulas, answers = DERIVATIONS["a factor put back later"]
    told = marked(formulas, answers.replace(" / 2", ""))
    assert verdicts(told) == ["wrong", *["follows"] * 5]
    one = marked(formulas, answers.replace("dz2 / 2", "dz2"))
    assert verdicts(one) == ["scaled", "wrong", "scaled", "scaled", "right", "right"]


def test_rounding_is_explained_by_the_numbers_printed_before() -> None:
    formulas = (Path(__file__).parent.parent / "samples" / "two_layer.txt").read_text()
    told = marked(
        formulas,
        "p = [0.4403, 0.5597]\nL = 0.8206\ndz1 = [-0.2239, 0.4478]\ndW1 = [[-0.2239, -0.1120], [0.4478, 0.2239]]\n",
    )
    assert verdicts(told) == ["right", "wrong", "right", "right"]
    assert "rounding: computed from `dz1 = [-0.2239, 0.4478]`" in told.lines[3].notes
    assert only(formulas, "dW1 = [[-0.2239, -0.1120], [0.4478, 0.2239]]").verdict == "wrong"
    wrong = marked(formulas, "dz2 = [-0.4403, 0.5597]\ndb2 = [-0.4403, 0.5597]\ndh1 = [-0.1642, 0.4239]\n")
    assert verdicts(wrong) == ["wrong", "follows", "follows"]


def test_numbers_inside_formulas_may_be_rounded() -> None:
    formulas = (Path(__file__).parent.parent / "samples" / "two_layer.txt").read_text()
    right = ("dW2 = outer([-0.5597, 0.5597], h1)", "dh1 = W2.T @ [-0.5597, 0.5597]", "dW1[0, 1] = -0.2239 / 2")
    assert [only(formulas, line).verdict for line in right] == ["right"] * 3
    wrong = ("dW2 = outer([-0.5597, 0.5596], h1)", "dW2 = outer([0.5597, -0.5597], h1)", "dW1[0, 1] = -0.2239 / 3")
    assert [only(formulas, line).verdict for line in wrong] == ["wrong"] * 3


def test_updates_of_some_entries() -> None:
    formulas = "z = [[0.5, -1.0, 0.2], [1.0, 0.3, -0.4]]\ny = const([2, 0])\np = softmax(z, axis=1)\n"
    formulas += "L = cross_entropy(z, y)\n"
    lines = "n = 2\ndz = p\ndz[range(n), y] -= 1\ndz /= n\n"
    assert verdicts(marked(formulas, lines)) == ["helper", "helper", "right"]
    assert verdicts(marked(formulas, lines.replace("-=", "+="))) == ["helper", "wrong", "follows"]
    assert verdicts(marked(formulas, lines.replace("dz /= n\n", ""))) == ["helper", "wrong"]


def test_updates_through_a_mask() -> None:
    formulas = "x = [-0.5, 1.0, 0.2]\nw = [0.3, 0.5, -0.8]\nh = relu(x)\nL = sum(h * w)\n"
    assert verdicts(marked(formulas, "dx = w.copy()\ndx[x <= 0] = 0\n")) == ["helper", "right"]
    assert verdicts(marked(formulas, "dx = w.clone()\ndx[x > 0] = 0\n")) == ["helper", "wrong"]
    assert verdicts(marked(formulas, "dx = w * (x > 0).float()\n")) == ["right"]
    assert verdicts(marked(formulas, "dh = w.t()\ndx = dh.clone()\ndx[h == 0] *= 0\n")) == ["right", "helper", "right"]


def test_several_statements_and_targets() -> None:
    told = marked(LINEAR, "dp = 2 * p; dx, dw = dp * w, dp * x\n")
    assert [(line.text, line.verdict) for line in told.lines[1:]] == [
        ("dx = dp * w", "right"),
        ("dw = dp * x", "right"),
    ]


def test_zero_gradients_can_be_right() -> None:
    formulas = "x = [1, 3, 0.5]\nb = 0.3\nw = [0.2, -0.4, 0.9]\nz = x + b\nc = z - mean(z)\nL = sum(c * c * c * w)\n"
    assert only(formulas, "db = 0").verdict == "right"
    assert only(formulas, "db = sum(w * 3 * c ** 2 - mean(w * 3 * c ** 2))").verdict == "right"
    assert only(formulas, "db = sum(w * 3 * c ** 2)").verdict == "wrong"


TURNED = [
    *["12 == L", "12.5 == L", "9 == x*x*sum(v)", "12 == x*x*sum(v)", "x*x*sum(v) == L", "x*sum(v) == L"],
    *["4*ones(2) == dL/dv", "4 == dL/dv[0]", "[L, v, x] == order", "3 == nope", "v + 1 == v", "2*x*sum(v) == dL/dx"],
]
"""Claims with what they are about on the right."""


@pytest.mark.parametrize("claim", TURNED)
def test_a_claim_is_judged_alike_either_way_round(claim: str) -> None:
    left, right = claim.split(" == ")
    report = gradcli.derive(f"x = 2\nv = [1, 2.0]\nL = x*x*sum(v)\n{claim}\n{right} == {left}\n")
    one, other = mark(report).lines
    assert (one.verdict, one.notes) == (other.verdict, other.notes)
    assert one.target == other.target or one.verdict == "invalid"


# Answers files -----------------------------------------------------------------------------------

GRADIENTS = {"dw": [[0.5, -1.0], [1.5, 2.0]], "db": 3.0, "y": 4.5}
BILINEAR = "u = [1, 3]\nv = [0.5, -1]\nw = [[1, 2], [3, 4]]\nb = 2\ny = 4.5\nL = u @ w @ v + 3 * b\n"


def _write(folder: Path, kind: str) -> Path:
    arrays = {"dw": np.outer([1, 3], [0.5, -1]), "db": np.array(3.0), "du": np.array([-1.5, -2.0])}
    if kind == "npz":
        np.savez(folder / "a.npz", **arrays)  # type: ignore[arg-type]
    elif kind == "folder":
        (folder / "a.folder").mkdir()
        for name, array in arrays.items():
            np.save(folder / "a.folder" / f"{name}.npy", array)
    elif kind == "json":
        text = json.dumps({name: array.tolist() for name, array in arrays.items()}, indent=1)
        (folder / "a.json").write_text(text)
    elif kind == "csv":
        (folder / "a.csv").write_text("dw,0.5,-1.0\n,1.5,-3.0\ndb,3\ndu,-1.5,-2.0\n")
    return folder / f"a.{kind}"


@pytest.mark.parametrize("kind", ["npz", "folder", "json", "csv"])
def test_files_of_numbers(kind: str, tmp_path: Path) -> None:
    report = gradcli.derive(BILINEAR)
    told = mark(report, [_write(tmp_path, kind)])
    found = {line.target: line.verdict for line in told.lines}
    assert found == {"dL/dw": "right", "dL/db": "right", "dL/du": "wrong"}
    assert told.first is not None
    assert told.first.target == "dL/du"


def test_json_holds_formulas_and_orders_too() -> None:
    text = '{"dw": "outer(u, v)",\n "order": ["L", "b"],\n "du": [[1]], "dv": "u @"}'
    told = mark(gradcli.derive(BILINEAR), [Source("a.json", text)])
    found = [(line.line, line.verdict) for line in told.lines]
    assert found == [(1, "right"), (2, "right"), (3, "wrong"), (3, "invalid")]
    assert [problem.code for problem in told.lines[-1].problems] == ["missing-operand"]


def test_csv_columns() -> None:
    told = mark(gradcli.derive(BILINEAR), [Source("a.csv", "du,dv\n-1.5,10\n-2.5,14\n")])
    assert verdicts(told) == ["right", "right"]


def test_claims_of_the_formula_file_come_first() -> None:
    told = mark(gradcli.derive(f"{LINEAR}dL/dp == 2 * p\ndL/dx == p\n"), [Source("a", "dw = 2 * p * x")])
    assert [(line.line, line.verdict) for line in told.lines] == [(5, "right"), (6, "wrong"), (1, "right")]


# The command -------------------------------------------------------------------------------------

SAMPLES = Path(__file__).parent.parent / "samples"
SHEET = ("check", SAMPLES / "two_layer.txt", "--answers", SAMPLES / "two_layer.answers.txt")


def test_json_keys() -> None:
    outcome = run(*SHEET, "--format", "json")
    assert outcome.code == 1
    document = json.loads(outcome.out)
    assert document["summary"] == {
        "lines": 7,
        "right": 4,
        "scaled": 0,
        "right_here_only": 0,
        "follows": 2,
        "wrong": 1,
        "helper": 0,
        "unresolved": 0,
        "invalid": 0,
    }
    claim = document["claims"][3]
    assert claim["target"] == "dL/dh1"
    assert claim["line"] == 6
    assert claim["text"] == "dh1 = W2 @ dz2"
    assert claim["verdict"] == "wrong"
    assert claim["first_wrong"] is True
    np.testing.assert_allclose(claim["expected"], [-0.22388545970687718, 0.44777091941375435])
    assert set(claim) >= {"line", "text", "target", "verdict", "first_wrong", "slip", "given", "expected", "note"}
    assert document["score"] == pytest.approx(6 / 7)


HIDDEN = {
    0: ["dh1", "W2.T", "transpose", "0.2239", "0.2238", "follows", "wrong"],
    1: ["W2.T", "transpose", "0.2239", "0.2238", "follows"],
    2: ["W2.T", "0.2239", "0.2238", "follows"],
    3: ["0.2239", "0.2238", "follows"],
}


@pytest.mark.parametrize("hint", HIDDEN)
@pytest.mark.parametrize("format", ["table", "json"])
def test_hints_hide(hint: int, format: str) -> None:
    outcome = run(*SHEET, "--hint", str(hint), "--format", format)
    assert outcome.code == 1
    shown = outcome.out + outcome.err
    if format == "json":
        document = json.loads(outcome.out)
        for claim in document["claims"]:
            del claim["text"], claim["target"]  # the student's own words
        assert [claim.get("first_wrong") for claim in document["claims"]].count(True) == (hint > 0)
        shown = json.dumps(document).replace('"first_wrong"', "")
    hidden = [word for word in HIDDEN[hint] if word in shown and not (format == "json" and hint and word == "wrong")]
    assert not hidden


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_fits_the_terminal(width: int, encoding: str) -> None:
    outcome = run(*SHEET, COLUMNS=str(width), encoding=encoding)
    assert outcome.code == 1
    assert all(len(line) <= width for line in outcome.out.splitlines())


def test_exit_codes(tmp_path: Path) -> None:
    formulas, answers = tmp_path / "f.txt", tmp_path / "a.txt"
    formulas.write_text(LINEAR)
    for text, code in (
        ("", 2),
        ("# nothing", 2),
        ("dx = 2*p*w", 0),
        ("dx = 6*p", 1),
        ("dx = p", 1),
        ("dx = q", 1),
        ("dx = = 3", 2),
    ):
        answers.write_text(text)
        assert run("check", formulas, "--answers", answers).code == code
    assert run("check", formulas, "--answers", tmp_path / "none.txt").code == 2

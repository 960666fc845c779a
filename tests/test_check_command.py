"""`gradcli check` and the cross-check of `derive`: exit codes, tables, JSON, terminals, and what verdicts mean.

What a check finds is given by hand here (see `support.checks`), so that every verdict can be looked at; a few runs use
the engine itself.
"""

from __future__ import annotations

import io
import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from rich.cells import cell_len
from support.checks import check_of, scalar, tensor
from test_cli import ESCAPE, NUMBER, process
from test_faults import Outcome, run

import gradcli
from gradcli.cli import derive as derive_module
from gradcli.cli import progress as progress_module
from gradcli.cli.progress import Bar
from gradcli.problems import MISTAKES
from gradcli.verify.document import check_json
from gradcli.verify.explanations import verdict_explanation
from gradcli.verify.verdict import Check, Entry, RuleCheck, Verdict

SCALARS = "x = 0\ny = 2\nz = 3\nh = relu(x)\nq = cbrt(x)\nL = h + exp(y) * z\n"
TENSORS = """\
x = [1.0, 0.5]
W1 = [[0.2, -0.1], [0.3, 0.4]]
b1 = [0.1, -0.2]
z1 = W1 @ x + b1
h1 = relu(z1)
L = sum(h1)
"""

GOOD = check_of(
    scalar("y", 22.16716829679195, formula="z*exp(y)", symbolic=22.16716829679195, slope=22.16716829679195),
    scalar("z", 7.38906, formula="exp(y)", symbolic=7.38906, slope=7.38906),
)
KINK = scalar("x", 0, Verdict.KINK, left=0.0, right=1.0, allowed=True, node="h", reason="the argument is 0")
REFUSED = scalar("x", 2, Verdict.KINK, left=0.0, right=1.0, allowed=False, node="h", reason="the argument is 0")
ONE_SIDED = scalar("x", 0, Verdict.KINK, left=None, right=1.5, allowed=True)
STEEP = scalar("x", float("inf"), Verdict.UNDEFINED, node="q", reason="infinite slope at 0", way_out="keep x off 0")
LOST = scalar(
    "y",
    0.1234567,
    Verdict.INACCURATE,
    symbolic=0.1234569,
    slope=0.1234569,
    node="q",
    reason="exp(x) - 1 loses 8 of 16 digits",
    way_out="expm1(x) / x",
)
OPEN = scalar("z", 2, Verdict.UNRESOLVED, node="L", reason="differences at 1,000 digits did not settle")
WRONG = scalar("h", 1.00001, Verdict.DISAGREE, symbolic=1.0, slope=1.0)
MATRIX = tensor(
    "W1",
    [[0.25, -0.125], [0.447771, 1000.5]],
    Entry((1, 0), 0.447771, Verdict.DISAGREE, 0.895542),
    *(Entry((0, k), 0.25, Verdict.KINK, None, 0.0, 0.4, True, "h1", "the argument is 0") for k in range(2)),
    slope=[[0.25, -0.125], [0.895542, 1000.5]],
)
VECTOR = tensor("x", [1e-12, 3e4], at=(1,), formula="W1.T @ (z1 > 0)")
RULE = RuleCheck("z1", "my_linear", 1, "W1", Verdict.DISAGREE, "expected g.T @ x, shape (2, 3); found x.T @ g")

Given = Callable[..., Outcome]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    """Runs a command on a file, with an engine that finds what is given."""
    monkeypatch.chdir(tmp_path)

    def running(found: Check, *arguments: str, text: str = SCALARS, command: str = "check", **terminal: str) -> Outcome:
        Path("f.txt").write_text(text, encoding="utf-8")
        with mock.patch("gradcli.verify.check.check", return_value=found):
            return run(command, "f.txt", *arguments, **terminal)

    return running


# Exit codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "code", "strict"),
    [
        (GOOD, 0, 0),
        (check_of(KINK), 0, 0),
        (check_of(ONE_SIDED), 0, 0),
        (check_of(REFUSED), 1, 1),
        (check_of(STEEP), 0, 1),
        (check_of(LOST), 0, 1),
        (check_of(OPEN), 0, 1),
        (check_of(WRONG), 1, 1),
        (check_of(STEEP, WRONG), 1, 1),
        (check_of(MATRIX), 1, 1),
        (check_of(VECTOR, rules=(RULE,)), 1, 1),
        (check_of(), 0, 0),
    ],
)
def test_exit_codes(given: Given, found: Check, code: int, strict: int) -> None:
    text = TENSORS if any(g.shape for g in found.gradients.values()) else SCALARS
    for format in ("table", "json"):
        assert given(found, "--format", format, text=text).code == code
        assert given(found, "--format", format, "--strict", text=text).code == strict
        assert given(found, "--format", format, command="derive", text=text).code == code


def test_a_wrong_file_and_a_gradient_that_disagrees(given: Given) -> None:
    Path("wrong.txt").write_text("y = q\n", encoding="utf-8")
    for command in ("check", "derive"):
        outcome = given(check_of(WRONG), "wrong.txt", command=command)
        assert outcome.code == 2
        assert "disagree" in outcome.out
        assert outcome.err.startswith("\nerror[unknown-name]: `q` is not defined\n")


@pytest.mark.parametrize("tolerance", ["0", "-1e-3", "1", "nan", "inf"])
def test_a_tolerance_that_is_none(given: Given, tolerance: str) -> None:
    outcome = given(GOOD, "--tolerance", tolerance)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[bad-option]: --tolerance must be a number between 0 and 1")
    outcome = given(GOOD, "--tolerance", tolerance, "--format", "json")
    assert (outcome.code, outcome.err) == (2, "")
    assert [problem["code"] for problem in json.loads(outcome.out)["problems"]] == ["bad-option"]


def test_options_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.txt").write_text("x = [1, 2]\ny = 3\nc = x * y\n", encoding="utf-8")
    with mock.patch("gradcli.verify.check.check", return_value=GOOD) as engine:
        line = ("--all", "--wrt", "y", "--of", "c", "--upstream", "c=[1,10]", "--tolerance", "1e-6")
        assert run("check", "f.txt", *line, "--dtype", "float32").code == 0
    (report,) = engine.call_args.args
    assert (report.wrt, report.output, report.node("y").dtype) == (("y",), "c", "float32")
    np.testing.assert_array_equal(report.seed, [1, 10])
    assert {k: engine.call_args.kwargs[k] for k in ("everything", "tolerance")} == {
        "everything": True,
        "tolerance": 1e-6,
    }


# Tables -----------------------------------------------------------------------------------------------


def test_a_table_in_which_all_agree(given: Given) -> None:
    assert (
        given(GOOD).out
        == """\
f.txt: L = relu(x) + exp(y) * z

Check      (SymPy: whole expression; differences at 130 digits)
  gradient  reverse sweep  SymPy               finite difference  verdict
  dL/dy     22.1672        z*exp(y) = 22.1672  22.1672  ± 2e-10   agree
  dL/dz      7.38906       exp(y)   = 7.38906   7.38906 ± 2e-10   agree

2 gradients: all agree
"""
    )


def test_a_table_of_every_verdict(given: Given) -> None:
    assert (
        given(check_of(KINK, LOST, OPEN, WRONG)).out
        == """\
f.txt: L = relu(x) + exp(y) * z

Check      (SymPy: whole expression; differences at 130 digits)
  gradient  reverse sweep  SymPy      finite difference  verdict
  dL/dx     0              abstains   left 0, right 1    kink
    h = relu(x): the argument is 0; left slope 0, right slope 1; the sweep uses
      0, which is allowed
  dL/dy     0.1234567      0.1234569  0.1234569 ± 2e-10  inaccurate
    q = cbrt(x): exp(x) - 1 loses 8 of 16 digits; the derivative is 0.1234569,
      the reverse sweep says 0.1234567
    way out: expm1(x) / x
  dL/dz     2              abstains   none               unresolved
    L = h + v2: differences at 1,000 digits did not settle
  dL/dh     1.00001        1          1         ± 2e-10  disagree
    the derivative is 1, the reverse sweep says 1.00001

4 gradients: 1 kink, 1 inaccurate, 1 unresolved, 1 disagrees
1 kink: the reverse sweep's 0 is one of the slopes allowed there (0 to 1)
"""
    )


def test_a_table_of_tensors(given: Given) -> None:
    assert (
        given(check_of(VECTOR, MATRIX, rules=(RULE,)), text=TENSORS, COLUMNS="90").out
        == """\
f.txt: L = sum(relu(W1 @ x + b1))

Check      (SymPy: node by node; differences in float64)
                    worst       reverse
  gradient  shape   entry       sweep         SymPy         finite difference     verdict
  dL/dx     (2,)    [1]         30000         30000         30000        ± 3e-12  agree
    SymPy: dL/dx = W1.T @ (z1 > 0)
  dL/dW1    (2, 2)  [1, 0]          0.447771      0.895542      0.895542 ± 3e-12  disagree
    [1, 0]: the derivative is 0.895542, the reverse sweep says 0.447771
    [0, 0], [0, 1]: h1 = relu(z1): the argument is 0; left slope 0, right slope 0.4; the
      sweep uses 0.25, which is allowed

Wrong rules      (each alone, at its inputs here)
  operation  result     at            verdict
  my_linear  2, for W1  z1 = v1 + b1  disagree
    expected g.T @ x, shape (2, 3); found x.T @ g

2 gradients, 6 entries: 3 agree, 2 kinks, 1 disagrees
2 kinks: each value of the reverse sweep is one of the slopes allowed there
1 rule of differentiation is wrong
"""
    )


def test_a_narrow_table_of_tensors(given: Given) -> None:
    assert (
        given(check_of(MATRIX), text=TENSORS, COLUMNS="60").out
        == """\
f.txt: L = sum(relu(W1 @ x + b1))

Check      (SymPy: node by node; differences in float64)
                reverse                finite
  gradient      sweep        SymPy     difference   verdict
  dL/dW1[1, 0]  0.447771     0.895542  0.895542     disagree
  (2, 2)                               ± 3e-12
    [1, 0]: the derivative is 0.895542, the reverse sweep
      says 0.447771
    [0, 0], [0, 1]: h1 = relu(z1): the argument is 0; left
      slope 0, right slope 0.4; the sweep uses 0.25, which
      is allowed

1 gradient, 4 entries: 1 agrees, 2 kinks, 1 disagrees
2 kinks: each value of the reverse sweep is one of the
  slopes allowed there
"""
    )


@pytest.mark.parametrize(
    ("found", "summary"),
    [
        (check_of(VECTOR), ["1 gradient, 2 entries: all agree"]),
        (check_of(scalar("y", 1, slope=1.0)), ["1 gradient: agrees"]),
        (check_of(KINK), ["1 kink: the reverse sweep's 0 is one of the slopes allowed there (0 to 1)"]),
        (check_of(REFUSED), ["1 kink: the reverse sweep's 2 is none of the slopes allowed there (0 to 1)"]),
        (
            check_of(ONE_SIDED),
            ["1 kink: the reverse sweep's 0 is one of the slopes allowed there (only the right side has one: 1.5)"],
        ),
        (
            check_of(MATRIX),
            [
                "1 gradient, 4 entries: 1 agrees, 2 kinks, 1 disagrees",
                "2 kinks: each value of the reverse sweep is one of the slopes allowed there",
            ],
        ),
        (check_of(STEEP), ["1 gradient: 1 undefined"]),
        (check_of(), ["Check: there is no gradient to check"]),
    ],
)
def test_summaries(given: Given, found: Check, summary: list[str]) -> None:
    text = TENSORS if any(g.shape for g in found.gradients.values()) else SCALARS
    lines = given(found, text=text, COLUMNS="120").out.rstrip("\n").split("\n\n")[-1].split("\n")
    if lines[0].startswith("note: "):
        lines = given(found, text=text, COLUMNS="120").out.rstrip("\n").split("\n\n")[-2].split("\n")
    assert lines == summary


ALL = (check_of(KINK, LOST, OPEN, WRONG), SCALARS), (check_of(VECTOR, MATRIX, rules=(RULE,)), TENSORS)


@pytest.mark.parametrize(("found", "text"), ALL, ids=["scalars", "tensors"])
def test_widths(given: Given, found: Check, text: str) -> None:
    outs = {}
    for columns in (40, 60, 80, 120, 200):
        outcome = given(found, text=text, COLUMNS=str(columns))
        lines = outcome.out.splitlines()
        assert [line for line in lines if cell_len(line) > columns and "note: " not in line] == []
        assert "…" not in outcome.out
        outs[columns] = set(NUMBER.findall(outcome.out))
    assert all(outs[columns] >= outs[200] for columns in outs)


@pytest.mark.parametrize(("found", "text"), ALL, ids=["scalars", "tensors"])
def test_colours_and_ascii(given: Given, found: Check, text: str) -> None:
    plain = given(found, text=text).out
    assert "\x1b" not in plain
    coloured = given(found, text=text, FORCE_COLOR="1", TERM="xterm-256color").out
    assert ESCAPE.sub("", coloured) == plain
    assert re.search(r"\x1b\[1;31mdisagree", coloured)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", given(found, text=text, NO_COLOR="1", FORCE_COLOR="1").out)
    ascii_out = given(found, text=text, encoding="ascii").out
    assert ascii_out.isascii()
    assert "+/- " in ascii_out
    assert "\\x" not in ascii_out


def test_digits_tell_apart_what_differs_and_nothing_else(given: Given) -> None:
    near = scalar("y", 1.00000000001, Verdict.DISAGREE, symbolic=1.0, slope=1.0)
    assert "1.00000000001 " in given(check_of(near)).out
    half = scalar("y", 0.12345649999999, symbolic=0.12345650000001, slope=0.12345650000001)
    row = next(line for line in given(check_of(half)).out.splitlines() if "dL/dy" in line)
    assert len(set(re.findall(r"0\.\d+", row))) == 1
    assert "7.389 " in given(GOOD, "--digits", "4").out


def test_bounds_are_rounded_up(given: Given) -> None:
    assert "± 3e-10" in given(check_of(scalar("y", 1, slope=1.0, bound=2.1e-10))).out
    assert "± 2e-10" in given(check_of(scalar("y", 1, slope=1.0, bound=2e-10))).out
    assert "± 0.1" in given(check_of(scalar("y", 1, slope=1.0, bound=0.0999))).out


def test_entries_alike_are_told_together(given: Given) -> None:
    kinks = [Entry((k,), 0.0, Verdict.KINK, None, 0.0, 1.0, True, "h1", "the argument is 0") for k in range(50)]
    others = [Entry((50 + k,), 0.0, Verdict.UNRESOLVED, reason=f"reason {k}") for k in range(9)]
    found = check_of(tensor("x", np.zeros(60), *kinks, *others))
    out = given(found, text=TENSORS).out
    assert out.count("which is allowed") <= 1
    assert "more entries: --full shows them" in out
    whole = given(found, "--full", text=TENSORS).out
    assert "[0], [1], [2], [3]" in whole
    assert "[49]: h1 = relu(z1): the argument is 0" in " ".join(whole.split())
    assert "reason 8" in whole


def test_long_tables_keep_what_is_not_plain(given: Given) -> None:
    names = [f"h{k}" for k in range(1000)]
    gradients = [scalar(name, 1.0, slope=1.0) for name in names]
    gradients[500] = scalar("h500", 2.0, Verdict.DISAGREE, slope=1.0)
    out = given(check_of(*gradients)).out
    assert "more gradients that agree: --full shows all" in out
    assert {"dL/dh0", "dL/dh500", "dL/dh999"} <= set(re.findall(r"dL/dh\d+", out))
    assert len(out.splitlines()) < 60
    whole = given(check_of(*gradients), "--full").out
    assert set(re.findall(r"dL/d(h\d+)", whole)) == set(names)


def test_notes_of_a_check(given: Given) -> None:
    silent = scalar("y", 1, slope=1.0, abstains="the formula is too large")
    out = given(check_of(silent, scalar("z", 1, slope=1.0), notes=("100 of 10,000 entries were checked",))).out
    assert "note: SymPy abstains from dL/dy: the formula is too large\n" in out
    assert "note: 100 of 10,000 entries were checked\n" in out
    assert "SymPy  " not in out  # no column of nothing


# derive -----------------------------------------------------------------------------------------------


def test_a_derivation_ends_with_the_cross_check(given: Given) -> None:
    out = given(GOOD, command="derive").out
    head, _, table = out.partition("\nCross-check")
    assert head == given(GOOD, "--no-check", command="derive").out
    assert (
        table
        == """\
      (SymPy: whole expression; differences at 130 digits)
  gradient  reverse sweep  SymPy             finite difference  verdict
  dL/dy     22.17          z*exp(y) = 22.17  22.17  ± 2e-10     agree
  dL/dz      7.389         exp(y)   = 7.389   7.389 ± 2e-10     agree
"""
    )
    assert given(check_of(WRONG), command="derive").out.endswith("\n1 gradient: 1 disagrees\n")


def test_parts_of_a_derivation_are_not_checked_unless_asked(given: Given) -> None:
    assert "Cross-check" not in given(GOOD, "--values", command="derive").out
    assert "Cross-check" in given(GOOD, "--values", "--check", command="derive").out
    assert json.loads(given(GOOD, "--format", "json", "--no-check", command="derive").out)["check"] is None


def test_a_large_graph_is_not_checked_unless_asked(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive_module, "LARGE_GRAPH", 5)
    out = given(check_of(WRONG), command="derive")
    assert out.code == 0
    last = out.out.splitlines()[-1]
    assert last.startswith("Cross-check: left out, as the graph has more than 5 nodes; `gradcli check f.txt`")
    assert given(check_of(WRONG), "--format", "json", command="derive").code == 0
    assert given(check_of(WRONG), "--check", command="derive").code == 1


def test_the_tables_are_out_before_the_engine_is_in(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text(SCALARS, encoding="utf-8")
    code = (
        "import sys\nfrom gradcli.cli.app import main\n"
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('sympy', 'gradcli.verify.check'):\n"
        "            sys.__stderr__.write(f'{name} {written}\\n')\n"
        "written = []\n"
        "flush = sys.stdout.flush\n"
        "class Out:\n"
        "    encoding = 'utf-8'\n"
        "    kept = ''\n"
        "    def write(self, text): self.kept += text\n"
        "    def flush(self):\n"
        "        if 'as formulas' in self.kept: written.append('tables')\n"
        "        self.kept = ''\n"
        "sys.meta_path.insert(0, Watch())\n"
        "sys.stdout = Out()\n"
        "main()\n"
    )
    done = process("-c", code, "derive", str(file))
    loaded = done.stderr.splitlines()
    assert loaded
    assert all(line.endswith("['tables']") or "'tables'" in line for line in loaded), done.stderr


# JSON -------------------------------------------------------------------------------------------------


def test_json_of_a_check(given: Given) -> None:
    outcome = given(check_of(KINK, LOST, GOOD.gradients["z"]), "--format", "json")
    assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
    found = json.loads(outcome.out, parse_constant=pytest.fail)
    assert list(found)[:4] == ["schema", "command", "file", "output"]
    assert [found[k] for k in ("schema", "command", "file", "output", "problems")] == [1, "check", "f.txt", "L", []]
    assert (found["claims"], set(found["summary"].values())) == ([], {0})
    assert found["gradients"]["z"] == {"value": 7.38906, "shape": []}
    check = found["check"]
    assert check["verdict"] == "inaccurate"
    assert check["counts"] == {"agree": 1, "kink": 1, "inaccurate": 1}
    kink = check["gradients"]["x"]
    assert kink["verdict"] == "kink"
    assert kink["sympy"] == {"formula": None, "value": None, "method": "", "abstains": ""}
    assert {k: kink["numeric"][k] for k in ("left", "right")} == {"left": 0.0, "right": 1.0}
    assert (kink["worst"]["allowed"], kink["worst"]["node"]) == (True, "h")
    good = check["gradients"]["z"]
    assert {k: good["sympy"][k] for k in ("formula", "value")} == {"formula": "exp(y)", "value": 7.38906}
    assert good["numeric"] == {
        "value": 7.38906,
        "error_bound": 2e-10,
        "left": None,
        "right": None,
        "method": "differences at 130 digits",
    }


def test_json_of_a_derivation_has_the_same_check(given: Given) -> None:
    found = check_of(VECTOR, MATRIX, rules=(RULE,))
    outs = [given(found, "--format", "json", command=c, text=TENSORS).out for c in ("check", "derive")]
    checks = [json.loads(out)["check"] for out in outs]
    assert checks[0] == checks[1] == json.loads(json.dumps(check_json(found)))
    assert checks[0]["gradients"]["W1"]["entries"][0]["index"] == [1, 0]
    assert checks[0]["rules"][0]["operation"] == "my_linear"


def test_json_of_what_is_not_finite(given: Given) -> None:
    check = json.loads(given(check_of(STEEP), "--format", "json").out)["check"]
    assert check["gradients"]["x"]["worst"]["value"] == "inf"
    assert check["gradients"]["x"]["numeric"]["value"] == "nan"


def test_json_of_several_files(given: Given) -> None:
    Path("wrong.txt").write_text("y = q\n", encoding="utf-8")
    outcome = given(GOOD, "wrong.txt", "--format", "json")
    assert (outcome.code, outcome.err) == (2, "")
    whole = json.loads(outcome.out)
    assert (whole["command"], [f["file"] for f in whole["files"]]) == ("check", ["f.txt", "wrong.txt"])
    assert [p["code"] for p in whole["files"][1]["problems"]] == ["unknown-name"]


# Progress ---------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_only_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(progress_module, "PATIENCE", 1e9)
    with Bar("checking f.txt") as bar:
        bar(1, 10)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    with Bar("checking [f].txt") as bar:
        bar(1, 10)
        bar(10, 10)
    assert "checking [f].txt" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()


def test_no_bar_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stderr", piped)
    with Bar("checking f.txt") as bar:
        bar(1, 10)
    assert piped.getvalue() == ""


# Explanations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_is_explained(verdict: Verdict) -> None:
    assert verdict not in MISTAKES
    text = verdict_explanation(verdict)
    assert text.startswith("A verdict: ")
    (example,) = (block for block in text.split("\n\n") if block.startswith("    "))
    assert gradcli.derive(textwrap.dedent(example)).output == "L"
    outcome = run("explain", verdict.value)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{verdict.value}\n\nA verdict: ")
    assert max(map(len, outcome.out.splitlines())) <= 120
    assert re.search(rf"^{verdict.value} +A verdict: ", run("explain").out, re.MULTILINE)


# The engine -------------------------------------------------------------------------------------------


def test_the_samples_are_found_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)
    outcome = run("check", "samples/two_layer.txt", "samples/shared_input.txt", "samples/kink.txt")
    assert (outcome.code, outcome.err) == (0, "")
    assert "5 gradients, 14 entries: all agree" in outcome.out
    assert "3 gradients: all agree" in outcome.out
    assert "1 kink: the reverse sweep's 0 is one of the slopes allowed there (0 to 1)" in outcome.out

"""The command: exit codes, streams, options, JSON, terminals of every kind.

Most runs are in this process (see `run`); what depends on a process of its own (imports, pipes, signals) is run as
`python -m gradcli`.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from test_faults import run

import gradcli

SHARED = "x = 2\ny = 3\nz = 4\na = x*y\nb = x*z\nL = a + b\n"
TENSORS = """\
x = [1.0, 0.5]
W1 = [[0.5, -0.25], [0.75, 0.125]]
b1 = [0.1, -0.2]
z1 = W1 @ x + b1
h1 = relu(z1)
L = sum(h1 * h1)
"""
NOT_FINITE = "x = 0\nv = [1, 0]\ny = log(x)\nw = sum(v / 0.0) * 0 + nan\nL = -y + w\n"
FOREIGN = "θ = 0.5\n变量 = [1, 2]\nŷ = θ * 变量\nL = sum(ŷ)\n"
CHAIN = "x = 1.5\n" + "".join(f"h{i} = {f'h{i - 1}' if i else 'x'} + 0.25\n" for i in range(3000))

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a formula file, by default `f.txt`, into the current directory, and gives back its name."""
    monkeypatch.chdir(tmp_path)

    def writing(text: str, name: str = "f.txt") -> str:
        Path(name).write_text(text, encoding="utf-8")
        return name

    return writing


def derived(*arguments: str) -> str:
    """What a run prints that must succeed, and say nothing besides."""
    outcome = run("derive", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def document(*arguments: str) -> dict[str, Any]:
    found = json.loads(derived(*arguments, "--format", "json"), parse_constant=pytest.fail)
    assert isinstance(found, dict)
    return found


def process(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING")}
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**kept, "PYTHONUTF8": "1", **environment},
        timeout=60,
        check=False,
    )


def titles(out: str) -> list[str]:
    """The sections of an output, by their titles."""
    return re.findall(r"^(Forward values|Reverse topological order|Gradients as formulas|Gradients)\b", out, re.M)


# Exit codes -------------------------------------------------------------------------------------------


def test_done(write: Any) -> None:
    assert "dL/dx = 4 + 3 = 7" in derived(write(SHARED))


def test_a_wrong_file(write: Any) -> None:
    outcome = run("derive", write("y = q\n"))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[unknown-name]: `q` is not defined\n")


@pytest.mark.parametrize("format", ["table", "json"])
def test_an_internal_error_asks_for_a_report(write: Any, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("gradcli.api.read_graph", broken)
    outcome = run("derive", write(SHARED), "--format", format)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("internal error: ZeroDivisionError: of all things")
    assert "report" in outcome.err
    assert "Traceback" not in outcome.err
    assert str(Path(gradcli.__file__).parent) not in outcome.err


def test_an_interrupt(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gradcli.api.read_graph", interrupted)
    outcome = run("derive", write(SHARED))
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


def test_python_m(write: Any) -> None:
    done = process("-m", "gradcli", "derive", write(SHARED), COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == derived("f.txt")
    wrong = process("-m", "gradcli", "derive", write("y = q\n", "wrong.txt"), COLUMNS="80")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == run("derive", "wrong.txt").err


def test_version() -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.err) == (0, "")
    assert re.fullmatch(r"gradcli \d+\.\d+\.\d+\n", outcome.out)


# Files ------------------------------------------------------------------------------------------------


def test_standard_input(write: Any) -> None:
    outcome = run("derive", "-", stdin=SHARED.encode())
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == derived(write(SHARED)).replace("f.txt", "<stdin>", 1)
    wrong = run("derive", "-", stdin=b"x = 1\r\ny = x +\r\n")
    assert (wrong.code, wrong.out) == (2, "")
    assert "  --> <stdin>:2:7\n" in wrong.err
    assert run("derive", "-", stdin=b"\xff").code == 2
    assert run("derive", "-").err.startswith("error[empty-file]: <stdin> has no formula in it")


def test_bad_files_do_not_stop_good_ones(write: Any) -> None:
    files = [
        write(SHARED, "one.txt"),
        write("y = q\n", "two.txt"),
        "three.txt",
        write("x = 3\ny = x * x\n", "four.txt"),
    ]
    outcome = run("derive", *files)
    assert outcome.code == 2
    assert outcome.out == derived("one.txt") + "\n" + derived("four.txt")
    assert re.findall(r"error\[([\w-]+)\]", outcome.err) == ["unknown-name", "missing-file"]


def test_json_of_several_files(write: Any) -> None:
    files = [write(SHARED, "one.txt"), write("y = q\n", "two.txt"), "three.txt"]
    outcome = run("derive", *files, "--format", "json")
    assert (outcome.code, outcome.err) == (2, "")
    whole = json.loads(outcome.out)
    assert whole.keys() == {"schema", "command", "files"}
    one, two, three = whole["files"]
    assert one == document("one.txt")
    assert two == json.loads(run("derive", "two.txt", "--format", "json").out)
    assert [f["file"] for f in whole["files"]] == files
    assert [p["code"] for p in two["problems"] + three["problems"]] == ["unknown-name", "missing-file"]


@pytest.mark.parametrize("name", ["two words.txt", "[x].txt", "[red] [1].txt", "-x.txt", "θ.txt", "no extension"])
def test_file_names(write: Any, name: str) -> None:
    write(SHARED, name)
    arguments = ["--", name] if name.startswith("-") else [name]
    assert derived(*arguments).startswith(f"{name}: ")


def test_a_file_is_only_read(write: Any) -> None:
    write('y = __import__("os").mkdir("made")\nprint(open("made", "w"))\nx = 1\n')
    assert run("derive", "f.txt").code == 2
    assert os.listdir() == ["f.txt"]


# JSON -------------------------------------------------------------------------------------------------


def test_json_keys_and_values(write: Any) -> None:
    found = document(write(SHARED))
    assert found.keys() >= {
        "schema",
        "command",
        "file",
        "output",
        "nodes",
        "order",
        "steps",
        "gradients",
        "check",
        "problems",
    }
    assert [found[k] for k in ("schema", "command", "file", "output")] == [1, "derive", "f.txt", "L"]
    assert found["problems"] == []
    assert found["order"] == ["L", "b", "a", "z", "y", "x"]
    assert [n["name"] for n in found["nodes"]] == ["x", "y", "z", "a", "b", "L"]
    assert found["nodes"][3] == {
        "name": "a",
        "operation": "multiply",
        "formula": "x * y",
        "operands": ["x", "y"],
        "shape": [],
        "dtype": "float64",
        "value": 6.0,
        "line": 4,
        "input": False,
    }
    assert [n["input"] for n in found["nodes"]] == [True] * 3 + [False] * 3
    assert [(s["step"], s["node"], s["upstream"]) for s in found["steps"]] == [(1, "L", 1), (2, "b", 1), (3, "a", 1)]
    contributions = [
        (s["node"], c["operand"], c["local"], c["value"]) for s in found["steps"] for c in s["contributions"]
    ]
    assert contributions == [
        ("L", "a", 1, 1),
        ("L", "b", 1, 1),
        ("b", "x", 4, 4),
        ("b", "z", 2, 2),
        ("a", "x", 3, 3),
        ("a", "y", 2, 2),
    ]
    last = found["steps"][2]["contributions"][0]
    assert last.keys() >= {"operand", "slot", "local", "rule", "value", "gradient_so_far"}
    assert (last["slot"], last["gradient_so_far"], type(last["rule"])) == (0, 7, str)
    assert {name: g["value"] for name, g in found["gradients"].items()} == {
        "x": 7, "y": 2, "z": 2, "a": 1, "b": 1, "L": 1,
    }  # fmt: skip
    assert found["gradients"]["x"].keys() >= {"value", "shape", "formula"}
    assert found["gradients"]["x"]["formula"] in ("y + z", "z + y")
    assert found["gradients"]["x"]["shape"] == []


def test_json_of_tensors(write: Any) -> None:
    found = document(write(TENSORS))
    report = gradcli.derive(TENSORS)
    for node in found["nodes"]:
        np.testing.assert_array_equal(np.array(node["value"]), report.value(node["name"]))
        assert tuple(node["shape"]) == np.shape(report.value(node["name"]))
    for name, gradient in found["gradients"].items():
        np.testing.assert_array_equal(np.array(gradient["value"]), report.gradient(name))
        assert tuple(gradient["shape"]) == np.shape(report.gradient(name))
    assert found["gradients"].keys() == {"x", "W1", "b1", "z1", "h1", "L"}


def test_json_of_what_is_not_finite(write: Any) -> None:
    found = document(write(NOT_FINITE))
    values = {n["name"]: n["value"] for n in found["nodes"]}
    assert values["y"] == "-inf"
    assert values["w"] == "nan"
    assert values["L"] == "nan"
    assert values["v"] == [1.0, 0.0]
    assert found["gradients"]["x"]["value"] == "-inf"
    assert "inf" in json.dumps(values)
    assert any("line 3" in note and "not finite" in note for note in found["notes"])


def test_json_leaves_out_what_has_no_gradient(write: Any) -> None:
    found = document(write("x = [1, -2]\nk = const(3)\nm = x > 0\nunused = 5\nL = k * sum(m * x)\n"))
    assert found["gradients"].keys() == {"x", "unused", "L"}
    assert found["gradients"]["unused"] == {"value": 0.0, "shape": [], "formula": "0", "path": False}
    assert [n["dtype"] for n in found["nodes"] if n["name"] == "m"] == ["bool"]


def test_json_is_ascii_and_exact(write: Any) -> None:
    out = derived(write(FOREIGN), "--format", "json")
    assert out.isascii()
    assert out.count("\n") == 1
    found = json.loads(out)
    assert found["gradients"]["θ"]["value"] == 3.0
    assert found["gradients"]["变量"]["value"] == [0.5, 0.5]
    third = document(write("x = 3\ny = 1 / x\n"))
    assert third["nodes"][1]["value"] == 1 / 3


def test_json_without_escape_sequences(write: Any) -> None:
    plain = derived(write(SHARED), "--format", "json")
    assert run("derive", "f.txt", "--format", "json", FORCE_COLOR="1").out == plain
    assert run("derive", "f.txt", "--format", "json", COLUMNS="20").out == plain


# Options ----------------------------------------------------------------------------------------------


def test_sections(write: Any) -> None:
    write(SHARED)
    wanted = {
        "--values": "Forward values",
        "--order": "Reverse topological order",
        "--gradients": "Gradients",
        "--formulas": "Gradients as formulas",
    }
    whole = derived("f.txt")
    assert titles(whole) == list(wanted.values())
    for option, title in wanted.items():
        assert titles(derived("f.txt", option)) == [title]
    assert titles(derived("f.txt", "--order", "--values")) == ["Forward values", "Reverse topological order"]
    assert derived("f.txt", "--no-check").startswith(whole[:400])


def test_of_and_wrt(write: Any) -> None:
    write(SHARED)
    assert document("f.txt", "--of", "a")["gradients"]["x"]["value"] == 3
    assert document("f.txt", "--of", "a")["gradients"]["z"] == {
        "value": 0.0, "shape": [], "formula": "0", "path": False,
    }  # fmt: skip
    only = document("f.txt", "--wrt", "y, z")
    assert only["gradients"].keys() == {"y", "z"}
    assert "x" not in only["order"]
    assert document("f.txt", "--of", "x")["gradients"]["x"]["value"] == 1
    write("x = 2\nx = x * x\nx = x + 1\n", "again.txt")
    assert document("again.txt", "--of", "x'2")["gradients"]["x'1"]["value"] == 4


def test_of_beats_the_file(write: Any) -> None:
    write("x = 3\ny = x * x\nz = y + x\ny.backward()\n")
    assert document("f.txt")["output"] == "y"
    assert document("f.txt", "--of", "z")["output"] == "z"


@pytest.mark.parametrize(
    ("seed", "gradient"),
    [("[1,10]", [2, 20]), ("[ 1, 10 ]", [2, 20]), ("d", [4, 6]), ("-1", [-2, -2]), ("1e-3", [0.002, 0.002])],
)
def test_upstream(write: Any, seed: str, gradient: list[float]) -> None:
    write("x = [1, 2]\nd = [2, 3]\nc = 2 * x\n")
    found = document("f.txt", "--upstream", f"c={seed}")["gradients"]["x"]
    np.testing.assert_allclose(found["value"], gradient)
    names = {"x": np.array([1, 2]), "d": np.array([2, 3])}
    written = re.sub(r"\[.*?\]", lambda numbers: f"array({numbers[0]})", found["formula"])
    np.testing.assert_allclose(eval(written, {"array": np.array}, names) * np.ones(2), gradient)
    assert "dc/dx" in derived("f.txt", "--upstream", f"c={seed}")


@pytest.mark.parametrize(
    ("text", "arguments", "formula"),
    [
        ("x = 3\ny = 4\nL = x * y\n", ["--upstream", "L=2"], "2 * y"),
        ("x = 3\ny = 4\nL = x * y\nL.backward(5)\n", [], "5 * y"),
        ("x = 3\ny = 4\nL = x * y\nL.backward(5)\n", ["--upstream", "L=7"], "7 * y"),
        ("x = 3\np = x * x\ny = 4\nL = x * y\np.backward(5)\n", ["--of", "L"], "y"),
        ("x = [1, 2]\nW = [[1, 2]]\nz = W @ x\nz.backward(1)\n", [], "W.T @ [1.0]"),
        ("x = [[1, 2]]\nW = [[1, 2], [3, 4]]\nz = x @ W\n", ["--upstream", "z=[[5,6]]"], "[[5,6]] @ W.T"),
    ],
)
def test_formulas_begin_with_the_seed(write: Any, text: str, arguments: list[str], formula: str) -> None:
    assert document(write(text), *arguments)["gradients"]["x"]["formula"] == formula


@pytest.mark.parametrize("seed", ["c", "=1", "c=", "c=[1,", "c=[[1],[2,3]]", "c='a'", "c=1j", "c={}", "c=f(1)"])
def test_upstream_that_is_no_seed(write: Any, seed: str) -> None:
    outcome = run("derive", write("x = [1, 2]\nc = 2 * x\n"), "--upstream", seed)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[bad-option]: --upstream must be NAME=NODE or NAME=NUMBERS")


def test_digits(write: Any) -> None:
    write("x = 3\ny = 1 / x\n")
    assert "0.33\n" in derived("f.txt", "--values", "--digits", "2")
    assert "0.3333333333333333" in derived("f.txt", "--values", "--digits", "17")
    assert "0.3333\n" in derived("f.txt", "--values")


def test_dtype(write: Any) -> None:
    write("x = 0.1\ny = x * 3\n")
    assert document("f.txt")["nodes"][1]["value"] == 0.1 * 3
    single = document("f.txt", "--dtype", "float32")["nodes"]
    assert [n["dtype"] for n in single] == ["float32", "float32"]
    assert single[1]["value"] == float(np.float32(0.1) * 3)


def test_max_elements(write: Any) -> None:
    write("x = ones(10, 10)\nL = sum(x)\n")
    assert run("derive", "f.txt", "--max-elements", "99").err.startswith("error[too-large]")
    assert "(10, 10)" in derived("f.txt", "--max-elements", "100")


def test_full_shows_large_tensors(write: Any) -> None:
    write("x = arange(100)\nL = sum(x * x)\n")
    short, whole = derived("f.txt"), derived("f.txt", "--full")
    assert "shape (100,), from 0 to 99" in short
    assert " 57," not in short
    assert re.search(r"\b57,", whole)


def test_long_tables_show_both_ends(write: Any) -> None:
    write(CHAIN)
    for section in ("--values", "--order", "--gradients"):
        out = derived("f.txt", section)
        assert "more rows: --full shows all)" in " ".join(out.split())
        assert len(out.splitlines()) < 60
        names = re.findall(r"\bh\d+\b", out)
        assert {"h0", "h2999"} <= set(names)
        assert "h1500" not in names
        whole = derived("f.txt", section, "--full")
        assert "--full" not in whole
        assert set(re.findall(r"\bh\d+\b", whole)) == {f"h{i}" for i in range(3000)}


# Terminals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [SHARED, TENSORS, NOT_FINITE, FOREIGN], ids=["scalars", "tensors", "nan", "names"])
def test_widths(write: Any, text: str) -> None:
    write(text)
    outs = {}
    for columns in (60, 80, 200):
        outcome = run("derive", "f.txt", COLUMNS=str(columns))
        assert outcome.code == 0
        too_wide = [line for line in outcome.out.splitlines() if cell_len(line) > columns]
        assert too_wide == []
        outs[columns] = set(NUMBER.findall(outcome.out))
    assert outs[60] >= outs[200]
    assert outs[80] >= outs[200]


def test_a_terminal_too_narrow_for_anything_loses_nothing(write: Any) -> None:
    write(SHARED)
    wide, narrow = (run("derive", "f.txt", COLUMNS=columns) for columns in ("200", "12"))
    assert narrow.code == 0
    assert set(NUMBER.findall(narrow.out)) >= set(NUMBER.findall(wide.out))


def test_colours_only_on_terminals(write: Any) -> None:
    write(SHARED)
    plain = derived("f.txt")
    assert "\x1b" not in plain
    coloured = run("derive", "f.txt", FORCE_COLOR="1", TERM="xterm-256color")
    assert ESCAPE.search(coloured.out)
    assert ESCAPE.sub("", coloured.out) == plain
    assert run("derive", "f.txt", NO_COLOR="1").out == plain
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", run("derive", "f.txt", NO_COLOR="1", FORCE_COLOR="1").out)


def test_coloured_problems(write: Any) -> None:
    write("y = q\n")
    plain = run("derive", "f.txt").err
    coloured = run("derive", "f.txt", FORCE_COLOR="1", TERM="xterm-256color").err
    assert "\x1b" not in plain
    assert ESCAPE.search(coloured)
    assert ESCAPE.sub("", coloured) == plain


def test_ascii_terminals(write: Any) -> None:
    write(FOREIGN)
    outcome = run("derive", "f.txt", encoding="ascii")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.isascii()
    assert "\\u03b8" in outcome.out
    assert "\\u53d8\\u91cf" in outcome.out
    wide = set(NUMBER.findall(derived("f.txt")))
    assert set(NUMBER.findall(outcome.out)) >= wide
    assert "?" not in outcome.out
    piped = process("-m", "gradcli", "derive", "f.txt", PYTHONIOENCODING="ascii", PYTHONUTF8="0", COLUMNS="80")
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout == outcome.out


MARKUP = """\
x = 2  # [red]x[/red] [bold]
'[link=file:///]text[/link]'
y = x * x  # [/] [
L = y + 1  # :smile: [not italic]
"""


def test_the_text_of_the_user_is_not_markup(write: Any) -> None:
    name = "[bold]f.txt"
    write(MARKUP, name)
    assert derived(name).startswith(f"{name}: ")
    write("y = [1, 2]['[red]a[/red]']  # [bold]\n", name)
    shown = run("derive", name).err
    assert f"--> {name}:1:" in shown
    assert "y = [1, 2]['[red]a[/red]']  # [bold]" in shown


def test_control_characters_never_reach_the_terminal(write: Any) -> None:
    write("x = 2  # \x1b[31m\x07\ny = x + q  # \x1b]0;title\x07\n")
    outcome = run("derive", "f.txt")
    assert "\x1b" not in outcome.err
    assert "\x07" not in outcome.err
    assert "\\x1b]0;title\\x07" in outcome.err


def test_lines_passed_over_are_noted(write: Any) -> None:
    write("import numpy as np\nx = np.array(2.0)\ny = x * x\nprint(y)\n")
    out = derived("f.txt")
    assert "note: line 1: `import numpy as np` passed over" in out
    assert "note: line 4: `print(y)` passed over" in out


# Processes --------------------------------------------------------------------------------------------

LOADED = "import sys; from gradcli.cli.app import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"


@pytest.mark.parametrize(
    ("line", "never"),
    [
        ("--help", ["numpy", "sympy"]),
        ("derive --help", ["numpy", "sympy"]),
        ("check --help", ["numpy", "sympy"]),
        ("--version", ["numpy", "sympy"]),
        ("explain shape-mismatch", ["numpy", "sympy"]),
        ("explain kink", ["numpy", "sympy"]),
        ("derive f.txt --no-check", ["sympy"]),
        ("derive f.txt --values", ["sympy"]),
        ("derive f.txt --no-check --format json", ["sympy", "rich.table"]),
    ],
)
def test_imports(write: Any, line: str, never: list[str]) -> None:
    write(TENSORS)
    done = process("-c", LOADED, *line.split())
    assert done.returncode == 0
    loaded = done.stderr.split()
    assert "gradcli" in loaded
    assert not [module for module in never if module in loaded]


def test_a_reader_that_goes_away(write: Any) -> None:
    write(CHAIN)
    with subprocess.Popen(
        [sys.executable, "-m", "gradcli", "derive", "f.txt", "--full"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().startswith(b"f.txt: ")
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), (">&-", 0)])
def test_closed_streams(write: Any, closed: str, code: int) -> None:
    write(SHARED)
    file = "-" if closed == "<&-" else "f.txt"
    shell = ["sh", "-c", f'"$0" -m gradcli derive {file} {closed}', sys.executable]
    done = subprocess.run(shell, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert "internal error" not in done.stderr


def test_help_names_every_option() -> None:
    outcome = run("derive", "--help", COLUMNS="120")
    assert outcome.code == 0
    for option in (
        *("--of", "--wrt", "--upstream", "--values", "--order", "--gradients", "--formulas"),
        *("--digits", "--full", "--format", "--dtype", "--max-elements", "--check", "--no-check"),
    ):
        assert option in outcome.out


def test_explain_lists_every_code() -> None:
    outcome = run("explain")
    assert outcome.code == 0
    listed = [line.split()[0] for line in outcome.out.splitlines()]
    assert listed == sorted(listed)
    assert set(gradcli.problems.MISTAKES) <= set(listed)


SHOWN = [["ops"], *(["ops", name] for name in ("relu", "softmax", "bce", "conv2d", "linear"))]


@pytest.mark.parametrize("asked", SHOWN, ids=" ".join)
def test_what_is_told_of_operators_fits_the_terminal(asked: list[str]) -> None:
    lines = run(*asked, COLUMNS="60").out.splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.rstrip() for line in lines] == lines


def test_repeatable(write: Any) -> None:
    write("W = randn(3, 3)\nx = uniform(3, seed=7)\nL = sum(relu(W @ x))\n")
    outs = {process("-m", "gradcli", "derive", "f.txt", PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
    assert len(outs) == 1
    assert math.isfinite(document("f.txt")["nodes"][-1]["value"])


FULL = [
    ("explain kink | true", "0"),
    ("check nosuch 2>/dev/full", "2"),
    ("check nosuch 2>&1 | true", "2"),
    ("explain kink >/dev/full 2>/dev/full", "2"),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(("line", "code"), FULL)
def test_streams_that_cannot_be_written(line: str, code: str) -> None:
    command, sign, rest = line.partition(" | ")
    shell = f'{{ "$0" -m gradcli {command}; echo $? >&3; }} {sign} {rest}'
    done = subprocess.run(["bash", "-c", f"exec 3>&1; {shell}", sys.executable], capture_output=True, encoding="utf-8")
    assert (done.stdout, done.stderr) == (f"{code}\n", "")

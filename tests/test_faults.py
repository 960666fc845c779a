"""Every mistake: what the command says about it, word for word, and that nothing else happens.

`bad/<code>.txt` (also `bad/<code>.<what>.txt`) is a small wrong formula file, `bad/<same name>.expected` what the
command prints about it on a terminal of 80 columns.  A first line `# args: …` holds further arguments.  After a change
that is meant:

    python tests/test_faults.py --update
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from gradcli.cli.app import main
from gradcli.problems import MISTAKES, explanation

BAD = Path(__file__).parent / "bad"
CASES = sorted(BAD.glob("*.txt"))
ONLY_CHECKED = {"no-hessian"}
"""Faults of options that `derive` does not have."""
ALSO = {"unclosed-bracket": {"missing-operand"}}
"""Files that show one more mistake than their name says."""

CODE = re.compile(r"error\[([\w-]+)\]")
PLACE = re.compile(r"error\[([\w-]+)\](?:(?!\nerror\[)[\s\S])*?\n *--> [^\n]*:(\d+):(\d+)\n")


@dataclass(frozen=True)
class Outcome:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: bytes = b"", encoding: str = "utf-8", **environment: str) -> Outcome:
    """Runs the command in this process, its streams piped and 80 columns wide unless `COLUMNS` says otherwise."""
    out, err, read = (io.TextIOWrapper(io.BytesIO(data), encoding) for data in (b"", b"", stdin))
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    with (
        mock.patch.dict(os.environ, {**kept, "COLUMNS": "80", **environment}, clear=True),
        mock.patch.multiple(sys, argv=["gradcli", *map(str, arguments)], stdin=read, stdout=out, stderr=err),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    gc.enable()  # the command, which does not live long, switches it off
    code = stopped.value.code
    assert isinstance(code, int)
    return Outcome(code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def run_case(case: Path, *more: str, **settings: str) -> Outcome:
    """Derives a file of the folder, from within the folder, so that messages hold no path of this machine."""
    first = case.read_text(encoding="utf-8").partition("\n")[0]
    arguments = first.removeprefix("# args:").split() if first.startswith("# args:") else []
    with contextlib.chdir(case.parent):
        return run(command_of(case), case.name, *arguments, *more, **settings)


def command_of(case: Path) -> str:
    """`derive`, but for what only `check` has."""
    return "check" if code_of(case) in ONLY_CHECKED else "derive"


def code_of(case: Path) -> str:
    return case.name.partition(".")[0]


# The folder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_message(case: Path) -> None:
    outcome = run_case(case)
    assert outcome.err == case.with_suffix(".expected").read_text(encoding="utf-8")
    assert (outcome.code, outcome.out) == (2, "")
    assert set(CODE.findall(outcome.err)) == {code_of(case)} | ALSO.get(case.stem, set())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_json(case: Path) -> None:
    outcome = run_case(case, "--format", "json")
    assert (outcome.code, outcome.err) == (2, "")
    document = json.loads(outcome.out)  # refuses a second document behind the first
    assert document["schema"] == 1
    assert document["command"] == command_of(case)
    assert document["file"] == case.name
    expected = case.with_suffix(".expected").read_text(encoding="utf-8")
    assert sorted(p["code"] for p in document["problems"]) == sorted(CODE.findall(expected))
    placed = [(p["code"], str(p["line"]), str(p["column"])) for p in document["problems"] if p["line"]]
    assert placed == PLACE.findall(expected)
    for problem in document["problems"]:
        assert problem.keys() == {"code", "message", "file", "line", "column", "labels", "notes", "help"}
        assert problem["message"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_narrow_terminals_without_unicode(case: Path) -> None:
    outcome = run_case(case, encoding="ascii", COLUMNS="40")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.isascii()
    assert CODE.findall(outcome.err) == CODE.findall(case.with_suffix(".expected").read_text(encoding="utf-8"))


def test_every_golden_has_its_file() -> None:
    assert {path.stem for path in BAD.glob("*.expected")} == {case.stem for case in CASES}
    assert {path.suffix for path in BAD.iterdir()} == {".txt", ".expected"}


# Mistakes that are not in a file's text ---------------------------------------------------------------


def _file(name: str, data: bytes) -> Callable[[Path], list[str | Path]]:
    def make(directory: Path) -> list[str | Path]:
        (directory / name).write_bytes(data)
        return ["derive", name]

    return make


def _directory(directory: Path) -> list[str | Path]:
    (directory / "formulas").mkdir()
    (directory / "formulas" / "one.txt").write_text("x = 1")
    return ["derive", "formulas"]


def _answers(directory: Path, name: str, content: bytes) -> list[str | Path]:
    (directory / name).write_bytes(content)
    (directory / "x.txt").write_text("x = 1\ny = x * x\n")
    return ["check", "x.txt", "--answers", name]


def _unreadable(directory: Path) -> list[str | Path]:
    return ["derive", "x" * 5000 + ".txt"]  # permissions would not stop the superuser; this stops everybody


_SAMPLE = BAD.parent.parent / "samples" / "rnn.txt"

ELSEWHERE: Mapping[str, tuple[str, Callable[[Path], list[str | Path]], str]] = {
    "missing": ("missing-file", lambda _: ["derive", "circiut.txt"], "there is no file `circiut.txt`"),
    "directory": ("directory", _directory, "`formulas` is a directory"),
    "long name": ("unreadable-file", _unreadable, "cannot be read: file name too long"),
    "GBK": ("wrong-encoding", _file("gbk.txt", "变量 = 1".encode("gbk")), "iconv -f GBK -t UTF-8"),
    "UTF-16": ("wrong-encoding", _file("wide.txt", "x = 1".encode("utf-16")), "iconv -f UTF-16 -t UTF-8"),
    "surrogate": ("wrong-encoding", _file("half.txt", b"# \xed\xa0\x80\nx = 1"), "byte 2 is 0xed"),
    "latin": ("wrong-encoding", _file("latin.txt", b"# caf\xe9\nx = 1"), "`latin.txt` is not UTF-8 text"),
    "no text": ("wrong-encoding", _file("a.bin", b"\x7fELF\0\xff\0"), "it does not look like text at all"),
    "NUL": ("null-byte", _file("nul.txt", b"x = 1\ny = 2*x\0\n"), "nul.txt:2:8"),
    "empty": ("empty-file", _file("empty.txt", b""), "empty.txt has no formula in it"),
    "blank": ("empty-file", _file("blank.txt", b"\xef\xbb\xbf \t\r\n\f\n"), "blank.txt has no formula in it"),
    "odd name": ("unknown-name", _file("[red]x [1].txt", b"y = q"), "[red]x [1].txt:1:5"),
    "notebook": ("bad-notebook", _file("note.ipynb", b"{}"), "`note.ipynb` is not a Jupyter notebook"),
    "family": ("unknown-family", lambda _: ["derive", _SAMPLE, "--truncate", "k=2"], "its families are h"),
    "unknown code": ("unknown-code", lambda _: ["explain", "shapes"], "about `shapes`"),
    "unknown operator": ("unknown-operator", lambda _: ["ops", "relo"], "no operator `relo`"),
    "answers": ("broken-answers", lambda d: _answers(d, "a.json", b'{"dx": [1,'), "a.json:1:11"),
    "arrays": ("broken-answers", lambda d: _answers(d, "a.npz", b"PK\x03\x04"), "a.npz cannot be used as answers"),
    "standard input twice": ("bad-option", lambda _: ["derive", "-", "-"], "`-` must be given once"),
    "standard input for both": ("bad-option", lambda _: ["check", "-", "--answers", "-"], "`-` must be given once"),
    "two seeds": (
        "bad-option",
        lambda _: ["derive", _SAMPLE, "--upstream", "L=1", "--upstream", "L=2"],
        "one seed for each node",
    ),
    "no names": ("bad-option", lambda _: ["derive", _SAMPLE, "--wrt", ","], "names with commas between"),
    "no norm": ("bad-option", lambda _: ["derive", _SAMPLE, "--clip-norm", "nan"], "a finite number"),
    "no file name": ("missing-file", lambda _: ["derive", ""], "there is no file ``"),
    "unknown option": ("usage", lambda _: ["derive", "--colour", "x.txt"], "--colour"),
    "digits": ("usage", lambda _: ["derive", "x.txt", "--digits", "99"], "1<=x<=17"),
    "format": ("usage", lambda _: ["derive", "x.txt", "--format", "xml"], "'table'"),
    "no file": ("usage", lambda _: ["derive"], "--help"),
    "no command": ("usage", lambda _: ["integrate", "x.txt"], "integrate"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_elsewhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, make, words = ELSEWHERE[name]
    monkeypatch.chdir(tmp_path)
    outcome = run(*make(tmp_path), COLUMNS="6000")
    assert (outcome.code, outcome.out) == (2, "")
    assert CODE.findall(outcome.err) == [code]
    assert words in outcome.err
    assert "  = help: " in outcome.err


def test_output_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "f.txt").write_text("x = 1\ny = 2 * x\n")
    monkeypatch.setattr("gradcli.render.terminal.print_report", full)
    outcome = run("derive", tmp_path / "f.txt")
    assert outcome.code == 2
    assert outcome.err.startswith("error[unwritable-output]: the output cannot be written: no space left on device\n")


def test_every_mistake_has_a_case() -> None:
    shown = {code_of(case) for case in CASES} | {code for code, _, _ in ELSEWHERE.values()} | {"unwritable-output"}
    shown |= {"uses-invalid-line", "bad-answer", "unknown-answer"}  # of lines of homework: see test_homework
    assert shown == set(MISTAKES)


@pytest.mark.parametrize("code", sorted(MISTAKES))
def test_explanation(code: str) -> None:
    lines = [line for line in explanation(code).splitlines() if line.strip()]
    assert len(lines) >= 2, "one sentence is the message again; an explanation says why, and what to do"
    assert len(lines[0]) <= 120
    outcome = run("explain", f"error[{code}]")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.split()[:2] == [code, lines[0].split()[0]]


# Several faults ---------------------------------------------------------------------------------------

FAULTS = [
    pytest.param(
        "a = 2x\nb = sum(q)\nc = [[1], [2, 3]]\nd = exp(1, 2)\n",
        [("implicit-product", 1), ("unknown-name", 2), ("ragged-list", 3), ("argument-count", 4)],
        id="independent faults are all reported",
    ),
    pytest.param(
        "a = q\nb = a + 1\nc = b * a\nd = sqrt(c)\n",
        [("unknown-name", 1)],
        id="what depends on a faulty line is silent",
    ),
    pytest.param(
        "a = q\nb = a + r\nc = sigmod(b)\n",
        [("unknown-name", 1), ("unknown-name", 2), ("unknown-function", 3)],
        id="but not about what is wrong whatever the faulty name was",
    ),
    pytest.param("a = 2z\nb = a + 1\nc = b[0, 0, 0]\n", [("implicit-product", 1)], id="also on one that is no syntax"),
    pytest.param("a, b = 2z\nc = a * b\n", [("implicit-product", 1)], id="two names"),
    pytest.param("a = b = 2z\nc = a * b\n", [("implicit-product", 1)], id="a chain of names"),
    pytest.param("a: float = 2z\nc = a\n", [("implicit-product", 1)], id="an annotated name"),
    pytest.param("a = 1\na **= 2z\nc = a\n", [("implicit-product", 2)], id="an augmented assignment"),
    pytest.param("a = 1; b = 2z\nc = b * a\n", [("implicit-product", 1)], id="two statements on a line"),
    pytest.param("x₁ = 2z\nc = x1\n", [("implicit-product", 1)], id="a subscript digit"),
    pytest.param("W = [[1, 2],\n     [3 4]]\ny = W @ W\n", [("implicit-product", 2)], id="a fault below the name"),
    pytest.param("y = (1 + 2\nz = y * q\n", [("unclosed-bracket", 1), ("unknown-name", 2)], id="an open bracket"),
    pytest.param("def f(x):\n    return 2x\ny = f(3)\n", [("implicit-product", 2)], id="a function"),
    pytest.param("for t in range(3):\n    h = 2z\ng = h * 2\n", [("implicit-product", 2)], id="a loop"),
    pytest.param(
        "a = q\na = 2\nb = a + r\n",
        [("unknown-name", 1), ("unknown-name", 3)],
        id="a name that is mended speaks again",
    ),
    pytest.param(
        "x = [1, 2]\ny = x @ x\nx = 2z\nw = x[5]\n",
        [("implicit-product", 3)],
        id="a fault does not reach the lines before it",
    ),
    pytest.param(
        "a, b += softmax_cross_entropy(uniform_random_numbers_without_any_end, 1)\nc = a\n",
        [("syntax", 1)],
        id="a long line that is not searched twice",
    ),
    pytest.param(
        "def f(x):\n    return 2x\nx = 1.5\nn = 0\nwhile True:\n    x = f(x)\n    n += 1\n",
        [("implicit-product", 2)],
        id="a loop without end, after a fault",
    ),
    pytest.param("y = q + q\nz = q\n", [("unknown-name", 1), ("unknown-name", 2)], id="once a line"),
]


@pytest.mark.parametrize(("text", "faults"), FAULTS)
def test_several_faults(text: str, faults: list[tuple[str, int]], tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(text, encoding="utf-8")
    outcome = run("derive", tmp_path / "f.txt", "--format", "json")
    assert [(p["code"], p["line"]) for p in json.loads(outcome.out)["problems"]] == faults
    assert outcome.code == 2


def test_many_faults_are_counted(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("".join(f"y{i} = q{i}\n" for i in range(50)))
    outcome = run("derive", tmp_path / "f.txt")
    assert len(CODE.findall(outcome.err)) == 20
    assert outcome.err.endswith("\n30 more problems are not shown\n")
    assert len(json.loads(run("derive", tmp_path / "f.txt", "--format", "json").out)["problems"]) == 50


# Nasty inputs -----------------------------------------------------------------------------------------

NASTY = {
    "10,000 terms": "x = 1\ny = " + "+".join(["x"] * 10_000),
    "10,000 minus signs": "x = 1\ny = " + "-" * 10_000 + "x",
    "a tower of powers": "x = 1\ny = " + "**".join(["x"] * 5_000),
    "5,000 digits": "x = " + "9" * 5_000,
    "a list 300 deep": "x = " + "[" * 300 + "1" + "]" * 300,
    "a list of nodes 70 deep": "a = 1\nx = " + "[" * 70 + "a" + "]" * 70,
    "a giant range": "x = arange(1e30)",
    "a giant identity": "x = eye(1e30)",
    "a giant index": "x = [1]\ny = x[10**30]",
    "a giant axis": "x = [1]\ny = sum(x, axis=10**30)",
    "a text of a megabyte": "y = '" + "a" * 1_000_000 + "'",
    "no range": "x = uniform(2, low=1, high=inf)",
    "no integer": "x = int(inf)",
    "no number": "x = float32('a')",
    "a method of text": "y = 'a'.dim()",
    "a method of None": "y = None.sum()",
    "a module as an index": "x = [1]\ny = x[np]",
    "an attribute of a module": "x = 1\ny = x + np.linalg",
    "an index in quotes": "x = [1]\ny = x['a']",
    "two dots": "x = [1]\ny = x[..., ...]",
    "an escape": "y = '\\N{no such name}' + x",
    "import hooks": "y = __import__('os').system('true')",
    "private names": "y = ().__class__.__bases__",
    "control characters": "x = 1\x1b[31m\ny = \x07x",
    "an override of the reading order": "x\u202e = 1\ny = q\u202e",
    "a name that is a word": "if = 1",
    "a decorator": "@jit\ny = 1",
    "star arguments": "x = [1]\ny = sum(*x)",
    "double star arguments": "x = [1]\ny = sum(**x)",
}


@pytest.mark.parametrize("name", NASTY)
def test_nasty(name: str, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(NASTY[name], encoding="utf-8")
    outcome = run("derive", tmp_path / "f.txt")
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error[")
    assert "Traceback" not in outcome.err
    assert "object at 0x" not in outcome.err
    printable = outcome.err.replace("\n", "")
    assert printable.isprintable(), "what a terminal would obey must be shown as text"


# Updating ---------------------------------------------------------------------------------------------


def update() -> None:
    """Writes what the command says now over what was expected."""
    for stale in BAD.glob("*.expected"):
        stale.unlink()
    for case in CASES:
        case.with_suffix(".expected").write_text(run_case(case).err, encoding="utf-8")
    print(f"{len(CASES)} messages written; look at what has changed before you keep it")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("python tests/test_faults.py --update")
    update()

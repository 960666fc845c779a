"""The README keeps its word: every session and every block of code in it is run.

`python tests/test_readme.py --update` writes what the sessions print now into the README.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import gradcli
from gradcli.cli.app import app
from gradcli.graph.op import REGISTRY
from gradcli.ops import elementwise
from gradcli.ops.create import CREATORS
from gradcli.verify.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
"""A command of a session and the lines that it prints."""


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def blocks(kind: str, text: str = TEXT) -> list[str]:
    """The fenced blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of a session in the repository, with the `gradcli` of this interpreter, on a plain terminal."""
    path = sysconfig.get_path("scripts") + os.pathsep + os.environ.get("PATH", os.defpath)
    environment = {"PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    return subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def updated(text: str) -> str:
    """The README with what its sessions print now."""

    def session(block: re.Match[str]) -> str:
        return COMMAND.sub(lambda line: f"$ {line[1]}\n{run(line[1]).stdout}", block[0])

    return re.sub(r"^```console\n.*?^(?=```$)", session, text, flags=re.MULTILINE | re.DOTALL)


# Set-up --------------------------------------------------------------------------------------


def test_set_up_is_two_commands_and_ci_runs_those_very_two() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here to run .ci/run with")
    promised = blocks("sh", section("Set-up"))
    assert len(promised) == 2
    assert all(command.count("\n") == 1 for command in promised)
    listed = subprocess.run([bash, ROOT / ".ci" / "run", "--list"], capture_output=True, encoding="utf-8")
    assert (listed.stdout, listed.stderr) == ("".join(promised), "")


# Sessions ------------------------------------------------------------------------------------

SESSIONS = [found for block in blocks("console") for found in COMMAND.findall(block)]


def expected_code(printed: str) -> int:
    """2 for a fault, 1 where a gradient, a rule or a line of homework is wrong."""
    if printed.startswith("error["):
        return 2
    return int(bool(re.search(r" disagree$|^first wrong line|: wrong\. expected", printed, re.MULTILINE)))


@pytest.mark.parametrize(("command", "printed"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_session_prints_what_the_readme_shows(command: str, printed: str) -> None:
    done = run(command)
    assert done.stdout == printed
    assert done.returncode == expected_code(printed)


def test_every_session_is_replayed() -> None:
    assert len(SESSIONS) == len(re.findall(r"^\$ ", TEXT, re.MULTILINE)) > 4
    for block in blocks("console"):
        assert block.startswith("$ ")


# Code ----------------------------------------------------------------------------------------


@pytest.fixture
def operators_as_before() -> Iterator[None]:
    """Takes back every operator that a test declares."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def test_python_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks("python", section("From Python")))
    examples = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert len(examples.examples) > 5
    report: list[str] = []
    assert doctest.DocTestRunner().run(examples, out=report.append).failed == 0, "".join(report)


@pytest.mark.usefixtures("operators_as_before")
def test_operator_block_is_all_that_a_new_operator_needs() -> None:
    (block,) = blocks("python", section("Adding an operator"))
    assert block.count("\n") < 20
    exec(block, vars(elementwise).copy())

    for call in ("squash(x)", "x.squash()", "F.squash(x)"):
        report = gradcli.derive(f"x = -0.5\ny = {call}")
        assert report.value("y") == pytest.approx(-1 / 3)
        assert report.gradient("x") == pytest.approx(4 / 9)
    report = gradcli.derive("x = [-3, 0, 1]\nL = sum(squash(x))")
    assert report.gradient("x") == pytest.approx([1 / 16, 1, 1 / 4])
    with pytest.raises(gradcli.GradError, match="takes 1 argument"):
        gradcli.derive("y = squash(1, 2)")
    with pytest.raises(gradcli.GradError) as misspelt:
        gradcli.derive("y = sqaush(1)")
    assert "squash" in misspelt.value.problems[0].help


def test_operator_of_the_readme_is_gone_again() -> None:
    assert "squash" not in REGISTRY


# Tables and lists ----------------------------------------------------------------------------


def test_the_language_by_example() -> None:
    (example,) = blocks("text", section("The formula language"))
    assert gradcli.derive(example).output == "L"


def test_functions_that_are_named_exist() -> None:
    named = re.search(r"^Functions: (.*?)\n\n", section("The formula language"), re.MULTILINE | re.DOTALL)
    assert named
    assert set(re.findall(r"`(\w+)`", named[1])) <= {*REGISTRY, *CREATORS}


def options_of(name: str) -> set[str]:
    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    spelt = (option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts))
    return {option for option in spelt if option[:2] == "--"} - {"--help"}


def test_options_table_lists_every_option() -> None:
    rows = re.compile(r"^\| `(--[\w-]+)", re.MULTILINE)
    assert set(rows.findall(section("Options"))) == options_of("derive")
    named = set(re.findall(r"`(--[\w-]+)", section("Checking")))
    assert named == options_of("check")
    assert set(rows.findall(section("Checking"))) == options_of("check") - options_of("derive")


def test_verdicts_are_listed() -> None:
    named = re.findall(r"^\| `([a-z]+)` \|", section("Checking"), re.MULTILINE)
    assert sorted(named) == sorted(Verdict)


def test_json_section_names_every_key() -> None:
    keys = gradcli.derive(ROOT / "samples" / "circuit.txt").to_json().keys()
    assert set(re.findall(r"^- `(\w+)`", section("JSON"), re.MULTILINE)) == set(keys)


def test_every_sample_is_listed() -> None:
    samples = {path.name for path in (ROOT / "samples").glob("*.txt")}
    assert set(re.findall(r"^\| `([\w.]+\.txt)`", section("Samples"), re.MULTILINE)) == samples


def test_rooms_build_only_on_those_above() -> None:
    rooms = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", section("Where things are"), re.MULTILINE)
    package = ROOT / "gradcli"
    assert sorted(rooms) == sorted(path.stem for path in package.iterdir() if path.stem[:1] not in "_.")
    for above, room in enumerate(rooms):
        files = [package / f"{room}.py", *(package / room).glob("*.py")]
        code = "".join(path.read_text(encoding="utf-8") for path in files if path.exists())
        used = set(re.findall(r"^\s*(?:from|import) gradcli\.(\w+)", code, re.MULTILINE))
        assert used <= set(rooms[: above + 1]), room


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    README.write_text(updated(TEXT), encoding="utf-8")

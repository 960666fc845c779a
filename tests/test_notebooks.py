"""Notebooks: what is said of a line names its cell, and the line in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_faults import run

import gradcli
from gradcli.problems import GradError, Source

FAULTS = ["x = [1, 2]\nW = [[1, 2, 3]]", "# text", "%%bash\nif", "z = W @ x\r\nq = 2z", "u = late * 2", "late = (3"]
MARKED = ["x = 2", "# text", "L = x*x\nL == 4", "dL/dx == 4\ndL/dx == 5\nprint(1)"]


def notebook(path: Path, cells: list[str]) -> Path:
    """A notebook of code cells, those that begin with `# text` apart."""
    kinds = ["markdown" if cell == "# text" else "code" for cell in cells]
    content = [{"cell_type": kind, "source": cell} for kind, cell in zip(kinds, cells, strict=True)]
    path.write_text(json.dumps({"cells": content, "metadata": {}, "nbformat": 4}), encoding="utf-8")
    return path


def test_faults(tmp_path: Path) -> None:
    outcome = run("derive", notebook(tmp_path / "n.ipynb", FAULTS))
    assert (outcome.code, outcome.out) == (2, "")
    places = [line.split("> ")[1] for line in outcome.err.splitlines() if "-->" in line]
    assert places == ["n.ipynb:cell 4:1:5", "n.ipynb:cell 4:2:5", "n.ipynb:cell 5:1:5", "n.ipynb:cell 6:1:8"]
    assert "\n1 | z = W @ x\n" in outcome.err
    assert "`late` is defined in cell 6, line 1; move that line above this one" in " ".join(outcome.err.split())


def test_faults_in_json(tmp_path: Path) -> None:
    outcome = run("derive", notebook(tmp_path / "n.ipynb", FAULTS), "--format", "json")
    found = [(p["file"], p["cell"], p["line"], p["column"]) for p in json.loads(outcome.out)["problems"]]
    assert found == [
        ("n.ipynb", cell, line, column) for cell, line, column in ((4, 1, 5), (4, 2, 5), (5, 1, 5), (6, 1, 8))
    ]


def test_claims_and_notes(tmp_path: Path) -> None:
    path = notebook(tmp_path / "n.ipynb", MARKED)
    outcome = run("check", path)
    assert outcome.code == 1
    assert "  cell  line  claim       verdict\n  3     2     L == 4      right\n" in outcome.out
    assert "  --> n.ipynb:cell 4:2:10\n" in outcome.out
    assert "note: cell 4, line 3: `print(1)` passed over: it changes no value" in outcome.out
    claims = json.loads(run("check", path, "--format", "json").out)["claims"]
    assert [(claim["cell"], claim["line"]) for claim in claims] == [(3, 2), (4, 1), (4, 2)]
    assert "note: cell 3, line 2; cell 4, line 1, 2: claims" in run("derive", path, "--values").out


def test_answers(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("x = 2\nw = 3\nL = (x*w)*w\n")
    path = notebook(tmp_path / "a.ipynb", ["# text", "dx = w*w*x", "dw = x*w + dx"])
    outcome = run("check", tmp_path / "f.txt", "--answers", path)
    assert "  2     1     dx = w*w*x" in outcome.out
    assert "a.ipynb:cell 2:1:6" in outcome.out


def test_the_exception_of_a_notebook_names_the_cell(tmp_path: Path) -> None:
    with pytest.raises(GradError, match=r"^n\.ipynb:cell 2:2:5: unknown-name"):
        gradcli.derive(notebook(tmp_path / "n.ipynb", ["x = 1\n\n\n", "\ny = q"]))


def test_nodes_know_their_cells(tmp_path: Path) -> None:
    path = notebook(tmp_path / "n.ipynb", ["x = 2", "# text", "\nL = x*x"])
    nodes = json.loads(run("derive", path, "--format", "json", "--no-check").out)["nodes"]
    assert [(node["cell"], node["line"]) for node in nodes] == [(1, 1), (3, 2)]


def test_a_fault_in_two_cells(tmp_path: Path) -> None:
    cells = ["W = [1, 2]\nL = sum(W*W)\nL.backward()", "W -= 0.1*W.grad", "L.backward()"]
    outcome = run("derive", notebook(tmp_path / "n.ipynb", cells), COLUMNS="200")
    assert "`W` was changed in cell 2, line 1, before `L` needs it" in outcome.err
    assert "--> n.ipynb:cell 3:1:1\n" in outcome.err


def test_told() -> None:
    source = Source("n.ipynb", "", cells=((1, 2), (4, 7)))
    assert source.told(1, 2, 5) == "cell 2, line 1, 2; cell 7, line 2"
    assert source.on(4) == "in cell 7, line 1"
    plain = Source("f.txt", "")
    assert (plain.told(3, 5), plain.on(3), plain.sheet(3)) == ("line 3, 5", "on line 3", "f.txt")


def test_a_modulo_is_no_magic(tmp_path: Path) -> None:
    report = gradcli.derive(notebook(tmp_path / "n.ipynb", ["x = 7.5\nL = (x\n  % 2)"]))
    assert report.value("L") == 1.5

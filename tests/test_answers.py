"""Files of answers: whatever is under a name is a line of its own, and what cannot be read does not stop the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_faults import run

import gradcli
from gradcli.homework import mark
from gradcli.problems import MISTAKES, GradError, Source

FORMULAS = "W = [[1.0, 2], [3, 4]]\nx = [1, 2.0]\nb = [0, 1.0]\nz = W @ x + b\nL = sum(z * z)\n"

RIGHT = '"db": [10, 24]'

JSON = {
    "a key with a blank": ('"a b": 3', "bad-answer", "`a b` is no name"),
    "a key that would be two statements": ('"dW; import os": 3', "bad-answer", "`dW; import os` is no name"),
    "an empty key": ('"": 4', "bad-answer", "an answer has no name"),
    "a number for a key": ('"3": 3', "bad-answer", "`3` is no name"),
    "a comment for a key": ('"# x": 3', "bad-answer", "`# x` is no name"),
    "a claim for a key": ('"x == 3": true', "bad-answer", "`x == 3` is no name"),
    "a reserved word": ('"for": 3', "bad-answer", "`for` is no name"),
    "two lines for a key": ('"d\\nb": 3', "bad-answer", "is no name"),
    "a key of null characters": ('"\\u0000": 3', "bad-answer", "is no name"),
    "null": ('"dx": null', "bad-answer", "`dx` is null: there is nothing to mark"),
    "null in a list": ('"dx": [null, 1]', "bad-answer", "`dx` holds null"),
    "an object": ('"dx": {"a": 1}', "bad-answer", "`dx` is an object"),
    "an object in a list": ('"dx": [{}, 1]', "bad-answer", "`dx` holds an object"),
    "an empty text": ('"dx": " "', "bad-answer", "`dx` is empty"),
    "two formulas": ('"dx": "x; x"', "bad-answer", "`dx` has more than one formula"),
    "no formula": ('"dx": "import os"', "syntax", "this is not a formula"),
    "an open bracket": ('"dx": "W.T @ (2*z"', "unclosed-bracket", "`(` is never closed"),
    "rows of two lengths": ('"dW": [[10, 20], [24]]', "ragged-list", "equally long"),
    "a number beyond float64": ('"dx": [1e400, 1]', "number-too-large", "too large"),
    "a word in a list": ('"dx": [1, "a"]', "unknown-name", "`a` is not defined"),
    "numbers under an unknown name": ('"dWW": [1.5, 2]', "unknown-answer", "`dWW` is no value or gradient"),
    "a whole number under an unknown name": ('"dnope": 3', "unknown-answer", "`dnope` is no value or gradient"),
    "the gradient of an unknown node": ('"dL/dnope": 3', "unknown-name", "`nope` is not defined"),
    "the gradient of an unknown output": ('"dnope/dx": 3', "unknown-name", "`nope` is not defined"),
}


@pytest.mark.parametrize("name", JSON)
def test_what_cannot_be_read_is_a_line(name: str) -> None:
    pair, code, words = JSON[name]
    told = mark(gradcli.derive(FORMULAS), [Source("a.json", f"{{{RIGHT},\n {pair},\n {RIGHT}}}")])
    assert [(line.line, line.verdict) for line in told.lines] == [(1, "right"), (2, "invalid"), (3, "right")]
    (problem,) = told.lines[1].problems
    assert problem.code == code
    assert words in problem.message
    assert problem.help
    assert {code} <= set(MISTAKES)


def test_answers_on_one_line() -> None:
    text = '{"∂L/∂b": [10, 24], "grad(b)": [10, 24], "db": [10, "24"], "db": [NaN, 24], "b.grad": "2*z", "a b": 1}'
    told = mark(gradcli.derive(FORMULAS), [Source("a.json", text)])
    assert [line.verdict for line in told.lines] == ["right", "right", "right", "wrong", "right", "invalid"]
    assert told.lines[3].notes == ("it holds nan, which no number is equal to",)
    assert {line.line for line in told.lines} == {1}


def test_a_key_that_is_given_twice() -> None:
    told = mark(gradcli.derive(FORMULAS), [Source("a.json", '{"db": [10, 24],\n "db": [1, 2]}')])
    assert [(line.line, line.verdict) for line in told.lines] == [(1, "right"), (2, "wrong")]


def test_a_name_that_another_answer_uses() -> None:
    text = '{"n": 2, "delta": [10.0, 24.0], "db": "n * z", "dW": "outer(delta, x)"}'
    told = mark(gradcli.derive(FORMULAS), [Source("a.json", text)])
    assert [(line.target, line.verdict) for line in told.lines] == [
        ("delta", "helper"),
        ("dL/db", "right"),
        ("dL/dW", "right"),
    ]


def test_numbers_that_say_what_they_mean() -> None:
    told = mark(gradcli.derive(FORMULAS), [Source("a.json", '{"delta": [10.00, 24.00]}')])
    assert [line.verdict for line in told.lines] == ["helper"]


def test_csv() -> None:
    text = "db,10,24\nfoo bar,3\nnope,4\nL\ndW,10,20\n,24,48\ndb,nan,2\n"
    told = mark(gradcli.derive(FORMULAS), [Source("a.csv", text)])
    assert [(line.line, line.verdict) for line in told.lines] == [
        *[(1, "right"), (2, "invalid"), (3, "invalid"), (4, "invalid"), (5, "right"), (7, "wrong")]
    ]


@pytest.mark.parametrize("sign", [";", "\t"])
def test_other_signs_between_the_cells_of_csv(sign: str) -> None:
    told = mark(gradcli.derive(FORMULAS), [Source("a.csv", f"db{sign}10{sign}24\nL{sign}169\n")])
    assert [line.verdict for line in told.lines] == ["right", "right"]


def test_where_json_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(GradError, match=r"^a\.json:2:2: broken-answers: .* it is no JSON: expecting property name"):
        mark(gradcli.derive(FORMULAS), [Source("a.json", '{"db": 1,\n }')])


# Files of arrays ---------------------------------------------------------------------------------


def _object(path: Path) -> None:
    np.save(path, np.array([{}, 1], dtype=object), allow_pickle=True)


def _truncated(path: Path) -> None:
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes()[:-16])


def _version(path: Path) -> None:
    np.save(path, np.arange(3.0))
    data = bytearray(path.read_bytes())
    data[6] = 9
    path.write_bytes(bytes(data))


def _archive(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04\x14\x00" + b"junk" * 9)


BROKEN = {
    "no bytes": (lambda path: path.write_bytes(b""), "it is empty"),
    "junk": (lambda path: path.write_bytes(b"no array at all"), "it is no NumPy file"),
    "a pickle": (lambda path: path.write_bytes(b"\x80\x04K\x01."), "it is no NumPy file"),
    "half a head": (lambda path: path.write_bytes(b"\x93NUM"), "it is damaged, or cut short"),
    "a head alone": (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00v\x00"), "it is damaged, or cut short"),
    "objects": (_object, "it holds Python objects, which are never opened"),
    "cut short": (_truncated, "it is damaged, or cut short"),
    "another version": (_version, "its format is of a version that is not known"),
    "an archive of nothing": (_archive, "it is damaged, or cut short"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_broken_arrays(name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, words = BROKEN[name]
    make(tmp_path / "db.npy")
    (tmp_path / "db.npy").rename(tmp_path / f"db.{suffix}")
    (tmp_path / "f.txt").write_text(FORMULAS)
    outcome = run("check", "f.txt", "--answers", f"db.{suffix}", COLUMNS="300")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"db.{suffix} cannot be used as answers: it cannot be read: {words}\n" in outcome.err
    (tmp_path / "g.txt").write_text(f'x = load("db.{suffix}")\nL = sum(x)\n')
    outcome = run("derive", "g.txt", COLUMNS="300")
    assert outcome.code == 2
    assert words in outcome.err
    for error in (outcome.err, outcome.out):
        assert "allow_pickle" not in error


def test_a_broken_array_among_others(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a" / "db.npy", np.array([10.0, 24.0]))
    (tmp_path / "a" / "dx.npy").write_bytes(b"junk")
    np.save(tmp_path / "a" / "nope.npy", np.array([1.0]))
    np.save(tmp_path / "a" / "z.npy", np.array(["a"]))
    told = mark(gradcli.derive(FORMULAS), [tmp_path / "a"])
    assert [(line.target, line.verdict) for line in told.lines] == [
        *[("dL/db", "right"), ("dL/dx", "invalid"), ("nope", "invalid"), ("z", "invalid")]
    ]
    assert [line.problems[0].code for line in told.lines[1:]] == ["bad-answer", "unknown-answer", "bad-answer"]


def test_an_archive_with_objects_in_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", db=np.array([10.0, 24.0]), dx=np.array([{}], dtype=object))
    told = mark(gradcli.derive(FORMULAS), [tmp_path / "a.npz"])
    assert [line.verdict for line in told.lines] == ["right", "invalid"]
    assert "it holds Python objects" in told.lines[1].problems[0].message

"""Backward code as students paste it: loops, functions, containers, sums; right, and with one slip in each copy.

`tests/pasted` has forward parts, backward parts that are right, and copies of those with a slip; `expected.json` says
of each slip on which lines it may be found, and in which pass.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_faults import run

import gradcli
from gradcli.homework import Told, mark
from gradcli.problems import Source

PASTED = Path(__file__).parent / "pasted"
EXPECTED: dict[str, dict[str, Any]] = json.loads((PASTED / "expected.json").read_text(encoding="utf-8"))
RIGHT = sorted(path.name for path in PASTED.glob("*.right*.py"))
WRONG = [f"{name}.{copy}.py" for name, copies in EXPECTED.items() for copy in copies]


def told_of(name: str) -> Told:
    """What is told of a backward part."""
    forward = PASTED / f"{name.partition('.')[0]}.forward.py"
    return mark(gradcli.derive(forward), [PASTED / name])


def marked(forward: str, answers: str) -> Told:
    return mark(gradcli.derive(forward), [Source("answers.py", answers)])


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str) -> None:
    told = told_of(name)
    assert told.right, [line for line in told.lines if line.verdict not in ("right", "scaled", "helper")]
    assert told.counts["right"]


@pytest.mark.parametrize("name", WRONG)
def test_slips_are_found(name: str) -> None:
    name_of, copy, _ = name.split(".")
    expected = EXPECTED[name_of][copy]
    told = told_of(name)
    if expected.get("unmarked"):  # the name that holds it is that of no node
        assert any(f"`{expected['unmarked']}` is not marked" in note for note in told.notes)
        return
    assert not told.right
    assert told.first is not None
    if expected.get("located", True):
        assert told.first.line in expected["lines"], told.first
    if expected["at"] and told.first.at and told.first.line == expected["lines"][0] and expected.get("in_pass", True):
        assert f"{', '.join(f'{name} = {value}' for name, value in expected['at'].items())}" in told.first.at


RNN = """
Wh = [[0.5, -0.2], [0.1, 0.4]]
Wx = [[0.3], [-0.6]]
x = const([[1.0], [0.5], [-1.5]])
y = const([0.2, -0.4])
h[0] = zeros(2)
for t in range(1, 4):
    h[t] = tanh(Wh @ h[t-1] + Wx @ x[t-1])
L = sum((h[3] - y)**2)
"""

LOOP = """dh = 2*(h[3] - y)
dWh = zeros((2, 2))
dWx = zeros((2, 1))
for t in range(3, 0, -1):
    dz = dh * (1 - h[t]**2)
    dWh += outer(dz, h[t-1])
    dWx += outer(dz, x[t-1])
    dh = Wh.T @ dz
"""


def test_a_line_of_a_loop_is_one_line() -> None:
    told = marked(RNN, LOOP)
    assert [(line.line, line.verdict, line.passes) for line in told.lines] == [
        (1, "helper", 1),
        (2, "helper", 1),
        (3, "helper", 1),
        (5, "helper", 3),
        (6, "right", 3),
        (7, "right", 3),
        (8, "helper", 3),
    ]
    assert told.counts["lines"] == 7


@pytest.mark.parametrize(
    ("old", "new", "line", "at"),
    [
        ("h[t-1])", "h[t])", 6, "t = 3"),
        ("1 - h[t]**2", "1 + h[t]**2", 5, "t = 3"),
        ("Wh.T @ dz", "Wh @ dz", 8, "t = 3"),
        ("dWx +=", "dWx =", 7, "t = 2"),
        ("2*(h[3]", "3*(h[3]", 1, ""),
        ("range(3, 0, -1)", "range(3, 1, -1)", 7, "t = 2"),
    ],
)
def test_the_first_wrong_pass(old: str, new: str, line: int, at: str) -> None:
    told = marked(RNN, LOOP.replace(old, new))
    assert told.first is not None
    assert (told.first.line, told.first.at) == (line, at)


def test_what_overwrites_should_add() -> None:
    told = marked(RNN, LOOP.replace("dWx +=", "dWx ="))
    assert told.first is not None
    assert told.first.slip == "missing path"
    assert "with `+=` the two add up" in (told.first.edit or "")


NET = """
x = [0.5, -1.0]
W1 = [[0.3, -0.2], [0.4, 0.1]]
W2 = [[0.7, -0.5]]
z = W1 @ x
h = tanh(z)
p = W2 @ h
L = sum(p**2)
"""

BACKWARD = """def backward(W, inputs, dout):
    dW = outer(dout, inputs)
    return dW, W.T @ dout

dW2, dh = backward(W2, h, 2*p)
dz = dh * (1 - h**2)
dW1, dx = backward(W1, x, dz)
"""


def test_the_names_of_a_call_are_those_of_its_arguments() -> None:
    told = marked(NET, BACKWARD)
    assert told.right, told.lines
    told = marked(NET, BACKWARD.replace("W.T @ dout", "W @ dout"))
    assert told.first is not None
    assert told.first.line in (3, 5)
    told = marked(NET, BACKWARD.replace("outer(dout, inputs)", "outer(dout, 2*inputs)"))
    assert told.first is not None
    assert (told.first.line, told.first.slip) == (2, "constant")


def test_a_function_that_nothing_calls() -> None:
    answers = "def backward(p, h, W2):\n    dp = 2*p\n    dW2 = outer(dp, h)\n    dh = W2 @ dp\n"
    told = marked(NET, answers)
    assert [line.verdict for line in told.lines] == ["right", "right", "invalid"]
    told = marked(NET, "def backward(nothing):\n    dp = 2*p\ndp = 2*p\n")
    assert any("`backward` is not called, and nothing is called `nothing`" in note for note in told.notes)


def test_entries_and_attributes_are_names() -> None:
    told = marked(NET, "grads = {}\ngrads['W2'] = outer(2*p, h)\ngrads['dh'] = W2.T @ (2*p)\n")
    assert [(line.target, line.verdict) for line in told.lines] == [("dL/dW2", "right"), ("dL/dh", "right")]


def test_the_program_itself_can_be_the_answers(tmp_path: Path) -> None:
    whole = f"{NET}dp = 2*p\ndW2 = outer(dp, h**2)\ndh = W2.T @ dp\n"
    path = tmp_path / "net.py"
    path.write_text(whole, encoding="utf-8")
    result = run("check", str(path), "--answers", str(path), "--of", "L")
    assert result.code == 1
    assert "net.py: 3 lines: 2 right, 1 wrong" in result.out


def test_lines_that_depend_on_a_condition_are_compared_where_it_holds() -> None:
    forward = "w = [0.4, -0.3, 0.7]\nL = sum(relu(w)**2)\n"
    answers = "dw = zeros(3)\nfor i in range(3):\n    if w[i] > 0:\n        dw[i] += 2*w[i]\n"
    told = marked(forward, answers)
    assert told.right, told.lines
    assert not marked(forward, answers.replace("> 0", "< 0")).right


def test_a_name_of_no_node_is_said_not_to_be_marked() -> None:
    told = marked(NET, "dp = 2*p\ngradOfWeights = outer(dp, 2*h)\n")
    assert told.notes == ("`gradOfWeights` is not marked: nothing says which gradient it is",)


FIT = "x = [[1.0, 2.0], [0.5, -1.0]]\nW = [[0.3], [0.7]]\ny = [[1.0], [0.0]]\ne = x @ W - y\nL = 0.5 * np.sum(e ** 2)\n"


@pytest.mark.parametrize(
    "answers",
    [
        "dW = x.T @ e\nW -= 0.1 * dW\n",
        "dW = x.T @ e\nW = W - 0.1 * dW\nprint(W)\n",
        "parts = []\nparts.append(x.T @ e)\ndW = parts[0]\n",
        "dW = np.zeros((2, 1))\nnp.add.at(dW, [0, 1], x.T @ e)\n",
        "grads = {'W': np.zeros((2, 1))}\ngrads['W'][0] += x.T[0] @ e\ngrads['W'][1:] += x.T[1:] @ e\n",
        "dW = 0\ni = 1\nwhile i >= 0:\n    e = x[i:i+1] @ W - y[i:i+1]\n    dW += x[i:i+1].T @ e\n    i -= 1\n",
    ],
)
def test_what_programs_do_besides_is_no_mistake(answers: str) -> None:
    told = marked(FIT, answers)
    assert told.right, told.lines


@pytest.mark.parametrize(
    "name", ["dW", "gW", "g_W", "W_g", "grad_W", "gradW", "nabla_W", "gradient_W", "W_grad", "dLdW"]
)
def test_names_of_gradients(name: str) -> None:
    assert marked(FIT, f"{name} = x.T @ e\n").counts["right"] == 1
    assert not marked(FIT, f"{name} = x.T @ e * 3\n").right


def test_what_is_done_to_a_right_gradient_is_the_mistake() -> None:
    for line in ("dW /= 2", "dW += 0.1 * W"):
        told = marked(FIT, f"dW = x.T @ e\n{line}\n")
        assert told.first is not None
        assert told.first.line == 2


def test_an_index_that_is_named_twice() -> None:
    forward = "E = np.array([[1.0, 2.0], [0.5, -1.0]])\nL = np.sum(E[[0, 1, 0]] * [[1.0, 2], [3, 4], [5, 6]])\n"
    start = "dE = np.zeros((2, 2))\ng = np.array([[1.0, 2], [3, 4], [5, 6]])\n"
    assert marked(forward, f"{start}np.add.at(dE, [0, 1, 0], g)\n").right
    told = marked(forward, f"{start}dE[[0, 1, 0]] += g\n")
    assert told.first is not None
    assert told.first.line == 3


def test_weights_that_are_updated_too_early() -> None:
    answers = "dp = 2*p\ndW2 = np.outer(dp, h)\nW2 -= 0.1 * dW2\ndh = W2.T @ dp\n"
    told = marked(NET, answers)
    assert told.first is not None
    assert (told.first.line, told.first.slip) == (4, "updated weights")
    assert told.first.edit == "`W2` as a line above has changed it stands where that of the file belongs"

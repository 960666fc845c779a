"""Rules of differentiation as people write them: right ones are not accused, and what is spoiled in one is named.

`rules/` holds right rules in all forms, as files.  `rules/spoiled.json` holds copies with one slip each: what is
replaced by what, and what is found: the line, the operand, the slip.  It is written anew by
`python tests/test_stated_rules.py --update`; look at what has changed before you keep it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_faults import run

import gradcli
from gradcli.homework.rules import named
from gradcli.verify.custom import check_custom_rules
from gradcli.verify.verdict import ResultCheck, Verdict

RULES = Path(__file__).parent / "rules"
TABLE = RULES / "spoiled.json"
SPOILED: dict[str, list[dict[str, Any]]] = json.loads(TABLE.read_text(encoding="utf-8"))
ON_PURPOSE = ("ste_round.py", "sign_hardtanh_ste.py", "grad_reverse.py", "clip_gradient.py")
"""Rules that are there to give another gradient than the derivative."""


def checked(text: str) -> list[ResultCheck]:
    return [named(check) for check in check_custom_rules(gradcli.derive(text))]


def told(check: ResultCheck) -> str:
    assert check.span is not None
    return f"{check.span.line} {check.operand}: {'wrong' if check.fault else check.slip}"


def wrong(text: str) -> list[ResultCheck]:
    return [check for check in checked(text) if check.verdict is Verdict.DISAGREE]


def of_file(name: str) -> str:
    return (RULES / name).read_text(encoding="utf-8")


def spoil(text: str, slip: dict[str, Any]) -> str:
    assert text.count(slip["old"]) == 1
    return text.replace(slip["old"], slip["new"])


@pytest.mark.parametrize("name", SPOILED)
def test_a_right_rule_is_not_accused(name: str) -> None:
    found = checked(of_file(name))
    assert found
    verdicts = {check.verdict for check in found}
    assert verdicts == {Verdict.UNRESOLVED if name in ON_PURPOSE else Verdict.AGREE}, [c.sentence for c in found]
    assert all("on purpose?" in check.note for check in found if name in ON_PURPOSE)


@pytest.mark.parametrize("name", [name for name, slips in SPOILED.items() if slips])
def test_every_slip_is_found_and_named(name: str) -> None:
    text = of_file(name)
    for slip in SPOILED[name]:
        found = wrong(spoil(text, slip))
        assert found, slip
        assert [told(check) for check in found] == slip["found"], slip


def test_hardly_a_slip_is_without_a_name() -> None:
    found = [line for slips in SPOILED.values() for slip in slips for line in slip["found"]]
    assert len(found) > 200
    assert sum(line.endswith(": ") for line in found) < 6


def test_every_right_file_is_in_the_table() -> None:
    assert {path.name for path in RULES.iterdir()} - {TABLE.name} == set(SPOILED)


# What the command says ----------------------------------------------------------------------------------------------


def check(name: str, old: str, new: str, tmp_path: Path, width: str = "80") -> Any:
    file = tmp_path / name
    file.write_text(spoil(of_file(name), {"old": old, "new": new}), encoding="utf-8")
    return run("check", str(file), COLUMNS=width)


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_the_line_the_slip_and_the_edit_are_shown(width: str, tmp_path: Path) -> None:
    outcome = check("attention.py", "dK = dS.T @ Q", "dK = dS @ Q", tmp_path, width)
    assert outcome.code == 1
    assert "   --> attention.py:22:5\n" in outcome.out or "   --> attention.py:22:10\n" in outcome.out
    assert "22 |     dK = dS @ Q\n" in outcome.out
    assert "   = slip: missing transpose\n   = edit: dS @ Q -> dS.T @ Q\n" in outcome.out
    body = outcome.out.partition("\nnote: ")[0]
    assert max(map(len, body.splitlines())) <= int(width)


def test_a_rule_that_fails_is_a_finding_with_what_is_right(tmp_path: Path) -> None:
    outcome = check("linear.txt", "dx = g @ W", "dx = g @ W.T", tmp_path)
    assert outcome.code == 1
    flat = " ".join(outcome.out.split())
    assert "linear.backward: wrong. it fails in line 11: g @ W.T needs the last axis" in flat
    assert "= note: right: g @ W for x, g.T @ x for W, sum(g, axis=0) for b" in flat
    assert "dL/dx" in outcome.out, "the derivation itself goes on"


def test_what_a_rule_does_on_purpose_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "ste.py"
    file.write_text(of_file("ste_round.py"), encoding="utf-8")
    assert run("check", str(file)).code == 0
    outcome = run("check", "--strict", str(file))
    assert outcome.code == 1
    assert "= note: on purpose? the forward part is flat" in outcome.out


def test_a_tiny_number_that_a_rule_leaves_out_is_told(tmp_path: Path) -> None:
    file = tmp_path / "loss.py"
    file.write_text(of_file("softmax_loss.py"), encoding="utf-8")
    outcome = run("check", str(file))
    assert outcome.code == 0
    assert "right but for the 1e-07 of the forward part, which the rule leaves out" in " ".join(outcome.out.split())


def test_the_document_has_the_edit_and_the_place(tmp_path: Path) -> None:
    file = tmp_path / "mm.txt"
    file.write_text(of_file("square_matmul.txt").replace("A.T @ g", "A @ g"), encoding="utf-8")
    (found,) = [
        r for r in json.loads(run("check", "--format", "json", str(file)).out)["check"]["custom_rules"] if r["slip"]
    ]
    assert (found["slip"], found["edit"]) == ("missing transpose", "A @ g -> A.T @ g")
    assert found["at"]["line"] == 10


def test_a_rule_that_is_never_called_is_noted() -> None:
    text = of_file("square_matmul.txt").replace("C = mm(A, B)", "C = A @ B")
    notes = gradcli.derive(text).notes
    assert [n for n in notes if "`mm.backward` is not checked: the pass that is derived never calls it" in n]


def test_reading_a_rule_leaves_no_trace() -> None:
    """What a forward part puts into a dictionary, and how often a function was called, is as without its rule."""
    text = of_file("batchnorm.py")
    without = gradcli.derive(text.replace("batchnorm_backward", "something_else"))
    assert gradcli.derive(text).order == without.order


def test_second_derivatives_are_those_of_the_forward_part(tmp_path: Path) -> None:
    file = tmp_path / "square.py"
    file.write_text(of_file("double_use.py"), encoding="utf-8")
    assert run("check", "--hessian", str(file)).code == 0


# What rules need of the language ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gradient"),
    [
        ("import numpy as np\ny = np.zeros(2)\nnp.add.at(y, [0, 1, 0], x)\nL = sum(y * y)", [8.0, 4.0, 8.0]),
        ("import numpy as np\ny = np.zeros(2)\nnp.subtract.at(y, [0, 1, 0], x)\nL = sum(y * y)", [8.0, 4.0, 8.0]),
        ("y = index_add(zeros(2), 0, [0, 1, 0], x)\nL = sum(y * y)", [8.0, 4.0, 8.0]),
        ("y = x * 1\ny[y > 1.5] *= 10\nL = sum(y)", [1.0, 10.0, 10.0]),
        ("import numpy as np\ny = np.full(3, x[0]) * x\nL = sum(y)", [7.0, 1.0, 1.0]),
        ("import numpy as np\nL = sum(x) / np.size(x)", [1 / 3, 1 / 3, 1 / 3]),
        ("import numpy as np\ny = x.astype(x.dtype, copy=False)\nL = sum(y * y)", [2.0, 4.0, 6.0]),
    ],
)
def test_what_rules_are_written_with(text: str, gradient: list[float]) -> None:
    report = gradcli.derive(f"x = [1.0, 2.0, 3.0]\n{text}")
    assert report.gradient("x").tolist() == pytest.approx(gradient)


def test_a_size_that_is_drawn_is_a_plain_number() -> None:
    report = gradcli.derive("import numpy as np\nN, H = 2, 3\nW = np.random.randn(N, 4 * H)\nL = np.sum(W * W)")
    assert report.gradient("W").shape == (2, 12)


def test_gradients_that_are_printed_are_derived() -> None:
    head = "import jax\nimport jax.numpy as jnp\nf = lambda x: jnp.sum(x ** 2)\n"
    for line in ("print(jax.grad(f)(jnp.array([1.0, 2.0])))", "g = jax.grad(f)\nprint(g(jnp.array([1.0, 2.0])))"):
        assert gradcli.derive(head + line).gradient("x").tolist() == [2.0, 4.0]


def test_reading_a_rule_keeps_what_was_computed_for_containers() -> None:
    text = """
a = 2.0
b = 3.0
pair = [a * b, a + b]
def f(x):
    return sum(pair * 2) * x
@f.backward
def _(g, x):
    return g * sum(pair * 2)
L = f(a) * f(b) + sum(pair * 1.5)
"""
    plain = text.replace("@f.backward\ndef _(g, x):\n    return g * sum(pair * 2)\n", "")
    ours, theirs = gradcli.derive(text), gradcli.derive(plain)
    assert ours.order == theirs.order
    assert [ours.gradient(n) for n in ("a", "b")] == [theirs.gradient(n) for n in ("a", "b")]
    assert all(check.right for check in checked(text))


def update() -> None:
    """Writes what is found now."""
    for name, slips in SPOILED.items():
        for slip in slips:
            slip["found"] = [told(check) for check in wrong(spoil(of_file(name), slip))]
    TABLE.write_text(json.dumps(SPOILED, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__" and "--update" in sys.argv:
    update()

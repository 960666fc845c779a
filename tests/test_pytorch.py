"""What PyTorch's programs do besides arithmetic: generators, changes in place, gradients of gradients, frozen layers.

`snippets/pytorch.json` holds small programs with the gradients that PyTorch leaves at their leaves in the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.problems import GradError

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "snippets" / "pytorch.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_gradients_are_pytorchs(case: dict[str, Any]) -> None:
    report = gradcli.derive(case["program"])
    for node, gradient in case["gradients"].items():
        if node == "b.weight" and node not in report.traced.names:
            continue  # another name of a parameter that is there already
        np.testing.assert_allclose(report.gradient(node), gradient, rtol=1e-9, atol=1e-12, err_msg=node)


def test_a_frozen_parameter_has_no_gradient() -> None:
    program = next(case["program"] for case in CASES if "frozen" in case["name"])
    assert not gradcli.derive(program).node("c.weight").differentiable


REFUSED = {
    "h.register_hook(lambda g: g * 2)": "a hook",
    "m.load_state_dict({'weights': torch.zeros(1, 2)})": "load_state_dict",
    "torch.autograd.grad(h, w)": "a tensor of shape",
    "torch.autograd.grad(h.sum(), v, create_graph=True)": "what `grad` is asked for",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line: str) -> None:
    text = (
        "import torch\nm = torch.nn.Linear(2, 1)\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        f"v = torch.tensor(1.0)\nh = w ** 2\n{line}\nloss = (h * w).sum()\nloss.backward()\n"
    )
    with pytest.raises(GradError) as caught:
        gradcli.derive(text)
    assert REFUSED[line] in str(caught.value)


NOTED = {
    "import numpy as np\np = {'a': 1.5, 'b': 2}\nL = p['a'] * p['b']\n": "`p['b']` is a whole number in a dictionary",
    "import torch\nm = torch.nn.Linear(2, 1)\nL = m(torch.ones(2)).sum()\n": "weights are drawn here",
    "import torch\nw = torch.ones(3)\nL = torch.nn.functional.dropout(w, 0.5).sum()\n": "random numbers are drawn here",
    "import torch\nw = torch.ones(3)\nL = w.sum()\nL.backward()\ntorch.nn.utils.clip_grad_norm_([w], 1)\n": "before it",
}


@pytest.mark.parametrize("text", NOTED)
def test_notes(text: str) -> None:
    assert any(NOTED[text] in note for note in gradcli.derive(text).notes)


def test_the_row_of_padding_is_zero() -> None:
    report = gradcli.derive(
        "import torch\ne = torch.nn.Embedding(4, 2, padding_idx=1)\nL = e(torch.tensor([0, 1])).sum()\n"
    )
    assert not np.any(report.value("e.weight")[1])
    np.testing.assert_array_equal(report.gradient("e.weight"), [[1, 1], [0, 0], [0, 0], [0, 0]])


def test_an_upstream_gradient_made_by_hand_is_not_the_output() -> None:
    text = """
class Scale:
    def __init__(self, w):
        self.w = w
    def forward(self, x):
        self.x = x
        return self.w * x
    def backward(self, dout):
        self.dw = dout * self.x
        return dout * self.w
w = 0.5
layer = Scale(w)
out = layer.forward(2.0)
err = (out - 3) ** 2
dout = 2 * (out - 3)
dx = layer.backward(dout)
"""
    report = gradcli.derive(text)
    assert report.output == "err"
    assert report.gradient("w") == pytest.approx(-8.0)

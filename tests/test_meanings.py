"""Small programs whose gradients hang on what a line means in NumPy, PyTorch, JAX or micrograd.

`meanings.json` holds the programs and the gradients that follow from the libraries' documents: changes in place that
other names, entries and views see, numbers that are put into parameters, modes, buffers, and PyTorch's own functions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.problems import GradError

PROGRAMS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "meanings.json").read_text(encoding="utf-8"))

REFUSED = {
    "whole numbers changed in place by fractions": (
        "import numpy as np\na = np.array([1, 2, 3])\nw = np.array([1.0, 2.0, 3.0])\na += 0.5\nL = np.sum(a * w)\n",
        "in place by fractions",
    ),
    "computed whole numbers, likewise": (
        "import numpy as np\na = np.array([1, 2, 3])\nw = 2.0\nb = a * 2\nb /= 2\nL = np.sum(b * w)\n",
        "in place by fractions",
    ),
    "distinct values of what varies": (
        "import numpy as np\nx = np.array([1.5, 2.5, 1.5])\nL = np.sum(np.unique(x * 2))\n",
        "`unique` of numbers that vary",
    ),
    "a Jacobian of too much": (
        "import jax\nimport jax.numpy as jnp\nx = jnp.ones((20, 20))\nJ = jax.jacobian(jnp.sin)(x)\n",
        "what a Jacobian is taken of",
    ),
    "a set of rows": (
        "import jax\nimport jax.numpy as jnp\nf = jax.vmap(lambda a, b: a * b)\n"
        "y = f(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0, 3.0]))\n",
        "the number of rows",
    ),
    "fractions in whole numbers": (
        "import numpy as np\nw = np.array([1.5, 2.0])\na = np.array([1, 2, 3])\na[:2] = w\nL = np.sum(a * 2.0)\n",
        "fractions",
    ),
    "a reshaped transpose": (
        "import numpy as np\nw = np.array([[1.0, 2.0], [3.0, 4.0]])\nx = w * 1\ny = x.T.reshape(-1)\ny[0] = 5.0\n"
        "L = np.sum(x ** 2)\n",
        "in-place change of such a view",
    ),
    "a change at places that is not read": (
        "import numpy as np\nx = np.array([1.0, 2.0])\nnp.multiply.at(x, [0, 0], 3.0)\nL = np.sum(x)\n",
        "",
    ),
    "arrays that are compared and do not fit": (
        "import numpy as np\nx = np.array([1.0, 2.0])\nok = np.allclose(x, np.ones(3))\nL = np.sum(x)\n",
        "`allclose` must be given",
    ),
    "a kind that is not known": ("import numbers\nx = 2.0\nL = x if isinstance(x, numbers.Number) else x**2\n", ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_library(name: str) -> None:
    report = gradcli.derive("\n".join(PROGRAMS[name]["program"]) + "\n")
    for node, gradient in PROGRAMS[name]["gradients"].items():
        np.testing.assert_allclose(report.gradient(node), gradient, rtol=1e-8, atol=1e-12, err_msg=node)
    for node, value in PROGRAMS[name].get("values", {}).items():
        np.testing.assert_allclose(report.value(node), value, rtol=1e-8, atol=1e-12, err_msg=node)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(GradError) as caught:
        gradcli.derive(program)
    assert message in caught.value.problems[0].message


def test_what_programs_call_their_loss_is_the_output() -> None:
    program = "import numpy as np\nw = np.array([1.0, 2.0])\nloss = np.sum(w**2)\ncheck = np.sum(w) * 2\n"
    assert gradcli.derive(program).output == "loss"

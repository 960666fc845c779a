"""Numbers put in: where a mask says so, or in the shape of another tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import promote
from gradcli.graph.op import Shape, ShapeError, operator
from gradcli.ops.compare import keep, logical_not
from gradcli.ops.shapes import broadcast, same, shape_words

masked_fill = operator(
    "masked_fill",
    "x mask value",
    shape=broadcast,
    dtype=lambda x, mask, value: promote(x, value),
    forward=lambda x, mask, value: np.where(mask, value, x),
    scalar=lambda x, mask, value: value if mask else x,
    vjp=(
        lambda g, y, x, mask, value: keep(g, logical_not(mask)),
        None,
        lambda g, y, x, mask, value: keep(g, mask),
    ),
    operand_kinds=("number", "mask"),
    broadcasts=True,
    sympy=lambda s, x, mask, value: s.Piecewise((value, mask), (x, True)),
    doc="x, with a value where the mask holds; an entry that was replaced receives nothing.",
)


def _alike(name: str, forward: Callable[..., Any], number: str) -> None:
    operator(
        name,
        "x",
        shape=same,
        forward=forward,
        vjp=(None,),
        doc=f"A tensor of {number} in the shape of x, on whose values it does not depend.",
    )


_alike("zeros_like", np.zeros_like, "zeros")
_alike("ones_like", np.ones_like, "ones")


def _filled(x: Shape, value: Shape) -> Shape:
    if broadcast(x, value) != x:
        raise ShapeError("the value must fit into {0}", {0: shape_words(x), 1: shape_words(value)})
    return x


full_like = operator(
    "full_like",
    "x value",
    shape=_filled,
    dtype=lambda x, value: promote(x),
    forward=lambda x, value: np.full_like(x, value),
    # NumPy copies a number in, and so does PyTorch: no gradient flows to it
    vjp=(None, None),
    doc="A tensor of one number in the shape of x; no gradient, as in PyTorch.",
)

"""Operators that hand their operand on: under another name, as data, or in another precision."""

from __future__ import annotations

import numpy as np

from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import ATOM, POSTFIX, Setting, Written, operator
from gradcli.ops.shapes import same

stop_gradient = operator(
    "stop_gradient",
    "x",
    spellings=("detach",),
    shape=same,
    forward=lambda x: x,
    scalar=lambda x: x,
    vjp=(None,),
    doc="x itself, as if it were data: no gradient flows back.",
)

identity = operator(
    "identity",
    "x",
    spellings=("clone", "copy"),
    shape=same,
    forward=lambda x: x,
    scalar=lambda x: x,
    vjp=(lambda g, y, x: g,),
    write=lambda shapes: Written("{0}", ATOM, (ATOM,)),
    sympy=lambda s, x: x,
    doc="x itself under another name.",
)


def dtype_name(value: object) -> str:
    """The name of a precision: `"float32"`, `float32`, `torch.float32`, `float`.  ValueError for others."""
    name = str(value)
    name = {"float": "float64", "double": "float64", "half": "float16", "single": "float32"}.get(name, name)
    if name not in FLOATS | {"int64", "bool"} or " " in name:
        raise ValueError("float64, float32, float16, int64 or bool")
    return name


cast = operator(
    "astype",
    "x",
    spellings=("to", "type"),
    settings={"dtype": Setting(dtype_name, required=True)},
    shape=same,
    # the dtype of the node is set where the node is made, from this setting
    forward=lambda x, dtype: (x if hasattr(x, "astype") else np.asanyarray(x)).astype(dtype)[()],
    vjp=(lambda g, y, x, dtype: g,),
    write=lambda shapes, dtype: Written(f'{{0}}.astype("{dtype}")', POSTFIX, (POSTFIX,)),
    doc="x in another precision; the gradient is rounded to x's own on the way back.",
)

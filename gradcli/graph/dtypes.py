"""Which dtype a node has: NumPy's promotion, with numbers written in a formula kept weak.

A dtype is a NumPy name (`"float64"`, `"float32"`, `"bool"`, `"int64"`), or `"weak float"` / `"weak int"` for a
number in a formula, which takes on the precision of what it meets (`2 * x` stays float32 if `x` is).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcli.graph.node import Node
    from gradcli.graph.op import Op

FLOATS = frozenset({"float64", "float32", "float16", "weak float"})
"""The dtypes on which a derivative can be taken."""


@lru_cache(maxsize=1024)
def promote(*dtypes: str) -> str:
    """The common dtype, as NumPy promotes; two weak numbers give float64 or int64."""
    import numpy as np

    weak = {"weak float": 1.0, "weak int": 1}
    return str(np.result_type(*[weak.get(d, d) for d in dtypes]))


@lru_cache(maxsize=1024)
def floating(*dtypes: str) -> str:
    """As `promote`, but whole numbers and truth values become float64, as in `exp(1)`."""
    common = promote(*dtypes)
    return common if common in FLOATS else "float64"


def boolean(*dtypes: str) -> str:
    """A comparison."""
    return "bool"


def summed(*dtypes: str) -> str:
    """A sum: truth values are counted as whole numbers."""
    common = promote(*dtypes)
    return "int64" if common == "bool" else common


def first(*dtypes: str) -> str:
    """As the first operand; a bare number is float64."""
    return promote(dtypes[0])


def result_dtype(op: Op, operands: Sequence[Node], settings: Mapping[str, Any] | None) -> str:
    """The dtype of a node of this operator on these operands; a setting named `dtype` decides."""
    if settings and "dtype" in settings:
        return str(settings["dtype"])
    rule: Callable[..., str] = op.dtype or promote
    return rule(*[o.dtype for o in operands])

"""The forward values of a graph.

Scalars are Python floats and take an operator's `scalar` form; everything else is NumPy.  Where Python's arithmetic
raises (a division by zero, an overflow), NumPy's answer (inf, nan) is the value, as in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, INPUT, Graph, Node
from gradcli.graph.dtypes import floating

Values = list[Any]
"""Values by node number."""

LARGE_BLOCK = 31 << 20
"""Just below the largest block that glibc will ever keep for itself."""


def _keep_freed_memory() -> None:
    """Makes the C library keep what is freed for the next pass, instead of giving it back to the system.

    Getting arrays of some megabytes from the system again and again, page by page, takes as long as the arithmetic on
    them.  glibc learns by what is freed: from one large block (never touched, so it costs nothing) that large blocks
    come and go here.
    """
    np.empty(LARGE_BLOCK, np.uint8)


_keep_freed_memory()


class CannotEvaluate(Exception):
    """An operation has no value at these inputs: the node, and NumPy's or the operator's reason."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def evaluate(graph: Graph) -> Values:
    """The value of every node of the graph.  Raises CannotEvaluate."""
    return evaluate_nodes(graph.nodes, [], plain=graph.plain)


def evaluate_nodes(nodes: Iterable[Node], values: Values, *, plain: bool) -> Values:
    """Appends the value of each node to `values`; their numbers must go on where `values` ends.

    `plain` promises that all floats are float64, so that scalars may be Python's.
    """
    append = values.append
    with np.errstate(all="ignore"):
        for node in nodes:
            op = node.op
            if op is INPUT or op is CONSTANT:
                append(node.data if plain or op is CONSTANT else _typed(node.data, node.dtype))
                continue
            scalar = op.scalar
            operands = [values[o.number] for o in node.operands]
            if plain and scalar is not None and not node.shape:
                try:
                    append(scalar(*operands))
                    continue
                except (ArithmeticError, ValueError):
                    pass  # NumPy knows the answer: inf or nan
            append(_general(node, operands, plain))
    return values


def value_of(node: Node) -> Any:
    """The value of one node, computed from its inputs alone."""
    needed: dict[int, Node] = {}
    stack = [node]
    while stack:
        top = stack.pop()
        if top.number not in needed:
            needed[top.number] = top
            stack.extend(top.operands)
    values: dict[int, Any] = {}
    for number in sorted(needed):
        each = needed[number]
        with np.errstate(all="ignore"):
            values[number] = each.data if each.leaf else _general(each, [values[o.number] for o in each.operands], True)
    return values[node.number]


def operate(node: Node, operands: Sequence[Any]) -> Any:
    """The value of an operation on these values of its operands, in float64.  Raises CannotEvaluate.

    The values may have other shapes than the operands, as far as the operation can take them.
    """
    if node.op.scalar is not None and all(type(v) is float or type(v) is int for v in operands):
        try:
            return node.op.scalar(*operands)
        except (ArithmeticError, ValueError):
            pass  # NumPy knows the answer: inf or nan
    with np.errstate(all="ignore"):
        value = _forward(node, operands)
    return value if getattr(value, "shape", ()) else _python(value)


def _general(node: Node, operands: Sequence[Any], plain: bool) -> Any:
    value = _forward(node, operands)
    if not plain:
        return _typed(value, node.dtype)
    return value if node.shape else _python(value)


def _forward(node: Node, operands: Sequence[Any]) -> Any:
    if node.op.dtype is floating:  # NumPy's exp of a mask would have the three digits of float16
        for operand in node.operands:
            if operand.dtype == "bool":
                operands = _unmasked(node, operands)
                break
    try:
        return node.op.forward(*operands, **node.data or {})
    except (ArithmeticError, ValueError, IndexError, TypeError) as error:
        raise CannotEvaluate(node, str(error)) from None
    except MemoryError:
        raise CannotEvaluate(node, "there is not enough memory") from None


def _unmasked(node: Node, operands: Sequence[Any]) -> list[Any]:
    """The operands with masks as numbers."""
    return [np.asarray(v, float)[()] if o.dtype == "bool" else v for v, o in zip(operands, node.operands, strict=True)]


def _python(value: Any) -> Any:
    """A 0-d value as Python's own number."""
    return value.item() if hasattr(value, "item") else value


def _typed(value: Any, dtype: str) -> Any:
    if dtype.startswith("weak"):  # what it meets decides
        return value
    return np.asarray(value, dtype=dtype)[()]

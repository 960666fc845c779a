"""+ − × ÷, powers and signs: what every graph is made of.

Source of the rules: the product, quotient and chain rules of calculus, one operand at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.graph.dtypes import floating
from gradcli.graph.node import CONSTANT, Node
from gradcli.graph.op import POWER, PRODUCT, SUM, UNARY, Op, Written, operator
from gradcli.ops.shapes import broadcast, same


def _is(node: Any, number: float) -> bool:
    """Whether a node is this very number, written in a formula."""
    return node.op is CONSTANT and node.shape == () and node.data == number


def _same_as(kept: Node, *others: Node) -> Node | None:
    """`kept`, if leaving the others out changes neither shape nor dtype."""
    return kept if broadcast(kept.shape, *[o.shape for o in others]) == kept.shape else None


def _add_simplify(a: Node, b: Node) -> Any:
    if _is(a, 0):
        return _same_as(b, a)
    if _is(b, 0):
        return _same_as(a, b)
    if b.op is negative:
        return a - b.operands[0]
    return _folded(lambda: a.data + b.data, a, b)


def _subtract_simplify(a: Node, b: Node) -> Any:
    if _is(b, 0):
        return _same_as(a, b)
    if _is(a, 0):
        return -b if _same_as(b, a) else None
    if b.op is negative:
        return a + b.operands[0]
    return _folded(lambda: a.data - b.data, a, b)


def _multiply_simplify(a: Node, b: Node) -> Any:
    for one, other in ((a, b), (b, a)):
        if _is(one, 1):
            return _same_as(other, one)
        if _is(one, -1):
            return -other
    if a.op is negative:
        return -(a.operands[0] * b)
    if b.op is negative:
        return -(a * b.operands[0])
    if b.op is divide and _is(b.operands[0], 1):
        return a / b.operands[1]
    return _folded(lambda: a.data * b.data, a, b)


def _divide_simplify(a: Node, b: Node) -> Any:
    if _is(b, 1):
        return _same_as(a, b)
    if a.op is negative:
        return -(a.operands[0] / b)
    return None


def _negative_simplify(a: Node) -> Any:
    if a.op is negative:
        return a.operands[0]
    return _folded(lambda: -a.data, a)


def _power_simplify(a: Node, b: Node) -> Any:
    if _is(b, 1):
        return _same_as(a, b)
    return _folded(lambda: a.data**b.data, a, b) if b.op is CONSTANT and b.data in (0, 1, 2, 3) else None


def _folded(compute: Any, *nodes: Node) -> Any:
    """The number, where every operand is a short one and exact, so that 2 - 1 prints as 1 and -0.5 - 1 as -1.5."""
    for node in nodes:
        data = node.data
        if node.op is not CONSTANT or type(data) not in (int, float) or data != data or abs(data) > 1e6:
            return None
        if data * 16 != int(data * 16):
            return None
    return compute()


add = operator(
    "add",
    "a b",
    infix="+",
    binds=SUM,
    spellings=("plus",),
    shape=broadcast,
    forward=np.add,
    scalar=lambda a, b: a + b,
    vjp=(lambda g, y, a, b: g, lambda g, y, a, b: g),
    broadcasts=True,
    simplify=_add_simplify,
    sympy=lambda s, a, b: a + b,
    doc="The sum; each operand receives the upstream gradient unchanged.",
)

subtract = operator(
    "subtract",
    "a b",
    infix="-",
    binds=SUM,
    spellings=("sub",),
    shape=broadcast,
    forward=np.subtract,
    scalar=lambda a, b: a - b,
    vjp=(lambda g, y, a, b: g, lambda g, y, a, b: -g),
    broadcasts=True,
    simplify=_subtract_simplify,
    sympy=lambda s, a, b: a - b,
    doc="The difference; the second operand receives the upstream gradient with its sign changed.",
    stable=(("x * x - y * y", "(x - y) * (x + y)"), ("x**2 - y**2", "(x - y) * (x + y)")),
)

multiply = operator(
    "multiply",
    "a b",
    infix="*",
    binds=PRODUCT,
    spellings=("mul",),
    shape=broadcast,
    forward=np.multiply,
    scalar=lambda a, b: a * b,
    vjp=(lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    broadcasts=True,
    simplify=_multiply_simplify,
    sympy=lambda s, a, b: a * b,
    doc="The product, entry by entry; each operand receives the upstream gradient times the other one.",
)

divide: Op = operator(
    "divide",
    "a b",
    infix="/",
    binds=PRODUCT,
    spellings=("div", "true_divide"),
    shape=broadcast,
    forward=np.divide,
    scalar=lambda a, b: a / b,
    vjp=(lambda g, y, a, b: g / b, lambda g, y, a, b: -(g * over_square(a, b))),
    broadcasts=True,
    dtype=floating,
    simplify=_divide_simplify,
    sympy=lambda s, a, b: a / b,
    domain=(0.5, 2.0),
    doc="The quotient a / b; its slopes are 1 / b and -(a / b) / b.",
)

over_square: Op = operator(
    "over_square",
    "a b",
    shape=broadcast,
    dtype=floating,
    # written as every textbook has it, and computed without b ** 2, which may overflow where the slope does not
    forward=lambda a, b: np.divide(np.divide(a, b), b),
    scalar=lambda a, b: a / b / b,
    vjp=(lambda g, s, a, b: g * over_square(1, b), lambda g, s, a, b: g * (-2 * s / b)),
    broadcasts=True,
    write=lambda shapes: Written("{0} / {1} ** 2", PRODUCT, (PRODUCT, POWER + 1)),
    domain=(0.5, 2.0),
    hidden=True,
    doc="a / b ** 2: less its sign, the slope of a quotient a / b in b.",
)

negative: Op = operator(
    "negative",
    "a",
    infix="u-",
    binds=UNARY,
    spellings=("neg",),
    shape=same,
    forward=np.negative,
    scalar=lambda a: -a,
    vjp=(lambda g, y, a: -g,),
    simplify=_negative_simplify,
    sympy=lambda s, a: -a,
    doc="The sign changed.",
)


def _power(a: Any, b: Any) -> Any:
    return np.power(a, b)


def _power_base_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    """g · b · a**(b−1); a constant exponent 0 sends nothing (0 · 0**−1 would be NaN at 0)."""
    if type(b) is not Node:
        if isinstance(b, (int, float)):
            return g * 0.0 if b == 0 else g * b * power(a, b - 1)
        return g * np.where(b == 0, 0.0, b * np.power(a, np.where(b == 0, 1.0, b - 1)))
    return g * b * power(a, b - 1) if not _is(b, 0) else g * 0


power: Op = operator(
    "power",
    "a b",
    infix="**",
    binds=POWER,
    spellings=("pow", "float_power"),
    shape=broadcast,
    forward=_power,
    scalar=lambda a, b: math.pow(a, b),
    vjp=(_power_base_rule, lambda g, y, a, b: g * power_log(y, a, b)),
    broadcasts=True,
    simplify=_power_simplify,
    sympy=lambda s, a, b: a**b,
    domain=(0.5, 2.0),
    doc="a to the power b; the base receives b * a**(b - 1), the exponent a**b * log(a).",
    kink="at base 0 the exponent's slope is its limit, 0 (for a positive exponent); x**0 has slope 0 everywhere",
)


def _power_log(y: Any, a: Any, b: Any) -> Any:
    """y · log(a), with the limit 0 where a is 0 and the exponent positive."""
    return np.where((a == 0) & (b > 0), 0.0, y * np.log(np.where((a == 0) & (b > 0), 1.0, a)))


power_log: Op = operator(
    "power_log",
    "y a b",
    shape=broadcast,
    forward=_power_log,
    scalar=lambda y, a, b: 0.0 if a == 0 and b > 0 else y * math.log(a),
    # as a function of y and a, so that it may be differentiated again and again
    vjp=(lambda g, s, y, a, b: power_log(g, a, b), lambda g, s, y, a, b: g * y / a, None),
    broadcasts=True,
    dtype=floating,
    write=lambda shapes: Written("{0} * log({1})", PRODUCT, (PRODUCT, 0)),
    domain=(0.5, 2.0),
    hidden=True,
    doc="The slope of a power in its exponent: a**b * log(a).",
)

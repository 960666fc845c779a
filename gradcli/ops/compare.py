"""Comparisons and choices: masks, `where`, `maximum`, `minimum`.

Masks carry no gradient.  A branch that was not chosen contributes nothing, even if its own slope is NaN:
gradients are let through by choosing (`keep`), never by multiplying with 0.
Ties: where several operands are the largest, they share the gradient equally (as JAX and torch.maximum do).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.dtypes import boolean, promote
from gradcli.graph.op import COMPARISON, PRODUCT, UNARY, Op, Written, operator
from gradcli.ops.shapes import broadcast


def _comparison(name: str, sign: str, forward: Callable[..., Any], scalar: Callable[..., Any]) -> Op:
    return operator(
        name,
        "a b",
        infix=sign,
        binds=COMPARISON,
        shape=broadcast,
        dtype=boolean,
        forward=forward,
        scalar=scalar,
        vjp=(None, None),
        doc=f"Whether a {sign} b, entry by entry; a mask, so it carries no gradient.",
    )


greater = _comparison("greater", ">", np.greater, lambda a, b: a > b)
greater_equal = _comparison("greater_equal", ">=", np.greater_equal, lambda a, b: a >= b)
less = _comparison("less", "<", np.less, lambda a, b: a < b)
less_equal = _comparison("less_equal", "<=", np.less_equal, lambda a, b: a <= b)
equal = _comparison("equal", "==", np.equal, lambda a, b: a == b)
not_equal = _comparison("not_equal", "!=", np.not_equal, lambda a, b: a != b)


def _logical(name: str, sign: str, operands: str, binds: int, forward: Any) -> Op:
    return operator(
        name,
        operands,
        infix=sign,
        binds=binds,
        shape=broadcast,
        dtype=boolean,
        forward=forward,
        vjp=tuple(None for _ in operands.split()),
        operand_kinds=tuple("mask" for _ in operands.split()),
        # in a formula file `^` is a power
        write=None if sign != "^" else lambda shapes: Written(f"{name}({{0}}, {{1}})"),
        doc=f"`{sign.removeprefix('u')}` of masks, entry by entry; no gradient.",
    )


logical_and = _logical("logical_and", "&", "a b", 9, np.logical_and)
logical_or = _logical("logical_or", "|", "a b", 7, np.logical_or)
logical_xor = _logical("logical_xor", "^", "a b", 8, np.logical_xor)
logical_not = _logical("logical_not", "u~", "a", UNARY, np.logical_not)


keep: Op = operator(
    "keep",
    "g mask",
    shape=broadcast,
    dtype=lambda g, mask: promote(g),
    forward=lambda g, mask: np.where(mask, g, np.zeros((), np.asanyarray(g).dtype)),
    scalar=lambda g, mask: g if mask else 0.0,
    vjp=(lambda h, y, g, mask: keep(h, mask), None),
    broadcasts=True,
    write=lambda shapes: Written("{0} * {1}", PRODUCT, (PRODUCT, PRODUCT + 1)),
    hidden=True,
    doc="g where the mask holds, else 0: a product with the mask in which 0 * NaN is 0.",
)

where = operator(
    "where",
    "condition a b",
    spellings=("select",),
    shape=broadcast,
    dtype=lambda condition, a, b: promote(a, b),
    forward=lambda condition, a, b: np.where(condition, a, b),
    scalar=lambda condition, a, b: a if condition else b,
    vjp=(None, lambda g, y, c, a, b: keep(g, c), lambda g, y, c, a, b: keep(g, logical_not(c))),
    operand_kinds=("mask",),
    broadcasts=True,
    sympy=lambda s, c, a, b: s.Piecewise((a, c), (b, True)),
    doc="a where the condition holds, else b; the branch that was not chosen receives nothing.",
)


def _extreme(name: str, forward: Any, scalar: Any, wins: Op, sympy: Any) -> Op:
    def rule(g: Any, mine: Any, other: Any) -> Any:
        return keep(g, wins(mine, other)) + keep(g / 2, equal(mine, other))

    return operator(
        name,
        "a b",
        shape=broadcast,
        forward=forward,
        scalar=scalar,
        vjp=(lambda g, y, a, b: rule(g, a, b), lambda g, y, a, b: rule(g, b, a)),
        broadcasts=True,
        sympy=sympy,
        doc=f"The {name} of two, entry by entry; the operand that was chosen receives the gradient.",
        kink="where both are equal each receives half",
    )


maximum = _extreme(
    "maximum",
    np.maximum,
    lambda a, b: a if a >= b or a != a else b,
    greater,
    lambda s, a, b: s.Max(a, b),
)
minimum = _extreme(
    "minimum",
    np.minimum,
    lambda a, b: a if a <= b or a != a else b,
    less,
    lambda s, a, b: s.Min(a, b),
)

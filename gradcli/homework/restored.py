"""Numbers inside a formula: `outer([-0.5597, 0.5597], h1)` says to four digits what `outer(dz2, h1)` says exactly.

A number that a value or a gradient rounds to may stand for it.  With the exact one in its place the formula is compared
like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gradcli.graph import CONSTANT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework import rounding
from gradcli.homework.sheet import Line, gradient_name
from gradcli.homework.written import LONG, of_constant

if TYPE_CHECKING:
    from gradcli.homework.marking import Marking

MOST_NUMBERS = 4
"""A formula with more numbers in it than this is taken as it stands."""

MOST_TRIED = 32
"""So many ways of reading the numbers are tried."""


def numbers(marking: Marking, line: Line) -> list[str] | None:
    """What the numbers in a formula stand for, if the formula is right with that in their place; None if it is not."""
    if line.expression is None or not line.about_gradient:
        return None
    constants = list(_rounded(marking, line.expression))
    if not 0 < len(constants) <= MOST_NUMBERS:
        return None
    readings = [list(_readings(marking, line, constant)) for constant in constants]
    for chosen in itertools.islice(itertools.product(*readings), MOST_TRIED):
        meant = {id(c): node for c, (_, node) in zip(constants, chosen, strict=True)}
        if _right(marking, line, _replaced(marking, line.expression, meant)):
            return [f"`{c.name}` for {said}" for c, (said, _) in zip(constants, chosen, strict=True)]
    return None


def _rounded(marking: Marking, expression: Node) -> Iterator[Node]:
    """The numbers of an expression that have so many digits that they may be rounded."""
    for node in marking.points.order(expression):
        if node.op is CONSTANT and node.dtype in (*FLOATS, "weak float"):
            written = of_constant(node.data)
            if not written.exact and written.significant >= LONG:
                yield node


def _readings(marking: Marking, line: Line, constant: Node) -> Iterator[tuple[str, Node]]:
    """What a number may stand for, in words and as a node: gradients, then values."""
    written, here = of_constant(constant.data), marking.points.here
    of = line.of
    assert of is not None
    about = line.node
    for node in marking.steps(of).order:
        fitting = node.shape == constant.shape and node is not about and marking.sheet.name_of(node)
        if fitting and rounding.fits(written, here.gradient(node, of)):
            yield gradient_name(of, node), marking.sheet.truth(of, node)
    for node in marking.sheet.forward:
        named = node.dtype in FLOATS and marking.sheet.name_of(node)
        if named and node.shape == constant.shape and rounding.fits(written, here.values[node.number]):
            yield node.name, node


def _replaced(marking: Marking, expression: Node, meant: Mapping[int, Node]) -> Node:
    """The expression with other nodes in the place of some of its leaves."""
    new: dict[int, Node] = dict(meant)
    for node in marking.points.order(expression):
        if id(node) not in new and node.operands:
            operands = tuple(new.get(id(o), o) for o in node.operands)
            changed = any(a is not b for a, b in zip(operands, node.operands, strict=True))
            made = Node(node.op, operands, node.data, node.shape, node.dtype, node.number, node.differentiable)
            new[id(node)] = made if changed else node
    return new.get(id(expression), expression)


def _right(marking: Marking, line: Line, expression: Node) -> bool:
    """Whether an expression is right at every point, given the earlier lines."""
    for k, point in enumerate(marking.points.all):
        given = {j: marking.states[j].intended[k] for j in line.references}
        value = marking.points.value(expression, point, given)
        if not marking.same(line, k, value, marking.truths[line.index][k], given):
            return False
    return True

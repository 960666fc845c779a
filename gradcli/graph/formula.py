"""Writing a node down as a formula, in the language of formula files.

Nothing here recurses: a formula is put together from the bottom up along an explicit stack, and a
formula that would be longer than its limit is not begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradcli.graph.node import CONSTANT, Node
from gradcli.graph.op import ATOM, SUM, UNARY, written


@dataclass(frozen=True, slots=True)
class Formula:
    """A text and how tightly it binds."""

    text: str
    binds: int = ATOM


def _binding(text: str) -> int:
    """How tightly the text of a number binds: `1/3` and `-2` need brackets in a product or a power."""
    if text.startswith("-"):
        return UNARY
    plain = text.replace(".", "").replace("_", "").replace("e-", "").replace("e+", "")
    return ATOM if plain.isalnum() or text[:1] in "[(" else SUM


def atom(node: Node, name: str) -> Formula:
    """A node that is shown by a name (or, a constant, by its number)."""
    return Formula(name, _binding(name) if node.op is CONSTANT else ATOM)


def compose(node: Node, operands: Sequence[Formula]) -> Formula:
    """The formula of one operation over formulas for its operands."""
    form = written(node.op, tuple(o.shape for o in node.operands), node.settings)
    texts = []
    for slot, operand in enumerate(operands):
        least = form.operands[slot] if slot < len(form.operands) else 0
        second_sign = operand.text.startswith("-") and least and (slot > 0 or form.template[0] in "-~")
        brackets = operand.binds < least or second_sign
        texts.append(f"({operand.text})" if brackets else operand.text)
    template = form.template
    if node.op.write is not None and template.startswith("{0} * ") and texts[0] == "1":
        # a rule's own factor of 1, as in `1 * ones((2, 3))`
        return Formula(template.removeprefix("{0} * ").format(*texts))
    return Formula(template.format(*texts), form.binds)


def local_formula(node: Node, name: Callable[[Node], str]) -> str:
    """The node's own operation with its operands by name: `W1 @ x`.  Empty for an input."""
    if node.leaf:
        return ""
    return compose(node, [atom(o, name(o)) for o in node.operands]).text


def formula(node: Node, name: Callable[[Node], str], limit: int = 24) -> str | None:
    """The node written out until every part has a name (`name(node)` is "" for parts without one).

    None if that takes more than `limit` operations.
    """
    done: dict[int, Formula] = {}
    size: dict[int, int] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        if id(top) in done:
            stack.pop()
            continue
        called = name(top) or (top.name if top.leaf else "")
        if called:
            done[id(top)], size[id(top)] = atom(top, called), 0
            continue
        waiting = [o for o in top.operands if id(o) not in done]
        if waiting:
            if len(done) + len(stack) > 8 * limit:
                return None
            stack.extend(waiting)
            continue
        size[id(top)] = 1 + sum(size[id(o)] for o in top.operands)
        if size[id(top)] > limit:
            return None
        done[id(top)] = compose(top, [done[id(o)] for o in top.operands])
    return done[id(node)].text

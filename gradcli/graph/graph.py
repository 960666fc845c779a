"""A graph and the order in which its backward pass visits the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcli.graph.dtypes import FLOATS, result_dtype
from gradcli.graph.node import INPUT, Node, constant
from gradcli.graph.op import Op, Shape


@dataclass
class Graph:
    """The nodes of a formula file, operands before consumers, exactly as they were written."""

    nodes: list[Node] = field(default_factory=list)
    _constants: dict[str, Node] = field(default_factory=dict)
    _scalars: dict[tuple[Any, ...], tuple[Shape, str, bool]] = field(default_factory=dict)

    def add(self, op: Op, operands: tuple[Node, ...], settings: dict[str, Any] | None, line: int) -> Node:
        """Adds the node for an operation: never merged, folded or reordered.  Raises ShapeError."""
        key: tuple[Any, ...] | None = None  # of scalars, what their dtypes decide is worked out once
        if settings:
            pass
        elif len(operands) == 2:
            a, b = operands
            if not a.shape and not b.shape:
                key = (op, a.dtype, b.dtype, a.differentiable, b.differentiable)
        elif not any(o.shape for o in operands):
            key = (op, *[o.dtype for o in operands], *[o.differentiable for o in operands])
        known = self._scalars.get(key) if key is not None else None
        if known is None:
            shape = op.shape(*[o.shape for o in operands], **(settings or {}))
            dtype = result_dtype(op, operands, settings)
            known = (shape, dtype, dtype in FLOATS and bool(op.passing(operands)))
            if key is not None:
                self._scalars[key] = known
        shape, dtype, flows = known
        nodes = self.nodes
        node = Node(op, operands, settings, shape, dtype, len(nodes), flows, "", line)
        nodes.append(node)
        return node

    def constant(self, value: Any, text: str = "") -> Node:
        """The node of a number written in a formula; one written twice in the same way is one leaf.

        An array never is: `randn(3)` written twice is two different ones.
        """
        shared = bool(text) and not getattr(value, "shape", ())
        node = self._constants.get(text) if shared else None
        if node is None:
            node = constant(value, text)
            node.number = len(self.nodes)
            self.nodes.append(node)
            if shared:
                self._constants[text] = node
        return node

    def input(self, value: Any, dtype: str, name: str, line: int, *, differentiable: bool = True) -> Node:
        """Adds a leaf with a value: a Python number, or a NumPy array."""
        shape = tuple(getattr(value, "shape", ()))
        floats = differentiable and dtype in FLOATS
        node = Node(INPUT, (), value, shape, dtype, len(self.nodes), floats, name, line)
        self.nodes.append(node)
        return node

    def forget(self, count: int) -> None:
        """Takes back all nodes but the first `count`; nothing that is kept may use them."""
        del self.nodes[count:]
        self._constants = {text: node for text, node in self._constants.items() if node.number < count}

    @property
    def plain(self) -> bool:
        """Whether every number is a float64 (or a mask, or a label), so that Python floats can stand for scalars."""
        return all(n.dtype in _PLAIN for n in self.nodes)


_PLAIN = frozenset({"float64", "bool", "int64", "weak float", "weak int"})


def backward_order(output: Node, wrt: Iterable[Node] | None = None, nodes: Sequence[Node] | None = None) -> list[Node]:
    """The nodes a gradient reaches from `output`, consumers before operands.

    The order is the reverse of the order of writing, with the inputs (which have nothing to pass on) last.
    With `wrt`, only nodes on a way from the output to one of those are kept.  `nodes` are the nodes of a graph by
    number, where there is such a list; without it they are found from the output.
    """
    reached = _ancestors(output) if nodes is None else _marked(output, nodes)
    if wrt is not None:
        reached = _leading_to(reached, wrt)
    return [n for n in reached if n.op is not INPUT] + [n for n in reached if n.op is INPUT]


def _marked(output: Node, nodes: Sequence[Node]) -> list[Node]:
    """The nodes a gradient reaches, in reverse order: one walk down the list, marking operands."""
    marks = bytearray(output.number + 1)
    marks[output.number] = 1
    reached = []
    for node in reversed(nodes[: output.number + 1]):
        if not marks[node.number]:
            continue
        reached.append(node)
        if not node.operands:
            continue
        vjp = node.op.vjp
        if type(vjp) is tuple:
            for operand, rule in zip(node.operands, vjp):  # noqa: B905  (not strict: optional operands may be missing)
                if rule is not None and operand.differentiable:
                    marks[operand.number] = 1
        else:
            for _, operand in node.op.passing(node.operands):
                marks[operand.number] = 1
    return reached


def _ancestors(output: Node) -> list[Node]:
    """The same, found from the output."""
    seen = {output.number}
    stack = [output]
    reached = [output]
    while stack:
        node = stack.pop()
        for _, operand in node.op.passing(node.operands):
            if operand.number not in seen:
                seen.add(operand.number)
                stack.append(operand)
                reached.append(operand)
    reached.sort(key=lambda n: -n.number)
    return reached


def _leading_to(reached: Sequence[Node], wrt: Iterable[Node]) -> list[Node]:
    """Of nodes in reverse order, those that depend on one of `wrt` (themselves included)."""
    keep = {n.number for n in wrt}
    for node in reversed(reached):
        if any(o.number in keep for _, o in node.op.passing(node.operands)):
            keep.add(node.number)
    return [n for n in reached if n.number in keep]

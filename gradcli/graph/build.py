"""Building adjoint graphs: what a rule makes when it is given nodes.

The forward graph is what the reader wrote and is never touched.  An adjoint graph is ours, so here
(and only here) equal nodes are shared and trivial ones dropped: the `softmax(z2)` that a rule asks for is found
again as the reader's own `p`, and `p - y` prints as `p - y`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradcli.graph.dtypes import result_dtype
from gradcli.graph.node import CONSTANT, SYMBOL, Node, constant
from gradcli.graph.op import _NODE, Op

if TYPE_CHECKING:
    from gradcli.graph.graph import Graph

_current: list[Adjoint | Writing] = []


Index: TypeAlias = Mapping[Any, Node]
"""Nodes by what they compute."""


def index_of(nodes: Iterable[Node]) -> dict[Any, Node]:
    """The nodes by what they compute; of two that compute the same, the first."""
    index: dict[Any, Node] = {}
    for node in nodes:
        if node.operands:
            index.setdefault(_key(node.op, node.operands, node.settings), node)
    return index


class Adjoint:
    """The nodes that rules build while it is entered (`with adjoint:`).

    `known` are forward nodes, which are found again instead of being built twice; `index_of` makes one that many
    graphs can share.
    """

    def __init__(self, known: Iterable[Node] | Index = (), first_number: int = 0) -> None:
        self.nodes: list[Node] = []
        self.number = first_number
        self._same: dict[Any, Node] = {}
        self._constants: dict[Any, Node] = {}
        self._known = known if isinstance(known, Mapping) else index_of(known)

    def __enter__(self) -> Adjoint:
        _current.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.pop()

    def constant(self, value: Any) -> Node:
        """The node of a number; the same number is one node."""
        key = (type(value), value) if isinstance(value, (float, int)) else id(value)
        node = self._constants.get(key)
        if node is None:
            node = self._constants[key] = self._numbered(constant(value))
        return node

    def _numbered(self, node: Node) -> Node:
        node.number = self.number
        self.number += 1
        self.nodes.append(node)
        return node

    def build(self, op: Op, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """The node for an operation: a simpler one, one known already, or a new one."""
        nodes = tuple(o if type(o) is Node else self.constant(o) for o in operands)
        if op.scalar is not None and len(nodes) > 1:
            nodes = _unstretched(op, nodes)
        if op.simplify is not None:
            simpler = op.simplify(*nodes, **settings)
            if simpler is not None:
                return simpler
        key = _key(op, nodes, settings)
        node = self._same.get(key) or self._known.get(key)
        if node is None:
            node = self._same[key] = self._numbered(
                Node(
                    op,
                    nodes,
                    settings or None,
                    op.shape(*[o.shape for o in nodes], **settings),
                    result_dtype(op, nodes, settings),
                    0,
                    any(o.differentiable or o.op is SYMBOL for o in nodes),
                )
            )
        return node


class Writing:
    """While it is entered, operators called on nodes write them into a forward graph, just as they are called."""

    def __init__(self, graph: Graph, line: int) -> None:
        self.graph = graph
        self.line = line

    def __enter__(self) -> Writing:
        _current.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.pop()

    def build(self, op: Op, operands: tuple[Any, ...], settings: dict[str, Any]) -> Node:
        """The node for an operation, unsimplified."""
        nodes = tuple(o if type(o) is Node else self.graph.constant(o, _text(o)) for o in operands)
        return self.graph.add(op, nodes, settings or None, self.line)


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, (float, int)) else f"array of shape {value.shape}"


def _build(op: Op, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    assert _current, "rules build nodes inside `with Adjoint(...)`"
    return _current[-1].build(op, operands, settings)


_NODE[1] = _build


def _unstretched(op: Op, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The operands without a stretching that the operation does anyhow: `broadcast_to(g, (2, 3)) * X` is `g * X`."""
    shape = op.shape(*[n.shape for n in nodes])
    for slot, node in enumerate(nodes):
        if node.op.stretches:
            less = (*nodes[:slot], node.operands[0], *nodes[slot + 1 :])
            if op.shape(*[n.shape for n in less]) == shape:
                nodes = less
    return nodes


def _key(op: Op, operands: tuple[Node, ...], settings: dict[str, Any]) -> Any:
    parts = tuple((o.data, o.dtype) if o.op is CONSTANT and o.shape == () else id(o) for o in operands)
    return (id(op), parts, tuple((k, _frozen(v)) for k, v in settings.items()) if settings else None)


def _frozen(value: Any) -> Any:
    """A setting as something hashable: index keys may hold slices and arrays."""
    if isinstance(value, tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if hasattr(value, "tobytes"):
        return (value.shape, str(value.dtype), value.tobytes())
    return value

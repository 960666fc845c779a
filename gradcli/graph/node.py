"""A node: one operation (or one leaf) of a graph."""

from __future__ import annotations

from typing import Any

from gradcli.graph.op import _NODE, INFIX, Op, Shape


def _leaf(name: str) -> Op:
    return Op(name=name, operands=(), shape=tuple, forward=lambda: None, vjp=None, hidden=True)


INPUT = _leaf("input")
"""A leaf with a value of its own: `data` is that value."""
CONSTANT = _leaf("constant")
"""A number written in a formula: `data` is its value, `name` is how it was written."""
SYMBOL = _leaf("symbol")
"""A stand-in with a name and a shape but no value, such as `dL/dz1` in a printed rule."""


class Node:
    """One operation of a graph, or one leaf.

    `operands` feed it.  `data` is a leaf's value, else the operator's settings (a dict, or None for none).
    `number` orders the nodes of a graph: operands come before their consumers.  `differentiable` says
    whether a gradient can reach the node at all: it is not for labels, masks, constants and `const(...)`.
    A node is made by the million, so it is slotted and holds no list of its consumers.
    """

    __slots__ = ("data", "differentiable", "dtype", "line", "name", "number", "op", "operands", "shape")

    def __init__(
        self,
        op: Op,
        operands: tuple[Node, ...],
        data: Any,
        shape: Shape,
        dtype: str,
        number: int,
        differentiable: bool,
        name: str = "",
        line: int = 0,
    ) -> None:
        self.op = op
        self.operands = operands
        self.data = data
        self.shape = shape
        self.dtype = dtype
        self.number = number
        self.differentiable = differentiable
        self.name = name
        self.line = line

    @property
    def settings(self) -> dict[str, Any]:
        """The operator's settings; empty for a leaf."""
        return self.data if type(self.data) is dict else {}

    @property
    def leaf(self) -> bool:
        """Whether it has no operation: an input, a constant or a symbol."""
        return self.op is INPUT or self.op is CONSTANT or self.op is SYMBOL

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<{self.name or self.op.name} {self.shape}>"

    # Arithmetic on nodes is for the rules of differentiation: it builds (simplified) adjoint nodes.
    def __add__(self, other: Any) -> Any:
        return INFIX["+"](self, other)

    def __radd__(self, other: Any) -> Any:
        return INFIX["+"](other, self)

    def __sub__(self, other: Any) -> Any:
        return INFIX["-"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return INFIX["-"](other, self)

    def __mul__(self, other: Any) -> Any:
        return INFIX["*"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return INFIX["*"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return INFIX["/"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return INFIX["/"](other, self)

    def __pow__(self, other: Any) -> Any:
        return INFIX["**"](self, other)

    def __matmul__(self, other: Any) -> Any:
        return INFIX["@"](self, other)

    def __neg__(self) -> Any:
        return INFIX["u-"](self)

    def __invert__(self) -> Any:
        return INFIX["u~"](self)

    def __lt__(self, other: Any) -> Any:
        return INFIX["<"](self, other)

    def __le__(self, other: Any) -> Any:
        return INFIX["<="](self, other)

    def __gt__(self, other: Any) -> Any:
        return INFIX[">"](self, other)

    def __ge__(self, other: Any) -> Any:
        return INFIX[">="](self, other)


_NODE[0] = Node


def constant(value: Any, text: str = "") -> Node:
    """A number (or array) that stands in a formula."""
    kind = type(value)
    dtype = "weak float" if kind is float else "weak int" if kind is int else "bool" if kind is bool else ""
    shape: Shape = ()
    if not dtype:
        shape, dtype = tuple(value.shape), str(value.dtype)
    return Node(CONSTANT, (), value, shape, dtype, -1, False, text or _number_text(value))


def _number_text(value: Any) -> str:
    if type(value) is float and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if hasattr(value, "tolist"):
        return repr(value.tolist())
    return repr(value)


def symbol(name: str, like: Node) -> Node:
    """A stand-in named `name`, shaped like a node."""
    return Node(SYMBOL, (), None, like.shape, like.dtype, -1, False, name)

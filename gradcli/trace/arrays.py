"""Arrays that change in place: every name, entry, attribute and view of an array sees the change.

A node is a value, and values never change; what changes is which node a holder has.  So a change in place makes a new
node, and every holder of the same array, wherever it is, is given the new one.  A view (`x[1:]`, `x.T`) is known by its
operation: a change of it is carried back to the array, and every view of the array is taken anew.

The numbers of a leaf that are set from outside, `w.data.fill_(1.0)` or a line under `no_grad`, are no operations: the
leaf has other numbers, and keeps its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import INPUT, Node
from gradcli.ops.arrange import assigned, index, reshape, transpose
from gradcli.ops.pass_on import stop_gradient
from gradcli.ops.rearrange import expand_dims, flatten, moveaxis, ravel, squeeze, swapaxes
from gradcli.problems import GradError, meaning
from gradcli.trace.values import (
    Bound,
    Class,
    Function,
    Input,
    Instance,
    Items,
    Owner,
    Swept,
    Table,
    entry_label,
)

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

_RESHAPED = (reshape, ravel, squeeze, expand_dims)
_REORDERED = (transpose, swapaxes, moveaxis)


def _is_view(self: Interpreter, node: Node) -> bool:
    """Whether a node shares its numbers with what it was taken from."""
    op = node.op
    torch = "torch" in self.imported
    if op is index:
        basic = all(k is None or k is Ellipsis or isinstance(k, (slice, int)) for k in node.settings["key"])
        return basic and (torch or bool(node.shape))
    if op is stop_gradient or op is flatten:
        return torch
    return op in _RESHAPED or op in _REORDERED


def array_of(self: Interpreter, node: Node) -> tuple[int, list[Node]]:
    """The array that a node is, by the number of what made it, and the views down to the node, the last one first."""
    views: list[Node] = []
    while True:
        known = self.aliases.get(node.number)
        if known is not None and known != node.number:
            node = self.graph.nodes[known]
        elif known is None and _is_view(self, node):
            views.append(node)
            node = node.operands[0]
        else:
            return node.number, views


def swept_in(self: Interpreter) -> Iterator[tuple[Any, Any, Swept]]:
    """Every place where a gradient is held that is known to be one of something."""
    for held, key, value in _held(self):
        if type(value) is Swept and value.source is not None:
            yield held, key, value


def owner_of(self: Interpreter, held: Any, key: Any) -> tuple[Owner | None, str]:
    """What a value in a container, an object or a scope is called, and what that name belongs to."""
    if isinstance(held, (Table, Items)):
        return held.owner, entry_label(key)
    for _, _, value in _held(self):
        if isinstance(value, Instance) and value.attributes is held:
            return value.owner, str(key)
    return (None if held is self.globals else self.owner), str(key)


def holders(self: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every place where an array is held: a scope, an entry, an attribute, with its key and value."""
    for held, key, value in _held(self):
        if isinstance(value, (Node, np.ndarray)) or type(value) is tuple:
            yield held, key, value


def _held(self: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every place where a value is held that is no number."""
    stack: list[Any] = [self.globals, self.names, *self.scopes, *self.callers]
    for function in self.active:
        stack.extend(function.scopes)
    seen: set[int] = set()
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            entries: Any = list(part.items())
            held: Any = part
        elif isinstance(part, list):
            entries, held = list(enumerate(part)), part
        elif isinstance(part, tuple):
            stack.extend(v for v in part if not isinstance(v, (int, float, str)))
            continue
        elif isinstance(part, Instance):
            stack += [part.attributes, part.cls]
            continue
        elif isinstance(part, Class):
            stack += [part.members, *part.bases]
            continue
        elif isinstance(part, Function):
            stack += [*part.scopes, part.defaults]
            continue
        elif isinstance(part, Bound):
            stack += [part.target, part.function]
            continue
        else:
            continue
        for key, value in entries:
            if isinstance(value, (int, float, str)):
                continue
            yield held, key, value
            if not isinstance(value, (Node, np.ndarray)):
                stack.append(value)


def _renewed(value: Any, new: Any) -> Any:
    """A value with every node in it as `new` says; a tuple that holds none of them is itself."""
    if isinstance(value, (Node, np.ndarray)):
        return new(value)
    if type(value) is tuple:
        parts = tuple(_renewed(part, new) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value


def _shares(self: Interpreter, value: Any, root: int) -> bool:
    """Whether a value is an array, or holds it in a tuple."""
    if type(value) is tuple:
        return any(_shares(self, part, root) for part in value)
    return type(value) is Node and array_of(self, value)[0] == root


def _no_view(self: Interpreter, place: ast.AST) -> GradError:
    way_out = "write a new value: `y = ...`, or change the array itself"
    return GradError(
        meaning.not_in_language(self.span(place), "an in-place change of such a view of an array", way_out)
    )


def _taken(self: Interpreter, view: Node, base: Node, place: ast.AST) -> Node:
    """The same view of another node."""
    if view.operands[0] is base:
        return view
    return self.apply(view.op, (base,), dict(view.settings) or None, place, (place,))


def _put_back(self: Interpreter, view: Node, base: Node, node: Node, place: ast.AST) -> Node:
    """What a base becomes when a view of it becomes a node."""
    if view.op is index:
        return self.apply(assigned, (base, node), {"key": view.settings["key"]}, place, (place, place))
    if view.op in _RESHAPED or view.op is flatten:
        below = view.operands[0]
        while _is_view(self, below):
            if below.op in _REORDERED or (
                below.op is index and len([k for k in below.settings["key"] if k is not None]) > 1
            ):
                raise _no_view(self, place)  # NumPy copies here, or not, as the numbers lie in memory
            below = below.operands[0]
        return self.apply(reshape, (node,), {"shape": base.shape}, place, (place,))
    if view.op in _REORDERED:
        probe = np.broadcast_to(False, tuple(range(2, 2 + len(base.shape))))  # no two axes of one length
        moved = view.op.forward(probe, **view.settings)
        axes = tuple(int(k) for k in np.argsort(moved.shape))
        return self.apply(transpose, (node,), {"axes": axes}, place, (place,))
    raise _no_view(self, place)


def changed(self: Interpreter, before: Any, node: Node, place: ast.AST, own: str) -> None:
    """Gives every holder of the array that `before` is, and of its views, what they are after the change.

    `own` is the name that has been given the node already.
    """
    if isinstance(before, np.ndarray):
        for held, key, value in holders(self):
            new = _renewed(value, lambda v: node if v is before else v)
            if new is not value:
                held[key] = new
        return
    root, views = array_of(self, before)
    if views and not any(_shares(self, value, root) for held, key, value in holders(self) if value is not node):
        return  # nobody has the array that this was a view of
    current = self.current.get(root) or self.graph.nodes[root]
    bases = [current]
    for view in reversed(views):
        bases.append(_taken(self, view, bases[-1], place))
    outside = self.without_gradient or any(view.op is stop_gradient for view in views)
    leaf = current if outside and views and current.op is INPUT else None
    whole = node
    for view, base in zip(views, reversed(bases[:-1]), strict=True):
        if leaf is None or view.op is not stop_gradient:
            whole = _put_back(self, view, base, whole, place)
    if leaf is not None and set_numbers(self, leaf, np.array(self.value_of(whole)), place):
        return
    every = [
        (held, key, value)
        for held, key, value in holders(self)
        if not (held is self.names and key == own and not views)
    ]
    whole_number = whole.number
    self.current[root] = whole
    if whole_number != root:
        self.aliases[whole_number] = root
    fresh: dict[int, Node] = {}

    def after(value: Any) -> Any:
        if isinstance(value, np.ndarray) or value is whole:
            return value
        if value is node:
            return follow(self, views, whole, place)
        if value.number in fresh:
            return fresh[value.number]
        of, path = array_of(self, value)
        if of != root:
            return value
        made = follow(self, path, whole, place)
        fresh[value.number] = made
        return made

    for held, key, value in every:
        renewed = _renewed(value, after)
        if renewed is value:
            continue
        if held is self.names and isinstance(renewed, Node):
            if key != own:
                self.note(f"`{key}` and `{own or self.text(place)}` are one array, so this changes both")
            self.bind(key, renewed, place)
            kept = self.names[key]
            if kept is not renewed and renewed is whole:
                self.aliases[kept.number] = root
        else:
            held[key] = renewed


def follow(self: Interpreter, views: list[Node], whole: Node, place: ast.AST) -> Node:
    """The views of an array that has changed, one after another."""
    for view in reversed(views):
        whole = _taken(self, view, whole, place)
    return whole


# The numbers of a leaf -----------------------------------------------------------------------------


def set_numbers(self: Interpreter, leaf: Node, value: Any, place: ast.AST, broadcast: bool = False) -> bool:
    """Gives a leaf other numbers, which are no operations; False for a node that is computed, or another shape."""
    if leaf.op is not INPUT:
        return False
    differentiable = value.differentiable if isinstance(value, Input) else True
    value = value.value if isinstance(value, Input) else value
    if not isinstance(value, np.ndarray):
        made = self.operand(value, place)
        value = self.value_of(made)
    numbers = np.array(value, leaf.dtype if leaf.dtype != "int64" else float)
    if numbers.shape != leaf.shape:
        if not broadcast or np.broadcast_shapes(numbers.shape, leaf.shape) != leaf.shape:
            return False
        numbers = np.broadcast_to(numbers, leaf.shape).copy()
    if leaf.number < self.statement_start:
        self.truncate(self.statement_start)
    data = numbers if numbers.ndim else numbers.item()
    if not any(leaf in n.operands for n in self.graph.nodes[leaf.number :]):
        leaf.data = data
        leaf.differentiable = leaf.differentiable and differentiable
        for known in (self.whole, self.raw):
            known.pop(leaf.number, None)
        del self.values[leaf.number :]
        return True
    other = self.graph.input(data, leaf.dtype, "", self.line, differentiable=leaf.differentiable and differentiable)
    owner, member = self.local.get(leaf.number, (None, leaf.name))
    if member:
        self.name_node(other, owner, member)
    if leaf.number in self.parameter_numbers:
        self.parameter_numbers.add(other.number)
    root, _ = array_of(self, leaf)
    self.aliases[other.number] = root
    self.current[root] = other
    for held, key, held_value in list(holders(self)):
        renewed = _renewed(
            held_value, lambda v: other if isinstance(v, Node) and array_of(self, v) == (root, []) else v
        )
        if renewed is not held_value:
            held[key] = renewed
    return True

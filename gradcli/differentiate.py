"""The reverse sweep: one contribution per edge, upstream × local, and their sum at every node.

The same sweep runs in two arithmetics.  Given values it computes every contribution (`sweep`); given nodes it
builds the adjoint graph (`adjoint_sweep`), because an operator called on nodes builds a node.  In both, the sum that
undoes broadcasting is added here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import ne
from typing import Any

import numpy as np

from gradcli.evaluate import Values
from gradcli.graph import Adjoint, Node, symbol
from gradcli.graph.op import Op, shape_of
from gradcli.ops.reduce import stretch, unbroadcast, unbroadcast_axes
from gradcli.ops.shapes import broadcast, same


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a reverse sweep found.

    `order` lists the nodes as they were visited; `sent[k]` holds, for the k-th of them, one contribution per entry of
    `slots(node)`; `gradients[n]` is the gradient of node n, None where none arrived.
    """

    order: list[Node]
    gradients: list[Any]
    sent: list[Sequence[Any]]
    reached: bytearray

    def slots(self, node: Node) -> list[int]:
        """The operand slots to which the node sends a contribution."""
        return _slots(node, self.reached)


def _slots(node: Node, reached: bytearray) -> list[int]:
    return [s for s, o in node.op.passing(node.operands) if reached[o.number]]


def _marks(order: Sequence[Node]) -> bytearray:
    reached = bytearray(1 + max(n.number for n in order))
    for node in order:
        reached[node.number] = 1
    return reached


def sweep(order: list[Node], values: Values, seed: Any, *, plain: bool = True) -> Sweep:
    """Visits `order` (consumers before operands), starting with `seed` at its first node.

    `values` are the forward values by node number.  `plain` is as in `evaluate_nodes`.
    """
    reached = _marks(order)
    gradients: list[Any] = [None] * len(reached)
    gradients[order[0].number] = seed
    scalars = plain and all(not n.shape and (n.op.scalar is not None or not n.operands) for n in order)
    run = _scalar_sweep if scalars else _general_sweep
    with np.errstate(all="ignore"):
        sent = run(order, values, gradients, reached, plain)
        nan = any(map(ne, gradients, gradients)) if scalars else any(map(_has_nan, gradients))
    found = Sweep(order, gradients, sent, reached)
    return _of_the_chosen(found, values, seed, plain) if nan else found


def _general_sweep(
    order: list[Node], values: Values, gradients: list[Any], reached: bytearray, plain: bool
) -> list[Sequence[Any]]:
    sent: list[Sequence[Any]] = []
    sums = bytearray(len(gradients))  # marks the gradients that are arrays of the sweep's own, to be added to in place
    for node in order:
        operands, vjp = node.operands, node.op.vjp
        if vjp is None:
            sent.append(())
            continue
        g = gradients[node.number]
        y = values[node.number]
        arguments = [values[o.number] for o in operands]
        contributions = []
        for slot, operand in enumerate(operands):
            number = operand.number
            if not reached[number] or not operand.differentiable or (type(vjp) is tuple and vjp[slot] is None):
                continue
            c = contribution(node, slot, g, y, arguments)
            if not plain:
                c = np.asarray(c, dtype=operand.dtype)[()]
            contributions.append(c)
            so_far = gradients[number]
            if so_far is None:
                gradients[number] = c
            elif sums[number] and type(c) is np.ndarray and c.dtype == so_far.dtype:
                so_far += c
            else:
                gradients[number] = so_far = so_far + c
                sums[number] = type(so_far) is np.ndarray
        sent.append(contributions)
    return sent


def _scalar_sweep(
    order: list[Node], values: Values, gradients: list[Any], reached: bytearray, plain: bool
) -> list[Sequence[Any]]:
    """The sweep of a graph of scalars, of which there may be millions: two operands are the rule, and no call is made
    but those of the rules of differentiation."""
    sent: list[Sequence[Any]] = []
    for node in order:
        operands = node.operands
        if not operands:
            sent.append(())
            continue
        g = gradients[node.number]
        y = values[node.number]
        op = node.op
        if len(operands) != 2:
            sent.append(_scalar_contributions(op, operands, g, y, values, gradients, reached))
            continue
        a, b = operands
        i, k = a.number, b.number
        first, second = op.vjp[:2]  # type: ignore[index]  # a third operand may have been left out
        try:
            c = first(g, y, values[i], values[k]) if first is not None and reached[i] else None
            d = second(g, y, values[i], values[k]) if second is not None and reached[k] else None
        except (ArithmeticError, ValueError):
            sent.append(_scalar_contributions(op, operands, g, y, values, gradients, reached))
            continue
        if c is None:
            sent.append((d,) if d is not None else ())
        else:
            sent.append((c,) if d is None else (c, d))
            so_far = gradients[i]
            gradients[i] = c if so_far is None else so_far + c
        if d is not None:
            so_far = gradients[k]
            gradients[k] = d if so_far is None else so_far + d
    return sent


def _scalar_contributions(
    op: Op, operands: Sequence[Node], g: Any, y: Any, values: Values, gradients: list[Any], reached: bytearray
) -> Sequence[Any]:
    """What one scalar sends to its operands, however many there are."""
    arguments = [values[o.number] for o in operands]
    contributions = []
    for slot, operand in op.passing(operands):
        number = operand.number
        if reached[number]:
            try:
                c = op.contribute(slot, g, y, arguments, {})
            except (ArithmeticError, ValueError):
                c = _careful(op, slot, g, y, arguments, {})
            contributions.append(c)
            so_far = gradients[number]
            gradients[number] = c if so_far is None else so_far + c
    return contributions


def _has_nan(value: Any) -> bool:
    if type(value) is np.ndarray and value.dtype == np.float64:
        flat = value.ravel(order="K")
        square = flat.dot(flat)  # NaN if, and only if, an entry is: one quick pass, and no array of truth values
        return bool(square != square)
    if isinstance(value, float):
        return value != value
    array = isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == "f"
    return array and bool(np.isnan(value).any())


def _of_the_chosen(found: Sweep, values: Values, seed: Any, plain: bool) -> Sweep:
    """A sweep that met NaN, once more: an entry that no choice took contributes nothing, whatever its own slope is.

    Beside every gradient goes that of a seed of NaN.  Arithmetic keeps it NaN, even times 0; so where it is 0,
    a `where`, a maximum or an index left the entry out, and its 0 is not one that was computed.
    """
    gradients: list[Any] = [None] * len(found.reached)
    marks: list[Any] = [None] * len(found.reached)
    start = found.order[0]
    gradients[start.number] = seed
    marks[start.number] = seed * np.nan
    sent: list[Sequence[Any]] = []
    with np.errstate(all="ignore"):
        for node in found.order:
            y = values[node.number]
            arguments = [values[o.number] for o in node.operands]
            unchosen = np.equal(marks[node.number], 0)
            contributions = []
            for slot in found.slots(node):
                operand = node.operands[slot]
                for kept in (gradients, marks):
                    c = contribution(node, slot, kept[node.number], y, arguments, unchosen)
                    if not plain:
                        c = np.asarray(c, dtype=operand.dtype)[()]
                    so_far = kept[operand.number]
                    kept[operand.number] = c if so_far is None else so_far + c
                    if kept is gradients:
                        contributions.append(c)
            sent.append(contributions)
    return Sweep(found.order, gradients, sent, found.reached)


def contribution(node: Node, slot: int, g: Any, y: Any, arguments: Sequence[Any], unchosen: Any = None) -> Any:
    """What a node sends to one operand, in the operand's shape: numbers from numbers, nodes from nodes.

    `unchosen` marks entries of the node that were left out on the way to the output.
    """
    if unchosen is not None and unchosen.all():
        return np.zeros(node.operands[slot].shape) if node.operands[slot].shape else 0.0
    op = node.op
    try:
        c = op.contribute(slot, g, y, arguments, node.data or {})
    except (ArithmeticError, ValueError):
        if not isinstance(g, (float, np.ndarray)):
            raise
        c = _careful(op, slot, g, y, arguments, node.settings)
    if unchosen is not None and op.shape in (same, broadcast):
        c = np.where(unchosen, 0.0, c)[()]
    shape = node.operands[slot].shape
    if type(c) is np.ndarray:
        fits = c.shape == shape
    else:
        fits = (type(c) is float and not shape and not node.shape) or shape_of(c) == shape
    if not fits:
        # a matrix product's contribution has axes of its own, so only what is too narrow is stretched
        c = unbroadcast(c if len(shape_of(c)) >= len(node.shape) else stretch(c, node.shape), shape)
    return c


def _careful(op: Op, slot: int, g: Any, y: Any, arguments: Sequence[Any], settings: Mapping[str, Any]) -> Any:
    """A contribution where Python's arithmetic of floats raises: NumPy's inf or nan is the slope."""
    c = op.contribute(slot, _numpy(g), _numpy(y), list(map(_numpy, arguments)), settings)
    return c if shape_of(c) else float(c)


def _numpy(value: Any) -> Any:
    return np.float64(value) if isinstance(value, (float, int)) else value


def broadcast_sum(node: Node, slot: int) -> tuple[int, ...]:
    """The axes over which the contribution to an operand is summed because broadcasting repeated it."""
    operand = node.operands[slot]
    if not node.op.broadcasts or operand.shape == node.shape or len(operand.shape) > len(node.shape):
        return ()
    if node.op.infix == "@":  # only the leading axes of stacks of matrices are broadcast
        if len(operand.shape) < 2 or len(node.shape) < 2:
            return ()
        added, stretched = unbroadcast_axes(node.shape[:-2], operand.shape[:-2])
    else:
        added, stretched = unbroadcast_axes(node.shape, operand.shape)
    return added + stretched


def rule_node(node: Node, slot: int, upstream: Node | float) -> Node:
    """What a node sends to one operand, as a node over the node's own operands; `upstream` stands for g."""
    result = contribution(node, slot, upstream, node, node.operands)
    assert isinstance(result, Node)
    return result


def adjoint_sweep(order: list[Node], seed: Node | float, adjoint: Adjoint) -> dict[int, Node]:
    """The gradient of every node of `order` as a node of the adjoint graph, by node number.

    Contributions are added in the order of writing, so that a formula reads as the file does.
    """
    reached = _marks(order)
    arrived: dict[int, list[Any]] = {order[0].number: [seed]}
    gradients: dict[int, Node] = {}
    with adjoint:
        for node in order:
            parts = arrived.pop(node.number)
            g = parts[-1]
            for part in reversed(parts[:-1]):
                g = g + part
            gradients[node.number] = g if isinstance(g, Node) else adjoint.constant(g)
            for slot in _slots(node, reached):
                c = contribution(node, slot, gradients[node.number], node, node.operands)
                arrived.setdefault(node.operands[slot].number, []).append(c)
    return gradients


def upstream_symbol(output: Node, node: Node) -> Node:
    """`dL/dz1`, a stand-in for a gradient that is known by name."""
    return symbol(f"d{output.name}/d{node.name}", node)

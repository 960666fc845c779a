"""Gradients that a program goes on to compute with: the gradient of a gradient, a Jacobian, one gradient an example.

A rule of differentiation builds graph, so a gradient can be written into the program's own graph like anything else,
and differentiated in its turn.  Only what the results need is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import adjoint_sweep
from gradcli.graph import Adjoint, Node, backward_order

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter


def gradients(self: Interpreter, output: Node, wrt: Sequence[Node], seed: Any = 1.0) -> list[Node]:
    """The gradient of an output with respect to each of `wrt`, as nodes of the program's graph."""
    adjoint = Adjoint(first_number=len(self.graph.nodes))
    return _written(self, adjoint, _swept(adjoint, output, wrt, seed))


def jacobian(self: Interpreter, output: Node, wrt: Sequence[Node]) -> list[Node]:
    """The derivative of every entry of an output with respect to each of `wrt`: the axes of the output come first."""
    if not output.shape:
        return gradients(self, output, wrt)
    from gradcli.ops.arrange import reshape, stack

    adjoint = Adjoint(first_number=len(self.graph.nodes))
    rows = []
    for at in range(math.prod(output.shape)):
        one = np.zeros(output.shape)
        one.flat[at] = 1.0
        rows.append(_swept(adjoint, output, wrt, one))
    with adjoint:
        whole = [
            reshape(stack(*parts), shape=(*output.shape, *wrt[k].shape))
            for k, parts in enumerate(zip(*rows, strict=True))
        ]
    return _written(self, adjoint, whole)


def tangent(self: Interpreter, output: Node, wrt: Sequence[Node], directions: Sequence[Any]) -> Node:
    """How an output moves as each of `wrt` moves in its direction.

    The reverse sweep is linear in its seed, so the derivative of the sweep with respect to the seed says the same
    forwards: two sweeps back are one forward.
    """
    adjoint = Adjoint(first_number=len(self.graph.nodes))
    with adjoint:
        seed = adjoint.constant(np.zeros(output.shape) if output.shape else 0.0)
        seed.differentiable = True
    back = _swept(adjoint, output, wrt, seed)
    moved = None
    for found, direction in zip(back, directions, strict=True):
        (part,) = _swept(adjoint, found, [seed], direction)
        with adjoint:
            moved = part if moved is None else moved + part
    seed.differentiable = False
    assert moved is not None
    return _written(self, adjoint, [moved])[0]


def _swept(adjoint: Adjoint, output: Node, wrt: Sequence[Node], seed: Any) -> list[Node]:
    """The gradients, as nodes of an adjoint graph; zeros for what the output does not depend on."""
    order = backward_order(output, wrt)
    found = adjoint_sweep(order, seed, adjoint) if output in order else {}
    zeros = [np.zeros(n.shape) if n.shape else 0.0 for n in wrt]
    return [found[n.number] if n.number in found else adjoint.constant(z) for n, z in zip(wrt, zeros, strict=True)]


def _written(self: Interpreter, adjoint: Adjoint, results: list[Node]) -> list[Node]:
    """Moves what the results need of an adjoint graph into the program's own."""
    first = len(self.graph.nodes)
    needed = {n.number for n in results}
    for node in reversed(adjoint.nodes):
        if node.number in needed:
            needed |= {o.number for o in node.operands if o.number >= first}
    for node in adjoint.nodes:
        if node.number in needed:
            node.number, node.line = len(self.graph.nodes), self.line
            self.graph.nodes.append(node)
    return results

"""The precisions that a graph may have, and what may be expected of each."""

from __future__ import annotations

from gradcli.graph import Node
from gradcli.verify.exact import Exact

BITS = {"float64": 53, "float32": 24, "float16": 11}
"""The bits of a number."""
KEPT = {"float64": 1e-9, "float32": 2.0**-17, "float16": 2.0**-8}
"""A number that is off by less than this, relative to itself, has kept its digits."""


def coarsest(exact: Exact, node: Node) -> str:
    """The lowest precision on the way from a node to the output."""
    moved = exact.downstream([node.number])
    dtypes = {n.dtype for n in exact.nodes if n.number in moved}
    return next((d for d in ("float16", "float32") if d in dtypes), "float64")

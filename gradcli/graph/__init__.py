"""The computation graph: operators, nodes, their order, and how they are written down."""

from gradcli.graph.build import Adjoint, Writing
from gradcli.graph.formula import Formula, formula, local_formula
from gradcli.graph.graph import Graph, backward_order
from gradcli.graph.node import CONSTANT, INPUT, SYMBOL, Node, constant, symbol
from gradcli.graph.op import ALL, INFIX, REGISTRY, Op, ShapeError, operator

__all__ = [
    "ALL",
    "CONSTANT",
    "INFIX",
    "INPUT",
    "REGISTRY",
    "SYMBOL",
    "Adjoint",
    "Formula",
    "Graph",
    "Node",
    "Op",
    "ShapeError",
    "Writing",
    "backward_order",
    "constant",
    "formula",
    "local_formula",
    "operator",
    "symbol",
]

"""The operators: a file per family, one block per operator (see `gradcli.graph.op`).

Importing this package fills `gradcli.graph.REGISTRY`.  A new operator is one block in the file of its family, or a
new file that is imported here.
"""

from gradcli.ops import (
    arithmetic,
    arrange,
    compare,
    copies,
    create,
    diagonals,
    elementwise,
    fill,
    linear,
    norms,
    parts,
    pass_on,
    probability,
    rearrange,
    reduce,
    scan,
    selection,
    sorting,
    statistics,
)

__all__ = [
    "arithmetic",
    "arrange",
    "compare",
    "copies",
    "create",
    "diagonals",
    "elementwise",
    "fill",
    "linear",
    "norms",
    "parts",
    "pass_on",
    "probability",
    "rearrange",
    "reduce",
    "scan",
    "selection",
    "sorting",
    "statistics",
]

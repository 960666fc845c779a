"""The operators: a file per family, one block per operator (see `gradcli.graph.op`).

Importing this package fills `gradcli.graph.REGISTRY`.  A new operator is one block in the file of its family, or a
new file that is imported here.
"""

from gradcli.ops import (
    arithmetic,
    arrange,
    compare,
    create,
    elementwise,
    linear,
    pass_on,
    probability,
    reduce,
)

__all__ = [
    "arithmetic",
    "arrange",
    "compare",
    "create",
    "elementwise",
    "linear",
    "pass_on",
    "probability",
    "reduce",
]

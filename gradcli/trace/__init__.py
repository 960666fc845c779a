"""From statements to a graph: the interpreter (see `gradcli.trace.interpreter`)."""

from gradcli.trace import statements  # noqa: F401  (it teaches statements to be read)
from gradcli.trace.interpreter import trace
from gradcli.trace.traced import Claim, Traced

__all__ = ["Claim", "Traced", "trace"]

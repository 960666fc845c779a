"""The comparison with another library: each gradient here and there, and PyTorch's chain beside our order."""

from __future__ import annotations

from rich.console import Console

from gradcli.render.check import STYLES
from gradcli.render.numbers import number, shape_text
from gradcli.render.table import Column, Table, print_table
from gradcli.report import Report
from gradcli.verify.against import Against
from gradcli.verify.verdict import Verdict

LIBRARIES = {"torch": "PyTorch", "jax": "JAX"}


def print_against(console: Console, report: Report, found: Against, *, digits: int) -> None:
    """Prints how far every gradient is from the library's, and the functions of its backward pass."""
    library = LIBRARIES[found.library]
    rows = [
        (
            f"d{report.output}/d{g.name}",
            shape_text(g.ours.shape),
            number(g.difference, digits),
            (Verdict.AGREE if g.agree else Verdict.DISAGREE).value,
        )
        for g in found.gradients
    ]
    columns = (
        Column("gradient", style="bold"),
        Column("shape"),
        Column("largest difference"),
        Column("verdict", styles=STYLES),
    )
    console.print()
    print_table(console, Table(f"Against {library}", columns, rows, f"({found.version})"))
    if found.order:
        console.print()
        parts = (Column("node", style="bold"), Column("operation", wrap=True), Column("grad_fn"))
        print_table(console, Table(f"The reverse order, and {library}'s", parts, list(found.order)))

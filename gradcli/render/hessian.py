"""Second derivatives in a terminal: a small matrix with names, or what is to be said of a large one."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from gradcli.render.check import STYLES
from gradcli.render.numbers import number
from gradcli.render.table import Column, Table, filled, fits, print_table
from gradcli.report import Report
from gradcli.verify.curvature import VERDICTS, HessianCheck
from gradcli.verify.verdict import Verdict

WHOLE = 8
"""A matrix of no more rows than this is shown whole."""
MOST = 20
"""So many entries that do not agree are told about, unless all are asked for."""


def print_hessian(console: Console, report: Report, found: HessianCheck, *, digits: int, full: bool = False) -> None:
    """Prints the matrix where it is small, the entries that do not agree, and a summary."""
    labels = found.labels
    console.print()
    if not labels:
        console.print(Text.assemble(("Hessian", "bold"), ": no input has a second derivative here"))
        return
    rows = [(label, *(number(v, digits) for v in row)) for label, row in zip(labels, found.hessian.value, strict=True)]
    table = Table("Hessian", (Column("", style="bold"), *map(Column, labels)), rows, f"(of {report.output})")
    if full or (len(labels) <= WHOLE and fits(table, console.width)):
        print_table(console, table)
        console.print()
    told = [tuple(map(int, at)) for at in np.argwhere(found.ranks)]
    told.sort(key=lambda at: -found.ranks[at])
    if told:
        shown = told if full else told[:MOST]
        cells = []
        for i, j in shown:
            verdict = VERDICTS[found.ranks[i, j]]
            corner = verdict is Verdict.KINK
            numbers = (found.hessian.value[i, j], found.reference[i, j])
            ours, theirs = (number(v, digits if corner else min(17, 2 * digits)) for v in numbers)
            cells.append((f"{labels[i]}, {labels[j]}", ours, "not one number" if corner else theirs, verdict.value))
        columns = (
            Column("row, column", style="bold"),
            Column("reverse sweep"),
            Column("differences of gradients"),
            Column("verdict", styles=STYLES),
        )
        below = {len(cells) - 1: [f"and {len(told) - len(shown):,} more: --full shows them"]} if told != shown else {}
        print_table(console, Table("Second derivatives in doubt", columns, cells, "", below))
        console.print()
    for line in filled(_summary(found, len(told)), console.width):
        console.print(Text(line, STYLES[found.verdict.value]), soft_wrap=True)


def _summary(found: HessianCheck, told: int) -> str:
    count = found.ranks.size
    entries = f"{count:,} second derivative{'' if count == 1 else 's'}"
    if not told:
        words = f"{entries}: {'agrees' if count == 1 else 'all agree'} with differences of the gradients"
    else:
        kinds = [(v, found.count(v)) for v in Verdict]
        words = f"{entries}: {', '.join(f'{n:,} {v.value}' for v, n in kinds if n)}"
    if count > 1:
        words += "; the matrix is symmetric" if found.symmetric else "; the matrix is not symmetric"
    return words

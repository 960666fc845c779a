"""A long table: gradcli's against Rich's (goal 8).

Written to a file are 10,000 rows of a scalar derivation, by `gradcli.render.table.print_table` and by a
`rich.table.Table` without lines, on consoles of the same width.  Timed is the writing alone, in a fresh process each
time, because both sides keep caches.

The peer comes with gradcli; with the others' benchmarks: pip install torch micrograd

    python tests/benchmarks/tables.py [--rows 10000] [--pairs N]
"""

from __future__ import annotations

import random
import sys
from functools import partial
from time import perf_counter

import compare

TITLES = ("#", "node", "operation", "with values", "value")
RIGHT = ("#", "value")
WIDTH = 120


def rows(count: int) -> list[tuple[str, ...]]:
    """As in the table of forward values."""
    draw = random.Random(2)
    found = []
    for k in range(1, count + 1):
        a, b = draw.randrange(k), draw.randrange(k)
        x, y = draw.uniform(-2, 2), draw.uniform(-2, 2)
        found.append((str(k), f"v{k}", f"v{a} * v{b}", f"{x:.4g} * {y:.4g}", f"{x * y:.4g}"))
    return found


def with_gradcli(cells: list[tuple[str, ...]]) -> float:
    from rich.console import Console

    from gradcli.render.table import Column, Table, print_table

    console = Console(width=WIDTH, highlight=False, emoji=False, markup=False)
    columns = tuple(Column(title, "right" if title in RIGHT else "left") for title in TITLES)
    start = perf_counter()
    print_table(console, Table("Forward values", columns, cells))
    sys.stdout.flush()
    return perf_counter() - start


def with_rich(cells: list[tuple[str, ...]]) -> float:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=WIDTH, highlight=False, emoji=False, markup=False)
    start = perf_counter()
    table = Table(title="Forward values", title_justify="left", box=None)
    for title in TITLES:
        table.add_column(title, justify="right" if title in RIGHT else "left")
    for row in cells:
        table.add_row(*row)
    console.print(table)
    sys.stdout.flush()
    return perf_counter() - start


SIDES = {"ours": with_gradcli, "rich": with_rich}


def words(output: str) -> list[list[str]]:
    """What was written, however it was spaced."""
    return [line.split() for line in output.splitlines() if line.strip()]


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--child", choices=SIDES, help="run one side (what this script does)")
    arguments = parser.parse_args()
    if arguments.child:
        compare.report(seconds=SIDES[arguments.child](rows(arguments.rows)))
        return
    script = (__file__, "--rows", str(arguments.rows), "--child")
    found = compare.rounds({side: partial(compare.run, *script, side) for side in SIDES}, arguments.pairs)
    if words(found["ours"][0].output) != words(found["rich"][0].output):
        raise SystemExit("the two tables differ in their words")
    seconds = {side: [run.report["seconds"] for run in runs] for side, runs in found.items()}
    print("In process, a table to a file; peer: rich.table.Table")
    name = f"{arguments.rows:,} rows"
    compare.print_rows([compare.time_row(name, seconds["ours"], seconds["rich"], 0.05)], arguments.pairs)


if __name__ == "__main__":
    main()

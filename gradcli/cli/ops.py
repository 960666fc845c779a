"""`gradcli ops`: every operator there is, and all about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.streams import console

if TYPE_CHECKING:
    from rich.console import Console

    from gradcli.reference import Entry


def ops(
    name: Annotated[str, typer.Argument(help="An operator, by any spelling or sign; none lists them all.")] = "",
) -> None:
    """List the operators, or show one: its call, its rule, its kinks, and an example."""
    from gradcli.reference import entry

    if name:
        _print_entry(entry(name))
    else:
        _print_families()


def _print_families() -> None:
    from gradcli.reference import creators, families, family_title
    from gradcli.render.table import Column, Table, print_table

    out = console()
    columns = (Column("operator", style="bold"), Column("what it is", wrap=True))
    for family, members in families().items():
        rows = [(f"{op.name} {op.infix.removeprefix('u')}".rstrip(), op.doc) for op in members]
        print_table(out, Table(family_title(family), columns, rows))
        out.print()
    print_table(out, Table("Inputs that need not be typed in", columns, creators()))


def _print_entry(entry: Entry) -> None:
    from rich.text import Text

    from gradcli.render.terminal import Style, print_report

    out = console()
    out.print(Text.assemble((entry.usage, "bold")))
    _print_paragraph(out, entry.doc)
    if entry.spellings:
        _print_paragraph(out, f"also written: {', '.join(entry.spellings)}")
    if entry.rules:
        out.print(Text("\nwith y for its value and dy for the gradient that arrives:", "dim"))
    else:
        out.print(Text("\nwritten out into the graph, operation by operation; the rules are those of its parts"))
    for rule in entry.rules:
        out.print(Text(f"  d{rule.operand} = {rule.text}" if rule.text else f"  {rule.operand} receives nothing"))
    if entry.kink:
        _print_paragraph(out, f"at its kinks: {entry.kink}")
    out.print(Text("\nan example:", "dim"))
    for line in entry.example.split("\n"):
        out.print(Text(f"  {line}"))
    print_report(out, entry.report, Style(sections=("values", "formulas"), headline=False))


def _print_paragraph(out: Console, text: str) -> None:
    """A blank line and a text, broken at blanks that do not stay at the ends of its lines."""
    from gradcli.render.table import filled

    out.print()
    for line in filled(text, out.width):
        out.print(line, soft_wrap=True)

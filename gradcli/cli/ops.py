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
    from gradcli.render.terminal import Style, print_report

    out = console()
    _print_filled(out, entry.usage, style="bold")
    _print_paragraph(out, entry.doc)
    if entry.spellings:
        _print_paragraph(out, f"also written: {', '.join(entry.spellings)}")
    if entry.rules:
        _print_paragraph(out, "with y for its value and dy for the gradient that arrives:", style="dim")
    else:
        _print_paragraph(out, "written out into the graph, operation by operation; the rules are those of its parts")
    for rule in entry.rules:
        text = f"d{rule.operand} = {rule.text}" if rule.text else f"{rule.operand} receives nothing"
        _print_filled(out, text, indent="  ")
    if entry.kink:
        _print_paragraph(out, f"at its kinks: {entry.kink}")
    _print_paragraph(out, "an example:", style="dim")
    for line in entry.example.split("\n"):
        _print_filled(out, line, indent="  ")
    print_report(out, entry.report, Style(sections=("values", "formulas"), headline=False))


def _print_paragraph(out: Console, text: str, *, style: str = "") -> None:
    """A blank line and a text."""
    out.print()
    _print_filled(out, text, style=style)


def _print_filled(out: Console, text: str, *, indent: str = "", style: str = "") -> None:
    """A text, broken at blanks that do not stay at the ends of its lines."""
    from gradcli.render.table import filled

    for line in filled(text, out.width, indent):
        out.print(line, soft_wrap=True, style=style or None)

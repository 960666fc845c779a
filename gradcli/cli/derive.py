"""`gradcli derive`: every value, the order, and every contribution of a formula file; then a check of the gradients."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.files import Request, go_through
from gradcli.cli.options import (
    LARGEST,
    LONGEST,
    Digits,
    Dtype,
    Files,
    Format,
    Full,
    MaxElements,
    MaxSteps,
    Of,
    OutputFormat,
    Precision,
    Upstream,
    Wrt,
)
from gradcli.cli.streams import console

if TYPE_CHECKING:
    from gradcli.report import Report
    from gradcli.verify.verdict import Check

LARGE_GRAPH = 20_000
"""Nodes.  A larger graph is checked only where that is asked for: its derivation would be over long before."""
SECONDS = 6.0
"""What the check may take here; `gradcli check` takes the time it needs."""


def derive(
    files: Files,
    of: Of = "",
    wrt: Wrt = "",
    upstream: Upstream = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show the forward values (and only what is asked for).")
    ] = False,
    order: Annotated[bool, typer.Option("--order", help="Show the reverse topological order.")] = False,
    gradients: Annotated[bool, typer.Option("--gradients", help="Show the contributions step by step.")] = False,
    formulas: Annotated[bool, typer.Option("--formulas", help="Show every gradient as a closed formula.")] = False,
    digits: Digits = 4,
    full: Full = False,
    format: OutputFormat = Format.TABLE,
    dtype: Dtype = Precision.FLOAT64,
    max_elements: MaxElements = LARGEST,
    max_steps: MaxSteps = LONGEST,
    truncate: Annotated[
        str, typer.Option(help="Cut the way back at every K-th state of a family: h=K.", show_default=False)
    ] = "",
    clip_norm: Annotated[
        float | None,
        typer.Option(help="Scale the gradients of the inputs to this joint norm.", min=0.0, show_default=False),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Cross-check the gradients by SymPy and by differences. "
            f"Without either: yes, unless only some parts are asked for or there are over {LARGE_GRAPH:,} nodes.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Derive the gradients of formula files, step by step, and cross-check them."""
    sections = _sections(values, order, gradients, formulas)
    disagree = False

    def cross_checked(report: Report, progress_of: str) -> Check:
        nonlocal disagree
        found = _check(report, progress_of)
        disagree = disagree or found.wrong
        return found

    def table(report: Report) -> None:
        from gradcli.render.terminal import SECTIONS, Style, print_report

        style = Style(digits, full, sections or SECTIONS)
        print_report(console(), report, style)
        if check is False or (sections and check is None):
            return
        sys.stdout.flush()  # what has been found is read while SymPy is imported
        from gradcli.render.check import print_cross_check, print_left_out

        if check is None and _large(report):
            print_left_out(console(), report, f"{LARGE_GRAPH:,} nodes")
        else:
            print_cross_check(console(), report, cross_checked(report, report.file), digits=digits, full=full)

    def document(report: Report) -> dict[str, Any]:
        from gradcli.verify.document import check_json

        left_out = check is False or (check is None and _large(report))
        return {
            **report.to_json(),
            "check": None if left_out else check_json(cross_checked(report, report.file)),
        }

    gc.disable()  # a short-lived process that makes no garbage worth looking for
    request = Request(of, wrt, upstream or [], dtype, max_elements, max_steps, truncate, clip_norm)
    if go_through(files, request, "derive", format, table=table, document=document):
        return ExitCode.WRONG_INPUT
    return ExitCode.DISAGREES if disagree else ExitCode.DONE


def _sections(values: bool, order: bool, gradients: bool, formulas: bool) -> tuple[str, ...]:
    """The parts that were asked for; none means all."""
    asked = {"values": values, "order": order, "gradients": gradients, "formulas": formulas}
    return tuple(name for name, wanted in asked.items() if wanted)


def _large(report: Report) -> bool:
    return len(report.values) > LARGE_GRAPH


def _check(report: Report, title: str) -> Check:
    from gradcli.cli.progress import Bar

    gc.enable()  # SymPy makes a lot of it
    with Bar(f"checking {title}") as bar:
        from gradcli.verify.check import check

        found = check(report, seconds=SECONDS, progress=bar)
        if found.wrong and found.custom_rules:
            from gradcli.homework.rules import name_slips

            found = name_slips(found)
        return found

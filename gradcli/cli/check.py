"""`gradcli check`: every gradient of a file, held against SymPy and against differences of the forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.files import Request, go_through, print_failures
from gradcli.cli.options import (
    LARGEST,
    Digits,
    Dtype,
    Files,
    Format,
    Full,
    MaxElements,
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

DIGITS = 6
"""Significant digits; a row has more where two numbers would look the same and are not."""

NOTHING_CLAIMED = {
    "claims": [],
    "summary": dict.fromkeys(
        ("lines", "right", "scaled", "right_here_only", "follows", "wrong", "helper", "unresolved", "invalid"), 0
    ),
}
"""What the document says of a student's claims where there are none."""


def check(
    files: Files,
    everything: Annotated[
        bool, typer.Option("--all", help="Check the gradients of intermediate nodes, too, not only of inputs.")
    ] = False,
    of: Of = "",
    wrt: Wrt = "",
    upstream: Upstream = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="The relative error that is allowed, instead of the precision's own (float64: 1e-9).",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for `inaccurate`, `undefined` and `unresolved`, too.")
    ] = False,
    digits: Digits = DIGITS,
    full: Full = False,
    format: OutputFormat = Format.TABLE,
    dtype: Dtype = Precision.FLOAT64,
    max_elements: MaxElements = LARGEST,
) -> int:
    """Check every gradient of formula files, entry by entry, by SymPy and by differences.

    Exits with 1 if a gradient disagrees, 2 if a file is wrong, else 0.
    """
    from gradcli.problems import GradError

    try:
        _usable(tolerance)
    except GradError as error:
        if format is Format.TABLE:
            raise
        print_failures("check", files, error.problems)
        return ExitCode.WRONG_INPUT
    failures = 0

    def checked(report: Report) -> Check:
        from gradcli.cli.progress import Bar

        nonlocal failures
        with Bar(f"checking {report.file}") as bar:
            from gradcli.verify.check import check

            found = check(report, everything=everything, tolerance=tolerance, progress=bar)
        failures += found.wrong or (strict and found.doubtful)
        return found

    def table(report: Report) -> None:
        from gradcli.render.check import print_check

        print_check(console(), report, checked(report), digits=digits, full=full)
        # below the gradients is the place for second derivatives, and then for the marks of a student's claims

    def document(report: Report) -> dict[str, Any]:
        from gradcli.verify.document import check_document

        return {**check_document(report, checked(report)), **NOTHING_CLAIMED, "problems": []}

    request = Request(of, wrt, upstream or [], dtype, max_elements)
    if go_through(files, request, "check", format, table=table, document=document):
        return ExitCode.WRONG_INPUT
    return ExitCode.DISAGREES if failures else ExitCode.DONE


def _usable(tolerance: float | None) -> None:
    from gradcli.problems import GradError, command

    if tolerance is not None and not 0 < tolerance < 1:
        way_out = "as in `--tolerance 1e-6`"
        raise GradError(command.bad_option("--tolerance", "a number between 0 and 1", str(tolerance), way_out))

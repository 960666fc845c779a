"""`gradcli check`: every gradient of a file, held against SymPy and against differences of the forward pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.files import Outcome, Request, go_through, print_failures
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
    from gradcli.verify.curvature import HessianCheck
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
    hessian: Annotated[
        bool, typer.Option("--hessian", help="Check second derivatives, too: those of a scalar output by its inputs.")
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

    def curved(report: Report) -> HessianCheck:
        from gradcli.verify.curvature import check_hessian

        nonlocal failures
        found = curvatures.pop(id(report), None) or check_hessian(report)
        failures += found.wrong or (strict and found.doubtful)
        return found

    def table(report: Report) -> None:
        from gradcli.render.check import print_check

        print_check(console(), report, checked(report), digits=digits, full=full)
        if hessian:
            from gradcli.render.hessian import print_hessian

            print_hessian(console(), report, curved(report), digits=digits, full=full)
        # below is the place for the marks of a student's claims

    def document(report: Report) -> dict[str, Any]:
        from gradcli.verify.document import check_document, hessian_json

        second = {"hessian": hessian_json(curved(report))} if hessian else {}
        return {**check_document(report, checked(report)), **second, **NOTHING_CLAIMED, "problems": []}

    curvatures: dict[int, HessianCheck] = {}
    asked = (of, wrt, upstream or [], dtype, max_elements)
    request = _Curved(*asked, found=curvatures) if hessian else Request(*asked)
    if go_through(files, request, "check", format, table=table, document=document):
        return ExitCode.WRONG_INPUT
    return ExitCode.DISAGREES if failures else ExitCode.DONE


@dataclass(frozen=True)
class _Curved(Request):
    """A request for second derivatives as well: an output that has none is a fault of the command."""

    found: dict[int, HessianCheck] = field(default_factory=dict)
    """By the id of a report, its Hessian, until it is shown."""

    def derived(self, file: str) -> Outcome:
        """The derivation of a file, or its faults."""
        outcome = super().derived(file)
        if isinstance(outcome, tuple):
            return outcome
        from gradcli.problems import command
        from gradcli.verify.curvature import check_hessian

        found = check_hessian(outcome)
        if found.reason:
            way_out = "leave out `--hessian`, or choose an output with `--of` and inputs with `--wrt`"
            return (command.no_hessian(found.reason, way_out),)
        self.found[id(outcome)] = found
        return outcome


def _usable(tolerance: float | None) -> None:
    from gradcli.problems import GradError, command

    if tolerance is not None and not 0 < tolerance < 1:
        way_out = "as in `--tolerance 1e-6`"
        raise GradError(command.bad_option("--tolerance", "a number between 0 and 1", str(tolerance), way_out))

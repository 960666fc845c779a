"""`gradcli check`: every gradient of a file, held against SymPy and against differences of the forward pass.

What the file claims, and answers to it, are marked here, too: see `gradcli.cli.homework`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.files import Outcome, Request, go_through, print_failures, read_once
from gradcli.cli.homework import Answers, Hint, claims_json, marks_of, print_marks, without_note
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

Found = TypeVar("Found", "HessianCheck", "Against")

if TYPE_CHECKING:
    from gradcli.homework import Told
    from gradcli.report import Report
    from gradcli.verify.against import Against
    from gradcli.verify.curvature import HessianCheck
    from gradcli.verify.verdict import Check

DIGITS = 6
"""Significant digits; a row has more where two numbers would look the same and are not."""

FOR_HOMEWORK = 4
"""Significant digits of the numbers beside a wrong line."""


def check(
    files: Files,
    answers: Answers = None,
    hint: Hint = 4,
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
    against: Annotated[
        str,
        typer.Option(help="Compare with another library's gradients, too: torch or jax.", show_default=False),
    ] = "",
    digits: Digits = DIGITS,
    full: Full = False,
    format: OutputFormat = Format.TABLE,
    dtype: Dtype = Precision.FLOAT64,
    max_elements: MaxElements = LARGEST,
    max_steps: MaxSteps = LONGEST,
) -> int:
    """Check every gradient of formula files, entry by entry, by SymPy and by differences, and mark homework.

    Exits with 1 if a gradient disagrees or a line of homework is not right, 2 if a file is wrong, else 0.
    """
    from gradcli.problems import GradError

    try:
        _usable(tolerance)
        _one_file_for(answers or [], files)
        read_once([*files, *(answers or [])])
    except GradError as error:
        if format is Format.TABLE:
            raise
        print_failures("check", files, error.problems)
        return ExitCode.WRONG_INPUT
    asked = (of, wrt, upstream or [], dtype, max_elements, max_steps)
    run = _Run(
        _More(*asked, curved=hessian, library=against), answers or [], hint, everything, tolerance, strict, digits, full
    )
    if go_through(files, run.request, "check", format, table=run.table, document=run.document) or run.faults:
        return ExitCode.WRONG_INPUT
    return ExitCode.DISAGREES if run.failures else ExitCode.DONE


@dataclass(frozen=True)
class _More(Request):
    """A request for more than gradients: where there are no second derivatives, or no library, the command is wrong."""

    curved: bool = False
    library: str = ""
    hessians: dict[int, HessianCheck] = field(default_factory=dict)
    """By the id of a report, its Hessian."""
    compared: dict[int, Against] = field(default_factory=dict)
    """By the id of a report, what another library says."""

    def derived(self, file: str) -> Outcome:
        """The derivation of a file, or its faults."""
        outcome = super().derived(file)
        if isinstance(outcome, tuple):
            return outcome
        from gradcli.problems import GradError, command

        if self.curved:
            from gradcli.verify.curvature import check_hessian

            found = check_hessian(outcome)
            if found.reason:
                way_out = "leave out `--hessian`, or choose an output with `--of` and inputs with `--wrt`"
                return (command.no_hessian(found.reason, way_out),)
            self.hessians[id(outcome)] = found
        if self.library:
            from gradcli.verify.against import against

            try:
                self.compared[id(outcome)] = against(outcome, self.library)
            except GradError as error:
                return error.problems
        return outcome


@dataclass
class _Run:
    """What is done with each derivation, and how many files were not right or could not be marked."""

    request: _More
    answers: list[str]
    hint: int
    everything: bool
    tolerance: float | None
    strict: bool
    digits: int
    full: bool
    failures: int = 0
    faults: int = 0

    def table(self, derived: Report) -> None:
        """Shows a file as tables; below the highest hint the gradients are what is left to be found."""
        report = without_note(derived)
        told = self._marked(report)
        above = False
        if told is None or told.everything:
            if not self.answers:
                from gradcli.render.check import print_check

                print_check(console(), report, self._checked(report), digits=self.digits, full=self.full)
                above = True
            if hessian := self._judged(self.request.hessians, derived):
                from gradcli.render.hessian import print_hessian

                print_hessian(console(), report, hessian, digits=self.digits, full=self.full)
                above = True
            if compared := self._judged(self.request.compared, derived):
                from gradcli.render.against import print_against

                print_against(console(), report, compared, digits=self.digits)
                above = True
        if told is not None:
            if above:
                console().print()
            print_marks(told, FOR_HOMEWORK if self.digits == DIGITS else self.digits)

    def document(self, derived: Report) -> dict[str, Any]:
        """The same as JSON."""
        from gradcli.problems import GradError
        from gradcli.verify.document import against_json, check_document, hessian_json

        report = without_note(derived)
        try:
            told = self._marked(report)
        except GradError as error:
            from gradcli.render.json import failure_json

            self.faults += 1
            return failure_json("check", report.file, error.problems)
        if told is not None and not told.everything:
            shown: dict[str, Any] = {"schema": 1, "command": "check", "file": report.file, "output": report.output}
            shown |= {"gradients": {}, "check": None, "notes": []}
        else:
            shown = check_document(report, self._checked(report))
            if hessian := self._judged(self.request.hessians, derived):
                shown["hessian"] = hessian_json(hessian)
            if compared := self._judged(self.request.compared, derived):
                shown["against"] = against_json(compared)
        return {**shown, **claims_json(told), "problems": []}

    def _marked(self, report: Report) -> Told | None:
        told = marks_of(report, self.answers, self.hint)
        self.failures += told is not None and not told.right
        return told

    def _checked(self, report: Report) -> Check:
        from gradcli.cli.progress import Bar

        with Bar(f"checking {report.file}") as bar:
            from gradcli.verify.check import check

            found = check(report, everything=self.everything, tolerance=self.tolerance, progress=bar)
            if found.wrong and found.custom_rules:
                from gradcli.homework.rules import name_slips

                found = name_slips(found)
        self.failures += found.wrong or (self.strict and found.doubtful)
        return found

    def _judged(self, kept: dict[int, Found], report: Report) -> Found | None:
        """What was found out about a report while it was derived, if that was asked for."""
        found = kept.pop(id(report), None)
        if found is not None:
            self.failures += found.wrong or (self.strict and found.doubtful)
        return found


def _one_file_for(answers: list[str], files: list[str]) -> None:
    """Refuses answers to several files."""
    from gradcli.problems import GradError, command

    if answers and len(files) > 1:
        found = f"{len(files)} formula files"
        raise GradError(command.bad_option("--answers", "answers to one formula file", found, "check one at a time"))


def _usable(tolerance: float | None) -> None:
    from gradcli.problems import GradError, command

    if tolerance is not None and not 0 < tolerance < 1:
        way_out = "as in `--tolerance 1e-6`"
        raise GradError(command.bad_option("--tolerance", "a number between 0 and 1", str(tolerance), way_out))

"""`gradcli derive`: every value, the order, and every contribution of a formula file."""

from __future__ import annotations

import gc
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.streams import ascii_only, console
from gradcli.problems import GradError, Problem, Source, command

if TYPE_CHECKING:
    from gradcli.report import Report


class Format(StrEnum):
    """How the derivation is written."""

    TABLE = "table"
    JSON = "json"


class Precision(StrEnum):
    """The precision of the inputs that name none."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"


def derive(
    files: Annotated[list[str], typer.Argument(help="Formula files; - reads standard input.", show_default=False)],
    of: Annotated[str, typer.Option(help="The node to differentiate, instead of the file's output.")] = "",
    wrt: Annotated[str, typer.Option(help="Only the gradients of these nodes, e.g. x,W1.")] = "",
    upstream: Annotated[
        list[str] | None,
        typer.Option(help="The gradient that arrives at a tensor output: c=dc or c=[[1,2],[3,4]]."),
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show the forward values (and only what is asked for).")
    ] = False,
    order: Annotated[bool, typer.Option("--order", help="Show the reverse topological order.")] = False,
    gradients: Annotated[bool, typer.Option("--gradients", help="Show the contributions step by step.")] = False,
    formulas: Annotated[bool, typer.Option("--formulas", help="Show every gradient as a closed formula.")] = False,
    digits: Annotated[int, typer.Option(help="Significant digits.", min=1, max=17)] = 4,
    full: Annotated[bool, typer.Option("--full", help="Show large tensors and long tables whole.")] = False,
    format: Annotated[Format, typer.Option(help="Tables for people or JSON for programs.")] = Format.TABLE,
    dtype: Annotated[Precision, typer.Option(help="Precision of inputs that name none.")] = Precision.FLOAT64,
    max_elements: Annotated[int, typer.Option(help="The largest tensor allowed.", min=1)] = 10_000_000,
    no_check: Annotated[bool, typer.Option("--no-check", help="Leave out the cross-check of the gradients.")] = False,
) -> int:
    """Derive the gradients of formula files, step by step."""
    del no_check  # accepted already: scripts written today keep working once the tables end with a cross-check
    try:
        seeds = _seeds(upstream or [])
    except GradError as error:
        if format is not Format.JSON:
            raise
        _print_json([(file, error.problems) for file in files])
        return ExitCode.WRONG_INPUT
    targets = [name.strip() for name in wrt.split(",") if name.strip()]
    outcomes: list[tuple[str, Report | tuple[Problem, ...]]] = []
    gc.disable()  # a short-lived process that makes no garbage worth looking for
    for file in files:
        from gradcli.api import derive as derived

        try:
            report = derived(
                _source(file),
                of=of.strip() or None,
                wrt=targets,
                upstream=seeds,
                dtype=dtype.value,
                max_elements=max_elements,
            )
            outcomes.append((file, report))
        except GradError as error:
            outcomes.append((file, error.problems))
        if format is Format.TABLE:
            _print_outcome(
                outcomes[-1][1],
                first=len(outcomes) == 1,
                style=_style(values, order, gradients, formulas, digits, full),
            )
    if format is Format.JSON:
        _print_json(outcomes)
    failed = any(isinstance(outcome, tuple) for _, outcome in outcomes)
    return ExitCode.WRONG_INPUT if failed else ExitCode.DONE


def _source(file: str) -> Source:
    from gradcli.sources import read_source

    return read_source(Path(file), standard_input=sys.stdin.buffer if file == "-" else None)


def _seeds(given: list[str]) -> dict[str, Any]:
    seeds = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            way_out = "as in `--upstream c=dc` or `--upstream c=[[1,2],[3,4]]`"
            raise GradError(command.bad_option("--upstream", "NAME=NODE or NAME=NUMBERS", text, way_out))
        seeds[name.strip()] = value.strip()
    return seeds


def _style(values: bool, order: bool, gradients: bool, formulas: bool, digits: int, full: bool) -> Any:
    from gradcli.render.terminal import SECTIONS, Style

    chosen = tuple(name for name, asked in zip(SECTIONS, (values, order, gradients, formulas), strict=True) if asked)
    return Style(digits, full, chosen or SECTIONS)


def _print_outcome(outcome: Report | tuple[Problem, ...], *, first: bool, style: Any) -> None:
    out = console()
    if isinstance(outcome, tuple):
        from gradcli.render.problems import print_problems

        sys.stdout.flush()
        if not first:
            console(sys.stderr).print()
        print_problems(console(sys.stderr), outcome, ascii_only=ascii_only(sys.stderr))
        return
    from gradcli.render.terminal import print_report

    if not first:
        out.print()
    print_report(out, outcome, style)


def _print_json(outcomes: list[tuple[str, Report | tuple[Problem, ...]]]) -> None:
    from gradcli.render.json import document, failure_json

    documents = [
        failure_json("derive", file, outcome) if isinstance(outcome, tuple) else outcome.to_json()
        for file, outcome in outcomes
    ]
    whole = documents[0] if len(documents) == 1 else {"schema": 1, "command": "derive", "files": documents}
    sys.stdout.write(document(whole) + "\n")

"""What the commands do with their files: derive each of them, print faults, write one JSON document for all."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gradcli.cli.options import LARGEST, LONGEST, Format, Precision
from gradcli.cli.streams import ascii_only, console, heard_or_not
from gradcli.problems import GradError, Problem, Source, command

if TYPE_CHECKING:
    from gradcli.report import Report

Outcome: TypeAlias = "Report | tuple[Problem, ...]"
"""What became of a file: its derivation, or its faults."""


@dataclass(frozen=True)
class Request:
    """What is to be derived from every file: the options of a command as they were given."""

    of: str = ""
    wrt: str = ""
    upstream: Sequence[str] = ()
    dtype: Precision = Precision.FLOAT64
    max_elements: int = LARGEST
    max_steps: int = LONGEST
    truncate: str = ""
    clip_norm: float | None = None

    @cached_property
    def seeds(self) -> dict[str, Any]:
        """The upstream gradients by node.  Raises GradError where an `--upstream` is no `NAME=VALUE`."""
        seeds = {}
        for text in self.upstream:
            name, sign, value = text.partition("=")
            if not sign or not name.strip() or not value.strip():
                way_out = "as in `--upstream c=dc` or `--upstream c=[[1,2],[3,4]]`"
                raise GradError(command.bad_option("--upstream", "NAME=NODE or NAME=NUMBERS", text, way_out))
            if name.strip() in seeds:
                raise GradError(command.bad_option("--upstream", "one seed for each node", text, "name one of them"))
            seeds[name.strip()] = value.strip()
        return seeds

    @cached_property
    def limit(self) -> float | None:
        """The joint norm of the gradients.  Raises GradError where it is no finite number."""
        if self.clip_norm is not None and not math.isfinite(self.clip_norm):
            found = str(self.clip_norm)
            raise GradError(command.bad_option("--clip-norm", "a finite number", found, "as in `--clip-norm 1`"))
        return self.clip_norm

    @cached_property
    def wanted(self) -> str:
        """The nodes whose gradients are wanted.  Raises GradError where there is no name in the list."""
        if self.wrt and not self.wrt.strip(", "):
            raise GradError(command.bad_option("--wrt", "names with commas between", self.wrt, "as in `--wrt x,W1`"))
        return self.wrt

    @cached_property
    def cuts(self) -> dict[str, int]:
        """How often the way back is cut, by family.  Raises GradError where a `--truncate` is no `NAME=STEPS`."""
        name, _, steps = self.truncate.partition("=")
        if not self.truncate:
            return {}
        if not name.strip() or not steps.strip().isdecimal():
            raise GradError(command.bad_option("--truncate", "NAME=STEPS", self.truncate, "as in `--truncate h=5`"))
        return {name.strip(): int(steps)}

    def derived(self, file: str) -> Outcome:
        """The derivation of one file, or its faults."""
        from gradcli.api import derive

        try:
            return derive(
                _source(file),
                of=self.of.strip() or None,
                wrt=self.wanted,
                upstream=self.seeds,
                dtype=self.dtype.value,
                max_elements=self.max_elements,
                max_steps=self.max_steps,
                truncate=self.cuts,
                clip_norm=self.limit,
            )
        except GradError as error:
            return error.problems


def go_through(
    files: Sequence[str],
    request: Request,
    command_name: str,
    format: Format,
    *,
    table: Callable[[Report], None],
    document: Callable[[Report], dict[str, Any]],
) -> bool:
    """Derives every file and shows it: with `table`, one after the other, or as one document of `document`s.

    Returns whether a file is at fault; one that is does not stop the others.
    """
    failed = False
    try:
        read_once(files)
    except GradError as error:
        if format is Format.TABLE:
            raise
        print_failures(command_name, files, error.problems)
        return True
    if format is Format.JSON:
        documents = []
        for file in files:
            outcome = request.derived(file)
            if isinstance(outcome, tuple):
                from gradcli.render.json import failure_json

                failed = True
                documents.append(failure_json(command_name, file, outcome))
            else:
                documents.append(document(outcome))
        print_json(command_name, documents)
        return failed
    _ = (
        request.seeds,
        request.cuts,
        request.limit,
        request.wanted,
    )  # an option that is wrong is told of once, not for every file
    for place, file in enumerate(files):
        outcome = request.derived(file)
        if isinstance(outcome, tuple):
            failed = True
            print_faults(outcome, first=place == 0)
            continue
        if place:
            console().print()
        table(outcome)
    return failed


def read_once(names: Sequence[str]) -> None:
    """Refuses to read standard input twice: there would be nothing left in it."""
    if names.count("-") > 1:
        raise GradError(command.bad_option("`-`", "given once", " ".join(names), "name a file instead"))


def print_faults(faults: tuple[Problem, ...], *, first: bool) -> None:
    """Prints the faults of a file on standard error, below what has been printed before."""
    from gradcli.render.problems import print_problems

    sys.stdout.flush()
    with heard_or_not():
        if not first:
            console(sys.stderr).print()
        print_problems(console(sys.stderr), faults, ascii_only=ascii_only(sys.stderr))


def print_failures(command_name: str, files: Sequence[str], problems: tuple[Problem, ...]) -> None:
    """Prints the document of a command that could not begin, whatever its files are."""
    from gradcli.render.json import failure_json

    print_json(command_name, [failure_json(command_name, file, problems) for file in files])


def print_json(command_name: str, documents: Sequence[dict[str, Any]]) -> None:
    """Prints one document: that of the only file, or all of them under `files`."""
    from gradcli.render.json import document

    whole = documents[0] if len(documents) == 1 else {"schema": 1, "command": command_name, "files": list(documents)}
    sys.stdout.write(document(whole) + "\n")


def _source(file: str) -> Source:
    from gradcli.sources import read_source

    if not file.strip():
        raise GradError(command.missing_file(file, ()))
    return read_source(Path(file), standard_input=sys.stdin.buffer if file == "-" else None)

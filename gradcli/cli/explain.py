"""`gradcli explain`: what a word of the tool's messages means, or a slip in a derivation."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Annotated

import typer

from gradcli.cli.streams import NARROWEST
from gradcli.problems import MISTAKES, GradError, command, explanation
from gradcli.problems.slips import SLIPS, find

WIDTH = 80
"""Paragraphs are no wider than this, however wide the terminal is."""


def explain(
    code: Annotated[
        list[str] | None,
        typer.Argument(
            help="A code such as shape-mismatch, a verdict such as kink, or a slip such as missing-transpose; "
            "none lists them all."
        ),
    ] = None,
) -> None:
    """Explain a code that a message bears, a verdict of a check or a slip in a derivation, with an example."""
    from gradcli.verify.verdict import Verdict  # not needed to start, and it takes its milliseconds

    known = sorted([*MISTAKES, *Verdict, *(slip.code for slip in SLIPS.values())])
    asked = " ".join(code or [])
    word = "-".join(asked.strip().removeprefix("error[").removesuffix("]").lower().split())
    if not word:
        width = max(map(len, known))
        for each in known:
            line = f"{each:<{width}}  {_text(each).splitlines()[0]}"
            sys.stdout.write(f"{_hanging(line, width + 2)}\n")
        return
    if word not in known:
        raise GradError(command.unknown_code(asked, known))
    sys.stdout.write(f"{word}\n\n{_filled(_text(word))}\n")


def _text(word: str) -> str:
    if word in MISTAKES:
        return explanation(word)
    slip = find(word)
    if slip is not None:
        return slip.explanation
    from gradcli.verify.explanations import verdict_explanation
    from gradcli.verify.verdict import Verdict

    return verdict_explanation(Verdict(word))


def _filled(text: str) -> str:
    """Paragraphs filled to the width; examples, which are indented, as they stand."""
    blocks = text.split("\n\n")
    width = min(WIDTH, max(NARROWEST, shutil.get_terminal_size().columns))
    return "\n\n".join(b if b.startswith("    ") else textwrap.fill(" ".join(b.split()), width) for b in blocks)


def _hanging(line: str, indent: int) -> str:
    """A line of the list within the width of a terminal; one line for each code where something else reads it."""
    columns = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or columns < indent + NARROWEST:
        return line
    return textwrap.fill(line, columns, subsequent_indent=" " * indent, break_on_hyphens=False)

"""`gradcli explain`: what a word of the tool's messages means."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Annotated

import typer

from gradcli.cli.streams import NARROWEST
from gradcli.problems import MISTAKES, GradError, command, explanation

WIDTH = 80
"""Paragraphs are no wider than this, however wide the terminal is."""


def explain(
    code: Annotated[str, typer.Argument(help="A code such as shape-mismatch; none lists them all.")] = "",
) -> None:
    """Explain a code that a message bears, with an example."""
    if not code:
        width = max(map(len, MISTAKES))
        for known in sorted(MISTAKES):
            sys.stdout.write(f"{known:<{width}}  {explanation(known).splitlines()[0]}\n")
        return
    word = code.strip().removeprefix("error[").removesuffix("]").lower()
    if word not in MISTAKES:
        raise GradError(command.unknown_code(code, sorted(MISTAKES)))
    sys.stdout.write(f"{word}\n\n{_filled(explanation(word))}\n")


def _filled(text: str) -> str:
    """Paragraphs filled to the width; examples, which are indented, as they stand."""
    blocks = text.split("\n\n")
    width = min(WIDTH, max(NARROWEST, shutil.get_terminal_size().columns))
    return "\n\n".join(b if b.startswith("    ") else textwrap.fill(" ".join(b.split()), width) for b in blocks)

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
    code: Annotated[
        str, typer.Argument(help="A code such as shape-mismatch, or a verdict such as kink; none lists them all.")
    ] = "",
) -> None:
    """Explain a code that a message bears, or a verdict of a check, with an example."""
    from gradcli.verify.verdict import Verdict  # not needed to start, and it takes its milliseconds

    known = sorted([*MISTAKES, *Verdict])
    if not code:
        width = max(map(len, known))
        for each in known:
            sys.stdout.write(f"{each:<{width}}  {_text(each).splitlines()[0]}\n")
        return
    word = code.strip().removeprefix("error[").removesuffix("]").lower()
    if word not in known:
        raise GradError(command.unknown_code(code, known))
    sys.stdout.write(f"{word}\n\n{_filled(_text(word))}\n")


def _text(word: str) -> str:
    if word in MISTAKES:
        return explanation(word)
    from gradcli.verify.explanations import verdict_explanation
    from gradcli.verify.verdict import Verdict

    return verdict_explanation(Verdict(word))


def _filled(text: str) -> str:
    """Paragraphs filled to the width; examples, which are indented, as they stand."""
    blocks = text.split("\n\n")
    width = min(WIDTH, max(NARROWEST, shutil.get_terminal_size().columns))
    return "\n\n".join(b if b.startswith("    ") else textwrap.fill(" ".join(b.split()), width) for b in blocks)

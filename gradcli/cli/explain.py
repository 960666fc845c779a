"""`gradcli explain`: what a word of the tool's messages means."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradcli.problems import MISTAKES, GradError, command, explanation


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
    sys.stdout.write(f"{word}\n\n{explanation(word)}\n")

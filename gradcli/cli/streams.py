"""Standard output and standard error: consoles that never fail on a character or a closed pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


NARROWEST = 20
USUAL = 80
"""Columns: what a table is never narrower than, and what it has where nothing is known."""


def prepare_streams() -> None:
    """Lets every stream print any text: what its encoding lacks is written as an escape; a closed stream is empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (as long as the process)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def console(stream: IO[str] | None = None) -> Console:
    """A console on a stream (standard output), as wide as its terminal, or as COLUMNS says, or 80 columns."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # Rich would exit with 1, which means something else here

    made = Piped(file=stream or sys.stdout, highlight=False, emoji=False, markup=False)
    if made.width < NARROWEST:  # COLUMNS=0, or a terminal that does not know its width
        made.width = NARROWEST if made.width > 0 else USUAL
    return made


def ascii_only(stream: IO[str]) -> bool:
    """Whether the stream's encoding has ASCII characters only."""
    return "utf" not in (getattr(stream, "encoding", None) or "ascii").lower()


def discard(stream: IO[str] | None) -> None:
    """After a stream's reader has gone (`| head`): nothing more is written to it, and nothing complains at exit."""
    with suppress(OSError, ValueError, AttributeError):  # a stream in memory has no descriptor, and needs none
        assert stream is not None
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def heard_or_not() -> Iterator[None]:
    """What is written to standard error; if it cannot be, nobody is left to be told so, and the exit code speaks."""
    try:
        yield
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)

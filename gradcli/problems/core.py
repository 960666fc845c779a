"""What a mistake looks like: a value, not a traceback.

A `Problem` says what is wrong, points at the smallest piece of text that is wrong, shows what was
expected and what was found, and offers a way out.  It knows nothing of colours, streams or
files; `gradcli.render.problems` draws it and `gradcli.cli` decides where it goes.

Every mistake a user can make is one function, marked with `@mistake("code")`, that builds the
problem.  The function's docstring is what `gradcli explain CODE` prints, so a mistake, its words and
its explanation stand in one place.
"""

import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ParamSpec


@dataclass(frozen=True)
class Source:
    """A text and where it came from.

    `name` is what messages call it; `directory` is where `load(...)` looks for files.  The text of a notebook is that
    of its code cells, one after the other: `cells` has the first line of each and its number in the notebook, and
    what is said of a line names the cell and the line in it.  A piece of a file begins with the line `first` of it.
    """

    name: str
    text: str
    directory: Path = field(default_factory=Path)
    cells: tuple[tuple[int, int], ...] = ()
    first: int = 1

    @cached_property
    def lines(self) -> list[str]:
        """The text line by line, without line ends."""
        return self.text.split("\n")

    def place(self, line: int) -> tuple[int | None, int]:
        """The cell of a notebook that a line of the text stands in, and the line in it; no cell in another file.

        Lines of a text count from 1, also where it is a piece of a file.
        """
        at = bisect_right(self.cells, (line, sys.maxsize)) - 1
        if at < 0:
            return None, line + self.first - 1
        first, cell = self.cells[at]
        return cell, line - first + 1

    def place_json(self, line: int) -> dict[str, int]:
        """The same for a document: `cell` is there only for a notebook."""
        cell, line = self.place(line)
        return {"line": line} if cell is None else {"cell": cell, "line": line}

    def sheet(self, line: int) -> str:
        """What a line is counted in: the file's name, with the cell of a notebook (`notes.ipynb:cell 3`)."""
        cell, _ = self.place(line)
        return self.name if cell is None else f"{self.name}:cell {cell}"

    def on(self, line: int) -> str:
        """`on line 3`, or `in cell 2, line 1`."""
        return f"{'on' if self.place(line)[0] is None else 'in'} {self.told(line)}"

    def told(self, *lines: int) -> str:
        """Lines in words: `line 3, 5`; of a notebook `cell 2, line 1, 4; cell 3, line 1`."""
        parts: list[str] = []
        last: int | None = -1
        for cell, line in map(self.place, lines):
            if cell == last:
                parts[-1] += f", {line}"
            else:
                parts.append(f"line {line}" if cell is None else f"cell {cell}, line {line}")
            last = cell
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a source: lines from 1, columns from 1, `end_column` just past the last character."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        """`circuit.txt:3:5`, or `notes.ipynb:cell 2:3:5`."""
        return f"{self.source.sheet(self.line)}:{self.source.place(self.line)[1]}:{self.column}"


@dataclass(frozen=True, slots=True)
class Label:
    """A span and what is to be said under it (may be empty)."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: a code, a message, labelled places (the first is the place), notes and a way out."""

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""

    @property
    def line(self) -> int:
        """The line of the first label, 0 where there is no place; of a notebook that of all its code, read as one."""
        return self.labels[0].span.line if self.labels else 0


class GradError(Exception):
    """Raised when a file or a command is wrong; carries every independent problem found."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(_one_line, problems)))
        self.problems = problems


def _one_line(problem: Problem) -> str:
    """A problem for a traceback: `circuit.txt:3:5: unknown-name: `q` is not defined (define it on a line above)`."""
    place = problem.labels[0].span if problem.labels else None
    where = f"{place}: " if place else ""
    return f"{where}{problem.code}: {problem.message}" + (f" ({problem.help})" if problem.help else "")


_Arguments = ParamSpec("_Arguments")

MISTAKES: dict[str, Callable[..., Problem]] = {}
"""Every mistake by its code."""


def mistake(
    code: str,
) -> Callable[[Callable[_Arguments, Problem]], Callable[_Arguments, Problem]]:
    """Registers the function that builds the problem `code`."""

    def register(build: Callable[_Arguments, Problem]) -> Callable[_Arguments, Problem]:
        assert code not in MISTAKES, code
        assert build.__doc__, f"{code} has no explanation"
        MISTAKES[code] = build
        return build

    return register


def explanation(code: str) -> str:
    """The text that `gradcli explain CODE` prints.  KeyError if there is no such code."""
    return inspect.cleandoc(MISTAKES[code].__doc__ or "")

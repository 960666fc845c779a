"""Reading formula files: every way in which a file can fail is one clear problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

from gradcli.problems import GradError, Source, command


def read_source(path: Path, *, standard_input: IO[bytes] | None = None) -> Source:
    """The text of a file, or of standard input for `-`.  Raises GradError."""
    if str(path) == "-" and standard_input is not None:
        return Source("<stdin>", _decoded("<stdin>", standard_input.read()))
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise GradError(command.missing_file(str(path), _nearby(path))) from None
    except IsADirectoryError:
        raise GradError(command.directory(str(path), [str(p) for p in sorted(path.glob("*.txt"))])) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GradError(command.unreadable_file(str(path), reason.lower())) from None
    text = _decoded(str(path), data)
    return Source(path.name, _code_cells(str(path), text) if path.suffix == ".ipynb" else text, path.parent)


def _code_cells(name: str, text: str) -> str:
    """The code of a Jupyter notebook, cell after cell, each under a comment with its number.

    Lines for the notebook itself (`%matplotlib inline`, `!pip install …`) become comments.
    """
    try:
        cells = json.loads(text)["cells"]
        codes = [("".join(cell["source"]), at) for at, cell in enumerate(cells, start=1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise GradError(command.bad_notebook(name)) from None
    parts = []
    for code, at in codes:
        lines = [f"# {line}" if line.lstrip()[:1] in ("%", "!", "?") else line for line in code.split("\n")]
        parts.append("\n".join([f"# cell {at}", *lines]))
    return "\n\n".join(parts) + "\n"


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        likely = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "GBK"
        raise GradError(command.wrong_encoding(name, error.start, data[error.start], likely)) from None


def _nearby(path: Path) -> list[str]:
    """Files that the path may have meant."""
    try:
        return [str(p) for p in path.parent.iterdir() if p.is_file()][:1000]
    except OSError:
        return []

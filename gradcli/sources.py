"""Reading formula files: every way in which a file can fail is one clear problem."""

from __future__ import annotations

import json
import re
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
    if path.suffix == ".ipynb":
        return _notebook(str(path), path, text)
    return Source(path.name, text, path.parent)


_FOR_THE_NOTEBOOK = re.compile(r"\s*(?:%%?[A-Za-z]|[!?])")
"""The beginning of a line for the notebook itself: `%matplotlib inline`, `!pip install …`."""
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b|python3?\b)[A-Za-z]")
"""The beginning of a cell that is no Python, such as `%%bash`."""


def _notebook(name: str, path: Path, text: str) -> Source:
    """The code of a Jupyter notebook, cell after cell; lines for the notebook itself become comments."""
    try:
        cells = json.loads(text.removeprefix("\ufeff"))["cells"]
        codes = [(at, "".join(cell["source"])) for at, cell in enumerate(cells, start=1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise GradError(command.bad_notebook(name)) from None
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    for at, code in codes:
        places.append((len(lines) + 1, at))
        foreign = _OTHER_LANGUAGE.match(code) is not None
        code = code.replace("\r\n", "\n").replace("\r", "\n")
        lines += [f"# {line}" if foreign or _FOR_THE_NOTEBOOK.match(line) else line for line in code.split("\n")]
    return Source(path.name, "\n".join([*lines, ""]), path.parent, tuple(places))


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        likely = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "" if b"\0" in data[:4096] else "GBK"
        raise GradError(command.wrong_encoding(name, error.start, data[error.start], likely)) from None


def _nearby(path: Path) -> list[str]:
    """Files that the path may have meant."""
    try:
        return [str(p) for p in path.parent.iterdir() if p.is_file()][:1000]
    except OSError:
        return []

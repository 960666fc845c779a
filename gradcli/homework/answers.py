"""Answers files: text in the language, or numbers under names in a `.json`, `.csv`, `.npz` file or a folder of `.npy`.

What is text becomes lines of the language, each on the line of the file that it stands in, so that one reader reads
them all and every digit that was written counts.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from gradcli.homework.reader import add_arrays, finish, read_sheet
from gradcli.homework.sheet import Sheet
from gradcli.language import read
from gradcli.problems import GradError, Source, homework
from gradcli.report import Report
from gradcli.sources import read_source

ARRAYS = (".npz", ".npy")
LARGEST_FILE = 1 << 28
"""Files of arrays that are larger than this are not opened, in bytes."""

_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan|Infinity|NaN)", re.IGNORECASE)


def read_answers(report: Report, answers: Sequence[Path | Source], *, standard_input: IO[bytes] | None = None) -> Sheet:
    """The sheet of a formula file's claims and those of answers files.

    Raises GradError for a file that cannot be read.
    """
    texts: list[Source] = []
    arrays: list[tuple[Source, dict[str, Any]]] = []
    for each in answers:
        if isinstance(each, Path) and (each.suffix.lower() in ARRAYS or each.is_dir()):
            arrays.append((Source(each.name, "", each.parent), _arrays(each)))
            continue
        source = each if isinstance(each, Source) else read_source(each, standard_input=standard_input)
        texts.append(in_language(source))
    sheet = read_sheet(report, *(read(source, claims=True) for source in texts))
    for source, named in arrays:
        add_arrays(sheet, source, named)
    marked = {line.file for line in sheet.lines}
    for source in (*texts, *(source for source, _ in arrays)):
        if source.name not in marked:
            raise GradError(homework.broken_answers(source, 0, "there is no line to be marked in it"))
    finish(sheet)
    return sheet


def in_language(source: Source) -> Source:
    """A source as lines of the language."""
    suffix = Path(source.name).suffix.lower()
    if suffix == ".json":
        return _laid_out(source, _of_json(source))
    return _laid_out(source, _of_csv(source)) if suffix == ".csv" else source


def _laid_out(source: Source, statements: list[tuple[int, str]]) -> Source:
    """Statements, each on its line; several on one line are parted by semicolons."""
    lines: dict[int, list[str]] = {}
    for line, text in statements:
        lines.setdefault(line, []).append(text)
    last = max(lines, default=0)
    return Source(source.name, "\n".join("; ".join(lines.get(n, ())) for n in range(1, last + 1)), source.directory)


# JSON --------------------------------------------------------------------------------------------


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def _of_json(source: Source) -> list[tuple[int, str]]:
    """`{"dW1": [[0.1, 0.2]], "p": 0.44, "dh": "W.T @ dz"}`, or a list of lines."""
    try:
        found = json.loads(source.text, parse_float=_Digits, parse_int=_Digits, parse_constant=_Digits)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise GradError(homework.broken_answers(source, line, f"it is no JSON: {error}")) from None
    except RecursionError:
        raise GradError(homework.broken_answers(source, 1, "its brackets are nested too deep")) from None
    if isinstance(found, dict) and isinstance(found.get("answers"), (dict, list)):
        found = found["answers"]
    statements = []
    at = 0
    if isinstance(found, dict):
        for name, value in found.items():
            at = _place(source.text, json.dumps(name, ensure_ascii=False), at)
            statements.append((_line_of(source.text, at), f"{name} = {_formula(value, order=name == 'order')}"))
    elif isinstance(found, list) and all(type(each) is str for each in found):
        for each in found:
            at = _place(source.text, json.dumps(each, ensure_ascii=False), at)
            statements.append((_line_of(source.text, at), each))
    else:
        raise GradError(homework.broken_answers(source, 1, "it is no object of names and numbers"))
    return statements


def _place(text: str, piece: str, start: int) -> int:
    """Where a piece stands, from `start` on if it stands there, else anywhere; the start if nowhere."""
    at = text.find(piece, start)
    return at if at >= 0 else max(text.find(piece), start)


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _formula(value: Any, *, order: bool = False) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_formula(v, order=order) for v in value)}]"
    if isinstance(value, _Digits):
        return {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(value, str(value))
    if type(value) is str:
        return repr(value) if order else value
    return str(value)


# CSV ---------------------------------------------------------------------------------------------


def _of_csv(source: Source) -> list[tuple[int, str]]:
    """Rows `dW1,0.1,0.2`, of which several of one name are a matrix; or columns under a row of names."""
    rows = [(line, [cell.strip() for cell in row]) for line, row in _rows(source) if any(cell.strip() for cell in row)]
    if not rows:
        return []
    heading = rows[0][1]
    if (
        not any(map(_is_number, heading))
        and len(rows) > 1
        and all(_is_number(c) for _, row in rows[1:] for c in row if c)
    ):
        return _columns(rows)
    if len(heading) > 1 and heading[0].lower() in ("name", "gradient", "claim", "node", "target"):
        rows = rows[1:]
    statements: list[tuple[int, str, list[str]]] = []
    for line, row in rows:
        cells = row[1:]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            raise GradError(homework.broken_answers(source, line, f"there is nothing behind `{row[0]}`"))
        if statements and row[0] in ("", statements[-1][1]):
            statements[-1][2].append(", ".join(cells))
        else:
            statements.append((line, row[0], [", ".join(cells)]))
    return [(line, f"{name} = {_of_cells(texts)}") for line, name, texts in statements]


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(source.lines, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise GradError(homework.broken_answers(source, reader.line_num, f"it is no CSV: {error}")) from None


def _of_cells(texts: list[str]) -> str:
    rows = [text if text.startswith("[") else f"[{text}]" for text in texts]
    if len(rows) == 1 and "," not in texts[0]:
        return texts[0]
    return rows[0] if len(rows) == 1 else f"[{', '.join(rows)}]"


def _columns(rows: list[tuple[int, list[str]]]) -> list[tuple[int, str]]:
    line, names = rows[0]
    columns = [[row[at] for _, row in rows[1:] if at < len(row) and row[at]] for at in range(len(names))]
    return [
        (line, f"{name} = {_of_cells([', '.join(column)])}")
        for name, column in zip(names, columns, strict=True)
        if name and column
    ]


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell))


# Arrays ------------------------------------------------------------------------------------------


def _arrays(path: Path) -> dict[str, Any]:
    """The arrays of an `.npz` or `.npy` file, or of a folder of `.npy` files, by name.  Pickles are never opened."""
    import numpy as np

    files = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    if not files:
        raise GradError(homework.broken_answers(Source(path.name, ""), 0, "it is a folder without any .npy file"))
    arrays: dict[str, Any] = {}
    for file in files:
        if not file.exists():
            read_source(file)  # says so
        try:
            if file.stat().st_size > LARGEST_FILE:
                raise ValueError("it is too large")
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.lib.npyio.NpzFile):
                with loaded:
                    arrays |= {name: np.asarray(loaded[name]) for name in loaded.files}
            else:
                arrays[file.stem] = loaded
        except Exception as error:  # NumPy's readers meet broken files with exceptions of every kind
            reason = (str(error) or type(error).__name__).split("\n")[0]
            raise GradError(homework.broken_answers(Source(file.name, ""), 0, f"it cannot be read: {reason}")) from None
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            found = f"`{name}` holds {array.dtype}, which are no numbers"
            raise GradError(homework.broken_answers(Source(path.name, ""), 0, found))
    return arrays

"""Answers files: text in the language, or numbers under names in a `.json`, `.csv`, `.npz` file or a folder of `.npy`.

What is text becomes lines of the language, each on the line of the file that it stands in, so that one reader reads
them all and every digit that was written counts.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gradcli.homework.reader import add_arrays, finish, read_sheet
from gradcli.homework.sheet import Answer, Sheet
from gradcli.language import Program, read
from gradcli.ops.create import why_unreadable
from gradcli.problems import GradError, Source, homework
from gradcli.report import Report
from gradcli.sources import read_source

ARRAYS = (".npz", ".npy")
LARGEST_FILE = 1 << 28
"""Files of arrays that are larger than this are not opened, in bytes."""

_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan|Infinity|NaN)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")


def read_answers(report: Report, answers: Sequence[Path | Source], *, standard_input: IO[bytes] | None = None) -> Sheet:
    """The sheet of a formula file's claims and those of answers files.

    An answer under a name that cannot be read is a line that cannot be evaluated, and the others are marked.  Raises
    GradError for a file that cannot be read.
    """
    texts: list[Source] = []
    arrays: list[tuple[Source, dict[str, Any]]] = []
    for each in answers:
        if isinstance(each, Path) and (each.suffix.lower() in ARRAYS or each.is_dir()):
            arrays.append((Source(each.name, "", each.parent), _arrays(each)))
            continue
        texts.append(each if isinstance(each, Source) else read_source(each, standard_input=standard_input))
    sheet = read_sheet(report, *(part for source in texts for part in _parts(source)))
    for source, named in arrays:
        add_arrays(sheet, source, named)
    marked = {line.file for line in sheet.lines}
    for source in (*texts, *(source for source, _ in arrays)):
        if source.name not in marked:
            raise GradError(homework.broken_answers(source, 0, "there is no line to be marked in it"))
    finish(sheet)
    return sheet


def _parts(source: Source) -> Iterator[Program | Answer]:
    """What a source holds: a text in the language, or answers under names, each a text of its own."""
    suffix = Path(source.name).suffix.lower()
    if suffix not in (".json", ".csv"):
        yield read(source, claims=True)
        return
    entries = _of_json(source) if suffix == ".json" else _of_csv(source)
    words = {word for entry in entries for word in _WORD.findall(entry.formula)}
    for entry in entries:
        yield _answer(source, entry, words)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One answer: its line, its name (None for a line of the language), what it says, and what is wrong with that."""

    line: int
    name: str | None
    formula: str
    fault: str = ""


def _answer(source: Source, entry: _Entry, words: set[str]) -> Answer:
    """An entry as a text of its own, on the line of the file that it stands on."""
    text = entry.formula if entry.name is None else " ".join(f"{entry.name} = {entry.formula}".splitlines())
    program = read(Source(source.name, text, source.directory, first=entry.line), claims=True)
    if entry.name is None:
        return Answer(program, "", used=True)
    fault = _fault_of_name(entry.name) or entry.fault
    found = list(program.parts())
    faulty = any(part.problems for part in found)
    if not fault and not faulty and sum(len(part.statements) for part in found) != 1:
        fault = f"`{entry.name}` has more than one formula"
    problems = (homework.bad_answer(program.source, fault),) if fault else ()
    return Answer(program, entry.name, problems, used=entry.name in words)


def _fault_of_name(name: str) -> str:
    """Why a text can be no name of an answer; "" if it can."""
    if not name.strip():
        return "an answer has no name"
    parts = list(read(Source("", name)).parts())
    found = [statement for part in parts for statement in part.statements]
    if len(found) == 1 and not any(part.problems for part in parts) and "\n" not in name:
        match found[0]:
            case ast.Expr(ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.BinOp() | ast.Tuple()):
                return ""
    return f"`{name}` is no name of a value or of a gradient"


# JSON --------------------------------------------------------------------------------------------


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object: its names and values, also where a name is given twice."""


def _of_json(source: Source) -> list[_Entry]:
    """`{"dW1": [[0.1, 0.2]], "p": 0.44, "dh": "W.T @ dz"}`, or a list of lines."""
    try:
        found = json.loads(
            source.text.removeprefix("\ufeff"),
            parse_float=_Digits,
            parse_int=_Digits,
            parse_constant=_Digits,
            object_pairs_hook=_Pairs,
        )
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        reason = getattr(error, "msg", str(error))
        said = f"it is no JSON: {reason[:1].lower()}{reason[1:]}"
        raise GradError(homework.broken_answers(source, line, said, column)) from None
    except RecursionError:
        raise GradError(homework.broken_answers(source, 1, "its brackets are nested too deep")) from None
    if isinstance(found, _Pairs):
        found = next((v for k, v in found if k == "answers" and isinstance(v, list)), found)
    entries = []
    at = -1
    if isinstance(found, _Pairs):
        for name, value in found:
            at = _place(source.text, json.dumps(name, ensure_ascii=False), at + 1)
            fault = _fault_of_value(name, value)
            entries.append(_Entry(_line_of(source.text, at), name, _formula(value, order=name == "order"), fault))
    elif isinstance(found, list) and all(type(each) is str for each in found):
        for each in found:
            at = _place(source.text, json.dumps(each, ensure_ascii=False), at + 1)
            entries.append(_Entry(_line_of(source.text, at), None, each))
    else:
        raise GradError(homework.broken_answers(source, 1, "it is no object of names and numbers"))
    return entries


def _fault_of_value(name: str, value: Any) -> str:
    """Why a value can be no answer; "" if it can."""
    if value is None or (type(value) is str and value.strip() in ("", "None")):
        return f"`{name}` is {'null' if value is None else 'empty'}: there is nothing to mark"
    if isinstance(value, _Pairs):
        return f"`{name}` is an object with names of its own, where numbers or a formula belong"
    if isinstance(value, list):
        return next((fault for each in value if (fault := _fault_of_part(name, each))), "")
    return ""


def _fault_of_part(name: str, value: Any) -> str:
    if value is None or isinstance(value, _Pairs):
        found = "null" if value is None else "an object"
        return f"`{name}` holds {found}, where a number belongs"
    if isinstance(value, list):
        return next((fault for each in value if (fault := _fault_of_part(name, each))), "")
    return ""


def _place(text: str, piece: str, start: int) -> int:
    """Where a piece stands, from `start` on if it stands there, else anywhere; the start if nowhere."""
    at = text.find(piece, start)
    return at if at >= 0 else max(text.find(piece), start)


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _formula(value: Any, *, order: bool = False) -> str:
    if value is None:
        return "null"
    if isinstance(value, _Pairs):
        return f"{{{', '.join(f'{name}: {_formula(part)}' for name, part in value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_formula(v, order=order) for v in value)}]"
    if isinstance(value, _Digits):
        return {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(value, str(value))
    if type(value) is str:
        return repr(value) if order else value
    return str(value)


# CSV ---------------------------------------------------------------------------------------------


def _of_csv(source: Source) -> list[_Entry]:
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
            statements.append((line, row[0], []))
        elif statements and statements[-1][2] and row[0] in ("", statements[-1][1]):
            statements[-1][2].append(", ".join(cells))
        else:
            statements.append((line, row[0], [", ".join(cells)]))
    return [
        _Entry(line, name, _of_cells(texts) if texts else "", "" if texts else f"there is nothing behind `{name}`")
        for line, name, texts in statements
    ]


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    text = source.text
    # a table that was saved where a comma stands in numbers has another sign between them
    sign = "," if "," in text else next((sign for sign in ";\t" if sign in text), ",")
    reader = csv.reader(source.lines, skipinitialspace=True, delimiter=sign)
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


def _columns(rows: list[tuple[int, list[str]]]) -> list[_Entry]:
    line, names = rows[0]
    columns = [[row[at] for _, row in rows[1:] if at < len(row) and row[at]] for at in range(len(names))]
    return [
        _Entry(line, name, _of_cells([", ".join(column)]))
        for name, column in zip(names, columns, strict=True)
        if name and column
    ]


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell))


# Arrays ------------------------------------------------------------------------------------------


def _arrays(path: Path) -> dict[str, Any]:
    """The arrays of an `.npz` or `.npy` file, or of a folder of `.npy` files, by name.  Pickles are never opened.

    What cannot be read, among others that can, is the reason instead of an array.
    """
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
                raise OSError(f"it is larger than {LARGEST_FILE >> 20} MB")
            loaded = np.load(file, allow_pickle=False)
        except Exception as error:  # NumPy's readers meet broken files with exceptions of every kind
            reason = f"it cannot be read: {why_unreadable(file, error)}"
            if not path.is_dir():
                raise GradError(homework.broken_answers(Source(file.name, ""), 0, reason)) from None
            arrays[file.stem] = reason
            continue
        if isinstance(loaded, np.lib.npyio.NpzFile):
            with loaded:
                arrays |= {name: _member(loaded, name) for name in loaded.files}
        else:
            arrays[file.stem] = loaded
    return {name: _numbers(array) for name, array in arrays.items()}


def _member(archive: Mapping[str, Any], name: str) -> Any:
    """An array of an `.npz` file, or why it cannot be read."""
    import numpy as np

    try:
        return np.asarray(archive[name])
    except Exception as error:
        return f"it cannot be read: {why_unreadable(None, error)}"


def _numbers(array: Any) -> Any:
    """An array of numbers, or why there is none."""
    if isinstance(array, str) or array.dtype.kind in "fiub":
        return array
    return f"it holds {array.dtype}, which are no numbers"

"""Numbers and tensors as people like to read them: short, exact where it matters, never elided.

Nothing here needs NumPy until a tensor is summarised, so a message about one number costs no import.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any

LARGE = 24
"""A tensor with more entries than this is better read as a `summary`."""

CELL_WIDTH = 28
MATRIX_WIDTH = 20
"""The width within which `block` keeps a tensor on one line, unless told otherwise."""

ROW_WIDTH = 60
"""The width within which `block` keeps each row of a matrix on one line, unless told otherwise."""

_EXACT_INTEGERS_BELOW = 1e15  # from here on a float no longer has a digit to spare after the point
_SMALLEST_EXPONENT = -4  # 0.0001 is still easy to read; below, one would have to count zeros
_ROUND_TRIP_DIGITS = 17  # enough for every double; repr() then knows the shortest text


def number(value: Any, digits: int = 4) -> str:
    """Write one number with `digits` significant digits; whole numbers keep all of theirs."""
    value = _python_scalar(value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    value = float(value)
    if not math.isfinite(value):
        return str(value)  # "nan", "inf" and "-inf"
    if abs(value) < _EXACT_INTEGERS_BELOW and value.is_integer():
        return str(int(value))  # int() also turns -0.0 into 0
    return _rounded(value, max(digits, 1))


def tensor(value: Any, digits: int = 4) -> str:
    """Write a tensor on one line, `[[1, 2], [3, 4]]`; a scalar as `number` does."""
    return _one_line(_nested(value), digits)


def block(value: Any, digits: int = 4, width: int | None = None) -> str:
    """Write a tensor for a table cell: one line if `width` allows, else its rows under each other.

    The entries of a column are right-aligned. A row that is itself too wide goes on in the next
    line, after a comma.
    """
    row_width = ROW_WIDTH if width is None else width
    nested = _nested(value)
    depth = _depth(nested)
    if width is None:
        width = CELL_WIDTH if depth < 2 else MATRIX_WIDTH
    line = _one_line(nested, digits)
    if len(line) <= width or not isinstance(nested, list):
        return line
    rows = [[number(entry, digits) for entry in row] for row in _innermost(nested, depth)]
    columns = _column_widths(rows)
    if depth == 1:  # broken into a grid, where an entry stands under any other
        columns = [max(columns, default=0)] * len(columns)
        row_width = width
    texts = iter([_row(row, columns, depth, row_width) for row in rows])
    return _stack(nested, depth, depth, texts)


def summary(value: Any, digits: int = 4) -> str:
    """Describe a tensor by shape, range and norm, and by how many entries are not finite.

    Range and norm are those of the finite entries, lest a single nan hide all others.
    """
    import numpy as np

    array = np.asarray(value)
    shape = f"shape {shape_text(array.shape)}"
    if array.size == 0:
        return f"{shape}, no entries"
    if array.dtype == np.bool_:
        return f"{shape}, {np.count_nonzero(array)} of {array.size} True"
    finite = array[np.isfinite(array)]
    parts = [shape]
    if finite.size:
        low, high = finite.min(), finite.max()
        parts.append(f"from {number(low, digits)} to {number(high, digits)}")
        # scaled, because the squares of large entries overflow and those of tiny ones vanish
        scale = max(abs(float(low)), abs(float(high)))
        norm = scale * float(np.linalg.norm((finite / scale).ravel())) if scale else 0.0
        parts.append(f"norm {number(norm, digits)}")
    for count, name in ((np.isnan(array).sum(), "nan"), (np.isinf(array).sum(), "inf")):
        if count:
            parts.append(f"{count} {name}")
    return ", ".join(parts)


def shape_text(shape: tuple[int, ...]) -> str:
    """Write a shape as Python does: `()`, `(3,)`, `(2, 3)`."""
    # tuple's own repr would show the type of sizes that are NumPy integers
    return str(tuple(int(size) for size in shape))


def _python_scalar(value: Any) -> Any:
    """Return the Python number inside a NumPy scalar or a tensor without axes."""
    return value.item() if hasattr(value, "item") else value


def _nested(value: Any) -> Any:
    """Return an array or a sequence as nested lists of Python numbers, a scalar as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_nested(part) for part in value]
    return value


def _rounded(value: float, digits: int) -> str:
    """Round a finite number that cannot be written as a plain integer."""
    exact: float | Decimal = value
    if digits >= _ROUND_TRIP_DIGITS:  # more would only show the error of the binary representation
        # repr() may round up where formatting to as many digits rounds down, to another double
        exact = Decimal(repr(value))
        digits = len(exact.as_tuple().digits)
    mantissa, _, power = f"{exact:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if abs(value) >= _EXACT_INTEGERS_BELOW or exponent < _SMALLEST_EXPONENT:
        return f"{_without_trailing_zeros(mantissa)}e{exponent:+d}"
    return _without_trailing_zeros(f"{exact:.{max(digits - 1 - exponent, 0)}f}")


def _without_trailing_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _one_line(nested: Any, digits: int) -> str:
    if not isinstance(nested, list):
        return number(nested, digits)
    return "[" + ", ".join(_one_line(part, digits) for part in nested) + "]"


def _depth(nested: Any) -> int:
    """Count the axes, along the first entries."""
    depth = 0
    while isinstance(nested, list):
        depth += 1
        nested = nested[0] if nested else None
    return depth


def _innermost(nested: list[Any], depth: int) -> Iterator[list[Any]]:
    """Yield the rows, that is the lists of numbers, in order."""
    if depth == 1:
        yield nested
    else:
        for part in nested:
            yield from _innermost(part, depth - 1)


def _column_widths(rows: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _row(entries: Sequence[str], columns: Sequence[int], depth: int, width: int) -> str:
    """Join the entries of a row, starting a new line under the first entry where `width` is used up."""
    lines: list[str] = []
    current = ""
    for entry, column in zip(entries, columns, strict=True):
        cell = entry.rjust(column)
        grown = f"{current}, {cell}" if current else cell
        # on each line `depth` brackets or spaces come first, and a comma or the brackets come last
        if current and depth + len(grown) + 1 > width:
            lines.append(current + ",")
            grown = cell
        current = grown
    return ("\n" + " " * depth).join([*lines, current])


def _stack(nested: list[Any], depth: int, axes: int, rows: Iterator[str]) -> str:
    """Put the brackets around the finished rows, each part below the one before it."""
    if depth == 1:
        return f"[{next(rows)}]"
    separator = ",\n" + " " * (axes - depth + 1)
    return "[" + separator.join(_stack(part, depth - 1, axes, rows) for part in nested) + "]"

"""Numbers as somebody wrote them: their values, and the unit of the last digit of each.

`0.4403` says something about four digits and nothing about the fifth.  A number without a point is meant exactly;
in a list where others have a point it has as many digits as the longest of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

PRECISIONS = {"float64": 0.0, "float32": 2e-6, "float16": 5e-3}
"""How exactly a number of each precision can have been computed, relative to the largest of its tensor."""


LONG = 3
"""A number of so many digits in a calculation may be rounded; a shorter one is taken to be exact."""


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers and the units of their last digits (0: meant exactly), in one shape."""

    value: Any
    unit: Any
    text: Any = None
    """The digits of a scalar, or None."""

    @property
    def exact(self) -> bool:
        """Whether no entry is rounded."""
        return not np.any(self.unit)

    @property
    def digits(self) -> int:
        """The most decimal places of any entry."""
        units = np.asarray(self.unit)[np.asarray(self.unit) > 0]
        return max(0, int(np.ceil(-np.log10(units.min()) - 1e-9))) if units.size else 0

    @property
    def significant(self) -> int:
        """The number of significant digits of the largest entry, at most 17."""
        unit = np.max(np.asarray(self.unit))
        largest = np.max(np.abs(np.asarray(self.value, float)), initial=0.0)
        if not unit or not largest:
            return 0
        return int(min(17, max(1, np.floor(np.log10(largest)) - np.round(np.log10(unit)) + 1)))


def written(place: ast.expr, text_of: Callable[[ast.AST], str], value: Any) -> Written:
    """The numbers of an expression without names; digits count only where it is a number or a list of numbers."""
    units = _units(place, text_of)
    array = np.asarray(value, float)
    if units is None:
        return Written(value, _of_arithmetic(place, text_of, array))
    unit = np.asarray(units, float)
    if unit.shape != array.shape:
        return Written(value, np.zeros(array.shape))
    rounded = unit[unit > 0]
    if rounded.size:
        unit = np.where(unit == 0, rounded.min(), unit)
    unit = np.where(unit < 0, 0.0, unit)
    return Written(value, unit)


def _of_arithmetic(place: ast.expr, text_of: Callable[[ast.AST], str], array: Any) -> Any:
    """The units of numbers that are worked out from others, as `-0.2239 * 0.5` is: as many digits as the longest has.

    Short numbers are taken to be exact, as a factor of 0.5 is.
    """
    texts = [text_of(n) for n in ast.walk(place) if isinstance(n, ast.Constant) and type(n.value) is float]
    digits = max((len(Decimal(t).as_tuple().digits) for t in map(_plain, texts) if t), default=0)
    if digits < LONG:
        return np.zeros(array.shape)
    with np.errstate(divide="ignore"):
        places = np.where(array == 0, 0.0, np.floor(np.log10(np.abs(array))))
    return np.where(array == 0, 0.0, 10.0 ** (places - digits + 1))


def _plain(text: str) -> str:
    """A number as `Decimal` reads it; "" if it does not."""
    try:
        Decimal(text)
    except InvalidOperation:
        return ""
    return text


def of_constant(data: Any) -> Written:
    """A number, or an array, inside a formula."""
    array = np.asarray(data, float)
    unit = np.array([_unit(repr(number)) for number in array.ravel().tolist()]).reshape(array.shape)
    rounded = unit[unit > 0]
    return Written(data, np.where(unit == 0, rounded.min(), unit) if rounded.size else unit)


def of_array(array: Any) -> Written:
    """An array from a file of arrays: as exact as its precision."""
    array = np.asarray(array)
    relative = PRECISIONS.get(str(array.dtype), 0.0)
    value = array.astype(float)
    largest = float(np.max(np.abs(value), initial=0.0))
    return Written(value if value.shape else float(value), np.full(value.shape, 2 * relative * largest))


def _units(place: ast.expr, text_of: Callable[[ast.AST], str]) -> Any:
    """Nested units, None where an entry is more than a number: 0 for whole numbers, -1 for inf and nan."""
    match place:
        case ast.List() | ast.Tuple():
            parts = [_units(each, text_of) for each in place.elts]
            return None if any(p is None for p in parts) or _ragged(parts) else parts
        case ast.UnaryOp(ast.USub() | ast.UAdd(), inner):
            return _units(inner, text_of)
        case ast.Constant(bool()):
            return 0.0
        case ast.Constant(int() | float()):
            return _unit(text_of(place))
        case ast.Name("inf" | "nan"):
            return -1.0
        case ast.Call(_, [inner]) if isinstance(inner, (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp)):
            return _units(inner, text_of)  # array([...]), tensor([...])
    return None


def _ragged(parts: list[Any]) -> bool:
    return len({np.shape(part) for part in parts}) > 1


def _unit(text: str) -> float:
    """The unit of the last digit: 0.0001 for `0.4403`, 0 for `5`."""
    plain = text.replace("_", "").strip()
    try:
        exponent = Decimal(plain).as_tuple().exponent
    except InvalidOperation:
        return 0.0
    if not isinstance(exponent, int) or ("." not in plain and "e" not in plain.lower()):
        return 0.0
    return float(Decimal(1).scaleb(exponent))

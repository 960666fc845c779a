"""Expressions: from a syntax tree to a node, or to a plain number.

What is written with numbers alone stays a plain Python value until an operation on nodes needs it; so `2*pi` is one
number, `W[1]` indexes with a number, and `x + 1/3` prints as it was written.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator as py
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.evaluate import value_of
from gradcli.graph import CONSTANT, INPUT, Graph, Node, Op, ShapeError
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.language import Part, Program
from gradcli.ops.arrange import stack
from gradcli.ops.create import CREATORS, Limits
from gradcli.problems import GradError, Problem, Span, meaning
from gradcli.trace.lists import entries, rows
from gradcli.trace.vocabulary import CONSTANTS, DTYPES, LEFT_OUT, MODULES, NOT_YET, PASSED_OVER, WRAPPERS

_NUMBERS = ("number", "number")
_PLAIN_FLOATS = ("float64", "weak float", "weak int")

MOST_AXES = 64
"""NumPy's own limit."""

LONG_CONSTANT = 40
"""An array in a formula that takes more characters than this is shown by its shape."""

HUGE = 1 << 53
"""Whole numbers from here on are held as floats."""

MAX_AXES = 64
"""How many axes NumPy's arrays can have."""

LARGEST = {"float64": "1.8e308", "float32": "3.4e38", "float16": "65504", "int64": "9.2e18"}
"""The largest number of every precision, in words."""

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": py.add,
    "-": py.sub,
    "*": py.mul,
    "/": py.truediv,
    "//": py.floordiv,
    "%": py.mod,
    "**": py.pow,
    ">": py.gt,
    ">=": py.ge,
    "<": py.lt,
    "<=": py.le,
    "==": py.eq,
    "!=": py.ne,
    "&": py.and_,
    "|": py.or_,
}


READERS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {}
"""For every kind of expression the function that reads it: see `readers` and `calls`."""


class Silent(Exception):
    """The line uses a name whose own line was faulty: it was reported there, once is enough."""


class Poison:
    """The value of a name whose line was faulty."""


@dataclass(slots=True)
class Input:
    """Numbers marked by `const(...)`, or held in a precision of their own: an input in waiting."""

    value: Any
    differentiable: bool = True


class Length(int):
    """A number that was counted, by `len(x)` or `x.shape`, and not chosen: no gradient is asked of it."""


class Results(tuple[Any, ...]):
    """The results of a call that has several, such as `split(x, 2)`: to be unpacked, or taken one by one."""


class Module:
    """A library, or a part of one: `np`, `torch.nn.functional`."""

    def __init__(self, path: str) -> None:
        self.path = path


class Expressions:
    """Reads expressions, adding their operations to a graph."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program = program
        self.limits = limits
        self.graph = Graph()
        self.names: dict[str, Any] = {}
        self.modules = set(MODULES)
        self.line = 0
        self.plain_mode = False
        self.part: Part
        self.whole: dict[int, Any] = {}
        """Inputs written in whole numbers, by node number, which nothing has used as numbers yet."""
        self._literals: dict[tuple[type, Any], Node] = {}
        self.raw: dict[int, Any] = {}
        """Every input written in whole numbers, as it was written."""
        self.plainly: set[int] = set()
        """Inputs that were used as an index, an axis, a shape or a label."""

    # Faults ----------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """Where a piece of syntax stands in the source."""
        return self.part.span(node)

    def text(self, node: ast.AST) -> str:
        """A piece of syntax as it was written."""
        return self.part.text_of(node)

    def unknown(self, place: ast.AST, name: str) -> Problem:
        """The problem of a name that is not defined here."""
        definition = re.compile(rf"^\s*{re.escape(name)}\s*(\+|-|\*|/|@|\*\*)?=(?!=)")
        later = 0
        for number, line in enumerate(self.program.source.lines[self.line :], start=self.line + 1):
            if definition.match(line):
                later = number
                break
        return meaning.unknown_name(self.span(place), name, [*self.names, *CONSTANTS], later)

    def is_known(self, name: str) -> bool:
        """Whether a name has a meaning here: the file's own, a constant, a module, a function."""
        words = (self.names, CONSTANTS, self.modules, REGISTRY, CREATORS, WRAPPERS, DTYPES, PASSED_OVER)
        return any(name in known for known in words) or hasattr(builtins, name)

    def found(self, value: Any) -> str:
        """A value in words, for messages."""
        if type(value) is not Node:
            return self._found_plain(value)
        if value.op is CONSTANT and value.shape == ():
            return value.name
        kind = f"{value.dtype} of shape {value.shape}"
        return f"`{value.name}`, {kind}" if value.name else kind

    def _found_plain(self, value: Any) -> str:
        if isinstance(value, slice):
            parts = [value.start, value.stop, *([] if value.step is None else [value.step])]
            return ":".join("" if v is None else self.found(v) for v in parts)
        if isinstance(value, tuple):
            return ", ".join(map(self.found, value))
        if isinstance(value, Module):
            return f"`{value.path}`"
        if self.holds_nodes(value):
            return "a list with computed numbers in it"
        if isinstance(value, list) and len(value) < 20:
            return f"[{', '.join(map(self.found, value))}]"
        value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        text = "text" if isinstance(value, str) else "..." if value is Ellipsis else repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."

    # Values ----------------------------------------------------------------------------------

    def value(self, node: ast.AST) -> Any:
        """The value of an expression: a node, or something plain."""
        reader = READERS.get(type(node))
        if reader is None:
            raise GradError(self.refusal(node))
        return reader(self, node)

    def refusal(self, node: ast.AST) -> Problem:
        """The problem of Python that is not read."""
        if type(node) in NOT_YET:
            what, way_out = NOT_YET[type(node)]
            return meaning.not_yet_read(self.span(node), what, way_out)
        what, way_out = LEFT_OUT.get(type(node), ("this", "write a formula: name = expression"))
        return meaning.not_in_language(self.span(node), what, way_out)

    def operand(self, value: Any, place: ast.AST, kind: str = "number") -> Node:
        """A value as an operand of an operation."""
        if type(value) is Node:
            if kind == "number":
                if self.whole:
                    self.whole.pop(value.number, None)
            elif value.number in self.whole:
                self.plainly.add(value.number)
            return value
        if isinstance(value, (bool, int, float)):
            literal = type(place) is ast.Constant
            if literal and (known := self._literals.get((type(value), value))):
                return known
            value = int(value) if type(value) is Length else value
            if type(value) is int and abs(value) > HUGE:
                value = float(value)
            if literal:
                known = self._literals[type(value), value] = self.graph.constant(value, repr(value))
                return known
            text = self.text(place) if isinstance(place, ast.expr) else ""
            if isinstance(place, ast.expr) and not text.isascii():
                text = ast.unparse(place)  # as it reads in a formula: `⁻¹` alone would not
            return self.graph.constant(value, text if 0 < len(text) <= 24 else repr(value))
        if isinstance(value, (list, tuple)):
            if type(value) is Results:
                found, way_out = f"this is {len(value)} of them", "take one, as in `r[0]`, or unpack them: `a, b = …`"
                raise GradError(meaning.wrong_kind(self.span(place), "an operand is one tensor", found, way_out))
            return self.tensor(value, place)
        if isinstance(value, Input):
            return self.operand(value.value, place, kind)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.graph.constant(np.asarray(value)[()])  # without axes it is a number, not an array
        raise GradError(self.no_number(value, place))

    def no_number(self, value: Any, place: ast.AST) -> Problem:
        """The problem of a value that is no number."""
        what = "text" if isinstance(value, str) else f"a {type(value).__name__}"
        if value is None or value is Ellipsis:
            what = "None" if value is None else "`...`"
        if isinstance(value, Module):
            what = f"the library `{value.path}`"
        if isinstance(value, Input):
            what = "data, or has a precision of its own"
        return meaning.wrong_kind(
            self.span(place),
            "a formula is about numbers",
            f"this is {what}",
            "write a number, a list of numbers or a name",
        )

    def tensor(self, value: Any, place: ast.AST) -> Node:
        """A nested list as one operand: a constant, or a stack of its nodes."""
        if not self.holds_nodes(value):
            return self.operand(self.array(value, place), place)
        elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) else [place] * len(value)
        parts = [self.operand(v, p) for v, p in zip(value, elements, strict=True)]
        for part, element in zip(parts, elements, strict=True):
            if part.shape != parts[0].shape:
                raise GradError(meaning.ragged_list(self.span(element), rows(parts[0].shape), rows(part.shape)))
        self._allow_axes(len(parts[0].shape) + 1, place)
        return self.apply(stack, parts, None, place, list(elements))

    def holds_nodes(self, value: Any) -> bool:
        """Whether a nested list has a node in it."""
        if isinstance(value, (list, tuple)):
            return any(self.holds_nodes(v) for v in value)
        return type(value) is Node

    def array(self, value: Any, place: ast.AST) -> Any:
        """A nested list of numbers as an array of float64 (or of truth values)."""
        if not isinstance(value, (list, tuple, bool, int, float, np.ndarray)):
            raise GradError(self.no_number(value, place))
        self._allow_axes(len(self._list_shape(value, place)), place)
        kinds = set(map(type, entries(value)))
        try:
            array = np.array(value, dtype=bool if kinds == {bool} else float)
        except OverflowError:
            raise GradError(meaning.number_too_large(self.span(place), "a number in this list")) from None
        self.allow(array.shape, place)
        return array

    def _list_shape(self, value: Any, place: ast.AST, depth: int = 0) -> tuple[int, ...]:
        if isinstance(value, np.ndarray):
            return tuple(map(int, value.shape))
        if not isinstance(value, (list, tuple)):
            return ()
        elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) and len(place.elts) == len(value) else None
        shapes = []
        for i, v in enumerate(value):
            here = elements[i] if elements else place
            if not (isinstance(v, (list, tuple, bool, int, float, np.ndarray))):
                raise GradError(self.no_number(v, here))
            shapes.append(self._list_shape(v, here, depth + 1))
            if shapes[-1] != shapes[0]:
                raise GradError(meaning.ragged_list(self.span(here), rows(shapes[0]), rows(shapes[-1])))
        return (len(value), *(shapes[0] if shapes else ()))

    def _allow_axes(self, axes: int, place: ast.AST) -> None:
        if axes > MAX_AXES:
            found = f"these brackets are {axes} deep"
            way_out = "take out the brackets that hold one entry only"
            raise GradError(
                meaning.wrong_kind(self.span(place), f"a tensor has at most {MAX_AXES} axes", found, way_out)
            )

    def cast(self, array: Any, dtype: str, place: ast.AST) -> Any:
        """Numbers of the file in another precision, which must be able to hold them."""
        with np.errstate(all="ignore"):
            result = array.astype(dtype)
            lost = np.isinf(result) & np.isfinite(array) if dtype in FLOATS else ~(np.abs(array) < 2.0**63)
        if np.any(lost) and dtype != "bool":
            what = "a number in this tensor" if array.shape else "this number"
            raise GradError(meaning.number_too_large(self.span(place), f"{what}, as {dtype},", LARGEST[dtype]))
        return result

    def allow(self, shape: tuple[int, ...], place: ast.AST) -> None:
        """Refuses a tensor past the limit."""
        elements = math.prod(shape)
        if elements > self.limits.max_elements:
            raise GradError(meaning.too_large(self.span(place), elements, self.limits.max_elements))

    def plain_value(self, node: ast.AST) -> Any:
        """An expression where only plain numbers have a meaning: in `x[n - 1]` an input n is just a number."""
        before, self.plain_mode = self.plain_mode, True
        try:
            return self.plain(self.value(node))
        finally:
            self.plain_mode = before

    def plain(self, value: Any) -> Any:
        """A value as settings and indices need it: an input as its number, a mask as its array."""
        if isinstance(value, Input):
            return self.plain(value.value)
        if type(value) is Node:
            if value.number in self.raw:
                self.plainly.add(value.number)
                return self.raw[value.number]
            if value.op is INPUT and value.shape == ():
                return value.data
            if value.dtype in ("bool", "int64"):
                return value_of(value)
            return value
        if isinstance(value, tuple):
            return tuple(map(self.plain, value))
        if isinstance(value, list):
            return [self.plain(v) for v in value]
        if isinstance(value, slice):
            return slice(*map(self.plain, (value.start, value.stop, value.step)))
        return value

    # Operations ------------------------------------------------------------------------------

    def apply(
        self,
        op: Op,
        operands: Sequence[Node],
        settings: dict[str, Any] | None,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST] | None = None,
    ) -> Node:
        """Adds the node of an operation; a shape that does not fit is reported at the operands, or a setting."""
        try:
            node = self.graph.add(op, tuple(operands), settings, self.line)
        except ShapeError as error:
            raise GradError(self.mismatch(error, place, places, setting_places or {})) from None
        if len(node.shape) > MOST_AXES:
            raise GradError(meaning.too_many_axes(self.span(place), len(node.shape), MOST_AXES))
        if node.shape and math.prod(node.shape) > self.limits.max_elements:
            self.allow(node.shape, place)
        return node

    def mismatch(
        self,
        error: ShapeError,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST],
    ) -> Problem:
        """The problem of operands that do not fit, reported at the operands, or at a setting."""
        needs, way_out = error.needs, error.way_out
        for slot, at in enumerate(places):
            text = self.text(at)
            text = text if len(text) < 20 else f"operand {slot + 1}"
            needs = needs.replace(f"{{{slot}}}", text)
            way_out = way_out.replace(f"{{{slot}}}", text)
        found = []
        for key, words in error.found.items():
            at = setting_places.get(key, place) if isinstance(key, str) else places[min(key, len(places) - 1)]
            found.append((self.span(at), words))
        text = self.text(place) if len(self.text(place)) < 60 else "this operation"
        return meaning.shape_mismatch(
            self.span(place), text if needs.startswith("needs") else f"{text}:", needs, found, way_out
        )

    def binary(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """`left sign right`: of plain numbers a plain number, else a node."""
        a, b = type(left), type(right)
        if a is not Node and b is not Node:
            left = left.value if type(left) is Input else left
            right = right.value if type(right) is Input else right
            if isinstance(left, (int, float)) and isinstance(right, (int, float)):
                return self._plain_binary(sign, left, right, place)
            return self._plain_arrays(sign, left, right, place, sides)
        op = INFIX.get(sign)
        if a is float or a is int:  # a number beside a node, the second common case
            left = self.operand(left, sides[0])
        elif b is float or b is int:
            right = self.operand(right, sides[1])
        if op is not None and op.scalar is not None and _are_plain_scalars(left, right):  # the common case by far
            if self.whole:
                self.whole.pop(left.number, None)
                self.whole.pop(right.number, None)
            return self.graph.add(op, (left, right), None, self.line)
        if op is None:
            raise GradError(
                meaning.not_in_language(self.span(place), f"`{sign}` between tensors", "use + - * / ** @ or a function")
            )
        kinds = op.operand_kinds or _NUMBERS
        operands = (self.operand(left, sides[0], kinds[0]), self.operand(right, sides[1], kinds[1]))
        if sign == "-" and operands[0].dtype == operands[1].dtype == "bool":
            raise GradError(self._masks_apart(place))
        if sign in "&|^":
            self._masks(operands, sides, sign)
        return self.apply(op, operands, None, place, sides)

    def _masks(self, operands: Sequence[Node], sides: Sequence[ast.AST], sign: str) -> None:
        for operand, side in zip(operands, sides, strict=True):
            if operand.dtype not in ("bool", "int64") and operand.number not in self.whole:
                raise GradError(
                    meaning.wrong_kind(
                        self.span(side),
                        f"`{sign}` is for masks",
                        f"this is {operand.dtype.removeprefix('weak ')}",
                        "compare first, as in `(a > 0) & (b > 0)`",
                    )
                )

    def _plain_binary(self, sign: str, left: Any, right: Any, place: ast.AST) -> Any:
        try:
            whole = sign == "**" and isinstance(left, int) and isinstance(right, int)
            if whole and left.bit_length() * right > 1100:
                raise OverflowError
            result = _PLAIN[sign](left, right)
        except ZeroDivisionError:
            raise GradError(meaning.division_by_zero(self.span(place))) from None
        except OverflowError:
            raise GradError(meaning.number_too_large(self.span(place), self.text(place))) from None
        except (KeyError, TypeError):
            raise GradError(
                meaning.not_in_language(self.span(place), f"`{sign}` between numbers", "use + - * / **")
            ) from None
        if isinstance(result, complex):
            raise GradError(
                meaning.wrong_kind(
                    self.span(place),
                    "formulas are about real numbers",
                    "this is complex",
                    "a negative base needs a whole exponent",
                )
            )
        too_large = isinstance(result, float) and math.isinf(result) and math.isfinite(left) and math.isfinite(right)
        if too_large or (isinstance(result, int) and result.bit_length() > 1023):
            raise GradError(meaning.number_too_large(self.span(place), self.text(place)))
        return result

    def _plain_arrays(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """Arithmetic of arrays of numbers.  With bare lists Python means something else by it, so it is refused."""
        op = INFIX.get(sign)
        values = (left, right)
        for value, side in zip(values, sides, strict=True):
            if isinstance(value, (list, tuple)) and not any(isinstance(v, np.ndarray) for v in values):
                raise GradError(meaning.bare_list(self.span(side), sign, self.text(side)))
        values = tuple(
            self.array(v, s) if isinstance(v, (list, tuple)) else v for v, s in zip(values, sides, strict=True)
        )
        for value, side in zip(values, sides, strict=True):
            if not isinstance(value, (int, float, np.ndarray)):
                raise GradError(self.no_number(value, side))
        if op is None:
            raise GradError(meaning.not_in_language(self.span(place), f"`{sign}` of lists", "use + - * / **"))
        try:
            shape = op.shape(*[getattr(v, "shape", ()) for v in values])
        except ShapeError as error:
            raise GradError(self.mismatch(error, place, sides, {})) from None
        self.allow(shape, place)
        if sign == "-" and all(np.asarray(v).dtype == bool for v in values):
            raise GradError(self._masks_apart(place))
        try:
            with np.errstate(all="ignore"):
                return np.asarray(op.forward(*values))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise GradError(meaning.cannot_evaluate(self.span(place), str(error))) from None

    def _masks_apart(self, place: ast.AST) -> Problem:
        return meaning.wrong_kind(self.span(place), "masks cannot be subtracted", "both are masks", "use `a & ~b`")


def _are_plain_scalars(left: Any, right: Any) -> bool:
    if type(left) is not Node or type(right) is not Node:
        return False
    return not left.shape and not right.shape and left.dtype in _PLAIN_FLOATS and right.dtype in _PLAIN_FLOATS

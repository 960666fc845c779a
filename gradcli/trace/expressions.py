"""Expressions: from a syntax tree to a node, or to a plain number.

What is written with numbers alone stays a plain Python value until an operation on nodes needs it; so `2*pi` is one
number, `W[1]` indexes with a number, and `x + 1/3` prints as it was written.
"""

from __future__ import annotations

import ast
import math
import operator as py
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.evaluate import value_of
from gradcli.graph import INPUT, Graph, Node, Op, ShapeError
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.language import Part, Program
from gradcli.ops.arrange import index, index_key, stack, transpose
from gradcli.ops.compare import logical_and
from gradcli.ops.create import CREATORS, Limits
from gradcli.problems import GradError, Problem, Span, meaning
from gradcli.trace.vocabulary import BINARY, CONSTANTS, LEFT_OUT, MODULES, NOT_YET, OTHER_CONSTANTS

HUGE = 1 << 53
"""Whole numbers from here on are held as floats."""

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


class Silent(Exception):
    """The line uses a name whose own line was faulty: it was reported there, once is enough."""


class Poison:
    """The value of a name whose line was faulty."""


@dataclass(slots=True)
class Input:
    """Numbers marked by `const(...)`, or held in a precision of their own: an input in waiting."""

    value: Any
    differentiable: bool = True


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
        self.part: Part
        self.whole: dict[int, Any] = {}
        """Inputs written in whole numbers, by node number, which nothing has used as numbers yet."""
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

    def found(self, value: Any) -> str:
        """A value in words, for messages."""
        if type(value) is not Node:
            return "text" if isinstance(value, str) else repr(value)
        kind = f"{value.dtype} of shape {value.shape}"
        return f"`{value.name}`, {kind}" if value.name else kind

    # Values ----------------------------------------------------------------------------------

    def value(self, node: ast.AST) -> Any:
        """The value of an expression: a node, or something plain."""
        reader = _READERS.get(type(node))
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
                self.whole.pop(value.number, None)
            elif value.number in self.whole:
                self.plainly.add(value.number)
            return value
        if isinstance(value, (bool, int, float)):
            if type(value) is int and abs(value) > HUGE:
                value = float(value)
            text = self.text(place) if isinstance(place, ast.expr) else ""
            return self.graph.constant(value, text if 0 < len(text) <= 24 else repr(value))
        if isinstance(value, (list, tuple)):
            return self.tensor(value, place)
        if isinstance(value, Input):
            return self.operand(value.value, place, kind)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.graph.constant(value)
        raise GradError(self.no_number(value, place))

    def no_number(self, value: Any, place: ast.AST) -> Problem:
        """The problem of a value that is no number."""
        if isinstance(value, Module):
            return meaning.function_as_value(self.span(place), value.path)
        what = "text" if isinstance(value, str) else "None" if value is None else f"a {type(value).__name__}"
        return meaning.wrong_kind(
            self.span(place),
            "a formula is about numbers",
            f"this is {what}",
            "write a number, a list of numbers or a name",
        )

    def tensor(self, value: Any, place: ast.AST) -> Node:
        """A nested list as one operand: a constant, or a stack of its nodes."""
        if not self.holds_nodes(value):
            return self.graph.constant(self.array(value, place), self.text(place))
        elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) else [place] * len(value)
        parts = [self.operand(v, p) for v, p in zip(value, elements, strict=True)]
        return self.apply(stack, parts, None, place, list(elements))

    def holds_nodes(self, value: Any) -> bool:
        """Whether a nested list has a node in it."""
        if isinstance(value, (list, tuple)):
            return any(self.holds_nodes(v) for v in value)
        return type(value) is Node

    def array(self, value: Any, place: ast.AST) -> Any:
        """A nested list of numbers as an array of float64 (or of truth values)."""
        self._list_shape(value, place)
        kinds = set(map(type, _entries(value)))
        try:
            array = np.array(value, dtype=bool if kinds == {bool} else float)
        except OverflowError:
            raise GradError(meaning.number_too_large(self.span(place), "a number in this list")) from None
        self.allow(array.shape, place)
        return array

    def _list_shape(self, value: Any, place: ast.AST, depth: int = 0) -> tuple[int, ...]:
        if isinstance(value, np.ndarray):
            return value.shape
        if not isinstance(value, (list, tuple)):
            return ()
        elements = (
            place.elts if isinstance(place, (ast.List, ast.Tuple)) and len(place.elts) == len(value) else None
        )
        shapes = []
        for i, v in enumerate(value):
            here = elements[i] if elements else place
            if not (isinstance(v, (list, tuple, bool, int, float, np.ndarray))):
                raise GradError(self.no_number(v, here))
            shapes.append(self._list_shape(v, here, depth + 1))
            if shapes[-1] != shapes[0]:
                raise GradError(meaning.ragged_list(self.span(here), _rows(shapes[0]), _rows(shapes[-1])))
        return (len(value), *(shapes[0] if shapes else ()))

    def allow(self, shape: tuple[int, ...], place: ast.AST) -> None:
        """Refuses a tensor past the limit."""
        elements = math.prod(shape)
        if elements > self.limits.max_elements:
            raise GradError(meaning.too_large(self.span(place), elements, self.limits.max_elements))

    def plain(self, value: Any) -> Any:
        """A value as settings and indices need it: an input as its number, a mask as its array."""
        if isinstance(value, Input):
            return self.plain(value.value)
        if type(value) is Node:
            if value.number in self.whole:
                self.plainly.add(value.number)
                return self.whole[value.number]
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
            raise GradError(self._mismatch(error, place, places, setting_places or {})) from None
        if node.shape and math.prod(node.shape) > self.limits.max_elements:
            self.allow(node.shape, place)
        return node

    def _mismatch(
        self,
        error: ShapeError,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST],
    ) -> Problem:
        needs, way_out = error.needs, error.way_out
        for slot, at in enumerate(places):
            text = self.text(at)
            text = text if len(text) < 30 else f"operand {slot + 1}"
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
        left = left.value if isinstance(left, Input) else left
        right = right.value if isinstance(right, Input) else right
        if type(left) is not Node and type(right) is not Node:
            if isinstance(left, (int, float)) and isinstance(right, (int, float)):
                return self._plain_binary(sign, left, right, place)
            return self._plain_arrays(sign, left, right, place, sides)
        op = INFIX.get(sign)
        if op is None:
            raise GradError(
                meaning.not_in_language(
                    self.span(place), f"`{sign}` between tensors", "use + - * / ** @ or a function"
                )
            )
        kinds = op.operand_kinds or ("number", "number")
        operands = (self.operand(left, sides[0], kinds[0]), self.operand(right, sides[1], kinds[1]))
        if sign in "-&|^" and operands[0].dtype == operands[1].dtype == "bool" and sign == "-":
            raise GradError(
                meaning.wrong_kind(
                    self.span(place), "masks cannot be subtracted", "both are masks", "use `a & ~b`"
                )
            )
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
                        f"this is {operand.dtype}",
                        "compare first, as in `(a > 0) & (b > 0)`",
                    )
                )

    def _plain_binary(self, sign: str, left: Any, right: Any, place: ast.AST) -> Any:
        try:
            if sign == "**" and isinstance(left, int) and isinstance(right, int) and right > 0:
                if left.bit_length() * right > 1100:
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
        too_large = (
            isinstance(result, float) and math.isinf(result) and math.isfinite(left) and math.isfinite(right)
        )
        if too_large or (isinstance(result, int) and result.bit_length() > 1023):
            raise GradError(meaning.number_too_large(self.span(place), self.text(place)))
        return result

    def _plain_arrays(
        self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]
    ) -> Any:
        """Arithmetic of literal lists is NumPy's: `2 * [1, 2]` is [2, 4]."""
        op = INFIX.get(sign)
        values = [v if isinstance(v, (int, float, np.ndarray)) else None for v in (left, right)]
        for i, (v, side) in enumerate(zip((left, right), sides, strict=True)):
            if values[i] is None:
                if not isinstance(v, (list, tuple)):
                    raise GradError(self.no_number(v, side))
                if self.holds_nodes(v):
                    nodes = (self.operand(left, sides[0]), self.operand(right, sides[1]))
                    return self.binary(sign, *nodes, place, sides)
                values[i] = self.array(v, side)
        if op is None:
            raise GradError(meaning.not_in_language(self.span(place), f"`{sign}` of lists", "use + - * / **"))
        try:
            shape = op.shape(*[getattr(v, "shape", ()) for v in values])
        except ShapeError as error:
            raise GradError(self._mismatch(error, place, sides, {})) from None
        self.allow(shape, place)
        with np.errstate(all="ignore"):
            return np.asarray(op.forward(*values))


def _entries(value: Any) -> Iterator[Any]:
    """The numbers of a nested list, in order."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (list, tuple)):
            stack.extend(reversed(part))
        elif isinstance(part, np.ndarray):
            yield from part.ravel().tolist()
        else:
            yield part


def _rows(shape: tuple[int, ...]) -> str:
    return f"a row of {shape[0]}" if len(shape) == 1 else f"shape {shape}" if shape else "a number"


# One reader per kind of expression ---------------------------------------------------------------


def _constant(self: Expressions, node: ast.Constant) -> Any:
    value = node.value
    if type(value) is float or type(value) is int:
        if (value if type(value) is float else float("inf") if value.bit_length() > 1023 else 0) == math.inf:
            raise GradError(meaning.number_too_large(self.span(node), "this number"))
        return value
    if value is None or value is Ellipsis or isinstance(value, (bool, str)):
        return value
    what = "a complex number" if isinstance(value, complex) else "bytes"
    raise GradError(
        meaning.wrong_kind(
            self.span(node), "formulas are about real numbers", f"this is {what}", "write a real number"
        )
    )


def _name(self: Expressions, node: ast.Name) -> Any:
    name = node.id
    value = self.names.get(name, self)
    if value is not self:
        if value is Poison:
            raise Silent
        return value
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in self.modules:
        return Module(name)
    if name in REGISTRY or name in CREATORS:
        raise GradError(meaning.function_as_value(self.span(node), name))
    raise GradError(self.unknown(node, name))


def _binary(self: Expressions, node: ast.BinOp) -> Any:
    spine = [node]  # a long sum leans to the left: walk down it instead of recursing
    while type(spine[-1].left) is ast.BinOp:
        spine.append(spine[-1].left)
    value = self.value(spine[-1].left)
    for each in reversed(spine):
        right = self.value(each.right)
        value = self.binary(BINARY[type(each.op)], value, right, each, (each.left, each.right))
    return value


def _unary(self: Expressions, node: ast.UnaryOp) -> Any:
    value = self.value(node.operand)
    sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}[type(node.op)]
    if sign == "not":
        if isinstance(value, bool):
            return not value
        raise GradError(meaning.not_in_language(self.span(node), "`not` of a tensor", "use `~mask`"))
    if isinstance(value, (int, float)) and sign != "~":
        return -value if sign == "-" else value
    if isinstance(value, (list, tuple)) and not self.holds_nodes(value):
        value = self.array(value, node.operand)
    if isinstance(value, np.ndarray) and sign != "~":
        return -value if sign == "-" else value
    op = INFIX.get("u" + sign)
    operand = self.operand(value, node.operand, "mask" if sign == "~" else "number")
    if op is None:  # a plus sign changes nothing
        return operand
    if sign == "~":
        self._masks([operand], [node.operand], sign)
    elif operand.dtype == "bool":
        raise GradError(
            meaning.wrong_kind(
                self.span(node), "a mask has no negative", "this is a mask", "use `~mask` or `1 - mask`"
            )
        )
    return self.apply(op, (operand,), None, node, (node.operand,))


def _compare(self: Expressions, node: ast.Compare) -> Any:
    left, place, result = self.value(node.left), node.left, None
    for sign_node, right_node in zip(node.ops, node.comparators, strict=True):
        sign = BINARY.get(type(sign_node))
        if sign is None:
            raise GradError(
                meaning.not_in_language(self.span(node), "`in` and `is`", "compare with < <= > >= == !=")
            )
        right = self.value(right_node)
        part = self.binary(sign, left, right, node, (place, right_node))
        if result is None:
            result = part
        elif isinstance(result, bool) and isinstance(part, bool):
            result = result and part
        else:
            both = (self.operand(result, node), self.operand(part, node))
            result = self.apply(logical_and, both, None, node, (node, node))
        left, place = right, right_node
    return result


def _boolean(self: Expressions, node: ast.BoolOp) -> Any:
    values = [self.value(v) for v in node.values]
    if all(isinstance(v, (bool, int, float)) for v in values):
        return all(values) if isinstance(node.op, ast.And) else any(values)
    sign = "&" if isinstance(node.op, ast.And) else "|"
    word = "and" if sign == "&" else "or"
    raise GradError(
        meaning.not_in_language(
            self.span(node), f"`{word}` between tensors", f"use `{sign}`, as in `(a > 0) {sign} (b > 0)`"
        )
    )


def _list(self: Expressions, node: ast.List) -> Any:
    return [self.value(v) for v in node.elts]


def _tuple(self: Expressions, node: ast.Tuple) -> Any:
    return tuple([self.value(v) for v in node.elts])


def _slice(self: Expressions, node: ast.Slice) -> Any:
    return slice(
        *[None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
    )


def _subscript(self: Expressions, node: ast.Subscript) -> Any:
    base = self.value(node.value)
    key = self.value(node.slice)
    if isinstance(base, Module) or isinstance(base, str) or base is None:
        raise GradError(self.no_number(base, node.value))
    if isinstance(base, (int, float)):
        base = self.operand(base, node.value)
    try:
        parts = index_key(self.plain(key))
    except ValueError as error:
        raise GradError(
            meaning.wrong_argument(self.span(node.slice), "an index", str(error), self.found(key))
        ) from None
    if (
        isinstance(base, tuple)
        and len(parts) == 1
        and type(parts[0]) is int
        and -len(base) <= parts[0] < len(base)
    ):
        return base[parts[0]]
    named = any(isinstance(n, ast.Name) for n in ast.walk(node.slice))
    settings: dict[str, Any] = {"key": parts}
    if named:
        settings["text"] = self.text(node.slice)
    operand = self.operand(base, node.value)
    return self.apply(index, (operand,), settings, node, (node.value,), {"key": node.slice})


def _attribute(self: Expressions, node: ast.Attribute) -> Any:
    base = self.value(node.value)
    name = node.attr
    if isinstance(base, Module):
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in OTHER_CONSTANTS:
            return OTHER_CONSTANTS[name]
        return Module(f"{base.path}.{name}")
    if isinstance(base, (list, tuple, np.ndarray, int, float)) and not isinstance(base, bool):
        base = self.operand(base, node.value)
    if type(base) is not Node:
        raise GradError(self.no_number(base, node.value))
    if name in ("T", "mT"):
        axes = None
        if name == "mT" and base.ndim != 2:
            axes = (*range(base.ndim - 2), base.ndim - 1, base.ndim - 2)
        return self.apply(
            transpose,
            (self.operand(base, node.value),),
            {"axes": axes} if axes else None,
            node,
            (node.value,),
        )
    if name == "shape":
        return base.shape
    if name in ("ndim", "size"):
        return base.ndim if name == "ndim" else math.prod(base.shape)
    if name == "data":
        return self.apply(REGISTRY["detach"], (self.operand(base, node.value),), None, node, (node.value,))
    raise GradError(
        meaning.unknown_attribute(self.span(node), name, ["T", "mT", "shape", "ndim", "size", *REGISTRY])
    )


_READERS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Slice: _slice,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
}

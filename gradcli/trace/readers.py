"""One reader per kind of expression: names, arithmetic, comparisons, lists, indexing, attributes."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.ops.arrange import index, index_key, transpose
from gradcli.ops.compare import logical_and
from gradcli.ops.create import CREATORS
from gradcli.ops.linalg import matrix_power
from gradcli.ops.pass_on import stop_gradient
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import READERS, Expressions, Length, Module, Poison, Results, Silent
from gradcli.trace.vocabulary import BINARY, CONSTANTS, OTHER_CONSTANTS


def _constant(self: Expressions, node: ast.Constant) -> Any:
    value = node.value
    if type(value) is float or type(value) is int:
        too_large = math.isinf(value) if type(value) is float else int(value).bit_length() > 1023
        if too_large:
            raise GradError(meaning.number_too_large(self.span(node), "this number"))
        return value
    if value is None or value is Ellipsis or isinstance(value, (bool, str)):
        return value
    what = "a complex number" if isinstance(value, complex) else "bytes"
    raise GradError(
        meaning.wrong_kind(self.span(node), "formulas are about real numbers", f"this is {what}", "write a real number")
    )


def _name(self: Expressions, node: ast.Name) -> Any:
    name = node.id
    value = self.names.get(name, self)
    if value is not self:
        if value is Poison:
            raise Silent
        return self.plain(value) if self.plain_mode and type(value) is Node and value.number in self.raw else value
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
    while spine:
        each = spine.pop()
        right = self.value(each.right)
        if type(right) is int and type(value) is Node and value.ndim > 1 and "⁻" in self.text(each.right):
            value = self.apply(matrix_power, (value,), {"n": right}, each, (each.left,))  # A⁻¹ is an inverse
        else:
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
    if isinstance(value, np.ndarray) and sign != "~" and not (sign == "-" and value.dtype == bool):
        return -value if sign == "-" else value
    op = INFIX.get("u" + sign)
    operand = self.operand(value, node.operand, "mask" if sign == "~" else "number")
    if op is None:  # a plus sign changes nothing
        return operand
    if sign == "~":
        self._masks([operand], [node.operand], sign)
    elif operand.dtype == "bool":
        raise GradError(
            meaning.wrong_kind(self.span(node), "a mask has no negative", "this is a mask", "use `~mask` or `1 - mask`")
        )
    return self.apply(op, (operand,), None, node, (node.operand,))


def _compare(self: Expressions, node: ast.Compare) -> Any:
    left, place, result = self.value(node.left), node.left, None
    for sign_node, right_node in zip(node.ops, node.comparators, strict=True):
        sign = BINARY.get(type(sign_node))
        if sign is None:
            word = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}[type(sign_node)]
            raise GradError(meaning.not_in_language(self.span(node), f"`{word}`", "compare with < <= > >= == !="))
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
    return slice(*[None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)])


def _subscript(self: Expressions, node: ast.Subscript) -> Any:
    base = self.value(node.value)
    key = self.plain_value(node.slice)
    if isinstance(base, (Module, str)) or base is None:
        raise GradError(self.no_number(base, node.value))
    if isinstance(base, (int, float)):
        base = self.operand(base, node.value)
    try:
        parts = index_key(key) or (Ellipsis,)  # `x[()]` is all of x
    except ValueError as error:
        raise GradError(
            meaning.wrong_argument(self.span(node.slice), "an index", str(error), self.found(key))
        ) from None
    if any(isinstance(part, slice) and part.step == 0 for part in parts):
        raise GradError(meaning.wrong_argument(self.span(node.slice), "the step of a slice", "a number but 0", "0"))
    if isinstance(base, tuple) and len(parts) == 1 and type(parts[0]) is int and -len(base) <= parts[0] < len(base):
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
        if name in REGISTRY or name in CREATORS:
            raise GradError(meaning.function_as_value(self.span(node), self.text(node)))
        return Module(f"{base.path}.{name}")
    if isinstance(base, Results) and len(base) == 2 and name in ("values", "indices"):
        return base[name == "indices"]
    if isinstance(base, (list, tuple, np.ndarray, int, float)) and not isinstance(base, bool):
        base = self.operand(base, node.value)
    if type(base) is not Node:
        raise GradError(self.no_number(base, node.value))
    if name in ("T", "mT"):
        axes = None
        if name == "mT" and base.ndim < 2:
            found = [(self.span(node.value), f"shape {base.shape}")]
            way_out = "only where there are two axes can they change places"
            raise GradError(
                meaning.shape_mismatch(
                    self.span(node), self.text(node), "needs a matrix, or a stack of them", found, way_out
                )
            )
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
        return tuple(map(Length, base.shape))
    if name in ("ndim", "size"):
        return Length(base.ndim if name == "ndim" else math.prod(base.shape))
    if name == "data":
        return self.apply(stop_gradient, (self.operand(base, node.value),), None, node, (node.value,))
    raise GradError(meaning.unknown_attribute(self.span(node), name, ["T", "mT", "shape", "ndim", "size", *REGISTRY]))


READERS.update(
    {
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
)

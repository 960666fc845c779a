"""One reader per kind of expression: names, arithmetic, comparisons, lists, indexing, attributes."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from gradcli.graph import INPUT, Node
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.ops.arrange import concat, index_key, reshape, transpose
from gradcli.ops.compare import logical_and
from gradcli.ops.linalg import matrix_power
from gradcli.ops.pass_on import identity, stop_gradient
from gradcli.ops.rearrange import ravel
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import READERS, Expressions, Silent
from gradcli.trace.values import (
    At,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Length,
    Module,
    Pick,
    Poison,
    Results,
    Swept,
    Table,
    Walk,
    entry_label,
)
from gradcli.trace.vocabulary import BINARY, CONSTANTS, DTYPES, OTHER_CONSTANTS


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
    value = self.names.get(name, self.missing)
    if value is self.missing and self.scopes:
        value = self.look_up(name)
    if value is not self.missing:
        if value is Poison:
            raise Silent
        if type(value) is Pick:
            return _picked(self, node, value)
        return self.plain(value) if self.plain_mode and type(value) is Node and value.number in self.raw else value
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in self.modules:
        return Module(name)
    if self.is_function(name):
        return Known(name)
    if name == "__name__":
        return "__main__"
    raise GradError(self.unknown(node, name))


def _picked(self: Expressions, node: ast.Name, pick: Pick) -> Any:
    """The variable of a loop over a tensor; one that is a whole number waits for how it is used."""
    if self.plain_mode:
        return self.plain(pick)
    if pick.base.number in self.raw:
        return pick
    found = self.names[node.id] = self.picked(pick, node)
    if not found.name:
        self.name_node(found, self.owner, node.id)
    return found


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
    if type(value) is Instance and sign != "not":
        return self.one_sided({"-": "__neg__", "+": "__pos__", "~": "__invert__"}[sign], value, node)  # type: ignore[attr-defined]
    if sign == "not":
        if self.deciding or not _is_tensor(value):
            return not self.truth(value, node.operand)
        raise GradError(meaning.not_in_language(self.span(node), "`not` of a tensor", "use `~mask`"))
    if type(value) is Swept:
        return value
    if isinstance(value, (int, float)) and sign != "~":
        return -value if sign == "-" else value
    if isinstance(value, (list, tuple)) and not self.holds_nodes(value):
        value = self.array(value, node.operand)
    if isinstance(value, np.ndarray) and sign != "~" and not (sign == "-" and value.dtype == bool):
        return -value if sign == "-" else value
    op = INFIX.get("u" + sign)
    operand = self.operand(value, node.operand, "mask" if sign == "~" else "number")
    if op is None:  # a plus sign changes nothing, but NumPy's arrays are copied
        own = bool(operand.shape) and "numpy" in self.imported
        return self.apply(identity, (operand,), None, node, (node.operand,)) if own else operand
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
        right = self.value(right_node)
        if (part := _plainly_compared(self, sign_node, left, right)) is None:
            sign = BINARY.get(type(sign_node))
            if sign is None:
                word = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}[type(sign_node)]
                way_out = "compare with < <= > >= == !="
                raise GradError(meaning.not_in_language(self.span(node), f"`{word}` of tensors", way_out))
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


def _plainly_compared(self: Expressions, sign: ast.cmpop, left: Any, right: Any) -> bool | None:
    """What Python alone can answer: `x is None`, `"W1" in params`, `i in (0, 2)`, `mode == "train"`."""
    negative = isinstance(sign, (ast.IsNot, ast.NotIn, ast.NotEq))
    if isinstance(sign, (ast.Eq, ast.NotEq)) and (kinds := _precisions(left, right)):
        return (kinds[0] == kinds[1]) is not negative
    if isinstance(sign, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and (type(left) is not Node):
        from gradcli.trace.libraries import function_of

        for kind, name in ((left, right), (right, left)):
            if isinstance(kind, Class) and isinstance(name, (Class, Module)):  # `type(m) == nn.Linear`
                return (kind is name or kind.name == getattr(name, "path", "").rpartition(".")[2]) is not negative
            if type(kind) is Known and type(name) is Module:
                return (kind.name == function_of(name.path.rpartition(".")[2])) is not negative
    if isinstance(sign, (ast.Is, ast.IsNot)) or (left is None or right is None):
        return (left is right) is not negative if isinstance(sign, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) else None
    shapes = type(left) is tuple and type(right) is tuple and isinstance(sign, (ast.Eq, ast.NotEq))
    if shapes and not self.holds_nodes([*left, *right]):
        return (left == right) is not negative
    if isinstance(sign, (ast.In, ast.NotIn)) and isinstance(right, (list, tuple, dict)) and isinstance(left, Instance):
        return any(part is left for part in right) is not negative
    if isinstance(sign, (ast.In, ast.NotIn)) and isinstance(right, (dict, list, tuple, str)):
        key = self.plain(left)
        if isinstance(key, (str, int, float)) and (isinstance(key, str) or not isinstance(right, str)):
            return (key in [self.plain(v) for v in right] if isinstance(right, list) else key in right) is not negative
    return None


def _precisions(left: Any, right: Any) -> tuple[str, str] | None:
    """Two precisions by name, where both values are some: `mask.dtype == torch.bool`."""
    if type(left) not in (Module, Known) or type(right) not in (Module, Known):
        return None
    names = [
        value.path.rpartition(".")[2] if type(value) is Module else value.name if type(value) is Known else ""
        for value in (left, right)
    ]
    same = {"float": "float64", "double": "float64", "long": "int64", "int": "int64", "half": "float16"}
    first, second = (same.get(name, name) for name in names)
    return (first, second) if first in DTYPES and second in DTYPES else None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (Node, Pick, np.ndarray))


def _boolean(self: Expressions, node: ast.BoolOp) -> Any:
    stops = isinstance(node.op, ast.Or)
    value: Any = None
    for each in node.values:
        value = self.value(each)
        if _is_tensor(value) and not self.deciding:
            sign, word = ("|", "or") if stops else ("&", "and")
            way_out = f"use `{sign}`, as in `(a > 0) {sign} (b > 0)`"
            raise GradError(meaning.not_in_language(self.span(node), f"`{word}` between tensors", way_out))
        holds = self.truth(value, each)
        value = holds if self.deciding else value
        if holds is stops:
            return value
    return value


def _list(self: Expressions, node: ast.List) -> Any:
    return _elements(self, node.elts)


def _tuple(self: Expressions, node: ast.Tuple) -> Any:
    return tuple(_elements(self, node.elts))


def _elements(self: Expressions, places: list[ast.expr]) -> list[Any]:
    values: list[Any] = []
    for place in places:
        if isinstance(place, ast.Starred):
            values += self.iterate(self.value(place.value), place)
        else:
            values.append(self.value(place))
    return values


def _slice(self: Expressions, node: ast.Slice) -> Any:
    return slice(*[None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)])


def _subscript(self: Expressions, node: ast.Subscript) -> Any:
    base = self.value(node.value)
    if type(base) is Swept:
        return base
    if type(base) is Module and base.path.endswith((".c_", ".r_")):
        return _joined(self, node, base.path.endswith(".c_"))
    if type(base) is Walk:
        return self.take(base.base, {"key": base.places[base.at]}, node, (node.value,))
    if type(base) is At:
        return At(base.node, node)
    if type(base) is Known and base.base is None:
        raise GradError(self.no_number(base, node.value))
    key = self.plain_value(node.slice)
    if type(base) is Table:
        return _entry(self, node, base, key)
    if isinstance(base, str) and isinstance(key, (int, slice)):
        return base[key] if isinstance(key, slice) or -len(base) <= key < len(base) else ""
    if isinstance(base, (list, tuple)) and isinstance(key, (int, slice)) and not isinstance(key, bool):
        if isinstance(key, slice):
            return type(base)(base[key]) if type(base) in (list, tuple) else Items(base[key])
        if -len(base) <= key < len(base):
            return base[key]
        if not isinstance(base, tuple):
            return _missing(self, node, key, len(base))
    if isinstance(base, np.ndarray) and self.plain_mode and base.dtype.kind in "iu":
        try:
            taken = base[key]
        except (IndexError, TypeError):
            pass  # said better below
        else:
            return taken if taken.shape else taken.item()
    if isinstance(base, Instance):
        return self.entry_of(base, key, node)
    if isinstance(base, (Module, str, Class, Bound)) or base is None:
        raise GradError(self.no_number(base, node.value))
    if isinstance(base, (int, float)):
        base = self.operand(base, node.value)
    parts = index_parts(self, node, key)
    if isinstance(base, tuple) and len(parts) == 1 and type(parts[0]) is int and -len(base) <= parts[0] < len(base):
        return base[parts[0]]
    named = any(isinstance(part, np.ndarray) for part in parts) and any(
        isinstance(n, ast.Name) for n in ast.walk(node.slice)
    )
    settings: dict[str, Any] = {"key": parts}
    if named:
        settings["text"] = self.text(node.slice)
    operand = base if type(base) is Node else self.operand(base, node.value)
    return self.take(operand, settings, node, (node.value,), {"key": node.slice})


def index_parts(self: Expressions, node: ast.Subscript, key: Any = Ellipsis) -> tuple[Any, ...]:
    """The parts of an index."""
    key = self.plain_value(node.slice) if key is Ellipsis else key
    try:
        parts = index_key(key) or (Ellipsis,)  # `x[()]` is all of x
    except ValueError as error:
        raise GradError(
            meaning.wrong_argument(self.span(node.slice), "an index", str(error), self.found(key))
        ) from None
    if any(isinstance(part, slice) and part.step == 0 for part in parts):
        raise GradError(meaning.wrong_argument(self.span(node.slice), "the step of a slice", "a number but 0", "0"))
    return parts


def _entry(self: Expressions, node: ast.Subscript, table: Table, key: Any) -> Any:
    """An entry of a dictionary, or a member of a family."""
    if isinstance(key, (str, int, float, tuple, Instance, Function)) and _hashable(key):
        value = table.get(key, self.missing)
        if value is Poison:
            raise Silent
        if value is not self.missing:
            return self.plain(value) if self.plain_mode and type(value) is Node and value.number in self.raw else value
    name = self.text(node.value)
    known = [f"{name}{entry_label(k)}" for k in table]
    wanted = f"{name}{entry_label(key)}" if isinstance(key, (str, int, float, tuple)) else self.text(node)
    raise GradError(meaning.unknown_member(self.span(node), wanted, known))


def _hashable(key: Any) -> bool:
    return not isinstance(key, tuple) or all(isinstance(k, (str, int, float)) for k in key)


def _missing(self: Expressions, node: ast.Subscript, key: int, length: int) -> Any:
    name = self.text(node.value)
    known = [f"{name}[{k}]" for k in range(length)]
    raise GradError(meaning.unknown_member(self.span(node), f"{name}[{key}]", known))


def _attribute(self: Expressions, node: ast.Attribute) -> Any:
    base = self.value(node.value)
    name = node.attr
    if isinstance(base, (Instance, Class, Swept)):
        return self.member(base, node)
    if isinstance(base, Module):
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in OTHER_CONSTANTS:
            return OTHER_CONSTANTS[name]
        if self.is_function(name) and name != "random" and not base.path.endswith(".stats"):
            return Known(name, base)
        return Module(f"{base.path}.{name}")
    if type(base) is Walk:
        return _walking(self, base, node)
    if isinstance(base, Results) and len(base) == 2 and name in ("values", "indices"):
        return base[name == "indices"]
    if isinstance(base, (list, tuple, np.ndarray, int, float, Pick)) and not isinstance(base, bool):
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
    if name == "at":
        return At(base)
    if name == "flat":
        return self.apply(ravel, (self.operand(base, node.value),), None, node, (node.value,))
    if name == "grad":
        return self.left_gradients.get(base.number) or Swept(base.name)
    if name in ("requires_grad", "is_leaf"):
        return base.differentiable if name == "requires_grad" else base.op is INPUT
    if name == "grad_fn":
        return Swept(base.name) if base.operands else None
    if name in ("device", "dtype"):
        return Module(f"torch.{base.dtype if name == 'dtype' else name}")
    if name == "data":
        return self.apply(stop_gradient, (self.operand(base, node.value),), None, node, (node.value,))
    raise GradError(meaning.unknown_attribute(self.span(node), name, ["T", "mT", "shape", "ndim", "size", *REGISTRY]))


def _walking(self: Expressions, walk: Walk, node: ast.Attribute) -> Any:
    """`it.finished`, `it.multi_index`."""
    if node.attr == "finished":
        return walk.at >= len(walk.places)
    if node.attr in ("multi_index", "index") and walk.at < len(walk.places):
        return walk.places[walk.at] if node.attr == "multi_index" else walk.at
    raise GradError(meaning.unknown_member(self.span(node), self.text(node), ["finished", "multi_index"]))


def _joined(self: Expressions, node: ast.Subscript, columns: bool) -> Any:
    """`np.c_[a, b]` and `np.r_[a, b]`: vectors as the columns of a matrix, or one after another."""
    places = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts = []
    for place in places:
        value = self.value(place)
        if isinstance(value, (str, slice)):
            way_out = "write its entries out, or use `arange` and `concatenate`"
            raise GradError(meaning.not_in_language(self.span(place), "this in `np.c_` or `np.r_`", way_out))
        part = self.operand(value, place)
        if not part.shape or (columns and len(part.shape) == 1):
            shape = (-1, 1) if columns else (-1,)
            part = self.apply(reshape, (part,), {"shape": shape}, node, (place,))
        parts.append(part)
    return self.apply(concat, parts, {"axis": -1} if columns else None, node, places)


def _yield(self: Expressions, node: ast.Yield) -> None:
    """`yield x`: the loop over the generator takes x, and goes on in its own names."""
    if not self.takers:
        raise GradError(self.refusal(node))
    self.takers[-1](None if node.value is None else self.value(node.value))


def _yield_from(self: Expressions, node: ast.YieldFrom) -> None:
    if not self.takers:
        raise GradError(self.refusal(node))
    self.each(self.value(node.value), node, self.takers[-1])


READERS.update(
    {
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
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

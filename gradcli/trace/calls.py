"""Calls: which function is meant, and which argument goes where.

An operator's call syntax derives from its block; nothing here names one.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np

from gradcli.graph import Node, Op
from gradcli.graph.op import REGISTRY, operators
from gradcli.ops.arrange import reshape
from gradcli.ops.create import CREATORS, TooLarge
from gradcli.ops.pass_on import cast, dtype_name, stop_gradient
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import HUGE, READERS, Expressions, Input, Module, whole_list
from gradcli.trace.vocabulary import DTYPES, WRAPPERS

ALIASES = {"dim": "axis", "keepdim": "keepdims", "dims": "axes", "input": "x", "other": "b"}
"""PyTorch's words for NumPy's arguments."""

IGNORED = frozenset({"requires_grad", "device", "copy", "out", "name"})
"""Arguments of `tensor(...)` and its like that change nothing here."""


@dataclass(slots=True)
class Call:
    """A call with its arguments read: values, and the syntax each came from."""

    place: ast.Call
    name: str
    values: list[Any]
    places: list[ast.AST]
    keywords: dict[str, tuple[Any, ast.AST]] = field(default_factory=dict)


_Bound = tuple[list[Any], list[ast.AST], dict[str, Any], dict[str, ast.AST]]
"""Operands, where each was written, settings, and where those were written."""


def read_call(reader: Expressions, node: ast.Call) -> Any:
    """The value of a call."""
    function = node.func
    if isinstance(function, ast.Name):
        return _by_name(reader, node, function.id, function)
    if isinstance(function, ast.Attribute):
        base = reader.value(function.value)
        if isinstance(base, Module):
            return _by_name(reader, node, function.attr, function)
        return _method(reader, node, function, base)
    reader.value(function)
    text = reader.text(function)
    if not isinstance(function, (ast.Constant, ast.Subscript, ast.Call, ast.List, ast.Tuple)):
        text = f"({text})"
    raise GradError(meaning.not_a_function(reader.span(function), text if len(text) < 20 else "this"))


def _is_function(name: str) -> bool:
    return any(name in words for words in (CREATORS, SPECIAL, WRAPPERS, DTYPES))


def _by_name(reader: Expressions, node: ast.Call, name: str, place: ast.expr) -> Any:
    if isinstance(place, ast.Name) and name in reader.names:
        reader.value(place)  # silent if the name's own line was faulty
        known = name in REGISTRY or name in CREATORS
        raise GradError(meaning.not_a_function(reader.span(place), name, known))
    if name not in REGISTRY and not _is_function(name):
        if isinstance(place, ast.Name) and hasattr(builtins, name):
            way_out = "a formula file is read, never run: write the formula out"
            raise GradError(meaning.not_in_language(reader.span(place), f"Python's `{name}`", way_out))
        raise GradError(meaning.unknown_function(reader.span(place), name, known_functions()))
    if len(node.args) == 1 and not node.keywords and name in REGISTRY:
        op = REGISTRY[name]
        if len(op.operands) == 1 and not op.settings and not op.variadic and op.choose is None:
            operand = reader.operand(reader.value(node.args[0]), node.args[0])
            return reader.apply(op, (operand,), None, node, (node.args[0],))
    call = _arguments(reader, node, name, _first_plain(name))
    if name in SPECIAL:
        return SPECIAL[name](reader, call)
    if name in WRAPPERS or name in DTYPES:
        return _wrapped(reader, call)
    if name in CREATORS:
        return _create(reader, call)
    return _operate(reader, REGISTRY[name], call)


def _method(reader: Expressions, node: ast.Call, function: ast.Attribute, base: Any) -> Any:
    first = _first_plain(function.attr)
    call = _arguments(reader, node, function.attr, None if first is None else first - 1)
    call.values.insert(0, base)
    call.places.insert(0, function.value)
    if isinstance(base, str) or base is None or base is Ellipsis:
        raise GradError(reader.no_number(base, function.value))
    if function.attr in METHODS:
        return METHODS[function.attr](reader, call)
    op = REGISTRY.get(function.attr)
    if op is None:
        raise GradError(meaning.unknown_attribute(_attribute_span(reader, function), function.attr, known_functions()))
    return _operate(reader, op, call)


def _attribute_span(reader: Expressions, function: ast.Attribute) -> Any:
    return reader.span(function)


def known_functions() -> list[str]:
    """Every function that a formula can call, for "did you mean"."""
    return [*REGISTRY, *CREATORS, *SPECIAL, *sorted(WRAPPERS), *sorted(DTYPES)]


def _first_plain(name: str) -> int | None:
    """The position from which on a call's arguments are settings, in which names are plain numbers."""
    if name in CREATORS and name not in REGISTRY:
        return 0
    op = REGISTRY.get(name)
    return None if op is None or op.choose is not None else len(op.operands)


def _arguments(reader: Expressions, node: ast.Call, name: str, first_plain: int | None) -> Call:
    call = Call(node, name, [], [])
    for place, argument in enumerate(node.args):
        plain = first_plain is not None and place >= first_plain
        call.values.append(reader.plain_value(argument) if plain else reader.value(argument))
        call.places.append(argument)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise GradError(
                meaning.not_in_language(reader.span(keyword.value), "`**` in a call", "write the arguments out")
            )
        if keyword.arg in call.keywords:
            raise GradError(
                meaning.argument_count(reader.span(keyword), name, f"`{keyword.arg}` once", 2, f"{name}(…)")
            )
        call.keywords[keyword.arg] = (_keyword_value(reader, keyword.arg, keyword.value), keyword.value)
    return call


def _keyword_value(reader: Expressions, name: str, place: ast.expr) -> Any:
    if name == "dtype" and isinstance(place, ast.Name) and place.id in (*DTYPES, "float", "int"):
        return place.id
    return reader.value(place) if name in _OPERAND_NAMES else reader.plain_value(place)


_OPERAND_NAMES = {name.removeprefix("*") for op in operators() for name in op.operands} | {"input", "other", "gradient"}
"""Keywords that name an operand: a name behind them is a node, where behind `axis=` it is a plain number."""


# Operators --------------------------------------------------------------------------------------


def usage(op: Op) -> str:
    """How an operator is called, as its help lines say."""
    parts = [f"[{n[1:]}, …]" if n.startswith("*") else n for n in op.operands]
    for name, setting in op.settings.items():
        parts.append(name if setting.required else f"{name}={setting.default!r}")
    return f"{op.name}({', '.join(parts)})"


def _operate(reader: Expressions, op: Op, call: Call) -> Any:
    if op.choose is not None and len(given := _operand_values(op, call)) >= len(op.operands):
        op = op.choose(*given) or op
    if op.variadic:
        values, places, settings, setting_places = _variadic(reader, op, call)
    else:
        values, places, settings, setting_places = _bind(reader, op, call)
    kinds = op.operand_kinds
    operands = []
    for slot, (value, place) in enumerate(zip(values, places, strict=True)):
        kind = kinds[slot] if slot < len(kinds) else "number"
        operand = reader.operand(value, place, kind)
        if kind == "labels" and operand.dtype != "int64":
            _require_labels(reader, operand, place)
        operands.append(operand)
    return reader.apply(op, operands, settings or None, call.place, places, setting_places)


def _operand_values(op: Op, call: Call) -> list[Any]:
    """The operands of a call as far as they are given, positional ones first."""
    named = [call.keywords[n][0] for n in op.operands[len(call.values) :] if n in call.keywords]
    return [*call.values, *named]


def _require_labels(reader: Expressions, operand: Node, place: ast.AST) -> None:
    whole = operand.number in reader.whole or (operand.leaf and _all_whole(operand.data))
    if not whole:
        raise GradError(
            meaning.wrong_argument(
                reader.span(place),
                "labels",
                "whole numbers",
                reader.found(operand),
                "a label is the number of the right class; probabilities have one entry a class",
            )
        )


def _all_whole(data: Any) -> bool:
    return bool(np.all((np.trunc(data) == data) & (np.abs(data) < HUGE)))


def _bind(reader: Expressions, op: Op, call: Call) -> _Bound:
    """Operands and settings of a call, by position and by name."""
    names = [*op.operands, *op.settings]
    given: dict[str, tuple[Any, ast.AST]] = {}
    positional = list(zip(call.values, call.places, strict=True))
    gather = next((n for n in op.settings if op.settings[n].gathers), None)
    if gather is not None and len(positional) > (at := names.index(gather)) + 1:
        rest = positional[at:]
        positional = [*positional[:at], (tuple(v for v, _ in rest), rest[0][1])]
    if len(positional) > len(names):
        raise GradError(_count_problem(reader, op, call))
    given.update(zip(names, positional, strict=False))
    for word, argument in call.keywords.items():
        name = word if word in names else ALIASES.get(word, word)
        if name not in names:
            place = _written_keyword(call, word)
            raise GradError(meaning.unknown_argument(reader.span(place), call.name, word, names, usage(op)))
        if name in given:
            place = _written_keyword(call, word)
            raise GradError(meaning.argument_count(reader.span(place), call.name, f"`{name}` once", 2, usage(op)))
        given[name] = argument
    required = [*op.operands, *(n for n, s in op.settings.items() if s.required)]
    if any(name not in given for name in required):
        raise GradError(_count_problem(reader, op, call))
    operands = [given[n] for n in op.operands]
    settings = {n: _setting(reader, op, n, *given[n]) for n in op.settings if n in given}
    setting_places = {n: given[n][1] for n in settings}
    return [v for v, _ in operands], [p for _, p in operands], settings, setting_places


def _written_keyword(call: Call, word: str) -> ast.AST:
    """`word=value` as it stands in a call."""
    return next(k for k in call.place.keywords if k.arg == word)


def _count_problem(reader: Expressions, op: Op, call: Call) -> Any:
    least = len(op.operands) + sum(s.required for s in op.settings.values())
    most = len(op.operands) + len(op.settings)
    found = len(call.values) + len(call.keywords)
    return meaning.argument_count(reader.span(call.place), call.name, _expected(least, most), found, usage(op))


def _expected(least: int, most: int) -> str:
    """How many arguments a call takes, in words."""
    return f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"


def _setting(reader: Expressions, op: Op, name: str, value: Any, place: ast.AST) -> Any:
    setting = op.settings[name]
    plain = reader.plain(value)
    plain = plain.tolist() if isinstance(plain, np.ndarray) else plain
    plain = plain.path.split(".")[-1] if isinstance(plain, Module) else plain
    try:
        return setting.read(plain)
    except ValueError as error:
        raise GradError(
            meaning.wrong_argument(
                reader.span(place),
                f"`{name}` of `{op.name}`",
                str(error),
                reader.found(value),
                f"the call is `{usage(op)}`",
            )
        ) from None


def _variadic(reader: Expressions, op: Op, call: Call) -> _Bound:
    """The list of operands that `concat` and its like take, and their settings."""
    listed = call.values[0] if call.values else call.keywords.get("tensors", (None,))[0]
    if not isinstance(listed, (list, tuple)):
        expected = "a list of tensors as its first argument"
        raise GradError(
            meaning.argument_count(reader.span(call.place), call.name, expected, len(call.values), usage(op))
        )
    rest = Call(call.place, call.name, call.values[1:], call.places[1:], dict(call.keywords))
    rest.keywords.pop("tensors", None)
    place = call.places[0] if call.places else call.place
    settings_only = Op(name=op.name, operands=(), shape=tuple, forward=op.forward, vjp=None, settings=op.settings)
    _, _, settings, setting_places = _bind(reader, settings_only, rest)
    elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) else [place] * len(listed)
    return list(listed), list(elements), settings, setting_places


# Inputs -----------------------------------------------------------------------------------------


def _create(reader: Expressions, call: Call) -> Any:
    """An input made by a creator; its parameters are its call syntax."""
    make = CREATORS[call.name]
    dtype = call.keywords.pop("dtype", None)
    for word in IGNORED & set(call.keywords):
        del call.keywords[word]
    values = [_number(reader.plain(v)) for v in call.values]
    words = {k: _number(reader.plain(v)) for k, (v, _) in call.keywords.items()}
    sign = signature(make)
    try:
        sign.bind(*values, **words, limits=reader.limits)
    except TypeError:
        raise GradError(_creator_problem(reader, call, sign.parameters)) from None
    try:
        made = make(*values, **words, limits=reader.limits)
    except TooLarge as error:
        raise GradError(
            meaning.too_large(reader.span(call.place), error.elements, reader.limits.max_elements)
        ) from None
    except MemoryError:
        raise GradError(meaning.too_large(reader.span(call.place), 0, reader.limits.max_elements)) from None
    except (ValueError, OverflowError) as error:
        found = ", ".join(reader.text(p) for p in [*call.place.args, *call.place.keywords])
        raise GradError(
            meaning.wrong_argument(reader.span(call.place), f"`{call.name}`", f"given {error}", found or "nothing")
        ) from None
    return made if dtype is None else reader.cast(made, _dtype(reader, *dtype), call.place)


def _number(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim <= 1 else value


def _creator_problem(reader: Expressions, call: Call, parameters: Any) -> Any:
    names = [n for n in parameters if n != "limits"]
    shown = ", ".join(
        f"*{n}"
        if parameters[n].kind is Parameter.VAR_POSITIONAL
        else n
        if parameters[n].default is Parameter.empty
        else f"{n}={parameters[n].default!r}"
        for n in names
    )
    use = f"{call.name}({shown})"
    for word in call.keywords:
        if word not in names:
            return meaning.unknown_argument(reader.span(_written_keyword(call, word)), call.name, word, names, use)
    least = sum(parameters[n].default is Parameter.empty for n in names)
    found = len(call.values) + len(call.keywords)
    return meaning.argument_count(reader.span(call.place), call.name, _expected(least, len(names)), found, use)


def _wrapped(reader: Expressions, call: Call) -> Any:
    """`tensor([...])`, `float32([...])`: the numbers, in a precision of their own where one is named."""
    if len(call.values) != 1:
        raise GradError(
            meaning.argument_count(
                reader.span(call.place), call.name, "1 argument", len(call.values), f"{call.name}([1, 2])"
            )
        )
    value, place = call.values[0], call.places[0]
    dtype = call.keywords.get("dtype", (call.name, call.place) if call.name in DTYPES else None)
    if isinstance(value, (str, Module)) or value is None:
        raise GradError(reader.no_number(value, place))
    for word in call.keywords:
        if word != "dtype" and word not in IGNORED:
            at, known = _written_keyword(call, word), ["dtype", *sorted(IGNORED)]
            raise GradError(meaning.unknown_argument(reader.span(at), call.name, word, known, f"{call.name}([1, 2])"))
    fixed = call.keywords.get("requires_grad", (True,))[0] is False
    precision = _dtype(reader, *dtype) if dtype else ""
    if type(value) is Node or reader.holds_nodes(value):
        node = reader.operand(value, place)
        if precision and precision != node.dtype:
            return reader.apply(cast, (node,), {"dtype": precision}, call.place, (place,))
        return node
    if isinstance(value, Input):
        return value
    if not precision:
        value = _array_of(reader, value, place)
        return Input(value, differentiable=False) if fixed else value
    array = value if isinstance(value, np.ndarray) else reader.array(value, place)
    return Input(reader.cast(array, precision, place)[()], differentiable=not fixed)


def _array_of(reader: Expressions, value: Any, place: ast.AST) -> Any:
    """A list as an array, of whole numbers if all are; they become floats where they are used as numbers."""
    if not isinstance(value, (list, tuple)):
        return value
    array = reader.array(value, place)
    whole = array.dtype == float and whole_list(value) and bool(np.all(np.abs(array) < HUGE))
    return array.astype(np.int64) if whole else array


def _dtype(reader: Expressions, value: Any, place: ast.AST) -> str:
    word = value.path.split(".")[-1] if isinstance(value, Module) else value
    word = {"int": "int64", "long": "int64", "int32": "int64"}.get(str(word), word)
    try:
        return dtype_name(word)
    except ValueError as error:
        raise GradError(meaning.wrong_argument(reader.span(place), "a dtype", str(error), str(word))) from None


def _const(reader: Expressions, call: Call) -> Any:
    if len(call.values) != 1:
        raise GradError(
            meaning.argument_count(reader.span(call.place), "const", "1 argument", len(call.values), "const([1, 2])")
        )
    value = call.values[0]
    if isinstance(value, Input):
        return Input(value.value, differentiable=False)
    if type(value) is Node or reader.holds_nodes(value):
        node = reader.operand(value, call.places[0])
        return reader.apply(stop_gradient, (node,), None, call.place, call.places)
    if not isinstance(value, (bool, int, float, list, tuple, np.ndarray, np.generic)):
        raise GradError(reader.no_number(value, call.places[0]))
    return Input(value, differentiable=False)


def _length(reader: Expressions, call: Call) -> Any:
    if len(call.values) == 1:
        value = call.values[0]
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
            return len(value)
        if type(value) is Node and value.shape:
            return value.shape[0]
    raise GradError(
        meaning.wrong_argument(
            reader.span(call.place), "the argument of `len`", "one tensor", "something without a length"
        )
    )


def _plain_number(kind: Callable[[Any], Any]) -> Callable[[Expressions, Call], Any]:
    def convert(reader: Expressions, call: Call) -> Any:
        value = reader.plain(call.values[0]) if len(call.values) == 1 else None
        if isinstance(value, (int, float)):
            if kind is int and not math.isfinite(value):
                expected = "a finite number"
                raise GradError(
                    meaning.wrong_argument(reader.span(call.places[0]), "the argument of `int`", expected, str(value))
                )
            return kind(value)
        if kind is float and type(value) is Node:
            return value
        raise GradError(
            meaning.wrong_argument(
                reader.span(call.place),
                f"the argument of `{call.name}`",
                "one number",
                f"{len(call.values)} arguments" if len(call.values) != 1 else reader.found(value),
            )
        )

    return convert


def _item(reader: Expressions, call: Call) -> Any:
    """A method that changes nothing here."""
    return call.values[0]


def _leave_graph(reader: Expressions, call: Call) -> Any:
    """`x.numpy()`: the numbers of a tensor, which no gradient follows."""
    node = _node(reader, call)
    return reader.apply(stop_gradient, (reader.operand(node, call.places[0]),), None, call.place, call.places[:1])


def _single(reader: Expressions, call: Call) -> Any:
    """`x.item()`: a tensor of one entry as a number."""
    if len(call.values) > 1 or call.keywords:
        found = len(call.values) - 1 + len(call.keywords)
        raise GradError(
            meaning.argument_count(
                reader.span(call.place), "item", "no arguments", found, "x.item(), or x[i] for an entry"
            )
        )
    node = _node(reader, call)
    if math.prod(node.shape) != 1:
        way_out = "choose an entry, as in x[0], or reduce it, as in sum(x)"
        raise GradError(
            meaning.wrong_argument(
                reader.span(call.places[0]), "what `item` is asked of", "a single number", reader.found(node), way_out
            )
        )
    if node.shape:
        node = reader.apply(reshape, (node,), {"shape": ()}, call.place, call.places[:1])
    return reader.apply(stop_gradient, (node,), None, call.place, call.places[:1])


def _node(reader: Expressions, call: Call) -> Node:
    """What a method is called on."""
    value = call.values[0]
    return value if type(value) is Node else reader.operand(value, call.places[0])


def _size(reader: Expressions, call: Call) -> Any:
    shape = _node(reader, call).shape
    if len(call.values) == 1:
        return shape
    axis = reader.plain(call.values[1])
    if len(call.values) == 2 and type(axis) is int and -len(shape) <= axis < len(shape):
        return shape[axis]
    expected = f"an axis from -{len(shape)} to {len(shape) - 1}" if shape else "left out for a scalar"
    raise GradError(
        meaning.wrong_argument(reader.span(call.places[1]), "the argument of `size`", expected, reader.found(axis))
    )


SPECIAL: dict[str, Callable[[Expressions, Call], Any]] = {
    "const": _const,
    "len": _length,
    "int": _plain_number(int),
    "float": _plain_number(float),
}
"""Functions of the language itself, which are no operators."""

METHODS: dict[str, Callable[[Expressions, Call], Any]] = {
    "item": _single,
    "tolist": _leave_graph,
    "numpy": _leave_graph,
    "cpu": _item,
    "contiguous": _item,
    "requires_grad_": _item,
    "size": _size,
    "dim": lambda reader, call: _node(reader, call).ndim,
}
"""Methods of tensors that are no operators."""

READERS[ast.Call] = read_call

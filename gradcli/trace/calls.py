"""Calls: which function is meant.

What a call is bound to is in `binding` (operators) and `inputs` (everything else).
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from gradcli.graph.op import REGISTRY, operators
from gradcli.ops.create import CREATORS
from gradcli.problems import GradError, meaning
from gradcli.trace.binding import Call, operate
from gradcli.trace.expressions import READERS, Expressions, Module
from gradcli.trace.inputs import METHODS, SPECIAL, create, wrapped
from gradcli.trace.vocabulary import DTYPES, WRAPPERS


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
        return wrapped(reader, call)
    if name in CREATORS:
        return create(reader, call)
    return operate(reader, REGISTRY[name], call)


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
        raise GradError(meaning.unknown_attribute(reader.span(function), function.attr, known_functions()))
    return operate(reader, op, call)


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


READERS[ast.Call] = read_call

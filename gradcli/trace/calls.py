"""Calls: which function is meant.

What a call is bound to is in `binding` (operators) and `inputs` (everything else).
"""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from typing import Any

from gradcli.graph import Op
from gradcli.graph.op import DIALECTS, REGISTRY, operators
from gradcli.ops.create import CREATORS
from gradcli.problems import GradError, meaning
from gradcli.trace.binding import ALIASES, Call, operate
from gradcli.trace.expressions import READERS, Expressions, Module
from gradcli.trace.inputs import METHODS, SPECIAL, create, wrapped
from gradcli.trace.vocabulary import DTYPES, WRAPPERS

_TORCH = frozenset({"torch", "F", "nn.functional", "torch.nn.functional"})
_TORCH_WORDS = frozenset({"dim", "keepdim", "dims", "unbiased", "correction"})
_NUMPY_WORDS = frozenset({"axis", "keepdims", "ddof"})


def read_call(reader: Expressions, node: ast.Call) -> Any:
    """The value of a call."""
    function = node.func
    if isinstance(function, ast.Name):
        if len(node.args) == 1 and not node.keywords and function.id not in reader.names:
            op = _function_of_one(function.id)
            if op is not None:
                operand = reader.operand(reader.value(node.args[0]), node.args[0])
                return reader.apply(op, (operand,), None, node, node.args)
        return _by_name(reader, node, function.id, function)
    if isinstance(function, ast.Attribute):
        base = reader.value(function.value)
        if isinstance(base, Module):
            return _by_name(reader, node, function.attr, function, base)
        return _method(reader, node, function, base)
    reader.value(function)
    text = reader.text(function)
    if not isinstance(function, (ast.Constant, ast.Subscript, ast.Call, ast.List, ast.Tuple)):
        text = f"({text})"
    raise GradError(meaning.not_a_function(reader.span(function), text if len(text) < 20 else "this"))


def _is_function(name: str) -> bool:
    return any(name in words for words in (CREATORS, SPECIAL, WRAPPERS, DTYPES))


def _meant(node: ast.Call, name: str, base: Any) -> Op | None:
    """The operator of a call: PyTorch's own where the call is PyTorch's, as `torch.var(x)` and `x.var(dim=0)` are.

    `base` is the library or the tensor before the dot; None for a bare name, which has NumPy's meaning.
    """
    words = {keyword.arg for keyword in node.keywords}
    if isinstance(base, Module):
        own = DIALECTS.get(f"torch.{name}") if base.path in _TORCH else None
    elif base is None:
        own = None
    elif words & _TORCH_WORDS:
        own = DIALECTS.get(f"torch.{name}")
    else:
        own = None if words & _NUMPY_WORDS else DIALECTS.get(f".{name}")
    return own or REGISTRY.get(name)


def _by_name(reader: Expressions, node: ast.Call, name: str, place: ast.expr, base: Module | None = None) -> Any:
    if isinstance(place, ast.Name) and name in reader.names:
        reader.value(place)  # silent if the name's own line was faulty
        known = name in REGISTRY or name in CREATORS
        raise GradError(meaning.not_a_function(reader.span(place), name, known))
    if name not in REGISTRY and not _is_function(name):
        if isinstance(place, ast.Name) and hasattr(builtins, name):
            way_out = "a formula file is read, never run: write the formula out"
            raise GradError(meaning.not_in_language(reader.span(place), f"Python's `{name}`", way_out))
        raise GradError(meaning.unknown_function(reader.span(place), name, known_functions()))
    op = _meant(node, name, base)
    if op is not None and len(node.args) == 1 and not node.keywords and _takes_one_operand(op):
        operand = reader.operand(reader.value(node.args[0]), node.args[0])
        return reader.apply(op, (operand,), None, node, (node.args[0],))
    call = _arguments(reader, node, name, _first_plain(name, op))
    if name in SPECIAL:
        return SPECIAL[name](reader, call)
    if name in WRAPPERS or name in DTYPES:
        return wrapped(reader, call)
    if name in CREATORS:
        return create(reader, call)
    assert op is not None
    return operate(reader, op, call)


def _method(reader: Expressions, node: ast.Call, function: ast.Attribute, base: Any) -> Any:
    op = _meant(node, function.attr, base)
    first = _first_plain(function.attr, op)
    call = _arguments(reader, node, function.attr, None if first is None else first - 1)
    call.values.insert(0, base)
    call.places.insert(0, function.value)
    if isinstance(base, str) or base is None or base is Ellipsis:
        raise GradError(reader.no_number(base, function.value))
    if function.attr in METHODS:
        return METHODS[function.attr](reader, call)
    if op is None:
        raise GradError(meaning.unknown_attribute(reader.span(function), function.attr, known_functions()))
    return operate(reader, op, call)


def known_functions() -> list[str]:
    """Every function that a formula can call, for "did you mean"."""
    return [*REGISTRY, *CREATORS, *SPECIAL, *sorted(WRAPPERS), *sorted(DTYPES)]


def _takes_one_operand(op: Op) -> bool:
    """Whether a call has one argument and nothing to settle: the common case."""
    return (
        len(op.operands) == 1 and not op.settings and not op.variadic and op.choose is op.expands is op.composes is None
    )


@lru_cache(maxsize=1024)
def _function_of_one(name: str) -> Op | None:
    """What a bare name means if a call of it takes one operand and nothing else, as `tanh(x)` does."""
    op = REGISTRY.get(name)
    return op if op is not None and _takes_one_operand(op) else None


def _first_plain(name: str, op: Op | None) -> int | None:
    """The position from which on a call's arguments are settings, in which names are plain numbers."""
    if op is None:
        return 0 if name in CREATORS else None
    return None if op.choose is not None or op.order or op.leading else len(op.operands)


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


_OPERANDS = {name.removeprefix("*") for op in operators() for name in op.operands}
_OPERAND_NAMES = _OPERANDS | {word for word, names in ALIASES.items() if _OPERANDS.intersection(names)} | {"gradient"}
"""Keywords that name an operand: a name behind them is a node, where behind `axis=` it is a plain number."""


READERS[ast.Call] = read_call

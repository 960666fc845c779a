"""Binding a call to an operator: which argument is which operand or setting.

An operator's call syntax derives from its block; nothing here names one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node, Op
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import HUGE, Expressions, Module

ALIASES = {"dim": "axis", "keepdim": "keepdims", "dims": "axes", "input": "x", "other": "b"}
"""PyTorch's words for NumPy's arguments."""


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


def usage(op: Op) -> str:
    """How an operator is called, as its help lines say."""
    parts = [f"[{n[1:]}, …]" if n.startswith("*") else n for n in op.operands]
    for name, setting in op.settings.items():
        parts.append(name if setting.required else f"{name}={setting.default!r}")
    return f"{op.name}({', '.join(parts)})"


def operate(reader: Expressions, op: Op, call: Call) -> Node:
    """Adds the node of a call of an operator."""
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
            place = written_keyword(call, word)
            raise GradError(meaning.unknown_argument(reader.span(place), call.name, word, names, usage(op)))
        if name in given:
            place = written_keyword(call, word)
            raise GradError(meaning.argument_count(reader.span(place), call.name, f"`{name}` once", 2, usage(op)))
        given[name] = argument
    required = [*op.operands, *(n for n, s in op.settings.items() if s.required)]
    if any(name not in given for name in required):
        raise GradError(_count_problem(reader, op, call))
    operands = [given[n] for n in op.operands]
    settings = {n: _setting(reader, op, n, *given[n]) for n in op.settings if n in given}
    setting_places = {n: given[n][1] for n in settings}
    return [v for v, _ in operands], [p for _, p in operands], settings, setting_places


def written_keyword(call: Call, word: str) -> ast.AST:
    """`word=value` as it stands in a call."""
    return next(k for k in call.place.keywords if k.arg == word)


def _count_problem(reader: Expressions, op: Op, call: Call) -> Any:
    least = len(op.operands) + sum(s.required for s in op.settings.values())
    most = len(op.operands) + len(op.settings)
    found = len(call.values) + len(call.keywords)
    return meaning.argument_count(reader.span(call.place), call.name, expected_arguments(least, most), found, usage(op))


def expected_arguments(least: int, most: int) -> str:
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

"""Binding a call to an operator: which argument is which operand or setting.

An operator's call syntax derives from its block; nothing here names one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph import Node, Op, ShapeError, Writing
from gradcli.ops.pass_on import cast
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import HUGE, Expressions
from gradcli.trace.lists import whole_list
from gradcli.trace.values import Counted, Known, Module, Results, Swept

ALIASES: dict[str, tuple[str, ...]] = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "dims": ("axes", "axis", "reps"),
    "other": ("b",),
    "index": ("indices",),
    "diagonal": ("k",),
    "offset": ("k",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "shifts": ("shift",),
    "p": ("ord",),
    "pad": ("pad_width", "padding"),
    "constant_values": ("value",),
    "correction": ("ddof",),
    "chunks": ("sections",),
    "indices_or_sections": ("sections",),
    "split_size_or_sections": ("size",),
    "num_classes": ("classes",),
    "a_min": ("min",),
    "a_max": ("max",),
    "input": (),
}
"""Other words for an argument, PyTorch's as a rule, with what each may mean; `input` is whatever comes first."""


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
    if op.leading:
        return f"{op.name}({', '.join([*op.leading, 'a', 'b', '…'])})"
    parts = []
    for name in op.order or (*op.operands, *op.settings):
        setting = op.settings.get(name)
        operand = f"[{name[1:]}, …]" if name.startswith("*") else f"{name}=None" if name in op.optional else name
        parts.append(operand if setting is None or setting.required else f"{name}={setting.default!r}")
    return f"{op.name}({', '.join(parts)})"


def operate(reader: Expressions, op: Op, call: Call) -> Any:
    """Adds the node of a call of an operator; of a spelling with several results, their nodes."""
    if "alpha" in call.keywords and op.infix in ("+", "-") and len(call.values) == 2:  # `w.add_(g, alpha=-0.1)`
        factor, place = call.keywords.pop("alpha")
        call.values[1] = reader.binary("*", factor, call.values[1], call.place, (place, call.places[1]))
        if type(call.values[1]) is Swept:
            return call.values[1]
    if op.choose is not None and len(given := _operand_values(op, call)) >= op.least:
        op = op.choose(*given) or op
    if op.leading:
        values, places, settings, setting_places = _one_by_one(reader, op, call)
    elif op.variadic:
        values, places, settings, setting_places = _listed(reader, op, call)
    else:
        values, places, settings, setting_places = _bind(reader, op, call)
    if "numpy" in reader.imported and (plain := _plain_whole(reader, op, values, settings)) is not None:
        return plain
    if reader.computes_on and any(type(value) is Swept for value in values):
        return Swept()
    kinds = op.operand_kinds
    operands = []
    for slot, (value, place) in enumerate(zip(values, places, strict=True)):
        kind = kinds[slot] if slot < len(kinds) else "number"
        operand = reader.operand(value, place, kind)
        if kind in _WHOLE and operand.dtype != "int64":
            operand = _require_whole(reader, operand, place, kind)
        operands.append(operand)
    if op.composes is not None:
        if "seed" in op.settings and len(operands) == op.least and _draws(settings):
            reader.note(f"`{reader.text(call.place)}`: random numbers are drawn here, and differ from the program's")
        return _composed(reader, op, operands, settings, call)
    if op.expands is not None:
        return _expanded(reader, op, operands, settings, call, (places, setting_places))
    return reader.apply(op, operands, settings or None, call.place, places, setting_places)


def _plain_whole(reader: Expressions, op: Op, values: list[Any], settings: dict[str, Any]) -> Any:
    """The result of a function of whole numbers alone, such as sizes, where it is whole, too: it counts something."""
    if op.composes is not None or not values or not op.operands:
        return None
    arrays = []
    if op.variadic and any(type(value) in (int, Counted) for value in values):  # sizes, some of them a list with a name
        named = [type(v) is Node and v.number in reader.raw and v.number not in reader.integers for v in values]
        values = [reader.plain(v) if n else v for v, n in zip(values, named, strict=True)]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, list, tuple, np.ndarray)):
            return None
        if isinstance(value, (list, tuple)) and whole_list(list(value)) is None:
            return None
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            return None
        arrays.append(array)
    if op.variadic and "axis" in op.settings and any(not a.shape for a in arrays):
        arrays = [np.atleast_1d(a) for a in arrays]
    try:
        op.shape(*[a.shape for a in arrays], **settings)
        result = np.asarray(op.forward(*arrays, **settings))
    except (ShapeError, ArithmeticError, ValueError, TypeError):
        return None  # said better where it is an operation
    if result.dtype.kind not in "iu":
        return None
    return result.astype(np.int64) if result.shape else int(result)


def _draws(settings: dict[str, Any]) -> bool:
    """Whether a layer that may draw does so, and is not told by which seed."""
    return "seed" not in settings and settings.get("training", True) and settings.get("p", 0.5) > 0


def _composed(reader: Expressions, op: Op, operands: list[Node], settings: dict[str, Any], call: Call) -> Any:
    """The last node of a layer that is written out into the graph."""
    assert op.composes is not None
    try:
        with Writing(reader.graph, reader.line):
            return op.composes(*operands, **settings)
    except ShapeError as error:
        inside = ShapeError(error.needs, {}, error.way_out)  # its slots are those of an operation inside
        raise GradError(reader.mismatch(inside, call.place, call.places, {})) from None


def _expanded(
    reader: Expressions,
    op: Op,
    operands: list[Node],
    settings: dict[str, Any],
    call: Call,
    places: tuple[list[ast.AST], dict[str, ast.AST]],
) -> Any:
    """The node, or the nodes, of a spelling that other operators say."""
    assert op.expands is not None
    try:
        said = op.expands(*[o.shape for o in operands], **settings)
    except ShapeError as error:
        raise GradError(reader.mismatch(error, call.place, *places)) from None
    if isinstance(said, tuple):
        return reader.apply(said[0], operands, said[1] or None, call.place, *places)
    return Results(reader.apply(each, operands, given or None, call.place, *places) for each, given in said)


def _operand_values(op: Op, call: Call) -> list[Any]:
    """The operands of a call as far as they are given, positional ones first."""
    named = {_argument_name(word, op.operands): value for word, (value, _) in call.keywords.items()}
    return [*call.values, *(named[n] for n in op.operands[len(call.values) :] if n in named)]


def _argument_name(word: str, names: Sequence[str]) -> str:
    """The argument that a keyword means."""
    if word in names:
        return word
    if word == "input" and names:
        return names[0]
    return next((name for name in ALIASES.get(word, ()) if name in names), word)


_WHOLE = {
    "labels": "a label is the number of the right class; probabilities have one entry a class",
    "indices": "an index counts from 0; to index with whole numbers, write them without a point",
}
"""The kinds of operands that are whole numbers, with what to say of others."""


def _require_whole(reader: Expressions, operand: Node, place: ast.AST, kind: str) -> Node:
    """An operand that has to be whole numbers: written so, or computed from such alone."""
    if operand.number in reader.whole or (operand.leaf and _all_whole(operand.data)):
        return operand
    if reader.whole_number(operand) is not operand:
        return operand
    if reader.imported and reader.is_whole(operand):
        return reader.apply(cast, (operand,), {"dtype": "int64"}, place, (place,))
    raise GradError(
        meaning.wrong_argument(reader.span(place), kind, "whole numbers", reader.found(operand), _WHOLE[kind])
    )


def _all_whole(data: Any) -> bool:
    return bool(np.all(np.abs(data) < HUGE)) and bool(np.all(np.trunc(data) == data))


def _bind(reader: Expressions, op: Op, call: Call) -> _Bound:
    """Operands and settings of a call, by position and by name."""
    names = list(op.order or (*op.operands, *op.settings))
    positional = list(zip(call.values, call.places, strict=True))
    gather = next((n for n in op.settings if op.settings[n].gathers), None)
    if gather is not None and len(positional) > (at := names.index(gather)) + 1:
        rest = positional[at:]
        positional = [*positional[:at], (tuple(v for v, _ in rest), rest[0][1])]
    if len(positional) > len(names):
        raise GradError(_count_problem(reader, op, call))
    in_order = names
    if op.optional and any(isinstance(value, str) for value, _ in positional[: len(op.operands)]):
        in_order = [n for n in names if n not in op.optional]  # `cross_entropy(z, y, "sum")`: no weight is given
    given: dict[str, tuple[Any, ast.AST]] = dict(zip(in_order, positional, strict=False))
    for word, argument in call.keywords.items():
        name = _argument_name(word, names)
        if name not in names:
            place = written_keyword(call, word)
            raise GradError(meaning.unknown_argument(reader.span(place), call.name, word, names, usage(op)))
        if name in given:
            place = written_keyword(call, word)
            raise GradError(meaning.argument_count(reader.span(place), call.name, f"`{name}` once", 2, usage(op)))
        given[name] = argument
    given = {n: a for n, a in given.items() if not (n in op.optional and a[0] is None)}
    required = [*op.operands[: op.least], *(n for n, s in op.settings.items() if s.required)]
    if any(name not in given for name in required):
        raise GradError(_count_problem(reader, op, call))
    operands = _operands_given(op, call, given)
    settings = {n: _setting(reader, op, n, *given[n]) for n in op.settings if n in given}
    setting_places = {n: given[n][1] for n in settings}
    return [v for v, _ in operands], [p for _, p in operands], settings, setting_places


def _operands_given(op: Op, call: Call, given: Mapping[str, tuple[Any, ast.AST]]) -> list[tuple[Any, ast.AST]]:
    """The operands of a call up to the last one given; a number stands in for one left out before it."""
    names = list(op.operands)
    while names and names[-1] not in given:
        names.pop()
    missing = {n: ast.copy_location(ast.Constant(v), call.place) for n, v in op.optional.items() if n not in given}
    return [given[n] if n in given else (op.optional[n], missing[n]) for n in names]


def written_keyword(call: Call, word: str) -> ast.AST:
    """`word=value` as it stands in a call."""
    return next((k for k in call.place.keywords if k.arg == word), call.place)


def _count_problem(reader: Expressions, op: Op, call: Call) -> Any:
    least = op.least + sum(s.required for s in op.settings.values())
    most = len(op.operands) + len(op.settings)
    found = len(call.values) + len(call.keywords)
    expected = expected_arguments(least, most)
    return meaning.argument_count(reader.span(call.place), call.name, expected, found, usage(op))


def expected_arguments(least: int, most: int) -> str:
    """How many arguments a call takes, in words."""
    return f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"


_TYPES = {"float": "float64", "int": "int64", "bool": "bool"}
"""Python's own types, as precisions: `x.astype(float)`."""


def _setting(reader: Expressions, op: Op, name: str, value: Any, place: ast.AST) -> Any:
    setting = op.settings[name]
    if type(value) is Known and value.name in _TYPES:
        value = _TYPES[value.name]
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


def _listed(reader: Expressions, op: Op, call: Call) -> _Bound:
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
    settings, setting_places = _settings_alone(reader, op, rest)
    elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) else [place] * len(listed)
    return list(listed), list(elements), settings, setting_places


def _one_by_one(reader: Expressions, op: Op, call: Call) -> _Bound:
    """Leading settings, then any number of operands."""
    count = len(op.leading)
    if len(call.values) <= count:
        expected = f"{' and '.join(op.leading)}, then at least one operand"
        raise GradError(
            meaning.argument_count(reader.span(call.place), call.name, expected, len(call.values), usage(op))
        )
    first = Call(call.place, call.name, call.values[:count], call.places[:count], call.keywords)
    settings, setting_places = _settings_alone(reader, op, first)
    return call.values[count:], call.places[count:], settings, setting_places


def _settings_alone(reader: Expressions, op: Op, call: Call) -> tuple[dict[str, Any], dict[str, ast.AST]]:
    """The settings of a call whose operands have been taken out."""
    settings_only = Op(name=op.name, operands=(), shape=tuple, forward=op.forward, vjp=None, settings=op.settings)
    return _bind(reader, settings_only, call)[2:]

"""Calls that are no operators: creators of inputs, precisions, `const`, and the methods of tensors that only look."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np

from gradcli.evaluate import value_of
from gradcli.graph import INPUT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.ops.arrange import reshape
from gradcli.ops.create import CREATORS, TooLarge
from gradcli.ops.pass_on import cast, dtype_name, identity, stop_gradient
from gradcli.ops.reduce import broadcast_to
from gradcli.problems import GradError, meaning
from gradcli.trace.arrays import holders
from gradcli.trace.binding import Call, expected_arguments, written_keyword
from gradcli.trace.expressions import HUGE, Expressions
from gradcli.trace.lists import whole_list
from gradcli.trace.values import Bound, Chosen, Function, Input, Instance, Known, Length, Module, Pick, Scalar, Swept
from gradcli.trace.vocabulary import DTYPES

_WITH_DTYPE = ("array", "asarray", "asanyarray", "constant", "convert_to_tensor")
"""Functions that take a precision after the numbers."""

IGNORED = frozenset({"requires_grad", "device", "copy", "out", "name", "label"})
"""Arguments of `tensor(...)` and its like that change nothing here."""


def create(reader: Expressions, call: Call) -> Any:
    """An input made by a creator; its parameters are its call syntax."""
    make = CREATORS[call.name]
    if call.name == "full" and len(call.values) == 2 and type(reader.value(call.places[1])) is Node:
        shape = reader.plain(call.values[0])  # of a number that varies, it is a broadcast
        settings = {"shape": (shape,) if isinstance(shape, int) else tuple(shape)}
        return reader.apply(broadcast_to, (reader.value(call.places[1]),), settings, call.place, call.places[1:])
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
    draws = reader.limits.draws
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
    if reader.line_fixed and reader.limits.draws > draws:
        reader.drawn.append(made)
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
            return meaning.unknown_argument(reader.span(written_keyword(call, word)), call.name, word, names, use)
    least = sum(parameters[n].default is Parameter.empty for n in names)
    found = len(call.values) + len(call.keywords)
    return meaning.argument_count(reader.span(call.place), call.name, expected_arguments(least, len(names)), found, use)


def wrapped(reader: Expressions, call: Call) -> Any:
    """`tensor([...])`, `float32([...])`: the numbers, in a precision of their own where one is named."""
    if len(call.values) == 2 and "dtype" not in call.keywords and call.name in _WITH_DTYPE:
        call.keywords["dtype"] = (call.values.pop(), call.places.pop())
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
            at, known = written_keyword(call, word), ["dtype", *sorted(IGNORED)]
            raise GradError(meaning.unknown_argument(reader.span(at), call.name, word, known, f"{call.name}([1, 2])"))
    asked = call.keywords.get("requires_grad", (None,))[0]
    fixed = asked is False
    if call.name == "Parameter":
        if type(value) is Node or reader.holds_nodes(value):
            value = np.array(value_of(reader.operand(value, place)))  # its numbers alone: a leaf of its own
        kept = value if isinstance(value, Input) else Input(_array_of(reader, value, place))
        number = kept.value
        number = float(number) if isinstance(number, (int, float)) else number
        return Input(number, kept.differentiable and not fixed, parameter=True)
    if (call.name == "Value" or asked is True) and isinstance(value, (int, float)) and "dtype" not in call.keywords:
        return Chosen(value)
    precision = _dtype(reader, *dtype) if dtype else ""
    if isinstance(value, (list, tuple)) and "torch" in reader.imported and _all_written_whole(reader, value):
        value = reader.plain(value)  # labels and tokens, of which some have names
    if type(value) is Node or reader.holds_nodes(value):
        copied = call.name == "tensor" and "torch" in reader.imported and _holds_tensor(reader, value)
        node = reader.operand(value, place)
        if copied:
            node = reader.apply(stop_gradient, (node,), None, call.place, (place,))  # a leaf with the same numbers
        if precision and precision != node.dtype:
            return reader.apply(cast, (node,), {"dtype": precision}, call.place, (place,))
        if call.name in ("array", "tensor") and type(value) is Node and node.shape:  # an array of its own
            return reader.apply(identity, (node,), None, call.place, (place,))
        return node
    if isinstance(value, Input):
        return value
    if type(value) is float and not precision and not fixed and "torch" in reader.imported:
        return Scalar(value)
    if not precision:
        value = _array_of(reader, value, place)
        return Input(value, differentiable=False) if fixed else value
    array = value if isinstance(value, np.ndarray) else reader.array(value, place)
    return Input(reader.cast(array, precision, place)[()], differentiable=not fixed)


def _holds_tensor(reader: Expressions, value: Any) -> bool:
    """Whether a value is a tensor, or a nested list with one in it."""
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(reader, part) for part in value)
    return type(value) is Pick or (type(value) is Node and reader.is_tensor(value))


def _all_written_whole(reader: Expressions, value: Any) -> bool:
    """Whether a nested list has nothing in it but whole numbers, as written or by the names of inputs."""
    if isinstance(value, (list, tuple)):
        return all(_all_written_whole(reader, part) for part in value)
    if type(value) is Node:
        return not value.shape and value.number in reader.raw
    return isinstance(value, int)


def _array_of(reader: Expressions, value: Any, place: ast.AST) -> Any:
    """A list as an array, of whole numbers if all are; they become floats where they are used as numbers."""
    if not isinstance(value, (list, tuple)):
        return value
    array = reader.array(value, place)
    whole = array.dtype == float and whole_list(value) and bool(np.all(np.abs(array) < HUGE))
    return array.astype(np.int64) if whole else array


def _dtype(reader: Expressions, value: Any, place: ast.AST) -> str:
    word = value.path.split(".")[-1] if isinstance(value, Module) else value.name if type(value) is Known else value
    word = {"int": "int64", "float": "float64", "uint8": "int64", "long": "int64", "int32": "int64"}.get(
        str(word), word
    )
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
        if isinstance(value, Instance) and value.cls.find("__len__") is not None:
            return Length(reader.length_of(value, call.places[0]))
        if isinstance(value, (list, tuple, dict, str)) or (isinstance(value, np.ndarray) and value.ndim):
            return Length(len(value))
        value = reader.picked(value, call.places[0]) if type(value) is Pick else value
        if type(value) is Node and value.shape:
            return Length(value.shape[0])
    raise GradError(
        meaning.wrong_argument(
            reader.span(call.place), "the argument of `len`", "one tensor", "something without a length"
        )
    )


def _plain_number(kind: Callable[[Any], Any]) -> Callable[[Expressions, Call], Any]:
    def convert(reader: Expressions, call: Call) -> Any:
        value = reader.plain(call.values[0]) if len(call.values) == 1 else None
        if type(value) is Swept:
            return value
        if isinstance(value, str) and len(value) < 40:
            with contextlib.suppress(ValueError):  # it is told below
                value = float(value)
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


def _asked(reader: Expressions, call: Call) -> Any:
    """`x.requires_grad_()`, `p.requires_grad_(False)`: whether a gradient of it is asked for."""
    value = call.values[0]
    asked = call.keywords.get("requires_grad", (call.values[1] if len(call.values) > 1 else True,))[0]
    if type(value) is Node:
        wanted = reader.plain(asked) is not False
        if wanted and value.number in reader.without:  # from here on a leaf, whatever it was computed from
            leaf = reader.apply(stop_gradient, (value,), None, call.place, call.places[:1])
            for held, key, other in holders(reader):
                if other is value:
                    held[key] = leaf
            if value.name:
                reader.name_node(leaf, reader.owner, value.name.rpartition(".")[2])
            value = leaf
        ask_for(value, wanted)
        return value
    if isinstance(value, Input):
        return Input(value.value, value.differentiable and reader.plain(asked) is not False, value.parameter)
    if isinstance(value, np.ndarray):
        return Input(value, reader.plain(asked) is not False)
    return value


def ask_for(node: Node, asked: bool) -> None:
    """Whether a gradient of a tensor is asked for; that of what is computed flows on, or is cut, all the same."""
    if (node.op is INPUT or asked) and node.dtype in FLOATS:
        node.differentiable = asked


def _hooked(reader: Expressions, call: Call) -> Any:
    """`h.register_hook(print)`: what only looks at a gradient changes nothing."""
    place = call.places[1] if len(call.places) > 1 else call.place
    refuse_changes(reader, call.values[1] if len(call.values) > 1 else None, place)
    return Swept()


LOOKING = frozenset({"print", "append", "extend", "update", "add_scalar", "setdefault", "info", "copy_", "__setitem__"})
"""What a hook may call without giving a new gradient back."""


def refuse_changes(reader: Expressions, hook: Any, place: ast.AST) -> None:
    """Raises GradError for a hook that gives something back, which would take the place of what it was given."""
    if isinstance(hook, (Function, Bound)):
        tree = (hook.function if isinstance(hook, Bound) else hook).tree
        if isinstance(tree, ast.Lambda):
            silent = isinstance(tree.body, ast.Constant) or _only_looks(tree.body)
        else:
            silent = not any(isinstance(part, ast.Return) and part.value is not None for part in ast.walk(tree))
    else:
        silent = type(hook) is Known and hook.name in LOOKING
    if not silent:
        way_out = "write what it does into the formula, or leave it out"
        raise GradError(meaning.not_in_language(reader.span(place), "a hook that may change what passes", way_out))


def _only_looks(body: ast.expr) -> bool:
    called = body.func if isinstance(body, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in LOOKING


def _leave_graph(reader: Expressions, call: Call) -> Any:
    """`x.numpy()`: the numbers of a tensor, which no gradient follows."""
    node = reader.operand(_node(reader, call), call.places[0])
    if "numpy" in reader.imported and not {"torch", "tensorflow"} & reader.imported:
        return node
    node = reader.apply(stop_gradient, (node,), None, call.place, call.places[:1])
    reader.looked_at.add(node.number)
    return node


def _single(reader: Expressions, call: Call) -> Any:
    """`x.item()`: a tensor of one entry as a number."""
    if len(call.values) > 1 or call.keywords:
        found = len(call.values) - 1 + len(call.keywords)
        raise GradError(
            meaning.argument_count(
                reader.span(call.place), "item", "no arguments", found, "x.item(), or x[i] for an entry"
            )
        )
    if type(call.values[0]) in (float, int, bool):
        return call.values[0]
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
    if "numpy" in reader.imported and not {"torch", "tensorflow"} & reader.imported:
        return node  # NumPy has no graph to leave
    node = reader.apply(stop_gradient, (node,), None, call.place, call.places[:1])
    reader.looked_at.add(node.number)
    return node


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


def _count_of(reader: Expressions, call: Call) -> int:
    """`np.size(x)`: how many entries a tensor has."""
    return math.prod(_node(reader, call).shape)


def _range(reader: Expressions, call: Call) -> Any:
    """`range(4)` as an index: the numbers themselves."""
    bounds = [reader.whole_number(reader.plain(v)) for v in call.values]
    if not 1 <= len(bounds) <= 3 or not all(isinstance(b, int) for b in bounds) or 0 in bounds[2:]:
        raise GradError(
            meaning.wrong_argument(reader.span(call.place), "what `range` counts by", "whole numbers", "something else")
        )
    numbers = range(*bounds)
    reader.allow((len(numbers),), call.place)
    return list(numbers)


def _to(reader: Expressions, call: Call) -> Any:
    """`x.to(device)` changes nothing here, `x.to(torch.float32)` the precision."""
    given = [*zip(call.values[1:], call.places[1:], strict=True), *call.keywords.values()]
    for value, place in given:
        word = value.path.split(".")[-1] if isinstance(value, Module) else value
        word = value.name if type(value) is Known and value.name in (*DTYPES, "float", "int") else word
        if isinstance(word, str) and word in (*DTYPES, "float", "int"):
            node = reader.operand(_node(reader, call), call.places[0])
            dtype = _dtype(reader, word, place)
            if node.dtype == dtype:
                return node
            return reader.apply(cast, (node,), {"dtype": dtype}, call.place, call.places[:1])
    return call.values[0]


def _astype(reader: Any, call: Call) -> Any:
    """`x.astype(dtype, copy=False)`: of what else NumPy can be told here, nothing changes a value."""
    from gradcli.trace.binding import operate

    for word in ("copy", "order", "casting", "subok"):
        call.keywords.pop(word, None)
    return operate(reader, cast, call)


def _as_dtype(dtype: str) -> Callable[[Expressions, Call], Any]:
    def convert(reader: Expressions, call: Call) -> Any:
        """`mask.float()`, `y.long()`: another precision; whole numbers that are labels stay what they are."""
        value = call.values[0]
        if dtype == "int64" and (type(value) is Pick or (type(value) is Node and value.number in reader.raw)):
            return value
        node = reader.operand(_node(reader, call), call.places[0])
        if dtype == "float" and node.dtype in FLOATS:
            return node
        settings = {"dtype": "float64" if dtype == "float" else dtype}
        return reader.apply(cast, (node,), settings, call.place, call.places[:1])

    return convert


def _is_integer(reader: Expressions, call: Call) -> Any:
    """Python's `x.is_integer()`."""
    value = reader.plain(call.values[0])
    return float(value_of(value) if type(value) is Node else value).is_integer()


def _like(reader: Expressions, call: Call) -> Any:
    """`x.view_as(y)`, `x.expand_as(y)`: in the shape of another tensor."""
    shape = reader.operand(call.values[1], call.places[1]).shape
    op = reshape if call.name in ("view_as", "reshape_as") else broadcast_to
    node = reader.operand(_node(reader, call), call.places[0])
    return reader.apply(op, (node,), {"shape": shape}, call.place, call.places[:1])


SPECIAL: dict[str, Callable[[Expressions, Call], Any]] = {
    "const": _const,
    "len": _length,
    "size": lambda reader, call: _size(reader, call) if len(call.values) > 1 else Length(_count_of(reader, call)),
    "range": _range,
    "int": _plain_number(int),
    "float": _plain_number(float),
}
"""Functions of the language itself, which are no operators."""

METHODS: dict[str, Callable[[Expressions, Call], Any]] = {
    "item": _single,
    "tolist": _leave_graph,
    "numpy": _leave_graph,
    **dict.fromkeys(("cpu", "cuda", "contiguous", "block_until_ready", "retain_grad"), _item),
    "requires_grad_": _asked,
    "register_hook": _hooked,
    "to": _to,
    "astype": _astype,
    "size": _size,
    "float": _as_dtype("float"),
    "double": _as_dtype("float64"),
    "long": _as_dtype("int64"),
    "int": _as_dtype("int64"),
    "bool": _as_dtype("bool"),
    **dict.fromkeys(("view_as", "reshape_as", "expand_as"), _like),
    "is_integer": _is_integer,
    **dict.fromkeys(("numel", "nelement"), lambda reader, call: Length(math.prod(_node(reader, call).shape))),
    "dim": lambda reader, call: _node(reader, call).ndim,
}
"""Methods of tensors that are no operators."""

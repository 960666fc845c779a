"""Calls: which function is meant.

What a call is bound to is in `binding` (operators) and `inputs` (everything else).
"""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gradcli.graph import Node, Op
from gradcli.graph.op import DIALECTS, REGISTRY, operators
from gradcli.ops.arrange import assigned, key_repeats, put
from gradcli.ops.compare import maximum, minimum
from gradcli.ops.create import CREATORS
from gradcli.ops.reduce import broadcast_to
from gradcli.problems import GradError, meaning
from gradcli.trace.binding import ALIASES, Call, operate
from gradcli.trace.containers import BUILTINS, LIST_METHODS, OF_SEQUENCES, call_method, is_sequence
from gradcli.trace.expressions import READERS, Absorbed
from gradcli.trace.functions import Words
from gradcli.trace.inputs import METHODS, SPECIAL, create, wrapped
from gradcli.trace.libraries import OBJECT_METHODS, function_of_tensors, is_draw
from gradcli.trace.readers import index_parts
from gradcli.trace.rules import CONTEXT, CONTEXT_METHODS
from gradcli.trace.transforms import Transformed, call_transformed, define_rule
from gradcli.trace.values import (
    Apply,
    At,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Method,
    Module,
    Super,
    Swept,
    Table,
    Walk,
)
from gradcli.trace.vocabulary import DTYPES, WRAPPERS

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

_TORCH = frozenset({"torch", "F", "nn.functional", "torch.nn.functional"})
_TORCH_WORDS = frozenset({"dim", "keepdim", "dims", "unbiased", "correction"})
_NUMPY_WORDS = frozenset({"axis", "keepdims", "ddof"})


def read_call(reader: Interpreter, node: ast.Call) -> Any:
    """The value of a call; of gradients that only the sweep finds, something that only the sweep finds."""
    try:
        return _read_call(reader, node)
    except Absorbed:
        if not reader.imported:
            raise
        return Swept()


def _read_call(reader: Interpreter, node: ast.Call) -> Any:
    function = node.func
    if isinstance(function, ast.Name):
        value = reader.look_up(function.id)
        if value is not reader.missing:
            if callable_here(value):
                return _call_with_arguments(reader, node, value)
            if type(value) is Module and "." in value.path:  # `block = nn.BatchNorm2d`
                prefix, _, last = value.path.rpartition(".")
                return _by_name(
                    reader, node, last, ast.copy_location(ast.Attribute(function, last), function), Module(prefix)
                )
        elif len(node.args) == 1 and not node.keywords and type(node.args[0]) is not ast.Starred:
            op = _function_of_one(function.id)
            if op is not None:
                value = reader.value(node.args[0])
                if type(value) is Swept and reader.computes_on:
                    return Swept()
                return reader.apply(op, (reader.operand(value, node.args[0]),), None, node, node.args)
        return _by_name(reader, node, function.id, function)
    if isinstance(function, ast.Attribute):
        base = reader.value(function.value)
        if isinstance(base, Module):
            return _by_name(reader, node, function.attr, function, base)
        if isinstance(base, Swept):
            return base
        if type(base) is Walk and function.attr == "iternext":
            base.at += 1
            return base.at < len(base.places)
        if type(base) is At:
            return _changed_copy(reader, node, function.attr, base)
        if type(base) is Super:
            return _of_super(reader, node, function.attr, base)
        if isinstance(base, (Instance, Class)):
            if isinstance(base, Class) and function.attr == "apply":
                return _call_with_arguments(reader, node, Apply(base))
            special = object_method(reader, base, function.attr)
            value = special if special is not None else reader.member(base, function)
            return _call_with_arguments(reader, node, value)
        if isinstance(base, (Table, Items, str)) and not _is_tensor_method(base, function.attr):
            values, words = _read_arguments(reader, node)
            return call_method(reader, base, function.attr, node, values, {k: v for k, (v, _) in words.items()})
        if isinstance(base, Function) and function.attr in ("defvjp", "defjvp", "defjvps"):
            values, _ = _read_arguments(reader, node)
            return define_rule(reader, base, function.attr, values, node)
        if type(base) is Known and base.base is not None:
            method = reader.library(f"{base.name}_{function.attr}", base.base, function)  # `np.add.reduce(x)`
            if method is not None:
                values, words = _read_arguments(reader, node)
                return method(reader, node, values, words)
        if isinstance(base, (Known, Function, Bound)) and function.attr not in METHODS:
            raise GradError(reader.no_number(base, function.value))
        return _method(reader, node, function, base)
    value = reader.value(function)
    if callable_here(value) or type(value) is Module:
        return _call_with_arguments(reader, node, value)
    text = reader.text(function)
    if not isinstance(function, (ast.Constant, ast.Subscript, ast.Call, ast.List, ast.Tuple)):
        text = f"({text})"
    raise GradError(meaning.not_a_function(reader.span(function), text if len(text) < 20 else "this"))


def _is_tensor_method(base: Any, name: str) -> bool:
    """Whether a method of a list is one of tensors: `[a, b].sum()` is none of Python's."""
    return type(base) is Items and name not in LIST_METHODS and name in REGISTRY


def callable_here(value: Any) -> bool:
    """Whether a value can be called."""
    return isinstance(value, (Function, Bound, Class, Known, Apply, Method, Transformed)) or (
        isinstance(value, Instance) and (value.cls.find("forward") or value.cls.find("__call__")) is not None
    )


def _read_arguments(reader: Interpreter, node: ast.Call, *, plain: bool = False) -> tuple[list[Any], Words]:
    """The arguments of a call of Python's kind, where `*` and `**` spread what they stand before.

    They are plain numbers where the call is one that draws, so that `randn(4 * n)` is a size.
    """
    values: list[Any] = []
    words: Words = {}
    before, reader.plain_mode = reader.plain_mode, plain
    try:
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                values += reader.iterate(reader.value(argument.value), argument)
            else:
                values.append(reader.value(argument))
        for keyword in node.keywords:
            value = reader.value(keyword.value)
            if keyword.arg is not None:
                words[keyword.arg] = (value, keyword)
            elif isinstance(value, dict):
                words.update({str(k): (v, keyword) for k, v in value.items()})
            else:
                raise GradError(reader.no_number(value, keyword.value))
    finally:
        reader.plain_mode = before
    return values, words


def _call_with_arguments(reader: Interpreter, node: ast.Call, value: Any) -> Any:
    if type(value) is Known and value.settings is None:
        return _known(reader, node, value)
    values, words = _read_arguments(reader, node)
    return call_value(reader, value, values, words, node)


def call_value(reader: Interpreter, value: Any, values: list[Any], words: Words, place: ast.AST) -> Any:
    """The value of a call of something that can be called, with arguments that have been read."""
    if isinstance(value, Function):
        return reader.call_ruled(value, values, words, place)
    if isinstance(value, Bound):
        if isinstance(value.target, Instance) and value.function.name in ("forward", "__call__"):
            return reader.call_layer(value.target, value.function, values, words, place)
        owner = value.target.owner if isinstance(value.target, Instance) else None
        return reader.call_function(value.function, [value.target, *values], words, place, owner)
    if isinstance(value, Class):
        return reader.make(value, values, words, place)
    if isinstance(value, Apply):
        return reader.apply_class(value.cls, values, words, place)
    if isinstance(value, Method):
        return value.function(reader, value.target, values, words, place)
    if isinstance(value, Transformed):
        return call_transformed(reader, value, values, words, place)
    if isinstance(value, Instance):
        function = value.cls.find("__call__") or value.cls.find("forward")
        return reader.call_layer(value, function, values, words, place)
    if type(value) is Known:
        call = Call(_call_place(place), value.name, list(values), [place] * len(values), {})
        call.keywords = {**(value.settings or {}), **words}
        return _called(reader, call, value.name, value.base)
    if type(value) is Module:
        prefix, _, last = value.path.rpartition(".")
        library = reader.library(last, Module(prefix), place) if prefix else None
        if library is not None:
            return library(reader, _call_place(place), values, words)
    raise GradError(meaning.not_a_function(reader.span(place), reader.found(value)))


def _call_place(place: ast.AST) -> ast.Call:
    if isinstance(place, ast.Call):
        return place
    return ast.copy_location(ast.Call(ast.Name("f", ast.Load()), [], []), place)


def _known(reader: Interpreter, node: ast.Call, value: Known) -> Any:
    """A call of a function of a library under another name."""
    return _by_name(reader, node, value.name, node.func, value.base or Module("np"))


def _changed_copy(reader: Interpreter, node: ast.Call, name: str, at: At) -> Any:
    """`x.at[key].set(v)`, `x.at[key].add(v)`: a copy of x with other numbers at a place."""
    values, _ = _read_arguments(reader, node)
    if name == "get" and not values and at.key is not None:
        return reader.take(at.node, {"key": index_parts(reader, at.key)}, node, (node,))
    if name in ("min", "max") and len(values) == 1 and at.key is not None:
        where = index_parts(reader, at.key)
        there = reader.take(at.node, {"key": where}, node, (node,))
        both = (there, reader.operand(values[0], node.args[0]))
        chosen = reader.apply(minimum if name == "min" else maximum, both, None, node, (node, node.args[0]))
        return reader.apply(assigned, (at.node, chosen), {"key": where}, node, (node, node.args[0]))
    signs = {"set": "", "add": "+", "multiply": "*", "mul": "*", "divide": "/", "subtract": "-", "power": "**"}
    if name not in signs or len(values) != 1 or at.key is None:
        way_out = f"`x.at[key]` has {', '.join(f'.{word}(v)' for word in signs)}"
        raise GradError(meaning.not_in_language(reader.span(node), f"`.at[...].{name}`", way_out))
    key = index_parts(reader, at.key)
    value, place = values[0], node.args[0]
    if name == "add" and key_repeats(at.node.shape, key):  # an entry that is named twice receives both
        taken = reader.take(at.node, {"key": key}, node, (node,)).shape
        part = reader.operand(value, place)
        part = part if part.shape == taken else reader.apply(broadcast_to, (part,), {"shape": taken}, node, (place,))
        scattered = reader.apply(put, (part,), {"key": key, "shape": at.node.shape}, node, (place,))
        return reader.binary("+", at.node, scattered, node, (node, place))
    if signs[name]:
        taken_node = reader.take(at.node, {"key": key}, node, (node,))
        value = reader.binary(signs[name], taken_node, value, node, (node, place))
    return reader.apply(assigned, (at.node, reader.operand(value, place)), {"key": key}, node, (node, place))


def _of_super(reader: Interpreter, node: ast.Call, name: str, base: Super) -> Any:
    values, words = _read_arguments(reader, node)
    for above in base.bases:
        function = above.find(name) if isinstance(above, Class) else None
        if isinstance(function, Function):
            owner = base.target.owner if isinstance(base.target, Instance) else None
            return reader.call_function(function, [base.target, *values], words, node, owner)
    return None


def _is_function(name: str) -> bool:
    return any(name in words for words in (CREATORS, SPECIAL, BUILTINS, WRAPPERS, DTYPES))


def _meant(node: ast.Call, name: str, base: Any, imported: set[str]) -> Op | None:
    """The operator of a call: PyTorch's own where the call is PyTorch's, as `torch.var(x)` and `x.var(dim=0)` are.

    `imported` are the libraries of the program: where PyTorch is one, its methods are meant.
    `base` is the library or the tensor before the dot; None for a bare name, which has NumPy's meaning.
    """
    words = {keyword.arg for keyword in node.keywords}
    torch, jax = "torch" in imported, "jax" in imported
    if isinstance(base, Module):
        library = "jax" if jax and base.path in ("nn", "jax.nn") else "torch" if base.path in _TORCH else ""
        own = DIALECTS.get(f"{library}.{name}") if library else None
    elif base is None:
        own = None
    elif words & _TORCH_WORDS:
        own = DIALECTS.get(f"torch.{name}")
    else:
        own = None if words & _NUMPY_WORDS else DIALECTS.get(f".{name}")
        if own is None and torch and not words & _NUMPY_WORDS:
            own = DIALECTS.get(f"torch.{name}")
    return own or REGISTRY.get(name)


def _by_name(reader: Interpreter, node: ast.Call, name: str, place: ast.expr, base: Module | None = None) -> Any:
    if isinstance(place, ast.Name) and reader.look_up(name) is not reader.missing:
        reader.value(place)  # silent if the name's own line was faulty
        known = name in REGISTRY or name in CREATORS
        if not (base is not None and callable_here(reader.look_up(name))):
            raise GradError(meaning.not_a_function(reader.span(place), name, known))
    library = reader.library(name, base, place)
    if library is not None:
        values, words = _read_arguments(reader, node, plain=is_draw(reader, name, base))
        return library(reader, node, values, words)
    if name not in REGISTRY and not _is_function(name):
        if isinstance(place, ast.Name) and hasattr(builtins, name):
            way_out = "a formula file is read, never run: write the formula out"
            raise GradError(meaning.not_in_language(reader.span(place), f"Python's `{name}`", way_out))
        if (changed := _changed(reader, node)) is not None:
            return changed
        raise GradError(meaning.unknown_function(reader.span(place), name, known_functions()))
    op = _meant(node, name, base, reader.imported)
    if op is not None and len(node.args) == 1 and not node.keywords and _takes_one_operand(op):
        value = reader.value(node.args[0])
        if type(value) is Swept and reader.computes_on:
            return Swept()
        return reader.apply(op, (reader.operand(value, node.args[0]),), None, node, (node.args[0],))
    call = _arguments(reader, node, name, _first_plain(name, op))
    return _called(reader, call, name, base)


def _called(reader: Interpreter, call: Call, name: str, base: Module | None) -> Any:
    """A call whose arguments have been read."""
    op = _meant(call.place, name, base, reader.imported)
    if base is None and name in BUILTINS:
        _require(reader, call, name)
        return BUILTINS[name](reader, call)
    if (base is None or base.path == "np") and name in OF_SEQUENCES and is_sequence(call.values) and not call.keywords:
        return OF_SEQUENCES[name](reader, call)
    if name in SPECIAL:
        return SPECIAL[name](reader, call)
    if name in WRAPPERS or name in DTYPES:
        return wrapped(reader, call)
    if name in CREATORS:
        return create(reader, call)
    if op is None:
        raise GradError(meaning.unknown_function(reader.span(call.place.func), name, known_functions()))
    return _in_precision(reader, op, call)


def _in_precision(reader: Interpreter, op: Op, call: Call) -> Any:
    """A call of an operator, which in NumPy may say the precision of its result: `np.zeros_like(x, dtype=float)`."""
    dtype = call.keywords.pop("dtype", None) if "dtype" not in op.settings else None
    result = operate(reader, op, call)
    if dtype is None or dtype[0] is None or type(result) is not Node:
        return result
    return METHODS["to"](reader, Call(call.place, "to", [result], [call.place], {"dtype": dtype}))


def _require(reader: Interpreter, call: Call, name: str) -> None:
    """Refuses a call of a builtin without an argument, but for those that make an empty container."""
    least = {
        "isinstance": 2,
        "hasattr": 2,
        "map": 2,
        "list": 0,
        "tuple": 0,
        "dict": 0,
        "OrderedDict": 0,
        "print": 0,
        "str": 0,
        "set": 0,
        "zip": 0,
    }
    if len(call.values) < least.get(name, 1):
        expected = f"at least {least.get(name, 1)}"
        raise GradError(meaning.argument_count(reader.span(call.place), name, expected, len(call.values), f"{name}(…)"))


def _method(reader: Interpreter, node: ast.Call, function: ast.Attribute, base: Any) -> Any:
    op = _meant(node, function.attr, base, reader.imported)
    first = _first_plain(function.attr, op)
    call = _arguments(reader, node, function.attr, None if first is None else first - 1)
    call.values.insert(0, base)
    call.places.insert(0, function.value)
    if isinstance(base, str) or base is None or base is Ellipsis:
        raise GradError(reader.no_number(base, function.value))
    if function.attr in METHODS:
        return METHODS[function.attr](reader, call)
    if op is None:
        written = function_of_tensors(reader, function.attr)
        if written is not None:
            words = {word: (value, place) for word, (value, place) in call.keywords.items()}
            return reader.call_function(written, call.values, words, node)
        if (changed := _changed(reader, node)) is not None:
            return changed
        raise GradError(meaning.unknown_attribute(reader.span(function), function.attr, known_functions()))
    return _in_precision(reader, op, call)


def _changed(reader: Interpreter, node: ast.Call) -> Any:
    from gradcli.trace.statements import in_place

    return in_place(reader, node)


def object_method(reader: Interpreter, base: Any, name: str) -> Any:
    """A method that objects of a library have without saying so: `model.parameters()`, `model.to(device)`."""
    if not isinstance(base, Instance) or base.cls.find(name) is not None or name in base.attributes:
        return None
    methods = CONTEXT_METHODS if base.cls is CONTEXT else OBJECT_METHODS
    return Method(methods[name], base) if name in methods else None


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


def _arguments(reader: Interpreter, node: ast.Call, name: str, first_plain: int | None) -> Call:
    call = Call(node, name, [], [])
    for place, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred) and (name in _SPREADS or reader.imported):
            spread = reader.iterate(reader.value(argument.value), argument)
            plain = first_plain is not None and len(call.values) >= first_plain
            call.values += map(reader.plain, spread) if plain else spread
            call.places += [argument] * len(spread)
            continue
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
        if keyword.arg == "precision" and "jax" in reader.imported:
            continue
        call.keywords[keyword.arg] = (_keyword_value(reader, keyword.arg, keyword.value), keyword.value)
    return call


_SPREADS = ("zip", "max", "min", *CREATORS)
"""Functions in whose calls a star is read in a formula file, too."""


def _keyword_value(reader: Interpreter, name: str, place: ast.expr) -> Any:
    if name == "dtype" and isinstance(place, ast.Name) and place.id in (*DTYPES, "float", "int"):
        return place.id
    return reader.value(place) if name in _OPERAND_NAMES else reader.plain_value(place)


_OPERANDS = {name.removeprefix("*") for op in operators() for name in op.operands}
_OPERAND_NAMES = _OPERANDS | {word for word, names in ALIASES.items() if _OPERANDS.intersection(names)} | {"gradient"}
"""Keywords that name an operand: a name behind them is a node, where behind `axis=` it is a plain number."""


READERS[ast.Call] = read_call

"""Python's containers over nodes: dictionaries, comprehensions, texts, with their methods and builtins."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.ops.compare import maximum, minimum
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import READERS
from gradcli.trace.functions import Left
from gradcli.trace.values import (
    ASIDE_VALUE,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Module,
    Pick,
    Stream,
    Table,
)

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

WIDEST = re.compile(r"\d{3}")
"""A format that asks for a thousand columns is not followed."""


# Expressions -------------------------------------------------------------------------------------


def _dict(self: Interpreter, node: ast.Dict) -> Any:
    table = Table()
    for key_place, value_place in zip(node.keys, node.values, strict=True):
        if key_place is None:
            other = self.value(value_place)
            if not isinstance(other, dict):
                raise GradError(self.no_number(other, value_place))
            table.update(other)
        else:
            table[_key(self, key_place)] = self.value(value_place)
    return table


def _key(self: Interpreter, place: ast.expr) -> Any:
    key = self.plain_value(place)
    if isinstance(key, (str, int, float, Instance, Function)) or (
        isinstance(key, tuple) and all(isinstance(k, (str, int, float)) for k in key)
    ):
        return key
    found, expected = self.found(key), "a number, a text, or several of those"
    raise GradError(meaning.wrong_argument(self.span(place), "the name of an entry", expected, found))


def _comprehension(self: Interpreter, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
    entries: list[Any] = []
    _generate(self, node.generators, lambda: entries.append(self.value(node.elt)))
    if isinstance(node, ast.SetComp):
        return _set_of(self, entries)
    return Items(entries) if not isinstance(node, ast.ListComp) or not _plain_numbers(entries) else entries


def _plain_numbers(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(v, (bool, int, float, list)) for v in values)


def _dict_comprehension(self: Interpreter, node: ast.DictComp) -> Any:
    table = Table()
    _generate(self, node.generators, lambda: table.__setitem__(_key(self, node.key), self.value(node.value)))
    return table


def _generate(self: Interpreter, generators: list[ast.comprehension], make: Callable[[], Any]) -> None:
    """Runs through nested loops; their variables are known only inside."""
    from gradcli.trace.statements import define_variable

    outer, self.names = self.names, {}
    scopes, self.scopes = self.scopes, (outer, *self.scopes)

    def run(depth: int) -> None:
        if depth == len(generators):
            make()
            return
        each = generators[depth]
        for value in self.iterate(self.value(each.iter), each.iter):
            self.count_step(each.iter)
            define_variable(self, each.target, value, each.iter)
            if all(self.branch(test) for test in each.ifs):
                run(depth + 1)

    try:
        run(0)
    finally:
        self.names, self.scopes = outer, scopes


def _conditional(self: Interpreter, node: ast.IfExp) -> Any:
    return self.value(node.body if self.branch(node.test) else node.orelse)


def _lambda(self: Interpreter, node: ast.Lambda) -> Any:
    return self.define_function(node, "lambda")


def _formatted(self: Interpreter, node: ast.JoinedStr) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(_shown(self, part))
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return "".join(parts)


def _shown(self: Interpreter, part: ast.FormattedValue) -> str:
    count, bindings = len(self.graph.nodes), self.bindings
    value = self.plain_value(part.value)
    if type(value) is Node:
        value = self.value_of(value)
    if self.bindings == bindings:
        self.forget(count)  # what is only shown leaves no trace
    form = _formatted(self, part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
    if WIDEST.search(form):
        raise GradError(
            meaning.wrong_argument(self.span(part), "a format", "a width below 100", form, "leave the width out")
        )
    try:
        return format(value, form) if isinstance(value, (int, float, str)) else str(np.asarray(value))
    except (ValueError, TypeError):
        return self.text(part)


def _walrus(self: Interpreter, node: ast.NamedExpr) -> Any:
    value = self.value(node.value)
    self.bind(node.target.id, value, node.value)
    return self.look_up(node.target.id)


READERS.update(
    {
        ast.Dict: _dict,
        ast.ListComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.SetComp: _comprehension,
        ast.Set: lambda self, node: _set_of(self, [self.value(part) for part in node.elts]),
        ast.DictComp: _dict_comprehension,
        ast.IfExp: _conditional,
        ast.Lambda: _lambda,
        ast.JoinedStr: _formatted,
        ast.NamedExpr: _walrus,
    }
)


# Methods -----------------------------------------------------------------------------------------


def _append(self: Interpreter, items: Items, value: Any, place: ast.AST) -> None:
    items.grown = True
    items.append(None)
    try:
        self.store(items, len(items) - 1, value, place)
    except BaseException:
        items.pop()
        raise
    if items.most is not None and len(items) > items.most:
        items.pop(0)


def _extend(self: Interpreter, items: Items, values: Any, place: ast.AST) -> None:
    for value in self.iterate(values, place):
        _append(self, items, value, place)


def _insert(self: Interpreter, items: Items, at: Any, value: Any, place: ast.AST) -> None:
    kept = self.adopt(value, items.owner, f"[{at}]", place)
    items.insert(self.plain(at), kept)
    items.stacked = None


def _pop(self: Interpreter, items: Items, place: ast.AST, at: Any = -1) -> Any:
    at = self.plain(at)
    items.stacked = None
    if not isinstance(at, int) or not -len(items) <= at < len(items):
        raise GradError(meaning.unknown_member(self.span(place), f"entry {self.found(at)}", []))
    return items.pop(at)


def _reverse(self: Interpreter, items: Items, place: ast.AST) -> None:
    items.reverse()
    items.stacked = None


def _add(self: Interpreter, items: Items, value: Any) -> None:
    """`visited.add(v)`: an object is itself, a number or a text is its value."""
    value = value if isinstance(value, Instance) else self.plain(value)
    if not is_among(self, value, items):
        items.append(value)


def _discard(self: Interpreter, items: Items, value: Any) -> None:
    value = value if isinstance(value, Instance) else self.plain(value)
    items[:] = [part for part in items if not (part is value or (_simple(value) and _simple(part) and part == value))]


def _simple(value: Any) -> bool:
    return isinstance(value, (str, int, float, tuple)) or value is None


def is_among(self: Interpreter, value: Any, items: Any) -> bool:
    """Whether a list or a set has an entry: the same object, or an equal number or text."""
    return any(part is value or (_simple(value) and _simple(p := self.plain(part)) and p == value) for part in items)


LIST_METHODS: dict[str, Callable[..., Any]] = {
    "append": lambda self, items, place, value: _append(self, items, value, place),
    "extend": lambda self, items, place, values: _extend(self, items, values, place),
    "insert": lambda self, items, place, at, value: _insert(self, items, at, value, place),
    "pop": _pop,
    "reverse": _reverse,
    "copy": lambda self, items, place: Items(items),
    "clear": lambda self, items, place: items.clear(),
    "add": lambda self, items, place, value: _add(self, items, value),
    "discard": lambda self, items, place, value: _discard(self, items, value),
    "remove": lambda self, items, place, value: _discard(self, items, value),
    "union": lambda self, items, place, *others: _set_of(
        self, [*items, *(v for other in others for v in self.iterate(other, place))]
    ),
    "appendleft": lambda self, items, place, value: _insert(self, items, 0, value, place),
    "popleft": lambda self, items, place: _pop(self, items, place, 0),
    "index": lambda self, items, place, value: [self.plain(v) for v in items].index(self.plain(value)),
    "count": lambda self, items, place, value: [self.plain(v) for v in items].count(self.plain(value)),
}


def _update(self: Interpreter, table: Table, place: ast.AST, other: Any = None, **words: Any) -> None:
    for key, value in {**(other or {}), **words}.items():
        self.store(table, key, value, place)


def _set_default(self: Interpreter, table: Table, place: ast.AST, key: Any, value: Any = None) -> Any:
    if key not in table:
        self.store(table, key, value, place)
    return table[key]


TABLE_METHODS: dict[str, Callable[..., Any]] = {
    "keys": lambda self, table, place: list(table),
    "values": lambda self, table, place: Items(table.values()),
    "items": lambda self, table, place: Items(Items(pair, fixed=True) for pair in table.items()),
    "get": lambda self, table, place, key, default=None: table.get(key, default),
    "copy": lambda self, table, place: Table(table),
    "update": _update,
    "setdefault": _set_default,
    "pop": lambda self, table, place, key, default=None: table.pop(key, default),
}

TEXT_METHODS = frozenset(
    {"lower", "upper", "strip", "split", "startswith", "endswith", "replace", "join", "title", "find", "count"}
    | {"rstrip", "lstrip", "splitlines", "isdigit", "isalpha", "isalnum", "isspace", "rpartition", "partition"}
    | {"rsplit", "ljust", "rjust", "center", "zfill", "capitalize", "removeprefix", "removesuffix", "index"}
)


def call_method(
    self: Interpreter, base: Any, name: str, node: ast.Call, values: list[Any], words: dict[str, Any]
) -> Any:
    """A method of a list, a dictionary or a text."""
    if isinstance(base, str):
        if name == "format":
            return base
        if name not in TEXT_METHODS or not all(isinstance(self.plain(v), (str, int, list)) for v in values):
            raise GradError(self.no_number(base, node.func.value))  # type: ignore[attr-defined]
        given = [self.plain(v) for v in values]
        if any(isinstance(v, int) and v > 200 for v in given):
            found = self.found(given)
            raise GradError(meaning.wrong_argument(self.span(node), f"`.{name}`", "given a width below 200", found))
        try:
            result = getattr(base, name)(*given)
        except (TypeError, ValueError) as error:
            expected = "given what Python's own takes"
            raise GradError(meaning.wrong_argument(self.span(node), f"`.{name}`", expected, str(error))) from None
        return Items(result) if isinstance(result, (list, tuple)) else result
    methods = TABLE_METHODS if isinstance(base, dict) else LIST_METHODS
    if name not in methods:
        raise GradError(meaning.unknown_member(self.span(node.func), f".{name}", [f".{m}" for m in methods]))
    try:
        return methods[name](self, base, node, *values, **words)
    except (TypeError, ValueError, KeyError) as error:
        expected = "given what Python's own takes"
        found = str(error).removeprefix("<lambda>() ")
        raise GradError(meaning.wrong_argument(self.span(node), f"`.{name}`", expected, found)) from None


# Builtins ----------------------------------------------------------------------------------------


def _sum(self: Interpreter, call: Any) -> Any:
    """Python's own sum: entry after entry, from left to right."""
    total = self.value(call.places[1]) if len(call.values) > 1 else None  # here a node, and not a plain number
    if isinstance(total, (int, float)) and total == 0:
        total = None
    place = call.places[0]
    parts = place.elts if isinstance(place, (ast.List, ast.Tuple)) else []
    values = self.iterate(call.values[0], place)
    for at, value in enumerate(values):
        side = parts[at] if len(parts) == len(values) else _term(place)
        value = self.operand(value, side) if isinstance(value, (Pick, np.ndarray)) else value
        if total is None and isinstance(value, Instance):
            total = 0  # an object's own method adds it
        total = value if total is None else self.binary("+", total, value, call.place, (place, side))
    return 0 if total is None else total


def _term(place: ast.AST) -> ast.AST:
    return place.elt if isinstance(place, (ast.GeneratorExp, ast.ListComp)) else place


def _sequences(self: Interpreter, call: Any) -> list[Any]:
    return [
        itertools.repeat(ASIDE_VALUE) if v is ASIDE_VALUE else self.iterate(v, p)
        for v, p in zip(call.values, call.places, strict=True)
    ]


def _again(self: Interpreter, value: Any, place: ast.AST) -> Callable[[Callable[[Any], None]], None]:
    """What hands the same values to a function every time, also those of a generator, from where it stands now."""
    if type(value) is not Stream:
        return lambda take: self.each(value, place, take)
    taken, ended = value.taken, value.ended

    def run(take: Callable[[Any], None]) -> None:
        value.taken, value.ended = taken, ended
        value.give(take)

    return run


def _zip(self: Interpreter, call: Any) -> Any:
    if call.values and all(value is ASIDE_VALUE for value in call.values):
        return ASIDE_VALUE
    lazy = [at for at, value in enumerate(call.values) if self.is_lazy(value)]
    if len(lazy) == 1:
        at = lazy[0]
        each = _again(self, call.values[at], call.places[at])
        others = [None if k == at else self.iterate(v, p) for k, (v, p) in enumerate(zip(call.values, call.places))]  # noqa: B905

        def run(take: Callable[[Any], None]) -> None:
            count, over = 0, Left()

            def turn(value: Any) -> None:
                nonlocal count
                if any(o is not None and count >= len(o) for o in others):
                    raise over
                take(tuple(value if o is None else o[count] for o in others))
                count += 1

            try:
                each(turn)
            except Left as left:
                if left is not over:  # whoever takes the values has had enough
                    raise

        return Stream(run)
    return Items(tuple(row) for row in zip(*_sequences(self, call), strict=False))


def _enumerate(self: Interpreter, call: Any) -> Any:
    start = self.plain(call.values[1] if len(call.values) > 1 else call.keywords.get("start", (0,))[0])
    if call.values[0] is ASIDE_VALUE:
        return ASIDE_VALUE
    if self.is_lazy(call.values[0]):
        each = _again(self, call.values[0], call.places[0])

        def run(take: Callable[[Any], None]) -> None:
            counter = itertools.count(start)
            each(lambda value: take((next(counter), value)))

        return Stream(run)
    return Items(enumerate(self.iterate(call.values[0], call.places[0]), start))


def _iter(self: Interpreter, call: Any) -> Any:
    """`iter(loader)`, from which `next` takes."""
    return call.values[0] if type(call.values[0]) is Stream else Stream(_again(self, call.values[0], call.places[0]))


def _next(self: Interpreter, call: Any) -> Any:
    """`next(stream)`: what comes after all that has been taken."""
    stream = call.values[0]
    if type(stream) is Items and stream and isinstance(call.place.args[0], ast.Call):  # `next(model.parameters())`
        return stream[0]
    if type(stream) is not Stream:
        expected = "a generator, or `iter(...)` of what can be looped over"
        given = self.found(stream)
        raise GradError(meaning.wrong_argument(self.span(call.places[0]), "what `next` takes from", expected, given))
    found: list[Any] = []

    def take(value: Any) -> None:
        found.append(value)
        raise Left

    with contextlib.suppress(Left):
        stream.give(take)
    if found:
        return found[0]
    if len(call.values) > 1:
        return call.values[1]
    expected, had = "a stream with something left in it", f"{stream.taken} values, all taken"
    raise GradError(meaning.wrong_argument(self.span(call.places[0]), "what `next` takes from", expected, had))


def _reversed(self: Interpreter, call: Any) -> Any:
    return _listed(self.iterate(call.values[0], call.places[0])[::-1])


def _listed(values: list[Any]) -> Any:
    return values if _plain_numbers(values) else Items(values)


def _list(self: Interpreter, call: Any) -> Any:
    values = self.iterate(call.values[0], call.places[0]) if call.values else []
    return _listed([self.picked_or_plain(value, call.place) for value in values])


def _tuple(self: Interpreter, call: Any) -> Any:
    values = self.iterate(call.values[0], call.places[0]) if call.values else []
    return tuple(values) if _plain_numbers(values) else Items(values, fixed=True)


def _sorted(self: Interpreter, call: Any) -> Any:
    values = [self.plain(v) for v in self.iterate(call.values[0], call.places[0])]
    reverse = call.keywords.get("reverse", (False,))[0] is True
    keys = [self.plain(k) for k in _keys(self, call, values)]
    try:
        order = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        return _listed([values[at] for at in order])
    except TypeError:
        expected = "plain numbers or texts; tensors are sorted by sort(x)"
        raise GradError(
            meaning.wrong_argument(self.span(call.place), "what `sorted` sorts", expected, "something else")
        ) from None


def _keys(self: Interpreter, call: Any, values: list[Any]) -> list[Any]:
    """What values are sorted by: what the function that is given as `key` makes of them, or they themselves."""
    from gradcli.trace.calls import call_value

    key = call.keywords.get("key", (None,))[0]
    return values if key is None else [call_value(self, key, [value], {}, call.place) for value in values]


def _new_dict(self: Interpreter, call: Any) -> Any:
    table = Table()
    if call.values:
        first = call.values[0]
        table.update(
            first if isinstance(first, dict) else {self.plain(k): v for k, v in self.iterate(first, call.place)}
        )
    table.update({word: value for word, (value, _) in call.keywords.items()})
    return table


def _text(self: Interpreter, call: Any) -> Any:
    value = self.plain(call.values[0]) if call.values else ""
    return value if isinstance(value, str) else self.found(value)


def _map(self: Interpreter, call: Any) -> Any:
    from gradcli.trace.calls import call_value

    rows = zip(*[self.iterate(v, p) for v, p in zip(call.values[1:], call.places[1:], strict=True)], strict=False)
    return Items(call_value(self, call.values[0], list(row), {}, call.place) for row in rows)


def _is_instance(self: Interpreter, call: Any) -> Any:
    value, kinds = call.values[0], call.values[1]
    for kind in kinds if isinstance(kinds, (tuple, list)) else (kinds,):
        if isinstance(kind, Class) and isinstance(value, Instance) and value.cls.builds_on(kind.name):
            return True
        name = kind.name if isinstance(kind, Known) else kind.path.rpartition(".")[2] if type(kind) is Module else ""
        if _is_layer(value, name):
            return True
        if name in ("int", "float") and isinstance(self.plain(value), int if name == "int" else (int, float)):
            return True
        if (name == "list" and isinstance(value, list)) or (name == "tuple" and isinstance(value, tuple)):
            return True
        if (name == "dict" and isinstance(value, dict)) or (name == "str" and isinstance(value, str)):
            return True
        if name in ("Tensor", "ndarray", "array", "Array", "Value") and isinstance(value, (Node, np.ndarray)):
            return True
        if name == "Parameter" and type(value) is Node and value.number in self.parameter_numbers:
            return True
        if not isinstance(kind, Class) and name in (
            "Number",
            "number",
            "floating",
            "integer",
            "Iterable",
            "Sequence",
            "",
        ):
            expected = "a class of the file, a layer, a tensor, or a type of Python's own"
            raise GradError(
                meaning.wrong_argument(self.span(call.place), "what `isinstance` asks for", expected, self.found(kind))
            )
    return False


def _is_layer(value: Any, name: str) -> bool:
    """Whether a value is a layer of that name, as `nn.Linear(2, 3)` and `nn.ReLU()` are."""
    from gradcli.trace.libraries import function_of

    if isinstance(value, Instance):
        return value.cls.builds_on(name) or (name == "Module" and bool(value.cls.find("__library__")))
    if isinstance(value, Known) and value.settings is not None:
        return name == "Module" or (name != "" and function_of(name) == value.name)
    return False


def _type(self: Interpreter, call: Any) -> Any:
    """`type(m)`, to be compared with a class or a layer."""
    value = call.values[0]
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Known) and value.settings is not None:
        return Known(value.name)
    what, expected = "what `type` is given", "an object or a layer"
    raise GradError(meaning.wrong_argument(self.span(call.place), what, expected, self.found(value), "use isinstance"))


def _has_attribute(self: Interpreter, call: Any) -> Any:
    base, name = call.values
    return isinstance(base, Instance) and (name in base.attributes or base.cls.find(name) is not None)


def _any_all(name: str) -> Callable[[Any, Any], Any]:
    def decide(self: Interpreter, call: Any) -> Any:
        values = self.iterate(call.values[0], call.places[0])
        truths = [self.truth(v, call.places[0]) for v in values]
        return any(truths) if name == "any" else all(truths)

    return decide


def _new_slice(self: Interpreter, call: Any) -> Any:
    """Python's own `slice(2)`, as an index may hold it."""
    return slice(*[self.plain(value) for value in call.values[:3]])


def _print(self: Interpreter, call: Any) -> Any:
    return None


def _extreme(name: str) -> Callable[[Any, Any], Any]:
    def choose(self: Interpreter, call: Any) -> Any:
        values = call.values if len(call.values) > 1 else self.iterate(call.values[0], call.places[0])
        plain = [self.plain(v) for v in values]
        if all(isinstance(v, (int, float)) for v in plain):
            return max(plain) if name == "max" else min(plain)
        best = values[0]
        op = maximum if name == "max" else minimum
        for value in values[1:]:
            both = (self.operand(best, call.places[0]), self.operand(value, call.places[-1]))
            best = self.apply(op, both, None, call.place, call.places[:1] * 2)
        return best

    return choose


def _set_of(self: Interpreter, values: list[Any]) -> Items:
    """A set: every entry once, in the order in which they came, on which no program relies."""
    items = Items()
    items.unique = items.grown = True
    for value in values:
        _add(self, items, value)
    return items


def _unique(self: Interpreter, call: Any) -> Any:
    """`set(xs)`."""
    return _set_of(self, self.iterate(call.values[0], call.places[0]) if call.values else [])


BUILTINS: dict[str, Callable[[Any, Any], Any]] = {
    "zip": _zip,
    "enumerate": _enumerate,
    "iter": _iter,
    "next": _next,
    "reversed": _reversed,
    "list": _list,
    "tuple": _tuple,
    "sorted": _sorted,
    "dict": _new_dict,
    "OrderedDict": _new_dict,
    "str": _text,
    "map": _map,
    "set": _unique,
    "isinstance": _is_instance,
    "hasattr": _has_attribute,
    "type": _type,
    "print": _print,
    "slice": _new_slice,
}
"""Python's own functions that are read, beside those of the language."""

OF_SEQUENCES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": _sum,
    "any": _any_all("any"),
    "all": _any_all("all"),
    "max": _extreme("max"),
    "min": _extreme("min"),
}
"""Python's own functions that operators share their names with: they are meant where a list of Python's is given."""


def is_sequence(values: list[Any]) -> bool:
    """Whether Python's own function is meant: it is given one list with more than plain numbers in it."""
    if len(values) not in (1, 2):
        return False
    first = values[0]
    return type(first) in (Items, Table, Stream) or (isinstance(first, Instance) and bool(first.cls.find("__iter__")))

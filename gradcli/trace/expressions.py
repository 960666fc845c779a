"""Expressions: from a syntax tree to a node, or to a plain number.

What is written with numbers alone stays a plain Python value until an operation on nodes needs it; so `2*pi` is one
number, `W[1]` indexes with a number, and `x + 1/3` prints as it was written.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator as py
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.evaluate import value_of
from gradcli.graph import CONSTANT, INPUT, Graph, Node, Op, ShapeError
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.language import Part, Program
from gradcli.ops.arrange import assigned, index, stack
from gradcli.ops.create import CREATORS, Limits
from gradcli.problems import GradError, Problem, Span, meaning
from gradcli.trace.lists import contains, entries, rows
from gradcli.trace.spelling import root_of
from gradcli.trace.values import (
    Bound,
    Class,
    Counted,
    Function,
    Input,
    Instance,
    Items,
    Known,
    Length,
    Module,
    Owner,
    Pick,
    Results,
    Scalar,
    Scope,
    Stream,
    Swept,
    Table,
    Walk,
)
from gradcli.trace.vocabulary import BUILTIN_NAMES, CONSTANTS, DTYPES, LEFT_OUT, MODULES, PASSED_OVER, WRAPPERS

_NUMBERS = ("number", "number")
_PLAIN_FLOATS = ("float64", "weak float", "weak int")

MOST_AXES = 64
"""How many axes NumPy's arrays can have."""

MOST_SEARCHED = 100
"""For so many unknown names it is looked up which name was meant, and whether a later line defines it."""

HUGE = 1 << 53
"""Whole numbers from here on are held as floats."""

LARGEST = {"float64": "1.8e308", "float32": "3.4e38", "float16": "65504", "int64": "9.2e18"}
"""The largest number of every precision, in words."""

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": py.add,
    "-": py.sub,
    "*": py.mul,
    "/": py.truediv,
    "//": py.floordiv,
    "%": py.mod,
    "**": py.pow,
    ">": py.gt,
    ">=": py.ge,
    "<": py.lt,
    "<=": py.le,
    "==": py.eq,
    "!=": py.ne,
    "&": py.and_,
    "|": py.or_,
}


READERS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {}
"""For every kind of expression the function that reads it: see `readers` and `calls`."""


class Silent(Exception):
    """The line uses a name whose own line was faulty: it was reported there, once is enough."""


class Absorbed(GradError):
    """An operation on what only the sweep finds; its result is such a thing, too, where nothing more is asked of it."""


_NOT_YET_TENSORS = frozenset({Pick, Items})
"""Kinds of values that may stand for a tensor, or be a list of Python's."""


class Expressions:
    """Reads expressions, adding their operations to a graph."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program = program
        self.limits = limits
        self.graph = Graph()
        self.names: Scope = {}
        """The names of the call that is being read, or of the file."""
        self.scopes: tuple[Scope, ...] = ()
        """The names around those, from the inside out."""
        self.owner: Owner | None = None
        """What the names of the call that is being read belong to; None for the file's own."""
        self.modules = set(MODULES)
        self.imported: set[str] = set()
        """The libraries that the program imports."""
        self.brought: set[str] = set()
        """Names that the program imports, and that are known here."""
        self.takers: list[Callable[[Any], None]] = []
        """Who takes what the generators around the statement yield, the innermost one last."""
        self.left_gradients: dict[int, Node] = {}
        """The gradients that `backward(create_graph=True)` left, by the number of the leaf."""
        self.python_numbers: set[int] = set()
        """The numbers of the nodes that are plain numbers of Python's, which never change in place."""
        self.line = 0
        self.plain_mode = False
        self.deciding = False
        """Whether a condition is being read, which may ask for values."""
        self.part: Part
        self.whole: dict[int, Any] = {}
        """Inputs written in whole numbers, by node number, which nothing has used as numbers yet."""
        self.aliases: dict[int, int] = {}
        """For `y = x`, by the number of y's node, that of the node which it is another name of."""
        self.current: dict[int, Node] = {}
        """What an array that changed in place has become, by the number of the node that made it."""
        self.looked_at: set[int] = set()
        """Numbers taken out of the graph to be looked at, as in `loss.item()`."""
        self.integers: set[int] = set()
        """The numbers of the nodes that are arrays of whole numbers."""
        self.tuples: set[int] = set()
        """The numbers of those that are written as tuples, so that as an index they are one for every axis."""
        self._literals: dict[tuple[type, Any], Node] = {}
        self.line_fixed = False
        """Whether the lines that are read are a library's, so that nodes belong to the line that calls it."""
        self.without: set[int] = set()
        """The numbers of nodes that were computed without gradients."""
        self.drawn: list[Any] = []
        """The weights that were drawn for layers."""
        self.counted: set[int] = set()
        """Inputs of which whole numbers were computed that were used as an index or a label."""
        self.taken_from: dict[int, Node] = {}
        """For entries of such an input, by number, the input."""
        self.raw: dict[int, Any] = {}
        """Every input written in whole numbers, as it was written."""
        self.plainly: set[int] = set()
        """Inputs that were used as an index, an axis, a shape or a label."""

    # Faults ----------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """Where a piece of syntax stands in the source."""
        return self.part.span(node)

    def text(self, node: ast.AST) -> str:
        """A piece of syntax as it was written."""
        return self.part.text_of(node)

    def unknown(self, place: ast.AST, name: str) -> Problem:
        """The problem of a name that is not defined here."""
        self.unknowns += 1
        if self.unknowns > MOST_SEARCHED:  # for every fault, all the names and lines of a file would be gone through
            return meaning.unknown_name(self.span(place), name, ())
        definition = re.compile(rf"^\s*{re.escape(name)}\s*(\+|-|\*|/|@|\*\*)?=(?!=)")
        later = 0
        for number, line in enumerate(self.program.source.lines[self.line :], start=self.line + 1):
            if definition.match(line):
                later = number
                break
        known = [word for scope in (self.names, *self.scopes) for word in scope]
        return meaning.unknown_name(self.span(place), name, [*known, *CONSTANTS], later)

    def look_up(self, name: str) -> Any:
        """The value that the file gives to a name, from the inside out; `self.missing` if it gives none."""
        for scope in (self.names, *self.scopes):
            value = scope.get(name, self.missing)
            if value is not self.missing:
                return value
        return self.missing

    unknowns = 0
    """How many names were not found."""

    @property
    def computes_on(self) -> bool:
        """Whether gradients are handed about like numbers, as JAX's are: what is computed from them is not derived."""
        return bool({"jax", "autograd"} & self.imported)

    in_function = False
    """Whether the body of a function of the file is being read."""

    missing: Any = object()
    """What `look_up` finds where there is nothing."""

    def is_known(self, name: str) -> bool:
        """Whether a name has a meaning here: the file's own, a constant, a module, a function."""
        here = (CONSTANTS, self.modules, self.brought, REGISTRY, CREATORS, WRAPPERS, DTYPES, PASSED_OVER)
        words = (self.names, *self.scopes, *here)
        return any(name in known for known in words) or hasattr(builtins, name)

    def found(self, value: Any) -> str:
        """A value in words, for messages."""
        if type(value) is not Node:
            return self._found_plain(value)
        if value.op is CONSTANT and value.shape == ():
            return value.name
        kind = f"{value.dtype} of shape {value.shape}"
        return f"`{value.name}`, {kind}" if value.name else kind

    def _found_plain(self, value: Any) -> str:
        if isinstance(value, slice):
            parts = [value.start, value.stop, *([] if value.step is None else [value.step])]
            return ":".join("" if v is None else self.found(v) for v in parts)
        if isinstance(value, tuple):
            return ", ".join(map(self.found, value))
        if isinstance(value, Module):
            return f"`{value.path}`"
        if type(value) in _WORDS:
            return _WORDS[type(value)]
        if self.holds_nodes(value):
            return "a list with computed numbers in it"
        if isinstance(value, list) and len(value) < 20:
            return f"[{', '.join(map(self.found, value))}]"
        value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        text = "text" if isinstance(value, str) else "..." if value is Ellipsis else repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."

    # Values ----------------------------------------------------------------------------------

    def value(self, node: ast.AST) -> Any:
        """The value of an expression: a node, or something plain."""
        reader = READERS.get(type(node))
        if reader is None:
            raise GradError(self.refusal(node))
        return reader(self, node)

    def refusal(self, node: ast.AST) -> Problem:
        """The problem of Python that is not read."""
        what, way_out = LEFT_OUT.get(type(node), ("this", "write a formula: name = expression"))
        return meaning.not_in_language(self.span(node), what, way_out)

    def operand(self, value: Any, place: ast.AST, kind: str = "number") -> Node:
        """A value as an operand of an operation."""
        if type(value) is Node:
            if kind == "number":
                if self.whole and self.whole.pop(value.number, None) is not None and value.number in self.taken_from:
                    self.operand(self.taken_from[value.number], place, kind)
            elif value.number in self.whole:
                self.plainly.add(value.number)
                if value.number in self.taken_from:
                    self.operand(self.taken_from[value.number], place, kind)
            return value
        if isinstance(value, (bool, int, float)):
            literal = type(place) is ast.Constant
            if literal and (known := self._literals.get((type(value), value))):
                return known
            if type(value) is Counted:
                text = self.text(place)
                if not root_of(text.rpartition(".")[2].partition("[")[0]):  # of a gradient it is told already
                    self.note(
                        f"`{text}` is a whole number in a dictionary, so it is a constant here, without a "
                        f"gradient: written `{int(value)}.0` it would have one"
                    )
                value = int(value)
            value = int(value) if type(value) is Length else float(value) if type(value) is Scalar else value
            if type(value) is int and abs(value) > HUGE:
                value = float(value)
            if literal:
                known = self._literals[type(value), value] = self.graph.constant(value, repr(value))
                return known
            text = self.text(place) if isinstance(place, ast.expr) and self._says_one_number(place) else ""
            if text and not text.isascii():
                text = ast.unparse(place)  # as it reads in a formula: `⁻¹` alone would not
            return self.graph.constant(value, text if 0 < len(text) <= 24 else repr(value))
        if type(value) is Pick:
            return self.operand(self.picked(value, place), place, kind)
        if type(value) is Table and value.family and value:
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            if type(value) is Items:
                return self._stacked(value, place)
            if type(value) is Results:
                found, way_out = f"this is {len(value)} of them", "take one, as in `r[0]`, or unpack them: `a, b = …`"
                raise GradError(meaning.wrong_kind(self.span(place), "an operand is one tensor", found, way_out))
            return self.tensor(value, place)
        if isinstance(value, Input):
            return self.operand(value.value, place, kind)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.graph.constant(np.asarray(value)[()])  # without axes it is a number, not an array
        if type(value) is Swept:
            raise Absorbed(self.no_number(value, place))
        raise GradError(self.no_number(value, place))

    def _says_one_number(self, place: ast.expr) -> bool:
        """Whether a piece of syntax means the same number wherever it is read, as `1/3` and `2*pi` do."""
        for part in ast.walk(place):
            if isinstance(part, ast.Name):
                if part.id not in CONSTANTS or self.look_up(part.id) is not self.missing:
                    return False
            elif isinstance(part, ast.Attribute):
                if part.attr not in CONSTANTS:
                    return False
            elif isinstance(part, ast.expr) and not isinstance(part, (ast.Constant, ast.BinOp, ast.UnaryOp)):
                return False
        return True

    def _stacked(self, items: Items, place: ast.AST) -> Node:
        """The tensor of a list, which is made once as long as the list does not change."""
        node = items.stacked
        if node is None or not self.in_graph(node):
            node = items.stacked = self.tensor(items, place)
            if not node.name and node.op is not CONSTANT and items.owner.label:
                self.name_node(node, items.owner.parent, items.owner.label)
        return node

    def in_graph(self, node: Node) -> bool:
        """Whether a node that was made earlier is still there: those of a condition are not kept."""
        nodes = self.graph.nodes
        return node.number < len(nodes) and nodes[node.number] is node

    def note(self, text: str) -> None:
        """Says something about the line that is being read; see `gradcli.trace.control`."""
        raise NotImplementedError

    def member(self, base: Any, place: ast.Attribute) -> Any:
        """An attribute of an object or a class; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def length_of(self, base: Instance, place: ast.AST) -> int:
        """What an object's own `__len__` says; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def entry_of(self, base: Instance, key: Any, place: ast.AST) -> Any:
        """`model[0]`; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def allow_size(self, shape: tuple[int, ...]) -> None:
        """Raises ValueError for a shape past the limit."""
        if any(n < 0 for n in shape) or math.prod(shape) > self.limits.max_elements:
            raise ValueError(f"a shape of at most {self.limits.max_elements} entries")

    def picked_or_plain(self, value: Any, place: ast.AST) -> Any:
        """An entry that a loop runs over as it is given to a function."""
        return self.picked(value, place) if type(value) is Pick and value.base.number not in self.raw else value

    def truth(self, value: Any, place: ast.AST) -> bool:
        """Whether a value counts as true at these inputs; see `gradcli.trace.deciding`."""
        raise NotImplementedError

    def iterate(self, value: Any, place: ast.AST) -> list[Any]:
        """What a loop over a value runs through."""
        if isinstance(value, (list, tuple, str)):
            return list(value)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, np.ndarray) and value.ndim:
            return value.tolist() if value.ndim == 1 else list(value)
        if type(value) is Stream:
            values: list[Any] = []
            value.give(values.append)
            return values
        if isinstance(value, Instance) and value.cls.find("__iter__") is not None:
            return self.iterate(self.entry_of(value, Ellipsis, place), place)
        if isinstance(value, Instance) and value.cls.builds_on("NamedTuple"):
            return list(value.attributes.values())
        if isinstance(value, Instance) and value.cls.find("__getitem__") and value.cls.find("__len__"):
            return [self.entry_of(value, k, place) for k in range(self.length_of(value, place))]
        if type(value) is Pick:
            value = self.picked(value, place)
        if type(value) is Walk:
            return [self.take(value.base, {"key": at or (Ellipsis,)}, place, (place,)) for at in value.places]
        if type(value) is Node and value.shape:
            self.allow((value.shape[0],), place)
            return [Pick(value, k) for k in range(value.shape[0])]
        way_out = "loop over range(n), a list, or the first axis of a tensor"
        raise GradError(
            meaning.wrong_argument(self.span(place), "what is looped over", "a sequence", self.found(value), way_out)
        )

    def each(self, value: Any, place: ast.AST, turn: Callable[[Any], None]) -> None:
        """Hands to a function what a loop runs through; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def is_function(self, name: str) -> bool:
        """Whether there is a known function of that name."""
        return any(name in known for known in (REGISTRY, CREATORS, WRAPPERS, BUILTIN_NAMES))

    def name_node(self, node: Node, owner: Owner | None, member: str) -> None:
        """Gives a node its name; see `gradcli.trace.naming`."""
        raise NotImplementedError

    def picked(self, pick: Pick, place: ast.AST) -> Node:
        """The node of an entry that a loop runs over."""
        base = self.current.get(self.aliases.get(pick.base.number, pick.base.number), pick.base)
        if base is not pick.base:  # it has changed in place
            pick.base, pick.node = base, None
        if pick.node is None or not self.in_graph(pick.node):
            pick.node = self.take(pick.base, {"key": (pick.key,)}, place, (place,))
        return pick.node

    def take(
        self,
        base: Node,
        settings: dict[str, Any],
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST] | None = None,
    ) -> Node:
        """Some entries of a tensor; those of whole numbers are whole, and wait in their turn for how they are used."""
        node = self.apply(index, (base,), settings, place, places, setting_places)
        if base.number in self.raw:
            taken = np.asarray(self.raw[base.number])[settings["key"]]
            self.raw[node.number] = self.whole[node.number] = taken if taken.shape else taken.item()
            self.taken_from[node.number] = base
        return node

    def no_number(self, value: Any, place: ast.AST) -> Problem:
        """The problem of a value that is no number."""
        if isinstance(value, (Known, Function, Bound, Class)):
            name = value.name if not isinstance(value, Bound) else value.function.name
            return meaning.function_as_value(self.span(place), name)
        if type(value) is Swept:
            return meaning.gradient_as_value(self.span(place), self.text(place))
        what = "text" if isinstance(value, str) else _WORDS.get(type(value), f"a {type(value).__name__}")
        if value is None or value is Ellipsis:
            what = "None" if value is None else "`...`"
        if isinstance(value, Module):
            what = f"the library `{value.path}`"
        if isinstance(value, Input):
            what = "data, or has a precision of its own"
        return meaning.wrong_kind(
            self.span(place),
            "a formula is about numbers",
            f"this is {what}",
            "write a number, a list of numbers or a name",
        )

    def tensor(self, value: Any, place: ast.AST) -> Node:
        """A nested list as one operand: a constant, or a stack of its nodes."""
        if self.imported and contains(value, Swept):
            raise Absorbed(meaning.gradient_as_value(self.span(place), self.text(place)))
        if not self.holds_nodes(value):
            return self.operand(self.array(value, place), place)
        listed = isinstance(place, (ast.List, ast.Tuple)) and len(place.elts) == len(value)
        elements = place.elts if listed else [place] * len(value)  # type: ignore[attr-defined]
        parts = [self.operand(v, p) for v, p in zip(value, elements, strict=True)]
        for part, element in zip(parts, elements, strict=True):
            if part.shape != parts[0].shape:
                raise GradError(meaning.ragged_list(self.span(element), rows(parts[0].shape), rows(part.shape)))
        self._allow_axes(len(parts[0].shape) + 1, place)
        return self.apply(stack, parts, None, place, list(elements))

    def holds_nodes(self, value: Any) -> bool:
        """Whether a nested list has a node in it."""
        if isinstance(value, (list, tuple)):
            return any(self.holds_nodes(v) for v in value)
        return type(value) is Node or type(value) is Pick

    def array(self, value: Any, place: ast.AST) -> Any:
        """A nested list of numbers as an array of float64 (or of truth values)."""
        if not isinstance(value, (list, tuple, bool, int, float, np.ndarray)):
            raise GradError(self.no_number(value, place))
        self._allow_axes(len(self._list_shape(value, place)), place)
        kinds = set(map(type, entries(value)))
        try:
            array = np.array(value, dtype=bool if kinds == {bool} else float)
        except OverflowError:
            raise GradError(meaning.number_too_large(self.span(place), "a number in this list")) from None
        self.allow(array.shape, place)
        return array

    def _list_shape(self, value: Any, place: ast.AST, depth: int = 0) -> tuple[int, ...]:
        if isinstance(value, np.ndarray):
            return tuple(map(int, value.shape))
        if not isinstance(value, (list, tuple)):
            return ()
        elements = place.elts if isinstance(place, (ast.List, ast.Tuple)) and len(place.elts) == len(value) else None
        shapes = []
        for i, v in enumerate(value):
            here = elements[i] if elements else place
            if not (isinstance(v, (list, tuple, bool, int, float, np.ndarray))):
                raise GradError(self.no_number(v, here))
            shapes.append(self._list_shape(v, here, depth + 1))
            if shapes[-1] != shapes[0]:
                raise GradError(meaning.ragged_list(self.span(here), rows(shapes[0]), rows(shapes[-1])))
        return (len(value), *(shapes[0] if shapes else ()))

    def _allow_axes(self, axes: int, place: ast.AST) -> None:
        if axes > MOST_AXES:
            found = f"these brackets are {axes} deep"
            way_out = "take out the brackets that hold one entry only"
            raise GradError(
                meaning.wrong_kind(self.span(place), f"a tensor has at most {MOST_AXES} axes", found, way_out)
            )

    def cast(self, array: Any, dtype: str, place: ast.AST) -> Any:
        """Numbers of the file in another precision, which must be able to hold them."""
        with np.errstate(all="ignore"):
            result = array.astype(dtype)
            lost = np.isinf(result) & np.isfinite(array) if dtype in FLOATS else ~(np.abs(array) < 2.0**63)
        if np.any(lost) and dtype != "bool":
            what = "a number in this tensor" if array.shape else "this number"
            raise GradError(meaning.number_too_large(self.span(place), f"{what}, as {dtype},", LARGEST[dtype]))
        return result

    def allow(self, shape: tuple[int, ...], place: ast.AST) -> None:
        """Refuses a tensor past the limit."""
        elements = math.prod(shape)
        if elements > self.limits.max_elements:
            raise GradError(meaning.too_large(self.span(place), elements, self.limits.max_elements))

    def plain_value(self, node: ast.AST) -> Any:
        """An expression where only plain numbers have a meaning: in `x[n - 1]` an input n is just a number."""
        before, self.plain_mode = self.plain_mode, True
        try:
            return self.plain(self.value(node))
        finally:
            self.plain_mode = before

    def plain(self, value: Any) -> Any:
        """A value as settings and indices need it: an input as its number, a mask as its array."""
        if isinstance(value, Input):
            return self.plain(value.value)
        if type(value) is Counted:
            return int(value)
        if type(value) is Pick:
            base = self.plain(value.base)
            return self.picked(value, ast.Constant(0)) if type(base) is Node else base[value.key].tolist()
        if type(value) is Node:
            if value.number in self.raw:
                self.plainly.add(value.number)
                raw = self.raw[value.number]
                return tuple(raw.tolist()) if value.number in self.tuples else raw
            if value.op is INPUT and value.shape == ():
                return value.data
            if value.dtype in ("bool", "int64"):
                return self.whole_values(value)
            if self.plain_mode and value.shape and "numpy" in self.imported and self.is_whole(value):
                return np.asarray(self.numbers_of(value)).astype(np.int64)
            return self.whole_number(value) if self.plain_mode else value
        if isinstance(value, tuple) or (type(value) is Items and value.fixed):
            return tuple(map(self.plain, value))
        if isinstance(value, list):
            return [self.plain(v) for v in value]
        if isinstance(value, slice):
            return slice(*map(self.plain, (value.start, value.stop, value.step)))
        return value

    def whole_values(self, node: Node) -> Any:
        """The truth values or whole numbers of a node at these inputs."""
        return value_of(node)

    def numbers_of(self, node: Node) -> Any:
        """The value of a node at these inputs; see `gradcli.trace.control`."""
        return value_of(node)

    def whole_number(self, value: Any) -> Any:
        """What was computed from whole numbers alone, `i + 1`, where it counts something; else the value itself."""
        if type(value) is not Node or value.op is INPUT or not self._from_whole_numbers(value):
            return value
        found = np.asarray(value_of(value), float)
        if not np.all(np.isfinite(found)) or np.any(found != np.trunc(found)):
            return value
        self._count_with(value)
        return found.astype(np.int64) if found.shape else int(found)

    def _from_whole_numbers(self, value: Node) -> bool:
        stack, seen = [value], {value.number}
        while stack:
            node = stack.pop()
            plain = node.op is CONSTANT or node.number in self.raw or node.dtype in ("int64", "bool")
            if not node.operands and not plain:
                return False
            new = [o for o in node.operands if o.op is not CONSTANT and o.number not in seen]
            seen |= {o.number for o in new}
            stack += new
        return True

    def is_tensor(self, node: Node) -> bool:
        """Whether a node is a tensor, of which a scalar may be one, and no plain number of Python's."""
        stack, seen = [node], {node.number}
        while stack:
            part = stack.pop()
            if part.shape:
                return True
            if part.op is INPUT:
                if part.number not in self.python_numbers:
                    return True
                continue
            if part.number in self.looked_at:
                continue
            new = [o for o in part.operands if o.number not in seen]
            seen |= {o.number for o in new}
            stack += new
        return False

    def _count_with(self, value: Node) -> None:
        """Takes note of the inputs that something is computed from which counts or chooses."""
        stack, seen = [value], {value.number}
        while stack:
            node = stack.pop()
            if node.op is INPUT:
                self.counted.add(node.number)
            new = [o for o in node.operands if o.number not in seen]
            seen |= {o.number for o in new}
            stack += new

    def is_whole(self, node: Node) -> bool:
        """Whether a tensor is one of whole numbers in a program: written in them, or computed from such alone."""
        stack, seen = [node], {node.number}
        while stack:
            part = stack.pop()
            if part.op is CONSTANT or part.op is INPUT:
                whole = part.number in self.raw or part.number in self.integers or part.dtype in _WHOLE_DTYPES
                if not whole and not (part.dtype.startswith("int") or part.dtype == "bool"):
                    return False
            elif part.dtype == "bool":
                continue
            elif not (part.op in _KEEPS_WHOLE or part.op.infix in _WHOLE_SIGNS):
                return part.dtype.startswith("int")
            stack += [o for o in part.operands if o.number not in seen]
            seen |= {o.number for o in part.operands}
        return True

    # Operations ------------------------------------------------------------------------------

    def apply(
        self,
        op: Op,
        operands: Sequence[Node],
        settings: dict[str, Any] | None,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST] | None = None,
    ) -> Node:
        """Adds the node of an operation; a shape that does not fit is reported at the operands, or a setting."""
        try:
            node = self.graph.add(op, tuple(operands), settings, self.line)
        except ShapeError as error:
            raise GradError(self.mismatch(error, place, places, setting_places or {})) from None
        if len(node.shape) > MOST_AXES:
            raise GradError(meaning.too_many_axes(self.span(place), len(node.shape), MOST_AXES))
        if node.shape and math.prod(node.shape) > self.limits.max_elements:
            self.allow(node.shape, place)
        return node

    def mismatch(
        self,
        error: ShapeError,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST],
    ) -> Problem:
        """The problem of operands that do not fit, reported at the operands, or at a setting."""
        needs, way_out = error.needs, error.way_out
        for slot, at in enumerate(places):
            text = self.text(at)
            text = text if len(text) < 20 else f"operand {slot + 1}"
            needs = needs.replace(f"{{{slot}}}", text)
            way_out = way_out.replace(f"{{{slot}}}", text)
        found = []
        for key, words in error.found.items():
            at = setting_places.get(key, place) if isinstance(key, str) else places[min(key, len(places) - 1)]
            found.append((self.span(at), words))
        text = self.text(place) if len(self.text(place)) < 60 else "this operation"
        return meaning.shape_mismatch(
            self.span(place), text if needs.startswith("needs") else f"{text}:", needs, found, way_out
        )

    def binary(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """`left sign right`: of plain numbers a plain number, else a node."""
        a, b = type(left), type(right)
        if a is Instance or b is Instance:
            return self.overloaded(sign, left, right, place, sides)
        if sign == "+" and "micrograd" in self.imported and (isinstance(left, list) or isinstance(right, list)):
            return Items([*self.iterate(left, sides[0]), *self.iterate(right, sides[1])])  # its lists are Python's
        if (
            sign == "*"
            and self.lists_are_pythons
            and (isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)))
        ):
            left, right = self._counted(left), self._counted(right)
            a, b = type(left), type(right)
        if a in _NOT_YET_TENSORS or b in _NOT_YET_TENSORS:
            left, right = self._as_tensors(sign, left, right, sides)
            a, b = type(left), type(right)
        if a is not Node and b is not Node:
            if a is Swept or b is Swept:
                return Swept()
            if isinstance(left, str) or isinstance(right, str):
                return self._text_binary(sign, left, right, place)
            if self._python_list(sign, left, right):
                return self._list_binary(sign, left, right, place, sides)
            left = left.value if type(left) is Input else left
            right = right.value if type(right) is Input else right
            if isinstance(left, (int, float)) and isinstance(right, (int, float)):
                return self._plain_binary(sign, left, right, place)
            return self._plain_arrays(sign, left, right, place, sides)
        if a is Swept or b is Swept:
            return Swept()
        op = INFIX.get(sign)
        if a is float or a is int:  # a number beside a node, the second common case
            left = self.operand(left, sides[0])
        elif b is float or b is int:
            right = self.operand(right, sides[1])
        if op is not None and op.scalar is not None and _are_plain_scalars(left, right):  # the common case by far
            if self.whole:
                self.whole.pop(left.number, None)
                self.whole.pop(right.number, None)
            return self.graph.add(op, (left, right), None, self.line)
        if op is None:
            raise GradError(
                meaning.not_in_language(self.span(place), f"`{sign}` between tensors", "use + - * / ** @ or a function")
            )
        kinds = op.operand_kinds or _NUMBERS
        operands = (self.operand(left, sides[0], kinds[0]), self.operand(right, sides[1], kinds[1]))
        if sign == "-" and operands[0].dtype == operands[1].dtype == "bool":
            raise GradError(self._masks_apart(place))
        if sign in "&|^":
            self._masks(operands, sides, sign)
        return self.apply(op, operands, None, place, sides)

    def overloaded(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """An operation that the class of an object defines; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def _as_tensors(self, sign: str, left: Any, right: Any, sides: tuple[ast.AST, ast.AST]) -> tuple[Any, Any]:
        """Both sides, picks and lists of nodes as the tensors that they stand for where a tensor is meant."""
        if type(left) is Pick or type(right) is Pick:
            left, right = (self.operand(v, p) for v, p in zip((left, right), sides, strict=True))
        if type(left) is Items and type(right) is not str and not self._python_list(sign, left, right):
            left = self.operand(left, sides[0])
        if type(right) is Items and type(left) is not str and not self._python_list(sign, left, right):
            right = self.operand(right, sides[1])
        return left, right

    def _python_list(self, sign: str, left: Any, right: Any) -> bool:
        """Whether Python's arithmetic of lists is meant, `hs + [h]` or `[None] * T`, and no tensor."""
        if sign in _OF_LISTS and self.lists_are_pythons:
            if sign == "+":
                return isinstance(left, (list, tuple)) and isinstance(right, (list, tuple))
            return (isinstance(left, (list, tuple)) and _is_count(right)) or (
                isinstance(right, (list, tuple)) and _is_count(left)
            )
        return (
            sign in _OF_LISTS
            and type(left) is not Node
            and type(right) is not Node
            and (_is_python_list(left) or _is_python_list(right))
        )

    @property
    def lists_are_pythons(self) -> bool:
        """Whether a bare list is Python's own, and no tensor: in a function, and in all of a program of PyTorch's."""
        return self.in_function or "torch" in self.imported

    def _counted(self, value: Any) -> Any:
        """How often a list is repeated, `[PAD] * k`: an input written as a whole number is just that number."""
        scalar = type(value) is Node and not value.shape
        counts = scalar and (value.number in self.raw or value.operands)
        return self.whole_number(self.plain(value)) if counts else value

    def _text_binary(self, sign: str, left: Any, right: Any, place: ast.AST) -> Any:
        """Python's own arithmetic of texts, of which names of entries are made: `"W" + str(i)`, `"W%d" % i`."""
        try:
            if sign == "+" and isinstance(left, str) and isinstance(right, str):
                return left + right
            if sign == "%" and isinstance(left, str) and len(left) < 1000 and not re.search(r"%[^a-z%]*\d{3}", left):
                return left % self.plain(right)
            if sign in ("==", "!="):
                return (left == right) is (sign == "==")
        except (TypeError, ValueError):
            pass
        for value in (left, right):
            if isinstance(value, str):
                raise GradError(self.no_number(value, place))
        raise AssertionError

    def _list_binary(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """Python's own arithmetic of lists: `hs + [h]`, `[None] * T`."""
        if sign == "+" and isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            return _grown([*left, *right])
        entries, times = (left, right) if isinstance(left, (list, tuple)) else (right, left)
        times = self.plain(times)
        if sign == "*" and _is_count(times) and isinstance(entries, (list, tuple)):
            self.allow((max(0, times) * len(entries),), place)
            return _grown(list(entries) * times)
        raise GradError(meaning.bare_list(self.span(sides[0]), sign, self.text(sides[0])))

    def _masks(self, operands: Sequence[Node], sides: Sequence[ast.AST], sign: str) -> None:
        for operand, side in zip(operands, sides, strict=True):
            if operand.dtype not in ("bool", "int64") and operand.number not in self.whole:
                raise GradError(
                    meaning.wrong_kind(
                        self.span(side),
                        f"`{sign}` is for masks",
                        f"this is {operand.dtype.removeprefix('weak ')}",
                        "compare first, as in `(a > 0) & (b > 0)`",
                    )
                )

    def _plain_binary(self, sign: str, left: Any, right: Any, place: ast.AST) -> Any:
        try:
            whole = sign == "**" and isinstance(left, int) and isinstance(right, int)
            if whole and left.bit_length() * right > 1100:
                raise OverflowError
            result = _PLAIN[sign](left, right)
        except ZeroDivisionError:
            raise GradError(meaning.division_by_zero(self.span(place))) from None
        except OverflowError:
            raise GradError(meaning.number_too_large(self.span(place), self.text(place))) from None
        except (KeyError, TypeError):
            raise GradError(
                meaning.not_in_language(self.span(place), f"`{sign}` between numbers", "use + - * / **")
            ) from None
        if isinstance(result, complex):
            raise GradError(
                meaning.wrong_kind(
                    self.span(place),
                    "formulas are about real numbers",
                    "this is complex",
                    "a negative base needs a whole exponent",
                )
            )
        too_large = isinstance(result, float) and math.isinf(result) and math.isfinite(left) and math.isfinite(right)
        if too_large or (isinstance(result, int) and result.bit_length() > 1023):
            raise GradError(meaning.number_too_large(self.span(place), self.text(place)))
        return result

    def _plain_arrays(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """Arithmetic of arrays of numbers.  With bare lists Python means something else by it, so it is refused."""
        op = INFIX.get(sign)
        values = (left, right)
        for value, side in zip(values, sides, strict=True):
            if isinstance(value, (list, tuple)) and not any(isinstance(v, np.ndarray) for v in values):
                raise GradError(meaning.bare_list(self.span(side), sign, self.text(side)))
        values = tuple(
            self.array(v, s) if isinstance(v, (list, tuple)) else v for v, s in zip(values, sides, strict=True)
        )
        for value, side in zip(values, sides, strict=True):
            if not isinstance(value, (int, float, np.ndarray)):
                raise GradError(self.no_number(value, side))
        if op is None:
            raise GradError(meaning.not_in_language(self.span(place), f"`{sign}` of lists", "use + - * / **"))
        try:
            shape = op.shape(*[getattr(v, "shape", ()) for v in values])
        except ShapeError as error:
            raise GradError(self.mismatch(error, place, sides, {})) from None
        self.allow(shape, place)
        if sign == "-" and all(np.asarray(v).dtype == bool for v in values):
            raise GradError(self._masks_apart(place))
        try:
            with np.errstate(all="ignore"):
                return np.asarray(op.forward(*values))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise GradError(meaning.cannot_evaluate(self.span(place), str(error))) from None

    def _masks_apart(self, place: ast.AST) -> Problem:
        return meaning.wrong_kind(self.span(place), "masks cannot be subtracted", "both are masks", "use `a & ~b`")


_WHOLE_DTYPES = ("weak int", "int64", "bool")
_WHOLE_SIGNS = frozenset({"+", "-", "*", "%", "//", "u-", "@"})
_KEEPS_WHOLE = frozenset(
    REGISTRY[name]
    for name in (
        *("sum", "prod", "max", "min", "maximum", "minimum", "abs", "reshape", "transpose", "ravel", "flatten"),
        *("concat", "stack", "identity", "zeros_like", "ones_like", "squeeze", "expand_dims", "where", "sort", "flip"),
        *("repeat", "tile", "cumsum", "stop_gradient"),
    )
) | {index, assigned}
"""Operators that make whole numbers of whole numbers."""

_OF_LISTS = ("+", "*")


def _is_python_list(value: Any) -> bool:
    """Whether a list can be no tensor, so that Python's own arithmetic of lists is meant."""
    if type(value) is Items:
        return value.grown or value.fixed or any(not _is_number(v) for v in value)
    return isinstance(value, (list, tuple)) and all(v is None or isinstance(v, str) for v in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _grown(entries: list[Any]) -> Items:
    items = Items(entries)
    items.grown = True
    return items


def _is_number(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return not _is_python_list(value)
    return isinstance(value, (Node, Pick, Input, bool, int, float, np.ndarray))


_WORDS: dict[type, str] = {
    Table: "a dictionary",
    Function: "a function",
    Bound: "a function",
    Known: "a function",
    Class: "a class",
    Instance: "an object",
    Swept: "a gradient",
    Stream: "a generator",
}
"""Values that are no numbers, in words."""


def _are_plain_scalars(left: Any, right: Any) -> bool:
    if type(left) is not Node or type(right) is not Node:
        return False
    return not left.shape and not right.shape and left.dtype in _PLAIN_FLOATS and right.dtype in _PLAIN_FLOATS

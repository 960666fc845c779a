"""Functions and classes of the file: a call is read where it stands, its body in names of its own."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from gradcli.graph import CONSTANT, INPUT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.language import Program
from gradcli.ops.create import Limits
from gradcli.ops.pass_on import stop_gradient
from gradcli.problems import GradError, Label, Problem, meaning
from gradcli.trace.arrays import holders
from gradcli.trace.control import Control, Return
from gradcli.trace.expressions import Silent
from gradcli.trace.spelling import LONG_NAMES, root_of
from gradcli.trace.values import (
    Apply,
    Bound,
    Chosen,
    Class,
    Counted,
    Factory,
    Function,
    Instance,
    Length,
    Owner,
    Poison,
    Scope,
    Stream,
    Swept,
    Table,
)

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

Words = dict[str, tuple[Any, ast.AST]]
"""The arguments of a call that are given by name, with where they are written."""


DEEPEST = 200
"""How often a function may be inside itself."""

FRAMES = 60
"""How many calls of Python's own one such call takes, at most."""


@contextlib.contextmanager
def deeper(depth: int) -> Iterator[None]:
    """Lets Python go deeper, as far as functions of the file that call themselves need."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 1000 + FRAMES * (depth + 1)))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Left(Exception):
    """A loop over a generator was left, by an exception of its own or because nothing more is to be read."""

    def __init__(self, why: BaseException | None = None) -> None:
        super().__init__()
        self.why = why


_FRAME = (
    *("names", "scopes", "owner", "part", "line", "plain_mode", "deciding", "declared"),
    *("line_fixed", "loops", "in_function", "active", "callers", "takers"),
)
"""What belongs to the call that is being read."""


class Functions(Control):
    """Calls functions of the file."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64") -> None:
        super().__init__(program, limits, dtype)
        self.problems: list[Problem] = []
        self.active: list[Function] = []
        self.callers: list[Scope] = []
        """The names of the calls around the one that is being read."""
        self.without_gradient = False
        """Whether what is read has no gradients, as in `with torch.no_grad():`."""
        self.regained: set[int] = set()
        """The numbers of nodes that were read with gradients inside such a block."""
        self.loops = 0
        """How many loops of the call that is being read are around the statement."""

    @contextlib.contextmanager
    def gradients(self, wanted: bool | None) -> Iterator[None]:
        """What is read inside has gradients, or has none; None leaves that as it is."""
        first = len(self.graph.nodes)
        before = self.without_gradient
        if wanted is not None:
            self.without_gradient = not wanted
        try:
            yield
        finally:
            self.without_gradient = before
            if wanted is True:
                self.regained.update(range(first, len(self.graph.nodes)))
            elif wanted is False:
                for node in self.graph.nodes[first:]:
                    if node.op is not INPUT and node.number not in self.regained:
                        node.differentiable = False
                        self.without.add(node.number)

    def forget(self, nodes: int) -> None:
        """Takes back nodes, and what was said of them."""
        super().forget(nodes)
        for marked in (self.regained, self.without):
            if marked and max(marked) >= nodes:
                marked.difference_update([number for number in marked if number >= nodes])

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Reads the statements of a body."""
        raise NotImplementedError

    def loop_body(self, statements: Sequence[ast.stmt]) -> None:
        """Reads the statements of a loop once."""
        self.loops += 1
        try:
            self.block(statements)
        finally:
            self.loops -= 1

    # Calls -----------------------------------------------------------------------------------

    def call_function(
        self,
        function: Function,
        values: list[Any],
        words: Words,
        place: ast.AST,
        owner: Owner | None = None,
        places: Sequence[ast.AST] = (),
        running: bool = False,
    ) -> Any:
        """The value of a call: the body is read with the parameters' names bound to the arguments.

        That of a generator is a stream; its body is read when that is `running`.
        """
        if function.yields and not running:
            return self.stream(function, values, words, place, owner, places)
        depth = sum(function.tree is other.tree for other in self.active)
        if depth >= DEEPEST:
            raise GradError(meaning.recursion(self.span(place), function.name))
        if depth:
            with deeper(depth):
                return self._called(function, values, words, place, owner, places)
        return self._called(function, values, words, place, owner, places)

    def _called(
        self,
        function: Function,
        values: list[Any],
        words: Words,
        place: ast.AST,
        owner: Owner | None,
        places: Sequence[ast.AST],
    ) -> Any:
        self.count_step(place)
        names = self._arguments(function, values, words, place, places)
        function.calls += 1
        if owner is None:
            name = function.name if function.name != "<lambda>" else "lambda"
            owner = Owner(f"{name}{'_' if name[-1:].isdigit() else ''}{function.calls}", call=True)
        else:
            owner = Owner("", owner, call=True)
        before = (
            self.names,
            self.scopes,
            self.owner,
            self.part,
            self.line,
            self.plain_mode,
            self.deciding,
            self.declared,
        )
        fixed, faults = self.line_fixed, len(self.problems)
        loops, self.loops = self.loops, 0
        self.names, self.scopes, self.owner, self.part = names, function.scopes, owner, function.part
        self.plain_mode = self.deciding = False
        self.declared = {}
        self.line_fixed = fixed or function.library
        self.active.append(function)
        self.callers.append(before[0])
        self.in_function = True
        try:
            with self.gradients(function.gradients):
                result = self._body(function)
        except GradError as error:
            if not function.library or fixed:
                raise
            result = error
        finally:
            self.active.pop()
            self.callers.pop()
            self.in_function = bool(self.active)
            self.names, self.scopes, self.owner, self.part, self.line, self.plain_mode, self.deciding, self.declared = (
                before
            )
            self.line_fixed, self.loops = fixed, loops
            owner.finished = True
        if isinstance(result, GradError):
            raise GradError(*[self._at_the_call(problem, place) for problem in result.problems])
        if len(self.problems) > faults:
            raise Silent
        return result

    # Generators ------------------------------------------------------------------------------

    def stream(
        self,
        function: Function,
        values: list[Any],
        words: Words,
        place: ast.AST,
        owner: Owner | None,
        places: Sequence[ast.AST],
    ) -> Stream:
        """What a call of a generator gives: whoever takes a value does so in the names around the loop."""

        def run(take: Callable[[Any], None]) -> None:
            outside = self._frame()
            outside |= {name: list(outside[name]) for name in ("active", "callers", "takers")}
            faults = len(self.problems)

            def taken(value: Any) -> None:
                inside = self._frame()
                self._resume(outside, also=inside["names"])
                try:
                    take(value)
                except (Left, Exception) as error:
                    raise Left(error) from None
                finally:
                    self._resume(inside)

            self.takers.append(taken)
            try:
                self.call_function(function, values, words, place, owner, places, running=True)
            except Left as left:
                if left.why is not None:
                    raise left.why from None
                raise
            except Silent:
                if len(self.problems) == faults:
                    raise
                raise Left from None  # what is wrong was told
            finally:
                self.takers.pop()

        return Stream(run)

    def _frame(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FRAME}

    def _resume(self, frame: dict[str, Any], also: Scope | None = None) -> None:
        """Goes on in another call; `also` are names of the one that waits meanwhile."""
        for name, value in frame.items():
            setattr(self, name, value)
        if also is not None:
            self.callers = [*self.callers, also]

    def each(self, value: Any, place: ast.AST, turn: Callable[[Any], None]) -> None:
        """Hands to a function what a loop over a value runs through, one after another."""
        if isinstance(value, Instance) and value.cls.find("__iter__") is not None:
            value = self.entry_of(value, Ellipsis, place)
        if type(value) is Stream:
            value.give(turn)
            return
        for part in self.iterate(value, place):
            turn(part)

    def is_lazy(self, value: Any) -> bool:
        """Whether a value gives what is in it one after another."""
        found = value.cls.find("__iter__") if isinstance(value, Instance) else None
        return type(value) is Stream or (isinstance(found, Function) and found.yields)

    def _at_the_call(self, problem: Problem, place: ast.AST) -> Problem:
        """The problem of a library's line, told at the line that called it."""
        inside = [label.text for label in problem.labels if label.text]
        notes = (*problem.notes, f"inside the call: {'; '.join(inside)}") if inside else problem.notes
        return replace(problem, labels=(Label(self.span(place), "in this call"),), notes=notes)

    def _body(self, function: Function) -> Any:
        if isinstance(function.tree, ast.Lambda):
            return self.value(function.tree.body)
        try:
            self.block(function.tree.body)
        except Return as returned:
            return returned.value
        return None

    def _arguments(
        self, function: Function, values: list[Any], words: Words, place: ast.AST, places: Sequence[ast.AST]
    ) -> Scope:
        """The parameters of a call by name.  Raises GradError for too many, too few, and unknown ones."""
        parameters = function.tree.args
        names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        given: Scope = dict(zip(names, values, strict=False))
        if len(values) > len(names):
            if parameters.vararg is None:
                raise GradError(self._count(function, place, len(values) + len(words)))
            given[parameters.vararg.arg] = tuple(values[len(names) :])
        elif parameters.vararg is not None:
            given[parameters.vararg.arg] = ()
        others: dict[str, Any] = {}
        keyword_only = [a.arg for a in parameters.kwonlyargs]
        for word, (value, at) in words.items():
            if word in given and word in names:
                raise GradError(
                    meaning.argument_count(self.span(at), called(function), f"`{word}` once", 2, usage(function))
                )
            if word in names or word in keyword_only:
                given[word] = value
            elif parameters.kwarg is not None:
                others[word] = value
            else:
                known = [*names, *keyword_only]
                raise GradError(meaning.unknown_argument(self.span(at), called(function), word, known, usage(function)))
        if parameters.kwarg is not None:
            given[parameters.kwarg.arg] = Table(others)
        first = len(names) - len(function.defaults)
        for number, name in enumerate(names):
            if name not in given:
                if number < first:
                    raise GradError(self._count(function, place, len(values) + len(words)))
                given[name] = function.defaults[number - first]
        for name, default in zip(keyword_only, function.keyword_defaults, strict=True):
            if name not in given:
                if default is Poison:
                    raise GradError(self._count(function, place, len(values) + len(words)))
                given[name] = default
        return given

    def _count(self, function: Function, place: ast.AST, found: int) -> Problem:
        parameters = function.tree.args
        names = [*parameters.posonlyargs, *parameters.args]
        least, most = len(names) - len(function.defaults), len(names) + len(parameters.kwonlyargs)
        if names and names[0].arg == "self":
            least, most, found = least - 1, most - 1, max(0, found - 1)
        expected = f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"
        if parameters.vararg is not None:
            expected = f"at least {least} argument{'s' * (least != 1)}"
        return meaning.argument_count(self.span(place), called(function), expected, found, usage(function))

    def define_function(self, tree: ast.FunctionDef | ast.Lambda, name: str) -> Function:
        """A function as a value; its default arguments are read now."""
        defaults = [self.value(d) for d in tree.args.defaults]
        keyword_defaults = [Poison if d is None else self.value(d) for d in tree.args.kw_defaults]
        scopes = (self.names, *self.scopes)
        yields = isinstance(tree, ast.FunctionDef) and _yields(tree)
        return Function(
            name, tree, self.part, scopes, defaults, keyword_defaults, library=self.line_fixed, yields=yields
        )

    # Classes and objects ------------------------------------------------------------------------

    def make(self, cls: Class, values: list[Any], words: Words, place: ast.AST) -> Any:
        """A new object: `Net(2, 3)`."""
        instance = Instance(cls, place)
        first = cls.find("__init__")
        if isinstance(first, Function):
            self.call_function(first, [instance, *values], words, place, instance.owner)
        elif fields := cls.members.get("__annotations__"):
            for name, value in zip(fields, values, strict=False):
                self.set_member(instance, name, value, place)
            for word, (value, at) in words.items():
                self.set_member(instance, word, value, at)
            self._fill_in(instance, fields, place)
        elif values or words:
            raise GradError(
                meaning.argument_count(
                    self.span(place), cls.name, "no arguments", len(values) + len(words), f"{cls.name}()"
                )
            )
        return instance

    def _fill_in(self, instance: Instance, fields: Sequence[str], place: ast.AST) -> None:
        """Gives a dataclass's fields that were left out their defaults."""
        from gradcli.trace.calls import call_value

        for name in fields:
            default = instance.cls.members.get(name, self.missing)
            if name in instance.attributes or default is self.missing:
                continue
            if isinstance(default, Factory):
                default = call_value(cast("Interpreter", self), default.function, [], {}, place)
            self.set_member(instance, name, default, place)
        after = instance.cls.find("__post_init__")
        if isinstance(after, Function):
            self.call_function(after, [instance], {}, place, instance.owner)

    def member(self, base: Any, place: ast.Attribute) -> Any:
        """An attribute of an object or a class."""
        name = place.attr
        if isinstance(base, Swept):
            return base
        if isinstance(base, Instance) and name in base.attributes:
            value = base.attributes[name]
            if value is Poison:
                raise Silent
            return self.plain(value) if self.plain_mode and type(value) is Node and value.number in self.raw else value
        cls = base.cls if isinstance(base, Instance) else base
        found = cls.find(name)
        if isinstance(found, Function):
            if found.kind == "property" and isinstance(base, Instance):
                return self.call_function(found, [base], {}, place, base.owner)
            bound = found.kind == "classmethod" or (isinstance(base, Instance) and found.kind != "staticmethod")
            return Bound(found, cls if found.kind == "classmethod" else base) if bound else found
        if found is not None:
            return found
        if name == "training" and isinstance(base, Instance):
            return True
        if name == "apply" and isinstance(base, Class) and base.find("forward") is not None:
            return Apply(base)
        if name in ("__class__", "__name__"):
            return cls if name == "__class__" else cls.name
        known = [*(base.attributes if isinstance(base, Instance) else ()), *cls.members]
        raise GradError(
            meaning.unknown_member(self.span(place), self.text(place), [f"{self.text(place.value)}.{k}" for k in known])
        )

    def entry_of(self, base: Instance, key: Any, place: ast.AST) -> Any:
        """`model[0]`, by the object's own method; what it runs through, for a key of `...`."""
        if base.cls.builds_on("NamedTuple") and isinstance(key, int) and -len(base.attributes) <= key:
            values = list(base.attributes.values())
            if key < len(values):
                return values[key]
        name = "__iter__" if key is Ellipsis else "__getitem__"
        function = base.cls.find(name)
        if not isinstance(function, Function):
            raise GradError(self.no_number(base, place))
        return self.call_function(function, [base, *([] if key is Ellipsis else [key])], {}, place, base.owner)

    def overloaded(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        """`a + b` of objects, by the method that their class has for it: `__add__`, or `__radd__` of the right one."""
        name = OVERLOADS.get(sign, "")
        for base, other, spelling in (
            (left, right, name),
            (right, left, REFLECTED.get(sign, name.replace("__", "__r", 1))),
        ):
            function = base.cls.find(spelling) if isinstance(base, Instance) and name else None
            if isinstance(function, Function):
                other = self.picked_or_plain(other, place)
                return self.call_function(function, [base, other], {}, place, base.owner if sign in REFLECTED else None)
        if sign in ("==", "!=") and name:
            return (left is right) is (sign == "==")
        at = 0 if isinstance(left, Instance) else 1
        raise GradError(self.no_number((left, right)[at], sides[at]))

    def one_sided(self, sign: str, value: Instance, place: ast.AST) -> Any:
        """`-a` or `abs(a)` of an object."""
        function = value.cls.find(sign)
        if not isinstance(function, Function):
            raise GradError(self.no_number(value, place))
        return self.call_function(function, [value], {}, place)

    def is_stepped(self, member: str) -> bool:
        """Whether the function that is read, or another method of its object, has a line such as `b -= lr * db`."""
        if not self.active or self.line_fixed:
            return False
        function = self.active[-1]
        if member in _stepped(function.tree):
            return True
        if function.owner is None:
            return False
        methods = [m.tree for m in function.owner.members.values() if isinstance(m, Function)]
        return any(f"self.{member}" in _stepped(tree) for tree in methods)

    def length_of(self, base: Instance, place: ast.AST) -> int:
        """`len(dataset)`, by the object's own method."""
        function = base.cls.find("__len__")
        found = self.call_function(function, [base], {}, place, base.owner)
        length = self.whole_number(self.plain(found))
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            expected = "a whole number from 0"
            raise GradError(meaning.wrong_argument(self.span(place), "a length", expected, self.found(found)))
        return int(length)

    def set_member(self, base: Instance | Class, name: str, value: Any, place: ast.AST) -> None:
        """`self.W = …`"""
        if isinstance(base, Class):
            base.members[name] = value
            return
        if type(value) in (float, int, Counted, Length) and self._is_given(base, value, place):
            value = Chosen(value)  # it varies
        before = base.attributes.get(name)
        if type(before) is Node and self.overwrite(before, value, place):
            return
        library = base.cls.find("__library__")
        hidden = name.startswith("_") and library
        kept = base.attributes[name] = self.adopt(value, base.owner, "" if hidden else name, place)
        if type(before) is Node and before is not kept:
            self._drop(before, (base.owner, name))
            if type(kept) is Node and kept.number in self.parameter_numbers and kept.number < before.number:
                self.note(f"`{name}` becomes another name of a parameter that there is already")
        if library and type(kept) is Node and kept.op is INPUT and not name.startswith("running_"):
            self.parameter_numbers.add(kept.number)

    def _is_given(self, base: Instance, value: float, place: ast.AST) -> bool:
        """Whether a number is what an object of a class of numbers was made of, by the program and not by the class."""
        if not isinstance(place, ast.Name) or not self.active or not is_number_class(base.cls):
            return False
        first, others = self.active[-1], self.active[:-1]
        parameters = [a.arg for a in first.tree.args.args[1:]]
        if type(value) is not float:  # one that may be left out is as likely a setting
            parameters = parameters[: len(parameters) - len(first.defaults)]
        return (
            first.name == "__init__"
            and place.id in parameters
            and not any(f.owner is not None and f.owner is first.owner for f in others)
        )

    def _drop(self, node: Node, key: tuple[Owner, str]) -> None:
        """Takes the name from a leaf that nothing has used, and that nobody holds any longer."""
        if node.op is not INPUT or self.local.get(node.number) != key:
            return
        held = any(value is node for _, _, value in holders(self))
        later = (other for other in self.graph.nodes[node.number :] if other.op is not stop_gradient)
        if held or any(node in other.operands for other in later):
            return
        self.definitions[key[0]][key[1]].remove(node)
        self.local.pop(node.number)
        self.parameter_numbers.discard(node.number)
        node.op, node.differentiable, node.name = CONSTANT, False, f"array of shape {node.shape}"

    def parameters(self, value: Any) -> list[Node]:
        """The nodes in an object, a container and whatever is in them."""
        found: dict[int, Node] = {}
        stack, seen = [value], set()
        while stack:
            part = stack.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if type(part) is Node:
                found[part.number] = part
            elif isinstance(part, Instance):
                stack.extend(reversed(part.attributes.values()))
            elif isinstance(part, dict):
                stack.extend(reversed(part.values()))
            elif isinstance(part, (list, tuple)):
                stack.extend(reversed(part))
        return list(found.values())


OVERLOADS = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "**": "__pow__",
    "@": "__matmul__",
    "<": "__lt__",
    "<=": "__le__",
    ">": "__gt__",
    ">=": "__ge__",
    "==": "__eq__",
    "!=": "__ne__",
}
"""The methods that Python looks for where objects are operands."""

REFLECTED = {"<": "__gt__", "<=": "__ge__", ">": "__lt__", ">=": "__le__", "==": "__eq__", "!=": "__ne__"}
"""Of comparisons, the method of the right operand."""


def _yields(tree: ast.FunctionDef) -> bool:
    """Whether a function is a generator: it yields itself, and not only a function inside it."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        part = stack.pop()
        if isinstance(part, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(part, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(part))
    return False


@lru_cache(maxsize=256)
def _stepped(tree: ast.AST) -> frozenset[str]:
    """What a function changes by what is spelled like its gradient: names, and attributes of `self`."""
    found = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Sub, ast.Add)):
            target: ast.expr = part.target
        elif isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.value, ast.BinOp):
            target = part.targets[0]
        else:
            continue
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        text = ast.unparse(target)
        name = text.rpartition(".")[2].lower()
        words = [w for w in ast.walk(part.value) if isinstance(w, (ast.Name, ast.Attribute))]
        itself = isinstance(part, ast.AugAssign) or any(ast.unparse(w) == text for w in words)
        roots = {root_of(w.id if isinstance(w, ast.Name) else w.attr) for w in words}
        if itself and not root_of(name) and any(name == r or name in LONG_NAMES.get(r, ()) for r in roots if r):
            found.add(text)
    return frozenset(found)


def is_number_class(cls: Class) -> bool:
    """Whether a class of the file is one of numbers, with an arithmetic of its own."""
    return not cls.find("__library__") and any(cls.find(OVERLOADS[sign]) is not None for sign in "+*")


def number_of(value: Instance) -> Node | None:
    """What an object of such a class is the number of: the first of its attributes that is computed with."""
    return next((part for part in value.attributes.values() if type(part) is Node and part.dtype in FLOATS), None)


def usage(function: Function) -> str:
    """How a function of the file is called."""
    parameters = function.tree.args
    positional = [*parameters.posonlyargs, *parameters.args]
    first = len(positional) - len(parameters.defaults)
    parts = [
        a.arg if at < first else f"{a.arg}={ast.unparse(parameters.defaults[at - first])}"
        for at, a in enumerate(positional)
    ]
    if parameters.vararg is not None:
        parts.append(f"*{parameters.vararg.arg}")
    for a, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        parts.append(a.arg if default is None else f"{a.arg}={ast.unparse(default)}")
    if parts[:1] == ["self"]:
        parts = parts[1:]
    return f"{called(function)}({', '.join(parts)})"


def called(function: Function) -> str:
    """What a function is called by: an object is made by the name of its class."""
    return function.owner.name if function.name == "__init__" and function.owner is not None else function.name

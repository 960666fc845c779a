"""Functions and classes of the file: a call is read where it stands, its body in names of its own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gradcli.graph import INPUT, Node
from gradcli.language import Program
from gradcli.ops.create import Limits
from gradcli.problems import GradError, Label, Problem, meaning
from gradcli.trace.control import Control, Return
from gradcli.trace.expressions import Silent
from gradcli.trace.values import (
    Apply,
    Bound,
    Class,
    Function,
    Instance,
    Owner,
    Poison,
    Scope,
    Swept,
    Table,
)

Words = dict[str, tuple[Any, ast.AST]]
"""The arguments of a call that are given by name, with where they are written."""


class Functions(Control):
    """Calls functions of the file."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64") -> None:
        super().__init__(program, limits, dtype)
        self.problems: list[Problem] = []
        self.active: list[Function] = []
        self.callers: list[Scope] = []
        """The names of the calls around the one that is being read."""
        self.loops = 0
        """How many loops of the call that is being read are around the statement."""
        self.line_fixed = False
        """Whether the lines that are read are a library's, so that nodes belong to the line that calls it."""

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
    ) -> Any:
        """The value of a call: the body is read with the parameters' names bound to the arguments."""
        if any(function.tree is other.tree for other in self.active):
            raise GradError(meaning.recursion(self.span(place), function.name))
        self.count_step(place)
        names = self._arguments(function, values, words, place, places)
        function.calls += 1
        if owner is None:
            name = function.name if function.name != "<lambda>" else "lambda"
            owner = Owner(f"{name}{'_' if name[-1:].isdigit() else ''}{function.calls}")
        else:
            owner = Owner("", owner)
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
        return Function(name, tree, self.part, scopes, defaults, keyword_defaults, library=self.line_fixed)

    # Classes and objects ------------------------------------------------------------------------

    def make(self, cls: Class, values: list[Any], words: Words, place: ast.AST) -> Any:
        """A new object: `Net(2, 3)`."""
        instance = Instance(cls)
        first = cls.find("__init__")
        if isinstance(first, Function):
            self.call_function(first, [instance, *values], words, place, instance.owner)
        elif fields := cls.members.get("__annotations__"):
            for name, value in zip(fields, values, strict=False):
                self.set_member(instance, name, value, place)
            for word, (value, at) in words.items():
                self.set_member(instance, word, value, at)
        elif values or words:
            raise GradError(
                meaning.argument_count(
                    self.span(place), cls.name, "no arguments", len(values) + len(words), f"{cls.name}()"
                )
            )
        return instance

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
        name = "__iter__" if key is Ellipsis else "__getitem__"
        function = base.cls.find(name)
        if not isinstance(function, Function):
            raise GradError(self.no_number(base, place))
        return self.call_function(function, [base, *([] if key is Ellipsis else [key])], {}, place, base.owner)

    def set_member(self, base: Instance | Class, name: str, value: Any, place: ast.AST) -> None:
        """`self.W = …`"""
        if isinstance(base, Class):
            base.members[name] = value
            return
        before = base.attributes.get(name)
        if type(before) is Node and self.overwrite(before, value, place):
            return
        library = base.cls.find("__library__")
        hidden = name.startswith("_") and library
        kept = base.attributes[name] = self.adopt(value, base.owner, "" if hidden else name, place)
        if library and type(kept) is Node and kept.op is INPUT and not name.startswith("running_"):
            self.parameter_numbers.add(kept.number)

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

"""Pasted backward code: loops, calls and containers, in which one line of text is passed many times.

What a line is about depends on the pass: `dh[t]` on the t of the loop, and in the body of a function `dW` on what the
`W` of this call is.  An entry of a dictionary, `grads["dW" + str(l)]`, and an attribute, `self.dW`, are names, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, INPUT, SYMBOL, Node
from gradcli.homework.points import Evaluator, Point
from gradcli.homework.sheet import Kind, Sheet, Target
from gradcli.homework.spelling import Spelling
from gradcli.language import Part, Program
from gradcli.ops.create import Limits
from gradcli.problems import GradError
from gradcli.trace.expressions import Silent
from gradcli.trace.interpreter import Interpreter
from gradcli.trace.values import Class, Function, Input, Instance, Items, Owner, Pick, Scope, Table, entry_label

_GRADIENTS = re.compile(r"grad|^d$|^g$|^d_|^dparam|deriv", re.IGNORECASE)
"""Names of dictionaries whose entries are the gradients of what bears the entry's name."""

_UPSTREAM = re.compile(r"d|g|dy|dout|delta|grad|gradient|upstream|grad_out(put)?|dL|d_out|seed")
"""Names of the gradient that arrives at a function's result."""


class Pasted(Interpreter):
    """What a left side means where it stands."""

    def __init__(self, sheet: Sheet, program: Program, environment: Scope, spelling: Spelling) -> None:
        super().__init__(program, Limits(sheet.report.traced.source.directory))
        self.sheet = sheet
        self.graph = sheet.graph
        self.names = self.globals = environment
        self.spelling = spelling
        self.raw = dict(sheet.report.traced.raw)
        self._around: list[tuple[ast.For | ast.While, Scope] | str] = []
        self.call = self._calls = 0
        """The number of the call that is being read, and of the last one; 0 outside of functions."""
        self._uncalled = False
        """Whether a function is read that nothing calls, whose names are those of the file."""
        self._given: dict[str, int] = {}
        """How often a name was given to a gradient anew."""

        self._forward = {id(f.tree) for f in _functions(environment.values()) if f.calls}
        """The functions of the formula file that it calls itself: what they compute is no derivation."""
        self._evaluator = Evaluator(sheet)
        self._here = Point(sheet, list(sheet.report.values))

    def bring(self, part: Part) -> None:
        """Takes over what the formula file imports."""
        self.part = part
        for statement in part.statements:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.line = part.line_of(statement)
                super()._guarded(statement)
        self.result.notes.clear()

    # What the lines turn on ------------------------------------------------------------------------------

    def value_of(self, node: Node) -> Any:
        """The value of a node at the file's inputs, with the student's own values."""
        value = self._evaluator.students(node, self._here)
        if value is None:
            raise CannotEvaluate(node, "a line that it uses has no value")
        if np.asarray(value).dtype.kind in "iu":
            self.sheet.decided.append((node, value))
        return value

    def whole_values(self, node: Node) -> Any:
        """Truth values and whole numbers on which it depends how the lines go on."""
        value = self.value_of(node)
        self.sheet.decided.append((node, value))
        return value

    def truth(self, value: Any, place: ast.AST) -> bool:
        """Whether a value counts as true at these inputs; other points at which lines are compared keep to it."""
        holds = super().truth(value, place)
        if type(value) is Node and value.dtype == "bool":
            self.sheet.decided.append((value, self.value_of(value)))
        return holds

    def _input(self, value: Any, owner: Owner | None, member: str, place: ast.AST) -> Node:
        """Numbers that a function of the file makes are numbers: nothing is derived from them."""
        node = super()._input(value, owner, member, place)
        node.op, node.differentiable = CONSTANT, False
        return node

    def _is_written(self, node: Node) -> bool:
        """Whether an array is made of written numbers alone, and becomes an input: none does here."""
        return False

    def plain(self, value: Any) -> Any:
        """A value as a plain number; other points at which lines are compared keep to those of the file."""
        number = value.base.number if type(value) is Pick else value.number if type(value) is Node else -1
        if number in self.raw:
            self._fix(self.graph.nodes[number])
        return super().plain(value)

    def _fix(self, node: Node) -> None:
        """Keeps the inputs from which a number comes as they are."""
        stack = [node]
        while stack:
            top = stack.pop()
            stack.extend(top.operands)
            if top.op is INPUT:
                self.sheet.fixed.add(top.number)

    def forget(self, nodes: int) -> None:
        """Takes back nodes, unless a line stands among them."""
        if not any(node.op is SYMBOL for node in self.graph.nodes[nodes:]):
            super().forget(nodes)

    @property
    def derives(self) -> bool:
        """Whether what is read is somebody's derivation, and not a function of the formula file that it uses."""
        return not any(id(function.tree) in self._forward for function in self.active)

    # Where a line stands -----------------------------------------------------------------------------

    @contextmanager
    def _inside(self, place: tuple[ast.For | ast.While, Scope] | str) -> Iterator[None]:
        self._around.append(place)
        try:
            yield
        finally:
            self._around.pop()

    def _guarded(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.For, ast.While)):
            with self._inside((statement, self.names)):
                super()._guarded(statement)
            return
        super()._guarded(statement)

    def call_function(self, function: Function, *arguments: Any, **more: Any) -> Any:
        """The value of a call, whose lines are lines of the sheet."""
        again = f"call {function.calls + 1} of {function.name}" if function.calls else ""
        self._calls += 1
        before, self.call = self.call, self._calls
        try:
            with self._inside(again):
                return super().call_function(function, *arguments, **more)
        finally:
            self.call = before

    def where(self) -> str:
        """In which pass of the loops and calls around it a line is read: `t = 3`, `call 2 of backward`."""
        parts: list[str] = []
        for place in self._around:
            if isinstance(place, str):
                parts += [place] if place else []
                continue
            loop, scope = place
            moved = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            for name in ast.walk(loop.target if isinstance(loop, ast.For) else loop.test):
                if isinstance(name, ast.Name) and name.id in moved and (shown := self._shown(scope.get(name.id))):
                    parts.append(f"{name.id} = {shown}")
        return ", ".join(dict.fromkeys(parts))

    def _shown(self, value: Any) -> str:
        """What a loop's variable is in a pass, in a word; "" if that would be long."""
        if type(value) is Pick:
            whole = self.raw.get(value.base.number)
            if whole is None and value.base.dtype == "int64":
                whole = self.value_of(value.base)
            if whole is not None and np.ndim(whole) == 1:
                return str(whole[value.key])
            return f"{value.base.name}[{value.key}]" if value.base.name else ""
        if type(value) is Node and value.number not in self.sheet.lines_of:
            value = self.whole_number(value)
        return str(value) if isinstance(value, (int, str)) else ""

    def __contains__(self, name: object) -> bool:
        """Whether a name means something here."""
        return self.look_up(str(name)) is not self.missing

    # What a left side is about -------------------------------------------------------------------------

    def target(self, left: ast.expr, right: ast.expr | None = None) -> Target | None:
        """What a claim with this left side is about; None if it is an expression of its own."""
        place = self._indexed(left)
        if isinstance(place, Target):
            return place
        found = self._of_call(place.id) if self.in_function and isinstance(place, ast.Name) else None
        found = found or self.spelling.target(place)
        if found is None:
            member = isinstance(place, ast.Subscript)
            holder = self._held(place.value) if isinstance(place, ast.Subscript) else None
            free = member and (holder is None or isinstance(holder, (Table, Items)))
            return Target(Kind.HELPER, ast.unparse(place)) if free else None
        if found.kind is Kind.VALUE and self.in_function:
            return Target(Kind.HELPER, found.name)
        if found.kind is Kind.VALUE and (self._looped() or self._is_update(found, right)):
            return Target(Kind.HELPER, found.name)
        if found.kind is Kind.HELPER and isinstance(place, ast.Name):
            return self._of_call(place.id) or found
        return self._of_pass(found, place, right) if isinstance(place, ast.Name) else found

    def _is_update(self, target: Target, right: ast.expr | None) -> bool:
        """Whether a line gives an input other numbers, as a step of training does: `W = W - lr * dW`."""
        inner = right is not None and any(isinstance(n, ast.Name) and n.id == target.name for n in ast.walk(right))
        return inner and target.node is not None and not target.node.operands

    def _of_call(self, word: str) -> Target | None:
        """The gradient that `dW` names where W is a name of the call, or another name for a node of the file."""
        for stem in self.spelling.stems(word):
            value = self.look_up(stem)
            if value is not self.missing:
                value = self.picked(value, ast.Constant(0)) if type(value) is Pick else value
                return self._about(value) or (Target(Kind.HELPER, word) if self.in_function else None)
        return Target(Kind.HELPER, word) if self.in_function and word in self.names else None

    def is_local(self, left: ast.expr, target: Target | None) -> bool:
        """Whether a claim is about a name of the call: what it says of W may be only what this call sends there."""
        called = self.in_function and not self._uncalled
        return called and target is not None and target.kind is Kind.GRADIENT and isinstance(left, ast.Name)

    def _about(self, value: Any) -> Target | None:
        """The gradient of a value, if it is a node of the file that has one."""
        if type(value) is Node and value.number < self.sheet.first and value.differentiable and value.name:
            return self.spelling.gradient(value)
        return None

    def _of_pass(self, target: Target, place: ast.Name, right: ast.expr | None) -> Target:
        """Of a name that the file gives to several nodes, the last first, as a loop that goes back meets them."""
        if target.kind is not Kind.GRADIENT or target.node is None:
            return target
        versions = self.spelling.versions(target.node)
        if len(versions) < 2:
            return target
        count = self._given.get(place.id, 0)
        goes_on = right is not None and any(isinstance(n, ast.Name) and n.id == place.id for n in ast.walk(right))
        if not goes_on or not count:
            count += 1
            self._given[place.id] = count
        return self.spelling.gradient(versions[-min(count, len(versions))]) if self._looped() else target

    def _looped(self) -> bool:
        """Whether a loop is around what is read."""
        return any(not isinstance(around, str) for around in self._around)

    def _indexed(self, left: ast.expr) -> ast.expr | Target:
        """A left side with the numbers of its indices; of an entry of a dictionary or an object, what it is about."""
        match left:
            case ast.Subscript(ast.Constant(), _):
                return left
            case ast.Subscript(base, key) if isinstance(base, (ast.Name, ast.Attribute, ast.Subscript)):
                holder = self._held(base)
                if holder is not None and not isinstance(holder, (Table, Items)):
                    return left
                found = self._quietly(key)
                if isinstance(found, str):
                    return self._of_entry(self._path(base), found, left)
                if isinstance(holder, Items) and isinstance(found, int):
                    found %= max(1, len(holder))
                if isinstance(base, ast.Name) and type(found) in (int, tuple) and not _holds_slices(found):
                    settled = ast.Subscript(base, ast.parse(repr(found), mode="eval").body, ast.Load())
                    return ast.copy_location(settled, left)
            case ast.Attribute(base, name) if name != "grad":
                holder = self._held(base)
                if isinstance(holder, Instance):
                    for stem in self.spelling.stems(name):
                        if (about := self._about(holder.attributes.get(stem))) is not None:
                            return about
                    word = self.spelling.target(ast.copy_location(ast.Name(name, ast.Load()), left))
                    gradient = word if word is not None and word.kind is Kind.GRADIENT else None
                    return gradient or Target(Kind.HELPER, self.text(left))
        return left

    def _path(self, base: ast.expr) -> str:
        """How a container is written, with the keys that it stands under: `grads["a"]`."""
        if isinstance(base, ast.Subscript):
            key = self._quietly(base.slice)
            return f"{self._path(base.value)}{entry_label(key)}" if isinstance(key, (str, int)) else self.text(base)
        return self.text(base)

    def _of_entry(self, holder: str, key: str, left: ast.expr) -> Target:
        """What an entry of a dictionary is about: `grads["dW1"]`, `grads["W1"]`."""
        outer, bracket, rest = holder.partition("[")
        if bracket and _GRADIENTS.search(outer):  # grads["a"]["w"] of params["a"]["w"]
            end = f"[{rest}{entry_label(key)}"
            nodes = [n for name, n in self.spelling.nodes.items() if name.endswith(end) and n.differentiable]
            if len(nodes) == 1:
                return self.spelling.gradient(nodes[0])
        found = self.spelling.target(ast.copy_location(ast.Name(key, ast.Load()), left))
        if found is not None and found.kind is Kind.GRADIENT:
            return found
        if (node := self.spelling.member(key)) is not None and _GRADIENTS.search(holder.rpartition(".")[2]):
            return self.spelling.gradient(node)
        for stem in self.spelling.stems(key):
            if (node := self.spelling.member(stem)) is not None:
                return self.spelling.gradient(node)
        return Target(Kind.HELPER, f"{holder}{entry_label(key)}")

    def _held(self, base: ast.expr) -> Any:
        """What a name or an attribute holds; None if there is nothing."""
        if isinstance(base, ast.Name):
            value = self.look_up(base.id)
            return None if value is self.missing else value
        return self._quietly(base, plain=False)

    def _quietly(self, place: ast.expr, *, plain: bool = True) -> Any:
        """The value of an expression; None if it has none, which is said where the line is read."""
        count = len(self.graph.nodes)
        try:
            return self.plain_value(place) if plain else self.value(place)
        except (GradError, Silent):
            return None
        finally:
            if len(self.graph.nodes) > count:
                self.forget(count)

    def parameter(self, name: str) -> Any:
        """What a parameter of a function that nothing calls stands for; `self.missing` if nothing has its name."""
        value = self.look_up(name)
        if value is not self.missing:
            return value
        for stem in self.spelling.stems(name):
            if (node := self.spelling.member(stem)) is not None:
                return self.sheet.truth(self.sheet.output, node)
        return self.sheet.truth(self.sheet.output, self.sheet.output) if _UPSTREAM.fullmatch(name) else self.missing

    def renew(self, before: Any, after: Any) -> None:
        """Gives the objects of a class of the formula file what the answers say that the class has."""
        if isinstance(before, Class) and isinstance(after, Class) and before is not after:
            for value in holdings(self.globals):
                if isinstance(value, Instance) and value.cls is before:
                    value.cls = after

    # What is held -----------------------------------------------------------------------------------------

    def hold(self, left: ast.expr, value: Any) -> bool:
        """Puts a value where a left side says: a name, an entry, an attribute.  Whether there is such a place."""
        if isinstance(value, (Table, Items)):
            for key, each in list(value.items() if isinstance(value, Table) else enumerate(value)):
                if isinstance(each, (np.ndarray, Input)):
                    value[key] = self.operand(each, left)
        match left:
            case ast.Name(name):
                self.declared.get(name, self.names)[name] = value
                return True
            case ast.Subscript(base, key) if isinstance(base, (ast.Name, ast.Attribute, ast.Subscript)):
                holder = self._held(base)
                if holder is None and isinstance(base, ast.Name):
                    holder = self.names[base.id] = Table(family=True)
                    holder.owner.label = base.id
                found = self._quietly(key)
                if isinstance(holder, Table) and isinstance(found, (int, str, float, tuple)):
                    holder[found] = value
                    return True
                if isinstance(holder, Items) and isinstance(found, int) and -len(holder) <= found < len(holder):
                    holder[found], holder.stacked = value, None
                    return True
            case ast.Attribute(base, name):
                holder = self._held(base)
                if isinstance(holder, Instance):
                    holder.attributes[name] = value
                    return True
        return False


def _functions(values: Iterable[Any]) -> Iterator[Function]:
    """The functions and methods among values."""
    for value in values:
        if isinstance(value, Function):
            yield value
        elif isinstance(value, Class):
            yield from _functions(value.members.values())


def holdings(environment: Scope) -> list[Any]:
    """The containers and objects that names hold, and those in them."""
    found: dict[int, Any] = {}
    stack = list(environment.values())
    while stack:
        value = stack.pop()
        if not isinstance(value, (Table, Items, Instance)) or id(value) in found:
            continue
        found[id(value)] = value
        stack.extend(value if isinstance(value, Items) else _entries(value).values())
    return list(found.values())


def _entries(value: Table | Instance) -> dict[Any, Any]:
    return value.attributes if isinstance(value, Instance) else value


def apart(environment: Scope) -> Scope:
    """A copy of what names mean, with containers and objects of its own: what a sheet puts into them stays its own."""
    twins: dict[int, Any] = {}
    for value in (held := holdings(environment)):
        if isinstance(value, Table):
            twin: Any = Table(family=value.family)
        elif isinstance(value, Items):
            twin = Items(fixed=value.fixed)
            twin.grown, twin.stacked = value.grown, value.stacked
        else:
            twin = Instance(value.cls)
        twin.owner = value.owner
        twins[id(value)] = twin
    for value in held:
        twin = twins[id(value)]
        if isinstance(value, Items):
            twin.extend(twins.get(id(each), each) for each in value)
        else:
            _entries(twin).update({key: twins.get(id(each), each) for key, each in _entries(value).items()})
    return {name: twins.get(id(value), value) for name, value in environment.items()}


def _holds_slices(key: Any) -> bool:
    return isinstance(key, tuple) and not all(type(part) is int for part in key)

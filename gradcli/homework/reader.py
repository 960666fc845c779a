"""Reading a sheet: statements become lines, by the interpreter that reads formula files.

A line that cannot be read is a line all the same: it keeps its faults, and what it is about, so that the lines that
use it can be judged by what it should have been.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, SYMBOL, Graph, Node, Op
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX, shape_of
from gradcli.homework.pasted import Pasted, apart
from gradcli.homework.sheet import Answer, Line, Sheet
from gradcli.homework.spelling import Kind, Spelling, Target
from gradcli.homework.written import of_array, written
from gradcli.language import Program, read
from gradcli.language.places import PARSE_ERRORS
from gradcli.ops.arrange import assigned, key_repeats, put
from gradcli.ops.compare import where
from gradcli.problems import GradError, Problem, Source, Span, homework, meaning
from gradcli.problems.syntax import too_deep
from gradcli.report import Report
from gradcli.trace.control import Return
from gradcli.trace.expressions import Silent
from gradcli.trace.training import loaded
from gradcli.trace.values import (
    Apply,
    Bound,
    Class,
    Function,
    Input,
    Instance,
    Items,
    Known,
    Length,
    Method,
    Module,
    Pick,
    Poison,
    Results,
    Swept,
    Table,
)
from gradcli.trace.vocabulary import BINARY

_NO_NUMBERS = (Module, Results, Table, Instance, Function, Class, Bound, Known, Method, Apply, Swept, slice)
"""What a name may hold that is no number."""

_WHOLE = "the whole"
"""What stands for a tensor while one of its entries is read; no name of a file has a blank in it."""


def read_sheet(report: Report, *answers: Source | Program | Answer) -> Sheet:
    """The sheet of the claims in a formula file and then those of answers files.

    Raises GradError where an answers file is no text in the language; a line that is, and says something impossible,
    keeps its faults.
    """
    nodes = list(report.traced.graph.nodes)
    sheet = Sheet(report, Graph(nodes), len(nodes))
    environment = apart(report.traced.environment)
    problems: list[Problem] = []
    if report.traced.claims:
        problems += _Reader(sheet, read(report.traced.source), environment, claims_only=True).run_lines()
    for each in answers:
        if isinstance(each, Answer):
            _Reader(sheet, each.program, environment, answer=each).answer_line()
            continue
        program = each if isinstance(each, Program) else read(each, claims=True)
        if program.source.text == report.traced.source.text:
            environment = {n: v for n, v in environment.items() if not _is_after(v, sheet.output)}
        problems += _Reader(sheet, program, environment).run_lines()
    if problems:
        raise GradError(*sorted(problems, key=lambda p: p.line))
    finish(sheet)
    return sheet


def add_arrays(sheet: Sheet, source: Source, arrays: dict[str, Any]) -> None:
    """Appends a line for every array of a file of arrays, in order; each line is where it stands in that order."""
    reader = _Reader(sheet, read(Source(source.name, "")), apart(sheet.report.traced.environment))
    for number, (name, array) in enumerate(arrays.items(), start=len(sheet.lines) + 1):
        reader.array_line(number, name, array)


class _Reader(Pasted):
    """Reads statements into the lines of a sheet."""

    def __init__(
        self,
        sheet: Sheet,
        program: Program,
        environment: dict[str, Any],
        *,
        claims_only: bool = False,
        answer: Answer | None = None,
    ) -> None:
        traced = sheet.report.traced
        again = program.source.text == traced.source.text and not claims_only
        forward = [n for n in sheet.forward if n.op is not CONSTANT and not (again and _is_after(n, sheet.output))]
        names = [name for name, node in traced.names.items() if not (again and _is_after(node, sheet.output))]
        super().__init__(sheet, program, environment, Spelling({n.name: n for n in forward}, names, sheet.output))
        for number in traced.inner:  # v1, v2, … are names in what `derive` prints
            environment.setdefault(sheet.graph.nodes[number].name, sheet.graph.nodes[number])
        self.claims_only = claims_only
        self.answer = answer
        self.places: dict[tuple[int, int], Span] = {}
        self.holders: dict[int, Any] = {}
        """The containers and objects in which lines stand, kept so that none gets the `id` of another."""
        self.counting: set[str] = set()
        """The names that the program uses in indices and as counts."""

    def run_lines(self) -> list[Problem]:
        """Reads the whole program; the faults of syntax that it has."""
        forward = set() if self.claims_only or self.answer is not None else self._forward_statements()
        for part in self.program.parts():
            self.part = part
            for statement in part.statements:
                self.counting |= _counting(statement)
            self.problems.extend([] if self.claims_only else part.problems)
            for statement in part.statements:
                if ast.dump(statement) in forward:
                    continue  # the forward pass, pasted with the derivation
                self.line = part.line_of(statement)
                before = self.names.get(statement.name) if isinstance(statement, ast.ClassDef) else None
                self._guarded(statement)
                if isinstance(statement, ast.ClassDef):
                    self.renew(before, self.names.get(statement.name))
        if not self.claims_only and self.answer is None:
            self._read_uncalled()
        self.sheet.notes.extend(self.result.notes)
        return self.problems

    def _forward_statements(self) -> set[str]:
        """The statements of the formula file, which need no second reading.

        Where that file is the answers file, too, those up to the definition of the output.
        """
        program = read(self.sheet.report.traced.source)
        statements = []
        for part in program.parts():
            statements += part.statements
            self.bring(part)
        if program.source.text == self.program.source.text:
            name = self.sheet.output.name
            defining = [at for at, statement in enumerate(statements) if _defines(statement, name)]
            statements = statements[: max(defining, default=-1) + 1]
        return {ast.dump(statement) for statement in statements if not isinstance(statement, ast.Expr)}

    def _read_uncalled(self) -> None:
        """Reads the bodies of functions that nothing calls: their parameters are what the file calls by those names."""
        own = [
            f for f in self.globals.values() if isinstance(f, Function) and f.part.text.source is self.program.source
        ]
        for function in reversed(own):
            if function.calls or function.kind or function.tree.args.vararg is not None:
                continue
            tree = function.tree
            given: list[Any] = []
            asked = (*tree.args.posonlyargs, *tree.args.args)
            for parameter in asked[: len(asked) - len(function.defaults)]:
                given.append(self.parameter(parameter.arg))
            self.part = function.part
            self.line = self.part.line_of(tree)
            if any(value is self.missing for value in given):
                missing = next(p.arg for p, v in zip(tree.args.args, given, strict=False) if v is self.missing)
                self.note(
                    f"`{function.name}` is not called, and nothing is called `{missing}`: call it to have it marked"
                )
                continue
            self._uncalled = True
            try:
                self.call_function(function, given, {}, tree)
            except GradError as error:
                self._report(error.problems)
            except (Silent, RecursionError):
                pass
            finally:
                self._uncalled = False

    def answer_line(self) -> None:
        """Reads an answer under a name; one that cannot be read is a line with its faults."""
        assert self.answer is not None
        problems = self.answer.problems or tuple(self.run_lines())
        if problems:
            self._faulty_line(1, self.answer.name, self.program.source.text, problems, self.program.source)

    def _faulty_line(self, number: int, name: str, text: str, problems: tuple[Problem, ...], source: Source) -> None:
        """Adds the line of something under a name that cannot be read."""
        left = _left_side(name)
        target = self.spelling.target(left) or Target(Kind.HELPER, name)
        span = next((label.span for problem in problems for label in problem.labels), None)
        line = Line(len(self.sheet.lines), source.name, number, text, target, span, problems=problems)
        self._bind(line, left)
        self.sheet.lines.append(line)

    def _guarded(self, statement: ast.stmt) -> None:
        if self.claims_only and not isinstance(statement, ast.Expr):
            return
        if not self.derives:
            super()._guarded(statement)
            return
        if isinstance(statement, ast.Return) and self.active:
            self._return(statement)
        statement = _added_at(statement)
        results = _results(statement)
        claims = [] if results is not None else list(_claims(statement))
        if results is not None:
            self._claim_results(*results)
        elif not claims:
            if not self.claims_only:
                super()._guarded(statement)
        elif (part := self._part_of_earlier(statement)) is not None:
            self._claim(self.text(statement), part.value, getattr(statement, "value"), statement)  # noqa: B009
        else:
            for left, right in claims:
                if isinstance(statement, ast.Expr) and self._turned(left, right):
                    left, right = right, left
                whole = self.text(statement) if len(claims) == 1 else f"{self.text(left)} = {self.text(right)}"
                self._claim(whole, left, right, equality=isinstance(statement, ast.Expr))

    def _return(self, statement: ast.Return) -> None:
        """`return x.T @ dout`: what is computed there is a line, under the function's name."""
        value = statement.value
        if value is None:
            raise Return(None)
        if not isinstance(value, (ast.Tuple, ast.List)):
            raise Return(self._result(value))
        results = [self._result(part) for part in value.elts]
        raise Return(tuple(results) if isinstance(value, ast.Tuple) else Items(results))

    def _result(self, part: ast.expr) -> Any:
        """One result of a function, as a line of the sheet if it is computed where it is returned."""
        value = self.value(self.spelling.rewritten(part, self))
        new = type(value) is Node and value.number >= self.sheet.first and value.number not in self.sheet.lines_of
        if not new or value.dtype not in FLOATS or self._counts(value):
            return value
        name = f"the result of {self.active[-1].name}"
        self._claim(f"return {self.text(part)}", ast.Name(name, ast.Store()), part, result=(value,))
        return self.names.pop(name)

    def _claim_results(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        """`dx, dW = backward(dout, cache)`: the call is read once, and each of its results is a claim."""
        try:
            results = self.iterate(self.value(self.spelling.rewritten(value, self)), value)
            if len(results) != len(targets):
                raise GradError(meaning.unpack(self.span(value), len(targets), f"{len(results)} values"))
        except (GradError, CannotEvaluate, RecursionError, Silent) as error:
            for left in targets:
                self._claim(f"{self.text(left)} = {self.text(value)}", left, value, result=error)
            return
        for left, result in zip(targets, results, strict=True):
            result = self.picked(result, value) if type(result) is Pick else result
            self._claim(f"{self.text(left)} = {self.text(value)}", left, value, result=(result,))

    def _turned(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether a claim is about its right side: `4 == L` says what `L == 4` says, and `4 == x * y` likewise."""
        if self.spelling.target(left) is not None:
            return False
        about = self.spelling.target(right)
        return (about is not None and about.kind is not Kind.HELPER) or (_nameless(left) and not _nameless(right))

    # Where the pieces of a line stand --------------------------------------------------------------

    def apply(
        self, op: Op, operands: Any, settings: Any, place: ast.AST, places: Any, setting_places: Any = None
    ) -> Node:
        node = super().apply(op, operands, settings, place, places, setting_places)
        self._place(node, place, places)
        return node

    def binary(self, sign: str, left: Any, right: Any, place: ast.AST, sides: tuple[ast.AST, ast.AST]) -> Any:
        result = super().binary(sign, left, right, place, sides)
        if type(result) is Node:
            self._place(result, place, sides)
        return result

    def _place(self, node: Node, place: ast.AST, places: Any) -> None:
        self.places[(node.number, -1)] = self.span(place)
        for slot, each in enumerate(places):
            self.places[(node.number, slot)] = self.span(each)

    # Claims ----------------------------------------------------------------------------------

    def _part_of_earlier(self, statement: ast.stmt) -> ast.Subscript | None:
        """The `dz[rows, y]` of `dz[rows, y] -= 1`, where dz is an earlier line."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        target = targets[0] if len(targets) == 1 else None
        if not isinstance(target, ast.Subscript):
            return None
        value = self._held(target.value)
        if type(value) is not Node:
            return None
        forward = isinstance(target.value, ast.Name) and target.value.id in self.spelling.own and not self.in_function
        changed = value.number in self.sheet.lines_of or isinstance(statement, ast.AugAssign) or not forward
        return target if changed else None

    def _updated(self, line: Line, statement: ast.stmt, right: ast.expr) -> Node:
        """The whole of an earlier line after some of its entries are given anew, or changed."""
        part = self._part_of_earlier(statement)
        assert part is not None
        whole = self.value(loaded(part.value))
        mask = None if isinstance(part.slice, (ast.Tuple, ast.Slice)) else self.value(part.slice)
        if type(mask) is Node and mask.dtype == "bool" and mask.shape == whole.shape:
            return self._chosen(statement, whole, mask, right)
        before = self.value(ast.copy_location(ast.Subscript(part.value, part.slice, ast.Load()), part))
        change = new = self.value(right)
        if isinstance(statement, ast.AugAssign):
            change = self.binary(BINARY[type(statement.op)], before, change, statement, (part, right))
        key = before.settings["key"]
        if isinstance(statement, ast.AugAssign) and type(statement) is not _AddedAt and key_repeats(whole.shape, key):
            once = (whole, self.operand(change, right))  # of an entry that is named twice, NumPy keeps one sum only
            return self.apply(assigned, once, {"key": key}, statement, (part.value, right))
        change = self.binary("-", change, before, statement, (right, part))
        settings = {"key": before.settings["key"], "shape": whole.shape}

        def total(change: Any) -> Node:
            moved = self.apply(put, (self.operand(change, right),), settings, statement, (right,))
            found = self.binary("+", whole, moved, statement, (part.value, right))
            assert type(found) is Node
            return found

        if isinstance(statement, ast.Assign) and getattr(new, "shape", ()) == before.shape:
            line.added = total(new)
        return total(change)

    def _chosen(self, statement: ast.stmt, whole: Node, mask: Node, right: ast.expr) -> Node:
        """The whole of an earlier line after the entries of a mask are given anew: `dz[z <= 0] = 0`."""
        change = self.value(right)
        if isinstance(statement, ast.AugAssign):
            change = self.binary(BINARY[type(statement.op)], whole, change, statement, (statement.target, right))
        operands = (mask, self.operand(change, right), whole)
        return self.apply(where, operands, None, statement, (statement, right, statement))

    def _claim(
        self,
        text: str,
        left: ast.expr,
        right: ast.expr,
        update: ast.stmt | None = None,
        *,
        equality: bool = False,
        result: tuple[Any] | Exception | None = None,
        scope: int | None = None,
    ) -> None:
        """Adds the line of `left = right`, or, for an `update`, of `left` after some of its entries were changed.

        `result` is what the right side is worth, or why it is worth nothing, where that is known already.
        """
        target = self.target(left, right)
        if update is not None and (target is None or target.kind is Kind.VALUE):
            target = Target(Kind.HELPER, self.text(left))  # it is no longer what the file computes
        line = Line(
            len(self.sheet.lines),
            self.part.text.source.name,
            self.line,
            text,
            target or Target(Kind.VALUE, self.text(left)),
            self.span(right),
            where=self.where(),
            local=self.is_local(left, target),
            scope=self._scope(left) if scope is None else scope,
            call=self.call,
        )
        around = self.places
        if result is None:
            self.places = line.places
        if target is not None and target.kind is Kind.ORDER:
            self._order(line, right)
            self.sheet.lines.append(line)
            return
        try:
            for side in (left, right):
                if (missing := self.spelling.missing(side, self)) is not None:
                    known = [n.name for n in self.spelling.nodes.values()]
                    raise GradError(meaning.unknown_name(self.span(missing), missing.id[1:], known))
            if target is None:
                line.left = self.operand(self.value(self.spelling.rewritten(left, self)), left)
            elif target.key:
                line.left = self._entry(target, left)
            if isinstance(result, Exception):
                raise result
            fits = True
            if result is not None:
                value = result[0]
            elif update is not None:
                value = self._updated(line, update, self.spelling.rewritten(right, self))
            else:
                value, fits = self._right(self.spelling.rewritten(right, self), line.target.whole)
            used = self.answer is None or self.answer.used
            if not equality and self._says_nothing(line, left, value, said=result is None):
                if used:
                    self._claim_entries(text, left, right)
                    return
                raise GradError(homework.unknown_answer(self.span(left), line.target.name, self._names_to_claim()))
            if equality and line.kind is Kind.HELPER:  # `n == 3` states something, of a name that nothing bears
                raise GradError(self.unknown(left, line.target.name))
            line.fits = fits
            self._take(line, value, right)
            if not used and line.kind is Kind.HELPER and line.written is not None:
                line.stray = (homework.unknown_answer(line.span, line.target.name, self._names_to_claim()),)
        except GradError as error:
            line.problems = error.problems
        except CannotEvaluate as error:
            line.problems = (meaning.cannot_evaluate(self.span(right), error.reason),)
        except RecursionError:
            line.problems = (too_deep(self.span(right)),)
        except Silent:
            line.problems = (homework.uses_invalid(self.span(right), self._invalid_names(right)),)
        self.places = around
        line.index = len(self.sheet.lines)  # the lines of a function that it calls come before it
        if line.problems:
            line.references = self._lines_named(right)
        self._bind(line, left, changed=update is not None)
        self.sheet.lines.append(line)

    def _claim_entries(self, text: str, left: ast.expr, right: ast.expr) -> None:
        """Adds a line for every gradient in a list of them: `nabla_w = [a + b for a, b in zip(nabla_w, more)]`."""
        holder = self._held(left) if isinstance(left, (ast.Name, ast.Attribute)) else None
        for at, entry in enumerate(list(holder) if isinstance(holder, Items) else ()):
            new = type(entry) is Node and entry.number >= self.sheet.first and entry.number not in self.sheet.lines_of
            if new and entry.op is CONSTANT and not np.any(entry.data):
                continue  # to be filled
            place = ast.copy_location(ast.Subscript(loaded(left), ast.Constant(at), ast.Store()), left)
            target = self.target(place) if new and entry.dtype in FLOATS else None
            if target is not None and target.kind is Kind.GRADIENT:
                self._claim(text, place, right, result=(entry,), scope=self.call)

    def _scope(self, left: ast.expr) -> int:
        """Where a name is known: in a call, or in the container or object that holds it."""
        if isinstance(left, ast.Name):
            return self.call
        holder = self._held(left.value) if isinstance(left, (ast.Subscript, ast.Attribute)) else None
        if not isinstance(holder, (Table, Items, Instance)):
            return 0
        self.holders[id(holder)] = holder
        return id(holder)

    def _lines_named(self, right: ast.expr) -> tuple[int, ...]:
        """The lines whose names stand in a right side that cannot be read."""
        values = [self.look_up(n.id) for n in ast.walk(right) if isinstance(n, ast.Name)]
        lines = self.sheet.lines_of
        return tuple(sorted({lines[v.number] for v in values if type(v) is Node and v.number in lines}))

    def _entry(self, target: Target, left: ast.expr) -> Node:
        """What one entry of a value or of a gradient should be."""
        assert target.node is not None
        whole = target.node if target.of is None else self.sheet.truth(target.of, target.node)
        self.names[_WHOLE] = whole
        index = ast.Subscript(ast.Name(_WHOLE, ast.Load()), ast.parse(target.key, mode="eval").body, ast.Load())
        for part in ast.walk(index):
            if isinstance(part, ast.expr):
                ast.copy_location(part, left)
        found = self.value(index)
        del self.names[_WHOLE]
        assert type(found) is Node
        return found

    def _right(self, right: ast.expr, about: str) -> tuple[Any, bool]:
        """The value of a right side.

        If earlier lines of the wrong shape make it impossible, they are read in the right one, and False says so.
        """
        self._bring_truths(right, about)
        try:
            return self.value(right), True
        except GradError:
            swapped = {
                n.id: self._in_right_shape(self.look_up(n.id)) for n in ast.walk(right) if isinstance(n, ast.Name)
            }
            swapped = {name: leaf for name, leaf in swapped.items() if leaf is not None}
            if not swapped:
                raise
            before = self.names
            self.names = {**before, **swapped}
            try:
                return self.value(right), False
            except GradError:
                pass
            finally:
                self.names = before
            raise

    def _in_right_shape(self, leaf: Any) -> Node | None:
        """Another leaf for a line whose shape is not that of its node."""
        line = self.sheet.stands_for(leaf) if type(leaf) is Node and leaf.op is SYMBOL else None
        if line is None or line.node is None or line.target.key or leaf.shape == line.node.shape:
            return None
        return self.sheet.leaf_like(line, line.node)

    def _bring_truths(self, right: ast.expr, about: str) -> None:
        """A derivative that no line has claimed stands for itself, as in `dz/dx == dz/dp * dp/dx`.

        That which the line is `about` does not: nothing is derived from itself.
        """
        for place in ast.walk(right):
            if isinstance(place, ast.Name) and "/" in place.id and place.id != about and place.id not in self:
                of, node = place.id.removeprefix("d").split("/d", 1)
                self.globals[place.id] = self.sheet.truth(self.spelling.nodes[of], self.spelling.nodes[node])

    def _says_nothing(self, line: Line, left: ast.expr, value: Any, *, said: bool) -> bool:
        """Binds what is no line: counts such as `m = 3`, containers, and the results of a call, which are lines.

        `said` is whether the right side is written there.
        """
        if isinstance(value, list) and type(value) is not Items and (not value or self._is_container(value)):
            value = Items(value)
        if isinstance(value, Items) and (not value or any(part is None for part in value)):
            return self.hold(left, value)  # a list to be filled
        if isinstance(value, (Table, Instance, Function, Class)) or self._is_several(value, line.node):
            return self.hold(left, value)
        if line.kind is Kind.GRADIENT and type(value) is Node:
            earlier = self.sheet.stands_for(value)  # it was marked where it was found
            again = earlier is not None and earlier.target == line.target and not earlier.local
            return again and self.hold(left, value)
        if line.kind is not Kind.HELPER:
            return False
        if type(value) is Node:
            known = value.number < self.sheet.first or (value.number in self.sheet.lines_of and not said)
            if not known and isinstance(left, ast.Name) and left.id in self.counting:
                whole = self.whole_number(value)
                value = whole if type(whole) is int else value
            if type(value) is Node:
                return (known or self._counts(value)) and self.hold(left, value)
        whole = isinstance(value, int) or (isinstance(value, tuple) and all(isinstance(v, int) for v in value))
        plain = whole or value is None or isinstance(value, (str, *_NO_NUMBERS))
        plain = plain or (self.in_function and isinstance(value, float))
        return (plain or self._is_container(value)) and self.hold(left, value)

    def _counts(self, value: Node) -> bool:
        """Whether a number is computed from whole ones on which the output does not depend, as in `t = T - 1`."""
        if type(self.whole_number(value)) is not int:
            return False
        reached = {node.number for node in self.sheet.order_of(self.sheet.output)}
        stack, seen = [value], {value.number}
        while stack:
            node = stack.pop()
            if node.number in reached:
                return False
            stack += [o for o in node.operands if o.number not in seen]
            seen |= {o.number for o in node.operands}
        return True

    def _is_several(self, value: Any, node: Node | None) -> bool:
        """Whether a list holds arrays, and is not an array itself: one gradient for every layer, say."""
        if not isinstance(value, list) or not self._is_container(value) or node is None:
            return False
        shapes = {getattr(self.picked(v, ast.Constant(0)) if type(v) is Pick else v, "shape", None) for v in value}
        return len(shapes) > 1 or (len(value), *(shapes.pop() or ())) != node.shape

    def _is_container(self, value: Any) -> bool:
        """Whether something holds several things, and is no tensor written as a list."""
        if not isinstance(value, (list, tuple)):
            return False
        if isinstance(value, tuple) or not value:
            return True
        entries = [self.picked(v, ast.Constant(0)) if type(v) is Pick else v for v in value]
        return not all(isinstance(v, (int, float, list)) or (type(v) is Node and not v.shape) for v in entries)

    def _take(self, line: Line, value: Any, right: ast.expr) -> None:
        """Gives a line its right side."""
        value = value.value if isinstance(value, Input) else value
        if type(value) is Node or self.holds_nodes(value):
            line.expression = value if type(value) is Node else self.tensor(value, right)
            line.references = self._references(line.expression)
            return
        if isinstance(value, tuple) and any(type(v) is Length for v in value):
            value = [int(v) for v in value]
        node = self.operand(value, right)
        line.expression = node
        line.written = written(right, self.text, node.data)

    def _references(self, expression: Node) -> tuple[int, ...]:
        found = set()
        stack, seen = [expression], set()
        while stack:
            node = stack.pop()
            if node.number < self.sheet.first or node.number in seen:
                continue
            seen.add(node.number)
            stack.extend(node.operands)
            if node.number in self.sheet.lines_of:
                found.add(self.sheet.lines_of[node.number])
        return tuple(sorted(found))

    def _bind(self, line: Line, left: ast.expr, *, changed: bool = False) -> None:
        """Lets later lines use this one, under the name it was given and, of a gradient, under its full one."""
        target = line.target
        shape = line.expression.shape if line.expression is not None else None
        dtype = line.expression.dtype if line.expression is not None else "float64"
        if shape is None and target.node is not None and not target.key:
            shape = target.node.shape
        value: Any = Poison
        names = [] if target.kind is Kind.VALUE else [target.name]
        if target.kind is Kind.GRADIENT and target.node is not None and not target.key:
            short = f"d{target.node.name}"
            names += [] if short in self.spelling.own else [short]
        if not names:
            return
        written = isinstance(left, (ast.Name, ast.Subscript, ast.Attribute))
        settled = self._indexed(left)
        word = target.name if not written else ast.unparse(settled if isinstance(settled, ast.expr) else left)
        if shape is not None:
            value = line.leaf = self.sheet.new_leaf(word, shape, "float64" if dtype.startswith("weak") else dtype)
            self.sheet.lines_of[value.number] = line.index
        for name in names:
            if line.kind is not Kind.HELPER:
                self.globals[name] = value
        free = changed or line.kind is Kind.HELPER or word not in self.spelling.own or self.in_function
        if written and free and not (isinstance(left, ast.Attribute) and left.attr == "grad"):
            self.hold(left, value)

    def _invalid_names(self, right: ast.expr) -> list[str]:
        names = [n.id for n in ast.walk(right) if isinstance(n, ast.Name)]
        return [name for name in dict.fromkeys(names) if self.look_up(name) is Poison]

    def _names_to_claim(self) -> list[str]:
        """The names of the file, and those of the gradients of its nodes."""
        inner = self.sheet.report.traced.inner
        nodes = [n for n in self.spelling.nodes.values() if n.number not in inner]
        return [n.name for n in nodes] + [f"d{n.name}" for n in nodes if n.differentiable]

    def _order(self, line: Line, right: ast.expr) -> None:
        """An order lists names, as names or as text."""
        listed = right.elts if isinstance(right, (ast.List, ast.Tuple)) else [right]
        names: list[str] = []
        problems: list[Problem] = []
        for each in listed:
            name = each.value if isinstance(each, ast.Constant) else self.text(each)
            if isinstance(name, str) and name in self.spelling.nodes:
                line.places[(len(names), -1)] = self.span(each)
                names.append(name)
                continue
            known = [
                n for n in self.spelling.nodes if self.spelling.nodes[n].number not in self.sheet.report.traced.inner
            ]
            problems.append(meaning.unknown_name(self.span(each), str(name), known))
        line.order = tuple(names)
        line.problems = tuple(problems)

    def array_line(self, number: int, name: str, array: Any) -> None:
        """Adds the line of an array of a file, or of what stands in its place: why there is none."""
        if isinstance(array, str):
            problem = homework.bad_answer(None, f"`{name}` is no answer: {array}")
            self._faulty_line(number, name, name, (problem,), self.program.source)
            return
        left = _left_side(name)
        target = self.spelling.target(left) or Target(Kind.HELPER, name)
        text = f"{name} = array of shape {shape_of(array)}" if shape_of(array) else f"{name} = {float(array)!r}"
        line = Line(len(self.sheet.lines), self.program.source.name, number, text, target, None)
        line.written = of_array(array)
        if target.kind is Kind.HELPER:
            line.stray = (homework.unknown_answer(None, name, self._names_to_claim()),)
        line.expression = self.graph.constant(line.written.value, "" if shape_of(array) else repr(float(array)))
        self._bind(line, left)
        self.sheet.lines.append(line)


def _is_after(value: Any, output: Node) -> bool:
    """Whether a value is a node that the formula file defines after its output."""
    return type(value) is Node and value.number > output.number


def _counting(statement: ast.stmt) -> set[str]:
    """The names that stand in indices, and in what is counted through."""
    found: set[str] = set()
    for part in ast.walk(statement):
        places: list[ast.AST] = []
        if isinstance(part, ast.Subscript):
            places = [part.slice]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("range", "slice"):
            places = list(part.args)
        found |= {n.id for place in places for n in ast.walk(place) if isinstance(n, ast.Name)}
    return found


class _AddedAt(ast.AugAssign):
    """A change in which an entry that is named twice receives both."""


def _added_at(statement: ast.stmt) -> ast.stmt:
    """`np.add.at(dW, rows, dx)` as the change of some entries that it is."""
    match statement:
        case ast.Expr(
            ast.Call(ast.Attribute(ast.Attribute(_, "add" | "subtract" as name), "at"), [whole, key, value], [])
        ):
            target = ast.copy_location(ast.Subscript(loaded(whole), key, ast.Store()), whole)
            sign = ast.Add() if name == "add" else ast.Sub()
            return ast.copy_location(_AddedAt(target, sign, value), statement)
    return statement


def _defines(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives a name to something."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return False
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(statement))


def _results(statement: ast.stmt) -> tuple[Sequence[ast.expr], ast.expr] | None:
    """The targets and the right side of `a, b = f(x)`, whose results are not written one by one."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    value, plain = statement.value, not any(isinstance(each, (ast.Starred, ast.Tuple)) for each in target.elts)
    listed = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
    return (target.elts, value) if plain and not listed else None


def _left_side(name: str) -> ast.expr:
    """A name of a file as the left side of a claim."""
    try:
        return ast.parse(name.strip(), mode="eval").body
    except PARSE_ERRORS:
        return ast.Name(name, ast.Load())


def _nameless(side: ast.expr) -> bool:
    """Whether a side is made of numbers alone."""
    return not any(isinstance(n, ast.Name) for n in ast.walk(side))


def _claims(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Left and right sides of what a statement claims; `a, b = f, g` claims two things, `a += b` that a is a + b."""
    match statement:
        case ast.Assign(targets, value):
            if isinstance(value, ast.Constant) and value.value is None:
                return
            for target in targets:
                if isinstance(target, (ast.Tuple, ast.List)):
                    listed = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                    if not listed or any(isinstance(each, ast.Starred) for each in target.elts):
                        return  # an unpacking of another kind
                    yield from zip(target.elts, value.elts, strict=True)  # type: ignore[attr-defined]
                    continue
                yield target, value
        case ast.AnnAssign(target, _, ast.expr() as value):
            yield target, value
        case ast.AugAssign(target, sign, value):
            both = ast.BinOp(loaded(target), sign, value)
            yield target, ast.copy_location(both, statement)
        case ast.Expr(ast.Compare(left, [ast.Eq()], [right])):
            yield left, right


def finish(sheet: Sheet) -> None:
    """Finds the lines that go on with a sum, and those that give a name again without using what it meant before."""
    _find_parts(sheet)
    latest: dict[tuple[str, int], Line] = {}
    for line in sheet.lines:
        before = latest.get((line.target.name, line.scope))
        if before is not None and line.kind is not Kind.ORDER:
            before.again = True
            if before.index in line.references:
                line.continues = before.index
                before.continued = True
            elif line.about_gradient and not line.target.key:
                line.overwrites = before.index
                leaf, own = before.leaf, line.expression
                if line.added is None and leaf is not None and own is not None and leaf.shape == own.shape:
                    line.added = sheet.graph.add(INFIX["+"], (leaf, own), None, line.line)
        latest[line.target.name, line.scope] = line


def _find_parts(sheet: Sheet) -> None:
    """Finds lines that a loop passes for one row or entry after another: they are about a part of a node only."""
    passes: dict[tuple[object, ...], list[Line]] = {}
    for line in sheet.lines:
        passes.setdefault(line.statement, []).append(line)
    for lines in passes.values():
        calls: dict[str, set[int]] = {}
        for line in lines:
            calls.setdefault(line.target.name, set()).add(line.call)
        for line in lines:
            if len(calls[line.target.name]) > 1:  # what each of several calls finds need not be all of a gradient
                line.local = line.about_gradient
        nowhere = not any(n.node and n.expression and n.node.shape == n.expression.shape for n in lines)
        for line in lines if len(lines) > 1 else ():
            node, expression = line.node, line.expression
            if node is None or expression is None or line.target.key:
                continue
            part = nowhere and prod(expression.shape) < prod(node.shape)
            own = node is sheet.output or len(expression.shape) < len(node.shape) or part
            if line.kind is Kind.VALUE or own:
                line.target = Target(Kind.HELPER, line.text.partition("=")[0].strip(" +-*/@"))

"""Reading a sheet: statements become lines, by the interpreter that reads formula files.

A line that cannot be read is a line all the same: it keeps its faults, and what it is about, so that the lines that
use it can be judged by what it should have been.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, SYMBOL, Graph, Node, Op
from gradcli.graph.op import shape_of
from gradcli.homework.sheet import Line, Sheet
from gradcli.homework.spelling import Kind, Spelling, Target
from gradcli.homework.written import of_array, written
from gradcli.language import Program, read
from gradcli.ops.arrange import put
from gradcli.ops.compare import where
from gradcli.ops.create import Limits
from gradcli.problems import GradError, Problem, Source, Span, homework, meaning
from gradcli.problems.syntax import too_deep
from gradcli.report import Report
from gradcli.trace.expressions import Silent
from gradcli.trace.interpreter import Interpreter
from gradcli.trace.values import Input, Length, Module, Poison, Results
from gradcli.trace.vocabulary import BINARY

_WHOLE = "the whole"
"""What stands for a tensor while one of its entries is read; no name of a file has a blank in it."""


def read_sheet(report: Report, *answers: Source | Program) -> Sheet:
    """The sheet of the claims in a formula file and then those of answers files.

    Raises GradError where an answers file is no text in the language; a line that is, and says something impossible,
    keeps its faults.
    """
    nodes = list(report.traced.graph.nodes)
    sheet = Sheet(report, Graph(nodes), len(nodes))
    environment = dict(report.traced.environment)
    problems: list[Problem] = []
    if report.traced.claims:
        problems += _Reader(sheet, read(report.traced.source), environment, claims_only=True).run_lines()
    for each in answers:
        program = each if isinstance(each, Program) else read(each, claims=True)
        problems += _Reader(sheet, program, environment).run_lines()
    if problems:
        raise GradError(*sorted(problems, key=lambda p: p.line))
    finish(sheet)
    return sheet


def add_arrays(sheet: Sheet, source: Source, arrays: dict[str, Any]) -> None:
    """Appends a line for every array of a file of arrays, in order; each line is where it stands in that order."""
    reader = _Reader(sheet, read(Source(source.name, "")), dict(sheet.report.traced.environment))
    for number, (name, array) in enumerate(arrays.items(), start=len(sheet.lines) + 1):
        reader.array_line(number, name, array)


class _Reader(Interpreter):
    """Reads statements into the lines of a sheet."""

    def __init__(
        self, sheet: Sheet, program: Program, environment: dict[str, Any], *, claims_only: bool = False
    ) -> None:
        traced = sheet.report.traced
        super().__init__(program, Limits(traced.source.directory))
        self.sheet = sheet
        self.graph = sheet.graph
        self.names = self.globals = environment
        for number in traced.inner:  # v1, v2, … are names in what `derive` prints
            environment.setdefault(sheet.graph.nodes[number].name, sheet.graph.nodes[number])
        self.raw = dict(traced.raw)
        self.claims_only = claims_only
        nodes = {n.name: n for n in sheet.forward if n.op is not CONSTANT}
        self.spelling = Spelling(nodes, traced.names, sheet.output)
        self.places: dict[tuple[int, int], Span] = {}

    def run_lines(self) -> list[Problem]:
        """Reads the whole program; the faults of syntax that it has."""
        for part in self.program.parts():
            self.part = part
            self.problems.extend([] if self.claims_only else part.problems)
            for statement in part.statements:
                self.line = part.line_of(statement)
                self._guarded(statement)
        self.sheet.notes.extend(self.result.notes)
        return self.problems

    def _guarded(self, statement: ast.stmt) -> None:
        claims = list(_claims(statement))
        if self.claims_only and not isinstance(statement, ast.Expr):
            return
        if not claims:
            if not self.claims_only:
                super()._guarded(statement)
            return
        part = self._part_of_earlier(statement)
        if part is not None:
            self._claim(self.text(statement), part.value, getattr(statement, "value"), statement)  # noqa: B009
            return
        for left, right in claims:
            whole = self.text(statement) if len(claims) == 1 else f"{self.text(left)} = {self.text(right)}"
            self._claim(whole, left, right, equality=isinstance(statement, ast.Expr))

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
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return None
        value = self.names.get(target.value.id)
        known = type(value) is Node and value.number in self.sheet.lines_of
        return target if known and ast.unparse(target) not in self.names else None

    def _updated(self, statement: ast.stmt, right: ast.expr) -> Node:
        """The whole of an earlier line after some of its entries are given anew, or changed."""
        part = self._part_of_earlier(statement)
        assert part is not None
        whole = self.value(ast.copy_location(ast.Name(ast.unparse(part.value), ast.Load()), part.value))
        mask = None if isinstance(part.slice, (ast.Tuple, ast.Slice)) else self.value(part.slice)
        if type(mask) is Node and mask.dtype == "bool" and mask.shape == whole.shape:
            return self._chosen(statement, whole, mask, right)
        before = self.value(ast.copy_location(ast.Subscript(part.value, part.slice, ast.Load()), part))
        change = self.value(right)
        if isinstance(statement, ast.AugAssign):
            change = self.binary(BINARY[type(statement.op)], before, change, statement, (part, right))
        change = self.binary("-", change, before, statement, (right, part))
        settings = {"key": before.settings["key"], "shape": whole.shape}
        change = self.apply(put, (self.operand(change, right),), settings, statement, (right,))
        total = self.binary("+", whole, change, statement, (part.value, right))
        assert type(total) is Node
        return total

    def _chosen(self, statement: ast.stmt, whole: Node, mask: Node, right: ast.expr) -> Node:
        """The whole of an earlier line after the entries of a mask are given anew: `dz[z <= 0] = 0`."""
        change = self.value(right)
        if isinstance(statement, ast.AugAssign):
            change = self.binary(BINARY[type(statement.op)], whole, change, statement, (statement.target, right))
        operands = (mask, self.operand(change, right), whole)
        return self.apply(where, operands, None, statement, (statement, right, statement))

    def _claim(
        self, text: str, left: ast.expr, right: ast.expr, update: ast.stmt | None = None, *, equality: bool = False
    ) -> None:
        """Adds the line of `left = right`, or, for an `update`, of `left` after some of its entries were changed."""
        target = self.spelling.target(left)
        line = Line(
            len(self.sheet.lines),
            self.program.source.name,
            self.line,
            text,
            target or Target(Kind.VALUE, self.text(left)),
            self.span(right),
        )
        self.places = line.places
        if target is not None and target.kind is Kind.ORDER:
            self._order(line, right)
            self.sheet.lines.append(line)
            return
        try:
            if target is None:
                line.left = self.operand(self.value(self.spelling.rewritten(left, self.names)), left)
            elif target.key:
                line.left = self._entry(target, left)
            if update is not None:
                value, fits = self._updated(update, self.spelling.rewritten(right, self.names)), True
            else:
                value, fits = self._right(self.spelling.rewritten(right, self.names), line.target.whole)
            if self._plain_helper(line, left, value):
                if not equality:
                    return
                del self.names[line.target.name]  # `n == 3` states something, of a name that nothing bears
                raise GradError(self.unknown(left, line.target.name))
            line.fits = fits
            self._take(line, value, right)
        except GradError as error:
            line.problems = error.problems
        except CannotEvaluate as error:
            line.problems = (meaning.cannot_evaluate(self.span(right), error.reason),)
        except RecursionError:
            line.problems = (too_deep(self.span(right)),)
        except Silent:
            line.problems = (homework.uses_invalid(self.span(right), self._invalid_names(right)),)
        if line.problems:
            line.references = self._lines_named(right)
        self._bind(line, left)
        self.sheet.lines.append(line)

    def _lines_named(self, right: ast.expr) -> tuple[int, ...]:
        """The lines whose names stand in a right side that cannot be read."""
        values = [self.names.get(n.id) for n in ast.walk(right) if isinstance(n, ast.Name)]
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
                n.id: self._in_right_shape(self.names.get(n.id)) for n in ast.walk(right) if isinstance(n, ast.Name)
            }
            swapped = {name: leaf for name, leaf in swapped.items() if leaf is not None}
            if not swapped:
                raise
            before = {name: self.names[name] for name in swapped}
            self.names.update(swapped)
            try:
                return self.value(right), False
            except GradError:
                pass
            finally:
                self.names.update(before)
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
            if isinstance(place, ast.Name) and "/" in place.id and place.id not in (*self.names, about):
                of, node = place.id.removeprefix("d").split("/d", 1)
                self.names[place.id] = self.sheet.truth(self.spelling.nodes[of], self.spelling.nodes[node])

    def _plain_helper(self, line: Line, left: ast.expr, value: Any) -> bool:
        """Binds `m = 3` and the like, which are no lines but numbers to be used anywhere."""
        if line.kind is not Kind.HELPER or not isinstance(left, ast.Name):
            return False
        whole = isinstance(value, int) or (isinstance(value, tuple) and all(isinstance(v, int) for v in value))
        if not whole and not isinstance(value, (str, Module, Results)) and value is not None:
            return False
        self.names[left.id] = value
        return True

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

    def _bind(self, line: Line, left: ast.expr) -> None:
        """Lets later lines use this one, under the name it was given and, of a gradient, under its full one."""
        target = line.target
        names = [] if target.kind is Kind.VALUE else [target.name]
        if isinstance(left, (ast.Name, ast.Subscript)):
            word = ast.unparse(left)
            forward = word in self.spelling.own
            names += [] if forward or target.kind is Kind.VALUE else [word]
        if target.kind is Kind.GRADIENT and target.node is not None and not target.key:
            short = f"d{target.node.name}"
            names += [] if short in self.spelling.own else [short]
        if not names:
            return
        shape = line.expression.shape if line.expression is not None else None
        dtype = line.expression.dtype if line.expression is not None else "float64"
        if shape is None and target.node is not None and not target.key:
            shape = target.node.shape
        value: Any = Poison
        if shape is not None:
            name = ast.unparse(left) if isinstance(left, (ast.Name, ast.Subscript)) else target.name
            value = line.leaf = self.sheet.new_leaf(name, shape, "float64" if dtype.startswith("weak") else dtype)
            self.sheet.lines_of[value.number] = line.index
        for name in names:
            self.names[name] = value

    def _invalid_names(self, right: ast.expr) -> list[str]:
        names = [n.id for n in ast.walk(right) if isinstance(n, ast.Name)]
        return [name for name in dict.fromkeys(names) if self.names.get(name) is Poison]

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
        """Adds the line of an array of a file."""
        try:
            left = ast.parse(name, mode="eval").body
        except SyntaxError:
            left = ast.Name(name, ast.Load())
        target = self.spelling.target(left) or Target(Kind.HELPER, name)
        text = f"{name} = array of shape {shape_of(array)}" if shape_of(array) else f"{name} = {float(array)!r}"
        line = Line(len(self.sheet.lines), self.program.source.name, number, text, target, None)
        line.written = of_array(array)
        line.expression = self.graph.constant(line.written.value, "" if shape_of(array) else repr(float(array)))
        self._bind(line, left)
        self.sheet.lines.append(line)


def _claims(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Left and right sides of what a statement claims; `a, b = f, g` claims two things, `a += b` that a is a + b."""
    match statement:
        case ast.Assign(targets, value):
            if isinstance(value, ast.Constant) and value.value is None:
                return
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr != "grad":
                    continue
                if isinstance(target, (ast.Tuple, ast.List)):
                    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                        yield from zip(target.elts, value.elts, strict=True)
                        continue
                    for place, each in enumerate(target.elts):
                        part = ast.Subscript(value, ast.Constant(place), ast.Load())
                        yield each, ast.copy_location(part, value)
                    continue
                yield target, value
        case ast.AnnAssign(target, _, ast.expr() as value):
            yield target, value
        case ast.AugAssign(target, sign, value):
            both = ast.BinOp(_read(target), sign, value)
            yield target, ast.copy_location(both, statement)
        case ast.Expr(ast.Compare(left, [ast.Eq()], [right])):
            yield left, right


def _read(target: ast.expr) -> ast.expr:
    """A target as an expression."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    return target


def finish(sheet: Sheet) -> None:
    """Finds the lines that go on with a sum: those that give a name again and use what it meant before."""
    latest: dict[str, Line] = {}
    for line in sheet.lines:
        before = latest.get(line.target.name)
        if before is not None and before.index in line.references:
            line.continues = before.index
            before.continued = True
        latest[line.target.name] = line

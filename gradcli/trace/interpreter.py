"""Statements: a formula file, line by line, becomes a graph.

Reading is tracing: the interpreter walks the syntax tree with an environment in which tensors are nodes.  It knows
definitions, claims, `backward(...)`, and the lines of a pasted snippet that have no meaning here; everything
else is refused by name.  A line that is faulty leaves its names poisoned, so that the lines that use them keep
silent and every *independent* fault of a file is reported in one run.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import REGISTRY
from gradcli.language import Part, Program
from gradcli.language.splitting import is_boundary
from gradcli.ops.create import Limits
from gradcli.ops.pass_on import identity
from gradcli.problems import GradError, Problem, meaning
from gradcli.problems.syntax import too_deep
from gradcli.trace import calls, readers  # noqa: F401  (they teach expressions to be read)
from gradcli.trace.expressions import Expressions, Input, Length, Module, Poison, Results, Silent
from gradcli.trace.lists import whole_list
from gradcli.trace.traced import Claim, Traced
from gradcli.trace.vocabulary import BINARY, LIBRARIES, PASSED_OVER, SEEDERS


class Interpreter(Expressions):
    """Reads a program's statements into a graph.  See `trace`."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64") -> None:
        super().__init__(program, limits)
        self.dtype = dtype
        self.problems: list[Problem] = []
        self.earlier: dict[str, list[Node]] = {}
        self.result = Traced(program.source, self.graph)

    def run(self) -> Traced:
        """The graph of the whole program.  Raises GradError with every independent fault."""
        for part in self.program.parts():
            self._part(part)
        if self.problems:
            raise GradError(*sorted(self.problems, key=lambda p: p.line))
        self._name_nodes()
        self._settle_whole_numbers()
        self.result.environment, self.result.raw = self.names, self.raw
        return self.result

    def _part(self, part: Part) -> None:
        """Reads the statements of a part of the file, having taken note of its faults of syntax."""
        self.part = part
        self.problems.extend(part.problems)
        read = {part.line_of(statement) for statement in part.statements} if part.problems else set()
        faulty = sorted({problem.line for problem in part.problems} - read, reverse=True)
        for statement in part.statements:
            self.line = part.line_of(statement)
            while faulty and faulty[-1] < self.line:
                self._poison_text(faulty.pop())
            self._guarded(statement)
        while faulty:
            self._poison_text(faulty.pop())

    def _poison_text(self, line: int) -> None:
        """Marks what the statement around a line that cannot be read would have defined: not missing, only faulty."""
        lines = self.program.text.lines
        first, end = line - 1, line
        while first > 0 and not is_boundary(lines[first]):
            first -= 1
        while end < len(lines) and not is_boundary(lines[end]):
            end += 1
        for text in lines[first:end]:
            for name in _targets(text):
                self.names[name] = Poison

    def _guarded(self, statement: ast.stmt) -> None:
        try:
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                raise GradError(self.refusal(statement))
            handler(self, statement)
            return
        except GradError as error:
            self.problems.extend(error.problems)
        except CannotEvaluate as error:
            self.problems.append(meaning.cannot_evaluate(self.span(statement), error.reason))
        except RecursionError:
            self.problems.append(too_deep(self.span(statement)))
        except Silent:
            self._report_unknown(statement)
        self._poison(statement)

    def _report_unknown(self, statement: ast.stmt) -> None:
        """Of a line that uses a faulty name, reports what is wrong whatever that name's value: other unknown names."""
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and not self.is_known(part.id):
                self.problems.append(self.unknown(part, part.id))

    def _poison(self, statement: ast.stmt) -> None:
        """Marks every name that a faulty statement would have defined."""
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.names[part.id] = Poison
            elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                self.names[part.name] = Poison
            elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                self.names.setdefault(self.text(part.value), Poison)

    def note(self, text: str) -> None:
        """Says that a line was passed over."""
        self.result.notes.append(f"line {self.line}: {text}")

    # Definitions -----------------------------------------------------------------------------

    def define(self, target: ast.AST, value: Any, place: ast.AST) -> None:
        """Binds a target to a value."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value, place)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, place)
        else:
            raise GradError(self._no_target(target))

    def bind(self, name: str, value: Any, place: ast.AST) -> None:
        """Gives a name to a value: a new node gets its name, numbers become an input."""
        if type(value) is not Node:
            if value is Ellipsis:
                raise GradError(self.no_number(value, place))
            if isinstance(value, (str, Module, Results)) or value is None or _is_shape(value, place):
                self.names[name] = value
                return
        node = self._named_node(name, value, place)
        defined = self.result.names
        if name in defined:
            self.earlier.setdefault(name, []).append(defined[name])
        self.names[name] = defined[name] = node

    def _named_node(self, name: str, value: Any, place: ast.AST) -> Node:
        if type(value) is Node:
            node: Node = value
            if node.name or node.op is CONSTANT:  # `y = x`: the same number under another name
                node = self.apply(identity, (self.operand(node, place),), None, place, (place,))
            node.name = name
            node.differentiable = node.dtype in FLOATS
            return node
        if self.holds_nodes(value):
            node = self.tensor(value, place)
            node.name, node.differentiable = name, node.dtype in FLOATS
            return node
        return self._input(name, value, place)

    def _input(self, name: str, value: Any, place: ast.AST) -> Node:
        differentiable = True
        if isinstance(value, Input):
            value, differentiable = value.value, value.differentiable
        kind = type(value)
        if self.dtype != "float64" and kind in (float, int):
            self.cast(np.asarray(value, float), self.dtype, place)
        if kind is float:
            node = self.graph.input(value, self.dtype, name, self.line, differentiable=differentiable)
        elif kind is bool:
            node = self.graph.input(value, "bool", name, self.line)
        elif kind is int or kind is Length:
            differentiable = differentiable and kind is not Length
            node = self.graph.input(float(value), self.dtype, name, self.line, differentiable=differentiable)
            self.whole[node.number] = self.raw[node.number] = int(value)
        else:
            node = self._tensor_input(name, value, place, differentiable)
        return node

    def _tensor_input(self, name: str, value: Any, place: ast.AST, differentiable: bool) -> Node:
        if isinstance(value, np.generic):
            return self.graph.input(value, str(value.dtype), name, self.line, differentiable=differentiable)
        written = not isinstance(value, np.ndarray)
        array = self.array(value, place) if written else value
        if array.dtype.kind in "iu":
            whole = array
            array = array.astype(float)
        else:
            whole = whole_list(value) if written and array.dtype == float else None
        if array.dtype == float and self.dtype != "float64":
            array = self.cast(array, self.dtype, place)
        data = array if array.ndim else array.item()
        node = self.graph.input(data, str(array.dtype), name, self.line, differentiable=differentiable)
        if whole is not None:
            self.whole[node.number] = self.raw[node.number] = np.asarray(whole)
        return node

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, place: ast.AST) -> None:
        count = len(target.elts)
        for each in target.elts:
            if isinstance(each, ast.Starred):
                raise GradError(self.refusal(each))
        if type(value) is Node:
            raise GradError(meaning.unpack(self.span(place), count, f"one tensor of shape {value.shape}"))
        if not isinstance(value, (tuple, list)):
            raise GradError(meaning.unpack(self.span(place), count, "one value"))
        if len(value) != count:
            raise GradError(meaning.unpack(self.span(place), count, f"{len(value)} values"))
        places = place.elts if isinstance(place, (ast.Tuple, ast.List)) else [place] * count
        for each, part, at in zip(target.elts, value, places, strict=True):
            self.define(each, part, at)

    def _no_target(self, target: ast.AST) -> Problem:
        if isinstance(target, ast.Subscript):
            name = self.text(target.value)
            base = self.names.get(name)
            if type(base) is Node:
                way_out = "build a new tensor with where, stack or concat"
                return meaning.cannot_assign(self.span(target), f"a part of `{name}`", way_out)
            return meaning.not_yet_read(
                self.span(target), "a family of names such as `h[t]`", "give every member a name: h0, h1, h2"
            )
        if isinstance(target, ast.Starred):
            return self.refusal(target)
        return meaning.cannot_assign(self.span(target), "an attribute", "use a plain name on the left of `=`")

    # The end of the file ------------------------------------------------------------------------

    def _name_nodes(self) -> None:
        """Names every node: `h'1` for an earlier definition of h, v1, v2, … for the inner nodes of a line."""
        for name, nodes in self.earlier.items():
            for count, node in enumerate(nodes, start=1):
                node.name = f"{name}'{count}"
        taken = {found[0] for found in re.finditer(r"\bv\d+\b", self.program.source.text)}
        free = (name for count in itertools.count(1) if (name := f"v{count}") not in taken)
        for node in self.graph.nodes:
            if not node.name:
                node.name = next(free)
                self.result.inner.add(node.number)

    def _settle_whole_numbers(self) -> None:
        """An input used only as an index, a shape or a label is whole numbers, and has no gradient."""
        seed = self.result.seed
        if isinstance(seed, Node) and not any(seed in n.operands for n in self.graph.nodes):
            seed.differentiable = False  # given from outside: the gradient that arrives, not a number that varies
        for number in self.plainly & self.whole.keys():
            node = self.graph.nodes[number]
            node.data = self.whole[number]
            node.dtype = "int64"
            node.differentiable = False


_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")
_NAME = r"[^\W\d]\w*(?:\s*\[[^\]]*\])?\s*"
_TARGET = re.compile(rf"\s*({_NAME}(?:,\s*{_NAME})*),?\s*(?::[^:]*)?[-+*/@%]*")


def _targets(line: str) -> list[str]:
    """The names that a line which cannot be read was about to define."""
    if named := re.match(r"\s*(?:def|class)\s+(\w+)", line):
        return [named[1]]
    names: list[str] = []
    for statement in line.split(";"):
        for target in _ASSIGNS.split(statement)[:-1]:
            if found := _TARGET.fullmatch(target):
                names += re.findall(r"[^\W\d]\w*", re.sub(r"\[[^\]]*\]", "", found[1]))
    return names


def _is_shape(value: Any, place: ast.AST) -> bool:
    """Whether a tuple is one that the language itself made: `s = x.shape`."""
    return (
        isinstance(value, tuple)
        and not isinstance(place, (ast.Tuple, ast.List))
        and all(type(v) is Length for v in value)
    )


# One reader per kind of statement ----------------------------------------------------------------


def _assign(self: Interpreter, statement: ast.Assign) -> None:
    if _is_bookkeeping(statement):
        self.note(f"`{self.text(statement)}` passed over")
        return
    value = self.value(statement.value)
    for target in statement.targets:
        self.define(target, value, statement.value)
        if isinstance(target, ast.Name):
            value = self.names[target.id]


def _is_bookkeeping(statement: ast.Assign) -> bool:
    """`w.grad = None`, `w.requires_grad = True`."""
    target = statement.targets[0]
    return isinstance(target, ast.Attribute) and target.attr in ("grad", "requires_grad")


def _annotated(self: Interpreter, statement: ast.AnnAssign) -> None:
    if statement.value is None:
        raise GradError(meaning.not_in_language(self.span(statement), "a name without a value", "write `name = value`"))
    self.define(statement.target, self.value(statement.value), statement.value)


def _augmented(self: Interpreter, statement: ast.AugAssign) -> None:
    target = statement.target
    if not isinstance(target, ast.Name):
        raise GradError(self._no_target(target))
    left = self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
    right = self.value(statement.value)
    value = self.binary(BINARY[type(statement.op)], left, right, statement, (target, statement.value))
    self.bind(target.id, value, statement)


def _import(self: Interpreter, statement: ast.Import | ast.ImportFrom) -> None:
    origin = getattr(statement, "module", None)
    for alias in statement.names:
        path = origin or alias.name
        if path.split(".")[0] not in LIBRARIES:
            raise GradError(
                meaning.not_in_language(
                    self.span(statement),
                    f"importing `{path}`",
                    "leave it out; NumPy's and PyTorch's names are known here",
                )
            )
        if alias.asname or isinstance(statement, ast.Import):
            self.modules.add((alias.asname or alias.name).split(".")[0])
        elif alias.name not in REGISTRY:
            self.modules.add(alias.name)
    self.note(f"`{self.text(statement)}` passed over: the usual names are known here")


def _expression(self: Interpreter, statement: ast.Expr) -> None:
    node = statement.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return  # a comment in quotes
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        self.result.claims.append(Claim(self.line, self.text(node), node.left, node.comparators[0]))
        return
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name == "backward":
            _backward(self, node)
            return
        if name in PASSED_OVER and name not in self.names:
            why = "give a random tensor its own `seed=`" if name in SEEDERS else "it changes no value"
            self.note(f"`{self.text(node)}` passed over: {why}")
            return
    if isinstance(node, (ast.Name, ast.Attribute)) and self.text(node).split(".")[0] in self.names:
        self.note(f"`{self.text(node)}` passed over: it defines nothing")
        return
    self.value(node)
    self.note(f"`{self.text(node)}` has no name, so nothing can use it")


_SEEDS = ("gradient", "grad", "seed")
_AUTOGRAD = ("retain_graph", "create_graph", "inputs")
_BACKWARD = "L.backward() or c.backward(dc)"


def _backward(self: Interpreter, node: ast.Call) -> None:
    """`backward(L)`, `L.backward()`, `c.backward(dc)`: what to differentiate, and from which seed."""
    arguments = [*node.args, *[k.value for k in node.keywords if k.arg in _SEEDS]]
    for keyword in node.keywords:
        if keyword.arg not in (*_SEEDS, *_AUTOGRAD):
            known = [*_SEEDS, *_AUTOGRAD]
            word = keyword.arg or "**"
            raise GradError(meaning.unknown_argument(self.span(keyword), "backward", word, known, _BACKWARD))
    if isinstance(node.func, ast.Attribute) and not isinstance(self.value(node.func.value), Module):
        arguments.insert(0, node.func.value)
    if not 1 <= len(arguments) <= 2:
        raise GradError(
            meaning.argument_count(
                self.span(node), "backward", "a node and perhaps its seed", len(arguments), _BACKWARD
            )
        )
    output = self.value(arguments[0])
    if type(output) is not Node:
        raise GradError(
            meaning.wrong_argument(self.span(arguments[0]), "what `backward` starts from", "a node", self.found(output))
        )
    if self.result.output is not None:
        raise GradError(
            meaning.not_yet_read(
                self.span(node),
                "a second `backward`",
                "keep one; `--of` chooses another output on the command line",
            )
        )
    self.result.output = output
    if len(arguments) == 2:
        self.result.seed = _seed(self, arguments[1], output, self.text(arguments[0]))


def _seed(self: Interpreter, place: ast.expr, output: Node, name: str) -> Any:
    value = self.value(place)
    value = value.value if isinstance(value, Input) else value
    node = self.operand(value, place)
    if node.shape != output.shape and node.shape != ():
        raise GradError(meaning.seed_shape(self.span(place), name, output.shape, node.shape))
    return node


def _pass(self: Interpreter, statement: ast.stmt) -> None:
    """`pass` means nothing."""


_STATEMENTS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Pass: _pass,
}


def trace(program: Program, limits: Limits, dtype: str = "float64") -> Traced:
    """The graph of a program.  Raises GradError with every independent fault of the file.

    `dtype` is the precision of the inputs that do not name one.
    """
    return Interpreter(program, limits, dtype).run()

"""Statements: a program, line by line, becomes a graph.

Reading is tracing: the interpreter walks the syntax tree with an environment in which tensors are nodes.  Loops are
unrolled, conditions decided at these inputs, functions read where they are called; so the graph of a program is
the graph of what it does.  A line that is faulty leaves its names poisoned, so that the lines that use them keep
silent and every *independent* fault of a file is reported in one run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import INPUT, Node
from gradcli.language import Part, Program
from gradcli.language.splitting import is_boundary
from gradcli.ops.create import Limits
from gradcli.problems import GradError, Problem, meaning
from gradcli.problems.syntax import too_deep
from gradcli.trace import calls, containers, readers  # noqa: F401  (they teach expressions to be read)
from gradcli.trace.draws import Generator
from gradcli.trace.expressions import Silent
from gradcli.trace.libraries import Handler, find
from gradcli.trace.rules import Rules
from gradcli.trace.traced import Traced
from gradcli.trace.training import Backward, finish, nothing_before_the_change, set_zero, step, sweep_from
from gradcli.trace.values import Instance, Module, Poison, Scope
from gradcli.trace.vocabulary import PATHS

STATEMENTS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {}
"""For every kind of statement the function that reads it: see `statements`."""


class Interpreter(Rules):
    """Reads a program's statements into a graph.  See `trace`."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64", through: bool = False) -> None:
        super().__init__(program, limits, dtype)
        self.through = through
        """Whether what is derived goes on through changes of parameters that the program makes by hand."""
        self._reported: set[str] = set()
        self.ended = False
        """Whether what follows no longer belongs to what is derived."""
        self.checked: dict[int, int] = {}
        """How many calls were kept for the check of every rule."""
        self.failed = {}
        self.passed = {}
        self.turned_on = []
        self.backwards: list[Backward] = []
        self.printed: list[Backward] = []
        """What is differentiated only to be printed."""
        self.zeroed = False
        """Whether gradients were set to zero after the last backward pass."""
        self.cut: int | None = None
        """How many nodes there were when the parameters changed."""
        self.last_at_cut: Node | None = None
        self.updated: dict[str, int] = {}
        """The parameters that were changed, with the lines on which they were."""
        self.updated_nodes: dict[int, tuple[str, int]] = {}
        self.tainted: dict[str, set[str]] = {}
        """Names that hold gradients, with the names of what they are the gradients of."""
        self.training = {
            "step": step,
            "apply_gradients": step,
            "zero_grad": set_zero,
            "zero_": set_zero,
            "zero_grads": set_zero,
        }
        self.paths: dict[str, str] = dict(PATHS)
        """What the names of libraries stand for: `np` is `numpy`."""
        self.called = set()
        self.layers: Scope = {}
        self.spelled: Scope = {}
        self.generators: list[Generator] = []
        self.inside = 0
        """How many functions that are being differentiated, or mapped, are around what is read."""
        self.tapes: list[str] = []
        """TensorFlow's tapes that are running, by name."""
        self.mapping = 0
        """At which of those depths the rows of a `vmap` are, that no other function is around."""
        self.derived_of: list[tuple[int, Node, Any]] = []
        """What was differentiated into the graph itself, by line and with its seed: the output, if nothing else is."""
        self._shared: dict[str, Generator] = {}

    def run(self) -> Traced:
        """The graph of the whole program.  Raises GradError with every independent fault."""
        for part in self.program.parts():
            self._part(part)
            if self.ended:
                break
        if not self.problems and nothing_before_the_change(self):
            return Interpreter(self.program, self.limits, self.dtype, through=True).run()
        finish(self)
        self.settle_rules()
        self._tell_of_drawn()
        if self.problems:
            raise GradError(*sorted(self.problems, key=lambda p: p.line))
        self.name_nodes()
        self.settle_whole_numbers()
        self.result.environment, self.result.raw = self.globals, self.raw
        return self.result

    def _tell_of_drawn(self) -> None:
        """A note on weights that the program leaves as they are drawn."""
        drawn = {id(array) for array in self.drawn}
        lines = sorted({node.line for node in self.graph.nodes if node.op is INPUT and id(node.data) in drawn})
        if lines:
            shown = ", ".join(map(str, lines[:8]))
            self.result.notes.append(f"line {shown}: weights are drawn here, and differ from those of the program")

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
            if self.ended:
                return
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

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Reads the statements of a body, each of which may be faulty by itself."""
        for statement in statements:
            if self.ended:
                return
            if not self.line_fixed:
                self.line = self.part.line_of(statement)
            self.count_line(statement)
            self._guarded(statement)

    def _guarded(self, statement: ast.stmt) -> None:
        before, self.statement_start = self.statement_start, len(self.graph.nodes)
        try:
            handler = STATEMENTS.get(type(statement))
            if handler is None:
                raise GradError(self.refusal(statement))
            handler(self, statement)
            return
        except GradError as error:
            self._report(error.problems)
        except CannotEvaluate as error:
            self._report([meaning.cannot_evaluate(self.span(statement), error.reason)])
        except RecursionError:
            self._report([too_deep(self.span(statement))])
        except Silent:
            self._report_unknown(statement)
        finally:
            self.statement_start = before
        self._poison(statement)

    def _report(self, problems: Sequence[Problem]) -> None:
        """Takes note of faults; one that a loop meets again is the same one."""
        if self.line_fixed:
            raise GradError(*problems)
        if self.cut is not None:  # what follows the pass is not derived, and need not be understood
            problems = [p for p in problems if p.code == "in-place-update"]
        for problem in problems:
            if _told(problem) not in self._reported:
                self._reported.add(_told(problem))
                self.problems.append(problem)

    # Libraries -------------------------------------------------------------------------------

    def library(self, name: str, base: Module | None, place: ast.AST) -> Handler | None:
        """What a library's name that is no operator does when it is called."""
        return find(self, name, base, place)

    def full_path(self, path: str) -> str:
        """A path with the library's own name in front: `numpy.random` for `np.random`."""
        first, dot, rest = path.partition(".")
        return self.paths.get(first, first) + dot + rest

    def generator(self, kind: str) -> Generator:
        """The generator that draws of a library share."""
        return self._shared.setdefault(kind, Generator(kind, None))

    def seed_generator(self, node: ast.Call) -> bool:
        """`np.random.seed(0)`, `torch.manual_seed(0)`."""
        path = self.full_path(self.text(node.func).rpartition(".")[0])
        kind = "python" if path == "random" else "torch" if path.startswith(("torch", "tensorflow")) else "legacy"
        seed = self.plain(self.value(node.args[0])) if len(node.args) == 1 else None
        if not isinstance(seed, int) or not 0 <= seed < 2**32:
            return False
        self._shared[kind] = Generator(kind, seed)
        if kind == "torch":
            self.note(f"`{self.text(node)}` seeds a generator that is not at hand: the numbers differ from PyTorch's")
        return True

    def sweep(self, output: Node, seed: Node | None, place: ast.AST) -> None:
        """Takes note of a backward pass."""
        sweep_from(self, output, seed, place, adds=False)

    def forget_reports(self, count: int) -> None:
        """Takes back that faults from a number on were told."""
        self._reported = {_told(problem) for problem in self.problems[:count]}

    def _report_unknown(self, statement: ast.stmt) -> None:
        """Of a line that uses a faulty name, reports what is wrong whatever that name's value: other unknown names."""
        own = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}
        for part in _header(statement):
            for name in ast.walk(part):
                read = isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id not in own
                if read and not self.is_known(name.id):  # type: ignore[attr-defined]
                    self._report([self.unknown(name, name.id)])  # type: ignore[attr-defined]

    def _poison(self, statement: ast.stmt) -> None:
        """Marks every name that a faulty statement would have defined."""
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.names[part.id] = Poison
            elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                self.names[part.name] = Poison
            elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                self.names.setdefault(self.text(part.value), Poison)
            elif (
                isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name)
            ):
                base = self.names.get(part.value.id)
                if isinstance(base, Instance):
                    base.attributes[part.attr] = Poison


def _told(problem: Problem) -> str:
    """What makes two problems the same one."""
    return repr((problem.code, problem.message, [(label.span.line, label.span.column) for label in problem.labels]))


def _header(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are read before its body, whose statements speak for themselves."""
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        return [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
    return [] if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else [statement]


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


def trace(program: Program, limits: Limits, dtype: str = "float64") -> Traced:
    """The graph of a program.  Raises GradError with every independent fault of the file.

    `dtype` is the precision of the inputs that do not name one.
    """
    return Interpreter(program, limits, dtype).run()

"""Rules of differentiation that a program states itself, and what is needed to judge them.

A function with a rule is read like any other: its operations are nodes, and they are what is derived.  Beside that,
the function and its rule are read once more at stand-ins for the arguments and the upstream gradient, into a small
graph of their own, where the rule's results can be compared with the derivative of the forward part at any inputs.

Rules come in several forms: stated for a function (`@f.backward`, JAX's `f.defvjp`, autograd's `defvjp(f, …)`), as
PyTorch's class, as a pair of functions, as a layer.  A form says how its forward part and its rule are called
(`Reading`); the rest is the same for all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, INPUT, Graph, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import Op
from gradcli.ops.pass_on import identity, stop_gradient
from gradcli.problems import GradError, Problem, meaning
from gradcli.trace.expressions import Silent
from gradcli.trace.functions import Functions, Words
from gradcli.trace.lists import contains
from gradcli.trace.spelling import root_of
from gradcli.trace.traced import CustomRule, RuleResult
from gradcli.trace.values import Bound, Class, Function, Instance, Items, Owner, Pick, Scope, Swept, Table

RATES = ("lr", "learning_rate", "eta", "alpha", "rate", "step_size")
"""What a backward part may be given besides, to change its weights at once."""
RATE = 0.1
CALLS_CHECKED = 3
"""So many calls of a function are kept for its check."""
FAILS = frozenset(
    {"shape-mismatch", "argument-count", "unpack", "unknown-name", "unknown-member", "repeated-index", "no-number"}
)
"""Faults that say that a rule goes wrong; others may say what is not known here, and nothing about the rule."""


@dataclass(slots=True)
class Reading:
    """How a function with a rule is read at stand-ins for its arguments.

    `forward` makes of them the outputs and what is kept for the way back; `backward` makes of the upstream gradients,
    the stand-ins and what was kept the results.  `upstream` are the rule's names for the upstream gradients; a rule
    that `asks` for none is the last one, of a loss.  One that is only `guessed` to be a rule, by its name, may turn
    out to be something else, and that is no fault.  Results are for the operands at `asked` (all, if it is None), by
    position, or by their names where those tell and the rule is not `ordered`.  A `strict` rule has one for each of
    them, `None` for what takes no gradient, and some have to be in a tuple.
    """

    rule: Function
    title: str
    names: list[str]
    values: list[Any]
    place: ast.AST
    forward: Callable[[list[Any]], tuple[list[Any], Any]]
    backward: Callable[[list[Any], list[Any], Any], Any]
    upstream: Sequence[str]
    target: Instance | None = None
    asks: bool = True
    guessed: bool = False
    ordered: bool = True
    strict: bool = False
    in_a_tuple: bool = False
    asked: Sequence[int] | None = None


class Rules(Functions):
    """Calls functions that have a rule of their own, and remembers what is to be checked."""

    checked: dict[int, int]
    recording = False
    own_rule = False
    """Whether the forward part of PyTorch's class is read, in which no gradients are followed and none is cut."""
    unasked: Sequence[Any] = ()
    """The outputs of the forward part that is being read which have no gradient, as it says."""
    forward_names: dict[int, str]
    """The names that nodes have in the forward part, by `id`: a rule may give them others."""
    failed: dict[int, CustomRule]
    """Rules that could not be read through, by their syntax."""
    passed: dict[int, bool]
    """Whether those got through wherever the program calls them itself."""
    turned_on: list[Node]
    """The nodes on whose values something was decided while a rule was read: it is read so where they are the same."""

    def value_of(self, node: Node) -> Any:
        """The value of a node at these inputs."""
        if self.recording:
            self.turned_on.append(node)
        return super().value_of(node)

    def apply(
        self,
        op: Op,
        operands: Sequence[Node],
        settings: dict[str, Any] | None,
        place: ast.AST,
        places: Sequence[ast.AST],
        setting_places: Mapping[str, ast.AST] | None = None,
    ) -> Node:
        """Adds the node of an operation."""
        op = identity if op is stop_gradient and self.own_rule else op
        return super().apply(op, operands, settings, place, places, setting_places)

    # The forms ---------------------------------------------------------------------------------

    def call_ruled(self, function: Function, values: list[Any], words: Words, place: ast.AST) -> Any:
        """The value of a call of a function, which may have a rule."""
        rule = function.rule or next((m for m in function.makers if m), None) or self._partner(function)
        if rule is not None and self._worth_checking(rule):
            given = self._arguments(function, values, words, place, ())
            names = _parameters(function)
            arguments = [given[n] for n in names]
            if function.forward_rule is not None:
                reading = self._with_residuals(function, rule, names, arguments, place)
            elif function.rule is not None:
                reading = self._stated(function, rule, names, arguments, place)
            elif function.makers:
                reading = self._with_makers(function, names, arguments, place)
            else:
                reading = self._pair(function, rule, names, arguments, place)
            self._record(reading)
        return self.call_function(function, values, words, place)

    def _stated(
        self, function: Function, rule: Function, names: list[str], values: list[Any], place: ast.AST
    ) -> Reading:
        """`@f.backward def _(g, x, w): …`"""
        takes = len(_parameters(rule))

        def forward(stand_ins: list[Any]) -> tuple[list[Any], Any]:
            return _outputs(self.call_function(function, stand_ins, {}, place)), None

        def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
            spread = len(gs) == 1 or takes == len(gs) + len(stand_ins)
            return self.call_function(rule, [*(gs if spread else [Items(gs, fixed=True)]), *stand_ins], {}, place)

        upstream = _parameters(rule)[: max(1, takes - len(names))]
        return Reading(rule, f"{function.name}.backward", names, values, place, forward, backward, upstream)

    def _with_residuals(
        self, function: Function, rule: Function, names: list[str], values: list[Any], place: ast.AST
    ) -> Reading:
        """JAX's `f.defvjp(f_fwd, f_bwd)`: the forward rule keeps what the backward rule needs."""
        first = function.forward_rule
        assert first is not None
        fixed = sorted(n % len(names) for n in function.fixed)

        def forward(stand_ins: list[Any]) -> tuple[list[Any], Any]:
            outputs = _outputs(self.call_function(function, stand_ins, {}, place))
            both = self.call_function(first, stand_ins, {}, place)
            if not isinstance(both, (tuple, list)) or len(both) != 2:
                expected = "two: the function's value, and what is kept for the way back"
                raise GradError(
                    meaning.wrong_argument(
                        first.part.span(_returned(first) or first.tree),
                        f"what `{first.name}` returns",
                        expected,
                        self.found(both),
                    )
                )
            return outputs, both[1]

        def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
            g = gs[0] if len(gs) == 1 else Items(gs, fixed=True)
            return self.call_function(rule, [*(stand_ins[n] for n in fixed), kept, g], {}, place)

        upstream = _parameters(rule)[-1:] or ["g"]
        reading = Reading(rule, rule.name, names, values, place, forward, backward, upstream)
        reading.asked = [n for n in range(len(names)) if n not in fixed]
        reading.strict = reading.in_a_tuple = True
        return reading

    def _with_makers(self, function: Function, names: list[str], values: list[Any], place: ast.AST) -> Reading:
        """autograd's `defvjp(f, lambda y, x: lambda g: …)`: a function for each argument makes its rule."""
        makers = [maker for maker in function.makers if maker is not None]

        def forward(stand_ins: list[Any]) -> tuple[list[Any], Any]:
            outputs = _outputs(self.call_function(function, stand_ins, {}, place))
            return outputs, outputs[0]

        def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
            found = []
            for maker in makers:
                rule = self.call_function(maker, [kept, *stand_ins], {}, place)
                if not isinstance(rule, Function):
                    raise GradError(self.no_number(rule, maker.tree))
                found.append(self.call_function(rule, gs[:1], {}, place))
            return Items(found, fixed=True)

        reading = Reading(makers[0], f"the rule of {function.name}", names, values, place, forward, backward, ["g"])
        reading.asked = [n for n, maker in enumerate(function.makers) if maker is not None and n < len(names)]
        return reading

    def _pair(self, function: Function, rule: Function, names: list[str], values: list[Any], place: ast.AST) -> Reading:
        """`affine_forward` and `affine_backward`: what the second one is given, its names tell."""
        takes = _parameters(rule)
        reading: Reading

        def forward(stand_ins: list[Any]) -> tuple[list[Any], Any]:
            output, cache = _output_and_cache(self.call_function(function, stand_ins, {}, place))
            reading.asks = any(_takes_upstream(n, names, cache) for n in takes)
            return [output], cache

        def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
            arguments = _rule_arguments(takes, gs[0], kept, names, stand_ins)
            if arguments is None:
                raise GradError(self._count(rule, place, len(names)))
            return self.call_function(rule, arguments, {}, place)

        upstream = [n for n in takes if n not in names and not _is_cache(n)][:1] or ["g"]
        reading = Reading(rule, rule.name, names, values, place, forward, backward, upstream)
        reading.guessed, reading.ordered = True, False
        return reading

    def call_layer(self, target: Instance, function: Function, values: list[Any], words: Words, place: ast.AST) -> Any:
        """The value of a call of an object's forward part, which may have a backward part beside it."""
        self.called.add(id(target))
        if function.library and contains([*values, *(value for value, _ in words.values())], Swept):
            return Swept()  # what is computed from gradients is known only after the sweep
        rule = target.cls.find("backward")
        if isinstance(rule, Function) and not rule.library and self._worth_checking(rule):
            names = _parameters(function)[1:]
            given = self._arguments(function, [target, *values], words, place, ())
            takes = _parameters(rule)
            asks = len(takes) > 1 and not _has_default(rule, 1)

            def forward(stand_ins: list[Any]) -> tuple[list[Any], Any]:
                result = self.call_function(function, [target, *stand_ins], {}, place, target.owner)
                return [_output_and_cache(result)[0]], None

            def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
                others = [RATE for name in takes[2:] if name in RATES]
                return self.call_function(rule, [target, *(gs if asks else []), *others], {}, place, target.owner)

            arguments = [given[n] for n in names]
            title = f"{rule.owner.name}.{rule.name}" if rule.owner is not None else rule.name
            reading = Reading(rule, title, names, arguments, place, forward, backward, takes[1:2] or ["g"], target)
            reading.asks, reading.guessed = asks, True
            self._record(reading)
        return self.call_function(function, [target, *values], words, place, target.owner)

    def apply_class(self, cls: Class, values: list[Any], words: Words, place: ast.AST) -> Any:
        """The value of `F.apply(x)` of a class with a rule of its own."""
        forward, rule = cls.find("forward"), cls.find("backward")
        if not isinstance(forward, Function):
            raise GradError(
                meaning.unknown_member(
                    self.span(place), f"{cls.name}.forward", [f"{cls.name}.{m}" for m in cls.members]
                )
            )
        setup = cls.find("setup_context")

        def call(context: Instance, arguments: list[Any]) -> Any:
            before, self.own_rule = self.own_rule, True
            try:
                return called(context, arguments)
            finally:
                self.own_rule = before

        def called(context: Instance, arguments: list[Any]) -> Any:
            if isinstance(setup, Function):
                result = self.call_function(forward, arguments, words, place)
                inputs = Items(arguments, fixed=True)
                named = {"ctx": context, "inputs": inputs, "output": result, "outputs": result}
                given = [named.get(n, v) for n, v in zip(_parameters(setup), (context, inputs, result), strict=False)]
                self.call_function(setup, given, {}, place)
                return result
            given = (
                [context, *arguments]
                if _parameters(forward)[:1] == ["ctx"] or len(_parameters(forward)) > len(arguments)
                else arguments
            )
            return self.call_function(forward, given, words, place)

        def context_for(arguments: Sequence[Any]) -> Instance:
            context = Instance(CONTEXT)
            needed = (type(v) is Node and v.dtype in FLOATS and v.differentiable for v in arguments)
            context.attributes["needs_input_grad"] = Items(needed, fixed=True)
            return context

        if isinstance(rule, Function) and self._worth_checking(rule):

            def read(stand_ins: list[Any]) -> tuple[list[Any], Any]:
                context = context_for(stand_ins)
                outputs = _outputs(call(context, stand_ins))
                self.unasked = context.attributes.get(UNASKED, ())
                return outputs, context

            def backward(gs: list[Any], stand_ins: list[Any], kept: Any) -> Any:
                return self.call_function(rule, [kept, *gs], {}, place)

            names = _parameters(forward)[0 if isinstance(setup, Function) else 1 :][: len(values)]
            if len(names) < len(values):  # a star takes the rest
                names = [*names, *(f"argument {k + 1}" for k in range(len(names), len(values)))]
            title = f"{cls.name}.backward"
            reading = Reading(rule, title, names, values, place, read, backward, _parameters(rule)[1:] or ["g"])
            reading.strict = True
            self._record(reading)
        return call(context_for(values), values)

    def _before_upstream(self, given: list[Any]) -> None:
        """Makes the last definition one that is no part of the upstream gradient which a backward part is given."""
        upstream = {value.number for value in given if type(value) is Node and value.op is not INPUT}
        last = self.result.last
        if last is None or last.number not in upstream:
            return
        users: dict[int, list[int]] = {}
        for node in self.graph.nodes:
            for operand in node.operands:
                users.setdefault(operand.number, []).append(node.number)
        own = {node.number for node in self.definitions[None].get(last.name, [])}
        for node in reversed(self.graph.nodes[: last.number + 1]):
            uses = users.get(node.number, [])
            if node.number in upstream or (uses and all(use in upstream for use in uses)):
                upstream.add(node.number)
            elif node.operands and node.differentiable and self._is_the_files(node) and node.number not in own:
                self.result.last, self.result.without_gradient = node, None
                return
        where = self.program.source.told(self.line)
        self.result.notes.append(
            f"{where}: `{last.name}` is what the gradients by hand start from, and no other result is "
            "defined before it: `--of NAME` says what is differentiated"
        )

    def _is_the_files(self, node: Node) -> bool:
        """Whether the file itself has given a node its name."""
        return any(node is each for each in self.definitions[None].get(node.name, []))

    def _partner(self, function: Function) -> Function | None:
        """The backward part of a pair: `affine_backward` of `affine_forward`."""
        if "forward" not in function.name or function.owner is not None:
            return None
        found = self.look_up(function.name.replace("forward", "backward"))
        return found if isinstance(found, Function) else None

    def _worth_checking(self, rule: Function) -> bool:
        count = self.checked.get(id(rule.tree), 0)
        return self.recording is False and count < CALLS_CHECKED and self.cut_nowhere

    @property
    def cut_nowhere(self) -> bool:
        """Whether what is read still belongs to the pass that is derived."""
        return getattr(self, "cut", None) is None

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
        """The value of a call; that of a rule, by the program itself, begins its gradients by hand."""
        known = id(function.tree) in self.checked and not self.recording
        if known and not self.by_hand and function.rule is None and self.result.last is not None:
            self.by_hand = True
            self._before_upstream([*values, *(value for value, _ in words.values())])
            where = self.program.source.told(self.line)
            self.result.notes.append(
                f"{where}: `{self.text(place)}` begins the gradients by hand: the output is defined before it"
            )
        failed = self.failed.get(id(function.tree)) if known else None
        if failed is None and not (known and self._has_a_misfit()):
            return super().call_function(function, values, words, place, owner, places, running)
        faults = len(self.problems)
        try:
            found = super().call_function(function, values, words, place, owner, places, running)
        except (GradError, Silent):  # told as a finding about the rule, or about the one before it
            del self.problems[faults:]
            self.forget_reports(faults)
            self.passed[id(function.tree)] = False
            raise Silent from None
        self.passed.setdefault(id(function.tree), True)
        return found

    def _has_a_misfit(self) -> bool:
        """Whether a result of a rule has another shape than it should, so that the next rule cannot work on it."""
        return any(
            r.operand is not None and (r.node is None or r.node.shape != r.operand.shape)
            for rule in self.result.custom_rules
            for r in rule.results
        )

    def settle_rules(self) -> None:
        """Takes back that rules fail which the program itself calls, and which do not: they are of another kind."""
        for name, rule in _stated_rules(self.globals):
            if id(rule.tree) not in self.checked and not rule.library:
                where = self.program.source.told(rule.part.span(rule.tree).line)
                self.result.notes.append(f"{where}: `{name}` is not checked: the pass that is derived never calls it")
        disproved = [rule for tree, rule in self.failed.items() if self.passed.get(tree)]
        self.result.custom_rules[:] = [r for r in self.result.custom_rules if not any(r is d for d in disproved)]

    def takes_no_gradient(self, node: Node) -> bool:
        """Whether a program that says which of its tensors take a gradient says so of none that a node is made of."""
        text = self.program.source.text
        if "torch" not in self.imported or "requires_grad" not in text:
            return False
        lines, stack, seen = self.program.source.lines, [node], set()
        while stack:
            top = stack.pop()
            if top.number in seen:
                continue
            seen.add(top.number)
            stack.extend(top.operands)
            if top.op is INPUT:
                line = lines[top.line - 1] if 0 < top.line <= len(lines) else ""
                later = re.search(rf"\b{re.escape(top.name)}\.requires_grad", text) if top.name else None
                if later or "requires_grad" in line or "Parameter" in line or top.number in self.parameter_numbers:
                    return False
        return True

    def unpackings(self, name: str) -> list[list[str]]:
        """The names that the program gives to the results of a function, wherever it unpacks them."""
        if self._unpackings is None:
            self._unpackings = {}
            for part in self.program.parts():
                for statement in part.statements:
                    for found in ast.walk(statement):
                        if isinstance(found, ast.Assign) and isinstance(found.value, ast.Call):
                            called, target = found.value.func, found.targets[0]
                            if isinstance(target, ast.Tuple) and isinstance(called, (ast.Name, ast.Attribute)):
                                key = called.id if isinstance(called, ast.Name) else called.attr
                                names = [t.id if isinstance(t, ast.Name) else "" for t in target.elts]
                                self._unpackings.setdefault(key, []).append(names)
        return self._unpackings.get(name, [])

    _unpackings: dict[str, list[list[str]]] | None = None

    def forget_reports(self, count: int) -> None:
        """Takes back that faults from a number on were told."""
        raise NotImplementedError

    # Recording -------------------------------------------------------------------------------

    def _record(self, reading: Reading) -> None:
        """Reads forward part and rule at stand-ins, and keeps them in a graph of their own."""
        values, place = reading.values, reading.place
        faults = len(self.problems)
        nodes = [v if type(v) is Node else self.picked(v, place) if type(v) is Pick else None for v in values]
        if all(n is None for n in nodes) and reading.target is None:
            values = [self.operand(v, place) if isinstance(v, (float, np.ndarray, list)) else v for v in values]
            nodes = [v if type(v) is Node else None for v in values]
        numbers = [type(v) is float and reading.in_a_tuple for v in values]  # JAX differentiates them like tensors
        mark = len(self.graph.nodes)
        kept = _Kept(self, reading)
        self.recording, self.turned_on, self.unasked = True, [], ()
        outputs: list[Any] = []
        stand_ins: list[Any] = []
        gs: list[Any] = []
        cache: Any = None
        quiet, note = reading.guessed, ""
        try:
            stand_ins = [
                v if n is None or n.dtype not in FLOATS else self._stand_in(n, name)
                for v, n, name in zip(values, nodes, reading.names, strict=True)
            ]
            for at, number in enumerate(numbers):
                if number:
                    stand_ins[at] = nodes[at] = self.graph.input(values[at], "float64", reading.names[at], self.line)
            outputs, cache = reading.forward(stand_ins)
            self.forward_names = {id(n): n.name for n in self.graph.nodes[mark:]}
            asked = [o for o in outputs if self._is_output(o)]
            if asked:
                gs = self._upstream(reading, outputs, asked)
                found = reading.backward(gs, stand_ins, cache)
                self._keep(reading, nodes, stand_ins, asked, gs, found, mark, _unpacked(reading.rule, cache))
        except (GradError, Silent, CannotEvaluate) as error:
            told = self.problems[faults:]
            if not gs or not self._is_told(reading, error, told, nodes, stand_ins, outputs, gs, cache, mark):
                if not reading.guessed:
                    raise
                note = self._unread(reading, error, self.problems[faults:]) if gs else ""
            quiet = True
        finally:
            self.recording = False
            kept.restore()
            self.truncate(mark)
            if quiet:
                del self.problems[faults:]
                self.forget_reports(faults)
        if note and note not in self.result.notes:
            self.result.notes.append(note)

    def _is_output(self, value: Any) -> bool:
        unasked = any(value is u for u in self.unasked)
        return type(value) is Node and value.dtype in FLOATS and not unasked

    def _upstream(self, reading: Reading, outputs: list[Any], asked: list[Any]) -> list[Any]:
        """The upstream gradient of every output: an input of its own, or zeros for one that has no gradient."""
        gs: list[Any] = []
        names = list(reading.upstream)
        for at, output in enumerate(outputs):
            if not self._is_output(output):
                gs.append(np.zeros(output.shape) if type(output) is Node else None)
                continue
            name = names[at] if at < len(names) else "g" if len(asked) == 1 else f"g{at + 1}"
            # the last layer, a loss, is asked for no upstream gradient: it is 1
            seed = _seed(output.shape, at) if reading.asks else np.ones(output.shape) if output.shape else 1.0
            gs.append(self.graph.input(seed, "float64", name, self.line, differentiable=reading.asks))
        return gs

    def _is_told(
        self,
        reading: Reading,
        error: Exception,
        problems: Sequence[Problem],
        nodes: Sequence[Node | None],
        stand_ins: list[Any],
        outputs: list[Any],
        gs: list[Any],
        cache: Any,
        mark: int,
    ) -> bool:
        """Keeps that a rule cannot be read through; not if the faults say nothing about the rule."""
        rule = reading.rule
        told = _faults(reading, error, problems)
        call = self.span(reading.place).line
        foreign = reading.guessed and any(p.code == "argument-count" and p.line == call for p in told)
        if not told or foreign or any(p.code not in FAILS for p in told):
            return False
        self.checked[id(rule.tree)] = CALLS_CHECKED
        copies = _Copies(self, mark)
        copies.take(self.graph.nodes[mark:])
        asked = [o for o in outputs if self._is_output(o)]
        results: list[RuleResult] = []
        for name, stand_in, node in zip(reading.names, stand_ins, nodes, strict=True):
            if type(stand_in) is Node and stand_in.number >= mark and node is not None and node.differentiable:
                span = rule.part.span(rule.tree)
                results.append(RuleResult(name, copies.of(stand_in), None, span, "nothing", len(results) + 1))
        found = CustomRule(
            reading.title,
            self.line,
            rule.part.span(rule.tree),
            copies.graph,
            tuple(copies.of(o) for o in asked),
            tuple(copies.of(g) for g in gs if type(g) is Node),
            {},
            tuple(results),
            unpacked=tuple((name, copies.of(node)) for name, node in _unpacked(rule, cache)),
            failure=tuple(told),
        )
        self.failed[id(rule.tree)] = found
        self.result.custom_rules.append(found)
        return True

    def _unread(self, reading: Reading, error: Exception, problems: Sequence[Problem]) -> str:
        """A note on what is not known here and keeps a rule from being checked."""
        for problem in _faults(reading, error, problems):
            if problem.code not in FAILS:
                return f"{self.program.source.told(problem.line)}: `{reading.title}` is not checked: {problem.message}"
        return ""

    def _stand_in(self, node: Node, name: str) -> Node:
        new = self.graph.input(Functions.value_of(self, node), node.dtype, name, self.line)
        if node.number in self.raw:
            self.raw[new.number] = self.whole[new.number] = self.raw[node.number]
        return new

    def _keep(
        self,
        reading: Reading,
        nodes: list[Node | None],
        stand_ins: list[Any],
        outputs: list[Node],
        gs: list[Any],
        found: Any,
        mark: int,
        unpacked: Sequence[tuple[str, Node]],
    ) -> None:
        rule = reading.rule
        told = _Results(self, reading, found)
        copies = _Copies(self, mark)
        copies.take(self.graph.nodes[mark:])
        movable = [copies.of(s) for s in stand_ins if type(s) is Node and s.number >= mark]
        operands = [copies.of(s) if type(s) is Node and s.number >= mark else None for s in stand_ins]
        results = told.matched(operands, nodes, copies)
        if reading.target is not None:
            results += self._attributes(reading, copies)
        movable += [n for n in copies.outside if n.differentiable]
        upstream = [copies.of(g) for g in gs if type(g) is Node]
        self.checked[id(rule.tree)] = self.checked.get(id(rule.tree), 0) + 1
        self.result.custom_rules.append(
            CustomRule(
                reading.title,
                self.line,
                rule.part.span(rule.tree),
                copies.graph,
                tuple(copies.of(o) for o in outputs),
                tuple(upstream),
                {n.number: n for n in (*movable, *upstream)},
                tuple(results),
                tuple(copies.of(n) for n in self.turned_on if n.number >= mark),
                tuple(told.complaints),
                tuple((name, copies.of(node)) for name, node in unpacked),
            )
        )

    def _attributes(self, reading: Reading, copies: _Copies) -> list[RuleResult]:
        """The gradients that a layer keeps: `self.dW` for `self.W`, and `self.grads` for `self.params`."""
        target, rule = reading.target, reading.rule
        assert target is not None
        spellings = {
            name.lower(): name
            for name, value in target.attributes.items()
            if type(value) is Node and id(value) in copies.known
        }
        kept: list[tuple[str, Any, Any, ast.AST]] = []
        for name, value in target.attributes.items():
            root = spellings.get(root_of(name))
            if root is not None and root != name:
                kept.append((f"self.{root}", target.attributes[root], value, _where_set(rule, name)))
        weights, gradients = target.attributes.get("params"), target.attributes.get("grads")
        if isinstance(weights, list) and isinstance(gradients, list):
            for at, (weight, gradient) in enumerate(zip(weights, gradients, strict=False)):
                kept.append((f"self.params[{at}]", weight, gradient, rule.tree))
        results = []
        for name, weight, gradient, place in kept:
            if (
                type(weight) is not Node
                or not isinstance(gradient, (Node, np.ndarray))
                or id(weight) not in copies.known
            ):
                continue
            operand = copies.of(weight)
            if operand.op is not INPUT or not weight.differentiable:
                continue
            operand.differentiable = True  # also where the program computes the weights
            node = copies.known.get(id(gradient)) if type(gradient) is Node else None
            text = rule.part.text_of(place) if place is not rule.tree else name.replace("params", "grads")
            results.append(RuleResult(name, operand, node, rule.part.span(place), text, 0))
        return results


_FLAGS = ("steps", "by_hand", "cut", "last_at_cut", "zeroed", "ended")
_SETS = ("local", "tainted", "updated", "updated_nodes", "backwards", "looked_at", "parameter_numbers", "integers")


class _Kept:
    """What reading a rule may change besides the graph, to be put back: what is in containers, scopes and objects."""

    def __init__(self, reader: Rules, reading: Reading) -> None:
        self.reader = reader
        result = reader.result
        self.notes, self.last, self.without = list(result.notes), result.last, result.without_gradient
        self.flags = {name: getattr(reader, name) for name in _FLAGS}
        self.sets = {name: getattr(reader, name).copy() for name in _SETS}
        self.definitions = {
            owner: {m: list(n) for m, n in members.items()} for owner, members in reader.definitions.items()
        }
        self.held: list[tuple[Any, Any]] = []
        self.calls: list[tuple[Function, int]] = []
        self.cached: list[tuple[Any, str, Node | None]] = []
        self._look(
            [
                reader.globals,
                reader.names,
                *reader.scopes,
                *reader.callers,
                reading.values,
                reading.target,
                reading.rule,
            ]
        )

    def _look(self, parts: Iterable[Any]) -> None:
        stack, seen = list(parts), set()
        while stack:
            part = stack.pop()
            if part is None or type(part) in (int, float, str, bool, Node, np.ndarray) or id(part) in seen:
                continue
            seen.add(id(part))
            if type(part) is Pick:
                self.cached.append((part, "node", part.node))
            elif type(part) is Items:
                self.cached.append((part, "stacked", part.stacked))
            if isinstance(part, dict):
                self.held.append((part, dict(part)))
                stack.extend(part.values())
            elif isinstance(part, list):
                if part and type(part[0]) in (int, float) and type(part) is list:
                    continue  # numbers
                self.held.append((part, list(part)))
                stack.extend(part)
            elif isinstance(part, tuple):
                stack.extend(part)
            elif isinstance(part, Instance):
                stack += [part.attributes, part.cls]
            elif isinstance(part, Class):
                stack += [part.members, *part.bases]
            elif isinstance(part, Function):
                self.calls.append((part, part.calls))
                stack += [*part.scopes, part.defaults]
            elif isinstance(part, Bound):
                stack += [part.target, part.function]

    def restore(self) -> None:
        """Puts everything back."""
        reader = self.reader
        reader.definitions = self.definitions
        for name, value in (*self.flags.items(), *self.sets.items()):
            setattr(reader, name, value)
        reader.result.notes[:] = self.notes
        reader.result.last, reader.result.without_gradient = self.last, self.without
        for held, before in self.held:
            held.clear()
            if isinstance(held, dict):
                held.update(before)
            else:
                held.extend(before)
        for function, count in self.calls:
            function.calls = count
        for keeper, name, node in self.cached:
            setattr(keeper, name, node)


class _Copies:
    """The nodes from a number on in a graph of their own; what they use of the others becomes inputs."""

    def __init__(self, reader: Rules, mark: int) -> None:
        self.reader = reader
        self.mark = mark
        self.graph = Graph()
        self.known: dict[int, Node] = {}
        """The copies by the `id` of the node."""
        self.outside: list[Node] = []
        """The copies of leaves that the program has outside the function, such as a layer's weights."""

    def take(self, nodes: Iterable[Node]) -> None:
        """Copies nodes."""
        for node in nodes:
            self.of(node)

    def of(self, node: Node) -> Node:
        """The copy of a node.  (Operands come before their consumers, so this goes only one step deep.)"""
        known = self.known.get(id(node))
        if known is not None:
            return known
        reader, graph = self.reader, self.graph
        if node.op is CONSTANT:
            new = graph.constant(node.data, node.name)
        elif node.number in reader.plainly and node.number in reader.whole:
            new = graph.input(reader.whole[node.number], "int64", node.name, node.line)
        elif node.number < self.mark or node.op is INPUT:
            inside = node.op is INPUT and node.number >= self.mark
            value = node.data if inside else Functions.value_of(reader, node)
            differentiable = node.differentiable and node.op is INPUT
            name = (_last_name(node.name) or node.name) if inside else node.name
            new = graph.input(value, node.dtype, name, node.line, differentiable=differentiable)
            if not inside:
                self.outside.append(new)
        else:
            operands = tuple(self.of(o) for o in node.operands)
            new = Node(
                node.op,
                operands,
                node.data,
                node.shape,
                node.dtype,
                len(graph.nodes),
                node.differentiable,
                _last_name(reader.forward_names.get(id(node)) or node.name),
                node.line,
            )
            graph.nodes.append(new)
        self.known[id(node)] = new
        return new


class _Results:
    """The results of a rule beside the operands that they are for."""

    def __init__(self, reader: Rules, reading: Reading, found: Any) -> None:
        self.reader = reader
        self.reading = reading
        self.complaints: list[str] = []
        rule = reading.rule
        place = _returned(rule)
        self.whole: ast.AST = place or rule.tree
        values = list(found) if isinstance(found, (tuple, list)) else [found]
        if reading.in_a_tuple and not isinstance(found, (tuple, list)):
            self.complaints.append("it must return a tuple, with one gradient for each argument: write `return (…,)`")
        elements = (
            place.elts
            if isinstance(place, (ast.Tuple, ast.List)) and len(place.elts) == len(values)
            else [self.whole] * len(values)
        )
        self.places: list[Any] = list(elements)
        self.spelt = [root_of(p.id) if isinstance(p, ast.Name) else "" for p in self.places]
        self.places = [_where_defined(rule, p) if isinstance(p, ast.Name) else p for p in self.places]
        if isinstance(found, Table):
            values, self.places = list(found.values()), [self.whole] * len(found)
            self.spelt = [root_of(str(key)) or str(key).lower() for key in found]
        self.values = [
            reader.operand(v, p)
            if isinstance(v, (float, int, np.ndarray)) and not isinstance(v, bool)
            else reader.picked(v, p)
            if type(v) is Pick
            else v
            for v, p in zip(values, self.places, strict=True)
        ]

    def _order(self, asked: Sequence[int]) -> dict[int, int]:
        """For every operand the result that is meant for it: as the caller takes them, by name, else by position."""
        names = [self.reading.names[n].lower() for n in asked]
        if not self.reading.ordered:
            if (taken := self._taken_as(asked)) is not None:
                return taken
            distinct = len(set(self.spelt)) == len(self.spelt)
            if self.spelt and distinct and all(s in names for s in self.spelt):
                return {n: self.spelt.index(name) for n, name in zip(asked, names, strict=True) if name in self.spelt}
            if self.spelt and distinct and all(self.spelt) and not any(s in names for s in self.spelt):
                return {}  # they are of what the function has in a dictionary
        return {n: at for at, n in enumerate(asked) if at < len(self.values)}

    def _of_parameters(self, copies: _Copies) -> list[RuleResult]:
        """The results that are named after entries of a dictionary: `grads["W1"]` for `params["W1"]`."""
        rule = self.reading.rule
        weights = {_entry_name(n.name): n for n in copies.outside if n.differentiable}
        results = []
        for at, (spelt, value, place) in enumerate(zip(self.spelt, self.values, self.places, strict=True)):
            operand = weights.get(spelt)
            if operand is not None:
                node = copies.of(value) if type(value) is Node else None
                text = rule.part.text_of(place)
                results.append(RuleResult(operand.name, operand, node, rule.part.span(place), text, at + 1))
        return results

    def _taken_as(self, asked: Sequence[int]) -> dict[int, int] | None:
        """What the program takes the results for: `dx, dw = affine_backward(dout, cache)`; None if it does not say."""
        reading = self.reading
        given = {}
        call = reading.place
        written = call.args if isinstance(call, ast.Call) else []
        for n in asked:
            given[reading.names[n].lower()] = n
        for n in asked:
            if n < len(written) and isinstance(written[n], ast.Name):
                given.setdefault(written[n].id.lower(), n)  # type: ignore[attr-defined]
        for targets in self.reader.unpackings(reading.rule.name):
            roots = [root_of(t) for t in targets]
            if len(roots) == len(self.values) and all(r in given for r in roots):
                meant = [given[r] for r in roots]
                if len(set(meant)) == len(meant):
                    return {n: at for at, n in enumerate(meant)}
        return None

    def matched(
        self, operands: Sequence[Node | None], nodes: Sequence[Node | None], copies: _Copies
    ) -> list[RuleResult]:
        """The results for the operands that take a gradient, and what is missing of the others."""
        reading, rule = self.reading, self.reading.rule
        asked = list(range(len(operands))) if reading.asked is None else list(reading.asked)
        order = self._order(asked)
        results = []
        if not order and not reading.ordered:
            return self._of_parameters(copies)
        for at, n in enumerate(asked):
            operand, node = operands[n], nodes[n]
            flows = operand is not None and operand.differentiable and node is not None and node.differentiable
            which = order.get(n)
            if not flows:
                if which is None and reading.strict:
                    span = rule.part.span(self.whole)
                    results.append(RuleResult(reading.names[n], None, None, span, "nothing", at + 1))
                continue
            if which is None:
                if self._needs_none(node, nodes):
                    continue
                span = rule.part.span(self.whole)
                results.append(RuleResult(reading.names[n], operand, None, span, "nothing", at + 1))
                continue
            value, place = self.values[which], self.places[which]
            if value is None and (self._unasked(node) or type(reading.values[n]) is float):
                continue
            mapped = copies.of(value) if type(value) is Node else None
            span, text = rule.part.span(place), "None" if value is None else rule.part.text_of(place)
            results.append(RuleResult(reading.names[n], operand, mapped, span, text, which + 1))
        if reading.strict:
            for extra in range(len(asked), len(self.values)):
                if self.values[extra] is not None:
                    place = self.places[extra]
                    span, text = rule.part.span(place), rule.part.text_of(place)
                    results.append(RuleResult("", None, None, span, text, extra + 1))
        return results

    def _needs_none(self, node: Node | None, nodes: Sequence[Node | None]) -> bool:
        """Whether a loss, which is asked for no upstream gradient, has its targets in an operand after the first."""
        first = next((n for n in nodes if n is not None and n.differentiable), None)
        return not self.reading.asks and node is not first and not self.reading.strict and node.op is INPUT  # type: ignore[union-attr]

    def _unasked(self, node: Node | None) -> bool:
        """Whether `None` is the right answer for an operand: PyTorch asks for no gradient of it."""
        return node is not None and self.reader.takes_no_gradient(node)


def _output_and_cache(result: Any) -> tuple[Any, Any]:
    """What a forward part computes, and what it keeps for the way back."""
    if isinstance(result, (tuple, list)) and result:
        return result[0], result[1] if len(result) == 2 else Items(result[1:], fixed=True)
    return result, None


def _stated_rules(names: Scope) -> Iterator[tuple[str, Function]]:
    """The rules that are stated as such for functions and classes of the file, used or not."""
    for value in list(names.values()):
        if isinstance(value, Function) and value.rule is not None:
            yield value.rule.name, value.rule
        elif isinstance(value, Class) and value.builds_on("Function"):
            rule = value.find("backward")
            if isinstance(rule, Function):
                yield f"{value.name}.backward", rule


def _faults(reading: Reading, error: Exception, problems: Sequence[Problem]) -> list[Problem]:
    told = list(problems)
    if isinstance(error, GradError):
        told += error.problems
    elif isinstance(error, CannotEvaluate):
        told.append(meaning.cannot_evaluate(reading.rule.part.span(reading.rule.tree), error.reason))
    return told


def _outputs(result: Any) -> list[Any]:
    """The outputs of a forward part: those of a tuple, each by itself."""
    return list(result) if isinstance(result, (tuple, list)) and result else [result]


def _is_cache(name: str) -> bool:
    """Whether a parameter is given what the forward part kept."""
    return any(word in name.lower() for word in ("cache", "ctx", "saved", "memory", "residual"))


def _takes_upstream(name: str, names: Sequence[str], cache: Any) -> bool:
    """Whether a parameter of a backward part is given the upstream gradient."""
    return name not in names and not _is_cache(name)


def _rule_arguments(
    takes: Sequence[str], g: Any, cache: Any, names: Sequence[str], stand_ins: Sequence[Any]
) -> list[Any] | None:
    """What the backward part of a pair is given, by the names of its parameters; None if they do not tell."""
    unnamed = [n for n in takes if n not in names and not _is_cache(n) and n not in RATES]
    if len(unnamed) == 2 and cache is not None and len(takes) == 2:  # (dout, saved) in other words
        return [cache, g] if root_of(unnamed[1]) and not root_of(unnamed[0]) else [g, cache]
    if len(unnamed) > 1 or (cache is None and any(map(_is_cache, takes))):
        return None
    given = dict(zip(names, stand_ins, strict=False))
    given |= {n: RATE for n in takes if n in RATES and n not in given}
    return [cache if _is_cache(n) and n not in given else given.get(n, g) for n in takes]


def _parameters(function: Function) -> list[str]:
    arguments = function.tree.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]


def _has_default(function: Function, at: int) -> bool:
    return at >= len(_parameters(function)) - len(function.defaults)


def _seed(shape: tuple[int, ...], which: int) -> Any:
    """Numbers of both signs, so that a mask that looks at the upstream gradient is seen."""
    generator = np.random.default_rng(7 + which)
    value = generator.uniform(0.4, 1.6, shape) * generator.choice([-1.0, 1.0, 1.0], shape)
    return value if shape else float(value)


def _entry_name(name: str) -> str:
    """The entry that a leaf is, in small letters: `w1` for `params["W1"]`."""
    return re.sub(r"\W+", " ", name).split()[-1].lower() if re.search(r"\w", name) else ""


def _last_name(name: str) -> str:
    """A node's name inside its function: `x_hat` for `layernorm1.x_hat`."""
    last = name.rpartition(".")[2]
    return last if last.isidentifier() else ""


def _unpacked(rule: Function, cache: Any) -> list[tuple[str, Node]]:
    """The names that a rule gives to what was kept for it: `x, w = ctx.saved_tensors`, `x = cache[0]`."""
    kept = cache.attributes.get("saved_tensors", ()) if isinstance(cache, Instance) else cache
    if isinstance(rule.tree, ast.Lambda) or not isinstance(kept, (list, tuple)):
        return []
    takes = _parameters(rule)

    def is_cache(part: ast.AST) -> bool:
        return (isinstance(part, ast.Name) and part.id in takes) or (
            isinstance(part, ast.Attribute) and part.attr == "saved_tensors"
        )

    found = []
    for part in ast.walk(rule.tree):
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        target, value = part.targets[0], part.value
        if isinstance(target, (ast.Tuple, ast.List)) and is_cache(value) and len(target.elts) == len(kept):
            found += [(t.id, v) for t, v in zip(target.elts, kept, strict=True) if isinstance(t, ast.Name)]
        elif isinstance(target, ast.Name) and isinstance(value, ast.Subscript) and is_cache(value.value):
            at = value.slice.value if isinstance(value.slice, ast.Constant) else None
            if isinstance(at, int) and -len(kept) <= at < len(kept):
                found.append((target.id, kept[at]))
    return [(name, value) for name, value in found if type(value) is Node]


def _returned(rule: Function) -> ast.expr | None:
    """What a rule returns, as it is written."""
    if isinstance(rule.tree, ast.Lambda):
        return rule.tree.body
    found = [part.value for part in ast.walk(rule.tree) if isinstance(part, ast.Return) and part.value is not None]
    return found[-1] if found else None


def _where_defined(rule: Function, name: ast.Name) -> ast.AST:
    """What a rule last puts under a name that it returns; the name itself if that is done in steps."""
    found: list[tuple[int, ast.AST]] = []
    for part in ast.walk(rule.tree):
        if not isinstance(part, (ast.Assign, ast.AugAssign)):
            continue
        for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
            whole = isinstance(part, ast.Assign) and isinstance(target, ast.Name)
            base: ast.AST = target
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name) and base.id == name.id:
                found.append((part.lineno, part.value if whole else name))
    return max(found, key=lambda f: f[0])[1] if found else name


def _where_set(rule: Function, name: str) -> ast.AST:
    """The line of a rule that sets an attribute."""
    for part in ast.walk(rule.tree):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute) and part.targets[0].attr == name:
            return part.value
    return rule.tree


def _save(self: Functions, context: Instance, values: list[Any], words: Words, place: ast.AST) -> None:
    context.attributes["saved_tensors"] = Items(values, fixed=True)


UNASKED = "(without a gradient)"
"""The attribute in which PyTorch's context keeps the outputs that are marked so."""


def _mark(self: Functions, context: Instance, values: list[Any], words: Words, place: ast.AST) -> None:
    context.attributes[UNASKED] = Items(values, fixed=True)


CONTEXT = Class("ctx", {}, ("Context",))
"""What PyTorch hands to `forward` and `backward` to keep tensors in."""

CONTEXT_METHODS: dict[str, Callable[..., Any]] = {
    "save_for_backward": _save,
    "mark_dirty": lambda self, context, values, words, place: None,
    "mark_non_differentiable": _mark,
    "set_materialize_grads": lambda self, context, values, words, place: None,
}

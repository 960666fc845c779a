"""Rules of differentiation that a program states itself, and what is needed to judge them.

A function with a rule is read like any other: its operations are nodes, and they are what is derived.  Beside that,
the function and its rule are read once more at stand-ins for the arguments and the upstream gradient, into a small
graph of their own, where the rule's results can be compared with the derivative of the forward part at any inputs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.evaluate import CannotEvaluate
from gradcli.graph import CONSTANT, INPUT, Graph, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.problems import GradError, meaning
from gradcli.trace.expressions import Silent
from gradcli.trace.functions import Functions, Words
from gradcli.trace.traced import CustomRule, RuleResult
from gradcli.trace.training import root_of
from gradcli.trace.values import Class, Function, Instance, Items, Owner, Pick, Table

CALLS_CHECKED = 3
"""So many calls of a function are kept for its check."""


class Rules(Functions):
    """Calls functions that have a rule of their own, and remembers what is to be checked."""

    checked: dict[int, int]

    def call_ruled(self, function: Function, values: list[Any], words: Words, place: ast.AST) -> Any:
        """The value of a call of a function, which may have a rule."""
        rule = function.rule or self._partner(function)
        if rule is None or not self._worth_checking(rule):
            return self.call_function(function, values, words, place)
        given = self._arguments(function, values, words, place, ())

        def both(stand_ins: list[Any]) -> tuple[Any, Callable[[Node], Any]]:
            result = self.call_function(function, stand_ins, {}, place)
            output, cache = _output_and_cache(result)

            def backward(g: Node) -> Any:
                if function.rule is not None:
                    return self.call_function(rule, [g, *stand_ins], {}, place)
                return self.call_function(rule, _rule_arguments(rule, g, cache, stand_ins), {}, place)

            return output, backward

        names = _parameters(function)
        guessed = function.rule is None
        if not guessed or _takes_a_gradient(rule, len(names)):
            self._record(rule, names, [given[n] for n in names], both, place, None, guessed=guessed)
        return self.call_function(function, values, words, place)

    def call_function(
        self,
        function: Function,
        values: list[Any],
        words: Words,
        place: ast.AST,
        owner: Owner | None = None,
        places: Sequence[ast.AST] = (),
    ) -> Any:
        """The value of a call; that of a rule, by the program itself, begins its gradients by hand."""
        known = id(function.tree) in self.checked and not self.recording and not self.by_hand
        if known and function.rule is None and self.result.last is not None:
            self.by_hand = True
            self.result.notes.append(
                f"line {self.line}: `{self.text(place)}` begins the gradients by hand: the output is defined before it"
            )
        return super().call_function(function, values, words, place, owner, places)

    def _partner(self, function: Function) -> Function | None:
        """The backward part of a pair: `affine_backward` of `affine_forward`."""
        if "forward" not in function.name or function.owner is not None:
            return None
        found = self.look_up(function.name.replace("forward", "backward"))
        return found if isinstance(found, Function) else None

    def _worth_checking(self, rule: Function) -> bool:
        count = self.checked.get(id(rule.tree), 0)
        return self.recording is False and count < CALLS_CHECKED and self.cut_nowhere

    recording = False

    @property
    def cut_nowhere(self) -> bool:
        """Whether what is read still belongs to the pass that is derived."""
        return getattr(self, "cut", None) is None

    def call_layer(self, target: Instance, function: Function, values: list[Any], words: Words, place: ast.AST) -> Any:
        """The value of a call of an object's forward part, which may have a backward part beside it."""
        self.called.add(id(target))
        rule = target.cls.find("backward")
        if isinstance(rule, Function) and not rule.library and self._worth_checking(rule):
            names = _parameters(function)[1:]
            given = self._arguments(function, [target, *values], words, place, ())

            def both(stand_ins: list[Any]) -> tuple[Any, Callable[[Node], Any]]:
                result = self.call_function(function, [target, *stand_ins], {}, place, target.owner)
                output, _ = _output_and_cache(result)

                def backward(g: Node) -> Any:
                    return self.call_function(rule, [target, *([g] if asks else [])], {}, place, target.owner)

                return output, backward

            asks = len(_parameters(rule)) > 1 and not _has_default(rule, 1)
            self._record(rule, names, [given[n] for n in names], both, place, target, asks=asks, guessed=True)
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

        def call(context: Instance, arguments: list[Any]) -> Any:
            given = (
                [context, *arguments]
                if _parameters(forward)[:1] == ["ctx"] or len(_parameters(forward)) > len(arguments)
                else arguments
            )
            return self.call_function(forward, given, words, place)

        if isinstance(rule, Function) and self._worth_checking(rule):

            def both(stand_ins: list[Any]) -> tuple[Any, Callable[[Node], Any]]:
                context = Instance(CONTEXT)
                output, _ = _output_and_cache(call(context, stand_ins))
                return output, lambda g: self.call_function(rule, [context, g], {}, place)

            names = _parameters(forward)[1:][: len(values)]
            if len(names) < len(values):  # a star takes the rest
                names = [*names, *(f"argument {k + 1}" for k in range(len(names), len(values)))]
            self._record(rule, names, values, both, place, None, title=f"{cls.name}.backward")
        return call(Instance(CONTEXT), values)

    def forget_reports(self, count: int) -> None:
        """Takes back that faults from a number on were told."""
        raise NotImplementedError

    # Recording -------------------------------------------------------------------------------

    def _record(
        self,
        rule: Function,
        names: list[str],
        values: list[Any],
        both: Callable[[list[Any]], tuple[Any, Callable[[Node], Any]]],
        place: ast.AST,
        target: Instance | None,
        title: str = "",
        asks: bool = True,
        guessed: bool = False,
    ) -> None:
        """Reads forward part and rule at stand-ins, and keeps them in a graph of their own.

        A rule that is only `guessed` to be one, by its name, may turn out to be something else; that is no fault.
        """
        faults = len(self.problems)
        nodes = [v if type(v) is Node else self.picked(v, place) if type(v) is Pick else None for v in values]
        if all(n is None for n in nodes) and target is None:
            values = [self.operand(v, place) if isinstance(v, (float, np.ndarray, list)) else v for v in values]
            nodes = [v if type(v) is Node else None for v in values]
        mark = len(self.graph.nodes)
        kept = self._state(target)
        self.recording = True
        try:
            stand_ins = [
                v if n is None or n.dtype not in FLOATS else self._stand_in(n, name)
                for v, n, name in zip(values, nodes, names, strict=True)
            ]
            output, backward = both(stand_ins)
            if type(output) is not Node or output.dtype not in FLOATS:
                return
            # the last layer, a loss, is asked for no upstream gradient: it is 1
            seed = _seed(output.shape) if asks else np.ones(output.shape) if output.shape else 1.0
            g = self.graph.input(seed, "float64", "g", self.line, differentiable=asks)
            found = backward(g)
            self._keep(rule, names, nodes, stand_ins, output, g, found, mark, target, title)
        except (GradError, Silent, CannotEvaluate):
            if not guessed:
                raise
        finally:
            self.recording = False
            self._restore(kept)
            self.forget(mark)
            if guessed:
                del self.problems[faults:]
                self.forget_reports(faults)

    def _stand_in(self, node: Node, name: str) -> Node:
        new = self.graph.input(self.value_of(node), node.dtype, name, self.line)
        if node.number in self.raw:
            self.raw[new.number] = self.whole[new.number] = self.raw[node.number]
        return new

    def _state(self, target: Instance | None) -> tuple[Any, ...]:
        definitions = {owner: {m: list(n) for m, n in members.items()} for owner, members in self.definitions.items()}
        attributes = dict(target.attributes) if target is not None else None
        result = self.result
        return (definitions, attributes, target, list(result.notes), result.last, result.without_gradient, self.steps)

    def _restore(self, kept: tuple[Any, ...]) -> None:
        self.definitions, attributes, target, notes, last, without, self.steps = kept
        self.result.notes[:] = notes
        self.result.last, self.result.without_gradient = last, without
        if target is not None:
            target.attributes = attributes

    def _keep(
        self,
        rule: Function,
        names: list[str],
        nodes: list[Node | None],
        stand_ins: list[Any],
        output: Node,
        g: Node,
        found: Any,
        mark: int,
        target: Instance | None,
        title: str,
    ) -> None:
        copied, graph = self._copied(mark)
        inputs = [copied.get(s.number) if type(s) is Node and s.number >= mark else None for s in stand_ins]
        results = _matched(self, rule, names, inputs, found, copied, nodes)
        if target is not None:
            results += self._attributes(rule, target, copied)
        name = title or (rule.name if rule.owner is None else f"{rule.owner.name}.{rule.name}")
        self.checked[id(rule.tree)] = self.checked.get(id(rule.tree), 0) + 1
        self.result.custom_rules.append(
            CustomRule(
                name,
                self.line,
                rule.part.span(rule.tree),
                graph,
                copied[output.number],
                copied[g.number],
                {n.number: n for n in graph.nodes if n.op is INPUT},
                tuple(results),
            )
        )

    def _copied(self, mark: int) -> tuple[dict[int, Node], Graph]:
        """The nodes from a number on in a graph of their own; what they use of the others becomes inputs."""
        graph = Graph()
        copied: dict[int, Node] = {}

        def copy(node: Node) -> Node:
            known = copied.get(node.number)
            if known is not None:
                return known
            if node.op is CONSTANT:
                new = graph.constant(node.data, node.name)
            elif node.number in self.plainly and node.number in self.whole:
                new = graph.input(self.whole[node.number], "int64", node.name, node.line)
            elif node.number < mark or node.op is INPUT:
                value = node.data if node.op is INPUT and node.number >= mark else self.value_of(node)
                differentiable = node.differentiable and node.op is INPUT
                new = graph.input(value, node.dtype, node.name, node.line, differentiable=differentiable)
            else:
                operands = tuple(copy(o) for o in node.operands)
                new = Node(
                    node.op,
                    operands,
                    node.data,
                    node.shape,
                    node.dtype,
                    len(graph.nodes),
                    node.differentiable,
                    "",
                    node.line,
                )
                graph.nodes.append(new)
            copied[node.number] = new
            return new

        for node in self.graph.nodes[mark:]:
            copy(node)
        return copied, graph

    def _attributes(self, rule: Function, target: Instance, copied: dict[int, Node]) -> list[RuleResult]:
        """The gradients that a layer keeps: `self.dW` for `self.W`."""
        results = []
        spellings = {
            name.lower(): name
            for name, value in target.attributes.items()
            if type(value) is Node and value.number in copied
        }
        for name, value in target.attributes.items():
            root = spellings.get(root_of(name))
            if root is None or root == name or not isinstance(value, (Node, np.ndarray)):
                continue
            parameter = target.attributes[root]
            if parameter.op is not INPUT or not parameter.differentiable:
                continue
            place = _where_set(rule, name)
            node = copied.get(value.number) if type(value) is Node else None
            results.append(
                RuleResult(
                    f"self.{root}", copied[parameter.number], node, rule.part.span(place), rule.part.text_of(place), 0
                )
            )
        return results


def _takes_a_gradient(rule: Function, operands: int) -> bool:
    """Whether a function that is called like a backward part can be one: it takes a gradient, and what was kept."""
    return len(_parameters(rule)) in (1, 2, 1 + operands)


def _output_and_cache(result: Any) -> tuple[Any, Any]:
    """What a forward part computes, and what it keeps for the way back."""
    if isinstance(result, (tuple, list)) and result:
        return result[0], result[1] if len(result) == 2 else Items(result[1:], fixed=True)
    return result, None


def _rule_arguments(rule: Function, g: Node, cache: Any, stand_ins: list[Any]) -> list[Any]:
    """What the backward part of a pair is given."""
    names = _parameters(rule)
    if len(names) == 1:
        return [g]
    if len(names) == 2 and cache is not None:
        return [cache, g] if "cache" in names[0] or root_of(names[1]) else [g, cache]
    return [g, *stand_ins][: len(names)]


def _parameters(function: Function) -> list[str]:
    arguments = function.tree.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]


def _has_default(function: Function, at: int) -> bool:
    return at >= len(_parameters(function)) - len(function.defaults)


def _seed(shape: tuple[int, ...]) -> Any:
    value = np.random.default_rng(7).uniform(0.4, 1.6, shape)
    return value if shape else float(value)


def _matched(
    self: Rules,
    rule: Function,
    names: list[str],
    inputs: list[Node | None],
    found: Any,
    copied: dict[int, Node],
    nodes: list[Node | None],
) -> list[RuleResult]:
    """The results of a rule beside the operands that they are for: by name, if their names say so, else by order."""
    values = list(found) if isinstance(found, (tuple, list)) else [found]
    place = _returned(rule)
    elements = (
        place.elts
        if isinstance(place, (ast.Tuple, ast.List)) and len(place.elts) == len(values)
        else [place or rule.tree] * len(values)
    )
    places: list[Any] = list(elements)
    if isinstance(found, Table):
        values, places = list(found.values()), [place or rule.tree] * len(found)
        spelt = [root_of(str(key)) or str(key).lower() for key in found]
    else:
        spelt = [root_of(p.id) if isinstance(p, ast.Name) else "" for p in places]
    order = list(range(len(values)))
    lower = [n.lower() for n in names]
    by_name = rule.rule is None and spelt and all(s in lower for s in spelt) and len(set(spelt)) == len(spelt)
    by_name = by_name and "." not in rule.name and rule.owner is None
    results = []
    for at, (name, node) in enumerate(zip(names, inputs, strict=True)):
        if node is None or not node.differentiable or (nodes[at] is not None and not nodes[at].differentiable):  # type: ignore[union-attr]
            continue
        which = spelt.index(lower[at]) if by_name and lower[at] in spelt else at if not by_name else len(values)
        if which < len(values):
            value, at_place = values[order[which]], places[which]
            value = (
                self.operand(value, at_place)
                if isinstance(value, (float, int)) and not isinstance(value, bool)
                else value
            )
            mapped = copied.get(value.number) if type(value) is Node else None
            if type(value) is Node and mapped is None:
                continue
            results.append(
                RuleResult(name, node, mapped, rule.part.span(at_place), rule.part.text_of(at_place), which + 1)
            )
        else:
            results.append(RuleResult(name, node, None, rule.part.span(place or rule.tree), "", which + 1))
    return results


def _returned(rule: Function) -> ast.expr | None:
    """What a rule returns, as it is written."""
    if isinstance(rule.tree, ast.Lambda):
        return rule.tree.body
    found = [part.value for part in ast.walk(rule.tree) if isinstance(part, ast.Return) and part.value is not None]
    return found[-1] if found else None


def _where_set(rule: Function, name: str) -> ast.AST:
    """The line of a rule that sets an attribute."""
    for part in ast.walk(rule.tree):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute) and part.targets[0].attr == name:
            return part.value
    return rule.tree


def _save(self: Functions, context: Instance, values: list[Any], words: Words, place: ast.AST) -> None:
    context.attributes["saved_tensors"] = Items(values, fixed=True)


CONTEXT = Class("ctx", {}, ("Context",))
"""What PyTorch hands to `forward` and `backward` to keep tensors in."""

CONTEXT_METHODS: dict[str, Callable[..., Any]] = {
    "save_for_backward": _save,
    "mark_dirty": lambda self, context, values, words, place: None,
    "mark_non_differentiable": lambda self, context, values, words, place: None,
    "set_materialize_grads": lambda self, context, values, words, place: None,
}

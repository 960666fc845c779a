"""Functions of functions: JAX's and autograd's `grad`, `value_and_grad`, `vjp`, `jvp`, `jacobian`, `hessian`, `vmap`.

A gradient that the program itself asks for is what is derived: it is found by the sweep, and not a part of the graph.
One that another such function goes on to use, in `grad(grad(f))` or `vmap(grad(f))`, is written into the graph.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import shape_of
from gradcli.ops.arrange import reshape
from gradcli.ops.pass_on import identity
from gradcli.ops.reduce import broadcast_to
from gradcli.problems import GradError, meaning
from gradcli.trace.gradients import gradients, jacobian, tangent
from gradcli.trace.trees import leaves, mapped
from gradcli.trace.values import Chosen, Counted, Function, Input, Instance, Items, Pick, Swept, Table

if TYPE_CHECKING:
    from gradcli.trace.functions import Words
    from gradcli.trace.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Transformed:
    """A function that was made from another one."""

    kind: str
    function: Any
    settings: dict[str, Any] = field(default_factory=dict)


PASSED_THROUGH = frozenset({"jit", "checkpoint", "remat", "tqdm", "compile", "njit", "named_call"})
"""Functions of functions that change no value."""

DERIVATIVES = frozenset({"jacobian", "jacrev", "jacfwd", "hessian"})
"""Functions of functions whose result is an array of derivatives."""

RULED = frozenset({"custom_vjp", "custom_gradient", "primitive", "custom_jvp"})
"""Functions of functions that say: it has a rule of its own."""

KINDS = ("grad", "value_and_grad", "vmap", "elementwise_grad", "partial", "vectorize", *sorted(DERIVATIVES))

AT_ONCE = ("vjp", "jvp", "make_vjp", "make_jvp")
"""Those that are given the arguments together with the function."""

MOST_ENTRIES = 256
"""A Jacobian takes a sweep for every entry of what is differentiated; of more entries it is not computed."""


def transformed(self: Interpreter, name: str, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`jax.grad(f)`, `vmap(f, in_axes=(None, 0))`."""
    if not values:
        raise GradError(meaning.argument_count(self.span(place), name, "a function", 0, f"{name}(f)"))
    if name in RULED and isinstance(values[0], Function):
        values[0].fixed = _numbers(self.plain(words["nondiff_argnums"][0])) if "nondiff_argnums" in words else ()
        return values[0]
    if name in PASSED_THROUGH or name in RULED:
        return values[0]
    if name == "vjp":
        return _vjp(self, values, words, place)
    if name == "jvp":
        return _jvp(self, values, place)
    if name == "partial":
        return Transformed("partial", values[0], {"values": values[1:], "words": words})
    keys = ("argnums", "has_aux") if name != "vmap" else ("in_axes", "out_axes")
    settings = dict(zip(keys, map(self.plain, values[1:]), strict=False))
    settings |= {word: self.plain(value) for word, (value, _) in words.items()}
    return Transformed(name, values[0], settings)


def custom_vjp(self: Interpreter, decorator: ast.expr) -> tuple[int, ...] | None:
    """The arguments that take no gradient, of `@jax.custom_vjp` and `@partial(jax.custom_vjp, nondiff_argnums=(0,))`.

    None for another decorator.
    """
    words: list[ast.keyword] = []
    if isinstance(decorator, ast.Call):
        words = decorator.keywords
        called = self.text(decorator.func).rpartition(".")[2]
        decorator = decorator.args[0] if called == "partial" and decorator.args else decorator.func
    if self.text(decorator).rpartition(".")[2] not in RULED:
        return None
    return next((_numbers(self.plain(self.value(w.value))) for w in words if w.arg == "nondiff_argnums"), ())


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def define_rule(self: Interpreter, function: Function, name: str, values: list[Any], place: ast.AST) -> None:
    """`f.defvjp(f_fwd, f_bwd)`, which is JAX's."""
    if name == "defvjp" and len(values) == 2 and all(isinstance(v, Function) for v in values):
        function.forward_rule, function.rule = values
    elif name == "defvjp":
        usage = "f.defvjp(f_fwd, f_bwd)"
        raise GradError(meaning.argument_count(self.span(place), name, "2 functions", len(values), usage))
    else:
        self.note(f"`{self.text(place)}` passed over: rules that go forwards are not checked")


def define_makers(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> None:
    """`defvjp(f, lambda y, x: lambda g: …)`, which is autograd's."""
    if len(values) < 2 or not all(v is None or isinstance(v, Function) for v in values) or values[0] is None:
        usage = "defvjp(f, lambda y, x: lambda g: …)"
        raise GradError(meaning.argument_count(self.span(place), "defvjp", "functions", len(values), usage))
    makers = values[1:]
    if "argnums" in words:
        numbers = _numbers(self.plain(words["argnums"][0]))
        spread: list[Any] = [None] * (1 + max(numbers))
        for number, maker in zip(numbers, makers, strict=False):
            spread[number] = maker
        makers = spread
    values[0].makers = makers


def call_transformed(self: Interpreter, value: Transformed, values: list[Any], words: Words, place: ast.AST) -> Any:
    """The value of a call of such a function."""
    from gradcli.trace.calls import call_value

    if value.kind == "partial":
        return call_value(
            self, value.function, [*value.settings["values"], *values], {**value.settings["words"], **words}, place
        )
    if value.kind == "vjp":
        return _pulled_back(self, value, values, place)
    if value.kind == "vmap":
        return _mapped(self, value, values, words, place)
    if value.kind == "vectorize":
        return _entry_by_entry(self, value, values, place)
    which = value.settings.get("argnums", value.settings.get("argnum", 0))
    numbers = which if isinstance(which, (tuple, list)) else (which,)
    values = list(values)
    outer = not self.inside and value.kind not in DERIVATIVES
    for number in numbers:
        if not isinstance(number, int) or not -len(values) <= number < len(values):
            expected = "the numbers of arguments that are given, from 0"
            raise GradError(meaning.wrong_argument(self.span(place), "`argnums`", expected, self.found(which)))
        argument = values[number]
        if not outer:
            argument = _own(self, argument, place)
        values[number] = _varied(self, argument, _parameter(value.function, number), place)
    result = _inside(self, value.function, values, words, place)
    others = Items((), fixed=True)
    aux = bool(value.settings.get("has_aux"))
    if aux and isinstance(result, (tuple, list)) and len(result) == 2:
        result, others = result[0], result[1]
    if value.kind in DERIVATIVES:
        found = [_derivative(self, value.kind, result, values[number], place) for number in numbers]
    else:
        result, found = _gradient(self, value.kind, result, [values[number] for number in numbers], outer, place)
    derived = found[0] if not isinstance(which, (tuple, list)) else Items(found, fixed=True)
    if value.kind == "value_and_grad":
        first = Items([result, others], fixed=True) if aux else result
        return Items([first, derived], fixed=True)
    return Items([derived, others], fixed=True) if aux else derived


def _inside(self: Interpreter, function: Any, values: list[Any], words: Words, place: ast.AST) -> Any:
    """The value of a call in which gradients are numbers like others."""
    from gradcli.trace.calls import call_value

    self.inside += 1
    try:
        return call_value(self, function, values, words, place)
    finally:
        self.inside -= 1


def _gradient(
    self: Interpreter, kind: str, result: Any, arguments: list[Any], outer: bool, place: ast.AST
) -> tuple[Any, list[Any]]:
    """What a function to differentiate gives, and its gradients: of the sweep, or as nodes."""
    if type(result) is not Node and isinstance(result, (Pick, Items)):
        result = self.operand(result, place)
    if type(result) is not Node:
        if isinstance(result, (bool, int, float)) and not outer:
            return result, [mapped(_zeros, argument) for argument in arguments]
        expected = "a number that depends on the arguments"
        raise GradError(
            meaning.wrong_argument(
                self.span(place), "the result of a function to differentiate", expected, self.found(result)
            )
        )
    whole = kind == "elementwise_grad"  # of every entry by itself, which is the gradient of their sum
    if result.shape and not whole:
        raise GradError(meaning.seed_needed(self.span(place), "the result", result.shape))
    seed = np.ones(result.shape) if result.shape else 1.0
    if outer:
        start = self.graph.constant(seed) if result.shape else None
        self.sweep(result, start, place)
        return result, [swept(argument, (result, seed)) for argument in arguments]
    if self.inside == 0 or self.mapping == self.inside:
        self.derived_of.append((self.line, result, seed))
    return result, [_as_nodes(self, argument, lambda wrt: gradients(self, result, wrt, seed)) for argument in arguments]


def _as_nodes(self: Interpreter, argument: Any, find: Any) -> Any:
    """Something for every node of an argument, in the argument's own form."""
    nodes = [leaf for leaf in leaves(argument) if type(leaf) is Node and leaf.dtype in FLOATS]
    found = {n.number: f for n, f in zip(nodes, find(nodes), strict=True)}
    return mapped(lambda leaf: found.get(leaf.number) if type(leaf) is Node else _zeros(leaf), argument)


def derived_on_a_tape(self: Interpreter, kind: str, output: Node, argument: Any, seed: Any, place: ast.AST) -> Any:
    """The gradients, or the Jacobians, of a tensor with respect to others, as nodes."""
    if kind == "jacobian":
        return _derivative(self, kind, output, argument, place)
    return _as_nodes(self, argument, lambda wrt: gradients(self, output, wrt, seed))


def _zeros(value: Any) -> Any:
    shape = shape_of(value)
    return np.zeros(shape) if shape else 0.0


def _derivative(self: Interpreter, kind: str, result: Any, argument: Any, place: ast.AST) -> Any:
    """A Jacobian or a Hessian: for every entry of the result, in its form, the derivative in the argument's."""
    if not self.inside:
        for leaf in leaves(result):
            if type(leaf) is Node:
                self.derived_of.append((self.line, leaf, np.ones(leaf.shape) if leaf.shape else 1.0))

    def of_one(leaf: Any) -> Any:
        if type(leaf) is Pick:
            leaf = self.picked(leaf, place)
        if type(leaf) is not Node:
            return mapped(_zeros, argument)
        self.count_step(place)
        if shape_of(leaf) and int(np.prod(leaf.shape)) > MOST_ENTRIES:
            expected = f"of at most {MOST_ENTRIES} entries"
            raise GradError(
                meaning.wrong_argument(self.span(place), "what a Jacobian is taken of", expected, self.found(leaf))
            )
        return _as_nodes(self, argument, lambda wrt: jacobian(self, leaf, wrt))

    if kind == "hessian":
        if type(result) is not Node or result.shape:
            expected = "a number that depends on the arguments"
            raise GradError(
                meaning.wrong_argument(self.span(place), "what a Hessian is taken of", expected, self.found(result))
            )
        return mapped(of_one, _as_nodes(self, argument, lambda wrt: gradients(self, result, wrt)))
    if isinstance(result, (list, tuple)) and all(isinstance(r, (Node, Pick, int, float)) for r in result):
        result = self.operand(result, place)
    return mapped(of_one, result)


def _parameter(function: Any, number: int) -> str:
    """The name of a function's parameter."""
    tree = getattr(getattr(function, "function", function), "tree", None)
    names = [a.arg for a in tree.args.args] if tree is not None else []
    return names[number] if number < len(names) else f"x{number}"


def _own(self: Interpreter, value: Any, place: ast.AST) -> Any:
    """An argument as a number of its own: what is differentiated is the way through the argument, and no other."""

    def fresh(leaf: Any) -> Any:
        if type(leaf) is Pick:
            leaf = self.picked(leaf, place)
        if type(leaf) is Node:
            node = self.operand(leaf, place)
            if node.dtype not in FLOATS:
                return node
            own = self.apply(identity, (node,), None, place, (place,))
            own.differentiable = True  # also where the numbers are the program's own
            return own
        return leaf

    return mapped(fresh, value)


def _varied(self: Interpreter, value: Any, name: str, place: ast.AST) -> Any:
    """An argument with respect to which is differentiated: numbers that have no name get the parameter's."""
    if isinstance(value, Instance):
        if not value.owner.label:
            value.owner.label = name
        for member, part in value.attributes.items():
            if type(part) in (float, int, Counted):
                value.attributes[member] = self.adopt(Chosen(part), value.owner, member, place)
        return value
    if isinstance(value, Node) or value is None:
        return value
    if isinstance(value, (Table, Items)) and value.owner.label:
        return value
    if isinstance(value, (Table, Items)) and all(type(leaf) is Node for leaf in leaves(value)):
        return value
    while name in self.names:
        name += "_"
    before, self.owner = self.owner, None
    try:
        kept = self.adopt(float(value) if type(value) in (int, Counted) else value, None, name, place)
    finally:
        self.owner = before
    return kept


def swept(value: Any, source: tuple[Node, Any] | None = None) -> Any:
    """Gradients in the form of what they are the gradients of; `source` is what was differentiated, and the seed."""
    if isinstance(value, dict):
        return Table({key: swept(part, source) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return Items((swept(part, source) for part in value), fixed=isinstance(value, tuple))
    if isinstance(value, Instance) and value.cls.builds_on("NamedTuple"):
        made = Instance(value.cls)
        made.attributes = {name: swept(part, source) for name, part in value.attributes.items()}
        return made
    return Swept(source=(*source, value) if source is not None and type(value) is Node else None)


def _vjp(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    given = [
        _varied(self, _own(self, v, place) if self.inside else v, _parameter(values[0], at), place)
        for at, v in enumerate(values[1:])
    ]
    output = _inside(self, values[0], given, {}, place)
    others: list[Any] = []
    if words.get("has_aux", (False,))[0] is True and isinstance(output, (list, tuple)) and len(output) == 2:
        output, others = output[0], [output[1]]
    if isinstance(output, (list, tuple)) and all(isinstance(r, (Node, Pick, int, float)) for r in output):
        expected, found = "one tensor", f"{len(output)} of them"
        raise GradError(meaning.wrong_argument(self.span(place), "the result of the function of vjp", expected, found))
    if type(output) is not Node:
        expected = "a tensor that depends on the arguments"
        raise GradError(
            meaning.wrong_argument(self.span(place), "the result of the function", expected, self.found(output))
        )
    settings = {"count": len(given), "given": given, "inside": self.inside > 0}
    return Items([output, Transformed("vjp", output, settings), *others], fixed=True)


def _pulled_back(self: Interpreter, value: Transformed, values: list[Any], place: ast.AST) -> Any:
    """`f_vjp(g)`: the gradients that a seed gives."""
    output = value.function
    if len(values) != 1:
        raise GradError(
            meaning.argument_count(self.span(place), "the function of vjp", "the seed", len(values), "f_vjp(g)")
        )
    seed = self.operand(values[0].value if isinstance(values[0], Input) else values[0], place)
    if seed.shape != output.shape and seed.shape != ():
        raise GradError(meaning.seed_shape(self.span(place), self.found(output), output.shape, seed.shape))
    given = value.settings["given"]
    if value.settings["inside"] or self.inside:
        return Items((_as_nodes(self, g, lambda wrt: gradients(self, output, wrt, seed)) for g in given), fixed=True)
    self.sweep(output, seed, place)
    return Items([swept(g, (output, seed)) for g in given], fixed=True)


def _jvp(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    """`jvp(f, (x,), (v,))`: the value, and how it moves as the arguments move."""
    if len(values) != 3 or not all(isinstance(v, (list, tuple)) for v in values[1:]):
        raise GradError(
            meaning.argument_count(
                self.span(place), "jvp", "a function, arguments and directions", len(values), "jvp(f, (x,), (v,))"
            )
        )
    given = [
        _varied(self, _own(self, v, place), _parameter(values[0], at), place) for at, v in enumerate(list(values[1]))
    ]
    output = _inside(self, values[0], given, {}, place)
    nodes = [leaf for leaf in leaves(given) if type(leaf) is Node]
    moves = [self.operand(leaf, place) for leaf in leaves(list(values[2]))]
    if len(nodes) != len(moves) or any(n.shape != m.shape for n, m in zip(nodes, moves, strict=False)):
        expected = "of the shapes of the arguments"
        found = ", ".join(map(self.found, moves))
        raise GradError(meaning.wrong_argument(self.span(place), "the directions of `jvp`", expected, found))
    moved = mapped(
        lambda leaf: tangent(self, leaf, nodes, moves) if type(leaf) is Node else _zeros(leaf),
        self.operand(output, place) if type(output) is Pick else output,
    )
    if not self.inside:
        for leaf in leaves(output):
            if type(leaf) is Node:
                self.derived_of.append((self.line, leaf, np.ones(leaf.shape) if leaf.shape else 1.0))
    return Items([output, moved], fixed=True)


def _mapped(self: Interpreter, value: Transformed, values: list[Any], words: Words, place: ast.AST) -> Any:
    """A function applied to every row, and its results stacked."""
    axes = value.settings.get("in_axes", 0)
    axes = list(axes) if isinstance(axes, (tuple, list)) else [axes] * len(values)
    if value.settings.get("out_axes", 0) != 0:
        way_out = "transpose the result: its rows come first"
        found = self.found(value.settings["out_axes"])
        raise GradError(meaning.not_in_language(self.span(place), f"`vmap` with out_axes={found}", way_out))
    counts = set()
    whole: list[Any] = []
    for argument, axis in zip(values, axes, strict=False):
        if axis is None:
            whole.append(argument)
            continue
        if not isinstance(axis, int):
            way_out = "use one number an argument: in_axes=(None, 0)"
            raise GradError(meaning.not_in_language(self.span(place), "`vmap` over axes of a container", way_out))
        tensors = mapped(lambda leaf: leaf if type(leaf) is Node else self.operand(leaf, place), as_tensor(argument))
        for leaf in leaves(tensors):
            if not -len(leaf.shape) <= axis < len(leaf.shape):
                expected = f"with an axis {axis} to map over"
                raise GradError(
                    meaning.wrong_argument(self.span(place), "an argument of `vmap`", expected, self.found(leaf))
                )
            counts.add(leaf.shape[axis])
        whole.append(tensors)
    if len(counts) != 1:
        expected = "the same for all arguments, and at least one must be mapped"
        found = ", ".join(map(str, sorted(counts))) or "None for all of them"
        raise GradError(meaning.wrong_argument(self.span(place), "the number of rows of `vmap`", expected, found))
    results = []
    before, self.mapping = self.mapping, self.inside + 1
    try:
        for k in range(counts.pop()):
            self.count_step(place)
            row = [
                w if axis is None else rows_of(self, w, axis, k, place) for w, axis in zip(whole, axes, strict=False)
            ]
            results.append(_inside(self, value.function, row, words, place))
    finally:
        self.mapping = before
    return stacked(self, results, place)


def _entry_by_entry(self: Interpreter, value: Transformed, values: list[Any], place: ast.AST) -> Any:
    """`np.vectorize(f)(x)`: a function of numbers, for every entry."""
    from gradcli.trace.calls import call_value

    tensors = [self.operand(argument, place) for argument in values]
    try:
        shape = np.broadcast_shapes(*[t.shape for t in tensors])
    except ValueError:
        expected, found = "of shapes that go together", ", ".join(map(self.found, tensors))
        raise GradError(
            meaning.wrong_argument(self.span(place), "the arguments of this function", expected, found)
        ) from None
    whole = [
        t if t.shape == shape else self.apply(broadcast_to, (t,), {"shape": shape}, place, (place,)) for t in tensors
    ]
    results = []
    for at in np.ndindex(*shape):
        self.count_step(place)
        entries = [self.take(t, {"key": tuple(map(int, at))}, place, (place,)) if at else t for t in whole]
        results.append(call_value(self, value.function, entries, {}, place))
    if not shape:
        return results[0]
    return self.apply(reshape, (self.operand(results, place),), {"shape": shape}, place, (place,))


def as_tensor(value: Any) -> Any:
    """A list of numbers as one thing to map over, and not as a container of them."""
    if isinstance(value, (Table, Instance, Items)):
        return value
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def rows_of(self: Interpreter, value: Any, axis: int, k: int, place: ast.AST) -> Any:
    """The k-th entries along an axis of every tensor in a tree."""

    def take(leaf: Any) -> Any:
        key = (*[slice(None)] * (axis % len(leaf.shape)), k)
        return self.take(leaf, {"key": key}, place, (place,))

    return mapped(take, value)


def stacked(self: Interpreter, results: list[Any], place: ast.AST) -> Any:
    """Results of many calls, each a number, a tensor or a container of them, as one with an axis more."""
    first = results[0] if results else None
    if isinstance(first, dict):
        return Table({key: stacked(self, [r[key] for r in results], place) for key in first})
    if isinstance(first, Instance):
        made = Instance(first.cls)
        made.attributes = {
            name: stacked(self, [r.attributes[name] for r in results], place) for name in first.attributes
        }
        return made
    if isinstance(first, (list, tuple)):
        parts = [stacked(self, [r[at] for r in results], place) for at in range(len(first))]
        return Items(parts, fixed=isinstance(first, tuple) or (type(first) is Items and first.fixed))
    if first is None:
        return None
    return self.operand(results, place)

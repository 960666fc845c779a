"""Functions of functions: JAX's and autograd's `grad`, `value_and_grad`, `vjp`, `vmap`, `jit`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.problems import GradError, meaning
from gradcli.trace.values import Chosen, Function, Input, Instance, Items, Swept, Table

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

REFUSED = {
    "hessian": "take the gradient of a gradient's formula, or derive each entry with `--of`",
    "jacobian": "derive each entry of the result with `--of`, or give a seed to `backward`",
    "jacrev": "derive each entry of the result with `--of`, or give a seed to `backward`",
    "jacfwd": "derive each entry of the result with `--of`, or give a seed to `backward`",
    "jvp": "use `vjp`: gradients are derived backwards here",
    "scan": "write the loop: `for t in range(T): …`",
    "fori_loop": "write the loop: `for t in range(T): …`",
    "while_loop": "write the loop: `while …: …`",
    "cond": "write `if …: … else: …`",
}
"""Functions of functions that are not read, and what to write instead."""

RULED = frozenset({"custom_vjp", "custom_gradient", "primitive", "custom_jvp"})
"""Functions of functions that say: it has a rule of its own."""

KINDS = ("grad", "value_and_grad", "vmap", "elementwise_grad", "partial")


def transformed(self: Interpreter, name: str, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`jax.grad(f)`, `vmap(f, in_axes=(None, 0))`."""
    if name in REFUSED:
        raise GradError(meaning.not_in_language(self.span(place), f"`{name}`", REFUSED[name]))
    if not values:
        raise GradError(meaning.argument_count(self.span(place), name, "a function", 0, f"{name}(f)"))
    if name in RULED and isinstance(values[0], Function):
        values[0].fixed = _numbers(self.plain(words["nondiff_argnums"][0])) if "nondiff_argnums" in words else ()
        return values[0]
    if name in PASSED_THROUGH or name in RULED:
        return values[0]
    if name == "vjp":
        return _vjp(self, values, place)
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
        output = value.function
        if len(values) != 1:
            raise GradError(
                meaning.argument_count(self.span(place), "the function of vjp", "the seed", len(values), "f_vjp(g)")
            )
        seed = self.operand(values[0].value if isinstance(values[0], Input) else values[0], place)
        if seed.shape != output.shape and seed.shape != ():
            raise GradError(meaning.seed_shape(self.span(place), self.found(output), output.shape, seed.shape))
        self.sweep(output, seed, place)
        return Items([Swept()] * value.settings["count"], fixed=True)
    if value.kind == "vmap":
        return _mapped(self, value, values, words, place)
    which = value.settings.get("argnums", value.settings.get("argnum", 0))
    numbers = which if isinstance(which, (tuple, list)) else (which,)
    values = list(values)
    for number in numbers:
        if not isinstance(number, int) or not -len(values) <= number < len(values):
            expected = "the numbers of arguments that are given, from 0"
            raise GradError(meaning.wrong_argument(self.span(place), "`argnums`", expected, self.found(which)))
        values[number] = _varied(self, values[number], _parameter(value.function, number), place)
    result = call_value(self, value.function, values, words, place)
    others = Items((), fixed=True)
    if value.settings.get("has_aux") and isinstance(result, (tuple, list)) and len(result) == 2:
        result, others = result[0], result[1]
    if type(result) is not Node:
        expected = "a number that depends on the arguments"
        raise GradError(
            meaning.wrong_argument(
                self.span(place), "the result of a function to differentiate", expected, self.found(result)
            )
        )
    self.sweep(result, None, place)
    found = [swept(values[number]) for number in numbers]
    gradients = found[0] if not isinstance(which, (tuple, list)) else Items(found, fixed=True)
    if value.kind == "value_and_grad":
        first = Items([result, others], fixed=True) if value.settings.get("has_aux") else result
        return Items([first, gradients], fixed=True)
    return Items([gradients, others], fixed=True) if value.settings.get("has_aux") else gradients


def _parameter(function: Any, number: int) -> str:
    """The name of a function's parameter."""
    tree = getattr(getattr(function, "function", function), "tree", None)
    names = [a.arg for a in tree.args.args] if tree is not None else []
    return names[number] if number < len(names) else f"x{number}"


def _varied(self: Interpreter, value: Any, name: str, place: ast.AST) -> Any:
    """An argument with respect to which is differentiated: numbers that have no name get the parameter's."""
    if isinstance(value, Instance):
        if not value.owner.label:
            value.owner.label = name
        for member, part in value.attributes.items():
            if type(part) in (float, int):
                value.attributes[member] = self.adopt(Chosen(part), value.owner, member, place)
        return value
    if isinstance(value, Node) or value is None:
        return value
    if isinstance(value, (Table, Items)) and value.owner.label:
        return value
    while name in self.names:
        name += "_"
    before, self.owner = self.owner, None
    try:
        kept = self.adopt(float(value) if type(value) is int else value, None, name, place)
    finally:
        self.owner = before
    return kept


def swept(value: Any) -> Any:
    """Gradients in the shape of what they are the gradients of."""
    if isinstance(value, dict):
        return Table({key: swept(part) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return Items((swept(part) for part in value), fixed=isinstance(value, tuple))
    return Swept()


def _vjp(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    from gradcli.trace.calls import call_value

    given = [_varied(self, v, _parameter(values[0], at), place) for at, v in enumerate(values[1:])]
    output = call_value(self, values[0], given, {}, place)
    if type(output) is not Node:
        expected = "a tensor that depends on the arguments"
        raise GradError(
            meaning.wrong_argument(self.span(place), "the result of the function", expected, self.found(output))
        )
    return Items([output, Transformed("vjp", output, {"count": len(given)})], fixed=True)


def _mapped(self: Interpreter, value: Transformed, values: list[Any], words: Words, place: ast.AST) -> Any:
    """A function applied to every row, and its results stacked."""
    from gradcli.trace.calls import call_value

    axes = value.settings.get("in_axes", 0)
    axes = list(axes) if isinstance(axes, (tuple, list)) else [axes] * len(values)
    rows: list[list[Any] | None] = []
    count = None
    for argument, axis in zip(values, axes, strict=False):
        if axis is None:
            rows.append(None)
            continue
        if axis != 0:
            way_out = "transpose the argument so that the rows come first"
            raise GradError(meaning.not_in_language(self.span(place), f"`vmap` over axis {axis}", way_out))
        entries = self.iterate(self.operand(argument, place), place)
        rows.append(entries)
        count = len(entries) if count is None else min(count, len(entries))
    if count is None:
        expected = "0 for at least one argument"
        raise GradError(
            meaning.wrong_argument(self.span(place), "`in_axes`", expected, self.found(value.settings.get("in_axes")))
        )
    inside = value.function
    if type(inside) is Transformed and inside.kind in ("grad", "value_and_grad"):
        if self.backwards:
            self.note(f"`{self.text(place)}` passed over: the gradients of every example by itself")
            return Swept()
        what, way_out = "`vmap` of `grad`", "take `grad` of the sum over the examples, or `derive` one example"
        raise GradError(meaning.not_in_language(self.span(place), what, way_out))
    results = []
    for k in range(count):
        self.count_step(place)
        row = [
            v if entries is None else self.picked_or_plain(entries[k], place)
            for v, entries in zip(values, rows, strict=False)
        ]
        results.append(call_value(self, value.function, row, words, place))
    return (
        self.operand(results, place)
        if all(isinstance(r, (Node, float, int, np.ndarray)) for r in results)
        else Items(results)
    )

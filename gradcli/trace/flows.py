"""JAX's loops and branches, which are functions: `scan`, `fori_loop`, `while_loop`, `cond`, `switch`, `map`.

They are read as the loops and conditions that they stand for, unrolled and decided at these inputs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradcli.graph import Node
from gradcli.problems import GradError, meaning
from gradcli.trace.transforms import as_tensor, rows_of, stacked
from gradcli.trace.trees import leaves, mapped
from gradcli.trace.values import Items

if TYPE_CHECKING:
    from gradcli.trace.functions import Words
    from gradcli.trace.interpreter import Interpreter


def _given(self: Interpreter, name: str, names: str, values: list[Any], words: Words, place: ast.AST) -> list[Any]:
    """The arguments of a call in order; those with a `?` may be left out, and are None then."""
    spelt = names.split()
    found: dict[str, Any] = dict(zip((s.strip("?") for s in spelt), values, strict=False))
    for word, (value, at) in words.items():
        if word in _WITHOUT_MEANING:
            continue
        if word not in [s.strip("?") for s in spelt]:
            known = [s.strip("?") for s in spelt]
            raise GradError(meaning.unknown_argument(self.span(at), name, word, known, f"{name}({', '.join(known)})"))
        found[word] = value
    needed = [s for s in spelt if not s.endswith("?")]
    if any(s not in found for s in needed) or len(values) > len(spelt):
        use = f"{name}({', '.join(needed)})"
        raise GradError(meaning.argument_count(self.span(place), name, ", ".join(needed), len(values), use))
    return [found.get(s.strip("?")) for s in spelt]


_WITHOUT_MEANING = frozenset({"unroll", "_split_transpose"})


def _call(self: Interpreter, function: Any, values: list[Any], place: ast.AST) -> Any:
    from gradcli.trace.calls import call_value

    self.count_step(place)
    return call_value(self, function, values, {}, place)


def _count(self: Interpreter, value: Any, what: str, place: ast.AST) -> int:
    number = self.whole_number(self.plain(value))
    if not isinstance(number, int):
        raise GradError(meaning.wrong_argument(self.span(place), what, "a whole number", self.found(value)))
    return number


def _pair(self: Interpreter, value: Any, what: str, place: ast.AST) -> tuple[Any, Any]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise GradError(meaning.wrong_argument(self.span(place), what, "a pair", self.found(value)))
    return value[0], value[1]


def _scan(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`carry, ys = scan(step, carry, xs)`."""
    step, carry, xs, length, reverse = _given(self, "scan", "f init xs? length? reverse?", values, words, place)
    tensors = mapped(lambda leaf: leaf if type(leaf) is Node else self.operand(leaf, place), as_tensor(xs))
    counts = {leaf.shape[:1] for leaf in leaves(tensors)}
    if length is not None:
        counts |= {(_count(self, length, "the `length` of `scan`", place),)}
    if len(counts) != 1 or counts == {()}:
        expected = "the same number of steps in all of `xs`"
        found = ", ".join(str(c[0]) if c else "a number" for c in counts) or "neither `xs` nor `length`"
        raise GradError(meaning.wrong_argument(self.span(place), "what `scan` runs through", expected, found))
    steps = list(range(counts.pop()[0]))
    results = []
    for k in reversed(steps) if reverse is True else steps:
        result = _call(self, step, [carry, rows_of(self, tensors, 0, k, place)], place)
        carry, y = _pair(self, result, "what the function of `scan` returns", place)
        results.append(y)
    ys = stacked(self, results[::-1] if reverse is True else results, place)
    return Items([carry, ys], fixed=True)


def _fori_loop(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`fori_loop(0, n, lambda i, x: …, x)`."""
    lower, upper, body, value = _given(self, "fori_loop", "lower upper body_fun init_val", values, words, place)
    first, last = (_count(self, bound, "a bound of `fori_loop`", place) for bound in (lower, upper))
    for k in range(first, last):
        value = _call(self, body, [k, value], place)
    return value


def _while_loop(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`while_loop(condition, body, value)`."""
    condition, body, value = _given(self, "while_loop", "cond_fun body_fun init_val", values, words, place)

    def holds(state: Any) -> bool:
        return self.decided(lambda: _call(self, condition, [state], place), place)

    while holds(value):
        value = _call(self, body, [value], place)
    return value


def _cond(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`cond(p, f, g, x)`: f(x) if p holds, else g(x)."""
    operands = [words["operand"][0]] if "operand" in words else values[3:]
    pred, true_fun, false_fun = _given(
        self, "cond", "pred true_fun false_fun", values[:3], {w: v for w, v in words.items() if w != "operand"}, place
    )
    chosen = true_fun if self.decided(lambda: pred, place) else false_fun
    return _call(self, chosen, list(operands), place)


def _switch(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`switch(k, [f, g, h], x)`: the k-th of them."""
    index, branches = _given(self, "switch", "index branches", values[:2], words, place)
    if not isinstance(branches, (list, tuple)) or not branches:
        raise GradError(meaning.wrong_argument(self.span(place), "the branches", "a list", self.found(branches)))
    at = _count(self, index, "the index of `switch`", place)
    return _call(self, branches[min(max(at, 0), len(branches) - 1)], values[2:], place)


def _map(self: Interpreter, values: list[Any], words: Words, place: ast.AST) -> Any:
    """`lax.map(f, xs)`."""
    words = {word: value for word, value in words.items() if word != "batch_size"}
    function, xs = _given(self, "map", "f xs", values, words, place)
    tensors = mapped(lambda leaf: leaf if type(leaf) is Node else self.operand(leaf, place), as_tensor(xs))
    first = next(leaves(tensors), None)
    if first is None or not first.shape:
        raise GradError(meaning.wrong_argument(self.span(place), "what `map` runs through", "rows", self.found(xs)))
    results = [_call(self, function, [rows_of(self, tensors, 0, k, place)], place) for k in range(first.shape[0])]
    return stacked(self, results, place)


FLOWS: dict[str, Callable[..., Any]] = {
    "scan": _scan,
    "fori_loop": _fori_loop,
    "while_loop": _while_loop,
    "cond": _cond,
    "switch": _switch,
    "map": _map,
}
"""What `jax.lax` has of them."""

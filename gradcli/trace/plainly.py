"""Functions whose results do not vary with the inputs: comparisons, counts, places, shapes, walks over indices.

They are worked out at these inputs, with NumPy, and give plain numbers and arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.ops.arrange import put
from gradcli.problems import GradError, meaning
from gradcli.trace.values import Items, Length, Pick, Swept, Walk

if TYPE_CHECKING:
    from gradcli.trace.functions import Words
    from gradcli.trace.interpreter import Interpreter

_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name) for name in ("allclose", "isclose", "array_equal", "nonzero", "flatnonzero", "argwhere")
    },
    **{name: getattr(np, name) for name in ("searchsorted", "digitize", "bincount", "ix_", "unravel_index")},
    **{name: getattr(np, name) for name in ("ravel_multi_index", "can_cast", "isscalar", "tril_indices")},
    **{name: getattr(np, name) for name in ("triu_indices", "diag_indices", "logspace", "geomspace")},
    "unique": np.unique,
}

_WHOLE_ALONE = ("unique",)
"""Of these, those that hand the numbers themselves on, so that they must not vary."""


def worked_out(self: Interpreter, name: str, values: list[Any], words: Words, place: ast.AST) -> Any:
    """The value of such a function at these inputs."""
    if name in _WALKS:
        return _WALKS[name](self, values, place)
    weights = values[1:2] or ([words["weights"][0]] if "weights" in words else [])
    if name == "bincount" and weights:
        return _weighed(self, values[0], weights[0], words, place)
    if name in _WHOLE_ALONE:
        for value in values[:1]:
            node = value if type(value) is Node else self.operand(value, place)
            if not self.is_whole(node):
                what, way_out = f"`{name}` of numbers that vary", "it is read for whole numbers, such as labels"
                raise GradError(meaning.not_in_language(self.span(place), what, way_out))
    for value in values:
        if type(value) is Swept:
            self.operand(value, place)  # says that only the sweep finds it
    given = [_numbers(self, value) for value in values]
    named = {word: _numbers(self, value) for word, (value, _) in words.items()}
    try:
        return _kept(_OF_NUMBERS[name](*given, **named))
    except (TypeError, ValueError, IndexError) as error:
        expected = "given what NumPy's own takes"
        raise GradError(
            meaning.wrong_argument(self.span(place), f"`{name}`", expected, str(error).partition("\n")[0][:80])
        ) from None


def _weighed(self: Interpreter, labels: Any, weights: Any, words: Words, place: ast.AST) -> Any:
    """`np.bincount(k, weights=w)`: the sum of the weights of every label."""
    key = np.asarray(_numbers(self, labels), dtype=np.intp)
    least = self.plain(words["minlength"][0]) if "minlength" in words else 0
    shape = (max(int(key.max(initial=-1)) + 1, least),)
    return self.apply(put, (self.operand(weights, place),), {"key": (key,), "shape": shape}, place, (place,))


def _numbers(self: Interpreter, value: Any) -> Any:
    """A value as NumPy is given it."""
    if type(value) is Pick:
        value = self.picked(value, ast.Constant(0))
    if type(value) is Node:
        return self.raw[value.number] if value.number in self.raw else self.value_of(value)
    if isinstance(value, list):
        return [_numbers(self, part) for part in value]
    if isinstance(value, tuple):
        return tuple(_numbers(self, part) for part in value)
    return self.plain(value)


def _kept(value: Any) -> Any:
    """What NumPy found, as a program goes on with it."""
    if isinstance(value, tuple):
        return tuple(_kept(part) for part in value)
    if isinstance(value, np.ndarray) and value.shape:
        return value.astype(np.int64) if value.dtype.kind in "iu" else value
    return value.item() if hasattr(value, "item") else value


def _shape(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    return tuple(map(Length, self.operand(values[0], place).shape))


def _number_of_axes(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    return Length(len(self.operand(values[0], place).shape))


def _number_of_entries(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    shape = self.operand(values[0], place).shape
    if len(values) > 1:
        return Length(shape[self.plain(values[1])])
    return Length(int(np.prod(shape)))


def _indices(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    """`np.ndindex(2, 3)`, `np.ndindex(x.shape)`: every index, one after another."""
    plain = [self.plain(value) for value in values]
    shape = tuple(plain[0]) if len(plain) == 1 and isinstance(plain[0], (tuple, list)) else tuple(plain)
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise GradError(meaning.wrong_argument(self.span(place), "`ndindex`", "given a shape", self.found(values)))
    self.allow(shape, place)
    return Items(tuple(map(Length, at)) for at in np.ndindex(*map(int, shape)))


def _numbered(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    """`np.ndenumerate(x)`: every entry with its index."""
    node = self.operand(values[0], place)
    pairs = []
    for at in np.ndindex(*node.shape):
        pairs.append((tuple(map(Length, at)), self.take(node, {"key": tuple(at) or (Ellipsis,)}, place, (place,))))
    return Items(pairs)


def _walk(self: Interpreter, values: list[Any], place: ast.AST) -> Any:
    """`np.nditer(x, flags=["multi_index"])`: a walk over the indices of x."""
    node = self.operand(values[0], place)
    self.allow(node.shape, place)
    return Walk(node, [tuple(map(Length, at)) for at in np.ndindex(*node.shape)])


_WALKS: dict[str, Callable[..., Any]] = {
    "shape": _shape,
    "ndim": _number_of_axes,
    "size": _number_of_entries,
    "ndindex": _indices,
    "ndenumerate": _numbered,
    "nditer": _walk,
}

PLAINLY = frozenset({*_OF_NUMBERS, *_WALKS})
"""The names of these functions."""

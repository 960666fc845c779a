"""Random numbers of a pasted program.

NumPy's and Python's generators are at hand, so that a seeded draw gives the very numbers that the program would see.
PyTorch's and JAX's are not: their draws are made by ours, and a note says that the numbers differ.
"""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.problems import GradError, meaning
from gradcli.trace.values import Input, Items, Module

if TYPE_CHECKING:
    from gradcli.trace.functions import Words
    from gradcli.trace.interpreter import Interpreter

DRAWS = frozenset(
    {
        *("randn", "rand", "normal", "uniform", "random", "random_sample", "standard_normal", "randint", "integers"),
        *("choice", "permutation", "randperm", "bernoulli", "binomial", "gauss", "default_rng", "PRNGKey", "key"),
        *("split", "fold_in", "RandomState", "randn_like", "rand_like", "shuffle", "seed", "manual_seed"),
    }
)
"""Functions of `numpy.random`, `torch`, `jax.random` and `random`."""

OF_TORCH = frozenset(
    {"randn", "rand", "randint", "randperm", "normal", "bernoulli", "randn_like", "rand_like", "Generator"}
)
"""Of these, those that stand in `torch` itself."""

_IGNORED = frozenset({"requires_grad", "device", "generator", "dtype", "out"})


class Generator:
    """A generator that a program made or seeded."""

    def __init__(self, kind: str, seed: int | None) -> None:
        self.kind = kind
        self.ours = seed is None or kind not in ("numpy", "legacy", "python")
        if kind == "python":
            self.python = random.Random(0 if seed is None else seed)
        number = 0 if seed is None else seed
        self.numpy: Any = (
            np.random.RandomState(number) if kind == "legacy" and not self.ours else np.random.default_rng(number)
        )


def draw(self: Interpreter, name: str, path: str, values: list[Any], words: Words, place: ast.AST) -> Any:
    """A draw, a seeding, or a new generator."""
    root = (
        "torch"
        if path.startswith("torch")
        else "jax"
        if path.startswith(("jax", "tensorflow"))
        else "python"
        if path == "random"
        else "legacy"
    )
    if name in ("default_rng", "RandomState", "PRNGKey", "key"):
        seed = self.plain(values[0]) if values else None
        kind = {"default_rng": "numpy", "RandomState": "legacy"}.get(name, "jax")
        self.generators.append(Generator(kind, seed if isinstance(seed, int) and seed >= 0 else None))
        return Module(f"generator.random.{len(self.generators) - 1}")
    if name == "Generator":
        self.generators.append(Generator("torch", None))
        return Module(f"generator.random.{len(self.generators) - 1}")
    if name in ("manual_seed", "seed"):
        return Module(path)
    if name in ("split", "fold_in") and (root == "jax" or path.startswith("generator")):
        count = self.plain(values[1]) if len(values) > 1 and name == "split" else 2
        key = values[0] if values and isinstance(values[0], Module) else Module("generator.random.0")
        return key if name == "fold_in" else Items([key] * (count if isinstance(count, int) else 2), fixed=True)
    if path.startswith("generator"):
        generator = self.generators[int(path.rpartition(".")[2])]
    elif root == "jax" and values and isinstance(values[0], Module):
        values = values[1:]
        generator = self.generator("jax")
    else:
        generator = self.generator(root)
    if generator.ours:
        self.note(f"`{self.text(place)}`: random numbers are drawn here, and differ from those of the program")
    try:
        array = _drawn(generator, name, root, values, words, self)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        expected = "numbers of a shape and a range"
        raise GradError(meaning.wrong_argument(self.span(place), f"`{name}`", expected, str(error)[:60])) from None
    if isinstance(array, np.ndarray):
        self.allow(array.shape, place)
    if words.get("requires_grad", (True,))[0] is False:
        return Input(array, differentiable=False)
    return array


def _counted(self: Interpreter, value: Any) -> Any:
    """A size or another setting of a draw, which may be computed from others, or several."""
    if isinstance(value, (tuple, list)):
        return [_counted(self, part) for part in value]
    counted = self.whole_number(self.plain(value))
    return self.value_of(counted) if type(counted) is Node else counted


def _shape(self: Interpreter, values: list[Any]) -> tuple[int, ...]:
    plain = [_counted(self, v) for v in values]
    plain = list(plain[0]) if len(plain) == 1 and isinstance(plain[0], (tuple, list, np.ndarray)) else plain
    shape = tuple(int(v) for v in plain)
    self.allow_size(shape)
    return shape


def _drawn(generator: Generator, name: str, root: str, values: list[Any], words: Words, self: Interpreter) -> Any:
    given = {word: _counted(self, value) for word, (value, _) in words.items() if word not in _IGNORED}

    def argument(at: int, names: tuple[str, ...], default: Any) -> Any:
        for word in names:
            if word in given:
                return given[word]
        if at >= len(values):
            return default
        return _counted(self, values[at])

    source = generator.numpy
    if root == "python":
        return _python_draw(generator, name, values, self)
    if name in ("randn_like", "rand_like"):
        shape = tuple(self.operand(values[0], ast.Constant(0)).shape)
        return source.standard_normal(shape) if name == "randn_like" else source.uniform(size=shape)
    if name == "randn" or (name == "standard_normal" and not given) or (name == "normal" and root == "jax"):
        shape = (
            _shape(self, values)
            if "shape" not in given and "size" not in given
            else _shape(self, [argument(9, ("shape", "size"), ())])
        )
        return source.standard_normal(shape) if shape else float(source.standard_normal())
    if name in ("rand", "random", "random_sample"):
        shape = _shape(self, [argument(9, ("size", "shape"), ())] if given else values)
        return source.random(shape) if hasattr(source, "random") else source.random_sample(shape)
    if root == "jax" and name in ("uniform",):
        shape = _shape(self, [argument(0, ("shape",), ())])
        low, high = argument(2, ("minval",), 0.0), argument(3, ("maxval",), 1.0)
        return source.uniform(low, high, shape)
    if name in ("normal", "uniform"):
        first, second = (("loc", "mean"), ("scale", "std")) if name == "normal" else (("low",), ("high",))
        shape = argument(2, ("size",), ())
        shape = _shape(self, [shape] if shape is not None else [])
        made = getattr(source, name)(argument(0, first, 0.0), argument(1, second, 1.0), shape)
        return made if shape else float(made)
    if name == "standard_normal":
        return source.standard_normal(_shape(self, [argument(0, ("size",), ())]))
    if name in ("randint", "integers"):
        low, high, size = (
            argument(0, ("low", "minval"), 0),
            argument(1, ("high", "maxval"), None),
            argument(2, ("size", "shape"), ()),
        )
        if root == "jax":
            size, low, high = argument(0, ("shape",), ()), argument(1, ("minval",), 0), argument(2, ("maxval",), 2)
        if isinstance(high, (tuple, list)):
            low, high, size = 0, low, high
        integers = source.integers if hasattr(source, "integers") else source.randint
        shape = _shape(self, [size])
        made = integers(low, high, shape) if high is not None else integers(low, size=shape)
        return np.asarray(made, dtype=np.int64) if shape else int(made)
    if name in ("permutation", "randperm"):
        return np.asarray(source.permutation(argument(0, ("n", "x"), 1)), dtype=np.int64)
    if name == "choice":
        made = source.choice(argument(0, ("a",), 1), argument(1, ("size",), None), argument(2, ("replace",), True))
        return np.asarray(made) if isinstance(made, np.ndarray) else made.item() if hasattr(made, "item") else made
    if name in ("binomial", "bernoulli"):
        number, chance = (
            (argument(0, ("n",), 1), argument(1, ("p",), 0.5)) if name == "binomial" else (1, argument(0, ("p",), 0.5))
        )
        shape = _shape(self, [argument(2 if name == "binomial" else 1, ("size", "shape"), ())])
        return Input(np.asarray(source.binomial(number, chance, shape), float), differentiable=False)
    raise ValueError(f"{name} is not drawn here")


def _python_draw(generator: Generator, name: str, values: list[Any], self: Interpreter) -> Any:
    plain = [self.plain(v) for v in values]
    if name not in ("uniform", "random", "gauss", "randint", "choice"):
        raise ValueError(f"{name} is not drawn here")
    return getattr(generator.python, name)(*plain)


def fill(
    self: Interpreter, name: str, shape: tuple[int, ...], values: list[Any], words: dict[Any, Any], place: ast.AST
) -> Any:
    """The numbers that `w.normal_(0, 1)` or `nn.init.xavier_uniform_(w)` put into a tensor; None for others."""
    if name in ("zero", "zeros", "ones", "fill", "constant", "eye"):
        number = {"zero": 0.0, "zeros": 0.0, "ones": 1.0}.get(name, values[0] if values else words.get("val", 0.0))
        return np.eye(shape[0], shape[-1]) if name == "eye" else np.full(shape, float(number))
    inputs = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    outputs = shape[0] * int(np.prod(shape[2:])) if len(shape) > 1 else 1
    gain = float(words.get("gain", values[0] if values else 1.0)) if name.startswith("xavier") else 2**0.5
    fan = {"xavier": (inputs + outputs) / 2, "kaiming": inputs}.get(name.partition("_")[0])
    first = values[0] if values else words.get("mean", words.get("a", 0.0))
    second = values[1] if len(values) > 1 else words.get("std", words.get("b", 1.0))
    kind = name.rpartition("_")[2]
    if kind not in ("normal", "uniform") or (fan is None and "_" in name):
        return None
    self.note(f"`{self.text(place)}`: random numbers are drawn here, and differ from those of the program")
    source = self.generator("torch").numpy
    if fan is not None:
        spread = gain / fan**0.5
        return (
            source.normal(0.0, spread, shape)
            if kind == "normal"
            else source.uniform(-spread * 3**0.5, spread * 3**0.5, shape)
        )
    return source.normal(first, second, shape) if kind == "normal" else source.uniform(first, second, shape)

"""What names of libraries mean that are no operators: layers, losses as objects, optimisers, random numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import INPUT, Node
from gradcli.graph.op import INFIX, REGISTRY
from gradcli.language import read
from gradcli.ops.pass_on import stop_gradient
from gradcli.ops.reduce import total
from gradcli.problems import GradError, Source, meaning
from gradcli.trace import transforms
from gradcli.trace.arrays import set_numbers
from gradcli.trace.binding import Call
from gradcli.trace.draws import DRAWS, OF_TORCH, draw
from gradcli.trace.flows import FLOWS
from gradcli.trace.inputs import METHODS, ask_for, refuse_changes, wrapped
from gradcli.trace.plainly import PLAINLY, worked_out
from gradcli.trace.training import gradients_of, sweep_from
from gradcli.trace.trees import leaves, mapped
from gradcli.trace.values import (
    ASIDE_VALUE,
    Class,
    Function,
    Input,
    Instance,
    Items,
    Known,
    Module,
    Scope,
    Structure,
    Super,
    Swept,
    Table,
)
from gradcli.trace.vocabulary import ASIDE, OPTIMISERS, SWITCHES, TREES

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

Handler = Callable[[Any, ast.Call, list[Any], dict[str, tuple[Any, ast.AST]]], Any]


@lru_cache(maxsize=1)
def _layer_names() -> frozenset[str]:
    return frozenset(re.findall(r"^class (\w+)", _layers_text(), re.MULTILINE))


@lru_cache(maxsize=1)
def _function_names() -> frozenset[str]:
    return frozenset(re.findall(r"^def (\w+)", _layers_text(), re.MULTILINE))


@lru_cache(maxsize=1)
def _layers_text() -> str:
    return resources.files("gradcli.trace").joinpath("layers.txt").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _spellings_text() -> str:
    return resources.files("gradcli.trace").joinpath("spellings.txt").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _spelled() -> dict[str, frozenset[str]]:
    """The functions of every library that are written with others."""
    classes = re.split(r"^class (\w+):$", _spellings_text(), flags=re.MULTILINE)[1:]
    pairs = zip(classes[::2], classes[1::2], strict=True)
    return {library: frozenset(re.findall(r"^    def (\w+)", text, re.MULTILINE)) for library, text in pairs}


_OF_MICROGRAD = frozenset({"Neuron", "Layer", "MLP"})
"""Layers that are called so in micrograd alone."""

_UPDATES = ("apply_updates", "incremental_update")
"""Optax's functions that give new parameters."""

_ARRAYS = ("numpy", "jax.numpy", "autograd.numpy", "cupy")
"""Libraries that have NumPy's functions."""


def _library_of(path: str) -> str:
    """Under which library's name the functions of a module are written."""
    return "numpy" if path in _ARRAYS else "scipy" if "scipy" in path else path.partition(".")[0]


def find(self: Interpreter, name: str, base: Module | None, place: ast.AST) -> Handler | None:
    """What a library's name does when it is called; None if it is no such name, or one of another kind."""
    path = self.full_path(base.path) if base is not None else ""
    if path.startswith(SWITCHES):
        return lambda reader, node, values, words: Swept()
    if path.partition(".")[0] in ASIDE:
        return lambda reader, node, values, words: ASIDE_VALUE
    if name == "super" and base is None:
        return _super
    alone = base is None and name in ("default_rng", "PRNGKey")
    if is_draw(self, name, base) or alone:
        return lambda reader, node, values, words: draw(reader, name, path, values, words, node)
    of_library = base is None or path.startswith(("torch", "numpy"))
    if name in _function_names() and of_library and name not in REGISTRY:
        return lambda reader, node, values, words: reader.call_function(layer(reader, name), values, words, node)
    if name in _ANYWHERE:
        return _ANYWHERE[name]
    if path.startswith("torch") and name in _OF_TORCH:
        return _OF_TORCH[name]
    if name[:1].isupper():
        if name in _OF_MICROGRAD and "micrograd" in self.imported:
            self.modules.add("random")  # from which its weights are drawn
            return lambda reader, node, values, words: _made(reader, name, node, values, words)
        if name in _layer_names() - _OF_MICROGRAD and (base is None or "nn" in path or "torch" in path):
            return lambda reader, node, values, words: _made(reader, name, node, values, words)
        if name in OPTIMISERS:
            return lambda reader, node, values, words: Module("optimizer")
        if base is None or "nn" in path or path.startswith("torch"):
            return _as_object(name)
    if path == "jax.lax" and name in FLOWS:
        return lambda reader, node, values, words: FLOWS[name](reader, values, words, node)
    if name in TREE_FUNCTIONS and "tree" in path:
        return lambda reader, node, values, words: TREE_FUNCTIONS[name](reader, node, values)
    if name in PLAINLY and path in _ARRAYS:
        return lambda reader, node, values, words: worked_out(reader, name, values, words, node)
    library = _library_of(path)
    if (
        path
        and name in _spelled().get(library, ())
        and not (name in ("logpdf", "pdf", "cdf") and not path.endswith("stats.norm"))
    ):
        return lambda reader, node, values, words: _said(reader, library, name, node, values, words)
    if name == "reduce" and (path == "functools" or (not path and "functools" in self.imported)):
        return _reduced
    if path == "optax" and name in _UPDATES:
        return lambda reader, node, values, words: transforms.swept(values[0]) if values else Swept()
    if path == "optax" and name not in _spelled()["optax"]:
        return lambda reader, node, values, words: Module("optimizer")
    if path == "optimizer" and name in ("init", "update"):
        return lambda reader, node, values, words: Swept() if name == "init" else Items([Swept(), Swept()], fixed=True)
    kinds = (transforms.KINDS, transforms.PASSED_THROUGH, transforms.AT_ONCE, transforms.RULED)
    if name == "defvjp":
        return lambda reader, node, values, words: transforms.define_makers(reader, values, words, node)
    if any(name in words for words in kinds):
        return lambda reader, node, values, words: _transformed(reader, name, node, values, words)
    if name in ("gradient", "jacobian") and path == "tape":
        return lambda reader, node, values, words: _taped(reader, name, node, values, words)
    if library == "tensorflow" and name in ("constant", "convert_to_tensor"):
        return lambda reader, node, values, words: wrapped(
            reader, Call(node, name, values, list(node.args), {w: (v, _written_at(p)) for w, (v, p) in words.items()})
        )
    if library == "tensorflow" and name == "cast":
        return _cast
    if name in TREES or (name == "map" and path.endswith("tree")):
        return _mapped_tree
    if name == "device":
        return lambda reader, node, values, words: Module("torch.device")
    if name in ("no_grad", "is_available", "get_default_device"):
        return lambda reader, node, values, words: None
    return None


def is_draw(self: Interpreter, name: str, base: Module | None) -> bool:
    """Whether a call draws random numbers."""
    path = self.full_path(base.path) if base is not None else ""
    return (name in DRAWS and "random" in path) or (name in OF_TORCH and path == "torch")


def function_of_tensors(self: Interpreter, name: str) -> Function | None:
    """A function that is written in the language, and may be called as a method of its first argument."""
    return layer(self, name) if name in _function_names() else None


def _made(self: Interpreter, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    """A layer, or what else a library has objects of."""
    if words.get("shuffle", (False,))[0] is True:
        self.note(f"`{name}` gives its batches in order, and does not shuffle them")
    words = {word: value for word, value in words.items() if word not in ("device", "dtype")}
    # sizes are plain numbers, also where they have a name
    values = [self.plain(v) if type(v) is Node and v.number in self.raw and not v.shape else v for v in values]
    words = {
        word: (self.plain(v) if type(v) is Node and v.number in self.raw and not v.shape else v, place)
        for word, (v, place) in words.items()
    }
    return self.make(layer(self, name), values, words, node)


def _said(self: Interpreter, library: str, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    """The value of a library's function that is written with others."""
    function = _written(self, _spellings_text(), self.spelled)[library].members[name]
    values = [self.picked_or_plain(value, node) for value in values]
    return self.call_function(function, values, words, node)


def _transformed(self: Interpreter, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    first = values[0] if values else words.get("outputs", (None,))[0]
    if name == "grad" and "jax" not in self.imported and _holds_node(first):
        return _asked_gradients(self, node, values, words)
    return transforms.transformed(self, name, values, words, node)


def _holds_node(value: Any) -> bool:
    return type(value) is Node or (isinstance(value, (list, tuple)) and any(type(v) is Node for v in value))


_GRAD = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused")
_GRAD_USAGE = "torch.autograd.grad(outputs, inputs)"


def _asked_gradients(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`torch.autograd.grad(L, [w1, w2])`: with `create_graph`, as values of the graph."""
    for word, (_, place) in words.items():
        if word not in _GRAD:
            raise GradError(meaning.unknown_argument(self.span(place), "grad", word, _GRAD, _GRAD_USAGE))
    given = dict(zip(_GRAD, values, strict=False)) | {word: value for word, (value, _) in words.items()}
    if "inputs" not in given:
        raise GradError(meaning.argument_count(self.span(node), "grad", "outputs and inputs", 1, _GRAD_USAGE))
    outputs, seeds = _several(given["outputs"]), _several(given.get("grad_outputs"))
    inputs = [self.operand(value, node) for value in _several(given["inputs"])]
    terms = []
    for at, output in enumerate(outputs):
        output = self.operand(output, node)
        seed = seeds[at] if at < len(seeds) and seeds[at] is not None else None
        if seed is None and output.shape and np.prod(output.shape) != 1:
            raise GradError(
                meaning.seed_needed(self.span(node), self.text(node.args[0] if node.args else node), output.shape)
            )
        if seed is not None:
            place = words["grad_outputs"][1] if "grad_outputs" in words else node
            seed = self.operand(seed.value if isinstance(seed, Input) else seed, place)
            if seed.shape not in (output.shape, ()):
                raise GradError(meaning.seed_shape(self.span(place), self.found(output), output.shape, seed.shape))
        terms.append((output, seed))
    output, seed = terms[0]
    if len(terms) > 1:
        parts = []
        for part, factor in terms:
            if factor is not None:
                part = self.graph.add(INFIX["*"], (factor, part), None, self.line)
            parts.append(self.graph.add(total, (part,), None, self.line) if part.shape else part)
        output, seed = parts[0], None
        for part in parts[1:]:
            output = self.graph.add(INFIX["+"], (output, part), None, self.line)
    found = gradients_of(self, output, seed, inputs) if self.plain(given.get("create_graph")) is True else None
    sweep_from(self, output, seed, node, adds=False)
    if found is None:
        return Items((Swept() for _ in inputs), fixed=True)
    return Items((_gradient(self, found, value, given, node) for value in inputs), fixed=True)


def _gradient(self: Interpreter, found: dict[int, Node], value: Node, given: dict[str, Any], node: ast.Call) -> Any:
    if value.number in found:
        return found[value.number]
    if self.plain(given.get("allow_unused")) is True:
        return None
    expected, had = "what the output depends on", f"{self.found(value)}, on which it does not depend"
    raise GradError(meaning.wrong_argument(self.span(node), "what `grad` is asked for", expected, had))


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def layer(self: Interpreter, name: str) -> Any:
    """A layer with parameters, or a function, that is written in the language itself."""
    return _written(self, _layers_text(), self.layers)[name]


def _written(self: Interpreter, text: str, names: Scope) -> Scope:
    """The classes that are written in the language itself, once they have been read."""
    if not names:
        before = self.names, self.scopes, self.line_fixed, self.owner, self.part
        self.names, self.scopes, self.line_fixed, self.owner = names, (), True, None
        try:
            for part in read(Source("layers", text)).parts():
                self.part = part
                self.block(part.statements)
        finally:
            self.names, self.scopes, self.line_fixed, self.owner, self.part = before
    return names


def _same_parts(self: Interpreter, value: Any, place: ast.AST, known: dict[int, Any]) -> Any:
    """A value with new leaves that hold the same numbers, and new containers and objects around them."""
    if id(value) in known:
        return known[id(value)][0]
    made: Any = value
    if type(value) is Node and value.op is INPUT:
        data = np.array(value.data) if value.shape else value.data
        made = self.graph.input(data, value.dtype, "", self.line, differentiable=value.differentiable)
        for marked in (self.parameter_numbers, self.integers):
            if value.number in marked:
                marked.add(made.number)
        for numbers in (self.raw, self.whole):
            if value.number in numbers:
                numbers[made.number] = numbers[value.number]
    elif type(value) is Node:
        made = self.apply(stop_gradient, (value,), None, place, (place,))
    elif isinstance(value, Instance):
        made = Instance(value.cls)
        known[id(value)] = (made, value)
        for name, part in value.attributes.items():
            self.set_member(made, name, _same_parts(self, part, place, known), place)
    elif type(value) is Known and value.settings is not None:
        made = Known(value.name, value.base, dict(value.settings))
    elif isinstance(value, dict):
        made = Table({key: _same_parts(self, part, place, known) for key, part in value.items()})
    elif type(value) is Items:
        made = Items((_same_parts(self, part, place, known) for part in value), fixed=value.fixed)
        made.grown = value.grown
    elif type(value) in (list, tuple):
        made = type(value)(_same_parts(self, part, place, known) for part in value)
    elif isinstance(value, np.ndarray):
        made = value.copy()
    known[id(value)] = (made, value)
    return made


def _deep_copy(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`copy.deepcopy(model)`: an object of its own, with the same numbers."""
    if len(values) != 1:
        raise GradError(
            meaning.argument_count(self.span(node), "deepcopy", "1 argument", len(values), "deepcopy(model)")
        )
    return _same_parts(self, values[0], node, {})


def _clipped(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`clip_grad_norm_(model.parameters(), 1.0)`: what changes gradients once they are all there."""
    self.note(f"`{self.text(node)}` passed over: the gradients that are shown are those before it")
    return Swept()


def _compared(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`torch.allclose(a, b, atol=1e-6)`, `torch.equal(a, b)`: whether numbers are the same, or nearly so."""
    if len(values) < 2:
        raise GradError(
            meaning.argument_count(self.span(node), "allclose", "two tensors", len(values), "allclose(a, b)")
        )
    exact = isinstance(node.func, (ast.Attribute, ast.Name)) and self.text(node.func).endswith("equal")
    return worked_out(self, "array_equal" if exact else "allclose", values, words, node)


def _passed_over(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    self.note(f"`{self.text(node)}` passed over: it changes no value")
    return Swept()


def _set_attribute(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`setattr(self, "fc1", nn.Linear(2, 3))`."""
    target, name = (values[0], self.plain(values[1])) if len(values) == 3 else (None, "")
    if not isinstance(target, (Instance, Class)) or not isinstance(name, str):
        way_out = "a formula file is read, never run: write the formula out"
        raise GradError(meaning.not_in_language(self.span(node.func), "Python's `setattr`", way_out))
    self.set_member(target, name, values[2], node)
    return None


def _get_attribute(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`getattr(self, "fc1")`, `getattr(config, "bias", True)`."""
    target, name = (values[0], self.plain(values[1])) if len(values) in (2, 3) else (None, "")
    if not isinstance(target, (Instance, Class)) or not isinstance(name, str):
        way_out = "a formula file is read, never run: write the formula out"
        raise GradError(meaning.not_in_language(self.span(node.func), "Python's `getattr`", way_out))
    cls = target.cls if isinstance(target, Instance) else target
    has = name in getattr(target, "attributes", ()) or cls.find(name) is not None or name == "training"
    if not has and len(values) == 3:
        return values[2]
    return self.member(target, ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node))


def _from_pretrained(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`nn.Embedding.from_pretrained(vectors)`: an embedding with these numbers, frozen unless told otherwise."""
    weight = self.operand(values[0], node) if values else None
    if weight is None or weight.ndim != 2:
        expected = "a table of vectors"
        found = self.found(weight) if weight is not None else "nothing"
        raise GradError(meaning.wrong_argument(self.span(node), "what `from_pretrained` is given", expected, found))
    numbers = np.array(self.value_of(weight))
    words = {word: given for word, given in words.items() if word not in ("embeddings", "freeze")} | {
        "num_embeddings": (numbers.shape[0], node),
        "embedding_dim": (numbers.shape[1], node),
    }
    made = self.make(layer(self, "Embedding"), [], words, node)
    set_numbers(self, made.attributes["weight"], numbers, node)
    return made


def _named_tuple(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`namedtuple("Transition", ("state", "action"))`."""
    name, fields = (self.plain(values[0]), self.plain(values[1])) if len(values) > 1 else (None, None)
    fields = fields.replace(",", " ").split() if isinstance(fields, str) else fields
    if not isinstance(name, str) or not isinstance(fields, (list, tuple)) or not all(type(f) is str for f in fields):
        usage = 'namedtuple("Name", ["x", "y"])'
        raise GradError(
            meaning.argument_count(self.span(node), "namedtuple", "a name and its fields", len(values), usage)
        )
    return Class(name, {"__annotations__": list(fields)}, ("NamedTuple",))


def _deque(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`deque(maxlen=100)`: a list, from which the oldest entries go once it is full."""
    made = Items(self.iterate(values[0], node) if values else [])
    most = self.plain(words["maxlen"][0] if "maxlen" in words else values[1] if len(values) > 1 else None)
    made.grown, made.most = True, most if isinstance(most, int) else None
    return made


_ANYWHERE: dict[str, Handler] = {
    "namedtuple": _named_tuple,
    "deque": _deque,
    "deepcopy": _deep_copy,
    "setattr": _set_attribute,
    "getattr": _get_attribute,
    "clip_grad_norm_": _clipped,
    "clip_grad_value_": _clipped,
    **dict.fromkeys(("allclose", "array_equal"), _compared),
    **dict.fromkeys(("assert_allclose", "assert_close", "assert_almost_equal", "gradcheck"), _passed_over),
}
"""Functions that are meant whatever stands before their names."""

_FINFO = Instance(
    Class("finfo", {"max": float(np.finfo(float).max), "min": float(np.finfo(float).min), "eps": 2.0**-52})
)
"""What is known of float64."""

_OF_TORCH: dict[str, Handler] = {
    "device_count": lambda reader, node, values, words: 0,
    "synchronize": _passed_over,
    "empty_cache": _passed_over,
    "equal": _compared,
    "finfo": lambda reader, node, values, words: _FINFO,
    "from_pretrained": _from_pretrained,
    "get_default_dtype": lambda reader, node, values, words: Module("torch.float64"),
}
"""Functions of PyTorch that are no operators."""


def function_of(name: str) -> str:
    """The function that a layer without parameters is: `relu` for `nn.ReLU`; nothing if there is none."""
    spellings = [name, re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower(), name.lower()]
    spellings += [s.removesuffix("_loss") for s in spellings]
    return next((s for s in spellings if s in REGISTRY), "")


def _as_object(name: str) -> Handler | None:
    """`nn.ReLU()`, `nn.CrossEntropyLoss(reduction="sum")`: a function with its settings given beforehand."""
    function = function_of(name)
    if not function:
        return None
    op = REGISTRY[function]

    def make(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
        if any(type(v) is Node for v in values) and len(values) >= op.least:
            from gradcli.trace.binding import Call, operate

            return operate(self, op, Call(node, name, values, list(node.args), dict(words)))
        settings: dict[str, Any] = {}
        for key, value in zip(op.settings, values, strict=False):
            settings[key] = (self.plain(value), node)
        settings |= {
            k: (self.plain(v), p.value if isinstance(p, ast.keyword) else p)
            for k, (v, p) in words.items()
            if k != "inplace"
        }
        if len(values) > len(op.settings):
            raise GradError(
                meaning.argument_count(
                    self.span(node),
                    name,
                    f"at most {len(op.settings)} arguments",
                    len(values),
                    f"{name}({', '.join(op.settings)})",
                )
            )
        return Known(function, Module("torch.nn.functional"), settings)

    return make


def _written_at(place: ast.AST) -> ast.AST:
    return place.value if isinstance(place, ast.keyword) else place


def _cast(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`tf.cast(x, tf.float32)`."""
    dtype = words["dtype"] if "dtype" in words else (values[1] if len(values) > 1 else None, node)
    return METHODS["to"](self, Call(node, "to", values[:1], list(node.args[:1]), {"dtype": (dtype[0], node)}))


def _taped(self: Interpreter, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`tape.gradient(loss, [w, b])`: TensorFlow's backward pass; on another tape, its gradients are numbers."""
    values = [*values, *(words[w][0] for w in ("target", "sources") if w in words)]
    if len(values) < 2 or type(values[0]) is not Node:
        expected = "what is differentiated, and with respect to what"
        found = self.found(values[0]) if values else "nothing"
        raise GradError(meaning.wrong_argument(self.span(node), f"what `{name}` is given", expected, found))
    output, wrt = values[0], values[1]
    given = values[2] if len(values) > 2 else words.get("output_gradients", (None,))[0]
    seed: Any = np.ones(output.shape) if output.shape else 1.0  # of a tensor, the gradient of its sum
    if given is not None:
        seed = self.operand(given, node)
    tape = self.text(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if name == "jacobian" or any(other != tape for other in self.tapes):
        return transforms.derived_on_a_tape(self, name, output, wrt, seed, node)
    start = seed if type(seed) is Node else self.graph.constant(seed) if output.shape else None
    sweep_from(self, output, start, node, adds=False)
    return transforms.swept(wrt, (output, seed))


def _super(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    if not self.active:
        raise GradError(meaning.not_in_language(self.span(node), "`super()` outside a class", "leave it out"))
    function = self.active[-1]
    first = function.tree.args.args[0].arg if function.tree.args.args else ""
    return Super(self.names.get(first), function.owner.bases if function.owner is not None else ())


def _mapped_tree(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`jax.tree.map(lambda p, g: p - lr * g, params, grads)`."""
    from gradcli.trace.calls import call_value

    if len(values) < 2:
        raise GradError(
            meaning.argument_count(
                self.span(node), "tree_map", "a function and a tree", len(values), "tree_map(f, tree)"
            )
        )
    return mapped(lambda *parts: call_value(self, values[0], list(parts), {}, node), *values[1:])


def _tree_argument(self: Interpreter, node: ast.Call, values: list[Any]) -> Any:
    if len(values) != 1:
        name = self.text(node.func)
        raise GradError(meaning.argument_count(self.span(node), name, "a tree", len(values), f"{name}(tree)"))
    return values[0]


def _tree_leaves(self: Interpreter, node: ast.Call, values: list[Any]) -> Any:
    """`jax.tree.leaves(params)`."""
    return Items(leaves(_tree_argument(self, node, values)))


def _tree_flatten(self: Interpreter, node: ast.Call, values: list[Any]) -> Any:
    """`leaves, structure = jax.tree.flatten(params)`: the structure is the tree itself."""
    tree = _tree_argument(self, node, values)
    return Items([Items(leaves(tree)), Structure(tree)], fixed=True)


def _tree_reduce(self: Interpreter, node: ast.Call, values: list[Any]) -> Any:
    """`jax.tree.reduce(lambda a, b: a + b, params)`."""
    if len(values) not in (2, 3):
        use = "tree_reduce(f, tree)"
        raise GradError(
            meaning.argument_count(self.span(node), "tree_reduce", "a function and a tree", len(values), use)
        )
    return _folded(self, values[0], [*values[2:], *leaves(values[1])], node)


def _folded(self: Interpreter, function: Any, values: list[Any], node: ast.Call) -> Any:
    """What a function of two makes of many, from left to right."""
    from gradcli.trace.calls import call_value

    if not values:
        expected = "at least one value"
        raise GradError(meaning.wrong_argument(self.span(node), "what is reduced", expected, "nothing"))
    total = values[0]
    for value in values[1:]:
        self.count_step(node)
        total = call_value(self, function, [total, value], {}, node)
    return total


def _reduced(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`functools.reduce(f, xs)`."""
    if len(values) not in (2, 3):
        use = "reduce(f, xs)"
        raise GradError(meaning.argument_count(self.span(node), "reduce", "a function and a list", len(values), use))
    parts = [self.picked_or_plain(part, node) for part in self.iterate(values[1], node)]
    return _folded(self, values[0], [*values[2:], *parts], node)


def _tree_unflatten(self: Interpreter, node: ast.Call, values: list[Any]) -> Any:
    """`jax.tree.unflatten(structure, leaves)`."""
    if len(values) != 2 or type(values[0]) is not Structure or not isinstance(values[1], (list, tuple)):
        use = "tree_unflatten(structure, leaves)"
        raise GradError(
            meaning.argument_count(self.span(node), "tree_unflatten", "a structure and leaves", len(values), use)
        )
    number = {id(leaf): at for at, leaf in enumerate(leaves(values[0].tree))}
    if len(number) != len(values[1]):
        found, expected = f"{len(values[1])}", f"{len(number)} leaves"
        raise GradError(meaning.wrong_argument(self.span(node), "what `tree_unflatten` is given", expected, found))
    return mapped(lambda leaf: values[1][number[id(leaf)]], values[0].tree)


TREE_FUNCTIONS: dict[str, Any] = {
    "tree_leaves": _tree_leaves,
    "leaves": _tree_leaves,
    "tree_flatten": _tree_flatten,
    "flatten": _tree_flatten,
    "tree_unflatten": _tree_unflatten,
    "tree_reduce": _tree_reduce,
    "reduce": _tree_reduce,
    "unflatten": _tree_unflatten,
}
"""JAX's further functions of trees."""


# Methods that every object of a library has ----------------------------------------------------------


def _same(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return target


def _own(self: Interpreter, target: Instance) -> list[Node]:
    """The parameters of an object, in the library's order: of a module its own, then those of the modules in it.

    Of an object of another kind they are all that varies.
    """
    if not _is_module(target):
        return [node for node in self.parameters(target) if node.differentiable]
    found: dict[int, Node] = {}
    stack: list[Any] = [target]
    while stack:
        module = stack.pop()
        held = list(module.attributes.values()) if isinstance(module, Instance) else list(module)
        for node in held:
            if type(node) is Node and node.number in self.parameter_numbers:
                found.setdefault(node.number, node)
        known = isinstance(module, Items) or bool(module.cls.members.get("__library__"))
        inside = [p for p in held if (isinstance(p, Instance) and _is_module(p)) or (known and type(p) is Items)]
        stack.extend(reversed(inside))
    return list(found.values())


def _is_module(value: Instance) -> bool:
    return bool(value.cls.find("__library__")) or value.cls.builds_on("Module")


def _parameters(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return Items(_own(self, target))


def _named_parameters(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return Items((_name_in(self, target, node), node) for node in _own(self, target))


def _name_in(self: Interpreter, target: Instance, node: Node) -> str:
    """The name of a parameter inside an object, whose own name may not be known yet."""
    owner, member = self.local.get(node.number, (None, node.name))
    parts = [member]
    while owner is not None and owner is not target.owner:
        parts.insert(0, owner.label)
        owner = owner.parent
    return re.sub(r"\[\"?(\w+)\"?\]", r".\1", ".".join(p for p in parts if p).replace(".[", "[")).lstrip(".")


def _modules_in(value: Any) -> list[Any]:
    """The layers in an object, those inside before what they are in, and the object itself last."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        held = part.attributes if isinstance(part, Instance) else part
        if isinstance(held, (list, tuple, dict)):
            for each in list(held.values() if isinstance(held, dict) else held):
                visit(each)
        layer_like = isinstance(part, Instance) or (isinstance(part, Known) and part.settings is not None)
        if layer_like and not any(part is other for other in found):
            found.append(part)

    visit(value)
    return found


def _modules(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return Items(reversed(_modules_in(target)))


def _apply(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    """`model.apply(init)`: the function is called with every layer, those inside first."""
    from gradcli.trace.calls import call_value

    if len(values) != 1:
        raise GradError(
            meaning.argument_count(self.span(place), "apply", "a function", len(values), "model.apply(init)")
        )
    for part in _modules_in(target):
        call_value(self, values[0], [part], {}, place)
    return target


def set_mode(self: Interpreter, target: Any, training: bool, place: ast.AST) -> Any:
    """`model.eval()`, `model.train()`: dropout and batch norm behave otherwise outside training."""
    for part in _modules_in(target):
        if isinstance(part, Known):
            if part.settings is not None and "training" in REGISTRY[part.name].settings:
                part.settings["training"] = (training, place)
            continue
        if not training and part.cls.find("__running__") and id(part) in self.called and self.cut is None:
            what = "`eval()` of a batch norm that has run in training before"
            raise GradError(meaning.not_in_language(self.span(place), what, "leave the first run out"))
        part.attributes["training"] = training
    return target


def _eval(self: Interpreter, target: Any, values: list[Any], words: Any, place: ast.AST) -> Any:
    return set_mode(self, target, False, place)


def _train(self: Interpreter, target: Any, values: list[Any], words: Any, place: ast.AST) -> Any:
    mode = values[0] if values else words.get("mode", (True,))[0]
    return set_mode(self, target, self.plain(mode) is not False, place)


def _state(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return Table({_name_in(self, target, node): node for node in self.parameters(target)})


def _load_state(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    """`target.load_state_dict(model.state_dict())`: the numbers of one module put into another."""
    given = values[0] if values else None
    if not isinstance(given, dict):
        expected = "a dictionary of tensors by name"
        found = self.found(given)
        raise GradError(meaning.wrong_argument(self.span(place), "what `load_state_dict` loads", expected, found))
    numbers = {
        key: value if not isinstance(value, Node) else np.array(self.value_of(value)) for key, value in given.items()
    }
    for node in self.parameters(target):
        name = _name_in(self, target, node)
        if name in numbers and not set_numbers(self, node, numbers[name], place):
            expected = f"of shape {node.shape} for `{name}`"
            found = self.found(given[name])
            raise GradError(meaning.wrong_argument(self.span(place), "what `load_state_dict` loads", expected, found))
    known = {_name_in(self, target, node) for node in self.parameters(target)}
    strict = self.plain(words["strict"][0] if "strict" in words else values[1] if len(values) > 1 else True)
    for key in numbers.keys() - known:
        if not _set_running(self, target, key, numbers[key], place) and strict is not False:
            expected = f"the names of this module: {', '.join(sorted(known)[:6])}"
            raise GradError(
                meaning.wrong_argument(self.span(place), "what `load_state_dict` loads", expected, f"`{key}`")
            )
    return None


_RUNNING = ("running_mean", "running_var")


def _set_running(self: Interpreter, target: Instance, key: str, value: Any, place: ast.AST) -> bool:
    """Sets what a normalisation has seen in training, by its name; whether there is such a thing."""
    path, _, last = str(key).rpartition(".")
    module: Any = target
    for part in path.split(".") if path else ():
        held = module.attributes if isinstance(module, Instance) else {}
        inside = held.get("_layers")
        module = held.get(part) or (inside[int(part)] if inside is not None and part.isdigit() else None)
    if last == "num_batches_tracked":
        return True
    if not isinstance(module, Instance) or last not in _RUNNING or last not in module.attributes:
        return False
    self.set_member(module, last, Input(np.asarray(value, float), differentiable=False), place)
    return True


def _nothing(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return None


def _register(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    name = self.plain(values[0]) if values else ""
    if len(values) != 2 or not isinstance(name, str):
        raise GradError(
            meaning.argument_count(self.span(place), "register", "a name and a value", len(values), 'register("W", W)')
        )
    self.set_member(target, name, values[1], place)
    return None


def _ask(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    """`model.requires_grad_(False)`: whether gradients of its parameters are asked for."""
    asked = values[0] if values else words.get("requires_grad", (True,))[0]
    for node in self.parameters(target):
        if node.number in self.parameter_numbers:
            ask_for(node, self.plain(asked) is not False)
    return target


def _hook(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    """`layer.register_forward_hook(f)`: passed over, unless it may change what passes."""
    refuse_changes(self, values[0] if values else None, place)
    self.note(f"`{self.text(place)}` passed over: the hook is not called")
    return Swept()


OBJECT_METHODS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("to", "cuda", "cpu", "float", "double", "half"), _same),
    "requires_grad_": _ask,
    **dict.fromkeys(("register_forward_hook", "register_full_backward_hook", "register_forward_pre_hook"), _hook),
    "train": _train,
    "eval": _eval,
    "apply": _apply,
    "modules": _modules,
    "parameters": _parameters,
    "named_parameters": _named_parameters,
    "state_dict": _state,
    **dict.fromkeys(("register_buffer", "register_parameter", "add_module"), _register),
    "zero_grad": _nothing,
    "load_state_dict": _load_state,
}
"""What PyTorch's modules can do without saying so."""

"""What names of libraries mean that are no operators: layers, losses as objects, optimisers, random numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import Node
from gradcli.graph.op import REGISTRY
from gradcli.language import read
from gradcli.problems import GradError, Source, meaning
from gradcli.trace import transforms
from gradcli.trace.arrays import set_numbers
from gradcli.trace.draws import DRAWS, OF_TORCH, draw
from gradcli.trace.training import sweep_from
from gradcli.trace.values import Class, Instance, Items, Known, Module, Super, Swept, Table
from gradcli.trace.vocabulary import ASIDE, OPTIMISERS, TREES

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

Handler = Callable[[Any, ast.Call, list[Any], dict[str, tuple[Any, ast.AST]]], Any]


@lru_cache(maxsize=1)
def _layer_names() -> frozenset[str]:
    return frozenset(re.findall(r"^class (\w+)", _layers_text(), re.MULTILINE))


@lru_cache(maxsize=1)
def _layers_text() -> str:
    return resources.files("gradcli.trace").joinpath("layers.txt").read_text(encoding="utf-8")


def find(self: Interpreter, name: str, base: Module | None, place: ast.AST) -> Handler | None:
    """What a library's name does when it is called; None if it is no such name, or one of another kind."""
    path = self.full_path(base.path) if base is not None else ""
    if path.partition(".")[0] in ASIDE:
        return lambda reader, node, values, words: Swept()
    if name == "super" and base is None:
        return _super
    alone = base is None and name in ("default_rng", "PRNGKey")
    if is_draw(self, name, base) or alone:
        return lambda reader, node, values, words: draw(reader, name, path, values, words, node)
    if name[:1].isupper():
        if name in _layer_names() and (base is None or "nn" in path or "torch" in path):
            return lambda reader, node, values, words: _made(reader, name, node, values, words)
        if name in OPTIMISERS:
            return lambda reader, node, values, words: Module("optimizer")
        if base is None or "nn" in path or path.startswith("torch"):
            return _as_object(name)
    kinds = (transforms.KINDS, transforms.PASSED_THROUGH, transforms.REFUSED, transforms.RULED, ("vjp",))
    if name == "defvjp":
        return lambda reader, node, values, words: transforms.define_makers(reader, values, words, node)
    if any(name in words for words in kinds):
        return lambda reader, node, values, words: _transformed(reader, name, node, values, words)
    if name == "gradient" and path == "tape":
        return _taped
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


def _made(self: Interpreter, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    """A layer, or what else a library has objects of."""
    if words.get("shuffle", (False,))[0] is True:
        self.note(f"`{name}` gives its batches in order, and does not shuffle them")
    if name in ("RNN", "LSTM", "GRU"):
        count = self.plain(words["num_layers"][0] if "num_layers" in words else values[2] if len(values) > 2 else 1)
        unread = [w for w in ("bidirectional", "dropout", "proj_size") if words.get(w, (False,))[0]]
        if count != 1 or unread:
            what = f"`{name}` with {unread[0] if unread else f'{self.found(count)} layers'}"
            way_out = "write the layers out, one after another"
            raise GradError(meaning.not_in_language(self.span(node), what, way_out))
        words = {word: value for word, value in words.items() if word not in ("bidirectional", "dropout", "proj_size")}
    words = {word: value for word, value in words.items() if word not in ("device", "dtype")}
    # sizes are plain numbers, also where they have a name
    values = [self.plain(v) if type(v) is Node and v.number in self.raw and not v.shape else v for v in values]
    words = {
        word: (self.plain(v) if type(v) is Node and v.number in self.raw and not v.shape else v, place)
        for word, (v, place) in words.items()
    }
    return self.make(layer(self, name), values, words, node)


def _transformed(self: Interpreter, name: str, node: ast.Call, values: list[Any], words: Any) -> Any:
    if name == "grad" and values and type(values[0]) is Node:  # torch.autograd.grad(L, [w1, w2])
        sweep_from(self, values[0], None, node)
        return Items(Swept() for _ in self.parameters(values[1] if len(values) > 1 else ()))
    return transforms.transformed(self, name, values, words, node)


def layer(self: Interpreter, name: str) -> Class:
    """A layer with parameters, whose forward part is written in the language itself."""
    if not self.layers:
        before = self.names, self.scopes, self.line_fixed, self.owner, self.part
        self.names, self.scopes, self.line_fixed, self.owner = self.layers, (), True, None
        try:
            for part in read(Source("layers", _layers_text())).parts():
                self.part = part
                self.block(part.statements)
        finally:
            self.names, self.scopes, self.line_fixed, self.owner, self.part = before
    found: Class = self.layers[name]
    return found


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


def _taped(self: Interpreter, node: ast.Call, values: list[Any], words: Any) -> Any:
    """`tape.gradient(loss, [w, b])`: TensorFlow's backward pass."""
    if not values or type(values[0]) is not Node:
        expected = "what is differentiated, and with respect to what"
        found = self.found(values[0]) if values else "nothing"
        raise GradError(meaning.wrong_argument(self.span(node), "what `gradient` is given", expected, found))
    sweep_from(self, values[0], None, node, adds=False)
    return transforms.swept(values[1]) if len(values) > 1 else Swept()


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

    def walk(parts: list[Any]) -> Any:
        first = parts[0]
        if isinstance(first, dict):
            return Table({key: walk([p[key] if isinstance(p, dict) else p for p in parts]) for key in first})
        if isinstance(first, (list, tuple)):
            return Items(walk([p[k] if isinstance(p, (list, tuple)) else p for p in parts]) for k in range(len(first)))
        return call_value(self, values[0], parts, {}, node)

    return walk(values[1:])


# Methods that every object of a library has ----------------------------------------------------------


def _same(self: Interpreter, target: Instance, values: list[Any], words: Any, place: ast.AST) -> Any:
    return target


def _own(self: Interpreter, target: Instance) -> list[Node]:
    """The parameters of an object: of a module, what was declared as one; of another, all that varies."""
    nodes = [node for node in self.parameters(target) if node.differentiable]
    if target.cls.find("__library__") or target.cls.builds_on("Module"):
        return [node for node in nodes if node.number in self.parameter_numbers]
    return nodes


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
    return None


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


OBJECT_METHODS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("to", "cuda", "cpu", "float", "double", "half", "requires_grad_"), _same),
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

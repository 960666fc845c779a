"""The same graph in another library: PyTorch or JAX computes the values and the gradients, which are compared.

No table says what an operator is called there: it is looked for under each of its spellings, with the library's words
for its settings, and a call is taken only if it gives the very values that the graph has.  An operator for which no
call does has no counterpart, which is said rather than passed over.
"""

from __future__ import annotations

import importlib
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, INPUT, Node
from gradcli.problems import GradError, command
from gradcli.report import Report
from gradcli.trace.binding import ALIASES
from gradcli.verify.exact import ancestors

PLACES = {
    "torch": ("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.Tensor"),
    "jax": ("jax.numpy", "jax.nn", "jax.lax", "jax.scipy.special", "jax.numpy.linalg"),
}
"""Where each library keeps its functions."""

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2}
"""By how much values and gradients may differ, relative to the largest entry."""

_SIGNS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One gradient here and there."""

    name: str
    ours: Any
    theirs: Any
    agree: bool
    difference: float
    """The largest difference of an entry."""


@dataclass(frozen=True, slots=True)
class Against:
    """What another library says about a graph."""

    library: str
    version: str
    gradients: tuple[Comparison, ...]
    order: tuple[tuple[str, str, str], ...]
    """Our order: a node, its operation, and the function that PyTorch's backward pass calls for it; empty for JAX."""

    @property
    def wrong(self) -> bool:
        """Whether a gradient differs."""
        return any(not g.agree for g in self.gradients)

    @property
    def doubtful(self) -> bool:
        """Two numbers agree or differ: nothing is left in doubt."""
        return False


def against(report: Report, library: str) -> Against:
    """Compares the gradients of the inputs with another library's.

    Raises GradError where the library is unknown or not installed, or an operator has no counterpart there.
    """
    if library not in PLACES:
        raise GradError(command.bad_option("--against", "torch or jax", library))
    try:
        module = importlib.import_module(library)
    except ImportError:
        way_out = f"install it beside gradcli: `pip install 'gradcli[{library}]'`"
        raise GradError(
            command.bad_option("--against", "an installed library", f"{library}, not installed", way_out)
        ) from None
    there = _Torch(report, module) if library == "torch" else _Jax(report, module)
    names = [n.name for n in there.inputs]
    gradients = there.gradients()
    compared = tuple(_compared(report, name, g) for name, g in zip(names, gradients, strict=True))
    return Against(library, str(module.__version__), compared, there.order())


def _compared(report: Report, name: str, theirs: Any) -> Comparison:
    ours = np.asarray(report.gradient(name), float)
    theirs = np.zeros(ours.shape) if theirs is None else np.asarray(theirs, float)
    same_shape = ours.shape == theirs.shape
    difference = float(np.abs(ours - theirs).max(initial=0.0)) if same_shape else float("inf")
    return Comparison(name, ours, theirs, _close(ours, theirs, report.by_name[name].dtype), difference)


def _close(ours: Any, theirs: Any, dtype: str) -> bool:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind not in "fiub" or theirs.dtype.kind not in "fiub":
        return False
    a, b = ours.astype(float), theirs.astype(float)
    finite = a[np.isfinite(a)]
    scale = float(np.abs(finite).max(initial=1e-30))
    relative = TOLERANCE.get(dtype, 1e-9)
    return bool(np.all(np.isclose(a, b, rtol=relative, atol=relative * scale, equal_nan=True)))


class _There:
    """A graph in another library: its values, node by node."""

    library = ""

    def __init__(self, report: Report, module: Any) -> None:
        self.report = report
        self.module = module
        self.nodes = ancestors(report.output_node)
        self.inputs = [n for n in self.nodes if n.op is INPUT and n.differentiable and n.name in report.gradients]
        self.calls: dict[int, Callable[..., Any]] = {}
        """The call that was found for each node."""

    def tensor(self, value: Any) -> Any:
        """Numbers as a tensor of the library."""
        raise NotImplementedError

    def numbers(self, value: Any) -> Any:
        """A tensor of the library as numbers."""
        raise NotImplementedError

    def with_part(self, x: Any, key: Any, part: Any) -> Any:
        """A tensor with some entries set to others."""
        raise NotImplementedError

    def word(self, value: Any) -> Any:
        """A setting in the library's terms."""
        return value

    def evaluate(self, given: Mapping[int, Any]) -> dict[int, Any]:
        """The values of all nodes, from those of the inputs."""
        values: dict[int, Any] = {}
        for node in self.nodes:
            if node.op in (INPUT, CONSTANT):
                values[node.number] = given.get(node.number, self.tensor(self.report.values[node.number]))
                continue
            operands = [values[o.number] for o in node.operands]
            call = self.calls.get(node.number) or self._found(node, operands)
            values[node.number] = call(*operands)
        return values

    def _found(self, node: Node, operands: Sequence[Any]) -> Callable[..., Any]:
        """The first call that gives the node's value."""
        expected = self.report.values[node.number]
        for call in self._candidates(node):
            try:
                value = call(*operands)
                same = _close(expected, self.numbers(value), node.dtype)
            except Exception:  # a guess may fail in any way a library has; the next one is tried
                continue
            if same:
                self.calls[node.number] = call
                return call
        operation = f"{node.op.name} of `{node.name}`, {self.report.traced.source.told(node.line)}"
        way_out = f"{self.library} has no counterpart that gives the same values: check without `--against`"
        raise GradError(command.bad_option("--against", f"a graph that {self.library} can compute", operation, way_out))

    def _candidates(self, node: Node) -> Iterator[Callable[..., Any]]:
        op, settings = node.op, dict(node.settings)
        if op.infix in _SIGNS and not settings:
            sign = _SIGNS[op.infix]
            yield (lambda x: -x) if len(node.operands) == 1 else sign
        if "key" in settings and "shape" not in settings:
            yield from self._keyed(self._key(settings["key"]), len(node.operands))
        for function in self._functions(op.name, *op.spellings):
            yield from self._calls(function, settings, listed=op.variadic)

    def _functions(self, *names: str) -> Iterator[Callable[..., Any]]:
        for path in PLACES[self.library]:
            place: Any = self.module
            for part in path.split(".")[1:]:
                place = getattr(place, part, None)
            for name in names:
                function = getattr(place, name.strip("."), None) if place is not None else None
                if callable(function) and not isinstance(function, (type, types.ModuleType)):
                    yield function

    def _calls(
        self, function: Callable[..., Any], settings: dict[str, Any], *, listed: bool
    ) -> Iterator[Callable[..., Any]]:
        def call(words: Mapping[str, Any], plain: Sequence[Any] = ()) -> Callable[..., Any]:
            if listed:
                return lambda *operands: function(list(operands), *plain, **words)
            return lambda *operands: function(*operands, *plain, **words)

        said = {name: self.word(value) for name, value in settings.items()}
        yield call(said)
        renamed = {_THEIR_WORDS.get(name, name): value for name, value in said.items()}
        yield call(renamed)
        yield call({}, list(said.values()))
        yield lambda *operands: function(*said.values(), *operands)
        if not settings:
            yield call({"dim": -1})
            yield lambda x: function(x, tuple(reversed(range(x.ndim))))
        # of one image, where the library only knows stacks of them
        yield lambda *operands: function(*[x[None, None] for x in operands], **said)[0, 0]
        yield lambda *operands: function(*[x[None] for x in operands], **said)[0]

    def _keyed(self, key: Any, operands: int) -> Iterator[Callable[..., Any]]:
        """Entries taken, or set to others."""
        if operands == 1:
            yield lambda x: x[key]
        else:
            yield lambda x, part: self.with_part(x, key, part)

    def _key(self, key: Any) -> Any:
        parts = [
            self.tensor(k) if isinstance(k, np.ndarray) else k for k in (key if isinstance(key, tuple) else (key,))
        ]
        return tuple(parts)


_THEIR_WORDS = {ours[0]: theirs for theirs, ours in reversed(ALIASES.items()) if ours}


class _Torch(_There):
    library = "torch"

    def tensor(self, value: Any) -> Any:
        return self.module.tensor(np.asarray(value).copy())

    def numbers(self, value: Any) -> Any:
        return value.detach().numpy()

    def with_part(self, x: Any, key: Any, part: Any) -> Any:
        copy = x.clone()
        copy[key] = part
        return copy

    def word(self, value: Any) -> Any:
        if isinstance(value, str) and isinstance(getattr(self.module, value, None), self.module.dtype):
            return getattr(self.module, value)
        return value

    def gradients(self) -> list[Any]:
        """The gradients of the inputs; None where PyTorch finds no path."""
        given = {n.number: self.tensor(self.report.values[n.number]).requires_grad_() for n in self.inputs}
        before = self.module.get_default_dtype()
        self.module.set_default_dtype(self.module.float64)  # what whole numbers become, as they do here
        try:
            self.values = self.evaluate(given)
        finally:
            self.module.set_default_dtype(before)
        output = self.values[self.report.output_node.number]
        if not output.requires_grad:
            return [None] * len(given)
        seed = self.tensor(np.broadcast_to(np.asarray(self.report.seed, self.numbers(output).dtype), output.shape))
        found = self.module.autograd.grad(output, list(given.values()), seed, allow_unused=True)
        return [None if g is None else self.numbers(g) for g in found]

    def order(self) -> tuple[tuple[str, str, str], ...]:
        """Our order beside the functions of PyTorch's backward pass."""
        rows = []
        for name in self.report.order:
            node = self.report.by_name[name]
            value = self.values.get(node.number)
            function = getattr(value, "grad_fn", None)
            if function is not None:
                theirs = str(function.name())
            else:
                theirs = "AccumulateGrad" if value is not None and value.requires_grad else ""
            rows.append((name, self.report.operation(node), theirs))
        return tuple(rows)


class _Jax(_There):
    library = "jax"

    def __init__(self, report: Report, module: Any) -> None:
        super().__init__(report, module)
        module.config.update("jax_enable_x64", True)
        for path in PLACES["jax"]:
            importlib.import_module(path)

    def tensor(self, value: Any) -> Any:
        return self.module.numpy.asarray(np.asarray(value))

    def numbers(self, value: Any) -> Any:
        return np.asarray(value)

    def with_part(self, x: Any, key: Any, part: Any) -> Any:
        return x.at[key].set(part)

    def gradients(self) -> list[Any]:
        """The gradients of the inputs."""
        given = {n.number: self.tensor(self.report.values[n.number]) for n in self.inputs}
        self.evaluate(given)  # finds the calls: inside a transformation values are not to be seen
        last = self.report.output_node.number

        def output(*inputs: Any) -> Any:
            return self.evaluate(dict(zip(given, inputs, strict=True)))[last]

        value, back = self.module.vjp(output, *given.values())
        seed = np.broadcast_to(np.asarray(self.report.seed, np.asarray(value).dtype), value.shape)
        return [np.asarray(g) for g in back(self.tensor(seed))]

    def order(self) -> tuple[tuple[str, str, str], ...]:
        """JAX keeps no chain of functions to be shown."""
        return ()

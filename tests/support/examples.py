"""Examples for any operator, drawn from what its block declares.

Shapes come from a small pool, settings by the kind that their reader names, values from `op.domain`: all different,
and away from the halves and wholes at which rounding functions jump and corners lie.  A new operator needs nothing
here; a new *kind* of setting needs a line in `SETTINGS`.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradcli.ops  # noqa: F401  (fills the registry)
from gradcli.differentiate import Sweep, adjoint_sweep, sweep
from gradcli.evaluate import Values, evaluate, evaluate_nodes
from gradcli.graph import Adjoint, Graph, Node, Op, ShapeError, backward_order
from gradcli.graph.op import ALL, REGISTRY, Setting, Shape
from gradcli.ops import (
    arrange,
    copies,
    einsum,
    norms,
    pass_on,
    pooling,
    rearrange,
    rounding,
    shapes,
    statistics,
    windows,
)

OPERATORS = {
    (op.name if not op.hidden else f"{op.name}, hidden"): op for op in ALL if op.expands is op.composes is None
}
SPELLINGS = {op.name: op for op in ALL if op.expands is not None}
"""Blocks that other operators say, and that become no node of their own."""
DIFFERENTIABLE = {name: op for name, op in OPERATORS.items() if any(op.passes(s) for s in range(len(op.operands)))}

POOL: list[Shape] = [(), (3,), (1,), (2, 3), (3, 1), (3, 3), (2, 1, 3), (2, 3, 2)]
EMPTY: list[Shape] = [(0,), (0, 3), (2, 0)]
GAP = 0.03
"""Between any two numbers of an example, so that no step of a difference quotient crosses a tie."""
EXAMPLES = 14
"""At most so many examples an operator."""


@dataclass(frozen=True)
class Example:
    """An operator with operands and settings that its shape rule accepts."""

    op: Op
    operands: tuple[Any, ...]
    settings: dict[str, Any]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(np.shape(o) for o in self.operands)

    def __str__(self) -> str:
        return f"{self.op.name} of {self.shapes} with {self.settings}"


# Settings ---------------------------------------------------------------------------------------


def _axis_choices(ndim: int) -> list[Any]:
    return [0, -1, ndim - 1] if ndim else []


def _several_axes(ndim: int) -> list[Any]:
    return [None, *_axis_choices(ndim), *([(0, -1), (1, 0)] if ndim > 1 else []), ()]


def _orders(ndim: int) -> list[Any]:
    return [None, *itertools.permutations(range(ndim)), *([(-1, *range(ndim - 1))] if ndim else [])]


def _shapes_for(shape: Shape) -> list[Any]:
    size = int(np.prod(shape))
    return [(size,), (-1,), (1, *shape), (size, 1), (*shape[::-1],), (4, *shape), (2, 3, 3)]


def _keys(shape: Shape) -> list[Any]:
    keys: list[Any] = [0, -1, Ellipsis, (None, ...), slice(None, None, -1), slice(1, None), ([0, 0, -1],)]
    if len(shape) > 1:
        keys += [(..., 0), (slice(None), slice(0, 2)), (1, 0), ([0, 1, 1], [0, 0, 0])]
    return [arrange.index_key(k) for k in keys]


def _steps(name: str, ndim: int) -> list[Any]:
    return {"kernel_size": [2, 3], "stride": [2], "padding": [1], "dilation": [2], "output_padding": [1]}[name]


def _subscripts(ndim: int) -> list[Any]:
    """What an einsum whose first operand has so many axes may say."""
    of_first = ["", "i", "ij", "ijk"][ndim]
    rests = ["", ",", ",k", ",kj", ",j->j", ",jk->ik", ",jk->", ",j,jk->ik", ",...k->...i", ",...->..."]
    alone = {0: ["->"], 1: ["i->", "i"], 2: ["ij->ji", "ii", "ii->i", "ij->i", "...j->..."], 3: ["iij->ji", "iii->i"]}
    texts = [*(of_first + rest for rest in rests), *alone[ndim], "...i,...ij", "...,...", "..."]
    return [text for text in texts if _reads(einsum.subscripts, text)]


def _reads(read: Callable[[Any], Any], value: Any) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


def _words(setting: Setting) -> list[Any]:
    """The words of a setting that is one of a few, as its own fault lists them."""
    try:
        setting.read(object())
    except ValueError as error:
        return re.findall(r'"([^"]*)"', str(error))
    return []


def _whole(name: str, shape: Shape) -> list[Any]:
    """Whole numbers: an axis, a diagonal, a number of entries."""
    if name.startswith("axis"):
        return _axis_choices(len(shape))
    if name in ("groups", "classes"):
        return [2] if name == "groups" else [3, 5]
    return [0, -1, 2] if name in ("k", "offset", "start_dim", "end_dim") and len(shape) > 1 else [1, 2, 3]


def _widths(shape: Shape) -> list[Any]:
    return [1, (0, 2), tuple((i, 1) for i in range(len(shape))), (1, 2, 0, 1)]


SETTINGS = {
    rearrange.steps: lambda name, shape: [0, -1, 2, (1, -1), (-1, 0, 1)],
    rearrange.axis_or_none: lambda name, shape: [None, *_axis_choices(len(shape))],
    copies.counts: lambda name, shape: [2, (1, 2), (2, 0, 1), 0, 1],
    copies.widths: lambda name, shape: _widths(shape),
    norms.norm_order: lambda name, shape: [1, 2, 3, 2.5, np.inf, -np.inf, "fro"],
    statistics.flag_or_none: lambda name, shape: [None, True, False],
    statistics.axes_or_flag: lambda name, shape: [*_several_axes(len(shape)), True, False],
    shapes.axes: lambda name, shape: _several_axes(len(shape)),
    shapes.whole: _whole,
    shapes.flag: lambda name, shape: [False, True],
    shapes.real: lambda name, shape: [0.5, 1.5],
    # corners: of one number at a half, of a difference of two at an odd multiple of half the gap
    shapes.part: lambda name, shape: [0.1, 1.0],
    shapes.positive: lambda name, shape: [0.5, 1.5] if name in ("limit", "eps") else [13.5 * GAP, 23.5 * GAP],
    rounding.places: lambda name, shape: [-1],
    shapes.lengths: lambda name, shape: _shapes_for(shape),
    arrange._axes_or_none: lambda name, shape: _orders(len(shape)),
    arrange.index_key: lambda name, shape: _keys(shape),
    pass_on.dtype_name: lambda name, shape: ["float64"],
    str: lambda name, shape: [""],
    windows.steps: lambda name, shape: _steps(name, len(shape)),
    pooling.steps_or_none: lambda name, shape: [1, 2],
    windows.padding: lambda name, shape: [1, "same", "full"],
    windows.extent: lambda name, shape: [(2,), (5,), (2, 2), (3, 3), (4, 5)],
    einsum.subscripts: lambda name, shape: _subscripts(len(shape)) if name == "subscripts" else ["ii", "iij", "ijij"],
    einsum.axis_pairs: lambda name, shape: [0, 1, 2, ((-1,), (0,)), ((1, 0), (1, 0))],
}
"""For each reader of settings, what to try: `(name, shape of the first operand) -> values`."""


def settings_for(op: Op, shape: Shape) -> Iterator[dict[str, Any]]:
    """Settings worth trying on a first operand of this shape; the defaults first."""
    choices = []
    for name, setting in op.settings.items():
        draw = SETTINGS.get(setting.read)
        values = draw(name, shape) if draw else _words(setting)
        assert values or not setting.required or not shape, f"how is `{name}` of `{op.name}` drawn?"
        left_out = [] if setting.required else [_LEFT_OUT]
        choices.append([(name, v) for v in (*left_out, *values)])
    for chosen in itertools.product(*choices):
        yield {name: value for name, value in chosen if value is not _LEFT_OUT}


_LEFT_OUT = object()


# Operands ---------------------------------------------------------------------------------------


def slope_of(op: Op) -> Op | None:
    """For an operator that only a rule uses and that is handed the value `y` of another: which one.

    `tanh_slope(y, x)` is the slope of `tanh` and has no meaning unless y is tanh(x).
    """
    if not op.hidden or op.operands[:1] != ("y",) or op.passes(0):
        return None
    return REGISTRY[op.name.rpartition("_")[0]]


def draw(op: Op, operand_shapes: tuple[Shape, ...], seed: int = 0, within: Shape = ()) -> tuple[Any, ...]:
    """Operands of these shapes: numbers of the domain, masks, labels, or indices that name entries of any axis.

    `within` is a further shape whose axes the indices must suit.
    """
    rng = np.random.default_rng(seed)
    low, high = op.domain
    grid = np.arange(low + GAP / 2, high, GAP)
    grid = grid[np.abs(grid * 2 - np.round(grid * 2)) > 2 * 0.02]
    count = sum(int(np.prod(s)) for s in operand_shapes)
    numbers = iter(rng.permutation(np.resize(grid, max(count, len(grid)))).tolist())
    operands: list[Any] = []
    for slot, shape in enumerate(operand_shapes):
        kind = op.operand_kinds[slot] if slot < len(op.operand_kinds) else "number"
        if kind == "mask":
            operands.append(rng.random(shape) < 0.5)
        elif kind == "labels":
            classes = max(1, min((n for s in operand_shapes for n in s[-1:]), default=1))
            operands.append(rng.integers(0, classes, shape))
        elif kind == "indices":
            numbers_only = [s for s, k in zip(operand_shapes, op.operand_kinds, strict=False) if k != "indices"]
            least = max(1, min((n for s in (*numbers_only, within) for n in s), default=1))
            operands.append(rng.integers(-least, least, shape))
        else:
            operands.append(np.array([next(numbers) for _ in range(int(np.prod(shape)))]).reshape(shape))
    matrix = (slope_of(op) or op).matrix
    if matrix:
        at = int(slope_of(op) is not None)
        operands[at] = _matrices(operands[at], matrix)
    return tuple(o if np.shape(o) else o.item() if hasattr(o, "item") else o for o in operands)


def _matrices(numbers: Any, kind: str) -> Any:
    """Numbers turned into matrices of a kind, all well conditioned."""
    if numbers.ndim < 2:
        return numbers
    rows, columns = numbers.shape[-2:]
    numbers = numbers / 5 + 2 * np.eye(rows, columns)
    return numbers @ np.swapaxes(numbers, -1, -2) if kind == "positive definite" and rows == columns else numbers


def shape_tuples(op: Op, pool: list[Shape]) -> Iterator[tuple[Shape, ...]]:
    """Tuples of operand shapes, those of the block first, then small ones; a list of operands has one to three."""
    owner = slope_of(op)
    for sample in (owner or op).samples:
        if any(0 in shape for shape in sample) == (pool is not POOL):
            yield sample if owner is None else (owner.shape(*sample), *sample)
    if op.variadic:
        for count in (2, 1, 3):
            yield from itertools.product(pool, repeat=count)
    elif owner is not None:
        for rest in itertools.product(pool, repeat=len(op.operands) - 1):
            try:
                yield (owner.shape(*rest[: len(owner.operands)]), *rest)
            except ShapeError:
                continue
    else:
        for count in range(len(op.operands), op.least - 1, -1):  # optional ones may be missing
            yield from itertools.product(pool, repeat=count)


def attempts(op: Op, pool: list[Shape]) -> Iterator[Example]:
    """Examples whether or not the operator accepts them."""
    for operand_shapes, settings in _choices(op, pool):
        yield _drawn(op, operand_shapes, settings)


def _drawn(op: Op, operand_shapes: tuple[Shape, ...], settings: dict[str, Any]) -> Example:
    return Example(op, draw(op, operand_shapes, within=settings.get("shape", ())), settings)


def _choices(op: Op, pool: list[Shape]) -> Iterator[tuple[tuple[Shape, ...], dict[str, Any]]]:
    for operand_shapes in shape_tuples(op, pool):
        for settings in settings_for(op, operand_shapes[0]):
            yield operand_shapes, settings


def accepted(op: Op, pool: list[Shape] = POOL) -> list[Example]:
    """A spread of examples that the operator accepts."""
    fitting = []
    for operand_shapes, settings in _choices(op, pool):
        try:
            op.shape(*operand_shapes, **settings)
        except ShapeError:
            continue
        fitting.append((operand_shapes, settings))
    assert fitting, f"no shapes of the pool suit {op.name}"
    places = np.linspace(0, len(fitting) - 1, min(len(fitting), EXAMPLES)).round().astype(int)
    chosen = [_drawn(op, *fitting[i]) for i in places]
    owner = slope_of(op)
    if owner is None:
        return chosen
    return [with_free(e, e.operands[1:]) for e in chosen]


# Graphs of one operation --------------------------------------------------------------------------


@dataclass
class Derived:
    """A node over inputs, a seed for it, and both sweeps."""

    graph: Graph
    inputs: list[Node]
    node: Node
    seed: Node
    values: Values
    swept: Sweep

    def gradient(self, node: Node) -> Any:
        """The gradient of an input by the numeric sweep (zeros where none arrives)."""
        gradients = self.swept.gradients
        found = gradients[node.number] if node.number < len(gradients) else None
        return np.zeros(node.shape) if found is None else found

    def adjoint(self) -> tuple[dict[int, Node], list[Node], Values]:
        """The gradients as nodes, the nodes built for them, and the values of everything."""
        adjoint = Adjoint(self.graph.nodes, len(self.graph.nodes))
        gradients = adjoint_sweep(self.swept.order, self.seed, adjoint)
        values = evaluate_nodes(adjoint.nodes, list(self.values), plain=True)
        return gradients, adjoint.nodes, values


def derived(example: Example, seed: Any = None) -> Derived:
    """The example as a graph, swept back from a random seed (or from the one given)."""
    op = example.op
    graph = Graph()
    owner = slope_of(op)
    inputs = [_input(graph, value, f"x{k}") for k, value in enumerate(free_operands(example))]
    operands = inputs
    if owner is not None:
        operands = [graph.add(owner, tuple(inputs[: len(owner.operands)]), None, 1), *inputs]
    node = graph.add(op, tuple(operands), example.settings or None, 1)
    if seed is None:
        seed = np.random.default_rng(1).uniform(0.5, 1.5, node.shape)
        seed = _python(seed.astype(node.dtype if node.dtype.startswith("float") else float))
    seed_node = _input(graph, seed, "g")
    values = evaluate(graph)
    order = backward_order(node)
    return Derived(graph, inputs, node, seed_node, values, sweep(order, values, seed, plain=graph.plain))


def free_operands(example: Example) -> tuple[Any, ...]:
    """The operands that can be chosen freely: all but the `y` of a slope."""
    return example.operands if slope_of(example.op) is None else example.operands[1:]


def with_free(example: Example, free: tuple[Any, ...]) -> Example:
    """The same example at other operands."""
    owner = slope_of(example.op)
    operands = free if owner is None else (owner.forward(*free[: len(owner.operands)]), *free)
    return Example(example.op, operands, example.settings)


def _input(graph: Graph, value: Any, name: str) -> Node:
    return graph.input(_python(value), str(np.asarray(value).dtype), name, 1)


def _python(value: Any) -> Any:
    """As a graph holds it: scalars of full precision are Python's."""
    array = np.asarray(value)
    narrow = str(array.dtype) in ("float32", "float16")
    return array if array.shape else array[()] if narrow else array.item()


def with_entry(value: Any, at: tuple[int, ...], step: float) -> Any:
    """The value with `step` added to one entry."""
    if not np.shape(value):
        return value + step
    changed = value.copy()
    changed[at] += step
    return changed


STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
"""Central differences whose error is of order step**8."""
STEP = 0.003


def difference(function: Any, operands: tuple[Any, ...], slot: int) -> Any:
    """The gradient of a scalar function of the operands in one of them, by differences."""
    shape = np.shape(operands[slot])
    slopes = np.zeros(shape)
    for at in np.ndindex(*shape):
        for steps, weight in STENCIL:
            for sign in (1, -1):
                changed = with_entry(operands[slot], at, sign * steps * STEP)
                slopes[at] += sign * weight * function((*operands[:slot], changed, *operands[slot + 1 :]))
    return slopes / STEP

"""A graph at many inputs at once: one node is given a batch of values, and what is downstream of it is recomputed.

No operator has code of its own here.  A batch is a leading axis that an operator must not notice, and there are only
so many ways to hide it: operands are padded, axes counted from the end, an index key begins with a full slice.  Which
of them suits a node is found by trying: on a small batch of values like those at hand, each way is compared with
evaluating the samples one by one, and the first that agrees is used from then on.  Where none does, the samples are
evaluated one by one, which is always right.

Samples that differ from the forward value in one entry mostly go on to differ in one row or column only, and it is
these that are computed: see `Batch`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.evaluate import Values
from gradcli.graph import Node
from gradcli.graph.dtypes import floating
from gradcli.graph.op import Op, Shape, ShapeError, shape_of
from gradcli.ops.shapes import broadcast, same

CHUNK_BYTES = 2**20
"""Samples are taken in chunks whose largest value takes about so much memory: what stays in the cache is fast."""
FIRST_CHUNK = 16
"""The first chunk, which shows how large the values are."""

Watch = Callable[[Node, "Batch"], Any]
"""Looks at a node's values and tells, sample by sample, whether something is amiss."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples of one value.

    Along `axes` a sample differs from `base` at one place only, which `at` names (an array of places, one a sample, for
    each of these axes); `entries` are the numbers there, the samples first, then the other axes.  Without `axes`,
    `entries` are whole values.
    """

    base: Any
    entries: Any
    axes: tuple[int, ...] = ()
    at: tuple[Any, ...] = ()

    @property
    def shape(self) -> Shape:
        """The shape of one sample."""
        return shape_of(self.base)

    def __len__(self) -> int:
        return len(self.entries)

    def whole(self) -> Any:
        """All entries of all samples: shape (samples, *shape)."""
        if not self.axes:
            return self.entries
        count = len(self.entries)
        full = np.empty((count, *self.shape), self.entries.dtype)
        full[:] = self.base
        full[self._key(np.arange(count))] = self.entries
        return full

    def changes(self) -> Any:
        """How much the entries differ from the base."""
        return self.entries - self.of(self.base)

    def differs(self) -> Any:
        """Which entries differ from the base."""
        return self.entries != self.of(self.base)

    def of(self, value: Any) -> Any:
        """What another value of the same shape has at the places of the entries, to be compared with them."""
        if not self.axes:
            return np.asarray(value)
        return np.moveaxis(np.asarray(value), self.axes, range(len(self.axes)))[self.at]

    def _key(self, *samples: Any) -> tuple[Any, ...]:
        places: list[Any] = [slice(None)] * len(self.shape)
        for axis, at in zip(self.axes, self.at, strict=True):
            places[axis] = at
        return (*samples, *places)


class Many:
    """The output of a graph for many values of one node.

    `nodes` are the nodes of the graph by number, and `values` their forward values; neither is changed.  Only nodes
    downstream of `node` and upstream of `output` are evaluated.
    """

    def __init__(self, nodes: Sequence[Node], values: Values, node: Node, output: Node) -> None:
        self.values = values
        self.node = node
        self.output = output
        self.downstream = downstream(nodes, node, output)
        self.largest = 0.0
        """The most numbers that one sample has needed at one node."""
        self._ways: dict[tuple[int, tuple[bool, ...]], _Way | None] = {}
        self._last_use = {o.number: n.number for n in self.downstream for o in n.operands}

    def whole(self, samples: Any, watch: Watch | None = None) -> tuple[Any, Any]:
        """The output for whole values of the node, shape (samples, *shape): shape (samples, *output's shape).

        The second result is, sample by sample, whether `watch` found something amiss.
        """
        return self._run(Batch(self.values[self.node.number], np.asarray(samples)), watch)

    def entries(self, positions: Any, new: Any, watch: Watch | None = None) -> tuple[Any, Any]:
        """The output where one entry of the node is replaced: its flat position and its value, one a sample."""
        base = np.asarray(self.values[self.node.number])
        positions = np.asarray(positions, dtype=np.intp)
        at = tuple(np.unravel_index(positions, base.shape)) if base.shape else ()
        return self._run(Batch(base, np.asarray(new), tuple(range(base.ndim)), at), watch)

    def chunks(self, count: int) -> Iterator[slice]:
        """Slices of so many samples, each of which fits the cache; to be drawn as they are evaluated."""
        start = 0
        while start < count:
            room = CHUNK_BYTES / 8 / self.largest if self.largest else FIRST_CHUNK
            stop = min(count, start + max(FIRST_CHUNK, int(room)))
            yield slice(start, stop)
            start = stop

    def _run(self, batch: Batch, watch: Watch | None) -> tuple[Any, Any]:
        known: dict[int, Batch] = {self.node.number: batch}
        amiss = np.zeros(len(batch), bool)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of means of nothing
            for node in self.downstream:
                found = self._value(node, [known.get(o.number, self.values[o.number]) for o in node.operands])
                known[node.number] = found
                self.largest = max(self.largest, found.entries.size / max(1, len(batch)))
                if watch is not None:
                    amiss |= watch(node, found)
                for operand in node.operands:
                    if self._last_use[operand.number] == node.number:
                        known.pop(operand.number, None)
            return known[self.output.number].whole(), amiss

    def _value(self, node: Node, operands: list[Any]) -> Batch:
        base = self.values[node.number]
        operands = as_evaluated(node, operands)
        found = None
        if node.op.shape in (same, broadcast):
            found = _in_places(node, operands, base)
            if found is None:
                padded = [_padded(o, len(node.shape)) for o in operands]
                found = Batch(base, _stretched(node.op.forward(*padded, **node.settings), node, operands))
        elif node.op.infix == "@":
            found = _product(operands, base)
        return found if found is not None else Batch(base, self._by_a_way(node, operands))

    def _by_a_way(self, node: Node, operands: list[Any]) -> Any:
        """Whole values, by the first way that is right."""
        batched = tuple(isinstance(o, Batch) for o in operands)
        key = (node.number, batched)
        if key not in self._ways:
            self._ways[key] = _way(node, operands)
        way = self._ways[key]
        whole = [o.whole() if isinstance(o, Batch) else o for o in operands]
        return one_by_one(node, whole, batched) if way is None else way(node, whole, batched)


def downstream(nodes: Iterable[Node], node: Node, output: Node) -> list[Node]:
    """The nodes that depend on `node` and that `output` depends on, in the order of evaluation; without `node`."""
    later = {node.number}
    ways = []
    for each in nodes:
        if node.number < each.number <= output.number and any(o.number in later for o in each.operands):
            later.add(each.number)
            ways.append(each)
    needed = {output.number}
    kept = []
    for each in reversed(ways):
        if each.number in needed:
            kept.append(each)
            needed.update(o.number for o in each.operands)
    return kept[::-1]


def as_evaluated(node: Node, operands: list[Any]) -> list[Any]:
    """The operands as the forward pass takes them: a mask counts as float64 where NumPy would make float16 of it."""
    if node.op.dtype is not floating:
        return operands
    found = []
    for value, operand in zip(operands, node.operands, strict=True):
        if operand.dtype != "bool":
            found.append(value)
        elif isinstance(value, Batch):
            found.append(Batch(np.asarray(value.base, float), value.entries.astype(float), value.axes, value.at))
        else:
            found.append(np.asarray(value, float)[()])
    return found


# Entry by entry -----------------------------------------------------------------------------------


def _in_places(node: Node, operands: list[Any], base: Any) -> Batch | None:
    """An operation entry by entry, only where samples differ; None if they do not differ at the same places."""
    ndim = len(node.shape)
    first = next(o for o in operands if isinstance(o, Batch))
    if not first.axes:
        return None
    restricted = [axis - len(first.shape) for axis in first.axes]
    for operand in operands:
        if isinstance(operand, Batch):
            aligned = [axis - len(operand.shape) for axis in operand.axes] == restricted
            same_places = all(a is b for a, b in zip(operand.at, first.at, strict=False))
            if not (aligned and same_places and all(operand.shape[a] == node.shape[a] for a in restricted)):
                return None
    kept = [axis for axis in range(-ndim, 0) if axis not in restricted]
    places = dict(zip(restricted, first.at, strict=True))
    arguments = []
    for operand in operands:
        entries = operand.entries if isinstance(operand, Batch) else _gathered(operand, places)
        if entries is not None and np.ndim(entries) and (isinstance(operand, Batch) or _has(operand, places)):
            missing = len(kept) + 1 - entries.ndim
            entries = entries.reshape(len(first), *[1] * missing, *entries.shape[1:])
        arguments.append(entries)
    found = node.op.forward(*arguments, **node.settings)
    found = np.broadcast_to(found, (len(first), *[node.shape[a] for a in kept]))
    return Batch(base, found, tuple(a + ndim for a in restricted), first.at)


def _has(operand: Any, places: Mapping[int, Any]) -> bool:
    """Whether the operand changes along one of the axes along which samples have one place."""
    shape = shape_of(operand)
    return any(axis >= -len(shape) and shape[axis] > 1 for axis in places)


def _gathered(operand: Any, places: Mapping[int, Any]) -> Any:
    """What an operand that is the same for all samples has at the places of each."""
    shape = shape_of(operand)
    present = [axis for axis in places if axis >= -len(shape)]
    if not present:
        return operand
    front = np.moveaxis(operand, present, range(len(present)))
    at = tuple(places[axis] if shape[axis] > 1 else 0 for axis in present)
    return front[at]


def _padded(operand: Any, ndim: int) -> Any:
    """Whole samples with so many axes each, so that the samples' axis leads."""
    if not isinstance(operand, Batch):
        return operand
    whole = operand.whole()
    return whole.reshape(len(whole), *[1] * (ndim + 1 - whole.ndim), *whole.shape[1:])


def _stretched(found: Any, node: Node, operands: list[Any]) -> Any:
    count = len(next(o for o in operands if isinstance(o, Batch)))
    return np.broadcast_to(found, (count, *node.shape))


# Matrix products ------------------------------------------------------------------------------------


def _product(operands: list[Any], base: Any) -> Batch | None:
    """A product of matrices or vectors, one of which is the same for all samples.

    A product is linear in either factor, so a change of one entry, row or column of it is a change of the product by an
    outer product.  None where this does not apply.
    """
    left, right = operands
    if isinstance(left, Batch) and isinstance(right, Batch):
        return None
    if not all(len(shape_of(o.base if isinstance(o, Batch) else o)) in (1, 2) for o in operands):
        return None
    product = np.asarray(base)
    if isinstance(left, Batch):
        flipped = _right_changes(_swapped(_as_matrix(left, 0)), _matrix(right, 1).T, _lifted(product, operands).T)
        found = _swapped(flipped)
    else:
        found = _right_changes(_as_matrix(right, 1), _matrix(left, 0), _lifted(product, operands))
    return _lowered(found, base, operands)


def _right_changes(right: Batch, left: Any, product: Any) -> Batch:
    """left @ right, `left` being the same for all samples."""
    if right.axes == (0, 1):  # an entry: one column of the product changes
        row, column = right.at
        return Batch(product, product.T[column] + right.changes()[:, None] * left.T[row], (1,), (column,))
    if right.axes == (1,):
        return Batch(product, right.entries @ left.T, (1,), right.at)
    if right.axes == (0,):
        return Batch(product, product + left.T[right.at[0]][:, :, None] * right.changes()[:, None, :])
    if right.entries.flags.c_contiguous:
        return Batch(product, np.matmul(left, right.entries))
    turned = np.swapaxes(right.entries, 1, 2)  # of a left factor: its rows are one tall matrix
    found = turned.reshape(-1, turned.shape[2]) @ left.T
    return Batch(product, np.swapaxes(found.reshape(*turned.shape[:2], len(left)), 1, 2))


def _matrix(value: Any, slot: int) -> Any:
    return value if value.ndim == 2 else value[:, None] if slot else value[None]


def _lifted(product: Any, operands: Sequence[Any]) -> Any:
    """The product as a matrix."""
    left, right = (shape_of(o.base if isinstance(o, Batch) else o) for o in operands)
    return product.reshape(left[-2] if len(left) == 2 else 1, right[-1] if len(right) == 2 else 1)


def _as_matrix(batch: Batch, slot: int) -> Batch:
    """A batch of vectors as one of rows (the left factor) or columns (the right one)."""
    if len(batch.shape) == 2:
        return batch
    base = _matrix(np.asarray(batch.base), slot)
    if not batch.axes:
        return Batch(base, batch.entries[:, :, None] if slot else batch.entries[:, None, :])
    none = np.zeros(len(batch), np.intp)
    return Batch(base, batch.entries, (0, 1), (batch.at[0], none) if slot else (none, batch.at[0]))


def _swapped(batch: Batch) -> Batch:
    """A batch of matrices, transposed."""
    base = np.asarray(batch.base).T
    if not batch.axes:
        return Batch(base, np.swapaxes(batch.entries, 1, 2))
    axes = tuple(sorted(1 - axis for axis in batch.axes))
    return Batch(base, batch.entries, axes, batch.at[::-1])


def _lowered(batch: Batch, base: Any, operands: Sequence[Any]) -> Batch:
    """A product of matrices without the axes that vectors were given."""
    left, right = (shape_of(o.base if isinstance(o, Batch) else o) for o in operands)
    added = [axis for axis, shape in enumerate((left, right)) if len(shape) == 1]
    if not added:
        return Batch(base, batch.entries, batch.axes, batch.at)
    kept = [k for k, axis in enumerate(batch.axes) if axis not in added]
    others = [axis for axis in range(2) if axis not in batch.axes]
    entries = batch.entries
    for place in reversed(range(len(others))):
        if others[place] in added:
            entries = np.take(entries, 0, axis=place + 1)
    return Batch(base, entries, (0,) * len(kept), tuple(batch.at[k] for k in kept))


# Ways to hide an axis ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """How operands and settings are changed so that an operator acts on every sample alone."""

    place: Callable[[Any, int, bool, int], Any]
    """`(operand, slot, whether it is a batch, samples)`: the operand as the operator gets it."""
    settings: dict[str, Any]
    whole_shapes: bool
    """Whether a setting that is a shape is that of the result, with the samples before it."""
    last: bool = False
    """Whether the samples' axis is the last of the result."""
    reduce: Callable[..., Any] | None = None
    """What is left to do over the axes of each sample."""

    def __call__(self, node: Node, operands: Sequence[Any], batched: Sequence[bool]) -> Any:
        count = len(next(o for o, b in zip(operands, batched, strict=True) if b))
        given = [self.place(o, s, b, count) for s, (o, b) in enumerate(zip(operands, batched, strict=True))]
        settings = self.settings
        if self.whole_shapes:
            settings = {**settings, "shape": (count, *node.shape)}
        found = np.asarray(_call(node.op, given, settings))
        if self.last:
            found = np.moveaxis(found, -1, 0)
        if self.reduce is not None:
            found = self.reduce(found, axis=tuple(range(1, found.ndim)))
        if found.size != count * int(np.prod(node.shape)) or found.shape[:1] != (count,):
            raise ValueError("another shape")
        return found.reshape(count, *node.shape)


def one_by_one(node: Node, operands: Sequence[Any], batched: Sequence[bool]) -> Any:
    """The value of every sample by itself, stacked."""
    count = len(next(o for o, b in zip(operands, batched, strict=True) if b))
    found = []
    for k in range(count):
        chosen = [o[k] if b else o for o, b in zip(operands, batched, strict=True)]
        found.append(np.asarray(_call(node.op, chosen, node.settings)))
    return np.stack(found)


def _call(op: Op, operands: Sequence[Any], settings: Mapping[str, Any]) -> Any:
    return op.forward(*operands, **settings)


def _way(node: Node, operands: Sequence[Any]) -> _Way | None:
    """The first way that gives, on a few samples like these operands, what one by one gives; None if none does."""
    lengths = {n for o in operands for n in shape_of(o)} | set(node.shape)
    count = next(n for n in range(2, len(lengths) + 3) if n not in lengths)
    rng = np.random.default_rng(0)
    batched = [isinstance(o, Batch) for o in operands]
    samples = [_like(o.base, count, rng) if isinstance(o, Batch) else o for o in operands]
    try:
        right = one_by_one(node, samples, batched)
    except FAULTS:
        return None
    for way in _ways(node):
        try:
            found = way(node, samples, batched)
        except FAULTS:
            continue
        if found.dtype == right.dtype and _close(found, right):
            return way
    return None


FAULTS = (ShapeError, ArithmeticError, ValueError, IndexError, TypeError, AttributeError, AssertionError)
"""What evaluating an operation can raise."""


def _close(found: Any, right: Any) -> bool:
    if right.dtype.kind != "f":
        return bool((found == right).all())
    scale = float(np.max(np.abs(right), initial=0, where=np.isfinite(right)))
    return bool(np.allclose(found, right, rtol=0, atol=1e-13 * scale, equal_nan=True))


def _like(base: Any, count: int, rng: np.random.Generator) -> Any:
    """Samples like a value: near it, or of its entries in another order where they are whole numbers or a mask."""
    array = np.asarray(base)
    shape = (count, *array.shape)
    if array.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if array.dtype.kind != "f":
        return rng.choice(array.reshape(-1), shape) if array.size else np.zeros(shape, array.dtype)
    near = np.where(array == 0, 1e-3, array)
    return np.asarray(np.broadcast_to(near * (1 + 1e-3 * rng.random(shape)), shape), array.dtype)


def _ways(node: Node) -> Iterator[_Way]:
    for settings in _settings(node):
        shapes = [False, True] if "shape" in settings else [False]
        for place in _PLACES:
            for whole_shapes in reversed(shapes):
                yield _Way(place, settings, whole_shapes)
        if settings.get("reduction", "reduction" in node.op.settings and "mean") in ("mean", "sum"):
            every = {**settings, "reduction": "none"}
            for reduce in (np.mean, np.sum):
                yield _Way(_first, every, False, reduce=reduce)
                yield _Way(_stacked, every, False, reduce=reduce)
                yield _Way(_last, every, False, last=True, reduce=reduce)


def _first(operand: Any, slot: int, batch: bool, count: int) -> Any:
    return operand


def _stacked(operand: Any, slot: int, batch: bool, count: int) -> Any:
    """Also what all samples share, once for each."""
    return operand if batch else np.broadcast_to(operand, (count, *np.shape(operand)))


def _last(operand: Any, slot: int, batch: bool, count: int) -> Any:
    return np.moveaxis(_stacked(operand, slot, batch, count), 0, -1)


def _columns(operand: Any, slot: int, batch: bool, count: int) -> Any:
    """Vectors right of others as columns, so that they are not taken for the rows of a matrix."""
    return operand[..., None] if slot and np.ndim(operand) - batch == 1 else operand


def _rows(operand: Any, slot: int, batch: bool, count: int) -> Any:
    return operand[..., None, :] if not slot and np.ndim(operand) - batch == 1 else operand


def _rows_and_columns(operand: Any, slot: int, batch: bool, count: int) -> Any:
    return _rows(_columns(operand, slot, batch, count), slot, batch, count)


_PLACES = (_first, _stacked, _columns, _rows, _rows_and_columns)


def _settings(node: Node) -> Iterator[dict[str, Any]]:
    """The settings with axes counted from the end, and what else must know of one more axis in front."""
    ndims = dict.fromkeys([len(node.operands[0].shape), len(node.shape), *(len(o.shape) for o in node.operands)])
    for ndim in ndims:
        settings = dict(node.settings)
        for name, setting in node.op.settings.items():
            value = settings.get(name, setting.default)
            settings[name] = value
            if name.startswith(("axis", "source", "destination", "start_dim", "end_dim")):
                settings[name] = _from_the_end(value, ndim)
            elif name == "axes" and (value is None or isinstance(value, tuple)):
                order = range(ndim)[::-1] if value is None else value
                settings[name] = (0, *(int(a) % max(1, ndim) + 1 for a in order if isinstance(a, int)))
            elif name == "key":
                settings[name] = (slice(None), *value)
            elif name == "pad_width":
                settings[name] = ((0, 0), *_pairs(value, ndim))
            elif name == "subscripts":
                yield from ({**settings, name: text} for text in _lettered(value))
        yield settings


def _from_the_end(axis: Any, ndim: int) -> Any:
    if axis is None:
        return tuple(range(-ndim, 0)) if ndim != 1 else -1
    if isinstance(axis, tuple):
        return tuple(_from_the_end(a, ndim) for a in axis)
    return axis - ndim if type(axis) is int and axis >= 0 else axis


def _pairs(widths: Any, ndim: int) -> list[Any]:
    if isinstance(widths, int):
        return [(widths, widths)] * ndim
    if len(widths) == 2 and isinstance(widths[0], int):
        return [widths] * ndim
    return list(widths) * (ndim if len(widths) == 1 else 1)


def _lettered(text: str) -> Iterator[str]:
    """Subscripts with a letter for the samples: first of one operand's, of the other's, or of all."""
    inputs, arrow, output = text.partition("->")
    free = next((c for c in "zyxwvutsrqZYXWVUTSRQ" if c not in text), "")
    if not arrow or not free:
        return
    terms = inputs.split(",")
    for chosen in (range(len(terms)), *((k,) for k in range(len(terms)))):
        marked = [free + term if k in chosen else term for k, term in enumerate(terms)]
        yield ",".join(marked) + "->" + free + output

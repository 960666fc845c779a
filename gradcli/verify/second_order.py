"""Second derivatives: ours, and what differences of the reverse sweep's gradients say about them.

A gradient is a graph like any other, so ours come from sweeping the adjoint graph once more, an entry of the gradient
at a time.  The differences know nothing of that graph: they repeat the numeric sweep at inputs moved by a little, and
extrapolate as `differences` does, each entry with its error bound.  Like those, they may acquit and not convict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import adjoint_sweep, sweep
from gradcli.evaluate import Values, evaluate_nodes
from gradcli.graph import Adjoint, Node, backward_order
from gradcli.graph.op import Shape, shape_of
from gradcli.verify.differences import (
    NOISE_ENTRIES,
    SEVEN,
    SHORTER,
    STEP,
    USABLE,
    U,
    extrapolated,
    rounding_seen,
    scales,
)
from gradcli.verify.exact import Exact
from gradcli.verify.many import FAULTS, as_evaluated, downstream

if TYPE_CHECKING:
    from gradcli.report import Report

MAX_ENTRIES = 256
"""A Hessian of more rows than this is not computed: it takes a sweep a row, and eight for its differences."""
MAX_NODES = 20_000
"""Nor that of a graph of more nodes."""


@dataclass(frozen=True, slots=True)
class Hessian:
    """Second derivatives of a scalar output: matrices with a row and a column for every entry of the nodes named."""

    names: tuple[str, ...]
    entries: tuple[tuple[str, tuple[int, ...]], ...]
    """What each row and column stands for: a node's name, and an index into it."""
    value: Any
    """Ours: row i is the gradient of entry i of the gradient."""
    differences: Any
    """Column j is the slope of the gradient as entry j moves."""
    bound: Any
    """What the error of the differences does not exceed; infinite where nothing holds."""
    reason: str = ""
    """Why there is none, where there is none; the matrices are then empty."""

    @property
    def scale(self) -> Any:
        """What errors are measured by: an entry's size, but not less than 1e-3 of its row's and column's largest."""
        size = np.maximum(np.abs(self.value), np.abs(self.differences))
        size = np.where(np.isfinite(size), size, 0.0)
        rows = np.max(size, axis=1, initial=0, keepdims=True)
        columns = np.max(size, axis=0, initial=0, keepdims=True)
        return np.maximum(size, 1e-3 * np.minimum(rows, columns))

    @property
    def usable(self) -> Any:
        """Where the differences say anything."""
        return (self.bound <= USABLE * self.scale) & np.isfinite(self.bound)

    @property
    def agrees(self) -> Any:
        """Where they say that ours is right."""
        with np.errstate(all="ignore"):
            near = np.abs(self.value - self.differences) <= self.bound + 64 * U * self.scale
        return self.usable & near

    @property
    def asymmetry(self) -> float:
        """The largest difference of an entry of ours from the one across the diagonal."""
        return float(np.max(np.abs(self.value - self.value.T), initial=0.0))

    def block(self, row: str, column: str) -> Any:
        """∂²L / ∂row ∂column: the shape of the one, then that of the other."""
        places = [[k for k, (name, _) in enumerate(self.entries) if name == wanted] for wanted in (row, column)]
        shapes = [tuple(max(i) + 1 for i in zip(*(self.entries[k][1] for k in p), strict=True)) for p in places]
        return self.value[np.ix_(*places)].reshape(*shapes[0], *shapes[1])


def hessian(report: Report, names: Iterable[str]) -> Hessian:
    """The second derivatives of a report's scalar output by the nodes named, which the sweep must have reached.

    Ours, the differences and their bounds; `reason` says why, where it is too much or not defined.
    KeyError if there is no node of such a name.
    """
    names = tuple(dict.fromkeys(names))
    nodes = [report.node(name) for name in names]
    reason = _unfit(report, nodes)
    if reason:
        none = np.zeros((0, 0))
        return Hessian(names, (), none, none, none, reason)
    entries = tuple((n.name, at) for n in nodes for at in np.ndindex(*n.shape))
    value = _by_the_adjoint_graph(report, nodes)
    slopes, bound = _Moved(report, nodes).slopes()
    return Hessian(names, entries, value, slopes, bound)


def _unfit(report: Report, nodes: list[Node]) -> str:
    graph, output = report.traced.graph, report.output_node
    if shape_of(report.values[output.number]) != ():
        return f"`{output.name}` has shape {output.shape}; second derivatives are those of a scalar"
    if not graph.plain:
        return "second derivatives are checked in float64, and the file has numbers of less precision"
    for node in nodes:
        if node.operands:
            return f"`{node.name}` is computed; second derivatives are by inputs"
        if node.number >= len(report.sweep.reached) or not report.sweep.reached[node.number]:
            return f"no gradient reaches `{node.name}`"
    count = sum(int(np.prod(node.shape)) for node in nodes)
    if count > MAX_ENTRIES:
        return f"{count} entries are more than {MAX_ENTRIES}: there are {count * count} second derivatives"
    if len(graph.nodes) > MAX_NODES:
        return f"{len(graph.nodes)} nodes are more than {MAX_NODES}"
    return ""


def _flat(gradients: Any, nodes: list[Node], zeros: Any = np.zeros) -> Any:
    """Some gradients, one after the other; zeros where none arrived."""
    found = []
    for node in nodes:
        gradient = gradients[node.number] if node.number < len(gradients) else None
        array = np.asarray(zeros(node.shape) if gradient is None else gradient)
        array = array if array.dtype == object else array.astype(float)
        found.append(np.broadcast_to(array, node.shape).reshape(-1))
    return np.concatenate(found)


def _by_the_adjoint_graph(report: Report, nodes: list[Node]) -> Any:
    """Sweeps every entry of every gradient's node."""
    graph = report.traced.graph
    adjoint = Adjoint(graph.nodes, len(report.values))
    first = adjoint_sweep(list(report.order_nodes), report.seed, adjoint)
    values = evaluate_nodes(adjoint.nodes, list(report.values), plain=True)
    return _rows(first, values, nodes, _one_at, np.zeros)


def at_many_digits(exact: Exact, names: Iterable[str]) -> Any:
    """The same matrix by the same rules, in an arithmetic of many digits: objects, to be turned into floats."""
    report, m = exact.report, exact.arithmetic
    graph = report.traced.graph
    adjoint = Adjoint(graph.nodes, len(report.values))
    first = adjoint_sweep(list(report.order_nodes), report.seed, adjoint)
    values: Values = [exact.base.get(n) for n in range(len(report.values))]
    for node in adjoint.nodes:
        operands = [values[o.number] for o in node.operands]
        values.append(m.array(node.data) if node.leaf else m.seen(node.op.forward(*operands, **node.settings)))

    def one_at(at: tuple[int, ...], shape: Shape) -> Any:
        return m.array(_one_at(at, shape))

    nodes = [report.node(name) for name in names]
    return m.floats(_rows(first, values, nodes, one_at, lambda n: np.full(n, m.of(0), dtype=object)))


def _rows(first: dict[int, Node], values: Values, nodes: list[Node], one_at: Any, zeros: Any) -> Any:
    """A row an entry of a gradient: that entry, swept back."""
    rows = []
    for node in nodes:
        gradient = first[node.number]
        order = backward_order(gradient) if gradient.differentiable else []
        for at in np.ndindex(*node.shape):
            if order:
                swept = sweep(order, values, one_at(at, gradient.shape))
                rows.append(_flat(swept.gradients, nodes, zeros))
            else:  # it is a constant
                rows.append(zeros(sum(int(np.prod(n.shape)) for n in nodes)))
    return np.stack(rows) if rows else np.zeros((0, 0))


def _one_at(at: tuple[int, ...], shape: Shape) -> Any:
    """1 at one entry, 0 elsewhere."""
    if not shape:
        return 1.0
    seed = np.zeros(shape)
    seed[at] = 1.0
    return seed


class _Moved:
    """The reverse sweep's gradients where one entry of an input is moved."""

    def __init__(self, report: Report, nodes: list[Node]) -> None:
        self.report = report
        self.nodes = nodes
        self.order = list(report.order_nodes)
        self.base = _flat(report.sweep.gradients, nodes)

    def change(self, node: Node, later: list[Node], position: int, entry: float) -> Any:
        """By how much all gradients change."""
        report = self.report
        values: Values = list(report.values)
        if node.shape:
            moved = np.array(values[node.number], float)
            moved.reshape(-1)[position] = entry
            values[node.number] = moved
        else:
            values[node.number] = float(entry)
        for each in later:
            values[each.number] = _value(each, values)
        return _flat(sweep(self.order, values, report.seed).gradients, self.nodes) - self.base

    def slopes(self) -> tuple[Any, Any]:
        """Slopes and bounds, a column an entry that moves."""
        columns = []
        with np.errstate(all="ignore"):
            noise = self._noise()
            for node in self.nodes:
                flat = np.asarray(self.report.values[node.number], float).reshape(-1)
                later = self._later(node)
                for position, x in enumerate(flat):
                    long, own = (float(s[position]) for s in scales(flat))
                    slope, bound = self._slope(node, later, position, x, STEP * long, noise)
                    size = np.max(np.abs(slope), initial=0, where=np.isfinite(slope))
                    if not (bound <= USABLE * size).all():
                        again, narrow = self._slope(node, later, position, x, SHORTER * STEP * own, noise)
                        better = narrow < bound
                        slope, bound = np.where(better, again, slope), np.where(better, narrow, bound)
                    columns.append((slope, bound))
        if not columns:
            return np.zeros((0, 0)), np.zeros((0, 0))
        return tuple(np.stack(each, axis=1) for each in zip(*columns, strict=True))  # type: ignore[return-value]

    def _later(self, node: Node) -> list[Node]:
        """What is evaluated again: all that a rule may read, also beside the way to the output."""
        graph = self.report.traced.graph
        return downstream(graph.nodes, node, self.report.output_node)

    def _slope(self, node: Node, later: list[Node], position: int, x: float, h: float, noise: Any) -> tuple[Any, Any]:
        steps = (h, h / 2, h / 4)
        try:
            above = np.stack([self.change(node, later, position, x + s) for s in steps], axis=-1)
            below = np.stack([self.change(node, later, position, x - s) for s in steps], axis=-1)
        except FAULTS:
            nothing = np.full(len(self.base), np.nan)
            return nothing, np.full(len(self.base), np.inf)
        length = np.array([((x + s) - (x - s)) / 2 for s in steps])
        slope, bound, _, _ = extrapolated(above, below, length, noise)
        return slope, bound

    def _noise(self) -> Any:
        """How much rounding moves each gradient: by four roundings at least, or by what seven points show."""
        seen = 4 * U * np.abs(self.base)
        for node in self.nodes:
            flat = np.asarray(self.report.values[node.number], float).reshape(-1)
            _, own = scales(flat)
            later = self._later(node)
            for position in np.unique(np.linspace(0, flat.size - 1, NOISE_ENTRIES).astype(int)) if flat.size else []:
                try:
                    points = [self.change(node, later, position, x) for x in flat[position] + SEVEN * own[position]]
                except FAULTS:
                    continue
                seen = np.maximum(seen, 4 * rounding_seen(np.stack(points, axis=-1)))
        return seen


def _value(node: Node, values: Values) -> Any:
    """A node's value from its operands', as `evaluate` finds it."""
    operands = [values[o.number] for o in node.operands]
    if node.op.scalar is not None and node.shape == ():
        try:
            return node.op.scalar(*operands)
        except (ArithmeticError, ValueError):
            pass  # NumPy knows the answer: inf or nan
    value = node.op.forward(*as_evaluated(node, operands), **node.settings)
    return value if node.shape else np.asarray(value).item()

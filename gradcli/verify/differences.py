"""Central differences in float64: fast enough for every parameter of a network, and trusted only to acquit.

Each entry is moved by ±h, ±h/2 and ±h/4, all entries in batches (see `many`).  Richardson's extrapolations

    R₁ = (4 C(h/2) − C(h)) / 3,   R₂ = (4 C(h/4) − C(h/2)) / 3,   R₃ = (16 R₂ − R₁) / 15

of the central differences C have errors of order h⁴, h⁴ and h⁶, so h can be as large as (2u)^(1/7) of the entry's
scale, and rounding, which grows as 1/h, stays small.  R₃ is the slope; its error bound adds up

    2 |R₃ − R₂|      what truncation is left of R₂, let alone of R₃,
    the corner       what second differences D see of a corner at the point itself, where all C agree on the mean of two
                     slopes: D(h)/h is then the jump J of the slope at every h, and (8 E(h/2) − E(h)) / 7, with
                     E(h) = (D(h) − 4 D(h/2)) / h, is −J, but of order h⁵ where the function is smooth,
    rounding         of the function, from its size and from a seven-point estimate, times 7/h, the most R₃ makes of it.

An entry is usable only if the bound is small against the slope.  Where an operation downstream jumps, or has a flat
piece that the step leaves, no bound holds, and the entry is not usable.  What a long step leaves unsettled is tried
once more with a short one.  What is not usable then is not wrong: slower and more exact means decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.evaluate import Values
from gradcli.graph import Node
from gradcli.graph.dtypes import FLOATS
from gradcli.verify.many import FAULTS, Batch, Many

if TYPE_CHECKING:
    from gradcli.report import Report

U = 2.0**-53
"""The unit of rounding of float64."""
STEP = (2 * U) ** (1 / 7)
"""The step, relative to the entry's scale: truncation h⁶ and rounding u/h are of one size here."""
SHORTER = 1 / 32
"""The second step, relative to the first."""
AMPLIFIED = 7
"""The most that R₃ makes of the function's rounding, over h: (16 · (4 · 4 + 2) / 3 + (4 · 2 + 1) / 3) / 15."""
USABLE = 1e-5
"""The largest bound, relative to the slope, of an estimate that says anything."""
ACQUITS = 1e-9
"""The largest bound, relative to the slope, of an estimate that acquits."""
NOISE_ENTRIES = 4
"""So many entries are looked at with seven points, to see how much the function's rounding is."""
SEVEN = 1e-7 * np.arange(-3, 4)
"""The places of the seven points, relative to an entry's scale."""
NUDGE = 8 * U
"""A few roundings: what moves an operand without leading it anywhere else."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The slopes of one node's entries by differences; arrays of one length, an element an entry."""

    name: str
    positions: Any
    """The entries' flat positions in the node."""
    slope: Any
    """NaN where the function is not finite."""
    bound: Any
    """What the slope's error does not exceed."""
    left: Any
    """One-sided slopes, of less accuracy."""
    right: Any
    usable: Any
    """Whether slope and bound say anything."""
    reason: str = ""
    """Why nothing is usable, where that is known beforehand."""

    def acquits(self, gradient: Any, tolerance: float = ACQUITS) -> Any:
        """Entry by entry, whether the gradient (the node's shape) is certainly the derivative, to about `tolerance`.

        False says nothing: it is no verdict against the gradient.
        """
        given = np.asarray(gradient, float).reshape(-1)[self.positions]
        with np.errstate(all="ignore"):
            near = np.abs(given - self.slope) <= self.bound
            return self.usable & near & (self.bound < tolerance * np.abs(self.slope))


def central_differences(report: Report, name: str, positions: Iterable[int] | None = None) -> Differences:
    """The slopes of the output (of seed · output, where there is a seed) in the entries of a named node.

    `positions` are the flat positions of the entries, all of them unless given.  The node is an input, or an
    intermediate node, whose value is then replaced.  KeyError if there is no node of that name.
    """
    return differences(
        report.traced.graph.nodes, report.values, report.node(name), report.output_node, report.seed, positions
    )


def differences(
    nodes: Sequence[Node],
    values: Values,
    node: Node,
    output: Node,
    seed: Any,
    positions: Iterable[int] | None = None,
) -> Differences:
    """As `central_differences`, of a graph, its forward values, and a seed in the output's shape."""
    base = np.asarray(values[node.number])
    chosen = np.arange(base.size) if positions is None else np.asarray(list(positions), dtype=np.intp)
    many = Many(nodes, values, node, output)
    reason = "the node is the output itself" if node is output else _unfit(many)
    if reason or not len(chosen):
        return _nothing(node.name, chosen, reason)
    try:
        with np.errstate(all="ignore"):
            return _Probe(many, base, seed).differences(chosen)
    except FAULTS as error:
        return _nothing(node.name, chosen, f"an operation has no value beside the point: {error}")


def _unfit(many: Many) -> str:
    """Why differences in float64 say nothing about a graph; "" if they may."""
    if many.node.dtype not in ("float64", "weak float"):
        return f"the node is {many.node.dtype}"
    for node in many.downstream:
        if node.dtype in FLOATS and node.dtype not in ("float64", "weak float"):
            return f"`{node.name}` is {node.dtype}"
        if node.op.family == "rounding" and node.op.kink:
            return f"`{node.name}` rounds, or jumps"
    if not many.downstream:
        return "the output does not depend on it"
    return ""


def _nothing(name: str, positions: Any, reason: str) -> Differences:
    nan = np.full(len(positions), np.nan)
    return Differences(
        name, positions, nan, np.full(len(positions), np.inf), nan, nan, np.zeros(len(nan), bool), reason
    )


def scales(values: Any) -> tuple[Any, Any]:
    """What steps are relative to: at first the size of an entry or of the median entry, if that is larger; then the
    entry's own size, or, where it is 0, the median size, at most 1, or 1."""
    sizes = np.abs(values)
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    median = float(np.median(sizes))
    own = np.where(sizes > 0, sizes, min(median, 1.0) if median > 0 else 1.0)
    return np.maximum(own, median), own


class _Probe:
    """Differences of one node's entries."""

    def __init__(self, many: Many, base: Any, seed: Any) -> None:
        self.many = many
        self.flat = base.reshape(-1)
        self.long, self.own = scales(self.flat)
        self.output = np.asarray(many.values[many.output.number], float)
        self.seed = np.broadcast_to(np.asarray(seed, float), self.output.shape)
        self.watch = _Branches(many)

    def changes(self, positions: Any, new: Any) -> tuple[Any, Any]:
        """How much seed · output changes where entries are replaced, and whether that passed a branch."""
        found = np.empty(len(positions))
        amiss = np.zeros(len(positions), bool)
        watch = self.watch if self.watch.watched else None
        for part in self.many.chunks(len(positions)):
            outputs, amiss[part] = self.many.entries(positions[part], new[part], watch)
            with np.errstate(all="ignore"):
                change = (outputs - self.output) * self.seed
                found[part] = change.reshape(len(change), -1).sum(axis=1)
        return found, amiss

    def differences(self, positions: Any) -> Differences:
        noise = self.noise(positions)
        found = self.slopes(positions, STEP * self.long[positions], noise)
        with np.errstate(all="ignore"):
            worth = found.bound > 2 * AMPLIFIED * noise / (SHORTER * STEP * self.own[positions])  # not rounding alone
            unsettled = np.flatnonzero(~(found.bound <= ACQUITS * np.abs(found.slope)) & worth)
        if len(unsettled):
            again = positions[unsettled]
            shorter = self.slopes(again, SHORTER * STEP * self.own[again], noise)
            better = np.flatnonzero(shorter.bound < found.bound[unsettled])
            for column in ("slope", "bound", "left", "right", "usable"):
                getattr(found, column)[unsettled[better]] = getattr(shorter, column)[better]
        return found

    def slopes(self, positions: Any, h: Any, noise: float) -> Differences:
        """The slopes with steps of h, h/2 and h/4; the bound is infinite where no bound holds."""
        x = self.flat[positions]
        new = np.stack([x + part * h for part in (1, -1, 1 / 2, -1 / 2, 1 / 4, -1 / 4)], axis=1)
        # samples of one entry stand side by side, so that a chunk holds few different places
        found, amiss = self.changes(np.repeat(positions, new.shape[1]), new.reshape(-1))
        found, amiss = found.reshape(new.shape), amiss.reshape(new.shape).any(axis=1)
        above, below = found[:, ::2], found[:, 1::2]
        length = (new[:, ::2] - new[:, 1::2]) / 2  # exact, where x + h is rounded
        slope, bound, left, right = extrapolated(above, below, length, noise)
        bound = np.where(amiss, np.inf, bound)
        usable = bound < USABLE * np.abs(slope)
        return Differences(self.many.node.name, positions, slope, bound, left, right, usable)

    def noise(self, positions: Any) -> float:
        """By how much rounding alone moves seed · output.

        At least two roundings of its terms; and four times what seven points show at a few entries.
        """
        least = 2 * U * float(np.sum(np.abs(self.seed * self.output)))
        places = positions[np.unique(np.linspace(0, len(positions) - 1, NOISE_ENTRIES).astype(int))]
        new = self.flat[places][:, None] + SEVEN * self.own[places][:, None]
        found, _ = self.changes(np.repeat(places, 7), new.reshape(-1))
        return max(least, 4 * float(np.max(rounding_seen(found.reshape(-1, 7)), initial=0.0)))


def extrapolated(above: Any, below: Any, length: Any, noise: Any) -> tuple[Any, Any, Any, Any]:
    """Slope, error bound and the one-sided slopes left and right; the bound is infinite where none holds.

    The last axis of `above`, f(x + h) − f(x), of `below`, f(x − h) − f(x), and of `length`, h, has steps of h, h/2 and
    h/4.  `noise` is how much rounding moves f.
    """
    with np.errstate(all="ignore"):
        central = (above - below) / (2 * length)
        second = (above + below) / length
        r = (4 * central[..., 1:] - central[..., :-1]) / 3
        slope = (16 * r[..., 1] - r[..., 0]) / 15
        e = second[..., :-1] - 2 * second[..., 1:]
        corner = np.abs(8 * e[..., 1] - e[..., 0]) / 7
        rounding = AMPLIFIED * noise / length[..., 0] + 4 * U * np.abs(slope)
        bound = 2 * np.abs(slope - r[..., 1]) + corner + rounding
        bound = np.where(np.isfinite(bound) & (length[..., 2] > 0), bound, np.inf)
        right = 2 * above[..., 2] / length[..., 2] - above[..., 1] / length[..., 1]
        left = below[..., 1] / length[..., 1] - 2 * below[..., 2] / length[..., 2]
    return slope, bound, left, right


def rounding_seen(found: Any) -> Any:
    """What rounding alone shows in values at seven points (the last axis) so close that nothing smooth is left.

    Sixth differences; the variance of one is 924 times that of a value.
    """
    with np.errstate(all="ignore"):
        sixth = np.abs(found @ np.array([1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0])) / 924**0.5
    return np.where(np.isfinite(sixth), sixth, 0.0)


class _Branches:
    """Looks for samples that left the branch of the point itself.

    A node of whole numbers or truth values must not change at all.  An operation with a corner or a jump may have flat
    pieces: entries that a nudge of its operands does not move.  A sample that does move them has left the piece.
    """

    def __init__(self, many: Many) -> None:
        self.flat: dict[int, Any] = {}
        for node in many.downstream:
            if node.dtype not in FLOATS:
                self.flat[node.number] = np.ones(node.shape, bool)
            elif node.op.kink:
                flat = _flat(node, many.values)
                if flat.any():
                    self.flat[node.number] = flat
        self.watched = bool(self.flat)

    def __call__(self, node: Node, batch: Batch) -> Any:
        flat = self.flat.get(node.number)
        if flat is None:
            return False
        moved = batch.differs() & batch.of(flat)
        return moved.reshape(len(batch), -1).any(axis=1)


def _flat(node: Node, values: Values) -> Any:
    """The entries of a node that do not change when its operands do, by very little."""
    value = np.asarray(values[node.number])
    flat = np.ones(value.shape, bool)
    for nudge in (NUDGE, -NUDGE):
        operands = [
            _nudged(values[o.number], nudge) if o.dtype in FLOATS and o.differentiable else values[o.number]
            for o in node.operands
        ]
        try:
            with np.errstate(all="ignore"):
                flat &= np.asarray(node.op.forward(*operands, **node.settings)) == value
        except FAULTS:
            return flat
    return flat


def _nudged(value: Any, by: float) -> Any:
    return value + by * np.where(np.equal(value, 0), 1e-80, value)

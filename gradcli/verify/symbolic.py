"""What SymPy says about the gradients of a derivation: a second reading of the forward graph.

Nothing of the reverse sweep is used.  The forward pass runs once more, on numbers that remember how they were made
(`elements`); the slope of every kind of step is asked of SymPy, and the slopes are chained in 400 bits.  Where the
whole output is one short expression, SymPy also differentiates that, which gives a closed formula to show.

SymPy says nothing where the function is not smooth, or where an operation cannot be read: a silent zero would be
worse than no answer.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, INPUT, Node
from gradcli.graph.dtypes import FLOATS, floating
from gradcli.ops.shapes import broadcast, same
from gradcli.report.report import Report
from gradcli.verify.arrays import Elements, array_of, wrapped
from gradcli.verify.elements import EQUAL, Element, Exhausted, Hit, Kind, Tape, Unreadable, close, mpmath, number_of
from gradcli.verify.elements import PRECISION as BITS
from gradcli.verify.verdict import Symbolic
from gradcli.verify.whole import SCALARS, closed_forms

OPERATIONS = 50_000
"""More operations on single numbers than this are not read."""
CORNERS = 24
"""At most so many entries of a node are looked at from both sides."""
NODE_BY_NODE, WHOLE = "node by node", "whole expression"


def read_symbolically(report: Report, names: Sequence[str], *, time_limit: float = 2.0) -> dict[str, Symbolic]:
    """For each of these nodes the derivative of the (seeded) output by SymPy, or why there is none.

    The time limit is in seconds, and holds for all of them together.
    """
    import sympy  # noqa: F401  (its import is not what the time is for)

    deadline = time.monotonic() + time_limit
    with mpmath().workprec(BITS):
        reading = Reading(report, [report.node(name) for name in names], Tape(OPERATIONS, deadline))
        try:
            reading.read()
            slopes, why = reading.tape.chained(reading.seeds())
        except Exhausted as reason:
            return {name: Symbolic(abstains=str(reason)) for name in names}
        found = {name: reading.symbolic(report.node(name), slopes, why) for name in names}
        sure = {name: s.value for name, s in found.items() if s.value is not None and not s.abstains}
        forms = closed_forms(reading, sure, deadline)
    for name, form in forms.items():
        found[name] = Symbolic(form, found[name].value, WHOLE)
    return found


class Reading:
    """The forward pass of a report in elements."""

    def __init__(self, report: Report, targets: Iterable[Node], tape: Tape) -> None:
        self.report = report
        self.tape = tape
        self.targets = {n.number: n for n in targets}
        self.needed = _needed(report.output_node, report.traced.graph.nodes)
        inputs = [n for n in self.needed if n.op is INPUT and n.differentiable]
        few = sum(math.prod(n.shape) for n in inputs) <= SCALARS
        self.inputs = [n for n in inputs if few or n.number in self.targets]
        """Those that may move: the targets, and in a small graph the others, too, so that formulas show their names."""
        self._moving = {n.number for n in self.inputs}
        self.values: dict[int, Any] = {}
        """By node: an Element (a scalar), Elements, or what NumPy has for masks and whole numbers."""
        self.doubts: dict[int, Any] = {}
        """For masks and whole numbers that rest on a comparison of equals: the places compared, entry by entry."""

    def read(self) -> None:
        """Computes every node that the output needs.  Raises Exhausted."""
        with np.errstate(all="ignore"):
            for node in self.needed:
                value = self._leaf(node) if node.leaf else self._computed(node)
                if node.number in self.targets and not node.leaf:
                    value = self._separate(value)
                self.values[node.number] = value

    def seeds(self) -> dict[int, Any]:
        """What the sweep starts from: the seed's number at each place of the output."""
        seeds: dict[int, Any] = {}
        numbers = np.broadcast_to(np.asarray(self.report.seed), self.report.output_node.shape).ravel().tolist()
        for element, seed in zip(self.elements(self.report.output_node), numbers, strict=True):
            if element.place >= 0 and seed != 0:
                seeds[element.place] = seeds.get(element.place, 0) + mpmath().mpf(seed)
        return seeds

    def elements(self, node: Node) -> list[Element]:
        """The elements of a node, in one row."""
        value = self.values[node.number]
        return [value] if type(value) is Element else [_element(e, self.tape) for e in np.ravel(value).tolist()]

    def symbolic(self, node: Node, slopes: Sequence[Any], why: dict[int, str]) -> Symbolic:
        """What was found for one node."""
        if node.number not in self.values:  # the output does not depend on it
            return Symbolic(value=np.zeros(node.shape) if node.shape else 0.0, method=NODE_BY_NODE)
        elements = self.elements(node)
        found: list[float] = []
        reasons: dict[int, str] = {}
        for at, element in enumerate(elements):
            place = element.place
            slope = slopes[place] if place >= 0 else None
            if element.number != element.number:
                hit = self.tape.how[self.tape.operands[place][0]] if place >= 0 and self.tape.operands[place] else None
                reasons[at] = hit.reason if type(hit) is Hit else "it is not a number"
            elif place in why or (slope is not None and slope != slope):
                reasons[at] = why.get(place, "the slope is not a number")
            found.append(float("nan") if at in reasons else 0.0 if slope is None else float(slope))
        corners = [e.place for at, e in enumerate(elements) if at in reasons and e.number == e.number]
        for at, number in self._through_corners(corners).items():
            where = next(k for k, e in enumerate(elements) if e.place == at)
            found[where] = number
            del reasons[where]
        reason = next(iter(reasons.values()), "")
        if reasons and len(reasons) == len(found):
            return Symbolic(abstains=reason)
        value = np.array(found).reshape(node.shape) if node.shape else found[0]
        return Symbolic(value=value, method=NODE_BY_NODE, abstains=reason)

    def _through_corners(self, places: Sequence[int]) -> dict[int, float]:
        """The slopes of those places at which corners cancel, as in relu(x) - relu(-x): both sides agree, in every
        direction that is tried."""
        if not 0 < len(places) <= CORNERS or len(places) * len(self.tape.how) > OPERATIONS or min(places) < 0:
            return {}
        seeds, one = self.seeds(), mpmath().one
        found: dict[int, Any] = {}
        for place in places:
            right, left = self.tape.towards({place: one}, seeds), self.tape.towards({place: -one}, seeds)
            if right is not None and left is not None and close(right, -left):
                found[place] = right
        for step in (3, 5) if len(found) > 1 else ():
            direction = {p: one * ((k * step) % 7 - 3 or 4) for k, p in enumerate(found)}
            slope = self.tape.towards(direction, seeds)
            straight = sum(found[p] * d for p, d in direction.items())
            if slope is None or not (close(slope, straight) or abs(slope - straight) < abs(slope) * 2.0**-300):
                return {}
        return {place: float(slope) for place, slope in found.items()}

    # Leaves ----------------------------------------------------------------------------------------

    def _leaf(self, node: Node) -> Any:
        value = self.report.values[node.number]
        if node.dtype not in FLOATS:
            return value
        self.tape.step(max(1, int(np.size(value))))
        numbers = map(mpmath().mpf, np.asarray(value, float).ravel().tolist())
        moves = node.number in self._moving
        made = [self.tape.leaf(n) if moves else Element(n, -1, self.tape) for n in numbers]
        return array_of(made, node.shape) if node.shape else made[0]

    def _separate(self, value: Any) -> Any:
        """The same numbers at places of their own, by which one may differentiate."""
        if type(value) is Element:
            return self.tape.copy(value)
        if not isinstance(value, Elements):
            return value
        return array_of([self.tape.copy(_element(e, self.tape)) for e in value.ravel().tolist()], value.shape)

    # Operations ------------------------------------------------------------------------------------

    def _computed(self, node: Node) -> Any:
        operands = self._operands(node)
        if not node.differentiable and not any(_moves(o) for o in operands):
            doubts = [self.doubts[o.number] for o in node.operands if o.number in self.doubts]
            if doubts:
                self.doubts[node.number] = _spread(doubts, node.shape)
            if node.dtype not in FLOATS:
                return self.report.values[node.number]
            if doubts:
                return self._leaf(node)
        if node.dtype in FLOATS and _said_by_entry(node):
            return self._by_entry(node, operands)
        return self._forward(node, operands)

    def _operands(self, node: Node) -> list[Any]:
        """The operands' values; those to which no gradient flows by design are numbers that do not move."""
        flows = {slot for slot, _ in node.op.passing(node.operands)}
        kinds = node.op.operand_kinds
        values = []
        for slot, operand in enumerate(node.operands):
            value = self.values[operand.number]
            if slot < len(kinds) and kinds[slot] in ("labels", "indices"):
                value = self.report.values[operand.number]
            elif slot not in flows and node.dtype in FLOATS:
                value = _still(value, self.tape)
            if operand.op is CONSTANT and node.dtype in ("float32", "float16") and operand.dtype == "weak float":
                value = Element(mpmath().mpf(float(np.dtype(node.dtype).type(operand.data))), -1, self.tape)
            values.append(value)
        return values

    def _by_entry(self, node: Node, operands: Sequence[Any]) -> Any:
        """An operation that its block says in SymPy's words for one entry."""
        if not node.shape and not self.doubts and node.op.operand_kinds == ():
            return _kind(node, ())(*[_element(o, self.tape) for o in operands])
        masks = [
            slot
            for slot, o in enumerate(node.operands)
            if o.dtype == "bool" and node.op.operand_kinds[slot : slot + 1] == ("mask",)
        ]
        doubts = [np.broadcast_to(d, node.shape) for o in node.operands if (d := self.doubts.get(o.number)) is not None]
        stretched = [np.broadcast_to(_plain(o), node.shape) for o in operands]
        made: list[Element] = []
        for at in np.ndindex(*node.shape):
            entries = [s[at] for s in stretched]
            chosen = tuple((slot, bool(entries[slot])) for slot in masks)
            numbers = [_element(e, self.tape) for slot, e in enumerate(entries) if slot not in masks]
            element = _kind(node, chosen)(*numbers)
            unsure = [p for d in doubts if d[at] for p in d[at]]
            if unsure:
                places = [*unsure, *(n.place for n in numbers)]
                element = self.tape.hit(element.number, Hit(EQUAL), places)
            made.append(element)
        return array_of(made, node.shape) if node.shape else made[0]

    def _forward(self, node: Node, operands: Sequence[Any]) -> Any:
        """An operation by its own forward pass."""
        tape = self.tape
        tape.notes.clear()
        try:
            value = self._run(node, operands)
            if tape.notes and node.shape and node.op.shape in (same, broadcast):
                return self._one_by_one(node, operands)
        except Exhausted:
            raise
        except Unreadable as reason:
            return self._unread(node, operands, str(reason))
        except Exception as error:  # whatever NumPy says of objects it does not know
            return self._unread(node, operands, f"{node.op.name} cannot be read as a formula ({type(error).__name__})")
        unsure = [p for _, places in tape.notes for p in places]
        for operand in node.operands:
            if operand.number in self.doubts:
                unsure += [p for entry in self.doubts[operand.number].ravel().tolist() if entry for p in entry]
        if not unsure:
            return value
        return self._doubted(node, value, unsure, tape.notes[0][0] if tape.notes else EQUAL)

    def _run(self, node: Node, operands: Sequence[Any]) -> Any:
        arguments = [
            np.asarray(o, float)[()] if n.dtype == "bool" and node.op.dtype is floating else wrapped(o)
            for o, n in zip(operands, node.operands, strict=True)
        ]
        value = node.op.forward(*arguments, **node.settings)
        if node.dtype not in FLOATS:
            value = np.asarray(value)
            if value.dtype == object:
                raise Unreadable(f"{node.op.name} does not give {node.dtype} of elements")
            return value[()]
        array = np.asarray(value)
        if array.shape != node.shape:
            raise Unreadable(f"{node.op.name} gives another shape")
        made = [_element(e, self.tape) for e in array.ravel().tolist()]
        return array_of(made, node.shape) if node.shape else made[0]

    def _one_by_one(self, node: Node, operands: Sequence[Any]) -> Any:
        """Entry by entry, so that an entry on a corner spoils no other."""
        stretched = [np.broadcast_to(_plain(o), node.shape) for o in operands]
        made, doubts = [], np.full(node.shape, None, object)
        known = [(o.number, self.doubts[o.number]) for o in node.operands if o.number in self.doubts]
        old = [np.broadcast_to(d, node.shape) for _, d in known]
        for at in np.ndindex(*node.shape):
            self.tape.notes.clear()
            arguments = [
                float(s[at]) if n.dtype == "bool" and node.op.dtype is floating else wrapped(s[at])
                for s, n in zip(stretched, node.operands, strict=True)
            ]
            entry = np.asarray(node.op.forward(*arguments, **node.settings)).item()
            unsure = [p for _, places in self.tape.notes for p in places]
            unsure += [p for d in old if d[at] for p in d[at]]
            if unsure:
                doubts[at] = tuple(unsure)
                if node.dtype in FLOATS:
                    reason = self.tape.notes[0][0] if self.tape.notes else EQUAL
                    entry = self._hit(_element(entry, self.tape), reason, unsure)
            made.append(entry)
        if node.dtype in FLOATS:
            return array_of([_element(e, self.tape) for e in made], node.shape)
        self.doubts[node.number] = doubts
        return np.array(made).reshape(node.shape)

    def _doubted(self, node: Node, value: Any, unsure: Sequence[int], reason: str) -> Any:
        """A value that rests on a choice between equals: no entry of it has a slope."""
        if node.dtype not in FLOATS:
            doubts = np.full(node.shape, None, object)
            for at in np.ndindex(*node.shape):
                doubts[at] = tuple(unsure)
            self.doubts[node.number] = doubts
            return value
        if type(value) is Element:
            return self._hit(value, reason, unsure)
        return array_of([self._hit(e, reason, unsure) for e in value.ravel().tolist()], node.shape)

    def _hit(self, element: Element, reason: str, places: Sequence[int]) -> Element:
        return self.tape.hit(element.number, Hit(reason), [*places, element.place])

    def _unread(self, node: Node, operands: Sequence[Any], reason: str) -> Any:
        """An operation that cannot be read: its numbers are NumPy's, its slopes unknown."""
        places = [
            e.place for o in operands for e in np.ravel(_plain(o)).tolist() if type(e) is Element and e.place >= 0
        ]
        for operand in node.operands:
            if operand.number in self.doubts:
                places += [p for entry in self.doubts[operand.number].ravel().tolist() if entry for p in entry]
        value = self.report.values[node.number]
        if node.dtype not in FLOATS:
            return self._doubted(node, value, places, reason) if places else value
        hit = Hit(reason)
        made = [self.tape.hit(mpmath().mpf(v), hit, places) for v in np.asarray(value, float).ravel().tolist()]
        return array_of(made, node.shape) if node.shape else made[0]


_KINDS: dict[Any, Kind] = {}


def _kind(node: Node, chosen: tuple[tuple[int, bool], ...]) -> Kind:
    """An operator's SymPy form, with these values of its masks; made once."""
    settings = _chosen_settings(node)
    key = (node.op, chosen, len(node.operands), *settings.items())
    kind = _KINDS.get(key)
    if kind is None:
        given = dict(chosen)
        form, count = node.op.sympy, len(node.operands)
        assert form is not None

        def build(sympy: Any, *symbols: Any) -> Any:
            rest = iter(symbols)
            words = [(sympy.true if given[k] else sympy.false) if k in given else next(rest) for k in range(count)]
            return form(sympy, *words, **settings)

        kind = _KINDS[key] = Kind(build, count - len(given))
    return kind


def _chosen_settings(node: Node) -> dict[str, Any]:
    return {k: v for k, v in node.settings.items() if v != node.op.settings[k].default} if node.data else {}


def _said_by_entry(node: Node) -> bool:
    """Whether the block has a SymPy form for this very operation: one form need not know every setting."""
    form = node.op.sympy
    if form is None:
        return False
    settings = _chosen_settings(node)
    if not settings:
        return True
    try:
        inspect.signature(form).bind(None, *node.operands, **settings)
    except TypeError:
        return False
    return True


def _needed(output: Node, nodes: Sequence[Node]) -> list[Node]:
    """The nodes on which the output depends, in the order of writing."""
    marks = bytearray(output.number + 1)
    marks[output.number] = 1
    for node in reversed(nodes[: output.number + 1]):
        if marks[node.number]:
            for operand in node.operands:
                marks[operand.number] = 1
    return [n for n in nodes[: output.number + 1] if marks[n.number]]


def _plain(value: Any) -> Any:
    """A value as a plain array."""
    if type(value) is Element:
        array = np.empty((), object)
        array[()] = value
        return array
    return value.view(np.ndarray) if isinstance(value, Elements) else np.asarray(value)


def _element(value: Any, tape: Tape) -> Element:
    if isinstance(value, np.ndarray):
        value = value.item()
    return value if type(value) is Element else Element(number_of(value), -1, tape)


def _moves(value: Any) -> bool:
    if type(value) is Element:
        return value.place >= 0
    if isinstance(value, Elements):
        return any(type(e) is Element and e.place >= 0 for e in value.ravel().tolist())
    return False


def _still(value: Any, tape: Tape) -> Any:
    """The same numbers, depending on nothing."""
    if type(value) is Element:
        return Element(value.number, -1, tape) if value.place >= 0 else value
    if isinstance(value, Elements) and _moves(value):
        return array_of([Element(number_of(e), -1, tape) for e in value.ravel().tolist()], value.shape)
    return value


def _spread(doubts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Doubts about operands as doubts about a result: entry by entry where the shapes allow it, else about all."""
    result = np.full(shape, None, object)
    try:
        stretched = [np.broadcast_to(d, shape) for d in doubts]
    except ValueError:
        everything = tuple(p for d in doubts for entry in d.ravel().tolist() if entry for p in entry)
        stretched = [np.full(shape, None, object)]
        for at in np.ndindex(*shape):
            stretched[0][at] = everything or None
    for at in np.ndindex(*shape):
        result[at] = tuple(p for s in stretched if s[at] for p in s[at]) or None
    return result

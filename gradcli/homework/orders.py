"""Orders of the reverse sweep: whether every node waits for its consumers, and what happens if one does not."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import CONSTANT, INPUT, Node
from gradcli.homework.compare import same
from gradcli.homework.mark import State, Verdict
from gradcli.homework.sheet import Line, Sheet

MOST_ENTRIES = 12
"""A tensor of more entries than this is not written out in a note."""


def state(sheet: Sheet, line: Line) -> State:
    """The verdict on an order.

    Nodes without a name are contracted: what they pass on, the named node above them passes on.
    """
    listed, repeated = _nodes(sheet, line.order)
    order = _Order(sheet, listed)
    given = list(line.order)
    early, missing = order.early(), order.missing()
    faults = [f"`{name}` is listed more often than it is defined" for name in repeated]
    faults += early
    if missing:
        faults.append(f"{_several(missing)} {'is' if len(missing) == 1 else 'are'} not listed")
    if not faults:
        return State(Verdict.RIGHT, [], given=given, expected=given)
    wrong, would_give = order.gradients()
    notes = [*faults[:1], *faults[1:3]]
    if wrong:
        notes += [f"this order would give {text}" for text in wrong[:3]]
    else:
        notes.append("the gradients of the inputs would still be right")
    found = State(Verdict.WRONG, [], notes=notes, given=given, expected=order.mended(), would_give=would_give)
    found.kind = "a name is listed too often" if repeated else "a node is missing"
    if early:
        found.kind = "a node comes before one of its consumers"
        name = early[0].split("`")[1]
        found.span = line.places.get((line.order.index(name), -1)) if name in line.order else None
    return found


def _nodes(sheet: Sheet, names: Iterable[str]) -> tuple[list[Node], list[str]]:
    """The nodes that names stand for; a name that is defined several times means its last definition first."""
    by_name = {n.name: n for n in sheet.forward if n.op is not CONSTANT}
    met: dict[str, int] = {}
    nodes, repeated = [], []
    for name in names:
        times = met[name] = met.get(name, 0) + 1
        earlier = sum(f"{name}'{k}" in by_name for k in range(1, len(by_name) + 1)) if times > 1 else 0
        node = by_name[name] if times == 1 else by_name.get(f"{name}'{earlier - times + 2}")
        if node is None:
            repeated.append(name)
        else:
            nodes.append(node)
    return nodes, repeated


class _Order:
    """Nodes in the order in which a student visits them."""

    def __init__(self, sheet: Sheet, listed: list[Node]) -> None:
        self.sheet = sheet
        self.listed = listed
        self.point = sheet.report
        order = sheet.order_of(sheet.output)
        self.live = {n.number for n in order}
        kept = {n.number for n in listed}
        inner = sheet.report.traced.inner
        self.named = {n.number for n in order if n.number not in inner or n.number in kept or n is sheet.output}
        self.nodes = order
        self.consumers: dict[int, list[Node]] = {n: [] for n in self.named}
        for node in order:
            if node.number in self.named:
                for below in self._below(node):
                    self.consumers[below.number].append(node)

    def _passes(self, node: Node) -> list[tuple[int, Node]]:
        return [(s, o) for s, o in node.op.passing(node.operands) if o.number in self.live]

    def _below(self, node: Node) -> list[Node]:
        """The named nodes to which a node passes something on, perhaps through nodes without a name."""
        found: dict[int, Node] = {}
        stack = [o for _, o in self._passes(node)]
        seen: set[int] = set()
        while stack:
            each = stack.pop()
            if each.number in seen:
                continue
            seen.add(each.number)
            if each.number in self.named:
                found[each.number] = each
            else:
                stack.extend(o for _, o in self._passes(each))
        return list(found.values())

    def early(self) -> list[str]:
        """The nodes that come before one of their consumers, in words."""
        done: set[int] = set()
        faults = []
        for node in self.listed:
            consumers = sorted(self.consumers.get(node.number, ()), key=lambda n: n.number)
            waits = [c.name for c in consumers if c.number not in done]
            if waits:
                faults.append(f"`{node.name}` comes before its consumer{'s' * (len(waits) > 1)} {_several(waits)}")
            done.add(node.number)
        return faults

    def missing(self) -> list[str]:
        """The definitions on the way from the output that are not listed; inputs may be left out."""
        listed = {n.number for n in self.listed}
        return [n.name for n in self.nodes if n.number in self.named - listed and n.op is not INPUT]

    def mended(self) -> list[str]:
        """A valid order that is as near to this one as can be."""
        place = {n.number: k for k, n in enumerate(self.listed)}
        nodes = {n.number: n for n in self.nodes if n.number in self.named}
        wanted = [n for n in nodes.values() if n.number in place or n.op is not INPUT]
        waiting = {n.number: len(self.consumers[n.number]) for n in wanted}
        ready = [(place.get(n.number, n.number - 10**9), n.number) for n in wanted if not waiting[n.number]]
        heapq.heapify(ready)
        names = []
        while ready:
            node = nodes[heapq.heappop(ready)[1]]
            names.append(node.name)
            for below in self._below(node):
                if below.number in waiting:
                    waiting[below.number] -= 1
                    if not waiting[below.number]:
                        heapq.heappush(ready, (place.get(below.number, len(place)), below.number))
        return names

    def gradients(self) -> tuple[list[str], dict[str, Any]]:
        """What the inputs receive if every listed node passes on what it holds at its turn: those that are wrong, in
        words, and all by name."""
        report = self.sheet.report
        held: dict[int, Any] = {self.sheet.output.number: report.seed}
        with np.errstate(all="ignore"):
            for node in self.listed:
                if node.number in held:
                    self._push(node, held)
        wrong, all_gradients = [], {}
        for node in self.nodes:
            if node.op is not INPUT:
                continue
            zero = np.zeros(node.shape) if node.shape else 0.0
            found, right = held.get(node.number, zero), report.sweep.gradients[node.number]
            all_gradients[node.name] = found
            if not same(found, right):
                name = f"d{self.sheet.output.name}/d{node.name}"
                wrong.append(f"{name} = {_short(found)} instead of {_short(right)}")
        return wrong, all_gradients

    def _push(self, node: Node, held: dict[int, Any]) -> None:
        """Sends what a node holds to the named nodes below it."""
        values = self.sheet.report.values
        passing = {node.number: held[node.number]}
        queue = [-node.number]
        while queue:
            number = -heapq.heappop(queue)
            each = self.sheet.graph.nodes[number]
            operands = [values[o.number] for o in each.operands]
            for slot, operand in self._passes(each):
                c = contribution(each, slot, passing[number], values[number], operands)
                there = held if operand.number in self.named else passing
                if there is passing and operand.number not in passing:
                    heapq.heappush(queue, -operand.number)
                there[operand.number] = there[operand.number] + c if operand.number in there else c


def _several(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _short(value: Any) -> str:
    """A value on one line, to four digits; a large one by its shape."""
    if np.size(value) > MOST_ENTRIES:
        return f"a tensor of shape {np.shape(value)}"
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return f"[{', '.join(map(_short, value))}]" if isinstance(value, list) else f"{value + 0.0:.4g}"

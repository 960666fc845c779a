"""Single edits of one rule of the right sweep that give the student's value.

The sweep is written out around the target only: from the gradients that the line uses, or from a few nodes further on
whose true gradients are known, down to the target.  Every contribution is a part of its own, so that an edit changes
one rule and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.differentiate import contribution
from gradcli.graph import CONSTANT, Node
from gradcli.graph.op import ShapeError
from gradcli.homework.naming.edits import (
    AT,
    DIVIDE,
    FACTORS,
    NEGATIVE,
    OPPOSITE,
    PLUS,
    POWER,
    PRODUCTS,
    SUMS,
    TIMES,
    Change,
    edits_of_step,
    is_function,
    is_mask,
    is_number,
    keeps_shape,
    made_of,
)
from gradcli.homework.naming.line import Edit, Line
from gradcli.homework.naming.question import Question
from gradcli.homework.naming.tape import Computed, Made, Tape
from gradcli.ops.arrange import transpose
from gradcli.problems import slips

LEVELS = 3
"""How many named nodes the sweep is written out beyond the target."""

MOST_NODES = 120
A_LEVEL = 0.3
DIAGONAL_ENTRIES = 512

Part = tuple[int, int]
"""A contribution: the number of the consumer, and the slot."""


class Sweep:
    """The right sweep around the target, as a tape."""

    def __init__(self, question: Question, surroundings: Sequence[Mapping[int, Any]]) -> None:
        self.question = question
        self.tape = Tape()
        self.levels: dict[Part, int] = {}
        self.edges: dict[Part, int] = {}
        """The step of every contribution."""
        self.gradient: dict[int, int] = {}
        """The step of every node's gradient, by number."""
        self.nodes: dict[int, Node] = {}
        self.steps: dict[Part, list[int]] = {}
        cut = {r.of.number for r in question.references if r.of is not None}
        if question.root is not None:
            used = _leaves(question.root)
            cut = {r.of.number for r in question.references if r.of is not None and id(r.leaf) in used}
        self.complete = False
        self.surroundings = surroundings
        self._all_values: list[list[Any] | None] | None = None
        if question.whole:
            interior, level = self._region(cut)
            self.complete = self._write(interior, level)
        self.masking = {part for part in self.edges if self._masks(part)}

    def _region(self, cut: set[int]) -> tuple[list[Node], dict[int, int]]:
        """The nodes whose gradients are written out, and at which level each one is."""
        scene, target = self.question.scene, self.question.target
        level = {target.number: 0}
        interior = [target]
        nodes = {target.number: target}
        waiting = [target]
        seen = {target.number}
        while waiting:
            node = min(waiting, key=lambda n: n.number)
            waiting.remove(node)
            nodes[node.number] = node
            here = level[node.number]
            for consumer in scene.consumers(node):
                if self._gradient_known(consumer) is None:
                    continue
                further = here + (scene.named(consumer))
                level[consumer.number] = min(level.get(consumer.number, further), further)
                if consumer.number in seen:
                    continue
                seen.add(consumer.number)
                nodes[consumer.number] = consumer
                within = further <= LEVELS and len(interior) < MOST_NODES
                if within and consumer.number not in cut and consumer is not scene.output:
                    interior.append(consumer)
                    waiting.append(consumer)
        self.nodes = nodes
        return interior, level

    def _gradient_known(self, node: Node) -> Any:
        return self.question.points[0].gradients.get(node.number)

    def _write(self, interior: Sequence[Node], level: Mapping[int, int]) -> bool:
        scene, tape, target = self.question.scene, self.tape, self.question.target
        inside = {n.number for n in interior}
        forward = {id(n) for n in scene.nodes if scene.named(n) or n.op not in PRODUCTS}
        for number in sorted(self.nodes, reverse=True):
            node = self.nodes[number]
            if number not in inside or node is scene.output:
                self.gradient[number] = tape.leaf(scene.symbol(node))
                continue
            arrived: list[int] = []
            for consumer in scene.consumers(node):
                if consumer.number not in self.gradient:
                    continue
                for slot, operand in consumer.op.passing(consumer.operands):
                    if operand is not node:
                        continue
                    part = (consumer.number, slot)
                    rule = scene.rule(consumer, slot)
                    if rule is None:
                        return False
                    upstream = {id(scene.symbol(consumer)): self.gradient[consumer.number]}
                    first = len(tape.steps)
                    result = tape.write(rule, lambda n: id(n) in forward, part, upstream, shared=True)
                    self.steps[part] = list(range(first, len(tape.steps)))
                    # a level is counted from the target: the rule of its own consumers is at level 0
                    self.levels[part] = max(0, level[number])
                    self.edges[part] = tape.step(None, (result,), {}, part)
                    arrived.append(self.edges[part])
            if not arrived:
                return False
            total = arrived[0]
            for other in arrived[1:]:
                total = tape.step(PLUS, (total, other), {})
            if len(arrived) == 1:
                total = tape.step(None, (total,), {})
            tape.steps[total].stands_for = scene.symbol(node)
            self.gradient[number] = total
        return self.gradient[target.number] == tape.root

    def _masks(self, part: Part) -> bool:
        """Whether a rule is no more than a mask."""
        return any(
            (s := self.tape.steps[i]).op in OPPOSITE or (s.node is not None and s.node.dtype == "bool")
            for i in self.steps[part]
        )

    def node(self, part: Part) -> Node:
        """The consumer that sends a contribution."""
        return self.nodes[part[0]]

    # Edits -------------------------------------------------------------------------------------------------

    def edits(self, values: Sequence[Any], line: Line | None) -> Iterator[Edit]:
        """Every edit of one rule; then the same edit at every operator of a kind."""
        alike: dict[Any, list[Edit]] = {}
        for part in self.edges:
            consumer = self.node(part)
            for count, edit in enumerate(self._of_part(part, values, line)):
                yield edit
                alike.setdefault((consumer.op, part[1], edit.kind, count), []).append(edit)
        for same in alike.values():
            if len(same) > 1 and len({e.slip.name for e in same}) == 1:
                changes = {at: made for e in same for at, made in e.changes.items()}
                yield Edit(min(e.rank for e in same) + 0.1, same[0].slip, changes, same[0].kind, same[0].part)
        for number, step in self.gradient.items():
            node = self.nodes[number]
            if node is self.question.target or number == self.question.scene.output.number:
                continue
            level = self._level_of(number)
            if self.tape.steps[step].node is None or len(self.nodes) > 2:
                zero = Made(TIMES, (0.0, step))
                yield Edit(2.05 + A_LEVEL * level, slips.MISSING_PATH, {step: zero}, "held", number)
            if self.tape.steps[step].node is not None:
                ones = np.ones(node.shape) if node.shape else 1.0
                yield Edit(2.1 + A_LEVEL * level, slips.MISSING_UPSTREAM, {step: ones}, "upstream", number)

    def _level_of(self, number: int) -> int:
        return min((lv for (n, _), lv in self.levels.items() if n == number), default=LEVELS)

    def _of_part(self, part: Part, values: Sequence[Any], line: Line | None) -> Iterator[Edit]:
        """The edits of one contribution."""
        base = 2.0 + A_LEVEL * self.levels[part]
        edge = self.edges[part]
        nothing = Made(TIMES, (0.0, edge))
        node = self.node(part)
        if node.operands.count(node.operands[part[1]]) > 1:  # x * x: one of two equal contributions is half of them
            yield Edit(base, slips.CONSTANT, {edge: nothing}, "half", part)
        else:
            yield Edit(base, slips.MISSING_PATH, {edge: nothing}, "edge", part)
        yield from self._whole(part, base, values)
        yield Edit(base + 0.3, slips.SIGN, {edge: Made(NEGATIVE, (edge,))}, "sign", part)
        if np.ndim(values[edge]) == 2:
            yield Edit(base + 0.1, slips.EXTRA_TRANSPOSE, {edge: Made(transpose, (edge,))}, "transpose", part)
        for factor in self._lengths(values[edge]):
            yield Edit(base + 0.4, slips.CONSTANT, {edge: Made(TIMES, (factor, edge))}, "constant", part)
        exponents = {self.tape.steps[i].operands[1] for i in self.steps[part] if self.tape.steps[i].op is POWER}
        upstream = self.gradient[part[0]]
        for at in self.steps[part]:
            if at in exponents:
                continue
            for change in edits_of_step(self.tape, at, values):
                slip, late = self._named(change, at, upstream, values, part)
                yield Edit(base + change.making + late, slip, {at: change.made}, change.kind, part)
            if self.tape.steps[at].node is not None:
                yield from self._other_names(part, at, base, line)

    def _lengths(self, value: Any) -> tuple[float, ...]:
        lengths = {float(n) for n in (*np.shape(value), np.size(value)) if n > 2}
        return tuple(x for n in sorted(lengths) for x in (n, 1 / n))

    def _named(
        self, change: Change, at: int, upstream: int, values: Sequence[Any], part: Part
    ) -> tuple[slips.Slip, float]:
        """What an edit of a rule makes, and how much later it comes for that.

        A lost factor is the upstream gradient, a mask, a constant or a local gradient.  `x @ A` of a vector is A.T @ x:
        what is a transpose too many in the one is one too few in the other.
        """
        if change.kind == "transpose":
            for user in self.steps[part]:
                step = self.tape.steps[user]
                if step.op is AT and step.operands[1] == at and np.ndim(values[step.operands[0]]) == 1:
                    missing = change.makes is slips.EXTRA_TRANSPOSE
                    return slips.MISSING_TRANSPOSE if missing else slips.EXTRA_TRANSPOSE, 0.0
        if change.kind != "factor" or type(change.made) is not int:
            return change.makes, 0.0
        for lost in self.tape.steps[at].operands:
            if lost == change.made:
                continue
            if self._settled(lost):
                return slips.CONSTANT, 0.3
            if is_mask(values[lost]):
                return slips.MISSING_MASK, 0.0
            if lost == upstream or upstream in self._below(lost):
                return slips.MISSING_UPSTREAM, 0.0 if self._is_product(lost, upstream) else 2.0
        return change.makes, 0.0

    def _settled(self, at: int) -> bool:
        """Whether every entry of a step is one number whatever the inputs are, such as a gradient that is 1/N."""
        if self._all_values is None:
            self._all_values = [self.tape.values(p) for p in self.surroundings]
        values = [np.ravel(np.asarray(v[at], float)) for v in self._all_values if v is not None]
        if len(values) < 2 or not values[0].size:
            return False
        first = values[0][0]
        return all(bool(np.all(np.abs(v - first) <= 1e-9 * abs(first))) for v in values)

    def _is_product(self, at: int, upstream: int) -> bool:
        """Whether the upstream gradient enters a step by products alone."""
        while at != upstream:
            step = self.tape.steps[at]
            inside = [o for o in step.operands if o == upstream or upstream in self._below(o)]
            if step.op not in (TIMES, DIVIDE, NEGATIVE, None) or len(inside) != 1:
                return False
            at = inside[0]
        return True

    def _below(self, at: int) -> set[int]:
        found: set[int] = set()
        stack = [at]
        while stack:
            for operand in self.tape.steps[stack.pop()].operands:
                if operand not in found:
                    found.add(operand)
                    stack.append(operand)
        return found

    def _whole(self, part: Part, base: float, values: Sequence[Any]) -> Iterator[Edit]:
        """Edits of a rule as a whole: without its local gradient, without what arrives, at the wrong node."""
        number, slot = part
        node, edge = self.node(part), self.edges[part]
        operand = node.operands[slot]
        upstream = self.gradient[number]
        trivial = values[edge] is values[upstream]
        if not trivial:
            others = [o for at, o in enumerate(node.operands) if at != slot]
            number = node.op in FACTORS and all(o.op is CONSTANT for o in others)
            slip = slips.MISSING_MASK if part in self.masking else slips.CONSTANT if number else slips.MISSING_LOCAL
            if node.shape == operand.shape:
                yield Edit(base + 0.3 * number, slip, {edge: upstream}, "local", part)
            ones = np.ones(node.shape) if node.shape else 1.0
            settled = self._settled(upstream)
            slip = slips.CONSTANT if settled else slips.MISSING_UPSTREAM
            yield Edit(base + 0.1 + 0.3 * settled, slip, {edge: self._rule(part, {"g": ones})}, "upstream", part)
        small = np.ndim(values[edge]) > 0 and np.size(values[edge]) <= DIAGONAL_ENTRIES
        mixes = node.op.scalar is None and small and keeps_shape(node)
        if mixes and (diagonal := self._diagonal(node, slot)) is not None:
            yield Edit(1.2, slips.SOFTMAX_DIAGONAL, {edge: Made(TIMES, (upstream, diagonal))}, "diagonal", part)
        if not is_function(node.op):
            return
        yield Edit(base + 0.1, slips.DERIVATIVE_AT_WRONG_NODE, {edge: self._rule(part, {"y": operand})}, "at", part)
        yield Edit(base + 0.12, slips.DERIVATIVE_AT_WRONG_NODE, {edge: self._rule(part, {"x": node})}, "at", part)
        function = Made(TIMES, (upstream, node))
        yield Edit(base + 0.1, slips.FUNCTION_FOR_DERIVATIVE, {edge: function}, "function", part)

    def _rule(self, part: Part, other: Mapping[str, Any]) -> Computed:
        """The rule of a contribution with another upstream gradient (`g`), value (`y`) or operand (`x`)."""
        node, slot = self.node(part), part[1]
        symbol = self.question.scene.symbol(node)

        def compute(at: Mapping[int, Any]) -> Any:
            g = other["g"] if "g" in other else at[id(symbol)]
            y = at[id(other.get("y", node))]
            operands = [_value(o, at) for o in node.operands]
            if "x" in other:
                operands[slot] = at[id(other["x"])]
            return contribution(node, slot, g, y, operands)

        return Computed(compute, symbol)

    def _diagonal(self, node: Node, slot: int) -> Computed | None:
        """The diagonal of the Jacobian of a function that is none entry by entry; None if it is one."""
        scene = self.question.scene
        at = self.question.points[0].values
        try:
            operands = [_value(o, at) for o in node.operands]
            row = np.zeros(node.shape)
            row.flat[0] = 1.0
            sent = np.asarray(contribution(node, slot, row, at[id(node)], operands))
            if np.count_nonzero(sent.ravel()[1:]) == 0:
                return None
        except (ArithmeticError, ValueError, KeyError, ShapeError):
            return None

        def compute(at: Mapping[int, Any]) -> Any:
            operands = [_value(o, at) for o in node.operands]
            diagonal = np.zeros(node.shape)
            for entry in range(diagonal.size):
                one = np.zeros(node.shape)
                one.flat[entry] = 1.0
                diagonal.flat[entry] = np.asarray(contribution(node, slot, one, at[id(node)], operands)).flat[entry]
            return diagonal

        return Computed(compute, scene.symbol(node))

    def _made(self, local: Node) -> Any:
        return made_of(local, {}, len(self.question.scene.nodes))

    def _other_names(self, part: Part, at: int, base: float, line: Line | None) -> Iterator[Edit]:
        """Another name in the place of an operand of the rule."""
        node = self.tape.steps[at].node
        assert node is not None
        if node.op is CONSTANT or is_number(self.tape, at):
            return
        for name in line.pool if line is not None else ():
            if name.leaf is node or name.leaf.shape != node.shape:
                continue
            slip = slips.GRADIENT_FOR_VALUE if name.gradient else slips.WRONG_OPERAND
            nearby = name.node is not None and (node in name.node.operands or name.node in node.operands)
            if name.node in node.operands and not name.gradient and not self.question.scene.named(node):
                slip = slips.MISSING_TERM if node.op in SUMS else slips.MISSING_LOCAL if node.op in FACTORS else slip
            yield Edit(base + (0.35 if nearby else 2.1), slip, {at: name.leaf}, "name", part)
        if node.operands and is_function(node.op):
            local = self.question.scene.local(node, 0)
            if local is not None and local.op is not CONSTANT:
                yield Edit(base + 0.3, slips.DERIVATIVE_FOR_FUNCTION, {at: self._made(local)}, "derivative", part)


def _leaves(root: Node) -> set[int]:
    """The `id` of every node that a formula is made of."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.operands)
    return seen


def _value(node: Node, at: Mapping[int, Any]) -> Any:
    return node.data if node.op is CONSTANT else at[id(node)]

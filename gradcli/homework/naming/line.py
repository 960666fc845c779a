"""Single edits of the student's own line that make it right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.homework.naming.edits import (
    AT,
    CONSTANTS,
    DIVIDE,
    FACTORS,
    MINUS,
    NEGATIVE,
    OPPOSITE,
    PLUS,
    POWER,
    PRODUCTS,
    SUMS,
    TIMES,
    edits_of_step,
    is_function,
    is_number,
    is_reduction,
    made_of,
    sums_around,
)
from gradcli.homework.naming.question import Question, Reference
from gradcli.homework.naming.tape import Made, Tape
from gradcli.ops.arrange import index
from gradcli.ops.rearrange import flip
from gradcli.ops.reduce import mean
from gradcli.problems import slips
from gradcli.problems.slips import Slip


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """One candidate: the change of one step (or the same change of several), the slip it means and its rank."""

    rank: float
    slip: Slip
    changes: dict[int, Any]
    kind: str = ""
    part: Any = None


MOST_CUTS = 24
"""So many parts of a tensor are tried."""

MOST_NAMES = 120
"""So many names are tried in the place of others."""

VANISHING = 1e-12
"""Numbers of a generic point that are no larger are 0 but for rounding."""

REPEATED = (
    "derivative",
    "derivative at its value",
    "function",
    "exponent",
    "transpose",
    "mask",
    "mean",
    "axis",
    "flip",
)
"""The kinds of edits that somebody may have to make more than once in a line, for one misunderstanding."""


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """Something that a line may refer to: the value of a node, the gradient of one, a helper."""

    leaf: Node
    gradient: bool
    node: Node | None
    reference: Reference | None = None


class Line:
    """The student's line as a tape, and what may stand in it."""

    def __init__(self, question: Question, at: Mapping[int, Any]) -> None:
        assert question.root is not None
        self.question = question
        self.at = at
        scene = question.scene
        self.references = {id(r.leaf): r for r in question.references}
        forward = {id(n) for n in scene.nodes}
        self.tape = Tape()
        self.helpers: dict[int, int] = {}
        """The step of every helper that is written out, by the index of its line."""
        known = self._helpers(forward) if question.inlined else {}
        first = len(self.tape.steps)
        root = self.tape.write(question.root, lambda n: id(n) in self.references or id(n) in forward, None, dict(known))
        if root < first:
            self.tape.step(None, (root,), {})
        self.pool = self._nearest([name for name in self._names() if not self._vanishes(name)])
        self.frozen = self._exponents()
        self.factors = self._factors()
        self.constants = self._numbers()
        self.flips = any(n.op.family == "convolution" for n in question.scene.nodes)
        self._cuts: dict[int, set[tuple[int, int]]] = {}

    def _helpers(self, forward: set[int]) -> dict[int, int]:
        """Writes helpers out; the step of each, by the `id` of its leaf."""
        known: dict[int, int] = {}
        for reference in sorted(self.question.references, key=lambda r: r.line):
            if reference.of is not None or reference.formula is None:
                continue
            if not _uses(self.question.root, reference, self.question.references):
                continue
            first = len(self.tape.steps)
            step = self.tape.write(
                reference.formula, lambda n: id(n) in self.references or id(n) in forward, None, dict(known)
            )
            for each in self.tape.steps[first:]:
                each.line = reference.line
            known[id(reference.leaf)] = step
            self.helpers[reference.line] = step
        return known

    def _names(self) -> list[Name]:
        """Everything with a name: values, the student's gradients, and the gradients that no line of theirs names."""
        question, scene = self.question, self.question.scene
        own = [r for r in question.references if r.of is not question.target]
        names = [Name(r.leaf, r.of is not None, r.of, r) for r in own]
        taken = {r.of.number for r in question.references if r.of is not None}
        for node in scene.nodes:
            if node.op is CONSTANT or not scene.named(node):
                continue
            names.append(Name(node, False, node))
            known = node.number in question.points[0].gradients
            apart = known and node is not question.target and node is not scene.output
            if node.differentiable and node.number not in taken and apart:
                names.append(Name(scene.symbol(node), True, node))
        return names

    def _nearest(self, names: list[Name]) -> list[Name]:
        """At most so many names: the student's own, then those that stand near the target in the file."""
        if len(names) <= MOST_NAMES:
            return names
        target = self.question.target.number

        def distance(name: Name) -> float:
            own = name.reference is not None
            return -1.0 if own or name.node is None else abs(name.node.number - target)

        return sorted(names, key=distance)[:MOST_NAMES]

    def _vanishes(self, name: Name) -> bool:
        """Whether what a name stands for is zero throughout: putting it in would only take something out."""
        value = self.at.get(id(name.leaf))
        return value is None or not np.any(np.abs(np.asarray(value, float)) > VANISHING)

    def _exponents(self) -> set[int]:
        """The steps inside an exponent: they are not edited."""
        frozen: set[int] = set()
        for step in self.tape.steps:
            if step.op is POWER:
                frozen.add(step.operands[1])
        for at in reversed(range(len(self.tape.steps))):
            if at in frozen:
                frozen.update(self.tape.steps[at].operands)
        return frozen

    def _factors(self) -> set[int]:
        """The steps that are a factor of a product: what multiplies them multiplies the product."""
        factors: set[int] = set()
        for step in self.tape.steps:
            if step.op in PRODUCTS or step.op is NEGATIVE:
                factors.update(step.operands)
            elif step.op is DIVIDE:
                factors.add(step.operands[0])
        return factors

    def edits(self, values: Sequence[Any], truth: Any) -> Iterator[Edit]:
        """Every edit of the line; then the same edit at every operation of a kind."""
        alike: dict[Any, list[Edit]] = {}
        for edit in self._single(values, truth):
            yield edit
            if edit.kind in REPEATED:
                (at,) = edit.changes
                key = (edit.kind, edit.slip.name, self.tape.steps[at].op, _form(edit.changes[at]))
                alike.setdefault(key, []).append(edit)
        for same in alike.values():
            changes = {at: made for e in same for at, made in e.changes.items()}
            if len(changes) > 1 and len(changes) == len(same):
                yield Edit(same[0].rank + 0.1, same[0].slip, changes, same[0].kind)

    def _single(self, values: Sequence[Any], truth: Any) -> Iterator[Edit]:
        """Every edit of one step."""
        tape = self.tape
        for at, step in enumerate(tape.steps):
            if at in self.frozen:
                continue
            for change in edits_of_step(tape, at, values):
                yield Edit(change.undoing, change.undoes, {at: change.made}, change.kind)
            if step.node is not None:
                yield from self._other_names(at, values)
            yield from self._around(at, values, np.shape(truth))

    def _other_names(self, at: int, values: Sequence[Any]) -> Iterator[Edit]:
        """Another name in the place of a leaf."""
        node = self.tape.steps[at].node
        assert node is not None
        if node.op is CONSTANT:
            return
        here = next((n for n in self.pool if n.leaf is node), None)
        reference = self.references.get(id(node))
        is_gradient = here is not None and here.gradient
        shape = np.shape(values[at])
        if updated := self._updated(reference):
            yield Edit(1.0, slips.UPDATED_WEIGHTS, {at: updated}, "name")
        for name in self.pool:
            if name.leaf is node or name.leaf.shape != shape:
                continue
            if name.gradient == is_gradient:
                rank, slip = 2.0, slips.WRONG_OPERAND
            else:
                rank, slip = 2.1, slips.VALUE_FOR_GRADIENT if name.gradient else slips.GRADIENT_FOR_VALUE
            if reference is not None and reference.of is None and not name.gradient:
                slip = slips.WRONG_OPERAND
            unclaimed = name.gradient and name.reference is None
            if unclaimed and at == self.tape.root:
                continue  # the whole line for a gradient that happens to be the same one: that says nothing
            yield Edit(rank + 0.4 * unclaimed, slip, {at: name.leaf}, "name")
        inner = node if node.operands and reference is None else None
        if inner is not None and is_function(inner.op):
            local = self.question.scene.local(inner, 0)
            if local is not None and local.op is not CONSTANT:
                yield Edit(2.05, slips.FUNCTION_FOR_DERIVATIVE, {at: self._made(local)}, "derivative")

    def _updated(self, reference: Reference | None) -> Node | None:
        """The weight that a name of the student's own holds in updated form: `W2n = W2 - 0.1 * dW2`."""
        if reference is None or reference.formula is None or reference.of is not None:
            return None
        formula = reference.formula
        if formula.op not in SUMS:
            return None
        weight = formula.operands[0]
        return weight if self._steps_along(weight, formula.operands[1]) else None

    def _steps_along(self, weight: Node, step: Node) -> bool:
        """Whether a formula is a multiple of the gradient of a node."""
        stack = [step]
        while stack:
            top = stack.pop()
            reference = self.references.get(id(top))
            if reference is not None:
                return reference.of is weight
            if top.op in (TIMES, DIVIDE, NEGATIVE):
                stack.extend(top.operands)
        return False

    def _around(self, at: int, values: Sequence[Any], target: tuple[int, ...]) -> Iterator[Edit]:
        """Edits that put something around a step."""
        tape, step = self.tape, self.tape.steps[at]
        value = values[at]
        root = at == tape.root
        shape = np.shape(value)
        if step.op in SUMS and step.op is not None:
            weight = tape.steps[step.operands[0]].node
            if weight is not None and self._moved(weight, step.operands[1]):
                yield Edit(1.0, slips.UPDATED_WEIGHTS, {at: step.operands[0]}, "name")
        if is_number(tape, at):
            if at not in self.factors or root:
                yield Edit(2.3, slips.SIGN, {at: Made(NEGATIVE, (at,))}, "sign")
            return
        for change in sums_around(at, value, target if root else None):
            if not root and _settled(change.made, value):
                continue
            yield Edit(change.undoing, change.undoes, {at: change.made}, change.kind)
        if step.node is not None or (step.op is not None and is_function(step.op)):
            for power in (2.0, 0.5, -1.0):
                yield Edit(2.6, slips.WRONG_EXPONENT, {at: Made(POWER, (at, power))}, "exponent")
            yield from self._of_its_value(at)
        if is_reduction(step.op) or root:
            yield Edit(2.5, slips.WRONG_EXPONENT, {at: Made(POWER, (at, 2.0))}, "exponent")
        if shape:
            yield from self._parts(at, value)
        if at not in self.factors:
            if not root:
                yield Edit(2.1, slips.SIGN, {at: Made(NEGATIVE, (at,))}, "sign")
                for factor, slip in self.constants:
                    yield Edit(2.3, slip, {at: Made(TIMES, (factor, at))}, "constant")
            yield from self._multiplied(at, shape)

    def _numbers(self) -> list[tuple[float, Slip]]:
        """The factors that a term may lack, with what each means."""
        sizes = sorted(n for n in counts(self.question) if n > 2)
        found = [(factor, slips.CONSTANT) for factor in CONSTANTS]
        found += [(n, slips.MEAN_FOR_SUM) for n in sizes]
        return found + [(1 / n, slips.SUM_FOR_MEAN) for n in sizes]

    def _moved(self, weight: Node, step: int) -> bool:
        """Whether a step is a multiple of the gradient of a node: `W - 0.1 * dW`."""
        stack = [step]
        while stack:
            top = self.tape.steps[stack.pop()]
            if top.node is not None and (reference := self.references.get(id(top.node))) is not None:
                return reference.of is weight
            if top.op in (TIMES, DIVIDE, NEGATIVE):
                stack.extend(top.operands)
        return False

    def _of_its_value(self, at: int) -> Iterator[Edit]:
        """f(y) of a y that is itself f(z): its derivative f'(z) is meant."""
        step = self.tape.steps[at]
        node = self.tape.steps[step.operands[0]].node if step.operands else None
        if node is not None and node.op is step.op and node.operands and id(node) not in self.references:
            local = self.question.scene.local(node, 0)
            if local is not None and local.op is not CONSTANT:
                yield Edit(2.05, slips.FUNCTION_FOR_DERIVATIVE, {at: self._made(local)}, "derivative at its value")

    def _made(self, local: Node) -> Any:
        return made_of(local, {}, len(self.question.scene.nodes))

    def _parts(self, at: int, value: Any) -> Iterator[Edit]:
        """A part of a tensor, as the forward pass joins or takes parts; a tensor the other way round."""
        ndim = np.ndim(value)
        if self.flips:
            axes: list[Any] = [None, *range(ndim)] if ndim > 1 else [0]
            axes += [(ndim - 2, ndim - 1)] if ndim > 2 else []
            for axis in axes:
                if self.tape.steps[at].op is not flip:
                    yield Edit(2.05, slips.KERNEL_FLIP, {at: Made(flip, (at,), {"axis": axis})}, "flip")
        if self.tape.steps[at].node is None:
            return
        for axis in range(ndim):
            for start, stop in sorted(self._bounds(np.shape(value)[axis])):
                key = (*[slice(None)] * axis, slice(start, stop))
                yield Edit(2.2, slips.MISSING_SLICE, {at: Made(index, (at,), {"key": key})}, "slice")

    def _bounds(self, length: int) -> set[tuple[int, int]]:
        """Where the forward pass cuts or joins an axis of this length."""
        known = self._cuts.get(length)
        if known is not None:
            return known
        bounds: set[tuple[int, int]] = set()
        for node in self.question.scene.nodes:
            if node.op.variadic and node.shape and length in node.shape and len(node.operands) < 12:
                axis = node.settings.get("axis", 0)
                if not isinstance(axis, int) or not node.operands[0].shape:
                    continue
                at = 0
                for operand in node.operands:
                    width = operand.shape[axis % len(operand.shape)]
                    bounds.add((at, at + width))
                    at += width
            elif node.op is index:
                for part in node.settings["key"]:
                    if isinstance(part, slice):
                        start, stop, step = part.indices(length)
                        if step == 1 and 0 < stop - start < length:
                            bounds.add((start, stop))
        found = {b for b in bounds if b[1] <= length and b[1] - b[0] < length}
        self._cuts[length] = set(sorted(found)[:MOST_CUTS])
        return self._cuts[length]

    def _multiplied(self, at: int, shape: tuple[int, ...]) -> Iterator[Edit]:
        """A factor put in: the local gradient of an operation nearby, a gradient, any other name."""
        scene = self.question.scene
        for name in self.pool:
            if len(name.leaf.shape) > max(len(shape), 2) or name.leaf.dtype not in FLOATS:
                continue
            if name.leaf is self.tape.steps[at].node:
                continue
            made = Made(TIMES, (at, name.leaf))
            if name.gradient:
                late = 0.3 if name.reference is None else 0.0
                yield Edit(3.1 + late, slips.MISSING_UPSTREAM, {at: made}, "insert")
                continue
            yield Edit(4.2, slips.MISSING_LOCAL, {at: made}, "insert")
            yield Edit(4.25, slips.MULTIPLIED_FOR_DIVIDED, {at: Made(DIVIDE, (at, name.leaf))}, "insert")
            if name.node is not None and name.node.operands and is_function(name.node.op):
                local = scene.local(name.node, 0)
                if local is not None and local.op is not CONSTANT and not self._undoes(local):
                    slip = slips.MISSING_MASK if local.dtype == "bool" else slips.MISSING_LOCAL
                    yield Edit(3.0, slip, {at: Made(TIMES, (at, self._made(local)))}, "insert")
        if at == self.tape.root or self.tape.steps[at].op in SUMS:
            for name in self.pool:
                if name.leaf.shape == shape and (name.reference is not None or not name.gradient):
                    late, slip = (3.2, slips.MISSING_PATH) if name.gradient else (4.3, slips.MISSING_TERM)
                    yield Edit(late, slip, {at: Made(PLUS, (at, name.leaf))}, "insert")
                    yield Edit(late + 1.5, slip, {at: Made(MINUS, (at, name.leaf))}, "insert")

    def _undoes(self, local: Node) -> bool:
        """Whether a local gradient is 1 / x of an x in the line: it would take x out, and is not what is missing."""
        if local.op is not DIVIDE or local.operands[0].op is not CONSTANT:
            return False
        return any(step.node is local.operands[1] for step in self.tape.steps)

    # What an edit is called, once it fits --------------------------------------------------------------------

    def consumers_of(self, at: int) -> list[int]:
        """The steps that use a step."""
        return [i for i, s in enumerate(self.tape.steps) if at in s.operands]

    def refined(self, edit: Edit, at: dict[int, Any], values: Sequence[Any]) -> Slip:
        """The slip of an edit that puts another name in: by what the name stands in."""
        if edit.kind != "name" or edit.slip is slips.UPDATED_WEIGHTS or len(edit.changes) > 1:
            return edit.slip
        (place,) = edit.changes
        above = self.tape.above(place)
        if any(self.tape.steps[i].op in OPPOSITE for i in above[:3]):
            return slips.MASK_ON_WRONG_TENSOR
        value = edit.slip is slips.WRONG_OPERAND and not any(
            n.leaf is edit.changes[place] and n.gradient for n in self.pool
        )
        if value and self._inside_derivative(place, edit.changes[place], at, values):
            return slips.DERIVATIVE_AT_WRONG_NODE
        return edit.slip

    def _inside_derivative(self, place: int, leaf: Any, at: dict[int, Any], values: Sequence[Any]) -> bool:
        """Whether the right name is (a part of) a factor that is the derivative of a function of the forward pass."""
        tape = self.tape
        new = {place: tape.made(leaf, values, at)}
        products: list[int] = []
        for i in tape.above(place):
            step = tape.steps[i]
            if step.op in SUMS or step.op is POWER or is_function(step.op):
                products = []
            elif step.op not in FACTORS:
                break
            new[i] = step.run(*[new.get(o, values[o]) for o in step.operands])  # type: ignore[misc]
            products.append(i)
            others = [o for o in step.operands if o not in new]
            for found in (new[i], *self._with_neighbour(i, new, values, others)):
                if self._is_slope(found, at) and i != place:
                    return True
        return False

    def _with_neighbour(
        self, i: int, new: dict[int, Any], values: Sequence[Any], others: Sequence[int]
    ) -> Iterator[Any]:
        """In `(g * p) * (1 - p)`, the product of the last two factors."""
        step = self.tape.steps[i]
        if step.op is not TIMES:
            return
        left = self.tape.steps[step.operands[0]]
        right = new.get(step.operands[1], values[step.operands[1]])
        if left.op is TIMES:
            yield np.multiply(new.get(left.operands[1], values[left.operands[1]]), right)
        yield right

    def _is_slope(self, value: Any, at: dict[int, Any]) -> bool:
        scene = self.question.scene
        for node in scene.nodes:
            if not node.operands or not is_function(node.op) or node.shape != np.shape(value):
                continue
            try:
                slope = node.op.contribute(
                    0, np.ones(node.shape), at[id(node)], [at[id(o)] for o in node.operands], node.settings
                )
            except (ArithmeticError, ValueError, KeyError, TypeError):
                continue
            if np.shape(slope) == np.shape(value) and np.allclose(slope, value, rtol=1e-9, atol=1e-12):
                return True
        return False


def counts(question: Question) -> set[float]:
    """The N of the text: how many entries its means are over, and the numbers that it divides by."""
    found: set[float] = set()
    parts: set[float] = set()
    lengths = {float(n) for node in question.scene.nodes for n in (*node.shape, _size(node)) if n > 1}
    formulas = [*question.scene.nodes, *_own_steps(question)]
    for node in formulas:
        if is_reduction(node.op) and node.op is mean:
            found.add(_size(node.operands[0]) / max(1, _size(node)))
            parts.update(float(n) for n in node.operands[0].shape if n > 1)
        if node.op is DIVIDE and (n := _number(node.operands[1])) is not None and n > 1:
            found.add(n)
        if node.op is TIMES:
            for operand in node.operands:
                n = _number(operand)
                if n is not None and 0 < n < 1 and abs(1 / n - round(1 / n)) < 1e-9:
                    found.add(float(round(1 / n)))
    averaged = any("reduction" in n.op.settings for n in question.scene.nodes)
    return (found & lengths) | parts | (lengths if averaged else set())


def _own_steps(question: Question) -> list[Node]:
    found: list[Node] = []
    stack = [question.root] if question.root is not None else []
    known = {id(n) for n in question.scene.nodes}
    while stack:
        node = stack.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        found.append(node)
        stack.extend(node.operands)
    return found


def _size(node: Node) -> int:
    size = 1
    for n in node.shape:
        size *= n
    return size


def _number(node: Node) -> float | None:
    if node.op is CONSTANT and np.ndim(node.data) == 0 and not isinstance(node.data, bool):
        return float(node.data)
    return None


def _form(made: Any) -> Any:
    """What an edit makes, without the steps that it is made of."""
    if type(made) is Made:
        return (made.op, str(dict(made.settings)), *map(_form, made.operands))
    return made if isinstance(made, float) else None


def _uses(root: Node | None, reference: Reference, references: Sequence[Reference]) -> bool:
    """Whether a formula uses a reference, directly or through the helpers that it uses."""
    formulas = {id(r.leaf): r.formula for r in references if r.of is None}
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        if node is reference.leaf:
            return True
        seen.add(id(node))
        stack.extend(node.operands)
        stack.append(formulas.get(id(node)))
    return False


def _settled(made: Made, value: Any) -> bool:
    """Whether a sum is 0 or 1 whatever the inputs are, as probabilities add up to 1: multiplying by it says nothing."""
    added = np.asarray(made.op.forward(value, **made.settings), float)
    return bool(np.all(np.abs(added) < 1e-9) or np.all(np.abs(added - 1) < 1e-9))


__all__ = ["AT", "Edit", "Line", "Name"]

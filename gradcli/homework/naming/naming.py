"""From a wrong line of a sheet to the name of its slip, and back to the words that say what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, Node, backward_order
from gradcli.graph.formula import formula
from gradcli.homework.mark import Naming
from gradcli.homework.naming.question import Point, Question, Reference, Scene, equal
from gradcli.homework.naming.search import Found, Search
from gradcli.homework.points import Point as SheetPoint
from gradcli.homework.points import Points
from gradcli.homework.sheet import Kind, Line, Sheet
from gradcli.homework.written import Written
from gradcli.problems import Span

MOST_OPERATIONS = 60
"""A formula with more operations than this is not printed."""


PerPoint = Sequence[Sequence[Any]]
"""For every line of a sheet its values, one at every point of the sheet's points; an entry is None if there is none."""


class Namer:
    """Names the slips of one sheet.  `points` are the sheet's points, the file's own inputs first."""

    def __init__(self, sheet: Sheet, points: Points) -> None:
        self.sheet = sheet
        self.points = points
        self._scenes: dict[tuple[int, bool], Scene] = {}
        self._known: dict[tuple[int, int], tuple[Node | None, float]] = {}

    def name(self, line: Line, intended: PerPoint, given: PerPoint) -> Naming | None:
        """The slip in a wrong line; None if no single one that is known explains it.

        `intended` are the values that lines should have had, this one included, and `given` those that they have.
        """
        with np.errstate(all="ignore"):
            return self._named(line, intended, given)

    def _named(self, line: Line, intended: PerPoint, given: PerPoint) -> Naming | None:
        of = line.of or self.sheet.output
        if line.expression is None or line.index >= len(intended) or any(v is None for v in intended[line.index][:1]):
            return None
        node = line.node or self._meant(intended[line.index], of)
        if node is None:
            return None
        if line.written is not None:
            return self._of_numbers(line, node, of, intended, given)
        references = self._references(line, intended, of)
        factors = dict.fromkeys([1.0, *(r.factor for r in references if r.of is not None)])
        helpers = any(r.of is None and r.formula is not None for r in references)
        for inlined in (False, True) if helpers else (False,):
            for factor in factors:
                question = self._question(line, node, of, references, intended, factor, inlined=inlined)
                if question is None:
                    return None
                search = Search(question)
                found = search.run()
                if found:
                    return self._said(search, found, line)
        return None

    def _meant(self, intended: Sequence[Any], of: Node) -> Node | None:
        """The node whose gradient a helper should be."""
        about, _ = self._whose([intended[k] for k in self._order()], of)
        return about

    def _question(
        self,
        line: Line,
        node: Node,
        of: Node,
        references: Sequence[Reference],
        intended: PerPoint,
        factor: float,
        *,
        inlined: bool,
    ) -> Question | None:
        scene = self._scene(of)
        order = self._order()
        own = intended[line.index]
        wanted = [own[k] if factor == 1 else np.multiply(own[k], factor) for k in order if own[k] is not None]
        if len(wanted) < len(order):
            return None
        points = [
            Point({**p.values, **{id(r.leaf): self._intended(r.leaf, intended, k) for r in references}}, p.gradients)
            for k, p in zip(order, scene.points, strict=True)
        ]
        gradient = line.kind is not Kind.VALUE and not line.target.key and (of is self.sheet.output or not of.shape)
        kept = self._kept(wanted, node, scene) if gradient else 1.0
        return Question(
            scene.at(points),
            node,
            line.expression,
            tuple(references),
            wanted,
            kept or 1.0,
            line.target.name,
            inlined,
            gradient and kept is not None,
        )

    def _of_numbers(self, line: Line, node: Node, of: Node, intended: PerPoint, given: PerPoint) -> Naming | None:
        """The slip in numbers: of the sweep only, from the student's own numbers or from the right ones."""
        if line.kind is Kind.VALUE or line.target.key or (of.shape and of is not self.sheet.output):
            return None
        scene = self._scene(of, numeric=True)
        assert line.written is not None
        references = [r for r in self._references(line, intended, of) if r.of is not None and r.factor == 1]
        for own in (True, False):
            values = dict(scene.points[0].values)
            for reference in references:
                index = self.sheet.lines_of[reference.leaf.number]
                mine = given[index][0] if own and index < len(given) else None
                values[id(reference.leaf)] = intended[index][0] if mine is None else mine
            here = scene.at([Point(values, scene.points[0].gradients)])
            question = Question(here, node, None, tuple(references), intended[line.index][:1], 1.0, line.target.name)
            search = Search(question, line.written)
            found = search.run()
            if found and information(line.written) >= np.log10(max(1, search.candidates)) + 2:
                return self._said(search, found, line)
        return None

    def _intended(self, leaf: Node, intended: PerPoint, k: int) -> Any:
        """What a leaf should be at a point: an earlier line's intended value, or a true derivative."""
        truth = self.sheet.truths.get(leaf.number)
        if truth is not None:
            return self.points.all[k].gradient(truth[1], truth[0])
        return intended[self.sheet.lines_of[leaf.number]][k]

    def _order(self) -> list[int]:
        """The points in the order of the search: generic ones first; at the file's inputs more holds by chance."""
        count = len(self.points.all)
        return [*range(1, count), 0] if count > 1 else [0]

    def _scene(self, of: Node, *, numeric: bool = False) -> Scene:
        key = (of.number, numeric)
        scene = self._scenes.get(key)
        if scene is None:
            nodes = self.sheet.forward
            order = backward_order(of, None, nodes) if of.differentiable else [of]
            which = [0] if numeric else self._order()
            points = [self._point(self.points.all[k], of, order) for k in which]
            inner = {n.number for n in nodes if not self.sheet.name_of(n)}
            scene = self._scenes[key] = Scene(of, nodes, inner, points)
        return scene

    def _point(self, point: SheetPoint, of: Node, order: Sequence[Node]) -> Point:
        values = {id(n): v for n, v in zip(self.sheet.forward, point.values, strict=False)}
        gradients: dict[int, Any] = {}
        if of is self.sheet.output or not of.shape:
            gradients = {n.number: point.gradient(n, of) for n in order}
        return Point(values, gradients)

    # What earlier lines are about --------------------------------------------------------------------------

    def _references(self, line: Line, intended: PerPoint, of: Node) -> list[Reference]:
        """The earlier lines that have a value at every point, each with the node whose gradient it holds."""
        found: dict[int, Reference] = {}
        used = _symbols(line.expression) if line.expression is not None else set()
        for leaf_number, index in self.sheet.lines_of.items():
            earlier = self.sheet.lines[index]
            leaf = self.sheet.graph.nodes[leaf_number]
            if index >= line.index or any(v is None for v in intended[index]) or not intended[index]:
                continue
            if leaf is not earlier.leaf and leaf_number not in used:
                continue
            about, factor = self._held(earlier, intended, of)
            found[leaf_number] = Reference(leaf.name, leaf, about, factor, earlier.expression, index)
        for number in used & self.sheet.truths.keys():
            differentiated, node = self.sheet.truths[number]
            leaf = self.sheet.graph.nodes[number]
            found[number] = Reference(leaf.name, leaf, node if differentiated is of else None)
        return list(found.values())

    def _held(self, earlier: Line, intended: PerPoint, of: Node) -> tuple[Node | None, float]:
        """The node whose gradient an earlier line holds, and the constant factor that it keeps; None for a helper."""
        known = self._known.get((earlier.index, of.number))
        if known is None:
            known = self._known[earlier.index, of.number] = self._found_in(earlier, intended, of)
        return known

    def _found_in(self, earlier: Line, intended: PerPoint, of: Node) -> tuple[Node | None, float]:
        held = [intended[earlier.index][k] for k in self._order()]
        if earlier.node is not None and earlier.about_gradient and not earlier.target.key:
            factor = self._kept(held, earlier.node, self._scene(of))
            if factor is not None:
                return earlier.node, factor
        return self._whose(held, of)

    def _whose(self, held: Sequence[Any], of: Node) -> tuple[Node | None, float]:
        """The node of which these are the gradient, but for a constant factor."""
        scene = self._scene(of)
        shape = np.shape(held[0])
        for node in scene.nodes:
            if node.shape == shape and node.op is not CONSTANT and node.number in scene.points[0].gradients:
                factor = self._kept(held, node, scene)
                if factor is not None:
                    return node, factor
        return None, 1.0

    def _kept(self, held: Sequence[Any], node: Node, scene: Scene) -> float | None:
        """The constant c with held = c · gradient of a node, at every point."""
        factor: float | None = None
        for value, point in zip(held, scene.points, strict=True):
            truth = point.gradients.get(node.number)
            if truth is None or np.shape(truth) != np.shape(value) or not np.any(truth):
                return None
            at = int(np.argmax(np.abs(truth)))
            c = float(np.ravel(value)[at] / np.ravel(truth)[at])
            if not np.isfinite(c) or c == 0 or (factor is not None and abs(c - factor) > 1e-8 * abs(factor)):
                return None
            if not equal(value, np.multiply(c, truth), 1.0):
                return None
            factor = c
        return None if factor is None else 1.0 if abs(factor - 1) < 1e-8 else factor

    # Words ---------------------------------------------------------------------------------------------------

    def _said(self, search: Search, found: Sequence[Found], line: Line) -> Naming | None:
        if not found:
            return None
        first = found[0]
        edit, right, place = self.words(search, first, line)
        names, sentences = [f.slip.name for f in found], [f.slip.sentence for f in found]
        inside = None
        if first.side == "line" and first.edit is not None and search.line is not None:
            inside = search.line.tape.steps[min(first.edit.changes)].line
        return Naming(_either(names), _either(sentences), edit, place, right, inside)

    def text(self, node: Node) -> str:
        """A formula in the names of the file and of the student."""
        return formula(node, self._name, MOST_OPERATIONS) or f"a formula of more than {MOST_OPERATIONS} operations"

    def _name(self, node: Node) -> str:
        if not node.operands:
            return node.name
        return self.sheet.name_of(node) if 0 <= node.number < self.sheet.first else ""

    def words(self, search: Search, found: Found, line: Line) -> tuple[str, str, Span | None]:
        """The edit in words, the right formula, and where the edit is in the student's text."""
        left = search.question.left
        if found.side == "whole":
            if found.other is not None:
                return f"this is {search.question.scene.symbol(found.other).name}, not {left}", "", line.span
            return f"every entry is {_factor(found.factor)} times the right one", "", line.span
        assert found.edit is not None
        if found.side == "line":
            return self._line_words(search, found, line)
        return self._rule_words(search, found), "", None

    def _line_words(self, search: Search, found: Found, line: Line) -> tuple[str, str, Span | None]:
        assert search.line is not None
        assert found.edit is not None
        tape, edit = search.line.tape, found.edit
        at = min(edit.changes)
        where = tape.steps[at].line
        line = line if where is None else self.sheet.lines[where]
        root = tape.root if where is None else search.line.helpers[where]
        before, after = self.text(tape.written(at)), self.text(tape.written(at, {at: edit.changes[at]}))
        right = self.text(tape.written(root, edit.changes))
        again = ", here and again" if len(edit.changes) > 1 else ""
        square = edit.kind == "transpose" and _is_square(tape.steps[at].node or tape.steps[at].origin)
        warning = f"; `{before}` is square, so its shape could not warn you" if square else ""
        stands = f"`{before}` stands where `{after}` belongs"
        if before == after:
            stands = f"`{before}` as a line above has changed it stands where that of the file belongs"
        return f"{stands}{again}{warning}", right, self._place(search, at, line)

    def _place(self, search: Search, at: int, line: Line) -> Span | None:
        """Where a step of the line stands in the student's text."""
        assert search.line is not None
        tape = search.line.tape
        origin = tape.steps[at].origin
        if origin is not None and (origin.number, -1) in line.places:
            return line.places[(origin.number, -1)]
        for step in tape.steps:
            if at in step.operands and step.origin is not None:
                return line.places.get((step.origin.number, step.operands.index(at)), line.span)
        return line.span

    def _rule_words(self, search: Search, found: Found) -> str:
        """The rule as it is, and what the student's value has in its place."""
        edit, sweep = found.edit, search.sweep
        assert edit is not None
        scene = search.question.scene
        if type(edit.part) is not tuple:
            node = sweep.nodes[edit.part]
            lost = f"what comes through {self._called(node)}" if edit.kind == "held" else scene.symbol(node).name
            return f"{lost} is missing"
        part = edit.part
        node = sweep.node(part)
        operand = node.operands[part[1]]
        edge = sweep.edges[part]
        rule = self.text(sweep.tape.written(edge, within=part))
        sent = scene.symbol(operand).name if self.sheet.name_of(operand) else f"the gradient of {self._called(operand)}"
        through = f"through {self._called(node)}"
        if edit.kind in ("edge", "half"):
            which = "the contribution" if edit.kind == "edge" else "one of the two contributions"
            return f"{which} {through}, `{rule}`, is missing in {sent}"
        again = ", and so on" if len(edit.changes) > 1 else ""
        if edit.kind in _INSTEAD:
            return f"{through}, {sent} receives `{rule}`; yours has {_INSTEAD[edit.kind]}{again}"
        changed = self.text(sweep.tape.written(edge, edit.changes, within=part))
        return f"{through}, {sent} receives `{rule}`; yours has `{changed}`{again}"

    def _called(self, node: Node) -> str:
        name = self.sheet.name_of(node)
        return name or f"`{self.text(node)}`"


_INSTEAD = {
    "local": "the upstream gradient alone",
    "upstream": "the local gradient alone",
    "at": "the derivative at another node",
    "function": "the function in the place of its derivative",
    "diagonal": "the diagonal of the Jacobian alone",
}


def _is_square(node: Node | None) -> bool:
    return node is not None and len(node.shape) == 2 and node.shape[0] == node.shape[1]


def _factor(factor: float) -> str:
    """A factor as a whole number or one over a whole number, where it is one."""
    if abs(factor - round(factor)) < 1e-7 * abs(factor):
        return str(round(factor))
    if abs(1 / factor - round(1 / factor)) < 1e-7 * abs(1 / factor):
        return f"{'-' if factor < 0 else ''}1/{abs(round(1 / factor))}"
    return f"{factor:.12g}"


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else "either " + " or ".join(words)


def _symbols(root: Node) -> set[int]:
    """The numbers of the leaves without a value of their own in a formula."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not node.operands:
            found.add(node.number)
        stack.extend(node.operands)
    return found


def information(written: Written) -> float:
    """How much numbers say, in decimal digits: a wrong name fits them by chance once in ten to this power."""
    value = np.abs(np.asarray(written.value, float))
    whole = bool(np.all(value == np.round(value)))
    unit = np.where(np.asarray(written.unit) > 0, written.unit, 1.0 if whole else 1e-9 * np.maximum(value, 1e-30))
    return float(np.sum(np.log10(np.maximum(value / unit, 1.0))))

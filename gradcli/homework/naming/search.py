"""The search for the single slip that explains a wrong line, from both sides, and the choice among what fits.

An edit is tried at the first point, and what fits there is verified at all of them.  Edits are tried in the order of
their rank, and the search ends as soon as nothing that is left could win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, Node
from gradcli.homework.naming.line import Edit, Line, counts
from gradcli.homework.naming.question import Question, equal
from gradcli.homework.naming.sweep import Sweep
from gradcli.homework.naming.tape import FAULTS, Tape
from gradcli.homework.written import Written
from gradcli.problems import slips
from gradcli.problems.slips import Slip

TIE = 0.15
"""Edits whose ranks are no further apart than this are equally good names."""

FEW = 3
"""So few different numbers in all points say little."""

WORDY = frozenset(
    {"name", "insert", "function", "exponent", "derivative", "derivative at its value", "divide", "brackets", "at"}
)
"""The kinds of edits of which there are many, and which turn anything into a 0 or a 1."""

STERN = frozenset({"edge", "held", "sum", "axis", "transpose", "slice", "flip", "mask", "sign"})
"""The kinds of edits of a rule that may explain a value which is a few numbers again and again."""

WITHIN = 0.55
"""Written numbers fit within this part of the unit of their last digit."""


@dataclass(frozen=True, slots=True)
class Found:
    """An edit that fits at every point, and where it was found: in the line, in the sweep, or in the whole value."""

    rank: float
    slip: Slip
    edit: Edit | None
    side: str
    factor: float = 1.0
    other: Node | None = None


class Search:
    """One question, with everything that the two searches share."""

    def __init__(self, question: Question, numbers: Written | None = None) -> None:
        self.question = question
        self.numbers = numbers
        self.at = [self._surroundings(k) for k in range(len(question.points))]
        self.line = Line(question, self.at[0]) if question.root is not None else None
        self.tried = 0
        with np.errstate(all="ignore"):
            self.line_values = self._values(self.line.tape) if self.line else []
            self.sweep = Sweep(question, self.at)
            self.sweep_values = self._values(self.sweep.tape) if self.sweep.complete else []
            self.candidates = 0
        self.truth = list(question.truth)
        self.majorants = [_majorant(at.values()) for at in self.at]
        if self.line is not None:
            self.student = [None if v is None else v[self.line.tape.root] for v in self.line_values]
        else:
            assert numbers is not None
            self.student = [numbers.value]

    def _surroundings(self, k: int) -> dict[int, Any]:
        """The values at a point: of nodes, of references, and of true gradients (times the factor that is kept)."""
        question = self.question
        point = question.points[k]
        at = dict(point.values)
        for number, gradient in point.gradients.items():
            at[id(question.scene.symbol(question.scene.nodes[number]))] = (
                gradient if question.factor == 1 else question.factor * gradient
            )
        for reference in question.references:
            if reference.of is not None and id(reference.leaf) in at:
                at[id(question.scene.symbol(reference.of))] = (
                    at[id(reference.leaf)] * (question.factor / reference.factor)
                    if reference.factor != question.factor
                    else at[id(reference.leaf)]
                )
        return at

    def _values(self, tape: Tape) -> list[list[Any] | None]:
        return [tape.values(at) for at in self.at]

    # The search ----------------------------------------------------------------------------------------------

    def run(self) -> list[Found]:
        """Everything that fits and is not clearly worse than the best, best first."""
        if any(np.max(np.abs(t), initial=0.0) <= 1e-12 * m for t, m in zip(self.truth, self.majorants, strict=True)):
            return []  # of a gradient that is zero, nearly everything is a multiple
        with np.errstate(all="ignore"):
            found = self._whole()
            if found:
                return found
            return self._edits()

    def _whole(self) -> list[Found]:
        """The line as a whole: a constant times the right value, or the gradient of another node."""
        ratio = self._ratio(self.truth)
        return [] if ratio is None else self._of_ratio(ratio)

    def _ratio(self, wanted: Sequence[Any]) -> float | None:
        """The constant c with line = c · wanted at every point, if there is one."""
        if self.numbers is not None:
            return self._ratio_of_numbers(self.numbers, wanted[0])
        ratio: float | None = None
        for student, truth, majorant in zip(self.student, wanted, self.majorants, strict=True):
            if student is None or truth is None or np.shape(student) != np.shape(truth):
                return None
            at = int(np.argmax(np.abs(truth)))
            largest = float(np.ravel(truth)[at])
            here = float(np.ravel(student)[at]) / largest if largest else 0.0
            if not here or not np.isfinite(here) or (ratio is not None and abs(here - ratio) > 1e-8 * abs(ratio)):
                return None
            if not equal(student, np.multiply(truth, here), majorant * max(1.0, abs(here))):
                return None
            ratio = here
        if (
            ratio is not None
            and self._is_one_number(wanted)
            and not np.any(np.isclose(ratio, self._likely(), rtol=1e-8))
        ):
            return None  # one number is a multiple of any other
        return ratio

    def _is_one_number(self, values: Sequence[Any]) -> bool:
        entries = np.concatenate([np.ravel(v) for v in values])
        return bool(np.all(np.abs(entries - entries[0]) <= 1e-9 * abs(entries[0])))

    def _likely(self) -> list[float]:
        """The constant factors that people lose or put in."""
        lengths = sorted(counts(self.question))
        return [-1.0, 2.0, 0.5, -2.0, -0.5, *lengths, *(1 / n for n in lengths)]

    def _ratio_of_numbers(self, numbers: Written, wanted: Any) -> float | None:
        """The constant by which written numbers differ from the right ones: a likely one, since any fits one entry."""
        for ratio in self._likely():
            if self._same(np.multiply(wanted, ratio), numbers.value, 0.0):
                return ratio
        return None

    def _same(self, found: Any, wanted: Any, majorant: float) -> bool:
        """Whether two values are equal; for written numbers, to the digits that are written."""
        if self.numbers is None:
            return equal(found, wanted, majorant)
        if np.shape(found) != np.shape(wanted):
            return False
        largest = float(np.max(np.abs(wanted), initial=0.0))
        return bool(np.all(np.abs(np.subtract(found, wanted)) <= WITHIN * self.numbers.unit + 1e-9 * largest))

    def _of_ratio(self, ratio: float) -> list[Found]:
        if abs(ratio + 1) < 1e-9:
            return [Found(0.0, slips.SIGN, None, "whole", ratio)]
        lengths = counts(self.question)
        size = abs(ratio)
        found = []
        if any(abs(size * n - 1) < 1e-8 for n in lengths):
            found.append(Found(0.5, slips.MEAN_FOR_SUM, None, "whole", ratio))
        if any(abs(size / n - 1) < 1e-8 for n in lengths):
            found.append(Found(0.5, slips.SUM_FOR_MEAN, None, "whole", ratio))
        if not found or abs(size - 2) < 1e-8 or abs(size - 0.5) < 1e-8 or ratio < 0:
            found.append(Found(0.5, slips.CONSTANT, None, "whole", ratio))
        return found

    def _edits(self) -> list[Found]:
        """The edits of both sides, in the order of their rank, until nothing better can come."""
        candidates: list[tuple[float, int, str, Edit]] = []
        line_values = self.line_values[0] if self.line_values else None
        if self.line is not None and line_values is not None:
            for edit in self.line.edits(line_values, self.truth[0]):
                candidates.append((edit.rank, len(candidates), "line", edit))
        sweep_values = self.sweep_values[0] if self.sweep_values else None
        if sweep_values is not None and self._says_something():
            for edit in self.sweep.edits(sweep_values, self.line):
                candidates.append((edit.rank, len(candidates), "sweep", edit))
        self.candidates = len(candidates)
        if self._says_little(self.truth):
            candidates = [c for c in candidates if c[2] == "sweep" or c[3].kind not in WORDY]
        if self._says_little(self.student):
            candidates = [c for c in candidates if c[2] == "line" or c[3].kind in STERN]
        candidates.sort(key=lambda c: c[:2])
        found: list[Found] = self._other_nodes()
        best = min((f.rank for f in found), default=np.inf)
        for rank, _, side, edit in candidates:
            if rank > best + TIE and edit.kind not in ("edge", "held"):
                continue
            if self._fits(side, edit):
                found.append(Found(rank, edit.slip, edit, side))
                best = min(best, rank)
        return self._chosen(found)

    def _says_little(self, values: Sequence[Any]) -> bool:
        """Whether values are a few numbers again and again, such as 0 and 1: much fits them by chance."""
        entries = np.concatenate([np.ravel(np.asarray(v, float)) for v in values if v is not None] or [np.zeros(0)])
        distinct = len(np.unique(np.round(entries, 9)))
        if distinct > FEW or self.numbers is not None:
            return False
        return bool(len(entries) * np.log10(max(1, distinct)) < np.log10(max(1, self.candidates)) + 2)

    def _says_something(self) -> bool:
        """Whether the student's value is there, and not zero throughout (but for rounding)."""
        student = self.student[0]
        return student is not None and bool(np.max(np.abs(student), initial=0.0) > 1e-11 * self.majorants[0])

    def _other_nodes(self) -> list[Found]:
        """Lines that are the gradient of another node."""
        question, scene = self.question, self.question.scene
        found = []
        for node in scene.nodes:
            if node is question.target or node.shape != question.target.shape or not scene.named(node):
                continue
            if node.number not in question.points[0].gradients or node.op is CONSTANT:
                continue
            wanted = [at[id(scene.symbol(node))] for at in self.at]
            if all(
                s is not None and self._same(w, s, m)
                for s, w, m in zip(self.student, wanted, self.majorants, strict=True)
            ):
                together = any(
                    node in c.operands and question.target in c.operands for c in scene.consumers(question.target)
                )
                if together:
                    found.append(Found(1.9, slips.GRADIENTS_SWAPPED, None, "whole", 1.0, node))
                else:
                    found.append(Found(3.5, slips.OTHER_GRADIENT, None, "whole", 1.0, node))
        return found

    def _fits(self, side: str, edit: Edit) -> bool:
        """Whether an edit turns the one into the other, at every point."""
        self.tried += 1
        if side == "line":
            assert self.line is not None
            tape, all_values, wanted = self.line.tape, self.line_values, self.truth
        else:
            tape, all_values, wanted = self.sweep.tape, self.sweep_values, self.student
        for values, at, goal, majorant in zip(all_values, self.at, wanted, self.majorants, strict=True):
            if values is None or goal is None:
                return False
            try:
                changes = {i: tape.made(made, values, at) for i, made in edit.changes.items()}
            except FAULTS:
                return False
            result = tape.rerun(values, changes)
            if result is None or not self._same(result, goal, majorant):
                return False
        return True

    # The choice ----------------------------------------------------------------------------------------------

    def _chosen(self, found: list[Found]) -> list[Found]:
        """The best, and what ties with it, each slip once; an edge whose removal fits is a missing path."""
        if not found:
            return []
        paths = [f for f in found if f.edit is not None and f.edit.kind in ("edge", "held")]
        best = min(f.rank for f in found)
        if paths and best >= 1.5:
            return [min(paths, key=lambda f: f.rank), *self._halves()]
        tied = sorted((f for f in found if f.rank <= best + TIE), key=lambda f: f.rank)
        chosen: list[Found] = []
        for each in tied:
            slip = self._refined(each)
            if any(slip is c.slip or _alike(slip, c.slip) for c in chosen):
                continue
            chosen.append(Found(each.rank, slip, each.edit, each.side, each.factor, each.other))
        return chosen

    def _halves(self) -> list[Found]:
        """A constant factor that would put the line right at the file's own inputs, beside a missing path.

        Of x @ A @ x with a symmetric A, a lost 2 and a lost path are one thing.
        """
        values, truth = self.line_values[-1] if self.line_values else None, self.truth[-1]
        if self.line is None or values is None or len(self.at) < 2 or self.numbers is not None:
            return []
        for edit in self.line.edits(values, truth):
            if edit.kind != "constant" or edit.slip is not slips.CONSTANT:
                continue
            changes = {i: self.line.tape.made(made, values, self.at[-1]) for i, made in edit.changes.items()}
            if equal(self.line.tape.rerun(values, changes), truth, self.majorants[-1]):
                return [Found(edit.rank, edit.slip, edit, "line")]
        return []

    def _refined(self, found: Found) -> Slip:
        if found.side == "line" and found.edit is not None:
            assert self.line is not None
            assert self.line_values[0] is not None
            return self.line.refined(found.edit, self.at[0], self.line_values[0])
        return found.slip


def _alike(one: Slip, other: Slip) -> bool:
    return one.name in other.alike or other.name in one.alike


def _majorant(values: Any) -> float:
    largest = 1.0
    for value in values:
        if isinstance(value, (np.ndarray, float, np.floating)) and np.size(value):
            top = float(np.max(np.abs(value)))
            if largest < top < np.inf:
                largest = top
    return largest

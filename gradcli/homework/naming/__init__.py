"""Naming a slip: which single edit of the student's line, or of one rule of the right sweep, explains a wrong line.

The slips are declared in `gradcli.problems.slips`; `edits` are the single edits of one step; `line` and `sweep` apply
them to the student's line and to the right derivation; `search` tries them and chooses; `naming` says what was found.
"""

from __future__ import annotations

from gradcli.homework.mark import Naming
from gradcli.homework.naming.naming import Namer, PerPoint
from gradcli.homework.points import Points
from gradcli.homework.sheet import Line, Sheet
from gradcli.problems.slips import SLIPS, Slip, find

__all__ = ["SLIPS", "Namer", "Naming", "PerPoint", "Slip", "find", "name_slip"]


def name_slip(sheet: Sheet, line: Line, points: Points, intended: PerPoint, given: PerPoint) -> Naming | None:
    """The slip in one line of a sheet: see `Namer.name`, which is quicker for several lines."""
    return Namer(sheet, points).name(line, intended, given)

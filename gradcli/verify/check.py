"""The verdict on every gradient of a report.

Float gradients are not compared with float differences.  The formula is evaluated at 130 digits, with steps so small
that truncation and rounding vanish, and the tool's own sweep is run at 130 digits as well.  That separates two
questions: is the rule right (the two agree to a dozen digits), and did float arithmetic keep the digits?

Most entries are judged many at once: along a random direction to which every entry contributes alike, one difference
tells whether all of them are right.  Only groups that fail are halved until the entries are found that need a look
of their own: kinks, jumps, infinite slopes, wrong rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.graph import INPUT, Node
from gradcli.report import Report
from gradcli.verify.custom import check_custom_rules
from gradcli.verify.differences import central_differences
from gradcli.verify.exact import ancestors, cost
from gradcli.verify.hull import HullSearch
from gradcli.verify.large import DIFFERENCES, judge_large
from gradcli.verify.mover import DIGITS, SURE, Mover, Place
from gradcli.verify.precision import BITS, KEPT, coarsest
from gradcli.verify.probe import EXPONENTS, Kind, Probe, Side
from gradcli.verify.reasons import Diagnosis, hits
from gradcli.verify.rounded import rounding_noise
from gradcli.verify.rules import wrong_rules
from gradcli.verify.symbolic import read_symbolically
from gradcli.verify.verdict import (
    Check,
    Entry,
    GradientCheck,
    Numeric,
    ResultCheck,
    RuleCheck,
    Symbolic,
    Verdict,
    worst,
)

RULE = 1e-12
"""By how much the sweep at 130 digits may be off: rules hold numbers such as 0.044715 in 53 bits."""
NOTHING = 1e-20
"""And relative to the function, where it should be 0."""
FAINT = -160
"""Gradients of fewer bits than this, times what they are gradients in, are not heard at the fewest digits."""
KINKS = 24
"""So many kinks at once are judged together; more are judged one by one."""
ROUNDS = 12
ENOUGH = 6
"""Once so many points around a place have one gradient, or none that can be believed, others will not differ."""
SINGLES, PATIENCE = 40, 3.0
"""So many entries are looked at one by one, for so many seconds; if more are in doubt, the rest is judged together."""
CROWD_SECONDS = 4.0
"""And for so long."""
SECONDS = 20.0
COST = 2e-6
"""Seconds an operation on numbers of 130 digits takes, about."""
ENTRY = 2e-4
"""Seconds an entry of a gradient takes, about."""
EVALUATIONS = 14
"""So many forward passes the judgement of a graph takes in which everything is right."""
RULES_COST = 20_000
"""Up to so many operations, every operator's rule is looked at alone as well."""
PLACES = 100
"""At so many places, where every gradient is right; if one is wrong, at all."""


def check(
    report: Report,
    *,
    gradients: Mapping[str, Any] | None = None,
    everything: bool = False,
    tolerance: float | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Check:
    """The verdict on the gradients of a report.

    `gradients` are judged in place of the sweep's own, by name.  `everything` judges those of intermediate nodes as
    well as those of the inputs.  `tolerance` is relative; by default a gradient may be off by 1e-9 (float64).
    `seconds` limits the time; what is not settled by then is `unresolved`.  `progress(done, all)` is told how far it
    is.
    """
    return _Checker(report, dict(gradients or {}), everything, tolerance, seconds or SECONDS, progress).check()


class _Checker:
    def __init__(
        self,
        report: Report,
        given: dict[str, Any],
        everything: bool,
        tolerance: float | None,
        seconds: float,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.report = report
        self.given = given
        self.plain = report.traced.graph.plain
        self.tolerance = tolerance
        self.until = time.monotonic() + seconds
        self.seconds = seconds
        self.progress = progress or (lambda done, all: None)
        self.names = _names(report, everything)
        self.notes: list[str] = []
        self.floats: dict[str, Numeric] = {}
        self._moving: set[int] = set()
        """The nodes that can be moved at many digits."""
        self.singles = 0
        self._swept: dict[int, dict[int, Any]] = {}
        self.random = np.random.default_rng(20)
        self.mover = Mover(report, self.random)

    # The course of a check ------------------------------------------------------------------------

    def check(self) -> Check:
        places = {name: self._places(name) for name in self.names}
        everywhere = [p for of_name in places.values() for p in of_name]
        self.total = len(everywhere)
        self.rules: tuple[RuleCheck, ...] = ()
        self.symbolic: dict[str, Symbolic] = {}
        try:
            self.symbolic = read_symbolically(self.report, self.names, time_limit=min(2.0, self.seconds / 4))
        except Exception as error:
            self.symbolic = {n: Symbolic(abstains=f"it failed: {_told(error)}") for n in self.names}
        try:
            self._judge_all(places, everywhere)
        except Exception as error:  # what a rule or a function does at a thousand digits is not foreseen: no verdict
            for p in everywhere:
                if p.verdict in (None, Verdict.AGREE, Verdict.KINK):  # what was still to come might have refuted it
                    p.verdict, p.reason = Verdict.UNRESOLVED, f"the check failed: {_told(error)}"
        for p in everywhere:
            if p.verdict is None:
                p.verdict = Verdict.UNRESOLVED
                p.reason = p.reason or "there was no time to settle it"
        found = {name: self._gradient(name, of_name) for name, of_name in places.items()}
        rules = self._rules_of_the_file()
        return Check(worst(g.verdict for g in found.values()), found, self.rules, tuple(self.notes), rules)

    def _rules_of_the_file(self) -> tuple[ResultCheck, ...]:
        try:
            return tuple(check_custom_rules(self.report))
        except Exception as error:  # as above
            self.notes.append(f"the rules that the file states were not checked: {_told(error)}")
            return ()

    def _judge_all(self, places: dict[str, list[Place]], everywhere: list[Place]) -> None:
        needed = cost(ancestors(self.report.output_node)) * COST * EVALUATIONS + self.total * ENTRY
        if needed > self.seconds / 2:
            self.notes.append(
                f"too large for {DIGITS[0]} digits in {self.seconds:g} s: each gradient is judged whole along random "
                f"directions, and up to {DIFFERENCES:,} of its entries by differences in float64"
            )
            self.floats = judge_large(self.report, places, self.random, self.until, self.progress)
        else:
            self._judge(everywhere)
        self._judge_sympy(places)

    def _places(self, name: str) -> list[Place]:
        node = self.report.by_name[name]
        value = np.asarray(self.given[name] if name in self.given else self.report.gradient(name), dtype=float)
        if value.shape != node.shape and name not in self.given:  # a rule forgot an axis
            value = np.full(node.shape, np.nan)
        if value.shape != node.shape:
            raise ValueError(f"a gradient of {name} must have shape {node.shape}, not {value.shape}")
        return [Place(node, index, float(value[index])) for index in np.ndindex(*node.shape)]

    def _judge(self, places: list[Place]) -> None:
        exact = self.mover.exact(DIGITS[0])
        m = exact.arithmetic
        if not m.context.isfinite(exact.result):
            found = Diagnosis.of_value(exact)
            for p in places:
                p.verdict, p.found, p.reason = Verdict.UNDEFINED, found, found.reason
            return
        rules = exact.gradients()
        self._moving = set(exact.base)
        for p in [p for p in places if p.node.number not in exact.base]:  # no way leads from it to the output
            p.rule, p.verdict = m.of(0), Verdict.AGREE if p.value == 0 else Verdict.DISAGREE
            p.reason = "" if p.value == 0 else "the output does not depend on it"
        places = [p for p in places if p.verdict is None]
        for p in places:
            rule = rules.get(p.node.number)
            if rule is not None and np.shape(rule) != p.node.shape:
                p.rule, p.verdict = m.nan, Verdict.DISAGREE
                p.reason = f"the gradient has shape {np.shape(rule)}, not {p.node.shape}"
                continue
            p.rule = p.entry_of(rules, m)
        self._judge_groups([p for p in places if p.verdict is None])
        self._reconsider(places)
        wrong = any(p.verdict is Verdict.DISAGREE for p in places)
        self.rules = wrong_rules(exact, None if wrong else PLACES, self.until) if self._rules_wanted(places) else ()
        self._judge_kinks([p for p in places if p.verdict is Verdict.KINK])
        self._judge_floats([p for p in places if p.verdict is Verdict.AGREE])

    def _rules_wanted(self, places: list[Place]) -> bool:
        """Whether each rule is looked at alone: where it costs little, or a gradient is wrong."""
        wrong = any(p.verdict is Verdict.DISAGREE for p in places)
        return wrong or cost(self.mover.exact(DIGITS[0]).nodes) < RULES_COST

    # Many at once ---------------------------------------------------------------------------------

    def _judge_groups(self, places: list[Place]) -> None:
        """Acquits groups along random directions; halves those that fail until single entries are left."""
        groups = self._grouped(places)
        waiting = [g for g in groups if g]
        crowd: list[Place] = []
        begun = time.monotonic()
        while waiting:
            if time.monotonic() > self.until:
                return
            group = waiting.pop()
            self.progress(sum(p.verdict is not None for p in places), self.total)
            if len(group) > 1 and self._acquitted(group):
                for p in group:
                    p.verdict = Verdict.AGREE
            elif len(group) == 1:
                if self.singles < SINGLES and time.monotonic() - begun < PATIENCE:
                    self._judge_one(group[0])
                    self.singles += 1
                else:
                    crowd += group
            elif crowd and self.mover.finite(group):
                crowd += group
            else:
                half = len(group) // 2
                waiting += [group[half:], group[:half]]
        if crowd:
            self._judge_crowd(crowd, [p for p in places if p.verdict is Verdict.KINK and self.mover.finite([p])])

    def _judge_crowd(self, crowd: list[Place], kinks: list[Place]) -> None:
        """Many entries in doubt, most likely at kinks: are they a mean of the gradients at points nearby?

        Each such gradient is the sweep's own, and believed only if the function moves as it says at that point.
        """
        until = min(self.until, time.monotonic() + CROWD_SECONDS)
        for p in crowd:
            p.reason = f"more than {self.singles} entries were in doubt; this one was not settled"
        crowd = [p for p in crowd if self.mover.finite([p])]
        movers = crowd + kinks
        target = np.array([p.value for p in movers])
        if not np.all(np.isfinite(target)) or not movers:
            return
        search = HullSearch(target, self.random)
        while time.monotonic() < until:
            search.visit(lambda direction: self.mover.swept_near(movers, direction))
            if search.rounds > 1 and search.found(self._room(movers)):
                self._settle_crowd(crowd, np.array(search.points)[:, : len(crowd)])
                return
        residual = search.residual
        for k in np.argsort(-np.abs(residual[: len(crowd)]))[:10]:  # the most suspicious ones have a look of their own
            if residual[k] != 0 and time.monotonic() < self.until:
                crowd[k].reason = ""
                self._judge_one(crowd[k])

    def _settle_crowd(self, crowd: list[Place], points: Any) -> None:
        """All these values are slopes of the function, or a mean of slopes that meet here."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        for p, low, high in zip(crowd, points.min(axis=0), points.max(axis=0), strict=True):
            p.reason = ""
            if high - low <= 1e-12 * max(abs(low), abs(high)):
                p.rule, p.verdict = m.of(float(high)), Verdict.AGREE
            else:
                p.verdict = Verdict.KINK
                p.probe = Probe(*[Side(Kind.SLOPE, m.of(float(s)), m.of(0)) for s in (low, high)])

    def _grouped(self, places: list[Place]) -> list[list[Place]]:
        """Entries whose gradients are of like size together, for each must be heard; zeros apart."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        groups: dict[Any, list[Place]] = {}
        for p in places:
            if not m.context.isfinite(p.rule) or not self.mover.movable(p):
                groups[id(p)] = [p]
                continue
            size = abs(p.rule) * self.mover.scale(p)
            bits = 0 if size == 0 else int(m.context.mag(size))
            # what is far below the function is heard at more digits, and then over a wider range
            band = "zero" if size == 0 else bits // 64 if bits > FAINT else ("faint", bits // 320)
            groups.setdefault(band, []).append(p)
        return list(groups.values())

    def _acquitted(self, group: list[Place]) -> bool:
        """Whether along two random directions the function moves as the sweep says.

        Gradients far smaller than the function itself are heard only at more digits.
        """
        m = self.mover.exact(DIGITS[0]).arithmetic
        loudest = max(abs(p.rule) * self.mover.scale(p) for p in group)
        faint = loudest != 0 and m.context.mag(loudest) <= FAINT
        for digits in DIGITS[faint:]:
            heard = self._heard(group, digits)
            if heard is not None:
                return heard
        return False

    def _heard(self, group: list[Place], digits: int) -> bool | None:
        """The same at a number of digits; None where these are too few to tell."""
        exact = self.mover.exact(digits)
        m = exact.arithmetic
        moved = exact.downstream({p.node.number for p in group})
        for _ in range(2):
            weights = self.random.uniform(0.5, 1.5, len(group)) * self.random.choice([-1.0, 1.0], len(group))
            steps, expected, loud = [], m.of(0), m.of(0)
            for p, u in zip(group, weights, strict=True):
                rule = m.number(p.rule)
                step = m.of(float(u)) * (m.divide(1, abs(rule)) if rule != 0 else m.number(self.mover.scale(p)))
                steps.append(step)
                expected = expected + rule * step
                loud = loud + abs(rule * step)
            reach = max(abs(s) / m.number(self.mover.scale(p)) for s, p in zip(steps, group, strict=True))
            found = self.mover.along(exact, group, steps, 1 / reach, moved)
            if not found.defined:
                return False
            if found.error > (SURE * loud if loud else NOTHING * max(abs(exact.result), m.one) * reach):
                return None
            if not found.smooth or abs(found.slope - expected) > RULE * loud + found.error:
                return False
        return True

    # One by one -------------------------------------------------------------------------------------

    def _judge_one(self, p: Place) -> None:
        m = self.mover.exact(DIGITS[0]).arithmetic
        if not self.mover.movable(p):
            if p.rule == 0 or not m.context.isfinite(p.rule):
                p.verdict = Verdict.AGREE if p.rule == 0 else Verdict.UNRESOLVED
            p.reason = "the input is infinite, so it cannot be moved"
            p.verdict = p.verdict or Verdict.UNRESOLVED
            return
        p.probe = first = self.mover.probe(p, DIGITS[0])
        needed = DIGITS[0]
        if not (first.smooth and first.slope != 0 and self._sure(p, first)):
            for digits in DIGITS[1:]:  # anything but a clear slope must come out again
                again = self.mover.probe(p, digits)
                needed = digits
                alike, first = again.same(first), again
                if alike and self._sure(p, again, loosely=p.rule == 0 or digits == DIGITS[-1]):
                    break
                known = again.smooth and again.slope != 0 and self._sure(p, again)
                if known and self._near(p.rule, again.slope, again.error, self.mover.exact(digits).arithmetic):
                    break  # two ways to one number that is not 0: no accident
            else:
                p.verdict = Verdict.UNRESOLVED
                p.reason = f"steps down to 1e-{EXPONENTS[DIGITS[-1]][-1]} at {DIGITS[-1]} digits tell different things"
                return
        if first.smooth and not self._near(p.rule, first.slope, first.error, m):
            self._sweep_again(p, first, needed)
        p.probe = _in(first, m)
        self._conclude(p)

    def _near(self, rule: Any, slope: Any, error: Any, m: Any) -> bool:
        rule, slope, error = (m.of(m.number(v)) for v in (rule, slope, error))
        return bool(m.context.isfinite(rule) and abs(rule - slope) <= RULE * abs(slope) + 4 * error)

    def _sweep_again(self, p: Place, found: Probe, digits: int) -> None:
        """The sweep's value at more digits: where terms cancel, even 130 may be too few."""
        for more in [d for d in DIGITS[1:] if d >= digits] or [DIGITS[-1]]:
            if time.monotonic() > self.until:
                return
            exact = self.mover.exact(more)
            if more not in self._swept:
                self._swept[more] = exact.gradients()
            rule = self._swept[more].get(p.node.number)
            if rule is None or np.shape(rule) != p.node.shape:
                return
            entry = exact.arithmetic.of(rule[p.index] if p.index else rule)
            if self._near(entry, found.slope, found.error, exact.arithmetic):
                m = self.mover.exact(DIGITS[0]).arithmetic
                p.rule = m.of(m.number(entry))
                return

    def _steady(self, p: Place) -> bool:
        """Whether the sweep's value is the same at more digits, and so no rounding error."""
        exact = self.mover.exact(DIGITS[1])
        m = exact.arithmetic
        if DIGITS[1] not in self._swept:
            self._swept[DIGITS[1]] = exact.gradients()
        rule = self._swept[DIGITS[1]].get(p.node.number, m.of(0))
        entry = m.of(rule[p.index] if p.index and np.shape(rule) == p.node.shape else rule)
        before = m.of(m.number(p.rule))
        return bool(m.context.isfinite(entry) and abs(entry - before) <= RULE * abs(before))

    def _sure(self, p: Place, found: Probe, *, loosely: bool = False) -> bool:
        """Whether the slopes, where there are any, are known well enough to judge by."""
        exact = self.mover.exact(DIGITS[0])
        m = exact.arithmetic
        for side in (found.left, found.right):
            if side.kind is not Kind.SLOPE:
                continue
            slope, error = m.of(m.number(side.slope)), m.of(m.number(side.error))
            size = max(abs(slope), abs(p.rule) if m.context.isfinite(p.rule) else m.of(0))
            if error > SURE * size and not (loosely and max(size, error) <= NOTHING * self.mover.steepness(p)):
                return False
        return True

    def _conclude(self, p: Place) -> None:
        found = p.probe
        assert found is not None
        m = self.mover.exact(DIGITS[0]).arithmetic
        left, right = found.left, found.right
        if found.smooth:
            off = abs(p.rule - found.slope)
            if m.context.isfinite(p.rule) and (
                off <= RULE * abs(found.slope) + 4 * found.error
                or (max(abs(p.rule), abs(found.slope)) <= NOTHING * self.mover.steepness(p) and not self._steady(p))
                or off <= self.mover.absorbed(p)
            ):
                p.verdict = Verdict.AGREE
            elif not m.context.isfinite(p.rule):
                p.verdict = Verdict.INACCURATE
                p.found = Diagnosis.of_rule(self.mover.exact(DIGITS[0]), p.node)
                p.reason = p.found.reason
            else:
                p.verdict = Verdict.DISAGREE
                p.reason = self._wrong_rule(p)
            return
        kinds = {left.kind, right.kind}
        sides = [s for s in (left, right) if s.kind is Kind.SLOPE]
        if kinds <= {Kind.SLOPE} or (len(sides) == 1 and Kind.DOMAIN in kinds):
            p.verdict = Verdict.KINK
            return
        if Kind.SLOW in kinds:
            p.verdict = Verdict.UNRESOLVED
            p.reason = f"down to steps of 1e-{EXPONENTS[DIGITS[1]][-1]} the slopes change too slowly to settle"
            return
        p.verdict = Verdict.UNDEFINED
        p.found = Diagnosis.of_kind(self.mover.exact(DIGITS[0]), p.node, left.kind, right.kind)
        p.reason = p.found.reason

    def _wrong_rule(self, p: Place) -> str:
        if self._hits(p):
            return (
                "each rule alone takes a slope that is allowed at its own kink, but together they are not the "
                "derivative"
            )
        return "the sweep's rules do not give this derivative"

    def _hits(self, p: Place) -> bool:
        """Whether an operator downstream stands at its kink."""
        return next(hits(self.mover.exact(DIGITS[0]), p.node), None) is not None

    # Kinks --------------------------------------------------------------------------------------------

    def _judge_kinks(self, places: list[Place]) -> None:
        """Whether the values are slopes that are allowed: each alone, and all together."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        for p in places:
            assert p.probe is not None
            slopes = [m.floats(s.slope) for s in (p.probe.left, p.probe.right) if s.kind is Kind.SLOPE]
            room = self._loose(p.node) * max(map(abs, slopes)) + 1e-300
            if p.allowed is None:
                p.allowed = min(slopes) - room <= self._meant(p) <= max(slopes) + room
            p.found = Diagnosis.of_kink(self.mover.exact(DIGITS[0]), p.node)
        both = [p for p in places if p.probe is not None and p.probe.defined]
        if 1 < len(both) <= KINKS and all(p.allowed for p in both) and not self._within_hull(both):
            for p in both:
                p.allowed = False
                p.reason = "each is a slope allowed by itself, but together they are no subgradient"

    def _within_hull(self, places: list[Place]) -> bool:
        """Whether the values together are a mean of the gradients at points nearby."""
        search = HullSearch(np.array([self._meant(p) for p in places]), self.random)
        for _ in range(ROUNDS + 2 * len(places)):
            search.visit(lambda direction: self.mover.gradient_near(places, direction))
            if search.found(self._room(places)):
                return True
        return False

    def _room(self, places: list[Place]) -> float:
        """By how much, relative to the largest, values may be off a mean of gradients."""
        return max([1e-8, *(self._loose(p.node) for p in {p.node.number: p for p in places}.values())])

    def _meant(self, p: Place) -> float:
        """The value judged; the sweep's own without the rounding errors of its floats."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        return float(m.floats(p.rule)) if self._own(p) and m.context.isfinite(p.rule) else p.value

    def _reconsider(self, places: list[Place]) -> None:
        """Acquits values that are no slope along their own entry, but a mean of the gradients at points nearby.

        Where three numbers tie, moving one of them does not move the median: each slope is 0 and yet there is no
        derivative, for moving all of them does.
        """
        wrong = [p for p in places if p.verdict is Verdict.DISAGREE and p.probe is not None and p.probe.smooth]
        wrong = [p for p in wrong if self.mover.finite([p]) and self._hits(p)]
        movers = [p for p in places if self.mover.finite([p]) and np.isfinite(p.value)]
        if not wrong:
            return
        search = HullSearch(np.array([self._meant(p) for p in movers]), self.random)
        until = min(self.until, time.monotonic() + CROWD_SECONDS)
        for _ in range(ROUNDS + 2 * min(len(movers), KINKS)):
            if time.monotonic() > until:
                return
            search.visit(lambda direction: self.mover.swept_near(movers, direction))
            if search.found(self._room(movers)):
                for p in wrong:
                    p.verdict, p.allowed = Verdict.KINK, True
                    p.reason = "no slope along this entry, but one between those around it"
                return
            if search.rounds >= ENOUGH and search.alike:
                return  # it is no kink, or the rules are wrong nearby as well

    # Floats ---------------------------------------------------------------------------------------------

    def _loose(self, node: Node) -> float:
        if self.tolerance is not None:
            return self.tolerance
        return KEPT[self._coarsest(node)]

    def _coarsest(self, node: Node) -> str:
        """The lowest precision on the way from a node to the output."""
        if self.plain:  # as nearly all graphs are
            return "float64"
        return coarsest(self.mover.exact(DIGITS[0]), node)

    def _judge_floats(self, places: list[Place]) -> None:
        """Whether float arithmetic kept the digits of gradients whose rules are right."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        doubtful = []
        for p in places:
            reference = m.floats(p.rule)
            off = abs(p.value - reference)
            if not off <= self._loose(p.node) * abs(reference):
                doubtful.append((p, reference, off))
        noises = self._rounding(sorted({p.node.number for p, _, _ in doubtful}))
        for p, reference, off in doubtful:
            unit = 2.0 ** -BITS[self._coarsest(p.node)]
            noise = noises.get(p.node.number)
            allowed = 16 * (float(noise[p.index]) if noise is not None else 0.0) + 16 * unit * abs(reference)
            own = self._own(p)
            if off <= allowed and (reference == 0 or off <= max(1e-6, 4 * self._loose(p.node)) * abs(reference)):
                p.verdict = Verdict.AGREE
            elif off <= allowed or own:
                # the rule is right, and this is what the sweep made of it in floats
                p.verdict = Verdict.INACCURATE
                p.found = Diagnosis.of_lost_digits(self.mover.exact(DIGITS[0]), p.node)
                p.reason = p.found.reason
            else:
                p.verdict = Verdict.DISAGREE
                p.reason = "the sweep's rules give another gradient than this one"

    def _judge_sympy(self, places: dict[str, list[Place]]) -> None:
        """Two readings of one formula must not differ; if they ever do, neither is believed."""
        for name, of_name in places.items():
            said = self.symbolic[name].value if name in self.symbolic else None
            if said is None:
                continue
            values = np.asarray(said, dtype=float)
            nothing = 1e-30 * np.abs(values[np.isfinite(values)]).max(initial=1e-270)
            for p in of_name:
                if p.rule is None or p.verdict not in (Verdict.AGREE, Verdict.INACCURATE):
                    continue
                right = self.mover.exact(DIGITS[0]).arithmetic.floats(p.rule)
                if np.isfinite(values[p.index]) and abs(values[p.index] - right) > 1e-9 * abs(right) + nothing:
                    p.verdict = Verdict.UNRESOLVED
                    p.reason = f"SymPy says {values[p.index]:.6g}, and differences say {right:.6g}"

    def _own(self, p: Place) -> bool:
        """Whether the value judged is what the sweep itself computed."""
        if p.node.name not in self.given:
            return True
        mine = float(np.asarray(self.report.gradient(p.node.name), dtype=float)[p.index])
        return mine == p.value or (mine != mine and p.value != p.value)

    def _rounding(self, numbers_: list[int]) -> dict[int, Any]:
        """By node, how much rounding in the precision of the graph disturbs its gradient."""
        if not numbers_:
            return {}
        return rounding_noise(
            self.mover.exact(DIGITS[0]), self._coarsest(self.report.traced.graph.nodes[numbers_[0]]), numbers_
        )

    # What is told -----------------------------------------------------------------------------------------

    def _gradient(self, name: str, places: list[Place]) -> GradientCheck:
        node = self.report.by_name[name]
        entries = [self._entry(p) for p in places]
        chosen = max(range(len(entries)), key=lambda k: _badness(entries[k]), default=None)
        told = entries[chosen] if chosen is not None else Entry((), 0.0, Verdict.AGREE)
        if chosen is not None and places[chosen].probe is None and node.number in self._moving:
            told, places[chosen] = self._looked_at(places[chosen])
        counts = {v: sum(e.verdict is v for e in entries) for v in Verdict}
        return GradientCheck(
            name,
            node.shape,
            self.given.get(name, self.report.gradient(name)),
            worst(e.verdict for e in entries),
            told,
            tuple(e for e in entries if e.verdict is not Verdict.AGREE)[:400],
            {v: n for v, n in counts.items() if n},
            self.symbolic.get(name, Symbolic(abstains="not read")),
            self._numeric(node, places),
        )

    def _looked_at(self, p: Place) -> tuple[Entry, Place]:
        """The entry that is told about, with a difference of its own."""
        exact = self.mover.exact(DIGITS[0])
        try:
            if self.mover.movable(p) and time.monotonic() < self.until + 1:
                p.probe = self.mover.probe(p, exact.arithmetic.digits)
        except Exception:
            return self._entry(p), p  # it is told without a difference of its own
        return self._entry(p), p

    def _entry(self, p: Place) -> Entry:
        assert p.verdict is not None
        if p.rule is None:
            return Entry(p.index, p.value, p.verdict, p.slope, node=p.found.node, reason=p.reason)
        floats = self.mover.exact(DIGITS[0]).arithmetic.floats
        left = right = None
        if p.verdict is Verdict.KINK and p.probe is not None:
            left, right = (floats(s.slope) if s.kind is Kind.SLOPE else None for s in (p.probe.left, p.probe.right))
        reference = exactly = None
        if p.verdict in (Verdict.AGREE, Verdict.INACCURATE):
            clear = p.probe is not None and p.probe.smooth and p.probe.error <= SURE * abs(p.probe.slope)
            exactly = p.probe.slope if clear and p.probe is not None else p.rule
        elif p.verdict is Verdict.DISAGREE:
            exactly = p.probe.slope if p.probe is not None and p.probe.smooth else p.rule
        beyond = ""
        if exactly is not None:
            reference = floats(exactly)
            beyond = self._too_large(exactly) if np.isinf(reference) else ""
        told = (p.reason, p.found.way_out, beyond)
        return Entry(p.index, p.value, p.verdict, reference, left, right, p.allowed, p.found.node, *told)

    def _too_large(self, value: Any) -> str:
        """A finite number that float64 cannot hold, to two digits: `2e+308`; "" if it is infinite."""
        m = self.mover.exact(DIGITS[0]).arithmetic
        value = m.of(m.number(value))
        return m.context.nstr(value, 2).replace(".0e", "e") if m.context.isfinite(value) else ""

    def _numeric(self, node: Node, places: list[Place]) -> Numeric:
        """The slopes that differences found: those at many digits where there are any, else those of floats.

        An entry that only a group's difference acquitted is told with the group's accuracy.
        """
        value, bound = np.full(node.shape, np.nan), np.full(node.shape, np.nan)
        left, right = np.full(node.shape, np.nan), np.full(node.shape, np.nan)
        kinks = False
        if node.name in self.floats:
            return self.floats[node.name]
        found = None
        wanted = len(places) <= DIFFERENCES and any(p.probe is None for p in places)
        if wanted and node.number in self._moving and time.monotonic() < self.until:
            try:
                found = central_differences(self.report, node.name)
            except Exception:  # a function that the file may use need not like moved inputs
                found = None
        if found is not None:
            value.reshape(-1)[found.positions] = np.where(found.usable, found.slope, np.nan)
            bound.reshape(-1)[found.positions] = np.where(found.usable, found.bound, np.nan)
            left, right = value.copy(), value.copy()
        for p in places:
            if p.rule is None:
                continue
            floats = self.mover.exact(DIGITS[0]).arithmetic.floats
            if p.probe is not None and p.probe.defined:
                left[p.index], right[p.index] = floats(p.probe.left.slope), floats(p.probe.right.slope)
                if p.probe.smooth:
                    value[p.index], bound[p.index] = floats(p.probe.slope), floats(p.probe.error)
                else:
                    kinks = True
                    value[p.index] = bound[p.index] = np.nan
            elif p.probe is not None:
                value[p.index] = bound[p.index] = np.nan
                for side, kept in ((p.probe.left, left), (p.probe.right, right)):
                    kept[p.index] = floats(side.slope) if side.kind is Kind.SLOPE else np.nan
                kinks = kinks or p.verdict is Verdict.KINK
            elif p.verdict in (Verdict.AGREE, Verdict.INACCURATE, Verdict.DISAGREE) and np.isnan(value[p.index]):
                value[p.index] = left[p.index] = right[p.index] = floats(p.rule)
                bound[p.index] = RULE * abs(floats(p.rule))
        method = f"differences at {DIGITS[0]} digits"
        return Numeric(value[()], bound[()], left[()] if kinks else None, right[()] if kinks else None, method)


def _names(report: Report, everything: bool) -> list[str]:
    if report.wrt or everything:
        return list(report.gradients)
    return [name for name in report.gradients if report.by_name[name].op is INPUT]


def _told(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _badness(entry: Entry) -> tuple[bool, int, float, float]:
    """How much an entry needs to be told about; of those that are right to the last digits, the largest."""
    off = 0.0
    if entry.reference is not None and entry.reference == entry.reference:
        off = abs(entry.value - entry.reference)
        off = np.inf if off != off else off if off > 1e-12 * abs(entry.reference) else 0.0
    size = float(f"{abs(entry.value):.9g}") if np.isfinite(entry.value) else 0.0
    return entry.allowed is False, entry.verdict.rank, off, size


def _in(found: Probe, m: Any) -> Probe:
    """A probe with its numbers in another arithmetic."""

    def of(side: Side) -> Side:
        if side.kind is not Kind.SLOPE:
            return side
        return Side(side.kind, m.of(m.number(side.slope)), m.of(m.number(side.error)))

    return Probe(of(found.left), of(found.right))

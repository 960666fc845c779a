"""A check as a table in a terminal: three numbers side by side, a verdict, and why, where it is not plain agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradcli.problems import Label
from gradcli.render.numbers import number, shape_text
from gradcli.render.problems import drawn
from gradcli.render.table import Column, Table, filled, fits, print_headline, print_notes, print_table
from gradcli.report import Report
from gradcli.verify.verdict import Check, Entry, GradientCheck, ResultCheck, Verdict, worst

MOST_ROWS = 200
"""More gradients than this that agree are cut in the middle, unless everything is asked for."""
ENDS = 10
"""How many of them are left at each end."""
MOST_GROUPS = 5
"""How many groups of entries are told about below a gradient, unless everything is asked for."""
MOST_INDICES = 6
"""How many entries of a group are named."""

WRONG_KINK = "kink, wrong"
STYLES = {
    Verdict.AGREE.value: "green",
    Verdict.KINK.value: "cyan",
    Verdict.INACCURATE.value: "yellow",
    Verdict.UNDEFINED.value: "yellow",
    Verdict.UNRESOLVED.value: "yellow",
    Verdict.DISAGREE.value: "bold red",
    WRONG_KINK: "bold red",
}
"""The colour of a verdict."""


def print_check(console: Console, report: Report, check: Check, *, digits: int, full: bool = False) -> None:
    """Prints what `gradcli check` says of a file: the table, the rules that are wrong, and a summary."""
    page = _Page(console, report, check, digits, full)
    print_headline(console, Text(f"{report.file}: {report.title}", "bold"))
    console.print()
    page.table("Check")
    page.rules()
    page.custom_rules()
    page.summary()
    page.notes((*page.silence(), *report.notes, *check.notes))


def print_cross_check(console: Console, report: Report, check: Check, *, digits: int, full: bool = False) -> None:
    """Prints the table with which a derivation ends; a summary only where there is more to say than "agree"."""
    page = _Page(console, report, check, digits, full)
    console.print()
    page.table("Cross-check")
    page.rules()
    page.custom_rules()
    if check.verdict is not Verdict.AGREE or check.wrong:
        page.summary()
    page.notes(check.notes)


def print_left_out(console: Console, report: Report, limit: str) -> None:
    """Says that a derivation was not checked, and how to have it checked."""
    console.print()
    text = f": left out, as the graph has more than {limit}; `gradcli check {report.file}` or `--check` does it"
    console.print(Text.assemble(("Cross-check", "bold"), text), soft_wrap=True)


class _Page:
    def __init__(self, console: Console, report: Report, check: Check, digits: int, full: bool) -> None:
        self.console = console
        self.report = report
        self.check = check
        self.digits = digits
        self.full = full
        unicode = "utf" in (console.encoding or "").lower()
        self.plus_minus = "±" if unicode else "+/-"
        self.tensors = any(g.shape for g in check.gradients.values())
        self.symbolic = any(g.symbolic.value is not None for g in check.gradients.values())

    # The table -----------------------------------------------------------------------------------

    def table(self, title: str) -> None:
        """The first layout that fits; the last one is as narrow as numbers allow."""
        if not self.check.gradients:
            self.console.print(Text.assemble((title, "bold"), ": there is no gradient to check"))
            return
        for formulas in (True, False):
            table = self._wide(title, formulas=formulas)
            if fits(table, self.console.width):
                break
        else:
            table = self._compact(title)
        print_table(self.console, table, light_after=MOST_ROWS)

    def _wide(self, title: str, *, formulas: bool) -> Table:
        rows = self._rows()
        values, symbolic, numeric, bounds = ([self._numbers(g)[k] for g in rows] for k in range(4))
        written = [g.symbolic.formula or "" if self._inline(g, formulas) else "" for g in rows]
        numeric = _beside(_aligned(numeric), bounds)
        columns = (
            Column("gradient", style="bold"),
            *((Column("shape"), Column("worst entry")) if self.tensors else ()),
            Column("reverse sweep"),
            *((Column("SymPy"),) if self.symbolic else ()),
            Column("finite difference"),
            Column("verdict", styles=STYLES),
        )
        formal = _equations(written, symbolic)
        cells: list[tuple[str, ...]] = []
        for at, (g, value, difference) in enumerate(zip(rows, _aligned(values), numeric, strict=True)):
            place = (shape_text(g.shape), _index(g.worst.index)) if self.tensors else ()
            cells.append((self._name(g), *place, value, *formal[at : at + self.symbolic], difference, _verdict(g)))
        below = {row: self._sentences(g, formula=not self._inline(g, formulas)) for row, g in enumerate(rows)}
        return self._cut(title, columns, cells, below)

    def _compact(self, title: str) -> Table:
        """Shape and bound go below the name and the number that they belong to."""
        rows = self._rows()
        columns = (
            Column("gradient", style="bold"),
            Column("reverse sweep"),
            *((Column("SymPy"),) if self.symbolic else ()),
            Column("finite difference", wrap=True),
            Column("verdict", styles=STYLES),
        )
        values, symbolic, numeric, bounds = ([self._numbers(g)[k] for g in rows] for k in range(4))
        cells = [
            (
                self._name(g) + (f"{_index(g.worst.index)}\n{shape_text(g.shape)}" if g.shape else ""),
                value,
                *([formal] if self.symbolic else []),
                f"{difference}\n{bound}".strip(),
                _verdict(g),
            )
            for g, value, formal, difference, bound in zip(rows, values, symbolic, numeric, bounds, strict=True)
        ]
        below = {row: self._sentences(g, formula=True) for row, g in enumerate(rows)}
        return self._cut(title, columns, cells, below)

    def _inline(self, g: GradientCheck, formulas: bool) -> bool:
        """Whether a formula stands beside its number: that of a tensor does not, as the number is one entry's."""
        return formulas and g.shape == ()

    def _rows(self) -> list[GradientCheck]:
        return list(self.check.gradients.values())

    def _cut(
        self, title: str, columns: tuple[Column, ...], cells: list[tuple[str, ...]], below: dict[int, list[str]]
    ) -> Table:
        """The table without the middle of a long run of rows that say nothing but `agree`."""
        rows = self._rows()
        quiet = [place for place, g in enumerate(rows) if g.verdict is Verdict.AGREE and not g.wrong]
        left_out = set(quiet[ENDS:-ENDS]) if len(quiet) > MOST_ROWS and not self.full else set()
        kept: list[tuple[str, ...]] = []
        sentences: dict[int, Sequence[str]] = {}
        for place, row in enumerate(cells):
            if place not in left_out:
                kept.append(row)
            if below[place] and place not in left_out:
                sentences[len(kept) - 1] = below[place]
            if left_out and place == max(left_out):
                note = f"... and {len(left_out):,} more gradients that agree: --full shows all"
                sentences[len(kept) - 1] = [*sentences.get(len(kept) - 1, ()), note]
        return Table(title, columns, kept, self._methods(), sentences)

    def _methods(self) -> str:
        rows = self._rows()
        symbolic = list(dict.fromkeys(g.symbolic.method for g in rows if g.symbolic.method))
        numeric = list(dict.fromkeys(g.numeric.method for g in rows if g.numeric.method))
        parts = ([f"SymPy: {' or '.join(symbolic)}"] if symbolic else []) + ([", ".join(numeric)] if numeric else [])
        return f"({'; '.join(parts)})" if parts else ""

    # Numbers -------------------------------------------------------------------------------------

    def _numbers(self, g: GradientCheck) -> tuple[str, str, str, str]:
        """The worst entry's value in the sweep, by SymPy and by differences, and the bound of the last."""
        entry = g.worst
        symbolic = _at(g.symbolic.value, entry.index)
        slope = _at(g.numeric.value, entry.index)
        bound = _at(g.numeric.error_bound, entry.index)
        write = self._writing(entry, [entry.value, symbolic, slope, entry.reference])
        formal = "abstains" if symbolic is None else write(symbolic)
        if entry.beyond:
            formal = "too large" if symbolic is not None and math.isinf(symbolic) else formal
            return write(entry.value), formal, "none" if slope is None else entry.beyond, ""
        if entry.verdict is Verdict.KINK:
            return write(entry.value), formal, self._sides(entry), ""
        if slope is None:
            return write(entry.value), formal, "none", ""
        return (
            write(entry.value),
            formal,
            write(slope),
            f"{self.plus_minus} {_bound(bound)}" if bound is not None else "",
        )

    def _writing(self, entry: Entry, values: Iterable[float | None]) -> Callable[[float], str]:
        """How the numbers of an entry are written: alike where they agree, apart where they do not."""
        given = [v for v in values if v is not None and math.isfinite(v)]
        digits = self.digits
        if entry.verdict is Verdict.AGREE:
            # two numbers may stand on either side of a half: a digit more or less shows them as the one they are
            tried = (digits, digits + 1, digits + 2, digits - 1)
            digits = next((d for d in tried if d > 0 and len({number(v, d) for v in given}) == 1), digits)
        elif entry.verdict in (Verdict.DISAGREE, Verdict.INACCURATE) and entry.reference is not None:
            while digits < 17 and number(entry.value, digits) == number(entry.reference, digits):
                digits += 1
        return lambda value: number(value, digits)

    def _sides(self, entry: Entry) -> str:
        sides = (("left", entry.left), ("right", entry.right))
        return ", ".join(f"{name} {'none' if slope is None else self._number(slope)}" for name, slope in sides)

    def _number(self, value: float) -> str:
        return number(value, self.digits)

    # Sentences -----------------------------------------------------------------------------------

    def _name(self, g: GradientCheck) -> str:
        return f"d{self.report.output}/d{g.name}"

    def _sentences(self, g: GradientCheck, *, formula: bool) -> list[str]:
        """What is to be said below a row."""
        said = []
        if formula and g.symbolic.formula:
            said.append(f"SymPy: {self._name(g)} = {g.symbolic.formula}")
        groups = self._groups(g)
        shown = list(groups) if self.full else list(groups)[:MOST_GROUPS]
        for entry, reason in ((groups[text][0], text) for text in shown):
            indices = [_index(e.index) for e in groups[reason]]
            where = f"{_several(indices, len(indices) if self.full else MOST_INDICES)}: " if entry.index else ""
            said.append(f"{where}{reason}")
            if entry.way_out:
                said.append(f"way out: {entry.way_out}")
        left_out = sum(len(groups[text]) for text in groups) - sum(len(groups[text]) for text in shown)
        if left_out:
            said.append(f"and {left_out:,} more entries: --full shows them")
        return said

    def _groups(self, g: GradientCheck) -> dict[str, list[Entry]]:
        """The entries that are told about, the worst first, by what is said of them."""
        told = sorted(g.entries, key=lambda e: (e is not g.worst, -e.verdict.rank))
        if g.worst.verdict is not Verdict.AGREE and g.worst not in told:
            told.insert(0, g.worst)
        groups: dict[str, list[Entry]] = {}
        for entry in told:
            if entry.verdict is not Verdict.AGREE:
                groups.setdefault(self._reason(entry), []).append(entry)
        return groups

    def _reason(self, entry: Entry) -> str:
        parts = [text for text in (self._node(entry.node), entry.reason) if text]
        write = self._writing(entry, [entry.value, entry.reference])
        if entry.verdict is Verdict.KINK:
            slopes = self._sides(entry).replace("left ", "left slope ").replace("right ", "right slope ")
            allowed = {True: ", which is allowed", False: ", which is not allowed", None: ""}[entry.allowed]
            parts.append(f"{slopes}; the sweep uses {self._number(entry.value)}{allowed}")
        elif entry.beyond:
            beyond = f"the derivative is beyond the range of float64 (about {entry.beyond})"
            parts.append(f"{beyond}, the reverse sweep says {write(entry.value)}")
        elif entry.reference is not None and entry.verdict in (Verdict.DISAGREE, Verdict.INACCURATE):
            numbers = f"the derivative is {write(entry.reference)}, the reverse sweep says {write(entry.value)}"
            parts.append(numbers)
        return ": ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:]) or entry.verdict.value

    def _node(self, name: str) -> str:
        """A node with its operation: `y = relu(x)`."""
        if not name or name not in self.report.by_name:
            return name
        operation = self.report.operation(self.report.node(name))
        return f"{name} = {operation}" if operation else name

    # Below the table -----------------------------------------------------------------------------

    def rules(self) -> None:
        """The rules that are wrong by themselves."""
        if not self.check.rules:
            return
        self.console.print()
        rows, below = [], {}
        for place, rule in enumerate(self.check.rules):
            rows.append((rule.operation, f"{rule.slot + 1}, for {rule.operand}", self._node(rule.node), rule.verdict))
            if rule.reason:
                below[place] = [rule.reason]
        columns = (
            Column("operation", style="bold"),
            Column("result"),
            Column("at", wrap=True),
            Column("verdict", styles=STYLES),
        )
        print_table(self.console, Table("Wrong rules", columns, rows, "(each alone, at its inputs here)", below))

    def custom_rules(self) -> None:
        """The rules that the file states: one line for a rule that is right, one and its slip for a wrong result."""
        rules: dict[str, list[ResultCheck]] = {}
        for result in self.check.custom_rules:
            rules.setdefault(result.rule, []).append(result)
        shown: set[tuple[int, str, str]] = set()
        if rules:
            self.console.print()
        for name, results in rules.items():
            told = {r.sentence: r for r in reversed(results) if not r.right}  # once, however many calls there are
            for place, result in enumerate(reversed(told.values())):
                what = (result.span.line if result.span is not None else 0, result.slip, result.edit)
                if result.edit and what in shown:
                    which = result.sentence.partition(": ")[0]
                    same = f"{which}: wrong, by the slip in line {what[0]} that is shown above"
                    for line in filled(same, self.console.width):
                        self.console.print(Text(line, STYLES[result.verdict]), soft_wrap=True)
                    continue
                shown.add(what)
                if place:
                    self.console.print()
                lines = _result_lines(result, self.console.width)
                self.console.print(Text("\n").join(lines), soft_wrap=True)
            if not told:
                count = _count(len({(r.position, r.operand) for r in results}), "result")
                self.console.print(Text(f"{name}: right ({count})", STYLES[Verdict.AGREE]), soft_wrap=True)
            for note in dict.fromkeys(f"{r.sentence} {r.note}" for r in results if r.right and r.note):
                for line in filled(note, self.console.width):
                    self.console.print(Text(line), soft_wrap=True)

    def summary(self) -> None:
        """How many entries have which verdict, and what that means for kinks."""
        style = STYLES[Verdict.DISAGREE if self.check.wrong else worst(self.check.counts)]
        lines = summary_lines(self.check, self._number)
        if lines:
            self.console.print()
        for line in lines:
            for part in filled(line, self.console.width):
                self.console.print(Text(part, style), soft_wrap=True)

    def silence(self) -> Iterator[str]:
        """Why SymPy says nothing, but where there is no derivative that it could have told."""
        silent: dict[str, list[str]] = {}
        for g in self.check.gradients.values():
            if g.symbolic.abstains and g.verdict not in (Verdict.KINK, Verdict.UNDEFINED):
                silent.setdefault(g.symbolic.abstains, []).append(self._name(g))
        for reason, names in silent.items():
            yield f"SymPy abstains from {_several(names, 6)}: {reason}"

    def notes(self, notes: Sequence[str]) -> None:
        """What else is to be known, such as what was not covered."""
        print_notes(self.console, notes)


def _result_lines(result: ResultCheck, width: int) -> list[Text]:
    """A result of a stated rule that is not right, drawn as a fault is: the line at fault, the slip and the edit."""
    which, _, message = result.sentence.partition(": ")
    labels: list[Label] = [Label(result.span, "")] if result.span is not None else []
    remarks = [("slip", result.slip), ("edit", result.edit), ("note", result.note)]
    if result.problem is not None:
        labels = list(result.problem.labels) or labels
        remarks.append(("help", result.problem.help))
    remarks = [(kind, text) for kind, text in remarks if text]
    head = Text(f"{which}: ", STYLES[result.verdict])
    return drawn(head, message, labels, remarks, width=width)


def summary_lines(check: Check, write: Callable[[float], str]) -> list[str]:
    """`5 gradients, 14 entries: all agree`, and a sentence on the kinks; numbers are written with `write`."""
    gradients, entries = len(check.gradients), check.entries
    counted = _count(gradients, "gradient") + (f", {_count(entries, 'entry')}" if entries != gradients else "")
    counts = check.counts
    kinks = [e for g in check.gradients.values() for e in g.entries if e.verdict is Verdict.KINK]
    if not counts:
        return []
    if set(counts) == {Verdict.AGREE}:
        words = "all agree" if entries > 1 else "agrees"
        lines = [f"{counted}: {words}"]
    elif set(counts) == {Verdict.KINK} and kinks:
        lines = []  # the sentence below says it all
    else:
        lines = [f"{counted}: {', '.join(_tally(verdict, count) for verdict, count in counts.items())}"]
    if kinks:
        lines += _kink_lines(kinks, counts.get(Verdict.KINK, len(kinks)), write)
    if check.rules:
        lines.append(f"{_count(len(check.rules), 'rule')} of differentiation {_is(len(check.rules))} wrong")
    stated = {(r.rule, r.position, r.operand) for r in check.custom_rules if r.verdict is Verdict.DISAGREE}
    if stated:
        lines.append(f"{_count(len(stated), 'result')} of the rules in the file {_is(len(stated))} wrong")
    return lines


def _kink_lines(kinks: Sequence[Entry], count: int, write: Callable[[float], str]) -> list[str]:
    refused = [e for e in kinks if e.allowed is False]
    lines = []
    fine = count - len(refused)
    if fine == 1:
        entry = next(e for e in kinks if e.allowed is not False)
        value = f"the reverse sweep's {write(entry.value)}"
        lines.append(f"1 kink: {value} is one of the slopes allowed there{_interval(entry, write)}")
    elif fine:
        lines.append(f"{fine:,} kinks: each value of the reverse sweep is one of the slopes allowed there")
    if len(refused) == 1:
        value = f"the reverse sweep's {write(refused[0].value)}"
        lines.append(f"1 kink: {value} is none of the slopes allowed there{_interval(refused[0], write)}")
    elif refused:
        lines.append(f"{len(refused):,} kinks: the reverse sweep's values are none of the slopes allowed there")
    return lines


def _interval(entry: Entry, write: Callable[[float], str]) -> str:
    slopes = sorted(s for s in (entry.left, entry.right) if s is not None)
    if len(slopes) == 2:
        return f" ({write(slopes[0])} to {write(slopes[1])})"
    side = "right" if entry.left is None else "left"
    return f" (only the {side} side has one: {write(slopes[0])})" if slopes else ""


def _tally(verdict: Verdict, count: int) -> str:
    words = {Verdict.AGREE: "agrees", Verdict.KINK: "kink", Verdict.DISAGREE: "disagrees"}
    several = {Verdict.KINK: "kinks"}
    word = words.get(verdict, verdict.value) if count == 1 else several.get(verdict, verdict.value)
    return f"{count:,} {word}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _count(count: int, what: str) -> str:
    many = what.removesuffix("y") + "ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def _verdict(g: GradientCheck) -> str:
    return WRONG_KINK if g.verdict is not Verdict.DISAGREE and g.wrong else g.verdict.value


def _index(index: Sequence[int]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if index else ""


def _at(value: Any, index: tuple[int, ...]) -> float | None:
    """One entry; None where there is no number."""
    if value is None:
        return None
    entry = float(value[index] if getattr(value, "shape", ()) else value)
    return None if math.isnan(entry) else entry


def _bound(bound: float) -> str:
    """An error bound to one digit, rounded up, lest it promise too much."""
    if not math.isfinite(bound) or bound == 0:
        return number(bound)
    exact = Decimal(repr(float(bound)))
    return number(float(exact.quantize(Decimal(1).scaleb(exact.adjusted()), ROUND_CEILING)), 1)


def _aligned(texts: Sequence[str]) -> list[str]:
    """Numbers with their points below each other and all as wide as the widest; words as they are."""
    heads = [_head(text) for text in texts]
    widest = max(heads, default=0)
    shifted = [" " * (widest - head) + text if head else text for text, head in zip(texts, heads, strict=True)]
    width = max((len(text) for text, head in zip(shifted, heads, strict=True) if head), default=0)
    return [text.ljust(width) if head else text for text, head in zip(shifted, heads, strict=True)]


def _head(text: str) -> int:
    """How many characters of a number stand before its point; 0 for words."""
    digits = text.lstrip("-")
    if not digits[:1].isdigit():
        return 0
    return len(text) - len(digits.lstrip("0123456789"))


def _equations(formulas: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """`y + z = 7`, the signs below each other; numbers alone where nothing has a formula."""
    width = max(map(cell_len, formulas), default=0)
    if not width:
        return _aligned(numbers)
    texts = []
    for formula, value in zip(formulas, numbers, strict=True):
        if formula:
            texts.append(f"{formula}{' ' * (width - cell_len(formula))} = {value}")
        else:
            texts.append(" " * (width + 3) + value if _head(value) else value)
    return texts


def _beside(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    """Two columns in one."""
    return [f"{text} {other}".rstrip() if text else other for text, other in zip(texts, others, strict=True)]


def _several(names: Sequence[str], most: int) -> str:
    """Some names, the rest counted."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} others"

"""A report as tables in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from gradcli.graph import INPUT, Node
from gradcli.graph.op import size_of
from gradcli.render.numbers import CELL_WIDTH, LARGE, block, number, shape_text, summary, tensor
from gradcli.render.table import Column, Table, print_headline, print_notes, print_table
from gradcli.report import Contribution, Report, Step, Visit
from gradcli.report.sequences import Change, StateSequence

SUMMARY_ROWS = 200
"""A table of more rows than this is cut in the middle, unless everything is asked for."""
SUMMARY_ENDS = 10
"""How many rows are left at each end of a cut table."""

BAR = 30
"""The length of the longest bar of a chart."""

SECTIONS = ("values", "order", "gradients", "formulas")
"""The parts of a derivation, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Style:
    """What the reader asked for: digits, everything or a summary, which sections."""

    digits: int = 4
    full: bool = False
    sections: tuple[str, ...] = SECTIONS
    headline: bool = True


def print_report(console: Console, report: Report, style: Style) -> None:
    """Prints the sections of a report."""
    _Printer(console, report, style).print()


class _Printer:
    def __init__(self, console: Console, report: Report, style: Style) -> None:
        self.console = console
        self.report = report
        self.style = style
        self.unicode = "utf" in (console.encoding or "").lower()
        self.times = "×" if self.unicode else "x"
        self.dash = "–" if self.unicode else "-"

    def print(self) -> None:
        """The title, the sections asked for, and the notes."""
        if self.style.headline:
            print_headline(self.console, self.title())
        every = set(self.style.sections) == set(SECTIONS)
        tables: dict[str, Callable[[], Table]] = {
            "values": self.forward_values,
            "order": self.reverse_order,
            "gradients": self.gradients,
            "formulas": lambda: self.results(inputs_only=every),
        }
        for section in SECTIONS:
            if section in self.style.sections:
                self.console.print()
                print_table(self.console, tables[section](), light_after=SUMMARY_ROWS)
        if every:
            for table in self.through_time():
                self.console.print()
                print_table(self.console, table, light_after=SUMMARY_ROWS)
        print_notes(self.console, self.report.notes)

    def title(self) -> Text:
        """`circuit.txt: z = (x + y) * w`."""
        return Text(f"{self.report.file}: {self.report.title}", "bold")

    # Numbers ---------------------------------------------------------------------------------

    def number(self, value: Any) -> str:
        """A scalar, or a tensor on one line."""
        return tensor(value, self.style.digits) if getattr(value, "shape", ()) else number(value, self.style.digits)

    def cell(self, value: Any) -> str:
        """A value in a cell: small tensors whole, large ones as shape, range and norm."""
        if getattr(value, "shape", ()) == ():
            return number(value, self.style.digits)
        if size_of(value) > LARGE and not self.style.full:
            return summary(value, self.style.digits)
        if len(value.shape) == 1:  # a vector takes the room there is
            return block(value, self.style.digits, max(CELL_WIDTH, self.console.width // 3))
        return block(value, self.style.digits)

    def picked(self, count: int) -> tuple[list[int], int]:
        """Which of `count` rows are shown, and how many are left out."""
        if self.style.full or count <= SUMMARY_ROWS:
            return list(range(count)), 0
        ends = [*range(SUMMARY_ENDS), *range(count - SUMMARY_ENDS, count)]
        return ends, count - len(ends)

    def gap(self, columns: int, left_out: int, at: int) -> tuple[str, ...]:
        """The row that stands for those left out."""
        row = [""] * columns
        row[0], row[at] = "...", f"({left_out:,} more rows: --full shows all)"
        return tuple(row)

    # Forward values ------------------------------------------------------------------------------

    def forward_values(self) -> Table:
        """Every node with its operation, the numbers put in, and its value."""
        report = self.report
        shown, left_out = self.picked(len(report.shown))
        scalar = report.scalar
        columns = (
            Column("#", "right"),
            Column("node", style="bold"),
            *(() if scalar else (Column("shape"),)),
            Column("operation", wrap=True),
            *((Column("with values", wrap=True),) if scalar else ()),
            Column("value", "right" if scalar else "left", wrap=not scalar),
        )
        rows: list[tuple[str, ...]] = []
        previous = -1
        for place in shown:
            if place != previous + 1:
                rows.append(self.gap(len(columns), left_out, 2 if scalar else 3))
            previous = place
            rows.append(self._value_row(place, report.shown[place], scalar))
        return Table("Forward values", _unbroken(columns, rows, len(columns) - 1), rows)

    def _value_row(self, place: int, node: Node, scalar: bool) -> tuple[str, ...]:
        value = self.report.values[node.number]
        operation = self.report.operation(node) or ("input" if node.differentiable else "data")
        numbers = self.with_values(node)
        head = (str(place + 1), node.name)
        if scalar:
            return (*head, operation, numbers, self.number(value))
        if numbers and numbers != operation:
            operation += f"\n= {numbers}"
        return (*head, shape_text(node.shape), operation, self.cell(value))

    def with_values(self, node: Node) -> str:
        """The operation of a scalar over scalars, with their numbers in place of their names."""
        if node.leaf or node.shape or any(o.shape for o in node.operands):
            return ""
        values = self.report.values
        return self.report.operation_text(node, [self.number(values[o.number]) for o in node.operands])

    # The order -------------------------------------------------------------------------------

    def reverse_order(self) -> Table:
        """Which node is visited when, and why it is ready then."""
        report = self.report
        inner = [k for k, n in enumerate(report.order_nodes) if n.op is not INPUT]
        shown, left_out = self.picked(len(inner))
        columns = (
            Column("step", "left"),
            Column("node", style="bold", wrap=True),
            Column("upstream complete because", wrap=True),
            Column("makes ready", wrap=True),
        )
        rows: list[tuple[str, ...]] = []
        previous = -1
        for place, visit in zip(shown, report.visits(inner[place] for place in shown), strict=True):
            if place != previous + 1:
                rows.append(self.gap(4, left_out, 2))
            previous = place
            rows.append(self._visit_row(visit))
        rows.extend(self._inputs_row(len(inner), [n.name for n in report.order_nodes[len(inner) :]]))
        remark = "(a node is ready when every consumer has sent its contribution)"
        return Table("Reverse topological order", columns, rows, remark)

    def _visit_row(self, visit: Visit) -> tuple[str, ...]:
        if visit.because:
            because = f"{_several(visit.because)} {'is' if len(visit.because) == 1 else 'are'} done"
        else:
            because = f"it is the output: seed {self._seed_text()}"
        ready = _several(visit.ready)
        waiting = "; ".join(f"{name} still waits for {_several(whom, 3)}" for name, whom in visit.waiting)
        return (str(visit.step), visit.node, because, f"{ready}  ({waiting})".strip() if waiting else ready)

    def _seed_text(self) -> str:
        seed = self.report.seed
        if getattr(seed, "shape", ()) == ():
            return self.number(seed)
        node = self.report.seed_node
        return node.name if node is not None else f"of shape {shape_text(seed.shape)}"

    def _inputs_row(self, before: int, names: Sequence[str]) -> list[tuple[str, ...]]:
        if not names:
            return []
        first, last = before + 1, before + len(names)
        steps = str(first) if first == last else f"{first}{self.dash}{last}"
        return [
            (
                steps,
                _several(names),
                "inputs: nothing to pass on" if len(names) > 1 else "an input: nothing to pass on",
                "",
            )
        ]

    # Gradients ------------------------------------------------------------------------------------

    def gradients(self) -> Table:
        """Every contribution, step by step."""
        report = self.report
        senders = [k for k, sent in enumerate(report.sweep.sent) if sent]
        shown, left_out = self.picked(len(senders))
        scalar = report.scalar
        columns = (
            Column("step"),
            Column("node", style="bold"),
            Column("upstream"),
            Column("operand"),
            *((Column("local", wrap=True),) if scalar else (Column("rule", wrap=True),)),
            Column("contribution", "right" if scalar else "left", wrap=not scalar),
            *((Column("gradient of the operand", wrap=True),) if scalar else ()),
        )
        rows: list[tuple[str, ...]] = []
        steps = report.steps([senders[place] for place in shown])
        previous = -1
        for place, step in zip(shown, steps, strict=True):
            if place != previous + 1:
                rows.append(self.gap(len(columns), left_out, 4))
            previous = place
            rows.extend(self._step_rows(step, scalar))
        if scalar:
            rows = self._shortened(rows)
        columns = _unbroken(columns, rows, 5)
        return Table("Gradients", columns, rows, f"(contribution = upstream {self.times} local)")

    def _shortened(self, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The rows with `dL/da = 2` cut to `2` in the upstream column, where the table would be too wide."""
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(len(rows[0]))] if rows else []
        if sum(widths) + 2 * len(widths) <= self.console.width:
            return rows
        return [(*row[:2], row[2].rpartition("= ")[2], *row[3:]) for row in rows]

    def _step_rows(self, step: Step, scalar: bool) -> list[tuple[str, ...]]:
        upstream = self.number(step.upstream) if not step.shape else shape_text(step.shape)
        name = step.node
        if scalar:
            upstream = f"{self.of(step.node)} = {upstream}"
        elif self.report.by_name[name].number in self.report.traced.inner:
            name += f"\n= {step.formula}"
        head: tuple[str, ...] = (str(step.step), name, upstream)
        rows = []
        for c in step.contributions:
            for row in self._scalar_rows(c) if scalar else self._tensor_rows(step, c):
                rows.append((*head, *row))
                head = ("", "", "")
        return rows

    def of(self, name: str) -> str:
        """The name of a node's gradient: `dL/dz1`."""
        return f"d{self.report.output}/d{name}"

    def _scalar_rows(self, c: Contribution) -> list[tuple[str, ...]]:
        assert c.local is not None
        local = self.number(c.local)
        written = f"{c.local_formula} = {local}" if c.local_formula else local
        missing = c.expected - len(c.arrived)
        total = (
            f"({self._sum(c)}, {_count(missing)} more to come)" if missing else f"{self.of(c.operand)} = {self._sum(c)}"
        )
        return [(c.operand, written, self.number(c.value), total)]

    def _tensor_rows(self, step: Step, c: Contribution) -> list[tuple[str, ...]]:
        """Shape, rule and numbers; then the sum that undoes broadcasting; then the sum at a shared node."""
        gradient = self.of(c.operand)
        operand = f"{c.operand} {shape_text(c.shape)}" if c.shape else c.operand
        missing = c.expected - len(c.arrived)
        equals = f"{gradient} {'=' if c.expected == 1 else '+='} "
        count = "" if c.expected == 1 else f"\n({len(c.arrived)} of {c.expected})"
        rows: list[tuple[str, ...]] = []
        if c.summed_over:
            node = self.report.by_name[step.node]
            rule = self.report.unsummed_rule(node, c.slot)
            rows.append((operand, f"{rule}\nof shape {shape_text(node.shape)}", self.cell(c.unsummed)))
            rows.append(("", equals + self._sum_text(node, c) + count, self.cell(c.value)))
        else:
            rows.append((operand, equals + c.rule + count, self.cell(c.value)))
        if c.expected > 1 and not missing:
            total = self.cell(c.gradient_so_far) if c.shape else self._sum(c)
            rows.append(("", f"{gradient} = the sum of its {c.expected} contributions", total))
        return rows

    def _sum_text(self, node: Node, c: Contribution) -> str:
        times = 1
        for axis in c.summed_over:
            times *= node.shape[axis]
        axes = f"axis {c.summed_over[0]}" if len(c.summed_over) == 1 else f"axes {', '.join(map(str, c.summed_over))}"
        return f"its sum over {axes}, because {c.operand} was repeated {times} times by broadcasting"

    def _sum(self, c: Contribution) -> str:
        """`4 + 3 = 7`."""
        if c.shape:
            return ""
        total = self.number(c.gradient_so_far)
        if len(c.arrived) == 1:
            return total
        if len(c.arrived) > 6:
            return f"sum of {len(c.arrived)} = {total}"
        parts = [self.number(v) for v in c.arrived]
        return f"{' + '.join([parts[0], *(f'({p})' if p.startswith('-') else p for p in parts[1:])])} = {total}"

    # Results --------------------------------------------------------------------------------------

    def results(self, *, inputs_only: bool) -> Table:
        """Each gradient as a closed formula in the names of the file, and its value."""
        every = [g for g in self.report.gradients.values() if g.name != self.report.output]
        rows = [g for g in every if g.input or not inputs_only or self.report.wrt]
        if not rows:
            rows = list(self.report.gradients.values())
        shown, left_out = self.picked(len(rows))
        columns = (
            Column("gradient", style="bold"),
            *(() if self.report.scalar else (Column("shape"),)),
            Column("formula", wrap=True),
            Column("value", "right" if self.report.scalar else "left", wrap=not self.report.scalar),
        )
        cells: list[tuple[str, ...]] = []
        formulas = self.report.formulas(rows[place].name for place in shown)
        previous = -1
        for place in shown:
            if place != previous + 1:
                cells.append(self.gap(len(columns), left_out, len(columns) - 2))
            previous = place
            g = rows[place]
            formula = formulas[g.name] if g.path else "0: no path leads to it"
            shape = () if self.report.scalar else (shape_text(g.shape),)
            cells.append((self.of(g.name), *shape, formula, self.cell(g.value)))
        return Table("Gradients as formulas", _unbroken(columns, cells, len(columns) - 1), cells)

    # Through time -----------------------------------------------------------------------------

    def through_time(self) -> Iterator[Table]:
        """How the gradient fades or grows from state to state, and what truncation and clipping do to it."""
        for sequence in self.report.sequences:
            yield self._states(sequence)
        if self.report.truncation is not None:
            cut = self.report.truncation
            states = _several([name for name, _ in cut.cuts]) or "no state: the sequence is too short"
            yield self._changes(f"Truncation: the way back is cut at {states}", "cut", cut.changes)
        if self.report.clipping is not None:
            clipped = self.report.clipping
            norm, limit = self.number(clipped.norm), self.number(clipped.limit)
            times = f"{self.times} {self.number(clipped.factor)}"
            title = f"Clipping to the joint norm {limit}: it is {norm}, so every gradient {times}"
            remark = "(once, after the whole sweep: clipped on the way, a gradient would no longer be one)"
            yield self._changes(title, "clipped", clipped.changes, remark)

    def _states(self, sequence: StateSequence) -> Table:
        largest = max((s.norm for s in sequence.states if np.isfinite(s.norm)), default=0.0)
        shown, left_out = self.picked(len(sequence.states))
        jacobians = any(s.jacobian is not None for s in sequence.states)
        columns = (
            Column("state", style="bold"),
            Column("norm of its gradient", "right"),
            Column(""),
            *((Column("Jacobian to the next", "right"), Column("product to the last", "right")) if jacobians else ()),
        )
        rows: list[tuple[str, ...]] = []
        previous = -1
        for place in shown:
            if place != previous + 1:
                rows.append(self.gap(len(columns), left_out, 1))
            previous = place
            state = sequence.states[place]
            row = (state.name, self.number(state.norm), self._bar(state.norm, largest))
            factors = ["" if f is None else self.number(f) for f in (state.jacobian, state.product)]
            rows.append((*row, *factors) if jacobians else row)
        return Table(f"The gradient of {sequence.name} through time", columns, rows)

    def _bar(self, value: float, largest: float) -> str:
        """A bar whose length is to the longest as a value is to the largest."""
        share = value / largest if largest > 0 and np.isfinite(value) else 0.0
        return ("█" if self.unicode else "#") * round(BAR * share) or (("▏" if self.unicode else "|") if value else "")

    def _changes(self, title: str, word: str, changes: Sequence[Change], remark: str = "") -> Table:
        columns = (
            Column("gradient", style="bold"),
            Column("norm", "right"),
            Column(word, "right"),
            Column("moved by", "right"),
            Column("cosine", "right"),
        )
        rows = [
            (
                self.of(c.name),
                self.number(c.before),
                self.number(c.after),
                f"{100 * c.distance:.3g} %",
                self.number(c.cosine),
            )
            for c in changes
        ]
        return Table(title, columns, rows, remark)


def _unbroken(columns: tuple[Column, ...], rows: list[tuple[str, ...]], at: int) -> tuple[Column, ...]:
    """The columns, that of numbers kept in one piece: only the words of a summary may be broken."""
    long = any(len(line) > 2 * CELL_WIDTH for row in rows for line in row[at].split("\n"))
    return (*columns[:at], replace(columns[at], wrap=long), *columns[at + 1 :])


def _several(names: Sequence[str], most: int = 8) -> str:
    """Some names, the rest counted: a node may have a million consumers."""
    if len(names) <= most:
        return ", ".join(names)
    left_out = len(names) - most + 1
    return f"{', '.join(names[: most - 1])} and {left_out:,} others"


def _count(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count] if count < len(words) else f"{count:,}"

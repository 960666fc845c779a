"""Problems drawn as rustc draws them: the message, the lines it is about with carets, and a way out.

Everything is measured in terminal cells, not characters, because a caret is of no use unless it stands
below the very thing it means. All that is drawn here is ASCII; text of the user is never cut, except
for source lines wider than the terminal, and never reaches the terminal with control characters in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradcli.problems.core import Label, Problem, Source, Span

MOST = 20  # so many problems are drawn at a time; whoever has more fixes these first
_TAB = " " * 4
_CUT = "..."
_HANG = 4  # how far a message is indented from its second line on
_NARROWEST_ROOM = 20  # a source line is not cut to less, whatever the width of the terminal
_NARROWEST_TEXT = 24  # nor is the text of a label wrapped to less if it can begin further left

_FRAME, _PRIMARY, _OTHER = "bold blue", "bold red", "bold blue"
_REMARK_STYLES = {"note": "bold", "help": "bold cyan"}
_WORD = re.compile(r"( *)((?:\((?:\d+, )+\d+\)|[^ ])+)")  # a shape such as (2, 3) counts as one word


def print_problems(console: Console, problems: Sequence[Problem], *, ascii_only: bool = False) -> None:
    """Print the problems in order of place, those without one first; at most `MOST` of them.

    Sources stay in the order in which they first occur. For `ascii_only` see `problem_lines`.
    """
    sources = [problem.labels[0].span.source for problem in problems if problem.labels]

    def place(problem: Problem) -> list[tuple[int, int, int]]:
        spans = [label.span for label in problem.labels[:1]]
        return [(sources.index(span.source), span.line, span.column) for span in spans]

    for index, problem in enumerate(sorted(problems, key=place)[:MOST]):
        lines = problem_lines(problem, width=console.width, ascii_only=ascii_only)
        console.print(Text("\n").join([Text()] * bool(index) + lines), soft_wrap=True)
    if (more := len(problems) - MOST) > 0:
        console.print(Text(f"\n{more} more problem{'s are' if more > 1 else ' is'} not shown"))


def problem_lines(problem: Problem, *, width: int, ascii_only: bool = False) -> list[Text]:
    """Draw one problem, line by line, for a terminal of `width` cells.

    With `ascii_only`, other characters become the escapes that Python has for them, carets adjusted.
    """
    head = Text.assemble((f"error[{problem.code}]", "bold red"), (": ", "bold"))
    remarks = [("note", note) for note in problem.notes] + [("help", problem.help)] * bool(problem.help)
    return drawn(head, problem.message, problem.labels, remarks, width=width, ascii_only=ascii_only)


def drawn(
    head: Text,
    message: str,
    labels: Sequence[Label],
    remarks: Sequence[tuple[str, str]],
    *,
    width: int,
    ascii_only: bool = False,
) -> list[Text]:
    """Draw a message with the places it is about and, below them, remarks of a kind: `= note: …`."""
    page = _Page(width, max([2, *(len(f"{_line_shown(label.span)} ") for label in labels)]), ascii_only)
    lines = page.paragraph(head, message, _HANG, "bold")
    for index, sheet in enumerate(dict.fromkeys(map(_sheet, labels))):
        here = [label for label in labels if _sheet(label) == sheet]
        if index:
            lines.append(page.beside(Text()))
        lines += page.section(here, *((":::", _OTHER) if index else ("-->", _PRIMARY)))
    for kind, text in remarks:
        head = Text.assemble(" " * page.gutter, ("= ", _FRAME), (kind, _REMARK_STYLES.get(kind, "bold")), ": ")
        lines += page.paragraph(head, text, head.cell_len)
    for line in lines:
        line.rstrip()
    return lines


def _sheet(label: Label) -> tuple[Source, int | None]:
    """What a label's line is counted in: its source, or a cell of it."""
    return label.span.source, label.span.source.place(label.span.line)[0]


def _line_shown(span: Span) -> int:
    """The number of the line in its source, or in a cell of it."""
    return span.source.place(span.line)[1]


@dataclass(frozen=True, slots=True)
class _Mark:
    """The carets below a piece of a line, from one cell to just before another, and what they mean."""

    start: int
    end: int
    text: str
    style: str


@dataclass(frozen=True, slots=True)
class _Page:
    """What all parts of a drawing share."""

    width: int
    gutter: int  # the cells for a line number and the blank behind it
    ascii_only: bool

    def beside(self, content: Text, number: str = "") -> Text:
        """Put a line of source or of carets to the right of the bar."""
        return Text.assemble((f"{number + ' ':>{self.gutter}}|", _FRAME), " ", content)

    def paragraph(self, head: Text, text: str, hang: int, style: str = "") -> list[Text]:
        """Set prose behind its head and, where it must be wrapped, at the indent `hang`."""
        prose = "\n".join(_visible(line, self.ascii_only) for line in text.split("\n"))
        first, *others = _wrapped(prose, self.width - hang, self.width - head.cell_len)
        below = [Text.assemble(" " * hang, (other, style)) for other in others]
        return [Text.assemble(head, (first, style)), *below]

    def section(self, labels: Sequence[Label], arrow: str, first_style: str) -> Iterator[Text]:
        """Draw the labels of one source, or of one cell of it; `first_style` is for the first of them."""
        place = labels[0].span
        where = _visible(str(place), self.ascii_only)
        yield Text.assemble(" " * self.gutter, (arrow, _FRAME), " ", where)
        yield self.beside(Text())
        numbers = sorted({label.span.line for label in labels})
        for previous, number in zip([numbers[0], *numbers], numbers, strict=False):
            if number > previous + 1:
                yield Text("...", _FRAME)
            here = [label for label in labels if label.span.line == number]
            yield from self._excerpt(here, first_style if number == place.line else _OTHER)

    def _excerpt(self, labels: Sequence[Label], first_style: str) -> Iterator[Text]:
        """Draw one source line and the labels on it, of which the first decides what is in view."""
        spans = [label.span for label in labels]
        number, source_lines = spans[0].line, spans[0].source.lines
        # the end of a file may be said to be on a line of its own
        text = source_lines[number - 1].removesuffix("\r") if 0 < number <= len(source_lines) else ""
        if any(span.column > len(text) for span in spans):
            text += " "  # something is missing here, and this is the place for its caret
        plain = text.isascii() and text.isprintable()  # a cell a character: lines may be very long
        pieces = list(text) if plain else _pieces(text, self.ascii_only)
        edges = list(range(len(text) + 1)) if plain else [0, *accumulate(map(cell_len, pieces))]
        marks: list[_Mark] = []
        for label, span in zip(labels, spans, strict=True):
            goes_on = span.end_line > number
            end_column = len(text.rstrip()) + 1 if goes_on else span.end_column
            start, end = _cells(pieces, edges, span.column - 1, end_column - 1)
            said = label.text + f" (to {span.source.told(span.end_line)})" * goes_on
            said = _visible(said.strip(), self.ascii_only)
            marks.append(_Mark(start, end, said, _OTHER if marks else first_style))
        room = max(self.width - self.gutter - len("| "), _NARROWEST_ROOM)
        shown, marks = _in_view(pieces, edges, marks, room)
        yield self.beside(Text(shown), str(_line_shown(spans[0])))
        for row in _rows(marks):
            yield from map(self.beside, _mark_lines(row, room))


def _pieces(text: str, ascii_only: bool) -> list[str]:
    """Show a line character by character; one that combines with another joins it, leaving ""."""
    pieces: list[str] = []
    base = 0
    for index, char in enumerate(text):
        pieces.append(_visible(char, ascii_only))
        if index and cell_len(pieces[index]) == 0:
            pieces[base] += pieces[index]
            pieces[index] = ""
        else:
            base = index
    return pieces


def _cells(pieces: list[str], edges: list[int], first: int, end: int) -> tuple[int, int]:
    """Find the cells of the characters from `first` to before `end`, of at least one."""
    first = min(max(first, 0), len(pieces) - 1)
    last = min(max(first, end - 1), len(pieces) - 1)
    while not pieces[first]:
        first -= 1
    return edges[first], max(edges[first] + 1, edges[last + 1])


def _in_view(pieces: list[str], edges: list[int], marks: list[_Mark], room: int) -> tuple[str, list[_Mark]]:
    """Cut the line to the room there is, around its first mark and if possible the others, too."""
    excess = edges[-1] - room
    if excess <= 0:
        return "".join(pieces), marks
    start, end = min(mark.start for mark in marks), max(mark.end for mark in marks)
    if end - start > room - 2 * len(_CUT):
        start, end = marks[0].start, marks[0].end
    # the text of a mark goes to its right, so that is where two thirds of the free room are
    left = min(max(start - max((room - (end - start)) // 3, len(_CUT)), 0), excess)
    cut_left, cut_right = len(_CUT) * (left > 0), len(_CUT) * (left < excess)
    first = bisect_left(edges, left + cut_left)
    last = bisect_right(edges, left + room - cut_right) - 1
    shown = _CUT[:cut_left] + "".join(pieces[first:last]) + _CUT[:cut_right]
    shift, size = edges[first] - cut_left, edges[last] - edges[first] + cut_left + cut_right
    moved = []
    for mark in marks:  # what is out of view is somewhere in the dots, and so are its carets
        start = 0 if mark.start < shift + cut_left else min(mark.start - shift, size - cut_right)
        end = size if mark.end > shift + size - cut_right else max(mark.end - shift, cut_left)
        moved.append(replace(mark, start=start, end=end))
    return shown, moved


def _rows(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Part marks that overlap or touch: without colours nobody could tell their carets apart."""
    rows: list[list[_Mark]] = []
    for mark in marks:
        free = [row for row in rows if all(mark.end < it.start or it.end < mark.start for it in row)]
        if free:
            free[0].append(mark)
        else:
            rows.append([mark])
    return rows


def _mark_lines(marks: Sequence[_Mark], room: int) -> Iterator[Text]:
    """Draw carets in one line: the last text beside them if it fits, the others below from the right."""
    marks = sorted(marks, key=lambda mark: mark.start)
    carets = _placed([(mark.start, "^" * (mark.end - mark.start), mark.style) for mark in marks])
    last = marks[-1]
    texts = [mark for mark in marks if mark.text]
    if last.text and last.end + 1 + cell_len(last.text) <= room:
        carets.append(" " + last.text, last.style)
        texts.pop()
    yield carets
    while texts:
        mark = texts.pop()
        column = min(mark.start, max(room - min(cell_len(mark.text), _NARROWEST_TEXT), 0))
        bars = [(other.start, "|", other.style) for other in texts if other.start < column]
        for text in _wrapped(mark.text, room - column, room - column):
            yield _placed([*bars, (column, text, mark.style)])


def _placed(pieces: Sequence[tuple[int, str, str]]) -> Text:
    """Write styled pieces, sorted from the left, each at its cell."""
    line = Text()
    for column, text, style in pieces:
        line.append(" " * (column - line.cell_len)).append(text, style)
    return line


def _visible(text: str, ascii_only: bool) -> str:
    """Escape what a terminal would obey or hide and, with `ascii_only`, what it may not have."""
    text = text.replace("\t", _TAB)
    if ascii_only:
        text = text.replace("…", "...")  # messages have many, and as an escape nobody would know it
    allowed = [char.isprintable() and (char.isascii() or not ascii_only) for char in text]
    return "".join(char if ok else ascii(char)[1:-1] for char, ok in zip(text, allowed, strict=True))


def _wrapped(text: str, width: int, limit: int) -> list[str]:
    """Break at spaces, the first line at `limit`; a word wider than `width` stays whole."""
    lines = []
    for paragraph in text.split("\n"):
        current = ""
        for gap, word in _WORD.findall(paragraph):
            grown = current + gap + word
            # a word too wide for any line has to be somewhere, unless the next line has more room
            if cell_len(grown) > limit and (current or limit < width):
                lines.append(current)
                limit, grown = width, word
            current = grown
        lines.append(current)
        limit = width
    return lines

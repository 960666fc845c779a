"""Tables of plain text that fit the terminal: no box lines, two spaces between the columns.

The widths are computed here rather than by Rich, which would shorten a number to make it fit. Where even
wrapped text does not fit next to each other, every row becomes a record of `title  value` lines. All
text is laid out before Rich sees it, so a long table, written as one string, looks like a short one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from operator import le
from typing import Literal, TypeAlias

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

_Row: TypeAlias = tuple[str, ...]
_Pair: TypeAlias = tuple[str, str]
INDENT = "  "
GAP = "  "
REMARK_GAP = " " * 6
NARROWEST = 8  # a column of running text is not wrapped to less, whatever its words are

# What stays on one line: a shape, or a word together with the operator and the padding before it.
_PIECE = re.compile(
    r"""(?:\[+[ ]+)?                       # a bracket and the spaces that align the first entry
        (?:[^\w\s()\[\]{},.;:'"]{1,3}[ ])?  # an operator: a line begins with it rather than ends
        (?:\((?:\d+,[ ]?)+\d*\))?          # (3,) or (2, 3)
        [^ ]*[^ ]
    """,
    re.VERBOSE,
)

# Control characters would move the cursor or worse; they are shown as Python writes them.
_VISIBLE = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\n"}
_VISIBLE[ord("\t")] = "    "


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and how its cells stand; only `wrap` allows breaking their lines at spaces.

    `styles` are for cells that say one of these words, besides the style of the whole column.
    """

    title: str
    align: Literal["left", "right"] = "left"
    wrap: bool = False
    style: str = ""
    styles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; a row whose first cells are empty continues the row above it.

    Cells are plain text, of several lines if need be. The remark stands beside the title; `below` has
    sentences that stand below a row (by its place, from 0), across all columns.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    remark: str = ""
    below: Mapping[int, Sequence[str]] = field(default_factory=dict)


def print_table(console: Console, table: Table, *, light_after: int = 200) -> None:
    """Print the table within the console's width; beyond `light_after` rows without styles, but at once."""
    columns = [replace(column, title=_visible(column.title)) for column in table.columns]
    rows = [row if "".join(row).isprintable() else tuple(map(_visible, row)) for row in table.rows]
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"every row of table {table.title!r} needs {len(columns)} cells")
    _print_title(console, _visible(table.title), _visible(table.remark))
    widths = _fitted_widths(columns, rows, console.width)
    if widths is not None and len(rows) > light_after:
        _print_lines(console, ((line, "dim") for line in _joined(_header_cells(columns, widths), widths)))
    header = True
    for part, sentences in _parts(rows, table.below):
        if widths is None:
            if not header:
                console.print()
            _print_lines(console, _record_lines(columns, part, console.width))
        elif len(rows) > light_after:
            _print_lines(console, ((line, "") for line in _row_lines(columns, widths, part)))
        elif columns:
            console.print(_indented(console, _rich_table(columns, widths, part, header)), soft_wrap=True)
        header = False
        _print_lines(console, ((line, "") for text in sentences for line in filled(text, console.width, INDENT * 2)))


def fits(table: Table, width: int) -> bool:
    """Whether the columns can stand next to each other with no cell wrapped, though perhaps a title."""
    cells = [_widest_line([row[at] for row in table.rows]) for at in range(len(table.columns))]
    titles = [_widest_piece([column.title]) for column in table.columns]
    return len(INDENT) + sum(map(max, cells, titles)) + len(GAP) * (len(titles) - 1) <= width


def _parts(rows: Sequence[_Row], below: Mapping[int, Sequence[str]]) -> Iterator[tuple[Sequence[_Row], Sequence[str]]]:
    """The rows in parts, each with the sentences below its last row."""
    start = 0
    for place in sorted(below):
        yield rows[start : place + 1], below[place]
        start = place + 1
    if start < len(rows) or not below:
        yield rows[start:], ()


def filled(text: str, width: int, indent: str = "") -> Iterator[str]:
    """One paragraph of running text within the width, from its second line on a little further in."""
    first, *others = _wrapped(_visible(" ".join(text.split())), max(1, width - len(indent)))
    yield indent + first
    indent += INDENT
    if others:
        yield from (indent + line for line in _wrapped(" ".join(others), max(1, width - len(indent))))


def print_headline(console: Console, text: Text) -> None:
    """A line that is folded at the width, without the blanks that it is folded at."""
    for line in text.wrap(console, console.width, overflow="fold"):
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Remarks below a blank line, if there are any, each within the width."""
    head = "note: "
    if notes:
        console.print()
    for note in notes:
        first, *others = _wrapped(_visible(" ".join(note.split())), max(NARROWEST, console.width - len(head)))
        console.print(Text.assemble((head, "bold"), first), soft_wrap=True)
        _print_lines(console, ((" " * len(head) + line, "") for line in others))


def _print_title(console: Console, title: str, remark: str) -> None:
    if title and remark and cell_len(title + REMARK_GAP + remark) <= console.width:
        console.print(Text.assemble((title, "bold"), REMARK_GAP, (remark, "dim")), soft_wrap=True)
    else:
        below = _wrapped(remark, console.width - len(INDENT)) if remark else ()
        head = _wrapped(title, console.width) if title else ()
        _print_lines(console, [(line, "bold") for line in head] + [(INDENT + line, "dim") for line in below])


def _print_lines(console: Console, lines: Iterable[_Pair]) -> None:
    """Write lines, each with its style, as they are: Rich has nothing to lay out in segments."""
    segments: list[Segment] = []
    for text, style in lines:
        segments += (Segment(text, console.get_style(style) if style else None), Segment.line())
    console.print(Segments(segments), soft_wrap=True)


def _visible(text: str) -> str:
    return text if text.isprintable() else text.translate(_VISIBLE)


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _padded(text: str, width: int, align: str = "left") -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if align == "right" else text + blanks


def _pieces(line: str) -> Iterator[tuple[str, str, int]]:
    """Yield what may not be broken, with the space before it and its indent should it begin a line.

    Inside brackets that is their depth, which puts the entry of a matrix under the one above it.
    """
    indent = len(line) - len(line.lstrip(" "))
    end = depth = 0
    for match in _PIECE.finditer(line):
        piece = match[0]
        yield line[end : match.start()], piece, indent + max(depth, 0)
        depth += piece.count("[") - piece.count("]")
        end = match.end()


@lru_cache(maxsize=4096)  # the cells of a long table repeat themselves
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    """Break lines wider than `width` at spaces; what has none stays whole, however wide."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _width(line) <= width:
            lines.append(line)
            continue
        current = ""
        for gap, piece, indent in _pieces(line):
            grown = current + gap + piece
            if current and _width(grown) > width:
                lines.append(current)
                grown = " " * indent + piece
            current = grown
        lines.append(current)
    return tuple(lines)


def _widest_line(texts: Sequence[str]) -> int:
    together = "".join(texts)
    if together.isascii() and "\n" not in together:
        return max(map(len, texts), default=0)
    return max((_width(line) for text in texts for line in text.split("\n")), default=0)


def _widest_piece(texts: Iterable[str]) -> int:
    """Measure the narrowest column that holds the texts without breaking a word or a number."""
    lines = {line for text in texts for line in text.split("\n")}
    return max((indent + _width(piece) for line in lines for _, piece, indent in _pieces(line)), default=0)


def _fitted_widths(columns: Sequence[Column], rows: Sequence[_Row], available: int) -> list[int] | None:
    """Find widths for the columns to stand next to each other, or None if they cannot.

    Titles are wrapped before cells: that costs a line once, not in every row.
    """
    room = available - len(INDENT) - len(GAP) * (len(columns) - 1)
    cells = [[row[index] for row in rows] for index in range(len(columns))]
    titles = [column.title for column in columns]
    needed = [max(1, _widest_line(texts)) for texts in cells]
    widths = [max(width, _widest_line([title])) for width, title in zip(needed, titles, strict=True)]
    if sum(widths) <= room:
        return widths
    title_words = [_widest_piece([title]) for title in titles]
    widths = _shrunk(widths, list(map(max, needed, title_words)), room)
    if sum(widths) > room:
        floors = [
            min(width, max(NARROWEST, words, _widest_piece(texts))) if column.wrap else width
            for column, width, words, texts in zip(columns, widths, title_words, cells, strict=True)
        ]
        widths = _shrunk(widths, floors, room)
    return widths if sum(widths) <= room else None


def _shrunk(widths: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """Take from the widest column that can give until the sum fits."""
    # no column can keep more than all the room, and capping first bounds the steps below
    widths = [min(width, max(floor, room)) for width, floor in zip(widths, floors, strict=True)]
    while sum(widths) > room and (giving := [i for i, width in enumerate(widths) if width > floors[i]]):
        widths[max(giving, key=widths.__getitem__)] -= 1
    return widths


def _laid_out(text: str, width: int, align: str) -> list[str]:
    return [_padded(line, width, align) for line in _wrapped(text, width)]


def _header_cells(columns: Sequence[Column], widths: Sequence[int]) -> list[list[str]]:
    """Lay the titles out on a common last line, next to the cells they name."""
    cells = [_laid_out(each.title, width, each.align) for each, width in zip(columns, widths, strict=True)]
    height = max(map(len, cells), default=0)
    return [[""] * (height - len(lines)) + lines for lines in cells]


def _joined(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for parts in zip_longest(*cells, fillvalue=""):
        yield (INDENT + GAP.join(map(_padded, parts, widths))).rstrip(" ")


def _row_lines(columns: Sequence[Column], widths: Sequence[int], rows: Iterable[_Row]) -> Iterator[str]:
    aligns = [column.align for column in columns]
    fields = [f"{{:{'>' if align == 'right' else '<'}{width}}}" for align, width in zip(aligns, widths, strict=True)]
    template = INDENT + GAP.join(fields)
    for row in rows:
        text = "".join(row)
        if not text.isascii():
            yield from _joined(list(map(_laid_out, row, widths, aligns)), widths)
        # str.format pads ASCII many times faster, most of all the usual row, which is a single line
        elif "\n" not in text and all(map(le, map(len, row), widths)):
            yield template.format(*row).rstrip(" ")
        else:
            for parts in zip_longest(*map(_wrapped, row, widths), fillvalue=""):
                yield template.format(*parts).rstrip(" ")


def _rich_table(
    columns: Sequence[Column], widths: Sequence[int], rows: Iterable[_Row], header: bool
) -> rich.table.Table:
    grid = rich.table.Table(
        box=None, padding=(0, len(GAP), 0, 0), pad_edge=False, header_style="dim", show_header=header
    )
    aligns = [column.align for column in columns]
    for column, width, lines in zip(columns, widths, _header_cells(columns, widths), strict=True):
        title = Text("\n".join(lines))
        grid.add_column(title, style=column.style, width=width, no_wrap=True, overflow="ignore")
    for row in rows:
        cells = zip(columns, row, map(_laid_out, row, widths, aligns), strict=True)
        grid.add_row(*(Text("\n".join(lines), column.styles.get(cell, "")) for column, cell, lines in cells))
    return grid


def _indented(console: Console, grid: rich.table.Table) -> Segments:
    """Indent the grid, and drop the blanks with which Rich fills every line."""
    segments: list[Segment] = []
    room = console.options.update_width(console.width - len(INDENT))
    for line in console.render_lines(grid, room, pad=False):
        while line and not line[-1].text.strip(" "):
            line.pop()
        if line:
            last = line.pop()
            segments += [Segment(INDENT), *line, Segment(last.text.rstrip(" "), last.style)]
        segments.append(Segment.line())
    return Segments(segments)


def _record_lines(columns: Sequence[Column], rows: Sequence[_Row], width: int) -> Iterator[tuple[str, str]]:
    """Yield every line with its style: a heading of the first columns, then the other cells below it.

    The columns that continuing rows leave empty make the heading; each row then begins with a line of
    its own, so that one sees which cells belong together.
    """
    titles = [column.title.replace("\n", " ") for column in columns]
    blanks = [next((index for index, cell in enumerate(row) if cell), 0) for row in rows]
    shared = min((count for count in blanks if count), default=0)
    head = shared or (2 if len(columns) > 2 and not columns[1].wrap else 1)
    label = min(_widest_line(titles), max(_widest_piece(titles), width // 2))
    for number, row in enumerate(rows):
        pairs = [(title, cell) for title, cell in zip(titles, row, strict=True) if cell]
        if number and row[0]:
            yield "", ""
        indent = INDENT
        # above the entries stands what the rows share, then what tells this row from the others
        for count, style in [(sum(map(bool, row[:head])), "bold"), (1, "")][: 2 if shared else 1]:
            heading, pairs = _heading(pairs, count, width - len(indent))
            if heading:
                yield indent + heading, style
            indent += INDENT
        for title, cell in pairs:
            for line in _entry(title, cell, label, width - len(indent)):
                yield (indent + line).rstrip(" "), ""


def _heading(pairs: list[_Pair], count: int, width: int) -> tuple[str, list[_Pair]]:
    """Join up to `count` pairs into one line, as far as they fit; return it and the pairs left."""
    heading = ""
    for taken, (title, cell) in enumerate(pairs[:count]):
        entry = f"{title} {' '.join(cell.split())}" if "\n" in cell else f"{title} {cell}"
        grown = f"{heading}{GAP}{entry}" if heading else entry
        if _width(grown) > width:
            return heading, pairs[taken:]
        heading = grown
    return heading, pairs[count:]


def _entry(title: str, cell: str, label: int, width: int) -> Iterator[str]:
    """Write the cell beside its title, or below it where a word, a number or a matrix needs the width."""
    room = width - label - len(GAP)
    values = _wrapped(cell, room)
    if _widest_line([cell] if "\n" in cell else values) > room:
        yield title
        yield from (INDENT + line for line in _wrapped(cell, width - len(INDENT)))
        return
    for name, value in zip_longest(_wrapped(title, label), values, fillvalue=""):
        yield f"{_padded(name, label)}{GAP}{value}"

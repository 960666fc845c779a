"""The little that is known of a line without parsing it: where its strings and comments are.

Both the normalisation of spellings and the search for the ends of statements must step over
strings and comments; this is the one place that knows how.
"""

import re
from dataclasses import dataclass

MAX_NESTING = 200
"""How many nested brackets Python's parser holds."""

COMBINING = "\u0300-\u036f\u20d0-\u20ff"
"""Marks that Python accepts within a name but `\\w` does not match: the hat of a decomposed `ŷ`."""

_DOUBLE, _SINGLE = "“”„‟＂", "‘’‚‛＇"
_OPENING = re.compile(rf"""\"\"\"|'''|["'{_DOUBLE}{_SINGLE}#＃]""")
_REST = {
    '"""': re.compile(r'(?:[^\\]|\\.)*?"""', re.DOTALL),
    "'''": re.compile(r"(?:[^\\]|\\.)*?'''", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL),
}
# A string opened by a curly or full-width quote may be closed by any of its kind.
_REST |= dict.fromkeys(_DOUBLE, re.compile(rf'[^"{_DOUBLE}]*["{_DOUBLE}]'))
_REST |= dict.fromkeys(_SINGLE, re.compile(rf"[^'{_SINGLE}]*['{_SINGLE}]"))

ASCII_MARK = dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'") | {"＃": "#"}
"""The ASCII twins of the characters that begin or end a string or a comment."""


@dataclass(frozen=True, slots=True)
class LineParts:
    """One line taken apart.

    `code` are the ranges outside strings and comments, `marks` the columns of single quotes, double
    quotes and `#` in whatever spelling, `open_quote` the quote that the next line is still inside of.
    """

    code: tuple[tuple[int, int], ...]
    marks: tuple[int, ...]
    open_quote: str


def parts_of_line(line: str, open_quote: str = "") -> LineParts:
    """Takes `line` apart, given the quote that it begins inside of (empty if none).

    >>> parts_of_line("s = 'a' + b  # sum").code
    ((0, 4), (7, 13))
    """
    code: list[tuple[int, int]] = []
    marks: list[int] = []
    position = 0
    if open_quote:
        closing = _REST[open_quote].match(line)
        if closing is None:
            return LineParts((), (), _still_open(line, open_quote))
        position = closing.end()
    while opening := _OPENING.search(line, position):
        if opening.start() > position:
            code.append((position, opening.start()))
        marks.append(opening.start())
        quote = opening.group()
        if quote in "#＃":
            return LineParts(tuple(code), tuple(marks), "")
        closing = _REST[quote].match(line, opening.end())
        if closing is None:
            return LineParts(tuple(code), tuple(marks), _still_open(line, quote))
        position = closing.end()
        marks.append(position - 1)
    if position < len(line):
        code.append((position, len(line)))
    return LineParts(tuple(code), tuple(marks), "")


def _still_open(line: str, quote: str) -> str:
    """The quote that is open after a line on which it was not closed: plain strings end with their line."""
    continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
    return quote if len(quote) == 3 or continued else ""

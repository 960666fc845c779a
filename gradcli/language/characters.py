"""Spellings: what people type on paper or on a Chinese keyboard becomes its ASCII twin.

Most twins are one character for one (`×` and `*`) and leave every column where it was.  The few that
are longer or shorter (`√x` and `sqrt(x)`, `x²` and `x**2`) are edits of their line, and the `ColumnMap`
remembers where each character of an edited line came from, so that a caret points into what the user
wrote.  Strings and comments are left alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from gradcli.language.lexis import ASCII_MARK, COMBINING, parts_of_line

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ"
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"

_ONE_FOR_ONE = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("×·⋅∙•∗⊙∘", "*")
    | dict.fromkeys("÷∕", "/")
    | dict.fromkeys("−–—﹣", "-")
    | dict.fromkeys("\f\v\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000", " ")
    | {chr(code): " " for code in range(0x2000, 0x200B)}
    | {chr(0x2080 + digit): str(digit) for digit in range(10)}
    | {"、": ",", "∂": "d"}
)

_LONGER = {"≤": "<=", "≥": ">=", "≠": "!=", "ᵀ": ".T", "⊤": ".T"}
_EDITED = re.compile(
    rf"(?P<transpose>\^[ \t]*(?:[⊤ᵀ]|T(?![\w{COMBINING}])))"
    r"|(?P<power>\^)"
    rf"|(?P<longer>[{''.join(_LONGER)}])"
    r"|(?P<raised>[⁺⁻]?(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+|ⁿ))"
    r"|(?P<roots>√(?:[ \t]*√)*)"
    r"|(?P<total>[∑∏])(?=[ \t]*\()"
    rf"|(?P<pi>(?<![^\W\d])π(?![{COMBINING}]|[^\W{_RAISED}]))"
    rf"|(?P<invisible>[{_INVISIBLE}]+)"
)
_WORD_END = re.compile(rf"[^\W{_RAISED}][\w{COMBINING}]*$|[\])}}]$")
_ATOM = re.compile(rf"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[^\W\d{_RAISED}](?:[^\W{_RAISED}]|[{COMBINING}])*")
_TRAILER = re.compile(rf"\.[^\W\d{_RAISED}](?:[^\W{_RAISED}]|[{COMBINING}])*|(?=[(\[])")
_BLANKS = re.compile(r"[ \t]*")
_BRACKET = re.compile(r"[()\[\]{}]")
_CONTROL = re.compile("[\f\v\x1c-\x1f]")
_NEW_PAGE = re.compile(r"[ \t\f]*\f")
"""What stands before a line's last form feed: Python begins to count the indentation after it."""
_NEEDS_WORK = re.compile(rf"\^|{_CONTROL.pattern}")


class Edit(NamedTuple):
    """`text` in place of the characters from `start` up to `end` of a line."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """From columns of the normalised text to columns of the original; both count characters from 0.

    Lines are the same in both.  Only lines that were edited are kept, each with its original length and
    its edits in order: the way back is asked for rarely, and then worked out.
    """

    edited: dict[int, tuple[int, list[Edit]]] = field(default_factory=dict)

    def start(self, line: int, column: int) -> int:
        """The original column at which the normalised character at `column` of `line` (from 1) begins."""
        if line not in self.edited:
            return column
        starts, ends = _origins(*self.edited[line])
        return starts[column] if column < len(starts) else (ends[-1] if ends else 0)

    def end(self, line: int, column: int) -> int:
        """The original column just past the normalised character before `column` of `line` (from 1)."""
        if line not in self.edited:
            return column
        _starts, ends = _origins(*self.edited[line])
        return ends[min(column, len(ends)) - 1] if column > 0 and ends else self.start(line, 0)


def with_plain_line_ends(text: str) -> str:
    r"""The text with `\n` for every `\r\n` and lone `\r`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def normalise(text: str) -> tuple[str, ColumnMap]:
    """The ASCII twin of `text` and the way back.

    >>> normalise("y = √x² × θ")[0]
    'y = sqrt(x)**2 * θ'
    """
    text = with_plain_line_ends(text)
    if text.isascii() and not _NEEDS_WORK.search(text):
        return text, ColumnMap()
    return _Normaliser(text.split("\n")).run()


class _Normaliser:
    """The lines of one text on the way to their twins."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.code: dict[int, tuple[tuple[int, int], ...]] = {}
        self.pages: dict[int, Edit] = {}

    def run(self) -> tuple[str, ColumnMap]:
        self._replace_one_for_one()
        columns = ColumnMap()
        for index, code in self.code.items():
            line = self.lines[index]
            edits = [edit for start, end in code for edit in self._edits(line, start, end)]
            if index in self.pages:
                edits.append(self.pages[index])
            edits.sort()  # the bracket that a root closes comes later in the line than the root's operand begins
            if edits:
                self.lines[index] = _apply(line, edits)
                columns.edited[index + 1] = len(line), edits
        return "\n".join(self.lines), columns

    def _replace_one_for_one(self) -> None:
        """First step: the twins of equal length; notes where the code of every unusual line is."""
        quote = ""
        for index, line in enumerate(self.lines):
            usual = line.isascii() and not _NEEDS_WORK.search(line)
            if usual and not quote and '"""' not in line and "'''" not in line and line[-1:] != "\\":
                continue
            parts = parts_of_line(line, quote)
            quote = parts.open_quote
            if usual:
                continue
            self.code[index] = parts.code
            page = _NEW_PAGE.match(line)
            if page is not None and parts.code and parts.code[0][0] == 0:
                self.pages[index] = Edit(0, page.end(), "")
            if line.isascii() and not _CONTROL.search(line):
                continue
            characters = list(line)
            for mark in parts.marks:
                characters[mark] = ASCII_MARK.get(characters[mark], characters[mark])
            for start, end in parts.code:
                characters[start:end] = line[start:end].translate(_ONE_FOR_ONE)
            self.lines[index] = "".join(characters)

    def _edits(self, line: str, start: int, end: int) -> Iterator[Edit]:
        """Second step: the twins of other length within one range of code."""
        for found in _EDITED.finditer(line, start, end):
            at, past, spelling = found.start(), found.end(), found.group()
            match found.lastgroup:
                case "transpose" if spelling[-1] == "T" and not self._transposes(line, at):
                    yield Edit(at, at + 1, "**")
                case "transpose":
                    yield Edit(at, past, ".T")
                case "power":
                    yield Edit(at, past, "**")
                case "longer":
                    yield Edit(at, past, _LONGER[spelling])
                case "raised":
                    exponent = spelling.translate(_SUPERSCRIPTS).lstrip("+")
                    yield Edit(at, past, f"**({exponent})" if exponent[0] == "-" else f"**{exponent}")
                case "roots":
                    yield from _roots(line, at, past)
                case "total":
                    yield Edit(at, past, _apart(line, at) + ("sum" if spelling == "∑" else "prod"))
                case "pi" if not self._binds_pi:
                    yield Edit(at, past, "pi")
                case "invisible":
                    yield Edit(at, past, "")

    def _transposes(self, line: str, caret: int) -> bool:
        """Whether `^T` after `line[:caret]` is a transpose: of a name or a group, with no `T` in the file."""
        # only the tail is looked at: a name longer than this is no name, and lines may be long
        before = _WORD_END.search(line[max(0, caret - 80) : caret].rstrip())
        return before is not None and not before.group()[0].isdigit() and not self._binds_t

    @cached_property
    def _binds_t(self) -> bool:
        return _binds(self.lines, "T")

    @cached_property
    def _binds_pi(self) -> bool:
        return _binds(self.lines, "π")


_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")


def _binds(lines: list[str], name: str) -> bool:
    """Whether a line assigns `name`, loops over it or declares it as a parameter."""
    whole = re.compile(rf"(?<![\w.^]){name}(?!\w)")
    for line in lines:
        if name not in line or not whole.search(line):
            continue
        head = line.partition("#")[0]
        targets = _ASSIGNS.split(head)[:-1]
        if any("(" not in target and whole.search(target) for target in targets):
            return True
        word, _, rest = head.strip().partition(" ")
        bound = rest.partition(" in ")[0] if word == "for" else rest if word == "def" else ""
        if whole.search(bound):
            return True
    return False


def _apart(line: str, at: int) -> str:
    """A blank where a word put at `at` would grow onto the word before it."""
    return " " if at and (line[at - 1].isalnum() or line[at - 1] == "_") else ""


def _roots(line: str, at: int, past: int) -> Iterator[Edit]:
    """The run of roots `line[at:past]`: `√(x)` lends its brackets to `sqrt`, `√x` gets some.

    A root of nothing is left for the parser to refuse.
    """
    operand = _after_blanks(line, past)
    is_group = line[operand : operand + 1] == "("
    end = _group_end(line, operand) if is_group else _atom_end(line, operand)
    for root in range(at, past):
        if line[root] != "√":
            continue
        if is_group and root == past - 1:
            yield Edit(root, root + 1, _apart(line, root) + "sqrt")
        elif end is not None:
            yield Edit(root, root + 1, _apart(line, root) + "sqrt(")
            yield Edit(end, end, ")")


def _atom_end(line: str, at: int) -> int | None:
    """Where the name or number at `at` ends with its trailers; None if none is there."""
    atom = _ATOM.match(line, at)
    if atom is None:
        return None
    end = atom.end()
    while trailer := _TRAILER.match(line, end):
        group_end = trailer.end() if trailer.group() else _group_end(line, end)
        if group_end is None:
            return None
        end = group_end
    return end


def _after_blanks(line: str, at: int) -> int:
    blanks = _BLANKS.match(line, at)
    return blanks.end() if blanks else at


def _group_end(line: str, at: int) -> int | None:
    """Just past the bracket that closes the one at `at`, None if the line does not close it."""
    return _closings(line).get(at)


@lru_cache(maxsize=4)  # a line may have as many groups as characters
def _closings(line: str) -> dict[int, int]:
    """Just past the closing bracket, by the place of the opening one."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(line):
        if bracket.group() in "([{":
            opened.append(bracket.start())
        elif opened:
            closings[opened.pop()] = bracket.end()
    return closings


def _apply(line: str, edits: list[Edit]) -> str:
    """The edited line."""
    pieces: list[str] = []
    position = 0
    for start, end, text in edits:
        pieces += line[position:start], text
        position = end
    return "".join(pieces) + line[position:]


def _origins(length: int, edits: list[Edit]) -> tuple[list[int], list[int]]:
    """For each character of an edited line where its original, in a line of `length`, begins and ends."""
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for start, end, text in [*edits, Edit(length, length, "")]:
        starts += range(position, start)
        ends += range(position + 1, start + 1)
        starts += [start] * len(text)
        ends += [end] * len(text)
        position = end
    return starts, ends

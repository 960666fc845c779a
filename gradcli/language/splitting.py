"""Where statements end in text that Python refuses to parse as a whole.

A statement is one logical line: brackets, strings and a backslash carry it over line ends; the indented block
after it belongs to it.  A bracket that is never closed must not swallow the rest of the file, so a line
no further in that begins like a new statement ends the search.
"""

import re
from collections.abc import Callable, Iterator

from gradcli.language.lexis import MAX_NESTING, parts_of_line

PATIENCE = 20
"""How many lines after one that looks like a new statement a bracket may still be closed."""

_BRACKET = re.compile(r"[()\[\]{}]")
_NEW_STATEMENT = re.compile(
    r"[^\W\d]\w*[ \t]*(?:\[[^\]]*\][ \t]*)?[-+*/@]?=(?!=)|(?:for|def|while|class|import|from|return)\b"
)
_CONTINUES_BLOCK = re.compile(r"(?:else|elif|except|finally)\b")
_COMPOUND = re.compile(r"(?:async|for|while|if|elif|else|def|class|with|try|except|finally)\b")
_NOTHING = re.compile(r"[ \t]*(?:#|$)")

Parses = Callable[[int, int], bool]
"""Whether the lines from the first number up to the second parse by themselves."""


def is_boundary(line: str) -> bool:
    """Whether a statement may begin at `line`: not indented, and no part of the statement before it."""
    return line[:1] not in ("", " ", "\t", "#", ")", "]", "}") and not _CONTINUES_BLOCK.match(line)


def statement_ranges(lines: list[str], first: int, end: int, parses: Parses) -> Iterator[tuple[int, int]]:
    """The statements that begin in `lines[first:end]`, each as its first line and the line after it."""
    at = first
    while at < end:
        if _NOTHING.match(lines[at]):
            at += 1
            continue
        head = at
        past = logical_line_end(lines, head, parses)
        while lines[head].startswith("@") and past < len(lines):
            head, past = past, logical_line_end(lines, past, parses)
        if is_compound(lines, head, past) or lines[at][0] in " \t":
            past = _block_end(lines, past, parses)
        yield at, past
        at = past


def is_compound(lines: list[str], first: int, past: int) -> bool:
    """Whether the logical line `lines[first:past]` heads a block, or was meant to."""
    if _COMPOUND.match(lines[first].lstrip()):
        return True
    parts = parts_of_line(lines[past - 1])
    return bool(parts.code) and lines[past - 1][slice(*parts.code[-1])].rstrip().endswith(":")


def _block_end(lines: list[str], at: int, parses: Parses) -> int:
    """Just past the block that begins at `at`: all that is indented, and its `else`."""
    past = at
    while at < len(lines):
        line = lines[at]
        if _NOTHING.match(line):
            at += 1
            continue
        if line[0] not in " \t" and not _CONTINUES_BLOCK.match(line):
            break
        past = at = logical_line_end(lines, at, parses)
    return past


def logical_line_end(lines: list[str], first: int, parses: Parses) -> int:
    """Just past the logical line that begins at `first`."""
    margin = _indent(lines[first])
    depth = 0
    quote = ""
    suspect = 0
    for index in range(first, len(lines)):
        line = lines[index]
        if depth > 0 and not quote and not suspect and _starts_anew(line, margin):
            suspect = index
        if suspect and index - suspect > PATIENCE:
            return suspect
        parts = parts_of_line(line, quote)
        quote = parts.open_quote
        for bracket in _brackets(line, parts.code):
            depth = depth + 1 if bracket in "([{" else depth - 1
        is_continued = bool(parts.code) and parts.code[-1][1] == len(line) and line.endswith("\\")
        if depth <= 0 and not quote and not is_continued:
            return suspect if suspect and not parses(first, index + 1) else index + 1
        if depth > MAX_NESTING:  # it would not parse anyway, and every line may begin such a search
            break
    return suspect or _recovery(lines, first, quote, parses)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _starts_anew(line: str, margin: int) -> bool:
    """Whether `line` looks like the beginning of a statement that is not within one at `margin`."""
    indent = _indent(line)
    return indent <= margin and _NEW_STATEMENT.match(line, indent) is not None


def _recovery(lines: list[str], first: int, quote: str, parses: Parses) -> int:
    """Where to go on if the statement at `first` never ends: at the first line that parses alone."""
    if quote:
        return first + 1
    for index in range(first + 1, len(lines)):
        line = lines[index]
        if is_boundary(line) and not line.rstrip().endswith(",") and parses(index, index + 1):
            return index
    return len(lines)


def _brackets(line: str, code: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """The brackets of a line that are neither in strings nor in comments."""
    for start, end in code:
        yield from _BRACKET.findall(line, start, end)

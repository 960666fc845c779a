"""Where normalised text stands in what the user wrote."""

from dataclasses import dataclass

from gradcli.language.characters import ColumnMap
from gradcli.problems import Source, Span

PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""Everything that `ast.parse` may throw at text."""


@dataclass(frozen=True, slots=True)
class Text:
    """A source and its normalised lines, with the way from a place in these back to the source."""

    source: Source
    lines: list[str]
    columns: ColumnMap

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The original place of a normalised one: lines from 1, columns in characters from 0."""
        start = self.columns.start(line, column)
        end = self.columns.end(end_line, end_column)
        if end_line == line:
            end = max(start, end)
        return Span(self.source, line, start + 1, end_line, end + 1)

    def span_of_bytes(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The same for columns as `ast` counts them, in bytes of UTF-8."""
        return self.span(line, self._characters(line, column), end_line, self._characters(end_line, end_column))

    def _characters(self, line: int, count: int) -> int:
        """How many characters the first `count` bytes of `line` are."""
        text = self.lines[line - 1]
        if text.isascii():
            return count
        return len(text.encode(errors="surrogatepass")[:count].decode(errors="ignore"))

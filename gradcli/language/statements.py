"""Text to statements: Python's own parser, in parts, with every fault a problem.

A file is parsed some hundred lines at a time, which keeps few syntax trees in memory and is faster than one
parse of a long file.  The trees of a part count their lines from the first line of the part, because
shifting them would cost more than parsing them; the part knows where it is.  A part that does not parse is
taken apart into its statements, and each of these is parsed by itself, so that every independent fault is
found and the good statements remain.
"""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gradcli.language.characters import normalise, with_plain_line_ends
from gradcli.language.places import PARSE_ERRORS, Text
from gradcli.language.splitting import is_boundary, is_compound, logical_line_end, statement_ranges
from gradcli.problems import Problem, Source, Span

PART_LINES = 200
"""About how many lines are parsed at once; the trees of more lines miss the processor's caches."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive statements and the faults between them.

    `offset` is what to add to the line of a node to get its line in the file.
    """

    text: Text = field(repr=False)
    offset: int
    statements: list[ast.stmt]
    problems: list[Problem]

    def line_of(self, node: ast.stmt | ast.expr) -> int:
        """The line of the file, from 1, on which `node` begins."""
        return self.offset + node.lineno

    def span(self, node: ast.AST) -> Span:
        """What the user wrote for `node` of this part; the part's beginning for a kind without a place."""
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        column, end_column = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        return self.text.span_of_bytes(self.offset + line, column, self.offset + end_line, end_column)

    def text_of(self, node: ast.AST) -> str:
        """What the user wrote for `node` of this part, on one line."""
        span = self.span(node)
        lines = self.text.source.lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return lines[0] if len(lines) == 1 else " ".join(" ".join(lines).split())


@dataclass(frozen=True, slots=True)
class Program:
    """A file that is parsed part by part as it is read; no part is kept.

    `source` is the one that was given, with plain line ends and without a byte order mark: spans refer to it.
    With `claims`, as in an answers file, `dz/dx = 4` is read as `dz/dx == 4`.
    """

    source: Source
    text: Text = field(repr=False)
    claims: bool = False

    def parts(self) -> Iterator[Part]:
        """The parts of the file in order, each parsed when it is asked for."""
        lines = self.text.lines
        first = 0
        while first < len(lines):
            part, first = self._part(first, _cut(lines, first + PART_LINES))
            yield part

    def statements(self) -> Iterator[tuple[Part, ast.stmt]]:
        """The statements without a fault, each with the part that knows its place."""
        return ((part, statement) for part in self.parts() for statement in part.statements)

    def problems(self) -> list[Problem]:
        """Every fault of syntax in the file, for which it is parsed as a whole."""
        return [problem for part in self.parts() for problem in part.problems]

    def _part(self, first: int, end: int) -> tuple[Part, int]:
        """The part that begins at `first`, and where it ends: at `end` or where its last statement does."""
        lines = self.text.lines
        trees = _trees(lines, first, end)
        if isinstance(trees, list):
            return Part(self.text, first, trees, []), end

        def parses(start: int, past: int) -> bool:
            return isinstance(_trees(lines, start, past), list)

        ranges = list(statement_ranges(lines, first, end, parses))
        if ranges and ranges[-1][1] > end:
            end = ranges[-1][1]
            trees = _trees(lines, first, end)
            if isinstance(trees, list):
                return Part(self.text, first, trees, []), end
        part = Part(self.text, first, [], [])
        for start, past in ranges:
            alone, faults = self._statement(start, past)
            part.statements.extend(ast.increment_lineno(tree, start - first) for tree in alone)
            part.problems.extend(faults)
        return part, end

    def _statement(self, first: int, end: int) -> tuple[list[ast.stmt], list[Problem]]:
        """The trees, counting lines from `first`, and the faults of the statement `lines[first:end]`."""
        text = "\n".join(self.text.lines[first:end])
        trees = _parse(text)
        if isinstance(trees, Exception) and self.claims:
            trees = _claim(text) or trees
        if isinstance(trees, list):
            return trees, []
        if text[0] in " \t" and isinstance(trees, IndentationError):
            return self._indented(first, end, trees)
        return [], self._faults(first, end) or [_diagnosed(self.text, first, end, trees)]

    def _indented(self, first: int, end: int, error: IndentationError) -> tuple[list[ast.stmt], list[Problem]]:
        """The same for lines that are indented for no reason: they are told off, and understood."""
        lines = self.text.lines
        faults = self._faults(first, end)
        told = _diagnosed(self.text, first, first + 1, error)
        problems = [told, *(fault for fault in faults if fault != told)]
        trees = _parse("\n".join(lines[first:end]), indented=True)
        if isinstance(trees, list):
            return trees, problems
        good: list[ast.stmt] = []
        for start, past in _logical_lines(lines, first, end):
            alone = _parse("\n".join(lines[start:past]), indented=True)
            if isinstance(alone, list):
                good += (ast.increment_lineno(tree, start - first) for tree in alone)
        return good, problems

    def _faults(self, first: int, end: int) -> list[Problem]:
        """The faults of the single lines of a block; none if `lines[first:end]` is no block."""
        lines = self.text.lines
        problems: list[Problem] = []
        for start, past in _logical_lines(lines, first, end):
            if (start, past) == (first, end):
                break
            trees = _trees_of_line(lines, start, past)
            if isinstance(trees, Exception):
                problems.append(_diagnosed(self.text, start, past, trees))
        return problems


def read(source: Source, *, claims: bool = False) -> Program:
    """The program in `source`; never raises.

    >>> program = read(Source("demo", "y = √x"))
    >>> [part.text_of(statement.value) for part, statement in program.statements()]
    ['√x']
    """
    plain = with_plain_line_ends(source.text).removeprefix("\ufeff")
    if plain != source.text:
        source = replace(source, text=plain)
    normalised, columns = normalise(source.text)
    lines = source.lines if normalised is source.text else normalised.split("\n")
    return Program(source, Text(source, lines, columns), claims)


def _cut(lines: list[str], end: int) -> int:
    """The first line from `end` on at which a part may begin."""
    while end < len(lines) and not (is_boundary(lines[end]) and lines[end - 1][:1] != "@"):
        end += 1
    return min(end, len(lines))


def _logical_lines(lines: list[str], first: int, end: int) -> Iterator[tuple[int, int]]:
    """The logical lines of `lines[first:end]`."""
    while first < end:
        past = min(end, logical_line_end(lines, first, lambda _first, _past: True))
        yield first, past
        first = past


def _trees(lines: list[str], first: int, end: int) -> list[ast.stmt] | Exception:
    """The statements of `lines[first:end]`, their lines counted from `first`, or why there are none."""
    return _parse("\n".join(lines[first:end]))


def _parse(text: str, indented: bool = False) -> list[ast.stmt] | Exception:
    """The statements of `text`, which may be `indented`, or the exception that `ast.parse` raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `2if x`, `"\d"`: style, which is no business of ours
            if not indented:
                return ast.parse(text).body
            block = ast.parse(f"if 1:\n{text}").body[0]
    except PARSE_ERRORS as error:
        if indented and isinstance(error, SyntaxError) and error.lineno:
            error.lineno -= 1
        return error
    assert isinstance(block, ast.If)
    return [ast.increment_lineno(tree, -1) for tree in block.body]


def _trees_of_line(lines: list[str], first: int, past: int) -> list[ast.stmt] | Exception:
    """The statement of one logical line of a block without the lines around it, or why there is none."""
    text = "\n".join(lines[first:past])
    stripped = text.lstrip()
    if stripped.startswith(("else", "except", "finally", "try", "@")):
        return []
    if stripped.startswith("elif"):
        text = text.replace("elif", "  if", 1)
    blanks = text[: len(text) - len(text.lstrip())]
    result = _parse(text, indented=bool(blanks))
    if isinstance(result, IndentationError) and is_compound(lines, first, past):
        result = _parse(f"{text}\n{blanks} pass", indented=bool(blanks))
    return result


def _diagnosed(text: Text, first: int, end: int, error: BaseException) -> Problem:
    """What is wrong with `lines[first:end]`."""
    from gradcli.language.diagnosis import diagnose  # not at the start: a file without a fault needs none of it

    return diagnose(text, first, end, error)


def _claim(text: str) -> list[ast.stmt] | None:
    """The claim `a == b` that `a = b` was meant as; None if it was not."""
    from gradcli.language.diagnosis import wrong_target
    from gradcli.language.tokens import tokenize

    wrong = wrong_target(text, tokenize(text))
    if wrong is None or text[wrong[2]] != "=":
        return None
    # another comparison of the same length keeps every column in its place
    trees = _parse(f"{text[: wrong[2]]}<{text[wrong[2] + 1 :]}")
    if isinstance(trees, list) and len(trees) == 1:
        match trees[0]:
            case ast.Expr(ast.Compare(ops=[ast.Lt(), *signs], comparators=[right, *others]) as claim):
                if signs:  # `mask = a > b` claims a comparison
                    right = _ending_with(ast.Compare(right, signs, others), right, claim)
                claim.ops, claim.comparators = [ast.Eq()], [right]
                return trees
    return None


def _ending_with(node: ast.expr, begin: ast.expr, end: ast.expr) -> ast.expr:
    """`node` with the place from where `begin` begins to where `end` ends."""
    node = ast.copy_location(node, begin)
    node.end_lineno, node.end_col_offset = end.end_lineno, end.end_col_offset
    return node

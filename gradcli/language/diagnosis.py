"""Why a statement cannot be read: from Python's refusal to one problem.

The kinds of mistake are recognised here from the words of the statement, most certain first; Python's own
message, whose wording changes with its version, is only shown where no kind fits.
"""

import ast
import keyword
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from gradcli.language.lexis import MAX_NESTING
from gradcli.language.places import PARSE_ERRORS, Text
from gradcli.language.tokens import Token, tokenize
from gradcli.problems import Problem, Span, syntax

_PARTNERS = {")": "(", "]": "[", "}": "{"}
_AUGMENTED = ("=", "+=", "-=", "*=", "/=", "//=", "**=", "@=")
_SIGNS = ("+", "-", "~", "not")
_COMPARISONS = ("<", ">", "==", "!=", "<=", ">=", "in", "is")
_BINARY = {"/", "//", "%", "@", "&", "|", "^", "<<", ">>", "and", "or", *_COMPARISONS, *_AUGMENTED}
_STARS = ("*", "**")
# Words that a formula may well want as names.  The others, `and` or `if`, are hardly meant so within one.
_NAME_LIKE = set(keyword.kwlist) - {"True", "False", "None", "and", "or", "not", "if", "elif", "else", "for"}
_NUMBER = re.compile(
    r"0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|(?:(?:\d(?:_?\d)*)?\.\d(?:_?\d)*|\d(?:_?\d)*\.?)(?:[eE][+-]?\d(?:_?\d)*)?[jJ]?"
)
_FACTOR = re.compile(r"(\d+(?:\.\d*)?|\.\d+)((?!_)[^\W\d]\w*)")


def diagnose(text: Text, first: int, end: int, error: BaseException) -> Problem:
    """The problem of the statement in `text.lines[first:end]`, for which `ast.parse` raised `error`."""
    return _Diagnosis(text, first, end, error).problem()


def wrong_target(statement: str, tokens: list[Token]) -> tuple[int, int, int] | None:
    """An expression that is no name to the left of `=`: where it begins and ends, and where the sign is."""
    depth = start = 0
    for token in tokens:
        if token.kind == "bracket":
            depth += 1 if token.text in "([{" else -1
        elif depth == 0 and token.kind == "operator" and token.text in _AUGMENTED:
            left = statement[start : token.start]
            if _is_no_target(left):
                return start + len(left) - len(left.lstrip()), start + len(left.rstrip()), token.start
            start = token.end
    return None


class _Diagnosis:
    """One statement under examination."""

    def __init__(self, text: Text, first: int, end: int, error: BaseException) -> None:
        lines = text.lines[first:end]
        self.text = text
        self.first = first
        self.statement = "\n".join(lines)
        self.line_starts = list(accumulate((len(line) + 1 for line in lines), initial=0))[:-1]
        self.error = error
        self.tokens = tokenize(self.statement)

    def problem(self) -> Problem:
        """The first kind of mistake that is recognised; each kind assumes that those before it are absent."""
        kinds: tuple[Callable[[], Problem | None], ...] = (
            self._null_byte,
            self._depth,
            self._strays,
            self._brackets,
            self._indentation,
            self._numbers,
            self._reserved_words,
            self._operands,
            self._claim,
        )
        return next((problem for kind in kinds if (problem := kind())), None) or self._syntax()

    def _span(self, start: int, end: int) -> Span:
        """The place of the characters from `start` up to `end` of the statement."""
        row = bisect_right(self.line_starts, start) - 1
        end_row = max(row, bisect_right(self.line_starts, max(start, end - 1)) - 1)
        line, end_line = self.first + 1 + row, self.first + 1 + end_row
        return self.text.span(line, start - self.line_starts[row], end_line, end - self.line_starts[end_row])

    def _token_span(self, token: Token) -> Span:
        return self._span(token.start, token.end)

    def _row(self) -> int:
        """The line of the statement, from 0, that Python complains of."""
        line = self.error.lineno if isinstance(self.error, SyntaxError) else None
        return min(max((line or 1) - 1, 0), len(self.line_starts) - 1)

    def _null_byte(self) -> Problem | None:
        at = self.statement.find("\0")
        return syntax.null_byte(self._span(at, at + 1)) if at >= 0 else None

    def _depth(self) -> Problem | None:
        depth = 0
        for token in self.tokens:
            if token.kind == "bracket":
                depth = depth + 1 if token.text in "([{" else max(0, depth - 1)
                if depth > MAX_NESTING:
                    return syntax.too_deep(self._token_span(token))
        # "too many nested parentheses" and "too many levels of indentation" are syntax errors
        if isinstance(self.error, RecursionError | MemoryError) or "too many" in str(self.error):
            first_line = self.statement.partition("\n")[0]
            return syntax.too_deep(self._span(_indent(first_line), len(first_line)))
        return None

    def _strays(self) -> Problem | None:
        for token in self.tokens:
            if token.kind == "stray":
                return syntax.invalid_character(self._token_span(token), token.text)
            if token.kind == "unclosed":
                quote = token.text[:3] if token.text[:3] in ('"""', "'''") else token.text[0]
                return syntax.unclosed_string(self._span(token.start, token.start + len(quote)), quote)
        # lone surrogates within strings and comments, which UTF-8 cannot spell
        for at, character in enumerate(self.statement if isinstance(self.error, UnicodeError) else ""):
            if "\ud800" <= character <= "\udfff":
                return syntax.invalid_character(self._span(at, at + 1), character)
        return None

    def _brackets(self) -> Problem | None:
        opened: list[Token] = []
        for token in self.tokens:
            if token.kind != "bracket":
                continue
            if token.text in "([{":
                opened.append(token)
            elif not opened:
                return syntax.unmatched_bracket(self._token_span(token), token.text)
            elif (opener := opened.pop()).text != _PARTNERS[token.text]:
                return syntax.unmatched_bracket(
                    self._token_span(token), token.text, self._token_span(opener), opener.text
                )
        return syntax.unclosed_bracket(self._token_span(opened[-1]), opened[-1].text) if opened else None

    def _indentation(self) -> Problem | None:
        if not isinstance(self.error, IndentationError):
            return None
        start = self.line_starts[self._row()]
        line = self.statement[start:].partition("\n")[0]
        detail = self.error.msg
        if isinstance(self.error, TabError):
            detail = "tabs and blanks are mixed"
        elif detail == "unexpected indent":
            detail = "indented, but no loop or function begins before it"
        return syntax.bad_indentation(self._span(start, start + (_indent(line) or len(line))), detail)

    def _numbers(self) -> Problem | None:
        for token in self.tokens:
            if token.kind != "number":
                continue
            if detail := _number_fault(token.text):
                return syntax.bad_number(self._token_span(token), detail)
            factor = _FACTOR.fullmatch(token.text)
            if factor and not _NUMBER.fullmatch(token.text) and not keyword.iskeyword(factor[2]):
                return syntax.implicit_product(self._token_span(token), factor[1], factor[2])
        return None

    def _reserved_words(self) -> Problem | None:
        for before, word, after in _neighbours(self.tokens):
            if word.kind != "keyword":
                continue
            begins = before is None or before.text in (",", "for")
            assigned = begins and after is not None and after.text in _AUGMENTED
            attribute = before is not None and before.text == "."
            if assigned or attribute or _stands_for_a_value(before, word, after):
                return syntax.reserved_word(self._token_span(word), word.text)
        return None

    def _operands(self) -> Problem | None:
        """Two operands with no operator between them, or an operator with no operand."""
        if "Missing parentheses" in str(self.error):
            return None  # `print x`: Python says it best
        for before, word, after in _neighbours(self.tokens):
            if before is None and word.kind == "operator" and (word.text in _BINARY or word.text in _STARS):
                return syntax.missing_operand(self._token_span(word), word.text, "before")
            if after is not None and _side_by_side(word, after):
                left = word.text.rpartition("\n")[2]
                return syntax.implicit_product(self._token_span(after), left, after.text)
            if _lacks_operand(before, word, after):
                if after is not None and after.text == "|":  # `y = |x|`
                    return syntax.invalid_character(self._token_span(after), "|")
                side = "before" if word.text == "," else "after"
                return syntax.missing_operand(self._token_span(word), word.text, side)
        return None

    def _claim(self) -> Problem | None:
        """An assignment to something that cannot bear a value."""
        wrong = wrong_target(self.statement, self.tokens)
        if wrong is None:
            return None
        start, end, _sign = wrong
        return syntax.claim_or_assignment(self._span(start, end), " ".join(self.statement[start:end].split()))

    def _syntax(self) -> Problem:
        """Python's own message at Python's own place."""
        detail, start = str(self.error) or type(self.error).__name__, 0
        if isinstance(self.error, SyntaxError):
            detail = self.error.msg
            start = self.line_starts[self._row()] + max((self.error.offset or 1) - 1, 0)
        start = min(start, len(self.statement))
        end = next((token.end for token in self.tokens if token.start <= start < token.end), start)
        return syntax.syntax(self._span(start, end), detail)


def _indent(line: str) -> int:
    """How many blanks `line` begins with."""
    return len(line) - len(line.lstrip())


def _neighbours(tokens: list[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    """Each word with the one before and the one after it."""
    return zip([None, *tokens], tokens, [*tokens[1:], None], strict=False)


def _number_fault(number: str) -> str:
    """What is wrong with what begins like a number; empty if it is one, or a number times a name."""
    if _NUMBER.fullmatch(number):
        if number[0] == "0" and number.isdigit() and number.strip("0"):
            return "zeros in front of a number have no meaning here"
        limit = sys.get_int_max_str_digits()
        if number.isdigit() and 0 < limit < len(number):
            return f"{len(number)} digits are more than the {limit} that can be read"
        return ""
    if number.count(".") > 1:
        return "more than one decimal point"
    if number.endswith("_") or "__" in number:
        return "`_` may only stand between two digits"
    is_factor = _FACTOR.fullmatch(number) and number[:2].lower() not in ("0x", "0b", "0o")
    return "" if is_factor else "not a number"


def _stands_for_a_value(before: Token | None, word: Token, after: Token | None) -> bool:
    """Whether a reserved word stands where a value would: after an operator and before another one."""
    if word.text not in _NAME_LIKE or before is None or before.text in ("is", "in", "not"):
        return False
    leads = before.text in _BINARY or before.text in (*_SIGNS, *_STARS, "(", "[", ",")
    return leads and (after is None or after.text in _BINARY or after.text in (*_STARS, "+", "-", ")", "]", ","))


def _side_by_side(word: Token, after: Token) -> bool:
    """Whether two words are operands with no operator between them."""
    ends = word.is_operand or word.text in (")", "]")
    both_strings = word.kind == after.kind == "string"
    return ends and after.is_operand and not both_strings


def _lacks_operand(before: Token | None, word: Token, after: Token | None) -> bool:
    """Whether nothing stands where `word`, an operator or a comma, expects an operand."""
    if word.kind not in ("operator", "keyword") or (word.kind == "keyword" and before is None):
        return False
    if word.text == ",":
        return before is None or before.text in (",", "(", "[", "{")
    if word.text not in _BINARY and word.text not in _SIGNS and word.text not in _STARS:
        return False
    # `def f(a, *, b)` and `def f(a, /)`
    if word.text in ("*", "/") and before is not None and before.text in (",", "("):
        return False
    if word.text == "not" and after is not None and after.text == "in":
        return False
    if after is None or after.text in (")", "]", "}", ",", ";"):
        return True
    if after.text in _STARS:
        return word.text != "="
    return after.text in _BINARY


def _is_no_target(left: str) -> bool:
    """Whether `left` is an expression that no value can be assigned to."""
    try:
        tree = ast.parse(left.strip(), mode="eval").body
    except PARSE_ERRORS:
        return False
    elements = tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree]
    targets = (ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.Tuple, ast.List)
    return not all(isinstance(element, targets) for element in elements)

"""The words of a statement that Python refused: good enough to say what is wrong with it.

Python's own tokenizer stops at the first fault and words it differently in every version; this one
never stops.
"""

import keyword
import re
from typing import Literal, NamedTuple

from gradcli.language.lexis import COMBINING

Kind = Literal["name", "keyword", "number", "string", "unclosed", "operator", "bracket", "stray"]

_TOKEN = re.compile(
    rf"""
      (?P<skip>   [ \t\n]+ | \\\n | \#[^\n]* )
    | (?P<string> [rRbBuUfF]{{0,2}} (?: \"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?''' ) )
    | (?P<unclosed> (?: \"\"\" | ''' ) .* )
    | (?P<string2> [rRbBuUfF]{{0,2}} (?: "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' ) )
    | (?P<unclosed2> ["'] [^\n]* )
    | (?P<number> \.?\d (?: [eE][+-]?\d | [\w.] )* )
    | (?P<name> [^\W\d][\w{COMBINING}]* )
    | (?P<operator> \*\*=? | //=? | <<=? | >>=? | -> | := | \.\.\. | [-+*/%@<>=!&|^]= | [-+*/%@<>=&|^~.,:;] )
    | (?P<bracket> [()\[\]{{}}] )
    | (?P<stray> . )
    """,
    re.VERBOSE | re.DOTALL,
)

_CONSTANTS = ("True", "False", "None")


class Token(NamedTuple):
    """A word and its place: `start` and `end` count characters from the beginning of the statement."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def is_operand(self) -> bool:
        """Whether this is a value by itself."""
        return self.kind in ("name", "number", "string") or self.text in _CONSTANTS


def tokenize(text: str) -> list[Token]:
    """The words of `text` without blanks and comments; never fails."""
    tokens: list[Token] = []
    for found in _TOKEN.finditer(text):
        group = (found.lastgroup or "stray").rstrip("2")
        word, start, end = found.group(), found.start(), found.end()
        if group == "skip":
            continue
        if group == "name":
            tokens += _name(word, start)
        else:
            tokens.append(Token(group, word, start, end))  # type: ignore[arg-type]  # the groups are the kinds
    return tokens


def _name(word: str, start: int) -> list[Token]:
    r"""A word of letters, which `\w` allows some strangers in: `x①` is the name `x` and a stray."""
    if keyword.iskeyword(word):
        return [Token("keyword", word, start, start + len(word))]
    if word.isidentifier():
        return [Token("name", word, start, start + len(word))]
    at = next((i for i in range(1, len(word)) if not f"a{word[i]}".isidentifier()), 0)
    stray = Token("stray", word[at], start + at, start + at + 1)
    return [Token("name", word[:at], start, start + at), stray] if at else [stray]

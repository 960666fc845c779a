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

from gradcli.language.places import Text
from gradcli.language.tokens import Token, tokenize
from gradcli.problems import Problem, Span, syntax

MAX_NESTING = 200
"""How many nested brackets Python's parser holds."""

PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""Everything that `ast.parse` may throw at text."""

_PARTNERS = {")": "(", "]": "[", "}": "{"}
_AUGMENTED = ("=", "+=", "-=", "*=", "/=", "//=", "**=", "@=")
_SIGNS = ("+", "-", "~", "not")
_BINARY = frozenset(
    (
        "/",
        "//",
        "%",
        "@",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "<",
        ">",
        "==",
        "!=",
        "<=",
        ">=",
        "and",
        "or",
        "in",
        "is",
    )
).union(_AUGMENTED)

"""Mistakes of syntax: what is not yet a statement."""

from gradcli.problems.core import Label, Problem, Span, mistake

# Characters with no single meaning, or whose twin the reader should choose: what to write instead.
_INSTEAD = {
    "【": "`[`", "】": "`]`", "「": "`[`", "」": "`]`", "《": "`<`", "》": "`>`", "〈": "`<`", "〉": "`>`",
    "。": "`.`, or nothing", "′": "a name such as `dx`, or `.T` for a transpose",
    "∞": "`inf`", "∇": "`d`, as in `dz/dx`", "∈": "`in`", "→": "`=`, or `==` for a claim", "≈": "`==`",
    "≡": "`==`", "←": "`=`", "∧": "`and`", "∨": "`or`", "¬": "`not`", "±": "`+` or `-`", "∓": "`-` or `+`",
    "°": "`* pi / 180`", "‖": "`norm(...)`", "∥": "`norm(...)`", "∛": "`cbrt(...)`", "√": "`sqrt(...)`",
    "∑": "`sum(...)`", "∏": "`prod(...)`", "⊗": "`outer(a, b)`", "½": "`1/2`", "¼": "`1/4`", "¾": "`3/4`",
    "…": "`...`", "$": "the formula without dollar signs", "?": "a number or a name",
    "!": "`not`, or a factorial as a product", "`": "the formula without backquotes",
    "\\": "`/` for a division",
    "|": "`abs(x)` for an absolute value, `norm(x)` for a norm",
}  # fmt: skip

_OTHER_NAME = {"lambda": "lam", "class": "cls"}


def _at(span: Span, text: str = "") -> tuple[Label, ...]:
    return (Label(span, text),)


@mistake("syntax")
def syntax(span: Span, detail: str) -> Problem:
    """The line is not a formula.

    A formula file is written in a part of Python's syntax: `z = p * w` defines a node, `dz/dw == 5` states a
    claim, `for t in range(3):` begins a loop.  This line is none of these, and no more particular
    mistake could be recognised in it.

        for t in range(3)       wrong: the colon is missing
        for t in range(3):      right
    """
    return Problem(
        "syntax",
        "this is not a formula that can be read",
        _at(span, detail),
        help="a line is a definition `z = x * y`, a claim `dz/dx == y`, a loop or a function",
    )


@mistake("unclosed-bracket")
def unclosed_bracket(span: Span, bracket: str) -> Problem:
    """A bracket was opened and never closed.

    Every `(`, `[` and `{` needs its partner.  Count them from the place that the message points at: the
    partner is usually missing at the end of that line.  The lines after it are read as if it had been closed.

        y = sigmoid((w * x + b)      wrong
        y = sigmoid((w * x + b))     right
    """
    partner = {"(": ")", "[": "]", "{": "}"}[bracket]
    return Problem(
        "unclosed-bracket",
        f"`{bracket}` is never closed",
        _at(span, "opened here"),
        help=f"close it with `{partner}`",
    )


@mistake("unmatched-bracket")
def unmatched_bracket(span: Span, bracket: str, opened: Span | None = None, opener: str = "") -> Problem:
    """A bracket is closed that was not opened, or that was opened as another kind.

    Brackets close in the reverse order of their opening, each by its own kind: `(` by `)`, `[` by `]`.

        y = x + 1)           wrong: nothing was opened
        y = [1, (2, 3])      wrong: `(` is closed by `]`
        y = [1, (2, 3)]      right
    """
    if opened is None:
        return Problem(
            "unmatched-bracket",
            f"`{bracket}` closes nothing",
            _at(span, "no bracket is open here"),
            help="remove it, or open a bracket before it",
        )
    partner = {"(": ")", "[": "]", "{": "}"}[opener]
    return Problem(
        "unmatched-bracket",
        f"`{opener}` is closed by `{bracket}`",
        (Label(span, f"expected `{partner}`"), Label(opened, "opened here")),
        help=f"write `{partner}` here",
    )


@mistake("unclosed-string")
def unclosed_string(span: Span, quote: str) -> Problem:
    """A text in quotes was begun and not ended on its line.

    Texts are rare in formulas: `einsum("ij,kj->ik", X, W)`, `load("weights.npz")`.  More often the quote was
    meant as a transpose or a derivative, which are written `W.T` and `dz/dx`.

        D = load("weights.npz)      wrong
        D = load("weights.npz")     right
        y = W' @ x                  wrong
        y = W.T @ x                 right
    """
    way_out = f"end the text with {quote}"
    if quote == "'":
        way_out += "; if a transpose was meant, write `W.T`, if a derivative, `dz/dx`"
    return Problem("unclosed-string", "this text is never ended", _at(span, "begins here"), help=way_out)


@mistake("invalid-character")
def invalid_character(span: Span, character: str) -> Problem:
    """A character has no meaning in a formula.

    Most of what people type on paper is understood: `×`, `÷`, `²`, `√`, full-width brackets, Greek letters.
    This character is not, or not at this place.  Write in its place what the message suggests, or what you
    mean in words: a function such as `norm(x)`, a name such as `x_hat`.

        y = ∞       wrong
        y = inf     right
    """
    code = f"U+{ord(character):04X}"
    shown = f"`{character}` ({code})" if character.isprintable() else f"the invisible character {code}"
    instead = _INSTEAD.get(character)
    if not character.isprintable():
        way_out = "delete it; an editor can show invisible characters"
    elif instead:
        way_out = f"write {instead}"
    else:
        way_out = "remove it, or use a name made of letters, digits and `_`"
    return Problem("invalid-character", f"{shown} has no meaning here", _at(span), help=way_out)


@mistake("implicit-product")
def implicit_product(span: Span, left: str, right: str) -> Problem:
    """Two factors stand side by side with no sign between them.

    On paper `2x` is a product; in a formula file, as in Python, the sign must be written, because names may
    be longer than one letter.

        y = 2x + 3 a      wrong
        y = 2*x + 3*a     right
    """
    factors = f"`*` before `{right}`" if left in ")]}" else f"`{left}*{right}`"
    way_out = f"for a product, write {factors}"
    if left == "d":
        way_out = f"for a derivative, write `d{right}` without a blank; {way_out}"
    return Problem(
        "implicit-product",
        f"there is no operator between `{left}` and `{right}`",
        _at(span, "expected an operator"),
        help=way_out,
    )


@mistake("missing-operand")
def missing_operand(span: Span, operator: str, side: str) -> Problem:
    """An operator has nothing to work on.

    `+`, `*`, `=` and their like stand between two things.  One of them is missing, or two operators
    stand next to each other.  Power is one operator, written `**` without a blank, or `^`.

        b = x +        wrong
        b = x + 1      right
        c = x * * 2    wrong
        c = x ** 2     right
    """
    return Problem(
        "missing-operand",
        f"there is nothing {side} `{operator}`",
        _at(span, "expected a number, a name or a bracket"),
        help=f"write what belongs {side} `{operator}`, or remove it",
    )


@mistake("claim-or-assignment")
def claim_or_assignment(span: Span, left: str) -> Problem:
    """`=` stands after something that is not a name.

    `=` gives a name to what stands on its right, so only a name (or `h[t]`) can stand on its left.
    To state that two things are equal, which the tool then checks, write `==`.

        dz/dx = 4       wrong: `dz/dx` is no name
        dz/dx == 4      right: a claim
        s = x + y       right: a definition
    """
    return Problem(
        "claim-or-assignment",
        f"`{left}` is not a name, so nothing can be assigned to it",
        _at(span, "expected a name"),
        help="a claim is written with `==`; a definition has its name on the left of `=`",
    )


@mistake("bad-indentation")
def bad_indentation(span: Span, detail: str) -> Problem:
    """The blanks at the beginning of a line do not fit.

    Lines begin at the margin.  Only the body of a loop or a function is indented, all its lines by the same
    amount, either by blanks or by tabs but not by both.

        x = 1
          y = 2                   wrong: indented, but there is no loop

        for t in range(3):
        h[t] = x                  wrong: the body of the loop is not indented
    """
    return Problem(
        "bad-indentation",
        "the indentation does not fit",
        _at(span, detail),
        help="begin lines at the margin; indent only the body of a loop or a function, by four blanks",
    )


@mistake("too-deep")
def too_deep(span: Span) -> Problem:
    """The line has too many brackets within brackets, or too many terms.

    Python's parser, which reads the formulas, holds about 200 nested brackets and about 3,000 terms
    in one line.  Give names to parts of the formula, one line for each; the gradient is the same.

        y = f(f(f(... 300 times ...)))     wrong
        h1 = f(f(f(x)))                    right: in steps
        h2 = f(f(f(h1)))
    """
    return Problem(
        "too-deep",
        "this line is nested too deeply or has too many terms",
        _at(span),
        help="split it into several lines, each with a name; or use `sum([...])` for many terms",
    )


@mistake("reserved-word")
def reserved_word(span: Span, word: str) -> Problem:
    """A word of Python's own is used as a name.

    Formula files use Python's syntax, in which words such as `lambda`, `class`, `in` and `is` have a fixed
    meaning.  They cannot be names; another spelling can.

        lambda = 0.1      wrong
        lam = 0.1         right
    """
    other = _OTHER_NAME.get(word, f"{word.lower()}_")
    return Problem(
        "reserved-word",
        f"`{word}` is a word of the language and cannot be a name",
        _at(span),
        help=f"use another name, such as `{other}`",
    )


@mistake("bad-number")
def bad_number(span: Span, detail: str) -> Problem:
    """Something begins like a number and is none.

    Numbers are written `12`, `0.5`, `1e-3` or `1_000_000`: one decimal point, no zero in front, no
    underscore at the end.  A number of thousands of digits cannot be read; write it with an exponent.

        x = 1.2.3     wrong
        x = 007       wrong
        x = 7         right
    """
    return Problem(
        "bad-number",
        "this is not a number",
        _at(span, detail),
        help="write numbers like `12`, `0.5` or `1e-3`",
    )


@mistake("null-byte")
def null_byte(span: Span) -> Problem:
    """The text contains a null character, which no text should.

    The file is probably not a text in UTF-8: a binary file such as `.npz`, or a text saved as UTF-16.  Save
    it as UTF-8 in your editor, or name the formula file instead of the data file.

        gradcli derive weights.npz     wrong: arrays, not formulas
        gradcli derive model.txt       right
    """
    return Problem(
        "null-byte",
        "the text contains a null character",
        _at(span),
        help="save the file as UTF-8 text; arrays belong in a file of their own, read by `load(...)`",
    )

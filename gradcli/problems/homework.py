"""Mistakes in a sheet of homework that keep a line from being judged."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.problems.core import Label, Problem, Source, Span, mistake
from gradcli.problems.meaning import did_you_mean


@mistake("uses-invalid-line")
def uses_invalid(span: Span, names: Sequence[str]) -> Problem:
    """A line of a sheet uses a name whose own line cannot be evaluated.

    Mend that line first.  A gradient that cannot be evaluated does not stop the lines that use it, because what it
    should have been is known; of a name of your own it is not:

        delta = p - q               # q is not defined
        dW2 = outer(delta, h1)      # so nothing can be said about this line
    """
    listed = " and ".join(f"`{name}`" for name in names) or "a name"
    return Problem(
        "uses-invalid-line",
        f"{listed} stands for a line that cannot be evaluated",
        (Label(span, "used here"),),
        help="mend that line first",
    )


@mistake("broken-answers")
def broken_answers(source: Source, line: int, reason: str, column: int = 0) -> Problem:
    """An answers file cannot be read.

    Beside text, answers may be numbers under names: a JSON object, rows of a CSV file, the arrays of an `.npz` file or
    of a folder of `.npy` files.  In JSON, for example:

        {"dW2": [[0.1, 0.2], [0.3, 0.4]], "db2": [0.1, -0.1], "dh1": "W2.T @ dz2"}
    """
    text = source.lines[line - 1] if 0 < line <= len(source.lines) else ""
    first, end = (column, column + 1) if column else (1, max(2, len(text) + 1))
    labels = (Label(Span(source, line, first, line, end)),) if text else ()
    return Problem(
        "broken-answers",
        f"{source.name} cannot be used as answers: {reason}",
        labels,
        help="write names and numbers, as in `gradcli explain broken-answers`",
    )


@mistake("bad-answer")
def bad_answer(source: Source | None, reason: str) -> Problem:
    """One answer of a file of answers cannot be read; the others are marked.

    A file of answers has numbers or formulas under names, and each name is that of a value or of a gradient.  What is
    `null`, or an object with names of its own, says nothing about either:

        {"dW": [[0.1, 0.2], [0.3, 0.4]], "db": null}     # wrong: there is nothing to mark
        {"dW": [[0.1, 0.2], [0.3, 0.4]]}                 # right
    """
    labels: tuple[Label, ...] = ()
    if source is not None and source.text.strip():
        text = source.lines[0]
        labels = (Label(Span(source, 1, 1, 1, max(2, len(text.rstrip()) + 1))),)
    return Problem("bad-answer", reason, labels, help='write it as in `{"dW": [[0.1, 0.2]], "dh": "W.T @ dz"}`')


@mistake("unknown-answer")
def unknown_answer(span: Span | None, name: str, known: Sequence[str]) -> Problem:
    """Numbers are given under a name that nothing in the formula file bears, and no other answer uses it.

    An answer is about a value or a gradient of the file, under its name: `p`, `dW1`, `dL/dW1`.  A name of your own may
    stand for a part of a derivation, if another answer uses it:

        {"delta": [0.1, -0.1], "dW": "outer(delta, x)"}
    """
    return Problem(
        "unknown-answer",
        f"`{name}` is no value or gradient of the file, and no other answer uses it",
        (Label(span),) if span is not None else (),
        help=did_you_mean(name, known, f"its names are {', '.join(known[:12])}"),
    )

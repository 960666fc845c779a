"""Mistakes in a sheet of homework that keep a line from being judged."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.problems.core import Label, Problem, Source, Span, mistake


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
def broken_answers(source: Source, line: int, reason: str) -> Problem:
    """An answers file cannot be read.

    Beside text, answers may be numbers under names: a JSON object, rows of a CSV file, the arrays of an `.npz` file or
    of a folder of `.npy` files.  In JSON, for example:

        {"dW2": [[0.1, 0.2], [0.3, 0.4]], "db2": [0.1, -0.1], "dh1": "W2.T @ dz2"}
    """
    text = source.lines[line - 1] if 0 < line <= len(source.lines) else ""
    labels = (Label(Span(source, line, 1, line, max(2, len(text) + 1))),) if text else ()
    return Problem(
        "broken-answers",
        f"{source.name} cannot be used as answers: {reason}",
        labels,
        help="write names and numbers, as in `gradcli explain broken-answers`",
    )

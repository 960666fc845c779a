"""How problems are drawn: carets below what they mean, whatever the characters and the width."""

from __future__ import annotations

import io
import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from gradcli.problems.core import Label, Problem, Source, Span
from gradcli.render.problems import MOST, print_problems, problem_lines

FORMULAS = Source(
    "broken.txt",
    "\n".join(
        [
            "x = [1, 2, 3]",
            "",
            "z1 = W1 @ x + b1",
            "q = [1,  # a list",
            "     2,",
            "     3]",
            "last = a +",
            "lång = ｆ(漢字, e\u0301x)",
            "a\tb\x1b[31m\u202ec",
            "v = " + " + ".join(f"x{index}" for index in range(40)),
            "漢" * 40 + " = y",
            "\u0301 = 1",
            "end",
        ]
    ),
)
STDIN = Source("<stdin>", "u = 1\r\nw = 3 *\r\n[red]")


def label(line: int, column: int, end: int, text: str = "", source: Source = FORMULAS, to: int | None = None) -> Label:
    return Label(Span(source, line, column, to or line, end), text)


@dataclass(frozen=True)
class Case:
    """A problem and what is to be on the screen, after a blank line that only makes it readable here."""

    expected: str
    labels: tuple[Label, ...] = ()
    message: str = "m"
    notes: tuple[str, ...] = ()
    help: str = ""
    width: int = 80
    ascii_only: bool = False

    def drawn(self) -> str:
        problem = Problem("code", self.message, self.labels, self.notes, self.help)
        lines = problem_lines(problem, width=self.width, ascii_only=self.ascii_only)
        return "\n" + "\n".join(line.plain for line in lines)


CASES = {
    "two labels, a note and help": Case(
        """
error[code]: W1 @ x needs the last axis of W1 and the first of x to be equal
  --> broken.txt:3:6
  |
3 | z1 = W1 @ x + b1
  |      ^^   ^ shape (3,), first axis 3
  |      shape (2, 2), last axis 2
  = note: A product of matrices.
  = help: x has 3 entries; W1 expects 2. Did you mean W1[:, :2]?""",
        (label(3, 6, 8, "shape (2, 2), last axis 2"), label(3, 11, 12, "shape (3,), first axis 3")),
        message="W1 @ x needs the last axis of W1 and the first of x to be equal",
        notes=("A product of matrices.",),
        help="x has 3 entries; W1 expects 2. Did you mean W1[:, :2]?",
    ),
    "texts from right to left, whatever the order of the labels": Case(
        """
error[code]: m
  --> broken.txt:3:11
  |
3 | z1 = W1 @ x + b1
  | ^^   ^^   ^   ^^ d
  | |    |    c
  | |    b
  | a""",
        (label(3, 11, 12, "c"), label(3, 1, 3, "a"), label(3, 15, 17, "d"), label(3, 6, 8, "b")),
    ),
    "labels without text": Case(
        """
error[code]: m
  --> broken.txt:3:6
  |
3 | z1 = W1 @ x + b1
  | ^^   ^^ ^ ^   ^^
  |      |  product
  |      left""",
        (
            label(3, 6, 8, "left"),
            label(3, 9, 10, "product"),
            *(label(3, c, e) for c, e in [(1, 3), (11, 12), (15, 17)]),
        ),
    ),
    "one label without text": Case(
        """
error[code]: m
  --> broken.txt:3:6
  |
3 | z1 = W1 @ x + b1
  |      ^^""",
        (label(3, 6, 8),),
    ),
    "overlapping and touching labels have carets of their own": Case(
        """
error[code]: m
  --> broken.txt:3:9
  |
3 | z1 = W1 @ x + b1
  |         ^ ^ right operand
  |         product
  |      ^^^^^^ the whole
  |            ^ blank""",
        (
            label(3, 9, 10, "product"),
            label(3, 6, 12, "the whole"),
            label(3, 11, 12, "right operand"),
            label(3, 12, 13, "blank"),
        ),
    ),
    "the same place twice": Case(
        """
error[code]: m
  --> broken.txt:3:11
  |
3 | z1 = W1 @ x + b1
  |           ^ one
  |           ^ two""",
        (label(3, 11, 12, "one"), label(3, 11, 12, "two")),
    ),
    "labels on several lines, numbers of two digits": Case(
        """
error[code]: m
   --> broken.txt:7:8
   |
 3 | z1 = W1 @ x + b1
   |           ^ there
 4 | q = [1,  # a list
   | ^
...
 7 | last = a +
   |        ^ here
...
13 | end
   | ^^^ and at the end""",
        (
            label(7, 8, 9, "here"),
            label(13, 1, 4, "and at the end"),
            label(4, 1, 2),
            label(3, 11, 12, "there"),
        ),
    ),
    "labels in another source": Case(
        """
error[code]: m
  --> broken.txt:3:6
  |
3 | z1 = W1 @ x + b1
  |      ^^ here
  |
  ::: <stdin>:2:1
  |
1 | u = 1
  |     ^ given
2 | w = 3 *
  | ^ defined""",
        (label(3, 6, 8, "here"), label(2, 1, 2, "defined", STDIN), label(1, 5, 6, "given", STDIN)),
    ),
    "standard input, no markup": Case(
        """
error[code]: [bold]m[/bold] :smile:
  --> <stdin>:3:1
  |
3 | [red]
  | ^^^^^ [blue]not a style""",
        (label(3, 1, 6, "[blue]not a style", STDIN),),
        message="[bold]m[/bold] :smile:",
    ),
    "over several lines": Case(
        """
error[code]: m
  --> broken.txt:4:5
  |
4 | q = [1,  # a list
  |     ^^^^^^^^^^^^^ a list (to line 6)""",
        (label(4, 5, 8, "a list", to=6),),
    ),
    "over several lines, without text": Case(
        """
error[code]: m
  --> broken.txt:4:10
  |
4 | q = [1,  # a list
  |          ^^^^^^^^ (to line 5)""",
        (label(4, 10, 1, to=5),),
    ),
    "behind the end of a line": Case(
        """
error[code]: m
  --> broken.txt:7:11
  |
7 | last = a +
  |           ^ operand missing""",
        (label(7, 11, 11, "operand missing"),),
    ),
    "far behind the end of a line that ends in CRLF, touching": Case(
        """
error[code]: m
  --> <stdin>:2:40
  |
2 | w = 3 *
  |        ^ operand missing
  |       ^ times""",
        (label(2, 40, 45, "operand missing", STDIN), label(2, 7, 8, "times", STDIN)),
    ),
    "from a line to far behind its end": Case(
        """
error[code]: m
  --> broken.txt:7:10
  |
7 | last = a +
  |          ^ this""",
        (label(7, 10, 99, "this"),),
    ),
    "an empty line": Case(
        """
error[code]: m
  --> broken.txt:2:1
  |
2 |
  | ^ nothing here""",
        (label(2, 1, 1, "nothing here"),),
    ),
    "behind the last line": Case(
        """
error[code]: m
   --> broken.txt:14:1
   |
14 |
   | ^ end of file""",
        (label(14, 1, 1, "end of file"),),
    ),
    "wide and combining characters": Case(
        """
error[code]: m
  --> broken.txt:8:8
  |
8 | lång = ｆ(漢字, e\u0301x)
  |        ^^ ^^^^  ^^ accented
  |        |  字?
  |        full width""",
        (label(8, 8, 9, "full width"), label(8, 10, 12, "字?"), label(8, 14, 17, "accented")),
    ),
    "an accent is where its letter is": Case(
        """
error[code]: m
  --> broken.txt:8:15
  |
8 | lång = ｆ(漢字, e\u0301x)
  |                 ^ accent""",
        (label(8, 15, 16, "accent"),),
    ),
    "an accent without a letter": Case(
        """
error[code]: m
   --> broken.txt:12:1
   |
12 | \u0301 = 1
   | ^ accent""",
        (label(12, 1, 2, "accent"),),
    ),
    "tabs and control characters": Case(
        """
error[code]: a tab:    and \\x07
  --> broken.txt:9:2
  |
9 | a    b\\x1b[31m\\u202ec
  |  ^^^^ ^^^^    ^^^^^^ \\x1b[1m
  |  |    escape
  |  tab
  = note: \\x9b
  = help: \\ud800""",
        (label(9, 2, 3, "tab"), label(9, 4, 5, "escape"), label(9, 9, 10, "\x1b[1m")),
        message="a tab:\tand \a",
        notes=("\x9b",),
        help="\ud800",
    ),
    "ASCII only": Case(
        """
error[code]: 1 \\xd7 2
  --> broken.txt:8:8
  |
8 | l\\xe5ng = \\uff46(\\u6f22\\u5b57, e\\u0301x)
  |           ^^^^^^ ^^^^^^^^^^^^         ^ \\u5b57?
  |           |      wide
  |           f
  = help: add ...""",
        (label(8, 8, 9, "f"), label(8, 10, 12, "wide"), label(8, 16, 17, "字?")),
        message="1 × 2",
        help="add …",
        ascii_only=True,
    ),
    "no place": Case(
        """
error[code]: no such file
  = note: one
  = note: two
  = help: look""",
        message="no such file",
        notes=("one", "two"),
        help="look",
    ),
    "prose is wrapped between words": Case(
        """
error[code]: a message
    that needs several
    lines of 20 characters
  = note: a shape like
          (2, 3) is one
          word
          averyveryverylongword
          too

          and a paragraph
  = help: 漢字 漢字 漢字
          漢字""",
        message="a message that needs several lines of 20 characters",
        notes=("a shape like (2, 3) is one word averyveryverylongword too\n\nand a paragraph",),
        help="漢字 漢字 漢字 漢字",
        width=26,
    ),
    "a word that does not fit beside the code": Case(
        """
error[code]:
    averyveryverylongword""",
        message="averyveryverylongword",
        width=26,
    ),
    "the text of a label goes below where it does not fit": Case(
        """
error[code]: m
  --> broken.txt:3:11
  |
3 | z1 = W1 @ x + b1
  |      ^^   ^
  |      | text that is too long
  |     text that is too long as
  |     well""",
        (label(3, 11, 12, "text that is too long"), label(3, 6, 8, "text that is too long as well")),
        width=32,
    ),
    "or further left": Case(
        """
error[code]: m
  --> broken.txt:3:15
  |
3 | z1 = W1 @ x + b1
  | ^^            ^^
  | |   some words for which
  | |   there is no room
  | short""",
        (label(3, 15, 17, "some words for which there is no room"), label(3, 1, 3, "short")),
        width=32,
    ),
    "a long line from its beginning": Case(
        """
error[code]: m
   --> broken.txt:10:5
   |
10 | v = x0 + x1 + x2 + x3 + x4 + x5 +...
   |     ^^                           ^^^
   |     here""",
        (label(10, 5, 7, "here"), label(10, 100, 103)),
        width=41,
    ),
    "a long line around its first label": Case(
        """
error[code]: m
   --> broken.txt:10:100
   |
10 | ...16 + x17 + x18 + x19 + x20 + x...
   | ^^^        ^^^   ^^^             ^^^
   | |          |     |             right
   | |          |     near
   | |          here
   | left""",
        (
            label(10, 100, 103, "here"),
            label(10, 5, 7, "left"),
            label(10, 150, 151, "right"),
            label(10, 106, 109, "near"),
        ),
        width=41,
    ),
    "a long line to its end": Case(
        """
error[code]: m
   --> broken.txt:10:999
   |
10 | ...34 + x35 + x36 + x37 + x38 + x39
   |                                    ^
   |                              missing""",
        (label(10, 999, 999, "missing"),),
        width=41,
    ),
    "a label wider than the terminal": Case(
        """
error[code]: m
   --> broken.txt:10:12
   |
10 | ... + x2 + x3 + x4 + x5 + x6 + x7...
   |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |    long""",
        (label(10, 12, 200, "long"),),
        width=41,
    ),
    "a long line of wide characters": Case(
        """
error[code]: m
   --> broken.txt:11:20
   |
11 | ...漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢...
   |            ^^ here""",
        (label(11, 20, 21, "here"),),
        width=41,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_drawing(case: Case) -> None:
    assert case.drawn() == case.expected


def test_only_the_first_label_has_the_colour_of_errors() -> None:
    labels = (
        label(3, 11, 12, "here"),
        label(3, 6, 8, "there"),
        label(1, 1, 2, "x"),
        label(1, 1, 2, "u", STDIN),
    )
    lines = problem_lines(Problem("code", "m", labels, ("n",), "h"), width=80)
    styles = {(line.plain[span.start : span.end].strip(), str(span.style)) for line in lines for span in line.spans}
    assert {(text, style) for text, style in styles if "red" in style} == {
        ("error[code]", "bold red"),
        ("^", "bold red"),
        ("here", "bold red"),
    }
    assert {("m", "bold"), ("-->", "bold blue"), (":::", "bold blue"), ("3 |", "bold blue")} <= styles
    assert {("^^", "bold blue"), ("there", "bold blue"), ("help", "bold cyan")} <= styles


CHARACTERS = st.sampled_from("ab (漢ｆ\u0301\u0323\t\x1b\u200b\ud800é…🙂")


@given(
    before=st.text(CHARACTERS, max_size=60),
    after=st.text(CHARACTERS, max_size=60),
    width=st.integers(0, 100),
    ascii_only=st.booleans(),
)
def test_carets_are_below_what_they_mean(before: str, after: str, width: int, ascii_only: bool) -> None:
    if after and unicodedata.combining(after[0]):
        after = " " + after
    source = Source("s", before + "NAME" + after)
    column = len(before) + 1
    problem = Problem("code", "m", (Label(Span(source, 1, column, 1, column + 4)),))
    shown, carets = [line.plain for line in problem_lines(problem, width=width, ascii_only=ascii_only)[-2:]]
    assert cell_len(shown[: shown.index("NAME")]) == carets.index("^^^^")
    # combining characters after the name share its last cell
    assert carets.count("^") == 4
    assert shown.isprintable()
    assert shown.isascii() or not ascii_only
    assert cell_len(shown) <= max(width, 24)


@given(
    label_ends=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90), st.booleans()), min_size=1, max_size=5),
    width=st.integers(1, 120),
)
def test_every_label_is_told(label_ends: list[tuple[int, int, bool]], width: int) -> None:
    source = Source("s", "".join(chr(ord("a") + index % 26) for index in range(80)))
    labels = [
        Label(Span(source, 1, column, 1, end), f"label{number}" if told else "")
        for number, (column, end, told) in enumerate(label_ends)
    ]
    lines = [line.plain for line in problem_lines(Problem("c", "m", tuple(labels)), width=width)]
    for told in labels:
        assert "\n".join(lines).count(told.text or "^") >= 1
    assert all(cell_len(line) <= max(width, 24) for line in lines[4:])


def printed(problems: list[Problem], width: int = 80, ascii_only: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_problems(console, problems, ascii_only=ascii_only)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_problems_are_printed_in_order_of_place() -> None:
    problems = [
        Problem("late", "m", (label(7, 10, 11),)),
        Problem("elsewhere", "m", (label(1, 1, 2, source=STDIN),)),
        Problem("nowhere", "a word\x07 [i]averyveryverylongword[/i]", help="…"),
        Problem("later", "m", (label(7, 11, 11),)),
        Problem("early", "m", (label(3, 11, 12),)),
    ]
    assert printed(problems, width=20, ascii_only=True) == (
        """\
error[nowhere]: a
    word\\x07
    [i]averyveryverylongword[/i]
  = help: ...

error[early]: m
  --> broken.txt:3:11
  |
3 | z1 = W1 @ x + b1
  |           ^

error[late]: m
  --> broken.txt:7:10
  |
7 | last = a +
  |          ^

error[later]: m
  --> broken.txt:7:11
  |
7 | last = a +
  |           ^

error[elsewhere]: m
  --> <stdin>:1:1
  |
1 | u = 1
  | ^
"""
    )


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (0, ""),
        (MOST, ""),
        (MOST + 1, "\n1 more problem is not shown\n"),
        (MOST + 7, "\n7 more problems are not shown\n"),
    ],
)
def test_no_more_than_some_problems_at_a_time(count: int, rest: str) -> None:
    problems = [Problem("code", str(number)) for number in range(count)]
    expected = "\n".join(f"error[code]: {number}\n" for number in range(min(count, MOST)))
    assert printed(problems) == expected + rest

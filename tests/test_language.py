"""The formula language as text: spellings, places, statements, and every fault of syntax."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.language import Program, read
from gradcli.language.characters import normalise
from gradcli.language.statements import PART_LINES
from gradcli.problems import MISTAKES, Problem, Source, explanation

SPELLINGS = [
    ("x × y · z ⋅ a ∙ b • c ∗ d", "x * y * z * a * b * c * d"),
    ("a ⊙ b ∘ c", "a * b * c"),
    ("a ÷ b ∕ c", "a / b / c"),
    ("a − b – c — d ﹣ e", "a - b - c - d - e"),
    ("f（x，y）＝［１．５、２］：", "f(x,y)=[1.5,2]:"),
    ("x\u3000=\u00a0１\u2009+\u200b2", "x = 1 +2"),
    ("\ufeffx = 1", "x = 1"),
    ("a ≤ b ≥ c ≠ d", "a <= b >= c != d"),
    ("x² + y¹⁰ + z⁻¹ + w⁺² + vⁿ", "x**2 + y**10 + z**(-1) + w**2 + v**n"),
    ("x₁ + h₁₂", "x1 + h12"),
    ("∂z/∂x == 4", "dz/dx == 4"),
    ("√x + √2 + √(a + b) + √（c）", "sqrt(x) + sqrt(2) + sqrt(a + b) + sqrt(c)"),
    ("√x² + √a.b[1](2)²", "sqrt(x)**2 + sqrt(a.b[1](2))**2"),
    ("√√x + √√(x)", "sqrt(sqrt(x)) + sqrt(sqrt(x))"),
    ("2√x", "2 sqrt(x)"),
    ("y = √-x", "y = √-x"),
    ("∑(x) + ∏(x)", "sum(x) + prod(x)"),
    ("r = 2*π*π²", "r = 2*pi*pi**2"),
    ("π = 3\nr = 2*π", "π = 3\nr = 2*π"),
    ("π₁ + πx", "π1 + πx"),
    ("x^2 + y^-1", "x**2 + y**-1"),
    ("W^T @ W ^ T + (A B)^T + W[0]^T", "W.T @ W .T + (A B).T + W[0].T"),
    ("Wᵀ + W⊤ + W^⊤", "W.T + W.T + W.T"),
    ("2^T + x^Tau", "2**T + x**Tau"),
    ("T = 3\ny = x^T", "T = 3\ny = x**T"),
    ("for T in range(3):\n    y = x^T", "for T in range(3):\n    y = x**T"),
    ("def f(x, T):\n    return x^T", "def f(x, T):\n    return x**T"),
    ("y = softmax(z, T=2) @ W^T", "y = softmax(z, T=2) @ W.T"),
    ("e = einsum(“ij，jk”, ‘×^’)  # a^b × c", "e = einsum(\"ij，jk\", '×^')  # a^b × c"),
    ("s = 'a^b' + \"²\" + x^2", "s = 'a^b' + \"²\" + x**2"),
    ("'''\na^b '\n''' + x^2", "'''\na^b '\n''' + x**2"),
    ("a = 1\r\nb = 2\rc = 3\f", "a = 1\nb = 2\nc = 3 "),
    ("\fa = 1\n  \f\fb = a\n\t\f c = 2", "a = 1\nb = a\n c = 2"),
    ("θ = ŷ + σ(x̂)", "θ = ŷ + σ(x̂)"),
]


@pytest.mark.parametrize(("typed", "twin"), SPELLINGS)
def test_spellings(typed: str, twin: str) -> None:
    assert normalise(typed)[0] == twin


PLACES = [
    # a line, then the original text of the named kind of node, in the order of the line
    ("y = √x² × θ", ast.BinOp, ["√x² × θ", "√x²"]),
    ("y = √x² × θ", ast.Call, ["√x"]),
    ("y = √(a + b) + c", ast.Call, ["√(a + b)"]),
    ("y = √√x + c", ast.Call, ["√√x", "√x"]),
    ("y = θ^2 + x₁", ast.Name, ["y", "θ", "x₁"]),
    ("y = x⁻¹ + z", ast.UnaryOp, ["⁻¹"]),
    ("∂z/∂x == 4", ast.BinOp, ["∂z/∂x"]),
    ("ŷ = W^T @ 𝑥 + （b）", ast.Attribute, ["W^T"]),
    ("ŷ = W^T @ 𝑥 + （b）", ast.Name, ["ŷ", "W", "𝑥", "b"]),
    ("y = a ≤ b", ast.Compare, ["a ≤ b"]),
    ("y = 2*π + z", ast.Name, ["y", "π", "z"]),
    ("y = [1,\n     √x]", ast.List, ["[1, √x]"]),
]


@pytest.mark.parametrize(("line", "kind", "texts"), PLACES)
def test_nodes_point_into_what_was_written(line: str, kind: type[ast.expr], texts: list[str]) -> None:
    ((part, statement),) = read(Source("f", line)).statements()
    nodes = [node for node in ast.walk(statement) if isinstance(node, kind)]
    found = sorted(nodes, key=lambda node: (node.col_offset, -(node.end_col_offset or 0)))
    assert [part.text_of(node) for node in found] == texts


FAULTS = [
    ("y = 2x + 3", "implicit-product", 1, 5),
    ("y = 2pi", "implicit-product", 1, 5),
    ("y = 3 x", "implicit-product", 1, 7),
    ("y = a b", "implicit-product", 1, 7),
    ("y = (a) b", "implicit-product", 1, 9),
    ("d z/d x == 1", "implicit-product", 1, 3),
    ("y = 2√x", "implicit-product", 1, 6),
    ("a = ", "missing-operand", 1, 3),
    ("b = x +", "missing-operand", 1, 7),
    ("y = x * * y", "missing-operand", 1, 7),
    ("y = [1,,2]", "missing-operand", 1, 8),
    ("= 3", "missing-operand", 1, 1),
    ("x + y = 3", "claim-or-assignment", 1, 1),
    ("dz/dx = 3", "claim-or-assignment", 1, 1),
    ("a = f(x) = 3", "claim-or-assignment", 1, 5),
    ("lambda = 3", "reserved-word", 1, 1),
    ("class = 1", "reserved-word", 1, 1),
    ("in = 2", "reserved-word", 1, 1),
    ("None = 2", "reserved-word", 1, 1),
    ("y = 2*lambda + 1", "reserved-word", 1, 7),
    ("y = a.lambda", "reserved-word", 1, 7),
    ("x = 1.2.3", "bad-number", 1, 5),
    ("x = 0777", "bad-number", 1, 5),
    ("x = 1_", "bad-number", 1, 5),
    ("x = 0x", "bad-number", 1, 5),
    ("x = " + "9" * 5000, "bad-number", 1, 5),
    ("x = (1", "unclosed-bracket", 1, 5),
    ("x = 1)", "unmatched-bracket", 1, 6),
    ("x = (1]", "unmatched-bracket", 1, 7),
    ("x = 'a", "unclosed-string", 1, 5),
    ("y = W' @ x", "unclosed-string", 1, 6),
    ("x = '''a\n", "unclosed-string", 1, 5),
    ("x = $y$", "invalid-character", 1, 5),
    ("x = |y|", "invalid-character", 1, 5),
    ("y = √x + ∞", "invalid-character", 1, 10),
    ("y = a①", "invalid-character", 1, 6),
    ("y = '\ud800'", "invalid-character", 1, 6),
    ("y = √-x", "invalid-character", 1, 5),
    ("x = 1\n  y = 2", "bad-indentation", 2, 1),
    ("for t in range(3):\ny = 2", "bad-indentation", 1, 1),
    ("if x:\n\ty\n        z", "bad-indentation", 3, 1),
    ("x = a\0b", "null-byte", 1, 6),
    ("x = " + "(" * 300 + "1" + ")" * 300, "too-deep", 1, 205),
    ("x = " + "a + " * 5000 + "a", "too-deep", 1, 1),
    ("x = " + "-" * 20_000 + "a", "too-deep", 1, 1),
    ("for t in range(3)\n    x = 1", "syntax", 1, 18),
    ("print x", "syntax", 1, 1),
]


def places(problems: list[Problem]) -> list[tuple[str, int, int]]:
    spans = [problem.labels[0].span for problem in problems]
    return [(problem.code, span.line, span.column) for problem, span in zip(problems, spans, strict=True)]


def lines_of(program: Program) -> list[int]:
    return [part.line_of(statement) for part, statement in program.statements()]


@pytest.mark.parametrize(("text", "code", "line", "column"), FAULTS)
def test_faults(text: str, code: str, line: int, column: int) -> None:
    assert places(read(Source("f", text)).problems()) == [(code, line, column)]


def test_every_kind_of_fault_has_a_case_and_an_explanation() -> None:
    codes = {build: code for code, build in MISTAKES.items() if build.__module__ == "gradcli.problems.syntax"}
    assert set(codes.values()) == {code for _text, code, _line, _column in FAULTS}
    assert all("wrong" in explanation(code) for code in codes.values())


def test_every_independent_fault_is_reported_and_the_good_statements_remain() -> None:
    program = read(Source("f", "x = 2y\ny = 3\ndef f(a):\n    b = 2a\n    return b c\nz = (y +\nw = y\nv = w *\nu = 1"))
    assert places(program.problems()) == [
        ("implicit-product", 1, 5),
        ("implicit-product", 4, 9),
        ("implicit-product", 5, 14),
        ("unclosed-bracket", 6, 5),
        ("missing-operand", 8, 7),
    ]
    assert lines_of(program) == [2, 7, 9]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("y = f(x\nz.backward()\n", [2]),
        ("y = [1,\n  2,\nz = 3\n", [3]),
        ("f(\na=1,\nb=2)\ny = 2x", [1]),
        ("y = '''a\nz = 2", [2]),
        ("if a b:\n    c\nelif 2x:\n    d\ne = 1", [5]),
        ("@f\n@g(\n1)\ndef h(x):\n  return 2x\ny = 1", [6]),
        ("f(\n" * 300 + "y = 1", [301]),
        ("\\\n", []),
        ("y = 1 + \\\n 2\nz = 2x", [1]),
        ("def f(x):\n    y = (x +\n    return 2x\nz = 3", [4]),
    ],
)
def test_recovery(text: str, good: list[int]) -> None:
    program = read(Source("f", text))
    assert lines_of(program) == good
    assert program.problems()


def test_indented_lines_are_told_off_and_understood() -> None:
    program = read(Source("f", "  a = 1\n  b = 2x\n  c = 3"))
    assert places(program.problems()) == [("bad-indentation", 1, 1), ("implicit-product", 2, 7)]
    assert lines_of(program) == [1, 3]


def test_long_files_are_cut_between_statements() -> None:
    loop = "for t in range(2):\n    y = [\n1,\n2]\nelse:\n    z = 3\n"
    text = (loop + "s = '''\na = 1\n'''\n@f\ndef g(x):\n    return x\n") * PART_LINES
    program = read(Source("f", text))
    assert program.problems() == []
    assert lines_of(program) == [12 * i + at for i in range(PART_LINES) for at in (1, 7, 11)]
    assert len(list(program.parts())) > 5


def test_faults_far_down_have_their_lines() -> None:
    program = read(Source("f", "x = 1\n" * 5000 + "y = 2x\n" + "z = √x\n" * 5000))
    assert places(program.problems()) == [("implicit-product", 5001, 5)]
    assert lines_of(program)[4999:5001] == [5000, 5002]
    *_, (part, last) = program.statements()
    assert isinstance(last, ast.Assign)
    assert part.text_of(last.value) == "√x"


def test_claims_may_be_written_with_one_sign() -> None:
    program = read(Source("f", "dz/dx=4\n∂z/∂y ＝ 3  # c\ndx = 2\nf(x) = a > b"), claims=True)
    found = [(ast.unparse(statement), part.text_of(statement)) for part, statement in program.statements()]
    assert found == [
        ("dz / dx == 4", "dz/dx=4"),
        ("dz / dy == 3", "∂z/∂y ＝ 3"),
        ("dx = 2", "dx = 2"),
        ("f(x) == (a > b)", "f(x) = a > b"),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n  # and another", "\ufeff"])
def test_nothing_is_no_fault(text: str) -> None:
    program = read(Source("f", text))
    assert list(program.statements()) == []
    assert program.problems() == []


def test_line_ends_and_byte_order_mark_are_no_columns() -> None:
    program = read(Source("f", "\ufeffx = 2y\r\ny = 2z\rz = 1"))
    assert places(program.problems()) == [("implicit-product", 1, 5), ("implicit-product", 2, 5)]
    assert program.source.lines == ["x = 2y", "y = 2z", "z = 1"]


PIECES = st.lists(
    st.sampled_from(
        [
            *"xyT123 ()[]{}=+-*/^√∑²₁ᵀπθ'\"\\,.:;#@|!\n\t×，（“”",
            "\n    ",
            "for t in r:",
            "lambda",
            "def f(x):",
            "'''",
            "x = ",
            "==",
            "**",
            "else:",
            "@f\n",
            "\nx = 1\n",
            "not ",
            " in ",
            "\r\n",
            "\0",
            "\ud800",
        ]
    )
).map("".join)


@given(st.text(st.characters(max_codepoint=127, exclude_characters="^\r\f\v\x1c\x1d\x1e\x1f")))
def test_plain_text_is_its_own_twin(text: str) -> None:
    assert normalise(text)[0] == text


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.text(), PIECES))
def test_reading_never_fails_and_every_place_exists(text: str) -> None:
    normalised, _columns = normalise(text)
    assert normalise(normalised)[0].count("\n") == normalised.count("\n")
    program = read(Source("f", text))
    spans = [label.span for problem in program.problems() for label in problem.labels]
    spans += [part.span(statement) for part, statement in program.statements()]
    lines = program.source.lines
    for span in spans:
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
        assert (span.line, span.column) <= (span.end_line, span.end_column)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@settings(deadline=None, max_examples=300)
@given(PIECES)
def test_there_are_problems_exactly_where_python_refuses_the_twin(text: str) -> None:
    try:
        ast.parse(normalise(text)[0])
        refused = False
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        refused = True
    if refused and ("\0" in text or "\ud800" in text):
        return  # in comments, which Python refuses and we do not
    assert bool(read(Source("f", text)).problems()) == refused

"""How tables read: side by side where they fit, as records where they do not, and never cut."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from gradcli.render.table import Column, Table, print_table

GRADIENTS = Table(
    "Gradients",
    (
        Column("step"),
        Column("node", style="cyan"),
        Column("upstream"),
        Column("operand"),
        Column("local", wrap=True),
        Column("contribution", "right"),
        Column("gradient of the operand", wrap=True),
    ),
    [
        ("1", "L", "dL/dL = 1", "a", "1", "1", "dL/da = 1"),
        ("", "", "", "b", "1", "1", "dL/db = 1"),
        ("2", "b", "dL/db = 1", "x", "z = 4", "4", "(4, one more to come)"),
        ("", "", "", "z", "x = 2", "2", "dL/dz = 2"),
    ],
    "(contribution = upstream × local)",
)
MATRICES = Table(
    "Values",
    (Column("node"), Column("operation", wrap=True), Column("value")),
    [
        ("v1", "W1 @ x, where W1 has a row for each of the hidden units of the layer", "[1.5, -20]"),
        ("W1", "[red]x[/red] + [0.1, 0.2]", "[[-0.2239, -0.1119],\n [ 0.4478,  0.2239]]"),
        ("重み", "入力", "1e-12"),
        ("", "", ""),
        ("b\x1b[31m", "tab\there", ":smile:\n\nπ ± 1"),
    ],
)
TABLES = {
    "gradients": GRADIENTS,
    "matrices": MATRICES,
    "no rows": Table("Nothing", GRADIENTS.columns, [], "to see here"),
    "one row": Table("", GRADIENTS.columns, GRADIENTS.rows[:1], ""),
    "no columns": Table("Only a title", (), []),
    "one column": Table("重み [b]", (Column(""),), [("a",), ("",), ("x" * 150,)]),
    "right": Table("R", (Column("n", "right"), Column("long title", "right", True)), [("1", "図 a b\nc")]),
}


def printed(table: Table, width: int, light_after: int = 200) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_table(console, table, light_after=light_after)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().split("\n")[:-1]


def packed(text: str) -> str:
    return "".join(text.split())


def test_columns_next_to_each_other() -> None:
    assert printed(GRADIENTS, 80) == [
        "Gradients      (contribution = upstream × local)",
        "  step  node  upstream   operand  local  contribution  gradient of the operand",
        "  1     L     dL/dL = 1  a        1                 1  dL/da = 1",
        "                         b        1                 1  dL/db = 1",
        "  2     b     dL/db = 1  x        z = 4             4  (4, one more to come)",
        "                         z        x = 2             2  dL/dz = 2",
    ]


def test_a_title_and_text_wrap_before_the_table_becomes_records() -> None:
    assert printed(GRADIENTS, 68) == [
        "Gradients      (contribution = upstream × local)",
        "                                                       gradient of",
        "  step  node  upstream   operand  local  contribution  the operand",
        "  1     L     dL/dL = 1  a        1                 1  dL/da = 1",
        "                         b        1                 1  dL/db = 1",
        "  2     b     dL/db = 1  x        z = 4             4  (4, one more",
        "                                                       to come)",
        "                         z        x = 2             2  dL/dz = 2",
    ]


def test_records() -> None:
    assert printed(GRADIENTS, 44) == [
        "Gradients",
        "  (contribution = upstream × local)",
        "  step 1  node L  upstream dL/dL = 1",
        "    operand a",
        "      local                   1",
        "      contribution            1",
        "      gradient of the         dL/da = 1",
        "      operand",
        "    operand b",
        "      local                   1",
        "      contribution            1",
        "      gradient of the         dL/db = 1",
        "      operand",
        "",
        "  step 2  node b  upstream dL/db = 1",
        "    operand x",
        "      local                   z = 4",
        "      contribution            4",
        "      gradient of the         (4, one more",
        "      operand                 to come)",
        "    operand z",
        "      local                   x = 2",
        "      contribution            2",
        "      gradient of the         dL/dz = 2",
        "      operand",
    ]


def test_matrices_stay_aligned_in_cells() -> None:
    assert printed(MATRICES, 60) == [
        "Values",
        "  node       operation                  value",
        "  v1         W1 @ x, where W1 has a     [1.5, -20]",
        "             row for each of the",
        "             hidden units of the layer",
        "  W1         [red]x[/red] + [0.1, 0.2]  [[-0.2239, -0.1119],",
        "                                         [ 0.4478,  0.2239]]",
        "  重み       入力                       1e-12",
        "",
        "  b\\x1b[31m  tab    here                :smile:",
        "",
        "                                        π ± 1",
    ]


def test_a_cell_too_wide_for_the_heading_is_an_entry_like_the_others() -> None:
    table = Table(
        "",
        (Column("node"), Column("operation"), Column("value")),
        [("v1", "W1 @ x + b1 + b2", "[[-0.2239, -0.1119],\n [ 0.4478,  0.2239]]"), ("y", "a * b", "6")],
    )
    assert printed(table, 32) == [
        "  node v1",
        "    operation  W1 @ x + b1 + b2",
        "    value",
        "      [[-0.2239, -0.1119],",
        "       [ 0.4478,  0.2239]]",
        "",
        "  node y  operation a * b",
        "    value      6",
    ]


def test_wrapped_brackets_keep_their_depth_and_operators_begin_a_line() -> None:
    table = Table(
        "",
        (Column("a", wrap=True), Column("b", wrap=True)),
        [("[[0.25, 0.5], [0.75, 1.0]]", "first + second * third, (2, 3)")],
    )
    assert printed(table, 23) == [
        "  a          b",
        "  [[0.25,    first",
        "    0.5],    + second",
        "   [0.75,    * third,",
        "    1.0]]    (2, 3)",
    ]


def test_what_cannot_stand_beside_its_title_stands_below() -> None:
    name = "n" * 30
    table = Table("", (Column("step"), Column("node"), Column("value")), [("1", name, "0." + "1" * 26)])
    assert printed(table, 32) == ["  step 1", "    node", f"      {name}", "    value", f"      0.{'1' * 26}"]


@pytest.mark.parametrize("width", [1, 30, 60, 80, 120, 200])
@pytest.mark.parametrize("name", TABLES)
def test_light_and_rich_tables_look_the_same(name: str, width: int) -> None:
    lines = printed(TABLES[name], width)
    assert printed(TABLES[name], width, light_after=-1) == lines
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("name", ["gradients", "matrices", "no rows", "one row", "right"])
def test_no_line_is_wider_than_the_console(name: str, width: int) -> None:
    assert max(map(cell_len, printed(TABLES[name], width))) <= width


CELL = st.text(st.sampled_from("ab1 [],+=\n重é\t"), max_size=30)
ROW = st.tuples(CELL, CELL, CELL)


@given(st.lists(ROW, max_size=4), st.integers(1, 70), st.booleans(), st.booleans())
def test_no_character_is_lost(rows: list[tuple[str, ...]], width: int, wrap: bool, right: bool) -> None:
    columns = (Column("p"), Column("q", "right" if right else "left", wrap), Column("r", wrap=wrap))
    table = Table("", columns, rows)
    lines = printed(table, width)
    assert lines == printed(table, width, light_after=-1)
    text = packed("".join(lines))
    for row in rows:
        for character in "ab1[],+=重é":
            assert text.count(character) >= "".join(row).count(character)
        # unbroken words are whole words on the screen too
        assert set(" ".join(row).split()) <= set(re.split(r"\s+", " ".join(lines)))


def test_styles_only_where_the_console_has_them() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", no_color=False)
    print_table(console, GRADIENTS)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "\x1b[1mGradients\x1b[0m" in text
    assert "\x1b[36mL" in text
    assert re.sub(r"\x1b\[[\d;]*m", "", text).split("\n")[:-1] == printed(GRADIENTS, 80)
    assert "\x1b" not in "\n".join(printed(GRADIENTS, 80))


def test_a_light_table_comes_in_its_place_when_captured() -> None:
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print("before")
        print_table(console, GRADIENTS, light_after=0)
        console.print("after")
    assert captured.get().split("\n")[:-1] == ["before", *printed(GRADIENTS, 80), "after"]


def test_a_row_needs_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="'Gradients' needs 7 cells"):
        printed(Table("Gradients", GRADIENTS.columns, [("1",)]), 80)


def test_ten_thousand_rows_are_all_there() -> None:
    row = ("", "node", "dL/dL = 1", "operand", "z = 4", "4", "dL/dz = 2")
    table = Table("Long", GRADIENTS.columns, [(str(step), *row[1:]) for step in range(10_000)])
    assert len(printed(table, 120)) == 10_002

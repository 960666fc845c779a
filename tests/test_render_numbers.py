"""How numbers and tensors read."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.render.numbers import LARGE, block, number, shape_text, summary, tensor


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.0, 4, "2"),
        (0.5, 4, "0.5"),
        (0.0, 4, "0"),
        (-0.0, 4, "0"),
        (1 / 3, 4, "0.3333"),
        (-2 / 3, 4, "-0.6667"),
        (-2 / 3, 1, "-0.7"),
        (3.14159, 3, "3.14"),
        (9.99996, 4, "10"),
        (123456.0, 4, "123456"),
        (123456.789, 4, "123457"),
        (123456.789, 8, "123456.79"),
        (-99999.96, 4, "-100000"),
        (999999999999999.0, 4, "999999999999999"),
        (1e15, 4, "1e+15"),
        (6.02214076e23, 4, "6.022e+23"),
        (1.2345e-12, 3, "1.23e-12"),
        (2e-10, 4, "2e-10"),
        (0.0001, 4, "0.0001"),
        (0.00001234, 4, "1.234e-5"),
        (0.000099999, 4, "0.0001"),
        (-5e-324, 17, "-5e-324"),
        (0.1, 17, "0.1"),
        (0.1 + 0.2, 17, "0.30000000000000004"),
        (1e22, 17, "1e+22"),
        (1.5e300, 400, "1.5e+300"),
        (2.0**-24, 17, "5.960464477539063e-8"),  # formatted to 16 digits it is another double
        (0.7, 0, "0.7"),
        (math.nan, 4, "nan"),
        (math.inf, 4, "inf"),
        (-math.inf, 4, "-inf"),
        (True, 4, "True"),
        (np.False_, 4, "False"),
        (10**40, 4, str(10**40)),
        (np.int64(2**63 - 1), 2, "9223372036854775807"),
        (np.float32(0.5), 4, "0.5"),
        (np.array(0.25), 4, "0.25"),
    ],
)
def test_number(value: Any, digits: int, text: str) -> None:
    assert number(value, digits) == text


@given(st.floats(allow_nan=False))
def test_seventeen_digits_bring_every_double_back(value: float) -> None:
    assert float(number(value, 17)) == value


@given(st.floats(-9e307, 9e307), st.integers(1, 17))
def test_a_number_is_right_to_its_digits(value: float, digits: int) -> None:
    text = number(value, digits)
    assert text != "-0"
    assert not (text.endswith("0") and "." in text and "e" not in text)
    assert math.isclose(float(text), value, rel_tol=10.0 ** (1 - digits), abs_tol=5e-324)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array(3.0), "3"),
        (2, "2"),
        (np.array([[-0.2239, -0.1119], [0.4478, 0.2239]]), "[[-0.2239, -0.1119], [0.4478, 0.2239]]"),
        ([1.0, np.float64(0.5)], "[1, 0.5]"),
        ((1, (2, 3)), "[1, [2, 3]]"),
        (np.array([True, False]), "[True, False]"),
        (np.array([math.nan, -0.0]), "[nan, 0]"),
        (np.zeros(0), "[]"),
        (np.zeros((2, 0)), "[[], []]"),
        (np.zeros((0, 2)), "[]"),
    ],
)
def test_tensor(value: Any, text: str) -> None:
    assert tensor(value) == text


@pytest.mark.parametrize(
    ("value", "width", "lines"),
    [
        (0.5, 1, ["0.5"]),
        ([[1, 2], [3, 4]], None, ["[[1, 2], [3, 4]]"]),
        (
            np.array([[-0.2239, -0.1119], [0.4478, 0.2239]]),
            None,
            ["[[-0.2239, -0.1119],", " [ 0.4478,  0.2239]]"],
        ),
        ([[100, 2], [3, 4]], 12, ["[[100, 2],", " [  3, 4]]"]),
        ([1, 20, 3, 40, 5], 9, ["[ 1, 20,", "  3, 40,", "  5]"]),
        (
            [[1, 2, 3, 4], [5, 6, 7, 80]],
            9,
            ["[[1, 2,", "  3,  4],", " [5, 6,", "  7, 80]]"],
        ),
        (
            np.arange(8).reshape(2, 2, 2),
            10,
            ["[[[0, 1],", "  [2, 3]],", " [[4, 5],", "  [6, 7]]]"],
        ),
        (np.zeros((3, 0)), 4, ["[[],", " [],", " []]"]),
        (np.zeros(0), 1, ["[]"]),
        ([123456], 3, ["[123456]"]),
    ],
)
def test_block(value: Any, width: int | None, lines: list[str]) -> None:
    assert block(value, width=width).split("\n") == lines


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(10, 60),
)
def test_a_block_says_what_the_line_says(value: list[list[float]], width: int) -> None:
    text = block(value, width=width)
    assert "".join(text.split()) == "".join(tensor(value).split())
    assert all(line == line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([3.0, -4.0]), "shape (2,), from -4 to 3, norm 5"),
        (np.array([3.0, math.nan, 4.0]), "shape (3,), from 3 to 4, norm 5, 1 nan"),
        (np.array([math.inf, -math.inf, 0.0]), "shape (3,), from 0 to 0, norm 0, 2 inf"),
        (np.array([math.nan, math.inf]), "shape (2,), 1 nan, 1 inf"),
        (np.array([3e200, 4e200]), "shape (2,), from 3e+200 to 4e+200, norm 5e+200"),
        (np.array([3e-200, 4e-200]), "shape (2,), from 3e-200 to 4e-200, norm 5e-200"),
        (np.full((3, 3), 2), "shape (3, 3), from 2 to 2, norm 6"),
        (np.array([-128, 0], dtype=np.int8), "shape (2,), from -128 to 0, norm 128"),
        (np.array([True, False, True]), "shape (3,), 2 of 3 True"),
        (np.zeros((0, 3)), "shape (0, 3), no entries"),
    ],
)
def test_summary(value: Any, text: str) -> None:
    assert summary(value) == text


def test_large_is_a_matter_of_entries() -> None:
    assert LARGE == 24


@pytest.mark.parametrize(
    ("shape", "text"),
    [((), "()"), ((3,), "(3,)"), ((2, 3), "(2, 3)"), ((np.int64(2),), "(2,)")],
)
def test_shape_text(shape: tuple[int, ...], text: str) -> None:
    assert shape_text(shape) == text


def test_numbers_can_be_written_without_numpy() -> None:
    code = "import sys, gradcli.render.numbers as n; n.block([[0.5] * 9] * 2); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

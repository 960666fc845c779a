"""Moving entries: every spelling, ties, entries taken twice, several results, and indices that do not fit."""

from typing import Any

import numpy as np
import pytest

import gradcli

V, M = [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0, 4.0]]

ROWS: list[tuple[str, Any, str, Any, Any]] = [
    ("", V, "take(x, [0, 0, 2])[1]", 1.0, [1, 0, 0]),
    ("", V, "sum(take(x, [0, 0, -1]))", 5.0, [2, 0, 1]),
    ("i = [[0, 1], [1, 0]]", M, "sum(x.gather(1, i) * [[1, 2], [3, 4]])", 29.0, [[1, 2], [4, 3]]),
    ("i = [[0], [0]]", M, "sum(x.gather(dim=1, index=i))", 4.0, [[1, 0], [1, 0]]),
    ("i = [[1, 1]]", M, "sum(gather(x, 0, i))", 7.0, [[0, 0], [1, 1]]),
    ("i = [1, 1, 0]", M, "sum(F.embedding(i, x))", 17.0, [[1, 1], [2, 2]]),
    ("i = [1, 1]", M, "sum(torch.index_select(x, 1, i))", 12.0, [[0, 2], [0, 2]]),
    ("i = argmax(x, axis=1)", M, "sum(take_along_axis(x, unsqueeze(i, 1), axis=1))", 6.0, [[0, 1], [0, 1]]),
    ("", [2.0, 2.0, 1.0], "sort(x)[1]", 2.0, [1, 0, 0]),
    ("", [2.0, 2.0, 1.0], "sort(x, descending=True)[0]", 2.0, [1, 0, 0]),
    ("v, i = torch.sort(x, descending=True)", V, "v[0] * i[0]", 6.0, [0, 0, 2]),
    ("", V, "x.sort(descending=True).values[2]", 1.0, [1, 0, 0]),
    ("t = x.topk(2)", V, "sum(t[0]) + sum(take(x, t.indices))", 10.0, [0, 2, 2]),
    ("", V, "sum(topk(x, 2, largest=False))", 3.0, [1, 1, 0]),
    ("a, b = split(x, [1])", V, "a[0] * sum(b)", 5.0, [5, 1, 1]),
    ("a, b = torch.split(x, 2)", V, "sum(a) * b[0]", 9.0, [3, 3, 3]),
    ("p = x.chunk(2)", V, "sum(p[0]) * p[1][0] * len(p)", 18.0, [6, 6, 6]),
    ("a, b = unbind(x)", M, "dot(a, b)", 11.0, [[3, 4], [1, 2]]),
    ("", V, "sum(concat(split(x, 3)) * [1, 2, 3])", 14.0, [1, 2, 3]),
    ("", V, "sum(pad(x, 1, constant_values=5) * [1, 2, 3, 4, 5])", 50.0, [2, 3, 4]),
    ("", M, "sum(F.pad(x, (1, 0)) * [[9, 1, 2], [9, 3, 4]])", 30.0, [[1, 2], [3, 4]]),
    ("", M, "sum(pad(x, (1, 0)) * [[9, 9, 9], [9, 1, 2], [9, 3, 4]])", 30.0, [[1, 2], [3, 4]]),
    ("", V, "sum(x.repeat(2) * [1, 2, 3, 4, 5, 6])", 46.0, [5, 7, 9]),
    ("", V, "sum(repeat(x, 2) * [1, 2, 3, 4, 5, 6])", 50.0, [3, 7, 11]),
    ("", V, "sum(repeat(x, [2, 0, 1]) * [1, 2, 3])", 12.0, [3, 0, 3]),
    ("", V, "sum(tile(x, (2, 1)) * [[1, 2, 3], [4, 5, 6]])", 46.0, [5, 7, 9]),
    ("", M, "trace(x @ x)", 29.0, [[2, 6], [4, 8]]),
    ("", V, "sum(diag(x, k=1))", 6.0, [1, 1, 1]),
    ("", [[1.0, np.nan], [3.0, 4.0]], "sum(tril(x))", 8.0, [[1, 0], [1, 1]]),
    ("", [1.0, -1.0], "sum(log(x).masked_fill(x < 0, 0.0))", 0.0, [1, 0]),
    ("", [1.0, -1.0], "sum(masked_fill(x, x < 0, x[0]))", 2.0, [2, 0]),
    ("", V, "sum(flip(x) * [1, 2, 3])", 10.0, [3, 2, 1]),
    ("", V, "sum(roll(x, 1) * [1, 2, 3])", 11.0, [2, 3, 1]),
    ("", V, "sum(ones_like(x) + full_like(x, x[0])) * x[1]", 12.0, [0, 6, 0]),
    ("", M, "sum(hstack([x, x])[0] * [1, 2, 3, 4])", 16.0, [[4, 6], [0, 0]]),
    ("", M, "sum(x.flatten() * [1, 2, 3, 4])", 30.0, [[1, 2], [3, 4]]),
    ("", [[1.0], [2.0]], "sum(squeeze(x) * [3, 4])", 11.0, [[3], [4]]),
    ("", [[1.0], [2.0]], "sum(torch.squeeze(x, 0) * [[3], [4]])", 11.0, [[3], [4]]),
]


@pytest.mark.parametrize(("before", "x", "formula", "value", "gradient"), ROWS)
def test_moving(before: str, x: Any, formula: str, value: Any, gradient: Any) -> None:
    report = gradcli.derive(f"x = {x}\n{before}\nL = {formula}")
    assert report.value("L") == value
    np.testing.assert_array_equal(report.gradient("x"), np.array(gradient, float))


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("x.gather(0, [0.5])", "whole numbers"),
        ("take(x, 3)", "out of bounds"),
        ("split(x, 2)[0]", "parts of equal length"),
        ("torch.split(x, [1, 1])[0]", "add up to 3"),
        ("squeeze(x, 0)", "length 1"),
        ("x.topk(2)", "this is 2 of them"),
        ("topk(x, 4)", "no 4 entries"),
        ("F.pad(x, (1, 1, 1, 1))", "two widths an axis"),
        ("pad(x, ((1, 1), (1, 1)))", "for every axis"),
        ("repeat(x, [1, 2])", "one number of repeats"),
        ("gather(x, 0, [[0]])", "as many axes"),
        ("trace(x)", "needs a matrix"),
        ("moveaxis(x, 0, 1)", "no axis 1"),
    ],
)
def test_refused(formula: str, words: str) -> None:
    with pytest.raises(gradcli.GradError) as error:
        gradcli.derive(f"x = {V}\nL = sum({formula})")
    assert words in repr(error.value.problems)

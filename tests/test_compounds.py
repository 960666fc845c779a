"""Layers made of other operators give what their formulas give when they are written out by hand."""

import numpy as np
import pytest

import gradcli

INPUTS = """
x = [[1.0, 2.0, -0.5, 0.3], [0.3, -1.0, 2.0, 0.7], [-0.2, 0.6, 0.1, -1.4]]
w = [1.5, 0.5, -1.0, 2.0]
b = [0.1, -0.2, 0.3, 0.4]
W = [[0.2, -0.3, 0.5, 0.1], [1.0, 0.4, -0.6, 0.8]]
c = [0.3, -0.7]
k = [[0.4, 0.2, 0.9, -0.3], [-0.8, 0.5, 0.1, 0.6], [0.7, -0.4, 0.2, 0.3]]
G = const([[0.2, -0.3, 0.5, 1.0], [1.0, 0.4, -0.6, 0.1], [-0.7, 0.9, 0.3, -0.2]])
"""
NORMALISED = "(x - mean(x, axis={0}, keepdims=True)) / sqrt(var(x, axis={0}, keepdims=True) + 1e-5)"

ROWS = [
    ("linear(x, W, c)", "x @ W.T + c"),
    ("F.linear(x, W)", "x @ W.T"),
    ("inner(x, k)", "x @ k.T"),
    ("np.inner(x, w)", "x @ w"),
    ("layer_norm(x)", NORMALISED.format(1)),
    ("layer_norm(x, w, b)", f"{NORMALISED.format(1)} * w + b"),
    ("layer_norm(x, bias=b)", f"{NORMALISED.format(1)} + b"),
    ("F.layer_norm(x, (4,), w, b)", f"{NORMALISED.format(1)} * w + b"),
    ("F.layer_norm(x, x.shape)", NORMALISED.format("(0, 1)")),
    ("batch_norm(x, w, b)", f"{NORMALISED.format(0)} * w + b"),
    ("rms_norm(x, w)", "x / sqrt(mean(x**2, axis=1, keepdims=True) + 1e-6) * w"),
    ("group_norm(x, 1, w, b)", f"{NORMALISED.format(1)} * w + b"),
    ("dropout(x, 0.25, mask=G > 0)", "where(G > 0, x, 0) / 0.75"),
    ("dropout(x, training=False)", "x"),
    ("scaled_dot_product_attention(x, k, k)", "softmax(x @ k.T / 2, axis=1) @ k"),
    ("scaled_dot_product_attention(x, k, k, scale=0.1)", "softmax(0.1 * (x @ k.T), axis=1) @ k"),
    ("F.scaled_dot_product_attention(x, k, k, is_causal=True)", "softmax(where(M, x @ k.T / 2, -inf), axis=1) @ k"),
    ("scaled_dot_product_attention(x, k, k, M)", "softmax(where(M, x @ k.T / 2, -inf), axis=1) @ k"),
    ("F.normalize(x, dim=1)", "x / norm(x, axis=1, keepdims=True)"),
]


@pytest.mark.parametrize(("layer", "written_out"), ROWS)
def test_a_layer_is_its_formula(layer: str, written_out: str) -> None:
    mask = "M = [[True, False, False], [True, True, False], [True, True, True]]\n"
    reports = [
        gradcli.derive(f"{INPUTS}{mask}y = {text}\nL = sum(y**2) + sum(sin(y))") for text in (layer, written_out)
    ]
    for report, other in (reports, reports[::-1]):
        np.testing.assert_allclose(report.value("y"), other.value("y"), rtol=1e-12)
        for name in ("x", "w", "b", "W", "c", "k"):
            np.testing.assert_allclose(report.gradient(name), other.gradient(name), rtol=1e-10, atol=1e-13)


def test_the_inner_nodes_of_a_layer_can_be_seen() -> None:
    report = gradcli.derive("x = [1.0, 2.0, 4.0]\ny = layer_norm(x)\nL = sum(y * x)")
    operations = [report.operation(node) for node in report.shown]
    assert "mean(x, axis=-1, keepdims=True)" in operations
    assert len(report.order) > 6


def test_a_drawn_mask_is_the_same_for_the_same_seed() -> None:
    text = "x = ones(1000)\ny = dropout(x, 0.5, seed={})\nL = sum(y)"
    first, again, other = (gradcli.derive(text.format(seed)).value("y") for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert 0.4 < (first > 0).mean() < 0.6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [1.0, 2.0]\ny = batch_norm(x)", "needs a batch"),
        ("x = ones(2, 3)\ny = group_norm(x, 2)", "needs channels that 2 groups divide"),
        ("x = ones(2, 3)\ny = F.layer_norm(x, (2,))", "needs the last axes"),
        ("x = ones(2, 3)\nW = ones(2, 2)\ny = linear(x, W)", "to be equal"),
    ],
)
def test_what_does_not_fit_is_said_at_the_call(text: str, words: str) -> None:
    with pytest.raises(gradcli.GradError) as error:
        gradcli.derive(text)
    (problem,) = error.value.problems
    assert words in problem.message
    assert problem.code == "shape-mismatch"


def test_an_inverse_as_on_paper_is_one() -> None:
    """`A⁻¹` is the inverse of a matrix and the reciprocal of a number; `A ** -1` is NumPy's, entry by entry."""
    report = gradcli.derive("A = [[1.0, 2.0], [3.0, 5.0]]\nx = 4.0\nB = A⁻¹\nC = A ** -1\nL = sum(B) + sum(C) + x⁻¹")
    np.testing.assert_allclose(report.value("B"), [[-5, 2], [3, -1]], rtol=1e-12)
    np.testing.assert_allclose(report.value("C"), [[1, 1 / 2], [1 / 3, 1 / 5]])
    assert report.gradient("x") == -1 / 16

"""Products, inverses, convolutions and pools where care is needed: singular matrices, ties, empty places, stray NaN.

The expected numbers are worked out by hand, or are cofactors and sums of them.
"""

from typing import Any

import numpy as np
import pytest

import gradcli

INF, NAN = np.inf, np.nan

EDGES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    # einsum
    "outer product, implicit": ('a=[1,2]\nb=[3,4]\nL=einsum("i,j", a, b)[1,0]', 6, {"a": [0, 3], "b": [2, 0]}),
    "spaces, implicit order": ('A=[[1,2],[3,4]]\nL=einsum(" b a ", A)[0,1]', 3, {"A": [[0, 0], [1, 0]]}),
    "trace": ('A=[[1,2],[3,4]]\nL=einsum("ii", A)', 5, {"A": [[1, 0], [0, 1]]}),
    "diagonal beside infinity": ('A=[[1,inf],[nan,4]]\nL=sum(einsum("ii->i", A))', 5, {"A": [[1, 0], [0, 1]]}),
    "stretched axis": ('a=[[1,2]]\nb=[[3],[4]]\nL=einsum("ij,ij->", a, b)', 21, {"a": [[7, 7]], "b": [[3], [3]]}),
    "lone letter": ('A=[[1,2],[3,4]]\nx=[5,6]\nL=einsum("ij,k->", A, x)', 110, {"A": [[11] * 2] * 2, "x": [10, 10]}),
    "one operand twice": ('x=[1,2]\nL=einsum("i,i,i->", x, x, x)', 9, {"x": [3, 12]}),
    "a scalar operand": ('c=2\nx=[1,3]\nL=sum(einsum(",i->i", c, x))', 8, {"c": 4, "x": [2, 2]}),
    "a counted mask": ('x=[1,-2,3]\nL=einsum("i->", x > 0) * x[0]', 2, {"x": [2, 0, 0]}),
    "dots": ('A=[[1,2],[3,4]]\nL=einsum("...j,j->...", A, [1,2])[1]', 11, {"A": [[0, 0], [1, 2]]}),
    "no axis in common": ("L=sum(tensordot([1,2], x, axes=0))\n", 9, {"x": [3, 3]}),
    # linalg
    "det of rank 1": ("A=[[1,2],[2,4]]\nL=det(A)", 0, {"A": [[4, -2], [-2, 1]]}),
    "det of rank 2": ("A=[[1,2,3],[4,5,6],[7,8,9]]\nL=det(A)", 0, {"A": [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]}),
    "det of rank 3": (
        "A=[[1,0,0,1],[0,2,0,0],[0,0,3,0],[1,0,0,1]]\nL=linalg.det(A)",
        0,
        {"A": [[6, 0, 0, -6], [0] * 4, [0] * 4, [-6, 0, 0, 6]]},
    ),
    "det of zeros": ("A=zeros(4,4)\nL=det(A)", 0, {"A": np.zeros((4, 4))}),
    "det of one entry": ("A=[[0.0]]\nL=det(A)", 0, {"A": [[1]]}),
    "det without entries": ("A=zeros(0,0)\nx=2\nL=det(A)*x", 2, {"x": 1}),
    "logdet of a negative one": ("A=[[0.0,1],[1,0]]\nL=logdet(A)", NAN, {"A": [[0, 1], [1, 0]]}),
    "slogdet": (
        "A=[[0.0,2],[2,0]]\ns, l = np.linalg.slogdet(A)\nL=s*l",
        -np.log(4),
        {"A": [[0, -0.5], [-0.5, 0]]},
    ),
    "slogdet, one result": ("A=[[0.0,2],[2,0]]\nL=torch.linalg.slogdet(A)[1]", np.log(4), {"A": [[0, 0.5], [0.5, 0]]}),
    "logabsdet": ("A=[[0.0,2],[2,0]]\nL=logabsdet(A)", np.log(4), {"A": [[0, 0.5], [0.5, 0]]}),
    "logdet of a singular one": ("A=[[1.0,2],[2,4]]\nL=logdet(A)", -INF, {"A": [[NAN] * 2] * 2}),
    "logdet of a tiny one": ("A=1e-200*eye(2)\nL=logdet(A)", -400 * np.log(10), {}),
    "cholesky": ("A=[[4.0,2],[2,5]]\nL=cholesky(A)[1,0]", 1, {"A": [[-1 / 8, 1 / 4], [1 / 4, 0]]}),
    "solve for a vector": ("A=[[2.0,0],[0,4]]\nb=[1.0,1]\nL=sum(solve(A,b))", 0.75, {"b": [0.5, 0.25]}),
    "power 0": ("A=[[1.0,2],[3,4]]\nL=sum(matrix_power(A,0))", 2, {"A": np.zeros((2, 2))}),
    # convolution
    "bias of a plain one": ("x=[1,2,3]\nb=4\nL=sum(conv1d(x,[1,1],b))", 16, {"x": [1, 2, 1], "b": 2}),
    "None for a bias": ("x=[1,2,3]\nL=sum(conv1d(x,[1,1],None,2))", 3, {"x": [1, 1, 0]}),
    "same length": ('x=[1,2,3]\nL=conv1d(x,[1,10],padding="same")[2]', 3, {"x": [0, 0, 1]}),
    "full": ('x=[1,2]\nw=[1,10]\nL=conv1d(x,w,padding="full")[0]', 10, {"x": [10, 0], "w": [0, 1]}),
    "NaN beyond the kernel": ("x=[1,2,nan]\nL=conv1d(x,[3,4])[0]", 11, {}),
    "turned round": ("a=[1,2,3]\nv=[0,1]\nL=convolve(a,v)[3]", 3, {"a": [0, 0, 1], "v": [0, 3]}),
    "centre of two": ('a=[1,2]\nv=[1,10,100]\nL=convolve(a,v,"same")[0]', 1, {"a": [1, 0], "v": [1, 0, 0]}),
    # pools
    "ties share": ("X=[[1.0,1],[0,1]]\nL=sum(maxpool2d(X,2))", 1, {"X": [[1 / 3, 1 / 3], [0, 1 / 3]]}),
    "all alike": ("X=zeros(2,2)\nL=max_pool2d(X,2)[0,0]", 0, {"X": [[0.25] * 2] * 2}),
    "negative beside padding": ("x=[-1.0,-2]\nL=sum(max_pool1d(x,2,padding=1))", -3, {"x": [1, 1]}),
    "minus infinity beside padding": ("x=[-inf,-2]\nL=max_pool1d(x,2,1,1)[0]", -INF, {"x": [1, 0]}),
    "windows that overlap": ("x=[1.0,5,2]\nL=sum(max_pool1d(x,2,stride=1))", 10, {"x": [0, 2, 0]}),
    "left over": ("x=[1.0,2,9]\nL=sum(avg_pool1d(x,2))", 1.5, {"x": [0.5, 0.5, 0]}),
    "padding counts": ("x=[2.0,4]\nL=avg_pool1d(x,2,2,1)[0]", 1, {"x": [0.5, 0]}),
    "padding left out": ("x=[2.0,4]\nL=avg_pool1d(x,2,2,1,count_include_pad=False)[0]", 2, {"x": [1, 0]}),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    text, value, gradients = EDGES[name]
    report = gradcli.derive(text if "x=" in text or "x" not in gradients else f"x=[1,2]\n{text}")
    np.testing.assert_allclose(report.value(report.output), value, 1e-12, 1e-12)
    for input_name, right in gradients.items():
        np.testing.assert_allclose(report.gradient(input_name), right, 1e-12, 1e-12, err_msg=input_name)


FAULTS = {
    'x=[1,2]\nL=einsum("i->j", x)': ("wrong-argument", "j"),
    'x=[1,2]\nL=einsum("ij->i", x)': ("shape-mismatch", "letter for each axis"),
    'x=[1,2]\nL=einsum("i,i->", x)': ("shape-mismatch", "2 operands named, 1 given"),
    'x=[1,2]\nL=einsum("i,i->", x, [1,2,3])': ("shape-mismatch", "two lengths"),
    'x=[1,2]\nL=einsum("i")': ("argument-count", "at least one operand"),
    "x=[1,2]\nL=einsum(x, x)": ("wrong-argument", "quotes"),
    "A=[[1,2],[2,4]]\nL=sum(inv(A))": ("cannot-evaluate", "singular"),
    "A=[[1,2],[2,4]]\nL=sum(solve(A, [1,2]))": ("cannot-evaluate", "singular"),
    "A=[[1,2],[2,1]]\nL=sum(cholesky(A))": ("cannot-evaluate", "positive definite"),
    "A=[[1,2,3],[2,4,5]]\nL=det(A)": ("shape-mismatch", "square"),
    "X=ones(4,4)\nL=sum(conv2d(X, ones(2,1,2,2)))": ("shape-mismatch", "reshape(X, (1, 4, 4))"),
    "X=ones(2,4,4)\nL=sum(conv2d(X, ones(1,3,2,2)))": ("shape-mismatch", "channels"),
    "x=ones(3)\nL=sum(conv1d(x, ones(5)))": ("shape-mismatch", "fits"),
    'x=ones(3)\nL=sum(conv1d(x, ones(3), padding="some"))': ("wrong-argument", "same"),
    "x=ones(4)\nL=sum(max_pool1d(x, 2, padding=2))": ("shape-mismatch", "half a window"),
    "x=ones(4)\nL=sum(max_pool1d(x, 0))": ("shape-mismatch", ""),
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults(text: str) -> None:
    code, words = FAULTS[text]
    with pytest.raises(gradcli.GradError) as caught:
        gradcli.derive(text)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert words in f"{problem.message} {problem.help} {' '.join(label.text for label in problem.labels)}"

"""Random formula files that are also Python: the same text runs under NumPy.

A program is built line by line and run as it grows, so that most of its shapes fit; a line that NumPy refuses is
dropped, or ends the program.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

FUNCTIONS = ["array", "abs", "concatenate", "cos", "dot", "exp", "log", "matmul", "max", "maximum", "mean", "min"]
FUNCTIONS += ["minimum", "outer", "pi", "reshape", "sign", "sin", "sqrt", "square", "stack", "sum", "tanh"]
FUNCTIONS += ["transpose", "where"]


def dot(a: Any, b: Any) -> Any:
    """NumPy's, without its product of stacks of matrices, which formula files do not have."""
    if max(np.ndim(a), np.ndim(b)) > 2:
        raise ValueError("dot takes vectors and matrices")
    return np.dot(a, b)


NAMESPACE = {"np": np} | {name: getattr(np, name) for name in FUNCTIONS} | {"dot": dot}

LITERALS = ["2", "0.5", "3.0", "1e-1", "1", ".25", "1_0.5", "pi"]
NUMBERS = [-2.5, -1.0, -0.75, -0.3, 0.0, 0.2, 0.4, 1.0, 1.3, 2.0, 3.7]
SHAPES: list[tuple[int, ...]] = [(), (3,), (2,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1), (2, 2, 3), (1,)]
INDICES = ["0", "-1", "1:", ":-1", "::-1", "::2", "None", "...", "..., 0", "0, 1", ":, 1", "None, 0", "1:, :2"]
INDICES += [
    ":, None",
    "np.newaxis, ..., -1",
    "[0, 0, 1]",
    "[[0, 1], [1, 0]]",
    "[0, 1], [1, 0]",
    ":, [0, -1, 0]",
    "-3",
    "5",
]

SMOOTH = ["exp", "sin", "cos", "tanh", "square"]
PIECEWISE = ["log", "sqrt", "abs", "sign"]
REDUCTIONS = ["sum", "mean"]
EXTREMES = ["max", "min"]


@dataclass
class Program:
    """Lines of text; the values that NumPy gives to their names, and its fault if the last line is refused."""

    inputs: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    fault: Exception | None = None

    @property
    def text(self) -> str:
        given = [f"{name} = array({np.asarray(value).tolist()!r})" for name, value in self.inputs.items()]
        return "\n".join([*given, *self.lines])

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The values of every name after the program has run on other inputs."""
        values = dict(inputs)
        for line in self.lines:
            run_line(line, values)
        return values


def run_line(line: str, values: dict[str, Any]) -> None:
    """Runs a line; what it defines is copied, because a formula file has values and no views."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("error", "Mean of empty slice")  # here as there, nothing has no mean
        scope = {name: np.array(value)[()] for name, value in values.items()}
        exec(line, dict(NAMESPACE), scope)  # the text was put together here
    values.update({name: np.array(value)[()] for name, value in scope.items()})


@st.composite
def programs(draw: Any, smooth: bool = False, most: int = 6) -> Program:
    """Programs of up to `most` lines; `smooth` ones have derivatives wherever they are finite."""
    program = Program({})
    for name in ["a", "b", "c"][: draw(st.integers(2, 3))]:
        shape = draw(st.sampled_from(SHAPES))
        size = int(np.prod(shape))
        numbers = draw(st.lists(st.sampled_from(NUMBERS), min_size=size, max_size=size))
        program.inputs[name] = np.array(numbers).reshape(shape)[()]
    program.values = dict(program.inputs)
    for k in range(draw(st.integers(1, most))):
        line = draw(lines(sorted(program.values), f"v{k}", smooth))
        try:
            run_line(line, trial := dict(program.values))
        except (ValueError, IndexError, TypeError, RuntimeWarning) as fault:
            if not smooth and draw(st.integers(0, 7)) == 0:
                program.lines.append(line)
                program.fault = fault
                break
            continue
        if max(np.size(v) for v in trial.values()) > 500:
            continue
        program.values = trial
        program.lines.append(line)
    return program


@st.composite
def lines(draw: Any, names: list[str], new: str, smooth: bool) -> str:
    """One assignment: of a new name, or again of one that is there."""
    right = draw(expressions(names, smooth))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        again = draw(st.sampled_from(names))  # what `+=` does to other names of an array is tested in test_meanings
        return f"{again} = {again} {draw(st.sampled_from(['+', '-', '*', '/']))} ({right})"
    if kind == 1:
        return f"{draw(st.sampled_from(names))} = {right}"
    return f"{new} = {right}"


def expressions(names: list[str], smooth: bool, depth: int = 3) -> Any:
    """Expressions over these names, nested at most `depth` times."""
    name = st.sampled_from(names)
    return name if depth == 0 else st.one_of(name, compound(expressions(names, smooth, depth - 1), smooth))


@st.composite
def compound(draw: Any, inner: Any, smooth: bool) -> str:
    """One operation over smaller expressions, with brackets only where they are needed or drawn."""
    kinds = [binary, with_number, power, function, reduction, index, moved, joined, product, bracketed]
    kind = draw(st.sampled_from(kinds if smooth else [*kinds, corner, chosen]))
    return kind(draw, inner, smooth)


def binary(draw: Any, inner: Any, smooth: bool) -> str:
    return f"{draw(inner)} {draw(st.sampled_from(['+', '-', '*', '/']))} {draw(inner)}"


def with_number(draw: Any, inner: Any, smooth: bool) -> str:
    number, sign = draw(st.sampled_from(LITERALS)), draw(st.sampled_from(["+", "-", "*", "/"]))
    return draw(st.sampled_from([f"{number} {sign} {{0}}", f"{{0}} {sign} {number}", "-{0}", "+{0}"])).format(
        draw(inner)
    )


def power(draw: Any, inner: Any, smooth: bool) -> str:
    exponents = ["2", "3", "-1", "1", "0", "2.0"] + ([] if smooth else ["0.5", "-1.5"])
    return f"({draw(inner)}) ** {draw(st.sampled_from(exponents))}"


def function(draw: Any, inner: Any, smooth: bool) -> str:
    module = draw(st.sampled_from(["", "", "np."]))
    return f"{module}{draw(st.sampled_from(SMOOTH if smooth else SMOOTH + PIECEWISE))}({draw(inner)})"


def reduction(draw: Any, inner: Any, smooth: bool) -> str:
    name = draw(st.sampled_from(REDUCTIONS if smooth else REDUCTIONS + EXTREMES))
    axis = draw(st.sampled_from(["", "", "axis=0", "axis=-1", "axis=1", "axis=(0, 1)", "axis=None"]))
    kept = draw(st.sampled_from(["", "keepdims=True", "keepdims=False"]))
    settings = ", ".join(filter(None, [axis, kept]))
    of = draw(inner)
    if axis:  # NumPy lets a scalar be summed along an axis that it does not have, but no mean be taken
        of = f"({of})[None]"
    if draw(st.booleans()):
        return f"{name}({of}{', ' if settings else ''}{settings})"
    return f"({of}).{name}({settings})"


def index(draw: Any, inner: Any, smooth: bool) -> str:
    return f"({draw(inner)})[{draw(st.sampled_from(INDICES))}]"


def moved(draw: Any, inner: Any, smooth: bool) -> str:
    shape = draw(st.sampled_from(["-1", "6", "3, 2", "1, 3", "(2, 3)", "(-1, 1)", "3, -1"]))
    tuple_ = shape if shape.startswith("(") or "," not in shape else f"({shape})"
    forms = [f"reshape({{0}}, {tuple_})", f"({{0}}).reshape({shape})", "({0}).T", "transpose({0})", "({0}).transpose()"]
    return draw(st.sampled_from(forms)).format(draw(inner))


def joined(draw: Any, inner: Any, smooth: bool) -> str:
    name = draw(st.sampled_from(["concatenate", "stack"]))
    axis = draw(st.sampled_from(["", ", axis=0", ", axis=1", ", axis=-1"]))
    return f"{name}([{draw(inner)}, {draw(inner)}]{axis})"


def product(draw: Any, inner: Any, smooth: bool) -> str:
    forms = ["{0} @ {1}", "{0} @ ({1}).T", "outer({0}, {1})", "matmul({0}, {1})", "dot({0}, {1})", "({0}).T @ {1}"]
    return draw(st.sampled_from(forms)).format(draw(inner), draw(inner))


def bracketed(draw: Any, inner: Any, smooth: bool) -> str:
    return f"({draw(inner)})"


def corner(draw: Any, inner: Any, smooth: bool) -> str:
    return f"{draw(st.sampled_from(['maximum', 'minimum']))}({draw(inner)}, {draw(st.one_of(inner, st.just('0.2')))})"


def chosen(draw: Any, inner: Any, smooth: bool) -> str:
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    mask = f"{draw(inner)} {sign} {draw(st.one_of(inner, st.just('0')))}"
    mask = draw(st.sampled_from([f"{mask}", f"({mask}) & ({draw(inner)} < 1)", f"~({mask})"]))
    return f"where({mask}, {draw(inner)}, {draw(st.one_of(inner, st.just('0.0')))})"

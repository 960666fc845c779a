"""Every operator against what does not know its rule: NumPy's forward, differences, SymPy, its own printed form.

The tables run over all blocks, also those that only rules use; see `support.examples` for how examples are drawn.
"""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from support.examples import (
    DIFFERENTIABLE,
    EMPTY,
    OPERATORS,
    POOL,
    SPELLINGS,
    Derived,
    Example,
    accepted,
    attempts,
    derived,
    difference,
    draw,
    free_operands,
    slope_of,
    with_free,
)
from support.mutations import MUTATIONS, spoiled_rules

import gradcli.differentiate
from gradcli.api import read_graph
from gradcli.evaluate import CannotEvaluate, evaluate
from gradcli.graph import Graph, Node, Op, ShapeError, backward_order, constant, formula
from gradcli.graph.dtypes import floating, result_dtype, summed
from gradcli.graph.op import DIALECTS, INFIX, REGISTRY, shape_of

every_operator = pytest.mark.parametrize("name", OPERATORS)
every_rule = pytest.mark.parametrize("name", DIFFERENTIABLE)


def close(found: Any, right: Any, rtol: float) -> bool:
    """Whether two gradients agree, relative to the largest entry."""
    scale = max(1.0, float(np.max(np.abs(right), initial=0)))
    return np.shape(found) == np.shape(right) and bool(np.all(np.abs(found - right) <= rtol * scale))


def forward_scalar(example: Example, seed: Any) -> Callable[[tuple[Any, ...]], float]:
    """sum(seed * op(...)) as a function of the operands that are free."""
    op, owner = example.op, slope_of(example.op)

    def value(operands: tuple[Any, ...]) -> float:
        free = operands if owner is None else (owner.forward(*operands[: len(owner.operands)]), *operands)
        return float(np.sum(seed * op.forward(*free, **example.settings)))

    return value


def fault(example: Example) -> str:
    """What is wrong with the gradients that the sweep finds for an example; "" if nothing is."""
    try:
        d = derived(example)
    except Exception as error:
        return repr(error)
    value = forward_scalar(example, d.values[d.seed.number])
    for slot, node in enumerate(d.inputs):
        if not node.differentiable:
            continue
        found = d.gradient(node)
        right = difference(value, free_operands(example), slot)
        if example.op.vjp is None or not d.node.differentiable:
            right = right * 0
        if not close(found, right, 1e-8):
            return f"{example}: operand {slot} receives {found}, differences give {right}"
    return ""


def passing(example: Example) -> bool:
    """Whether differences apply: at least one operand is a number that receives a gradient."""
    return any(example.op.passes(s) for s in range(len(example.operands)))


# Forward ----------------------------------------------------------------------------------------


@every_operator
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of tensors without entries
def test_shape_rule_is_what_forward_returns(name: str) -> None:
    op = OPERATORS[name]
    empty = [] if {"labels", "indices"} & {*op.operand_kinds} else _accepted_of_empty(op)  # which name none of nothing
    for example in (*accepted(op), *empty):
        shape = op.shape(*example.shapes, **example.settings)
        assert np.shape(op.forward(*example.operands, **example.settings)) == shape, str(example)


def _accepted_of_empty(op: Op) -> list[Example]:
    try:
        return accepted(op, [*EMPTY, (), (3,)])
    except AssertionError:
        return []  # it needs more axes than these have


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_other_operators_say_is_the_librarys_own(name: str) -> None:
    """A block that expands gives what its forward, a function of the library, gives: values and shapes."""
    op = SPELLINGS[name]
    tried = 0
    for example in attempts(op, POOL):
        try:
            said = op.expands(*example.shapes, **example.settings)
            parts = said if isinstance(said, list) else [said]
            for each, settings in parts:
                each.shape(*example.shapes, **settings)
        except ShapeError:
            continue
        tried += 1
        found = [each.forward(*example.operands, **settings) for each, settings in parts]
        right = op.forward(*example.operands, **example.settings)
        right = list(right) if isinstance(said, list) else [right]
        assert len(found) == len(right), str(example)
        for mine, other in zip(found, right, strict=True):
            np.testing.assert_allclose(mine, other, 1e-14, err_msg=str(example))
    assert tried > 1


@every_operator
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_dtype_rule_is_what_the_values_have(name: str, dtype: str) -> None:
    """In a graph of any precision the values have the dtype that the node says, and its digits."""
    for example in accepted(OPERATORS[name])[::2]:
        check_precision(example, [in_precision(o, dtype) for o in free_operands(example)])


NUMBERS_OF_MASKS = [n for n, op in OPERATORS.items() if op.dtype in (floating, summed) and not op.hidden]


@pytest.mark.parametrize("name", NUMBERS_OF_MASKS)
def test_masks_become_numbers(name: str) -> None:
    """Where the dtype rule makes numbers of truth values, they are numbers of full precision."""
    for example in accepted(OPERATORS[name])[::2]:
        operands = [np.asarray(o) for o in free_operands(example)]
        check_precision(example, [o > np.mean(o) if o.dtype.kind == "f" else o for o in operands])


DIGITS = {"float16": 1e-2, "float32": 1e-5}


def in_precision(value: Any, dtype: str) -> Any:
    array = np.asarray(value)
    return array.astype(dtype) if array.dtype.kind == "f" else array


def check_precision(example: Example, numbers: list[Any]) -> None:
    """Operands of whatever dtype give the value of float64 operands, to the digits of the dtype declared."""
    as_they_are = [v.dtype.kind == "i" or is_mask(example, slot) for slot, v in enumerate(numbers)]
    floats = [v if kept else v.astype(float) for v, kept in zip(numbers, as_they_are, strict=True)]
    wide = derived(with_free(example, tuple(floats)))
    narrow = derived(with_free(example, tuple(numbers)))
    found = np.asarray(narrow.values[narrow.node.number])
    declared = result_dtype(example.op, narrow.node.operands, example.settings)
    assert declared in (str(found.dtype), "weak float"), str(example)
    digits = max(DIGITS.get(n.dtype, 1e-14) for n in (narrow.node, *narrow.inputs))
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, wide.values[wide.node.number], digits, digits, err_msg=str(example))
    for node, reference in zip(narrow.inputs, wide.inputs, strict=True):
        if node in narrow.swept.order:
            gradient = np.asarray(narrow.gradient(node))
            assert gradient.dtype == node.dtype, str(example)
            assert close(gradient.astype(float), wide.gradient(reference), 8 * digits), str(example)


def is_mask(example: Example, slot: int) -> bool:
    kinds = example.op.operand_kinds
    return slot < len(kinds) and kinds[slot] == "mask"


SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.25, -2.5, 3.0, 40.0, -745.5, 800.0, 1e-300, 1e300, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("name", [n for n, op in OPERATORS.items() if op.scalar is not None])
def test_scalar_form_is_forward(name: str) -> None:
    """On Python floats, where it does not leave the answer to NumPy by raising."""
    op = OPERATORS[name]
    assert op.scalar is not None
    points = np.array(np.meshgrid(*[SPECIAL] * len(op.operands))).reshape(len(op.operands), -1).T.tolist()
    for point in [*points, *(draw(op, ((),) * len(op.operands), seed) for seed in range(20))]:
        operands = [bool(v) if is_mask(Example(op, (), {}), s) else v for s, v in enumerate(point)]
        try:
            found = op.scalar(*operands)
        except (ArithmeticError, ValueError):
            continue
        with np.errstate(all="ignore"):
            right = op.forward(*operands)
        np.testing.assert_allclose(found, right, 1e-15, err_msg=f"{op.name} of {operands}")


@every_operator
def test_shape_faults_are_those_of_forward(name: str) -> None:
    """The shape rule refuses what NumPy refuses, and only that unless forward is laxer than the operator means."""
    op = OPERATORS[name]
    if slope_of(op) is not None:
        return  # only ever called on shapes that its owner has accepted
    refused = 0
    for example in attempts(op, POOL):
        try:
            op.shape(*example.shapes, **example.settings)
            fits = True
        except ShapeError:
            fits = False
        refused += not fits
        try:
            op.forward(*example.operands, **example.settings)
            computes = True
        except (ValueError, IndexError, TypeError, ShapeError):
            computes = False
        assert computes or not fits, f"{example}: NumPy refuses it"
        assert fits or not computes or not _numpys_own(op), f"{example}: NumPy computes it"
    if len(op.operands) > 1 and op.broadcasts:
        assert refused


def _numpys_own(op: Op) -> bool:
    """Whether forward is a function of NumPy that means just what the operator means."""
    return isinstance(op.forward, np.ufunc) or op.broadcasts or op.variadic


# Backward ---------------------------------------------------------------------------------------


@every_rule
def test_rules_against_differences(name: str) -> None:
    for example in accepted(DIFFERENTIABLE[name]):
        assert not fault(example)


@every_rule
def test_adjoint_graph_is_the_numeric_sweep(name: str) -> None:
    """A rule given nodes builds what the same rule computes when it is given numbers."""
    for example in accepted(DIFFERENTIABLE[name]):
        d = derived(example)
        gradients, _, values = d.adjoint()
        for node in d.inputs:
            if node.number in gradients:
                found = gradients[node.number]
                assert found.shape == node.shape, str(example)
                np.testing.assert_allclose(values[found.number], d.gradient(node), 1e-12, 1e-13, err_msg=str(example))


@every_rule
def test_second_derivatives(name: str) -> None:
    """The adjoint graph differentiated once more, against differences of first derivatives."""
    for example in accepted(DIFFERENTIABLE[name])[::3]:
        for slot, node in enumerate(derived(example).inputs):
            if node.differentiable:
                _check_second(example, slot)


def _check_second(example: Example, slot: int) -> None:
    d = derived(example)
    gradients, _, values = d.adjoint()
    first = gradients.get(d.inputs[slot].number)
    if first is None:
        return
    weights = np.random.default_rng(2).uniform(0.5, 1.5, first.shape)
    weights = weights if first.shape else weights.item()

    def weighted(operands: tuple[Any, ...]) -> float:
        *free, seed = operands
        again = derived(with_free(example, tuple(free)), seed)
        return float(np.sum(weights * again.gradient(again.inputs[slot])))

    operands = (*free_operands(example), values[d.seed.number])
    found: list[Any] = []
    if first.differentiable:
        swept = gradcli.differentiate.sweep(backward_order(first), values, weights)
        found = swept.gradients
    for k, node in enumerate([*d.inputs, d.seed]):
        if node.differentiable:
            second = found[node.number] if node.number < len(found) else None
            second = np.zeros(node.shape) if second is None else second
            right = difference(weighted, operands, k)
            assert close(second, right, 1e-7), f"{example}: d² by {slot} and {k}: {second}, differences {right}"


# Mutations: the checks above must notice a wrong rule ------------------------------------------------


def gradients_of(example: Example) -> list[Any]:
    d = derived(example)
    return [np.asarray(d.gradient(n)) for n in d.inputs]


def notices(examples: list[Example], right: list[list[Any]]) -> None:
    """Asserts that the check by differences complains exactly where a spoiled rule changes a gradient."""
    for example, gradients in zip(examples, right, strict=True):
        try:
            wrong = gradients_of(example)
            changed = not all(close(w, g, 1e-6) for w, g in zip(wrong, gradients, strict=True))
        except Exception:
            changed = True  # operands that change places may not even fit
        assert bool(fault(example)) == changed, str(example)


@every_rule
def test_wrong_rules_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = DIFFERENTIABLE[name]
    examples = accepted(op)[::3]
    right = [gradients_of(e) for e in examples]
    for mutation in MUTATIONS:
        for spoiled in spoiled_rules(op, mutation):
            with monkeypatch.context() as patch:
                patch.setattr(op, "vjp", spoiled)
                notices(examples, right)


@pytest.mark.parametrize("name", [n for n, op in DIFFERENTIABLE.items() if op.broadcasts])
def test_a_forgotten_sum_over_broadcast_axes_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_of_each(g: Any, shape: tuple[int, ...]) -> Any:
        added = len(shape_of(g)) - len(shape)
        g = g[(0,) * added]
        return g[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]

    examples = accepted(DIFFERENTIABLE[name])
    right = [gradients_of(e) for e in examples]
    monkeypatch.setattr(gradcli.differentiate, "unbroadcast", first_of_each)
    notices(examples, right)
    assert any(fault(e) for e in examples) or not any(np.any(g) for gradients in right for g in gradients)


@pytest.mark.parametrize("name", [n for n, op in DIFFERENTIABLE.items() if op.scalar is not None])
def test_the_sweep_of_scalars_is_the_general_one(name: str) -> None:
    """Graphs of scalars are swept by a loop of their own: with every operand, and with the optional ones left out."""
    op = OPERATORS[name]
    for count in range(op.least, len(op.operands) + 1):
        graph = Graph()
        points = draw(op, ((),) * count)
        inputs = [graph.input(float(p), "float64", f"x{k}", 1) for k, p in enumerate(points)]
        output = graph.add(op, tuple(inputs), None, 1)
        values = evaluate(graph)
        order = backward_order(output)
        found = gradcli.differentiate.sweep(order, values, 1.5)
        gradients = [None] * len(found.gradients)
        gradients[output.number] = 1.5
        sent = gradcli.differentiate._general_sweep(order, values, gradients, found.reached, True)
        assert found.gradients == gradients
        assert [list(parts) for parts in found.sent] == [list(parts) for parts in sent]


# SymPy ------------------------------------------------------------------------------------------

STEPS = {"Heaviside": lambda x, *_: mpmath.mpf(x > 0), "DiracDelta": lambda x, *_: mpmath.mpf(0)}
"""What SymPy's derivatives of corners and jumps are away from them."""


@pytest.mark.parametrize("name", [n for n, op in OPERATORS.items() if op.sympy is not None])
def test_rules_are_sympys_derivatives(name: str) -> None:
    op = OPERATORS[name]
    assert op.sympy is not None
    for seed in range(6):
        point = draw(op, ((),) * len(op.operands), seed)
        symbols = [
            sympy.true if v is True else sympy.false if v is False else sympy.Dummy(n, real=True)
            for v, n in zip(point, op.operands, strict=True)
        ]
        variables = [s for s in symbols if isinstance(s, sympy.Dummy)]
        numbers = [mpmath.mpf(v) for v in point if not isinstance(v, bool)]
        expression = sympy.sympify(op.sympy(sympy, *symbols))
        y = op.forward(*point)
        forward = sympy.lambdify(variables, expression, ["mpmath", STEPS])(*numbers)
        assert float(forward) == pytest.approx(float(y), rel=1e-14)
        for slot, variable in enumerate(symbols):
            if not op.passes(slot):
                continue
            slope = sympy.lambdify(variables, expression.diff(variable), ["mpmath", STEPS])(*numbers)
            assert float(op.contribute(slot, 1.0, y, point, {})) == pytest.approx(float(slope), rel=1e-13, abs=1e-15)


# Written ----------------------------------------------------------------------------------------

CALLABLE = {n: op for n, op in OPERATORS.items() if not op.hidden}


def text_of(value: Any) -> str:
    return repr(np.asarray(value).tolist())


def value_when_read(example: Example, text: str) -> Any:
    """The value of a formula over the operands of an example, `x0`, `x1`, …"""
    lines = [f"x{k} = {text_of(v)}" for k, v in enumerate(example.operands)]
    traced = read_graph("\n".join([*lines, f"result = {text}"]))
    return evaluate(traced.graph)[traced.names["result"].number]


def as_input(value: Any) -> tuple[Any, str]:
    """An operand as a file gives it: numbers are float64."""
    array = np.asarray(value)
    dtype = {"b": "bool", "i": "int64", "f": "float64"}[array.dtype.kind]
    return array[()] if array.shape else array.item(), dtype


def node_of(example: Example, wrap: Callable[[Graph, Node], Node] = lambda graph, node: node) -> tuple[Graph, Node]:
    graph = Graph()
    operands = []
    for k, value in enumerate(example.operands):
        node = graph.input(*as_input(value), f"x{k}", 1)
        operands.append(wrap(graph, node) if node.differentiable else node)
    return graph, graph.add(example.op, tuple(operands), example.settings, 1)


def check_written(example: Example, graph: Graph, node: Node, rtol: float = 0) -> None:
    text = formula(node, lambda n: n.name if n.operands == () else "")
    assert text is not None
    right = evaluate(graph)[node.number]
    np.testing.assert_allclose(value_when_read(example, text), right, rtol, err_msg=f"{example}: {text}")


@pytest.mark.parametrize("name", CALLABLE)
def test_what_is_written_reads_the_same(name: str) -> None:
    for example in accepted(CALLABLE[name]):
        check_written(example, *node_of(example))


AROUND: list[Callable[[Graph, Node], Node]] = [
    lambda graph, node: graph.add(INFIX["u-"], (node,), None, 1),
    lambda graph, node: graph.add(INFIX["-"], (graph.constant(1.5, "1.5"), node), None, 1),
    lambda graph, node: graph.add(INFIX["/"], (graph.constant(1.5, "1.5"), node), None, 1),
    lambda graph, node: graph.add(INFIX["*"], (node, graph.constant(1.5, "1.5")), None, 1),
    lambda graph, node: graph.add(INFIX["**"], (node, graph.constant(2, "2")), None, 1),
    lambda graph, node: graph.add(INFIX["**"], (graph.constant(2.0, "2.0"), node), None, 1),
    lambda graph, node: graph.add(REGISTRY["transpose"], (node,), None, 1),
]
"""Operations that a formula may stand in, and that may stand in a formula: do the brackets come out right?"""


@pytest.mark.parametrize("name", CALLABLE)
@pytest.mark.parametrize("around", range(len(AROUND)))
def test_brackets(name: str, around: int) -> None:
    for example in accepted(CALLABLE[name])[::4]:
        graph, node = node_of(example)
        if node.dtype == "float64":
            check_written(example, graph, AROUND[around](graph, node), 1e-13)
        try:
            graph, node = node_of(example, AROUND[around])
            check_written(example, graph, node, 1e-13)
        except (ShapeError, CannotEvaluate):
            continue  # transposed operands need not fit, nor has every other matrix a value


def test_numbers_in_formulas_are_bracketed() -> None:
    graph = Graph()
    x = graph.input(2.0, "float64", "x", 1)
    power = graph.add(INFIX["**"], (graph.constant(-2.0, "-2.0"), x), None, 1)
    assert formula(power, lambda n: n.name if n is x else "") == "(-2.0) ** x"
    assert constant(-1).name == "-1"


def test_every_spelling_is_one_operator() -> None:
    for op in CALLABLE.values():
        for spelling in (op.name, *op.spellings):
            assert (DIALECTS if "." in spelling else REGISTRY)[spelling] is op


def test_derived_keeps_the_forward_graph() -> None:
    """Building an adjoint graph leaves the reader's own nodes alone."""
    example = accepted(REGISTRY["matmul"])[0]
    d: Derived = derived(example)
    before = [(n.op, n.operands, n.number) for n in d.graph.nodes]
    d.adjoint()
    assert [(n.op, n.operands, n.number) for n in d.graph.nodes] == before

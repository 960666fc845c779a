"""Products over named axes: einsum, and the products that are one in disguise.

Source of the rule of einsum: with operands A, B, … and the result C, the value is linear in every operand.  The
gradient of one of them is the einsum in which it and the result have changed places, in the arguments as in the
subscripts: of `einsum("ij,jk->ik", A, B)`, the contribution to B is `einsum("ij,ik->jk", A, dC)`.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradcli.graph.dtypes import summed
from gradcli.graph.op import Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.arrange import reshape
from gradcli.ops.reduce import stretch
from gradcli.ops.shapes import broadcast, normal_axis, shape_words, whole

Term = tuple[str, ...]
"""The labels of an operand's axes, one an axis."""

DOTS = "..."


def subscripts(value: Any) -> str:
    """The text of an einsum, without its blanks; ValueError if it is none."""
    if not isinstance(value, str):
        raise ValueError('subscripts in quotes, such as "ij,jk->ik"')
    text = "".join(value.split())
    inputs, arrow, output = text.partition("->")
    for part in (*inputs.split(","), output):
        rest = part.replace(DOTS, "", 1)
        if rest and not rest.isalpha():
            odd = next(c for c in rest if not c.isalpha())
            raise ValueError(f"a letter an axis, commas between operands and one ->, but no `{odd}`")
    if arrow and len(set(output)) - ("." in output) < len(output) - output.count("."):
        raise ValueError("an output that names every letter once")
    for letter in output.replace(".", ""):
        if letter not in inputs:
            raise ValueError(f"an output whose letters stand left of ->, but `{letter}` does not")
    if arrow and DOTS in inputs and DOTS not in output:
        raise ValueError("an output that keeps the axes of `...`")
    if DOTS in output and DOTS not in inputs:
        raise ValueError("an operand with `...` for the output's")
    return text


@lru_cache(maxsize=1024)
def _labels(text: str, ranks: tuple[int, ...]) -> tuple[tuple[Term, ...], Term]:
    """Every operand's labels and the output's; axes that `...` stands for get letters that are free."""
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ranks):
        said = f"{len(parts)} operand{'s' * (len(parts) != 1)}"
        raise ShapeError(
            f"needs an operand for each part of its subscripts, which name {said}",
            {"subscripts": f"{said} named, {len(ranks)} given"},
            "a comma stands between two operands' letters",
        )
    hidden = 0
    for slot, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
        letters = len(part.replace(DOTS, ""))
        if letters > rank or (letters < rank and DOTS not in part):
            raise ShapeError(
                f"needs a letter for each axis of {{{slot}}}",
                {slot: f"{rank} ax{'i' if rank == 1 else 'e'}s, but {letters} in `{part}`"},
                "`...` stands for all axes that have no letter",
            )
        hidden = max(hidden, rank - letters)
    free = (c for c in string.ascii_letters if c not in text)
    dots = "".join(next(free) for _ in range(hidden))
    terms = []
    for part, rank in zip(parts, ranks, strict=True):
        count = rank - len(part.replace(DOTS, ""))
        terms.append(tuple(part.replace(DOTS, dots[hidden - count :])))
    if not arrow:
        letters_used = inputs.replace(DOTS, "").replace(",", "")
        output = DOTS + "".join(sorted(c for c in set(letters_used) if letters_used.count(c) == 1))
    return tuple(terms), tuple(output.replace(DOTS, dots))


def _lengths(terms: Sequence[Term], shapes: Sequence[Shape]) -> dict[str, int]:
    """The length of every label's axis; as NumPy does, einsum stretches axes of length 1."""
    found: dict[str, int] = {}
    by: dict[str, int] = {}
    for slot, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for label, length in zip(term, shape, strict=True):
            if found.get(label, 1) == 1 or length == found[label]:
                if label not in found or length != 1:
                    found[label], by[label] = length, slot
            elif length != 1 or slot == by[label]:
                raise ShapeError(
                    f"needs axes of one letter to be equal, and `{label}` has two lengths",
                    {by[label]: f"`{label}` has {found[label]}", slot: f"`{label}` has {length}"}
                    if slot != by[label]
                    else {slot: f"{shape_words(shape)}, but `{label}` twice"},
                )
    return found


def _einsum_shape(*shapes: Shape, subscripts: str) -> Shape:
    terms, output = _labels(subscripts, tuple(map(len, shapes)))
    lengths = _lengths(terms, shapes)
    return tuple(lengths[label] for label in output)


def _counted(value: Any) -> Any:
    """A mask as ones and zeros, so that a sum counts."""
    array = np.asanyarray(value)
    return array.astype(np.int64) if array.dtype == bool else array


def _computed(terms: Sequence[Term], output: Term, values: Sequence[Any]) -> Any:
    number = {label: n for n, label in enumerate(dict.fromkeys(label for term in terms for label in term))}
    arguments: list[Any] = []
    for term, value in zip(terms, values, strict=True):
        arguments += [_counted(value), [number[label] for label in term]]
    large = len(terms) > 1 and sum(np.size(v) for v in values) > 512  # a plan costs more than a small product
    return np.array(np.einsum(*arguments, [number[label] for label in output], optimize=large))[()]


def _einsum(*values: Any, subscripts: str) -> Any:
    terms, output = _labels(subscripts, tuple(map(np.ndim, values)))
    return _computed(terms, output, values)


def _text(terms: Sequence[Term], output: Term) -> str:
    return f"{','.join(map(''.join, terms))}->{''.join(output)}"


def _product_rule(g: Any, operands: Sequence[Any], slot: int, terms: Sequence[Term], output: Term) -> Any:
    """What one operand of a product over labelled axes receives."""
    shapes = [shape_of(o) for o in operands]
    lengths = _lengths(terms, shapes)
    mine = tuple(dict.fromkeys(terms[slot]))
    own = dict(zip(terms[slot], shapes[slot], strict=True))
    alone = not output and len(operands) > 1  # a scalar's gradient is a factor of its own, as textbooks write it
    others = [*terms[:slot], *([] if alone else [output]), *terms[slot + 1 :]]
    values = [*operands[:slot], *([] if alone else [g]), *operands[slot + 1 :]]
    there = {label for term in others for label in term}
    # an axis that was stretched from length 1 is summed; one that nobody else has is repeated
    kept = tuple(label for label in mine if label in there and own[label] == lengths[label])
    c = values[0] if others == [kept] else einsum(*values, subscripts=_text(others, kept))
    c = g * c if alone else c
    # `c` may be stretched as it is where it lacks leading axes only
    if kept != mine[len(mine) - len(kept) :]:
        c = reshape(c, shape=tuple(shape_of(c)[kept.index(label)] if label in kept else 1 for label in mine))
    c = stretch(c, tuple(own[label] for label in mine))
    return c if mine == terms[slot] else on_diagonal(c, term="".join(terms[slot]))


def _einsum_rule(g: Any, y: Any, operands: Sequence[Any], slot: int, subscripts: str) -> Any:
    terms, output = _labels(subscripts, tuple(len(shape_of(o)) for o in operands))
    return _product_rule(g, operands, slot, terms, output)


einsum: Op = operator(
    "einsum",
    "*operands",
    settings={"subscripts": Setting(subscripts, required=True, leads=True)},
    shape=_einsum_shape,
    dtype=summed,
    forward=_einsum,
    vjp=_einsum_rule,
    write=lambda shapes, subscripts: Written(
        f'einsum("{subscripts}", {", ".join(f"{{{slot}}}" for slot in range(len(shapes)))})'
    ),
    samples=(((2, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((3, 3), (3,), (3, 3)), ((3, 3, 3),), ((1, 3), (2, 1))),
    doc="A product of operands with a letter for each axis, summed over the letters that the output leaves out.",
)


def _diagonal_shape(x: Shape, term: str) -> Shape:
    labels = dict.fromkeys(term)
    if len(labels) != len(x):
        raise ShapeError(f"needs a letter of {term} for each axis", {0: shape_words(x)})
    lengths = dict(zip(labels, x, strict=True))
    return tuple(lengths[label] for label in term)


def _on_diagonal(x: Any, term: str) -> Any:
    result = np.zeros(_diagonal_shape(np.shape(x), term), np.asanyarray(x).dtype)
    number = {label: n for n, label in enumerate(dict.fromkeys(term))}
    np.einsum(result, [number[label] for label in term], list(number.values()))[...] = x  # einsum gives a view
    return result


on_diagonal: Op = operator(
    "on_diagonal",
    "x",
    settings={"term": Setting(subscripts, required=True)},
    shape=_diagonal_shape,
    forward=_on_diagonal,
    vjp=(lambda g, y, x, term: einsum(g, subscripts=f"{term}->{''.join(dict.fromkeys(term))}"),),
    write=lambda shapes, term: Written(f'einsum("{"".join(dict.fromkeys(term))}->{term}", {{0}})'),
    hidden=True,
    doc="Zeros but for the entries whose indices of one letter are equal: what a repeated letter sends back.",
)


# tensordot, kron, cross -----------------------------------------------------------------------------


def axis_pairs(value: Any) -> int | tuple[tuple[int, ...], tuple[int, ...]]:
    """How many axes to sum over, or the axes of both operands."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        first, second = (tuple(map(whole, v)) if isinstance(v, (tuple, list)) else (whole(v),) for v in value)
        if len(first) == len(second):
            return first, second
    elif not isinstance(value, (tuple, list)) and value is not None and whole(value) >= 0:
        return whole(value)
    raise ValueError("a number of axes, or two lists of axes of equal length")


def _tensordot_terms(a: Shape, b: Shape, axes: Any) -> tuple[tuple[Term, Term], Term]:
    if isinstance(axes, int):
        for slot, shape in enumerate((a, b)):
            if axes > len(shape):
                raise ShapeError(f"needs {axes} axes to sum over", {slot: shape_words(shape)}, "axes=1 sums over one")
        axes = tuple(range(len(a) - axes, len(a))), tuple(range(axes))
    first = [normal_axis(axis, len(a)) for axis in axes[0]]
    second = [normal_axis(axis, len(b)) for axis in axes[1]]
    letters = string.ascii_letters
    mine = list(letters[: len(a)])
    other = list(letters[len(a) : len(a) + len(b)])
    for i, j in zip(first, second, strict=True):
        if a[i] != b[j]:
            raise ShapeError(
                "needs axes that are summed together to be equal",
                {0: f"axis {i} has {a[i]}", 1: f"axis {j} has {b[j]}"},
            )
        other[j] = mine[i]
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        raise ShapeError("an axis can be summed over once only", {"axes": "an axis twice"})
    rest = [c for i, c in enumerate(mine) if i not in first] + [c for j, c in enumerate(other) if j not in second]
    return (tuple(mine), tuple(other)), tuple(rest)


def _tensordot_shape(a: Shape, b: Shape, axes: Any = 2) -> Shape:
    terms, output = _tensordot_terms(a, b, axes)
    lengths = _lengths(terms, (a, b))
    return tuple(lengths[label] for label in output)


def _tensordot_rule(g: Any, y: Any, *operands: Any, slot: int, axes: Any = 2) -> Any:
    a, b = map(shape_of, operands)
    terms, output = _tensordot_terms(a, b, axes)
    return _product_rule(g, operands, slot, terms, output)


tensordot = operator(
    "tensordot",
    "a b",
    settings={"axes": Setting(axis_pairs, 2)},
    shape=_tensordot_shape,
    dtype=summed,
    forward=lambda a, b, axes=2: np.tensordot(_counted(a), _counted(b), axes)[()],
    vjp=(
        lambda g, y, a, b, axes=2: _tensordot_rule(g, y, a, b, slot=0, axes=axes),
        lambda g, y, a, b, axes=2: _tensordot_rule(g, y, a, b, slot=1, axes=axes),
    ),
    samples=(((2, 3), (2, 3)), ((2, 3), (3, 2)), ((2, 3, 2), (2, 3))),
    doc="The product summed over the last axes of a and the first of b (two unless `axes` says otherwise).",
)


def _kron_parts(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Both shapes with leading axes of length 1 where they have fewer than the other."""
    ndim = max(len(a), len(b))
    return (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b


def _kron_rule(g: Any, y: Any, *operands: Any, slot: int) -> Any:
    a, b = _kron_parts(*map(shape_of, operands))
    first, second = string.ascii_lowercase[: len(a)], string.ascii_uppercase[: len(a)]
    blocks = reshape(g, shape=tuple(n for pair in zip(a, b, strict=True) for n in pair))
    both = "".join(i + j for i, j in zip(first, second, strict=True))
    mine, other = ((a, b), (b, a))[slot]
    named = ((first, second), (second, first))[slot]
    factor = reshape(operands[1 - slot], shape=other)
    text = f"{both},{named[1]}->{named[0]}"
    return reshape(reshape(einsum(blocks, factor, subscripts=text), shape=mine), shape=shape_of(operands[slot]))


kron = operator(
    "kron",
    "a b",
    shape=lambda a, b: tuple(m * n for m, n in zip(*_kron_parts(a, b), strict=True)),
    forward=np.kron,
    vjp=(
        lambda g, y, a, b: _kron_rule(g, y, a, b, slot=0),
        lambda g, y, a, b: _kron_rule(g, y, a, b, slot=1),
    ),
    doc="The Kronecker product: a block `a[i, j] * b` for every entry of a.",
)


def _cross_shape(a: Shape, b: Shape, axis: int = -1) -> Shape:
    for slot, shape in enumerate((a, b)):
        if not shape or shape[normal_axis(axis, len(shape))] != 3:
            raise ShapeError(
                f"a cross product is of vectors of 3 numbers, along axis {axis}", {slot: shape_words(shape)}
            )
    if axis >= 0 and len(a) != len(b):
        raise ShapeError(
            "needs operands with equally many axes", {0: shape_words(a), 1: shape_words(b)}, "count the axis from -1"
        )
    return broadcast(a, b)


def _cross(a: Any, b: Any, axis: int = -1) -> Any:
    _cross_shape(np.shape(a), np.shape(b), axis)  # NumPy still takes vectors of two numbers
    return np.cross(a, b, axis=axis)


cross: Op = operator(
    "cross",
    "a b",
    settings={"axis": Setting(whole, -1)},
    shape=_cross_shape,
    forward=_cross,
    vjp=(
        lambda g, y, a, b, axis=-1: cross(b, g, axis=axis),
        lambda g, y, a, b, axis=-1: cross(g, a, axis=axis),
    ),
    broadcasts=True,
    doc="The cross product of vectors of three numbers.",
)

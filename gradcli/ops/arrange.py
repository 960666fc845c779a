"""Moving entries about: reshape, transpose, concat, stack, indexing.

None of these computes; each rule puts the gradient back to where the entries came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.op import ATOM, POSTFIX, Op, Setting, Shape, ShapeError, Written, operator, shape_of
from gradcli.ops.shapes import axes, lengths, normal_axis, shape_words, whole


def _reshaped(x: Shape, shape: Shape) -> Shape:
    size = int(np.prod(x, dtype=object)) if x else 1
    known = 1
    for n in shape:
        known *= n if n != -1 else 1
    unknown = shape.count(-1)
    if unknown == 1 and known > 0 and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if unknown or known != size or any(n < 0 for n in shape):
        raise ShapeError(
            f"{size} entries cannot be laid out as {shape}",
            {0: f"{shape_words(x)}, {size} entries"},
            "the product of the new shape must be the number of entries; one axis may be -1",
        )
    return shape


reshape: Op = operator(
    "reshape",
    "x",
    spellings=("view",),
    settings={"shape": Setting(lengths, required=True, gathers=True)},
    shape=_reshaped,
    forward=lambda x, shape: np.reshape(x, shape),
    vjp=(lambda g, y, x, shape: reshape(g, shape=shape_of(x)),),
    simplify=lambda x, shape: x if x.shape == shape else None,
    doc="The same entries in another shape.",
)


def _order(axes: tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(reversed(range(ndim)))
    order = tuple(normal_axis(a, ndim) for a in axes)
    if len(order) == 2 and ndim > 2:  # PyTorch's transpose(1, 2): two axes change places
        swapped = list(range(ndim))
        swapped[order[0]], swapped[order[1]] = order[1], order[0]
        return tuple(swapped)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"axes {axes} is not an order of all {ndim} axes", {0: f"{ndim} axes"}, "name every axis once")
    return order


def _transpose_written(shapes: tuple[Shape, ...], axes: tuple[int, ...] | None = None) -> Written:
    ndim = len(shapes[0])
    order = _order(axes, ndim)
    if order == tuple(reversed(range(ndim))):
        return Written("{0}.T", POSTFIX, (POSTFIX,))
    if order == (*range(ndim - 2), ndim - 1, ndim - 2):
        return Written("{0}.mT", POSTFIX, (POSTFIX,))
    return Written(f"transpose({{0}}, {order})")


def _axes_or_none(value: Any) -> Any:
    read = axes(value)
    return (read,) if isinstance(read, int) else read


def _simpler_transpose(x: Any, axes: tuple[int, ...] | None) -> Any:
    """`A.T.T` is `A`, the transpose of a vector the vector, and `(A.T @ B).T` is `B.T @ A`."""
    if len(x.shape) < 2:
        return x
    if axes is not None:
        return None
    if x.op is transpose:
        return x.operands[0] if x.settings.get("axes") is None else None
    matrices = x.op.infix == "@" and all(len(o.shape) == 2 for o in x.operands)
    if matrices and any(o.op is transpose and not o.settings for o in x.operands):
        return transpose(x.operands[1]) @ transpose(x.operands[0])
    return None


transpose: Op = operator(
    "transpose",
    "x",
    spellings=("permute", ".t", "torch.t"),
    settings={"axes": Setting(_axes_or_none, None, gathers=True)},
    shape=lambda x, axes=None: tuple(x[a] for a in _order(axes, len(x))),
    forward=lambda x, axes=None: np.transpose(x, None if axes is None else _order(axes, np.ndim(x))),
    vjp=(
        lambda g, y, x, axes=None: transpose(
            g, axes=None if axes is None else tuple(map(int, np.argsort(_order(axes, len(shape_of(x))))))
        ),
    ),
    write=_transpose_written,
    simplify=lambda x, axes=None: _simpler_transpose(x, axes),
    doc="The axes in another order; reversed unless an order is given.",
)


def swap_last(x: Any) -> Any:
    """The last two axes exchanged: `x.T` of a matrix, `x.mT` of a stack of matrices."""
    ndim = len(shape_of(x))
    return transpose(x) if ndim == 2 else transpose(x, axes=(*range(ndim - 2), ndim - 1, ndim - 2))


def _concat_shape(*shapes: Shape, axis: int = 0) -> Shape:
    if not shapes:
        raise ShapeError("there is nothing to join", {}, "give a list with at least one tensor")
    first = shapes[0]
    if not first:
        raise ShapeError("scalars have no axis to be joined along", {0: "a scalar"}, "use stack([a, b])")
    at = normal_axis(axis, len(first))
    for slot, shape in enumerate(shapes):
        rest, want = list(shape), list(first)
        if len(rest) == len(want):
            rest[at] = want[at] = 0
        if rest != want:
            raise ShapeError(
                f"joining along axis {axis} needs all other axes to be equal",
                {0: shape_words(first), slot: shape_words(shape)},
            )
    return (*first[:at], sum(s[at] for s in shapes), *first[at + 1 :])


def _concat_rule(g: Any, y: Any, operands: Sequence[Any], slot: int, axis: int = 0) -> Any:
    at = axis % len(shape_of(g))
    start = sum(shape_of(o)[at] for o in operands[:slot])
    window = slice(start, start + shape_of(operands[slot])[at])
    return index(g, key=(*[slice(None)] * at, window))


concat = operator(
    "concat",
    "*tensors",
    spellings=("concatenate", "cat"),
    settings={"axis": Setting(whole, 0)},
    shape=_concat_shape,
    forward=lambda *tensors, axis=0: np.concatenate(tensors, axis=axis),
    vjp=_concat_rule,
    doc="Tensors joined along an axis they have; each receives its own part of the gradient.",
)


def _stack_shape(*shapes: Shape, axis: int = 0) -> Shape:
    if not shapes:
        raise ShapeError("there is nothing to stack", {}, "give a list with at least one tensor")
    for slot, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ShapeError("stacking needs equal shapes", {0: shape_words(shapes[0]), slot: shape_words(shape)})
    at = normal_axis(axis, len(shapes[0]) + 1)
    return (*shapes[0][:at], len(shapes), *shapes[0][at:])


def _stack_rule(g: Any, y: Any, operands: Sequence[Any], slot: int, axis: int = 0) -> Any:
    at = axis % len(shape_of(g))
    return index(g, key=(*[slice(None)] * at, slot))


stack = operator(
    "stack",
    "*tensors",
    settings={"axis": Setting(whole, 0)},
    shape=_stack_shape,
    forward=lambda *tensors, axis=0: np.stack(tensors, axis=axis),
    vjp=_stack_rule,
    doc="Tensors laid side by side along a new axis; each receives its own slice of the gradient.",
)


def index_key(value: Any) -> tuple[Any, ...]:
    """The parts of an index; lists of whole numbers become arrays.  ValueError for anything else."""
    key = value if isinstance(value, tuple) else (value,)
    return tuple(_index_part(part) for part in key)


def _index_part(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return part
    if isinstance(part, slice):
        return slice(*[None if v is None else whole(v) for v in (part.start, part.stop, part.step)])
    if isinstance(part, (list, np.ndarray)):
        try:
            array = np.asanyarray(part)
        except ValueError:
            raise ValueError("whole numbers, in rows of one length") from None
        if array.dtype == bool:
            return array
        if array.size and (array.dtype.kind not in "iuf" or (array != np.trunc(array)).any()):
            raise ValueError("whole numbers")
        return array.astype(np.intp)
    return whole(part)


def _indexed(x: Shape, key: tuple[Any, ...]) -> Shape:
    if type(key[0]) is int and len(key) == 1 and x:  # the common case, without NumPy's cost
        if -x[0] <= key[0] < x[0]:
            return x[1:]
        raise ShapeError(
            f"index {key[0]} is outside the first axis",
            {"key": f"it goes from {-x[0]} to {x[0] - 1}"},
            "counting starts at 0",
        )
    try:
        return tuple(np.broadcast_to(np.zeros(()), x)[key].shape)
    except (IndexError, ValueError):
        raise ShapeError(_index_words(x, key), {0: shape_words(x)}, "counting starts at 0") from None


def _index_words(x: Shape, key: tuple[Any, ...]) -> str:
    """What is wrong with an index: too many parts, one that is outside its axis, or lists that do not go together."""
    used = [part for part in key if part is not None and part is not Ellipsis]
    if len(used) > len(x):
        return f"too many indices: {len(used)} of them, and {len(x)} {'axis' if len(x) == 1 else 'axes'}"
    if not any(part is Ellipsis for part in key):
        for axis, part in enumerate(used):
            whole_numbers = np.asanyarray(part if isinstance(part, (int, np.ndarray)) else 0)
            if whole_numbers.dtype == bool:
                continue
            for number in whole_numbers.ravel().tolist():
                if not -x[axis] <= number < x[axis]:
                    return f"index {number} is outside axis {axis}, which goes from {-x[axis]} to {x[axis] - 1}"
    return "the index does not fit: lists and masks in it must have shapes that go together"


def key_text(key: tuple[Any, ...]) -> str:
    """An index as it is written between the brackets."""
    return ", ".join(map(_part_text, key))


def _part_text(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        start, stop = ("" if v is None else str(v) for v in (part.start, part.stop))
        return f"{start}:{stop}" + ("" if part.step is None else f":{part.step}")
    if isinstance(part, np.ndarray):
        return str(part.tolist())
    return str(part)


index: Op = operator(
    "index",
    "x",
    settings={"key": Setting(index_key, required=True), "text": Setting(str, "")},
    shape=lambda x, key, text="": _indexed(x, key),
    forward=lambda x, key, text="": np.asanyarray(x)[key],
    vjp=(lambda g, y, x, key, text="": put(g, key=key, shape=shape_of(x)),),
    write=lambda shapes, key, text="": Written(
        "{0}[" + (text or key_text(key)).replace("{", "{{").replace("}", "}}") + "]", POSTFIX, (POSTFIX,)
    ),
    hidden=True,
    doc="Some of the entries; the others receive nothing, an entry taken twice receives both gradients.",
)


def _put_shape(g: Shape, key: tuple[Any, ...], shape: Shape) -> Shape:
    if any(n < 0 for n in shape) or _indexed(shape, key) != g:
        raise ShapeError(f"the index must take entries of {shape_words(g)} from {shape}")
    return shape


def _put(g: Any, key: tuple[Any, ...], shape: Shape) -> Any:
    result = np.zeros(shape, dtype=np.asanyarray(g).dtype)
    if any(isinstance(part, np.ndarray) for part in key):
        np.add.at(result, key, g)  # an index may occur twice: add, do not overwrite
    else:
        result[key] = g
    return result


put: Op = operator(
    "put",
    "g",
    settings={"key": Setting(index_key, required=True), "shape": Setting(lengths, required=True)},
    shape=_put_shape,
    forward=_put,
    vjp=(lambda h, y, g, key, shape: index(h, key=key),),
    write=lambda shapes, key, shape: Written(f"put({{0}}, at=[{key_text(key)}])", ATOM),
    hidden=True,
    doc="Zeros, with g added at an index: what indexing sends back.",
)


def key_repeats(shape: Shape, key: tuple[Any, ...]) -> bool:
    """Whether an index names an entry twice."""
    if not any(isinstance(part, np.ndarray) and part.dtype != bool for part in key):
        return False
    count = np.zeros(shape, np.intp)
    np.add.at(count, key, 1)
    return bool(count.size and count.max() > 1)


def _assigned_shape(x: Shape, part: Shape, key: tuple[Any, ...], text: str = "") -> Shape:
    place = _indexed(x, key)
    if key_repeats(x, key):
        raise ShapeError("the index names an entry twice, and only one of the numbers would stay", {0: shape_words(x)})
    try:
        fits = np.broadcast_shapes(place, part) == place
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            "what is set must fit the place",
            {0: f"the place has {shape_words(place)}", 1: shape_words(part)},
            "shapes are compared from the last axis, and an axis of 1 is repeated",
        )
    return x


def _assigned(x: Any, part: Any, key: tuple[Any, ...], text: str = "") -> Any:
    result = np.array(x, dtype=np.result_type(x, part))
    result[key] = part
    return result


def _assigned_part(g: Any, y: Any, x: Any, part: Any, key: tuple[Any, ...], text: str = "") -> Any:
    from gradcli.ops.reduce import unbroadcast

    taken = index(g, key=key)
    return taken if shape_of(taken) == shape_of(part) else unbroadcast(taken, shape_of(part))


assigned: Op = operator(
    "assigned",
    "x part",
    settings={"key": Setting(index_key, required=True), "text": Setting(str, "")},
    shape=_assigned_shape,
    forward=_assigned,
    vjp=(lambda g, y, x, part, key, text="": assigned(g, 0.0, key=key), _assigned_part),
    write=lambda shapes, key, text="": Written(
        f"assigned({{0}}, {{1}}, at=[{(text or key_text(key)).replace('{', '{{').replace('}', '}}')}])", ATOM
    ),
    hidden=True,
    doc="x with another tensor in place of some entries, as after `x[0] = part`; those entries of x receive nothing.",
)

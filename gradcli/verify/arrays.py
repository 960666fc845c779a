"""Arrays of elements, on which an operator's own forward pass runs as it stands.

NumPy hands every function over to its arguments' class (`__array_ufunc__` and `__array_function__`).  So one table
from NumPy's functions to functions of elements is enough for all operators; what is not in it works on objects anyhow
(indexing, joining, turning), or raises `Unreadable`.  Nothing ever becomes a float on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.verify import algebra
from gradcli.verify.elements import EQUAL, PRIMITIVES, Element, Hit, Unreadable, close, compare, mpmath, number_of


class Elements(np.ndarray[Any, Any]):
    """An array whose entries are elements (or plain numbers)."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_stripped(i) for i in inputs]
        out = options.pop("out", None)
        for name in ("dtype", "casting", "subok", "order"):
            options.pop(name, None)
        if options.get("where", True) is True:
            options.pop("where", None)
        if options.get("initial", 0) is np._NoValue:
            options.pop("initial")
        if ufunc is np.matmul:
            result = _products(*plain)
        elif method == "__call__" and ufunc in COMPARISONS:
            return _compared(ufunc, plain)
        elif ufunc.__name__ in FUNCTIONS:
            result = getattr(FUNCTIONS[ufunc.__name__], method)(*plain, **options)
        else:
            raise Unreadable(f"NumPy's {ufunc.__name__} has no meaning for elements here")
        if out is not None and out[0] is not None:
            out[0][...] = result
            return out[0]
        return _objects(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = TABLE.get(function)
        if known is not None:
            return wrapped(known(*arguments, **options))
        return wrapped(super().__array_function__(function, types, arguments, options))

    def __getitem__(self, key: Any) -> Any:
        return wrapped(super().__getitem__(key))

    def astype(  # type: ignore[override]
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Floats stay what they are: the derivative is that of the exact function.  Whole numbers are cut off."""
        kind = np.dtype(dtype).kind
        if kind in "fO":
            return self.copy() if copy else self
        if kind == "b":
            return _truths(COMPARISONS[np.not_equal](_stripped(self), 0))
        return (
            np.vectorize(_whole, otypes=[np.int64])(_stripped(self)).astype(dtype) if self.size else self._none(dtype)
        )

    def _none(self, dtype: Any) -> Any:
        return np.zeros(self.shape, dtype)

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The largest along axes."""
        return np.maximum.reduce(self, axis=axis, **options)

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The smallest along axes."""
        return np.minimum.reduce(self, axis=axis, **options)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The sum along axes."""
        return np.add.reduce(self, axis=axis, **options)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The product along axes."""
        return np.multiply.reduce(self, axis=axis, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The mean along axes."""
        total: Any = np.add.reduce(self, axis=axis, **options)
        return total / (self.size // max(1, np.size(total))) if np.size(total) else total

    def all(self, axis: Any = None, out: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Whether all entries differ from 0."""
        return np.all(self.astype(bool), axis=axis, **options)

    def any(self, axis: Any = None, out: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Whether an entry differs from 0."""
        return np.any(self.astype(bool), axis=axis, **options)


def _objects(value: Any) -> Any:
    """What a function of elements gave, as elements; truth values as they are."""
    if type(value) is tuple:
        return tuple(map(_objects, value))
    return value if value is None or isinstance(value, (np.bool_, bool)) else array_like(value)


def _stripped(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Elements) else value


class Truths(np.ndarray[Any, Any]):
    """Truth values of which some could not be decided: `doubts` holds, entry by entry, the places compared or None.

    Anything derived from it is a plain array; the notes on the tape stand, unless `where` takes the doubts up.
    """

    doubts: Any = None
    sign: Any = None

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function is np.where:
            return wrapped(_chosen(*arguments))
        return super().__array_function__(function, types, arguments, options)


def _compared(ufunc: Any, operands: Sequence[Any]) -> Any:
    tape = next(
        (e.tape for o in operands for e in np.ravel(np.asarray(o, object)).tolist() if type(e) is Element), None
    )
    before = len(tape.notes) if tape is not None else 0
    found = _truths(COMPARISONS[ufunc](*operands))
    if tape is None or len(tape.notes) == before or len(operands) != 2:
        return found
    notes = tape.notes[before:]
    del tape.notes[before:]
    stretched = np.broadcast_arrays(*[np.asarray(o, object) for o in operands])
    truths = np.asarray(found).view(Truths)
    truths.doubts, truths.sign = np.full(truths.shape, None, object), ufunc
    for at in np.ndindex(*truths.shape):
        compare(*[s[at] for s in stretched])
        truths.doubts[at] = tuple(p for _, places in tape.notes[before:] for p in places) or None
        del tape.notes[before:]
    tape.notes += notes
    return truths


def _truths(found: Any) -> Any:
    return np.asarray(found).astype(bool)[()] if isinstance(found, np.ndarray) else np.bool_(found)


def wrapped(value: Any) -> Any:
    """Objects as an array of elements; everything else as it is."""
    if type(value) is np.ndarray and value.dtype == object:
        return value.view(Elements)
    if type(value) is Element:
        return array_of([value], ())
    if type(value) in (tuple, list):
        return type(value)(wrapped(v) for v in value)
    return value


def array_of(elements: Sequence[Any], shape: tuple[int, ...]) -> Elements:
    """An array of these elements."""
    flat = np.empty(len(elements), object)
    for k, element in enumerate(elements):
        flat[k] = element
    return flat.reshape(shape).view(Elements)


# Functions of elements that SymPy need not be asked about ----------------------------------------------


def _tape_of(*values: Any) -> Any:
    for value in values:
        if type(value) is Element:
            return value.tape
    return None


def extreme(name: str, sign: int) -> Callable[[Any, Any], Any]:
    """The larger or the smaller of two: one of them, or a corner where they are equal."""

    def chosen(a: Any, b: Any) -> Any:
        tape = _tape_of(a, b)
        if tape is None:
            return max(a, b) if sign > 0 else min(a, b)
        tape.step()
        x, y = number_of(a), number_of(b)
        if x != x or y != y:
            return a if x != x else b
        if close(x, y):
            places = tuple(e.place if type(e) is Element else -1 for e in (a, b))
            if places[0] == places[1]:
                return a if type(a) is Element else b
            return tape.hit(x, Hit(f"a tie of {name}", gentle=True, sides=(name, places)), places)
        kept = a if (x > y) == (sign > 0) else b
        if type(kept) is Element:
            return kept
        return Element(number_of(kept), -1, tape)

    return chosen


def _stepwise(round_: Callable[[Any], Any], name: str, *, half: bool = False) -> Callable[[Any], Any]:
    """A function that is flat between jumps, which are at whole numbers (or halves)."""

    def stepped(x: Any) -> Any:
        if type(x) is not Element:
            return round_(number_of(x))
        mp = mpmath()
        x.tape.step()
        if not mp.isfinite(x.number) or abs(x.number) > 2**300:
            return Element(x.number, -1, x.tape)
        y = round_(x.number)
        edge = x.number * 2 if half else x.number
        near = mp.nint(edge)
        if close(edge, near) and (not half or int(near) % 2):
            return x.tape.hit(y, Hit(f"{name} jumps here"), [x.place])
        return Element(y, -1, x.tape)

    return stepped


def _trunc(x: Any) -> Any:
    mp = mpmath()
    return mp.floor(x) if x >= 0 else mp.ceil(x)


_floor = _stepwise(lambda x: mpmath().floor(x), "floor")
_truncated = _stepwise(_trunc, "trunc")


def _remainder(quotient: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: a - quotient(a / b) * b


def _sign(x: Any) -> Any:
    if type(x) is not Element:
        return (x > 0) - (x < 0)
    s = 0 if x.number == 0 else 1 if x.number > 0 else -1
    x.tape.step()
    value = mpmath().mpf(s)
    return x.tape.hit(value, Hit("sign jumps here"), [x.place]) if s == 0 else Element(value, -1, x.tape)


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else _larger(x, low)
    return x if high is None else _smaller(x, high)


def _whole(x: Any) -> int:
    if type(x) is not Element:
        return int(x)
    if not mpmath().isfinite(x.number):
        raise Unreadable("a number that is not finite is made a whole number")
    y = _trunc(x.number)
    if close(x.number, y):
        x.tape.note(EQUAL, x)
    return int(y)


def _predicate(name: str) -> Callable[[Any], bool]:
    def holds(x: Any) -> bool:
        mp = mpmath()
        number = number_of(x)
        return bool({"isnan": mp.isnan, "isinf": mp.isinf, "isfinite": mp.isfinite}[name](number))

    return holds


_larger, _smaller = extreme("max", 1), extreme("min", -1)


def _binary_exponent(x: Any) -> tuple[Any, int]:
    """As `math.frexp`; the exponent is but a scale, by which operators divide and multiply again."""
    _, m, e, n = number_of(x)._mpf_
    power = e + n if m else 0
    return x * mpmath().ldexp(1, -power) if power else x, power


def _scaled(x: Any, power: Any) -> Any:
    return x * mpmath().ldexp(1, int(power))


def _elementwise(name: str, count: int) -> Any:
    kind = PRIMITIVES[name]

    def applied(*arguments: Any) -> Any:
        arguments = tuple(a.item() if isinstance(a, np.ndarray) else a for a in arguments)
        if _tape_of(*arguments) is None:
            # plain numbers in an array of elements: constants of the operator, such as zeros
            return getattr(np, name)(*map(float, arguments))
        return kind(*arguments)

    identity = {"add": 0, "multiply": 1}.get(name)
    return np.frompyfunc(applied, count, 1, identity=identity)


FUNCTIONS: dict[str, Any] = {
    **{name: _elementwise(name, kind.count) for name, kind in PRIMITIVES.items() if name != "true_divide"},
    "maximum": np.frompyfunc(_larger, 2, 1, identity=None),
    "minimum": np.frompyfunc(_smaller, 2, 1, identity=None),
    "fmax": np.frompyfunc(_larger, 2, 1, identity=None),
    "fmin": np.frompyfunc(_smaller, 2, 1, identity=None),
    "clip": np.frompyfunc(_clip, 3, 1),
    "positive": np.frompyfunc(lambda x: x, 1, 1),
    "sign": np.frompyfunc(_sign, 1, 1),
    "floor": np.frompyfunc(_floor, 1, 1),
    "ceil": np.frompyfunc(_stepwise(lambda x: mpmath().ceil(x), "ceil"), 1, 1),
    "trunc": np.frompyfunc(_truncated, 1, 1),
    "rint": np.frompyfunc(_stepwise(lambda x: mpmath().nint(x), "round", half=True), 1, 1),
    "floor_divide": np.frompyfunc(lambda a, b: _floor(a / b), 2, 1),
    "remainder": np.frompyfunc(_remainder(_floor), 2, 1),
    "fmod": np.frompyfunc(_remainder(_truncated), 2, 1),
    "frexp": np.frompyfunc(_binary_exponent, 1, 2),
    "ldexp": np.frompyfunc(_scaled, 2, 1),
}
FUNCTIONS["divide"] = FUNCTIONS["true_divide"] = _elementwise("divide", 2)
"""NumPy's functions of numbers, by name."""

COMPARISONS: dict[Any, Any] = {
    np.less: np.frompyfunc(lambda a, b: compare(a, b) == -1, 2, 1),
    np.greater: np.frompyfunc(lambda a, b: compare(a, b) == 1, 2, 1),
    np.less_equal: np.frompyfunc(lambda a, b: compare(a, b) in (-1, 0), 2, 1),
    np.greater_equal: np.frompyfunc(lambda a, b: compare(a, b) in (0, 1), 2, 1),
    np.equal: np.frompyfunc(lambda a, b: compare(a, b) == 0, 2, 1),
    np.not_equal: np.frompyfunc(lambda a, b: compare(a, b) != 0, 2, 1),
    np.isnan: np.frompyfunc(_predicate("isnan"), 1, 1),
    np.isinf: np.frompyfunc(_predicate("isinf"), 1, 1),
    np.isfinite: np.frompyfunc(_predicate("isfinite"), 1, 1),
    np.logical_not: np.frompyfunc(lambda x: not x, 1, 1),
    np.logical_and: np.frompyfunc(lambda a, b: bool(a) and bool(b), 2, 1),
    np.logical_or: np.frompyfunc(lambda a, b: bool(a) or bool(b), 2, 1),
    np.logical_xor: np.frompyfunc(lambda a, b: bool(a) != bool(b), 2, 1),
}
"""Those whose results are truth values."""


# Matrices ------------------------------------------------------------------------------------------


def _products(a: Any, b: Any) -> Any:
    a, b = np.asarray(a, object), np.asarray(b, object)
    for e in (a, b):
        if e.size and (tape := _tape_of(e.flat[0])) is not None:
            tape.room(a.size * (b.shape[-1] if b.ndim > 1 else 1))
            break
    return np.matmul(a, b)


def _by_matrix(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices, for stacks of them; where it has no value, it cannot be read either."""

    def stacked(*stacks: Any) -> Any:
        try:
            return algebra.stacked(lambda *matrices: compute(*matrices, number_of))(*stacks)
        except np.linalg.LinAlgError as error:
            raise Unreadable(f"a matrix is {error}") from None

    return stacked


def _determinant(a: Any, number: algebra.Number) -> Any:
    return _minors(a) if len(a) < 5 else algebra.determinant(a, number)


def _minors(a: Any) -> Any:
    """Leibniz' sum over permutations, which singular matrices have too."""
    total: Any = 0
    for order in itertools.permutations(range(len(a))):
        swaps = sum(order[i] > order[k] for i in range(len(a)) for k in range(i + 1, len(a)))
        term: Any = 1
        for i, k in enumerate(order):
            term = a[i, k] * term
        total = term + total if swaps % 2 == 0 else -term + total
    return total if len(a) else 1


def array_like(value: Any) -> Any:
    """An object, or an array of objects, as elements."""
    if isinstance(value, np.ndarray):
        return (
            value
            if value.dtype == bool
            else value.view(Elements)
            if value.dtype == object
            else value.astype(object).view(Elements)
        )
    return array_of([value], ())


def _chosen(condition: Any, *branches: Any) -> Any:
    if isinstance(condition, Elements):
        condition = condition.astype(bool)
    plain = [np.asarray(_stripped(b), object) for b in branches]
    found = np.where(np.asarray(condition), *plain)
    if isinstance(condition, Truths) and condition.doubts is not None and len(plain) == 2:
        _settled(condition, plain, found)
    return found


def _settled(condition: Truths, branches: Sequence[Any], found: Any) -> None:
    """Puts in for every entry whose condition is in doubt what holds beside it, or a hit.

    `where(t == 0, 0, t * log(p))` is how a forward pass keeps 0 * inf away.  If t itself is free to move and both
    branches have one value, the other branch is in force everywhere around, and its slopes are those of the whole.
    """
    doubts, a, b = (np.broadcast_to(x, found.shape) for x in (condition.doubts, *branches))
    truths = np.broadcast_to(np.asarray(condition), found.shape)
    equality = condition.sign in (np.equal, np.not_equal)
    settled, standing = set(), set()
    for at in np.ndindex(*found.shape):
        places = doubts[at]
        if places is None:
            continue
        tape = _tape_of(found[at], a[at], b[at])
        if tape is None:
            standing.add(places)  # both branches are constants of the operator: the note stands
            continue
        settled.add(places)
        here: Any
        here, beside = (a[at], b[at]) if truths[at] else (b[at], a[at])
        if equality and close(number_of(a[at]), number_of(b[at])) and len(places) == 1 and tape.free(places[0]):
            found[at] = beside
        else:
            own = [e.place for e in (here, beside) if isinstance(e, Element)]
            found[at] = tape.hit(number_of(here), Hit(EQUAL), [*places, *own])
    if settled:
        tape.notes[:] = [note for note in tape.notes if note[1] not in settled - standing]


def _ordered(x: Any, axis: int, *, places: bool) -> Any:
    """A stable sort along an axis; equal entries are noted."""
    row = np.moveaxis(_stripped(x), axis, -1)
    order = np.empty(row.shape, np.intp)
    for at in np.ndindex(*row.shape[:-1]):
        entries = row[at]
        numbers = [number_of(e) for e in entries]
        if any(n != n for n in numbers):
            raise Unreadable("there is a nan among numbers that are sorted")
        order[at] = ranks = sorted(range(len(numbers)), key=numbers.__getitem__)
        for a, b in itertools.pairwise(ranks):
            compare(entries[a], entries[b])
    if places:
        return np.moveaxis(order, -1, axis)
    return np.moveaxis(np.take_along_axis(row, order, -1), -1, axis)


def _argsort(a: Any, axis: int = -1, **_: Any) -> Any:
    return _ordered(a, axis, places=True)


def _sort(a: Any, axis: int = -1, **_: Any) -> Any:
    return _ordered(a, axis, places=False)


def _best(last: int) -> Callable[..., Any]:
    def place(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        flat = a.reshape(-1) if axis is None else a
        sign = 1 if last else -1
        row = np.moveaxis(_stripped(flat), -1 if axis is None else axis, -1)
        found = np.empty(row.shape[:-1], np.intp)
        for at in np.ndindex(*row.shape[:-1]):
            best = 0
            for k in range(1, row.shape[-1]):
                if compare(row[at][k], row[at][best]) == sign:
                    best = k
            found[at] = best
        if keepdims:
            return np.expand_dims(found, axis) if axis is not None else found.reshape((1,) * a.ndim)
        return found[()]

    return place


TABLE: dict[Any, Callable[..., Any]] = {
    np.where: _chosen,
    np.einsum: algebra.einsum,
    np.round: algebra.rounded,
    np.around: algebra.rounded,
    np.sort: _sort,
    np.argsort: _argsort,
    np.argmax: _best(1),
    np.argmin: _best(0),
    np.median: algebra.median,
    np.linalg.inv: _by_matrix(algebra.inverse),
    np.linalg.det: _by_matrix(_determinant),
    np.linalg.solve: partial(algebra.solve, solutions=_by_matrix(algebra.solution)),
    np.linalg.slogdet: algebra.sign_and_log,
    np.linalg.cholesky: _by_matrix(partial(algebra.cholesky, sqrt=PRIMITIVES["sqrt"])),
    np.linalg.pinv: algebra.pseudo_inverse,
    np.linalg.matrix_power: algebra.matrix_power,
}
"""NumPy's functions of arrays that have no meaning for objects, or one that would hide a dependence."""

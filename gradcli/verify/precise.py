"""NumPy over numbers of as many digits as are wanted.

`numbers(digits)` gives an arithmetic whose numbers are mpmath's, kept in arrays of objects.  Such an array answers
NumPy's own functions, so the forward pass of an operator and its rule run on it as they are written.  Where NumPy has
no loop over objects, the tables below say what its function means; they name functions of NumPy, not operators.

Nothing falls back to floats unseen: a number that is asked to become a float raises `PrecisionLost`.  The real line
is all there is: a root of a negative number is NaN.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import mpmath
import numpy as np
from mpmath.libmp import from_float, from_int, to_float

from gradcli.verify import algebra

LARGEST_EXPONENT = 2**64
"""exp of more than this is inf (and of less than minus this 0): its digits would fill the memory."""
LARGEST_ANGLE = 2**1100
"""The sine of more than this is NaN: the angle's place on the circle would take as many digits to find."""

LARGEST_WHOLE = 10**35
"""The floor of more than this, at many digits, is NaN too: steps small beside the number leap over whole ones."""


class PrecisionLost(TypeError):
    """A computation asked for a float on its way: what comes out would not be what is meant."""


class Precise(np.ndarray):
    """An array of objects that are numbers of one arithmetic.  See the module's text."""

    arithmetic: Arithmetic

    def __array_finalize__(self, other: Any) -> None:
        """Views and copies are of the same arithmetic."""
        if other is not None and hasattr(other, "arithmetic"):
            self.arithmetic = other.arithmetic

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """These numbers; as truth values or whole numbers, where that is asked for."""
        return _cast(self, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """A function of NumPy on arrays of numbers."""
        return self.arithmetic.apply(ufunc, method, inputs, settings)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """A function of NumPy that is more than a loop over entries."""
        known = _FUNCTIONS.get(func)
        if known is not None:
            return known(self.arithmetic, *args, **kwargs)
        return self.arithmetic.seen(super().__array_function__(func, types, args, kwargs))


class Arithmetic:
    """Numbers of a fixed number of digits, and what NumPy's functions mean on them."""

    def __init__(self, digits: int, bits: int = 0) -> None:
        self.digits = digits
        self.context = mpmath.MPContext()
        if bits:
            self.context.prec = bits
        else:
            self.context.dps = digits
        self.number = self.context.mpf
        number = self.number
        number.arithmetic = self
        number.__array_ufunc__ = lambda x, ufunc, method, *inputs, **settings: self.apply(
            ufunc, method, inputs, settings
        )
        number.__array_function__ = lambda x, func, types, args, kwargs: func(*_wrapped(self, args), **kwargs)
        number.__float__ = _lost
        number.dtype = np.dtype(object)
        number.shape = ()
        number.ndim = 0
        number.__getitem__ = lambda x, key: x if key == () else self.view(_held(x)[key])
        number.astype = lambda x, dtype, **_: _cast(x, dtype)
        for sign, function in (("pow", self.power), ("truediv", self.divide)):
            setattr(number, f"__{sign}__", _between(function))
            setattr(number, f"__r{sign}__", _between(_turned(function)))
        for name, entrywise in _ENTRYWISE.items():
            if name not in _ARITY:  # what a loop of NumPy over objects asks its objects to do
                setattr(number, name, lambda x, f=entrywise: f(self, x))
        number.atan = lambda x: self.context.atan(x)
        number.erf = lambda x: self.context.erf(x)
        number.erfc = lambda x: self.context.erfc(x)
        self.one = number(1)
        self.nan = number("nan")
        self._loops: dict[str, Any] = {}
        self._direct: dict[str, Any] = {}

    # Numbers --------------------------------------------------------------------------------------

    def of(self, value: Any) -> Any:
        """A number exactly as it is."""
        if type(value) is self.number:
            return value
        if type(value) is float:
            return self.context.make_mpf(from_float(value))
        if isinstance(value, (bool, int)):
            return self.context.make_mpf(from_int(int(value)))
        if isinstance(value, np.generic):
            return self.of(value.item())
        return +self.number(value)

    def array(self, value: Any) -> Any:
        """A float or an array of floats, exactly as it is; whole numbers and truth values stay what they are."""
        if isinstance(value, Precise) or type(value) is self.number:
            return value
        array = np.asarray(value)
        if array.dtype.kind not in "fO":
            return value
        wide = array if array.dtype == object else array.astype(np.float64)
        made = np.empty(array.shape, dtype=object)
        made.ravel()[:] = [self.of(v) for v in wide.ravel().tolist()]
        return self.view(made)

    def view(self, array: Any) -> Any:
        """An array of objects as one of this arithmetic; one number by itself as that number."""
        if array.shape == ():
            return self.of(array[()])
        seen = array.view(Precise)
        seen.arithmetic = self
        return seen

    def seen(self, result: Any) -> Any:
        """What a function of NumPy gave, with arrays of objects as ours and numbers as ours."""
        if isinstance(result, np.ndarray):
            if result.dtype != object or (isinstance(result, Precise) and result.shape):
                return result
            return self.view(result)
        if isinstance(result, (list, tuple)):
            return type(result)(map(self.seen, result))
        return result

    def floats(self, value: Any) -> Any:
        """The nearest floats."""
        if type(value) is self.number:
            return _nearest(value)
        array = np.asarray(value)
        if array.dtype != object:
            return value
        made = np.array([_nearest(v) for v in array.ravel().tolist()], dtype=np.float64).reshape(array.shape)
        return made if made.shape else float(made)

    # NumPy's functions ------------------------------------------------------------------------------

    def apply(self, ufunc: Any, method: str, inputs: Sequence[Any], settings: dict[str, Any]) -> Any:
        """A ufunc of NumPy (or one of its methods: a reduction, an accumulation) on numbers."""
        out = settings.pop("out", None)
        settings.pop("casting", None)
        settings.pop("subok", None)
        settings.pop("dtype", None)
        if method == "at":
            return ufunc.at(inputs[0].view(np.ndarray), inputs[1], *[_plain(v) for v in inputs[2:]])
        plain = [_plain(v) for v in inputs]
        loop = self.loop(ufunc.__name__)
        if loop is not None and method == "__call__":
            where = settings.pop("where", True)
            assert where is True, "no function of NumPy is called with a mask"
            result = loop(*plain)
            if ufunc.__name__ in _PREDICATES:
                result = np.asarray(result, dtype=bool)[()]
        elif loop is not None and ufunc.__name__ not in _REORDERED:
            result = getattr(loop, method)(*plain, **settings)
        else:
            result = getattr(ufunc, method)(*plain, **settings)
        result = self.of(result) if type(result) in (int, float) else self.seen(result)
        if out is not None:
            out[0][...] = result
            return out[0]
        return result

    def loop(self, name: str) -> Any:
        """What a function of NumPy does to entries, as a loop over arrays; None where its own loop will do."""
        found = self._loops.get(name)
        if found is None and (name in _ENTRYWISE or name in _PREDICATES):
            function = _ENTRYWISE.get(name) or _PREDICATES[name]
            found = self._loops[name] = np.frompyfunc(self._bound(function), _ARITY.get(name, 1), _RESULTS.get(name, 1))
        return found

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        of = self.of
        return lambda *xs: function(self, *[of(x) for x in xs])

    def direct(self, ufunc: Any) -> Any:
        """What a ufunc does to numbers, without NumPy's cost of a call; None where its own loop decides."""
        found = self._direct.get(ufunc.__name__)
        if found is None:
            name = ufunc.__name__
            function = _ENTRYWISE.get(name)
            found = _PLAIN_SIGNS.get(name) if function is None else self._bound(function)
            self._direct[name] = found or False
        return found or None

    def entrywise(self, function: Callable[..., Any], *values: Any) -> Any:
        """A function of numbers, of arrays that are stretched to one shape."""
        looped = np.frompyfunc(self._bound(function), len(values), 1)(*[_plain(v) for v in values])
        return self.view(looped) if isinstance(looped, np.ndarray) else looped

    # Functions of numbers -----------------------------------------------------------------------------

    def divide(self, a: Any, b: Any) -> Any:
        """a / b as NumPy has it: inf or NaN where b is 0."""
        a, b = self.of(a), self.of(b)
        if b == 0:
            return self.nan if a == 0 or a != a else a * self.number("inf")
        return self.context.fdiv(a, b)

    def power(self, a: Any, b: Any) -> Any:
        """a ** b on the real line."""
        a, b = self.of(a), self.of(b)
        if b == 0:
            return self.one
        if a != a or b != b:
            return self.nan
        if a == 0:
            return self.number("inf") if b < 0 else a if b == int(b) % 2 == 1 else self.number(0)
        context = self.context
        if context.isint(b) and abs(b) < LARGEST_EXPONENT:
            return context.make_mpf(mpmath.libmp.mpf_pow_int(a._mpf_, int(b), *context._prec_rounding))
        if a < 0:
            return self.nan
        if context.isinf(a) or context.isinf(b):
            return self.exp(b * context.log(a)) if a != 1 else self.one
        return self.exp(b * context.log(a))

    def exp(self, x: Any) -> Any:
        """The exponential, 0 or inf where it would not fit."""
        if x != x:
            return x
        if abs(x) > LARGEST_EXPONENT:
            return self.number("inf") if x > 0 else self.number(0)
        return self.context.exp(x)

    def log(self, x: Any, base: Any = None) -> Any:
        """The logarithm on the real line."""
        if base is not None:
            return self.log(self.of(x)) / self.log(self.of(base))
        x = self.of(x)
        if x != x or x < 0:
            return self.nan
        return self.context.log(x) if x else self.number("-inf")

    def angular(self, function: str, x: Any) -> Any:
        """A function of an angle, NaN where the angle is too large to find its place on the circle."""
        if x != x or abs(x) > LARGEST_ANGLE:
            return self.nan
        return getattr(self.context, function)(x)

    def within(self, function: str, x: Any, low: float, high: float) -> Any:
        """A function that is real between two numbers, NaN beyond."""
        return getattr(self.context, function)(x) if low <= x <= high else self.nan

    def rounded(self, function: str, x: Any) -> Any:
        """A function that jumps between whole numbers; in the few digits of floats, every large number is whole."""
        if x != x or self.context.isinf(x):
            return x
        if abs(x) > min(LARGEST_WHOLE, 10**self.digits):
            return self.nan if self.digits > 35 else x
        return getattr(self.context, function)(x)


@lru_cache(maxsize=16)
def bits(count: int) -> Arithmetic:
    """The arithmetic of numbers of so many bits: that of floats, but for their limits of size."""
    return Arithmetic(count * 3 // 10, count)


@lru_cache(maxsize=16)
def numbers(digits: int) -> Arithmetic:
    """The arithmetic of so many digits."""
    return Arithmetic(digits)


def _between(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator between numbers, which leaves arrays to NumPy."""
    return lambda a, b: NotImplemented if isinstance(b, np.ndarray) else function(a, b)


def _turned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda b, a: function(a, b)


def _lost(x: Any) -> float:
    raise PrecisionLost("a number of many digits was asked to be a float")


def _nearest(x: Any) -> float:
    if hasattr(x, "_mpf_"):
        return float(to_float(x._mpf_, strict=False, rnd="n"))
    return float(x)


def _plain(value: Any) -> Any:
    """What a loop over objects may be given: no views of ours (they would call us again), no numbers of NumPy's own
    (they would round)."""
    if isinstance(value, Precise):
        return value.view(np.ndarray)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype != object and value.dtype != bool:
        return value.astype(object)
    if hasattr(value, "_mpf_"):
        return _held(value)
    return value


def _held(number: Any) -> Any:
    """One number as an array without axes."""
    held = np.empty((), dtype=object)
    held[()] = number
    return held


def _cast(x: Any, dtype: Any) -> Any:
    """A rounding to another float is no part of the function; truth values and whole numbers are."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(np.not_equal(x, 0), dtype=bool)[()]
    if kind in "iu":
        return np.asarray(np.vectorize(int, otypes=[object])(_plain(np.trunc(x)))).astype(np.int64)[()]
    return x


def _wrapped(arithmetic: Arithmetic, value: Any) -> Any:
    """Numbers in the arguments of a function of NumPy as arrays, which know what to do."""
    if type(value) is arithmetic.number:
        seen = _held(value).view(Precise)
        seen.arithmetic = arithmetic
        return seen
    if isinstance(value, (list, tuple)):
        return type(value)(_wrapped(arithmetic, v) for v in value)
    return value


# What NumPy's functions of entries mean -------------------------------------------------------------


def _sign(m: Arithmetic, x: Any) -> Any:
    return x if x != x else m.of((x > 0) - (x < 0))


def _log1p(m: Arithmetic, x: Any) -> Any:
    """Twice the digits for a moment, so that none of a small x are lost."""
    if x != x or x <= -1:
        return m.log(1 + x)
    return m.context.log1p(x) if not m.context.isinf(x) else x


def _expm1(m: Arithmetic, x: Any) -> Any:
    return m.context.expm1(x) if x == x and abs(x) < LARGEST_EXPONENT else m.exp(x) - 1


def _logaddexp(m: Arithmetic, a: Any, b: Any) -> Any:
    high, low = (a, b) if a >= b else (b, a)
    if high == low and m.context.isinf(high):
        return high
    return high + _log1p(m, m.exp(low - high))


def _fmod(m: Arithmetic, a: Any, b: Any) -> Any:
    """What is left of a once b is taken from it as often as it goes, with the sign of a."""
    if b == 0 or m.context.isinf(a) or a != a or b != b:
        return m.nan
    if m.digits > 35 and not m.context.isinf(b) and abs(a) > LARGEST_WHOLE * abs(b):
        return m.nan
    left = m.context.fmod(abs(a), abs(b)) if not m.context.isinf(b) else abs(a)
    return -left if a < 0 else left


def _floor_mod(m: Arithmetic, a: Any, b: Any) -> Any:
    left = _fmod(m, a, b)
    return left + b if left != 0 and (left < 0) != (b < 0) else left


def _round(m: Arithmetic, x: Any) -> Any:
    return m.rounded("nint", x)


def _trunc(m: Arithmetic, x: Any) -> Any:
    return m.rounded("floor", x) if x >= 0 else m.rounded("ceil", x)


def _cbrt(m: Arithmetic, x: Any) -> Any:
    return m.context.cbrt(x) if x >= 0 else -m.context.cbrt(-x)


def _sqrt(m: Arithmetic, x: Any) -> Any:
    return m.context.sqrt(x) if x >= 0 else m.nan


def _tanh(m: Arithmetic, x: Any) -> Any:
    return m.context.tanh(x) if abs(x) < LARGEST_EXPONENT else _sign(m, x)


def _larger(m: Arithmetic, a: Any, b: Any) -> Any:
    return a if a != a or a >= b else b


def _smaller(m: Arithmetic, a: Any, b: Any) -> Any:
    return a if a != a or a <= b else b


_ENTRYWISE: dict[str, Callable[..., Any]] = {
    "divide": Arithmetic.divide,
    "true_divide": Arithmetic.divide,
    "power": Arithmetic.power,
    "float_power": Arithmetic.power,
    "maximum": _larger,
    "minimum": _smaller,
    "reciprocal": lambda m, x: m.divide(1, x),
    "exp": Arithmetic.exp,
    "exp2": lambda m, x: m.power(2, x),
    "expm1": _expm1,
    "log": Arithmetic.log,
    "log2": lambda m, x: m.log(x, 2),
    "log10": lambda m, x: m.log(x, 10),
    "log1p": _log1p,
    "logaddexp": _logaddexp,
    "sqrt": _sqrt,
    "cbrt": _cbrt,
    "sin": lambda m, x: m.angular("sin", x),
    "cos": lambda m, x: m.angular("cos", x),
    "tan": lambda m, x: m.angular("tan", x),
    "sinh": lambda m, x: (m.exp(x) - m.exp(-x)) / 2 if abs(x) > 1 else m.context.sinh(x),
    "cosh": lambda m, x: (m.exp(x) + m.exp(-x)) / 2,
    "tanh": _tanh,
    "arcsin": lambda m, x: m.within("asin", x, -1, 1),
    "arccos": lambda m, x: m.within("acos", x, -1, 1),
    "arctan": lambda m, x: m.context.atan(x),
    "arctan2": lambda m, a, b: m.context.atan2(a, b),
    "arcsinh": lambda m, x: m.context.asinh(x),
    "arccosh": lambda m, x: m.within("acosh", x, 1, float("inf")),
    "arctanh": lambda m, x: m.within("atanh", x, -1, 1) if abs(x) != 1 else x * m.number("inf"),
    "hypot": lambda m, a, b: _sqrt(m, a * a + b * b),
    "floor": lambda m, x: m.rounded("floor", x),
    "ceil": lambda m, x: m.rounded("ceil", x),
    "trunc": _trunc,
    "rint": _round,
    "sign": _sign,
    "fmod": _fmod,
    "remainder": _floor_mod,
    "floor_divide": lambda m, a, b: m.rounded("floor", (a - _floor_mod(m, a, b)) / b + m.divide(1, 2)),
    "ldexp": lambda m, x, n: x * m.power(2, n),
    "frexp": lambda m, x: m.context.frexp(x) if m.context.isfinite(x) else (x, 0),
}
"""By the name of a function of NumPy, what it does to numbers."""

_RESULTS = {"frexp": 2}

_REORDERED = frozenset({"maximum", "minimum"})
"""Reductions over several axes at once are NumPy's own."""

_PLAIN_SIGNS = {"add": python.add, "subtract": python.sub, "multiply": python.mul, "negative": python.neg}

_PREDICATES: dict[str, Callable[..., Any]] = {
    "isnan": lambda m, x: bool(x != x),
    "isfinite": lambda m, x: bool(m.context.isfinite(x)),
    "isinf": lambda m, x: bool(m.context.isinf(x)),
    "signbit": lambda m, x: bool(x < 0),
}

_ARITY = dict.fromkeys(
    (
        *("divide", "true_divide", "power", "float_power", "maximum", "minimum", "logaddexp", "arctan2", "hypot"),
        *("fmod", "remainder", "floor_divide", "ldexp"),
    ),
    2,
)


# What NumPy's other functions mean ------------------------------------------------------------------


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, *arguments, **settings: m.array(function(*arguments, **settings))


def _by_matrix(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices, for stacks of them; all entries are ours first, so that no two floats are divided."""
    stacked = algebra.stacked(lambda *matrices: compute(*matrices, lambda x: x))
    return lambda m, *stacks: m.array(stacked(*[m.array(np.asarray(s, object)) for s in stacks]))


def _determinant(a: Any, number: algebra.Number) -> Any:
    try:
        return algebra.determinant(a, number)
    except np.linalg.LinAlgError:
        return 0


_solutions = _by_matrix(algebra.solution)


def _svd(m: Arithmetic, a: Any, full_matrices: bool = True, **_: Any) -> Any:
    """U, s and V of a = U diag(s) V, square matrices only."""
    stack, size = a.shape[:-2], a.shape[-1]
    parts = [np.empty((*stack, size, size), object), np.empty((*stack, size), object), np.empty(a.shape, object)]
    for at in np.ndindex(*stack):
        u, s, v = m.context.svd_r(m.context.matrix(_object(a)[at].tolist()))
        for part, found in zip(parts, (u, s, v), strict=True):
            part[at] = np.array(found.tolist(), dtype=object).reshape(part[at].shape)
    return tuple(map(m.view, parts))


def _mean(m: Arithmetic, x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    summed = np.sum(x, axis=axis, keepdims=keepdims)
    count = np.size(x) // max(1, np.size(summed))
    return summed / count


def _clip(m: Arithmetic, x: Any, low: Any = None, high: Any = None, **_: Any) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _filled(m: Arithmetic, x: Any, value: Any, shape: Any = None) -> Any:
    filled = np.empty(np.shape(x) if shape is None else shape, dtype=object)
    filled[...] = _plain(value) if isinstance(value, np.ndarray) else m.of(value)
    return m.view(filled)


def _any(m: Arithmetic, x: Any, *arguments: Any, **settings: Any) -> Any:
    return np.any(_cast(x, bool), *arguments, **settings)


def _all(m: Arithmetic, x: Any, *arguments: Any, **settings: Any) -> Any:
    return np.all(_cast(x, bool), *arguments, **settings)


def _object(array: Any) -> Any:
    return _plain(array) if array.dtype != bool else array.astype(object)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.mean: _mean,
    np.median: _shared(algebra.median),
    np.round: _shared(algebra.rounded),
    np.clip: _clip,
    np.einsum: _shared(algebra.einsum),
    np.zeros_like: lambda m, x, dtype=None, shape=None, **_: _filled(m, x, 0, shape),
    np.ones_like: lambda m, x, dtype=None, shape=None, **_: _filled(m, x, 1, shape),
    np.full_like: lambda m, x, value, dtype=None, shape=None, **_: _filled(m, x, value, shape),
    np.any: _any,
    np.all: _all,
    np.linalg.inv: _by_matrix(algebra.inverse),
    np.linalg.det: _by_matrix(_determinant),
    np.linalg.solve: lambda m, a, b: m.array(algebra.solve(a, b, partial(_solutions, m))),
    np.linalg.slogdet: lambda m, a: algebra.sign_and_log(a),
    np.linalg.cholesky: _by_matrix(partial(algebra.cholesky, sqrt=lambda x: x.sqrt())),
    np.linalg.svd: _svd,
    np.linalg.pinv: _shared(algebra.pseudo_inverse),
    np.linalg.matrix_power: _shared(algebra.matrix_power),
}
"""Functions of NumPy that are more than a loop over entries and would ask for floats."""

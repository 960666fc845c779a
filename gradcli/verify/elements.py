"""Numbers that remember how they were made: the elements from which SymPy's reading of a graph is put together.

An `Element` is a number of 400 bits and a place on a `Tape`.  Arithmetic on elements writes down, place by place,
which function was applied to which places; what its slopes are is asked of SymPy, once for every kind of function,
and chained in numbers.  No rule of differentiation of the tool is looked at.

Where a function has branches (abs, max, a comparison) the numbers decide.  Where they cannot, because the number
stands on the corner or the jump itself, the place is a *hit*: it has no slope, and whatever depends on it is abstained
from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

PRECISION = 400
"""Bits of every number."""
NOISE = 360
"""A sum that is smaller than its terms by so many bits is 0: what is left of them is rounding."""
DEEP, DEEPER = -150, 4200
"""A slope of less than 2 ** DEEP may be the rest of a cancellation, and is computed again with so many bits."""
RANGE = 1 << 14
"""Numbers of more binary places than this are not put into exp or sin: they may take for ever."""


TOO_LONG = "it would take too long"
EQUAL = "a choice changes just here"


class Unreadable(Exception):
    """The forward pass asks for something that elements cannot do; the text says what, without a full stop."""


class Exhausted(Exception):
    """There were too many operations, or there was too little time; the text says which."""


class Hit:
    """A place without a slope: a corner, a jump, the edge of a domain, an operation that could not be read.

    A `gentle` one moves no faster than its operands do (a corner), so that a factor of 0 makes it harmless.
    A corner may have `sides`: "max", "min" or "abs", and the places (-1 for numbers) between which it is one.
    """

    __slots__ = ("gentle", "reason", "sides")

    def __init__(self, reason: str, *, gentle: bool = False, sides: tuple[str, tuple[int, ...]] | None = None) -> None:
        self.reason = reason
        self.gentle = gentle
        self.sides = sides


class Tape:
    """What was computed, in order.  `limit` bounds the number of operations, `deadline` (of `time.monotonic`) the time.

    `notes` collects the hits of comparisons, whose results are plain truth values: `(reason, places)`.
    """

    def __init__(self, limit: int, deadline: float) -> None:
        self.how: list[Any] = []
        """By place: a Smooth function, a Hit, or None for a leaf."""
        self.numbers: list[tuple[Any, ...]] = []
        self.operands: list[tuple[int, ...]] = []
        self.notes: list[tuple[str, tuple[int, ...]]] = []
        self.limit = limit
        self.deadline = deadline
        self.count = 0
        self.branched: set[int] = set()
        """The places at which a branch was chosen."""

    def add(self, how: Any, numbers: tuple[Any, ...], operands: tuple[int, ...]) -> int:
        """A new place."""
        self.how.append(how)
        self.numbers.append(numbers)
        self.operands.append(operands)
        return len(self.how) - 1

    def leaf(self, number: Any) -> Element:
        """An element that depends on nothing and that one may differentiate by."""
        return Element(number, self.add(None, (), ()), self)

    def copy(self, element: Element) -> Element:
        """The same number at a place of its own."""
        if element.place < 0:
            return self.leaf(element.number)
        return Element(element.number, self.add(_identity(), (element.number,), (element.place,)), self)

    def hit(self, number: Any, hit: Hit, places: Sequence[int]) -> Element:
        """A number without a slope, that depends on these places."""
        moving = tuple(dict.fromkeys(p for p in places if p >= 0))
        return Element(number, self.add(hit, (), moving) if moving else -1, self)

    def step(self, operations: int = 1) -> None:
        """Counts operations.  Raises Exhausted."""
        self.count += operations
        if self.count > self.limit:
            raise Exhausted(f"more than {self.limit:,} element operations")
        if self.count & 255 < operations and time.monotonic() > self.deadline:
            raise Exhausted(TOO_LONG)

    def room(self, operations: int) -> None:
        """Raises Exhausted if there is no room for so many operations more, before they are begun."""
        if self.count + operations > self.limit:
            raise Exhausted(f"more than {self.limit:,} element operations")

    def note(self, reason: str, *elements: Any) -> None:
        """Notes that a choice between elements cannot be made."""
        places = tuple(e.place for e in elements if type(e) is Element and e.place >= 0)
        if places:
            self.notes.append((reason, places))

    def free(self, place: int) -> bool:
        """Whether a place moves with one leaf, and no other way: by functions of one operand whose slope is not 0."""
        while self.how[place] is not None:
            how, moving = self.how[place], [k for k, p in enumerate(self.operands[place]) if p >= 0]
            if type(how) is Hit or len(moving) != 1:
                return False
            slope = how.slope(moving[0], self.numbers[place])
            if slope is None or type(slope) is str or slope == 0:
                return False
            place = self.operands[place][moving[0]]
        return True

    def towards(self, direction: dict[int, Any], seeds: dict[int, Any]) -> Any:
        """The one-sided slope of a weighted sum of places where these places move so; None where that is not known.

        At a corner it is the larger (smaller, absolute) of the slopes that meet there: the chain rule holds for
        one-sided slopes of whatever moves no faster than its operands.
        """
        moves = dict(direction)
        for place in range(min(moves) + 1, len(self.how)):
            operands = self.operands[place]
            if place in direction or all(p not in moves for p in operands):
                continue
            how = self.how[place]
            if type(how) is Hit:
                if how.sides is None:
                    return None
                name, sides = how.sides
                slopes = [moves.get(p, _zero) for p in sides]
                moves[place] = abs(slopes[0]) if name == "abs" else max(slopes) if name == "max" else min(slopes)
                continue
            total: Any = None
            for slot, p in enumerate(operands):
                if p in moves:
                    slope = how.slope(slot, self.numbers[place])
                    if type(slope) is str:
                        return None
                    total = total if slope is None else add(total, moves[p] * slope)
            moves[place] = _zero if total is None else total
        result: Any = _zero
        for place, seed in seeds.items():
            if place in moves:
                result = add(result, seed * moves[place])
        return result

    def chained(self, seeds: dict[int, Any]) -> tuple[list[Any], dict[int, str]]:
        """The derivative of a weighted sum of places by every place (None where there is no way), and, for those that
        have none, the reason."""
        nan = mpmath().nan
        one = mpmath().one
        slopes: list[Any] = [None] * len(self.how)
        why: dict[int, str] = {}
        for place, seed in seeds.items():
            slopes[place] = seed
        for place in range(len(self.how) - 1, -1, -1):
            g, how, operands = slopes[place], self.how[place], self.operands[place]
            if g is None or not operands:
                continue
            if type(how) is Hit:
                zero = how.gentle and g == 0
                for p in operands:
                    if not zero:
                        why.setdefault(p, why.get(place, how.reason))
                    slopes[p] = add(slopes[p], g if zero else nan)
                continue
            if place in why:
                for p in operands:
                    if p >= 0:
                        why.setdefault(p, why[place])
                        slopes[p] = nan
                continue
            numbers = self.numbers[place]
            if place & 1023 == 0 and time.monotonic() > self.deadline:
                raise Exhausted(TOO_LONG)
            for slot, p in enumerate(operands):
                if p >= 0:
                    slope = how.slope(slot, numbers)
                    if slope is None:
                        continue
                    if type(slope) is str:
                        why.setdefault(p, slope)
                        slopes[p] = nan
                    else:
                        slopes[p] = add(slopes[p], g if slope is one else g * slope)
        return slopes, why


def add(a: Any, b: Any) -> Any:
    """a + b, and 0 where nothing but rounding is left; `a` may be None."""
    if a is None:
        return b
    s = a + b
    return _zero if s and _lost(s, b) else s


_zero: Any = 0


def _lost(s: Any, b: Any) -> bool:
    """Whether s, a sum of which b is one term, is noise."""
    _, m, e, n = s._mpf_
    _, k, f, c = b._mpf_
    return bool(m and k and e + n < f + c - NOISE)


class Element:
    """A number, and where it was made (-1 for one that depends on nothing)."""

    __slots__ = ("number", "place", "tape")

    def __init__(self, number: Any, place: int, tape: Tape) -> None:
        self.number = number
        self.place = place
        self.tape = tape

    def __repr__(self) -> str:
        return f"<{self.number} at {self.place}>"

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["divide"](other, self)

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["power"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else PRIMITIVES["power"](other, self)

    def __neg__(self) -> Any:
        return PRIMITIVES["negative"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return PRIMITIVES["absolute"](self)

    def __lt__(self, other: Any) -> bool:
        return compare(self, other) == -1

    def __gt__(self, other: Any) -> bool:
        return compare(self, other) == 1

    def __le__(self, other: Any) -> bool:
        return compare(self, other) in (-1, 0)

    def __ge__(self, other: Any) -> bool:
        return compare(self, other) in (0, 1)

    def __eq__(self, other: Any) -> bool:
        return compare(self, other) == 0

    def __ne__(self, other: Any) -> bool:
        return compare(self, other) != 0

    def __bool__(self) -> bool:
        return compare(self, 0) != 0

    def __float__(self) -> float:
        raise Unreadable("the forward pass turns a number into a float, which would hide what it depends on")

    __int__ = __index__ = __complex__ = __float__


@cache
def mpmath() -> Any:
    """mpmath's arithmetic, of which SymPy's functions are made."""
    global _zero
    import mpmath

    _zero = mpmath.mp.zero
    return mpmath.mp


def number_of(value: Any) -> Any:
    """A plain number, exactly."""
    if type(value) is Element:
        return value.number
    kind = type(value)
    return mpmath().mpf(value if kind is float or kind is int else _python(value))


def _python(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return int(value) if isinstance(value, (bool, int)) else value


def close(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, as far as their precision tells."""
    if a == b:
        return True
    difference = a - b
    if difference != difference:
        return False
    top = a if abs(a) > abs(b) else b
    return _lost(difference, top)


def compare(a: Any, b: Any) -> int | None:
    """-1, 0 or 1; None if a or b is no number.  A tie is noted, unless both are one and the same."""
    x, y = number_of(a), number_of(b)
    if x != x or y != y:
        return None
    if close(x, y):
        if type(a) is Element and not (type(b) is Element and a.place == b.place):
            a.tape.note(EQUAL, a, b)
        elif type(b) is Element and type(a) is not Element:
            b.tape.note(EQUAL, b)
        return 0
    return -1 if x < y else 1


# Functions, as SymPy has them ---------------------------------------------------------------------


class Smooth:
    """A function without branches: its value, and its slopes by SymPy, each made when it is first asked for."""

    __slots__ = ("_edges", "_slopes", "_value", "expression", "sums", "symbols", "transcendental")

    def __init__(self, expression: Any, symbols: tuple[Any, ...]) -> None:
        import sympy

        self.expression = expression
        self.symbols = symbols
        self.sums = expression.is_Add
        self.transcendental = expression.has(sympy.Function) or any(
            not p.exp.is_Integer for p in expression.atoms(sympy.Pow)
        )
        self._edges: list[Any] | None = None
        self._value: Any = None
        self._slopes: list[Any] = [None] * len(symbols)

    @property
    def edges(self) -> list[Any]:
        """What is raised to broken powers: at 0 such a power has one side only, or none."""
        if self._edges is None:
            import sympy

            bases = {p.base for p in self.expression.atoms(sympy.Pow) if not p.exp.is_Integer}
            self._edges = [compiled(self.symbols, base) for base in bases if base.free_symbols]
        return self._edges

    def value(self, numbers: tuple[Any, ...]) -> Any:
        """The value at these numbers; a text where there is none, saying why."""
        if self.transcendental and any(_huge(n) for n in numbers):
            return "a number is too large"
        if self._value is None:
            self._value = compiled(self.symbols, self.expression)
        found = _evaluated(self._value, numbers)
        if self.sums and type(found) is not str and found:
            for n in numbers:
                if n and _lost(found, n):
                    return mpmath().zero
        return found

    def slope(self, slot: int, numbers: tuple[Any, ...]) -> Any:
        """The slope in one operand; a text where there is none, saying why; None if the operand has no influence."""
        known = self._slopes[slot]
        if known is None:
            known = self._slopes[slot] = self._made(slot)
        if type(known) is int:
            return numbers[known]
        if type(known) is not tuple:
            return known
        function, plain = known
        if function is None:
            return None
        if self.edges and any(_evaluated(edge, numbers) == 0 for edge in self.edges):
            return "a power of 0"
        slope = _evaluated(function, numbers)
        if not plain and type(slope) is not str and slope == slope and self.transcendental:
            _, m, e, n = slope._mpf_
            if not m or e + n < DEEP:
                with mpmath().workprec(DEEPER):
                    slope = _evaluated(function, numbers)
        if type(slope) is not str and not mpmath().isfinite(slope):
            return "the slope is not finite"
        return slope

    def _made(self, slot: int) -> Any:
        import sympy

        slope = sympy.diff(self.expression, self.symbols[slot])
        if slope.has(sympy.Derivative, sympy.DiracDelta, sympy.Subs):
            return "SymPy has no formula for a slope"
        if slope == 0:
            return None, None
        if slope in self.symbols and not self.edges:
            return self.symbols.index(slope)
        if slope.is_Integer:
            return mpmath().one if slope == 1 else mpmath().mpf(int(slope))
        return (compiled(self.symbols, slope), not slope.has(sympy.Function))


def compiled(symbols: Sequence[Any], expression: Any) -> Callable[..., Any]:
    """A SymPy expression as a function of mpmath's numbers."""
    import sympy

    function: Callable[..., Any] = sympy.lambdify(list(symbols), expression, "mpmath", cse=True)
    return function


def _huge(number: Any) -> bool:
    _, m, e, n = number._mpf_
    return bool(m) and e + n > RANGE


def _evaluated(function: Callable[..., Any], numbers: tuple[Any, ...]) -> Any:
    mp = mpmath()
    try:
        found = function(*numbers)
    except ZeroDivisionError:
        return "a division by 0"
    except (ArithmeticError, ValueError, mp.NoConvergence):
        return "it is not defined here"
    if type(found) is not mp.mpf:
        if isinstance(found, mp.mpc):
            return "it is not defined in real numbers here"
        found = mp.mpf(found)
    return found


class Kind:
    """A function of real numbers, in SymPy's words, with its branches.

    `build(sympy, *symbols)` makes the expression.  Called on elements it gives an element.
    """

    def __init__(self, build: Callable[..., Any], count: int) -> None:
        self.build = build
        self.count = count
        self._root: Any = None
        self._fixed: dict[Any, Kind] = {}
        self._exponents: tuple[int, ...] = ()
        self.symbols: tuple[Any, ...] = ()

    def _open(self) -> None:
        import sympy

        self.symbols = tuple(sympy.Dummy(f"x{k}", real=True) for k in range(self.count))
        expression = sympy.sympify(self.build(sympy, *self.symbols))
        exponents = {p.exp for p in expression.atoms(sympy.Pow)}
        self._exponents = tuple(k for k, s in enumerate(self.symbols) if s in exponents)
        self._root = branch(expression, self.symbols)

    def __call__(self, *arguments: Any) -> Element:
        """The function of elements, of which some may be plain numbers."""
        tape = None
        numbers, places = [], []
        moving = False
        for a in arguments:
            if type(a) is Element:
                tape = a.tape
                numbers.append(a.number)
                places.append(a.place)
                moving = moving or a.place >= 0
            else:
                numbers.append(number_of(a))
                places.append(-1)
        assert tape is not None, "a kind is applied to an element at least"
        tape.step()
        if self._root is None:
            self._open()
        for slot in self._exponents:
            # x**2 is a square, whose slope at 0 is 0: as a power of two variables it would have none
            if places[slot] < 0 and (exact := _simple(numbers[slot])) is not None:
                return self._with(slot, exact)(*arguments[:slot], *arguments[slot + 1 :])
        point, at = tuple(numbers), tuple(places)
        smooth, hit = self._root, None
        if type(smooth) is Branch:
            smooth, hit = smooth.followed(point, at)
            if smooth is None:
                return tape.hit(mpmath().nan, Hit("a number is nan"), at)
        value = smooth.value(point)
        if type(value) is str:
            hit, value = Hit(value), mpmath().nan
        if not moving:
            return Element(value, -1, tape)
        if hit is not None:
            return tape.hit(value, hit, at)
        place = tape.add(smooth, point, at)
        if smooth is not self._root:
            tape.branched.add(place)
        return Element(value, place, tape)

    def _with(self, slot: int, number: tuple[int, int]) -> Kind:
        key = (slot, number)
        kind = self._fixed.get(key)
        if kind is None:

            def build(sympy: Any, *symbols: Any) -> Any:
                return self.build(sympy, *symbols[:slot], sympy.Rational(*number), *symbols[slot:])

            kind = self._fixed[key] = Kind(build, self.count - 1)
        return kind


def _simple(number: Any) -> tuple[int, int] | None:
    """A number as a short fraction (numerator, denominator); None for others."""
    sign, m, e, n = number._mpf_
    if not m:
        return (0, 1) if number == 0 else None
    if e < -4 or e + n > 40:
        return None
    m = -int(m) if sign else int(m)
    return (m << e, 1) if e >= 0 else (m, 1 << -e)


class Branch:
    """A function at a fork: which way it goes is decided by the numbers, from the innermost fork outwards."""

    __slots__ = ("_arguments", "_next", "expression", "fork", "symbols")

    def __init__(self, expression: Any, fork: Any, symbols: tuple[Any, ...]) -> None:
        import sympy

        self.expression = expression
        self.fork = fork
        self.symbols = symbols
        parts = fork.args
        if isinstance(fork, sympy.Piecewise):
            parts = [side for _, c in fork.args if c.is_Relational for side in c.args]
        self._arguments = [Smooth(part, symbols) for part in parts]
        self._next: dict[Any, Any] = {}

    def followed(self, numbers: tuple[Any, ...], places: tuple[int, ...]) -> tuple[Any, Hit | None]:
        """The smooth function in force at these numbers (None if one is no number), and the hit if there is none."""
        at: Any = self
        hit = None
        while type(at) is Branch:
            values = [a.value(numbers) for a in at._arguments]
            if any(type(v) is str or v != v for v in values):
                return None, None
            way, tie = _way(at.fork, values)
            if tie:
                gentle = at.fork == self.expression and at.fork.func.__name__ in GENTLE
                hit = hit or Hit(tie, gentle=gentle, sides=_sides(at, values, places) if gentle else None)
            if way not in at._next:
                chosen = _chosen(at.fork, way)
                at._next[way] = branch(at.expression.xreplace({at.fork: chosen}), at.symbols)
            at = at._next[way]
        return at, hit


FORKS = ("Abs", "Max", "Min", "sign", "Piecewise", "floor", "ceiling")
"""The functions of SymPy that have branches."""
GENTLE = ("Abs", "Max", "Min")


def branch(expression: Any, symbols: tuple[Any, ...]) -> Smooth | Branch:
    """The expression at its innermost fork, or without one.  Raises Unreadable."""
    import sympy

    forks = list(expression.atoms(*(getattr(sympy, n) for n in FORKS)))
    inner = [f for f in forks if not any(f is not g and f.has(g) for g in forks)]
    if inner:
        return Branch(expression, min(inner, key=str), symbols)
    if expression.has(sympy.Heaviside, sympy.Mod, sympy.DiracDelta, sympy.Derivative, sympy.re, sympy.im):
        raise Unreadable(f"SymPy has no slope of {expression}")
    return Smooth(expression, symbols)


def _way(fork: Any, values: Sequence[Any]) -> tuple[Any, str]:
    """Which way a fork goes at these values of its arguments, and what is wrong if it stands on the corner itself."""
    mp = mpmath()
    name = fork.func.__name__
    if name in ("Abs", "sign"):
        (x,) = values
        return (0 if x == 0 else 1 if x > 0 else -1), ("" if x != 0 else f"{name.lower()} at 0")
    if name in ("Max", "Min"):
        best = max(values) if name == "Max" else min(values)
        winners = [k for k, v in enumerate(values) if close(v, best)]
        return winners[0], ("" if len(winners) == 1 else f"a tie of {name.lower()}")
    if name in ("floor", "ceiling"):
        (x,) = values
        near = mp.nint(x)
        if close(x, near):
            return int(near), f"{name} of a whole number"
        return int(mp.floor(x) if name == "floor" else mp.ceil(x)), ""
    sides = iter(values)
    for k, (_, condition) in enumerate(fork.args):
        if not condition.is_Relational:
            if condition == True:  # noqa: E712  (SymPy's own truth)
                return k, ""
            continue
        a, b = next(sides), next(sides)
        if close(a, b):
            return k, EQUAL
        if {"<": a < b, "<=": a < b, ">": a > b, ">=": a > b, "==": False, "!=": True}[condition.rel_op]:
            return k, ""
    return len(fork.args) - 1, "no branch is in force"


def _sides(at: Branch, values: Sequence[Any], places: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    """Between which places a corner lies, if its sides are plain operands and numbers."""
    name = at.fork.func.__name__.lower()
    best = values[0] if name == "abs" else max(values) if name == "max" else min(values)
    sides = []
    for part, value in zip(at.fork.args, values, strict=True):
        if close(value, best):
            if not part.is_number and part not in at.symbols:
                return None
            sides.append(-1 if part.is_number else places[at.symbols.index(part)])
    return name, tuple(sides)


def _chosen(fork: Any, way: Any) -> Any:
    import sympy

    name = fork.func.__name__
    if name == "Abs":
        return fork.args[0] if way >= 0 else -fork.args[0]
    if name in ("sign", "floor", "ceiling"):
        return sympy.Integer(way)
    return fork.args[way] if name in ("Max", "Min") else fork.args[way][0]


PRIMITIVES: dict[str, Kind] = {
    name: Kind(build, count)
    for name, count, build in (
        ("add", 2, lambda s, a, b: a + b),
        ("subtract", 2, lambda s, a, b: a - b),
        ("multiply", 2, lambda s, a, b: a * b),
        ("divide", 2, lambda s, a, b: a / b),
        ("power", 2, lambda s, a, b: a**b),
        ("float_power", 2, lambda s, a, b: a**b),
        ("negative", 1, lambda s, a: -a),
        ("square", 1, lambda s, a: a**2),
        ("reciprocal", 1, lambda s, a: 1 / a),
        ("absolute", 1, lambda s, a: s.Abs(a)),
        ("fabs", 1, lambda s, a: s.Abs(a)),
        ("exp", 1, lambda s, a: s.exp(a)),
        ("exp2", 1, lambda s, a: s.exp(a * s.log(2))),
        ("expm1", 1, lambda s, a: s.exp(a) - 1),
        ("log", 1, lambda s, a: s.log(a)),
        ("log2", 1, lambda s, a: s.log(a) / s.log(2)),
        ("log10", 1, lambda s, a: s.log(a) / s.log(10)),
        ("log1p", 1, lambda s, a: s.log(1 + a)),
        ("sqrt", 1, lambda s, a: s.sqrt(a)),
        ("cbrt", 1, lambda s, a: s.sign(a) * s.Abs(a) ** s.Rational(1, 3)),
        ("sin", 1, lambda s, a: s.sin(a)),
        ("cos", 1, lambda s, a: s.cos(a)),
        ("tan", 1, lambda s, a: s.tan(a)),
        ("arcsin", 1, lambda s, a: s.asin(a)),
        ("arccos", 1, lambda s, a: s.acos(a)),
        ("arctan", 1, lambda s, a: s.atan(a)),
        ("sinh", 1, lambda s, a: s.sinh(a)),
        ("cosh", 1, lambda s, a: s.cosh(a)),
        ("tanh", 1, lambda s, a: s.tanh(a)),
        ("arcsinh", 1, lambda s, a: s.asinh(a)),
        ("arccosh", 1, lambda s, a: s.acosh(a)),
        ("arctanh", 1, lambda s, a: s.atanh(a)),
        ("arctan2", 2, lambda s, a, b: s.atan2(a, b)),
        ("hypot", 2, lambda s, a, b: s.sqrt(a**2 + b**2)),
        ("logaddexp", 2, lambda s, a, b: s.log(s.exp(a) + s.exp(b))),
        ("deg2rad", 1, lambda s, a: a * s.pi / 180),
        ("rad2deg", 1, lambda s, a: a * 180 / s.pi),
    )
}
"""NumPy's functions of numbers, by NumPy's names, in SymPy's words."""
PRIMITIVES["true_divide"] = PRIMITIVES["divide"]


@cache
def _identity() -> Smooth:
    import sympy

    x = sympy.Dummy("x", real=True)
    return Smooth(x, (x,))

"""The whole output as one expression, where that is short: differentiated by SymPy, and shown as a closed formula."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph import CONSTANT, Node
from gradcli.verify.deadline import TimeIsUp, time_limit
from gradcli.verify.elements import Hit, Smooth, _simple, compiled, mpmath

if TYPE_CHECKING:
    from gradcli.verify.symbolic import Reading

SCALARS = 20
"""Expressions of more variables than this are not written out."""
PLACES = 300
"""Nor are those of longer tapes than this."""
TREE = 60
"""And those of more operations than this, each counted as often as it would be written."""
LENGTH = 40
"""A longer formula is not shown."""
PATIENCE = 0.5
"""Seconds; SymPy sometimes takes for ever over a short expression."""


def closed_forms(reading: Reading, sure: dict[str, Any], deadline: float) -> dict[str, str | None]:
    """For those of these nodes whose derivative is one expression with the value given: its formula, None if that is
    long.  Nodes that are left out have none."""
    forms: dict[str, str | None] = {}
    limit = min(PATIENCE, deadline - time.monotonic())
    if limit <= 0 or len(reading.tape.how) > PLACES or sum(math.prod(n.shape) for n in reading.inputs) > SCALARS:
        return forms
    try:
        with time_limit(limit):
            for name, value in sure.items():
                node = reading.report.node(name)
                if node.shape == () and node.number in reading.values:
                    whole = Whole(reading, node)
                    if whole.fits and whole.gives(value):
                        forms[name] = whole.formula()
    except TimeIsUp:
        pass
    return forms


class Whole:
    """The derivative of the output by one scalar, as one expression."""

    def __init__(self, reading: Reading, node: Node) -> None:
        self.reading = reading
        self.node = node
        self.numbers: dict[Any, Any] = {}
        """What every symbol stands for."""
        (self.cut,) = [e.place for e in reading.elements(node)]
        self.order = self._order()
        self.fits = self.order is not None
        self.slope: Any = None

    def _order(self) -> list[int] | None:
        """The places to be written out, in order; None if they are too many, or have a branch or a hit."""
        tape = self.reading.tape
        sizes: dict[int, int] = {}
        stack = list(self.reading.seeds())
        outputs = list(stack)
        while stack:
            place = stack[-1]
            if place in sizes:
                stack.pop()
                continue
            how = tape.how[place]
            if how is None or place == self.cut:
                sizes[place] = 0
                continue
            if type(how) is Hit or place in tape.branched or len(sizes) > TREE:
                return None
            used = self._used(place)
            waiting = [p for p in used if p not in sizes]
            if waiting:
                if len(stack) > 4 * TREE:
                    return None
                stack.extend(waiting)
                continue
            sizes[place] = 1 + sum(sizes[p] for p in used)
            if sizes[place] > TREE:
                return None
        if sum(sizes[p] for p in outputs) > TREE:
            return None
        return sorted(sizes)

    def _used(self, place: int) -> list[int]:
        """The places on which one depends; a branch that was not taken is none of them."""
        tape = self.reading.tape
        free = tape.how[place].expression.free_symbols
        return [p for s, p in zip(tape.how[place].symbols, tape.operands[place], strict=True) if p >= 0 and s in free]

    def gives(self, value: float) -> bool:
        """Differentiates, and says whether that is the number that was found node by node."""
        import sympy

        assert self.order is not None
        tape = self.reading.tape
        made: dict[int, Any] = {}
        named = self._names()
        for place in self.order:
            how = tape.how[place]
            if how is None or place == self.cut:
                text, number = named.get(place, ("", None))
                if not text:
                    return False
                made[place] = self._symbol(text, number)
                continue
            assert type(how) is Smooth
            known = zip(how.symbols, tape.operands[place], tape.numbers[place], strict=True)
            free = how.expression.free_symbols
            made[place] = how.expression.xreplace(
                {s: made[p] if p >= 0 else self._constant(n) for s, p, n in known if s in free}
            )
        total = sum((made[p] * self._constant(seed) for p, seed in self.reading.seeds().items()), sympy.Integer(0))
        if self.cut not in made:
            self.slope = sympy.Integer(0)
        else:
            self.slope = sympy.diff(total, made[self.cut])
        if self.slope.has(sympy.Derivative, sympy.DiracDelta, sympy.Subs, sympy.zoo, sympy.nan):
            return False
        symbols = sorted(self.slope.free_symbols, key=str)
        try:
            found = compiled(symbols, self.slope)(*[self.numbers[s] for s in symbols])
        except (ArithmeticError, ValueError):
            return False
        found = mpmath().mpc(found)
        exact = float(found.real)
        return bool(found.imag == 0 and abs(exact - value) <= 1e-14 * max(abs(exact), abs(value)))

    def formula(self) -> str | None:
        """The derivative in the words of a formula file; None if it is long."""
        import sympy

        if sympy.count_ops(self.slope) > LENGTH:
            return None
        text: str = _printer().doprint(self.slope)
        return text if len(text) <= LENGTH else None

    def _names(self) -> dict[int, tuple[str, Any]]:
        """The names and numbers of the places that stand for themselves: the inputs, and the node itself."""
        reading = self.reading
        named: dict[int, tuple[str, Any]] = {}
        for node in [*reading.inputs, self.node]:
            for at, element in zip(np.ndindex(*node.shape), reading.elements(node), strict=True):
                key = f"[{', '.join(map(str, at))}]" if at else ""
                named[element.place] = (f"{node.name}{key}", element.number)
        return named

    def _symbol(self, text: str, number: Any) -> Any:
        import sympy

        symbol = sympy.Symbol(text, real=True)
        self.numbers[symbol] = number
        return symbol

    def _constant(self, number: Any) -> Any:
        """A number of the file: exact where it is a short fraction, else a symbol that prints as it was written."""
        import sympy

        short = _simple(number)
        if short is not None:
            return sympy.Rational(*short)
        written = self._written(abs(number))
        symbol = self._symbol(written, abs(number))
        return symbol if number > 0 else -symbol

    def _written(self, number: Any) -> str:
        for node in self.reading.report.traced.graph.nodes:
            if node.op is CONSTANT and not node.shape and node.data == number:
                return node.name
        return repr(float(number))


def _printer() -> Any:
    from sympy.printing.str import StrPrinter

    class Printer(StrPrinter):  # type: ignore[misc]
        """SymPy's own printer, with the names that formula files have."""

        def _print_Abs(self, expression: Any) -> str:
            return f"abs({self._print(expression.args[0])})"

        def _print_Exp1(self, expression: Any) -> str:
            return "exp(1)"

        def _print_ExpBase(self, expression: Any) -> str:
            return f"exp({self._print(expression.args[0])})"

        _print_exp = _print_ExpBase

    return Printer()

"""An operator: everything the tool knows about one kind of node, in one block.

A block says how the operator is spelled, what shape and dtype it gives, how its value is
computed, and — slot by slot — what it sends back to each operand.  Call syntax, arity faults, "did
you mean", formulas and the test table all derive from the block, so an operator's name stands in one place.

A rule is called as `rule(g, y, *operands, **settings)`: `g` is the upstream gradient, `y` the node's own value.
It is written in operators, and an operator called on nodes builds a node while the same operator called on numbers
computes.  So one text is the printed derivation, the adjoint graph and the fast numeric sweep.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcli.graph.node import Node

Value = Any
"""A float, a NumPy scalar or array — or, inside a rule, a `Node`."""

Shape = tuple[int, ...]
Rule = Callable[..., Any]

ATOM, POSTFIX, POWER, UNARY, PRODUCT, SUM, COMPARISON = 17, 16, 14, 13, 12, 11, 6
"""How tightly a piece of formula binds, as in Python's grammar."""


class ShapeError(Exception):
    """Operands do not fit: what is needed, what each operand has, and a way out.

    `found` is keyed by operand slot, or by the name of a setting such as `"axis"`.  `{0}` in `needs` and `way_out`
    stands for the first operand as it was written.
    """

    def __init__(self, needs: str, found: Mapping[int | str, str] | None = None, way_out: str = "") -> None:
        super().__init__(needs)
        self.needs = needs
        self.found = dict(found or {})
        self.way_out = way_out


@dataclass(frozen=True, slots=True)
class Setting:
    """A keyword of an operator that is no operand: an axis, a shape, a flag.

    `read` turns what the file says into the canonical form, or raises ValueError with what it expected.
    """

    read: Callable[[Any], Any]
    default: Any = None
    required: bool = False
    gathers: bool = False
    """Takes all remaining positional arguments, as in `x.reshape(2, 3)`."""
    leads: bool = False
    """Stands before a list of operands, which then follow one by one: the text of `einsum("ij,j", A, x)`."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a node is written: a template with `{0}`, `{1}`, … and how tightly it and its operands bind."""

    template: str
    binds: int = ATOM
    operands: tuple[int, ...] = ()
    """For each operand, the least binding that needs no brackets; missing ones need none."""


@dataclass(eq=False, slots=True)
class Op:
    """One operator.  See the module's text; `gradcli.ops` holds the blocks."""

    name: str
    operands: tuple[str, ...]
    """Operand names, in order; a single name that begins with `*` takes a list of operands."""
    shape: Callable[..., Shape]
    """`shape(*operand_shapes, **settings)`; raises ShapeError."""
    forward: Callable[..., Value]
    """`forward(*values, **settings)` with NumPy."""
    vjp: tuple[Rule | None, ...] | Rule | None
    """One rule an operand (None: no gradient).  Of an operator that takes a list, one rule for all: it is given the
    operands as one sequence, and `slot=`."""
    doc: str = ""
    dtype: Callable[..., str] | None = None
    """`dtype(*operand_keys)`; None promotes as NumPy does."""
    scalar: Callable[..., Any] | None = None
    """The forward value on Python floats, without NumPy's cost of a call: for operators that work entry by entry."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    spellings: tuple[str, ...] = ()
    infix: str = ""
    binds: int = ATOM
    write: Callable[..., Written] | None = None
    """`write(operand_shapes, **settings)` where neither infix nor a plain call is how people write it."""
    simplify: Callable[..., Any] | None = None
    """`simplify(*operands, **settings)`: a simpler node, or None.  Used on adjoint graphs only."""
    broadcasts: bool = False
    """Operands are stretched to one shape, as NumPy does; the sweep undoes it with a sum."""
    stretches: bool = False
    """It repeats its operand and does nothing else."""
    sympy: Callable[..., Any] | None = None
    """`sympy(module, *expressions)`: the scalar function in SymPy's words, independent of the rule."""
    domain: tuple[float, float] = (-2.0, 2.0)
    """Where test points may be drawn."""
    kink: str = ""
    """What the rule does where the function has a corner or a jump."""
    stable: tuple[tuple[str, str], ...] = ()
    """Pairs of formulas: one in which floats lose their digits, and one with this operator that says the same and keeps
    them.  Letters stand for anything."""
    choose: Callable[..., Any] | None = None
    """`choose(*arguments)` names another operator where the arguments of a call mean that one, else None."""
    example: str = ""
    """A formula file for the reference, where none can be made from the block: `y` is this operator's value."""
    family: str = ""
    """The name of the module that declares it."""
    hidden: bool = False
    """Only rules use it: it cannot be called from a formula file."""
    optional: Mapping[str, float] = field(default_factory=dict)
    """Last operands that a call may leave out (or say None for), each with the number that stands in for one left
    out before one that is given.  A node without them just has fewer operands."""
    samples: tuple[tuple[Shape, ...], ...] = ()
    """Operand shapes worth testing, where the small ones that every operator is tested on do not tell much."""
    matrix: str = ""
    """What the first operand must be, as a stack of matrices: `"regular"` or `"positive definite"`."""
    operand_kinds: tuple[str, ...] = ()
    """Per operand, `"number"` unless said otherwise: `"labels"`, `"indices"` and `"mask"` read whole numbers as they
    stand."""
    order: tuple[str, ...] = ()
    """The order of a call's arguments where a setting stands between operands, as in `gather(x, axis, indices)`."""
    expands: Callable[..., Any] | None = None
    """`expands(*operand_shapes, **settings)` for a spelling that other operators say: `(operator, settings)`, or a list
    of those where a call has several results.  Such a block never becomes a node; raises ShapeError."""

    composes: Callable[..., Any] | None = None
    """`composes(*operands, **settings)` for a layer that is made of other operators: called on nodes, it writes them
    into the graph one by one.  Such a block never becomes a node; raises ShapeError."""

    @property
    def leading(self) -> list[str]:
        """The settings that stand before the operands of a call."""
        return [name for name, setting in self.settings.items() if setting.leads]

    @property
    def least(self) -> int:
        """The number of operands that must be given."""
        return len(self.operands) - len(self.optional)

    @property
    def variadic(self) -> bool:
        """Whether it takes a list of operands."""
        return self.operands[:1] != () and self.operands[0].startswith("*")

    def contribute(self, slot: int, g: Value, y: Value, operands: Sequence[Value], settings: Mapping[str, Any]) -> Any:
        """What the rule of one operand makes of the upstream gradient."""
        vjp = self.vjp
        if type(vjp) is not tuple:  # of a list of operands, which may be long: not spread over a call
            return vjp(g, y, operands, slot=slot, **settings)  # type: ignore[operator, misc]  # it is one that passes
        return vjp[slot](g, y, *operands, **settings)  # type: ignore[misc]  # the same

    def passes(self, slot: int) -> bool:
        """Whether any gradient flows back to the operand in this slot."""
        return self.vjp is not None and (callable(self.vjp) or self.vjp[slot] is not None)

    def passing(self, operands: Sequence[Node]) -> Iterable[tuple[int, Node]]:
        """The operands to which gradients flow, with their slots."""
        vjp = self.vjp
        if type(vjp) is tuple:
            return [(s, o) for s, o in enumerate(operands) if o.differentiable and vjp[s] is not None]
        return [] if vjp is None else [(s, o) for s, o in enumerate(operands) if o.differentiable]

    def __call__(self, *operands: Value, **settings: Any) -> Any:
        """A node if any operand is one, else the value."""
        for operand in operands:
            if type(operand) is _NODE[0]:
                return _NODE[1](self, operands, settings)
        if self.scalar is not None and not settings:
            for operand in operands:
                if type(operand) is not float and type(operand) is not bool and type(operand) is not int:
                    return self.forward(*operands)
            return self.scalar(*operands)
        return self.forward(*operands, **settings)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


_NODE: list[Any] = [None, None]
"""The Node class and what builds one, set by `graph.node` and `graph.build`, which need `Op` first."""

ALL: list[Op] = []
"""Every operator, also those that only rules use, in the order of declaration."""

REGISTRY: dict[str, Op] = {}
"""Every operator a formula file can call, by each of its spellings."""

DIALECTS: dict[str, Op] = {}
"""Operators for what a name means in PyTorch alone (`torch.split`) or as a method (`.repeat`), where the bare name in
`REGISTRY` means something else."""

INFIX: dict[str, Op] = {}
"""Every operator that is written between or before its operands, by its sign (`u-` is the unary minus)."""


def operator(name: str, operands: str, **block: Any) -> Op:
    """Declares an operator and files it under its spellings."""
    family = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    op = Op(name=name, operands=tuple(operands.split()), family=family, **block)
    ALL.append(op)
    if op.infix:
        INFIX[op.infix] = op
    if not op.hidden:
        for spelling in (name, *op.spellings):
            registry = DIALECTS if "." in spelling else REGISTRY
            assert spelling not in registry, spelling
            registry[spelling] = op
    return op


def operators() -> Iterable[Op]:
    """Every operator once, in the order of declaration."""
    return dict.fromkeys([*INFIX.values(), *REGISTRY.values(), *DIALECTS.values()])


def shape_of(value: Value) -> Shape:
    """The shape of a node or a value; of a list, by its first entries."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return shape  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        return (len(value), *(shape_of(value[0]) if value else ()))
    return ()


def size_of(value: Value) -> int:
    """The number of entries of a node or a value."""
    size = 1
    for length in shape_of(value):
        size *= length
    return size


def written(op: Op, shapes: tuple[Shape, ...], settings: Mapping[str, Any]) -> Written:
    """How a node of this operator is written."""
    if op.write is not None:
        return op.write(shapes, **settings)
    if op.infix:
        return infix(op)
    places = ", ".join(f"{{{slot}}}" for slot in range(len(shapes)))
    if op.variadic:
        places = f"[{places}]"
    named = "".join(
        f", {key}={_setting_text(value)}"
        for key, value in settings.items()
        if value is not op.settings[key].default and value != op.settings[key].default
    )
    return Written(f"{op.name}({places}{named})")


def infix(op: Op) -> Written:
    """The sign between (or before) the operands."""
    if len(op.operands) == 1:
        sign = op.infix.removeprefix("u")
        return Written(f"{sign}{{0}}", op.binds, (op.binds,))
    if op.binds == POWER:
        return Written(f"{{0}} {op.infix} {{1}}", POWER, (POWER + 1, UNARY))
    right = op.binds if op.infix in ("+",) else op.binds + 1
    return Written(f"{{0}} {op.infix} {{1}}", op.binds, (op.binds, right))


def _setting_text(value: Any) -> str:
    return repr(value).replace(" ", "") if isinstance(value, tuple) and len(value) == 1 else repr(value)

"""What an expression may be worth besides a node or a plain number: libraries, containers, functions, objects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcli.graph import Node
    from gradcli.language import Part


class Poison:
    """The value of a name whose line was faulty."""


@dataclass(slots=True)
class Input:
    """Numbers marked by `const(...)`, or held in a precision of their own: an input in waiting."""

    value: Any
    differentiable: bool = True
    parameter: bool = False
    """Whether it was declared a parameter of a module."""


class Length(int):
    """A number that was counted, by `len(x)` or `x.shape`, and not chosen: no gradient is asked of it."""


class Counted(int):
    """A whole number in a dictionary: it counts something, or is a number that is meant to vary after all."""


class Chosen(float):
    """A number that the program declares as one that varies: `Value(0.5)`, `nn.Parameter(torch.tensor(0.5))`."""


class Scalar(float):
    """A tensor of PyTorch's without axes, `torch.tensor(0.5)`, which can change in place."""


class Results(tuple[Any, ...]):
    """The results of a call that has several, such as `split(x, 2)`: to be unpacked, or taken one by one."""


class Module:
    """A library, or a part of one: `np`, `torch.nn.functional`."""

    def __init__(self, path: str) -> None:
        self.path = path


class Owner:
    """What a node's name belongs to: a call of a function, a container, an object.

    Its own name may be learnt late, `model = Net()` after the weights were made, so names are put together at the end.
    """

    __slots__ = ("call", "finished", "label", "parent")

    def __init__(self, label: str = "", parent: Owner | None = None, *, call: bool = False) -> None:
        self.label = label
        self.parent = parent
        self.finished = False
        self.call = call
        """Whether it is a call, which ends, and takes its names along."""

    def path(self) -> str:
        """`model.fc1`, `params["W1"]`."""
        above = self.parent.path() if self.parent is not None else ""
        return joined(above, self.label)

    @property
    def settled(self) -> bool:
        """Whether it outlives the call that is being read."""
        owner: Owner | None = self
        while owner is not None:
            if owner.finished:
                return False
            owner = owner.parent
        return True


def passing(owner: Owner | None) -> bool:
    """Whether something belongs to a call, in the end."""
    while owner is not None:
        if owner.call:
            return True
        owner = owner.parent
    return False


def joined(above: str, member: str) -> str:
    """`layer1` and `z` are `layer1.z`, `h` and `[2]` are `h[2]`."""
    if not above or not member:
        return above or member
    return above + member if member.startswith("[") else f"{above}.{member}"


def entry_label(key: Any) -> str:
    """How an entry is written: `[2]`, `["W1"]`, `[1, 2]`."""
    if isinstance(key, tuple):
        return f"[{', '.join(entry_label(k)[1:-1] for k in key)}]"
    if isinstance(key, (Instance, Function)):
        return f"[{key.name if isinstance(key, Function) else key.owner.path() or key.cls.name}]"
    return f'["{key}"]' if isinstance(key, str) else f"[{key}]"


class Items(list[Any]):
    """A list with something else in it than plain numbers; used as an operand it is stacked to a tensor."""

    def __init__(self, entries: Iterable[Any] = (), *, fixed: bool = False) -> None:
        super().__init__(entries)
        self.owner = Owner()
        self.fixed = fixed
        """A tuple, which does not change."""
        self.grown = False
        """Whether the program used it as Python's list, which `+` makes longer; else it may be meant as a tensor."""
        self.most: int | None = None
        """How many entries there may be; a further one drives out the first."""
        self.stacked: Node | None = None
        """The tensor of its entries, once it was needed."""
        self.unique = False
        """Whether it is a set, which keeps the order in which its entries came."""


class Table(dict[Any, Any]):
    """A dictionary, or a family of names such as `h[t]`."""

    def __init__(self, entries: Any = (), *, family: bool = False) -> None:
        super().__init__(entries)
        self.owner = Owner()
        self.family = family


class Pick:
    """An entry of a tensor that a loop runs over: a node only where it is used as a number."""

    __slots__ = ("base", "key", "node")

    def __init__(self, base: Node, key: int) -> None:
        self.base = base
        self.key = key
        self.node: Node | None = None


class Walk:
    """`np.nditer(x)`: a walk over the indices of a tensor, one after another."""

    __slots__ = ("at", "base", "places")

    def __init__(self, base: Node, places: list[tuple[int, ...]]) -> None:
        self.base = base
        self.places = places
        self.at = 0


Scope = dict[str, Any]


@dataclass(eq=False, slots=True)
class Function:
    """A function of the file: its syntax, where that stands, and the names around it."""

    name: str
    tree: ast.FunctionDef | ast.Lambda
    part: Part
    scopes: tuple[Scope, ...]
    """The names that its body sees beside its own, from the inside out."""
    defaults: list[Any] = field(default_factory=list)
    keyword_defaults: list[Any] = field(default_factory=list)
    owner: Class | None = None
    kind: str = ""
    """`staticmethod`, `classmethod` or `property`, for a method that is one."""
    library: bool = False
    """It belongs to a layer that is known here, and its lines are not the user's."""
    gradients: bool | None = None
    """Whether its body is read with or without gradients, as a decorator says; None where none does."""
    yields: bool = False
    """It is a generator."""
    calls: int = 0
    rule: Function | None = None
    """The rule of differentiation that the file gives it."""
    forward_rule: Function | None = None
    """JAX's forward rule, which keeps what the rule needs."""
    fixed: tuple[int, ...] = ()
    """The arguments that JAX's rule is for none of."""
    makers: Sequence[Function | None] = ()
    """autograd's functions that make the rule, one for each argument."""


@dataclass(eq=False, slots=True)
class Class:
    """A class of the file."""

    name: str
    members: Scope
    bases: tuple[Any, ...] = ()
    """Classes of the file, and the paths of those of libraries."""

    def find(self, name: str) -> Any:
        """A member of the class or of those that it builds on; None if there is none."""
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if found is not None:
                return found
        return None

    def builds_on(self, name: str) -> bool:
        """Whether it, or one that it builds on, is of that name."""
        return self.name == name or any(
            base.builds_on(name) if isinstance(base, Class) else base.split(".")[-1] == name for base in self.bases
        )


class Instance:
    """An object: a class and the object's attributes."""

    def __init__(self, cls: Class, made_at: Any = None) -> None:
        self.cls = cls
        self.attributes: Scope = {}
        self.owner = Owner()
        self.made_at = made_at
        """The call that made it."""


@dataclass(frozen=True, slots=True)
class Factory:
    """`field(default_factory=list)`: what makes the default of a field."""

    function: Any


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of an object, or of a class."""

    function: Function
    target: Any


@dataclass(frozen=True, slots=True)
class Known:
    """A function of a library as a value: `act = np.tanh`; or as an object, `nn.Softmax(dim=1)`, with its settings."""

    name: str
    base: Module | None = None
    settings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """What only the reverse sweep finds, such as `w.grad`: the gradients are in the report, not in the graph."""

    of: str = ""
    source: Any = field(default=None, compare=False)
    """What it is the gradient of, with which seed, and with respect to which node, where that is one call's result."""


ASIDE_VALUE = Swept("aside")
"""What calls of libraries for plots and the like give: nothing that a derivation could use."""


@dataclass(frozen=True, slots=True)
class Apply:
    """`F.apply` of a class that defines its own rule of differentiation."""

    cls: Class


@dataclass(frozen=True, slots=True)
class At:
    """JAX's `x.at`, and `x.at[key]`: a place at which a copy of x is to differ."""

    node: Node
    key: Any = None
    """The index as it is written, once there is one."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method that objects of a library have: `model.parameters`."""

    function: Callable[..., Any]
    target: Any


@dataclass(eq=False, slots=True)
class Stream:
    """What a generator gives, one value after another.

    Its body is read while somebody takes the values, so that a loop which ends early leaves the rest unread.
    """

    run: Callable[[Callable[[Any], None]], None]
    """Hands every value to a function."""
    taken: int = 0
    """How many values have been taken."""
    ended: bool = False
    """Whether it has given all that it has: then it gives nothing more."""

    def give(self, take: Callable[[Any], None]) -> None:
        """Hands what is left to a function: a value is given once, as Python gives it."""
        if self.ended:
            return
        skip = self.taken

        def next_one(value: Any) -> None:
            nonlocal skip
            if skip:
                skip -= 1
                return
            self.taken += 1
            take(value)

        self.run(next_one)
        self.ended = True


@dataclass(frozen=True, slots=True)
class Structure:
    """The form of a tree of JAX's, as `tree_flatten` gives it beside the leaves."""

    tree: Any


@dataclass(frozen=True, slots=True)
class Super:
    """`super()`: the object, and the classes that its class builds on."""

    target: Any
    bases: tuple[Any, ...]

"""Giving names: a new node gets the name it is bound to, numbers become inputs, containers name their entries.

A node of a function's call is `layer1.z`, an entry `params["W1"]`, a weight of an object `model.fc1.weight`.  What a
container or an object is called may be known only later, so full names are put together at the end of the file.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph import CONSTANT, INPUT, Graph, Node
from gradcli.graph.dtypes import FLOATS
from gradcli.language import Program
from gradcli.ops.create import Limits
from gradcli.ops.pass_on import identity, stop_gradient
from gradcli.problems import GradError
from gradcli.trace.expressions import Expressions
from gradcli.trace.lists import is_numbers, whole_list
from gradcli.trace.traced import Traced
from gradcli.trace.values import (
    Chosen,
    Counted,
    Function,
    Input,
    Instance,
    Items,
    Length,
    Owner,
    Pick,
    Results,
    Scalar,
    Scope,
    Swept,
    Table,
    entry_label,
    joined,
    passing,
)

_Key = tuple[Owner | None, str]


class Naming(Expressions):
    """Binds names to values."""

    def __init__(self, program: Program, limits: Limits, dtype: str = "float64") -> None:
        super().__init__(program, limits)
        self.dtype = dtype
        self.result = Traced(program.source, self.graph)
        self.globals: Scope = self.names
        self.declared: dict[str, Scope] = {}
        """Names that the call being read shares with a scope around it: `global x`."""
        self.definitions: dict[Owner | None, dict[str, list[Node]]] = {None: {}}
        self.local: dict[int, _Key] = {}
        """Under what name a node was first known that has one which may not last, by number."""
        self.parameter_numbers: set[int] = set()
        """The numbers of the nodes that are parameters of modules."""
        self.gradient_nodes: set[int] = set()
        """The numbers of nodes that names have held which are spelled like gradients."""
        self.written_out: set[int] = set()
        """The numbers of nodes that are gradients which a later pass took the place of."""
        self.statement_start = 0
        """The number of the first node of the statement that is being read."""
        self.bindings = 0
        """How many nodes have been given names."""
        self.by_hand = False
        """Whether the program has begun to compute gradients by hand: what it defines from there on is no output."""

    def bind(self, name: str, value: Any, place: ast.AST) -> None:
        """Gives a name to a value."""
        scope = self.declared.get(name, self.names) if self.declared else self.names
        owner = None if scope is self.globals else self.owner
        if type(value) is Swept and value.source is None and owner is None and {"jax", "autograd"} & self.imported:
            self.note(f"`{name}` is computed from gradients that only the sweep finds, and is not shown")
        if type(value) is Function and value.name == "lambda":
            value.name = name
        scope[name] = self.adopt(value, owner, name, place)

    def adopt(self, value: Any, owner: Owner | None, member: str, place: ast.AST) -> Any:
        """A value as it is kept under a name."""
        kind = type(value)
        if kind is Node:
            return self._named(value, owner, member, place)
        if value is Ellipsis:
            raise GradError(self.no_number(value, place))
        if isinstance(value, (Table, Items, Instance)):
            new = isinstance(value, Instance) and owner is None and value.made_at is place
            new = new or (passing(value.owner) and not passing(owner))
            if not value.owner.label or not value.owner.settled or new:
                value.owner.label, value.owner.parent, value.owner.finished = member, owner, False
            if not isinstance(value, Instance):
                self._adopt_entries(value, place)
            return value
        if kind is Results or _is_shape(value, place):
            return value
        if isinstance(value, (list, tuple)):
            whole = owner is not None and whole_list(value) is not None
            whole = whole or (kind is tuple and _is_mixed(value)) or "torch" in self.imported  # no tensors of lists
            whole = whole or (bool(self.imported) and _is_uneven(value))
            if not is_numbers(value) or whole:
                return self.adopt(Items(value, fixed=kind is tuple), owner, member, place)
            return self._input(value, owner, member, place)
        if isinstance(value, (Input, np.ndarray, np.generic)):
            return self._input(value, owner, member, place)
        if kind is Pick and owner is None:
            return self._named(self.picked(value, place), owner, member, place)
        if kind is Chosen:
            return self._input(Input(float(value)), owner, member, place)
        if kind is Scalar:
            return self._input(Input(float(value), differentiable=owner is None), owner, member, place)
        if isinstance(value, (bool, int, float)):
            # in a function a number is a number; among parameters, and in the file itself, it may be varied
            entry = member.startswith("[") and "torch" not in self.imported
            varies = owner is None or (kind is float and entry) or self.is_stepped(member)
            if not varies:
                beside = kind is int and member.startswith("[") and isinstance(place, ast.expr)
                return Counted(value) if beside and "torch" not in self.imported else value
            node = self._input(value, owner, member, place)
            self.python_numbers.add(node.number)
            return node
        return value

    def is_stepped(self, member: str) -> bool:
        """Whether the program changes a number by its gradient; see `gradcli.trace.functions`."""
        raise NotImplementedError

    def _adopt_entries(self, container: Table | Items, place: ast.AST) -> None:
        """Names what is in a container."""
        if isinstance(container, Table):
            parts = dict(zip(container, _parts(place, ast.Dict, "values", len(container)), strict=True))
            for key, value in container.items():
                container[key] = self.adopt(value, container.owner, entry_label(key), parts[key])
            return
        kept = self.in_function and container.fixed and any(type(value) is Node for value in container)
        for at, part in enumerate(_parts(place, (ast.List, ast.Tuple), "elts", len(container))):
            if kept and type(container[at]) in (bool, int, float):
                continue  # what a function keeps beside its tensors, `cache = (x, eps)`, is a number as it was
            container[at] = self.adopt(container[at], container.owner, entry_label(at), part)

    def store(self, container: Table | Items, key: Any, value: Any, place: ast.AST) -> None:
        """Puts a value into a container."""
        value = self.adopt(value, container.owner, entry_label(key), place)
        if isinstance(container, Items):
            container.stacked = None
        container[key] = value

    def overwrite(self, node: Node, value: Any, place: ast.AST) -> bool:
        """Gives an input that nothing has used yet other numbers of its shape, as initialising a weight does."""
        if node.op is not INPUT or not isinstance(value, (Input, np.ndarray, list, float)):
            return False
        numbers = value.value if isinstance(value, Input) else value
        if self.holds_nodes(numbers) or not (isinstance(numbers, (np.ndarray, float)) or is_numbers(numbers)):
            return False
        array = np.asarray(numbers, node.dtype) if not isinstance(numbers, list) else self.array(numbers, place)
        if array.shape != node.shape or any(node in other.operands for other in self.graph.nodes[node.number :]):
            return False
        node.data = array if array.ndim else array.item()
        if isinstance(value, Input):
            node.differentiable = node.differentiable and value.differentiable
        for known in (self.whole, self.raw):
            known.pop(node.number, None)
        return True

    def note(self, text: str) -> None:
        """Says something about the line that is being read; see `gradcli.trace.control`."""
        raise NotImplementedError

    # Nodes -----------------------------------------------------------------------------------

    def _named(self, node: Node, owner: Owner | None, member: str, place: ast.AST) -> Node:
        if node.shape and not node.name and node.operands and self.imported and self._is_written(node):
            return self._input(self._settled(node), owner, member, place)
        if node.name and self._outlived(node):
            old_owner, old_member = self.local.pop(node.number)
            self.definitions[old_owner][old_member].remove(node)
        elif node.name or node.op is CONSTANT:  # `y = x`: the same number under another name
            if owner is not None:
                return node
            source = node
            node = self.apply(identity, (self.operand(node, place),), None, place, (place,))
            self.aliases[node.number] = self.aliases.get(source.number, source.number)
        flows = node.differentiable
        self.name_node(node, owner, member)
        node.differentiable = node.dtype in FLOATS and node.number not in self.without
        if self.owner is None and not self.by_hand and node.operands and node.number not in self.looked_at:
            if flows:
                self.result.last, self.result.without_gradient = node, None
            else:
                self.result.without_gradient = node
        return node

    def _is_written(self, node: Node) -> bool:
        """Whether an array is made of the program's own numbers alone, such as `np.arange(6.0).reshape(2, 3)`."""
        stack, seen = [node], {node.number}
        while stack:
            part = stack.pop()
            if part.op is INPUT or part.op is stop_gradient:
                return False
            stack += [o for o in part.operands if o.number not in seen]
            seen |= {o.number for o in part.operands}
        return node.dtype in (*FLOATS, "int64")

    def _settled(self, node: Node) -> Any:
        """The numbers of such an array, whose own operations are taken back if nothing else uses them."""
        numbers = np.array(self.numbers_of(node))
        if self.is_whole(node):
            numbers = numbers.astype(np.int64)
        nodes = self.graph.nodes
        needed = {node.number}
        for number in range(node.number, self.statement_start - 1, -1):
            if number in needed:
                needed |= {o.number for o in nodes[number].operands}
        first = self.statement_start
        if (
            node is nodes[-1]
            and needed >= set(range(first, len(nodes)))
            and not any(n.name and n.op is not CONSTANT for n in nodes[first:])
        ):
            self.truncate(first)
        return numbers

    def _outlived(self, node: Node) -> bool:
        """Whether a node is known only by a name that a finished call gave it."""
        key = self.local.get(node.number)
        return key is not None and key[0] is not None and not key[0].settled

    def name_node(self, node: Node, owner: Owner | None, member: str) -> None:
        """Gives a node its name."""
        node.name = member if owner is None else joined(owner.path(), member)
        self.definitions.setdefault(owner, {}).setdefault(member, []).append(node)
        if owner is not None:
            self.local[node.number] = (owner, member)
        self.bindings += 1

    def _input(self, value: Any, owner: Owner | None, member: str, place: ast.AST) -> Node:
        if isinstance(value, Input) and value.parameter:
            node = self._input(Input(value.value, value.differentiable), owner, member, place)
            self.parameter_numbers.add(node.number)
            return node
        differentiable = True
        if isinstance(value, Input):
            value, differentiable = value.value, value.differentiable
        value = float(value) if type(value) is Chosen else value
        kind = type(value)
        if self.dtype != "float64" and kind in (float, int):
            self.cast(np.asarray(value, float), self.dtype, place)
        if kind is float:
            node = self.graph.input(value, self.dtype, "", self.line, differentiable=differentiable)
        elif kind is bool:
            node = self.graph.input(value, "bool", "", self.line)
        elif kind in (int, Counted, Length):
            differentiable = differentiable and kind is not Length
            node = self.graph.input(float(value), self.dtype, "", self.line, differentiable=differentiable)
            self.whole[node.number] = self.raw[node.number] = int(value)
        else:
            node = self._tensor_input(value, place, differentiable)
        self.name_node(node, owner, member)
        return node

    def _tensor_input(self, value: Any, place: ast.AST, differentiable: bool) -> Node:
        if isinstance(value, np.generic):
            return self.graph.input(value, str(value.dtype), "", self.line, differentiable=differentiable)
        written = not isinstance(value, np.ndarray)
        array = self.array(value, place) if written else value
        if array.dtype.kind in "iu":
            whole = array
            array = array.astype(float)
            self.integers.add(len(self.graph.nodes))
        else:
            whole = whole_list(value) if written and array.dtype == float else None
        if array.dtype == float and self.dtype != "float64":
            array = self.cast(array, self.dtype, place)
        data = array if array.ndim else array.item()
        node = self.graph.input(data, str(array.dtype), "", self.line, differentiable=differentiable)
        if whole is not None and isinstance(value, tuple):
            self.tuples.add(node.number)
        if whole is not None:
            self.whole[node.number] = self.raw[node.number] = np.asarray(whole)
        return node

    # The end of the file ------------------------------------------------------------------------

    def name_nodes(self) -> None:
        """Names every node: `h'1` for an earlier definition of h, v1, v2, … for the inner nodes of a line."""
        defined: dict[str, list[Node]] = {}
        for owner, members in self.definitions.items():
            above = owner.path() if owner is not None else ""
            for member, nodes in members.items():
                if nodes:
                    defined.setdefault(joined(above, member), []).extend(nodes)
        for name, nodes in defined.items():
            if len(nodes) > 1:
                # a parameter keeps its name where a variable inside a method bears the same one
                nodes.sort(key=lambda n: (n.number in self.parameter_numbers, n.number))
                for count, node in enumerate(nodes[:-1], start=1):
                    node.name = f"{name}'{count}"
            nodes[-1].name = name
            self.result.names[name] = nodes[-1]
        taken = {found[0] for found in re.finditer(r"\bv\d+\b", self.program.source.text)}
        free = (name for count in itertools.count(1) if (name := f"v{count}") not in taken)
        for node in self.graph.nodes:
            if not node.name:
                node.name = next(free)
                self.result.inner.add(node.number)

    def settle_whole_numbers(self) -> None:
        """An input used only as an index, a shape or a label is whole numbers, and has no gradient."""
        seed = self.result.seed
        if isinstance(seed, Node) and not any(seed in n.operands for n in self.graph.nodes):
            seed.differentiable = False  # given from outside: the gradient that arrives, not a number that varies
        self._settle_labels()
        for number in self.plainly & self.whole.keys():
            node = self.graph.nodes[number]
            if node.op is INPUT:
                node.data = self.whole[number]
            node.dtype = "int64"
            node.differentiable = False
        settled = self.plainly & self.whole.keys()
        for number in (self.counted | (self.plainly & self.integers)) - settled:
            self._settle_counted(number)

    def _settle_counted(self, number: int) -> None:
        """An input of which only labels and indices are computed has no gradient, nor have they."""
        marked = {number}
        for node in self.graph.nodes[number + 1 :]:
            if any(operand.number in marked for _, operand in node.op.passing(node.operands)):
                marked.add(node.number)
                if not node.shape:  # it may be what is differentiated
                    return
        for each in marked:
            self.graph.nodes[each].differentiable = False

    def _settle_labels(self) -> None:
        """Whole numbers of which every use ends in an index, a label or a comparison are data, and do not vary."""
        nodes = self.graph.nodes
        labels = [nodes[number] for number in self.raw if number < len(nodes) and nodes[number].op is INPUT]
        if not labels or not self.imported:
            return
        useful = bytearray(len(nodes))
        used = bytearray(len(nodes))
        for node in reversed(nodes):
            useful[node.number] |= node.differentiable and not used[node.number]
            for _, operand in node.op.passing(node.operands) if useful[node.number] else ():
                useful[operand.number] = 1
            for operand in node.operands:
                used[operand.number] = 1
        for label in labels:
            if used[label.number] and not useful[label.number]:
                label.differentiable = False

    def _kinds(self) -> tuple[set[int], ...]:
        """Everything that is known of nodes by their numbers alone, which the next nodes will have again."""
        known = (self.integers, self.tuples, self.looked_at, self.parameter_numbers)
        return (*known, self.gradient_nodes, self.written_out)

    def truncate(self, count: int) -> None:
        """Takes back the nodes from a number on, and their names."""
        for known in (self.aliases, self.current):
            for number in [n for n, v in known.items() if max(n, v.number if isinstance(v, Node) else v) >= count]:
                del known[number]
        for members in self.definitions.values():
            for nodes in members.values():
                nodes[:] = [node for node in nodes if node.number < count]
        self.forget(count)

    def forget(self, nodes: int) -> None:
        """Takes back the nodes from that number on, which nothing has kept."""
        graph: Graph = self.graph
        kinds = [kind for kind in self._kinds() if kind]
        for node in graph.nodes[nodes:]:
            for kind in kinds:
                kind.discard(node.number)
            self.whole.pop(node.number, None)
            self.raw.pop(node.number, None)
            self.plainly.discard(node.number)
            self.local.pop(node.number, None)
            for marked in (self.python_numbers, self.counted, self.integers, self.parameter_numbers):
                marked.discard(node.number)
        self._literals = {key: node for key, node in self._literals.items() if node.number < nodes}
        graph.forget(nodes)


def _parts(place: ast.AST, kinds: Any, attribute: str, count: int) -> list[ast.AST]:
    """Where the entries of a container are written, as far as it is written out."""
    parts = getattr(place, attribute) if isinstance(place, kinds) else []
    return list(parts) if len(parts) == count else [place] * count


def _is_mixed(value: Sequence[Any]) -> bool:
    """Whether a tuple holds numbers beside lists: it can be no tensor."""
    return len({isinstance(part, (list, tuple)) for part in value}) > 1


def _is_uneven(value: Sequence[Any]) -> bool:
    """Whether a list holds lists of several lengths: it can be no tensor."""
    return len({len(part) if isinstance(part, (list, tuple)) else -1 for part in value}) > 1


def _is_shape(value: Any, place: ast.AST) -> bool:
    """Whether a tuple is one that the language itself made: `s = x.shape`."""
    return (
        isinstance(value, tuple)
        and not isinstance(place, (ast.Tuple, ast.List))
        and all(type(v) is Length for v in value)
    )

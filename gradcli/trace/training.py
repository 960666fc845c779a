"""Training: which pass of a program is derived, how several backward passes add up, and where a pass ends.

A pass ends where a parameter is changed: `optimizer.step()`, `w -= lr * w.grad`, `W1 -= lr * dW1`.  What follows is the
next pass, with other numbers, and is left out of the graph.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.differentiate import adjoint_sweep
from gradcli.graph import INPUT, Adjoint, Graph, Node, backward_order
from gradcli.graph.dtypes import FLOATS
from gradcli.graph.op import INFIX
from gradcli.ops.reduce import broadcast_to, total
from gradcli.problems import GradError, meaning
from gradcli.trace.arrays import owner_of, swept_in
from gradcli.trace.gradients import gradients
from gradcli.trace.spelling import LONG_NAMES, STEP_OF_ITS_OWN, root_of
from gradcli.trace.values import Bound, Function, Input, Instance, Module

if TYPE_CHECKING:
    from gradcli.trace.interpreter import Interpreter

_SEEDS = ("gradient", "grad", "seed")
_AUTOGRAD = ("retain_graph", "create_graph", "inputs")
_BACKWARD = "L.backward() or c.backward(dc)"


@dataclass(frozen=True, slots=True)
class Backward:
    """One backward pass: what from, with which seed, and on which line."""

    output: Node
    seed: Node | None
    line: int
    adds: bool = True
    """Whether it adds to the gradients that are there, as PyTorch's does; JAX's functions return new ones."""


def backward(self: Interpreter, node: ast.Call) -> None:
    """`backward(L)`, `L.backward()`, `c.backward(dc)`: what to differentiate, and from which seed."""
    arguments = [*node.args, *[k.value for k in node.keywords if k.arg in _SEEDS]]
    for keyword in node.keywords:
        if keyword.arg not in (*_SEEDS, *_AUTOGRAD):
            known = [*_SEEDS, *_AUTOGRAD]
            word = keyword.arg or "**"
            raise GradError(meaning.unknown_argument(self.span(keyword), "backward", word, known, _BACKWARD))
    if isinstance(node.func, ast.Attribute) and not isinstance(self.value(node.func.value), Module):
        arguments.insert(0, node.func.value)
    if not 1 <= len(arguments) <= 2:
        found = len(arguments)
        raise GradError(
            meaning.argument_count(self.span(node), "backward", "a node and perhaps its seed", found, _BACKWARD)
        )
    output = self.value(arguments[0])
    if type(output) is not Node:
        raise GradError(
            meaning.wrong_argument(self.span(arguments[0]), "what `backward` starts from", "a node", self.found(output))
        )
    seed = _seed(self, arguments[1], output, self.text(arguments[0])) if len(arguments) == 2 else None
    if any(k.arg == "create_graph" and self.plain_value(k.value) is True for k in node.keywords):
        _keep_graph(self, output, seed)
    sweep_from(self, output, seed, arguments[0])


class _Differentiated(Adjoint):
    """The gradients of a graph, written into that graph, where they can be differentiated in their turn."""

    def __init__(self, graph: Graph, line: int) -> None:
        # a node made under `no_grad` is another thing than the same operation with a way back
        super().__init__(n for n in graph.nodes if n.differentiable or not n.op.passing(n.operands))
        self.graph = graph
        self.line = line

    def _numbered(self, node: Node) -> Node:
        node.number = len(self.graph.nodes)
        node.line = self.line
        self.graph.nodes.append(node)
        return node


def gradients_of(
    self: Interpreter, output: Node, seed: Node | None, inputs: Sequence[Node] | None = None
) -> dict[int, Node]:
    """The gradients of a node as nodes of the same graph, by the number of what they are the gradients of."""
    order = backward_order(output, inputs, self.graph.nodes)
    if output not in order:
        return {}
    start: Node | float = (
        1.0 if seed is None and not output.shape else seed or self.graph.constant(np.ones(output.shape))
    )
    if isinstance(start, Node) and start.shape != output.shape:
        start = self.graph.add(broadcast_to, (start,), {"shape": output.shape}, self.line)
    return adjoint_sweep(order, start, _Differentiated(self.graph, self.line))


def _keep_graph(self: Interpreter, output: Node, seed: Node | None) -> None:
    """`loss.backward(create_graph=True)`: the gradients of leaves are values that may be used."""
    for number, gradient in gradients_of(self, output, seed).items():
        if self.graph.nodes[number].op is INPUT:
            before = self.left_gradients.get(number)
            both = (before, gradient)
            self.left_gradients[number] = (
                gradient if before is None else self.graph.add(INFIX["+"], both, None, self.line)  # type: ignore[arg-type]
            )


def _seed(self: Interpreter, place: ast.expr, output: Node, name: str) -> Node:
    value = self.value(place)
    value = value.value if isinstance(value, Input) else value
    node = self.operand(value, place)
    if node.shape != output.shape and node.shape != ():
        raise GradError(meaning.seed_shape(self.span(place), name, output.shape, node.shape))
    return node


def sweep_from(self: Interpreter, output: Node, seed: Node | None, place: ast.AST, adds: bool = True) -> None:
    """Takes note of a backward pass."""
    if self.cut is not None:
        _check_saved(self, output, place)
        return
    if self.zeroed:
        lines = self.program.source.told(*(b.line for b in self.backwards))
        if self.backwards:
            self.note(f"the gradients of {lines} were set to zero before this backward pass, and are not shown")
        self.backwards = []
    if not adds and any(b.adds for b in self.backwards):
        lines = ", ".join(str(b.line) for b in self.backwards)
        self.note(f"the gradients of line {lines} are shown, to which those of this line are not added")
        return
    if not adds and self.backwards:
        lines = self.program.source.told(*(b.line for b in self.backwards))
        kept = write_out(self, place)
        instead = f"nodes of the graph: {', '.join(f'`{name}`' for name in kept)}" if kept else "not"
        self.note(f"these gradients are shown; those of {lines} are {instead}")
        self.backwards = []
    self.zeroed = False
    asked = [b for b in self.backwards if not b.adds]
    if adds and asked:
        lines = ", ".join(str(b.line) for b in asked)
        self.note(f"the gradients of this backward pass are shown; those that line {lines} asks for are not")
        self.backwards = [b for b in self.backwards if b.adds]
    self.backwards.append(Backward(output, seed, self.line, adds))


def write_out(self: Interpreter, place: ast.AST) -> list[str]:
    """Writes the gradients that names hold into the graph, as nodes: the sweep will be one of something else."""
    names = []
    for held, key, value in list(swept_in(self)):
        output, seed, wrt = value.source
        if not (self.in_graph(output) and self.in_graph(wrt) and wrt.dtype in FLOATS):
            continue
        (node,) = gradients(self, output, [wrt], seed)
        owner, member = owner_of(self, held, key)
        held[key] = self.adopt(node, owner, member, place)
        self.written_out.add(held[key].number)
        names.append(held[key].name)
    return names


def _free_name(self: Interpreter, name: str) -> str:
    while name in self.names:
        name += "_"
    return name


def set_zero(self: Interpreter, node: ast.AST) -> None:
    """`optimizer.zero_grad()`, `w.grad.zero_()`; `model.zero_grad()` is about what the model's parameters are in."""
    if self.backwards and self.cut is None:
        owner = (
            _current(self, node.func.value)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            else None
        )
        if isinstance(owner, Instance):
            own = {parameter.number for parameter in self.parameters(owner)}
            if not any(n.number in own for each in self.backwards for n in backward_order(each.output)):
                return
        self.zeroed = True
        self.left_gradients.clear()


def step(self: Interpreter, node: ast.Call) -> None:
    """`optimizer.step()`: the parameters change, and the pass is over; a closure makes the pass before."""
    if node.args and self.cut is None and isinstance(self.value(node.args[0]), (Function, Bound)):
        self.value(ast.copy_location(ast.Call(node.args[0], [], []), node))
    if self.backwards:
        _end_pass(self, f"`{self.text(node)}` changes the parameters")
    else:
        self.note(f"`{self.text(node)}` passed over: no backward pass has been made yet")


def _end_pass(self: Interpreter, what: str) -> None:
    if self.cut is None:
        self.cut = len(self.graph.nodes)
        self.last_at_cut = self.result.last
        self.note(f"{what}: the pass up to here is derived, and what follows is not")


def finish(self: Interpreter) -> None:
    """At the end of the program: takes back what belongs to the next pass, and settles what is differentiated."""
    if self.cut is not None:
        self.truncate(self.cut)
        self.result.last = self.last_at_cut
    passes = self.backwards or self.printed or _derived_in_the_graph(self) or _given_upstream(self)
    for each in passes:
        if not each.output.name:
            self.name_node(each.output, None, _free_name(self, "output"))
    if len(passes) == 1:
        self.result.output, self.result.seed = passes[0].output, passes[0].seed
    elif passes:
        self.result.output = _together(self, passes)


def nothing_before_the_change(self: Interpreter) -> bool:
    """Whether a pass that ended with a change of parameters by hand has no result to derive.

    Such a program computes its loss afterwards, or not at all: it is derived as a whole.
    """
    if self.cut is None or self.backwards or self.through:
        return False
    return not _results(self, self.cut)


def _results(self: Interpreter, count: int) -> list[Node]:
    """The named numbers among the first nodes that are computed from what varies."""
    nodes = self.graph.nodes[:count]
    return [n for n in nodes if n.name and n.operands and n.differentiable and math.prod(n.shape) == 1]


def _given_upstream(self: Interpreter) -> list[Backward]:
    """`out` with the `dout` that a program gives for it, where it has no number to derive."""
    if self.cut is not None or not self.imported or _results(self, len(self.graph.nodes)):
        return []
    given = {
        root_of(name): value
        for name, value in self.globals.items()
        if type(value) is Node and value.op is INPUT and root_of(name)
    }
    for name, value in reversed(self.globals.items()):
        seed = given.get(name.lower())
        if type(value) is Node and value.operands and seed is not None and seed.shape == value.shape:
            self.note(f"the output is `{name}`, with `{seed.name}` as its upstream gradient")
            return [Backward(value, seed, value.line, adds=False)]
    return []


def _derived_in_the_graph(self: Interpreter) -> list[Backward]:
    """What a program differentiates that asks for Jacobians, Hessians or one gradient an example, and nothing else."""
    known = [d for d in self.derived_of if d[1].number < len(self.graph.nodes)]
    if not known:
        return []
    line = known[-1][0]
    nodes = {node.number: node for at, node, _ in known if at == line}
    terms = []
    self.line = line
    for node in nodes.values():
        if node.shape:
            node = self.graph.add(total, (node,), None, line)
        terms.append(node)
    output = terms[0]
    for term in terms[1:]:
        output = self.graph.add(INFIX["+"], (output, term), None, line)
    whole = len(nodes) == 1 and not next(iter(nodes.values())).shape
    what = "what it differentiates" if whole else "the sum of what it differentiates"
    self.note(f"the output is {what}; the derivatives that the program asks for are nodes of the graph themselves")
    return [Backward(output, None, line, adds=False)]


def _together(self: Interpreter, passes: list[Backward]) -> Node:
    """The sum whose gradient several backward passes leave behind, because each adds to what is there."""
    self.line = passes[-1].line
    terms = []
    for each in passes:
        node = each.output
        if each.seed is not None:
            node = self.graph.add(INFIX["*"], (each.seed, node), None, self.line)
        if node.shape:
            node = self.graph.add(total, (node,), None, self.line)
        terms.append(node)
    whole = terms[0]
    for term in terms[1:]:
        whole = self.graph.add(INFIX["+"], (whole, term), None, self.line)
    self.name_node(whole, None, _free_name(self, "total"))
    lines = self.program.source.told(*(b.line for b in passes[:-1]))
    self.note(
        f"this backward pass adds to the gradients of {lines}, because nothing set them to zero: "
        f"together they are the gradients of `{whole.name}`"
    )
    return whole


# Parameters that change --------------------------------------------------------------------------


def update(self: Interpreter, statement: ast.stmt, target: ast.expr) -> None:
    """A parameter is changed by a line of the program."""
    text = self.text(target)
    if text not in self.updated:
        self.updated[text] = self.line
        value = _current(self, target)
        if type(value) is Node:
            self.updated_nodes[value.number] = (text, self.line)
    _end_pass(self, f"`{text}` changes")


def _check_saved(self: Interpreter, output: Node, place: ast.AST) -> None:
    """A backward pass through a graph that was made before a parameter in it changed."""
    assert self.cut is not None
    if output.number >= self.cut:
        return
    for node in backward_order(output):
        if node.number in self.updated_nodes:
            text, line = self.updated_nodes[node.number]
            raise GradError(meaning.in_place_update(self.span(place), text, line, self.text(place)))


def check_not_updated(self: Interpreter, target: ast.expr, value: ast.expr) -> None:
    """Refuses a gradient that is computed with a parameter which has been changed already."""
    if not self.updated or self.recording or not any(root_of(_last_word(self.text(t))) for t in _targets(target)):
        return
    for place, text in _loads(self, value):
        if text in self.updated:
            raise GradError(meaning.in_place_update(self.span(place), text, self.updated[text], self.text(target)))


def taint(self: Interpreter, targets: Iterable[ast.expr], value: ast.expr) -> None:
    """Remembers which names hold gradients, by the convention that `dW` is the gradient of `W`, or come from such."""
    for target in targets:
        for each in _targets(target):
            base = each.value if isinstance(each, ast.Subscript) else each
            name = _last_word(base.id if isinstance(base, ast.Name) else self.text(base))
            root = root_of(name)
            if not root and not self.tainted:
                continue
            roots = {root} if root else set()
            for _, text in _loads(self, value):
                roots |= self.tainted.get(_last_word(text.partition("[")[0]), set())
            if roots:
                self.tainted[name] = roots | self.tainted.get(name, set())
            if root:
                held = self.parameters(_current(self, base))
                self.gradient_nodes |= {node.number for node in held if node.operands}


def is_update(self: Interpreter, target: ast.expr, value: ast.expr, augmented: bool = False) -> bool:
    """Whether a line changes a parameter by its gradient: `W1 -= lr * dW1`, `params[k] -= lr * grads[k]`."""
    if not self.tainted or self.recording:
        return False
    if not _changes(self, target, value, augmented) and not _is_step(self, target, value):
        return False
    if self.through:
        text = self.text(target)
        self.note(f"`{text}` changes here, and what is derived goes through the change, from the numbers at the start")
        return False
    return True


def _is_step(self: Interpreter, target: ast.expr, value: ast.expr) -> bool:
    """Whether a line hands parameters to a function together with their gradients: `W, b = update(W, b, dW, db)`."""
    if not isinstance(value, ast.Call) or root_of(_last_word(self.text(target))):
        return False
    places = [*value.args, *(k.value for k in value.keywords)]
    given = {self.text(place) for place in places}
    if not all(self.text(each) in given for each in _targets(target)):
        return False
    if not any(root_of(_last_word(text.partition("[")[0])) in ("*", *_roots(self, target)) for text in given):
        return False
    current = [_current(self, each) for each in _targets(target)]
    return any(node.op is INPUT and node.differentiable for node in self.parameters(current))


def _roots(self: Interpreter, target: ast.expr) -> list[str]:
    return [_last_word(self.text(each)).lower() for each in _targets(target)]


def _changes(self: Interpreter, target: ast.expr, value: ast.expr, augmented: bool) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return False
    if (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Slice)
        and target.slice.lower is target.slice.upper
    ):
        target = target.value  # `w[:] = …` changes all of w
    loads = list(_loads(self, value))
    text = self.text(target)
    if not augmented and all(t != text for _, t in loads):
        return False
    current = _current(self, target)
    if (
        isinstance(current, (int, float))
        and not root_of(_last_word(text))
        and any(_last_word(t.partition("[")[0]) in self.tainted for _, t in loads)
    ):
        self.note(f"`{text}` is a plain number here, so no gradient of it is shown: `np.zeros(1)` would have one")
    if type(current) is not Node or current.op is not INPUT:
        return False
    key = _key_of(self, target)
    name = _last_word(text.partition("[")[0]).lower()
    for place, load in loads:
        base = load.partition("[")[0]
        roots = self.tainted.get(_last_word(base)) or _spelled(self, base)
        held = _current(self, place) if self.gradient_nodes else None
        alike = type(held) is Node and held.number in self.gradient_nodes and held.shape == current.shape
        if alike and not root_of(name) and _depends(self, place, current):
            return True  # `layer["W"] -= lr * g["W"]`, whatever the names are
        if name in roots or any(name in LONG_NAMES.get(root, ()) for root in roots):
            return True
        if roots and not root_of(name) and not STEP_OF_ITS_OWN.fullmatch(base) and _depends(self, place, current):
            return True  # `syn1 += l1.T.dot(l2_delta)`
        same = isinstance(target, ast.Attribute) and isinstance(place, ast.Attribute)
        if same and root_of(place.attr) == "*" and self.text(place.value) == self.text(target.value):  # type: ignore[attr-defined]
            return True  # `p.data -= lr * p.grad`
        own = _key_of(self, place) if "*" in roots and key is not None else None
        if own is not None and (own == key or (isinstance(own, str) and root_of(own) == str(key).lower())):
            return True
    return False


def _depends(self: Interpreter, place: ast.expr, leaf: Node) -> bool:
    """Whether something gradient-like that a line reads is an array that is computed from a leaf."""
    value = _current(self, place)
    if type(value) is not Node or not value.shape or not leaf.shape or not value.operands:
        return False
    stack, seen = [value], {value.number}
    while stack:
        for operand in stack.pop().operands:
            if operand is leaf:
                return True
            if operand.number not in seen and operand.number > leaf.number:
                seen.add(operand.number)
                stack.append(operand)
    return False


def _key_of(self: Interpreter, place: ast.expr) -> Any:
    """The key of an entry, `"W1"` of `params["W" + str(1)]`; None for what is no entry."""
    if not isinstance(place, ast.Subscript):
        return None
    try:
        key = self.plain_value(place.slice)
    except GradError:
        return None
    return key if isinstance(key, (str, int)) else None


def _spelled(self: Interpreter, base: str) -> set[str]:
    """What the variable of a loop is the gradient of, by its spelling, if it is something computed."""
    value = self.look_up(base)
    return {root_of(base)} if type(value) is Node and value.operands else set()


def _current(self: Interpreter, target: ast.expr) -> Any:
    """What a target is worth now; None if that cannot be said."""
    try:
        return self.value(loaded(target))
    except GradError:
        return None


def loaded(target: ast.expr) -> ast.expr:
    """A target as an expression that is read."""
    if not hasattr(target, "ctx"):
        return target
    copy = type(target)(**{name: getattr(target, name) for name in target._fields})
    copy.ctx = ast.Load()  # type: ignore[attr-defined]
    return ast.copy_location(copy, target)


def _last_word(text: str) -> str:
    return text.rpartition(".")[2]


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _targets(each)
    else:
        yield target


def _loads(self: Interpreter, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The names, attributes and entries that an expression reads, with how they are written."""
    for part in ast.walk(value):
        if isinstance(part, ast.Name):
            yield part, part.id
        elif isinstance(part, (ast.Attribute, ast.Subscript)):
            yield part, self.text(part)

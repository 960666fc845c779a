"""One reader per kind of statement."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

import numpy as np

from gradcli.graph import INPUT, Node
from gradcli.ops.arrange import assigned, key_repeats, put
from gradcli.ops.compare import where
from gradcli.ops.reduce import broadcast_to
from gradcli.problems import GradError, meaning
from gradcli.trace.arrays import array_of, changed, follow, set_numbers
from gradcli.trace.containers import LIST_METHODS
from gradcli.trace.control import Break, Continue, Return
from gradcli.trace.draws import fill
from gradcli.trace.functions import Left, is_number_class, number_of
from gradcli.trace.inputs import LOOKING, METHODS, ask_for
from gradcli.trace.interpreter import STATEMENTS, Interpreter
from gradcli.trace.libraries import find, set_mode
from gradcli.trace.lists import contains
from gradcli.trace.readers import index_parts
from gradcli.trace.spelling import root_of
from gradcli.trace.traced import Claim
from gradcli.trace.training import (
    backward,
    check_not_updated,
    is_update,
    loaded,
    set_zero,
    sweep_from,
    taint,
    update,
)
from gradcli.trace.transforms import Transformed, custom_vjp
from gradcli.trace.values import (
    ASIDE_VALUE,
    Class,
    Factory,
    Function,
    Input,
    Instance,
    Items,
    Known,
    Module,
    Pick,
    Stream,
    Swept,
    Table,
)
from gradcli.trace.vocabulary import (
    ASIDE,
    BINARY,
    BOOKKEEPING,
    CONTEXTS,
    LIBRARIES,
    PASSED_OVER,
    SEEDERS,
    WITHOUT_GRADIENT,
)

PASSES_WITH_FAULTS = 100
"""Where a fault has been found before, a loop may never come to what ends it: so many passes show all that is wrong."""

ASSIGNING = {"assign": "", "assign_add": "+", "assign_sub": "-"}
"""TensorFlow's methods that change a variable, with the operation each does."""

CHANGING = ("sort", "fill")
"""NumPy's methods that change the array itself, and give nothing."""

# Definitions -------------------------------------------------------------------------------------


def define(self: Interpreter, target: ast.AST, value: Any, place: ast.AST) -> None:
    """Binds a target to a value."""
    if isinstance(target, ast.Name):
        self.bind(target.id, value, place)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each, part, at in _unpacked(self, target, value, place):
            define(self, each, part, at)
    elif isinstance(target, ast.Subscript):
        _set_entry(self, target, value, place)
    elif isinstance(target, ast.Attribute):
        _set_attribute(self, target, value, place)
    else:
        raise GradError(self.refusal(target))


def define_variable(self: Interpreter, target: ast.AST, value: Any, place: ast.AST) -> None:
    """Binds the variable of a loop: it names what is there, and makes no inputs."""
    if isinstance(target, ast.Name):
        self.names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each, part, at in _unpacked(self, target, value, place):
            define_variable(self, each, part, at)
    else:
        define(self, target, value, place)


def _unpacked(
    self: Interpreter, target: ast.Tuple | ast.List, value: Any, place: ast.AST
) -> list[tuple[ast.expr, Any, ast.AST]]:
    """The targets of an unpacking, each with its value and where that is written."""
    count = len(target.elts)
    starred = [at for at, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
    if type(value) is Swept:
        return [(each, value, place) for each in target.elts]
    if isinstance(value, Instance) or type(value) is Stream:
        value = self.iterate(value, place)
    if type(value) is Pick and len(value.base.shape) > 1:
        value = self.picked(value, place)  # a row of a table
    if not isinstance(value, (tuple, list, dict, str, np.ndarray)) and not (type(value) is Node and value.shape):
        found = f"one tensor of shape {value.shape}" if type(value) is Node else "one value"
        raise GradError(meaning.unpack(self.span(place), count, found))
    if type(value) is Node and value.shape[0] != count:
        raise GradError(meaning.unpack(self.span(place), count, f"one tensor of shape {value.shape}"))
    values = self.iterate(value, place)
    if len(values) != count - len(starred) and (not starred or len(values) < count - 1):
        raise GradError(meaning.unpack(self.span(place), count, f"{len(values)} values"))
    targets: list[ast.expr] = list(target.elts)
    if starred:
        at = starred[0]
        rest = len(values) - count + 1
        values[at : at + rest] = [Items(values[at : at + rest])]
        targets[at] = target.elts[at].value  # type: ignore[attr-defined]
    listed = isinstance(place, (ast.Tuple, ast.List)) and len(place.elts) == len(targets) and not starred
    places = place.elts if listed else [place] * len(targets)  # type: ignore[attr-defined]
    if type(value) is Node:
        values = [self.picked(pick, place) for pick in values]
    return list(zip(targets, values, places, strict=True))


def _set_entry(self: Interpreter, target: ast.Subscript, value: Any, place: ast.AST) -> None:
    """`h[t] = …`: a member of a family, an entry of a list or dictionary, or a part of a tensor."""
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    if name and self.look_up(name) is self.missing and not self.is_known(name):
        family = Table(family=True)
        family.owner.label, family.owner.parent = name, self.owner
        self.names[name] = family
    base = self.value(target.value)
    key = self.plain_value(target.slice)
    if type(base) is Swept or (type(base) is Module and self.full_path(base.path).partition(".")[0] in ASIDE):
        return
    if type(base) is Table:
        named = isinstance(key, (Instance, Function))
        if not named and (not isinstance(key, (str, int, float, tuple)) or contains(key, Node)):
            found = self.found(key)
            expected = "a number, a text, or several of those"
            raise GradError(meaning.wrong_argument(self.span(target.slice), "the name of an entry", expected, found))
        self.store(base, key, value, place)
    elif type(base) is Items and isinstance(key, int):
        if base.fixed or not -len(base) <= key < len(base):
            if base.fixed:
                raise GradError(meaning.cannot_assign(self.span(target), "an entry of a tuple", "use a list: [a, b]"))
            known = [f"{self.text(target.value)}[{k}]" for k in range(len(base))]
            raise GradError(meaning.unknown_member(self.span(target), self.text(target), known))
        self.store(base, key % len(base), value, place)
    elif isinstance(base, Instance) and isinstance(base.cls.find("__setitem__"), Function):
        function = base.cls.find("__setitem__")
        self.call_function(function, [base, key, value], {}, place, base.owner)
    elif isinstance(base, (Node, list, np.ndarray)):
        _set_part(self, target, self.operand(base, target.value), value, place)
    else:
        raise GradError(meaning.cannot_assign(self.span(target), f"a part of {self.found(base)}", "use a plain name"))


def _whole_part(self: Interpreter, base: Node, value: Any, place: ast.AST) -> Any:
    """What is kept of numbers that are put into an array of whole numbers."""
    root, _ = array_of(self, base)
    if root not in self.integers and not ("numpy" in self.imported and root not in self.raw and self.is_whole(base)):
        return value
    if isinstance(value, (int, float)):
        return int(value)  # as NumPy does
    node = self.operand(value, place)
    if not np.all(self.value_of(node) == np.trunc(self.value_of(node))):
        way_out = "make it an array of floats: `np.array([1.0, 2.0])`, `dtype=float`"
        what = "putting fractions into an array of whole numbers, which would cut them off,"
        raise GradError(meaning.not_in_language(self.span(place), what, way_out))
    return value


def _set_part(self: Interpreter, target: ast.Subscript, base: Node, value: Any, place: ast.AST) -> None:
    """`x[key] = v`: from here on, the name is that of a tensor with other numbers at that place."""
    value = _whole_part(self, base, value, place)
    leaf = _leaf(self, target.value)
    if leaf is not None:
        if self.backwards and self.cut is None:
            update(self, ast.copy_location(ast.Expr(target), target), without_data(target.value))
            return
        numbers = np.array(self.value_of(leaf))
        try:
            numbers[index_parts(self, target)] = self.value_of(self.operand(value, place))
        except (ValueError, IndexError):
            pass  # said better below
        else:
            set_numbers(self, leaf, numbers, place)
            return
    if (mask := _mask(self, target.slice, base)) is not None:
        part = self.operand(value, place)
        if not part.shape or part.shape == base.shape:
            rebind(
                self, target.value, self.apply(where, (mask, part, base), None, target, (target, place)), base, place
            )
            return
    key = index_parts(self, target)
    if key_repeats(base.shape, key):
        if not isinstance(value, (int, float)):
            array, indices = self.text(target.value), self.text(target.slice)
            way_out = f"np.add.at({array}, {indices}, ...) adds up what belongs to one entry"
            raise GradError(meaning.repeated_index(self.span(target.slice), way_out))
        chosen = np.zeros(base.shape, bool)
        chosen[key] = True
        parts = (self.graph.constant(chosen), self.operand(value, place), base)
        rebind(self, target.value, self.apply(where, parts, None, target, (target, place)), base, place)
        return
    part = self.operand(value, place)
    settings = {"key": key, "text": self.text(target.slice)}
    if not any(isinstance(n, ast.Name) for n in ast.walk(target.slice)):
        del settings["text"]
    node = self.apply(assigned, (base, part), settings, target, (target.value, place), {"key": target.slice})
    rebind(self, target.value, node, base, place)


def _leaf(self: Interpreter, target: ast.expr) -> Node | None:
    """The leaf whose numbers a line sets without an operation: `w.data` is written to, or w under `no_grad`."""
    bare = without_data(target)
    if bare is target and not self.without_gradient:
        return None
    value = self.value(loaded(bare))
    if type(value) is Pick:
        return None
    return value if type(value) is Node and value.op is INPUT else None


def _mask(self: Interpreter, place: ast.expr, base: Node) -> Node | None:
    """The mask in `x[x < 0] = 0`, whose values go with the inputs; None for another index."""
    if isinstance(place, (ast.Slice, ast.Tuple, ast.Constant)):
        return None
    count = len(self.graph.nodes)
    mask = self.value(place)
    if type(mask) is Node and mask.dtype == "bool" and mask.shape == base.shape and mask.shape:
        return mask
    if len(self.graph.nodes) > count:
        self.forget(count)
    return None


def rebind(self: Interpreter, target: ast.expr, node: Node, before: Any, place: ast.AST) -> None:
    """Gives the name of an array to what it has become, and likewise every other holder and view of the same array."""
    if isinstance(target, ast.Subscript) and isinstance(self.value(target.value), (Node, np.ndarray)):
        define(self, target, node, place)  # a part of an array: that array changes
        return
    own = target.id if isinstance(target, ast.Name) else ""
    if isinstance(target, ast.Call) and isinstance(before, Node):  # `x.view(-1)[0] = 1`
        changed(self, before, node, place, own)
        return
    define(self, target, node, place)
    if "jax" not in self.imported:  # its arrays never change
        changed(self, before, node, place, own)


def _set_attribute(self: Interpreter, target: ast.Attribute, value: Any, place: ast.AST) -> None:
    base = self.value(target.value)
    if isinstance(base, (Instance, Class)):
        self.set_member(base, target.attr, value, place)
    elif type(base) is Node and target.attr == "data":
        if self.backwards and self.cut is None and base.op is INPUT:
            update(self, ast.copy_location(ast.Expr(target), target), target.value)
        elif not set_numbers(self, base, value, place):
            define(self, target.value, value, place)
    else:
        way_out = "use a plain name on the left of `=`"
        raise GradError(meaning.cannot_assign(self.span(target), "an attribute", way_out))


def _assign(self: Interpreter, statement: ast.Assign) -> None:
    target = statement.targets[0]
    if type(target) is ast.Name and len(statement.targets) == 1 and not self.tainted and not self.backwards:
        value = self.value(statement.value)  # a plain definition, of which there may be a hundred thousand
        if type(value) is Node:
            self.bind(target.id, value, statement.value)
            if root_of(target.id):
                taint(self, statement.targets, statement.value)
            return
        _bind_all(self, statement, value)
        return
    if isinstance(target, ast.Attribute) and _is_bookkeeping(self, target):
        if target.attr == "grad":
            set_zero(self, statement)
        elif target.attr == "requires_grad" and type(node := self.value(target.value)) is Node:
            ask_for(node, self.plain_value(statement.value) is not False)
            return
        self.note(f"`{self.text(statement)}` passed over")
        return
    check_not_updated(self, statement.targets[0], statement.value)
    if len(statement.targets) == 1 and is_update(self, statement.targets[0], statement.value):
        update(self, statement, statement.targets[0])
        return
    _bind_all(self, statement, self.value(statement.value))


def _bind_all(self: Interpreter, statement: ast.Assign, value: Any) -> None:
    """Binds every target of an assignment, unless it changes parameters by what the sweep finds."""
    if _holds_swept(value) and any(_holds_nodes_now(self, t) for t in statement.targets):
        update(self, statement, statement.targets[0])
        return
    for target in statement.targets:
        define(self, target, value, statement.value)
        if isinstance(target, ast.Name):
            value = self.look_up(target.id)
    taint(self, statement.targets, statement.value)


def _holds_swept(value: Any) -> bool:
    return contains(value, Swept)


def _holds_nodes_now(self: Interpreter, target: ast.expr) -> bool:
    """Whether a target is a name that holds nodes already, and no gradients."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_holds_nodes_now(self, each) for each in target.elts)
    if isinstance(target, ast.Name):
        value = self.look_up(target.id)
        nodes = self.parameters(value) if value is not self.missing else []
        written = all(node.number in self.written_out for node in nodes)  # gradients of an earlier call
        return bool(nodes) and not written and not contains(value, Swept)
    return isinstance(target, (ast.Subscript, ast.Attribute)) and _holds_nodes_now(self, target.value)


def _is_bookkeeping(self: Interpreter, target: ast.expr) -> bool:
    """`w.grad = None`, `w.requires_grad = True`, `a.label = "a"`."""
    if not isinstance(target, ast.Attribute) or target.attr not in BOOKKEEPING:
        return False
    return not isinstance(self.value(target.value), (Instance, Class))


def _annotated(self: Interpreter, statement: ast.AnnAssign) -> None:
    if statement.value is None:
        raise GradError(meaning.not_in_language(self.span(statement), "a name without a value", "write `name = value`"))
    define(self, statement.target, self.value(statement.value), statement.value)


def _augmented(self: Interpreter, statement: ast.AugAssign) -> None:
    target = statement.target
    if (
        isinstance(target, ast.Attribute)
        and target.attr in BOOKKEEPING
        and not isinstance(self.value(target.value), Instance)
    ):
        self.note(f"`{self.text(statement)}` passed over")
        return
    if (
        isinstance(target, ast.Attribute)
        and target.attr == "data"
        and not isinstance(self.value(target.value), Instance)
    ):
        target = without_data(target)  # type: ignore[assignment]
    check_not_updated(self, target, statement.value)
    if is_update(self, target, statement.value, augmented=True):
        update(self, statement, target)
        return
    if isinstance(target, ast.Subscript) and (changed := _masked(self, statement, target)) is not None:
        rebind(self, target.value, changed, self.value(target.value), target)
        taint(self, [target], statement.value)
        return
    left = self.value(loaded(target))
    right = self.value(statement.value)
    if type(left) is Items and isinstance(statement.op, ast.Add):
        LIST_METHODS["extend"](self, left, statement.value, right)
        return
    value = self.binary(BINARY[type(statement.op)], left, right, statement, (target, statement.value))
    _require_whole(self, left, right, statement)
    if type(value) is Swept and type(left) is Node:
        update(self, statement, target)
        return
    leaf = _leaf(self, statement.target)
    if leaf is not None and leaf.shape:
        if self.backwards and self.cut is None:
            update(self, statement, target)
            return
        if set_numbers(self, leaf, value, statement):
            return
    in_place = type(left) is Node and (left.shape or ("torch" in self.imported and self.is_tensor(left)))
    if in_place and type(value) is Node:
        rebind(self, target, value, left, statement)
    else:
        define(self, target, value, statement)
    taint(self, [target], statement.value)


def _masked(self: Interpreter, statement: ast.AugAssign, target: ast.Subscript) -> Node | None:
    """`x[x < 0] *= 0.1`, with a mask whose values go with the inputs; None if it is no such line."""
    base = self.value(target.value)
    if type(base) is not Node or _leaf(self, target.value) is not None:
        return None
    mask = _mask(self, target.slice, base)
    if mask is None:
        return None
    count = len(self.graph.nodes)
    right = self.value(statement.value)
    if not isinstance(right, (int, float)) and not (type(right) is Node and right.shape in ((), base.shape)):
        self.forget(count)
        return None
    value = self.binary(BINARY[type(statement.op)], base, right, statement, (target, statement.value))
    if type(value) is not Node or value.shape != base.shape:
        return None
    return self.apply(where, (mask, value, base), None, target, (target, statement.value))


def _require_whole(self: Interpreter, left: Any, right: Any, statement: ast.AugAssign) -> None:
    """Refuses what NumPy and PyTorch refuse: `a += 0.5` would put fractions into an array of whole numbers."""
    if type(left) is not Node or not left.shape or not {"numpy", "torch"} & self.imported or "jax" in self.imported:
        return
    listed = array_of(self, left)[0] in self.raw and array_of(self, left)[0] not in self.integers
    if listed or not self.is_whole(left):
        return
    if isinstance(statement.op, ast.Div):
        fractions = True
    elif isinstance(right, Node):
        fractions = not self.is_whole(right)
    else:
        fractions = isinstance(right, float) or (isinstance(right, np.ndarray) and right.dtype.kind == "f")
    if fractions:
        way_out = "make it an array of floats: `np.array([1.0, 2.0])`, `dtype=float`"
        what = "changing an array of whole numbers in place by fractions, which NumPy refuses,"
        raise GradError(meaning.not_in_language(self.span(statement), what, way_out))


# Expressions as statements -----------------------------------------------------------------------


def _import(self: Interpreter, statement: ast.Import | ast.ImportFrom) -> None:
    origin = getattr(statement, "module", None)
    for alias in statement.names:
        path = origin or alias.name
        if path.split(".")[0] not in LIBRARIES:
            raise GradError(
                meaning.not_in_language(
                    self.span(statement),
                    f"importing `{path}`",
                    "leave it out; NumPy's and PyTorch's names are known here",
                )
            )
        self.imported.add(path.split(".")[0])
        name = alias.asname or alias.name
        if isinstance(statement, ast.Import):
            self.modules.add(name.split(".")[0])
            if alias.asname:
                self.paths[name] = alias.name
        elif path.endswith(".stats"):
            self.modules.add(name)  # a distribution, whose functions are called through it
            self.paths[name] = f"{path}.{alias.name}"
        elif self.is_function(alias.name) or find(self, alias.name, Module(path), statement):
            self.brought.add(name)
            if alias.asname:
                self.names[alias.asname] = Known(alias.name, Module(path))
        else:
            self.modules.add(name)
            self.paths[name] = f"{path}.{alias.name}"
    self.note(f"`{self.text(statement)}` passed over: the usual names are known here")


def _expression(self: Interpreter, statement: ast.Expr) -> None:
    node = statement.value
    if isinstance(node, ast.Constant) and (isinstance(node.value, str) or node.value is Ellipsis):
        return  # a comment in quotes, or a body that is not there
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        self.result.claims.append(Claim(self.line, self.text(node), node.left, node.comparators[0]))
        return
    if isinstance(node, ast.Call) and _called(self, node):
        return
    if isinstance(node, (ast.Name, ast.Attribute)) and self.text(node).split(".")[0] in self.names:
        self.note(f"`{self.text(node)}` passed over: it defines nothing")
        return
    count = len(self.graph.nodes)
    value = self.value(node)
    if len(self.graph.nodes) > count and type(value) is Node and self.owner is None and not value.name:
        self.note(f"`{self.text(node)}` has no name, so nothing can use it")


def _called(self: Interpreter, node: ast.Call) -> bool:
    """Whether a line that is a call was all about something else than a value."""
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    own = self.value(called.value) if isinstance(called, ast.Attribute) and name in (*PASSED_OVER, "backward") else None
    if isinstance(own, Instance) and own.cls.find(name):
        if name == "backward" and not node.args and is_number_class(own.cls) and (number := number_of(own)) is not None:
            sweep_from(self, number, None, node)  # the program's own engine finds the gradients besides
        return False
    if name == "backward" and not isinstance(own, Class):
        backward(self, node)
        return True
    if name in ("eval", "train") and isinstance(own, (Instance, Known)):
        modes = [self.plain(self.value(a)) for a in (*node.args, *(k.value for k in node.keywords))]
        set_mode(self, own, name == "train" and modes[:1] != [False], node)
        return True
    if name == "zero_" and type(own) is Node:
        return in_place(self, node) is not None
    if name in PASSED_OVER and (isinstance(called, ast.Attribute) or self.look_up(name) is self.missing):
        if name in SEEDERS and isinstance(called, ast.Attribute):
            return self.seed_generator(node)
        if name in self.training:
            self.training[name](self, node)
            return True
        if name in ("print", "display") and self.cut is None and _printed(self, node):
            return True
        why = "give a random tensor its own `seed=`" if name in SEEDERS else "it changes no value"
        self.note(f"`{_short(self.text(node))}` passed over: {why}")
        return True
    return in_place(self, node) is not None


def _printed(self: Interpreter, node: ast.Call) -> bool:
    """`print(grad(f)(x))`: a gradient that is only printed is what is derived, if the program asks for no other."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Call) or part is node:
            continue
        if isinstance(part.func, ast.Call):
            made = self.value(part.func)
            asks = isinstance(made, Transformed) and made.kind != "partial"
        elif isinstance(part.func, ast.Attribute):
            base = part.func.value
            asks = part.func.attr == "gradient" and isinstance(base, ast.Name) and _is_tape(self.look_up(base.id))
        else:
            made = self.look_up(part.func.id) if isinstance(part.func, ast.Name) else None
            asks = isinstance(made, Transformed) and made.kind != "partial"
        if asks and self.backwards:
            self.note(f"the gradients that `{_short(self.text(node))}` prints are not shown: others have names")
            return True
        if asks:
            self.value(part)
            self.printed, self.backwards = self.backwards or self.printed, []
            return True
    return False


def _is_tape(value: Any) -> bool:
    return type(value) is Module and value.path == "tape"


def in_place(self: Interpreter, node: ast.Call) -> Any:
    """What a call that changes what it is given leaves there; None if the call is none of these.

    `w.sub_(lr * g)`, `w.data.copy_(v)`, `nn.init.zeros_(w)`, `x.view(-1).mul_(2)`, `torch.empty(3).fill_(1)`.
    """
    called = node.func
    out = next((k.value for k in node.keywords if k.arg == "out"), None)
    if out is not None:
        return _written_to(self, node, out)
    if isinstance(called, ast.Attribute) and called.attr == "at" and isinstance(called.value, ast.Attribute):
        return _at_places(self, node, called.value)
    if isinstance(called, ast.Attribute) and called.attr in CHANGING and "torch" not in self.imported:
        return _changed_by_method(self, node, called)
    if isinstance(called, ast.Attribute) and called.attr in ASSIGNING and len(node.args) == 1:
        return _assigned_to(self, node, called)
    if not isinstance(called, ast.Attribute) or not called.attr.endswith("_") or called.attr.startswith("_"):
        return None
    if called.attr in METHODS:
        return None
    name, target, arguments = called.attr[:-1], called.value, list(node.args)
    current = self.value(without_data(target))
    of_module = isinstance(current, Module)
    if of_module:
        if not arguments:
            return None
        target = arguments.pop(0)
        current = self.value(without_data(target))
    place, target = target, without_data(target)
    current = current.value if isinstance(current, Input) else current
    if type(current) is Swept or not isinstance(current, (Node, np.ndarray)):
        return current if type(current) is Swept else None
    values = [self.value(a) for a in arguments]
    words = {k.arg: self.plain(self.value(k.value)) for k in node.keywords}
    if name == "copy":
        made: Any = values[0] if values else None
    else:
        made = fill(self, name, current.shape, [self.plain(v) for v in values], words, node)
    if isinstance(current, np.ndarray):  # numbers that have no name yet
        if made is not None:
            return made.astype(current.dtype) if isinstance(made, np.ndarray) else made
        current = self.operand(current, place)
    addressed = isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
    set_outside = self.without_gradient or target is not place
    leaf = _leaf(self, place) if addressed else current if set_outside and current.op is INPUT else None
    if made is not None:
        if set_numbers(self, current, made, node, broadcast=True):
            return self.value(loaded(target)) if addressed else current
        return _becomes(self, target, self.operand(made, node), current, node)
    if of_module:
        return None
    method = ast.Call(ast.Attribute(loaded(target), name, ast.Load()), arguments, node.keywords)
    for part in (method, method.func):
        ast.copy_location(part, node)
    value = self.value(method) if addressed else _of_value(self, method, current)
    if type(value) is Swept or (leaf is not None and self.backwards and self.cut is None):
        update(self, ast.copy_location(ast.Expr(node), node), target)
        return Swept()
    if leaf is not None and set_numbers(self, leaf, value, node):
        return self.value(loaded(target)) if addressed else leaf
    return _becomes(self, target, self.operand(value, node), current, node)


def _of_value(self: Interpreter, call: ast.Call, current: Node) -> Any:
    """A method of what has been computed already, so that it is not computed once more."""
    name = "in_place"
    while name in self.names:
        name += "_"
    self.names[name] = current
    try:
        call.func.value = ast.copy_location(ast.Name(name, ast.Load()), call)  # type: ignore[attr-defined]
        return self.value(call)
    finally:
        self.names.pop(name, None)


def _becomes(self: Interpreter, target: ast.expr, node: Node, before: Any, place: ast.AST) -> Any:
    """Lets an array, or what an expression is a view of, become a node; gives what the expression then stands for."""
    if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        rebind(self, target, node, before, place)
        return self.value(loaded(target))
    root, views = array_of(self, before)
    changed(self, before, node, place, "")
    return follow(self, views, self.current[root], place) if views and root in self.current else node


def _assigned_to(self: Interpreter, node: ast.Call, called: ast.Attribute) -> Any:
    """`w.assign_sub(lr * dw)`: TensorFlow's variables change so."""
    target = called.value
    current = self.value(target)
    if type(current) is not Node:
        return None
    value = self.value(node.args[0])
    if contains(value, Swept) or (current.op is INPUT and self.backwards and self.cut is None):
        update(self, ast.copy_location(ast.Expr(node), node), target)
        return Swept()
    sign = ASSIGNING[called.attr]
    made = self.binary(sign, current, value, node, (target, node.args[0])) if sign else self.operand(value, node)
    if type(made) is Swept:
        update(self, ast.copy_location(ast.Expr(node), node), target)
    elif not set_numbers(self, current, np.array(self.value_of(made)), node):
        rebind(self, target, made, current, node)
    return self.value(target)


def without_data(target: ast.expr) -> ast.expr:
    """`w` for `w.data` and `w.detach()`, which hold the same numbers."""
    while True:
        if isinstance(target, ast.Attribute) and target.attr == "data":
            target = target.value
        elif (
            isinstance(target, ast.Call)
            and isinstance(target.func, ast.Attribute)
            and target.func.attr == "detach"
            and not target.args
        ):
            target = target.func.value
        else:
            return target


def _written_to(self: Interpreter, node: ast.Call, target: ast.expr) -> Any:
    """`np.clip(g, -5, 5, out=g)`: the result goes to a name that there is already."""
    current = self.value(target)
    if type(current) is not Node:
        return None
    call = ast.copy_location(ast.Call(node.func, node.args, [k for k in node.keywords if k.arg != "out"]), node)
    rebind(self, target, self.operand(self.value(call), node), current, node)
    return self.value(loaded(target))


def _changed_by_method(self: Interpreter, node: ast.Call, called: ast.Attribute) -> Any:
    """`x.sort()`, `x.fill(3.0)`: NumPy's methods that change the array itself."""
    current = self.value(called.value)
    if not isinstance(current, (Node, np.ndarray)) or not isinstance(called.value, (ast.Name, ast.Attribute)):
        return None
    if called.attr == "fill" and len(node.args) == 1:
        filled = self.binary("+", np.zeros(current.shape), self.value(node.args[0]), node, (node, node.args[0]))
        rebind(self, called.value, self.operand(filled, node), current, node)
        return Swept()
    function = ast.Attribute(ast.copy_location(ast.Name("np", ast.Load()), node), called.attr, ast.Load())
    call = ast.Call(ast.copy_location(function, node), [loaded(called.value), *node.args], node.keywords)
    rebind(self, called.value, self.operand(self.value(ast.copy_location(call, node)), node), current, node)
    return Swept()


UFUNCS = {"add": "+", "subtract": "-"}
"""NumPy's functions whose `.at` is read, with their signs."""


def _at_places(self: Interpreter, node: ast.Call, function: ast.Attribute) -> Any:
    """`np.add.at(x, key, v)`: an entry that is named twice receives both."""
    if function.attr not in UFUNCS or len(node.args) != 3 or not isinstance(self.value(function), Known):
        return None
    target, key_place, value_place = node.args
    current = self.operand(self.value(target), target)
    part = self.operand(self.value(value_place), value_place)
    key = index_parts(self, ast.copy_location(ast.Subscript(target, key_place, ast.Load()), node))
    taken = self.take(current, {"key": key}, node, (target,)).shape
    if part.shape != taken:
        part = self.apply(broadcast_to, (part,), {"shape": taken}, node, (value_place,))
    spread = self.apply(put, (part,), {"key": key, "shape": current.shape}, node, (value_place,))
    added = self.binary(UFUNCS[function.attr], current, spread, node, (target, value_place))
    rebind(self, target, self.operand(added, node), current, node)
    return Swept()


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


# Control flow ------------------------------------------------------------------------------------


def _for(self: Interpreter, statement: ast.For) -> None:
    faults = len(self.problems)

    def turn(value: Any) -> None:
        self.count_step(statement)
        define_variable(self, statement.target, value, statement.iter)
        with contextlib.suppress(Continue):
            self.loop_body(statement.body)
        if self.cut is not None:
            self.ended = True
        if self.ended or len(self.problems) > faults:
            raise Left

    source = self.value(statement.iter)
    if source is ASIDE_VALUE:
        self.note(f"the loop over `{self.text(statement.iter)}` passed over: it has nothing to do with a derivation")
        return
    try:
        self.each(source, statement.iter, turn)
    except (Break, Left):
        return
    self.block(statement.orelse)


def _while(self: Interpreter, statement: ast.While) -> None:
    faults, passes = len(self.problems), 0
    while self.branch(statement.test):
        self.count_step(statement)
        try:
            self.loop_body(statement.body)
        except Continue:
            pass
        except Break:
            return
        if self.cut is not None:
            self.ended = True
        passes += 1
        if self.ended or len(self.problems) > faults or (faults and passes >= PASSES_WITH_FAULTS):
            return
        if not self.line_fixed:
            self.line = self.part.line_of(statement)
    self.block(statement.orelse)


def _if(self: Interpreter, statement: ast.If) -> None:
    try:
        holds = self.branch(statement.test)
    except GradError as error:
        asks_gradients = all(problem.code == "gradient-as-value" for problem in error.problems)
        if not asks_gradients or not _only_about_gradients(self, [*statement.body, *statement.orelse]):
            raise
        text = self.text(statement.test)
        self.note(f"`if {text}` passed over: it asks for gradients, and changes nothing but them")
        return
    self.block(statement.body if holds else statement.orelse)


def _only_about_gradients(self: Interpreter, statements: list[ast.stmt]) -> bool:
    """Whether statements do nothing but print, and change gradients once they are there."""
    for statement in statements:
        if isinstance(statement, (ast.For, ast.If)):
            if not _only_about_gradients(self, [*statement.body, *statement.orelse]):
                return False
        elif isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not all(_is_gradient(self, target) for target in targets):
                return False
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called = statement.value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name not in ("print", *LOOKING) and not (
                isinstance(called, ast.Attribute) and name.endswith("_") and _is_gradient(self, called.value)
            ):
                return False
        elif not isinstance(statement, ast.Pass):
            return False
    return True


def _is_gradient(self: Interpreter, target: ast.expr) -> bool:
    """Whether a target is the gradient of something, `p.grad[:]`."""
    while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr == "data"):
        target = target.value
    if isinstance(target, ast.Attribute):
        return target.attr == "grad"
    return isinstance(target, ast.Name) and type(self.look_up(target.id)) is Swept


def _with(self: Interpreter, statement: ast.With) -> None:
    wanted: bool | None = None
    for item in statement.items:
        place = item.context_expr
        called = place.func if isinstance(place, ast.Call) else place
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in CONTEXTS:
            way_out = "write its lines without the `with`"
            raise GradError(meaning.not_in_language(self.span(place), f"`with {self.text(place)}`", way_out))
        if name in WITHOUT_GRADIENT:
            wanted = None if self.own_rule else False
        elif name == "enable_grad":
            wanted = True
        elif name == "set_grad_enabled" and isinstance(place, ast.Call) and place.args:
            wanted = self.decide(place.args[0])
        if isinstance(item.optional_vars, ast.Name):
            self.names[item.optional_vars.id] = Module("tape")
    tapes = [
        item.optional_vars.id
        for item in statement.items
        if isinstance(item.optional_vars, ast.Name) and "GradientTape" in self.text(item.context_expr)
    ]
    self.tapes += tapes
    try:
        with self.gradients(wanted):
            self.block(statement.body)
    finally:
        del self.tapes[len(self.tapes) - len(tapes) :]


PASSED_DECORATORS = (
    "jit",
    "wraps",
    "overload",
    "lru_cache",
    "abstractmethod",
    "custom_fwd",
    "custom_bwd",
    "once_differentiable",
    "cache",
    "function",
    "njit",
)
"""Decorators that change no value."""


def _function(self: Interpreter, statement: ast.FunctionDef) -> None:
    kind = ""
    fixed: tuple[int, ...] = ()
    gradients: bool | None = None
    for decorator in statement.decorator_list:
        text = self.text(decorator)
        name = text.partition("(")[0].rpartition(".")[2]
        if name in WITHOUT_GRADIENT or name == "enable_grad":
            gradients = name == "enable_grad"
        if name == "backward" and isinstance(decorator, ast.Attribute):
            function = self.value(decorator.value)
            if not isinstance(function, Function):
                found = self.found(function)
                raise GradError(
                    meaning.wrong_argument(self.span(decorator), "what has a rule", "a function above", found)
                )
            function.rule = self.define_function(statement, f"{function.name}.backward")
            return
        if name == "defjvp":
            self.note(f"`@{text}` passed over: what is derived is the forward part")
            return
        if name in ("staticmethod", "classmethod", "property"):
            kind = name
        elif (numbers := custom_vjp(self, decorator)) is not None:
            fixed = numbers
        elif "jit" not in text and name not in CONTEXTS and name not in PASSED_DECORATORS:
            way_out = "leave the decorator out, or write what it does"
            raise GradError(meaning.not_in_language(self.span(decorator), f"the decorator `@{text}`", way_out))
    function = self.define_function(statement, statement.name)
    function.kind, function.fixed = kind, fixed
    function.gradients = gradients
    self.names[statement.name] = function


def _field(self: Interpreter, place: ast.expr) -> Any:
    """The default of a field of a dataclass."""
    if isinstance(place, ast.Call) and self.text(place.func).rpartition(".")[2] == "field":
        for word in place.keywords:
            if word.arg == "default_factory":
                return Factory(self.value(word.value))
            if word.arg == "default":
                return self.value(word.value)
        return self.missing
    return self.value(place)


def _class(self: Interpreter, statement: ast.ClassDef) -> None:
    bases: list[Any] = []
    for base in statement.bases:
        outside = isinstance(base, ast.Name) and self.look_up(base.id) is self.missing
        value = None if outside else self.value(base)
        bases.append(value if isinstance(value, Class) else self.text(base))
    cls = Class(statement.name, {}, tuple(bases))
    before = self.names, self.scopes
    self.scopes = (self.names, *self.scopes)
    self.names = cls.members
    try:
        for part in statement.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                cls.members.setdefault("__annotations__", []).append(part.target.id)
                if part.value is not None:
                    cls.members[part.target.id] = _field(self, part.value)
            elif isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], ast.Name):
                cls.members[part.targets[0].id] = self.value(part.value)
            else:
                self.block([part])
    finally:
        self.names, self.scopes = before
    for member in cls.members.values():
        if isinstance(member, Function):
            member.owner = cls
            member.scopes = (self.names, *self.scopes)
    self.names[statement.name] = cls


def _return(self: Interpreter, statement: ast.Return) -> None:
    if not self.active:
        raise GradError(self.refusal(statement))
    raise Return(None if statement.value is None else self.value(statement.value))


def _break(self: Interpreter, statement: ast.Break) -> None:
    if not self.loops:
        raise GradError(self.refusal(statement))
    raise Break


def _continue(self: Interpreter, statement: ast.Continue) -> None:
    if not self.loops:
        raise GradError(self.refusal(statement))
    raise Continue


def _global(self: Interpreter, statement: ast.Global | ast.Nonlocal) -> None:
    if not self.active:
        return
    for name in statement.names:
        scopes = [self.globals] if isinstance(statement, ast.Global) else self.scopes
        self.declared[name] = next((s for s in scopes if name in s), self.globals)


def _assert(self: Interpreter, statement: ast.Assert) -> None:
    self.note(f"`{_short(self.text(statement))}` passed over: it changes no value")


def _try(self: Interpreter, statement: ast.Try) -> None:
    """`try`: its lines are read as if they succeeded."""
    if statement.handlers:
        self.note("the lines of `except` passed over: those of `try` are read as if they succeeded")
    self.block(statement.body)
    self.block(statement.orelse)
    self.block(statement.finalbody)


def _pass(self: Interpreter, statement: ast.stmt) -> None:
    """`pass` means nothing."""


def _delete(self: Interpreter, statement: ast.Delete) -> None:
    """`del x`, `del cache["z"]`: a name or an entry is no longer there."""
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id in self.names:
            del self.names[target.id]
            continue
        base = self.value(target.value) if isinstance(target, (ast.Subscript, ast.Attribute)) else None
        key = self.plain_value(target.slice) if isinstance(target, ast.Subscript) else None
        if isinstance(base, Instance) and isinstance(target, ast.Attribute) and target.attr in base.attributes:
            del base.attributes[target.attr]
        elif isinstance(base, dict) and isinstance(key, (str, int, float)) and key in base:
            del base[key]
        elif type(base) is Items and not base.fixed and isinstance(key, int) and -len(base) <= key < len(base):
            del base[key]
            base.stacked = None
        else:
            raise GradError(self.refusal(statement))


STATEMENTS.update(
    {
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.Expr: _expression,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Pass: _pass,
        ast.For: _for,
        ast.While: _while,
        ast.If: _if,
        ast.With: _with,
        ast.FunctionDef: _function,
        ast.ClassDef: _class,
        ast.Return: _return,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.Global: _global,
        ast.Nonlocal: _global,
        ast.Assert: _assert,
        ast.Try: _try,
        ast.Delete: _delete,
    }
)

"""The reference of the operators, derived from their blocks: nothing here knows any particular one.

`entry(name)` says how an operator is called, what its rule is as mathematics, what it does at its kinks, and shows an
example that was run to make the entry.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gradcli.ops  # noqa: F401  (fills the registry)
from gradcli.api import derive
from gradcli.graph import INPUT, Op
from gradcli.graph.op import DIALECTS, REGISTRY, Shape, operators
from gradcli.ops.create import CREATORS
from gradcli.problems import GradError, command
from gradcli.report import Report
from gradcli.trace.binding import usage
from gradcli.trace.calls import known_functions

SHAPES: tuple[Shape, ...] = ((3,), (), (2, 2), (2, 3), (3, 2), (4, 4))
"""The shapes that an example's operands may have, the first that suit being taken."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What flows back to one operand: `dx = dy * cos(x)`; "" for nothing."""

    operand: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is said of one operator."""

    name: str
    family: str
    doc: str
    usage: str
    spellings: tuple[str, ...]
    rules: tuple[Rule, ...]
    kink: str
    example: str
    report: Report


def families() -> dict[str, list[Op]]:
    """The operators that a formula can use, by family, in the order of declaration."""
    found: dict[str, list[Op]] = {}
    for op in operators():
        found.setdefault(op.family, []).append(op)
    return found


def family_title(family: str) -> str:
    """What a family is about: the first line of its module."""
    module = sys.modules.get(f"gradcli.ops.{family}")
    return (inspect.getdoc(module) or family).split("\n")[0].rstrip(".")


def entry(word: str) -> Entry:
    """The entry of an operator by any of its spellings or signs.  Raises GradError with the nearest name."""
    op = (
        REGISTRY.get(word)
        or DIALECTS.get(word)
        or next((o for o in operators() if o.infix.removeprefix("u") == word), None)
    )
    if op is None:
        raise GradError(
            command.unknown_operator(word, [*known_functions(), *(o.infix for o in operators() if o.infix)])
        )
    for text in _examples(op):
        try:
            report = derive(text)
        except GradError:
            continue
        if all(np.isfinite(v).all() for v in report.values if getattr(v, "dtype", None) is not None):
            told = report.shown if op.composes is not None else report.node("y").operands
            inputs = tuple(n.name for n in told if n.differentiable and (n.op is INPUT or op.composes is None))
            return _entry(op, text, replace(report, wrt=inputs))
    raise AssertionError(f"no example suits {op.name}; give its block one")


def _entry(op: Op, text: str, report: Report) -> Entry:
    node = report.node("y")
    rules = []
    operands = () if op.composes is not None else enumerate(node.operands)
    for slot, operand in operands:
        passes = node.op.passes(slot) and operand.differentiable
        rules.append(Rule(operand.name, report.rule(node, slot).replace("dL/dy", "dy") if passes else ""))
    signs = (op.infix.removeprefix("u"),) if op.infix else ()
    spellings = tuple(s for s, o in REGISTRY.items() if o is op and s != op.name)
    return Entry(
        op.name, op.family, op.doc, usage(op), (*signs, *spellings), tuple(rules), op.kink, text.rstrip("\n"), report
    )


def _examples(op: Op) -> Iterator[str]:
    """Formula files with the operator in them, until one can be read: `y` is its value, `L` a scalar."""
    if op.example:
        yield op.example
        return
    names = [n.removeprefix("*") for n in op.operands]
    count = 2 if op.variadic else len(names)
    operands = ["a", "b"] if op.variadic else names
    for shapes in itertools.product(SHAPES, repeat=count):
        lines = [f"{n} = {_numbers(op, k, s)}" for k, (n, s) in enumerate(zip(operands, shapes, strict=True))]
        for call in _calls(op, operands, shapes):
            loss = (
                "sum(y)"
                if op.composes is not None or any(op.passes(slot) for slot in range(len(op.operands)))
                else "sum(1.0 * y)"
            )
            yield "\n".join([*lines, f"y = {call}", f"L = {loss}"]) + "\n"


def _calls(op: Op, operands: list[str], shapes: tuple[Shape, ...]) -> Iterator[str]:
    """Calls with settings that may suit, and, of a spelling with several results, the first of them."""
    if op.leading:
        letters = ["".join("ijk"[: len(s)]) for s in shapes]
        yield f'{op.name}("{",".join(letters)}->{letters[0]}", {", ".join(operands)})'
        return
    places = f"[{', '.join(operands)}]" if op.variadic else ", ".join(operands)
    if op.order:  # a setting stands between the operands: by name, nothing can be mistaken
        places = ", ".join([operands[0], *(f"{name}={name}" for name in operands[1:])])
    required = [name for name, setting in op.settings.items() if setting.required]
    for values in itertools.product(_SETTINGS, repeat=len(required)):
        named = "".join(f", {name}={value}" for name, value in zip(required, values, strict=True))
        for first in ("", "[0]") if op.expands is not None else ("",):
            yield f"{op.name}({places}{named}){first}"


_SETTINGS = ("(3, 1)", "3", "2", "1", "0", "(0, 1)", '"float32"')
"""What a required setting may be; the first that suits is taken."""


def _numbers(op: Op, slot: int, shape: Shape) -> str:
    """Numbers of the operator's domain, all different, as a literal."""
    kind = op.operand_kinds[slot] if slot < len(op.operand_kinds) else "number"
    count = int(np.prod(shape))
    if kind in ("labels", "indices"):
        values: Any = [k % 2 for k in range(count)]
    elif kind == "mask":
        values = [k % 2 == 0 for k in range(count)]
    elif op.matrix and slot == 0 and len(shape) == 2 and shape[0] == shape[1]:
        values = 2 * np.eye(shape[0]) + 0.5  # regular, and positive definite
    else:
        low, high = op.domain
        spread = (0.618 * (np.arange(count) + 1 + 2 * slot)) % 1
        values = [round(low + (high - low) * (0.1 + 0.8 * float(s)), 2) for s in spread]
    return repr(np.array(values).reshape(shape).tolist())


def creators() -> list[tuple[str, str]]:
    """The functions that make inputs, with what each is for."""
    return [(name, (inspect.getdoc(make) or "").split("\n")[0]) for name, make in CREATORS.items()]

"""The rows of a report: what is known of one node, one visit, one contribution, one gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcli.graph.op import Shape


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node: what it is and what its value is."""

    name: str
    operation: str
    formula: str
    operands: tuple[str, ...]
    shape: Shape
    dtype: str
    value: Any
    line: int
    input: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """One step of the order: why the node is ready, and what it makes ready.

    `because` names the consumers that have sent their contributions; it is empty for the output.
    `waiting` pairs operands that are not ready yet with the consumers they still wait for.
    """

    step: int
    node: str
    input: bool
    because: tuple[str, ...]
    ready: tuple[str, ...]
    waiting: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one consumer sends to one operand: upstream × local.

    `local` is the local gradient (of scalars only), `local_formula` and `rule` how it and the
    contribution are written.  `summed_over` are the axes whose repetition by broadcasting was undone by a sum, and
    `unsummed` is the contribution before that sum.  `arrived` are the operand's contributions so far,
    this one last, of `expected` in all.
    """

    operand: str
    slot: int
    shape: Shape
    local: float | None
    local_formula: str
    rule: str
    value: Any
    summed_over: tuple[int, ...]
    unsummed: Any
    arrived: tuple[Any, ...]
    expected: int

    @property
    def gradient_so_far(self) -> Any:
        """The sum of the contributions that have arrived."""
        total = self.arrived[0]
        for value in self.arrived[1:]:
            total = total + value
        return total


@dataclass(frozen=True, slots=True)
class Step:
    """One node passing its gradient on."""

    step: int
    node: str
    shape: Shape
    formula: str
    upstream: Any
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The derivative of the output with respect to one named node; `path` is False where none leads there."""

    name: str
    value: Any
    shape: Shape
    dtype: str
    path: bool
    input: bool

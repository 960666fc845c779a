"""Nested lists as they are written in a file, before they are tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.trace.values import Counted, Instance


def entries(value: Any) -> Iterator[Any]:
    """The numbers of a nested list, in order."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (list, tuple)):
            stack.extend(reversed(part))
        elif isinstance(part, np.ndarray):
            yield from part.ravel().tolist()
        else:
            yield part


def whole_list(value: Any) -> Any:
    """A nested list if every number in it is a whole one, else None."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (list, tuple)):
            stack.extend(part)
        elif type(part) not in (int, Counted):
            return None
    return value


def rows(shape: tuple[int, ...]) -> str:
    """A shape in the words of a message about ragged lists."""
    return f"a row of {shape[0]}" if len(shape) == 1 else f"shape {shape}" if shape else "a number"


def is_numbers(value: Any) -> bool:
    """Whether a nested list has an entry, and nothing but numbers in it: it can only be a tensor."""
    stack, found = [value], False
    while stack:
        part = stack.pop()
        if isinstance(part, (list, tuple)):
            stack.extend(part)
        elif isinstance(part, (bool, int, float)):
            found = True
        else:
            return False
    return found


def contains(value: Any, kind: type) -> bool:
    """Whether a value is of a kind, or holds one that is, however deep."""
    stack, seen = [value], set()
    while stack:
        part = stack.pop()
        if type(part) is kind:
            return True
        part = part.attributes if isinstance(part, Instance) else part
        if isinstance(part, (list, tuple, dict)) and id(part) not in seen:
            seen.add(id(part))
            stack.extend(part.values() if isinstance(part, dict) else part)
    return False

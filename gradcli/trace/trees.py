"""JAX's trees: containers inside containers, with numbers and tensors as their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradcli.trace.values import Instance, Items, Table


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves from left to right; of a dictionary in the order of its keys, as JAX has it.  None is no leaf."""
    if isinstance(tree, dict):
        for key in in_order(tree):
            yield from leaves(tree[key])
    elif isinstance(tree, (list, tuple)):
        for part in tree:
            yield from leaves(part)
    elif isinstance(tree, Instance):
        for part in tree.attributes.values():
            yield from leaves(part)
    elif tree is not None:
        yield tree


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same form, with what a function makes of the leaves that stand in the same place."""
    if isinstance(tree, dict):
        return Table({key: mapped(function, tree[key], *[_part(o, key) for o in others]) for key in tree})
    if isinstance(tree, (list, tuple)):
        parts = (mapped(function, part, *[_part(o, at) for o in others]) for at, part in enumerate(tree))
        return Items(parts, fixed=isinstance(tree, tuple) or (type(tree) is Items and tree.fixed))
    if isinstance(tree, Instance):
        made = Instance(tree.cls)
        for name, part in tree.attributes.items():
            made.attributes[name] = mapped(function, part, *[_part(o, name) for o in others])
        return made
    return None if tree is None else function(tree, *others)


def _part(tree: Any, key: Any) -> Any:
    """The part of another tree that stands in the same place; of something that is no container, itself."""
    if isinstance(tree, Instance):
        return tree.attributes.get(key)
    if isinstance(tree, dict):
        return tree.get(key)
    return tree[key] if isinstance(tree, (list, tuple)) and isinstance(key, int) and key < len(tree) else tree


def in_order(table: dict[Any, Any]) -> list[Any]:
    """The keys of a dictionary as JAX orders them."""
    try:
        return sorted(table)
    except TypeError:
        return list(table)

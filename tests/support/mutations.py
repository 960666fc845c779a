"""Ways to spoil a rule: a check that is worth its name notices each of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.graph import Op
from gradcli.graph.op import shape_of


def _off_by_a_percent(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: 1.01 * rule(g, y, *xs, **settings)


def _wrong_sign(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: -1.0 * rule(g, y, *xs, **settings)


def _transposed(rule: Any) -> Any:
    def transposed(*arguments: Any, **settings: Any) -> Any:
        c = rule(*arguments, **settings)
        square = len(shape_of(c)) == 2 and shape_of(c)[0] == shape_of(c)[1]
        return np.ascontiguousarray(c.T) if square else c

    return transposed


def _swapped(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: rule(g, y, *xs[::-1], **settings)


def _upstream_forgotten(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: rule(g * 0 + 1.0, y, *xs, **settings)


def _square_of_upstream(rule: Any) -> Any:
    return lambda g, y, *xs, **settings: rule(g * g, y, *xs, **settings)


MUTATIONS = [_off_by_a_percent, _wrong_sign, _transposed, _swapped, _upstream_forgotten, _square_of_upstream]


def spoiled_rules(op: Op, mutation: Any) -> Iterator[Any]:
    """The rules of an operator with one of them spoiled, one after the other."""
    if callable(op.vjp):
        yield mutation(op.vjp)
    else:
        for slot, rule in enumerate(op.vjp or ()):
            if rule is not None:
                yield (*op.vjp[:slot], mutation(rule), *op.vjp[slot + 1 :])

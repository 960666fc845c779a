"""How much rounding disturbs a gradient: the same sweep at a few bits less, three times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.verify.exact import Exact
from gradcli.verify.precise import bits
from gradcli.verify.precision import BITS


def rounding_noise(exact: Exact, dtype: str, wanted: Sequence[int]) -> dict[int, Any]:
    """By node number, the error that rounding to the precision of a dtype makes in a gradient.

    The sweep in p, p - 2 and p - 4 bits errs by about 1, 4 and 16 times that.
    """
    true = exact.gradients()
    noise: dict[int, Any] = {}
    for less in (0, 2, 4):
        rounded = exact.rounded(bits(BITS[dtype] - less))
        found = rounded.gradients()
        for number in wanted:
            if number not in true or number not in found:
                continue
            m = exact.arithmetic
            off = np.asarray(m.floats(_difference(m, found[number], true[number])), dtype=float) / 2.0**less
            kept = noise.get(number)
            noise[number] = off if kept is None else np.maximum(off, kept)
    return noise


def _difference(m: Any, a: Any, b: Any) -> Any:
    return m.entrywise(lambda m, x, y: abs(m.number(x) - m.number(y)), a, b)

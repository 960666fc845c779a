"""Random directions in float64: whether a large gradient is right as a whole, at the cost of a few forward passes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.verify.many import FAULTS, Many

if TYPE_CHECKING:
    from gradcli.report import Report

STEPS = (1e-3, 3e-4, 1e-4, 3e-5)
"""The lengths of the steps, relative to the size of what is moved."""
DIRECTIONS = 3
CLOSE = 1e-6
"""Two differences that agree to this settle what the slope is."""
WRONG = 1e-4
"""And a gradient that is off by more than this along a direction is wrong."""


@dataclass(frozen=True, slots=True)
class Along:
    """Whether the function moves as a gradient says: True, False, or None where the differences do not settle."""

    settled: bool | None
    reason: str


def random_directions(report: Report, name: str, gradient: Any, rng: np.random.Generator) -> Along:
    """Judges one gradient (flat) along random directions, with Richardson's extrapolation."""
    node = report.by_name[name]
    base = np.asarray(report.values[node.number], dtype=float)
    if node is report.output_node:
        return Along(True, "")
    many = Many(report.traced.graph.nodes, report.values, node, report.output_node)
    scale = float(np.median(np.abs(base))) or 1.0
    verdicts = []
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=base.shape) * scale
        expected = float(np.dot(gradient, direction.reshape(-1)))
        size = float(np.dot(np.abs(gradient), np.abs(direction.reshape(-1)))) / np.sqrt(max(1, gradient.size))
        verdicts.append(_verdict(report, many, base, direction, expected, size))
    if all(v is True for v in verdicts):
        return Along(True, "")
    if any(v is False for v in verdicts):
        return Along(False, "along random directions the function does not move as this gradient says")
    return Along(None, "differences in float64 along random directions do not settle")


def _verdict(report: Report, many: Many, base: Any, direction: Any, expected: float, size: float) -> bool | None:
    samples = np.stack([base + sign * step * direction for step in STEPS for sign in (1, -1)])
    try:
        outputs = np.asarray(many.whole(samples)[0])
    except FAULTS:
        return None
    seeded = (outputs.reshape(len(samples), -1) * np.asarray(report.seed, float).reshape(-1)).sum(axis=1)
    central = [(seeded[2 * k] - seeded[2 * k + 1]) / (2 * step) for k, step in enumerate(STEPS)]
    refined = [
        (b - a * (t / s) ** 2) / (1 - (t / s) ** 2)
        for a, b, s, t in zip(central, central[1:], STEPS, STEPS[1:], strict=False)
    ]
    best, spread = min(((b, abs(a - b)) for a, b in itertools.pairwise(refined)), key=lambda pair: pair[1])
    scale = max(abs(best), abs(expected), size)
    if not np.isfinite(best) or not np.isfinite(expected) or spread > 1e-5 * scale:
        return None
    off = abs(best - expected)
    if off <= CLOSE * scale + spread:
        return True
    return False if off > WRONG * scale + 10 * spread else None

"""Whether a vector is a mean of others: the subgradients of a function at a kink are those of the slopes around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class HullSearch:
    """Whether a vector is a mean of the gradients at points near a kink, which are looked up one by one.

    Where the function is convex along an entry, the slope grows in the direction that the entry moves; where it is
    concave, it falls.  Which of the two it is shows as points are visited; with it, what is still missing tells where
    to look next.
    """

    def __init__(self, target: Any, random: np.random.Generator) -> None:
        self.target = target
        self.residual = target
        self.points: list[Any] = []
        self.rounds = 0
        self._random = random
        self._directions: list[Any] = []
        self._last: Any = None

    def visit(self, gradient_near: Callable[[Any], Any]) -> None:
        """Looks at one more point; `gradient_near(direction)` is None where there is no gradient either."""
        direction = self._next()
        self.rounds += 1
        near = gradient_near(direction)
        if near is None:
            return
        self._directions.append(direction)
        self.points.append(near)
        self.residual = self.target - nearest_mean(np.array(self.points), self.target)

    def found(self, room: float) -> bool:
        """Whether the vector is a mean of the gradients seen, up to `room` of the largest."""
        if not self.points:
            return False
        size = max(1e-300, float(np.abs(self.points).max()), float(np.abs(self.target).max()))
        return bool(np.abs(self.residual).max(initial=0) <= room * size)

    @property
    def alike(self) -> bool:
        """Whether all gradients seen are one."""
        points = np.array(self.points)
        return not self.points or bool((np.ptp(points, axis=0) <= 1e-12 * np.abs(points).max()).all())

    def _next(self) -> Any:
        if self.rounds % 2 == 1:
            return -self._last
        count = len(self.target)
        signs = self._random.choice([-1.0, 1.0], count)
        self._last = self._random.uniform(0.5, 1.5, count) * signs
        size = np.abs(self.residual).max(initial=0)
        if self.rounds % 4 == 2 and len(self.points) > 1 and size > 0:  # else anywhere: bends may hide in one another
            points, directions = np.array(self.points), np.array(self._directions)
            bend = np.sign(((points - points.mean(0)) * directions).sum(0))
            self._last = self.residual / size * np.where(bend == 0, signs, bend) + 1e-3 * self._last
        return self._last


def nearest_mean(points: Any, target: Any) -> Any:
    """The weighted mean of `points` (k, n) that is nearest to `target` (n,), by non-negative least squares.

    Lawson and Hanson's active set, with the weights' sum held at 1 by a heavy extra row.
    """
    scale = max(1.0, float(np.abs(points).max(initial=0)), float(np.abs(target).max(initial=0)))
    heavy = 1e2 * scale
    matrix = np.vstack([points.T, np.full(len(points), heavy)])
    right = np.append(target, heavy)
    weights = np.zeros(len(points))
    active = np.zeros(len(points), bool)
    for _ in range(10 * len(points)):
        pull = matrix.T @ (right - matrix @ weights)
        pull[active] = -np.inf
        best = int(np.argmax(pull))
        if pull[best] <= 1e-15 * heavy * heavy:
            break
        active[best] = True
        while True:
            trial = np.zeros(len(points))
            trial[active] = np.linalg.lstsq(matrix[:, active], right, rcond=None)[0]
            if (trial[active] > 0).all():
                weights = trial
                break
            falling = active & (trial <= 0)
            step = np.min(weights[falling] / (weights[falling] - trial[falling]), initial=1.0)
            weights = weights + step * (trial - weights)
            active &= weights > 1e-14
            if not active.any():
                break
    return weights @ points

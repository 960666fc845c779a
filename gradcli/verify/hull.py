"""Whether a vector is a mean of others: the subgradients of a function at a kink are those of the slopes around it."""

from __future__ import annotations

from typing import Any

import numpy as np


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

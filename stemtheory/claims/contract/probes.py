"""Where the contract looks: probe points at every scale, pairs of them, and a directed search.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stemtheory.oracles import Problem
from stemtheory.runtime import Floats

# Two points are at least this far apart, in units of their distance from 0 (or of 1): a difference
# of gradients then loses about 1e-13 of itself to rounding.
CLOSEST = 1e-3
FAR = 1e6
STEP = 1e-6  # of the numerical slope that guides the search; its error only slows the search down
NEVER = -1e30

Objective = Callable[[Floats], Floats]


def cloud(dim: int, rng: np.random.Generator, n: int = 256) -> Floats:
    """Return probe points, shape [about 2n, dim]: all scales, a box, single axes, far points."""
    scale = 10 ** rng.uniform(-3, 3, (n, 1))
    scattered = scale * rng.standard_normal((n, dim))
    box = rng.uniform(-4, 4, (n // 2, dim))
    axes = np.zeros((n // 4, dim))
    axes[np.arange(n // 4), rng.integers(0, dim, n // 4)] = rng.uniform(-10, 10, n // 4)
    far = FAR * rng.choice([-1.0, 0.0, 1.0], (n // 8, dim))
    return np.concatenate([np.zeros((1, dim)), scattered, box, axes, far])


def partners(x: Floats, rng: np.random.Generator) -> Floats:
    """Return a second point for each x: close by, a step away, anywhere, along one axis or all."""
    n, dim = x.shape
    step = rng.standard_normal((n, dim))
    step[::2] = np.eye(dim)[rng.integers(0, dim, (n + 1) // 2)]
    length = 10 ** rng.uniform(-3, 1.5, (n, 1)) * np.maximum(1, size(x)[:, None])
    y: Floats = x + step * length / np.maximum(size(step)[:, None], 1e-300)
    return apart(x, y)


def apart(x: Floats, y: Floats) -> Floats:
    """Return y, moved away from x where it is closer than rounding allows."""
    gap = y - x
    distance = size(gap)[..., None]
    least = CLOSEST * np.maximum(1, np.maximum(size(x), size(y)))[..., None]
    away = np.where(distance > 0, gap / np.where(distance > 0, distance, 1), gap.shape[-1] ** -0.5)
    moved: Floats = np.where(distance < least, x + least * away, y)
    return moved


def size(x: Any) -> Floats:
    """Return the Euclidean norm over the last axis."""
    norm: Floats = np.sqrt((x * x).sum(axis=-1))
    return norm


def everyone(x: Any, K: int) -> Floats:
    """Return the points x handed to K workers: shape [..., dim] to [..., K, dim]."""
    return np.broadcast_to(x[..., None, :], (*x.shape[:-1], K, x.shape[-1]))


def steepness(problem: Problem, x: Floats, y: Floats) -> Floats:
    """Return sqrt(E||g(x) - g(y)||^2)/||x - y|| per worker: shape [..., dim] to [..., K].

    Paper: Assumption (Ass: Lip_Smoothness).
    """
    a, b = everyone(x, problem.K), everyone(y, problem.K)
    mean = problem.gradient(a) - problem.gradient(b)
    square = (mean * mean).sum(axis=-1) + problem.noise_change(a, b)
    ratio: Floats = np.sqrt(square) / size(x - y)[..., None]
    return ratio


def noise_level(problem: Problem, x: Floats) -> Floats:
    """Return sqrt(E||noise||^2) of one sample per worker: shape [..., dim] to [..., K]."""
    level: Floats = np.sqrt(problem.noise_variance(everyone(x, problem.K)))
    return level


def disagreement(problem: Problem, x: Floats) -> Floats:
    """Return the largest ||grad f^(k)(x) - grad f^(l)(x)|| over pairs: shape [..., dim] to [...].

    Paper: Assumption (Ass: Unbiased_Var_Grad).
    """
    g = problem.gradient(everyone(x, problem.K))
    largest: Floats = size(g[..., :, None, :] - g[..., None, :, :]).max(axis=(-2, -1))
    return largest


def bending(problem: Problem, x: Floats, y: Floats) -> Floats:
    """Return <grad f(x) - grad f(y), x - y>/||x - y||^2: negative somewhere iff f is nonconvex."""
    change = problem.full_gradient(x) - problem.full_gradient(y)
    gap = x - y
    mean: Floats = (change * gap).sum(axis=-1) / (gap * gap).sum(axis=-1)
    return mean


def largest(objective: Objective, points: Floats, climbs: int = 3) -> float:
    """Return the largest value found: over all points, then by climbing from the best of them.

    ``objective`` maps [n, D] to [n]. NaN at a probe point is returned, for it is a failure; NaN on
    a climb (which may leave the finite numbers) never wins.
    """
    values = objective(points)
    if np.isnan(values).any():
        return float("nan")
    best = float(values.max())
    scale = float(np.median(np.abs(values[np.isfinite(values)]))) or 1.0
    for start in points[np.argsort(values)[::-1][:climbs]]:
        with np.errstate(over="ignore", invalid="ignore"):
            best = max(best, _climb(objective, start, scale))
    return best


def _climb(objective: Objective, start: Floats, scale: float) -> float:
    """Return the value at the end of a quasi-Newton ascent from one point.

    ``scale`` is the size of the objective, so that the optimiser sees numbers near 1.
    """
    from scipy.optimize import minimize

    D = len(start)
    reach = max(1.0, float(np.abs(start).max()))
    star = STEP * np.concatenate([np.zeros((1, D)), np.eye(D), -np.eye(D)])

    def downhill(u: Floats) -> tuple[float, Floats]:
        if not np.isfinite(u).all():  # a line search that lost its way
            return -NEVER, np.zeros(D)
        values = np.nan_to_num(objective(reach * (u + star)) / scale, nan=NEVER)
        slope: Floats = (values[1 : D + 1] - values[D + 1 :]) / (2 * STEP)
        return -float(values[0]), -slope

    found = minimize(downhill, start / reach, jac=True, method="L-BFGS-B", options={"maxiter": 40})
    return -float(found.fun) * scale

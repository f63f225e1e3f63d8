"""Estimates of L, sigma and zeta where no formula gives them: the largest values met.

    sigma   sqrt E||g^(k)(x) - grad f^(k)(x)||^2, over all images of each worker
    zeta    ||grad f^(k)(x) - grad f^(l)(x)|| over all pairs of workers
    L       sqrt E||g^(k)(x) - g^(k)(y)||^2 / ||x - y|| between neighbouring points

All are lower bounds of the constants of the assumptions; none is exact.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stemtheory.oracles import Constants, Exactness
from stemtheory.runtime import Floats, generator

if TYPE_CHECKING:
    from stemtheory.images.problem import ImageProblem

POINTS = 3  # besides the start: random points at distance 1 of it
STEP = 1e-2
INEXACT: dict[str, Exactness] = dict.fromkeys(("L", "sigma", "zeta", "f_star"), False)


def around(problem: ImageProblem, start: Floats | None = None) -> Constants:
    """Return estimates at a start (random unless given) and at a few points around it."""
    x = problem.start() if start is None else np.asarray(start, dtype=np.float64)
    stream = generator(2)
    away = stream.standard_normal((POINTS, problem.dim)) / math.sqrt(problem.dim)
    return along(problem, [x, *(x + step for step in away)], gap=start is not None)


def along(problem: ImageProblem, points: Sequence[Any], gap: bool = True) -> Constants:
    """Return the largest sigma, zeta and L at the points xbar of a run, each [dim].

    L is measured between each point and one a little down its gradient, where a run goes. The gap
    is f at the first point, since f* >= 0; infinite with ``gap`` false, as for any start.
    """
    L = sigma = zeta = 0.0
    for x in points:
        here = np.broadcast_to(x, (problem.K, problem.dim))
        g = problem.gradient(here)
        sigma = max(sigma, math.sqrt(float(problem.noise_variance(here).max())))
        # one worker against all at a time: all pairs of a network at once fill the memory
        apart = (float(((g - one) ** 2).sum(axis=-1).max()) for one in g)
        zeta = max(zeta, math.sqrt(max(apart)))
        down = g.mean(axis=0)
        length = math.sqrt(float((down * down).sum()))
        if length > 0:
            there = here - STEP / length * down
            change = g - problem.gradient(there)
            square = (change * change).sum(axis=-1) + problem.noise_change(here, there)
            L = max(L, math.sqrt(float(square.max())) / STEP)
    bound = float(problem.value(points[0])) if gap else math.inf
    exact: dict[str, Exactness] = {**INEXACT, "gap": False if gap else "unbounded"}
    return Constants(L, sigma, zeta, 0.0, bound, exact)

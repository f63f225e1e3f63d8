"""The contract of a problem on real images, whose constants are estimates and claim nothing.

Its oracle draws from a list of samples, so mean and variance are sums over that list and are
checked to rounding, not by statistics. Derivatives are taken along random directions: there are too
many coordinates for one difference each.

Paper: eq. (Eq: Problem), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stemtheory.claims.contract.probes import everyone, size
from stemtheory.claims.contract.rows import ContractRow, faultless, limit
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, Verdict, numpy_backend

POINTS, DIRECTIONS = 3, 4
# Of central differences: the networks have kinks, and a step so short seldom meets one.
STEP = 1e-6
ESTIMATES = ("L", "sigma", "zeta")


def estimated_rows(problem: Any, rng: np.random.Generator) -> Iterator[ContractRow]:
    """Yield the estimates, and the rows on gradient, workers, oracle, reuse and dtypes."""
    constants = problem.constants()
    for name in ESTIMATES:
        value = getattr(constants, name)
        yield ContractRow(
            name, value, None, value, Verdict.ESTIMATE, "the largest value met", "constant"
        )
    x = np.stack([problem.start(seed) for seed in range(POINTS)])
    yield limit("f_star", 0.0, max(0.0, -float(problem.value(x).min())), "f is never below 0")
    gradient = problem.full_gradient(x)
    scale = 1 + float(size(gradient).max())
    yield limit("gradient", 1e-5, _slope_error(problem, x, gradient, rng) / scale, "central")
    workers = problem.gradient(everyone(x, problem.K))
    error = float(np.abs(workers.mean(axis=-2) - gradient).max()) / scale
    yield limit("workers", 1e-12, error, "the mean over workers is grad f")
    yield from _oracle_rows(problem, x[0], workers[0], scale)
    yield from _use_rows(problem, x, rng)


def _slope_error(problem: Problem, x: Floats, gradient: Floats, rng: np.random.Generator) -> float:
    """Return the error of <grad f, u> against central differences along unit vectors u.

    The median over directions: a kink of a network within one step spoils a single one.
    """
    errors = []
    for u in rng.standard_normal((DIRECTIONS, problem.dim)):
        u /= np.linalg.norm(u)
        numeric = (problem.value(x + STEP * u) - problem.value(x - STEP * u)) / (2 * STEP)
        errors.append(np.abs(numeric - gradient @ u))
    return float(np.median(errors, axis=0).max())


def _oracle_rows(problem: Any, x: Floats, workers: Floats, scale: float) -> Iterator[ContractRow]:
    """Compare the mean and the variance over all samples with what the problem says of them."""
    here = everyone(x, problem.K)
    singles = np.stack(
        [problem.combine(here, np.full((problem.K, 1), i)) for i in range(problem.size)]
    )
    error = float(np.abs(singles.mean(axis=0) - workers).max()) / scale
    yield limit("unbiased", 1e-12, error, "the mean over every sample of a worker")
    noise = (size(singles - workers) ** 2).mean(axis=0)
    told = problem.noise_variance(here)
    error = float(np.abs(noise - told).max()) / scale**2
    yield limit("variance", 1e-10, error, "E||noise||^2 over every sample of a worker")
    lists = np.arange(problem.K * 4).reshape(problem.K, 4) % problem.size
    batch = problem.combine(here, lists)
    each = np.mean([problem.combine(here, lists[:, i : i + 1]) for i in range(4)], axis=0)
    error = float(np.abs(batch - each).max()) / scale
    yield limit("batch", 1e-12, error, "a minibatch is the mean of its samples")


def _use_rows(problem: Any, x: Floats, rng: np.random.Generator) -> Iterator[ContractRow]:
    """Check that a minibatch serves two points unchanged, and that float32 stays float32."""
    lists = problem.draw(rng, (), 3, np.dtype(np.float64))
    kept, here, there = lists.copy(), everyone(x[0], problem.K), everyone(x[1], problem.K)
    once, batch = (
        problem.gather(lists),
        (problem.combine(here, lists), problem.combine(there, lists)),
    )
    shared = problem.combine(here, once), problem.combine(there, once)
    same = all(
        np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(batch, shared, strict=True)
    )
    fault = "" if same and np.array_equal(kept, lists) else "gathered and listed samples differ"
    yield faultless("reuse", fault, "one minibatch at two points")
    single = problem.place(numpy_backend("contract"), np.dtype(np.float32))
    point = x[0].astype(np.float32)
    found = (
        single.value(point),
        single.full_gradient(point),
        single.combine(everyone(point, problem.K), lists),
    )
    wrong = ", ".join(v.dtype.name for v in found if v.dtype != np.float32)
    fault = f"float32 came back as {wrong}" if wrong else ""
    yield faultless("dtype", fault, "float32 stays float32")

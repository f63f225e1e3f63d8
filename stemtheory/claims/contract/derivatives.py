"""Checks that need no randomness in the oracle: value, gradient and workers belong together.

Errors are relative to L (1 + ||x||) for gradients and to that times the distance for values.

Paper: eq. (Eq: Problem).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from stemtheory.claims.contract.probes import everyone, size
from stemtheory.claims.contract.rows import ContractRow, limit
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, Verdict

STEP = 1e-4  # of the five-point differences: error about STEP^4, rounding about 1e-16/STEP
TINY = 1e-30  # of the complex step, which has neither
POINTS = 24


def derivative_rows(problem: Problem, rng: np.random.Generator) -> Iterator[ContractRow]:
    """Yield the rows on value and gradient."""
    x = rng.uniform(-4, 4, (POINTS, problem.dim)) * rng.choice([1.0, 0.1, 5.0], (POINTS, 1))
    L = problem.constants().L
    scale = L * (1 + size(x))[:, None]
    gradient = problem.full_gradient(x)
    numeric = differences(problem, x, 1.0)
    error = float(np.max(np.abs(gradient - numeric) / scale))
    yield limit("gradient", 1e-7, error, "against five-point differences of the value")
    yield _complex_row(problem, x, gradient, numeric, scale)
    yield limit(
        "value", 1e-9, _integral_error(problem, x, L), "against the integral of the gradient"
    )
    workers = problem.gradient(everyone(x, problem.K)).mean(axis=-2)
    error = float(np.max(np.abs(workers - gradient) / (scale + problem.constants().zeta)))
    yield limit("workers", 1e-12, error, "the mean over workers is grad f")


def differences(problem: Problem, x: Floats, direction: complex) -> Floats:
    """Return the gradient by five-point differences along the real axis (1) or another (1j)."""
    columns = []
    for e in np.eye(problem.dim):
        f = [problem.value(x + k * STEP * direction * e) for k in (-2, -1, 1, 2)]
        slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * STEP * direction)
        columns.append(np.real(slope))
    return np.stack(columns, axis=-1)


def _complex_row(
    problem: Problem, x: Floats, gradient: Floats, numeric: Floats, scale: Floats
) -> ContractRow:
    """Compare with Im f(x + ih)/h where the value is written in analytic functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            sideways = differences(problem, x, 1j)
            steps = [problem.value(x + 1j * TINY * e).imag / TINY for e in np.eye(problem.dim)]
    except (TypeError, np.exceptions.ComplexWarning):  # the value is for real numbers only
        sideways, steps = None, []
    # Cauchy-Riemann: a value with |x| or max(x, y) has another slope along the imaginary axis
    if sideways is None or np.max(np.abs(sideways - numeric) / scale) > 1e-6:
        return ContractRow(
            "complex step", 1e-12, None, None, Verdict.INAPPLICABLE, "the value is not analytic"
        )
    error = float(np.max(np.abs(np.stack(steps, axis=-1) - gradient) / scale))
    return limit("complex step", 1e-12, error, "against Im f(x + ih)/h, h = 1e-30")


def _integral_error(problem: Problem, x: Floats, L: float) -> float:
    """Return the worst error of f(y) - f(x) = int <grad f, dx> along straight lines."""
    from scipy.integrate import quad_vec

    y = np.roll(x, 1, axis=0)
    way = y - x
    scale = L * (1 + size(x) + size(y)) * (1 + size(way))

    def rate(s: float) -> Floats:
        slope: Floats = (problem.full_gradient(x + s * way) * way).sum(axis=-1) / scale
        return slope

    # adaptive, because a loss may bend sharply somewhere on the way
    integral = quad_vec(rate, 0.0, 1.0, epsabs=1e-11, epsrel=0, norm="max", limit=2000)[0]
    return float(np.max(np.abs((problem.value(y) - problem.value(x)) / scale - integral)))

"""What the exact figures share: costs against epsilon from exact moments, and exponents of them.

The problem is a quadratic with h = L = 1, sigma = 1, additive noise, like workers and x1 = 1, so
that the gap is 1/2: the moments close, and M(T) is known for T = 1e15 as well as for T = 1e3.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Def: ComputationComplexity, Def:
CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.moments import Moments, moments
from stemtheory.oracles import Problem, load_problem
from stemtheory.report import Quantity
from stemtheory.runtime import Floats
from stemtheory.schedules import (
    FEDAVG_TRADE_OFF,
    STEM_TRADE_OFF,
    TradeOff,
    largest_minibatch,
    shortest_run,
)
from stemtheory.simulator import last_crossing

TRADE_OFFS = {"stem": STEM_TRADE_OFF, "fedavg": FEDAVG_TRADE_OFF}
GAP = 0.5
MOST_STEPS = 4.0**30  # no run is longer

EPSILON = Quantity("epsilon", "$\\epsilon$ (harder to the right)")
SAMPLES = Quantity("samples", "samples per worker")
ROUNDS = Quantity("rounds", "communication rounds")


class ExactCosts(NamedTuple):
    """Runs of increasing length: the epsilon each attains, and what it costs one worker."""

    epsilon: Floats
    samples: Floats
    rounds: Floats
    T: Floats

    def at(self, of: str, epsilon: float) -> float:
        """Return samples, rounds or T to epsilon: the last crossing, interpolated."""
        return float(last_crossing(getattr(self, of), self.epsilon, epsilon))


def quadratic(K: int) -> Problem:
    """Return the problem: h = L = 1, sigma = 1, additive noise, K like workers."""
    return load_problem(
        "quadratic", K=K, dim=1, curvature=1.0, noise="additive", sigma=1.0, zeta=0.0
    )


def whole_lengths(algorithm: str, K: int, nu: float, low: float, high: float) -> list[int]:
    """Return run lengths T in [low, high] along the trade-off curve at which I is whole.

    T = K^w I^(p/nu), about four per decade; at nu = 0, where I = 1, powers of 2. Below T = K^w,
    where the curve asks for b or I below 1, powers of 2 as well.
    """
    curve: TradeOff = TRADE_OFFS[algorithm]
    start = float(K) ** curve.w
    if nu == 0:
        return _powers_of_two(low, high)
    last = (high / start) ** (nu / curve.p) if high > start else 0.0
    step = max(1.1, 10 ** (nu / curve.p / 4))
    counts = sorted({round(step**n) for n in range(math.ceil(math.log(last + 2, step)))})
    along = [round(start * float(I) ** (curve.p / nu)) for I in counts]
    clipped = _powers_of_two(low, min(high, start) * 0.99)
    return [*clipped, *(T for T in along if low <= T <= high)]


def _powers_of_two(low: float, high: float) -> list[int]:
    return [2**n for n in range(math.ceil(math.log2(low)), 80) if 2**n <= high]


def exact_costs(algorithm: str, K: int, nu: float, lengths: Iterable[int]) -> ExactCosts:
    """Return the exact costs along the theorem's curve and schedule, one run per length."""
    problem = quadratic(K)
    return _costs([moments(problem, algorithm, T=T, nu=nu) for T in lengths])


def _costs(runs: list[Moments]) -> ExactCosts:
    return ExactCosts(
        np.array([run.mean_grad_sq for run in runs]),
        np.array([run.counts.samples_per_worker for run in runs]),
        np.array([float(run.counts.rounds) for run in runs]),
        np.array([float(run.sizes.T) for run in runs]),
    )


def costs_down_to(algorithm: str, K: int, nu: float, low: float, epsilon: float) -> ExactCosts:
    """Return the exact costs from a run of ``low`` steps down to below ``epsilon``.

    M T/I (STEM) and M sqrt(bKT) (FedAvg) are about 10 and 1 here; that says how long to run.
    """
    power = 1 - nu / 3 if algorithm == "stem" else 2 / 3 - nu / 6
    constant = 12.0 if algorithm == "stem" else 1.2
    high = min(MOST_STEPS, 4 * (constant / epsilon) ** (1 / power))
    return exact_costs(algorithm, K, nu, whole_lengths(algorithm, K, nu, low, high))


def sgd_costs(K: int, epsilon: float) -> ExactCosts:
    """Return the exact costs of minibatch SGD, I = 1 and b = T/(81 K L^2), to below epsilon.

    Paper: App: FedAvg.
    """
    lengths = _powers_of_two(shortest_run(1.0, K, 1, 1), 1000 / epsilon)
    problem = quadratic(K)
    runs = [moments(problem, "fedavg", T=T, I=1, b=largest_minibatch(T, K, 1.0)) for T in lengths]
    return _costs(runs)


def exponent(epsilon: ArrayLike, cost: ArrayLike) -> float:
    """Return the least-squares slope of log cost over log epsilon."""
    x, y = (np.log(np.asarray(v, dtype=np.float64)) for v in (epsilon, cost))
    x = x - x.mean()
    return float(x @ y / (x @ x))


def tail_exponent(epsilon: ArrayLike, cost: ArrayLike) -> float:
    """Return the slope over the last third of the points, the smallest epsilons."""
    x, y = (np.asarray(v, dtype=np.float64) for v in (epsilon, cost))
    n = max(2, len(x) // 3)
    return exponent(x[-n:], y[-n:])


def crossover(first: ExactCosts, second: ExactCosts, of: str) -> float:
    """Return the epsilon at which two costs (``samples`` or ``rounds``) are equal; NaN if none.

    Between the two ends the logarithm of their ratio is interpolated in log epsilon.
    """
    low = max(first.epsilon.min(), second.epsilon.min())
    high = min(first.epsilon.max(), second.epsilon.max())
    grid = np.geomspace(high * 0.999, low * 1.001, 200)
    ratio = np.array([np.log(first.at(of, e) / second.at(of, e)) for e in grid])
    change = np.flatnonzero(np.sign(ratio[:-1]) != np.sign(ratio[1:]))
    if len(change) == 0:
        return math.nan
    i = change[-1]
    share = ratio[i] / (ratio[i] - ratio[i + 1])
    return float(np.exp(np.log(grid[i]) + share * np.log(grid[i + 1] / grid[i])))


def local_exponents(epsilon: ArrayLike, cost: ArrayLike) -> tuple[Floats, Floats]:
    """Return the middles of neighbouring epsilons and the exponents between them."""
    x, y = (np.log(np.asarray(v, dtype=np.float64)) for v in (epsilon, cost))
    return np.exp((x[1:] + x[:-1]) / 2), np.diff(y) / np.diff(x)

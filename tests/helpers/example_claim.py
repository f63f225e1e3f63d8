"""A claim of another textbook, put to the ledger's checkers: SGD contracts on a quadratic.

One step x_{t+1} = x_t - eta g(x_t; xi), E g = grad f, E||g - grad f||^2 <= sigma^2, on f with
mu <= f'' <= L, from any x_t, for eta <= 1/L:

    E||x_{t+1} - x*||^2 <= (1 - eta mu)^2 ||x_t - x*||^2 + eta^2 sigma^2
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.bounds.formulas import Premise
from stemtheory.claims.base import SCALED, Case, Claim, Comparison, dials, wrong
from stemtheory.oracles.catalogue import load_problem
from stemtheory.oracles.problem import Problem
from stemtheory.runtime import Floats
from stemtheory.simulator.stepwise import gaussian_draw

MU = 0.25
ETAS = np.array([0.1, 0.5, 1.0])  # L = 1


def opened(case: Case) -> tuple[Problem, Floats]:
    """Return the problem of a case and its start, shape [replicates, K = 1, dim]."""
    problem = load_problem(case.problem, case.K, case.dim, **dict(case.dials))
    return problem, np.full((case.replicates, 1, case.dim), float(np.asarray(case.x1)))


def expected_step(case: Case) -> Floats:
    """E||x_{t+1} - x*||^2 for every eta, a closed form: x* = 0, and the noise has mean 0."""
    problem, x = opened(case)
    mean = [((x[0, 0] - eta * problem.gradient(x)[0, 0]) ** 2).sum() for eta in ETAS]
    return np.asarray(np.array(mean) + ETAS**2 * problem.noise_variance(x)[0, 0])


def contraction(case: Case, power: int = 2, noise: float = 1.0) -> Comparison:
    """Both sides for every eta: the paper's line, as it stands there."""
    problem, x = opened(case)
    before, sigma = (x[0, 0] ** 2).sum(), problem.constants().sigma
    right = (1 - ETAS * MU) ** power * before + noise * ETAS**2 * sigma**2
    return Comparison(expected_step(case), right, t=np.arange(len(ETAS)))


def sampled(case: Case, scale: float = 1.0) -> Comparison:
    """The mean of real steps against the closed form: an equality in expectation."""
    problem, x = opened(case)
    draw = gaussian_draw(problem, case.seed, case.replicates)
    g = problem.stochastic_gradient(x, draw(1, case.b))
    after = np.array([((x - scale * eta * g) ** 2).sum(axis=(1, 2)) for eta in ETAS])
    R = case.replicates
    spread = after.std(axis=1, ddof=1) / math.sqrt(R)
    return Comparison(
        after.mean(axis=1), expected_step(case), spread=spread, dof=R - 1, two_sided=True
    )


def cases(level: str) -> tuple[Case, ...]:
    """Return steps from the minimum, from near and from far, in one and in four dimensions."""
    R = {"quick": 2000, "default": 20_000, "full": 100_000}[level]
    own: dict[str, Any] = {"L": 1.0, "sigma": 0.5, "zeta": 0.0, "noise": "additive"}
    flat = dials(**own, curvature=MU, slack=True)  # f'' = mu: where the line is attained
    mixed = dials(**own, spectrum=1 / MU)  # curvatures from mu to L
    return tuple(
        Case("quadratic", 1, dim, 1, 1, 1, chosen, x1=x1, replicates=R)
        for dim, x1, chosen in ((1, 0.0, flat), (1, 1.0, flat), (4, 10.0, mixed))
    )


def premises(case: Case) -> tuple[Premise, ...]:
    """No step is longer than 1/L."""
    return (Premise("eta <= 1/L", bool(max(ETAS) <= 1 / dict(case.dials)["L"])),)


CONTRACTION = Claim(
    id="SGD1",
    label="one step of SGD",
    kind="arithmetic",  # a closed form on the claim's own subjects: exact, so it can be attained
    statement="One step of SGD on a strongly convex quadratic contracts, up to noise.",
    formula=r"E\|x_{t+1}-x^*\|^2 \leq (1-\eta\mu)^2 \|x_t-x^*\|^2 + \eta^2\sigma^2",
    compare=contraction,
    cases=cases,
    premises=premises,
    mutants=(
        SCALED,
        wrong("(1 - eta mu)^4", power=4),
        wrong("no noise term", noise=0.0),
    ),
)
SAMPLED = Claim(
    id="SGD1-S",
    label="one step of SGD",
    kind="expectation",
    statement="Real steps have the mean that the closed form of SGD1 states.",
    formula=r"E\|x_{t+1}-x^*\|^2 = \|x_t-\eta\nabla f(x_t)-x^*\|^2 + \eta^2 E\|n(x_t)\|^2",
    compare=sampled,
    cases=cases,
    premises=premises,
    mutants=(wrong("a step 10 % longer", scale=1.1),),
)
CLAIMS = (CONTRACTION, SAMPLED)

"""Exact second moments of STEM where gradients are linear, workers equal and the noise additive.

With f = h x^2/2 in every coordinate and noise that does not depend on x, the means over workers
close upon themselves, under every reading and with any I:

    x_{t+1} = x_t - eta (h x_t + e_t),        e_{t+1} = (1 - a) e_t + a n,

so the run's E||grad f(xbar_a)||^2 is a power of a 5 x 5 matrix: no random number, any T.

Paper: Algorithm (Algo_DR-STORM_batch_App), Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

import numpy as np

from stemtheory.claims.base import Case
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.runtime import Floats
from stemtheory.schedules import Theorem


def is_exact(case: Case) -> bool:
    """Whether a case is covered: equal quadratics, additive noise, the constant phase."""
    dials = dict(case.dials)
    linear = case.problem == "quadratic" and dials.get("noise") == "additive"
    equal = dials.get("zeta") == 0 and "spectrum" not in dials
    return linear and equal and case.sync_batch == 1 and _constant_phase(case)


def average_grad_sq(case: Case) -> float:
    """Return (1/T) sum_t E||grad f(xbar_t)||^2 of a covered case, x_1 common to all workers."""
    s = setting_of(case)
    schedule = Theorem(s.L, s.K, s.b, s.I)
    h = float(dict(case.dials).get("h", s.L))
    step = transition(h, float(schedule.eta(1)), float(schedule.momentum(2)), s.sigma, s.b * s.K)
    x1 = float(np.sum(np.broadcast_to(np.asarray(case.x1, dtype=float), (case.dim,)) ** 2))
    first = np.array([x1, 0.0, s.sigma**2 / (s.initial_batch * s.K), 1.0, 0.0])
    last = np.linalg.matrix_power(step, case.T) @ first
    return float(last[4]) / case.T


def transition(h: float, eta: float, a: float, sigma: float, samples: float) -> Floats:
    """Return the map of (E||x||^2, E<x, e>, E||e||^2, 1, sum E||h x||^2) from t to t + 1.

    ``samples`` = bK is how many samples are averaged in a step.
    """
    q, keep = 1 - eta * h, 1 - a
    return np.array(
        [
            [q * q, -2 * q * eta, eta * eta, 0, 0],
            [0, q * keep, -eta * keep, 0, 0],
            [0, 0, keep * keep, a * a * sigma * sigma / samples, 0],
            [0, 0, 0, 1, 0],
            [h * h, 0, 0, 0, 1],
        ]
    )


def _constant_phase(case: Case) -> bool:
    s = setting_of(case)
    return case.T <= Theorem(s.L, s.K, s.b, s.I).constant_phase_end

"""Whole runs by exact second moments where those close, else by what simulated runs measure.

Equal quadratics whose workers are pushed apart are linear. With additive noise so are their
stochastic gradients. Phase noise sigma (xi_1 cos w x + xi_2 sin w x) has the second moments of
sigma (xi_1 + xi_2 w x), the catalogue's multiplicative noise, up to sin y = y at y = w x; runs too
long to be simulated here are computed so, which needs that they stay where y is small.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from stemtheory.claims.base import Case, dials
from stemtheory.claims.evidence.measured import MeasuredRun, measure
from stemtheory.claims.evidence.recorded import setting_of

LONG = 10**5  # steps: longer runs with phase noise are linearised
SMALL = 0.01  # E y^2 up to which sin y is y


def linear(case: Case) -> Case | None:
    """Return the linear case whose second moments are those of a case, or None."""
    own = dict(case.dials)
    pushed = own.get("heterogeneity") == "tilt" or own.get("zeta") == 0
    if case.problem != "quadratic" or not pushed:
        return None
    if own.get("noise", "phase") == "phase" and case.T > LONG:
        return replace(case, dials=dials(**{**own, "noise": "multiplicative"}))
    return case if own.get("noise") == "additive" else None


def angle(case: Case) -> float:
    """Return E y^2 of phase noise, y = w xbar, as linearised; 0 where nothing is.

    On equal quadratics with curvature h, E||grad f(xbar)||^2 is h^2 E||xbar||^2.
    """
    same = linear(case)
    if same is None or same is case:
        return 0.0
    s, h = setting_of(case), float(dict(case.dials)["h"])
    return (s.L**2 - h**2) / (s.sigma * h) ** 2 * exact_or_measured(case).mean


@lru_cache(maxsize=512)
def exact_or_measured(case: Case) -> MeasuredRun:
    """Return exact moments where there are some, else what simulated runs measure.

    Exact moments are compared without regard to a standstill: some start at the minimum.
    """
    from stemtheory.moments import moments  # slow to load, and the ledger needs none

    same = linear(case)
    if same is None:
        return measure(case)
    return MeasuredRun(moments(same.run).mean_grad_sq, error=0.0, dof=0, standstill=np.nan)

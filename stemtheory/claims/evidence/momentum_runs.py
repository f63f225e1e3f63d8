"""Local SGD with Polyak's or Nesterov's momentum, measured against the FedAvg theorem.

The paper asserts the theorem's guarantees for both without a proof. Two steps are put to it, on
runs that meet T >= 81 L^2 I^2 bK, with beta = 0.9:

    eta = sqrt(bK/T), the theorem's: near a minimum with curvature h the momentum turns additive
    noise into E||grad f||^2 = h eta sigma^2/(2 (1-beta) bK), to first order in eta, and the
    theorem allows 2 L eta sigma^2/(bK) there at I = 1: too little by 1/(4 (1-beta)) if h = L,
    and enough for beta <= 3/4
    eta = (1-beta) sqrt(bK/T): a gradient then moves x by sqrt(bK/T) in all, as in FedAvg

Paper: Sec: Special Case; Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import math
from dataclasses import replace

from stemtheory.claims.base import Case, dials

BETA = 0.9  # the momentum of ``local-polyak`` and ``local-nesterov`` unless told otherwise
KINDS = ("local-polyak", "local-nesterov")


def stepped(case: Case, scale: float) -> Case:
    """Return the case with the constant step scale sqrt(bK/T)."""
    eta = scale * math.sqrt(case.b * case.K / case.T)
    return replace(case, schedule="constant", options=(("eta", eta),))


def own_step(case: Case) -> Case:
    """Return the case with the theorem's own step."""
    return stepped(case, 1.0)


def momentum_cases(level: str) -> tuple[Case, ...]:
    """Return runs of both kinds with the step (1-beta) sqrt(bK/T): moving, resting, drifting."""
    scale = {"quick": 1, "default": 2, "full": 8}[level]
    still = dials(sigma=1.0, zeta=0.0, noise="additive")
    tilted = dials(L=0.5, sigma=0.1, zeta=4.0, heterogeneity="tilt")
    plain = (
        Case("quadratic", 2, 2, 1, 1, 700 * scale, still, x1=0.0),
        Case("cosine", 4, 2, 1, 2, 700 * scale, dials(sigma=0.5, zeta=1.0)),
        Case("geman_mcclure", 4, 2, 2, 2, 1_500 * scale, dials(sigma=0.1, zeta=0.1)),
        Case("welsch", 2, 2, 1, 4, 700 * scale, dials(sigma=0.5, zeta=1.0)),
        Case("quadratic", 4, 2, 1, 4, 400 * scale, tilted, x1=3.0),
    )
    return tuple(
        stepped(replace(case, algorithm=kind, replicates=32), 1 - BETA)
        for kind in KINDS
        for case in plain
    )


# At the minimum, of both kinds and with the theorem's own step.
RESTING = tuple(own_step(case) for case in momentum_cases("quick") if case.x1 == 0.0)

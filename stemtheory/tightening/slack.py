"""Where a theorem's constants go: from the printed theorem to the worst run found, step by step.

All at one (K, I, b), at S = (I b K)^2 rounds, where all steps are constant, and at L = 1 with gap,
sigma^2 and zeta^2 as weighted: S times the bound, with one estimate of the proof after the other
taken back, from its last line to its first; then other constants, other steps, and what is left.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from stemtheory.bounds import Setting
from stemtheory.certificates import Weights, find, solvable, stated, weighed
from stemtheory.claims.rstar.coefficients import RSTAR_PARTS
from stemtheory.moments import moments
from stemtheory.oracles import load_problem
from stemtheory.runtime import UsageError
from stemtheory.schedules import RSTAR_STEPS, theorem_c_b
from stemtheory.tightening.estimates import PRINTED
from stemtheory.tightening.program import Covered, evaluated
from stemtheory.tightening.rounding import tightened
from stemtheory.tightening.steps import LONGEST, best_steps

CURVATURES = np.geomspace(3e-3, 1.0, 25)
PRINTED_H = Fraction(1, 16)  # eta L I in the constant phase
LONGEST_RUN = 2**63  # iterations, which moments count


class Fall(NamedTuple):
    """A bound on the way: what was changed, the claim that names it, S times its value."""

    step: str
    claim: str
    value: float


class Steps(NamedTuple):
    """Constant steps at L = 1."""

    eta: Fraction
    a: Fraction


def waterfall(
    reading: str,
    weights: Weights,
    *,
    K: int,
    I: int,
    b: int,
    told: Callable[[str], None] = lambda _text: None,
) -> dict[str, Any]:
    """Return the document: ``rows`` from the printed theorem down, ``beside`` what is no step.

    Certificates are searched where I is at most 8 and a solver is installed; without them the last
    step before the worst run is Theorem R*'s.
    """
    _refuse_the_long(K, I, b)
    rows = [*_printed(weights, K, I, b)]
    held = {"h_0": PRINTED_H, "c_0": theorem_c_b(K, Fraction(b), I)}
    told("Theorem R*'s constants at the printed steps")
    proofs = [tightened(Covered(max(I, 1), reading, 2, fixed), weights) for fixed in (held, {})]
    names = (("Young's constants and weights", "R*"), ("step sizes", "R*"))
    rows += [Fall(*name, proof.C(weights)) for name, proof in zip(names, proofs, strict=True)]
    s = proofs[-1].statement
    steps = _steps(s["h"], s["c_0"], K, I, b)
    beside = []
    if RSTAR_STEPS["a"].M >= I:  # beyond, part (a) asks for a sync batch
        beside.append(Fall("Theorem R with its constants set free", "R* (a)", _by_hand(weights)))
    if I <= LONGEST and solvable():
        printed = stated("stem", reading, I=I, K=K, b=b)
        found = best_steps(printed, weights, told).certified.certificate["statement"]
        rows.append(Fall("multipliers of a round", "certificate", weighed(found, weights)))
        held_at = find(printed, weights).certificate["statement"]
        beside.append(Fall("printed steps", "certificate", weighed(held_at, weights)))
        steps = Steps(Fraction(found["eta"]), Fraction(found["a"]))
    told("the worst run")
    last = worst_run(steps, reading, weights, K=K, I=I, b=b)
    rows.append(Fall("what no proof of this form can gain", "exact moments", last))
    own = _steps(held["h_0"], held["c_0"], K, I, b)
    at_printed = worst_run(own, reading, weights, K=K, I=I, b=b)
    beside.append(Fall("worst run at the printed steps", "exact moments", at_printed))
    return {
        "reading": reading,
        "at": {"K": K, "I": I, "b": b, "S": (I * b * K) ** 2},
        "weights": list(weights),
        "rows": [
            {**row._asdict(), "factor": before.value / row.value if before else None}
            for before, row in zip([None, *rows], rows, strict=False)
        ],
        "beside": [row._asdict() for row in beside],
        "steps": {"eta": str(steps.eta), "a": str(steps.a)},
    }


def _refuse_the_long(K: int, I: int, b: int) -> None:
    T = (I * b * K) ** 2 * I
    if T >= LONGEST_RUN:
        raise UsageError(
            f"K, I and b are {K}, {I} and {b}, but the worst run takes (I b K)^2 I iterations,"
            f" here {T:.3g}, which must be below 2^63 = 9.2e18: give smaller ones."
        )


def _steps(h: Fraction, c_0: Fraction, K: int, I: int, b: int) -> Steps:
    return Steps(h / I, c_0 * h**2 / (b * K * I * I))


def _by_hand(weights: Weights) -> float:
    """Return C of part (a) of Theorem R*, at its own ratio and steps."""
    part = {"tau": 1.0, "Lam_1": 1.0} | {n: float(v) for n, v in RSTAR_PARTS["a"].items()}
    return float(evaluated(Covered(RSTAR_STEPS["a"].M), weights, part)[0])


def _printed(weights: Weights, K: int, I: int, b: int) -> list[Fall]:
    """Return the printed theorem with its last estimates taken back, and Theorem R (a)."""
    S = (I * b * K) ** 2
    at = Setting(S * I, K, b, I, L=1.0, gap=weights.D, sigma=weights.S**0.5, zeta=weights.Z**0.5)
    return [Fall(it.step, it.claim, it.value(at)) for it in PRINTED if I >= it.least_I]


def worst_run(steps: Steps, reading: str, weights: Weights, *, K: int, I: int, b: int) -> float:
    """Return S times STEM's mean squared gradient on the worst quadratics found, exactly.

    One axis has the whole gap, another all the noise, started at its minimum: a legal problem,
    whose value is the sum. zeta is 0 there.
    """

    def largest(sigma: float) -> float:
        return max(_run(steps, reading, float(H), sigma, K, I, b) for H in CURVATURES)

    return weights.D * largest(0.0) + weights.S * largest(1.0)


def _run(steps: Steps, reading: str, H: float, sigma: float, K: int, I: int, b: int) -> float:
    own: dict[str, Any] = {"L": 1.0, "slack": True, "curvature": H, "sigma": sigma, "zeta": 0.0}
    problem = load_problem("quadratic", K=K, dim=1, noise="additive", **own)
    S = (I * b * K) ** 2
    found = moments(
        problem, "stem", T=S * I, b=b, I=I, sync=reading, x1=0.0 if sigma else math.sqrt(2 / H),
        schedule="constant",
        schedule_options={"eta": float(steps.eta), "a": float(steps.a)},
    )  # fmt: skip
    return float(S * found.mean_grad_sq)

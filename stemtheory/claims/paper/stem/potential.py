"""STEM's potential function descends over a round.

The statement is an expectation. Along a recorded run each step's conditional expectation given
F_t is known in closed form, and the proof's inequalities hold for their sum path by path; the
lemma is the expectation of that. So it is checked without sampling, and sharper than printed.

Paper: Lemma (Lem: Potential_Descent_App), eq. (Eq: Error_Descent_1).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import ALL_READINGS, SCALED, Claim, Comparison, wrong
from stemtheory.claims.evidence.counterexamples import opposed, tilted
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.claims.evidence.sums import (
    growth,
    momentum_constant,
    per_t,
    since,
    theorem_schedule,
)
from stemtheory.claims.paper.stem.contraction import cases, sides
from stemtheory.runtime import Floats, Verdict


def round_sides(path: Path) -> Any:
    """Rows for sums over [tbar_{s-1}, tbar]: 'sync' where the sum has a synchronising step.

    Literal: every sum of a later round begins with it; otherwise the sum to tbar_s - 1 ends with
    it. Shape [T, 1].
    """
    if path.case.reading != "literal":
        return path.where(path.t, "end")[:, None]
    later = (path.base(path.t) > 1) & (path.case.I > 1)
    return np.where(later, "sync", "off-sync")[:, None]


def weighted_error(path: Path) -> Floats:
    """(bK/(64 L^2)) (E[||ebar_{t+1}||^2 | F_t]/eta_t - ||ebar_t||^2/eta_{t-1}), [T, R]."""
    s, t = path.setting, path.t
    eta, before, a = per_t(path.eta[t]), per_t(path.eta[t - 1]), per_t(path.a[t + 1])
    shrink = ((1 - a) ** 2 / eta - 1 / before) * square(path.ebar[t])
    return s.b * s.K / (64 * s.L**2) * (shrink + growth(path) / eta)


def error_descent(path: Path, noise: float = 1.0, kept: float = 1.0) -> Comparison:
    """weighted_error + eta ||ebar||^2 <= drift + (eta/16) ||dbar||^2 + sigma^2 c^2 eta^3/(32 L^2).

    drift = (1/(8K)) ((I-1)/I) eta_t Dl_t.
    """
    s, t = path.setting, path.t
    eta, c = per_t(path.eta[t]), momentum_constant(path)
    left = weighted_error(path) + kept * eta * square(path.ebar[t])
    right = (
        1 / (8 * s.K) * (s.I - 1) / s.I * eta * path.Dl[t]
        + eta / 16 * path.q2[t]
        + noise * s.sigma**2 * c**2 * eta**3 / (32 * s.L**2)
    )
    return Comparison(left, right, sides(path), per_t(t), floor=_resolution(path))


def potential_descent(path: Path, noise: float = 1.0, mean: float = 1.0) -> Comparison:
    """E[Phi_{tbar+1} - Phi_{tbar_{s-1}}] + sum (eta/2) (||dbar||^2 + ||grad f||^2) <= the rest.

    Of (7/16) eta = (1/2 - 1/16) eta the half stands on the left, 1/16 on the right.
    """
    s, t = path.setting, path.t
    eta, c = per_t(path.eta[t]), momentum_constant(path)
    G2, q2 = square(path.G[t]), path.q2[t]
    left = path.f[t + 1] - path.f[t] + weighted_error(path) + eta / 2 * (q2 + G2)
    right = (
        mean * (eta / 16 + eta**2 * s.L / 2) * q2
        + noise * s.sigma**2 * c**2 / (32 * s.L**2) * eta**3
        + 33 / (256 * s.K) * (s.I - 1) / s.I * eta * path.Dl[t]
    )
    floor = 16 * EPS * (np.abs(path.f[t]) + np.abs(path.f[t + 1]) + eta * (q2 + G2))
    total, allowed, resolution = (
        since(path, np.pad(x, ((1, 1), (0, 0)))) for x in (left, right, floor + _resolution(path))
    )
    return Comparison(total[t], allowed[t], round_sides(path), per_t(t), floor=resolution[t])


def _resolution(path: Path) -> Floats:
    """The rounding of ||ebar||^2 (1/eta - 1/eta), weighted."""
    s, t = path.setting, path.t
    return 8 * EPS * s.b * s.K / (64 * s.L**2) * square(path.ebar[t]) / per_t(path.eta[t])


JUMPS = (
    opposed(8, 64, 16),
    opposed(8, 64, 64),
    tilted("literal", 8),
    tilted("average-first", 16),
    tilted("average-first", 64),
)

conditional = partial(
    Claim,
    kind="conditional",
    cases=cases,
    premises=theorem_schedule,
    readings=ALL_READINGS,
    counterexamples=JUMPS,
)
CLAIMS = (
    conditional(
        id="M4",
        label="Lem: Potential_Descent_App",
        statement="The loss plus the weighted error of the direction descends over a round.",
        formula=r"E[\Phi_{\bar t+1} - \Phi_{\bar t_{s-1}}] \leq"
        r" - \sum (\tfrac{7\eta_t}{16} - \tfrac{\eta_t^2 L}{2}) E\|\bar d_t\|^2"
        r" - \sum \tfrac{\eta_t}{2} E\|\nabla f(\bar x_t)\|^2"
        r" + \tfrac{\sigma^2c^2}{32L^2} \sum \eta_t^3"
        r" + \tfrac{33}{256K} \tfrac{I-1}{I} \sum \eta_t \sum_k E\|d_t^{(k)}-\bar d_t\|^2",
        compare=potential_descent,
        expected={(reading, "sync"): Verdict.VIOLATED for reading in ALL_READINGS},
        reason="It adds up the descent and the contraction, and so fails where they do.",
        repair="The one-step inequality REP1, with the distance at the jump.",
        mutants=(
            SCALED,
            wrong("without the noise term", noise=0.0),
            wrong("without ||dbar||^2", mean=0.0),
        ),
    ),
    conditional(
        id="M4a",
        label="Eq: Error_Descent_1",
        statement="The weighted error of the direction pays for the error in the descent.",
        formula=r"\tfrac{bK}{64L^2} (\tfrac{E\|\bar e_{t+1}\|^2}{\eta_t}"
        r" - \tfrac{E\|\bar e_t\|^2}{\eta_{t-1}}) \leq - \eta_t E\|\bar e_t\|^2"
        r" + \tfrac{1}{8K} \tfrac{I-1}{I} \eta_t \sum_k E\|d_t^{(k)} - \bar d_t\|^2"
        r" + \tfrac{\eta_t}{16} E\|\bar d_t\|^2 + \tfrac{\sigma^2c^2\eta_t^3}{32L^2}",
        compare=error_descent,
        expected={(reading, "sync"): Verdict.VIOLATED for reading in ALL_READINGS},
        reason="It is the contraction (M3) divided by eta_t, and fails where that does.",
        repair="Use M3-R instead of M3.",
        mutants=(
            SCALED,
            wrong("without the noise term", noise=0.0),
            wrong("twice the error paid for", kept=3.0),
        ),
    ),
)

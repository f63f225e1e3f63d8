"""STEM's gradient consensus error: how far the workers' directions differ.

Given F_{t-1} the expectation of Dl_t has a closed form. "Some beta > 0" of the lemma means any
beta: of A (1 + beta) + B (1 + 1/beta) the smallest value, (sqrt A + sqrt B)^2, is tested.

Paper: Lemma (lem: GradientErrorContraction_BatchGradients_App), eq. (eq: DR_Descent_d1_Batch).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.base import ALL_READINGS, SCALED, Claim, Comparison, wrong
from stemtheory.claims.evidence.counterexamples import DRIFTED, far, tilted
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import square
from stemtheory.claims.evidence.sums import drift_sum, per_t
from stemtheory.claims.paper.stem.contraction import cases, sides
from stemtheory.runtime import Floats, Verdict

LEMMA = "lem: GradientErrorContraction_BatchGradients_App"


def young(A: Floats, B: Floats) -> Floats:
    """Return min over beta > 0 of A (1 + beta) + B (1 + 1/beta)."""
    return np.asarray((np.sqrt(A) + np.sqrt(B)) ** 2)


def spreading(path: Path, moving: Floats, apart: Floats, power: float = 2.0) -> Comparison:
    """E[Dl_t | F_{t-1}] against young, by t - 1: what moves, and a_t^2 times what differs."""
    s, u = path.setting, path.t  # u = t - 1
    a, b = per_t(path.a[u + 1]), per_t(path.batch[u])
    fresh = 4 * s.K * s.sigma**2 / b + 8 * s.K * s.zeta**2 + 32 * s.L**2 * apart
    right = young((1 - a) ** 2 * path.Dl[u], moving + a**power * fresh)
    return Comparison(path.expected_drift[u], right, sides(path), per_t(u + 1))


def consensus(path: Path, mean: float = 1.0, power: float = 2.0) -> Comparison:
    """The lemma: 4 L^2 eta^2 (Dl + K ||dbar||^2), and (I-1) sum eta^2 Dl for the distance."""
    s, u = path.setting, path.t
    eta2 = per_t(path.eta[u] ** 2)
    moving = 4 * s.L**2 * eta2 * (path.Dl[u] + mean * s.K * path.q2[u])
    return spreading(path, moving, (s.I - 1) * drift_sum(path)[u], power)


def consensus_repaired(path: Path, moves: float = 1.0, power: float = 2.0) -> Comparison:
    """2 L^2 J_{t-1} for what moves, X_{t-1} for the distance: valid under every reading."""
    s, u = path.setting, path.t
    return spreading(path, moves * 2 * s.L**2 * path.J[u], path.X[u], power)


def _about_the_mean(x: Floats) -> Floats:
    """sum_k ||x_k - mean||^2: shape [..., K, dim] to [...]."""
    return np.asarray(square(x - mean_over_workers(x)[..., None, :]).sum(axis=-1))


def _gradient_spread(path: Path, x: Floats) -> Floats:
    """E sum_k ||g^(k)(x_k; xi) - mean over workers||^2 for a minibatch of d_{t+1}: [T, R]."""
    noise = path.problem.noise_variance(x).sum(axis=-1) / per_t(path.batch[path.t])
    apart = _about_the_mean(path.problem.gradient(x))
    return np.asarray(apart + (1 - 1 / path.case.K) * noise)


def second_term(path: Path, moves: float = 1.0, differs: float = 1.0) -> Comparison:
    """E sum_k ||(g_t - mean) - (1-a)(g_{t-1} - mean)||^2 <= 2 L^2 J + 2 a^2 (spread of g_{t-1})."""
    s, u = path.setting, path.t
    new, old = path.fresh[u + 1], path.stale[u + 1]
    a = path.a[u + 1]
    gradient = path.problem.gradient
    m = gradient(new) - (1 - a)[:, None, None, None] * gradient(old)
    noise = path.noise_change[u].sum(axis=-1) / per_t(path.batch[u])
    left = _about_the_mean(m) + (1 - 1 / s.K) * noise
    right = moves * 2 * s.L**2 * path.J[u] + differs * 2 * per_t(a) ** 2 * _gradient_spread(
        path, old
    )
    return Comparison(left, right, sides(path), per_t(u + 1))


def gradient_spread(path: Path, noise: float = 1.0, zeta: float = 1.0) -> Comparison:
    """E sum_k ||g^(k)(x_{t-1}) - mean||^2 <= 2 K sigma^2/b + 4 K zeta^2 + 16 L^2 X_{t-1}."""
    s, u = path.setting, path.t
    b = per_t(path.batch[u])
    right = noise * 2 * s.K * s.sigma**2 / b + zeta * 4 * s.K * s.zeta**2 + 16 * s.L**2 * path.X[u]
    return Comparison(_gradient_spread(path, path.p[u]), right, sides(path), per_t(u + 1))


RUNS = (far(256), tilted("literal", 8), tilted("average-first", 16), DRIFTED)

conditional = partial(
    Claim, label=LEMMA, kind="conditional", cases=cases, readings=ALL_READINGS, counterexamples=RUNS
)
CLAIMS = (
    conditional(
        id="M5",
        statement="The workers' directions drift apart at a bounded rate.",
        formula=r"\sum_k E\|d_t^{(k)} - \bar d_t\|^2 \leq [(1-a_t)^2(1+\beta)"
        r" + 4L^2(1+\tfrac1\beta)\eta_{t-1}^2] \sum_k E\|d_{t-1}^{(k)} - \bar d_{t-1}\|^2"
        r" + (1+\tfrac1\beta)[4KL^2\eta_{t-1}^2 E\|\bar d_{t-1}\|^2"
        r" + \tfrac{4K\sigma^2}{b} a_t^2 + 8K\zeta^2 a_t^2 + 32L^2(I-1)a_t^2"
        r" \sum_{\ell=\bar t_{s-1}}^{t-1} \eta_\ell^2 \sum_k"
        r" E\|d_\ell^{(k)} - \bar d_\ell\|^2]",
        compare=consensus,
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="Literal: in the step after tbar_s the two points of one estimate are further apart"
        " than eta_{t-1} d_{t-1}. Seen at I = 256 for beta -> infinity (Dl_{t-1} = 0 there),"
        " and for beta = 1/I from about I = 65536.",
        repair="M5-R: the real distances J_{t-1} and X_{t-1}.",
        mutants=(SCALED, wrong("without ||dbar||^2", mean=0.0), wrong("a^4 for a^2", power=4.0)),
    ),
    conditional(
        id="M5-R",
        statement="The same with the distances that the points really are apart.",
        formula=r"\sum_k E\|d_t^{(k)} - \bar d_t\|^2 \leq (1-a_t)^2(1+\beta)"
        r" \sum_k E\|d_{t-1}^{(k)} - \bar d_{t-1}\|^2 + (1+\tfrac1\beta)[2L^2 J_{t-1}"
        r" + 2a_t^2(\tfrac{2K\sigma^2}{b} + 4K\zeta^2 + 16L^2 X_{t-1})]",
        compare=consensus_repaired,
        mutants=(SCALED, wrong("without the movement", moves=0.0), wrong("a^4 for a^2", power=4.0)),
    ),
    conditional(
        id="M5a",
        label="eq: DR_Descent_d_Intermediate1_Batch",
        statement="The fresh part of the directions differs by movement and by the gradients.",
        formula=r"\sum_k E\|(g_t^{(k)} - \bar g_t) - (1-a_t)(g_{t-1}^{(k)} - \bar g_{t-1})\|^2"
        r" \leq 2L^2 \sum_k E\|x_t^{(k)} - x_{t-1}^{(k)}\|^2"
        r" + 2a_t^2 \sum_k E\|g_{t-1}^{(k)} - \bar g_{t-1}\|^2",
        compare=second_term,
        mutants=(
            SCALED,
            wrong("without the movement", moves=0.0),
            wrong("without the gradients", differs=0.0),
        ),
    ),
    conditional(
        id="M5b",
        label="eq: DR_Descent_d_Intermediate2_Batch",
        statement="The workers' gradients differ by noise, heterogeneity and distance.",
        formula=r"\sum_k E\|g_{t-1}^{(k)} - \bar g_{t-1}\|^2 \leq \tfrac{2K\sigma^2}{b} + 4K\zeta^2"
        r" + 16L^2 \sum_k E\|x_{t-1}^{(k)} - \bar x_{t-1}\|^2",
        compare=gradient_spread,
        mutants=(
            SCALED,
            wrong("without the noise", noise=0.0),
            wrong("without the heterogeneity", zeta=0.0),
        ),
    ),
)

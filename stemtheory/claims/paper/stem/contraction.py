"""STEM's contraction of the mean direction's error, as printed and repaired.

The comparisons are in excess form: (1 - a)^2 ||ebar_t||^2 stands on both sides and is cancelled.
They are made given F_t, where E||ebar_{t+1}||^2 has a closed form: noise is linear in Gaussians.

Paper: Lemma (lem: ErrorContraction_BatchGradients_App), eq. (eq_bound_grad_error_norm),
eq. (eq_bound_grad_error_norm_2).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.base import (
    ALL_READINGS,
    RIGHT_READINGS,
    SCALED,
    Case,
    Claim,
    Comparison,
    Mutant,
    wrong,
)
from stemtheory.claims.evidence.brackets import brackets, innovation
from stemtheory.claims.evidence.counterexamples import (
    OPPOSED_NOISY,
    QUIET,
    opposed,
    read_as,
    tilted,
)
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.claims.evidence.sums import growth, per_t
from stemtheory.claims.panel import path_cases
from stemtheory.claims.paper.preliminary import mean_of, noisy_cases
from stemtheory.runtime import Floats, Verdict

LEMMA = "lem: ErrorContraction_BatchGradients_App"
EQUALITY, PER_SAMPLE = "eq_bound_grad_error_norm", "eq_bound_grad_error_norm_2"


def cases(level: str) -> tuple[Case, ...]:
    """Return the panel's runs and one in which nothing moves but the noise."""
    return (*path_cases(level), QUIET)


def sides(path: Path) -> Any:
    """Rows: 'sync' at the two steps that touch a synchronisation; shape [T, 1]."""
    return path.where(path.t, "either")[:, None]


def contraction(
    path: Path, noise: float = 1.0, mean: float = 1.0, power: float = 2.0
) -> Comparison:
    """E||ebar_{t+1}||^2 - (1-a)^2 ||ebar_t||^2 against the last three terms."""
    s, t = path.setting, path.t
    a, eta = per_t(path.a[t + 1]), per_t(path.eta[t])
    keep2 = (1 - a) ** 2
    right = (
        8 * keep2 * s.L**2 / (s.b * s.K**2) * (s.I - 1) / s.I * eta**2 * path.Dl[t]
        + mean * 4 * keep2 * s.L**2 * eta**2 / (s.b * s.K) * path.q2[t]
        + noise * 2 * a**power * s.sigma**2 / (s.b * s.K)
    )
    return Comparison(growth(path), right, sides(path), per_t(t))


def jump(path: Path) -> Any:
    """Whether the two points of d_{t+1} are not one local step apart, by t in 1..T; [T, 1]."""
    if path.case.reading == "literal":
        return path.where(path.t, "start")[:, None] == "sync"
    return (path.where(path.t, "end")[:, None] == "sync") & (path.case.reading != "overwrite")


def moved(path: Path, jumps: Any = None) -> Floats:
    """J_t = eta^2 Dl_t + K eta^2 ||dbar_t||^2; at the jump X_t + K eta^2 ||dbar_t||^2; [T, R]."""
    t = path.t
    eta2 = per_t(path.eta[t] ** 2)
    jumps = jump(path) if jumps is None else jumps
    spread = np.where(jumps, path.X[t], eta2 * path.Dl[t])
    return np.asarray(spread + path.case.K * eta2 * path.q2[t])


def repaired(path: Path, noise: float = 1.0, jumps: Any = None) -> Comparison:
    """The same with the distance J_t that the two points really are apart."""
    s, t = path.setting, path.t
    a, b = per_t(path.a[t + 1]), per_t(path.batch[t])
    right = 2 * (1 - a) ** 2 * s.L**2 / (b * s.K**2) * moved(
        path, jumps
    ) + noise * 2 * a**2 * s.sigma**2 / (b * s.K)
    return Comparison(growth(path), right, sides(path), per_t(t))


def recursion(path: Path, lag: int = 0, shift: int = 1) -> Comparison:
    """ebar_{t+1} = (1 - a_{t+1}) ebar_t + N_{t+1}; left the error, right the rounding."""
    t = path.t
    noise = mean_over_workers(brackets(path, lag)[t])
    keep = (1 - path.a[t + 1])[:, None, None]
    error = path.ebar[t + shift] - keep * path.ebar[t] - noise
    size = np.abs(path.local_d[t + 1]).max(axis=(-1, -2)) + np.abs(path.d[t]).max(axis=(-1, -2))
    for x in (path.fresh, path.stale):
        size += np.abs(path.problem.gradient(x[t + 1])).max(axis=(-1, -2))
    size += np.abs(noise).max(axis=-1)
    # what an ulp of x does to a minibatch gradient: L times the largest coordinate, and noise
    s = path.setting
    slopes = float(s.L * (1 + np.nanmax(np.abs(path.p))) + 8 * s.sigma)
    budget = 16 * EPS * np.sqrt(path.case.dim) * (size + slopes)
    return Comparison(np.sqrt(square(error)), budget, sides(path), per_t(t))


def expected_growth(case: Case, kept: int = 2, samples: float = 1.0) -> Comparison:
    """E||ebar_{t+1}||^2 = (1-a)^2 E||ebar_t||^2 + (1/(b^2 K^2)) sum_k sum_xi E||bracket||^2.

    2 (1-a) <ebar_t, noise of the step>, whose mean is 0 (P1), is taken off the left side: else its
    spread, that of an old and large ebar_t, would hide errors many times the right side.
    """
    path = record(case)
    t = path.t
    power = path.noise_power[t] * samples
    left = square(path.ebar[t + 1]) - per_t(1 - path.a[t + 1]) ** kept * square(path.ebar[t])
    noise, keep = mean_over_workers(innovation(path)[t]), per_t(1 - path.a[t + 1])
    left -= 2 * keep * (path.ebar[t] * noise).sum(axis=-1)
    found, right = mean_of(path, left - power), power.mean(axis=1)
    return replace(found, left=found.left + right, right=right)


def per_sample(path: Path, noise: float = 1.0, moving: float = 1.0) -> Comparison:
    """E||n(fresh) - (1-a) n(stale)||^2 <= 2 (1-a)^2 L^2 ||fresh - stale||^2 + 2 a^2 sigma^2."""
    s, t = path.setting, path.t
    a = path.a[t + 1][:, None, None]
    distance2 = square(path.fresh[t + 1] - path.stale[t + 1])
    right = moving * 2 * (1 - a) ** 2 * s.L**2 * distance2 + noise * 2 * a**2 * s.sigma**2
    return Comparison(path.noise_change[t], right, sides(path)[..., None], t[:, None, None])


conditional = partial(Claim, label=LEMMA, kind="conditional", cases=cases, readings=ALL_READINGS)
CLAIMS = (
    conditional(
        id="M3",
        statement="The mean error of the direction contracts, up to movement and noise.",
        formula=r"E\|\bar e_{t+1}\|^2 \leq (1-a_{t+1})^2 E\|\bar e_t\|^2"
        r" + \tfrac{8(1-a_{t+1})^2 L^2}{bK^2} \tfrac{I-1}{I} \eta_t^2"
        r" \sum_k E\|d_t^{(k)} - \bar d_t\|^2"
        r" + \tfrac{4(1-a_{t+1})^2 L^2 \eta_t^2}{bK} E\|\bar d_t\|^2"
        r" + \tfrac{2 a_{t+1}^2 \sigma^2}{bK}",
        compare=contraction,
        expected={(reading, "sync"): Verdict.VIOLATED for reading in ALL_READINGS},
        counterexamples=(
            opposed(8, 64, 16),
            tilted("literal", 8),
            tilted("average-first", 12),
            tilted("average-first", 16),
        ),
        reason="overwrite: the estimator's target jumps when the own point is replaced; literal and"
        " average-first: the two points of one estimate per round are further apart than one"
        " local step.",
        repair="Put the distance of the two points in place of the local step (M3-R).",
        mutants=(
            SCALED,
            wrong("without the noise term", noise=0.0),
            wrong("a^4 for a^2", power=4.0),
            wrong("without ||dbar||^2", mean=0.0),
        ),
    ),
    conditional(
        id="M3-R",
        statement="The contraction with the distance that the two points really are apart.",
        formula=r"E\|\bar e_{t+1}\|^2 \leq (1-a)^2 E\|\bar e_t\|^2"
        r" + \tfrac{2(1-a)^2L^2}{bK^2} E J_t + \tfrac{2a^2\sigma^2}{bK},"
        r"\ J_t = \eta_t^2 \sum_k \|d_t^{(k)} - \bar d_t\|^2 + K\eta_t^2\|\bar d_t\|^2,"
        r"\ \text{at the jump}"
        r" J_t = \sum_k \|x_t^{(k)} - \bar x_t\|^2 + K\eta_t^2\|\bar d_t\|^2",
        compare=repaired,
        readings=RIGHT_READINGS,
        counterexamples=(
            tilted("literal", 8),
            tilted("average-first", 12),
            tilted("average-first", 16),
        ),
        reason="overwrite has no such repair: its jump is a bias, not a distance.",
        mutants=(
            SCALED,
            read_as("overwrite", "the reading that overwrites"),
            wrong("without the noise term", noise=0.0),
            Mutant("no jump", compare=lambda p: repaired(p, jumps=np.zeros((p.T, 1), bool))),
        ),
    ),
    Claim(
        id="M3a",
        label=LEMMA,
        kind="pathwise",
        statement="The error of the direction is (1 - a) times the last one, plus noise.",
        formula=r"\bar e_t = (1-a_t) \bar e_{t-1} + \tfrac1K \sum_k \tfrac1b \sum_\xi"
        r" [(\nabla f^{(k)}(x_t;\xi) - \nabla f^{(k)}(x_t))"
        r" - (1-a_t)(\nabla f^{(k)}(x_{t-1};\xi) - \nabla f^{(k)}(x_{t-1}))]",
        compare=recursion,
        cases=cases,
        readings=ALL_READINGS,
        expected={("overwrite", "sync"): Verdict.VIOLATED},
        counterexamples=(opposed(8, 64, 16),),
        identity=True,
        reason="overwrite: ebar is measured at another point than d was computed at.",
        repair="Under overwrite it holds with ebar at the points before averaging.",
        mutants=(
            SCALED,
            read_as("overwrite", "the reading that overwrites"),
            wrong("the minibatch of the step before", lag=1),
            wrong("ebar_t for ebar_{t+1}", shift=0),
        ),
    ),
    Claim(
        id="M3b",
        label=EQUALITY,
        kind="expectation",
        statement="The mean squared error grows by the variance of the new noise, exactly.",
        formula=r"E\|\bar e_t\|^2 = (1-a_t)^2 E\|\bar e_{t-1}\|^2"
        r" + \tfrac{1}{b^2K^2} \sum_k \sum_\xi E\|[\cdot](\xi)\|^2",
        compare=expected_growth,
        cases=noisy_cases,
        readings=ALL_READINGS,
        expected={("overwrite", "sync"): Verdict.VIOLATED},
        counterexamples=(OPPOSED_NOISY, replace(OPPOSED_NOISY, reading="literal")),
        reason="overwrite: as M3a.",
        mutants=(
            SCALED,
            read_as("overwrite", "the reading that overwrites"),
            wrong("1 - a for its square", kept=1),
            Mutant(
                "1/(b^2 K) for 1/(b^2 K^2)",
                compare=lambda c: expected_growth(c, samples=float(c.K)),
            ),
        ),
    ),
    conditional(
        id="M3c",
        label=PER_SAMPLE,
        statement="The noise of one sample: movement of the points, and a fresh part.",
        formula=r"E\|[\cdot](\xi)\|^2 \leq 2(1-a_t)^2 L^2 E\|x_t^{(k)} - x_{t-1}^{(k)}\|^2"
        r" + 2a_t^2\sigma^2",
        compare=per_sample,
        counterexamples=(tilted("literal", 8), tilted("average-first", 12)),
        mutants=(
            SCALED,
            wrong("without the noise term", noise=0.0),
            wrong("without the movement", moving=0.0),
        ),
    ),
)

"""STEM's contraction of the mean direction's error, as printed and repaired.

In excess form (1 - a)^2 ||ebar_t||^2 stands on both sides and is cancelled. The comparisons are
made given F_t, where E||ebar_{t+1}||^2 has a closed form: noise is linear in Gaussians.

Paper: Lemma (lem: ErrorContraction_BatchGradients_App), eq. (eq_bound_grad_error_norm),
eq. (eq_bound_grad_error_norm_2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.base import ALL_READINGS, RIGHT_READINGS, SCALED, Case, Claim, Comparison
from stemtheory.claims.evidence.brackets import innovation
from stemtheory.claims.evidence.counterexamples import (
    APART,
    OPPOSED_NOISY,
    QUIET,
    opposed,
    read_as,
    tilted,
)
from stemtheory.claims.evidence.path import record
from stemtheory.claims.evidence.recorded import square
from stemtheory.claims.language import Expr, Index, equal, latex
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    a,
    apart,
    at_jump,
    b,
    batch,
    dbar,
    drift,
    ebar,
    eta,
    fresh,
    k,
    mean_k,
    mean_noise_k,
    noise_k,
    norm2,
    sigma,
    stale,
    sum_k,
    t,
)
from stemtheory.claims.panel import path_cases
from stemtheory.claims.paper.preliminary import mean_of, noisy_cases
from stemtheory.claims.stating import stated
from stemtheory.runtime import Verdict

LEMMA = "lem: ErrorContraction_BatchGradients_App"
EQUALITY, PER_SAMPLE = "eq_bound_grad_error_norm", "eq_bound_grad_error_norm_2"


def cases(level: str) -> tuple[Case, ...]:
    """Return the panel's runs, and two in which nothing moves but the noise."""
    return (*path_cases(level), QUIET, APART)


keep2 = (1 - a[t + 1]) ** 2
contraction = E(norm2(ebar[t + 1])) <= (
    keep2 * E(norm2(ebar[t]))
    + 8 * keep2 * L**2 / (b * K**2) * (I - 1) / I * eta[t] ** 2 * E(drift(t))
    + 4 * keep2 * L**2 * eta[t] ** 2 / (b * K) * E(norm2(dbar[t]))
    + 2 * a[t + 1] ** 2 * sigma**2 / (b * K)
)
# J_t: how far the two points of the next estimate really are apart, summed over workers.
J = at_jump(apart(t), eta[t] ** 2 * drift(t)) + K * eta[t] ** 2 * norm2(dbar[t])
repaired = E(norm2(ebar[t + 1])) <= (
    keep2 * E(norm2(ebar[t]))
    + 2 * keep2 * L**2 / (batch[t] * K**2) * E(J)
    + 2 * a[t + 1] ** 2 * sigma**2 / (batch[t] * K)
)


def bracket(noise: Callable[[Expr], Expr], at: Index) -> Expr:
    """What is new in the estimate d_t^(k): its noise at both points, the older one kept."""
    return noise(fresh[at, k]) - (1 - a[at]) * noise(stale[at, k])


per_sample = E(norm2(bracket(noise_k, t))) <= (
    2 * (1 - a[t]) ** 2 * L**2 * E(norm2(fresh[t, k] - stale[t, k])) + 2 * a[t] ** 2 * sigma**2
)
recursion = equal(ebar[t], (1 - a[t]) * ebar[t - 1] + mean_k(bracket(mean_noise_k, t)))
variance = equal(
    E(norm2(ebar[t])),
    (1 - a[t]) ** 2 * E(norm2(ebar[t - 1])) + sum_k(E(norm2(bracket(noise_k, t)))) / (b * K**2),
)


def expected_growth(case: Case) -> Comparison:
    """E||ebar_{t+1}||^2 = (1-a)^2 E||ebar_t||^2 + (1/(b^2 K^2)) sum_k sum_xi E||bracket||^2.

    2 (1-a) <ebar_t, noise of the step>, whose mean is 0 (P1), is taken off the left side: else its
    spread, that of an old and large ebar_t, would hide errors many times the right side.
    """
    path = record(case)
    t, keep = path.t, (1 - path.a[path.t + 1])[:, None]
    power = path.noise_power[t]
    left = square(path.ebar[t + 1]) - keep**2 * square(path.ebar[t])
    left -= 2 * keep * (path.ebar[t] * mean_over_workers(innovation(path)[t])).sum(axis=-1)
    found, right = mean_of(path, left - power), power.mean(axis=1)
    return replace(found, left=found.left + right, right=right)


conditional = partial(
    stated, label=LEMMA, kind="conditional", cases=cases, readings=ALL_READINGS, place=("either", t)
)
OVERWRITTEN = read_as("overwrite", "the reading that overwrites")
CLAIMS = (
    conditional(
        contraction,
        id="M3",
        statement="The mean error of the direction contracts, up to movement and noise.",
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
    ),
    conditional(
        repaired,
        id="M3-R",
        statement="The contraction with the distance that the two points really are apart.",
        readings=RIGHT_READINGS,
        counterexamples=(
            tilted("literal", 8),
            tilted("average-first", 12),
            tilted("average-first", 16),
        ),
        reason="overwrite has no such repair: its jump is a bias, not a distance.",
        mutants=(SCALED, OVERWRITTEN),
    ),
    conditional(
        recursion,
        given=t - 1,
        place=("either", t - 1),
        id="M3a",
        kind="pathwise",
        statement="The error of the direction is (1 - a) times the last one, plus noise.",
        expected={("overwrite", "sync"): Verdict.VIOLATED},
        counterexamples=(opposed(8, 64, 16),),
        reason="overwrite: ebar is measured at another point than d was computed at.",
        repair="Under overwrite it holds with ebar at the points before averaging.",
        mutants=(SCALED, OVERWRITTEN),
    ),
    Claim(
        id="M3b",
        label=EQUALITY,
        kind="expectation",
        statement="The mean squared error grows by the variance of the new noise, exactly.",
        formula=latex(variance),
        line=variance,
        by_hand="a product with mean zero is taken off, which would hide the new noise",
        compare=expected_growth,
        cases=noisy_cases,
        readings=ALL_READINGS,
        expected={("overwrite", "sync"): Verdict.VIOLATED},
        counterexamples=(OPPOSED_NOISY, replace(OPPOSED_NOISY, reading="literal")),
        reason="overwrite: as M3a.",
        mutants=(SCALED, OVERWRITTEN),
    ),
    conditional(
        per_sample,
        given=t - 1,
        place=("either", t - 1),
        id="M3c",
        label=PER_SAMPLE,
        statement="The noise of one sample: movement of the points, and a fresh part.",
        counterexamples=(tilted("literal", 8), tilted("average-first", 12)),
    ),
)

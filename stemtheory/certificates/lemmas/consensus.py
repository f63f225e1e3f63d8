"""Proofs of the steps that compare workers: the directions' differences, FedAvg's variance.

Paper: Lemma (lem: GradientErrorContraction_BatchGradients_App), eq. (Eq: InterNodeVar_FedAvg),
Lemma (Lem: Grad_Variance_FedAvg).
"""

from __future__ import annotations

from stemtheory.certificates.lemmas.statement import JUMP, NORMAL, Given, Lemma, Meaning, Parts
from stemtheory.claims.language import Expr, Index, Over, expr
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    a,
    about_mean,
    b,
    batch,
    beta,
    d,
    dbar,
    fresh,
    grad_k,
    i,
    inner,
    j,
    k,
    l,
    m,
    mean_j,
    mean_k,
    mean_noise_k,
    norm2,
    sampled_k,
    sigma,
    stale,
    start,
    sum_k,
    sum_t,
    t,
    x,
    xbar,
    zeta,
)

moved = sum_k(norm2(fresh[t, k] - stale[t, k]))
change = sampled_k(fresh[t, k]) - sampled_k(stale[t, k])
new, old = about_mean(sampled_k, fresh, t), about_mean(sampled_k, stale, t)
cont = Given(
    "cont",
    "A1: E||grad f(x; xi) - grad f(y; xi)||^2 <= L^2 ||x - y||^2, for the mean over a minibatch",
    L**2 * moved - sum_k(norm2(change)),
)
vari = Given(
    "vari",
    "A2: variance at most sigma^2, samples independent (P2p)",
    sum_k(sigma**2 / batch[t - 1] - norm2(mean_noise_k(stale[t, k]))),
)
between = Given(
    "het",
    "A2: gradients of two workers at one point differ by zeta at most",
    sum_k(zeta**2 - norm2(grad_k(xbar[t - 1]) - mean_j(grad_k(xbar[t - 1], j)))),
)
smooth = Given(
    "lip",
    "A1: every f^(k) is L-smooth",
    sum_k(
        L**2 * norm2(x[t - 1, k] - xbar[t - 1]) - norm2(grad_k(x[t - 1, k]) - grad_k(xbar[t - 1]))
    ),
)
unbiased = Given(
    "unbiased",
    "A2: given the points, the noise has mean zero",
    sum_k(
        inner(
            grad_k(stale[t, k]) - mean_j(grad_k(stale[t, j], j)),
            mean_noise_k(stale[t, k]) - mean_j(mean_noise_k(stale[t, j], j)),
        )
    ),
    exactly=True,
)


def fresh_part(scale: Expr) -> tuple[Parts, Parts]:
    """Return givens and squares of M5a, times ``scale``."""
    halves = sum_k(norm2(new - old - a[t] * old))
    return ((2 * scale, cont),), ((2 * scale * K, norm2(mean_k(change))), (scale, halves))


def gradient_spread(scale: Expr) -> tuple[Parts, Parts]:
    """Return givens and squares of M5b up to what its constants leave, times ``scale``."""
    own = grad_k(x[t - 1, k]) - grad_k(xbar[t - 1])
    own_mean = mean_j(grad_k(x[t - 1, j], j) - grad_k(xbar[t - 1], j))
    common = grad_k(xbar[t - 1]) - mean_j(grad_k(xbar[t - 1], j))
    givens = ((scale, vari), (2 * scale, between), (2 * scale, smooth), (-2 * scale, unbiased))
    squares = (
        (scale * K, norm2(mean_k(mean_noise_k(stale[t, k])))),
        (2 * scale * K, norm2(mean_k(own))),
        (scale, sum_k(norm2(own - own_mean - common))),
        (2 * scale, K * zeta**2),
        (14 * scale, L**2 * sum_k(norm2(x[t - 1, k] - xbar[t - 1]))),
    )
    return givens, squares


STALE: Meaning = {stale[t, k]: x[t - 1, k]}
STEPS: dict[str, Meaning] = {
    NORMAL: {**STALE, batch[t - 1]: b},
    JUMP: {**STALE, batch[t - 1]: m * b},
}
UPDATE = (1 - a[t]) * d[t - 1, k] + sampled_k(fresh[t, k]) - (1 - a[t]) * sampled_k(stale[t, k])
one, other = fresh_part(expr(1)), gradient_spread(expr(1))
both = fresh_part(1 + 1 / beta), gradient_spread(2 * (1 + 1 / beta) * a[t] ** 2)
kept = (1 - a[t]) * (d[t - 1, k] - dbar[t - 1])
young = sum_k(norm2(beta * kept - (new - (1 - a[t]) * old)))

# --- FedAvg -----------------------------------------------------------------------------------
apart = grad_k(x[l, k]) - grad_k(xbar[l])
common = grad_k(xbar[l]) - mean_j(grad_k(xbar[l], j))
apart_mean = mean_j(grad_k(x[l, j], j) - grad_k(xbar[l], j))


def over_round(body: Expr) -> Expr:
    """Return the sum from the start of the round of t to t - 1."""
    return sum_t(l, start, t - 1, body)


def over_workers(body: Expr) -> Expr:
    """Return the sum over workers, of all steps of the round so far."""
    return over_round(sum_k(body))


deviation = grad_k(x[l, k]) - mean_j(grad_k(x[l, j], j))
_r = Index("r")
_mean = Over("mean", _r, grad_k(x[_r, k]) - mean_j(grad_k(x[_r, j], j)), start, t - 1)
distance = over_workers(norm2(x[l, k] - xbar[l]))

LEMMAS = (
    Lemma(
        "M5-R",
        "2 -> 1",
        givens=(*both[0][0], *both[1][0]),
        squares=(
            (1 / beta, young),
            *both[0][1],
            *both[1][1],
            (2 * (1 + 1 / beta) * a[t] ** 2 * K / batch[t - 1], sigma**2),
        ),
        definitions={d[t, k]: UPDATE, dbar[t]: mean_k(UPDATE)},
        at=STEPS,
        says="for every beta > 0, before d_t is averaged (averaging makes its left side 0)",
    ),
    Lemma("M5a", "2 -> 1", *one, at=STEPS),
    Lemma(
        "M5b",
        "without 4 K zeta^2",
        other[0],
        (*other[1], (K / b * (2 - b / batch[t - 1]), sigma**2)),
        at=STEPS,
    ),
    Lemma(
        "F1-C",
        "b -> K",
        givens=(
            (
                expr(1),
                Given(
                    "vari",
                    "A2: b samples, variance at most sigma^2 each",
                    mean_k(sigma**2 / b - norm2(mean_noise_k(x[t, k]))) / K,
                ),
            ),
            (
                expr(1),
                Given(
                    "independent",
                    "A2: noises of different workers are uncorrelated (P2)",
                    mean_k(norm2(mean_noise_k(x[t, k]))) / K - norm2(mean_k(mean_noise_k(x[t, k]))),
                    exactly=True,
                ),
            ),
        ),
        definitions={dbar[t]: mean_k(grad_k(x[t, k]) + mean_noise_k(x[t, k]))},
    ),
    Lemma(
        "F2b",
        "without 2 K (I + -1)^2 zeta^2",
        givens=(
            (
                2 * i,
                Given(
                    "lip",
                    "A1: every f^(k) is L-smooth",
                    over_workers(L**2 * norm2(x[l, k] - xbar[l]) - norm2(apart)),
                ),
            ),
            (
                2 * i,
                Given(
                    "het",
                    "A2: gradients of two workers at one point differ by zeta at most",
                    over_workers(zeta**2 - norm2(common)),
                ),
            ),
        ),
        squares=(
            (i, over_workers(norm2(deviation - _mean))),
            (i, over_workers(norm2(apart - apart_mean - common))),
            (2 * i * K, over_round(norm2(mean_k(apart)))),
            (L**2 * (8 * (I - 1) - 2 * i), distance),
            (2 * K * ((I - 1) ** 2 - i**2), zeta**2),
        ),
        spans={(start, t - 1): i},
        premises=i <= I - 1,
    ),
)

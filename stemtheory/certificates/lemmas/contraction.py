"""Proofs of the steps that estimate: the error's contraction, and the potential over one step.

Paper: Lemma (lem: ErrorContraction_BatchGradients_App), Lemma (Lem: Potential_Descent_App).
"""

from __future__ import annotations

from fractions import Fraction

from stemtheory.certificates.lemmas.descent import ERROR, descent
from stemtheory.certificates.lemmas.statement import JUMP, NORMAL, Given, Lemma, Meaning, Parts
from stemtheory.claims.language import Expr, equal, expr
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    a,
    b,
    batch,
    c,
    d,
    dbar,
    drift,
    ebar,
    eta,
    fresh,
    inner,
    k,
    m,
    mean_k,
    mean_noise_k,
    noise_k,
    norm2,
    sigma,
    stale,
    sum_k,
    t,
    theta,
    x,
    xbar,
)

ONE = expr(1)
EVEN = Fraction(1)  # both halves of a square alike: 2 and 2
Theta = Expr | Fraction  # a letter, or a number that is chosen
keep = 1 - a[t + 1]
# Where the two points of d_{t+1}^(k) are, and of how many samples its minibatch is.
OLD: Meaning = {stale[t + 1, k]: x[t, k]}
STEPS: dict[str, Meaning] = {
    NORMAL: {**OLD, fresh[t + 1, k]: x[t, k] - eta[t] * d[t, k], batch[t]: b},
    JUMP: {**OLD, fresh[t + 1, k]: xbar[t] - eta[t] * dbar[t], batch[t]: m * b},
}
moved = norm2(fresh[t + 1, k] - stale[t + 1, k])
changed = mean_noise_k(fresh[t + 1, k]) - mean_noise_k(stale[t + 1, k])
drawn = mean_noise_k(fresh[t + 1, k])
new = mean_k(mean_noise_k(fresh[t + 1, k]) - keep * mean_noise_k(stale[t + 1, k]))
NEXT: Meaning = {ebar[t + 1]: keep * ebar[t] + new}  # M3a

NAMES = {"D^{(k)}": changed, "P^{(k)}": drawn, "N": new}

cont = Given(
    "cont",
    "A1: E||grad f(x; xi) - grad f(y; xi)||^2 <= L^2 ||x - y||^2, samples independent (P2p)",
    mean_k(L**2 / batch[t] * moved - norm2(changed)) / K,
)
vari = Given(
    "vari",
    "A2: variance at most sigma^2, samples independent (P2p)",
    mean_k(sigma**2 / batch[t] - norm2(drawn)) / K,
)
orthogonal = Given(
    "orthogonal",
    "P1: ebar_t is known before the minibatch is drawn, E<ebar_t, new noise> = 0",
    inner(ebar[t], new),
    exactly=True,
)


def independent(noise: Expr) -> Given:
    """Return that the noises of different workers are uncorrelated."""
    value = mean_k(norm2(noise)) / K - norm2(mean_k(noise))
    return Given("independent", "P2: noises of different workers are uncorrelated", value, True)


def contraction(theta: Theta, scale: Expr = ONE) -> tuple[Parts, Parts]:
    """Return givens and squares of the contraction with Young's theta, times ``scale``."""
    moving, own = scale * (1 + theta) * keep**2, scale * (1 + 1 / theta) * a[t + 1] ** 2
    young = norm2(theta * keep * mean_k(changed) - a[t + 1] * mean_k(drawn))
    givens = (
        (moving, cont),
        (moving, independent(changed)),
        (own, vari),
        (own, independent(drawn)),
        (-2 * scale * keep, orthogonal),
    )
    return givens, ((1 / theta * scale, young),)


# --- the potential over one step ----------------------------------------------------------------

# What is used of the schedule: (1) of docs/repaired-theorem.md.
u = 1 / (24 * b * K * I)
SCHEDULE = (
    equal(c, (64 + u) * L**2 / (b * K))
    & (1 / eta[t] - 1 / eta[t - 1] <= L**2 * u / (b * K) * eta[t])
    & (eta[t] <= 1 / (16 * L * I))
    & (eta[t] <= eta[t - 1])
    & equal(a[t + 1], c * eta[t] ** 2)
    & (I >= 2)
)
MOMENTUM: Meaning = {a[t + 1]: c * eta[t] ** 2}


def one_step(lam: int, theta: Theta, p: Fraction) -> tuple[Parts, Parts]:
    """Return givens and squares of one step of f + (bK/(lam L^2)) ||ebar||^2/eta."""
    per_error = b * K / (lam * L**2)
    scale = per_error / eta[t]
    down, less = descent(p), contraction(theta, scale)
    more = 1 - b / batch[t]  # what a sync batch gains
    room = per_error * (1 / eta[t - 1] - keep**2 / eta[t]) - (1 + p) / 2 * eta[t]
    left_over = (
        (room, norm2(ebar[t])),
        (scale * (1 + theta) * (1 - keep**2) * L**2 / (batch[t] * K**2), sum_k(moved)),
        (more * (1 + theta) * eta[t] / lam, norm2(dbar[t])),
        (more * (1 + 1 / theta) * c**2 * eta[t] ** 3 / (lam * L**2), sigma**2),
    )
    return (*down[0], *less[0]), (*down[1], *less[1], *left_over)


def weighted() -> tuple[Parts, Parts]:
    """Return givens and squares of the weighted error alone, lam = 64 and theta = 1."""
    per_error = b * K / (64 * L**2)
    givens, squares = contraction(EVEN, per_error / eta[t])
    room = per_error * (1 / eta[t - 1] - keep**2 / eta[t]) - eta[t]
    left_over = (
        (room, norm2(ebar[t])),
        (eta[t] / K * ((I - 1) / (8 * I) - keep**2 / 32), drift(t)),
        (eta[t] / 16 - keep**2 * eta[t] / 32, norm2(dbar[t])),
    )
    return givens, (*squares, *left_over)


m3 = contraction(EVEN)
r1 = one_step(240, theta, Fraction(1, 30))
rep1 = one_step(64, EVEN, EVEN)
m4a = weighted()
RECURSION = "that ebar_{t+1} is (1 - a_{t+1}) ebar_t plus the new noise (M3a)"
LEMMAS = (
    Lemma("M3-R", "2 -> 1", *m3, definitions=NEXT, at=STEPS, glue=RECURSION, names=NAMES),
    Lemma(
        "M3b",
        "(1 + -1 a[t])^2 with exponent 1",
        givens=(
            (
                expr(1),
                Given(
                    "independent",
                    "P2, P2p: noises of different workers and samples are uncorrelated",
                    mean_k(norm2(_one := noise_k(fresh[t, k]) - (1 - a[t]) * noise_k(stale[t, k])))
                    / (b * K)
                    - norm2(
                        _all := mean_k(
                            mean_noise_k(fresh[t, k]) - (1 - a[t]) * mean_noise_k(stale[t, k])
                        )
                    ),
                    exactly=True,
                ),
            ),
            (
                -2 * (1 - a[t]),
                Given(orthogonal.name, orthogonal.why, inner(ebar[t - 1], _all), exactly=True),
            ),
        ),
        definitions={ebar[t]: (1 - a[t]) * ebar[t - 1] + _all},
        says="where the estimate is unbiased: literal and average-first",
        glue=RECURSION,
    ),
    Lemma(
        "M3c",
        "2 -> 1",
        givens=(
            (
                2 * (1 - a[t]) ** 2,
                Given(
                    "cont",
                    "A1 for one sample: E||its noises' difference||^2 <= L^2 ||x - y||^2",
                    L**2 * norm2(fresh[t, k] - stale[t, k])
                    - norm2(noise_k(fresh[t, k]) - noise_k(stale[t, k])),
                ),
            ),
            (
                2 * a[t] ** 2,
                Given("vari", "A2 for one sample", sigma**2 - norm2(noise_k(fresh[t, k]))),
            ),
        ),
        squares=(
            (
                expr(1),
                norm2(
                    (1 - a[t]) * (noise_k(fresh[t, k]) - noise_k(stale[t, k]))
                    - a[t] * noise_k(fresh[t, k])
                ),
            ),
        ),
    ),
    Lemma(
        "M4a",
        "64 -> 32",
        *m4a,
        definitions={**NEXT, **MOMENTUM},
        at={NORMAL: STEPS[NORMAL]},
        premises=SCHEDULE,
        says="at every step but the jump, where it is false; I >= 2",
        glue=RECURSION,
        names=NAMES,
    ),
    Lemma(
        "R1",
        "240 -> 120",
        *r1,
        definitions={**NEXT, **ERROR, **MOMENTUM},
        at=STEPS,
        premises=SCHEDULE,
        says="for every 0 < theta <= 1; I >= 2",
        glue=f"{RECURSION}, and the schedule's (1)",
        names=NAMES,
    ),
    Lemma(
        "REP1",
        "64 -> 32",
        *rep1,
        definitions={**NEXT, **ERROR, **MOMENTUM},
        at=STEPS,
        premises=SCHEDULE,
        says="I >= 2",
        glue=f"{RECURSION}, and the schedule's (1)",
        names=NAMES,
    ),
)

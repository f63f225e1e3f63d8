"""Proofs of the steps that move points: accumulation, descent, FedAvg's, and sums of vectors.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), Lemma (lem: Descent_Batch_App),
Lemma (lem: Fn_Descent_FedAvg), Lemma (Lem: Sum_Mean_Kron), Lemma (Lem: Norm_Ineq).
"""

from __future__ import annotations

from fractions import Fraction

from stemtheory.certificates.lemmas.statement import Given, Lemma, Meaning, Parts
from stemtheory.claims.language import Expr, Index, Over, expr
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    b,
    d,
    dbar,
    ebar,
    eta,
    f,
    grad,
    grad_k,
    i,
    inner,
    j,
    k,
    l,
    mean_j,
    mean_k,
    mean_noise_k,
    norm2,
    sigma,
    start,
    step,
    sum_k,
    sum_t,
    t,
    x,
    xbar,
)

ONE = expr(1)
ERROR: Meaning = {ebar[t]: dbar[t] - mean_k(grad_k(x[t, k]))}  # what the letter means
delta = grad_k(x[t, k]) - grad_k(xbar[t])
spread = mean_k(norm2(delta - mean_j(grad_k(x[t, j], j) - grad_k(xbar[t], j))))
lip = Given(
    "lip",
    "A1: every f^(k) is L-smooth; the mean over workers",
    mean_k(L**2 * norm2(x[t, k] - xbar[t]) - norm2(delta)),
)


def smooth(size: Expr) -> Given:
    """Return that f is smooth, from xbar_t to xbar_{t+1} = xbar_t - size dbar_t."""
    quadratic = L / 2 * size**2 * norm2(dbar[t])
    value = f(xbar[t]) - size * inner(grad(xbar[t]), dbar[t]) + quadratic - f(xbar[t + 1])
    return Given("smooth", "A1: f is L-smooth, and xbar_{t+1} = xbar_t - eta_t dbar_t", value)


def descent(p: Fraction) -> tuple[Parts, Parts]:
    """Return givens and squares of the descent with (1 + p) and (1 + 1/p) for Young's 2 and 2."""
    weight = (1 + 1 / p) / 2 * eta[t]
    young = (1 / (2 * p) * eta[t], norm2(p * ebar[t] - mean_k(delta)))
    return ((ONE, smooth(eta[t])), (weight, lip)), (young, (weight, spread))


# --- accumulation -----------------------------------------------------------------------------


def accumulated(first: Index, weight: Expr = ONE) -> Parts:
    """Return what (I - 1) times the sum of squares has left over the square of the sum."""
    own = sum_k(norm2(eta[l] * (d[l, k] - dbar[l]) - _mean_over(first)))
    return (
        (weight * (I - 1 - i), sum_t(l, first, t - 1, eta[l] ** 2 * sum_k(_apart(l)))),
        (weight * i, sum_t(l, first, t - 1, own)),
    )


def _apart(at: Index) -> Expr:
    return norm2(d[at, k] - dbar[at])


def _mean_over(first: Index) -> Expr:
    r = Index("r")
    return Over("mean", r, eta[r] * (d[r, k] - dbar[r]), first, t - 1)


def unrolled(first: Index) -> Meaning:
    """Return the own point as the mean point less the steps since the points agreed (M1a)."""
    return {x[t, k]: xbar[t] - sum_t(l, first, t - 1, eta[l] * (d[l, k] - dbar[l]))}


ROUND = {(start, t - 1): i}
LATER = {(start + 1, t - 1): i}
LENGTH = i <= I - 1  # t is at most I - 1 steps after the points agreed
last = eta[t] ** 2 * sum_k(_apart(t))
UNROLLING = "that the steps since the averaging add up (M1a)"
AGREED = "where the points agree at the start of a round, as they do not in the literal reading"
p_one = descent(Fraction(1))
LEMMAS = (
    Lemma(
        "M1",
        "I -> (I + -1)",
        squares=(*accumulated(start), (I - 1, last)),
        definitions=unrolled(start),
        spans=ROUND,
        premises=LENGTH,
        says=AGREED,
        glue=UNROLLING,
    ),
    Lemma(
        "M1-L",
        "I -> (I + -1)",
        squares=accumulated(start + 1),
        definitions=unrolled(start + 1),
        spans=LATER,
        premises=LENGTH,
        glue=UNROLLING,
    ),
    Lemma(
        "M2",
        "without eta[t] ||ebar[t]||^2",
        givens=p_one[0],
        squares=(
            *p_one[1],
            *accumulated(start, eta[t] * L**2 / K),
            (eta[t] * L**2 / K * (I - 1), last),
        ),
        definitions={**ERROR, **unrolled(start)},
        spans=ROUND,
        premises=LENGTH,
        says=AGREED,
        glue=UNROLLING,
    ),
    Lemma(
        "M2b", "without eta[t] ||ebar[t]||^2", givens=p_one[0], squares=p_one[1], definitions=ERROR
    ),
    Lemma(
        "M2c",
        "without -1 grad_k_k(xbar[t])",
        squares=((ONE, spread),),
        says="the first comparison, by a square",
    ),
    Lemma("M2c", "K -> b", step=1, givens=((ONE, lip),), says="the second comparison, by A1"),
    # --- FedAvg -------------------------------------------------------------------------------
    Lemma(
        "F3",
        "2 -> 4",
        givens=(
            (ONE, smooth(step)),
            (step / 2, lip),
            (
                L * step**2 / 2,
                Given(
                    "vari",
                    "A2: b samples, variance at most sigma^2 each",
                    mean_k(sigma**2 / b - norm2(mean_noise_k(x[t, k]))) / K,
                ),
            ),
            (
                L * step**2 / 2,
                Given(
                    "independent",
                    "A2: noises of different workers are uncorrelated (P2)",
                    mean_k(norm2(mean_noise_k(x[t, k]))) / K - norm2(mean_k(mean_noise_k(x[t, k]))),
                    exactly=True,
                ),
            ),
            (
                step,
                Given(
                    "unbiased",
                    "A2: given the points, the noise has mean zero",
                    inner(grad(xbar[t]), mean_k(mean_noise_k(x[t, k]))),
                    exactly=True,
                ),
            ),
            (
                -L * step**2,
                Given(
                    "unbiased",
                    "A2: given the points, the noise has mean zero",
                    inner(mean_k(grad_k(x[t, k])), mean_k(mean_noise_k(x[t, k]))),
                    exactly=True,
                ),
            ),
        ),
        squares=(
            (step / 2, spread),
            (L * step**2 / (2 * b * K), sigma**2),
            (step / 2 * (1 - L * step), norm2(mean_k(grad_k(x[t, k])))),
        ),
        definitions={dbar[t]: mean_k(grad_k(x[t, k]) + mean_noise_k(x[t, k]))},
        premises=step <= 1 / (9 * L * I),
    ),
    # --- sums of vectors ------------------------------------------------------------------------
    Lemma("U1", "x[t, k] -> xbar[t]", squares=((K, norm2(xbar[t])),)),
    Lemma("U1-exact", "K -> b"),
    Lemma("U3", "K -> b", squares=((K, sum_k(norm2(x[t, k] - xbar[t]))),)),
)

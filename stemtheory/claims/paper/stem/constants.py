"""The theorem's constants: the arithmetic from the summed potential to the printed bound.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum1).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from stemtheory.bounds import Setting
from stemtheory.claims.language import Expr, Q, chain, equal
from stemtheory.claims.language.letters import (
    B,
    I,
    K,
    L,
    T,
    b,
    c,
    eta,
    gap,
    kbar,
    l,
    log,
    sigma,
    sum_t,
    t,
    w,
    zeta,
)
from stemtheory.claims.stating import sized

LABEL = "Thm: PR_Convergence_Main_App"
OUTER = 1 / (eta[T] * T)
SLOW = (b * K) ** Q("2/3") * T ** Q("2/3")
LAST_STEP = 16 * L * I / T + L / SLOW  # what bounds 1/(eta_T T)
CUBES = sum_t(l, 1, T, eta[l] ** 3)
LOG = log(T + 1)
FAR = zeta**2 / sigma**2 * (I - 1) / I * LOG


def settings(level: str) -> tuple[tuple[Setting, ...], ...]:
    """Return one subject: settings with the edges, and runs within and beyond the constant phase.

    Every term is linear in sigma^2, zeta^2 or the gap, and each stands alone somewhere.
    """
    n = {"quick": 4, "default": 6, "full": 10}[level]
    I = [1, 2, *(int(i) for i in np.geomspace(10, 1e6, n - 2))]
    K = [1, *(int(k) for k in np.geomspace(4, 1e4, n - 2))]
    rounds = np.unique(np.round(np.geomspace(1, 1e15, 2 * n)))
    alone = ((1.0, 1e-9, 1e-9), (1e-9, 1.0, 1e-9), (1e-9, 1e-9, 1.0))
    axes = product(rounds, K, (1.0, 1.5, 1e3), I, (0.1, 1.0, 7.0), alone, (1.0, None))
    found = (
        Setting(S * i, k, b, i, L, sigma, zeta, gap, B)
        for S, k, b, i, L, (sigma, zeta, gap), B in axes
    )
    return (tuple(found),)


def divided(noise: Expr, heterogeneity: Expr) -> Expr:
    """The bound divided by eta_T T/2, with what the last two terms are."""
    first = OUTER * sigma**2 / (32 * L**2) * b / (B * eta[0])
    return 2 * gap / (eta[T] * T) + first + OUTER * noise + OUTER * heterogeneity


def logarithmic(noise: Expr, heterogeneity: Expr) -> Expr:
    """The same with the sum of eta_t^3 bounded, and the constants of the last two terms."""
    return divided(noise * c**2 * kbar**3 * LOG, heterogeneity * c**2 * kbar**3 * FAR)


constant = partial(sized, label=LABEL, cases=settings)
CLAIMS = (
    constant(
        "M7a-C",
        statement="The coefficients of M7a follow from the potential and the consensus lemmas.",
        line=equal(7 * eta[t] / 16 - eta[t] / 64, 27 * eta[t] / 64)
        & (0 <= 27 * eta[t] / 64 - eta[t] ** 2 * L / 2)
        & (Q("1/32") + 1 / (64 * b) <= Q("3/64")),
    ),
    constant(
        "M7c",
        label="Eq: Sum_OverT_LastTerm",
        statement="The sum of eta_t^3 is at most (bK)^2/L^3 ln(T + 1).",
        line=CUBES <= kbar**3 / sigma**2 * LOG,
        reason="In the constant phase the sum is smaller by T/(4096 I^3 (bK)^2 ln(T+1)).",
    ),
    constant(
        "M7d",
        label="Eq: Grad_Norm_Sum1",
        statement="Divided by eta_T T/2, with 1/16 < 3/32 < 1/4 and eta_t >= eta_T.",
        line=chain(
            divided(
                3 * c**2 * sigma**2 / (32 * L**2) * CUBES,
                c**2 * zeta**2 / (16 * L**2) * (I - 1) / I * CUBES,
            ),
            logarithmic(3 / (32 * L**2), 1 / (16 * L**2)),
            logarithmic(1 / (4 * L**2), 1 / (4 * L**2)),
        ),
    ),
    constant(
        "M7e",
        label="Eq: GradNorm_1stTerm",
        statement="1/(eta_T T) is at most 16LI/T + L/((bK)^{2/3} T^{2/3}).",
        line=chain(
            OUTER,
            w[T] ** Fraction(1, 3) / (kbar * T) + sigma ** Q("2/3") / (kbar * T ** Q("2/3")),
            LAST_STEP,
        ),
    ),
    constant(
        "M7f",
        label="Eq: GradNorm_2ndTerm",
        statement="The first batch's term, with 1/eta_0 <= 16LI.",
        line=chain(
            OUTER * sigma**2 / (32 * L**2) * b / (B * eta[0]),
            LAST_STEP * sigma**2 / (32 * L**2) * 16 * L * I * b / B,
            8 * b * I**2 / (B * T) * sigma**2 + b * I / (SLOW * B) * sigma**2 / 2,
        ),
    ),
    constant(
        "M7g",
        label="Eq: GradNorm_3rdTerm",
        statement="The noise term: 16*128^2/4 = 256^2 and 128^2/4 = 64^2.",
        line=chain(
            OUTER * c**2 * kbar**3 / (4 * L**2),
            LAST_STEP * (128 * L**2 / (b * K)) ** 2 * ((b * K) ** 2 * sigma**2 / L**3) / (4 * L**2),
            Q("256") ** 2 * sigma**2 * I / T + Q("64") ** 2 * sigma**2 / SLOW,
        ),
        reason="With the true c and 3/32 in place of 1/4 it would be 10.7x smaller.",
    ),
)

"""Theorem R*: inequalities (4), (6) and (7) for every I, m, b and K, and what follows.

Section 4 of docs/theorem-rstar.md evaluates (7) where each part of it is largest; here I, m and b
stand in it, and only what is in an exponent is bounded first.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from stemtheory.bounds import RSTAR
from stemtheory.claims.base import Mutant
from stemtheory.claims.evidence.exact_scenes import Lengths
from stemtheory.claims.evidence.size_scenes import SizeScene
from stemtheory.claims.language import Q
from stemtheory.claims.language.letters import (
    C_L,
    C_s,
    C_z,
    I,
    K,
    Lam,
    M,
    S,
    b,
    c_0,
    h_0,
    m,
    sqrt,
    tau,
)
from stemtheory.claims.repaired.coefficients import SUM, THEOREM
from stemtheory.claims.rstar.coefficients import (
    BATCHED,
    CANCELS,
    CONTRACTS,
    CURVE,
    CURVE_ONE,
    EVERY,
    FROM_GAP,
    FROM_SIGMA,
    FROM_ZETA,
    IDENTITY,
    IDENTITY_PARTS,
    INEQUALITY,
    ONE,
    ONE_STEP,
    RSTAR_PARTS,
    WITH_BATCH,
    Extremes,
    from_sigma_alone,
    step_seven,
)
from stemtheory.claims.stating import exact, sized
from stemtheory.schedules import RSTAR_STEPS

# --- what must hold -------------------------------------------------------------------------------

ALONE = Extremes(I, ONE, 1 / I, EVERY.steps_over_I2, 1 / b)
ANY_BATCH = replace(ALONE, I_over_m=I / m, one_over_m=1 / m)
TOGETHER = replace(ANY_BATCH, steps_over_I2=BATCHED.steps_over_I2)
PROVES = CANCELS & CONTRACTS
# Step 1 at a jump, m >= 2 and m - 1 < I/M: what stands before U, before a^2 v, and over a round.
PAID = (
    ((1 + tau) / m <= 1)
    & (1 / m + (m - 1) ** 2 / (m * tau) <= 1 + (m - 1) / tau)
    & (I + (m - 1) / tau <= I * (1 + 1 / (M * tau)))
)
# The corollary: beta = 1, since a I <= 1, and (I b K)^2 >= S.
CORNER = (
    (c_0 * h_0**2 / (b * K * I) <= 1) & (FROM_GAP <= C_L) & (FROM_SIGMA <= C_s) & (FROM_ZETA <= C_z)
)
# I = 1: there is no drift, and what is left of A_sigma is 1/Lam.
CORNER_ONE = (
    ONE_STEP & (c_0 * h_0**2 / (b * K) <= 1) & (FROM_GAP <= C_L) & (from_sigma_alone(Lam) <= C_s)
)
# (3), with b = ceil(sqrt(S)/(I K)) and I <= sqrt(S)/K.
SAMPLES = (b * I + 2 * b * (I - 1 + m) * S <= b * I * (1 + 2 * (1 + 1 / M) * S)) & (
    b * I * (1 + 2 * (1 + 1 / M) * S) <= (2 * sqrt(S) + 4 * (1 + 1 / M) * S ** Q("3/2")) / K
)

# --- where ----------------------------------------------------------------------------------------


def lengths(part: str, kappa: int, *, alone: bool = True, beyond: bool = False) -> Lengths:
    """Return every I up to M where m is ``alone``, and I ``beyond`` it with m = ceil(I/M)."""
    M, chosen = RSTAR_STEPS[part].M, {**RSTAR_PARTS[part], **CURVE[part]}
    far = np.unique(np.r_[M + 1 : 4 * M + 2, np.geomspace(4 * M, 1e9, 200).astype(np.int64)])
    every = np.r_[np.arange(2, M + 1)[: None if alone else 0], far[: None if beyond else 0]]
    return Lengths(every, -(-every // M), {**chosen, "kappa": Fraction(kappa)})


def kappas(part: str) -> tuple[int, ...]:
    """Return kappa of each reading of a part: 1 if literal, or 0."""
    return tuple(int(reading == "literal") for reading in RSTAR_STEPS[part].readings)


def one_step(part: str) -> Lengths:
    """Return I = 1, with the part's own Lambda there."""
    one = np.ones(1, dtype=np.int64)
    own = {"Lam": RSTAR[part].lam_one, "C_s": CURVE_ONE[part]}
    return Lengths(one, one, {**RSTAR_PARTS[part], **CURVE[part], **own})


def on_the_curve(level: str) -> tuple[SizeScene, ...]:
    """Return S rounds with b = ceil(sqrt(S)/(I K)), I <= sqrt(S)/K and m = ceil(I/M)."""
    n = {"quick": 8, "default": 16, "full": 40}[level]
    axes = np.meshgrid(
        np.unique(np.round(np.geomspace(1, 1e12, n))),
        np.array([1, 2, 9, 100, 1001]),
        np.array([1, 3, 50]),
        np.array(sorted({float(steps.M) for steps in RSTAR_STEPS.values()})),
    )
    every = (axis.ravel() for axis in axes)
    S, I, K, M = (
        axis[axes[1].ravel() * axes[2].ravel() <= np.sqrt(axes[0].ravel())] for axis in every
    )
    b = np.ceil(np.sqrt(S) / (I * K))
    return (
        SizeScene(
            {"S": S, "I": I, "K": K, "M": M, "b": b, "m": np.ceil(I / M), "T": S * I, "t": S * I}
        ),
    )


# --- wrong versions -------------------------------------------------------------------------------


def worse(letter: str, factor: str) -> Mutant:
    """Return the mutant in which every part chooses or states another number."""

    def change(at: Lengths) -> Lengths:
        choices = dict(at.choices)
        if letter in choices:
            choices[letter] = choices[letter] * Fraction(factor)
        return replace(at, choices=choices)

    return Mutant(f"{letter} times {factor}", change=change)


def one_longer(at: Lengths) -> Lengths:
    """Return the lengths and M + 1, without a sync batch."""
    every = np.append(at.I, at.I.max() + 1)
    return replace(at, I=every, m=np.ones_like(every))


def one_fewer(at: Lengths) -> Lengths:
    """Return the lengths with every m one too small."""
    return replace(at, m=np.maximum(at.m - 1, 1))


def in_every_part(names: str, **where: bool) -> Callable[[str], tuple[Lengths, ...]]:
    """Return the subjects: the lengths of each part, under each of its readings."""
    both = [(name, kappa) for name in names for kappa in kappas(name)]
    return lambda level: tuple(lengths(name, kappa, **where) for name, kappa in both)


def each(*mutants: str) -> tuple[Mutant, ...]:
    """Return a mutant for each "letter factor"."""
    return tuple(worse(*mutant.split()) for mutant in mutants)


WORSE = (
    *(
        "h_0 1.01",
        "c_0 0.99",
        "Lam 1.001",
        "p_0 1.1",
        "p_0 0.9",
        "A_s 0.99",
        "A_z 0.99",
    ),
    *("p_A 1.01", "p_C 1.01", "p_D 1.01", "p_A 0.8", "p_C 0.98", "p_D 0.98"),
)
FEWER = Mutant("m one too small", change=one_fewer)
of_constants = partial(exact, label=SUM)
CLAIMS = (
    of_constants(
        PAID,
        id="RS11",
        statement="A sync batch m >= 2 takes a share of the difference v' - v away; tau pays for"
        " it, and the noise of a round grows by 1/(M tau).",
        cases=in_every_part(IDENTITY_PARTS, alone=False, beyond=True),
        mutants=each("tau 13", "tau 30", "M 1.1"),
    ),
    of_constants(
        PROVES & step_seven(INEQUALITY, ANY_BATCH),
        id="RS12",
        statement="Part (a): (4), (6) and (7) for every I >= 2, b and K, with I/m at most 8.",
        cases=in_every_part("a", beyond=True),
        mutants=(*each(*WORSE, "c_0 1.05", "theta 1.05", "theta 0.98"), FEWER),
    ),
    of_constants(
        PROVES & step_seven(IDENTITY, ALONE),
        id="RS13",
        statement="Parts (b) to (e): (4), (6) and (7) for 2 <= I <= M without a sync batch.",
        cases=in_every_part(IDENTITY_PARTS),
        mutants=(*each(*WORSE, "c_0 1.05"), Mutant("I = M + 1", change=one_longer)),
    ),
    of_constants(
        PROVES & step_seven(WITH_BATCH, TOGETHER),
        id="RS14",
        statement="Parts (b) to (e): (4), (6) and (7) for every I > M with m = ceil(I/M).",
        cases=in_every_part(IDENTITY_PARTS, alone=False, beyond=True),
        mutants=(*each(*WORSE, "c_0 1.05", "tau 1.1", "tau 0.9"), FEWER),
    ),
    of_constants(
        CORNER_ONE,
        id="RS15",
        statement="I = 1: no drift and no jump, p = 0 and another Lambda; C of the corollary.",
        cases=lambda level: tuple(map(one_step, RSTAR_PARTS)),
        mutants=each("Lam 1.001", "c_0 0.999", "C_L 0.999", "C_s 0.99"),
    ),
    of_constants(
        CORNER,
        id="RS16",
        statement="On the curve, (I b K)^2 >= S and B = bI, S rounds leave C/S.",
        cases=in_every_part("abcde", beyond=True),
        mutants=each("C_L 0.999", "C_s 0.99", "C_z 0.98", "Lam 0.9", "A_s 1.1", "A_z 1.1"),
    ),
    sized(
        "RS17",
        THEOREM,
        "(3): samples of a worker on the curve, b rounded up, I <= sqrt(S)/K.",
        SAMPLES,
        cases=on_the_curve,
    ),
)

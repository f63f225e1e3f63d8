"""What the proof of Theorem R* chooses, and the inequalities (4), (6) and (7) that it asks for.

The free constants are h_0, c_0, p_0, the weights p_A, p_C, p_D, Lam, and theta in part (a), tau
else. Only upper bounds of I/m, 1/m, 1/I, 1/b and a enter, and each side is monotone in them: one
evaluation at the ``Extremes`` of a case covers every I, m, b and K in it.

See docs/theorem-rstar.md, steps 1 to 7 and section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from stemtheory.bounds import RSTAR
from stemtheory.claims.language import Expr, Line, Q, expr
from stemtheory.claims.language.letters import (
    A_s,
    A_z,
    Lam,
    M,
    c_0,
    exp,
    h_0,
    kappa,
    p_0,
    p_A,
    p_C,
    p_D,
    tau,
    theta,
)
from stemtheory.schedules import RSTAR_STEPS


def _part(name: str, young: str, p: str, weights: str) -> dict[str, Fraction]:
    """Return what a part chooses and states, by letter; ``young`` is theta in (a), tau else."""
    steps, stated = RSTAR_STEPS[name], RSTAR[name]
    split = dict(zip(("p_A", "p_C", "p_D"), map(Fraction, weights.split()), strict=True))
    return {
        "h_0": steps.h,
        "c_0": steps.c_0,
        "M": Fraction(steps.M),
        "kappa": Fraction("literal" in steps.readings),
        "theta" if name == "a" else "tau": Fraction(young),
        "p_0": Fraction(p),
        **split,
        "Lam": stated.lam,
        "A_s": stated.A_s,
        "A_z": stated.A_z,
    }


RSTAR_PARTS: Mapping[str, Mapping[str, Fraction]] = {
    "a": _part("a", "0.8", "0.096", "0.148 0.291 0.231"),
    "b": _part("b", "0.17", "0.099", "0.0755 0.335 0.2608"),
    "c": _part("c", "0.05", "0.105", "0.257 0.286 0.128"),
    "d": _part("d", "0.09", "0.148", "0.344 0.446 0.21"),
    "e": _part("e", "0.035", "0.0743", "0.1985 0.443 0.1092"),
}

IDENTITY_PARTS = "bcde"  # those whose step 1 is the identity; that of part (a) is Young's

# What the corollary states: C = C_L L gap + C_s sigma^2 + C_z zeta^2.
CURVE: Mapping[str, Mapping[str, Fraction]] = {
    name: dict(zip(("C_L", "C_s", "C_z"), map(Fraction, stated.split()), strict=True))
    for name, stated in {
        "a": "8 2.35 0.34",
        "b": "8 1.99 0.22",
        "c": "8 2.11 0.59",
        "d": "6 1.91 0.48",
        "e": "10 1.87 0.60",
    }.items()
}
# C_s at I = 1, where C_z is 0.
CURVE_ONE: Mapping[str, Fraction] = {
    name: Fraction(stated)
    for name, stated in zip("abcde", ["1.88", "1.88", "1.88", "1.67", "1.82"], strict=True)
}


@dataclass(frozen=True)
class FirstStep:
    """What step 1 makes of the error: factors of q_t^2, of X at a jump (before 1/m), of noise."""

    normal: Expr
    jump: Expr
    noise: Expr


@dataclass(frozen=True)
class Extremes:
    """Upper bounds of I/m, 1/m, 1/I, (I - 1)/I^2 and 1/b that a case of the proof allows."""

    I_over_m: Expr
    one_over_m: Expr
    one_over_I: Expr
    steps_over_I2: Expr  # a (I - 1) is c_0 h^2/(bK) times this
    one_over_b: Expr


ONE = expr(1)
INEQUALITY = FirstStep(1 + theta, 1 + theta, 1 + 1 / theta)  # part (a), every m
IDENTITY = FirstStep(ONE, ONE, ONE)  # parts (b) to (e), m = 1: nothing is lost
WITH_BATCH = FirstStep(ONE, 1 + tau, 1 + 1 / (M * tau))  # m >= 2: tau pays for the missing share

# Any I >= 2 with I/m at most M; and those among them that have a sync batch, so I >= M + 1.
EVERY = Extremes(M, ONE, ONE / 2, ONE / 4, ONE)
BATCHED = Extremes(M, ONE / 2, 1 / (M + 1), M / (M + 1) ** 2, ONE)


def growth(at: Extremes) -> Expr:
    """Return G, a bound of (1 + v)^{I-1} with v = (1 + a (I - 1)) h/I."""
    return exp((1 + c_0 * h_0**2 * at.steps_over_I2) * h_0)


def carried_on(at: Extremes) -> Expr:
    """Return rho: what the consensus error at one jump leaves at the next."""
    return kappa * growth(at) * h_0


SUMMANDS = 3 + kappa  # of F_i

# (4): the terms in ||ebar||^2 cancel, where a is largest (I = 2, bK = 1); a = c_0 h^2 at I = 1.
CANCELS = (2 - c_0 * h_0**2 / 4) * c_0 >= Lam * (1 + p_0) / 2
# (6): the consensus error at one jump and at the next.
CONTRACTS = p_A + p_C + p_D <= 1 - carried_on(EVERY)
# Section 5: one local step, no drift, no jump, and p = 0.
ONE_STEP = ((2 - c_0 * h_0**2) * c_0 >= Lam / 2) & (h_0 / 2 + 1 / Lam <= Q("1/2"))


# (2) on the curve is C/S: what C takes L gap, sigma^2 and zeta^2 by.
FROM_GAP = 2 / h_0
FROM_SIGMA = 2 / (Lam * h_0**2) + 2 * c_0**2 * h_0**2 * A_s
FROM_ZETA = 2 * c_0**2 * h_0**2 * A_z


def from_sigma_alone(Lam: Expr) -> Expr:
    """Return what C takes sigma^2 by at I = 1, where A_sigma is 1/Lam."""
    return 2 / (Lam * h_0**2) + 2 * c_0**2 * h_0**2 / Lam


def drift_cost(young: FirstStep) -> Expr:
    """Return what sum eta E Delta_t and sum eta E X_t cost together, per E_s/K (step 6)."""
    return young.normal / Lam + (1 + 1 / p_0) * h_0**2 / 4


def collected(young: FirstStep, at: Extremes) -> tuple[Expr, Expr, Expr]:
    """Return the left sides of (7): of ||dbar||^2, of zeta^2 and of sigma^2."""
    cost, G = drift_cost(young), growth(at)
    once = G**2 * h_0**2 / (Lam * (1 - carried_on(at)))
    carried = kappa * SUMMANDS * G**2 * h_0**2 * Lam * cost
    still = SUMMANDS * cost * G**2 * h_0**2
    jump = young.jump * at.I_over_m + carried
    return (
        jump * once / (3 * p_A) + still / 2,
        jump * once / (8 * p_C) + still / 6,
        young.noise / Lam
        + at.one_over_b
        * (
            (young.jump * at.one_over_m + carried * at.one_over_I) * 4 * once / (9 * p_D)
            + still * at.one_over_I / 2
        ),
    )


def step_seven(young: FirstStep, at: Extremes) -> Line:
    """Return (7): that ||dbar||^2 is absorbed, and zeta^2 and sigma^2 get what is stated."""
    dbar, from_zeta, from_sigma = collected(young, at)
    room = Q("1/2") - h_0 * at.one_over_I / 2 - young.normal / Lam
    return (dbar <= room) & (from_zeta <= A_z) & (from_sigma <= A_s)

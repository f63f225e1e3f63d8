"""The theorem's step sizes: every inequality about eta_t, a_t, c and w_t, over a wide grid.

Paper: Thm: PR_Convergence_Main_App, eq. (eq: Step-Size), eq. (Eq: Step_Difference).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from stemtheory.claims.base import wrong
from stemtheory.claims.language import Q, chain, equal
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    T,
    a,
    b,
    c,
    eta,
    kbar,
    maximum,
    minimum,
    sigma,
    sqrt,
    t,
    unit_step,
    w,
)
from stemtheory.claims.panel import SizeGrid, grid
from stemtheory.claims.stating import sized
from stemtheory.schedules import theorem_offset

APP, STEP, DIFFERENCE = "Thm: PR_Convergence_Main_App", "eq: Step-Size", "Eq: Step_Difference"
CHOSEN = 64 * L**2 / (b * K) + sigma**2 / (24 * kbar**3 * L * I)  # c, as the theorem chooses it
CAP = 4096 * L**3 * I**3 * kbar**3  # w_t + sigma^2 t while steps are constant
LAST = c**3 * kbar**3 / (4096 * L**3 * I**3)
WEIGHT = maximum(2 * sigma**2, CAP - sigma**2 * t, LAST)
SLOWED = 1 / eta[t] - 1 / eta[t - 1]
UNIT = (b * K) ** 2 / L**3  # kbar^3/sigma^2
LAST_UNIT = c**3 * (b * K) ** 2 / (4096 * L**6 * I**3)  # the last of the weights, over sigma^2
CONSTANT_UNTIL = 4096 * I**3 * (b * K) ** 2 - maximum(2, LAST_UNIT)
THIRD = Fraction(1, 3)


def from_zero(level: str) -> tuple[SizeGrid, ...]:
    """Return the grid with t = 0 for its least t, for lines that speak of t = 0 too."""
    g = grid(level)
    return (replace(g, t=np.where(g.t == g.t.min(), 0.0, g.t)),)


def within(level: str) -> tuple[SizeGrid, ...]:
    """Return the grid with its times brought into the constant phase, to its very end."""
    g = grid(level)
    end = np.floor(4096 * g.I**3 * (g.b * g.K) ** 2 - theorem_offset(g.K, g.b, g.I))
    return (replace(g, t=np.minimum(g.t, end)),)


def on_curve(level: str) -> tuple[SizeGrid, ...]:
    """Return the grid with T = t K^2 and the I and b of the trade-off curve."""
    g = grid(level)
    ratio = np.maximum(g.t, 2.0)
    I, b = ratio ** (g.nu / 3), ratio ** ((1 - g.nu) / 2)
    return (replace(g, T=ratio * g.K**2, I=I, b=b),)


def near_the_premise(level: str) -> tuple[SizeGrid, ...]:
    """Return the grid with T at the least that FedAvg's theorem allows, beyond it, and below."""
    g = grid(level)
    edge = 81 * g.L**2 * g.I**2 * g.b * g.K
    below = np.arange(len(g.t)) % 2 == 1
    return (replace(g, T=edge * np.where(below, 0.99, 1 + g.nu * g.t)),)


CLAIMS = (
    sized(
        "SCH0",
        STEP,
        "The printed eta_t, whatever sigma > 0 is, is one minimum without sigma.",
        equal(
            kbar / (WEIGHT + sigma**2 * t) ** THIRD,
            minimum(
                1 / (16 * L * I),
                (UNIT / (2 + t)) ** THIRD,
                (UNIT / (LAST_UNIT + t)) ** THIRD,
            ),
        ),
        mutants=(),
        reason="At sigma = 0 the printed form is 0/0; the minimum is what is meant.",
    ),
    sized(
        "SCH1",
        APP,
        "Both printed forms of c agree, and sigma cancels from the schedule.",
        equal(CHOSEN, L**2 * (64 / (b * K) + 1 / (24 * (b * K) ** 2 * I))),
        mutants=(),
    ),
    sized(
        "SCH2",
        APP,
        "The step sizes and the weights w_t do not increase.",
        (eta[t] <= eta[t - 1]) & (w[t] <= w[t - 1]),
        mutants=(wrong("turned round", line=(eta[t - 1] <= eta[t]) & (w[t - 1] <= w[t])),),
    ),
    sized(
        "SCH3",
        APP,
        "No step exceeds 1/(16LI).",
        eta[t] <= 1 / (16 * L * I),
        cases=from_zero,
    ),
    sized(
        "SCH4",
        APP,
        "c is at most 128 L^2/(bK).",
        c <= 128 * L**2 / (b * K),
        reason="The true maximum of c bK/L^2 is 64.0417: twice loose, so c^2 is four times loose.",
    ),
    sized(
        "SCH5",
        APP,
        "The printed upper bound of w_t.",
        w[t] <= sigma**2 * maximum(2, 4096 * I**3 * (b * K) ** 2 - t, 512 / (b * K * I**3)),
    ),
    sized(
        "SCH6",
        "Eq: GradNorm_1stTerm",
        "w_t never exceeds its value in the constant phase.",
        w[t] <= CAP,
        cases=from_zero,
    ),
    sized(
        "SCH7",
        APP,
        "The momentum a is in (0, 0.2502].",
        (a[t] > 0) & (a[t] <= Q("0.2502")),
    ),
    sized(
        "SCH8",
        DIFFERENCE,
        "The chain that bounds the growth of 1/eta_t.",
        chain(
            SLOWED,
            2 ** Q("2/3") * sigma**2 / (3 * kbar**3) * eta[t] ** 2,
            sigma**2 / (24 * kbar**3 * L * I) * eta[t],
        ),
    ),
    sized(
        "SCH9",
        DIFFERENCE,
        "So c eta_t absorbs that growth and leaves 64 L^2 eta_t/(bK).",
        SLOWED - c * eta[t] <= -(64 * L**2 / (b * K)) * eta[t],
        meaning={c: CHOSEN},
    ),
    sized(
        "SCH10",
        APP,
        "The step is constant up to T_const = 4096 I^3 (bK)^2 - m.",
        equal(eta[t], 1 / (16 * L * I)),
        provided=t <= CONSTANT_UNTIL,
        cases=within,
        mutants=(),
    ),
    sized(
        "SCH10-curve",
        "eq: I:b_SAMVR",
        "On the trade-off curve the step never leaves that phase.",
        T < CONSTANT_UNTIL,
        provided=equal(I**3 * (b * K) ** 2, T),
        cases=on_curve,
    ),
    sized(
        "SCH11",
        "Thm: Flexible_FedAvg",
        "FedAvg's premise says exactly that eta <= 1/(9LI).",
        sqrt(b * K / T) * unit_step <= 1 / (9 * L * I),
        provided=T >= 81 * L**2 * unit_step**2 * I**2 * b * K,
        exactly=True,
        cases=near_the_premise,
        reason="eta has no 1/L, so FedAvg's bound is not invariant to the scale of f.",
    ),
)

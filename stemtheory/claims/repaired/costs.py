"""What the repair costs and buys: the sync batch's samples, and 1/epsilon rounds without logs.

Paper: Def: ComputationComplexity; Thm: PR_Convergence_Main.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from stemtheory.bounds import REPAIRED, Setting
from stemtheory.claims.base import Claim, wrong
from stemtheory.claims.evidence.sync_batches import price, sync_runs
from stemtheory.claims.language import Q, latex
from stemtheory.claims.language.letters import (
    B,
    I,
    K,
    L,
    M,
    S,
    T,
    b,
    c,
    c_b,
    eta,
    gap,
    m,
    maximum,
    sigma,
    sqrt,
    sum_t,
    t,
    zeta,
)
from stemtheory.claims.stating import sized

# A sync batch m = ceil(I/M), per round.
PRICE = (2 * b * (I - 1 + m) <= 2 * b * I * (1 + 1 / M)) & (I / m <= M)

# --- (iv) and the log-free corollary --------------------------------------------------------------


def curves(level: str) -> tuple[tuple[Setting, ...], ...]:
    """Return one subject: runs of S rounds with b >= max(1, sqrt(S)/(IK)), B = bI, I >= 2.

    b is the least that is allowed, and that rounded up; m = ceil(I/20000).
    """
    n = {"quick": 6, "default": 12, "full": 30}[level]
    rounds = np.unique(np.round(np.geomspace(1, 1e12, 2 * n)))
    longest = REPAIRED["a"].longest
    lengths = [2, 3, *(int(i) for i in np.geomspace(10, 1e7, n)), longest, longest + 1]
    found = [
        Setting(n * I, K, b, I, L, 0.1 / L, L, 1.0, sync_batch=-(-I // longest))
        for n, I, K, L in product(rounds.tolist(), lengths, (1, 3, 1000), (0.1, 1.0))
        for least in (max(1.0, math.sqrt(n) / (I * K)),)
        for b in dict.fromkeys((least, float(math.ceil(least))))
    ]
    return (tuple(found),)


# The terms of (3) with part (a), divided by eta_T T/2.
OUTER, CUBES = 2 / (eta[T] * T), c**2 / L**2 * sum_t(t, 1, T, eta[t] ** 3)
GAP, FIRST = OUTER * gap, OUTER * b * sigma**2 / (240 * L**2 * B * eta[0])
NOISE = OUTER * CUBES * Q("0.0087") * sigma**2
APART = OUTER * CUBES * (Q("1.2e-4") + Q("2e-5") * I / m) * zeta**2

STEADY = 32 * (c_b / 64) ** 2 / (I * b * K) ** 2
CONSTANT_PHASE = (
    (GAP <= 32 * L * I * gap / T)
    & (FIRST <= Q("2.134") * b * I**2 * sigma**2 / (B * T))
    & (NOISE <= STEADY * Q("0.0087") * sigma**2)
    & (APART <= STEADY * (Q("1.2e-4") + Q("2e-5") * I / m) * zeta**2)
)

# No step decays, and where I <= sqrt(S)/K the maximum, over the samples, is sqrt(S)/K.
LOG_FREE = (
    (GAP <= 32 * L * gap / S)
    & (FIRST + NOISE <= Q("2.42") * sigma**2 / S)
    & (APART <= (Q("0.004") + Q("6.5e-4") * I / m) * zeta**2 / S)
    & (Q("0.004") + Q("6.5e-4") * I / m <= Q("13.01"))
    & (T <= 4096 * I**3 * (b * K) ** 2 - maximum(2, c_b**3 / (4096 * b * K * I**3)))
    & (
        b * I + 2 * b * I * S * (1 + Q("1/20000"))
        <= (2 + Q("4.0002") * S) * maximum(I, sqrt(S) / K)
    )
)

CLAIMS = (
    Claim(
        id="E1",
        label="Def: ComputationComplexity",
        kind="arithmetic",
        statement="The sync batch m = ceil(I/M) costs at most a share 1/M of samples, and keeps"
        " I/m <= M, so the printed theorem holds for every I with M = 40000.",
        formula=latex(PRICE),
        line=PRICE,
        by_hand="The left side is what the simulator counts, over all rounds.",
        compare=price,
        cases=sync_runs,
        mutants=(wrong("m = 10 for every I", least=10),),
    ),
    sized(
        "Riv",
        "Eq: Grad_Norm_Sum",
        "In the constant phase the bound is a closed form without a sum, term by term.",
        CONSTANT_PHASE,
        cases=curves,
    ),
    sized(
        "LOGFREE",
        "Thm: PR_Convergence_Main",
        "On or above the curve b = sqrt(S)/(IK), S rounds leave C/S for every I >= 2:"
        " 1/epsilon rounds and epsilon^{-3/2}/K samples without a logarithm, term by term.",
        LOG_FREE,
        cases=curves,
    ),
)

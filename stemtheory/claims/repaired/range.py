"""What the repaired theorem implies: its constants collected, its range, variants for every I.

All statements are between constants, proved by intervals over every bK >= 1 and the whole range of
I. See docs/repaired-theorem.md.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.bounds import REPAIRED
from stemtheory.claims.base import Mutant
from stemtheory.claims.evidence.exact_scenes import Lengths
from stemtheory.claims.intervals import enclose
from stemtheory.claims.language import Q, column
from stemtheory.claims.language.letters import A_0, A_1, A_s, I, c_b, m, mu, phi
from stemtheory.claims.repaired.coefficients import (
    MOST,
    PARTS,
    SUM,
    THEOREM,
    UNIVERSAL,
    error_cancels,
    step_seven,
)
from stemtheory.claims.stating import exact


def lengths(part: str, beyond: bool = True) -> Lengths:
    """Return every I of the part's range with m = 1, and I up to 1e9 with m = ceil(I/longest)."""
    longest = REPAIRED[part].longest
    every = np.arange(2, longest + 1)
    if beyond:
        far = np.unique(np.geomspace(longest + 1, 1e9, 200).astype(np.int64))
        every = np.concatenate([every, [longest + 1, 2 * longest, 2 * longest + 1], far])
    return Lengths(every, -(-every // longest), PARTS[part])


def far_lengths(level: str) -> tuple[Lengths, ...]:
    """Return I beyond 40000, up to 1e9, with phi^2 = mu = I/40000."""
    n = {"quick": 300, "default": 3000, "full": 30000}[level]
    far = np.unique(np.geomspace(REPAIRED["b"].longest + 1, 1e9, n).astype(np.int64))
    mu = enclose(column(far)) / REPAIRED["b"].longest
    return (Lengths(far, np.ones_like(far), {**PARTS["b"], "mu": mu, "phi": np.sqrt(mu)}),)


def _to(longest: int) -> Mutant:
    def longer(at: Lengths) -> Lengths:
        every = np.arange(2, longest + 1)
        return replace(at, I=every, m=np.ones_like(every))

    return Mutant(f"m = 1 up to I = {longest}", change=longer)


SYNC_OFF = Mutant("the sync batch off", change=lambda at: replace(at, m=np.ones_like(at.m)))


def _in_part(name: str) -> Mutant:
    change = partial(replace, choices=PARTS[name])
    return Mutant(f"the constants of part {name}", change=change)


A_z = A_0 + A_1 * I / m
FIRST_BATCH = Q("1/240") <= Q("1/64")
# E2: with the cap 1/(16 L I phi) on the steps every I/m of the proof becomes I/phi^2. In the
# decaying phase y = t + w_t/sigma^2 >= 4096 I^3, and y^{1/3} (y^{1/3} - (y-1)^{1/3}) is at most
# (bK)^{1/3} u if 1/(2 (1 - 1/y)) <= 1.
FAR = A_0 + A_1 * I / phi**2

of_theorem = partial(exact, label=THEOREM)
CLAIMS = (
    exact(
        step_seven(1 / m, A_s, A_z) & UNIVERSAL & error_cancels(),
        id="R4",
        label=SUM,
        statement="The proof's coefficients, collected, are within those the theorem states.",
        cases=lambda level: tuple(lengths(name) for name in PARTS),
        mutants=(SYNC_OFF,),
    ),
    of_theorem(
        (A_s <= MOST) & (A_z <= MOST * (I - 1) / I) & FIRST_BATCH,
        id="Ri",
        statement="The printed theorem holds for I/m <= 40000: with m = 1 for every I <= 40000.",
        cases=lambda level: (lengths("b"),),
        mutants=(_to(50_000), SYNC_OFF, _in_part("a")),
    ),
    exact(
        (A_s <= Q("3/64")) & (A_z <= (I - 1) / (32 * I)) & FIRST_BATCH,
        id="Rii",
        label=SUM,
        statement="The printed sum before the logarithm holds for every I <= 7500 with m = 1.",
        cases=lambda level: (lengths("c", beyond=False),),
        mutants=(_to(8_000), _in_part("a"), _in_part("b")),
    ),
    of_theorem(
        (2 * A_s * c_b**2 * 16 <= 1142)
        & (2 * A_s * c_b**2 <= Q("71.4"))
        & (2 * A_z * c_b**2 * 16 <= 16 + Q("2.63") * I / m)
        & (2 * A_z * c_b**2 <= 1 + Q("0.165") * I / m)
        & (Q("1/240") * 16 * 2 * 16 <= Q("32/15"))
        & (Q("1/240") * 16 * 2 <= Q("2/15")),
        id="Riii",
        statement="Explicit constants 1142, 71.4 and 16 + 2.63 I/m, 1 + 0.165 I/m with the log.",
        cases=lambda level: (lengths("a"),),
    ),
    of_theorem(
        step_seven(1 / phi**2, A_s, FAR)
        & (A_s <= MOST)
        & (FAR <= MOST * (I - 1) / I)
        & (1 / (2 * (1 - 1 / (4096 * I**3))) <= 1),
        id="E2",
        statement="Every I: with steps at most 1/(16 L I phi), phi^2 = I/40000, and c unchanged.",
        cases=far_lengths,
        reason="The terms in 1/T grow by phi, that of the initial batch by phi^2.",
    ),
    of_theorem(
        step_seven(1 / mu, A_s, A_0 + A_1 * I / mu, mu) & error_cancels(mu),
        id="E3",
        statement="Every I: with c alone larger, mu = I/40000, at mu in sigma^2, mu^2 in zeta^2.",
        cases=far_lengths,
    ),
)

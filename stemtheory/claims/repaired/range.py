"""What the repaired theorem implies: its constants collected, its range, variants for every I.

All statements are between constants, or between bounds: exact fractions and intervals that cover
every b, K >= 1, over the whole range of I. See docs/repaired-theorem.md.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from stemtheory.bounds import EXPLICIT_SIGMA, EXPLICIT_SLOPE, EXPLICIT_ZETA, REPAIRED, REPAIRED_LAM
from stemtheory.claims.base import Claim, Comparison, Mutant, wrong
from stemtheory.claims.intervals import Interval, Pair, compared, enclose
from stemtheory.claims.repaired.coefficients import (
    METHOD,
    PARTS,
    SUM,
    THEOREM,
    ProofSizes,
    c_b,
    cancellation,
    collected,
    stated,
    universal,
    with_sync_batch,
    within,
)


@dataclass(frozen=True)
class Lengths:
    """Local steps I and sync batches m, arrays of one length, for one part of the theorem."""

    part: str
    I: Any
    m: Any

    @property
    def sizes(self) -> ProofSizes:
        """The same for the coefficients."""
        return with_sync_batch(self.I, self.m)


def lengths(part: str, beyond: bool = True) -> Lengths:
    """Return every I of the part's range with m = 1, and I up to 1e9 with m = ceil(I/longest)."""
    longest = PARTS[part].longest
    I = np.arange(2, longest + 1)
    if beyond:
        far = np.unique(np.geomspace(longest + 1, 1e9, 200).astype(np.int64))
        I = np.concatenate([I, [longest + 1, 2 * longest, 2 * longest + 1], far])
    return Lengths(part, I, -(-I // longest))


# --- R4: step 7 of the proof ----------------------------------------------------------------------


def collect(at: Lengths, lam: int = REPAIRED_LAM, louder: str = "1") -> Comparison:
    """Step 7: what is collected is what is stated, and ||ebar||^2, ||dbar||^2 are absorbed.

    ``louder`` multiplies the jump's variance, for a mutant.
    """
    method, part = replace(METHOD, lam=Fraction(lam)), PARTS[at.part]
    jump = at.sizes.jump if louder == "1" else at.sizes.jump * louder
    found = collected(part, replace(at.sizes, jump=jump), method)
    short, long = at.I[at.I <= 64], at.I[at.I > 64]
    cancels = [cancellation(short, method), cancellation(long, method, pieces=1)]
    return compared([*within(found, part, at.sizes, method), *universal(method), *cancels])


# --- consequences (i) to (iii) --------------------------------------------------------------------


def printed_theorem(at: Lengths) -> Comparison:
    """(i): 2 A c_b^2 <= 64^2 for A = A_s, and for A = A_z with the factor (I - 1)/I."""
    A_s, A_z = stated(PARTS[at.part], at.sizes)
    most = 2048 / (c_b(at.I) * c_b(at.I))
    return compared(
        [(A_s, most), (A_z, most * _heterogeneous(at.I)), (Fraction(64, REPAIRED_LAM), 1)]
    )


def printed_sum(at: Lengths) -> Comparison:
    """(ii): A_s <= 3/64 and A_z <= (1/32)(I - 1)/I, the coefficients before the logarithm."""
    A_s, A_z = stated(PARTS[at.part], at.sizes)
    pairs = [(A_s, Fraction(3, 64)), (A_z, _heterogeneous(at.I) / 32)]
    return compared([*pairs, (Fraction(64, REPAIRED_LAM), 1)])


def _heterogeneous(I: Any) -> Interval:
    return (enclose(I) - 1) / enclose(I)


def explicit(at: Lengths, shrink: str = "1") -> Comparison:
    """(iii): 2 A c_b^2 times 16 (the 1/T terms) and times 1 (the T^{-2/3} terms), all I >= 2."""
    square = c_b(at.I) * c_b(at.I)
    A_s, (constant, slope) = PARTS["a"].A_s, PARTS["a"].A_z
    pairs: list[Pair] = [(Fraction(512, REPAIRED_LAM), Fraction(32, 15))]
    stated_and_printed = ((A_s, EXPLICIT_SIGMA), (constant, EXPLICIT_ZETA), (slope, EXPLICIT_SLOPE))
    for A, (fast, slow) in stated_and_printed:
        pairs += [(square * (32 * A), fast), (square * (2 * A), slow)]
    return compared([(left, enclose(right) * shrink) for left, right in pairs])


# --- E2, E3: every I without a larger batch -------------------------------------------------------


def far_lengths(level: str) -> tuple[Lengths, ...]:
    """Return I beyond 40000, up to 1e9."""
    n = {"quick": 300, "default": 3000, "full": 30000}[level]
    I = np.unique(np.geomspace(REPAIRED["b"].longest + 1, 1e9, n).astype(np.int64))
    return (Lengths("b", I, np.ones_like(I)),)


def smaller_steps(at: Lengths, power: int = 1) -> Comparison:
    """E2: a cap 1/(16 L I phi), phi^2 = I/40000: every I/m of the proof becomes I/phi^2.

    The step sizes still satisfy 1/eta_t - 1/eta_{t-1} <= (L^2 u/(bK)) eta_t.
    """
    longest = PARTS[at.part].longest
    phi2 = (enclose(at.I) / longest) if power else enclose(np.ones(len(at.I)))
    sizes = ProofSizes(at.I, 1 / phi2)
    A_s, A_z = stated(PARTS[at.part], sizes)
    most = 2048 / (c_b(at.I) * c_b(at.I))
    pairs = [(A_s, most), (A_z, most * _heterogeneous(at.I)), _slow_decay(at.I)]
    part = PARTS[at.part]
    return compared([*within(collected(part, sizes), part, sizes), *pairs])


def _slow_decay(I: Any) -> Pair:
    """y^{1/3} (y^{1/3} - (y-1)^{1/3}) <= (bK)^{1/3} u for every decaying y = t + w_t/sigma^2.

    There y^{1/3} >= 16 I phi (bK)^{2/3}, and the left side is at most
    1/(3 (1 - 1/y) y^{1/3}); times 24 I (bK)^{2/3}, with phi >= 1, it is 1/(2 (1 - 1/y)) <= 1.
    """
    y = 4096 * enclose(I) * enclose(I) * enclose(I)
    return 1 / (2 * (1 - 1 / y)), 1


def larger_momentum(at: Lengths, power: int = 2) -> Comparison:
    """E3: c -> mu c and lam -> mu lam, mu = I/40000: sigma^2 terms times mu, zeta^2 times mu^2.

    ``power`` is the power of mu allowed to the zeta^2 terms.
    """
    part = PARTS[at.part]
    mu = enclose(at.I) / part.longest
    sizes = ProofSizes(at.I, 1 / mu, mu)
    pairs = within(collected(part, sizes), part, sizes)
    if power == 1:
        pairs[1] = (pairs[1][0] / mu, pairs[1][1] / (mu * mu))
    I = at.I[:: max(1, len(at.I) // 64)]
    cancels = (cancellation(i, mu=enclose(i) / part.longest, pieces=1) for i in I[:64])
    return compared([*pairs, *cancels])


def _to(longest: int) -> Mutant:
    def longer(at: Lengths) -> Lengths:
        I = np.arange(2, longest + 1)
        return replace(at, I=I, m=np.ones_like(I))

    return Mutant(f"m = 1 up to I = {longest}", change=longer)


SYNC_OFF = Mutant("the sync batch off", change=lambda at: replace(at, m=np.ones_like(at.m)))


def _in_part(name: str) -> Mutant:
    return Mutant(f"the constants of part {name}", change=lambda at: replace(at, part=name))


arithmetic = partial(Claim, label=THEOREM, kind="arithmetic")
CLAIMS = (
    arithmetic(
        id="R4",
        label=SUM,
        statement="The proof's coefficients, collected, are within those the theorem states.",
        formula=r"\{\bar d, \zeta, \sigma\}\text{-coefficients of step 7} \leq"
        r" \{1/2-1/64-(1+\theta)/240,\ A_\zeta,\ A_\sigma\}",
        compare=collect,
        cases=lambda level: tuple(lengths(name) for name in PARTS),
        mutants=(
            wrong("lam = 260 instead of 240", lam=260),
            SYNC_OFF,
            wrong("a jump of 1.1 times the variance", louder="1.1"),
        ),
    ),
    arithmetic(
        id="Ri",
        statement="The printed theorem holds for I/m <= 40000: with m = 1 for every I <= 40000.",
        formula=r"A_\sigma \leq \tfrac18 (128/c_b)^2,\quad"
        r" A_\zeta \leq \tfrac18 (128/c_b)^2 \tfrac{I-1}{I}",
        compare=printed_theorem,
        cases=lambda level: (lengths("b"),),
        mutants=(_to(50_000), SYNC_OFF, _in_part("a")),
    ),
    arithmetic(
        id="Rii",
        label=SUM,
        statement="The printed sum before the logarithm holds for every I <= 7500 with m = 1.",
        formula=r"A_\sigma \leq 3/64,\quad A_\zeta \leq \tfrac{1}{32}\tfrac{I-1}{I}",
        compare=printed_sum,
        cases=lambda level: (lengths("c", beyond=False),),
        mutants=(_to(8_000), _in_part("a"), _in_part("b")),
    ),
    arithmetic(
        id="Riii",
        statement="Explicit constants 1142, 71.4 and 16 + 2.63 I/m, 1 + 0.165 I/m with the log.",
        formula=r"2 A c_b^2 \cdot \{16, 1\} \leq \{1142, 71.4\},\ \{16 + 2.63 I/m, 1 + 0.165 I/m\}",
        compare=explicit,
        cases=lambda level: (lengths("a"),),
        mutants=(wrong("every constant 2 % smaller", shrink="0.98"),),
    ),
    arithmetic(
        id="E2",
        statement="Every I: with steps at most 1/(16 L I phi), phi^2 = I/40000, and c unchanged.",
        formula=r"\eta_t \leq 1/(16LI\varphi),\ \varphi = \sqrt{\max(1, I/40000)}:"
        r"\ I/m \to I/\varphi^2",
        compare=smaller_steps,
        cases=far_lengths,
        mutants=(wrong("the old cap", power=0),),
        reason="The terms in 1/T grow by phi, that of the initial batch by phi^2.",
    ),
    arithmetic(
        id="E3",
        statement="Every I: with c alone larger, mu = I/40000, at mu in sigma^2, mu^2 in zeta^2.",
        formula=r"c \to \mu c,\ \lambda = 240\mu:\ A_\sigma \to \mu A_\sigma,"
        r"\ A_\zeta \to \mu^2 A_\zeta",
        compare=larger_momentum,
        cases=far_lengths,
        mutants=(wrong("zeta^2 times mu only", power=1),),
    ),
)

"""What the repair costs and buys: the sync batch's samples, and 1/epsilon rounds without logs.

Paper: Def: ComputationComplexity; Thm: PR_Convergence_Main.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from stemtheory.algorithms import Stem
from stemtheory.bounds import BOUNDS, REPAIRED, Setting
from stemtheory.claims.base import Claim, Comparison, wrong
from stemtheory.oracles import load_problem
from stemtheory.schedules import Theorem, theorem_c_b
from stemtheory.simulator import simulate

LONGEST = REPAIRED["a"].longest

# --- E1: the sync batch ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SyncRun:
    """A run of S rounds with m = ceil(I/M): its samples are counted, its iterates do not matter."""

    I: int
    M: int
    b: int = 2
    rounds: int = 3
    reading: str = "literal"
    least: int = 0

    @property
    def m(self) -> int:
        """How many times b samples the jump estimate uses."""
        return max(-(-self.I // self.M), self.least)


def sync_runs(level: str) -> tuple[tuple[SyncRun, ...], ...]:
    """Return one subject: short rounds that are simulated, and long ones counted by the rule."""
    short = [SyncRun(I, M, b) for I in (2, 3, 8, 16) for M in (1, 3, 8) for b in (1, 4)]
    longest = REPAIRED["b"].longest
    long = [SyncRun(I, longest, rounds=2) for I in (longest, longest + 1, 2 * longest + 1)]
    runs = [*short, *long]
    return ((*runs, *(replace(run, reading="average-first") for run in runs)),)


@cache
def counted(run: SyncRun) -> float:
    """Return a worker's oracle calls after the initial batch, as the simulator counts them.

    Rounds too long to be simulated here are counted by the minibatches that would be drawn.
    """
    if run.I > 100:
        costs = Stem(run.reading, run.m).costs
        factors = costs.batch_factors(1, run.rounds * run.I, run.I)
        return float(costs.gradients * run.b * factors.sum())
    trace = simulate(
        load_problem("quadratic", 2, 1),
        T=run.rounds * run.I,
        b=run.b,
        I=run.I,
        B=1,
        sync=run.reading,
        sync_batch=run.m,
        replicates=1,
        backend="numpy",
    )
    return trace.counts.samples_per_worker - 1


def price(runs: Iterable[SyncRun], paid: float = 1.0, least: int = 0) -> Comparison:
    """Samples - 2bIS <= 2bIS/M, and at least 2b(m-1)(S-1): the jump is really paid for.

    And I/m <= M, which is what the repaired theorem asks for. Mutants pay nothing, or have another
    least m.
    """
    rows = []
    for run in (replace(run, least=least) for run in runs):
        extra = counted(run) - 2 * run.b * run.I * run.rounds
        allowed = paid * 2 * run.b * run.I * run.rounds / run.M
        needed = 2 * run.b * (run.m - 1) * (run.rounds - 1)
        rows += [(extra, allowed), (needed, extra), (run.I / run.m, run.M)]
    left, right = np.array(rows, dtype=float).T
    return Comparison(left, right)


# --- (iv) and the log-free corollary --------------------------------------------------------------


def curves(level: str) -> tuple[tuple[Setting, ...], ...]:
    """Return one subject: runs of S rounds with b = max(1, sqrt(S)/(IK)), B = bI, I >= 2, no gap.

    The terms of the gap are equal on both sides.
    """
    n = {"quick": 6, "default": 12, "full": 30}[level]
    rounds = np.unique(np.round(np.geomspace(1, 1e12, 2 * n)))
    lengths = [2, 3, *(int(i) for i in np.geomspace(10, 1e7, n)), LONGEST, LONGEST + 1]
    found = []
    for S in rounds.tolist():
        for I in lengths:
            for K in (1, 3, 1000):
                b = max(1.0, math.sqrt(S) / (I * K))
                found += [Setting(S * I, K, b, I, L, 1.0, 1.0, 0.0) for L in (0.1, 1.0)]
    return (tuple(found),)


def constant_phase(settings: Iterable[Setting], start: float = 2.134) -> Comparison:
    """(iv): eta_t = 1/(16LI) turns the bound with its exact sum into a closed form, term by term.

    (2.134 bI^2/(BT)) sigma^2 + 32 (c_b/64)^2 (A_s sigma^2 + A_z zeta^2)/(IbK)^2
    """
    rows = []
    for s in settings:
        have = BOUNDS["stem-repaired"].terms(s)
        steady = 32 * (theorem_c_b(s.K, s.b, s.I) / 64) ** 2 / (s.I * s.b * s.K) ** 2
        A_s, A_z = REPAIRED["a"].at(s.I, s.sync_batch)
        first = start * s.b * s.I**2 / (s.initial_batch * s.T)
        rows += [
            (have["initial_batch"], first * s.sigma**2),
            (have["variance"], steady * A_s * s.sigma**2),
            (have["heterogeneity"], steady * A_z * s.zeta**2),
        ]
    left, right = np.array(rows).T
    return Comparison(left, right)


def log_free(settings: Iterable[Setting], shrink: float = 1.0, thinner: float = 1.0) -> Comparison:
    """The bound with its exact sum <= C/S term by term, and T <= T_const: no step ever decays.

    And with b rounded up, samples bI + 2bIS(1 + 1/20000) <= (2 sqrt S + 4.0002 S^{3/2})/K for
    I <= sqrt(S)/K, which is O(C^{3/2} eps^{-3/2}/K) at S = C/eps rounds.
    """
    rows = []
    for curve in settings:
        s = replace(curve, b=max(1.0, curve.b / thinner), sync_batch=-(-curve.I // LONGEST))
        have, want = BOUNDS["stem-repaired"].terms(s), BOUNDS["stem-log-free"].terms(s)
        rows += [
            (have["initial_batch"] + have["variance"], shrink * want["variance"]),
            (have["heterogeneity"], shrink * want["heterogeneity"]),
            (s.T, Theorem(s.L, s.K, s.b, s.I).constant_phase_end),
        ]
        S = s.T / s.I
        if s.I * s.K <= math.sqrt(S):
            b = math.ceil(s.b)
            paid = b * s.I + 2 * b * s.I * S * (1 + 1 / LONGEST)
            rows.append((paid, (2 * math.sqrt(S) + 4.0002 * S**1.5) / s.K))
    left, right = np.array(rows).T
    return Comparison(left, right)


arithmetic = partial(Claim, kind="arithmetic")
CLAIMS = (
    arithmetic(
        id="E1",
        label="Def: ComputationComplexity",
        statement="The sync batch m = ceil(I/M) costs at most a share 1/M of samples, and keeps"
        " I/m <= M, so the printed theorem holds for every I with M = 40000.",
        formula=r"2b(I-1+m) \leq 2bI(1+1/M),\quad m = \lceil I/M\rceil",
        compare=price,
        cases=sync_runs,
        mutants=(
            wrong("m = 10 for every I", least=10),
            wrong("a jump for nothing", paid=0.0),
        ),
    ),
    arithmetic(
        id="Riv",
        label="Eq: Grad_Norm_Sum",
        statement="In the constant phase the bound is a closed form without a sum.",
        formula=r"\frac{32LI\Delta_f}{T} + \frac{2.134\, b I^2 \sigma^2}{BT}"
        r" + 32 (c_b/64)^2 \frac{A_\sigma\sigma^2 + A_\zeta\zeta^2}{(IbK)^2}",
        compare=constant_phase,
        cases=curves,
        mutants=(wrong("2.133 instead of 2.134", start=2.133),),
    ),
    arithmetic(
        id="LOGFREE",
        label="Thm: PR_Convergence_Main",
        statement="On or above the curve b = sqrt(S)/(IK), S rounds leave C/S for every I >= 2:"
        " 1/epsilon rounds and epsilon^{-3/2}/K samples without a logarithm.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 \leq \frac1S\left[32L\Delta_f + 2.42\sigma^2"
        r" + (0.004 + 6.5\cdot10^{-4} I/m)\zeta^2\right]",
        compare=log_free,
        cases=curves,
        mutants=(wrong("constants 3 % smaller", shrink=0.97), wrong("half the batch", thinner=2.0)),
    ),
)

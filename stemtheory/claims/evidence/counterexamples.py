"""Runs that break the paper's lemmas at a synchronisation, and runs of an algorithm made wrong.

The lemmas use at every t that x_t^(k) is the mean at the start of a round, that ebar_{t+1} is
(1 - a) ebar_t plus noise, and that x_{t+1}^(k) - x_t^(k) = -eta_t d_t^(k). No reading of the
listing grants all three when I > 1, so each reading has its own runs here.

Paper: Algorithm (Algo_DR-STORM_batch_App).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from stemtheory.algorithms import Stem, StemState
from stemtheory.claims.base import Case, Mutant, dials, noiseless, quadratic
from stemtheory.oracles import Problem

# literal: the own points differ at t = tbar_s, where dbar happens to be almost zero.
TURNED: dict[str, Any] = {"h": 0.1, "het_frequency": 0.85, "het_phase": math.pi / 4}
DRIFTED = noiseless(2, 1, 8, 2, x1=0.0019091, zeta=2.0, **TURNED)


def tilted(reading: str, I: int) -> Case:
    """Return low but steep noise on tilted workers: the jump costs more than the lemma allows."""
    own: dict[str, Any] = {"h": 0.25, "sigma": 1e-4, "noise_smoothness": math.sqrt(1 - 0.25**2)}
    return quadratic(2, 1, I, 2, x1=0.0, reading=reading, zeta=2.0, heterogeneity="tilt", **own)


def opposed(K: int, b: float, I: int, rounds: int = 1) -> Case:
    """Return opposite curvatures without noise, where overwriting the own point adds a bias."""
    own: dict[str, Any] = {"h": 0.02, "het_frequency": 0.9, "zeta": 2.0}
    return noiseless(K, b, I, rounds, x1=0.5, reading="overwrite", **own)


# overwrite with a little noise, so that the bias can be seen in expectation.
OPPOSED_NOISY = replace(
    opposed(8, 64, 16),
    dials=dials(
        h=0.02, het_frequency=0.9, zeta=2.0, sigma=1e-4, noise="additive", heterogeneity="sinusoid"
    ),
    replicates=8000,
)


def far(I: int) -> Case:
    """Return f^k = x^2/2 +- x from the optimum, literal: drift reappears one step into a round."""
    return noiseless(2, 1, I, 2, x1=0.0, h=1.0, zeta=2.0, heterogeneity="tilt")


# An exact start at the optimum: all that moves is the noise, so the terms in sigma must carry it.
QUIET = quadratic(2, 1, 2, 2, dim=2, B=1e12, x1=0.0, noise="additive", sigma=0.5, zeta=0.0)
# The same with K and b apart, so that one can't stand for the other, and powers of both show.
APART = replace(QUIET, K=5, b=3)


def read_as(reading: str, name: str = "") -> Mutant:
    """Return the mutant whose runs follow another reading of the synchronisation."""
    return Mutant(name or f"reading {reading}", change=lambda case: replace(case, reading=reading))


class LeavesOneOut(Stem):
    """STEM whose synchronisation hands the means to all workers but the last: a mutant."""

    def synchronise(self, problem: Problem, state: StemState) -> StemState:
        """Return the averaged state, in which the last worker keeps its own x and d."""
        after = super().synchronise(problem, state)
        x, d = after.x.copy(), after.d.copy()
        x[..., -1, :], d[..., -1, :] = state.x[..., -1, :], state.d[..., -1, :]
        return StemState(x, d, after.previous)

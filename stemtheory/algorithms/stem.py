"""STEM: stochastic two-sided momentum, with every reading of its synchronisation.

P. Khanduri, P. Sharma, H. Yang, M. Hong, J. Liu, K. Rajawat, P. K. Varshney. STEM: a stochastic
two-sided momentum algorithm achieving near-optimal sample and communication complexities for
federated learning. NeurIPS 2021. Algorithm 1.

    d_{t+1} = g(x_{t+1}) + (1 - a_{t+1}) (d_t - g(x_t)),     one minibatch at both points
    x_{t+1} = x_t - eta_t d_t

Every I steps x and d are averaged. Which x_t the *next* difference subtracts is left open by the
listing; ``sync`` chooses:

    literal        the worker's own, un-averaged point (the listing as printed; one exchange)
    average-first  x is averaged, then d is computed at the mean (two exchanges)
    overwrite      d is computed, then the own point is overwritten by the mean: a negative control
    average-both   as average-first, but both gradients at averaged points: a negative control

With ``sync_batch`` m > 1 the one estimate per round that spans the averaging uses m b samples.

Paper: Algorithm (Algo_DR-STORM_batch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.algorithms.base import Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs, Minibatches
from stemtheory.algorithms.entry import Entry, Option, Options, count, named
from stemtheory.oracles import Problem
from stemtheory.schedules import RSTAR_STEPS, stem_curve

READINGS = {
    "literal": "as listed: the own point stays the previous point of the next difference",
    "average-first": "x is averaged before d is computed at the mean; two exchanges a round",
    "overwrite": "negative control: the own point is overwritten after d was computed there",
    "average-both": "negative control: both gradients of the jump at averaged points",
}
# What is proved about it, or claims to be.
BOUNDS = (
    *("stem-theorem", "stem-intermediate"),
    *("stem-repaired", "stem-repaired-explicit", "stem-log-free"),
    *(f"stem-rstar-{part}" for part in RSTAR_STEPS),
)


class StemState(NamedTuple):
    """x to step from, d to step along, and the oracle at the previous point (all [..., K, dim])."""

    x: Any
    d: Any
    previous: Any


@dataclass(frozen=True)
class Stem:
    """Algorithm 1 under one reading."""

    sync: str = "literal"
    sync_batch: int = 1

    @property
    def averages_first(self) -> bool:
        """Whether x is averaged before d is computed, at the mean."""
        return self.sync in ("average-first", "average-both")

    @property
    def costs(self) -> Costs:
        """Two gradients a sample; x and d each way, one after the other where x comes first."""
        return Costs(
            gradients=2,
            vectors_up=2,
            vectors_down=2,
            exchanges=2 if self.averages_first else 1,
            initial_batch=True,
            initial_vectors=1,
            unusual=self.jumps,
        )

    def jumps(self, I: int) -> tuple[Minibatches, ...]:
        """Return the minibatches of m b: estimates whose two points are not one local step apart.

        They are computed at t = tbar_s = sI + 1, s >= 1, where the own point stays (literal), and
        at t = sI where x is averaged first. I = 1 has no jump.
        """
        if self.sync_batch == 1 or I == 1:
            return ()
        first = I if self.averages_first else I + 1
        return (Minibatches(self.sync_batch, gradients=2, first=first, every=I),)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> StemState:
        """Return the state at t = 1: d_1 is the mean over workers of a batch of B samples."""
        here = problem.evaluate(x)
        d = mean_over_workers(problem.combine(here, minibatch))
        return StemState(x, spread(d, x), here)

    def local_step(
        self, problem: Problem, state: StemState, step: Step, minibatch: Any
    ) -> StemState:
        """Return x_{t+1} and d_{t+1}; at a synchronisation x_{t+1} may be averaged first."""
        x = state.x - step.eta * state.d
        previous = state.previous
        if step.synchronises and self.averages_first:
            if self.sync == "average-both":
                previous = problem.evaluate(spread(mean_over_workers(state.x), x))
            x = spread(mean_over_workers(x), x)
        here = problem.evaluate(x)
        d = state.d - problem.combine(previous, minibatch)
        d *= 1 - step.a
        d += problem.combine(here, minibatch)
        return StemState(x, d, here)

    def synchronise(self, problem: Problem, state: StemState) -> StemState:
        """Return the state with x and d averaged; the previous point depends on the reading."""
        x = spread(mean_over_workers(state.x), state.x)
        d = spread(mean_over_workers(state.d), state.d)
        previous = problem.evaluate(x) if self.sync == "overwrite" else state.previous
        return StemState(x, d, previous)


def build(options: Options) -> Stem:
    """Return STEM under the reading ``sync``."""
    return Stem(options["sync"], options["sync_batch"])


COMMON: dict[str, Any] = {
    "base": "stem",
    "curve": stem_curve,
    "build": build,
    "options": {
        "sync": named("literal", tuple(READINGS), "which point the next difference subtracts"),
        "sync_batch": Option(1, count, "m: m b samples for the estimate that spans the averaging"),
    },
    "bounds": BOUNDS,
    "family": "stem",
    "needs": "zeta bounded (I = 1: not needed)",
    "promises": "eps^-3/2 samples, eps^-1 rounds, up to logarithms",
    "row": "STEM",
}
ENTRIES = (
    Entry("stem", summary="two-sided momentum (Algorithm 1)", **COMMON),
    Entry(
        "fed-stem",
        summary="STEM with b = O(1), I on the curve",
        pinned=(("nu", 1.0),),
        **(COMMON | {"row": "Fed STEM"}),
    ),
    Entry(
        "minibatch-stem",
        summary="STEM with I = 1, b = sqrt(T)/K",
        pinned=(("I", 1),),
        batch=lambda T, K, L: T**0.5 / K,
        **(
            COMMON
            | {
                "row": "Minibatch STEM",
                "needs": "nothing of zeta",
                "footnote": "independent of the heterogeneity",
            }
        ),
    ),
    Entry(
        "storm",
        summary="the centralised parent: one worker, I = 1",
        pinned=(("I", 1), ("K", 1)),
        batch=lambda T, K, L: 1.0,
        **(COMMON | {"row": "", "needs": "one worker", "promises": "eps^-3/2 samples"}),
    ),
)

"""What floors are counted from: what every worker has found, beside what it could be told of.

    exchanges    found by any worker after iteration t <= exchanges of the rounds begun by then
    coins        found by any worker after iteration t <= coins that showed so far, at all workers
    arrivals     of R runs with fewer than n/(2p) samples in all, how many came to the end

The first two are counted on every state of a run, exactly. The third is a statement of
probability: with N samples P(Bin(N, p) >= n), so the count of R runs exceeds its limit with the
probability that a statistical instance may raise a false alarm.

Paper: rmk:complexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm
from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, Comparison
from stemtheory.claims.judge import ALPHA, INSTANCES
from stemtheory.oracles import Chain, load_problem
from stemtheory.runtime import Floats
from stemtheory.simulator import gaussian_draw, walk

SHARE = ALPHA / INSTANCES  # the false-alarm rate of one instance


@dataclass(frozen=True)
class Told:
    """An algorithm that is told where the coordinates are: a negative control.

    Before its first step it moves all of them to where the next link is seen.
    """

    inner: Any

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
        """Return the state at t = 1, every coordinate beyond lambda/2."""
        return self.inner.init(problem, x + problem.wide, eta, minibatch)


def chain_of(case: Case) -> Chain:
    """Return the chain of a case."""
    chain = case.run.problem.load()
    assert isinstance(chain, Chain)
    return chain


def _found(case: Case, algorithm: Algorithm, draw: Callable[[int, float], Any]) -> Floats:
    """Return the most that any worker has found after every iteration, [T, replicates]."""
    chain, run = chain_of(case), case.run
    visits = walk(
        chain, algorithm, run.steps, T=case.T, I=case.I, x1=run.start, draw=draw, b=case.b,
        B=run.sizes.B, replicates=case.replicates, seed=case.seed,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        return np.stack([chain.progress(visit.after.x).max(axis=-1) for visit in visits])


def _algorithm(case: Case, told: bool) -> Any:
    return Told(case.run.method) if told else case.run.method


def by_exchanges(case: Case, told: bool = False) -> Comparison:
    """Return what was found beside the exchanges of the rounds begun, at every t."""
    draw = gaussian_draw(chain_of(case), case.seed, case.replicates)
    found = _found(case, _algorithm(case, told), draw)
    t = np.arange(1, case.T + 1)
    costs = replace(case.run.method.costs, silent=0.0)
    s = case.run.sizes
    begun = [
        costs.counts(-(-u // s.I) * s.I, b=s.b, I=s.I, B=s.B, K=s.K, dim=case.dim).exchanges
        for u in t.tolist()
    ]
    return Comparison(found.max(axis=1), np.array(begun, dtype=float), t=t)


def by_coins(case: Case, told: bool = False) -> Comparison:
    """Return what was found beside the coins that showed until then, at every t and replicate."""
    chain, shown = chain_of(case), np.zeros((case.T + 1, case.replicates))
    throw = gaussian_draw(chain, case.seed, case.replicates)

    def draw(t: int, samples: float) -> Any:
        minibatch = throw(t, samples)
        shows = (minibatch + 1) * samples * chain.rarest
        # the first batch is one that only some algorithms look at
        if t or case.run.method.costs.initial_batch:
            shown[t] += np.round(shows.sum(axis=(-2, -1)))
        return minibatch

    found = _found(case, _algorithm(case, told), draw)
    t = np.arange(1, case.T + 1)[:, None] + np.zeros(found.shape)
    return Comparison(found, shown.cumsum(axis=0)[1:], t=t)


def samples_in_all(case: Case) -> float:
    """Return the samples that a case draws, of all workers together."""
    return case.run.costs().draws_per_worker * case.K


def chance(samples: float, p: float, links: int) -> float:
    """Return P(Bin(samples, p) >= links): an upper bound of the chance to find so many."""
    from scipy.special import bdtrc  # takes longer to load than numpy, and the ledger needs none

    return float(bdtrc(links - 1, math.floor(samples), p))


def most_arrivals(runs: int, q: float) -> int:
    """Return the least count that so many runs exceed with probability ``SHARE`` or less."""
    from scipy.special import bdtrc

    counts = np.arange(runs + 1)
    return int(counts[bdtrc(counts, runs, q) <= SHARE][0])


def by_arrivals(case: Case) -> Comparison:
    """Return how many runs came to the end, beside the most that chance allows."""
    chain = chain_of(case)
    from stemtheory.simulator import simulate  # slow to load, and the ledger needs none

    arrived = int(np.count_nonzero(simulate(case.run).arrived_at))
    q = chance(samples_in_all(case), chain.rarest, chain.links)
    most = most_arrivals(case.replicates, q)
    return Comparison(
        np.array([float(arrived)]), np.array([float(most)]), t=case.T, spread=0.0, dof=1
    )


def few_samples(case: Case) -> tuple[Premise, ...]:
    """Return the premise that fewer than n/(2p) samples are drawn, and no full gradient."""
    chain = chain_of(case)
    return (
        Premise("b K T < n/(2p)", samples_in_all(case) < chain.links / (2 * chain.rarest)),
        Premise("no full local gradients", case.run.method.costs.passes == 0),
    )


def rounds_floor(links: int) -> tuple[float, float]:
    """Return (epsilon, exchanges) of a split chain with L = gap = 1 and two workers."""
    chain = load_problem("split_chain", 2, links)
    return float(chain.dials["floor"]), float(links)


def samples_floor(links: int, sigma: float = 1.0) -> tuple[float, float]:
    """Return (epsilon, samples in all) of a hidden chain with L = gap = 1, whose p follows."""
    chain = load_problem("hidden_chain", 1, links, sigma=sigma)
    return float(chain.dials["floor"]), links / (2 * float(chain.dials["p"]))


def floor_exponent(floor: str, theory: float | None = None) -> Comparison:
    """Return the exponent in epsilon of a family of instances beside that of the theorem."""
    of, stated = FLOORS[floor]
    epsilon, needed = np.log([of(n) for n in LENGTHS]).T
    slope = float(np.polyfit(epsilon, needed, 1)[0])
    return Comparison(
        np.array([slope]),
        np.array([stated if theory is None else theory]),
        spread=np.array([TOLERANCE]),
    )


LENGTHS = tuple(int(n) for n in np.geomspace(1e3, 1e5, 5))
TOLERANCE = 0.01
# The exponents of T1, which no exponent of a floor may exceed in size: they are equal.
FLOORS = {"exchanges": (rounds_floor, -1.0), "samples": (samples_floor, -1.5)}

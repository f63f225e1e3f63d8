"""What a run costs a worker: stated once by each algorithm, asked by all that count or forecast.

A statement is plain numbers, and the few iterations whose minibatch is unlike the usual one stand
in it as arithmetic progressions. What t iterations cost is therefore a closed form, as quick for
T = 1e18 as for T = 1, and rounded once. Engines say how far they got; they count nothing.

Paper: Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stemtheory.oracles import Problem
from stemtheory.runtime import Ints


@dataclass(frozen=True)
class Counts:
    """What a run cost. ``samples`` are oracle calls, ``draws`` distinct samples; per worker.

    Where only some workers take part in a round, or a round may end without communication, counts
    are means over the workers and the replicates. A float has 32 bits. A run that diverged counts
    the iterations of its longest replicate: T, or up to the last that left the finite numbers.
    """

    samples_per_worker: float
    draws_per_worker: float
    rounds: float
    exchanges: float
    vectors_up: float
    vectors_down: float
    floats_up: float
    floats_down: float


class Minibatches(NamedTuple):
    """The minibatches of iterations ``first``, ``first + every``, ..., at most ``last``.

    Each has ``size`` b samples, at which ``gradients`` gradients are computed.
    """

    size: int
    gradients: int
    first: int
    every: int
    last: float = math.inf

    def until(self, t: float) -> float:
        """Return how many of them there are in iterations 1..t."""
        return max(0, (min(t, self.last) - self.first) // self.every + 1)


def _all_alike(I: int) -> tuple[Minibatches, ...]:
    return ()


def _uncompressed(dim: int) -> float:
    return dim


@dataclass(frozen=True)
class Costs:
    """What an algorithm costs a worker that takes part in a round; the defaults are FedAvg's.

    ``gradients`` are computed at every sample of a minibatch of b, but for the minibatches that
    ``unusual`` lists, given I; none of them is listed twice. A round has ``exchanges``, and
    ``vectors_up`` and ``vectors_down`` of ``floats(dim)`` and dim floats. ``passes`` full local
    gradients are computed in every ``pass_every``-th round, from the first on.

    With ``initial_batch`` B samples are drawn at x_1, and ``initial_vectors`` go each way before
    the loop, in one exchange. Of all workers the share ``participation`` takes part in a round;
    where that leaves some out, a worker is sent ``stale`` points of the round before too, from the
    second round on, and computes as many more passes at them. A round ends without communication
    with probability ``silent``.
    """

    gradients: int = 1
    vectors_up: int = 1
    vectors_down: int = 1
    exchanges: int = 1
    initial_batch: bool = False
    initial_vectors: int = 0
    passes: int = 0
    pass_every: int = 1
    participation: float = 1.0
    stale: int = 0
    silent: float = 0.0
    unusual: Callable[[int], tuple[Minibatches, ...]] = _all_alike
    floats: Callable[[int], float] = _uncompressed

    def batch_factors(self, first: int, n: int, I: int) -> Ints:
        """Return by how much each of n iterations from ``first`` on multiplies its minibatch."""
        t = np.arange(first, first + n)
        factors = np.ones(n, dtype=np.int64)
        for kind in self.unusual(I):
            among = (t >= kind.first) & (t <= kind.last) & ((t - kind.first) % kind.every == 0)
            factors[among] = kind.size
        return factors

    def passes_until(self, t: float, I: int, K: int) -> float:
        """Return the full local gradients of t iterations: every round begins with its own."""
        times = -(-t // (I * self.pass_every))
        more = self._stale(K)
        return times * (self.passes + more) - (more if times else 0)

    def counts(
        self,
        t: float,
        *,
        b: float,
        I: int,
        B: float,
        K: int,
        dim: int,
        pass_samples: float | None = None,
        silent: float | None = None,
    ) -> Counts:
        """Return what t iterations cost: T of them a whole run, 0 what comes before the loop.

        ``pass_samples`` is what a full local gradient counts for (``full_pass``; b I unless given).
        ``silent`` is how many rounds ended without communication, in the mean over the replicates:
        what is expected unless given.
        """
        n = active(self.participation, K)

        def mean(count: float) -> float:
            return count if n == K else count * n / K

        unusual = [(kind, kind.until(t)) for kind in self.unusual(I)]
        usual = t - sum(many for _, many in unusual)
        draws = usual + sum(kind.size * many for kind, many in unusual)
        gradients = self.gradients * usual
        gradients += sum(kind.size * kind.gradients * many for kind, many in unusual)
        passes = self.passes_until(t, I, K) * (b * I if pass_samples is None else pass_samples)
        start, first = B if self.initial_batch else 0.0, self.initial_vectors
        rounds = t // I
        silent = self.silent * rounds if silent is None else silent
        heard = rounds - silent if silent else rounds  # a whole number stays one, however large
        visits = mean(heard)
        received = self.vectors_down * visits + mean(self._stale(K) * max(0, heard - 1))
        return Counts(
            samples_per_worker=start + mean(b * gradients) + mean(passes),
            draws_per_worker=start + mean(b * draws) + mean(passes),
            rounds=_integer(heard),
            exchanges=_integer(self.exchanges * heard + min(first, 1)),
            vectors_up=_integer(self.vectors_up * visits + first),
            vectors_down=_integer(received + first),
            floats_up=_integer(self.vectors_up * self.floats(dim) * visits + first * dim),
            floats_down=_integer((received + first) * dim),
        )

    def _stale(self, K: int) -> int:
        """Return how many points of the round before a worker is sent: none where all know them."""
        return self.stale if active(self.participation, K) < K else 0


def active(participation: float, K: int) -> int:
    """Return how many of K workers take part in a round: at least one."""
    return max(1, round(participation * K))


def full_pass(problem: Problem) -> float | None:
    """Return the samples of a full local gradient: N of a finite sum, else None (then b I)."""
    size = getattr(problem, "size", None)
    return None if size is None else float(size)


def _integer(count: float) -> float:
    """Return a whole count as an int: means over workers or replicates may not be whole."""
    return int(count) if float(count).is_integer() else count

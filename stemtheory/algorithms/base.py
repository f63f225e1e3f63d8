"""What an algorithm is: a state, three moves, and what it costs and sends.

Arrays are [replicates..., K, dim]. At iteration t (1..T) the engine hands the state to
``local_step`` and, when t is a multiple of I, to ``synchronise``; x_1 is common to all workers.
A ``System`` has one more move, ``start_round``, before the first local step of every round, and
declares what a round costs in a ``Round``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stemtheory.oracles import Problem
from stemtheory.runtime import Floats

Chances = Mapping[str, Any]


class Step(NamedTuple):
    """Iteration t: its step size eta_t, the momentum a_{t+1}, and whether it ends a round."""

    t: int
    eta: float
    a: float
    synchronises: bool


class Algorithm(Protocol):
    """A federated algorithm on a problem.

    ``initial_batch`` tells whether B samples are drawn at x_1; ``gradients_per_step`` counts the
    gradients a worker computes per sample of a minibatch; ``vectors_per_round`` and
    ``exchanges_per_round`` what it sends each way at a synchronisation, and ``initial_vectors``
    before the loop.
    """

    @property
    def initial_batch(self) -> bool:
        """Whether the first direction uses a batch of B samples at x_1."""

    @property
    def gradients_per_step(self) -> int:
        """Gradients computed per sample of a minibatch."""

    @property
    def vectors_per_round(self) -> int:
        """Vectors of length dim that a worker sends, and receives, in a round."""

    @property
    def exchanges_per_round(self) -> int:
        """Back-and-forth exchanges in a round."""

    @property
    def initial_vectors(self) -> int:
        """Vectors that a worker sends, and receives, before the loop."""

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> Any:
        """Return the state at t = 1 from the common start x, shape [..., K, dim]."""

    def local_step(self, problem: Problem, state: Any, step: Step, minibatch: Any) -> Any:
        """Return the state after the workers' own part of iteration t."""

    def synchronise(self, problem: Problem, state: Any) -> Any:
        """Return the state after the server's part of a synchronisation."""

    def batch_factor(self, t: int, I: int) -> int:
        """Return by how much iteration t multiplies its minibatch (1 but for a sync batch)."""


@dataclass(frozen=True)
class Chance:
    """A random choice made once a round, in every replicate.

    ``purpose`` is the address of its stream of uniform numbers, ``shape`` their shape given
    (K, dim), and ``decide`` turns them, on the host, into what ``start_round`` is handed. The
    choice named ``coin`` (1 or 0) says whether the round ends with communication at all.
    """

    purpose: str
    shape: Callable[[int, int], tuple[int, ...]]
    decide: Callable[[Floats], Any]


@dataclass(frozen=True)
class Round:
    """What a round costs a worker that takes part, beyond what ``Algorithm`` declares.

    ``vectors_down`` are vectors received (``vectors_per_round`` are those sent). ``passes`` full
    local gradients are computed in every ``pass_every``-th round. Of all workers the share
    ``participation`` takes part; where that leaves some out, a worker is sent ``stale`` points of
    the round before too, from the second round on, and computes as many more passes at them.
    ``fresh`` tells of iteration t, given (t, I), whether its estimate starts afresh, at half the
    gradients. ``floats_up`` returns the floats sent, given dim, where vectors are compressed.
    """

    vectors_down: int
    passes: int = 0
    pass_every: int = 1
    participation: float = 1.0
    stale: int = 0
    chances: tuple[Chance, ...] = ()
    fresh: Callable[[int, int], bool] | None = None
    floats_up: Callable[[int], float] | None = None

    def active(self, K: int) -> int:
        """Return how many of K workers take part in a round: at least one."""
        return max(1, round(self.participation * K))

    def stale_at(self, number: int, K: int) -> int:
        """Return how many points of the round before go to a worker in round ``number`` from 0."""
        return self.stale if number and self.active(K) < K else 0

    def passes_at(self, t: int, I: int, K: int) -> int:
        """Return the full local gradients counted at iteration t: those of the round it starts."""
        number, first = divmod(t - 1, I)
        if first or number % self.pass_every:
            return 0
        return self.passes + self.stale_at(number, K)

    def gradients_at(self, t: int, I: int, usual: int) -> int:
        """Return the gradients per sample at iteration t: the ``usual`` ones, or half of them."""
        return usual // 2 if self.fresh is not None and self.fresh(t, I) else usual


@runtime_checkable
class System(Algorithm, Protocol):
    """An algorithm whose rounds begin with a move of the server.

    Its state may have a field ``weight``, shape [..., K, 1]: K/n for the n workers that take part,
    0 for the others, None where all do.
    """

    @property
    def round(self) -> Round:
        """What a round costs, and its random choices."""

    def start_round(self, problem: Problem, state: Any, step: Step, chance: Chances) -> Any:
        """Return the state at the start of a round, given its random choices by purpose."""


def declared(algorithm: Algorithm) -> Round:
    """Return what a round of any algorithm costs; a plain one receives as much as it sends."""
    if isinstance(algorithm, System):
        return algorithm.round
    return Round(algorithm.vectors_per_round)


def mean_iterate(state: Any) -> Any:
    """Return xbar_t, shape [..., dim]: the mean of x over the workers that take part."""
    return average(state.x, getattr(state, "weight", None))


def average(x: Any, weight: Any) -> Any:
    """Return the mean over the workers that take part: [..., K, dim] to [..., dim].

    ``weight`` is K/n for each of them and 0 for the others, or None where all take part.
    """
    return mean_over_workers(x if weight is None else x * weight)


def mean_over_workers(x: Any) -> Any:
    """Return the mean over workers: shape [..., K, dim] to [..., dim].

    The sum halves the worker axis again and again: long contiguous additions, and an order that
    depends on K alone, so the result does not depend on how replicates are grouped.
    """
    K = x.shape[-2]
    while x.shape[-2] > 1:
        half, odd = divmod(x.shape[-2], 2)
        total = x[..., :half, :] + x[..., half : 2 * half, :]
        if odd:
            total[..., :1, :] += x[..., 2 * half :, :]
        x = total
    return x[..., 0, :] / K


def spread(mean: Any, like: Any) -> Any:
    """Return the mean handed to every worker: shape [..., dim] to that of ``like``."""
    return np.broadcast_to(mean[..., None, :], like.shape)

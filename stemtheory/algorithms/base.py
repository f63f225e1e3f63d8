"""What an algorithm is: a state, three moves, and what it costs and sends.

Arrays are [replicates..., K, dim]. At iteration t (1..T) the engine hands the state to
``local_step`` and, when t is a multiple of I, to ``synchronise``; x_1 is common to all workers.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from stemtheory.oracle import Problem


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

"""Partial participation: a fresh sample of the workers in every round, without replacement.

The sample is a function of its own stream of uniform numbers, so it shifts nobody's gradient
noise: runs with and without it share their minibatches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.algorithms.base import Chance, Chances, average
from stemtheory.algorithms.costs import active
from stemtheory.runtime import Floats

PURPOSE = "participation"


def sampled(participation: float) -> tuple[Chance, ...]:
    """Return the choice of the workers of a round: none where all of them take part."""
    if participation == 1:
        return ()
    return (Chance(PURPOSE, lambda K, dim: (K,), lambda u: weights(u, participation)),)


def weights(uniforms: Floats, participation: float) -> Floats:
    """Return K/n for the n workers with the smallest uniforms, else 0: [..., K] to [..., K, 1].

    Every set of n workers is equally likely, so the weighted mean over the workers is unbiased.
    """
    K = uniforms.shape[-1]
    n = active(participation, K)
    rank = uniforms.argsort(axis=-1).argsort(axis=-1)
    return np.asarray((rank < n)[..., None] * (K / n))


def weight_of(chance: Chances) -> Any:
    """Return the weights of this round, or None where all workers take part."""
    return chance.get(PURPOSE)


def present(x: Any, weight: Any) -> Any:
    """Return x with the workers that do not take part at 0: shape [..., K, dim]."""
    return x if weight is None else x * (weight > 0)


def server_mean(x: Any, weight: Any) -> Any:
    """Return the mean over the workers that take part, shape [..., 1, dim]."""
    return average(x, weight)[..., None, :]

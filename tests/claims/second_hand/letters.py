"""What all lines share, and the claims that have none."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

Pair = tuple[Any, Any]

# Claims without a transcription, and why.
LEFT_OUT = {
    "P1": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "P2": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "P2p": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "A2i": "a mean over the draws equals the gradient: at one assignment it says nothing",
    "ALG-4": "a count of vectors sent, for which the paper prints no expression",
    "SP1": "a comparison of two runs",
    "SP1-S": "a comparison of two runs",
    "RMK4": "a comparison of two runs",
    "F8-Z": "a comparison of two runs",
    "F5-K3-O": "a rate, whose constant the paper does not print",
    "FG1": "a picture: nothing is printed but its edge",
}


def sq(v: Any) -> float:
    """Return ||v||^2; for a stack of vectors, the sum of theirs."""
    return float(np.sum(np.square(v)))


def chain(*sides: Any) -> list[Pair]:
    """Return the pairs of neighbours in a <= b <= c."""
    return list(pairwise(sides))


def mean(v: Any) -> Any:
    """Return (1/K) sum_k v^(k)."""
    return np.mean(v, axis=0)


def span(r: Any, t: int) -> range:
    """Return tbar_{s-1} .. t, the part of t's round up to t."""
    return range(r.start(t), t + 1)


def mean_gradient(r: Any) -> float:
    """Return E||grad f(xbar_a)||^2, xbar_a uniform over t = 1 .. T."""
    return float(sum(sq(r.G[t]) for t in range(1, r.T + 1)) / r.T)


def cubes(r: Any) -> Any:
    """Return sum_{t=1}^T eta_t^3."""
    return sum(r.eta[t] ** 3 for t in range(1, r.T + 1))

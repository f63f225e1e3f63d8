"""An oracle that looks at its samples one by one, and says at how many it looked.

What an algorithm costs is stated by itself (``Costs``), and everything else asks it; here is what
holds the statement against what was computed. What is sent is looked at in
``sending``.

Paper: Def: ComputationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import Algorithm
from stemtheory.runtime import Floats, generator
from stemtheory.schedules import Constant
from stemtheory.simulator import Visit, walk

POINTS, DIM = 7, 16
INITIAL = 5  # samples of the first batch


class Looking:
    """f_k(x) = mean_i ||x - a_i||^2 / 2 over points of its own; a minibatch lists points."""

    name, noisy, nonconvex, separable = "looking", True, False, False

    def __init__(self, K: int, dim: int = DIM) -> None:
        self.K, self.dim = K, dim
        self.points = generator(1).standard_normal((K, POINTS, dim))
        self.seen: Any = None
        self.passed: list[bytes] = []  # the points at which a full gradient is known
        self.paid = np.zeros(4)  # gradients, distinct samples, full passes, those at new points

    def evaluate(self, x: Any) -> Any:
        """Return the points."""
        return x

    def combine(self, x: Any, lists: Any) -> Any:
        """Return the minibatch gradients, and count the samples that they took."""
        size = lists.shape[-1]
        self.paid += (size, 0 if lists is self.seen else size, 0, 0)
        self.seen = lists
        found: Floats = x - self.points[np.arange(self.K)[:, None], lists].mean(axis=-2)
        return found

    def stochastic_gradient(self, x: Any, lists: Any) -> Any:
        """Return the minibatch gradients."""
        return self.combine(self.evaluate(x), lists)

    def gradient(self, x: Any) -> Any:
        """Return the full local gradients, and count a pass."""
        place = np.ascontiguousarray(x).tobytes()
        self.paid += (0, 0, 1, place not in self.passed)
        self.passed.append(place)
        return x - self.points.mean(axis=-2)


class Looked(NamedTuple):
    """What t iterations took per worker: gradients, distinct samples, full passes; ``silent``."""

    t: int
    gradients: float
    draws: float
    passes: float
    silent: float


def look(algorithm: Algorithm, K: int, b: int, I: int, T: int) -> Iterator[Looked]:
    """Yield what a run has taken by the end of every round, in the mean over workers.

    A full gradient at a point where the worker computed it before is known, and costs nothing.
    """
    problem, stream, silent = Looking(K), generator(3), 0.0
    start, known = np.zeros(4), True

    def draw(t: int, samples: float) -> Any:
        if t == 1:  # the first batch is paid by all workers; the first pass is of round 1
            start[:2] = problem.paid[:2]
        return stream.integers(0, POINTS, size=(1, K, int(samples)))

    oracle: Any = problem
    visits: Iterator[Visit] = walk(
        oracle, algorithm, Constant(0.01, 0.2), T=T, I=I, x1=1.0, draw=draw, b=b, B=INITIAL
    )
    for visit in visits:
        if not visit.step.synchronises:
            continue
        coin = getattr(visit.before, "coin", None)
        silent += float(coin is not None and not coin[0])
        weight = getattr(visit.before, "weight", None)
        part = 1.0 if weight is None else float((weight > 0).mean())
        known = known and part == 1  # who was absent has computed nothing
        paid = start + part * (problem.paid - start)
        yield Looked(visit.step.t, paid[0], paid[1], paid[3 if known else 2], silent)


def cost_fault(algorithm: Algorithm, K: int, b: int, I: int, T: int) -> str:
    """Return where the statement of the costs differs from what a run takes, or an empty text."""
    for found in look(algorithm, K, b, I, T):
        said = algorithm.costs.counts(
            found.t, b=b, I=I, B=INITIAL, K=K, dim=DIM, silent=found.silent
        )
        passes = found.passes * b * I  # what a full pass counts for without a number of points
        pairs = (
            ("gradients", said.samples_per_worker, found.gradients + passes),
            ("distinct samples", said.draws_per_worker, found.draws + passes),
        )
        for what, stated, counted in pairs:
            if not math.isclose(stated, counted, rel_tol=1e-12):
                return (
                    f"after {found.t} iterations of b = {b}, I = {I}, K = {K} it states"
                    f" {stated:g} {what} per worker, but {counted:g} were counted"
                )
    return ""

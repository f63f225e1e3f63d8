"""The random numbers of a group of replicates: minibatches of its steps, choices of its rounds.

Each purpose has generators of its own, opened by address, so that what one draws shifts no other.

Paper: Algorithm (Algo_DR-STORM_batch).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.algorithms import Chances, Step, choices_of
from stemtheory.oracles import Separable
from stemtheory.runtime import PhiloxStream, SideBySide
from stemtheory.simulator.plan import Plan


class GroupStreams:
    """The noise of one group: one generator per replicate block and purpose.

    A block is drawn whole, so that its noise does not depend on how many of it are used: on the
    host it is one replicate.
    """

    def __init__(self, plan: Plan, first: int, sizes: list[int]) -> None:
        self.plan, self.count, self.size = plan, len(sizes), sizes[0]
        self.each = plan.host.replicates_per_stream
        self.blocks = range(first, first + self.count)
        self.who = range(first * self.each, first * self.each + self.count * self.size)
        self.generators = self._open("steps")
        self.choices = choices_of(plan.algorithm)
        self.uniforms = {
            c.purpose: SideBySide(plan.key.replicate_seeds(self.who, c.purpose))
            for c in self.choices
        }
        self.jumps: list[Any] = []  # opened at the first jump: a device generator takes memory

    def _open(self, purpose: str) -> list[Any]:
        plan, key = self.plan, self.plan.key
        if plan.philox:
            return [PhiloxStream(key, self.who.start, purpose)]
        if self.each > 1:
            return [plan.host.generator(key.seed_sequence(i, purpose)) for i in self.blocks]
        seeds = key.replicate_seeds(self.who, purpose)
        # What it asks of a stream is known; a problem of one's own may draw as it likes.
        if isinstance(plan.problem, Separable) and not plan.problem.has_own("draw"):
            return [SideBySide(seeds)]
        return [plan.host.generator(seed) for seed in seeds]

    def chances(self, steps: list[Step]) -> list[Chances]:
        """Return the random choices of the rounds that start at these steps, on the host.

        They are few, so they are drawn on the host for every backend: the same everywhere.
        """
        if not self.choices:
            return [{}] * len(steps)
        I = self.plan.sizes.I
        return [self._choose() if (step.t - 1) % I == 0 else {} for step in steps]

    def _choose(self) -> Chances:
        K, dim = self.plan.problem.K, self.plan.problem.dim
        made = {}
        for c in self.choices:
            drawn = self.uniforms[c.purpose].random((len(self.who), *c.shape(K, dim)))
            decided = np.asarray(c.decide(drawn))
            made[c.purpose] = decided.reshape(self.count, self.size, *decided.shape[1:])
        return made

    def initial(self) -> Any:
        """Return the minibatch of B samples at x_1, shape [blocks, replicates, ...]."""
        if not (self.plan.problem.noisy and self.plan.algorithm.costs.initial_batch):
            return self._empty()
        return self._draw(self._open("initial"), 1, self.plan.sizes.B)[0]

    def steps(self, steps: list[Step]) -> Any:
        """Return minibatches for a block of steps: a list, or an array with the steps first."""
        if not self.plan.problem.noisy:
            empty = self._empty()
            return [empty] * len(steps)
        noise = self._draw(self.generators, len(steps), self.plan.sizes.b, steps[0].t)
        costs, I = self.plan.algorithm.costs, self.plan.sizes.I
        factors = costs.batch_factors(steps[0].t, len(steps), I).tolist()
        if max(factors) == 1:
            return noise
        self.jumps = self.jumps or self._open("jump")
        return [
            n if m == 1 else self._draw(self.jumps, 1, m * self.plan.sizes.b, step.t)[0]
            for n, m, step in zip(noise, factors, steps, strict=True)
        ]

    def _empty(self) -> Any:
        return np.empty((self.count, self.size, 0))

    def _draw(self, generators: list[Any], n: int, b: float, t: int = 0) -> Any:
        """Return minibatches of n iterations, [n, blocks, replicates, ...], from t on."""
        plan = self.plan
        served = max(self.each, len(self.who) // len(generators))
        drawn = [self._one(stream, (n, served), b, t) for stream in generators]
        joined = drawn[0] if len(drawn) == 1 else plan.host.xp.concatenate(drawn, axis=1)
        joined = joined.reshape(n, self.count, -1, *joined.shape[2:])[:, :, : self.size]
        return joined if plan.host is plan.backend else plan.backend.from_host(joined)

    def _one(self, stream: Any, shape: tuple[int, int], b: float, t: int) -> Any:
        plan = self.plan
        if isinstance(stream, PhiloxStream):
            stream.t = t
        if not plan.per_sample:
            return plan.problem.draw(stream, shape, b, plan.dtype)
        return plan.problem.draw(stream, (*shape, int(b)), 1.0, plan.dtype).mean(axis=2)

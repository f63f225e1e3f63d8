"""The array engine: all replicates and workers of a run in one array, on NumPy or CuPy.

Arrays are [blocks, replicates, K, dim]; a block has a stream of its own, and on the host it is one
replicate. Work is cut twice for the cache, without changing a bit of the result: replicates are
grouped (or, where one block is large, split) so that an array stays near ``ARRAY_BYTES``, and
noise is drawn for a block of steps at a time near ``NOISE_BYTES``.
The quantity measured at every t is ||grad f(xbar_t)||^2; it is computed and read back once per
block of steps.
Where memory runs out, the group is halved and its halves start again from t = 1: replicate blocks
own their noise, so the result is the same to the last bit.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from stemtheory.algorithms import Chances, Step, System, choices_of, mean_iterate, mean_over_workers
from stemtheory.oracles import Separable, staged
from stemtheory.runtime import (
    REPLICATE_BLOCK,
    Ints,
    PhiloxStream,
    SideBySide,
    UsageError,
    blocks,
    is_out_of_memory,
)
from stemtheory.simulator.limits import ARRAY_BYTES, DIVERGED
from stemtheory.simulator.plan import Plan, Rows, longest

__all__ = ["Plan", "Rows", "run_plan"]

NOISE_BYTES = 2 * 1024**2
MOST_STEPS = 256
# On a device arrays are large, so that launching a kernel does not cost more than running it.
DEVICE_ARRAY_BYTES = 64 * 1024**2
DEVICE_NOISE_BYTES = 512 * 1024**2  # of a group; of one replicate block at most a sixteenth


def run_plan(plan: Plan, replicates: int, threads: int | None = None) -> Rows:
    """Run all groups of replicates, in threads where there are several; return them joined."""
    groups = group_blocks(plan, blocks(replicates, plan.host.replicates_per_stream))
    n = min(len(groups), threads or os.cpu_count() or 1)
    if n == 1 or not plan.backend.on_host:
        found = [run_or_halve(plan, first, sizes) for first, sizes in groups]
    else:
        with ThreadPoolExecutor(n) as pool:
            try:
                found = list(pool.map(lambda group: run_or_halve(plan, *group), groups))
            except BaseException:  # a signal, or one group failed: the pool would wait for the rest
                plan.stop.set()
                raise
    parts = [rows for several in found for rows in several]
    names = ("total", "last", "best", "diverged_at", "series", "running", "progress", "arrived_at")
    joined = {name: np.concatenate([getattr(p, name) for p in parts], axis=-1) for name in names}
    return Rows(**joined, silent=_silent(parts, plan.sizes.T))


def _silent(parts: list[Rows], T: int) -> float:
    """Return the silent rounds: a group that diverged stops early, the longest count for all."""
    lengths = [longest(p.diverged_at, T) for p in parts]
    whole = [p for p, t in zip(parts, lengths, strict=True) if t == max(lengths)]
    counts = [len(p.last) for p in whole]
    # whole numbers, so that it does not depend on the groups
    return sum(round(p.silent * n) for p, n in zip(whole, counts, strict=True)) / sum(counts)


def group_blocks(plan: Plan, sizes: list[int]) -> list[tuple[int, list[int]]]:
    """Return groups (first block, sizes of its blocks) of full blocks whose arrays fit the cache.

    A block that is not full is a group of its own, because arrays are rectangular.
    """
    each = plan.host.replicates_per_stream
    per_block = each * plan.problem.K * plan.problem.dim * plan.dtype.itemsize
    n = max(1, ARRAY_BYTES // per_block)
    if not plan.backend.on_host:
        noise = 2 * per_block * _steps_per_block(plan, [each])
        n = max(1, min(DEVICE_ARRAY_BYTES // per_block, DEVICE_NOISE_BYTES // noise))
    full = sum(1 for size in sizes if size == each)
    groups = [(i, sizes[i : min(i + n, full)]) for i in range(0, full, n)]
    if full < len(sizes):
        groups.append((full, sizes[full:]))
    return groups


def run_or_halve(
    plan: Plan, first: int, sizes: list[int], most: int = REPLICATE_BLOCK
) -> list[Rows]:
    """Run a group; where memory runs out, run its halves, down to one replicate at a time.

    ``most`` is how many replicates of a block are advanced together.

    Raises
    ------
    UsageError
        If one replicate does not fit.
    """
    try:
        return [run_group(plan, first, sizes, most)]
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    # Outside of the handler: its traceback keeps the arrays of the failed attempt alive.
    plan.backend.free()
    half = len(sizes) // 2
    if half:
        first_half = run_or_halve(plan, first, sizes[:half], most)
        return first_half + run_or_halve(plan, first + half, sizes[half:], most)
    if min(most, sizes[0]) > 1:
        return run_or_halve(plan, first, sizes, min(most, sizes[0]) // 2)
    raise UsageError(
        f"K = {plan.problem.K} workers in dim = {plan.problem.dim} do not fit into the memory of"
        f" {plan.backend.device}, one replicate at a time: lower K or dim, or use float32."
    )


def run_group(plan: Plan, first: int, sizes: list[int], most: int = REPLICATE_BLOCK) -> Rows:
    """Run the replicate blocks ``first``, ``first + 1``, ... together, all T iterations."""
    streams = _Streams(plan, first, sizes)
    units = [_Unit(plan, part) for part in _parts(plan, sizes[0], most)]
    T, coin, silent = plan.sizes.T, None, 0
    chain = staged(plan.problem)
    rows = _Accumulator(len(sizes) * sizes[0], T, plan.record, chain.links if chain else 0)
    with plan.backend.quiet():
        initial = streams.initial()
        eta_1 = float(plan.schedule.eta(1.0))
        for unit in units:
            unit.begin(initial, len(sizes), eta_1)
        span = _steps_per_block(plan, sizes)
        for t0 in range(1, T + 1, span):
            steps = _steps(plan, t0, min(span, T + 1 - t0))
            noise, chances = streams.steps(steps), streams.chances(steps)
            measured = [unit.advance(steps, noise, chances) for unit in units]
            columns = np.concatenate(measured, axis=-1).reshape(len(steps), -1, rows.replicates)
            rows.add(columns[:, 0], t0)
            if rows.links:
                rows.follow(columns[:, 1], t0)
            plan.advanced(len(steps) * len(sizes) * sizes[0])
            end = longest(rows.diverged_at, T)
            for step, chance in zip(steps, chances, strict=True):
                coin = chance.get("coin", coin)
                if step.synchronises and coin is not None and step.t <= end:
                    silent += int(np.sum(coin == 0))
            if rows.all_diverged or plan.stop.is_set():
                break
    return rows.finish(silent / rows.replicates)


class _Unit:
    """A slice of the replicates of a group, small enough for the cache, and its state."""

    def __init__(self, plan: Plan, part: slice) -> None:
        self.plan, self.part = plan, part
        self.system = plan.algorithm if isinstance(plan.algorithm, System) else None
        self.state: Any = None

    def begin(self, minibatch: Any, n_blocks: int, eta: float) -> None:
        plan, size = self.plan, self.part.stop - self.part.start
        shape = (n_blocks, size, plan.problem.K, plan.problem.dim)
        # order C: that of a broadcast array varies with its shape, and with it that of sums
        start = np.broadcast_to(plan.start, shape).astype(plan.dtype, order="C")
        x = plan.backend.from_host(start)
        mine = None if minibatch is None else minibatch[:, self.part]
        self.state = plan.algorithm.init(plan.problem, x, eta, mine)

    def advance(self, steps: list[Step], noise: Any, chances: list[Chances]) -> Any:
        """Advance the state over a block of steps; return what is measured of it, on the host.

        At every t it is ||grad f(xbar_t)||^2, and on a chain what xbar_t has found: [steps, 1 or 2,
        blocks, replicates].
        """
        plan, system, state = self.plan, self.system, self.state
        means = []
        for i, step in enumerate(steps):
            if system is None:
                means.append(mean_over_workers(state.x))
            else:
                if (step.t - 1) % plan.sizes.I == 0:
                    chance = self._placed(chances[i])
                    state = system.start_round(plan.problem, state, step, chance)
                means.append(mean_iterate(state))
            minibatch = None if noise is None else noise[i][:, self.part]
            state = plan.algorithm.local_step(plan.problem, state, step, minibatch)
            if step.synchronises:
                state = plan.algorithm.synchronise(plan.problem, state)
        self.state = state
        return plan.backend.to_host(self._measured(means))

    def _measured(self, means: list[Any]) -> Any:
        """Return what is measured of xbar_t, of K steps together: as many numbers as a state has.

        They are small, so that a call costs more than what it does. Where coordinates interact a
        step is as much as the cache holds: a network, a matrix of rows.
        """
        problem, xp = self.plan.problem, self.plan.backend.xp
        chain, n = staged(problem), problem.K if problem.separable else 1
        parts = []
        for i in range(0, len(means), n):
            mean = xp.stack(means[i : i + n])
            gradient = problem.full_gradient(mean)
            square = (gradient * gradient).sum(axis=-1)
            both = [square] if chain is None else [square, chain.progress(mean)]
            parts.append(xp.stack(both, axis=1))
        return xp.concatenate(parts)

    def _placed(self, chance: Chances) -> Chances:
        """Return this unit's part of a round's random choices, on the device."""
        plan = self.plan
        return {
            name: plan.backend.from_host(value[:, self.part].astype(plan.dtype))
            for name, value in chance.items()
        }


class _Streams:
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
        if getattr(plan.problem.draw, "__func__", None) is Separable.draw:
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


class _Accumulator:
    """Sums, minima and the record over time; one addition per iteration, in order."""

    def __init__(self, replicates: int, T: int, record: Ints, links: int) -> None:
        self.replicates, self.T, self.record, self.links = replicates, T, record, links
        self.progress = np.zeros((len(record) if links else 0, replicates), dtype=np.int64)
        self.arrived_at = np.zeros(replicates, dtype=np.int64)
        self.total = np.zeros(replicates)
        self.last = np.full(replicates, np.nan)
        self.best = np.full(replicates, np.inf)
        self.diverged_at = np.zeros(replicates, dtype=np.int64)
        self.series = np.full((len(record), replicates), np.nan)
        self.running = np.full((len(record), replicates), np.nan)

    @property
    def all_diverged(self) -> bool:
        return bool(np.all(self.diverged_at > 0))

    def add(self, measured: Any, t0: int) -> None:
        """Add a block [steps, replicates] that starts at iteration t0."""
        values = measured.astype(np.float64)
        gone = self.diverged_at > 0
        lost = gone | np.logical_or.accumulate(~(values <= DIVERGED), axis=0)  # NaN too
        fresh = lost[-1] & ~gone
        self.diverged_at[fresh] = t0 + lost.argmax(axis=0)[fresh]
        values[lost] = np.nan  # it goes on to where this block of steps ends, which is chance
        sums = np.cumsum(np.concatenate([self.total[None], values]), axis=0)[1:]
        self.total, self.last = sums[-1], values[-1]
        self.best = np.fmin(self.best, np.fmin.reduce(values))
        due = self._due(t0, len(values))
        times = self.record[due]
        self.series[due] = values[times - t0]
        self.running[due] = sums[times - t0] / times[:, None]

    def _due(self, t0: int, n: int) -> slice:
        """Return where the times to be kept lie that are among n iterations from t0 on."""
        first, end = np.searchsorted(self.record, (t0, t0 + n))
        return slice(first, end)

    def follow(self, found: Any, t0: int) -> None:
        """Add what xbar_t has found of a chain, [steps, replicates] from iteration t0 on."""
        there = found >= self.links
        fresh = there.any(axis=0) & (self.arrived_at == 0)
        self.arrived_at[fresh] = t0 + there.argmax(axis=0)[fresh]
        due = self._due(t0, len(found))
        self.progress[due] = found[self.record[due] - t0]

    def finish(self, silent: float) -> Rows:
        """Return the averages; a diverged replicate is NaN, whatever was finite before."""
        lost = self.diverged_at > 0
        average = np.where(lost, np.nan, self.total / self.T)
        return Rows(
            average,
            np.where(lost, np.nan, self.last),
            self.best,
            self.diverged_at,
            self.series,
            self.running,
            self.progress,
            self.arrived_at,
            silent,
        )


def _parts(plan: Plan, size: int, most: int) -> list[slice]:
    """Return slices of a block's replicates: one, unless a replicate alone fills the cache."""
    per_replicate = plan.problem.K * plan.problem.dim * plan.dtype.itemsize
    fits = not plan.backend.on_host or size * per_replicate <= ARRAY_BYTES
    n = min(most, size if fits else max(1, ARRAY_BYTES // per_replicate))
    return [slice(i, min(i + n, size)) for i in range(0, size, n)]


def _steps_per_block(plan: Plan, sizes: list[int]) -> int:
    """Return how many steps of noise are drawn at once; one read-back of results each.

    A device generator's numbers depend on how many one call asks for, so on a device the number
    of steps is that of one block, however many blocks the group has.
    """
    state = plan.problem.K * plan.problem.dim * plan.dtype.itemsize
    state *= int(plan.sizes.b) if plan.per_sample else 1
    if not plan.backend.on_host:
        most = DEVICE_NOISE_BYTES // 16 // (2 * REPLICATE_BLOCK * state)
    else:
        most = NOISE_BYTES // (2 * sum(sizes) * state)
    return max(1, min(MOST_STEPS, most))


def _steps(plan: Plan, t0: int, n: int) -> list[Step]:
    """Return iterations t0 .. t0 + n - 1 with eta_t and a_{t+1}."""
    t = np.arange(t0, t0 + n, dtype=np.float64)
    eta, a = np.asarray(plan.schedule.eta(t)), np.asarray(plan.schedule.momentum(t + 1))
    each = zip(range(t0, t0 + n), eta.tolist(), a.tolist(), strict=True)
    return [Step(t, eta, a, t % plan.sizes.I == 0) for t, eta, a in each]

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

from stemtheory.algorithms import Chances, Step, System, mean_iterate, mean_over_workers
from stemtheory.oracles import staged
from stemtheory.runtime import REPLICATE_BLOCK, UsageError, blocks, is_out_of_memory
from stemtheory.simulator.limits import ARRAY_BYTES
from stemtheory.simulator.plan import Plan, Rows, longest
from stemtheory.simulator.streams import GroupStreams
from stemtheory.simulator.tally import GroupTally

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
    streams = GroupStreams(plan, first, sizes)
    units = [_Unit(plan, part) for part in _parts(plan, sizes[0], most)]
    T, coin, silent = plan.sizes.T, None, 0
    chain = staged(plan.problem)
    rows = GroupTally(len(sizes) * sizes[0], T, plan.record, chain.links if chain else 0)
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

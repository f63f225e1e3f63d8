"""The simulator's front door: a run is made and checked, an engine runs it, a trace comes back.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory._version import __version__
from stemtheory.algorithms import Counts, Entry
from stemtheory.oracles import Problem
from stemtheory.runtime import (
    Backend,
    Floats,
    Ints,
    UsageError,
    counter,
    file_path,
    one_blas_thread,
    resolve,
    several,
    whole,
)
from stemtheory.simulator.array_engine import run_plan
from stemtheory.simulator.choices import DEFAULT
from stemtheory.simulator.fused import choose, run_fused, say_slower
from stemtheory.simulator.limits import refuse_the_endless
from stemtheory.simulator.memory import large_record, lighter, refuse_the_huge
from stemtheory.simulator.plan import Plan, Rows, longest
from stemtheory.simulator.run import Run
from stemtheory.simulator.trace import Circumstances, Trace


@one_blas_thread()
def simulate(
    problem: str | Problem | Run,
    algorithm: str | Entry = "stem",
    *,
    algorithm_options: Mapping[str, Any] | None = None,
    T: float = DEFAULT.T,
    b: float | None = None,
    I: int | None = None,
    nu: float | None = None,
    B: float | None = None,
    schedule: str = DEFAULT.schedule,
    schedule_options: Mapping[str, Any] | None = None,
    sync: str | None = None,
    sync_batch: int | None = None,
    replicates: int = DEFAULT.replicates,
    x1: float | Sequence[float] | Floats | None = None,
    seed: int = DEFAULT.seed,
    backend: str | Backend = DEFAULT.backend,
    engine: str = DEFAULT.engine,
    dtype: str = DEFAULT.dtype,
    record_every: int = 0,
    record_at: Sequence[int] = (),
    per_sample: bool = DEFAULT.per_sample,
    noise_source: str = DEFAULT.noise_source,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
) -> Trace:
    """Return the trace of ``replicates`` independent runs of ``algorithm`` on ``problem``.

    Parameters
    ----------
    problem
        What is minimised: a name of the catalogue, or what ``load_problem`` returned. A ``Run`` in
        its place says everything that can change a number; only ``record_every``, ``record_at``,
        ``threads`` and ``checkpoint`` are then looked at.
    algorithm
        A name of ``ALGORITHMS`` (stem, fedavg, a named setting of them, or another system),
        ``package.module:NAME``, or an ``Entry`` of your own.
    algorithm_options
        The algorithm's own, such as ``{"option": "II", "participation": 0.5}`` of scaffold.
    T, b, I, nu, B
        Iterations (rounded up to a multiple of I), samples per minibatch (may be real), local
        steps per round, knob of the trade-off curve instead of b and I (default 1/2), and samples
        of the initial batch per worker (default b I).
    schedule, schedule_options
        The step sizes, and their numbers by name: ``theorem`` (of the algorithm's own theory);
        ``calibrated`` (C1, C2, C3: caps and scales; FedAvg has no C2); ``practical`` (kappa, cbar:
        as in the paper's experiments, STEM only); ``constant`` (eta, a: both needed; FedAvg has no
        a); ``coupled`` (eta, scale: eta is needed, a = min(1, scale c eta^2); FedAvg has no scale);
        ``rstar`` (part: a to e of Theorem R*, default b; STEM only).
    sync, sync_batch
        Spellings of two options of STEM: its reading of the synchronisation, and m of the sync
        batch (1, and ceil(I/M) of its part under schedule ``rstar``).
    replicates, seed, x1
        Independent runs, the seed of all noise, and the common start (a number for every
        coordinate, or dim of them; 1, or where the chain of a problem of floors begins, 0).
    backend, engine, dtype
        Where and how it is computed; ``backend`` is a name, or a ``Backend`` of one's own.
        ``auto`` compiles large separable runs (``fused``); the trace says what was taken.
    record_every, record_at
        Keep ||grad f(xbar_t)||^2 and its running average every so many iterations, or at the
        given ones; T is always kept. What that takes is said on stderr first where it is much.
    per_sample
        Draw b samples for real and average them, instead of one draw of the mean's law.
    noise_source
        ``device``, ``host`` to give every backend the same numbers, or ``philox`` for the numbers
        of the fused engine, which has no other.
    threads
        How many threads share the groups of replicates (default: one per core).
    checkpoint
        File that a run of the fused engine saves its state to, and goes on from.

    Returns
    -------
    Trace
        What was measured, in every replicate, and what it cost.

    Raises
    ------
    UsageError
        For bad input, in one sentence.

    Examples
    --------
    >>> from stemtheory import load_problem, simulate
    >>> trace = simulate(load_problem("cosine", K=2, dim=2), "stem", T=64, replicates=8)
    >>> trace.counts.rounds
    32
    """
    own_backend = backend if isinstance(backend, Backend) else None
    run = problem if isinstance(problem, Run) else Run.of(
        problem, algorithm, algorithm_options=algorithm_options, T=T, b=b, I=I, nu=nu, B=B,
        schedule=schedule, schedule_options=schedule_options, sync=sync, sync_batch=sync_batch,
        replicates=replicates, x1=x1, seed=seed, engine=engine, dtype=dtype,
        backend=None if isinstance(backend, Backend) else backend, per_sample=per_sample,
        noise_source=noise_source,
    )  # fmt: skip
    refuse_the_endless(run)
    every = whole("record_every", record_every, 0)
    at = tuple(whole("record_at", t) for t in several("record_at", record_at))
    recorded = (run.sizes.T // every if every else 0) + len(at)
    refuse_the_huge(run, lighter(run, recorded), recorded, 1)  # which one it is is settled below
    if (said := large_record(run, recorded)) is not None:
        sys.stderr.write(f"stemtheory: {said}\n")
    times = record_times(run.sizes.T, every, at)
    plan = replace(
        Plan.of(run, own_backend or resolve(run.numerics.backend), times),
        advanced=counter(float(run.sizes.T) * run.replicates),
    )
    threads = None if threads is None else whole("threads", threads)
    checkpoint = None if checkpoint is None else file_path("checkpoint", checkpoint)
    asked = run.numerics.engine
    taken = choose(asked, plan, run.replicates, run.numerics.noise_source)
    if plan.backend.on_host:  # a device says itself when it is full
        refuse_the_huge(run, taken, len(times), threads)
    if taken == "fused":
        from stemtheory.simulator.fused.engine import NotCompiledError

        try:
            return trace_of(run, plan, taken, run_fused(plan, run.replicates, threads, checkpoint))
        except NotCompiledError as error:
            if asked == "fused" or checkpoint is not None:
                raise
            say_slower(error)
    if checkpoint is not None:
        raise UsageError(
            "checkpoint was given, but only the fused engine saves its state: use engine fused."
        )
    return trace_of(run, plan, "array", run_plan(plan, run.replicates, threads))


def trace_of(run: Run, plan: Plan, engine: str, rows: Rows) -> Trace:
    """Return what an engine measured together with the run and its circumstances."""
    problem = run.problem.load()
    with np.errstate(all="ignore"):  # a start beyond the finite numbers is reported as such
        constants = problem.constants(plan.start)
        gradient = problem.full_gradient(plan.start)
        grad_sq_start = float(np.sum(gradient * gradient))
    return Trace(
        run=run,
        circumstances=Circumstances(
            constants=constants,
            dials=dict(problem.dials),
            estimated=bool(getattr(problem, "estimated", False)),
            grad_sq_start=grad_sq_start,
            first_batch=plan.sizes.B if plan.algorithm.costs.initial_batch else None,
            schedule=plan.schedule.parameters(),
            engine=engine,
            noise_source="philox" if engine == "fused" else run.numerics.noise_source,
            backend=plan.backend.name,
            device=plan.backend.device,
            version=__version__,
        ),
        counts=count(plan, rows),
        grad_sq=rows.total,
        last=rows.last,
        best=rows.best,
        times=plan.record,
        series=rows.series,
        running=rows.running,
        diverged_at=rows.diverged_at,
        progress=rows.progress,
        arrived_at=rows.arrived_at,
    )


def record_times(T: int, every: int, at: Sequence[int]) -> Ints:
    """Return the iterations at which something is kept: every so many, the given ones, and T."""
    given = [T, *at]
    regular = np.arange(every, T + 1, every) if every else ()
    times = np.union1d(np.array([t for t in given if t <= T], dtype=np.int64), regular)
    return times.astype(np.int64)


def count(plan: Plan, rows: Rows) -> Counts:
    """Return what the algorithm says that so many iterations, and silent rounds, cost."""
    sizes = plan.sizes
    return plan.algorithm.costs.counts(
        longest(rows.diverged_at, sizes.T),
        b=sizes.b,
        I=sizes.I,
        B=sizes.B,
        K=sizes.K,
        dim=plan.start.size,
        pass_samples=plan.pass_samples,
        silent=rows.silent,
    )

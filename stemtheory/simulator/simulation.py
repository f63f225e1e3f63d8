"""The simulator's front door: checks what was asked for, runs it, and returns a Trace.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory._version import __version__
from stemtheory.algorithms import ALGORITHMS, Algorithm, declared
from stemtheory.oracles import Problem, Separable
from stemtheory.runtime import (
    Backend,
    Floats,
    Ints,
    NoiseKey,
    UsageError,
    choice,
    numpy_backend,
    resolve,
    whole,
)
from stemtheory.simulator.array_engine import run_plan
from stemtheory.simulator.fused import choose, say_slower
from stemtheory.simulator.plan import Meter, Plan, Rows
from stemtheory.simulator.sizes import Sizes, resolve_schedule, resolve_sizes
from stemtheory.simulator.trace import Counts, Trace

ENGINES = ("auto", "array", "fused")
NOISE_SOURCES = ("device", "host", "philox")
DTYPES = ("float64", "float32")
MOST_WORK = 10**16  # worker-coordinate-steps T R K dim: more than a year at 4 ns each


def simulate(
    problem: Problem,
    algorithm: str = "stem",
    *,
    algorithm_options: Mapping[str, Any] | None = None,
    T: int = 4096,
    b: float | None = None,
    I: int | None = None,
    nu: float | None = None,
    B: float | None = None,
    schedule: str = "theorem",
    schedule_options: Mapping[str, Any] | None = None,
    sync: str = "literal",
    sync_batch: int = 1,
    replicates: int = 32,
    x1: float | Sequence[float] | Floats = 1.0,
    seed: int = 0,
    backend: str | Backend = "auto",
    engine: str = "auto",
    dtype: str = "float64",
    record_every: int = 0,
    record_at: Sequence[int] = (),
    per_sample: bool = False,
    noise_source: str = "device",
    threads: int | None = None,
    checkpoint: str | Path | None = None,
) -> Trace:
    """Return the trace of ``replicates`` independent runs of ``algorithm`` on ``problem``.

    Parameters
    ----------
    problem
        What is minimised; ``load_problem`` makes one.
    algorithm
        A name of ``ALGORITHMS``: stem, fedavg, a named setting of them, or another system.
    algorithm_options
        The algorithm's own, such as ``{"option": "II", "participation": 0.5}`` of scaffold.
    T, b, I, nu, B
        Iterations (rounded up to a multiple of I), samples per minibatch (may be real), local
        steps per round, knob of the trade-off curve instead of b and I (default 1/2), and samples
        of the initial batch per worker (default b I).
    schedule, schedule_options
        ``theorem`` (the algorithm's own theory), ``calibrated``, ``practical``, ``constant`` or
        ``coupled``, and its parameters.
    sync, sync_batch
        STEM's reading of the synchronisation, and m of the sync batch.
    replicates, seed, x1
        Independent runs, the seed of all noise, and the common start (a number for every
        coordinate, or dim of them).
    backend, engine, dtype
        Where and how it is computed; ``backend`` is a name, or a ``Backend`` of one's own.
        ``auto`` compiles large separable runs (``fused``); the trace says what was taken.
    record_every, record_at
        Keep ||grad f(xbar_t)||^2 and its running average every so many iterations, or at the
        given ones; T is always kept.
    per_sample
        Draw b samples for real and average them, instead of one draw of the mean's law.
    noise_source
        ``device``, ``host`` to give every backend the same numbers, or ``philox`` for the numbers
        of the fused engine, which has no other.
    threads
        How many threads share the groups of replicates (default: one per core).
    checkpoint
        File that a run of the fused engine saves its state to, and goes on from.

    Raises
    ------
    UsageError
        For bad input, in one sentence.
    """
    choice("engine", engine, ENGINES)
    chosen, kind = resolve(backend), np.dtype(choice("dtype", dtype, DTYPES))
    constants, start = problem.constants(), _start(x1, problem.dim)
    sizes = resolve_sizes(algorithm, problem.K, constants.L, T=T, b=b, I=I, nu=nu, B=B)
    sigma = constants.sigma if math.isfinite(constants.sigma) else float(problem.dials["sigma"])
    entry, own = ALGORITHMS[algorithm], algorithm_options
    plan = Plan(
        problem=problem.place(chosen, kind),
        algorithm=entry.make(sync, sync_batch, own, constants.L),
        schedule=resolve_schedule(
            algorithm, schedule, sizes, constants.L, sigma, schedule_options, own
        ),
        sizes=sizes,
        start=start,
        key=NoiseKey(whole("seed", seed, 0), problem.dim, problem.K, sizes.T, sizes.b, sizes.I),
        backend=chosen,
        host=_noise_backend(chosen, noise_source),
        dtype=kind,
        record=_record_times(sizes.T, record_every, record_at),
        per_sample=_per_sample(per_sample, sizes, problem),
        pass_samples=_pass_samples(problem),
        philox=_philox(problem, noise_source, per_sample),
    )
    count_of = whole("replicates", replicates)
    threads = None if threads is None else whole("threads", threads)
    _refuse_first_batch(B, algorithm, plan.algorithm)
    _refuse_the_endless(plan, count_of)
    engine, rows = _run(engine, plan, count_of, threads, checkpoint, noise_source)
    settings = {
        "algorithm": algorithm,
        "algorithm_options": entry.settle(own),
        "sync": sync,
        "sync_batch": sync_batch,
        "engine": engine,
        "noise_source": "philox" if engine == "fused" else noise_source,
        **describe(problem, plan),
        "schedule": {"name": schedule, **plan.schedule.parameters()},
    }
    return _trace(settings, plan, rows)


def _trace(settings: Mapping[str, Any], plan: Plan, rows: Rows) -> Trace:
    return Trace(
        settings=settings,
        counts=count(plan, rows.meter),
        grad_sq=rows.total,
        last=rows.last,
        best=rows.best,
        times=plan.record,
        series=rows.series,
        running=rows.running,
        diverged_at=rows.diverged_at,
    )


def _refuse_first_batch(B: float | None, name: str, algorithm: Algorithm) -> None:
    if B is not None and not algorithm.initial_batch:
        raise UsageError(f"B is {B}, but {name} has no initial batch: leave B out.")


def _refuse_the_endless(plan: Plan, replicates: int) -> None:
    """Refuse a run that would take years, before memory runs out over it."""
    sizes, dim = plan.sizes, plan.problem.dim
    work = float(sizes.T) * replicates * sizes.K * dim
    if work > MOST_WORK:
        raise UsageError(
            f"T = {sizes.T} with {replicates} replicates, K = {sizes.K} and dim = {dim} is"
            f" {work:.1e} worker-coordinate-steps, but more than {MOST_WORK:.0e} would take years:"
            " lower one of them."
        )


def _run(
    asked: str, plan: Plan, replicates: int, threads: int | None, checkpoint: str | Path | None,
    noise_source: str,
) -> tuple[str, Rows]:  # fmt: skip
    """Return the engine chosen and what it found; the fused one brings in its compiler here."""
    engine = choose(asked, plan, replicates, noise_source)
    if engine == "fused":
        from stemtheory.simulator.fused.engine import NotCompiledError, run_fused

        try:
            return engine, run_fused(plan, replicates, threads, checkpoint)
        except NotCompiledError as error:
            if asked == "fused" or checkpoint is not None:
                raise
            say_slower(error)
    if checkpoint is not None:
        raise UsageError(
            "checkpoint was given, but only the fused engine saves its state: use engine fused."
        )
    return "array", run_plan(plan, replicates, threads)


def describe(problem: Problem, plan: Plan) -> dict[str, Any]:
    """Return the settings of a run that its problem, sizes and backend fix, JSON-ready."""
    with np.errstate(over="ignore"):  # a start beyond the finite numbers is reported as such
        constants = asdict(problem.constants(plan.start))
        gradient = problem.full_gradient(plan.start)
        grad_sq_start = float(np.sum(gradient * gradient))
    exact = constants.pop("exact")
    estimated = {"estimated": True} if getattr(problem, "estimated", False) else {}
    first = plan.sizes.B if plan.algorithm.initial_batch else None
    return {
        **estimated,
        "problem": problem.name,
        "dim": problem.dim,
        **asdict(plan.sizes),
        "B": first,
        "dtype": plan.dtype.name,
        "backend": plan.backend.name,
        "device": plan.backend.device,
        "seed": plan.key.seed,
        "version": __version__,
        "x1": [float(x) for x in plan.start],
        "constants": {k: v if math.isfinite(v) else None for k, v in constants.items()},
        "exact": exact,
        "dials": dict(problem.dials),
        "grad_sq_start": grad_sq_start,
    }


def count(plan: Plan, meter: Meter) -> Counts:
    """Return the samples the engine counted and what was exchanged; an initial d costs one more.

    Everything is per worker: where only some take part in a round, the mean over all of them.
    """
    algorithm, cost = plan.algorithm, declared(plan.algorithm)
    K, dim = plan.sizes.K, plan.start.size
    first, rounds = algorithm.initial_vectors, meter.rounds - meter.silent
    visits = rounds * cost.active(K) / K
    up, down = algorithm.vectors_per_round, cost.vectors_down
    received = down * visits + cost.stale_at(1, K) * max(0, rounds - 1) * cost.active(K) / K
    floats = up * dim if cost.floats_up is None else cost.floats_up(dim)
    return Counts(
        samples_per_worker=meter.samples,
        draws_per_worker=meter.draws,
        rounds=_integer(rounds),
        exchanges=_integer(algorithm.exchanges_per_round * rounds + min(first, 1)),
        vectors_up=_integer(up * visits + first),
        vectors_down=_integer(received + first),
        floats_up=_integer(floats * visits + first * dim),
        floats_down=_integer((received + first) * dim),
    )


def _integer(count: float) -> float:
    """Return a whole count as an int: means over workers or replicates may not be whole."""
    return int(count) if float(count).is_integer() else count


def _start(x1: Any, dim: int) -> Floats:
    start = np.asarray(x1, dtype=np.float64)
    if start.shape not in ((), (dim,)) or not np.all(np.isfinite(start)):
        raise UsageError(
            f"x1 has shape {start.shape}, but it must be one finite number or {dim} of them (dim)."
        )
    return np.broadcast_to(start, (dim,)).copy()


def _record_times(T: int, every: int, at: Sequence[int]) -> Ints:
    every = whole("record_every", every, 0)
    times = {T, *(whole("record_at", t) for t in at)}
    if every:
        times.update(range(every, T + 1, every))
    return np.array(sorted(t for t in times if t <= T), dtype=np.int64)


def _noise_backend(chosen: Backend, source: str) -> Backend:
    if choice("noise_source", source, NOISE_SOURCES) == "device" or chosen.on_host:
        return chosen
    return numpy_backend("noise drawn on the host")


def _pass_samples(problem: Problem) -> float | None:
    """Return the samples of a full local gradient: N of a finite sum, else None (then b I)."""
    size = getattr(problem, "size", None)
    return None if size is None else float(size)


def _philox(problem: Problem, source: str, per_sample: bool) -> bool:
    """Return whether noise has the addresses of the fused engine: normals, one per field."""
    if source != "philox":
        return False
    if per_sample or not isinstance(problem, Separable):
        raise UsageError(
            f"noise_source philox numbers the fields of separable problems, but {problem.name} was"
            " given, or per_sample: use noise_source device."
        )
    return True


def _per_sample(wanted: bool, sizes: Sizes, problem: Problem) -> bool:
    if wanted and getattr(problem, "whole_batches", False):
        raise UsageError(
            f"per_sample was asked for, but {problem.name} draws real samples anyway: leave it out."
        )
    if wanted and not (float(sizes.b).is_integer() and float(sizes.B).is_integer()):
        raise UsageError(
            f"per_sample needs whole batches, but b is {sizes.b:g} and B is {sizes.B:g}:"
            " round them, or leave per_sample out."
        )
    return wanted

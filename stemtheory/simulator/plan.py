"""What an engine is given and gives back: a checked plan, and measured rows.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, full_pass
from stemtheory.oracles import Problem, Separable
from stemtheory.runtime import Backend, Floats, Ints, NoiseKey, UsageError, numpy_backend
from stemtheory.schedules import Schedule
from stemtheory.simulator.choices import Numerics
from stemtheory.simulator.run import Run
from stemtheory.simulator.sizes import Sizes


@dataclass(frozen=True)
class Plan:
    """A run, checked: everything that ``run_group`` needs. ``stop`` ends it before its time.

    ``advanced`` is told of iterations done, of all replicates together, as they are done.
    ``pass_samples`` is what a full local gradient counts for (b I unless given). With
    ``philox`` noise has the addresses of the fused engine.
    """

    problem: Problem
    algorithm: Algorithm
    schedule: Schedule
    sizes: Sizes
    start: Any
    key: NoiseKey
    backend: Backend
    host: Backend
    dtype: np.dtype[Any]
    record: Ints
    per_sample: bool
    pass_samples: float | None = None
    philox: bool = False
    stop: Event = field(default_factory=Event)
    advanced: Callable[[float], None] = lambda _: None

    @staticmethod
    def of(run: Run, backend: Backend, record: Ints) -> Plan:
        """Return a run bound to the arrays of a backend; ``record`` are the iterations kept.

        Raises
        ------
        UsageError
            For noise that this problem cannot draw so.
        """
        problem, sizes, numerics = run.problem.load(), run.sizes, run.numerics
        dtype = np.dtype(numerics.dtype)
        # A device's own numbers, or the host's moved there, so that both backends see the same.
        from_host = numerics.noise_source != "device" and not backend.on_host
        return Plan(
            problem=problem.place(backend, dtype),
            algorithm=run.method,
            schedule=run.steps,
            sizes=sizes,
            start=run.start,
            key=NoiseKey(run.seed, problem.dim, problem.K, sizes.T, sizes.b, sizes.I),
            backend=backend,
            host=numpy_backend("noise drawn on the host") if from_host else backend,
            dtype=dtype,
            record=record,
            per_sample=_per_sample(numerics, sizes, problem),
            pass_samples=full_pass(problem),
            philox=_philox(numerics, problem),
        )


def _philox(numerics: Numerics, problem: Problem) -> bool:
    """Return whether noise has the addresses of the fused engine: normals, one per field."""
    if numerics.noise_source != "philox":
        return False
    if numerics.per_sample or not isinstance(problem, Separable):
        raise UsageError(
            f"noise_source philox numbers the fields of separable problems, but {problem.name} was"
            " given, or per_sample: use noise_source device."
        )
    return True


def _per_sample(numerics: Numerics, sizes: Sizes, problem: Problem) -> bool:
    """Return whether b samples are drawn for real, where that can be done."""
    if numerics.per_sample and getattr(problem, "whole_batches", False):
        raise UsageError(
            f"per_sample was asked for, but {problem.name} draws real samples anyway: leave it out."
        )
    if numerics.per_sample and not (float(sizes.b).is_integer() and float(sizes.B).is_integer()):
        raise UsageError(
            f"per_sample needs whole batches, but b is {sizes.b:g} and B is {sizes.B:g}:"
            " round them, or leave per_sample out."
        )
    return numerics.per_sample


@dataclass
class Rows:
    """What one group measured: arrays whose last axis is its replicates.

    ``silent`` is how many rounds ended without communication, in the mean over replicates.
    ``progress`` is how many coordinates of a chain xbar_t has found, at the times of the series,
    and ``arrived_at`` the first t at which it has found all, 0 if none: of other problems nothing.
    """

    total: Floats
    last: Floats
    best: Floats
    diverged_at: Ints
    series: Floats
    running: Floats
    progress: Ints
    arrived_at: Ints
    silent: float = 0.0


def longest(diverged_at: Ints, T: int) -> int:
    """Return how far the longest replicate got: T, or to where the last of all diverged."""
    return int(diverged_at.max()) if diverged_at.all() else T

"""What an engine is given and gives back: a checked plan, measured rows, and a meter of costs.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, Round, Step
from stemtheory.oracles import Problem
from stemtheory.runtime import Backend, Floats, Ints, NoiseKey
from stemtheory.schedules import Schedule
from stemtheory.simulator.sizes import Sizes


@dataclass(frozen=True)
class Plan:
    """A run, checked: everything that ``run_group`` needs. ``stop`` ends it before its time.

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


@dataclass
class Rows:
    """What one group measured: arrays whose last axis is its replicates."""

    total: Floats
    last: Floats
    best: Floats
    diverged_at: Ints
    series: Floats
    running: Floats
    meter: Meter


@dataclass
class Meter:
    """Counts samples and exchanges as the loop goes; per worker.

    Workers that sit out a round count with 0, so a count is the mean over the workers. ``silent``
    is how many of the rounds ended without communication, in the mean over replicates.
    """

    samples: float = 0.0
    draws: float = 0.0
    rounds: int = 0
    silent: float = 0.0

    def step(self, gradients: int, samples: float) -> None:
        """Count one minibatch of ``samples`` at which ``gradients`` gradients are computed."""
        self.samples += gradients * samples
        self.draws += samples

    def iteration(self, plan: Plan, cost: Round, step: Step) -> None:
        """Count iteration t: its minibatch, and the full local gradients of the round it starts."""
        algorithm, sizes = plan.algorithm, plan.sizes
        taking_part = cost.active(sizes.K) / sizes.K
        factor = algorithm.batch_factor(step.t, sizes.I)
        gradients = cost.gradients_at(step.t, sizes.I, algorithm.gradients_per_step)
        self.step(gradients, factor * sizes.b * taking_part)
        self.rounds += step.synchronises
        if passes := cost.passes_at(step.t, sizes.I, sizes.K):
            samples = sizes.b * sizes.I if plan.pass_samples is None else plan.pass_samples
            self.step(1, passes * samples * taking_part)

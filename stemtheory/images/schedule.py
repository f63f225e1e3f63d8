"""What a training run on images is, how its steps shrink, and what is recorded of it.

Paper: sec: Experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stemtheory.algorithms import ALGORITHMS
from stemtheory.runtime import Floats, choice, whole
from stemtheory.schedules import Practical, Schedule


@dataclass(frozen=True)
class PerEpoch:
    """The paper's step size, renewed once an epoch: t counts epochs, w_t = 1, a clipped at 1.

    eta = kappa/(1 + e)^{1/3} in epoch e = 0, 1, ..., and a_{t+1} = min(1, cbar (eta_t/kappa)^2).
    An epoch is ``steps`` iterations. Unclipped, a would start at cbar > 1.

    Paper: sec: Experiments, eq. (eq: Step-Size).
    """

    kappa: float
    cbar: float
    steps: int
    name: str = "per-epoch"

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t for t >= 0."""
        epoch = np.floor(np.maximum(np.asarray(t, dtype=np.float64) - 1, 0) / self.steps)
        return Practical(self.kappa, self.cbar, sigma=1.0).eta(epoch)

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t for t >= 1."""
        relative = self.eta(np.asarray(t, dtype=np.float64) - 1) / self.kappa
        return np.asarray(np.minimum(1.0, self.cbar * relative**2))

    def parameters(self) -> dict[str, float]:
        """Return kappa, cbar and the steps of an epoch."""
        return {"kappa": self.kappa, "cbar": self.cbar, "steps": self.steps}


@dataclass(frozen=True)
class Training:
    """One training run: what is run, for how long, and when it is looked at.

    ``every`` rounds the training loss and the test accuracy at the mean iterate are recorded; round
    0 and the last one always are. With ``gradient`` ||grad f||^2 over all training images is
    recorded too. ``options`` are the algorithm's own.
    """

    algorithm: str
    schedule: Schedule
    rounds: int
    I: int
    b: int
    seeds: tuple[int, ...] = (0,)
    every: int = 1
    gradient: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("algorithm", self.algorithm, ALGORITHMS)
        for name in ("rounds", "I", "b", "every"):
            whole(name, getattr(self, name))

    @property
    def due(self) -> list[int]:
        """The rounds after which the run is looked at."""
        return sorted({0, self.rounds, *range(self.every, self.rounds, self.every)})


@dataclass(frozen=True)
class History:
    """What was recorded, [seeds, records]; per worker: ``draws`` and ``gradients`` are samples.

    ``draws`` counts distinct samples, ``gradients`` the gradients computed at them (twice as many
    for STEM). ``grad_sq`` is ||grad f||^2, NaN where it was not asked for. ``diverged`` holds the
    round from which a seed is lost, 0 for none.
    """

    rounds: NDArray[np.int64]
    draws: Floats
    gradients: Floats
    loss: Floats
    accuracy: Floats
    grad_sq: Floats
    diverged: NDArray[np.int64]

    @property
    def lost(self) -> int:
        """How many seeds diverged."""
        return int((self.diverged > 0).sum())

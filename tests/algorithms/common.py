"""Runs taken step by step, on the same minibatches whatever the algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory import load_problem
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.base import mean_over_workers
from stemtheory.schedules import Constant, Schedule
from stemtheory.simulator.stepwise import Visit, gaussian_draw, walk

NAMED = ("stem", "fedavg", "fed-stem", "minibatch-stem", "storm", "minibatch-sgd")
SYSTEMS = sorted(set(ALGORITHMS) - set(NAMED))
HALF = {"participation": 0.5}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in SYSTEMS},
    "scaffold I": ("scaffold", {"option": "I"}),
    "scaffold half": ("scaffold", HALF),
    "fedavg half": ("fedavg", HALF),
    "mime half": ("mime", HALF),
    "mimemvr half": ("mimemvr", HALF),
    "mimemvr nearly all": ("mimemvr", {"participation": 0.9}),
    "fedglomo half, sparse": ("fedglomo", HALF | {"compression": "sparsify"}),
    "fedglomo quantised": ("fedglomo", {"compression": "quantise"}),
    "fedpd II": ("fedpd", {"oracle": "II", "refresh": 2}),
    "fedpd coin": ("fedpd", {"skip": 0.4}),
    "spider reach": ("spider", {"reach": 0.05, "period": 5}),
}
bar = mean_over_workers


def make(name: str, **options: Any) -> Any:
    return ALGORITHMS[name].make(options=options)


def run(
    problem: Any, algorithm: Any, T: int, I: int, eta: float = 0.05, a: float = 0.2, **more: Any
) -> list[Visit]:
    more.setdefault("draw", gaussian_draw(problem, seed=4, replicates=2))
    schedule: Schedule = more.pop("schedule", Constant(eta, a))
    more.setdefault("x1", 1.1)
    return list(walk(problem, algorithm, schedule, T=T, I=I, replicates=2, **more))


def rounds(visits: list[Visit], I: int) -> list[list[Visit]]:
    return [visits[i : i + I] for i in range(0, len(visits), I)]


def gap(one: Any, other: Any) -> float:
    """Return the largest difference, relative to the larger of 1 and the second."""
    one, other = np.asarray(one), np.asarray(other)
    return float(np.max(np.abs(one - other)) / max(1.0, float(np.max(np.abs(other)))))


class Halving:
    """A step that falls within every round: it tells the sum of the steps from I times the last."""

    name = "halving"

    def eta(self, t: Any) -> Any:
        return 0.1 / (1 + 0.3 * np.asarray(t, dtype=float))

    def momentum(self, t: Any) -> Any:
        return np.full_like(np.asarray(t, dtype=float), 0.2)

    def parameters(self) -> dict[str, float]:
        return {}


PROBLEM = load_problem("cosine", K=4, dim=3)


I = 4

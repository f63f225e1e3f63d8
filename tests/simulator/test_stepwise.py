"""Both engines against the reference loop, step by step, under step sizes that vary."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS, READINGS
from stemtheory.runtime import NoiseKey, PhiloxStream, generator
from stemtheory.schedules import Constant
from stemtheory.simulator import stepwise
from tests.algorithms.common import OPTIONS, Halving

T, K, DIM, REPLICATES = 24, 4, 3, 8
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"stem {sync}, m = {m}": ("stem", {"sync": sync, "sync_batch": m})
        for sync in READINGS
        for m in (1, 3)
    },
    "fedavg": ("fedavg", {}),
    "vrl-sgd warm": ("vrl-sgd", {"warm_up": True}),
    **OPTIONS,
}
COMPILED = [
    v for v in VARIANTS if v.startswith("stem") or v in ("fedavg", "scaffold", "scaffold I")
]
needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="the fused engine is compiled by numba"
)
ENGINES = [
    *(("array", variant) for variant in VARIANTS),
    *(pytest.param("fused", variant, marks=needs_numba) for variant in COMPILED),
]


class Varying(Halving):
    """Step and momentum both fall with every iteration: an index shifted by one is seen."""

    def momentum(self, t: Any) -> Any:
        return 0.9 / np.sqrt(np.asarray(t, dtype=float))


class Later(Varying):
    """The same, one iteration late in the step (``by`` 1, 0) or in the momentum (0, 1)."""

    def __init__(self, by_step: int, by_momentum: int) -> None:
        self.by_step, self.by_momentum = by_step, by_momentum

    def eta(self, t: Any) -> Any:
        return super().eta(np.asarray(t) + self.by_step)

    def momentum(self, t: Any) -> Any:
        return super().momentum(np.asarray(t) + self.by_momentum)


class Streams(NamedTuple):
    """What the first replicates of a run draw: minibatches, and the choices of their rounds."""

    problem: Any
    key: NoiseKey

    def draw(self, t: int, samples: float) -> Any:
        """Return the minibatch of iteration t, addressed as the engines address it."""
        purpose = "initial" if t == 0 else "steps" if samples == 2 else "jump"
        stream: Any = PhiloxStream(self.key, 0, purpose, t=t)
        shape = (1, REPLICATES)
        return self.problem.draw(stream, shape, samples, np.dtype(np.float64))[0]

    def choices(self) -> Any:
        """Return a stand-in for ``stepwise.choices`` that draws in order of the rounds."""
        opened: dict[str, Any] = {}

        def choose(problem: Any, system: Any, seed: int, t: int, replicates: int) -> Any:
            made = {}
            for c in system.chances:
                seeds = self.key.replicate_seeds(range(replicates), c.purpose)
                streams = opened.setdefault(c.purpose, [generator(seed) for seed in seeds])
                shape = c.shape(problem.K, problem.dim)
                uniforms = np.stack([stream.random(shape) for stream in streams])
                made[c.purpose] = np.asarray(c.decide(uniforms), dtype=np.float64)
            return made

        return choose


def measured(visit: stepwise.Visit, problem: Any) -> Any:
    """Return ||grad f||^2 at the mean of those workers who take part."""
    weight = getattr(visit.before, "weight", None)
    taking_part = np.ones((1, K, 1)) if weight is None else weight > 0
    mean = (visit.before.x * taking_part).sum(axis=-2) / taking_part.sum(axis=-2)
    return (problem.full_gradient(mean) ** 2).sum(axis=-1)


def reference(variant: str, problem: Any, schedule: Any, patch: pytest.MonkeyPatch) -> Any:
    """Return what the reference loop measures, shape (T, replicates)."""
    name, options = VARIANTS[variant]
    I = 1 if ALGORITHMS[name].pin("I") else 4
    streams = Streams(problem, NoiseKey(0, DIM, K, T, 2.0, I))
    patch.setattr(stepwise, "choices", streams.choices())
    algorithm = ALGORITHMS[name].make(options)
    visits = stepwise.walk(
        problem, algorithm, schedule, T=T, I=I, x1=1.0, b=2, draw=streams.draw,
        replicates=REPLICATES,
    )  # fmt: skip
    return np.stack([measured(visit, problem) for visit in visits])


def by_engine(engine: str, variant: str, problem: Any, patch: pytest.MonkeyPatch) -> Any:
    """Return what an engine measures, on the same noise, under steps that vary."""
    name, options = VARIANTS[variant]
    eta = {"eta": 0.1} | ({"a": 0.2} if ALGORITHMS[name].family == "stem" else {})
    varying = Varying()
    patch.setattr(Constant, "eta", lambda self, t: varying.eta(t))
    patch.setattr(Constant, "momentum", lambda self, t: varying.momentum(t))
    trace = simulate(
        problem, name, algorithm_options=options, T=T, b=2, schedule="constant",
        I=1 if ALGORITHMS[name].pin("I") else 4, schedule_options=eta, backend="numpy",
        replicates=REPLICATES, engine=engine, noise_source="philox", record_every=1,
    )  # fmt: skip
    return trace.series


@pytest.mark.parametrize(("engine", "variant"), ENGINES)
def test_an_engine_takes_the_steps_of_the_loop(
    engine: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = load_problem("cosine", K=K, dim=DIM)
    expected = reference(variant, problem, Varying(), monkeypatch)
    found = by_engine(engine, variant, problem, monkeypatch)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("by_step", "by_momentum"), [(1, 0), (0, 1)])
def test_an_index_shifted_by_one_is_told_apart(
    by_step: int, by_momentum: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = load_problem("cosine", K=K, dim=DIM)
    honest = reference("stem literal, m = 1", problem, Varying(), monkeypatch)
    shifted = reference("stem literal, m = 1", problem, Later(by_step, by_momentum), monkeypatch)
    assert np.abs(shifted / honest - 1).max() > 1e-5


def test_those_who_sit_out_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that sit out step on their own here; the mean over all is another point."""
    problem = load_problem("cosine", K=K, dim=DIM)
    honest = reference("fedavg half", problem, Varying(), monkeypatch)
    monkeypatch.setattr(
        "tests.simulator.test_stepwise.measured",
        lambda v, p: (p.full_gradient(v.before.x.mean(axis=-2)) ** 2).sum(axis=-1),
    )
    everybody = reference("fedavg half", problem, Varying(), monkeypatch)
    assert np.abs(everybody / honest - 1).max() > 1e-5

"""STEM's identities, to rounding; each of them catches a mistake seen in published codes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.base import Step
from stemtheory.algorithms.fedavg import FedAvg
from stemtheory.algorithms.stem import READINGS, Stem
from stemtheory.oracles.heterogeneity import Push
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Constant, Theorem
from stemtheory.simulator.stepwise import Visit, gaussian_draw, walk
from tests.algorithms.common import bar

PROBLEMS = ("quadratic", "geman_mcclure", "cosine")


SYNCS = tuple(READINGS)


def run(problem: Any, algorithm: Any, schedule: Any, T: int, I: int, **more: Any) -> list[Visit]:
    more.setdefault("draw", gaussian_draw(problem, seed=3, replicates=2))
    return list(walk(problem, algorithm, schedule, T=T, I=I, x1=1.2, replicates=2, **more))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("I", [1, 4])
def test_the_mean_iterate_moves_along_the_mean_direction(name: str, sync: str, I: int) -> None:
    """ALG-1: xbar_{t+1} = xbar_t - eta_t dbar_t for every t and reading."""
    problem = load_problem(name, K=4, dim=3)
    for v in run(problem, Stem(sync), Theorem(1.0, 4, 2, I), 12, I, b=2):
        expected = bar(v.before.x) - v.step.eta * bar(v.before.d)
        np.testing.assert_allclose(bar(v.after.x), expected, rtol=1e-12, atol=0)


def test_a_lost_average_is_rejected() -> None:
    """A mutant that forgets to average d at a synchronisation still moves xbar right, x not."""

    class Mutant(Stem):
        def synchronise(self, problem: Any, state: Any) -> Any:
            return super().synchronise(problem, state)._replace(x=state.x)

    problem = load_problem("cosine", K=4, dim=3)
    visits = run(problem, Mutant(), Theorem(1.0, 4, 1, 2), 4, 2)
    assert np.ptp(visits[1].after.x, axis=-2).max() > 1e-4


@pytest.mark.parametrize("sync", SYNCS)
def test_the_same_minibatch_is_used_at_both_points(sync: str) -> None:
    """With x_prev = x, d_new - (1-a) d = a g(x; minibatch): a stale minibatch fails."""
    problem = load_problem("geman_mcclure", K=4, dim=3)
    algorithm, draw = Stem(sync), gaussian_draw(problem, seed=1)
    x = np.full((1, 4, 3), 0.7)
    state = algorithm.init(problem, x, 0.1, draw(0, 4))
    minibatch = draw(1, 2)
    new = algorithm.local_step(problem, state, Step(1, 0.0, 0.3, False), minibatch)
    wanted = 0.3 * problem.stochastic_gradient(x, minibatch)
    np.testing.assert_allclose(new.d - 0.7 * state.d, wanted, rtol=1e-13, atol=1e-16)
    stale = algorithm.local_step(problem, state, Step(1, 0.0, 0.3, False), draw(2, 2))
    assert np.abs(stale.d - 0.7 * state.d - wanted).max() > 1e-3


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("I", [1, 3])
def test_stem_with_a_1_is_fedavg_one_step_later(name: str, I: int) -> None:
    """SP1: STEM with a = 1 equals FedAvg started at x_2, with the clock shifted by one."""
    problem = load_problem(name, K=4, dim=3)
    draw = gaussian_draw(problem, seed=5, replicates=2)
    stem = run(problem, Stem(), Constant(0.1, 1.0), 9, I, draw=draw)
    x2 = stem[0].before.x - 0.1 * stem[0].before.d
    fedavg = list(
        walk(problem, FedAvg(), Constant(0.1, 1.0), T=9, I=I, x1=x2, draw=draw, replicates=2)
    )
    for s, f in zip(stem, fedavg, strict=True):
        shifted = bar(s.after.x) - 0.1 * bar(s.after.d)
        np.testing.assert_allclose(shifted, bar(f.after.x), rtol=1e-12, atol=1e-15)


def test_sp1_without_the_shift_is_not_fedavg() -> None:
    """SP1: without the one-step shift of the clock the two differ."""
    problem = load_problem("cosine", K=4, dim=3)
    draw = gaussian_draw(problem, seed=5, replicates=2)
    stem = run(problem, Stem(), Constant(0.5, 1.0), 6, 3, draw=draw)
    fedavg = run(problem, FedAvg(), Constant(0.5, 1.0), 6, 3, draw=draw)
    assert np.abs(bar(stem[-1].after.x) - bar(fedavg[-1].after.x)).max() > 1e-3


@pytest.mark.parametrize("sync", ["literal", "average-first"])
def test_without_noise_and_with_a_0_the_error_stays(sync: str) -> None:
    """a = 0, sigma = 0: d_k - grad f_k(x_k) stays between synchronisations; dbar is exact."""
    problem = load_problem("cosine", K=4, dim=3, sigma=0)
    error = None
    for v in run(problem, Stem(sync), Constant(0.05, 0.0), 12, 4):
        here = problem.gradient(v.local.x)
        np.testing.assert_allclose(bar(v.local.d), bar(here), rtol=1e-12, atol=1e-15)
        if error is not None and v.step.t % 4 not in (0, 1):
            np.testing.assert_allclose(v.local.d - here, error, rtol=0, atol=1e-14)
        error = v.local.d - here


def test_overwrite_leaves_a_bias_without_noise() -> None:
    """Overwriting x after d was computed leaves a bias in dbar."""
    problem = load_problem("cosine", K=4, dim=3, sigma=0)
    visits = run(problem, Stem("overwrite"), Constant(0.05, 0.0), 12, 4)
    last = visits[-1].local
    assert np.abs(bar(last.d) - bar(problem.gradient(last.x))).max() > 1e-6


@pytest.mark.parametrize("I", [2, 5])
@pytest.mark.parametrize("sync", SYNCS)
def test_one_worker_is_storm(sync: str, I: int) -> None:
    """With K = 1, STEM with any I is STORM (I = 1)."""
    problem = load_problem("geman_mcclure", K=1, dim=3)
    schedule = Constant(0.1, 0.2)
    many = run(problem, Stem(sync), schedule, 10, I, B=3)
    storm = run(problem, Stem(), schedule, 10, 1, B=3)
    for m, s in zip(many, storm, strict=True):
        np.testing.assert_array_equal(m.after.x, s.after.x)


@pytest.mark.parametrize("name", PROBLEMS)
def test_readings_coincide_at_one_local_step(name: str) -> None:
    """For I = 1 the readings coincide (average-both included: x is always the mean)."""
    problem = load_problem(name, K=4, dim=3)
    runs = [run(problem, Stem(sync), Theorem(1.0, 4, 1, 1), 20, 1) for sync in SYNCS]
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            np.testing.assert_allclose(a.after.x, b.after.x, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("heterogeneity", ["tilt", "sinusoid"])
def test_zeta_does_not_matter_at_one_local_step(algorithm: str, heterogeneity: str) -> None:
    """With I = 1 the workers' differences cancel in the mean, to rounding."""
    measured = []
    for zeta in (0.0, 4.0):
        problem = load_problem(
            "quadratic",
            dim=2,
            L=3.0,
            curvature=0.5,
            noise_smoothness=1.0,
            zeta=zeta,
            heterogeneity=heterogeneity,
            slack=True,
        )
        options = {"eta": 0.02} | ({"a": 0.1} if algorithm == "stem" else {})
        trace = simulate(
            problem,
            algorithm,
            T=300,
            b=1,
            I=1,
            replicates=8,
            schedule="constant",
            schedule_options=options,
        )
        measured.append(trace.grad_sq)
    np.testing.assert_allclose(measured[0], measured[1], rtol=1e-12)


@pytest.mark.parametrize("algorithm", [Stem(), Stem("overwrite"), FedAvg()])
def test_equal_workers_without_noise_stay_equal(algorithm: Any) -> None:
    problem = load_problem("geman_mcclure", K=5, dim=3, sigma=0, zeta=0)
    for v in run(problem, algorithm, Constant(0.3, 0.5), 11, 4):
        assert np.ptp(v.after.x, axis=-2).max() == 0.0


@pytest.mark.parametrize("algorithm", [Stem(), Stem("average-first"), FedAvg()])
def test_permuting_workers_changes_nothing(algorithm: Any) -> None:
    problem = load_problem("cosine", K=5, dim=3)
    order = np.array([3, 0, 4, 1, 2])
    assert problem.push is not None  # type: ignore[attr-defined]
    push = Push(
        problem.push.function,  # type: ignore[attr-defined]
        (problem.push.arguments[0][order], *problem.push.arguments[1:]),  # type: ignore[attr-defined]
    )
    permuted = replace(problem, push=push)  # type: ignore[type-var]
    draw = gaussian_draw(problem, seed=2, replicates=2)

    def shuffled(t: int, samples: float) -> Any:
        return draw(t, samples)[..., order, :]

    plain = run(problem, algorithm, Constant(0.3, 0.5), 9, 3, draw=draw)
    mixed = run(permuted, algorithm, Constant(0.3, 0.5), 9, 3, draw=shuffled)
    for a, b in zip(plain, mixed, strict=True):
        np.testing.assert_allclose(bar(a.after.x), bar(b.after.x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("sync", "jumps"), [("literal", {5, 9}), ("average-first", {4, 8, 12})])
def test_sync_batch_is_used_at_the_jump_alone(sync: str, jumps: set[int]) -> None:
    """Literal jumps at t = sI + 1, s >= 1; average-first at t = sI."""
    algorithm = Stem(sync, sync_batch=3)
    factors = algorithm.costs.batch_factors(1, 12, 4)
    assert {t for t in range(1, 13) if factors[t - 1] == 3} == jumps
    assert set(factors) == {1, 3}
    assert set(algorithm.costs.batch_factors(1, 12, 1)) == {1}


def test_momentum_has_the_index_of_the_paper() -> None:
    """ALG-2: a_{t+1} = c eta_t^2, so a_2 = c eta_1^2; iteration t uses a_{t+1}."""
    schedule = Theorem(1.0, 2, 1.0, 1)
    problem = load_problem("quadratic", K=2, dim=1)
    for v in run(problem, Stem(), schedule, 5, 1):
        assert v.step.a == pytest.approx(schedule.c * float(schedule.eta(v.step.t)) ** 2, rel=1e-14)


def test_named_settings_are_settings() -> None:
    """minibatch-stem, fed-stem, storm and minibatch-sgd give the bits of what they stand for."""
    problem = load_problem("quadratic", K=4, dim=2)
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("minibatch-stem", "stem", {"b": 256**0.5 / 4, "I": 1}),
        ("fed-stem", "stem", {"b": 1, "I": round((256 / 16) ** (1 / 3))}),
        ("minibatch-sgd", "fedavg", {"b": 1, "I": 1}),
    ]
    for name, base, given in cases:
        a = simulate(problem, name, T=256, replicates=3)
        b = simulate(problem, base, T=256, replicates=3, **given)
        np.testing.assert_array_equal(a.grad_sq, b.grad_sq)
    alone = load_problem("quadratic", K=1, dim=2)
    a, b = simulate(alone, "storm", T=64), simulate(alone, "stem", T=64, b=1, I=1)
    np.testing.assert_array_equal(a.grad_sq, b.grad_sq)


def test_storm_refuses_many_workers() -> None:
    with pytest.raises(UsageError, match="one worker"):
        simulate(load_problem("quadratic", K=4), "storm", T=16)


def test_fedavg_refuses_readings() -> None:
    with pytest.raises(UsageError, match="one reading"):
        simulate(load_problem("quadratic"), "fedavg", T=16, sync="overwrite")

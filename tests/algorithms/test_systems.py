"""The other systems of Table 1: identities between them, and mistakes that these reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.base import mean_over_workers
from stemtheory.algorithms.compression import Compression
from stemtheory.algorithms.scaffold import Scaffold
from stemtheory.algorithms.stem import READINGS, Stem
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Constant
from stemtheory.simulator.stepwise import Visit, gaussian_draw, walk

NAMED = ("stem", "fedavg", "fed-stem", "minibatch-stem", "storm", "minibatch-sgd")
SYSTEMS = sorted(set(ALGORITHMS) - set(NAMED))


def make(name: str, **options: Any) -> Any:
    return ALGORITHMS[name].make(options=options)


def run(
    problem: Any, algorithm: Any, T: int, I: int, eta: float = 0.05, a: float = 0.2
) -> list[Visit]:
    draw = gaussian_draw(problem, seed=4, replicates=2)
    schedule = Constant(eta, a)
    return list(walk(problem, algorithm, schedule, T=T, I=I, x1=1.1, draw=draw, replicates=2))


def same(left: list[Visit], right: list[Visit], rtol: float = 1e-12) -> None:
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one.after.x, other.after.x, rtol=rtol, atol=1e-14)


def differs(left: list[Visit], right: list[Visit]) -> bool:
    return bool(np.abs(left[-1].after.x - right[-1].after.x).max() > 1e-6)


def constant(name: str) -> dict[str, float]:
    return {"eta": 0.05} | ({"a": 0.2} if ALGORITHMS[name].family == "stem" else {})


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("problem", ["quadratic", "geman_mcclure", "cosine"])
def test_every_system_descends_and_is_counted(name: str, problem: str) -> None:
    trace = simulate(
        load_problem(problem, K=4, dim=2),
        name,
        T=800,
        b=2,
        replicates=8,
        record_every=1,
        I=1 if ALGORITHMS[name].pin("I") else 4,
        schedule="constant",
        schedule_options=constant(name),
    )
    assert trace.status == "ok"
    assert trace.series[-20:].mean() < 0.5 * trace.series[0].mean()
    counts = trace.counts
    assert counts.rounds == trace.settings["T"] / trace.settings["I"]
    assert counts.vectors_up >= counts.rounds
    assert counts.samples_per_worker >= 2 * trace.settings["T"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_own_theory_gives_small_steps(name: str) -> None:
    trace = simulate(load_problem("quadratic", K=4, dim=2), name, T=64, b=1, replicates=4)
    assert trace.status == "ok"
    assert trace.grad_sq.mean() <= 1.05 * trace.settings["grad_sq_start"]


def test_vrl_sgd_is_scaffold_with_option_ii() -> None:
    problem = load_problem("cosine", K=5, dim=3)
    vrl, scaffold = run(problem, make("vrl-sgd"), 12, 4), run(problem, make("scaffold"), 12, 4)
    same(vrl, scaffold)
    for v, s in zip(vrl, scaffold, strict=True):
        np.testing.assert_allclose(mean_over_workers(v.after.v), 0, atol=1e-14)
        np.testing.assert_allclose(v.after.v, s.after.own - s.after.c, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("option", ["I", "II"])
def test_the_mean_control_variate_is_the_servers(option: str) -> None:
    problem = load_problem("cosine", K=5, dim=3)
    for v in run(problem, make("scaffold", option=option), 12, 4):
        c = np.broadcast_to(v.after.c, v.after.own.shape)[..., 0, :]
        np.testing.assert_allclose(mean_over_workers(v.after.own), c, rtol=1e-12, atol=1e-14)


def test_scaffold_mutants() -> None:
    """Public mistakes: c_k never stored, the wrong sign, the number of workers or steps lost."""
    problem = load_problem("cosine", K=4, dim=3)
    honest = run(problem, make("scaffold"), 16, 4)

    class NeverStored(Scaffold):
        def synchronise(self, problem: Any, state: Any) -> Any:
            return super().synchronise(problem, state)._replace(own=0 * state.own)

    class WrongSign(Scaffold):
        def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
            flipped = state._replace(own=-state.own, c=-state.c)
            moved = super().local_step(problem, flipped, step, minibatch)
            return moved._replace(own=state.own, c=state.c)

    class SumForMean(Scaffold):
        def moved(self, state: Any) -> Any:
            return state.server + 4 * (super().moved(state) - state.server)

    class StepsLost(Scaffold):
        def renewed(self, problem: Any, state: Any) -> Any:
            return super().renewed(problem, state._replace(travel=state.travel / 4))

    for mutant in (NeverStored, WrongSign, SumForMean, StepsLost):
        assert differs(honest, run(problem, mutant("II"), 16, 4)), mutant.__name__


def test_fedprox_without_its_term_is_fedavg() -> None:
    problem = load_problem("geman_mcclure", K=4, dim=3)
    fedavg = run(problem, make("fedavg"), 12, 4)
    for v, f in zip(run(problem, make("fedprox", mu=0.0), 12, 4), fedavg, strict=True):
        np.testing.assert_array_equal(v.after.x, f.after.x)
    assert differs(run(problem, make("fedprox", mu=1.0), 12, 4), fedavg)


def test_slowmo_without_momentum_is_fedavg() -> None:
    problem = load_problem("geman_mcclure", K=4, dim=3)
    fedavg = run(problem, make("fedavg"), 12, 4)
    same(run(problem, make("slowmo", beta=0.0, alpha=1.0), 12, 4), fedavg)
    assert differs(run(problem, make("slowmo", beta=0.5), 12, 4), fedavg)


@pytest.mark.parametrize("name", ["local-polyak", "local-nesterov"])
def test_local_momentum_without_momentum_is_fedavg(name: str) -> None:
    problem = load_problem("geman_mcclure", K=4, dim=3)
    fedavg = run(problem, make("fedavg"), 12, 4)
    same(run(problem, make(name, beta=0.0), 12, 4), fedavg)
    assert differs(run(problem, make(name, beta=0.9), 12, 4), fedavg)


def test_mime_with_one_step_is_a_full_gradient_step() -> None:
    """At the server's point both minibatch gradients cancel, and c is the gradient."""
    problem = load_problem("cosine", K=4, dim=3)
    x = np.full((2, 3), 1.1)
    for v in run(problem, make("mime", beta=0.0), 6, 1):
        x = x - 0.05 * np.asarray(problem.full_gradient(x))
        np.testing.assert_allclose(mean_over_workers(v.after.x), x, rtol=1e-12)
    assert differs(
        run(problem, make("mimelite", beta=0.0), 6, 1), run(problem, make("mime", beta=0.0), 6, 1)
    )


def test_fedglomo_with_one_step_is_storm_on_the_server() -> None:
    """Without compression at I = 1: u = eta d with STORM's d, one minibatch later than STEM's."""
    problem = load_problem("cosine", K=4, dim=3)
    draw = gaussian_draw(problem, seed=4, replicates=2)
    schedule = Constant(0.05, 0.2)
    storm = walk(
        problem,
        Stem(),
        schedule,
        T=8,
        I=1,
        x1=1.1,
        draw=lambda t, n: draw(t + 1, 1.0),
        replicates=2,
    )
    glomo = run(problem, make("fedglomo"), 8, 1)
    for s, g in zip(storm, glomo, strict=True):
        np.testing.assert_allclose(
            mean_over_workers(g.before.x), mean_over_workers(s.before.x), rtol=1e-12
        )


@pytest.mark.parametrize("oracle", ["I", "II"])
def test_fedpd_comes_to_rest_where_the_gradient_vanishes(oracle: str) -> None:
    """Without noise lambda_k tends to -grad f_k(x*), which adds up to zero."""
    problem = load_problem("quadratic", K=4, dim=2, sigma=0.0, heterogeneity="tilt")
    last = run(problem, make("fedpd", oracle=oracle, prox=0.3), 4000, 8, eta=0.1)[-1].after
    gradients = np.asarray(problem.gradient(last.x))
    np.testing.assert_allclose(mean_over_workers(gradients), 0, atol=1e-8)
    np.testing.assert_allclose(last.dual, -gradients, atol=1e-6)
    assert np.abs(gradients).max() > 1e-3


def test_fedpd_lambda_identity() -> None:
    """lambda' = lambda + (x - x0)/h at every synchronisation."""
    problem = load_problem("cosine", K=4, dim=2)
    for v in run(problem, make("fedpd", prox=0.3), 12, 4):
        if v.step.synchronises:
            expected = v.local.dual + (v.local.x - v.local.centre) / 0.3
            np.testing.assert_allclose(v.after.dual, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["fedavg", "scaffold", "mime", "fedglomo"])
def test_partial_participation_halves_what_is_sent(name: str) -> None:
    problem = load_problem("quadratic", K=4, dim=2)
    more: dict[str, Any] = {
        "T": 80,
        "b": 1,
        "I": 4,
        "replicates": 8,
        "schedule": "constant",
        "schedule_options": constant(name),
    }
    full = simulate(problem, name, **more)
    half = simulate(problem, name, algorithm_options={"participation": 0.5}, **more)
    assert half.counts.vectors_up == full.counts.vectors_up / 2
    assert half.counts.samples_per_worker == full.counts.samples_per_worker / 2
    assert not np.array_equal(half.grad_sq, full.grad_sq)
    again = simulate(problem, name, algorithm_options={"participation": 0.5}, **more)
    np.testing.assert_array_equal(half.grad_sq, again.grad_sq)


@pytest.mark.parametrize("kind", ["sparsify", "quantise"])
def test_compression_is_unbiased_and_counted(kind: str) -> None:
    """The mean of 40,000 compressions is the vector: |z| < 5 (false alarm below 1e-5)."""
    compression, R, dim = Compression(kind, keep=0.25, levels=2), 40_000, 8
    (chance,) = compression.chances(1)
    uniforms = np.random.default_rng(3).random((R, *chance.shape(1, dim)))
    x = np.linspace(-1, 2, dim)[None]
    sent = compression.apply(x, {chance.purpose: chance.decide(uniforms)}, 0)[:, 0]
    error = (sent.mean(axis=0) - x[0]) / (sent.std(axis=0) / np.sqrt(R) + 1e-12)
    assert np.abs(error).max() < 5
    assert compression.floats(dim) < dim


def test_readings_and_options() -> None:
    assert ALGORITHMS["stem"].readings == tuple(READINGS)
    assert ALGORITHMS["fedavg"].readings == ("literal",)
    with pytest.raises(UsageError, match="known are option, participation, server_step"):
        make("scaffold", sevrer_step=2)
    with pytest.raises(UsageError, match="share"):
        make("scaffold", participation=1.5)

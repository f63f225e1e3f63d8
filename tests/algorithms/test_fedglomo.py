"""FedGLOMO: STORM at the server for I = 1; its local recursion; compression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.compression import Compression
from stemtheory.algorithms.fedglomo import FedGlomo, Trail
from stemtheory.algorithms.stem import Stem
from stemtheory.schedules import Constant
from stemtheory.simulator.stepwise import gaussian_draw, walk
from tests.algorithms.common import bar, gap, run

PROBLEM = load_problem("cosine", K=4, dim=3)


def storm_error(algorithm: Any) -> float:
    """Return how far I = 1 is from STORM at the server, one minibatch ahead of STEM's."""
    draw = gaussian_draw(PROBLEM, seed=4, replicates=2)
    storm = walk(
        PROBLEM,
        Stem(),
        Constant(0.05, 0.2),
        T=12,
        I=1,
        x1=1.1,
        draw=lambda t, n: draw(t + 1, 1.0),
        replicates=2,
    )
    glomo = run(PROBLEM, algorithm, 12, 1)
    return max(gap(bar(g.before.x), bar(s.before.x)) for g, s in zip(glomo, storm, strict=True))


def local_error(algorithm: Any) -> float:
    """Return how far the local direction is from its recursion with beta, on one minibatch."""
    visits, worst = run(PROBLEM, algorithm, 12, 4), 0.0
    last = visits[0].before.x
    for v in visits:
        g = PROBLEM.stochastic_gradient(v.before.x, v.minibatch)
        if (v.step.t - 1) % 4:
            then = PROBLEM.stochastic_gradient(last, v.minibatch)
            g = g + algorithm.beta * (v.before.trail.v - then)
        worst = max(worst, gap(v.local.trail.v, g))
        last = v.before.x
    return worst


def test_one_local_step_is_storm_on_the_server() -> None:
    assert storm_error(FedGlomo()) < 1e-13


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_local_recursion(beta: float) -> None:
    assert local_error(FedGlomo(beta)) < 1e-13


class MomentumOff(FedGlomo):
    """a = 1 hard-coded: the server's momentum is off."""

    def start_round(self, problem: Any, state: Any, step: Any, chance: Any) -> Any:
        return super().start_round(problem, state, step._replace(a=1.0), chance)


class NotStale(FedGlomo):
    """The second trajectory starts at w_r too."""

    def start_round(self, problem: Any, state: Any, step: Any, chance: Any) -> Any:
        after = super().start_round(problem, state, step, chance)
        return after._replace(stale=after.trail)


class PreviousMinibatch(FedGlomo):
    """The previous minibatch's gradient is kept: v telescopes to plain SGD."""

    def advance(self, problem: Any, trail: Trail, eta: float, minibatch: Any) -> Trail:
        here = problem.stochastic_gradient(trail.x, minibatch)
        v = here if trail.v is None else here + self.beta * (trail.v - trail.there)
        return Trail(trail.x - eta * v, v, here)


def test_published_mistakes_are_rejected() -> None:
    assert storm_error(MomentumOff()) > 1e-3
    assert storm_error(NotStale()) > 1e-3
    assert local_error(PreviousMinibatch()) > 1e-3


@pytest.mark.parametrize("kind", ["sparsify", "quantise"])
def test_compression_variance_is_as_declared(kind: str) -> None:
    """E||Q(x) - x||^2 over 20,000 draws: (dim/k - 1)||x||^2, or at most dim/(4 s^2)||x||^2."""
    compression, R, dim = Compression(kind, keep=0.25, levels=3), 20_000, 8
    (chance,) = compression.chances(1)
    uniforms = np.random.default_rng(5).random((R, *chance.shape(1, dim)))
    x = np.linspace(-1, 2, dim)[None]
    sent = compression.apply(x, {chance.purpose: chance.decide(uniforms)}, 0)[:, 0]
    measured = ((sent - x[0]) ** 2).sum(axis=-1).mean() / (x**2).sum()
    if kind == "sparsify":
        assert np.all((sent != 0).sum(axis=-1) == 2)
        assert measured == pytest.approx(8 / 2 - 1, rel=0.05)
    else:
        assert 0 < measured <= dim / (4 * 3**2)


def test_compression_of_zero_is_zero() -> None:
    compression = Compression("quantise")
    sent = compression.apply(np.zeros((1, 1, 4)), {"compression": np.full((1, 1, 1, 4), 0.5)}, 0)
    np.testing.assert_array_equal(sent, 0.0)


def test_floats_are_counted() -> None:
    problem = load_problem("quadratic", K=4, dim=8)
    options: dict[str, Any] = {"T": 40, "b": 1, "I": 4, "replicates": 8}
    counts = {
        kind: simulate(
            problem, "fedglomo", algorithm_options={"compression": kind}, **options
        ).counts
        for kind in ("none", "sparsify", "quantise")
    }
    assert counts["none"].floats_up == 10 * 2 * 8
    assert counts["sparsify"].floats_up == 10 * 2 * 2
    assert counts["quantise"].floats_up == 10 * 2 * (1 + 8 * 4 / 32)
    assert {c.floats_down for c in counts.values()} == {10 * 2 * 8}


def test_keeping_everything_is_no_compression() -> None:
    plain = FedGlomo()
    whole = replace(plain, compression=Compression("sparsify", keep=1.0))
    for one, other in zip(run(PROBLEM, plain, 12, 4), run(PROBLEM, whole, 12, 4), strict=True):
        np.testing.assert_array_equal(bar(one.after.x), bar(other.after.x))

"""Problems that are changed in a way whose effect is known: turned, renamed, merged, rescaled."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import BOUNDS, Setting, evaluate
from stemtheory.claims.contract import check_problem
from stemtheory.oracles.catalogue import load_problem, names, problem_entry
from stemtheory.oracles.chains.chain import Chain
from stemtheory.oracles.finite_sum import FiniteSum
from stemtheory.oracles.finite_sum_constants import bracket
from stemtheory.oracles.problem import Constants, Problem, Witness
from stemtheory.oracles.separable import Family, Separable
from stemtheory.runtime import Floats
from stemtheory.simulator.simulation import simulate
from tests.helpers.altered import Altered

NAMES = names("problems")
CHAINS = [name for name in NAMES if isinstance(load_problem(name), Chain)]
# A chain's zeta and sigma are its own, no dials, and its coins are thrown for whole samples.
DIALLED = [name for name in NAMES if name not in CHAINS]
WIDTH = dict.fromkeys(CHAINS, 5)  # no worker is without a link
FAMILIES = [name for name in NAMES if isinstance(problem_entry(name), Family)]
RUN: dict[str, Any] = {"T": 48, "b": 2, "I": 4, "replicates": 5, "seed": 3}
ROUNDING = 1e-9  # two orders of the same additions, over 48 steps


def same(first: Any, second: Any) -> None:
    """Assert that two traces measured the same, to rounding."""
    np.testing.assert_allclose(first.grad_sq, second.grad_sq, rtol=ROUNDING)
    np.testing.assert_allclose(first.last, second.last, rtol=ROUNDING)


# -- rotation


def householder(v: Floats) -> Floats:
    """Return I - 2 v v'."""
    reflection: Floats = np.eye(len(v)) - 2 * np.outer(v, v)
    return reflection


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("name", FAMILIES)
def test_rotation_moves_nothing_but_the_coordinates(name: str, algorithm: str) -> None:
    dials: dict[str, Any] = {"spectrum": 3.0, "dim": 4}
    plain, turned = load_problem(name, **dials), load_problem(name, rotate=True, **dials)
    assert isinstance(turned, Separable)
    assert turned.constants() == plain.constants()
    assert plain.separable
    assert not turned.separable
    Q = householder(turned.mirror)
    start = np.array([1.0, -0.5, 2.0, 0.3])
    assert not np.allclose(Q @ start, start)
    assert turned.value(Q @ start) == pytest.approx(plain.value(start), rel=1e-14)
    same(
        simulate(turned, algorithm, x1=Q @ start, **RUN),
        simulate(plain, algorithm, x1=start, **RUN),
    )


def test_turning_the_data_of_a_finite_sum_keeps_its_bracket() -> None:
    problem = load_problem("logistic", dim=4, alpha=0.0, heterogeneity="none")
    assert isinstance(problem, FiniteSum)
    Q = householder(np.full(4, 0.5))
    turned = replace(problem, rows=problem.rows @ Q)
    for alpha in (0.0, 0.7):
        expected = bracket(problem.model, problem.rows, alpha)
        assert bracket(problem.model, turned.rows, alpha) == pytest.approx(expected, rel=1e-12)
    start = np.array([1.0, -0.5, 2.0, 0.3])
    same(simulate(turned, x1=Q @ start, **RUN), simulate(problem, x1=start, **RUN))


# -- workers


def permuted(problem: Problem, order: list[int]) -> Altered:
    """Return the problem whose worker k is worker order[k] of the given one, noise included."""
    back = list(np.argsort(order))

    def combine(inner: Any, evaluation: Any, minibatch: Any) -> Any:
        return inner.combine(evaluation, minibatch)[..., order, :]

    def evaluate_there(inner: Any, x: Any) -> Any:
        return inner.evaluate(x[..., back, :])

    return Altered(
        problem,
        evaluate=evaluate_there,
        combine=combine,
        gradient=lambda inner, x: inner.gradient(x[..., back, :])[..., order, :],
        stochastic_gradient=lambda inner, x, m: combine(inner, evaluate_there(inner, x), m),
        noise_change=lambda inner, x, y, keep=1.0: inner.noise_change(
            x[..., back, :], y[..., back, :], keep
        )[..., order],
        noise_variance=lambda inner, x: inner.noise_variance(x[..., back, :])[..., order],
        witnesses=lambda inner: tuple(
            replace(w, workers=tuple(back[k] for k in w.workers)) for w in inner.witnesses()
        ),
    )


@pytest.mark.parametrize("name", [*DIALLED, "split_chain"])  # of the other chains all are alike
def test_the_order_of_workers_does_not_matter(name: str) -> None:
    plain = load_problem(name, K=5, dim=WIDTH.get(name, 3))
    other = permuted(plain, [3, 0, 4, 2, 1])
    assert all(row.ok for row in check_problem(other, quick=True))
    here = np.random.Generator(np.random.SFC64(1)).standard_normal((5, plain.dim))
    assert not np.allclose(other.gradient(here), plain.gradient(here))
    same(simulate(other, **RUN), simulate(plain, **RUN))


def merged(one: Problem, several: Problem, rng: np.random.Generator | None = None) -> Altered:
    """Return ``one`` worker that draws b samples as the K workers of ``several`` draw b/K each."""

    def draw(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
        minibatch = several.draw(rng or stream, shape, b * one.K / several.K, dtype)
        # the workers' axis of [*shape, M, K, dim], or of a finite sum's [*shape, K, N]
        return minibatch if one.K > 1 else minibatch.mean(axis=-2)[..., None, :]

    return Altered(one, draw=draw)


@pytest.mark.parametrize("name", DIALLED)
def test_equal_workers_have_the_constants_and_the_law_of_one(name: str) -> None:
    dials: dict[str, Any] = {"dim": 3, "zeta": 0.0}
    several, one = load_problem(name, K=4, **dials), load_problem(name, K=1, **dials)
    assert several.constants() == one.constants()
    assert [row for row in check_problem(merged(one, several), quick=True) if not row.ok] == []


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("name", DIALLED)
def test_equal_workers_take_the_steps_of_one(name: str, algorithm: str) -> None:
    """At I = 1, K workers with b samples are one worker with Kb: the very same trace."""
    dials: dict[str, Any] = {"dim": 3, "zeta": 0.0}
    several = load_problem(name, K=4, **dials)
    run = {key: value for key, value in RUN.items() if key != "b"} | {"I": 1, "threads": 1}
    run |= {"schedule": "constant", "schedule_options": {"eta": 0.05}}
    if algorithm == "stem":
        run["schedule_options"]["a"] = 0.3
    traces = []
    for K in (4, 1):  # both from one generator of the test's own, for an address depends on K
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(9)))
        problem = merged(load_problem(name, K=K, **dials), several, rng)
        first = 16 / K if algorithm == "stem" else None
        traces.append(simulate(problem, algorithm, b=8 / K, B=first, **run))
    same(*traces)


@pytest.mark.parametrize("name", DIALLED)
def test_equal_workers_without_noise_are_one(name: str) -> None:
    fixed: dict[str, Any] = {
        **RUN,
        "schedule": "constant",
        "schedule_options": {"eta": 0.05, "a": 0.3},
    }
    silent: dict[str, Any] = {"dim": 3, "zeta": 0.0, "sigma": 0.0}
    same(
        simulate(load_problem(name, K=4, **silent), **fixed),
        simulate(load_problem(name, K=1, **silent), **fixed),
    )


# -- units


def rescaled(problem: Problem, s: float, r: float) -> Altered:
    """Return s f(x/r): gradients times s/r, L times s/r^2, f* and gap times s."""

    def constants(inner: Problem, start: Floats | None = None) -> Constants:
        c = inner.constants(None if start is None else start / r)
        return replace(
            c,
            L=c.L * s / r**2,
            sigma=c.sigma * s / r,
            zeta=c.zeta * s / r,
            f_star=c.f_star * s,
            gap=c.gap * s,
        )

    def moved(w: Witness) -> Witness:
        if w.constant == "nonconvex":  # a point and a direction
            return replace(w, points=np.stack([w.points[0] * r, w.points[1]]))
        return replace(w, points=w.points * r)

    def change(inner: Any, x: Any, y: Any, keep: float = 1.0) -> Any:
        return (s / r) ** 2 * inner.noise_change(x / r, y / r, keep)

    return Altered(
        problem,
        constants=constants,
        value=lambda inner, x: s * inner.value(x / r),
        full_gradient=lambda inner, x: s / r * inner.full_gradient(x / r),
        gradient=lambda inner, x: s / r * inner.gradient(x / r),
        evaluate=lambda inner, x: inner.evaluate(x / r),
        combine=lambda inner, e, m: s / r * inner.combine(e, m),
        stochastic_gradient=lambda inner, x, m: s / r * inner.stochastic_gradient(x / r, m),
        noise_change=change,
        noise_variance=lambda inner, x: (s / r) ** 2 * inner.noise_variance(x / r),
        witnesses=lambda inner: tuple(moved(w) for w in inner.witnesses()),
    )


UNITS = [(8.0, 1.0), (1.0, 4.0), (3.0, 0.7)]


@pytest.mark.parametrize("name", NAMES)
def test_constants_follow_the_units(name: str) -> None:
    rows = check_problem(rescaled(load_problem(name, dim=WIDTH.get(name, 3)), 3.0, 0.7), quick=True)
    assert [row for row in rows if not row.ok] == []


@pytest.mark.parametrize("name", DIALLED)
def test_the_dials_are_in_the_units_of_f(name: str) -> None:
    """s f has the constants s L, s sigma, s zeta; the dials make it from them alone."""
    s = 8.0
    own: dict[str, Any] = {"g": 0.1 * s} if name == "corridor" else {}
    small = load_problem(name, dim=3, sigma=0.4)
    large = load_problem(name, dim=3, L=s, sigma=0.4 * s, zeta=s, **own)
    x = np.random.Generator(np.random.SFC64(2)).standard_normal((20, 4, 3))
    np.testing.assert_allclose(large.value(x), s * small.value(x), rtol=1e-12)
    np.testing.assert_allclose(large.gradient(x), s * small.gradient(x), rtol=1e-12, atol=1e-14)
    change = small.noise_change(x, 2 * x)
    np.testing.assert_allclose(large.noise_change(x, 2 * x), s**2 * change, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "schedule"),
    [("stem", "theorem"), ("stem", "calibrated"), ("fedavg", "calibrated")],
)
@pytest.mark.parametrize("name", NAMES)
def test_scale_free_schedules_give_the_same_trace(name: str, algorithm: str, schedule: str) -> None:
    plain = load_problem(name, dim=WIDTH.get(name, 3))
    run = {**RUN, "schedule": schedule}
    first = simulate(plain, algorithm, x1=1.0, **run).grad_sq
    for s, r in UNITS:
        second = simulate(rescaled(plain, s, r), algorithm, x1=r, **run).grad_sq
        np.testing.assert_allclose(second, (s / r) ** 2 * first, rtol=ROUNDING, err_msg=f"{s}, {r}")


def test_the_step_of_the_fedavg_theorem_is_not_scale_free() -> None:
    """eta = sqrt(bK/T) is a number, but a step size is a distance per gradient."""
    plain = load_problem("cauchy", dim=3)
    first = simulate(plain, "fedavg", x1=1.0, **RUN)
    second = simulate(rescaled(plain, 0.1, 1.0), "fedavg", x1=1.0, **RUN)
    ratio = second.grad_sq / (0.1**2 * first.grad_sq)
    assert (np.abs(ratio - 1) > 0.05).all()


def test_which_bounds_are_scale_free() -> None:
    """All but the two whose step or batch is a number without the units of L."""
    s, r = 3.0, 0.7
    plain = Setting(T=10**8, K=4, b=8.0, I=4, L=1.5, sigma=0.6, zeta=0.8, gap=2.0)
    other = replace(plain, L=1.5 * s / r**2, sigma=0.6 * s / r, zeta=0.8 * s / r, gap=2.0 * s)
    free = {
        name
        for name in BOUNDS
        if math.isclose(
            evaluate(name, other).value, (s / r) ** 2 * evaluate(name, plain).value, rel_tol=1e-9
        )
    }
    assert set(BOUNDS) - free == {"fedavg-theorem", "minibatch-sgd"}

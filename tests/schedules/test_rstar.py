"""The steps of Theorem R*: the page's numbers, every part, and what the schedule asks of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stemtheory.moments import moments
from stemtheory.oracles import load_problem
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import RSTAR_STEPS, RStar, make_schedule
from stemtheory.simulator import Run, simulate
from tests.helpers.rstar_page import PAGE

QUIET: dict[str, Any] = {"K": 2, "dim": 1, "replicates": 2}
# The columns eta and a of the table of section 2, times L and bK, by I.
COLUMNS: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "a": (lambda I: 1 / (4 * I), lambda I: 3 / (8 * I**2)),
    "b": (lambda I: 1 / (4 * I), lambda I: 3 / (8 * I**2)),
    "c": (lambda I: 1 / (4 * I), lambda I: 3 / (8 * I**2)),
    "d": (lambda I: 1 / (3 * I), lambda I: 1 / (2 * I**2)),
    "e": (lambda I: 1 / (5 * I), lambda I: 2 / (5 * I**2)),
}


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize(("L", "K", "b", "I"), [(1.5, 3, 2.0, 7), (0.3, 1, 1.0, 2), (1, 16, 4, 1)])
def test_steps_are_those_of_the_table_at_every_t(
    part: str, L: float, K: int, b: float, I: int
) -> None:
    eta, a = COLUMNS[part]
    at: dict[str, Any] = {"T": 90, "K": K, "b": b, "I": I, "L": L, "sigma": 0.5}
    made = make_schedule("rstar", algorithm="stem", part=part, **at)
    assert isinstance(made, RStar)
    t = np.arange(1, 50)
    assert made.eta(t) == pytest.approx(np.full(49, eta(I) / L))
    assert made.momentum(t) == pytest.approx(np.full(49, a(I) / (b * K)))
    assert made.momentum(t) == pytest.approx(
        PAGE[part].c0 * L**2 / (b * K) * made.eta(t - 1) ** 2  # a = c eta^2
    )
    assert made.momentum(1) <= 0.5
    assert made.sync_batch == math.ceil(I / PAGE[part].M)


def test_the_default_part_is_b_and_it_takes_a_part_by_name_only() -> None:
    at: dict[str, Any] = {"T": 9, "K": 2, "b": 1, "I": 3, "L": 1, "sigma": 0.5}
    assert make_schedule("rstar", algorithm="stem", **at) == RStar(1, 2, 1, 3, "b")
    with pytest.raises(UsageError, match=r"part' 'f' is unknown; known are a, b, c, d, e"):
        make_schedule("rstar", algorithm="stem", part="f", **at)
    with pytest.raises(UsageError, match="part' 2 is unknown"):
        make_schedule("rstar", algorithm="stem", part=2, **at)
    with pytest.raises(UsageError, match="STEM's alone"):
        make_schedule("rstar", algorithm="fedavg", **at)
    with pytest.raises(UsageError, match="known are part"):
        make_schedule("rstar", algorithm="stem", eta=0.1, **at)


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("I", [1, 8, 9, 250])
def test_a_run_takes_the_sync_batch_of_its_steps(part: str, I: int) -> None:
    """Unless one is given, which is then run; the moments are of the same run."""
    own: dict[str, Any] = {"schedule": "rstar", "schedule_options": {"part": part}}
    run = Run.of("quadratic", "stem", T=I, b=1, I=I, **own, **QUIET)
    m = math.ceil(I / PAGE[part].M)
    assert run.algorithm.settled["sync_batch"] == m
    assert Run.from_json(run.to_json()) == run
    given = Run.of("quadratic", "stem", T=I, b=1, I=I, sync_batch=1, **own, **QUIET)
    assert given.algorithm.settled["sync_batch"] == 1
    assert (given == run) == (m == 1)
    assert given.schedule == run.schedule
    theorem = Run.of("quadratic", "stem", T=I, b=1, I=I, **QUIET)
    assert theorem.algorithm.settled["sync_batch"] == 1


def test_algorithms_without_a_sync_batch_take_the_steps_alone() -> None:
    run = Run.of("quadratic", "mimemvr", T=64, b=1, I=16, schedule="rstar", **QUIET)
    assert "sync_batch" not in run.algorithm.settled
    assert float(run.steps.eta(1)) == 1 / 64


def test_moments_and_runs_are_of_the_same_algorithm() -> None:
    """I = 24 with part (b): m = 3, in counts and in the value; exact against 4000 runs."""
    own: dict[str, Any] = {"K": 2, "dim": 1, "zeta": 1.0, "sigma": 0.5, "noise": "additive"}
    asked: dict[str, Any] = {"T": 96, "b": 1, "I": 24, "schedule": "rstar", "x1": 0.5}
    problem = load_problem("quadratic", heterogeneity="tilt", **own)
    exact = moments(problem, "stem", **asked)
    seen = simulate(problem, "stem", replicates=4000, seed=3, **asked)
    assert exact.counts.samples_per_worker == seen.counts.samples_per_worker
    assert exact.counts.samples_per_worker == 24 + 2 * 96 + 2 * 2 * 3
    # false alarm P(|z| > 4) < 1e-4
    assert abs((seen.mean_grad_sq or 0) - exact.mean_grad_sq) < 4 * (seen.stderr or math.nan)
    without = moments(problem, "stem", sync_batch=1, **asked)
    assert without.mean_grad_sq != exact.mean_grad_sq


def test_the_parts_that_share_their_steps() -> None:
    same = [
        (one, other)
        for one in PAGE
        for other in PAGE
        if one < other and RSTAR_STEPS[one].same(RSTAR_STEPS[other])
    ]
    assert same == [("a", "b"), ("a", "c"), ("b", "c")]

"""FedAvg's claims: the recorded run, closed forms by hand and by resampling, and the rates."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms.base import mean_over_workers
from stemtheory.bounds import BOUNDS, Setting
from stemtheory.claims.base import Comparison, dials
from stemtheory.claims.checking import check
from stemtheory.claims.evidence.fedavg_path import FedAvgPath, kept, record_fedavg, shared
from stemtheory.claims.judge import critical
from stemtheory.claims.ledger import claims
from stemtheory.claims.paper.fedavg import fedavg_case, noisy_cases, run_cases
from stemtheory.claims.paper.fedavg_rates import at_accuracy, many_workers, speed_up_beyond
from stemtheory.runtime import Verdict
from stemtheory.simulator.stepwise import gaussian_draw


def compared(name: str, subject: Any, **other: Any) -> Comparison:
    """Both sides of a claim."""
    compare = claims()[name].compare
    assert compare is not None
    return compare(subject, **other)


COMMON = dials(sigma=0.5, zeta=1.0)


@pytest.fixture(scope="module")
def path() -> FedAvgPath:
    return record_fedavg(fedavg_case("cosine", 4, 2, 2, 4, 3, COMMON))


def test_the_mean_takes_the_mean_step(path: FedAvgPath) -> None:
    """xbar_{t+1} = xbar_t - eta dbar_t, at synchronisations too."""
    moved = path.xbar[path.t] - path.eta * path.dbar[path.t]
    assert path.xbar[path.t + 1] == pytest.approx(moved, rel=1e-13, abs=1e-15)


def test_workers_agree_at_the_start_of_every_round(path: FedAvgPath) -> None:
    assert path.X[[1, 5, 9, 13]] == pytest.approx(0.0, abs=1e-30)
    assert path.X[[2, 3, 4, 6]].min() > 1e-6


def test_the_expected_value_is_the_resampled_one(path: FedAvgPath) -> None:
    """20000 fresh minibatches at t = 3, one replicate; |z| < 4.5: false alarms 7e-6."""
    n, t = 20_000, 3
    x = np.broadcast_to(path.p[t, 0], (n, *path.p.shape[2:]))
    minibatch = gaussian_draw(path.problem, seed=77, replicates=n)(0, path.case.b)
    d = mean_over_workers(path.problem.stochastic_gradient(x, minibatch))
    values = path.problem.value(path.xbar[t, 0] - path.eta * d)
    z = (values.mean() - path.next_value[t, 0]) / (values.std(ddof=1) / math.sqrt(n))
    assert abs(z) < 4.5


def test_the_expected_value_of_a_quadratic() -> None:
    """E f(xbar - eta dbar) = f(xbar - eta gbar) + h eta^2 sigma^2/(2 bK)."""
    made = dials(h=0.7, L=0.7, sigma=2.0, zeta=0.0, noise="additive")
    path = record_fedavg(fedavg_case("quadratic", 3, 2, 5, 2, 2, made))
    centre = path.problem.value(path.xbar[path.t] - path.eta * path.gbar[path.t])
    expected = centre + 0.7 * path.eta**2 * 4.0 / (2 * 5 * 3)
    assert path.next_value[path.t] == pytest.approx(expected, rel=1e-12)


def test_noise_fills_half_of_the_descent_lemma() -> None:
    """At the minimum of a quadratic with curvature L the sharp constant of the noise is 1/2."""
    made = dials(sigma=1.0, zeta=0.0, noise="additive")
    path = record_fedavg(fedavg_case("quadratic", 2, 1, 1, 8, 1, made, x1=0.0))
    sides = compared("F3", path)
    assert sides.left[0] == pytest.approx(sides.right[0] / 2, rel=1e-9)


def test_tilted_workers_drift_as_the_recursion_says() -> None:
    """Deviations obey u_{t+1} = (1 - eta h) u_t - eta zeta/2, from 0 at every synchronisation."""
    made = dials(h=0.5, L=0.5, sigma=0.0, zeta=2.0, heterogeneity="tilt")
    path = record_fedavg(fedavg_case("quadratic", 4, 1, 1, 5, 2, made))
    u, total = 0.0, 0.0
    for _ in range(5):
        total += u * u
        u = (1 - path.eta * 0.5) * u - path.eta
    sides = compared("F2-R", path.case)
    assert sides.left == pytest.approx([total, total], rel=1e-9)
    assert sides.right[0] == pytest.approx(5 * path.eta**2 * 4**2 * 4.0 * 5, rel=1e-9)


def test_the_variance_is_an_equality_and_independence_matters() -> None:
    """Under the paper's claim |z| stays below the ledger's limit; shared noise is K times more."""
    case = noisy_cases("quick")[2]
    honest = compared("F1", case)
    limit = critical(honest.dof, two_sided=True)
    assert abs(honest.left[0] - honest.right[0]) < limit * honest.spread[0]
    together = compared("F1", case, run=partial(record_fedavg, spoiled=shared))
    assert together.left[0] == pytest.approx(case.K * honest.right[0], rel=0.3)


def test_noises_of_a_round_do_not_correlate() -> None:
    """(I - 1) sigma^2/b as martingale differences; a kept minibatch gives (I - 1)^2 sigma^2/b."""
    case = noisy_cases("quick")[2]
    honest = compared("F2a", case)
    assert honest.right[0] == pytest.approx(3 * 0.25 / 2.5)
    assert honest.left[0] == pytest.approx(honest.right[0], rel=0.15)
    again = compared("F2a", case, run=partial(record_fedavg, spoiled=kept))
    assert again.left[0] == pytest.approx(3 * honest.right[0], rel=0.15)


def test_the_theorem_names_its_unmet_premise() -> None:
    row = check(claims()["F4"])[0]
    assert row.verdict == Verdict.HOLDS
    assert row.unmet == ("T >= 81 L^2 I^2 b K",)
    assert row.cells["inapplicable"] == 1
    assert row.cells["holds"] >= 4
    assert len(run_cases("quick")) == sum(row.cells.values())


def test_minibatch_sgd_beats_the_curve() -> None:
    """eps = 1e-4, L = gap = sigma = zeta = K = 1: 3.6e5 rounds at I = 1, over 1e7 at I = 2."""

    def least_rounds(I: int) -> float:
        best = math.inf
        for b in np.geomspace(1, 1e6, 121):
            found = fewest_steps(float(b), I)
            best = min(best, found / I)
        return best

    def fewest_steps(b: float, I: int) -> float:
        low, high = 81 * I**2 * b, 1e16
        for _ in range(80):
            middle = math.sqrt(low * high)
            s = Setting(middle, 1, b, I, 1.0, 1.0, 1.0, 1.0)
            if sum(BOUNDS["fedavg-theorem"].terms(s).values()) <= 1e-4:
                high = middle
            else:
                low = middle
        return high

    assert least_rounds(1) == pytest.approx(3.6e5, rel=0.03)
    assert least_rounds(2) == pytest.approx(1.5e7, rel=0.05)
    assert at_accuracy("minibatch-sgd", 1e-4, 1, nu=0.0).rounds == pytest.approx(3.6e5, rel=0.01)


def test_beyond_t_to_the_third_workers() -> None:
    """At b = I = 1 the bound falls as K^{-1/2}; as an upper bound the stated rate survives."""
    sides = speed_up_beyond(Fraction(1, 2))
    assert sides.left == pytest.approx([-0.5, -1.0], abs=1e-3)
    assert sides.right == pytest.approx([-0.25, 0.0])
    compare = claims()["F5-K3-O"].compare
    assert compare is not None
    upper = compare(many_workers("quick")[2])
    assert len(upper.left) == 21
    assert np.all(upper.left <= upper.right * (1 + 1e-12))

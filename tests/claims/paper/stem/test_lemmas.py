"""The lemmas of STEM's proof: numbers known from independent runs, and closed forms against
resampling at frozen states.

Statistical tests compare at 5 standard errors: a false alarm has probability 6e-7 per comparison,
and there are fewer than 100 of them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms.base import Step, mean_over_workers
from stemtheory.algorithms.stem import Stem, StemState
from stemtheory.claims.base import ALL_READINGS, Case, Comparison, dials
from stemtheory.claims.evidence.brackets import brackets, innovation, single
from stemtheory.claims.evidence.closed_forms import apart_gradients, growth
from stemtheory.claims.evidence.counterexamples import DRIFTED, far, opposed, tilted
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import square
from stemtheory.claims.evidence.scenes import scene_of
from stemtheory.claims.language import letters
from stemtheory.claims.ledger import claims
from stemtheory.claims.paper.preliminary import noisy_cases
from stemtheory.claims.paper.stem.contraction import J
from stemtheory.runtime import Floats

RESAMPLES = 20_000
STATES = (
    Case("cosine", 2, 2, 2, 4, 2, replicates=1, seed=1),
    Case("geman_mcclure", 3, 2, 1, 3, 2, dials(noise="modulated"), replicates=1, seed=2),
    Case("cosine", 4, 3, 2.5, 2, 2, dials(noise="additive", rotate=True), replicates=1, seed=3),
)


def sides(name: str, path: Path) -> Comparison:
    """Return both sides of a claim on a recorded run."""
    compare = claims()[name].compare
    assert compare is not None
    return compare(path)


# --- the counterexamples, by the numbers ----------------------------------------------------


def test_accumulation_fails_at_the_start_of_a_literal_round() -> None:
    c = sides("M1", record(DRIFTED))
    assert c.left[8, 0] == pytest.approx(2.004e-7, rel=3e-4)
    assert c.right[8, 0] == 0
    strong = replace(DRIFTED, schedule="constant", options=dials(eta=1 / (128 * 0.95), a=0.5))
    path = record(replace(strong, x1=0.19861))
    assert path.X[9, 0] == pytest.approx(3.232e-3, rel=1e-3)
    assert path.f[10, 0] == pytest.approx(1.9552e-3, rel=1e-4)


def test_accumulation_is_an_equality_for_two_literal_steps() -> None:
    c = sides("M1-L", record(replace(DRIFTED, I=2, rounds=3)))
    assert c.left[1:] == pytest.approx(c.right[1:], rel=1e-9)
    assert np.all(c.left[1::2] > 0)


def test_descent_fails_at_the_start_of_a_literal_round() -> None:
    path = record(replace(DRIFTED, x1=0.00190907858))
    c = sides("M2", path)
    left, excess = path.f[10, 0], c.left[8, 0] - c.right[8, 0]
    assert left == pytest.approx(1.80439699e-7, rel=1e-8)
    assert left - excess == pytest.approx(1.80291311e-7, rel=1e-8)
    assert excess > 0


@pytest.mark.parametrize(
    ("K", "b", "I", "ratio"),
    [(8, 64, 16, 16.0), (4, 64, 16, 7.63), (8, 64, 8, 3.33), (2, 512, 8, 7.0), (4, 4, 64, 6.1)],
)
def test_contraction_fails_where_the_own_point_is_overwritten(
    K: int, b: float, I: int, ratio: float
) -> None:
    c = sides("M3", record(opposed(K, b, I)))
    assert c.left[I - 1, 0] / c.right[I - 1, 0] == pytest.approx(ratio, rel=1e-2)


def test_contraction_under_overwrite_by_the_digits() -> None:
    c = sides("M3", record(opposed(8, 64, 16)))
    assert c.left[15, 0] == pytest.approx(1.922e-10, rel=5e-4)
    assert c.right[15, 0] == pytest.approx(1.198e-11, rel=5e-4)
    c = sides("M3", record(opposed(4, 2, 8)))
    assert c.left[7, 0] / c.right[7, 0] == pytest.approx(0.25, rel=2e-2)


@pytest.mark.parametrize(("I", "left"), [(2, 1.94e-8), (8, 1.57e-8)])
def test_contraction_fails_at_the_literal_jump(I: int, left: float) -> None:
    c = sides("M3", record(tilted("literal", I)))
    assert c.left[I].mean() == pytest.approx(left, rel=5e-3)
    assert np.all(c.left[I] > 100 * c.right[I])


@pytest.mark.parametrize(("I", "ratio"), [(8, 0.51), (12, 1.93), (16, 4.43), (32, 24.6)])
def test_contraction_fails_at_the_average_first_jump_of_long_rounds(I: int, ratio: float) -> None:
    c = sides("M3", record(tilted("average-first", I)))
    found = c.left[I - 1] / c.right[I - 1]
    assert found == pytest.approx(ratio, rel=6e-2)


@pytest.mark.parametrize(("I", "ratio"), [(128, 0.746), (256, 2.42), (512, 8.65)])
def test_consensus_fails_after_a_long_literal_round(I: int, ratio: float) -> None:
    c = sides("M5", record(far(I)))
    assert c.left[I, 0] / c.right[I, 0] == pytest.approx(ratio, rel=2e-3)


def test_consensus_by_the_digits() -> None:
    c = sides("M5", record(far(256)))
    assert (c.t[256, 0], c.where[256, 0]) == (258, "sync")
    assert c.left[256, 0] == pytest.approx(5.64e-10, rel=1e-3)
    assert c.right[256, 0] == pytest.approx(2.33e-10, rel=1e-3)


def drift_after_a_round(I: int) -> tuple[float, float, float]:
    """Return (Dl, eta, a) one step into the second round of ``far(I)``, by its scalar recursion."""
    eta = 1 / (16 * I)
    a = (64 + 1 / (48 * I)) / 2 * eta * eta
    x = d = 0.0  # deviations of the first worker's x and d; the second's are the opposite
    for _ in range(I):
        old, x = x, x - eta * d
        d = (x + 1) + (1 - a) * (d - (old + 1))
    return 2 * (1 - (1 - a) * (x + 1)) ** 2, eta, a


def test_scalar_recursion_is_the_run() -> None:
    path, (drift, eta, a) = record(far(256)), drift_after_a_round(256)
    assert path.Dl[258, 0] == pytest.approx(drift, rel=1e-6)
    assert (path.eta[257], path.a[258]) == pytest.approx((eta, a), rel=1e-12)


def test_one_step_bound_fails_in_very_long_literal_rounds() -> None:
    """beta = 1/I: the lemma from about I = 65536, its simplified form from about I = 70000."""
    K, zeta = 2, 2.0
    drift, eta, a = drift_after_a_round(65536)
    lemma = 8 * K * zeta**2 * (1 + 65536) * a**2
    assert drift == pytest.approx(6.82e-15, rel=1e-3)
    assert lemma == pytest.approx(3.55e-15, rel=1e-3)
    assert drift < K * zeta**2 * a**2 / eta  # c^2 eta^3 = a^2/eta
    drift, eta, a = drift_after_a_round(131072)
    assert drift > 1.9 * K * zeta**2 * a**2 / eta


def test_one_step_simplified_form_at_its_terms() -> None:
    """At dbar = 0, sigma = 0 and Dl_{t-1} = 0 only the zeta term is left."""
    c, path = sides("M6b", record(far(256))), record(far(256))
    zeta_term = 2 * 4 * path.a[258] ** 2 / path.eta[257]
    assert c.right[256, 0] == pytest.approx(zeta_term, rel=1e-6)


@pytest.mark.parametrize(
    ("case", "t"),
    [(opposed(8, 64, 64), 64), (tilted("literal", 8), 9), (tilted("average-first", 64), 64)],
)
def test_potential_descent_fails_at_synchronisations(case: Case, t: int) -> None:
    c = sides("M4", record(case))
    assert np.all(c.left[t - 1] > 2 * c.right[t - 1])
    before = c.left[: t - 1] <= c.right[: t - 1]
    assert np.all(before)


# --- formulas -------------------------------------------------------------------------------


def test_sums_restart_with_the_round() -> None:
    path = record(replace(DRIFTED, I=3, rounds=2))
    scene, l = scene_of(path), letters.l
    total = letters.sum_t(l, letters.start, letters.t, l)
    found = scene.evaluation.value(total, scene.times(letters.t))
    assert found.ravel().tolist() == [1, 3, 6, 4, 9, 15]


@pytest.mark.parametrize("reading", ALL_READINGS)
def test_the_distance_of_the_two_points_splits_exactly(reading: str) -> None:
    for case in STATES:
        path = record(replace(case, reading=reading))
        scene = scene_of(path)
        found = scene.evaluation.value(J, scene.times(letters.t))[..., 0, 0]
        moved = square(path.fresh - path.stale).sum(axis=-1)[path.t + 1]
        assert found == pytest.approx(moved, rel=1e-9)


@pytest.mark.parametrize("reading", ALL_READINGS)
def test_the_algorithm_uses_the_minibatch_it_should(reading: str) -> None:
    for case in STATES:
        path = record(replace(case, reading=reading, replicates=3))
        t = path.t
        assert np.allclose(brackets(path)[t], innovation(path)[t], rtol=0, atol=1e-13)
        assert not np.allclose(brackets(path, lag=1)[t], innovation(path)[t], rtol=0, atol=1e-3)


def test_hand_computed_contraction() -> None:
    """Two workers, x^2/2 +- x, sigma = 0, two steps a round, from x = 1: eta = 1/32."""
    case = Case("quadratic", 2, 1, 1, 2, 1, dials(h=1.0, zeta=2.0, heterogeneity="tilt", sigma=0.0))
    path = record(replace(case, replicates=1))
    c = sides("M3", path)
    a = (64 + 1 / 96) / 2 / 1024
    x2 = 1 - 1 / 32  # d_1 = 1 for both, so x_2 = 31/32 for both
    d2 = np.array([x2 + 1, x2 - 1]) + (1 - a) * (1 - np.array([2.0, 0.0]))
    assert path.d[2, 0, :, 0] == pytest.approx(d2, rel=1e-12)
    drift, mean = 2 * ((d2[0] - d2[1]) / 2) ** 2, d2.mean() ** 2
    assert drift == pytest.approx(2 * a**2, rel=1e-9)
    wanted = (1 - a) ** 2 / 1024 * (8 / 4 * 0.5 * drift + 4 / 2 * mean)
    assert c.right[1, 0] == pytest.approx(wanted, rel=1e-9)
    assert c.left[1, 0] == 0


# --- closed forms against resampling at frozen states -----------------------------------------


def resampled(path: Path, t: int) -> Floats:
    """Return local d_{t+1} for fresh minibatches at the frozen state: [RESAMPLES, K, dim]."""
    case, problem = path.case, path.problem
    shape = (RESAMPLES, case.K, case.dim)
    x, d, p = (np.broadcast_to(v[t, 0], shape) for v in (path.fresh, path.d, path.p))
    if (t - 1) % case.I == 0 and t > 1:  # the step starts from the mean
        x = np.broadcast_to(path.xbar[t, 0], shape)
    stream = np.random.default_rng(100 * t + case.seed)
    xi = problem.draw(stream, (RESAMPLES,), case.b, np.dtype(np.float64))
    step = Step(t, float(path.eta[t]), float(path.a[t + 1]), t % case.I == 0)
    state = StemState(x, d, problem.evaluate(p))
    return np.asarray(Stem(case.reading).local_step(problem, state, step, xi).d)


def near(values: Floats, wanted: Any) -> bool:
    """Whether the mean over axis 0 is within 5 standard errors of what is wanted."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return bool(np.all(np.abs(values.mean(axis=0) - wanted) <= 5 * error + 1e-15))


@pytest.mark.parametrize("reading", ALL_READINGS)
@pytest.mark.parametrize("case", STATES, ids=lambda case: case.short())
def test_conditional_moments_are_those_of_resampling(case: Case, reading: str) -> None:
    path = record(replace(case, reading=reading))
    for t in (1, case.I, case.I + 1):
        d = resampled(path, t)
        dbar = mean_over_workers(d)
        keep = 1 - path.a[t + 1]
        error = dbar - mean_over_workers(path.g[t + 1, 0])
        excess = square(error) - keep**2 * square(path.ebar[t, 0])
        assert near(excess, growth(path)[t - 1, 0])
        if t % case.I:
            drift = square(d - dbar[:, None, :]).sum(axis=-1)
            assert near(drift, path.expected_drift[t, 0])
            assert not near(drift, 1.2 * path.expected_drift[t, 0])


@pytest.mark.parametrize("case", STATES, ids=lambda case: case.short())
def test_spread_of_minibatch_gradients_is_that_of_resampling(case: Case) -> None:
    path = record(case)
    t = case.I + 1
    stream = np.random.default_rng(7)
    xi = path.problem.draw(stream, (RESAMPLES,), case.b, np.dtype(np.float64))
    g = path.problem.stochastic_gradient(
        np.broadcast_to(path.p[t, 0], (RESAMPLES, case.K, case.dim)), xi
    )
    found = square(g - mean_over_workers(g)[:, None, :]).sum(axis=-1)
    assert near(found, apart_gradients(path)[t, 0])
    assert not near(found, 1.2 * apart_gradients(path)[t, 0])


def test_a_minibatch_of_singles_has_the_variance_of_the_mean() -> None:
    path = record(noisy_cases("quick")[0])
    t, b = 3, 4
    mean = sum(
        path.problem.stochastic_gradient(path.p[t], single(path, t, which)) for which in range(b)
    )
    noise = mean / b - path.problem.gradient(path.p[t])
    variance = path.problem.noise_variance(path.p[t]) / b
    assert near(square(noise) - variance, 0.0)

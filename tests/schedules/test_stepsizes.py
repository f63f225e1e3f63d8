"""STEM's schedules against the printed formulas, and every arithmetic fact about them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import (
    Calibrated,
    Constant,
    Practical,
    Theorem,
    stem_curve,
)

# (L, K, b, I): the two smallest reach their decaying phase within 2^17 steps.
GRID = [
    (1.0, 1, 1.0, 1),
    (0.3, 2, 1.0, 1),
    (2.0, 1, 3.0, 1),
    (1.0, 2, 1.0, 2),
    (0.8, 4, 2.5, 4),
    (1.0, 100, 8.0, 61),
]


STEPS = np.unique(np.concatenate([np.arange(0, 5000), np.geomspace(1, 1e15, 400).round()]))


Array = NDArray[np.float64]


def printed_w(t: Array, L: float, K: int, b: float, I: int, sigma: float) -> Array:
    """w_t as the paper prints it."""
    kbar3 = (b * K) ** 2 * sigma**2 / L**3
    c = printed_c(L, K, b, I)
    top = 4096 * L**3 * I**3 * kbar3
    floor = c**3 * kbar3 / (4096 * L**3 * I**3)
    return np.asarray(np.maximum(np.maximum(2 * sigma**2, top - sigma**2 * t), floor))


def printed_c(L: float, K: int, b: float, I: int) -> float:
    return L**2 * (64 / (b * K) + 1 / (24 * (b * K) ** 2 * I))


def printed_eta(t: Array, L: float, K: int, b: float, I: int, sigma: float) -> Array:
    """eta_t = kbar/(w_t + sigma^2 t)^{1/3}, with w_t as printed."""
    kbar = (b * K) ** (2 / 3) * sigma ** (2 / 3) / L
    return np.asarray(kbar / np.cbrt(printed_w(t, L, K, b, I, sigma) + sigma**2 * t))


def three_branches(
    t: Array,
    L: float,
    K: int,
    b: float,
    I: int,
    cap: float = 16,
    shift: float = 2,
    cube: float = 4096,
) -> Array:
    """The same, sigma cancelled, before the two slow branches are merged."""
    c = printed_c(L, K, b, I)
    slow = (b * K) ** (2 / 3) / (L * np.cbrt(t + shift))
    slowest = (c**3 / (cube * L**3 * I**3) + t * L**3 / (b * K) ** 2) ** (-1 / 3)
    return np.asarray(np.minimum(np.minimum(1 / (cap * L * I), slow), slowest))


@pytest.mark.parametrize("setting", GRID)
@pytest.mark.parametrize("sigma", [1e-3, 0.5, 7.0])
def test_theorem_eta_is_the_printed_formula(
    setting: tuple[float, int, float, int], sigma: float
) -> None:
    np.testing.assert_allclose(
        Theorem(*setting).eta(STEPS), printed_eta(STEPS, *setting, sigma), rtol=1e-12
    )


@pytest.mark.parametrize("setting", GRID)
def test_theorem_eta_is_the_minimum_of_three_branches(
    setting: tuple[float, int, float, int],
) -> None:
    np.testing.assert_allclose(
        Theorem(*setting).eta(STEPS), three_branches(STEPS, *setting), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("K", "cap", "shift", "cube"), [(1, 15.9, 2, 4096), (40, 16, 3, 4096), (1, 16, 2, 4095)]
)
def test_a_wrong_constant_in_eta_is_rejected(K: int, cap: float, shift: float, cube: float) -> None:
    """Each branch is active somewhere: the last at bK = 1, the second where bK I^3 > 33."""
    setting = (1.0, K, 1.0, 1)
    mutant = three_branches(STEPS, *setting, cap, shift, cube)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(Theorem(*setting).eta(STEPS), mutant, rtol=1e-13)


@pytest.mark.parametrize("setting", GRID)
def test_w_and_eta_never_increase(setting: tuple[float, int, float, int]) -> None:
    w = printed_w(STEPS, *setting, 0.5)
    assert np.all(np.diff(w) <= 0)
    eta = Theorem(*setting).eta(STEPS)
    assert np.all(np.diff(eta) <= 0)
    assert np.all(eta <= 1 / (16 * setting[0] * setting[3]))
    assert np.all(eta > 0)


@pytest.mark.parametrize("setting", GRID)
def test_c_is_at_most_128_and_its_true_maximum_is_64_04(
    setting: tuple[float, int, float, int],
) -> None:
    L, K, b, I = setting
    schedule = Theorem(*setting)
    assert schedule.c == pytest.approx(printed_c(L, K, b, I), rel=1e-14)
    assert schedule.c <= 128 * L**2 / (b * K)
    assert schedule.c_b <= Theorem(1.0, 1, 1.0, 1).c_b == 64 + 1 / 24


@pytest.mark.parametrize("setting", GRID)
def test_printed_bounds_on_w(setting: tuple[float, int, float, int]) -> None:
    L, K, b, I = setting
    sigma = 0.5
    kbar3 = (b * K) ** 2 * sigma**2 / L**3
    w = printed_w(STEPS, *setting, sigma)
    middle = 4096 * I**3 * (b * K) ** 2 - STEPS
    assert np.all(
        w <= sigma**2 * np.maximum(np.maximum(2, middle), 512 / (b * K * I**3)) * (1 + 1e-14)
    )
    assert np.all(w <= 4096 * L**3 * I**3 * kbar3 * (1 + 1e-14))


@pytest.mark.parametrize("setting", GRID)
def test_momentum_is_c_eta_squared_one_step_before(
    setting: tuple[float, int, float, int],
) -> None:
    _, K, b, I = setting
    schedule = Theorem(*setting)
    a = schedule.momentum(STEPS + 1)
    np.testing.assert_allclose(a, schedule.c * schedule.eta(STEPS) ** 2, rtol=1e-14)
    assert np.all(a > 0)
    assert np.all(a <= 64.05 / (256 * b * K * I**2))
    assert np.all(a <= 0.2502)
    assert np.all((1 - a) ** 2 <= 1 - a)
    assert a[1] == pytest.approx((1 + 1 / (1536 * b * K * I)) / (4 * b * K * I**2), rel=1e-13)


@pytest.mark.parametrize("setting", GRID)
def test_step_difference_chain(setting: tuple[float, int, float, int]) -> None:
    """1/eta_t - 1/eta_{t-1} <= ... <= sigma^2 eta_t/(24 kbar^3 L I), link by link, t >= 1."""
    L, K, b, I = setting
    schedule = Theorem(*setting)
    end = schedule.constant_phase_end
    t = np.unique(np.concatenate([np.arange(1, 3000), end + np.arange(2, 3000)]))
    s2, kbar3 = 0.25, (b * K) ** 2 * 0.25 / L**3
    kbar = np.cbrt(kbar3)
    before = printed_w(t - 1, *setting, 0.5) + s2 * (t - 1)
    now = printed_w(t, *setting, 0.5) + s2 * t
    eta = schedule.eta(t)
    links = [
        1 / eta - 1 / schedule.eta(t - 1),
        (np.cbrt(now) - np.cbrt(before)) / kbar,
        s2 / (3 * kbar * np.cbrt(before) ** 2),
        2 ** (2 / 3) * s2 / (3 * kbar3) * eta**2,
        s2 / (24 * kbar3 * L * I) * eta,
    ]
    rounding = 1e-12 / eta
    for left, right in itertools.pairwise(links):
        assert np.all(left <= right + rounding)
    contraction = links[0] - schedule.c * eta
    assert np.all(contraction <= -64 * L**2 / (b * K) * eta + rounding)
    assert 2 ** (2 / 3) / 48 <= 1 / 24


@pytest.mark.parametrize("setting", GRID)
def test_constant_phase_ends_where_it_says(setting: tuple[float, int, float, int]) -> None:
    L, _, _, I = setting
    schedule = Theorem(*setting)
    end = np.floor(schedule.constant_phase_end)
    # At the end itself the two branches meet, so the last digit is a matter of rounding.
    assert float(schedule.eta(end)) == pytest.approx(1 / (16 * L * I), rel=1e-15)
    assert float(schedule.eta(0.999 * end)) == 1 / (16 * L * I)
    assert float(schedule.eta(0)) == 1 / (16 * L * I)
    later = float(schedule.eta(np.floor(end * (1 + 1e-9)) + 2))
    assert later < 1 / (16 * L * I)


def test_constant_phase_length_of_the_smallest_settings() -> None:
    assert Theorem(1.0, 1, 1.0, 1).constant_phase_end == pytest.approx(4031.9, abs=0.1)
    assert Theorem(1.0, 2, 1.0, 1).constant_phase_end == pytest.approx(16351.9, abs=0.1)
    assert Theorem(1.0, 8, 8.0, 1).constant_phase_end == 4096 * 64**2 - 2


@pytest.mark.parametrize("setting", GRID)
def test_sum_of_cubes_against_brute_force(setting: tuple[float, int, float, int]) -> None:
    schedule = Theorem(*setting)
    T = 200_000
    cubes = np.cumsum(schedule.eta(np.arange(1, T + 1)).astype(np.longdouble) ** 3)
    ends = np.array([1, 2, 100, 4031, 4032, 4033, 16351, 16352, 65_536, T])
    np.testing.assert_allclose(
        schedule.sum_eta_cubed(ends), cubes[ends - 1].astype(np.float64), rtol=1e-13
    )


def test_sum_of_cubes_is_below_the_printed_logarithm() -> None:
    for L, K, b, I in GRID:
        T = np.geomspace(1, 1e18, 60)
        total = Theorem(L, K, b, I).sum_eta_cubed(T)
        assert np.all(total <= (b * K) ** 2 / L**3 * np.log(T + 1))
        assert np.all(np.diff(total) > 0)


def test_sum_of_cubes_of_a_huge_run_continues_the_logarithm() -> None:
    """From 1e15 to 1e18 the sum grows by the logarithm of 1000, in units of (bK)^2/L^3."""
    schedule = Theorem(1.0, 1, 1.0, 1)
    growth = schedule.sum_eta_cubed(1e18) - schedule.sum_eta_cubed(1e15)
    assert float(growth) == pytest.approx(np.log(1000), rel=1e-12)


@pytest.mark.parametrize("nu", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("K", [1, 4, 30])
def test_theorem_schedule_is_constant_on_its_own_curve(nu: float, K: int) -> None:
    for T in np.geomspace(1e3, 1e15, 25):
        I, b, _ = stem_curve(T, K, nu)
        schedule = Theorem(1.0, K, b, I)
        assert T < schedule.constant_phase_end
        assert float(schedule.eta(T)) == 1 / (16 * I)


@pytest.mark.parametrize(
    ("setting", "constants"),
    [((2.0, 2, 3.0, 4), (2.0, 256.0, 1 / 16)), ((0.6, 5, 1.0, 3), (3.0, 90.0, 0.125))],
)
def test_calibrated_formula_and_clipping(
    setting: tuple[float, int, float, int], constants: tuple[float, float, float]
) -> None:
    """The first constants are the default ones."""
    (L, K, b, I), (C1, C2, C3) = setting, constants
    schedule = Calibrated(*setting, *(constants if L < 1 else ()))
    t = np.array([0.0, 1.0, 10.0, 1e4, 1e12])
    with np.errstate(divide="ignore"):
        decaying = C3 * (b * K) ** (2 / 3) / (L * np.cbrt(t))
    eta = np.minimum(1 / (C1 * L * I), decaying)
    assert eta[-1] < eta[0]
    np.testing.assert_allclose(schedule.eta(t), eta, rtol=1e-13)
    np.testing.assert_allclose(
        schedule.momentum(t + 1), np.minimum(1, C2 * L**2 * eta**2 / (b * K)), rtol=1e-9
    )
    assert np.max(Calibrated(1.0, 1, 1.0, 1).momentum([1, 2, 3])) == 1


def test_calibrated_refuses_momentum_that_never_damps() -> None:
    with pytest.raises(UsageError, match=r"C2\*C3\^2"):
        Calibrated(1.0, 1, 1.0, 1, C1=2, C2=4, C3=1 / 16)
    assert Calibrated(1.0, 1, 1.0, 1, C2=256, C3=1 / 16).C2 == 256


@pytest.mark.parametrize(
    ("given", "kappa", "cbar", "sigma"),
    [({"kappa": 0.25, "cbar": 4.0}, 0.25, 4.0, 0.5), ({"sigma": 1.5}, 0.1, 1.0, 1.5)],
)
def test_practical_formula_and_clipping(
    given: dict[str, float], kappa: float, cbar: float, sigma: float
) -> None:
    """kappa/(1 + sigma^2 t)^{1/3} and cbar (eta/kappa)^2; 0.1 and 1 are the default constants."""
    schedule = Practical(**given)
    t = np.array([0.0, 1.0, 7.0, 1000.0])
    root = (1 + sigma**2 * t) ** (1 / 3)
    np.testing.assert_allclose(schedule.eta(t), kappa / root, rtol=1e-14)
    np.testing.assert_allclose(schedule.momentum(t + 1), np.minimum(1, cbar / root**2), rtol=1e-13)
    assert float(schedule.momentum(1)) == 1


def test_constant_keeps_the_shape_of_t() -> None:
    schedule = Constant(0.05, 0.2)
    np.testing.assert_array_equal(schedule.eta([[1, 2], [3, 4]]), np.full((2, 2), 0.05))
    np.testing.assert_array_equal(schedule.momentum([2, 3]), [0.2, 0.2])


@pytest.mark.parametrize("t", [-1, float("nan"), [1, -2]])
def test_negative_steps_are_refused(t: Any) -> None:
    with pytest.raises(UsageError, match="t >= 0"):
        Theorem(1.0, 1, 1.0, 1).eta(t)

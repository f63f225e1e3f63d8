"""The bumps and links of a chain: slopes, suprema, and the constants that are said of them."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import ndtr

from stemtheory.oracles.chains import links
from stemtheory.runtime import Floats, generator

RNG = generator(3)
GRID = np.linspace(-3, 3, 60_001)


def slope(z: Floats) -> Floats:
    found: Floats = links.forward(z) + links.backward(z, ndtr)
    return found


def hessian(z: Floats, h: float = 1e-5) -> Floats:
    found: Floats = (slope(z + h * np.eye(len(z))) - slope(z - h * np.eye(len(z)))) / (2 * h)
    return found


def test_the_first_bump_and_its_slope() -> None:
    assert links.psi(np.array([-1.0, 0.5, 0.509])).tolist() == [0, 0, 0]
    assert links.psi(1.0) == 1
    assert links.psi(1e7) == pytest.approx(links.PSI_TOP, rel=1e-14)
    numeric = (links.psi(GRID + 1e-6) - links.psi(GRID - 1e-6)) / 2e-6
    found = links.psi_slope(GRID, links.psi(GRID))
    np.testing.assert_allclose(found, numeric, atol=1e-8)
    assert found.max() == pytest.approx(links.PSI_SLOPE, rel=1e-6)
    assert found.max() <= links.PSI_SLOPE * (1 + 1e-15)


def test_the_second_bump_and_its_slope() -> None:
    phi = links.PHI_TOP * ndtr(GRID)
    assert links.phi_slope(0.0) == links.ROOT_E
    np.testing.assert_allclose(links.phi_slope(GRID)[1:-1], np.gradient(phi, GRID)[1:-1], atol=1e-8)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-15), (np.float32, 2e-7)])
def test_the_normal_by_hand_is_scipys(dtype: Any, error: float) -> None:
    x = np.linspace(-40, 40, 20_001).astype(dtype)
    found = links.below_by_hand(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, ndtr(x), atol=error, rtol=0)


def test_gradient_is_that_of_the_height() -> None:
    z = RNG.uniform(-2, 2, (50, 6))
    h = 1e-4
    for i, e in enumerate(np.eye(6)):
        up = [links.height(z + k * h * e, ndtr) for k in (-2, -1, 1, 2)]
        numeric = (up[0] - 8 * up[1] + 8 * up[2] - up[3]) / (12 * h)
        np.testing.assert_allclose(slope(z)[:, i], numeric, atol=2e-9)


def test_every_part_of_the_gradient_has_one_sign() -> None:
    z = RNG.uniform(-5, 5, (500, 7))
    assert links.forward(z).max() <= 0
    assert links.backward(z, ndtr).max() <= 0


def test_a_link_has_no_slope_before_the_one_ahead_of_it_is_passed() -> None:
    z = np.zeros(6)
    for found in range(6):
        force = slope(z)
        assert np.flatnonzero(force).tolist() == [*range(found), found][: found + 1]
        assert np.linalg.norm(force) > 1
        z[found] = 0.9
    assert np.flatnonzero(slope(np.full(6, 0.25))).tolist() == [0]


def test_the_gradient_is_longer_than_1_until_the_last_is_beyond_1() -> None:
    z = RNG.uniform(-3, 3, (20_000, 5))
    z[:, -1] = RNG.uniform(-1, 1, len(z))
    assert np.linalg.norm(slope(z), axis=1).min() > 1
    assert np.linalg.norm(slope(np.full(5, 8.0))) < 0.1


def test_the_largest_partial_derivative_is_reached() -> None:
    """Proved: the parts of one coordinate are largest where both neighbours are far."""

    def both(z: float) -> Any:
        return -links.PSI_TOP * links.phi_slope(z) - links.PHI_TOP * links.psi_slope(
            z, links.psi(z)
        )

    largest = -minimize_scalar(both, (0.8, 1.0)).fun
    assert largest == pytest.approx(21.3922, abs=1e-4)
    assert largest == pytest.approx(21.2, rel=0.01)  # as another search found
    assert -slope(np.array([1e7, 0.904285, 1e7]))[1] == pytest.approx(largest, rel=1e-9)
    assert -slope(RNG.uniform(-4, 4, (5000, 6))).min() <= largest < 23


def test_the_drop_of_a_link_is_a_limit() -> None:
    for n in (1, 2, 20, 43):
        low = -links.PHI_TOP * ((n - 1) * links.PSI_TOP + 1)
        assert links.height(np.full(n, 1e7), ndtr) == pytest.approx(low, rel=1e-13)
        assert (links.height(RNG.uniform(-9, 9, (500, n)), ndtr) >= low).all()
    per_link = (links.height(np.zeros(43), ndtr) - low) / 43
    assert per_link == pytest.approx(11.02, rel=1e-3)
    assert links.DROP < 12


def worst_bend(start: Floats) -> float:
    def less(z: Floats) -> float:
        return -float(np.abs(np.linalg.eigvalsh(hessian(z))).max())

    return -float(minimize(less, start, method="Nelder-Mead", options={"maxiter": 1200}).fun)


def test_a_search_bends_to_134_and_the_bound_is_152() -> None:
    found = max(worst_bend(np.array(z)) for z in ((0.8, 0.8, 0.8, 5.0), (-0.8, 0.7, 0.8, 4.0)))
    assert found == pytest.approx(134.02, rel=1e-3)
    rows = [np.abs(hessian(z)).sum(axis=1).max() for z in RNG.uniform(-2, 2, (2000, 4))]
    assert max(rows) < 149 < links.SMOOTHNESS


def test_what_is_unseen_is_1_until_something_behind_is_beyond_a_quarter() -> None:
    z = np.array([2.0, 0.25, 0.375, 0.0, -0.2])
    assert links.unseen(z).tolist() == [0, 0.5, 0.5, 1, 1]
    many = RNG.uniform(-0.6, 0.6, (100, 9))
    ramp = np.clip(4 * np.abs(many) - 1, 0, 1)
    slow = [1 - ramp[:, i:].max(axis=1) for i in range(9)]
    np.testing.assert_array_equal(links.unseen(many), np.stack(slow, axis=1))
    assert math.isclose(float(links.unseen(np.array([0.5]))[0]), 0)

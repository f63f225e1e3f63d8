"""Sine and cosine by the tangent of half the angle: accuracy, special values, what passes by."""

import numpy as np
import pytest

from stemtheory.oracles import sines
from stemtheory.runtime import generator
from tests.helpers.fake_device import Device

HALF_TURNS = np.pi / 2 * np.arange(-1000, 1001)


def angles(reach: float) -> np.ndarray:
    return np.concatenate([generator(5).uniform(-reach, reach, 100_000), HALF_TURNS])


@pytest.mark.parametrize("reach", [1.0, 100.0, 1e6])
def test_both_are_right_to_four_roundings_of_one(reach: float) -> None:
    x = angles(reach)
    sine, cosine = sines.sin_cos(x)
    exact = x.astype(np.longdouble)
    for found, right in (
        (sines.sin(x), np.sin(exact)), (sine, np.sin(exact)),
        (sines.cos(x), np.cos(exact)), (cosine, np.cos(exact)),
    ):  # fmt: skip
        assert np.abs(found - right).max() < 4e-16
        assert np.abs(found).max() <= 1  # sigma is attained, and never passed


def test_a_small_sine_keeps_its_digits() -> None:
    x = np.concatenate([generator(6).uniform(-1, 1, 10_000), np.geomspace(1e-300, 1, 1000)])
    for found in (sines.sin(x), sines.sin_cos(x)[0]):
        assert np.all(np.abs(found - np.sin(x)) <= 4 * np.spacing(np.abs(np.sin(x))))


def test_zero_keeps_its_sign_and_what_is_no_number_stays_none() -> None:
    with np.errstate(invalid="ignore"):
        found = sines.sin(np.array([0.0, -0.0, np.inf, np.nan]))
    assert np.array_equal(np.signbit(found[:2]), [False, True])
    assert np.array_equal(found[:2], [0, 0])
    assert np.isnan(found[2:]).all()


def test_a_value_depends_on_no_place_in_an_array() -> None:
    x = generator(7).uniform(-9, 9, 1001)
    whole = sines.sin(x)
    for cut in (slice(1, None), slice(None, None, 3), slice(500, 501)):
        assert np.array_equal(sines.sin(x[cut]), whole[cut])


def test_single_precision_and_numbers_take_numpys_own() -> None:
    x = generator(8).uniform(-9, 9, 100)
    for other in (x.astype(np.float32), np.float64(0.3), 0.3):
        assert np.array_equal(sines.sin(other), np.sin(other))
        assert np.array_equal(sines.sin_cos(other)[1], np.cos(other))
        assert np.array_equal(sines.cos(other), np.cos(other))


def test_a_device_has_the_numbers_of_the_host() -> None:
    x = generator(8).uniform(-9, 9, 100)
    device = Device()
    for function in (sines.sin, sines.cos, lambda x: sines.sin_cos(x)[1]):
        assert np.array_equal(function(device.put(x))._values, function(x))

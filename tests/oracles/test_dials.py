"""The dials add up: L^2 = (c + Z)^2 + L_n^2 whatever subset is given, and the rest is refused."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from stemtheory.oracles.catalogue import load_problem
from stemtheory.oracles.dials import Dials, resolve_dials
from stemtheory.oracles.heterogeneity import HETEROGENEITIES, signs
from stemtheory.oracles.noise import NOISES
from stemtheory.runtime.errors import UsageError

K, DIM = 4, 8


def adds_up(dials: Dials) -> bool:
    """Return whether the parts reach the declared L."""
    total = math.hypot(dials.curvature + dials.het_curvature, dials.noise_smoothness)
    return math.isclose(total, dials.L, rel_tol=1e-12) and dials.attained == pytest.approx(dials.L)


def test_the_defaults_are_those_of_the_design() -> None:
    """L_n = L/sqrt 2, L_f = sqrt(L^2 - L_n^2), c = L_f/2 with a sinusoid."""
    dials = resolve_dials(K, DIM)
    assert (dials.L, dials.sigma, dials.zeta) == (1.0, 0.5, 1.0)
    assert (dials.noise, dials.heterogeneity) == ("phase", "sinusoid")
    assert dials.noise_smoothness == pytest.approx(1 / math.sqrt(2))
    assert dials.curvature == pytest.approx(dials.het_curvature) == pytest.approx(8**-0.5)
    assert dials.noise_frequency == pytest.approx(dials.noise_smoothness * math.sqrt(DIM) / 0.5)
    assert dials.het_frequency == pytest.approx(2 * math.sqrt(DIM) * dials.het_curvature)
    assert adds_up(dials)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("heterogeneity", ["tilt", "sinusoid"])
def test_every_default_adds_up(noise: str, heterogeneity: str) -> None:
    for sigma, zeta in itertools.product((0.0, 0.3), (0.0, 2.0)):
        dials = resolve_dials(
            K, DIM, L=3.0, sigma=sigma, zeta=zeta, noise=noise, heterogeneity=heterogeneity
        )
        assert adds_up(dials), (sigma, zeta)
        wavy = zeta > 0 and heterogeneity == "sinusoid"
        assert (dials.het_curvature > 0) == wavy == (dials.het_frequency > 0)
        smooth = NOISES[noise].smooth and (sigma > 0 or not NOISES[noise].bounded)
        assert (dials.noise_smoothness > 0) == smooth
        assert dials.curvature > 0


PARTS: list[dict[str, Any]] = [
    {"L": 2.0, "curvature": 0.5},
    {"L": 2.0, "noise_smoothness": 0.0},
    {"L": 2.0, "noise_smoothness": 1.2, "curvature": 0.7},
    {"L": 2.0, "noise_frequency": 0.4},
    {"L": 2.0, "het_frequency": 0.4},
    {"L": 2.0, "het_frequency": 0.4, "curvature": 0.7},
    {"L": 2.0, "het_frequency": 0.4, "noise_frequency": 0.4},
]


@pytest.mark.parametrize("given", PARTS, ids=[",".join(p) for p in PARTS])
def test_what_is_given_is_kept_and_the_rest_follows(given: dict[str, Any]) -> None:
    dials = resolve_dials(K, DIM, **given)
    assert adds_up(dials)
    assert {name: getattr(dials, name) for name in given} == pytest.approx(given)


def test_L_is_derived_where_all_parts_are_given() -> None:
    dials = resolve_dials(K, DIM, curvature=0.3, het_frequency=0.5, noise_frequency=0.7, zeta=2.0)
    Z, L_n = 2.0 * 0.5 / (2 * math.sqrt(DIM)), 0.5 * 0.7 / math.sqrt(DIM)
    assert dials.L == pytest.approx(math.hypot(0.3 + Z, L_n), rel=1e-15)


def test_slack_allows_a_larger_L_and_says_that_it_is_a_bound() -> None:
    parts: dict[str, Any] = {"curvature": 0.3, "het_frequency": 0.5, "noise_frequency": 0.7}
    derived = load_problem("welsch", **parts)
    loose = load_problem("welsch", L=2.0, slack=True, **parts)
    assert derived.constants().exact["L"] is True
    assert loose.constants().exact["L"] is False
    assert loose.constants().L == 2.0
    x = np.ones((K, DIM))
    np.testing.assert_array_equal(loose.gradient(x), derived.gradient(x))


@pytest.mark.parametrize("frequency", ["noise_frequency", "het_frequency"])
def test_a_frequency_and_its_smoothness_say_the_same(frequency: str) -> None:
    first = resolve_dials(K, DIM, L=2.0)
    again = resolve_dials(K, DIM, L=2.0, **{frequency: getattr(first, frequency)})
    for name in ("curvature", "het_curvature", "noise_smoothness"):
        assert getattr(again, name) == pytest.approx(getattr(first, name), rel=1e-12)


@pytest.mark.parametrize("noise", [n for n, m in NOISES.items() if m.smooth and m.bounded])
def test_noise_models_invert_their_own_frequency(noise: str) -> None:
    model = NOISES[noise]
    w = model.frequency(0.3, 1.7, DIM, 0.4)
    assert model.smoothness(0.3, w, DIM, 0.4) == pytest.approx(1.7, rel=1e-14)


@pytest.mark.parametrize("K", range(1, 8))
def test_signs_add_up_to_nothing(K: int) -> None:
    s = signs(K)
    assert s.sum() == 0
    assert np.count_nonzero(s == 0) == K % 2
    assert K < 2 or s[0] - s[1] == 2


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "L_n above L": ({"L": 1.0, "noise_smoothness": 2.0}, r"L_n is 2, .* must not exceed L = 1"),
    "c above L_f": ({"L": 1.0, "curvature": 0.9}, r"leaves c = 0\.9, Z = -0\.19"),
    "noise without sigma": ({"sigma": 0, "noise_smoothness": 0.5}, "no noise has no slope"),
    "additive noise with a slope": (
        {"noise": "additive", "noise_smoothness": 0.5},
        "additive noise has L_n = 0",
    ),
    "two ways that differ": (
        {"noise_smoothness": 0.5, "noise_frequency": 9.0},
        r"noise_frequency 9 means 1\.59",
    ),
    "L below its parts": (
        {"L": 0.1, "curvature": 0.3, "het_frequency": 0.5, "noise_smoothness": 0.2},
        r"L is 0\.1, but sqrt\(\(c \+ Z\)\^2 \+ L_n\^2\) = ",
    ),
    "L above its parts": (
        {"L": 9.0, "curvature": 0.3, "het_frequency": 0.5, "noise_smoothness": 0.2},
        "set slack=true",
    ),
    "no curvature for the sinusoid": (
        {"L": 1.0, "curvature": 1.0, "noise_smoothness": 0.0},
        "leave no curvature Z",
    ),
    "flat modulated noise": (
        {"noise": "modulated", "noise_smoothness": 0.0},
        "sigma is not attained",
    ),
    "a frequency of noise without waves": (
        {"noise": "additive", "noise_frequency": 2.0},
        "additive noise has no wave",
    ),
    "a frequency of workers without waves": (
        {"heterogeneity": "tilt", "het_frequency": 2.0},
        "heterogeneity tilt has no wave",
    ),
    "a phase of workers without waves": (
        {"heterogeneity": "none", "het_phase": 2.0},
        "het_phase is 2.0, but heterogeneity none has no wave",
    ),
    "L beyond its cube": ({"L": 1e101}, "at most 1e\\+100"),
    "zeta alone": ({"zeta": 1.0, "heterogeneity": "none"}, "must be 0 there"),
    "modulation": ({"modulation": 2.0}, r"must lie in \(0, 1\]"),
    "spectrum": ({"spectrum": 0.5}, "spectrum is 0.5"),
    "sigma": ({"sigma": -1.0}, "sigma is -1"),
    "L": ({"L": math.nan}, "L is nan"),
    "curvature": ({"curvature": 0.0}, "above 0"),
    "noise": ({"noise": "phaze"}, "did you mean phase"),
    "heterogeneity": ({"heterogeneity": "tilted"}, "did you mean tilt"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_add_up_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        resolve_dials(K, DIM, **given)
    assert "\n" not in str(caught.value)


def test_one_worker_cannot_differ() -> None:
    assert resolve_dials(1, DIM).zeta == 0
    with pytest.raises(UsageError, match="one worker cannot differ from itself"):
        resolve_dials(1, DIM, zeta=1.0)


FAMILY_ERRORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown": ("cauchy", {"curvatur": 1.0}, "cauchy has no dial curvatur; known are L"),
    "own of another": ("welsch", {"ripple": 1.0}, "welsch has no dial ripple"),
    "bowl": ("cosine", {"bowl": 1.5}, r"must lie in \(0, 1\]"),
    "ripple": ("cosine", {"ripple": 0.0}, "ripple is 0"),
    "own, not a number": ("cosine", {"bowl": "wide"}, "bowl is 'wide'"),
    "h above c": ("corridor", {"h": 5.0}, "h is 5, but it must not exceed the curvature"),
    "g": ("corridor", {"g": 0.0}, "g is 0"),
    "one dial twice": ("quadratic", {"h": 0.1, "curvature": 0.1}, "are the same dial"),
}


@pytest.mark.parametrize(("name", "given", "message"), FAMILY_ERRORS.values(), ids=FAMILY_ERRORS)
def test_families_refuse_in_one_sentence(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_problem(name, **given)


def test_a_spectrum_spreads_the_curvatures_below_the_first() -> None:
    problem = load_problem("quadratic", dim=5, spectrum=16.0, sigma=0.0, zeta=0.0, L=2.0)
    bends = [problem.full_gradient(e) @ e for e in np.eye(5)]
    np.testing.assert_allclose(bends, [2.0, 1.0, 0.5, 0.25, 0.125], rtol=1e-14)


@pytest.mark.parametrize("heterogeneity", HETEROGENEITIES)
def test_dials_are_reported_as_numbers_and_names(heterogeneity: str) -> None:
    dials = load_problem("corridor", heterogeneity=heterogeneity, g=0.2).dials
    assert dials["g"] == 0.2
    assert dials["heterogeneity"] == heterogeneity
    assert all(isinstance(v, float | str | bool) for v in dials.values())


def test_parts_without_L_give_the_noise_an_equal_share() -> None:
    """With c and Z fixed and neither L nor L_n, L_n = c + Z: L is not below its parts."""
    problem = load_problem("quadratic", h=0.1, het_frequency=0.85, zeta=2.0, sigma=1e-4, dim=1)
    dials = problem.dials
    assert dials["noise_smoothness"] == pytest.approx(0.95, rel=1e-12)
    assert dials["L"] == pytest.approx(0.95 * math.sqrt(2), rel=1e-12)
    assert dials["attained"] == pytest.approx(dials["L"], rel=1e-12)

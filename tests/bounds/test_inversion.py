"""T(eps) against a plain scan, its traps, and the complexities that follow from it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import BOUNDS, Inversion, Setting, bound_curve, evaluate, invert
from stemtheory.bounds.evaluation import _phase
from stemtheory.bounds.inversion import LONGEST, first_fixed, first_on_curve
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Curve, Theorem

CONSTANTS: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 1.0, "gap": 0.5}


def meets(name: str, s: Setting, epsilon: float) -> bool:
    formula = BOUNDS[name]
    return bool(s.T >= formula.shortest(s) and formula.value(s) <= epsilon)


def scan_curve(name: str, epsilon: float, K: int, nu: float, longest: int, **at: Any) -> int:
    """The definition, followed to the letter."""
    for T in range(1, longest):
        I, b, _ = bound_curve(name, T, K, nu, at["L"])
        if T % I == 0 and meets(name, Setting(T, K, b, I, **at), epsilon):
            return T
    raise AssertionError("the scan is too short")


def scan_fixed(name: str, epsilon: float, s: Setting, longest: int) -> int:
    for T in range(s.I, longest, s.I):
        if meets(name, replace(s, T=T), epsilon):
            return T
    raise AssertionError("the scan is too short")


@pytest.mark.parametrize("b", [1, 7.5])
def test_a_search_knows_where_the_steps_of_stem_begin_to_fall(b: float) -> None:
    s = Setting(9e9, 3, b, 5, **CONSTANTS)
    assert _phase(BOUNDS["stem-log-free"], s) == (5, Theorem(1.0, 3, b, 5).constant_phase_end)
    assert _phase(BOUNDS["fedavg-theorem"], s) == (5, 0.0)
    assert _phase(BOUNDS["minibatch-sgd"], s) == (1, 0.0)


# The second set makes drift the ruling term, where the jumps of I are largest.
SETS: list[dict[str, Any]] = [CONSTANTS, {"L": 1.0, "sigma": 0.01, "zeta": 40.0, "gap": 0.01}]


@pytest.mark.parametrize("name", ["stem-intermediate", "stem-repaired", "stem-log-free"])
@pytest.mark.parametrize("nu", [0.0, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("at", SETS)
def test_curve_inversion_is_the_scan(name: str, nu: float, at: dict[str, Any]) -> None:
    for epsilon in (2.0, 0.31, 0.1, 0.047):
        found = invert(name, epsilon, K=2, nu=nu, **at)
        assert found.T == scan_curve(name, epsilon, 2, nu, 20_000, **at)


@pytest.mark.parametrize("nu", [0.0, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("name", ["fedavg-theorem", "minibatch-sgd"])
@pytest.mark.parametrize("at", [{"L": 0.2, "sigma": 1.0, "zeta": 1.0, "gap": 0.5}, SETS[1]])
def test_fedavg_curve_inversion_is_the_scan(name: str, nu: float, at: dict[str, Any]) -> None:
    for epsilon in (30.0, 2.0, 0.4):
        if at is SETS[1] and name == "fedavg-theorem" and (nu, epsilon) not in EASY:
            continue
        found = invert(name, epsilon, K=2, nu=nu, **at)
        assert found.T == scan_curve(name, epsilon, 2, nu, 20_000, **at)


# With zeta = 40 the others need more steps than a scan can take.
EASY = {(0.0, 30.0), (0.0, 2.0), (0.4, 30.0), (0.8, 30.0), (1.0, 30.0)}


@pytest.mark.parametrize("name", BOUNDS)
def test_fixed_inversion_is_the_scan(name: str) -> None:
    s = Setting(1, 2, 3, 4, 0.3, 0.02, 0.01, 0.5)
    for epsilon in (30.0, 3.0, 0.2):
        found = invert(name, epsilon, K=2, b=3, I=4, L=0.3, sigma=0.02, zeta=0.01, gap=0.5)
        settled = BOUNDS[name].settle(s)
        assert found.T == scan_fixed(name, epsilon, settled, 20_000)


def test_the_rise_after_the_constant_phase_is_not_mistaken_for_the_answer() -> None:
    """bK = I = 1, noise alone: the bound is flat, rises by up to 7.5 % at T = 4032, then falls."""
    s = Setting(1, 1, 1, 1, 1, 1, 0, 0)
    end = int(Theorem(1, 1, 1, 1).constant_phase_end)
    flat = BOUNDS["stem-intermediate"].value(replace(s, T=end))
    top = max(BOUNDS["stem-intermediate"].value(replace(s, T=T)) for T in range(end, 3 * end, 10))
    assert top / flat == pytest.approx(1.0748, abs=0.003)
    for epsilon in (1.0001 * flat, 0.9999 * flat, 0.9 * flat):
        found = invert("stem-intermediate", epsilon, K=1, b=1, I=1, L=1, sigma=1, zeta=0, gap=0)
        assert found.T == scan_fixed("stem-intermediate", epsilon, s, 60_000)
        assert found.bound.value <= epsilon
    assert found.T > 2 * end


def test_the_search_of_the_constant_phase_ends_with_its_last_whole_round() -> None:
    """The phase ends at 13, I = 2: met from 10 to 12, lost behind it, met for good from 100 on."""
    assert first_fixed(lambda T: 10 <= T <= 12 or T >= 100, 2, 13.0) == 10
    assert first_fixed(lambda T: 10 <= T <= 11 or T >= 100, 2, 13.0) == 100
    assert first_fixed(lambda T: T >= 14, 2, 13.0) == 14


@pytest.mark.parametrize("power", [0.0, 1 / 3, 1.0, 3.0])
@pytest.mark.parametrize("aim", [0.9, 1e-3, 1e-5])
def test_where_a_search_begins_changes_what_it_takes_and_not_what_it_finds(
    power: float, aim: float
) -> None:
    """A right guess, useless ones, and none: 1/S and a slower power, for whole rounds of 7."""
    asked: list[int] = []

    def bound(T: int) -> float:
        return 0.5 / T + 0.5 * T**-power if power else 1 / T

    def meets(T: int) -> bool:
        asked.append(T)
        return bound(T) <= aim

    plain = first_fixed(meets, 7, math.inf)
    assert bound(plain) <= aim
    assert plain == 7 or bound(plain - 7) > aim
    n = len(asked)
    for value in (bound, lambda T: 1.0, lambda T: math.inf, lambda T: 1e-30, lambda T: T / 7):
        assert first_fixed(meets, 7, math.inf, value, aim) == plain
    asked.clear()
    assert first_fixed(meets, 7, math.inf, bound, aim) == plain
    assert len(asked) <= min(n, 5)


def test_the_answer_may_fail_again_later() -> None:
    """The rule is the first T: where I jumps from 1 to 2, zeta appears and the bound rises."""
    at: dict[str, Any] = {"L": 1.0, "sigma": 0.01, "zeta": 40.0, "gap": 0.01}
    found = invert("stem-intermediate", 0.3, K=1, nu=1.0, **at)
    assert found.I == 1
    later = evaluate("stem-intermediate", Setting(4, 1, 1.0, 2, **at))
    assert found.T < 4
    assert later.value > 0.3


CASES: list[dict[str, Any]] = [
    {"nu": 0.0},
    {"nu": 0.001},
    {"nu": 0.37},
    {"nu": 0.5},
    {"nu": 1.0},
    {"b": 2, "I": 4},
    {"b": 1, "I": 1},
]


def floor(name: str, case: dict[str, Any]) -> float:
    """What constant steps leave, however long the run, where b and I do not grow with it."""
    if "rstar" not in name or "nu" in case:
        return 0.0
    return BOUNDS[name].value(Setting(LONGEST * case["I"], 6, **case, **CONSTANTS))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("case", CASES)
def test_returned_T_meets_epsilon_and_the_round_before_does_not(
    name: str, case: dict[str, Any]
) -> None:
    for epsilon in 10.0 ** np.arange(1, -10, -1.7):
        if floor(name, case) > epsilon:
            with pytest.raises(UsageError, match="however long"):
                invert(name, epsilon, K=6, **CONSTANTS, **case)
            continue
        found = invert(name, epsilon, K=6, **CONSTANTS, **case)
        assert found.bound.value <= epsilon
        assert found.bound.setting.T == found.T
        assert found.T % found.I == 0
        assert found.rounds * found.I == found.T
        assert found.samples_total == 6 * found.samples_per_worker
        if "nu" in case:
            point = bound_curve(name, found.T, 6, case["nu"], 1)
            assert (found.I, found.b, found.clipped) == point
        s = replace(found.bound.setting, T=found.T - found.I) if found.rounds > 1 else None
        if s is not None and "nu" in case:
            point = bound_curve(name, s.T, 6, case["nu"], 1)
            s = replace(s, b=point.b) if point.I == found.I else None
        if s is not None:
            # Far out one round changes the value by less than its last digits.
            assert not meets(name, s, epsilon * (1 - 1e-13))


def test_T_far_beyond_a_float_is_an_exact_multiple_of_I() -> None:
    found = invert("stem-theorem", 1e-20, K=3, nu=1.0, **CONSTANTS)
    assert found.T > 10**38
    assert found.T % found.I == 0
    assert found.bound.premises[0].ok


def test_fedavg_waits_for_its_premise() -> None:
    found = invert("fedavg-theorem", 1e3, K=2, b=1, I=8, L=1, sigma=0, zeta=0, gap=1)
    assert found.T == 81 * 64 * 2
    assert found.bound.applies


def test_a_premise_no_run_length_mends_is_reported() -> None:
    found = invert("stem-intermediate", 1e-8, K=4, nu=1.0, **CONSTANTS)
    assert found.I > 7500
    assert [premise.name for premise in found.bound.premises if not premise.ok] == ["I/m <= 7500"]
    mended = invert("stem-intermediate", 1e-8, K=4, nu=1.0, sync_batch=2, **CONSTANTS)
    assert mended.bound.applies


def slope(inversions: list[Inversion], epsilons: Any, what: str) -> float:
    values = [float(getattr(found, what)) for found in inversions]
    return float(np.polyfit(np.log(epsilons), np.log(values), 1)[0])


@pytest.mark.parametrize(
    ("name", "samples", "rounds"),
    [
        ("stem-intermediate", -1.5, -1),
        ("stem-log-free", -1.5, -1),
        ("fedavg-theorem", -2, -1.5),
        ("minibatch-sgd", -2, -1),
    ],
)
@pytest.mark.parametrize("nu", [0.0, 0.5, 1.0])
def test_complexities_along_the_curve(name: str, samples: float, rounds: float, nu: float) -> None:
    epsilons = 10.0 ** np.linspace(-6, -12, 13)
    # A small zeta: the log-free constant C still moves with I where I < 20000 and zeta rules.
    at = CONSTANTS | {"zeta": 0.01}
    found = [invert(name, epsilon, K=4, nu=nu, **at) for epsilon in epsilons]
    assert slope(found, epsilons, "samples_per_worker") == pytest.approx(samples, abs=0.01)
    assert slope(found, epsilons, "rounds") == pytest.approx(rounds, abs=0.01)
    # Linear speed-up: K times the workers, a K-th of the samples, as many rounds.
    more = invert(name, epsilons[-1], K=64, nu=nu, **at)
    assert more.samples_per_worker * 16 == pytest.approx(found[-1].samples_per_worker, rel=0.02)
    assert more.rounds == pytest.approx(found[-1].rounds, rel=0.02)


def test_log_free_rounds_are_C_over_epsilon_at_every_I() -> None:
    """S = C/eps, with the corollary's sync batch, far above I = 20000."""
    for nu, epsilon in [(0.0, 1e-3), (0.5, 1e-6), (1.0, 1e-9)]:
        found = invert("stem-log-free", epsilon, K=1, nu=nu, **CONSTANTS)
        m = -(-found.I // 20000)
        C = 16 + 2.42 + 0.004 + 6.5e-4 * found.I / m
        # Where a stretch of I starts, the first whole round may lie a little after C/eps.
        assert (1 - 1e-12) * C / epsilon <= found.rounds <= C / epsilon * 1.2
        assert found.bound.applies
        b, I, S = found.b, found.I, found.rounds
        assert found.samples_per_worker <= b * I + 2 * b * I * S * (1 + 1 / 20000)
    assert found.I > 20000
    assert found.bound.setting.sync_batch > 1


def test_off_the_curve() -> None:
    """T = max{I/eps, 1/(bK eps^{3/2})}, up to constants: which branch rules, and how it scales."""
    gap_only: dict[str, Any] = {"L": 1.0, "sigma": 0.0, "zeta": 0.0, "gap": 1.0}

    def T(epsilon: float, b: float, I: int, K: int = 4) -> float:
        return invert("stem-theorem", epsilon, K=K, b=b, I=I, **gap_only).T

    few, many = 1e-12, 1e-2
    assert T(few, 1, 1) / T(few, 2, 1) == pytest.approx(2, rel=1e-2)
    assert T(few, 1, 1) / T(few, 1, 1, K=8) == pytest.approx(2, rel=1e-2)
    assert T(few, 1, 1) / T(few, 1, 2) == pytest.approx(1, rel=1e-2)
    assert T(few / 4, 1, 1) / T(few, 1, 1) == pytest.approx(8, rel=1e-2)
    assert T(many, 999, 400) / T(many, 999, 200) == pytest.approx(2, rel=1e-2)
    assert T(many, 999, 400) / T(many, 4000, 400) == pytest.approx(1, rel=1e-2)
    assert T(many / 4, 999, 400) / T(many, 999, 400) == pytest.approx(4, rel=1e-2)


def test_minibatch_sgd_needs_far_fewer_rounds_than_local_steps() -> None:
    """All constants 1, K = 1, eps = 1e-4, best b: 3.6e5 rounds; at I = 2, 8: 1.5e7, 2.1e7."""
    ones: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 1.0, "gap": 1.0}
    found = invert("minibatch-sgd", 1e-4, K=1, nu=0.0, **ones)
    assert found.rounds == pytest.approx(3.6e5, rel=1e-3)
    assert found.samples_per_worker == pytest.approx(1.6e9, rel=1e-3)
    for I, recorded in [(2, 1.5e7), (8, 2.1e7)]:
        best = min(
            invert("fedavg-theorem", 1e-4, K=1, b=b, I=I, **ones).rounds
            for b in np.geomspace(1, 1e4, 200)
        )
        assert float(f"{best:.2g}") == recorded


def test_recorded_thresholds_of_the_explicit_bound() -> None:
    """L = sigma = 1, zeta = 0, gap = 1/2: where the theorem beats standing still, grad_sq = 1.

    The records are points of a grid of ratio 2^(1/4), so each is the first one past the threshold.
    """
    for nu, K, recorded in [(0, 4, 1.05e6), (0.5, 4, 1.2e7), (1, 4, 4.5e8), (1, 1, 2.2e9)]:
        at: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 0.0, "gap": 0.5}
        T = invert("stem-theorem", 1, K=K, nu=float(nu), **at).T
        grid = 2 ** (math.ceil(4 * math.log2(T)) / 4)
        assert grid == pytest.approx(recorded, rel=0.03)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "small"])
def test_bad_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        invert("stem-theorem", epsilon, K=2, nu=0.5, **CONSTANTS)


@pytest.mark.parametrize(
    "choice", [{}, {"nu": 0.5, "b": 2}, {"nu": 0.5, "b": 2, "I": 2}, {"b": 2}, {"I": 2}]
)
def test_either_nu_or_b_and_I(choice: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="either nu or both b and I"):
        invert("stem-theorem", 0.1, K=2, **CONSTANTS, **choice)


@pytest.mark.parametrize("bad", [{"b": 0, "I": 1}, {"b": 1, "I": 0}, {"nu": 1.5}])
def test_bad_b_I_and_nu_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        invert("stem-theorem", 0.1, K=2, **CONSTANTS, **bad)


@pytest.mark.parametrize("case", [{"nu": 0.0}, {"nu": 1.0}, {"b": 1, "I": 1}])
def test_an_epsilon_beyond_any_run_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="larger epsilon"):
        invert("stem-theorem", 1e-50, K=2, **CONSTANTS, **case)


def test_the_searches_reject_what_nothing_meets() -> None:
    with pytest.raises(UsageError):
        first_fixed(lambda T: False, 3, 1e4)
    with pytest.raises(UsageError):
        first_on_curve(lambda T, at: False, lambda T: Curve(1, 1.0, False), lambda I: math.inf)
    assert first_fixed(lambda T: T >= LONGEST - 5, 1, 0) == LONGEST - 5


def test_json_form_has_the_costs() -> None:
    form = invert("fedavg-theorem", 0.01, K=2, nu=0.5, grad_sq=1.0, **CONSTANTS).to_dict()
    assert {"T", "samples_per_worker", "samples_total", "rounds", "name", "terms"} <= form.keys()
    assert form["vacuous_reference"]["name"] == "grad_sq"


@pytest.mark.parametrize("place", [{"b": 2.0, "I": 4}, {"nu": 0.5}], ids=str)
def test_a_search_checks_what_it_is_given_and_not_every_length_that_it_tries(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[float] = []
    check = Setting.__post_init__

    def counted(setting: Setting) -> None:
        checked.append(setting.T)
        check(setting)

    monkeypatch.setattr(Setting, "__post_init__", counted)
    constants = CONSTANTS | {"L": 1e9}
    assert invert("stem-log-free", 0.01, K=4, **place, **constants).T > 1e9
    assert checked == [1]  # hundreds of lengths were tried
    with pytest.raises(UsageError, match="sigma"):
        invert("stem-log-free", 0.01, K=4, **place, **constants | {"sigma": -1.0})


def test_a_setting_moved_by_a_search_is_the_one_that_would_be_made() -> None:
    s = Setting(1, 2, 3, 4, 0.3, 0.02, 0.01, 0.5, B=7, sync_batch=2)
    assert s.at(T=80, b=2.5, I=5) == replace(s, T=80, b=2.5, I=5)
    assert s == Setting(1, 2, 3, 4, 0.3, 0.02, 0.01, 0.5, B=7, sync_batch=2)

"""Every bound against its printed formula, against numbers, and against mutants of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import BOUNDS, Setting, bound_curve, evaluate, samples_per_worker
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Theorem, stem_curve
from tests.helpers import rstar_page

# Quadratic with h = 0.2, x1 = 3: gap = h x1^2/2 = 0.9.
QUADRATIC = Setting(T=4000, K=4, b=2, I=4, L=0.78102, sigma=0.5, zeta=2, gap=0.9)


# Flat quadratic with h = 0.005, x1 = 20, on which the overwrite reading breaks the theorem.
FLAT = Setting(T=160_000, K=16, b=64, I=8, L=1, sigma=0, zeta=2, gap=1)


GRID = [
    QUADRATIC,
    FLAT,
    Setting(T=10_000, K=1, b=1, I=1, L=1, sigma=1, zeta=0, gap=5),
    Setting(T=300_000, K=2, b=1, I=2, L=0.3, sigma=1, zeta=1, gap=0.2, B=16),
    Setting(T=200_000, K=1, b=1.5, I=2, L=2, sigma=0.1, zeta=3, gap=4, B=1),
    Setting(T=12_600, K=100, b=8, I=60, L=1, sigma=1, zeta=1, gap=5, sync_batch=3),
]


Terms = dict[str, float]


def printed_theorem(s: Setting) -> Terms:
    B, log = s.B or s.b * s.I, math.log(s.T + 1)
    slow = (s.b * s.K) ** (2 / 3) * s.T ** (2 / 3)
    noise = 256**2 * s.I / s.T + 64**2 / slow
    first = 8 * s.b * s.I**2 / (B * s.T) + s.b * s.I / (2 * slow * B)
    return {
        "gap": (32 * s.L * s.I / s.T + 2 * s.L / slow) * s.gap,
        "initial_batch": first * s.sigma**2,
        "variance": noise * s.sigma**2 * log,
        "heterogeneity": noise * s.zeta**2 * (s.I - 1) / s.I * log,
    }


def _sum(s: Setting, start: float, A_s: float, A_z: float) -> Terms:
    """The sum of eta_t^3 added up term by term, and the rest as printed."""
    schedule = Theorem(s.L, s.K, s.b, s.I)
    eta = schedule.eta(np.arange(0, s.T + 1))
    cubes = math.fsum(eta[1:] ** 3) * schedule.c**2 / s.L**2
    outer = 2 / (float(eta[-1]) * s.T)
    B = s.B or s.b * s.I
    return {
        "gap": outer * s.gap,
        "initial_batch": outer * s.sigma**2 * s.b / (start * s.L**2 * B * float(eta[0])),
        "variance": outer * A_s * s.sigma**2 * cubes,
        "heterogeneity": outer * A_z * s.zeta**2 * cubes,
    }


def printed_intermediate(s: Setting) -> Terms:
    return _sum(s, 64, 3 / 64, (s.I - 1) / s.I / 32)


def printed_repaired(s: Setting) -> Terms:
    return _sum(s, 240, 0.0087, 1.2e-4 + 2e-5 * s.I / s.sync_batch)


def printed_repaired_explicit(s: Setting) -> Terms:
    B, log, r = s.B or s.b * s.I, math.log(s.T + 1), s.I / s.sync_batch
    slow = (s.b * s.K) ** (2 / 3) * s.T ** (2 / 3)
    first = 32 * s.b * s.I**2 / (15 * B * s.T) + 2 * s.b * s.I / (15 * slow * B)
    drift = (16 + 2.63 * r) * s.I / s.T + (1 + 0.165 * r) / slow
    return {
        "gap": (32 * s.L * s.I / s.T + 2 * s.L / slow) * s.gap,
        "initial_batch": first * s.sigma**2,
        "variance": (1142 * s.I / s.T + 71.4 / slow) * s.sigma**2 * log,
        "heterogeneity": drift * s.zeta**2 * log,
    }


def printed_log_free(s: Setting) -> Terms:
    S = s.T / s.I
    return {
        "gap": 32 * s.L * s.gap / S,
        "variance": 2.42 * s.sigma**2 / S,
        "heterogeneity": (0.004 + 6.5e-4 * s.I / s.sync_batch) * s.zeta**2 / S,
    }


def printed_fedavg(s: Setting) -> Terms:
    bK = s.b * s.K
    return {
        "gap": 2 * s.gap / (bK * s.T) ** 0.5,
        "variance": 2 * s.L * s.sigma**2 / (bK * s.T) ** 0.5,
        "drift_variance": 3 * s.L**2 * bK * (s.I - 1) * s.sigma**2 / s.T,
        "drift_heterogeneity": 5 * s.L**2 * bK * (s.I - 1) ** 2 * s.zeta**2 / s.T,
    }


def printed_minibatch(s: Setting) -> Terms:
    """18 L (Delta + L sigma^2)/T: the FedAvg bound with bK = T/(81 L^2) and I = 1."""
    return {
        "gap": 18 * s.L * s.gap / s.T,
        "variance": 18 * s.L**2 * s.sigma**2 / s.T,
        "drift_variance": 0.0,
        "drift_heterogeneity": 0.0,
    }


PRINTED: dict[str, Callable[[Setting], Terms]] = {
    "stem-theorem": printed_theorem,
    "stem-intermediate": printed_intermediate,
    "stem-repaired": printed_repaired,
    "stem-repaired-explicit": printed_repaired_explicit,
    "stem-log-free": printed_log_free,
    **{f"stem-rstar-{part}": partial(rstar_page.printed, part) for part in rstar_page.PAGE},
    "fedavg-theorem": printed_fedavg,
    "minibatch-sgd": printed_minibatch,
}


def agrees(name: str) -> bool:
    """Whether every term of the bound is the printed one over the grid."""
    formula = BOUNDS[name]
    for s in GRID:
        terms, printed = formula.terms(formula.settle(s)), PRINTED[name](s)
        if terms.keys() != printed.keys():
            return False
        if any(not math.isclose(terms[key], printed[key], rel_tol=1e-11) for key in terms):
            return False
    return True


def test_every_bound_is_checked() -> None:
    assert PRINTED.keys() == BOUNDS.keys()


@pytest.mark.parametrize("name", BOUNDS)
def test_terms_are_the_printed_ones(name: str) -> None:
    assert agrees(name)


@pytest.mark.parametrize("name", BOUNDS)
def test_terms_add_up_to_the_value(name: str) -> None:
    for s in GRID:
        bound = evaluate(name, s)
        assert bound.value == math.fsum(bound.terms.values()) > 0
        assert all(term >= 0 for term in bound.terms.values())


# Pinned by independent runs; None where only the other bound was recorded.
NUMBERS = [
    (QUADRATIC, 1876, 0.02779),
    (replace(QUADRATIC, I=16, T=4096), 8651, 0.0959),
    (replace(QUADRATIC, K=2, b=1, I=2), 803, 0.1607),
    (FLAT, 138.0, None),
    (replace(FLAT, T=120_000, I=4), 77.2, None),
    (replace(FLAT, sigma=0.1), 138.4, None),
    (replace(FLAT, sigma=1), 177.4, None),
    (Setting(T=150_000, K=12, b=96, I=6, L=1, sigma=0, zeta=2, gap=0.648), 104.7, None),
]


def numbers_agree() -> bool:
    """Whether the two printed STEM bounds give the pinned numbers, to their last digit."""

    def close(name: str, s: Setting, number: float | None) -> bool:
        if number is None:
            return True
        digits = len(str(number).replace(".", "").lstrip("0"))
        return float(f"{BOUNDS[name].value(s):.{digits}g}") == number

    return all(
        close("stem-theorem", s, explicit) and close("stem-intermediate", s, middle)
        for s, explicit, middle in NUMBERS
    )


def test_pinned_numbers() -> None:
    assert numbers_agree()


def mutated(name: str, term: str, factor: float) -> Any:
    formula = BOUNDS[name]

    def terms(s: Setting) -> Terms:
        true = formula.terms(s)
        return true | {term: factor * true[term]}

    return replace(formula, terms=terms)


@pytest.mark.parametrize(
    ("name", "term"),
    [(name, term) for name in BOUNDS for term, at in PRINTED[name](QUADRATIC).items() if at > 0],
)
def test_a_wrong_constant_in_any_term_is_rejected(
    name: str, term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, name, mutated(name, term, 65535 / 65536))
    assert not agrees(name)


@pytest.mark.parametrize(
    ("name", "term", "factor"),
    [
        ("stem-theorem", "heterogeneity", 255**2 / 256**2),
        ("stem-theorem", "variance", 0.5),
        ("stem-intermediate", "gap", 31 / 32),
        ("stem-intermediate", "initial_batch", 2),
        ("stem-intermediate", "variance", 2 / 3),
        ("stem-intermediate", "heterogeneity", 2),
    ],
)
def test_a_wrong_constant_is_rejected_by_the_pinned_numbers(
    name: str, term: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, name, mutated(name, term, factor))
    assert not numbers_agree()


def test_a_base_ten_logarithm_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for term in ("variance", "heterogeneity"):
        mutant = mutated("stem-theorem", term, 1 / math.log(10))
        monkeypatch.setitem(BOUNDS, "stem-theorem", mutant)
        assert not numbers_agree()


# Columns: sigma^2, zeta^2; smallest T with the bound below 1 for L = 1, gap = 5, B = bI,
# printed theorem / intermediate, to two digits (None: not recorded).
COLUMNS = [(1, 1), (1e-2, 1e-2), (1e-4, 1e-4), (0, 1), (0, 0)]


Cell = tuple[float, float | None]


VACUOUS: dict[tuple[int, int, int], list[Cell]] = {
    (2, 1, 1): [(1.0e7, 270), (1.2e4, 160), (240, 160), (200, 160), (200, None)],
    (2, 1, 2): [(2.1e7, 380), (3.4e4, 320), (510, 320), (4.2e6, 330), (370, None)],
    (4, 1, 4): [(2.1e7, 680), (6.4e4, 640), (1.0e3, 640), (6.7e6, 640), (670, None)],
    (8, 2, 4): [(1.2e7, 670), (5.6e4, 640), (980, 640), (4.2e6, 640), (650, None)],
    (8, 4, 8): [(2.0e7, 1300), (1.2e5, 1300), (2000, 1300), (8.5e6, 1300), (1300, None)],
    (16, 8, 8): [(1.8e7, 1300), (1.2e5, 1300), (2000, 1300), (7.7e6, 1300), (1300, None)],
    (100, 8, 61): [(1.5e8, 1e4), (1.1e6, 9800), (1.8e4, 9800), (7.1e7, 9800), (9800, None)],
    (100, 64, 7): [(1.4e7, 1200), (9.9e4, 1100), (1800, 1100), (6.2e6, 1100), (1100, None)],
}


def two_digits(T: float) -> float:
    return float(f"{T:.2g}")


@pytest.mark.parametrize("K_b_I", VACUOUS)
def test_smallest_informative_T(K_b_I: tuple[int, int, int]) -> None:
    """The recorded crossing is over real T; ours is the next multiple of I, so it brackets it."""
    K, b, I = K_b_I
    for (sigma2, zeta2), cells in zip(COLUMNS, VACUOUS[K_b_I], strict=True):
        s = Setting(1000, K, b, I, 1, sigma2**0.5, zeta2**0.5, 5)
        for name, recorded in zip(("stem-theorem", "stem-intermediate"), cells, strict=True):
            T = evaluate(name, s, grad_sq=1).vacuous_below_T
            assert T is not None
            assert T % I == 0
            assert BOUNDS[name].value(replace(s, T=T)) < 1
            assert BOUNDS[name].value(replace(s, T=max(1, T - I))) >= 1
            if recorded is not None:
                assert two_digits(T - I) <= recorded <= two_digits(T)


def test_vacuity_uses_the_given_gradient_or_says_that_it_does_not() -> None:
    given = evaluate("stem-intermediate", QUADRATIC, grad_sq=0.36)
    assert (given.reference, given.reference_name) == (0.36, "grad_sq")
    assert not given.vacuous()
    assert given.vacuous(grad_sq=0.02)
    default = evaluate("stem-intermediate", QUADRATIC)
    assert default.reference == pytest.approx(2 * 0.78102 * 0.9)
    assert default.reference_name == "2 L gap"
    assert default.vacuous_below_T is not None
    assert given.vacuous_below_T is not None
    assert default.vacuous_below_T < given.vacuous_below_T


def test_a_start_at_the_minimum_is_never_informative() -> None:
    bound = evaluate("stem-intermediate", replace(QUADRATIC, gap=0))
    assert bound.vacuous_below_T is None
    assert bound.vacuous()


def test_the_intermediate_bound_in_the_constant_phase() -> None:
    """32LI Delta/T + 8bI^2 sigma^2/(BT) + (c_b/64)^2 [1.5 sigma^2 + zeta^2 (I-1)/I]/(IbK)^2."""
    s = replace(QUADRATIC, B=3)
    c_b = 64 + 1 / (24 * s.b * s.K * s.I)
    noise = 1.5 * s.sigma**2 + s.zeta**2 * (s.I - 1) / s.I
    closed = (
        32 * s.L * s.I * s.gap / s.T
        + 8 * s.b * s.I**2 * s.sigma**2 / (3 * s.T)
        + (c_b / 64) ** 2 * noise / (s.I * s.b * s.K) ** 2
    )
    assert evaluate("stem-intermediate", s).value == pytest.approx(closed, rel=1e-13)


def test_the_repaired_bound_in_the_constant_phase() -> None:
    s = replace(QUADRATIC, B=3)
    c_b = 64 + 1 / (24 * s.b * s.K * s.I)
    A_z = 1.2e-4 + 2e-5 * s.I
    closed = (
        32 * s.L * s.I * s.gap / s.T
        + 32 / 15 * s.b * s.I**2 * s.sigma**2 / (3 * s.T)
        + 32 * (c_b / 64) ** 2 * (0.0087 * s.sigma**2 + A_z * s.zeta**2) / (s.I * s.b * s.K) ** 2
    )
    assert evaluate("stem-repaired", s).value == pytest.approx(closed, rel=1e-13)


def test_order_of_the_bounds() -> None:
    """Each step of a proof gives away something: the later bound is never the smaller one."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        I = int(rng.integers(2, 1556))
        K, b, S = int(rng.integers(1, 50)), float(rng.integers(1, 50)), int(10 ** rng.uniform(0, 9))
        sigma, zeta, gap = rng.uniform(0, 2, 3)
        s = Setting(S * I, K, b, I, float(rng.uniform(0.1, 4)), sigma, zeta, gap)
        value = {name: formula.value(s) for name, formula in BOUNDS.items()}
        slack = 1 + 1e-12
        assert value["stem-intermediate"] <= value["stem-theorem"] * slack
        assert value["stem-repaired"] <= value["stem-repaired-explicit"] * slack
        assert value["stem-repaired-explicit"] <= value["stem-theorem"] * slack
        assert value["stem-repaired"] <= value["stem-intermediate"] * slack
        if evaluate("stem-log-free", s).applies:
            assert value["stem-repaired"] <= value["stem-log-free"] * slack


def test_log_free_bounds_the_repaired_one_wherever_its_premises_hold() -> None:
    """Up to I far above 20000, with the corollary's own b and m, and every B from b I on."""
    for I in (2, 3, 50, 20_000, 20_001, 10**6):
        for S in (1, 10**3, 10**9):
            for K in (1, 7):
                b = max(1.0, math.sqrt(S) / (I * K))
                m = -(-I // 20000)
                s = Setting(S * I, K, b, I, 1.3, 0.7, 1.9, 0.4, sync_batch=m)
                log_free = evaluate("stem-log-free", s)
                assert log_free.applies
                assert BOUNDS["stem-repaired"].value(s) <= log_free.value


def unmet(name: str, s: Setting) -> list[str]:
    return [premise.name for premise in evaluate(name, s).premises if not premise.ok]


@pytest.mark.parametrize(
    ("name", "change", "premise"),
    [
        ("stem-theorem", {"T": 4001}, "T is a multiple of I"),
        ("stem-theorem", {"I": 40_001, "T": 40_001}, "I/m <= 40000"),
        ("stem-intermediate", {"I": 7501, "T": 7501}, "I/m <= 7500"),
        ("stem-repaired", {"I": 1}, "I >= 2"),
        ("stem-repaired", {"I": 20_001, "T": 20_001}, "I/m <= 20000"),
        ("stem-repaired-explicit", {"I": 1}, "I >= 2"),
        ("stem-log-free", {"T": 4200}, "b >= sqrt(S)/(I K)"),
        ("stem-log-free", {"B": 7}, "B >= b I"),
        ("stem-log-free", {"I": 20_001, "T": 20_001}, "I/m <= 20000"),
        ("stem-rstar-a", {"I": 16, "T": 16}, "I/m <= 8"),
        ("stem-rstar-b", {"T": 4001}, "T is a multiple of I"),
        ("stem-rstar-b", {"sync_batch": 2}, "m = 1 for I <= 8"),
        ("stem-rstar-c", {"I": 33, "T": 33}, "I/m <= 32"),
        ("stem-rstar-d", {"I": 17, "T": 17}, "I/m <= 16"),
        ("stem-rstar-e", {"I": 101, "T": 101}, "I/m <= 100"),
        ("fedavg-theorem", {"T": 6324}, "T >= 81 L^2 I^2 b K"),
    ],
)
def test_each_premise_can_fail_alone(name: str, change: dict[str, Any], premise: str) -> None:
    fine = replace(QUADRATIC, T=1_000_000) if name == "fedavg-theorem" else QUADRATIC
    assert unmet(name, fine) == []
    bad = replace(fine, **change)
    assert unmet(name, bad) == [premise]
    assert not evaluate(name, bad).applies


def test_a_sync_batch_mends_a_large_I() -> None:
    large = replace(QUADRATIC, I=100_000, T=100_000)
    for name, m in (("stem-theorem", 3), ("stem-intermediate", 14), ("stem-repaired", 5)):
        assert unmet(name, replace(large, sync_batch=m)) == []
        assert unmet(name, replace(large, sync_batch=m - 1)) != []


def test_one_local_step_needs_no_sync_batch_and_no_zeta() -> None:
    s = replace(QUADRATIC, I=1)
    for name in ("stem-theorem", "stem-intermediate"):
        assert unmet(name, s) == []
        assert evaluate(name, s).terms["heterogeneity"] == 0
    assert evaluate("fedavg-theorem", s).terms["drift_heterogeneity"] == 0


def test_minibatch_sgd_fixes_its_own_batch_and_says_so() -> None:
    s = replace(QUADRATIC, L=1, T=81_000)
    bound = evaluate("minibatch-sgd", s)
    assert (bound.setting.I, bound.setting.b) == (1, 250)
    assert unmet("minibatch-sgd", s) == ["I = 1", "b = T/(81 K L^2)"]
    assert unmet("minibatch-sgd", replace(s, I=1, b=250)) == []
    assert unmet("minibatch-sgd", replace(s, I=1, b=1, T=323)) == ["T >= 81 K L^2"]


def test_the_minibatch_bound_is_the_fedavg_bound_at_its_batch() -> None:
    s = Setting(81_000, 4, 250, 1, 1, 0.5, 2, 0.9)
    assert unmet("fedavg-theorem", s) == []
    assert evaluate("fedavg-theorem", s).value == evaluate("minibatch-sgd", s).value


def test_theorem_rates_on_the_curve() -> None:
    """Unrounded, both rates are K^{-2nu/3} T^{-(1-nu/3)}; FedAvg's are K^{-nu/2} T^{-2/3+nu/6}."""
    for nu, K, I in [(1.0, 4, 7), (0.5, 3, 5), (0.75, 2, 16)]:
        T = K**2 * I ** (3 / nu)
        b = (T / K**2) ** ((1 - nu) / 2)
        gap = printed_theorem(Setting(T, K, b, I, 1, 0, 0, 1))["gap"]
        assert gap / 34 == pytest.approx(K ** (-2 * nu / 3) * T ** (-1 + nu / 3), rel=1e-12)
        T = K**3 * I ** (4 / nu)
        b = (T / K**3) ** ((1 - nu) / 3)
        terms = BOUNDS["fedavg-theorem"].terms(Setting(T, K, b, I, 1, 1, 1, 1))
        rate = K ** (-nu / 2) * T ** (-2 / 3 + nu / 6)
        assert terms["gap"] / 2 == pytest.approx(rate, rel=1e-12)
        assert terms["drift_heterogeneity"] / 5 * (I / (I - 1)) ** 2 == pytest.approx(rate)
        assert terms["drift_variance"] / 3 * I**2 / (I - 1) == pytest.approx(rate)


def test_huge_runs_neither_overflow_nor_lose_a_term() -> None:
    for T in (1e15, 1e18, 1e30):
        for nu in (0.0, 0.5, 1.0):
            I, b, _ = stem_curve(T, 10, nu)
            s = Setting(T, 10, b, I, 1, 1, 1, 1)
            for name, formula in BOUNDS.items():
                terms = formula.terms(formula.settle(s))
                assert all(math.isfinite(term) for term in terms.values()), name
                assert 0 < formula.value(s) < math.inf
    # Far beyond the constant phase: S3 = log(T/N) + T_c/N, N = 4096, in units of (bK)^2/L^3.
    terms = BOUNDS["stem-intermediate"].terms(Setting(1e15, 1, 1, 1, 1, 1, 0, 1))
    c = 64 + 1 / 24
    expected = 2e-10 * 3 / 64 * c**2 * (1 + math.log(1e15 / 4096))
    assert terms["variance"] == pytest.approx(expected, rel=0.01)


def test_constants_too_large_for_the_format_are_refused() -> None:
    with pytest.raises(UsageError, match="not finite"):
        evaluate("stem-theorem", replace(QUADRATIC, sigma=1e200))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("T", 0),
        ("K", 1.5),
        ("b", 0.5),
        ("I", 0),
        ("L", 0),
        ("sigma", -1),
        ("zeta", float("nan")),
        ("gap", float("inf")),
        ("B", 0),
        ("sync_batch", 0),
    ],
)
def test_bad_settings_are_refused(field: str, value: Any) -> None:
    with pytest.raises(UsageError, match=field):
        replace(QUADRATIC, **{field: value})


def test_an_unknown_bound_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="stem-log-free"):
        evaluate("stem-therem", QUADRATIC)


def test_json_form() -> None:
    form = evaluate("fedavg-theorem", QUADRATIC, grad_sq=0.36).to_dict()
    assert form["premises"][1] == {"name": "T >= 81 L^2 I^2 b K", "ok": False}
    assert form["vacuous_reference"] == {"name": "grad_sq", "value": 0.36}
    assert form["value"] == pytest.approx(sum(form["terms"].values()))


def test_samples_are_oracle_calls() -> None:
    assert samples_per_worker("stem", QUADRATIC) == 8 + 2 * 2 * 4000
    assert samples_per_worker("stem", replace(QUADRATIC, sync_batch=3)) == (
        8 + 2 * 2 * 4000 + 2 * 2 * 2 * 999
    )
    assert samples_per_worker("fedavg", QUADRATIC) == 8000


def test_each_bound_has_its_own_curve() -> None:
    T, K = 10_000, 5
    assert bound_curve("stem-theorem", T, K, 0.5, 1) == stem_curve(T, K, 0.5)
    assert bound_curve("stem-repaired", T, K, 0, 1).I == 2
    log_free = bound_curve("stem-log-free", T, K, 0.3, 1)
    s = Setting(T, K, log_free.b, log_free.I, 1, 1, 1, 1)
    assert log_free.b >= stem_curve(T, K, 0.3).b
    assert "b >= sqrt(S)/(I K)" not in unmet("stem-log-free", s)
    assert bound_curve("minibatch-sgd", 81_000, 4, 0.7, 1) == (1, 250, False)


@pytest.mark.parametrize("T", [1000, 4097, 1_000_000, 10**9 + 1])
@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0])
def test_the_log_free_point_is_that_of_whole_rounds(T: int, nu: float) -> None:
    """T is rounded up to whole rounds after b was chosen: all premises are met there as well."""
    I, b, _ = bound_curve("stem-log-free", T, 4, nu, 1.0)
    s = Setting(-(-T // I) * I, 4, b, I, 1.0, 0.5, 1.0, 1.0)
    assert [p.name for p in evaluate("stem-log-free", s).premises if not p.ok] == []

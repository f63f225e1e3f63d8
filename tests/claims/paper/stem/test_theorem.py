"""The theorem's claims: closed forms by hand and by resampling, and the runs that break it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import BOUNDS, Setting
from stemtheory.claims.base import Case, Comparison, dials
from stemtheory.claims.checking import check
from stemtheory.claims.evidence.measured import measure
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import setting_of, square
from stemtheory.claims.evidence.size_scenes import SizeScene, scene_of_sizes
from stemtheory.claims.exponents import Monomial, exact, fitted, in_terms, letter, solve
from stemtheory.claims.language import letters
from stemtheory.claims.ledger import claims
from stemtheory.claims.paper.special_cases import as_printed, momentumless, shifted
from stemtheory.claims.paper.stem.constants import settings
from stemtheory.claims.paper.stem.theorem import (
    BENIGN,
    BOTH,
    CONTRAST,
    G4,
    LONG,
    company,
    potential_cases,
    run_cases,
)
from stemtheory.claims.paper.table1 import EPSILON, printed, surface
from stemtheory.runtime import Verdict
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules.stepsizes import Theorem
from stemtheory.simulator import together


def over_a_round(path: Path) -> Comparison:
    """Return both sides of M7a in excess form."""
    compare = claims()["M7a"].compare
    assert compare is not None
    return compare(path)


T, K, eps = letter("T"), letter("K"), letter("eps")


def test_products_of_powers() -> None:
    product = (T / K**2) ** Fraction(1, 3) * K
    assert product.powers == {"T": Fraction(1, 3), "K": Fraction(1, 3)}
    assert (T / T).powers == {}
    assert (T**0).powers == {}
    assert in_terms(T * K, T=eps**-1) == Monomial({"K": Fraction(1), "eps": Fraction(-1)})


def test_solving_a_rate() -> None:
    """K^{-1} T^{-2/3} = eps gives T = K^{-3/2} eps^{-3/2}."""
    found = solve(K**-1 * T ** Fraction(-2, 3))
    assert found.powers == {"eps": Fraction(-3, 2), "K": Fraction(-3, 2)}
    with pytest.raises(UsageError, match="no T in it"):
        solve(K)


def test_exponents_of_both_sides_are_compared() -> None:
    assert [(e.found, e.stated) for e in exact("x", T, K)] == [(0.0, 1.0), (1.0, 0.0)]
    slope = fitted("x", lambda x: 3 * x**-1.5, [1.0, 10.0, 100.0], Fraction(-3, 2))
    assert slope.found == pytest.approx(-1.5, abs=1e-12)


def test_noise_alone_fills_two_fifths_of_the_potential() -> None:
    """At the minimum, without error in d_1, t = 1: left is c^2 sigma^2 eta^3/(64 L^2)."""
    path = record(potential_cases("quick")[-1])
    sides = over_a_round(path)
    s, schedule = path.setting, Theorem(1.0, path.case.K, path.case.b, path.case.I)
    noise = schedule.c**2 * s.sigma**2 * float(schedule.eta(1.0)) ** 3 / (64 * s.L**2)
    assert sides.left[0] == pytest.approx(noise, rel=1e-6)
    assert sides.right[0] == pytest.approx((2 + 1 / path.case.b) * noise)


@pytest.mark.parametrize("reading", ["literal", "average-first", "overwrite"])
def test_the_expected_potential_is_the_resampled_one(reading: str) -> None:
    """E||ebar_{t+1}||^2 in closed form against 2000 replicates, 8 steps; |z| < 5: 5e-6 in all."""
    case = Case("cosine", 2, 2, 1, 4, 2, dials(), reading=reading, replicates=2000)
    path = record(case)
    s, t = path.setting, path.t
    eta, before = path.eta[t][:, None], path.eta[t - 1][:, None]
    weight = s.b * s.K / (64 * s.L**2)
    realised = path.f[t + 1] - path.f[t]
    realised = realised + weight * (square(path.ebar[t + 1]) / eta - square(path.ebar[t]) / before)
    realised += 27 * eta / 64 * path.q2[t] + eta / 2 * square(path.G[t])
    left = over_a_round(path).left
    step = np.where((t % case.I == 1)[:, None], left, np.diff(left, axis=0, prepend=0))
    difference = realised - step
    z = difference.mean(axis=1) / (difference.std(axis=1, ddof=1) / math.sqrt(2000))
    assert np.abs(z).max() < 5


def test_the_panel_of_settings_has_both_phases() -> None:
    ends = [s.T / Theorem(s.L, s.K, s.b, s.I).constant_phase_end for s in settings("quick")[0]]
    assert min(ends) < 1e-3
    assert max(ends) > 1e3


def test_sum_of_cubes_is_the_sum() -> None:
    s = Setting(20_000, 1, 1.0, 1, 2.0, 1.0, 1.0, 1.0)
    eta = Theorem(2.0, 1, 1.0, 1).eta(np.arange(20_002))
    scene, l = scene_of_sizes((s,)), letters.l
    for first, last, shift in ((1, 0, 0), (0, 0, 0), (2, 1, 0), (1, 0, -1)):
        node = letters.sum_t(l, first, letters.T + last, letters.eta[l + shift] ** 3)
        wanted = (eta[first + shift : 20_001 + last + shift] ** 3).sum()
        assert scene.evaluation.value(node, scene.times).item() == pytest.approx(wanted, rel=1e-12)
    unknown = letters.sum_t(l, 1, letters.T, letters.eta[l] ** 2)
    assert np.isnan(scene.evaluation.value(unknown, scene.times)).all()


def ends(name: str) -> tuple[Any, Any]:
    """The first and the last side of a claim's chain, over the quick panel of settings."""
    scene, line = scene_of_sizes(settings("quick")[0]), claims()[name].line
    assert line is not None
    sides = (line.steps[0].left, line.steps[-1].right)
    left, right = (np.ravel(scene.evaluation.value(side, scene.times)) for side in sides)
    return left, right


def test_what_the_lines_begin_and_end_with_are_the_terms_of_the_bounds() -> None:
    panel = settings("quick")[0]
    before, theorem = (
        [BOUNDS[name].terms(s) for s in panel] for name in ("stem-intermediate", "stem-theorem")
    )
    log = np.array([math.log1p(s.T) for s in panel])
    gap, variance = np.array([(s.gap, s.sigma**2) for s in panel]).T
    summed = [sum(terms.values()) for terms in before]
    np.testing.assert_allclose(ends("M7d")[0], summed, rtol=1e-9)
    for name, term, factor in (
        ("M7e", "gap", 2 * gap),
        ("M7f", "initial_batch", 1.0),
        ("M7g", "variance", log),
    ):
        stated = [terms[term] for terms in theorem]
        np.testing.assert_allclose(ends(name)[1] * factor, stated, rtol=1e-9)
        assert np.all(ends(name)[0] <= ends(name)[1] * (1 + 1e-9))
    far = [terms["heterogeneity"] for terms in theorem]
    shares = np.array([s.zeta**2 * (s.I - 1) / s.I for s in panel])
    np.testing.assert_allclose(ends("M7g")[1] * log * shares / variance, far, rtol=1e-9)


def bound(name: str, case: Case) -> float:
    return BOUNDS[name].value(setting_of(case))


@pytest.mark.parametrize(
    ("reading", "low", "high"),
    [("literal", 0.0, 0.2), ("average-first", 0.0, 0.2), ("overwrite", 1.4, 2.0)],
)
def test_one_run_tells_the_readings_apart(reading: str, low: float, high: float) -> None:
    """19000 noise-free steps: 283 against 185 under overwrite, 24 where the algorithm is right."""
    case = replace(CONTRAST, reading=reading)
    assert low < measure(case).mean / bound("stem-theorem", case) < high


def test_both_gradients_at_averaged_points_break_the_theorem_too() -> None:
    assert measure(BOTH).mean > 1.5 * bound("stem-theorem", BOTH)
    fine = replace(BOTH, reading="literal")
    assert measure(fine).mean < 0.2 * bound("stem-theorem", fine)


def test_the_benign_run_breaks_the_intermediate_bound_alone() -> None:
    """x_1 is the minimum and there is no noise: only the persistent bias of overwrite moves it."""
    assert measure(BENIGN).mean > 1.5 * bound("stem-intermediate", BENIGN)
    assert measure(BENIGN).mean < bound("stem-theorem", BENIGN)
    fine = replace(BENIGN, reading="literal")
    assert measure(fine).mean < 0.5 * bound("stem-intermediate", fine)


def test_long_runs_are_compiled_together_and_measure_the_same() -> None:
    """Nothing is drawn in them: what the engines differ by is rounding. Alone none is compiled."""
    pytest.importorskip("numba")
    for case in (*LONG, BENIGN):
        *_, run = together([each.run for each in (*LONG, case)])
        assert (run.numerics.engine, case.run.numerics.engine) == ("fused", "auto")
        assert measure(case, LONG).mean == pytest.approx(measure(case).mean, rel=1e-6)


def test_what_the_default_level_adds_is_compiled_and_quick_runs_are_not() -> None:
    """By the runs of the level alone: any reading, any seed, whichever claim asks first."""
    pytest.importorskip("numba")

    def engine(case: Case) -> str:
        return together([each.run for each in (*company(case), case)])[-1].numerics.engine

    quick, default = run_cases("quick"), run_cases("default")
    added = default[len(quick) :]
    assert {engine(case) for case in added} == {"fused"}
    assert engine(replace(added[-1], reading="overwrite", seed=7)) == "fused"
    assert company(replace(added[-1], K=3)) == LONG
    assert {engine(case) for case in set(quick) - set(LONG)} == {"array", "auto"}


@pytest.mark.slow
def test_the_published_counterexample() -> None:
    """K = 16, b = 64, I = 4, T = 120000, h = .005, x1 = 20, zeta = 2: 1305 against 77.2."""
    assert measure(G4).mean == pytest.approx(1305, rel=0.01)
    assert bound("stem-theorem", G4) == pytest.approx(77.2, abs=0.05)


@pytest.mark.parametrize(("name", "least"), [("M7", 3), ("M7b", 5)])
def test_the_bounds_hold_where_they_say_something(name: str, least: int) -> None:
    """Low-noise runs make the printed theorem hold without being vacuous."""
    rows = {row.reading: row for row in check(claims()[name])}
    for reading in ("literal", "average-first"):
        assert rows[reading].verdict == Verdict.HOLDS
        assert rows[reading].cells["holds"] >= least
        assert rows[reading].cells["vacuous"] >= 1
    for reading in ("overwrite", "average-both"):
        assert rows[reading].verdict == rows[reading].expected == Verdict.VIOLATED


def test_a_measured_run_needs_the_clock_at_one() -> None:
    with pytest.raises(UsageError, match="clock"):
        measure(Case("cosine", 2, 1, 1, 2, 2, clock=5.0))


def test_stem_without_momentum_is_fedavg_one_step_later() -> None:
    """2e-16 with the shift; without it the runs part once workers have drifted."""
    several = [case for case in momentumless("quick") if case.I > 1 and case.K > 1]
    for case in several:
        path = record(case)
        assert as_printed(path).left.max() > 1e-3
        assert shifted(path).left.max() < 1e-12
        assert shifted(path, 0).left.max() > 1e-3


def test_figure_one() -> None:
    """At eps = 1e-3 both branches meet at bI = 31.6: 1000 rounds and 31623 samples."""
    edge = EPSILON**-0.5
    assert edge == pytest.approx(31.6, abs=0.05)
    bI = np.array([1.0, edge, 1000.0])
    scene = SizeScene({"b": bI, "I": 1.0, "T": bI, "t": bI, "accuracy": np.full(3, EPSILON)})
    rounds = np.ravel(scene.evaluation.value(surface(1, 1), scene.times))
    assert rounds == pytest.approx([31_623, 1_000, 1_000], rel=1e-4)
    assert rounds * bI == pytest.approx([31_623, 31_623, 1e6], rel=1e-4)


def test_table_one_at_the_ends() -> None:
    ends = printed(Fraction(0))["STEM"], printed(Fraction(1))["STEM"]
    assert (ends[0].b, ends[0].I) == (Fraction(-1, 2), 0)
    assert (ends[1].b, ends[1].I) == (0, Fraction(-1, 2))


@pytest.mark.parametrize(("name", "claim"), [("stem-theorem", "M7"), ("stem-intermediate", "M7b")])
def test_lines_and_bounds_are_one_formula(name: str, claim: str) -> None:
    """The bounds are written a second time in ``stemtheory.bounds``, for runs of any length."""
    panel = settings("quick")[0][::7]
    scene = scene_of_sizes(panel)
    line = claims()[claim].line
    assert line is not None
    found = np.ravel(scene.evaluation.value(line.steps[0].right, scene.times))
    assert found == pytest.approx([BOUNDS[name].value(s) for s in panel], rel=1e-9)

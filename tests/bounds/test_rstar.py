"""Theorem R*: corollary, samples, edges, sharpness, and which runs its bounds speak of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import (
    BOUNDS,
    RSTAR,
    Setting,
    bound_curve,
    bound_document,
    evaluate,
    invert,
    margins,
    rstar_coefficients,
    samples_per_worker,
)
from stemtheory.bounds.verdicts import prospects, spoken
from stemtheory.moments import moments
from stemtheory.moments.linear_model import linear_model
from stemtheory.oracles import load_problem
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import RSTAR_STEPS
from stemtheory.simulator import Run, simulate
from tests.helpers.rstar_page import CURVE, PAGE

ONES: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 1.0, "gap": 1.0}
CONSTANTS: dict[str, Any] = {"L": 1.3, "sigma": 0.7, "zeta": 1.9, "gap": 0.4}
SIZES = [1, 2, 3, 8, 9, 16, 17, 100, 101, 5000]


def on_curve(part: str, I: int, S: int, K: int = 3, **constants: Any) -> Setting:
    """A setting on the curve or just above it, (IbK)^2 >= S, with B = bI and the part's m."""
    b = max(1.0, math.sqrt(S) / (I * K))
    m = math.ceil(I / PAGE[part].M)
    return Setting(S * I, K, b, I, sync_batch=m, **(CONSTANTS | constants))


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("I", SIZES)
def test_on_the_curve_it_is_at_most_C_over_S(part: str, I: int) -> None:
    """With the page's rounded C at every S, and with the exact one where (IbK)^2 = S."""
    gap, variance, heterogeneity, at_one = CURVE[part]
    if I == 1:
        variance, heterogeneity = at_one, 0
    for S in (1, 50, 10**4, 10**9):
        s = on_curve(part, I, S)
        bound = evaluate(f"stem-rstar-{part}", s)
        assert bound.applies
        C = gap * s.L * s.gap + variance * s.sigma**2 + heterogeneity * s.zeta**2
        assert bound.value <= C / S
        if (s.I * s.b * s.K) ** 2 == pytest.approx(S):
            exact = map(float, rstar_coefficients(part, I))
            units = (s.L * s.gap, s.sigma**2, s.zeta**2)
            total = sum(c * u for c, u in zip(exact, units, strict=True))
            assert S * bound.value == pytest.approx(total)


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("nu", [0.0, 0.5, 1.0])
def test_the_curve_is_one_on_which_the_corollary_holds(part: str, nu: float) -> None:
    """And the inversion along it takes C/epsilon rounds at nu = 0, where I never jumps."""
    name = f"stem-rstar-{part}"
    for T in (1, 100, 12_345, 10**9):
        I, b, _ = bound_curve(name, T, 3, nu, 1.0)
        assert (I * b * 3) ** 2 >= T / I * (1 - 1e-12)
    found = invert(name, 1e-4, K=3, nu=nu, **ONES)
    C = float(sum(rstar_coefficients(part, found.I)))
    assert found.rounds <= C / 1e-4 * (1.0001 if nu == 0 else 1.2)
    if nu == 0:  # elsewhere I may be rounded up, and the point lies above the curve
        assert found.rounds >= (1 - 1e-12) * C / 1e-4
    assert found.bound.applies
    assert found.bound.setting.sync_batch == math.ceil(found.I / PAGE[part].M)


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("I", SIZES)
def test_samples_are_at_most_what_the_corollary_says(part: str, I: int) -> None:
    """(3): the minibatches as a run of the reading counts them, S - 1 jumps or S."""
    M, name = PAGE[part].M, f"stem-rstar-{part}"
    for epsilon in (1.0, 1e-3):
        b = 2
        s = Setting(10 * I, 4, b, I, **ONES)
        s = s.at(sync_batch=BOUNDS[name].settle(s).sync_batch, T=max(1, round(10 / epsilon)) * I)
        S, m = s.T / I, s.sync_batch
        for sync in RSTAR_STEPS[part].readings:
            samples = samples_per_worker("stem", s, sync)
            jumps = 0 if I == 1 else S if sync == "average-first" else S - 1
            assert samples == b * I + 2 * b * I * S + 2 * (m - 1) * b * jumps
            assert samples <= b * I + 2 * b * (I - 1 + m) * S
            assert samples <= b * I * (1 + 2 * (1 + 1 / M) * S)
    K = 4
    S = math.ceil(float(sum(rstar_coefficients(part))) / 1e-6)
    b = math.ceil(math.sqrt(S) / (I * K))
    if I <= math.sqrt(S) / K:
        s = on_curve(part, I, S, K).at(b=b)
        assert evaluate(name, s.at(**ONES)).value <= 1e-6
        most = (2 * math.sqrt(S) + 4 * (1 + 1 / M) * S**1.5) / K
        assert samples_per_worker("stem", s, RSTAR_STEPS[part].readings[0]) <= most


@pytest.mark.parametrize("part", PAGE)
def test_a_sync_batch_mends_a_large_I_and_none_is_needed_before(part: str) -> None:
    M, name = PAGE[part].M, f"stem-rstar-{part}"

    def applies(I: int, m: int) -> bool:
        return evaluate(name, Setting(7 * I, 2, 1, I, sync_batch=m, **ONES)).applies

    assert [applies(I, 1) for I in (1, 2, M, M + 1)] == [True, True, True, False]
    assert [applies(M + 1, m) for m in (1, 2, 3)] == [False, True, True]
    assert [applies(10 * M, m) for m in (9, 10, 11)] == [False, True, True]
    # a share of the variance in the potential is not given back below M; part (a) has none there
    assert applies(M, 2) == (part == "a")
    assert applies(1, 5)


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("change", [{"sigma": 0.0}, {"zeta": 0.0}, {"gap": 0.0}, {"b": 2.5}])
def test_edges_are_finite_and_lose_their_terms(part: str, change: dict[str, Any]) -> None:
    s = replace(on_curve(part, 12, 400), **change)
    terms = evaluate(f"stem-rstar-{part}", s).terms
    gone = {"sigma": {"initial_batch", "variance"}, "zeta": {"heterogeneity"}, "gap": {"gap"}}
    zero = gone.get(next(iter(change)), set())
    assert {name for name, value in terms.items() if value == 0} == zero
    assert BOUNDS[f"stem-rstar-{part}"].value(s) > 0


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize(
    ("K", "b", "I"), [(4, 2, 1), (1, 1, 6), (1, 1, 2), (2, 1, 2), (3, 1.5, 8), (2, 1, 40)]
)
def test_exact_moments_keep_below_it_at_every_edge(part: str, K: int, b: float, I: int) -> None:
    """I = 1, K = 1, bK = 1 with I = 2, a real b, and I beyond M, on quadratics that tilt."""
    zeta = 1.0 if K > 1 else 0.0
    problem = load_problem(
        "quadratic", K=K, dim=1, zeta=zeta, sigma=0.8, noise="additive", heterogeneity="tilt"
    )
    for S, B in ((3, None), (300, None), (300, 1.0)):
        for sync in RSTAR_STEPS[part].readings:
            asked: dict[str, Any] = {"T": S * I, "b": b, "I": I, "B": B, "sync": sync, "x1": 0.3}
            asked |= {"schedule": "rstar", "schedule_options": {"part": part}}
            run = Run.of(problem, "stem", **asked)
            found = {margin.name: margin for margin in prospects(run)}[f"stem-rstar-{part}"]
            assert found.unmet == ""
            assert 0 < moments(run).mean_grad_sq <= (found.value or 0)


def test_average_first_with_two_steps_does_not_see_zeta() -> None:
    """The points never differ, so that zeta drops out; with three they do."""

    def value(I: int, zeta: float) -> float:
        own: dict[str, Any] = {"schedule": "rstar", "schedule_options": {"part": "d"}}
        own |= {"K": 3, "dim": 2, "dials": {"zeta": zeta, "heterogeneity": "sinusoid"}}
        run = Run.of("quadratic", "stem", T=60, b=1, I=I, sync="average-first", **own)
        return simulate(run).mean_grad_sq or math.nan

    assert value(2, 9.0) == pytest.approx(value(2, 1.0), rel=1e-9)
    assert value(3, 9.0) != pytest.approx(value(3, 1.0), rel=1e-6)


@pytest.mark.parametrize(("part", "stated"), [("a", 0.869), ("b", 0.867), ("c", 0.862)])
def test_the_first_batch_is_nearly_attained(part: str, stated: float) -> None:
    """One quadratic at its minimum, B = 1: about Lambda/(4 c_0) of the right side, never above."""
    model, I, b = linear_model([1.0], noise_level=1.0), 2, 4096.0
    memory = 4 * b * I
    ratios = []
    for x in np.geomspace(0.2, 30, 30):
        S = max(1, round(x * memory))
        s = Setting(S * I, 1, b, I, L=1.0, sigma=1.0, zeta=0.0, gap=0.0, B=1.0)
        left = moments(
            model, T=S * I, b=b, I=I, B=1.0, x1=0.0,
            schedule="rstar", schedule_options={"part": part},
        ).mean_grad_sq  # fmt: skip
        ratios.append(left / BOUNDS[f"stem-rstar-{part}"].value(s))
    assert max(ratios) == pytest.approx(stated, abs=0.003)
    assert max(ratios) < float(RSTAR[part].lam / (4 * RSTAR_STEPS[part].c_0))


def test_a_run_is_held_against_the_bounds_of_its_steps() -> None:
    own: dict[str, Any] = {"T": 64, "b": 2, "I": 4, "replicates": 8, "K": 2, "dim": 1}

    def named(part: str, **more: Any) -> list[str]:
        options: dict[str, Any] = {"schedule": "rstar", "schedule_options": {"part": part}}
        return [name[-1] for name in spoken(Run.of("quadratic", "stem", **options, **own, **more))]

    assert named("b") == named("a") == named("c") == ["a", "b", "c"]
    assert (named("d"), named("e")) == (["d"], ["e"])
    theorem = spoken(Run.of("quadratic", "stem", **own))
    assert len(theorem) == 5
    assert not any("rstar" in name for name in theorem)
    # steps of nobody's theorem are held against the paper's, as not met
    constant = Run.of("quadratic", "stem", schedule="calibrated", **own)
    assert spoken(constant) == []
    assert {m.unmet for m in prospects(constant)} == {"schedule theorem"}


@pytest.mark.parametrize(
    ("part", "change", "unmet"),
    [
        ("b", {}, ""),
        ("b", {"sync_batch": 1}, "I/m <= 8"),
        ("b", {"sync_batch": 3}, ""),
        ("b", {"sync": "overwrite"}, "sync literal or average-first"),
        ("d", {}, "sync average-first"),
        ("d", {"sync": "average-first"}, ""),
    ],
)
def test_what_a_bound_takes_for_granted(part: str, change: dict[str, Any], unmet: str) -> None:
    own: dict[str, Any] = {"schedule": "rstar", "schedule_options": {"part": part}}
    sizes: dict[str, Any] = {"K": 2, "dim": 1, "T": 200, "b": 1, "I": 20, "replicates": 8}
    trace = simulate(Run.of("quadratic", "stem", **own, **sizes, **change))
    found = {m.name: m for m in margins(trace)}[f"stem-rstar-{part}"]
    assert found.unmet == unmet
    assert (found.verdict == "inapplicable") == bool(unmet)
    assert (found.margin or 0) > 1


def test_the_command_lets_the_bound_choose_m_and_takes_one_that_is_given() -> None:
    at: dict[str, Any] = {"T": 10_000, "K": 2, "b": 1, "I": 1000}
    own = bound_document("stem-rstar-b", **at)
    assert (own["sync_batch"], own["applies"]) == (125, True)
    assert own["samples_per_worker"] == 1000 + 2 * 10_000 + 2 * 124 * 9
    given = bound_document("stem-rstar-b", sync_batch=1, **at)
    assert (given["sync_batch"], given["applies"]) == (1, False)
    assert given["value"] == own["value"]
    assert given["samples_per_worker"] == 1000 + 2 * 10_000
    first = bound_document("stem-rstar-d", **at)
    assert first["samples_per_worker"] == 1000 + 2 * 10_000 + 2 * 62 * 10  # average-first: S jumps
    with pytest.raises(UsageError, match="however long the run"):
        bound_document("stem-rstar-b", epsilon=1e-9, K=2, b=1, I=2)
    found = bound_document("stem-rstar-b", epsilon=1e-5, K=1, nu=1)
    assert found["applies"]
    assert found["sync_batch"] == math.ceil(found["I"] / 8) > 1


@pytest.mark.parametrize("part", PAGE)
@pytest.mark.parametrize("I", [1, 2, 9])
def test_a_huge_first_batch_leaves_what_the_last_variance_costs(part: str, I: int) -> None:
    """beta = max(bI/B, aI), and bI/B alone in (A), whose potential has no variance in it."""
    row, s = PAGE[part], Setting(90, 2, 3, I, **ONES, B=1e12, sync_batch=2 if I == 9 else 1)
    a = row.c0 * row.h**2 / (6 * I**2)
    beta = 3 * I / 1e12 if part == "a" and I > 1 else a * I
    lam = row.lam_1 if I == 1 else row.lam
    stated = 2 * beta / (lam * row.h**2) * I / 90
    for B in (1e12, 1e15):
        have = evaluate(f"stem-rstar-{part}", replace(s, B=B)).terms["initial_batch"]
        still = part != "a" or I == 1
        assert have == pytest.approx(stated if still else stated * 1e12 / B)

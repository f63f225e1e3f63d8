"""heterogeneity and margins: every column against runs and bounds of one's own."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from stemtheory import load_problem, simulate
from stemtheory.bounds import Setting, evaluate
from stemtheory.figures import heterogeneity, margins
from stemtheory.report.drawing import full_caption
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import (
    QUIET,
    Faults,
    Held,
    bar_faults,
    changed,
    drawn,
    look_faults,
    panel_faults,
    places,
    print_faults,
    survivors,
)

FIGURES: dict[str, Any] = {"heterogeneity": heterogeneity, "margins": margins}
Z = float(norm.ppf(0.975))


@lru_cache
def table(name: str) -> FigureTable:
    found: FigureTable = FIGURES[name].table("quick", None, QUIET)
    return found


def interval(M: Any) -> tuple[float, float, float]:
    """Return the mean over replicates and the ends of its two-sided 95 % interval."""
    half = Z * M.std(ddof=1) / math.sqrt(len(M))
    return M.mean(), M.mean() - half, M.mean() + half


def held_interval(held: Held, row: FigureTable, M: Any) -> None:
    """Hold M and its half-widths; 1.96 is rounded, so those to 1e-3."""
    mean, low, high = interval(M)
    held.same("M", row["M"], [mean])
    held.same("M_low", mean - row["M_low"], [mean - low], 1e-3)
    held.same("M_high", row["M_high"] - mean, [high - mean], 1e-3)


@lru_cache
def apart(algorithm: str, I: int, zeta: float) -> Any:
    """Return M of every replicate of one cell of the sweep."""
    more = {"het_phase": math.pi / 4} if zeta else {"heterogeneity": "none"}
    problem = load_problem("quadratic", K=4, dim=1, L=1.0, sigma=0.5, curvature=0.5, zeta=zeta,
                           noise_smoothness=0.5, slack=True, **more)  # fmt: skip
    return simulate(problem, algorithm, T=2048, b=4, I=I, replicates=16, seed=0).grad_sq


def heterogeneity_faults(t: FigureTable) -> list[str]:
    held = Held()
    held.same("zeta", t["zeta"], 6 * [0, 4, 16, 32, 64])
    held.same("I", t["I"], 2 * [I for I in (1, 4, 16) for _ in range(5)])
    held.true("algorithm", t.frame["algorithm"].tolist() == 15 * ["stem"] + 15 * ["fedavg"])
    for algorithm, I, zeta in (("stem", 4, 16.0), ("fedavg", 16, 64.0), ("fedavg", 1, 0.0)):
        row = t.where(algorithm=algorithm, I=I, zeta=zeta)
        M, equal = apart(algorithm, I, zeta), apart(algorithm, I, 0.0)
        held_interval(held, row, M)
        held.same("excess", row["excess"], [abs(M.mean() - equal.mean())], 1e-6)
    held.same("excess at I = 1", t.where(I=1)["excess"], np.zeros(10))
    return held.found


def margins_faults(t: FigureTable) -> list[str]:
    held = Held()
    problems = {n: load_problem(n, K=4, dim=4) for n in ("quadratic", "cosine", "welsch")}
    start = {n: float((p.full_gradient(np.ones(4)) ** 2).sum()) for n, p in problems.items()}
    gaps = {n: float(p.constants(np.ones(4)).gap) for n, p in problems.items()}
    for name in problems:
        held.same("start", t.where(kind="start", series=name)["M"], [start[name]])
        for nu in (0.0, 1.0):
            rows = t.where(kind="measured", series=name, nu=nu)
            T = [256, 1024] if nu == 0 else [_whole(T) for T in (256, 1024)]
            held.same("T", rows["T"], T)
            held_interval(held, rows.where(T=T[1]), _run(name, T[1], nu))
    bound_faults(held, t, gaps, start)
    held.same("least gap", t.facts["least_gap"], min(gaps.values()) / max(gaps.values()))
    return held.found


@lru_cache
def _run(name: str, T: int, nu: float) -> Any:
    problem = load_problem(name, K=4, dim=4)
    return simulate(problem, "stem", T=T, nu=nu, replicates=8, seed=0).grad_sq


def _whole(T: int) -> int:
    """Return T, rounded up to whole rounds at nu = 1: I = (T/K^2)^(1/3)."""
    I: int = round((T / 16) ** (1 / 3))
    return I * math.ceil(T / I)


def bound_faults(
    held: Held, t: FigureTable, gaps: dict[str, float], start: dict[str, float]
) -> None:
    """Hold the bounds at nu = 0, where b = sqrt(T)/K and I = 1, and where they say something."""
    for name in ("stem-theorem", "stem-intermediate"):
        rows = t.where(kind="bound", series=name, nu=0.0)
        held.same("T", rows["T"][[0, -1]], [200, 1e14])
        for i in (10, 60):
            held.same("bound", rows["M"][i], _bound(name, rows["T"][i], max(gaps.values())))
        for place, reached in (("first", any), ("last", all)):
            row = t.where(kind=f"informative {place}", series=name, nu=0.0)
            T, level = row["T"][0], row["M"][0]
            informative = {n: _bound(name, 1.001 * T, gaps[n]) <= start[n] for n in gaps}
            before = {n: _bound(name, 0.98 * T, gaps[n]) <= start[n] for n in gaps}
            held.true(f"informative {place}", reached(informative.values()))
            held.true(f"informative {place}", not reached(before.values()))
            turned = [start[n] for n in gaps if informative[n] and not before[n]]
            held.true(f"informative {place}: level", level in turned)


def _bound(name: str, T: float, gap: float) -> float:
    setting = Setting(round(T), 4, math.sqrt(T) / 4, 1, 1.0, 0.5, 1.0, gap)
    return evaluate(name, setting).value


FAULTS: dict[str, Faults] = {"heterogeneity": heterogeneity_faults, "margins": margins_faults}


@pytest.mark.parametrize("name", FAULTS)
def test_every_column_is_what_it_says(name: str) -> None:
    assert FAULTS[name](table(name)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_column_is_rejected(name: str) -> None:
    assert survivors(table(name), FAULTS[name]) == []


@pytest.mark.parametrize("name", FAULTS)
def test_axes_show_the_columns_that_they_name(name: str) -> None:
    axes = drawn(FIGURES[name].ENTRY, table(name))
    assert panel_faults(table(name), axes) == []
    assert look_faults(axes) == []
    assert print_faults(FIGURES[name].ENTRY, table(name)) == []
    assert bar_faults(table(name), axes) == []
    caption = full_caption(FIGURES[name].ENTRY, table(name), "quick")
    assert "Not claimed" in caption
    assert "nan" not in caption


def test_a_bound_that_never_applies_is_told_as_never() -> None:
    t = table("margins")
    lost = t.frame["series"] == "stem-repaired"
    never = changed(t, T=t.frame["T"].mask(lost & t.frame["kind"].str.startswith("inf"), math.inf))
    assert "repaired never to never" in margins.caption(never)
    drawn_before, after = (drawn(margins.ENTRY, one) for one in (t, never))
    assert sum(map(len, places(after[0]))) == sum(map(len, places(drawn_before[0]))) - 1


def test_the_stretched_scale_goes_there_and_back() -> None:
    forward, inverse = margins.stretched(3e4)
    T = np.array([margins.FIRST, 5e2, 3e4, 2e6, margins.LENGTHS[-1]])
    places = forward(T)
    np.testing.assert_allclose(inverse(places), T)
    np.testing.assert_allclose(places[[0, 2, 4]], [0, margins.SHARE, 1], atol=1e-12)
    assert np.all(np.diff(places) > 0)

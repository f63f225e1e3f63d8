"""docs/theorem-rstar.md: its tables and the numbers of its text are what the code computes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

from stemtheory.bounds import RSTAR, Setting, evaluate, rstar_coefficients
from stemtheory.schedules import RSTAR_STEPS
from tests.helpers.sources import ROOT

TEXT = (ROOT / "docs/theorem-rstar.md").read_text(encoding="utf-8")
ONES: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 1.0, "gap": 1.0}
UP = Fraction(1, 100)


def rows(section: str, heading: str) -> dict[str, list[str]]:
    """The cells of the table under a heading that begins so, by part."""
    part = TEXT.split(f"\n## {section}.")[1].split("\n## ")[0]
    table = part[part.index(heading) :].split("\n\n")[0].splitlines()
    cells = [[c.strip().strip("$") for c in line.strip("|").split("|")] for line in table]
    return {row[0][1].lower(): row[1:] for row in cells if row[0].startswith("(")}


def rounded_up(value: Fraction) -> Fraction:
    """As the page rounds: up to two decimals, so that what it states is a bound."""
    return math.ceil(value / UP) * UP


def number(text: str) -> Fraction:
    """A number or a LaTeX fraction of digits."""
    found = re.fullmatch(r"\\frac(\d)(\d)", text)
    return Fraction(int(found[1]), int(found[2])) if found else Fraction(text)


def test_the_parts_are_those_of_the_package() -> None:
    table = rows("2", "| part |")
    assert list(table) == list(RSTAR) == list(RSTAR_STEPS)
    for part, (eta, _a, c_0, M, readings, lam, A_s, A_z) in table.items():
        steps, stated = RSTAR_STEPS[part], RSTAR[part]
        assert eta == rf"\frac1{{{1 / steps.h}LI}}"
        assert (number(c_0), int(M)) == (steps.c_0, steps.M)
        assert readings == ("both" if len(steps.readings) == 2 else steps.readings[0])
        assert tuple(map(Fraction, (lam, A_s, A_z))) == (stated.lam, stated.A_s, stated.A_z)


@pytest.mark.parametrize("part", RSTAR)
def test_the_coefficients_of_the_corollary(part: str) -> None:
    gap, variance, heterogeneity, one_step, samples = rows("6", "| | $L")[part]
    have = rstar_coefficients(part)
    assert (Fraction(gap), Fraction(variance), Fraction(heterogeneity)) == tuple(
        map(rounded_up, have)
    )
    at_one = rstar_coefficients(part, I=1)
    assert (rounded_up(at_one[1]), at_one[2]) == (Fraction(one_step), Fraction(0))
    assert at_one[0] == have[0]
    assert samples == f"1+1/{RSTAR_STEPS[part].M}"


def C_log_free(I: int) -> float:
    """C of the repaired theorem's corollary with all constants 1: one round, S = 1."""
    return evaluate("stem-log-free", Setting(I, 1, 1.0, I, **ONES)).value


@pytest.mark.parametrize("part", RSTAR)
def test_the_factors_over_the_repaired_theorem(part: str) -> None:
    """Rounds go with C, samples with C^{3/2} and the share of the sync batch."""
    fewer = C_log_free(2) / float(sum(rstar_coefficients(part)))
    stated = rows("6", "| part |")[part]
    samples = fewer**1.5 / (1 + 1 / RSTAR_STEPS[part].M)
    assert stated == [f"{value:.1f}" for value in (fewer, samples, fewer**1.5)]


def test_where_more_is_paid_is_said() -> None:
    """I/m from which zeta^2 is cheaper here, and what part (a) costs where all is noise."""
    unit = Setting(2, 1, 1.0, 2, **(ONES | {"gap": 0.0}))
    log_free = evaluate("stem-log-free", unit).terms
    for part, stated in (("a", 517), ("b", 333), ("c", 902)):
        slope = Fraction("6.5e-4")
        least = (rounded_up(rstar_coefficients(part)[2]) - Fraction("0.004")) / slope
        assert math.ceil(least) == stated
        assert f"{stated} ({part.upper()})" in " ".join(TEXT.split())
    worse = (2.35 / log_free["variance"]) ** 1.5 * (1 + 1 / 8)
    assert worse == pytest.approx(1.08, abs=0.005)
    assert "(A) costs 8 % more samples" in " ".join(TEXT.split())


def test_the_factors_over_the_printed_theorem() -> None:
    T, I, K, b = 8, 2, 1, 1.0  # on the curve: I^3 (bK)^2 = T
    printed = evaluate("stem-theorem", Setting(T, K, b, I, **ONES)).terms
    S, log = T / I, math.log(T + 1)
    assert S * printed["gap"] == pytest.approx(34)
    assert S * printed["initial_batch"] == pytest.approx(8.5)
    assert S * printed["variance"] == pytest.approx(69632 * log)
    gap, variance, heterogeneity = map(float, rstar_coefficients("b"))
    assert S * printed["gap"] / gap > 4.2
    assert S * printed["variance"] / variance / log > 3e4
    assert S * printed["heterogeneity"] / heterogeneity / log > 1.5e5


def test_the_first_line_of_step_seven_has_six_per_cent_to_spare() -> None:
    """With the true I, m and a(I - 1) of each I, bK = 1; the constants are those of section 4."""
    chosen = rows("4", "| part |")
    for part, cells in chosen.items():
        young, p, weights = cells[0], float(cells[1]), [float(w) for w in cells[2].split(",")]
        steps, lam = RSTAR_STEPS[part], float(RSTAR[part].lam)
        h, c_0, kappa = float(steps.h), float(steps.c_0), float(len(steps.readings) == 2)
        for I in (*range(2, 400), 1000, 10_001, 10**6):
            m = steps.sync_batch(I)
            jump = 1.0 if part != "a" and m == 1 else 1 + float(young)
            q = 1 + float(young) if part == "a" else 1.0
            G = math.exp((1 + c_0 * h**2 * (I - 1) / I**2) * h)
            cost = q / lam + (1 + 1 / p) * h**2 / 4
            still = (3 + kappa) * cost * G**2 * h**2
            once = G**2 * h**2 / (lam * (1 - kappa * G * h))
            left = (jump * I / m + kappa * still * lam) * once / (3 * weights[0]) + still / 2
            assert left <= 0.94 * (0.5 - h / (2 * I) - q / lam)


def test_a_larger_sync_batch_is_covered_from_two_on() -> None:
    """tau (m' - 1)/(m - 1) for tau: the noise stays and the jump falls; not so from m = 1."""
    for cells in list(rows("4", "| part |").values())[1:]:
        tau = Fraction(cells[0])
        for m in range(2, 12):
            jumps = []
            for more in range(m, m + 40):
                own = tau * Fraction(more - 1, m - 1)
                assert (more - 1) / own == (m - 1) / tau
                jumps.append((1 + own) / more)
            assert jumps == sorted(jumps, reverse=True)
            assert jumps[0] <= 1
    assert "for $I\\le M$ these parts are\nproved for $m=1$ alone" in TEXT


def test_who_refereed_it_is_said() -> None:
    assert "refereed within this project only" in " ".join(TEXT.split())

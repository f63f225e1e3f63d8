"""The figure of tightened theorems: every column again, by another way, and what is drawn."""

import json
import math
import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds import Setting, evaluate, rstar_coefficients
from stemtheory.certificates import shipped
from stemtheory.figures import tightened as figure
from stemtheory.moments import moments
from stemtheory.report.figure_table import FigureTable
from stemtheory.schedules import theorem_c_b
from tests.figures.columns import (
    QUIET,
    Held,
    bar_faults,
    drawn,
    look_faults,
    panel_faults,
    print_faults,
    survivors,
)

STEM_SERIES = {
    "printed": ("printed theorem", "Theorem R"),
    "R*": ("Theorem R*",),
    "certificate": ("certificate",),
}
ROOT = Path(__file__).parents[2]
CERTIFIED = [(I, b) for I in (2, 4, 8) for b in (1, 4)]
H = 0.182


@lru_cache
def table() -> FigureTable:
    return figure.table("quick", None, QUIET)


@lru_cache
def stated_by(I: int, b: int) -> dict[str, Any]:
    path = shipped()[f"literal-I{I}-K4-b{b}-tuned"]
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["statement"]
    return found


def steps(series: str, I: int, b: int) -> tuple[float, float]:
    """Return eta and a at K = 4, as the theorems write them."""
    if series == "printed":
        c = float(theorem_c_b(4, b, I)) / (4 * b)
        return 1 / (16 * I), c / (16 * I) ** 2
    if series == "R*":
        return 1 / (4 * I), 3 / (8 * b * 4 * I * I)
    s = stated_by(I, b)
    return float(Fraction(s["eta"])), float(Fraction(s["a"]))


def proved(series: str, I: int, b: int, sigma2: float, zeta2: float) -> float:
    """Return S times a bound at L = gap = 1, S = (4 I b)^2."""
    if series == "Theorem R*":
        return float(np.dot([float(c) for c in rstar_coefficients("b")], [1, sigma2, zeta2]))
    if series == "certificate":
        s = {n: Fraction(v) for n, v in stated_by(I, b).items() if n in NUMBERS}
        n = 4 * I * b
        c_S, c_Z = s["lambda"] / n + n * n * s["C_sigma"], n * n * s["C_zeta"]
        return float(2 / (s["eta"] * I) * (1 + c_S * Fraction(sigma2) + c_Z * Fraction(zeta2)))
    S = (4 * I * b) ** 2
    name = {"printed theorem": "stem-theorem", "Theorem R": "stem-repaired"}[series]
    at = Setting(S * I, 4, b, I, L=1.0, sigma=sigma2**0.5, zeta=zeta2**0.5, gap=1.0)
    return S * evaluate(name, at).value


NUMBERS = ("eta", "lambda", "C_sigma", "C_zeta")


def gap_part(T: float, eta: float) -> float:
    """Return the mean of x_t^2 from x_1 = sqrt(2) on f = x^2/2 without noise: a geometric sum.

    Without noise the direction is the gradient, whatever the algorithm.
    """
    ratio = (1 - eta) ** 2
    return -2 * math.expm1(T * math.log(ratio)) / (1 - ratio) / T


@lru_cache
def noise_part(
    of: str, T: int, I: int, b: float, eta: float | None, a: float, sigma: float, zeta: float
) -> float:
    bowl = load_problem(
        "quadratic", K=4, dim=1, h=H, noise="multiplicative", sigma=sigma, zeta=zeta,
        noise_smoothness=math.sqrt(1 - H * H), heterogeneity="tilt",
    )  # fmt: skip
    run: dict[str, Any] = {"T": T, "I": I, "b": b, "x1": 0.0}
    if eta is not None:
        run |= {"schedule": "constant", "schedule_options": {"eta": eta, "a": a}}
    return moments(bowl, of, **run).mean_grad_sq


def keys(t: FigureTable) -> list[tuple[Any, ...]]:
    return [tuple(row[n] for n in ("over", "kind", "series", "I", "b", "zeta2"))
            for row in t.records()]  # fmt: skip


def expected_keys() -> list[tuple[Any, ...]]:
    """Return what stands in the rows of STEM, in their order."""
    found = []
    places = [("epsilon", 1.0, family, 4, 2**n) for n in range(18) for family in ("printed", "R*")]
    places += [("epsilon", 1.0, "certificate", I, b) for I, b in CERTIFIED]
    after = [("zeta", 4.0**n, family, 4, 4) for n in range(-1, 8) for family in STEM_SERIES]
    for over, zeta2, family, I, b in (*places, *after):
        found.append((over, "run", family, I, float(b), zeta2))
        found += ((over, "bound", name, I, float(b), zeta2) for name in STEM_SERIES[family])
    return found


def tightened_faults(t: FigureTable) -> list[str]:
    held = Held()
    other = t.frame["series"].isin(("fedavg", "sgd")).to_numpy()
    held.true("keys", keys(t.kept(~other)) == expected_keys())
    held.same("value", t["value"], t["rounds"] * t["epsilon"])
    for row in t.kept(~other).records():
        I, b = int(row["I"]), int(row["b"])
        S, zeta2 = (4 * I * b) ** 2, row["zeta2"]
        sigma2 = 1.0 if row["over"] == "epsilon" else zeta2 / 64
        held.same("samples", row["samples"], b * I + 2 * b * I * S)
        held.same("rounds", row["rounds"], S)
        if row["kind"] == "bound":
            held.same("bound", row["value"], proved(row["series"], I, b, sigma2, zeta2))
            held.true("noise of a bound", math.isnan(row["noise"]))
        elif b <= 4:
            eta, a = steps(row["series"], I, b)
            noise = noise_part("stem", S * I, I, b, eta, a, sigma2**0.5, zeta2**0.5)
            held.same("noise", row["noise"], S * noise)
            gap = gap_part(S * I, eta)
            held.same("run", row["epsilon"], noise + gap, rtol=1e-7)
    held.found += others_faults(t.kept(other))
    return held.found


def others_faults(t: FigureTable) -> list[str]:
    """Hold FedAvg on its curve, T = K^3 I^8 and b = I^(4/3) at nu = 1/2, and minibatch SGD.

    Both have the step sqrt(bK/T), which is 1/9 of the latter.
    """
    held = Held()
    n = len(t.where(series="fedavg")["I"])
    I = np.concatenate([t.where(series="fedavg")["I"], np.ones(18)])
    T = np.concatenate([64.0 * I[:n] ** 8, 2.0 ** np.arange(9, 27)])
    b = np.concatenate([I[:n] ** (4 / 3), T[n:] / 324])
    held.true("series", t.frame["series"].tolist() == ["fedavg"] * n + ["sgd"] * 18)
    held.true("FedAvg: I", 2 <= n <= 20 and sorted(set(I[:n])) == list(I[:n]))
    held.true("kind, over", keys(t) == [("epsilon", "run", r["series"], r["I"], r["b"], 1.0)
                                        for r in t.records()])  # fmt: skip
    held.same("I", t["I"], I)
    held.same("b", t["b"], b)
    held.same("rounds", t["rounds"], T / I)
    held.same("samples", t["samples"], b * T)
    gaps = [gap_part(*at) for at in zip(T, np.sqrt(4 * b / T), strict=True)]
    held.same("epsilon", t["epsilon"] - t["noise"] / t["rounds"], gaps, rtol=1e-6)
    for i in (0, 1, n, n + 1):
        own = noise_part("fedavg", int(T[i]), int(I[i]), b[i], None, 0.0, 1.0, 1.0)
        held.same("noise", t["noise"][i], T[i] / I[i] * own)
    return held.found


def test_every_column_is_what_it_says() -> None:
    assert tightened_faults(table()) == []


def test_a_wrong_column_is_rejected() -> None:
    assert survivors(table(), tightened_faults) == []


def test_axes_show_the_columns_that_they_name() -> None:
    axes = drawn(figure.ENTRY, table())
    assert panel_faults(table(), axes) == []
    assert look_faults(axes) == []
    assert print_faults(figure.ENTRY, table()) == []
    assert bar_faults(table(), axes) == []


def test_no_run_is_above_what_is_proved() -> None:
    t = table()
    for run in t.where(kind="run").records():
        for name in STEM_SERIES.get(run["series"], ()):
            place = {n: run[n] for n in ("over", "I", "b", "zeta2")}
            (bound,) = t.where(kind="bound", series=name, **place).records()
            assert run["value"] < bound["value"], (name, place)


def test_what_is_said_of_gains_and_of_the_price_of_zeta() -> None:
    """R* gains 3.4 and 6.2 over Theorem R and loses where .215 zeta^2 + .43 sigma^2 is above 24."""
    t, pair = table(), ("Theorem R", "Theorem R*")
    assert figure.ratio(t, "bound", pair, "rounds") == pytest.approx(34.42 / 10.2, rel=0.01)
    assert figure.ratio(t, "bound", pair, "samples") == pytest.approx(3.375**1.5, rel=0.01)
    assert figure.ratio(t, "run", ("printed", "R*"), "rounds") == pytest.approx(3.24, rel=0.01)
    own, theirs = (8, 0.22 + 1.99 / 64), (32, 0.0066 + 2.42 / 64)
    at = (theirs[0] - own[0]) / (own[1] - theirs[1])
    assert figure.crossing(t, "bound", "Theorem R*", "Theorem R") == pytest.approx(at, rel=0.05)
    assert math.isnan(figure.crossing(t, "run", "R*", "printed"))
    assert 300 < figure.crossing(t, "run", "certificate", "printed") < 900
    text = figure.caption(t)
    assert "Not claimed" in text
    assert "nan" not in text


def test_the_page_has_the_numbers_of_the_figure() -> None:
    t, page = table(), (ROOT / "docs" / "tighten.md").read_text(encoding="utf-8")
    for kind, pair, samples, rounds in (
        ("bound", ("printed theorem", "Theorem R*"), "1.7e8", "3.0e5"),
        ("bound", ("Theorem R", "Theorem R*"), "6.2", "3.4"),
        ("run", ("printed", "R*"), "5.8", "3.2"),
        ("run", ("fedavg", "R*"), "4.5", "20"),
        ("run", ("sgd", "R*"), "5.0", "1.9"),
    ):
        assert f"| {samples} | {rounds} |" in page
        assert figure.ratio(t, kind, pair, "samples") == pytest.approx(float(samples), rel=0.02)
        assert figure.ratio(t, kind, pair, "rounds") == pytest.approx(float(rounds), rel=0.03)
    alone = {
        (name, b): t.where(over="epsilon", kind="run", series=name, b=b)["noise"][0]
        for name in ("printed", "R*") for b in (1.0, 4.0)
    }  # fmt: skip
    for b, more, said in (
        (4.0, "R*", "from 1.58 to 1.36"),
        (1.0, "printed", "1.03 instead of 0.85"),
    ):
        one, other = re.findall(r"\d\.\d+", said)
        assert said in page
        assert f"{alone['printed', b]:.2f}" == (one if more == "R*" else other)
        assert f"{alone['R*', b]:.2f}" == (other if more == "R*" else one)
    for kind, one, other, at in (
        ("bound", "Theorem R*", "Theorem R", "zeta^2 = 119"),
        ("run", "certificate", "printed", "555"),
    ):
        assert f"from {at} " in page
        assert at.endswith(f"{figure.crossing(t, kind, one, other):.3g}")


@pytest.mark.parametrize("series", ["R*", "certificate"])
def test_the_linear_noise_is_that_of_phase_noise_where_zeta_is_largest(series: str) -> None:
    """Simulated without linearising, within 4 standard errors: a false alarm in 1e4."""
    eta, a = steps(series, 4, 4)
    bowl = load_problem("quadratic", K=4, dim=1, h=H, noise="phase", sigma=1.0, zeta=8.0,
                        noise_smoothness=math.sqrt(1 - H * H), heterogeneity="tilt")  # fmt: skip
    own: dict[str, Any] = {"schedule": "constant", "schedule_options": {"eta": eta, "a": a}}
    run = simulate(bowl, "stem", T=16384, I=4, b=4, x1=0.0, replicates=64, seed=1, **own)
    exact = noise_part("stem", 16384, 4, 4, eta, a, 1.0, 8.0)
    assert run.stderr is not None
    assert run.mean_grad_sq == pytest.approx(exact, abs=4 * run.stderr)

"""The figure of certificates: every column again, by another way, and what is drawn."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds import Setting, evaluate
from stemtheory.certificates import shipped
from stemtheory.figures import certificates as figure
from stemtheory.moments import moments
from stemtheory.report.figure_table import FigureTable
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

PARTS = ("gap_part", "sigma_part", "zeta_part")
NO_ZETA = 1e-6  # where heterogeneity costs nothing: I = 1, and I = 2 if averaged first


@lru_cache
def table() -> FigureTable:
    return figure.table("quick", None, QUIET)


def stated_by(reading: str, I: int, steps: str) -> dict[str, Any]:
    path = shipped()[f"{reading}-I{I}-K4-b1-{steps}"]
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["statement"]
    return found


def of_a_file(s: dict[str, Any], I: int) -> list[float]:
    """Return c_D, c_S and c_Z of a file, as shared sums write them, from its own constants."""
    eta, lam, C_sigma, C_zeta = (Fraction(s[n]) for n in ("eta", "lambda", "C_sigma", "C_zeta"))
    n = 4 * I
    found = 2 / (eta * I) * np.array([1, lam / n + n * n * C_sigma, n * n * C_zeta])
    return [float(c) for c in found]


def certificates_faults(t: FigureTable) -> list[str]:
    held = Held()
    for reading in ("literal", "average-first"):
        own = t.where(reading=reading)
        for series in ("printed theorem", "Theorem R", "certified", "worst run found"):
            held.same("I", own.where(series=series)["I"], [1, 2, 4])
        for steps, name in (("printed", ""), ("tuned", figure.TUNED)):
            for I in (2, 4):
                (row,) = own.where(series="certified" + name, I=I).records()
                s = stated_by(reading, I, steps)
                held.same("parts", [row[p] for p in PARTS], of_a_file(s, I))
                held.same("value", row["value"], sum(of_a_file(s, I)))
                (run,) = own.where(series="worst run found" + name, I=I).records()
                held.same("run", run["value"], run["gap_part"] + run["sigma_part"])
                held.same("run: zeta", run["zeta_part"], 0.0)
                held.true("below", run["value"] < row["value"])
                held.true("least", all(run[p] >= at_one(s, reading, p) for p in PARTS[:2]))
                held.true("most", all(run[p] <= 1.2 * at_one(s, reading, p) for p in PARTS[:2]))
        (first,) = own.where(series="certified", I=1).records()  # certificates.md, section 6
        held.same("I = 1", first["value"], 34.1942, rtol=1e-4)
        held.same("I = 1: parts", sum(first[p] for p in PARTS), first["value"])
        held.same("I = 1: gap", first["gap_part"], 32.0)
        held.true("I = 1: zeta", first["zeta_part"] < NO_ZETA)
        (alone,) = own.where(series="worst run found", I=1).records()
        held.same("I = 1: run", alone["value"], alone["gap_part"] + alone["sigma_part"])
        for I in (1, 2, 4):
            S = (4 * I) ** 2
            setting = Setting(S * I, 4, 1, I, L=1.0, sigma=1.0, zeta=1.0, gap=1.0)
            (row,) = own.where(series="printed theorem", I=I).records()
            held.same("printed", row["value"], S * evaluate("stem-theorem", setting).value)
            held.true("by hand: no parts", all(math.isnan(row[p]) for p in PARTS))
            (row,) = own.where(series="Theorem R", I=I).records()
            repaired = S * evaluate("stem-repaired", setting).value if I > 1 else math.nan
            held.same("Theorem R", row["value"], repaired)
            held.true("Theorem R: no parts", all(math.isnan(row[p]) for p in PARTS))
    return held.found


@lru_cache
def _at_one(reading: str, I: int, eta: float, a: float, part: str) -> float:
    sigma = float(part == "sigma_part")
    bowl = load_problem(
        "quadratic", K=4, dim=1, curvature=1.0, noise="additive", sigma=sigma, zeta=0
    )
    run: dict[str, Any] = {
        "T": 16 * I**3,
        "b": 1,
        "I": I,
        "sync": reading,
        "x1": 0.0 if sigma else math.sqrt(2),
        "schedule": "constant",
        "schedule_options": {"eta": eta, "a": a},
    }
    if sigma:
        return 16 * I * I * moments(bowl, "stem", **run).mean_grad_sq
    found = simulate(bowl, "stem", replicates=1, **run).mean_grad_sq
    assert found is not None
    return 16 * I * I * found


def at_one(s: dict[str, Any], reading: str, part: str) -> float:
    """Return a part at curvature 1: one of those searched, and near to the worst of them."""
    eta, a = float(Fraction(s["eta"])), float(Fraction(s["a"]))
    return _at_one(reading, s["I"], eta, a, part) * (1 - 1e-9)


def test_every_column_is_what_it_says() -> None:
    assert certificates_faults(table()) == []


def test_a_wrong_column_is_rejected() -> None:
    assert survivors(table(), certificates_faults) == []


def test_axes_show_the_columns_that_they_name() -> None:
    axes = drawn(figure.ENTRY, table())
    assert panel_faults(table(), axes) == []
    assert look_faults(axes) == []
    assert print_faults(figure.ENTRY, table()) == []
    assert bar_faults(table(), axes) == []


def test_the_caption_says_what_is_not_claimed() -> None:
    text = figure.caption(table())
    assert "Not claimed" in text
    assert "nan" not in text


def test_without_a_solver_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert figure.lacks("quick") is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "stemtheory[certify]" in str(figure.lacks("quick"))

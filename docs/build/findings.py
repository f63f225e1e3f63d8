"""The page docs/findings.md: a template of words, and every number in it computed here.

No finding stands in the page by hand, and none is computed in vain (``templates.fill``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from docs.build.templates import filled, table_row
from stemtheory.bounds import REPAIRED, Setting, evaluate, invert, rstar_coefficients
from stemtheory.claims import (
    ELEMENTARY_LONGEST,
    Case,
    Flat,
    claims,
    growth,
    printed_longest,
    record,
    replay,
    shipped,
    square,
    together,
    worst,
)
from stemtheory.report import PRINTED, READINGS, matrix
from stemtheory.runtime import Verdict
from stemtheory.schedules import RSTAR_STEPS, theorem_c_b, theorem_eta, theorem_sum_eta_cubed

THREE = READINGS[:3]


def pages() -> dict[str, str]:
    """Return the page: its path below docs/ to its text."""
    return {"findings.md": filled("findings.template.md", values())}


def values() -> dict[str, str]:
    """Return the text of every value, from quick runs alone."""
    return {
        **readings_values(),
        "counterexamples": counterexample_rows(),
        **theorem_values(),
        **bias_values(),
        **threshold_values(),
        **repaired_values(),
        **rstar_values(),
        **looseness_values(),
        "vacuous": vacuous_rows(),
        "fedavg": fedavg_rows(),
        **condition_values(),
        **summation_values(),
    }


def readings_values() -> dict[str, str]:
    """Return which line of the proof fails under which reading, and M3 also given the past."""
    document = together.verify(list(PRINTED), jobs=1)
    rows = {
        row["reading"]: row["conditional"]
        for row in document["claims"]
        if row["id"] == "M3" and row["conditional"]
    }
    worst_past = {
        f"past_{reading.replace('-', '_')}": f"{max(map(given_past, cases)):.3g}"
        for reading, cases in rows.items()
    }
    broken = rows["overwrite"]
    return {
        "matrix": readings_table(document),
        **worst_past,
        "past_cases": f"{len(broken)}",
        "mean_cases": f"{sum(case['verdict'] == Verdict.VIOLATED for case in broken)}",
        "past_rows": "\n".join(map(past_row, broken)),
    }


def given_past(found: Mapping[str, Any]) -> float:
    """Return left over right of the worst replicate."""
    return 1 / float(found["conditional_margin"])


def past_row(found: Mapping[str, Any]) -> str:
    """Return a case that breaks M3 given the past, and what it is in expectation."""
    case = Case.from_json(found["case"])
    sigma = case.run.problem.load().constants(case.run.start).sigma
    run = f"{case.problem}, K={case.K}, b={case.b:g}, I={case.I}, sigma={sigma:g}"
    limits = f"{found['ratio_low']:.2g} to {found['ratio_high']:.2g}"
    if found["replicates"] == 1:
        limits = f"{found['ratio_low']:.3g}"
    return table_row(run, f"{given_past(found):.3g}", limits, found["verdict"])


def readings_table(document: Mapping[str, Any]) -> str:
    """Return which line of the proof fails under which reading."""
    known = claims()
    found = matrix(document, known)
    head = [table_row("line", "label", *THREE), table_row(*["---"] * 5)]
    body = [
        table_row(
            f"`{name}` {title}", f"`{known[name].label}`", *(cells[reading] for reading in THREE)
        )
        for name, title, cells in found.printed
    ]
    return "\n".join(head + body)


def counterexample_rows() -> str:
    """Return both sides of the shipped counterexamples of STEM's lemmas, computed again."""
    names = [name for name in shipped() if name.split("-")[0] in ("M1", "M2", "M3", "M5")]
    out = []
    for name in names:
        found = replay(shipped()[name])
        case = Case.from_json(found["case"])
        run = f"{case.problem}, K={case.K}, b={case.b:g}, I={case.I}"
        right = f"{found['right']:.4g}" if found["right"] > 1e-18 else "0"
        out.append(table_row(f"`{name}`", f"{found['left']:.4g}", right, found["t"], run))
    return "\n".join(out)


def theorem_values() -> dict[str, str]:
    """Return the run on which the printed theorem fails under overwrite, under all readings."""
    case = stored_case("M7-overwrite")
    names = ("M7", "M7b")
    lines = []
    for reading in THREE:
        sides = [worst(claims()[name], replace(case, reading=reading)) for name in names]
        cells = [f"{found.right:.4g}" for found in sides if found is not None]
        measured = next(found.left for found in sides if found is not None)
        lines.append(table_row(f"`{reading}`", f"{measured:.4g}", *cells))
    d = dict(case.dials)
    run = (
        f"One run with K = {case.K}, b = {case.b:g}, I = {case.I}, T = {case.T}, L = {d['L']:g},"
        f" zeta = {d['zeta']:g}, mean curvature {d['h']:g}, sigma = 0, x_1 = {case.x1:g}"
    )
    return {"theorem_run": run, "theorem_table": "\n".join(lines)}


def stored_case(name: str) -> Case:
    """Return the case of a shipped case file."""
    return Case.from_json(json.loads(shipped()[name].read_text())["case"])


def bias_values() -> dict[str, str]:
    """Return ||E[ebar_{t+1} | F_t] - (1 - a) ebar_t|| at the first synchronisation."""
    case = stored_case("M3-overwrite")
    found = {}
    for reading in THREE:
        path = record(replace(case, reading=reading))
        size = float(np.sqrt(square(path.bias[case.I]))[0])
        # below the resolution of the gradients, which are of size 1, it is rounding
        text = f"{size:.3g}" if size > 1e-14 else "0"
        found[f"bias_{reading.replace('-', '_')}"] = text
    return found


BELOW, ABOVE = 144, 160  # bKI on either side of the threshold


def threshold_values() -> dict[str, str]:
    """Return where the linear recursion under overwrite turns from decay to growth; V = L^2."""
    flat = Flat(I=8, V=1.0)
    law = 128 / (flat.V * (1 - 1 / flat.I))
    turn = float(brentq(lambda bKI: growth(flat, bKI), law / 2, 2 * law))
    return {
        "threshold_law": f"{law:.1f}",
        "threshold_measured": f"{turn:.1f}",
        "below": f"{BELOW}",
        "above": f"{ABOVE}",
        "growth_below": f"{growth(flat, BELOW):+.1e}",
        "growth_above": f"{growth(flat, ABOVE):+.1e}",
    }


def repaired_values() -> dict[str, str]:
    """Return the ranges of the repaired theorem and its explicit constant in sigma^2."""
    s = Setting(T=8e3, K=4, b=2, I=8, L=1.0, sigma=1.0, zeta=0.0, gap=1.0)
    printed = evaluate("stem-theorem", s).terms["variance"]
    explicit = evaluate("stem-repaired-explicit", s).terms["variance"]
    ratio = printed / explicit
    return {
        "range_printed": f"{REPAIRED['b'].longest}",
        "elementary_printed": f"{printed_longest()}",
        "elementary_sum": f"{ELEMENTARY_LONGEST}",
        "range_sum": f"{REPAIRED['c'].longest}",
        "explicit_sigma": f"{65536 / ratio:.0f}",
        "explicit_ratio": f"{ratio:.1f}",
    }


def rstar_values() -> dict[str, str]:
    """Return C of Theorem R*, part (b), beside the log-free corollary's, and what it saves."""
    ones: dict[str, Any] = {"L": 1.0, "sigma": 1.0, "zeta": 1.0, "gap": 1.0}
    two, four = (evaluate("stem-log-free", Setting(I, 1, 1.0, I, **ones)).terms for I in (2, 4))
    slope = (four["heterogeneity"] - two["heterogeneity"]) / 2
    constant, M = two["heterogeneity"] - 2 * slope, RSTAR_STEPS["b"].M
    C = rstar_coefficients("b")
    saved = float(sum(two.values()) / sum(C))
    gap, variance, heterogeneity = (math.ceil(100 * value) / 100 for value in C)
    return {
        "rstar": f"{gap:g} L gap + {variance:g} sigma^2 + {heterogeneity:g} zeta^2",
        "log_free": f"{two['gap']:g} L gap + {two['variance']:g} sigma^2"
        f" + ({constant:.3g} + {slope:.3g} I/m) zeta^2",
        "rstar_rounds": f"{saved:.1f}",
        "rstar_samples": f"{saved**1.5 / (1 + 1 / M):.1f}",
        "rstar_M": f"{M}",
    }


# the last two lie on the trade-off curve I^3 (bK)^2 = T
LOOSE = ((2, 1, 1, 1e8), (4, 1, 4, 1e6), (8, 4, 8, 1e7), (4, 1, 4, 1024), (8, 4, 8, 524288))


def looseness(K: int, b: float, I: int, T: float) -> dict[str, float]:
    """Return the factors between the intermediate bound's sigma^2 term and the theorem's."""
    T = math.ceil(T / I) * I
    cubes = float(theorem_sum_eta_cubed(float(T), 1.0, K, b, I))
    outer = 1 / (float(theorem_eta(float(T), 1.0, K, b, I)) * T)
    spread = 16 * I / T + 1 / (b * K * T) ** (2 / 3)
    return {
        "log": (b * K) ** 2 * math.log1p(T) / cubes,
        "c": (128 / float(theorem_c_b(K, b, I))) ** 2,
        "rounding": (1 / 4) / (3 / 32),
        "eta_T": spread / outer,
    }


def looseness_values() -> dict[str, str]:
    """Return the factors and their product, which is checked against the two bounds."""
    head = [table_row("K", "b", "I", "T", '"log"', '"c"', '"rounding"', '"eta_T"', "product")]
    head.append(table_row(*["---:"] * 9))
    body, products = [], []
    for K, b, I, T in LOOSE:
        factors = looseness(K, b, I, T)
        s = Setting(math.ceil(T / I) * I, K, b, I, 1.0, 1.0, 0.0, 1.0)
        terms = [evaluate(n, s).terms["variance"] for n in ("stem-theorem", "stem-intermediate")]
        products.append(math.prod(factors.values()))
        if not math.isclose(terms[0] / terms[1], products[-1], rel_tol=1e-9):
            raise ValueError(f"the steps multiply to {products[-1]}, the bounds to {terms}")
        cells = (f"{factor:.3g}" for factor in factors.values())
        star = "*" if s.T == I**3 * (b * K) ** 2 else ""
        shown = f"{s.T:.3g}{star}"
        body.append(table_row(K, f"{b:g}", I, shown, *cells, f"{products[-1]:.2g}"))
    loosest = f"{min(products):.2g} to {max(products):.2g}"
    return {"looseness": "\n".join(head + body), "loosest": loosest}


VACUOUS = ((2, 1, 2), (8, 2, 4), (16, 8, 8), (100, 8, 61))


def vacuous_rows() -> str:
    """Return the smallest T at which each bound says more than standing still."""
    out = []
    for K, b, I in VACUOUS:
        for noise in (1.0, 1e-2):
            s = Setting(1e6, K, b, I, 1.0, math.sqrt(noise), math.sqrt(noise), 5.0)
            names = ("stem-theorem", "stem-intermediate", "stem-repaired")
            first = (evaluate(name, s, grad_sq=1.0).vacuous_below_T for name in names)
            cells = ("never" if T is None else f"{T:.2g}" for T in first)
            out.append(table_row(K, b, I, f"{noise:g}", *cells))
    return "\n".join(out)


def fedavg_rows() -> str:
    """Return rounds and samples of the FedAvg theorem with the batch of fewest rounds."""
    out = []
    for I in (1, 2, 8, 100):
        name = "minibatch-sgd" if I == 1 else "fedavg-theorem"
        zeta = 0.0 if I == 1 else 1.0
        own: dict[str, Any] = {"K": 1, "L": 1.0, "sigma": 1.0, "zeta": zeta, "gap": 1.0, "I": I}
        tried = [invert(name, 1e-4, b=10 ** (j / 16), **own) for j in range(81)]
        best = min(tried, key=lambda found: found.rounds)
        cells = (f"{best.rounds:.3g}", f"{best.samples_per_worker:.3g}")
        out.append(table_row(I, f"{best.b:.3g}", *cells))
    return "\n".join(out)


def condition_values() -> dict[str, str]:
    """Return measured exponents beyond T = K^2 and K^3, and how far STEM(a=1) is from FedAvg."""
    stem, fedavg = (replay(shipped()[f"{name}-literal"]) for name in ("T1-K2", "F5-K3"))
    special = replay(shipped()["SP1-literal"])
    return {
        "speedup_stem": exponent(stem["left"]),
        "speedup_fedavg": exponent(fedavg["left"]),
        "speedup_fedavg_stated": exponent(fedavg["right"]),
        "fedavg_gap": f"{special['left']:.3g}",
    }


def exponent(value: float) -> str:
    """Return an exponent with two decimals, never as -0."""
    return f"{value if abs(value) >= 0.005 else 0.0:.2f}"


def sides(name: str) -> Any:
    """Return both sides of a claim about sequences for the first, a_t = 1 up to T = 10."""
    claim = claims()[name]
    assert claim.compare is not None
    assert claim.cases is not None
    return claim.compare(claim.cases("quick")[0])


def summation_values() -> dict[str, str]:
    """Return the sides of the summation lemma as printed and corrected, at a_t = 1, T = 10."""
    printed, fixed = (sides(name) for name in ("U2", "U2-corrected"))
    return {
        "u2_left": f"{float(printed.left[0]):.3f}",
        "u2_right": f"{float(printed.right[0]):.3f}",
        "u2_fixed": f"{float(fixed.left[0]):.3f}",
    }

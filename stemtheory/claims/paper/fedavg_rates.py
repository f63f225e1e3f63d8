"""FedAvg's rates: the trade-off curve, its two ends, and minibatch SGD.

Paper: Thm: Flexible_FedAvg; App: FedAvg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from stemtheory.bounds import BOUNDS, Setting
from stemtheory.claims.base import Claim, Comparison, Mutant, wrong
from stemtheory.claims.evidence import bound_slopes
from stemtheory.claims.evidence.bound_slopes import at_accuracy, units
from stemtheory.claims.exponents import (
    BY_HAND,
    EXACT,
    Exponent,
    I,
    K,
    Monomial,
    T,
    b,
    comparison,
    eps,
    exact,
    fitted,
    in_terms,
    measurable,
    nus,
    solve,
)
from stemtheory.claims.language import Q, chain, letters
from stemtheory.claims.language.letters import L, sqrt, unit_step
from stemtheory.claims.panel import SizeGrid
from stemtheory.claims.stating import sized
from stemtheory.runtime import Verdict
from stemtheory.schedules import fedavg_curve, shortest_run

ROOT = (b * K * T) ** Fraction(-1, 2)
DRIFT = b * K * I**2 / T
LONG = [float(t) for t in np.geomspace(1e16, 1e30, 7)]
WORKERS = [1.0, 4.0, 16.0, 64.0]
TERMS = ("gap", "variance", "drift_heterogeneity")
ACCURACIES = [float(e) for e in np.geomspace(1e-7, 1e-20, 9)]


def rate(nu: Fraction) -> Monomial:
    """Return the stated rate, 1/(K^{nu/2} T^{2/3 - nu/6})."""
    return K ** (-nu / 2) * T ** (-(Fraction(2, 3) - nu / 6))


def on_curve(T: float, K: int, nu: Fraction) -> Setting:
    """Return the setting on the curve, with L = sigma = zeta = gap = 1."""
    point = fedavg_curve(T, K, float(nu))
    return units(T, K, point.b, point.I)


def measured_term(name: str, s: Setting) -> float:
    """Return a term of the theorem, the drift's without ((I - 1)/I)^2."""
    value = BOUNDS["fedavg-theorem"].terms(s)[name]
    return value * (s.I / (s.I - 1)) ** 2 if name == "drift_heterogeneity" else value


def trade_off(nu: Fraction, batch: Fraction | None = None) -> Comparison:
    """F5 at one nu; ``batch`` is another exponent of b, for a mutant."""
    I_ = (T / K**3) ** (nu / 4)
    b_ = (T / K**3) ** (Fraction(1, 3) - nu / 3 if batch is None else batch)
    stated, T_ = rate(nu), solve(rate(nu))
    smaller = stated / (T / K**3) ** (nu / 4)
    per_worker = in_terms(b_ * T, T=T_)
    return comparison(
        *exact("1/(bKT)^{1/2}", in_terms(ROOT, b=b_), stated),
        *exact("bKI^2/T", in_terms(DRIFT, b=b_, I=I_), stated),
        *exact("bKI/T", in_terms(DRIFT / I, b=b_, I=I_), smaller),
        *exact("T", T_, K ** (-3 * nu / (4 - nu)) * eps ** (-6 / (4 - nu))),
        *exact("samples per worker", per_worker, K**-1 * eps**-2),
        *exact("rounds", in_terms(T / I_, T=T_), eps ** Fraction(-3, 2)),
        *exact("bI", in_terms(b_ * I_, T=T_), K**-1 * eps ** Fraction(-1, 2)),
        *(_measured(nu) if measurable(nu) else ()),
    )


def slopes(
    setting: Callable[[float], Setting],
    x: list[float],
    stated: Fraction,
    name: str,
    terms: tuple[str, ...] = TERMS,
) -> list[Exponent]:
    """Return the slopes of the theorem's terms over x, where x makes the setting."""
    return bound_slopes.slopes(measured_term, terms, setting, x, stated, name)


def _measured(nu: Fraction) -> list[Exponent]:
    """Return the slopes of the terms on the curve, and of the complexities by the bound."""
    stated, terms = rate(nu), TERMS if nu else TERMS[:2]
    found = {e: at_accuracy("fedavg-theorem", e, 4, nu=float(nu)) for e in ACCURACIES}
    return [
        *slopes(lambda T: on_curve(T, 4, nu), LONG, stated["T"], "T", terms),
        *slopes(lambda K: on_curve(LONG[-1], int(K), nu), WORKERS, stated["K"], "K", terms),
        fitted("samples", lambda e: found[e].samples_total, ACCURACIES, -2),
        fitted("rounds", lambda e: found[e].rounds, ACCURACIES, Fraction(-3, 2)),
    ]


def speed_up_beyond(nu: Fraction) -> Comparison:
    """The stated exponents of K where K^3 > T, so that b = I = 1."""
    workers = [float(k) for k in np.geomspace(4e3, 2e5, 5)]
    many = {K: at_accuracy("fedavg-theorem", 1e-6, int(K), nu=float(nu)) for K in workers}
    found = [
        fitted(
            "gap in K",
            lambda K: measured_term("gap", on_curve(1e10, int(K), nu)),
            workers,
            rate(nu)["K"],
        ),
        fitted("rounds in K", lambda K: many[K].rounds, workers, 0),
    ]
    return comparison(*found)


def many_workers(level: str) -> tuple[SizeGrid, ...]:
    """Return runs from the shortest that FedAvg's theorem allows to T = K^3, at b = I = 1."""
    sizes = [
        (workers, float(steps))
        for workers in (16, 256, 4096)
        for steps in np.geomspace(shortest_run(1.0, workers, 1, 1), workers**3, 7)
    ]
    K_, T_ = np.array(sizes).T
    one = np.ones_like(T_)
    grid = SizeGrid(t=T_, T=T_, K=K_, b=one, I=one, L=one, sigma=one, nu=one)
    return tuple(replace(grid, nu=float(nu) * one) for nu in nus(level))


def local(batch: float, power: Fraction = Fraction(1, 4)) -> Comparison:
    """F6: b constant, I = (T/(bK)^3)^{1/4}."""
    I_ = (T / (b * K) ** 3) ** power
    T_ = solve(ROOT)

    def point(T: float) -> Setting:
        return units(T, 4, batch, round((T / (4 * batch) ** 3) ** 0.25))

    return comparison(
        *exact("bKI^2/T", in_terms(DRIFT, I=I_), ROOT),
        *exact("samples per worker", in_terms(b * T, T=T_), K**-1 * eps**-2),
        *exact("rounds", in_terms(T / I_, T=T_), eps ** Fraction(-3, 2)),
        *slopes(point, LONG, Fraction(-1, 2), "T"),
    )


def large_batch(steps: int, power: Fraction = Fraction(1, 3)) -> Comparison:
    """F7: I > 1 constant, b = (T/(I^4 K^3))^{1/3}."""
    b_ = (T / (I**4 * K**3)) ** power
    stated = T ** Fraction(-2, 3) * I ** Fraction(2, 3)
    T_ = solve(stated)

    def point(T: float) -> Setting:
        return units(T, 4, (T / (steps**4 * 64)) ** (1 / 3), steps)

    return comparison(
        *exact("1/(bKT)^{1/2}", in_terms(ROOT, b=b_), stated),
        *exact("bKI^2/T", in_terms(DRIFT, b=b_), stated),
        *exact("samples per worker", in_terms(b_ * T, T=T_), K**-1 * eps**-2),
        *exact("rounds", in_terms(T / I, T=T_), eps ** Fraction(-3, 2)),
        *slopes(point, LONG, Fraction(-2, 3), "T"),
    )


def minibatch(workers: int, power: int = 1) -> Comparison:
    """F8: I = 1, b = Theta(T/K); no term in zeta."""
    b_ = T**power / K
    T_ = solve(in_terms(ROOT, b=T / K))
    found = {e: at_accuracy("minibatch-sgd", e, workers, nu=0.0) for e in ACCURACIES}
    return comparison(
        *exact("1/(bKT)^{1/2}", in_terms(ROOT, b=b_), T**-1),
        *exact("samples per worker", in_terms(b_ * T, T=T_), K**-1 * eps**-2),
        *exact("rounds", T_, eps**-1),
        fitted("samples", lambda e: found[e].samples_total, ACCURACIES, -2),
        fitted("rounds", lambda e: found[e].rounds, ACCURACIES, -1),
        Exponent(
            "zeta's term", found[ACCURACIES[0]].bound.terms["drift_heterogeneity"], 0.0, EXACT
        ),
    )


rates = partial(Claim, kind="rate", by_hand=BY_HAND)
# the third term of the bound has a factor I - 1
TWO_TERMS = 2 * letters.gap / unit_step + 2 * L * letters.sigma**2 * unit_step

CLAIMS = (
    rates(
        id="F5",
        label="Thm: Flexible_FedAvg",
        statement="On FedAvg's curve: the rate, the samples and the rounds, for every nu.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = O(1/(K^{\nu/2}T^{2/3-\nu/6})),"
        r" bT = O(K^{-1}\epsilon^{-2}), T/I = O(\epsilon^{-3/2})",
        compare=trade_off,
        cases=nus,
        mutants=(Mutant("b = (T/K^3)^{(1-nu)/2}", compare=lambda nu: trade_off(nu, (1 - nu) / 2)),),
        reason="Needs T >= K^3, so that b and I are at least 1, and T >= 81 L^2 I^2 bK. Its rounds"
        " are worse than those of minibatch SGD (F8), at the same samples and without zeta.",
    ),
    rates(
        id="F5-K3",
        label="Thm: Flexible_FedAvg",
        statement="The exponents of K in F5 for more than T^{1/3} workers (not stated: T >= K^3).",
        formula=r"K^3 > T:\ E\|\nabla f(\bar x_a)\|^2 = \Theta(1/(K^{\nu/2}T^{2/3-\nu/6}))",
        compare=speed_up_beyond,
        cases=nus,
        expected={("literal", "all"): Verdict.VIOLATED},
        mutants=(),
        reason="b and I would fall below 1. At b = I = 1 the bound falls as K^{-1/2}, whatever nu.",
        repair="As an upper bound it survives down to T = 81 L^2 K (F5-K3-O).",
    ),
    sized(
        "F5-K3-O",
        "Thm: Flexible_FedAvg",
        "As an upper bound the rate of F5 survives for 81 L^2 K <= T <= K^3, b = I = 1.",
        TWO_TERMS / sqrt(letters.K * letters.T)
        <= TWO_TERMS / (letters.K ** (letters.nu / 2) * letters.T ** (Q("2/3") - letters.nu / 6)),
        provided=chain(81 * L**2 * unit_step**2 * letters.K, letters.T, letters.K**3),
        cases=many_workers,
    ),
    rates(
        id="F6",
        label="App: FedAvg",
        statement="FedAvg with several local steps (nu = 1): b constant, I = (T/(bK)^3)^{1/4}.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = O(1/\sqrt{KT})",
        compare=local,
        cases=lambda level: (1.0, 8.0),
        mutants=(wrong("I = (T/(bK)^3)^{1/3}", power=Fraction(1, 3)),),
    ),
    rates(
        id="F7",
        label="App: FedAvg",
        statement="FedAvg with large batches (nu = 0): I > 1 constant, b = (T/(I^4 K^3))^{1/3}.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = O(1/T^{2/3})",
        compare=large_batch,
        cases=lambda level: (2, 16),
        mutants=(wrong("b = (T/(I^4 K^3))^{1/2}", power=Fraction(1, 2)),),
    ),
    rates(
        id="F8",
        label="App: FedAvg",
        statement="Minibatch SGD: I = 1, b = T/K up to a constant, independent of zeta.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = O(1/T),\ \epsilon^{-2}\ samples,"
        r" \epsilon^{-1}\ rounds",
        compare=minibatch,
        cases=lambda level: (1, 16),
        mutants=(wrong("b = T^2/K", power=2),),
        reason="The constant in b = O(T/K) must be at most 1/(81 L^2). It beats every point of"
        " FedAvg's curve in rounds, at the same samples.",
    ),
)

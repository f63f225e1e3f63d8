"""STEM's rates: the trade-off curve, its two ends, and what happens off the curve.

Exponents are derived exactly, as Fractions, and measured as slopes of the explicit bound over many
decades; the logarithm that the paper's tilde hides is divided out.

Paper: Thm: PR_Convergence_Main; cor: Trade-off_App; cor: LocalComputation_App; cor: Batches_App.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from stemtheory.bounds import BOUNDS, Inversion, Setting, invert
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
from stemtheory.claims.floors.counted import FLOORS, floor_exponent
from stemtheory.runtime import Verdict
from stemtheory.schedules import stem_curve

FAST = I / T
SLOW = (b * K * T) ** Fraction(-2, 3)
LONG = [float(t) for t in np.geomspace(1e14, 1e26, 7)]
WORKERS = [1.0, 4.0, 16.0, 64.0, 256.0]
ACCURACIES = [float(e) for e in np.geomspace(1e-3, 1e-9, 5)]


def curve(nu: Fraction) -> tuple[Monomial, Monomial]:
    """Return I and b of (eq: I:b_SAMVR)."""
    return (T / K**2) ** (nu / 3), (T / K**2) ** (Fraction(1, 2) - nu / 2)


def measured_term(name: str, s: Setting) -> float:
    """Return a term of the theorem without its logarithm and without (I - 1)/I."""
    value = BOUNDS["stem-theorem"].terms(s)[name]
    if name in ("variance", "heterogeneity"):
        value /= math.log1p(s.T)
    return value * s.I / (s.I - 1) if name == "heterogeneity" else value


def slopes(
    setting: Callable[[float], Setting], x: list[float], stated: Fraction, name: str
) -> list[Exponent]:
    """Return the slopes of the theorem's terms; zeta's is none where I is 1."""
    apart = ["heterogeneity"] if all(setting(value).I > 1 for value in x) else []
    return bound_slopes.slopes(measured_term, ["gap", "variance", *apart], setting, x, stated, name)


def logarithm(found: Inversion) -> float:
    """Return the logarithm that the tilde hides."""
    return math.log1p(found.T)


def trade_off(nu: Fraction, batch: Fraction | None = None) -> Comparison:
    """T1 (i) to (iii) at one nu; ``batch`` is another exponent of b, for a mutant."""
    I_, b_ = curve(nu)
    if batch is not None:
        b_ = (T / K**2) ** batch
    stated = K ** (-2 * nu / 3) * T ** (-(1 - nu / 3))
    T_ = solve(stated)
    per_worker = in_terms(b_ * T, T=T_)
    rounds = in_terms(T / I_, T=T_)
    return comparison(
        *exact("I/T", in_terms(FAST, I=I_), stated),
        *exact("1/(bKT)^{2/3}", in_terms(SLOW, b=b_), stated),
        *exact("T", T_, K ** (-2 * nu / (3 - nu)) * eps ** (-3 / (3 - nu))),
        *exact("samples per worker", per_worker, K**-1 * eps ** Fraction(-3, 2)),
        *exact("rounds", rounds, eps**-1),
        *(_measured(nu) if measurable(nu) else ()),
    )


def _on_curve(T: float, K: int, nu: Fraction) -> Setting:
    point = stem_curve(T, K, float(nu))
    return units(T, K, point.b, point.I)


def _measured(nu: Fraction) -> list[Exponent]:
    """Return the slopes of the terms on the curve, and of the complexities by the bound."""
    found = {e: at_accuracy("stem-theorem", e, 4, nu=float(nu)) for e in ACCURACIES}
    many = {K: at_accuracy("stem-theorem", 1e-9, int(K), nu=float(nu)) for K in WORKERS}

    def samples(run: Inversion) -> float:
        return float(run.samples_per_worker / logarithm(run) ** 1.5)

    return [
        *slopes(lambda T: _on_curve(T, 4, nu), LONG, -(1 - nu / 3), "T"),
        *slopes(lambda K: _on_curve(LONG[-1], int(K), nu), WORKERS, -2 * nu / 3, "K"),
        fitted("rounds", lambda e: found[e].rounds / logarithm(found[e]), ACCURACIES, -1),
        fitted("samples", lambda e: samples(found[e]), ACCURACIES, Fraction(-3, 2)),
        fitted("speed-up", lambda K: samples(many[K]), WORKERS, -1),
    ]


def speed_up_beyond(nu: Fraction) -> Comparison:
    """The stated exponents of K where K^2 > T, so that b = I = 1."""
    workers = [float(k) for k in np.geomspace(1e6, 1e8, 5)]
    many = {K: at_accuracy("stem-theorem", 1e-3, int(K), nu=float(nu)) for K in workers}

    def gap(K: int) -> float:
        return measured_term("gap", _on_curve(1e11, K, nu))

    return comparison(
        fitted("gap in K", lambda K: gap(int(K)), workers, -2 * nu / 3),
        fitted("samples per worker in K", lambda K: many[K].samples_per_worker, workers, -1),
    )


def local(batch: float, power: Fraction = Fraction(1, 3)) -> Comparison:
    """C1: b constant, I = (T/(b^2 K^2))^{1/3}."""
    I_ = (T / (b**2 * K**2)) ** power
    stated = (b * K * T) ** Fraction(-2, 3)
    T_ = solve(stated)

    def point(T: float, K: int) -> Setting:
        return units(T, K, batch, round((T / (batch * K) ** 2) ** (1 / 3)))

    return comparison(
        *exact("I/T", in_terms(FAST, I=I_), stated),
        *exact("T", T_, (b * K) ** -1 * eps ** Fraction(-3, 2)),
        *exact("samples per worker", in_terms(b * T, T=T_), K**-1 * eps ** Fraction(-3, 2)),
        *exact("rounds", in_terms(T / I_, T=T_), eps**-1),
        *slopes(lambda T: point(T, 4), LONG, Fraction(-2, 3), "T"),
        *slopes(lambda K: point(LONG[-1], int(K)), WORKERS, Fraction(-2, 3), "K"),
    )


def batches(workers: int, power: Fraction = Fraction(1, 2)) -> Comparison:
    """C2: I = 1, b = (T/K^2)^{1/2}; no term in zeta."""
    b_ = (T / K**2) ** power
    T_ = solve(in_terms(FAST, I=Monomial()))
    point = units(1e12, workers, 1e6 / workers, 1)
    zeta = BOUNDS["stem-theorem"].terms(point)["heterogeneity"]
    return comparison(
        *exact("1/(bKT)^{2/3}", in_terms(SLOW, b=b_), T**-1),
        *exact("samples per worker", in_terms(b_ * T, T=T_), K**-1 * eps ** Fraction(-3, 2)),
        *exact("rounds", T_, eps**-1),
        *slopes(lambda T: units(T, workers, T**0.5 / workers, 1), LONG, Fraction(-1), "T"),
        Exponent("zeta's term", zeta, 0.0, EXACT),
    )


def ends(nu: Fraction, p: int = 3) -> Comparison:
    """RMK2: both ends of the curve, and bI = K^{-1} eps^{-1/2} at every nu."""
    fed, mini = curve(Fraction(1)), curve(Fraction(0))
    I_, b_ = (T / K**2) ** (nu / p), curve(nu)[1]
    T_ = solve(K ** (-2 * nu / 3) * T ** (-(1 - nu / 3)))
    return comparison(
        *exact("I at nu = 1", fed[0], T ** Fraction(1, 3) * K ** Fraction(-2, 3)),
        Exponent("b at nu = 1", float(fed[1]["T"]), 0.0, EXACT),
        *exact("b at nu = 0", mini[1], T ** Fraction(1, 2) / K),
        Exponent("I at nu = 0", float(mini[0]["T"]), 0.0, EXACT),
        *exact("bI", in_terms(b_ * I_, T=T_), K**-1 * eps ** Fraction(-1, 2)),
    )


def off_curve(workers: int, power: Fraction = Fraction(-2, 3)) -> Comparison:
    """RMK3: T, samples and rounds of both branches, for any b and I."""
    fast, slow = solve(FAST), solve((b * K * T) ** power)
    third = Fraction(3, 2)
    return comparison(
        *exact("T, fast", fast, I / eps),
        *exact("T, slow", slow, (b * K) ** -1 * eps**-third),
        *exact("samples, fast", in_terms(b * T, T=fast), b * I / eps),
        *exact("samples, slow", in_terms(b * T, T=slow), K**-1 * eps**-third),
        *exact("rounds, fast", in_terms(T / I, T=fast), eps**-1),
        *exact("rounds, slow", in_terms(T / I, T=slow), (b * I * K) ** -1 * eps**-third),
        *exact("threshold", fast / slow, b * I * K * eps ** Fraction(1, 2)),
        *_branches(workers),
    )


def _branches(K: int) -> list[Exponent]:
    """Slopes of rounds and samples, noise-free (so without a logarithm), deep in each branch."""

    def run(epsilon: float, b: float, I: int) -> Inversion:
        return invert("stem-theorem", epsilon, K=K, b=b, I=I, L=1.0, sigma=0.0, zeta=0.0, gap=1.0)

    tiny = [float(e) for e in np.geomspace(1e-9, 1e-13, 4)]
    sizes = [1.0, 4.0, 16.0, 64.0]
    return [
        fitted("rounds in eps, bI large", lambda e: run(e, 1e6, 64).rounds, ACCURACIES[:3], -1),
        fitted(
            "samples in b, bI large", lambda x: run(1e-4, 1e6 * x, 64).samples_per_worker, sizes, 1
        ),
        fitted("rounds in eps, b = I = 1", lambda e: run(e, 1, 1).rounds, tiny, Fraction(-3, 2)),
        fitted("rounds in I, bI small", lambda x: run(1e-15, 1, int(x)).rounds, sizes, -1),
        fitted(
            "samples in I, bI small", lambda x: run(1e-15, 1, int(x)).samples_per_worker, sizes, 0
        ),
    ]


rate = partial(Claim, kind="rate", by_hand=BY_HAND)
CAVEAT = (
    "b and I must be Theta(.), not O(.), and T >= K^2; for I without bound the rate needs the sync"
    " batch of the repaired theorem, which also removes the logarithm."
)

CLAIMS = (
    rate(
        id="T1",
        label="Thm: PR_Convergence_Main",
        statement="On the trade-off curve: the rate, the samples and the rounds, for every nu.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = \tilde O(1/(K^{2\nu/3}T^{1-\nu/3})),"
        r" 2bT = \tilde O(K^{-1}\epsilon^{-3/2}), T/I = \tilde O(\epsilon^{-1})",
        compare=trade_off,
        cases=nus,
        mutants=(Mutant("b = (T/K^2)^{(1-nu)/3}", compare=lambda nu: trade_off(nu, (1 - nu) / 3)),),
        reason=CAVEAT,
    ),
    rate(
        id="T1-K2",
        label="cor: Trade-off_App",
        statement="The linear speed-up of T1 for more than T^{1/2} workers (not stated: T >= K^2).",
        formula=r"K^2 > T:\ 2bT = \tilde O(K^{-1}\epsilon^{-3/2})",
        compare=speed_up_beyond,
        cases=lambda level: nus(level)[1:],
        expected={("literal", "all"): Verdict.VIOLATED},
        mutants=(),
        reason="b and I would fall below 1. At b = I = 1 the term 32LI/T does not depend on K, so"
        " more workers do not help: the speed-up ends at K = eps^{-1/2}.",
        repair="Add T >= K^2, that is K <= eps^{-1/2}.",
    ),
    rate(
        id="C1",
        label="cor: LocalComputation_App",
        statement="Fed STEM: constant b, I = (T/(b^2 K^2))^{1/3}.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = \tilde O(1/((bK)^{2/3}T^{2/3}))",
        compare=local,
        cases=lambda level: (1.0, 8.0),
        mutants=(wrong("I = (T/(b^2 K^2))^{1/2}", power=Fraction(1, 2)),),
        reason=CAVEAT,
    ),
    rate(
        id="C2",
        label="cor: Batches_App",
        statement="Minibatch STEM: I = 1, b = T^{1/2}/K, independent of zeta.",
        formula=r"E\|\nabla f(\bar x_a)\|^2 = O((f(\bar x_1)-f^*)/T) + \tilde O(\sigma^2/T)",
        compare=batches,
        cases=lambda level: (1, 16),
        mutants=(wrong("b = (T/K^2)^{1/3}", power=Fraction(1, 3)),),
        reason="The appendix calls its sample complexity a communication complexity.",
    ),
    rate(
        id="RMK1",
        label="rmk:complexity",
        statement="These complexities are the best achievable ones: floors have their exponents.",
        formula=r"\epsilon^{-3/2}, \epsilon^{-1}",
        compare=floor_exponent,
        cases=lambda level: tuple(FLOORS),
        mutants=(wrong("samples and rounds of eps^{-4/3}", theory=-4 / 3),),
        by_hand="Floors are those of instances: links, and coins that must show, over the accuracy"
        " that needs all links.",
        reason="Shown: with L, gap (and sigma) held, instances of accuracy epsilon have floors of"
        " eps^{-1} exchanges and of eps^{-3/2} samples in all, the exponents of T1, and no"
        " algorithm of the catalogue goes below (FL1, FL2, FL3). Not shown: a fixed instance does"
        " not separate SGD from STEM, that nothing goes below is what it shows; methods that do not"
        " add up what their oracle says; one instance with both floors; constants, and logarithms.",
    ),
    rate(
        id="RMK2",
        label="Rem: Tradeoff",
        statement="nu = 1 gives b = O(1), nu = 0 gives I = O(1), and bI is the same for every nu.",
        formula=r"bI = K^{-1}\epsilon^{-1/2}",
        compare=ends,
        cases=nus,
        mutants=(wrong("I = (T/K^2)^{nu/4}", p=4),),
    ),
    rate(
        id="RMK3",
        label="Thm: PR_Convergence_Main_App",
        statement="Off the curve: samples max{bI/eps, 1/(K eps^{3/2})} per worker, and rounds.",
        formula=r"bT = \max\{bI/\epsilon, K^{-1}\epsilon^{-3/2}\},"
        r" T/I = \max\{\epsilon^{-1}, (bI)^{-1}K^{-1}\epsilon^{-3/2}\}",
        compare=off_curve,
        cases=lambda level: (1, 4),
        mutants=(wrong("(bKT)^{-2/3} -> (bKT)^{-1/2}", power=Fraction(-1, 2)),),
        reason="The paper calls the first 'samples'; by its Definition 2 those are K times more.",
    ),
)

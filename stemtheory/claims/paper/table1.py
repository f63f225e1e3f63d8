"""Table 1, the surface of Figure 1, and what of the paper's tables and plots cannot be checked.

Paper: Table: Comparison; Fig: FedAvgvsSAMVR.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from stemtheory.bounds import TableRow, invert, table1_exponents
from stemtheory.claims.base import Claim, Comparison, Mutant
from stemtheory.claims.evidence.size_scenes import SizeScene
from stemtheory.claims.exponents import (
    BY_HAND,
    EXACT,
    Exponent,
    K,
    Monomial,
    T,
    comparison,
    eps,
    exact,
    in_terms,
    nus,
    solve,
)
from stemtheory.claims.language import Expr, Q, chain, equal, letters
from stemtheory.claims.language.letters import I, accuracy, b, maximum, sqrt
from stemtheory.claims.paper import fedavg_rates
from stemtheory.claims.paper.stem import rates as stem_rates
from stemtheory.claims.stating import sized

EPSILON = 1e-3  # Figure 1's accuracy
Rows = dict[str, TableRow]


def printed(nu: Fraction) -> Rows:
    """Return this paper's rows of Table 1, as the table prints them."""
    samples, half = Fraction(-3, 2), Fraction(-1, 2)
    zero, one = Fraction(0), Fraction(-1)
    b_fedavg, I_fedavg = -2 * (1 - nu) / (4 - nu), -3 * nu / (2 * (4 - nu))
    b_stem, I_stem = -3 * (1 - nu) / (2 * (3 - nu)), -nu / (3 - nu)
    rows = (
        TableRow("FedAvg", Fraction(-2), samples, b_fedavg, I_fedavg, here=True),
        TableRow("STEM", samples, one, b_stem, I_stem, here=True),
        TableRow("Fed STEM", samples, one, zero, half, here=True),
        TableRow("Minibatch STEM", samples, one, half, zero, here=True),
    )
    return {row.algorithm: row for row in rows}


def derived(name: str, nu: Fraction) -> tuple[Monomial, Monomial, Monomial, Monomial]:
    """Return (samples, rounds, b, I) as powers of eps and K, from the curve and the rate."""
    nu = {"Fed STEM": Fraction(1), "Minibatch STEM": Fraction(0)}.get(name, nu)
    if name == "FedAvg":
        I, b, rate = (T / K**3) ** (nu / 4), (T / K**3) ** ((1 - nu) / 3), fedavg_rates.rate(nu)
    else:
        (I, b), rate = stem_rates.curve(nu), K ** (-2 * nu / 3) * T ** (-(1 - nu / 3))
    found = tuple(in_terms(v, T=solve(rate)) for v in (K * b * T, T / I, b, I))
    return found[0], found[1], found[2], found[3]


def rows(names: tuple[str, ...], change: Callable[[TableRow], TableRow] = lambda row: row) -> Any:
    """Return the comparison of the table's rows with what the theorems give, at one nu."""

    def compare(nu: Fraction) -> Comparison:
        found: list[Exponent] = []
        evaluated = {row.algorithm: row for row in table1_exponents(nu) if row.here}
        for name in names:
            row = change(printed(nu)[name])
            for column, product_ in zip(COLUMNS, derived(name, nu), strict=True):
                stated = getattr(row, column)
                label = f"{name}: {column}"
                found += exact(label, Monomial({"eps": product_["eps"]}), eps**stated)
                value = float(getattr(evaluated[name], column))
                found.append(Exponent(f"{label}, evaluated", value, float(stated), EXACT))
        return comparison(*found)

    return compare


COLUMNS = ("samples", "rounds", "b", "I")


def inverted(sizes: tuple[tuple[float, int], ...]) -> SizeScene:
    """Return the sizes with the T that the explicit bound needs without noise."""
    quiet: dict[str, Any] = {"L": 1.0, "sigma": 0.0, "zeta": 0.0, "gap": 1.0}
    runs = [invert("stem-theorem", EPSILON, K=1, b=b, I=I, **quiet) for b, I in sizes]
    rounds = np.array([float(run.rounds) for run in runs])
    b_, I_ = np.array(sizes, dtype=float).T
    columns = {"b": b_, "I": I_, "T": rounds * I_, "t": rounds * I_}
    one = np.ones_like(rounds)
    return SizeScene({**columns, "K": one, "accuracy": EPSILON * one})


def surface(fast: Any, slow: Any) -> Expr:
    """The rounds of Figure 1, with a constant of either branch."""
    return maximum(fast / accuracy, slow / (b * I * accuracy ** Q("3/2")))


def sizes(level: str) -> tuple[tuple[tuple[float, int], ...], ...]:
    """Return one subject: a grid of (b, I) over three decades, and points on bI = eps^{-1/2}."""
    n = {"quick": 5, "default": 9, "full": 17}[level]
    axis = np.geomspace(1, 1e3, n)
    grid = [(float(b), round(I)) for b, I in product(axis, axis)]
    edge = [(float(EPSILON**-0.5 / I), I) for I in (1, 2, 4, 8, 16, 31)]
    return (tuple(grid + edge),)


def times(**columns: Fraction) -> Callable[[TableRow], TableRow]:
    """Return a change of a row: exponents multiplied."""
    return lambda row: row._replace(
        **{name: getattr(row, name) * factor for name, factor in columns.items()}
    )


exponents = partial(Claim, kind="rate", label="Table: Comparison", by_hand=BY_HAND)
STEM_ROWS = ("STEM", "Fed STEM", "Minibatch STEM")
THIRD = Fraction(2, 3)

CLAIMS = (
    exponents(
        id="TB1",
        statement="Table 1, FedAvg (this work): samples, rounds, b and I.",
        formula=r"\epsilon^{-2}, \epsilon^{-3/2}, \epsilon^{-2(1-\nu)/(4-\nu)},"
        r" \epsilon^{-3\nu/(2(4-\nu))}",
        compare=rows(("FedAvg",)),
        cases=nus,
        mutants=(
            Mutant("b's exponent times 2/3", compare=rows(("FedAvg",), times(b=THIRD))),
            Mutant("rounds' exponent times 2/3", compare=rows(("FedAvg",), times(rounds=THIRD))),
        ),
    ),
    exponents(
        id="TB2",
        statement="Table 1, STEM, Fed STEM and Minibatch STEM: samples, rounds, b and I.",
        formula=r"\epsilon^{-3/2}, \epsilon^{-1}, \epsilon^{-3(1-\nu)/(2(3-\nu))},"
        r" \epsilon^{-\nu/(3-\nu)}",
        compare=rows(STEM_ROWS),
        cases=nus,
        mutants=(
            Mutant("I's exponent times 2/3", compare=rows(STEM_ROWS, times(I=THIRD))),
            Mutant("samples' exponent times 2/3", compare=rows(STEM_ROWS, times(samples=THIRD))),
        ),
        reason="The footnote 'independent of heterogeneity' needs I = 1, not I = O(1).",
    ),
    Claim(
        id="TB3",
        label="Table: Comparison",
        kind="not-checkable",
        statement="Table 1, the rows of other algorithms.",
        formula=r"FedAvg, SCAFFOLD, FedPD/FedProx, MIME/FedGLOMO",
        reason="Quoted from other papers, under other assumptions.",
    ),
    sized(
        "FG1",
        "Fig: FedAvgvsSAMVR",
        "Figure 1: the surface of rounds over (b, I), with edge bI = eps^{-1/2} = 31.6.",
        # 32 I/T + 2/(bT)^{2/3} needs the rounds of either term, at most those of both at eps/2
        chain(surface(32, 2 ** Q("3/2")), letters.T / I, surface(64, 4 ** Q("3/2")) + 1)
        & equal(surface(1, 1), maximum(1, 1 / (b * I * sqrt(accuracy))) / accuracy),
        cases=sizes,
        opened=inverted,
        reason="The caption's sentence about the surface is cut off ('but a .').",
    ),
    Claim(
        id="EX",
        label="sec: Experiments",
        kind="not-checkable",
        statement="The experiments on CIFAR-10 and MNIST.",
        formula=r"w_t = 1, c = \bar c/\bar\kappa^2",
        reason="Empirical, on neural networks whose L, sigma and zeta are unknown, and with a step"
        " size that is not the theorem's.",
    ),
)

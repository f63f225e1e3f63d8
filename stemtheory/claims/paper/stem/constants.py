"""The theorem's constants: the arithmetic from the summed potential to the printed bound.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from stemtheory.bounds import BOUNDS, Setting
from stemtheory.claims.base import SCALED, Claim, Comparison, Mutant
from stemtheory.claims.evidence.measured import Terms
from stemtheory.schedules import theorem_eta, theorem_sum_eta_cubed

LABEL = "Thm: PR_Convergence_Main_App"
Column = Callable[[Setting], Any]


def settings(level: str) -> tuple[tuple[Setting, ...], ...]:
    """Return one subject: settings with the edges, and runs within and beyond the constant phase.

    sigma = zeta = gap = 1: every term is linear in its own of them.
    """
    n = {"quick": 4, "default": 6, "full": 10}[level]
    I = [1, 2, *(int(i) for i in np.geomspace(10, 1e6, n - 2))]
    K = [1, *(int(k) for k in np.geomspace(4, 1e4, n - 2))]
    rounds = np.unique(np.round(np.geomspace(1, 1e15, 2 * n)))
    axes = product(rounds, K, (1.0, 1.5, 1e3), I, (0.1, 1.0, 7.0), (1.0, None))
    found = (Setting(S * i, k, b, i, L, 1.0, 1.0, 1.0, B) for S, k, b, i, L, B in axes)
    return (tuple(found),)


def columns(left: Column, right: Column) -> Callable[[tuple[Setting, ...]], Comparison]:
    """Return the comparison of two functions of a setting, over a panel of settings."""

    def compare(panel: tuple[Setting, ...]) -> Comparison:
        sides = np.array([(left(s), right(s)) for s in panel])
        return Comparison(sides[:, 0], sides[:, 1], t=np.array([s.T for s in panel]))

    return compare


def sum_of_cubes(s: Setting) -> float:
    """sum_{t=1}^T eta_t^3, exactly."""
    return float(theorem_sum_eta_cubed(float(s.T), s.L, s.K, s.b, s.I))


def kappa3(s: Setting) -> float:
    """kbar^3/sigma^2 = (bK)^2/L^3."""
    return (s.b * s.K) ** 2 / s.L**3


def grad_norm_sum1(s: Setting) -> Terms:
    """The last form of (Eq: Grad_Norm_Sum1), term by term, with the printed c <= 128 L^2/(bK)."""
    eta_0 = float(theorem_eta(0.0, s.L, s.K, s.b, s.I))
    eta_T = float(theorem_eta(float(s.T), s.L, s.K, s.b, s.I))
    outer, c = 1 / (eta_T * s.T), 128 * s.L**2 / (s.b * s.K)
    noise = outer * c**2 * kappa3(s) / (4 * s.L**2) * math.log1p(s.T)
    return {
        "gap": outer * 2 * s.gap,
        "initial_batch": outer * s.sigma**2 / (32 * s.L**2) * s.b / (s.initial_batch * eta_0),
        "variance": noise * s.sigma**2,
        "heterogeneity": noise * s.zeta**2 * (s.I - 1) / s.I,
    }


def term(name: str, factor: Column = lambda s: 1.0) -> Callable[[Any], Comparison]:
    """Return the comparison of one term of (Eq: Grad_Norm_Sum1) with the theorem's."""
    theorem = BOUNDS["stem-theorem"].terms
    return columns(lambda s: grad_norm_sum1(s)[name], lambda s: theorem(s)[name] * factor(s))


def coefficients(_: Any) -> Comparison:
    """M4 and M6 put together: 7/16 - 1/64 = 27/64, 1/32 + 1/64 = 3/64, eta L/2 <= 1/32 < 27/64."""
    left = np.array([27 / 64, 1 / 32 + 1 / 64, 1 / 32])
    right = np.array([7 / 16 - 1 / 64, 3 / 64, 27 / 64])
    return Comparison(left, right)


arithmetic = partial(Claim, kind="arithmetic", label=LABEL, cases=settings)

CLAIMS = (
    arithmetic(
        id="M7a-C",
        statement="The coefficients of M7a follow from the potential and the consensus lemmas.",
        formula=r"7/16 - 1/64 = 27/64, 1/32 + 1/64 \leq 3/64, \eta_t L/2 \leq 1/32",
        compare=coefficients,
    ),
    arithmetic(
        label="Eq: Sum_OverT_LastTerm",
        id="M7c",
        statement="The sum of eta_t^3 is at most (bK)^2/L^3 ln(T + 1).",
        formula=r"\sum_{t=1}^T \eta_t^3 \leq \bar\kappa^3/\sigma^2 \ln(T+1)",
        compare=columns(sum_of_cubes, lambda s: kappa3(s) * math.log1p(s.T)),
        mutants=(SCALED, Mutant("without the logarithm", compare=columns(sum_of_cubes, kappa3))),
        reason="In the constant phase the sum is smaller by T/(4096 I^3 (bK)^2 ln(T+1)).",
    ),
    arithmetic(
        label="Eq: Grad_Norm_Sum1",
        id="M7d",
        statement="Divided by eta_T T/2, with 1/16 < 3/32 < 1/4 and eta_t >= eta_T.",
        formula=r"1/16 < 3/32 < 1/4,\ \eta_t \geq \eta_T",
        compare=columns(
            lambda s: sum(BOUNDS["stem-intermediate"].terms(s).values()),
            lambda s: sum(grad_norm_sum1(s).values()),
        ),
    ),
    arithmetic(
        label="Eq: GradNorm_1stTerm",
        id="M7e",
        statement="1/(eta_T T) is at most 16LI/T + L/((bK)^{2/3} T^{2/3}).",
        formula=r"1/(\eta_T T) \leq 16LI/T + L/((bK)^{2/3}T^{2/3})",
        compare=term("gap"),
        mutants=(
            SCALED,
            Mutant("first term without I", compare=term("gap", lambda s: 1 / max(1, s.I))),
        ),
    ),
    arithmetic(
        label="Eq: GradNorm_2ndTerm",
        id="M7f",
        statement="The first batch's term, with 1/eta_0 <= 16LI.",
        formula=r"\frac{1}{\eta_T T}\frac{\sigma^2}{32L^2}\frac{b}{B\eta_0} \leq"
        r" \frac{8bI^2}{BT}\sigma^2 + \frac{bI}{(bK)^{2/3}BT^{2/3}}\frac{\sigma^2}{2}",
        compare=term("initial_batch"),
    ),
    arithmetic(
        label="Eq: GradNorm_3rdTerm",
        id="M7g",
        statement="The noise term: 16*128^2/4 = 256^2 and 128^2/4 = 64^2.",
        formula=r"\frac{1}{\eta_T T}\frac{c^2\bar\kappa^3}{4L^2} \leq 256^2\sigma^2 I/T +"
        r" 64^2\sigma^2/((bK)^{2/3}T^{2/3})",
        compare=term("variance"),
        mutants=(SCALED, Mutant("256 -> 64", compare=term("variance", lambda s: 1 / 16))),
        reason="With the true c and 3/32 in place of 1/4 it would be 10.7x smaller.",
    ),
)

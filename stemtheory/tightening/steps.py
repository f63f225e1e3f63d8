"""The best steps for one (I, K, b): a search over h and alpha, each point a round certificate.

h = eta L I and alpha = a I^2 b K; at every point the program of a certificate gives its constants
in floats, and only the winner, rounded to short decimals, is solved with a margin and proved.

Source: docs/certificates.md; paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from stemtheory.certificates import Certified, Statement, Weights, find, least_constant, stated
from stemtheory.runtime import Floats, UsageError, one_blas_thread
from stemtheory.tightening.rounding import near

GRID = {  # of h and alpha, where the search begins
    "average-first": ((0.3, 0.5, 0.7, 0.9), (0.5, 1.0, 2.0)),
    "literal": ((0.4, 0.6, 0.8), (0.5, 1.0)),
}
EVALUATIONS, DIGITS = 60, 3
LONGEST = 8  # local steps: there a point takes seconds, and some seventy are tried
FAILED = 1e12  # in place of C, where a point has no certificate
MOST = 1e4  # times the weights: above it a value is the solver's failure


class BestSteps(NamedTuple):
    """The certificate at the best steps, these steps, and how many were tried."""

    certified: Certified
    h: str
    alpha: str
    evaluations: int


@one_blas_thread()
def best_steps(
    s: Statement, weights: Weights, told: Callable[[str], None] | None = None
) -> BestSteps:
    """Return a certificate at the steps of least C for the statement's reading, I, K, b and m.

    Raises
    ------
    UsageError
        If I is above 8, or if no point of the grid has a certificate.
    """
    if s.I > LONGEST:
        raise UsageError(
            f"I is {s.I}, but steps are searched for I up to {LONGEST}: give less, or certify at"
            " one h and alpha, or take --mode proof, which covers every I."
        )
    tried: dict[tuple[str, str], float] = {}

    def C(point: Floats) -> float:
        steps = _short(*np.exp(point))
        if steps not in tried:
            tried[steps] = _constant(s, steps, weights)
            if told is not None:
                told(f"h = {steps[0]}, alpha = {steps[1]}: C = {min(tried.values()):.6g} at best")
        return tried[steps]

    grid = [np.log(point) for point in itertools.product(*GRID[s.reading])]
    start = min(grid, key=C)
    if C(start) == FAILED:
        raise UsageError(
            f"no steps between h = 0.3 and 0.9 have a certificate at I = {s.I}, K = {s.K},"
            f" b = {s.b}: give other sizes, or --mode proof, which covers every I, b and K."
        )
    around = start + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2]])
    options: Any = {"maxfev": EVALUATIONS, "xatol": 1e-3, "fatol": 1e-5, "initial_simplex": around}
    minimize(C, start, method="Nelder-Mead", options=options)
    for steps, value in sorted(tried.items(), key=lambda item: item[1]):
        if value < FAILED:
            try:
                return BestSteps(find(_at(s, steps), weights, told), *steps, len(tried))
            except UsageError:  # at its edge a point may be solved and leave nothing to round
                continue
    raise UsageError("no certificate was accepted at any of the steps that were tried.")


def _short(h: float, alpha: float) -> tuple[str, str]:
    return (str(near(h, DIGITS)), str(near(alpha, DIGITS)))


def _at(s: Statement, steps: tuple[str, str]) -> Statement:
    h, alpha = map(Fraction, steps)
    return stated(s.algorithm, s.reading, I=s.I, K=s.K, b=s.b, m=s.m, h=h, alpha=alpha)


def _constant(s: Statement, steps: tuple[str, str], weights: Weights) -> float:
    """Return C at some steps, in floats."""
    try:
        value = least_constant(_at(s, steps), weights)
    except UsageError:  # a above 1
        return FAILED
    good = value is not None and math.isfinite(value) and value <= MOST * max(weights)
    return float(value) if good and value is not None else FAILED

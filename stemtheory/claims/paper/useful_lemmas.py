"""The appendix of useful lemmas.

Paper: Lemma (Lem: Sum_Mean_Kron), Lemma (Lem: AD_Sum_1overT), Lemma (Lem: Norm_Ineq).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stemtheory.claims.base import Claim, Comparison, wrong
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.runtime import Floats, Verdict


def vectors(path: Path) -> tuple[Floats, Floats, Floats]:
    """Return x^(k), here the directions d_t^(k), sum_k ||x^(k)||^2 and its rounding, t = 1..T."""
    x = path.d[path.t]
    total = square(x).sum(axis=-1)
    return x, total, 32 * EPS * total


def mean_removed(path: Path, taken: float = 0.0) -> Comparison:
    """sum_k ||x^k - xbar||^2 <= sum_k ||x^k||^2; ``taken`` K ||xbar||^2 off the right side."""
    _, total, rounding = vectors(path)
    right = total - taken * path.case.K * path.q2[path.t]
    return Comparison(path.Dl[path.t], right, floor=rounding)


def mean_removed_exactly(path: Path, counted: float = 1.0) -> Comparison:
    """The same as an identity: the difference is K ||xbar||^2."""
    _, total, rounding = vectors(path)
    error = path.Dl[path.t] + counted * path.case.K * path.q2[path.t] - total
    return Comparison(np.abs(error), rounding)


def norm_of_a_sum(path: Path, power: float = 1.0) -> Comparison:
    """||sum_k x_k||^2 <= n sum_k ||x_k||^2."""
    x, total, rounding = vectors(path)
    return Comparison(square(x.sum(axis=-2)), path.case.K**power * total, floor=rounding)


def _sequences(level: str) -> tuple[Floats, ...]:
    """Return sequences a_0, a_1, ..., a_T > 0: ones, growing, shrinking, spiky, long."""
    T = {"quick": 200, "default": 2000, "full": 20000}[level]
    t = np.arange(T + 1.0)
    spiky = np.where(t % 7 == 0, 50.0, 0.01)
    return (
        np.ones(11),
        np.ones(T + 1),
        1 + t,
        1 / (1 + t),
        spiky,
        np.exp(-t),
        2.0 ** np.minimum(t, 900),
    )


def summation_printed(a: Floats) -> Comparison:
    """As printed: the inner sum over i = t..t and the right-hand one up to t (read: up to T)."""
    left = np.sum(a[1:] / (a[0] + a[1:]))
    return Comparison(np.array([left]), np.log1p(np.array([np.sum(a[1:]) / a[0]])))


def summation(a: Floats, lag: float = 0.0) -> Comparison:
    """Corrected: sum_{t=1}^T a_t/(a_0 + sum_{i=1}^t a_i) <= ln(1 + sum_{i=1}^T a_i/a_0)."""
    grown = np.cumsum(a[1:]) - lag * a[1:]
    left = np.sum(a[1:] / (a[0] + grown))
    return Comparison(np.array([left]), np.log1p(np.array([np.sum(a[1:]) / a[0]])))


KRON, SUM, NORM = "Lem: Sum_Mean_Kron", "Lem: AD_Sum_1overT", "Lem: Norm_Ineq"

summed = partial(Claim, label=SUM, kind="arithmetic", cases=_sequences)
pathwise = partial(Claim, kind="pathwise")
CLAIMS = (
    pathwise(
        id="U1",
        label=KRON,
        statement="Removing the mean does not lengthen a stack of vectors.",
        formula=r"\sum_k \|x^{(k)}-\bar x\|^2 \leq \sum_k \|x^{(k)}\|^2",
        compare=mean_removed,
        mutants=(wrong("the mean counted twice", taken=2.0),),
        reason="Misprint: the Kronecker factors stand in the wrong order for stacked nodes.",
    ),
    pathwise(
        id="U1-exact",
        label=KRON,
        statement="What is removed is K times the squared mean.",
        formula=r"\sum_k \|x^{(k)}-\bar x\|^2 = \sum_k \|x^{(k)}\|^2 - K\|\bar x\|^2",
        compare=mean_removed_exactly,
        identity=True,
        mutants=(wrong("the mean not counted", counted=0.0),),
    ),
    summed(
        id="U2",
        statement="The summation lemma, as printed, with its inner sum over i = t..t.",
        formula=r"\sum_{t=1}^T \frac{a_t}{a_0+\sum_{i=t}^{t}a_i}"
        r" \leq \ln(1+\sum_{i=1}^{t}\frac{a_i}{a_0})",
        compare=summation_printed,
        expected={("literal", "all"): Verdict.VIOLATED},
        mutants=(),
        reason="With a_0 = a_t = 1 and T = 10 it reads 5 <= 2.398; it is used for M7c only.",
        repair="U2-corrected: the inner sum runs over i = 1..t, the right-hand one over 1..T.",
    ),
    summed(
        id="U2-corrected",
        statement="The summation lemma with its indices corrected.",
        formula=r"\sum_{t=1}^T \frac{a_t}{a_0+\sum_{i=1}^{t}a_i}"
        r" \leq \ln(1+\sum_{i=1}^{T}\frac{a_i}{a_0})",
        compare=summation,
        mutants=(wrong("the inner sum one term short", lag=1.0),),
    ),
    pathwise(
        id="U3",
        label=NORM,
        statement="The squared norm of a sum of n vectors.",
        formula=r"\|\sum_{i=1}^n x_i\|^2 \leq n \sum_{i=1}^n \|x_i\|^2",
        compare=norm_of_a_sum,
        mutants=(wrong("sqrt n for n", power=0.5),),
    ),
)

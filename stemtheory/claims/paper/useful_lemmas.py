"""The appendix of useful lemmas.

Paper: Lemma (Lem: Sum_Mean_Kron), Lemma (Lem: AD_Sum_1overT), Lemma (Lem: Norm_Ineq).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stemtheory.claims.base import Claim, Comparison, Mutant
from stemtheory.claims.evidence.path import EPS, Path, square
from stemtheory.runtime import Floats, Verdict


def mean_removed(path: Path) -> Comparison:
    """sum_k ||x^k - xbar||^2 <= sum_k ||x^k||^2, with x the workers' directions d_t^(k)."""
    d = path.d[1 : path.T + 1]
    return Comparison(path.Dl[1 : path.T + 1], square(d).sum(axis=-1), floor=_rounding(d))


def mean_removed_exactly(path: Path) -> Comparison:
    """The same as an identity: the difference is K ||xbar||^2."""
    d, K = path.d[1 : path.T + 1], path.case.K
    error = path.Dl[1 : path.T + 1] + K * path.q2[1 : path.T + 1] - square(d).sum(axis=-1)
    return Comparison(np.abs(error), _rounding(d))


def norm_of_a_sum(path: Path) -> Comparison:
    """||sum_k x_k||^2 <= n sum_k ||x_k||^2."""
    return _norm_of_a_sum(path, 1.0)


def _norm_of_a_sum(path: Path, power: float) -> Comparison:
    d, K = path.d[1 : path.T + 1], path.case.K
    left = square(d.sum(axis=-2))
    return Comparison(left, K**power * square(d).sum(axis=-1), floor=_rounding(d))


def _shorter(path: Path) -> Comparison:
    """A wrong version of U1: the mean is taken off the right side as well."""
    c, K = mean_removed(path), path.case.K
    return Comparison(c.left, c.right - 2 * K * path.q2[1 : path.T + 1], floor=c.floor)


def _unremoved(path: Path) -> Comparison:
    """A wrong version of U1-exact: the mean is forgotten."""
    d = path.d[1 : path.T + 1]
    error = path.Dl[1 : path.T + 1] - square(d).sum(axis=-1)
    return Comparison(np.abs(error), _rounding(d))


def _rounding(d: Floats) -> Floats:
    return np.asarray(32 * EPS * square(d).sum(axis=-1))


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


def summation(a: Floats) -> Comparison:
    """Corrected: sum_{t=1}^T a_t/(a_0 + sum_{i=1}^t a_i) <= ln(1 + sum_{i=1}^T a_i/a_0)."""
    return _summation(a, 0.0)


def _summation(a: Floats, lag: float) -> Comparison:
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
        mutants=(Mutant("the mean counted twice", compare=_shorter),),
        reason="Misprint: the Kronecker factors stand in the wrong order for stacked nodes.",
    ),
    pathwise(
        id="U1-exact",
        label=KRON,
        statement="What is removed is K times the squared mean.",
        formula=r"\sum_k \|x^{(k)}-\bar x\|^2 = \sum_k \|x^{(k)}\|^2 - K\|\bar x\|^2",
        compare=mean_removed_exactly,
        identity=True,
        mutants=(Mutant("the mean not counted", compare=_unremoved),),
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
        mutants=(Mutant("the inner sum one term short", compare=lambda a: _summation(a, 1.0)),),
    ),
    pathwise(
        id="U3",
        label=NORM,
        statement="The squared norm of a sum of n vectors.",
        formula=r"\|\sum_{i=1}^n x_i\|^2 \leq n \sum_{i=1}^n \|x_i\|^2",
        compare=norm_of_a_sum,
        mutants=(Mutant("sqrt n for n", compare=lambda p: _norm_of_a_sum(p, 0.5)),),
    ),
)

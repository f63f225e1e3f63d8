r"""L, sigma and zeta of a finite sum over the workers' own rows, as bounds that are proved.

    grad f_i(x) = s ell'(a_i . x - o_i) a_i + alpha q'(x),   0 <= ell'' <= p,  lo <= ell' <= hi

and worker k holds n_k of the rows. With A_i = s a_i, c = (lo + hi)/2 and h = (hi - lo)/2, so that
ell'_i = c + e_i with |e_i| <= h, and means over the rows of one worker:

    L_k      grad f_i(x) - grad f_i(y) = (w_i a_i a_i' + D)(x - y), 0 <= w_i <= s p, |D| <= alpha
             q_0: L_k <= s p sqrt(lmax(mean |a_i|^2 a_i a_i')) + alpha q_0 by Minkowski's inequality
    sigma_k  the standard deviation of (c + e_i) A_i is at most |c| sd(A) + h sqrt(mean |A_i|^2)
    zeta_kl  |c| |mean_k A - mean_l A| + h (r_k + r_l), where r = min(mean |A_i|, sqrt(lmax(mean
             A_i A_i'))) is never below |mean e_i A_i|/h

The constants are the largest over workers and pairs. Where a matrix of the rows is too large for
its eigenvalues, the trace stands for the largest: larger, and still a bound.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stemtheory.runtime import Floats

WIDEST = 2000  # rows and columns of a matrix whose eigenvalues are taken


class Slopes(NamedTuple):
    """What is known of ell: 0 <= ell'' <= ``bend`` and ``low`` <= ell' <= ``high``."""

    bend: float
    low: float
    high: float

    @property
    def centre(self) -> float:
        """The middle of the range of ell'."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> float:
        """How far ell' may be from it."""
        return (self.high - self.low) / 2


def parts(rows: Floats, counts: Iterable[int]) -> Sequence[Floats]:
    """Return the rows of each worker, which stand one worker after another."""
    ends = np.cumsum([0, *counts])
    return [rows[a:b] for a, b in pairwise(ends)]


def smoothness(workers: Sequence[Floats], slopes: Slopes, height: float, flat: float) -> float:
    """Return a bound of L; ``flat`` is alpha q_0.

    Paper: Assumption (Ass: Lip_Smoothness).
    """
    return (
        max(
            height * slopes.bend * math.sqrt(top(a * np.sqrt((a * a).sum(axis=1))[:, None]))
            for a in workers
        )
        + flat
    )


def noise(workers: Sequence[Floats], slopes: Slopes, height: float) -> float:
    """Return a bound of sigma; a worker with one row has no noise.

    Paper: Assumption (Ass: Unbiased_Var_Grad).
    """
    return height * max(_deviation(a, slopes) for a in workers)


def _deviation(a: Floats, slopes: Slopes) -> float:
    """Return the bound of the standard deviation of ell'_i a_i over one worker's rows."""
    if len(a) == 1:
        return 0.0
    spread = math.sqrt(((a - a.mean(axis=0)) ** 2).sum(axis=1).mean())
    return abs(slopes.centre) * spread + slopes.reach * math.sqrt((a * a).sum(axis=1).mean())


def distance(workers: Sequence[Floats], slopes: Slopes, height: float) -> float:
    """Return a bound of zeta; one worker is at distance 0 of itself.

    Paper: Assumption (Ass: Unbiased_Var_Grad).
    """
    if len(workers) == 1:
        return 0.0
    means = np.stack([a.mean(axis=0) for a in workers])
    reach = np.array([min(float(np.sqrt((a * a).sum(axis=1)).mean()), math.sqrt(top(a)))
                      for a in workers])  # fmt: skip
    worst = 0.0
    for k in range(len(workers) - 1):
        apart = np.sqrt(((means[k + 1 :] - means[k]) ** 2).sum(axis=1))
        pairs = abs(slopes.centre) * apart + slopes.reach * (reach[k + 1 :] + reach[k])
        worst = max(worst, float(pairs.max()))
    return height * worst


def top(a: Floats) -> float:
    """Return lmax of (1/n) sum a_i a_i', or the trace where that takes too long.

    The smaller of the two Gram matrices has the same largest eigenvalue.
    """
    n, dim = a.shape
    if min(n, dim) > WIDEST:
        return float((a * a).sum() / n)
    gram = a @ a.T if n < dim else a.T @ a
    # LAPACK's error is a few units in the last place of the norm; a bound may not be below
    largest = float(np.linalg.eigvalsh(gram)[-1])
    found: float = max(largest / n, 0.0) * (1 + 1e-12 * len(gram))
    return found

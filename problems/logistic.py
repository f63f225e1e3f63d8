r"""Nonconvex logistic: f(x) = s [mean_i log(1 + exp(-y_i a_i . rx)) + alpha penalty(rx)].

penalty(z) = sum_j z_j^2/(1 + z_j^2). The data are synthetic with a fixed seed: a_i ~ N(0, I), and
y_i the sign of a fixed plane with a tenth of the labels flipped; y_i is absorbed into a_i. All
workers share them and take zeta from a push. The dials ``alpha`` (0.1), ``points`` N (32) and
``data_seed`` choose the problem, ``sampling`` the oracle; r and s follow from L and sigma.

On rows of a user's own (``data=FILE``, see ``own_data``) nothing is scaled, r = s = 1: the rows are
split over the workers, and L, sigma and zeta are what they are.

In the module ``finite_sum`` the letters are ell(m) = log(1 + exp(-m)), with ell' = -1/(1 + exp m),
so steepest m = sup |ell'| = 1, and ell'' = e^m/(1 + e^m)^2 in (0, 1/4], largest at margin 0: p =
1/4. q(z) = z^2/(1 + z^2), q' = 2z/(1 + z^2)^2, q'' = 2 (1 - 3 z^2)/(1 + z^2)^3 in [-1/2, 2]: q_0 =
2 at 0, least at |z| = 1. Hence, at r = s = 1,

    L <= (1/4) sqrt(lmax(mean |a_i|^2 a_i a_i')) + 2 alpha       (declared)
    L >= sqrt(lmax(mean (a_i a_i'/4 + 2 alpha I)^2))             (witness: two points close to 0)
    sigma^2 <= mean |a_i|^2                                      (declared, |ell'| <= 1)
    f* >= 0                                                      (declared, so the gap is a bound)

Public codes take 6 alpha for the penalty's curvature (true: between -alpha/2 and 2 alpha) or |a_i|
for |a_i|^2/4; the contract rejects both. Nonconvex for every alpha > 0 in two or more dimensions:
far away, where every margin is large, only the penalty curves (witness: z_1 = 1, the others far).
In one dimension a scan of the line looks for one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.oracles import DIP, PENALTY_BEND, Model, RowLoss, Slopes, penalty, penalty_slope
from stemtheory.runtime import Floats, generator

FLIPPED = 0.1  # share of labels that the plane gets wrong


def loss(margin: Any) -> Any:
    """Return log(1 + exp(-margin)), without overflow."""
    return np.logaddexp(0, -margin)


def slope(margin: Any) -> Any:
    """Return -1/(1 + exp(margin)), without overflow."""
    return (np.tanh(margin / 2) - 1) / 2


def data(points: int, dim: int, seed: int) -> Floats:
    """Return the rows y_i a_i, shape (points, dim)."""
    stream = generator(seed)
    rows = stream.standard_normal((points, dim))
    plane = stream.standard_normal(dim)
    sign = np.where(rows @ plane >= 0, 1.0, -1.0)
    sign[stream.random(points) < FLIPPED] *= -1
    labelled: Floats = rows * sign[:, None]
    return labelled


ROWS = RowLoss(
    name="logistic",
    loss=loss,
    slope=slope,
    slopes=Slopes(bend=1 / 4, low=-1.0, high=0.0),
    labels=True,
)
ENTRY = Model(
    name="logistic",
    summary="nonconvex logistic regression on synthetic data, or on rows of your own (data=FILE)",
    formula=(
        r"f(x) = s \left[\frac{1}{N} \sum_i \log(1 + e^{-y_i a_i \cdot r x})"
        r" + \alpha \sum_j \frac{(r x_j)^2}{1 + (r x_j)^2}\right]"
    ),
    loss=loss,
    slope=slope,
    penalty=penalty,
    penalty_slope=penalty_slope,
    bend=1 / 4,
    steepest=1.0,
    penalty_bend=PENALTY_BEND,
    dip=DIP,
    data=data,
    own_rows=ROWS,
    visible=(
        "Realism: constants that are only bounds, so that a theorem holds with a wide "
        "margin; and sampling of real summands, by counts or by their Gaussian law, with "
        "the same result."
    ),
)

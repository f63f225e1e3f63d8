r"""Robust regression on rows of a user's own: pseudo-Huber loss with a nonconvex regulariser.

f^(k)(x) = mean_i delta^2 (sqrt(1 + (u_i/delta)^2) - 1) + alpha sum_j x_j^2/(1 + x_j^2) with u_i =
a_i . x - y_i, over worker k's rows: quadratic for |u| below delta, straight beyond, so that a row
far from the others pulls no harder than delta |a_i|. Without the regulariser (alpha = 0) convex.

In the module ``row_problem`` residuals are measured in delta, s = delta^2, and ell(m) = sqrt(1 +
m^2) - 1: ell' = m/sqrt(1 + m^2) in (-1, 1), and ell'' = (1 + m^2)^(-3/2) in (0, 1], largest at 0.
The constants are those of ``row_constants``, as bounds:

    L <= max_k sqrt(lmax(mean |a_i|^2 a_i a_i')) + 2 alpha
    sigma <= delta max_k sqrt(mean |a_i|^2)
    zeta <= delta max_{k != l} (r_k + r_l), r_k = min(mean |a_i|, sqrt(lmax(mean a_i a_i')))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.oracles import RowLoss, Slopes


def loss(m: Any) -> Any:
    """Return sqrt(1 + m^2) - 1, without overflow or cancellation."""
    return m * (m / (np.hypot(1, m) + 1))


def slope(m: Any) -> Any:
    """Return m/sqrt(1 + m^2), without overflow."""
    return m / np.hypot(1, m)


ENTRY = RowLoss(
    name="robust_regression",
    summary="pseudo-Huber regression on rows of your own (data=FILE), L, sigma and zeta as bounds",
    formula=(
        r"f^{(k)}(x) = \frac{1}{n_k} \sum_i \delta^2"
        r" \left[\sqrt{1 + (a_i \cdot x - y_i)^2/\delta^2} - 1\right]"
        r" + \alpha \sum_j \frac{x_j^2}{1 + x_j^2}"
    ),
    loss=loss,
    slope=slope,
    slopes=Slopes(bend=1.0, low=-1.0, high=1.0),
    labels=False,
    width=1.0,
    visible="What the theorems say of data of your own, with outliers.",
)

"""The constants of a finite sum: the bracket of L, and the scales that meet the targets.

The derivation stands in ``finite_sum``.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.problem import Constants, Exactness
from stemtheory.runtime import Floats, UsageError, real

if TYPE_CHECKING:
    from stemtheory.oracles.finite_sum import Model


def bracket(model: Model, rows: Floats, alpha: float, extra: float = 0.0) -> tuple[float, float]:
    """Return (lower, upper) bounds of L at r = s = 1; ``extra`` is a common curvature beside it.

    Paper: Assumption (Ass: Lip_Smoothness).
    """
    square = (rows * rows).sum(axis=1)
    spread = (rows.T * square) @ rows / len(rows)  # mean |a|^2 a a'
    flat = alpha * model.penalty_bend + extra
    upper = model.bend * math.sqrt(np.linalg.eigvalsh(spread)[-1]) + flat
    return math.sqrt(np.linalg.eigvalsh(square_at_zero(model, rows, flat))[-1]), upper


def square_at_zero(model: Model, rows: Floats, flat: float) -> Floats:
    """Return (1/N) sum (p a_i a_i' + flat I)^2, shape (dim, dim), without forming the summands."""
    N, dim = rows.shape
    square = (rows * rows).sum(axis=1)
    weights = model.bend**2 * square + 2 * model.bend * flat
    matrix: Floats = (rows.T * weights) @ rows / N + flat**2 * np.eye(dim)
    return matrix


def solve(
    model: Model, rows: Floats, alpha: float, L: float, sigma: float, Z: float
) -> tuple[float, float, float]:
    """Return the stretch r, the height s and the lower end of the bracket of L."""
    # Without noise only the mean f is ever seen, so its own curvature takes the place of the bound
    # over the summands, and the bracket closes: f is as steep at 0 as its bound says.
    if sigma == 0:
        top = model.bend * float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1])
        return 1.0, (L - Z) / (top + alpha * model.penalty_bend), L
    # Two targets, two scales: L - Z = s r^2 L_1 and sigma = s r S_1 give r by their quotient.
    steepest = model.steepest * math.sqrt((rows * rows).sum(axis=1).mean())
    r = (L - Z) / sigma * steepest / bracket(model, rows, alpha)[1]
    s = sigma / (r * steepest)
    return r, s, s * r * r * bracket(model, rows, alpha, Z / (s * r * r))[0]


def declare(L: float, lower: float, sigma: float, zeta: float) -> Constants:
    """Return the constants without a start; L is exact where its bracket closes."""
    exact: dict[str, Exactness] = {
        "L": math.isclose(lower, L, rel_tol=1e-9),
        "sigma": sigma == 0,
        "zeta": True,
        "f_star": False,
        "gap": "unbounded",
    }
    return Constants(L, sigma, zeta, 0.0, math.inf, exact)


def waves(
    L: float, zeta: float, dim: int, heterogeneity: str, frequency: float | None
) -> tuple[float, float]:
    """Return Z and w of the push; half of L unless a frequency is given."""
    push = HETEROGENEITIES[heterogeneity]
    if not push.waves:
        return 0.0, 0.0
    w = push.frequency(zeta, L / 2, dim) if frequency is None else frequency
    w = real("het_frequency", w, positive=True)
    Z = push.curvature(zeta, w, dim)
    if Z >= L:
        raise UsageError(
            f"het_frequency {w:.6g} means Z = zeta w/(2 sqrt d) = {Z:.6g}, but it must stay below"
            f" L = {L:.6g}: lower het_frequency or zeta, or raise L."
        )
    return Z, w

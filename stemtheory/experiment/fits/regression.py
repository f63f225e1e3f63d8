"""Straight lines through points in log-log coordinates: the exponent, and how sure it is.

Weights hold the spread over replicates and a common scatter beside it (rounded b and I, lower-order
terms), estimated from the residuals. Two intervals are made, of the residuals and of a bootstrap
over replicates, and the wider one is reported: of seven points it holds the slope in 94 to 96 of
100 sets, because weights are estimated too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stemtheory.runtime import Floats, t_quantile
from stemtheory.simulator import interval

LEAST = 3  # distinct points: through two of them every line is exact


class FittedLine(NamedTuple):
    """The slope of log y over log x with its 95 % interval, and the ``source`` of that.

    ``tail`` is the slope of the last third of the points in the order of x (``head`` of the first),
    ``scatter`` the largest |log y - line|.
    """

    exponent: float
    low: float
    high: float
    source: str
    head: float
    tail: float
    scatter: float


def fit_line(x: Floats, y: Floats, resampled: Floats) -> FittedLine:
    """Return the line through log y over log x; x and y (n,) positive, ``resampled`` (n, m) of y.

    m may be 0 where there are no replicates. At least ``LEAST`` distinct x are needed.
    """
    order = np.argsort(x, kind="stable")
    u, v, r = np.log(x[order]), np.log(y[order]), np.log(resampled[order])
    within = r.var(axis=1) if r.shape[1] else np.zeros(len(u))
    weights = _weights(u, v, within)
    fitted, intercept = _solve(u, v, weights)
    slope, residual = float(fitted), v - fitted * u - intercept
    half = t_quantile(len(u) - 2, 0.975) * _spread(u, residual, weights)
    low, high, source = slope - half, slope + half, "residuals"
    if r.shape[1]:
        first, last = interval(_solve(u, r, weights)[0])
        if last - first > high - low:
            low, high, source = first, last, "bootstrap"
    third = max(2, len(u) // 3)
    head, tail = (_local(u[part], v[part]) for part in (slice(third), slice(-third, None)))
    return FittedLine(slope, low, high, source, head, tail, float(abs(residual).max()))


def _weights(u: Floats, v: Floats, within: Floats) -> Floats:
    """Inverse variances: that of the replicates, plus one for all from the excess of residuals.

    The method of moments for a common variance between points: residuals that the replicates alone
    explain leave none.
    """
    if not within.any():
        return np.ones(len(u))
    w = 1 / np.maximum(within, 1e-6 * within.max())
    slope, intercept = _solve(u, v, w)
    excess = float(w @ (v - slope * u - intercept) ** 2) - (len(u) - 2)
    design = np.stack([np.ones_like(u), u])
    inner = np.linalg.inv(design * w @ design.T)
    scale = w.sum() - np.trace(inner @ (design * w**2 @ design.T))
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    return np.asarray(1 / (1 / w + between))


def _solve(u: Floats, v: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Slope and intercept by weighted least squares; v is (n,) or (n, m)."""
    w = weights / weights.sum()
    centred = u - w @ u
    slope = (w * centred) @ v / (w @ centred**2)
    return slope, w @ v - slope * (w @ u)


def _spread(u: Floats, residual: Floats, weights: Floats) -> float:
    """Standard error of the slope, from the scale of the residuals."""
    centred = u - weights @ u / weights.sum()
    scale = weights @ residual**2 / (len(u) - 2)
    return float(np.sqrt(scale / (weights @ centred**2)))


def _local(u: Floats, v: Floats) -> float:
    """Slope of a few points; NaN where they share one x."""
    if np.ptp(u) == 0:
        return float("nan")
    return float(_solve(u, v, np.ones(len(u)))[0])

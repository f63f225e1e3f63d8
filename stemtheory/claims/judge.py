"""The five checkers: from both sides of a claim to a verdict and a margin.

    arithmetic, pathwise, conditional   left <= right, to a float error budget
    identities                          error <= budget
    expectation                         one-sided (or, for equalities, two-sided) Student limits
    rate                                |exponent - theory| <= interval half-width + tolerance

``ALPHA`` is the family-wise false-alarm rate of one whole ``verify``; each statistical instance
gets an equal share of it (Bonferroni), so more claims make every one of them harder to convict.
That an equality was not rejected says as much as the error that would have been: ``detectable``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stemtheory.claims.base import Claim, Comparison, Finding
from stemtheory.runtime import Floats, Verdict, combine, t_quantile

ALPHA = 1e-3
INSTANCES = 20_000  # an upper limit on the statistical instances of one verify; a test counts them
BLIND = 0.5  # an equality whose median detectable error is larger is undecided
RELATIVE = 1e-9  # rounding allowed to an exact inequality, relative to its right side


class Instances(NamedTuple):
    """Every instance of a comparison, flat: both sides, where and when, verdict and margin."""

    left: Floats
    right: Floats
    where: Any
    t: Any
    verdicts: Any
    margins: Floats
    detectable: Floats  # NaN where there is no equality in expectation
    trivial: Floats  # NaN where there is no run


def instances(claim: Claim, c: Comparison) -> Instances:
    """Return the verdict and the margin of every instance of a comparison."""
    left, right, where, t, floor = map(c.flat, (c.left, c.right, c.where, c.t, c.floor))
    with np.errstate(divide="ignore", invalid="ignore"):
        if claim.kind == "rate":
            verdicts, margins = _limits(np.abs(left - right), c.flat(c.spread))
        elif claim.kind == "expectation":
            verdicts, margins = _statistical(c, left, right, c.flat(c.spread))
        else:
            verdicts, margins = _limits(left, allowed(right, floor))
            margins = np.where(np.abs(left) <= floor, np.inf, margins)
    trivial = c.flat(np.nan if c.trivial is None else float(c.trivial))
    if c.trivial is not None:  # true, but no better than standing still, a bound says nothing
        idle = (verdicts == Verdict.HOLDS) & (right >= trivial)
        verdicts = np.where(idle, Verdict.VACUOUS, verdicts)
    return Instances(left, right, where, t, verdicts, margins, detectable(claim, c), trivial)


def allowed(right: Any, floor: Any) -> Any:
    """Return what an exact left side may be, rounding included, before it is a violation."""
    return right * (1 + RELATIVE) + floor


def detectable(claim: Claim, c: Comparison) -> Floats:
    """Return the smallest relative error that would be rejected with probability 1/2, or NaN.

    An estimate spreads evenly around its mean, so that is the limit itself over the scale.
    """
    scale = np.abs(c.flat(c.right if c.scale is None else c.scale)).astype(float)
    if claim.kind != "expectation" or not c.two_sided:
        return np.full(scale.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(critical(c.dof, two_sided=True) * c.flat(c.spread) / scale)


def judge(claim: Claim, comparison: Comparison, reading: str) -> list[Finding]:
    """Return a cell for every kind of place ('all', 'off-sync', 'sync') in the comparison."""
    every = instances(claim, comparison)
    return [
        _cell(claim, reading, place, Instances(*(v[every.where == place] for v in every)))
        for place in sorted(set(every.where.tolist()))
    ]


def critical(dof: int, two_sided: bool = False) -> float:
    """Return the Student quantile of one instance's share of the false-alarm rate."""
    share = ALPHA / INSTANCES / (2 if two_sided else 1)
    return t_quantile(max(dof, 1), 1 - share)


def _limits(left: Floats, right: Floats) -> tuple[Any, Floats]:
    """Compare exactly; NaN on either side is a violation, never a pass."""
    ok = left <= right
    verdicts = np.where(ok, Verdict.HOLDS, Verdict.VIOLATED)
    margins = np.where(left > 0, right / left, np.where(ok, np.inf, -np.inf))
    return verdicts, np.where(np.isnan(left) | np.isnan(right), -np.inf, margins)


def _statistical(c: Comparison, left: Floats, right: Floats, spread: Any) -> tuple[Any, Floats]:
    limit = critical(c.dof, c.two_sided)
    if c.two_sided:
        z = np.abs(left - right) / np.where(spread > 0, spread, np.nan)
        z = np.where((spread == 0) & (left == right), 0.0, z)
        verdicts = np.where(z <= limit, Verdict.HOLDS, Verdict.VIOLATED)
        return verdicts, np.where(z > 0, limit / z, np.where(z == 0, np.inf, -np.inf))
    upper, lower = left + limit * spread, left - limit * spread
    verdicts = np.where(upper <= right, Verdict.HOLDS, Verdict.UNDECIDED)
    verdicts = np.where(~(lower <= right), Verdict.VIOLATED, verdicts)
    margins = np.where(upper > 0, right / upper, np.inf)
    return verdicts, np.where(np.isnan(upper) | np.isnan(right), -np.inf, margins)


def _cell(claim: Claim, reading: str, place: str, found: Instances) -> Finding:
    i = int(np.argmin(found.margins))
    margin = float(found.margins[i]) if np.isfinite(found.margins[i]) else None
    worst = {"t": found.t[i].item(), "left": float(found.left[i]), "right": float(found.right[i])}
    if np.isfinite(found.trivial[i]):
        worst["standstill"] = float(found.trivial[i])
    verdict = combine(found.verdicts.tolist())
    noticed = tuple(found.detectable[~np.isnan(found.detectable)].tolist())
    return Finding(
        claim.id, reading, place, verdict, margin, worst, len(found.left), detectable=noticed
    )

"""Both sides of a claim over its panel, thinned to what a small plot can show.

What is drawn is always "measured against allowed"; points above the diagonal are violations:

    inequalities           left against right, in excess form
    identities             error against float budget
    equality in mean       |mean - target| against critical value times standard error
    rate                   |measured - stated exponent| against half-width plus tolerance
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.judge import critical, instances
from stemtheory.runtime import Floats, Verdict

MOST = 240  # points of one claim that are drawn
EACH = 12  # points kept of one comparison, or MOST if it is the only one


class PlotPoint(NamedTuple):
    """One instance: what the claim allows, what was measured, and whether that is too much."""

    allowed: float
    measured: float
    violated: bool


@dataclass
class Sample:
    """Points of one claim, collected while it is checked; ``below`` were not above zero."""

    points: list[PlotPoint] = field(default_factory=list)
    below: int = 0
    total: int = 0

    def watch(self, claim: Claim, comparison: Comparison, reading: str) -> None:
        """Keep the worst instances of a comparison, and others evenly along its margins."""
        found = instances(claim, comparison)
        allowed, measured = sides(claim, comparison)
        shown = (measured > 0) & (allowed > 0) & np.isfinite(measured) & np.isfinite(allowed)
        bad = found.verdicts == Verdict.VIOLATED
        shown |= bad
        self.total += len(shown)
        self.below += int(np.sum(~shown))
        number = MOST if claim.kind == "arithmetic" and claim.cases is None else EACH
        for i in _spread_out(np.flatnonzero(shown), found.margins, number):
            self.points.append(PlotPoint(float(allowed[i]), float(measured[i]), bool(bad[i])))

    def thinned(self) -> list[PlotPoint]:
        """Return at most ``MOST`` points: every violated one first, then evenly."""
        bad = [p for p in self.points if p.violated]
        good = [p for p in self.points if not p.violated]
        return _evenly(bad, MOST // 2) + _evenly(good, MOST - min(len(bad), MOST // 2))


def sides(claim: Claim, c: Comparison) -> tuple[Floats, Floats]:
    """Return (allowed, measured) of every instance, flat; see the module."""
    left, right = c.flat(c.left), c.flat(c.right)
    spread = c.flat(np.nan if c.spread is None else c.spread)
    if claim.kind == "rate":
        return spread, np.abs(left - right)
    if c.two_sided:
        return critical(c.dof, True) * spread, np.abs(left - right)
    return right, left


def _spread_out(chosen: Any, margins: Floats, number: int) -> list[int]:
    """Return indices from the smallest margin to the largest, the worst among them."""
    order = chosen[np.argsort(margins[chosen], kind="stable")]
    return [int(i) for i in _evenly(list(order), number)]


def _evenly(items: list[Any], number: int) -> list[Any]:
    if len(items) <= number:
        return items
    at = np.unique(np.round(np.linspace(0, len(items) - 1, number)).astype(int))
    return [items[i] for i in at]

"""The five checkers: from both sides of a claim to a verdict and a margin.

    arithmetic, pathwise, conditional   left <= right, to a float error budget
    identities                          error <= budget
    expectation                         one-sided (or, for equalities, two-sided) Student limits
    rate                                |exponent - theory| <= interval half-width + tolerance

``ALPHA`` is the family-wise false-alarm rate of one whole ``verify``; each statistical instance
gets an equal share of it (Bonferroni), so more claims make every one of them harder to convict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import stdtrit

from stemtheory.claims.base import Cell, Claim, Comparison, Verdict
from stemtheory.oracle import Floats

ALPHA = 1e-3
INSTANCES = 20_000  # an upper limit on the statistical instances of one verify; a test counts them
RELATIVE = 1e-9  # rounding allowed to an exact inequality, relative to its right side


def judge(claim: Claim, comparison: Comparison, reading: str, note: str = "") -> list[Cell]:
    """Return a cell for every kind of place ('all', 'off-sync', 'sync') in the comparison."""
    left, right, where, t = _flat(comparison)
    cells = []
    for place in sorted(set(where.tolist())):
        chosen = where == place
        spread = None if comparison.spread is None else _spread(comparison, left)[chosen]
        floor = np.broadcast_to(comparison.floor, np.shape(comparison.left)).ravel()[chosen]
        verdicts, margins = _instances(
            claim, comparison, left[chosen], right[chosen], spread, floor
        )
        if comparison.trivial is not None:
            verdicts = _mark_vacuous(comparison, right[chosen], chosen, verdicts)
        cells.append(
            _cell(
                claim,
                reading,
                place,
                verdicts,
                margins,
                left[chosen],
                right[chosen],
                t[chosen],
                note,
            )
        )
    return cells


def critical(dof: int, two_sided: bool = False) -> float:
    """Return the Student quantile of one instance's share of the false-alarm rate."""
    share = ALPHA / INSTANCES / (2 if two_sided else 1)
    return float(stdtrit(max(dof, 1), 1 - share))


def _instances(
    claim: Claim, c: Comparison, left: Floats, right: Floats, spread: Any, floor: Floats
) -> tuple[Any, Floats]:
    """Return (verdict, margin) per instance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if claim.kind == "rate":
            return _limits(np.abs(left - right), spread)
        if claim.kind == "expectation":
            return _statistical(c, left, right, spread)
        verdicts, margins = _limits(left, right * (1 + RELATIVE) + floor)
        return verdicts, np.where(np.abs(left) <= floor, np.inf, margins)


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
    return verdicts, np.where(upper > 0, right / upper, np.inf)


def _mark_vacuous(c: Comparison, right: Floats, chosen: Any, verdicts: Any) -> Any:
    """A bound that is true and no better than standing still says nothing."""
    trivial = np.broadcast_to(np.asarray(c.trivial, float), np.shape(c.left)).ravel()[chosen]
    return np.where((verdicts == Verdict.HOLDS) & (right >= trivial), Verdict.VACUOUS, verdicts)


def _cell(
    claim: Claim,
    reading: str,
    place: str,
    verdicts: Any,
    margins: Floats,
    left: Floats,
    right: Floats,
    t: Any,
    note: str,
) -> Cell:
    worst = int(np.argmin(margins))
    at = {"t": t[worst].item(), "left": float(left[worst]), "right": float(right[worst])}
    return Cell(
        claim.id,
        reading,
        place,
        combine(verdicts.tolist()),
        _finite(margins[worst]),
        at,
        len(left),
        note=note,
    )


def combine(verdicts: Any) -> Verdict:
    """Return the row's verdict by the rule: the first of these that occurs decides."""
    found = {Verdict(v) for v in verdicts}
    for verdict in (
        Verdict.VIOLATED,
        Verdict.UNDECIDED,
        Verdict.HOLDS,
        Verdict.VACUOUS,
        Verdict.INAPPLICABLE,
    ):
        if verdict in found:
            return verdict
    return Verdict.NOT_CHECKABLE


def _flat(c: Comparison) -> Iterator[Any]:
    shape = np.broadcast_shapes(np.shape(c.left), np.shape(c.right))
    for values in (c.left, c.right, c.where, c.t):
        yield np.broadcast_to(np.asarray(values), shape).ravel()


def _spread(c: Comparison, left: Floats) -> Floats:
    return np.broadcast_to(np.asarray(c.spread, float), np.shape(c.left)).ravel()


def _finite(margin: Any) -> float | None:
    return float(margin) if np.isfinite(margin) else None

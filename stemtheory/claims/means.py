"""Where a conditional claim is broken on a replicate: what the paper's expectations say of it.

A conditional claim is asked of every replicate, given its past. That is more than a lemma about
expectations says, so a broken one proves nothing yet: both sides are averaged over fresh
``REPLICATES`` and the mean of left - right is judged by its limits, as that of any expectation.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison, Finding, InMeans
from stemtheory.claims.evidence.fedavg_path import recorded
from stemtheory.claims.judge import instances
from stemtheory.oracles import USUAL
from stemtheory.runtime import Verdict, t_quantile

REPLICATES = 200


def averaging(case: Case) -> Case:
    """Return the case with the replicates of a mean; a run without noise is its own."""
    noisy = dict(case.dials).get("sigma", USUAL.sigma) > 0
    return replace(case, replicates=REPLICATES if noisy else 1)


def in_expectation(claim: Claim, case: Case, cell: Finding) -> Finding:
    """Return the cell with the verdict, the margin and the worst instance of the means.

    The margin of what is violated is E right over E left; ``means`` keeps that of the worst
    replicate. Sides that have no axis of replicates are left as they are.
    """
    run = averaging(case)
    assert claim.compare is not None
    given = claim.compare(recorded(run))
    if np.shape(given.left)[1:] != (run.replicates,):
        return cell
    c = mean_sides(given)
    found = instances(replace(claim, kind="expectation"), c)
    here = np.flatnonzero(found.where == cell.where)
    broken = here[found.verdicts[here] == Verdict.VIOLATED]
    ratios = found.left / np.maximum(found.right, np.finfo(float).tiny)
    i = broken[np.argmax(ratios[broken])] if len(broken) else here[np.argmin(found.margins[here])]
    margin = 1 / ratios[i] if len(broken) else float(found.margins[i])
    worst = {"t": found.t[i].item(), "left": float(found.left[i]), "right": float(found.right[i])}
    verdict = Verdict(str(found.verdicts[i]))
    means = InMeans(run.replicates, cell.margin, *_interval(given, found.t[i]))
    finite = float(margin) if math.isfinite(margin) else None
    return replace(cell, verdict=verdict, margin=finite, worst=worst, means=means)


def mean_sides(c: Comparison) -> Comparison:
    """Return both sides [T, R] averaged over replicates, the floor added to the right one."""
    left, right, floor, where, t = _together(c)
    R = left.shape[1]
    gap = left - right
    spread = gap.std(axis=1, ddof=1) / math.sqrt(R) if R > 1 else np.zeros(len(gap))
    allowed = (right + floor).mean(axis=1)
    return Comparison(
        left.mean(axis=1), allowed, where[:, 0], t[:, 0], spread=spread, dof=max(R - 1, 1)
    )


def _interval(c: Comparison, t: Any) -> tuple[float, float]:
    """Return the ends of the 95 % interval of E left / E right at a t, by the delta method."""
    left, right, _, _, at = _together(c)
    row = int(np.flatnonzero(at[:, 0] == t)[0])
    left, right, R = left[row], right[row], left.shape[1]
    mean = max(right.mean(), np.finfo(float).tiny)
    ratio = left.mean() / mean
    if R == 1:
        return float(ratio), float(ratio)
    error = (left - ratio * right).std(ddof=1) / math.sqrt(R) / mean
    half = t_quantile(R - 1, 0.975) * float(error)
    return float(ratio - half), float(ratio + half)


def _together(c: Comparison) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(np.shape(c.left), np.shape(c.right))
    return tuple(
        np.broadcast_to(np.asarray(v), shape) for v in (c.left, c.right, c.floor, c.where, c.t)
    )

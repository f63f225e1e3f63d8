"""Claims about whole runs: bounds on E||grad f(xbar_a)||^2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.evidence.measured import MeasuredRun, measure
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.evidence.size_scenes import scene_of_sizes
from stemtheory.claims.language import Line
from stemtheory.claims.language.letters import E, grad, norm2, xbar_a
from stemtheory.claims.stating.sides import claim_of
from stemtheory.runtime import UsageError

AVERAGE = E(norm2(grad(xbar_a)))


def whole_run(
    line: Line, *, measured: Callable[[Case], MeasuredRun] = measure, **more: Any
) -> Claim:
    """Return the claim that a bound E||grad f(xbar_a)||^2 <= ... on whole runs is.

    ``measured`` tells what stands on the left; left out, the runs are simulated.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or its left side is another.
    """
    name = more.get("id", "this line")
    if [(step.left, step.sign) for step in line.steps] != [(AVERAGE, "<=")]:
        raise UsageError(f"{name}: a bound on a whole run begins with E(norm2(grad(xbar_a))) <=.")
    compare = partial(on_whole_run, line=line, measured=measured)
    return claim_of(line, compare, **{"kind": "expectation", **more})


def on_whole_run(case: Case, line: Line, measured: Callable[[Case], MeasuredRun]) -> Comparison:
    """Return E||grad f(xbar_a)||^2 of a case beside its bound, the right side of a line.

    The bound is vacuous where it is no better than standing still: min(||grad f(x_1)||^2, 2 L gap).
    """
    found, s = measured(case), setting_of(case)
    scene = scene_of_sizes([s])
    right = scene.evaluation.value(line.steps[0].right, scene.times)
    return Comparison(
        np.array([found.mean]),
        np.ravel(right),
        t=case.T,
        spread=found.error,
        dof=found.dof,
        trivial=np.minimum(found.standstill, 2 * s.L * s.gap),
    )

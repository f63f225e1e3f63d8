"""Claims between second moments, asked of each step or round of a recorded run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.evidence.path import record
from stemtheory.claims.evidence.rounds import (
    Each,
    Mean,
    RoundScene,
    jackknife,
    leaving_one_out,
    over_all,
)
from stemtheory.claims.language import Line, excess
from stemtheory.claims.stating.sides import claim_of, together


def per_round(
    line: Line, *, each: Each, opened: type[RoundScene] = RoundScene, **more: Any
) -> Claim:
    """Return the claim that a line between moments is, asked ``each`` step or round of a run.

    ``opened`` gives the letters of a run's rounds.
    """
    compare = partial(on_rounds, line=line, each=each, opened=opened)
    return claim_of(line, compare, **{"kind": "expectation", **more})


def on_rounds(
    case: Case, line: Line, each: Each, opened: type[RoundScene] = RoundScene
) -> Comparison:
    """Return both sides of a line between moments of the rounds of a recorded run."""
    path = record(case)
    steps = [excess(step) for step in line.steps]

    def sides(mean: Mean) -> Comparison:
        scene = opened(path, mean)
        return together(scene.evaluation, steps, scene.times(each), np.array(["all"]))

    found, R = sides(over_all), case.replicates
    if R == 1:
        return replace(found, spread=0.0, dof=0)
    others = sides(leaving_one_out)
    return replace(found, spread=jackknife(others.left - others.right), dof=R - 1)

"""What the claims on Theorem R* are put to: runs with its steps, short ones and nearly sharp ones.

Paper: Lemma (Lem: Potential_Descent_App), Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, noiseless, quadratic
from stemtheory.claims.evidence.counterexamples import OPPOSED_NOISY
from stemtheory.claims.panel import path_cases
from stemtheory.claims.repaired.steps import (
    FIRST_ERROR,
    PUSHED,
    PUSHED_FAR,
    SHAKEN,
    SHARP,
    STEEP,
    round_cases,
)
from stemtheory.claims.rstar.scenes import part_of
from stemtheory.schedules import RSTAR_STEPS, RStar


def stepped(case: Case, part: str, sync_batch: int | None = None) -> Case:
    """Return a case with a part's steps and, unless given, its sync batch m = ceil(I/M)."""
    m = RSTAR_STEPS[part].sync_batch(case.I) if sync_batch is None else sync_batch
    options = (("part", part),)
    return replace(case, schedule=RStar.name, options=options, sync_batch=m, clock=0.0)


# Noise whose variance differs from point to point, so that v_t does.
UNEVEN = Case(
    "cosine", 3, 2, 1, 4, 4, (("noise", "modulated"), ("sigma", 0.5), ("zeta", 2.0)), replicates=64
)
# One sample, one worker, two steps: a is largest, and (4) has least to spare.
LEAST = quadratic(1, 1, 2, 3, B=1.0, x1=0.0, h=1.0, sigma=1.0, zeta=0.0, noise="additive")
# The mean moves and nothing else does: of the terms of (5) that in ||dbar||^2 is left.
MOVED = noiseless(1, 1, 2, 2, x1=1.0, h=1.0, zeta=0.0)


def step_cases(level: str, parts: str, sync_batch: int | None = None) -> tuple[Case, ...]:
    """Return the path panel with the steps of the parts in turn, and the nearly sharp runs."""
    panel = [case for case in path_cases(level) if case.I > 1 and not case.clock]
    extra = [UNEVEN, STEEP, FIRST_ERROR, SHARP, LEAST, MOVED]
    turns = [stepped(case, part, sync_batch) for case, part in zip(panel, cycle(parts))]
    return (*turns, *(stepped(case, part, sync_batch) for case in extra for part in parts))


def drift_cases(level: str) -> tuple[Case, ...]:
    """Return the runs of the repaired proof's rounds with the steps of all parts."""
    sharp = [SHARP, PUSHED, PUSHED_FAR, SHAKEN, replace(SHAKEN, K=8, b=64)]
    rest = [case for case in round_cases(level) if case not in sharp and not case.clock]
    turns = [stepped(case, part) for case, part in zip(rest, cycle(RSTAR_STEPS))]
    return (*turns, *(stepped(case, part) for case in sharp for part in "bde"))


def averaged_cases(parts: str) -> tuple[Case, ...]:
    """Return runs whose noise differs from point to point, with sync batches and without."""
    runs = [replace(UNEVEN, replicates=400), replace(STEEP, replicates=400)]
    turns = (stepped(case, part, m) for case in runs for part in parts for m in (1, 3))
    return (*turns, stepped(replace(OPPOSED_NOISY, replicates=2000), "b"))


def of_parts(
    parts: str, least: int = 1, most: float = float("inf")
) -> Callable[[Case], tuple[Premise, ...]]:
    """Return the premises: the steps of one of the parts, its readings, I >= 2, least <= m <= most.

    Beyond that the proof asks for m >= ceil(I/M) only where its constants are collected.
    """

    def premises(case: Case) -> tuple[Premise, ...]:
        part = part_of(case)
        named = f"the steps of part {' or '.join(parts)}"
        readings = RSTAR_STEPS[part].readings if part in parts else ()
        return (
            Premise(named, bool(part) and part in parts),
            Premise("a reading of the part", not part or case.reading in readings),
            Premise("I >= 2", case.I >= 2),
            Premise(f"m from {least} to {most:g}", least <= case.sync_batch <= most),
        )

    return premises

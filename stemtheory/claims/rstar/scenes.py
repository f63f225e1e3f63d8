"""Recorded runs with the steps of a part of Theorem R* as scenes: its choices are letters too.

Paper: Lemma (Lem: Potential_Descent_App), Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.rounds import Mean, RoundScene
from stemtheory.claims.evidence.scenes import RunScene
from stemtheory.claims.rstar.coefficients import RSTAR_PARTS
from stemtheory.schedules import RStar


def part_of(case: Case) -> str:
    """Return the part of Theorem R* whose steps a case takes; empty for another schedule."""
    return str(dict(case.options)["part"]) if case.schedule == RStar.name else ""


def chosen(case: Case) -> dict[str, float]:
    """Return what the proof chooses for the part of a case, by letter."""
    return {name: float(value) for name, value in RSTAR_PARTS[part_of(case)].items()}


class PartScene(RunScene):
    """Letters of a recorded run, and those that its part chooses."""

    @cached_property
    def sizes(self) -> dict[str, Any]:
        """The letters without indices."""
        return {**super().sizes, **chosen(self.path.case)}


def scene_of_part(path: Path) -> PartScene:
    """Return the scene of a recorded run, kept with it, so that all lines share their norms."""
    kept: PartScene = vars(path).setdefault("part", PartScene(path))
    return kept


class PartRounds(RoundScene):
    """Letters of the rounds of a run, and those that its part chooses; kappa is the reading's."""

    def __init__(self, path: Path, mean: Mean) -> None:
        super().__init__(path, mean)
        self.sizes = {**chosen(path.case), **self.sizes}

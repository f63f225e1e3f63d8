"""The versions of a claim's line that rules make, put to its panel.

A version whose powers do not fit is refused where it is defined. One that the line implies can't
be rejected. Others are rejected by an instance that breaks them where the claim itself holds; what
is left is a survivor, and ``slack``, the smallest factor between its sides on the panel, says how
much sharper an instance would have to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.checking import Cells, opened
from stemtheory.claims.judge import instances
from stemtheory.claims.language import Wrong, wrong_versions
from stemtheory.runtime import Verdict, one_blas_thread


@dataclass(frozen=True)
class Survivor:
    """A version that no instance of the panel broke, and the smallest right over left there."""

    rule: str
    name: str
    slack: float | None


@dataclass(frozen=True)
class Tally:
    """What became of the versions of one claim."""

    claim: str
    refused: int
    rejected: int
    implied: int
    survivors: tuple[Survivor, ...]

    @property
    def tried(self) -> int:
        """All versions."""
        return self.refused + self.rejected + self.implied + len(self.survivors)


@one_blas_thread()
def try_rules(claim: Claim, honest: Mapping[str, Cells]) -> Tally:
    """Return what becomes of every version of a claim's line.

    ``honest`` are the claim's own cells by reading: a version may only be broken where they hold.
    """
    versions = list(wrong_versions(claim.line)) if claim.line and not claim.by_hand else []
    refused = sum(version.refused for version in versions)
    implied = sum(version.implied and not version.refused for version in versions)
    alive = {v: np.inf for v in versions if not v.refused and not v.implied}
    tried = len(alive)
    for cells in honest.values():
        sound = {cell.where for cell, _ in cells if cell.n} - {
            cell.where for cell, _ in cells if cell.verdict == Verdict.VIOLATED
        }
        for subject in {id(subject): subject for cell, subject in cells if cell.n}.values():
            if not alive:
                break
            _put(claim, opened(claim, subject), sound, alive)
    survivors = (
        Survivor(v.rule, v.name, float(slack) if np.isfinite(slack) else None)
        for v, slack in alive.items()
    )
    return Tally(claim.id, refused, tried - len(alive), implied, tuple(survivors))


def _put(claim: Claim, subject: Any, sound: set[str], alive: dict[Wrong, float]) -> None:
    """Take from ``alive`` what the subject breaks; keep the slack of the rest."""
    assert claim.compare is not None
    for version in list(alive):
        with np.errstate(all="ignore"):
            comparison = claim.compare(subject, line=version.line)
            broken, slack = _outcome(claim, comparison, sound)
        if broken:
            del alive[version]
        else:
            alive[version] = min(alive[version], slack)


def _outcome(claim: Claim, comparison: Comparison, sound: set[str]) -> tuple[bool, float]:
    """Return whether an instance breaks a version, and the smallest margin otherwise.

    An instance without a number on both sides asks for what the run has not, and says nothing.
    """
    found = instances(claim, comparison)
    numbers = np.isfinite(found.left) & np.isfinite(found.right)
    asked = numbers & np.isin(found.where, list(sound))
    broken = bool(np.any(asked & (found.verdicts == Verdict.VIOLATED)))
    margins = found.margins[asked & np.isfinite(found.margins)]
    return broken, float(margins.min()) if len(margins) else np.inf

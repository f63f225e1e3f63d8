"""The versions of a claim's line that rules make, put to its panel.

A version whose powers do not fit is refused where it is defined, and one that asks for what no run
has (a time beyond it, a mean without a closed form) when it is put to one. A version that the line
implies can't be rejected. Others are rejected by an instance that breaks them where the claim
itself holds; what is left is a survivor, and ``slack``, the smallest factor between its sides on
the panel, says how much sharper an instance would have to be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.checking import Cells, opened
from stemtheory.claims.judge import instances
from stemtheory.claims.language import Wrong, wrong_versions
from stemtheory.claims.pack import Pack
from stemtheory.runtime import UsageError, Verdict, one_blas_thread


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

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the survivors, JSON-ready."""
        return asdict(self) | {"survivors": [asdict(survivor) for survivor in self.survivors]}


@cache
def recorded(pack: Pack) -> dict[str, dict[str, Any]]:
    """Return what became of the versions of a pack's claims when last tried, by the claim's id."""
    if not pack.versions.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(pack.versions.read_text("utf-8"))
    return found


def versions_of(claim: Claim) -> dict[str, Any] | None:
    """Return the record of a claim's versions; None if its line is newer, or it has none."""
    found = recorded(claim.pack).get(claim.id) if claim.pack else None
    return found if found and found["formula"] == claim.formula else None


@one_blas_thread()
def try_rules(claim: Claim, honest: Mapping[str, Cells]) -> Tally:
    """Return what becomes of every version of a claim's line.

    ``honest`` are the claim's own cells by reading: a version may only be broken where they hold.
    """
    versions = list(wrong_versions(claim.line)) if claim.line and not claim.by_hand else []
    implied = sum(version.implied and not version.refused for version in versions)
    alive = {v: np.inf for v in versions if not v.refused and not v.implied}
    rejected = 0
    for cells in honest.values():
        sound = {cell.where for cell, _ in cells if cell.n} - {
            cell.where for cell, _ in cells if cell.verdict == Verdict.VIOLATED
        }
        for subject in {id(subject): subject for cell, subject in cells if cell.n}.values():
            if alive:
                rejected += _put(claim, opened(claim, subject), sound, alive)
    survivors = (
        Survivor(v.rule, v.name, float(slack) if np.isfinite(slack) else None)
        for v, slack in alive.items()
    )
    refused = len(versions) - implied - rejected - len(alive)
    return Tally(claim.id, refused, rejected, implied, tuple(survivors))


def _put(claim: Claim, subject: Any, sound: set[str], alive: dict[Wrong, float]) -> int:
    """Take from ``alive`` what can't be asked and what the subject breaks; return the latter."""
    assert claim.compare is not None
    broken = 0
    for version in list(alive):
        try:
            with np.errstate(all="ignore"):
                comparison = claim.compare(subject, line=version.line)
        except (ArithmeticError, IndexError, KeyError, TypeError, UsageError):
            del alive[version]  # no such time, no closed form, a zero below
            continue
        is_broken, slack = _outcome(claim, comparison, sound)
        alive[version] = min(alive[version], slack)
        if is_broken:
            del alive[version]
            broken += 1
    return broken


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

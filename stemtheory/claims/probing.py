"""One claim at settings of one's own: both sides over t, and where it fails first.

A probe begins with a case of the claim's own panel, in which every letter plays a part, and changes
what it is told to. The sides are those of a case file: a recorded run is averaged over its
replicates before they are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.casefiles import Found, averaged, worst_of, write
from stemtheory.claims.checking import opened, subjects
from stemtheory.claims.judge import allowed, instances
from stemtheory.claims.ledger import Packs, one, reference
from stemtheory.runtime import Floats, UsageError, Verdict, choice, real, whole

# What a case is made of, and how a value of it is read; every other name is a dial of the problem.
FIELDS: dict[str, Callable[[Any], Any]] = {
    "problem": str,
    "schedule": str,
    **{name: partial(whole, name) for name in ("K", "dim", "I", "rounds", "replicates")},
    "sync_batch": partial(whole, "sync_batch"),
    "seed": lambda value: whole("seed", value, 0),
    "b": partial(real, "b"),
    "B": partial(real, "B"),
    "x1": partial(real, "x1"),
    "clock": lambda value: real("clock", value, minimum=0),
}


@dataclass(frozen=True)
class Probe:
    """A claim's sides at every instance of one case, by t: arrays of one length.

    ``name`` finds the claim again: its id, or the user's own ``package.module:NAME``.
    """

    name: str
    claim: Claim
    case: Case
    t: Any
    where: Any
    left: Floats
    right: Floats
    violated: Any
    worst: Found

    @property
    def first(self) -> int | None:
        """The first instance at which the claim fails, or None."""
        return int(np.flatnonzero(self.violated)[0]) if self.violated.any() else None

    def to_json(self) -> dict[str, Any]:
        """Return the document of the command ``probe``; sides that are not finite are None."""
        first = self.first
        return {
            "claim": self.name,
            "statement": self.claim.statement,
            "formula": self.claim.formula,
            "case": self.case.to_json(),
            "instances": len(self.left),
            "violated": int(self.violated.sum()),
            "first": None if first is None else self.at(first),
            "worst": {
                "t": self.worst.t,
                "where": self.worst.where,
                "left": self.worst.left,
                "right": self.worst.right,
            },
            "sides": [self.at(i) for i in range(len(self.left))],
        }

    def at(self, i: int) -> dict[str, Any]:
        """Return one instance: t, place and both sides."""
        sides = {"left": float(self.left[i]), "right": float(self.right[i])}
        finite = {name: v if math.isfinite(v) else None for name, v in sides.items()}
        return {"t": self.t[i].item(), "where": str(self.where[i]), **finite}


def probe(
    name: str,
    changes: Mapping[str, Any] | None = None,
    *,
    reading: str | None = None,
    options: Mapping[str, float] | None = None,
    algorithm_options: Mapping[str, Any] | None = None,
    packs: Packs = (),
) -> Probe:
    """Return both sides of a claim on a case of one's own.

    Parameters
    ----------
    name
        What the claim is called, as in ``explain``.
    changes
        Fields of the case (problem, K, dim, b, I, rounds, B, x1, replicates, schedule, seed,
        sync_batch, clock) and dials of the problem (sigma, zeta, L, ...); the rest is the panel's.
    reading
        Of the synchronisation; the claim's first unless given.
    options
        The schedule's own, such as ``{"eta": 0.01}``.
    algorithm_options
        The algorithm's own, such as ``{"participation": 0.5}``; others are the panel's.
    packs
        Names or folders of packs to look in; every installed one without any.

    Returns
    -------
    Probe
        The sides over t, the first failure and the worst place.

    Raises
    ------
    UsageError
        If there is no such claim, if it is not about a run, if the case is none, or if the claim's
        premises are not met there.
    """
    claim = one(name, packs)
    chosen = choice("sync", claim.readings[0] if reading is None else reading, claim.readings)
    case = changed(_start(claim, chosen), changes or {}, options or {}, algorithm_options or {})
    if unmet := ", ".join(p.name for p in claim.premises(case) if not p.ok):
        raise _silent(claim, f"its premise is not met ({unmet})")
    assert claim.compare is not None
    comparison = claim.compare(opened(claim, case))
    found = worst_of(claim, comparison, case)
    if found is None:
        raise _silent(claim, _why_silent(comparison, case))
    return _sides(reference(name, packs), claim, comparison, found)


def save(found: Probe, folder: FilePath) -> FilePath:
    """Write the worst place as a case file, which ``verify --replay`` runs again."""
    target = folder / f"{found.claim.id}-{found.case.reading}.json"
    return write(found.worst, found.name, target)


def changed(
    case: Case,
    changes: Mapping[str, Any],
    options: Mapping[str, float],
    algorithm_options: Mapping[str, Any] | None = None,
) -> Case:
    """Return the case with fields, dials and options changed; what is no field is a dial.

    Raises
    ------
    UsageError
        If the value of a field is none; whether the whole can be run shows when it is.
    """
    fields = {key: FIELDS[key](value) for key, value in changes.items() if key in FIELDS}
    dials = dict(case.dials) | {k: v for k, v in changes.items() if k not in FIELDS}
    if "schedule" in fields or options:
        fields["options"] = tuple(sorted(options.items()))
    if algorithm_options:
        own = {**dict(case.algorithm_options), **algorithm_options}
        fields["algorithm_options"] = tuple(sorted(own.items()))
    return replace(case, **fields, dials=tuple(sorted(dials.items())))


def _start(claim: Claim, reading: str) -> Case:
    """Return a case of the claim's panel with workers that differ, noise and local steps."""
    panel = [] if claim.compare is None else subjects(claim, reading, "quick")
    cases = [case for case in panel if isinstance(case, Case)]
    if not cases or claim.kind in ("arithmetic", "rate"):
        raise UsageError(
            f"claim {claim.id} is {claim.kind}, but only claims about one run can be probed: use"
            " verify for it."
        )
    return next((c for c in cases if c.K > 1 and c.I > 1 and dict(c.dials).get("sigma")), cases[0])


def _silent(claim: Claim, why: str) -> UsageError:
    return UsageError(f"claim {claim.id} says nothing on this case: {why}; change the case.")


def _why_silent(comparison: Comparison, case: Case) -> str:
    """Return why a comparison has no worst instance."""
    left, right, floor, t, _ = averaged(comparison, case.replicates)
    lost = np.flatnonzero(np.isnan(left) | np.isnan(right))
    if len(lost):
        return f"a side is not a number, first at t = {t[lost[0]]}, and a gradient may be none"
    if (left < -floor).any():
        return "its left side is below 0 everywhere, so that it holds with nothing to compare"
    return "both sides are below rounding"


def _sides(name: str, claim: Claim, comparison: Comparison, found: Found) -> Probe:
    case = found.subject
    if claim.kind == "expectation":
        every = instances(claim, comparison)
        left, right, t, where = every.left, every.right, every.t, every.where
        bad = every.verdicts == Verdict.VIOLATED
    else:
        left, right, floor, t, where = averaged(comparison, case.replicates)
        bad = ~(left <= allowed(right, floor))  # NaN too
    return Probe(name, claim, case, t, where, left, right, bad, found)

"""Case files: one instance of a claim with both its sides, written down to be run again.

Every failure that the ledger expects has one in its pack's ``cases/``, named CLAIM-READING, and so
has the sharpest instance of a few claims that hold; the command ``verify --replay`` computes both
sides anew. Lemmas speak of expectations, so the sides of a recorded run are averaged over its
replicates before they are compared: a single lucky path proves nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from stemtheory._version import __version__
from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.checking import by_its_algorithm, opened, subjects
from stemtheory.claims.finding import chosen
from stemtheory.claims.judge import allowed, instances
from stemtheory.claims.ledger import Packs, of_pack, one
from stemtheory.claims.means import averaging
from stemtheory.claims.pack import Pack
from stemtheory.claims.stating import AVERAGE
from stemtheory.runtime import (
    UsageError,
    Verdict,
    file_path,
    kept,
    one_blas_thread,
    real,
    truth,
    whole,
    write_whole,
)
from stemtheory.simulator import refuse_the_endless, refuse_the_huge

SAME = 1e-9  # how well a replay must meet the stored sides, relative to the larger of the two
# And for every iteration of a whole run, for powers of a round double their errors as they double:
# of 4e9 iterations (RSa-m1-literal) 1.7e-7 was lost, against arithmetic of 50 digits.
ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Found:
    """The worst instance of a claim on one subject: both sides at t, and left/right.

    ``subject`` is the case; what is no case is named by its ``index`` in the claim's panel.
    """

    subject: Any
    ratio: float
    left: float
    right: float
    t: float | str
    where: str
    violated: bool
    index: int | None = None

    @property
    def case(self) -> Case | None:
        """The subject, if it is a case."""
        return self.subject if isinstance(self.subject, Case) else None

    def to_json(self, claim: str) -> dict[str, Any]:
        """Return the case file."""
        return {
            "claim": claim,
            "version": __version__,
            "t": self.t,
            "where": self.where,
            "left": self.left,
            "right": self.right,
            **({"case": self.case.to_json()} if self.case else {"panel": self.index}),
        }


def worst(claim: Claim, subject: Any) -> Found | None:
    """Return the worst instance of a claim on a case (or on a member of its panel), or None.

    None if a premise is unmet, or if nothing stands above the resolution of floats.
    """
    assert claim.compare is not None
    if any(not premise.ok for premise in claim.premises(subject)):
        return None
    return worst_of(claim, claim.compare(opened(claim, subject)), subject)


def worst_of(claim: Claim, c: Comparison, subject: Any) -> Found | None:
    """Return the worst instance of a comparison on a subject that meets every premise, or None."""
    if claim.kind in ("pathwise", "conditional"):
        return _of_a_run(c, subject)
    return _judged(claim, c, subject)


def _of_a_run(c: Comparison, case: Case) -> Found | None:
    """Return the instance of a recorded run with the largest E left / E right.

    Beyond 1 by rounding alone is 1: the bound is attained.
    """
    left, right, floor, t, where = averaged(c, case.replicates)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((left > floor) & (left > 0), left / right, -np.inf)
    ratio = np.where((right <= 0) & (left > 2 * floor) & (left > 0), np.inf, ratio)
    broken = left > allowed(right, floor)
    ratio = np.where(broken, ratio, np.minimum(ratio, 1.0))
    ratio = np.where(np.isfinite(left) & ~np.isnan(right), ratio, -np.inf)  # NaN never wins
    if not len(ratio) or np.max(ratio) == -np.inf:
        return None
    i = int(np.argmax(ratio))
    sides = float(ratio[i]), float(left[i]), float(right[i])
    return Found(case, *sides, t[i].item(), str(where[i]), bool(broken[i]))


def averaged(c: Comparison, replicates: int) -> tuple[Any, ...]:
    """Return left, right, floor, t, where with the replicate axis (the second) averaged out."""
    shape = np.broadcast_shapes(np.shape(c.left), np.shape(c.right))
    fields = [
        np.broadcast_to(np.asarray(v), shape) for v in (c.left, c.right, c.floor, c.t, c.where)
    ]
    if len(shape) == 2 and shape[1] == replicates:
        numbers = [v.mean(axis=1) for v in fields[:3]]
        return (*numbers, fields[3][:, 0], fields[4][:, 0])
    return tuple(v.ravel() for v in fields)


def _judged(claim: Claim, c: Comparison, subject: Any) -> Found | None:
    """Return the instance with the smallest margin, judged as ``verify`` judges it."""
    found = instances(claim, c)
    if not len(found.margins):
        return None
    i = int(np.argmin(found.margins))
    margin = float(found.margins[i])
    return Found(
        subject,
        1 / margin if margin > 0 else math.inf,
        float(found.left[i]),
        float(found.right[i]),
        found.t[i].item(),
        str(found.where[i]),
        bool(found.verdicts[i] == Verdict.VIOLATED),
    )


def expected_failures(pack: Pack) -> Iterator[tuple[str, Claim, str]]:
    """Yield (name, claim, reading) of every failure that the claims of a pack expect."""
    for claim in of_pack(pack):
        broken = {r for (r, _), v in claim.expected.items() if v == Verdict.VIOLATED}
        for reading in claim.readings:
            if reading in broken:
                yield f"{claim.id}-{reading}", claim, reading


def counterexample(claim: Claim, reading: str) -> Found:
    """Return the plainest violated instance: of the claim's counterexamples, else of its panel."""
    listed = (case for case in claim.counterexamples if case.reading == reading)
    known: list[Any] = [by_its_algorithm(claim, case) for case in listed]
    panel = list(enumerate(known or subjects(claim, reading, "quick")))
    if claim.kind == "conditional":
        panel = [(index, averaging(case)) for index, case in panel]
    found = []
    for index, subject in panel:
        instance = worst(claim, subject)
        if instance is not None and instance.violated:
            found.append(replace(instance, index=None if instance.case else index))
    if not found:
        raise ValueError(f"no counterexample of {claim.id} under {reading} is violated")
    return max(found, key=lambda instance: instance.ratio)


def sharpest(claim: Claim, reading: str) -> Found:
    """Return the instance of a claim's panel that comes closest to its bound."""
    panel = (worst(claim, subject) for subject in subjects(claim, reading, "quick"))
    return max((one for one in panel if one is not None), key=lambda instance: instance.ratio)


def build(packs: Packs = ()) -> list[FilePath]:
    """Write the case files of the packs: expected failures and sharpest instances; return them."""
    return [
        write(found, claim.id, pack.cases / f"{claim.id}-{reading}.json")
        for pack in chosen(packs)
        for claim, reading, found in _shown(pack)
    ]


def _shown(pack: Pack) -> Iterator[tuple[Claim, str, Found]]:
    for _, claim, reading in expected_failures(pack):
        yield claim, reading, counterexample(claim, reading)
    for claim in of_pack(pack):
        if claim.sharp:
            yield claim, claim.sharp, sharpest(claim, claim.sharp)


def write(found: Found, claim: str, target: FilePath) -> FilePath:
    """Write a case file, whole or not at all.

    Raises
    ------
    UsageError
        If the folder cannot be written, or a side is no number that a replay could meet.
    """
    if not (math.isfinite(found.left) and math.isfinite(found.right)):
        raise UsageError(
            f"the sides of {claim} at t = {found.t} are {found.left:g} and {found.right:g}, which"
            " no replay can meet, so that there is no case file: change the case."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written ({error.strerror}): choose another folder."
        ) from error
    return write_whole(target, json.dumps(found.to_json(claim), indent=1, allow_nan=False) + "\n")


def shipped(packs: Packs = ()) -> dict[str, FilePath]:
    """Return the case files that come with the packs, by name."""
    return {path.stem: path for pack in chosen(packs) for path in case_files(pack)}


def case_files(pack: Pack) -> list[FilePath]:
    """Return the case files that come with a pack."""
    return sorted(pack.cases.glob("*.json"))


def locate(target: str, packs: Packs = ()) -> list[FilePath]:
    """Return the case files meant: a file, a folder of them, a shipped one's name, or ``all``.

    Raises
    ------
    UsageError
        If there is no such file and no such name.
    """
    path, known = FilePath(target), shipped(packs)
    if target == "all":
        return list(known.values())
    if path.is_dir():
        if not (found := sorted(path.glob("*.json"))):
            raise UsageError(
                f"{target} holds no case file (.json): give a folder that hunt wrote to."
            )
        return found
    if path.exists():
        return [path]
    if target in known:
        return [known[target]]
    raise UsageError(
        f"{target} is no case file; those that come with the packs are {', '.join(known)}:"
        " give one of them, all, a file or a folder."
    )


def _subject(claim: Claim, stored: Mapping[str, Any]) -> Any:
    """Return what a case file puts a claim to; a case is checked whole, used by the claim or not.

    Raises
    ------
    UsageError
        For a case that makes no run, or one that cannot end here.
    """
    if "case" not in stored:
        panel = subjects(claim, "literal", "quick")
        return panel[whole("panel", stored["panel"], 0)]
    case = Case.from_json(stored["case"])
    real("clock", case.clock, minimum=0)
    refuse_the_endless(case.run)
    if claim.line is None or claim.line.steps[0].left != AVERAGE:  # of a whole run nothing is kept
        refuse_the_huge(case.run, "array", case.T)
    return case


@one_blas_thread()
def replay(file: FilePath, *, trust: bool = False, packs: Packs = ()) -> dict[str, Any]:
    """Return both sides of a case file, stored and computed again, and whether it is violated.

    A file without ``left`` and ``right``, such as one that was edited, is compared with nothing.
    ``trust`` allows the file to name modules, whose code is then run.

    Raises
    ------
    UsageError
        If the file is not a case file, or names a module that it is not trusted with.
    """
    stored = _read(file := file_path("case file", file))
    if not truth("trust", trust):
        _refuse_code(file, stored)
    try:
        claim = one(stored["claim"], packs)
        edited = not {"left", "right"} & set(stored)  # by hand: there is nothing to compare with
        wanted = {} if edited else {name: real(name, stored[name]) for name in ("left", "right")}
        subject = _subject(claim, stored)
    except UsageError as error:
        raise UsageError(f"{file} is not a case file that can be replayed: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise _no_case_file(file, error) from error
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no instance
        found = worst(claim, subject)
    if found is None:
        raise UsageError(f"{file} names a case that claim {claim.id} does not apply to.")
    computed = {"left": found.left, "right": found.right}
    steps = found.t if isinstance(found.t, int) else 0  # a rate and a table stand at no t
    resolution = (SAME + ROUNDING * steps) * max(map(abs, wanted.values()), default=0.0)
    return {
        "name": file.stem,
        "claim": claim.id,
        "reading": subject.reading if isinstance(subject, Case) else "-",
        "t": found.t,
        **computed,
        "violated": found.violated,
        "stored": wanted,
        "reproduced": all(abs(wanted[side] - computed[side]) <= resolution for side in wanted),
        "case": stored.get("case"),
    }


def _read(file: FilePath) -> Mapping[str, Any]:
    """Return what a case file holds: names, and under ``case`` names again."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"), parse_float=kept)
        if isinstance(stored, dict) and isinstance(stored.get("case", {}), dict):
            return stored
        raise ValueError("it holds no case")
    except UsageError as error:
        raise UsageError(f"{file} holds a number that is none: {error}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _no_case_file(file, error) from error


def _no_case_file(file: FilePath, error: Exception) -> UsageError:
    return UsageError(f"{file} is not a case file ({error!r}): give one that hunt wrote.")


def _refuse_code(file: FilePath, stored: Mapping[str, Any]) -> None:
    """Refuse a file that names a module: to import one is to run it, and a file may be anybody's.

    Raises
    ------
    UsageError
        With the name, before anything of it is imported.
    """
    case = stored.get("case", {})
    for name in (stored.get("claim"), case.get("problem"), case.get("algorithm")):
        if ":" in str(name):
            raise UsageError(
                f"{file} names {name!s:.60}, and a replay would run that module's code: look at it,"
                " and give --trust (trust=True) if it may run."
            )

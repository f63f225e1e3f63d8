"""Claims checked side by side: one process per core, the same document whatever their number.

Every claim is checked by itself, from its own seeds, so nothing depends on who checks it. Claims
are given out one at a time, those that simulate for themselves first; each process keeps the runs
that it has recorded, so that claims about the same run share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stemtheory.claims.base import Case, Claim
from stemtheory.claims.checking import (
    Ledger,
    assemble,
    judged,
    ledger_rows,
    row_json,
    subjects,
    try_mutants,
)
from stemtheory.claims.ledger import Packs, select
from stemtheory.claims.rules import try_rules
from stemtheory.claims.sides import PlotPoint, Sample
from stemtheory.runtime import (
    MODES,
    callback,
    choice,
    cores,
    counter,
    side_by_side,
    truth,
    uncounted,
    whole,
)

ALONE = 12  # claims that are sooner done than a second process is started
# Fitted to the quick panel; what is shown of the time that is left scales them by the time so far.
PER_CLAIM, PER_FORMULA, PER_STEP, PER_ELEMENT = 0.01, 0.003, 45e-6, 25e-9
LONGEST = 10**7  # iterations of a case that is run, and not evaluated in closed form
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came back: rows and mutants as JSON, and the points of the plot."""

    name: str
    rows: list[dict[str, Any]]
    mutants: list[dict[str, Any]]
    versions: dict[str, Any] | None
    points: list[PlotPoint]
    below: int
    total: int


def verify(
    patterns: Sequence[str] = (),
    *,
    mode: str = "quick",
    mutants: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress = lambda text: None,
    packs: Packs = (),
) -> Ledger:
    """Return the ledger's document, made by ``jobs`` processes (all cores by default).

    Parameters
    ----------
    patterns
        Ids, sections or globs of claims, or ``package.module:NAME`` of your own; all without any.
    mode
        ``quick``, ``default`` or ``full``: how large the panels are.
    mutants
        Whether every claim is also shown the wrong versions that it must reject, and those that
        rules make of its line.
    seed, jobs, progress
        The seed of all noise, processes, and who is told of each claim that is done.
    packs
        Names or folders of packs whose claims are meant; every installed one without any.

    Returns
    -------
    Ledger
        A dictionary: ``claims`` (a row each), ``summary`` and ``unexpected``.

    Raises
    ------
    UsageError
        If a pattern matches no claim.

    Examples
    --------
    >>> from stemtheory import verify
    >>> verify(["SCH4"], jobs=1)["summary"]
    {'holds': 1}
    """
    outcomes = begun(
        patterns,
        level=mode,
        mutants=mutants,
        seed=seed,
        jobs=jobs,
        progress=progress,
        packs=packs,
    )
    return Ledger(document(outcomes(), mutants))


def document(found: Sequence[Outcome], mutants: bool) -> dict[str, Any]:
    """Return the JSON document of outcomes, in their order."""
    rows = [row for outcome in found for row in outcome.rows]
    tried = [rejection for outcome in found for rejection in outcome.mutants]
    made = [outcome.versions for outcome in found if outcome.versions]
    return assemble(rows, tried if mutants else None, made)


def begun(
    patterns: Sequence[str] = (),
    *,
    level: str = "quick",
    mutants: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress = lambda text: None,
    packs: Packs = (),
) -> Callable[[], list[Outcome]]:
    """Begin with the claims where processes are shared; return what waits for their outcomes.

    There is one for each selected claim, in the order of the ledger.
    """
    chosen, mutants = select(patterns, packs), truth("mutants", mutants)
    level, seed = choice("mode", level, MODES), whole("seed", seed, 0)
    jobs = None if jobs is None else whole("jobs", jobs)
    callback("progress", progress)
    orders = {c.id: (tuple(patterns), c.id, level, seed, mutants, tuple(packs)) for c in chosen}
    efforts = {c.id: effort(c, level) for c in chosen}
    waiting = sorted(orders.values(), key=lambda order: -efforts[order[1]])
    few = jobs is None and len(chosen) < ALONE and level == "quick"
    answers = side_by_side(answer, waiting, 1 if few else jobs or cores())

    def wait() -> list[Outcome]:
        done: dict[str, Outcome] = {}
        worked = counter(sum(efforts.values()))
        for outcome in answers:
            done[outcome.name] = outcome
            worked(efforts[outcome.name])
            progress(f"{len(done)}/{len(chosen)} {outcome.name}")
        return [done[name] for name in orders]

    return wait


def answer(
    patterns: Sequence[str], name: str, level: str, seed: int, mutants: bool, packs: Packs = ()
) -> Outcome:
    """Return the rows of one claim, its mutants if wanted, and the points of its plot.

    The claim comes by its name, since a claim holds functions, which no other process can be given.
    """
    claim, sample = next(c for c in select(patterns, packs) if c.id == name), Sample()
    with uncounted():
        cells = judged(claim, level, seed, sample.watch)
        found = [row_json(row) for row in ledger_rows(claim, cells)]
        tried = [asdict(m) for m in (try_mutants(claim, level, seed, cells) if mutants else ())]
        made = try_rules(claim, cells).to_json() if mutants and claim.line else None
    return Outcome(name, found, tried, made, sample.thinned(), sample.below, sample.total)


def effort(claim: Claim, level: str) -> float:
    """Return the predicted seconds of a claim on a machine of speed 1: its runs take the time."""
    if claim.compare is None:
        return PER_CLAIM
    panels = (subjects(claim, reading, level) for reading in claim.readings)
    return PER_CLAIM + sum(_seconds(subject) for panel in panels for subject in panel)


def _seconds(subject: Any) -> float:
    if not isinstance(subject, Case) or subject.T > LONGEST:  # nothing is run
        return PER_FORMULA
    return subject.T * (PER_STEP + PER_ELEMENT * subject.replicates * subject.K * subject.dim)

"""What a shell may complete: the names of the catalogues, and the dials that --set takes.

Each function gets what was typed so far and returns what may stand there. Catalogues are opened
when a shell asks, so that no other command waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

import typer

from stemtheory.oracles import AskedDials
from stemtheory.runtime import UsageError

Complete = Callable[[str], list[str]]


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin as what was typed does, whatever the case."""
    typed = incomplete.lower()
    return sorted(name for name in names if name.lower().startswith(typed))


def entries(kind: str) -> Complete:
    """Return a completion by the names of one catalogue."""

    def complete(incomplete: str) -> list[str]:
        from stemtheory.cli.inventory import entries as listed

        return beginning((str(entry["name"]) for entry in listed(kind)), incomplete)

    return complete


def kinds(incomplete: str) -> list[str]:
    """Return what can be listed."""
    from stemtheory.cli.inventory import KINDS

    return beginning(KINDS, incomplete)


def one_of(*known: str) -> Complete:
    """Return a completion by these words."""

    def complete(incomplete: str) -> list[str]:
        return beginning(known, incomplete)

    return complete


def claim_names(incomplete: str) -> list[str]:
    """Return ids and sections of claims."""
    from stemtheory.claims import claims

    known = claims()
    return beginning({*known, *(claim.section for claim in known.values())}, incomplete)


def checked(incomplete: str) -> list[str]:
    """Return problems and algorithms: both have a contract."""
    return sorted(entries("problems")(incomplete) + entries("algorithms")(incomplete))


def settings(context: typer.Context, incomplete: str) -> list[str]:
    """Return what ``--set`` takes: dials of the problem, options of schedule and algorithm."""
    return beginning((f"{name}=" for name in _settable(context.params)), incomplete)


def _settable(given: Mapping[str, object]) -> Iterable[str]:
    from stemtheory.algorithms import ALGORITHMS
    from stemtheory.oracles import problem_entry
    from stemtheory.schedules import SCHEDULES

    try:
        entry = problem_entry(str(given["problem"]))
    except (UsageError, KeyError):
        entry = None
    makers = SCHEDULES.get(str(given.get("schedule", "theorem")), {}).values()
    algorithm = ALGORITHMS.get(str(given.get("algorithm", "stem")))
    yield from (*(dial.name for dial in fields(AskedDials)), *getattr(entry, "own_dials", ()))
    yield from dict.fromkeys(f"schedule.{name}" for maker in makers for name in maker.options)
    yield from (f"algorithm.{name}" for name in (algorithm.options if algorithm else ()))

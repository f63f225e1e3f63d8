"""Says which of a store's cells were run by another version of a user's own code, or on other data.

Such a cell keeps its row, for it is another run: its identity holds what it was made of.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stemtheory.experiment.design.cells import Cell
from stemtheory.runtime import FINGERPRINT

MADE_OF = "made_of"


def changes(missing: Iterable[Cell], stored: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each code or data that changed since cells were stored.

    ``missing`` are to be run; ``stored`` are the settings of cells that are there.
    """
    now = {_asked(settings): settings for settings in (cell.settings() for cell in missing)}
    counts: Counter[str] = Counter()
    for old in stored:
        new = now.get(_asked(old))
        if new is not None:
            counts.update(_different(old, new))
    return [
        f"{what} changed since {n} {'cells' if n > 1 else 'cell'} of this store"
        f" {'were' if n > 1 else 'was'} run: kept, and run again as"
        f" {'other cells' if n > 1 else 'another cell'}"
        for what, n in sorted(counts.items())
    ]


def _asked(settings: Mapping[str, Any]) -> str:
    """Return what was asked for, whatever it was made of."""
    return json.dumps({k: v for k, v in settings.items() if k != MADE_OF}, sort_keys=True)


def _different(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Return what one cell was made of that another one is not."""
    before, after = dict(_parts(old)), dict(_parts(new))
    return {what for what in after if before.get(what) != after[what]}


def _parts(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fingerprints that make up ``made_of``, each with the name of what it is of."""
    marks, problem = settings.get(MADE_OF, ""), settings["problem"]
    names = [f"the code of {_module(problem)}"] if ":" in problem else []
    algorithm = settings["algorithm"]
    own = [f"the code of {_module(algorithm)}"] if ":" in algorithm else []
    if len(marks) > FINGERPRINT * len([*names, *own]):
        names.append(f"the data of {problem}")
    pieces = (marks[i : i + FINGERPRINT] for i in range(0, len(marks), FINGERPRINT))
    yield from zip([*names, *own], pieces, strict=False)


def _module(name: str) -> str:
    """Return the module of package.module:NAME; its fingerprint is also of what it imports."""
    return f"{name.partition(':')[0]} (or of what it imports)"

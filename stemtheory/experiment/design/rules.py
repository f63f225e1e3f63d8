"""What a sweep declares about its numbers: the tables [fits.NAME] of its file, checked.

[fits.samples]
y = "samples"                    # M, or steps, samples, rounds, vectors to epsilon
x = "epsilon"                    # one of X
by = ["problem", "label", "nu"]  # one fit for every combination of these columns
theory = { stem = -1.5, fedavg = -2 }    # one number, or one per label
tolerance = 0.06                 # how close to the theory is close enough
grids, algorithms, where         # which points: names, labels, a condition on columns
best_of = "schedule_options.eta" # of the runs that differ in this setting only the best counts
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stemtheory.experiment.design.spec import Spec
from stemtheory.experiment.design.toml_lines import Place

COSTS = ("steps", "samples", "rounds", "vectors")  # to epsilon, of one worker
Y = ("M", *COSTS)
# "rate" is the algorithm's own: T/I for STEM, sqrt(bKT) for FedAvg
X = ("T", "T/I", "sqrt(bKT)", "rate", "epsilon", "K", "b", "I", "bI", "KbI", "L", "sigma", "zeta")
KEYS = ("y", "x", "by", "theory", "tolerance", "grids", "algorithms", "where", "summary", "best_of")
TOLERANCE = 0.05


@dataclass(frozen=True)
class Rule:
    """A declared fit; ``theory`` is the exponent by label."""

    name: str
    y: str
    x: str
    by: tuple[str, ...]
    theory: Mapping[str, float]
    tolerance: float
    grids: tuple[str, ...]
    algorithms: tuple[str, ...]
    where: str | None
    best_of: str | None = None


def rules(spec: Spec) -> tuple[Rule, ...]:
    """Return the fits that a sweep declares.

    Raises
    ------
    UsageError
        For whatever is wrong in them, with the key and the line.
    """
    return tuple(_rule(spec, name, table) for name, table in spec.fits.items())


def _rule(spec: Spec, name: str, table: Any) -> Rule:
    path, document = ("fits", name), spec.document
    table = document.section(path, table)
    for key in table:
        if key not in KEYS:
            say = f"is no key of a fit: known are {', '.join(KEYS)}; correct it."
            document.refuse((*path, key), say)
    for key, known in (("y", Y), ("x", X)):
        if table.get(key) not in known:
            say = f"{_given(table.get(key))}, but it must be one of {', '.join(known)}: choose one."
            document.refuse((*path, key), say)
    where, best_of = table.get("where"), table.get("best_of")
    if where is not None and not isinstance(where, str):
        document.refuse((*path, "where"), f"is {where!r}, but it must be a condition in quotes.")
    if best_of is not None and (not isinstance(best_of, str) or table["y"] == "M"):
        say = "is for the name of a setting in quotes, and a y other than M: correct it."
        document.refuse((*path, "best_of"), say)
    tolerance = table.get("tolerance", TOLERANCE)
    if not _is_number(tolerance) or tolerance < 0:
        say = f"is {tolerance!r}, but it must be a number of at least 0."
        document.refuse((*path, "tolerance"), say)
    # a grid that this size of the sweep skips, or only another one has, may be named
    sizes = (document.table, *(document.table.get(size, {}) for size in ("quick", "full")))
    there = list(dict.fromkeys(name for size in sizes for name in size.get("grids", {})))
    grids = _names(spec, path, "grids", [grid.name for grid in spec.grids], there)
    declared = [*spec.algorithms]
    labels = _names(spec, path, "algorithms", declared, declared)
    by = _names(spec, path, "by", ["grid", "label"])
    theory = table.get("theory")
    theory = theory if isinstance(theory, Mapping) else dict.fromkeys(labels, theory)
    if not (set(labels) <= set(theory) and all(map(_is_number, theory.values()))):
        say = f"{_given(table.get('theory'))}, but it must be an exponent, or one for each of"
        document.refuse((*path, "theory"), f"{say} {', '.join(labels)}.")
    return Rule(
        name=name,
        y=table["y"],
        x=table["x"],
        by=by,
        theory={label: float(number) for label, number in theory.items()},
        tolerance=float(tolerance),
        grids=grids,
        algorithms=labels,
        where=where,
        best_of=best_of,
    )


def _names(
    spec: Spec, path: Place, key: str, usual: list[str], known: list[str] | None = None
) -> tuple[str, ...]:
    value = spec.fits[path[-1]].get(key, usual)
    fine = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not fine or (known is not None and not set(value) <= set(known)):
        those = f" of {', '.join(known)}" if known else " of names"
        spec.document.refuse((*path, key), f"is {value!r:.60}, but it must be a list{those}.")
    return tuple(value)


def _given(value: Any) -> str:
    return "is missing" if value is None else f"is {value!r:.60}"


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and math.isfinite(value)

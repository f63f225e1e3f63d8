"""One line of the contract: what was declared, what is attained, what was found, the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from stemtheory.oracles import Exactness
from stemtheory.runtime import Verdict


class Effort(NamedTuple):
    """How hard to look: probe points, climbs from the best of them, draws per pair of points."""

    points: int
    climbs: int
    draws: int


FULL = Effort(points=256, climbs=3, draws=4096)
QUICK = Effort(points=64, climbs=1, draws=1024)


class ContractRow(NamedTuple):
    """A constant or a property. For a property ``declared`` is the limit of what is measured."""

    constant: str
    declared: float | bool
    attained: float | None
    largest: float | None
    verdict: Verdict
    note: str = ""
    group: str = "property"

    @property
    def ok(self) -> bool:
        """Whether the verdict is not a failure."""
        return not self.verdict.failed


def judge(
    name: str,
    declared: float,
    exact: Exactness | None,
    attained: float | None,
    found: float,
    rtol: float = 1e-9,
) -> ContractRow:
    """Return the row of a constant >= 0 that nothing may exceed; NaN exceeds.

    A constant that is exact and not zero needs a witness that attains it to ``rtol``.
    """
    slack = rtol * abs(declared) + 1e-12
    note = ""
    if exact == "unbounded":
        verdict = Verdict.UNBOUNDED if declared == math.inf else Verdict.VIOLATED
        note = "" if declared == math.inf else "unbounded, but a finite number is declared"
    elif not 0 <= found <= declared + slack:
        verdict, note = Verdict.VIOLATED, f"exceeded by {found - declared:.3g}"
    elif exact is not True:
        verdict = Verdict.BOUND
    elif declared == 0 or (attained is not None and abs(attained - declared) <= slack):
        verdict = Verdict.EXACT
    else:
        verdict = Verdict.NOT_ATTAINED
        note = "no witness" if attained is None else f"off by {attained - declared:.3g}"
    return ContractRow(name, declared, attained, found, verdict, note, "constant")


def limit(name: str, bound: float, worst: float, note: str) -> ContractRow:
    """Return the row of a property measured by an error that must not exceed ``bound``."""
    verdict = Verdict.HOLDS if worst <= bound else Verdict.VIOLATED
    return ContractRow(name, bound, None, worst, verdict, note)


def faultless(name: str, fault: str, note: str) -> ContractRow:
    """Return the row of a property that is kept if ``fault`` is an empty text."""
    verdict = Verdict.VIOLATED if fault else Verdict.HOLDS
    return ContractRow(name, True, None, None, verdict, fault or note)


def table(rows: Sequence[ContractRow]) -> list[tuple[str, ...]]:
    """Return the rows as text, heading first: constant, declared, attained, largest, verdict."""
    head = ("constant", "declared", "attained", "largest found", "verdict", "note")
    body = [
        (r.constant, shown(r.declared), shown(r.attained), shown(r.largest), r.verdict, r.note)
        for r in rows
    ]
    return [head, *body]


def records(rows: Sequence[ContractRow]) -> list[dict[str, object]]:
    """Return the rows as JSON-ready values: null for what is not finite."""

    def plain(value: float | bool | None) -> float | bool | None:
        if value is None or isinstance(value, bool):
            return value
        return float(value) if math.isfinite(value) else None

    numbers = ("declared", "attained", "largest")
    return [
        {**row._asdict(), **{n: plain(getattr(row, n)) for n in numbers}, "ok": row.ok}
        for row in rows
    ]


def text(rows: Sequence[ContractRow]) -> str:
    """Return the table in aligned columns, ready to print."""
    lines = table(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def shown(value: float | bool | None) -> str:
    """Return a number for a reader: 10 digits, - for none, yes or no."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}"

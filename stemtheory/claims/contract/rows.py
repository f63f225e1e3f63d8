"""One line of the contract: what was declared, what is attained, what was found, the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from stemtheory.oracles import Exactness

VERDICTS = {
    "exact": "attained at the witness and nowhere exceeded",
    "bound": "an upper bound (for f_star a lower one), nowhere exceeded",
    "unbounded": "declared infinite",
    "holds": "the property holds",
    "estimate": "the largest value met; it bounds nothing",
    "inapplicable": "there is nothing to check",
    "violated": "exceeded, or the property fails",
    "not attained": "declared exact, but no witness attains it",
}
FAILURES = ("violated", "not attained")


class Effort(NamedTuple):
    """How hard to look: probe points, climbs from the best of them, draws per pair of points."""

    points: int
    climbs: int
    draws: int


FULL = Effort(points=256, climbs=3, draws=4096)
QUICK = Effort(points=64, climbs=1, draws=1024)


class Row(NamedTuple):
    """A constant or a property. For a property ``declared`` is the limit of what is measured."""

    constant: str
    declared: float | bool
    attained: float | None
    largest: float | None
    verdict: str
    note: str = ""
    group: str = "property"

    @property
    def ok(self) -> bool:
        """Whether the verdict is not a failure."""
        return self.verdict not in FAILURES


def judge(
    name: str,
    declared: float,
    exact: Exactness | None,
    attained: float | None,
    found: float,
    rtol: float = 1e-9,
) -> Row:
    """Return the row of a constant >= 0 that nothing may exceed; NaN exceeds.

    A constant that is exact and not zero needs a witness that attains it to ``rtol``.
    """
    slack = rtol * abs(declared) + 1e-12
    note = ""
    if exact == "unbounded":
        verdict = "unbounded" if declared == math.inf else "violated"
        note = "" if declared == math.inf else "unbounded, but a finite number is declared"
    elif not 0 <= found <= declared + slack:
        verdict, note = "violated", f"exceeded by {found - declared:.3g}"
    elif exact is not True:
        verdict = "bound"
    elif declared == 0 or (attained is not None and abs(attained - declared) <= slack):
        verdict = "exact"
    else:
        verdict = "not attained"
        note = "no witness" if attained is None else f"off by {attained - declared:.3g}"
    return Row(name, declared, attained, found, verdict, note, "constant")


def limit(name: str, bound: float, worst: float, note: str) -> Row:
    """Return the row of a property measured by an error that must not exceed ``bound``."""
    return Row(name, bound, None, worst, "holds" if worst <= bound else "violated", note)


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the rows as text, heading first: constant, declared, attained, largest, verdict."""
    head = ("constant", "declared", "attained", "largest found", "verdict", "note")
    body = [
        (r.constant, shown(r.declared), shown(r.attained), shown(r.largest), r.verdict, r.note)
        for r in rows
    ]
    return [head, *body]


def records(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return the rows as JSON-ready values: null for what is not finite."""

    def plain(value: float | bool | None) -> float | bool | None:
        if value is None or isinstance(value, bool):
            return value
        return float(value) if math.isfinite(value) else None

    return [
        {
            **row._asdict(),
            "declared": plain(row.declared),
            "attained": plain(row.attained),
            "largest": plain(row.largest),
            "ok": row.ok,
        }
        for row in rows
    ]


def text(rows: Sequence[Row]) -> str:
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

"""The ledger's rows as a reader sees them: readings put together, one line of reason each.

matrix   what each reading of a listing breaks, and the other lines of the same question
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.claims import ALL_READINGS, Case, Claim, surprising
from stemtheory.runtime import Verdict, combine, rounded

Json = Mapping[str, Any]
READINGS = ("literal", "average-first", "overwrite", "average-both")
TIGHT = 1.01
MOST = 1e9  # a larger factor means that the right side is nothing but rounding
NOTE = (
    "Margin: right over left side in excess form; for equalities in expectation the critical value"
    " over |z|, for identities the error budget over the error, for rates (half-width + tolerance)"
    " over the deviation. Below 1 is violated; 1 is attained. A conditional claim is asked of every"
    " replicate, which the plots show; where it fails the margin is E right over E left. The error"
    " that an equality would notice is the relative one that is rejected with probability 1/2, in"
    " the median over its instances; above 0.5 it is undecided."
)


@dataclass(frozen=True)
class LedgerLine:
    """Rows of one claim that say the same of several readings."""

    id: str
    readings: tuple[str, ...]
    where: str
    verdict: str
    expected: str
    margin: float | None
    reason: str
    one_reading: bool = False  # the claim has no other, so it need not be named

    @property
    def unexpected(self) -> bool:
        """Whether the ledger did not expect this verdict."""
        return surprising({"verdict": self.verdict, "expected": self.expected})

    @property
    def badge(self) -> str:
        """The verdict, and whether it was unexpected: how the line is marked."""
        return f"{self.verdict} unexpected" if self.unexpected else self.verdict

    @property
    def place(self) -> str:
        """What the row is about, in words: the readings and the kind of step."""
        readings = "" if self.one_reading else ", ".join(self.readings)
        readings = "all readings" if set(ALL_READINGS) <= set(self.readings) else readings
        where = {"all": "", "sync": "sync", "off-sync": "off sync"}[self.where]
        return ", ".join(part for part in (where, readings) if part)


def lines(rows: Sequence[Json], known: Mapping[str, Claim]) -> list[LedgerLine]:
    """Return rows of the document, those with one verdict at one place put together."""
    groups: dict[tuple[str, ...], list[Json]] = {}
    for row in rows:
        key = (row["id"], row["where"], row["verdict"], row["expected"])
        groups.setdefault(key, []).append(row)
    return [_line(known[key[0]], group) for key, group in groups.items()]


def _line(claim: Claim, group: Sequence[Json]) -> LedgerLine:
    worst = min(group, key=lambda row: float("inf") if row["margin"] is None else row["margin"])
    readings = tuple(row["reading"] for row in group)
    first = group[0]
    return LedgerLine(
        first["id"],
        readings,
        first["where"],
        first["verdict"],
        first["expected"],
        worst["margin"],
        reason(claim, worst),
        len(claim.readings) == 1,
    )


def reason(claim: Claim, row: Json) -> str:
    """Return one line that says why a row has its verdict."""
    verdict = row["verdict"]
    if surprising(row):
        return f"UNEXPECTED, the ledger expects {row['expected']}: {at(row, full=True)}"
    if verdict == Verdict.NOT_CHECKABLE:
        return claim.reason
    if verdict == Verdict.INAPPLICABLE:
        return f"premise unmet: {', '.join(row['unmet'])}"
    if verdict == Verdict.VIOLATED:
        return (
            f"as expected, {excess(row['margin'])}{both_ways(row)}{unstable(row)}, {counts(row)}"
            f"{noticed(row)}{at(row)}"
        )
    if row["margin"] is None:
        return "nothing on the left side above rounding"
    tight = "attained, " if 1 - 1e-6 <= row["margin"] < TIGHT else ""
    return f"{counts(row)}{tight}{noticed(row)}{at(row)}"


def counts(row: Json) -> str:
    """Return how many cells have each verdict where some say nothing: a bound may be vacuous."""
    if Verdict.VACUOUS not in row["cells"] or len(row["cells"]) == 1:
        return ""
    # the row's own verdict first
    cells = sorted(row["cells"].items(), key=lambda pair: pair[0] != row["verdict"])
    return ", ".join(f"{verdict} in {n}" for verdict, n in cells) + "; "


def noticed(row: Json) -> str:
    """Return which relative error an equality would notice (``judge.detectable``)."""
    found = row["detectable"]
    return f"an error of {found['median']:.2g} would be noticed, " if found else ""


def unstable(row: Json) -> str:
    """Return what a violated bound means where it is no better than standing still."""
    still = row["worst"].get("standstill")
    if still is None or row["worst"]["right"] < still:
        return ""
    still = rounded(still)
    return f" though vacuous (standing still: {still}): an instability, the factor depends on T"


def at(row: Json, full: bool = False) -> str:
    """Return where the smallest margin was: the iteration and the case, ``full`` with its dials."""
    worst = row["worst"]
    if not worst:
        return ""
    t = worst["t"] if isinstance(worst["t"], str) else f"t = {worst['t']:g}"
    if not worst.get("case"):
        return t
    case = Case.from_json(worst["case"])
    return f"{t}, {case.short() if full else f'{case.problem} K={case.K} b={case.b:g} I={case.I}'}"


def excess(margin: float | None) -> str:
    """Return how far a violated row is from holding: left over right, or its like."""
    if margin is None or margin < 1 / MOST:
        return "right side 0"
    return f"exceeded x{rounded(1 / margin, 3 if margin < 0.9 else 6)}"


def both_ways(row: Json) -> str:
    """Return how many cases of a conditional claim fail in the mean, and given the past."""
    cases = row["conditional"]
    mean = sum(case["verdict"] == Verdict.VIOLATED for case in cases)
    return f" in expectation ({mean} cases; {len(cases)} given the past)" if cases else ""


class Repaired(NamedTuple):
    """A line beside the printed ones: its readings, verdict and smallest margin."""

    id: str
    statement: str
    readings: str
    verdict: str
    margin: float | None


@dataclass(frozen=True)
class Matrix:
    """What each reading does to each printed line, and the lines beside them: a repaired chain."""

    printed: tuple[tuple[str, str, dict[str, str]], ...]
    repaired: tuple[Repaired, ...]


def matrix(document: Json, known: Mapping[str, Claim], shown: Mapping[str, str]) -> Matrix:
    """Return the matrix of a document that holds those claims; ``shown`` has the printed lines."""
    by_claim: dict[str, list[Json]] = {}
    for row in document["claims"]:
        by_claim.setdefault(row["id"], []).append(row)
    printed = tuple(
        (name, title, {reading: _cell(by_claim[name], reading) for reading in READINGS})
        for name, title in shown.items()
        if name in by_claim
    )
    rest = ((known[name], rows) for name, rows in by_claim.items() if name not in shown)
    return Matrix(printed, tuple(_repaired(claim, rows) for claim, rows in rest))


def _repaired(claim: Claim, rows: Sequence[Json]) -> Repaired:
    margins = [row["margin"] for row in rows if row["margin"] is not None]
    readings = "any" if claim.readings == ("literal",) else ", ".join(claim.readings)
    readings = "all" if set(ALL_READINGS) <= set(claim.readings) else readings
    verdict = combine(row["verdict"] for row in rows)
    return Repaired(claim.id, claim.statement, readings, verdict, min(margins, default=None))


def _cell(rows: Sequence[Json], reading: str) -> str:
    """Return 'holds', or where and how badly a line fails under a reading."""
    mine = [row for row in rows if row["reading"] == reading]
    broken = [row for row in mine if row["verdict"] == Verdict.VIOLATED]
    if broken:
        worst = min(broken, key=lambda row: -1.0 if row["margin"] is None else row["margin"])
        place = {"all": "", "sync": " at a sync", "off-sync": " off a sync"}[worst["where"]]
        far = excess(worst["margin"]).removeprefix("exceeded ")
        return f"FAILS{place}, {far}"
    verdicts = {counts(row).removesuffix("; ") or row["verdict"] for row in mine}
    return ", ".join(sorted(verdicts)) or "-"

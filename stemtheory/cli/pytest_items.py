"""Claims as tests of pytest: what ``pytest --stemtheory`` collects, runs and says.

A claim passes where every verdict is the one that its pack expects, a ``violated`` one too; it is
skipped where nothing could be judged, and fails otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims import Case, Claim, Pack, chosen_packs, claims, of_pack, surprising, together
from stemtheory.report import plain
from stemtheory.runtime import UsageError, Verdict, rounded

SILENT = (Verdict.INAPPLICABLE, Verdict.VACUOUS, Verdict.NOT_CHECKABLE)  # these say nothing


@pytest.hookimpl(tryfirst=True)  # so that -k and -m choose among claims too
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the claims of the packs that were named, or of every one installed."""
    named = tuple(config.getoption("--stemtheory-pack"))
    try:
        packs, _ = chosen_packs(named), claims(named)  # the latter refuses what cannot be read
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    for pack in packs:
        node = f"stemtheory:{pack.name}"
        collector = PackCollector.from_parent(
            session, name=node, nodeid=node, path=pack.folder, pack=pack
        )
        items.extend(session.genitems(collector))


class PackCollector(pytest.Collector):
    """A pack, whose claims are collected in its order."""

    def __init__(self, *, pack: Pack, **more: Any) -> None:
        super().__init__(**more)
        self.pack = pack

    def collect(self) -> Iterator[ClaimItem]:
        """Yield a test for each claim."""
        for claim in of_pack(self.pack):
            yield ClaimItem.from_parent(self, name=claim.id, claim=claim)


class UnexpectedVerdictError(Exception):
    """A verdict that the pack does not expect: the rows of it."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(f"{len(rows)} rows are not as expected")
        self.rows = rows


class ClaimItem(pytest.Item):
    """One claim, put to its quick panel as ``verify --quick`` does."""

    def __init__(self, *, claim: Claim, **more: Any) -> None:
        super().__init__(**more)
        self.claim = claim
        assert claim.pack is not None
        self.pack = claim.pack

    def runtest(self) -> None:
        """Judge the claim."""
        named = tuple(self.config.getoption("--stemtheory-pack"))
        rows = together.answer((), self.claim.id, "quick", 0, False, named).rows
        if wrong := [row for row in rows if surprising(row) and row["verdict"] not in SILENT]:
            raise UnexpectedVerdictError(wrong)
        if all(row["verdict"] in SILENT for row in rows):
            why = "; ".join(dict.fromkeys(map(self._reason, rows)))
            pytest.skip(f"{self.name}: {why}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return both sides of every unexpected row; other errors as pytest shows them."""
        if isinstance(excinfo.value, UnexpectedVerdictError):
            return "\n".join(told(self.claim, excinfo.value.rows))
        if isinstance(excinfo.value, UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file of the claim, and its name."""
        return self.pack.home.parent / self.pack.place(self.claim.section), None, self.name

    def _reason(self, row: Mapping[str, Any]) -> str:
        expected = "" if row["verdict"] == row["expected"] else f" ({row['expected']} was expected)"
        if row["verdict"] == Verdict.INAPPLICABLE:
            return f"inapplicable{expected}: unmet is {', '.join(row['unmet'])}"
        said = self.claim.reason or Verdict(row["verdict"]).meaning
        return f"{row['verdict']}{expected}: {said}"


def told(claim: Claim, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines that say what a claim states, and both sides where it failed."""
    printed = ", ".join(filter(None, (claim.number, claim.title, claim.label)))
    yield f"{claim.id} ({printed}): {claim.statement}"
    yield f"  {plain(claim.formula)}"
    for row in rows:
        yield (
            f"{row['reading']}, {row['where']}: {row['verdict']}, but {row['expected']} was"
            " expected"
        )
        if worst := row["worst"]:
            yield f"  left side   {rounded(worst['left'], 9)}"
            yield f"  right side  {rounded(worst['right'], 9)}"
            case = Case.from_json(worst["case"]).short() if worst.get("case") else ""
            yield f"  at t = {worst['t']}{case and f', {case}'}"

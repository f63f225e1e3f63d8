"""The findings of the packs in packs/: a template of words each, every number from a quick verify.

Run it after a change of a pack: ``python -m docs.build.packs``. Tests fail when a page is stale.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from docs.build.templates import DOCS, fill, table_row
from stemtheory.claims import casefiles, claims, verify
from stemtheory.claims.checking import Ledger

PACKS = DOCS.parent / "packs"


def folder_of(name: str) -> Path:
    """Return the folder of a pack: the package that its wheel installs."""
    return PACKS / name / f"stemtheory_{name.replace('-', '_')}"


@cache
def ledger(name: str) -> Ledger:
    """Return the document of a quick verify of a pack, mutants and all."""
    return verify(packs=[str(folder_of(name))], mutants=True, jobs=1)


def values(name: str) -> dict[str, Any]:
    """Return what a template may name: the table, counts, and what is found by a claim's id."""
    known, found = claims([str(folder_of(name))]), ledger(name)
    rows = {row["id"]: row for row in found["claims"]}
    counts = Counter(row["verdict"] for row in rows.values())
    return {
        "claims": len(known),
        "verdicts": ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())),
        "mutants": len(found["mutants"]),
        "rejected": sum(mutant["rejected"] for mutant in found["mutants"]),
        "table": "\n".join(
            table_row(key, known[key].statement, row["verdict"], _shown(row["margin"]))
            for key, row in rows.items()
        ),
        "of": {key: _of(row["margin"]) for key, row in rows.items()},
    }


def _of(margin: float | None) -> dict[str, str]:
    """Return what a template may say of a claim: its margin, or by how much it is exceeded."""
    return {"margin": _shown(margin), "exceeded": _shown(1 / margin if margin else None)}


def _shown(margin: float | None) -> str:
    """Return a margin as tables show it; 1 is attained."""
    if margin is None:
        return "-"
    return f"{margin:.3g}" if margin < 1000 else f"{margin:,.0f}"


def page(name: str) -> str:
    """Return the page of a pack."""
    template = (PACKS / name / "FINDINGS.template.md").read_text(encoding="utf-8")
    return fill(template, values(name))


def main() -> None:
    """Write the page and the case files of every pack."""
    for name in sorted(path.parent.name for path in PACKS.glob("*/FINDINGS.template.md")):
        (folder_of(name) / "FINDINGS.md").write_text(page(name), encoding="utf-8")
        casefiles.build([str(folder_of(name))])


if __name__ == "__main__":
    main()

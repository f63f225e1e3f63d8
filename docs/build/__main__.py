"""Writes what is generated: two pages of docs/, and the case files of expected failures.

Run it after a change of a claim, and after new tables in docs/replication/ or a new benchmark of
the networks on images: ``python -m docs.build``. Tests fail when one of them is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs.build import findings, replication
from stemtheory.claims import casefiles

DOCS = Path(__file__).resolve().parent.parent
BENCHMARK = DOCS.parent / "benchmarks/results/images.json"


def main() -> None:
    """Write the pages and the case files."""
    written = casefiles.build()
    pages = {
        "replication": replication.values(DOCS / "replication", BENCHMARK),
        "findings": findings.values(),
    }
    for name, values in pages.items():
        template = (DOCS / f"{name}.template.md").read_text(encoding="utf-8")
        (DOCS / f"{name}.md").write_text(findings.fill(template, values), encoding="utf-8")
    sys.stdout.write(f"{len(pages)} pages and {len(written)} case files\n")


if __name__ == "__main__":
    main()

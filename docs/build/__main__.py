"""Writes what is generated: three pages of docs/ with pictures, and the cases of expected failures.

Run it after a change of a claim or a problem, and after new tables in docs/replication/ or a new
benchmark of the networks on images: ``python -m docs.build``. Tests fail when something is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs.build import findings, problems, replication
from docs.build.templates import DOCS
from stemtheory.claims import casefiles

PAGES = (findings.pages, replication.pages, problems.pages)


def main(folder: Path = DOCS) -> None:
    """Write the pages below ``folder`` and the case files; remove pictures of problems gone."""
    cases = casefiles.build()
    made = {path: text for pages in PAGES for path, text in pages().items()}
    for path, text in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    for old in problems.stale_pictures(folder):
        old.unlink()
    sys.stdout.write(f"{len(made)} pages and pictures, {len(cases)} case files\n")


if __name__ == "__main__":
    main()

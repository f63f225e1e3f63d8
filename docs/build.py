"""Writes what is generated: docs/findings.md, and the case files of expected failures.

Run it after a change of a claim: ``python docs/build.py``. Tests fail when either is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stemtheory import findings
from stemtheory.claims import casefiles

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Write the page and the case files."""
    written = casefiles.build()
    template = (DOCS / "findings.template.md").read_text(encoding="utf-8")
    page = DOCS / "findings.md"
    page.write_text(findings.fill(template, findings.values()), encoding="utf-8")
    sys.stdout.write(f"{page.name} and {len(written)} case files\n")


if __name__ == "__main__":
    main()

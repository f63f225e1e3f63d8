"""Tries every version that rules make of the claims' lines, and records what became of them.

The record comes with the package and is what the ledger's page shows; ``stemtheory verify
--mutants`` tries them again. It takes some minutes.

    python -m docs.build.versions [PATTERN ...]
"""

from __future__ import annotations

import json
import sys

from stemtheory.claims.checking import judged
from stemtheory.claims.ledger import select
from stemtheory.claims.rules import RECORD, recorded, try_rules


def main(patterns: list[str]) -> None:
    """Try the claims that the patterns name, all without any; the record of others is kept."""
    found = dict(recorded())
    for claim in select(patterns):
        if claim.line is None or claim.by_hand:
            found.pop(claim.id, None)
            continue
        tally = try_rules(claim, judged(claim)).to_json()
        found[claim.id] = {"formula": claim.formula, **tally}
        sys.stderr.write(f"{claim.id} {len(tally['survivors'])} alive\n")
        RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

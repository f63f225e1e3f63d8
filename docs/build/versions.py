"""Tries every version that rules make of the claims' lines, and records what became of them.

The record comes with the pack and is what the ledger's page shows; ``stemtheory verify
--mutants`` tries them again. It takes some minutes.

    python -m docs.build.versions [PATTERN ...]
"""

from __future__ import annotations

import json
import sys
from typing import Any

from stemtheory.claims.checking import judged
from stemtheory.claims.ledger import select
from stemtheory.claims.rules import recorded, try_rules


def main(patterns: list[str]) -> None:
    """Try the claims that the patterns name, all without any; the record of others is kept."""
    for claim in select(patterns):
        if claim.pack is None:
            continue
        found = recorded(claim.pack)  # kept in memory, and so carried on from claim to claim
        if claim.line is None or claim.by_hand:
            found.pop(claim.id, None)
            continue
        tally = try_rules(claim, judged(claim)).to_json()
        found[claim.id] = {"formula": claim.formula, **tally}
        sys.stderr.write(f"{claim.id} {len(tally['survivors'])} alive\n")
        lines = (f"{json.dumps(name)}: {compact(found[name])}" for name in sorted(found))
        claim.pack.versions.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def compact(tally: dict[str, Any]) -> str:
    """Return what became of one claim's versions in one line, slack in four digits."""
    survivors = [
        one | {"slack": None if one["slack"] is None else float(f"{one['slack']:.4g}")}
        for one in tally["survivors"]
    ]
    return json.dumps(tally | {"survivors": survivors}, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1:])

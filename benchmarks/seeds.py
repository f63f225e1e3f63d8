"""Runs the quick ledger over 20 seeds: no verdict may change.

The family-wise false-alarm rate of one ledger is 1e-3 (stemtheory.claims.judge.ALPHA), so over 20
seeds one change in 50 such runs of this script would be chance.

    python benchmarks/seeds.py [--seeds 20] [--out benchmarks/results/seeds.json]
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from _common import arguments, write

from stemtheory._version import __version__
from stemtheory.claims import ALPHA, claims, together

Key = tuple[str, str, str]


def verdicts(seed: int) -> dict[Key, tuple[str, float | None]]:
    """Return verdict and margin of every row at one seed."""
    rows = together.verify(level="quick", seed=seed)["claims"]
    return {
        (row["id"], row["reading"], row["where"]): (row["verdict"], row["margin"]) for row in rows
    }


def compare(runs: list[dict[Key, tuple[str, float | None]]]) -> dict[str, Any]:
    """Return the rows whose verdict is not that of the first seed, and the smallest margins."""
    first = runs[0]
    changed = [
        {"row": list(key), "seed": seed, "verdict": run[key][0], "first": first[key][0]}
        for seed, run in enumerate(runs)
        for key in first
        if run[key][0] != first[key][0]
    ]
    margins = {
        key: [run[key][1] for run in runs if run[key][1] is not None]
        for key in first
        if first[key][0] == "holds"
    }
    moving = {key: found for key, found in margins.items() if len(set(found)) > 1}
    # exact inequalities may be attained; only where a mean decides does a small margin mean chance
    means = {c.id for c in claims().values() if c.kind == "expectation"}
    chance = {key: found for key, found in moving.items() if key[0] in means}
    closest = sorted(chance, key=lambda key: min(chance[key]))[:10]
    return {
        "rows": len(first),
        "changed": changed,
        "rows_that_depend_on_the_seed": len(moving),
        "rows_decided_by_a_mean": len(chance),
        "closest_of_these": [
            {"row": list(key), "smallest_margin": min(moving[key]), "largest": max(moving[key])}
            for key in closest
        ],
    }


def main() -> int:
    options = arguments(__doc__, seeds=20)
    start, runs = time.perf_counter(), []
    for seed in range(options.seeds):
        runs.append(verdicts(seed))
        print(f"seed {seed}: {len(runs[-1])} rows, {time.perf_counter() - start:.0f} s", flush=True)
    found = {"version": __version__, "level": "quick", "seeds": options.seeds, "alpha": ALPHA}
    found |= compare(runs)
    write(options.out, found)
    print(json.dumps(found, indent=1))
    return int(bool(found["changed"]))


if __name__ == "__main__":
    sys.exit(main())

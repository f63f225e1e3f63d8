"""Simulates the run that breaks Theorem R* without its sync batch, beside its exact moments.

Parts (a), (b) and (c) share their steps, so one run is held against all three; the claims RSa-m1 to
RSc-m1 have the same instance on the curve, 4e9 iterations long, by exact moments alone. The noise
here is the phase noise itself, which the moments linearise.

    python benchmarks/sync_batch.py [--rounds 10000] [--replicates 24]
        [--readings literal,average-first] [--out benchmarks/results/sync_batch.json]
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from _common import arguments, write
from scipy.special import stdtrit

from stemtheory import Run, bounds, moments, simulate

PARTS, B = "abc", 1e12
DIALS = {
    "h": 0.182,
    "sigma": 20.0,
    "noise_smoothness": math.sqrt(1 - 0.182**2),
    "zeta": 200.0,
    "heterogeneity": "tilt",
}


def run(reading: str, rounds: int, noise: str = "phase", **more: Any) -> Run:
    """Return the run with two workers, x_1 at the minimum, without a sync batch."""
    steps = {"schedule": "rstar", "schedule_options": {"part": "b"}}
    sizes = {"T": rounds * 1000, "b": 1, "I": 1000, "B": B, "x1": 0.0, "K": 2, "dim": 1}
    own = {**sizes, **steps, "sync": reading, "sync_batch": 1, **more}
    return Run.of("quadratic", "stem", dials={**DIALS, "noise": noise}, **own)


def compared(reading: str, rounds: int, mean: float, stderr: float, R: int) -> dict[str, Any]:
    """Return the means over the bounds (2), each with a 95 % Student interval."""
    s = bounds.Setting(rounds * 1000, 2, 1, 1000, 1.0, 20.0, 200.0, 0.0, B)
    exact = moments.moments(run(reading, rounds, "multiplicative"))
    width = float(stdtrit(R - 1, 0.975)) * stderr
    rights = {part: bounds.BOUNDS[f"stem-rstar-{part}"].value(s) for part in PARTS}
    return {
        "mean": mean,
        "stderr": stderr,
        "over_the_bound": {
            part: {
                "exact": exact.mean_grad_sq / right,
                "simulated": mean / right,
                "low": (mean - width) / right,
                "high": (mean + width) / right,
            }
            for part, right in rights.items()
        },
    }


def main() -> None:
    """Run each reading, some minutes of a core, and write the record."""
    options = arguments(__doc__, rounds=10_000, replicates=24, readings="literal,average-first")
    found = {}
    for reading in options.readings.split(","):
        made = run(reading, options.rounds, replicates=options.replicates, engine="fused")
        trace = simulate(made)
        measured = (trace.mean_grad_sq, trace.stderr)
        found[reading] = compared(reading, options.rounds, *measured, options.replicates)
    document = {"rounds": options.rounds, "replicates": options.replicates, "readings": found}
    json.dump(document, sys.stdout, indent=1)
    write(options.out, document)


if __name__ == "__main__":
    main()

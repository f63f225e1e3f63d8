"""How long the quick report takes: wall and CPU seconds, with no kernel compiled and with all.

    python benchmarks/reproduce.py [--before TREE] [--out benchmarks/results/reproduce.json]

With ``--before`` the same is measured of another tree of the package, in turn, and the record has
the ratios. It takes two reports of each tree, several minutes each on a slow machine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import Seconds, arguments, environment_of, machine, quotients, trees, write


def seconds(tree: str, kernels: Path) -> Seconds:
    """Return what one report takes, all of its processes together, into a fresh folder."""
    environment = environment_of(
        tree,
        MPLBACKEND="Agg",
        PYTHONDONTWRITEBYTECODE="",
        PYTHONPYCACHEPREFIX=str(kernels / "bytecode"),
        STEMTHEORY_CACHE=str(kernels),
    )
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "stemtheory", "reproduce", "--quick", "--out", out]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd=out)
        after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Seconds(sum(after[:2]) - sum(before[:2]), ended - began)


def measured(tree: str) -> dict[str, dict[str, float]]:
    """Return the seconds of a report without compiled kernels, and of one with them."""
    with tempfile.TemporaryDirectory() as kernels:
        found = {state: seconds(tree, Path(kernels)) for state in ("cold", "warm")}
    return {
        state: {"wall_seconds": round(one.wall, 1), "cpu_seconds": round(one.cpu, 1)}
        for state, one in found.items()
    }


def main() -> None:
    """Measure the report and print it as JSON."""
    options = arguments(__doc__, before="")
    found: dict[str, Any] = {"machine": machine()}
    for when, tree in trees(options.before).items():
        found[when] = measured(tree)
    if options.before:
        found["after_over_before"] = quotients(found["after"], found["before"], 3)
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    main()

"""What a fused kernel takes to compile: CPU seconds, and over those of ``import numba``.

A fresh process compiles a kernel into an empty folder (first), and that of another loss
(second: what all kernels share is compiled by then); another process finds both there (kept).
``steady_ns`` is the kernel's speed, in CPU nanoseconds per worker-coordinate-step: code that
compiles faster must not run slower.

    python benchmarks/compile.py [--times 3] [--before TREE] [--out benchmarks/results/compile.json]

With ``--before`` the same is measured of another tree of the package, in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from _common import arguments, environment_of, machine, trees, write

KERNELS = {
    "stem, phase and tilt, float64": ("stem", "phase", "tilt", "float64"),
    "stem, modulated, float32": ("stem", "modulated", "none", "float32"),
    "fedavg, phase and tilt, float64": ("fedavg", "phase", "tilt", "float64"),
    "scaffold, phase and tilt, float64": ("scaffold", "phase", "tilt", "float64"),
}
SCRIPT = """
import json, sys, time
start = time.process_time()
import numba
numba_seconds = time.process_time() - start
from stemtheory import load_problem, simulate
import stemtheory.simulator.fused.engine

def run(family, T, replicates):
    algorithm, noise, heterogeneity, dtype = sys.argv[1:]
    zeta = 0.0 if heterogeneity == "none" else 1.0
    problem = load_problem(
        family, K=8, dim=16, noise=noise, heterogeneity=heterogeneity, zeta=zeta)
    begin = time.process_time()
    simulate(problem, algorithm, T=T, b=1, I=8, replicates=replicates, dtype=dtype, threads=1,
             engine="fused")
    return time.process_time() - begin

first, second = run("cosine", 8, 1), run("welsch", 8, 1)
steady = min(run("cosine", 2048, 32) for _ in range(5)) / (2048 * 32 * 8 * 16) * 1e9
print(json.dumps([numba_seconds, first, second, steady]))
"""
NAMES = ("first", "second", "kept")


def measured(kernel: tuple[str, ...], tree: str) -> dict[str, float]:
    """Return what one kernel takes with the package of a tree."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(tree, STEMTHEORY_CACHE=folder)
        command = [sys.executable, "-c", SCRIPT, *kernel]
        outputs = [
            subprocess.run(command, check=True, capture_output=True, env=environment).stdout
            for _ in range(2)
        ]
    (numba, first, second, steady), (_, kept, _, _) = map(json.loads, outputs)
    return {
        "import_numba": numba, "first": first, "second": second, "kept": kept, "steady_ns": steady
    }  # fmt: skip


def main() -> None:
    """Measure every kernel, in turn where two trees are compared; the least of each counts."""
    options = arguments(__doc__, times=3, before="")
    compared = trees(options.before)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, kernel in KERNELS.items():
        runs = [
            {when: measured(kernel, tree) for when, tree in compared.items()}
            for _ in range(options.times)
        ]
        found[name] = {when: least([run[when] for run in runs]) for when in compared}
        if "before" in compared:
            before, after = found[name]["before"], found[name]["after"]
            found[name]["after/before"] = {x: round(after[x] / before[x], 3) for x in after}
        print(name, json.dumps(found[name], indent=1), flush=True)
    write(options.out, {"machine": machine(), "kernels": found})


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of each value, and seconds over those of ``import numba``."""
    found = {name: min(run[name] for run in runs) for name in runs[0]}
    ratios = {f"{name}/import_numba": found[name] / found["import_numba"] for name in NAMES}
    return {name: round(value, 3) for name, value in {**found, **ratios}.items()}


if __name__ == "__main__":
    main()

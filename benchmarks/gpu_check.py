"""Compare a CUDA device with NumPy on every problem and reading, and run the tests marked gpu.

The noise is drawn on the host, so both see the same numbers; what is left is the order of sums and
the last bit of sin, cos, exp. Written to benchmarks/results/gpu-CARD.json: card, versions, worst
relative differences, seconds. Where there is no device it says why and exits with 0.

    python benchmarks/gpu_check.py [--folder benchmarks/results] [--no-tests]
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory import load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.backend import Backend, resolve, unavailable
from stemtheory.catalogue import names

ROOT = Path(__file__).resolve().parent.parent
# Short: a nonconvex recursion amplifies the last bit, so long runs differ whatever is right.
SETTINGS: dict[str, Any] = {"T": 48, "b": 2, "I": 4, "replicates": 24, "noise_source": "host"}
VARIANTS: dict[str, dict[str, Any]] = {
    "fedavg": {"algorithm": "fedavg"},
    **{reading: {"sync": reading} for reading in READINGS},
    "sync batch": {"sync_batch": 3},
}
LIMITS = {"float64": 1e-9, "float32": 1e-3}  # worst relative difference of ||grad f(xbar_t)||^2


def difference(backend: Backend, problem_name: str, variant: dict[str, Any], dtype: str) -> float:
    """Return the worst relative difference between the backend and NumPy, over t and replicates."""
    problem = load_problem(problem_name, K=5, dim=12)
    options = {**SETTINGS, **variant, "dtype": dtype, "record_every": 1}
    ours = simulate(problem, backend=backend, **options).series
    reference = simulate(problem, backend="numpy", **options).series
    return float(np.max(np.abs(ours - reference) / np.max(reference, axis=0)))


def compare(backend: Backend) -> list[dict[str, Any]]:
    """Return one row per problem, variant and dtype."""
    return [
        {
            "problem": name,
            "variant": variant,
            "dtype": dtype,
            "difference": difference(backend, name, options, dtype),
        }
        for name in names("problems")
        for variant, options in VARIANTS.items()
        for dtype in LIMITS
    ]


def worst(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the largest difference of each dtype; NaN, if there is one, is the largest."""
    return {
        dtype: float(np.max([row["difference"] for row in rows if row["dtype"] == dtype]))
        for dtype in LIMITS
    }


def seconds(backend: Backend, replicates: int) -> float:
    """Return the wall time of the default run, the second of two."""
    problem, spent = load_problem("geman_mcclure"), 0.0
    for _ in range(2):
        start = time.perf_counter()
        simulate(problem, T=1024, replicates=replicates, backend=backend)
        spent = time.perf_counter() - start
    return round(spent, 3)


def versions(cupy: Any) -> dict[str, Any]:
    """Return what the numbers depend on."""
    runtime = cupy.cuda.runtime
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cupy": cupy.__version__,
        "cuda": runtime.runtimeGetVersion(),
        "driver": runtime.driverGetVersion(),
    }


def run_tests() -> dict[str, Any]:
    """Run the tests marked gpu; return the exit code and pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    return {"exit_code": done.returncode, "summary": lines[-1] if lines else done.stderr[-500:]}


def main() -> int:
    """Return 0 if all agree or there is no device, 1 if a difference is too large."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--no-tests", action="store_true")
    args, _ = parser.parse_known_args()  # `make bench` hands the same arguments to every script
    reason = unavailable()
    if reason:
        print(f"gpu_check: nothing was compared, because {reason}")
        return 0
    backend = resolve("cupy")
    rows = compare(backend)
    report: dict[str, Any] = {
        "card": backend.device,
        "versions": versions(backend.xp),
        "worst": worst(rows),
        "limits": LIMITS,
        "seconds": {
            str(n): {"cupy": seconds(backend, n), "numpy": seconds(resolve("numpy"), n)}
            for n in (32, 1024)
        },
        "tests": None if args.no_tests else run_tests(),
        "rows": rows,
    }
    args.folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", backend.device.lower()).strip("-")
    path = args.folder / f"gpu-{slug}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({key: report[key] for key in ("card", "worst", "seconds", "tests")}, indent=1))
    agreed = all(report["worst"][dtype] <= limit for dtype, limit in LIMITS.items())
    return 0 if agreed and (args.no_tests or report["tests"]["exit_code"] == 0) else 1


if __name__ == "__main__":
    sys.exit(main())

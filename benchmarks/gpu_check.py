"""Compare a CUDA device with NumPy on every problem and reading, and run the tests marked gpu.

The array engine's noise is drawn on the host, the fused engine's in its kernel at the addresses of
``noise_source="philox"``, so both sides see the same numbers; what is left is the order of sums and
the last bit of sin, cos, exp. Written to benchmarks/results/gpu-CARD.json: card, versions, worst
relative differences, seconds, and nanoseconds per worker-coordinate-step of the fused engine on
the device, beside the array engine there and the fused engine of the processor. Where there is no
device it says why and exits with 0; without numba-cuda the fused engine is left out, and why is
written down, and if it fails, so is how, with all the rest, and the exit code is 1.

    python benchmarks/gpu_check.py [--folder benchmarks/results] [--no-tests]
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from stemtheory import load_problem, simulate
from stemtheory.algorithms import READINGS
from stemtheory.oracles import names
from stemtheory.runtime import Backend, resolve, unavailable
from stemtheory.simulator import DeviceRunner, fused

ROOT = Path(__file__).resolve().parent.parent
# Short: a nonconvex recursion amplifies the last bit, so long runs differ whatever is right.
SETTINGS: dict[str, Any] = {"T": 48, "b": 2, "I": 4, "replicates": 24, "noise_source": "host"}
VARIANTS: dict[str, dict[str, Any]] = {
    "fedavg": {"algorithm": "fedavg"},
    **{reading: {"sync": reading} for reading in READINGS},
    "sync batch": {"sync_batch": 3},
}
SEPARABLE = ("cauchy", "corridor", "cosine", "geman_mcclure", "quadratic", "welsch")
SHAPES = ((5, 12), (9, 8), (3, 64), (70, 32))  # K, dim: each shape of unit, one or several a thread
EVERY_VARIANT = {
    **VARIANTS,
    "scaffold I": {"algorithm": "scaffold", "algorithm_options": {"option": "I"}},
    "scaffold II": {"algorithm": "scaffold", "algorithm_options": {"option": "II"}},
}
RATE_STEPS = {  # of each engine, so that a run takes a fraction of a second or more
    "fused on the device": {"small": 65536, "medium": 16384, "large": 1024},
    "array on the device": {"small": 512, "medium": 512, "large": 64},
    "fused on the processor": {"small": 16384, "medium": 1024, "large": 32},
}
LIMITS = {"float64": 1e-9, "float32": 1e-3}  # worst relative difference of ||grad f(xbar_t)||^2


def difference(
    backend: Backend,
    name: str,
    variant: dict[str, Any],
    dtype: str,
    shape: tuple[int, int] = (5, 12),
    **own: Any,
) -> float:
    """Return the worst relative difference of a device from NumPy's arrays, over t and replicates.

    ``own`` is what the device is told besides, such as the fused engine.
    """
    problem = load_problem(name, K=shape[0], dim=shape[1])
    options = {**SETTINGS, **variant, "dtype": dtype, "record_every": 1}
    source = {"noise_source": "philox"} if own else {}
    ours = simulate(problem, backend=backend, **{**options, **own, **source}).series
    reference = simulate(problem, backend="numpy", engine="array", **{**options, **source}).series
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


def compare_fused(backend: Backend) -> list[dict[str, Any]]:
    """Return rows for every problem, for every shape of unit and for every variant."""
    few = {name: EVERY_VARIANT[name] for name in ("literal", "fedavg", "scaffold II")}
    cases = [(name, SHAPES[0], variant) for name in SEPARABLE for variant in few]
    cases += [("cosine", shape, "literal") for shape in SHAPES[1:]]
    cases += [("cosine", SHAPES[0], variant) for variant in EVERY_VARIANT if variant not in few]
    return [
        {
            "problem": name,
            "shape": shape,
            "variant": variant,
            "dtype": dtype,
            "difference": difference(
                backend, name, EVERY_VARIANT[variant], dtype, shape, engine="fused"
            ),
        }
        for name, shape, variant in cases
        for dtype in LIMITS
    ]


def rates(backend: Backend) -> list[dict[str, Any]]:
    """Return wall nanoseconds per worker-coordinate-step by size, dtype and engine."""
    from _common import ETA, SIZES, A, I, problem  # beside this script

    where = {
        "fused on the device": {"backend": backend, "engine": "fused"},
        "array on the device": {"backend": backend, "engine": "array"},
        "fused on the processor": {"backend": "numpy", "engine": "fused"},
    }
    rows = []
    for size, (R, K, dim) in SIZES.items():
        for dtype in LIMITS:
            row: dict[str, Any] = {"size": size, "dtype": dtype}
            for name, own in where.items():
                T = RATE_STEPS[name][size]
                run = functools.partial(
                    simulate, problem(size, "modulated"), T=T, b=1, I=I, replicates=R, dtype=dtype,
                    schedule="constant", schedule_options={"eta": ETA, "a": A}, **own,
                )  # fmt: skip
                row[name] = float(f"{1e9 * second_run(run) / (T * R * K * dim):.4g}")
                if name == "fused on the device":
                    row["share of its book"] = book_share(backend, run)
            rows.append(row)
    return rows


def book_share(backend: Backend, run: Callable[[], object]) -> float:
    """Return the share of a fused run's wall time in which its norms are booked on the device."""
    book, spent = DeviceRunner.book, 0.0

    def timed(runner: DeviceRunner, *arguments: Any) -> None:
        nonlocal spent
        backend.to_host(backend.from_host(np.zeros(1)))  # waits for what came before
        start = time.perf_counter()
        book(runner, *arguments)
        backend.to_host(backend.from_host(np.zeros(1)))
        spent += time.perf_counter() - start

    with mock.patch.object(DeviceRunner, "book", timed):
        start = time.perf_counter()
        run()
        return round(spent / (time.perf_counter() - start), 4)


def check_fused(backend: Backend) -> dict[str, Any]:
    """Return the fused engine's part of the report, or why there is none, or not all of it."""
    reason = fused.missing_for_device() or fused.missing()
    if reason:
        return {"left_out": reason}
    found: dict[str, Any] = {}
    try:
        found["rows"] = compare_fused(backend)
        found["worst"] = worst(found["rows"])
        found["ns_per_wcs"] = rates(backend)
    except Exception as error:  # kernels that fail must not lose what else was found
        traceback.print_exc()
        found["failed"] = f"{type(error).__name__}: {error}"
    return found


def worst(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the largest difference of each dtype; NaN, if there is one, is the largest."""
    return {
        dtype: float(np.max([row["difference"] for row in rows if row["dtype"] == dtype]))
        for dtype in LIMITS
    }


def seconds(backend: Backend, replicates: int) -> float:
    """Return the wall time of the default run."""
    problem, own = load_problem("geman_mcclure"), {"replicates": replicates, "backend": backend}
    return round(second_run(lambda: simulate(problem, T=1024, **own)), 3)


def second_run(run: Callable[[], object]) -> float:
    """Return the wall time of the second of two runs: the first one compiles."""
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def versions(cupy: Any) -> dict[str, Any]:
    """Return what the numbers depend on."""
    runtime = cupy.cuda.runtime
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cupy": cupy.__version__,
        "cuda": runtime.runtimeGetVersion(),
        "driver": runtime.driverGetVersion(),
        **{name: _version(name) for name in ("numba", "numba-cuda", "cuda-bindings")},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def run_tests() -> dict[str, Any]:
    """Run the tests marked gpu; return the exit code and pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    return {"exit_code": done.returncode, "summary": lines[-1] if lines else done.stderr[-500:]}


def main() -> int:
    """Return 0 if all agree or there is no device, 1 if some differ too much or a run fails."""
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
        "fused": check_fused(backend),
        "tests": None if args.no_tests else run_tests(),
        "rows": rows,
    }
    args.folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", backend.device.lower()).strip("-")
    path = args.folder / f"gpu-{slug}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    shown = {key: report[key] for key in ("card", "worst", "seconds", "tests")}
    shown["fused"] = {key: value for key, value in report["fused"].items() if key != "rows"}
    print(json.dumps(shown, indent=1))
    found = [report["worst"], report["fused"].get("worst", {})]
    agreed = all(value <= LIMITS[dtype] for part in found for dtype, value in part.items())
    agreed = agreed and "failed" not in report["fused"]
    return 0 if agreed and (args.no_tests or report["tests"]["exit_code"] == 0) else 1


if __name__ == "__main__":
    sys.exit(main())

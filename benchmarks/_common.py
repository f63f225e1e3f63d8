"""What the benchmarks share: options, records, sizes, our engines, their noise alone, timing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stemtheory import load_problem, simulate
from stemtheory.runtime import NoiseKey, numpy_backend
from stemtheory.schedules import Constant
from stemtheory.simulator import Plan, resolve_sizes

SIZES = {"small": (64, 8, 16), "medium": (256, 16, 64), "large": (64, 100, 1024)}  # R, K, dim
# and what a problem and a run have unless they are told otherwise
SHAPES = {"default": (32, 4, 8), **SIZES}
# Steps of a slow competitor; fast ones get more
STEPS = {"default": 2048, "small": 512, "medium": 32, "large": 8}
I = 8
ETA, A = 0.02, 0.1
TERMS = {"modulated": 1, "phase": 2}


def arguments(doc: str | None, **defaults: object) -> argparse.Namespace:
    """Return the options of a script: one for each default, of its type, and ``--out``."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--out", type=Path)
    return parser.parse_known_args()[0]  # `make bench` hands the same to every script


def write(path: Path | None, document: dict[str, Any]) -> None:
    """Write a record where one is asked for."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


class Seconds(NamedTuple):
    """What one run took."""

    cpu: float
    wall: float


def timed(run: Callable[[], object]) -> Seconds:
    """Return the CPU time (of all threads) and the wall time of one run."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def problem(size: str, noise: str) -> Any:
    """Return the loss of the comparison: separable, nonconvex, noise that depends on the state."""
    _, K, dim = SHAPES[size]
    return load_problem("cosine", K=K, dim=dim, noise=noise, zeta=0.0)


def engine(
    size: str, noise: str, dtype: str, name: str, algorithm: str, T: int, threads: int = 1,
    record_every: int = 0,
) -> Callable[[], Any]:  # fmt: skip
    """Return a run of one of our engines, ||grad f(xbar_t)||^2 at every step included.

    With ``record_every`` 1 it keeps them all, as peers do.
    """
    options = {"eta": ETA, "a": A} if algorithm == "stem" else {"eta": ETA}
    loss, R = problem(size, noise), SHAPES[size][0]

    def run() -> Any:
        trace = simulate(
            loss, algorithm, T=T, b=1, I=I, replicates=R, dtype=dtype, threads=threads, engine=name,
            backend="numpy", schedule="constant", schedule_options=options,
            record_every=record_every,
        )  # fmt: skip
        assert trace.status == "ok"
        return trace

    return run


def own_noise(size: str, noise: str, dtype: str, T: int) -> Callable[[], object]:
    """Return the drawing of the fused engine's own normals, at the same addresses, and no more."""
    from numba import njit

    from stemtheory.algorithms import ALGORITHMS
    from stemtheory.simulator import Runner
    from stemtheory.simulator.fused.parts import KERNEL

    R, K, dim = SHAPES[size]
    loss = problem(size, noise)
    plan = Plan(
        problem=loss, algorithm=ALGORITHMS["stem"].make(), schedule=Constant(ETA, A),
        sizes=resolve_sizes("stem", K, 1.0, T=T, b=1, I=I), start=np.ones(dim),
        key=NoiseKey(0, dim, K, T, 1, I), backend=numpy_backend(""), host=numpy_backend(""),
        dtype=np.dtype(dtype), record=np.array([T]), per_sample=False,
    )  # fmt: skip
    runner = Runner(plan)
    draw, C, M = runner.module.draw, np.uint64(runner.module.CAPACITY), np.uint64(TERMS[noise])
    whole = np.uint64(runner.module.ROOM)
    n, block, one = (np.uint64(number) for number in (K * dim, 64, 1))
    purpose, scale = np.ones(T, np.uint32), np.ones(T, dtype)

    # as a kernel is: else it would be linked to the kernel's own copy of ``draw``, which takes less
    @njit(**KERNEL)
    def fill(Z: Any, R: Any, steps: Any, key: Any, purpose: Any, scale: Any) -> None:
        for who in range(R):
            for c in range((n + C - one) // C):
                size, first = min(C, n - c * C), c * C // block * M
                room = (size + whole - one) // whole * whole
                ahead, t = C // room, np.uint64(0)
                while t < steps:
                    m = min(ahead, steps - t)
                    draw(Z, room, first, t, m, np.uint32(who), key, purpose, scale, t)
                    t += m

    Z = np.empty(TERMS[noise] * runner.stride, dtype)
    return lambda: fill(Z, R, np.uint64(T), runner.key, purpose, scale)


def numpy_noise(size: str, noise: str, dtype: str, T: int) -> Callable[[], object]:
    """Return NumPy's drawing of as many normals, with its fastest generator, into one array."""
    R, K, dim = SHAPES[size]
    key = NoiseKey(0, dim, K, T, 1, I)

    def run() -> None:
        for block in range(-(-R // 8)):
            stream = np.random.Generator(np.random.SFC64(key.seed_sequence(block, "steps")))
            for t0 in range(0, T, 16):
                shape = (min(16, T - t0), 8, TERMS[noise], K, dim)
                stream.standard_normal(shape, dtype=np.dtype(dtype))

    return run


def interleaved(
    runs: dict[str, tuple[Callable[[], object], int]], wcs_per_step: int, repeats: int
) -> dict[str, dict[str, float]]:
    """Return medians and minima of CPU ns and wall ns per wcs; competitors take turns."""
    for run, _ in runs.values():
        run()  # compile, and warm the caches
    taken: dict[str, list[Seconds]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, (run, _) in runs.items():
            taken[name].append(timed(run))
    found = {}
    for name, (_, T) in runs.items():
        scale = 1e9 / (wcs_per_step * T)
        cpu = [scale * s.cpu for s in taken[name]]
        wall = [scale * s.wall for s in taken[name]]
        found[name] = {
            "cpu_ns": round(statistics.median(cpu), 3),
            "cpu_ns_least": round(min(cpu), 3),
            "wall_ns": round(statistics.median(wall), 3),
        }
    return found


def trees(before: str) -> dict[str, str]:
    """Return the trees of the package that are compared: the one before, if any, and this one."""
    here = str(Path(__file__).resolve().parents[1])
    return {**({"before": str(Path(before).resolve())} if before else {}), "after": here}


def environment_of(tree: str, **more: str) -> dict[str, str]:
    """Return the environment of a process that takes the package from a tree, on one thread.

    The folder that it is started in would come first, and hide the tree.
    """
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **one, "PYTHONPATH": tree, "PYTHONSAFEPATH": "1", **more}


Numbers = Mapping[str, Mapping[str, float]]


def quotients(above: Numbers, below: Numbers, digits: int) -> dict[str, dict[str, float]]:
    """Return what stands above over what stands below under the same names; 0.01 at least below."""
    return {
        what: {
            name: round(value / max(below[what][name], 0.01), digits) for name, value in of.items()
        }
        for what, of in above.items()
    }


def process_seconds(words: Iterable[str], tree: str, **more: str) -> float:
    """Return the CPU seconds of a fresh Python with these arguments, its own children included."""
    own = environment_of(tree, **more)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=own)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2])


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on; no names of hosts or paths."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((x.partition(":")[2].strip() for x in lines if "model name" in x), model)
        flags = next((x for x in lines if x.startswith("flags")), "")
        model += ", AVX-512" if "avx512f" in flags else ""
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    for name in ("numba", "jax", "torch"):
        try:
            versions[name] = __import__(name).__version__
        except ImportError:
            versions[name] = "absent"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": model, "cores": os.cpu_count(), "load": load, **versions}

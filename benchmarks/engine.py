"""Nanoseconds per worker-coordinate-step of the array engine, beside the cost of its noise alone.

One wcs is one worker, one coordinate, one step of STEM with noise, synchronisation and
||grad f(xbar)||^2 at every step. Both are measured in turn in one process, in CPU time, and the
ratio of their medians is what counts: it does not depend on how fast or busy the machine is.

    python benchmarks/engine.py [--repeats 5] [--out benchmarks/results/engine.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np

from stemtheory import load_problem, simulate
from stemtheory.runtime import NoiseKey, blocks

SIZES = {"small": (64, 8, 16), "medium": (256, 16, 64), "large": (64, 100, 1024)}  # R, K, dim
STEPS = {"small": 640, "medium": 48, "large": 8}
I = 8


def engine_seconds(R: int, K: int, dim: int, T: int, noise: str, dtype: str) -> float:
    """Return CPU seconds of one run on one thread."""
    problem = load_problem("cosine", K=K, dim=dim, noise=noise, zeta=0.0)
    start = time.process_time()
    trace = simulate(problem, T=T, b=1, I=I, replicates=R, dtype=dtype, threads=1)
    assert trace.status == "ok"
    return time.process_time() - start


def noise_seconds(R: int, K: int, dim: int, T: int, terms: int, dtype: str) -> float:
    """Return CPU seconds of drawing the same normals with the same generators, and no more."""
    key = NoiseKey(0, dim, K, T, 1, I)
    start = time.process_time()
    for block, _ in enumerate(blocks(R)):
        stream = np.random.Generator(np.random.SFC64(key.seed_sequence(block, "steps")))
        for t0 in range(0, T, 16):
            n = min(16, T - t0)
            stream.standard_normal((n, 8, terms, K, dim), dtype=np.dtype(dtype))
    return time.process_time() - start


def measure(size: str, noise: str, dtype: str, repeats: int) -> dict[str, object]:
    """Return the medians of interleaved runs, and their ratio."""
    R, K, dim = SIZES[size]
    T, terms = STEPS[size], {"modulated": 1, "additive": 1, "phase": 2}[noise]
    wcs = R * K * dim * T
    engine_seconds(R, K, dim, I, noise, dtype)  # warm up
    engine, alone = [], []
    for _ in range(repeats):
        engine.append(1e9 * engine_seconds(R, K, dim, T, noise, dtype) / wcs)
        alone.append(1e9 * noise_seconds(R, K, dim, T, terms, dtype) / wcs)
    a, b = statistics.median(engine), statistics.median(alone)
    return {
        "size": size,
        "noise": noise,
        "dtype": dtype,
        "engine_ns": round(a, 2),
        "noise_ns": round(b, 2),
        "ratio": round(a / b, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--noises", default="modulated,phase")
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = []
    for size in args.sizes.split(","):
        for noise in args.noises.split(","):
            for dtype in args.dtypes.split(","):
                rows.append(measure(size, noise, dtype, args.repeats))
                print(
                    "{size:7} {noise:10} {dtype:8} engine {engine_ns:7.2f} ns  noise "
                    "{noise_ns:6.2f} ns  ratio {ratio}".format(**rows[-1]),
                    flush=True,
                )
    if args.out:
        machine = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
        }
        args.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

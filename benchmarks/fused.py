"""Nanoseconds per worker-coordinate-step of the fused engine, beside what bounds it.

One wcs is one worker, one coordinate, one step with noise, synchronisation and
||grad f(xbar)||^2 at every step. The fused engine is measured in turn with its own noise alone,
NumPy's standard_normal alone and the array engine, in one process, in CPU time on one thread; and
with two threads. Ratios of medians are what counts: they hardly depend on how busy a machine is.

    python benchmarks/fused.py [--repeats 7] [--out benchmarks/results/fused.json]

results/engine.json is an older record, of the array engine beside its noise alone.
"""

from __future__ import annotations

from _common import (
    SIZES,
    STEPS,
    arguments,
    engine,
    interleaved,
    machine,
    numpy_noise,
    own_noise,
    write,
)  # fmt: skip

FASTER = 16  # steps of the fused engine for one of the others'


def measure(size: str, noise: str, dtype: str, repeats: int) -> dict[str, object]:
    """Return one row of the table."""
    R, K, dim = SIZES[size]
    T = STEPS[size]
    long = T * (FASTER if size != "large" else 2)

    def fused(algorithm: str, threads: int = 1) -> object:
        return engine(size, noise, dtype, "fused", algorithm, long, threads), long

    runs = {
        "fused": fused("stem"),
        "own_noise": (own_noise(size, noise, dtype, long), long),
        "fused_fedavg": fused("fedavg"),
        "fused_two_threads": fused("stem", 2),
        "numpy_normals": (numpy_noise(size, noise, dtype, T), T),
        "array": (engine(size, noise, dtype, "array", "stem", T), T),
    }
    found = interleaved(runs, R * K * dim, repeats)  # type: ignore[arg-type]
    ns = {name: values["cpu_ns"] for name, values in found.items()}
    ratios = {
        "fused/own_noise": ns["fused"] / ns["own_noise"],
        "fedavg/own_noise": ns["fused_fedavg"] / ns["own_noise"],
        "fused/numpy_normals": ns["fused"] / ns["numpy_normals"],
        "array/fused": ns["array"] / ns["fused"],
        "array/numpy_normals": ns["array"] / ns["numpy_normals"],
        "two_threads/one": ns["fused_two_threads"] / ns["fused"],
    }
    rounded = {name: round(value, 2) for name, value in ratios.items()}
    return {"size": size, "noise": noise, "dtype": dtype, "ns": found, "ratios": rounded}


def main() -> None:
    args = arguments(
        __doc__, repeats=7, sizes=",".join(SIZES), noises="modulated,phase",
        dtypes="float32,float64",
    )  # fmt: skip
    rows = []
    for noise in args.noises.split(","):
        for dtype in args.dtypes.split(","):
            for size in args.sizes.split(","):
                rows.append(measure(size, noise, dtype, args.repeats))
                show(rows[-1])
    write(args.out, {"machine": machine(), "rows": rows})


def show(row: dict[str, object]) -> None:
    """Print one row."""
    ns, ratios = row["ns"], row["ratios"]
    assert isinstance(ns, dict)
    assert isinstance(ratios, dict)
    values = "  ".join(f"{name} {v['cpu_ns']:.2f}" for name, v in ns.items())
    print(f"{row['size']:7} {row['noise']:10} {row['dtype']:8} {values} ns", flush=True)
    print(" " * 27, "  ".join(f"{name} {v:.2f}" for name, v in ratios.items()), flush=True)


if __name__ == "__main__":
    main()

"""The array engine beside plain NumPy: the same recursion, and as many normals.

Plain NumPy's are NumPy's own, of the same generator. Both keep ||grad f(xbar_t)||^2 of every step.
Before anything is timed the plain run is handed the engine's own noise and compared with it number
by number.

    python benchmarks/plain.py [--repeats 5] [--out benchmarks/results/plain.json]
"""

from __future__ import annotations

from typing import Any

from _common import SHAPES, STEPS, arguments, engine, interleaved, machine, numpy_noise, write
from _peer_runs import Work, plain_run, series_of
from _same_work import few, products_noise, products_series, same_law, same_numbers

LONGER = {"default": 2, "small": 4, "medium": 4, "large": 1}  # of the steps of a slow competitor


def measure(size: str, noise: str, dtype: str, repeats: int) -> dict[str, Any]:
    """Return one row: CPU ns of the engine, of plain NumPy and of the normals alone."""
    asked = few(size, noise, dtype)
    found = series_of(plain_run(asked, products_noise(asked))(), asked.T)
    right = products_series(asked, "array")
    worst = same_numbers("plain NumPy", found, right, dtype)
    T, (R, K, dim) = STEPS[size] * LONGER[size], SHAPES[size]
    array = engine(size, noise, dtype, "array", "stem", T, record_every=1)
    plain = plain_run(Work(size, noise, dtype, T, R))
    same_law("plain NumPy", plain(), array().series)
    normals = numpy_noise(size, noise, dtype, T)
    runs = {"array": (array, T), "plain": (plain, T), "numpy_normals": (normals, T)}
    ns = interleaved(runs, R * K * dim, repeats)
    ratio = ns["array"]["cpu_ns"] / ns["plain"]["cpu_ns"]
    return {
        "size": size, "noise": noise, "dtype": dtype, "worst_difference": worst, "ns": ns,
        "array/plain": round(ratio, 3),
    }  # fmt: skip


def main() -> None:
    args = arguments(
        __doc__, repeats=5, sizes=",".join(SHAPES), noises="modulated,phase",
        dtypes="float32,float64",
    )  # fmt: skip
    rows = []
    for size in args.sizes.split(","):
        for noise in args.noises.split(","):
            for dtype in args.dtypes.split(","):
                rows.append(measure(size, noise, dtype, args.repeats))
                values = "  ".join(f"{n} {v['cpu_ns']:.2f}" for n, v in rows[-1]["ns"].items())
                print(f"{size:8} {noise:9} {dtype}  {rows[-1]['array/plain']}  ({values} ns)")
    write(args.out, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()

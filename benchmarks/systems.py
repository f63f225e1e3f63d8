"""Nanoseconds per worker-coordinate-step of every system: compiled, and on arrays, in turn.

    python benchmarks/systems.py [--repeats 5] [--size default] [--out FILE]

One process, one thread, CPU time, float64; both engines record ||grad f(xbar_t)||^2 of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _common import ETA, SHAPES, STEPS, A, I, arguments, interleaved, machine, problem, write

from stemtheory import simulate

FASTER = 16  # steps of a compiled run for one on arrays
MOMENTUM = ("stem", "mimemvr", "fedglomo")  # whose schedule has an a
SYSTEMS = (
    *("stem", "fedavg", "scaffold", "local-polyak", "slowmo", "vrl-sgd", "fedprox", "mime"),
    *("mimelite", "mimemvr", "fedpd", "fedglomo", "spider"),
)


def run_of(size: str, system: str, engine: str, T: int) -> Callable[[], Any]:
    """Return a run of a system on one of the engines."""
    loss, R = problem(size, "phase"), SHAPES[size][0]
    steps = {"eta": ETA} | ({"a": A} if system in MOMENTUM else {})
    return lambda: simulate(
        loss, system, T=T, b=1, I=1 if system == "spider" else I, replicates=R, threads=1,
        engine=engine, backend="numpy", schedule="constant", schedule_options=steps,
    )  # fmt: skip


def measure(size: str, system: str, repeats: int) -> dict[str, Any]:
    """Return CPU ns of both engines, and array over fused."""
    R, K, dim = SHAPES[size]
    T = STEPS[size]
    runs = {
        "fused": (run_of(size, system, "fused", T * FASTER), T * FASTER),
        "array": (run_of(size, system, "array", T), T),
    }
    ns = interleaved(runs, R * K * dim, repeats)
    ratio = ns["array"]["cpu_ns"] / ns["fused"]["cpu_ns"]
    return {"system": system, "ns": ns, "array/fused": round(ratio, 2)}


def main() -> None:
    """Measure every system and print it."""
    options = arguments(__doc__, repeats=5, size="default")
    rows = [measure(options.size, system, options.repeats) for system in SYSTEMS]
    for row in rows:
        ns = {name: of["cpu_ns"] for name, of in row["ns"].items()}
        print(f"{row['system']:>12} {ns} {row['array/fused']}")
    write(options.out, {"machine": machine(), "size": options.size, "rows": rows})


if __name__ == "__main__":
    main()

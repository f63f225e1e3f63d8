"""A script: the device's kernels in numba's own simulator of CUDA, against the array engine.

It must run in a process of its own, where NUMBA_ENABLE_CUDASIM was set before numba came in, and
prints one line per case: its name and the worst relative difference. Threads run at once here, and
arrays are numba's; ``simulated`` is stricter about races.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba import cuda

from stemtheory import load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.simulator import fused
from stemtheory.simulator.fused.cuda import engine as device_engine
from stemtheory.simulator.fused.cuda.build import assemble
from tests.helpers.fake_device import Device, DeviceArray, fake_backend
from tests.simulator.fused.cuda.simulated import simulated_machine

CASES: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {
    **{sync: ("stem", (3, 3), {"sync": sync, "sync_batch": 2}) for sync in READINGS},
    "fedavg": ("fedavg", (2, 64), {"dtype": "float32"}),
    "fedavg, one step a round": ("fedavg", (5, 4), {"I": 1}),
    "scaffold, I": ("scaffold", (5, 3), {"algorithm_options": {"option": "I"}}),
    "scaffold, II": ("scaffold", (9, 8), {"algorithm_options": {"option": "II"}}),
}


class NumbaKernels:
    """The two kernels in numba's simulator, on the arrays of a fake device."""

    def __init__(self, recipe: Any, variant: Any, layout: Any, plan: Any) -> None:
        names = assemble(recipe, variant, layout, simulated_machine(variant.dtype, cuda))
        self.size = (layout.J, layout.L)
        jit: Any = cuda.jit
        self.advancing, self.booking = jit(names["advance"]), jit(names["keep_book"])

    def advance(self, blocks: int, *arguments: Any) -> None:
        self.advancing[blocks, self.size](*map(_bare, arguments))

    def keep_book(self, replicates: int, *arguments: Any) -> None:
        self.booking[replicates, 1](*map(_bare, arguments))


def _bare(value: Any) -> Any:
    return value._values if isinstance(value, DeviceArray) else value


def difference(algorithm: str, shape: tuple[int, int], more: dict[str, Any]) -> float:
    """Return the worst relative difference of ||grad f(xbar_t)||^2 between the two engines."""
    problem = load_problem("cosine", K=shape[0], dim=shape[1])
    steps = {"eta": 0.05, "a": 0.1} if algorithm == "stem" else {"eta": 0.05}
    options: dict[str, Any] = {
        "T": 6, "b": 2, "I": 3, "replicates": 2, "record_every": 1, "noise_source": "philox",
        "schedule": "constant", "schedule_options": steps, **more,
    }  # fmt: skip
    array = simulate(problem, algorithm, backend="numpy", engine="array", **options)
    backend = fake_backend(Device())
    device = simulate(problem, algorithm, backend=backend, engine="fused", **options)
    return float(np.abs(device.series / array.series - 1).max())


def main() -> None:
    sys.setswitchinterval(1e-4)  # threads wait for each other at every meeting
    fused.__dict__["missing_for_device"] = lambda: None
    device_engine.__dict__["_load"] = NumbaKernels
    for name, case in CASES.items():
        print(f"{name}\t{difference(*case):.3e}")


if __name__ == "__main__":
    main()

"""What exact moments cost: a step of steps that vary, and coordinates of 512 curvatures.

    python benchmarks/moments.py [--times 3] [--before TREE] [--out FILE.json]

A step is one iteration t of one coordinate of STEM by the calibrated schedule, with I = 4 and T =
1e6 (1e5 in a tree before): the least CPU time of a warm process over T, once as installed and once
without numba. A spectrum is T = 1e9 in 512 coordinates, no two alike. With ``--before`` the same is
measured of another tree of the package, in turn, and ratios are before over after.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

NOISE: dict[str, dict[str, Any]] = {
    "additive": {"noise": "additive", "zeta": 0.0},
    "additive, tilt": {"noise": "additive", "zeta": 1.0, "heterogeneity": "tilt"},
    "multiplicative": {"noise": "multiplicative", "zeta": 0.0},
    "multiplicative, tilt": {"noise": "multiplicative", "zeta": 1.0, "heterogeneity": "tilt"},
}


def least(times: int, run: Callable[[], object]) -> float:
    """Return the least CPU seconds of several runs, after one that is not counted."""
    run()
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def measure(T: int, times: int) -> dict[str, dict[str, float]]:
    """Return microseconds a step and seconds a spectrum in this process."""
    from stemtheory import load_problem
    from stemtheory.moments import moments

    steps, spectra = {}, {}
    follow: dict[str, Any] = {"T": T, "b": 1, "I": 4, "schedule": "calibrated"}
    for name, dials in NOISE.items():
        one = load_problem("quadratic", K=4, dim=1, sigma=1.0, **dials)
        many = load_problem("quadratic", K=4, dim=512, sigma=1.0, spectrum=100.0, **dials)
        steps[name] = round(least(times, lambda p=one: moments(p, **follow)) / T * 1e6, 3)
        spectra[name] = round(least(times, lambda p=many: moments(p, T=1e9, nu=0.5)), 3)
    return {"microseconds_a_step": steps, "seconds_of_512_curvatures": spectra}


def measured(tree: str, T: int, times: int, **more: str) -> dict[str, dict[str, float]]:
    """Return the same of a fresh process that takes the package from a tree."""
    from _common import environment_of

    words = [sys.executable, __file__, "measure", str(T), str(times)]
    own = environment_of(tree, **more)
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, env=own)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure this tree, with numba and without, and the one before; print it as JSON."""
    from _common import arguments, machine, quotients, trees, write

    options = arguments(__doc__, times=3, before="")
    compared = trees(options.before)
    found: dict[str, Any] = {"machine": machine()}
    if options.before:
        found["before"] = measured(compared["before"], 10**5, options.times)
    here = compared["after"]
    found["after"] = measured(here, 10**6, options.times)
    found["without_numba"] = measured(here, 10**5, options.times, NUMBA_DISABLE_JIT="1")
    if options.before:
        found["ratio"] = quotients(found["before"], found["after"], 1)
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()

"""Put an optimisation theorem next to its algorithm and see, with numbers, whether it holds.

The theorem is that of STEM, two-sided momentum for federated nonconvex optimisation; the method is
problems whose L, sigma and zeta are known exactly, a vectorised simulator, and honest statistics.
"""

from __future__ import annotations

from stemtheory import bounds
from stemtheory._version import __version__
from stemtheory.claims import verify
from stemtheory.experiment import SweepResult, run_sweep
from stemtheory.oracles import load_problem
from stemtheory.runtime import UsageError
from stemtheory.simulator import Trace, simulate

__all__ = [
    "SweepResult",
    "Trace",
    "UsageError",
    "__version__",
    "bounds",
    "load_problem",
    "run_sweep",
    "simulate",
    "verify",
]

"""Put an optimisation theorem next to its algorithm and see, with numbers, whether it holds.

The theorem is that of STEM, two-sided momentum for federated nonconvex optimisation; the method is
problems whose L, sigma and zeta are known exactly, a vectorised simulator, and honest statistics.
"""

from __future__ import annotations

from stemtheory import bounds
from stemtheory._version import __version__
from stemtheory.catalogue import load_problem
from stemtheory.claims.together import verify
from stemtheory.errors import UsageError
from stemtheory.experiment.run import SweepResult, run_sweep
from stemtheory.simulate import simulate
from stemtheory.trace import Trace

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

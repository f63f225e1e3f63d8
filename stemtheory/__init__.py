"""Put an optimisation theorem next to its algorithm and see, with numbers, whether it holds.

The theorem is that of STEM, two-sided momentum for federated nonconvex optimisation; the method is
problems whose L, sigma and zeta are known exactly, a vectorised simulator, and honest statistics.
``bounds`` and ``moments`` are modules; everything else here is a function or a type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stemtheory._faces import face
from stemtheory._version import __version__

if TYPE_CHECKING:
    from stemtheory import bounds, moments
    from stemtheory.algorithms import load_algorithm
    from stemtheory.bounds.advise import advise
    from stemtheory.claims import (
        check_algorithm,
        check_problem,
        estimate_constants,
        explain,
        verify,
    )
    from stemtheory.experiment import SweepResult, run_sweep
    from stemtheory.oracles import load_problem
    from stemtheory.runtime import UsageError
    from stemtheory.simulator import Run, Trace, simulate

__getattr__, __dir__ = face(__name__)

__all__ = [
    "Run",
    "SweepResult",
    "Trace",
    "UsageError",
    "__version__",
    "advise",
    "bounds",
    "check_algorithm",
    "check_problem",
    "estimate_constants",
    "explain",
    "load_algorithm",
    "load_problem",
    "moments",
    "run_sweep",
    "simulate",
    "verify",
]

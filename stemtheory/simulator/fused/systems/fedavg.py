"""FedAvg's steps in a kernel: a state of one row, x.

Paper: Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average
from stemtheory.simulator.fused.names import ZERO, combine, compile_hot, evaluate, fma


# ---- everything below this line is copied
@compile_hot
def fedavg_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any) -> None:
    """x' = x - eta g(x)."""
    for i in range(n):
        here = evaluate(S[s + i], P, W, w + i)
        S[s + i] = fma(-eta, combine(here, Z, i), S[s + i])


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """x' = x - eta g(x)."""
    fedavg_step(S, s, Z, W, w, P, n, eta)


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """x <- mean x."""
    average(S, ZERO, ZERO, B, K, dim)

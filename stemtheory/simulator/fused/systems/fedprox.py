"""FedProx's steps in a kernel: rows y and the server's x. Q: mu."""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, spread_all
from stemtheory.simulator.fused.names import (
    STRIDE,
    ZERO,
    combine,
    compile_hot,
    evaluate,
    fma,
)

# ---- everything below this line is copied
SERVER = STRIDE
STARTS = (ZERO, SERVER)


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """y' = y - eta (g(y) + mu (y - x))."""
    mu = Q[0]
    for i in range(n):
        e = s + i
        g = combine(evaluate(S[e], P, W, w + i), Z, i)
        S[e] = fma(-eta, fma(mu, S[e] - S[e + SERVER], g), S[e])


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """x <- mean y, handed to every worker."""
    average(S, ZERO, ZERO, B, K, dim)
    spread_all(S, SERVER, B, ZERO, K, dim)

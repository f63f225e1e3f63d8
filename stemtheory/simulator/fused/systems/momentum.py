"""Local momentum's steps in a kernel: rows x and u. Q: beta, what of g and what of u is followed.

Polyak's momentum follows u, Nesterov's g + beta u.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average
from stemtheory.simulator.fused.names import (
    ZERO,
    D,
    combine,
    compile_hot,
    evaluate,
    fma,
)

# ---- everything below this line is copied


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """u' = beta u + g(x) and x' = x - eta (share g(x) + look u')."""
    beta, share, look = Q[0], Q[1], Q[2]
    for i in range(n):
        e = s + i
        g = combine(evaluate(S[e], P, W, w + i), Z, i)
        u = fma(beta, S[e + D], g)
        S[e + D] = u
        S[e] = fma(-eta, fma(look, u, share * g), S[e])


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """x <- mean x, u <- mean u."""
    average(S, ZERO, ZERO, B, K, dim)
    average(S, D, D, B, K, dim)

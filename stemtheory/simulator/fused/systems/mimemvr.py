"""MimeMVR's steps in a kernel. Q: eta_g. Rows: y, m, the oracle at the server's x, and x.

All workers take part, so that m - grad f(x) of the round before is zero to the last bit, and m is
the mean of the full local gradients.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, refresh_all, renew_all
from stemtheory.simulator.fused.names import (
    GRADIENT,
    STRIDE,
    TERMS,
    ZERO,
    D,
    Size,
    before,
    combine,
    compile_hot,
    evaluate,
    fma,
)

# ---- everything below this line is copied
SERVER = Size(3 + TERMS) * STRIDE
STARTS = (ZERO, SERVER)
OPENS = True


@compile_hot
def open_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, number: Any) -> None:
    """m is the mean of grad f_k(x)."""
    refresh_all(S, W, P, K, dim)
    average(S, GRADIENT, D, B, K, dim)


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """y' = y - eta (g(y) + (1 - a) (m - g(x))); ``keep`` is 1 - a."""
    for i in range(n):
        e = s + i
        g = combine(evaluate(S[e], P, W, w + i), Z, i)
        S[e] = fma(-eta, fma(keep, S[e + D] - before(S, e, Z, i), g), S[e])


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """x' = x + eta_g (ybar - x); ybar lies in the row of y."""
    for i in range(n):
        e = s + i
        x = fma(Q[0], S[e] - S[e + SERVER], S[e + SERVER])
        S[e], S[e + SERVER] = x, x


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew x."""
    average(S, ZERO, ZERO, B, K, dim)
    renew_all(S, Q, K, dim, told)

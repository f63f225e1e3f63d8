"""MIME's and MimeLite's steps in a kernel. Q: beta, eta_g.

Rows: y, m, the oracle at the server's x (of which MimeLite asks the gradient alone), c and x.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, refresh_all, renew_all
from stemtheory.simulator.fused.names import (
    GRADIENT,
    STRIDE,
    SYSTEM,
    TERMS,
    ZERO,
    D,
    Scalar,
    Size,
    before,
    combine,
    compile_hot,
    evaluate,
    fma,
)

# ---- everything below this line is copied
MEAN_GRADIENT, SERVER = Size(3 + TERMS) * STRIDE, Size(4 + TERMS) * STRIDE
STARTS = (ZERO, SERVER)
OPENS = True
LITE = SYSTEM == "mimelite"


@compile_hot
def open_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, number: Any) -> None:
    """c is the mean of grad f_k(x)."""
    refresh_all(S, W, P, K, dim)
    average(S, GRADIENT, MEAN_GRADIENT, B, K, dim)


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """y' = y - eta ((1 - beta) G + beta m), and G = g(y) - g(x) + c, MimeLite's g(y)."""
    beta, rest = Q[0], Scalar(1) - Q[0]
    for i in range(n):
        e = s + i
        G = combine(evaluate(S[e], P, W, w + i), Z, i)
        if not LITE:
            G = G - before(S, e, Z, i) + S[e + MEAN_GRADIENT]
        S[e] = fma(-eta, fma(rest, G, beta * S[e + D]), S[e])


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """x' = x + eta_g (ybar - x) and m' = (1 - beta) c + beta m; ybar lies in the row of y."""
    beta, rest, server_step = Q[0], Scalar(1) - Q[0], Q[1]
    for i in range(n):
        e = s + i
        x = fma(server_step, S[e] - S[e + SERVER], S[e + SERVER])
        S[e + D] = fma(rest, S[e + MEAN_GRADIENT], beta * S[e + D])
        S[e], S[e + SERVER] = x, x


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew x and m."""
    average(S, ZERO, ZERO, B, K, dim)
    renew_all(S, Q, K, dim, told)

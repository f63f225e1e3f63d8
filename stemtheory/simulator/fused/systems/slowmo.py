"""SlowMo's rounds in a kernel: rows y, u and the server's x. Q: alpha, beta.

Its steps are FedAvg's: this text stands behind that of ``fedavg``.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, renew_all
from stemtheory.simulator.fused.names import (
    STRIDE,
    TWO,
    ZERO,
    D,
    compile_hot,
    fma,
)

# ---- everything below this line is copied
SERVER = TWO * STRIDE
STARTS = (ZERO, SERVER)


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """u' = beta u + (x - ybar)/eta and x' = x - alpha eta u'; ybar lies in the row of y."""
    alpha, beta = Q[0], Q[1]
    for i in range(n):
        e = s + i
        u = fma(beta, S[e + D], (S[e + SERVER] - S[e]) / told)
        x = fma(-alpha * told, u, S[e + SERVER])
        S[e + D], S[e + SERVER], S[e] = u, x, x


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew u and x; ``told`` is the last eta of the round."""
    average(S, ZERO, ZERO, B, K, dim)
    renew_all(S, Q, K, dim, told)

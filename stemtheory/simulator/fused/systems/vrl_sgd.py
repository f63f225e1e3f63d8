"""VRL-SGD's steps in a kernel: rows x, the drift v and, at the end of a round, xbar. Q: warm-up."""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, renew_all
from stemtheory.simulator.fused.names import (
    STRIDE,
    TWO,
    ZERO,
    D,
    combine,
    compile_hot,
    evaluate,
    fma,
)

# ---- everything below this line is copied
MEAN = TWO * STRIDE
WARM = True


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """x' = x - eta (g(x) - v)."""
    for i in range(n):
        e = s + i
        here = evaluate(S[e], P, W, w + i)
        S[e] = fma(-eta, combine(here, Z, i) - S[e + D], S[e])


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """v' = v + (xbar - x)/(sum of the round's eta) and x' = xbar."""
    for i in range(n):
        e = s + i
        S[e + D] = S[e + D] + (S[e + MEAN] - S[e]) / told
        S[e] = S[e + MEAN]


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew v and x; ``told`` is the sum of the round's eta."""
    average(S, ZERO, MEAN, B, K, dim)
    renew_all(S, Q, K, dim, told)

"""FedPD's steps in a kernel, where every round communicates. Q: h, and ``refresh`` of oracle II.

Rows: x, with oracle II v and the oracle at x, the centre x0 and the multiplier lambda.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, copy_all, refresh_all, renew_all
from stemtheory.simulator.fused.names import (
    GRADIENT,
    STRIDE,
    SYSTEM,
    TERMS,
    ZERO,
    D,
    Size,
    before,
    combine,
    compile_hot,
    evaluate,
    fma,
    remember,
)

# ---- everything below this line is copied
OPENS = REDUCED = SYSTEM == "fedpd_II"
CENTRE = Size(3 + TERMS if REDUCED else 1) * STRIDE
DUAL = CENTRE + STRIDE
STARTS = (ZERO, CENTRE)
AGREE = False


@compile_hot
def open_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, number: Any) -> None:
    """v = grad f_k(x) at the start of every ``refresh``-th round."""
    if number % Size(Q[1]) == ZERO:
        refresh_all(S, W, P, K, dim)
        copy_all(S, GRADIENT, D, K, dim)


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """Oracle I or II; ``eta`` is gamma."""
    if REDUCED:
        minimise(S, s, Z, W, w, P, Q[0], n, eta)
    else:
        descend(S, s, Z, W, w, P, Q[0], n, eta)


@compile_hot
def descend(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, h: Any, n: Any, gamma: Any) -> None:
    """x' = x - gamma (g(x) + lambda + (x - x0)/h)."""
    for i in range(n):
        e = s + i
        g = combine(evaluate(S[e], P, W, w + i), Z, i)
        pull = S[e + DUAL] + (S[e] - S[e + CENTRE]) / h
        S[e] = fma(-gamma, g + pull, S[e])


@compile_hot
def minimise(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, h: Any, n: Any, gamma: Any) -> None:
    """lambda + (x' - x0)/h + v + (x' - x)/gamma = 0 and v' = v + g(x') - g(x)."""
    for i in range(n):
        e = s + i
        force = S[e + DUAL] + S[e + D]
        x = (h * S[e] + gamma * S[e + CENTRE] - gamma * h * force) / (gamma + h)
        here = evaluate(x, P, W, w + i)
        S[e] = x
        S[e + D] = S[e + D] + combine(here, Z, i) - before(S, e, Z, i)
        remember(S, e, here)


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """lambda' = lambda + (x - x0)/h, and x0' = x + h lambda' before it is averaged."""
    h = Q[0]
    for i in range(n):
        e = s + i
        S[e + DUAL] = S[e + DUAL] + (S[e] - S[e + CENTRE]) / h
        S[e + CENTRE] = fma(h, S[e + DUAL], S[e])


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew lambda and x0; every worker keeps its own x."""
    renew_all(S, Q, K, dim, told)
    average(S, CENTRE, CENTRE, B, K, dim)

"""Appendix A.1 and A.2: STEM's descent, the contraction of the error, the potential."""

from __future__ import annotations

from typing import Any

from tests.claims.second_hand.letters import Pair, chain, mean, span, sq

# Appendix A.1 and A.2: STEM's descent


def P3(r: Any, t: int) -> Pair:
    """Lem: e_bar_bound_Batch"""
    return sq(r.ebar[1]), r.sigma**2 / (r.K * r.B)


def M1(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Batch_App"""
    right = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in span(r, t))
    return sq(r.x[t] - r.xbar[t]), (r.I - 1) * right


def M1_L(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Batch_App"""
    # As the algorithm is written, the x of tbar_s are the workers' own and those of tbar_s + 1
    # agree; at t = 1 they agree too.
    agreed = r.start(t - 1) + 1 if t > 1 else 1
    right = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in range(agreed, t + 1))
    return sq(r.x[t] - r.xbar[t]), (r.I - 1) * right


def M1a(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Batch_App"""
    # Equality (a) of the proof, which is one between squared norms.
    steps = sum(r.eta[j] * r.d[j] - r.eta[j] * r.dbar[j] for j in range(r.start(t), t))
    return sq(r.x[t] - r.xbar[t]), sq(steps)


def descent(r: Any, t: int) -> Any:
    """Return the right side of (8) up to its last term."""
    eta = r.eta[t]
    return (
        r.f[t]
        - (eta / 2 - eta**2 * r.L / 2) * sq(r.dbar[t])
        - eta / 2 * sq(r.G[t])
        + eta * sq(r.ebar[t])
    )


def M2(r: Any, t: int) -> Pair:
    """lem: Descent_Batch_App"""
    drift = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in span(r, t))
    return r.f[t + 1], descent(r, t) + r.eta[t] * r.L**2 * (r.I - 1) / r.K * drift


def M2b(r: Any, t: int) -> Pair:
    """eq: DR_Smoothness_2nd_batch"""
    distance = sq(r.x[t] - r.xbar[t])
    return r.f[t + 1], descent(r, t) + r.eta[t] * r.L**2 / r.K * distance


def M2c(r: Any, t: int) -> list[Pair]:
    """eq: DR_Gradient_Ineq_Batch"""
    return chain(
        sq(mean(r.g[t] - r.gm[t])),
        1 / r.K * sq(r.g[t] - r.gm[t]),
        r.L**2 / r.K * sq(r.x[t] - r.xbar[t]),
    )


# Appendix A.2: the contraction of the error


def M3(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    a, eta, kept = r.a[t + 1], r.eta[t], (1 - r.a[t + 1]) ** 2
    right = (
        kept * sq(r.ebar[t])
        + 8 * kept * r.L**2 / (r.b * r.K**2) * (r.I - 1) / r.I * eta**2 * sq(r.d[t] - r.dbar[t])
        + 4 * kept * r.L**2 * eta**2 / (r.b * r.K) * sq(r.dbar[t])
        + 2 * a**2 * r.sigma**2 / (r.b * r.K)
    )
    return sq(r.ebar[t + 1]), right


def M3_R(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    # Step (c) of eq. (10) put into eq. (9), before x_{t+1} - x_t is taken for the step.
    a, kept = r.a[t + 1], (1 - r.a[t + 1]) ** 2
    right = (
        kept * sq(r.ebar[t])
        + 2 * kept * r.L**2 / (r.b * r.K**2) * sq(r.x[t + 1] - r.x[t])
        + 2 * a**2 * r.sigma**2 / (r.b * r.K)
    )
    return sq(r.ebar[t + 1]), right


def M3a(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    # Equality (b) of the proof, which is one between squared norms.
    noise = (r.gs[t] - r.g[t]) - (1 - r.a[t]) * (r.gs_old[t] - r.g[t - 1])
    return sq(r.ebar[t]), sq(mean(noise) + (1 - r.a[t]) * r.ebar[t - 1])


def M3b(r: Any, t: int) -> Pair:
    """eq_bound_grad_error_norm"""
    noise = (r.gx[t] - r.g[t]) - (1 - r.a[t]) * (r.gx_old[t] - r.g[t - 1])
    fresh = 1 / (r.b**2 * r.K**2) * r.b * sq(noise)
    return sq(r.ebar[t]), (1 - r.a[t]) ** 2 * sq(r.ebar[t - 1]) + fresh


def M3c(r: Any, t: int) -> list[Pair]:
    """eq_bound_grad_error_norm_2"""
    # For every worker; the words stop at step (c), the eq. is the whole chain.
    return [pair for k in range(r.K) for pair in sample_noise(r, t, k)]


def sample_noise(r: Any, t: int, k: int) -> list[Pair]:
    """Return the chain of eq. (10) for one worker."""
    a, eta, kept, L2 = r.a[t], r.eta[t - 1], (1 - r.a[t]) ** 2, r.L**2
    new, old = r.gx[t][k] - r.g[t][k], r.gx_old[t][k] - r.g[t - 1][k]
    moved, true = r.gx[t][k] - r.gx_old[t][k], r.g[t][k] - r.g[t - 1][k]
    fresh, d, dbar = 2 * a**2 * r.sigma**2, r.d[t - 1][k], r.dbar[t - 1]
    apart = 8 * kept * L2 * (r.I - 1) / r.I * eta**2 * sq(d - dbar)
    return chain(
        sq(new - (1 - a) * old),
        sq((1 - a) * (new - old) + a * new),
        2 * kept * sq(moved - true) + 2 * a**2 * sq(new),
        2 * kept * sq(moved) + fresh,
        2 * kept * L2 * sq(r.x[t][k] - r.x[t - 1][k]) + fresh,
        2 * kept * L2 * eta**2 * sq(d) + fresh,
        apart + 4 * kept * L2 * eta**2 * sq(dbar) + fresh,
    )


# Appendix A.2: the potential


def Phi(r: Any, t: int, weight: float = 64) -> Any:
    """Return f(xbar_t) + bK/(64 L^2) ||ebar_t||^2/eta_{t-1}, or with another number for 64."""
    return r.f[t] + r.b * r.K / (weight * r.L**2) * sq(r.ebar[t]) / r.eta[t - 1]


def M4(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    # t is the lemma's t-bar.
    times, eta = span(r, t), r.eta
    drift = sum(eta[j] * sq(r.d[j] - r.dbar[j]) for j in times)
    right = (
        -sum((7 * eta[j] / 16 - eta[j] ** 2 * r.L / 2) * sq(r.dbar[j]) for j in times)
        - sum(eta[j] / 2 * sq(r.G[j]) for j in times)
        + r.sigma**2 * r.c**2 / (32 * r.L**2) * sum(eta[j] ** 3 for j in times)
        + 33 / (256 * r.K) * (r.I - 1) / r.I * drift
    )
    return Phi(r, t + 1) - Phi(r, r.start(t)), right


def M4a(r: Any, t: int) -> list[Pair]:
    """Eq: Error_Descent_1"""
    # Eq. (12), then the same after (13), then times bK/(64 L^2): the last is what pays for
    # eta_t E||ebar_t||^2 in the descent lemma.
    eta, bK, L2, spread = r.eta[t], r.b * r.K, r.L**2, (r.I - 1) / r.I
    kept, error, drift = (1 - r.a[t + 1]) ** 2, sq(r.ebar[t]), sq(r.d[t] - r.dbar[t])
    left = sq(r.ebar[t + 1]) / eta - error / r.eta[t - 1]
    weight = 8 * L2 / (r.b * r.K**2) * spread * eta
    first = (
        (kept / eta - 1 / r.eta[t - 1]) * error
        + 8 * kept * L2 / (r.b * r.K**2) * spread * eta * drift
        + 4 * kept * L2 * eta / bK * sq(r.dbar[t])
        + 2 * r.a[t + 1] ** 2 * r.sigma**2 / (eta * bK)
    )
    rest = 4 * L2 * eta / bK * sq(r.dbar[t]) + 2 * r.sigma**2 * r.c**2 * eta**3 / bK
    second = (eta**-1 - r.eta[t - 1] ** -1 - r.c * eta) * error + weight * drift + rest
    third = -64 * L2 * eta / bK * error + weight * drift + rest
    paid = (
        -eta * error
        + 1 / (8 * r.K) * spread * eta * drift
        + eta / 16 * sq(r.dbar[t])
        + r.sigma**2 * r.c**2 * eta**3 / (32 * L2)
    )
    return [(left, first), (first, second), (left, third), (bK / (64 * L2) * left, paid)]

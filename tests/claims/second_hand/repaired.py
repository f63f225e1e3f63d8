"""docs/repaired-theorem.md: labels are those of the lines of the paper that are repaired."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.descent import Phi
from tests.claims.second_hand.letters import Pair, cubes, mean_gradient, sq
from tests.claims.second_hand.theorem import printed_sum, theorem


def round_of(r: Any, t: int) -> int:
    """Return s of the round tbar_{s-1} .. tbar_s - 1 that holds t."""
    return int((t - 1) // r.I + 1)


def whole_round(r: Any, t: int) -> range:
    """Return all times of t's round."""
    return range(r.start(t), r.start(t) + r.I)


def weighted_moves(r: Any, times: range) -> Any:
    """Return sum eta_t q_t^2."""
    return sum(r.eta[j] * sq(r.dbar[j]) for j in times)


def REP1(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    eta, K = r.eta[t], r.K
    if r.jump:
        last = sq(r.x[t] - r.xbar[t]) / (32 * r.m * K * eta)
    else:
        last = eta / (32 * K) * sq(r.d[t] - r.dbar[t])
    right = (
        -(eta / 2 - eta**2 * r.L / 2 - eta / 32) * sq(r.dbar[t])
        - eta / 2 * sq(r.G[t])
        + eta * r.L**2 / K * sq(r.x[t] - r.xbar[t])
        + r.sigma**2 * r.c**2 * eta**3 / (32 * r.L**2)
        + last
    )
    return Phi(r, t + 1) - Phi(r, t), right


def REP2(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # The sum is read as one over the whole round that holds t.
    s, K, c2, times = round_of(r, t), r.K, r.c**2, whole_round(r, t)
    third = sum(r.eta[j] ** 3 for j in times)
    forcing = (
        K / 64 * weighted_moves(r, times)
        + K * r.sigma**2 * c2 / (32 * r.b * r.L**2) * third
        + K * r.zeta**2 * c2 / (16 * r.L**2) * third
    )
    return r.D[s], 0.0233 * r.kappa * r.D[s - 1] + 0.0110 * r.D[s] + 2.8046 * forcing


def REP3(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    c2, L2 = r.c**2, r.L**2
    right = r.K * (
        0.0455 * weighted_moves(r, range(1, r.T + 1))
        + 0.0910 * r.sigma**2 * c2 / (r.b * L2) * cubes(r)
        + 0.1820 * r.zeta**2 * c2 / L2 * cubes(r)
    )
    absorbed = (0.0455 * (r.I / 32 + 0.004), 1 / 2 - 1 / 32 - 1 / 64)
    return [(sum(r.D[1:]), right), absorbed]


def repaired_sum(r: Any, weight: float, A_s: Any, A_z: Any) -> Pair:
    """Return the sides of (3), with a number for its 240."""
    left = sum(r.eta[t] / 2 * sq(r.G[t]) for t in range(1, r.T + 1))
    noise = r.c**2 / r.L**2 * (A_s * r.sigma**2 + A_z * r.zeta**2) * cubes(r)
    first = r.b * r.sigma**2 / (weight * r.L**2 * r.B * r.eta[0])
    return left, r.gap + first + noise


def elementary(r: Any) -> Pair:
    """Return A_sigma and A_zeta of REP4."""
    return 1 / 32 + 0.0910 * (0.004 + r.I / 32) / r.b, 0.1820 * (0.004 + r.I / 32)


def REP4(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return repaired_sum(r, 64, *elementary(r))


def within(r: Any, A_s: Any, A_z: Any, times: Any = 1) -> list[Pair]:
    """Return (i)'s conditions under which the printed theorem follows from A_sigma and A_zeta."""
    room = 1 / 8 * (128 / r.cb) ** 2 * times
    return [(A_s, room), (A_z, room * (r.I - 1) / r.I)]


def REP5(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # The theorem, its logarithmic terms times I/86 from I = 86 on; then REP4's constants, for
    # which (i) says when it follows.
    more = max(1, r.I / 86)
    stated = (mean_gradient(r), theorem(r, sigma=more, zeta=more))
    return [stated, *within(r, *elementary(r), more)]


def REP6(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # I/32 is (1 + (I-1))/32, of a round's normal steps and its jump, which alone m divides. E2's
    # cap takes I to I/phi^2.
    m = math.ceil(r.I / 85)
    return [((1 + (r.I - 1) / m) / 32, 86 / 32), (r.I / max(1, r.I / 86), 86)]


def REP7(r: Any, t: int) -> list[Pair]:
    """lem: ErrorContraction_BatchGradients_App"""
    # The condition for instability, and the two rates from which it comes.
    bKI = r.b * r.K * r.I
    bias = (1 - 1 / r.I) * r.V / (512 * r.L**2)
    return [(128 * r.L**2 / (r.V * (1 - 1 / r.I)), bKI), (1 / (4 * bKI), bias)]


def R1(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    eta, K, theta = r.eta[t], r.K, r.theta
    if r.jump:
        last = (1 + theta) / (240 * r.m * K) * sq(r.x[t] - r.xbar[t]) / eta
    else:
        last = (1 + theta) / (240 * K) * eta * sq(r.d[t] - r.dbar[t])
    right = (
        -eta / 2 * sq(r.G[t])
        - (eta / 2 - eta**2 * r.L / 2 - (1 + theta) / 240 * eta) * sq(r.dbar[t])
        + 15.5 * eta * r.L**2 / K * sq(r.x[t] - r.xbar[t])
        + (1 + 1 / theta) * r.c**2 * r.sigma**2 * eta**3 / (240 * r.L**2)
        + last
    )
    return Phi(r, t + 1, 240) - Phi(r, t, 240), right


def R2(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # q and Y are those of the round that holds t, and i is t's place in it.
    i = t - r.start(t)
    K, carried = r.K, r.kappa * r.L * r.Z[round_of(r, t) - 1]
    forcing = (
        r.L * r.h * math.sqrt(K) * sum(r.q[:i])
        + carried
        + i * r.alpha * math.sqrt(K / 2) * r.zeta
        + r.alpha * math.sqrt(i * K / r.b) * r.sigma
    )
    return r.Y[i], 1.0687 * forcing


def R3(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    s, K, h, alpha, long = round_of(r, t), r.K, r.h, r.alpha, r.I ** (3 / 2)
    right = (
        r.L * h**2 * math.sqrt(K) * long * math.sqrt(r.Q / 3)
        + r.kappa / 16 * r.Z[s - 1]
        + h * alpha * math.sqrt(K / 2) * r.zeta * r.I**2 / 2
        + 2 / 3 * h * alpha * math.sqrt(K / r.b) * r.sigma * long
    )
    return r.Z[s], 1.0687 * right


# Theorem R's parts: theta; p_A, p_C, p_D; A_sigma; A_zeta's two numbers.
PARTS = {
    "a": (1, (0.58, 0.25, 0.10), 0.0087, (1.2e-4, 2e-5)),
    "b": (1 / 20, (0.62, 0.26, 0.05), 0.089, (1.2e-4, 1.01e-5)),
    "c": (1 / 10, (0.15, 0.70, 0.08), 0.0465, (1.2e-4, 3.92e-6)),
}


def constants(part: str, ratio: Any) -> Pair:
    """Return A_sigma and A_zeta of a part, at I/m."""
    _, _, A_s, (fixed, slope) = PARTS[part]
    return A_s, fixed + slope * ratio


def Ra(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return repaired_sum(r, 240, *constants("a", r.I / r.m))


def Rb(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return repaired_sum(r, 240, *constants("b", r.I / r.m))


def Rc(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return repaired_sum(r, 240, *constants("c", r.I / r.m))


def R4(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # The lines for dbar, zeta and sigma, of part (a), then (b), then (c).
    return [pair for part in PARTS for pair in collected(r, part)]


def collected(r: Any, part: str) -> list[Pair]:
    """Return step 7's three lines for one part."""
    theta, (p_A, p_C, p_D), A_s, _ = PARTS[part]
    I, m, q = r.I, r.m, 1 + theta
    R, G2, left = 1.0001, 1.0687**2, 1 - 0.0669
    drift = (1 + theta) / 240 + 15.5 / 512
    e = 960 * G2 * drift / (256 * (1 + theta))
    moved = (I / m + e) * q * R * G2 / (768 * 240 * p_A * left) + 4 * drift * R * G2 / 512
    far = (I / m + e) * q * R * G2 / (2048 * 240 * p_C * left) + 4 * drift * R * G2 / 1536
    noise = (1 / m + e / I) * 4 * q * R * G2 / (2304 * 240 * p_D * left)
    noise = (1 + 1 / theta) / 240 + 1 / r.b * (noise + 4 * drift * R * G2 / (512 * I))
    return [
        (moved, 1 / 2 - 1 / 64 - q / 240),
        (far, constants(part, I / m)[1]),
        (noise, A_s),
    ]


def Ri(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # The theorem, and the conditions on the constants of part (b) under which it follows.
    stated = (mean_gradient(r), theorem(r))
    return [stated, *within(r, *constants("b", r.I / r.m))]


def Rii(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # The sum, and the conditions on the constants of part (c) at m = 1 under which it follows.
    A_s, A_z = constants("c", r.I)
    return [printed_sum(r), (A_s, 3 / 64), (A_z, (r.I - 1) / (32 * r.I))]


def Riii(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    slow, log, ratio = (r.b * r.K) ** (2 / 3) * r.T ** (2 / 3), math.log(r.T + 1), r.I / r.m
    right = (
        (32 * r.L * r.I / r.T + 2 * r.L / slow) * r.gap
        + (32 * r.b * r.I**2 / (15 * r.B * r.T) + 2 * r.b * r.I / (15 * slow * r.B)) * r.sigma**2
        + (1142 * r.I / r.T + 71.4 / slow) * r.sigma**2 * log
        + ((16 + 2.63 * ratio) * r.I / r.T + (1 + 0.165 * ratio) / slow) * r.zeta**2 * log
    )
    return mean_gradient(r), right


def E1(r: Any, t: int) -> list[Pair]:
    """Def: ComputationComplexity"""
    # Samples per worker and round, and what M promises.
    m, share = math.ceil(r.I / r.M), 1 / r.M
    return [(2 * r.b * (r.I - 1 + m), 2 * r.b * r.I * (1 + share)), (r.I / m, r.M)]


def E2(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # The theorem at its price ("the first batch's times phi^2" is read as both of its terms), and
    # the conditions on part (b)'s constants with I/phi^2 for I/m.
    stated = (mean_gradient(r), theorem(r, in_T=r.phi, first=r.phi**2))
    return [stated, *within(r, *constants("b", r.I / r.phi**2))]


def E3(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    # "Terms in sigma^2 times mu" is read as all of them, the first batch's too.
    return mean_gradient(r), theorem(r, first=r.mu, sigma=r.mu, zeta=r.mu**2)


def Riv(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    noise = r.A_s * r.sigma**2 + r.A_z * r.zeta**2
    right = (
        32 * r.L * r.I * r.gap / r.T
        + 2.134 * r.b * r.I**2 * r.sigma**2 / (r.B * r.T)
        + 32 * (r.cb / 64) ** 2 * noise / (r.I * r.b * r.K) ** 2
    )
    return mean_gradient(r), right


def LOGFREE(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main"""
    # The bound; that its last coefficient is at most 13.01; a worker's samples.
    b, I, S, far = r.b, r.I, r.S, 0.004 + 6.5e-4 * r.I / r.m
    C = 32 * r.L * r.gap + 2.42 * r.sigma**2 + far * r.zeta**2
    samples = b * I + 2 * b * I * S * (1 + 1 / 20000)
    enough = (2 * math.sqrt(S) + 4.0002 * S ** (3 / 2)) / r.K
    return [(mean_gradient(r), C / S), (far, 13.01), (samples, enough)]

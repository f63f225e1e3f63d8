"""Every line of the paper that is a claim, transcribed a second time and from the paper alone.

The claims of the package state their sides once; here another hand states them again, so that a
test can hold one against the other at random points. A function bears its claim's id (a hyphen is
an underscore) and its docstring is the label in the paper. It returns the two sides of
``left <= right`` or ``left = right`` as they are printed: nothing is cancelled, nothing moved over.
A printed ``>=`` gives (small, large); a chain or several inequalities give a list of pairs, so that
the ends of a chain are ``[0][0]`` and ``[-1][1]``. An expectation is the quantity itself.

Letters of an assignment ``r``, indexed by the paper's t = 0 .. T+1, and by k = 0 .. K-1:

* sizes K, I, T, S, b, B, m; constants L, sigma, zeta, beta, c, kbar, gap = f(xbar_1) - f*, fstar;
* eta[t], a[t], w[t]; x[t][k], xbar[t], d[t][k], dbar[t], f[t] = f(xbar_t), G[t] = grad f(xbar_t);
* g[t][k] = grad f^(k)(x_t^(k)), gbar[t], ebar[t] = dbar - gbar, gm[t][k] = grad f^(k)(xbar_t);
* gs[t][k], gs_old[t][k]: the gradients of t's minibatch at x_t^(k) and at x_{t-1}^(k);
* X[t], Dl[t]: the squared distances of the x and of the d from their means, summed over workers;
* start(t): the first t of the round that holds t; step: FedAvg's constant step;
* for the repaired theorem (docs/repaired-theorem.md): theta, kappa, jump, h, alpha, cb = c bK/L^2,
  q[j], Y[i], Z[s], D[s], Q, phi, mu, A_s, A_z; lam and w_drift, where 240 and 15.5 are printed,
  are used by no line; for Lemma C.2: seq;
* for the assumptions: two points x1v, x2v and the gradients gp[k], gp2[k] there.

Letters added to those that were asked for:

* gx[t][k], gx_old[t][k]: as gs and gs_old, of one sample; b times it stands for a sum over a
  minibatch, whose samples are alike;
* gsp[k], gsp2[k]: one sample's gradients at x1v and x2v; calls: a worker's oracle calls;
* V: the variance of the workers' curvatures; M: the M of the sync batch m = ceil(I/M);
* for Theorem R* (docs/theorem-rstar.md): v[t], U[t], spread[t], p_0, tau, h_0, c_0, Lam.
"""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

Pair = tuple[Any, Any]

# Claims without a transcription, and why.
LEFT_OUT = {
    "P1": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "P2": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "P2p": "a mean of zero over the draws: at one assignment of the letters it says nothing",
    "A2i": "a mean over the draws equals the gradient: at one assignment it says nothing",
    "ALG-4": "a count of vectors sent, for which the paper prints no expression",
    "SP1": "a comparison of two runs",
    "SP1-S": "a comparison of two runs",
    "RMK4": "a comparison of two runs",
    "F8-Z": "a comparison of two runs",
    "F5-K3-O": "a rate, whose constant the paper does not print",
    "FG1": "a picture: nothing is printed but its edge",
}


def sq(v: Any) -> float:
    """Return ||v||^2; for a stack of vectors, the sum of theirs."""
    return float(np.sum(np.square(v)))


def chain(*sides: Any) -> list[Pair]:
    """Return the pairs of neighbours in a <= b <= c."""
    return list(pairwise(sides))


def mean(v: Any) -> Any:
    """Return (1/K) sum_k v^(k)."""
    return np.mean(v, axis=0)


def span(r: Any, t: int) -> range:
    """Return tbar_{s-1} .. t, the part of t's round up to t."""
    return range(r.start(t), t + 1)


def mean_gradient(r: Any) -> float:
    """Return E||grad f(xbar_a)||^2, xbar_a uniform over t = 1 .. T."""
    return float(sum(sq(r.G[t]) for t in range(1, r.T + 1)) / r.T)


def cubes(r: Any) -> Any:
    """Return sum_{t=1}^T eta_t^3."""
    return sum(r.eta[t] ** 3 for t in range(1, r.T + 1))


# Section 2.2, Algorithm 1 and the schedule


def ALG_1(r: Any, t: int) -> Pair:
    """Algo_DR-STORM_batch"""
    return r.xbar[t + 1], r.xbar[t] - r.eta[t] * r.dbar[t]


def ALG_2(r: Any, t: int) -> Pair:
    """Algo_DR-STORM_batch"""
    return r.a[t + 1], r.c * r.eta[t] ** 2


def ALG_3(r: Any, t: int) -> Pair:
    """Def: ComputationComplexity"""
    return r.calls, r.B + 2 * r.b * r.T


def printed_w(r: Any, t: int) -> Any:
    """Return the w_t that the theorem defines."""
    cap = 4096 * r.L**3 * r.I**3
    return max(
        2 * r.sigma**2,
        cap * r.kbar**3 - r.sigma**2 * t,
        r.c**3 * r.kbar**3 / cap,
    )


def SCH0(r: Any, t: int) -> Pair:
    """eq: Step-Size"""
    # Without sigma, from kbar^3 = (bK)^2 sigma^2/L^3: each member of the maximum gives one of the
    # minimum.
    cubed = (r.b * r.K) ** 2 / r.L**3
    last = r.c**3 * (r.b * r.K) ** 2 / (4096 * r.L**6 * r.I**3)
    one = min(
        (cubed / (2 + t)) ** (1 / 3),
        1 / (16 * r.L * r.I),
        (cubed / (last + t)) ** (1 / 3),
    )
    return r.kbar / (printed_w(r, t) + r.sigma**2 * t) ** (1 / 3), one


def SCH1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    first = 64 * r.L**2 / (r.b * r.K) + r.sigma**2 / (24 * r.kbar**3 * r.L * r.I)
    second = r.L**2 * (64 / (r.b * r.K) + 1 / (24 * (r.b * r.K) ** 2 * r.I))
    return first, second


def SCH2(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # The index is that of w_t <= w_{t-1} in the proof of eq. (13).
    return [(r.eta[t], r.eta[t - 1]), (r.w[t], r.w[t - 1])]


def SCH3(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return r.eta[t], 1 / (16 * r.L * r.I)


def SCH4(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return r.c, 128 * r.L**2 / (r.b * r.K)


def SCH5(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    largest = max(2, 4096 * r.I**3 * (r.b * r.K) ** 2 - t, 512 / (r.b * r.K * r.I**3))
    return r.w[t], r.sigma**2 * largest


def SCH6(r: Any, t: int) -> Pair:
    """Eq: GradNorm_1stTerm"""
    # "Its value" is what eqs. (22) to (24) use, w_T <= 4096 L^3 I^3 kbar^3, without - sigma^2 t.
    return r.w[t], 4096 * r.L**3 * r.I**3 * r.kbar**3


def SCH7(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # Not printed: the paper uses (1 - a_t)^2 <= 1 - a_t <= 1 alone.
    return [(0, r.a[t]), (r.a[t], 0.2502)]


def SCH8(r: Any, t: int) -> list[Pair]:
    """Eq: Step_Difference"""
    s2 = r.sigma**2
    now, held = (r.w[t] + s2 * t) ** (1 / 3), r.w[t] + s2 * (t - 1)
    return chain(
        r.eta[t] ** -1 - r.eta[t - 1] ** -1,
        now / r.kbar - (r.w[t - 1] + s2 * (t - 1)) ** (1 / 3) / r.kbar,
        now / r.kbar - held ** (1 / 3) / r.kbar,
        s2 / (3 * r.kbar * held ** (2 / 3)),
        2 ** (2 / 3) * s2 * r.kbar**2 / (3 * r.kbar**3 * (r.w[t] + s2 * t) ** (2 / 3)),
        2 ** (2 / 3) * s2 / (3 * r.kbar**3) * r.eta[t] ** 2,
        s2 / (24 * r.kbar**3 * r.L * r.I) * r.eta[t],
    )


def SCH9(r: Any, t: int) -> Pair:
    """Eq: Step_Difference"""
    left = r.eta[t] ** -1 - r.eta[t - 1] ** -1 - r.c * r.eta[t]
    return left, -64 * r.L**2 / (r.b * r.K) * r.eta[t]


def constant_until(r: Any) -> Any:
    """Return T_const; its m is not the sync batch but the larger of the other two in w_t."""
    m = max(2, r.c**3 * (r.b * r.K) ** 2 / (4096 * r.L**6 * r.I**3))
    return 4096 * r.I**3 * (r.b * r.K) ** 2 - m


def SCH10(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # If the first holds, then (as an equality) the second does. Nothing of it is printed.
    return [(t, constant_until(r)), (r.eta[t], 1 / (16 * r.L * r.I))]


def SCH10_curve(r: Any, t: int) -> list[Pair]:
    """eq: I:b_SAMVR"""
    # The curve multiplied out, nu gone; then the last t is still in the phase.
    return [(r.I**3 * (r.b * r.K) ** 2, r.T), (r.T, constant_until(r))]


def SCH11(r: Any, t: int) -> list[Pair]:
    """Thm: Flexible_FedAvg"""
    # The premise and what it says; either holds exactly where the other does.
    premise = (81 * r.L**2 * r.I**2 * r.b * r.K, r.T)
    return [premise, (math.sqrt(r.b * r.K / r.T), 1 / (9 * r.L * r.I))]


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


# Appendix A.2: the consensus error


def consensus(r: Any, t: int, first: Any, young: Any) -> Any:
    """Return M5's right side, for given coefficients of the first term and of all others."""
    a, eta, K, L2 = r.a[t], r.eta[t - 1], r.K, r.L**2
    drift = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in range(r.start(t), t))
    return (
        first * sq(r.d[t - 1] - r.dbar[t - 1])
        + 4 * K * L2 * young * eta**2 * sq(r.dbar[t - 1])
        + 4 * K * r.sigma**2 / r.b * young * a**2
        + 8 * K * r.zeta**2 * young * a**2
        + 32 * L2 * young * (r.I - 1) * a**2 * drift
    )


def M5(r: Any, t: int) -> Pair:
    """lem: GradientErrorContraction_BatchGradients_App"""
    young = 1 + 1 / r.beta
    first = (1 - r.a[t]) ** 2 * (1 + r.beta) + 4 * r.L**2 * young * r.eta[t - 1] ** 2
    return sq(r.d[t] - r.dbar[t]), consensus(r, t, first, young)


def M5_R(r: Any, t: int) -> Pair:
    """lem: GradientErrorContraction_BatchGradients_App"""
    # The proof's last display before its step (a), where nothing is yet taken for a step.
    a, young = r.a[t], 1 + 1 / r.beta
    right = (
        (1 - a) ** 2 * (1 + r.beta) * sq(r.d[t - 1] - r.dbar[t - 1])
        + 2 * r.L**2 * young * sq(r.x[t] - r.x[t - 1])
        + 4 * r.K * r.sigma**2 / r.b * young * a**2
        + 8 * r.K * r.zeta**2 * young * a**2
        + 32 * r.L**2 * young * a**2 * sq(r.x[t - 1] - r.xbar[t - 1])
    )
    return sq(r.d[t] - r.dbar[t]), right


def M5a(r: Any, t: int) -> list[Pair]:
    """eq: DR_Descent_d_Intermediate1_Batch"""
    a = r.a[t]
    new, old = r.gs[t] - mean(r.gs[t]), r.gs_old[t] - mean(r.gs_old[t])
    own = 2 * a**2 * sq(old)
    return chain(
        sq(new - (1 - a) * old),
        sq(new - old + a * old),
        2 * sq(new - old) + own,
        2 * sq(r.gs[t] - r.gs_old[t]) + own,
        2 * 1 / r.b * r.b * sq(r.gx[t] - r.gx_old[t]) + own,
        2 * r.L**2 * sq(r.x[t] - r.x[t - 1]) + own,
    )


def M5b(r: Any, t: int) -> list[Pair]:
    """eq: DR_Descent_d_Intermediate2_Batch"""
    g, gm, old = r.g[t - 1], r.gm[t - 1], r.gs_old[t]
    noise, own = old - g, g - mean(g)
    far = 16 * r.L**2 * sq(r.x[t - 1] - r.xbar[t - 1])
    return chain(
        sq(old - mean(old)),
        sq(noise - mean(noise) + own),
        2 * sq(noise - mean(noise)) + 2 * sq(own),
        2 * sq(noise) + 2 * sq(own),
        2 / r.b**2 * r.b * sq(r.gx_old[t] - g)
        + 4 * sq(gm - r.G[t - 1])
        + 8 * sq(g - gm)
        + 8 * r.K * sq(r.G[t - 1] - mean(g)),
        2 * r.K * r.sigma**2 / r.b + 4 * sum(sq(v - gm) for v in gm) / r.K + far,
        2 * r.K * r.sigma**2 / r.b + 4 * r.K * r.zeta**2 + far,
    )


def M6(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # t is the lemma's t-bar.
    times = span(r, t)
    third = sum(r.eta[j] ** 3 for j in times)
    left = sum(r.eta[j] * sq(r.d[j] - r.dbar[j]) for j in times)
    right = (
        sum(r.eta[j] / 64 * sq(r.dbar[j]) for j in times)
        + r.sigma**2 * r.c**2 / (64 * r.b * r.L**2) * third
        + r.zeta**2 * r.c**2 / (32 * r.L**2) * (r.I - 1) / r.I * third
    )
    return 33 / (256 * r.K) * (r.I - 1) / r.I * left, right


def M6a(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    # beta stays a letter up to (b), where the paper puts 1/I for it.
    moved, I = 4 * r.L**2 * (1 + 1 / r.beta) * r.eta[t - 1] ** 2, r.I
    return chain(
        (1 - r.a[t]) ** 2 * (1 + r.beta) + moved,
        1 + r.beta + moved,
        1 + 1 / I + 4 * r.L**2 * (I + 1) * r.eta[t - 1] ** 2,
        1 + 1 / I + (I + 1) / (64 * I**2),
        1 + 33 / (32 * I),
    )


def M6b(r: Any, t: int) -> list[Pair]:
    """Eq: GradientError_t_App"""
    # beta stays a letter up to (a), where the paper puts 1/I for it.
    K, I, L, eta, c2 = r.K, r.I, r.L, r.eta[t - 1], r.c**2
    first = 1 + 33 / (32 * I)
    drift = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in range(r.start(t), t))
    last = first * sq(r.d[t - 1] - r.dbar[t - 1]) + 64 * L**2 * I**2 * c2 * eta**4 * drift
    second = (
        8 * K * L**2 * I * eta**2 * sq(r.dbar[t - 1])
        + 8 * K * I * r.sigma**2 / r.b * c2 * eta**4
        + 16 * K * I * r.zeta**2 * c2 * eta**4
    )
    third = (
        K * L / 2 * eta * sq(r.dbar[t - 1])
        + K * r.sigma**2 * c2 / (2 * r.b * L) * eta**3
        + K * r.zeta**2 * c2 / L * eta**3
    )
    with_beta = consensus(r, t, first, 1 + 1 / r.beta)
    return chain(sq(r.d[t] - r.dbar[t]), with_beta, second + last, third + last)


def M6c(r: Any, t: int) -> list[Pair]:
    """Eq: GradientError_Recursive"""
    # The factor (1 + 3/(2I)) in the zeta term of (18) is a misprint for (1 + 33/(32I)).
    return chain((1 + 33 / (32 * r.I)) ** r.I, math.exp(33 / 32), 3)


def M6d(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # Printed as [1 - ...] >= 4/5.
    return 4 / 5, 1 - 192 * r.L**2 * r.I**4 * r.c**2 * (1 / (16 * r.L * r.I)) ** 6


def M6e(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    # 33/256, times 5/4 from M6d, times 3/32, 3/32 and 3/16: the numbers alone.
    factor = 33 / 256 * 5 / 4
    return [(factor * 3 / 32, 1 / 64), (factor * 3 / 32, 1 / 64), (factor * 3 / 16, 1 / 32)]


# Theorem A.10


def M7a(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # t is the proof's t-bar, tbar_s - 1 at the end of a round.
    times, eta, L2 = span(r, t), r.eta, r.L**2
    third = sum(eta[j] ** 3 for j in times)
    slope = -sum(eta[j] / 2 * sq(r.G[j]) for j in times)
    far = r.c**2 * r.zeta**2 / (32 * L2) * (r.I - 1) / r.I * third
    first = (
        -sum((27 * eta[j] / 64 - eta[j] ** 2 * r.L / 2) * sq(r.dbar[j]) for j in times)
        + slope
        + r.c**2 * r.sigma**2 / (32 * L2) * third
        + r.c**2 * r.sigma**2 / (64 * r.b * L2) * third
        + far
    )
    second = slope + 3 * r.c**2 * r.sigma**2 / (64 * L2) * third + far
    return chain(Phi(r, t + 1) - Phi(r, r.start(t)), first, second)


def printed_sum(r: Any) -> Pair:
    """Return the sides of the last line of eq. (19)."""
    left = sum(r.eta[t] / 2 * sq(r.G[t]) for t in range(1, r.T + 1))
    right = (
        r.gap
        + r.sigma**2 / (64 * r.L**2) * r.b / (r.B * r.eta[0])
        + 3 * r.c**2 * r.sigma**2 / (64 * r.L**2) * cubes(r)
        + r.c**2 * r.zeta**2 / (32 * r.L**2) * (r.I - 1) / r.I * cubes(r)
    )
    return left, right


def M7b(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    # Divided by eta_T T/2 as the words say, with eta_t >= eta_T on the left.
    return mean_gradient(r), printed_sum(r)[1] / (r.eta[r.T] * r.T / 2)


def theorem(r: Any, in_T: Any = 1, first: Any = 1, sigma: Any = 1, zeta: Any = 1) -> Any:
    """Return the theorem's right side, the coefficients in 1/T and the terms times something."""
    slow, log = (r.b * r.K) ** (2 / 3) * r.T ** (2 / 3), math.log(r.T + 1)
    noise = 256**2 * r.I / r.T * in_T + 64**2 / slow
    start = 8 * r.b * r.I**2 / (r.B * r.T) + r.b * r.I / (2 * slow * r.B)
    return (
        (32 * r.L * r.I / r.T * in_T + 2 * r.L / slow) * r.gap
        + first * start * r.sigma**2
        + sigma * noise * r.sigma**2 * log
        + zeta * noise * r.zeta**2 * (r.I - 1) / r.I * log
    )


def M7(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return mean_gradient(r), theorem(r)


def M7a_C(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # An equality; then what step (a) uses of eta_t <= 1/(16LI) and of b >= 1.
    eta = r.eta[t]
    return [
        (7 * eta / 16 - eta / 64, 27 * eta / 64),
        (0, 27 * eta / 64 - eta**2 * r.L / 2),
        (1 / 32 + 1 / (64 * r.b), 3 / 64),
    ]


def M7c(r: Any, t: int) -> list[Pair]:
    """Eq: Sum_OverT_LastTerm"""
    # The last equality is the definition of kbar, as the words have it.
    times, s2, k3 = range(1, r.T + 1), r.sigma**2, r.kbar**3
    return chain(
        cubes(r),
        sum(k3 / (r.w[j] + s2 * j) for j in times),
        sum(k3 / (s2 + s2 * j) for j in times),
        k3 / s2 * sum(1 / (1 + j) for j in times),
        k3 / s2 * math.log(r.T + 1),
        (r.b * r.K) ** 2 / r.L**3 * math.log(r.T + 1),
    )


def M7d(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum1"""
    over, log, L2 = 1 / (r.eta[r.T] * r.T), math.log(r.T + 1), r.L**2
    noise = r.c**2 * r.kbar**3
    far = r.zeta**2 / r.sigma**2 * (r.I - 1) / r.I * log
    start = 2 * r.gap * over + over * r.sigma**2 / (32 * L2) * r.b / (r.B * r.eta[0])
    return chain(
        mean_gradient(r),
        start + over * 3 * noise / (32 * L2) * log + over * noise / (16 * L2) * far,
        start + over * noise / (4 * L2) * log + over * noise / (4 * L2) * far,
    )


def last_step(r: Any) -> Any:
    """Return eq. (22)'s bound of 1/(eta_T T)."""
    return 16 * r.L * r.I / r.T + r.L / ((r.b * r.K) ** (2 / 3) * r.T ** (2 / 3))


def M7e(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_1stTerm"""
    T, w, s2 = r.T, r.w[r.T], r.sigma**2
    return chain(
        1 / (r.eta[T] * T),
        (w + s2 * T) ** (1 / 3) / (r.kbar * T),
        w ** (1 / 3) / (r.kbar * T) + r.sigma ** (2 / 3) / (r.kbar * T ** (2 / 3)),
        last_step(r),
    )


def M7f(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_2ndTerm"""
    part, slow = r.sigma**2 / (32 * r.L**2), (r.b * r.K) ** (2 / 3) * r.B * r.T ** (2 / 3)
    last = 8 * r.b * r.I**2 / (r.B * r.T) * r.sigma**2 + r.b * r.I / slow * r.sigma**2 / 2
    return chain(
        1 / (r.eta[r.T] * r.T) * part * r.b / (r.B * r.eta[0]),
        last_step(r) * part * r.b * r.w[0] ** (1 / 3) / (r.B * r.kbar),
        last_step(r) * part * 16 * r.L * r.I * r.b / r.B,
        last,
    )


def M7g(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_3rdTerm"""
    bK, L, s2 = r.b * r.K, r.L, r.sigma**2
    last = 256**2 * s2 * r.I / r.T + 64**2 * s2 / (bK ** (2 / 3) * r.T ** (2 / 3))
    return chain(
        1 / (r.eta[r.T] * r.T) * r.c**2 * r.kbar**3 / (4 * L**2),
        last_step(r) * (128 * L**2 / bK) ** 2 * bK**2 * s2 / L**3 / (4 * L**2),
        last,
    )


# Appendix C


def U1(r: Any, t: int) -> Pair:
    """Lem: Sum_Mean_Kron"""
    return sq(r.x[t] - r.xbar[t]), sq(r.x[t])


def U1_exact(r: Any, t: int) -> Pair:
    """Lem: Sum_Mean_Kron"""
    # Not printed; "what is removed" is the gap of U1.
    return sq(r.x[t]) - sq(r.x[t] - r.xbar[t]), r.K * sq(r.xbar[t])


def U2(r: Any, t: int) -> Pair:
    """Lem: AD_Sum_1overT"""
    # The inner sum over i = t..t is a_t. On the right t is free: it is read as T.
    a, T = r.seq, r.T
    left = sum(a[j] / (a[0] + sum(a[i] for i in range(j, j + 1))) for j in range(1, T + 1))
    return left, math.log(1 + sum(a[i] for i in range(1, T + 1)) / a[0])


def U2_corrected(r: Any, t: int) -> Pair:
    """Lem: AD_Sum_1overT"""
    a, T = r.seq, r.T
    left = sum(a[j] / (a[0] + sum(a[i] for i in range(1, j + 1))) for j in range(1, T + 1))
    return left, math.log(1 + sum(a[i] for i in range(1, T + 1)) / a[0])


def U3(r: Any, t: int) -> Pair:
    """Lem: Norm_Ineq"""
    return sq(sum(r.x[t])), sum(r.K * sq(v) for v in r.x[t])


# Appendix B: FedAvg


def F1(r: Any, t: int) -> Pair:
    """Lem: Grad_Variance_FedAvg"""
    # An equality where the noise attains sigma; printed as <=.
    return sq(r.dbar[t] - mean(r.g[t])), r.sigma**2 / (r.b * r.K)


def F1_C(r: Any, t: int) -> Pair:
    """Lem: Grad_Variance_FedAvg"""
    return sq(r.dbar[t] - mean(r.g[t])), r.sigma**2 / (r.b * r.K)


def drift_bound(r: Any, steps: int) -> Any:
    """Return Lemma B.2's right side, for so many steps t in place of its T."""
    eta2, more = r.step**2, r.I - 1
    return 3 * eta2 * more * r.sigma**2 * steps + 5 * eta2 * more**2 * r.zeta**2 * steps


def F2(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    left = sum(1 / r.K * sq(r.x[j] - r.xbar[j]) for j in range(1, r.T + 1))
    return left, drift_bound(r, r.T)


def F2_R(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    first = r.start(t)
    left = sum(1 / r.K * sq(r.x[j] - r.xbar[j]) for j in range(first, first + r.I))
    return left, drift_bound(r, r.I)


def F2a(r: Any, t: int) -> list[Pair]:
    """Eq: GradVar_FedAvg"""
    # For every worker, up to step (c): the words keep the b that step (d) drops.
    return [pair for k in range(r.K) for pair in round_noise(r, t, k)]


def round_noise(r: Any, t: int, k: int) -> list[Pair]:
    """Return the chain of eq. (29) for one worker."""
    past = range(r.start(t), t)
    return chain(
        sq(sum(r.gs[j][k] - r.g[j][k] for j in past)),
        sum(sq(r.gs[j][k] - r.g[j][k]) for j in past),
        sum(1 / r.b**2 * r.b * sq(r.gx[j][k] - r.g[j][k]) for j in past),
        (r.I - 1) / r.b * r.sigma**2,
    )


def F2b(r: Any, t: int) -> list[Pair]:
    """Eq: InterNodeVar_FedAvg"""
    # In (b), grad f(x_l^(j)) within the mean over j is a misprint for grad f^(j)(x_l^(j)).
    past, more = range(r.start(t), t), r.I - 1
    parts = sum(
        4 * sq(r.g[j] - r.gm[j]) + 4 * r.K * sq(r.G[j] - mean(r.g[j])) + 2 * sq(r.gm[j] - r.G[j])
        for j in past
    )
    smooth = sum(
        8 * r.L**2 * sq(r.x[j] - r.xbar[j]) + 2 * sq(r.gm[j] - mean(r.gm[j])) for j in past
    )
    drift = sum(sq(r.x[j] - r.xbar[j]) for j in past)
    return chain(
        sq(sum(r.g[j] - mean(r.g[j]) for j in past)),
        more * sum(sq(r.g[j] - mean(r.g[j])) for j in past),
        more * parts,
        more * smooth,
        8 * r.L**2 * more * drift + 2 * r.K * more**2 * r.zeta**2,
    )


def F2c(r: Any, t: int) -> list[Pair]:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    kept = 1 - 16 * r.L**2 * r.I**2 * r.step**2
    return [(4 / 5, kept), (5 / 4 * 2, 3), (5 / 4 * 4, 5)]


def F3(r: Any, t: int) -> Pair:
    """lem: Fn_Descent_FedAvg"""
    eta = r.step
    right = (
        r.f[t]
        - eta / 2 * sq(r.G[t])
        + eta * r.L**2 / (2 * r.K) * sq(r.x[t] - r.xbar[t])
        + eta**2 * r.L / (r.b * r.K) * r.sigma**2
    )
    return r.f[t + 1], right


def F4(r: Any, t: int) -> Pair:
    """Thm: Flexible_FedAvg"""
    # The theorem of Appendix B. There f(xbar_t) is a misprint for f(xbar_1), and k one for K.
    bK, L2 = r.b * r.K, r.L**2
    right = (
        2 * r.gap / (bK ** (1 / 2) * r.T ** (1 / 2))
        + 2 * r.L / (bK ** (1 / 2) * r.T ** (1 / 2)) * r.sigma**2
        + 3 * L2 * bK * (r.I - 1) / r.T * r.sigma**2
        + 5 * L2 * bK * (r.I - 1) ** 2 / r.T * r.zeta**2
    )
    return mean_gradient(r), right


def SP2(r: Any, t: int) -> Pair:
    """Sec: Special Case"""
    # "The same guarantees", on runs with local momentum: the sides of F4.
    return F4(r, t)


def SP2_S(r: Any, t: int) -> Pair:
    """Sec: Special Case"""
    # As SP2: the runs' step is another, (1 - beta) sqrt(bK/T), and not the bound.
    return F4(r, t)


# Section 2.1: the assumptions


def A1(r: Any, t: int) -> list[Pair]:
    """Ass: Lip_Smoothness"""
    # For every worker.
    apart = r.L**2 * sq(r.x1v - r.x2v)
    return [(sq(r.gsp[k] - r.gsp2[k]), apart) for k in range(r.K)]


def A1p(r: Any, t: int) -> list[Pair]:
    """Ass: Lip_Smoothness"""
    # Not printed: squared, as Jensen's inequality has it from A1. For every worker.
    apart = r.L**2 * sq(r.x1v - r.x2v)
    return [(sq(r.gp[k] - r.gp2[k]), apart) for k in range(r.K)]


def A2ii(r: Any, t: int) -> list[Pair]:
    """Ass: Unbiased_Var_Grad"""
    # For every worker.
    return [(sq(r.gsp[k] - r.gp[k]), r.sigma**2) for k in range(r.K)]


def A2iii(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # For every two workers, so the largest; squared, as it is printed.
    return max(sq(u - v) for u in r.gm[t] for v in r.gm[t]), r.zeta**2


def A2p(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # Where all distributions are one.
    return r.zeta, 0


def A2pp(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # As eq. (16), step (g), and eq. (30), step (d), use it.
    return sq(r.gm[t] - r.G[t]), r.K * r.zeta**2


# docs/repaired-theorem.md. Labels are those of the lines of the paper that are repaired.


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


# Theorem R* (docs/theorem-rstar.md). Its h is h_0 here, eta is h and a alpha in steps 4 to 6, its p
# is p_0, Lambda Lam; what the page calls X in a norm, (E X_t)^{1/2}, is spread[t].

# theta or tau; p; p_A, p_C, p_D; h; c_0; M; kappa; Lambda; A_sigma; A_zeta; C; Lambda and C's
# coefficient of sigma^2 at I = 1.
STARRED: dict[str, dict[str, Any]] = {
    "a": {
        "young": 0.8,
        "p": 0.096,
        "w": (0.148, 0.291, 0.231),
        "h": 1 / 4,
        "c0": 6,
        "M": 8,
        "kappa": 1,
        "lam": 20.86,
        "A_s": 0.181,
        "A_z": 0.0752,
        "C": (8, 2.35, 0.34),
        "one": (19.5, 1.88),
    },
    "b": {
        "young": 0.17,
        "p": 0.099,
        "w": (0.0755, 0.335, 0.2608),
        "h": 1 / 4,
        "c0": 6,
        "M": 8,
        "kappa": 1,
        "lam": 20.81,
        "A_s": 0.0989,
        "A_z": 0.0472,
        "C": (8, 1.99, 0.22),
        "one": (19.5, 1.88),
    },
    "c": {
        "young": 0.05,
        "p": 0.105,
        "w": (0.257, 0.286, 0.128),
        "h": 1 / 4,
        "c0": 6,
        "M": 32,
        "kappa": 1,
        "lam": 20.69,
        "A_s": 0.1240,
        "A_z": 0.1307,
        "C": (8, 2.11, 0.59),
        "one": (19.5, 1.88),
    },
    "d": {
        "young": 0.09,
        "p": 0.148,
        "w": (0.344, 0.446, 0.21),
        "h": 1 / 3,
        "c0": 9 / 2,
        "M": 16,
        "kappa": 0,
        "lam": 14.69,
        "A_s": 0.1521,
        "A_z": 0.1053,
        "C": (6, 1.91, 0.48),
        "one": (13.5, 1.67),
    },
    "e": {
        "young": 0.035,
        "p": 0.0743,
        "w": (0.1985, 0.443, 0.1092),
        "h": 1 / 5,
        "c0": 10,
        "M": 100,
        "kappa": 1,
        "lam": 35.36,
        "A_s": 0.0559,
        "A_z": 0.0743,
        "C": (10, 1.87, 0.60),
        "one": (32, 1.82),
    },
}


def telescoped(r: Any, t: int) -> Any:
    """Return (1/K) sum_k E||(1-a)u + an'||^2, the identity of step 1."""
    a = r.a[t + 1]
    return (1 - a) * r.U[t] + a * (r.v[t + 1] - r.v[t]) + a**2 * r.v[t]


def RS1(r: Any, t: int) -> list[Pair]:
    """lem: ErrorContraction_BatchGradients_App"""
    a, pairs = r.a[t + 1], []
    for k in range(r.K):
        n, n_ = r.gs_old[t + 1][k] - r.g[t][k], r.gs[t + 1][k] - r.g[t + 1][k]
        u = n_ - n
        right = (1 - a) * sq(u) + a * sq(n_) - a * (1 - a) * sq(n)
        pairs.append((sq((1 - a) * u + a * n_), right))
    return pairs


def RS2(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    kept = (1 - r.a[t + 1]) ** 2 * sq(r.ebar[t])
    return sq(r.ebar[t + 1]), kept + 1 / (r.b * r.K**2) * r.K * telescoped(r, t)


def RS2e(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    # E||N_{t+1}||^2, with N_{t+1} of (1).
    N = r.ebar[t + 1] - (1 - r.a[t + 1]) * r.ebar[t]
    return sq(N), 1 / (r.b * r.K**2) * r.K * telescoped(r, t)


def RS3(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    eta2 = r.eta[t] ** 2
    J = (r.X[t] if r.jump else eta2 * r.Dl[t]) + r.K * eta2 * sq(r.dbar[t])
    return r.U[t], r.L**2 * J / r.K


def RS4(r: Any, t: int) -> Pair:
    """lem: Descent_Batch_App"""
    eta, w = r.eta[t], 1 / 2 * (1 + 1 / r.p_0)
    right = (
        r.f[t]
        - eta / 2 * sq(r.G[t])
        - (eta / 2 - eta**2 * r.L / 2) * sq(r.dbar[t])
        + (1 + r.p_0) / 2 * eta * sq(r.ebar[t])
        + w * eta * r.L**2 / r.K * r.X[t]
    )
    return r.f[t + 1], right


def starred_step(r: Any, t: int, q: Any, q_J: Any, noise: Any) -> Any:
    """Return the right side of (5); ``noise`` is what stands beside c^2 eta^3 sigma^2/(Lam L^2)."""
    eta, w = r.eta[t], 1 / 2 * (1 + 1 / r.p_0)
    if r.jump:
        last = q_J / (r.Lam * r.m * r.K * eta) * r.X[t]
    else:
        last = q / (r.Lam * r.K) * eta * r.Dl[t]
    return (
        -eta / 2 * sq(r.G[t])
        - (1 / 2 - r.h_0 / (2 * r.I) - q / r.Lam) * eta * sq(r.dbar[t])
        + w * eta * r.L**2 / r.K * r.X[t]
        + noise * r.c**2 * eta**3 * r.sigma**2 / (r.Lam * r.L**2)
        + last
    )


def Psi(r: Any, t: int, eta: Any) -> Any:
    """Return the potential of (B) to (E), a constant: that of t + 1."""
    return Phi(r, t, r.Lam) - eta / (r.Lam * r.L**2) * r.v[t]


def RS5(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    left = Phi(r, t + 1, r.Lam) - Phi(r, t, r.Lam)
    return left, starred_step(r, t, 1 + r.theta, 1 + r.theta, 1 + 1 / r.theta)


def with_variance(r: Any, t: int) -> Any:
    """Return Psi_{t+1} - Psi_t of (B) to (E), in which a/eta does not change."""
    rate = r.a[t + 1] / r.eta[t]
    return Psi(r, t + 1, rate) - Psi(r, t, rate)


def RS6(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    # m = 1, so that nothing is divided by it.
    return with_variance(r, t), starred_step(r, t, 1, r.m, 1)


def RS7(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    # Step 1: at a jump with m >= 2 a^2 v is taken 1 + (m-1)/tau times.
    noise = 1 + (r.m - 1) / r.tau if r.jump else 1
    return with_variance(r, t), starred_step(r, t, 1, 1 + r.tau, noise)


def starred_G(r: Any) -> Any:
    """Return G of step 4."""
    return math.exp((1 + 1 / 4 * r.c_0 * r.h_0**2) * r.h_0)


def RS8(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    i = t - r.start(t)
    forcing = (
        r.L * r.h * math.sqrt(r.K) * sum(r.q[:i])
        + r.kappa * r.L * r.Z[round_of(r, t) - 1]
        + i * r.alpha * math.sqrt(r.K / 2) * r.zeta
        + r.alpha * math.sqrt(i * r.K / r.b) * r.sigma
    )
    return r.Y[i], starred_G(r) * forcing


def RS9(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    s, K, eta, a, I = round_of(r, t), r.K, r.h, r.alpha, r.I
    A = r.L * eta**2 * math.sqrt(K) * I ** (3 / 2) * math.sqrt(r.Q / 3)
    C = 1 / 2 * eta * a * math.sqrt(K / 2) * r.zeta * I**2
    D = 2 / 3 * eta * a * math.sqrt(K / r.b) * r.sigma * I ** (3 / 2)
    return r.Z[s], starred_G(r) * (A + r.kappa * r.h_0 * r.Z[s - 1] + C + D)


def RS10(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    s, K, eta, a, I = round_of(r, t), r.K, r.h, r.alpha, r.I
    E_s = (3 + r.kappa) * starred_G(r) ** 2 * eta * (
        1 / 2 * r.L**2 * eta**2 * K * I**2 * r.Q
        + r.kappa * r.L**2 * I * r.Z[s - 1] ** 2
        + 1 / 6 * a**2 * K * r.zeta**2 * I**3
        + 1 / (2 * r.b) * a**2 * K * r.sigma**2 * I**2
    )  # fmt: skip
    # X over i = 1..I; both sides times K/w.
    first = r.start(t)
    apart = r.L**2 * sum(r.eta[j] * r.spread[j] ** 2 for j in range(first + 1, first + I + 1))
    return [(r.D[s], E_s), (apart, r.h_0**2 / 2 * E_s)]


def starred(r: Any, part: str) -> Pair:
    """Return (2) of a part."""
    p = STARRED[part]
    h, c0, beta = p["h"], p["c0"], r.b * r.I / r.B
    if part != "a":
        beta = max(beta, c0 * h**2 / (r.b * r.K * r.I**2) * r.I)
    right = (
        2 / h * r.L * r.gap / r.S
        + 2 * beta / (p["lam"] * h**2) * r.sigma**2 / r.S
        + 2 * c0**2 * h**2 * (p["A_s"] * r.sigma**2 + p["A_z"] * r.zeta**2)
        / (r.I * r.b * r.K) ** 2
    )  # fmt: skip
    return mean_gradient(r), right


def RSa(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "a")


def RSb(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "b")


def RSc(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "c")


def RSd(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "d")


def RSe(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "e")


def starred_once(r: Any, part: str) -> Pair:
    """Return (2) of a part as section 5 has it at I = 1, S = T/I of the letters."""
    h, c0, lam = (*(STARRED[part][x] for x in ("h", "c0")), STARRED[part]["one"][0])
    beta = max(r.b / r.B, c0 * h**2 / (r.b * r.K))
    right = (
        2 / h * r.L * r.gap / r.S
        + 2 * beta / (lam * h**2) * r.sigma**2 / r.S
        + 2 * c0**2 * h**2 * (1 / lam) * r.sigma**2 / (r.b * r.K) ** 2
    )
    return mean_gradient(r), right


def RSb_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "b")


def RSd_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "d")


def RSe_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "e")


def on_curve(r: Any, part: str) -> Pair:
    """Return the corollary of a part: C/S."""
    gap, noise, far = STARRED[part]["C"]
    return mean_gradient(r), (gap * r.L * r.gap + noise * r.sigma**2 + far * r.zeta**2) / r.S


def RSa_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "a")


def RSb_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "b")


def RSc_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "c")


def sevenths(r: Any, part: str, q_J: Any, noise: Any, m: Any, exponent: Any) -> list[Pair]:
    """Return (4), (6) and (7) of a part, with the true I/m, 1/m, 1/I and 1/b in (7).

    ``exponent`` is the bound of (I - 1)/I^2; rho of (6) has that of every I.
    """
    s, I = STARRED[part], r.I
    h, c0, lam, kappa, p, (p_A, p_C, p_D) = (s[x] for x in ("h", "c0", "lam", "kappa", "p", "w"))
    q = 1 + s["young"] if part == "a" else 1

    def G(most: Any) -> Any:
        return math.exp((1 + c0 * h**2 * most) * h)

    rho = [kappa * G(most) * h for most in (1 / 4, exponent)]
    G2, n, w = G(exponent) ** 2, 3 + kappa, 1 / 2 * (1 + 1 / p)
    cost = q / lam + w * h**2 / 2
    e = kappa * n * G2 * h**2 * lam * cost
    J = G2 * h**2 / (lam * (1 - rho[1]))
    jump = q_J * I / m + e
    return [
        (lam / 2 * (1 + p), (2 - 1 / 4 * c0 * h**2) * c0),
        (p_A + p_C + p_D, 1 - rho[0]),
        (jump * J / (3 * p_A) + n * cost * G2 * h**2 / 2, 1 / 2 - h / (2 * I) - q / lam),
        (jump * J / (8 * p_C) + n * cost * G2 * h**2 / 6, s["A_z"]),
        (
            noise / lam
            + 1 / r.b * ((q_J / m + e / I) * 4 * J / (9 * p_D) + n * cost * G2 * h**2 / (2 * I)),
            s["A_s"],
        ),
    ]


def RS11(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # Step 1 with m >= 2: before q_t^2 in (5), before a^2 v, and the terms in a^2 of a round.
    tau, M = STARRED[part]["young"], STARRED[part]["M"]
    return [
        ((1 + tau) / r.m, 1),
        (1 / r.m + (r.m - 1) ** 2 / (r.m * tau), 1 + (r.m - 1) / tau),
        (r.I + (r.m - 1) / tau, r.I * (1 + 1 / (M * tau))),
    ]


def RS12(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    theta = STARRED["a"]["young"]
    return sevenths(r, "a", 1 + theta, 1 + 1 / theta, r.m, 1 / 4)


def RS13(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    return sevenths(r, part, 1, 1, 1, 1 / 4)


def RS14(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    tau, M = STARRED[part]["young"], STARRED[part]["M"]
    return sevenths(r, part, 1 + tau, 1 + 1 / (M * tau), r.m, M / (M + 1) ** 2)


def RS15(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # Section 5, I = 1, a at most c_0 h^2; A_sigma is 1/Lambda, since no drift is left.
    h, c0, C = (STARRED[part][x] for x in ("h", "c0", "C"))
    lam, noise = STARRED[part]["one"]
    return [
        (lam / 2, (2 - c0 * h**2) * c0),
        (h / 2 + 1 / lam, 1 / 2),
        (c0 * h**2 / (r.b * r.K), 1),
        (2 / h, C[0]),
        (2 / (lam * h**2) + 2 * c0**2 * h**2 / lam, noise),
    ]


def RS16(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # beta = 1, since aI <= 1; then the sums of the table's numbers.
    h, c0, lam, C, A_s, A_z = (STARRED[part][x] for x in ("h", "c0", "lam", "C", "A_s", "A_z"))
    return [
        (c0 * h**2 / (r.b * r.K * r.I**2) * r.I, 1),
        (2 / h, C[0]),
        (2 / (lam * h**2) + 2 * c0**2 * h**2 * A_s, C[1]),
        (2 * c0**2 * h**2 * A_z, C[2]),
    ]


def RS17(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    b, I, S, share = r.b, r.I, r.S, 1 + 1 / r.M
    return chain(
        b * I + 2 * b * (I - 1 + r.m) * S,
        b * I * (1 + 2 * share * S),
        (2 * math.sqrt(S) + 4 * share * S ** (3 / 2)) / r.K,
    )


# The letters that are numbers, with the range from which they are drawn, and those with t and k.
NUMBERS = {
    "L sigma zeta beta c kbar gap fstar step theta h alpha kappa cb Q V": (0.5, 2.5),
    "b B m phi mu M lam w_drift A_s A_z calls": (1.25, 5),
    "p_0 tau h_0 c_0 Lam": (0.5, 2.5),
}
VECTORS = "x d g gm gs gs_old gx gx_old"


def random_run(seed: int) -> SimpleNamespace:
    """Return letters drawn at random: no run has them, and no two are tied but by definition.

    A bar is a mean over workers, ebar = dbar - gbar, G = mean_k gm by (1), and X, Dl are what they
    abbreviate. All else is independent: a_{t+1} is not c eta_t^2, nor x_{t+1} - x_t the step.
    """
    rng = np.random.default_rng(seed)
    K, I, T, S, dim = 3, 4, 12, 3, 2

    def row(n: int, low: float = 0.1, high: float = 0.9) -> Any:
        return rng.uniform(low, high, n)

    r = SimpleNamespace(K=K, I=I, T=T, S=S, start=lambda t: (t - 1) // I * I + 1)
    for letters, (low, high) in NUMBERS.items():
        for letter in letters.split():
            setattr(r, letter, float(rng.uniform(low, high)))
    if seed % 2:  # then other members of the schedule's maxima are the largest
        r.b, r.L = r.b / 1000, r.L / 100
    r.eta, r.a, r.w, r.f = row(T + 2), row(T + 2), row(T + 2, 1, 3), row(T + 2, -2, 2)
    r.v, r.U, r.spread = row(T + 2), row(T + 2), row(T + 2)
    r.seq, r.q, r.Y, r.Z, r.D = row(T + 1), row(I), row(I), row(S + 1), row(S + 1)
    for letter in VECTORS.split():
        setattr(r, letter, rng.normal(size=(T + 2, K, dim)))
    r.gp, r.gp2, r.gsp, r.gsp2 = rng.normal(size=(4, K, dim))
    r.x1v, r.x2v = rng.normal(size=(2, dim))
    r.xbar, r.dbar, r.gbar, r.gsbar, r.G = (v.mean(axis=1) for v in (r.x, r.d, r.g, r.gs, r.gm))
    r.ebar = r.dbar - r.gbar
    r.X, r.Dl = (np.sum((v - v.mean(1, keepdims=True)) ** 2, axis=(1, 2)) for v in (r.x, r.d))
    r.jump = bool(rng.integers(2))
    return r

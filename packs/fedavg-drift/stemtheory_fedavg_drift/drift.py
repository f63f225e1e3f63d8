"""Local SGD with workers that differ: how far they drift apart in a round, and what that costs.

What is generally stated of FedAvg; every constant is derived here. Worker k makes x_{t+1} = x_t -
eta g(x_t), and all take the mean after I steps; i = t - start counts the steps since. Every f^(k)
is L-smooth, the variance of a minibatch's gradient is at most sigma^2/b, and the gradients of two
workers at one point differ by at most zeta. So sum_k ||grad f^(k) - grad f||^2, which is 1/(2 K)
sum_{k,j} ||grad f^(k) - grad f^(j)||^2, is at most h^2 = (K - 1) zeta^2/2. Let s^2 = (K - 1)
sigma^2/b and X_t = sum_k ||x_t^(k) - xbar_t||^2.

FD1   All points agree at the start of a round; the steps are added up, their mean taken off.
FD2   x_{t+1} - xbar_{t+1} is x_t - xbar_t less eta times what is left, the mean taken off, of the
      gradients at own points less those at xbar_t (in the root of the sum of squares at most
      L X_t^{1/2}), of the latter (at most h), and of the noise (of mean 0 given the past). With
      v = 1 + eta L therefore E X_{i+1} <= (v (E X_i)^{1/2} + eta h)^2 + eta^2 s^2, and by induction
      (E X_i)^{1/2} <= A_i + N_i, A_i = h (v^i - 1)/L, N_i^2 = eta^2 s^2 (1 + v^2 + ... +
      v^{2(i-1)}), at most i v^{2i}: adding eta^2 s^2 to (A_{i+1} + v N_i)^2 is no more than adding
      it to (v N_i)^2.
FD3   For eta L I <= 1: A_i <= (e - 1) h eta i and N_i^2 <= eta^2 s^2 i (e^2 - 1)/2, in (A + N)^2 <=
      2 A^2 + 2 N^2; (e - 1)^2 < 3 and e^2 - 1 < 7.
FD4   Equal quadratics of curvature L with tilts: the differences obey z -> (1 - eta L) z - eta
      (tilt + noise), exactly. So i^2 zeta^2 and i sigma^2 are the right powers.
FD5   f(xbar') <= f - eta <grad f, dbar> + (L/2) eta^2 ||dbar||^2 in the mean; 2 <u, v> = ||u||^2 +
      ||v||^2 - ||u - v||^2, and the mean gradient is within L (X_t/K)^{1/2} of grad f(xbar).
FD6   FD5 added up, FD3 averaged over a round: (I-1) (2I-1)/6 for i^2, (I-1)/2 for i; the step is
      (bK/T)^{1/2}/L.
FD7   instance.py, from x* on: moments at the starts of rounds.
FD8   (1-u)^I >= (1 - (I+1) u/2)/(1 + (I-1) u/2), by induction: the step leaves I (I+1) u^3/4 >= 0.
      So u I/(1 - q) - 1 >= (I-1) u/2, and f'(x_fix)^2 >= zeta^2 (I-1)^2 (eta L)^2/64, attained as u
      tends to 0. FD6 lets the drift cost (I-1) (2I-1) (eta L)^2 zeta^2/4 at K = 2: the powers of I,
      zeta, eta and L are the right ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from stemtheory.bounds import Premise
from stemtheory.claims import (
    SCALED,
    Case,
    Claim,
    Comparison,
    averaged,
    dials,
    square,
    stated,
    whole_run,
    wrong,
)
from stemtheory.claims.evidence.fedavg_path import record_fedavg
from stemtheory.claims.language import Index, Line, equal
from stemtheory.claims.language import letters as of
from stemtheory.claims.language.letters import E, I, K, L, T, b, k, l, sigma, start, step, t, zeta
from stemtheory.claims.stating import AVERAGE
from stemtheory_fedavg_drift.instance import fixed_point, grad_sq

x, xbar, d, dbar, f, norm2 = of.x, of.xbar, of.d, of.dbar, of.f, of.norm2
INSTANCE = "stemtheory_fedavg_drift.instance:ENTRY"
RUNS = {"quick": (2, 1200), "default": (3, 2000), "full": (6, 10_000)}  # rounds, replicates


def of_fedavg(problem: str, b: float, I: int, rounds: int, u: float, **own: Any) -> Case:
    """Return a run with the constant step u/L, L = 1; K, dim, start and replicates may be told."""
    more = {name: own.pop(name) for name in ("K", "dim", "x1", "replicates") if name in own}
    made = {"K": 4, "dim": 2, **more}
    case = Case(problem, b=b, I=I, rounds=rounds, dials=dials(**own), algorithm="fedavg", **made)
    return replace(case, schedule="constant", options=(("eta", u),))


def tilted(level: str) -> tuple[Case, ...]:
    """Return equal quadratics of curvature 1 with tilts, far apart or noisy."""
    rounds, R = RUNS[level]
    own: dict[str, Any] = {"L": 1.0, "heterogeneity": "tilt", "noise": "additive", "replicates": R}
    kinds = ((8, 0.1, 4.0), (4, 0.25, 1.0), (16, 1 / 16, 0.0))
    return tuple(
        of_fedavg("quadratic", 2, I, rounds, u, zeta=z, sigma=1.0, **own) for I, u, z in kinds
    )


def drifting(level: str) -> tuple[Case, ...]:
    """Return runs of several losses with steps up to 1/(L I), and the tilted ones."""
    rounds, R = RUNS[level]
    plain = (
        of_fedavg(name, 1, I, rounds, 1 / I, L=1.0, sigma=s, zeta=2.0, replicates=R if s else 1)
        for name in ("cosine", "geman_mcclure", "quadratic")
        for I, s in ((2, 0.5), (8, 0.0), (8, 0.5))
    )
    return (*plain, *tilted(level))


def whole(level: str) -> tuple[Case, ...]:
    """Return runs with the step of FD6, long enough for eta <= 1/(L I)."""
    T = {"quick": 2048, "default": 8192, "full": 65_536}[level]
    own: dict[str, Any] = {"L": 1.0, "replicates": 32}
    return tuple(
        of_fedavg(name, 1, I, T // I, sqrt(4 / T), sigma=s, zeta=z, **own)
        for name in ("cosine", "quadratic", "welsch")
        for I, s, z in ((4, 0.2, 0.2), (16, 0.05, 0.1))
    )


def short_steps(case: Case) -> tuple[Premise, ...]:
    """The premise eta <= 1/(L I)."""
    return (Premise("eta <= 1/(L I)", dict(case.options)["eta"] * case.I <= 1 + 1e-12),)


def starts(case: Case, more: int = 0) -> Comparison:
    """FD7: E f'(x)^2 at the starts of rounds; a mutant's rounds are ``more`` steps longer."""
    path, after = record_fedavg(case), np.array([2, 8, 32])
    found = square(path.G[after * case.I + 1])
    u, noise = path.eta, dict(case.dials)["sigma"] ** 2 / case.b
    wanted = grad_sq(u, case.I + more, case.rounds, noise)[after]
    spread = found.std(axis=1, ddof=1) / sqrt(case.replicates)
    R = case.replicates
    return Comparison(found.mean(axis=1), wanted, t=after, spread=spread, dof=R - 1, two_sided=True)


def off_minimum(u: Any, share: float = 1 / 64) -> Comparison:
    """FD8: both sides for I = 2 to 1000 at a u, zeta = 1."""
    every = np.arange(2.0, 1001.0)
    return Comparison(share * ((every - 1) * u) ** 2, (fixed_point(u, every) / 2) ** 2, t=every)


def instances(level: str) -> tuple[Case, ...]:
    """Return runs of the instance from its minimum."""
    R, own = RUNS[level][1], {"K": 2, "dim": 1, "x1": 0.0, "sigma": 0.25}
    made = ((4, 0.2), (16, 1 / 16))
    return tuple(of_fedavg(INSTANCE, 1, I, 33, u, replicates=R, **own) for I, u in made)


i = of.maximum(t - start, 0)  # steps since a mean, which the algebra knows to be no less than 0
far = (K - 1) * zeta**2 / (2 * L**2)
loud = (K - 1) * step**2 * sigma**2 / b
faster, slower = 1 + step * L, 1 - step * L
apart, gradients = of.apart(t), of.grad_k(x[t, k])
tilts = of.sum_k(norm2(of.grad_k(xbar[t]) - of.grad(xbar[t])))


def added_up(first: Index) -> Line:
    """FD1 with the steps since ``first``."""
    return equal(x[t, k] - xbar[t], -step * of.sum_t(l, first, t - 1, d[l, k] - dbar[l]))


in_means = partial(averaged, label="drift", cases=drifting)
CLAIMS = (
    stated(
        added_up(start),
        id="FD1",
        label="drift",
        kind="pathwise",
        statement="A point differs from the mean by the steps in which its gradients differed.",
        cases=drifting,
        mutants=(wrong("without the first step", line=added_up(start + 1)),),
    ),
    in_means(
        E(apart) <= of.young(far * (faster**i - 1) ** 2, loud * i * faster ** (2 * i)),
        id="FD2",
        statement="The drift lemma for any step: heterogeneity and noise, each grown by 1 + eta L.",
    ),
    in_means(
        E(apart) <= (K - 1) * step**2 * (3 * i**2 * zeta**2 + 7 * i * sigma**2 / b),
        id="FD3",
        statement="The drift lemma for eta <= 1/(L I): i^2 zeta^2 and i sigma^2.",
        premises=short_steps,
    ),
    in_means(
        equal(
            E(apart),
            tilts * (1 - slower**i) ** 2 / L**2 + loud * (1 - slower ** (2 * i)) / (1 - slower**2),
        ),
        id="FD4",
        statement="The drift of equal quadratics with tilts, exactly.",
        cases=tilted,
        mutants=(SCALED,),
    ),
    stated(
        E(f(xbar[t + 1]))
        <= f(xbar[t])
        - step / 2 * norm2(of.grad(xbar[t]))
        - (step / 2 - step**2 * L / 2) * norm2(of.mean_k(gradients))
        + step * L**2 / (2 * K) * apart
        + step**2 * L * sigma**2 / (2 * b * K),
        id="FD5",
        label="descent",
        kind="conditional",
        statement="The loss at the mean point descends, up to drift and noise.",
        cases=drifting,
    ),
    whole_run(
        AVERAGE
        <= (2 * L * of.gap + sigma**2) / of.sqrt(b * K * T)
        + (K - 1) * (I - 1) / (2 * T) * (b * (2 * I - 1) * zeta**2 + 7 * sigma**2),
        id="FD6",
        label="theorem",
        statement="The theorem with the step (bK/T)^{1/2}/L, if that is at most 1/(L I).",
        cases=whole,
        premises=short_steps,
    ),
    Claim(
        id="FD7",
        label="instance",
        kind="expectation",
        statement="The instance's second moments at the starts of rounds, exactly.",
        formula=r"E f'(x)^2 = \frac{L^2}{4} \left((1 - p^n)^2 x_{fix}^2"
        r" + \frac{1 - p^{2n}}{1 - p^2} v\right),\quad p = (1 + q)/2",
        by_hand="The closed form is that of instance.py.",
        compare=starts,
        cases=instances,
        mutants=(wrong("a step more in a round", more=1),),
    ),
    Claim(
        id="FD8",
        label="instance",
        kind="arithmetic",
        statement="Where the instance rests, the gradient is of the order that FD6 lets in.",
        formula=r"\zeta^2 (I-1)^2 (\eta L)^2/64 \le f'(x_{fix})^2",
        by_hand="The fixed point is that of instance.py.",
        compare=off_minimum,
        cases=lambda level: tuple(np.geomspace(1e-4, 0.99, 25)),
        mutants=(SCALED, wrong("1/63", share=1 / 63)),
    ),
)

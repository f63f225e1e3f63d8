"""What claims are put to: problems x (K, b, I) x (sigma, zeta) x reading, with the edges.

Every level holds the edges (I = 1, b = 1, K = 1 and 2, sigma = 0, zeta = 0, dim > 1 with rotate)
and the adversarial cases: opposite curvature per worker, flat directions, low noise, small means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.claims.base import Case, dials, quadratic
from stemtheory.runtime import Floats

PROBLEMS = ("cosine", "geman_mcclure", "quadratic", "welsch", "cauchy", "corridor")
SIZES = ((1, 1, 3), (2, 1, 1), (2, 1, 2), (4, 2, 4), (4, 2.5, 8), (8, 64, 16))  # K, b, I


@dataclass(frozen=True, eq=False)
class SizeGrid:
    """Sizes for arithmetic claims: columns of one length, at t between 1 and T."""

    t: Floats
    T: Floats
    K: Floats
    b: Floats
    I: Floats
    L: Floats
    sigma: Floats
    nu: Floats


def grid(level: str) -> SizeGrid:
    """Return a wide grid with its edges: b = K = I = 1, huge t, T, I and K."""
    n = {"quick": 3, "default": 5, "full": 9}[level]
    I = np.unique(np.round(np.geomspace(1, 1e6, n)))
    K = np.unique(np.round(np.geomspace(1, 1e4, n)))
    b = np.unique(np.concatenate([[1, 1.5], np.geomspace(1, 1e5, n)]))
    t = np.unique(np.round(np.geomspace(1, 1e15, 3 * n)))
    L, sigma, nu = np.array([0.1, 1.0, 7.0]), np.array([1e-3, 1.0]), np.linspace(0, 1, n)
    axes = np.meshgrid(t, K, b, I, L, sigma, nu, indexing="ij")
    flat = [axis.ravel() for axis in axes]
    t_, K_, b_, I_, L_, sigma_, nu_ = flat
    return SizeGrid(t=t_, T=np.ceil(t_ / I_) * I_, K=K_, b=b_, I=I_, L=L_, sigma=sigma_, nu=nu_)


def path_cases(level: str) -> tuple[Case, ...]:
    """Return small runs, a few rounds each, for pathwise and conditional claims (literal)."""
    rounds = {"quick": 3, "default": 4, "full": 6}[level]
    names = PROBLEMS[:2] if level == "quick" else PROBLEMS
    plain = [
        Case(name, K, 2, b, I, rounds, dials(sigma=sigma, zeta=zeta if K > 1 else 0.0))
        for name in names
        for K, b, I in SIZES
        for sigma, zeta in ((0.5, 1.0), (0.0, 2.0), (0.5, 0.0))
    ]
    return tuple(dict.fromkeys([*plain, *edge_cases(rounds), *adversarial_cases(rounds)]))


def run_by(case: Case, algorithm: str) -> Case:
    """Return a case run by an algorithm, with the sizes that it fixes and no batch it doesn't draw.

    One worker alone has no heterogeneity, and so a smaller L than was declared.
    """
    entry = load_algorithm(algorithm)
    K, I = (int(entry.pin(name) or getattr(case, name)) for name in ("K", "I"))
    B = case.B if entry.make().costs.initial_batch else None
    own = dict(case.dials) | ({"zeta": 0.0, "slack": True} if K == 1 < case.K else {})
    own = {
        name: v for name, v in own.items() if K > 1 or name not in ("heterogeneity", "het_phase")
    }
    return replace(case, algorithm=algorithm, K=K, I=I, B=B, dials=dials(**own))


def edge_cases(rounds: int) -> tuple[Case, ...]:
    """Return rotated problems in several dimensions, other noises, the decaying phase, odd K."""
    base = Case("cosine", 3, 3, 1, 4, rounds, dials(rotate=True, spectrum=4.0))
    return (
        base,
        replace(base, dials=dials(noise="modulated", rotate=True)),
        replace(base, dials=dials(noise="additive", heterogeneity="tilt")),
        replace(base, K=2, I=2, clock=1e6),
        replace(base, K=2, I=8, B=1.0),
    )


def adversarial_cases(rounds: int) -> tuple[Case, ...]:
    """Return the shapes that break lemmas: opposite curvatures, flat means, low noise."""
    opposite = quadratic(2, 1, 8, rounds, x1=0.1, h=0.5, zeta=1.0, sigma=0.0, L=1.0)
    flat = quadratic(8, 64, 16, rounds, h=0.01, zeta=2.0, sigma=0.0, L=1.0)
    quiet: dict[str, Any] = {"sigma": 1e-4, "noise": "additive", "heterogeneity": "tilt"}
    low = quadratic(2, 1, 16, rounds, x1=1e-4, h=0.5, zeta=2.0, **quiet)
    return (opposite, flat, low)

"""Second moments on the rounds of recorded runs, and inequalities between their square roots.

The repaired proof bounds drift and jump per round in the norm ||.|| = (E||.||^2)^{1/2}. Over R
replicates every moment is a mean, every inequality a smooth function of means; the jackknife
gives the standard error of right - left. A run without noise is its own expectation.

Paper: Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stemtheory.bounds import Setting
from stemtheory.claims.base import Case, Compare, Comparison
from stemtheory.claims.evidence.path import Path, record
from stemtheory.runtime import Floats


@dataclass(frozen=True)
class Rounds:
    """Moments by round s = 1..S; ``n`` is 1 (all replicates) or R (each left out in turn).

    ``eta`` (S, I) is eta_{t0 + i}, t0 = tbar_{s-1}; ``q`` (n, S, I) the root of E||dbar||^2 there;
    ``Y`` (n, S, I - 1) that of E Dl_{t0 + i}, i = 1..I-1; ``Z`` (n, S + 1) that of E X at the jump
    that ends round s, with Z_0 = 0. ``c`` is that of a_{t+1} = c eta_t^2, and ``carry`` is 1 where
    the jump reaches into the next round (literal), else 0.
    """

    setting: Setting
    eta: Floats
    q: Floats
    Y: Floats
    Z: Floats
    c: float
    carry: float

    @property
    def h(self) -> Floats:
        """eta at the start of each round, the largest in it, shape (S,)."""
        return self.eta[:, 0]

    @property
    def alpha(self) -> Floats:
        """c h^2, the largest momentum of each round, shape (S,)."""
        return self.c * self.h**2


Sides = Callable[..., tuple[Floats, Floats]]


def rounds_of(path: Path, mean: Callable[[Floats], Floats]) -> Rounds:
    """Return the moments of a run; ``mean`` takes [T + 2, R] to means of shape [n, T + 2]."""
    I, S = path.case.I, path.case.rounds
    start = 1 + I * np.arange(S)
    inside = start[:, None] + np.arange(I)
    # the jump lies I after t0, or I - 1 where x is averaged first
    offset = I - (path.case.reading == "average-first")
    jumps = np.sqrt(mean(path.X)[:, start + offset])
    return Rounds(
        setting=path.setting,
        eta=path.eta[inside],
        q=np.sqrt(mean(path.q2)[:, inside]),
        Y=np.sqrt(mean(path.Dl)[:, inside[:, 1:]]),
        Z=np.concatenate([np.zeros((len(jumps), 1)), jumps], axis=1),
        c=float(path.a[2] / path.eta[1] ** 2),
        carry=float(path.case.reading == "literal"),
    )


def over_all(values: Floats) -> Floats:
    """Return the mean over replicates, [T + 2, R] to [1, T + 2]."""
    return np.asarray(values.mean(axis=1)[None])


def leaving_one_out(values: Floats) -> Floats:
    """Return the means without each replicate in turn, [T + 2, R] to [R, T + 2]."""
    R = values.shape[1]
    rest = values.sum(axis=1, keepdims=True) - values
    return np.asarray(np.maximum(rest, 0).T / (R - 1))


def on_rounds(sides: Sides) -> Compare:
    """Return the comparison, per round, of both sides of an inequality between moments.

    Mutants hand ``sides`` other arguments, or multiply sigma and zeta on the right.
    """

    def compare(case: Case, sigma: float = 1.0, zeta: float = 1.0, **other: Any) -> Comparison:
        path, R = record(case), case.replicates
        s = path.setting
        setting = replace(s, sigma=sigma * s.sigma, zeta=zeta * s.zeta)

        def changed(r: Rounds) -> tuple[Floats, Floats]:
            return sides(replace(r, setting=setting), **other)

        left, right = changed(rounds_of(path, over_all))
        spread = jackknife(changed, path) if R > 1 else np.zeros_like(left)
        return Comparison(left, right, t=np.zeros_like(left), spread=spread, dof=R - 1)

    return compare


def jackknife(sides: Sides, path: Path) -> Floats:
    """Return the standard error of left - right, shape [1, ...] as the sides."""
    R = path.case.replicates
    left, right = sides(rounds_of(path, leaving_one_out))
    gap = left - right
    deviation = gap - gap.mean(axis=0)
    return np.asarray(math.sqrt((R - 1) / R) * np.sqrt((deviation**2).sum(axis=0)))[None]

"""Second moments on the rounds of a recorded run as a scene: what the repaired proof speaks of.

The proof bounds drift and jump per round in the norm ||.|| = (E||.||^2)^{1/2}. Over R replicates
every moment is a mean, every inequality a smooth function of means; the jackknife gives the
standard error of right - left. A run without noise is its own expectation.

Paper: Lemma (lem: GradientError_PotentialFn_App); docs/repaired-theorem.md, steps 4 to 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from stemtheory.claims.evidence.path import Path
from stemtheory.claims.language import Scene, Symbol, Times, column
from stemtheory.runtime import Floats

Mean = Callable[[Floats], Floats]
Each = Literal["step", "round"]


class RoundScene(Scene):
    """Letters of the rounds of a run; on the axis of replicates stand the means that are taken.

    ``mean`` takes [T + 2, R] to [T + 2, n]: n is 1 (all replicates) or R (each left out in turn).
    """

    def __init__(self, path: Path, mean: Mean) -> None:
        s, I = path.setting, path.case.I
        start = 1 + I * np.arange(path.case.rounds)
        super().__init__()
        self.path, self.start = path, start
        literal = path.case.reading == "literal"
        self.sizes = {
            **{name: getattr(s, name) for name in ("K", "I", "b", "L", "sigma", "zeta")},
            "m": s.sync_batch,
            "c": float(path.a[2] / path.eta[1] ** 2),
            "kappa": float(literal),
        }
        inside = start[:, None] + np.arange(I)
        eta, q2, drift = path.eta[:, None], mean(path.q2), mean(path.Dl)
        # the jump that ends a round lies I after its start, or I - 1 where x is averaged first
        jump = start + I - (not literal)
        self.arrays = {
            "eta": eta,
            "q": np.sqrt(q2),
            "Y": np.sqrt(drift),
            "spread": np.sqrt(mean(path.X)),
            "Z": _from_zero(np.sqrt(mean(path.X)[jump])),
            "D": _from_zero((eta * drift)[inside[:, 1:]].sum(axis=1)),
            "Q": _from_zero(q2[inside].sum(axis=1)),
        }

    def times(self, each: Each) -> Times:
        """Return as instances every t after the first of its round, or every round."""
        if each == "round":
            t = self.start
        else:
            t = np.setdiff1d(self.path.t, self.start)
        start = self.path.base(t)
        I = self.path.case.I
        return Times({"t": t, "start": start, "end": start + I, "s": (start - 1) // I + 1})

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return a size, a letter of the round, or a moment at a time or a round."""
        if symbol.at:
            return self.arrays[symbol.name][times[symbol.at[0]]][..., None, None]
        if symbol.name in self.sizes:
            return self.sizes[symbol.name]
        h = self.path.eta[times.at["start"]]
        values = {"h": h, "alpha": self.sizes["c"] * h**2, "i": times.at["t"] - times.at["start"]}
        return column(values[symbol.name])


def over_all(values: Floats) -> Floats:
    """Return the mean over replicates, [T + 2, R] to [T + 2, 1]."""
    return np.asarray(values.mean(axis=1, keepdims=True))


def leaving_one_out(values: Floats) -> Floats:
    """Return the means without each replicate in turn, [T + 2, R] to [T + 2, R]."""
    rest = values.sum(axis=1, keepdims=True) - values
    return np.asarray(np.maximum(rest, 0) / (values.shape[1] - 1))


def jackknife(values: Floats) -> Floats:
    """Return the standard error of a function of means, [n, 1], from its values [n, R].

    Those are computed ``leaving_one_out`` of the R replicates.
    """
    R = values.shape[1]
    apart = values - values.mean(axis=1, keepdims=True)
    return np.asarray(math.sqrt((R - 1) / R) * np.sqrt((apart**2).sum(axis=1, keepdims=True)))


def _from_zero(by_round: Floats) -> Floats:
    """Return values [S, n] as rows 0..S + 1: nothing before the first round, NaN after the last."""
    none = np.zeros_like(by_round[:1])
    return np.concatenate([none, by_round, none + np.nan])

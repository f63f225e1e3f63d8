"""Constants as a scene: every letter is an interval, so that what holds is proved.

K covers every bK >= 1, in pieces because 1/(bK) may stand at several places of a line; b is 1,
where all that is over b alone is largest. See docs/repaired-theorem.md.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from stemtheory.claims.intervals import Interval, enclose
from stemtheory.claims.language import Scene, Symbol, Times, column

PIECES = Interval(np.array([1.0, 4 / 3, 2.0, 4.0]), np.array([4 / 3, 2.0, 4.0, np.inf]))


@dataclass(frozen=True)
class Lengths:
    """Local steps I and sync batches m, integer arrays [n], and what a proof chooses for them.

    Choices that depend on I are intervals [n, 1, 1, 1].
    """

    I: Any
    m: Any
    choices: Mapping[str, Fraction | Interval] = field(default_factory=dict)


class ExactScene(Scene):
    """Letters as intervals [n, pieces, 1, 1]; the sizes on the first axis, bK on the second."""

    def __init__(self, at: Lengths) -> None:
        super().__init__()
        self.times = Times({})
        I = enclose(column(at.I))
        self.letters = {
            "I": I,
            "m": enclose(column(at.m)),
            "b": enclose(1),
            "K": Interval(*(ends[:, None, None] for ends in (PIECES.lo, PIECES.hi))),
            "c_b": 64 + Interval(0.0, 1.0) / (24 * I),
            **{name: enclose(value) for name, value in at.choices.items()},
        }

    def number(self, value: Fraction) -> Interval:
        """Return the tightest interval of floats."""
        return enclose(value)

    def letter(self, symbol: Symbol, times: Times) -> Interval:
        """Return a size or a choice."""
        return self.letters[symbol.name]

"""A sequence a_0, a_1, ..., a_T as a scene, for lines about sums of its terms.

Paper: Lemma (Lem: AD_Sum_1overT).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.claims.language import EPS, At, Over, Scene, Sum, Symbol, Times, column
from stemtheory.runtime import Floats


class SequenceScene(Scene):
    """The letter ``seq``; a free t is T, and terms beyond T are not numbers."""

    def __init__(self, terms: Floats) -> None:
        super().__init__()
        self.terms = terms
        T = np.array([len(terms) - 1])
        self.times = Times({"t": T, "T": T})

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the terms at an index."""
        at = times[symbol.at[0]]
        inside = (0 <= at) & (at < len(self.terms))
        return column(np.where(inside, self.terms[np.where(inside, at, 0)], np.nan))

    def total(self, node: Sum | Over, times: Times) -> Any:
        """Return a sum over times from its partial sums: there are T^2/2 terms in a double one."""
        if isinstance(node, Sum) or node.first is None or node.last is None:
            return None
        first, last = times[node.first], times[node.last]
        body = self.evaluation.value(node.body, times.within(node.index, first, last))
        partial = np.concatenate([np.zeros_like(body[:1]), np.cumsum(body, axis=0)])
        return partial[last - np.min(first) + 1] - partial[first - np.min(first)]

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Terms are given as they are."""
        return EPS * np.abs(value)

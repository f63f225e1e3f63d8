"""Any points as a scene, for lines that hold at all of them: those of a run, near and far.

Paper: Section (sec: Problem).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.evidence.futures import SAMPLED, compared
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.scenes import RunScene
from stemtheory.claims.language import At, Index, Relation, Symbol, Times

FAR = 50.0  # the points of a run are few and close: look this many times farther out, too


def points_of(path: Path) -> PointScene:
    """Return the scene of a run's points, kept with it."""
    kept: PointScene = vars(path).setdefault("points", PointScene(path))
    return kept


class PointScene(RunScene):
    """The points x_t^(k) of a run and the same, blown up: p, its neighbour q, and a common one."""

    @cached_property
    def sizes(self) -> dict[str, Any]:
        """The letters without indices, among them the points [2 T, R, K, 1, dim]."""
        near = self.path.p[self.path.t]
        p = np.concatenate([near, FAR * near])
        q = np.roll(p, 1, axis=0)  # each beside its successor, and near beside far
        problem = self.path.problem
        return {
            **super().sizes,
            "p": p[..., None, :],
            "p2": q[..., None, :],
            "pbar": mean_over_workers(p)[:, :, None, None],
            "sample_noise": problem.noise_variance(p)[..., None],
            "sample_noise2": problem.noise_variance(q)[..., None],
            "sample_change": problem.noise_change(p, q)[..., None],
        }

    def times(self, given: Index) -> Times:
        """Return the instances: each t twice, for its point and for the far one."""
        if given not in self._instances:
            self._instances[given] = Times({"t": np.tile(self.path.t, 2)})
        return self._instances[given]

    def compared(self, step: Relation, given: Index) -> Relation:
        """Return a comparison in excess form, with the closed forms of one sample's noise."""
        return compared(step, given, SAMPLED)

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """The points are what they are."""
        return 0.0 if isinstance(node, Symbol) and node.vector else super().rounding(node, value)

"""A recorded run as a scene: every letter of a line at every t, and what is known of the future.

Axes as in ``language.evaluation``: [instance, replicate, worker k, worker j], and coordinates.

Paper: Algorithm (Algo_DR-STORM_batch_App), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from stemtheory.claims.evidence.fedavg_path import FedAvgPath
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.sums import growth
from stemtheory.claims.language import (
    EPS,
    At,
    Evaluation,
    Expr,
    Index,
    Inner,
    Over,
    Step,
    Sum,
    Symbol,
    Times,
    excess,
    letters,
)
from stemtheory.runtime import Floats


def scene_of(path: Path | FedAvgPath) -> RunScene:
    """Return the scene of a recorded run, kept with it, so that all lines share their norms."""
    kept: RunScene = vars(path).setdefault("scene", RunScene(path))
    return kept


NOISY = 8  # standard deviations: larger noise in a gradient is not expected, for rounding alone


class RunScene:
    """Letters of a recorded run of STEM or FedAvg."""

    def __init__(self, path: Path | FedAvgPath) -> None:
        self.path = path
        self.evaluation = Evaluation(self)
        self._instances: dict[Index, Times] = {}

    @cached_property
    def sizes(self) -> dict[str, Any]:
        """The letters without indices."""
        s, path = self.path.setting, self.path
        return {
            **{
                name: getattr(s, name) for name in ("K", "I", "b", "L", "sigma", "zeta", "gap", "T")
            },
            "B": s.initial_batch,
            "m": s.sync_batch,
            "c": self._momentum_constant(),
            "step": path.eta if isinstance(path, FedAvgPath) else np.nan,
        }

    def _momentum_constant(self) -> float:
        path = self.path
        return float(path.a[2] / path.eta[1] ** 2) if isinstance(path, Path) else np.nan

    def number(self, value: Fraction) -> float:
        """Return the nearest float."""
        return float(value)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the values of a letter at its indices."""
        if not symbol.at:
            return self.sizes[symbol.name]
        kept = self._array(symbol.name)[times[symbol.at[0]]]
        workers = [index.name for index in symbol.at[1:]]
        dims = (kept.shape[-1],) if symbol.vector else ()
        body = kept.shape[1 : kept.ndim - len(dims)]  # (), (R,) or (R, K)
        R, K = (*body, 1, 1)[:2]
        axes = (R, 1, K) if workers == ["j"] else (R, K, 1)
        return kept.reshape(len(kept), *axes, *dims)

    def _array(self, name: str) -> Floats:
        path = self.path
        match name:
            case "x":
                return path.p
            case "growth":
                return self._growth
            case "next_drift":
                return path.expected_drift  # type: ignore[union-attr]
            case "bracket_noise":
                return path.noise_change  # type: ignore[union-attr]
        return np.asarray(getattr(path, name))

    @cached_property
    def _growth(self) -> Floats:
        assert isinstance(self.path, Path)
        return np.pad(growth(self.path), ((1, 1), (0, 0)), constant_values=np.nan)

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return a loss or a gradient at points [n, R, k, j, dim]."""
        problem = self.path.problem
        if node.function == "f":
            return problem.value(point)
        if node.function == "grad":
            return problem.full_gradient(point)
        # the oracle wants its workers on the axis before the last
        other = 3 if node.worker == "k" else 2
        workers = point.squeeze(axis=other)
        shape = (*workers.shape[:2], self.path.case.K, workers.shape[-1])
        return np.expand_dims(problem.gradient(np.broadcast_to(workers, shape)), axis=other)

    def there(self, place: str, times: Times) -> Any:
        """Return at which instances a place is."""
        return self.where(place, times.at["t"]) == "sync"

    def where(self, place: str, t: Any) -> Any:
        """Return 'sync' or 'off-sync' for each time; see ``Path.where``."""
        path = self.path
        literal = path.case.reading == "literal"
        match place:
            case "all":
                return np.full(len(t), "all")
            case "jump":
                none = path.case.reading == "overwrite"
                return path.where(t, "start" if literal or none else "end")
            case "round":  # a sum over the round so far: literal ones begin with the jump
                later = (path.base(t) > 1) & (path.case.I > 1)
                return np.where(later, "sync", "off-sync") if literal else path.where(t, "end")
        return path.where(t, place)

    def times(self, given: Index) -> Times:
        """Return the instances: F_u is given for u = 1..T, and ``given`` says how t follows."""
        if given not in self._instances:
            self._instances[given] = self.instances(self.path.t, given)
        return self._instances[given]

    def instances(self, u: Any, given: Index = letters.t) -> Times:
        """Return chosen instances: round [start, end - 1] holds u."""
        start, T = self.path.base(u), np.array([self.path.T])
        end = start + self.path.case.I
        return Times({"t": u - given.shift, "start": start, "end": end, "T": T})

    def total(self, node: Sum | Over, times: Times) -> None:
        """No sum over a recorded run has a closed form."""

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Points are sums of up to I steps and means of K; gradients cost their terms' ulps."""
        path = self.path
        if isinstance(node, At):
            size = np.abs(value) + path.setting.L * (1 + self._largest)
            return 8 * EPS * (size + NOISY * path.setting.sigma)
        if not node.at:
            return 0.0
        if node.vector:
            grown = path.case.I + path.case.K if node.name in ("x", "xbar") else 8
            return grown * EPS * np.abs(value)
        return 16 * EPS * np.abs(value)

    @cached_property
    def _largest(self) -> float:
        return float(np.nanmax(np.abs(self.path.p)))

    def slope(self, node: At, value: Any) -> Any:
        """L for gradients; for the loss, L times how far a point is from a minimum, at most."""
        L = self.path.setting.L
        return L * (1 + self._largest) if node.function == "f" else L


@cache
def compared(step: Step, given: Index) -> Step:
    """Return a comparison in excess form, with the closed forms of what comes after F_u."""
    return excess(step, (partial(_next_error, given=given), partial(_next_drift, given=given)))


def future(index: Index, given: Index) -> bool:
    """Whether a direction at this time is not known where F_u is given."""
    return index.name not in ("", "start") and index.shift > (
        given.shift if index.name == "t" else 0
    )


def _next_error(body: Expr, given: Index) -> Expr | None:
    """E||ebar_{u+1}||^2 = (1 - a_{u+1})^2 ||ebar_u||^2 + growth_u."""
    match body:
        case Inner(Symbol("ebar", (at,)) as one, other) if one == other and future(at, given):
            before = at - 1
            assert isinstance(before, Index)
            shrunk = (1 - letters.a[at]) ** 2 * letters.norm2(letters.ebar[before])
            return shrunk + letters.growth[before]
    return None


def _next_drift(body: Expr, given: Index) -> Expr | None:
    """E sum_k ||d_{u+1}^(k) - dbar_{u+1}||^2 is a closed form."""
    match body:
        case Over("sum", Index("k"), Inner(one, other)) if one == other:
            at = next(
                (s.at[0] for s in one.walk() if isinstance(s, Symbol) and s.name == "dbar"), None
            )
            if (
                at is not None
                and future(at, given)
                and one == letters.d[at, letters.k] - letters.dbar[at]
            ):
                return letters.next_drift[at - 1]
    return None

"""A recorded run as a scene: every letter of a line at every t, and what is known of the future.

Axes as in ``language.evaluation``: [instance, replicate, worker k, worker j], and coordinates.

Paper: Algorithm (Algo_DR-STORM_batch_App), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.evidence import closed_forms
from stemtheory.claims.evidence.brackets import minibatch, noise
from stemtheory.claims.evidence.fedavg_path import FedAvgPath
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import schedule_of, square
from stemtheory.claims.evidence.sums import growth
from stemtheory.claims.language import (
    EPS,
    At,
    Evaluation,
    Expr,
    Index,
    Inner,
    Line,
    Over,
    Relation,
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


FAR = 50.0  # the points of a run are few and close: look this many times farther out, too


def points_of(path: Path) -> PointScene:
    """Return the scene of a run's points, kept with it."""
    kept: PointScene = vars(path).setdefault("points", PointScene(path))
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
        """c as the schedule declares it, or else as its first step has it."""
        path = self.path
        if not isinstance(path, Path):
            return np.nan
        declared = schedule_of(path.case).parameters()
        return declared.get("c", float(path.a[2] / path.eta[1] ** 2))

    def number(self, value: Fraction) -> float:
        """Return the nearest float."""
        return float(value)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the values of a letter at its indices."""
        if not symbol.at:
            return self.sizes[symbol.name]
        every, at = self._array(symbol.name), times[symbol.at[0]]
        kept = every[np.clip(at, 0, len(every) - 1)]
        if np.any(outside := (at < 0) | (at >= len(every))):  # only a wrong version asks for these
            kept[outside] = np.nan
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
            case "moved_gradients" | "apart_gradients":
                return np.asarray(getattr(closed_forms, name)(path))
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
        if node.function == "mean_noise_k":
            return self._mean_noise(node, times)
        if node.function != "grad_k":  # what is drawn has a closed form, or none
            raise TypeError(node)
        # the oracle wants its workers on the axis before the last
        other = 3 if node.worker == "k" else 2
        workers = point.squeeze(axis=other)
        shape = (*workers.shape[:2], self.path.case.K, workers.shape[-1])
        return np.expand_dims(problem.gradient(np.broadcast_to(workers, shape)), axis=other)

    def _mean_noise(self, node: At, times: Times) -> Any:
        """Return the noise of the run's own minibatch of d_t at a point of that estimate."""
        path, point = self.path, node.point
        assert isinstance(path, Path)
        assert isinstance(point, Symbol)
        every = self._array(point.name)
        at = times[point.at[0]]
        return np.stack([noise(path, every[i], minibatch(path, int(i) - 1)) for i in at])[
            :, :, :, None
        ]

    def compared(self, step: Relation, given: Index) -> Relation:
        """Return a comparison in excess form, with the closed forms of what comes after F_u."""
        return _compared(step, given, FEDAVG if isinstance(self.path, FedAvgPath) else STEM)

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
        if isinstance(node, At) and node.function == "f":
            return 16 * EPS * np.abs(value)
        if isinstance(node, At) or node.name == "next_value":
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

    def slope(self, node: At, point: Any) -> Any:
        """L for gradients; the norm of the gradient for the loss."""
        if node.function == "f":
            return np.sqrt(square(self.path.problem.full_gradient(point)))
        return self.path.setting.L


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
        return _compared(step, given, (_sampled,))

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """The points are what they are."""
        return 0.0 if isinstance(node, Symbol) and node.vector else super().rounding(node, value)


def in_excess(line: Line, given: Index, opened: Callable[[Any], RunScene]) -> Line:
    """Return what is compared of a line about any run, with the closed forms of both algorithms."""
    rules = (_sampled,) if opened is points_of else (*STEM, *FEDAVG)
    return Line(tuple(_compared(step, given, rules) for step in line.steps))


@cache
def _compared(step: Relation, given: Index, rules: tuple[Any, ...]) -> Relation:
    return excess(step, tuple(partial(rule, given=given) for rule in rules))


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


def _bracket_noise(body: Expr, given: Index) -> Expr | None:
    """E||n(fresh) - (1 - a) n(stale)||^2 for one sample."""
    at, k = given + 1, letters.k
    bracket = letters.noise_k(letters.fresh[at, k]) - (1 - letters.a[at]) * letters.noise_k(
        letters.stale[at, k]
    )
    return letters.bracket_noise[given, k] if body == letters.norm2(bracket) else None


def _moved_gradients(body: Expr, given: Index) -> Expr | None:
    """E of the spread over workers of g(fresh) - (1 - a) g(stale), one minibatch for both."""
    at = given + 1
    new = letters.about_mean(letters.sampled_k, letters.fresh, at)
    old = letters.about_mean(letters.sampled_k, letters.stale, at)
    known = letters.sum_k(letters.norm2(new - (1 - letters.a[at]) * old))
    return letters.moved_gradients[given] if body == known else None


def _apart_gradients(body: Expr, given: Index) -> Expr | None:
    """E of the spread over workers of a minibatch's gradients at the older points."""
    old = letters.about_mean(letters.sampled_k, letters.stale, given + 1)
    known = letters.sum_k(letters.norm2(old))
    return letters.apart_gradients[given] if body == known else None


def _direction_noise(body: Expr, given: Index) -> Expr | None:
    """E||dbar_u - (1/K) sum_k grad f^(k)(x_u^(k))||^2 of FedAvg, whose d_u is not known at F_u."""
    mean = letters.mean_k(letters.grad_k(letters.x[given, letters.k]))
    wanted = letters.norm2(letters.dbar[given] - mean)
    return letters.direction_noise[given] if body == wanted else None


def _next_value(body: Expr, given: Index) -> Expr | None:
    """E f(xbar_{u+1}) of FedAvg."""
    known = body == letters.f(letters.xbar[given + 1])
    return letters.next_value[given] if known else None


def _sampled(body: Expr, given: Index) -> Expr | None:
    """E||.||^2 of one sample's gradients at p, at p2 or of their difference: mean and variance."""
    if not isinstance(body, Inner) or body.left != body.right:
        return None
    drawn = {n.point for n in body.walk() if isinstance(n, At) and n.function == "sample_k"}
    if not drawn:
        return None
    alone: dict[Expr, Expr] = {
        letters.p: letters.sample_noise,
        letters.p2: letters.sample_noise2,
    }
    noise = alone[drawn.pop()] if len(drawn) == 1 else letters.sample_change
    mean = _mean_gradients(body.left)
    exact = letters.grad_k(letters.p)
    return noise if mean == exact - exact else letters.norm2(mean) + noise


def _mean_gradients(node: Expr) -> Expr:
    """Return an expression with what a sample's gradient is in the mean."""
    if isinstance(node, At) and node.function == "sample_k":
        return replace(node, function="grad_k")
    return node.rebuilt(_mean_gradients)


STEM = (_next_error, _next_drift, _bracket_noise, _moved_gradients, _apart_gradients)
FEDAVG = (_direction_noise, _next_value)

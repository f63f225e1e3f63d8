"""T(epsilon) of stored cells, and what it costs, beside what the bounds promise.

The cells of one family differ in T only (and in b and I where nu chooses them). M(T) on their grid
of T, or on the record of a single run whose steps do not depend on T, serves every epsilon. T is
the last crossing, interpolated and never extrapolated.

Paper: Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.bounds import BOUNDS, Inversion, invert, spoken
from stemtheory.experiment.design.cells import Cell, canonical
from stemtheory.experiment.design.points import Point
from stemtheory.experiment.design.rules import COSTS
from stemtheory.experiment.execute.work import CellResult, load_trace
from stemtheory.runtime import Floats, UsageError, Verdict
from stemtheory.simulator import RESAMPLES, interval, last_crossing, resampled_means

Results = Mapping[str, CellResult]
TIMELESS = ("constant", "practical", "coupled")  # schedules whose steps do not depend on T


class Cost(NamedTuple):
    """Samples of one worker (oracle calls) and rounds that a bound promises for an epsilon."""

    T: int
    samples: float
    rounds: float


@dataclass(frozen=True)
class Target:
    """One epsilon on one family of cells.

    ``status`` is the verdict ``reached``, ``not-reached`` or ``before-record``, or that of a cell
    without numbers. ``costs`` and ``ends`` (95 %) are by the names of
    ``COSTS``, ``resampled`` (m,) too; they are empty unless reached. ``bounds`` holds what every
    bound that applies promises; ``points`` are the reported points behind it.
    """

    point: Point
    epsilon: float
    status: str
    reason: str
    points: int
    costs: dict[str, float] = field(default_factory=dict)
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)
    resampled: dict[str, Floats] = field(default_factory=dict)
    bounds: dict[str, Cost] = field(default_factory=dict)

    @property
    def on_curve(self) -> bool:
        """Whether b and I change with T."""
        return _on_curve(self.point)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; ``ratio`` is promised over measured, None where not reached."""
        p, problem = self.point, self.point.cell.run.problem
        names = ("problem", "label", "K", "nu", "b", "I", "grid")
        values = (problem.name, p.label, problem.K, p.nu, p.cell.b, p.cell.I, p.grid)
        found: dict[str, Any] = dict(zip(names, values, strict=True))
        if self.on_curve:
            found |= {"b": None, "I": None}
        found |= {"epsilon": self.epsilon, "status": self.status, "reason": self.reason}
        found |= {name: self.costs.get(name) for name in COSTS}
        found |= {f"{name}_ci95": _finite_pair(self.ends.get(name)) for name in COSTS}
        return found | {"bounds": {name: self._against(cost) for name, cost in self.bounds.items()}}

    def _against(self, cost: Cost) -> dict[str, float | None]:
        ratios = {
            f"{name}_ratio": getattr(cost, name) / self.costs[name] if self.costs else None
            for name in ("samples", "rounds")
        }
        return {**cost._asdict(), **ratios}


class _Curve(NamedTuple):
    """M over T: ``means`` (n,) of the replicates, ``drawn`` (n, m) resamples, costs (n,)."""

    times: Floats
    means: Floats
    drawn: Floats
    costs: dict[str, Floats]


ALL = slice(None)


def targets(points: Iterable[Point], results: Results, part: slice = ALL) -> tuple[Target, ...]:
    """Return T(epsilon) for every family of points and epsilon, in the order of the points.

    Points without an epsilon have none. A cell that diverged, failed or is missing has no M; if it
    stands at a T where M might still lie above epsilon, that epsilon is not reached. ``part`` are
    the replicates that count, where a cell has more than one.

    Raises
    ------
    UsageError
        Where two different cells of a family have the same T.
    """
    families: dict[Any, list[Point]] = defaultdict(list)
    for point in points:
        if point.epsilon is not None:
            families[_key(point)].append(point)
    curves: dict[tuple[str, ...], _Curve | None] = {}
    found = []
    for family in families.values():
        cells = tuple(point.cell.id for point in family)
        if cells not in curves:
            curves[cells] = _curve(family, results, part)
        found.append(_target(family, results, curves[cells]))
    return tuple(found)


def draws(cell: Cell, values: Floats) -> Floats:
    """Return resampled means of ``values`` (n, R) as (n, m); m is 0 where there is no spread.

    The address of the draws is what names the noise of a cell, so cells that share their noise draw
    the same replicates and others independent ones, whatever else is in the table.
    """
    if values.shape[1] < 2 or not np.all(np.isfinite(values)):
        return np.empty((len(values), 0))
    run, at = cell.run, cell.run.sizes
    address = _address(at.I, run.problem.K, at.T, at.b, run.problem.dim, run.seed)
    return resampled_means(values, RESAMPLES, 0, address)


@lru_cache(maxsize=4096)
def _address(I: int, K: int, T: int, b: float, dim: int, seed: int) -> tuple[int, ...]:
    noise = {"I": I, "K": K, "T": T, "b": b, "dim": dim, "seed": seed}
    text = ";".join(f"{name}={canonical(value)}" for name, value in noise.items())
    words = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), "<u4")
    return tuple(words.tolist())


def _on_curve(point: Point) -> bool:
    entry = load_algorithm(point.algorithm)
    return point.nu is not None or entry.batch is not None or entry.pin("nu") is not None


def _key(point: Point) -> Any:
    """What the cells of a family share: all but T, and b and I on a curve."""
    c = point.cell
    sizes = () if _on_curve(point) else (c.b, c.I, c.B)
    r = c.run
    how = (r.problem, r.algorithm, r.schedule, r.x1, r.numerics)
    measured = (r.replicates, r.seed, c.precision, c.record)
    return (point.grid, point.label, how, point.nu, point.epsilon, measured, sizes)


def _target(family: list[Point], results: Results, curve: _Curve | None) -> Target:
    last = max(family, key=lambda point: point.cell.T)
    epsilon = last.epsilon
    assert epsilon is not None
    holes = {
        point.cell.T: status for point in family if (status := _status(point, results)) != "ok"
    }
    bounds = _bounds(last, epsilon, results)
    if curve is None:
        worst = next(iter(holes.values()))
        reason = f"no cell has a mean: {worst}"
        return Target(last, epsilon, worst, reason, len(family), bounds=bounds)
    T = float(last_crossing(curve.times, curve.means, epsilon))
    status, reason = _verdict(T, epsilon, curve, holes)
    if status != Verdict.REACHED:
        return Target(last, epsilon, status, reason, len(family), bounds=bounds)
    # a resample that leaves the record is held at its end: the interval is open there
    drawn = last_crossing(curve.times, curve.drawn, epsilon)
    held = np.clip(drawn, curve.times[0], curve.times[-1])
    return Target(
        last,
        epsilon,
        status,
        reason,
        len(family),
        {name: float(_at(curve, name, np.array(T))) for name in COSTS},
        {name: _ends(curve, name, drawn) for name in COSTS},
        {name: _at(curve, name, held) for name in COSTS},
        bounds,
    )


def _verdict(T: float, epsilon: float, curve: _Curve, holes: dict[int, str]) -> tuple[Verdict, str]:
    if not np.isfinite(T):
        if T < 0:
            return Verdict.BEFORE_RECORD, f"M is {curve.means[0]:.3g} at the least T already"
        return Verdict.NOT_REACHED, f"M is {curve.means[-1]:.3g} at the largest T"
    # the bracket of the crossing begins at the last T that is known to lie above epsilon
    behind = float(curve.times[curve.times <= T].max())
    if late := {t: status for t, status in holes.items() if t > behind}:
        t, status = min(late.items())
        reason = f"the cell at T = {t} is {status}, and M may be above epsilon there"
        return Verdict.NOT_REACHED, reason
    return Verdict.REACHED, ""


def _status(point: Point, results: Results) -> str:
    result = results.get(point.cell.id)
    return "missing" if result is None else result.status


def _curve(family: list[Point], results: Results, part: slice) -> _Curve | None:
    """M(T) of a family: the record of its only cell, or the cells' own averages."""
    cells = {p.cell.id: p for p in family if _status(p, results) == "ok"}
    ordered = sorted(cells.values(), key=lambda point: point.cell.T)
    times = [point.cell.T for point in ordered]
    if len(set(times)) < len(times):
        raise UsageError(
            f"grid {family[0].grid}, {family[0].label}: two cells have the same T but another b or"
            " I, so M is no function of T: give nu, or b and I on an axis of their own."
        )
    if not ordered:
        return None
    found = [results[point.cell.id] for point in ordered]
    if len(ordered) == 1 and found[0].trace is not None and _timeless(ordered[0]):
        return _recorded(ordered[0], found[0], part)
    measured = [_of(part, result.grad_sq[None, :]) for result in found]
    return _Curve(
        np.array(times, dtype=np.float64),
        np.array([m.mean() for m in measured]),
        _stacked([draws(p.cell, m) for p, m in zip(ordered, measured, strict=True)]),
        _costs(found, np.array(times, dtype=np.float64)),
    )


def _timeless(point: Point) -> bool:
    """Whether eta_t does not depend on T, so that one run holds M(T) for every T before its end."""
    schedule, entry = point.cell.run.schedule.name, load_algorithm(point.algorithm)
    if schedule in TIMELESS:
        return True
    # STEM's own; the theory of another system may look at T
    own = entry.theory is None if schedule == "theorem" else True
    return entry.family == "stem" and own and not _on_curve(point)


def _of(part: slice, values: Floats) -> Floats:
    """Return the columns that count; a single one does."""
    return values if values.shape[1] < 2 else values[:, part]


def _recorded(point: Point, result: CellResult, part: slice) -> _Curve:
    """The running average of one run; from what comes before it, its costs grow linearly."""
    assert result.trace is not None
    at, every = load_trace(result)
    running = _of(part, every)
    times = np.asarray(at, dtype=np.float64)
    before, at_end = _paid(asdict(point.cell.run.costs(0))), _paid(result.facts)
    share = times / point.cell.T
    costs = {name: first + (at_end[name] - first) * share for name, first in before.items()}
    return _Curve(
        times, running.mean(axis=1), draws(point.cell, running), {"steps": times, **costs}
    )


def _stacked(drawn: list[Floats]) -> Floats:
    """One row per cell; none at all if a cell has a single replicate."""
    width = min(row.shape[1] for row in drawn)
    return np.concatenate([row[:, :width] for row in drawn])


def _costs(found: list[CellResult], times: Floats) -> dict[str, Floats]:
    paid = [_paid(result.facts) for result in found]
    return {"steps": times, **{name: np.array([p[name] for p in paid]) for name in COSTS[1:]}}


def _paid(counts: Mapping[str, Any]) -> dict[str, float]:
    """Return what one worker paid; vectors are those sent and received."""
    return {
        "samples": counts["samples_per_worker"],
        "rounds": counts["rounds"],
        "vectors": counts["vectors_up"] + counts["vectors_down"],
    }


def _at(curve: _Curve, name: str, T: Floats) -> Floats:
    """Return a cost at T, interpolated in log-log coordinates."""
    return np.asarray(np.exp(np.interp(np.log(T), np.log(curve.times), np.log(curve.costs[name]))))


def _ends(curve: _Curve, name: str, drawn: Floats) -> tuple[float, float]:
    """The middle 95 % of a cost over resamples; infinite or 0 where they leave the record."""
    low, high = interval(drawn)
    if np.isnan(low):
        return low, high
    start, end = (
        _at(curve, name, np.array(T)) for T in np.clip((low, high), *curve.times[[0, -1]])
    )
    return (0.0 if low < 0 else float(start)), (high if np.isinf(high) else float(end))


def _bounds(point: Point, epsilon: float, results: Results) -> dict[str, Cost]:
    """What every bound that applies to this family promises at epsilon."""
    c, run = point.cell, point.cell.run
    options = dict(run.algorithm.options)
    # Theorem R* takes the sync batch with its steps
    given = int(str(options.pop("sync_batch", 1)))
    sync_batch = 1 if run.schedule.name == "rstar" else given
    options.pop("sync", None)
    facts = next((r.facts for r in (results.get(c.id),) if r is not None and r.facts), None)
    if options or facts is None:
        return {}  # an option away from its default, such as a sample of the workers, is not theirs
    constants = facts["constants"]
    values = tuple(constants[key] for key in ("L", "sigma", "zeta", "gap"))
    if any(value is None for value in values):
        return {}
    one_step = load_algorithm(point.algorithm).batch is not None
    place = _place(point, one_step)
    found = {}
    for name in spoken(run):
        if BOUNDS[name].one_step == one_step:
            cost = _inverted(name, epsilon, run.problem.K, values, sync_batch, place)
            if cost is not None:
                found[name] = cost
    return found


def _place(point: Point, one_step: bool) -> tuple[tuple[str, Any], ...]:
    """Where on the curve, or which b, I and B."""
    if one_step:
        return (("nu", 0.0),)
    if point.nu is not None:
        return (("nu", point.nu),)
    return (("b", point.cell.b), ("I", point.cell.I), ("B", point.cell.B))


@lru_cache(maxsize=4096)
def _inverted(
    name: str,
    epsilon: float,
    K: int,
    values: tuple[float, ...],
    sync_batch: int,
    place: tuple[tuple[str, Any], ...],
) -> Cost | None:
    L, sigma, zeta, gap = values
    constants = {"L": L, "sigma": sigma, "zeta": zeta, "gap": gap}
    solve: Callable[..., Inversion] = invert
    try:
        at = solve(name, epsilon, K=K, sync_batch=sync_batch, **constants, **dict(place))
    except UsageError:  # no T up to 1e44 is long enough
        return None
    return Cost(at.T, at.samples_per_worker, at.rounds) if at.bound.applies else None


def _finite_pair(pair: tuple[float, float] | None) -> list[float | None] | None:
    if pair is None or any(np.isnan(end) for end in pair):
        return None
    return [end if np.isfinite(end) else None for end in pair]

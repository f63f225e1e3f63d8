"""Reported points and the cells behind them: points that coincide share one cell."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from stemtheory.algorithms import ALGORITHMS
from stemtheory.experiment.design.cells import OWN_COLUMN, Cell, Method, Pairs, Task, pairs
from stemtheory.experiment.design.spec import Algorithm, Spec
from stemtheory.oracles import load_problem, problem_entry, usual_dim
from stemtheory.runtime import BACKENDS, UsageError, choice
from stemtheory.simulator import DTYPES, ENGINES, Sizes, fused, resolve_schedule, resolve_sizes

DEFAULTS: Mapping[str, Any] = {
    "problem": "cosine",
    "T": 4096,
    "replicates": 32,
    "seed": 0,
    "x1": 1.0,
    "schedule": "theorem",
    "sync": "literal",
    "sync_batch": 1,
    "dtype": "float64",
    "engine": "auto",
    "backend": "auto",
    "noise_source": "device",
    "per_sample": False,
}
NO_CURVE = "b, I given"


@dataclass(frozen=True)
class Machine:
    """What ``auto`` stands for in this sweep; it is settled once and kept in the store.

    Engine ``fused`` means: for cells from ``AUTO_WORK`` on that it can run, ``array`` for the rest.
    """

    engine: str
    backend: str


@dataclass(frozen=True, slots=True)
class Point:
    """One reported point: where it stands in the sweep, and the cell that holds its numbers.

    ``nu`` is None where b and I were given; ``clipped`` marks a T too short for the curve.
    """

    grid: str
    label: str
    algorithm: str
    epsilon: float | None
    nu: float | None
    T_requested: int
    clipped: bool
    cell: Cell

    @property
    def curve(self) -> str:
        """A name for nu that is never missing, so that no grouping drops a row."""
        return NO_CURVE if self.nu is None else f"nu = {self.nu:g}"


def points(spec: Spec, machine: Machine) -> Iterator[Point]:
    """Yield every reported point, grid by grid and algorithm by algorithm.

    Raises
    ------
    UsageError
        For settings that do not add up, with the grid and its line.
    """
    for grid in spec.grids:
        for label in grid.algorithms:
            algorithm = spec.algorithms[label]
            fixed = {**DEFAULTS, **spec.settings, **algorithm.settings}
            make: _Maker | None = None
            try:
                for own in grid.settings(algorithm.name):
                    make = make or _Maker(grid.name, algorithm, fixed, tuple(own), machine)
                    yield make.point(own)
            except UsageError as error:
                raise spec.refuse_grid(grid.name, error) from error


def _layered(fixed: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """Return the fixed settings; a grid's nu, b or I replaces whichever of them was fixed."""
    gone = ("b", "I") if "nu" in own else ("nu",) if "b" in own or "I" in own else ()
    return {name: value for name, value in fixed.items() if name not in gone}


class _Maker:
    """Makes the points of one grid and algorithm; what does not vary is worked out once."""

    def __init__(
        self,
        grid: str,
        algorithm: Algorithm,
        fixed: Mapping[str, Any],
        axes: tuple[str, ...],
        machine: Machine,
    ) -> None:
        self.grid, self.algorithm, self.machine = grid, algorithm, machine
        self.fixed = _layered(fixed, axes)
        runs = ("replicates", "seed", "precision", "record", "epsilon")
        self.run_axes = [name for name in axes if name in runs]
        self.other_axes = [name for name in axes if name not in runs]
        self.settled: dict[tuple[Any, ...], tuple[Task, Method, Method, Sizes]] = {}

    def point(self, own: Mapping[str, Any]) -> Point:
        """Return the point at the values ``own`` of the axes."""
        key = tuple([own[name] for name in self.other_axes])
        # to a cache true is 1: the types tell them apart
        key += tuple([type(value) for value in key])
        found = self.settled.get(key)
        if found is None:
            found = self.settled[key] = self._settle({**self.fixed, **own})
        task, method, on_arrays, sizes = found
        run = {**self.fixed, **{name: own[name] for name in self.run_axes}}
        if method is not on_arrays:
            method = _on_its_engine(method, on_arrays, task, sizes.T, run["replicates"])
        cell = Cell(
            task,
            method,
            sizes.T,
            sizes.b,
            sizes.I,
            sizes.B,
            run["replicates"],
            run["seed"],
            run.get("precision"),
            run.get("record", 0),
        )
        return Point(
            self.grid,
            self.algorithm.label,
            self.algorithm.name,
            run.get("epsilon"),
            sizes.nu,
            sizes.T_requested,
            sizes.clipped,
            cell,
        )

    def _settle(self, s: Mapping[str, Any]) -> tuple[Task, Method, Method, Sizes]:
        """Check everything that a point is made of, before anything runs.

        The method comes as it was asked for and, the second time, on the array engine.
        """
        name = self.algorithm.name
        K = s.get("K", ALGORITHMS[name].pin("K") or 4)
        dials = _group(s, "dials", OWN_COLUMN)
        truths = tuple(isinstance(value, bool) for _, value in dials)
        task, L, sigma = _task(s["problem"], int(K), s.get("dim"), dials, truths)
        own = ALGORITHMS[name].chosen(dict(_group(s, "algorithm_options")))
        method = _method(
            _recursion(name, s["sync"], s["sync_batch"], own),
            s["sync"],
            s["sync_batch"],
            s["schedule"],
            _group(s, "schedule_options"),
            s["x1"],
            s["dtype"],
            "array" if (s["engine"], self.machine.engine) == ("auto", "array") else s["engine"],
            self.machine.backend if s["backend"] == "auto" else s["backend"],
            s["noise_source"],
            s["per_sample"],
            pairs(own),
        )
        choice("backend", method.backend, BACKENDS)
        if isinstance(s["x1"], tuple) and len(s["x1"]) != task.dim:
            raise UsageError(
                f"x1 has {len(s['x1'])} numbers, but dim is {task.dim}: give one, or dim of them."
            )
        given = {key: s.get(key) for key in ("b", "I", "nu", "B")}
        sizes = resolve_sizes(name, task.K, L, T=s["T"], **given)
        options = dict(method.schedule_options)
        resolve_schedule(name, method.schedule, sizes, L, sigma, options, own)
        arrays = method if method.engine == "array" else replace(method, engine="array")
        return task, method, arrays, sizes


def _group(s: Mapping[str, Any], group: str, more: tuple[str, ...] = ()) -> Pairs:
    """Return the settings ``group.NAME``, and those in ``more``, by plain name."""
    start = f"{group}."
    found = {key[len(start) :]: value for key, value in s.items() if key.startswith(start)}
    return pairs(found | {key: s[key] for key in more if key in s})


@lru_cache(maxsize=4096)
def _task(
    problem: str, K: int, dim: int | None, given: Pairs, truths: tuple[bool, ...]
) -> tuple[Task, float, float]:
    """Return the task with the dials that every problem has filled in, L and sigma.

    So a default and the same value written out are one cell. ``truths`` tells true from 1, which
    are equal to a cache.
    """
    del truths
    if dim is None:
        dim = usual_dim(problem_entry(problem))
        dim = load_problem(problem, K, dim, **dict(given)).dim if dim is None else dim
    task = Task(problem, K, dim, given)
    found = task.load().dials
    filled = {name: found[name] for name in OWN_COLUMN if found.get(name) is not None}
    full = Task(problem, K, dim, pairs({**dict(given), **filled}))
    constants = task.load().constants()
    sigma = constants.sigma if math.isfinite(constants.sigma) else float(found["sigma"])
    return (full if full.load().dials == found else task), constants.L, sigma


def _recursion(name: str, sync: str, sync_batch: int, own: Mapping[str, Any]) -> str:
    """Return the plain algorithm that a named setting runs, or its own name if it differs.

    b and I are settled by then, so fed-stem and stem at the same sizes are one cell.
    """
    entry = ALGORITHMS[name]
    base = ALGORITHMS.get(entry.base, entry)
    if not set(own) <= set(base.options):
        return name
    same = entry.make(sync, sync_batch, own) == base.make(sync, sync_batch, own)
    return base.name if same and _theory(entry) == _theory(base) else name


def _theory(entry: object) -> object:
    """Return what gives an entry step sizes of its own, if anything does."""
    return tuple(getattr(entry, name, None) for name in ("family", "theory", "coupling"))


@lru_cache(maxsize=4096)
def _method(*fields: Any) -> Method:
    method = Method(*fields)
    choice("engine", method.engine, ENGINES)
    choice("dtype", method.dtype, DTYPES)
    choice("noise_source", method.noise_source, ("device", "host"))
    own = dict(method.algorithm_options)
    ALGORITHMS[method.algorithm].make(method.sync, method.sync_batch, own)
    if method.backend != "numpy":
        return method
    # On the host both sources are one; they must not make two cells of one run.
    return replace(method, noise_source="host")


def _on_its_engine(
    method: Method, on_arrays: Method, task: Task, T: int, replicates: int
) -> Method:
    """Return the method with engine ``auto`` settled, and the noise that the fused one draws.

    Raises
    ------
    UsageError
        If the fused engine was asked for and cannot run the cell.
    """
    small = T * replicates * task.K * task.dim < fused.AUTO_WORK
    if method.engine == "auto" and (small or method.backend != "numpy"):
        return on_arrays
    reason = _no_kernel(method, task, T)
    if reason is None:
        return replace(method, engine="fused", noise_source="philox")
    if method.engine == "fused":
        raise UsageError(f"engine fused cannot be used, because {reason}: use engine array.")
    return on_arrays


def _no_kernel(method: Method, task: Task, T: int) -> str | None:
    own = dict(method.algorithm_options)
    return fused.unsuited(
        task.load(),
        ALGORITHMS[method.algorithm].make(method.sync, method.sync_batch, own),
        T,
        per_sample=method.per_sample,
    )

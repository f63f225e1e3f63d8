"""Reported points and the cells behind them: points that coincide share one cell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from stemtheory.algorithms import ALGORITHMS, Entry
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.spec import Spec, SweptAlgorithm
from stemtheory.runtime import UsageError
from stemtheory.simulator import (
    COMMON_DIALS,
    DEFAULT,
    AlgorithmChoice,
    Numerics,
    Run,
    fused,
    refuse_the_endless,
)
from stemtheory.simulator.fused import sharing

# What a sweep takes where nothing is said; the rest is what a run takes.
PROBLEM = "cosine"
# Settings of a sweep that are the keywords of a run under the same name.
PLAIN = (
    *("K", "dim", "T", "b", "I", "nu", "B", "schedule", "sync", "sync_batch", "x1"),
    *("dtype", "engine", "noise_source", "per_sample"),
)
NO_CURVE = "b, I given"


@dataclass(frozen=True)
class Machine:
    """What ``auto`` stands for in this sweep; it is settled once and kept in the store.

    ``engines`` has the engine of every kernel that cells may share; all others run on arrays.
    """

    backend: str
    engines: Mapping[str, str] = field(default_factory=dict)


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
    return (point for point, _ in _made(spec, machine))


def settle(spec: Spec, machine: Machine) -> tuple[Machine, tuple[Point, ...]]:
    """Return the machine with an engine for every kernel of a sweep, and the sweep's points.

    A kernel that has one keeps it, whatever cells were added since; that of another one is chosen
    by all cells that share it, and not by each alone, so that many small ones are compiled too.

    Raises
    ------
    UsageError
        As ``points``.
    """
    made = tuple(_made(spec, machine))
    new = {p.cell.id: (k, p.cell.run) for p, k in made if k and k not in machine.engines}
    settled = sharing.engines(new.values())
    machine = replace(machine, engines={**machine.engines, **settled})
    fused_now = {kernel for kernel, engine in settled.items() if engine == "fused"}
    return machine, tuple(_compiled(p) if kernel in fused_now else p for p, kernel in made)


def _made(spec: Spec, machine: Machine) -> Iterator[tuple[Point, str | None]]:
    """Yield every point, and the kernel that its cell may share with others, if any."""
    for grid in spec.grids:
        for label in grid.algorithms:
            algorithm = spec.algorithms[label]
            fixed = {**spec.settings, **algorithm.settings}
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
        algorithm: SweptAlgorithm,
        fixed: Mapping[str, Any],
        axes: tuple[str, ...],
        machine: Machine,
    ) -> None:
        self.grid, self.algorithm, self.machine = grid, algorithm, machine
        self.fixed = _layered(fixed, axes)
        runs = ("replicates", "seed", "precision", "record", "epsilon")
        self.run_axes = [name for name in axes if name in runs]
        self.other_axes = [name for name in axes if name not in runs]
        self.settled: dict[tuple[Any, ...], tuple[Run, str | None]] = {}

    def point(self, own: Mapping[str, Any]) -> tuple[Point, str | None]:
        """Return the point at the values ``own`` of the axes, and its cell's kernel."""
        key = tuple([own[name] for name in self.other_axes])
        # to a cache true is 1: the types tell them apart
        key += tuple([type(value) for value in key])
        found = self.settled.get(key)
        if found is None:
            found = self.settled[key] = self._settle({**self.fixed, **own})
        settled, kernel = found
        asked = {**self.fixed, **{name: own[name] for name in self.run_axes}}
        run = replace(
            settled,
            replicates=asked.get("replicates", DEFAULT.replicates),
            seed=asked.get("seed", DEFAULT.seed),
        )
        refuse_the_endless(run)
        point = Point(
            self.grid,
            self.algorithm.label,
            self.algorithm.name,
            asked.get("epsilon"),
            run.sizes.nu,
            run.sizes.T_requested,
            run.sizes.clipped,
            Cell(run, asked.get("precision"), asked.get("record", 0)),
        )
        return point, kernel

    def _settle(self, s: Mapping[str, Any]) -> tuple[Run, str | None]:
        """Check everything that a point is made of, before anything runs."""
        backend = s.get("backend", DEFAULT.backend)
        run = Run.of(
            s.get("problem", PROBLEM),
            self.algorithm.name,
            **{name: s[name] for name in PLAIN if name in s},
            dials=_group(s, "dials", COMMON_DIALS),
            algorithm_options=_group(s, "algorithm_options"),
            schedule_options=_group(s, "schedule_options"),
            backend=self.machine.backend if backend == "auto" else backend,
        )
        run = replace(run, algorithm=_recursion(run.algorithm))
        kernel = sharing.kernel_of(run)
        return replace(run, numerics=_on_its_engine(run, kernel, self.machine)), kernel


def _group(s: Mapping[str, Any], group: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the settings ``group.NAME``, and those in ``more``, by plain name."""
    start = f"{group}."
    found = {key[len(start) :]: value for key, value in s.items() if key.startswith(start)}
    return found | {key: s[key] for key in more if key in s}


@lru_cache(maxsize=256)
def _recursion(chosen: AlgorithmChoice) -> AlgorithmChoice:
    """Return the plain algorithm that a named setting runs, or itself if it differs.

    b and I are settled by then, so fed-stem and stem at the same sizes are one cell.
    """
    entry, own = chosen.entry, dict(chosen.options)
    base = ALGORITHMS.get(entry.base, entry)
    if not set(own) <= set(base.options):
        return chosen
    same = entry.make(own) == base.make(own) and _theory(entry) == _theory(base)
    return replace(chosen, name=base.name) if same else chosen


def _theory(entry: Entry) -> object:
    """Return what gives an entry step sizes of its own, if anything does."""
    return entry.family, entry.theory, entry.coupling


def _on_its_engine(run: Run, kernel: str | None, machine: Machine) -> Numerics:
    """Return how a run is computed, with ``auto`` settled.

    Raises
    ------
    UsageError
        If the fused engine was asked for and cannot run the cell.
    """
    numerics = run.numerics
    if numerics.engine == "fused":
        T, I = run.sizes.T, run.sizes.I
        reason = fused.unsuited(
            run.problem.load(), run.method, T, I, per_sample=numerics.per_sample
        )
        if reason is not None:
            raise UsageError(f"engine fused cannot be used, because {reason}: use engine array.")
    if "fused" in (numerics.engine, machine.engines.get(kernel or "")):
        return _with_kernel(numerics)
    # On the host both sources of noise are one; they must not make two cells of one run.
    alike = numerics.backend == "numpy" and numerics.noise_source == "device"
    source = "host" if alike else numerics.noise_source
    return replace(numerics, engine="array", noise_source=source)


def _compiled(point: Point) -> Point:
    """Return a point whose kernel was settled after it was made."""
    run = point.cell.run
    return replace(
        point, cell=replace(point.cell, run=replace(run, numerics=_with_kernel(run.numerics)))
    )


@lru_cache(maxsize=256)  # cells that are alike share them
def _with_kernel(numerics: Numerics) -> Numerics:
    """Return how a run of the fused engine is computed: its noise has addresses."""
    return replace(numerics, engine="fused", noise_source="philox")

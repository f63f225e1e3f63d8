"""Sweeps as figures want them: from a store that holds all of it, or run on the spot."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from stemtheory.experiment.design.spec import Spec, load_spec
from stemtheory.experiment.sweep import SweepResult, run_sweep, settle_store
from stemtheory.runtime import UsageError


def sweep_for(
    name: str,
    mode: str,
    store: Path | None,
    progress: Callable[[str], None],
    grids: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> SweepResult:
    """Return a sweep from its store; without one, run on the spot (``labels`` of it, if named)."""
    if store is not None:
        return stored_sweep(name, mode, store, grids)
    return swept(name, mode, progress, grids, labels)


def stored_sweep(name: str, mode: str, store: Path, grids: Sequence[str] = ()) -> SweepResult:
    """Return a sweep from its store, or those of its grids that are named; nothing is run.

    Raises
    ------
    UsageError
        If the store lacks a cell, with the command that adds it.
    StoreError
        If the store is damaged.
    """
    if not store.is_file():
        raise UsageError(f"{store} does not exist: {_command(name, mode, store)} makes it.")
    found = run_sweep(_part(name, mode, grids), mode=mode, store=store, dry_run=True)
    missing = found.cells_total - len(found.statuses)
    if missing:
        raise UsageError(
            f"{store} lacks {missing} of {found.cells_total} cells of sweep {name} ({mode}):"
            f" {_command(name, mode, store)} adds them."
        )
    return found


def swept(
    name: str,
    mode: str,
    progress: Callable[[str], None],
    grids: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> SweepResult:
    """Return a sweep, or the named ones of its grids and labels, run into a store not kept.

    The whole sweep settles the engines, so that a part has the numbers that a store of it holds.
    """
    spec = _part(name, mode, grids, labels)
    with tempfile.TemporaryDirectory() as folder:
        progress(f"running sweep {name} ({mode}); a store would keep it")
        path = Path(folder) / f"{name}.sqlite"
        if grids or labels:
            settle_store(path, load_spec(name, mode))
        found = run_sweep(spec, mode=mode, store=path)
        assert found.results  # read before the folder goes
        return found


def _part(name: str, mode: str, grids: Sequence[str], labels: Sequence[str] = ()) -> Spec:
    spec = load_spec(name, mode)
    if not (grids or labels):
        return spec
    kept = [g for g in spec.grids if not grids or g.name in grids]
    if labels:
        kept = [replace(g, algorithms=tuple(x for x in g.algorithms if x in labels)) for g in kept]
    kept = [grid for grid in kept if grid.algorithms]
    names = {grid.name for grid in kept}
    fits = {name: t for name, t in spec.fits.items() if set(t.get("grids", spec.fits)) <= names}
    return replace(spec, grids=tuple(kept), fits=fits)


def _command(name: str, mode: str, store: Path) -> str:
    flag = "" if mode == "default" else f" --{mode}"
    return f"stemtheory sweep {name}{flag} --store {store}"

"""Sweeps as figures want them: a part of one is a part of what its store would hold."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stemtheory.experiment import stored
from stemtheory.experiment.design.points import Machine, points, settle
from stemtheory.experiment.design.spec import Spec, load_spec
from stemtheory.experiment.store.results import Store
from stemtheory.simulator.fused import sharing


def test_a_part_runs_on_the_engines_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone it would be too little to compile for, and its numbers others than the store's."""
    pytest.importorskip("numba")
    whole = load_spec("slack", "quick")
    cells = {p.cell.id: p.cell for p in points(whole, Machine("numpy"))}
    stem = [c.run for c in cells.values() if c.run.algorithm.name == "stem"]
    monkeypatch.setattr(sharing, "SHARED_WORK", sum(map(sharing.work, stem)))

    def settled(spec: Spec, *, mode: str, store: Path) -> Any:
        with Store.reading(store) as opened:
            machine = opened.machine(spec.name, mode)
        assert machine is not None
        return SimpleNamespace(results=True, points=settle(spec, machine)[1])

    monkeypatch.setattr(stored, "run_sweep", settled)
    part = stored.swept("slack", "quick", lambda _: None, labels=["stem"]).points
    _, all_points = settle(whole, Machine("numpy"))
    assert {p.cell.run.numerics.engine for p in part} == {"fused"}
    assert {p.cell.id for p in part} < {p.cell.id for p in all_points}

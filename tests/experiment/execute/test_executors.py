"""Processes that sweeps and forecasts share: the same bits, started once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stemtheory.experiment.execute import workers
from stemtheory.experiment.execute.workers import Worker, shared_workers
from tests.experiment.sweeps import content, run, small

TEXT = """
[settings]
K = 2
dim = 2
T = 8
replicates = 2
[grids.g]
problem = ["cosine", "quadratic"]
"""


def test_sweeps_inside_share_their_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a forecast is measured in one of them; outside (mutant) each starts its own."""
    started: list[Worker] = []

    class Counted(Worker):
        def _started(self) -> Any:
            started.append(self)
            return super()._started()

    monkeypatch.setattr(workers, "Worker", Counted)
    stores = [tmp_path / f"{name}.sqlite" for name in ("one", "two", "alone")]
    with shared_workers(1):
        for store in stores[:2]:
            run(small(TEXT), store=store, executor="processes", jobs=2)
        run(small(TEXT), store=tmp_path / "none.sqlite", executor="processes", dry_run=True)
    assert len(started) == 1
    assert started[0]._process is None  # it ended with what it was lent to
    run(small(TEXT), store=stores[2], executor="processes")
    assert len(started) == 2
    one, two, alone = map(content, stores)
    assert one == two == alone
    assert len(one) == 2

"""Which engine a cell runs on: settled when the sweep is created, by its size, and kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import simulate
from stemtheory.experiment import sweep as front
from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.execute.executors import kind_of
from stemtheory.experiment.store.results import Store
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import fused
from tests.experiment.sweeps import content, run, small

TEXT = """
[settings]
problem = "cosine"
K = 2
dim = 4
replicates = 4
b = 1
I = 2
[algorithms.stem]
[algorithms.fedavg]
[algorithms.fedprox]
[grids.main]
T = [8, 64]
"""
LIMIT = 64 * 4 * 2 * 4  # T R K dim of the long cells


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(fused, "AUTO_WORK", LIMIT)


def engines(engine: str = "fused", backend: str = "numpy", text: str = TEXT) -> dict[Any, str]:
    found = points(small(text), Machine(engine, backend))
    return {(p.algorithm, p.cell.T): p.cell.run.numerics.engine for p in found}


@pytest.mark.usefixtures("limit")
def test_large_cells_that_have_a_kernel_are_compiled() -> None:
    large = {("stem", 64), ("fedavg", 64)}
    assert {key for key, engine in engines().items() if engine == "fused"} == large
    assert set(engines("array").values()) == {"array"}
    assert set(engines(backend="cupy").values()) == {"array"}
    rotated = TEXT.replace("b = 1", "b = 1\ndials = { rotate = true }")
    assert set(engines(text=rotated).values()) == {"array"}
    insisted = engines(text=TEXT.replace("b = 1", 'b = 1\nengine = "array"'))
    assert set(insisted.values()) == {"array"}


@pytest.mark.usefixtures("limit")
def test_a_small_cell_is_the_same_cell_on_every_machine() -> None:
    ids = [
        {p.cell.id for p in points(small(TEXT), Machine(engine, "numpy")) if p.cell.T == 8}
        for engine in ("array", "fused")
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 3


@pytest.mark.usefixtures("limit")
def test_a_sweep_holds_the_numbers_of_the_engine_it_names(tmp_path: Path) -> None:
    found = run(small(TEXT), store=tmp_path / "a.sqlite")
    with Store.reading(found.store) as store:
        results = {row.result.id: row.result for row in store.rows()}
    cells = {(p.algorithm, p.cell.T): p.cell for p in found.points}
    for algorithm, engine in (("stem", "fused"), ("fedprox", "array")):
        cell = cells[algorithm, 64]
        alone = simulate(
            cell.run.problem.load(), algorithm, T=64, b=1, I=2, replicates=4, engine=engine
        )
        np.testing.assert_array_equal(results[cell.id].grad_sq, alone.grad_sq)
        assert json.loads(results[cell.id].provenance)["engine"] == engine


@pytest.mark.usefixtures("limit")
def test_the_store_settles_it_for_later_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store made without numba goes on with the array engine, and the other way round."""
    spec, stores = small(TEXT), {}
    for engine in ("array", "fused"):
        path = stores[engine] = tmp_path / f"{engine}.sqlite"
        monkeypatch.setattr(front, "this_machine", lambda e=engine: Machine(e, "numpy"))
        run(small(TEXT.replace("[8, 64]", "[8]")), store=path)
    monkeypatch.setattr(front, "this_machine", lambda: Machine("array", "numpy"))
    for engine, path in stores.items():
        found = run(spec, store=path).points
        wanted = {"array"} if engine == "array" else {"array", "fused"}
        assert {p.cell.run.numerics.engine for p in found} == wanted
    assert content(stores["array"]) != content(stores["fused"])


@pytest.mark.usefixtures("limit")
def test_a_machine_without_the_compiler_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    monkeypatch.setattr(front, "this_machine", lambda: Machine("fused", "numpy"))
    run(small(TEXT.replace("[8, 64]", "[8]")), store=path)
    before = content(path)
    monkeypatch.setattr(fused, "missing", lambda: "numba is not installed")
    with pytest.raises(UsageError, match="numba is not installed: install it, or start another"):
        run(small(TEXT), store=path)
    assert content(path) == before


def test_to_insist_on_what_cannot_be_compiled_is_an_error_with_its_line() -> None:
    text = TEXT.replace("b = 1", 'b = 1\nengine = "fused"')
    with pytest.raises(UsageError, match=r"line 13: grids.main: engine fused cannot be used"):
        engines("array", text=text)


@pytest.mark.parametrize(
    "address", ["nonsense", "", "tcp://", "host:", "127.0.0.1", "LOCAL", "a b:1"]
)
def test_a_dask_address_that_is_none_is_refused_before_anything_is_looked_at(address: str) -> None:
    """With nothing left to run nobody is asked, and what was typed would be believed."""
    with pytest.raises(UsageError, match="must be local, or the address of a scheduler"):
        kind_of("auto", 1, address)
    assert {kind_of("auto", 1, good) for good in ("local", "tcp://h:1", "h:8786")} == {"dask"}


def test_so_it_is_where_nothing_is_left_to_run(tmp_path: Path) -> None:
    run(small(TEXT), store=tmp_path / "s.sqlite")
    for dry_run in (False, True):
        with pytest.raises(UsageError, match="dask is 'nonsense'"):
            front.run_sweep(
                small(TEXT), store=tmp_path / "s.sqlite", dask="nonsense", dry_run=dry_run
            )

"""Which engine a cell runs on: by the work of all that share a kernel, settled once, and kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import simulate
from stemtheory.experiment import sweep as front
from stemtheory.experiment.design import points as points_of
from stemtheory.experiment.design.points import Machine, settle
from stemtheory.experiment.execute.executors import kind_of
from stemtheory.experiment.store.results import Store
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import fused
from stemtheory.simulator.fused import sharing, source
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
[algorithms.half]  # who takes part is left to chance: there is no kernel
algorithm = "mime"
algorithm_options = { participation = 0.5 }
[grids.main]
T = [8, 64]
"""
HOST = Machine("numpy")
BOTH = (8 + 64) * (4 * 2 * 4 + sharing.STEP_ELEMENTS)  # the work of two cells, T = 8 and T = 64
SHORT = TEXT.replace("[8, 64]", "[8]")


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(sharing, "SHARED_WORK", BOTH)


def engines(text: str = TEXT, machine: Machine = HOST) -> dict[Any, str]:
    _, found = settle(small(text), machine)
    return {(p.algorithm, p.cell.T): p.cell.run.numerics.engine for p in found}


def compiled(text: str = TEXT, machine: Machine = HOST) -> set[Any]:
    return {key for key, engine in engines(text, machine).items() if engine == "fused"}


@pytest.mark.usefixtures("limit")
def test_cells_that_share_a_kernel_are_compiled_together() -> None:
    """Each of them alone is below the limit: a choice for each cell would compile none."""
    assert compiled() == {(name, T) for name in ("stem", "fedavg") for T in (8, 64)}
    assert not compiled(SHORT)
    assert not compiled(TEXT.replace("[8, 64]", "[64]"))
    assert not compiled(machine=Machine("cupy"))
    assert not compiled(TEXT.replace("b = 1", "b = 1\ndials = { rotate = true }"))
    for named in ('engine = "array"', 'noise_source = "host"', "per_sample = true"):
        assert not compiled(TEXT.replace("b = 1", f"b = 1\n{named}"))


@pytest.mark.usefixtures("limit")
def test_points_of_a_new_store_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are those that a store makes which knows the engines. Mutant: made anew once settled."""
    made: list[Any] = []
    whole = points_of._Maker.point

    def point(self: Any, own: Any) -> Any:
        made.append(own)
        return whole(self, own)

    monkeypatch.setattr(points_of._Maker, "point", point)
    machine, found = settle(small(TEXT), HOST)
    assert "fused" in machine.engines.values()
    assert len(made) == len(found) == 6
    again, known = settle(small(TEXT), machine)
    assert (again, known) == (machine, found)
    assert [p.cell.id for p in known] == [p.cell.id for p in found]


@pytest.mark.usefixtures("limit")
def test_what_is_another_kernel_does_not_count() -> None:
    """Two losses, or two types of numbers, make modules of their own; a size or a dial does not."""
    for axis in ('problem = ["cosine", "quadratic"]', 'dtype = ["float32", "float64"]'):
        assert not compiled(TEXT.replace("T = [8, 64]", f"T = [32]\n{axis}"))
    for axis in ("K = [2, 4]", "sigma = [0.5, 1.0]", "seed = [0, 1]"):
        text = TEXT.replace("T = [8, 64]", f"T = [36]\n{axis}")
        assert compiled(text) == {("stem", 36), ("fedavg", 36)}


@pytest.mark.usefixtures("limit")
def test_points_that_share_a_cell_count_once() -> None:
    asked_twice = TEXT.replace("T = [8, 64]", "T = [64]\nepsilon = [0.1, 0.2]")
    assert not compiled(asked_twice)


@pytest.mark.usefixtures("limit")
def test_what_lies_in_the_cache_settles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    monkeypatch.setattr(source, "_loaded", {})  # what another test has loaded is not written again
    cold = engines(), engines(SHORT)
    run(small(TEXT), store=tmp_path / "warms.sqlite")
    assert list(tmp_path.glob("kernel_cosine_stem_*"))
    assert (engines(), engines(SHORT)) == cold


@pytest.mark.usefixtures("limit")
def test_a_sweep_holds_the_numbers_of_the_engine_it_names(tmp_path: Path) -> None:
    found = run(small(TEXT), store=tmp_path / "a.sqlite")
    with Store.reading(found.store) as store:
        results = {row.result.id: row.result for row in store.rows()}
    cells = {(p.algorithm, p.cell.T): p.cell for p in found.points}
    for name, engine in (("stem", "fused"), ("mime", "array")):
        cell = cells[name, 64]
        chosen = cell.run.algorithm
        alone = simulate(
            cell.run.problem.load(), chosen.name, algorithm_options=dict(chosen.options),
            T=64, b=1, I=2, replicates=4, engine=engine,
        )  # fmt: skip
        np.testing.assert_array_equal(results[cell.id].grad_sq, alone.grad_sq)
        assert json.loads(results[cell.id].provenance)["engine"] == engine


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(("first", "engine"), [(SHORT, "array"), (TEXT, "fused")])
def test_a_store_keeps_the_engines_that_it_settled(tmp_path: Path, first: str, engine: str) -> None:
    """Cells are added and taken away, and none changes its engine: what is there never runs again.

    A kernel that was not asked for before is settled then.
    """
    path = tmp_path / "s.sqlite"
    run(small(first), store=path)
    for text in (TEXT.replace("[8, 64]", "[8, 64, 128]"), SHORT):
        found = run(small(text), store=path).points
        assert {p.cell.run.numerics.engine for p in found} == {engine, "array"}
    assert run(small(first), store=path).ran == 0
    other = run(small(TEXT.replace('"cosine"', '"quadratic"')), store=path)
    assert {p.cell.run.numerics.engine for p in other.points} == {"fused", "array"}


@pytest.mark.usefixtures("limit")
def test_a_store_made_without_the_compiler_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.sqlite"
    with monkeypatch.context() as without:
        without.setattr(fused, "missing", lambda: "numba is not installed")
        fused.say_missing.cache_clear()
        for name in ("s", "other"):
            run(small(TEXT), store=tmp_path / f"{name}.sqlite")
        assert capsys.readouterr().err.count("numba is not installed") == 1
    fused.say_missing.cache_clear()
    longer = run(small(TEXT.replace("[8, 64]", "[8, 64, 128]")), store=path)
    assert longer.ran == 3
    assert {p.cell.run.numerics.engine for p in longer.points} == {"array"}


@pytest.mark.usefixtures("limit")
def test_a_machine_that_cannot_go_on_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    run(small(TEXT), store=path)
    before = content(path)
    monkeypatch.setattr(fused, "missing", lambda: "numba is not installed")
    assert run(small(TEXT), store=path).ran == 0
    with pytest.raises(UsageError, match="numba is not installed: install it, or start another"):
        run(small(TEXT.replace("[8, 64]", "[8, 64, 128]")), store=path)
    assert content(path) == before


def test_to_insist_on_what_cannot_be_compiled_is_an_error_with_its_line() -> None:
    text = TEXT.replace("b = 1", 'b = 1\nengine = "fused"')
    with pytest.raises(UsageError, match=r"line 15: grids.main: engine fused cannot be used"):
        engines(text)


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

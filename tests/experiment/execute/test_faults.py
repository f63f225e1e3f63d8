"""Workers that die, raise, return NaN or run out of memory: the culprit is named, nobody else."""

import importlib.util
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.execute import executors, workers
from stemtheory.experiment.execute.drive import drive
from stemtheory.experiment.execute.executors import open_executor
from stemtheory.experiment.faults import WorkersLostError
from stemtheory.experiment.sweep import SweepResult, run_sweep
from stemtheory.runtime.errors import UsageError
from tests.experiment.sweeps import SMALL, content, small
from tests.helpers.sources import ROOT

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="processes die as on POSIX")
DASK = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="distributed is not installed"
)
FAULTY = """
[settings]
problem = "tests.experiment.faulty:ENTRY"
K = 2
dim = 2
T = 16
replicates = 3
[grids.g]
seed = {seeds}
dials.fault = {faults}
"""


OWN = """
[settings]
problem = "tests.helpers.example_loss:ENTRY"
K = 2
dim = 2
T = 16
replicates = 3
[algorithms.mine]
algorithm = "tests.helpers.example_algorithm:ENTRY"
[grids.g]
algorithm_options = { eta_g = [1.0, 1.5] }
seed = [0, 1]
"""


def faulty(faults: list[str], more: str = "", seeds: str = "[0, 1]") -> Any:
    quoted = ", ".join(f'"{fault}"' for fault in faults)
    return small(FAULTY.format(faults=f"[{quoted}]", seeds=seeds) + more, name="faulty")


@pytest.fixture(autouse=True)
def _where_the_entry_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def nameless(reason: str) -> str:
    """Return a reason without the number of the line that it names."""
    return re.sub(r", line \d+\)", ")", reason)


OURS = "(your module tests.experiment.faulty)"


def by_fault(result: SweepResult) -> dict[str, set[tuple[str, str]]]:
    frame = result.frame
    return {
        str(fault): set(zip(rows["status"], rows["reason"].map(nameless), strict=True))
        for fault, rows in frame.groupby("dials.fault")
    }


@POSIX
def test_every_fault_is_its_own_cells_alone(tmp_path: Path) -> None:
    """With one job, the default; what was done beside it in the same chunk is kept."""
    faults = ["none", "segfault", "raise", "memory", "nan", "kill", "end", "exit", "base"]
    spec = faulty(faults, seeds="0")
    result = run_sweep(spec, store=tmp_path / "s.sqlite", chunk_seconds=1e9)
    found = by_fault(result)
    assert found["none"] == {("ok", "")}
    assert found["nan"] == {("diverged", "")}
    assert found["raise"] == {("failed", f"RuntimeError: this cell raises {OURS}")}
    assert found["exit"] == {("failed", f"SystemExit: the module ends it {OURS}")}
    assert found["base"] == {("failed", f"Odd: no exception {OURS}")}
    ((status, reason),) = found["memory"]
    assert (status, reason.split(":")[0]) == ("failed", "out of memory")
    twice = "its worker was killed twice, the second time by"
    assert found["segfault"] == {("failed", f"{twice} SIGSEGV")}
    short = "SIGKILL, as the system does when memory runs out"
    assert found["kill"] == {("failed", f"{twice} {short}")}
    ended = "its worker ended twice, the second time with exit code 7"
    assert found["end"] == {("failed", ended)}
    assert result.count("failed") == 7


@POSIX
def test_neighbours_of_a_fatal_cell_are_innocent(tmp_path: Path) -> None:
    """With two jobs, in other chunks and in its own, before it and behind it."""
    spec = faulty(["none", "end", "raise"])
    result = run_sweep(spec, store=tmp_path / "s.sqlite", jobs=2, chunk_seconds=0.01)
    assert by_fault(result)["none"] == {("ok", "")}
    assert result.count("failed") == 4
    run_sweep(faulty(["none"]), store=tmp_path / "clean.sqlite", executor="serial")
    store, alone = content(tmp_path / "s.sqlite"), content(tmp_path / "clean.sqlite")
    assert len(alone) == 2
    assert {id_: store[id_] for id_ in alone} == alone


def test_no_exception_of_a_cell_ends_a_sweep_in_this_process(tmp_path: Path) -> None:
    spec = faulty(["none", "exit", "base"])
    found = by_fault(run_sweep(spec, store=tmp_path / "s.sqlite", executor="serial"))
    assert found["none"] == {("ok", "")}
    assert found["exit"] == {("failed", f"SystemExit: the module ends it {OURS}")}
    assert found["base"] == {("failed", f"Odd: no exception {OURS}")}


@POSIX
def test_a_cell_that_kills_its_worker_once_is_innocent(tmp_path: Path) -> None:
    spec = faulty(["none", "kill-once"], f'dials.mark = "{tmp_path / "died"}"\n')
    result = run_sweep(spec, store=tmp_path / "s.sqlite", jobs=2, chunk_seconds=0.0)
    assert (tmp_path / "died").exists()
    assert set(result.frame["status"]) == {"ok"}


def test_failed_cells_are_run_again_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    spec = faulty(["none", "raise"])
    assert run_sweep(spec, store=path).ran == 4
    assert run_sweep(spec, store=path).ran == 0
    again = run_sweep(spec, store=path, retry_failed=True)
    assert (again.ran, again.count("failed")) == (2, 2)


def _cells(n: int = 4) -> list[Any]:
    machine = Machine("numpy")
    return [point.cell for point in points(small(), machine)][:n]


def test_workers_that_never_start_blame_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START", "raise SystemExit(3)")
    with pytest.raises(WorkersLostError, match=r"before it started \(exit code 3\)"):
        list(drive(_cells(), "processes", 1))


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_a_stop_begins_nothing_new(kind: str) -> None:
    done: list[Any] = []
    found: Iterator[Any] = drive(
        _cells(24), kind, 1, chunk_seconds=0.0, stopped=lambda: len(done) >= 3
    )
    for pairs in found:
        done += pairs
    assert 3 <= len(done) <= 5  # those in flight end
    assert len({cell.id for cell, _ in done}) == len(done)


def test_dask_that_is_not_installed_is_bad_usage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install stemtheory\[dask\]"):
        run_sweep(small(), store=tmp_path / "s.sqlite", dask="local")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a Dask cluster of two workers, each a process of one thread."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    before = Path.cwd()
    os.chdir(ROOT)  # its workers find the entry there
    try:
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as found:
            yield found
    finally:
        os.chdir(before)


@DASK
@POSIX
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_gives_the_same_bits(cluster: Any, tmp_path: Path) -> None:
    run_sweep(small(), store=tmp_path / "s.sqlite", dask=cluster.scheduler_address)
    run_sweep(small(), store=tmp_path / "here.sqlite")
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "here.sqlite")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_algorithm_and_a_problem_of_ones_own_have_the_same_bits_in_processes(
    jobs: int, tmp_path: Path
) -> None:
    run_sweep(small(OWN), store=tmp_path / "s.sqlite", jobs=jobs)
    here = run_sweep(small(OWN), store=tmp_path / "here.sqlite", executor="serial")
    assert set(here.frame["status"]) == {"ok"}
    assert here.frame["mean_grad_sq"].nunique() == 4
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "here.sqlite")


@DASK
@POSIX
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_so_they_do_on_dask(cluster: Any, tmp_path: Path) -> None:
    run_sweep(small(OWN), store=tmp_path / "s.sqlite", dask=cluster.scheduler_address)
    run_sweep(small(OWN), store=tmp_path / "here.sqlite")
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "here.sqlite")


@DASK
@POSIX
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_dask_worker_killed_in_mid_sweep_costs_nothing(cluster: Any, tmp_path: Path) -> None:
    text = SMALL.replace("T = [16, 32]", "T = [1600, 3200]")
    victims: list[int] = []

    def kill(progress: Any) -> None:
        if not victims:
            victims.append(next(iter(cluster.workers.values())).pid)
            os.kill(victims[0], signal.SIGKILL)

    result = run_sweep(
        small(text),
        store=tmp_path / "s.sqlite",
        dask=cluster.scheduler_address,
        chunk_seconds=0.0,
        progress=kill,
    )
    assert victims
    assert set(result.frame["status"]) == {"ok"}
    assert result.ran == 24
    run_sweep(small(text), store=tmp_path / "here.sqlite")
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "here.sqlite")


@DASK
@POSIX
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_cell_that_kills_every_dask_worker_fails_alone(cluster: Any, tmp_path: Path) -> None:
    result = run_sweep(
        faulty(["none", "kill"], seeds="0"),
        store=tmp_path / "s.sqlite",
        dask=cluster.scheduler_address,
        chunk_seconds=1e9,
    )
    found = by_fault(result)
    assert found["none"] == {("ok", "")}
    assert {status for status, _ in found["kill"]} == {"failed"}


@DASK
def test_a_scheduler_that_does_not_answer_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "TIMEOUT", 1)
    with (
        pytest.raises(UsageError, match="no Dask scheduler answers"),
        open_executor("dask", 1, "tcp://127.0.0.1:9"),
    ):
        pytest.fail("it was opened")


@DASK
@POSIX
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_workers_of_another_version_are_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "__version__", "99.0")
    with (
        pytest.raises(UsageError, match=r"but this is 99\.0"),
        open_executor("dask", 1, cluster.scheduler_address),
    ):
        pytest.fail("it was opened")

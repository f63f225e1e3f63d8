"""Whole sweeps: the same bits however they are run, resumed after any death, and honest tables."""

import contextlib
import csv
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stemtheory
from stemtheory.experiment.design.points import Machine
from stemtheory.experiment.execute.drive import chunks
from stemtheory.experiment.faults import SweepStopped
from stemtheory.experiment.store import tables
from stemtheory.experiment.store.results import Store
from stemtheory.experiment.sweep import Progress, run_sweep
from stemtheory.runtime import BLAS_THREADS, WAITING
from stemtheory.runtime.backend import resolve
from stemtheory.runtime.errors import UsageError
from tests.experiment.sweeps import SMALL, content, run, small
from tests.helpers.sources import ROOT


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of the small sweep, run by one job from start to end."""
    path = tmp_path_factory.mktemp("undisturbed") / "s.sqlite"
    assert run(small(), store=path).ran == 24
    return path


WAYS: dict[str, dict[str, Any]] = {
    "one process": {"jobs": 1, "executor": "auto"},
    "three processes": {"jobs": 3, "executor": "auto"},
    "threads": {"jobs": 3, "executor": "threads"},
    "chunks of one cell": {"chunk_seconds": 0.0},
    "one chunk": {"chunk_seconds": 1e9},
}


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
def test_the_bits_do_not_depend_on_how_it_is_run(
    how: dict[str, Any], undisturbed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    run(small(), store=path, **how)
    assert content(path) == content(undisturbed)


def test_the_order_of_cells_is_irrelevant(undisturbed: Path, tmp_path: Path) -> None:
    turned = SMALL.replace('"cosine", "quadratic"', '"quadratic", "cosine"')
    turned = turned.replace("[16, 32]", "[32, 16]").replace("[0, 0.5, 1]", "[1, 0, 0.5]")
    path = tmp_path / "s.sqlite"
    run(small(turned), store=path)
    assert content(path) == content(undisturbed)


def test_replicates_and_cells_draw_different_numbers(tmp_path: Path) -> None:
    text = "[settings]\nK = 2\ndim = 2\nT = 16\nreplicates = 20\n[grids.g]\nseed = [0, 1, 2, 3]\n"
    path = tmp_path / "s.sqlite"
    result = run(small(text), store=path, jobs=2, executor="auto", chunk_seconds=0.0)
    values = np.concatenate([r.grad_sq for r in result.results.values()])
    assert len(values) == 80
    assert len(np.unique(values)) == 80


def test_another_algorithm_changes_no_cell_of_the_others(undisturbed: Path, tmp_path: Path) -> None:
    alone = small(SMALL.replace("[algorithms.fedavg]\n", ""))
    run(alone, store=tmp_path / "s.sqlite")
    all_of_them, stem = content(undisturbed), content(tmp_path / "s.sqlite")
    assert len(stem) == 12
    assert {id_: all_of_them[id_] for id_ in stem} == stem


def test_a_resume_runs_only_what_is_missing(undisturbed: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    first = run(small(SMALL.replace("[0, 0.5, 1]", "[0.5]")), store=path)
    assert first.ran == 8
    rest = run(small(), store=path)
    assert (rest.ran, rest.cells_total) == (16, 24)
    stamp = path.stat().st_mtime_ns
    again = run(small(), store=path)
    assert again.ran == 0
    assert path.stat().st_mtime_ns == stamp  # nothing to do writes nothing
    assert content(path) == content(undisturbed)


@pytest.mark.skipif(resolve("auto").name != "numpy", reason="here cupy could run what is settled")
def test_auto_is_settled_when_the_sweep_is_created(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    spec = small(name="settled")
    with Store.writing(path) as store:
        store.remember("settled", "default", Machine("cupy", {"one": "array"}))
        store.remember("settled", "default", Machine("numpy", {"one": "fused", "two": "fused"}))
        # the first one counts
        assert store.machine("settled", "default") == Machine(
            "cupy", {"one": "array", "two": "fused"}
        )
    with pytest.raises(UsageError, match="backend cupy is not installed"):
        run(spec, store=path, dry_run=True)


def _sweep(path: Path, jobs: int) -> None:
    """Run the small sweep, cell by cell: the target of a process that will be killed."""
    run(small(), store=path, jobs=jobs, chunk_seconds=0.0)


def _killed(path: Path, seconds: float, size: int) -> bool:
    """Start the sweep and kill it without warning; return whether it had ended by then.

    That is some time after its store has reached a size, so that a busy machine, too, is caught at
    every stage of its work.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.experiment.test_sweep"])
    process = context.Process(target=_sweep, args=(path, 1))
    process.start()
    while process.is_alive() and not (path.exists() and _size(path) >= size):
        time.sleep(0.0005)
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode == 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_kill_9_at_twenty_random_moments_loses_and_changes_no_finished_cell(
    undisturbed: Path, tmp_path: Path
) -> None:
    expected = content(undisturbed)
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(9)))
    kills, store, counts = 0, 0, []
    while kills < 20 and store < 40:
        path = tmp_path / f"{store}.sqlite"
        seconds, size = generator.uniform(0, 0.02), generator.integers(0, 80_000)
        too_late = _killed(path, float(seconds), int(size) * (kills % 4 > 0))
        found = content(path)
        assert {id_: expected[id_] for id_ in found} == found
        assert not too_late or found == expected
        counts.append(len(found))
        kills += not too_late
        store += len(found) == 24
    assert kills == 20
    assert any(0 < n < 24 for n in counts)
    for n in range(store + 1):
        path = tmp_path / f"{n}.sqlite"
        run(small(), store=path)
        assert content(path) == expected


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads the table of processes")
def test_kill_9_leaves_no_workers_behind(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "s.sqlite"
    slow = SMALL.replace("T = [16, 32]", 'T = [20000, 32]\nengine = ["array"]')
    file = tmp_path / "slow.toml"
    file.write_text(slow, encoding="utf-8")
    with _command(file, path, "--jobs", "2") as process:
        workers = _wait_for_children(process)
        process.kill()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(workers) >= 2


def _command(file: Path, store: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "stemtheory", "sweep", str(file), "--store", str(store), *more]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _wait_for_children(process: subprocess.Popen[str], n: int = 2) -> list[int]:
    """Return the worker processes of a sweep once there are that many."""
    parent = process.pid
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8")
        # the pool's threads start them: look at every thread of the parent
        found = {int(pid) for pid in text.split()}
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
            for task in Path(f"/proc/{parent}/task").iterdir():
                found |= {int(p) for p in (task / "children").read_text(encoding="utf-8").split()}
        spawned = [pid for pid in found if b"execute.workers" in _cmdline(pid)]
        if len(spawned) >= n:
            return spawned
        time.sleep(0.02)
    process.kill()
    raise AssertionError("no workers were started")


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_a_signal_ends_the_command_cleanly(
    number: signal.Signals, jobs: int, tmp_path: Path
) -> None:
    # Long enough for any machine to be caught in the middle of it.
    text = "[settings]\nK = 2\ndim = 2\nreplicates = 2\nT = 400\n[grids.g]\n"
    file, path = tmp_path / "long.toml", tmp_path / "s.sqlite"
    file.write_text(f"{text}seed = {{from = 0, to = 1999, count = 2000}}\n", encoding="utf-8")
    with _command(file, path, "--jobs", str(jobs)) as process:
        deadline = time.monotonic() + 30
        while _rows(path) == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert out == ""
    assert err.startswith(f"{WAITING}\n")
    assert err.count("\n") == 2
    assert f"stopped by {number.name}" in err
    assert "run the same command" in err
    said = int(err.split(" cells written")[0].split()[-1])
    assert said == _rows(path) > 0
    assert {file.name for file in tmp_path.glob("s.sqlite*")} == {"s.sqlite", "s.sqlite.lock"}


HURRY = {"three, as a hand gives them": (3, 0.3), "a hundred at once": (100, 0.0)}


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("n", "gap"), HURRY.values(), ids=HURRY)
def test_signals_in_any_number_end_a_sweep_of_long_cells_at_once(
    n: int, gap: float, jobs: str, tmp_path: Path
) -> None:
    """With 130 in seconds, although the cells take ten minutes; and nothing is left running."""
    file, path = tmp_path / "long.toml", tmp_path / "s.sqlite"
    file.write_text(
        '[settings]\nproblem = "tests.experiment.faulty:ENTRY"\nK = 2\ndim = 2\nT = 16000\n'
        'replicates = 2\ndials.fault = "sleep"\n[grids.g]\nseed = [0, 1, 2]\n',
        encoding="utf-8",
    )
    with _command(file, path, "--jobs", jobs) as process:
        workers = _wait_for_children(process, int(jobs))
        start = time.monotonic()
        for _ in range(n):
            process.send_signal(signal.SIGINT)
            time.sleep(gap)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - start < 10
    assert out == ""
    assert "stopped by SIGINT" in err
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    run(small(), store=path)  # its lock is free


def _rows(path: Path) -> int:
    if not path.exists():
        return 0
    with Store.reading(path) as store:
        return len(store.statuses())


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
def test_a_signal_in_python_stops_after_the_cells_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    before = signal.getsignal(signal.SIGTERM)

    def stop(progress: Progress) -> None:
        if progress.done == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SweepStopped, match="5 cells written and 19 left") as caught:
        run(small(), store=path, chunk_seconds=0.0, progress=stop)
    assert caught.value.code == 143
    assert isinstance(caught.value, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(content(path)) == 5


def test_two_sweeps_on_one_store_end_with_one_result(tmp_path: Path, undisturbed: Path) -> None:
    file, path = tmp_path / "small.toml", tmp_path / "s.sqlite"
    file.write_text(SMALL, encoding="utf-8")
    both = [_command(file, path) for _ in range(2)]
    ends = [(p.communicate(timeout=60), p.returncode) for p in both]
    assert 0 in {code for _, code in ends}
    for (_, err), code in ends:
        assert code == 0 or "is being written by another sweep" in err
    assert content(path) == content(undisturbed)


def test_progress_counts_down(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(small(), store=tmp_path / "s.sqlite", chunk_seconds=0.0, progress=seen.append)
    assert [p.done for p in seen] == list(range(1, 25))
    assert [p.left for p in seen] == list(range(23, -1, -1))
    assert all(p.rate > 0 and p.eta is not None and p.eta >= 0 for p in seen)
    assert seen[-1].eta == pytest.approx(0, abs=1e-9)


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "none" / "s.sqlite"
    plan = run(small(), store=path, dry_run=True)
    assert not path.parent.exists()
    assert plan.forecast is not None
    assert plan.forecast.cells == 24
    assert plan.forecast.seconds > 0
    crowd = run(small(), store=path, dry_run=True, jobs=10**9).forecast
    assert crowd is not None
    assert crowd.seconds > plan.forecast.seconds / 1000  # no more at a time than there are cores
    assert set(plan.frame["status"]) == {"missing"}
    ran = run(small(), store=undisturbed, dry_run=True)
    assert ran.forecast is not None
    assert ran.forecast.cells == 0
    counted = sum(r.facts["samples_total"] * r.replicates for r in ran.results.values())
    assert plan.forecast.samples == pytest.approx(counted, rel=1e-12)


def test_the_frame_has_a_row_per_point_with_all_settings(undisturbed: Path) -> None:
    found = run(small(), store=undisturbed)
    frame = found.frame
    assert len(frame) == len(found.points) == 24
    assert set(found.points[0].cell.settings()) <= set(frame.columns)
    wanted = {"nu", "curve", "epsilon", "label", "mean_grad_sq", "stderr", "status"}
    assert wanted | {"samples_per_worker", "rounds", "clipped", "cell"} <= set(frame.columns)
    for point, (_, row) in zip(found.points, frame.iterrows(), strict=True):
        result = found.results[point.cell.id]
        assert row["mean_grad_sq"] == result.mean_grad_sq
        assert row["algorithm"] == point.algorithm
        assert (row["T"], row["b"], row["I"]) == (point.cell.T, point.cell.b, point.cell.I)


def test_coinciding_points_are_all_reported(tmp_path: Path) -> None:
    text = "[settings]\nK = 4\ndim = 2\nT = 15\nreplicates = 3\n[grids.g]\nnu = [0, 0.5, 1]\n"
    found = run(small(text), store=tmp_path / "s.sqlite")
    assert (found.ran, found.cells_total) == (1, 1)
    assert found.frame["nu"].tolist() == [0, 0.5, 1]
    assert found.frame["replicates_run"].tolist() == [3, 3, 3]
    assert len(set(found.frame["mean_grad_sq"])) == 1


def test_no_grouping_drops_a_row(tmp_path: Path) -> None:
    text = "[settings]\nK = 2\ndim = 2\nT = 16\nreplicates = 2\n[grids.a]\nnu = [0, 1]\n"
    found = run(small(f"{text}[grids.b]\nb = 2\nI = [2, 4]\n"), store=tmp_path / "s.sqlite")
    assert found.frame["nu"].isna().sum() == 2
    assert found.frame.groupby("curve").size().to_dict() == {
        "b, I given": 2,
        "nu = 0": 1,
        "nu = 1": 1,
    }


def test_a_diverged_point_is_shown_and_has_no_mean(tmp_path: Path) -> None:
    text = (
        '[settings]\nproblem = "quadratic"\nK = 2\ndim = 2\nT = 400\nreplicates = 2\n'
        'schedule = "constant"\nschedule_options.a = 1\n'
        "[grids.g]\nschedule_options.eta = [0.1, 1e3]\n"
    )
    found = run(small(text), store=tmp_path / "s.sqlite")
    assert found.frame["status"].tolist() == ["ok", "diverged"]
    assert found.frame["mean_grad_sq"].isna().tolist() == [False, True]
    assert found.count("diverged") == 1


@pytest.fixture(scope="module")
def records(undisturbed: Path) -> list[dict[str, Any]]:
    with Store.reading(undisturbed) as store:
        return tables.cell_records(store.rows())


def test_csv_gives_back_every_digit(records: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tables.export_records(records, tmp_path / "out.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = {"T", "seed"}
    back = pd.DataFrame.from_records(
        [{k: int(v) if k in whole else _number(v) for k, v in row.items()} for row in rows]
    )
    _same(back, records)
    assert list(tmp_path.iterdir()) == [path]  # no part is left


def test_parquet_gives_back_every_digit(records: list[dict[str, Any]], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    _same(pd.read_parquet(tables.export_records(records, tmp_path / "out.parquet")), records)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _same(back: pd.DataFrame, records: Sequence[dict[str, Any]]) -> None:
    assert len(back) == len(records)
    for (_, row), record in zip(back.iterrows(), records, strict=True):
        for name in ("mean_grad_sq", "stderr", "b", "B", "wall_seconds", "T", "seed", "cell"):
            assert row[name] == record[name]
        assert json.loads(row["grad_sq"]) == record["grad_sq"]


def test_exports_that_cannot_be(records: list[dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must end in"):
        tables.export_records(records, tmp_path / "out.xlsx")
    with pytest.raises(UsageError, match="cannot be written"):
        tables.export_records(records, tmp_path / "no" / "out.csv")


def test_chunks_keep_the_order_and_the_cells() -> None:
    cells = [point.cell for point in run(small(), store="no.sqlite", dry_run=True).points]
    for seconds in (0.0, 0.01, 0.05, 1e9):
        parts = list(chunks(cells, seconds))
        assert [cell for part in parts for cell in part] == cells
        assert all(parts)
    assert len(list(chunks(cells, 0.0))) == 24
    assert len(list(chunks(cells, 1e9))) == 1


LOGISTIC = """
[settings]
problem = "logistic"
K = 4
dim = 300
T = 8
b = 2
I = 2
dials = { points = 512 }
[grids.g]
"""


@pytest.mark.slow
def test_the_bits_do_not_depend_on_the_threads_of_blas(tmp_path: Path) -> None:
    """At this size two threads of OpenBLAS sum otherwise than one; here or in a process."""
    file = tmp_path / "logistic.toml"
    file.write_text(LOGISTIC, encoding="utf-8")
    code = "import sys; from stemtheory import run_sweep as r; r(*sys.argv[1:2], store=sys.argv[2],"
    found = []
    for threads, kind in (("1", "serial"), ("2", "serial"), ("2", "processes"), ("2", "threads")):
        path = tmp_path / f"{kind}{threads}.sqlite"
        subprocess.run(
            [sys.executable, "-c", f"{code} executor='{kind}')", str(file), str(path)],
            env={**os.environ, **dict.fromkeys(BLAS_THREADS, threads)},
            cwd=ROOT,
            check=True,
        )
        found.append(content(path))
    assert len(found[0]) == 1
    assert found[1:] == found[:1] * 3


def test_the_front_door() -> None:
    assert stemtheory.run_sweep is run_sweep
    with pytest.raises(UsageError, match="did you mean margins"):
        run_sweep("margin")
    with pytest.raises(UsageError, match="jobs"):
        run_sweep("margins", jobs=0)
    with pytest.raises(UsageError, match="give one of them"):
        run_sweep("margins", dask="local", executor="threads")

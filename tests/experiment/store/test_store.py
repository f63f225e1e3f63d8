"""The store: exactly the finished cells, a clear word for every kind of trouble, nothing lost."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.cli import sweeps as cli_sweeps
from stemtheory.cli.app import main
from stemtheory.experiment.execute.work import failed, run_cell
from stemtheory.experiment.faults import (
    BusyStoreError,
    DamagedStoreError,
    FullStoreError,
    LostStoreError,
    StoreError,
)
from stemtheory.experiment.store import store_file
from stemtheory.experiment.store.lock import on_network, sole_writer
from stemtheory.experiment.store.results import Store
from stemtheory.experiment.sweep import Progress
from stemtheory.runtime.errors import UsageError
from tests.experiment.design.test_cells import CELL
from tests.experiment.sweeps import SMALL, content, other, run, small
from tests.helpers.sources import ROOT

CELLS = [other(CELL, seed=seed, T=16, record=3) for seed in range(30)]


@pytest.fixture(scope="module")
def results() -> list[Any]:
    return [(cell, run_cell(cell)) for cell in CELLS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, results: list[Any]) -> Path:
    """Return a store at rest with all cells."""
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    with Store.writing(path) as store:
        for pair in results:
            store.add([pair])
    return path


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory, results: list[Any]) -> Path:
    """Return a store as a killed writer leaves it: five cells at rest, ten in the log."""
    folder = tmp_path_factory.mktemp("torn")
    path = folder / "live" / "s.sqlite"
    with Store.writing(path) as store:
        store.add(results[:5])
    with Store.writing(path) as store:
        for pair in results[5:15]:
            store.add([pair])
        (folder / "dead").mkdir()
        for file in path.parent.glob("s.sqlite*"):
            shutil.copy(file, folder / "dead" / file.name)
    return folder / "dead" / "s.sqlite"


def copy(path: Path, folder: Path) -> Path:
    """Copy a store with its log; not its index of the log, which a crash need not leave."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (path.name, f"{path.name}-wal"):
        if (path.parent / name).exists():
            shutil.copy(path.parent / name, folder / name)
    return folder / path.name


def files(path: Path) -> dict[str, bytes]:
    """Return the bytes of the store and of its log."""
    names = (path.name, f"{path.name}-wal")
    return {n: (path.parent / n).read_bytes() for n in names if (path.parent / n).exists()}


def test_what_is_written_comes_back_to_the_last_bit(whole: Path, results: list[Any]) -> None:
    with Store.reading(whole) as store:
        rows = {row.result.id: row for row in store.rows()}
    assert len(rows) == len(results)
    for cell, result in results:
        row = rows[cell.id]
        back = row.result
        for name in ("grad_sq", "last", "best", "diverged_at"):
            assert getattr(back, name).tobytes() == getattr(result, name).tobytes()
        assert back.mean_grad_sq == result.mean_grad_sq
        assert back.trace == result.trace
        assert back.facts == result.facts
        assert row.settings == {**cell.settings(), "x1": cell.run.x1}
        assert '"numpy"' in back.provenance
        assert row.finished > 1.6e9


def test_at_rest_a_store_is_one_file(whole: Path) -> None:
    names = {file.name for file in whole.parent.iterdir()}
    assert names == {"s.sqlite", "s.sqlite.lock"}


def test_a_cell_is_written_once_and_a_failed_one_may_be_replaced(
    tmp_path: Path, results: list[Any]
) -> None:
    (cell, result), (other, other_result) = results[:2]
    with Store.writing(tmp_path / "s.sqlite") as store:
        store.add([(cell, failed(cell, "first"))])
        store.add([(other, other_result)])
        assert store.statuses() == {cell.id: "failed", other.id: "ok"}
        store.add([(cell, result)])
        store.add([(cell, failed(cell, "again")), (other, failed(other, "again"))])
        assert store.statuses() == {cell.id: "ok", other.id: "ok"}


def vanish(path: Path) -> None:
    for file in path.parent.glob("s.sqlite*"):
        file.unlink()


def swap(path: Path) -> None:
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").replace(path)


@pytest.mark.parametrize("harm", [vanish, swap])
def test_a_store_that_is_deleted_or_replaced_while_it_is_written_stops_the_sweep(
    harm: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    seen = []

    def after(progress: Progress) -> None:
        seen.append(progress.done)
        if len(seen) == 3:
            harm(path)

    with pytest.raises(LostStoreError, match=r"s\.sqlite was deleted or replaced while its sweep"):
        run(small(), store=path, chunk_seconds=0.0, progress=after)
    assert seen == [1, 2, 3]  # the cell in flight is the last
    assert run(small(), store=path).ran == 24
    assert len(content(path)) == 24
    vanish(path)
    seen.clear()
    monkeypatch.setattr(
        "stemtheory.experiment.store.results.identity", lambda path: (0, 0)
    )  # mutant
    lost = run(small(), store=path, chunk_seconds=0.0, progress=after)
    assert lost.ran == 24
    assert not path.exists() or len(content(path)) < 24


def test_a_store_deleted_while_it_is_written_is_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, path = tmp_path / "small.toml", tmp_path / "s.sqlite"
    file.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(cli_sweeps, "terminal_progress", lambda: lambda progress: vanish(path))
    assert main(["sweep", str(file), "--store", str(path)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "run the same command again" in err


def cuts(size: int) -> Iterator[int]:
    """Yield lengths to cut a file of ``size`` bytes to: page ends, middles, and odd ones."""
    yield from (0, 1, 15, 99, 100, 101, 4095, size - 1, size - 100, size - 4096)
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(49)))
    yield from (int(n) for n in generator.integers(1, size - 1, 60))
    yield from range(4096, size, 4096)


def test_a_cut_main_file_is_refused_and_nothing_is_touched(whole: Path, tmp_path: Path) -> None:
    size = whole.stat().st_size
    for n, length in enumerate(cuts(size)):
        path = copy(whole, tmp_path / str(n))
        os.truncate(path, length)
        before = files(path)
        with pytest.raises(DamagedStoreError) as caught, Store.writing(path):
            pytest.fail(f"a store cut to {length} of {size} bytes was opened")
        assert "was not touched" in str(caught.value)
        assert ".recover" in str(caught.value)
        assert files(path) == before
        with pytest.raises(DamagedStoreError), Store.reading(path) as store:
            store.verify()


def test_a_wrong_number_is_noticed(whole: Path, tmp_path: Path) -> None:
    path = copy(whole, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE cells SET mean_grad_sq = mean_grad_sq * 1.0000001")
        connection.commit()
    before = files(path)
    with pytest.raises(DamagedStoreError, match="altered"), Store.writing(path):
        pytest.fail("it was opened")
    with pytest.raises(DamagedStoreError, match="altered"), Store.reading(path) as store:
        list(store.rows())
    assert files(path) == before


def test_a_log_cut_anywhere_loses_only_what_was_cut(
    torn: Path, tmp_path: Path, results: list[Any]
) -> None:
    expected = content(copy(torn, tmp_path / "whole"))
    assert len(expected) == 15
    size = (torn.parent / "s.sqlite-wal").stat().st_size
    kept = []
    for n, length in enumerate(sorted(cuts(size))):
        path = copy(torn, tmp_path / str(n))
        os.truncate(path.with_name("s.sqlite-wal"), length)
        found = content(path)
        assert {id_: expected[id_] for id_ in found} == found
        kept.append(len(found))
        if n % 10 == 0:  # the rest is written again, and everything is there
            with Store.writing(path) as store:
                store.add([p for p in results[:15] if p[0].id not in found])
            assert content(path) == expected
    assert kept == sorted(kept)
    assert kept[0] == 5
    # What tears the last commit costs the last commit, however little is missing.
    assert kept[-1] == 14


def test_a_log_without_its_store_is_left_alone(torn: Path, tmp_path: Path) -> None:
    path = copy(torn, tmp_path)
    path.unlink()
    before = files(path)
    with pytest.raises(DamagedStoreError, match="is missing, but its log"), Store.writing(path):
        pytest.fail("it was opened")
    assert files(path) == before


def test_other_files_and_versions_are_bad_usage(tmp_path: Path, whole: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, " * 100, encoding="utf-8")
    with pytest.raises(DamagedStoreError, match="not a database"), Store.writing(text):
        pass
    other = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(UsageError, match="not a store of sweeps"), Store.writing(other):
        pass
    newer = copy(whole, tmp_path / "newer")
    with contextlib.closing(sqlite3.connect(newer)) as connection:
        connection.execute(f"PRAGMA user_version = {store_file.SCHEMA_VERSION + 1}")
    before = files(newer)
    with pytest.raises(UsageError, match="schema version 2"), Store.writing(newer):
        pass
    assert files(newer) == before
    with pytest.raises(UsageError, match="does not exist"), Store.reading(tmp_path / "no"):
        pass
    with pytest.raises(UsageError, match="is not a file"), Store.writing(tmp_path):
        pass


def test_a_full_disk_keeps_what_was_written(tmp_path: Path, results: list[Any]) -> None:
    path = tmp_path / "s.sqlite"
    written = 0
    with pytest.raises(FullStoreError, match="no room is left"):  # noqa: SIM117, PT012
        with Store.writing(path, max_pages=20) as store:
            for pair in results:
                store.add([pair])
                written += 1
    assert 0 < written < len(results)
    assert len(content(path)) == written
    with Store.writing(path) as store:  # there is room again
        store.add(results)
    assert len(content(path)) == len(results)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder nobody can write")
def test_a_folder_that_cannot_be_written_is_an_error() -> None:
    for path in (Path("/proc/s.sqlite"), Path("/proc/no/s.sqlite")):
        with pytest.raises(UsageError, match="cannot be written"):
            run(small(), store=path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_can_be_read_and_not_written(whole: Path, tmp_path: Path) -> None:
    path = copy(whole, tmp_path / "s")
    path.parent.chmod(0o555)
    try:
        assert len(content(path)) == len(CELLS)
        with pytest.raises(UsageError, match="cannot be written"), Store.writing(path):
            pass
    finally:
        path.parent.chmod(0o755)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    code = (
        "import sys; from pathlib import Path\n"
        "from stemtheory.experiment.store.lock import sole_writer\n"
        "with sole_writer(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BusyStoreError, match=f"process {other.pid}"):
            run(small(), store=path)
        other.kill()  # the lock goes with its owner
        other.wait()
    with sole_writer(path), pytest.raises(BusyStoreError), sole_writer(path):
        pass
    assert run(small(), store=path).ran == 24


def test_a_store_is_read_while_it_is_written(tmp_path: Path, results: list[Any]) -> None:
    path = tmp_path / "s.sqlite"
    with Store.writing(path) as writer:
        writer.add(results[:3])
        with Store.reading(path) as reader:
            assert len(reader.statuses()) == 3
            writer.add(results[3:5])
            assert len(list(reader.rows())) == 5
    assert len(content(path)) == 5


def test_the_kind_of_journal_depends_on_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: list[Any]
) -> None:
    for network, expected in ((False, "wal"), (True, "delete")):
        monkeypatch.setattr(store_file, "on_network", lambda path, answer=network: answer)
        path = tmp_path / f"{expected}.sqlite"
        with Store.writing(path) as store:
            store.add(results[:2])
            with contextlib.closing(sqlite3.connect(path)) as connection:
                assert connection.execute("PRAGMA journal_mode").fetchone() == (expected,)
        assert len(content(path)) == 2


def test_a_killed_writer_of_a_network_file_system_loses_its_last_commit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: list[Any]
) -> None:
    monkeypatch.setattr(store_file, "on_network", lambda path: True)
    live, dead = tmp_path / "live" / "s.sqlite", tmp_path / "dead" / "s.sqlite"
    dead.parent.mkdir()
    with Store.writing(live) as store:
        store.add(results[:5])
        # pages go to the file before the commit, so that the journal is needed to take them back
        store._connection.execute("PRAGMA cache_size = 1")
        store._connection.execute("BEGIN IMMEDIATE")
        store._connection.execute("UPDATE cells SET reason = 'half a change'")
        for name in ("s.sqlite", "s.sqlite-journal"):
            shutil.copy(live.with_name(name), dead.with_name(name))
        store._connection.execute("ROLLBACK")
    before = {file.name: file.read_bytes() for file in dead.parent.iterdir()}
    with Store.reading(dead) as store:
        store.verify()
        assert len(store.statuses()) == 5
    assert {file.name: file.read_bytes() for file in dead.parent.iterdir()} == before
    with Store.writing(dead) as store:
        store.add(results[5:8])
    found = content(dead)
    assert set(found) == {cell.id for cell, _ in results[:8]}
    assert all(row[2] == "" for row in found.values())


def test_network_file_systems_are_known() -> None:
    mounts = (
        "/dev/sda / ext4 rw 0 0\nsrv:/home /home nfs4 rw 0 0\n/dev/sdb /home/scratch xfs rw 0 0\n"
        "//srv/x /mnt/with\\040space cifs rw 0 0\n"
    )
    assert on_network(Path("/home/me/s.sqlite"), mounts)
    assert on_network(Path("/mnt/with space/s.sqlite"), mounts)
    assert not on_network(Path("/home/scratch/s.sqlite"), mounts)
    assert not on_network(Path("/homes/s.sqlite"), mounts)


def test_any_other_trouble_of_sqlite_is_a_store_error(whole: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"), Store.reading(whole) as store:
        store.add([(CELLS[0], failed(CELLS[0], "no"))])  # a reader cannot write

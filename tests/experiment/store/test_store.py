"""The store: exactly the finished cells, a clear word for every kind of trouble, nothing lost."""

import contextlib
import errno
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory._version import __version__
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
from stemtheory.experiment.store.lock import sole_writer
from stemtheory.experiment.store.results import Store
from stemtheory.experiment.sweep import Progress
from stemtheory.runtime import STREAM_VERSION
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
    """Return a store as a writer leaves it that is killed in a transaction: five cells at rest.

    Pages of the transaction are in the file already, and the journal is needed to take them back.
    """
    folder = tmp_path_factory.mktemp("torn")
    live, dead = folder / "live", folder / "dead"
    dead.mkdir()
    with Store.writing(live / "s.sqlite") as store:
        store.add(results[:5])
        store._connection.execute("PRAGMA cache_size = 1")
        store._connection.execute("BEGIN IMMEDIATE")
        store._connection.execute("UPDATE cells SET reason = 'half a change'")
        for name in ("s.sqlite", "s.sqlite-journal"):
            shutil.copy(live / name, dead / name)
        store._connection.execute("ROLLBACK")
    return dead / "s.sqlite"


LOGS = ("", "-journal", "-wal")


def copy(path: Path, folder: Path) -> Path:
    """Copy a store with its journal."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content_ in files(path).items():
        (folder / name).write_bytes(content_)
    return folder / path.name


def files(path: Path) -> dict[str, bytes]:
    """Return the bytes of the store and of the logs beside it."""
    beside = [path.with_name(f"{path.name}{end}") for end in LOGS]
    return {file.name: file.read_bytes() for file in beside if file.exists()}


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
    harm: Callable[[Path], None], tmp_path: Path
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
    # a copy holds what was written before it was made
    assert run(small(), store=path).ran == (24 if harm is vanish else 21)
    assert len(content(path)) == 24


@pytest.mark.parametrize("harm", [vanish, swap])
def test_a_store_that_is_lost_after_its_last_cell_is_noticed_too(
    harm: Callable[[Path], None], tmp_path: Path, results: list[Any]
) -> None:
    def lose() -> None:
        with Store.writing(tmp_path / "s.sqlite") as store:
            store.add(results[:2])
            harm(tmp_path / "s.sqlite")

    with pytest.raises(LostStoreError):
        lose()


def test_a_store_deleted_while_it_is_written_is_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, path = tmp_path / "small.toml", tmp_path / "s.sqlite"
    file.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(cli_sweeps, "counted", lambda told: lambda progress: vanish(path))
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


def test_the_one_file_holds_every_finished_cell_between_two_writes(
    tmp_path: Path, results: list[Any]
) -> None:
    """So it may be copied or moved away while its sweep runs, or after a kill."""
    path, twin = tmp_path / "s.sqlite", tmp_path / "elsewhere.sqlite"
    with Store.writing(path) as store:
        for n in range(5):
            store.add(results[2 * n : 2 * n + 2])
            shutil.copyfile(path, twin)
            assert len(content(twin)) == 2 * n + 2


def test_a_killed_writer_loses_its_last_transaction_only(
    torn: Path, tmp_path: Path, results: list[Any]
) -> None:
    path = copy(torn, tmp_path)
    before = files(path)
    assert len(content(path)) == 5
    assert files(path) == before  # a reader leaves the journal to the next writer
    with Store.writing(path) as store:
        store.add(results[5:8])
    found = content(path)
    assert set(found) == {cell.id for cell, _ in results[:8]}
    assert all(row[2] == "" for row in found.values())


def test_a_journal_cut_anywhere_gives_no_wrong_cell(torn: Path, tmp_path: Path) -> None:
    """What cannot be taken back is refused, and nothing is touched."""
    expected = content(copy(torn, tmp_path / "whole"))
    refused = 0
    for n, length in enumerate(sorted(cuts((torn.parent / "s.sqlite-journal").stat().st_size))):
        path = copy(torn, tmp_path / str(n))
        os.truncate(path.with_name("s.sqlite-journal"), length)
        before = files(path)
        try:
            assert content(path) == expected
        except DamagedStoreError:
            refused += 1
            with pytest.raises(DamagedStoreError), Store.writing(path):
                pytest.fail("it was opened")
        assert files(path) == before
    assert refused > 10


@pytest.mark.parametrize("end", LOGS[1:])
def test_a_log_without_its_store_is_left_alone(end: str, torn: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(torn.with_name("s.sqlite-journal"), path.with_name(f"s.sqlite{end}"))
    before = files(path)
    with pytest.raises(DamagedStoreError, match="is missing, but its log"), Store.writing(path):
        pytest.fail("it was opened")
    assert files(path) == before


@pytest.mark.parametrize("end", LOGS[1:])
@pytest.mark.parametrize("length", [0, 1, 50, 200])
def test_a_stump_beside_its_log_is_looked_at_and_not_opened(
    end: str, length: int, torn: Path, whole: Path, tmp_path: Path
) -> None:
    """SQLite takes it for an empty database, and deletes the log that may hold every cell."""
    path = copy(torn, tmp_path)
    path.with_name("s.sqlite-journal").rename(path.with_name(f"s.sqlite{end}"))
    path.write_bytes(whole.read_bytes()[:length])
    before = files(path)
    for way in (Store.reading, Store.writing):
        with (
            pytest.raises(DamagedStoreError, match=rf"sqlite{end} beside it may hold"),
            way(path),
        ):
            pytest.fail("it was opened")
        assert files(path) == before


def test_a_header_that_speaks_of_a_log_that_is_missing_is_said(whole: Path, tmp_path: Path) -> None:
    """As where another tool changed the journal, and then the file alone was moved."""
    path = copy(whole, tmp_path / "here")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DELETE FROM cells WHERE rowid > 10")
        connection.commit()
        (tmp_path / "with").mkdir()
        for file in files(path):
            shutil.copy(path.with_name(file), tmp_path / "with" / file)
        shutil.copy(path, tmp_path / "alone.sqlite")
    assert len(content(tmp_path / "with" / "s.sqlite")) == 10
    for way in (Store.reading, Store.writing):
        with (
            pytest.raises(DamagedStoreError, match=r"alone\.sqlite-wal, which is not beside it"),
            way(tmp_path / "alone.sqlite"),
        ):
            pytest.fail("it was opened")


@pytest.mark.parametrize("text", ["not a database, " * 100, "[grids.g]\nT = 16\n", "x", "PK\x03"])
def test_another_file_is_called_that(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text(text, encoding="utf-8")
    for way in (Store.reading, Store.writing):
        with pytest.raises(UsageError, match=r"other\.toml is not a store of sweeps"), way(path):
            pytest.fail("it was opened")
    assert path.read_text(encoding="utf-8") == text


def test_other_databases_and_versions_are_bad_usage(tmp_path: Path, whole: Path) -> None:
    other_ = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(other_)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(UsageError, match="not a store of sweeps"), Store.writing(other_):
        pass
    for version, said in ((1, "version 1, of stemtheory 0.1, but"), (4, "schema version 4, but")):
        path = copy(whole, tmp_path / str(version))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        before = files(path)
        for way in (Store.reading, Store.writing):
            with pytest.raises(UsageError, match=said), way(path):
                pass
        assert files(path) == before
    with pytest.raises(UsageError, match="does not exist"), Store.reading(tmp_path / "no"):
        pass
    with pytest.raises(UsageError, match="is not a file"), Store.writing(tmp_path):
        pass


def test_cells_of_two_versions_of_the_package_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may compute other numbers; what is complete can still be read."""
    path = tmp_path / "s.sqlite"
    half = small(SMALL.replace("[0, 0.5, 1]", "[0.5]"))
    run(half, store=path)
    before = content(path)
    monkeypatch.setattr("stemtheory.experiment.store.results.__version__", "99.0")
    with pytest.raises(UsageError, match=rf"cells of stemtheory {__version__}, but this is 99\.0"):
        run(small(), store=path)
    assert content(path) == before
    assert run(half, store=path).ran == 0


def test_cells_of_two_stream_versions_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers differ: the old ones keep their rows, and all run again as other cells."""
    path, half = tmp_path / "s.sqlite", SMALL.replace("[0, 0.5, 1]", "[0.5]")
    with monkeypatch.context() as patch:
        patch.setattr("stemtheory.experiment.design.cells.STREAM_VERSION", STREAM_VERSION - 1)
        assert run(small(half), store=path).ran == 8
    before = content(path)
    again = run(small(half), store=path)
    assert again.ran == 8
    assert len(content(path)) == 16
    assert before.items() <= content(path).items()
    assert not before.keys() & again.results.keys()
    assert run(small(half), store=path).ran == 0


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


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_of_the_file_system_a_sweep_runs_and_a_second_is_refused(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some clusters; who holds the store is named, and whether it has ended."""

    def unknown(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", unknown)
    path = tmp_path / "s.sqlite"
    owner = path.with_name("s.sqlite.owner")
    with Store.writing(path):
        with pytest.raises(BusyStoreError, match=f"process {os.getpid()} on .* since"):
            run(small(), store=path)
        assert owner.exists()
    assert run(small(), store=path).ran == 24
    assert not owner.exists()
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    owner.write_text(f"{ended} {platform.node()} 2026-01-01 00:00:00\n", encoding="utf-8")
    with pytest.raises(BusyStoreError, match=r"has ended\).*remove .*s\.sqlite\.owner"):
        run(small(SMALL.replace("[16, 32]", "[64]")), store=path)
    assert len(content(path)) == 24  # to read takes no lock


def test_another_trouble_of_a_lock_is_not_another_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("fcntl.flock", broken)
    with pytest.raises(UsageError, match=r"cannot be written \(Input/output error\)"):
        run(small(), store=tmp_path / "s.sqlite")


def test_a_lock_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite.lock").mkdir()  # as one of somebody else is for everybody but root
    with pytest.raises(UsageError, match=r"sqlite\.lock, which locks the store, cannot be opened"):
        run(small(), store=tmp_path / "s.sqlite")


def test_one_store_under_two_names_is_one(tmp_path: Path) -> None:
    """A lock and a journal lie beside the file itself; beside a hard link they cannot be seen."""
    path, link, hard = (tmp_path / name for name in ("a/s.sqlite", "link.sqlite", "hard.sqlite"))
    with Store.writing(path):
        link.symlink_to(path)
        with pytest.raises(BusyStoreError):
            run(small(), store=link)
    assert run(small(), store=link).ran == 24
    assert run(small(), store=path).ran == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "link.sqlite"]
    hard.hardlink_to(path)
    for name in (path, hard):
        with pytest.raises(UsageError, match=r"has 2 names \(hard links\)"):
            run(small(SMALL.replace("[16, 32]", "[64]")), store=name)
    assert len(content(hard)) == 24


def test_long_names_work_or_are_one_sentence(tmp_path: Path) -> None:
    assert run(small(), store=tmp_path / ("s" * 238 + ".sqlite")).ran == 24  # 245 letters
    for n in (248, 255, 300):
        with pytest.raises(UsageError, match=f"name has {n} bytes.* at most 247"):
            run(small(), store=tmp_path / ("s" * n))


def test_any_other_trouble_of_sqlite_is_a_store_error(whole: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"), Store.reading(whole) as store:
        store.add([(CELLS[0], failed(CELLS[0], "no"))])  # a reader cannot write

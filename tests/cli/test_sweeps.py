"""The commands sweep and results: documents, exit codes, one sentence for every trouble."""

import contextlib
import json
import os
import sqlite3
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stemtheory.cli import sweeps as cli_sweeps
from stemtheory.cli.app import main
from stemtheory.experiment import MOST_JOBS
from stemtheory.experiment.design.rules import rules
from stemtheory.experiment.design.spec import load_spec
from stemtheory.experiment.execute import workers
from stemtheory.experiment.execute.workers import Processes
from stemtheory.experiment.sweep import Progress, run_sweep
from tests.experiment.sweeps import SMALL, run, small

Capture = pytest.CaptureFixture[str]


def ask(capsys: Capture, *argv: str, code: int = 0) -> Any:
    """Run a command with --json and return its document; nothing else may be printed."""
    assert main([*argv, "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out, parse_constant=pytest.fail)


def refused(capsys: Capture, *argv: str, code: int) -> str:
    """Run a command that fails and return its one sentence."""
    assert main(list(argv)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    run_sweep(small(), store=path)
    return path


def test_a_sweep_runs_and_resumes(
    file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = ask(capsys, "sweep", str(file))
    assert found["store"] == str(Path("results") / "small.sqlite")
    assert (found["cells_total"], found["cells_done"], found["cells_failed"]) == (24, 24, 0)
    assert found["cells_ran"] == 24
    assert found["fits"] == []
    again = ask(capsys, "sweep", str(file))
    assert (again["cells_done"], again["cells_ran"]) == (24, 0)
    assert main(["sweep", str(file)]) == 0
    assert "done 24 (0 now" in capsys.readouterr().out


def test_the_built_in_sweep_from_end_to_end(tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / "m.sqlite")
    plan = ask(capsys, "sweep", "margins", "--quick", "--store", path, "--dry-run")
    assert plan["forecast"]["cells"] == plan["cells_total"] == plan["cells_left"]
    assert plan["forecast"]["samples"] > 0
    assert not Path(path).exists()
    found = ask(capsys, "sweep", "margins", "--quick", "--store", path)
    assert found["cells_done"] == found["cells_total"]
    assert found["cells_left"] == 0


def test_a_thousand_jobs_are_as_many_as_help(
    file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def noted(jobs: int) -> Processes:
        opened.append(jobs)
        return Processes(jobs)

    monkeypatch.setattr(workers, "Processes", noted)
    path = str(tmp_path / "s.sqlite")
    assert main(["sweep", str(file), "--store", path, "--jobs", "1000"]) == 0
    assert f"jobs 1000: {MOST_JOBS} are run at a time" in capsys.readouterr().err
    assert opened == [MOST_JOBS]


def test_what_a_cell_prints_is_not_in_the_document(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file.write_text(
        '[settings]\nproblem = "tests.experiment.faulty:ENTRY"\nK = 2\ndim = 2\nT = 16\n'
        'replicates = 2\n[grids.g]\ndials.fault = "print"\n',
        encoding="utf-8",
    )
    assert main(["sweep", str(file), "--store", str(tmp_path / "s.sqlite"), "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["cells_done"] == 1
    assert "a cell speaks" in err


def test_results_show_filter_and_export(store: Path, tmp_path: Path, capsys: Capture) -> None:
    rows = ask(capsys, "results", str(store))["rows"]
    assert len(rows) == 24
    some = ask(capsys, "results", str(store), "--where", "T == 32 and problem == 'cosine'")["rows"]
    assert some == [r for r in rows if r["T"] == 32 and r["problem"] == "cosine"] != []
    assert len(some[0]["grad_sq"]) == some[0]["replicates"]
    out = tmp_path / "out.csv"
    assert main(["results", str(store), "--where", "T == 32", "--export", str(out)]) == 0
    assert "written: " in capsys.readouterr().err
    assert len(out.read_text(encoding="utf-8").splitlines()) == 13
    assert main(["results", str(store)]) == 0
    shown = capsys.readouterr().out
    assert "mean_grad_sq" in shown
    assert "all with sync literal, K 2, dim 2" in shown


SWEPT = {
    "a dial": ('problem = "cosine"\ndials.spectrum = [1, 4]\n', "dials.spectrum"),
    "an option": ("algorithm_options.mu = [0.2, 0.5]\n", "algorithm_options.mu"),
    "a step": (
        'schedule = "constant"\nschedule_options = { eta = [0.1, 0.2], a = 1 }\n',
        "schedule_options.eta",
    ),
    "replicates": ("replicates = [2, 3]\n", "replicates"),
    "the first batch": ("B = [4, 8]\n", "B"),
}


@pytest.mark.parametrize(("axis", "column"), SWEPT.values(), ids=SWEPT)
def test_the_swept_column_is_shown(axis: str, column: str, tmp_path: Path, capsys: Capture) -> None:
    label = "fedprox" if "algorithm" in axis else "stem"
    text = f"[settings]\nK = 2\ndim = 2\nT = 16\nb = 2\nI = 2\n[algorithms.{label}]\n"
    run(small(f"{text}[grids.g]\n{axis}"), store=tmp_path / "s.sqlite")
    assert main(["results", str(tmp_path / "s.sqlite")]) == 0
    shown = capsys.readouterr().out
    (head,) = [line for line in shown.splitlines() if "mean_grad_sq" in line]
    assert head.split()[0] == column


def test_rows_come_in_the_order_of_the_points(store: Path, tmp_path: Path, capsys: Capture) -> None:
    """Whatever came first when it ran: here the second half, and then a chunk at a time."""
    late = tmp_path / "late.sqlite"
    run(small(SMALL.replace("T = [16, 32]", "T = 32")), store=late)
    run(small(), store=late, chunk_seconds=0.0)
    cells = [
        [row["cell"] for row in ask(capsys, "results", str(path))["rows"]] for path in (store, late)
    ]
    assert cells[0] == cells[1] == [point.cell.id for point in run(small(), store=store).points]


def test_every_null_of_the_rows_has_a_reason(store: Path, capsys: Capture) -> None:
    found = ask(capsys, "results", str(store))
    empty = {name for row in found["rows"] for name, value in row.items() if value is None}
    assert {f"rows[].{name}" for name in empty} == set(found["reasons"])


def test_bad_usage_is_one_sentence(file: Path, store: Path, capsys: Capture) -> None:
    assert "did you mean margins" in refused(capsys, "sweep", "margin", code=2)
    assert "exclude each other" in refused(capsys, "sweep", "margins", "--quick", "--full", code=2)
    assert "jobs is '1.5'" in refused(capsys, "sweep", "margins", "--jobs", "1.5", code=2)
    assert "does not exist" in refused(capsys, "results", "none.sqlite", code=2)
    assert "is not a file" in refused(capsys, "results", str(store.parent), code=2)
    assert "no column nope" in refused(
        capsys, "results", str(store), "--where", "nope == 1", code=2
    )
    assert "no row" in refused(
        capsys, "results", str(store), "--where", "T == 1", "--export", "x.csv", code=2
    )
    file.write_text(SMALL + "colour = 3\n", encoding="utf-8")
    assert "small.toml, line 13: grids.main.colour" in refused(capsys, "sweep", str(file), code=2)


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[{}.settings]\ncolour = 3\n", 14, "settings.colour is no key of a sweep"),
        ("[{}.grids.main]\nT = [16, 1.5]\n", 14, "grids.main.T is 1.5, but it must be a whole"),
        ('[{}.fits.f]\ny = "loss"\n', 14, "fits.f.y is 'loss', but it must be one of M"),
        ("[{}.grids.more]\nnu = []\n", 14, "grids.more.nu is an empty grid"),
    ],
)
def test_a_mistake_in_a_size_that_is_not_run_is_found_too(
    size: str, text: str, line: int, said: str, file: Path, capsys: Capture
) -> None:
    file.write_text(SMALL + text.format(size), encoding="utf-8")
    for flags in ((), ("--quick",), ("--full",)):
        found = refused(capsys, "sweep", str(file), "--dry-run", *flags, code=2)
        assert f"small.toml, line {line}: {said}" in found
    spec = load_spec(file)  # mutant: the size that is run is checked alone
    assert rules(spec) == ()


def test_a_size_may_hold_all_the_grids(tmp_path: Path, capsys: Capture) -> None:
    """What is no sweep without a flag may still be one with it; a size not written is not asked."""
    file = tmp_path / "q.toml"
    file.write_text(SMALL.replace("[grids", "[quick.grids"), encoding="utf-8")
    assert ask(capsys, "sweep", str(file), "--dry-run", "--quick")["points"] == 24
    assert "grids are missing" in refused(capsys, "sweep", str(file), "--dry-run", code=2)


DEEP = {
    "arrays": "x = " + "[" * 3000 + "]" * 3000,
    "inline tables": "x = " + "{a = " * 3000 + "1" + "}" * 3000,
    "a dotted key": ".".join("a" * 3000) + " = 1",
    "a header": f"[{'.'.join('a' * 3000)}]",
    "a size over another": f"[full.{'.'.join('a' * 500)}]\n[{'.'.join('a' * 500)}]",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_file_nested_without_end_is_one_sentence(
    text: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "deep.toml"
    file.write_text(f"{SMALL}[settings.dials]\n{text}\n", encoding="utf-8")
    said = refused(capsys, "sweep", str(file), "--full", code=2)
    assert "deep.toml is nested more than 20 levels deep: write it flat." in said


def test_damage_is_exit_1_with_a_hint(
    file: Path, store: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "cut.sqlite"
    path.write_bytes(store.read_bytes()[:-5000])
    before = path.read_bytes()
    for command in (("sweep", str(file), "--store", str(path)), ("results", str(path))):
        assert "is damaged" in refused(capsys, *command, code=1)
        assert path.read_bytes() == before


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_a_row_that_was_altered_is_found_before_any_is_written(
    form: str, store: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: rows go out as they are read, and the last one is the damaged one."""
    monkeypatch.setattr("stemtheory.cli.console.PIECES", 1)
    path = tmp_path / "altered.sqlite"
    path.write_bytes(store.read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        last = "(SELECT cell FROM places ORDER BY place DESC LIMIT 1)"
        assert connection.execute(f"UPDATE cells SET stderr = 9 WHERE id = {last}").rowcount == 1
    assert "was altered" in refused(capsys, "results", str(path), form, code=1)


def test_rows_are_never_held_all_at_once(capsys: Capture) -> None:
    """As JSON: 2000 rows of a text of 3 kB. Mutant: a list of them."""

    class Rows:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return ({"n": n, "text": str(n) * 1000, "null": None} for n in range(2000))

    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stemtheory.cli.console.PIECES", 10)
        patch.setattr("stemtheory.cli.console.write", lambda text: written.append(text[-50:]))
        tracemalloc.start()
        cli_sweeps.write_rows(Rows())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(written) > 200
    assert '"rows[].null": "the cell has none"' in written[-1] + written[-2]
    assert peak < 10**6


def test_a_diverged_or_failed_cell_is_exit_1(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "d.toml"
    file.write_text(
        '[settings]\nproblem = "quadratic"\nK = 2\ndim = 2\nT = 400\nreplicates = 2\n'
        'schedule = "constant"\nschedule_options.a = 1\n'
        "[grids.g]\nschedule_options.eta = [0.1, 1e3]\n",
        encoding="utf-8",
    )
    path = str(tmp_path / "d.sqlite")
    found = ask(capsys, "sweep", str(file), "--store", path, code=1)
    assert (found["cells_done"], found["cells_diverged"]) == (2, 1)
    rows = ask(capsys, "results", path, "--where", "status == 'diverged'")["rows"]
    assert [row["mean_grad_sq"] for row in rows] == [None]


def test_a_failed_cell_says_why(tmp_path: Path, capsys: Capture) -> None:
    """What cannot run is refused before it runs, so that a user's own problem fails here."""
    file = tmp_path / "f.toml"
    file.write_text(
        '[settings]\nproblem = "tests.experiment.faulty:ENTRY"\nK = 2\ndim = 2\nreplicates = 2\n'
        'dials.fault = "raise"\n[grids.g]\nb = 1\nI = 1\nT = [4, 8, 16]\n'
        '[fits.f]\nx = "T"\ny = "M"\ntheory = -1\ntolerance = 0.1\n',
        encoding="utf-8",
    )
    path = str(tmp_path / "f.sqlite")
    assert main(["sweep", str(file), "--store", path]) == 1
    said = " ".join(capsys.readouterr().out.split())  # a long path is wrapped
    assert f"why: stemtheory results {path} --where" in said
    assert said.index("without an exponent") < said.index("why:")  # what is to be done stands last
    assert said.endswith("the same command with --retry-failed")
    assert main(["results", path, "--where", "status == 'failed'"]) == 0
    assert "this cell raises" in capsys.readouterr().out


def test_progress_says_how_many_cells_are_done() -> None:
    told: list[str] = []
    cli_sweeps.counted(told.append)(Progress(3, 1, 5, 2.0, 200.0))
    assert told == ["3 done, 1 failed, 5 left; 2/s"]


def test_the_sweep_is_listed(capsys: Capture) -> None:
    rows = ask(capsys, "list", "sweeps")["sweeps"]
    assert "margins" in {row["name"] for row in rows}
    assert os.linesep not in "".join(row["summary"] for row in rows)

"""What is printed where: narrow terminals, closed streams, encodings that lack a letter."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemtheory.cli import console
from stemtheory.runtime import WAITING

ROOT = Path(__file__).parents[2]
COMMAND = f"{sys.executable} -m stemtheory"


class Terminal(io.StringIO):
    """A terminal; how wide it is stands in COLUMNS."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [10, 40, 200])
def test_no_digit_is_cut_off_on_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", str(columns))
    console.table(("bound", "value", "margin"), [["stem-repaired-explicit", 31.52, 1.234e-5]])
    for word in ("stem-repaired-explicit", "31.52", "1.234e-05", "value", "margin"):
        assert word in shown.getvalue()
    console.table(
        ("", ""), [["||grad f(x1)||^2", "0.6485"], ["measured M", "0.5127  (95% interval)"]]
    )
    for text in ("||grad f(x1)||^2   0.6485", "measured M         0.5127"):
        assert text in shown.getvalue()
    assert "…" not in shown.getvalue()


def test_text_keeps_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "40")
    console.line("a sentence of several words that is longer than the terminal is wide")
    assert max(len(text) for text in shown.getvalue().splitlines()) <= 40


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("list bounds >&-", 0), ("list nothing 2>&-", 2), ("doctor --json >&- 2>&-", 0)],
)
def test_a_closed_stream_changes_no_exit_code(redirection: str, code: int) -> None:
    done = subprocess.run(f"{COMMAND} {redirection}", shell=True, capture_output=True, cwd=ROOT)
    assert done.returncode == code
    assert b"error" not in done.stderr


def test_an_encoding_that_lacks_a_letter_shows_a_question_mark(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{COMMAND} run quadratic stem --T 60 --replicates 2 --out {tmp_path}/épreuve.npz",
        shell=True,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"/?preuve.npz" in done.stdout
    assert (tmp_path / "épreuve.npz").exists()


LOST = """
import gc, signal, sys, time
from stemtheory.cli import console

class Finaliser:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def work():
    try:
        Finaliser()  # what the handler raises here, Python prints and forgets
        print("still at work", flush=True)
        time.sleep(60)
    finally:
        time.sleep(1.5 * console.REMINDER)  # clean-up that the next alarm must not cut short
        print("cleaned up", flush=True)

sys.exit(console.guarded(work))
"""


def test_rows_of_csv_are_written_some_hundred_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column that any row has, lists as JSON. Mutant: one text of all of them."""
    written: list[str] = []
    monkeypatch.setattr(console, "write", written.append)
    rows: list[dict[str, object]] = [
        {"n": n, "text": 'a "b",\nc'} for n in range(2 * console.PIECES)
    ]
    rows.append({"list": [1, None]})
    console.csv(rows)
    assert len(written) == 3
    lines = list(csv.reader(io.StringIO("".join(written))))
    assert lines[0] == ["n", "text", "list"]
    assert lines[1] == ["0", 'a "b",\nc', ""]
    assert lines[-1] == ["", "", "[1, null]"]
    assert len(lines) == len(rows) + 1


def test_a_signal_that_a_finaliser_swallows_is_raised_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, cwd=ROOT, timeout=50
    )
    assert done.returncode == 143
    assert done.stdout == "still at work\ncleaned up\n"
    assert done.stderr.endswith("error: stopped by SIGTERM; no half-written file was left.\n")


LOUD = """
import os
import signal
from stemtheory.problems.quadratic import ENTRY
print("loud")
os.write(1, b"louder\\n")
"""


def test_with_json_stdout_is_one_document_whatever_a_module_prints(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "stemtheory", *["run", "loud:ENTRY", "stem", "--T", "8", "--json"]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["T"] == 8
    assert sorted(done.stderr.split()) == ["loud", "louder"]


LOUD_CALLS = """
import os
from stemtheory import load_problem
from stemtheory.oracles import ProblemMaker

def made(K, dim, **dials):
    print("loud")
    os.write(1, b"louder\\n")
    os.system("echo loudest")
    return load_problem("quadratic", K=K, dim=dim, **dials)

ENTRY = ProblemMaker(made)
"""
LOUD_MORE = """
import dataclasses
import os
from tests.helpers import example_claim, example_figure

def loud(work):
    def made(*given, **more):
        print("loud")
        os.write(1, b"louder\\n")
        os.system("echo loudest")
        return work(*given, **more)
    return made

CLAIM = dataclasses.replace(
    example_claim.CONTRACTION, compare=loud(example_claim.contraction)
)
FIGURE = dataclasses.replace(example_figure.ENTRY, table=loud(example_figure.table))
"""
LOUD_SWEEP = (
    '[settings]\nproblem = "loud_calls:ENTRY"\nK = 2\ndim = 2\nreplicates = 2\nT = 8\n'
    "[grids.g]\nI = [1, 2]\n"
)


@pytest.mark.parametrize(
    "command",
    [
        "run loud_calls:ENTRY stem --K 2 --dim 2 --T 8",
        "check loud_calls:ENTRY --K 2 --dim 2 --quick",
        "constants loud_calls:ENTRY --K 2 --dim 2 --T 8",
        "probe M1 --set problem=loud_calls:ENTRY",
        "verify loud_more:CLAIM --quick --jobs 1",
        "verify loud_more:CLAIM --quick --jobs 2 --mutants",
        "figure loud_more:FIGURE --quick --out .",
        "advise --epsilon 0.2 --problem loud_calls:ENTRY --K 2 --dim 2 --replicates 2",
        "sweep loud.toml --store s.sqlite --jobs 2",
        "sweep loud.toml --store s.sqlite --dry-run",
    ],
)
def test_with_json_stdout_is_one_document_whatever_a_problem_prints(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "loud_calls.py").write_text(LOUD_CALLS, encoding="utf-8")
    (tmp_path / "loud_more.py").write_text(LOUD_MORE, encoding="utf-8")
    (tmp_path / "loud.toml").write_text(LOUD_SWEEP, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "stemtheory", *command.split(), "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
    )
    assert done.returncode in (0, 1), done.stderr
    assert isinstance(json.loads(done.stdout), dict)
    assert {"loud", "louder", "loudest"} <= set(done.stderr.split())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["list bounds", "doctor --json"])
def test_a_full_disk_is_one_sentence(command: str) -> None:
    done = subprocess.run(
        f"{COMMAND} {command} >/dev/full", shell=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: stdout cannot be written (")
    assert done.stderr.count("\n") == 1
    assert subprocess.run(f"{COMMAND} list x 2>/dev/full", shell=True, cwd=ROOT).returncode == 2


WAITS = """
import multiprocessing, sys, time
from stemtheory.cli import console

def work():
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    try:
        print("at work", flush=True)
        time.sleep(60)
    finally:
        worker.join()  # as a pool does: what is in flight is finished

sys.exit(console.guarded(work))
"""


def test_a_first_signal_says_what_is_waited_for_and_a_second_ends_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.stderr.readline() == f"{WAITING}\n"
        time.sleep(0.5)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
        assert child.stderr.read().endswith("stopped by SIGINT; no half-written file was left.\n")


NO_SEMAPHORES = """
import sys
from concurrent import futures
from stemtheory.cli import main

def refused(*args, **options):
    raise FileNotFoundError(2, "No such file or directory")

if __name__ == "__main__":
    futures.ProcessPoolExecutor = refused  # what it does where there is no /dev/shm
    sys.exit(main(["verify", "U1", "U3", "SCH4", "--quick", "--jobs", "2"]))
"""


def test_without_shared_memory_one_process_does_it_all(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_SEMAPHORES], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0
    assert done.stderr.startswith("stemtheory: one process does it all")
    assert done.stderr.count("\n") == 1
    assert "none unexpected" in done.stdout


@pytest.mark.parametrize(
    ("handles", "command"),
    [
        (7, "run quadratic stem --T 60 --replicates 2 --plot {folder}/x.png"),
        (12, "verify U1 U3 SCH4 --quick --jobs 8"),
        (12, "sweep slack --quick --jobs 8 --store {folder}/s.sqlite"),
    ],
)
def test_few_file_handles_are_one_sentence(handles: int, command: str, tmp_path: Path) -> None:
    line = f"ulimit -n {handles}; exec {COMMAND} {command.format(folder=tmp_path)}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "too many " in done.stderr.lower()
    assert "ulimit -n" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x.png").exists()

"""Claims side by side: their workers end with the process that asked, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from stemtheory.runtime import WAITING
from tests.helpers.sources import ROOT

SLOW = [sys.executable, "-m", "stemtheory", "verify", "M7b", "M7", "--full", "--jobs", "2"]


def group(pid: int) -> set[int]:
    """Return the processes that this one started and that are alive, itself included."""
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(p) for p, g, state in rows if int(g) == pid and not state.startswith("Z")}


def until(size: int, pid: int, most: float) -> set[int]:
    """Return the processes of a group as soon as there are so many, or none where that is 0."""
    deadline, found = time.monotonic() + most, group(pid)
    while (len(found) < size or (found and not size)) and time.monotonic() < deadline:
        time.sleep(0.1)
        found = group(pid)
    return found


@pytest.fixture
def verifying() -> Iterator[subprocess.Popen[str]]:
    """Yield a ``verify`` of some minutes whose two workers have started."""
    with subprocess.Popen(
        SLOW, cwd=ROOT, stdout=-1, stderr=-1, text=True, start_new_session=True
    ) as process:
        try:
            assert len(until(4, process.pid, 90)) >= 4  # itself, the resource tracker, two workers
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_no_worker_outlives_a_killed_verify(verifying: subprocess.Popen[str]) -> None:
    verifying.kill()
    verifying.wait()
    assert until(0, verifying.pid, 30) == set()


@pytest.mark.slow
def test_a_second_signal_of_a_terminal_ends_verify(verifying: subprocess.Popen[str]) -> None:
    """A terminal sends it to workers too, who leave it to the process that asked."""
    assert verifying.stderr is not None
    os.killpg(verifying.pid, signal.SIGINT)
    assert verifying.stderr.readline() == f"{WAITING}\n"
    time.sleep(0.5)
    assert verifying.poll() is None
    os.killpg(verifying.pid, signal.SIGINT)
    assert verifying.wait(20) == 130
    said = verifying.stderr.read()
    assert said == "error: stopped by SIGINT; no half-written file was left.\n"
    assert until(0, verifying.pid, 30) == set()

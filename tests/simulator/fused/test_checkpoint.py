"""Killed and resumed, a run gives the same bits; a checkpoint of another run is refused."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import Trace, load_problem, simulate
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.fused import checkpoint as module
from stemtheory.simulator.fused import engine

SETTINGS: dict[str, Any] = {"T": 200, "b": 2, "I": 8, "replicates": 5, "record_every": 3}
FIELDS = ("grad_sq", "last", "best", "series", "running")


class KilledError(Exception):
    """What ends a run in these tests."""


def run(path: Path | None, problem: Any = None, **more: Any) -> Trace:
    return simulate(
        problem or load_problem("cosine", K=3, dim=5), engine="fused", checkpoint=path,
        **{**SETTINGS, **more},
    )  # fmt: skip


def kill_after(monkeypatch: pytest.MonkeyPatch, saves: int) -> None:
    """Save after every segment, and end the run right after some of them."""
    original, count = module.Checkpoint.save, [0]

    def save(self: module.Checkpoint, *args: Any) -> None:
        self.every = 0
        original(self, *args)
        count[0] += 1
        if count[0] == saves:
            raise KilledError

    monkeypatch.setattr(module.Checkpoint, "save", save)


@pytest.mark.parametrize("state_bytes", [1, 2**28])
@pytest.mark.parametrize("saves", [1, 7, 20])
@pytest.mark.parametrize("threads", [(2, 2), (1, 2), (2, 1), (1, 3)])
def test_the_same_bits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saves: int,
    state_bytes: int,
    threads: tuple[int, int],
) -> None:
    """Killed inside of a round (13 is no multiple of 8), in the first group or in a later one.

    With another number of threads the groups of replicates are others.
    """
    if saves == 20 and state_bytes > 1:
        pytest.skip("one group is saved 16 times")
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    monkeypatch.setattr(engine, "STATE_BYTES", state_bytes)
    whole, path = run(None, threads=1), tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        kill_after(patch, saves)
        with pytest.raises(KilledError):
            run(path, threads=threads[0])
    assert path.exists()
    again = run(path, threads=threads[1])
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    assert again.counts == whole.counts
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("scaffold", {"option": "I"}),
        ("scaffold", {"option": "II"}),
        ("vrl-sgd", {}),
        ("mime", {}),
        ("fedpd", {"oracle": "II", "refresh": 2}),
        ("fedglomo", {}),
    ],
)
def test_what_a_system_keeps_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, options: dict[str, Any]
) -> None:
    """Killed inside of a round, whose step sizes so far count at its end."""
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    own: dict[str, Any] = {"algorithm": system, "algorithm_options": options}
    whole, path = run(None, **own), tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        kill_after(patch, 7)
        with pytest.raises(KilledError):
            run(path, **own)
    with pytest.raises(UsageError, match="belongs to another run"):
        run(path, **own, b=3)
    again = run(path, **own)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_a_part_of_theorem_rstar_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the sync batch of the part, and never as a run of another part's steps."""
    own: dict[str, Any] = {"schedule": "rstar", "I": 20}
    path = tmp_path / "state.npz"
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    whole = run(None, **own)
    with monkeypatch.context() as patch:
        kill_after(patch, 3)
        with pytest.raises(KilledError):
            run(path, **own)
    with pytest.raises(UsageError, match="another run"):
        run(path, **own, schedule_options={"part": "e"})
    again = run(path, **own)
    assert again.run.algorithm.settled["sync_batch"] == 3
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_a_lost_state_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: a checkpoint that forgets the state of the replicates."""
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    whole, path = run(None), tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        kill_after(patch, 3)
        with pytest.raises(KilledError):
            run(path)
    with np.load(path) as data:
        saved = dict(data)
    saved["state"][:] = 0
    np.savez(path, **saved)
    assert not np.array_equal(run(path).grad_sq, whole.grad_sq)


def test_another_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    kill_after(monkeypatch, 1)
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    with pytest.raises(KilledError):
        run(path)
    problem = load_problem("cosine", K=3, dim=5, sigma=0.7)
    for more in ({"seed": 1}, {"problem": problem}, {"sync": "overwrite"}, {"record_every": 4}):
        with pytest.raises(UsageError, match="belongs to another run"):
            run(path, **more)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UsageError, match="cannot be read"):
        run(path)


@pytest.mark.parametrize(
    "change",
    [
        {"state": np.zeros(1)}, {"at": np.array([0, 0])}, {"at": np.array([4, 2])},
        {"size": np.array(99)}, {"book": np.zeros((1, 5))}, {"more": np.zeros(1)}, {"series": None},
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """A row is not broadcast over a table, and there is no group beyond the replicates."""
    path = tmp_path / "run.npz"
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    with monkeypatch.context() as patch:
        kill_after(patch, 3)
        with pytest.raises(KilledError):
            run(path, threads=1)
    with np.load(path) as data:
        saved = {k: v for k, v in {**data, **change}.items() if v is not None}
    np.savez(path, **saved)
    with pytest.raises(UsageError, match=r"cannot be read \(.*\): remove it"):
        run(path, threads=1)


def test_only_the_fused_engine_saves(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only the fused engine saves"):
        simulate(load_problem("cosine"), T=8, checkpoint=tmp_path / "run.npz")


def test_a_path_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill_after(monkeypatch, 10)
    with pytest.raises(UsageError, match="cannot be written"):
        run(tmp_path / "no" / "folder.npz")


SCRIPT = """
import sys
from stemtheory import load_problem, simulate
from stemtheory.simulator.fused import checkpoint, engine
engine.MOST_STEPS = 500
original = checkpoint.Checkpoint.save
def save(self, *args):
    self.every = 0
    original(self, *args)
checkpoint.Checkpoint.save = save
simulate(load_problem("cosine", K=3, dim=5), engine="fused", checkpoint=sys.argv[1],
         T=80_000, b=2, I=8, replicates=5, record_every=1000)
"""


@pytest.mark.slow
def test_killed_by_a_signal(tmp_path: Path) -> None:
    """A process that is killed outright leaves a file from which another one goes on."""
    path = tmp_path / "run.npz"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while not path.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert path.exists()
    settings = {"T": 80_000, "record_every": 1000}
    resumed, whole = run(path, **settings), run(None, **settings)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


@pytest.mark.parametrize("name", ["none/run.npz", "/proc/run.npz"])
def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be written .*choose another path"):
        run(tmp_path / name)


def test_another_formula_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the same name, with the same dials and constants."""
    one: Any = load_problem("cosine", K=3, dim=5)

    def slope(x: Any, *arguments: Any) -> Any:
        return 2 * x

    other = dataclasses.replace(one, family=dataclasses.replace(one.family, slope=slope))
    kill_after(monkeypatch, 1)
    monkeypatch.setattr(engine, "MOST_STEPS", 13)
    with pytest.raises(KilledError):
        run(tmp_path / "run.npz", one)
    with pytest.raises(UsageError, match="belongs to another run"):
        run(tmp_path / "run.npz", other)

"""What a run holds in memory is predicted, said and refused before it runs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from stemtheory import UsageError, load_problem, simulate
from stemtheory.cli.app import main
from stemtheory.simulator import Run, memory, simulation


def test_what_a_run_holds_grows_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def held(K: int = 1000, replicates: int = 8, recorded: int = 1) -> int:
        run = Run.of("cosine", "stem", K=K, dim=2, T=64, replicates=replicates)
        return memory.predicted_bytes(run, "array", recorded)

    least = held()
    assert least > 2000 * 8 * memory.BESIDE["array"]
    assert held(K=2000) > 1.9 * least
    assert held(replicates=1) < least < held(replicates=1000)
    assert held(recorded=10**6) > 8 * 10**6 * memory.RECORD_BYTES
    monkeypatch.setattr(memory, "machine_bytes", lambda: least - 1)
    with pytest.raises(UsageError, match=r"the run would hold about .* but this machine has"):
        memory.refuse_the_huge(Run.of("cosine", "stem", K=1000, dim=2, T=64, replicates=8), "array")


def test_a_run_is_measured_by_the_engine_that_holds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one worker that is the array engine: a kernel has eight steps' sums, as long as x."""
    run = Run.of(
        "cosine", "fedavg", K=1, dim=5000, T=16, b=1, I=8, replicates=1, engine="array"
    )  # fmt: skip
    compiled, arrays = (memory.predicted_bytes(run, name, 1, 1) for name in ("fused", "array"))
    assert compiled > 1.2 * arrays
    monkeypatch.setattr(memory, "machine_bytes", lambda: 1.1 * arrays)
    assert simulate(run, threads=1).status == "ok"
    monkeypatch.setattr(memory, "machine_bytes", lambda: 0.9 * arrays)
    with pytest.raises(UsageError, match="the run would hold"):
        simulate(run, threads=1)


MEASURED: dict[str, tuple[str, str, dict[str, int], dict[str, Any]]] = {
    "FedAvg with arrays": ("array", "fedavg", {"K": 100_000, "dim": 1}, {}),
    "STEM with arrays": ("array", "stem", {"K": 200_000, "dim": 1}, {}),
    "in longer rows": ("array", "stem", {"K": 300, "dim": 500}, {}),
    "of half the bytes": ("array", "stem", {"K": 200_000, "dim": 1}, {"dtype": "float32"}),
    "eight replicates": ("array", "stem", {"K": 50_000, "dim": 2}, {"replicates": 8}),
    "two groups in two threads": (
        "array", "stem", {"K": 50_000, "dim": 1}, {"replicates": 16, "threads": 2},
    ),
    "control variates": ("array", "scaffold", {"K": 100_000, "dim": 1}, {"replicates": 3}),
    "a long record": ("array", "fedavg", {"K": 2, "dim": 2}, {"T": 2000, "replicates": 200}),
    "STEM compiled": ("fused", "stem", {"K": 200_000, "dim": 4}, {}),
    "FedAvg compiled": ("fused", "fedavg", {"K": 400_000, "dim": 2}, {}),
    "FedPD compiled": ("fused", "fedpd", {"K": 200_000, "dim": 4}, {}),
    "FedGLOMO compiled": ("fused", "fedglomo", {"K": 200_000, "dim": 4}, {}),
    "compiled, in two threads": (
        "fused", "stem", {"K": 200_000, "dim": 4}, {"replicates": 4, "threads": 2},
    ),
    "compiled, few workers": (
        "fused", "fedavg", {"K": 2, "dim": 200_000}, {"I": 8, "replicates": 2, "threads": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEASURED)
def test_what_a_run_holds_is_within_a_factor_of_two_of_its_peak(name: str) -> None:
    """Mutant: what the lightest run held was said of all, a fifth of what others took."""
    engine, algorithm, sizes, more = MEASURED[name]
    if engine == "fused":
        pytest.importorskip("numba")
    options: dict[str, Any] = {
        "T": 4,
        "I": 2,
        "replicates": 1,
        "threads": 1,
        "dtype": "float64",
    } | more
    threads, T = options.pop("threads"), options.pop("T")
    numerics: dict[str, Any] = {"engine": engine, "backend": "numpy"}
    small = load_problem("cosine", K=2, dim=2)
    simulate(small, algorithm, T=2, threads=threads, **numerics, **options)  # compiled, imported
    recorded = range(1, T + 1) if T > 4 else (T,)
    tracemalloc.start()
    try:
        problem = load_problem("cosine", **sizes)
        trace = simulate(
            problem, algorithm, T=T, threads=threads, record_at=recorded, **numerics, **options
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    predicted = memory.predicted_bytes(trace.run, engine, len(recorded), threads)
    assert peak > 4e6
    assert 0.5 < predicted / peak < 2


@pytest.mark.parametrize(("every", "said"), [(1, True), (2, False), (0, False)])
def test_a_record_that_takes_much_is_said_before_the_run(
    every: int, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "LARGE_RECORD", 64 * 8 * 32)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt  # nothing has been run so far

    monkeypatch.setattr(simulation, "run_plan", stopped)
    problem = load_problem("cosine", K=2, dim=2)
    with pytest.raises(KeyboardInterrupt):
        simulate(problem, T=64, replicates=8, record_every=every)
    expected = (
        "stemtheory: the record of 64 iterations of 8 replicates takes 1.6e+04 bytes of memory"
        " while it is made, and 8.2e+03 in the trace or a .npz of it: a larger record_every, or"
        " record_at, takes less.\n"
    )
    assert capsys.readouterr().err == (expected if said else "")


def test_points_and_rows_of_data_are_counted(tmp_path: Path) -> None:
    def held(problem: str, b: int = 4, **dials: Any) -> int:
        run = Run.of(problem, "fedavg", K=2, dials=dials, T=4, b=b, I=1, replicates=8)
        return memory.predicted_bytes(run, "array", 1)

    assert held("logistic", points=20_000) > 100 * held("logistic", points=100)
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n" + "1,2,0\n3,4,1\n" * 20, encoding="utf-8")
    few, many = (held("logistic", b, data=str(file)) for b in (1, 1001))
    assert many - few == 8 * 8 * 2 * 1000 * 2  # replicates, bytes, workers, rows, columns


def test_a_large_record_is_said_before_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "cosine", "--T", "64", "--K", "2", "--dim", "2", "--replicates", "2"]
    command += ["--record-every", "1", "--out", str(tmp_path / "x.npz")]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(memory, "LARGE_BYTES", 1)
    assert main(command) == 0
    said = capsys.readouterr().err
    assert said.startswith(
        "the run holds about 4.8e+03 bytes where it is compiled, and 5.4e+03 with "
    )
    assert "2 replicates, 64 recorded iterations).\n" in said
    assert main([*command, "--json"]) == 0
    assert capsys.readouterr().err == ""

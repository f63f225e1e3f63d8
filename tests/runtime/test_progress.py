"""Work tells its own share, and who calls it says which part of the whole that is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stemtheory import load_problem, run_sweep, simulate, verify
from stemtheory.bounds import advise_on
from stemtheory.report import draw_figures
from stemtheory.runtime import counter, heard_by, listener, part, uncounted

Told = list[tuple[float, bool]]


def heard(work: Callable[[], object]) -> Told:
    """Return every share that work tells."""
    told: Told = []
    with heard_by(lambda share, found=False: told.append((share, found))):
        work()
    return told


def test_a_part_of_a_part() -> None:
    def work() -> None:
        with part(0.5, 1.0):
            listener()(0.5)
            with part(0.5, 1.0):
                listener()(0.5, True)
            with uncounted():
                listener()(0.1)

    assert heard(work) == [(0.75, False), (0.875, True), (1.0, False), (1.0, False)]


def test_a_counter_counts_in_threads() -> None:
    def work() -> None:
        add = counter(1000)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, [1.0] * 1000))

    shares = [share for share, _ in heard(work)]
    assert shares == sorted(shares)
    assert len(shares) == 1000
    assert shares[-1] == 1.0


PROBLEM = load_problem("quadratic", K=2, dim=2)


@pytest.mark.parametrize(
    "work",
    [
        lambda folder: simulate(PROBLEM, T=1000, replicates=40, engine="array", threads=2),
        lambda folder: simulate(PROBLEM, "fedavg", T=200_000, replicates=4, engine="fused"),
        lambda folder: verify(["U1", "U3", "ALG-1"], jobs=1),
        lambda folder: verify(["U1", "U3", "ALG-1"], jobs=2),
        lambda folder: run_sweep("slack", mode="quick", store=folder / "s.sqlite"),
        lambda folder: advise_on(PROBLEM, 1e-2, replicates=2),
        lambda folder: draw_figures(["margins", "tradeoff_curve"], mode="quick", out=folder),
    ],
    ids=["array", "fused", "verify", "verify-2", "sweep", "advise", "figure"],
)
def test_whatever_takes_long_tells_how_much_of_it_is_done(
    work: Callable[[Path], object], tmp_path: Path
) -> None:
    """Up to 1 at the end: what a command shows of the time that is left comes of it."""
    shares = [share for share, _ in heard(lambda: work(tmp_path))]
    assert all(0 < share <= 1 for share in shares)
    assert shares[-1] == pytest.approx(1.0)
    assert len(shares) > 1

"""The attack comes near to certificates' constants, and refutes what is claimed below them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.certificates import attacked, find, shipped, stated
from stemtheory.certificates.attack import claimed, partitions, search, worst
from stemtheory.certificates.quadratics import Classes, forms
from stemtheory.cli.app import main
from stemtheory.runtime import UsageError
from tests.helpers.sources import ROOT

ROUND, OTHER = (ROOT / "tests/data" / f"round-of-{K}.json" for K in ("two", "three"))
KINDS = [("stem", "average-first"), ("stem", "literal"), ("fedavg", "none")]
RUNS = 330  # sets of workers: all alike, and the first of the halves


@lru_cache
def certificate(algorithm: str, reading: str) -> bytes:
    """Return a certificate at (I, K, b) = (4, 4, 1) and the printed steps."""
    return find(stated(algorithm, reading, I=4, K=4, b=1)).data


def changed(data: bytes, factor: Fraction, *names: str) -> bytes:
    """Return a file that claims other constants."""
    document = json.loads(data)
    for name in names:
        document["statement"][name] = str(Fraction(document["statement"][name]) * factor)
    return json.dumps(document).encode()


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_the_worst_instance_comes_near_and_not_above(kind: tuple[str, str]) -> None:
    found, _, count = search(claimed(certificate(*kind)), seconds=1e3, runs=RUNS)
    assert count == RUNS
    assert 0.95 <= found.ratio <= 1


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_a_constant_ten_percent_too_small_is_refuted(kind: tuple[str, str], tmp_path: Path) -> None:
    names = ("C_sigma", "C_zeta") if kind[0] == "fedavg" else ("C_sigma",)
    path = tmp_path / "less.json"
    path.write_bytes(changed(certificate(*kind), Fraction(9, 10), *names))
    found = attacked(path, seconds=1e3, runs=RUNS)
    assert found["refuted"]
    assert found["ratio"] > 1.03
    assert not found["accepted"]
    assert "below the sum" in found["why"]


def test_the_search_is_seeded() -> None:
    c = claimed(certificate("fedavg", "none"))
    ways = [search(c, seconds=1e3, runs=40, seed=seed)[0].ratio for seed in (0, 0, 1)]
    assert ways[0] == ways[1] != ways[2]


@pytest.mark.parametrize("seed", range(4))
def test_no_start_is_worse_than_the_worst(seed: int) -> None:
    """Random starts of random workers, by the forms as they stand."""
    rng = np.random.default_rng(seed)
    c = claimed(certificate("stem", "literal"))
    H = rng.uniform(-1, 1, 2)
    of = Classes(np.array([2.0, 2.0]), H, rng.uniform(0, 1, 2) * np.sqrt(1 - H**2))
    f, most = forms(c.round, c.lam, c.mu, of), worst(c, of).ratio
    v = rng.normal(size=(2000, len(f.left))) * 10 ** rng.uniform(-3, 3, len(f.left))
    left, sigma, zeta = (np.einsum("vi,...ij,vj->...v", v, M, v) for M in (f.left, *f[1:3]))
    right = c.sigma * sigma.max(axis=0) + c.zeta * zeta.max(axis=0)
    assert (left / right).max() < most <= 1


def test_nothing_over_nothing_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """What linear workers' noise and differences do to FedAvg's sides is rounding alone."""
    c = claimed(certificate("fedavg", "none"))
    free = c._replace(round=replace(c.round, K=7), sigma=0.0, zeta=0.0)
    still = Classes(np.array([3.0, 4.0]), np.zeros(2), np.zeros(2))
    assert abs(worst(free, still).ratio) < 0.1
    monkeypatch.setattr("stemtheory.certificates.attack.GUARD", 1e-22)
    assert worst(free, still).ratio > 1  # what the guard is there for


def test_workers_are_put_into_classes_that_add_up() -> None:
    assert [list(p) for p in partitions(4)] == [[4], [2, 2], [1, 3], [1, 1, 1, 1]]
    assert [list(p) for p in partitions(2)] == [[2], [1, 1]]
    assert [list(p) for p in partitions(1)] == [[1]]
    for K in (3, 5, 100, 10**9):
        assert all(sum(p) == K and min(p) >= 1 for p in partitions(K))


def test_many_workers_cost_no_more() -> None:
    c = claimed(ROUND.read_bytes())
    many = c._replace(round=replace(c.round, K=10**9))
    assert np.isfinite(search(many, seconds=1e3, runs=5)[0].ratio)


@pytest.mark.parametrize(
    "change",
    [{"format": None, "statement": {}}, {"statement": {"algorithm": "stem"}}, {"basis": 1}, {}],
    ids=str,
)
def test_what_states_nothing_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(change))
    with pytest.raises(UsageError, match="states nothing that can be attacked"):
        attacked(path, seconds=1)


def test_the_command_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["hunt", "--budget", "0.2", "--certificate"]
    assert main([*argv, str(ROUND)]) == 0
    out = capsys.readouterr().out
    assert "proved by its file" in out
    assert "not refuted" in out
    less = tmp_path / "less.json"
    less.write_bytes(changed(certificate("stem", "literal"), Fraction(1, 2), "C_sigma"))
    assert main([*argv, str(less), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["refuted"]
    assert document["ratio"] > 1.5
    assert {"workers", "H", "l", "o", "s", "r", "x0", "d0"} == set(document["instance"][0])
    assert main(["hunt"]) == 2
    assert "--certificate FILE" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_no_instance_refutes_what_ships(name: str) -> None:
    """The first 30 sets of workers of the seeded search, on every certificate that ships."""
    found, _, _ = search(claimed(shipped()[name].read_bytes()), seconds=1e3, runs=30)
    assert 0.25 < found.ratio <= 1

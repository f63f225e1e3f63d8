"""Chains: what is declared and shown wrong, what they refuse, and how progress is recorded."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.claims import check_problem
from stemtheory.oracles import Chain, load_problem
from stemtheory.oracles.chains.bernoulli import Bernoulli
from stemtheory.oracles.chains.entry import drop
from stemtheory.runtime import UsageError, generator, numpy_backend
from stemtheory.simulator import Trace, simulate
from tests.helpers.fake_device import Device, fake_backend

NAMES = ("zero_chain", "split_chain", "hidden_chain")
STEP: dict[str, Any] = {"schedule": "constant", "schedule_options": {"eta": 1.0}, "b": 1}


def chain(name: str, K: int = 2, dim: int = 6, **dials: Any) -> Chain:
    made = load_problem(name, K, dim, **dials)
    assert isinstance(made, Chain)
    return made


def failing(problem: Any) -> set[str]:
    return {row.constant for row in check_problem(problem, quick=True) if not row.ok}


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("zero_chain", {"K": 1, "dim": 1}),
    ("zero_chain", {"K": 3, "dim": 5, "links": 2, "gap": 40.0, "L": 7.0}),
    ("split_chain", {"K": 2, "dim": 2}),
    ("split_chain", {"K": 3, "dim": 8, "links": 7, "gap": 0.01}),
    ("hidden_chain", {"K": 1, "dim": 1, "p": 0.3}),
    ("hidden_chain", {"K": 4, "dim": 6, "links": 4, "p": 0.02, "gap": 30.0}),
    ("hidden_chain", {"K": 2, "dim": 4, "p": 0.2, "leak": 0.4}),
    ("hidden_chain", {"K": 2, "dim": 4, "sigma": 0.0}),
    ("hidden_chain", {"K": 2, "dim": 4, "sigma": 0.7}),
    ("hidden_chain", {"K": 1, "dim": 3, "p": 0.001}),
]


@pytest.mark.parametrize(("name", "dials"), SETTINGS, ids=[f"{n}-{list(d)}" for n, d in SETTINGS])
def test_every_setting_keeps_the_contract(name: str, dials: dict[str, Any]) -> None:
    assert failing(chain(name, **dials)) == set()


# What a chain might get wrong, and the row that rejects it.


def test_wrong_constants_are_rejected() -> None:
    split, hidden = chain("split_chain"), chain("hidden_chain", p=0.2)
    wrong = {
        "L": replace(split, declared=replace(split.declared, L=0.8)),
        "zeta": replace(split, declared=replace(split.declared, zeta=split.declared.zeta / 2)),
        "f_star": replace(split, declared=replace(split.declared, f_star=-0.5)),
        "sigma": replace(
            hidden, declared=replace(hidden.declared, sigma=hidden.declared.sigma * 1.01)
        ),
    }
    assert [name for name, mutant in wrong.items() if name not in failing(mutant)] == []


class Unscaled(Bernoulli):
    """A coin that shows a coordinate as it is, and not 1/p times."""

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: Any) -> Any:
        shown: Any = super().draw(stream, shape, b, dtype) + dtype.type(1)
        return shown * dtype.type(self.p) - dtype.type(1)


class Shared(Bernoulli):
    """One coin for all workers."""

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: Any) -> Any:
        one = super().draw(stream, (*shape[:-2], 1, 1), b, dtype)
        return np.broadcast_to(one, shape).copy()


@pytest.mark.parametrize(("coin", "row"), [(Unscaled, "unbiased"), (Shared, "independence")])
def test_wrong_coins_are_rejected(coin: type[Bernoulli], row: str) -> None:
    hidden = chain("hidden_chain", K=2, dim=3, p=0.3)
    assert hidden.coin is not None
    assert row in failing(replace(hidden, coin=coin(hidden.coin.p)))


def test_a_chain_whose_links_are_not_shared_out_has_other_workers() -> None:
    split = chain("split_chain")
    holders = split.holders.copy()
    holders[:, 2] = 0
    assert "workers" in failing(replace(split, holders=holders))


# What it is built to.


def test_gap_and_floor_are_those_asked_for() -> None:
    for name in NAMES:
        made = chain(name, dim=20, gap=3.0, L=2.0)
        assert made.constants(np.zeros(20)).gap == pytest.approx(3.0, rel=1e-12)
        assert made.declared.L == 2.0
        x = np.zeros(20)
        x[:19] = generator(1).uniform(-3, 3, 19)
        assert np.sum(made.full_gradient(x) ** 2) > made.dials["floor"]
    assert drop(20) / 20 < 12


def test_sigma_and_p_are_two_ways_to_say_one() -> None:
    made = chain("hidden_chain", p=0.03)
    again = chain("hidden_chain", sigma=made.declared.sigma)
    assert again.dials["p"] == pytest.approx(0.03, rel=1e-12)
    assert made.dials["sigma"] == made.declared.sigma
    assert chain("hidden_chain", sigma=made.declared.sigma, p=0.03).dials == made.dials


def test_the_coin_hides_what_is_next_and_nothing_else() -> None:
    made = chain("hidden_chain", K=1, dim=4, p=0.25)
    x = made.wide * np.array([[2.0, 0.2, 0.0, 0.0]])
    never, once = (np.array([[w]]) for w in (-1.0, 3.0))
    full, hidden, shown = (
        made.gradient(x),
        made.stochastic_gradient(x, never),
        made.stochastic_gradient(x, once),
    )
    assert np.flatnonzero(full).tolist() == [0, 1]
    assert np.flatnonzero(hidden).tolist() == [0]
    assert hidden[0, 0] == full[0, 0] == shown[0, 0]
    assert shown[0, 1] == pytest.approx(4 * full[0, 1], rel=1e-14)
    leaking = chain("hidden_chain", K=1, dim=4, p=0.25, leak=0.5)
    assert np.flatnonzero(leaking.stochastic_gradient(x, never)).tolist() == [0, 1]


def test_a_worker_alone_passes_one_link() -> None:
    made = chain("split_chain", K=2, dim=6)
    x = np.zeros((2, 6))
    for _ in range(400):
        x = x - 2 * made.gradient(x)
    assert made.progress(x).tolist() == [1, 0]
    x[0, 3] = np.nan
    assert made.progress(x).tolist() == [1, 0]


# The coin.


def test_coins_are_the_stream_s_and_their_mean_is_one_binomial() -> None:
    coin, dtype = Bernoulli(0.2), np.dtype(np.float64)
    first, again = (coin.draw(generator(5), (3, 2, 1), 4, dtype) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose((first + 1) * 4 * 0.2, np.round((first + 1) * 4 * 0.2), atol=1e-12)
    many = coin.draw(generator(6), (200_000,), 4, dtype)
    assert abs(many.mean()) < 6 * math.sqrt(coin.variance / 4 / len(many))  # 2e-9
    on_device = coin.draw(
        fake_backend(Device()).generator(np.random.SeedSequence(1)), (50_000,), 4, dtype
    )
    assert abs(float(on_device.mean())) < 6 * math.sqrt(coin.variance / 4 / 50_000)


def test_replicates_keep_their_coins_and_algorithms_share_them() -> None:
    made = chain("hidden_chain", p=0.1)
    run: dict[str, Any] = {**STEP, "T": 60, "I": 3}
    few = simulate(made, "fedavg", replicates=5, **run)
    many = simulate(made, "fedavg", replicates=24, **run)
    np.testing.assert_array_equal(few.arrived_at, many.arrived_at[:5])
    np.testing.assert_array_equal(few.grad_sq, many.grad_sq[:5])


# Progress.


def test_a_trace_records_progress_and_the_arrival(tmp_path: Path) -> None:
    made = chain("split_chain", dim=4)
    trace = simulate(made, "fedavg", T=400, I=20, replicates=2, record_every=1, **STEP)
    assert trace.run.x1 == 0
    progress = trace.progress[:, 0]
    assert progress[0] == 0
    assert set(np.diff(progress).tolist()) <= {0, 1}
    (first,) = {int(t) for t in trace.arrived_at}
    assert progress[first - 1] == 4 > progress[first - 2]
    loaded = Trace.load(trace.save(tmp_path / "x.npz"))
    np.testing.assert_array_equal(loaded.progress, trace.progress)
    np.testing.assert_array_equal(loaded.arrived_at, trace.arrived_at)


def test_other_problems_have_no_progress(tmp_path: Path) -> None:
    trace = simulate("cosine", T=8, replicates=3)
    assert trace.progress.shape == (0, 3)
    assert trace.arrived_at.tolist() == [0, 0, 0]
    assert trace.run.x1 == 1
    assert Trace.load(trace.save(tmp_path / "x.npz")).progress.shape == (0, 3)


@pytest.mark.parametrize("name", NAMES)
def test_float32_and_a_device_count_the_same(name: str) -> None:
    made = chain(name, dim=3)
    run: dict[str, Any] = {**STEP, "T": 90, "I": 9, "replicates": 2, "noise_source": "host"}
    here, there = (
        simulate(made, "fedavg", backend=backend, **run)
        for backend in (numpy_backend("a test"), fake_backend(Device()))
    )
    np.testing.assert_array_equal(here.progress, there.progress)
    np.testing.assert_allclose(here.grad_sq, there.grad_sq, rtol=1e-12)
    assert (
        simulate(made, "fedavg", dtype="float32", **run).progress.tolist() == here.progress.tolist()
    )


# What is refused: one sentence with its arithmetic.

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "links above dim": ("zero_chain", {"links": 9}, "links is 9, but dim is 6"),
    "p of 0": ("hidden_chain", {"p": 0}, "p is 0, but a coordinate shows with probability p"),
    "p above 1": ("hidden_chain", {"p": 1.5}, "give p above 0 and at most 1"),
    "workers above links": ("split_chain", {"K": 4, "links": 3}, "so 1 of the workers would hold"),
    "zeta of equal workers": ("hidden_chain", {"zeta": 1}, "all workers of hidden_chain have all"),
    "another zeta": (
        "split_chain",
        {"zeta": 1},
        "zeta is 1, but with L = 1 and gap = 1 two workers",
    ),
    "noise": ("zero_chain", {"sigma": 1}, "sigma is 1, but this chain answers exactly"),
    "sigma beside p": ("hidden_chain", {"sigma": 1, "p": 0.1}, "p = 0.1 means sigma = 0.1"),
    "a leak": ("hidden_chain", {"leak": 2}, "leak is 2, but it is a share"),
    "a gap of 0": ("zero_chain", {"gap": 0}, "gap is 0"),
    "an unknown dial": ("zero_chain", {"p": 0.1}, "zero_chain has no dial p; known are L, gap"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_dials_are_refused_in_one_sentence(case: str) -> None:
    name, dials, said = REFUSED[case]
    with pytest.raises(UsageError) as caught:
        chain(name, **dials)
    assert said in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_a_coin_is_thrown_for_whole_samples() -> None:
    with pytest.raises(UsageError, match=r"b is 1\.5, but a coin is thrown for whole samples"):
        simulate("hidden_chain", "fedavg", T=8, I=2, b=1.5)
    with pytest.raises(UsageError, match="hidden_chain is not separable here"):
        simulate("hidden_chain", "fedavg", T=8, engine="fused")

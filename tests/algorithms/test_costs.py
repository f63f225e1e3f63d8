"""What each algorithm says that it costs, held against a run whose gradients are really counted."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import stemtheory.simulator.array_engine as engine
from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.costs import Costs, Minibatches
from stemtheory.algorithms.stem import READINGS
from stemtheory.claims.contract.counting import DIM, POINTS, Looking
from stemtheory.experiment import run_sweep
from stemtheory.experiment.design.spec import parse_spec
from stemtheory.schedules import Constant
from stemtheory.simulator.fused import missing, unsuited
from stemtheory.simulator.stepwise import walk

# Every option of every algorithm, with the values at which what is computed or sent may differ.
VALUES: dict[str, tuple[Any, ...]] = {
    "participation": (1.0, 0.5, 0.3, 0.9),
    "compression": ("none", "sparsify", "quantise"),
    "keep": (0.25,),
    "levels": (4,),
    "local_momentum": (1.0, 0.0),
    "option": ("II", "I"),
    "server_step": (1.0, 0.5),
    "mu": (0.1,),
    "beta": (0.5, 0.0),
    "alpha": (1.0,),
    "oracle": ("I", "II"),
    "prox": (None,),
    "skip": (0.0, 0.4),
    "refresh": (1, 2, 3),
    "period": (16, 3),
    "factor": (None, 2),
    "reach": (None, 0.05),
    "warm_up": (False, True),
    "sync": tuple(READINGS),
    "sync_batch": (1, 3),
}
# K, b, I and T: one worker, odd K, one local step, b = 1, one round, an end within a round.
SIZES = ((1, 1, 1, 1), (1, 2, 4, 4), (3, 1, 4, 4), (3, 2, 1, 7), (5, 1, 3, 14), (4, 3, 2, 9))


@dataclass(frozen=True)
class Variant:
    """An algorithm with its options."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{k}={v}" for k, v in self.options)])

    @property
    def algorithm(self) -> Any:
        return ALGORITHMS[self.name].make(dict(self.options))

    def allows(self, K: int, I: int) -> bool:
        pinned = dict(ALGORITHMS[self.name].pinned)
        return pinned.get("I", I) == I and pinned.get("K", K) == K


def variants() -> Iterator[Variant]:
    for name in ALGORITHMS:
        known = ALGORITHMS[name].options
        for chosen in itertools.product(*(VALUES[option] for option in known)):
            yield Variant(name, tuple(zip(known, chosen, strict=True)))


VARIANTS = tuple(variants())


def test_every_option_is_tried() -> None:
    assert {option for entry in ALGORITHMS.values() for option in entry.options} == VALUES.keys()
    assert len(VARIANTS) > 140


# The count.


def means(algorithm: Any, patch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by one whenever the algorithm averages over the workers."""
    calls: list[int] = []
    module = sys.modules[type(algorithm).__module__]
    for name in ("mean_over_workers", "average", "server_mean"):
        if hasattr(module, name):
            patch.setattr(module, name, _noted(getattr(module, name), calls))
    return calls


def _noted(original: Any, calls: list[int]) -> Any:
    def noted(*arguments: Any) -> Any:
        calls.append(1)
        return original(*arguments)

    return noted


@dataclass(frozen=True)
class Found:
    """What t iterations took per worker, and what came before them; ``silent`` rounds so far."""

    t: int
    paid: Any
    means: float
    silent: float


def look(variant: Variant, K: int, b: int, I: int, T: int, B: int) -> list[Found]:
    """Return what a run took: what came before the loop (t = 0), then every iteration."""
    problem, stream = Looking(K), np.random.default_rng(3)
    found: list[Found] = []

    def draw(t: int, samples: float) -> Any:
        return stream.integers(0, POINTS, size=(1, K, int(samples)))

    def begin(self: Any, *arguments: Any) -> Any:
        state = original(self, *arguments)
        found.append(Found(0, problem.paid[:3].copy(), len(averaged), 0.0))
        return state

    kind = type(variant.algorithm)
    original = kind.init
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "init", begin)
        averaged = means(variant.algorithm, patch)
        oracle: Any = problem
        for v in walk(
            oracle, variant.algorithm, Constant(0.01, 0.2), T=T, I=I, x1=1.0, draw=draw, b=b, B=B
        ):
            start, last, part = found[0], found[-1], taking_part(v.before)
            coin = getattr(v.before, "coin", None)
            found.append(
                Found(
                    v.step.t,
                    start.paid + part * (problem.paid[:3] - start.paid),
                    start.means + part * (len(averaged) - start.means),
                    last.silent + float(v.step.synchronises and coin is not None and not coin[0]),
                )
            )
    return found


def taking_part(state: Any) -> float:
    """Return the share of the workers that take part in the round: as many in every round."""
    weight = getattr(state, "weight", None)
    return 1.0 if weight is None else float((weight > 0).mean())


def averaged_beside(variant: Variant, rounds: int, silent: float) -> float:
    """Return the averages that a run takes beside those of vectors that are sent.

    x is averaged before d and again after it, when it is common already; the second negative
    control averages the previous point too. MimeMVR's workers know a and send both of their full
    gradients in one vector. FedGLOMO's server does not look at the second vector of round 1. A mean
    that FedPD's coin throws away is computed all the same.
    """
    options = dict(variant.options)
    by_reading = {"average-first": rounds, "average-both": 2 * rounds}
    return {
        "mimemvr": max(0, rounds - 1),
        "fedglomo": -min(1, rounds),
        "fedpd": silent,
    }.get(variant.name, by_reading.get(options.get("sync", ""), 0))


def by_hand(variant: Variant) -> tuple[int, int, float]:
    """Return vectors down and exchanges of a round, and the floats of a vector that is sent."""
    options = dict(variant.options)
    momentum = options.get("beta", 0) > 0
    down = {"mime": 2 + momentum, "mimelite": 1 + momentum}
    down |= dict.fromkeys(("fedavg", "minibatch-sgd", "fedprox", "fedpd", "vrl-sgd"), 1)
    down |= dict.fromkeys(("spider", "slowmo"), 1)
    twice = variant.name in ("mime", "mimemvr") or options.get("sync", "").startswith("average")
    # a quarter of the coordinates; a norm, and four bits of a float's 32 a coordinate
    floats = {"sparsify": DIM / 4, "quantise": 1 + DIM * 4 / 32}
    return down.get(variant.name, 2), 1 + twice, floats.get(options.get("compression", ""), DIM)


def mistakes(variant: Variant, costs: Costs, size: tuple[int, int, int, int]) -> list[str]:
    """Return where a statement differs from what a run takes, at any of its iterations."""
    K, b, I, T = size
    B, wrong = 5, []
    down, exchanges, floats = by_hand(variant)
    first: Found | None = None
    for found in look(variant, K, b, I, T, B):
        first = first or found
        t, rounds, part = found.t, found.t // I, active_share(variant, K)
        said = costs.counts(t, b=b, I=I, B=B, K=K, dim=DIM, silent=found.silent)
        gradients, draws, passes = found.paid
        at_end = t % I == 0  # within a round what is averaged at its end is still to come
        if variant.name == "mimemvr" and part == 1:
            passes = -(-t // I)  # grad_S(x_{r-1}) is known, and computed again for shortness
        # SCAFFOLD's full gradient belongs to the point at which the round began
        if at_end or dict(variant.options).get("option") != "I":
            wrong += differs("samples", said.samples_per_worker, gradients + passes * b * I)
            wrong += differs("draws", said.draws_per_worker, draws + passes * b * I)
        if not at_end:
            continue
        heard = rounds - found.silent
        sent = found.means - part * averaged_beside(variant, rounds, found.silent)
        stale = variant.name == "mimemvr" and part < 1
        received = first.means + part * (down * heard + stale * max(0, rounds - 1))
        wrong += differs("rounds", said.rounds, heard)
        wrong += differs("exchanges", said.exchanges, exchanges * heard + first.means)
        wrong += differs("vectors up", said.vectors_up, sent)
        wrong += differs("vectors down", said.vectors_down, received)
        wrong += differs(
            "floats up", said.floats_up, first.means * DIM + (sent - first.means) * floats
        )
        wrong += differs("floats down", said.floats_down, received * DIM)
    return wrong


def active_share(variant: Variant, K: int) -> float:
    share = float(dict(variant.options).get("participation", 1.0))
    return max(1, round(share * K)) / K


def differs(name: str, said: float, found: float) -> list[str]:
    """Return what is wrong; only a share of odd workers is rounded, in its last digit."""
    return [] if math.isclose(said, found, rel_tol=1e-14) else [f"{name}: {said} for {found}"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_is_counted_is_what_is_stated(name: str) -> None:
    """At every iteration, for every option and size."""
    tried = 0
    for variant in (v for v in VARIANTS if v.name == name):
        for size in SIZES:
            if variant.allows(size[0], size[2]):
                assert mistakes(variant, variant.algorithm.costs, size) == [], (variant, size)
                tried += 1
    assert tried >= 2


def _altered(**values: Any) -> Callable[[Costs], Costs]:
    return lambda costs: replace(costs, **values)


def _kinds(*kinds: Minibatches) -> Callable[[Costs], Costs]:
    return lambda costs: replace(costs, unusual=lambda I: kinds)


HALF = ("participation", 0.5)
MUTANTS: dict[str, tuple[Variant, Callable[[Costs], Costs]]] = {
    "one vector up": (Variant("stem"), _altered(vectors_up=1)),
    "one vector down": (Variant("mime", (("beta", 0.5),)), _altered(vectors_down=2)),
    "one exchange": (Variant("stem", (("sync", "average-first"),)), _altered(exchanges=1)),
    "no exchange before the loop": (Variant("stem"), _altered(initial_vectors=0)),
    "no initial batch": (Variant("spider"), _altered(initial_batch=False)),
    "one gradient a sample": (Variant("stem"), _altered(gradients=1)),
    "participation ignored": (Variant("fedavg", (HALF,)), _altered(participation=1.0)),
    "a pass at a point before round 1": (Variant("mimemvr", (HALF,)), _altered(passes=2, stale=0)),
    "no stale point": (Variant("mimemvr", (HALF,)), _altered(stale=0)),
    "no full pass": (Variant("scaffold", (("option", "I"),)), _altered(passes=0)),
    "a pass in every round": (
        Variant("fedpd", (("oracle", "II"), ("refresh", 2))),
        _altered(pass_every=1),
    ),
    "no compression": (Variant("fedglomo", (("compression", "sparsify"),)), _altered(floats=int)),
    "two trajectories in round 1": (
        Variant("fedglomo"),
        lambda costs: replace(costs, unusual=lambda I: (Minibatches(1, 2, 1, I),)),
    ),
    "a previous point at the start of a round": (
        Variant("fedglomo"),
        lambda costs: replace(costs, unusual=lambda I: costs.unusual(I)[:2]),
    ),
    "two gradients at a restart": (
        Variant("spider", (("period", 3), ("factor", 2))),
        _kinds(Minibatches(2, 2, 3, 3)),
    ),
    "a restart too early": (Variant("spider", (("period", 3),)), _kinds(Minibatches(3, 1, 1, 3))),
    "a jump in round 1": (
        Variant("stem", (("sync_batch", 3),)),
        lambda costs: replace(costs, unusual=lambda I: (Minibatches(3, 2, 1, I),)),
    ),
    "the sync batch free": (Variant("stem", (("sync_batch", 3),)), _kinds()),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_statement_is_noticed(mutant: str) -> None:
    variant, alter = MUTANTS[mutant]
    size = (4, 2, 1, 7) if variant.name == "spider" else (4, 2, 3, 9)
    costs = variant.algorithm.costs
    assert mistakes(variant, costs, size) == []
    # what a run draws follows the statement, so a wrong one is held against a run by the right one
    assert mistakes(variant, alter(costs), size) != []


# The engines ask the statement.


def measure(variant: Variant, size: tuple[int, int, int, int], **more: Any) -> Any:
    K, b, I, T = size
    eta = {"eta": 0.01} | ({"a": 0.2} if ALGORITHMS[variant.name].family == "stem" else {})
    given: dict[str, Any] = {"T": T, "b": b, "I": I, "replicates": 3, "schedule": "constant"}
    given |= {"B": 5} if variant.algorithm.costs.initial_batch else {}
    given |= {"schedule_options": eta, "algorithm_options": dict(variant.options)}
    problem = load_problem("cosine", K=K, dim=DIM)
    return simulate(problem, variant.name, **(given | {"engine": "array"} | more))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_engines_count_what_is_stated(name: str) -> None:
    """T is rounded up to whole rounds; FedPD's coins fell as they fell."""
    for variant in (v for v in VARIANTS if v.name == name):
        for size in SIZES:
            K, b, I, T = size
            if not variant.allows(K, I):
                continue
            T = -(-T // I) * I
            trace, costs = measure(variant, size), variant.algorithm.costs
            silent = T // I - trace.counts.rounds
            assert 0 <= silent <= (T // I if costs.silent else 0)
            said = costs.counts(T, b=b, I=I, B=5, K=K, dim=DIM, silent=silent)
            assert trace.counts == said, (variant, size)


@pytest.mark.skipif(missing() is not None, reason=f"engine fused: {missing()}")
def test_both_engines_count_the_same() -> None:
    problem, tried = load_problem("cosine", K=4, dim=DIM), 0
    for variant in VARIANTS:
        size = (4, 2, 2, 9) if variant.allows(4, 2) else (4, 2, 1, 9)
        if not variant.allows(size[0], size[2]):
            size = (1, 2, 1, 9)
        if unsuited(problem, variant.algorithm, 9, size[2], per_sample=False) is None:
            assert measure(variant, size, engine="fused").counts == measure(variant, size).counts
            tried += 1
    assert tried > 30


def test_a_full_pass_of_a_finite_sum_counts_its_points() -> None:
    costs = ALGORITHMS["mimelite"].make().costs
    counts = costs.counts(12, b=2, I=4, B=8, K=4, dim=3, pass_samples=32)
    assert counts.samples_per_worker == counts.draws_per_worker == 2 * 12 + 3 * 32


# A coin, and runs that diverge.


def test_the_mean_over_the_coin_is_what_is_forecast() -> None:
    costs = ALGORITHMS["fedpd"].make(options={"skip": 0.25}).costs
    counts = costs.counts(48, b=1, I=4, B=4, K=4, dim=3)
    assert (counts.rounds, counts.exchanges, counts.vectors_up, counts.vectors_down) == (9,) * 4
    assert counts.samples_per_worker == 48


def diverging(variant: Variant, **more: Any) -> Any:
    eta = {"eta": 50.0} | ({"a": 0.2} if ALGORITHMS[variant.name].family == "stem" else {})
    more = {"replicates": 19, "schedule_options": eta, "x1": 3.0} | more
    return measure(variant, (4, 2, 3, 3000), **more)


@pytest.mark.parametrize("name", ["stem", "fedavg", "scaffold", "fedpd"])
def test_a_diverged_run_counts_up_to_the_last_that_diverged(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the engine, the groups of replicates and the blocks of steps."""
    variant = Variant(name, (("skip", 0.4), ("prox", 1e-3)) if name == "fedpd" else ())
    trace = diverging(variant)
    assert trace.diverged_replicates == trace.replicates
    end, costs = int(trace.diverged_at.max()), variant.algorithm.costs
    assert end < 3000
    silent = end // 3 - trace.counts.rounds
    said = costs.counts(end, b=2, I=3, B=5, K=4, dim=DIM, silent=silent)
    assert trace.counts == said
    assert 0 <= silent <= end // 3
    if name != "fedpd":
        assert silent == 0
        if missing() is None:
            fused = diverging(variant, engine="fused")
            last = int(fused.diverged_at.max())
            assert fused.counts == costs.counts(last, b=2, I=3, B=5, K=4, dim=DIM)
    monkeypatch.setattr(engine, "ARRAY_BYTES", 1)
    monkeypatch.setattr(engine, "NOISE_BYTES", 1)
    again = diverging(variant)
    assert again.counts.samples_per_worker == trace.counts.samples_per_worker
    assert int(again.diverged_at.max()) == end


def test_one_replicate_that_lives_counts_the_whole_run() -> None:
    from stemtheory.simulator.plan import longest

    assert longest(np.array([3, 0, 7]), 12) == 12
    assert longest(np.array([3, 5, 7]), 12) == 7


# Closed forms.


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_long_run_is_many_short_ones(name: str) -> None:
    """After a while costs grow by the same amount every so many rounds, up to T = 1e18."""
    for variant in (v for v in VARIANTS if v.name == name):
        costs, I = variant.algorithm.costs, 1 if variant.allows(1, 1) else 5
        period = I * 3 * 16  # of refreshes and restarts

        def at(t: int, costs: Costs = costs, I: int = I) -> np.ndarray[Any, Any]:
            counts = costs.counts(t, b=1, I=I, B=1, K=4, dim=4, silent=0)
            return np.array(list(vars(counts).values()), dtype=object)

        grown = at(2 * period) - at(period)
        for many in (1, 7, 10**6):
            assert all(np.isclose(list(at((many + 1) * period)), list(at(period) + many * grown)))
        rounds = costs.counts(10**18 - 10**18 % I, b=1, I=I, B=1, K=4, dim=4, silent=0).rounds
        assert rounds == 10**18 // I


def test_factors_are_those_of_the_listed_minibatches() -> None:
    """Whatever the first iteration asked for, they are those of the whole run."""
    for variant in VARIANTS:
        costs = variant.algorithm.costs
        for I in (1, 2, 5):
            whole = costs.batch_factors(1, 40, I)
            np.testing.assert_array_equal(costs.batch_factors(8, 33, I), whole[7:])
            drawn = costs.counts(40, b=1, I=I, B=0, K=1, dim=1, pass_samples=0, silent=0)
            assert drawn.draws_per_worker == whole.sum()


# The forecast.

SWEEP = """
summary = "every algorithm, with options"
[settings]
problem = "logistic"
K = 4
dim = 2
T = 14
b = 2
replicates = 2
schedule = "constant"
schedule_options = { eta = 0.01 }
%s
[algorithms.sync-batch]
algorithm = "stem"
I = 4
sync_batch = 3
schedule_options = { a = 0.2 }
[algorithms.half]
algorithm = "mimemvr"
I = 4
algorithm_options = { participation = 0.5 }
schedule_options = { a = 0.2 }
[algorithms.coin]
algorithm = "fedpd"
I = 4
algorithm_options = { oracle = "II", refresh = 2, skip = 0.4 }
[algorithms.restarts]
algorithm = "spider"
algorithm_options = { period = 4, factor = 3 }
[grids.main]
problem = ["logistic", "quadratic"]
"""


def test_a_dry_run_forecasts_what_the_sweep_counts(tmp_path: Any) -> None:
    """To the last sample, for every algorithm, on points and on an infinite sample space."""
    tables = []
    for name, entry in ALGORITHMS.items():
        if dict(entry.pinned).get("K"):
            continue
        tables.append(f"[algorithms.{name}]")
        tables += [] if entry.pin("I") else ["I = 4"]
        tables += ["schedule_options = { a = 0.2 }"] if entry.family == "stem" else []
    spec = parse_spec(SWEEP % "\n".join(tables), "costs", "default")
    plan = run_sweep(spec, store=tmp_path / "s.sqlite", dry_run=True).forecast
    ran = run_sweep(spec, store=tmp_path / "s.sqlite")
    assert plan is not None
    assert plan.cells == len(ran.results) == 40  # a named setting shares the cell of its base
    counted = [r.facts["samples_total"] * r.replicates for r in ran.results.values()]
    assert all(r.status == "ok" for r in ran.results.values())
    assert plan.samples == math.fsum(counted)

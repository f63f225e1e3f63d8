"""The contract of an algorithm: kept by all that come with the package, and by no mutant."""
# ruff: noqa: NPY002 - mutants use what is banned

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemtheory import UsageError, check_algorithm, simulate
from stemtheory.algorithms import ALGORITHMS, Entry, Option, is_algorithm, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.claims import passed
from stemtheory.claims.contract.algorithms import ALONE, CHECKS
from stemtheory.claims.contract.moves import Tried, global_fault
from stemtheory.claims.contract.sending import seen, sending_fault
from stemtheory.cli.app import main
from stemtheory.oracles import names
from stemtheory.runtime import real
from stemtheory.schedules import Constant, fedavg_curve
from tests.algorithms.common import OPTIONS
from tests.helpers.example_algorithm import ENTRY


def failing(entry: str | Entry, **more: Any) -> list[str]:
    return [row.constant for row in check_algorithm(entry, **more) if not row.ok]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_keeps_the_contract(name: str) -> None:
    rows = check_algorithm(name)
    assert [row.constant for row in rows] == [*CHECKS]
    assert [(row.constant, row.note) for row in rows if not row.ok] == []


@pytest.mark.parametrize(("name", "options"), OPTIONS.values(), ids=OPTIONS)
def test_so_it_does_with_its_options(name: str, options: dict[str, Any]) -> None:
    """Partial participation, compression, coins and jumps: what is paid and sent differs."""
    assert failing(name, options=options, seed=5) == []


@pytest.mark.parametrize("sync", ALGORITHMS["stem"].readings)
@pytest.mark.parametrize("sync_batch", [1, 3])
def test_every_reading_keeps_the_contract(sync: str, sync_batch: int) -> None:
    assert failing("stem", options={"sync": sync, "sync_batch": sync_batch}) == []


def test_the_example_keeps_the_contract() -> None:
    assert passed(check_algorithm(ENTRY))
    assert passed(check_algorithm("tests.helpers.example_algorithm:ENTRY"))


# -- mutants


class State(NamedTuple):
    x: Any
    more: Any = None


@dataclass
class Mutant:
    """FedAvg but for one of its moves."""

    step: Callable[[Any, Any, Any], Any] = lambda x, g, eta: x - eta * g
    meet: Callable[[Any], Any] = lambda x: spread(x.mean(axis=-2), x)
    costs: Costs = field(default_factory=Costs)
    gradients: Callable[[Any, Any, Any], Any] = lambda problem, x, m: problem.stochastic_gradient(
        x, m
    )
    more: Any = None

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> State:
        return State(x, self.more)

    def local_step(self, problem: Any, state: State, step: Any, minibatch: Any) -> State:
        gradient = self.gradients(problem, state.x, minibatch)
        return State(self.step(state.x, gradient, step.eta), state.more)

    def synchronise(self, problem: Any, state: State) -> State:
        return State(self.meet(state.x), state.more)


def entry(make: Callable[[], Any] = Mutant, **more: Any) -> Entry:
    return Entry("mutant", "fedavg", "", fedavg_curve, **{"build": lambda options: make(), **more})


class Remembers(Mutant):
    """Momentum that lives in the object, not in the state: a second run starts where it ended."""

    kept: Any = 0.0

    def local_step(self, problem: Any, state: State, step: Any, minibatch: Any) -> State:
        self.kept = self.kept * 0.5 + float(state.x.mean())
        return State(state.x - step.eta * self.kept)


class Meets(Mutant):
    """It averages its first gradients, and keeps the mean."""

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> State:
        first = problem.stochastic_gradient(x, minibatch)
        return State(x, spread(first.mean(axis=-2), x))


def _peeks(problem: Any, x: Any, minibatch: Any) -> Any:
    """Return gradients at points that are nearer to each other than the workers were."""
    return problem.stochastic_gradient((x + spread(x.mean(axis=-2), x)) / 2, minibatch)


def _nudged(x: Any) -> Any:
    moved: Any = np.array(spread(x.mean(axis=-2), x))
    moved[..., 0, :] *= 1 + 1e-15
    return moved


def _own_noise(x: Any, g: Any, eta: float) -> Any:
    drawn = np.random.default_rng(7).standard_normal(x.shape[-2:])
    return x - eta * (g + drawn.astype(x.dtype))


def _looks(x: Any, g: Any, eta: float) -> Any:
    state: Any = np.random.get_state()
    return x - eta * g * (1 + state[1][0] % 7)


def _twice(problem: Any, x: Any, minibatch: Any) -> Any:
    return (
        problem.stochastic_gradient(x, minibatch) + problem.stochastic_gradient(x, minibatch)
    ) / 2


def _raises(x: Any) -> Any:
    raise ZeroDivisionError("by the mutant")


def loose(check: Callable[[str, Any], Any]) -> Entry:
    return entry(options={"eta_g": Option(1.0, check, "")})


MUTANTS: dict[str, tuple[Entry, str]] = {
    "an option that takes anything": (loose(lambda name, value: value), "options"),
    "an option that raises": (loose(lambda name, value: float(value)), "options"),
    "an option that takes nan": (
        loose(lambda name, value: value if value != value else real(name, value)),
        "options",
    ),
    "an option that never settles": (
        loose(lambda name, value: real(name, value) + 1),
        "options",
    ),
    "state in the object": (entry(Remembers), "deterministic"),
    "a generator without a seed": (
        entry(lambda: Mutant(lambda x, g, eta: x - eta * g * np.random.default_rng().random())),
        "deterministic",
    ),
    "draws globally": (
        entry(lambda: Mutant(lambda x, g, eta: x - eta * g * np.random.random())),
        "random numbers",
    ),
    "draws with random": (
        entry(lambda: Mutant(lambda x, g, eta: x - eta * g * random.random())),
        "random numbers",
    ),
    "looks at the global seed": (entry(lambda: Mutant(_looks)), "random numbers"),
    "noise of its own": (entry(lambda: Mutant(_own_noise)), "random numbers"),
    "mixes replicates": (
        entry(lambda: Mutant(lambda x, g, eta: x - eta * g.mean(axis=0, keepdims=True))),
        "replicates",
    ),
    "knows how many replicates there are": (
        entry(lambda: Mutant(lambda x, g, eta: x - eta * g / len(x))),
        "replicates",
    ),
    "states too few gradients": (entry(lambda: Mutant(gradients=_twice)), "costs"),
    "states too many": (entry(lambda: Mutant(costs=Costs(gradients=2))), "costs"),
    "states a first batch": (entry(lambda: Mutant(costs=Costs(initial_batch=True))), "costs"),
    "states a full pass": (entry(lambda: Mutant(costs=Costs(passes=1))), "costs"),
    "hides a full pass": (
        entry(
            lambda: Mutant(
                gradients=lambda problem, x, m: _twice(problem, x, m) * 0 + problem.gradient(x),
                costs=Costs(gradients=2),
            )
        ),
        "costs",
    ),
    "states that nothing is sent up": (entry(lambda: Mutant(costs=Costs(vectors_up=0))), "sent"),
    "states that nothing is sent down": (
        entry(lambda: Mutant(costs=Costs(vectors_down=0))),
        "sent",
    ),
    "states every vector twice": (
        entry(lambda: Mutant(costs=Costs(vectors_up=2, vectors_down=2))),
        "sent",
    ),
    "states no exchange": (entry(lambda: Mutant(costs=Costs(exchanges=0))), "sent"),
    "states every exchange twice": (entry(lambda: Mutant(costs=Costs(exchanges=2))), "sent"),
    "states a vector before the loop": (
        entry(lambda: Mutant(costs=Costs(initial_vectors=1))),
        "sent",
    ),
    "hides an average before the loop": (
        entry(lambda: Meets(costs=Costs(initial_batch=True))),
        "sent",
    ),
    "hides an average amid a round": (entry(lambda: Mutant(gradients=_peeks)), "sent"),
    "does not average": (entry(lambda: Mutant(meet=lambda x: x)), "synchronised"),
    "averages all but one": (entry(lambda: Mutant(meet=_nudged)), "synchronised"),
    "widens": (
        entry(lambda: Mutant(lambda x, g, eta: x - np.float64(eta) * g)),
        "dtype",
    ),
    "keeps a wide array": (entry(lambda: Mutant(more={"m": [np.zeros(3)]})), "dtype"),
    "diverges": (
        entry(theory=lambda facts, options: Constant(1e30)),
        "finite",
    ),
    "raises": (entry(lambda: Mutant(meet=_raises)), "synchronised"),
}


def test_the_honest_one_keeps_it() -> None:
    assert failing(entry()) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_rejected(mutant: str) -> None:
    wrong, row = MUTANTS[mutant]
    assert row in failing(wrong)


def test_every_row_has_its_mutant() -> None:
    assert {row for _, row in MUTANTS.values()} == CHECKS.keys()


def test_global_generators_are_left_as_they_were() -> None:
    before = repr(np.random.get_state()), random.getstate()
    assert "draws from the global" in global_fault(Tried(MUTANTS["draws globally"][0], {}, 0))
    assert (repr(np.random.get_state()), random.getstate()) == before


def test_an_entry_may_say_that_workers_stay_apart() -> None:
    said = replace(MUTANTS["does not average"][0], apart="nobody averages")
    (row,) = (row for row in check_algorithm(said) if row.constant == "synchronised")
    assert (row.verdict, row.note) == ("inapplicable", "nobody averages")
    assert {e.name for e in ALGORITHMS.values() if e.apart} == {"fedpd"}


def test_what_is_built_must_be_an_algorithm() -> None:
    for wrong in (entry(build=None), entry(lambda: 7)):
        with pytest.raises(UsageError, match=r"makes no algorithm, .* lacks costs, init"):
            wrong.make()


def test_a_build_that_fails_is_one_sentence() -> None:
    for error in (KeyError("nope"), SystemExit(0)):

        def build(error: BaseException = error) -> Any:
            raise error

        wrong = entry(build)
        with pytest.raises(UsageError, match=r"mutant makes no algorithm \((KeyError|SystemExit)"):
            simulate("cosine", wrong, T=8)
        assert set(failing(wrong)) == CHECKS.keys() - {"options"}


def test_a_check_that_fails_in_its_own_way_is_one_sentence() -> None:
    wrong = MUTANTS["an option that raises"][0]
    with pytest.raises(UsageError, match="eta_g is 'abc', which mutant does not take"):
        simulate("cosine", wrong, T=8, algorithm_options={"eta_g": "abc"})


# -- what is sent, of all that come with the package


def stated(name: str, **more: float) -> str:
    """Return what is wrong where an algorithm states other multiples of what it sends."""
    made, tried = ALGORITHMS[name].make(None), Tried(ALGORITHMS[name], {}, 0)
    changed = {what: factor * getattr(made.costs, what) for what, factor in more.items()}
    watched = Restated(made, replace(made.costs, **changed))
    return sending_fault(watched, tried.K, tried.I)


class Restated:
    """An algorithm with other costs."""

    def __init__(self, algorithm: Any, costs: Costs) -> None:
        self.algorithm, self.costs = algorithm, costs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.algorithm, name)


SENDERS = sorted(name for name in ALGORITHMS if name != "storm")  # one worker


@pytest.mark.parametrize("name", SENDERS)
def test_no_statement_may_leave_out_what_is_sent_or_multiply_it(name: str) -> None:
    assert stated(name) == ""
    for way in ("vectors_up", "vectors_down"):
        assert "0 vectors" in stated(name, **{way: 0})
        assert "were seen to pass" in stated(name, **{way: 3})
    assert "0 exchanges" in stated(name, exchanges=0)
    assert "exchanges" in stated(name, exchanges=4)


def test_most_of_them_may_not_even_double_it() -> None:
    """What a server keeps of its own looks like a second vector; mimelite's two may be one."""
    assert [n for n in SENDERS if not stated(n, vectors_up=2)] == ["slowmo", "vrl-sgd"]
    assert [n for n in SENDERS if not stated(n, exchanges=2)] == ["mimelite"]


@pytest.mark.parametrize("name", ["mime", "mimemvr"])
def test_a_full_gradient_at_a_point_that_was_known_is_no_exchange_of_its_own(name: str) -> None:
    assert "2 were seen to pass" in stated(name, exchanges=1.5)


@pytest.mark.parametrize("sync", ["average-first", "average-both"])
def test_what_waits_for_a_mean_is_an_exchange_of_its_own(sync: str) -> None:
    first, a_round = seen(ALGORITHMS["stem"].make({"sync": sync}), 3, 3)
    assert (first.fewest, first.least, first.most) == (1, 1, 1)
    assert (a_round.fewest, a_round.least) == (2, 2)
    assert seen(ALGORITHMS["stem"].make(None), 3, 3)[1] == (1, 1, 2, 2)


def test_one_worker_sends_nothing_that_can_be_seen() -> None:
    (row,) = (row for row in check_algorithm("storm") if row.constant == "sent")
    assert (row.verdict, row.note) == ("inapplicable", ALONE)


# -- the command


def test_names_of_problems_and_algorithms_are_told_apart() -> None:
    assert set(ALGORITHMS) & set(names("problems", data=True)) == set()
    assert is_algorithm("stem")
    assert is_algorithm("tests.helpers.example_algorithm:ENTRY")
    assert not is_algorithm("quadratic")
    assert not is_algorithm("tests.helpers.example_loss:ENTRY")


def test_check_an_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    name = "tests.helpers.example_algorithm:ENTRY"
    assert main(["check", name, "--set", "algorithm.eta_g=1.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["algorithm"] == name
    assert document["options"] == {"eta_g": 1.5}
    assert document["passed"]
    assert [row["constant"] for row in document["rows"]] == [*CHECKS]
    assert main(["check", "fedpd"]) == 0
    out = capsys.readouterr().out
    assert "fedpd with its default options" in out
    assert "every worker keeps its own x" in out
    assert "the contract is kept" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("stme",), "problem or algorithm 'stme' is unknown"),
        (("stem", "--K", "3"), "K was given, but stem is an algorithm"),
        (("stem", "--quick"), "quick was given, but stem is an algorithm"),
        (("stem", "--set", "spectrum=3"), "spectrum was given, but stem is an algorithm"),
        (("stem", "--set", "algorithm.sink=3"), "algorithm option 'sink' is unknown for stem"),
        (("stem", "--set", "algorithm.sync=no"), "sync 'no' is unknown; known are"),
        (("quadratic", "--set", "algorithm.sync=x"), "algorithm.sync is for the command run"),
    ],
    ids=str,
)
def test_what_does_not_belong_is_refused(
    argv: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err


def test_a_mutant_fails_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.helpers.example_algorithm.ENTRY", MUTANTS["does not average"][0])
    assert main(["check", "tests.helpers.example_algorithm:ENTRY"]) == 1
    assert "FAILED: sent, synchronised" in capsys.readouterr().out

"""The training loop: against a plain one, in any chunks and threads, interrupted, and diverging."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.base import Step, System, mean_iterate
from stemtheory.images.problem import ImageProblem
from stemtheory.images.training import History, PerEpoch, Training, estimates, train
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.streams import NoiseKey
from stemtheory.schedules import Constant
from tests.helpers.images_toy import toy_problem

ALL = pytest.mark.parametrize("algorithm", ["stem", "fedavg", "scaffold"])
NAMES = ("loss", "accuracy", "grad_sq", "rounds", "draws", "gradients", "diverged")


def training(algorithm: str = "stem", **changes: Any) -> Training:
    settings: dict[str, Any] = {
        "schedule": PerEpoch(0.3, 3.0, 2),
        "rounds": 6,
        "I": 3,
        "b": 2,
        "seeds": (0, 5),
        "every": 2,
        "gradient": True,
    }
    return Training(algorithm, **{**settings, **changes})


def same(one: History, other: History) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in NAMES
    )


def plain(problem: ImageProblem, wanted: Training, seed: int) -> tuple[list[float], list[float]]:
    """Return loss and ||grad f||^2 after every round: one seed, no cuts, no sharing."""
    algorithm = ALGORITHMS[wanted.algorithm].make()
    key = NoiseKey(seed, problem.dim, problem.K, 0, wanted.b, wanted.I)

    def draw(number: int, steps: int, b: int) -> Any:
        run = key.seed_sequence(0, "images")
        own = np.random.SeedSequence(run.entropy, spawn_key=(*run.spawn_key, number))
        stream = np.random.Generator(np.random.SFC64(own))
        return problem.draw(stream, (steps,), b, problem.dtype)

    x = np.repeat(problem.start(seed)[None], problem.K, axis=0)
    first = draw(0, 1, wanted.b * wanted.I)[0]
    state = algorithm.init(problem, x, float(wanted.schedule.eta(1.0)), first)
    losses, squares = [float(problem.value(x[0]))], []
    for number in range(1, wanted.rounds + 1):
        lists = draw(number, wanted.I, wanted.b)
        for i in range(wanted.I):
            t = (number - 1) * wanted.I + i + 1
            eta, a = wanted.schedule.eta(float(t)), wanted.schedule.momentum(float(t + 1))
            step = Step(t, float(eta), float(a), t % wanted.I == 0)
            if i == 0 and isinstance(algorithm, System):
                state = algorithm.start_round(problem, state, step, {})
            state = algorithm.local_step(problem, state, step, lists[i])
        state = algorithm.synchronise(problem, state)
        mean = mean_iterate(state)
        losses.append(float(problem.value(mean)))
        squares.append(float((problem.full_gradient(mean) ** 2).sum()))
    return losses, squares


@ALL
@pytest.mark.parametrize("case", [0, 1, 2])
def test_a_run_is_what_the_algorithm_says(algorithm: str, case: int) -> None:
    problem = toy_problem(case, alpha=0.01)
    wanted = training(algorithm)
    found = train(problem, wanted)
    for row, seed in enumerate(wanted.seeds):
        losses, squares = plain(problem, wanted, seed)
        np.testing.assert_allclose(found.loss[row], [losses[i] for i in wanted.due], rtol=1e-10)
        assert found.grad_sq[row, -1] == pytest.approx(squares[-1], rel=1e-9)
    assert not np.allclose(found.loss[0, 1:], found.loss[1, 1:])


@ALL
def test_threads_change_nothing_and_chunks_only_rounding(algorithm: str) -> None:
    problem = toy_problem(1, K=5)
    whole = train(problem, training(algorithm), chunk=5, threads=1)
    assert same(whole, train(problem, training(algorithm), chunk=5, threads=3))
    for chunk in (1, 2, 3):
        cut = train(problem, training(algorithm), chunk=chunk, threads=2)
        np.testing.assert_allclose(cut.loss, whole.loss, rtol=1e-12)
        np.testing.assert_array_equal(cut.draws, whole.draws)


def test_products_have_one_thread_during_a_run_and_all_of_them_after_it() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        found = threadpoolctl.threadpool_info()
        return [one["num_threads"] for one in found if one["user_api"] == "blas"]

    before, seen = threads(), []
    assert before
    train(toy_problem(0), training(), visit=lambda *_: seen.append(threads()))
    assert seen == [[1] * len(before)] * 4
    assert threads() == before


def test_seeds_do_not_depend_on_each_other() -> None:
    problem = toy_problem(1)
    both, alone = train(problem, training()), train(problem, training(seeds=(5,)))
    np.testing.assert_allclose(both.loss[1], alone.loss[0], rtol=1e-12)


def test_what_a_run_costs() -> None:
    """b = 2, I = 3: 6 samples a round, and 6 at the start for STEM, which takes two gradients."""
    problem = toy_problem(0)
    stem, fedavg = train(problem, training("stem")), train(problem, training("fedavg"))
    np.testing.assert_array_equal(stem.rounds, [0, 2, 4, 6])
    np.testing.assert_array_equal(fedavg.draws, [0, 12, 24, 36])
    np.testing.assert_array_equal(fedavg.gradients, fedavg.draws)
    np.testing.assert_array_equal(stem.draws, [6, 18, 30, 42])
    np.testing.assert_array_equal(stem.gradients, [6, 30, 54, 78])
    passes = train(problem, training("scaffold", options={"option": "I"}))
    np.testing.assert_array_equal(passes.gradients, [0, 12, 24, 36] + problem.size * stem.rounds)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("fedavg", {"participation": 0.5}),
        ("fedglomo", {"compression": "sparsify"}),
        ("stem", {"sync_batch": 3}),
        ("spider", {}),
    ],
)
def test_what_the_loop_does_not_draw_is_refused(algorithm: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="image runs have all workers and one b"):
        train(toy_problem(0), training(algorithm, options=options))


def test_with_a_of_one_and_one_step_stem_is_fedavg() -> None:
    """Where every step synchronises and a = 1, d is the fresh gradient, one step later."""
    problem = toy_problem(1)
    sides = [
        train(problem, training(name, schedule=Constant(0.1, 1.0), I=1, rounds=400, every=400))
        for name in ("stem", "fedavg")
    ]
    np.testing.assert_allclose(sides[0].loss[:, -1], sides[1].loss[:, -1], rtol=0.05)


# -- step sizes


def test_the_paper_s_step_sizes_by_epoch() -> None:
    schedule = PerEpoch(0.1, 10.0, 5)
    t = np.arange(1, 16)
    expected = 0.1 / np.cbrt([1.0] * 5 + [2.0] * 5 + [3.0] * 5)
    np.testing.assert_allclose(schedule.eta(t), expected)
    assert schedule.eta(0.0) == 0.1
    # cbar = 10 keeps a at 1 for 31 epochs: 10/(1 + e)^{2/3} falls below 1 at e = 31
    a = schedule.momentum(5.0 * np.arange(40) + 2)
    assert int((a == 1).sum()) == 31
    assert schedule.momentum(5.0 * 31 + 2) == pytest.approx(10 / 32 ** (2 / 3))
    np.testing.assert_allclose(
        PerEpoch(0.2, 1.0, 1).momentum(np.array([2.0, 3.0])), [1, 2 ** (-2 / 3)]
    )


# -- interruption


class StopError(Exception):
    """An interruption."""


@ALL
def test_an_interrupted_run_goes_on_where_it_was(algorithm: str, tmp_path: Path) -> None:
    problem, path = toy_problem(1), tmp_path / "run.npz"
    whole = train(problem, training(algorithm))
    notes: list[str] = []

    def interrupt(text: str) -> None:
        notes.append(text)
        if len(notes) == 2:
            raise StopError

    with pytest.raises(StopError):
        train(problem, training(algorithm), checkpoint=path, progress=interrupt)
    assert "round 4 of 6" in notes[-1]
    later: list[str] = []
    resumed = train(problem, training(algorithm), checkpoint=path, progress=later.append)
    assert same(whole, resumed)
    assert [("round 6" in text) for text in later] == [True]
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert same(whole, train(problem, training(algorithm), checkpoint=path))


@pytest.mark.parametrize(
    "change", [{"b": 3}, {"I": 2}, {"seeds": (1,)}, {"schedule": PerEpoch(0.3, 2.0, 2)}]
)
def test_a_checkpoint_of_another_run_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    problem, path = toy_problem(0), tmp_path / "run.npz"
    train(problem, training(), checkpoint=path)
    with pytest.raises(UsageError, match="belongs to another run"):
        train(problem, training(**change), checkpoint=path)
    with pytest.raises(UsageError, match="belongs to another run"):
        train(toy_problem(0, data_seed=1), training(), checkpoint=path)


def test_a_torn_checkpoint_is_one_sentence(tmp_path: Path) -> None:
    problem, path = toy_problem(0), tmp_path / "run.npz"
    train(problem, training(), checkpoint=path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UsageError, match="remove it to start afresh"):
        train(problem, training(), checkpoint=path)
    with pytest.raises(UsageError, match="cannot be written"):
        train(problem, training(), checkpoint=tmp_path / "absent" / "run.npz")


@pytest.mark.parametrize("name", ["loss", "diverged", "state_x", "number"])
def test_a_checkpoint_that_does_not_fit_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Missing, misshapen so that NumPy would broadcast it, and one array too many."""
    problem, path = toy_problem(0), tmp_path / "run.npz"
    train(problem, training(), checkpoint=path)
    with np.load(path) as data:
        saved = dict(data)
    rest = {other: array for other, array in saved.items() if other != name}
    for wrong in (rest, {**rest, name: saved[name][..., None]}, {**saved, "more": saved[name]}):
        np.savez(path, **wrong)
        with pytest.raises(UsageError, match=r"cannot be read \(.*\): remove it to start afresh"):
            train(problem, training(), checkpoint=path)
    np.savez(path, **saved)
    assert train(problem, training(), checkpoint=path).rounds[-1] == training().rounds


# -- divergence


class OneBadStart(ImageProblem):
    """A problem whose seed 5 starts where everything overflows."""

    def start(self, seed: int = 0) -> Any:
        return super().start(seed) * (1e200 if seed == 5 else 1.0)


@ALL
def test_a_diverged_seed_spoils_no_other(algorithm: str) -> None:
    right = toy_problem(1)
    wrong = OneBadStart(**{name: getattr(right, name) for name in right.__dataclass_fields__})
    wanted = training(algorithm)
    good, mixed = train(right, wanted), train(wrong, wanted)
    np.testing.assert_array_equal(mixed.loss[0], good.loss[0])
    assert mixed.diverged[0] == 0
    assert np.isfinite(mixed.loss[0]).all()


@ALL
def test_divergence_is_reported_with_its_round(algorithm: str) -> None:
    found = train(toy_problem(1), training(algorithm, schedule=Constant(1e300, 0.5), rounds=9))
    assert found.lost == 2
    assert (found.diverged >= 1).all()
    assert (found.diverged <= 9).all()
    assert np.isnan(found.loss[:, -1]).all()  # NaN from there on, and never a mean of the rest
    assert np.isfinite(found.loss[:, 0]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "sgd"}, "algorithm 'sgd' is unknown"),
        ({"b": 0}, "b is 0"),
        ({"rounds": 1.5}, "rounds is 1.5"),
        ({"every": 0}, "every is 0"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(training(), **change)


def test_estimates_along_a_run_are_labelled_as_such() -> None:
    problem = toy_problem(1)
    start = problem.constants(problem.start())
    met = estimates(problem, training(rounds=8), points=2)
    assert met.sigma > 0
    assert met.zeta > 0
    assert met.L > 0
    assert {met.exact[name] for name in ("L", "sigma", "zeta", "gap")} == {False}
    assert met.gap == pytest.approx(start.gap)  # f at the start of the run, seed 0


def test_a_visitor_sees_every_look() -> None:
    problem, seen = toy_problem(0), []
    train(problem, training(), visit=lambda number, x: seen.append((number, x.shape)))
    assert seen == [(number, (2, problem.dim)) for number in (0, 2, 4, 6)]

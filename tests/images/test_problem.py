"""Networks on images: gradients by hand, the oracle, precisions, a device, and the contract."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds.advise.measured import advise_on
from stemtheory.bounds.verdicts import margins
from stemtheory.claims.contract import check_problem, passed
from stemtheory.cli.app import main
from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.design.spec import parse_spec
from stemtheory.images.data_sets import available
from stemtheory.images.estimates import along
from stemtheory.images.networks import dimension, unpack
from stemtheory.images.nn_layers import (
    col2im,
    cross_entropy,
    cross_entropy_gradient,
    im2col,
    onehot,
    pool,
    pool_gradient,
)
from stemtheory.images.problem import ImageProblem
from stemtheory.oracles.catalogue import load_problem, names, needs_data, problem_entry
from stemtheory.runtime.backend import numpy_backend
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.simulation import simulate
from tests.helpers.fake_device import Device, fake_backend
from tests.helpers.images_toy import CASES, IDS, starts, stream, toy, toy_problem

FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
EVERY = pytest.mark.parametrize("case", range(len(CASES)), ids=IDS)


def minibatch_loss(problem: ImageProblem, x: Any, lists: Any) -> Any:
    """Return the mean loss of every worker's minibatch: what the gradients differentiate."""
    batch = problem.gather(lists)
    logits = problem.network.logits(unpack(x, problem.network.shapes), batch.inputs)
    square = x * x
    penalty = problem.alpha * (square / (1 + square)).sum(axis=-1)
    return cross_entropy(logits, batch.labels).mean(axis=1) + penalty


def slope_error(problem: ImageProblem, x: Any, lists: Any, gradient: Any) -> float:
    """Return the relative error against central differences along random unit directions.

    Four-point differences where the loss is smooth. The convolutional networks have kinks, so the
    step is short there, the two-point rule is used, and the median of the directions is taken.
    """
    rng, errors = stream(2), []
    kinks = problem.name == "cnn"
    h = 1e-6 if kinks else 1e-3
    for _ in range(9):
        u = rng.standard_normal(x.shape)
        u /= np.linalg.norm(u, axis=-1, keepdims=True)
        f = {k: minibatch_loss(problem, x + k * h * u, lists) for k in (-2, -1, 1, 2)}
        slope = (f[1] - f[-1]) / (2 * h)
        if not kinks:
            slope = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
        errors.append(np.abs(slope - (gradient * u).sum(axis=-1)))
    scale = float(np.linalg.norm(gradient, axis=-1).max())
    return float((np.median if kinks else np.max)(errors, axis=0).max()) / scale


LIMIT = {"softmax_regression": 1e-10, "tanh_network": 1e-10, "cnn": 1e-8}


@EVERY
def test_gradients_are_those_of_the_loss(case: int) -> None:
    problem = toy_problem(case)
    x = starts(problem)
    lists = problem.draw(stream(1), (), 5, FLOAT64)
    gradient = problem.stochastic_gradient(x, lists)
    assert slope_error(problem, x, lists, gradient) < LIMIT[problem.name]


@EVERY
def test_a_wrong_gradient_is_rejected(case: int) -> None:
    """Mutants: one per cent more of one layer; the regulariser forgotten; a neighbour's sample."""
    problem = toy_problem(case)
    x = starts(problem)
    lists = problem.draw(stream(1), (), 5, FLOAT64)
    gradient = problem.stochastic_gradient(x, lists)
    for layer in range(len(problem.network.shapes)):
        mutant = gradient.copy()
        part = unpack(mutant, problem.network.shapes)[layer]
        part *= 1.01
        assert slope_error(problem, x, lists, mutant) > 1e-7
    bare = replace(problem, alpha=0.0).stochastic_gradient(x, lists)
    assert slope_error(problem, x, lists, bare) > 1e-5
    moved = (lists + 1) % problem.size
    assert slope_error(problem, x, lists, problem.stochastic_gradient(x, moved)) > 1e-3


@EVERY
def test_the_full_gradient_is_the_mean_over_the_workers_data(case: int) -> None:
    problem = toy_problem(case)
    x = problem.start()
    everyone = np.broadcast_to(x, (problem.K, problem.dim))
    full = problem.full_gradient(x)
    np.testing.assert_allclose(problem.gradient(everyone).mean(axis=0), full, atol=1e-14)
    every = np.broadcast_to(np.arange(problem.size), (problem.K, problem.size))
    values = minibatch_loss(problem, everyone, every)
    assert problem.value(x) == pytest.approx(values.mean(), rel=1e-13)
    apart = problem.gradient(everyone) - full
    assert np.linalg.norm(apart, axis=1).min() > 0  # workers do have images of their own


@EVERY
def test_the_contract_is_kept(case: int) -> None:
    rows = check_problem(toy_problem(case, K=2, train=4))
    assert [row for row in rows if not row.ok] == []
    verdicts = {row.constant: row.verdict for row in rows}
    assert {verdicts[name] for name in ("L", "sigma", "zeta")} == {"estimate"}
    assert {"gradient", "workers", "unbiased", "variance", "batch", "reuse", "dtype"} <= set(
        verdicts
    )


class Wrong(ImageProblem):
    """A problem whose oracle or gradient is off."""


class Biased(Wrong):
    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        return super().combine(evaluation, minibatch) * 1.001


class Tilted(Wrong):
    def full_gradient(self, x: Any) -> Any:
        return super().full_gradient(x) + 1e-3


class Quiet(Wrong):
    def noise_variance(self, x: Any) -> Any:
        return 0.99 * super().noise_variance(x)


class Wide(Wrong):
    def value(self, x: Any) -> Any:
        return super().value(x).astype(np.float64)


MUTANTS = {"workers": Tilted, "gradient": Biased, "variance": Quiet, "dtype": Wide}


@pytest.mark.parametrize("row", MUTANTS)
def test_the_contract_rejects_a_wrong_problem(row: str) -> None:
    right = toy_problem(0, K=2, train=4)
    wrong = MUTANTS[row](**{name: getattr(right, name) for name in right.__dataclass_fields__})
    rows = check_problem(wrong)
    assert not passed(rows)
    failed = {r.constant for r in rows if not r.ok}
    assert row in failed or failed & {"workers", "gradient"}


@EVERY
def test_one_minibatch_serves_two_points(case: int) -> None:
    problem = toy_problem(case)
    x, y = starts(problem), starts(problem) + 0.1
    lists = problem.draw(stream(1), (), 5, FLOAT64)
    batch, kept = problem.gather(lists), lists.copy()
    for point in (x, y):
        np.testing.assert_array_equal(
            problem.combine(problem.evaluate(point), batch),
            problem.stochastic_gradient(point, lists),
        )
    np.testing.assert_array_equal(lists, kept)


@EVERY
def test_replicates_and_chunks_change_no_worker(case: int) -> None:
    """A worker's gradient does not depend on which workers stand beside it."""
    problem = toy_problem(case)
    x = np.stack([starts(problem), starts(problem)[::-1]])
    lists = problem.draw(stream(1), (2,), 4, FLOAT64)
    together = problem.stochastic_gradient(x, lists)
    for r in range(2):
        alone = problem.stochastic_gradient(x[r], lists[r])
        np.testing.assert_allclose(together[r], alone, rtol=1e-12, atol=1e-14)
    for k in range(problem.K):
        part = slice(k, k + 1)
        own = problem.workers(part).stochastic_gradient(x[0, part], lists[0, part])
        np.testing.assert_allclose(together[0, part], own, rtol=1e-12, atol=1e-14)


def test_a_large_minibatch_is_the_mean_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = toy_problem(1)
    x, lists = starts(problem), problem.draw(stream(1), (), 20, FLOAT64)
    whole = problem.stochastic_gradient(x, lists)
    monkeypatch.setattr("stemtheory.images.problem.PIECE", 7)
    np.testing.assert_allclose(problem.stochastic_gradient(x, lists), whole, atol=1e-14)


@EVERY
def test_float32_stays_float32_and_close(case: int) -> None:
    problem = toy_problem(case)
    single = problem.place(numpy_backend("test"), FLOAT32)
    x = starts(problem)
    lists = problem.draw(stream(1), (), 5, FLOAT64)
    found = single.stochastic_gradient(x.astype(np.float32), lists)
    exact = problem.stochastic_gradient(x, lists)
    assert found.dtype == np.float32
    assert single.value(x[0].astype(np.float32)).dtype == np.float32
    error = np.abs(found - exact).max() / np.abs(exact).max()
    assert error < 1e-4


@EVERY
def test_a_device_gives_the_same_numbers(case: int) -> None:
    """On a fake device: every array lives there, and only names that CuPy has are used."""
    problem = toy_problem(case)
    device = fake_backend(Device())
    there = problem.place(device, FLOAT64)
    x, lists = starts(problem), problem.draw(stream(1), (), 5, FLOAT64)
    put, get = device.from_host, device.to_host
    np.testing.assert_allclose(
        get(there.stochastic_gradient(put(x), put(lists))),
        problem.stochastic_gradient(x, lists),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        get(there.full_gradient(put(x))), problem.full_gradient(x), rtol=1e-12
    )
    np.testing.assert_allclose(get(there.value(put(x))), problem.value(x), rtol=1e-13)
    np.testing.assert_allclose(get(there.accuracy(put(x))), problem.accuracy(x))


# -- layers


def test_im2col_and_its_adjoint_belong_together() -> None:
    rng = stream(3)
    x, side = rng.standard_normal((2, 3, 6, 5, 4)), 3
    columns = im2col(x, side)
    assert columns.shape == (2, 27, 4 * 3 * 4)
    first = columns.reshape(2, 3, 3, 3, 4, 3, 4)
    np.testing.assert_array_equal(first[1, 2, 0, 1, 2, 1], x[1, 2, 2, 2])
    other = rng.standard_normal(columns.shape)
    left, right = (columns * other).sum(), (x * col2im(other, x.shape, side)).sum()
    assert left == pytest.approx(right, rel=1e-12)


def test_pooling_takes_the_first_of_equals() -> None:
    x = np.zeros((1, 1, 3, 5, 1))  # an odd last row and column are left out
    x[0, 0, 0, 1] = x[0, 0, 1, 0] = 1.0
    pooled = pool(x)
    np.testing.assert_array_equal(pooled.largest[0, 0, :, :, 0], [[1.0, 0.0]])
    dx = pool_gradient(np.ones_like(pooled.largest), pooled)[0, 0, :, :, 0]
    np.testing.assert_array_equal(dx, [[0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_cross_entropy_does_not_overflow_far_away() -> None:
    """Loss and gradient, in float32; without the largest logit taken off (mutant) exp overflows."""
    logits = np.zeros((1, 10, 2), dtype=np.float32)
    logits[0, 3] = 1e30
    labels = np.array([[3, 4]])
    with np.errstate(over="raise", invalid="raise"):
        loss = cross_entropy(logits, labels)
        slope = cross_entropy_gradient(logits, labels)
    np.testing.assert_array_equal(loss, np.array([[0, 1e30]], dtype=np.float32))
    np.testing.assert_array_equal(slope[0, 3:5], np.array([[0, 0.5], [0, -0.5]], np.float32))
    with pytest.raises(FloatingPointError), np.errstate(over="raise"):
        np.exp(logits)
    assert onehot(labels, 10)[0, 4].tolist() == [False, True]


@pytest.mark.parametrize(
    ("layers", "shape", "P"),
    [("mnist", (1, 28, 28), 21_840), ("cifar", (3, 32, 32), 62_006), ("small", (1, 14, 14), 3_658)],
)
def test_the_paper_s_architectures_have_their_size(
    layers: str, shape: tuple[int, int, int], P: int
) -> None:
    network = problem_entry("cnn").network(shape, layers=layers)
    assert dimension(network.shapes) == P


# -- as entries


def test_problems_on_data_are_listed_on_request() -> None:
    mine = {"softmax_regression", "tanh_network", "cnn"}
    assert mine <= set(names("problems", data=True))
    assert mine.isdisjoint(names("problems"))
    assert {name for name in names("problems", data=True) if needs_data(name)} == {
        *mine,
        "robust_regression",
    }


ERRORS = {
    "dial": ({"sigma": 1.0}, "has no dial sigma; known are alpha, classes, data"),
    "data": ({"data": "imagenet"}, "known are cifar10, digits"),
    "alpha": ({"alpha": -1.0}, "alpha is -1"),
    "layers": ({"layers": "huge"}, "known are cifar, mnist, small"),
    "images": (
        {"layers": "mnist", "data": "digits", "shrink": 1},
        "choose larger images or other layers",
    ),
    "classes": ({"classes": 11}, "there are 10"),
    "dim": ({"dim": 9}, "leave dim out"),
    "the usual dim, given": ({"dim": 8}, "dim is 8, but cnn on mnist-5k has .* leave dim out"),
    "K": ({"K": 200, "train": 130}, "lower K or train"),
}


@pytest.mark.parametrize(("dials", "message"), ERRORS.values(), ids=ERRORS)
def test_bad_dials_are_refused_in_one_sentence(dials: dict[str, Any], message: str) -> None:
    if not (available("digits") and available("mnist-5k")):
        pytest.skip("the packaged data are not installed")
    with pytest.raises(UsageError, match=message):
        load_problem("cnn", **dials)


@pytest.mark.skipif(not available("digits"), reason="the packaged data are not installed")
def test_the_dim_of_images_is_theirs_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """A dim that is given is right or refused; a sweep that gives none has the right one too."""
    name, P = "softmax_regression", 650
    assert load_problem(name).dim == load_problem(name, dim=P).dim == P
    assert load_problem("cosine").dim == 8  # 8 where the problem is free
    run = ["run", name, "fedavg", "--T", "2", "--b", "1", "--I", "1", "--replicates", "2"]
    assert main([*run, "--dim", "8"]) == 2
    assert f"dim is 8, but {name} on digits has {P} parameters" in capsys.readouterr().err
    for flags in ([], ["--dim", str(P)]):
        assert main([*run, *flags]) == 0
        assert f"dim={P}" in capsys.readouterr().out
    text = f'[settings]\nproblem = "{name}"\n{{}}[algorithms.fedavg]\n[grids.g]\nT = 2\nb = 1\n'
    for own in ("", f"dim = {P}\n"):
        (point,) = points(parse_spec(text.format(own), "test"), Machine("numpy"))
        assert point.cell.run.problem.dim == P
    with pytest.raises(UsageError, match="dim is 8, but"):
        next(points(parse_spec(text.format("dim = 8\n"), "test"), Machine("numpy")))


def test_real_minibatches_only() -> None:
    problem = toy_problem(0)
    with pytest.raises(UsageError, match=r"b is 2\.5.*whole images"):
        simulate(problem, T=4, b=2.5, I=2, B=4, replicates=1)
    with pytest.raises(UsageError, match="draws real samples anyway"):
        simulate(problem, T=4, b=2, I=2, replicates=1, per_sample=True)
    trace = simulate(problem, T=8, b=2, I=2, replicates=3, schedule="constant",
                     schedule_options={"eta": 0.1, "a": 0.5})  # fmt: skip
    assert trace.status == "ok"
    assert trace.settings["exact"]["L"] is False


def test_uniform_images_are_refused() -> None:
    flat = toy()
    flat = replace(flat, train=np.full_like(flat.train, 7))
    with pytest.raises(UsageError, match="are alike"):
        problem_entry("softmax_regression").on(flat, 2, train=4, test=2)


def test_estimates_grow_along_a_run_and_are_never_exact() -> None:
    problem = toy_problem(1)
    x = [problem.start(), problem.start(1), 3 * problem.start(2)]
    few, more = along(problem, x[:1]), along(problem, x)
    for name in ("L", "sigma", "zeta"):
        assert getattr(more, name) >= getattr(few, name) > 0
        assert more.exact[name] is False
    assert few.gap == pytest.approx(float(problem.value(x[0])))


def test_a_quadratic_estimate_is_the_curvature() -> None:
    """One image for each worker and no noise: L is then the curvature along the gradient."""
    problem = toy_problem(0, K=1, train=1, alpha=0.0)
    found = along(problem, [problem.start()])
    assert found.sigma == found.zeta == 0
    x = problem.start()
    g = problem.full_gradient(x)
    u = g / np.linalg.norm(g)
    numeric = (problem.full_gradient(x + 1e-4 * u) - problem.full_gradient(x - 1e-4 * u)) / 2e-4
    assert found.L == pytest.approx(np.linalg.norm(numeric), rel=0.1)


def test_no_theorem_is_held_against_estimates() -> None:
    problem = load_problem("softmax_regression", K=2, train=4, test=2)
    trace = simulate(problem, T=4, b=2, I=2, replicates=2)
    found = margins(trace)
    assert {(m.verdict, m.unmet) for m in found} == {("inapplicable", "L, sigma, zeta are known")}
    assert all(m.value is None and "estimates from below" in m.reason for m in found)
    with pytest.raises(UsageError, match="no bound promises anything"):
        advise_on(problem, 0.1)

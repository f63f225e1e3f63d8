"""Runs side by side, the moments that are kept, and compiled steps: the same numbers as before."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.stem import READINGS
from stemtheory.moments import recursion as recursions
from stemtheory.moments.exact import moments, stability
from stemtheory.moments.linear_model import Group, LinearModel, linear_model
from stemtheory.moments.recursion import ConstantRun, Recursion, averages
from stemtheory.runtime import Floats, UsageError
from stemtheory.schedules import Schedule
from stemtheory.schedules.stepsizes import Calibrated, Constant
from stemtheory.simulator import missing_compiler

METHODS = [*(("stem", reading) for reading in READINGS), ("fedavg", "literal")]
NOISE = {"noise_slope": 0.6, "noise_level": 0.5}
MODELS = (  # of groups of 2 and 1; in the second nothing bends
    linear_model([0.9, 0.9, -0.2], [1.0, 1.0, -0.4], **NOISE),
    linear_model([0.0, 0.0, 0.0], [0.3, 0.3, -0.3], **NOISE),
    linear_model([0.5, 0.5, 0.5], [0.3, 0.3, -0.3], noise_level=0.1),
)
STARTS = np.array([1.3, -0.4, 2.0])
SCHEDULES = [Constant(0.15, 0.3), Calibrated(1.0, 3, 1.0, 4)]
needs_numba = pytest.mark.skipif(missing_compiler() is not None, reason="needs numba")


def made(model: LinearModel | tuple[LinearModel, ...], base: str, sync: str) -> Recursion:
    options = {"sync": sync, "sync_batch": 3} if base == "stem" else None
    return Recursion(model, base, ALGORITHMS[base].make(options), sync)


def run(recursion: Recursion, schedule: Schedule, x1: Any, times: list[int]) -> Floats:
    return averages(recursion, schedule, x1=x1, b=2.0, I=4, B=7.0, times=times)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("base", "sync"), METHODS)
def test_models_side_by_side_are_those_alone(base: str, sync: str, schedule: Schedule) -> None:
    times = [1, 5, 60, 333]
    found = run(made(MODELS, base, sync), schedule, STARTS, times)
    alone = [
        run(made(model, base, sync), schedule, x1, times)
        for model, x1 in zip(MODELS, STARTS, strict=True)
    ]
    assert found.shape == (4, 3)
    np.testing.assert_allclose(found, np.stack(alone, axis=1), rtol=1e-12)
    assert not np.allclose(found[:, 0], found[:, 2], rtol=0.01)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("base", "sync"), METHODS)
def test_the_moments_that_are_kept_are_enough(base: str, sync: str, model: LinearModel) -> None:
    """All of them, as a power of a round's map; what is kept has no entry from what is not."""
    whole = made(model, base, sync)
    states = ConstantRun(whole, 0.15, 0.3, 2.0, 4).states(whole.first(1.3, 7.0), [37, 400])
    expected = [state[-1] / t for state, t in zip(states, (37, 400), strict=True)]
    np.testing.assert_allclose(
        run(whole, Constant(0.15, 0.3), 1.3, [37, 400]), expected, rtol=1e-12
    )


def test_without_noise_that_depends_on_x_the_mean_is_enough() -> None:
    """Of 17 and 41 moments 8 are left, or, with an offset of the mean, 11."""
    kept = {}
    for offsets in ([0.0] * 4, [0.3, 0.3, -0.3, -0.3], [0.3, 0.3, 0.0, 0.0]):
        recursion = made(linear_model([1.0] * 4, offsets, noise_level=1.0), "stem", "literal")
        small = replace(recursion, watched=True)
        kept[recursion.form.size, offsets[2]] = small.local.still.shape[-1]
    assert kept == {(17, 0.0): 8, (41, -0.3): 8, (41, 0.0): 11}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("base", "sync"), METHODS)
def test_offsets_of_one_curvature_are_their_mean_and_spread(
    base: str, sync: str, schedule: Schedule
) -> None:
    """Four workers, each a group of its own, are one group; a mutant without spread is rejected."""
    offsets = [1.0, -0.4, 0.3, 0.1]
    each = linear_model([0.7] * 4, offsets, **NOISE)
    group = Group(0.7, float(np.mean(offsets)), 4, float(np.std(offsets)))
    one, mutant = (replace(each, groups=(g,)) for g in (group, group._replace(spread=0.0)))
    times = [1, 2, 3, 4, 5, 60, 333]
    expected = run(made(each, base, sync), schedule, 1.3, times)
    np.testing.assert_allclose(run(made(one, base, sync), schedule, 1.3, times), expected, 1e-12)
    apart = run(made(mutant, base, sync), schedule, 1.3, times) / expected - 1
    assert abs(apart[-1]) > 1e-6
    assert made(each, base, sync).form.size > 1.9 * made(one, base, sync).form.size


def test_what_is_known_of_offsets_does_not_grow() -> None:
    """Growth is that of the model without its offsets, and one worker has no spread."""
    of = {"b": 1, "I": 3, "eta": 0.3, "a": 0.2, "bounded": False}
    growths = [
        stability(LinearModel((Group(1.0, 0.0, 3, spread),), 0.5), **of).growth  # type: ignore[arg-type]
        for spread in (0.0, 0.7)
    ]
    assert growths[0] == pytest.approx(growths[1], rel=1e-12)
    assert growths[0] < 0
    with pytest.raises(UsageError, match="one worker has one offset"):
        LinearModel((Group(1.0, 0.0, 1, 0.7),))


@needs_numba
@pytest.mark.parametrize("model", [*MODELS, MODELS])
@pytest.mark.parametrize(("base", "sync"), METHODS)
def test_compiled_steps_are_the_products(
    monkeypatch: pytest.MonkeyPatch, base: str, sync: str, model: Any
) -> None:
    """To 1e-12: sums in another order. A mutant, another sync batch, is rejected."""
    x1 = STARTS if model is MODELS else 1.3
    schedule, times = Calibrated(1.0, 3, 1.0, 4), [4, 100, 3000]
    products = run(made(model, base, sync), schedule, x1, times)
    monkeypatch.setattr(recursions, "MANY", 1)
    compiled = run(made(model, base, sync), schedule, x1, times)
    np.testing.assert_allclose(compiled, products, rtol=1e-12)
    if base == "stem" and model is not MODELS[1]:  # where nothing bends M is one number
        mutant = replace(made(model, base, sync), algorithm=ALGORITHMS["stem"].make())
        assert not np.allclose(run(mutant, schedule, x1, times)[1:], products[1:], rtol=1e-6)


@needs_numba
def test_compiled_steps_that_diverge_are_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recursions, "MANY", 1)
    wild = Calibrated(1.0, 1, 1.0, 1, C1=1 / 16, C3=40.0)
    found = run(made(MODELS[0], "stem", "literal"), wild, 1.0, [3, 9000])
    assert np.isfinite(found[0])
    assert np.isinf(found[1])


@pytest.mark.parametrize(("T", "compiled"), [(1000, False), (recursions.MANY // 1000, True)])
def test_few_steps_import_no_compiler(T: int, compiled: bool) -> None:
    code = (
        "import sys; from stemtheory import load_problem; from stemtheory.moments import moments;"
        "p = load_problem('quadratic', K=2, dim=1, noise='additive', zeta=0.0);"
        f"moments(p, T={T}, b=1, I=4, schedule='calibrated'); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(compiled and missing_compiler() is None)]


# Of version 0.1, which followed every coordinate by itself, all moments, by matrix products: the
# same to 1e-13; of 1e9 steps with multiplicative noise to 1e-9, as their own rounding is (80-bit
# numbers agree with today's to 5e-10, with those to 2e-9).
BEFORE = {
    ("additive", "theorem", 1e9, "stem"): (7.801103070014865e-07, 1e-13),
    ("additive", "theorem", 1e9, "fedavg"): (9.623439293332057e-06, 1e-13),
    ("multiplicative", "theorem", 1e9, "stem"): (9.58591310677599e-07, 1e-9),
    ("multiplicative", "theorem", 1e9, "fedavg"): (6.8046980442506476e-06, 1e-13),
    ("additive", "theorem", 1e4, "stem"): (0.011485709380644221, 1e-13),
    ("multiplicative", "theorem", 1e4, "stem"): (0.01126256897208449, 1e-12),
    ("additive", "calibrated", 1000, "stem"): (0.014888974912211285, 1e-13),
    ("multiplicative", "calibrated", 1000, "stem"): (0.011755150438864017, 1e-13),
}


@pytest.mark.parametrize(("noise", "schedule", "T", "algorithm"), BEFORE)
def test_numbers_are_those_of_before(noise: str, schedule: str, T: float, algorithm: str) -> None:
    problem = load_problem(
        "quadratic", K=4, dim=20, noise=noise, sigma=1.0, zeta=1.0, heterogeneity="tilt",
        spectrum=100.0,
    )  # fmt: skip
    value, rtol = BEFORE[noise, schedule, T, algorithm]
    found = moments(problem, algorithm, T=T, nu=0.5, schedule=schedule)
    assert found.mean_grad_sq == pytest.approx(value, rel=rtol)

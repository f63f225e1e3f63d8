"""Which runs share a kernel, and the engine that all of them together get."""

import dataclasses
from itertools import product
from typing import Any

import numpy as np
import pytest

from stemtheory.oracles import NOISES, load_problem, names
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import Run, fused, simulate, together
from stemtheory.simulator.fused import sharing
from stemtheory.simulator.fused.recipe import make_recipe
from stemtheory.simulator.fused.systems import system_of

ALGORITHMS = ("stem", "fedavg", "minibatch-sgd", "scaffold")
SYSTEMS = ("spider", "mime", "mimelite", "mimemvr", "fedpd", "fedglomo", "vrl-sgd", "slowmo")
DIALS: tuple[dict[str, Any], ...] = (
    {},
    {"zeta": 0.0},
    {"sigma": 0.0},
    {"spectrum": 4.0},
    {"heterogeneity": "tilt"},
    {"heterogeneity": "tilt", "spectrum": 2.0},
    *({"noise": name} for name in NOISES),
)


def made(problem: Any = "cosine", algorithm: str = "stem", **more: Any) -> Run:
    return Run.of(problem, algorithm, **{"K": 2, "dim": 3, "T": 16, "b": 1, "I": 1, **more})


def runs() -> list[Run]:
    found = [made(algorithm=name) for name in SYSTEMS]
    found.append(made(algorithm="fedpd", algorithm_options={"oracle": "II"}))
    for name, dials, algorithm, dtype in product(
        names("problems"), DIALS, ALGORITHMS, ("float64", "float32")
    ):
        try:
            found.append(made(name, algorithm, dials=dials, dtype=dtype))
        except UsageError:  # a problem without this dial
            continue
    return [run for run in found if sharing.kernel_of(run) is not None]


def module_of(run: Run) -> Any:
    """What ``load_kernel`` tells modules apart by, and how it fills in the arguments."""
    recipe = make_recipe(run.problem.load())  # type: ignore[arg-type]
    parts = (recipe.problem, recipe.parts, recipe.prints, recipe.terms, len(recipe.rows))
    return (*parts, system_of(run.method).name, run.numerics.dtype)


def test_a_name_is_a_module() -> None:
    """Neither does one name stand for two modules, nor are there two names of one."""
    pairs = {(sharing.kernel_of(run), module_of(run)) for run in runs()}
    assert len(pairs) > 100
    assert len({name for name, _ in pairs}) == len({module for _, module in pairs}) == len(pairs)


def test_sizes_seeds_and_strengths_share_a_kernel() -> None:
    usual = sharing.kernel_of(made())
    assert usual is not None
    for more in ({"K": 3}, {"dim": 9}, {"T": 64}, {"I": 4}, {"seed": 5}, {"sync": "overwrite"}):
        assert sharing.kernel_of(made(**more)) == usual
    assert sharing.kernel_of(made(dials={"sigma": 2.0, "zeta": 3.0, "L": 7.0})) == usual
    assert sharing.kernel_of(made(algorithm="fedavg")) != usual


@pytest.mark.parametrize(
    "more",
    [
        {"problem": "logistic"},
        {"dials": {"rotate": True}},
        {"algorithm": "fedpd", "algorithm_options": {"skip": 0.5}},
        {"per_sample": True},
        {"noise_source": "host"},
        {"engine": "array"},
        {"engine": "fused"},
    ],
)
def test_what_is_not_asked_for_has_none(more: Any) -> None:
    assert sharing.kernel_of(made(**more)) is None


def test_it_is_the_sum_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run alone is far below the limit."""
    pytest.importorskip("numba")
    several = [made(T=T, seed=seed) for T in (16, 32) for seed in range(3)]
    total = sum(map(sharing.work, several))
    assert total == 3 * (16 + 32) * (32 * 2 * 3 + sharing.STEP_ELEMENTS)
    for limit, engine in ((total, "fused"), (total + 1, "array")):
        monkeypatch.setattr(sharing, "SHARED_WORK", limit)
        assert {run.numerics.engine for run in together(several)} == {engine}
    assert [run.seed for run in together(several)] == [run.seed for run in several]


def test_a_named_engine_stays_and_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    named = [made(engine="array"), made(engine="fused")]
    monkeypatch.setattr(sharing, "SHARED_WORK", 2 * sharing.work(made()))
    assert together(named) == named
    assert together([*named, made()])[-1].numerics.engine == "array"


def test_the_engine_that_was_settled_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(sharing, "SHARED_WORK", 1)
    (settled,) = together([made(replicates=2)])
    found, named = simulate(settled), simulate(made(replicates=2, engine="fused"))
    assert found.settings["engine"] == "fused"
    np.testing.assert_array_equal(found.grad_sq, named.grad_sq)


def _chosen(x: Any, weight: Any) -> Any:
    return np.where(x > 0, weight * x, 2 * weight * x)


def _half(x: Any, weight: Any) -> Any:
    return weight * x / (1 + abs(x))


@pytest.mark.parametrize(("slope", "engine"), [(_chosen, "array"), (_half, "fused")])
def test_what_does_not_compile_stays_on_arrays(
    slope: Any, engine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's own functions are tried before cells that run on them are settled."""
    pytest.importorskip("numba")
    monkeypatch.setattr(sharing, "SHARED_WORK", 1)
    base = load_problem("quadratic", K=2, dim=3)
    family = dataclasses.replace(base.family, name="mine", slope=slope)  # type: ignore[attr-defined]
    own = dataclasses.replace(base, family=family)  # type: ignore[type-var]
    (run,) = together([Run.of(own, "fedavg", T=16, b=1, I=1)])
    assert run.numerics.engine == engine
    said = "takes the slower array engine: engine fused cannot be used, because numba"
    assert (said in capsys.readouterr().err) == (engine == "array")


def test_without_a_compiler_it_is_arrays_and_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fused, "missing", lambda: "numba is not installed")
    fused.say_missing.cache_clear()
    try:
        assert together([made()])[0].numerics.engine == "array"
        assert capsys.readouterr().err == ""  # nothing is lost where it is small
        monkeypatch.setattr(sharing, "SHARED_WORK", 1)
        for _ in range(2):
            assert together([made()])[0].numerics.engine == "array"
        assert capsys.readouterr().err.count("numba is not installed") == 1
    finally:
        fused.say_missing.cache_clear()

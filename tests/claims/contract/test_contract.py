"""The contract over every problem of the catalogue, and what it cannot see by itself."""

import ast
import inspect
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms.base import Step
from stemtheory.algorithms.stem import Stem
from stemtheory.claims.contract import ContractRow, check_problem, passed, records, table, text
from stemtheory.claims.contract.statistics import Z_LIMIT, z_scores
from stemtheory.oracles.catalogue import load_problem, names, problem_entry
from stemtheory.oracles.chains.chain_entry import ChainEntry
from stemtheory.oracles.finite_sum import FiniteSum, Model
from stemtheory.oracles.finite_sum_constants import bracket
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.oracles.separable import Family, Separable
from stemtheory.runtime import Floats
from stemtheory.runtime.backend import numpy_backend
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.simulation import simulate

NAMES = names("problems")
FAMILIES = [name for name in NAMES if isinstance(problem_entry(name), Family)]
SIZES: list[dict[str, Any]] = [
    {"K": 2, "dim": 1},
    {"K": 3, "dim": 5, "spectrum": 4.0},
    {"K": 4, "dim": 8, "spectrum": 2.0, "rotate": True},
]
ALONE = {"K": 1, "dim": 3, "spectrum": 3.0, "rotate": True, "heterogeneity": "none"}


def failures(rows: list[ContractRow]) -> list[ContractRow]:
    """Return the rows that are no success."""
    return [row for row in rows if not row.ok]


def settings(name: str) -> list[dict[str, Any]]:
    """Return the dials with which an entry meets the contract: its kind decides which it has."""
    entry = problem_entry(name)
    if isinstance(entry, Family):
        shared = [
            {"heterogeneity": h, **size} for h, size in itertools.product(HETEROGENEITIES, SIZES)
        ]
        return [{"noise": noise, **s} for noise in NOISES for s in (*shared, ALONE)]
    if isinstance(entry, Model):
        return [
            {"sampling": sampling, "heterogeneity": h, "K": K, "dim": dim, **own}
            for sampling, h, (K, dim), own in itertools.product(
                ("gaussian", "minibatch"),
                HETEROGENEITIES,
                ((2, 1), (3, 5)),
                ({}, {"alpha": 0.0}, {"sigma": 0.0}),
            )
        ]
    # another kind: it has no common dials; a chain's every worker holds a link
    return [{"K": 2, "dim": 2 if isinstance(entry, ChainEntry) else 1}, {"K": 4, "dim": 8}]


CELLS = [(name, s) for name in NAMES for s in settings(name)]


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_keeps_the_contract(name: str) -> None:
    rows = check_problem(name)
    assert failures(rows) == []
    assert {"L", "sigma", "zeta", "f_star", "gap", "gradient", "unbiased"} <= {
        row.constant for row in rows
    }


@pytest.mark.parametrize(
    ("name", "dials"), CELLS, ids=[f"{n}-{list(s.values())}" for n, s in CELLS]
)
def test_every_setting_keeps_the_contract(name: str, dials: dict[str, Any]) -> None:
    rows = check_problem(name, quick=True, **dials)
    assert failures(rows) == []
    if isinstance(problem_entry(name), Family):
        verdicts = {row.constant: row.verdict for row in rows}
        bounded = NOISES[dials["noise"]].bounded
        assert verdicts["sigma"] == ("exact" if bounded else "unbounded")
        assert {verdicts[c] for c in ("L", "zeta", "f_star", "gap")} == {"exact"}


OWN: list[tuple[str, dict[str, Any]]] = [
    ("cosine", {"bowl": 1.0}),
    ("cosine", {"bowl": 0.05, "ripple": 30.0}),
    ("cosine", {"bowl": 0.5}),
    ("corridor", {"g": 1e-3}),
    ("corridor", {"g": 5.0, "h": 0.01, "spectrum": 3.0}),
    ("quadratic", {"het_phase": 1.0, "K": 4}),
    ("quadratic", {"h": 0.1, "noise": "additive"}),
    ("geman_mcclure", {"noise_frequency": 100.0, "sigma": 0.01, "L": None, "curvature": 0.5}),
    ("welsch", {"noise": "modulated", "modulation": 1.0}),
    ("cauchy", {"sigma": 0.0}),
    ("cauchy", {"sigma": 0.0, "zeta": 0.0}),
    ("welsch", {"L": 50.0, "sigma": 7.0, "zeta": 0.01}),
    ("logistic", {"L": 20.0, "sigma": 3.0, "zeta": 5.0, "alpha": 2.0}),
    ("logistic", {"points": 1, "dim": 2}),
    ("logistic", {"points": 200, "data_seed": 7, "het_frequency": 0.3}),
]


@pytest.mark.parametrize(("name", "dials"), OWN, ids=[f"{n}-{list(s)}" for n, s in OWN])
def test_own_dials_keep_the_contract(name: str, dials: dict[str, Any]) -> None:
    assert failures(check_problem(name, quick=True, **{"dim": 3, **dials})) == []


@pytest.mark.parametrize("name", [n for n in FAMILIES if n != "quadratic"])
def test_a_shifted_sinusoid_makes_L_a_bound_that_is_nearly_attained(name: str) -> None:
    (L,) = (r for r in check_problem(name, het_phase=math.pi / 4) if r.constant == "L")
    assert L.verdict == "bound"
    assert L.largest is not None
    assert 0.85 < L.largest < 1


def test_slack_declares_an_upper_bound() -> None:
    dials: dict[str, Any] = {
        "curvature": 0.5,
        "zeta": 1.0,
        "het_frequency": 0.3,
        "noise_smoothness": 0.1,
    }
    rows = check_problem("welsch", L=2.0, slack=True, **dials)
    assert failures(rows) == []
    assert rows[0].verdict == "bound"
    assert rows[0].attained == pytest.approx(load_problem("welsch", **dials).constants().L)


LEAST = {
    "quadratic": (0.0, 1.0),
    "cosine": (math.pi / 2, -1 / 3),
    "geman_mcclure": (1.0, -1 / 4),
    "welsch": (math.sqrt(3), -2 * math.exp(-3 / 2)),
    "cauchy": (math.sqrt(3), -1 / 8),
}


@pytest.mark.parametrize("name", LEAST)
def test_the_least_curvature_is_where_the_derivation_says(name: str) -> None:
    problem = load_problem(name, K=1, dim=1, sigma=0)
    assert isinstance(problem, Separable)
    x = np.linspace(-20, 20, 400_001)
    bend = problem.family.curvature(x, *problem.slope_arguments)
    where, least = LEAST[name]
    assert bend.min() == pytest.approx(least, abs=1e-8)
    assert problem.family.curvature(where, *problem.slope_arguments) == pytest.approx(least)
    assert bend.max() == pytest.approx(1.0)
    assert problem.nonconvex == (least < 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_curvature_is_the_slope_of_the_slope(name: str) -> None:
    problem = load_problem(name, spectrum=3.0)
    assert isinstance(problem, Separable)
    family, arguments = problem.family, problem.slope_arguments
    x = np.linspace(-6, 6, 808).reshape(-1, 8)
    h = 1e-4
    f = [family.slope(x + k * h, *arguments) for k in (-2, -1, 1, 2)]
    numeric = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
    np.testing.assert_allclose(family.curvature(x, *arguments), numeric, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_suit_a_compiler(name: str) -> None:
    """No number of its own (it would widen float32) and no branch: ufuncs of the arguments."""
    entry = problem_entry(name)
    tree = ast.parse(inspect.getsource(entry.slope))
    body = tree.body[0].body[1:]  # type: ignore[attr-defined]  # without the docstring
    nodes = [node for statement in body for node in ast.walk(statement)]
    assert [n.value for n in nodes if isinstance(n, ast.Constant)] == []
    called = {n.func.attr for n in nodes if isinstance(n, ast.Call)}  # type: ignore[attr-defined]
    assert all(isinstance(getattr(np, name), np.ufunc) for name in called)


def test_the_corridor_is_one_where_it_should_be() -> None:
    """Slope g far along the first coordinate, a bowl of curvature h across."""
    problem = load_problem("corridor", K=1, dim=3, sigma=0, L=2.0, g=0.25, h=0.5)
    far = np.array([1e8, 3.0, -1.0])
    np.testing.assert_allclose(problem.full_gradient(far), [0.25, 1.5, -0.5], rtol=1e-12)
    delta = 0.25 / 2.0
    direct = 0.25 * (math.hypot(3.0, delta) - delta) + 0.25 * (1 + 4)
    assert problem.value(np.array([3.0, 1.0, 2.0])) == pytest.approx(direct, rel=1e-14)


# -- finite sums


def _logistic(**dials: Any) -> FiniteSum:
    problem = load_problem("logistic", **dials)
    assert isinstance(problem, FiniteSum)
    return problem


def test_the_bracket_of_L_is_that_of_the_summands() -> None:
    """Against the definition, with every summand's Hessian at 0 formed."""
    problem = _logistic(dim=5, alpha=0.3, heterogeneity="none")
    A, alpha, scale = problem.rows, 0.3, problem.height * problem.stretch**2
    hessians = [np.outer(a, a) / 4 + 2 * alpha * np.eye(5) for a in A]
    lower = math.sqrt(np.linalg.eigvalsh(np.mean([h @ h for h in hessians], axis=0))[-1])
    outer = np.mean([(a @ a) * np.outer(a, a) for a in A], axis=0) / 16
    upper = math.sqrt(np.linalg.eigvalsh(outer)[-1]) + 2 * alpha
    assert bracket(problem.model, A, alpha) == pytest.approx((lower, upper))
    assert problem.constants().L == pytest.approx(scale * upper)
    assert problem.dials["L_lower"] == pytest.approx(scale * lower)
    assert problem.dials["L_lower"] < problem.constants().L


def test_sigma_is_the_mean_square_of_the_data() -> None:
    problem = _logistic(sigma=0.7)
    mean_square = float((problem.rows**2).sum(axis=1).mean())
    assert problem.height * problem.stretch * math.sqrt(mean_square) == pytest.approx(0.7)


def test_both_samplings_have_the_covariance_of_the_summands() -> None:
    """z-tests of every entry of the covariance; 2 x 15 of them, false alarms below 1e-8."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(5)))
    x = rng.standard_normal((1, 5))
    exact: Floats | None = None
    for sampling in ("gaussian", "minibatch"):
        problem = _logistic(K=1, dim=5, sampling=sampling)
        slopes, _ = problem.evaluate(x)
        each = problem.height * problem.stretch * slopes[0][:, None] * problem.rows
        exact = np.cov(each.T, bias=True)
        b, n = 3, 20_000
        noise = problem.stochastic_gradient(
            np.broadcast_to(x, (n, 1, 5)), problem.draw(rng, (n,), b, np.dtype(np.float64))
        )[:, 0] - problem.gradient(x)
        products = noise[:, :, None] * noise[:, None, :]
        assert z_scores(products, exact / b, 1.0).max() < Z_LIMIT


def test_both_samplings_drive_stem_to_the_same_place() -> None:
    """Means over 256 replicates; |z| < 6: a false alarm has probability 2e-9."""
    traces = [
        simulate(_logistic(dim=4, K=2, sampling=s, sigma=1.0), T=64, b=2, I=4, replicates=256)
        for s in ("gaussian", "minibatch")
    ]
    (m, e), (n, f) = ((t.mean_grad_sq or math.nan, t.stderr or math.nan) for t in traces)
    assert abs(m - n) < 6 * math.hypot(e, f)


@pytest.mark.parametrize("sampling", ["gaussian", "minibatch"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_finite_sums_run_in_blocks_and_per_sample(sampling: str, dtype: str) -> None:
    problem = _logistic(sampling=sampling)
    run: dict[str, Any] = {"T": 32, "b": 2, "I": 4, "replicates": 19, "dtype": dtype}
    whole, first = simulate(problem, **run), simulate(problem, **{**run, "replicates": 8})
    np.testing.assert_array_equal(whole.grad_sq[:8], first.grad_sq)
    singles = simulate(problem, per_sample=True, **run)
    assert singles.status == whole.status == "ok"
    assert not np.array_equal(singles.grad_sq, whole.grad_sq)


def test_weights_are_those_of_a_minibatch() -> None:
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(2)))
    dtype = np.dtype(np.float64)
    counts = 5 * _logistic(sampling="minibatch").draw(rng, (7, 3), 5, dtype)
    assert counts.shape == (7, 3, 4, 32)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-12)
    np.testing.assert_allclose(counts.sum(axis=-1), 5)
    weights = _logistic().draw(rng, (7, 3), 2.5, dtype)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)


class _Integers:
    """A stream that has no ``multinomial``, as on a device."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))

    def integers(self, low: int, high: int, size: tuple[int, ...]) -> Any:
        return self.rng.integers(low, high, size)


def test_a_stream_without_multinomial_counts_what_it_draws() -> None:
    """Each count is binomial(b, 1/N): z-tests over 32 summands, false alarms below 1e-8."""
    problem = _logistic(sampling="minibatch", K=2)
    counts = 6 * problem.draw(_Integers(3), (2000, 2), 6, np.dtype(np.float64))
    assert counts.shape == (2000, 2, 2, 32)
    np.testing.assert_allclose(counts.sum(axis=-1), 6)
    flat = counts.reshape(-1, 32)
    assert z_scores(flat, np.full(32, 6 / 32), 1.0).max() < Z_LIMIT
    variance = 6 * (1 / 32) * (31 / 32)
    assert z_scores((flat - 6 / 32) ** 2, np.full(32, variance), 1.0).max() < Z_LIMIT


def test_a_real_batch_needs_the_gaussian_sampling() -> None:
    with pytest.raises(UsageError, match=r"b is 2\.5"):
        simulate(_logistic(sampling="minibatch"), T=8, b=2.5, I=2, B=4, replicates=2)
    assert simulate(_logistic(), T=8, b=2.5, I=2, replicates=2).status == "ok"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("margin", [-1e4, 1e4])
def test_logistic_is_finite_at_huge_margins(dtype: Any, margin: float) -> None:
    """In float32 too; the formula as it is printed (mutant) overflows."""
    problem = _logistic(dim=3).place(numpy_backend("test"), np.dtype(dtype))
    a = problem.rows[0]
    x = (margin * a / (a @ a) / problem.stretch).astype(dtype)
    assert problem.rows[0] @ (problem.stretch * x) == pytest.approx(margin, rel=1e-5)
    with np.errstate(over="raise", invalid="raise"):
        value, gradient = problem.value(x), problem.full_gradient(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value.dtype == gradient.dtype == dtype
    with pytest.raises(FloatingPointError), np.errstate(over="raise"):
        np.log(1 + np.exp(dtype(abs(margin))))


LOGISTIC_ERRORS = {
    "unknown": ({"rotate": True}, "logistic has no dial rotate; known are L, alpha"),
    "sampling": ({"sampling": "poisson"}, "sampling 'poisson' is unknown"),
    "alpha": ({"alpha": -1}, "alpha is -1"),
    "points": ({"points": 0}, "points is 0"),
    "Z": ({"het_frequency": 10.0}, "must stay below L = 1"),
    "zeta": ({"K": 1, "zeta": 1.0}, "one worker cannot differ from itself"),
}


@pytest.mark.parametrize(("dials", "message"), LOGISTIC_ERRORS.values(), ids=LOGISTIC_ERRORS)
def test_finite_sums_refuse_in_one_sentence(dials: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_problem("logistic", **dials)


# -- the contract as a tool


def test_a_loss_of_ones_own_keeps_the_contract() -> None:
    rows = check_problem("tests.helpers.example_loss:ENTRY", noise="modulated", rotate=True)
    assert failures(rows) == []
    assert [row.verdict for row in rows if row.constant == "L"] == ["exact"]


def test_a_problem_already_made_is_taken_as_it_is() -> None:
    made = load_problem("cauchy", K=2, dim=2, L=3.0)
    rows = check_problem(made, quick=True)
    assert passed(rows)
    assert rows[0].declared == 3.0


def test_a_slope_that_is_not_a_number_is_a_verdict() -> None:
    """NaN fails every row it touches; it stops no check and wins none."""
    family = Family(
        name="lost",
        summary="",
        formula="",
        loss=lambda x, weight: weight * x * x,
        slope=lambda x, weight: weight * (x + np.where(x > 1, np.nan, 0.0)),
        curvature=lambda x, weight: weight + 0 * x,
    )
    rows = {row.constant: row for row in check_problem(family, dim=2, quick=True)}
    for name in ("L", "zeta", "gradient", "unbiased", "variance", "batch law"):
        assert rows[name].verdict == "violated", name


def test_a_slope_that_raises_is_a_verdict() -> None:
    """What fails stops its own part of the contract alone."""

    def slope(x: Any, weight: Any) -> Any:
        if np.max(np.abs(x)) > 3:
            raise ArithmeticError("too far out")
        return weight * x

    family = Family(
        name="raising",
        summary="",
        formula="",
        loss=lambda x, weight: weight * x * x / 2,
        slope=slope,
        curvature=lambda x, weight: weight + 0 * x,
    )
    rows = check_problem(family, dim=2, quick=True)
    notes = [row.note for row in rows if row.verdict == "violated"]
    assert any(note.startswith("it raised ArithmeticError: too far out (your ") for note in notes)
    assert not passed(rows)


def test_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match="it lacks K, combine, constants, dials"):
        check_problem(object())
    with pytest.raises(UsageError, match="known are"):
        check_problem("welsh")
    with pytest.raises(UsageError, match=r"give package\.module:NAME"):
        check_problem("tests.helpers.example_loss:MISSING")


def test_the_table_can_be_printed() -> None:
    rows = check_problem("quadratic", K=2, dim=2, quick=True)
    lines = table(rows)
    assert lines[0][:5] == ("constant", "declared", "attained", "largest found", "verdict")
    assert lines[1][0] == "L"
    assert {len(line) for line in lines} == {6}
    printed = text(rows).splitlines()
    assert len(printed) == len(rows) + 1
    assert "nan" not in text(rows)
    again = json.loads(json.dumps(records(rows), allow_nan=False))
    assert [row["constant"] for row in again] == [row.constant for row in rows]
    assert {row["verdict"]: row["declared"] for row in again}["unbounded"] is None


def test_the_contract_repeats_itself() -> None:
    assert check_problem("welsch", quick=True) == check_problem("welsch", quick=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sync", ["literal", "average-first", "overwrite"])
@pytest.mark.parametrize("name", NAMES)
def test_ten_steps_keep_the_dtype(name: str, sync: str, dtype: str) -> None:
    """Every array of the state, not only the result: one Python float too many widens it."""
    kind = np.dtype(dtype)
    problem = load_problem(name, dim=3, K=3).place(numpy_backend("test"), kind)
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(4)))
    algorithm = Stem(sync)
    x = np.ones((2, 3, 3), dtype=kind)
    state = algorithm.init(problem, x, 0.1, problem.draw(rng, (2,), 2, kind))
    for t in range(1, 11):
        minibatch = problem.draw(rng, (2,), 2, kind)
        state = algorithm.local_step(problem, state, Step(t, 0.1, 0.5, t % 2 == 0), minibatch)
        if t % 2 == 0:
            state = algorithm.synchronise(problem, state)
        arrays = [state.x, state.d, *state.previous]
        # constant fields of the noise are scalars, which widen nothing
        assert {a.dtype for a in arrays if isinstance(a, np.ndarray)} == {kind}

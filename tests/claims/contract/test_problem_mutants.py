"""Every kind of wrong problem, and the row of the contract that rejects it.

Among them the wrong constants of public codes: 6 alpha for the curvature of the penalty
sum x^2/(1+x^2) and a strong-convexity constant for a nonconvex loss (a logistic regression in a
distributed-optimisation package), and row norms |a| for |a|^2/4 (an optimisation-methods package).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemtheory.claims.contract import ContractRow, check_problem
from stemtheory.oracles.catalogue import load_problem
from stemtheory.oracles.finite_sum import FiniteSum
from stemtheory.oracles.problem import Problem, Witness
from stemtheory.runtime.backend import numpy_backend
from tests.helpers.altered import Altered, declared

SMALL: dict[str, Any] = {"K": 3, "dim": 2}


def rejected(problem: Any) -> dict[str, str]:
    """Return the failing rows of a problem: name to verdict."""
    return {row.constant: row.verdict for row in rows_of(problem) if not row.ok}


def rows_of(problem: Any) -> list[ContractRow]:
    """Return the rows of the quick contract."""
    return check_problem(problem, quick=True)


class Mutant(NamedTuple):
    """A base problem, what is replaced, and the row that must fail (with its verdict)."""

    base: tuple[str, dict[str, Any]]
    parts: dict[str, Any]
    row: str
    verdict: str = "violated"


GEMAN = ("geman_mcclure", SMALL)
WELSCH = ("welsch", SMALL)
QUADRATIC = ("quadratic", SMALL)
COSINE = ("cosine", SMALL)
MODULATED = ("cauchy", {**SMALL, "noise": "modulated"})
ADDITIVE = ("cauchy", {**SMALL, "noise": "additive"})
SILENT = ("logistic", {**SMALL, "sigma": 0.0, "alpha": 0.5})
LOGISTIC = ("logistic", SMALL)
TIGHT = ("logistic", {**SMALL, "alpha": 0.0, "heterogeneity": "tilt"})


def _moved(name: str, shift: float) -> Callable[[Problem], tuple[Witness, ...]]:
    """Return witnesses of which one stands elsewhere."""

    def witnesses(inner: Problem) -> tuple[Witness, ...]:
        return tuple(
            replace(w, points=w.points + shift) if w.constant == name else w
            for w in inner.witnesses()
        )

    return witnesses


def _without(name: str) -> Callable[[Problem], tuple[Witness, ...]]:
    def witnesses(inner: Problem) -> tuple[Witness, ...]:
        return tuple(w for w in inner.witnesses() if w.constant != name)

    return witnesses


CONSTANTS: dict[str, Mutant] = {
    "L a percent too small": Mutant(WELSCH, declared(L=lambda c: 0.99 * c.L), "L"),
    "L a percent too large": Mutant(WELSCH, declared(L=lambda c: 1.01 * c.L), "L", "not attained"),
    "L a millionth too large": Mutant(
        GEMAN, declared(L=lambda c: (1 + 1e-6) * c.L), "L", "not attained"
    ),
    "L without the noise": Mutant(GEMAN, declared(L=lambda c: c.L / math.sqrt(2)), "L"),
    "L as c + Z + L_n, not the root of squares": Mutant(
        COSINE, declared(L=lambda c: c.L * math.sqrt(2)), "L", "not attained"
    ),
    "L without a witness": Mutant(QUADRATIC, {"witnesses": _without("L")}, "L", "not attained"),
    "L at a wrong witness": Mutant(GEMAN, {"witnesses": _moved("L", 0.3)}, "L", "not attained"),
    "L not a number": Mutant(GEMAN, declared(L=math.nan), "L"),
    "L negative": Mutant(GEMAN, declared(L=-1.0), "L"),
    "L finite but labelled unbounded": Mutant(GEMAN, declared(exact_L="unbounded"), "L"),
    "sigma for sigma^2": Mutant(WELSCH, declared(sigma=lambda c: c.sigma**2), "sigma"),
    "sigma per coordinate": Mutant(
        WELSCH, declared(sigma=lambda c: c.sigma / math.sqrt(2)), "sigma"
    ),
    "sigma of the sum": Mutant(
        WELSCH, declared(sigma=lambda c: c.sigma * math.sqrt(2)), "sigma", "not attained"
    ),
    "sigma at a quiet place": Mutant(
        MODULATED, {"witnesses": _moved("sigma", -0.5)}, "sigma", "not attained"
    ),
    "sigma finite for unbounded noise": Mutant(
        ("quadratic", {**SMALL, "noise": "multiplicative"}),
        declared(sigma=10.0, exact_sigma=False),
        "sigma",
    ),
    "zeta from the mean, not between workers": Mutant(
        GEMAN, declared(zeta=lambda c: c.zeta / 2), "zeta"
    ),
    "zeta as a sum": Mutant(GEMAN, declared(zeta=lambda c: 2 * c.zeta), "zeta", "not attained"),
    "zeta declared without any": Mutant(
        ("welsch", {**SMALL, "zeta": 0.0}), declared(zeta=0.1), "zeta", "not attained"
    ),
    "zeta off the crest": Mutant(GEMAN, {"witnesses": _moved("zeta", 0.1)}, "zeta", "not attained"),
    "f* above the minimum": Mutant(WELSCH, declared(f_star=1e-3), "f_star"),
    "f* below the minimum": Mutant(WELSCH, declared(f_star=-1e-3), "f_star", "not attained"),
    "f* at a wrong witness": Mutant(
        WELSCH, {"witnesses": _moved("f_star", 1e-2)}, "f_star", "not attained"
    ),
    "f* a bound above the minimum": Mutant(LOGISTIC, declared(f_star=0.5), "f_star"),
    "gap too small": Mutant(GEMAN, declared(gap=lambda c: 0.9 * c.gap), "gap"),
    "gap too large": Mutant(GEMAN, declared(gap=lambda c: 1.1 * c.gap), "gap", "not attained"),
    "supremum of the gap too small": Mutant(GEMAN, declared(gap=lambda c: 0.9 * c.gap), "sup gap"),
    "nonconvex called convex": Mutant(GEMAN, {"nonconvex": False}, "nonconvex"),
    "convex called nonconvex": Mutant(QUADRATIC, {"nonconvex": True}, "nonconvex", "not attained"),
    "no negative curvature at the witness": Mutant(
        GEMAN, {"witnesses": _moved("nonconvex", -0.5)}, "nonconvex", "not attained"
    ),
}


def _scaled(method: str, factor: float) -> dict[str, Callable[..., Any]]:
    """Return one method with its result multiplied."""
    return {method: lambda inner, *args: factor * getattr(inner, method)(*args)}


def _last_dropped(inner: Problem, x: Any) -> Any:
    """Return a gradient whose last coordinate is 0."""
    g = np.array(inner.full_gradient(x))
    g[..., -1] = 0
    return g


def _one_worker_off(inner: Problem, x: Any) -> Any:
    """Return workers' gradients whose mean is not grad f."""
    g = np.array(inner.gradient(x))
    g[..., 0, :] += np.asarray(1e-3, g.dtype)
    return g


def _answer(change: Callable[[Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """Return the parts of an oracle whose answers are changed: from (answer, gradient)."""

    def combine(inner: Any, evaluation: Any, minibatch: Any) -> Any:
        return change(inner.combine(evaluation, minibatch), evaluation[0])

    def stochastic_gradient(inner: Any, x: Any, minibatch: Any) -> Any:
        return combine(inner, inner.evaluate(x), minibatch)

    return {"combine": combine, "stochastic_gradient": stochastic_gradient}


def _shared(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
    """Return minibatches in which all workers draw the same noise."""
    xi = inner.draw(stream, shape, b, dtype)
    return np.broadcast_to(xi[..., :1, :], xi.shape).copy()


def _stuck(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
    """Return minibatches that come twice in a row."""
    xi = inner.draw(stream, shape, b, dtype)
    return np.repeat(xi[: (len(xi) + 1) // 2], 2, axis=0)[: len(xi)]


def _linear_in_b(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
    """Return noise over b, not over its root."""
    return inner.draw(stream, shape, b**2, dtype)


def _two_valued(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
    """Return +-1/sqrt(b): right in two moments, but a mean of b singles has another law."""
    return np.sign(inner.draw(stream, shape, b, dtype)) * dtype.type(1 / math.sqrt(b))


def _fresh(inner: Any, evaluation: Any, minibatch: Any) -> Any:
    """Return an answer that draws once more, so that two points never share a minibatch."""
    _fresh.calls += 1  # type: ignore[attr-defined]
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence(_fresh.calls)))  # type: ignore[attr-defined]
    again = stream.standard_normal(np.shape(minibatch)).astype(minibatch.dtype)
    return inner.combine(evaluation, again)


_fresh.calls = 0  # type: ignore[attr-defined]


def _greedy(inner: Any, evaluation: Any, minibatch: Any) -> Any:
    """Return the right answer once, and spoil the minibatch."""
    answer = inner.combine(evaluation, minibatch)
    minibatch *= 0
    return answer


def _exponential(inner: Any, x: Any) -> Any:
    """Return f by a formula that overflows far away: 1 = exp(x)/exp(x)."""
    return inner.value(x) * (np.exp(np.abs(x)) / np.exp(np.abs(x))).mean(axis=-1)


PROPERTIES: dict[str, Mutant] = {
    "gradient a little too long": Mutant(GEMAN, _scaled("full_gradient", 1 + 1e-5), "gradient"),
    "gradient, seen by the complex step alone": Mutant(
        GEMAN, _scaled("full_gradient", 1 + 1e-9), "complex step"
    ),
    "gradient uphill": Mutant(COSINE, _scaled("full_gradient", -1.0), "gradient"),
    "gradient without its last coordinate": Mutant(
        WELSCH, {"full_gradient": _last_dropped}, "gradient"
    ),
    "value of another scale": Mutant(GEMAN, _scaled("value", 1.001), "value"),
    "a worker off": Mutant(GEMAN, {"gradient": _one_worker_off}, "workers"),
    "biased oracle": Mutant(GEMAN, _answer(lambda g, at: g + 0.1), "unbiased"),
    "oracle at another gradient": Mutant(
        QUADRATIC, _answer(lambda g, at: g + np.asarray(0.1, at.dtype) * at), "unbiased"
    ),
    "variance understated": Mutant(WELSCH, _scaled("noise_variance", 0.8), "variance"),
    "variance overstated": Mutant(WELSCH, _scaled("noise_variance", 1.25), "variance"),
    "noise called additive": Mutant(
        WELSCH, {"noise_change": lambda inner, x, y, keep=1.0: 0 * x[..., 0]}, "smoothness"
    ),
    "batches over b": Mutant(WELSCH, {"draw": _linear_in_b}, "batch"),
    "workers share their noise": Mutant(ADDITIVE, {"draw": _shared}, "independence"),
    "draws repeat": Mutant(ADDITIVE, {"draw": _stuck}, "independence"),
    "batches of another law": Mutant(
        ("cauchy", {**SMALL, "dim": 1, "noise": "additive"}), {"draw": _two_valued}, "batch law"
    ),
    "two points, two minibatches": Mutant(GEMAN, {"combine": _fresh}, "reuse"),
    "minibatch spoilt": Mutant(GEMAN, {"combine": _greedy}, "reuse"),
    "float32 widened": Mutant(
        GEMAN, {"full_gradient": lambda inner, x: inner.full_gradient(x).astype(float)}, "dtype"
    ),
    "float64 narrowed": Mutant(
        GEMAN,
        {"value": lambda inner, x: np.asarray(inner.value(x)).astype(np.float32)},
        "dtype",
    ),
    "overflow far away": Mutant(GEMAN, {"value": _exponential}, "far points"),
    "not a number far away": Mutant(
        GEMAN,
        {"full_gradient": lambda inner, x: np.where(x > 1e5, np.nan, inner.full_gradient(x))},
        "far points",
    ),
}
MUTANTS = CONSTANTS | PROPERTIES
BASES = {
    f"{name}-{sorted(dials.items())}": (name, dials)
    for name, dials in [*(m.base for m in MUTANTS.values()), SILENT, TIGHT]
}


@pytest.mark.parametrize(("name", "dials"), BASES.values(), ids=BASES)
def test_the_true_problem_passes(name: str, dials: dict[str, Any]) -> None:
    assert rejected(load_problem(name, **dials)) == {}
    assert rejected(Altered(load_problem(name, **dials))) == {}


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_rejected(name: str) -> None:
    mutant = MUTANTS[name]
    problem = Altered(load_problem(mutant.base[0], **mutant.base[1]), **mutant.parts)
    assert rejected(problem).get(mutant.row) == mutant.verdict


# -- the constants of public codes


def _logistic(**dials: Any) -> FiniteSum:
    problem = load_problem("logistic", **{**SMALL, **dials})
    assert isinstance(problem, FiniteSum)
    return problem


def _row(problem: Any, name: str) -> ContractRow:
    return next(row for row in rows_of(problem) if row.constant == name)


def test_six_alpha_for_the_penalty_is_loose() -> None:
    """The penalty's curvature lies in [-alpha/2, 2 alpha]; 6 alpha is true, but not exact."""
    problem = _logistic(sigma=0.0, alpha=0.5, heterogeneity="none")
    six = problem.constants().L + 4 * problem.height * problem.alpha
    assert _row(problem, "L").verdict == "exact"
    assert _row(Altered(problem, **declared(L=six)), "L").verdict == "not attained"
    bound = _row(Altered(problem, **declared(L=six, exact_L=False)), "L")
    assert bound.verdict == "bound"  # as a bound it stands, and the row shows how loose it is
    assert bound.attained == pytest.approx(problem.constants().L)


@pytest.mark.parametrize(("stretch", "verdict"), [(0.3, "not attained"), (30.0, "violated")])
def test_row_norms_are_no_smoothness(stretch: float, verdict: str) -> None:
    """|a| for |a|^2/4: too large for short rows, and far too small for long ones."""
    base = _logistic(alpha=0.0, heterogeneity="none")
    problem = replace(
        base, stretch=stretch, height=1.0, declared=replace(base.declared, L=1.0), found=()
    )
    rows = stretch * problem.rows
    right = math.sqrt(np.linalg.eigvalsh((rows.T * (rows**2).sum(axis=1)) @ rows / 32)[-1]) / 4
    sigma = math.sqrt((rows**2).sum(axis=1).mean())
    wrong = float(np.sqrt((rows**2).sum(axis=1)).max())
    top = np.linalg.eigh((rows.T * (rows**2).sum(axis=1)) @ rows)[1][:, -1]
    witness = Witness("L", np.stack([-1e-6 * top, 1e-6 * top]), (0,), "at 0")
    known = {"witnesses": lambda inner: (witness,)}
    true = Altered(problem, **declared(L=right, sigma=sigma, exact_L=True), **known)
    assert _row(true, "L").verdict == "exact"
    mutant = Altered(problem, **declared(L=wrong, sigma=sigma, exact_L=True), **known)
    assert _row(mutant, "L").verdict == verdict


def test_the_smoothness_of_f_is_not_that_of_its_summands() -> None:
    """lmax(mean a a')/4 + 2 alpha is the constant of f; Assumption 1 asks the summands, in mean."""
    problem = _logistic(heterogeneity="none")
    average = problem.rows.T @ problem.rows / problem.size
    scale = problem.height * problem.stretch**2
    of_f = scale * (float(np.linalg.eigvalsh(average)[-1]) / 4 + 2 * problem.alpha)
    assert _row(Altered(problem, **declared(L=of_f)), "L").verdict == "violated"


def test_nonconvex_logistic_has_no_strong_convexity() -> None:
    problem = _logistic(alpha=2.0)
    assert _row(problem, "nonconvex").verdict == "holds"
    assert _row(Altered(problem, nonconvex=False), "nonconvex").verdict == "violated"


def test_a_penalty_gradient_without_its_two_is_rejected() -> None:
    problem = _logistic()
    half = replace(
        problem,
        model=replace(problem.model, penalty_slope=lambda z: z / (1 + z * z) ** 2),
    )
    assert rejected(half).get("gradient") == "violated"


def test_weights_that_do_not_add_up_are_rejected() -> None:
    """Multipliers xi/sqrt(N b) without the mean 1/N: no gradient is left in the mean."""
    problem = _logistic()

    def draw(inner: Any, stream: Any, shape: Any, b: float, dtype: Any) -> Any:
        return inner.draw(stream, shape, b, dtype) - dtype.type(1 / inner.size)

    assert rejected(Altered(problem, draw=draw)).get("unbiased") == "violated"


def test_a_placed_mutant_is_still_one() -> None:
    problem = Altered(load_problem("welsch", **SMALL), **_scaled("value", 2.0))
    placed = problem.place(numpy_backend("test"), np.dtype(np.float32))
    x = np.ones(2, dtype=np.float32)
    assert placed.value(x) == pytest.approx(2 * load_problem("welsch", **SMALL).value(x))

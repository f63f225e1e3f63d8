"""The language itself: what it refuses, prints, cancels, and how far it trusts a float."""

from __future__ import annotations

import numpy as np
import pytest

from stemtheory.claims.base import quadratic
from stemtheory.claims.evidence.path import record
from stemtheory.claims.evidence.scenes import scene_of
from stemtheory.claims.evidence.size_scenes import SizeScene
from stemtheory.claims.language import (
    EPS,
    Line,
    Q,
    chain,
    checked,
    equal,
    excess,
    latex,
    letters,
    spoken_of,
    wrong_versions,
)
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    a,
    b,
    d,
    dbar,
    drift,
    ebar,
    eta,
    f,
    k,
    l,
    norm2,
    rise,
    sigma,
    start,
    sum_t,
    t,
    x,
    xbar,
    young,
    zeta,
)
from stemtheory.claims.stating.runs import in_excess
from stemtheory.runtime import UsageError

# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        E(norm2(ebar[t])) <= a[t] * sigma,
        eta[t] <= 1 / (16 * L**2 * I),
        norm2(xbar[t]) <= sigma**2,
        f(xbar[t + 1]) <= f(xbar[t]) - eta[t] ** 2 * norm2(dbar[t]),
        letters.log(sigma) <= 1,
        equal(x[t, k], d[t, k]),
    ],
)
def test_a_wrong_power_is_refused_in_one_sentence(line: Line) -> None:
    with pytest.raises(UsageError, match=r"^MINE: .*s\^") as refused:
        checked(line, "MINE")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (eta[l] <= eta[t], "index l of eta is bound by no sum"),
        (norm2(dbar[0]) <= sigma**2, "dbar has no index 0"),
        (norm2(xbar[letters.T + 2]) <= norm2(xbar[1]), r"xbar has no index T\+2"),
        (sum_t(l, start, letters.Index("u"), eta[l]) <= eta[t], "index u of a sum"),
    ],
)
def test_an_index_outside_of_the_run_is_refused(line: Line, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        checked(line)


def test_an_unknown_letter_and_a_float_are_refused() -> None:
    unknown = letters.Symbol("mu_k") <= 1
    with pytest.raises(UsageError, match="letter 'mu_k' is unknown"):
        checked(unknown)
    with pytest.raises(ValueError, match=r"0\.1 is no number of a line"):
        eta[t] * 0.1
    with pytest.raises(ValueError, match="stands at 1 indices, but has 2"):
        x[t]


# --- printing -------------------------------------------------------------------------------------


def test_lines_are_printed_as_the_paper_does() -> None:
    line = chain(norm2(dbar[t]), Q("33/256") * K * sigma**2 / b, 2 * K * sigma**2)
    assert latex(line) == (
        r"\|\bar d_t\|^2 \leq \frac{\tfrac{33}{256} K \sigma^2}{b} \leq 2 K \sigma^2"
    )
    assert latex(1 - a[t] >= Q("4/5")) == r"1 - a_t \geq \tfrac{4}{5}"


def test_a_sum_in_a_product_keeps_its_brackets() -> None:
    assert "(I - 1)" in latex((I - 1) * eta[t] <= eta[1])


# --- excess form ----------------------------------------------------------------------------------


def test_common_terms_are_cancelled_and_signs_sorted() -> None:
    line = f(xbar[t + 1]) + sigma**2 / L <= f(xbar[t]) - eta[t] * norm2(dbar[t]) + 3 * sigma**2 / L
    (step,) = line.steps
    found = excess(step)
    assert latex(Line((found,))) == latex(
        f(xbar[t + 1]) - f(xbar[t]) + eta[t] * norm2(dbar[t]) <= 2 * sigma**2 / L
    )


def test_what_almost_cancels_stays_together() -> None:
    (step,) = (1 / eta[t] <= 1 / eta[t - 1] + sigma**2 / L / norm2(xbar[1]) * L).steps
    assert "eta_{t-1}" in latex(Line((excess(step),))).partition(r"\leq")[0]


def test_the_kept_share_of_the_error_is_cancelled() -> None:
    line = E(norm2(ebar[t + 1])) <= (1 - a[t + 1]) ** 2 * E(norm2(ebar[t])) + sigma**2
    assert latex(in_excess(line, t, scene_of)) == r"\Gamma_t \leq \sigma^2"


def test_a_rise_is_the_sum_of_its_steps() -> None:
    line = rise(norm2(ebar[l]), l, start, t) <= sigma**2
    assert latex(in_excess(line, t, scene_of)).startswith(r"\sum_{\ell=\bar t_{s-1}}^{t}")


# --- values and rounding --------------------------------------------------------------------------


def test_young_is_the_smallest_over_beta() -> None:
    A, B = np.array([2.0, 1e-300, 3.0]), np.array([5.0, 7.0, 1e-300])
    scene = SizeScene({"sigma": np.sqrt(A), "zeta": np.sqrt(B)})
    found = np.ravel(scene.evaluation.value(young(sigma**2, zeta**2), scene.times))
    beta = np.geomspace(1e-9, 1e9, 20001)[:, None]
    assert found == pytest.approx((A * (1 + beta) + B * (1 + 1 / beta)).min(axis=0), rel=1e-6)


def test_sums_over_a_round_start_anew() -> None:
    scene = scene_of(record(quadratic(2, 1, 3, 2)))
    ones = sum_t(l, start, t, eta[l] / eta[l])
    found = np.ravel(scene.evaluation.value(ones, scene.times(t)))
    assert found.tolist() == [1, 2, 3, 1, 2, 3]


def test_rounding_is_bounded_and_not_by_much() -> None:
    """X_t of workers that agree is rounding alone, below a bound that is far below X_t later."""
    path = record(quadratic(4, 1, 8, 3, x1=3.0, zeta=2.0, sigma=0.5))
    scene = scene_of(path)
    value = scene.evaluation.value(letters.apart(t), scene.times(t))[..., 0, 0]
    error = scene.evaluation.error(letters.apart(t), scene.times(t))[..., 0, 0]
    assert np.all(value[0] <= error[0])
    assert np.all(error[4:7] < 1e-6 * value[4:7])
    assert np.all(error >= EPS**2)


def test_letters_of_a_line() -> None:
    assert spoken_of(eta[t] <= 1 / (16 * L * I)) == ["I", "L", "eta"]


# --- versions -------------------------------------------------------------------------------------


def test_rules_make_every_kind_of_version() -> None:
    line = drift(t) <= 4 * K * sigma**2 * (I - 1) + 8 * zeta**2 * sum_t(l, start, t, a[l])
    rules = {version.rule for version in wrong_versions(line)}
    assert rules == {"constant", "exponent", "dropped", "shifted", "exchanged"}


@pytest.mark.parametrize(
    ("name", "implied", "refused"),
    [
        ("4 -> 8", True, False),
        ("4 -> 2", False, False),
        ("sigma^2 with exponent 1", False, True),
        ("without -1", True, False),
        ("without 4 K sigma^2 (I + -1)", False, False),
        ("I -> (I + -1)", False, False),
    ],
)
def test_what_a_line_implies_is_told_from_what_it_does_not(
    name: str, implied: bool, refused: bool
) -> None:
    line = drift(t) <= 4 * K * sigma**2 * (I - 1) + 8 * zeta**2
    found = {version.name: version for version in wrong_versions(line)}[name]
    assert (found.implied, found.refused) == (implied, refused)


def test_implied_versions_are_implied() -> None:
    """On random sizes: where the line holds, every version said to be implied does."""
    line = (1 - a[t + 1]) ** 2 * (1 + 1 / I) + 4 * L**2 * (I + 1) * eta[t] ** 2 <= 1 + 2 / I
    rng = np.random.default_rng(0)
    sizes = {n: rng.integers(1, 50, 200).astype(float) for n in ("K", "b", "I", "t", "T")}
    scene = SizeScene({**sizes, "L": rng.uniform(0.1, 9, 200), "sigma": np.ones(200)})

    def holds(of: Line) -> np.ndarray:
        with np.errstate(divide="ignore"):  # I - 1 is 0 at I = 1
            left, right = (
                np.ravel(scene.evaluation.value(side, scene.times))
                for side in (of.steps[0].left, of.steps[0].right)
            )
        return np.asarray(left <= right * (1 + 1e-12))

    implied = [version for version in wrong_versions(line) if version.implied]
    assert len(implied) > 5
    assert all(np.all(holds(version.line) | ~holds(line)) for version in implied)

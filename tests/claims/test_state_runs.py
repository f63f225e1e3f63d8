"""Runs of any algorithm by the letters of its state, and claims that ask for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest

from stemtheory.algorithms import ALGORITHMS, Scaffold, letters_of, mean_over_workers
from stemtheory.claims import stated
from stemtheory.claims.base import Case, Claim, dials, quadratic
from stemtheory.claims.casefiles import replay, worst, write
from stemtheory.claims.checking import judged, row_json, rows_of, subjects, try_mutants
from stemtheory.claims.evidence.fedavg_path import FedAvgPath, played, recorded
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import visits
from stemtheory.claims.evidence.states.run import StateRun, lay_open, record_state
from stemtheory.claims.language import equal
from stemtheory.claims.language.letters import (
    GRADIENT,
    constant,
    d,
    eta,
    k,
    letter,
    local,
    mean_k,
    norm2,
    sum_k,
    t,
    vector,
    x,
    xbar,
)
from stemtheory.claims.panel import path_cases, run_by
from stemtheory.runtime import UsageError, Verdict
from stemtheory.schedules import SCHEDULES
from tests.helpers.example_fields import CLAIMS, FEW, MEAN, STEP, Doubled, c_k, c_s, g
from tests.helpers.example_schedule import INVERSE_ROOT

SMALL = Case("cosine", 3, 2, 2, 4, 3, dials(sigma=0.5, zeta=1.0), algorithm="scaffold")
PART = replace(SMALL, K=4, algorithm_options=(("participation", 0.5),))
OWN = "tests.helpers.example_algorithm:ENTRY"


@cache
def scaffold(case: Case = SMALL) -> StateRun:
    return record_state(case)


@pytest.mark.parametrize("name", [*ALGORITHMS, OWN])
def test_every_algorithm_is_recorded_on_the_usual_panel(name: str) -> None:
    """Every field is what the engine's walk has; x and its mean are there for all of them."""
    case = run_by(path_cases("quick")[7], name)
    run = recorded(case)
    assert isinstance(run, Path | FedAvgPath | StateRun)
    assert np.isfinite(run["x"][1:]).all()
    assert np.isfinite(run.xbar[1:]).all()
    plain = lay_open(case, case.run.method)
    for visit in visits(case, case.run.method):
        for name, field in plain.fields.items():
            if name in plain.letters and name not in ("eta", "a", "weight"):
                held = getattr(visit.before, field)
                if held is not None:
                    assert np.array_equal(plain[name][visit.step.t], held)
    assert {"x", "g", "eta", "weight"} <= set(plain.letters)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_declared_letters_are_fields(name: str) -> None:
    case = run_by(path_cases("quick")[7], name)
    method = case.run.method
    state = next(visits(case, method)).before
    known = letters_of(method, state)
    assert set(known.values()) <= set(state._fields)


def test_a_letter_of_no_field_is_one_sentence() -> None:
    class Misspelt(Scaffold):
        letters: ClassVar[Any] = {"c_k": "owned"}

    with pytest.raises(UsageError, match=r"Misspelt declares the letter c_k as owned, but its sta"):
        lay_open(SMALL, Misspelt())


def test_scaffolds_fields_obey_its_listing() -> None:
    """y_k <- y_k - eta (g_k - c_k + c), and c_k' is the mean of the round's gradients."""
    run, I = scaffold(), SMALL.I
    c, c_k, g = run["c"], run["c_k"], run["g"]
    assert c.shape == (SMALL.T + 2, SMALL.replicates, 1, SMALL.dim)
    step = run["eta"][1:-1, None, None, None] * (g - c_k + c)[1:-1]
    np.testing.assert_allclose(run.local("x")[2:], run["x"][1:-1] - step, rtol=1e-12)
    np.testing.assert_allclose(c_k[I + 1], g[1 : I + 1].mean(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(run["y_k"], run["x"])
    ends = mean_over_workers(run.local("x")[I + 1])
    np.testing.assert_allclose(run["x"][I + 1, :, 0], ends, rtol=1e-12)
    assert np.ptp(run.local("x")[I + 1], axis=1).max() > 0
    assert (run["weight"] == 1).all()


def test_participation_is_recorded() -> None:
    """Half of four workers: weights 2 and 0, drawn anew every round, by the case's seed."""
    run = scaffold(PART)
    assert run["weight"].shape == (PART.T + 2, PART.replicates, PART.K)
    rounds = run["weight"][1 : PART.T + 1 : PART.I]
    assert set(np.unique(rounds)) == {0.0, 2.0}
    assert (rounds.sum(axis=-1) == PART.K).all()
    assert (rounds[0] != rounds[1]).any()
    other = scaffold(replace(PART, seed=1))
    assert (other["weight"][1] != run["weight"][1]).any()
    idle = (rounds[0] == 0)[..., None] & np.ones(PART.dim, bool)
    assert (run["c_k"][PART.I + 1][idle] == 0).all()


def test_minibatches_are_those_that_were_drawn() -> None:
    run = scaffold()
    again = run.problem.stochastic_gradient(run["x"][5], run.minibatch(5))
    np.testing.assert_array_equal(run["g"][5], again)
    exact = run.problem.gradient(run["x"][5])
    np.testing.assert_allclose(run.noise(5, run["x"][5]), again - exact)


def test_a_missing_field_is_one_sentence() -> None:
    with pytest.raises(UsageError) as caught:
        scaffold()["m"]
    assert str(caught.value) == (
        "m is asked for, but a run of scaffold keeps a, c, c_k, eta, g, own, server, travel,"
        " weight, x, y_k: ask for one of these, or of another algorithm."
    )
    stem = recorded(replace(SMALL, algorithm="stem"))
    with pytest.raises(
        UsageError,
        match=r"c_k is asked .* stem keeps a, batch, d, eta, fresh, g, stale, weight, x: ask",
    ):
        stem["c_k"]
    with pytest.raises(UsageError, match="d is asked for, but a run of scaffold keeps"):
        rows(claim(norm2(d[t, k]) >= 0))


def test_stem_and_fedavg_have_what_any_run_has() -> None:
    """Their own letters, and the fields of the state, on the same run."""
    stem, fedavg = (recorded(replace(SMALL, algorithm=name)) for name in ("stem", "fedavg"))
    for run, own in ((stem, "d"), (fedavg, "x")):
        plain = record_state(run.case)
        np.testing.assert_array_equal(plain[own][1 : run.T], run[own][1 : run.T])
        np.testing.assert_array_equal(plain["eta"], run["eta"])
    np.testing.assert_array_equal(fedavg["g"][1:-1], fedavg["d"][1:-1])
    step = equal(xbar[t + 1], xbar[t] - eta[t] * mean_k(g[t, k]))
    for name, verdict in (("fedavg", Verdict.HOLDS), ("stem", Verdict.VIOLATED)):
        (row,) = rows(claim(step, algorithm=name))
        assert row["verdict"] == verdict


# --- claims ----------------------------------------------------------------------------------


def claim(line: Any, **more: Any) -> Claim:
    made = {"id": "OWN", "label": "eq. (1)", "kind": "pathwise", "statement": "A line."}
    return stated(line, **{**made, "algorithm": "scaffold", **more})


def rows(one: Claim) -> list[dict[str, Any]]:
    found = judged(one)
    return [row_json(row) for r, cells in found.items() for row in rows_of(one, r, cells)]


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.id)
def test_an_external_claim_about_scaffold_is_judged_on_scaffold(one: Claim) -> None:
    (row,) = rows(one)
    assert row["verdict"] == Verdict.HOLDS
    assert row["worst"]["case"]["algorithm"] == "scaffold"
    assert {case.algorithm for case in subjects(one, "literal", "quick")} == {"scaffold"}


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.id)
def test_and_rejects_its_mutant(one: Claim) -> None:
    tried = try_mutants(one)
    assert [m.rejected for m in tried] == [True]


def test_the_same_line_about_stem_asks_for_what_stem_has_not() -> None:
    """The mutants: claims that do not say their algorithm are judged on the panel's, STEM."""
    with pytest.raises(UsageError, match=r"claim SC1: c is asked for, but a run of stem"):
        rows(replace(MEAN, algorithm=""))
    (row,) = rows(replace(STEP, algorithm=""))
    assert row["verdict"] == Verdict.VIOLATED


def test_a_line_that_any_run_has_is_judged_on_its_own_algorithm() -> None:
    """Workers end a round of SCAFFOLD where the server goes; STEM's own points stay apart there."""
    after = local("after", "x", x.units, field="x", unaveraged=True)
    line = equal(xbar[t + 1], mean_k(after[t + 1, k]))
    (row,) = rows(claim(line))
    assert row["verdict"] == Verdict.HOLDS
    wrong = sum_k(norm2(after[t + 1, k] - xbar[t + 1])) <= 0
    (row,) = rows(claim(wrong))
    assert row["verdict"] == Verdict.VIOLATED


def test_a_field_of_every_worker_stands_at_workers() -> None:
    loose = vector("loose", "c", GRADIENT, field="c_k")
    with pytest.raises(UsageError, match="loose is at times alone, but c_k is every worker's"):
        rows(claim(norm2(loose[t]) >= 0))


def test_a_letter_may_be_added_again_but_not_another_one_of_its_name() -> None:
    assert local("c_k", "c", GRADIENT) is not None
    with pytest.raises(UsageError, match="letter c_k is in the vocabulary already"):
        local("c_k", "c'", GRADIENT)
    with pytest.raises(UsageError, match="letter c is in the vocabulary already, as c: call it"):
        letter("c", "c", GRADIENT)
    assert constant("sigma", r"\sigma", GRADIENT) is not None


def test_a_mutant_is_laid_open_by_its_own_algorithm() -> None:
    run = played(SMALL, Doubled())
    assert isinstance(run, StateRun)
    I = SMALL.I
    np.testing.assert_allclose(run["c"][I + 1, :, 0], 2 * run["c_k"][I + 1].mean(axis=1))


def test_a_case_keeps_the_options_of_its_algorithm(tmp_path: Any) -> None:
    assert "algorithm_options" not in SMALL.to_json()
    assert Case.from_json(PART.to_json()) == PART
    assert PART.run.algorithm.options == (("participation", 0.5),)
    found = worst(FEW, subjects(FEW, "literal", "quick")[0])
    assert found is not None
    file = write(found, "tests.helpers.example_fields:FEW", tmp_path / "SC3.json")
    again = replay(file, trust=True)
    assert again["reproduced"]
    assert again["case"]["algorithm_options"] == {"participation": 0.5}


def test_panels_fit_what_an_algorithm_fixes() -> None:
    cases = [run_by(case, "storm") for case in path_cases("quick")]
    assert {(case.K, case.I, dict(case.dials)["zeta"]) for case in cases if case.dials} <= {
        (1, 1, 0.0),
        (1, 1, dict(cases[0].dials)["zeta"]),
    }
    assert all(case.run.sizes.K == 1 for case in cases)
    assert run_by(quadratic(2, 1, 2, 1, B=3.0), "scaffold").B is None
    assert run_by(quadratic(2, 1, 2, 1, B=3.0), "fed-stem").B == 3.0


def test_fedavg_with_other_steps_is_laid_open_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """FedAvg's closed forms are made for one step size."""
    monkeypatch.setitem(SCHEDULES, "inverse-root", INVERSE_ROOT)
    case = replace(SMALL, algorithm="fedavg")
    assert isinstance(recorded(case), FedAvgPath)
    decaying = recorded(replace(case, schedule="inverse-root", options=(("eta", 0.5),)))
    assert isinstance(decaying, StateRun)
    np.testing.assert_allclose(decaying["eta"][[1, 4]], [0.5 / np.sqrt(2), 0.5 / np.sqrt(5)])


def test_letters_in_a_line_read_the_server_and_the_workers() -> None:
    (row,) = rows(claim(mean_k(norm2(c_k[t, k])) >= norm2(c_s[t])))
    assert row["verdict"] == Verdict.HOLDS
    (row,) = rows(claim(norm2(g[t, k]) <= norm2(c_s[t])))
    assert row["verdict"] == Verdict.VIOLATED

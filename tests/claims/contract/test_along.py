"""Estimates along a run: below what is declared, close to what is attained, and never a bound."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.claims import estimate_constants
from stemtheory.claims.contract.along import NOTE, _most
from stemtheory.cli.app import main
from stemtheory.oracles import load_problem, names
from stemtheory.runtime import UsageError
from tests.helpers.rows import write_rows

CONSTANTS = ("L", "sigma", "zeta")


@pytest.mark.parametrize("name", names("problems"))
def test_an_estimate_is_below_what_is_declared(name: str) -> None:
    document = estimate_constants(load_problem(name, 3, 4), T=16)
    for constant in CONSTANTS:
        row = document["constants"][constant]
        assert not row["exceeded"]
        exactly_none = (
            row["declared"] == 0
        )  # a chain whose workers are equal, or that draws nothing
        assert 0 < row["estimate"] <= row["declared"] * (1 + 1e-9) or exactly_none
        assert row["exactness"] in ("attained", "bound")
        assert 1 <= row["at"] <= 17


def test_on_a_quadratic_the_estimates_are_the_constants() -> None:
    """All is linear there: every two points attain L, every point sigma and zeta."""
    problem = load_problem("quadratic", 2, 1, noise="additive", heterogeneity="tilt")
    found = estimate_constants(problem, T=4)["constants"]
    for constant in CONSTANTS:
        row = found[constant]
        np.testing.assert_allclose(row["estimate"], row["declared"], rtol=1e-9)


def test_rows_of_ones_own_are_estimated_beside_their_bounds(tmp_path: Path) -> None:
    problem: Any = load_problem("logistic", 2, data=str(write_rows(tmp_path / "x.csv")))
    document = estimate_constants(problem, T=8)
    assert {document["constants"][c]["exactness"] for c in CONSTANTS} == {"bound"}
    assert document["rows"] == problem.dials["rows"]
    low = replace(problem.declared, zeta=document["constants"]["zeta"]["estimate"] / 2)
    wrong = estimate_constants(replace(problem, declared=low), T=8)
    assert [c for c in CONSTANTS if wrong["constants"][c]["exceeded"]] == ["zeta"]


def test_an_unbounded_constant_is_null_with_a_reason() -> None:
    document = estimate_constants(load_problem("cosine", 2, 2, noise="multiplicative"), T=4)
    row = document["constants"]["sigma"]
    assert (row["declared"], row["exactness"], row["exceeded"]) == (None, "unbounded", False)
    assert document["reasons"] == {"constants.sigma.declared": "it is unbounded"}


def test_one_worker_is_at_no_distance() -> None:
    assert estimate_constants(load_problem("cosine", 1, 2), T=4)["constants"]["zeta"] == {
        "estimate": 0.0, "at": 1, "declared": 0.0, "exactness": "attained", "exceeded": False,
    }  # fmt: skip


def test_seed_and_start_are_all_that_chance_depends_on() -> None:
    problem = load_problem("cosine", 2, 2)
    one, same, other = (estimate_constants(problem, T=8, seed=seed) for seed in (0, 0, 1))
    assert one == same
    assert one["constants"] != other["constants"]
    assert estimate_constants(problem, T=8, x1=[3, 1])["constants"] != one["constants"]


def test_nan_is_the_largest() -> None:
    value, t = _most(lambda x: x, [(1, np.array([2.0])), (2, np.array([np.nan])), (3, np.ones(1))])
    assert np.isnan(value)
    assert t == 2


def test_what_is_wrong_is_one_sentence() -> None:
    problem = load_problem("cosine", 2, 2)
    for wrong, said in (
        ({"T": 0}, "T is 0"),
        ({"T": 1e9}, "short run"),
        ({"x1": [1, 2, 3]}, "x1 has shape"),
        ({"seed": -1}, "seed is -1"),
    ):
        with pytest.raises(UsageError, match=said):
            estimate_constants(problem, **wrong)


def test_the_command_prints_both_and_says_what_an_estimate_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = f"data={write_rows(tmp_path / 'x.csv')}"
    argv = ["constants", "robust_regression", "--K", "2", "--set", data, "--T", "8"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "40 rows of 3 columns of x.csv" in out
    assert NOTE in " ".join(out.split())
    assert main([*argv, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["constants"]) == set(CONSTANTS)
    assert main([*argv, "--L", "2"]) == 2
    assert "L, sigma and zeta follow from the rows" in capsys.readouterr().err


def test_the_command_exits_with_1_where_a_declaration_is_exceeded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good: Any = load_problem("quadratic", 2, 2)

    class Wrong:
        def __getattr__(self, name: str) -> Any:
            return getattr(good, name)

        def constants(self, start: Any = None) -> Any:
            return replace(good.constants(start), sigma=0.1)

    monkeypatch.setattr("stemtheory.cli.options.load_problem", lambda *_, **__: Wrong())
    assert main(["constants", "quadratic", "--T", "4"]) == 1
    assert "EXCEEDED" in capsys.readouterr().out

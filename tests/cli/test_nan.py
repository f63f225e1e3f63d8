"""A problem of one's own whose gradient is no number is never fine, whatever is asked about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.claims.base import Comparison
from stemtheory.claims.casefiles import Found, worst, write
from stemtheory.claims.checking import subjects
from stemtheory.claims.judge import judge
from stemtheory.claims.ledger import claims
from stemtheory.cli.app import main
from stemtheory.runtime import UsageError, Verdict

LOST = [f"tests.helpers.unsound:{name}" for name in ("EVERYWHERE", "SOMEWHERE", "ONE_WORKER")]
SOUND = "quadratic"
SMALL = ("--T", "64", "--K", "2", "--dim", "2", "--replicates", "8", "--I", "2")
FINE = ("holds", "vacuous", "consistent", "within tolerance", "ok", "reached")
Capture = pytest.CaptureFixture[str]


def ask(read: Capture, *argv: str) -> tuple[int, dict[str, Any]]:
    code = main([*argv, "--json"])
    return code, json.loads(read.readouterr().out)


def words(value: Any) -> list[str]:
    """Return every text in a document."""
    if isinstance(value, dict):
        return [word for v in value.values() for word in words(v)]
    if isinstance(value, list):
        return [word for v in value for word in words(v)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", LOST)
def test_a_run_diverged(name: str, capsys: Capture) -> None:
    code, found = ask(capsys, "run", name, "stem", *SMALL)
    assert code == 1
    assert found["status"] == "diverged"
    assert found["mean_grad_sq"] is None
    assert [word for word in words(found) if word in FINE] == []
    _, sound = ask(capsys, "run", SOUND, "stem", *SMALL)
    assert "ok" in words(sound)


@pytest.mark.parametrize("name", LOST)
def test_its_contract_is_violated(name: str, capsys: Capture) -> None:
    code, found = ask(capsys, "check", name, "--K", "2", "--dim", "2", "--quick")
    assert code == 1
    rows = {row["constant"]: row["verdict"] for row in found["rows"]}
    assert {rows[row] for row in ("gradient", "workers", "run")} == {"violated"}


@pytest.mark.parametrize("name", LOST)
def test_a_sweep_finds_no_exponent_and_no_target(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    file, store = tmp_path / "lost.toml", str(tmp_path / "lost.sqlite")
    file.write_text(
        f'[settings]\nproblem = "{name}"\nK = 2\ndim = 2\nreplicates = 4\nI = 2\n'
        "b = 1\n[grids.g]\nepsilon = [1.0]\nT = [64, 128, 256, 512]\n"
        '[fits.f]\ny = "M"\nx = "rate"\ntheory = -1\ntolerance = 10\n',
        encoding="utf-8",
    )
    code, found = ask(capsys, "sweep", str(file), "--store", store)
    assert (code, found["cells_diverged"]) == (1, 4)
    assert [fit["verdict"] for fit in found["fits"]] == ["not-estimable"]
    assert [word for word in words([found["fits"], found["targets"]]) if word in FINE] == []
    _, stored = ask(capsys, "results", store)
    assert {row["status"] for row in stored["rows"]} == {"diverged"}
    assert {row["mean_grad_sq"] for row in stored["rows"]} == {None}


@pytest.mark.parametrize("claim", ["M1", "P3"])
def test_a_claim_probed_on_it_is_violated_or_says_nothing(
    claim: str, tmp_path: Path, capsys: Capture
) -> None:
    problem = ("--set", f"problem={LOST[0]}")
    code = main(["probe", claim, *problem, "--json"])
    out, err = capsys.readouterr()
    if claim == "M1":
        assert code == 2
        assert "a side is not a number, first at t = " in err  # mutant: "below rounding"
    else:
        assert code == 1
        assert json.loads(out)["violated"] == json.loads(out)["instances"]
    # mutant: the case file ended in "the work failed (... not JSON compliant)"
    assert main(["probe", claim, *problem, "--out", str(tmp_path / "d")]) == 2
    assert "not a number" in (said := capsys.readouterr().err) or "no replay can meet" in said
    assert not list(tmp_path.rglob("*.json"))


SIDES = {"left": (np.nan, 1.0), "right": (1.0, np.nan), "both": (np.nan, np.nan)}


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_is_no_number_never_wins_a_hunt(side: str) -> None:
    """Beside a finite instance the finite one is the worst; alone there is none."""
    claim = claims()["M1"]
    case = subjects(claim, "literal", "quick")[0]
    left, right = SIDES[side]

    def sides(more: tuple[float, ...]) -> Comparison:
        beside = np.array([left, *more])
        return Comparison(beside, np.array([right, *more]) * 2, t=np.arange(len(beside)))

    for more in ((), (1.0,)):
        found = worst(
            replace(claim, compare=lambda _, m=more: sides(m), premises=lambda _: ()), case
        )
        assert (found is None) == (more == ())
        assert found is None or found.ratio == 0.5


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["pathwise", "expectation", "rate"])
def test_the_judge_violates_what_is_no_number(side: str, kind: Any) -> None:
    claim = replace(claims()["M1"], kind=kind)
    left, right = (np.array([value, 1.0]) for value in SIDES[side])
    for spread in (1e-3, np.nan):
        c = Comparison(left, right * 2, spread=np.full(2, spread), dof=10, t=np.arange(2))
        (cell,) = judge(claim, c, "literal")
        assert cell.verdict == Verdict.VIOLATED
        assert (cell.margin, cell.worst["t"]) == (None, 0)


def test_no_case_file_holds_what_is_no_number(tmp_path: Path) -> None:
    found = Found(None, np.inf, np.nan, 1.0, 3, "all", True, index=0)
    with pytest.raises(UsageError, match="P3 at t = 3 are nan and 1, which no replay can meet"):
        write(found, "P3", tmp_path / "x.json")
    assert not list(tmp_path.iterdir())

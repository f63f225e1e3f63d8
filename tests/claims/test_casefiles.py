"""Every failure that the ledger expects has a case file, and running it again gives both sides."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims.base import Case
from stemtheory.claims.casefiles import expected_failures, locate, replay, shipped, worst, write
from stemtheory.claims.finding import chosen
from stemtheory.claims.ledger import claims
from stemtheory.cli.app import main
from stemtheory.experiment import run_sweep
from stemtheory.runtime.errors import UsageError

SHARP = [f"{claim.id}-{claim.sharp}" for claim in claims().values() if claim.sharp]
EXPECTED = {
    name: (claim, reading) for pack in chosen() for name, claim, reading in expected_failures(pack)
}


def test_every_expected_failure_has_its_case_and_no_other() -> None:
    assert SHARP == ["RSb-literal"]
    assert set(shipped()) == {*EXPECTED, *SHARP}


@pytest.mark.parametrize("name", SHARP)
def test_the_sharpest_instances_are_replayed_and_hold(name: str) -> None:
    found = replay(shipped()[name])
    assert (found["claim"], found["violated"], found["reproduced"]) == (name[:3], False, True)
    assert found["left"] / found["right"] > 0.86


@pytest.mark.parametrize("name", EXPECTED)
def test_replay(name: str) -> None:
    found = replay(shipped()[name])
    claim, reading = EXPECTED[name]
    assert found["claim"] == claim.id
    assert found["reading"] in (reading, "-")
    assert found["violated"]
    assert found["reproduced"], (found["stored"], found["left"], found["right"])


def test_a_changed_side_is_noticed(tmp_path: Path) -> None:
    stored = json.loads(shipped()["M3-overwrite"].read_text())
    stored["left"] *= 1 + 1e-6
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(stored))
    assert not replay(file)["reproduced"]


def test_a_case_of_a_claim_that_holds_is_not_violated(tmp_path: Path) -> None:
    case = Case.from_json(json.loads(shipped()["M3-overwrite"].read_text())["case"])
    claim = claims()["M2b"]
    found = worst(claim, case)
    assert found is not None
    again = replay(write(found, "M2b", tmp_path / "M2b.json"))
    assert again["reproduced"]
    assert not again["violated"]


HOSTILE = '''"""Leaves a file behind as soon as it is imported, and another when it is called."""
from pathlib import Path

Path("imported").touch()


def called(*_, **__):
    Path("called").touch()


class Made:
    def __init__(self, *_, **__):
        Path("called").touch()


class Callable:
    def __call__(self, *_, **__):
        Path("called").touch()

    def __getattr__(self, name):
        Path("called").touch()
        return lambda *_, **__: 1


INSTANCE = Callable()
'''
ATTACKS = ("os:kill", "subprocess:call", "builtins:exec", "subprocess:Popen", "unittest.mock:call")
OWN_ATTACKS = tuple(f"hostile_case:{name}" for name in ("called", "Made", "INSTANCE"))


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hostile_case.py").write_text(HOSTILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hostile_case", raising=False)
    return tmp_path


def altered(folder: Path, part: str, name: str) -> Path:
    """Write a case file that names something else in one of its parts."""
    stored = json.loads(shipped()["M3-overwrite"].read_text())
    (stored if part == "claim" else stored["case"])[part] = name
    (folder / "case.json").write_text(json.dumps(stored), encoding="utf-8")
    return folder / "case.json"


@pytest.mark.parametrize("part", ["claim", "problem", "algorithm"])
@pytest.mark.parametrize("name", [*ATTACKS, *OWN_ATTACKS])
def test_a_case_file_runs_no_code(name: str, part: str, hostile: Path) -> None:
    """Nothing is imported without trust; with it, what is no entry is not called."""
    file = altered(hostile, part, name)
    with pytest.raises(UsageError, match=f"names {name}, and a replay would run .* --trust"):
        replay(file)
    assert not (hostile / "imported").exists()
    with pytest.raises(UsageError):
        replay(file, trust=True)
    assert (hostile / "imported").exists() == name.startswith("hostile")
    assert not (hostile / "called").exists()


@pytest.mark.parametrize("key", ["problem", "algorithm"])
@pytest.mark.parametrize("name", [*ATTACKS, *OWN_ATTACKS])
def test_a_sweep_calls_nothing_but_entries(name: str, key: str, hostile: Path) -> None:
    where = "settings" if key == "problem" else "algorithms.it"
    text = f'[{where}]\n{key} = "{name}"\nT = 8\n[grids.main]\nK = [2]\n'
    (hostile / "attack.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        run_sweep(hostile / "attack.toml", store=hostile / "s.sqlite")
    assert not (hostile / "called").exists()


def test_a_trusted_case_file_is_replayed(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = altered(hostile, "problem", "stemtheory.problems.quadratic:ENTRY")
    assert main(["verify", "--replay", str(file)]) == 2
    assert "--trust" in capsys.readouterr().err
    assert main(["verify", "--replay", str(file), "--trust"]) == 0
    assert main(["verify", "M3", "--quick", "--trust"]) == 2
    assert "--replay was not given" in capsys.readouterr().err


def test_locate(tmp_path: Path) -> None:
    assert locate("all") == list(shipped().values())
    assert locate("M3-overwrite") == [shipped()["M3-overwrite"]]
    assert locate(str(shipped()["M3-overwrite"].parent)) == locate("all")
    with pytest.raises(UsageError, match="no case file"):
        locate("M99-overwrite")


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"claim": "M3"}', '{"claim": "M99"}'])
def test_what_is_no_case_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a case file"):
        replay(file)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"reading": "nonsense"}, "nonsense"),
        ({"K": 2**70}, "K = 1.18059e+21"),
        ({"rounds": 2**63}, "would take years"),
        ({"rounds": 1e300}, "would take years"),
        ({"I": 2**63}, "would take years"),
        ({"b": 1e300}, "b is 1e+300"),
        ({"b": math.nan}, "b is nan"),
        ({"x1": math.inf}, "x1"),
        ({"clock": math.nan}, "clock is nan"),
        ({"clock": -1}, "clock is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"replicates": 0}, "replicates is 0"),
        ({"replicates": 10**9}, "bytes"),
        ({"dials": {"sigma": 1e-310}}, "sigma is 1e-310"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["M1-literal", "M7-overwrite"])
def test_a_case_is_checked_whole(
    name: str, change: dict[str, Any], named: str, tmp_path: Path
) -> None:
    """Whatever its claim makes of it: a field that is wrong was never what hunt wrote."""
    stored = json.loads(shipped()[name].read_text())
    stored["case"].update(change)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(stored))
    with pytest.raises(UsageError) as caught:
        replay(file)
    assert named in str(caught.value)


@pytest.mark.parametrize("side", [math.nan, math.inf, -math.inf, "x", None])
def test_sides_that_are_no_numbers_are_never_reproduced(side: object, tmp_path: Path) -> None:
    stored = json.loads(shipped()["M1-literal"].read_text())
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({**stored, "right": side}))
    with pytest.raises(UsageError, match="right is"):
        replay(file)


@pytest.mark.parametrize(
    "number", ["1e-400", "-2.5E-999", "1e400", "-1e999", "0." + "0" * 400 + "1"]
)
@pytest.mark.parametrize("field", ["right", "sigma"])
def test_a_number_that_a_float_cannot_hold_is_named(
    number: str, field: str, tmp_path: Path
) -> None:
    """Mutant: 1e-400 was 0, and 1e400 infinite."""
    stored = json.loads(shipped()["M1-literal"].read_text())
    (stored if field == "right" else stored["case"]["dials"])[field] = "NUMBER"
    file = tmp_path / "far.json"
    file.write_text(json.dumps(stored).replace('"NUMBER"', number))
    with pytest.raises(UsageError, match="holds a number that is none") as caught:
        replay(file)
    assert f"{number:.60} would be read as " in str(caught.value)


def test_a_zero_in_a_case_file_stays_one(tmp_path: Path) -> None:
    stored = json.loads(shipped()["M1-literal"].read_text())
    stored["case"]["dials"]["sigma"] = "NUMBER"
    for zero in ("0", "0.0", "-0e-400", "0e400"):
        file = tmp_path / "zero.json"
        file.write_text(json.dumps(stored).replace('"NUMBER"', zero))
        assert replay(file)["claim"] == "M1"


def test_a_case_file_of_a_thousand_lists_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text('{"claim":' + "[" * 100_000)
    with pytest.raises(UsageError, match="not a case file"):
        replay(file)


def test_a_folder_without_case_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no case file"):
        locate(str(tmp_path))

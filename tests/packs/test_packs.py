"""The packs in packs/: every claim as expected, wrong versions rejected, a wheel of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from docs.build.packs import PACKS, claims_of, folder_of, ledger, page
from stemtheory.claims import Claim
from stemtheory.runtime import Verdict
from tests.helpers.sources import ROOT

NAMES = ["fedavg-drift", "storm"]
MOST_LINES, LEAST_CLAIMS = 400, 12


def every(name: str) -> list[Claim]:
    return [claim for made in claims_of(name).values() for claim in made]


def lines_of(folder: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.glob("*.py"))


def test_every_pack_is_tested() -> None:
    assert sorted(path.parent.parent.name for path in PACKS.glob("*/*/pack.toml")) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_the_claims_show(name: str) -> None:
    assert (folder_of(name) / "FINDINGS.md").read_text("utf-8") == page(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_claims_are_as_expected_and_their_mutants_are_rejected(name: str) -> None:
    found = ledger(name)
    assert found["unexpected"] == []
    assert [m for m in found["mutants"] if not m["rejected"]] == []
    assert {row["id"] for row in found["claims"]} == {claim.id for claim in every(name)}


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_has_wrong_versions_or_fails_itself(name: str) -> None:
    toothless = [c.id for c in every(name) if not c.mutants and not c.expected]
    assert toothless == []
    for claim in every(name):
        if Verdict.VIOLATED in claim.expected.values():
            assert claim.reason, claim.id
            assert claim.repair, claim.id


@pytest.mark.parametrize("name", NAMES)
def test_every_label_has_a_claim_or_a_reason(name: str) -> None:
    about = tomllib.loads((folder_of(name) / "pack.toml").read_text("utf-8"))
    labels = {claim.label for claim in every(name)}
    assert labels <= set(about["labels"])
    unsaid = [key for key, label in about["labels"].items() if not label.get("reason")]
    assert set(unsaid) == labels


@pytest.mark.parametrize("name", NAMES)
def test_no_constant_is_said_to_be_printed(name: str) -> None:
    about = tomllib.loads((folder_of(name) / "pack.toml").read_text("utf-8"))
    assert {label["number"] for label in about["labels"].values()} <= {"derived", ""}


def test_the_storm_pack_is_short() -> None:
    assert len(every("storm")) >= LEAST_CLAIMS
    assert lines_of(folder_of("storm")) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_of_its_own_brings_the_claims(name: str, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    source, out, site = (tmp_path / part for part in ("source", "out", "site"))
    shutil.copytree(PACKS / name, source, ignore=shutil.ignore_patterns("__pycache__"))
    out.mkdir()
    code = "import sys, setuptools.build_meta as b; b.build_wheel(sys.argv[1])"
    run([sys.executable, "-c", code, str(out)], source)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(site)
    package = folder_of(name).name
    assert {part.split("/")[0].split("-")[0] for part in names} == {package}
    assert f"{package}/FINDINGS.md" in names
    module = next(iter(claims_of(name)))
    first = claims_of(name)[module][0]
    assert first.id in command("verify", module, "--quick", at=site)


def command(*arguments: str, at: Path) -> str:
    return run([sys.executable, "-m", "stemtheory", *arguments], at, str(at))


def run(command: list[str], folder: Path, path: str = "") -> str:
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), path)))}
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout

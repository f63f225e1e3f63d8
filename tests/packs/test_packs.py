"""The packs in packs/: every claim as expected, wrong versions rejected, a wheel of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from docs.build.packs import PACKS, folder_of, ledger, page
from stemtheory.claims import Claim, claims
from stemtheory.claims.casefiles import expected_failures, replay, shipped
from stemtheory.claims.finding import chosen
from stemtheory.claims.ledger import uncovered
from stemtheory.cli import main
from stemtheory.runtime import Verdict
from tests.helpers.sources import ROOT

NAMES = ["fedavg-drift", "scaffold", "storm"]
MOST_LINES, LEAST_CLAIMS = 400, 12


def every(name: str) -> list[Claim]:
    return list(claims([str(folder_of(name))]).values())


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
    assert [c.id for c in every(name) if not c.mutants and not c.expected] == []
    for claim in every(name):
        if Verdict.VIOLATED in claim.expected.values():
            assert claim.reason, claim.id
            assert claim.repair, claim.id


@pytest.mark.parametrize("name", NAMES)
def test_every_label_has_a_claim_or_a_reason(name: str) -> None:
    (pack,) = chosen([str(folder_of(name))])
    assert uncovered(pack) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_constant_is_said_to_be_printed(name: str) -> None:
    (pack,) = chosen([str(folder_of(name))])
    assert {pack.labels[claim.label].number for claim in every(name)} == {"derived"}


@pytest.mark.parametrize("name", NAMES)
def test_every_expected_failure_has_a_case_file_and_no_other(name: str) -> None:
    """The page says of an expected failure that a counterexample is held."""
    (pack,) = chosen([str(folder_of(name))])
    assert set(shipped([str(folder_of(name))])) == {case for case, *_ in expected_failures(pack)}
    for file in shipped([str(folder_of(name))]).values():
        found = replay(file, packs=[str(folder_of(name))])
        assert found["violated"]
        assert found["reproduced"]


def test_the_command_that_is_shown_for_a_case_file_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(folder_of("storm"))
    assert main(["explain", "ST15", "--pack", folder]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"stemtheory verify --replay ST15-literal --pack {folder}" in said.replace("- ", "-")


def test_the_packs_and_stem_are_read_together() -> None:
    folders = [str(folder_of(name)) for name in NAMES]
    together = claims(["stem", *folders])
    assert len(together) == len(claims(["stem"])) + sum(len(every(name)) for name in NAMES)


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
    package, first = folder_of(name).name, every(name)[0]
    assert {part.split("/")[0].split("-")[0] for part in names} == {package}
    assert f"{package}/FINDINGS.md" in names
    cases = {f"{package}/cases/{path.name}" for path in folder_of(name).glob("cases/*")}
    assert cases <= set(names)
    # Its entry point is found, and every command reads it beside STEM's, without being told.
    listed = command("list", "claims", at=site).split()
    assert {claim.id for claim in every(name)} | {"M7"} <= set(listed)
    found = json.loads(command("verify", first.id, "--json", at=site))
    assert [row["verdict"] for row in found["claims"]] == ["holds"]
    assert first.statement[:20] in " ".join(command("explain", first.id, at=site).split())


def command(*arguments: str, at: Path) -> str:
    return run([sys.executable, "-m", "stemtheory", *arguments], at, str(at))


def run(command: list[str], folder: Path, path: str = "") -> str:
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), path)))}
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout

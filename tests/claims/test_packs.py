"""Packs: found by name and by folder, complete, and refused in one sentence where they are not."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims import finding, ledger
from stemtheory.claims.finding import chosen, shipped
from stemtheory.claims.ledger import claims, of_pack, uncovered
from stemtheory.claims.pack import Pack, read
from stemtheory.cli import main
from stemtheory.runtime import UsageError
from tests.helpers.sources import ROOT

EXAMPLE = ROOT / "tests/helpers/example_pack"
SHIPPED = [read(*at) for at in shipped()]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Folders of a test are imported in it alone, and what is installed is looked for anew."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    known = set(sys.modules)
    finding.packages.cache_clear()
    yield
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__spec__", None) and "/pytest-" in str(
            getattr(sys.modules[name], "__path__", getattr(sys.modules[name], "__file__", ""))
        ):
            del sys.modules[name]
    finding.packages.cache_clear()


def copied(tmp_path: Path, name: str, **changed: str) -> Path:
    """Return a copy of the example pack in a folder of this name, with texts replaced in it."""
    folder = tmp_path / name
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / "pack.toml", folder / "directions.py"):
        text = file.read_text(encoding="utf-8")
        for old, new in changed.items():
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    return folder


def replaced(folder: Path, file: str, old: str, new: str) -> Path:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


def ask(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    code = main([*argv, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Return the one sentence with which a command ends, exit code 2."""
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


# --- what ships ------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", SHIPPED, ids=lambda pack: pack.name)
def test_every_label_of_a_shipped_pack_has_a_claim_or_a_reason(pack: Pack) -> None:
    assert uncovered(pack) == []
    cited = {claim.label for claim in of_pack(pack)}
    stale = [name for name, label in pack.labels.items() if label.reason and name in cited]
    assert stale == []


def test_a_label_without_either_is_noticed() -> None:
    """The mutant: the example pack leaves one label out."""
    (example,) = chosen([str(EXAMPLE)])
    assert uncovered(example) == ["eq:left-out"]


def test_names_in_a_shipped_pack_are_names_of_claims() -> None:
    for pack in SHIPPED:
        own = {claim.id for claim in of_pack(pack)}
        assert all(set(found.lines) <= own for found in pack.matrices.values())
        assert set(pack.matrices) <= set(pack.aliases)


def test_the_first_pack_is_read_as_any_other() -> None:
    by_name, by_folder = chosen(["stem"]), chosen([str(ROOT / "stemtheory/claims/paper")])
    assert by_name == by_folder
    assert by_name[0].source == "arXiv:2106.10435"
    assert claims(["stem"])["M3"].pack is by_name[0]


# --- a pack of one's own ---------------------------------------------------------------------


def test_a_folder_is_read_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = ("--pack", str(copied(tmp_path, "theirs")))
    found = ask(capsys, "verify", *pack, "--quick", "--mutants", "--jobs", "1")
    assert [(row["id"], row["verdict"]) for row in found["claims"]] == [
        ("EX-1", "holds"),
        ("EX-2", "holds"),
    ]
    assert all(m["rejected"] for m in found["mutants"])
    assert found["uncovered"] == {"example": ["eq:left-out"]}
    assert "certificates" not in found
    told = ask(capsys, "explain", "lemma 1", *pack)
    assert (told["id"], told["number"], told["title"]) == ("EX-1", "Lemma 1", "Lengths")
    assert (told["pack"], told["module"]) == ("example", "theirs/directions.py")
    listed = ask(capsys, "list", "claims", *pack)["claims"]
    assert [(row["name"], row["pack"]) for row in listed] == [
        ("EX-1", "example"),
        ("EX-2", "example"),
    ]
    assert ask(capsys, "probe", "EX-1", *pack)["violated"] == 0
    hunted = ask(capsys, "hunt", "EX-1", *pack, "--budget", "0.2", "--out", str(tmp_path / "out"))
    again = ask(capsys, "verify", "--replay", hunted["case_file"], *pack)["replays"]
    assert [row["reproduced"] for row in again] == [True]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[sections]", 'algorithm = "strom"\n\n[sections]', "algorithm 'strom' is unknown"),
        ("example-directions =", '"a b/<c>" =', "sections is {'a b/<c>': 'directions'}"),
    ],
)
def test_a_name_that_nothing_is_called_is_one_sentence(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = replaced(copied(tmp_path, "misnamed"), "pack.toml", old, new)
    told = refused(capsys, "list", "claims", "--pack", str(folder))
    assert "pack.toml" in told
    assert said in told


def test_its_claims_are_asked_of_its_algorithm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SCAFFOLD has no d, so the line about it can't be judged there, and isn't judged elsewhere."""
    folder = copied(tmp_path, "about_scaffold")
    replaced(folder, "pack.toml", "[sections]", 'algorithm = "scaffold"\n\n[sections]')
    said = refused(capsys, "verify", "--pack", str(folder), "--quick", "--jobs", "1")
    assert "claim EX-1: d is asked for, but a run of scaffold keeps a, c, c_k, eta, g" in said
    replaced(folder, "directions.py", "kind=", 'algorithm="stem",\n        kind=')
    finding._read.cache_clear()
    for name in [name for name in sys.modules if name.startswith("about_scaffold")]:
        del sys.modules[name]
    assert main(["verify", "--pack", str(folder), "--quick", "--jobs", "1"]) == 0


def test_its_ledger_is_a_page_about_its_paper(tmp_path: Path) -> None:
    folder = copied(tmp_path, "paged")
    command = ["verify", "--pack", str(folder), "--quick", "--jobs", "1"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    for name in ("ledger.html", "ledger.md"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert "An example: every claim, put to the test" in text
        assert "STEM" not in text
        assert "the paper" not in text
        if name == "ledger.html":  # what it is about, and the command that makes it again
            assert (
                "A. Author: A note on the directions of a run, 2020, doi:10.0000/example." in text
            )
            assert f"stemtheory verify --quick --pack {folder} --out DIR" in text


def test_packs_are_read_together_and_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    packs = ("--pack", "stem", "--pack", str(EXAMPLE))
    found = ask(capsys, "verify", "SCH4", "EX-*", *packs, "--quick", "--jobs", "2")
    assert [row["id"] for row in found["claims"]] == ["SCH4", "EX-1", "EX-2"]
    assert "EX-1" not in claims()


def test_a_packs_case_files_are_its_own(tmp_path: Path) -> None:
    folder = copied(tmp_path, "with_cases")
    (folder / "cases").mkdir()
    shutil.copy(ROOT / "stemtheory/claims/paper/cases/M3-literal.json", folder / "cases")
    from stemtheory.claims import shipped as case_files

    assert list(case_files([str(folder)])) == ["M3-literal"]
    assert "M3-overwrite" in case_files()


class Installed:
    """Entry points as ``importlib.metadata`` would find them."""

    def __init__(self, *entries: tuple[str, str]) -> None:
        self.entries = [EntryPoint(name, value, finding.GROUP) for name, value in entries]

    def __call__(self, group: str) -> list[EntryPoint]:
        assert group == finding.GROUP
        return self.entries


def test_an_installed_pack_is_found_by_its_entry_point(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Installed(("example", "tests.helpers.example_pack"))
    monkeypatch.setattr("importlib.metadata.entry_points", found)
    assert [pack.name for pack in chosen()] == [*(pack.name for pack in SHIPPED), "example"]
    assert claims()["EX-1"].section == "example-directions"
    listed = ask(capsys, "list", "packs")["packs"][-1]
    assert (listed["claims"], listed["uncovered"]) == (2, ["eq:left-out"])
    assert "EX-1" not in claims(["stem"])


# --- refused ---------------------------------------------------------------------------------

SPOILED = {
    "toml": ('name = "example"', "name = example", "is not valid TOML"),
    "missing": ("year = 2020", "", "year is missing: add it"),
    "unknown": ("year = 2020", "year = 2020\nyaer = 2020", "yaer is no field of a pack"),
    "type": ("year = 2020", 'year = "2020"', "year is '2020', but it must be a whole number"),
    "name": ('name = "example"', 'name = "My Pack"', "but it must be a name of small letters"),
    "authors": ('authors = ["A. Author"]', 'authors = "A. Author"', "a list of names"),
    "source": ('doi = "10.0000/example"', "", "there is neither doi nor arxiv"),
    "label": ('{ number = "eq. (2)" }', '{ title = "No number" }', "labels is"),
    "section": ('"directions"', '"directions.py/x"', "sections is"),
    "module": ('"directions"', '"elsewhere"', ".elsewhere cannot be imported"),
    "matrix": ("[labels]", '[matrices]\none = { lines = ["EX-1"] }\n[labels]', "matrices is"),
    "needs": ("stemtheory >= 0.2", "other >= 0.2", "a version, such as"),
    "newer": (
        "stemtheory >= 0.2",
        "stemtheory >= 99.1",
        "the pack needs stemtheory >= 99.1, but this is stemtheory",
    ),
    "cited": ('"lem:length" =', '"lem:lengths" =', "claim EX-1 cites 'lem:length', which is none"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_pack_with_an_error_is_one_sentence(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, said = SPOILED[what]
    folder = replaced(copied(tmp_path, f"spoiled_{what}"), "pack.toml", old, new)
    for command in (("verify",), ("list", "claims"), ("explain", "EX-1")):
        assert said in refused(capsys, *command, "--pack", str(folder))


MODULES = {
    "raises": ("CLAIMS = (", "1 / 0\nCLAIMS = (", "cannot be imported"),
    "none": ("CLAIMS = (", "LINES = (", "has no CLAIMS, a sequence of claims"),
    "twice": ('"EX-2"', '"EX-1"', "two claims are called EX-1, in example"),
}


@pytest.mark.parametrize("what", MODULES)
def test_a_claim_module_with_an_error_is_one_sentence(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, said = MODULES[what]
    folder = replaced(copied(tmp_path, f"module_{what}"), "directions.py", old, new)
    assert said in refused(capsys, "verify", "--pack", str(folder))


def test_two_packs_with_one_claim_id_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = replaced(copied(tmp_path, "other"), "pack.toml", 'name = "example"', 'name = "other"')
    said = refused(capsys, "list", "claims", "--pack", str(EXAMPLE), "--pack", str(other))
    assert "two claims are called EX-1, in example (" in said
    assert "and in other (other/directions.py): rename one" in said


def test_two_packs_with_one_section_or_name_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = copied(tmp_path, "twin")
    both = ("--pack", str(EXAMPLE), "--pack", str(twin))
    assert "two packs called example: give only one" in refused(capsys, "verify", *both)
    replaced(twin, "pack.toml", 'name = "example"', 'name = "twin"')
    replaced(twin, "directions.py", "EX-", "TW-")
    finding._read.cache_clear()
    said = refused(capsys, "verify", *both)
    assert "two packs, example and twin, call a section example-directions" in said


def test_what_is_no_pack_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "holds no pack.toml" in refused(capsys, "verify", "--pack", str(tmp_path))
    said = refused(capsys, "verify", "--pack", "stam")
    assert "pack 'stam' is unknown" in said
    assert said.endswith("did you mean stem?\n")
    assert "pack is" in refused(capsys, "verify", "--pack", "")
    odd = copied(tmp_path, "no-name")
    assert "is no name in Python" in refused(capsys, "verify", "--pack", str(odd))
    said = refused(capsys, "list", "problems", "--pack", "stem")
    assert "--pack is for claims and packs, but problems are listed" in said


def test_a_folder_that_an_installed_package_hides_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``json.directions`` is not there, and ``json.decoder`` is not the pack's."""
    folder = copied(tmp_path, "json", directions="decoder")
    (folder / "directions.py").rename(folder / "decoder.py")
    said = refused(capsys, "verify", "--pack", str(folder))
    assert "json.decoder is" in said
    assert "rename the folder of the pack" in said


def test_an_entry_point_that_names_no_package_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Installed(("lost", "no_such_package_here"))
    monkeypatch.setattr("importlib.metadata.entry_points", found)
    with pytest.raises(UsageError, match="the installed pack lost is said to be in no_such"):
        claims()


def test_an_entry_point_of_another_name_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Installed(("sample", "tests.helpers.example_pack"))
    monkeypatch.setattr("importlib.metadata.entry_points", found)
    with pytest.raises(
        UsageError, match="calls the pack example, but its entry point calls it sam"
    ):
        claims()
    assert claims(["stem"])


def test_an_installed_pack_called_as_ours_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Installed(("stem", "tests.helpers.example_pack"))
    monkeypatch.setattr("importlib.metadata.entry_points", found)
    with pytest.raises(UsageError, match="two packs called stem are installed"):
        ledger.claims()

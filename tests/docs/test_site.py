"""The documentation site's own pages: whatever has a name is there, and every formula is shown.

`make docs` builds the whole with warnings as errors; these tests need no Sphinx.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stemtheory
from docs.build import reference
from stemtheory.algorithms import ALGORITHMS
from stemtheory.bounds import BOUNDS
from stemtheory.claims import claims
from stemtheory.oracles import names
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.report.formula import mathml
from stemtheory.schedules import SCHEDULES
from tests.helpers.sources import ROOT

DOCS = ROOT / "docs"
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if "generated" not in path.parts
    and "build" not in path.parts
    and not path.name.endswith(".template.md")
]
MATH = re.compile(r"\$\$(?P<block>.+?)\$\$|(?<![\\$`])\$(?P<inline>[^$\n`]+?)\$(?!\d)", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the text of the pages of the reference, those of two claims alone."""
    folder = tmp_path_factory.mktemp("docs")
    chosen = {name: claims()[name] for name in ("M3", "SCH4")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "claims", lambda: chosen)
        (folder / reference.FOLDER / "claims").mkdir(parents=True)
        (folder / reference.FOLDER / "claims" / "GONE.md").write_text("of a claim that is no more")
        reference.write(folder)
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*.md"))}


def faults(written: dict[str, str]) -> list[str]:
    """Return the names of catalogues that their page lacks."""
    page = {Path(place).stem: text for place, text in written.items()}
    wanted = {
        "problems": names("problems", data=True),
        "algorithms": ALGORITHMS,
        "bounds": BOUNDS,
        "oracles": [*NOISES, *HETEROGENEITIES],
    }
    return [
        f"{kind}: {name}" for kind, all_ in wanted.items() for name in all_
        if f"`{name}`" not in page[kind]
    ]  # fmt: skip


def test_every_name_has_its_place(written: dict[str, str]) -> None:
    assert faults(written) == []
    lost = {place: text.replace("`scaffold`", "") for place, text in written.items()}
    assert faults(lost) == ["algorithms: scaffold"]


def test_a_claim_has_a_page_with_what_explain_says(written: dict[str, str]) -> None:
    pages = {Path(p).stem for p in written if "/claims/" in p}
    assert pages == {"M3", "SCH4"}  # and none of a claim that is gone
    text = written[f"{reference.FOLDER}/claims/M3.md"]
    for piece in (
        "lem: ErrorContraction_BatchGradients_App",
        "| literal | sync | violated, as expected |",
        "`M3-overwrite`: left 1.92157e-10 > right 1.19761e-11",
        "- right side divided by 4x the smallest margin",
    ):
        assert piece in text


def test_every_command_and_flag_is_listed(written: dict[str, str]) -> None:
    text = written[f"{reference.FOLDER}/commands.md"]
    for piece in ("## `stemtheory verify`", "`--T, --steps`", "`--replay`"):
        assert piece in text


def test_every_schedule_and_public_name_is_described() -> None:
    schedules = (DOCS / "reference/schedules.md").read_text()
    assert [name for name in SCHEDULES if f"| `{name}` |" not in schedules] == []
    options = {o for makers in SCHEDULES.values() for m in makers.values() for o in m.options}
    assert [option for option in options if f"`{option}`" not in schedules] == []
    python = (DOCS / "reference/python.md").read_text()
    modules = {"bounds", "moments", "__version__"}
    public = set(stemtheory.__all__) - modules
    assert [name for name in sorted(public) if f":: {name}\n" not in python] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_every_formula_can_be_shown(page: Path) -> None:
    """mathml refuses what it does not know, so that nothing is shown as a name."""
    text = CODE.sub("", page.read_text())
    for found in MATH.finditer(text):
        latex = re.sub(r"\\tag\{[^}]*\}", "", found["block"] or found["inline"])
        assert mathml(latex.strip(), inline=not found["block"]).startswith("<math")


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    trees = set(re.findall(r"^[\w/-]+$", index, re.MULTILINE))
    known = {str(p.relative_to(DOCS).with_suffix("")) for p in PAGES} | {"quickstart"}
    assert known - trees == {"index"}

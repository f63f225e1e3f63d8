"""Links within README, the other pages of the checkout and the docs: files and anchors exist.

The built site is checked by ``docs.build.links`` as a part of ``make docs``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.build.links import broken, main
from tests.helpers.sources import ROOT

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not {"generated", "build"} & set(path.relative_to(ROOT).parts)
        and not path.name.endswith(".template.md")
    ),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the anchors that a page's headings make, as on GitHub and by MyST, and its own."""
    heads = re.findall(
        r"^#+ +(.+)$",
        re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL),
        re.MULTILINE,
    )
    made = {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
    return made | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def lost(page: Path, text: str) -> list[str]:
    """Return the links of a page to a file or an anchor that is not there."""
    found = []
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", link) or "generated" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            found.append(link)
        elif anchor and target.suffix == ".md":
            inside = text if target == page else target.read_text(encoding="utf-8")
            if anchor not in anchors(inside):
                found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_an_anchor(page: Path) -> None:
    assert lost(page, page.read_text(encoding="utf-8")) == []


def test_the_pages_have_links_with_anchors() -> None:
    links = [link for page in PAGES for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert sum("#" in link and ":" not in link for link in links) > 5
    assert len(links) > 80


@pytest.mark.parametrize(
    "link", ["docs/none.md", "docs/tour.md#no-such-heading", "#no-such-heading", "docs/img/no.png"]
)
def test_a_link_into_the_void_is_noticed(link: str) -> None:
    page = ROOT / "README.md"
    assert lost(page, f"# A\n\n[x](docs/tour.md) [y]({link}) [z](#a)") == [link]


def test_the_site_is_checked_link_by_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(
        '<h1 id="top">x</h1><a href="sub/b.html#here">y</a><a href="#top">z</a>'
        '<a href="https://example.org/none">out</a><img src="p.png">'
    )
    (tmp_path / "sub/b.html").write_text('<p id="here"></p><a href="../a.html">back</a>')
    (tmp_path / "p.png").write_bytes(b"")
    assert main([str(tmp_path)]) == 0
    (tmp_path / "sub/b.html").write_text('<p id="there"></p><a href="../c.html">back</a>')
    (tmp_path / "p.png").unlink()
    assert broken(tmp_path) == [
        "a.html: sub/b.html#here",
        "a.html: p.png",
        "sub/b.html: ../c.html",
    ]
    assert main([str(tmp_path)]) == 1
    assert main([str(tmp_path / "sub/none")]) == 1
    assert "has no page" in capsys.readouterr().out

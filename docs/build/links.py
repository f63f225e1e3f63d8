"""The link checker of the built site: every link inside it, and every anchor, must lead somewhere.

python -m docs.build.links build/docs     # a part of make docs; exit code 1 where one does not

Links that leave the site are not followed: nothing here uses a network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element's id, and what it links to or shows."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken(folder: Path) -> list[str]:
    """Return "page: link" for every link within the site that leads to no file or no anchor."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in _html(folder)}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            there = pages.get(target)
            fragment = unquote(parts.fragment)
            lost = not target.exists() or (
                fragment != "" and there is not None and fragment not in there.anchors
            )
            if lost:
                found.append(f"{path.relative_to(folder.resolve())}: {link}")
    return found


def _html(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.html"))


def main(argv: list[str]) -> int:
    """Print every broken link of the site in a folder; return 1 if there is one, or no page."""
    folder = Path(argv[0])
    found = broken(folder) if any(_html(folder)) else [f"{folder} has no page"]
    said = "\n".join(found) or "every link within the site leads somewhere"
    sys.stdout.write(f"{said}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Results as a notebook shows them: a small table in HTML, escaped, with the style left alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from stemtheory.runtime.numerals import rounded


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; floats have four digits, None is a dash."""
    from jinja2 import Environment  # what runs without a notebook need not wait for it

    text = (Path(__file__).parent / "templates/notebook.html").read_text(encoding="utf-8")
    return (
        Environment(autoescape=True)
        .from_string(text)
        .render(title=title, head=head, rows=rows, rounded=rounded)
    )

"""Fills the templates of docs/ and of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, meta

DOCS = Path(__file__).resolve().parent.parent
ENVIRONMENT = Environment(
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def fill(template: str, found: Mapping[str, Any]) -> str:
    """Return the template with every name replaced by its value.

    Raises
    ------
    ValueError
        If a name has no value, or a value no place: no number stands in a page by hand, and none is
        computed in vain.
    """
    named = meta.find_undeclared_variables(ENVIRONMENT.parse(template))
    if named != set(found):
        raise ValueError(f"names and values differ: {sorted(named ^ set(found))}")
    return ENVIRONMENT.from_string(template).render(found)


def filled(place: str, found: Mapping[str, Any]) -> str:
    """Return the template at a place below docs/, filled."""
    return fill((DOCS / place).read_text(encoding="utf-8"), found)


def table_row(*cells: object) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"

"""Results as a notebook shows them: a small table in HTML, escaped, with the style left alone."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; floats have four digits, None is a dash."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    titled = f"<caption>{html.escape(title)}</caption>" if title else ""
    return (
        f"<table>{titled}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        if any(head)
        else f"<table>{titled}<tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    if value is None:
        text = "–"
    else:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"<td>{html.escape(text)}</td>"

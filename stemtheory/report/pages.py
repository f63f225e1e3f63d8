"""Pages, filled from the templates of this room.

A page is one file: its style, its pictures and its script are inside, so it opens without a
network, reads on a telephone and prints. What a template is given is data and escaped, but for the
MathML of a formula.
"""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemtheory._version import __version__
from stemtheory.report.tables import shown

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
EXPLORER = Path(__file__).with_name("explorer") / "templates"


def render(template: str, **data: Any) -> str:
    """Return a template filled with ``data``; a name that it lacks is an error."""
    return _environment().get_template(template).render(version=__version__, **data)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader([TEMPLATES, EXPLORER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["shown"] = shown
    found.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode("ascii")
    return found

"""A Sphinx extension: formulas become MathML while the site is built, so that it needs no script.

A formula that cannot be shown is a warning, and a warning stops the build.
"""

from __future__ import annotations

import re
from typing import Any

from docutils.nodes import SkipNode
from sphinx.util.logging import getLogger

from stemtheory.report.formula import mathml
from stemtheory.runtime import UsageError

TAG = re.compile(r"\\tag\{([^}]*)\}")


def shown(node: Any, *, inline: bool) -> str:
    """Return a node's formula as MathML, without its number."""
    try:
        return mathml(TAG.sub("", node.astext()).strip(), inline=inline)
    except UsageError as error:
        getLogger(__name__).warning(str(error), location=node)
        return ""


def _inline(self: Any, node: Any) -> None:
    self.body.append(shown(node, inline=True))
    raise SkipNode


def _block(self: Any, node: Any) -> None:
    """A displayed formula, with the number that its tag gives it at the right."""
    tag = TAG.search(node.astext())
    number = f'<span class="eqno">({tag[1]})</span>' if tag else ""
    self.body.append(f'<div class="equation"><div>{shown(node, inline=False)}</div>{number}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Take the place of Sphinx's own renderer, which needs a script from elsewhere."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}

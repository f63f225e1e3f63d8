"""A probe as a picture: both sides of a claim over t, and where the left one is the larger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stemtheory.report.drawing import picture_kind, render
from stemtheory.report.palette import BLUE, VERMILION
from stemtheory.runtime import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from stemtheory.claims import Probe

SIZE = (6.8, 4.0)


def draw_probe(found: Probe, path: Path) -> Path:
    """Draw both sides over t; return the path.

    Raises
    ------
    UsageError
        If the ending is no picture's, or the file cannot be written.
    """
    content = render(lambda canvas: draw(found, canvas), SIZE, picture_kind(path))
    return write_file(path, lambda file: file.write(content))


def draw(found: Probe, figure: Canvas) -> None:
    """Draw the sides as marks; what is not above zero has no place on a logarithmic axis."""
    ax = figure.subplots()
    t = np.asarray(found.t, dtype=float)
    for side, values, style in (
        ("right side: what is allowed", found.right, {"marker": "_", "color": BLUE}),
        ("left side", found.left, {"marker": "o", "color": "black", "ms": 3}),
    ):
        shown = np.where((values > 0) & np.isfinite(values), values, np.nan)
        ax.plot(t, shown, linestyle="none", label=side, **style)
    bad = found.violated & (found.left > 0)
    if bad.any():
        ax.plot(t[bad], found.left[bad], "s", mfc="none", mec=VERMILION, ms=8, label="left > right")
    ax.set(yscale="log", xlabel="step $t$ (iterations)", ylabel="both sides")
    ax.set_title(f"{found.claim.id}: {found.claim.statement}\n{found.case.short()}", fontsize=8)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)

"""Both sides of one claim over its panel as a small inline SVG, measured against allowed.

Both axes are logarithmic and share one range, so the diagonal is where the claim is attained; what
lies above it is violated. A few kilobytes per claim, without a drawing library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stemtheory.claims import Claim, PlotPoint

SIZE, LEFT, BOTTOM, TOP = 236, 50, 40, 10
FRAME = {
    "width": LEFT + SIZE + 12,
    "height": TOP + SIZE + BOTTOM,
    "left": LEFT,
    "right": LEFT + SIZE,
    "bottom": TOP + SIZE,
    "middle": LEFT + SIZE // 2,
    "centre": TOP + SIZE // 2,
}
MOST_DECADES, MOST_TICKS = 40, 5

AXES = {
    "rate": ("interval half-width + tolerance", "|measured - stated exponent|"),
    "identity": ("float error budget", "error"),
    "excess": ("right side", "left side"),
}


def plot(claim: Claim, points: Sequence[PlotPoint]) -> dict[str, Any] | None:
    """Return what the plot of a claim's points shows and where, None if there is none to draw."""
    drawn = [p for p in points if _real(p.allowed) or _real(p.measured)]
    if not drawn:
        return None
    low, high = limits(drawn)
    kind = "rate" if claim.kind == "rate" else "identity" if claim.identity else "excess"
    x_label, y_label = AXES[kind]
    places: dict[bool, list[str]] = {False: [], True: []}
    for p in drawn:
        places[p.violated].append(_xy(_at(p, low, high)))
    decades = range(low, high + 1, max(1, math.ceil((high - low) / MOST_TICKS)))
    return {
        **FRAME,
        "x_label": x_label,
        "y_label": y_label,
        "start": _xy(_place(low, low, low, high)),
        "end": _xy(_place(high, high, low, high)),
        "corner": _xy(_place(low, high, low, high)),
        "ticks": [(decade, *_place(decade, decade, low, high)) for decade in decades],
        "good": len(places[False]),
        "bad": len(places[True]),
        # dots are strokes without length, round at their ends
        "dots": "".join(f"M{place}h0" for place in dict.fromkeys(places[False])),
        "crosses": "".join(f"M{p}m-3.5 -3.5l7 7m0 -7l-7 7" for p in dict.fromkeys(places[True])),
    }


def limits(points: Sequence[PlotPoint]) -> tuple[int, int]:
    """Return the first and the last decade of both axes; what lies outside stands on the edge."""
    logs = sorted(
        math.log10(value) for p in points for value in (p.allowed, p.measured) if _real(value)
    )
    high = math.ceil(logs[-1] + 0.05)
    low = max(math.floor(logs[0] - 0.05), high - MOST_DECADES)
    return low, max(high, low + 1)


def _real(value: float) -> bool:
    return 0 < value < math.inf


def _place(x: float, y: float, low: int, high: int) -> tuple[float, float]:
    """Return where decades (x, y) stand, y upwards, held within the frame."""
    scale = SIZE / (high - low)
    x, y = (min(max(value, low), high) for value in (x, y))
    return LEFT + (x - low) * scale, TOP + SIZE - (y - low) * scale


def _at(p: PlotPoint, low: int, high: int) -> tuple[float, float]:
    x, y = (
        math.log10(v) if _real(v) else float(high if v == math.inf else low)
        for v in (p.allowed, p.measured)
    )
    return _place(x, y, low, high)


def _xy(place: tuple[float, float]) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"

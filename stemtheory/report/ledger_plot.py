"""Both sides of one claim over its panel as a small inline SVG, measured against allowed.

Both axes are logarithmic and share one range, so the diagonal is where the claim is attained; what
lies above it is violated. A few kilobytes per claim, without a drawing library.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from stemtheory.claims import Claim, Point

SIZE, LEFT, BOTTOM, TOP = 236.0, 50.0, 40.0, 10.0
WIDTH, HEIGHT = LEFT + SIZE + 12, TOP + SIZE + BOTTOM
MOST_DECADES, MOST_TICKS = 40, 5

AXES = {
    "rate": ("interval half-width + tolerance", "|measured - stated exponent|"),
    "identity": ("float error budget", "error"),
    "excess": ("right side", "left side"),
}


def plot(claim: Claim, points: Sequence[Point]) -> str:
    """Return the SVG of a claim's points, or nothing if there is none to draw."""
    drawn = [p for p in points if _real(p.allowed) or _real(p.measured)]
    if not drawn:
        return ""
    low, high = limits(drawn)
    kind = "rate" if claim.kind == "rate" else "identity" if claim.identity else "excess"
    x_label, y_label = AXES[kind]
    good = [p for p in drawn if not p.violated]
    bad = [p for p in drawn if p.violated]
    text = f"{y_label} against {x_label}: {len(good)} points hold, {len(bad)} are violated"
    a, b = _place(low, low, low, high), _place(high, high, low, high)
    corner = _place(low, high, low, high)
    marks = (
        f'<path class="over" d="M{_xy(a)}L{_xy(corner)}L{_xy(b)}Z"/>'
        f'<path class="frame" d="M{_xy(corner)}V{TOP + SIZE:g}H{LEFT + SIZE:g}"/>'
        f'<path class="diagonal" d="M{_xy(a)}L{_xy(b)}"/>'
        f"{_ticks(low, high)}"
        f'<path class="holds" d="{_dots(good, low, high)}"/>'
        f'<path class="violated" d="{_crosses(bad, low, high)}"/>'
    )
    middle = TOP + SIZE / 2
    labels = (
        f'<text x="{LEFT + SIZE / 2:g}" y="{HEIGHT - 5:g}">{html.escape(x_label)}</text>'
        f'<text transform="translate(12 {middle:g}) rotate(-90)">{html.escape(y_label)}</text>'
    )
    return (
        f'<svg class="plot" role="img" aria-label="{html.escape(text)}" width="{WIDTH:g}"'
        f' height="{HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}">{marks}{labels}</svg>'
    )


def limits(points: Sequence[Point]) -> tuple[int, int]:
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


def _at(p: Point, low: int, high: int) -> tuple[float, float]:
    x, y = (
        math.log10(v) if _real(v) else float(high if v == math.inf else low)
        for v in (p.allowed, p.measured)
    )
    return _place(x, y, low, high)


def _xy(place: tuple[float, float]) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"


def _dots(points: Sequence[Point], low: int, high: int) -> str:
    """Return a path of dots: strokes without length, round at their ends."""
    places = dict.fromkeys(_xy(_at(p, low, high)) for p in points)
    return "".join(f"M{place}h0" for place in places)


def _crosses(points: Sequence[Point], low: int, high: int) -> str:
    places = dict.fromkeys(_xy(_at(p, low, high)) for p in points)
    return "".join(f"M{place}m-3.5 -3.5l7 7m0 -7l-7 7" for place in places)


def _ticks(low: int, high: int) -> str:
    """Return at most a few powers of ten along both axes."""
    step = max(1, math.ceil((high - low) / MOST_TICKS))
    out = []
    for decade in range(low, high + 1, step):
        x, y = _place(decade, decade, low, high)
        name = f'10<tspan dy="-4" font-size="8">{decade}</tspan>'
        out.append(f'<path class="frame" d="M{x:.1f} {TOP + SIZE:g}v4M{LEFT:g} {y:.1f}h-4"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + SIZE + 17:g}">{name}</text>')
        out.append(f'<text class="y" x="{LEFT - 6:g}" y="{y + 4:.1f}">{name}</text>')
    return "".join(out)

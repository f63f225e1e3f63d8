"""The colours of Okabe and Ito, which colour-blind readers tell apart, and markers for grey prints.

An algorithm has one colour, one marker and one line in every figure that names it. What differs
within an algorithm (I, nu, momentum) is a shade of its colour, another line or a hollow marker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
SKY, ORANGE, PURPLE = "#56B4E9", "#E69F00", "#CC79A7"
MARKERS = "osD^vP"  # of what is no algorithm
Dash = str | tuple[int, tuple[float, ...]]
LONG, DOTTED, SHORT = (0, (5.0, 1.5)), (0, (1.0, 1.0)), (0, (2.0, 2.0))
DASHDOT = (0, (3.0, 1.0, 1.0, 1.0))
DASHES: tuple[Dash, ...] = ("-", LONG, DOTTED)  # of what differs within an algorithm


class Look(NamedTuple):
    """How an algorithm looks: a colour, a marker that no other has, and a line."""

    colour: str
    marker: str
    dash: Dash = "-"

    def style(self, **more: Any) -> dict[str, Any]:
        """Return colour and marker as matplotlib takes them, with what is added or replaced."""
        return {"color": self.colour, "marker": self.marker, **more}

    def shade(self, step: int, of: int) -> str:
        """Return one of ``of`` shades of the colour, from light (step 0) to dark."""
        return mixed(self.colour, 0.45 - 0.9 * step / max(1, of - 1)) if of > 1 else self.colour


LOOKS = {
    "stem": Look(BLUE, "o"),
    "fedavg": Look(VERMILION, "s"),
    "minibatch-sgd": Look(GREEN, "D"),
    "scaffold": Look(PURPLE, "^", LONG),
    "mimemvr": Look(ORANGE, "v", DASHDOT),
    "fedglomo": Look(SKY, "P", DOTTED),
    "fedpd": Look("#262626", "X", SHORT),
    "fed-stem": Look("#004C78", "8", LONG),
    "minibatch-stem": Look("#5FA8D3", "h", DOTTED),
    "storm": Look("#7A8FB8", "H", SHORT),
    "fedprox": Look("#8C3D00", "p", LONG),
    "mime": Look("#B8860B", "<", DASHDOT),
    "mimelite": Look("#7F6A2E", ">", DOTTED),
    "local-polyak": Look("#F0A06A", "d", DASHDOT),
    "local-nesterov": Look("#A65E3A", "*", DOTTED),
    "vrl-sgd": Look("#8E4A78", "1", SHORT),
    "spider": Look("#5C5C5C", "x", DASHDOT),
    "slowmo": Look("#9A9A9A", "+", LONG),
}


def mixed(colour: str, light: float) -> str:
    """Return the colour, mixed with white by the share ``light``, with black if it is negative."""
    to, share = (255 if light > 0 else 0), abs(light)
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (to - part)):02X}" for part in parts)

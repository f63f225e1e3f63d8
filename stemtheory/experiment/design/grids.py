"""Grids of settings: products, zips, and points of the trade-off curve.

Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR); Thm: Flexible_FedAvg, eq. (eq:I:b_FedAvg).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stemtheory.algorithms import load_algorithm
from stemtheory.runtime import UsageError
from stemtheory.schedules import FEDAVG_TRADE_OFF, STEM_TRADE_OFF, stem_curve

KINDS = ("product", "zip", "curve")
MOST = 1_000_000  # values on an axis: a longer one is a misprint, and takes minutes to write out
Axis = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class SweepGrid:
    """Axes by name; ``algorithms`` are the labels of those that run on it.

    ``product`` takes every combination, the last axis fastest; ``zip`` the first values together,
    then the second ones, and so on, each with every combination of the axes in ``cross``;
    ``curve`` is a product over nu and T in which I may stand for T: the T at which the curve
    passes through that I exactly.
    """

    name: str
    kind: str
    axes: tuple[Axis, ...]
    algorithms: tuple[str, ...]
    cross: tuple[str, ...] = ()

    def settings(self, algorithm: str) -> Iterator[dict[str, Any]]:
        """Yield the settings of every point for one algorithm."""
        zipped, crossed = self._parts()
        length = len(self) // math.prod(len(values) for _, values in crossed)
        together = [values * length if len(values) == 1 else values for _, values in zipped]
        firsts = zip(*together, strict=True) if together else [()]
        names = [name for name, _ in (*zipped, *crossed)]
        for first, row in itertools.product(firsts, itertools.product(*(v for _, v in crossed))):
            point = dict(zip(names, (*first, *row), strict=True))
            yield _on_curve(point, algorithm) if self.kind == "curve" else point

    def __len__(self) -> int:
        """How many points, for one algorithm."""
        zipped, crossed = self._parts()
        together = max((len(values) for _, values in zipped), default=1)
        return together * math.prod(len(values) for _, values in crossed)

    def _parts(self) -> tuple[list[Axis], list[Axis]]:
        """Return the axes that go together, and those of which every combination is taken."""
        if self.kind != "zip":
            return [], [*self.axes]
        parts: tuple[list[Axis], list[Axis]] = ([], [])
        for axis in self.axes:
            parts[axis[0] in self.cross].append(axis)
        return parts


def spread(rule: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the values of a rule, by count, both ends exact.

    ``{from, to, count}`` is linear, with ``spacing = "log"`` geometric; ``{from, ratio, count}``
    multiplies. Values in between are rounded to 15 digits, so that 0.1 + 0.2 is 0.3.

    Raises
    ------
    UsageError
        For missing, unknown or impossible entries; the text follows the name of the key.
    """
    known = {"from", "to", "ratio", "count", "spacing"}
    if unknown := sorted(set(rule) - known):
        raise UsageError(f"has the unknown entry {unknown[0]}; known are {', '.join(sorted(known))}"
                         ": correct it.")  # fmt: skip
    if "from" not in rule or "count" not in rule or ("to" in rule) == ("ratio" in rule):
        raise UsageError("needs from, count, and either to or ratio: give those three.")
    count, start = rule["count"], rule["from"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"has count = {count!r}, but it must be a whole number above 0.")
    if count > MOST:
        raise UsageError(f"has count = {count!r}, but it must be at most {MOST}: give fewer.")
    ends = [rule[key] for key in ("from", "to", "ratio") if key in rule]
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in ends):
        raise UsageError("has an entry that is no number: from, to and ratio must be numbers.")
    if "ratio" not in rule:
        return _between(start, rule["to"], count, rule.get("spacing", "linear"))
    ratio = rule["ratio"]
    try:  # as floats, for whole numbers have no end
        finite = start > 0 < ratio and math.isfinite(float(start) * float(ratio) ** (count - 1))
    except OverflowError:
        finite = False
    if not finite:
        raise UsageError("needs from and ratio above 0, and an end that is finite.")
    return tuple(_rounded(start * ratio**i) for i in range(count))


def _between(start: float, end: float, count: int, spacing: str) -> tuple[float, ...]:
    if spacing not in ("linear", "log"):
        raise UsageError(f"has spacing = {spacing!r}, but it must be linear or log.")
    if spacing == "log" and min(start, end) <= 0:
        raise UsageError("has spacing = log, but then from and to must be above 0.")
    if count == 1:
        if start != end:
            raise UsageError("has count = 1 between two different ends: give 2 or more.")
        return (start,)
    shares = [i / (count - 1) for i in range(1, count - 1)]
    if spacing == "log":
        u, v = math.log(start), math.log(end)
        inner = [math.exp((1 - share) * u + share * v) for share in shares]
    else:
        inner = [start + (end - start) * share for share in shares]
    return (start, *map(_rounded, inner), end)


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.15g}")


def _on_curve(point: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """Replace I by the T at which the curve of ``algorithm`` passes through it."""
    if "I" not in point:
        return point
    curve = STEM_TRADE_OFF if load_algorithm(algorithm).curve is stem_curve else FEDAVG_TRADE_OFF
    I, nu, K = point.pop("I"), point["nu"], point["K"]
    if nu == 0 or I == 1:
        raise UsageError(
            f"I = {I} at nu = {nu:g} does not fix T: on a curve grid give I above 1 and nu above 0,"
            " or T."
        )
    return {**point, "T": round(float(K) ** curve.w * I ** (curve.p / nu))}

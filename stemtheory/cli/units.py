"""Sizes, rates and times as people write them: 2GB, 100Mbit, 20ms."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stemtheory.runtime import UsageError

_POWERS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BYTES = {f"{p}B": v for p, v in _POWERS.items()} | {
    f"{p}iB": 1024.0**i for i, p in enumerate("KMGT", start=1)
}
# A rate is one of bits or of bytes in a second; "/s" may stand or not.
RATES = {f"{p}bit": v / 8 for p, v in _POWERS.items()} | BYTES
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
WRITTEN = re.compile(r"\s*(?P<number>[0-9.]+(?:[eE][-+]?\d+)?)\s*(?P<unit>[A-Za-z]+)\s*")


def size(name: str, text: str) -> float:
    """Return bytes: 2GB, 512MiB."""
    return _read(name, text, BYTES, "2GB")


def rate(name: str, text: str) -> float:
    """Return bytes a second: 100Mbit, 12MB/s."""
    return _read(name, text.strip().removesuffix("/s"), RATES, "100Mbit")


def seconds(name: str, text: str) -> float:
    """Return seconds: 20ms."""
    return _read(name, text, SECONDS, "20ms")


def _read(name: str, text: str, units: Mapping[str, float], example: str) -> float:
    found = WRITTEN.fullmatch(text)
    unit = None if found is None else units.get(found["unit"])
    try:
        value = float(found["number"]) if found else 0.0
    except ValueError:  # two points
        value = 0.0
    if unit is None or not 0 < value * unit < float("inf"):
        raise UsageError(
            f"{name} is {text!r}, but it must be a number above 0 with one of {', '.join(units)}:"
            f" write {example}."
        )
    return value * unit


def in_bytes(value: float) -> str:
    """Return a size with three digits: 1.5 GB."""
    return _shown(value, {f"{p}B": v for p, v in _POWERS.items()})


def in_seconds(value: float) -> str:
    """Return a time with three digits: 20 ms, 3.1 h, 12 d."""
    return _shown(value, {**SECONDS, "d": 86400.0})


def _shown(value: float, units: Mapping[str, float]) -> str:
    """Return a value in the largest unit of which it is at least one, else in the smallest."""
    unit = max((u for u in units if units[u] <= value), key=lambda u: units[u], default=None)
    unit = min(units, key=lambda u: units[u]) if unit is None else unit
    return f"{value / units[unit]:.3g} {unit}"

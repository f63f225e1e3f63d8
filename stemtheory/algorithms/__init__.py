"""The algorithms by name: STEM, FedAvg, named settings of them, and the systems beside them."""

from __future__ import annotations

from stemtheory.algorithms import (
    fedavg,
    fedglomo,
    fedpd,
    fedprox,
    local_momentum,
    mime,
    mimemvr,
    scaffold,
    slowmo,
    spider,
    stem,
    vrl_sgd,
)
from stemtheory.algorithms.entry import Entry, Option

__all__ = ["ALGORITHMS", "Entry", "Option"]

_MODULES = (
    stem,
    fedavg,
    scaffold,
    fedprox,
    mime,
    mimemvr,
    fedglomo,
    fedpd,
    local_momentum,
    vrl_sgd,
    spider,
    slowmo,
)
ALGORITHMS: dict[str, Entry] = {
    entry.name: entry for module in _MODULES for entry in module.ENTRIES
}

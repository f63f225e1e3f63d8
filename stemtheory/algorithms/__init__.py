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
from stemtheory.algorithms.base import (
    Algorithm,
    Chances,
    Round,
    Step,
    System,
    declared,
    mean_iterate,
    mean_over_workers,
    spread,
)
from stemtheory.algorithms.entry import Entry, Facts, Option
from stemtheory.algorithms.fedavg import FedAvg
from stemtheory.algorithms.scaffold import Scaffold
from stemtheory.algorithms.stem import READINGS, Stem, StemState

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

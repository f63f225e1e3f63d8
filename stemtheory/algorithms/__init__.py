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
    Step,
    System,
    average,
    choices_of,
    letters_of,
    mean_iterate,
    mean_over_workers,
    spread,
)
from stemtheory.algorithms.costs import Costs, Counts, Minibatches, active, full_pass
from stemtheory.algorithms.entry import (
    Entry,
    Facts,
    Option,
    Options,
    below_one,
    count,
    named,
    not_negative,
    positive,
    share,
    unit,
)
from stemtheory.algorithms.fedavg import FedAvg
from stemtheory.algorithms.fedglomo import FedGlomo
from stemtheory.algorithms.fedpd import FedPd
from stemtheory.algorithms.fedprox import FedProx
from stemtheory.algorithms.local_momentum import LocalMomentum
from stemtheory.algorithms.mime import Mime
from stemtheory.algorithms.mimemvr import MimeMvr
from stemtheory.algorithms.scaffold import Scaffold
from stemtheory.algorithms.slowmo import SlowMo
from stemtheory.algorithms.spider import Spider
from stemtheory.algorithms.stem import READINGS, Stem, StemState
from stemtheory.algorithms.vrl_sgd import VrlSgd
from stemtheory.oracles import user_entry
from stemtheory.runtime import UsageError, choice

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


def is_algorithm(name: str) -> bool:
    """Return whether a name is that of an algorithm: built in, or ``package.module:NAME``.

    Raises
    ------
    UsageError
        If the module cannot be imported.
    """
    return name in ALGORITHMS or (":" in name and isinstance(user_entry(name), Entry))


def load_algorithm(algorithm: str | Entry) -> Entry:
    """Return the algorithm of that name, a user's own ``package.module:NAME``, or the entry given.

    Parameters
    ----------
    algorithm
        A name of ``ALGORITHMS``, ``package.module:NAME``, or an ``Entry``.

    Returns
    -------
    Entry
        How it is made, its options, its costs and what its theory needs and promises.

    Examples
    --------
    >>> from stemtheory import load_algorithm
    >>> sorted(load_algorithm("stem").options)
    ['sync', 'sync_batch']

    Raises
    ------
    UsageError
        For an unknown name, for what is no ``Entry``, and for one that is called like a built-in.
    """
    if isinstance(algorithm, str) and ":" not in algorithm:
        return ALGORITHMS[choice("algorithm", algorithm, ALGORITHMS)]
    entry = user_entry(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(entry, Entry):
        raise UsageError(
            f"algorithm {algorithm!s:.60} is {type(entry).__name__}, but it must be a name or an"
            " Entry: see stemtheory.algorithms.Entry."
        )
    if ALGORITHMS.get(entry.name, entry) is not entry:
        raise UsageError(
            f"the algorithm {entry.name!s:.60} that was given is called as a built-in one: give"
            " it a name of its own."
        )
    return entry

"""The algorithms by name: STEM, FedAvg, and named settings of them (settings, not copies)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stemtheory.algorithms.base import Algorithm
from stemtheory.algorithms.fedavg import FedAvg
from stemtheory.algorithms.stem import READINGS, Stem
from stemtheory.errors import UsageError, choice, whole
from stemtheory.schedule import Curve, fedavg_curve, stem_curve


@dataclass(frozen=True)
class Entry:
    """A named algorithm: its recursion (``base``), its trade-off curve, and what it pins.

    ``pinned`` fixes I, K or nu; ``batch`` returns the minibatch size from (T, K, L) where I is
    pinned.
    """

    name: str
    base: str
    summary: str
    curve: Callable[[float, int, float], Curve]
    pinned: tuple[tuple[str, float], ...] = ()
    batch: Callable[[int, int, float], float] | None = None

    def make(self, sync: str = "literal", sync_batch: int = 1) -> Algorithm:
        """Return the algorithm; ``sync`` and ``sync_batch`` are STEM's.

        Raises
        ------
        UsageError
            For an unknown reading, or one that this algorithm does not have.
        """
        choice("sync", sync, READINGS)
        sync_batch = whole("sync_batch", sync_batch)
        if self.base == "stem":
            return Stem(sync, sync_batch)
        if sync != "literal" or sync_batch != 1:
            raise UsageError(
                f"sync {sync} with sync_batch {sync_batch} was given, but {self.name} has one"
                " reading only: leave both out, or choose stem."
            )
        return FedAvg()

    def pin(self, name: str) -> float | None:
        """Return the value this entry fixes for I, K or nu, or None."""
        return dict(self.pinned).get(name)


_ENTRIES = (
    Entry("stem", "stem", "two-sided momentum (Algorithm 1)", stem_curve),
    Entry("fedavg", "fedavg", "local SGD (Algorithm 2)", fedavg_curve),
    Entry("fed-stem", "stem", "STEM with b = O(1), I on the curve", stem_curve, (("nu", 1.0),)),
    Entry(
        "minibatch-stem",
        "stem",
        "STEM with I = 1, b = sqrt(T)/K",
        stem_curve,
        (("I", 1),),
        lambda T, K, L: T**0.5 / K,
    ),
    Entry(
        "storm",
        "stem",
        "the centralised parent: one worker, I = 1",
        stem_curve,
        (("I", 1), ("K", 1)),
        lambda T, K, L: 1.0,
    ),
    Entry(
        "minibatch-sgd",
        "fedavg",
        "FedAvg with I = 1, b = T/(81 L^2 K)",
        fedavg_curve,
        (("I", 1),),
        lambda T, K, L: T / (81 * L**2 * K),
    ),
)
ALGORITHMS = {entry.name: entry for entry in _ENTRIES}

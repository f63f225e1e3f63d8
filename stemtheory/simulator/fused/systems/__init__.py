"""The systems that have a kernel: which texts it is made of, and what it is told of a run.

A text says what its system does to every element of a state in a local step and at both ends of a
round, in the names of ``fused.names``. All workers take part in every round, every round
communicates, and vectors are sent whole: what is left to chance is the array engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stemtheory.algorithms import (
    Algorithm,
    FedAvg,
    FedGlomo,
    FedPd,
    FedProx,
    LocalMomentum,
    Mime,
    MimeMvr,
    Scaffold,
    SlowMo,
    Spider,
    Stem,
    VrlSgd,
)


class KernelSystem(NamedTuple):
    """A kernel's name, the numbers Q of an algorithm, and what the end of a round is ``told``.

    ``told`` is "" (nothing), "travel" (the sum of the round's eta), "last" (its last eta) or "kept"
    (1 - a at its first step, 0 in round 1).
    """

    name: str
    numbers: tuple[float, ...] = ()
    told: str = ""


def _momentum(a: LocalMomentum) -> KernelSystem:
    return KernelSystem("momentum", (a.beta, *((1.0, a.beta) if a.nesterov else (0.0, 1.0))))


SYSTEMS: dict[type, Callable[[Any], KernelSystem]] = {
    Stem: lambda a: KernelSystem("stem"),
    Spider: lambda a: KernelSystem("stem"),
    FedAvg: lambda a: KernelSystem("fedavg"),
    Scaffold: lambda a: KernelSystem(
        "scaffold", (float(a.option == "I"), a.server_step), told="travel"
    ),
    LocalMomentum: _momentum,
    SlowMo: lambda a: KernelSystem("slowmo", (a.alpha, a.beta), told="last"),
    VrlSgd: lambda a: KernelSystem("vrl_sgd", (float(a.warm_up),), told="travel"),
    FedProx: lambda a: KernelSystem("fedprox", (a.mu,)),
    Mime: lambda a: KernelSystem("mimelite" if a.lite else "mime", (a.beta, a.server_step)),
    MimeMvr: lambda a: KernelSystem("mimemvr", (a.server_step,)),
    FedPd: lambda a: KernelSystem(f"fedpd_{a.oracle}", (a.prox, float(a.refresh))),
    FedGlomo: lambda a: KernelSystem("fedglomo", (a.beta,), told="kept"),
}


class KernelTexts(NamedTuple):
    """What a kernel is made of: ``rows`` of its state, as many as ``fields`` for each of the noise.

    ``texts`` are the names of modules here; none stands for the one that is called like the kernel.
    """

    rows: int
    fields: int = 0
    texts: tuple[str, ...] = ()


KERNELS = {
    "stem": KernelTexts(3, 1),
    "fedavg": KernelTexts(1),
    "scaffold": KernelTexts(3),
    "momentum": KernelTexts(2),
    "slowmo": KernelTexts(3, texts=("fedavg", "slowmo")),
    "vrl_sgd": KernelTexts(3),
    "fedprox": KernelTexts(2),
    "mime": KernelTexts(5, 1),
    "mimelite": KernelTexts(5, 1, texts=("mime",)),
    "mimemvr": KernelTexts(4, 1),
    "fedpd_I": KernelTexts(3, texts=("fedpd",)),
    "fedpd_II": KernelTexts(5, 1, texts=("fedpd",)),
    "fedglomo": KernelTexts(9, 2),
}


def system_of(algorithm: Algorithm) -> KernelSystem:
    """Return how a kernel runs an algorithm that it suits."""
    return SYSTEMS[type(algorithm)](algorithm)


def texts_of(name: str) -> tuple[str, ...]:
    """Return the texts of a kernel, by the names of their modules here."""
    return KERNELS[name].texts or (name,)


def rows_of(name: str, terms: int) -> int:
    """Return how many rows a kernel's state has, where the noise has so many fields."""
    return KERNELS[name].rows + KERNELS[name].fields * terms


def unsuited_system(algorithm: Any, I: int) -> str | None:
    """Return why no kernel runs an algorithm with I local steps, or None if one does."""
    # what is left to chance comes before the type: FedAvg of a sample is a class of its own
    if (share := algorithm.costs.participation) < 1:
        return f"its workers all take part, and participation is {share:g}"
    if skip := algorithm.costs.silent:
        return f"its rounds all communicate, and skip is {skip:g}"
    if type(algorithm) not in SYSTEMS:
        *known, last = (system.__name__ for system in SYSTEMS)
        return f"it has {', '.join(known)} and {last}, not {type(algorithm).__name__}"
    if isinstance(algorithm, FedGlomo) and algorithm.compression.kind != "none":
        return f"its vectors are sent whole, and compression is {algorithm.compression.kind}"
    return _unsuited_spider(algorithm, I) if isinstance(algorithm, Spider) else None


def _unsuited_spider(algorithm: Spider, I: int) -> str | None:
    if algorithm.reach is not None:
        return f"its steps ask nothing of the length of v, and reach is {algorithm.reach:g}"
    return None if I == 1 else f"SPIDER averages in every step, and I is {I}"

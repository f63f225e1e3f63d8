"""What an algorithm is: a state, three moves, and what it costs and sends.

Arrays are [replicates..., K, dim]. At iteration t (1..T) the engine hands the state to
``local_step`` and, when t is a multiple of I, to ``synchronise``; x_1 is common to all workers.
A ``System`` has one more move, ``start_round``, before the first local step of every round, and the
random choices that it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stemtheory.algorithms.costs import Costs
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, UsageError

Chances = Mapping[str, Any]


class Step(NamedTuple):
    """Iteration t: its step size eta_t, the momentum a_{t+1}, and whether it ends a round."""

    t: int
    eta: float
    a: float
    synchronises: bool


class Algorithm(Protocol):
    """A federated algorithm on a problem.

    Its state has x, the workers' points, and whatever else it needs. A class attribute ``letters``
    may say what its paper calls the fields (``letters_of``), which claims ask for.
    """

    @property
    def costs(self) -> Costs:
        """What it draws, computes and sends: the engines draw by it, and all that count ask it."""

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> Any:
        """Return the state at t = 1 from the common start x, shape [..., K, dim]."""

    def local_step(self, problem: Problem, state: Any, step: Step, minibatch: Any) -> Any:
        """Return the state after the workers' own part of iteration t."""

    def synchronise(self, problem: Problem, state: Any) -> Any:
        """Return the state after the server's part of a synchronisation."""


@dataclass(frozen=True)
class Chance:
    """A random choice made once a round, in every replicate.

    ``purpose`` is the address of its stream of uniform numbers, ``shape`` their shape given
    (K, dim), and ``decide`` turns them, on the host, into what ``start_round`` is handed. The
    choice named ``coin`` (1 or 0) says whether the round ends with communication at all.
    """

    purpose: str
    shape: Callable[[int, int], tuple[int, ...]]
    decide: Callable[[Floats], Any]


@runtime_checkable
class System(Algorithm, Protocol):
    """An algorithm whose rounds begin with a move of the server.

    Its state may have a field ``weight``, shape [..., K, 1]: K/n for the n workers that take part,
    0 for the others, None where all do.
    """

    @property
    def chances(self) -> tuple[Chance, ...]:
        """The random choices of a round."""

    def start_round(self, problem: Problem, state: Any, step: Step, chance: Chances) -> Any:
        """Return the state at the start of a round, given its random choices by purpose."""


def choices_of(algorithm: Algorithm) -> tuple[Chance, ...]:
    """Return the random choices of a round of any algorithm: a plain one has none."""
    return algorithm.chances if isinstance(algorithm, System) else ()


def letters_of(algorithm: Algorithm, state: Any) -> dict[str, str]:
    """Return the field of the state that each letter is: fields by their names, and the paper's.

    A class may declare its paper's letters in ``letters``, such as {"c_k": "own"}.

    Raises
    ------
    UsageError
        If it declares a letter of a field that there is not.
    """
    names = getattr(state, "_fields", None) or tuple(vars(state))
    declared = dict(getattr(algorithm, "letters", {}))
    for letter, name in declared.items():
        if name not in names:
            raise UsageError(
                f"{type(algorithm).__name__} declares the letter {letter} as {name}, but its state"
                f" has the fields {', '.join(names)}: correct letters."
            )
    return {**{name: name for name in names}, **declared}


def mean_iterate(state: Any) -> Any:
    """Return xbar_t, shape [..., dim]: the mean of x over the workers that take part."""
    return average(state.x, getattr(state, "weight", None))


def average(x: Any, weight: Any) -> Any:
    """Return the mean over the workers that take part: [..., K, dim] to [..., dim].

    ``weight`` is K/n for each of them and 0 for the others, or None where all take part.
    """
    return mean_over_workers(x if weight is None else x * weight)


def mean_over_workers(x: Any) -> Any:
    """Return the mean over workers: shape [..., K, dim] to [..., dim].

    The sum halves the worker axis again and again: long contiguous additions, and an order that
    depends on K alone, so the result does not depend on how replicates are grouped.
    """
    K = x.shape[-2]
    while x.shape[-2] > 1:
        half, odd = divmod(x.shape[-2], 2)
        total = x[..., :half, :] + x[..., half : 2 * half, :]
        if odd:
            total[..., :1, :] += x[..., 2 * half :, :]
        x = total
    return x[..., 0, :] / K


def spread(mean: Any, like: Any) -> Any:
    """Return the mean handed to every worker: shape [..., dim] to that of ``like``."""
    return np.broadcast_to(mean[..., None, :], like.shape)

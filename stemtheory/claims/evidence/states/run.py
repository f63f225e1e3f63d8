"""A run of any algorithm laid open: the fields of its state at every t, by their letters.

Row t of an array is what step t finds, after the move that begins its round (row 0 is not used);
row T + 1 is what the last step leaves. Axes: [T + 2, R, K, dim], with one worker where a field is
the server's, [T + 2, R] and [T + 2] for numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, average, letters_of, mean_over_workers
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.recorded import Recorded, schedule_of, visits
from stemtheory.runtime import Floats
from stemtheory.simulator import Draw, gaussian_draw

Spoiled = Callable[[Draw, Case], Draw]
# What every run has beside the fields of its state, which a field of that name does not hide.
EVERY = {"g": "drawn", "eta": "eta", "a": "a"}


@dataclass(frozen=True)
class StateRun(Recorded):
    """A recorded run: ``run["c_k"]`` is a field of the state by its letter."""

    algorithm: Algorithm
    fields: Mapping[str, str]
    found: Mapping[str, Floats]
    moved: Mapping[str, Floats]
    minibatches: tuple[Any, ...]
    eta: Floats
    a: Floats

    def __getitem__(self, letter: str) -> Floats:
        """Return a letter at every t, as the step of t finds it.

        Raises
        ------
        UsageError
            If the algorithm has no such field.
        """
        if letter in EVERY:
            return np.asarray(getattr(self, EVERY[letter]))
        if letter == "weight" and letter not in self.found:
            return np.ones(self.p.shape[:-1])
        return np.asarray(self.found[self._field(letter)])

    def local(self, letter: str) -> Floats:
        """Return a letter after the workers' own step: row t + 1 is after step t.

        Raises
        ------
        UsageError
            If the algorithm has no such field.
        """
        return np.asarray(self.moved[self._field(letter)])

    def minibatch(self, t: int) -> Floats:
        """Return the minibatch of step t, as the problem draws it."""
        return np.asarray(self.minibatches[t])

    def sampled(self, t: int, points: Floats) -> Floats:
        """Return the gradients of step t's minibatch at points [R, K, dim]."""
        return np.asarray(self.problem.stochastic_gradient(points, self.minibatches[t]))

    def noise(self, t: int, points: Floats) -> Floats:
        """Return the noise of step t's minibatch at points [R, K, dim]."""
        return np.asarray(self.sampled(t, points) - self.problem.gradient(points))

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of this run."""
        kept = (letter for letter, field in self.fields.items() if field in self.found)
        return tuple(dict.fromkeys((*kept, "weight", *EVERY)))

    def _field(self, letter: str) -> str:
        field = self.fields.get(letter, letter)
        if field not in self.found:
            raise self.refusal(letter)
        return field

    @cached_property
    def drawn(self) -> Floats:
        """The gradient of step t's minibatch at x_t^(k): [T + 2, R, K, dim]."""
        found = np.full(self.p.shape, np.nan)
        for t in range(1, self.T + 1):
            found[t] = self.sampled(t, self.p[t])
        return found

    @cached_property
    def xbar(self) -> Floats:
        """The mean of x_t over the workers that take part, shape [T + 2, R, dim]."""
        return np.asarray(average(self.p, self["weight"][..., None]))


@dataclass(frozen=True)
class Directed(Recorded):
    """A recorded run whose workers step along d_t^(k), shape [T + 2, R, K, dim].

    Fields of the state that it does not keep itself are recorded when they are asked for.
    """

    d: Floats

    @property
    def own(self) -> tuple[str, ...]:
        """The letters that it keeps itself."""
        return ("x", "d")

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of this run."""
        return tuple(dict.fromkeys((*self.own, *self.states.letters)))

    def __getitem__(self, letter: str) -> Floats:
        """Return a letter at every t, as the step of t finds it.

        Raises
        ------
        UsageError
            If the algorithm has no such field.
        """
        if letter == "x":
            return self.p
        if letter in self.own:
            return np.asarray(getattr(self, letter))
        if letter not in self.letters:
            raise self.refusal(letter)
        return self.states[letter]

    @cached_property
    def states(self) -> StateRun:
        """The same run by the fields of its state."""
        return lay_open(self.case, self.case.run.method)

    @cached_property
    def dbar(self) -> Floats:
        """dbar_t, shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.d))


@lru_cache(maxsize=128)
def record_state(case: Case) -> StateRun:
    """Return the run of a case by its own algorithm with every field kept; cached."""
    return lay_open(case, case.run.method)


def lay_open(case: Case, algorithm: Algorithm, spoiled: Spoiled | None = None) -> StateRun:
    """Return the run of a case by a given (for instance a broken) algorithm; not cached.

    ``spoiled`` changes what is drawn.
    """
    problem, schedule = case.run.problem.load(), schedule_of(case)
    draw = gaussian_draw(problem, case.seed, case.replicates)
    found, moved = _Rows(case), _Rows(case)
    minibatches: list[Any] = [None]
    fields: dict[str, str] = {}
    for v in visits(case, algorithm, draw=spoiled(draw, case) if spoiled else draw):
        t = v.step.t
        fields = fields or letters_of(algorithm, v.before)
        found.put(t, fields, v.before)
        found.put(t + 1, fields, v.after)
        moved.put(t + 1, fields, v.local)
        minibatches.append(v.minibatch)
    times = np.arange(case.T + 2, dtype=float)
    eta, a = np.asarray(schedule.eta(times)), np.full(case.T + 2, np.nan)
    a[2:] = schedule.momentum(times[2:])
    kept = found.kept()
    return StateRun(
        case, problem, kept["x"], algorithm, fields, kept, moved.kept(), tuple(minibatches), eta, a
    )


class _Rows:
    """Fields of states, row by row; what is no array and no number is left out."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.arrays: dict[str, Floats] = {}
        self.left_out: set[str] = set()

    def put(self, t: int, fields: Mapping[str, str], state: Any) -> None:
        for name in set(fields.values()):
            value = getattr(state, name)
            if value is None:
                continue  # not there yet, or, of weights, everybody's
            if not _is_numeric(value):
                self.left_out.add(name)
                continue
            row = np.asarray(value, dtype=float)
            row = row[..., 0] if name == "weight" else row
            if name not in self.arrays:
                self.arrays[name] = np.full((self.case.T + 2, *row.shape), np.nan)
            self.arrays[name][t] = row

    def kept(self) -> dict[str, Floats]:
        return {name: rows for name, rows in self.arrays.items() if name not in self.left_out}


def _is_numeric(value: object) -> bool:
    return isinstance(value, int | float | np.ndarray | np.generic)

"""Steps that vary, one after the other, compiled: only what is not 0 in their maps is multiplied.

A map of m moments has m^2 entries, of which some m are not 0, and each is a polynomial of a few
terms in (eta, a): 35 terms for 8 moments, where workers are alike. The order of sums is not that
of matrix products, so numbers differ from those of ``recursion`` in rounding. The machine code is
kept where numba keeps it, beside this file or in the user's cache. Importing this needs numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from stemtheory.moments.maps import StepMap
from stemtheory.runtime import Floats

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class MapTerms(NamedTuple):
    """A step's map by its entries that are not 0: entry e has the terms start[e] to start[e + 1].

    ``which`` says what a term is multiplied with: one of the six monomials, or of the same over the
    samples. ``value`` has shape [n, terms] for n models.
    """

    row: Any
    column: Any
    start: Any
    which: Any
    value: Floats


def walk(local: StepMap, synchronisation: StepMap) -> Callable[..., Floats]:
    """Return what takes a state [m], or those [n, m] of n models, through steps that vary."""
    # plain tuples: numba's cache names the types of arguments, and could not be read without one
    within, last = tuple(_terms(local)), tuple(_terms(synchronisation))

    def walked(state: Floats, eta: Floats, a: Floats, samples: Floats, ends: Any) -> Floats:
        moved = np.array(state).reshape(-1, state.shape[-1])
        given = (np.array(numbers, dtype=np.float64) for numbers in (eta, a, samples))
        advance(moved, *given, ends, within, last)
        return moved.reshape(state.shape)

    return walked


def _terms(step: StepMap) -> MapTerms:
    """The terms of a map, or of those of several models: all that is not 0 in one of them."""
    m = step.still.shape[-1]
    numbers = np.concatenate([step.still, step.noise]).reshape(12, -1, m, m)
    there = np.any(numbers, axis=1)
    row, column = np.nonzero(there.any(axis=0))
    entry, which = np.nonzero(there[:, row, column].T)
    start = np.searchsorted(entry, np.arange(len(row) + 1))
    value = numbers[which, :, row[entry], column[entry]].T
    return MapTerms(*map(np.ascontiguousarray, (row, column, start, which, value)))


def _advance(
    state: Floats,
    eta: Floats,
    a: Floats,
    samples: Floats,
    ends: Any,
    local: Any,
    last: Any,
) -> None:
    """Take the states [n, m] of n models through all steps; ``last`` is the map where one ends."""
    n, m = state.shape
    new, factor = np.empty(m), np.empty(12)
    for model in range(n):
        old = state[model]
        for t in range(len(eta)):
            factor[0], factor[1], factor[2] = 1.0, eta[t], a[t]
            factor[3], factor[4], factor[5] = eta[t] * eta[t], eta[t] * a[t], a[t] * a[t]
            for i in range(6):
                factor[6 + i] = factor[i] / samples[t]
            row, column, start, which, value = last if ends[t] else local
            new[:] = old
            for e in range(len(row)):
                total = 0.0
                for k in range(start[e], start[e + 1]):
                    total += value[model, k] * factor[which[k]]
                new[row[e]] += total * old[column[e]]
            old[:] = new


try:
    advance = njit(cache=True, **OPTIONS)(_advance)
except RuntimeError:  # numba finds no folder to write to
    advance = njit(**OPTIONS)(_advance)

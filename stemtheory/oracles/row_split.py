"""Rows split over the workers: in order, by label, or by Dirichlet shares of every label.

    in_order    K runs of neighbours, of equal length to within one row
    by_label    the same after sorting by the target: a worker sees few labels, or near values
    dirichlet   of every label each worker gets a share, drawn of Dir(concentration, ..., K times);
                values of a regression count as ten labels, their tenths

The smaller the concentration, the more the workers differ. Every worker gets a row at least.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stemtheory.runtime import Floats, Ints, UsageError, choice, generator

SPLITS = ("in_order", "by_label", "dirichlet")
TENTHS = 10
TRIES = 100  # of shares that leave no worker without a row


def split_rows(how: str, target: Floats, K: int, concentration: float, seed: int) -> Sequence[Ints]:
    """Return the indices of each worker's rows, K arrays that share no row and leave none out.

    Raises
    ------
    UsageError
        For an unknown way, fewer rows than workers, and shares that leave a worker empty.
    """
    choice("split", how, SPLITS)
    N = len(target)
    if N < K:
        raise UsageError(
            f"the data have {N} rows, but there are K = {K} workers: lower K, or give more rows."
        )
    if how == "dirichlet":
        return _dirichlet(target, K, concentration, seed)
    order = np.argsort(target, kind="stable") if how == "by_label" else np.arange(N)
    return np.array_split(order, K)


def _dirichlet(target: Floats, K: int, concentration: float, seed: int) -> Sequence[Ints]:
    """Return shares of every label, drawn again until none is empty."""
    stream = generator([seed, 3])
    labels = _labels(target)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(TRIES):
        shares: list[list[Ints]] = [[] for _ in range(K)]
        for group in groups:
            ends = np.cumsum(stream.dirichlet(np.full(K, concentration)))
            cuts = np.rint(ends[:-1] * len(group)).astype(np.int64)
            for k, part in enumerate(np.split(stream.permutation(group), cuts)):
                shares[k].append(part)
        found = [np.sort(np.concatenate(parts)) for parts in shares]
        if all(len(part) for part in found):
            return found
    raise UsageError(
        f"concentration is {concentration:g}, but then one of K = {K} workers got no row in"
        f" {TRIES} tries: raise it, or lower K."
    )


def _labels(target: Floats) -> Ints:
    """Return the label of each row: which value of few, which tenth of many."""
    values, labels = np.unique(target, return_inverse=True)
    if len(values) > TENTHS:
        inner = np.quantile(target, np.arange(1, TENTHS) / TENTHS)
        labels = np.searchsorted(inner, target, side="right")
    found: Ints = labels.astype(np.int64)
    return found

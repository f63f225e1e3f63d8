"""The split over workers: every row once, nobody empty, and what each way promises."""

from __future__ import annotations

import numpy as np
import pytest

from stemtheory.oracles.row_split import SPLITS, split_rows
from stemtheory.runtime import UsageError
from tests.helpers.rows import arrays

TARGET = np.array([0.0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1])


@pytest.mark.parametrize("how", SPLITS)
@pytest.mark.parametrize("K", [1, 2, 3, 11])
def test_every_row_is_somebodys_and_one_alone(how: str, K: int) -> None:
    if how == "dirichlet" and K == 11:
        with pytest.raises(UsageError, match=r"concentration is 1, but .* K = 11"):
            split_rows(how, TARGET, K, 1.0, 0)
        return
    shares = split_rows(how, TARGET, K, 1.0, 0)
    assert len(shares) == K
    assert all(len(share) for share in shares)
    np.testing.assert_array_equal(np.sort(np.concatenate(shares)), np.arange(len(TARGET)))


def test_in_order_are_neighbours_and_by_label_are_labels() -> None:
    sizes = [len(share) for share in split_rows("in_order", TARGET, 3, 1.0, 0)]
    assert sizes == [4, 4, 3]
    np.testing.assert_array_equal(split_rows("in_order", TARGET, 3, 1.0, 0)[1], [4, 5, 6, 7])
    first, second = split_rows("by_label", TARGET[:10], 2, 1.0, 0)
    assert set(TARGET[first]) == {0.0}
    assert set(TARGET[second]) == {1.0}
    values = arrays("values")[1]
    low, high = split_rows("by_label", values, 2, 1.0, 0)
    assert values[low].max() <= values[high].min()


def test_a_concentration_says_how_far_workers_differ() -> None:
    y = np.repeat([0.0, 1.0], 200)
    share = {
        c: np.array([y[part].mean() for part in split_rows("dirichlet", y, 4, c, 0)])
        for c in (0.1, 1e4)
    }
    assert np.abs(share[1e4] - 0.5).max() < 0.05
    assert np.abs(share[0.1] - 0.5).max() > 0.4


def test_the_seed_is_all_that_chance_depends_on() -> None:
    one, same, other = (split_rows("dirichlet", TARGET, 2, 1.0, seed) for seed in (3, 3, 4))
    assert [a.tolist() for a in one] == [a.tolist() for a in same]
    assert [a.tolist() for a in one] != [a.tolist() for a in other]


def test_values_count_as_tenths() -> None:
    y = np.arange(1000.0)
    found = split_rows("dirichlet", y, 2, 1e6, 0)
    tenths = [np.bincount((y[part] // 100).astype(int), minlength=10) for part in found]
    assert np.abs(np.array(tenths) - 50).max() <= 2


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(UsageError, match="11 rows, but there are K = 12 workers"):
        split_rows("in_order", TARGET, 12, 1.0, 0)
    with pytest.raises(UsageError, match="split 'random' is unknown; known are by_label"):
        split_rows("random", TARGET, 2, 1.0, 0)

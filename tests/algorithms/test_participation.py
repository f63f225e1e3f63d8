"""A round's workers: every set of them is equally likely."""

from __future__ import annotations

import numpy as np

from stemtheory.algorithms.participation import weights


def test_every_set_of_workers_is_equally_likely() -> None:
    """6 pairs of 4 workers in 60,000 draws: every frequency within 5 standard errors (2e-6)."""
    drawn = weights(np.random.default_rng(2).random((60_000, 4)), 0.5)[..., 0]
    assert set(np.unique(drawn)) == {0.0, 2.0}
    assert np.all(drawn.sum(axis=-1) == 4)
    codes = (drawn > 0) @ np.array([1, 2, 4, 8])
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(60_000 * 5 / 36)


def test_rows_are_drawn_each_by_itself_whatever_stands_before_them() -> None:
    uniforms = np.random.default_rng(3).random((5, 3, 4))
    rows = [weights(row, 0.5) for row in uniforms.reshape(15, 4)]
    np.testing.assert_array_equal(weights(uniforms, 0.5), np.reshape(rows, (5, 3, 4, 1)))

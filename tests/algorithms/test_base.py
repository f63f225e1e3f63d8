"""The mean over workers, and what does not depend on their order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.algorithms.common import bar


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7, 8, 12])
def test_mean_over_workers(K: int) -> None:
    x = np.random.default_rng(K).standard_normal((3, K, 5))
    np.testing.assert_allclose(bar(x), x.mean(axis=-2), rtol=0, atol=4e-16)

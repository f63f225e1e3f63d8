"""How elements are shared out to a device's threads: each to one, none to two, few for nothing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem
from stemtheory.simulator.fused.cuda.layout import (
    MOST_COLUMNS,
    MOST_THREADS,
    ThreadLayout,
    make_layout,
)
from stemtheory.simulator.fused.recipe import Recipe, make_recipe
from tests.simulator.fused.cuda.simulated import simulated_kernels
from tests.simulator.fused.cuda.test_engine import variant

SHARED_MEMORY = 48 * 1024  # bytes that every device gives a block
SHAPES = [(1, 1), (5, 3), (4, 8), (8, 16), (9, 4), (3, 32), (5, 48), (2, 64), (16, 100), (70, 2)]


def recipe_of(K: int, dim: int, noise: str = "modulated", **dials: Any) -> Recipe:
    own = {"heterogeneity": "none", "zeta": 0} if K == 1 else {}
    return make_recipe(load_problem("cosine", K=K, dim=dim, noise=noise, **{**own, **dials}))  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", ["modulated", "phase"])
@pytest.mark.parametrize(("K", "dim"), SHAPES)
def test_every_element_has_one_owner(K: int, dim: int, noise: str) -> None:
    """A unit's elements lie sixteen apart, as the words of a call of Philox do."""
    recipe = recipe_of(K, dim, noise)
    layout = variant().layout(recipe, K, dim)
    assert layout is not None
    names = simulated_kernels(recipe, variant(), layout).names
    owners = np.zeros(K * dim, int)
    units = range(layout.per * layout.L)
    for unit, column in itertools.product(units, range(layout.tiles * layout.J)):
        elements = []
        for i in range(layout.unit):
            k = int(names["worker"](np.uint64(unit), i))
            j = int(names["coordinate"](np.uint64(column), i))
            elements.append(k * dim + j)
            if k < K and j < dim:
                owners[k * dim + j] += 1
        assert set(np.diff(elements)) <= {16}
    assert (owners == 1).all()


def test_sizes_are_bounded_and_what_no_block_holds_is_refused() -> None:
    """Over many sizes: threads, columns, and the memory that the threads of a block share."""
    for K, dim, terms, rows, size in itertools.product(
        (1, 2, 5, 33, 100, 513, 2000, 4096), (1, 2, 3, 16, 24, 64, 1000, 4096), (0, 1, 2, 3),
        (1, 4, 9), (4, 8),
    ):  # fmt: skip
        layout = make_layout(K, dim, terms, rows, size)
        if layout is None:
            assert K > 1000
            continue
        assert layout.threads <= MOST_THREADS
        assert layout.J <= MOST_COLUMNS
        assert layout.L * layout.per * layout.down * layout.across >= K
        numbers = 2 * layout.across * layout.threads + 16 * (layout.J + 1)
        assert numbers * size <= SHARED_MEMORY
        assert layout.tiles * layout.J >= layout.columns
        assert layout.elements * rows * size <= 4 * 64 or layout.elements == 1
    assert make_layout(10**5, 64, 1, 5, 8) is None


@pytest.mark.parametrize(
    ("K", "dim", "terms", "expected"),
    [
        (16, 64, 1, (4, 1, 1)),  # four coordinates of a worker
        (16, 64, 2, (2, 1, 1)),  # two fields of two coordinates
        (16, 96, 1, (2, 1, 1)),
        (8, 16, 1, (1, 4, 1)),  # four workers at one coordinate
        (8, 4, 2, (1, 2, 4)),
        (16, 100, 1, (1, 1, 1)),
        (16, 64, 3, (1, 1, 1)),
        (1, 8, 1, (1, 1, 1)),  # no second worker to draw for
        (1, 16, 1, (1, 1, 1)),
        (16, 32, 1, (2, 1, 1)),  # two of four normals
        (16, 48, 1, (1, 1, 1)),  # one of four
    ],
)
def test_units_share_what_is_drawn(
    K: int, dim: int, terms: int, expected: tuple[int, int, int]
) -> None:
    layout = make_layout(K, dim, terms, 5, 4)
    assert isinstance(layout, ThreadLayout)
    assert (layout.across, layout.down, layout.spread) == expected


@pytest.mark.parametrize("M", [1, 2, 4])
def test_no_normal_is_thrown_away_at_the_sizes_that_are_recommended(M: int) -> None:
    """With as many rows as STEM can have in float64: 64/M divides dim, or dim 16 and K dim 64/M."""
    step = 64 // M
    shapes = [(K, dim) for K in (1, 3, 16, 512) for dim in range(step, 300, step)]
    shapes += [(K, dim) for dim in (1, 2, 4, 8, 16) for K in range(1, 513) if K * dim % step == 0]
    for K, dim in shapes:
        layout = make_layout(K, dim, M, 8, 8)
        assert layout is not None
        assert layout.unit * M == 4, (K, dim)


@pytest.mark.parametrize(
    ("noise", "dtype", "most"),
    [
        ("modulated", "float32", 6144), ("modulated", "float64", 3072),
        ("phase", "float32", 5120), ("phase", "float64", 2560),
    ],
)  # fmt: skip
def test_most_workers_of_a_block(noise: str, dtype: str, most: int) -> None:
    recipe, stem = recipe_of(16, 64, noise), variant(dtype=dtype)
    assert stem.layout(recipe, most, 64) is not None
    assert stem.layout(recipe, most + 1, 64) is None

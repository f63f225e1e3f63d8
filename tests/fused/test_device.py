"""What the text of a device's kernel computes: compiled for the processor, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the text is compiled by numba")

from stemtheory import load_problem
from stemtheory.fused.device import host_function
from stemtheory.fused.recipe import Recipe, make_recipe
from stemtheory.fused.source import CAPACITIES
from stemtheory.philox import normals
from stemtheory.separable import Separable

KEY, T, REPLICATE, PURPOSE = (0x12345678, 0x9ABCDEF0), 70_001, 13, 1
K, DIM, B = 3, 700, 4.0


def _laid_out(recipe: Recipe, dtype: str) -> Any:
    """Return the rows of arguments chunk by chunk, as the kernels expect them."""
    C = CAPACITIES[dtype]
    chunks, rows = -(-K * DIM // C), max(1, len(recipe.rows))
    laid = np.full((chunks, rows, C + 64), np.nan, dtype)
    for r, row in enumerate(recipe.rows):
        padded = np.zeros(chunks * C)
        padded[: K * DIM] = row.ravel()
        laid[:, r, :C] = padded.reshape(chunks, C)
    return laid.ravel()


def _drawn(recipe: Recipe, x: Any, dtype: str, replicate: int = REPLICATE) -> Any:
    """Return the sampled gradient of every element, as one thread after another computes it."""
    drawn, scalar = host_function(recipe, dtype), getattr(np, dtype)
    W, P = _laid_out(recipe, dtype), tuple(scalar(value) for value in recipe.scalars)
    words = tuple(np.uint32(word) for word in (T, replicate, PURPOSE, *KEY))
    flat = x.ravel().astype(dtype)
    values = [drawn(np.uint32(e), flat[e], P, W, *words, scalar(-2 / B)) for e in range(x.size)]
    assert {type(value) for value in values} <= {float, np.dtype(dtype).type}
    return np.array(values).reshape(x.shape)


@pytest.mark.parametrize(
    ("family", "dials", "dtype", "error"),
    [
        ("cosine", {"noise": "modulated", "heterogeneity": "tilt"}, "float64", 1e-13),
        ("corridor", {"noise": "phase", "spectrum": 9.0}, "float32", 1e-5),
    ],
)
def test_the_addresses_are_those_of_the_array_engine(
    family: str, dials: dict[str, Any], dtype: str, error: float
) -> None:
    """Over several chunks, with one field and with two; another replicate is told apart."""
    problem = load_problem(family, K=K, dim=DIM, zeta=1.0, sigma=20.0, **dials)
    assert isinstance(problem, Separable)
    x = np.random.Generator(np.random.SFC64(3)).standard_normal((K, DIM)).astype(dtype)
    force, *fields = problem.evaluate(x.astype(np.float64))
    xi = normals(KEY, T, REPLICATE, PURPOSE, (len(fields), K, DIM)) / np.sqrt(B)
    expected = force + sum(n * z for n, z in zip(fields, xi, strict=True))
    recipe = make_recipe(problem)
    assert np.abs(_drawn(recipe, x, dtype) - expected).max() < error * np.abs(expected).max()
    other = _drawn(recipe, x, dtype, REPLICATE + 1)
    assert np.abs(other - expected).max() > 0.1 * np.abs(expected).max()

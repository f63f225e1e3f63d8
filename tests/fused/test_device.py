"""The noise of a device's kernels, compiled for the processor, against that of the array engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the text is compiled by numba")

from numba import njit

from stemtheory import load_problem
from stemtheory.fused.device_build import Machine, Variant, assemble
from stemtheory.fused.device_layout import Layout
from stemtheory.fused.elementary import OPTIONS, fma
from stemtheory.fused.normals import BOX_MULLER
from stemtheory.fused.recipe import make_recipe
from stemtheory.philox import normals

KEY, T, REPLICATE, PURPOSE, B = (0x12345678, 0x9ABCDEF0), 70_001, 13, 1, 4.0
ERRORS = {"float64": 1e-14, "float32": 1e-6}


def drawn(noise: str, layout: Layout, K: int, dim: int, dtype: str) -> Any:
    """Return what the units of a layout draw, shape (M, K, dim), and how often each element is."""
    recipe = replace(make_recipe(load_problem("cosine", K=K, dim=dim, noise=noise)), rows=())  # type: ignore[arg-type]
    names = {"cuda": None, "fma": fma, "box_muller": BOX_MULLER[dtype]}
    compiled = njit(**OPTIONS)
    machine = Machine(names, compiled, compiled)
    text = assemble(recipe, Variant("fedavg", 0, dtype), layout, machine)
    draw, worker, coordinate = text["draw"], text["worker"], text["coordinate"]
    M, U = recipe.terms, layout.unit
    address = tuple(np.uint32(word) for word in (T, REPLICATE, PURPOSE, *KEY))
    found, seen = np.full((M, K, dim), np.nan), np.zeros((K, dim), int)
    Z = np.empty(M * layout.elements, dtype)
    for unit in range(layout.per * layout.L):
        for column in range(layout.columns):
            here = (np.uint64(0), np.uint64(column), np.uint64(K), np.uint64(dim))
            draw(Z, np.uint64(unit), here, address, text["Scalar"](-2 / B))
            for i in range(U):
                k = int(worker(np.uint64(unit), np.uint64(i)))
                j = int(coordinate(np.uint64(column), np.uint64(i)))
                if k < K and j < dim:
                    found[:, k, j] = Z[i :: layout.elements]
                    seen[k, j] += 1
    return found, seen


@pytest.mark.parametrize(
    ("noise", "shape", "layout", "dtype"),
    [
        ("modulated", (3, 64), Layout(16, 3, 1, 4, 1, 1, 16), "float32"),
        ("modulated", (3, 32), Layout(16, 2, 2, 2, 1, 1, 16), "float64"),
        ("modulated", (9, 8), Layout(8, 4, 1, 1, 4, 2, 8), "float64"),
        ("modulated", (5, 3), Layout(3, 5, 1, 1, 1, 1, 3), "float32"),
        ("phase", (3, 32), Layout(16, 3, 1, 2, 1, 1, 16), "float64"),
        ("phase", (5, 4), Layout(4, 8, 1, 1, 2, 4, 4), "float32"),
        ("phase", (5, 5), Layout(5, 5, 1, 1, 1, 1, 5), "float64"),
    ],
)
def test_every_shape_of_unit_draws_the_numbers_of_the_array_engine(
    noise: str, shape: tuple[int, int], layout: Layout, dtype: str
) -> None:
    K, dim = shape
    found, seen = drawn(noise, layout, K, dim, dtype)
    expected = normals(KEY, T, REPLICATE, PURPOSE, found.shape) / np.sqrt(B)
    assert (seen == 1).all()
    assert np.abs(found - expected).max() < ERRORS[dtype] * np.abs(expected).max()
    other = normals(KEY, T, REPLICATE + 1, PURPOSE, found.shape) / np.sqrt(B)
    assert np.abs(found - other).min(axis=0).max() > 0.1

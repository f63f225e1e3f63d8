"""The elementary functions and the compiled noise: accuracy, special values, types."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory.oracles.catalogue import load_problem  # noqa: E402
from stemtheory.oracles.heterogeneity import HETEROGENEITIES  # noqa: E402
from stemtheory.oracles.noise import NOISES  # noqa: E402
from stemtheory.oracles.separable import Separable  # noqa: E402
from stemtheory.runtime import philox as portable  # noqa: E402
from stemtheory.simulator.fused import elementary, normals  # noqa: E402
from stemtheory.simulator.fused.recipe import KernelPart, make_recipe  # noqa: E402

FAMILIES = ("cauchy", "corridor", "cosine", "geman_mcclure", "quadratic", "welsch")
DTYPES = ("float32", "float64")


def _over(function: Any) -> Callable[[Any], Any]:
    """Return the function over an array, in a loop that is compiled to vector code."""

    @numba.njit  # type: ignore[untyped-decorator]
    def loop(x: Any) -> Any:
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i] = function(x[i])
        return y

    made: Callable[[Any], Any] = loop
    return made


def _callable(function: Any) -> Any:
    """Return the function for Python, which cannot call a part of a kernel."""
    return numba.njit(lambda *values: function(*values))


def _errors(name: str, dtype: str, x: Any) -> tuple[float, float]:
    """Return the largest error in units in the last place, and absolutely."""
    got = _over(elementary.OWN[dtype][name])(x)
    assert got.dtype == np.dtype(dtype)
    exact = getattr(np, name)(x.astype(np.longdouble))
    error = np.abs(got.astype(np.longdouble) - exact)
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    return float((error / unit).max()), float(error.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "exp"])
def test_two_units_in_the_last_place(name: str, dtype: str) -> None:
    x = np.linspace(-80 if name == "exp" else -100, 80, 300_001).astype(dtype)
    assert _errors(name, dtype, x)[0] <= 2


@pytest.mark.parametrize(
    ("dtype", "limit", "error"), [("float32", 1e4, 2e-7), ("float64", 1e6, 3e-16)]
)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_large_arguments(name: str, dtype: str, limit: float, error: float) -> None:
    assert _errors(name, dtype, np.linspace(-limit, limit, 300_001).astype(dtype))[1] <= error


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_no_number_stays_none(dtype: str) -> None:
    wild = np.array([np.inf, -np.inf, np.nan], dtype)
    for name in ("sin", "cos"):
        function = _over(elementary.OWN[dtype][name])
        assert np.all(np.isnan(function(wild)))
        assert np.all(np.abs(function(np.array([1e30, -1e30, 1e18], dtype))) <= 1)
    exp = _over(elementary.OWN[dtype]["exp"])
    np.testing.assert_array_equal(exp(wild), np.array([np.inf, 0, np.nan], dtype))
    np.testing.assert_array_equal(exp(np.array([-1e4, 1e4, 0], dtype)), np.array([0, np.inf, 1]))


@pytest.mark.parametrize(
    ("counter", "key"), [((0,) * 4, (0, 0)), ((2**32 - 1,) * 4, (7, 2**32 - 1))]
)
def test_compiled_philox_is_philox(counter: Any, key: Any) -> None:
    words = tuple(np.uint32(word) for word in (*counter, *key))
    drawn = _callable(normals.philox)(*words)
    assert [int(w) for w in drawn] == [int(w) for w in portable.philox(counter, key)]


@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-6), ("float64", 1e-14)])
def test_compiled_normals_are_the_portable_ones(dtype: str, error: float) -> None:
    """Absolutely: a normal is at most 6.8; both ends of u and the eighths of a turn included."""
    box_muller, factor = normals.BOX_MULLER[dtype], np.dtype(dtype).type(-2)

    @numba.njit  # type: ignore[untyped-decorator]
    def pairs(first: Any, second: Any, into: Any) -> None:
        for i in range(len(first)):
            into[i, 0], into[i, 1] = box_muller(first[i], second[i], factor)

    rng = np.random.Generator(np.random.SFC64(1))
    first, second = rng.integers(0, 2**32, (2, 400_000), dtype=np.uint32)
    first[:6] = [0, 1, 2**32 - 1, 2**32 - 2, 2**31, 2**31 - 1]
    second[4:12] = np.arange(8) * 2**29
    got = np.empty((len(first), 2), dtype)
    pairs(first, second, got)
    exact = np.stack(
        portable.box_muller(first.astype(np.uint64), second.astype(np.uint64)), axis=-1
    )
    assert np.abs(got - exact).max() < error


def _returned(function: Callable[..., Any], arguments: int, dtype: str) -> set[str]:
    """Return the names of the types that the compiled copy returns for scalars of one type."""
    kind = getattr(numba.types, dtype)
    compiled = elementary.compiled(function, dtype)
    compiled.compile((kind,) * (arguments + 1))
    (signature,) = compiled.nopython_signatures
    result = signature.return_type
    return {str(t) for t in (result if hasattr(result, "__iter__") else (result,))}


def _parts() -> dict[str, KernelPart]:
    found: dict[str, KernelPart] = {}
    for family in FAMILIES:
        for noise in NOISES:
            for heterogeneity in HETEROGENEITIES:
                zeta = 0.0 if heterogeneity == "none" else 1.0
                problem = load_problem(family, noise=noise, heterogeneity=heterogeneity, zeta=zeta)
                assert isinstance(problem, Separable)
                for part in make_recipe(problem).parts:
                    found[f"{part.function.__module__}.{part.function.__name__}"] = part
    return found


PARTS = _parts()


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_oracle_keeps_its_type(part: KernelPart) -> None:
    """A literal in a slope or a field would turn float32 into float64."""
    for dtype in DTYPES:
        assert _returned(part.function, len(part.where), dtype) == {dtype}


def _widened(x: Any, weight: Any) -> Any:
    return 0.5 * weight * x


def test_a_literal_is_found() -> None:
    """The mutant of the test above."""
    assert _returned(_widened, 1, "float32") == {"float64"}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_oracle_computes_what_numpy_computes(part: KernelPart) -> None:
    for dtype, rtol in (("float32", 1e-6), ("float64", 1e-15)):
        x, *values = (np.dtype(dtype).type(v) for v in (0.37, 0.7, 0.6, 1.3, 0.4))
        values = values[: len(part.where)]
        got = _callable(elementary.compiled(part.function, dtype))(x, *values)
        exact = part.function(np.float64(x), *(np.float64(v) for v in values))
        np.testing.assert_allclose(got, exact, rtol=rtol)


def test_every_part_has_a_name_to_be_found_by() -> None:
    """So that its kernel is kept between processes."""
    for part in PARTS.values():
        assert part.address is not None
        module, name = part.address
        assert getattr(importlib.import_module(module), name) is part.function

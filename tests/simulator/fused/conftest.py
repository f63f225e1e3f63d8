"""Kernels of the tests go into pytest's own cache: compiled by the first run, kept for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_folder(pytestconfig: pytest.Config) -> Iterator[None]:
    cache = pytestconfig.cache
    assert cache is not None
    folder = cache.mkdir("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMTHEORY_CACHE", str(folder))
        yield

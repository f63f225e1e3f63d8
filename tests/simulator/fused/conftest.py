"""Kernels of the tests are those of whoever runs them: compiled by the first run, in any checkout.

They are named by what they hold, so none is taken for another.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stemtheory.runtime import cache_folder


@pytest.fixture(scope="session", autouse=True)
def kernel_folder() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMTHEORY_CACHE", str(cache_folder()))
        yield

"""The documents of a run and of a bound say what was measured and asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds import bound_document
from stemtheory.bounds.verdicts import document


@pytest.mark.parametrize(("ends", "first"), [([0, 7, 5, 0], 5), ([0, 0, 0, 0], None)])
def test_a_replicate_that_did_not_diverge_is_not_the_first_to(
    ends: list[int], first: int | None
) -> None:
    trace = simulate(load_problem("cosine"), "stem", T=8, replicates=4)
    found = document(replace(trace, diverged_at=np.array(ends)), ())
    assert found["diverged_at"] == first


@pytest.mark.parametrize(("given", "b", "I"), [({"I": 4}, 1, 4), ({"b": 3}, 3, 1)])
def test_one_of_b_and_I_leaves_the_other_one_at_1(given: dict[str, int], b: int, I: int) -> None:
    found = bound_document("stem-log-free", T=4096, **given)
    assert (found["b"], found["I"]) == (b, I)

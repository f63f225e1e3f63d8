"""A bound on whole runs that a line states is that of `stemtheory bound`, and no other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import BOUNDS
from stemtheory.claims.base import Case, dials
from stemtheory.claims.evidence.measured import measure
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.language import Q
from stemtheory.claims.language.letters import (
    B,
    E,
    I,
    L,
    T,
    b,
    c,
    eta,
    gap,
    grad,
    norm2,
    sigma,
    sum_t,
    t,
    xbar,
    xbar_a,
    zeta,
)
from stemtheory.claims.stating import whole_run
from stemtheory.runtime import UsageError

AVERAGE = E(norm2(grad(xbar_a)))
NOISE, APART = 3 * sigma**2 / (64 * L**2), zeta**2 * (I - 1) / (32 * L**2 * I)
SUM = (
    2
    / (eta[T] * T)
    * (
        gap
        + sigma**2 * b / (64 * L**2 * B * eta[0])
        + c**2 * (NOISE + APART) * sum_t(t, 1, T, eta[t] ** 3)
    )
)
CASE = Case("cosine", 3, 2, 2.5, 4, 20, dials(sigma=0.5, zeta=1.0), replicates=4)
TOLD: dict[str, Any] = {"label": "Eq: Grad_Norm_Sum", "statement": "A bound."}


def test_a_bound_on_a_whole_run_is_the_one_of_the_bounds() -> None:
    claim = whole_run(AVERAGE <= SUM, id="one", **TOLD)
    still = replace(CASE, dials=dials(sigma=0.0, zeta=1.0))
    for case in (CASE, replace(CASE, rounds=40, B=7.0, sync_batch=2), still):
        found = claim.compare(case)  # type: ignore[misc]
        right = sum(BOUNDS["stem-intermediate"].terms(setting_of(case)).values())
        np.testing.assert_allclose(found.right, [right], rtol=1e-14)
        assert found.left.tolist() == [measure(case).mean]
        assert found.trivial == measure(case).standstill


def test_another_left_side_or_a_wrong_power_is_no_bound_on_a_whole_run() -> None:
    with pytest.raises(UsageError, match=r"one: a bound on a whole run begins with"):
        whole_run(E(norm2(grad(xbar[t]))) <= SUM, id="one", **TOLD)
    with pytest.raises(UsageError, match=r"one: scaling x by s and f by r"):
        whole_run(AVERAGE <= Q("0.5") * L * SUM, id="one", **TOLD)

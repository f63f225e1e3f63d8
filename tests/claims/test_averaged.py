"""Lines in expectation: means over the replicates of a run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from stemtheory.claims.base import Case, Claim, Comparison, dials
from stemtheory.claims.evidence.fedavg_path import record_fedavg, shared
from stemtheory.claims.evidence.path import record
from stemtheory.claims.judge import judge
from stemtheory.claims.language import equal
from stemtheory.claims.language.letters import (
    E,
    K,
    b,
    dbar,
    grad_k,
    k,
    l,
    mean_k,
    norm2,
    sigma,
    start,
    sum_t,
    t,
    x,
)
from stemtheory.claims.stating import averaged
from stemtheory.runtime import UsageError, Verdict

NOISY = Case("cosine", 4, 2, 1, 4, 3, dials(sigma=0.5, zeta=1.0), replicates=64)
STEPS = (("eta", 0.01),)
FEDAVG = Case(
    *("cosine", 4, 2, 1, 4, 3, dials(sigma=2.0, zeta=0.0, noise="additive")),
    algorithm="fedavg",
    schedule="constant",
    options=STEPS,
    replicates=1024,
)
named = partial(averaged, id="X", label="Lem: Grad_Variance_FedAvg", statement="a line")


def ends(path: Any) -> Any:
    """The last step of every round."""
    return path.t[path.case.I - 1 :: path.case.I]


def compared(claim: Claim, case: Case, **more: Any) -> Comparison:
    assert claim.compare is not None
    return claim.compare(case, **more)


def test_sides_are_means_over_replicates_at_the_times_chosen() -> None:
    line = sum_t(l, start, t, E(norm2(dbar[l]))) <= 3 * E(norm2(dbar[t]))
    found = compared(named(line, place=("end", t), at=ends), NOISY)
    q2 = record(NOISY).q2[1:-1].reshape(3, 4, -1)
    gap = q2.sum(axis=1) - 3 * q2[:, -1]
    np.testing.assert_allclose(found.left, q2.sum(axis=1).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.right, 3 * q2[:, -1].mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.spread, gap.std(axis=1, ddof=1) / 8, rtol=1e-12)
    assert found.dof == 63
    assert found.t.tolist() == [4, 8, 12]
    assert set(found.where) == {"sync"}


def test_an_equality_is_two_sided_and_rejects_shared_noise() -> None:
    """One instance's share of 1/1000: see claims.judge."""
    line = equal(E(norm2(dbar[t] - mean_k(grad_k(x[t, k])))), sigma**2 / (b * K))
    claim = named(line)
    assert not claim.identity
    found = compared(claim, FEDAVG)
    wrong = compared(claim, FEDAVG, run=partial(record_fedavg, spoiled=shared))
    assert found.two_sided
    assert found.right == pytest.approx(1.0)
    assert [c.verdict for c in judge(claim, found, "literal")] == [Verdict.HOLDS]
    assert [c.verdict for c in judge(claim, wrong, "literal")] == [Verdict.VIOLATED]


def test_a_line_that_is_not_homogeneous_is_refused() -> None:
    with pytest.raises(UsageError, match="scaling x by s"):
        named(E(norm2(dbar[t])) <= sigma)

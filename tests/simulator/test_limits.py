"""What is refused or said before a run, and from where on a run counts as diverged."""

from __future__ import annotations

import math
from typing import Any

import pytest

from stemtheory import load_problem, simulate
from stemtheory.moments import moments
from stemtheory.simulator import DIVERGED

QUIET: dict[str, Any] = {"T": 4, "I": 1, "b": 1, "schedule": "constant"}
STILL = {"eta": 1e-6, "a": 1}
FAR, NEAR = 1e79, 1e49  # starts at which ||grad f||^2 is about 1e157 and 1e97


@pytest.mark.parametrize("engine", ["array", "fused"])
@pytest.mark.parametrize(("x1", "status"), [(FAR, "diverged"), (NEAR, "ok")])
def test_finite_but_beyond_the_limit_is_diverged(engine: str, x1: float, status: str) -> None:
    """Mutant: whatever is finite is ok, and the squares in its standard error overflow."""
    problem = load_problem("quadratic", K=2, dim=2, sigma=0.0)
    trace = simulate(
        problem, "stem", x1=x1, engine=engine, replicates=2, schedule_options=STILL, **QUIET
    )
    assert trace.circumstances.engine == engine
    assert trace.status == status
    if status == "ok":
        assert trace.mean_grad_sq is not None
        assert 1e96 < trace.mean_grad_sq < DIVERGED
    else:
        assert trace.mean_grad_sq is None
        assert trace.diverged_at.tolist() == [1, 1]


@pytest.mark.parametrize(("x1", "status"), [(FAR, "diverged"), (NEAR, "ok")])
def test_exact_moments_diverge_at_the_same_limit(x1: float, status: str) -> None:
    problem = load_problem("quadratic", K=2, dim=2, sigma=0.0, zeta=0.0)
    found = moments(problem, "stem", x1=x1, schedule_options=STILL, **QUIET)
    assert math.isfinite(found.mean_grad_sq)
    assert found.status == status

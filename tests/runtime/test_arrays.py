"""Whoever lets arithmetic raise gets the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory import load_problem, simulate
from stemtheory.moments import moments, stability
from stemtheory.moments.linear_model import linear_model


def everything() -> list[Any]:
    """Return numbers that underflow, overflow and diverge on their way, of every engine."""
    far = load_problem("welsch", K=3, dim=2, heterogeneity="none", zeta=0.0, noise="additive")
    options: dict[str, Any] = {"T": 12, "b": 1, "I": 3, "replicates": 3}
    wild: dict[str, Any] = {"schedule": "constant", "schedule_options": {"eta": 1e30, "a": 0.5}}
    bowl = load_problem("quadratic", K=2, dim=1, noise="additive", heterogeneity="tilt")
    found: list[Any] = [far.constants(np.full(2, 60.0)), load_problem("logistic").constants()]
    for problem, algorithm, more in (
        (far, "stem", {"x1": 60.0}),
        (far, "scaffold", {}),
        (bowl, "stem", wild),
        (load_problem("logistic", K=2, dim=3), "fedavg", {}),
    ):
        trace = simulate(problem, algorithm, **options, **more)
        found += [trace.grad_sq.tobytes(), trace.diverged_at.tobytes()]
    found += [moments(bowl, T=10**6).running.tobytes(), moments(bowl, T=999, **wild).status]
    return [*found, stability(linear_model([1.0, -1.0]), b=1, I=4)]


def test_numbers_do_not_depend_on_the_callers_error_state() -> None:
    plain = everything()
    with np.errstate(all="raise"):
        assert everything() == plain
    assert "diverged" in plain  # the mutant: arithmetic did go wrong

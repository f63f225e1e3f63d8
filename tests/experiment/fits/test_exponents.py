"""Where a fit's verdict turns, and which end of a line is the limit; outcomes are planted."""

from __future__ import annotations

import pytest

from stemtheory.experiment.fits.exponents import Fit
from tests.experiment.planted import judged, outcomes, points_of, spec_of

CURVE = """
[algorithms.stem]
[grids.main]
kind = "curve"
nu = 0
T = { from = 1024, ratio = 2, count = 7 }
epsilon = { from = 1e-2, ratio = 0.7, count = 8 }
"""
RATE = """
[fits.rate]
y = "M"
x = "rate"
by = ["label"]
theory = -1
tolerance = 0.06
"""
SAMPLES = """
[fits.samples]
y = "samples"
x = "epsilon"
by = ["label"]
theory = -1.5
tolerance = 0.06
"""


def planted(fits: str, power: float, bend: float = 0.0) -> Fit:
    """Return the one fit of M = 8 rate^power, without noise, bent by ``bend`` at large rates."""
    spec = spec_of(CURVE, fits)
    (found,), _ = judged(
        spec,
        outcomes(
            points_of(spec), lambda cell: 8 * (cell.T / cell.I) ** power * (1 + bend * cell.T)
        ),
    )
    return found


@pytest.mark.parametrize(
    ("power", "verdict"),
    [
        (-1.0, "consistent"),
        (-1.055, "within tolerance"),
        (-0.945, "within tolerance"),
        (-1.065, "faster"),
        (-0.935, "slower"),
    ],
)
def test_a_line_without_scatter_is_told_by_its_tolerance(power: float, verdict: str) -> None:
    """The interval has no width here, so the tolerance alone decides, on both sides of it."""
    assert planted(RATE, power).verdict == verdict


def test_the_tail_is_the_local_slope_where_the_limit_is() -> None:
    """Large rates for M, small epsilon for costs: M bent upwards flattens, and costs more there."""
    rate, samples = planted(RATE, -1.0, 1e-4), planted(SAMPLES, -1.0, 1e-5)
    for fit in (rate, samples):
        assert fit.line is not None
        assert fit.line.head != pytest.approx(fit.line.tail, abs=1e-3)
    assert rate.line is not None
    assert samples.line is not None
    assert rate.to_dict()["tail"] == rate.line.tail > rate.line.head
    assert samples.to_dict()["tail"] == samples.line.head < samples.line.tail

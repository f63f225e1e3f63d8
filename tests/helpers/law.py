"""Two runs of one law, compared by their means over replicates."""

from __future__ import annotations

import math

from stemtheory import Trace


def apart(one: Trace, other: Trace) -> float:
    """Return by how many standard errors the means of two independent runs differ."""
    (a, ea), (b, eb) = ((t.mean_grad_sq, t.stderr) for t in (one, other))
    assert a is not None
    assert b is not None
    assert ea is not None
    assert eb is not None
    return abs(a - b) / math.hypot(ea, eb)

"""Exact second moments of STEM and FedAvg on linear problems."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.moments.exact import Moments, Stability, moments, stability, steps_to
    from stemtheory.moments.linear_model import LINEARISED, LinearModel
    from stemtheory.moments.recursion import Recursion

__getattr__, __dir__ = face(__name__)

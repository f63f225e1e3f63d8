"""Exact second moments of STEM and FedAvg on linear problems."""

from stemtheory.moments.exact import Moments, Stability, moments, stability, steps_to

__all__ = ["Moments", "Stability", "moments", "stability", "steps_to"]

"""Exact second moments of STEM and FedAvg on linear problems."""

from stemtheory.moments.exact import Moments, Stability, moments, stability, steps_to
from stemtheory.moments.linear_model import LINEARISED, LinearModel
from stemtheory.moments.recursion import Recursion

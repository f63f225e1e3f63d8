"""Quantiles; scipy.special, which takes longer to load than numpy, comes when one is asked for."""

from __future__ import annotations


def t_quantile(dof: float, share: float) -> float:
    """Return the number that Student's t with ``dof`` degrees stays below with chance ``share``."""
    from scipy.special import stdtrit

    return float(stdtrit(dof, share))

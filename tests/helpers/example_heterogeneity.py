"""A heterogeneity of one's own: workers differ near the minimum, and agree far away.

    grad f^(k)_j = grad f_j + s_k zeta/(2 sqrt d) h(w x_j + phase),   h(u) = 2u/(1 + u^2)

|h| <= 1, attained at u = 1: there two workers are zeta apart. h' = 2(1 - u^2)/(1 + u^2)^2 is at
most 2, attained at u = 0: Z = 2 zeta w/(2 sqrt d).
"""

from typing import Any

from stemtheory.oracles.heterogeneity import HeterogeneityModel, half


def local(x: Any, weight: Any, one: Any, frequency: Any, offset: Any) -> Any:
    """Return weight u/(one + u^2), u = w x + offset; a number in here would widen float32."""
    u = frequency * x + offset
    return weight * u / (one + u * u)


LOCAL = HeterogeneityModel(
    name="local",
    summary="grad f_j + s_k zeta/sqrt d u/(1 + u^2), u = w x_j + phase: Z = zeta w/sqrt d",
    function=local,
    arguments=lambda K, dim, zeta, w, offset: (2 * half(K, dim, zeta), 1.0, w, offset),
    steepness=2.0,
    crest=1.0,
)

"""Entries of chains: from the dials L, gap, links and p to an instance, its constants proved.

    gap     f(0) - inf f = h D,  D = sqrt(2 pi e) ((links - 1) e + 1/2): all z far, a limit
    L       L_f <= W 152 h/lambda^2, and the hidden part is Lipschitz to 21.5 h/lambda^2 per root of
            the coin's variance: |Psi' Phi'| <= 7.35 along z_{i-1}, and along z_i at most
            e sqrt(e) (4 + 1/2), for Theta has slope 4. So L^2 = (W 152)^2 + 21.5^2 (1 - p)/p, by
            which lambda follows from L
    sigma   one u_i alone: h/lambda e sqrt(e) sqrt((1 - p)/p), approached where z_{i-1} is far
    zeta    along z_i two workers differ by what links i and i + 1 add, which have one sign, and a
            link adds at most e sqrt(e) and 18.42: W h/lambda sqrt(n (18.42^2 + e^3)), n links of
            both workers

The chain is passed only by points of which ||grad f|| > h/lambda: with accuracy epsilon below
(h/lambda)^2 nothing is done before all links are found.

Paper: rmk:complexity; Assumption (Ass: Lip_Smoothness); Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stemtheory.oracles.chains.bernoulli import Bernoulli
from stemtheory.oracles.chains.chain import Chain
from stemtheory.oracles.chains.links import DROP, PHI_TOP, PSI_SLOPE, PSI_TOP, ROOT_E, SMOOTHNESS
from stemtheory.oracles.chains.witnesses import witnesses
from stemtheory.oracles.dials import ROUNDING, refuse_unknown
from stemtheory.oracles.problem import Constants, ProblemEntry
from stemtheory.oracles.usual import USUAL
from stemtheory.runtime import Floats, UsageError, real, whole

HIDDEN = 21.5  # Lipschitz bound of what a coin hides, in units of h/lambda^2
FORWARD, BACKWARD = PSI_TOP * ROOT_E, PSI_SLOPE * PHI_TOP  # what a link adds along z_i, z_{i-1}
SHOWS = 0.1  # p where nothing is said


def everyone(K: int, links: int) -> Floats:
    """Return who holds which link: all workers hold all."""
    return np.ones((K, links))


@dataclass(frozen=True)
class ChainEntry(ProblemEntry):
    """A chain whose links are shared out by ``share``, shape (K, links) of (K, links): 1 or 0.

    With ``hides`` a coin hides the next coordinate: it has dials ``p`` and ``leak``.
    """

    name: str
    summary: str
    formula: str
    visible: str
    share: Callable[[int, int], Floats] = everyone
    hides: bool = False

    nonconvex = Chain.nonconvex  # at every size, so that nobody need make one to know

    @property
    def own_dials(self) -> Mapping[str, float | None]:
        """The dials of chains and their defaults."""
        coin = {"p": SHOWS, "leak": 0.0} if self.hides else {}
        return {"links": None, "gap": USUAL.gap, **coin}

    def __call__(self, K: int = USUAL.K, dim: int = USUAL.dim, **dials: Any) -> Chain:
        """Return the chain that meets the given dials.

        Raises
        ------
        UsageError
            For unknown dials and for what the instance cannot have.
        """
        known = ("L", "sigma", "zeta", *self.own_dials)
        refuse_unknown(self.name, dials, known)
        K, dim = whole("K", K), whole("dim", dim)
        links = _links(dim, dials.get("links"))
        holders = self.share(K, links)
        W = K / float(holders[:, 0].sum())
        if W > 1 and links < K:
            raise UsageError(
                f"K is {K} with {links} links, so {K - links} of the workers would hold none: lower"
                f" K to at most {links}, or raise links and dim to {K}."
            )
        size = _sized(dials, links, W, self.hides)
        zeta = _zeta(self.name, dials.get("zeta"), size, holders, W)
        sigma = size.slope * FORWARD * (1 - size.leak) * math.sqrt(size.spread)
        sigma *= 1 if links > 1 else 1 / PSI_TOP  # the first link is held at Psi(1) = 1
        chain = Chain(
            self.name, K, dim, links, size.tall, size.wide,
            holders=None if W == 1 else W * holders,
            places=np.arange(1.0, links + 1),
            coin=Bernoulli(size.p) if sigma > 0 else None,
            shown=1 - size.leak,
            declared=_declared(size, sigma, zeta, links),
            dials=_dials(self.hides, size, sigma, zeta, links),
        )  # fmt: skip
        return replace(chain, found=tuple(witnesses(chain)))


class _Size(NamedTuple):
    """An instance: h, lambda, the coin's p and its leak, L and the gap of 0."""

    tall: float
    wide: float
    p: float
    leak: float
    L: float
    gap: float

    @property
    def slope(self) -> float:
        """h/lambda: ||grad f|| is above it until all links are passed."""
        return self.tall / self.wide

    @property
    def spread(self) -> float:
        """(1 - p)/p, the variance of a sample's weight."""
        return (1 - self.p) / self.p


def drop(links: int) -> float:
    """Return F(0) - inf F: 11.24 for every link but the first, which is held, and half of one."""
    return PHI_TOP * ((links - 1) * PSI_TOP + 0.5)


def _links(dim: int, asked: object) -> int:
    links = dim if asked is None else whole("links", asked)
    if links > dim:
        raise UsageError(
            f"links is {links}, but dim is {dim}, and every link finds a coordinate of its own:"
            f" raise dim to {links}, or lower links to {dim}."
        )
    return links


def _sized(dials: Mapping[str, Any], links: int, W: float, hides: bool) -> _Size:
    """Return the instance that the dials ask for."""
    L = real("L", dials.get("L", USUAL.L), positive=True)
    gap = real("gap", dials.get("gap", USUAL.gap), positive=True)
    tall = gap / drop(links)
    leak = real("leak", dials.get("leak", 0.0), minimum=0)
    if leak > 1:
        raise UsageError(f"leak is {leak:g}, but it is a share, from 0 to 1: lower it.")
    hidden = HIDDEN * (1 - leak)
    most = FORWARD * (1 - leak) * (1 if links > 1 else 1 / PSI_TOP)
    spread = _spread(dials, hides, tall * L * most**2, W * SMOOTHNESS, hidden)
    wide = math.sqrt(tall * math.hypot(W * SMOOTHNESS, hidden * math.sqrt(spread)) / L)
    asked = dials.get("p")
    return _Size(tall, wide, 1 / (1 + spread) if asked is None else float(asked), leak, L, gap)


def _spread(
    dials: Mapping[str, Any], hides: bool, scale: float, steep: float, hidden: float
) -> float:
    """Return (1 - p)/p, of p or of sigma.

    sigma^2 = scale q/sqrt(steep^2 + hidden^2 q), which is solved for q.
    """
    sigma = dials.get("sigma")
    sigma = None if sigma is None else real("sigma", sigma, minimum=0)
    if not hides:
        if sigma:
            raise UsageError(
                f"sigma is {sigma:g}, but this chain answers exactly, so sigma = 0: leave it out,"
                " or choose hidden_chain."
            )
        return 0.0
    asked = dials.get("p", None if sigma is not None else SHOWS)
    if asked is None:
        square = float(sigma or 0.0) ** 2
        root = math.hypot(square * hidden**2, 2 * scale * steep)
        return square * (square * hidden**2 + root) / (2 * scale**2) if scale else 0.0
    p = real("p", asked)
    if not 0 < p <= 1:
        raise UsageError(
            f"p is {p:g}, but a coordinate shows with probability p and then 1/p times as large:"
            " give p above 0 and at most 1."
        )
    q = (1 - p) / p
    meant = math.sqrt(scale * q / math.hypot(steep, hidden * math.sqrt(q)))
    if sigma is not None and not math.isclose(sigma, meant, rel_tol=ROUNDING):
        raise UsageError(
            f"sigma is {sigma:.6g}, but p = {p:g} means sigma = {meant:.6g}: give one of the two."
        )
    return q


def _zeta(name: str, asked: object, size: _Size, holders: Floats, W: float) -> float:
    """Return zeta, which the instance settles.

    Raises
    ------
    UsageError
        For another one.
    """
    n = int(np.sort(holders.sum(axis=1))[-2:].sum())
    found = W * size.slope * math.sqrt(n) * math.hypot(BACKWARD, FORWARD) if W > 1 else 0.0
    zeta = found if asked is None else real("zeta", asked, minimum=0)
    if math.isclose(zeta, found, rel_tol=ROUNDING):
        return found
    if W == 1:
        raise UsageError(
            f"zeta is {zeta:g}, but all workers of {name} have all links, so zeta = 0: leave it"
            " out, or choose split_chain with K = 2 or more."
        )
    raise UsageError(
        f"zeta is {zeta:.6g}, but with L = {size.L:g} and gap = {size.gap:g} two workers hold {n}"
        f" links, so zeta = K h/lambda sqrt({n} (18.42^2 + e^3)) = {W:g} x {size.slope:.4g} x"
        f" {math.sqrt(n) * math.hypot(BACKWARD, FORWARD):.4g} = {found:.6g}: leave it out, or"
        " change L or gap."
    )


def _declared(size: _Size, sigma: float, zeta: float, links: int) -> Constants:
    """Return the constants; without a start the gap is its supremum, all z far below 0."""
    f_star = -size.tall * PHI_TOP * ((links - 1) * PSI_TOP + 1)
    highest = size.tall * DROP * (links - 1)
    exact = {"L": False, "sigma": True, "zeta": zeta == 0, "f_star": False, "gap": False}
    return Constants(size.L, sigma, zeta, f_star, highest - f_star, exact)


def _dials(hides: bool, size: _Size, sigma: float, zeta: float, links: int) -> dict[str, Any]:
    """Return all dials, given and derived."""
    coin = {"p": size.p, "leak": size.leak} if hides else {}
    return {
        "L": size.L, "sigma": sigma, "zeta": zeta, "links": links, "gap": size.gap, **coin,
        "height": size.tall, "width": size.wide, "floor": size.slope**2,
    }  # fmt: skip

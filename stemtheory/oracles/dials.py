"""The arithmetic of the dials: from targets L, sigma, zeta to a problem that meets them exactly.

Every constant hangs on one identity,

    L^2 = (c + Z)^2 + L_n^2,

with c the peak curvature of the common f, Z that of the heterogeneity and L_n the mean-squared
smoothness of the noise. Any consistent subset may be given; what is missing takes its default or
follows, and what does not add up is refused with the arithmetic shown.

Paper: Assumption (Ass: Lip_Smoothness).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.oracles.usual import USUAL
from stemtheory.runtime import UsageError, choice, real, truth, whole

ROUNDING = 1e-9  # relative: two ways to state one dial may differ by this much
LARGEST = 1e100  # of L: the step sizes take its cube


@dataclass(frozen=True)
class Dials:
    """Dials that add up. ``attained`` is the L that the parts reach; L may be larger with slack."""

    L: float
    sigma: float
    zeta: float
    curvature: float
    noise_smoothness: float
    het_curvature: float
    noise_frequency: float
    het_frequency: float
    het_phase: float
    noise: str
    heterogeneity: str
    modulation: float
    spectrum: float
    rotate: bool
    attained: float


def refuse_unknown(name: str, dials: Iterable[str], known: Iterable[str]) -> None:
    """Refuse dials that a problem does not have.

    Raises
    ------
    UsageError
        With those that it has.
    """
    if unknown := sorted(set(dials) - set(known)):
        raise UsageError(
            f"{name} has no dial {', '.join(unknown)}; known are {', '.join(sorted(known))}:"
            " choose one of them."
        )


@dataclass(frozen=True)
class AskedDials:
    """The dials of a problem as they are asked for; None is left to the others."""

    L: float | None = None
    sigma: float = USUAL.sigma
    zeta: float | None = None
    noise: str = USUAL.noise
    heterogeneity: str = USUAL.heterogeneity
    curvature: float | None = None
    noise_smoothness: float | None = None
    noise_frequency: float | None = None
    het_frequency: float | None = None
    het_phase: float = 0.0
    modulation: float = 0.5
    spectrum: float = 1.0
    rotate: bool = False
    slack: bool = False


def resolve_dials(K: int, dim: int, **dials: Any) -> Dials:
    """Return the full set of dials; units as in the paper (gradients per unit of x).

    ``dials`` are the fields of ``AskedDials``.

    Raises
    ------
    UsageError
        For values out of range and for sets that do not add up.
    """
    asked = AskedDials(**dials)
    K, dim = whole("K", K), whole("dim", dim)
    noise = choice("noise", asked.noise, NOISES)
    _refuse_idle_waves(asked, choice("heterogeneity", asked.heterogeneity, HETEROGENEITIES))
    sigma = real("sigma", asked.sigma, minimum=0)
    modulation = real("modulation", asked.modulation, positive=True)
    if modulation > 1:
        raise UsageError(f"modulation is {modulation:g}, but it must lie in (0, 1]: lower it.")
    spectrum = real("spectrum", asked.spectrum, minimum=1)
    zeta, heterogeneity = resolve_zeta(K, asked.zeta, asked.heterogeneity)
    push = HETEROGENEITIES[heterogeneity]
    wave = _optional("het_frequency", asked.het_frequency, positive=True)
    given = _Given(
        L=_optional("L", asked.L, positive=True),
        c=_optional("curvature", asked.curvature, positive=True),
        L_n=_noise_smoothness(
            noise, sigma, dim, modulation, asked.noise_smoothness, asked.noise_frequency
        ),
        Z=push.curvature(zeta, wave, dim) if wave is not None and push.waves else None,
        wavy_noise=NOISES[noise].smooth and (sigma > 0 or not NOISES[noise].bounded),
        wavy_het=push.waves and zeta > 0,
    )
    L_out, c, Z, L_n = _split(given, truth("slack", asked.slack))
    _refuse_flat_waves(noise, heterogeneity, sigma, zeta, given, Z, L_n)
    frequency = NOISES[noise].frequency(sigma, L_n, dim, modulation) if sigma > 0 else 0.0
    return Dials(
        L=L_out,
        sigma=sigma,
        zeta=zeta,
        curvature=c,
        noise_smoothness=L_n,
        het_curvature=Z,
        noise_frequency=frequency,
        het_frequency=push.frequency(zeta, Z, dim) if given.wavy_het else 0.0,
        het_phase=real("het_phase", asked.het_phase),
        noise=noise,
        heterogeneity=heterogeneity,
        modulation=modulation,
        spectrum=spectrum,
        rotate=truth("rotate", asked.rotate),
        attained=math.hypot(c + Z, L_n),
    )


@dataclass(frozen=True)
class _Given:
    """What the user fixed (None: free) and which parts can carry curvature at all."""

    L: float | None
    c: float | None
    L_n: float | None
    Z: float | None
    wavy_noise: bool
    wavy_het: bool


def _split(given: _Given, slack: bool) -> tuple[float, float, float, float]:
    """Return (L, c, Z, L_n) with L^2 = (c + Z)^2 + L_n^2, or L larger than that with slack."""
    # A part without a wave cannot curve: it is fixed at 0, and what it leaves goes to the others.
    Z = given.Z if given.wavy_het else 0.0
    L_n = given.L_n if given.wavy_noise else 0.0
    c = given.c
    if c is not None and Z is not None and L_n is not None:
        return _check_sum(given.L, c, Z, L_n, slack), c, Z, L_n
    if c is not None and Z is not None:  # only the noise is free: what L leaves, or an equal share
        L_n = c + Z if given.L is None else _leg(given.L, c + Z, "c + Z")
        return math.hypot(c + Z, L_n) if given.L is None else given.L, c, Z, L_n
    L = USUAL.L if given.L is None else given.L
    # The default shares L^2 equally: half to the noise, without which the two-sided momentum has
    # nothing to cancel, and half to f, which the workers' difference shares in turn.
    L_n = L / math.sqrt(2) if L_n is None else L_n
    L_f = _leg(L, L_n, "L_n")
    if c is None and Z is None:
        c = Z = L_f / 2
    elif c is None and Z is not None:
        c = L_f - Z
    elif c is not None and Z is None:
        Z = L_f - c
    if c is None or Z is None or c <= 0 or Z < 0:
        raise UsageError(
            f"the dials do not add up: L_f = sqrt(L^2 - L_n^2) = {L_f:.6g} (L = {L:.6g},"
            f" L_n = {L_n:.6g}) leaves c = {_shown(c)}, Z = {_shown(Z)}, but c > 0 and Z >= 0 are"
            " needed: raise L, or lower curvature, het_frequency or noise_smoothness."
        )
    return L, c, Z, L_n


def _check_sum(L: float | None, c: float, Z: float, L_n: float, slack: bool) -> float:
    """Return L where all parts are fixed: derived, or declared and not below what they reach."""
    # c and Z are bends of one gradient and add up; the noise is independent of it, and its
    # mean-squared slope adds in the square: E|g(x) - g(y)|^2 = ((c + Z)^2 + L_n^2) |x - y|^2.
    attained = math.hypot(c + Z, L_n)
    if L is None or math.isclose(L, attained, rel_tol=ROUNDING):
        return attained if L is None else L
    arithmetic = (
        f"sqrt((c + Z)^2 + L_n^2) = sqrt(({c:.6g} + {Z:.6g})^2 + {L_n:.6g}^2) = {attained:.6g}"
    )
    if L < attained:
        raise UsageError(
            f"L is {L:.6g}, but {arithmetic} is larger: raise L or lower one of the parts."
        )
    if not slack:
        raise UsageError(
            f"L is {L:.6g}, but the parts only reach {arithmetic}: leave L out to derive it,"
            " or set slack=true to declare a larger L as an upper bound."
        )
    return L


def _leg(hypotenuse: float, leg: float, name: str) -> float:
    """Return the other leg of a right triangle: sqrt(L^2 - leg^2)."""
    if leg > hypotenuse * (1 + ROUNDING):
        raise UsageError(
            f"{name} is {leg:.6g}, but it must not exceed L = {hypotenuse:.6g}"
            f" (L^2 = (c + Z)^2 + L_n^2): lower {name} or raise L."
        )
    if hypotenuse > LARGEST:
        raise UsageError(f"L is {hypotenuse:.6g}, but it must be at most {LARGEST:g}: lower L.")
    return math.sqrt(max(hypotenuse**2 - leg**2, 0.0))  # a leg may be longer by rounding


def resolve_zeta(K: int, zeta: float | None, heterogeneity: str) -> tuple[float, str]:
    """Return zeta (default 1, or 0 where there is nothing to differ) and the model used."""
    if zeta is None:
        zeta = 0.0 if K == 1 or heterogeneity == "none" else 1.0
    zeta = real("zeta", zeta, minimum=0)
    if zeta > 0 and K == 1:
        raise UsageError(
            f"zeta is {zeta:g} with K = 1, but one worker cannot differ from itself:"
            " set zeta=0 or K=2 or more."
        )
    if zeta > 0 and heterogeneity == "none":
        raise UsageError(
            f"zeta is {zeta:g} with heterogeneity none, but it must be 0 there:"
            f" choose {_either(name for name in HETEROGENEITIES if name != 'none')}, or set zeta=0."
        )
    return zeta, heterogeneity if zeta > 0 else "none"


def _noise_smoothness(
    noise: str,
    sigma: float,
    dim: int,
    modulation: float,
    smoothness: float | None,
    frequency: float | None,
) -> float | None:
    """Return L_n as given directly or through its frequency; None if neither was given."""
    model = NOISES[noise]
    L_n = _optional("noise_smoothness", smoothness)
    w = _optional("noise_frequency", frequency)
    if L_n and not model.smooth:
        raise UsageError(
            f"noise_smoothness is {L_n:g}, but {noise} noise has L_n = 0: choose"
            f" {_either(m.name for m in NOISES.values() if m.smooth)} noise, or leave it out."
        )
    if L_n and sigma == 0 and model.bounded:
        raise UsageError(
            f"noise_smoothness is {L_n:g} with sigma = 0, but no noise has no slope:"
            " set sigma above 0 or leave noise_smoothness out."
        )
    if w is None:
        return L_n
    derived = model.smoothness(sigma, w, dim, modulation)
    if L_n is not None and not math.isclose(L_n, derived, rel_tol=ROUNDING):
        raise UsageError(
            f"noise_smoothness is {L_n:.6g}, but noise_frequency {w:.6g} means {derived:.6g}:"
            " give one of the two."
        )
    return derived


def _refuse_flat_waves(
    noise: str,
    heterogeneity: str,
    sigma: float,
    zeta: float,
    given: _Given,
    Z: float,
    L_n: float,
) -> None:
    """Refuse waves of frequency 0: they would not attain sigma or zeta."""
    if given.wavy_het and Z == 0:
        raise UsageError(
            f"zeta is {zeta:g} with {heterogeneity}, but the dials leave no curvature Z for it"
            " (c = L_f): lower curvature, or choose heterogeneity tilt."
        )
    if NOISES[noise].bounded and not NOISES[noise].steady and sigma > 0 and L_n == 0:
        raise UsageError(
            f"noise_smoothness is 0 with {noise} noise, but then sigma is not attained:"
            " raise noise_smoothness or choose additive noise."
        )


def _refuse_idle_waves(asked: AskedDials, heterogeneity: str) -> None:
    """Refuse dials of waves that the chosen models do not have: they would change nothing."""
    if _optional("noise_frequency", asked.noise_frequency) and not NOISES[asked.noise].waves:
        raise UsageError(
            f"noise_frequency is {asked.noise_frequency}, but {asked.noise} noise has no wave:"
            " leave it out, or"
            f" choose {_either(m.name for m in NOISES.values() if m.waves)} noise."
        )
    push = HETEROGENEITIES[heterogeneity]
    idle = {
        "het_frequency": _optional("het_frequency", asked.het_frequency),
        "het_phase": real("het_phase", asked.het_phase),
    }
    for name, value in idle.items():
        if value and not push.waves:
            raise UsageError(
                f"{name} is {value}, but heterogeneity {push.name} has no wave: leave it out,"
                f" or choose {_either(m.name for m in HETEROGENEITIES.values() if m.waves)}."
            )


def _optional(name: str, value: float | None, *, positive: bool = False) -> float | None:
    if value is None:
        return None
    return real(name, value, minimum=None if positive else 0, positive=positive)


def _either(names: Iterable[str]) -> str:
    """Return 'a', 'a or b', or 'a, b or c'."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _shown(value: float | None) -> str:
    return "free" if value is None else f"{value:.6g}"

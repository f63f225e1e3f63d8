"""Constants found in floats, rounded to short decimals that the checker still accepts.

h and c_0 are rounded first and the rest is found again, with something to spare in every line;
what only has to be large enough or small enough (Lam, A_sigma, A_zeta, the c's) is rounded to its
safe side in exact fractions.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from stemtheory.certificates import Weights
from stemtheory.runtime import UsageError, large
from stemtheory.tightening import checker
from stemtheory.tightening.program import Covered, Proposal, proposed

LARGEST_RATIO = 10**6
DIGITS = range(2, 9)  # of h and c_0; other constants have two more
SPARE = (0.3, 3.0, 30.0)  # margins tried, in units of the last digit of the others
WORSE = 2e-3  # the share of C that short decimals may cost
NAMES = {"p_0": "p", "A_s": "A_sigma", "A_z": "A_zeta"}  # as the file calls them, if otherwise


class Tightened(NamedTuple):
    """A file that the checker has accepted, and the C of the floats that it was rounded from."""

    document: dict[str, Any]
    least: float

    @property
    def statement(self) -> dict[str, Any]:
        """What is proved, its numbers exact."""
        return checker.read(self.document)[0]

    @property
    def sides(self) -> list[checker.Side]:
        """Every inequality of the proof."""
        return checker.sides(*checker.read(self.document))

    def C(self, weights: Weights) -> float:
        """c_D w_D + c_S w_S + c_Z w_Z."""
        s = self.statement
        return math.fsum(w * float(s[f"c_{n}"]) for n, w in zip("DSZ", weights, strict=True))

    @property
    def data(self) -> bytes:
        """The bytes of its file."""
        return (json.dumps(self.document, indent=1) + "\n").encode()


def tightened(within: Covered, weights: Weights) -> Tightened:
    """Return the best theorem for the weights, in decimals as short as 0.2 % of C allow.

    Raises
    ------
    UsageError
        Where nothing is proved, with the range in which something is.
    """
    if within.ratio > LARGEST_RATIO:
        raise UsageError(
            f"ratio is {large(within.ratio)}, but theorems are looked for up to"
            f" {LARGEST_RATIO} local steps per sync batch: give a smaller ratio, that is a larger"
            " sync batch."
        )
    best = proposed(within, weights)
    if not best.met:
        longest = _longest(within, weights)
        if within.fixed.get("h_0", 0) < longest.constants["h_0"]:  # close to it the walk may fail
            best = proposed(within, weights, start=longest.constants)
    if not best.met:
        raise UsageError(_nothing(within, longest))
    for digits, to in itertools.product(DIGITS, (near, below)):
        steps = {**_short(best.constants, digits, to), **within.fixed}
        for spare in SPARE:
            margin, at = spare * 10.0 ** -(digits + 2), within._replace(fixed=steps)
            found = proposed(at, weights, margin, start=best.constants)
            if not found.met:
                break
            rounded = _rounded(within, {**found.constants, **steps}, digits + 2, best.C)
            if rounded is not None and rounded.C(weights) <= (1 + WORSE) * best.C:
                return rounded
    raise UsageError(_nothing(within, _longest(within, weights)))


def _longest(within: Covered, weights: Weights) -> Proposal:
    """Return the constants of the largest h, whatever C."""
    fixed = {name: value for name, value in within.fixed.items() if name != "h_0"}
    return proposed(within._replace(fixed=fixed), weights, longest=True)


def _nothing(within: Covered, longest: Proposal) -> str:
    """Return why nothing is proved, with the longest step at which something is."""
    fixed = (f"{name[0]} = {value}" for name, value in within.fixed.items())  # h, or c
    asked = ", ".join(fixed) or "these weights"
    most = math.floor(1e3 * longest.constants["h_0"]) / 1e3
    return (
        f"nothing is proved by Theorem R*'s inequalities at {asked}, reading {within.reading},"
        f" ratio {within.ratio}: there h = eta L I is at most {most:g}; give a smaller h or ratio."
    )


def _short(
    found: Mapping[str, float], digits: int, to: Callable[[float, int], Fraction]
) -> dict[str, Fraction]:
    """Return h and c_0 of so many digits: of c_0 it is a = c_0 h^2/(b K I^2) that is short.

    Longer steps than the best may not be proved at all, hence ``to``.
    """
    if "h_0" not in found or "c_0" not in found:
        return {name: near(found[name], digits) for name in ("h_0", "c_0") if name in found}
    h = to(found["h_0"], digits)
    return {"h_0": h, "c_0": near(found["c_0"] * float(h) ** 2, digits) / h**2}


def _rounded(
    within: Covered, found: Mapping[str, float | Fraction], digits: int, least: float
) -> Tightened | None:
    """Return a theorem whose constants have so many digits, if there is one."""
    n = {name: near(v, digits) if isinstance(v, float) else v for name, v in found.items()}
    document = _document(within, n | {"tau": min(n["tau"], Fraction(1))}, digits)
    try:
        checker.check(document)
    except ValueError:
        return None
    return Tightened(document, least)


def _document(within: Covered, n: dict[str, Fraction], digits: int) -> dict[str, Any]:
    """Return the file of these constants, those with a safe side moved to it."""
    h, c_0, alpha = n["h_0"], n["c_0"], n["c_0"] * n["h_0"] ** 2
    n["Lam"] = below(2 * (2 - alpha / 4) * c_0 / (1 + n["p_0"]), digits)
    n["Lam_1"] = below(2 * (2 - alpha) * c_0, digits)
    given = {NAMES.get(name, name): value for name, value in n.items()}
    n = {name: given[name] for name in checker.CONSTANTS}
    scope = {"reading": within.reading, "ratio": int(within.ratio), "least_I": within.least_I}
    known = {**scope, "h": h, "c_0": c_0, "c_D": h, "c_S": h, "c_Z": h}
    for target, name in (("zeta", "A_zeta"), ("sigma", "A_sigma")):
        n[name] = above(_largest(known, n, f"(7) of {target}"), digits)
    for name in ("c_D", "c_S", "c_Z"):
        known[name] = above(_largest(known, n, name), digits)
    numbers = {name: str(known[name]) for name in checker.NUMBERS}
    return {
        "format": checker.FORMAT,
        "version": checker.VERSION,
        "statement": {**scope, **numbers},
        "constants": {name: str(value) for name, value in n.items()},
    }


def _largest(s: Mapping[str, Any], n: dict[str, Fraction], name: str) -> Fraction:
    """Return the largest left side among the inequalities of a name."""
    return max(left for told, left, _ in checker.sides(dict(s), n) if told.startswith(name))


def near(value: float, digits: int) -> Fraction:
    """Return the decimal of so many significant digits that is nearest to a number."""
    return Fraction(f"{value:.{digits - 1}e}")


def above(value: Fraction | float, digits: int) -> Fraction:
    """Return the least decimal of so many significant digits that is no smaller."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return math.ceil(Fraction(value) / unit) * unit


def below(value: Fraction | float, digits: int) -> Fraction:
    """Return the largest decimal of so many significant digits that is no larger."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return math.floor(Fraction(value) / unit) * unit

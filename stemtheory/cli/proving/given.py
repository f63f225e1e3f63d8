"""What the options of commands that prove mean: statements, readings, exact numbers, weights."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from stemtheory.oracles import USUAL
from stemtheory.runtime import UsageError, choice, real, whole

if TYPE_CHECKING:
    from stemtheory.certificates import Statement, Weights

ALGORITHMS = ("stem", "fedavg")
CERTIFIED = ("literal", "average-first")
# Why the other readings have none, and a legal instance at which the theorem fails for them.
REFUSED = {
    "overwrite": "M7-overwrite",
    "average-both": "M7-average-both",
}


def statement_of(
    name: str | None,
    reading: str | None,
    given: dict[str, str | None],
    schedule: str | None,
    h: str | None,
    alpha: str | None,
) -> Statement:
    """Return the statement that the options ask for.

    Raises
    ------
    UsageError
        For an option that the algorithm has not, and for a reading without certificates.
    """
    from stemtheory.certificates import stated

    algorithm = choice("algorithm", name or "stem", ALGORITHMS)
    if schedule is not None:
        choice("schedule", schedule, ["theorem"])
        if h is not None or alpha is not None:
            raise UsageError(
                "--schedule was given beside --h or --alpha, but it sets both: leave one out."
            )
    if algorithm == "fedavg":
        stray = [f"--{n}" for n, v in (("reading", reading), ("alpha", alpha)) if v is not None]
        stray += ["--m"] * (given["m"] is not None)
        if stray:
            raise UsageError(
                f"{stray[0]} was given, but fedavg has neither momentum nor a jump: leave it out."
            )
    usual = {"K": USUAL.K, "I": 4, "b": 1, "m": 1}
    sizes = {n: whole(n, usual[n] if given[n] is None else given[n]) for n in usual}
    return stated(
        algorithm,
        reading_of(reading or CERTIFIED[0]),
        **sizes,
        h=None if h is None else fraction("h", h),
        alpha=None if alpha is None else fraction("alpha", alpha),
    )


def reading_of(name: str) -> str:
    """Return a reading that has certificates.

    Raises
    ------
    UsageError
        For one that has none, with the reason, and for an unknown one.
    """
    if name in REFUSED:
        raise UsageError(
            f"reading {name} has no round certificate: there the mean of the directions is no"
            " estimate of the mean gradient without a bias, which no assumption bounds by a"
            f" variance, and verify --replay {REFUSED[name]} is a legal instance beyond the"
            " theorem: choose literal or average-first."
        )
    return choice("reading", name, [*CERTIFIED, *REFUSED])


def fraction(name: str, text: str) -> Fraction:
    """Return the exact number that a decimal or a quotient writes.

    Raises
    ------
    UsageError
        For anything else, and for a number out of the range in which steps make sense.
    """
    found = None
    if re.fullmatch(r"[0-9]{1,40}/[0-9]{0,39}[1-9][0-9]{0,39}", text):
        found = Fraction(text)
    elif re.fullmatch(r"[0-9]{0,40}\.?[0-9]{0,40}(e-?[0-9]{1,2})?", text):
        real(name, text, positive=True)
        found = Fraction(text)
    if found is None or not Fraction(1, 10**6) <= found <= 10**3:
        raise UsageError(
            f"{name} is {text!r:.60}, but it must be a number from 1e-6 to 1000: write 0.25 or 1/4."
        )
    return found


def weights_of(text: str | None) -> Weights:
    """Return the three weights that a text such as 1,1,1 writes.

    Raises
    ------
    UsageError
        For anything else.
    """
    from stemtheory.certificates import Weights

    if text is None:
        return Weights()
    parts = [real("weights", part, positive=True) for part in text.split(",")]
    if len(parts) != len(Weights._fields) or not all(1e-6 <= part <= 1e6 for part in parts):
        raise UsageError(
            f"weights is {text!r:.60}, but it must be three numbers from 1e-6 to 1e6: write 1,1,1."
        )
    return Weights(*parts)

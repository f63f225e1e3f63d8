"""What a check can come to, in one vocabulary: claims, margins, fits, targets and the contract.

Every word is the string that tables print and JSON holds, and stands here with what it means.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """One word; ``meaning`` says in a sentence what it says."""

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Verdict:
        """Return the member ``word``, which is a plain string with a meaning."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    # a statement beside numbers
    PROVED = "proved", "by a machine, in exact arithmetic, for all problems at given numbers"
    HOLDS = "holds", "true of all that was looked at, beyond rounding and chance"
    VIOLATED = "violated", "false of something that was looked at, beyond rounding and chance"
    VACUOUS = "vacuous", "a bound that holds and is no better than standing still"
    UNDECIDED = "undecided", "the measurement allows both, or there is none"
    INAPPLICABLE = "inapplicable", "a premise is not met, so nothing is said of this"
    NOT_CHECKABLE = "not-checkable", "a definition, or a statement about what cannot be run here"

    # a declared constant
    EXACT = "exact", "attained at the witness and nowhere exceeded"
    BOUND = "bound", "an upper bound (for f_star a lower one), nowhere exceeded"
    UNBOUNDED = "unbounded", "declared infinite"
    ESTIMATE = "estimate", "the largest value met; it bounds nothing"
    NOT_ATTAINED = "not attained", "declared exact, but no witness attains it"

    # a fitted exponent
    CONSISTENT = "consistent", "the theory lies in the interval"
    WITHIN_TOLERANCE = "within tolerance", "near the theory, which the interval excludes"
    INCONCLUSIVE = "inconclusive", "the interval is wider than the distance to a rival exponent"
    FASTER = "faster", "a smaller cost in the limit than the bound's, which is not contradicted"
    SLOWER = "slower", "a larger cost than the bound's over this range"
    NOT_ESTIMABLE = "not-estimable", "too few points, or points without a logarithm"

    # the first T at which a target is met
    REACHED = "reached", "the target is crossed for the last time within the record"
    NOT_REACHED = "not-reached", "the target is not crossed within the record"
    BEFORE_RECORD = "before-record", "the target is met at the first recorded T already"

    @property
    def failed(self) -> bool:
        """Whether what was stated is refuted."""
        return self in (Verdict.VIOLATED, Verdict.NOT_ATTAINED)


# Of several verdicts the first of these that occurs decides: what is refuted, what is open, what is
# confirmed, and last what says nothing.
DECIDING = (
    *(Verdict.VIOLATED, Verdict.NOT_ATTAINED, Verdict.SLOWER),
    *(Verdict.UNDECIDED, Verdict.INCONCLUSIVE),
    *(Verdict.NOT_REACHED, Verdict.BEFORE_RECORD, Verdict.NOT_ESTIMABLE),
    *(Verdict.HOLDS, Verdict.PROVED, Verdict.WITHIN_TOLERANCE),
    *(Verdict.CONSISTENT, Verdict.FASTER, Verdict.REACHED),
    *(Verdict.BOUND, Verdict.EXACT, Verdict.UNBOUNDED, Verdict.ESTIMATE),
    *(Verdict.VACUOUS, Verdict.INAPPLICABLE, Verdict.NOT_CHECKABLE),
)


def combine(verdicts: Iterable[str]) -> Verdict:
    """Return the verdict of many: the first of ``DECIDING`` among them, not-checkable of none."""
    found = {Verdict(verdict) for verdict in set(verdicts)}  # millions of a few
    return next((verdict for verdict in DECIDING if verdict in found), Verdict.NOT_CHECKABLE)


def t_quantile(dof: float, share: float) -> float:
    """Return the number that Student's t with ``dof`` degrees stays below with chance ``share``."""
    from scipy.special import stdtrit  # takes longer to load than numpy

    return float(stdtrit(dof, share))

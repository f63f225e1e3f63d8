"""The smallest T at which a bound meets a condition, for fixed (b, I) and along a curve.

A bound is not monotone in T: along a curve it jumps up each time I does, and for fixed (b, I) the
noise term rises by up to 7.5 % just after the constant phase of the step size. The searches below
look only where the condition, once met, stays met: inside a phase, and inside a stretch of the
curve on which I is one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stemtheory.runtime import UsageError
from stemtheory.schedules import Curve

# Beyond, a stretch of the curve may be narrower than the spacing of floats.
LONGEST = 10**44
# Above this I the value at the end of a stretch falls with I; below, factors (I-1) may beat it.
_SCANNED = 12
# Steps of a search for where a bound crosses, and the least fall that it takes for one.
_SECANTS, _FLATTEST = 8, 0.02


def first_fixed(
    meets: Callable[[int], bool],
    I: int,
    phase_end: float,
    value: Callable[[int], float] | None = None,
    aim: float = 0.0,
) -> int:
    """Return the smallest multiple T of I that meets the condition.

    In the constant phase, T <= phase_end, every bound falls with T. Later it may rise once, then
    it falls for good: a bound that is too large at the end of the phase is met once, at the end.
    Where the condition is that ``value`` is at most ``aim``, the search begins where they meet.

    Raises
    ------
    UsageError
        If no T up to 1e44 does.
    """
    end = int(min(phase_end, LONGEST)) // I
    first, last = (1, end) if end >= 1 and meets(end * I) else (end + 1, LONGEST // I)
    guess = first
    if value is not None and first < last:  # a round may be longer than the longest run
        guess = _crossing(lambda S: value(S * I), aim, first, last)
    S = _gallop_from(lambda S: meets(S * I), first, guess, last)
    if S is None:
        raise UsageError(_TOO_LONG)
    return S * I


def first_on_curve(
    meets: Callable[[int, Curve], bool],
    point: Callable[[int], Curve],
    longest: Callable[[int], float],
) -> int:
    """Return the smallest T that is a multiple of its own I = point(T).I and meets the condition.

    ``longest(I)`` is the T at which the curve leaves I. On a stretch of equal I every bound falls
    with T, so its last T tells whether the stretch has an answer; from `_SCANNED` on these last
    values fall with I too.

    Raises
    ------
    UsageError
        If no T up to 1e44 does.
    """
    least = point(1).I

    def at(I: int, S: int) -> bool:
        return meets(S * I, point(S * I))

    def last(I: int) -> int:
        """The last whole round of the stretch, found to the precision of its closed form."""
        S, stride = int(min(longest(I), LONGEST)) // I, 1
        while S > 0 and point(S * I).I > I:
            S, stride = S - stride, 2 * stride
        return S + 1 if point((S + 1) * I).I <= I else S

    def answers(I: int) -> bool:
        S = last(I)
        return S > 0 and point(S * I).I == I and at(I, S)

    def first(I: int) -> int:
        if I == least:
            return 1
        before = last(I - 1) * (I - 1) // I
        S = _gallop(lambda S: point(S * I).I >= I, before + 1, LONGEST // I)
        return LONGEST // I if S is None else S

    def finish(I: int) -> int:
        end = last(I)
        S = _gallop(lambda S: at(I, S), first(I), end)
        return I * (end if S is None else S)

    for I in range(least, _SCANNED + 1):
        if answers(I):
            return finish(I)
    I = _SCANNED
    while not answers(I):
        if longest(I) >= LONGEST:
            raise UsageError(_TOO_LONG)
        I *= 2
    return finish(_first(answers, max(_SCANNED, I // 2), I))


_TOO_LONG = "No run of up to 1e44 steps meets the bound asked for: give a larger epsilon."


def _gallop(meets: Callable[[int], bool], first: int, last: int) -> int | None:
    """Return the first S in [first, last] that meets it, in growing strides; None if last fails."""
    low, S, stride = first, first, 1
    while not meets(S):
        if S >= last:
            return None
        low, S, stride = S + 1, min(S + stride, last), 16 * stride
    return _first(meets, low, S)


def _gallop_from(meets: Callable[[int], bool], first: int, guess: int, last: int) -> int | None:
    """Return what `_gallop` does: from a guess down to where it is not met, or up from there."""
    if not meets(guess):
        return _gallop(meets, guess, last)
    high, stride = guess, 1
    while high > first:
        low = max(first, high - stride)
        if not meets(low):
            return _first(meets, low + 1, high)
        high, stride = low, 16 * stride
    return first


def _crossing(value: Callable[[int], float], aim: float, first: int, last: int) -> int:
    """Return about the S at which a bound comes down to ``aim``; a guess, and no more.

    By secants, both scales logarithmic: a bound is a sum of powers, and so nearly straight.
    """
    S, before = first, None
    for _ in range(_SECANTS):
        now = value(S)
        if not (aim > 0 and 0 < now < math.inf):
            break
        x, y = math.log(S), math.log(now / aim)
        slope = -1.0 if before is None else min((y - before[1]) / (x - before[0]), -_FLATTEST)
        before = x, y
        following = min(max(math.ceil(math.exp(min(x - y / slope, math.log(last)))), first), last)
        if math.log(following) == x:
            break
        S = following
    return S


def _first(meets: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first S in [low, high] that meets it, given that high does."""
    while low < high:
        middle = (low + high) // 2
        if meets(middle):
            high = middle
        else:
            low = middle + 1
    return high

"""How a large number is written for people, in terminals, captions, figures and pages alike.

JSON and CSV hold every number in full, and what stands as ``T=4098`` is as a user may type it.
"""

from __future__ import annotations


def large(value: float, digits: int = 3) -> str:
    """Return a number with separators, 51,600, and from 1e6 on to some digits, 5.16e+07.

    A logarithmic axis with powers of ten keeps to them.
    """
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.{digits}g}"


def rounded(value: float, digits: int = 3) -> str:
    """Return a number to some significant digits, written as ``large`` has it."""
    return large(float(f"{value:.{digits}g}"), digits)


def counted(value: float) -> str:
    """Return a count: in full while it can be read, 51,696,882, and from 1e9 on to four digits."""
    if abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value:,.6g}" if abs(value) < 1e5 else f"{value:,.0f}"

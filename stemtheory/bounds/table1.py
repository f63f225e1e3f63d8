"""Table 1 of the paper as exponents of epsilon, exact where nu is exact.

Paper: Table: Comparison.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from stemtheory.runtime import UsageError

Power = Fraction | float


class TableRow(NamedTuple):
    """One row: exponents of epsilon in samples, rounds, b and I (0 is a constant).

    Samples are those of all workers. ``here`` marks this paper's own rows; the others are quoted.
    """

    algorithm: str
    samples: Power
    rounds: Power
    b: Power
    I: Power
    here: bool


def table1_exponents(nu: Fraction | float) -> tuple[TableRow, ...]:
    """Return the rows of Table 1 at ``nu`` in [0, 1]; Fractions if ``nu`` is an int or a Fraction.

    Each exponent follows from T(eps): STEM has T = eps^{-3/(3-nu)}, b = T^{(1-nu)/2},
    I = T^{nu/3}; FedAvg T = eps^{-6/(4-nu)}, b = T^{(1-nu)/3}, I = T^{nu/4}.

    Raises
    ------
    UsageError
        If nu is not a number in [0, 1].

    Paper: Table: Comparison.
    """
    if isinstance(nu, int):
        nu = Fraction(nu)
    if not 0 <= nu <= 1:
        msg = f"nu is {nu}, but it must be in [0, 1]: give a number between them."
        raise UsageError(msg)
    half = Fraction(1, 2)
    return (
        _literature("FedAvg (Yu et al.)", -2, -3 * half, -half),
        _literature("FedAvg (Karimireddy, Yang et al.)", -2, -2, 0),
        _row("FedAvg", -6 / (4 - nu), (1 - nu) / 3, nu / 4),
        _literature("SCAFFOLD", -2, -2, 0),
        _literature("FedPD/FedProx", -2, -1, -1),
        _literature("MIME/FedGLOMO", -3 * half, -3 * half, 0),
        _row("STEM", -3 / (3 - nu), (1 - nu) / 2, nu / 3),
        _row("Fed STEM", -3 * half, Fraction(0), Fraction(1, 3)),
        _row("Minibatch STEM", Fraction(-1), half, Fraction(0)),
    )


def _row(algorithm: str, T: Power, b: Power, I: Power) -> TableRow:
    """Turn the exponent of T in epsilon, and those of b and I in T, into a row."""
    return TableRow(algorithm, T * (1 + b), T * (1 - I), T * b, T * I, here=True)


def _literature(
    algorithm: str, samples: Fraction | int, rounds: Fraction | int, I: Fraction | int
) -> TableRow:
    return TableRow(
        algorithm, Fraction(samples), Fraction(rounds), Fraction(0), Fraction(I), here=False
    )

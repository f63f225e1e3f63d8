"""What a round certificate speaks of: an algorithm's round at given numbers, all exact.

Source: the round of STEM, paper: Alg: PR_STEM (three readings), and of FedAvg, paper: Alg: FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from stemtheory.runtime import UsageError

AVERAGE_FIRST, LITERAL, NONE = "average-first", "literal", "none"
LARGEST_COUNT, LONGEST_ROUND = 10**9, 32


@dataclass(frozen=True)
class Statement:
    """The round that (C) bounds, with L = 1; steps are in units of 1/L.

    ``eta`` and ``a`` are the constant step and momentum, ``delta`` the part of the gradient's sum
    that is given away (0 but for special purposes), ``m`` the factor on the batch at the jump.

    Raises
    ------
    UsageError
        For a number outside of what the statement allows.
    """

    algorithm: str
    reading: str
    I: int
    K: int
    b: int
    m: int
    eta: Fraction
    a: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _refuse_sizes(I=self.I, K=self.K, b=self.b, m=self.m)
        if self.eta <= 0 or not 0 <= self.a <= 1 or not 0 <= self.delta < 1:
            raise UsageError(
                f"eta is {float(self.eta):g} and a is {float(self.a):g}, but eta must be above 0"
                " and a at most 1: give smaller steps."
            )

    @property
    def stem(self) -> bool:
        """Whether this is a round of STEM."""
        return self.algorithm == "stem"

    @property
    def literal(self) -> bool:
        """Whether workers start a round where they are."""
        return self.reading == LITERAL

    @property
    def draws(self) -> range:
        """The draws of samples within the round, by their step."""
        return range(1, self.I + 1) if self.stem else range(self.I)

    @property
    def apart(self) -> range:
        """The steps after which workers stand apart, so that U_j is a vector of its own."""
        return range(2, self.I + self.literal) if self.stem else range(1, self.I)

    @property
    def averaged(self) -> int:
        """The step after which the iterates are averaged."""
        return 1 if self.literal else self.I

    @property
    def work(self) -> int:
        """I b K, on which the trade-off curve's S <= (I b K)^2 rests."""
        return self.I * self.b * self.K

    def batch(self, j: int) -> int:
        """Return the size of draw j's minibatch: m b at the jump, else b."""
        jump = self.stem and self.I > 1 and j == self.averaged
        return self.b * self.m if jump else self.b


def stated(
    algorithm: str,
    reading: str,
    *,
    I: int,
    K: int,
    b: int,
    m: int = 1,
    h: Fraction | None = None,
    alpha: Fraction | None = None,
) -> Statement:
    """Return the statement at eta = h/I and a = alpha/(I^2 b K), the printed steps by default.

    With one local step all readings agree, and the statement says average-first.

    Source: paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size), constant phase; for FedAvg
    eta = 1/(9 L I), paper: Thm: FedAvg.
    """
    _refuse_sizes(I=I, K=K, b=b, m=m)
    if m > 1 and (I == 1 or algorithm == "fedavg"):
        raise UsageError(
            f"m is {m}, but no draw spans an averaging in FedAvg, nor with I = 1: leave m out."
        )
    if algorithm == "fedavg":
        eta = (Fraction(1, 9) if h is None else h) / I
        return Statement("fedavg", NONE, I, K, b, m, eta, Fraction(1))
    eta = (Fraction(1, 16) if h is None else h) / I
    c = Fraction(64, b * K) + Fraction(1, 24 * (b * K) ** 2 * I)
    a = c * eta * eta if alpha is None else alpha / (I * I * b * K)
    return Statement("stem", AVERAGE_FIRST if I == 1 else reading, I, K, b, m, eta, a)


def _refuse_sizes(**sizes: int) -> None:
    """Refuse what the file's format does not hold."""
    for name, size in sizes.items():
        most = LONGEST_ROUND if name == "I" else LARGEST_COUNT
        if not 1 <= size <= most:
            raise UsageError(
                f"{name} is {size:.10g}, but a certificate takes a whole number from 1 to {most}:"
                " give one of them."
            )

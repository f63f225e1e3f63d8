"""Step sizes eta_t and momenta a_t of STEM; sigma cancels, so nothing here divides by it.

Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, UsageError, real, whole


def theorem_c_b(K: Any, b: Any, I: Any) -> Any:
    """Return c_b = c bK/L^2 = 64 + 1/(24 bKI), the momentum constant without its units."""
    return 64 + 1 / (24 * b * K * I)


def theorem_offset(K: Any, b: Any, I: Any) -> Any:
    """Return m = max{2, c_b^3/(4096 bK I^3)}: the decaying phase is (bK)^{2/3}/(L (t+m)^{1/3})."""
    c_b = theorem_c_b(K, b, I)
    return np.maximum(2.0, c_b * c_b * c_b / (4096.0 * b * K * I * I * I))


def theorem_eta(t: Any, L: Any, K: Any, b: Any, I: Any) -> Any:
    """Return the paper's eta_t for a float or an array t, as a minimum of three branches.

    The branches of w_t without sigma: 1/(16LI), (bK)^{2/3}/(L (t+2)^{1/3}) and
    [c^3/(4096 L^3 I^3) + t L^3/(bK)^2]^{-1/3}; the last two share one form and are merged in m.

    Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size).
    """
    m = theorem_offset(K, b, I)
    return np.minimum(1 / (16 * L * I), (b * K) ** (2 / 3) / (L * np.cbrt(t + m)))


def theorem_sum_eta_cubed(T: Any, L: Any, K: Any, b: Any, I: Any) -> Any:
    """Return sum_{t=1}^T eta_t^3 for a float or an array T, exactly, at any T.

    T_c/(16LI)^3 + ((bK)^2/L^3) [psi(T+1+m) - psi(T_c+1+m)], psi the digamma function and T_c the
    last step of the constant phase: the decaying phase is a sum of 1/(t+m).
    """
    from scipy.special import digamma  # takes longer to load than numpy, and few commands sum

    m = theorem_offset(K, b, I)
    T_c = np.minimum(T, np.floor(4096.0 * I * I * I * (b * K) ** 2 - m))
    cap, unit = 1 / (16 * L * I), (b * K) ** 2 / (L * L * L)
    return T_c * cap * cap * cap + unit * (digamma(T + 1 + m) - digamma(T_c + 1 + m))


@dataclass(frozen=True)
class Theorem:
    """The schedule of the theorem; valid at sigma = 0, where the printed formula is 0/0.

    Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size).
    """

    L: float
    K: int
    b: float
    I: int
    name: ClassVar[str] = "theorem"

    def __post_init__(self) -> None:
        check_setting(self.L, self.K, self.b, self.I)

    @property
    def c(self) -> float:
        """The momentum constant c = L^2 (64/(bK) + 1/(24 (bK)^2 I))."""
        return self.L * self.L * self.c_b / (self.b * self.K)

    @property
    def c_b(self) -> float:
        """The same without units, c_b = c bK/L^2."""
        return float(theorem_c_b(self.K, self.b, self.I))

    @property
    def constant_phase_end(self) -> float:
        """T_const: eta_t = 1/(16LI) exactly for every t <= 4096 I^3 (bK)^2 - m."""
        m = theorem_offset(self.K, self.b, self.I)
        return float(4096.0 * self.I**3 * (self.b * self.K) ** 2 - m)

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t for t >= 0."""
        return np.asarray(theorem_eta(times(t), self.L, self.K, self.b, self.I))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t = c eta_{t-1}^2 for t >= 1; at most 0.2502, so it needs no clipping."""
        return self.c * self.eta(times(t) - 1) ** 2

    def sum_eta_cubed(self, T: ArrayLike) -> Floats:
        """Return sum_{t=1}^T eta_t^3, same shape as T, for T up to 1e18 and beyond."""
        return np.asarray(theorem_sum_eta_cubed(times(T), self.L, self.K, self.b, self.I))

    def parameters(self) -> dict[str, float]:
        """Return L, K, b, I, c, and T_const."""
        return numbers(self) | {"c": self.c, "constant_phase_end": self.constant_phase_end}


@dataclass(frozen=True)
class Calibrated:
    """The theorem's shape with constants that let finite runs leave the constant phase.

    eta_t = min(1/(C1 L I), C3 (bK)^{2/3}/(L t^{1/3})), a_{t+1} = min(1, C2 L^2 eta_t^2/(bK)).
    In the decaying phase a_{t+1} = C2 C3^2 (bK)^{1/3}/t^{2/3}; below C2 C3^2 = 1 the error of the
    first batch is not damped, so such constants are refused.
    """

    L: float
    K: int
    b: float
    I: int
    C1: float = 2.0
    C2: float = 256.0
    C3: float = 1 / 16
    name: ClassVar[str] = "calibrated"

    def __post_init__(self) -> None:
        check_setting(self.L, self.K, self.b, self.I)
        for key in ("C1", "C2", "C3"):
            real(key, getattr(self, key), positive=True)
        if self.C2 * self.C3 * self.C3 < 1:
            msg = (
                f"C2={self.C2:g}, C3={self.C3:g} give C2*C3^2={self.C2 * self.C3**2:g}, but it must"
                " be at least 1 or the first batch's error is never damped: raise C2 or C3."
            )
            raise UsageError(msg)

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t for t >= 0; the decaying branch is infinite at t = 0."""
        root = np.cbrt(np.maximum(times(t), 1e-300))
        decaying = self.C3 * (self.b * self.K) ** (2 / 3) / (self.L * root)
        return np.asarray(np.minimum(1 / (self.C1 * self.L * self.I), decaying))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t for t >= 1, clipped at 1."""
        c = self.C2 * self.L * self.L / (self.b * self.K)
        return np.asarray(np.minimum(1.0, c * self.eta(times(t) - 1) ** 2))

    def parameters(self) -> dict[str, float]:
        """Return L, K, b, I and the three constants."""
        return numbers(self)


@dataclass(frozen=True)
class Practical:
    """The schedule of the paper's experiments: w_t = 1 and c = cbar/kappa^2, a_t clipped at 1.

    Paper: sec: Experiments.
    """

    kappa: float = 0.1
    cbar: float = 1.0
    sigma: float = 0.5
    name: ClassVar[str] = "practical"

    def __post_init__(self) -> None:
        real("kappa", self.kappa, positive=True)
        real("cbar", self.cbar, positive=True)
        real("sigma", self.sigma, minimum=0)

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t = kappa/(1 + sigma^2 t)^{1/3} for t >= 0."""
        return np.asarray(self.kappa / np.cbrt(1 + self.sigma**2 * times(t)))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t = min(1, cbar (eta_{t-1}/kappa)^2) for t >= 1."""
        relative = self.eta(times(t) - 1) / self.kappa
        return np.asarray(np.minimum(1.0, self.cbar * relative**2))

    def parameters(self) -> dict[str, float]:
        """Return kappa, cbar and sigma."""
        return numbers(self)


@dataclass(frozen=True)
class Constant:
    """One step size and one momentum for every t."""

    eta_value: float
    a_value: float = 1.0
    name: ClassVar[str] = "constant"

    def __post_init__(self) -> None:
        real("eta", self.eta_value, positive=True)
        if real("a", self.a_value, minimum=0) > 1:
            raise UsageError(f"a is {self.a_value:g}, but it must be in [0, 1]: give a=1 or less.")

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_value in the shape of t."""
        return np.full_like(times(t), self.eta_value)

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_value in the shape of t."""
        return np.full_like(times(t), self.a_value)

    def parameters(self) -> dict[str, float]:
        """Return the two values."""
        return numbers(self)


def coupled(eta: float, c: float) -> Constant:
    """Return the constant eta with the momentum that theory couples to it, a = min(1, c eta^2)."""
    return Constant(eta, min(1.0, c * real("eta", eta, positive=True) ** 2))


def check_setting(L: float, K: int, b: float, I: int) -> None:
    """Refuse an L, K, b or I that no schedule can use."""
    real("L", L, positive=True)
    whole("K", K)
    real("b", b, minimum=1)
    whole("I", I)


def times(t: ArrayLike) -> Floats:
    """Return t as float64, exact for steps up to 2^53; refuse t < 0 and NaN."""
    steps = np.asarray(t, dtype=np.float64)
    if np.any(~(steps >= 0)):
        raise UsageError("t is below 0 or not a number, but steps count from 0: give t >= 0.")
    return steps


def numbers(schedule: Any) -> dict[str, float]:
    """Return the fields of a schedule as floats."""
    return {key: float(value) for key, value in asdict(schedule).items()}

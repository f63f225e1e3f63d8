"""What the repaired proof chooses, and the coefficients that its steps 4 to 7 collect.

See docs/repaired-theorem.md. A jump costs as much as its minibatch is large: ``jump`` is 1/m with a
sync batch, 1/phi^2 or 1/mu in the variants E2 and E3.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from stemtheory.bounds import REPAIRED
from stemtheory.claims.language import Expr, Line, Q
from stemtheory.claims.language.letters import I, K, b, c_b, exp, p_A, p_C, p_D, theta

THEOREM, SUM = "Thm: PR_Convergence_Main_App", "Eq: Grad_Norm_Sum"
DRIFT = "lem: GradientError_PotentialFn_App"


def _part(name: str, theta: str, weights: str) -> dict[str, Fraction]:
    """Return theta, the weights of (4), and A_sigma and A_zeta = A_0 + A_1 I/m as stated."""
    A_s, (A_0, A_1) = REPAIRED[name].A_s, REPAIRED[name].A_z
    split = dict(zip(("p_A", "p_C", "p_D"), map(Fraction, weights.split()), strict=True))
    return {"theta": Fraction(theta), **split, "A_s": A_s, "A_0": A_0, "A_1": A_1}


PARTS: Mapping[str, Mapping[str, Fraction]] = {
    "a": _part("a", "1", "0.58 0.25 0.10"),
    "b": _part("b", "1/20", "0.62 0.26 0.05"),
    "c": _part("c", "1/10", "0.15 0.70 0.08"),
}

# The printed coefficient 64^2 of the logarithm is 128^2/4, ours 2 A c_b^2.
MOST = Q("1/8") * (128 / c_b) ** 2
G, R, RHO = Q("1.0687"), Q("1.0001"), Q("0.0669")
q = 1 + theta
DRIFT_COST = q / 240 + Q("15.5") / 512  # of step 6, the script E
e = 960 * G**2 * DRIFT_COST / (256 * q)


def step_seven(jump: Expr, A_sigma: Expr, A_zeta: Expr, mu: Expr | int = 1) -> Line:
    """Return that ||dbar||^2 is absorbed, and zeta^2 and sigma^2 get the coefficients stated."""
    longer, once = I * jump + e, q * R * G**2 / (240 * (1 - RHO))
    drift = 4 * DRIFT_COST * R * G**2
    still = (jump + e / I) * 4 * once / (2304 * p_D) + drift / (512 * I)
    return (
        (longer * once / (768 * p_A) + drift / 512 <= Q("1/2") - Q("1/64") - q / 240)
        & (mu**2 * (longer * once / (2048 * p_C) + drift / 1536) <= mu**2 * A_zeta)
        & (mu * (1 + 1 / theta) / 240 + mu**2 / b * still <= mu * A_sigma)
    )


def error_cancels(mu: Expr | int = 1) -> Line:
    """Return that ||ebar_t||^2 cancels in step 3: 124 <= (2 - a) c_b - u."""
    u = 1 / (24 * b * K * I)
    a = mu * (64 + u) / (256 * I**2 * b * K)
    return 240 * Q("31/60") * mu <= (2 - a) * mu * (64 + u) - u


r = Q("1.0000204")  # the largest quotient of step sizes within a round
UNIVERSAL = (
    (c_b * (I - 1) / (256 * I**2) <= Q("0.06253"))
    & (exp(Q("1.06253") / 16) <= G)
    & (1 + 1 / (4096 * I**2 * (b * K) ** 2) <= r**3)
    & (r * G / 16 <= RHO)
    & (r**4 <= R)
    & (p_A + p_C + p_D <= 1 - RHO)
)

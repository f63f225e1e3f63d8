"""Proofs of the arithmetic of the printed proof and of the repaired theorem's constants.

K, b, I and m are any real numbers from 1 on, so that no I and no sync batch is left out.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: GradNorm_1stTerm), eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from stemtheory.bounds import REPAIRED
from stemtheory.certificates.lemmas.schedule import CAP, FIXED, KBAR, size, weight
from stemtheory.certificates.lemmas.statement import Choice, Cut, Fact
from stemtheory.claims import PARTS
from stemtheory.claims.language import Index, Line, Q, equal, expr
from stemtheory.claims.language.letters import (
    B,
    I,
    K,
    L,
    M,
    S,
    T,
    a,
    b,
    c,
    c_b,
    eta,
    kbar,
    log,
    m,
    maximum,
    mu,
    phi,
    sigma,
    sqrt,
    sum_t,
    t,
    w,
)
from stemtheory.claims.language.letters import l as each

# --- the printed proof --------------------------------------------------------------------------

SLOW = (b * K) ** Q("2/3") * T ** Q("2/3")
OUTER, LAST_STEP = 1 / (eta[T] * T), 16 * L * I / T + L / SLOW
M7E = OUTER <= LAST_STEP
M7C = sum_t(each, 1, T, eta[each] ** 3) <= kbar**3 / sigma**2 * log(T + 1)
ZERO = Index("", 0)

# --- the repaired theorem -----------------------------------------------------------------------

C_B = equal(c_b, 64 + 1 / (24 * b * K * I))


def part(name: str, *more: Line) -> dict[str, Choice]:
    """Return the choices of a part, and its range: I >= 2 and I/m at most its longest."""
    values = {letter: expr(value) for letter, value in PARTS[name].items()}
    given = (I >= 2) & (I <= m * REPAIRED[name].longest)
    for line in more:
        given = given & line
    return {f"part ({name})": (values, given)}


def beyond(*more: Line) -> dict[str, Choice]:
    """Return the choices of part (b) for every I from 40000 on, without a sync batch."""
    values = {letter: expr(value) for letter, value in PARTS["b"].items()}
    given = I >= REPAIRED["b"].longest
    for line in more:
        given = given & line
    return {"part (b)": (values, given)}


SHARE = I / REPAIRED["b"].longest
ELEMENTARY = {"c_b": C_B, "I": (I >= 2) & (I <= 318)}
# While steps are constant, which they are as long as SCH10 says.
STEADY = {
    "c_b": C_B,
    "c": equal(c, c_b * L**2 / (b * K)),
    "SCH10": equal(eta[T], CAP) & equal(eta[0], CAP),
    "sum": equal(sum_t(t, 1, T, eta[t] ** 3), T * CAP**3),
    "I": I >= 2,
}
LEAST = sqrt(S) / (I * K)  # b on the curve
FACTS = (
    Fact("M6a", "4 -> 8", premises={"SCH3": eta[t - 1] <= CAP, "SCH7": (a[t] >= 0) & (a[t] <= 1)}),
    Fact("M6d", "192 -> 384", premises={"SCH4": equal(c, 128 * L**2 / (b * K))}),
    Fact("M6e", "33/256 -> 33/128"),
    Fact("M7a-C", "7 -> 8", premises={"SCH3": eta[t] <= CAP}),
    Fact(
        "M7d",
        "32 -> 16",
        premises={"M7c": M7C},
        says="its first step is M7c, which is a premise here",
    ),
    Fact(
        "M7e",
        "16 -> 15",
        premises={"eta_T": size(T), "w_T": weight(T), **FIXED},
        cuts={"SCH6": Cut(w[T] <= 4096 * L**3 * I**3 * kbar**3, ("w_T", "kbar", "c"))},
        uses={0: ("eta_T",), 1: ("SCH6", "kbar")},
    ),
    Fact(
        "M7f",
        "32 -> 31",
        premises={"M7e": M7E, "eta_0": size(ZERO), "w_0": weight(ZERO), **FIXED},
        cuts={
            "flat": Cut(w[0] <= 4096 * L**3 * I**3 * kbar**3, ("w_0", "kbar", "c")),
            "start": Cut(1 / eta[0] <= 16 * L * I, ("eta_0", "flat")),
        },
        uses={0: ("M7e", "start"), 1: ()},
    ),
    Fact(
        "M7g",
        "4 -> 3",
        premises={"M7e": M7E, "SCH4": c <= 128 * L**2 / (b * K), "kbar": KBAR},
    ),
    Fact("F2c", "16 -> 32"),
    Fact(
        "R4",
        "1.0687 -> 10687/5000",
        premises={"c_b": C_B},
        values=part("a") | part("b") | part("c"),
        says="every real I/m up to the part's longest, every bK >= 1",
    ),
    Fact("Ri", "1/8 -> 1/16", premises={"c_b": C_B}, values=part("b")),
    Fact("Rii", "3/64 -> 1/32", premises={"c_b": C_B}, values=part("c", equal(m, 1))),
    Fact("Riii", "1142 -> 571", premises={"c_b": C_B}, values=part("a")),
    Fact(
        "E2",
        "1/8 -> 1/16",
        premises={"c_b": C_B},
        values=beyond(equal(phi**2, SHARE)),
        says="every I from 40000 on, without end",
    ),
    Fact(
        "E3",
        "1.0687 -> 10687/5000",
        premises={"c_b": C_B},
        values=beyond(equal(mu, SHARE)),
        says="every I from 40000 on, without end",
    ),
    Fact("REP3", "33 -> 33/2", premises=ELEMENTARY),
    Fact("REP5", "1/8 -> 1/16", premises=ELEMENTARY),
    Fact(
        "REP6",
        "32 -> 31",
        premises={
            "c_b": C_B,
            "I": I >= 2,
            "m": m >= I / 85,
            "phi": equal(phi**2, maximum(1, I / 86)),
        },
        says="every I from 2 on, without end",
    ),
    Fact(
        "E1",
        "2 -> 1",
        premises={"m": (m >= I / M) & (m <= I / M + 1)},
        says="the line, with m at least I/M and at most one above",
    ),
    Fact("Riv", "32 -> 31", premises=STEADY),
    Fact(
        "LOGFREE",
        "32 -> 31",
        premises={
            **STEADY,
            "rounds": equal(T, S * I) & equal(B, b * I),
            "curve": b >= LEAST,
            "a": I <= m * REPAIRED["a"].longest,
            "rounded": b <= 2 * maximum(1, LEAST),
        },
        uses={
            **dict.fromkeys(range(5), (*STEADY, "rounds", "curve", "a")),
            5: ("c_b", "I", "curve", "rounded"),
        },
        says="the last comparison where b is that of the curve rounded up",
    ),
)

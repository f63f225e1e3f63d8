"""Proofs of the claims on the theorem's step sizes.

In cubes every inequality about steps is one between polynomials: eta_t^3 (w_t + sigma^2 t) =
kbar^3, where w_t is the largest of three and kbar^3 = (bK)^2 sigma^2/L^3.

Paper: Thm: PR_Convergence_Main_App, eq. (eq: Step-Size), eq. (Eq: Step_Difference).
"""

from __future__ import annotations

from stemtheory.certificates.lemmas.statement import Cut, Fact
from stemtheory.claims import CHOSEN, WEIGHT
from stemtheory.claims.language import Expr, Index, Line, Q, equal, put
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    T,
    a,
    b,
    c,
    eta,
    kbar,
    minimum,
    sigma,
    t,
    w,
)

KBAR = equal(kbar**3 * L**3, (b * K) ** 2 * sigma**2)
CONSTANT = equal(c, CHOSEN)
CAP = 1 / (16 * L * I)
UNIT, LAST_UNIT = (b * K) ** 2 / L**3, c**3 * (b * K) ** 2 / (4096 * L**6 * I**3)


def cube(at: Index) -> Expr:
    """Return kbar^3/eta^3 at a time."""
    return w[at] + sigma**2 * at


def size(at: Index) -> Line:
    """Return what eta is at a time."""
    return equal(eta[at] ** 3 * cube(at), kbar**3)


def weight(at: Index) -> Line:
    """Return what w is at a time."""
    return equal(w[at], put(WEIGHT, t, at))


NOW = {"eta_t": size(t), "w_t": weight(t)}
BEFORE = {"eta_(t-1)": size(t - 1), "w_(t-1)": weight(t - 1)}
BOTH = ("w_t", "w_(t-1)")
FIXED = {"kbar": KBAR, "c": CONSTANT}
NOT_LESS = Cut(cube(t) >= cube(t - 1), BOTH)
SUM = WEIGHT + sigma**2 * t  # cube(t) written out
FIRST, LAST = UNIT / (2 + t), UNIT / (LAST_UNIT + t)
CUBES = equal(kbar**3 / SUM, minimum(CAP**3, FIRST, LAST))
C_B = Cut(c * b * K <= Q("64.042") * L**2, ("kbar", "c"))

FACTS = (
    Fact(
        "SCH0",
        "2 -> 4",
        premises={"kbar": KBAR},
        cuts={"cubes": Cut(CUBES, ("kbar",))},
        uses={0: ("cubes",)},
        atoms=(SUM, FIRST, LAST),
    ),
    Fact("SCH1", "64 -> 65", premises={"kbar": KBAR}),
    Fact(
        "SCH2",
        (eta[t - 1] <= eta[t]) & (w[t - 1] <= w[t]),
        premises=NOW | BEFORE | FIXED,
        cuts={"not less": NOT_LESS},
        uses={0: ("eta_t", "eta_(t-1)", "not less"), 1: BOTH},
    ),
    Fact(
        "SCH3",
        "16 -> 17",
        premises=NOW | FIXED,
        uses={0: tuple(NOW)},
        since=0,
        says="t is any real number from 0 on",
    ),
    Fact("SCH4", "128 -> 64", premises=FIXED),
    Fact("SCH5", "4096 -> 4095", premises={"w_t": weight(t), **FIXED}),
    Fact("SCH6", "4096 -> 4095", premises={"w_t": weight(t), **FIXED}, since=0),
    Fact(
        "SCH7",
        "0.2502 -> 1251/10000",
        premises={**BEFORE, "a_t": equal(a[t], c * eta[t - 1] ** 2), **FIXED},
        cuts={
            "c_b": C_B,
            "cap": Cut(eta[t - 1] <= CAP, ("eta_(t-1)", "w_(t-1)")),
        },
        uses={1: ("a_t", "cap", "c_b")},
    ),
    Fact(
        "SCH8",
        "3 -> 6",
        premises=NOW | BEFORE | FIXED,
        cuts={
            "not less": NOT_LESS,
            "not much more": Cut(cube(t) <= cube(t - 1) + sigma**2, BOTH),
            "two": Cut(cube(t - 1) >= 2 * sigma**2, ("w_(t-1)",)),
            "cap": Cut(eta[t] <= CAP, tuple(NOW)),
        },
        uses={0: ("eta_t", "eta_(t-1)", "not less", "not much more", "two"), 1: ("cap",)},
    ),
    Fact(
        "SCH9",
        "64 -> 65",
        premises={
            **FIXED,
            "SCH8": 1 / eta[t] - 1 / eta[t - 1] <= sigma**2 / (24 * kbar**3 * L * I) * eta[t],
        },
    ),
    Fact(
        "SCH10",
        "16 -> 8",
        premises=NOW | FIXED,
        cuts={
            "flat": Cut(equal(cube(t), 4096 * L**3 * I**3 * kbar**3), ("w_t", "kbar", "provided")),
        },
        uses={0: ("eta_t", "flat")},
    ),
    Fact(
        "SCH10-curve",
        T < I**3 * (b * K) ** 2,
        premises=FIXED,
        cuts={
            "c_b": C_B,
            "over bK": Cut(LAST_UNIT * (b * K) <= Q("64.2"), ("c_b",)),
            "last": Cut(LAST_UNIT <= Q("64.2"), ("over bK",)),
        },
        uses={0: ("last", "provided")},
    ),
    Fact("SCH11", "9 -> 10"),
)

"""Proofs of Theorem R*'s arithmetic: (4), (6) and (7), the corollary and its samples.

I, m, b and K are any real numbers in their ranges, under each reading of a part; the exponentials
have no letters once a part is chosen, and ball arithmetic encloses them.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from stemtheory.bounds import RSTAR
from stemtheory.certificates.lemmas.statement import Choice, Fact
from stemtheory.claims import CURVE, CURVE_ONE, IDENTITY_PARTS, RSTAR_PARTS, kappas
from stemtheory.claims.language import Line, expr
from stemtheory.claims.language.letters import I, K, M, S, b, m, sqrt
from stemtheory.schedules import RSTAR_STEPS


def parts(names: str, within: dict[str, Line]) -> dict[str, Choice]:
    """Return the choices of parts under each of their readings, and the range of each part."""
    return {
        f"part ({name}), kappa = {kappa}": (
            {
                letter: expr(value)
                for letter, value in {**RSTAR_PARTS[name], **CURVE[name], "kappa": kappa}.items()
            },
            within[name],
        )
        for name in names
        for kappa in kappas(name)
    }


def longest(name: str) -> int:
    """Return M of a part."""
    return RSTAR_STEPS[name].M


ANY = {name: (I >= 2) & (I <= m * longest(name)) for name in RSTAR_PARTS}
ALONE = {name: (I >= 2) & (I <= longest(name)) for name in RSTAR_PARTS}
BATCHED = {
    name: (m >= 2)
    & (I >= longest(name) + 1)
    & (I <= m * longest(name))
    & (m * longest(name) <= I + longest(name))
    for name in RSTAR_PARTS
}
ONE_STEP: dict[str, Choice] = {
    f"part ({name})": (
        {
            letter: expr(value)
            for letter, value in {
                **RSTAR_PARTS[name],
                **CURVE[name],
                "Lam": RSTAR[name].lam_one,
                "C_s": CURVE_ONE[name],
            }.items()
        },
        K >= 1,
    )
    for name in RSTAR_PARTS
}
FACTS = (
    Fact("RS11", "1 -> 1/2", values=parts(IDENTITY_PARTS, BATCHED)),
    Fact(
        "RS12",
        "4 -> 2",
        values=parts("a", ANY),
        says="every real I >= 2 and m with I/m at most 8, every b",
    ),
    Fact(
        "RS13",
        "4 -> 2",
        values=parts(IDENTITY_PARTS, ALONE),
        says="every real I from 2 to M, every b",
    ),
    Fact(
        "RS14",
        "4 -> 2",
        values=parts(IDENTITY_PARTS, BATCHED),
        says="every real I from M + 1 on, without end, and m from I/M to I/M + 1, every b",
    ),
    Fact("RS15", "2 -> 4", values=ONE_STEP, says="every b and K"),
    Fact("RS16", "2 -> 4", values=parts("abcde", dict.fromkeys(RSTAR_PARTS, I >= 2))),
    Fact(
        "RS17",
        "4 -> 3",
        premises={
            "m": m <= I / M + 1,
            "rounded": b <= 2 * sqrt(S) / (I * K),
        },
        says="b is that of the curve rounded up, and at most twice that where I <= sqrt(S)/K",
    ),
)

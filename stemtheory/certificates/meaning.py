"""What a certificate says: its constants, summed over rounds, beside those that are proved by hand.

Source: (C) summed over S rounds, with B = b I and S <= (I b K)^2; paper: Thm:
PR_Convergence_Main_App and Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from stemtheory.bounds import Setting, evaluate
from stemtheory.certificates.file import shipped, why_not
from stemtheory.certificates.lemmas.statement import PACKS
from stemtheory.certificates.statement import LONGEST_ROUND
from stemtheory.claims import Claim
from stemtheory.runtime import UsageError, Verdict

CLAIM = "M7"  # of STEM's pack: what round certificates are about
ASSUMED = (
    "A1: E|grad f^k(x; xi) - grad f^k(y; xi)|^2 <= L^2 |x - y|^2 at every worker",
    "A2: samples unbiased, independent over workers and draws, of variance at most sigma^2",
    "A2: gradients of two workers differ by at most zeta",
    "A3: f >= f*",
    "the step and the momentum are constant",
)
GLUE = (
    "that these vectors, rows, zeros and links follow from the algorithm, A1 and A2; it is tested",
    "summing (C) over rounds: a round ends at a legal start, and the potential is not negative",
    "the first batch, E|ebar|^2 <= sigma^2/(K B)",
)
JUMP = (
    "with m > 1 the first draw of round 1 also has m b samples, since round 1 has no jump of its"
    " own"
)


def is_certified(claim: Claim) -> bool:
    """Whether round certificates are about a claim."""
    return claim.id == CLAIM and claim.pack is not None and claim.pack.name in PACKS


def constants(statement: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return what stands before Delta_f, sigma^2 and zeta^2, with L = 1.

    For STEM in units of 1/S, for S <= (I b K)^2 rounds. For FedAvg c_D is in units of 1/S, and the
    others are constant.
    """
    s = {name: Fraction(value) for name, value in statement.items() if _is_number(name)}
    work = s["I"] * s["b"] * s["K"]
    c_D = 2 / ((1 - s["delta"]) * s["eta"] * s["I"])
    if statement["algorithm"] == "fedavg":
        return {"c_D": c_D, "c_S": c_D * s["C_sigma"], "c_Z": c_D * s["C_zeta"]}
    c_S = c_D * (s["lambda"] / work + work * work * s["C_sigma"])
    return {"c_D": c_D, "c_S": c_S, "c_Z": c_D * work * work * s["C_zeta"]}


def weighed(statement: Mapping[str, Any], weights: Iterable[float]) -> float:
    """Return c_D w_D + c_S w_S + c_Z w_Z."""
    return sum(w * float(c) for w, c in zip(weights, constants(statement).values(), strict=True))


def rows_of_shipped(longest: int = LONGEST_ROUND) -> list[dict[str, Any]]:
    """Return the certificates that ship with at most so many local steps, each checked anew.

    A row has the name, the statement's sizes, the constants, the verdict, and why the checker
    refuses it, if it does.
    """
    rows = []
    for name, path in shipped().items():
        data = path.read_bytes()
        statement = json.loads(data)["statement"]
        if statement["I"] <= longest:
            why = why_not(data)
            values = {key: float(c) for key, c in constants(statement).items()}
            sizes = {key: statement[key] for key in ("algorithm", "reading", "I", "K", "b", "m")}
            row = {"name": name, **sizes, "constants": values, "why": why}
            rows.append(row | {"verdict": Verdict.UNDECIDED if why else Verdict.PROVED})
    return rows


def beside(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the bounds that are proved by hand, at the same b, I, K and at all constants 1.

    Of STEM they are S times the bound at S = (I b K)^2 and at their own steps, the printed ones; of
    FedAvg what the paper gives per round at the certificate's step. A bound whose premises are not
    met says so.
    """
    if statement["algorithm"] == "fedavg":
        return _of_fedavg(statement)
    I, K, b, m = (statement[name] for name in ("I", "K", "b", "m"))
    S, ours = (I * b * K) ** 2, float(sum(constants(statement).values()))
    rows = []
    for name, title in (("stem-theorem", "printed theorem"), ("stem-repaired", "Theorem R (a)")):
        setting = Setting(S * I, K, b, I, L=1.0, sigma=1.0, zeta=1.0, gap=1.0, sync_batch=m)
        try:
            found = evaluate(name, setting)
        except UsageError as error:
            rows.append({"name": title, "value": None, "factor": None, "unmet": [str(error)]})
            continue
        unmet = [premise.name for premise in found.premises if not premise.ok]
        value = S * found.value
        rows.append({"name": title, "value": value, "factor": value / ours, "unmet": unmet})
    return rows


def _of_fedavg(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per round the paper's F2 and F3 give I [eta^2/(bK) + (3/2) eta^3 (I-1)] of sigma^2.

    And (5/2) I eta^3 (I-1)^2 of zeta^2.
    """
    eta, I = Fraction(statement["eta"]), statement["I"]
    draws = statement["b"] * statement["K"]
    printed = {
        "C_sigma": I * (eta**2 / draws + Fraction(3, 2) * eta**3 * (I - 1)),
        "C_zeta": Fraction(5, 2) * I * eta**3 * (I - 1) ** 2,
    }
    rows = []
    for name, value in printed.items():
        ours = Fraction(statement[name])
        factor = float(value / ours) if ours else None
        title = f"{name} of F2 and F3, per round"
        rows.append({"name": title, "value": float(value), "factor": factor, "unmet": []})
    return rows


def _is_number(name: str) -> bool:
    return name not in ("algorithm", "reading")

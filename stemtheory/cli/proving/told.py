"""What a certificate says, as a document and as lines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from stemtheory.cli import console
from stemtheory.cli.display import Document
from stemtheory.runtime import Verdict


def told_of(data: bytes, statement: Document) -> dict[str, Any]:
    """Return the document of an accepted certificate: what it says, and what it does not."""
    from stemtheory.certificates import ASSUMED, GLUE, JUMP, beside, constants, fingerprint

    found = constants(statement)
    return {
        "verdict": Verdict.PROVED,
        "statement": dict(statement),
        "constants": {name: {"exact": str(c), "value": float(c)} for name, c in found.items()},
        "sum": float(sum(found.values())),
        "beside": beside(statement),
        "assumed": list(ASSUMED),
        "not_machine_checked": [*GLUE, *([JUMP] if statement["m"] > 1 else [])],
        "sha256": fingerprint(data),
        "bytes": len(data),
    }


def show(d: Document) -> None:
    """Print the theorem, its constants, those proved by hand, and what is taken for granted."""
    s, line = d["statement"], console.line
    line(f"proved: one round of {round_of(s)}, in units with L = 1")
    line("for every d, every K functions and oracles with A1 and A2, and every legal start:")
    potential = {"stem": "f(xbar) + lambda |ebar|^2", "fedavg": "f(xbar)"}[s["algorithm"]]
    potential += " + mu X/K" * (s["reading"] == "literal")
    line(f"  E V_I <= E V_0 - ({_kept(s)}eta/2) sum_j<I E|grad f(xbar_j)|^2")
    line(f"           + C_sigma sigma^2 + C_zeta zeta^2, where V = {potential}")
    names = [n for n in ("lambda", "mu", "C_sigma", "C_zeta") if s[n] != "0"]
    console.table(("constant", "value"), [[n, float(Fraction(s[n]))] for n in names])
    line(_summed(s))
    rows = [[n, c["value"], _short(c["exact"])] for n, c in d["constants"].items()]
    console.table(("constant", "value", "exactly"), rows)
    if s["algorithm"] == "stem":
        line(f"S times the bound where L = Delta_f = sigma^2 = zeta^2 = 1: {d['sum']:.6g}")
    head = ("bound", "value", "over the certificate's", "")
    by_hand = [
        [r["name"], r["value"], r["factor"], f"not met: {', '.join(r['unmet'])}" * bool(r["unmet"])]
        for r in d["beside"]
    ]
    console.table(head, by_hand)
    for text in d["assumed"]:
        line(f"assumed: {text}")
    for text in d["not_machine_checked"]:
        line(f"not machine-checked: {text}")
    line(f"certificate: {d['bytes']} bytes, sha256 {d['sha256']}")
    for path in d["files"]:
        line(f"written: {path}")


def round_of(s: Document) -> str:
    """Return whose round a statement is about, and at which numbers."""
    of = s["algorithm"] if s["reading"] == "none" else f"{s['algorithm']}, {s['reading']}"
    return f"{of}, " + ", ".join(f"{n} = {s[n]}" for n in ("I", "K", "b", "m", "eta", "a"))


def show_check(d: Document) -> None:
    """Print whether the checker accepts a file, and what it proves."""
    console.line(f"accepted: {d['file']}" if d["accepted"] else f"refused: {d['why']}")
    if d["accepted"]:
        show({**d, "files": []})


def _short(text: str) -> str:
    return text if len(text) <= 44 else f"{text[:20]}... ({len(text)} characters, in the file)"


def _kept(s: Document) -> str:
    return "" if s["delta"] == "0" else f"(1 - {s['delta']}) "


def _summed(s: Document) -> str:
    if s["algorithm"] == "fedavg":
        return "over S rounds: mean E|grad f|^2 <= c_D Delta_f/S + c_S sigma^2 + c_Z zeta^2"
    return (
        "over S <= (I b K)^2 rounds, B = b I: mean E|grad f|^2 <= (1/S) [c_D Delta_f + c_S sigma^2"
        " + c_Z zeta^2]"
    )


def show_checks(d: Document) -> None:
    """Print which of the certificates that ship the checker accepts."""
    rows = [
        [row["name"], row["verdict"], *(row["constants"][n] for n in ("c_D", "c_S", "c_Z"))]
        for row in d["certificates"]
    ]
    console.table(("certificate", "", "c_D", "c_S", "c_Z"), rows)
    show_refused(d["certificates"])


def show_refused(rows: list[dict[str, object]]) -> None:
    """Print how many of the certificates that ship are accepted, and why others are not."""
    refused = [row for row in rows if row["why"]]
    accepted = len(rows) - len(refused)
    console.line(f"{accepted} of {len(rows)} certificates that ship are accepted by the checker")
    for row in refused:
        console.line(f"REFUSED {row['name']}: {row['why']}")

"""Proofs by machine as text: a claim's in plain lines, a certificate for a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from stemtheory.report.formula import plain

LONG = 160  # characters of a residual; the document has all of them


def proof_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is proved, from what, and what the proof makes of a wrong version."""
    yield f"{document['id']}: proved for all parameters by {_by(document)}"
    yield document["statement"]
    yield f"  {plain(document['formula'])}"
    if document["says"]:
        yield f"proved: {document['says']}"
    yield from _of_identities(document) if "proofs" in document else _of_numbers(document)
    for mutant in document["mutants"]:
        left = mutant["left"] or "NOTHING: the proof does not notice it"
        yield f"mutant {plain(mutant['name'])}: {_leaves(document)} {_cut(left)}"
    for glue in document["glue"]:
        yield f"read by people: {glue}"


def _cut(left: str) -> str:
    """Return what is left over of a mutant, without all but the first terms of a long sum."""
    if len(left) <= LONG:
        return left
    return f"{left[: left.rfind(' ', 0, LONG)]} ..."


def _by(document: Mapping[str, Any]) -> str:
    return f"{document['method']}, in {document['seconds']:.2g} s"


def _leaves(document: Mapping[str, Any]) -> str:
    return "leaves" if "proofs" in document else "false at"


def _of_identities(document: Mapping[str, Any]) -> Iterator[str]:
    for proof in document["proofs"]:
        yield "right - left is the sum of these, multiplied out, for every K and dimension:"
        for given in proof["assumptions"]:
            yield f"  ({plain(given['multiplier'])}) times {given['name']}"
        for part in proof["squares"]:
            yield f"  ({plain(part['multiplier'])}) {plain(part['square'])}"
        if proof["at"]:
            yield f"at {', at '.join(proof['at'])}"
        yield from _where(proof)
        for given in _once(proof["assumptions"]):
            yield f"assumed {given['name']}, {given['why']}: {plain(given['formula'])}"
        for multiplier in proof["signs_by_z3"]:
            yield f"not negative, by z3: {plain(multiplier)}"
        if proof["premises"]:
            yield f"from: {plain(proof['premises'])}"
    yield f"residual {document['residual']}"


def _where(proof: Mapping[str, Any]) -> Iterator[str]:
    for name, meant in proof["names"].items():
        yield f"with {plain(name)} = {plain(meant)}"
    for put in proof["definitions"]:
        at = f" at {put['at']}" if put["at"] else ""
        yield f"with {plain(put['letter'])} = {plain(put['is'])}{at}"


def _once(assumptions: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return assumptions without those that say the same."""
    return list({given["formula"]: given for given in assumptions}.values())


def _of_numbers(document: Mapping[str, Any]) -> Iterator[str]:
    yield "for all real numbers, sizes from 1 on, in units in which L = sigma = 1:"
    for premise in document["premises"]:
        yield f"  {premise['name']}: {plain(premise['formula'])}"
    for cut in document["cuts"]:
        yield f"on the way, {cut['name']}: {plain(cut['formula'])}"
    yield f"no counterexample: z3's answer to each of {document['questions']} questions"


_LETTERS = {name: name for name in ("c_D", "c_S", "c_Z")} | {
    name: rf"\{name}" for name in ("lambda", "mu")
}
_LETTERS |= {"C_sigma": r"C_\sigma", "C_zeta": r"C_\zeta"}


def certificate_latex(d: Mapping[str, Any]) -> str:
    """Return the statement and its constants as a LaTeX float that needs no package."""
    s = d["statement"]
    of = s["algorithm"].upper() if s["algorithm"] == "stem" else "FedAvg"
    of += "" if s["reading"] == "none" else f", reading {s['reading']}"
    numbers = ", ".join(f"${n} = {s[n]}$" for n in ("I", "K", "b", "m"))
    steps = rf"$\eta L = {s['eta']}$, $a = {_tidy(s['a'])}$"
    rows = [rf"${_LETTERS[n]}$ & {c['value']:.6g} \\" for n, c in d["constants"].items()]
    rows += [
        rf"${_LETTERS[n]}$ & {float(Fraction(s[n])):.6g} \\"
        for n in ("lambda", "mu", "C_sigma", "C_zeta")
        if s[n] != "0"
    ]
    lines = [
        r"\begin{table}[htbp]",
        rf"\caption{{Proved by machine and checked in exact fractions: a round of {of}, {numbers},",
        rf"  {steps}, for all problems with A1 and A2 (units with $L = 1$; sha256 of the",
        rf"  certificate {d['sha256'][:16]}).}}",
        rf"\label{{certificate:{d['sha256'][:16]}}}",
        r"\raggedright",
        r"$\displaystyle E V_I \le E V_0 - (1-\delta) \frac{\eta}{2} \sum_{j<I}",
        r"  E\|\nabla f(\bar x_j)\|^2 + C_\sigma \sigma^2 + C_\zeta \zeta^2$",
        r"\par\medskip",
        r"\begin{tabular}{lr}",
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tidy(text: str) -> str:
    return text if len(text) <= 24 else f"{float(Fraction(text)):.6g}"

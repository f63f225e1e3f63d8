"""A claim's proof for all parameters in plain lines, as ``certify CLAIM`` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

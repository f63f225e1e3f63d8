"""Proofs for all parameters: which claims have one, and each in full.

sympy, z3 and python-flint are loaded when a proof is made; a plain installation has none of them.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from stemtheory.certificates.lemmas import (
    consensus,
    constants,
    contraction,
    descent,
    identities,
    rstar,
    scalars,
    schedule,
)
from stemtheory.certificates.lemmas.statement import PACKS, Fact, Lemma
from stemtheory.claims import Claim, claims, one, wrong_versions
from stemtheory.claims.language import Expr, Line, latex, tex
from stemtheory.runtime import UsageError

IDENTITY, SCALAR = "identity", "z3 over the reals"
NEEDS = {IDENTITY: ("sympy", "z3"), SCALAR: ("z3", "flint")}
ALWAYS = "the assumptions, and the translation of the line into algebra"
POSITIVE = "that L and sigma are positive, so that units make them 1"
SIGNS = "that 0 <= a_t <= 1 (SCH7) and that other letters have the signs of the vocabulary"


@cache
def lemmas() -> dict[str, tuple[Lemma, ...]]:
    """Return the proofs by identity, by the claim's id; one for each comparison."""
    every = (*descent.LEMMAS, *contraction.LEMMAS, *consensus.LEMMAS)
    names = dict.fromkeys(lemma.claim for lemma in every)
    return {name: tuple(lemma for lemma in every if lemma.claim == name) for name in names}


@cache
def facts() -> dict[str, Fact]:
    """Return the proofs of lines between numbers, by the claim's id."""
    return {fact.claim: fact for fact in (*schedule.FACTS, *constants.FACTS, *rstar.FACTS)}


def provable() -> dict[str, str]:
    """Return the claims that have a proof for all parameters: the method, and of what it is."""
    every = {**lemmas(), **facts()}
    known = {name: _method(name) for name in claims(PACKS) if name in every}
    return {name: "; ".join(filter(None, (how, says(name)))) for name, how in known.items()}


def proof_of(claim: Claim) -> str:
    """Return what ``provable`` says of a claim; nothing for one of another pack."""
    ours = claim.pack is not None and claim.pack.name in PACKS
    return provable().get(claim.id, "") if ours else ""


def _method(name: str) -> str:
    return IDENTITY if name in lemmas() else SCALAR


def says(name: str) -> str:
    """Return what is proved of a claim, where that is not all it says, or more."""
    proofs = lemmas()[name] if name in lemmas() else (facts()[name],)
    return "; ".join(proof.says for proof in proofs if proof.says)


def prove(name: str) -> dict[str, Any]:
    """Prove a claim for all parameters, and show what the proof makes of a wrong version.

    Parameters
    ----------
    name
        What the claim is called, as for ``explain``.

    Returns
    -------
    dict
        The JSON document of ``certify CLAIM``: what is proved and from what, the multipliers and
        squares of an identity, its residual 0, or how many questions z3 answered; seconds; the
        mutants, each with what is left of it or the numbers that break it; what people still read.

    Raises
    ------
    UsageError
        If the claim has no such proof, or a package is missing.
    UnprovedError
        If the proof fails.
    """
    claim, known = one(name, PACKS), provable()
    if claim.id not in known:
        repair = f" ({claim.repair.rstrip('.')})" if claim.repair else ""
        raise UsageError(
            f"{claim.id} has no proof for all parameters{repair}: take one of {', '.join(known)}."
        )
    method = _method(claim.id)
    for package in NEEDS[method]:
        _load(package)
    began = time.perf_counter()
    found = _identity(claim) if method == IDENTITY else _scalar(claim)
    spent = time.perf_counter() - began
    return {
        "id": claim.id,
        "verdict": "proved",
        "method": method,
        "statement": claim.statement,
        "formula": claim.formula,
        "says": says(claim.id),
        **found,
        "seconds": spent,
        "mutants": list(_mutants(claim)),
    }


def _load(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise UsageError(
            f"this proof needs {package}, which is not installed: pip install 'stemtheory[prove]'."
        ) from error


def line_of(claim: Claim) -> Line:
    """Return the line that a proof is of."""
    assert claim.line is not None
    return claim.line


def _identity(claim: Claim) -> dict[str, Any]:
    """Return the parts of each identity of a claim, proved."""
    line, proofs = line_of(claim), lemmas()[claim.id]
    shown = [_shown(lemma, line, identities.prove(lemma, line)) for lemma in proofs]
    return {
        "proofs": shown,
        "residual": "0",
        "glue": [*dict.fromkeys(lemma.glue for lemma in proofs if lemma.glue), SIGNS, ALWAYS],
    }


def _shown(lemma: Lemma, line: Line, by_z3: list[Expr]) -> dict[str, Any]:
    """Return one identity as it is printed."""
    short = partial(_short, lemma.names)
    definitions = {"": lemma.definitions, **lemma.at}
    return {
        "formula": latex(Line((line.steps[lemma.step],))),
        "at": [where for where in lemma.at if where],
        "names": {name: tex(meant) for name, meant in lemma.names.items()},
        "definitions": [
            {"letter": tex(letter), "is": short(tex(value)), "at": where}
            for where, own in definitions.items()
            for letter, value in own.items()
            if tex(letter) != tex(value)
        ],
        "assumptions": [
            {
                "name": given.name,
                "why": given.why,
                "multiplier": tex(multiplier) or "1",
                "formula": short(tex(given.value)) + (" = 0" if given.exactly else r" \geq 0"),
            }
            for multiplier, given in lemma.givens
        ],
        "squares": [
            {"multiplier": tex(multiplier) or "1", "square": short(tex(square))}
            for multiplier, square in lemma.squares
        ],
        "signs_by_z3": [tex(multiplier) for multiplier in by_z3],
        "premises": latex(lemma.premises) if lemma.premises else "",
    }


def _short(names: Mapping[str, Expr], formula: str) -> str:
    """Return a formula with its long parts by their names, the longest first."""
    for name in sorted(names, key=lambda name: -len(tex(names[name]))):
        formula = formula.replace(f"({tex(names[name])})", name).replace(tex(names[name]), name)
    return formula


def _scalar(claim: Claim) -> dict[str, Any]:
    """Return from what a line between numbers is proved, after z3 has."""
    fact = facts()[claim.id]
    asked = scalars.prove(fact, line_of(claim))
    premises = {**scalars.premises_of(fact), **{k: r for k, (_, r) in fact.values.items()}}
    return {
        "premises": [{"name": k, "formula": latex(line)} for k, line in premises.items()],
        "cuts": [{"name": k, "formula": latex(cut.line)} for k, cut in fact.cuts.items()],
        "questions": asked,
        "glue": [POSITIVE, ALWAYS],
    }


def _mutants(claim: Claim) -> Iterator[dict[str, str]]:
    """Yield the wrong versions, each with what is left over of it or numbers that break it."""
    line = line_of(claim)
    if claim.id in facts():
        fact = facts()[claim.id]
        yield _tried(line, fact.mutant, partial(scalars.counterexample, fact))
        return
    for lemma in lemmas()[claim.id]:
        yield _tried(line, lemma.mutant, partial(left_over, lemma))


def left_over(lemma: Lemma, wrong: Line) -> str | None:
    """Return what is left of right - left of a wrong version, or None: it is proved as well."""
    left = identities.residuals(lemma, wrong).values()
    return next((residual for residual in left if residual != "0"), None)


def _tried(
    line: Line, mutant: str | Line, rejected: Callable[[Line], str | None]
) -> dict[str, str]:
    """Return the first version of the mutant's name that is rejected, and by what."""
    named, name = versions(line, mutant), latex(mutant) if isinstance(mutant, Line) else mutant
    found = (left for wrong in named if (left := rejected(wrong)) is not None)
    return {"name": name, "left": next(found, "")}


def versions(line: Line, mutant: str | Line) -> list[Line]:
    """Return the wrong versions of a line that a mutant names, but none that the line implies."""
    if isinstance(mutant, Line):
        return [mutant]
    return [w.line for w in wrong_versions(line) if w.name == mutant and not w.implied]

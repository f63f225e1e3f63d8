"""Proofs for all parameters: which claims have one, and each in full.

sympy, z3 and python-flint are loaded when a proof is made; a plain installation has none of them.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from stemtheory.certificates.lemmas import (
    consensus,
    constants,
    contraction,
    descent,
    identities,
    scalars,
    schedule,
)
from stemtheory.certificates.lemmas.statement import Fact, Lemma
from stemtheory.claims import Claim, claims, one, wrong_versions
from stemtheory.claims.language import Expr, Line, latex, tex
from stemtheory.runtime import UsageError

IDENTITY, SCALAR = "identity", "z3 over the reals"
NEEDS = {IDENTITY: ("sympy", "z3"), SCALAR: ("z3", "flint")}
ALWAYS = "the reading of the assumptions, and the translation of the line into algebra"


@cache
def lemmas() -> dict[str, tuple[Lemma, ...]]:
    """Return the proofs by identity, by the claim's id; one for each comparison."""
    every = (*descent.LEMMAS, *contraction.LEMMAS, *consensus.LEMMAS)
    names = dict.fromkeys(lemma.claim for lemma in every)
    return {name: tuple(lemma for lemma in every if lemma.claim == name) for name in names}


@cache
def facts() -> dict[str, Fact]:
    """Return the proofs of lines between numbers, by the claim's id."""
    return {fact.claim: fact for fact in (*schedule.FACTS, *constants.FACTS)}


def provable() -> dict[str, str]:
    """Return the claims that have a proof for all parameters, each with its method."""
    methods = dict.fromkeys(lemmas(), IDENTITY) | dict.fromkeys(facts(), SCALAR)
    return {name: methods[name] for name in claims() if name in methods}


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
    claim, methods = one(name), provable()
    method = methods.get(claim.id)
    if method is None:
        raise UsageError(f"{claim.id} is not proved for all parameters; {', '.join(methods)} are.")
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
        "says": "; ".join(lemma.says for lemma in proofs if lemma.says),
        "glue": [*dict.fromkeys(lemma.glue for lemma in proofs if lemma.glue), ALWAYS],
    }


def _shown(lemma: Lemma, line: Line, by_z3: list[Expr]) -> dict[str, Any]:
    """Return one identity as it is printed."""
    definitions = {"": lemma.definitions, **lemma.at}
    return {
        "formula": latex(Line((line.steps[lemma.step],))),
        "at": [where for where in lemma.at if where],
        "definitions": [
            {"letter": tex(letter), "is": tex(value), "at": where}
            for where, own in definitions.items()
            for letter, value in own.items()
        ],
        "assumptions": [
            {
                "name": given.name,
                "why": given.why,
                "multiplier": tex(multiplier),
                "formula": tex(given.value) + (" = 0" if given.exactly else r" \geq 0"),
            }
            for multiplier, given in lemma.givens
        ],
        "squares": [
            {"multiplier": tex(multiplier), "square": tex(square)}
            for multiplier, square in lemma.squares
        ],
        "signs_by_z3": [tex(multiplier) for multiplier in by_z3],
        "premises": latex(lemma.premises) if lemma.premises else "",
    }


def _scalar(claim: Claim) -> dict[str, Any]:
    """Return from what a line between numbers is proved, after z3 has."""
    fact = facts()[claim.id]
    asked = scalars.prove(fact, line_of(claim))
    premises = {**scalars.premises_of(fact), **{k: r for k, (_, r) in fact.values.items()}}
    return {
        "premises": [{"name": k, "formula": latex(line)} for k, line in premises.items()],
        "cuts": [{"name": k, "formula": latex(cut.line)} for k, cut in fact.cuts.items()],
        "questions": asked,
        "says": fact.says,
        "glue": [ALWAYS],
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
    if isinstance(mutant, Line):
        return {"name": latex(mutant), "left": rejected(mutant) or ""}
    made = [wrong.line for wrong in wrong_versions(line) if wrong.name == mutant]
    found = (left for wrong in made if (left := rejected(wrong)) is not None)
    return {"name": mutant, "left": next(found, "")}

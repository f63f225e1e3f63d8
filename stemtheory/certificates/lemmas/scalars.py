"""Proofs of lines between numbers: no real numbers meet the premises and not the line, says z3.

What is proved is read from the claim; its condition, where it has one, is one more premise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stemtheory.certificates.lemmas.reals import HIDDEN, Reals
from stemtheory.certificates.lemmas.statement import PACKS, Choice, Fact
from stemtheory.claims import claims
from stemtheory.claims.language import Expr, Line, Relation, latex, valued

SECONDS = 10  # per question; none that ships takes one


class UnprovedError(Exception):
    """What should have been proved was not."""


def refuted(
    step: Relation, premises: Line | None, atoms: tuple[Expr, ...] = (), since: int = 1
) -> Any:
    """Return numbers that meet the premises and not the comparison, or None: it is proved.

    Raises
    ------
    UnprovedError
        If z3 does not decide it, or a denominator may be 0.
    """
    reals = Reals(atoms=atoms, since=since)
    goal = reals.holds(step)
    given = [reals.all_of(premises)] if premises is not None else []
    for known, positive in reals.owed:
        if _model(reals, [*given, *known], positive, step) is not None:
            raise UnprovedError(f"{latex(Line((step,)))} has a denominator or root that may be 0.")
    return _model(reals, [*given, *reals.known], goal, step)


def _model(reals: Reals, known: list[Any], goal: Any, step: Relation) -> Any:
    """Return numbers that meet what is known and not the goal, or None if there are none."""
    solver = reals.z3.Solver()
    solver.set("timeout", 1000 * SECONDS)
    solver.add(*known, reals.z3.Not(goal))
    match str(solver.check()):
        case "unsat":
            return None
        case "sat":
            return solver.model()
    raise UnprovedError(f"z3 does not decide {latex(Line((step,)))} in {SECONDS} s.")


def together(lines: Iterable[Line]) -> Line | None:
    """Return several lines as one; None of none."""
    steps = tuple(step for line in lines for step in line.steps)
    return Line(steps) if steps else None


def ask(
    step: Relation, premises: Iterable[Line], atoms: tuple[Expr, ...] = (), since: int = 1
) -> None:
    """Prove a comparison from premises.

    Raises
    ------
    UnprovedError
        If it is false for some numbers, which are named, or z3 does not decide it.
    """
    model = refuted(step, together(premises), atoms, since)
    if model is not None:
        raise UnprovedError(f"{latex(Line((step,)))} is false at {shown(model)}.")


def shown(model: Any) -> str:
    """Return the numbers of a model, letters only."""
    spoken = (one for one in model.decls() if not one.arity() and one.name()[0] != HIDDEN)
    values = {letter.name(): model[letter] for letter in spoken}
    return ", ".join(f"{name} = {values[name]}" for name in sorted(values)) or "any numbers"


def premises_of(fact: Fact) -> dict[str, Line]:
    """Return the premises of a fact by name, the claim's own condition among them."""
    provided = _keywords(fact).get("provided")
    return {**fact.premises, **({"provided": provided} if provided is not None else {})}


def _keywords(fact: Fact) -> Mapping[str, Any]:
    return getattr(claims(PACKS)[fact.claim].compare, "keywords", {})


def parts_of(fact: Fact) -> dict[str, Choice]:
    """Return the choices of letters with their ranges; one without any where there is none."""
    return dict(fact.values) or {"": ({}, Line(()))}


def prove(fact: Fact, line: Line) -> int:
    """Prove every comparison of a line, and return how many questions that took.

    Raises
    ------
    UnprovedError
        If one of them is false or undecided.
    """
    asked = 0
    for values, within in parts_of(fact).values():
        known = {**premises_of(fact), "range": within}
        for name, cut in fact.cuts.items():
            for step in cut.line.steps:
                ask(step, (known[use] for use in cut.uses), since=fact.since)
            known[name], asked = cut.line, asked + len(cut.line.steps)
        everything = tuple(name for name in known if name not in fact.cuts)
        for i, step in enumerate(valued(line, values).steps):
            used = [known[use] for use in fact.uses.get(i, everything)]
            ask(step, used, fact.atoms, fact.since)
            asked += 1
    return asked + _converse(fact, line)


def _converse(fact: Fact, line: Line) -> int:
    """Prove the condition from the line, where the claim says "exactly if"."""
    keywords = _keywords(fact)
    if not keywords.get("exactly"):
        return 0
    for step in keywords["provided"].steps:
        ask(step, [line])
    return len(keywords["provided"].steps)


def counterexample(fact: Fact, wrong: Line) -> str | None:
    """Return numbers that meet every premise and not a wrong version of the line, if z3 finds any.

    Nothing that was proved on the way is used, so that they break the version itself.
    """
    right = claims(PACKS)[fact.claim].line
    assert right is not None
    for values, within in parts_of(fact).values():
        given = together((*premises_of(fact).values(), within))
        for step, old in zip(valued(wrong, values).steps, valued(right, values).steps, strict=True):
            if step != old and (model := refuted(step, given, since=fact.since)) is not None:
                return shown(model)
    return None

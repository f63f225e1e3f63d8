"""The command certify: a proof by machine of one round's inequality, and its check."""

from __future__ import annotations

import json as json_text
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import beginning, one_of
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example
from stemtheory.cli.proving.given import (
    ALGORITHMS,
    CERTIFIED,
    fraction,
    statement_of,
    weights_of,
)
from stemtheory.cli.proving.told import show, show_check, show_checks, told_of
from stemtheory.cli.waiting import waiting
from stemtheory.runtime import whole, write_whole


def certifiable(incomplete: str) -> list[str]:
    """Return the algorithms whose rounds are certified, and the claims that have a proof."""
    from stemtheory.certificates import provable

    return beginning((*ALGORITHMS, *provable()), incomplete)


_NAME = "whose round; or a claim, proved for all parameters"
Name = Annotated[str | None, o.argument("stem|fedavg|CLAIM", _NAME, certifiable)]
_READING = "literal or average-first: which point the next difference subtracts"
Reading = Annotated[
    str | None, o.option(None, "--reading --sync NAME", _READING, "literal", one_of(*CERTIFIED))
]
Batch = Annotated[str | None, o.option(None, "--b --batch INT", "samples per minibatch", "1")]
LocalSteps = Annotated[str | None, o.option(None, "--I --local-steps INT", "of a round", "4")]
_JUMP = "m: the draw that spans the averaging has m b samples"
SyncBatch = Annotated[str | None, o.option(None, "--m --sync-batch INT", _JUMP, "1")]
_SCHEDULE = "theorem: the printed steps, 1/(16LI) and c eta^2"
Schedule = Annotated[str | None, o.option(None, "--schedule NAME", _SCHEDULE, "theorem")]
_H = "h = eta L I instead, such as 1/4 or 0.63"
H = Annotated[str | None, o.option(None, "--h NUM", _H)]
_ALPHA = "alpha = a I^2 b K; by default a = c eta^2 with the theorem's c"
Alpha = Annotated[str | None, o.option(None, "--alpha NUM", _ALPHA)]
_WEIGHTS = "wD,wS,wZ: what counts for how much of the constants of Delta_f, sigma^2 and zeta^2"
WeightsGiven = Annotated[str | None, o.option(None, "--weights NUMS", _WEIGHTS, "1,1,1")]
_CHECK = (
    "check a file, or all that ship, and do nothing else; what else is given is what it must state"
)
Check = Annotated[str | None, o.option(None, "--check FILE", _CHECK)]
_OUT = "write the certificate: JSON, exact fractions"
OutFile = Annotated[Path | None, o.option(None, "--out FILE", _OUT)]
_TEX = "write the statement and its constants for a paper's appendix: LaTeX"
TexFile = Annotated[Path | None, o.option(None, "--tex FILE", _TEX)]
Force = Annotated[bool, o.option(None, "--force", "also where it takes minutes")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=example("certify"))(certify)


def certify(
    context: typer.Context,
    name: Name = None,
    reading: Reading = None,
    K: o.K = None,
    I: LocalSteps = None,
    b: Batch = None,
    m: SyncBatch = None,
    schedule: Schedule = None,
    h: H = None,
    alpha: Alpha = None,
    weights: WeightsGiven = None,
    check: Check = None,
    out: OutFile = None,
    tex: TexFile = None,
    force: Force = False,
    json: o.Json = False,
) -> int:
    """Prove one round's inequality for all problems at once, in exact fractions, or check a file.

    The constants that result are the best that this kind of proof gives, at the steps given.
    """
    from stemtheory.certificates import PACKS, find, refuse_the_large
    from stemtheory.claims import claims
    from stemtheory.report import certificate_latex

    if name in claims(PACKS):
        o.refuse_beside(
            context, ("name", "json"), "a claim is proved for all parameters: leave it out"
        )
        return certified(name, json)
    given = {"K": K, "I": I, "b": b, "m": m}
    if check is not None:
        useful = ("name", "reading", "K", "I", "b", "m", "h", "alpha", "check", "json")
        o.refuse_beside(context, useful, "--check only reads a file: leave it out")
        return _check(check, name, reading, given, h, alpha, json)
    s = statement_of(name, reading, given, schedule, h, alpha)
    wanted = weights_of(weights)
    refuse_the_large(s, force)
    with waiting() as told:
        found = find(s, wanted, told)
    document = told_of(found.data, json_text.loads(found.data)["statement"])
    document |= {"margin": found.eps, "weights": list(wanted), "files": []}
    if out is not None:
        document["files"].append(str(write_whole(out, found.data)))
    if tex is not None:
        document["files"].append(str(write_whole(tex, certificate_latex(document))))
    console.emit(document, json, lambda: show(document))
    return 0


def certified(name: str, json: bool) -> int:
    """Prove a claim for all parameters and print that; return the exit code, 1 if it fails."""
    from stemtheory.certificates import UnprovedError, prove
    from stemtheory.report import proof_lines

    def show() -> None:
        for text in proof_lines(document):
            console.line(text)

    try:
        document = prove(name)
    except UnprovedError as error:
        return console.complain(str(error), 1)
    console.emit(document, json, show)
    return int(not all(mutant["left"] for mutant in document["mutants"]))


def _check(
    target: str,
    name: str | None,
    reading: str | None,
    sizes: dict[str, str | None],
    h: str | None,
    alpha: str | None,
    json: bool,
) -> int:
    """Run the checker alone, on what it is given and nothing else."""
    from stemtheory.certificates import locate, read, rows_of_shipped, why_not

    if target == "all":
        rows = rows_of_shipped()
        console.emit(
            {"certificates": rows},
            json,
            lambda: show_checks({"certificates": rows}),
        )
        return int(any(row["why"] for row in rows))
    path = locate(target)
    wanted: dict[str, Any] = o.given(algorithm=name, reading=reading)
    wanted |= {key: whole(key, value) for key, value in o.given(**sizes).items()}
    data = read(path)
    why = why_not(data, **wanted)
    document: dict[str, Any] = {"file": str(path), "accepted": not why, "why": why or None}
    if not why:
        statement = json_text.loads(data)["statement"]
        document["why"] = _of_other_steps(statement, h, alpha)
        document["accepted"] = document["why"] is None
        document |= told_of(data, statement) if document["accepted"] else {}
    document["reasons"] = {"why": "the file was accepted"} if document["accepted"] else {}
    console.emit(document, json, lambda: show_check(document))
    return int(not document["accepted"])


def _of_other_steps(s: Document, h: str | None, alpha: str | None) -> str | None:
    eta, a = Fraction(s["eta"]), Fraction(s["a"])
    if h is not None and fraction("h", h) != eta * s["I"]:
        return f"eta is {s['eta']}, but h = {h} was asked for"
    if alpha is not None and fraction("alpha", alpha) != a * s["I"] ** 2 * s["b"] * s["K"]:
        return f"a is {s['a']}, but alpha = {alpha} was asked for"
    return None

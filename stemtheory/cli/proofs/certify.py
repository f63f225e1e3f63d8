"""The command certify: a proof by machine of one round's inequality, and its check."""

from __future__ import annotations

import json as json_text
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import beginning, one_of
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example
from stemtheory.cli.waiting import waiting
from stemtheory.oracles import USUAL
from stemtheory.runtime import UsageError, Verdict, choice, real, whole, write_whole

if TYPE_CHECKING:
    from stemtheory.certificates import Statement, Weights

ALGORITHMS = ("stem", "fedavg")
CERTIFIED = ("literal", "average-first")
# Why the other readings have none, and a legal instance at which the theorem fails for them.
REFUSED = {
    "overwrite": "M7-overwrite",
    "average-both": "M7-average-both",
}


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


def statement_of(
    name: str | None,
    reading: str | None,
    given: dict[str, str | None],
    schedule: str | None,
    h: str | None,
    alpha: str | None,
) -> Statement:
    """Return the statement that the options ask for.

    Raises
    ------
    UsageError
        For an option that the algorithm has not, and for a reading without certificates.
    """
    from stemtheory.certificates import stated

    algorithm = choice("algorithm", name or "stem", ALGORITHMS)
    if schedule is not None:
        choice("schedule", schedule, ["theorem"])
        if h is not None or alpha is not None:
            raise UsageError(
                "--schedule was given beside --h or --alpha, but it sets both: leave one out."
            )
    if algorithm == "fedavg":
        stray = [f"--{n}" for n, v in (("reading", reading), ("alpha", alpha)) if v is not None]
        stray += ["--m"] * (given["m"] is not None)
        if stray:
            raise UsageError(
                f"{stray[0]} was given, but fedavg has neither momentum nor a jump: leave it out."
            )
    usual = {"K": USUAL.K, "I": 4, "b": 1, "m": 1}
    sizes = {n: whole(n, usual[n] if given[n] is None else given[n]) for n in usual}
    return stated(
        algorithm,
        reading_of(reading or CERTIFIED[0]),
        **sizes,
        h=None if h is None else fraction("h", h),
        alpha=None if alpha is None else fraction("alpha", alpha),
    )


def reading_of(name: str) -> str:
    """Return a reading that has certificates.

    Raises
    ------
    UsageError
        For one that has none, with the reason, and for an unknown one.
    """
    if name in REFUSED:
        raise UsageError(
            f"reading {name} has no round certificate: there the mean of the directions is no"
            " estimate of the mean gradient without a bias, which no assumption bounds by a"
            f" variance, and verify --replay {REFUSED[name]} is a legal instance beyond the"
            " theorem: choose literal or average-first."
        )
    return choice("reading", name, [*CERTIFIED, *REFUSED])


def fraction(name: str, text: str) -> Fraction:
    """Return the exact number that a decimal or a quotient writes.

    Raises
    ------
    UsageError
        For anything else, and for a number out of the range in which steps make sense.
    """
    found = None
    if re.fullmatch(r"[0-9]{1,40}/[0-9]{0,39}[1-9][0-9]{0,39}", text):
        found = Fraction(text)
    elif re.fullmatch(r"[0-9]{0,40}\.?[0-9]{0,40}(e-?[0-9]{1,2})?", text):
        real(name, text, positive=True)
        found = Fraction(text)
    if found is None or not Fraction(1, 10**6) <= found <= 10**3:
        raise UsageError(
            f"{name} is {text!r:.60}, but it must be a number from 1e-6 to 1000: write 0.25 or 1/4."
        )
    return found


def weights_of(text: str | None) -> Weights:
    """Return the three weights that a text such as 1,1,1 writes.

    Raises
    ------
    UsageError
        For anything else.
    """
    from stemtheory.certificates import Weights

    if text is None:
        return Weights()
    parts = [real("weights", part, positive=True) for part in text.split(",")]
    if len(parts) != len(Weights._fields) or not all(1e-6 <= part <= 1e6 for part in parts):
        raise UsageError(
            f"weights is {text!r:.60}, but it must be three numbers from 1e-6 to 1e6: write 1,1,1."
        )
    return Weights(*parts)


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

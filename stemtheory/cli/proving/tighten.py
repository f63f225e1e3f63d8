"""The command tighten: the best theorem that a proof gives for what a user cares about."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import one_of
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example
from stemtheory.cli.proving.given import CERTIFIED, fraction, reading_of, weights_of
from stemtheory.cli.proving.told import show, told_of
from stemtheory.cli.waiting import waiting
from stemtheory.oracles import USUAL
from stemtheory.runtime import UsageError, choice, whole, write_whole

if TYPE_CHECKING:
    from stemtheory.certificates import Weights

MODES = ("proof", "certificate")
LARGEST = {"K": 10**5, "I": 10**3, "b": 10**5}  # S I stays a number of steps
_READING = "literal, whose theorem holds for both, or average-first alone"
Reading = Annotated[
    str | None, o.option(None, "--reading --sync NAME", _READING, "literal", one_of(*CERTIFIED))
]
_RATIO = "M: every I, with a sync batch m = ceil(I/M); up to I = M none is needed"
Ratio = Annotated[str | None, o.option(None, "--ratio INT", _RATIO, "8")]
_WEIGHTS = "L gap, sigma^2 and zeta^2 of your problem, or what each counts for"
WeightsGiven = Annotated[str | None, o.option(None, "--weights NUMS", _WEIGHTS, "1,1,1")]
_MODE = "proof: for all I, b and K. certificate: for one I, K and b, steps included"
Mode = Annotated[str, o.option(None, "--mode NAME", _MODE, True, one_of(*MODES))]
_AT = "mode proof only compares there"
LocalSteps = Annotated[str | None, o.option(None, "--I --local-steps INT", _AT, "4")]
Batch = Annotated[str | None, o.option(None, "--b --batch INT", f"samples; {_AT}", "1")]
WhichSteps = Annotated[str | None, o.option(None, "--I --local-steps INT", "of a round", "4")]
WhichBatch = Annotated[str | None, o.option(None, "--b --batch INT", "samples per draw", "1")]
_H = "hold h = eta L I at this, such as 1/16; by default it is chosen"
H = Annotated[str | None, o.option(None, "--h NUM", _H)]
_CHECK = "check a file, and do nothing else; what else is given is what it must state"
Check = Annotated[Path | None, o.option(None, "--check FILE", _CHECK)]
_OUT = "write what proves it: JSON, exact fractions"
OutFile = Annotated[Path | None, o.option(None, "--out FILE", _OUT)]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog=example("tighten"))(tighten)
    app.command(epilog=example("slack"))(slack)


def tighten(
    context: typer.Context,
    reading: Reading = None,
    ratio: Ratio = None,
    weights: WeightsGiven = None,
    mode: Mode = "proof",
    K: o.K = None,
    I: LocalSteps = None,
    b: Batch = None,
    h: H = None,
    check: Check = None,
    out: OutFile = None,
    json: o.Json = False,
) -> int:
    """The best steps and theorem that a proof gives for your weights, proved in exact fractions."""
    if check is not None:
        o.refuse_beside(
            context,
            ("reading", "ratio", "h", "check", "json"),
            "--check only reads a file: leave it out",
        )
        return _check(check, reading, ratio, h, json)
    wanted, sizes = _wanted(weights), _sizes(K, I, b)
    if choice("mode", mode, MODES) == "certificate":
        useful = ("reading", "weights", "mode", "K", "I", "b", "out", "json")
        o.refuse_beside(context, useful, "mode certificate chooses the steps itself: leave it out")
        document, data = _certificate(reading, sizes, wanted)
    else:
        document, data = _proof(reading, ratio, h, sizes, wanted)
    document["files"] = [] if out is None else [str(write_whole(out, data))]
    console.emit(document, json, lambda: show_found(document))
    return 0


def slack(
    reading: Reading = None,
    weights: WeightsGiven = None,
    K: o.K = None,
    I: WhichSteps = None,
    b: WhichBatch = None,
    json: o.Json = False,
) -> int:
    """Where the theorem's constants go: from the printed one to the worst run found, by step."""
    from stemtheory.tightening import waterfall

    name, wanted, sizes = reading_of(reading or CERTIFIED[0]), _wanted(weights), _sizes(K, I, b)
    with waiting() as told:
        document = waterfall(name, wanted, **sizes, told=told)

    def show_it() -> None:
        console.line(f"{name}: S times the bound, S = (I b K)^2 = {document['at']['S']}, by step")
        rows = [[r["step"], r["claim"], r["value"], r["factor"]] for r in document["rows"]]
        console.table(("taken back, or changed", "claim", "S x bound", "factor"), rows)
        beside = [[r["step"], r["claim"], r["value"]] for r in document["beside"]]
        console.table(("beside", "by", "S x bound"), beside)

    console.emit(document, json, show_it)
    return 0


def _wanted(weights: str | None) -> Weights:
    wanted = weights_of(weights)
    if max(wanted) > 1000 * min(wanted):
        raise UsageError(
            f"weights is {weights}, but the largest may be 1000 times the smallest: give less"
            " different ones."
        )
    return wanted


def _sizes(K: str | None, I: str | None, b: str | None) -> dict[str, int]:
    usual = {"K": USUAL.K, "I": 4, "b": 1}
    given = {"K": K, "I": I, "b": b}
    sizes = {n: usual[n] if v is None else whole(n, v) for n, v in given.items()}
    for name, size in sizes.items():
        if not 1 <= size <= LARGEST[name]:
            raise UsageError(
                f"{name} is {size:.10g}, but it must be from 1 to {LARGEST[name]}: give less."
            )
    return sizes


def _proof(
    reading: str | None, ratio: str | None, h: str | None, sizes: dict[str, int], wanted: Weights
) -> tuple[dict[str, Any], bytes]:
    from stemtheory.tightening import Covered, tightened, told

    within = Covered(
        whole("ratio", ratio or 8),
        reading_of(reading or CERTIFIED[0]),
        fixed={} if h is None else {"h_0": fraction("h", h)},
    )
    found = tightened(within, wanted)
    return {"mode": "proof", **told(found, wanted, **sizes)}, found.data


def _certificate(
    reading: str | None, sizes: dict[str, int], wanted: Weights
) -> tuple[dict[str, Any], bytes]:
    from stemtheory.certificates import stated, weighed
    from stemtheory.tightening import best_steps

    name = reading_of(reading or CERTIFIED[0])
    s = stated("stem", name, I=sizes["I"], K=sizes["K"], b=sizes["b"])
    with waiting() as told:
        found = best_steps(s, wanted, told)
    data = found.certified.data
    statement = json_text.loads(data)["statement"]
    document, C = told_of(data, statement), weighed(statement, wanted)
    steps = {"h": found.h, "alpha": found.alpha, "evaluations": found.evaluations}
    return {"mode": "certificate", **document, **steps, "weights": list(wanted), "C": C}, data


def _check(path: Path, reading: str | None, ratio: str | None, h: str | None, json: bool) -> int:
    """Run the checker alone, on what it is given and nothing else."""
    from stemtheory.certificates import read
    from stemtheory.tightening import checked, latex

    wanted: dict[str, Any] = o.given(reading=reading)
    wanted |= {"ratio": whole("ratio", ratio)} if ratio is not None else {}
    wanted |= {"h": str(fraction("h", h))} if h is not None else {}
    data, document = read(path), dict[str, Any]()
    try:
        found = checked(data, **wanted)
        document = {"accepted": True, "why": None, "statement": found.document["statement"]}
        document["latex"] = latex(found.statement)
    except (ValueError, RecursionError) as error:
        document = {"accepted": False, "why": str(error) or "the file is nested too deeply"}
    document |= {"file": str(path)}
    document["reasons"] = {"why": "the file was accepted"} if document["accepted"] else {}

    def show_it() -> None:
        console.line(f"{'proved' if document['accepted'] else 'refused'}: {path}")
        console.line(str(document["latex"] if document["accepted"] else document["why"]))

    console.emit(document, json, show_it)
    return int(not document["accepted"])


def show_found(d: Document) -> None:
    """Print the steps, the theorem, its slacks, and what it is worth."""
    if d["mode"] == "certificate":
        console.line(f"the best of {d['evaluations']} steps: h = {d['h']}, alpha = {d['alpha']}")
        show(d)
        return
    line = console.line
    s, steps = d["statement"], d["steps"]
    both = "literal and average-first" if s["reading"] == "literal" else s["reading"]
    line(f"proved: {both}, every I >= {s['least_I']}, every b and K, sync batch m = {steps['m']}")
    line(f"steps: eta = {steps['eta']}, a = {steps['a']}")
    console.write(f"theorem: {d['latex']}\n")
    line(f"C at the weights {', '.join(f'{w:g}' for w in d['weights'])}: {d['C']:.6g}")
    rows = [[r["name"], r["left"], r["right"], r["slack"]] for r in d["inequalities"]]
    console.table(("inequality", "left", "right", "slack"), rows)
    line("S times the bound at " + ", ".join(f"{n} = {v}" for n, v in d["at"].items()) + ":")
    beside = [
        [r["name"], r["value"], r["rounds"], r["samples"], "; ".join(r["unmet"])]
        for r in d["beside"]
    ]
    console.table(("bound", "value", "times more rounds", "times more samples", "unmet"), beside)
    for text in d["assumed"]:
        line(f"assumed: {text}")
    for path in d["files"]:
        line(f"written: {path}")

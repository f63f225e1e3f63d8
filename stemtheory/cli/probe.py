"""The command probe: one claim at settings of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.claims import ClaimName, PackNames, Reading
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example

_CHANGE = (
    "a field of the case (problem, K, dim, b, I, rounds, B, x1, replicates, seed, sync_batch,"
    " clock), a dial of the problem (sigma, zeta, ...), schedule.NAME or algorithm.NAME; may be"
    " repeated"
)
Changes = Annotated[list[str] | None, o.option(None, "--set KEY=VALUE", _CHANGE)]
_SCHEDULE = "theorem, calibrated, practical, constant or coupled; the panel's by default"
Schedule = Annotated[str | None, o.option(None, "--schedule NAME", _SCHEDULE)]
Eta = Annotated[str | None, o.option(None, "--eta NUM", "the schedule's step size")]
_OUT = "folder of the case file; none is written without"
Out = Annotated[Path | None, o.option(None, "--out DIR", _OUT)]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=example("probe"))(probe)


def probe(
    name: ClaimName,
    pack: PackNames = None,
    set_: Changes = None,
    sync: Reading = None,
    schedule: Schedule = None,
    eta: Eta = None,
    plot: o.PlotFile = None,
    out: Out = None,
    json: o.Json = False,
) -> int:
    """One claim at settings of your own: both sides over t, and where it fails first."""
    from stemtheory.claims import probe as probed
    from stemtheory.claims import save_probe
    from stemtheory.report import draw_probe

    groups = o.case_settings(set_, o.given(schedule=schedule), o.given(eta=eta))
    found = probed(
        name,
        groups.dials,
        reading=sync,
        options=groups.schedule,
        algorithm_options=groups.algorithm,
        packs=pack or (),
    )
    document: Document = {**found.to_json(), "files": []}
    if plot is not None:
        document["files"].append(str(draw_probe(found, plot)))
    if out is not None:
        document["files"].append(str(save_probe(found, out)))
    console.emit(document, json, lambda: show(document))
    return int(document["violated"] > 0)


def show(document: Document) -> None:
    """Print the case, the places that matter, and the verdict."""
    case = document["case"]
    line, dials = console.line, ", ".join(f"{k} = {v}" for k, v in case["dials"].items())
    line(f"{document['claim']}: {document['statement']}")
    line(
        f"{case['problem']}, K = {case['K']}, b = {case['b']}, I = {case['I']}, {case['rounds']}"
        f" rounds, {case['reading']}, schedule {case['schedule']}; {dials}"
    )
    places = [("worst", document["worst"])]
    if document["first"]:
        places.insert(0, ("first failure", document["first"]))
    rows = [(what, at["t"], at["where"], at["left"], at["right"]) for what, at in places]
    console.table(("", "t", "where", "left", "right"), rows)
    bad, every = document["violated"], document["instances"]
    line(f"violated at {bad} of {every} places" if bad else f"holds at all {every} places")
    for path in document["files"]:
        line(f"written: {path}")

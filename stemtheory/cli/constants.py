"""The command constants: L, sigma and zeta as a run meets them, beside what is declared."""

from __future__ import annotations

from typing import Annotated

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example
from stemtheory.cli.waiting import waiting

T = Annotated[str, o.option(None, "--T --steps INT", "iterations of FedAvg", True)]
_START = "first iterate: one number, or dim of them with commas"
Start = Annotated[str | None, o.option(None, "--x1 --start NUM", _START, "1, or a network's own")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=example("constants"))(constants)


def constants(
    name: Annotated[str, o.argument("PROBLEM", "a name, or package.module:NAME of your own")],
    K: o.K = None,
    dim: o.Dim = None,
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    noise: o.Noise = None,
    heterogeneity: o.Heterogeneity = None,
    set_: o.Set = None,
    T: T = "64",
    x1: Start = None,
    seed: o.Seed = "0",
    json: o.Json = False,
) -> int:
    """L, sigma and zeta as a short run meets them, beside what the problem declares.

    An estimate lies below the constant and bounds nothing; one above it is an error of the problem.
    """
    from stemtheory.claims import estimate_constants

    named = o.given(L=L, sigma=sigma, zeta=zeta, noise=noise, heterogeneity=heterogeneity)
    made = o.problem(name, K, dim, set_, named)
    with waiting() as told:
        told("estimating constants")
        start = None if x1 is None else o.start_point(x1)
        document = estimate_constants(made, T=T, x1=start, seed=seed)
    console.emit(document, json, lambda: show(document))
    return int(any(row["exceeded"] for row in document["constants"].values()))


def show(document: Document) -> None:
    """Print the estimates and the declared values."""
    line = console.line
    line(
        f"{document['problem']} with K={document['K']}, dim={document['dim']}; FedAvg,"
        f" T={document['T']}, b=1, I={document['I']}, seed {document['seed']},"
        f" {document['points']} points"
    )
    if "rows" in document:
        line(document["rows"])
    rows = [
        (
            name, found["estimate"], found["at"], found["declared"],
            found["exactness"] + (": EXCEEDED" if found["exceeded"] else ""),
        )
        for name, found in document["constants"].items()
    ]  # fmt: skip
    console.table(("constant", "estimate", "at t", "declared", "which is"), rows)
    line(document["note"])

"""The command that advises: the algorithm, b, I, T and steps that reach epsilon at least cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from stemtheory import cli_options as o
from stemtheory import console

Epsilon = Annotated[
    str, typer.Option("--epsilon", metavar="NUM", help="bound on E||grad f(xbar_a)||^2 to reach")
]
Workers = Annotated[str, typer.Option("--workers", "--K", metavar="INT", help="workers")]
SampleCost = Annotated[
    str, typer.Option("--sample-cost", metavar="NUM", help="cost of one sample at one worker")
]
RoundCost = Annotated[
    str, typer.Option("--round-cost", metavar="NUM", help="cost of one round of communication")
]
COLUMNS = ("algorithm", "b", "I", "T", "samples", "rounds", "cost")


def register(app: typer.Typer) -> None:
    """Add the command ``advise``."""
    app.command()(advise)


def advise(
    epsilon: Epsilon,
    workers: Workers = "4",
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    gap: o.Gap = "1",
    sample_cost: SampleCost = "1",
    round_cost: RoundCost = "0",
    json: o.Json = False,
) -> int:
    """The cheapest proved way to epsilon, what else there is, and where theory says nothing."""
    from stemtheory.advise import advise as advised

    constants = o.given(L=L, sigma=sigma, zeta=zeta)
    costs = {"sample_cost": sample_cost, "round_cost": round_cost}
    document = advised(epsilon, workers, **constants, gap=gap, **costs)
    console.emit(document, json, lambda: show(document))
    return 0


def show(d: Mapping[str, Any]) -> None:
    """Print the choice, the other algorithms, the neighbours and the guidance."""
    q, choice = d["question"], d["choice"]
    constants = ", ".join(f"{n} = {q[n]:g}" for n in ("L", "sigma", "zeta", "gap"))
    console.line(f"to reach {q['epsilon']:g} with {q['K']} workers; {constants}")
    if choice is not None:
        steps = f"eta = {choice['eta']:.4g}"
        steps += "" if choice["a"] is None else f", a = {choice['a']:.4g}"
        if choice["constant_until"] is not None:
            steps += f" until step {choice['constant_until']}, then decaying as in the theorem"
        first = "" if choice["B"] is None else f", first batch B = {choice['B']}"
        console.line(
            f"choice: {choice['algorithm']}, b = {choice['b']}, I = {choice['I']}, T ="
            f" {choice['T']}; {steps}{first}; proved by {choice['bound']}"
        )
        rows = [("choice", choice), *(("instead", other) for other in d["alternatives"])]
        rows += [(other["change"], other) for other in d["neighbours"]]
        console.table(("", *COLUMNS), [[name, *(r[c] for c in COLUMNS)] for name, r in rows])
        console.line("samples are those of one worker")
    for text in d["guidance"]:
        console.line(text)

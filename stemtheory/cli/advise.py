"""The command that advises: the algorithm, b, I, T and steps that reach epsilon at least cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from stemtheory.algorithms import share
from stemtheory.cli import console, units
from stemtheory.cli import options as o
from stemtheory.cli.examples import example
from stemtheory.cli.waiting import waiting
from stemtheory.oracles import USUAL
from stemtheory.runtime import UsageError, real, whole

_PROBLEM = "also run every offer on it: a name, or package.module:NAME of your own"
ProblemName = Annotated[str | None, o.option(None, "--problem NAME", _PROBLEM)]
Gap = Annotated[str | None, o.option(None, "--gap NUM", "f(x1) - f*", "1, or the problem's own")]
_RUNS = ("runs of an offer", "16, 8 or 4, so that all take half a minute")
Replicates = Annotated[str | None, o.option(None, "--replicates INT", *_RUNS)]
_EPSILON = "bound on E||grad f(xbar_a)||^2 to reach"
Epsilon = Annotated[str, o.option(None, "--epsilon NUM", _EPSILON)]
_SAMPLE = "cost of one sample at one worker"
_ROUND = "cost of one round of one vector: n vectors cost n times as much"
SampleCost = Annotated[str | None, o.option(None, "--sample-cost NUM", _SAMPLE, "1")]
RoundCost = Annotated[str | None, o.option(None, "--round-cost NUM", _ROUND, "0")]
_MODEL = "bytes of one vector, such as 2GB; costs are then in seconds"
_BANDWIDTH = "what a worker sends in a second, such as 100Mbit"
_TIME = "of one sample at one worker, such as 20ms"
ModelSize = Annotated[str | None, o.option(None, "--model-size SIZE", _MODEL)]
Bandwidth = Annotated[str | None, o.option(None, "--bandwidth RATE", _BANDWIDTH)]
SampleTime = Annotated[str | None, o.option(None, "--sample-time TIME", _TIME)]
_SHARE = "share of the workers that a round takes, above 0 and at most 1"
Participation = Annotated[str | None, o.option(None, "--participation NUM", _SHARE, "1")]
# What the bounds depend on, where nothing is run.
_OF_BOUNDS = (
    *("epsilon", "K", "L", "sigma", "zeta", "gap", "sample_cost", "round_cost"),
    *("model_size", "bandwidth", "sample_time", "participation"),
    *("plot", "json"),
)
FARTHEST = 1e15
MEASURED = ("T", "samples", "rounds", "vectors", "cost")
COLUMNS = ("algorithm", "b", "I", *MEASURED)


def register(app: typer.Typer) -> None:
    """Add the command ``advise``."""
    app.command(epilog=example("advise"))(advise)


def advise(
    context: typer.Context,
    epsilon: Epsilon,
    problem: ProblemName = None,
    K: o.K = None,
    dim: o.Dim = None,
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    gap: Gap = None,
    noise: o.Noise = None,
    heterogeneity: o.Heterogeneity = None,
    set_: o.Set = None,
    x1: o.Start = None,
    replicates: Replicates = None,
    seed: o.Seed = "0",
    sample_cost: SampleCost = None,
    round_cost: RoundCost = None,
    model_size: ModelSize = None,
    bandwidth: Bandwidth = None,
    sample_time: SampleTime = None,
    participation: Participation = None,
    plot: o.PlotFile = None,
    json: o.Json = False,
) -> int:
    """The cheapest proved way to epsilon, what else there is, and where theory says nothing.

    With --problem each way is also run, and its measured cost stands beside the proved one.
    """
    from stemtheory.bounds import advise_on
    from stemtheory.bounds.advise import advise as advised
    from stemtheory.report import targets
    from stemtheory.simulator import own_start

    files = targets(None, plot)
    constants = o.given(L=L, sigma=sigma, zeta=zeta)
    _refuse_a_plot_of_no_stem(files, participation)
    link = link_of(model_size, bandwidth, sample_time)
    costs: dict[str, Any] = o.given(sample_cost=sample_cost, round_cost=round_cost)
    if link is not None:
        if costs:
            raise UsageError(
                f"{next(iter(costs))} and a model's size were both given, but either sets costs:"
                " leave one out."
            )
        costs = {"sample_cost": link.sample_time, "round_cost": link.vector_time}
    costs |= o.given(participation=participation)
    dials = o.given(noise=noise, heterogeneity=heterogeneity)
    if problem is None:
        why = "it is about a problem to run on: give --problem as well"
        o.refuse_beside(context, _OF_BOUNDS, why)
        asked = {"K": whole("K", USUAL.K if K is None else K), **constants, **o.given(gap=gap)}
        _refuse_the_far(epsilon=epsilon, **asked)
        document = advised(epsilon, **asked, **costs)
    else:
        if gap is not None:
            raise UsageError("--gap was given, but a problem has its own: leave --gap out.")
        made = o.problem(problem, K, dim, set_, constants | dials)
        start = own_start(made) if x1 is None else o.start_point(x1)
        farthest = max(start if isinstance(start, list) else [start], key=abs)
        _refuse_the_far(epsilon=epsilon, x1=farthest, **constants)
        runs = o.given(x1=start, seed=seed, replicates=replicates)
        with waiting(lines=True) as told:
            document = advise_on(made, epsilon, **costs, **runs, progress=told)
    document["link"] = None if link is None else link._asdict()
    document["files"] = [str(_draw(document, path)) for path in files]
    console.emit(document, json, lambda: show(document))
    return 0


class Link(NamedTuple):
    """What a vector weighs in bytes, and what it and a sample take in seconds."""

    vector_bytes: float
    vector_time: float
    sample_time: float


def link_of(model_size: str | None, bandwidth: str | None, sample_time: str | None) -> Link | None:
    """Return the link that the three options describe, or None without any of them.

    Raises
    ------
    UsageError
        If one of them is missing or cannot be read.
    """
    given = {"model-size": model_size, "bandwidth": bandwidth, "sample-time": sample_time}
    if not any(given.values()):
        return None
    if missing := [f"--{name}" for name, value in given.items() if value is None]:
        raise UsageError(
            f"{missing[0]} is missing, but --model-size, --bandwidth and --sample-time go together:"
            " give all three."
        )
    size = units.size("model-size", str(model_size))
    rate = units.rate("bandwidth", str(bandwidth))
    return Link(size, size / rate, units.seconds("sample-time", str(sample_time)))


def _refuse_a_plot_of_no_stem(files: object, participation: str | None) -> None:
    if files and participation is not None and share("participation", participation) < 1:
        raise UsageError(
            f"--plot draws what STEM costs, which takes every worker, and participation is"
            f" {participation}: leave one of them out."
        )


def _refuse_the_far(**numbers: object) -> None:
    """Refuse numbers so far from 1 that the search over b and I would take minutes."""
    for name, value in numbers.items():
        size = abs(real(name, value))
        if size > FARTHEST or 0 < size < 1 / FARTHEST:
            raise UsageError(
                f"{name} is {real(name, value):g}, but advice is worked out for numbers from"
                f" {1 / FARTHEST:g} to {FARTHEST:g} (and 0): change the units."
            )


def _draw(document: Mapping[str, Any], path: Path) -> Path:
    from stemtheory.report import draw_costs

    if document["choice"] is None:
        raise UsageError(f"{path} was not drawn, since nothing needs to be run: leave --plot out.")
    return draw_costs(document, path)


def show(d: Mapping[str, Any]) -> None:
    """Print the choice, the other algorithms, the neighbours and the guidance."""
    q, choice = d["question"], d["choice"]
    marks = dict.fromkeys(d["defaults"], " (default)")
    names = ("L", "sigma", "zeta", "gap")
    constants = ", ".join(f"{n} = {q[n]:g}{marks.get(n, '')}" for n in names)
    console.line(f"to reach {q['epsilon']:g} with {q['K']} workers; {constants}")
    if choice is not None:
        steps = f"eta = {choice['eta']:.4g}"
        steps += "" if choice["a"] is None else f", a = {choice['a']:.4g}"
        if choice["constant_until"] is not None:
            steps += f" until step {choice['constant_until']:,}, then decaying as in the theorem"
        first = "" if choice["B"] is None else f", first batch B = {choice['B']:,}"
        said = "proved by" if choice["proved"] else "not proved, but as in"
        console.line(
            f"choice: {choice['algorithm']}, b = {choice['b']}, I = {choice['I']}, T ="
            f" {choice['T']:,}; {steps}{first}; {said} {choice['bound']}"
        )
        rows = [("choice", choice), *(("instead", other) for other in d["alternatives"])]
        rows += [(other["change"], other) for other in d["neighbours"]]
        console.table(
            ("", *COLUMNS), [[name, *(_whole(r[c]) for c in COLUMNS)] for name, r in rows]
        )
        whose = "one worker" if choice["proved"] else "the mean worker"
        console.line(f"samples are those of {whose}, vectors are what it sends")
        if not choice["proved"]:
            console.line(
                "cost is that of a worker who takes part in every round: others wait for it"
            )
        if d["link"] is not None:
            limit = " at the most" if choice["proved"] else ""
            sent = units.in_bytes(choice["vectors"] * d["link"]["vector_bytes"])
            console.line(
                f"costs are in seconds: the choice takes {units.in_seconds(choice['cost'])}{limit},"
                f" and {whose} sends {sent}"
            )
        if "measured_choice" in d:
            show_measured(rows, d["replicates"])
    for text in d["guidance"]:
        console.line(text)
    for path in d["files"]:
        console.line(f"written: {path}")


def _whole(value: object) -> object:
    """Return a float that counts something as the whole number that it is: it is shown in full."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def show_measured(rows: list[tuple[str, Mapping[str, Any]]], replicates: int) -> None:
    """Print what each offer took on the problem, or why that is not known."""
    runs = f"measured in {replicates} runs each"
    console.line(f"{runs}, until the average of ||grad f||^2 stays at or below epsilon:")
    table = []
    for name, row in rows:
        seen = row["measured"]
        shown = ["-"] * len(MEASURED) if seen["T"] is None else [seen[c] for c in MEASURED]
        table.append([name, row["algorithm"], row["b"], row["I"], *shown, seen["reason"]])
    console.table(("", "algorithm", "b", "I", *MEASURED, ""), table)

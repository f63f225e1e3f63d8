"""The options that commands share: a letter of the paper has its word beside it.

Numbers arrive as text, so that 1e6, 1_000_000 and -0.5 are read by the same checks as anywhere else
and a bad one gets the same sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from stemtheory.oracles import Problem, load_problem, names
from stemtheory.runtime import UsageError, real

PROBLEM, SIZES, METHOD, OUTPUT = "Problem", "Sizes", "Method", "Output"


def _option(*flags: str, kind: str, text: str, panel: str, default: str | bool = False) -> Any:
    """Return an option; ``default`` is what the help shows where the code decides it later."""
    return typer.Option(
        *flags, metavar=kind, help=text, show_default=default, rich_help_panel=panel
    )


K = Annotated[
    str | None,
    _option("--K", "--workers", kind="INT", text="workers", panel=PROBLEM, default="4"),
]
Dim = Annotated[
    str | None,
    _option(
        "--dim",
        kind="INT",
        text="length of x; that of real data follows from these",
        panel=PROBLEM,
        default="8",
    ),
]
L = Annotated[
    str | None,
    _option("--L", kind="NUM", text="mean-squared smoothness", panel=PROBLEM, default="1"),
]
Sigma = Annotated[
    str | None,
    _option("--sigma", kind="NUM", text="noise level of a sample", panel=PROBLEM, default="0.5"),
]
Zeta = Annotated[
    str | None,
    _option(
        "--zeta",
        kind="NUM",
        text="heterogeneity: how far two workers' gradients may differ",
        panel=PROBLEM,
        default="1; 0 with one worker",
    ),
]
Gap = Annotated[str, _option("--gap", kind="NUM", text="f(x1) - f*", panel=PROBLEM, default=True)]
GradSq = Annotated[
    str | None,
    _option(
        "--grad-sq",
        kind="NUM",
        text="||grad f(x1)||^2, what a bound must beat to say anything",
        panel=PROBLEM,
        default="2 L gap",
    ),
]
Noise = Annotated[
    str | None,
    _option(
        "--noise",
        kind="NAME",
        text="additive, phase, modulated or multiplicative",
        panel=PROBLEM,
        default="phase",
    ),
]
Heterogeneity = Annotated[
    str | None,
    _option(
        "--heterogeneity",
        kind="NAME",
        text="none, tilt or sinusoid",
        panel=PROBLEM,
        default="sinusoid",
    ),
]
Set = Annotated[
    list[str] | None,
    _option(
        "--set",
        kind="KEY=VALUE",
        text="any other dial of the problem (spectrum=10, rotate=true), or an option of the"
        " schedule (schedule.kappa=0.1) or of the algorithm (algorithm.option=II); may be repeated",
        panel=PROBLEM,
    ),
]
T = Annotated[
    str | None,
    _option(
        "--T",
        "--steps",
        kind="INT",
        text="iterations per worker, rounded up to whole rounds",
        panel=SIZES,
        default="4096",
    ),
]
Batch = Annotated[
    str | None,
    _option("--b", "--batch", kind="NUM", text="samples per minibatch, may be real", panel=SIZES),
]
LocalSteps = Annotated[
    str | None,
    _option("--I", "--local-steps", kind="INT", text="iterations per round", panel=SIZES),
]
Nu = Annotated[
    str | None,
    _option(
        "--nu",
        kind="NUM",
        text="chooses b and I on the trade-off curve: 0 minibatch, 1 local steps",
        panel=SIZES,
        default="0.5",
    ),
]
InitialBatch = Annotated[
    str | None,
    _option(
        "--B",
        "--initial-batch",
        kind="NUM",
        text="samples per worker of the first batch",
        panel=SIZES,
        default="b I",
    ),
]
SyncBatch = Annotated[
    str | None,
    _option(
        "--sync-batch",
        kind="INT",
        text="m: m b samples for the one estimate a round that spans the averaging",
        panel=SIZES,
        default="1",
    ),
]
Replicates = Annotated[
    str,
    _option("--replicates", kind="INT", text="independent runs", panel=SIZES, default=True),
]
Epsilon = Annotated[
    str | None,
    _option(
        "--epsilon",
        kind="NUM",
        text="accuracy wanted, instead of --T: the smallest T that reaches it",
        panel=SIZES,
    ),
]
Schedule = Annotated[
    str,
    _option(
        "--schedule",
        kind="NAME",
        text="theorem, calibrated, practical, constant or coupled",
        panel=METHOD,
        default=True,
    ),
]
Sync = Annotated[
    str | None,
    _option(
        "--sync",
        kind="NAME",
        text="reading of the synchronisation: literal, average-first, overwrite, average-both",
        panel=METHOD,
        default="literal",
    ),
]
Start = Annotated[
    str,
    _option(
        "--x1",
        "--start",
        kind="NUM",
        text="first iterate: one number for all coordinates, or dim of them with commas",
        panel=METHOD,
        default=True,
    ),
]
Seed = Annotated[
    str, _option("--seed", kind="INT", text="of all noise", panel=METHOD, default=True)
]
BackendName = Annotated[
    str,
    _option("--backend", kind="NAME", text="auto, numpy or cupy", panel=METHOD, default=True),
]
Engine = Annotated[
    str, _option("--engine", kind="NAME", text="auto or a name", panel=METHOD, default=True)
]
Dtype = Annotated[
    str,
    _option("--dtype", kind="NAME", text="float64 or float32", panel=METHOD, default=True),
]
RecordEvery = Annotated[
    str | None,
    _option(
        "--record-every",
        kind="INT",
        text="keep ||grad f(xbar_t)||^2 every so many iterations",
        panel=OUTPUT,
        default="about 200 times in all if there is a file to fill",
    ),
]
OutFile = Annotated[
    Path | None,
    _option("--out", kind="FILE", text="write the trace: .npz, .json or .csv", panel=OUTPUT),
]
PlotFile = Annotated[
    Path | None,
    _option("--plot", kind="FILE", text="draw it: .png, .pdf or .svg", panel=OUTPUT),
]
OutFolder = Annotated[
    Path, _option("--out", kind="DIR", text="folder of the results", panel=OUTPUT, default=True)
]
Store = Annotated[
    Path | None, _option("--store", kind="FILE", text="results of sweeps", panel=OUTPUT)
]
Formats = Annotated[
    list[str] | None,
    _option(
        "--format", kind="NAMES", text="png, pdf, svg, with commas", panel=OUTPUT, default="png"
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="less, in a few minutes")]
Full = Annotated[bool, typer.Option("--full", help="more, in hours")]
Json = Annotated[bool, typer.Option("--json", help="one JSON document on stdout")]


def given(**values: object) -> dict[str, Any]:
    """Return the options that were given; the others keep the defaults of what is called."""
    return {name: value for name, value in values.items() if value is not None}


def start_point(text: str) -> float | list[float]:
    """Return x1 from '1' or '1,0,-0.5'."""
    parts = [real("x1", part.strip()) for part in text.split(",")]
    return parts[0] if len(parts) == 1 else parts


def figure_names(wanted: list[str] | None) -> list[str]:
    """Return the figures called for; ``all`` is every one.

    Raises
    ------
    UsageError
        For none; it lists the known ones.
    """
    known = names("figures")
    if not wanted:
        raise UsageError(f"no figure was named; known are {', '.join(known)}: name some, or all.")
    return known if wanted == ["all"] else wanted


def format_names(given_names: list[str] | None) -> tuple[str, ...]:
    """Return the picture formats from 'png,pdf' or a repeated option; png by default."""
    parts = [part.strip() for text in given_names or ["png"] for part in text.split(",")]
    return tuple(dict.fromkeys(parts))


def mode(quick: bool, full: bool) -> str:
    """Return quick, default or full."""
    if quick and full:
        raise UsageError(
            "--quick and --full were both given, but they exclude each other: give one."
        )
    return "quick" if quick else "full" if full else "default"


class Groups(NamedTuple):
    """What ``--set`` gave: dials of the problem, options of the schedule and of the algorithm."""

    dials: dict[str, Any]
    schedule: dict[str, Any]
    algorithm: dict[str, Any]


def settings(pairs: list[str] | None, taken: dict[str, Any]) -> Groups:
    """Return what 'key=value' pairs set; ``taken`` are dials that have a flag.

    Raises
    ------
    UsageError
        For a pair without '=', a key given twice, or one that has a flag of its own.
    """
    groups = Groups(dict(taken), {}, {})
    for pair in pairs or ():
        key, sign, text = pair.partition("=")
        if not (key and sign and text):
            raise UsageError(f"--set {pair} is not of the form key=value: write --set spectrum=10.")
        if key in ("K", "dim"):
            raise UsageError(f"--set {pair} names an option of its own: write --{key} {text}.")
        prefix, dot, rest = key.partition(".")
        own = bool(dot) and prefix in ("schedule", "algorithm")
        group, name = (getattr(groups, prefix), rest) if own else (groups.dials, key)
        if name in group:
            raise UsageError(f"{key} was given twice, but it has one value: leave one out.")
        group[name] = _value(text)
    return groups


def problem(
    name: str, K: int, dim: str | None, pairs: list[str] | None, taken: dict[str, Any]
) -> Problem:
    """Return the problem that a command is about, where nothing is run: it has dials alone.

    Raises
    ------
    UsageError
        As ``settings`` and ``load_problem``, and for an option of a schedule or an algorithm.
    """
    groups = settings(pairs, taken)
    stray = [f"schedule.{key}" for key in groups.schedule]
    stray += [f"algorithm.{key}" for key in groups.algorithm]
    if stray:
        raise UsageError(f"{stray[0]} is for the command run alone: leave it out.")
    return load_problem(name, K=K, **given(dim=dim), **groups.dials)


def _value(text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text

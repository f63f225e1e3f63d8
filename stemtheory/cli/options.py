"""The options of the commands, a letter of the paper beside its word, and how they are read.

Numbers arrive as text, so that 1e6, 1_000_000 and -0.5 are read by the same checks as anywhere else
and a bad one gets the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from stemtheory.algorithms import READINGS
from stemtheory.cli.completion import one_of
from stemtheory.cli.completion import settings as settings_of
from stemtheory.oracles import HETEROGENEITIES, NOISES, Problem, load_problem, names
from stemtheory.runtime import BACKENDS, UsageError, kept, real
from stemtheory.schedules import SCHEDULES
from stemtheory.simulator import DTYPES, ENGINES

Text = str | None
File = Path | None


def argument(metavar: str, text: str, complete: Callable[..., list[str]] | None = None) -> Any:
    """Return an argument; ``complete`` says what a shell may put there."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=complete)


def option(
    panel: str | None,
    usage: str,
    text: str,
    default: str | bool = False,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Return the option of a ``usage`` such as '--K --workers INT'; a switch has no kind.

    ``default`` is what the help shows where the code decides it later, True for the real one, and
    ``complete`` says what a shell may put there.
    """
    words = usage.split()
    kind = None if words[-1].startswith("-") else words.pop()
    return typer.Option(
        *words,
        metavar=kind,
        help=text,
        show_default=default,
        rich_help_panel=panel,
        autocompletion=complete,
    )


_any = partial(option, None)
Quick = Annotated[bool, _any("--quick", "less, in a few minutes")]
Full = Annotated[bool, _any("--full", "more, in hours")]
Json = Annotated[bool, _any("--json", "one JSON document on stdout")]
Csv = Annotated[bool, _any("--csv", "every column of every row as CSV on stdout")]

_problem = partial(option, "Problem")
K = Annotated[Text, _problem("--K --workers INT", "workers", "4")]
_DIM = "length of x; that of real data follows from these"
Dim = Annotated[Text, _problem("--dim INT", _DIM, "8")]
L = Annotated[Text, _problem("--L NUM", "mean-squared smoothness", "1")]
Sigma = Annotated[Text, _problem("--sigma NUM", "noise level of a sample", "0.5")]
_ZETA = "heterogeneity: how far two workers' gradients may differ"
Zeta = Annotated[Text, _problem("--zeta NUM", _ZETA, "1; 0 with one worker")]
Gap = Annotated[str, _problem("--gap NUM", "f(x1) - f*", True)]
_GRAD_SQ = "||grad f(x1)||^2, what a bound must beat to say anything"
GradSq = Annotated[Text, _problem("--grad-sq NUM", _GRAD_SQ, "2 L gap")]
_NOISE = "additive, phase, modulated or multiplicative"
Noise = Annotated[Text, _problem("--noise NAME", _NOISE, "phase", one_of(*NOISES))]
_HETEROGENEITY = "none, tilt or sinusoid"
Heterogeneity = Annotated[
    Text,
    _problem("--heterogeneity NAME", _HETEROGENEITY, "sinusoid", one_of(*HETEROGENEITIES)),
]
_SET = (
    "any other dial of the problem (spectrum=10, rotate=true), or an option of the schedule"
    " (schedule.kappa=0.1) or of the algorithm (algorithm.option=II); may be repeated"
)
Set = Annotated[list[str] | None, _problem("--set KEY=VALUE", _SET, complete=settings_of)]

_sizes = partial(option, "Sizes")
_T = "iterations per worker, rounded up to whole rounds"
T = Annotated[Text, _sizes("--T --steps INT", _T, "4096")]
Batch = Annotated[Text, _sizes("--b --batch NUM", "samples per minibatch, may be real")]
LocalSteps = Annotated[Text, _sizes("--I --local-steps INT", "iterations per round")]
_NU = "chooses b and I on the trade-off curve: 0 minibatch, 1 local steps"
Nu = Annotated[Text, _sizes("--nu NUM", _NU, "0.5")]
_B = "samples per worker of the first batch"
InitialBatch = Annotated[Text, _sizes("--B --initial-batch NUM", _B, "b I")]
_SYNC_BATCH = "m: m b samples for the one estimate a round that spans the averaging"
SyncBatch = Annotated[Text, _sizes("--sync-batch INT", _SYNC_BATCH, "1; what Theorem R* asks for")]
Replicates = Annotated[str, _sizes("--replicates INT", "independent runs", True)]
_EPSILON = "accuracy wanted, instead of --T: the smallest T that reaches it"
Epsilon = Annotated[Text, _sizes("--epsilon NUM", _EPSILON)]

_method = partial(option, "Method")
_SCHEDULE = "theorem, calibrated, practical, constant, coupled or rstar"
Schedule = Annotated[str, _method("--schedule NAME", _SCHEDULE, True, one_of(*SCHEDULES))]
_SYNC = "reading of the synchronisation: literal, average-first, overwrite, average-both"
Sync = Annotated[Text, _method("--sync NAME", _SYNC, "literal", one_of(*READINGS))]
_START = "first iterate: one number for all coordinates, or dim of them with commas"
Start = Annotated[Text, _method("--x1 --start NUM", _START, "1; 0 on a chain")]
Seed = Annotated[str, _method("--seed INT", "of all noise", True)]
BackendName = Annotated[
    str, _method("--backend NAME", "auto, numpy or cupy", True, one_of(*BACKENDS))
]
Engine = Annotated[str, _method("--engine NAME", "auto or a name", True, one_of(*ENGINES))]
Dtype = Annotated[str, _method("--dtype NAME", "float64 or float32", True, one_of(*DTYPES))]

_output = partial(option, "Output")
_RECORD, _OFTEN = (
    "keep ||grad f(xbar_t)||^2 every so many iterations",
    "about 200 times in all if there is a file to fill",
)
RecordEvery = Annotated[Text, _output("--record-every INT", _RECORD, _OFTEN)]
OutFile = Annotated[File, _output("--out FILE", "write the trace: .npz, .json or .csv")]
PlotFile = Annotated[File, _output("--plot FILE", "draw it: .png, .pdf or .svg")]
PageFile = Annotated[Path, _output("--out FILE", "the page: .html", True)]
OutFolder = Annotated[Path, _output("--out DIR", "folder of the results", True)]
Store = Annotated[File, _output("--store FILE", "results of sweeps")]
_FORMAT = "png, pdf, svg, with commas"
Formats = Annotated[list[str] | None, _output("--format NAMES", _FORMAT, "png")]
_MORE = "figures as pdf and svg as well, with commas"
MoreFormats = Annotated[list[str] | None, _output("--format NAMES", _MORE, "png; all with --full")]
_WIDTH = "for print: column (3.3 in) or page (7 in)"
Width = Annotated[Text, _output("--width NAME", _WIDTH, "a screen's")]


def given(**values: object) -> dict[str, Any]:
    """Return the options that were given; the others keep the defaults of what is called."""
    return {name: value for name, value in values.items() if value is not None}


def refuse_beside(context: typer.Context, useful: Collection[str], why: str) -> None:
    """Refuse whatever was given on the command line and is not among the ``useful`` parameters.

    It would change nothing, and who gave it believes that it did. An option that is new is refused
    until it is listed.

    Raises
    ------
    UsageError
        With the first of them; ``why`` follows it.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        # typer 0.26 calls a list of names that is empty given
        empty = not context.params.get(name)
        if name not in useful and not empty and source and source.name == "COMMANDLINE":
            shown = parameter.opts[0] if parameter.param_type_name == "option" else "a name"
            raise UsageError(f"{shown} was given, but {why}.")


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


def refuse_both(**switches: bool) -> None:
    """Refuse two switches that exclude each other.

    Raises
    ------
    UsageError
        If both were given.
    """
    if all(switches.values()):
        one, other = switches
        raise UsageError(
            f"--{one} and --{other} were both given, but they exclude each other: give one."
        )


def mode(quick: bool, full: bool) -> str:
    """Return quick, default or full."""
    refuse_both(quick=quick, full=full)
    return "quick" if quick else "full" if full else "default"


class Groups(NamedTuple):
    """What ``--set`` gave: dials of the problem, options of the schedule and of the algorithm."""

    dials: dict[str, Any]
    schedule: dict[str, Any]
    algorithm: dict[str, Any]


def settings(
    pairs: list[str] | None, taken: dict[str, Any], sizes: tuple[str, ...] = ("K", "dim")
) -> Groups:
    """Return what 'key=value' pairs set; ``taken`` are dials that have a flag, ``sizes`` flags.

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
        if key in sizes:
            raise UsageError(f"--set {pair} names an option of its own: write --{key} {text}.")
        prefix, dot, rest = key.partition(".")
        own = bool(dot) and prefix in ("schedule", "algorithm")
        group, name = (getattr(groups, prefix), rest) if own else (groups.dials, key)
        if name in group:
            raise UsageError(f"{key} was given twice, but it has one value: leave one out.")
        group[name] = _value(key, text)
    return groups


def case_settings(
    pairs: list[str] | None, taken: dict[str, Any], options: dict[str, Any]
) -> Groups:
    """Return what 'key=value' pairs change of a case: its fields count as dials.

    Raises
    ------
    UsageError
        As ``settings``.
    """
    groups = settings(pairs, taken, sizes=())
    for name, value in options.items():
        if name in groups.schedule:
            raise UsageError(f"{name} was given twice, but it has one value: leave one out.")
        groups.schedule[name] = real(name, value)
    return groups


def problem(
    name: str, K: str | None, dim: str | None, pairs: list[str] | None, taken: dict[str, Any]
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
    return load_problem(name, **given(K=K, dim=dim), **groups.dials)


def _value(key: str, text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return kept(text)
    except UsageError as error:
        raise UsageError(f"--set {key}: {error}") from error
    except ValueError:
        return text

"""The documents of the commands, printed for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stemtheory.algorithms import load_algorithm
from stemtheory.cli.console import line, number, table

Document = Mapping[str, Any]


def show_bound(d: Document) -> None:
    """Print a bound: its setting, its terms, its premises and what it costs."""
    line(f"{d['name']} at {_sizes(d)}; {_constants(d)}")
    total = d["value"]
    rows = [
        [term, value, f"{100 * value / total:.1f}%" if total > 0 else ""]
        for term, value in d["terms"].items()
    ]
    table(("term", "value", "share"), [*rows, ["sum", total, ""]])
    for premise in d["premises"]:
        line(f"premise {premise['name']}: {'met' if premise['ok'] else 'UNMET'}")
    reference = d["vacuous_reference"]
    still = f"{reference['name']} = {number(reference['value'])}"
    first = d["vacuous_below_T"]
    below = f"vacuous below T = {_big(first)}" if first else "vacuous at every T"
    line(f"{'vacuous' if d['vacuous'] else 'not vacuous'} against {still}; {below} (same b and I)")
    if "epsilon" in d:
        line(f"smallest T with the bound at most {number(d['epsilon'])}: {_big(d['T'])}")
    _rounding(d)
    line(
        f"cost: {_big(d['samples_per_worker'])} samples per worker,"
        f" {_big(d['samples_total'])} in all, {_big(d['rounds'])} rounds"
    )


def show_run(d: Document) -> None:
    """Print a run: its setting, what was measured, the bounds and the counts."""
    chosen = load_algorithm(d["algorithm"]).chosen(d["algorithm_options"])
    own = [f"{name} {value}" for name, value in chosen.items()]
    own += [] if d["sync"] == "literal" else [f"sync {d['sync']}"]
    which = f" ({', '.join(own)})" if own else ""
    line(
        f"{d['problem']}, {d['algorithm']}{which}, schedule {d['schedule']['name']},"
        f" {d['replicates']} replicate{'s' if d['replicates'] > 1 else ''}, seed {d['seed']},"
        f" {d['backend']} {d['dtype']}"
    )
    kind = " (estimates from below)" if d.get("estimated") else ""
    line(f"{_sizes(d)}, dim={d['dim']}; {_constants(d['constants'])}{kind}")
    if rows := d["dials"].get("rows"):  # what was read of a user's file, and done to it
        line(rows)
    _rounding(d)
    table(("", ""), _measured(d))
    said = {name: f"{d['verdicts'][name]}: {premise}" for name, premise in d["unmet"].items()}
    said = {**d["verdicts"], **said}
    rows = [[name, value, d["margins"][name], said[name]] for name, value in d["bounds"].items()]
    if rows:
        table(("bound", "value", "margin", "verdict"), rows)
        for name in d["unstable"]:
            line(f"{name} is vacuous here, and violated: the run is unstable, and by which factor")
            line("it exceeds the bound depends on T")
    else:
        line(f"no bound here is about {d['algorithm']}")
    line(
        f"cost: {_big(d['samples_per_worker'])} samples per worker,"
        f" {_big(d['samples_total'])} in all, {_big(d['rounds'])} rounds,"
        f" {_big(d['exchanges'])} exchanges"
    )
    if not rows:
        up, down = (_big(d[f"floats_{way}"]) for way in ("up", "down"))
        line(f"sent per worker: {up} floats up, {down} down")
    for path in d["files"]:
        line(f"written: {path}")


def show_figures(figures: Sequence[Document]) -> None:
    """Print which files hold which figure."""
    rows = [[f["name"], ", ".join(str(file) for file in f["files"])] for f in figures]
    table(("figure", "files"), rows)


def show_report(d: Document) -> None:
    """Print where the report is and what it found."""
    summary = d["verify"].get("summary", {})
    table(("verdict", "claims"), [[name, count] for name, count in summary.items()])
    unexpected = d["verify"].get("unexpected", [])
    line(f"unexpected: {len(unexpected)}; figures: {len(d['figures'])}; {d['seconds']:.0f} s")
    line(f"report: {d['report']}")


def _measured(d: Document) -> list[list[object]]:
    rows: list[list[object]] = [["||grad f(x1)||^2", d["grad_sq_start"]]]
    if d["status"] == "diverged":
        lost = f"{d['diverged_replicates']} of {d['replicates']} replicates diverged"
        rows.append(["measured M", f"{lost}, the first at step {d['diverged_at']}"])
        rows.append(["mean of the rest", d["mean_grad_sq_finite"]])
    else:
        spread = ""
        if d["ci95"]:
            low, high = d["ci95"]
            spread = f"  (95% interval {number(low)} to {number(high)})"
        rows.append(["measured M", number(d["mean_grad_sq"]) + spread])
    return [[name, number(value)] for name, value in rows]


def _sizes(d: Document) -> str:
    names = ("T", "K", "b", "I") if d["B"] is None else ("T", "K", "b", "I", "B")
    text = ", ".join(f"{name}={_big(d[name])}" for name in names)
    text += f", m={d['sync_batch']}" if d["sync_batch"] > 1 else ""
    return text if d["nu"] is None else f"{text} (nu={d['nu']:g})"


def _constants(d: Document) -> str:
    values = d.get("constants", d)
    names = ("L", "sigma", "zeta", "gap")
    return ", ".join(f"{name}={number(values[name])}" for name in names)


def _rounding(d: Document) -> None:
    """Say where what is computed is not quite what was asked for."""
    if d["T_requested"] is not None and d["T_requested"] != d["T"]:
        line(f"T was rounded up from {d['T_requested']} to {d['T']}, a multiple of I = {d['I']}")
    if d["clipped"]:
        line("T is below the start of the trade-off curve: b or I was raised to 1, no speed-up")


def _big(value: float) -> str:
    """Return a count: in full while it can be read, else with four digits."""
    if value >= 10**9:
        return f"{value:.4g}"
    return f"{value:g}" if value < 10**5 else f"{value:.0f}"

"""A trace as a file (npz, JSON or CSV) and as a picture, and the check that both can be written.

Paper: Def: StationaryPt.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stemtheory.bounds import Margin, document
from stemtheory.report.drawing import FORMATS, house_style, load_matplotlib
from stemtheory.runtime import Floats, UsageError, to_json, try_file, write_file
from stemtheory.simulator import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRACE_FORMATS = (".npz", ".json", ".csv")
PLOT_FORMATS = (".png", ".pdf", ".svg")
PLOT_POINTS = 200
LARGEST = 1e30  # beyond it a diverging run would squeeze everything else


def targets(out: Path | None, plot: Path | None) -> list[Path]:
    """Return the files to write, all of them checked before anything is run."""
    found = [] if out is None else [check_file(out, TRACE_FORMATS)]
    if plot is not None:
        load_matplotlib()
        found.append(check_file(plot, PLOT_FORMATS))
    return found


def check_file(path: Path, formats: tuple[str, ...]) -> Path:
    """Return ``path`` if a file of one of the ``formats`` can be written there.

    Raises
    ------
    UsageError
        For another ending, a folder, or what cannot be written.
    """
    if path.suffix not in formats:
        known = ", ".join(formats)
        raise UsageError(f"{path} must end in one of {known}: choose another name.")
    try_file(path, "name")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, but a file is written there: choose another name.")
    return path


def write(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Write a trace, or draw it, as the ending of ``path`` asks for; return the path."""
    draw = path.suffix in PLOT_FORMATS
    return (draw_trace if draw else write_trace)(trace, found, path)


def plot_times(T: int) -> list[int]:
    """Return about ``PLOT_POINTS`` iterations, dense at the start, whose last is T."""
    last = float(T)  # a whole number may be too long for NumPy; a run of it is refused later
    grid = np.concatenate(
        [np.geomspace(1, last, PLOT_POINTS), np.linspace(1, last, PLOT_POINTS // 2)]
    )
    return [int(t) for t in np.unique(np.rint(grid))]


def write_trace(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Write the trace in the format of the ending of ``path``: whole, or not at all."""
    if path.suffix == ".npz":
        return trace.save(path)
    if path.suffix == ".csv":
        text = trace.frame.to_csv(index=False)
    else:
        series = {name: getattr(trace, name) for name in ("times", "series", "running")}
        text = to_json({**document(trace, found), "grad_sq": trace.grad_sq, "record": series})
    return write_file(path, lambda file: file.write(text.encode()))


def draw_trace(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Draw ||grad f(xbar_t)||^2 and its running average against t, means over replicates."""
    kind = path.suffix.removeprefix(".")
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4.2))
        _draw(figure.add_subplot(), trace, found)
        options: dict[str, Any] = {"format": kind, "metadata": FORMATS[kind]}
        return write_file(path, lambda file: figure.savefig(file, **options))


def _draw(ax: Axes, trace: Trace, found: tuple[Margin, ...]) -> None:
    s = trace.settings
    curves = {
        r"$\|\nabla f(\bar x_t)\|^2$": _drawable_means(trace, trace.series),
        "running average (the measured quantity)": _drawable_means(trace, trace.running),
    }
    for (label, (t, mean)), width in zip(curves.items(), (1, 2), strict=True):
        ax.plot(t, mean, label=label, lw=width)
    if 0 < s["grad_sq_start"] < LARGEST:
        ax.axhline(s["grad_sq_start"], color="0.5", ls=":", lw=1, label="standing still")
    # a bound is about T alone; a vacuous one would squeeze the rest
    shown = {m.name: m.value for m in found if m.verdict == "holds" and m.value is not None}
    for (name, value), marker in zip(shown.items(), "vDs^o", strict=False):
        ax.plot([s["T"]], [value], marker, color="C2", mfc="none", label=f"bound {name}")
    if any(len(t) for t, _ in curves.values()):
        ax.set(xscale="log", yscale="log")
    ax.set(
        xlabel="iteration t",
        ylabel=f"mean over {trace.replicates} replicates",
        title=f"{s['problem']}, {s['algorithm']}: T={s['T']}, K={s['K']}, b={s['b']:.4g}, "
        f"I={s['I']}" + (" (diverged)" if trace.status == "diverged" else ""),
    )
    ax.legend()


def _drawable_means(trace: Trace, values: Floats) -> tuple[Any, Any]:
    """Return (t, mean over replicates) where all are finite and log axes can show it."""
    keep = np.isfinite(values).all(axis=1)
    with np.errstate(over="ignore"):
        mean = values[keep].mean(axis=1)
    drawable = np.isfinite(mean) & (mean > 0) & (mean < LARGEST)
    return trace.times[keep][drawable], mean[drawable]

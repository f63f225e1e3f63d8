"""A trace as a file (npz, JSON or CSV) and as a picture, and the check that both can be written.

Paper: Def: StationaryPt.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stemtheory.bounds import Margin, document
from stemtheory.runtime import Floats, UsageError, part_of, to_json, write_file
from stemtheory.simulator import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRACE_FORMATS = (".npz", ".json", ".csv")
PLOT_FORMATS = (".png", ".pdf", ".svg")
PLOT_POINTS = 200
LARGEST = 1e30  # beyond it a diverging run would squeeze everything else
# Without these the same run would give another file every time.
PLOT_METADATA: dict[str, dict[str, Any]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def targets(out: Path | None, plot: Path | None) -> list[Path]:
    """Return the files to write, all of them checked before anything is run."""
    found = [] if out is None else [check_file(out, TRACE_FORMATS)]
    return found if plot is None else [*found, check_file(plot, PLOT_FORMATS)]


def write(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Write a trace, or draw it, as the ending of ``path`` asks for; return the path."""
    draw = path.suffix in PLOT_FORMATS
    return (draw_trace if draw else write_trace)(trace, found, path)


def check_file(path: Path, formats: tuple[str, ...]) -> Path:
    """Return ``path`` if a file of one of the ``formats`` can be written there.

    Raises
    ------
    UsageError
        For another ending, or a folder that cannot be written to.
    """
    if path.suffix not in formats:
        known = ", ".join(formats)
        raise UsageError(f"{path} must end in one of {known}: choose another name.")
    try:
        part = part_of(path)  # of a link beside the file that it means
        check_folder(part.parent if path.is_symlink() else path.parent)
        folder = path.is_dir()
        with contextlib.suppress(FileNotFoundError):
            part.lstat()  # a name may be too long
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} cannot be written ({reason}): choose another name.") from error
    if folder:
        raise UsageError(f"{path} is a folder, but a file is written there: choose another name.")
    return path


def check_folder(folder: Path) -> Path:
    """Return ``folder`` if files can be written into it.

    Raises
    ------
    UsageError
        If they cannot. Found out by trying: permissions alone do not tell.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"the folder {folder} cannot be written to ({reason}): create it or choose another."
        ) from error
    return folder


def plot_times(T: int) -> list[int]:
    """Return about ``PLOT_POINTS`` iterations, dense at the start, whose last is T."""
    grid = np.concatenate([np.geomspace(1, T, PLOT_POINTS), np.linspace(1, T, PLOT_POINTS // 2)])
    return [int(t) for t in np.unique(np.rint(grid))]


def write_trace(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Write the trace in the format of the ending of ``path``: whole, or not at all."""
    if path.suffix == ".npz":
        return trace.save(path)
    if path.suffix == ".csv":
        text = trace.to_frame().to_csv(index=False)
    else:
        series = {name: getattr(trace, name) for name in ("times", "series", "running")}
        text = to_json({**document(trace, found), "grad_sq": trace.grad_sq, "record": series})
    return write_file(path, lambda file: file.write(text.encode()))


def draw_trace(trace: Trace, found: tuple[Margin, ...], path: Path) -> Path:
    """Draw ||grad f(xbar_t)||^2 and its running average against t, means over replicates."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    _draw(figure.add_subplot(), trace, found)
    kind = path.suffix
    with mpl.rc_context({"svg.hashsalt": "stemtheory"}):
        return write_file(
            path,
            lambda file: figure.savefig(
                file, format=kind[1:], dpi=150, metadata=PLOT_METADATA[kind]
            ),
        )


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
        ax.plot([s["T"]], [value], marker, color="C3", mfc="none", label=f"bound {name}")
    if any(len(t) for t, _ in curves.values()):
        ax.set(xscale="log", yscale="log")
    ax.set(
        xlabel="iteration t",
        ylabel=f"mean over {trace.replicates} replicates",
        title=f"{s['problem']}, {s['algorithm']}: T={s['T']}, K={s['K']}, b={s['b']:.4g}, "
        f"I={s['I']}" + (" (diverged)" if trace.status == "diverged" else ""),
    )
    ax.legend(fontsize="small")


def _drawable_means(trace: Trace, values: Floats) -> tuple[Any, Any]:
    """Return (t, mean over replicates) where all are finite and log axes can show it."""
    keep = np.isfinite(values).all(axis=1)
    with np.errstate(over="ignore"):
        mean = values[keep].mean(axis=1)
    drawable = np.isfinite(mean) & (mean > 0) & (mean < LARGEST)
    return trace.times[keep][drawable], mean[drawable]

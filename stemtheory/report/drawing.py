"""How a figure entry is declared, drawn and saved.

An entry is one module of ``figures/`` with an ``ENTRY = Figure(...)``. Its ``prepare`` computes the
data as a frozen dataclass and knows nothing of matplotlib; its ``draw`` puts them on a matplotlib
figure; its ``caption`` says what is seen and what is not claimed. Figures are plain objects: no
pyplot state is touched, so no display is looked for and nothing stays open.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stemtheory._version import __version__
from stemtheory.oracles import catalogue
from stemtheory.report.tables import Table
from stemtheory.runtime import Floats, UsageError, choice, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Data = TypeVar("Data")
Progress = Callable[[str], None]

MODES = ("quick", "default", "full")
# What each format would otherwise stamp with the date or the drawing library's version.
FORMATS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}
STYLE = Path(__file__).with_name("style.mplstyle")


@dataclass(frozen=True)
class Figure(Generic[Data]):
    """A figure as data: its name, one line about it, and how it comes about.

    ``prepare(mode, progress)`` returns the data, ``draw(data, figure)`` draws them on an empty
    matplotlib figure of ``size`` inches, and ``caption(data)`` returns what is seen and what is not
    claimed. ``seed`` is the seed of everything that ``prepare`` draws. ``lacks(mode)`` returns in
    one sentence what must be installed first, or None; ``report_mode`` is the most that a full
    report draws it with. ``table(data)`` returns the numbers, for a figure that is also a table: it
    lies beside the picture as CSV, Markdown and LaTeX.
    """

    name: str
    summary: str
    prepare: Callable[[str, Progress], Data]
    draw: Callable[[Data, Canvas], None]
    caption: Callable[[Data], str]
    size: tuple[float, float] = (9.6, 4.0)
    seed: int = 0
    lacks: Callable[[str], str | None] = lambda _: None
    report_mode: str = "full"
    stored: Callable[[str, Path], Data] | None = None
    table: Callable[[Data], Table] | None = None


def figure_entry(name: str) -> Figure[Any]:
    """Return the figure entry called ``name``, or a user's own ``package.module:NAME``.

    Raises
    ------
    UsageError
        For an unknown name, or one that is no figure entry.
    """
    load_matplotlib()
    if ":" in name:
        entry = catalogue.user_entry(name)
    else:
        choice("figure", name, catalogue.names("figures"))
        entry = importlib.import_module(f"stemtheory.figures.{name}").ENTRY
    if not isinstance(entry, Figure):
        raise UsageError(f"{name} is {type(entry).__name__}, but it must be a Figure: declare one.")
    return entry


def draw_figures(
    names: Sequence[str],
    *,
    mode: str = "default",
    store: Path | None = None,
    out: Path = Path("out"),
    formats: Sequence[str] = ("png",),
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Return name, files and caption of every figure, drawn and written into ``out``.

    Every file appears whole or not at all; beside a figure lies its caption, ``NAME.txt``.
    Figures of a sweep are drawn from ``store``, if given; the others leave it alone.

    Raises
    ------
    UsageError
        Before any work, for unknown names, modes or formats, for data that are not there, or if
        ``out`` cannot be written.
    """
    choice("mode", mode, MODES)
    for kind in formats:
        choice("format", kind, FORMATS)
    entries = [figure_entry(name) for name in names]
    absent = [reason for reason in (entry.lacks(mode) for entry in entries) if reason]
    if absent:
        raise UsageError(absent[0])
    if store is not None and entries and not any(entry.stored for entry in entries):
        named = ", ".join(entry.name for entry in entries)
        raise UsageError(f"store was given, but {named} is not drawn from a sweep: leave it out.")
    folder = writable_folder(out)
    return [_draw_one(entry, mode, store, folder, formats, progress) for entry in entries]


def render(entry: Figure[Data], data: Data, kind: str) -> bytes:
    """Return one drawn figure as the bytes of a file of that kind, the same on every run."""
    with house_style():
        from matplotlib.figure import Figure as MatplotlibFigure

        canvas = MatplotlibFigure(figsize=entry.size)
        entry.draw(data, canvas)
        buffer = io.BytesIO()
        canvas.savefig(buffer, format=kind, metadata=FORMATS[kind])
    return buffer.getvalue()


def load_matplotlib() -> None:
    """Import matplotlib; its backend does not matter, since figures are plain objects.

    What MPLBACKEND names may be missing here: a notebook's own, which its shell commands inherit.
    """
    if "matplotlib" in sys.modules:
        return
    asked = os.environ.pop("MPLBACKEND", None)  # a bad one ends the import half-way, for good
    import matplotlib as mpl

    if asked is not None:
        os.environ["MPLBACKEND"] = asked
        with suppress(ValueError):
            mpl.rcParams["backend"] = asked


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the one style sheet, whatever the user's own settings are, and take it back."""
    load_matplotlib()
    import matplotlib as mpl

    style = mpl.rc_params_from_file(STYLE, use_default_template=False)
    with mpl.rc_context():
        mpl.rcdefaults()  # leaves the backend alone
        mpl.rcParams.update(style)
        yield


def full_caption(entry: Figure[Data], data: Data, mode: str, store: Path | None = None) -> str:
    """Return the caption with what it takes to draw the same figure again."""
    flag = "" if mode == "default" else f" --{mode}"
    if store is not None and entry.stored is not None:
        flag += f" --store {store.name}"
    again = f"Command: stemtheory figure {entry.name}{flag}; seed {entry.seed};"
    return f"{entry.caption(data)}\n\n{again} stemtheory {__version__}."


def writable_folder(path: Path) -> Path:
    """Return the folder, made if need be, after trying whether a file can be written there.

    Raises
    ------
    UsageError
        If it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): choose another folder."
        ) from error
    return path


def _draw_one(
    entry: Figure[Any],
    mode: str,
    store: Path | None,
    folder: Path,
    formats: Sequence[str],
    progress: Progress,
) -> dict[str, Any]:
    if store is not None and entry.stored is not None:
        progress(f"figure {entry.name}: reading {store}")
        data = entry.stored(mode, store)
    else:
        progress(f"figure {entry.name}: computing")
        data = entry.prepare(mode, progress)
    progress(f"figure {entry.name}: drawing")
    files = [
        write_whole(folder / f"{entry.name}.{kind}", render(entry, data, kind))
        for kind in dict.fromkeys(formats)
    ]
    if entry.table is not None:
        files += write_table(entry.table(data), folder / entry.name)
    caption = full_caption(entry, data, mode, store)
    files.append(write_whole(folder / f"{entry.name}.txt", caption + "\n"))
    return {"name": entry.name, "files": [str(file) for file in files], "caption": caption}


def write_table(table: Table, stem: Path) -> list[Path]:
    """Return the files of a table, ``stem`` with .csv, .md and .tex, written whole."""
    texts = {"csv": table.csv(), "md": table.markdown(), "tex": table.latex()}
    return [write_whole(stem.with_name(f"{stem.name}.{e}"), text) for e, text in texts.items()]


# What a logarithmic axis cannot show is left out here, never replaced by a small number.


def drawable(*columns: ArrayLike) -> NDArray[np.bool_]:
    """Return where every column is finite and above 0: the points a log-log axis can show."""
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    good = np.ones(np.broadcast_shapes(*(a.shape for a in arrays)), dtype=bool)
    for array in arrays:
        good &= np.isfinite(array) & (array > 0)
    return good


def log_bars(
    ax: Axes, x: ArrayLike, y: ArrayLike, low: ArrayLike, high: ArrayLike, **style: Any
) -> int:
    """Return how many points were drawn, with their bars from ``low`` to ``high``.

    The y axis is logarithmic; the x axis may be either. Points that are not finite, or not above 0
    on a logarithmic axis, are left out. A bar that reaches to 0 or below ends at the lowest value
    drawn; one without an upper end is an arrow.
    """
    x, y, low, high = (
        np.asarray(c, dtype=np.float64) for c in np.broadcast_arrays(x, y, low, high)
    )
    good = _shown(ax, x) & drawable(y)
    x, y, low, high = x[good], y[good], low[good], high[good]
    if len(x) == 0:
        return 0
    # a missing interval is no bar; an interval always holds its point
    below = np.where(np.isnan(low), y, np.minimum(low, y))
    above = np.where(np.isnan(high), y, np.maximum(high, y))
    below = np.maximum(below, _floor(y, below, above))
    is_open = np.isinf(above)
    bars = np.stack([y - below, np.where(is_open, y / 2, above - y)])
    ax.errorbar(x, y, yerr=bars, lolims=is_open, **{"linestyle": "none", **style})
    return len(x)


def plain_log_axes(ax: Axes) -> None:
    """Make both axes logarithmic, with numbers such as 1, 10 and 10,000 instead of powers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        axis.set_minor_formatter(NullFormatter())


def log_band(ax: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, **style: Any) -> int:
    """Return how many points the band between ``low`` and ``high`` was drawn through.

    Points whose upper end is not finite or not above 0 are left out; a lower end at 0 or below (or
    missing) is clipped to the lowest value drawn, so that nothing reaches beyond the data.
    """
    x, low, high = (np.asarray(c, dtype=np.float64) for c in np.broadcast_arrays(x, low, high))
    good = _shown(ax, x) & drawable(high)
    x, low, high = x[good], low[good], high[good]
    if len(x) == 0:
        return 0
    floor = _floor(low, high)
    clipped = np.where(np.isfinite(low), np.maximum(low, floor), floor)
    ax.fill_between(x, clipped, high, **{"linewidth": 0, "alpha": 0.25, **style})
    return len(x)


def _shown(ax: Axes, x: Floats) -> NDArray[np.bool_]:
    """Where x can stand on the axis as it is scaled now."""
    return drawable(x) if ax.get_xscale() == "log" else np.isfinite(x)


def _floor(*columns: Floats) -> float:
    """The lowest value that is finite and above 0."""
    values = np.concatenate([np.ravel(column) for column in columns])
    return float(values[drawable(values)].min())

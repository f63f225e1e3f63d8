"""How a figure entry is declared, drawn and saved.

An entry is one module of ``figures/`` with an ``ENTRY = Figure(...)``. Its ``table`` holds every
number that is drawn and knows nothing of matplotlib; its ``draw`` puts the table on a matplotlib
figure; its ``caption`` says what is seen in it and what is not claimed. Figures are plain objects:
no pyplot state is touched, so no display is looked for and nothing stays open.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemtheory._version import __version__
from stemtheory.oracles import catalogue
from stemtheory.report.figure_table import FigureTable
from stemtheory.report.formula import in_words
from stemtheory.report.panels import PRINTED, WIDTHS, finish, printed_canvas
from stemtheory.report.tables import Table
from stemtheory.runtime import (
    MODES,
    UsageError,
    callback,
    choice,
    file_path,
    is_out_of_handles,
    part,
    several,
    uncounted,
    write_whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Progress = Callable[[str], None]

# What each format would otherwise stamp with the date or the drawing library's version.
FORMATS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}
STYLE = Path(__file__).with_name("style.mplstyle")
FORMULAS = 4096  # kept when set: the numbers on the axes of all figures, in every size of letters


@dataclass(frozen=True)
class Figure:
    """A figure as data: its name, one line about it, and how it comes about.

    ``table(mode, store, progress)`` returns every number that is drawn, ``draw(table, figure)``
    draws it on an empty matplotlib figure of ``size`` inches, and ``caption(table)`` returns what
    is seen and what is not claimed. ``seed`` is the seed of everything that ``table`` draws at
    random. A figure of a ``sweep`` reads it from ``store`` if one is given and runs it otherwise;
    the others get None. ``lacks(mode)`` returns in one sentence what must be installed first, or
    None; ``report_mode`` is the most that a full report draws it with. ``view(table)`` returns what
    of it a page shows, for a figure that is also a table: it is written as Markdown and LaTeX.
    """

    name: str
    summary: str
    table: Callable[[str, Path | None, Progress], FigureTable]
    draw: Callable[[FigureTable, Canvas], None]
    caption: Callable[[FigureTable], str]
    size: tuple[float, float] = (9.6, 4.0)
    seed: int = 0
    sweep: str = ""
    lacks: Callable[[str], str | None] = lambda _: None
    report_mode: str = "full"
    view: Callable[[FigureTable], Table] | None = None


def figure_entry(name: object) -> Figure:
    """Return the figure entry called ``name``, or a user's own ``package.module:NAME``.

    Raises
    ------
    UsageError
        For an unknown name, or one that is no figure entry.
    """
    load_matplotlib()
    if isinstance(name, str) and ":" in name:
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
    width: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Return name, files, caption and panels in words of every figure, drawn into ``out``.

    Every file appears whole or not at all; beside a figure lie its caption, ``NAME.txt``, and the
    numbers that are drawn, ``NAME.csv``.
    Figures of a sweep are drawn from ``store``, if given; the others leave it alone. ``width`` is
    that of print, ``column`` (3.3 inches) or ``page`` (7 inches); none is that of a screen.

    Raises
    ------
    UsageError
        Before any work, for unknown names, modes or formats, for data that are not there, or if
        ``out`` cannot be written.
    """
    choice("mode", mode, MODES)
    formats = [choice("format", kind, FORMATS) for kind in several("formats", formats)]
    if width is not None:
        choice("width", width, WIDTHS)
    entries = [figure_entry(name) for name in several("names", names)]
    store = None if store is None else file_path("store", store)
    callback("progress", progress)
    absent = [reason for reason in (entry.lacks(mode) for entry in entries) if reason]
    if absent:
        raise UsageError(absent[0])
    if store is not None and entries and not any(entry.sweep for entry in entries):
        named = ", ".join(entry.name for entry in entries)
        raise UsageError(f"store was given, but {named} is not drawn from a sweep: leave it out.")
    folder = writable_folder(file_path("out", out))
    drawn = []
    tables: dict[object, FigureTable] = {}  # figures that show one table share it
    for i, entry in enumerate(entries):
        with part(i / len(entries), (i + 1) / len(entries)):
            if entry.table not in tables:
                tables[entry.table] = _table_of(entry, mode, store, progress)
            progress(f"figure {entry.name}: drawing")
            table = tables[entry.table]
            drawn.append(_draw_one(entry, table, mode, store, folder, formats, width or ""))
    return drawn


def picture_kind(path: Path) -> str:
    """Return the format that a path's ending names.

    Raises
    ------
    UsageError
        If it names none.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UsageError(f"{path} is no picture's name: let it end in .png, .pdf or .svg.")
    return kind


@contextlib.contextmanager
def drawn(
    draw: Callable[[Canvas], None], size: tuple[float, float], width: str = ""
) -> Iterator[Canvas]:
    """Give what ``draw`` puts on a figure, laid out for the screen or a width of ``WIDTHS``."""
    with house_style():
        import matplotlib as mpl
        from matplotlib.figure import Figure as MatplotlibFigure

        _keep_formulas()
        if width:
            mpl.rcParams.update(PRINTED)
            canvas: Canvas = printed_canvas()(figsize=(WIDTHS[width], size[1]))
        else:
            canvas = MatplotlibFigure(figsize=size)
        draw(canvas)
        finish(canvas)
        yield canvas


def render(
    draw: Callable[[Canvas], None], size: tuple[float, float], kind: str, width: str = ""
) -> bytes:
    """Return what ``draw`` puts on a figure as the bytes of a file, the same on every run."""
    with drawn(draw, size, width) as canvas:
        return _saved(canvas, kind)


def _saved(canvas: Canvas, kind: str) -> bytes:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format=kind, metadata=FORMATS[kind])
    return buffer.getvalue()


def picture(entry: Figure, table: FigureTable, kind: str, width: str = "") -> bytes:
    """Return a figure drawn from a table as the bytes of a file of that kind."""
    return render(lambda canvas: entry.draw(table, canvas), entry.size, kind, width)


def _panels_in_words(canvas: Canvas) -> str:
    """Return what stands on a figure for who cannot see it: titles and labels of its panels."""
    panels = [_words(ax) for ax in canvas.axes if ax.get_label() != "<colorbar>"]
    return "; ".join(words for words in panels if words)


def _words(ax: Axes) -> str:
    """Return "a Title: y against x", of what the panel has."""
    title, y, x = map(in_words, (ax.get_title(loc="left"), ax.get_ylabel(), ax.get_xlabel()))
    axes = " against ".join(label for label in (y, x) if label)
    return ": ".join(part for part in (title, axes) if part)


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
        with contextlib.suppress(ValueError):
            mpl.rcParams["backend"] = asked


def _keep_formulas() -> None:
    """Have formulas that were set kept for all figures: matplotlib keeps 50, each for one canvas.

    A figure is laid out several times, and half of it went into setting the same numbers again.
    """
    from matplotlib.mathtext import MathTextParser

    known: Any = getattr(MathTextParser, "_parse_cached", None)  # there is no public way to it
    if not hasattr(known, "cache_parameters"):
        return
    kept = functools.lru_cache(FORMULAS)(known.__wrapped__)
    first: dict[str, Any] = {}  # parser of its kind: a raster or a path

    def parse(parser: Any, *asked: Any) -> Any:
        return kept(first.setdefault(parser._output_type, parser), *asked)

    MathTextParser._parse_cached = parse  # type: ignore[attr-defined]


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Apply the one style sheet, whatever the user's own settings are, and take it back."""
    load_matplotlib()
    import matplotlib as mpl

    style = mpl.rc_params_from_file(STYLE, use_default_template=False)
    with mpl.rc_context():
        mpl.rcdefaults()  # leaves the backend alone
        mpl.rcParams.update(style)
        yield


def full_caption(
    entry: Figure, table: FigureTable, mode: str, store: Path | None = None, width: str = ""
) -> str:
    """Return the caption with what it takes to draw the same figure again."""
    flag = "" if mode == "default" else f" --{mode}"
    if store is not None and entry.sweep:
        flag += f" --store {store.name}"
    flag += f" --width {width}" if width else ""
    again = f"Command: stemtheory figure {entry.name}{flag}; seed {entry.seed};"
    return f"{entry.caption(table)}\n\n{again} stemtheory {__version__}."


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
        if is_out_of_handles(error):
            raise
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): choose another folder."
        ) from error
    return path


def _table_of(entry: Figure, mode: str, store: Path | None, progress: Progress) -> FigureTable:
    own = store if entry.sweep else None
    # a sweep knows how much there is of it; a figure that runs this and that does not
    unknown = "" if entry.sweep else ", how long is not known"
    progress(f"figure {entry.name}: {f'reading {own}' if own else f'computing{unknown}'}")
    with contextlib.nullcontext() if entry.sweep else uncounted():
        return entry.table(mode, own, progress)


def _draw_one(
    entry: Figure,
    table: FigureTable,
    mode: str,
    store: Path | None,
    folder: Path,
    formats: Sequence[str],
    width: str,
) -> dict[str, Any]:
    caption = full_caption(entry, table, mode, store, width)
    texts = {"csv": table.csv()}
    if entry.view is not None:
        shown = entry.view(table)
        texts |= {"md": shown.markdown(), "tex": shown.latex()}
    texts["txt"] = caption + "\n"
    # laying a figure out is most of the work, and what was saved once is laid out otherwise
    with drawn(lambda canvas: entry.draw(table, canvas), entry.size, width) as canvas:
        panels = _panels_in_words(canvas)
        contents = {kind: _saved(canvas, kind) for kind in formats[:1]}
    contents |= {kind: picture(entry, table, kind, width) for kind in formats[1:]}
    written = (contents | texts).items()
    files = [str(write_whole(folder / f"{entry.name}.{end}", it)) for end, it in written]
    return {"name": entry.name, "files": files, "caption": caption, "panels": panels}


def write_table(table: Table, stem: Path) -> list[Path]:
    """Return the files of a table, ``stem`` with .csv, .md and .tex, written whole."""
    texts = {"csv": table.csv(), "md": table.markdown(), "tex": table.latex()}
    return [write_whole(stem.with_name(f"{stem.name}.{e}"), text) for e, text in texts.items()]

"""A sweep as a person writes it: one TOML file, three sizes, every mistake named with its line.

    summary = "one line"
    may_diverge = true    # runs that diverge are part of it, as in a search for step sizes
    [settings]            # one value each, for every point
    [algorithms.LABEL]    # algorithm = "stem" (default: the label) and settings of its own
    [grids.NAME]          # kind = "product" | "zip" | "curve", algorithms = [labels], and axes;
                          # cross = [axes] of a zip takes every combination of these with it
    [fits.NAME]           # what to make of the numbers; handed on as it is
    [quick] and [full]    # the same tables again: what they give replaces what stands above

An axis is a value, a list, or {from, to, count, spacing} or {from, ratio, count}. Grids overrule
algorithms, and those overrule the settings.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stemtheory.algorithms import load_algorithm
from stemtheory.experiment.design.grids import KINDS, SweepGrid, spread
from stemtheory.experiment.design.toml_lines import Document, Place, parse
from stemtheory.oracles import catalogue
from stemtheory.runtime import MODES, UsageError, choice, truth

TABLES = ("summary", "settings", "algorithms", "grids", "fits")
GROUPS = ("dials", "schedule_options", "algorithm_options")
MOST_POINTS = 1_000_000  # of a sweep: to list them takes half a minute before anything runs
MOST_RECORD = 100_000  # numbers kept of each replicate: 25 MB in a cell of 32
Settings = Mapping[str, Any]


class _Kind(NamedTuple):
    """What a setting may be, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]
    whole: bool = False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_start(value: Any) -> bool:
    return all(map(_is_number, value if isinstance(value, list) and value else [value]))


def _whole(least: int, most: float = math.inf) -> _Kind:
    words = f"a whole number of at least {least}"
    words += f" and at most {most}" if most < math.inf else ""
    return _Kind(words, lambda v: _is_number(v) and v == int(v) and least <= v <= most, True)


_ABOVE = _Kind("a number above 0", lambda v: _is_number(v) and v > 0)
_NOT_BELOW = _Kind("a number of at least 0", lambda v: _is_number(v) and v >= 0)
_SIZE = _Kind("a number of at least 1", lambda v: _is_number(v) and v >= 1)
_TEXT = _Kind("text in quotes", lambda v: isinstance(v, str))
_FREE = _Kind("a number, text, true or false", lambda v: isinstance(v, int | float | str))
KIND: Mapping[str, _Kind] = {
    **dict.fromkeys(("T", "I", "K", "dim", "replicates", "sync_batch"), _whole(1)),
    "seed": _whole(0),
    "record": _whole(0, MOST_RECORD),
    **dict.fromkeys(("b", "B"), _SIZE),
    **dict.fromkeys(("nu", "sigma", "zeta"), _NOT_BELOW),
    **dict.fromkeys(("L", "epsilon", "precision"), _ABOVE),
    **dict.fromkeys(("problem", "noise", "heterogeneity", "schedule", "sync"), _TEXT),
    **dict.fromkeys(("dtype", "engine", "backend", "noise_source"), _TEXT),
    "per_sample": _Kind("true or false", lambda v: isinstance(v, bool)),
    "x1": _Kind("a number or a list of dim numbers", _is_start),
}


@dataclass(frozen=True)
class SweptAlgorithm:
    """A name, or package.module:NAME, under a label, with settings of its own."""

    label: str
    name: str
    settings: Settings


@dataclass(frozen=True)
class Spec:
    """A checked sweep of one size; settings have flat names such as ``dials.spectrum``."""

    name: str
    mode: str
    summary: str
    settings: Settings
    algorithms: Mapping[str, SweptAlgorithm]
    grids: tuple[SweepGrid, ...]
    fits: Mapping[str, Any]
    document: Document
    may_diverge: bool = False

    def refuse_grid(self, grid: str, error: UsageError) -> UsageError:
        """Return the error with the file, the line and the grid in front of it."""
        return UsageError(f"{self.document.where(('grids', grid))}: grids.{grid}: {error}")


def load_spec(source: str | Path, mode: str = "default") -> Spec:
    """Return the sweep called ``source``: a name of the catalogue, or the path of a TOML file.

    Raises
    ------
    UsageError
        For an unknown name, an unreadable file, and for whatever is wrong in it, with the line.
    """
    path = Path(source)
    if path.suffix != ".toml":
        name = choice("sweep", str(source), catalogue.names("sweeps"))
        folders = importlib.import_module("stemtheory.sweeps").__path__
        path = next(p for root in folders if (p := Path(root, f"{name}.toml")).is_file())
    try:
        return parse_spec(path.read_text(encoding="utf-8-sig"), path.stem, mode, path.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read ({reason}): give a TOML file.") from error


def parse_spec(text: str, name: str, mode: str = "default", file: str | None = None) -> Spec:
    """Return the sweep of one size that a TOML text describes.

    Raises
    ------
    UsageError
        For whatever is wrong in it, with the key and the line.
    """
    choice("mode", mode, MODES)
    document = parse(text, file or f"{name}.toml")
    table = document.section((), document.table, (*TABLES, "may_diverge", "quick", "full"))
    for size in ("quick", "full"):
        document.section((size,), table.get(size, {}), TABLES)
    reader = _Reader(document.at(mode))
    fits = reader.document.section(("fits",), reader.table.get("fits", {}))
    settings = dict(reader.values(("settings",), reader.table.get("settings", {})))
    algorithms = dict(reader.algorithms(settings))
    return Spec(
        name=name,
        mode=mode,
        summary=reader.summary(),
        settings=settings,
        algorithms=algorithms,
        grids=reader.grids(settings, algorithms),
        fits=fits,
        document=reader.document,
        may_diverge=reader.truth((), reader.table, "may_diverge"),
    )


class _Reader:
    """Checks the tables of one size; what is wrong is named by its place in the file."""

    def __init__(self, document: Document) -> None:
        self.document, self.table, self.refuse = document, document.table, document.refuse

    def summary(self) -> str:
        summary = self.table.get("summary", "")
        if not isinstance(summary, str):
            self.refuse(("summary",), "must be text: put it in quotes.")
        return summary

    def truth(self, path: Place, table: Settings, key: str) -> bool:
        with self.document.naming((*path, key)):
            return truth(key, table.get(key, False))

    def values(
        self, path: Place, table: Any, *other: str, axes: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """Yield the flat name of every setting with its value, or with the values of its axis.

        Keys in ``other`` are passed over.
        """
        check = self._axis if axes else self._checked
        for key, value in self.document.section(path, table, (*KIND, *GROUPS, *other)).items():
            if key in KIND:
                yield key, check(key, (*path, key), value)
            elif key in GROUPS:
                for inner, item in self.document.section((*path, key), value).items():
                    if inner in KIND:
                        say = f"is a setting of its own: move it out of {key}."
                        self.refuse((*path, key, inner), say)
                    yield f"{key}.{inner}", check(inner, (*path, key, inner), item)

    def algorithms(self, settings: Settings) -> Iterator[tuple[str, SweptAlgorithm]]:
        table = self.document.section(("algorithms",), self.table.get("algorithms", {"stem": {}}))
        for label, inner in table.items():
            path = ("algorithms", label)
            own = dict(self.values(path, inner, "algorithm"))
            with self.document.naming((*path, "algorithm")):
                load_algorithm(name := inner.get("algorithm", label))
            for where, given in ((("settings",), settings), (path, own)):
                self._options(where, given, name)
            yield label, SweptAlgorithm(label, name, own)

    def grids(
        self, settings: Settings, algorithms: Mapping[str, SweptAlgorithm]
    ) -> tuple[SweepGrid, ...]:
        found: list[SweepGrid] = []
        total = 0
        for name, inner in self.document.section(("grids",), self.table.get("grids", {})).items():
            table = self.document.section(("grids", name), inner)
            if not self.truth(("grids", name), table, "skip"):
                found.append(self._grid(("grids", name), table, settings, algorithms))
                total += len(found[-1]) * len(found[-1].algorithms)
            if total > MOST_POINTS:
                say = f"makes {total} points in all, but at most {MOST_POINTS} are run"
                self.refuse(("grids", name), f"{say}: give fewer values.")
        if not found:
            self.refuse(("grids",), "are missing, but a sweep needs one: add [grids.main].")
        return tuple(found)

    def _grid(
        self,
        path: Place,
        table: Settings,
        settings: Settings,
        algorithms: Mapping[str, SweptAlgorithm],
    ) -> SweepGrid:
        kind = table.get("kind", "product")
        if kind not in KINDS:
            say = f"is {kind!r}, but it must be one of {', '.join(KINDS)}: choose one of them."
            self.refuse((*path, "kind"), say)
        own = ("kind", "algorithms", "skip", "cross")
        axes = dict(self.values(path, table, *own, axes=True))
        cross = self._names((*path, "cross"), table.get("cross", []), [*axes], "axes of this grid")
        if cross and kind != "zip":
            say = f"is for a zip, but this grid is a {kind}: leave it out."
            self.refuse((*path, "cross"), say)
        if kind == "zip":
            lengths = {name: len(values) for name, values in axes.items() if name not in cross}
            longest = max(lengths.values(), default=1)
            for name in (name for name, n in lengths.items() if n not in (1, longest)):
                say = f"must have {longest} values as the longest of this zip, or one."
                self.refuse((*path, *name.split(".", 1)), say)
        if kind == "curve":
            axes = self._curve(path, axes, settings)
        known = [*algorithms]
        labels = self._names((*path, "algorithms"), table.get("algorithms", known), known, "labels")
        if not labels:
            self.refuse((*path, "algorithms"), f"is empty: name some of {', '.join(known)}.")
        for label in labels:
            self._options(path, axes, algorithms[label].name)
        return SweepGrid(path[-1], kind, tuple(axes.items()), labels, cross)

    def _names(self, path: Place, value: Any, known: list[str], what: str) -> tuple[str, ...]:
        if not isinstance(value, list) or any(name not in known for name in value):
            say = f"is {value!r:.60}, but it must be a list of {what}: {', '.join(known)}."
            self.refuse(path, say)
        return tuple(value)

    def _options(self, path: Place, table: Settings, algorithm: str) -> None:
        """Refuse an option that the algorithm does not have, and a value that it does not take."""
        for key, values in table.items():
            group, _, name = key.partition(".")
            for value in values if isinstance(values, tuple) else (values,):
                if group == "algorithm_options":
                    with self.document.naming((*path, group, name)):
                        load_algorithm(algorithm).settle({name: value})

    def _curve(self, path: Place, axes: Settings, settings: Settings) -> dict[str, Any]:
        """Return the axes of a curve grid with what they need of the settings."""
        for key in ("b", "B"):
            if key in axes:
                self.refuse((*path, key), "is set by the curve: leave it out.")
        if "T" in axes and "I" in axes:
            self.refuse((*path, "I"), "stands for T on a curve grid: give one of them.")
        needed = {"nu": (settings.get("nu", 0.5),)}
        if "I" in axes:
            needed["K"] = (settings.get("K", 4),)
        return {**axes, **{key: value for key, value in needed.items() if key not in axes}}

    def _axis(self, key: str, path: Place, value: Any) -> tuple[Any, ...]:
        if isinstance(value, dict):
            try:
                value = list(spread(value))
            except UsageError as error:
                self.refuse(path, str(error))
            if KIND.get(key, _FREE).whole:
                value = [round(number) for number in value]
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(path, "is an empty grid: give a value at least.")
        return tuple(self._checked(key, path, item) for item in values)

    def _checked(self, key: str, path: Place, value: Any) -> Any:
        """Return one value of a setting, of the right type and in range."""
        kind = KIND.get(key, _FREE)
        if not kind.fits(value):
            self.refuse(path, f"is {value!r:.60}, but it must be {kind.words}: give another value.")
        if kind.whole:
            return int(value)
        return tuple(value) if isinstance(value, list) else value

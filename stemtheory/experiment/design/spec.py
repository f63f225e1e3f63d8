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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stemtheory.algorithms import load_algorithm
from stemtheory.experiment.design.grids import KINDS, Axis, Grid, spread, zip_fault
from stemtheory.experiment.design.toml_lines import Document, parse
from stemtheory.oracles import catalogue
from stemtheory.runtime import UsageError, choice, truth, whole

MODES = ("quick", "default", "full")
WHOLE = {"T": 1, "I": 1, "K": 1, "dim": 1, "replicates": 1, "sync_batch": 1, "seed": 0, "record": 0}
# the least value, or None where it may be anything finite
REAL = {"b": 1.0, "B": 1.0, "nu": 0.0, "epsilon": 0.0, "precision": 0.0}
REAL |= {"L": 0.0, "sigma": 0.0, "zeta": 0.0}
POSITIVE = ("L", "epsilon", "precision")
TEXT = (
    *("problem", "noise", "heterogeneity", "schedule", "sync"),
    *("dtype", "engine", "backend", "noise_source"),
)
GROUPS = ("dials", "schedule_options", "algorithm_options")
SETTINGS = (*WHOLE, *REAL, *TEXT, "per_sample", "x1")
MOST_POINTS = 10_000_000  # of a grid: to list more takes hours before anything runs
SINGLE = ("T", "nu")  # what a curve grid is about


@dataclass(frozen=True)
class Algorithm:
    """A labelled algorithm: a name or package.module:NAME, and settings of its own."""

    label: str
    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Spec:
    """A checked sweep of one size; settings have flat names such as ``dials.spectrum``."""

    name: str
    mode: str
    summary: str
    settings: Mapping[str, Any]
    algorithms: Mapping[str, Algorithm]
    grids: tuple[Grid, ...]
    fits: Mapping[str, Any]
    document: Document
    may_diverge: bool = False

    def refuse_grid(self, grid: str, error: UsageError) -> UsageError:
        """Return the error with the file, the line and the grid in front of it."""
        paths = [(*start, "grids", grid) for start in ((self.mode,), ())]
        line = next((found for path in paths if (found := self.document.lines.get(path))), None)
        where = f"{self.document.name}, line {line}" if line else self.document.name
        return UsageError(f"{where}: grids.{grid}: {error}")


def load_spec(source: str | Path, mode: str = "default") -> Spec:
    """Return the sweep called ``source``: a name of the catalogue, or the path of a TOML file.

    Raises
    ------
    UsageError
        For an unknown name, an unreadable file, and for whatever is wrong in it, with the line.
    """
    text = str(source)
    if not text.endswith(".toml"):
        choice("sweep", text, catalogue.names("sweeps"))
        return parse_spec(_built_in(text).read_text(encoding="utf-8"), text, mode)
    path = Path(source)
    try:
        return parse_spec(path.read_text(encoding="utf-8"), path.stem, mode, path.name)
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
    tables = ("settings", "algorithms", "grids", "fits")
    top = ("summary", "may_diverge", *tables, "quick", "full")
    for key in document.table:
        _known(document, (key,), top)
    for size in ("quick", "full"):
        inner = _table(document, (size,), document.table.get(size, {}))
        for key in inner:
            _known(document, (size, key), ("summary", *tables))
    over = document.table.get(mode, {}) if mode != "default" else {}
    merged = _merge({k: v for k, v in document.table.items() if k not in ("quick", "full")}, over)
    reader = _Reader(_at_mode(document, mode))
    return reader.spec(merged, name, mode)


@dataclass(frozen=True)
class _Reader:
    """Checks the merged tables; paths in errors are those of the merged tables."""

    document: Document

    def spec(self, merged: Mapping[str, Any], name: str, mode: str) -> Spec:
        summary = merged.get("summary", "")
        if not isinstance(summary, str):
            self.document.refuse(("summary",), "must be text: put it in quotes.")
        settings = dict(self._values(merged.get("settings", {}), ("settings",)))
        algorithms = dict(self._algorithms(merged.get("algorithms", {"stem": {}})))
        for algorithm in algorithms.values():
            self._options(("settings",), settings, algorithm)
            self._options(("algorithms", algorithm.label), algorithm.settings, algorithm)
        return Spec(
            name=name,
            mode=mode,
            summary=summary,
            settings=settings,
            algorithms=algorithms,
            grids=tuple(self._grids(merged.get("grids", {}), settings, algorithms)),
            fits=_table(self.document, ("fits",), merged.get("fits", {})),
            document=self.document,
            may_diverge=self._truth(("may_diverge",), merged.get("may_diverge", False)),
        )

    def _values(self, table: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for key, where, value in self._keys(table, path):
            yield key, self._checked(key, where, value)

    def _keys(
        self, table: Any, path: tuple[str, ...], more: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, tuple[str, ...], Any]]:
        """Yield (flat name, path, value) of every setting of a table."""
        for key, value in _table(self.document, path, table).items():
            where = (*path, key)
            if key in more:
                continue
            _known(self.document, where, (*SETTINGS, *GROUPS, *more))
            if key not in GROUPS:
                yield key, where, value
                continue
            for inner, item in _table(self.document, where, value).items():
                if inner in SETTINGS:
                    say = f"is a setting of its own: move it out of {key}."
                    self.document.refuse((*where, inner), say)
                yield f"{key}.{inner}", (*where, inner), item

    def _algorithms(self, table: Any) -> Iterator[tuple[str, Algorithm]]:
        for label, inner in self._named(table, "algorithms"):
            path = ("algorithms", label)
            name = inner.get("algorithm", label)
            with self.document.naming((*path, "algorithm")):
                load_algorithm(name)
            own = {k: v for k, v in inner.items() if k != "algorithm"}
            yield label, Algorithm(label, name, dict(self._values(own, path)))

    def _grids(
        self, table: Any, settings: Mapping[str, Any], algorithms: Mapping[str, Algorithm]
    ) -> Iterator[Grid]:
        found = [
            self._grid(name, inner, settings, algorithms)
            for name, inner in self._named(table, "grids")
            if not self._truth(("grids", name, "skip"), inner.get("skip", False))
        ]
        if not found:
            self.document.refuse(
                ("grids",), "are missing, but a sweep needs one: add [grids.main]."
            )
        yield from found

    def _grid(
        self,
        name: str,
        table: Mapping[str, Any],
        settings: Mapping[str, Any],
        algorithms: Mapping[str, Algorithm],
    ) -> Grid:
        path = ("grids", name)
        kind = table.get("kind", "product")
        if kind not in KINDS:
            say = f"is {kind!r}, but it must be one of {', '.join(KINDS)}: choose one of them."
            self.document.refuse((*path, "kind"), say)
        own = ("kind", "algorithms", "skip", "cross")
        axes = tuple(
            (key, self._axis(key, where, v)) for key, where, v in self._keys(table, path, own)
        )
        cross = self._cross(path, table.get("cross", []), kind, axes)
        together = tuple(axis for axis in axes if axis[0] not in cross)
        if kind == "zip" and (odd := zip_fault(together)):
            longest = max(len(values) for _, values in together)
            say = f"must have {longest} values as the longest of this zip, or one."
            self.document.refuse((*path, *odd.split(".", 1)), say)
        if kind == "curve":
            axes = self._curve(path, axes, settings)
        labels = table.get("algorithms", list(algorithms))
        known = isinstance(labels, list) and all(x in list(algorithms) for x in labels)
        if not known or not labels:
            say = f"must be a list of {', '.join(algorithms)}: name some of them."
            self.document.refuse((*path, "algorithms"), say)
        for label in labels:
            self._options(path, dict(axes), algorithms[label])
        grid = Grid(name, kind, axes, tuple(labels), cross)
        if len(grid) > MOST_POINTS:
            say = f"has {len(grid)} points, but at most {MOST_POINTS} are run: give fewer values."
            self.document.refuse(path, say)
        return grid

    def _cross(
        self, path: tuple[str, ...], value: Any, kind: str, axes: tuple[Axis, ...]
    ) -> tuple[str, ...]:
        """Return the axes of a zip that are crossed with the others instead."""
        names = [name for name, _ in axes]
        if not isinstance(value, list) or any(name not in names for name in value):
            say = f"is {value!r}, but it must be a list of axes of this grid: {', '.join(names)}."
            self.document.refuse((*path, "cross"), say)
        if value and kind != "zip":
            say = f"is for a zip, but this grid is a {kind}: leave it out."
            self.document.refuse((*path, "cross"), say)
        return tuple(value)

    def _options(
        self, path: tuple[str, ...], table: Mapping[str, Any], algorithm: Algorithm
    ) -> None:
        """Refuse an option that the algorithm does not have, and a value that it does not take."""
        for key, values in table.items():
            group, _, name = key.partition(".")
            if group != "algorithm_options":
                continue
            for value in values if isinstance(values, tuple) else (values,):
                with self.document.naming((*path, group, name)):
                    load_algorithm(algorithm.name).settle({name: value})

    def _curve(
        self, path: tuple[str, ...], axes: tuple[Axis, ...], settings: Mapping[str, Any]
    ) -> tuple[Axis, ...]:
        """Check a curve grid, and give it what it needs of the settings."""
        given = dict(axes)
        for key in ("b", "B"):
            if key in given:
                self.document.refuse((*path, key), "is set by the curve: leave it out.")
        if ("T" in given) and ("I" in given):
            self.document.refuse((*path, "I"), "stands for T on a curve grid: give one of them.")
        given.setdefault("nu", (settings.get("nu", 0.5),))
        if "I" in given:
            given.setdefault("K", (settings.get("K", 4),))
        return tuple(given.items())

    def _axis(self, key: str, path: tuple[str, ...], value: Any) -> tuple[Any, ...]:
        if isinstance(value, dict):
            try:
                value = list(spread(value))
            except UsageError as error:
                self.document.refuse(path, str(error))
            if key in WHOLE:
                value = [round(number) for number in value]
        values = value if isinstance(value, list) else [value]
        if not values:
            self.document.refuse(path, "is an empty grid: give a value at least.")
        return tuple(self._checked(key, path, item) for item in values)

    def _checked(self, key: str, path: tuple[str, ...], value: Any) -> Any:
        """Return one value of a setting, of the right type and in range."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        kind = "a number"
        if key in WHOLE:
            kind = f"a whole number of at least {WHOLE[key]}"
            fine = is_number and value == int(value) and value >= WHOLE[key]
        elif key in REAL:
            kind = "a number above 0" if key in POSITIVE else f"a number of at least {REAL[key]:g}"
            fine = is_number and value >= REAL[key] and not (key in POSITIVE and value == 0)
        elif key in TEXT:
            kind, fine = "text in quotes", isinstance(value, str)
        elif key == "per_sample":
            kind, fine = "true or false", isinstance(value, bool)
        elif key == "x1":
            kind = "a number or a list of dim numbers"
            items = value if isinstance(value, list) and value else [value]
            fine = all(isinstance(x, int | float) and not isinstance(x, bool) for x in items)
        else:
            kind, fine = "a number, text, true or false", isinstance(value, int | float | str)
        if not fine:
            self.document.refuse(path, f"is {value!r}, but it must be {kind}: give another value.")
        if key in WHOLE:
            return whole(key, value, WHOLE[key])
        return tuple(value) if isinstance(value, list) else value

    def _named(self, table: Any, group: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, inner in _table(self.document, (group,), table).items():
            yield name, _table(self.document, (group, name), inner)

    def _truth(self, path: tuple[str, ...], value: Any) -> bool:
        with self.document.naming(path):
            return truth(path[-1], value)


def _built_in(name: str) -> Path:
    package = importlib.import_module("stemtheory.sweeps")
    return next(p for root in package.__path__ if (p := Path(root) / f"{name}.toml").is_file())


def _known(document: Document, path: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    if path[-1] not in allowed:
        try:
            choice("key", path[-1], allowed)
        except UsageError as error:
            document.refuse(path, f"is no key of a sweep: {error}")


def _table(document: Document, path: tuple[str, ...], value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        document.refuse(path, f"is {value!r}, but it must be a table: write [{'.'.join(path)}].")
    return value


def _merge(base: Any, over: Any) -> Any:
    """Lay one table over another, table by table; a rule such as {from, to} is one value."""
    if not (isinstance(base, Mapping) and isinstance(over, Mapping)) or "from" in over:
        return over
    both = {key: _merge(base[key], over[key]) if key in base else over[key] for key in over}
    return {**base, **both}


def _at_mode(document: Document, mode: str) -> Document:
    """Return the document in which a key that ``mode`` replaces stands on the line of that."""
    lines = dict(document.lines)
    lines |= {path[1:]: line for path, line in document.lines.items() if path[0] == mode}
    return replace(document, lines=lines)

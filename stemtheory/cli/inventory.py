"""What is here: versions, the backend and its reason, and the entries of every catalogue."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import os
import platform
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stemtheory._version import __version__
from stemtheory.algorithms import ALGORITHMS, Entry
from stemtheory.bounds import BOUNDS
from stemtheory.oracles import catalogue
from stemtheory.runtime import UsageError, choice, resolve

PACKAGES = ("numpy", "scipy", "pandas", "matplotlib", "typer", "numba", "cupy", "distributed")
Entries = list[dict[str, Any]]


def examine() -> dict[str, Any]:
    """Return versions, backend, device and why: the JSON document of the command ``doctor``."""
    chosen = resolve("auto")
    versions: dict[str, str | None] = {
        "stemtheory": __version__,
        "python": platform.python_version(),
    }
    versions |= {name: _version(name) for name in PACKAGES}
    missing = {f"versions.{name}": "not installed" for name, v in versions.items() if v is None}
    return {
        "versions": versions,
        "backend": chosen.name,
        "device": chosen.device,
        "reason": chosen.reason,
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "reasons": missing,
    }


def entries(kind: str, packs: Sequence[str] = ()) -> Entries:
    """Return name, summary and what else is worth knowing of every entry of one kind.

    ``packs`` are names or folders of those whose claims are meant; all installed ones without any.

    Raises
    ------
    UsageError
        For an unknown kind; it lists the known ones. For packs beside a kind that they do not hold.
    """
    if choice("list", kind, KINDS) in OF_PACKS:
        return OF_PACKS[kind](packs)
    if packs:
        raise UsageError(
            f"--pack is for {' and '.join(OF_PACKS)}, but {kind} are listed: leave it out."
        )
    return KINDS[kind]()


def _version(name: str) -> str | None:
    """Return the version of a package; CuPy's distributions carry their CUDA version."""
    for distribution in (name, f"{name}-cuda12x", f"{name}-cuda13x"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _problems() -> Entries:
    rows = []
    for name in catalogue.names("problems", data=True):
        entry = catalogue.problem_entry(name)
        summary = getattr(entry, "summary", "") or _first_line(name, "problems")
        dials = {**getattr(entry, "own_dials", {}), **getattr(entry, "aliases", {})}
        rows.append(
            {
                "name": name,
                "summary": summary,
                "nonconvex": _is_nonconvex(entry),
                "formula": getattr(entry, "formula", ""),
                "own_dials": sorted(dials),
            }
        )
    return rows


def _is_nonconvex(entry: Any) -> bool:
    """Return it as the entry declares it, or else of the smallest problem that it makes."""
    declared = getattr(entry, "nonconvex", None)
    return bool(entry(K=1, dim=1).nonconvex if declared is None else declared)


def _algorithms() -> Entries:
    return [_algorithm(entry) for entry in ALGORITHMS.values()]


def _algorithm(entry: Entry) -> dict[str, Any]:
    """Return what an algorithm costs with its default options, needs and promises."""
    costs = entry.make().costs
    return {
        "name": entry.name,
        "summary": entry.summary,
        "base": entry.base,
        "fixes": dict(entry.pinned),
        "needs": entry.needs,
        "promises": entry.promises,
        "table1": entry.row,
        "footnote": entry.footnote,
        "options": {name: option.text for name, option in entry.options.items()},
        "gradients_per_step": costs.gradients,
        "full_gradients_per_round": costs.passes,
        "vectors_up": costs.vectors_up,
        "vectors_down": costs.vectors_down,
    }


def _bounds() -> Entries:
    return [
        {"name": f.name, "summary": f.summary, "algorithm": f.algorithm, "reference": f.reference}
        for f in BOUNDS.values()
    ]


def _packs(packs: Sequence[str] = ()) -> Entries:
    from stemtheory.claims import chosen_packs, of_pack, uncovered

    return [
        {
            "name": pack.name,
            "summary": pack.title,
            "authors": list(pack.authors),
            "year": pack.year,
            "source": pack.source,
            "licence": pack.licence,
            "needs": pack.needs,
            "claims": len(of_pack(pack)),
            "labels": len(pack.labels),
            "uncovered": uncovered(pack),
            "folder": str(pack.folder),
        }
        for pack in chosen_packs(packs)
    ]


def _claims(packs: Sequence[str] = ()) -> Entries:
    from stemtheory.claims import claims

    return [
        {
            "name": c.id,
            "summary": c.statement,
            "pack": c.pack.name if c.pack else "",
            "section": c.section,
            "kind": c.kind,
            "label": c.label,
            "number": c.number,
            "title": c.title,
        }
        for c in claims(packs).values()
    ]


def _figures() -> Entries:
    names = catalogue.names("figures")
    return [{"name": name, "summary": _first_line(name, "figures")} for name in names]


def _sweeps() -> Entries:
    rows = []
    for path in _files("sweeps", ".toml"):
        try:
            text = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path} is not valid TOML ({error}): correct it.") from error
        rows.append({"name": path.stem, "summary": str(text.get("summary", ""))})
    return rows


KINDS: dict[str, Callable[[], Entries]] = {
    "problems": _problems,
    "algorithms": _algorithms,
    "bounds": _bounds,
    "claims": _claims,
    "packs": _packs,
    "sweeps": _sweeps,
    "figures": _figures,
}
OF_PACKS: dict[str, Callable[[Sequence[str]], Entries]] = {"claims": _claims, "packs": _packs}


def _files(folder: str, ending: str) -> list[Path]:
    package = importlib.import_module(f"stemtheory.{folder}")
    return sorted(path for root in package.__path__ for path in Path(root).glob(f"*{ending}"))


def _first_line(name: str, folder: str) -> str:
    """Return the first line of an entry's docstring, read without importing it."""
    for path in _files(folder, ".py"):
        if path.stem == name:
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            return text.partition("\n")[0]
    return ""

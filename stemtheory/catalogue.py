"""Finds entries of problems/, figures/ and sweeps/ by name; a user's own is package.module:NAME."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from stemtheory.errors import UsageError, choice
from stemtheory.oracle import Problem


def names(folder: str, *, data: bool = False) -> list[str]:
    """Return the names of the entries of one catalogue folder, sorted.

    ``problems`` and ``figures`` hold one Python module per entry, ``sweeps`` one TOML file.
    Problems on data sets, which may be missing and whose constants are only estimated, are left
    out unless ``data``; they can be loaded by name all the same.
    """
    package = importlib.import_module(f"stemtheory.{folder}")
    if folder == "sweeps":
        return sorted(p.stem for root in package.__path__ for p in Path(root).glob("*.toml"))
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    found = sorted(name for name in modules if not name.startswith("_"))
    if folder == "problems" and not data:
        return [name for name in found if not needs_data(name)]
    return found


def needs_data(name: str) -> bool:
    """Return whether a problem of the catalogue is about a data set that may not be there."""
    entry = importlib.import_module(f"stemtheory.problems.{name}").ENTRY
    return bool(getattr(entry, "needs_data", False))


def problem_entry(name: str) -> Any:
    """Return the entry that makes a problem: ``NAME(K, dim, **dials)``.

    Raises
    ------
    UsageError
        For an unknown name, or a ``package.module:NAME`` that cannot be imported.
    """
    if ":" in name:
        return user_entry(name)
    choice("problem", name, names("problems", data=True))
    return importlib.import_module(f"stemtheory.problems.{name}").ENTRY


def load_problem(name: str, K: int = 4, dim: int = 8, **dials: Any) -> Problem:
    """Return the problem called ``name`` with K workers in ``dim`` dimensions.

    Dials: L, sigma, zeta, noise, heterogeneity, curvature, noise_smoothness, noise_frequency,
    het_frequency, het_phase, modulation, spectrum, rotate, slack, and the entry's own.

    Raises
    ------
    UsageError
        For unknown names and dials, and for dials that do not add up.
    """
    problem: Problem = problem_entry(name)(K, dim, **dials)
    return problem


def user_entry(name: str) -> Any:
    """Return the object NAME of ``package.module:NAME``; the current folder is looked in first.

    Raises
    ------
    UsageError
        If it cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a user's own module lies where the user is
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{name} cannot be loaded ({error}): give package.module:NAME of an importable module."
        ) from error

"""Finds entries of problems/, figures/ and sweeps/ by name; a user's own is package.module:NAME."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from stemtheory.errors import UsageError, choice
from stemtheory.oracle import Problem


def names(folder: str) -> list[str]:
    """Return the names of all entries of one catalogue folder, sorted.

    ``problems`` and ``figures`` hold one Python module per entry, ``sweeps`` one TOML file.
    """
    package = importlib.import_module(f"stemtheory.{folder}")
    if folder == "sweeps":
        return sorted(p.stem for root in package.__path__ for p in Path(root).glob("*.toml"))
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def problem_entry(name: str) -> Any:
    """Return the entry that makes a problem: ``NAME(K, dim, **dials)``.

    Raises
    ------
    UsageError
        For an unknown name, or a ``package.module:NAME`` that cannot be imported.
    """
    if ":" in name:
        return user_entry(name)
    choice("problem", name, names("problems"))
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

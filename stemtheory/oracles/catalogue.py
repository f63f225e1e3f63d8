"""Finds entries of problems/, figures/ and sweeps/ by name; a user's own is package.module:NAME."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stemtheory.oracles.problem import Problem, ProblemEntry, refuse_no_problem
from stemtheory.oracles.usual import MOST_NUMBERS, USUAL
from stemtheory.runtime import UsageError, choice, one_blas_thread, own_errors, raised, whole


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


def problem_entry(name: object) -> Any:
    """Return the entry that makes a problem: ``NAME(K, dim, **dials)``.

    Raises
    ------
    UsageError
        For an unknown name, a ``package.module:NAME`` that cannot be imported, and one that is no
        entry.
    """
    if isinstance(name, str) and ":" in name:
        entry = user_entry(name)
        refuse_no_entry(entry, name, _has)
        return entry
    choice("problem", name, names("problems", data=True))
    return importlib.import_module(f"stemtheory.problems.{name}").ENTRY


@own_errors
@one_blas_thread()
def load_problem(name: str, K: int = USUAL.K, dim: int | None = None, **dials: Any) -> Problem:
    """Return the problem called ``name`` with K workers in ``dim`` dimensions (8 unless given).

    Parameters
    ----------
    name
        A name of the catalogue (``stemtheory list problems``), or ``package.module:NAME``.
    K, dim
        Workers, and the length of x.
    dials
        Targets L, sigma, zeta and whatever else shapes it: noise, heterogeneity, curvature,
        noise_smoothness, noise_frequency, het_frequency, het_phase, modulation, spectrum, rotate,
        slack, and the entry's own, such as ``data``, a file of rows. The dim of a problem on real
        data follows from these; given all the same, it must be that. A user's own object that is a
        problem already keeps its own K and dim, and has no dials.

    Returns
    -------
    Problem
        A loss with its gradient oracle, its constants and their witnesses.

    Raises
    ------
    UsageError
        For unknown names and dials, for dials that do not add up, and for a user's own entry that
        makes no problem.

    Examples
    --------
    >>> from stemtheory import load_problem
    >>> load_problem("cosine", K=2, dim=3, sigma=0.1).constants().sigma
    0.1
    """
    entry = problem_entry(name)
    own = dials.get("data") is not None  # a file of rows, which settles the dim
    dim = (None if own else usual_dim(entry)) if dim is None else whole("dim", dim)
    K = whole("K", K)
    if (numbers := K * (dim or 1)) > MOST_NUMBERS:
        raise UsageError(
            f"K = {K:.6g} workers in dim = {dim or 1:.6g} are {numbers:.1e} numbers, but at most"
            f" {MOST_NUMBERS:.0e} are held: lower K or dim."
        )
    try:
        return make_problem(entry, name, K, dim, **dials)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        if ":" not in name:
            raise
        raise UsageError(
            f"{name} makes no problem with K = {K} and dim = {dim} ({raised(error)}):"
            " let NAME be a problem, or a ProblemMaker of a callable of (K, dim, **dials)."
        ) from error


def usual_dim(entry: Any) -> int | None:
    """Return the dim of an entry's problem where none is given; None where data settle it."""
    return None if getattr(entry, "needs_data", False) else USUAL.dim


def make_problem(entry: Any, name: object, K: int, dim: int | None, **dials: Any) -> Problem:
    """Return what an entry makes, or the entry itself where it is a problem already.

    Raises
    ------
    UsageError
        If a part of the protocol is missing, or dials are given to a problem that has none.
    """
    refuse_no_entry(entry, name)
    if not isinstance(entry, ProblemEntry):
        if dials:
            raise UsageError(
                f"{name} is a problem already, but {', '.join(dials)} was given: leave it out, or"
                " make NAME a ProblemMaker of a callable of (K, dim, **dials)."
            )
        return entry  # type: ignore[no-any-return]
    problem: Problem = entry(K, dim, **dials)
    refuse_no_problem(problem, name)
    return problem


def refuse_no_entry(
    thing: object, name: object, has: Callable[[object, str], bool] = hasattr
) -> None:
    """Refuse what is neither an entry nor a problem; with ``_has`` before any code of it has run.

    Raises
    ------
    UsageError
        For a callable that is no ``ProblemEntry``, and with the parts that a problem lacks.
    """
    if isinstance(thing, ProblemEntry):
        return
    if callable(thing) and not hasattr(type(thing), "evaluate"):
        raise UsageError(
            f"{name!s:.60} is a {type(thing).__name__}, but only what says that it makes problems"
            " is called: write NAME = ProblemMaker(...) around it, of stemtheory.oracles."
        )
    refuse_no_problem(thing, name, has)


def _has(thing: object, member: str) -> bool:
    """Return whether a thing has a member, without running any code of its own."""
    try:
        inspect.getattr_static(thing, member)
    except AttributeError:
        return False
    return True


def user_entry(name: str) -> Any:
    """Return the object NAME of ``package.module:NAME`` or ``folder/file.py:NAME``.

    The current folder is looked in first.

    Raises
    ------
    UsageError
        If it cannot be imported, whatever its code raises.
    """
    module_name, _, attribute = name.rpartition(":")
    file = Path(module_name).resolve() if module_name.endswith(".py") else None
    try:
        # a user's own module lies where the user is, or where the file is
        home = str(Path.cwd() if file is None else file.parent)
        if home not in sys.path:
            sys.path.insert(0, home)
        module = importlib.import_module(module_name if file is None else file.stem)
        if file is not None and Path(module.__file__ or "").resolve() != file:
            raise ImportError(f"{file.stem} is the name of {module.__file__} already")
        return getattr(module, attribute)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{name} cannot be loaded ({raised(error)}): give package.module:NAME of an importable"
            " module, or file.py:NAME."
        ) from error

"""The page docs/problems.md: formula, picture, dials, constants with witnesses, derivation.

The pictures are drawn in one dimension by hand, so that they do not change with a library.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np

from docs.build.templates import filled
from stemtheory.oracles import EXACTNESS, Problem, RowLoss, load_problem, names, problem_entry
from stemtheory.runtime import Floats

REACH = 5  # the pictures show -5 <= x <= 5
WIDTH, HEIGHT, MARGIN = 220, 150, 26
LEFT, RIGHT, TOP, BOTTOM = MARGIN, WIDTH - 8, MARGIN, HEIGHT - 14
FRAME = {
    "width": WIDTH,
    "height": HEIGHT,
    "reach": REACH,
    "middle": (LEFT + RIGHT) / 2,
    "left": LEFT,
    "right": RIGHT,
    "top": TOP,
    "bottom": BOTTOM,
}
STEP = 1e-4


def pages() -> dict[str, str]:
    """Return every generated file: path below the docs folder to text."""
    found = names("problems")
    rows = [name for name in names("problems", data=True) if name not in found]
    of_rows = [e for e in map(problem_entry, rows) if isinstance(e, RowLoss)]
    filling = {
        "problems": [described(name) for name in found],
        "of_rows": [entry_described(entry.name, entry) for entry in of_rows],
    }
    page = filled("problems.template.md", filling)
    pictures = {f"img/problems/{name}.svg": picture(name) for name in found}
    return {"problems.md": page, **pictures}


def stale_pictures(folder: Path) -> list[Path]:
    """Return the pictures below ``folder`` that belong to no problem."""
    known = names("problems")
    return sorted(p for p in (folder / "img/problems").glob("*.svg") if p.stem not in known)


def described(name: str) -> dict[str, Any]:
    """Return what the page says of one problem."""
    problem = load_problem(name)
    found = entry_described(name, problem_entry(name))
    return {**found, "nonconvex": problem.nonconvex, "constants": constants(problem)}


def entry_described(name: str, entry: Any) -> dict[str, Any]:
    """Return what the page says of a problem whose data are not there: no number of it."""
    module = importlib.import_module(f"stemtheory.problems.{name}")
    return {
        "name": name,
        "entry": entry,
        "dials": [f"`{dial}`{_default(value)}" for dial, value in entry.own_dials.items()],
        "derivation": inspect.cleandoc(module.__doc__ or ""),
    }


def _default(value: Any) -> str:
    return "" if value is None else f" = {value:.6g}" if isinstance(value, float) else f" = {value}"


def constants(problem: Problem) -> list[tuple[str, str, str, str]]:
    """Return name, value, kind and witness of every constant at the default start."""
    known = problem.constants(np.ones(problem.dim))
    hows = {w.constant: w.how for w in problem.witnesses()}
    rows = []
    for name in ("L", "sigma", "zeta", "f_star", "gap"):
        how = hows.get(name, "")
        if how and known.exact[name] is False and f"{name}_lower" in problem.dials:
            how = f"lower end of the bracket, {problem.dials[f'{name}_lower']:.6g}: {how}"
        rows.append((name, f"{getattr(known, name):.6g}", EXACTNESS[known.exact[name]], how))
    curved = hows.get("nonconvex")
    return rows if curved is None else [*rows, ("negative curvature", "", "yes", curved)]


def picture(name: str) -> str:
    """Return an SVG of three panels: f, its gradient and its curvature in one dimension."""
    problem = load_problem(name, K=1, dim=1, L=1.0, sigma=0.0)
    x = np.linspace(-REACH, REACH, 201)
    at = x[:, None]
    bend = (problem.full_gradient(at + STEP) - problem.full_gradient(at - STEP)) / (2 * STEP)
    curves = {
        "f": problem.value(at),
        "gradient": problem.full_gradient(at)[:, 0],
        "curvature": bend[:, 0],
    }
    panels = [_panel(title, x, y) for title, y in curves.items()]
    return filled("build/problem.svg", {"name": name, "panels": panels, **FRAME})


def _panel(title: str, x: Floats, y: Floats) -> dict[str, Any]:
    """Return one panel: where 0 is, the curve, its largest and least value."""
    low, high = min(0.0, float(y.min())), max(0.0, float(y.max()))
    across = LEFT + (x + REACH) / (2 * REACH) * (RIGHT - LEFT)
    down = BOTTOM - (y - low) / (high - low) * (BOTTOM - TOP)
    return {
        "title": title,
        "zero": BOTTOM + low / (high - low) * (BOTTOM - TOP),
        "points": " ".join(f"{a:.1f},{d:.1f}" for a, d in zip(across, down, strict=True)),
        "low": _short(low),
        "high": _short(high),
    }


def _short(value: float) -> str:
    """Return two digits, so that the label fits the margin."""
    return "0" if abs(value) < 0.005 else f"{value:.{2 if abs(value) < 10 else 0}f}"

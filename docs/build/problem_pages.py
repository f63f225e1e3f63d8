"""Pages about the problems: formula, picture, dials, constants with witnesses, derivation.

``python -m docs.build.problem_pages docs`` writes them; a test compares them with what is there.
The pictures are drawn in one dimension by hand, so that they do not change with a library.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.oracles import Constants, Problem, load_problem, names, problem_entry
from stemtheory.runtime import Floats

REACH = 5.0  # the pictures show -5 <= x <= 5
WIDTH, HEIGHT, MARGIN = 220, 150, 26
STEP = 1e-4
LABELS = {True: "attained", False: "bound", "unbounded": "unbounded"}

HEAD = """\
# Problems

Every problem has a loss f whose constants are known: L (mean-squared smoothness of the oracle),
sigma (its noise), zeta (the distance between two workers' gradients), f\\* and the gap
f(x_1) - f\\*. *Attained* means that a witness, a point or two in closed form, reaches the constant;
*bound* that nothing exceeds it. `stemtheory check NAME` shows both. The tables are those of the
defaults, K = 4 workers in 8 dimensions from x_1 = (1, ..., 1); the pictures show f, its gradient
and its curvature in one dimension, for L = 1 without noise.

This page is generated: `python -m docs.build.problem_pages docs`.
"""


def pages() -> dict[str, str]:
    """Return every generated file: path below the docs folder to text."""
    found = names("problems")
    written = {f"img/problems/{name}.svg": picture(name) for name in found}
    contents = "\n".join(f"- [{name}](#{name}): {problem_entry(name).summary}" for name in found)
    return {
        "problems.md": "\n".join([HEAD, contents, "", *(section(name) for name in found)]),
        **written,
    }


def section(name: str) -> str:
    """Return the Markdown section about one problem."""
    entry, problem = problem_entry(name), load_problem(name)
    module = importlib.import_module(f"stemtheory.problems.{name}")
    own = ", ".join(f"`{dial}`{_default(v)}" for dial, v in entry.own_dials.items())
    curves = "nonconvex" if problem.nonconvex else "convex"
    return "\n".join(
        [
            f"## {name}",
            "",
            f"{entry.summary[0].upper()}{entry.summary[1:]}.",
            "",
            f"$$ {entry.formula} $$",
            "",
            f"![f, its gradient and its curvature](img/problems/{name}.svg)",
            "",
            f"**What it makes visible.** {entry.visible}",
            "",
            f"**Dials of its own.** {own or 'none'}. By default it is {curves}.",
            "",
            *_table(problem),
            "",
            "```text",
            inspect.cleandoc(module.__doc__ or ""),
            "```",
            "",
        ]
    )


def _default(value: Any) -> str:
    return "" if value is None else f" = {value:.6g}" if isinstance(value, float) else f" = {value}"


def _table(problem: Problem) -> list[str]:
    """Return the constants as a Markdown table, with where they are attained."""
    constants = problem.constants(np.ones(problem.dim))
    hows = {w.constant: w.how for w in problem.witnesses()}
    lines = ["| constant | value | | witness |", "| --- | --- | --- | --- |"]
    for name in ("L", "sigma", "zeta", "f_star", "gap"):
        how = hows.get(name, "")
        if how and constants.exact[name] is False and f"{name}_lower" in problem.dials:
            how = f"lower end of the bracket, {problem.dials[f'{name}_lower']:.6g}: {how}"
        value = getattr(constants, name)
        lines.append(f"| {name} | {value:.6g} | {_label(constants, name)} | {how} |")
    if "nonconvex" in hows:
        lines.append(f"| negative curvature | | yes | {hows['nonconvex']} |")
    return lines


def _label(constants: Constants, name: str) -> str:
    return LABELS[constants.exact[name]]


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
    panels = [_panel(i, title, x, y) for i, (title, y) in enumerate(curves.items())]
    width = len(panels) * WIDTH
    size = f'viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"',
            ' font-size="10">',
            f"<title>{name}: f, its gradient and its curvature</title>",
            f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>',
            *panels,
            "</svg>",
            "",
        ]
    )


def _panel(i: int, title: str, x: Floats, y: Floats) -> str:
    """Return one panel: axes through 0, the curve, its largest and least value."""
    low, high = min(0.0, float(y.min())), max(0.0, float(y.max()))
    left, right, top, bottom = MARGIN, WIDTH - 8, MARGIN, HEIGHT - 14
    across = left + (x + REACH) / (2 * REACH) * (right - left)
    down = bottom - (y - low) / (high - low) * (bottom - top)
    zero = bottom + low / (high - low) * (bottom - top)
    middle = (left + right) / 2
    points = " ".join(f"{a:.1f},{d:.1f}" for a, d in zip(across, down, strict=True))
    grey = 'stroke="#999999" stroke-width="1"'
    return "\n".join(
        [
            f'<g transform="translate({i * WIDTH} 0)">',
            f'<text x="{middle:.1f}" y="14" text-anchor="middle" font-size="12">{title}</text>',
            f'<line x1="{left}" y1="{zero:.1f}" x2="{right}" y2="{zero:.1f}" {grey}/>',
            f'<line x1="{middle:.1f}" y1="{top}" x2="{middle:.1f}" y2="{bottom}" {grey}/>',
            f'<text x="{left - 2}" y="{top + 3}" text-anchor="end">{_short(high)}</text>',
            f'<text x="{left - 2}" y="{bottom + 3}" text-anchor="end">{_short(low)}</text>',
            f'<text x="{left}" y="{HEIGHT - 2}">{-REACH:g}</text>',
            f'<text x="{right}" y="{HEIGHT - 2}" text-anchor="end">{REACH:g}</text>',
            f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="1.6"/>',
            "</g>",
        ]
    )


def _short(value: float) -> str:
    """Return two digits, so that the label fits the margin."""
    return "0" if abs(value) < 0.005 else f"{value:.{2 if abs(value) < 10 else 0}f}"


def write(folder: Path) -> list[Path]:
    """Write all pages below ``folder``, remove pictures of problems gone; return the paths."""
    made = pages()
    for path, text in made.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for old in stale_pictures(folder, made):
        old.unlink()
    return [folder / path for path in made]


def stale_pictures(folder: Path, made: dict[str, str]) -> list[Path]:
    """Return the pictures in ``folder`` that belong to no problem."""
    there = (folder / "img/problems").glob("*.svg")
    return sorted(path for path in there if path.relative_to(folder).as_posix() not in made)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))

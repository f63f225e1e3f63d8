"""The explorer's page, made of its templates and of what Python knows.

Paper: Thm: PR_Convergence_Main_App; Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from stemtheory.algorithms import READINGS
from stemtheory.bounds import BOUNDS
from stemtheory.claims import claims, locate
from stemtheory.report import palette
from stemtheory.report.drawing import writable_folder
from stemtheory.report.explorer.formulas import CLAIM_OF, DIALS, ENTRY_OF, formulas, spoken
from stemtheory.report.formula import mathml
from stemtheory.report.pages import render
from stemtheory.runtime import UsageError, write_whole
from stemtheory.schedules import RSTAR_STEPS
from stemtheory.tightening import CHAIN

TEMPLATES = Path(__file__).with_name("templates")
NAME = "explorer.html"
TITLE = "Explorer: the theorems under sliders"
MODULES = ("bounds", "advice", "moments", "pens", "surface", "falls", "setting", "saving", "page")
# Every choice that is no number, with its values; the first is taken at the start.
CHOICES = {
    "place": {"curve": "on the trade-off curve of nu", "fixed": "as given"},
    "model": {
        "tilt": "equal curvatures, constant pushes (all assumptions hold, readings coincide)",
        "opposite": "unequal curvatures (linearised: Assumption 2 does not hold)",
        "waves": "sinusoidal pushes, one run step by step (sigma = 0)",
    },
    "steps": {
        "theorem": "as printed",
        **{part: BOUNDS[f"stem-rstar-{part}"].summary for part in RSTAR_STEPS},
    },
    "quantity": {"rounds": "rounds", "samples": "samples of a worker", "cost": "cost"},
    "algorithm": {"stem": "STEM", "fedavg": "FedAvg", "minibatch-sgd": "minibatch SGD"},
    "measure": {"samples": "samples of a worker", "rounds": "rounds", "cost": "cost"},
}
RSTAR = ("#2F8F8B", "#1B6E53", "#54A24B", "#3D5A80", "#6B7A3A")  # part by part
COLOURS = {
    "literal": palette.BLUE,
    "average-first": palette.SKY,
    "overwrite": palette.VERMILION,
    "average-both": palette.ORANGE,
    "fedavg": palette.GREEN,
    "stem-theorem": palette.PURPLE,
    "stem-intermediate": "#7A8FB8",
    "stem-repaired": "#B8860B",
    "stem-repaired-explicit": "#A65E3A",
    "stem-log-free": "#8E4A78",
    **{f"stem-rstar-{part}": colour for part, colour in zip(RSTAR_STEPS, RSTAR, strict=True)},
    "fedavg-theorem": "#5FA8D3",
    "minibatch-sgd": "#7F9A2E",
    "start": "#808080",
}
ENTRIES = [n for n in (*COLOURS, *(it.claim for it in CHAIN)) if n not in {"start", *ENTRY_OF}]


def explorer_page(*, beside: bool = False) -> str:
    """Return the page; with ``beside`` it links to the ledger and the report that lie beside it."""
    document = formulas() | {
        "choices": {name: next(iter(values)) for name, values in CHOICES.items()},
        "cases": cases(),
        "looks": looks(),
    }
    return render(
        "explorer.html",
        title=TITLE,
        beside=beside,
        dials=DIALS,
        choices=CHOICES,
        cases=cases(),
        entries=[entry(name) for name in ENTRIES],
        data=json.dumps(document, allow_nan=False).replace("<", "\\u003c"),
        style=read("uplot.min.css"),
        plot=f"/*\n{read('uplot.LICENSE')}*/\n{read('uplot.min.js')}",
        script="\n".join(map(plain, MODULES)),
    )


def write_explorer(path: Path, *, beside: bool = False) -> Path:
    """Return ``path`` after the page was written there.

    Raises
    ------
    UsageError
        If it cannot be written, or is not named as a page.
    """
    if path.suffix != ".html":
        raise UsageError(f"the page is {path}, but it must end with .html: give another file.")
    writable_folder(path.parent)
    return write_whole(path, explorer_page(beside=beside))


def read(name: str) -> str:
    """Return the text of a file among the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def plain(name: str) -> str:
    """Return a module as a part of one script, its names shared with the other parts."""
    text = re.sub(r"^import [^;]*;\n", "", read(f"{name}.mjs"), flags=re.MULTILINE)
    return re.sub(r"^export (?=function|const)", "", text, flags=re.MULTILINE)


def looks() -> dict[str, dict[str, Any]]:
    """Return label, colour and dash of every curve: exact ones are solid."""
    dash = {"start": [2, 3]} | {name: [8, 3] for name in BOUNDS}
    return {
        name: {"label": label(name), "colour": colour, "dash": dash.get(name, [])}
        for name, colour in COLOURS.items()
    }


def label(name: str) -> str:
    """Return what a curve is called."""
    if name in READINGS:
        return f"STEM, {name}"
    others = {it.claim: f"{it.step} ({it.claim})" for it in CHAIN}
    return others.get(name, {"fedavg": "FedAvg", "start": "2 L gap"}.get(name, f"bound {name}"))


def entry(name: str) -> dict[str, Any]:
    """Return what the page says of an exact moment, a bound, or the claim of an estimate."""
    if name in COLOURS and name not in BOUNDS:
        text = READINGS.get(name, "local SGD; the theorem's step size sqrt(bK/T)")
        return {"name": name, "label": label(name), "claim": None} | {
            "text": f"{text[:1].upper() + text[1:]}. Exact moments of the chosen problem, with the"
            f" step sizes {'of its theorem' if name == 'fedavg' else 'that are chosen above'}."
        }
    claim, formula = claims()[CLAIM_OF.get(name, name)], BOUNDS.get(name)
    text = "An estimate of the printed proof, of which the waterfall shows the price."
    if formula:
        text = (
            f"{formula.summary[:1].upper() + formula.summary[1:]}. {formula.reference}."
            f" It speaks of these steps: {spoken(formula)}."
        )
    told = {"name": name, "label": label(name), "claim": claim.id, "text": text}
    return told | {"statement": claim.statement, "mathml": mathml(claim.formula)}


def cases() -> list[dict[str, Any]]:
    """Return the findings that have a button: their titles and the settings that show them."""
    stored = json.loads(locate("M7-overwrite")[0].read_text(encoding="utf-8"))
    run, dials = stored["case"], stored["case"]["dials"]
    broken = {
        **{name: run[name] for name in ("K", "b", "I")},
        **{name: dials[name] for name in ("L", "sigma", "zeta")},
        "T": stored["t"],
        "h": dials["h"] / dials["L"],
        "gap": dials["h"] * run["x1"] ** 2 / 2,
        "model": "waves",
        "place": "fixed",
    }
    return [
        {"title": "overwrite breaks the theorem", "state": broken},
        {"title": "the printed bound is vacuous", "state": {"T": 1e6, "epsilon": 0.1}},
        {"title": "STEM and FedAvg cross", "state": {"measure": "samples", "epsilon": 1e-3}},
    ]

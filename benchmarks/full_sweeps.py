"""The exponents of the built-in sweeps at their full size, from finished stores, as one record.

    for name in tradeoff complexity speedup heterogeneity margins slack; do
        stemtheory sweep $name --full --store stores/$name.sqlite
    done
    python benchmarks/full_sweeps.py --stores stores --out benchmarks/results/full_sweeps.json

Refuses a store that is not complete; a sweep without a store keeps its place in the record.
`docs/sweeps.md` shows the record, and a test compares them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from _common import arguments, machine, write

from stemtheory import __version__, run_sweep
from stemtheory.experiment import NO_CURVE, Store, cell_records
from stemtheory.oracles import names

RANGED = ("epsilon", "bI", "I", *names("problems"))  # what the table takes together
KEPT = ("name", "exponent", "ci95", "theory", "tolerance", "verdict", "points")


def record(name: str, store: Path) -> dict[str, Any]:
    """Return what a finished store says: cells, CPU seconds, and every fit."""
    plan = run_sweep(name, mode="full", store=store, dry_run=True).document()
    if plan["forecast"]["cells"]:
        sys.exit(f"{store}: {plan['forecast']['cells']} cells are missing; finish the sweep first")
    found = run_sweep(name, mode="full", store=store).document()
    with Store.reading(store) as opened:
        rows = cell_records(opened.rows())
    return {
        "cells": found["cells_total"],
        "diverged": found["cells_diverged"],
        "cpu_seconds": round(sum(row["cpu_seconds"] for row in rows)),
        "fits": [{key: fit[key] for key in KEPT} for fit in found["fits"]],
    }


def table(document: dict[str, Any]) -> str:
    """Return the record as Markdown: the exponents of every rule, over problems and epsilon."""
    heads = (
        "sweep",
        "cells",
        "fit",
        "theory",
        "exponents",
        "95 % intervals",
        "tolerance",
        "verdict",
    )
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, sweep in document["sweeps"].items():
        groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
        for fit in sweep["fits"]:
            plain = fit["name"].replace(f", {NO_CURVE}", "")
            words = [w for w in plain.split(", ") if w.split(" ")[0] not in RANGED]
            groups.setdefault((", ".join(words), fit["theory"]), []).append(fit)
        for (rule, theory), fits in groups.items():
            tolerances = sorted({fit["tolerance"] for fit in fits})
            cells = (name, sweep["cells"], rule, f"{theory:g}", _range(fits), _ends(fits))
            cells += (", ".join(f"{t:g}" for t in tolerances), _verdicts(fits))
            lines.append(f"| {' | '.join(map(str, cells))} |")
            name = sweep["cells"] = ""
    return "\n".join(lines) + "\n"


def _range(fits: list[dict[str, Any]]) -> str:
    """Return the lowest and the highest exponent, and how many there are."""
    found = [fit["exponent"] for fit in fits if fit["exponent"] is not None]
    if not found:
        return "none"
    low, high = (f"{round(value, 3) + 0.0:.3f}" for value in (min(found), max(found)))
    return low if len(found) == 1 else f"{low} to {high} ({len(found)})"


def _ends(fits: list[dict[str, Any]]) -> str:
    """Return the least lower and the largest upper end of the intervals."""
    ends = [fit["ci95"] for fit in fits if fit["ci95"] is not None]
    if not ends:
        return "none"
    return f"{min(low for low, _ in ends):.3f} to {max(high for _, high in ends):.3f}"


def _verdicts(fits: list[dict[str, Any]]) -> str:
    """Return every verdict, with how many fits it is of where there are several."""
    found = sorted(Counter(fit["verdict"] for fit in fits).items())
    return ", ".join(name if len(found) == 1 else f"{name} ({n})" for name, n in found)


def main() -> None:
    given = arguments(__doc__, stores=Path("results"))
    stores = {name: given.stores / f"{name}.sqlite" for name in names("sweeps")}
    found = {name: record(name, store) for name, store in stores.items() if store.is_file()}
    if not found:
        print(f"left out: no store of a built-in sweep in {given.stores}")
        return
    kept = json.loads(given.out.read_text())["sweeps"] if given.out and given.out.is_file() else {}
    sweeps = {name: found.get(name, kept.get(name)) for name in stores if name in found | kept}
    write(given.out, {"version": __version__, **machine(), "sweeps": sweeps})
    for name, sweep in found.items():
        judged = [fit["verdict"] for fit in sweep["fits"]]
        print(f"{name}: {sweep['cells']} cells, {len(judged)} fits, {sorted(set(judged))}")


if __name__ == "__main__":
    main()

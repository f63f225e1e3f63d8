"""Floors in numbers: a chain's constants by search, rounds and samples of runs, arrivals by chance.

    stemtheory sweep floors --store stores/floors.sqlite
    python benchmarks/floors.py --store stores/floors.sqlite --out benchmarks/results/floors.json

`docs/floors.md` shows the record, and a test compares them. A minute on one core.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from _common import arguments, machine, write
from scipy.optimize import minimize
from scipy.special import ndtr

from stemtheory import __version__
from stemtheory.claims.floors.counted import by_arrivals, chain_of, chance, samples_in_all
from stemtheory.claims.floors.samples import end_cases
from stemtheory.figures import floors
from stemtheory.oracles import links
from stemtheory.oracles.chains.chain_entry import drop

LINKS = 43  # of the average drop of a link


def slope(z: Any) -> Any:
    """Return the gradient of F."""
    return links.forward(z) + links.backward(z, ndtr)


def bend(z: Any, h: float = 1e-5) -> float:
    """Return the norm of the Hessian of F."""
    steps = h * np.eye(len(z))
    return float(np.abs(np.linalg.eigvalsh(slope(z + steps) - slope(z - steps))).max() / (2 * h))


def highest(value: Any, n: int, starts: int = 60) -> float:
    """Return the largest value that climbs from random points find."""
    rng = np.random.default_rng(0)
    climbs = (
        minimize(lambda z: -value(z), rng.uniform(-2, 2, n), method="Nelder-Mead",
                 options={"maxiter": 2000}).fun
        for _ in range(starts)
    )  # fmt: skip
    return -float(min(climbs))


def searched() -> dict[str, float]:
    """Return what a search finds of the constants, in units of h and lambda."""
    far = links.height(np.zeros(LINKS), ndtr) - links.height(np.full(LINKS, 1e7), ndtr)
    return {
        "smoothness": highest(bend, 4),
        "partial derivative": highest(lambda z: float(np.abs(slope(z)).max()), 4),
        "drop per link": float(far) / LINKS,
        "drop per link, stated": drop(LINKS) / LINKS,
    }


def arrived() -> list[dict[str, Any]]:
    """Return how many runs with just fewer than n/(2p) samples came to the end (claim FL3)."""
    found = []
    for case in end_cases("default"):
        judged, chain, samples = by_arrivals(case), chain_of(case), samples_in_all(case)
        found.append({
            "p": chain.rarest, "K": case.K, "algorithm": case.algorithm, "samples": samples,
            "floor": chain.links / (2 * chain.rarest),
            "chance": chance(samples, chain.rarest, chain.links),
            "runs": case.replicates,
            "arrived": int(judged.left[0]), "allowed": int(judged.right[0]),
        })  # fmt: skip
    return found


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def constants_table(found: dict[str, float]) -> str:
    """Return the constants as a table: proved, in the literature, found by the search."""
    low, partial, fall = (found[n] for n in ("smoothness", "partial derivative", "drop per link"))
    many = f"{found['drop per link, stated']:.2f}, and {links.DROP:.2f} for many"
    return _table(
        ("constant", "proved", "in the literature", "found", "status"),
        [
            ("L_f, in h/lambda^2", "152 (a row's sum: 149)", "152", f"{low:.2f}", "bound"),
            ("largest partial derivative, in h/lambda", "21.392", "23", f"{partial:.2f}",
             "limit, both neighbours far"),
            (f"gap per link, of {LINKS} links, in h", many, "12", f"{fall:.2f}", "limit, all far"),
        ],
    )  # fmt: skip


def rounds_table(rows: list[dict[str, Any]]) -> str:
    """Return rounds over I, a line for each system."""
    own = [r for r in rows if r["chain"] == "split_chain"]
    steps = sorted({r["I"] for r in own})
    found = {(r["system"], r["I"]): f"{r['rounds']:g}" for r in own}
    names = [name for name in floors.NAMES if any(key[0] == name for key in found)]
    return _table(
        ("system", *(f"I = {I}" for I in steps)),
        [(floors.NAMES[n], *(found.get((n, I), "") for I in steps)) for n in names],
    )


def arrived_table(rows: list[dict[str, Any]]) -> str:
    """Return the arrivals within n/(2p) samples."""
    head = ("p", "K", "n/(2p)", "chance of one run", "runs", "arrived: FedAvg, STEM, SCAFFOLD",
            "allowed")  # fmt: skip
    groups: dict[tuple[float, int], list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault((r["p"], r["K"]), []).append(r)
    lines = []
    for (p, K), own in groups.items():
        arrivals = ", ".join(str(r["arrived"]) for r in own)
        most = max(r["chance"] for r in own)
        lines.append((f"{p:g}", str(K), f"{own[0]['floor']:.0f}", f"{most:.4f}",
                      str(own[0]["runs"]), arrivals, str(own[0]["allowed"])))  # fmt: skip
    return _table(head, lines)


def main() -> None:
    given = arguments(__doc__, store=Path("results/floors.sqlite"))
    data = floors.table("default", given.store, print).where(kind="measured")
    names = ("chain", "system", "I", "K", "rarity", "rounds", "samples", "samples_low", "eta")
    rows = [{n: None if r[n] != r[n] else r[n] for n in names} for r in data.records()]
    document = {"version": __version__, **machine(), "constants": searched(), "measured": rows}
    write(given.out, {**document, "arrived": arrived()})


if __name__ == "__main__":
    main()

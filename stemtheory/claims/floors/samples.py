"""The floor of samples: where the next link shows with probability p, n links take n coins.

Whatever is done with N samples, of all workers together, finds at most as many coordinates as coins
showed (FL2, counted exactly), so fewer than n/(2p) come to the end with the probability of a
binomial tail, below (e/4)^(n/2) (FL3, on independent runs).

Paper: rmk:complexity.
"""

from __future__ import annotations

from dataclasses import replace

from stemtheory.algorithms import ALGORITHMS
from stemtheory.bounds import Premise
from stemtheory.claims.base import SCALED, Case, Claim, Mutant, dials, wrong
from stemtheory.claims.floors.communication import LINKS, stepped
from stemtheory.claims.floors.counted import by_arrivals, by_coins, few_samples

LONG = 20  # links of the runs that are counted by their ends
WHY = "A full local gradient is no sample: it shows every link at once, and MIME's go below."


def no_full_gradients(case: Case) -> tuple[Premise, ...]:
    """Return the premise that all that is seen of f is samples."""
    return (Premise("no full local gradients", case.run.method.costs.passes == 0),)


def coin_cases(level: str) -> tuple[Case, ...]:
    """Return every algorithm of the catalogue on hidden chains, with one sample and more."""
    found = []
    for name, entry in ALGORITHMS.items():
        K, I = int(entry.pin("K") or 2), int(entry.pin("I") or 8)
        coin = dials(p=0.05)
        case = Case(
            "hidden_chain", K, LINKS, 2, I, 200 // I, coin, algorithm=name, x1=0.0, replicates=8
        )
        found.append(stepped(case, 1.0))
        if level != "quick":
            found += [
                stepped(replace(case, b=1, seed=s), eta) for s in (1, 2) for eta in (1.0, 40.0)
            ]
    return tuple(found)


def end_cases(level: str) -> tuple[Case, ...]:
    """Return runs with just fewer than n/(2p) samples in all, at steps that pass a link at once."""
    rare = {"quick": (0.03,), "default": (0.01, 0.003, 0.001), "full": (0.01, 0.003, 0.001)}[level]
    runs = {"quick": 64, "default": 200, "full": 1000}[level]
    names = ("fedavg", "stem") if level == "quick" else ("fedavg", "stem", "scaffold")
    found = []
    for p in rare:
        for K in (1, 4):
            for name in names:
                rounds = int(LONG / (2 * p) / (K * 8)) - 2
                case = Case(
                    "hidden_chain", K, LONG, 1, 8, rounds, dials(p=p), algorithm=name, x1=0.0,
                    replicates=runs,
                )  # fmt: skip
                found.append(stepped(case, AT_ONCE))
    return tuple(found)


def leaking(case: Case) -> Case:
    """Return the case with an oracle that shows a tenth of what it hides at every sample."""
    return replace(case, dials=dials(**dict(case.dials), leak=0.1))


LEAK = Mutant("an oracle that leaks a tenth of what it hides", change=leaking)
AT_ONCE = 100.0  # the step that passes a link as soon as it shows, if only a tenth of it

CLAIMS = (
    Claim(
        id="FL2",
        label="rmk:complexity",
        kind="arithmetic",
        statement="Where a coin hides the next link, no algorithm has found more links than coins"
        " have shown, of all samples of all workers.",
        formula=r"\max_k \mathrm{prog}(x_{t+1}^{(k)}) \leq \#\{\text{coins that showed by } t\}",
        by_hand="Both sides are counts: of coordinates that are not 0, and of coins.",
        compare=by_coins,
        cases=coin_cases,
        premises=no_full_gradients,
        mutants=(SCALED, wrong("a method that is told the coordinates", told=True), LEAK),
        reason=WHY,
    ),
    Claim(
        id="FL3",
        label="rmk:complexity",
        kind="expectation",
        statement="Fewer than n/(2p) samples in all come to the end with probability"
        " P(Bin(n/(2p), p) >= n) at most: below 0.004 for n = 20.",
        formula=r"P(\mathrm{prog}(\bar x_t) = n) \leq P(\mathrm{Bin}(bKT, p) \geq n),"
        r"\ bKT < n/(2p)",
        by_hand="Both sides are counts: of runs that came to the end, and the most that chance"
        " allows of so many, exceeded with the false-alarm rate of one instance.",
        compare=by_arrivals,
        cases=end_cases,
        premises=few_samples,
        mutants=(
            LEAK,
            Mutant(
                "a method that is told the coordinates, and starts beyond them",
                change=lambda case: replace(case, x1=10.0),
            ),
        ),
        reason=WHY,
    ),
)

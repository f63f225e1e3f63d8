"""The floor of communication: links shared out over the workers take an exchange each.

Between two exchanges a worker passes one link at most, for the next is another's. Counted are the
coordinates of every worker's point, after every iteration: no number is measured, and nothing is
rounded. STEM's first direction is an exchange before the loop, and some algorithms have two in a
round; where a round is one exchange, the floor is one of rounds.

Paper: rmk:complexity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stemtheory.algorithms import ALGORITHMS
from stemtheory.bounds import Premise
from stemtheory.claims.base import SCALED, Case, Claim, Mutant, wrong
from stemtheory.claims.floors.counted import by_exchanges

LINKS = 8
MOMENTUM = 0.5
# From the theory's own, 1/L, to steps so long that a link is passed in one of them.
STEPS = {"quick": (4.0, 100.0), "default": (1.0, 4.0, 40.0, 200.0), "full": (1.0, 4.0, 40.0, 200.0)}


def stepped(case: Case, eta: float) -> Case:
    """Return a case at a constant step, with a momentum where its algorithm has one."""
    entry = ALGORITHMS[case.algorithm]
    momentum = entry.family == "stem" or entry.coupling is not None
    options = (("a", MOMENTUM), ("eta", eta)) if momentum else (("eta", eta),)
    return replace(case, schedule="constant", options=options)


def chains(level: str) -> Iterator[tuple[int, int, int]]:
    """Yield K, I and rounds: workers that share the links evenly, and not."""
    yield 2, 24, 9
    if level != "quick":
        yield from ((3, 40, 9), (4, 6, 12))
    if level == "full":
        yield from ((2, 256, 9), (8, 24, 12))


def cases(level: str) -> tuple[Case, ...]:
    """Return every algorithm of the catalogue that has workers, on split chains."""
    found = []
    for name, entry in ALGORITHMS.items():
        for K, I, rounds in () if entry.pin("K") else chains(level):
            steps = int(entry.pin("I") or I)
            plain = Case(
                "split_chain", K, LINKS, 1, steps, rounds, algorithm=name, x1=0.0, replicates=1
            )
            found += [stepped(plain, eta) for eta in STEPS[level]]
    averaged = [
        replace(case, reading="average-first") for case in found if case.algorithm == "stem"
    ]
    return (*found, *averaged)


def shared_out(case: Case) -> tuple[Premise, ...]:
    """Return the premise that one worker does not hold all links."""
    return (Premise("K >= 2", case.K >= 2),)


CLAIMS = (
    Claim(
        id="FL1",
        label="rmk:complexity",
        kind="arithmetic",
        statement="With links shared out over K workers in turn, no algorithm at any step finds"
        " more of them than it has had exchanges: n links take n, whatever I is.",
        formula=r"\max_k \mathrm{prog}(x_{t+1}^{(k)}) \leq \#\{\text{exchanges of the rounds begun"
        r" by } t\}",
        by_hand="Both sides are counts: of coordinates that are not 0, and of exchanges.",
        compare=by_exchanges,
        cases=cases,
        premises=shared_out,
        mutants=(
            SCALED,
            wrong("a method that is told the coordinates", told=True),
            Mutant(
                "an oracle that leaks: every worker has every link",
                change=lambda case: replace(case, problem="zero_chain"),
            ),
        ),
        reason="Exact on these instances. A method that knew where the links are would go below.",
    ),
)

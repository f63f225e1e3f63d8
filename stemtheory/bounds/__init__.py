"""The theorems' bounds, term by term: evaluated, inverted, and held against measurements."""

from stemtheory.bounds.evaluation import (
    BOUNDS,
    Bound,
    BoundFormula,
    Inversion,
    Premise,
    Setting,
    TableRow,
    bound_curve,
    evaluate,
    invert,
    samples_per_worker,
    table1_exponents,
)

__all__ = [
    "BOUNDS",
    "Bound",
    "BoundFormula",
    "Inversion",
    "Premise",
    "Setting",
    "TableRow",
    "bound_curve",
    "evaluate",
    "invert",
    "samples_per_worker",
    "table1_exponents",
]

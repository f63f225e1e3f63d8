"""The theorems' bounds, term by term: evaluated, inverted, and held against measurements."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.bounds.advise.measured import advise_on
    from stemtheory.bounds.advise.search import BOUNDS as OFFERED
    from stemtheory.bounds.advise.search import NUS, STRIDES, Question, cheapest_at
    from stemtheory.bounds.constants import (
        EXPLICIT_SIGMA,
        EXPLICIT_SLOPE,
        EXPLICIT_ZETA,
        REPAIRED,
        REPAIRED_LAM,
        RSTAR,
        RepairedPart,
        RStarPart,
    )
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
    from stemtheory.bounds.formulas import whole_rounds
    from stemtheory.bounds.rstar import rstar_coefficients
    from stemtheory.bounds.statement import bound_document
    from stemtheory.bounds.verdicts import Margin, document, margins, setting_of, spoken

__getattr__, __dir__ = face(__name__)

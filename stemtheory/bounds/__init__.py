"""The theorems' bounds, term by term: evaluated, inverted, and held against measurements."""

from typing import TYPE_CHECKING

from stemtheory.runtime import face

if TYPE_CHECKING:
    from stemtheory.bounds.advise.measured import advise_on
    from stemtheory.bounds.advise.search import Question, cheapest_at
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
    from stemtheory.bounds.statement import bound_document
    from stemtheory.bounds.verdicts import Margin, document, margins, setting_of

__getattr__, __dir__ = face(__name__)

"""Better theorems by machine: the free constants of a proof chosen anew, and checked exactly."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.tightening.estimates import CHAIN, Estimate
    from stemtheory.tightening.meaning import checked, latex, told
    from stemtheory.tightening.program import Covered, evaluated, proposed
    from stemtheory.tightening.rounding import LARGEST_RATIO, Tightened, tightened
    from stemtheory.tightening.slack import waterfall
    from stemtheory.tightening.steps import BestSteps, best_steps

__getattr__, __dir__ = face(__name__)

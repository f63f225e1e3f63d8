"""The claims ledger: every analytic line of a paper as data, put to the test by five checkers."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.claims.base import (
        ALL_READINGS,
        SCALED,
        Case,
        Claim,
        Comparison,
        Mutant,
        dials,
        quadratic,
        wrong,
    )
    from stemtheory.claims.casefiles import locate, replay, shipped, worst
    from stemtheory.claims.checking import surprising
    from stemtheory.claims.contract import check_problem, passed
    from stemtheory.claims.contract.algorithms import check_algorithm
    from stemtheory.claims.contract.along import estimate_constants
    from stemtheory.claims.contract.rows import ContractRow, records
    from stemtheory.claims.evidence.fedavg_path import recorded
    from stemtheory.claims.evidence.flat_model import Flat, growth
    from stemtheory.claims.evidence.path import record
    from stemtheory.claims.evidence.recorded import square
    from stemtheory.claims.explanation import counterexamples, explain, premises, told
    from stemtheory.claims.finding import asked
    from stemtheory.claims.finding import chosen as chosen_packs
    from stemtheory.claims.hunting import hunt
    from stemtheory.claims.judge import ALPHA
    from stemtheory.claims.language.mutation import wrong_versions
    from stemtheory.claims.ledger import Packs, claims, of_pack, one, select, uncovered
    from stemtheory.claims.pack import ByReading, Pack
    from stemtheory.claims.paper.schedule import CHOSEN, WEIGHT
    from stemtheory.claims.probing import Probe, probe
    from stemtheory.claims.probing import save as save_probe
    from stemtheory.claims.repaired.coefficients import PARTS
    from stemtheory.claims.repaired.elementary import ELEMENTARY_LONGEST, printed_longest
    from stemtheory.claims.rstar.coefficients import CURVE, CURVE_ONE, IDENTITY_PARTS, RSTAR_PARTS
    from stemtheory.claims.rstar.constants import kappas
    from stemtheory.claims.rules import versions_of
    from stemtheory.claims.sides import PlotPoint
    from stemtheory.claims.stating import averaged, sized, stated, whole_run
    from stemtheory.claims.together import Outcome, verify

__getattr__, __dir__ = face(__name__)
